"""The catalogue of claims: documented behaviour, each judged from the evidence of a run.

An anomaly is something that went wrong; a claim is what brokers are documented to do: "the leader epoch rises by one
at each election". A claim is a pure function of what a run left behind (`Witness`: run.json and the account of what
held when, never a flag that the runner sets), so `kafka-chaos check` judges it again from files.

It is `held`, `contradicted`, or `not-observed` where nothing in the run could have shown it; then the run says nothing
about it, and its verdict is unknown. It gives the rows that it was judged by. A duration has a bound: the documented
one, from the run's own settings, and a tolerance for the machine that is stated here; the longest one measured is told.

A scenario names claims beside anomalies, for each line of versions: `Documented(on=…, claims=[…])`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final, Literal

from evidence.course import ALIVE, DOWN, DYING, Course, FaultFact
from evidence.errors import unknown_name
from evidence.events import NO_LEADER, Log, Moment, Partition, of

Outcome = Literal["held", "contradicted", "not-observed"]
HELD: Final = "held"
CONTRADICTED: Final = "contradicted"
NOT_OBSERVED: Final = "not-observed"

SESSION_TOLERANCE_MS: Final = 1500
"""For a server that gets no processor at once, and an observer that hears of it later."""
TICK_SHARE: Final = 0.05
"""ZooKeeper ends sessions on the ticks of its clock, here 1/20 of a session apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """What a run left behind, as far as claims are judged by it."""

    run: Mapping[str, Any]
    """run.json."""
    course: Course


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What came of a claim in a run."""

    outcome: Outcome
    says: str
    """What was seen, in one sentence."""
    evidence: Sequence[Mapping[str, Any]] = ()
    """The rows that it was judged by; where it is contradicted, those that contradict it."""
    measured_ms: float | None = None
    bound_ms: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Plain values, for findings.json."""
        measured = {"measured_ms": self.measured_ms, "bound_ms": self.bound_ms}
        return {"outcome": self.outcome, "says": self.says, "evidence": [dict(row) for row in self.evidence]} | (
            measured if self.measured_ms is not None else {}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One documented behaviour."""

    name: str
    says: str
    source: str
    judge: Callable[[Witness], Judged] = field(repr=False)
    bound: str = ""
    """Of a duration: what bounds it, where that is documented, and the tolerance."""

    def as_json(self) -> dict[str, str]:
        """The entry in words."""
        return {"name": self.name, "says": self.says, "source": self.source, "bound": self.bound}


def _judged(rows: Sequence[Mapping[str, Any]], wrong: Sequence[Mapping[str, Any]], seen: str, nothing: str) -> Judged:
    """Contradicted by the `wrong` ones of the rows, held if there are none, not observed without rows."""
    if wrong:
        return Judged(outcome=CONTRADICTED, says=f"{seen}, {len(wrong)} of them otherwise", evidence=wrong)
    if not rows:
        return Judged(outcome=NOT_OBSERVED, says=nothing)
    return Judged(outcome=HELD, says=seen, evidence=rows)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("s" if number != 1 else "")


# Elections


def _elections(course: Course) -> Iterator[tuple[Partition, Partition]]:
    """The states before and after each change of a partition's leader, as far as both were seen.

    With ZooKeeper a state's version counts by one, so a gap tells of states that nobody saw.
    """
    for states in course.states.values():
        for before, after in pairwise(states):
            whole = after.source != "zookeeper" or (before.version or 0) + 1 == after.version
            if before.leader != after.leader and whole:
                yield before, after


def _election(before: Partition, after: Partition) -> dict[str, Any]:
    return {
        "topic": after.topic,
        "partition": after.partition,
        "at_ns": after.at_ns,
        "leader": after.leader,
        "leader_before": before.leader,
        "leader_epoch": after.leader_epoch,
        "leader_epoch_before": before.leader_epoch,
        "isr_before": list(before.isr),
    }


def leader_epoch_rises_by_one(witness: Witness) -> Judged:
    """At each change of leader, to nobody too, the leader epoch is the one before and one more."""
    rows = [_election(before, after) for before, after in _elections(witness.course)]
    wrong = [row for row in rows if row["leader_epoch"] != row["leader_epoch_before"] + 1]
    return _judged(rows, wrong, _count(len(rows), "change") + " of leader", "no leader changed")


def leader_elected_from_isr(witness: Witness) -> Judged:
    """Whoever is elected was in the ISR (or eligible, KIP-966) when the leader before it went."""
    elections = [(b, a) for b, a in _elections(witness.course) if a.leader != NO_LEADER]
    rows = [_election(before, after) for before, after in elections]
    wrong = [_election(b, a) for b, a in elections if a.leader not in (*b.isr, *(b.elr or ()))]
    return _judged(rows, wrong, _count(len(rows), "leader") + " elected", "no leader was elected")


# Controllers


def one_controller_at_a_time(witness: Witness) -> Judged:
    """Each controller has an epoch of its own, higher than that of any before it."""
    stated = [one for one in witness.course.controllers if one.value]
    rows: list[dict[str, Any]] = [
        {"controller": one.value, "epoch": int(one.detail.rpartition(" ")[2]), "at_ns": one.begin_ns} for one in stated
    ]
    wrong = [
        after | {"controller_before": before["controller"], "epoch_before": before["epoch"]}
        for before, after in pairwise(rows)
        if after["controller"] != before["controller"] and after["epoch"] <= before["epoch"]
    ]
    return _judged(rows, wrong, _count(len(rows), "controller") + " in turn", "nobody was controller")


# Sessions


def dead_broker_leaves_in_session(witness: Witness) -> Judged:
    """A killed broker's registration ends no later than its session after its death."""
    rows = [
        row for fault in witness.course.faults if fault.kind == "kill" for row in _session(witness, fault.node, fault)
    ]
    if not rows:
        return Judged(outcome=NOT_OBSERVED, says="no registration of a killed broker ended")
    longest = max(rows, key=lambda row: float(row["took_ms"]) - float(row["bound_ms"]))
    wrong = [row for row in rows if row["took_ms"] > row["bound_ms"]]
    return Judged(
        outcome=CONTRADICTED if wrong else HELD,
        says=f"the registration of {longest['node']} ended {longest['took_ms'] / 1000:.1f} s after its death",
        evidence=wrong or rows,
        measured_ms=longest["took_ms"],
        bound_ms=longest["bound_ms"],
    )


def _session(witness: Witness, node: str, kill: FaultFact) -> Iterator[dict[str, Any]]:
    """How long the registration that a broker had when it was killed lasted on, if that was seen: not if the broker was
    started again before it ended, or the run ended before the bound.
    """
    course, session_ms = witness.course, _session_ms(witness.run, node)
    gone = (one for one in course.processes.get(node, ()) if one.value in (DYING, DOWN))
    died = next((one for one in gone if one.end_ns > kill.inject_ns), None)
    if died is None or session_ms is None or not course.alive_at(node, died.begin_ns):
        return
    registrations = course.registrations[node]
    held = next(one for one in registrations if one.value == ALIVE and one.end_ns > died.begin_ns)
    took_ms = round((held.end_ns - died.begin_ns) / 1e6, 1)
    bound_ms = session_ms * (1 + TICK_SHARE) + SESSION_TOLERANCE_MS
    starts = [f.inject_ns for f in course.faults if f.kind == "start" and f.node == node]
    restarted = any(died.begin_ns < start_ns < held.end_ns for start_ns in starts)
    if not restarted and (held != registrations[-1] or took_ms > bound_ms):
        yield {"node": node, "at_ns": died.begin_ns, "took_ms": took_ms, "bound_ms": bound_ms}


def _session_ms(run: Mapping[str, Any], node: str) -> int | None:
    """The session that run.json states for a broker: its own, or that of all."""
    settings, broker = run.get("settings") or {}, node.rpartition("-")[2]
    name = "zookeeper.session.timeout.ms" if run.get("mode") == "zookeeper" else "broker.session.timeout.ms"
    stated = settings.get(f"{broker}:{name}", settings.get(name))
    return int(stated) if stated is not None and str(stated).isdigit() else None


# Truncation


def restarted_replica_keeps_its_log(witness: Witness) -> Judged:
    """A replica whose broker was killed and started again holds, when it is copied next, all that it held before."""
    faults = witness.course.faults
    rows: list[dict[str, Any]] = []
    for kill in (fault for fault in faults if fault.kind == "kill"):
        starts = [f for f in faults if (f.kind, f.node) == ("start", kill.node) and f.inject_ns > kill.inject_ns]
        rows += _restarted(witness.course, kill.node, kill.inject_ns, starts[0].inject_ns) if starts else ()
    wrong = [row for row in rows if row["lowest_end"] < row["log_end_before"]]
    nothing = "no replica was copied between its broker's death and its start, and after that"
    return _judged(rows, wrong, _count(len(rows), "replica") + " restarted", nothing)


def _restarted(course: Course, node: str, killed_ns: int, started_ns: int) -> Iterator[dict[str, Any]]:
    """How far a node's replicas went when they were copied while it was down and when it was up again, and the lowest
    end between, by its log.
    """
    moments = of(course.events, Moment)
    before = next((m for m in moments if killed_ns < m.at_ns < started_ns), None)
    after = next((m for m in moments if m.at_ns > started_ns), None)
    if before is None or after is None:
        return
    for name, ends in before.nodes.get(node, {}).items():
        later = after.nodes.get(node, {}).get(name, ends)
        cuts = [
            log.offset
            for log in of(course.events, Log)
            if (log.node, log.event, f"{log.topic}-{log.partition}") == (node, "truncate", name)
            and started_ns < log.at_ns <= after.at_ns
        ]
        known = [end for end in (later.leo, *cuts) if end is not None]
        if ends.leo is not None and known:
            yield {
                "node": node,
                "replica": name,
                "at_ns": started_ns,
                "log_end_before": ends.leo,
                "log_end_after": later.leo,
                "lowest_end": min(known),
            }


EVERY: Final[tuple[Claim, ...]] = (
    Claim(
        name="leader-epoch-rises-by-one",
        says="At each change of a partition's leader its leader epoch rises by exactly one.",
        source="KIP-101; Kafka documentation, Design: replication",
        judge=leader_epoch_rises_by_one,
    ),
    Claim(
        name="leader-elected-from-isr",
        says="Every leader that is elected was in the ISR before its election (clean elections).",
        source="Kafka documentation, Design: replication; KIP-966",
        judge=leader_elected_from_isr,
    ),
    Claim(
        name="one-controller-at-a-time",
        says="There is one controller at a time, and each has a higher epoch than the one before.",
        source="Kafka documentation, Design: replication; KIP-500",
        judge=one_controller_at_a_time,
    ),
    Claim(
        name="dead-broker-leaves-in-session",
        says="The registration of a broker that was killed ends within its session.",
        source="Kafka documentation, broker configuration: zookeeper.session.timeout.ms, broker.session.timeout.ms",
        judge=dead_broker_leaves_in_session,
        bound=f"the session that the broker is configured with, {TICK_SHARE:.0%} of it for the tick on which sessions "
        f"end (ZooKeeper: tickTime), and a tolerance of {SESSION_TOLERANCE_MS} ms for the machine",
    ),
    Claim(
        name="restarted-replica-keeps-its-log",
        says="A replica that restarts while its leader lives truncates nothing that it held when it died.",
        source="KIP-101",
        judge=restarted_replica_keeps_its_log,
    ),
)
CATALOGUE: Final[Mapping[str, Claim]] = MappingProxyType({claim.name: claim for claim in EVERY})


def validate(names: Iterable[str]) -> None:
    """Raise UsageError, with the nearest names, for the first that is not in the catalogue."""
    for name in names:
        if name not in CATALOGUE:
            raise unknown_name("claim", name, CATALOGUE, hint="`kafka-chaos list --claims` has them all")


def page() -> str:
    """docs/claims.md, made from the catalogue."""
    lines = [
        "# Claims",
        "",
        "Made by `kafka-chaos list --claims --markdown` from `evidence/claims.py`; do not edit. Documented behaviour",
        "that is judged from a run's files: a claim is *held*, *contradicted* (the run is *unexpected*)",
        "or *not observed* (*unknown*). A scenario names those that it shows: `Documented(on=…, claims=[…])`.",
        "",
        "| name | claim | bound | source |",
        "|---|---|---|---|",
        *(f"| `{one.name}` | {one.says} | {one.bound or '–'} | {one.source} |" for one in EVERY),
    ]
    return "\n".join(lines) + "\n"


def declared(run: Mapping[str, Any]) -> list[str]:
    """The claims that a run is held against, by run.json; a run that was made before there were claims has none."""
    return [str(name) for name in (run.get("documented") or {}).get("claims") or ()]


def judge(name: str, witness: Witness) -> dict[str, Any]:
    """What came of one claim, as findings.json has it. Raises UsageError for a name that is none."""
    validate([name])
    claim = CATALOGUE[name]
    about = {"name": name, "claim": claim.says, "source": claim.source}
    return about | ({"bound": claim.bound} if claim.bound else {}) | claim.judge(witness).as_json()
