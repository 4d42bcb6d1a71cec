"""The story of each lost or diverged record, told only from what was recorded.

    sent by whom with which acks → acknowledged at which offset by which leader → on whose disks at each moment
      → who was struck → who was elected, from which ISR, dead or alive → who truncated it, with the broker's own line
      → what took its offset → who read how far and did not see it

Every step names its witness (`source`): the client's history, copies of the replicas' files, the cluster's own
statements (ZooKeeper or the metadata log), Docker, a broker's log. Where a witness is silent the step is left out,
never guessed: a truncation is said to have removed a record only if a copy of that replica taken before it holds the
record.

Stories are values (`Story`, `StoryStep`); the console, the HTML report and the picture draw from the same ones.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.report.facts import DOWN, FaultFact, LogLine, PartitionInterval, RunFacts, acks_text, broker_id
from harness.verdict import consequence, named_summary

MAX_STORIES: Final = 20
MAX_SENDS: Final = 40
# A broker writes a truncation to its log once or twice within this time (two classes, one act).
SAME_ACT_NS: Final = 300_000_000

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryStep:
    """One thing that happened to a record."""

    at_ns: int | None
    kind: str
    """send, ack, disk, fault, start, gone, election, isr, truncate, kept, replaced, read: for icons and colours."""
    actor: str
    text: str
    source: str
    quotes: tuple[str, ...] = ()
    """Lines of a broker's log, as printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What became of one record, or of neighbours that shared a fate."""

    anomaly: str
    title: str
    topic: str
    partition: int
    first_offset: int | None
    last_offset: int | None
    count: int
    steps: tuple[StoryStep, ...]


