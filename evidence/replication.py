"""How a record became readable, step by step, and every log end and high watermark, by what brokers said at TRACE.

A record goes the same way always (KIP-101; Kafka documentation, Design: replication). The leader appends it. A
follower's fetch brings it there; the answer has the high watermark of before. The follower's next fetch tells the
leader how far its log goes. The leader raises its high watermark to the smallest log end of the in-sync replicas. The
answer to that fetch has it, and the follower's becomes that, or its own log end if that is smaller.

Brokers stamp lines with milliseconds: lines of two brokers within the same one have no order between them, those of one
broker are in the order of its log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, cmp_to_key
from typing import Final, Literal

from evidence.events import OffsetKind, ReplicaOffset, of
from evidence.records import TopicPartition
from evidence.run import RunRecord
from evidence.run_state import RunState, Sent, in_isr_throughout

StepName = Literal[
    "leader-appends",
    "first-answer",
    "follower-appends",
    "second-fetch",
    "leader-hears",
    "leader-raises",
    "second-answer",
    "follower-raises",
]
STEPS: Final[Mapping[StepName, str]] = {
    "leader-appends": "the leader appends it",
    "first-answer": "the first fetch brings it, with the high watermark of before",
    "follower-appends": "the follower appends it",
    "second-fetch": "the follower fetches what comes after it",
    "leader-hears": "the leader hears by that where the follower's log ends",
    "leader-raises": "the leader's high watermark becomes the ISR's least log end",
    "second-answer": "the answer to that fetch has the new high watermark",
    "follower-raises": "the follower's high watermark becomes that",
}
OPTIONAL: Final[frozenset[StepName]] = frozenset({"second-fetch"})
"""No line of brokers from 0.9 to 0.10 says what a follower asks for; where the leader hears of it shows the same."""
ORDER: Final[tuple[tuple[StepName, StepName], ...]] = (
    ("leader-appends", "first-answer"),
    ("first-answer", "follower-appends"),
    ("follower-appends", "second-fetch"),
    ("follower-appends", "leader-hears"),
    ("follower-appends", "leader-raises"),
    ("second-fetch", "leader-raises"),
    ("second-fetch", "leader-hears"),
    ("leader-raises", "second-answer"),
    ("leader-hears", "second-answer"),
    ("second-answer", "follower-raises"),
)
"""What comes before what. The leader says that it heard from the follower before it raises its high watermark (up to
2.2) or after that (2.8 and later), within one request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaEnds:
    """Log end and high watermark of a replica; None for what has not been said."""

    log_end: int | None = None
    high_watermark: int | None = None


SLACK_NS: Final = 5_000_000
"""A line's stamp is cut to milliseconds, so it may lie before the moment at which its record was sent."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What brokers said of one partition's replicas, in order."""

    said: tuple[ReplicaOffset, ...]

    @cached_property
    def _places(self) -> Mapping[int, int]:
        return {id(one): place for place, one in enumerate(self.said)}

    def ordered(self, one: ReplicaOffset, other: ReplicaOffset) -> bool:
        """Whether a line does not come after another: by its time, and in the log of one broker by its place."""
        return self.compared(one, other) <= 0

    def of(self, *kinds: OffsetKind) -> Iterator[ReplicaOffset]:
        """The lines of some kinds."""
        return (one for one in self.said if one.what in kinds)

    def ends_after(self, done: Sequence[ReplicaOffset], node: str) -> ReplicaEnds:
        """What a node had after the last of these lines: by its own lines up to the latest that is certain to have come
        before, which is one of an earlier millisecond or one of these.
        """
        last = done[-1]
        own = [place for place, one in enumerate(self.said) if one.node == node and one.at_ns < last.at_ns]
        own += [self._places[id(one)] for one in done if one.node == node]
        said = [one for one in self.said[: max(own, default=-1) + 1] if one.node == node]
        return ReplicaEnds(
            log_end=next((one.offset for one in reversed(said) if one.what == "log-end"), None),
            high_watermark=next((one.offset for one in reversed(said) if one.what == "high-watermark"), None),
        )

    def compared(self, one: ReplicaOffset, other: ReplicaOffset) -> int:
        """Which of two lines came first: below 0 if the one did, 0 if nobody knows."""
        if one.node == other.node:
            return self._places[id(one)] - self._places[id(other)]
        return one.at_ns - other.at_ns


