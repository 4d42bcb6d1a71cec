"""What happened to a partition, step by step, from the witnesses that know partitions and not single records.

Docker and the harness (faults and their proof), the cluster's own statements (ZooKeeper or the metadata log: leaders,
epochs, ISRs, controllers, sessions), and what brokers logged. Pure functions of `JudgedRun`. A step says one thing in
a sentence and names who says so; where a witness is silent there is no step.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from evidence.events import DeleteRecords, DeleteTopic, EndsAnswer, Log, OffsetAnswer, OffsetCommit, RecordsDeleted
from evidence.findings import Row
from evidence.records import TopicPartition
from evidence.run_state import ALIVE, DOWN, FaultFact, PartitionInterval
from judgement.report.facts import JudgedRun

# What a broker logs of one act it logs within this time: the reason for a truncation and the truncation, or two classes
# of one truncation.
SAME_ACT_NS: Final = 300_000_000
# A controller logs an unclean election when it decides, and the cluster states it later.
SAME_CHANGE_NS: Final = 1_500_000_000
REASONS: Final = {"high-watermark": "its own high watermark", "epoch-request": "where the leader says its epoch ends"}
"""Why a follower truncates, by the event in its log."""
MAX_STEPS: Final = 120
LONGEST_NAME: Final = 40
"""Of a topic's name so much is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryStep:
    """One thing that happened to a record."""

    at_ns: int | None
    kind: str
    """send, ack, failed, disk, fault, start, gone, election, isr, controller, truncate, kept, log, replaced, read,
    passed, more: for icons and colours."""
    actor: str
    text: str
    witness: str
    """In a word or two: client, disks, fault, ZooKeeper, KRaft, broker log."""
    source: str
    """In full, where that can be looked up."""
    quotes: tuple[str, ...] = ()
    """Lines of a broker's log, as printed."""


def client_step(at_ns: int | None, kind: str, actor: str, text: str) -> StoryStep:
    """What a client recorded."""
    return StoryStep(at_ns=at_ns, kind=kind, actor=actor, text=text, witness="client", source="client history")


def disk_step(at_ns: int | None, text: str, moment: str) -> StoryStep:
    """What lay on the brokers' disks at a moment of copying."""
    source = f"copies of the replicas' files, moment “{moment}”"
    return StoryStep(at_ns=at_ns, kind="disk", actor="replicas", text=text, witness="disks", source=source)


def _fault_step(at_ns: int, kind: str, actor: str, text: str) -> StoryStep:
    return StoryStep(at_ns=at_ns, kind=kind, actor=actor, text=text, witness="fault", source="harness and Docker")


# Words


def brokers_in(rows: Iterable[Row]) -> list[str]:
    """The names of the brokers that rows of evidence tell apart, sorted."""
    return sorted({broker for row in rows for broker in row.brokers})


def join(words: Sequence[str]) -> str:
    """Words as a list in a sentence.

    >>> join(["a", "b", "c"]), join(["a"]), join([])
    ('a, b and c', 'a', '')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def ids(brokers: Iterable[int]) -> str:
    """A set of brokers as Kafka writes it: [1, 2, 3]."""
    return "[" + ", ".join(map(str, brokers)) + "]"


def named(where: TopicPartition) -> str:
    """A partition as Kafka writes it: t-0."""
    return f"{where[0]}-{where[1]}"


def witness_of_metadata(facts: JudgedRun) -> tuple[str, str]:
    """Where the cluster's statements come from: in a word, and in full."""
    return ("KRaft", "the metadata log") if facts.run.mode == "kraft" else ("ZooKeeper", "ZooKeeper")


def in_order(steps: Iterable[StoryStep]) -> tuple[StoryStep, ...]:
    """Steps by time, those without a time last. Of more than `MAX_STEPS` the middle is left out, and a step says so."""
    ordered = sorted(steps, key=lambda step: (step.at_ns is None, step.at_ns or 0))
    if len(ordered) > MAX_STEPS:
        half = MAX_STEPS // 2
        left_out = ordered[half:-half]
        told = StoryStep(
            at_ns=left_out[0].at_ns,
            kind="more",
            actor="",
            text=f"({len(left_out)} more steps are left out here.)",
            witness="",
            source="timeline.jsonl has all of them",
        )
        ordered = [*ordered[:half], told, *ordered[-half:]]
    return tuple(ordered)


# Faults