def join(words: Sequence[str]) -> str:
    """Words as a list in a sentence.

    >>> join(["a", "b", "c"]), join(["a"]), join([])
    ('a, b and c', 'a', '')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def ids(brokers: Iterable[int]) -> str:
    """A set of brokers as Kafka writes it: [1, 2, 3]."""
    return "[" + ", ".join(map(str, brokers)) + "]"


def stories(facts: RunFacts) -> tuple[list[Story], int]:
    """The stories of lost and diverged records, and how many more there would be."""
    told = [*_lost(facts), *_diverged(facts)]
    return told[:MAX_STORIES], max(0, len(told) - MAX_STORIES)


# Lost records


def _lost(facts: RunFacts) -> Iterator[Story]:
    for finding in facts.found("lost-write"):
        topic, partition = str(finding.get("topic")), int(finding.get("partition") or 0)
        for rows in groups(finding.get("evidence") or ()):
            yield _lost_story(facts, topic, partition, rows)


def groups(evidence: Iterable[Row]) -> list[list[Row]]:
    """Evidence rows of records at neighbouring offsets by one process with one acks setting, which share a fate."""
    rows = sorted(
        evidence, key=lambda row: (row.get("offset") is None, row.get("offset") or 0, row.get("sequence") or 0)
    )
    result: list[list[Row]] = []
    for row in rows:
        last = result[-1][-1] if result else None
        neighbours = (
            last is not None
            and None not in (last.get("offset"), row.get("offset"))
            and row["offset"] == last["offset"] + 1
            and all(row.get(name) == last.get(name) for name in ("process", "producer", "acks"))
            and _holders(row) == _holders(last)
        )
        if neighbours:
            result[-1].append(row)
        else:
            result.append([row])
    return result


def _holders(row: Row) -> dict[str, dict[str, bool]]:
    return {moment: {n: offset is not None for n, offset in held.items()} for moment, held in _replicas(row).items()}


def _replicas(row: Row) -> Mapping[str, Mapping[str, int | None]]:
    replicas = row.get("replicas")
    return (
        {m: held for m, held in replicas.items() if isinstance(held, Mapping)} if isinstance(replicas, Mapping) else {}
    )


def _lost_story(facts: RunFacts, topic: str, partition: int, rows: Sequence[Row]) -> Story:
    first, last = rows[0], rows[-1]
    name = _names(facts, rows)
    where = f"{topic}-{partition}"
    low, high = first.get("offset"), last.get("offset")
    acks = acks_text(first.get("acks"))
    invoked_ns, completed_ns = first.get("invoked_ns"), last.get("completed_ns")
    process = str(first.get("process") or "a producer")
    at = "" if low is None else f" at offset {low}" if low == high else f" at offsets {low} to {high}"

    steps = [
        StoryStep(
            at_ns=invoked_ns,
            kind="send",
            actor=process,
            text=f"{process} sends {name} to {where} with acks={acks}.",
            source="client history",
        )
    ]
    if completed_ns is not None and first.get("outcome", "ok") == "ok":
        state = facts.state_at(topic, partition, completed_ns)
        by = f" by broker-{state.leader}, leader in epoch {state.leader_epoch}, ISR {ids(state.isr)}" if state else ""
        steps.append(
            StoryStep(
                at_ns=completed_ns,
                kind="ack",
                actor=process,
                text=f"{name} {_is(rows)} acknowledged{at}{by}.",
                source="client history",
            )
        )
    steps += _disks(facts, name, where, rows)
    since_ns = int(invoked_ns or 0)
    steps += _faults(facts, topic, partition, since_ns)
    steps += _elections(facts, topic, partition, since_ns)
    steps += _registrations(facts, topic, partition, since_ns)
    if low is not None and high is not None:
        steps += _truncations(facts, topic, partition, since_ns, low, high, name, rows)
        steps += _replacements(facts, topic, partition, since_ns, low, high, name, rows)
    steps += _reads(facts, name, rows)
    return Story(
        anomaly="lost-write",
        title=f"{name}, acknowledged with acks={acks}{at} of {where}, {_is(rows)} gone",
        topic=topic,
        partition=partition,
        first_offset=low,
        last_offset=high,
        count=len(rows),
        steps=in_order(steps),
    )


def _is(rows: Sequence[Row]) -> str:
    return "is" if len(rows) == 1 else "are"


def _names(facts: RunFacts, rows: Sequence[Row]) -> str:
    first = facts.record_name(rows[0].get("producer"), rows[0].get("sequence"))
    if len(rows) == 1:
        return first
    return f"m{rows[0].get('sequence')} to {facts.record_name(rows[-1].get('producer'), rows[-1].get('sequence'))}"


def in_order(steps: Iterable[StoryStep]) -> tuple[StoryStep, ...]:
    """Steps by time; those without one last, in the order given."""
    return tuple(sorted(steps, key=lambda step: (step.at_ns is None, step.at_ns or 0)))


def _disks(facts: RunFacts, name: str, where: str, rows: Sequence[Row]) -> Iterator[StoryStep]:
    moments = {moment.name: moment for moment in facts.moments}
    for moment_name, held in sorted(_replicas(rows[0]).items()):
        moment = moments.get(moment_name)
        holders = [node for node, offset in held.items() if offset is not None]
        others = [node for node, offset in held.items() if offset is None]
        ends = _ends(moment.nodes if moment else {}, where, held)
        label = moment.label if moment else moment_name
        if holders:
            text = f"{name} {_is(rows)} on the disk of {join(holders)}" + (f", not of {join(others)}" if others else "")
        else:
            text = f"{name} {_is(rows)} on no replica's disk ({join(others)} were looked at)"
        yield StoryStep(
            at_ns=moment.at_ns if moment else None,
            kind="disk",
            actor="replicas",
            text=f"{text}{ends}.",
            source=f"copies of the replicas' files, moment “{label}”",
        )


def _ends(nodes: Mapping[str, Mapping[str, Mapping[str, int]]], where: str, of: Iterable[str]) -> str:
    parts = []
    for node in of:
        seen = (nodes.get(node) or {}).get(where) or {}
        if "leo" in seen:
            parts.append(f"{node} LEO {seen['leo']}" + (f" HW {seen['hw']}" if seen.get("hw") is not None else ""))
    return f": {', '.join(parts)}" if parts else ""


def proof_text(fault: FaultFact) -> str:
    """A fault's proof in a few words."""
    proof = fault.proof
    if fault.unproved:
        return f"not proved: {proof.get('seen', 'no proof')}"
    if fault.proved_ns is None:
        return "never verified"
    if fault.kind == "cut":
        dropped = proof.get("packets_dropped")
        total = sum(dropped.values()) if isinstance(dropped, Mapping) else dropped
        return f"proved: the kernel dropped {total} packets" if total is not None else "proved"
    if fault.kind == "freeze" and "cpu_ticks" in proof:
        return (
            f"proved: its CPU clock stood still at {proof['cpu_ticks'][0]} ticks for {proof.get('watched_ms', '?')} ms"
        )
    if "exit_code" in proof:
        return f"proved: exit code {proof['exit_code']}, Docker's event “{proof.get('event', 'die')}”"
    if "pid" in proof:
        return f"proved: running as process {proof['pid']}, Docker's event “{proof.get('event', 'start')}”"
    return "proved: " + ", ".join(f"{key} {value}" for key, value in proof.items()) if proof else "proved"


