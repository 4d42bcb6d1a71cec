"""Producers in Elixir, whose client is brod: Kaffe's configuration, and what a program starts brod with.

| what | where |
|---|---|
| Kaffe | `config :kaffe, producer: [required_acks: 1, …]` |
| brod | `:brod.start_producer(client, topic, [required_acks: 1])`; `config :brod`, `default_producer_config: […]` |

Searched, not parsed: literals count, what is an expression is unknown. Broadway's producers are where a pipeline reads.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import Final

from audit.model import Origin, Setting
from audit.readers.collect import Collected
from audit.readers.format import Document, Format
from audit.readers.natives import HASHES, TESTS
from audit.readers.text import Text
from audit.readers.walk import text_of

KAFFE: Final = re.compile(r"\bconfig\s*\(?\s*:kaffe\s*,(?:(?!\bconfig\b)(?:.|\n)){0,2000}?\bproducers?:\s*\[")
GIVEN: Final = r"(?:[^,()]|\([^()]*\))+"
"""An argument, which may be a call."""
STARTS: Final = re.compile(
    rf":brod\.start_producer\s*\(\s*{GIVEN},\s*({GIVEN}),\s*(?:(?:\w+\s*=\s*)?\[|(?=[a-z_]\w*:\s))"
    r"|\bdefault_producer_config:\s*\["
)
NAMED: Final = re.compile(rf":brod\.start_producer\s*\(\s*{GIVEN},\s*({GIVEN}),\s*(@?[a-z_]\w*)\s*\)")
"""A producer whose settings have a name: a variable's or an attribute's of its module."""
TOPIC: Final = re.compile(r"\btopic:\s*\"([\w.-]+)\"")
CONFIGS: Final = ("config.exs", "runtime.exs", "prod.exs")
HIGHEST: Final = 6
"""How many directories are looked into for a program's configuration."""
ENTRY: Final = re.compile(r"\b(required_acks|max_retries|partition_onwire_limit):\s*([^,\]\n]+)")
NAMES: Final = {
    "required_acks": "acks",
    "max_retries": "retries",
    "partition_onwire_limit": "max.in.flight.requests.per.connection",
}
UNKNOWN: Final = "(an expression)"
LONGEST: Final = 4_000
MOST: Final = 20
"""How many producers of one file are looked at."""


def _closing(text: str, at: int) -> int:
    """Where the bracket or parenthesis closes that was opened before `at`; the end if none does."""
    depth = 1
    for found in re.finditer(r"\"(?:[^\"\\\n]|\\.)*\"|[\[\]()]", text[at : at + LONGEST]):
        depth += {"[": 1, "]": -1, "(": 1, ")": -1}.get(found[0], 0)
        if depth == 0:
            return at + found.start()
    return min(len(text), at + LONGEST)


def _settings(source: Text, text: str, start: int) -> list[Setting]:
    """What a list says, from behind its bracket on."""
    settings = []
    for each in ENTRY.finditer(text, start, _closing(text, start)):
        literal = re.fullmatch(r":?(-?\d+|all|none|leader)", each[2].strip())
        origin = source.origin(source.line_at(each.start()))
        value = literal[1] if literal else UNKNOWN
        settings.append(Setting(NAMES[each[1]], value, origin, written=each[1], known=literal is not None))
    return settings


def _read(document: Document, reading: Collected) -> bool:
    """Add the producers of a file of Elixir's that is no test's."""
    source = document.source
    if TESTS.search(source.path):
        return True
    text = HASHES.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), source.content)
    for kind in (KAFFE, STARTS):
        for maker in islice(kind.finditer(text), MOST):
            settings = _settings(source, text, maker.end())
            at = settings[0].origin if settings else source.origin(source.line_at(maker.end()))
            topics = _topics(source, maker[1]) if kind is STARTS and maker[1] else []
            reading.producer(source.file, settings, at, client="brod", framework="source", topics=topics, style="none")
    for maker in islice(NAMED.finditer(text), MOST):
        at = source.origin(source.line_at(maker.start()))
        settings = _settings_named(source, text, maker[2], at)
        topics = _topics(source, maker[1])
        reading.producer(source.file, settings, at, client="brod", framework="source", topics=topics, style="none")
    return True


def _settings_named(source: Text, text: str, name: str, at: Origin) -> list[Setting]:
    """The settings of a list that a name is bound to once; as unknown, if none is seen."""
    bound = list(islice(re.finditer(rf"(?<![\w@]){name}\s*(?:=\s*)?\[(?!:)", text), 2))
    if len(bound) == 1:
        return _settings(source, text, bound[0].end())
    return [Setting(key, UNKNOWN, at, known=False, note="decided elsewhere in the program") for key in NAMES.values()]


def _topics(source: Text, written: str) -> list[str]:
    """The topic that a producer is started for: a literal, or the only one of the program's configuration."""
    if literal := re.fullmatch(r"\"([\w.-]+)\"", written.strip()):
        return [literal[1]]
    if re.search(r"\btopic\b", written) is None:
        return []
    folders = Path(source.path).absolute().parents[:HIGHEST]
    home = next((each for each in folders if (each / "mix.exs").is_file()), None)
    files = [text_of(home / "config" / name) for name in CONFIGS] if home is not None else []
    told = {name for each in files if each is not None for name in TOPIC.findall(each.content)}
    return list(told) if len(told) == 1 else []


FORMATS: Final = (
    Format(
        name="Elixir",
        reads="brod's producers: `:brod.start_producer`, `default_producer_config`, Kaffe's configuration",
        files=("*.ex", "*.exs"),
        rank=28,
        whole=True,
        speaks=("brod", "kaffe"),
        claims=lambda document: document.file.endswith((".ex", ".exs")),
        read=_read,
    ),
)
