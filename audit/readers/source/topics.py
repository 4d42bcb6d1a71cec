"""The topics that a producer is made for, and those that the sources of a module send to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from audit.readers import calls
from audit.readers.asked import asked_of
from audit.readers.keyed import asked_for_topics
from audit.readers.releases import module_of as module_of_build
from audit.readers.sends import Send, of_clients, sends_of
from audit.readers.source.expressions import asked_value
from audit.readers.source.following import STEPS, field_told, gather, texts_beside
from audit.readers.source.nodes import LANGUAGES, LONGEST, TESTS, Maker, SourceWalk, Value, parser_of


def topics_of(maker: Maker, found: SourceWalk) -> list[str]:
    """The topics that a producer is made for; those of the records of its file, if the file makes no other."""
    told = re.search(
        r"(?:\bTopic:\s*|(?:Default(?:Produce)?|\bwith)Topic\(|OpenTopic\([^\"\n]*)\"([\w.-]+)\"", maker.text
    )
    if maker.kind == "confluent" and len(found.makers) == 1 and (topics := _topics_of_confluent(found)):
        return topics
    if told or maker.kind == "micronaut":
        named = re.search(r"(?:\(|\b(?:id|value)\s*=)\s*\"([\w.-]+)\"", maker.text)
        asked = of_clients(found.source.content).get(named[1] if named else "", []) if not told else []
        return [told[1]] if told else _topics_told([Send(0, each) for each in asked], found)
    if len(found.makers) > 1:
        return []
    if maker.kind == "masstransit":
        return _topics_told([Send(0, each) for each in OF_RIDER.findall(found.source.content)], found)
    if maker.kind in ("kafka-go", "kafka-go-config") and (field := TOPIC_OF_WRITER.search(maker.text)):
        return _topics_told([Send(len(found.encoded[: maker.start].decode(errors="replace")), field[1])], found)
    return _topics_told(sends_of(found.source.content, found.language), found)


OF_RIDER: Final = re.compile(r"\.AddProducer(?:<(?:[^<>()]|<[^<>()]*>)*>)?\(\s*([^(),\n]+?)\s*[,)]")
"""The topic that a rider of MassTransit's makes a producer for."""
TOPIC_OF_WRITER: Final = re.compile(r"\bTopic:\s*((?:[^,\n{}()]|\([^()\n]*\)){1,200}?)\s*[,\n}]")


def _topics_told(sends: Sequence[Send], found: SourceWalk) -> list[str]:
    """The topics that places of a source send to, as names or placeholders; empty if one of them is not told."""
    texts = texts_beside(found) if sends else []
    taken = set(found.taken)
    with asked_for_topics():
        told = [_topic_told(each, found, texts, 0) for each in sends]
    found.taken = taken
    return list(dict.fromkeys(each for each in told if each)) if all(told) else []


def _topic_told(send: Send, found: SourceWalk, texts: Sequence[str], depth: int) -> str | None:
    """What the expression of a topic stands for: a literal, a constant, a field of settings, or what a function or a
    constructor is given.
    """
    text = send.topic.lstrip("&*").strip()
    literal = re.fullmatch(r"[\"'`]([^\"'`\n]*)[\"'`]", text)
    if literal is not None:
        return literal[1] if OF_TOPIC.fullmatch(literal[1]) else None
    bare = text.removeprefix("this.").removeprefix("self.")
    if not bare or len(text) > LONGEST:
        return None
    at = len(found.source.content[: send.at].encode(errors="replace"))
    scope = _scope_at(at, found)
    parameters = calls.parameters_of(found.scopes[scope], found.language) if scope else ()
    is_given = any(name == bare for name, _ in parameters)
    known = found.constants.get(bare.rpartition(".")[2]) if re.fullmatch(r"[\w.]+", bare) and not is_given else None
    if known is not None and known.known:
        return known.text if OF_TOPIC.fullmatch(known.text) else None
    variable = asked_value(text) or (Value(asked) if (asked := asked_of(text)) is not None else None)
    told = variable.text if variable is not None else field_told(text, found, texts, scope)
    if told is None and found.language == "go" and depth < STEPS and (field := re.fullmatch(r"\w+\.(\w+)", bare)):
        given = list(re.finditer(rf"(?<![\w.]){field[1]}:\s*(&?[\w.\"-]+)\s*[,\n}}]", found.source.content))
        if len(given) == 1:  # where the only object of the struct is made
            return _topic_told(Send(given[0].start(), given[0][1]), found, texts, depth + 1)
    if (
        told is None
        and found.language in ("java", "cs")
        and depth < STEPS
        and re.fullmatch(r"\w+", bare)
        and not is_given
    ):
        set_to = list(re.finditer(rf"(?<![\w.])(?:this\.)?{bare}\s*=(?!=)\s*([^;\n]{{1,200}});", found.source.content))
        if len(set_to) == 1:  # a field, where the constructor sets it
            return _topic_told(Send(set_to[0].start(), set_to[0][1].strip()), found, texts, depth + 1)
    return told if told is not None and OF_TOPIC.fullmatch(told) else None


def _scope_at(at: int, found: SourceWalk) -> str:
    """The innermost function of a source that a place in its bytes is in; empty if it is in none."""
    spans = ((int(key.partition("@")[2]), len(text.encode(errors="replace")), key) for key, text in found.scopes.items()
             if key.partition("@")[2].isdecimal())  # fmt: skip
    return max(((begin, key) for begin, length, key in spans if begin <= at < begin + length), default=(0, ""))[1]


OF_TOPIC: Final = re.compile(r"[\w.-]+|\$\{[\w.-]+(?::[\w.-]+)?\}")
"""A topic's name, or a placeholder of one."""


def topics_of_module(unit: str, path: str, known: dict[Path, bool], client_id: str = "") -> list[str]:
    """The topics that the sources of a module send to, in the language of a producer's file, or those of Boot's; of one
    client of Micronaut's by its id. Empty if one of them is not told.
    """
    end = path.rpartition(".")[2]
    found: list[str] = []
    for language in (end,) if end in LANGUAGES else ("java", "kt", "scala"):
        parser = parser_of(language)
        for text in calls.sources_of(calls.root_of(str(Path(unit) / "x")), language) if parser is not None else ():
            if client_id:
                asked = of_clients(text.content).get(client_id, []) if "KafkaClient" in text.content else []
                sends = [Send(0, each) for each in asked]
            else:
                sends = sends_of(text.content, language)
            if not sends or TESTS.search(text.path) or module_of_build(text.path, known) != unit:
                continue
            try:
                walk = gather(text, language, parser.parse(text.content.encode(errors="replace")).root_node)
            except (RecursionError, ValueError):
                return []
            told = _topics_told(sends, walk)
            if not told:
                return []
            found += told
    return list(dict.fromkeys(found))


SENT_TO: Final = re.compile(r"\bTopicPartition\{\s*Topic:\s*&?([\w.]+)")
"""In Go: the topic of what is sent with confluent's client."""


def _topics_of_confluent(found: SourceWalk) -> list[str]:
    """The topics that a file of Go's sends to, if they are constants of it."""
    named = []
    for name in SENT_TO.findall(found.source.content):
        value = found.constants.get(name)
        if value is None or not value.known or not re.fullmatch(r"[\w.-]+", value.text):
            return []
        named.append(value.text)
    return named