def proof_text(fault: FaultFact) -> str:
    """A fault's proof in a few words."""
    if fault.unproved:
        return f"not proved: {fault.seen or 'no proof'}"
    if fault.proved_ns is None:
        return "never verified"
    return f"proved: {fault.proof.text()}" if fault.proof else "proved"


def _concerns(facts: JudgedRun, where: TopicPartition, fault: FaultFact) -> bool:
    """Whether a fault struck a replica of the partition, the controller of the time, or a node that is no broker."""
    replicas = {f"broker-{broker}" for broker in facts.assignment.get(where, ())}
    controller = facts.controller_at(fault.inject_ns)
    return any(
        node in replicas or not node.startswith("broker-") or (controller is not None and node == controller.value)
        for node in fault.nodes
    )


def _lasts(fault: FaultFact, at_ns: int) -> bool:
    """Whether a fault still lasts at a time: its broker was not started again, its cut not healed."""
    return not fault.starts and fault.until_ns > at_ns


def _role(fault: FaultFact) -> str:
    """The role for which a fault's target was chosen, in brackets; "" if that says no more than the target."""
    # Whoever is started again was chosen for a role it no longer has.
    parts = [part for part in fault.role.split("; ") if part and "replica of" not in part]
    return f" ({'; '.join(parts)})" if parts and not fault.starts else ""


def fault_steps(facts: JudgedRun, where: TopicPartition, since_ns: int) -> Iterator[StoryStep]:
    """The faults that concern a partition from a time on, or still last at that time, and when they were healed."""
    for fault in facts.faults:
        if not _concerns(facts, where, fault) or (fault.inject_ns < since_ns and not _lasts(fault, since_ns)):
            continue
        role = _role(fault)
        kind = "start" if fault.starts else "fault"
        yield _fault_step(fault.inject_ns, kind, fault.node, f"{fault.description}{role}; {proof_text(fault)}.")
        if fault.healed_ns is not None and fault.healed_ns >= since_ns:
            yield _fault_step(fault.healed_ns, "start", fault.node, f"healed: {fault.description}.")


# What the cluster states


def election_text(
    facts: JudgedRun,
    where: str,
    before: PartitionInterval,
    after: PartitionInterval,
    last_isr: tuple[int, ...],
    *,
    unclean: bool = False,
) -> str:
    """A change of leader in a sentence: clean or unclean, and whether the new leader was dead.

    `last_isr` is the last ISR that was not empty: old controllers empty it when its last member dies, and new ones
    forget it. `unclean` is whether the controller itself says that it was.
    """
    if after.leader < 0:
        return f"{where} has no leader: of the ISR {ids(last_isr)} nobody is alive."
    if after.leader == before.leader:
        return f"broker-{after.leader} stays leader of {where}, in epoch {after.leader_epoch}, ISR {ids(after.isr)}."
    if after.leader in last_isr and unclean:
        kind = f"an unclean election by the controller's own word, though it is of the last known ISR {ids(last_isr)}"
    elif after.leader in last_isr:
        kind = f"a clean election, from the ISR {ids(last_isr)}"
    elif after.leader in (before.elr or ()):
        kind = f"from the eligible leader replicas beside the ISR {ids(last_isr)}"
    else:
        kind = f"an unclean election, it was not in the ISR {ids(last_isr)}"
    text = f"broker-{after.leader} is elected leader of {where} in epoch {after.leader_epoch}: {kind}"
    node = f"broker-{after.leader}"
    if facts.condition_at(node, after.begin_ns) == DOWN:
        died = facts.died_by(node, after.begin_ns)
        if died is not None:
            still = "not fenced yet" if facts.run.mode == "kraft" else "still registered"
            known = f": it is {still}" if facts.alive_at(node, after.begin_ns) else ""
            text += f" — although it has been dead for {(after.begin_ns - died) / 1e9:.1f} s{known}"
    return text + "."


def state_text(facts: JudgedRun, where: TopicPartition, at_ns: int) -> str:
    """What the cluster stated of a partition at a time, and who was the controller; "" if it stated nothing."""
    state, controller = facts.state_at(*where, at_ns), facts.controller_at(at_ns)
    parts = []
    if state is not None:
        leader = f"leader broker-{state.leader}" if state.leader >= 0 else "no leader"
        parts += [f"{leader} (epoch {state.leader_epoch})", f"ISR {ids(state.isr)}"]
    if controller is not None:
        detail = f" ({controller.detail})" if controller.detail else ""
        parts.append(f"controller {controller.value}{detail}" if controller.value else "no controller")
    return ", ".join(parts)


