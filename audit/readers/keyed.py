"""What a program's own configuration files say of what its source asks for by a path of names: `kafka.producer.acks`.

Files of YAML, JSON, TOML, HOCON and INI count that lie in the source's module, but no tests, charts or samples. A path
is found by its whole length, or below something that names an environment or the application. What several files say
otherwise of one path is unknown. But a file of an environment's (`staging.toml`, `config.prod.yml`) is put above the
base beside it (`base.toml`, `config.yml`). The base is in force by itself; `CHOSEN` is the file that is put above it.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from configparser import ConfigParser
from configparser import Error as ConfigError
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from audit.model import Setting
from audit.readers.hocon import read_hocon
from audit.readers.names import squeezed
from audit.readers.text import Text, Unreadable
from audit.readers.tree import Table, flatten, read_json, read_yaml
from audit.readers.walk import OF_TESTS, SKIPPED, text_of

KINDS: Final = (".yaml", ".yml", ".json", ".toml", ".ini", ".cfg", ".conf", ".hocon")
MODULES: Final = ("go.mod", "package.json", "Cargo.toml", "pyproject.toml", "requirements.txt", "setup.py", ".git",
                  "build.sbt", "pom.xml", "build.gradle", "build.gradle.kts")  # fmt: skip
NO_PLACES: Final = frozenset({"charts", "chart", "helm", "templates", "docs", "k8s", "kubernetes", "manifests", "test"})
"""Directories whose files configure something else than the program by itself."""
NO_FILES: Final = re.compile(
    r"(?:docker-)?compose\b|setup\.cfg|tox\.ini|pytest\.ini|alembic\.ini|mypy\.ini|package(?:-lock)?\.json|tsconfig|Cargo\.toml|pyproject\.toml|custom-environment-variables"
    r"|\..*|.*(?:example|sample|template|\bdist\b|schema|swagger|openapi|values|test).*"
)
"""Files that are no configuration of a running program's."""
OF_DEVELOPERS: Final = re.compile(r".*[._-](?:local|dev|development|debug)\.\w+|(?:local|dev|development|debug)\.\w+")
SPEAKS: Final = re.compile(r"kafka|producer|\backs\b|required_?acks|broker", re.IGNORECASE)
HIGHEST: Final = 6
"""How many directories are looked into for the root of a module."""
MOST: Final = 100
"""Files of a module that are looked into."""
WALKED: Final = 4_000
"""Names that are looked at for them."""
LARGEST: Final = 200_000
LONGEST: Final = 300
"""Characters of the longest path that is looked up."""


Paths = tuple[tuple[tuple[str, ...], str], ...]
"""What a file says, by squeezed paths."""


@dataclass(frozen=True, slots=True)
class Told:
    """What files say of a path."""

    value: str
    known: bool = True
    """Whether they agree."""


TAKEN: Final[set[str]] = set()
"""The files in which something was found that a source asks for, by their whole paths, since `forget`."""


CHOSEN: Final[ContextVar[str]] = ContextVar("CHOSEN", default="")
"""The file of an environment that is put above its base, by its whole path; empty: none is."""
BASES: Final = ("base", "default", "defaults", "common", "config", "settings", "app", "global", "shared")
"""What a file is called above which those of environments are put."""
STAGES: Final = re.compile(
    r"(?:pre|non)?-?_?prod(?:uction)?|stag(?:e|ing)|dev(?:el|elopment)?|tests?|testing|qa|uat|int(?:egration)?|live|local|sandbox"
    r"|ci|perf|demo|preview|canary|acc(?:eptance)?",
    re.IGNORECASE,
)
"""What environments are called."""
LAYERS: Final[dict[str, str]] = {}
"""The files of environments, each with its base, by whole paths, since `forget`."""
ASKED: Final[set[str]] = set()
"""Bases of which something was asked, and which may have more that configures a producer."""


def environments(*, taken: bool = False) -> list[str]:
    """The files of environments that are put above a base of which something was asked; or only above those that
    configure nothing else.
    """
    return sorted(each for each, base in LAYERS.items() if base in TAKEN or (base in ASKED and not taken))


