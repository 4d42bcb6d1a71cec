"""Whose the producers of a program are, once all files are read: what source says stands above what a file says.

A framework's file is joined with the source that makes its producer; a section of a program's own with the source that
asks for it; a file with the program that loads it. What only the source makes stands by itself.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from audit.model import ProducerConfig, Setting
from audit.readers.names import squeezed
from audit.readers.placeholders import Lookup, resolved
from audit.readers.source.expressions import OF_CAMEL
from audit.readers.source.nodes import ASKING, DECISIVE, MAPS, SPRING, UNKNOWN, Made

SHIPPED: Final = re.compile(r"/(?:dist|build|out)/(?:.*/)?[^/]+\.[cm]?js$")
"""Built code, of which a package for Node has several copies: of each kind of module, and in each bundle."""


def settle(
    made: Iterable[Made], producers: Sequence[ProducerConfig], look_up: Callable[[str], Lookup]
) -> list[ProducerConfig]:
    """Producers with what source says of them put above what their file says, and those that only source makes.

    `look_up` gives a module's own look-up of placeholders: what its application's files say.
    """
    made = list(made)
    files = frozenset[str]().union(*(one.files for one in made))
    found = [each for each in producers if not _is_read_by_source(each, made) and not _is_section_of(each, files)]
    look_ups = {one.producer.unit: look_up(one.producer.unit) for one in made}
    found = [each for each in found if not any(_is_of_fields(each, one.producer) for one in made)]
    apart = _apart(made)
    replaced: set[int] = set()
    more: list[ProducerConfig] = []
    bundled: set[object] = set()
    for one in made:
        what = _copied_of(one)
        if what is not None and what in bundled:
            continue
        bundled.add(what)
        own = _filled(_of_component(one, look_ups[one.producer.unit]), look_ups[one.producer.unit])
        if one.kind == "handed" and any(each.kind == "rdkafka" and each.producer.unit == own.unit for each in made):
            continue  # it is that one's configuration which is handed to it
        if one.kind in SPRING and _is_undecided(own) and any(_is_applications(each) for each in found):
            continue
        asked = [at for at, each in enumerate(found) if one.kind in ASKING and _is_asked_for(each, one.producer)]
        if asked:
            for at in asked:
                found[at] = _above(_as_asked(found[at], own), own, fresh=False)
            continue
        if one.kind == "micronaut":
            own, section = _of_micronaut(one, own, found)
            replaced |= section
        if one.kind == "handed-dotnet" and _is_set_in_another(one, found, made):
            continue
        if one.kind == "customizer":
            _customize(own, found, made)
            continue
        boots = [at for at, each in enumerate(found) if each.framework == "spring" and each.unit == own.unit]
        if boots and one.kind in SPRING and own.unit and _is_for_errors(one):
            beneath = _above(found[boots[0]], own, fresh=False).settings if not one.fresh else own.settings
            more.append(_addressed(dataclasses.replace(own, settings=beneath), found[boots[0]]))
            continue
        if one.kind == "ProducerConfig" and (sections := _bound_sections(one, found)):
            for at in sections:  # what the file says, in the project that binds it
                found[at] = dataclasses.replace(found[at], unit=own.unit)
            continue
        if boots and one.kind in SPRING and own.unit:
            if id(one) in apart:
                replaced |= set(boots)
                more.append(_addressed(own, found[boots[0]]))
            for at in () if id(one) in apart else boots:
                found[at] = _above(found[at], own, fresh=one.fresh and one.followed)
            continue
        if one.loads or not one.followed:
            plain = [
                at
                for at, each in enumerate(found)
                if each.unit == own.unit and each.framework in ("", "spring", "smallrye") and own.unit
            ]
            if one.followed:
                plain = _loaded(one, [found[at] for at in plain], plain, made)
            if plain:
                for at in plain:
                    found[at] = _above(found[at], own, fresh=False) if one.followed else found[at]
                continue
            if one.kind in SPRING and any(each.framework.startswith("spring") for each in found):
                continue
            if one.followed and one.kind in MAPS:
                own = _undecided(own)
        found.append(own)
    return [each for at, each in enumerate(found) if at not in replaced] + more


FOR_ERRORS: Final = r"(?:ErrorHandler|Recoverer|ContainerFactory|RetryTopicConfiguration)\b(?:<[^;(){}]*>)?"
"""What a bean is that handles what could not be received: a factory that it makes for itself is no bean of Spring's."""


def _is_for_errors(one: Made) -> bool:
    """Whether a factory of Spring's is made in a function that makes an error handler or the like, so that Boot's own
    producer is there beside it.
    """
    name = one.producer.name.rpartition(", ")[2]
    if not re.fullmatch(r"\w+", name):
        return False
    made = rf"{FOR_ERRORS}\s+{name}\s*\(|\bfun\s+{name}\s*\([^{{}}=]*?\)\s*:\s*\w*{FOR_ERRORS}"
    return re.search(made, one.content) is not None


