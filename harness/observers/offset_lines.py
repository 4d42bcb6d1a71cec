"""What brokers at TRACE log of their replicas' offsets: each step of a log end and of a high watermark.

The texts are those of `Log` and `UnifiedLog`, `Partition`, `Replica`, `ReplicaManager`, `ReplicaFetcherThread` and
`AbstractFetcherThread`, as brokers from 0.8.2 to 4.3 printed them. What each kind means (evidence.events.OffsetKind):

- `log-end`: the broker's own log ends here now, after an append, its own or a follower's.
- `remote-log-end`: the leader has heard from this follower, by the offset of its fetch, where its log ends. Up to 2.2
  it says so before it raises the high watermark, from 2.8 on only after that, within the same request.
- `high-watermark`: the broker's own high watermark is this now, whether or not it was so before.
- `fetch`: a follower asks for what comes from this offset on. From 0.9 to 0.10 no line says so.
- `response`: a follower, whose own log ends at the offset, is answered with the leader's high watermark.

A line that names another broker as its author is not the node's own, and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from evidence.events import OffsetKind

_TP: Final = r"(?:\[(?P<topic>[\w.-]+),(?P<partition>\d+)\]|(?P<topic2>[\w.-]+)-(?P<partition2>\d+))"
_PARTITION: Final = rf"\[?Partition {_TP} (?:on broker (?P<own>\d+): |broker=(?P<own2>\d+)\] )"
_FETCHER: Final = r"(?:\[ReplicaFetcherThread-\d+-\d+\][,:]? |\[ReplicaFetcher replicaId=(?P<own2>\d+),[^\]]*\] )"
_FOLLOWER: Final = rf"{_FETCHER}Follower (?:(?P<own>\d+) )?"
_N: Final = r"(?P<offset>\d+)"
_METADATA: Final = rf"(?:\[?\(offset=|\[){_N}"
"""An offset with its place in the log: "[1 [0 : 58]]", "[(offset=1 segment=[0:92])]", "(offset=1, segment=[0:92])"."""


def _line(what: OffsetKind, words: str, pattern: str) -> tuple[OffsetKind, str, re.Pattern[str]]:
    """What a line says that matches `pattern`; `words` are in every such line, and are looked for first."""
    return what, words, re.compile(pattern)


_PATTERNS: Final = (
    _line("log-end", "Appended message set to log ", rf"to log {_TP} with .*?, next offset: {_N}"),
    _line(
        "log-end",
        "] Appended message set with ",
        rf"\[(?:Unified)?Log partition={_TP}, [^\]]*\] Appended message set with .*?next offset: {_N}",
    ),
    _line("log-end", " has replica log end offset ", rf"{_FOLLOWER}has replica log end offset {_N} after .* {_TP}"),
    _line(
        "response",
        " and leader hw ",
        rf"{_FOLLOWER}has replica log end offset {_N} for partition {_TP}\. "
        r"Received \d+ .*and leader hw (?P<high_watermark>\d+)",
    ),
    _line(
        "remote-log-end",
        "Setting log end offset for replica ",
        rf"for replica (?P<replica>\d+) for partition {_TP} to {_METADATA}",
    ),
    _line(
        "remote-log-end",
        " log end offset (LEO) position ",
        rf"{_PARTITION}Recorded replica (?P<replica>\d+) .* position {_N}",
    ),
    _line(
        "remote-log-end",
        "Recorded follower ",
        rf"Broker (?P<own>\d+)\]: Recorded follower (?P<replica>\d+) position {_N} for partition {_TP}",
    ),
    _line(
        "high-watermark",
        "Setting high watermark for replica ",
        rf"for replica (?P<own>\d+) partition {_TP} (?:on broker \d+ )?to {_METADATA}",
    ),
    _line(
        "high-watermark",
        "] Setting high watermark ",
        rf"\[(?:Unified)?Log partition={_TP}, [^\]]*\] Setting high watermark {_METADATA}",
    ),
    _line(
        "high-watermark",
        "High watermark for partition ",
        rf"on broker (?P<own>\d+): High watermark for partition {_TP} updated to {_N}",
    ),
    _line(
        "high-watermark",
        "High watermark updated ",
        rf"{_PARTITION}High watermark updated (?:from .* )?to \D*{_N}",
    ),
    _line(
        "high-watermark",
        " set replica high watermark for partition ",
        rf"{_FOLLOWER}set replica high watermark for partition {_TP} to \D*{_N}",
    ),
    _line(
        "high-watermark",
        " updated replica high watermark to ",
        rf"{_FOLLOWER}received .* updated replica high watermark to {_N} for partition {_TP}",
    ),
    _line(
        "fetch",
        "] Sending fetch request ",
        rf"(?:(?<={{)|(?<=, )){_TP}=(?:PartitionData)?\((?:topicId=[\w-]+, )?(?:fetchO|o)ffset={_N}",
    ),
    _line("fetch", " of fetch request ", rf"[ ,]{_TP} -> PartitionFetchInfo\({_N},"),
)
_REQUESTER: Final = re.compile(r"[Rr]eplica_?Id[:=] ?(?P<own>\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedOffset:
    """What one line says of one partition (evidence.events.ReplicaOffset)."""

    what: OffsetKind
    topic: str
    partition: int
    offset: int
    replica: int | None = None
    high_watermark: int | None = None


def offsets_in(text: str, node: str) -> Iterator[LoggedOffset]:
    """What a log message of `node` says of replicas' offsets; nothing for most messages, and for another broker's."""
    for what, words, pattern in _PATTERNS:
        if words not in text:
            continue
        requester = _REQUESTER.search(text) if what == "fetch" else None
        for found in pattern.finditer(text):
            named = found.groupdict()
            speaker = requester["own"] if requester else named.get("own") or named.get("own2")
            if speaker is None or node == f"broker-{speaker}":
                yield _logged_offset(what, named)


def _logged_offset(what: OffsetKind, named: Mapping[str, str | None]) -> LoggedOffset:
    def number(name: str) -> int | None:
        value = named.get(name)
        return None if value is None else int(value)

    return LoggedOffset(
        what=what,
        topic=str(named["topic"] or named["topic2"]),
        partition=int(str(named["partition"] or named["partition2"])),
        offset=int(str(named["offset"])),
        replica=number("replica"),
        high_watermark=number("high_watermark"),
    )
