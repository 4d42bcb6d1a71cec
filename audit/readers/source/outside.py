"""What may be set elsewhere: maps that a function is given, that others put more into, or that another file makes.

Of such a producer what decides over records is unknown where the source does not say it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from audit.model import Origin, Setting
from audit.readers.source.bound import COPIED, FRESH, MAKE_CONFIG, bound_values, config_name, filled_here, is_foreign
from audit.readers.source.makers import PUBLISHER
from audit.readers.source.nodes import (
    DECISIVE,
    MAPS,
    OF_SARAMA,
    SPREAD,
    UNKNOWN,
    Maker,
    Pair,
    SourceWalk,
    assigned_to,
    given_name,
    is_parameter,
)
from audit.readers.source.selected import OPTIONS_OF_SPARK
from audit.readers.source.settings import FIELDS, is_literal


def settled_pairs(pairs: Sequence[Pair], maker: Maker, found: SourceWalk) -> list[Pair]:
    """Settings of other functions, unsure where the producer may be made with other ones: what it is made with is a
    parameter, and several call the function; or it is a configuration that others bring.
    """
    brought = maker.kind in OF_SARAMA and _is_config_of_others(maker, found)
    if maker.kind in MAPS and is_parameter(maker, found.scopes.get(maker.scope, "")):
        name = maker.scope.partition("@")[0]
        calls = re.findall(rf"(?<!\w){re.escape(name)}\(\s*(\w+)", found.source.content)
        callers = [each for each in calls if each not in ("Map", "Properties", "final")]
        brought = len(set(callers)) > 1
    if not brought:
        return list(pairs)
    return [each if each.scope == maker.scope else replace(each, sure=False) for each in pairs]


def with_outside(
    settings: list[Setting], pairs: Sequence[Pair], maker: Maker, found: SourceWalk, *, based: bool, loads: bool
) -> list[Setting]:
    """Settings, and as unknown what may come from elsewhere: from a map that is a parameter of the function, is made in
    another file, or gets what another one has; from a configuration of sarama's or of .NET's that others may set. A
    transactional.id that is set under a condition leaves idempotence unknown too.
    """
    empty = not pairs
    note = "decided elsewhere in the program"
    origin = found.source.origin(maker.line)
    if any(each.key == "transactional.id" and not each.sure for each in pairs):
        pairs = [each for each in pairs if each.key != "transactional.id"]
        settings = [each for each in settings if each.key != "transactional.id"]
        if all(each.key != "enable.idempotence" for each in settings):
            settings.append(Setting("enable.idempotence", UNKNOWN, origin, known=False, note=note))
    decided = any(each.key == "enable.idempotence" for each in pairs)
    brought = maker.start in found.brought
    if maker.kind == "kafkajs" and not decided and not brought and re.search(r"\.producer\(\s*[^\s{)]", maker.text):
        settings.append(Setting("enable.idempotence", UNKNOWN, origin, known=False, note=note))
    if maker.kind == "kafkaflow":  # its acks are told by itself
        given = re.search(r"\.WithProducerConfig\(\s*(?!new\b)([\w.]+)", maker.text)
        foreign = given is not None and not re.search(rf"\b{re.escape(given[1])}\s*=\s*new\b", found.source.content)
        return with_unknown(settings, maker, origin, DECISIVE[1:]) if foreign else settings
    if maker.kind in CONFIGURED:
        foreign = not brought and CONFIGURED[maker.kind](maker, found)
        return with_unknown(settings, maker, origin) if foreign else settings
    if maker.kind in ("node-rdkafka", "kafka-node") and not brought and _has_options(maker, found):
        settings = [made_unknown(each, note) if each.key == "acks" else each for each in settings]
        return with_unknown(settings, maker, origin, ("acks",))
    if maker.kind == "spark":
        asked = set(OPTIONS_OF_SPARK.findall(maker.text)) - {"Map", "java", "mapOf"}
        followed = all(re.search(BOUND_TO_MAP.format(each), found.source.content) for each in asked)
        return settings if followed else with_unknown(settings, maker, origin)
    if maker.kind == "beam" and not pairs and re.search(r"withProducerConfigUpdates\(\s*(?!Map\.of\b)\w", maker.text):
        return with_unknown(settings, maker, origin)
    if maker.kind == "kafkajs":  # acks is given with the records
        settings = [each for each in settings if each.key in FIELDS.values()]  # librdkafka's are another producer's
        return [each for each in settings if (each.key, each.value) != ("acks", SPREAD)]
    if maker.kind not in MAPS or based or empty or brought:
        return settings
    if found.language == "scala" and ADDED.search(found.scopes.get(maker.scope, "")):
        return with_unknown([made_unknown(each, note) for each in settings], maker, origin)
    if _put_later(maker, found) or _is_made_elsewhere(maker, found):
        settings = [made_unknown(each, note) if _put_later(maker, found) else each for each in settings]
        return with_unknown(settings, maker, origin)
    start = int(maker.scope.rpartition("@")[2] or 0)
    body = found.scopes.get(maker.scope, "") if maker.scope else ""
    merged = [
        start + each.start()
        for scope, each in found.merges
        if scope and scope == maker.scope and is_foreign(each, found)
    ]
    if not merged and not loads and not is_parameter(maker, body):
        return settings
    if loads and not merged:
        return settings  # what is loaded is joined where its file is known
    told = [
        made_unknown(each, note) if merged and pair.scope == maker.scope and pair.start < merged[-1] else each
        for each, pair in zip(settings, pairs, strict=False)
    ] + settings[len(pairs) :]
    return with_unknown(told, maker, origin)


BOUND_TO_MAP: Final = r"\b{}\b[^\n=]*(?:=|\{{)\s*(?:return\s+)?(?:\w+\.)*(?:Map|mapOf|new\s+\w*Map)\b"
"""Where a source of Spark's makes the map of a name."""