def _in_force(files: Sequence[tuple[str, Paths]]) -> list[tuple[str, Paths]]:
    """Files without those of environments; the one that is chosen is put above its base."""
    beside: dict[tuple[str, str], list[tuple[str, Paths]]] = {}
    for each in files:
        path = Path(each[0])
        beside.setdefault((str(path.parent), path.suffix), []).append(each)
    gone: set[str] = set()
    merged: dict[str, Paths] = {}
    for several in beside.values():
        base = next((each for name in BASES for each in several if Path(each[0]).stem.lower() == name), None)
        for other in several if base is not None else ():
            if base is None or other is base or not _is_above(other, base):
                continue
            gone.add(other[0])
            LAYERS[other[0]] = base[0]
            if other[0] == CHOSEN.get():
                own = {key for key, _ in other[1]}
                merged[base[0]] = (*(each for each in base[1] if each[0] not in own), *other[1])
    return [(path, merged.get(path, told)) for path, told in files if path not in gone]


def _is_above(file: tuple[str, Paths], base: tuple[str, Paths]) -> bool:
    """Whether a file is of an environment, by its name, and has a section that its base has too."""
    stem, own = Path(file[0]).stem, Path(base[0]).stem
    after = re.fullmatch(rf"{re.escape(own)}[._-]([\w-]+)", stem, re.IGNORECASE)
    named = STAGES.fullmatch(after[1] if after else stem) is not None
    return named and bool({key[0] for key, _ in file[1]} & {key[0] for key, _ in base[1]})


@contextmanager
def asked_for_topics() -> Iterator[None]:
    """While topics are looked up: a file that names one is not taken for what has the producer's settings."""
    before = set(TAKEN)
    try:
        yield
    finally:
        TAKEN.intersection_update(before)


@lru_cache(maxsize=64)
def root_of(path: str) -> Path:
    """The directory of the module that a source is in, or its own if nothing tells one."""
    folders = Path(path).absolute().parents[:HIGHEST]
    return next((each for each in folders if any((each / name).exists() for name in MODULES)), folders[0])


def said(path: str, names: Sequence[str]) -> Told | None:
    """What the files of a source's module say of a path of names; None if none does."""
    wanted = tuple(squeezed(each) for each in ".".join(names).split("."))
    if not wanted or not all(wanted) or sum(map(len, wanted)) > LONGEST:
        return None
    files = _files(root_of(path))
    found = [(file, value) for file, told in files if (value := _at(told, wanted)) is not None]
    if len(wanted) > 1:  # a file that has the section of what is asked for is what is asked
        TAKEN.update(file for file, told in files if any(key[: len(wanted) - 1] == wanted[:-1] for key, _ in told))
    running = [each for each in found if not OF_DEVELOPERS.fullmatch(os.path.basename(each[0]))] or found
    TAKEN.update(file for file, _ in found)
    values = sorted({value for _, value in running})
    return Told(values[0], known=len(values) == 1) if values else None


def said_below(path: str, names: Sequence[str]) -> Told | None:
    """What the files of a source's module say of a path of names, of which the first may not be the files': those of
    what only holds the settings, as in `app.config.kafka.acks`.
    """
    tried = (said(path, names[start:]) for start in range(len(names)) if start < len(names) - 1 or len(names) < 2)
    return next((each for each in tried if each is not None), None)


def said_in(path: str, names: Sequence[str]) -> dict[str, str] | None:
    """What the only section of a path of names says, in the files of a source's module, by squeezed keys; it may stand
    below others if these are Kafka's. None if there is none, or several.
    """
    found = section_in(path, names)
    return found[1] if found is not None else None


def section_in(path: str, names: Sequence[str]) -> tuple[str, dict[str, str]] | None:
    """The only section of a path of names, as `said_in`, and the file that it is in."""
    wanted = tuple(squeezed(each) for each in names if each)
    found: dict[tuple[str, tuple[str, ...]], dict[str, str]] = {}
    for file, told in _files(root_of(path)) if wanted else ():
        for key, value in told:
            for at in range(len(key) - len(wanted)):
                end = at + len(wanted)
                if key[at:end] == wanted and (not at or _fits(key[:end])):
                    found.setdefault((file, key[:end]), {})["".join(key[end:])] = value
    TAKEN.update(file for file, _ in found)
    return next(((file, section) for (file, _), section in found.items()), None) if len(found) == 1 else None


