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
from typing import Final

from audit.model import Setting
from audit.readers.collect import Collected
from audit.readers.format import Document, Format
from audit.readers.natives import HASHES, TESTS

KAFFE: Final = re.compile(r"\bconfig\s*\(?\s*:kaffe\s*,(?:(?!\bconfig\b)(?:.|\n)){0,2000}?\bproducers?:\s*\[")
STARTS: Final = re.compile(
    r":brod\.start_producer\s*\(\s*[^,()]+,\s*[^,()]+,\s*(?=\[)\[|\bdefault_producer_config:\s*\["
)
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
    """Where the bracket closes that was opened before `at`; the end if none does."""
    depth = 1
    for found in re.finditer(r"\"(?:[^\"\\\n]|\\.)*\"|[\[\]]", text[at : at + LONGEST]):
        depth += {"[": 1, "]": -1}.get(found[0], 0)
        if depth == 0:
            return at + found.start()
    return min(len(text), at + LONGEST)


def _read(document: Document, reading: Collected) -> bool:
    """Add the producers of a file of Elixir's that is no test's."""
    source = document.source
    if TESTS.search(source.path):
        return True
    text = HASHES.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), source.content)
    for kind in (KAFFE, STARTS):
        for maker in islice(kind.finditer(text), MOST):
            settings = []
            for each in ENTRY.finditer(text, maker.end(), _closing(text, maker.end())):
                literal = re.fullmatch(r":?(-?\d+|all|none|leader)", each[2].strip())
                origin = source.origin(source.line_at(each.start()))
                value = literal[1] if literal else UNKNOWN
                settings.append(Setting(NAMES[each[1]], value, origin, written=each[1], known=literal is not None))
            at = settings[0].origin if settings else source.origin(source.line_at(maker.end()))
            reading.producer(source.file, settings, at, client="brod", framework="source", style="none")
    return True


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
