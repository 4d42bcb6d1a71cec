"""What happened to one record, from every witness: who sent it, which disks held it, which faults hit its partition,
who read it.

    sent by whom with which acks → acknowledged at which offset by which leader → on whose disks at each moment
      → who was struck → who was elected, from which ISR, dead or alive → who truncated it, with the broker's own line
      → what took its offset → who read it, or read past it without it

A `Life` tells of a record and of every other record that was acknowledged, read or found on a disk at the same offset
(`others`). Neighbours in sequence and offset with the same history are told together, as one `RecordGroup`. A step that
no witness states is left out, never guessed: a truncation is said to have removed a record only if an earlier copy of
that replica holds the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from evidence.events import Log
from evidence.records import RecordId, TopicPartition
from evidence.run_state import Sent
from judgement.report.facts import JudgedRun
from judgement.report.steps import (
    StoryStep,
    client_step,
    disk_step,
    fault_steps,
    ids,
    in_order,
    join,
    log_steps,
    metadata_steps,
    named,
    truncations,
)
from judgement.report.witnesses import Content, DiskState, Holding, Read, ReadPast, RecordSources

MAX_READERS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordGroup:
    """A record, or neighbours of one producer to which the same happened, in the order of their sequences."""

    records: tuple[RecordId, ...]
    sends: tuple[Sent, ...]
    """One for each record, or none if nobody is known to have sent them."""
    offsets: tuple[int, ...]
    """Every offset at which a witness places one of them."""

    @property
    def first(self) -> Sent | None:
        return self.sends[0] if self.sends else None

    @property
    def last(self) -> Sent | None:
        return self.sends[-1] if self.sends else None

    @property
    def many(self) -> bool:
        return len(self.records) > 1

    def verb(self, one: str, several: str) -> str:
        """The form of a verb that goes with it."""
        return several if self.many else one

    @property
    def at(self) -> str:
        """Such as " at offset 3" or " at offsets 3 to 7"; "" if nobody knows."""
        return at_offsets(self.offsets)


def at_offsets(offsets: Sequence[int]) -> str:
    """Offsets behind a verb.

    >>> at_offsets([3]), at_offsets([3, 4, 5]), at_offsets([3, 9]), at_offsets([])
    (' at offset 3', ' at offsets 3 to 5', ' at offsets 3 and 9', '')
    """
    if not offsets:
        return ""
    if len(offsets) == 1:
        return f" at offset {offsets[0]}"
    if offsets[-1] - offsets[0] == len(offsets) - 1:
        return f" at offsets {offsets[0]} to {offsets[-1]}"
    return f" at offsets {join([str(offset) for offset in offsets])}"


def record_name(facts: JudgedRun, records: Sequence[RecordId]) -> str:
    """The name of neighbours in a sentence: m3, or m3 to m7, with the producer where a run has several."""
    last = facts.record_name(records[-1].producer, records[-1].sequence)
    return last if len(records) == 1 or not records[0].is_ours else f"m{records[0].sequence} to {last}"


def grouped(witnesses: RecordSources, records: Iterable[RecordId]) -> list[RecordGroup]:
    """The records in groups: neighbours in sequence and offset with the same sends, readers and holders are one."""
    every = sorted(dict.fromkeys(records))
    sends, offsets = witnesses.sends(every), witnesses.offsets(every)
    readers: dict[RecordId, set[str]] = {one: set() for one in every}
    for where in {one.where for one in every}:
        for read in witnesses.history(where).reads([one for one in every if one.where == where]):
            readers[read.record].add(read.process)

    def fate(one: RecordId) -> tuple[object, ...]:
        how = [(send.process, send.acks, send.outcome, send.error) for send in sends[one]]
        return how, readers[one], _holders(witnesses, one, sorted(offsets[one]))

    fates = {one: fate(one) for one in every} if len(every) > 1 else {}
    groups: list[list[RecordId]] = []
    for one in every:
        before = groups[-1][-1] if groups else None
        neighbours = (
            before is not None
            and (before.where, before.producer, before.sequence + 1) == (one.where, one.producer, one.sequence)
            and len(offsets[one]) == 1
            and offsets[before] == {offset - 1 for offset in offsets[one]}
            and fates[before] == fates[one]
        )
        if neighbours:
            groups[-1].append(one)
        else:
            groups.append([one])
    return [
        RecordGroup(
            records=tuple(group),
            sends=tuple(sends[one][0] for one in group if sends[one]),
            offsets=tuple(sorted({offset for one in group for offset in offsets[one]})),
        )
        for group in groups
    ]


def _holders(witnesses: RecordSources, one: RecordId, offsets: Sequence[int]) -> set[tuple[str, str]]:
    """The moments and nodes at which a record was on disk."""
    return {
        (disks.label, holding.node)
        for disks in witnesses.disk_states(one.where, offsets)
        for holding in disks.holdings
        if any(content is not None and content.record == one for content in holding.contents.values())
    }


@dataclass(frozen=True, kw_only=True)
class Life:
    """What the witnesses say of a group of records, and of the others at its offsets."""

    facts: JudgedRun
    witnesses: RecordSources
    group: RecordGroup

    @property
    def where(self) -> TopicPartition:
        return self.group.records[0].where

    @cached_property
    def name(self) -> str:
        return record_name(self.facts, self.group.records)

    @cached_property
    def others(self) -> tuple[RecordGroup, ...]:
        """The other records at the group's offsets, in groups."""
        found = self.witnesses.records_at(self.where, self.group.offsets)
        return tuple(grouped(self.witnesses, [one for one in found if one not in self.group.records]))

    @cached_property
    def disk_states(self) -> tuple[DiskState, ...]:
        """What the replicas held at these offsets, at each moment of copying since the record was sent."""
        disk_states = self.witnesses.disk_states(self.where, self.group.offsets)
        return tuple(
            disks for disks in disk_states if disks.holdings and (disks.at_ns is None or disks.at_ns >= self.since_ns)
        )

    @cached_property
    def reads(self) -> tuple[Read, ...]:
        """Every poll that returned the record, or something else from its offsets."""
        history = self.witnesses.history(self.where)
        return tuple(history.reads(self.group.records, self.group.offsets))

    @cached_property
    def reads_past(self) -> tuple[ReadPast, ...]:
        """Who read as far as the record's offsets or beyond."""
        if not self.group.offsets:
            return ()
        return tuple(self.witnesses.reads_past(self.where, self.group.offsets[-1]))

    @cached_property
    def since_ns(self) -> int:
        """When the first of the records was sent, else when the run began."""
        sent = [send.sent_ns for send in self.group.sends]
        return min(sent) if sent else self.facts.begin_ns

    @cached_property
    def readers(self) -> tuple[str, ...]:
        """The processes that read every record of the group."""
        given: dict[str, set[RecordId]] = {}
        for read in self.reads:
            given.setdefault(read.process, set()).add(read.record)
        return tuple(process for process, records in given.items() if records >= set(self.group.records))

    def holders(self, disks: DiskState) -> list[str]:
        """The nodes on whose disks the record was at a moment."""
        return [h.node for h in disks.holdings if self._held(h) is not None]

    def _on_no_disk(self, disks: DiskState) -> bool:
        """Whether no disk held the record. False if damaged bytes at its offsets may have been it."""
        contents = [content for holding in disks.holdings for content in holding.contents.values()]
        return not self.holders(disks) and not any(c is not None and c.record is None and c.unclear for c in contents)

    def _held(self, holding: Holding) -> int | None:
        """An offset at which a replica holds the record, or None."""
        for offset, content in holding.contents.items():
            if content is not None and content.record in self.group.records:
                return offset
        return None

    # Steps

    def steps(self) -> tuple[StoryStep, ...]:
        """Everything that happened to the record, by time."""
        return in_order(
            [
                *self._sends(),
                *self._disks(),
                *fault_steps(self.facts, self.where, self.since_ns),
                *metadata_steps(self.facts, self.where, self.since_ns),
                *log_steps(self.facts, self.where, self.since_ns, self._effect),
                *self._others(),
                *self._polls(),
            ]
        )

    def _sends(self) -> Iterator[StoryStep]:
        first, last, where = self.group.first, self.group.last, named(self.where)
        if first is None or last is None:
            return
        yield client_step(
            first.sent_ns,
            "send",
            first.process,
            f"{first.process} sends {self.name} to {where} with acks={first.acks}.",
        )
        if last.outcome == "acked":
            yield client_step(
                last.done_ns,
                "ack",
                last.process,
                f"{self.name} {self.group.verb('is', 'are')} acknowledged{self._acked_at()}{self._by(last.done_ns)}.",
            )
        elif last.done_ns is not None:
            text = "refused" if last.outcome == "failed" else "given up, and may or may not have been written"
            error = f": {last.error}" if last.error else ""
            yield client_step(
                last.done_ns, "failed", last.process, f"{self.name} {self.group.verb('is', 'are')} {text}{error}."
            )

    def _acked_at(self) -> str:
        return at_offsets(sorted(send.offset for send in self.group.sends if send.offset is not None))

    def _by(self, at_ns: int | None) -> str:
        state = self.facts.state_at(*self.where, at_ns) if at_ns is not None else None
        if state is None or state.leader < 0:
            return ""
        return f" by broker-{state.leader}, leader in epoch {state.leader_epoch}, ISR {ids(state.isr)}"

    def _others(self) -> Iterator[StoryStep]:
        """The other records acknowledged at the group's offsets, and when."""
        acked_ns = self.group.last.done_ns if self.group.last is not None else None
        for other in self.others:
            first, last = other.first, other.last
            if first is None or last is None or last.outcome != "acked" or last.done_ns is None:
                continue
            at = at_offsets(sorted(send.offset for send in other.sends if send.offset is not None))
            earlier = acked_ns is not None and last.done_ns < acked_ns
            place = f"{self.name} is given the same place later" if earlier else f"the place where {self.name} was"
            name = f"{record_name(self.facts, other.records)}, sent with acks={first.acks},"
            text = f"{name} {other.verb('is', 'are')} acknowledged{at}{self._by(last.done_ns)}: {place}."
            yield client_step(last.done_ns, "replaced", last.process, text)

    def _polls(self) -> Iterator[StoryStep]:
        """Who read the record, and who read past it without it."""
        own = set(self.group.records)
        given = {
            process: [r for r in self.reads if r.process == process] for process in (r.process for r in self.reads)
        }
        told = 0
        for process, reads in given.items():
            mine = [read for read in reads if read.record in own]
            if not mine or told >= MAX_READERS:
                continue
            told += 1
            at = at_offsets(sorted({read.offset for read in mine}))
            again = len(mine) - len({read.record for read in mine})
            more = f", and again {again} times" if again > 1 else ", and once again" if again else ""
            some = (
                ""
                if {read.record for read in mine} == own
                else f" (only {len({r.record for r in mine})} of {len(own)})"
            )
            yield client_step(mine[0].at_ns, "read", process, f"{process} reads {self.name}{some}{at}{more}.")
        for past in self.reads_past[: MAX_READERS + told]:
            reads = given.get(past.process, [])
            if any(read.record in own for read in reads):
                continue
            rest = f"up to the end offset, {past.end}" if past.end is not None else f"up to {past.furthest}"
            at_ns, met = past.at_ns, f"reads beyond offset {self.group.offsets[-1]}, {rest}"
            if reads:
                at_ns, other = reads[0].at_ns, record_name(self.facts, [reads[0].record])
                met = f"reads {other} at offset {reads[0].offset} and continues, {rest}"
            text = f"{past.process} {met}: no poll of it returns {self.name}"
            yield client_step(at_ns, "passed", past.process, f"{text}.")
        more_readers = len([p for p, reads in given.items() if any(r.record in own for r in reads)]) - told
        if more_readers > 0:
            yield client_step(None, "read", "consumers", f"{more_readers} more consumers read {self.name}.")

    # Disks

    def _disks(self) -> Iterator[StoryStep]:
        for disks in self.disk_states:
            groups: dict[tuple[str, str], list[str]] = {}
            for holding in disks.holdings:
                groups.setdefault(self._content(holding), []).append(holding.node)
            said = [f"{join(n)} {verb}{'s' if len(n) == 1 else ''} {rest}" for (verb, rest), n in groups.items()]
            be = self.group.verb("is", "are")
            none = f": {self.name} {be} on no replica's disk" if self._on_no_disk(disks) else ""
            yield disk_step(disks.at_ns, f"At “{disks.label}” {'; '.join(said)}{none}.", disks.label)

    def _content(self, holding: Holding) -> tuple[str, str]:
        """What a replica holds at the group's offsets: the verb in the plural, and the rest of the sentence."""
        offsets, leo, hw = self.group.offsets, holding.leo, holding.hw
        contents = [holding.contents.get(offset) for offset in offsets]
        ends = ", ".join(f"{name} {end}" for name, end in (("LEO", leo), ("HW", hw)) if end is not None)
        tail = f" ({ends})" if ends else ""
        if not contents:
            return "lack", f"{self.name}{tail}"
        if any(content is not None for content in contents):
            return "hold", f"{join(list(self._names(contents)))}{self.group.at}{tail}"
        if leo is not None and leo <= offsets[0]:
            return "end", f"before offset {offsets[0]}{tail}"
        if holding.start > offsets[-1]:
            return "begin", f"only at offset {holding.start}{tail}"
        return "hold", f"nothing{self.group.at}{tail}"

    def _names(self, contents: Sequence[Content | None]) -> Iterator[str]:
        """What lies at neighbouring offsets, in few words."""
        runs: list[list[Content | None]] = []
        for content in contents:
            before = runs[-1][-1] if runs else None
            follows = (
                content is not None
                and before is not None
                and content.leader_epoch == before.leader_epoch
                and content.what == before.what
                and (
                    content.record == before.record
                    if content.record is None or before.record is None
                    else (before.record.producer, before.record.sequence + 1)
                    == (content.record.producer, content.record.sequence)
                )
            )
            if runs and (follows or (content is None and before is None)):
                runs[-1].append(content)
            else:
                runs.append([content])
        for run in runs:
            first = run[0]
            if first is None:
                yield "nothing"
                continue
            records = [content.record for content in run if content is not None and content.record is not None]
            epoch = f" (epoch {first.leader_epoch})" if first.leader_epoch >= 0 else ""
            yield (record_name(self.facts, records) if records else first.what) + epoch

    def _effect(self, line: Log) -> tuple[str, str] | None:
        """What a truncation removed at the group's offsets, as far as an earlier copy proves that it was there.

        Returns the kind of step and the end of its sentence; None if the truncation does not concern the record.
        """
        offset = line.offset or 0
        if not self.group.offsets:
            return "kept", ""
        low, high = self.group.offsets[0], self.group.offsets[-1]
        content = self._before(line)
        held = [c.record for c in content or () if c is not None and c.record is not None]
        if not held:
            return ("truncate", "") if offset <= high else None
        name = record_name(self.facts, sorted(held)) if _neighbours(held) else "what it had there"
        if offset > high:
            return "kept", f" and so keeps {name}{self.group.at}"
        gone = "are" if len(held) > 1 else "is"
        if offset <= low:
            return "truncate", f": {name} {gone} gone from its disk"
        return "truncate", f": {name} from offset {offset} on {gone} gone from its disk"

    def _before(self, line: Log) -> list[Content | None] | None:
        """What a replica's last copy before a log line holds at the group's offsets; None if there is no copy, or the
        replica truncated in between.
        """
        copies = [
            (disks.at_ns, holding)
            for disks in self.disk_states
            for holding in disks.holdings
            if holding.node == line.node and disks.at_ns is not None and disks.at_ns <= line.at_ns
        ]
        if not copies:
            return None
        copied_ns, holding = max(copies, key=lambda copy: copy[0])
        high = self.group.offsets[-1]
        cut = any(
            act.line.node == line.node and copied_ns < act.line.at_ns < line.at_ns and (act.line.offset or 0) <= high
            for act in truncations(self.facts, self.where, copied_ns)
        )
        return None if cut else [holding.contents.get(offset) for offset in self.group.offsets]

    # In one sentence

    def title(self) -> str:
        """One sentence: how the record was sent and what became of it."""
        first, last, where = self.group.first, self.group.last, named(self.where)
        if first is None or last is None:
            return f"{self.name} of {where}, which nobody is known to have sent, {self._fate()}"
        error = f" ({last.error})" if last.error else ""
        how = {
            "acked": f"acknowledged with acks={first.acks}{self._acked_at()} of {where}",
            "failed": f"sent to {where} with acks={first.acks} and refused{error}",
            "unknown": f"sent to {where} with acks={first.acks} and never confirmed{error}",
        }.get(last.outcome, f"sent to {where} with acks={first.acks} and never answered")
        return f"{self.name}, {how}, {self._fate()}"

    @property
    def is_lost(self) -> bool:
        """Whether it was acknowledged, somebody read past it, and nobody was given it."""
        last = self.group.last
        return last is not None and last.outcome == "acked" and not self.readers and bool(self.reads_past)

    def _fate(self) -> str:
        final = self.disk_states[-1] if self.disk_states else None
        holders = self.holders(final) if final else []
        be = self.group.verb("is", "are")
        if self.is_lost:
            if not holders:
                return f"{be} gone"
            it, still = self.group.verb("it", "them"), "still holds" if len(holders) == 1 else "still hold"
            return f"{be} lost: no poll returned {it}, though {join(holders)} {still} {it}"
        were = self.group.verb("was", "were")
        parts = []
        if self.readers:
            shown = list(self.readers[:2])
            more = len(self.readers) - len(shown)
            parts.append(f"{were} read by {join([*shown, f'{more} more'] if more else shown)}")
        if final is not None and holders:
            every = len(holders) == len(final.holdings)
            parts.append(f"{be} on the disk of {'every replica' if every else join(holders)} in the end")
        if not parts:
            looked = self._on_no_disk(final) if final is not None else bool(self.reads_past)
            if looked and any(map(self.holders, self.disk_states)):
                return f"{were} on disk for a time, {be} gone in the end, and {were} read by nobody"
            return f"{were} seen by nobody" if looked else f"{be} not heard of again"
        return " and ".join(parts) if self.readers else f"{were} read by nobody and {parts[0]}"

    def as_ids(self) -> tuple[RecordId, ...]:
        """The group's records, then the others at the same offsets."""
        return tuple(one for group in (self.group, *self.others) for one in group.records)


def _neighbours(records: Sequence[RecordId]) -> bool:
    ordered = sorted(records)
    return (
        len({(one.where, one.producer) for one in ordered}) == 1
        and ordered[-1].sequence - ordered[0].sequence == len(ordered) - 1
    )
