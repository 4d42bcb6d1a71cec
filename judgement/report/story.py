"""The stories of a run: of the records that its findings name, or of a record that a user asks about.

The HTML report, the terminal, `kafka-chaos explain`, JUnit and CI's summary all render the same `Story` values. A story
is the `Life` of a record (judgement/report/lives.py) with the findings about it. For runs whose findings name no
record, `partition_story` tells what happened to a partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from evidence.events import Ends, Log
from evidence.findings import Finding
from evidence.records import RecordId, TopicPartition
from evidence.run_state import Sent
from judgement.report.facts import JudgedRun
from judgement.report.lives import Life, RecordGroup, grouped, record_name
from judgement.report.steps import (
    StoryStep,
    brokers_in,
    client_step,
    deletion_steps,
    disk_step,
    end_steps,
    fault_steps,
    group_steps,
    in_order,
    join,
    log_steps,
    metadata_steps,
    named,
    state_text,
)
from judgement.report.witnesses import RecordSources

MAX_STORIES: Final = 20
MAX_SENDS: Final = 40
TOLD_ALONE: Final = 9
"""More records than these that were acknowledged one after the other are told in one sentence."""
FIRST: Final = ("lost-write", "replica-divergence")
"""Findings whose records are told first; the others follow in the order found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What became of one record, or of neighbours to which the same happened."""

    title: str
    topic: str
    partition: int
    offsets: tuple[int, ...]
    records: tuple[RecordId, ...]
    others: tuple[RecordId, ...]
    """Records that were given the same offsets."""
    findings: tuple[tuple[str, str], ...]
    """What was found about any of them: the anomaly's name, and a sentence."""
    setting: str
    """What the cluster stated of the partition when it began."""
    steps: tuple[StoryStep, ...]

    @property
    def about(self) -> str:
        """The records by the names that `kafka-chaos explain --record` takes; "" if it is about none."""
        if not self.records:
            return ""
        own = str(self.records[0]) if len(self.records) == 1 else f"{self.records[0]} to {self.records[-1]}"
        also = f"; at the same place {join([str(one) for one in self.others[:4]])}" if self.others else ""
        return f"{'record' if len(self.records) == 1 else 'records'} {own}{also}"


def findings_of(facts: JudgedRun, anomaly: str | None = None) -> list[Finding]:
    """The findings, of one anomaly or all, in the order in which their stories are told."""
    every = [finding for finding in facts.everything_found if anomaly in (None, finding.anomaly)]
    rank = {name: number for number, name in enumerate(FIRST)}
    return sorted(every, key=lambda finding: rank.get(finding.anomaly, len(FIRST)))


def stories(
    facts: JudgedRun, *, anomaly: str | None = None, limit: int = MAX_STORIES, witnesses: RecordSources | None = None
) -> tuple[list[Story], int]:
    """The stories of the records that findings name, each told once, and how many more there would be."""
    witnesses = witnesses or RecordSources(facts)
    told: list[Story] = []
    heard: set[RecordId] = set()
    more = 0
    for finding in findings_of(facts, anomaly):
        for group in grouped(witnesses, [one for one in finding.records if one not in heard]):
            # A record that took the offset of a lost one is told in the lost one's story.
            if heard.issuperset(group.records):
                continue
            if len(told) == limit:
                more += 1
                continue
            life = Life(facts=facts, witnesses=witnesses, group=group)
            told.append(_story(life))
            lost = finding.anomaly == "lost-write"
            heard.update(group.records if lost else life.as_ids())
        heard.update(one for story in told for one in story.others)
    return told, more


@dataclass(frozen=True, slots=True)
class RunStories:
    """The stories of a run's findings, how many more there would be, and which files were missing for them."""

    stories: list[Story]
    more: int
    missing: tuple[str, ...]


def run_stories(facts: JudgedRun) -> RunStories:
    """The stories of all findings of a run: told once, however many reports show them."""
    return facts.once(_run_stories)


def _run_stories(facts: JudgedRun) -> RunStories:
    witnesses = RecordSources(facts)
    found, more = stories(facts, witnesses=witnesses)
    return RunStories(found, more, tuple(witnesses.missing))


def stories_of(facts: JudgedRun, records: Sequence[RecordId], witnesses: RecordSources) -> list[Story]:
    """The stories of these records, the lost ones first; one of them is not told again if it is in another's."""
    lost = {one for finding in facts.found("lost-write") for one in finding.records}
    told: list[Story] = []
    for one in sorted(records, key=lambda one: (one not in lost, one)):
        if any(one in story.others for story in told):
            continue
        (group,) = grouped(witnesses, [one])
        told.append(_story(Life(facts=facts, witnesses=witnesses, group=group)))
    return told


def _story(life: Life) -> Story:
    group: RecordGroup = life.group
    ids = life.as_ids()
    state = state_text(life.facts, life.where, life.since_ns)
    return Story(
        title=life.title(),
        topic=life.where[0],
        partition=life.where[1],
        offsets=group.offsets,
        records=group.records,
        others=ids[len(group.records) :],
        findings=tuple(_findings(life, ids)),
        setting=f"{named(life.where)} when it was sent: {state}." if state and group.sends else "",
        steps=life.steps(),
    )