BINDS: Final = re.compile(r"\bGetSection\(\s*\"([\w:.-]+)\"\s*\)\s*\.(?:Bind\(|Get<(?:\w+\.)*ProducerConfig>)")
"""Where a source of .NET's has a configuration filled by a section of its settings."""


def _bound_sections(one: Made, found: Sequence[ProducerConfig]) -> list[int]:
    """Which sections of files a source of .NET's binds its configuration to, and sets nothing beside that is known."""
    named = {f"{each.replace(':', '.')}.{{key}}" for each in BINDS.findall(one.content)}
    if not named or any(each.known and key in DECISIVE for key, each in one.producer.settings.items()):
        return []
    return [at for at, each in enumerate(found) if each.spelling in named and each.origin.path.endswith(".json")]


def _copied_of(one: Made) -> object:
    """What copies of one piece of built code have in common; None of a source."""
    if not SHIPPED.search(one.producer.origin.path):
        return None
    settings = tuple((key, each.value) for key, each in one.producer.settings.items())
    return (one.kind, one.producer.name.partition(",")[2], settings)


def _addressed(own: ProducerConfig, boots: ProducerConfig) -> ProducerConfig:
    """A producer that stands in place of Boot's, with the addresses that Boot's file has."""
    known = {key: each for key, each in boots.settings.items() if key == "bootstrap.servers"}
    return dataclasses.replace(own, settings=MappingProxyType({**known, **own.settings}))


def _apart(made: Sequence[Made]) -> frozenset[int]:
    """The factories of Spring's, by identity, that stand in place of Boot's and differ: a module has several."""
    by_unit: dict[str, list[Made]] = {}
    for one in made:
        if one.kind in SPRING and not _is_for_errors(one):
            by_unit.setdefault(one.producer.unit, []).append(one)
    found: set[int] = set()
    for unit, makers in by_unit.items():
        decided = {tuple(_decisive(each.producer)) for each in makers}
        if unit and len(decided) > 1 and all(each.fresh and each.followed for each in makers):
            found |= {id(each) for each in makers}
    return frozenset(found)


def _decisive(producer: ProducerConfig) -> Iterator[tuple[str, str]]:
    """What a source sets of what decides over records."""
    for key in DECISIVE:
        if key in producer.settings:
            yield key, producer.settings[key].value


def _of_micronaut(one: Made, own: ProducerConfig, found: Sequence[ProducerConfig]) -> tuple[ProducerConfig, set[int]]:
    """A client of Micronaut's above the section of its id in the files of its module, or else that of all clients; and
    the section, if it is the client's alone: by its id, or as it says nothing of what decides over records.
    """
    sections = {each.spelling: at for at, each in enumerate(found) if each.unit == own.unit and not each.framework}
    text = "\n".join(one.content.splitlines()[(own.origin.line or 1) - 1 :][:20])
    named = re.search(r"KafkaClient\(\s*\"([\w-]+)\"|\b(?:id|value)\s*=\s*\"([\w-]+)\"", text)
    by_id = sections.get(f"kafka.producers.{named[1] or named[2]}.{{key}}") if named else None
    at = by_id if by_id is not None else sections.get("kafka.producers.default.{key}")
    if at is None:
        return own, set()
    beneath = found[at].settings
    alone = by_id is not None or not any(key in DECISIVE for key in beneath)
    joined = dataclasses.replace(own, settings=MappingProxyType({**beneath, **own.settings}))
    return joined, {at} if alone else set()


def _is_undecided(own: ProducerConfig) -> bool:
    """Whether a source puts into a producer what it is told elsewhere, and nothing that is known of what decides."""
    decisive = [own.settings[key] for key in DECISIVE if key in own.settings]
    return bool(decisive) and not any(each.known for each in decisive)


def _is_applications(producer: ProducerConfig) -> bool:
    """Whether a producer is a section of an application's own: a library of the program's reads it."""
    file = producer.origin.path.rpartition("/")[2]
    return producer.framework == "" and producer.spelling != "{key}" and file.startswith("application")


def _is_asked_for(producer: ProducerConfig, own: ProducerConfig) -> bool:
    """Whether a section of an application's own is what a source of its module asks for."""
    asks = any(_asks_for(each, producer.settings.get(key)) for key, each in own.settings.items())
    return asks and _is_applications(producer) and producer.unit == own.unit


def _as_asked(section: ProducerConfig, own: ProducerConfig) -> ProducerConfig:
    """A section of a file as the source that asks for it has it: with the keys that it puts the values under."""
    settings = dict(section.settings)
    for key, each in own.settings.items():
        for named in [one for one in section.settings.values() if one.key != key and _asks_for(each, one)]:
            settings.pop(named.key, None)
            settings[key] = dataclasses.replace(named, key=key)
    return dataclasses.replace(section, settings=MappingProxyType(settings), client=own.client)


def _is_of_fields(producer: ProducerConfig, own: ProducerConfig) -> bool:
    """Whether a section of an application's own is what a source of its module has in fields of a class."""
    prefix = producer.spelling.removesuffix("{key}")
    if not _is_applications(producer) or producer.unit != own.unit or not prefix:
        return False
    if not producer.origin.path.endswith((".yml", ".yaml", ".properties")):
        return False  # what is asked of HOCON is looked up in its producer
    return any(squeezed(each.value).startswith(squeezed(f"${{{prefix}")) for each in own.settings.values())


