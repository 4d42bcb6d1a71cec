"""The life of a record, from every witness: who sent it, on whose disks it lay, what struck its partition, who read it.

    sent by whom with which acks → acknowledged at which offset by which leader → on whose disks at each moment
      → who was struck → who was elected, from which ISR, dead or alive → who truncated it, with the broker's own line
      → what took its offset → who read it, or read past it without it

A life is that of a place in a log: the record and whatever else was given its offset, acknowledged there, read there
or found there on some disk (`rivals`). Neighbours that shared a fate share a life. Where a witness is silent the step
is left out, never guessed: a truncation is said to have removed a record only if a copy of that replica taken before
it holds the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from evidence.course import Sent, TopicPartition
from evidence.events import Log
from judgement.report.facts import RunFacts
from judgement.report.steps import (
    StoryStep,
    fault_steps,
    ids,
    in_order,
    join,
    log_steps,
    metadata_steps,
    named,
    truncations,
)
from judgement.report.witnesses import Content, Holding, Look, Passage, Read, RecordId, Witnesses

MAX_READERS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Strand:
    """A record, or neighbours by one process with one fate, in the order of their sequences."""

    records: tuple[RecordId, ...]
    sends: tuple[Sent, ...]
    """One for each record, or none if nobody is known to have sent them."""
    offsets: tuple[int, ...]
    """Where they are, or were, by anybody's word."""

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


def record_name(facts: RunFacts, records: Sequence[RecordId]) -> str:
    """What neighbours are called: m3, or m3 to m7, and of which producer where there are several."""
    last = facts.record_name(records[-1].producer, records[-1].sequence)
    return last if len(records) == 1 or not records[0].is_ours else f"m{records[0].sequence} to {last}"


def strands(facts: RunFacts, witnesses: Witnesses, records: Iterable[RecordId]) -> list[Strand]:
    """Records put together with those neighbours in sequence and offset that shared everything that befell them."""
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
        Strand(
            records=tuple(group),
            sends=tuple(sends[one][0] for one in group if sends[one]),
            offsets=tuple(sorted({offset for one in group for offset in offsets[one]})),
        )
        for group in groups
    ]


def _holders(witnesses: Witnesses, one: RecordId, offsets: Sequence[int]) -> set[tuple[str, str]]:
    """The moments and nodes at which a record was on disk."""
    return {
        (look.label, holding.node)
        for look in witnesses.looks(one.where, [one], offsets)
        for holding in look.holdings
        if any(content is not None and content.record == one for content in holding.contents.values())
    }


