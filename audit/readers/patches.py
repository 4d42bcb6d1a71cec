"""Patches by which overlays of Kustomize's change the environment of a workload's containers.

| how it is written | where |
|---|---|
| a part of the workload (a strategic merge) | a file of `patches` or `patchesStrategicMerge`, or a text in the \
kustomization |
| operations (`op: replace`, `path: /spec/template/spec/containers/0/env/1/value`) | the same, or `patchesJson6902` |

An overlay's patch is put above the containers of its base in the stage that is read; without one it is no workload.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit.readers.collect import Collected
from audit.readers.kustomize import patched_by, patches_of
from audit.readers.text import Text
from audit.readers.tree import Listing, Node, Scalar, Table, inner, read_yaml
from audit.readers.walk import text_of

PATCHES: Final = ("patches", "patchesJson6902")
OF_VARIABLE: Final = re.compile(r"/spec/template/spec/containers/(\d+)/env(?:/(\d+|-)(/value)?)?")
"""Where an operation changes a variable, or all of them."""
LONGEST: Final = 20
"""Patches of one kustomization that are looked at."""


@dataclass(frozen=True, slots=True)
class Patch:
    """What a patch says of the environment of one container."""

    path: str
    """The file that says it."""
    workload: str
    container: str | int
    """Its name, or where it stands among those of the workload."""
    source: Text
    env: tuple[Table, ...]
    values: tuple[tuple[int, Scalar], ...] = ()
    """Values by where the variables stand in the container."""


def containers_of(document: Table) -> Iterator[Table]:
    """The containers of a workload, wherever its pod template is."""
    spec = document.table("spec")
    for at in (spec, spec.table("template", "spec"), spec.table("jobTemplate", "spec", "template", "spec")):
        yield from at.tables("containers")


def in_stage(reading: Collected) -> list[Patch]:
    """The patches of the stage that is read."""
    return [each for each in patches(reading) if each.path == reading.patch] if reading.patch else []


def patches(reading: Collected) -> list[Patch]:
    """All patches of the environment of containers."""
    if not reading.kustomizations:
        return []
    files = patches_of(reading)
    found = [
        Patch(source.path, workload, container.text("name"), source, container.tables("env"))
        for source, container, workload, _ in reading.containers
        if os.path.abspath(source.path) in files
    ]
    for source, table in reading.kustomizations:
        for each in [one for name in PATCHES for one in table.tables(name)][:LONGEST]:
            found += _of_patch(source, each)
        for text in table.scalars("patchesStrategicMerge"):
            found += _of_text(inner(text, source, "patch.yaml"), "") if "\n" in text.text else []
    return found


def _of_patch(source: Text, patch: Table) -> list[Patch]:
    """What one patch of a kustomization's says: its text, or operations in the file that it names."""
    target = patch.text("target", "name")
    if isinstance(text := patch.get("patch"), Scalar):
        return _of_text(inner(text, source, "patch.yaml"), target)
    name = patch.text("path")
    text_there = text_of(Path(os.path.dirname(source.path)) / name) if name and "://" not in name else None
    nodes = read_yaml(text_there).nodes if text_there is not None else []
    return [one for each in nodes for one in _of_operations(each, text_there or source, target)]


def _of_text(text: Text, target: str) -> list[Patch]:
    found: list[Patch] = []
    for node in read_yaml(text).nodes:
        found += _of_operations(node, text, target)
        if isinstance(node, Table):
            name = node.text("metadata", "name") or target
            found += [
                Patch(text.path, name, each.text("name"), text, each.tables("env")) for each in containers_of(node)
            ]
    return found


def _of_operations(node: Node, source: Text, target: str) -> Iterator[Patch]:
    """What operations say of a workload that is named as their target."""
    for each in node.items if isinstance(node, Listing) and target else ():
        at = OF_VARIABLE.fullmatch(each.text("path")) if isinstance(each, Table) else None
        if at is None or not isinstance(each, Table) or each.text("op") not in ("add", "replace"):
            continue
        value = each.get("value")
        entries = (value,) if isinstance(value, Table) else each.tables("value")
        if at[3] and isinstance(value, Scalar):
            yield Patch(source.path, target, int(at[1]), source, (), ((int(at[2]), value),))
        elif entries:
            yield Patch(source.path, target, int(at[1]), source, entries)


def bases(reading: Collected) -> list[tuple[Text, Table, str, str]]:
    """The containers of all files, without those of patches that another file has a base of: if that says nothing of
    Kafka, it was not read.
    """
    if not reading.kustomizations:
        return reading.containers
    files = patches_of(reading)
    own = [each for each in reading.containers if os.path.abspath(each[0].path) not in files]
    for each in [one for one in reading.containers if os.path.abspath(one[0].path) in files]:
        if each[2] not in {one[2] for one in own}:
            own += _unread(each, reading) or [each]
    return own


def _unread(patch: tuple[Text, Table, str, str], reading: Collected) -> list[tuple[Text, Table, str, str]]:
    """The containers of the workload that a patch is of, in files that were not read."""
    found: list[tuple[Text, Table, str, str]] = []
    for path in patched_by(patch[0].path, reading):
        text = text_of(Path(path)) if path.endswith((".yml", ".yaml")) else None
        for node in read_yaml(text).nodes if text is not None else ():
            if text is not None and isinstance(node, Table) and node.text("metadata", "name") == patch[2]:
                found += [(text, each, patch[2], node.text("metadata", "namespace")) for each in containers_of(node)]
    return found


def entries_of(
    container: tuple[Text, Table, str, str], among: Sequence[tuple[Text, Table, str, str]], above: Sequence[Patch]
) -> list[tuple[Text, Table]]:
    """The variables of a container, with those of patches above them."""
    source, table, workload, _ = container
    entries = [(source, each) for each in table.tables("env")]
    if not above:
        return entries
    beside = [each for each in among if each[0] is source and each[2] == workload]
    at = next((place for place, each in enumerate(beside) if each is container), 0)
    for patch in above:
        if patch.workload != workload or patch.container not in (table.text("name"), at):
            continue
        for place, value in patch.values:
            if place < len(entries):
                entry = entries[place][1]
                line = value.line or entry.line
                name = ("name", line, Scalar(entry.text("name"), line))
                entries[place] = (patch.source, Table((name, ("value", line, value)), line))
        entries += [(patch.source, each) for each in patch.env]
    return entries
