"""Variables of containers whose program is in the tree: its own files and sources say what becomes of them.

A service of Compose's is built in a directory. A producer whose file is in that directory has the service's variables:
they stand for its placeholders, and Spring's stand above its application's files. Where several services are built
there and say otherwise, the value is unknown. Variables with names of the application's own (`KAFKA_PRODUCER_RETRIES`)
are then no producer beside it; neither are those of other containers, if a source that was read has their names. What
they say stands for that source's placeholders.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from audit.model import ProducerConfig, Setting
from audit.readers.names import squeezed, words
from audit.readers.placeholders import Lookup, resolve
from audit.readers.walk import LARGEST
from audit.units import NAMED

PROGRAMS: Final = frozenset({"python", "source"})
"""Frameworks of producers that a program makes itself."""
FILES: Final = frozenset({"spring", "smallrye"})
"""Frameworks whose files have a producer's settings, which variables stand above."""
SOURCES: Final = tuple(f".{end}" for end in sorted(words("py go js mjs cjs ts cs rs java kt scala php rb cpp c")))
VARIABLE: Final = re.compile(r"\$\{(\w+)")
OF_SPRING: Final = "SPRING_KAFKA_PRODUCER"
MOST: Final = 2_000
"""How many sources are searched for the names of variables."""
Environment = tuple[str, Mapping[str, Setting]]
"""The directory that a service is built in, and its variables."""
Workload = tuple[tuple[str, ...], Mapping[str, Setting]]
"""The names that the program of a container may have, and its variables."""


def join_environments(
    producers: Sequence[ProducerConfig],
    environments: Sequence[Environment],
    read: Iterable[str],
    workloads: Sequence[Workload] = (),
) -> list[ProducerConfig]:
    """Producers with the variables of the services that they are built for, without those that are only variables of
    a program whose producer is told by its own files. `workloads` have all variables of containers.
    """
    if not any(_is_containers(each) for each in producers):
        return [_filled(each, environments) for each in producers] if environments else list(producers)
    own = [each for each in producers if not _is_containers(each)]
    kept = {id(each) for each in producers if _is_containers(each) and not _is_told(each, own)}
    told = [each for each in producers if _is_containers(each) and id(each) not in kept and each.framework in FILES]
    if any(each.framework in PROGRAMS for each in own) and any(_is_of_program(each, kept) for each in producers):
        text = _squeezed_sources(read)
        asked = _asked_by(each for each in own if each.framework in PROGRAMS)
        alone = len({each.unit for each in own if each.framework in PROGRAMS}) == 1
        named = [
            each
            for each in producers
            if _is_of_program(each, kept)
            and (_is_mentioned(each, text) or _is_asked(each, asked) or (alone and _is_for(each, workloads, text)))
        ]
        kept -= {id(each) for each in named}
        names = {(one.name, each.origin.path) for one in named for each in one.settings.values()}
        around = [variables for own, variables in workloads if any((own[0], each.origin.path) in names
                                                                   for each in variables.values())]  # fmt: skip
        around = around or [{each.written: each for each in one.settings.values()} for one in named]
        first = [each for each in around if not _is_of_another_environment(each)]
        producers = [
            _with_said(each, first if any(_within(each.origin.path, build) for build, _ in environments) else around)
            if each.framework in PROGRAMS
            else each
            for each in producers
        ]
    return [
        each if _is_containers(each) else _under(_filled(each, environments), told)
        for each in producers
        if not _is_containers(each) or id(each) in kept
    ]


def program_of(image: str) -> str:
    """The name of the program that an image has.

    >>> program_of("registry.store.eu:5000/stock-command:1.9.0"), program_of("acme/api@sha256:1"), program_of("")
    ('stock-command', 'api', '')
    """
    return image.rpartition("/")[2].partition("@")[0].partition(":")[0]