def _faults(facts: RunFacts, topic: str, partition: int, since_ns: int) -> Iterator[StoryStep]:
    replicas = {f"broker-{b}" for b in facts.assignment.get((topic, partition), ())}
    for fault in facts.faults:
        nodes = {node.strip() for node in fault.node.split(",")}
        if fault.inject_ns < since_ns or not (nodes & replicas):
            continue
        # Whoever is started again was chosen for a role it no longer has.
        role = (
            f" ({fault.role})"
            if fault.role and fault.kind != "start" and not fault.role.startswith("replica of")
            else ""
        )
        yield StoryStep(
            at_ns=fault.inject_ns,
            kind="fault" if fault.kind != "start" else "start",
            actor=fault.node,
            text=f"{fault.description[:1].upper()}{fault.description[1:]}{role}; {proof_text(fault)}.",
            source="harness and Docker",
        )


def election_text(
    facts: RunFacts, where: str, before: PartitionInterval, after: PartitionInterval, last_isr: tuple[int, ...]
) -> str:
    """What a change of leader was: clean or unclean, of the living or the dead.

    `last_isr` is the last ISR that was not empty: old controllers empty it when its last member dies.
    """
    if after.leader < 0:
        return f"{where} has no leader: of the ISR {ids(last_isr)} nobody is alive."
    if after.leader == before.leader:
        return f"broker-{after.leader} stays leader of {where}, in epoch {after.leader_epoch}, ISR {ids(after.isr)}."
    if after.leader in last_isr:
        kind = "a clean election, from the ISR"
    elif after.leader in (before.elr or ()):
        kind = "from the eligible leader replicas beside the ISR"
    else:
        kind = "an unclean election, it was not in the ISR"
    text = f"broker-{after.leader} is elected leader of {where} in epoch {after.leader_epoch}: {kind} {ids(last_isr)}"
    node = f"broker-{after.leader}"
    if facts.process_at(node, after.begin_ns) == DOWN:
        died = [i.begin_ns for i in facts.processes.get(node, ()) if i.value == DOWN and i.begin_ns <= after.begin_ns]
        if died:
            known = ", but is still registered" if facts.registered_at(node, after.begin_ns) else ""
            text += f" — although it has been dead for {(after.begin_ns - died[-1]) / 1e9:.1f} s{known}"
    return text + "."


def _elections(facts: RunFacts, topic: str, partition: int, since_ns: int) -> Iterator[StoryStep]:
    states = facts.partitions.get((topic, partition), ())
    where = f"{topic}-{partition}"
    witness = witness_of_metadata(facts)
    last_isr: tuple[int, ...] = ()
    for before, after in itertools.pairwise(states):
        last_isr = before.isr or last_isr
        if after.begin_ns < since_ns:
            continue
        election = (after.leader, after.leader_epoch) != (before.leader, before.leader_epoch)
        if election and after.leader == before.leader and after.isr != before.isr and facts.run.get("mode") == "kraft":
            election = False  # KRaft raises the leader epoch when an ISR shrinks (until 3.6), without any election
        if election:
            text, kind = election_text(facts, where, before, after, last_isr), "election"
        else:
            joined, left = [b for b in after.isr if b not in before.isr], [b for b in before.isr if b not in after.isr]
            changes = [f"broker-{b} joins" for b in joined] + [f"broker-{b} leaves" for b in left]
            if not changes:
                continue
            text, kind = f"{join(changes)} the ISR of {where}: now {ids(after.isr)}.", "isr"
        yield StoryStep(
            at_ns=after.begin_ns, kind=kind, actor="controller" if election else "leader", text=text, source=witness
        )


