"""Whether a run's evidence is consistent: the claims of its timeline are compared with its other witnesses.

Each function returns the reasons of one kind for which the run proves nothing; all are pure. They look at what a word
in the timeline rests on. A fault "verified" rests on Docker's own event or the kernel's counters. The claim that
replicas agree rests on all of them having been in sync at the end, and the name of the version on what the brokers say
they are.

Limits. Rules in the chains of our own cuts, and queues (tc) that were there for a while, are taken for a fault's. A
fault of ours that nobody carried out, with a proof and Docker's events forged to fit, is taken for carried out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from evidence.events import (
    Container,
    Duty,
    End,
    Fault,
    Firewall,
    Log,
    Moment,
    Precondition,
    Software,
    of,
)
from evidence.faults.base import Witnesses
from evidence.faults.upgrade import RefusedProof, UpgradeProof
from evidence.run import RunRecord, TopicRecord
from evidence.run_state import FaultFact, RunState

PHASES: Final = (
    ("inject",),
    ("inject", "verified"),
    ("inject", "unproved"),
    ("inject", "heal"),
    ("inject", "verified", "heal"),
    ("inject", "unproved", "heal"),
    ("inject", "heal", "healed"),
    ("inject", "verified", "heal", "healed"),
    ("inject", "unproved", "heal", "healed"),
)
"""The courses that a fault may take."""
FINAL: Final = "final"
CHANGES_SHOWN: Final = 4


# Faults: the proof, and Docker's own events


def unsupported_proofs(run_state: RunState) -> list[str]:
    """Faults that are called verified, by a proof that does not show it or that other witnesses do not bear out."""
    reasons = []
    containers, said = of(run_state.events, Container), of(run_state.events, Fault)
    logged = {(event.node, event.line): event.wall_ns for event in of(run_state.events, Log)}
    for fault in run_state.faults:
        what = f"fault {fault.id} ({fault.description})"
        phases = tuple(event.phase for event in said if event.id == fault.id)
        if phases not in PHASES:
            reasons.append(f"{what} went through its phases in the order {', '.join(phases)}")
        elif fault.proved_ns is not None and (missing := missing_from_proof(fault, containers, logged)):
            reasons.append(f"{what} is called verified, but {missing}")
        elif fault.injected_ns is not None and not fault.inject_ns <= fault.injected_ns <= _told_ns(said, fault):
            reasons.append(f"the injection of {what} ended at a time that is not between its beginning and its proof")
    return reasons


def _told_ns(said: Sequence[Fault], fault: FaultFact) -> int:
    """When the proof of a fault was written, or that there is none."""
    return max(event.at_ns for event in said if event.id == fault.id and event.phase in ("verified", "unproved"))


def missing_from_proof(
    fault: FaultFact, containers: Sequence[Container], logged: Mapping[tuple[str, str], int]
) -> str | None:
    """What is missing from the proof of a verified fault, or who does not bear it out; None for a proof that holds."""
    if fault.proof is None:
        return "it has no proof"
    witnesses = Witnesses(
        node=fault.node,
        inject_ns=fault.inject_ns,
        proved_ns=fault.proved_ns or 0,
        containers=[event for event in containers if event.node == fault.node],
        logged=logged,
    )
    return fault.proof.missing() or fault.proof.contradicted(witnesses)


def unheard(run: RunRecord, run_state: RunState) -> list[str]:
    """Brokers whose start Docker never told of: then it would have told of nothing else that befell them."""
    assigned = {broker for brokers in run.assignment.values() for broker in brokers}
    started = {event.node for event in of(run_state.events, Container) if event.action == "start"}
    missing = sorted({f"broker-{broker}" for broker in assigned} - started)
    return [f"Docker told of no start of {', '.join(missing)}"] if missing else []


def foreign_rules(run_state: RunState) -> list[str]:
    """Rules that nodes' packet filters had at the end, when every cut of the run was healed, and changes that no cut
    made.
    """
    told = of(run_state.events, Firewall)
    if not told:
        return ["nothing says which rules the nodes' packet filters had at the end"]
    reasons = []
    for event in told:
        if event.rules:
            left = "; ".join(event.rules)
            reasons.append(f"{event.node}: its packet filter has rules that no fault of this run left: {left}")
        if event.changes:
            made = "; ".join(event.changes[:CHANGES_SHOWN])
            reasons.append(f"{event.node}: no fault of this run made these changes of its packet filter: {made}")
        if event.changes is None:
            reasons.append(f"{event.node}: nobody watched its packet filter")
    return reasons


# The timeline and the sequence


def timeline_not_ended(run: RunRecord, run_state: RunState) -> list[str]:
    """A timeline without its last line, of another run, or with another number of lines than it had."""
    if run.state != "complete":
        return []
    ends = of(run_state.events, End)
    if len(ends) != 1:
        return [
            f"the timeline has {len(ends)} ends: it was cut, or put together" if ends else "the timeline has no end"
        ]
    end, before = ends[0], len(run_state.events) - 1
    reasons = [] if end.run == run.run else [f"the timeline is that of the run {end.run}"]
    return reasons + (
        [f"the timeline has {before} lines before its end, it had {end.lines}"] if before != end.lines else []
    )


def sequence_not_ended(run: RunRecord, run_state: RunState) -> list[str]:
    """A scenario whose steps did not come to their end, or whose preconditions, duties of Kafka or faults are not all
    in the timeline.
    """
    sequence = run.sequence
    if sequence is None:
        return ["the scenario's steps did not come to their end: nothing says why"]
    told = len(of(run_state.events, Precondition))
    reasons = []
    if not sequence.ended:
        reasons.append(f"the scenario's steps did not come to their end: {sequence.cause or 'nothing says why'}")
    if sequence.preconditions != told:
        reasons.append(f"{sequence.preconditions} preconditions were checked, the timeline has {told}")
    duties = len(of(run_state.events, Duty))
    if sequence.duties != duties:
        reasons.append(f"{sequence.duties} duties of Kafka were checked, the timeline has {duties}")
    faults = len({event.id for event in of(run_state.events, Fault)})
    if sequence.faults is None:
        reasons.append("nothing says how many faults were carried out")
    elif sequence.faults != faults:
        reasons.append(f"{sequence.faults} faults were carried out, the timeline has {faults}")
    return reasons


# Replicas at the end


def out_of_sync(run: RunRecord, run_state: RunState) -> list[str]:
    """Replicas that were not in sync, or lagged, when all were copied at the end: they bear witness to nothing.

    Not where the scenario documents that a replica stays out.
    """
    final = next((moment for moment in reversed(of(run_state.events, Moment)) if moment.label == FINAL), None)
    if final is None or run.documented.out_of_sync:
        return []
    return [line for topic in run.topics for line in _out_of_sync(topic, run_state, final)]


def _out_of_sync(topic: TopicRecord, run_state: RunState, final: Moment) -> Iterator[str]:
    for number, brokers in topic.partitions.items():
        t = f"{topic.name}-{number}"
        state = run_state.state_at(topic.name, number, final.at_ns)
        if state is None:
            continue
        missing = sorted(set(brokers) - set(state.isr))
        if missing:
            names = ", ".join(f"broker-{broker}" for broker in missing)
            yield f"{names} not in sync at the end: the ISR of {t} is {list(state.isr)}"
        ends = {broker: held.get(t) for broker in brokers if (held := final.nodes.get(f"broker-{broker}")) is not None}
        known = {broker: end.leo for broker, end in ends.items() if end is not None and end.leo is not None}
        for broker in sorted(set(brokers) - set(missing)):
            if broker not in known:
                yield f"broker-{broker} held nothing of {t} at the end"
            elif known[broker] < max(known.values()):
                yield f"broker-{broker} held {t} up to {known[broker]} of {max(known.values())} at the end"


# Versions


def other_software(run: RunRecord, run_state: RunState) -> list[str]:
    """Brokers that say they are another release than the run states of them, brokers whose release nothing says,
    and upgrades that run.json, or the log of the node itself, does not bear out.
    """
    told: dict[str, set[str]] = {}
    own: dict[str, set[str]] = {}
    for event in of(run_state.events, Software):
        told.setdefault(event.node, set()).add(event.version)
        if event.source == "broker-log":
            own.setdefault(event.node, set()).add(event.version)
    upgrades = _upgrades(run_state)
    reasons = []
    for node, versions in sorted(told.items()):
        claimed = run.releases.get(node, (run.kafka,))
        if other := sorted(versions - set(claimed)):
            reasons.append(f"{node} runs Kafka {', '.join(other)}, and this is a run of {' and '.join(claimed)}")
    for node in sorted({*upgrades, *run.releases}):
        proofs, ran = upgrades.get(node, []), run.releases.get(node, ())
        if tuple(proof.release for proof in proofs) != ran[1:]:
            reasons.append(f"run.json has other releases of {node} than its upgrades proved")
        went_on = {proof.release for proof in proofs if isinstance(proof, UpgradeProof)}
        if silent := sorted(went_on - own.get(node, set())):
            reasons.append(f"the log of {node} does not say that it ran Kafka {', '.join(silent)}")
        reasons += [
            f"{node} was started with another {proof.jar} than Kafka {proof.release} has"
            for proof in proofs
            if proof.sha256 not in run.jars_of(proof.after, proof.release).values()
        ]
    brokers = {node for node in run_state.processes if node.startswith("broker-")}
    return reasons + [f"nothing says which version {node} runs" for node in sorted(brokers - set(told))]


def _upgrades(run_state: RunState) -> dict[str, list[UpgradeProof | RefusedProof]]:
    """The proofs that nodes went on as another release, by node, in order."""
    found: dict[str, list[UpgradeProof | RefusedProof]] = {}
    for fault in run_state.faults:
        if isinstance(fault.proof, UpgradeProof | RefusedProof):
            found.setdefault(fault.node, []).append(fault.proof)
    return found