def placed(
    producers: Sequence[ProducerConfig], workloads: Sequence[Workload], built: Sequence[Environment] = ()
) -> tuple[list[ProducerConfig], list[Environment]]:
    """Producers, those of workloads with the directory of the program that has the workload's name, as if its image
    were built there; and the variables of these workloads.

    A program is named by its module's directory, or as a Spring application. Of a name that two have nothing is told.
    Where one application is all that there is, the only workload with Spring's variables below its module runs it.
    """
    homes: dict[str, set[str]] = {}
    for each in producers:
        if each.framework in PROGRAMS | FILES and not _is_containers(each) and each.unit not in ("", NAMED):
            homes.setdefault(Path(each.unit).name, set()).add(each.unit)
            if each.framework in FILES:
                homes.setdefault(each.name.partition(" (profile ")[0], set()).add(each.unit)
    builds: dict[str, str] = {}
    around: list[Environment] = []
    for names, variables in workloads:
        found = next((homes[name] for name in names if name in homes), set())
        if len(found) == 1:
            builds[names[0]] = next(iter(found))
            around.append((builds[names[0]], variables))
    own = [each for each in producers if each.framework in PROGRAMS | FILES and not _is_containers(each)]
    spoken = [each for each in producers if not each.build and each.spelling.startswith(OF_SPRING)]
    alone = len(spoken) == 1 == len(own) and own[0].framework == "spring" and spoken[0].name not in builds
    if alone and _within(spoken[0].origin.path, own[0].unit):
        builds[spoken[0].name] = own[0].unit
        around += [(own[0].unit, variables) for names, variables in workloads if names[0] == spoken[0].name]
    around += _of_the_only(own, workloads, [*built, *around])
    if not builds:
        return list(producers), around
    told = [
        dataclasses.replace(each, build=builds[each.name])
        if not each.build and _is_containers(each) and each.name in builds
        else each
        for each in producers
    ]
    return told, around


def _of_the_only(
    own: Sequence[ProducerConfig], workloads: Sequence[Workload], others: Sequence[Environment]
) -> list[Environment]:
    """The variables of the workloads that set what the only program of the tree asks for, if none is known to be its
    own.
    """
    units = {each.unit for each in own}
    if len(units) != 1 or not all(each.framework in PROGRAMS for each in own) or units & {"", NAMED}:
        return []
    unit = units.pop()
    if any(_within(each.origin.path, build) for each in own for build, _ in others):
        return []
    asked = _asked_by(own)
    return [
        (unit, variables)
        for _, variables in workloads
        if asked & variables.keys() and all(_within(each.origin.path, unit) for each in variables.values())
    ]


def with_topics(
    producer: ProducerConfig, environments: Sequence[Environment], look_up: Callable[[str], Lookup]
) -> ProducerConfig:
    """A producer with its topics' names in place of placeholders: by the variables of its service, what its module's
    files say, or the default; without any where one is not told. `look_up` gives a module's look-up.
    """
    if not any("${" in each for each in producer.topics):
        return producer
    around = [variables for build, variables in environments if _within(producer.origin.path, build)]
    outside = look_up(producer.unit)

    def told(name: str) -> str | None:
        said = {each[name].value if each[name].known else "" for each in around if name in each}
        return outside(name) if not said else said.pop() if len(said) == 1 else ""

    names = [resolve(each, "spring", told) for each in producer.topics]
    known = all(each.known and each.text and "$" not in each.text for each in names)
    return dataclasses.replace(producer, topics=tuple(dict.fromkeys(each.text for each in names)) if known else ())


def _is_containers(producer: ProducerConfig) -> bool:
    """Whether variables of a container configure a producer, by a framework's names or by the program's own."""
    channel = producer.framework == "smallrye" and producer.build != ""
    return producer.framework == "env" or producer.spelling.startswith(OF_SPRING) or channel


def _is_of_program(producer: ProducerConfig, kept: set[int]) -> bool:
    """Whether it is still kept, and told by variables with names of the program's own."""
    return producer.framework == "env" and id(producer) in kept


def _within(path: str, folder: str) -> bool:
    return bool(folder) and Path(folder) in Path(path).absolute().parents


def _is_told(producer: ProducerConfig, own: Sequence[ProducerConfig]) -> bool:
    """Whether what a service's variables configure is told by a file of what it is built of."""
    kinds = PROGRAMS | FILES if producer.framework == "env" else {producer.framework}
    return any(
        each.framework in kinds and _within(each.origin.path, producer.build) and _is_same(producer, each)
        for each in own
    )


