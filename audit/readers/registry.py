"""All formats that the audit reads, found in the reader modules beside this one.

From them come the files that a walk through directories takes, and the table in docs/audit.md.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from audit.readers.format import TEMPLATED, TEMPLATES, Format
from audit.readers.text import Text

KAFKA: Final = (
    "kafka",
    r"\backs\b",
    "bootstrap[._-]?servers",
    r"broker\.list",
    "producer",
    r"min\.insync",
    r"replication\.factor",
    "idempotence",
)
"""What configuration that concerns Kafka has somewhere, in any format."""


@cache
def formats() -> tuple[Format, ...]:
    """Every format, in the order in which they are asked."""
    return tuple(sorted(_found(), key=lambda one: one.rank))


def _found() -> Iterator[Format]:
    package = __name__.rpartition(".")[0]
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        yield from getattr(importlib.import_module(f"{package}.{module.name}"), "FORMATS", ())


@cache
def file_names() -> re.Pattern[str]:
    """The names of files that some format reads."""
    globs = {glob: re.compile(_pattern(glob)) for one in formats() for glob in one.files}
    covered = {glob for glob in globs for other in globs if other != glob and globs[other].fullmatch(glob)}
    names = [_pattern(glob) for glob in sorted(globs.keys() - covered)]
    templates = rf"({'|'.join(map(_pattern, TEMPLATED))})\.({TEMPLATES})"
    return re.compile("|".join((*names, templates)), re.IGNORECASE)


def _pattern(glob: str) -> str:
    return re.escape(glob).replace(r"\*", ".+")


@cache
def _marks() -> re.Pattern[str]:
    return re.compile("|".join((*KAFKA, *(mark for one in formats() for mark in one.speaks))), re.IGNORECASE)


def speaks_of_kafka(content: str) -> bool:
    """Whether a text has a word that configuration of Kafka has."""
    return _marks().search(content) is not None


def concerns_kafka(source: Text) -> bool:
    """Whether a file may have to do with Kafka, by its name or by its words."""
    own = any(one.named is not None and one.named.fullmatch(source.file) for one in formats())
    return own or speaks_of_kafka(source.file) or speaks_of_kafka(source.content)


def table() -> str:
    """The formats as a table in Markdown, in the order in which they are asked."""
    rows = ["| format | files | what is read |", "|---|---|---|"]
    for one in formats():
        globs = ", ".join(f"`{glob}`" for glob in one.files)
        rows.append(f"| {one.name} | {globs} | {one.reads} |")
    return "\n".join(rows) + "\n"
