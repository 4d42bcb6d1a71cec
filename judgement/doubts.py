"""Doubts: every reason for which a run proves nothing.

Each function returns the reasons of one kind: a fault without proof, a precondition that did not hold, a blind
observer, a run that was cut short, a check that crashed. `doubts` puts them together, those of `judgement.soundness`
(whether the run's evidence holds together) among them, and says of each what it touches (judgement/scope.py).
"""

from __future__ import annotations

import signal
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from checks import claims
from checks.anomalies.availability import held_up_by_machine
from checks.claims.spontaneous import spontaneous
from evidence import foreign
from evidence.events import Container, Precondition, of
from evidence.faults.base import FaultProof
from evidence.faults.clients import KillClientProof
from evidence.faults.process import DeathProof, FreezeProof, PowerLossProof, StopProof
from evidence.findings import CRASHED, NOT_APPLICABLE, ClaimResult, Findings
from evidence.run import RunRecord
from evidence.run_state import FaultFact, RunState
from judgement import duties, soundness
from judgement.contradicted import TIMELINE
from judgement.scope import ALL, NOTHING, ON_RECORD, Doubt, Scope, doubts_of

DIED: Final = "recorder died"


def unproved_faults(run_state: RunState) -> list[Doubt]:
    """Faults that were injected (or healed) without proof that this took effect: all that follows rests on them.

    A stop without proof is one that did not end cleanly. If the engine tells of SIGTERM, the broker was asked to end
    all the same: what it did until its process ended rests on that alone.
    """
    reasons = []
    for fault in run_state.faults:
        ended_ns = _asked_to_end(run_state, fault) if fault.kind == "stop" else None
        since = Scope(begin_ns=fault.inject_ns if ended_ns is None else ended_ns)
        what = f"fault {fault.id} ({fault.description})"
        if fault.unproved:
            reasons.append(Doubt(f"{what} did not provably take effect: {fault.seen or 'no proof'}", since))
        elif fault.proved_ns is None:
            reasons.append(Doubt(f"{what} was injected and never verified", since))
        if fault.heal_ns is not None and fault.healed_ns is None:
            healing = Scope(begin_ns=fault.heal_ns)
            reasons.append(Doubt(f"{what}: its healing was begun and never confirmed", healing))
    return reasons


def _asked_to_end(run_state: RunState, fault: FaultFact) -> int | None:
    """When the process ended of a broker that got SIGTERM; None if the engine tells of no such signal, or of no end."""
    told = [one for one in of(run_state.events, Container) if one.node == fault.node and one.at_ns >= fault.inject_ns]
    asked_ns = next((one.at_ns for one in told if one.action == "kill" and one.signal == signal.SIGTERM), None)
    if asked_ns is None:
        return None
    return next((one.at_ns for one in told if one.action == "die" and one.at_ns >= asked_ns), None)


def failed_preconditions(run_state: RunState) -> list[str]:
    """Preconditions of the claim that did not hold: the sequence did not take the course the claim is about."""
    return [
        f"a precondition did not hold: {precondition.name}" + _detail(precondition.detail)
        for precondition in of(run_state.events, Precondition)
        if not precondition.held
    ]


def _detail(detail: Mapping[str, object]) -> str:
    return f" ({', '.join(f'{key}={value}' for key, value in detail.items())})" if detail else ""


RETURN_NS: Final = 15_000_000_000
"""For a ZooKeeper that is back to start, on a busy machine, and for the observer to find it."""
LAST_WORD_NS: Final = 1_000_000_000
"""A blind interval begins with the last sign of life, which may be older than the end of who gave it."""

BLINDS_BY_GOING: Final[Mapping[str, tuple[str, tuple[type[FaultProof], ...]]]] = {
    "zookeeper": ("zookeeper", (DeathProof, StopProof, FreezeProof)),
    "kraft": ("controller-", (PowerLossProof,)),
}
"""By observer: whose faults take away what it looks at, and which."""


def _explained(run_state: RunState, begin_ns: int, end_ns: int, why: str) -> bool:
    """Whether an observer was blind because ZooKeeper itself was away. It wrote nothing then, and when it is back the
    versions of znodes tell what came before the observer did. Likewise where KRaft's controllers lost their disks with
    the power: what is on them when they are back is all there is.
    """
    keeper, kinds = BLINDS_BY_GOING.get(why.partition(" ")[0], ("", ()))
    gone = [one for one in run_state.faults if issubclass(one.proof_type, kinds)]
    away = [one for one in gone if one.node.startswith(keeper)]
    return any(one.inject_ns - LAST_WORD_NS <= begin_ns and end_ns <= one.until_ns + RETURN_NS for one in away)


def blind_during_faults(run_state: RunState) -> list[Doubt]:
    """Observers that saw nothing while a fault lasted, unless the fault itself explains it."""
    reasons: list[Doubt] = []
    for begin_ns, end_ns, why in run_state.blind:
        if _explained(run_state, begin_ns, end_ns, why):
            continue
        over = [
            fault.description for fault in run_state.faults if fault.inject_ns < end_ns and begin_ns < fault.until_ns
        ]
        if over:
            witness = duties.SOURCES[why.partition(" ")[0]]
            scope = Scope(witnesses=frozenset({witness, "record"}), begin_ns=begin_ns, end_ns=end_ns)
            reasons.append(Doubt(f"an observer was blind during {', '.join(dict.fromkeys(over))} ({why})", scope))
    return reasons