def witness_of_metadata(facts: RunFacts) -> str:
    """Where the cluster's statements come from."""
    return "the metadata log" if facts.run.get("mode") == "kraft" else "ZooKeeper"


def _registrations(facts: RunFacts, topic: str, partition: int, since_ns: int) -> Iterator[StoryStep]:
    for broker in facts.assignment.get((topic, partition), ()):
        node = f"broker-{broker}"
        for interval in facts.registrations.get(node, ()):
            if interval.begin_ns < since_ns or interval.value == "registered":
                continue
            died = [
                i.begin_ns for i in facts.processes.get(node, ()) if i.value == DOWN and i.begin_ns <= interval.begin_ns
            ]
            after = f", {(interval.begin_ns - died[-1]) / 1e9:.1f} s after its death" if died else ""
            what = "is fenced" if interval.value == "fenced" else "is no longer registered"
            yield StoryStep(
                at_ns=interval.begin_ns,
                kind="gone",
                actor=node,
                text=f"{node} {what}{after}: only now does the cluster know.",
                source=witness_of_metadata(facts),
            )


def merged_truncations(
    facts: RunFacts, topic: str, partition: int, since_ns: int
) -> list[tuple[LogLine, tuple[str, ...]]]:
    """Each truncation of a partition with all lines its broker logged about it."""
    acts: list[tuple[LogLine, list[str]]] = []
    for line in facts.log:
        if line.event != "truncate" or (line.topic, line.partition) != (topic, partition) or line.at_ns < since_ns:
            continue
        same = next(
            (
                a
                for a in acts
                if (a[0].node, a[0].offset) == (line.node, line.offset) and line.at_ns - a[0].at_ns < SAME_ACT_NS
            ),
            None,
        )
        if same:
            same[1].append(line.line)
        else:
            acts.append((line, [line.line]))
    return [(line, tuple(quotes)) for line, quotes in acts]


def _truncations(
    facts: RunFacts, topic: str, partition: int, since_ns: int, low: int, high: int, name: str, rows: Sequence[Row]
) -> Iterator[StoryStep]:
    where = f"{topic}-{partition}"
    acts = merged_truncations(facts, topic, partition, since_ns)
    for line, quotes in acts:
        if line.offset is None or line.offset > high:
            continue
        held = _held_before(facts, rows[-1], line, [earlier for earlier, _ in acts if earlier.offset is not None])
        effect = ""
        if held:
            effect = (
                f", and {name} with it" if line.offset <= low else f", and with it {name} from offset {line.offset} on"
            )
        yield StoryStep(
            at_ns=line.at_ns,
            kind="truncate",
            actor=line.node,
            text=f"{line.node} truncates {where} to offset {line.offset}{effect}.",
            source=f"log of {line.node}",
            quotes=quotes,
        )


def _held_before(facts: RunFacts, row: Row, line: LogLine, truncations: Iterable[LogLine]) -> bool:
    """Whether the last copy of this replica taken before the line holds the record, and nothing cut it in between."""
    times = {moment.name: moment.at_ns for moment in facts.moments}
    copies = [
        (times[moment], held[line.node])
        for moment, held in _replicas(row).items()
        if moment in times and times[moment] <= line.at_ns and line.node in held
    ]
    if not copies:
        return False
    copied_ns, offset = max(copies, key=lambda copy: copy[0])
    cut = any(
        other.node == line.node and copied_ns < other.at_ns < line.at_ns and (other.offset or 0) <= int(row["offset"])
        for other in truncations
    )
    return offset is not None and not cut