def trace_of(run_state: RunState, where: TopicPartition) -> Trace:
    """What brokers said of a partition's replicas."""
    return Trace(said=tuple(one for one in of(run_state.events, ReplicaOffset) if (one.topic, one.partition) == where))


def traced_partitions(run_state: RunState, topics: Iterable[str]) -> tuple[TopicPartition, ...]:
    """The partitions of some topics of which brokers said anything at TRACE, sorted."""
    wanted = set(topics)
    said = {(one.topic, one.partition) for one in of(run_state.events, ReplicaOffset)}
    return tuple(sorted(where for where in said if where[0] in wanted))


def topics_of(run: RunRecord) -> list[str]:
    """The topics of a run's own, by run.json: Kafka has others for itself."""
    return [topic.name for topic in run.topics]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How one record came to one follower and under both high watermarks."""

    record: Sent
    leader: str
    follower: str
    steps: Mapping[StepName, ReplicaOffset]
    """As far as they were said, in the order in which they were; where nobody knows, in that of STEPS."""
    ends: Mapping[StepName, tuple[ReplicaEnds, ReplicaEnds]]
    """By step, what the leader and what the follower had then."""
    wrong: tuple[tuple[StepName, StepName], ...]
    """The pairs of steps that came in the wrong order."""

    @property
    def missing(self) -> tuple[StepName, ...]:
        """The steps that nobody told of."""
        return tuple(name for name in STEPS if name not in self.steps and name not in OPTIONAL)


def ways(run_state: RunState, where: TopicPartition) -> tuple[Way, ...]:
    """The way of each acknowledged scripted record of a partition to each follower that was in the ISR from when it was
    sent until it was acknowledged. It can be told of records that were written one at a time.
    """
    trace, states = trace_of(run_state, where), run_state.states.get(where, ())
    return tuple(
        _way(trace, record, record.offset, state.leader, broker)
        for record in run_state.sends
        if (record.topic, record.partition) == where and record.offset is not None
        if (state := run_state.state_at(*where, record.sent_ns)) is not None
        for broker in sorted(in_isr_throughout(states, record.sent_ns, record.done_ns or record.sent_ns))
        if broker != state.leader
    )


def _way(trace: Trace, record: Sent, offset: int, leading: int, following: int) -> Way:
    leader, follower = f"broker-{leading}", f"broker-{following}"
    since = [one for one in trace.said if one.at_ns >= record.sent_ns - SLACK_NS]

    def first(node: str, what: OffsetKind) -> ReplicaOffset | None:
        mine = (one for one in since if (one.node, one.what) == (node, what) and one.replica in (None, following))
        # No other than this: where a line is missing, that of the next record is no substitute.
        return next((one for one in mine if one.offset == offset + 1), None)

    appended = first(follower, "log-end")
    answers = [one for one in since if (one.node, one.what) == (follower, "response")]
    brought = [one for one in answers if appended is not None and one.offset == offset and trace.ordered(one, appended)]
    found: dict[StepName, ReplicaOffset | None] = {
        "leader-appends": first(leader, "log-end"),
        "first-answer": brought[-1] if brought else None,
        "follower-appends": appended,
        "second-fetch": first(follower, "fetch"),
        "leader-hears": first(leader, "remote-log-end"),
        "leader-raises": first(leader, "high-watermark"),
        "second-answer": next((one for one in answers if one.high_watermark == offset + 1), None),
        "follower-raises": first(follower, "high-watermark"),
    }
    told = [(name, one) for name, one in found.items() if one is not None]
    order = cmp_to_key(trace.compared)
    steps = dict(sorted(told, key=lambda step: order(step[1])))
    done = list(steps.values())
    return Way(
        record=record,
        leader=leader,
        follower=follower,
        steps=steps,
        ends={
            name: (trace.ends_after(done[: number + 1], leader), trace.ends_after(done[: number + 1], follower))
            for number, name in enumerate(steps)
        },
        wrong=tuple(
            (one, other)
            for one, other in ORDER
            if one in steps and other in steps and not trace.ordered(steps[one], steps[other])
        ),
    )