def has_section(path: str, names: Sequence[str]) -> bool:
    """Whether a file of a source's module has anything below a path of names."""
    wanted = tuple(squeezed(each) for each in ".".join(names).split(".") if each)
    return any(
        key[: len(wanted)] == wanted and len(key) > len(wanted) for _, told in _files(root_of(path)) for key, _ in told
    )


def _at(told: Paths, wanted: tuple[str, ...]) -> str | None:
    """The value at a path: its own, or the only one below an application's or environment's name."""
    own = [value for key, value in told if key == wanted]
    if own:
        return own[-1]
    below = {value for key, value in told if len(key) > len(wanted) and key[-len(wanted) :] == wanted and _fits(key)}
    return below.pop() if len(below) == 1 else None


def _fits(key: tuple[str, ...]) -> bool:
    """Whether a longer path may be meant by its end: it is one of Kafka's, and of no consumer."""
    return any("kafka" in each or "producer" in each for each in key) and not any("consumer" in each for each in key)


@lru_cache(maxsize=8)
def _files(root: Path) -> tuple[tuple[str, Paths], ...]:
    """The files of a module that may be its program's, each with what it says, by squeezed paths."""
    found = []
    for path in _paths(root):
        text = text_of(path)
        if text is not None and len(text.content) < LARGEST and SPEAKS.search(text.content):
            told = tuple(
                (tuple(squeezed(part) for part in each.key.split(".")), each.value)
                for each in _settings(text)
                if each.known and len(each.key) < LONGEST
            )
            found.append((str(path), told))
    return tuple(_in_force(found))


def forget() -> None:
    """Read files anew when they are asked for next."""
    _files.cache_clear()
    root_of.cache_clear()
    TAKEN.clear()
    LAYERS.clear()
    ASKED.clear()


def _paths(root: Path) -> Iterator[Path]:
    walked = found = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            each
            for each in folders
            if each not in SKIPPED | NO_PLACES and not OF_TESTS.fullmatch(each) and not each.startswith(".")
        )
        for name in sorted(names):
            walked += 1
            if name.endswith(KINDS) and not NO_FILES.fullmatch(name) and not NO_FILES.match(name):
                found += 1
                yield Path(folder) / name
            if walked > WALKED or found > MOST:
                return


def _settings(text: Text) -> list[Setting]:
    """The settings of a file; none if it is damaged."""
    if text.file.endswith(".toml"):
        try:
            text = Text(text.path, json.dumps(tomllib.loads(text.content), default=str), name="x.json")
        except ValueError:
            return []
    if text.file.endswith((".ini", ".cfg")):
        return _of_ini(text)
    try:
        if text.file.endswith((".conf", ".hocon")):
            return flatten(read_hocon(text), text)
        documents = read_yaml(text) if text.file.endswith((".yml", ".yaml")) else read_json(text)
        tables = [each for each in documents.nodes if isinstance(each, Table)]
        if any({"apiVersion", "kind"} <= each.names() or "services" in each.names() for each in tables):
            return []  # a resource of Kubernetes', or what Compose starts
        return [one for each in tables for one in flatten(each, text)]
    except (Unreadable, RecursionError):
        return []


def _of_ini(text: Text) -> list[Setting]:
    """The settings of an INI file, below the names of its sections."""
    parser = ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    try:
        parser.read_string(text.content)
    except (ConfigError, ValueError):
        return []
    sections = [(name, dict(parser.items(name))) for name in parser.sections()]
    sections += [("DEFAULT", dict(parser.defaults()))] if parser.defaults() else []
    return [
        Setting(f"{name}.{key}", str(value or "").strip(), text.origin())
        for name, own in sections
        for key, value in own.items()
    ]