def metadata_steps(facts: JudgedRun, where: TopicPartition, since_ns: int) -> Iterator[StoryStep]:
    """Elections, changes of the ISR, the assignment and the controller, and brokers taken for dead, from a time on."""
    witness, source = witness_of_metadata(facts)
    for kind, at_ns, actor, text, quotes in (
        *_partition_changes(facts, where, since_ns),
        *_assignment_changes(facts, where, since_ns),
        *_controller_changes(facts, since_ns),
        *_registration_changes(facts, where, since_ns),
    ):
        yield StoryStep(at_ns=at_ns, kind=kind, actor=actor, text=text, witness=witness, source=source, quotes=quotes)


_Change = tuple[str, int, str, str, tuple[str, ...]]


def _partition_changes(facts: JudgedRun, where: TopicPartition, since_ns: int) -> Iterator[_Change]:
    states = facts.partitions.get(where, ())
    last_isr: tuple[int, ...] = ()
    for before, after in itertools.pairwise(states):
        last_isr = before.isr or last_isr
        if after.begin_ns < since_ns:
            continue
        election = (after.leader, after.leader_epoch) != (before.leader, before.leader_epoch)
        if election and after.leader == before.leader and after.isr != before.isr and facts.run.mode == "kraft":
            election = False  # KRaft raises the leader epoch when an ISR shrinks (until 3.6), without any election
        if election:
            said = _unclean(facts, where, after)
            text = election_text(facts, named(where), before, after, last_isr, unclean=bool(said))
            yield "election", after.begin_ns, "controller", text, said
            continue
        joined, left = [b for b in after.isr if b not in before.isr], [b for b in before.isr if b not in after.isr]
        changes = [f"broker-{b} joins" for b in joined] + [f"broker-{b} leaves" for b in left]
        if changes:
            text = f"{join(changes)} the ISR of {named(where)}: now {ids(after.isr)}."
            yield "isr", after.begin_ns, "leader", text, ()


def _assignment_changes(facts: JudgedRun, where: TopicPartition, since_ns: int) -> Iterator[_Change]:
    for before, after in itertools.pairwise(facts.states.get(where, ())):
        old, new = before.replicas, after.replicas
        if old is not None and new is not None and old != new and after.at_ns >= since_ns:
            changes = [f"broker-{b} is added" for b in new if b not in old]
            changes += [f"broker-{b} is removed" for b in old if b not in new]
            text = f"{named(where)} is assigned to {ids(new)}"
            yield "assignment", after.at_ns, "controller", f"{text}: {join(changes)}." if changes else f"{text}.", ()


def _unclean(facts: JudgedRun, where: TopicPartition, state: PartitionInterval) -> tuple[str, ...]:
    """The log line in which the controller says that it elected this leader from outside the ISR; () without one."""
    near = [
        line
        for line in about(facts, where, state.begin_ns - SAME_CHANGE_NS)
        if line.event == "unclean-election" and line.at_ns < state.begin_ns + SAME_CHANGE_NS and state.leader >= 0
    ]
    return tuple(line.line for line in near[-1:])


def _controller_changes(facts: JudgedRun, since_ns: int) -> Iterator[_Change]:
    for interval in facts.controllers:
        if interval.begin_ns >= since_ns:
            epoch = f", {interval.detail}" if interval.detail else ""
            text = f"{interval.value} is the controller{epoch}." if interval.value else "There is no controller."
            yield "controller", interval.begin_ns, interval.value or "controller", text, ()


def _registration_changes(facts: JudgedRun, where: TopicPartition, since_ns: int) -> Iterator[_Change]:
    for broker in facts.assignment.get(where, ()):
        node = f"broker-{broker}"
        for interval in facts.registrations.get(node, ()):
            if interval.begin_ns < since_ns or interval.value == ALIVE:
                continue
            what = "is fenced" if interval.value == "fenced" else "is no longer registered"
            died = facts.died_by(node, interval.begin_ns)
            dead = facts.condition_at(node, interval.begin_ns) == DOWN and died is not None
            after = f", {(interval.begin_ns - died) / 1e9:.1f} s after its death" if dead and died is not None else ""
            knows = ": only now does the cluster know" if dead else ""
            yield "gone", interval.begin_ns, node, f"{node} {what}{after}{knows}.", ()


# What brokers log