def with_unknown(
    settings: Sequence[Setting], maker: Maker, origin: Origin, keys: Sequence[str] = DECISIVE
) -> list[Setting]:
    """Settings, and what decides over records as unknown where they do not have it."""
    named = {each.key for each in settings}
    note = "decided elsewhere in the program"
    return [*settings, *(Setting(key, UNKNOWN, origin, known=False, note=note) for key in keys if key not in named)]


def _has_options(maker: Maker, found: SourceWalk) -> bool:
    """Whether the options after a producer's first argument are not written out: the topic's settings of node-rdkafka,
    what kafka-node is told beside its client.
    """
    given = re.match(r"new\s+[\w.$]+\(\s*(?:[\w.$]+|\{[^{}]*\})\s*,\s*([\w.$]+)\s*[,)]", maker.text)
    return given is not None and given[1] not in ("undefined", "null") and not is_literal(given[1], found)


def _put_later(maker: Maker, found: SourceWalk) -> bool:
    """Whether another function of the file puts a map that comes from elsewhere into the one of a producer, or into
    the one that it returns to it.
    """
    name = given_name(maker)
    return any(
        (each[1] == name or (not each[1] and (not scope or scope.partition("@")[0] in maker.names)))
        and is_foreign(each, found)
        for scope, each in found.merges
        if (scope != maker.scope if maker.scope and scope else not maker.scope and not scope)
    )


ADDED: Final = re.compile(r"\+\+\s*\(?(?!Map\b|Seq\b|List\b)[a-z]\w*\.")
"""In Scala: a map of another object's is added."""


def _is_made_elsewhere(maker: Maker, found: SourceWalk) -> bool:
    """Whether what a producer is made with is what another class returns or holds, or a copy of that."""
    return any(
        not FRESH.match(value.strip())
        and not filled_here(value, found)
        and (re.match(r"[\w.]+\s*[(.]|\w+$", value.strip()) or COPIED.match(value.strip())) is not None
        for value in bound_values(maker, found)
    )


def _is_config_of_others(maker: Maker, found: SourceWalk) -> bool:
    """Whether a producer of sarama's is made with a configuration that is not made in its file, or is a field of what
    its function is given.
    """
    content = found.source.content
    name = config_name(maker)
    if maker.kind == "watermill" and not name:
        return PUBLISHER not in maker.text
    if "FromClient" in maker.text:
        client = re.search(rf"\b{re.escape(name)}\b[^\n=]*=\s*sarama\.NewClient\([^\n]*?&?([\w.]+)\s*\)", content)
        name = client[1] if client else name
    if name == "nil":
        return False
    root, _, field_name = name.partition(".")
    head = found.scopes.get(maker.scope, "").partition("{\n")[0]
    parameters = re.sub(r"^func\s*\([^)]*\)", "func", head)
    given = re.search(rf"[(,]\s*{re.escape(root)}\s+[\w*.]", parameters) is not None
    if given and "FromClient" in maker.text and content.count("sarama.NewClient(") == 1:
        given = False  # the only client of the file, which an injector hands on
    if given and (field_name or maker.kind != "sarama" or not _is_set_or_called_here(maker, found)):
        return True
    texts = (content, *(found.scopes[scope] for scope in found.scopes))
    return not any(made in text for text in texts for made in MAKE_CONFIG)


def _is_set_or_called_here(maker: Maker, found: SourceWalk) -> bool:
    """Whether the configuration of sarama's that a function takes is one of its file: something in it sets one, or
    calls the function where it makes one.
    """
    function = re.escape(maker.scope.partition("@")[0])
    others = [text for scope, text in found.scopes.items() if scope != maker.scope]
    called = [text for text in others if re.search(rf"(?<!\w){function}\(", text)]
    return bool(found.pairs) or any(made in text for text in called for made in MAKE_CONFIG)


def _is_set_by_others(maker: Maker, found: SourceWalk) -> bool:
    """Whether a ProducerConfig of .NET begins with what it is given, is handed to who asks to set it, or is a field
    that is assigned elsewhere too.
    """
    if re.match(r"new\s+[\w.]*ProducerConfig\s*\(\s*[^)\s]", maker.text):
        return True
    name = re.escape(assigned_to(maker, found))
    if not name:
        return False
    content = found.source.content
    handed = rf"(?:\.(?:Bind|Invoke)|\b[Cc]onfig(?:ure)?\w*)\(\s*{name}\s*\)"
    return re.search(rf"(?<![\w.]){name}\s*=\s*(?!new\b)\w|{handed}", content) is not None


CONFIGURED: Final[Mapping[str, Callable[[Maker, SourceWalk], bool]]] = {
    **dict.fromkeys(OF_SARAMA, _is_config_of_others),
    "ProducerConfig": _is_set_by_others,
}
"""Makers whose configuration is an object, and what tells that others set it too."""


def made_unknown(setting: Setting, note: str) -> Setting:
    """A setting whose value something else may replace."""
    return dataclasses.replace(setting, value=UNKNOWN, known=False, note=note) if setting.key in DECISIVE else setting