def _replacements(
    facts: RunFacts, topic: str, partition: int, since_ns: int, low: int, high: int, name: str, rows: Sequence[Row]
) -> Iterator[StoryStep]:
    lost = {(row.get("producer"), row.get("sequence")) for row in rows}
    for send in facts.sends:
        elsewhere = (send.topic, send.partition) != (topic, partition) or (send.producer, send.sequence) in lost
        if elsewhere or send.offset is None or not low <= send.offset <= high or send.sent_ns < since_ns:
            continue
        record, former = facts.record_name(send.producer, send.sequence), name if low == high else "a lost record"
        yield StoryStep(
            at_ns=send.done_ns,
            kind="replaced",
            actor=send.process,
            text=f"{record} is acknowledged at offset {send.offset}, where {former} was.",
            source="client history",
        )


def _reads(facts: RunFacts, name: str, rows: Sequence[Row]) -> Iterator[StoryStep]:
    furthest = rows[0].get("furthest_read")
    reader = next((str(p.get("name")) for p in facts.run.get("processes") or () if p.get("final")), None)
    if isinstance(furthest, Mapping):
        reader, furthest = str(furthest.get("process") or reader), furthest.get("offset")
    if furthest is None:
        return
    ended = [step.end_ns for step in facts.steps if step.name == "final read" and step.end_ns]
    yield StoryStep(
        at_ns=ended[-1] if ended else None,
        kind="read",
        actor=reader or "consumer",
        text=f"{reader or 'A consumer'} has read up to offset {furthest}, and no poll returned {name}.",
        source="client history",
    )


# Runs without a lost or diverged record


def course(facts: RunFacts, topic: str, partition: int) -> Story:
    """What happened to a partition, for runs that lost nothing: sends, copies, faults, elections, truncations."""
    where = f"{topic}-{partition}"
    steps: list[StoryStep] = []
    sends = [send for send in facts.sends if (send.topic, send.partition) == (topic, partition)]
    for send in sends[:MAX_SENDS]:
        name = facts.record_name(send.producer, send.sequence)
        ends = {"acked": f"is acknowledged at offset {send.offset}", "failed": f"is refused: {send.error}"}
        ends["unknown"] = f"may or may not have been written: {send.error}"
        steps.append(
            StoryStep(
                at_ns=send.done_ns or send.sent_ns,
                kind="ack" if send.outcome == "acked" else "send",
                actor=send.process,
                text=f"{name}, sent with acks={send.acks}, {ends.get(send.outcome, 'gets no answer')}.",
                source="client history",
            )
        )
    for moment in facts.moments:
        ends_text = _ends(moment.nodes, where, moment.nodes)
        if ends_text:
            steps.append(
                StoryStep(
                    at_ns=moment.at_ns,
                    kind="disk",
                    actor="replicas",
                    text=f"On disk{ends_text}.",
                    source=f"copies of the replicas' files, moment “{moment.label}”",
                )
            )
    # Before the first record a truncation is a new follower's, of an empty log.
    begin_ns = min((send.sent_ns for send in sends), default=facts.begin_ns)
    steps += _faults(facts, topic, partition, begin_ns)
    steps += _elections(facts, topic, partition, begin_ns)
    steps += _registrations(facts, topic, partition, begin_ns)
    for line, quotes in merged_truncations(
        facts, topic, partition, min((s.done_ns or 0 for s in sends), default=begin_ns)
    ):
        steps.append(
            StoryStep(
                at_ns=line.at_ns,
                kind="kept",
                actor=line.node,
                text=f"{line.node} truncates {where} to offset {line.offset}.",
                source=f"log of {line.node}",
                quotes=quotes,
            )
        )
    return Story(
        anomaly="",
        title=f"What happened to {where}",
        topic=topic,
        partition=partition,
        first_offset=None,
        last_offset=None,
        count=0,
        steps=in_order(steps),
    )


# Diverged records


def _diverged(facts: RunFacts) -> Iterator[Story]:
    for finding in facts.found("replica-divergence"):
        topic, partition = str(finding.get("topic")), int(finding.get("partition") or 0)
        by_offset: dict[int, Row] = {}
        for row in sorted(finding.get("evidence") or (), key=lambda row: str(row.get("moment"))):
            if row.get("offset") is not None:
                by_offset[int(row["offset"])] = row
        for offset, row in sorted(by_offset.items()):
            yield _divergence_story(facts, topic, partition, offset, row)