@dataclass(slots=True)
class Act:
    """One act of a broker with all lines that it logged about it; `line` says what it did."""

    line: Log
    reason: Log | None = None
    """For a truncation, the line with its reason: the replica's own high watermark, or the leader's epochs."""
    below: bool = False
    """Whether the broker said that it truncates below its high watermark."""
    quotes: list[str] = field(default_factory=list)


def about(facts: JudgedRun, where: TopicPartition, since_ns: int) -> Iterator[Log]:
    """The brokers' lines about a partition from a time on, in order."""
    # Some lines name their partition in words that the observer did not take apart.
    words = re.compile(rf"(?<![\w.-]){re.escape(named(where))}(?![\w-])")
    for line in sorted(facts.log, key=lambda line: line.at_ns):
        mine = (line.topic, line.partition) == where or (line.topic is None and words.search(line.line))
        if mine and line.at_ns >= since_ns:
            yield line


def acts(facts: JudgedRun, where: TopicPartition, since_ns: int) -> list[Act]:
    """What brokers did to a partition by their own logs; the lines of one act are put together."""
    found: list[Act] = []
    for line in about(facts, where, since_ns):
        near = [a for a in found if a.line.node == line.node and line.at_ns - a.line.at_ns < SAME_ACT_NS]
        cuts = [a for a in near if a.line.event == "truncate" and a.line.offset == line.offset]
        if line.event == "truncate" and cuts:
            cuts[-1].quotes.append(line.line)
        elif line.event == "truncate":
            reasons = [a for a in near if _is_reason(a.line) and a.line.offset == line.offset]
            found = [a for a in found if a not in reasons]
            quotes = [quote for reason in reasons for quote in reason.quotes]
            below = any(reason.line.detail == "below" for reason in reasons)
            reason = reasons[0].line if reasons else None
            found.append(Act(line, reason=reason, below=below, quotes=[*quotes, line.line]))
        elif line.event == "become-follower" and line.offset is not None and cuts:
            continue  # it begins to fetch where it has just cut
        else:
            found.append(Act(line, quotes=[line.line]))
    return found


def _is_reason(line: Log) -> bool:
    """Whether a line gives the reason for a truncation; of the lines about high watermarks only some do."""
    return line.event in REASONS and (line.event != "high-watermark" or line.detail in ("falls-back", "below"))


def truncations(facts: JudgedRun, where: TopicPartition, since_ns: int) -> list[Act]:
    """Each truncation of a partition to a known offset, with all lines its broker logged about it."""
    return [a for a in acts(facts, where, since_ns) if a.line.event == "truncate" and a.line.offset is not None]


Effect = Callable[[Log], tuple[str, str] | None]
"""For a truncation: the kind of its step and the end of its sentence; None if it does not concern the story."""


def deletion_steps(facts: JudgedRun, where: TopicPartition) -> Iterator[StoryStep]:
    """What was asked to be deleted: topics, whichever, and records of this partition."""
    for one in facts.events:
        if isinstance(one, DeleteTopic):
            name = (
                one.topic
                if len(one.topic) <= LONGEST_NAME
                else f"{one.topic[:LONGEST_NAME]}… ({len(one.topic)} characters)"
            )
            what = "The deletion of" if one.withdrawn else "It is asked that"
            end = f"is withdrawn, by {one.by}" if one.withdrawn else f"be deleted, by {one.by}"
            yield _asked_step(one.at_ns, f"{what} topic {name} {end}.")
        elif isinstance(one, DeleteRecords) and (one.topic, one.partition) == where:
            yield _asked_step(
                one.at_ns, f"It is asked that the records of {named(where)} before {one.before} be deleted."
            )
        elif isinstance(one, RecordsDeleted) and (one.topic, one.partition) == where:
            done = f"The records of {named(where)} before {one.low_watermark} are deleted, its leader answers."
            yield _asked_step(one.at_ns, done)


def _asked_step(at_ns: int, text: str) -> StoryStep:
    return StoryStep(at_ns=at_ns, kind="log", actor="operator", text=text, witness="operator", source="harness")


