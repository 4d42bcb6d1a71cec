"""What Kafka owes and did not do: claims of the catalogue that are contradicted, and duties that steps found undone.

A breach of a duty is told from what made the run prove less. The verdict is unexpected whatever else went wrong (a
precondition that did not hold, a wait that ended, a harness that failed). The exception is a doubt that touches the
very thing that the contradiction rests on (judgement/scope.py). Then the witness may be wrong, and the contradiction is
itself a doubt.

- A claim is judged from the run's files, so it rests on every witness, at the times and of the nodes that its rows
  name.
- A duty was judged by the steps, during the run, by one witness at one moment.

Some contradictions are of time: something took too long, or did not come within its limit, or a session ended that
should have lasted. A machine that stood still meanwhile (harness/observers/machine.py) may have taken that time, so
such a one is not observed: it is a doubt. What did not come within its limit had to come in time in which the machine
ran, so the harness waits as much longer as it stood still (harness/patience.py). If all of the limit but a tenth was
such time, or four limits passed, nothing is excused. A state that a session's end may have brought about is excused by
a machine that stood still shortly before, for half of the time that a session lasts or a follower may lag. A broker
that stood still for less was heard in time. Processes that waited for a CPU may have brought about an election, a
shrink of an ISR, or the end of a session or an office (checks/claims/spontaneous.py). One in that time excuses such a
state, too, and one that is waited for if there was less than its limit left since. It has to be of the duty's own
partitions, of who has a replica of them, or of the controller, and of a node that no fault itself had struck.

A doubt is also a time that is over its bound by no more than what the machine held up in that very time. That is the
sum of what it stood still, and of what some process waited for a CPU (`Waits`). When a step of Kafka waited for a CPU
some process did, so its waits are among these, one step after the other, and what is over the bound by more is not
theirs. (In 12 trials of a process that slept and computed in turn, on two cores that
others wanted in 94 to 99 % of the time, it was late by 55 to 77 % of the sum.) A wait that makes something miss its
turn, as a sign of life that comes after the tick, may cost more than itself; for that bounds have the tolerances that
they state. At `LATE_TIMES` its bound nothing is excused. What is of no time, such as an acknowledgement that ought not
to have been given, is excused by no machine, and a lost record is no matter of this module at all.

Timelines of before there were slices say of the whole run alone how much of it some process waited. They are judged by
the rule of then, so that what was said of a run is said of it again: `BUSY`.

Source: Linux, Documentation/accounting/psi.rst ("some": the share of time in which at least some tasks are stalled).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from checks.claim import CONTRADICTED
from checks.claims.replication.isr import lag_time_ms
from checks.claims.spontaneous import Change, after_ns, changes
from evidence.basis import OWN_RUNS, Basis
from evidence.events import Duty, Witness, of
from evidence.findings import ClaimResult
from evidence.nodes import broker
from evidence.run import RunRecord
from evidence.run_state import LATE_TIMES, RunState
from evidence.spans import NEVER_NS, Span, overlap_ns, within
from judgement.scope import ALL, EVERYTHING, Doubt, Scope

BUSY: Final = 0.8
"""In a timeline without slices: a machine on which some process waited for a CPU in this share of the run's time was
busy, and nothing that is of time is contradicted by less than `LATE_TIMES`. Ours, and nothing was measured for it.
"""
SHARE: Final = 0.1
"""A limit is many times what the thing takes: that so much of it is missing is no reason that it did not come."""
SESSIONS_NS: Final = 60_000_000_000
"""What the cluster states at a moment may come of a session that ended so long before, at most."""
SESSIONS: Final = ("zookeeper.session.timeout.ms", "broker.session.timeout.ms")
LEAST_SESSION_MS: Final = 6000
"""The shortest default of these: zookeeper.session.timeout.ms before 2.5 (KIP-537)."""
BEFORE_NS: Final = 1_000_000_000
"""What begins when a machine goes on again may have begun late."""
SOURCES: Final[Mapping[str, Witness]] = {"zookeeper": "metadata", "kraft": "metadata", "docker": "processes"}
"""The witness that each observer is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """What took longer than its bound."""

    begin_ns: int | None
    """When it began (monotonic); None if that is not said."""
    took_ns: int
    bound_ns: int

    @property
    def span(self) -> Span:
        """From its begin to its end; no time at all if that is not said."""
        return (self.begin_ns, self.begin_ns + self.took_ns) if self.begin_ns is not None else (0, 0)

    @property
    def over_ns(self) -> int:
        return self.took_ns - self.bound_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Something that Kafka owes and did not do."""

    text: str
    scope: Scope = ALL
    spans: tuple[tuple[int, int, int], ...] = ()
    """Of one of time: each time (from, to; monotonic ns) that was too long, or in which something ended too early, and
    how long a machine has to stand still in it to be the reason (ns)."""
    late: tuple[Late, ...] = ()
    """What of it took longer than it has a bound for."""
    changes: tuple[Change, ...] = ()
    """What a busy machine may have changed, of which it may come."""

    def stood_still(self, still: Sequence[Span]) -> Doubt | None:
        """That the machine stood still in every time that contradicts; None if it did not, or time is no matter."""
        found = [(overlap_ns(span[:2], still), span[2]) for span in self.spans]
        if not found or any(stood_ns < max(enough_ns, 1) for stood_ns, enough_ns in found):
            return None
        return Doubt(f"the machine stood still for {max(stood_ns for stood_ns, _ in found) / 1e9:.1f} s meanwhile")

    def slowed(self, run_state: RunState) -> Doubt | None:
        """That the machine held up whatever was too late for as long as it was too late; None if it did not."""
        if not self.late or any(one.took_ns >= LATE_TIMES * one.bound_ns for one in self.late):
            return None
        if not run_state.waits:
            return _slowed_through(run_state.busy)
        held_ns = [run_state.held_up_ns(one.span) for one in self.late]
        if any(held < one.over_ns for held, one in zip(held_ns, self.late, strict=True)):
            return None
        held, most = max(zip(held_ns, self.late, strict=True), key=lambda each: each[1].over_ns)
        return Doubt(
            f"some process waited for a CPU, or the machine stood still, in {held / 1e9:.1f} s of these "
            f"{most.took_ns / 1e9:.1f} s, which are {most.over_ns / 1e9:.1f} s over the bound; contradicted is what is "
            f"over it by more than was waited, or comes to {LATE_TIMES} bounds (a figure of ours)"
        )

    def brought_about(self) -> Doubt | None:
        """That a busy machine may have changed what it comes of; None if not."""
        if not self.changes:
            return None
        one = self.changes[-1]
        return Doubt(
            f"{one.text} before, and some process had waited for a CPU, or the machine stood still, for "
            f"{one.held_up_ns / 1e9:.1f} s shortly before that; a session, or a lag, takes {one.limit_ns / 1e9:g} s"
        )

    def doubted(self, doubts: Iterable[Doubt]) -> Doubt | None:
        """The first doubt that touches it; None if it stands."""
        return next((doubt for doubt in doubts if doubt.scope.touches(self.scope)), None)


def contradictions(
    run: RunRecord, run_state: RunState, judged: Iterable[ClaimResult], *, duties: bool = True
) -> list[Contradiction]:
    """Of the claims that were `judged` and of the duties that the steps checked, those that were not done."""
    of_claims = [_of_claim(one) for one in judged if one.outcome == CONTRADICTED]
    return of_claims + ([_of_duty(one, run, run_state) for one in undone(run_state)] if duties else [])


def shortest_ns(run: RunRecord) -> int:
    """The shortest time after which a session of this run ends, or a follower lags, by the settings of any broker."""
    sessions = [
        int(value) for name, value in run.settings.items() if name.rpartition(":")[2] in SESSIONS and value.isdigit()
    ]
    return min(*(sessions or [LEAST_SESSION_MS]), lag_time_ms(run)) * 1_000_000


def undone(run_state: RunState) -> list[Duty]:
    """The duties that steps found undone."""
    return [duty for duty in of(run_state.events, Duty) if not duty.held]


def _of_claim(claim: ClaimResult) -> Contradiction:
    text = f"the claim {claim.name}{_of_own_runs(claim)} is contradicted: {claim.observed}"
    rows: Sequence[Mapping[str, Any]] = claim.evidence
    times = [row.get("at_ns") for row in rows]
    nodes = [row.get("node") for row in rows]
    begun = [at_ns for at_ns in times if isinstance(at_ns, int)]
    over = [over_ns for row in rows if isinstance(over_ns := row.get("over_ns"), int)]
    scope = Scope(
        nodes=frozenset(str(node) for node in nodes) if rows and all(nodes) else frozenset(),
        begin_ns=min(begun) if rows and len(begun) == len(times) else 0,
        # A row says when something began. When that was over is not said in one way, but for those that say it so.
        end_ns=max(over) if rows and len(over) == len(rows) else NEVER_NS,
    )
    of_time = claim.measured_ms is not None
    return Contradiction(
        text=text,
        scope=scope,
        spans=tuple(_spans(rows)) if of_time else (),
        late=tuple(_late(rows)) if of_time else (),
    )


def _slowed_through(busy: float) -> Doubt | None:
    """That a machine was too slow on which processes waited for a CPU in this share of the run; None if not."""
    if busy < BUSY:
        return None
    return Doubt(
        f"some process waited for a CPU in {busy:.0%} of the run's time, and nothing says when; from {BUSY:.0%} on "
        f"{LATE_TIMES} bounds are owed then (both figures are ours)"
    )


def _late(rows: Iterable[Mapping[str, Any]]) -> Iterator[Late]:
    """Of the rows of a claim that is of time, those that took longer than their bound."""
    for row in rows:
        begin_ns, took_ms, bound_ms = row.get("at_ns"), row.get("took_ms"), row.get("bound_ms")
        if isinstance(took_ms, int | float) and isinstance(bound_ms, int | float) and took_ms > bound_ms > 0:
            yield Late(
                begin_ns=begin_ns if isinstance(begin_ns, int) else None,
                took_ns=round(took_ms * 1e6),
                bound_ns=round(bound_ms * 1e6),
            )


def _spans(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, int, int]]:
    """Of the rows of a claim that is of time: from when each says that something began, as long as it took. A machine
    that stood still for half of what it took too long is reason enough: others had to catch up.
    """
    for row in rows:
        begin_ns, took_ms, bound_ms = row.get("at_ns"), row.get("took_ms"), row.get("bound_ms")
        if isinstance(begin_ns, int) and isinstance(took_ms, int | float):
            over_ms = max(0.0, took_ms - bound_ms) if isinstance(bound_ms, int | float) else took_ms
            yield begin_ns - BEFORE_NS, begin_ns + round(took_ms * 1e6), max(1, round(over_ms * 1e6 / 2))


def _of_duty(duty: Duty, run: RunRecord, run_state: RunState) -> Contradiction:
    scope = Scope(witnesses=frozenset({duty.witness}), begin_ns=duty.at_ns, end_ns=duty.at_ns)
    spans: tuple[tuple[int, int, int], ...] = ()
    begin_ns = duty.at_ns
    if duty.limit_ms is not None and duty.since_ns is not None:
        limit_ns, waited_ns = round(duty.limit_ms * 1e6), duty.at_ns - duty.since_ns
        spans = _waited_for(duty.since_ns, duty.at_ns, limit_ns)
        if duty.witness == "metadata" and waited_ns < LATE_TIMES * limit_ns:
            begin_ns = max(duty.since_ns, duty.at_ns - limit_ns)
    elif duty.witness == "metadata" and duty.of_sessions:  # one ended, or a replica lagged
        begin_ns = duty.at_ns - SESSIONS_NS
        spans = ((begin_ns, duty.at_ns, shortest_ns(run) // 2),)
    found = changes(run_state, run) if begin_ns < duty.at_ns else ()
    by_machine = tuple(
        one
        for one in found
        if one.by_machine and begin_ns <= one.at_ns <= duty.at_ns
        if _bears_on(one, duty, run) and not _struck(one, run, run_state)
    )
    return Contradiction(text=in_words(duty), scope=scope, spans=spans, changes=by_machine)


def _struck(change: Change, run: RunRecord, run_state: RunState) -> bool:
    """Whether a fault struck the node itself that lost something, so that no machine is needed to explain it. What lay
    between nodes does not count: a cut that is shorter than a session ends none.
    """
    later_ns = after_ns(run, change.what)
    return any(
        not fault.links and change.node in fault.nodes and fault.inject_ns <= change.at_ns <= fault.until_ns + later_ns
        for fault in run_state.faults
    )


def _bears_on(change: Change, duty: Duty, run: RunRecord) -> bool:
    """Whether a duty may be undone because of a change: one of its own partitions, of a broker that has a replica of
    them, or of the controller. One that names no partition may be about any.
    """
    if not duty.partitions or change.what == "controller-change":
        return True
    if change.where is not None:
        return change.where in duty.partitions
    replicas = {broker(number) for where in duty.partitions for number in run.assignment.get(where, ())}
    return change.node in replicas or not replicas


def _waited_for(since_ns: int, until_ns: int, limit_ns: int) -> tuple[tuple[int, int, int], ...]:
    """The time in which something was waited for, and for how long the machine has to stand still in it to be the
    reason that it did not come: for longer than what is beyond the limit, and a tenth of that.
    """
    waited_ns = until_ns - since_ns
    if waited_ns >= LATE_TIMES * limit_ns:
        return ()
    return ((since_ns, until_ns, max(0, waited_ns - limit_ns) + round(limit_ns * SHARE) + 1),)


def in_words(duty: Duty) -> str:
    """A duty that was not done, in a line."""
    detail = ", ".join(f"{key}={value}" for key, value in duty.detail.items())
    waited_s = 0 if duty.since_ns is None else round((duty.at_ns - duty.since_ns) / 1e9)
    limit = f" within {max(duty.limit_ms / 1000, waited_s):g} s" if duty.limit_ms is not None else ""
    return f"Kafka owes this and did not do it{limit}: {duty.name}" + (f" ({detail})" if detail else "")


def blind_witnesses(run_state: RunState) -> list[Doubt]:
    """Duties that were found undone at a moment at which their witness saw nothing."""
    found = []
    for duty in undone(run_state):
        for begin_ns, end_ns, why in run_state.blind:
            if SOURCES.get(why.partition(" ")[0]) == duty.witness and within(duty.at_ns, [(begin_ns, end_ns)]):
                scope = Scope(witnesses=EVERYTHING & {duty.witness}, begin_ns=begin_ns, end_ns=end_ns)
                found.append(Doubt(f"an observer was blind when it was to see whether {duty.name} ({why})", scope))
    return found


def _of_own_runs(one: ClaimResult) -> str:
    """What is said of a claim that no document has, or whose bound none has."""
    if one.basis == Basis.MEASURED:
        return f" ({OWN_RUNS} say so)"
    return f" (its bound is from {OWN_RUNS})" if one.bound_basis == Basis.MEASURED else ""
