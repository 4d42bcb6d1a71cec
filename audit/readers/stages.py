"""Stages that a deployment has beside what is in force by itself: layers of a chart's values, overlays of Kustomize's,
Compose files of other environments (`docker-compose.prod.yml`), files of settings for environments.

A chart is read with its `values.yaml`; a kustomization without what overlays patch. What a layer or an overlay makes of
the same resources is read apart, and compared. A producer that gets other settings of those that decide, or other
addresses, is one more. It stands at the layer's file. Of Compose files, and of a program's own, addresses alone make
none.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Final

from audit.model import Origin, ProducerConfig, Setting
from audit.readers.application import read_applications
from audit.readers.collect import Collected
from audit.readers.environments import FILES, PROGRAMS, VARIABLE
from audit.readers.helm import Chart, rendered
from audit.readers.kubernetes import patched, read_containers
from audit.readers.once import COMPOSE, decides
from audit.readers.text import Text, Unreadable

Reader = Callable[[Text, Collected], None]
"""Offers a text to the formats."""
Variables = Mapping[str, Setting]
"""The variables of a container, by their names."""
MOST: Final = 8
"""Layers of a chart, or overlays, that are read."""
LARGEST: Final = 60
"""Templates of a chart that are read once more for each layer."""


@dataclass(frozen=True, slots=True)
class _Stage:
    """What a stage has in place of what is in force by itself: producers, and variables of workloads."""

    path: str
    producers: tuple[tuple[ProducerConfig, ProducerConfig], ...]
    """Each with what it is without the stage, first."""
    variables: Mapping[str, tuple[Setting, Setting]]
    """By where a variable is set without the stage: what it is there, and in the stage."""
    added: tuple[tuple[tuple[str, ...], Variables, Variables], ...] = ()
    """Variables that only the stage sets: the names that their program may have, those, and what is set without it."""
    framework: tuple[ProducerConfig, ...] = ()
    """Producers that only variables of the stage configure: of an application's framework, or by themselves."""
    decides_only: bool = False
    """Whether other addresses alone make no stage."""


def with_stages(producers: Sequence[ProducerConfig], reading: Collected, read: Reader) -> list[ProducerConfig]:
    """Producers, and those that stages give other settings."""
    found = list(producers)
    for stage in (*_of_charts(reading, read), *_of_overlays(reading), *_of_compose(reading)):
        alone = len({each.unit for each in producers if each.framework in OF_PROGRAMS}) == 1
        found += [made for each in producers if (made := _staged(each, stage, alone=alone)) is not None]
        found += [
            each
            for each in stage.framework
            if not any(one.framework in ({each.framework} & FILES or OF_PROGRAMS) for one in producers)
        ]
    return found


def in_environment(
    producers: Sequence[ProducerConfig], others: Sequence[ProducerConfig], path: str
) -> list[ProducerConfig]:
    """What a file of an environment's makes of producers: those of another reading that differ in what decides."""
    left = list(others)
    found = []
    for each in producers:
        other = next((one for one in left if (one.name, one.origin) == (each.name, each.origin)), None)
        if other is None:
            continue
        left.remove(other)
        if decides(each) != decides(other):
            name = f"{other.name} ({PurePath(path).name})"
            found.append(dataclasses.replace(other, name=name, origin=Origin(path, 1)))
    return found


def _of_charts(reading: Collected, read: Reader) -> Iterator[_Stage]:
    for root, templates in reading.templates_of_charts.items():
        chart = reading.charts.get(root)
        if chart is None or not chart.layers or len(templates) > LARGEST:
            continue
        base = _read(templates, chart, reading, read)
        for path, _ in chart.layers[:MOST]:
            layer = chart.staged(path)
            if any(rendered(each, layer).content != rendered(each, chart).content for each in templates):
                named = _as_named(path, root, templates[0])
                yield _compared(named, base, _read(templates, layer, reading, read))


def _as_named(path: str, root: Path, template: Text) -> str:
    """A file of a chart's directory, as the user named that."""
    return os.path.join(template.path.rpartition("/templates/")[0], os.path.relpath(path, root))


def _read(templates: Sequence[Text], chart: Chart, reading: Collected, read: Reader) -> Collected:
    """What the templates of a chart have with some values."""
    own = reading.apart()
    own.nested = lambda inside: _quietly(inside, own, read)
    for each in templates:
        _quietly(rendered(each, chart), own, read)
    read_applications(own)
    read_containers(own)
    return own


def _quietly(text: Text, own: Collected, read: Reader) -> None:
    try:
        read(text, own)
    except Unreadable:
        return  # it is told where the template is read by itself


def _of_overlays(reading: Collected) -> Iterator[_Stage]:
    """What patches of ConfigMaps make of the containers that have these."""
    if not reading.kustomizations or not reading.containers:
        return
    base = _of_containers(reading, "")
    for path in patched(reading)[:MOST]:
        yield _compared(path, base, _of_containers(reading, path))


FOR_TESTS: Final = re.compile(r"(?i)\b(?:tests?|ci|e2e|integration|override)\b")
"""What a Compose file is called that is for tests, or that is put above the first one by itself."""