def _is_same(producer: ProducerConfig, own: ProducerConfig) -> bool:
    """Whether variables may be of a producer of an application's files: a channel has a name."""
    return producer.framework != "smallrye" or squeezed(producer.name) == squeezed(own.name)


def _squeezed_sources(read: Iterable[str]) -> str:
    """What the sources that were read have, without what spellings of names differ in."""
    found = []
    for name in [each for each in read if each.endswith(SOURCES)][:MOST]:
        path = Path(name)
        try:
            if path.stat().st_size < LARGEST:
                found.append(squeezed(path.read_text(encoding="utf-8", errors="replace")))
        except OSError:
            continue
    return "\n".join(found)


OF_COMPOSE: Final = re.compile(r"(?:docker-)?compose[.-][\w.-]+\.ya?ml")
"""A Compose file beside the first one, of another environment."""


def _is_of_another_environment(variables: Mapping[str, Setting]) -> bool:
    """Whether variables are those of a service in a Compose file that is not the first one."""
    return any(OF_COMPOSE.fullmatch(Path(each.origin.path).name) for each in variables.values())


def _is_mentioned(producer: ProducerConfig, words: str) -> bool:
    """Whether a source has the name of one of a producer's variables."""
    return any(
        squeezed(each.written) in words for each in producer.settings.values() if each.key != "bootstrap.servers"
    )


def _is_for(producer: ProducerConfig, workloads: Sequence[Workload], words: str) -> bool:
    """Whether sources, which are all of one program, have the name of a variable of Kafka's beside a producer's."""
    beside = [variables for names, variables in workloads if names[0] == producer.name]
    return any(squeezed(name) in words for each in beside for name in each if "KAFKA" in name.upper())


def _asked_by(producers: Iterable[ProducerConfig]) -> frozenset[str]:
    """The variables that the settings of producers are asked of."""
    texts = [each.note if each.known else each.value for one in producers for each in one.settings.values()]
    return frozenset(found[1] for each in texts if (found := VARIABLE.search(each)) is not None)


def _is_asked(producer: ProducerConfig, asked: frozenset[str]) -> bool:
    """Whether a program asks for a variable of a producer's that decides."""
    return any(each.written in asked for each in producer.settings.values() if each.key != "bootstrap.servers")


def _filled(producer: ProducerConfig, environments: Sequence[Environment]) -> ProducerConfig:
    """A producer with what the services that are built where it is say of its placeholders."""
    around = [variables for build, variables in environments if _within(producer.origin.path, build)]
    if not around:
        return producer
    return _with_said(producer, around)


def _with_said(producer: ProducerConfig, around: Sequence[Mapping[str, Setting]]) -> ProducerConfig:
    """A producer with what the variables of several containers say of its placeholders."""
    settings = {key: _said(each, around) for key, each in producer.settings.items()}
    return dataclasses.replace(producer, settings=MappingProxyType(settings))


def _said(setting: Setting, around: Sequence[Mapping[str, Setting]]) -> Setting:
    """A setting that is a placeholder, or the default of one, with the value that services give to its variable."""
    found = VARIABLE.search(setting.note if setting.known else setting.value)
    if found is None or "is set" in setting.note:
        return setting
    said = [each[found[1]] for each in around if found[1] in each]
    if not said:
        return setting
    known = len({each.value for each in said}) == 1 and said[0].known
    note = f"${{{found[1]}}} is set, {said[0].origin}"
    return dataclasses.replace(setting, value=said[0].value, known=known, note=note)


def _under(producer: ProducerConfig, told: Sequence[ProducerConfig]) -> ProducerConfig:
    """A producer of Spring Boot's, or a channel of SmallRye's, with what the variables of the one service that it is
    built for set above its files; of several services, what they set is unknown where they do not agree.
    """
    above = [
        each.settings
        for each in told
        if each.framework == producer.framework
        and _within(producer.origin.path, each.build)
        and _is_same(each, producer)
    ]
    if not above:
        return producer
    settings = dict(producer.settings)
    for key in dict.fromkeys(key for each in above for key in each):
        said = [each[key] for each in above if key in each]
        agree = len({each.value for each in said}) == 1 and len(said) == len(above)
        settings[key] = dataclasses.replace(said[0], known=said[0].known and agree)
    return dataclasses.replace(producer, settings=MappingProxyType(settings))