def incomplete_state(run: RunRecord) -> list[str]:
    """A run that was cut short, or never read to the end."""
    reasons = []
    if run.state not in ("complete", "failed"):
        was = {"running": "was cut short (its state is still 'running')", "interrupted": "was interrupted"}
        reasons.append(f"the run {was[run.state]}")
    if not any(process.final for process in run.processes):
        reasons.append("no final read: a record that no consumer got may still be there")
    return reasons


def killed_clients(run_state: RunState) -> set[str]:
    """The clients that faults of the run have killed, as was proved."""
    killed = (fault for fault in run_state.faults if isinstance(fault.proof, KillClientProof))
    return {name for fault in killed for name in fault.nodes}


def analysis_doubts(
    findings: Findings | None,
    required: Iterable[str],
    failure: str | None = None,
    killed: Collection[str] = (),
) -> list[str]:
    """What the analysis could not do: it failed, a check crashed or was left out, a file was unreadable. That the
    histories of clients which the run itself `killed` have no end is no doubt.
    """
    if findings is None:
        return [f"the analysis failed: {failure}" if failure else "the run has not been analysed: it has no findings"]
    reasons = [f"the analysis failed: {failure}"] if failure else []
    checks = {check.name: check for check in findings.checks}
    reasons += [
        f"the check {check.name} crashed: {check.reason or 'no reason given'}"
        for check in checks.values()
        if check.status == CRASHED
    ]
    for name in required:
        check = checks.get(name)
        if check is None:
            reasons.append(f"nothing checked for {name}, which is documented here")
        elif check.status == NOT_APPLICABLE:
            reason = check.reason or "no reason given"
            reasons.append(f"{name} is documented here, yet its check did not apply: {reason}")
    of_killed = [one for one in findings.problems if one.what == DIED and one.process in killed]
    return reasons + [problem.text for problem in findings.problems if problem not in of_killed]


def unshown_claims(declared: Iterable[str], judged: Sequence[ClaimResult]) -> list[str]:
    """The claims that are documented here and that nothing in the run could show, each with why."""
    shown = [one.name for one in judged if one.outcome in (claims.HELD, claims.CONTRADICTED)]
    observed = {one.name: one.observed for one in judged}
    return [
        f"the claim {name} was not observed: {observed.get(name) or 'it was not judged'}"
        for name in declared
        if name not in shown
    ]


def doubts(
    run: RunRecord,
    run_state: RunState,
    findings: Findings | None,
    damaged: Sequence[str],
    failure: str | None = None,
    required: Iterable[str] = (),
) -> list[Doubt]:
    """Every reason for which the run proves nothing, the most telling first."""
    reasons = [
        *unproved_faults(run_state),
        *doubts_of(soundness.unsupported_proofs(run_state), ALL),
        *doubts_of(failed_preconditions(run_state), NOTHING),
        *doubts_of(incomplete_state(run), ON_RECORD),
        *doubts_of(soundness.timeline_not_ended(run, run_state), ALL),
        *doubts_of(soundness.unheard(run, run_state), ALL),
        *foreign_events(run_state),
        *doubts_of(soundness.foreign_rules(run_state), ALL),
        *doubts_of(soundness.other_software(run, run_state), ALL),
        *doubts_of(soundness.out_of_sync(run, run_state), NOTHING),
        *blind_during_faults(run_state),
        *doubts_of(changes_by_machine(run, run_state), NOTHING),
        *duties.blind_witnesses(run_state),
        *(Doubt(f"damaged: {description}", _of_damage(description)) for description in damaged),
        *doubts_of(analysis_doubts(findings, required, failure, killed_clients(run_state)), ON_RECORD),
    ]
    # A sequence that ended early mostly did so for one of these reasons.
    reasons = reasons or doubts_of(soundness.sequence_not_ended(run, run_state), NOTHING)
    first: dict[str, Doubt] = {}
    for doubt in reasons:
        first.setdefault(doubt.text, doubt)
    return list(first.values())


def foreign_events(run_state: RunState) -> list[Doubt]:
    """What the engine did to nodes' containers and no fault of the run explains. One that loses its process is missed
    by others; a signal that changes nothing concerns its own node.
    """
    return [
        Doubt(one.text, Scope(begin_ns=one.since_ns) if one.gone else Scope(nodes=frozenset({one.node})))
        for one in foreign.foreign_events(run_state)
    ]


def changes_by_machine(run: RunRecord, run_state: RunState) -> list[str]:
    """Elections, shrinks of an ISR, ends of sessions and offices, and what was not done in time, that nothing but a
    machine that was busy, or stood still, may explain: whether Kafka did them by itself is not known.
    """
    return [
        f"nothing of the run explains this, but the machine may: {one.text} (shortly before, some process waited for a "
        f"CPU, or the machine stood still, for {one.held_up_ns / 1e9:.1f} s; a session, or a lag, takes "
        f"{one.limit_ns / 1e9:g} s)"
        for one in spontaneous(run_state, run)
        if one.by_machine
    ] + [f"nothing of the run explains this, but the machine may: {text}" for text in held_up_by_machine(run_state)]


def _of_damage(description: str) -> Scope:
    """What is doubtful because of a file. What steps saw they wrote into the timeline: a line that is torn takes away
    what it said, and nothing of what others say; a timeline that was changed may say anything.
    """
    changed = description.startswith(TIMELINE) and not description.startswith(f"{TIMELINE} line")
    return ALL if changed else ON_RECORD
