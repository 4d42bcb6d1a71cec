r"""What brokers warned of and complained about, without what differs from run to run.

A fingerprint is the level, the class that logged it and the message, in which numbers, addresses, ids and paths are
replaced. Two runs of the same release have the same ones but for a few that depend on the moment. So a fingerprint that
many runs of one side have and none of the other is news.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from judgement.comparison import Fact, Kind

LINE: Final = re.compile(
    r"\[\d{4}-\d\d-\d\d[T ][^\]]*\] (?P<level>WARN|ERROR|FATAL) (?P<message>.*?)(?: \((?P<class>[\w.$]+)\))?\s*$"
)
"""A line as Kafka's own log4j settings write it, behind Docker's stamp."""
KINDS: Final[dict[str, Kind]] = {"WARN": "warning", "ERROR": "error line", "FATAL": "error line"}
LONGEST: Final = 160
"""Characters that are kept of a message: what is behind them is the end of a list, or of a stack."""
_CHANGES: Final = (
    (re.compile(r"(?<![\w-])(?=[\w-]*[A-Z0-9])[\w-]{22}(?![\w-])"), "ID"),
    (re.compile(r"/(?:[\w.+-]+/)+[\w.+-]*"), "PATH"),
    (re.compile(r"0x[0-9a-fA-F]+|@[0-9a-f]{5,}"), "N"),
    (re.compile(r"\d+(?:[.,:]\d+)*"), "N"),
)


def fingerprint(line: str) -> Fact | None:
    """The fingerprint of a line of a broker's log; None for one that is no warning and no error.

    >>> str(fingerprint("[2026-11-23T19:24:16.708Z] WARN Truncating t-0 to offset 681 (kafka.Log)"))
    'warning Log: Truncating t-N to offset N'
    """
    found = LINE.search(line)
    if found is None:
        return None
    message = found["message"]
    for pattern, word in _CHANGES:
        message = pattern.sub(word, message)
    name = (found["class"] or "").rpartition(".")[2]
    return Fact(KINDS[found["level"]], f"{name}: {' '.join(message.split())[:LONGEST]}" if name else message[:LONGEST])


def of_logs(paths: Iterable[Path]) -> frozenset[Fact]:
    """All fingerprints of some logs. Raises OSError."""
    found: set[Fact] = set()
    seen: set[str] = set()
    for path in paths:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if "] WARN " not in line and "] ERROR " not in line and "] FATAL " not in line:
                    continue
                told = line.partition("] ")[2].rstrip()
                if told not in seen:
                    seen.add(told)
                    if (fact := fingerprint(line)) is not None:
                        found.add(fact)
    return frozenset(found)