def group_steps(facts: JudgedRun, where: TopicPartition) -> Iterator[StoryStep]:
    """What groups committed of a partition, and what their coordinators answered: of commits in a row the last, of
    answers in a row that say the same the first.
    """
    told = [
        one
        for one in facts.events
        if isinstance(one, OffsetAnswer | OffsetCommit) and (one.topic, one.partition) == where
    ]
    for before, one, after in zip([None, *told], told, [*told[1:], None], strict=False):
        if isinstance(one, OffsetCommit) and not isinstance(after, OffsetCommit):
            yield client_step(one.at_ns, "ack", one.group, f"Group {one.group} has committed offset {one.offset}.")
        elif isinstance(one, OffsetAnswer) and not _says_the_same(before, one):
            said = f"does not answer: {one.error}" if one.error else f"says that {_offset(one.offset)} is committed"
            kind = "failed" if one.error else "read"
            yield client_step(one.at_ns, kind, one.group, f"The coordinator of group {one.group} {said}.")


def end_steps(facts: JudgedRun, where: TopicPartition) -> Iterator[StoryStep]:
    """How far a partition could be read, where readers of what is committed are given less: of answers in a row with
    one and the same end the first and the last.
    """
    told = [one for one in facts.events if isinstance(one, EndsAnswer) and (one.topic, one.partition) == where]
    for end, answers in itertools.groupby(told, lambda one: one.last_stable_offset):
        row = list(answers)
        for one in {id(row[0]): row[0], id(row[-1]): row[-1]}.values():
            if end < one.high_watermark:
                text = f"Readers under read_committed may read {named(where)} up to {end}, others up to "
                yield client_step(one.at_ns, "read", "reader", f"{text}{one.high_watermark}.")


def _says_the_same(before: OffsetAnswer | OffsetCommit | None, one: OffsetAnswer) -> bool:
    """Whether an answer is the one before over again; one error is as good as another."""
    if not isinstance(before, OffsetAnswer):
        return False
    return (before.group, before.offset, before.error is None) == (one.group, one.offset, one.error is None)


def _offset(offset: int | None) -> str:
    return "nothing" if offset is None else f"offset {offset}"


def log_steps(facts: JudgedRun, where: TopicPartition, since_ns: int, effect: Effect) -> Iterator[StoryStep]:
    """What brokers logged about a partition from a time on."""
    for act in acts(facts, where, since_ns):
        line = act.line
        if line.event == "truncate":
            end = effect(line) if line.offset is not None else None
            if end is None:
                continue
            below = ", below its high watermark" if act.below else ""
            by = f" ({REASONS[act.reason.event]}{below})" if act.reason else ""
            kind, text = end[0], f"truncates {named(where)} to offset {line.offset}{by}{end[1]}"
        else:
            kind, text = "log", _says(line, named(where))
        if text:
            yield StoryStep(
                at_ns=line.at_ns,
                kind=kind,
                actor=line.node,
                text=f"{line.node} {text}.",
                witness="broker log",
                source=f"log of {line.node}",
                quotes=tuple(act.quotes),
            )


def _says(line: Log, where: str) -> str:
    """A broker's line as a sentence; "" for events that other steps tell better, or that are too frequent."""
    epoch = f" in epoch {line.leader_epoch}" if line.leader_epoch is not None else ""
    ends = f"; its log ends at {line.offset}" if line.offset is not None else ""
    match line.event:
        case "become-leader":
            return f"becomes leader of {where}{epoch}{ends}"
        case "retention":
            return f"deletes records of {where}: by the retention that it goes by they are too old"
        case "become-follower" if line.detail == "fetches":
            return f"begins to fetch {where}{epoch} at offset {line.offset}"
        case "become-follower":
            return f"becomes follower of {where}{epoch}{ends}"
        case "high-watermark" if line.detail == "loaded":
            return f"loads {where} with high watermark {line.offset}"
        case "high-watermark" if line.detail == "below":
            return f"truncates {where} to offset {line.offset}, below its high watermark"
        case "high-watermark" if line.detail == "falls-back":
            return f"goes by its own high watermark, {line.offset}"
        case "epoch-request" if line.detail == "unknown-epoch":
            return f"learns nothing from the leader about its epoch and goes by offset {line.offset}"
        case "epoch-request":
            cut = ", and has nothing to cut" if line.detail == "nothing-to-cut" else ""
            return f"learns from the leader that its epoch ends at offset {line.offset}{cut}"
        case "controller-moved":
            return "finds that a newer controller has written a partition's state, and leaves it"
        case "controller-fenced":
            return "is refused a write by ZooKeeper: another controller is in office"
        case "epoch-answer":
            return f"answers that epoch {line.leader_epoch} of {where} ends at offset {line.offset}"
        case "recovery":
            return f"recovers {where} after a crash"
        case "fatal":
            return "exits"
    return ""
