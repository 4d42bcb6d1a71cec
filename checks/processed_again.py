"""When a member of a group may have lost inputs that it had not committed, so that they were processed again.

A group gives a partition to another member, or to the same one anew, for three reasons. A member came, left or died.
No heartbeat of a member came for a whole session (GroupMetadataManager.expireClassicGroupMemberHeartbeat and
scheduleConsumerGroupSessionTimeout, 4.0). Or a member did not ask for records for max.poll.interval.ms, and left by
itself (KIP-62). The group then waits for all its members to come back, for max.poll.interval.ms at most (Java:
GroupRebalanceConfig.rebalanceTimeoutMs; librdkafka sends the same in JoinGroup). Whoever gets the partition begins with
the committed offset. What was processed before the disturbance, and not committed, is processed again after it: with
commits that nobody waits for, and with automatic ones, that may have been processed long before. So the time is that
from a disturbance to the second processing, and not to the first.

Disturbances are faults, crash points, members that start and end beside others, and containers that end. A member that
stood still at a crash point may run again at any time, and makes outputs of what it has in its hand then. Nobody tells
when that was. A machine that held somebody up for half a session, within one session, may have been the reason: that is
a doubt.

Programs say when they have processed an input. A member that was killed may have said less than it did. Of what nobody
told the time, any disturbance of the run may be the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from checks.claims.spontaneous import SHARE
from evidence.events import Container, CrashPoint, Step, of
from evidence.findings import Finding, Row
from evidence.run import RunRecord, Settings
from evidence.run_state import LATE_TIMES, UP, RunState
from evidence.spans import NEVER_NS, Span

MEMBERS: Final = (
    "application",
    "pipeline",
    "query of Spark",
    "share application",
    "streams",
    "worker of Kafka Connect",
)
"""Steps during which a process is a member of a group; they may name the group."""
ENDS: Final = ("die", "kill", "stop", "oom", "pause")
"""What the engine tells of a container that was up, and is not any more."""
SESSION: Final = "session.timeout.ms"
POLL_INTERVAL: Final = "max.poll.interval.ms"
OF_BROKERS: Final = (
    "group.consumer.session.timeout.ms",
    "group.share.session.timeout.ms",
    "group.share.record.lock.duration.ms",
    "group.streams.session.timeout.ms",
)
"""Settings of brokers after which a member loses what it was given."""
SHORTEST_MS: Final = 6_000
"""The shortest session of a member that brokers allow (group.min.session.timeout.ms), and the default of members of
0.8."""
LONGEST_MS: Final = 45_000
"""The longest default of a session (KIP-735; librdkafka likewise)."""
POLL_INTERVAL_MS: Final = 300_000
"""The default of max.poll.interval.ms (KIP-62; librdkafka likewise)."""
PATIENCE_NS: Final = 60_000_000_000
"""For a member that was given a partition to process what was not committed of it. Ours. On a machine on which
processes wait for a CPU it is longer (harness/patience.py)."""

Reason = Literal["disturbed", "machine"]


@dataclass(frozen=True, slots=True)
class Limits:
    """After how long members of a group may lose their inputs, and have them again."""

    shortest_ns: int
    """The shortest time after which a member that does nothing loses them."""
    reach_ns: int
    """The longest, and what the group may take to give them to a member that processes them."""


@dataclass(frozen=True, slots=True)
class Disturbance:
    """Something that may take its inputs from a member."""

    span: Span
    """How long it lasts."""
    producer: int | None = None
    """Whose outputs may come at any time after it."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """An input was processed although it had been processed before."""

    at_ns: int | None
    """When; None if nobody told."""
    producer: int | None = None
    """The number of the member, as its outputs carry it."""


def limits_of(run: RunRecord, processes: Iterable[Settings]) -> Limits:
    """The limits of members with these settings, as far as these, and the brokers', say them."""
    members = list(processes)
    sessions = _stated(members, SESSION) + [ms for name in OF_BROKERS for ms in _stated([run.settings], name)]
    polls = _stated(members, POLL_INTERVAL)
    shortest_ms = min([*(sessions or [SHORTEST_MS]), *polls])
    longest_ms = max(sessions, default=LONGEST_MS) + max(polls, default=POLL_INTERVAL_MS)
    return Limits(shortest_ms * 1_000_000, longest_ms * 1_000_000 + PATIENCE_NS)


def _stated(settings: Iterable[Settings], name: str) -> list[int]:
    """The values of a setting, whatever prefix it has: consumers of Connect and of Streams have one, and the session of
    a member of 0.8 is one of ZooKeeper's.
    """
    return [
        int(value)
        for one in settings
        for key, value in one.items()
        if (key == name or key.endswith(f".{name}")) and value.isdigit()
    ]


