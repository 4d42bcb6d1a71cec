"""Kustomize: ConfigMaps that a kustomization generates, which no file has as a resource.

A `configMapGenerator` makes a ConfigMap of literals and of files of variables (`envs`); its files (`files`) are in the
tree, and are read by themselves. A kustomization above it, which names it among its resources, may add to it
(`behavior: merge`) or replace it. A container's ConfigMap is that of the kustomizations at the top of those that have
its file: where they say otherwise of a value, as overlays for several stages do, it is unknown. A file that each of
them has another one for is in force nowhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from audit.model import Setting
from audit.readers.collect import Collected
from audit.readers.compose import read_env
from audit.readers.format import YAML, Document, Format
from audit.readers.names import latest
from audit.readers.text import Text, decode
from audit.readers.tree import Table
from audit.readers.walk import LARGEST

FILE: Final = re.compile(r"kustomization\.ya?ml", re.IGNORECASE)
PARTS: Final = ("resources", "bases", "components")
GENERATOR: Final = "configMapGenerator"
DEEPEST: Final = 200
"""How many kustomizations below one are looked into."""


@dataclass(frozen=True, slots=True)
class _Layer:
    """A kustomization: where it is, and what it has."""

    source: Text
    table: Table

    @property
    def folder(self) -> str:
        return os.path.dirname(os.path.abspath(self.source.path))

    @property
    def parts(self) -> list[str]:
        """The files and directories that it names, by their whole paths."""
        named = [each.text for name in PARTS for each in self.table.scalars(name)]
        return [*self._whole(named), *self.patches]

    @property
    def patches(self) -> list[str]:
        """The files that change what it names, by their whole paths."""
        named = [each.text("path") for each in self.table.tables("patches") if each.text("path")]
        return self._whole([*named, *(each.text for each in self.table.scalars("patchesStrategicMerge"))])

    def _whole(self, named: Sequence[str]) -> list[str]:
        return [os.path.normpath(os.path.join(self.folder, each)) for each in named if "://" not in each]


def patches_of(reading: Collected) -> frozenset[str]:
    """The files that kustomizations have as patches, by their whole paths."""
    return frozenset(one for each in reading.kustomizations for one in _Layer(*each).patches)


def patched_by(path: str, reading: Collected) -> list[str]:
    """The files of what a file is a patch of, by their whole paths."""
    layers = {each.folder: each for each in (_Layer(*one) for one in reading.kustomizations)}
    named = [each for each in layers.values() if os.path.abspath(path) in each.patches]
    return sorted({one for each in named for one in _reached(each, layers)} - {os.path.abspath(path)})


def generated(name: str, path: str, reading: Collected) -> list[Setting]:
    """The variables of a ConfigMap that kustomizations generate for a resource of a file."""
    layers = {each.folder: each for each in (_Layer(*one) for one in reading.kustomizations)}
    if not any(one.text("name") == name for each in layers.values() for one in each.table.tables(GENERATOR)):
        return []
    reached = {folder: _reached(each, layers) for folder, each in layers.items()}
    having = [folder for folder in layers if os.path.abspath(path) in reached[folder]]
    tops = [each for each in having if not any(each in reached[other] for other in having if other != each)]
    told = [found for each in tops if (found := _map(each, name, layers, reading, {})) is not None]
    settings = []
    for key in dict.fromkeys(key for each in told for key in each):
        said = [each[key] for each in told if key in each]
        agree = len(said) == len(told) and len({each.value for each in said}) == 1
        settings.append(said[0] if agree else replace(said[0], known=False, note="kustomizations say otherwise"))
    return settings


def replaced(reading: Collected) -> dict[str, frozenset[str]]:
    """Files that kustomizations make a ConfigMap of, and that each kustomization at the top has other files for: these,
    by whole paths.
    """
    layers = {each.folder: each for each in (_Layer(*one) for one in reading.kustomizations)}
    reached = {folder: _reached(each, layers) for folder, each in layers.items()}
    made = {folder: _files(each) for folder, each in layers.items()}
    found: dict[str, frozenset[str]] = {}
    for folder, files in made.items():
        above = [each for each in layers if folder in reached[each] and each != folder]
        tops = [each for each in above if not any(each in reached[other] for other in above if other != each)]
        for named, path in files.items():
            instead = [
                {made[each][named] for each in (top, *above) if each in (top, *reached[top]) and named in made[each]}
                for top in tops
            ]
            if instead and all(each and path not in each for each in instead):
                found[path] = frozenset().union(*instead)
    return found


def _files(layer: _Layer) -> dict[tuple[str, str], str]:
    """The files of the ConfigMaps that a kustomization makes, by the map and the name in it, as whole paths."""
    found = {}
    for each in layer.table.tables(GENERATOR):
        for file in each.scalars("files"):
            name, _, path = file.text.rpartition("=")
            found[each.text("name"), name or os.path.basename(path)] = os.path.normpath(
                os.path.join(layer.folder, path)
            )
    return found


def _reached(layer: _Layer, layers: Mapping[str, _Layer]) -> set[str]:
    """The files and directories that a kustomization names, and those that they name."""
    found: set[str] = set()
    todo = list(layer.parts)
    while todo:
        each = todo.pop()
        if each not in found:
            found.add(each)
            todo += layers[each].parts if each in layers else ()
    return found


def _map(
    folder: str,
    name: str,
    layers: Mapping[str, _Layer],
    reading: Collected,
    known: dict[str, Mapping[str, Setting] | None],
) -> Mapping[str, Setting] | None:
    """A generated ConfigMap as a kustomization has it; None if it has none of this name. `known`: those of others."""
    if folder in known:
        return known[folder]
    known[folder] = told = None
    for part in layers[folder].parts if len(known) < DEEPEST else ():
        if part in layers and (below := _map(part, name, layers, reading, known)) is not None:
            told = {**(told or {}), **below}
    for each in layers[folder].table.tables(GENERATOR):
        if each.text("name") == name:
            own = latest(_variables(layers[folder], each, reading))
            told = dict(own) if each.text("behavior") == "replace" else {**(told or {}), **own}
    known[folder] = told
    return told


def _variables(layer: _Layer, generator: Table, reading: Collected) -> list[Setting]:
    """What a generator says by itself."""
    found: list[Setting] = []
    files = [each.text for each in generator.scalars("envs")]
    for file in [*files, *([generator.text("env")] if generator.text("env") else [])]:
        found += _env_file(Path(layer.source.path).parent / file, reading)
    for each in generator.scalars("literals"):
        if "=" in each.text:
            key, _, value = each.text.partition("=")
            found.append(Setting(key, _unquoted(value), layer.source.origin(each.line)))
    return found


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _env_file(path: Path, reading: Collected) -> Sequence[Setting]:
    """The variables of a file; none if it cannot be read."""
    try:
        if path.stat().st_size > LARGEST:
            return ()
        reading.named_env_files.add(str(path.absolute()))
        return read_env(Text(str(path), decode(path.read_bytes())))
    except (OSError, ValueError):
        return ()


def _read(document: Document, reading: Collected) -> bool:
    assert document.tree is not None
    reading.kustomizations.append((document.source, document.tree))
    return True


FORMATS: Final = (
    Format(
        name="Kustomize",
        reads="ConfigMaps that `configMapGenerator` makes, with those of the layers above",
        files=YAML,
        rank=99,
        named=FILE,
        claims=lambda document: FILE.fullmatch(document.source.file) is not None and document.tree is not None,
        read=_read,
    ),
)
