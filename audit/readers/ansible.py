"""Templates of Ansible's: expressions of Jinja with what the variables of their role say, as far as that is certain.

`{{ acks }}` of `roles/kafka/templates/producer.properties.j2` becomes what `roles/kafka/defaults/main.yml` says, or
`vars/main.yml` above it, or `group_vars/all` above the defaults. A name that other files of variables have too (of a
group, a host, a play) stays as it is, and is unknown. Of filters those are known that make a text of a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from audit.readers.text import Text
from audit.readers.tree import Scalar, Table, read_yaml
from audit.readers.walk import text_of

END: Final = ".j2"
EXPRESSION: Final = re.compile(r"\{\{-?\s*(\w+)((?:\s*\|\s*\w+(?:\([^(){}]*\))?)*)\s*-?\}\}")
FILTER: Final = re.compile(r"\|\s*(\w+)(?:\(\s*['\"]?([^(){}'\",]*)['\"]?[^(){}]*\))?")
PLAIN: Final = frozenset({"lower", "string", "int", "bool", "trim", "to_json", "mandatory", "default", "d"})
"""Filters after which a value is what it is, or the default that they have."""
HIGHEST: Final = 5
"""How many directories above a role are looked into for variables of a group."""
DEEPEST: Final = 3
"""How deep variables stand in one another."""
OTHERS: Final = 200
"""Files of variables of groups and hosts that are looked into."""


def rendered(source: Text) -> Text:
    """A template with its expressions replaced by what its role's variables say; any other text as it is."""
    if (role := role_of(source.path)) is None:
        return source
    return replace(source, content=EXPRESSION.sub(lambda found: _value(found, role), source.content))


def role_of(path: str) -> Path | None:
    """The role that a file is a template of; None for every other file."""
    folder = Path(path).absolute().parent
    return folder.parent if path.endswith(END) and folder.name == "templates" else None


def filled(text: str, role: Path) -> str:
    """A text of a role's with its expressions replaced by what its variables say, which may have some themselves."""
    for _ in range(DEEPEST):
        text = EXPRESSION.sub(lambda found: _variables(role).get(found[1], found[0]), text)
    return text


def _value(found: re.Match[str], role: Path) -> str:
    filters = FILTER.findall(found[2])
    if any(name not in PLAIN for name, _ in filters):
        return found[0]
    told = _variables(role).get(found[1])
    if told is None:
        told = next((given for name, given in filters if name in ("default", "d") and given), None)
        told = told if found[1] not in _others(role) else None
    if told is None or "{{" in told:
        return found[0]
    return told.lower() if any(name in ("lower", "bool") for name, _ in filters) else told


def forget() -> None:
    """Read files anew when they are asked for next."""
    _variables.cache_clear()
    _others.cache_clear()


@lru_cache(maxsize=32)
def _variables(role: Path) -> dict[str, str]:
    """What the variables of a role are, but for those that a group, a host or a play has too."""
    found: dict[str, str] = {}
    groups = [each / "group_vars" / "all" for each in role.parents[:HIGHEST]]
    for place in (role / "defaults" / "main", *groups[::-1], role / "vars" / "main"):
        for file in _files(place):
            found |= _scalars(file)
    return {name: value for name, value in found.items() if name not in _others(role)}


def _files(place: Path) -> Iterator[Path]:
    """The files of variables of a name: it, with an end, or those of the directory."""
    if place.is_dir():
        yield from sorted(each for each in place.iterdir() if each.suffix in (".yml", ".yaml"))
    for end in (".yml", ".yaml"):
        if place.with_name(place.name + end).is_file():
            yield place.with_name(place.name + end)


def _scalars(file: Path) -> dict[str, str]:
    text = text_of(file)
    node = next(iter(read_yaml(text).nodes), None) if text is not None else None
    return (
        {name: each.text for name, _, each in node.items if isinstance(each, Scalar)} if isinstance(node, Table) else {}
    )


@lru_cache(maxsize=32)
def _others(role: Path) -> frozenset[str]:
    """The names that files of variables of groups and hosts have, beside those of all."""
    names: set[str] = set()
    for above in role.parents[:HIGHEST]:
        for folder in ("group_vars", "host_vars"):
            files = sorted((above / folder).rglob("*.y*ml"))[:OTHERS] if (above / folder).is_dir() else []
            names |= {name for file in files if not _is_of_all(file, above / folder) for name in _scalars(file)}
    return frozenset(names)


def _is_of_all(file: Path, folder: Path) -> bool:
    return file.relative_to(folder).parts[0].partition(".")[0] == "all"