def _divergence_story(facts: RunFacts, topic: str, partition: int, offset: int, row: Row) -> Story:
    where = f"{topic}-{partition}"
    held: dict[str, Row | None] = {
        f"broker-{b}" if str(b).isdigit() else str(b): r for b, r in (row.get("brokers") or {}).items()
    }
    steps: list[StoryStep] = []
    earliest: list[int] = []
    for key in dict.fromkeys((r.get("producer"), r.get("sequence")) for r in held.values() if r):
        send = facts.send_of(topic, partition, *key)
        if send is None:
            continue
        earliest.append(send.sent_ns)
        name = facts.record_name(*key)
        steps.append(
            StoryStep(
                at_ns=send.sent_ns,
                kind="send",
                actor=send.process,
                text=f"{send.process} sends {name} to {where} with acks={send.acks}.",
                source="client history",
            )
        )
        if send.done_ns is not None and send.offset is not None:
            state = facts.state_at(topic, partition, send.done_ns)
            by = (
                f" by broker-{state.leader}, leader in epoch {state.leader_epoch}, ISR {ids(state.isr)}"
                if state
                else ""
            )
            steps.append(
                StoryStep(
                    at_ns=send.done_ns,
                    kind="ack",
                    actor=send.process,
                    text=f"{name} is acknowledged at offset {send.offset}{by}.",
                    source="client history",
                )
            )
    since_ns = min(earliest, default=facts.begin_ns)
    steps += _faults(facts, topic, partition, since_ns)
    steps += _elections(facts, topic, partition, since_ns)
    steps += _registrations(facts, topic, partition, since_ns)
    for line, quotes in merged_truncations(facts, topic, partition, since_ns):
        if line.offset is None:
            continue
        kept = line.offset > offset
        effect = (
            f" and so keeps what it has at offset {offset}" if kept else f": what it had at offset {offset} is gone"
        )
        steps.append(
            StoryStep(
                at_ns=line.at_ns,
                kind="kept" if kept else "truncate",
                actor=line.node,
                text=f"{line.node} truncates {where} to offset {line.offset}{effect}.",
                source=f"log of {line.node}",
                quotes=quotes,
            )
        )
    moment = next((m for m in facts.moments if m.name == row.get("moment")), None)
    contents = join([f"{node} holds {_content(facts, record)}" for node, record in held.items()])
    steps.append(
        StoryStep(
            at_ns=moment.at_ns if moment else None,
            kind="disk",
            actor="replicas",
            text=f"At offset {offset} {contents}; in-sync replicas: {ids(row.get('isr') or ())}.",
            source=f"copies of the replicas' files, moment “{moment.label if moment else row.get('moment')}”",
        )
    )
    nodes = join(list(held))
    return Story(
        anomaly="replica-divergence",
        title=f"{nodes} are in sync and hold different records at offset {offset} of {where}",
        topic=topic,
        partition=partition,
        first_offset=offset,
        last_offset=offset,
        count=1,
        steps=in_order(steps),
    )


def _content(facts: RunFacts, record: Row | None) -> str:
    if not record:
        return "no record"
    name = facts.record_name(record.get("producer"), record.get("sequence"))
    epoch = record.get("leader_epoch")
    return name + (f" of epoch {epoch}" if epoch not in (None, -1) else "")


# The sentence at the top


def names_of_lost(facts: RunFacts) -> list[tuple[str, str, int | None, str, int]]:
    """(name, topic-partition, offset, acks, count) of each group of lost records."""
    result = []
    for finding in facts.found("lost-write"):
        where = f"{finding.get('topic')}-{finding.get('partition')}"
        for rows in groups(finding.get("evidence") or ()):
            result.append(
                (_names(facts, rows), where, rows[0].get("offset"), acks_text(rows[0].get("acks")), len(rows))
            )
    return result