@dataclass(frozen=True, kw_only=True)
class Life:
    """A strand, what else was at its offsets, and everything that is known of both."""

    facts: RunFacts
    witnesses: Witnesses
    hero: Strand

    @property
    def where(self) -> TopicPartition:
        return self.hero.records[0].where

    @cached_property
    def name(self) -> str:
        return record_name(self.facts, self.hero.records)

    @cached_property
    def rivals(self) -> tuple[Strand, ...]:
        """What else was given the same offsets."""
        others = [
            one for one in self.witnesses.records_at(self.where, self.hero.offsets) if one not in self.hero.records
        ]
        return tuple(strands(self.facts, self.witnesses, others))

    @cached_property
    def looks(self) -> tuple[Look, ...]:
        """The moments of copying since the record was sent."""
        asked = [one for strand in (self.hero, *self.rivals) for one in strand.records]
        looks = self.witnesses.looks(self.where, asked, self.hero.offsets)
        return tuple(look for look in looks if look.holdings and (look.at_ns is None or look.at_ns >= self.since_ns))

    @cached_property
    def reads(self) -> tuple[Read, ...]:
        """Every poll that returned the record, or something else from its offsets."""
        history = self.witnesses.history(self.where)
        return tuple(history.reads(self.hero.records, self.hero.offsets))

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """Who read as far as the record's offsets or beyond."""
        if not self.hero.offsets:
            return ()
        return tuple(self.witnesses.passages(self.hero.records[0], self.hero.offsets[-1]))

    @cached_property
    def since_ns(self) -> int:
        """When it began."""
        sent = [send.sent_ns for send in self.hero.sends]
        return min(sent) if sent else self.facts.begin_ns

    @cached_property
    def readers(self) -> tuple[str, ...]:
        """The processes that were given the record (all of the records, of several)."""
        given: dict[str, set[RecordId]] = {}
        for read in self.reads:
            given.setdefault(read.process, set()).add(read.record)
        return tuple(process for process, records in given.items() if records >= set(self.hero.records))

    def holders(self, look: Look) -> list[str]:
        """The nodes on whose disks the record was at a moment."""
        return [h.node for h in look.holdings if self._held(h) is not None]

    def _nowhere(self, look: Look) -> bool:
        """Whether the record was surely on no disk: what cannot be told apart might be it."""
        contents = [content for holding in look.holdings for content in holding.contents.values()]
        return not self.holders(look) and not any(c is not None and c.record is None and c.unclear for c in contents)

    def _held(self, holding: Holding) -> int | None:
        """An offset at which a replica holds the record, or None."""
        for offset, content in holding.contents.items():
            if content is not None and content.record in self.hero.records:
                return offset
        return None

    # Steps

    def steps(self) -> tuple[StoryStep, ...]:
        """Everything that befell the record, by time."""
        return in_order(
            [
                *self._sends(),
                *self._disks(),
                *fault_steps(self.facts, self.where, self.since_ns),
                *metadata_steps(self.facts, self.where, self.since_ns),
                *log_steps(self.facts, self.where, self.since_ns, self._effect),
                *self._rivals(),
                *self._polls(),
            ]
        )

    def _client(self, at_ns: int | None, kind: str, actor: str, text: str) -> StoryStep:
        return StoryStep(at_ns=at_ns, kind=kind, actor=actor, text=text, witness="client", source="client history")

    def _sends(self) -> Iterator[StoryStep]:
        first, last, where = self.hero.first, self.hero.last, named(self.where)
        if first is None or last is None:
            return
        yield self._client(
            first.sent_ns,
            "send",
            first.process,
            f"{first.process} sends {self.name} to {where} with acks={first.acks}.",
        )
        if last.outcome == "acked":
            yield self._client(
                last.done_ns,
                "ack",
                last.process,
                f"{self.name} {self.hero.verb('is', 'are')} acknowledged{self._acked_at()}{self._by(last.done_ns)}.",
            )
        elif last.done_ns is not None:
            text = "refused" if last.outcome == "failed" else "given up, and may or may not have been written"
            error = f": {last.error}" if last.error else ""
            yield self._client(
                last.done_ns, "failed", last.process, f"{self.name} {self.hero.verb('is', 'are')} {text}{error}."
            )

    def _acked_at(self) -> str:
        return at_offsets(sorted(send.offset for send in self.hero.sends if send.offset is not None))

    def _by(self, at_ns: int | None) -> str:
        state = self.facts.state_at(*self.where, at_ns) if at_ns is not None else None
        if state is None or state.leader < 0:
            return ""
        return f" by broker-{state.leader}, leader in epoch {state.leader_epoch}, ISR {ids(state.isr)}"

    def _rivals(self) -> Iterator[StoryStep]:
        """What was given the same offsets, and when."""
        acked_ns = self.hero.last.done_ns if self.hero.last is not None else None
        for rival in self.rivals:
            first, last = rival.first, rival.last
            if first is None or last is None or last.outcome != "acked" or last.done_ns is None:
                continue
            at = at_offsets(sorted(send.offset for send in rival.sends if send.offset is not None))
            earlier = acked_ns is not None and last.done_ns < acked_ns
            place = f"{self.name} is given the same place later" if earlier else f"the place where {self.name} was"
            name = f"{record_name(self.facts, rival.records)}, sent with acks={first.acks},"
            text = f"{name} {rival.verb('is', 'are')} acknowledged{at}{self._by(last.done_ns)}: {place}."
            yield self._client(last.done_ns, "replaced", last.process, text)

    def _polls(self) -> Iterator[StoryStep]:
        """Who read the record, and who read past it without it."""
        own = set(self.hero.records)
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
            yield self._client(mine[0].at_ns, "read", process, f"{process} reads {self.name}{some}{at}{more}.")
        for passage in self.passages[: MAX_READERS + told]:
            reads = given.get(passage.process, [])
            if any(read.record in own for read in reads):
                continue
            rest = f"up to the end offset, {passage.end}" if passage.end is not None else f"up to {passage.furthest}"
            at_ns, met = passage.at_ns, f"reads beyond offset {self.hero.offsets[-1]}, {rest}"
            if reads:
                at_ns, other = reads[0].at_ns, record_name(self.facts, [reads[0].record])
                met = f"reads {other} at offset {reads[0].offset} and goes on, {rest}"
            text = f"{passage.process} {met}: no poll of it returns {self.name}"
            yield self._client(at_ns, "passed", passage.process, f"{text}.")
        more_readers = len([p for p, reads in given.items() if any(r.record in own for r in reads)]) - told
        if more_readers > 0:
            yield self._client(None, "read", "consumers", f"{more_readers} more consumers read {self.name}.")

    # Disks

    def _disks(self) -> Iterator[StoryStep]:
        for look in self.looks:
            groups: dict[tuple[str, str], list[str]] = {}
            for holding in look.holdings:
                groups.setdefault(self._content(holding), []).append(holding.node)
            said = [f"{join(n)} {verb}{'s' if len(n) == 1 else ''} {rest}" for (verb, rest), n in groups.items()]
            nowhere = f": {self.name} {self.hero.verb('is', 'are')} on no replica's disk" if self._nowhere(look) else ""
            yield StoryStep(
                at_ns=look.at_ns,
                kind="disk",
                actor="replicas",
                text=f"At “{look.label}” {'; '.join(said)}{nowhere}.",
                witness="disks",
                source="copies of the replicas' files",
            )

    def _content(self, holding: Holding) -> tuple[str, str]:
        """What a replica holds at the offsets in question: the verb, as of several, and the rest."""
        offsets, leo, hw = self.hero.offsets, holding.leo, holding.hw
        contents = [holding.contents.get(offset) for offset in offsets]
        ends = ", ".join(f"{name} {end}" for name, end in (("LEO", leo), ("HW", hw)) if end is not None)
        tail = f" ({ends})" if ends else ""
        if not contents:
            return "lack", f"{self.name}{tail}"
        if any(content is not None for content in contents):
            return "hold", f"{join(list(self._names(contents)))}{self.hero.at}{tail}"
        if leo is not None and leo <= offsets[0]:
            return "end", f"before offset {offsets[0]}{tail}"
        if holding.start > offsets[-1]:
            return "begin", f"only at offset {holding.start}{tail}"
        return "hold", f"nothing{self.hero.at}{tail}"

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
        """What a truncation does to the record, as far as copies prove that the replica held anything there."""
        offset = line.offset or 0
        if not self.hero.offsets:
            return "kept", ""
        low, high = self.hero.offsets[0], self.hero.offsets[-1]
        content = self._before(line)
        held = [c.record for c in content or () if c is not None and c.record is not None]
        if not held:
            return ("truncate", "") if offset <= high else None
        name = record_name(self.facts, sorted(held)) if _neighbours(held) else "what it had there"
        if offset > high:
            return "kept", f" and so keeps {name}{self.hero.at}"
        gone = "are" if len(held) > 1 else "is"
        if offset <= low:
            return "truncate", f": {name} {gone} gone from its disk"
        return "truncate", f": {name} from offset {offset} on {gone} gone from its disk"

    def _before(self, line: Log) -> list[Content | None] | None:
        """What the last copy of a replica before a line holds, if nothing is known to have cut it in between."""
        copies = [
            (look.at_ns, holding)
            for look in self.looks
            for holding in look.holdings
            if holding.node == line.node and look.at_ns is not None and look.at_ns <= line.at_ns
        ]
        if not copies:
            return None
        copied_ns, holding = max(copies, key=lambda copy: copy[0])
        high = self.hero.offsets[-1]
        cut = any(
            act.line.node == line.node and copied_ns < act.line.at_ns < line.at_ns and (act.line.offset or 0) <= high
            for act in truncations(self.facts, self.where, copied_ns)
        )
        return None if cut else [holding.contents.get(offset) for offset in self.hero.offsets]

    # In one sentence

    def title(self) -> str:
        """Who the record is and what became of it."""
        first, last, where = self.hero.first, self.hero.last, named(self.where)
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
        last = self.hero.last
        return last is not None and last.outcome == "acked" and not self.readers and bool(self.passages)

    def _fate(self) -> str:
        final = self.looks[-1] if self.looks else None
        holders = self.holders(final) if final else []
        be = self.hero.verb("is", "are")
        if self.is_lost:
            if not holders:
                return f"{be} gone"
            it, still = self.hero.verb("it", "them"), "still holds" if len(holders) == 1 else "still hold"
            return f"{be} lost: no poll returned {it}, though {join(holders)} {still} {it}"
        were = self.hero.verb("was", "were")
        parts = []
        if self.readers:
            shown = list(self.readers[:2])
            more = len(self.readers) - len(shown)
            parts.append(f"{were} read by {join([*shown, f'{more} more'] if more else shown)}")
        if final is not None and holders:
            every = len(holders) == len(final.holdings)
            parts.append(f"{be} on the disk of {'every replica' if every else join(holders)} in the end")
        if not parts:
            looked = self._nowhere(final) if final is not None else bool(self.passages)
            if looked and any(map(self.holders, self.looks)):
                return f"{were} on disk for a time, {be} gone in the end, and {were} read by nobody"
            return f"{were} seen by nobody" if looked else f"{be} not heard of again"
        return " and ".join(parts) if self.readers else f"{were} read by nobody and {parts[0]}"

    def as_ids(self) -> tuple[RecordId, ...]:
        """The records it tells of: those it is about, and those that took their offsets."""
        return tuple(one for strand in (self.hero, *self.rivals) for one in strand.records)


def _neighbours(records: Sequence[RecordId]) -> bool:
    ordered = sorted(records)
    return (
        len({(one.where, one.producer) for one in ordered}) == 1
        and ordered[-1].sequence - ordered[0].sequence == len(ordered) - 1
    )