def _is_read_by_source(producer: ProducerConfig, made: Sequence[Made]) -> bool:
    """Whether a section of .NET's is what a source reads into a configuration that it makes: one that it asks for by
    its keys, or that has only addresses.
    """
    only_addresses = producer.settings.keys() <= {"bootstrap.servers", "client.id"}
    section = producer.framework == "" and producer.origin.path.endswith(".json")
    prefix = '"' + producer.spelling.removesuffix("{key}").replace(".", ":")
    asked = producer.spelling != "{key}" and any(
        each.kind == "ProducerConfig" and prefix in each.content for each in made
    )
    return section and (asked or (only_addresses and any(each.kind == "ProducerConfig" for each in made)))


def _is_section_of(producer: ProducerConfig, files: Collection[str]) -> bool:
    """Whether it is a section of a file that a program's producer has its settings of."""
    return producer.framework == "" and str(Path(producer.origin.path).absolute()) in files


def _is_set_in_another(one: Made, found: Sequence[ProducerConfig], made: Sequence[Made]) -> bool:
    """Whether a configuration that is handed to a .NET producer is one that another source makes, or a file has: the
    projects of a solution are modules of their own.
    """
    files = any(each.framework == "" and each.origin.path.endswith(".json") for each in found)
    return files or any(each.kind == "ProducerConfig" for each in made if each is not one)


def _of_component(one: Made, look_up: Lookup) -> ProducerConfig:
    """A producer; one of Camel's with what the files of its module set its component to, if its endpoint does not."""
    if one.kind != "camel":
        return one.producer
    settings = dict(one.producer.settings)
    for option, key in OF_CAMEL.items():
        kebab = re.sub(r"(?<!^)(?=[A-Z])", "-", option).lower()
        told = next((f"{COMPONENT}{name}" for name in (kebab, option) if look_up(COMPONENT + name) is not None), "")
        if told and (key not in settings or not settings[key].known):
            settings[key] = Setting(key, look_up(told) or "", one.producer.origin, note=told)
    return dataclasses.replace(one.producer, settings=MappingProxyType(settings))


COMPONENT: Final = "camel.component.kafka."


def _customize(own: ProducerConfig, found: list[ProducerConfig], made: Sequence[Made]) -> None:
    """Put what a customizer sets above what the files of its module say; a factory of the program's own has none."""
    makes = any(each.kind in SPRING and each.producer.unit == own.unit for each in made)
    if not own.unit or (own.framework == "spring" and makes):
        return
    for at, each in enumerate(found):
        if each.framework == own.framework and each.unit == own.unit:
            found[at] = _above(each, own, fresh=False)


def _undecided(own: ProducerConfig) -> ProducerConfig:
    """A producer whose file is not among those that were read: what the source does not set is unknown."""
    note = "in a file that the program loads"
    more = {
        key: Setting(key, UNKNOWN, own.origin, known=False, note=note) for key in DECISIVE if key not in own.settings
    }
    return dataclasses.replace(own, settings=MappingProxyType({**more, **own.settings}))


def _loaded(one: Made, files: Sequence[ProducerConfig], at: Sequence[int], made: Sequence[Made]) -> list[int]:
    """Which files a program loads before it sets its own: those that it names, or the only one of the only loader."""
    names = [each.origin.path.rpartition("/")[2] for each in files]
    if named := [place for place, name in zip(at, names, strict=True) if name in one.content]:
        return named
    loaders = [each for each in made if each.loads and each.producer.unit == one.producer.unit]
    return list(at) if len(set(names)) == 1 and len(loaders) == 1 else []


def _filled(producer: ProducerConfig, look_up: Lookup) -> ProducerConfig:
    settings = {key: resolved(each, "spring", look_up) for key, each in producer.settings.items()}
    return dataclasses.replace(producer, settings=MappingProxyType(settings))


def _above(producer: ProducerConfig, own: ProducerConfig, *, fresh: bool) -> ProducerConfig:
    """A framework's producer, as the program makes it."""
    note = "the program sets it: the file does not decide"
    given = {key: each for key, each in own.settings.items() if not _asks_for(each, producer.settings.get(key))}
    said = {key: dataclasses.replace(each, note=each.note or note) for key, each in given.items()}
    kept = {
        key: each
        for key, each in producer.settings.items()
        if not fresh or key in ("bootstrap.servers",) or (key in own.settings and key not in given)
    }
    return dataclasses.replace(producer, settings=MappingProxyType({**kept, **said}))


def _asks_for(own: Setting, of_file: Setting | None) -> bool:
    """Whether what a program sets is what it asks its file for: `config.getString("kafka.acks")`."""
    asked = re.fullmatch(r"\$\{([\w.-]+)(?::[^{}]*)?\}", own.value)
    return of_file is not None and asked is not None and f".{of_file.written}".endswith(f".{asked[1]}")