def reason_of(run_state: RunState, finding: Finding, limits: Limits) -> Reason | None:
    """Why each input of a finding may have been processed again: something had disturbed members before each
    repetition, or the machine may have, before some. None if nothing explains one of them.
    """
    again = [one for row in finding.evidence or (Row(),) for one in repetitions(row)]
    disturbed = list(disturbances(run_state))
    others = [one for one in again if not _explained(run_state, one, disturbed, limits)]
    if not others:
        return "disturbed"
    busy = list(busy_times(run_state, limits.shortest_ns))
    return "machine" if all(_explained(run_state, one, busy, limits) for one in others) else None


def _explained(run_state: RunState, again: Repetition, by: Sequence[Disturbance], limits: Limits) -> bool:
    return any(_reaches(run_state, one, again, limits) for one in by)


def _reaches(run_state: RunState, one: Disturbance, again: Repetition, limits: Limits) -> bool:
    """Whether a repetition may have come of a disturbance."""
    begin_ns, end_ns = one.span
    if again.at_ns is None:
        return True
    if again.at_ns < begin_ns:
        return False
    if again.at_ns <= end_ns or (one.producer is not None and one.producer == again.producer):
        return True
    beyond_ns = again.at_ns - end_ns - limits.reach_ns
    late = beyond_ns <= (LATE_TIMES - 1) * PATIENCE_NS
    return beyond_ns <= 0 or (late and beyond_ns <= run_state.held_up_ns((end_ns, again.at_ns)))


# What was processed again


def outputs_of(row: Row) -> dict[str, Mapping[str, Any]]:
    """The outputs that a row tells of, each once. One that its producer wrote twice is one."""
    told = row.detail.get("outputs", ())
    listed = told if isinstance(told, Sequence) else ()
    return {str(one.get("output", number)): one for number, one in enumerate(listed)}


def repetitions(row: Row) -> list[Repetition]:
    """What of an input's row was done again: all but the first processing. If the time of one is unknown, nobody knows
    which was the first.
    """
    made = [Repetition(one.get("processed_ns"), _producer(one)) for one in outputs_of(row).values()]
    known = sorted((one for one in made if one.at_ns is not None), key=lambda one: one.at_ns or 0)
    return known[1:] + ([Repetition(None)] if len(known) < len(made) or len(made) < 2 else [])


def _producer(output: Mapping[str, Any]) -> int | None:
    """Whose output it is, by number; None in histories of others."""
    named = output.get("output")
    return named.get("producer") if isinstance(named, Mapping) else None


# What may be the reason


def disturbances(run_state: RunState) -> Iterator[Disturbance]:
    """Whatever may have taken its life, or its partitions, from a member."""
    yield from (Disturbance((one.inject_ns, one.until_ns)) for one in run_state.faults)
    yield from (Disturbance((one.at_ns, one.at_ns), one.producer) for one in of(run_state.events, CrashPoint))
    yield from (Disturbance((at_ns, at_ns)) for at_ns in _came_or_left(run_state))
    yield from (Disturbance((one.at_ns, one.at_ns)) for one in of(run_state.events, Container) if one.action in ENDS)
    for intervals in run_state.processes.values():
        yield from (Disturbance((one.begin_ns, one.end_ns)) for one in intervals if one.value != UP)


def _came_or_left(run_state: RunState) -> Iterator[int]:
    """When members of a group came or left beside others. The first one that comes takes nothing from anybody."""
    groups: dict[tuple[str, str], list[Step]] = {}
    for step in of(run_state.events, Step):
        if step.name in MEMBERS:
            groups.setdefault((step.name, str(step.detail.get("group", ""))), []).append(step)
    for steps in groups.values():
        if sum(step.phase == "begin" for step in steps) > 1:
            yield from (step.at_ns for step in steps[1:])


def busy_times(run_state: RunState, session_ns: int) -> Iterator[Disturbance]:
    """The times, each as long as a session, in which the machine stood still or somebody waited for a CPU for a share
    of it (checks/claims/spontaneous.py). Where nothing says when it was busy it was so in all of the run alike.
    """
    share_ns = round(SHARE * session_ns)
    if not run_state.waits and run_state.busy >= SHARE:
        yield Disturbance((0, NEVER_NS))
    for begin_ns, held_ns in run_state.held_up_since(session_ns):
        if held_ns >= share_ns:
            yield Disturbance((begin_ns + share_ns, begin_ns + session_ns))