def _what_was_seen(facts: RunFacts) -> str:
    lost, parts = names_of_lost(facts), []
    total = sum(int(f.get("count") or 0) for f in facts.found("lost-write"))
    if total == 1 and lost:
        name, where, offset, acks, _ = lost[0]
        at = f" at offset {offset} of {where}" if offset is not None else f" on {where}"
        parts.append(f"{name}, acknowledged with acks={acks}{at}, is gone")
    elif total:
        parts.append(f"{total:,} acknowledged records are gone".replace(",", " "))
    for finding in facts.found("replica-divergence"):
        rows = finding.get("evidence") or ()
        offsets = sorted({int(row["offset"]) for row in rows if row.get("offset") is not None})
        brokers = sorted(
            {f"broker-{b}" if str(b).isdigit() else str(b) for row in rows for b in row.get("brokers") or {}}
        )
        where = f"{finding.get('topic')}-{finding.get('partition')}"
        if len(offsets) == 1:
            parts.append(f"{join(brokers)} hold different records at offset {offsets[0]} of {where}")
        else:
            parts.append(
                f"{join(brokers) or 'replicas'} hold different records at {finding.get('count')} offsets of {where}"
            )
    every = (facts.findings or {}).get("findings") or ()
    for finding in every:
        name = finding.get("anomaly")
        told = name in ("lost-write", "replica-divergence") or consequence(finding, every, facts.verdict.seen)
        if not told and not any(p.startswith(f"{name}: ") for p in facts.verdict.permitted):
            parts.append(named_summary(finding))
    return "; ".join(parts)


def headline(facts: RunFacts) -> str:
    """What the run showed, in one or two plain sentences."""
    verdict, documented = facts.verdict, facts.run.get("documented") or {}
    source, version = documented.get("source") or "the scenario", facts.run.get("version")
    seen = _what_was_seen(facts)
    if verdict.verdict == "as-documented":
        return f"{_capital(seen)}, {_as_documented(facts)}." if seen else _all_is_well(facts)
    if verdict.verdict == "unexpected":
        return f"{_capital(seen)}. Nothing documents {join(verdict.unexpected)} for {version}."
    if verdict.verdict == "not-reproduced":
        also = f" {_capital(seen)}." if seen else ""
        return f"{_capital(join(verdict.missing))} is documented for {version} ({source}) and was not seen.{also}"
    if verdict.verdict == "error":
        return (
            f"The harness failed, so nothing is known about Kafka: {facts.run.get('failure') or join(verdict.reasons)}"
        )
    seen_anyway = f" What was seen: {seen}." if seen else ""
    reason = verdict.reasons[0] if verdict.reasons else "no reason recorded"
    return f"Nothing is shown: {reason.rstrip('.')}.{seen_anyway}"


def _as_documented(facts: RunFacts) -> str:
    """Who documents it; sources that are no KIP or ticket are too long to be the subject of the sentence."""
    source = str((facts.run.get("documented") or {}).get("source") or "")
    parts, version = [part.strip() for part in source.split(",")], facts.run.get("version")
    if all(re.fullmatch(r"(KIP|KAFKA)-\d+", part) for part in parts):
        return f"as {join(parts)} document{'s' if len(parts) == 1 else ''} for {version}"
    return f"as documented for {version}" + (f" ({source})" if source else "")


def _all_is_well(facts: RunFacts) -> str:
    findings = facts.findings or {}
    statistics = findings.get("statistics") or {}
    acknowledged = statistics.get("sends_ok")
    checks = {check.get("name"): check.get("status") for check in findings.get("checks") or ()}
    records = (
        f"all {acknowledged:,} acknowledged records".replace(",", " ")
        if isinstance(acknowledged, int)
        else "every acknowledged record"
    )
    parts = [
        f"{_capital(records)} were read back" if isinstance(acknowledged, int) else f"{_capital(records)} was read back"
    ]
    if checks.get("replica-divergence") == "ok":
        parts.append("the replicas agree")
    permitted = (
        f" Permitted by the clients' settings: {join([p.partition(':')[0] for p in facts.verdict.permitted])}."
        if facts.verdict.permitted
        else ""
    )
    return f"{' and '.join(parts)}, {_as_documented(facts)}.{permitted}"


def _capital(text: str) -> str:
    # "m3" and "broker-1" are names and stay as they are.
    keeps = (text[:1] == "m" and text[1:2].isdigit()) or text.startswith("broker-")
    return text if keeps else text[:1].upper() + text[1:]


def broker_ids(nodes: Iterable[str]) -> list[int]:
    """The ids of nodes that have one."""
    return [number for number in map(broker_id, nodes) if number is not None]
