"""Lines that standard logs have after a loss, and that name no cause by themselves: `kafka-chaos incident` says what to
look at next.

A follower announces a truncation before it truncates (AbstractFetcherThread), and often nothing is cut. A batch that a
follower cannot append has many reasons. Rules of causes (incident_causes.py) rest on other lines. Without these signs
somebody who has such a line alone would be told that no line is known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from app.incident_logs import LogFile, LogLine


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """A line that calls for another look."""

    id: str
    kind: str
    """Of its lines (incident_logs.LITERALS)."""
    line: str
    """A string of such a line, for the page."""
    means: str
    do: str
    scenario: str
    covered_by: frozenset[str]
    """Causes that say more of the same lines."""


@dataclass(frozen=True, slots=True)
class SeenSign:
    """A sign that logs have."""

    sign: Sign
    lines: tuple[LogLine, ...]


NEXT_CUT: Final = (
    "Look in the same second for `Truncating to offset N`. If it is missing, or the line says `has no effect`, nothing "
    "was cut."
)
TRUNCATIONS: Final = frozenset({"truncation", "truncation-to-high-watermark"})
SIGNS: Final = (
    Sign(
        id="truncation-to-high-watermark-announced",
        kind="announced to high watermark",
        line="Truncating partition … to local high watermark",
        means="a follower announces a truncation to its own high watermark: it has no leader epochs. A replica that is "
        "empty has none yet. With records, inter.broker.protocol.version or the message format is below 0.11",
        do=f"{NEXT_CUT} Check inter.broker.protocol.version and log.message.format.version on every broker.",
        scenario="double-failover",
        covered_by=TRUNCATIONS,
    ),
    Sign(
        id="truncation-announced",
        kind="announced by epoch",
        line="Truncating partition … due to leader epoch",
        means="a follower announces a truncation by leader epochs: it removes what its new leader does not have",
        do=f"{NEXT_CUT} If it was, look up `Truncating to offset`.",
        scenario="leader-crash",
        covered_by=TRUNCATIONS,
    ),
    Sign(
        id="batch-not-copied",
        kind="cannot copy",
        line="Unexpected error occurred while processing data for partition",
        means="a follower could not append a batch of its leader: it copies no more of this partition",
        do="Do not stop the leader: it may have the only copy. The exception below the line says why. Restart the "
        "follower, and look whether it returns to the ISR. If it does not, look up the known bugs of your release "
        "(`kafka-chaos museum --version V`).",
        scenario="museum-segment-below-batch",
        covered_by=frozenset({"too-large-to-copy", "follower-refused-batch", "replication-stopped", "damaged-record"}),
    ),
    Sign(
        id="sequence-refused",
        kind="sequence refused",
        line="OutOfOrderSequenceException",
        means="a leader expected another sequence number of this producer: a batch before it is not in the leader's "
        "log. It was refused, or it was lost. Followers check sequence numbers on 0.11.0.0 and 0.11.0.1 alone",
        do="Look for a truncation of this partition shortly before. Compare what the producer logged as acknowledged "
        "with the partition's records.",
        scenario="museum-unknown-sequence",
        covered_by=frozenset({"follower-refused-batch"}),
    ),
)


def seen(logs: Sequence[LogFile], causes: Collection[str]) -> Iterator[SeenSign]:
    """The signs that logs have and none of the causes, by their ids, says more of."""
    for sign in SIGNS:
        lines = tuple(line for log in logs for line in log.of(sign.kind))
        if lines and not sign.covered_by & set(causes):
            yield SeenSign(sign, lines)


def told(one: SeenSign) -> Iterator[str]:
    """A sign in lines of the answer."""
    first = one.lines[0]
    yield f"   {one.sign.id}: {one.sign.means}"
    yield f"     {first.file}:\n     {first.text}"
    yield f"     do: {one.sign.do}"