def _of_compose(reading: Collected) -> Iterator[_Stage]:
    """What the Compose files of other environments make of the services of the one beside them."""
    bases = {
        (os.path.dirname(path), service): variables
        for path, service, variables in reading.services
        if (named := COMPOSE.fullmatch(os.path.basename(path))) is not None and not named["more"]
    }
    by_file: dict[str, list[tuple[str, Variables, Variables]]] = {}
    for path, service, variables in reading.services:
        named = COMPOSE.fullmatch(os.path.basename(path))
        own = bases.get((os.path.dirname(path), service))
        if named is not None and named["more"] and not FOR_TESTS.search(named["more"]) and own is not None:
            by_file.setdefault(path, []).append((service, own, variables))
    for path, services in list(by_file.items())[:MOST]:
        changed = dict(one for _, own, after in services for one in _changed(own, after))
        added = tuple(((service,), _added(own, after), own) for service, own, after in services)
        yield _Stage(path, (), changed, added, decides_only=True)


def _changed(own: Variables, after: Variables) -> Iterator[tuple[str, tuple[Setting, Setting]]]:
    """The variables that a stage says otherwise, by where they are set without it: what they are there, and then."""
    for name, before in own.items():
        if name in after and after[name].value != before.value:
            yield str(before.origin), (before, after[name])


def _added(own: Variables, after: Variables) -> Variables:
    """The variables that only a stage sets."""
    return {name: each for name, each in after.items() if name not in own}


def _of_containers(reading: Collected, patch: str) -> Collected:
    """What the containers of all files configure, with the ConfigMaps that a patch changes."""
    own = reading.apart()
    own.containers, own.config_maps = list(reading.containers), reading.config_maps
    own.kustomizations, own.patch = reading.kustomizations, patch
    read_containers(own)
    return own


def _compared(path: str, base: Collected, other: Collected) -> _Stage:
    """What differs in a stage."""
    by_name = {_named(each): each for each in base.producers}
    pairs = [(by_name[_named(each)], each) for each in other.producers if _named(each) in by_name]
    workloads = [
        (names, own, after)
        for (names, own), (others, after) in zip(base.workloads, other.workloads, strict=False)
        if names == others
    ]
    variables = dict(one for _, own, after in workloads for one in _changed(own, after))
    added = tuple((names, only, own) for names, own, after in workloads if (only := _added(own, after)))
    more = tuple(each for each in other.producers if _named(each) not in by_name)
    return _Stage(path, tuple((one, each) for one, each in pairs if _differs(one, each)), variables, added, more)


OF_PROGRAMS: Final = PROGRAMS | FILES


def _named(producer: ProducerConfig) -> tuple[str, ...]:
    return producer.name, producer.framework, producer.spelling


def _differs(one: ProducerConfig, other: ProducerConfig) -> bool:
    """Whether two are not the same in what decides, or where they send to."""
    return (decides(one), _address(one)) != (decides(other), _address(other))


def _address(producer: ProducerConfig) -> str:
    setting = producer.settings.get("bootstrap.servers")
    return setting.value if setting is not None else ""


def _of_stage(path: str) -> str:
    """What a stage is called: by its file, or the directory of its kustomization."""
    file = PurePath(path)
    return file.parent.name if file.name.lower().startswith("kustomization.") else file.name


SET: Final = re.compile(r"\$\{\w+\} is set, (.+)")
"""How it is told that a container's variable stands in place of a placeholder."""


def _set_otherwise(producer: ProducerConfig, stage: _Stage) -> Iterator[tuple[str, Setting]]:
    """The settings whose variable a stage sets otherwise."""
    for key, each in producer.settings.items():
        told = SET.fullmatch(each.note)
        if told is not None and told[1] in stage.variables:
            _, after = stage.variables[told[1]]
            note = each.note.replace(told[1], str(after.origin))
            yield key, dataclasses.replace(each, value=after.value, known=after.known, note=note)


def _set_alone(settings: Variables, variables: Variables) -> Iterator[tuple[str, Setting]]:
    """The settings that are asked of variables which only a stage sets."""
    for key, each in settings.items():
        asked = VARIABLE.search(each.note if each.known else each.value)
        if asked is not None and asked[1] in variables and "is set" not in each.note:
            value = variables[asked[1]]
            note = f"${{{asked[1]}}} is set, {value.origin}"
            yield key, dataclasses.replace(each, value=value.value, known=value.known, note=note)


def _staged(producer: ProducerConfig, stage: _Stage, *, alone: bool) -> ProducerConfig | None:
    """A producer as a stage has it; None if that says nothing else of it. `alone`: no other program is told of."""
    settings = dict(producer.settings)
    for before, after in stage.producers:
        if any(before.settings.get(key) == each for key, each in producer.settings.items()):
            settings |= {key: each for key, each in after.settings.items() if before.settings.get(key) != each}
    settings |= dict(_set_otherwise(producer, stage))
    for names, variables, own in stage.added:
        origins = {str(each.origin) for each in own.values()}
        told_of = {told[1] for each in settings.values() if (told := SET.fullmatch(each.note)) is not None}
        if alone or told_of & origins or Path(producer.unit).name in names:
            settings |= dict(_set_alone(settings, variables))
    for one in stage.framework:
        if one.framework == producer.framework and (alone or Path(producer.unit).name == one.name):
            settings |= one.settings
    made = dataclasses.replace(
        producer,
        name=f"{producer.name} ({_of_stage(stage.path)})",
        settings=MappingProxyType(settings),
        origin=Origin(stage.path, 1),
    )
    differs = decides(producer) != decides(made) if stage.decides_only else _differs(producer, made)
    return made if differs else None