def _findings(life: Life, ids: Iterable[RecordId]) -> Iterator[tuple[str, str]]:
    """What was found about these records, a sentence each."""
    mine = set(ids)
    for finding in findings_of(life.facts):
        named_here = mine.intersection(finding.records)
        if named_here:
            yield finding.anomaly, _sentence(life, finding, sorted(named_here))


def _sentence(life: Life, finding: Finding, records: Sequence[RecordId]) -> str:
    more = finding.count > len(records)
    among = f" ({len(records)} of {finding.count} found in {named(life.where)})" if more else ""
    names = [record_name(life.facts, group.records) for group in (life.group, *life.others)]
    match finding.anomaly:
        case "lost-write":
            return (
                f"acknowledged, and no poll returned it{among}"
                if len(records) == 1
                else f"{len(records)} records acknowledged, and no poll returned them{among}"
            )
        case "unreplicated-acknowledgement":
            return f"acknowledged with acks=all, and not on every replica that stayed in sync{among}"
        case "log-truncated-below-high-watermark":
            nodes = sorted({row.node for row in finding.evidence if row.node})
            return f"cut off from the log of {join(nodes)}, below what the high watermark had reached"
        case "inconsistent-offsets":
            return f"one place in the log was given to several records: {join(names)}{life.group.at}"
        case "replica-divergence":
            rows = [row for row in finding.evidence if row.offset in life.group.offsets]
            return f"{join(brokers_in(rows))} are in sync and hold different records{life.group.at}"
    return finding.named_summary.removeprefix(f"{finding.anomaly}: ")


# Runs without a record to tell of


def partition_story(facts: JudgedRun, where: TopicPartition) -> Story:
    """What happened to a partition, for runs that lost nothing: sends, copies, faults, elections, truncations."""
    steps: list[StoryStep] = []
    sends = [send for send in facts.sends if (send.topic, send.partition) == where]
    alone = [send for run in _in_a_row(sends) for send in (run if len(run) <= TOLD_ALONE else ())]
    for run in _in_a_row(sends):
        if len(run) > TOLD_ALONE:
            first, last = (facts.record_name(send.producer, send.sequence) for send in (run[0], run[-1]))
            text = f"{first} to {last}, sent with acks={run[0].acks}, are acknowledged at offsets {run[0].offset} to "
            steps.append(client_step(run[-1].done_ns, "ack", run[-1].process, f"{text}{run[-1].offset}."))
    for send in alone[:MAX_SENDS]:
        name = facts.record_name(send.producer, send.sequence)
        ends = {"acked": f"is acknowledged at offset {send.offset}", "failed": f"is refused: {send.error}"}
        ends["unknown"] = f"may or may not have been written: {send.error}"
        kind = "ack" if send.outcome == "acked" else "send"
        text = f"{name}, sent with acks={send.acks}, {ends.get(send.outcome, 'gets no answer')}."
        steps.append(client_step(send.done_ns or send.sent_ns, kind, send.process, text))
    for moment in facts.moments:
        ends_text = _ends(moment.nodes, named(where))
        if ends_text:
            steps.append(disk_step(moment.at_ns, f"On disk: {ends_text}.", moment.label))
    steps += [*deletion_steps(facts, where), *group_steps(facts, where), *end_steps(facts, where)]
    # Before the first record a truncation is a new follower's, of an empty log.
    begin_ns = min((send.sent_ns for send in sends), default=facts.begin_ns)
    steps += fault_steps(facts, where, begin_ns)
    steps += metadata_steps(facts, where, begin_ns)
    steps += log_steps(facts, where, min((s.done_ns or 0 for s in sends), default=begin_ns), _plainly)
    return Story(
        title=f"What happened to {named(where)}",
        topic=where[0],
        partition=where[1],
        offsets=(),
        records=(),
        others=(),
        findings=(),
        setting="",
        steps=in_order(steps),
    )


def _in_a_row(sends: Iterable[Sent]) -> list[list[Sent]]:
    """Records as they were sent: together those of one client that were acknowledged at one offset after the other."""
    found: list[list[Sent]] = []
    for send in sends:
        last = found[-1][-1] if found else None
        follows = (
            last is not None
            and (last.process, last.acks, last.outcome, "acked") == (send.process, send.acks, "acked", send.outcome)
            and last.offset is not None
            and send.offset == last.offset + 1
        )
        if follows:
            found[-1].append(send)
        else:
            found.append([send])
    return found


def _plainly(line: Log) -> tuple[str, str]:
    return "kept", ""


def _ends(nodes: Mapping[str, Mapping[str, Ends]], where: str) -> str:
    """How far each replica goes."""
    parts = []
    for node, partitions in nodes.items():
        seen = partitions.get(where, Ends())
        if seen.leo is not None:
            parts.append(f"{node} LEO {seen.leo}" + (f" HW {seen.hw}" if seen.hw is not None else ""))
    return ", ".join(parts)
