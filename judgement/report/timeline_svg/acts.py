"""What clients and operators did beside sending single records.

Clients committed offsets, were answered with offsets, and had transactions. Operators deleted, set and moved something.
The harness asked how far readers under read_committed may read, and watched threads.

An act has a time, a label and a kind; the clients' lane draws it. Nothing here draws. An act is bad where what was
acknowledged is not there any more: the label then says both. A run with very many acts of a sort has none of them
drawn, for they would hide the others, and the legend says how many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal

from evidence.events import (
    DeleteRecords,
    DeleteTopic,
    EndsAnswer,
    Event,
    OffsetAnswer,
    OffsetCommit,
    Reassign,
    Step,
    ThreadTime,
    Transaction,
    of,
)
from judgement.report.facts import JudgedRun

Kind = Literal["commit", "answer", "request", "transaction"]
MOST_ACTS: Final = 14
"""If there are more acts of one sort than these, none of them is drawn."""
LONGEST_NAME: Final = 24
TOGETHER_NS: Final = 1_000_000_000
SETTINGS: Final = {"set for all brokers": "", "set for a topic": "topic"}
"""Steps that change a setting, and the part of their detail that says of what."""
SENDS: Final = "send in a transaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One act with its time and the label that stands beside it."""

    kind: Kind
    begin_ns: int
    end_ns: int
    label: str
    bad: bool = False
    done: bool = True
    """Whether it succeeded."""


@dataclass(frozen=True, slots=True)
class Acts:
    """The acts of a run in order of time, and what was left out because there was too much of it."""

    drawn: tuple[Act, ...]
    left_out: tuple[str, ...]


def acts(facts: JudgedRun) -> Acts:
    """All acts of a run."""
    half = {
        (row.process, row.detail.get("transaction"))
        for name in ("transaction-half-committed", "torn-transaction")
        for finding in facts.found(name)
        for row in finding.evidence
    }
    stuck = {(one.where, row.offset) for one in facts.found("stuck-last-stable-offset") for row in one.evidence}
    found = {
        "commits and answers of groups": offset_acts(facts.events, bool(facts.found("group-unavailable"))),
        "transactions": transaction_acts(facts.events, half, facts.end_ns),
        "answers on the ends of partitions": end_acts(facts.events, stuck),
        "watched threads": thread_acts(facts.events),
        "requests of operators": request_acts(facts.events),
    }
    drawn, left_out = list[Act](), list[str]()
    for sort, generated in found.items():
        own = list(generated)
        if len(own) > MOST_ACTS:
            left_out.append(f"{len(own)} {sort}")
        else:
            drawn += own
    return Acts(tuple(sorted(drawn, key=lambda one: one.begin_ns)), tuple(left_out))


def offset_acts(events: Sequence[Event], unavailable: bool = False) -> Iterator[Act]:
    """What groups committed and what their coordinators answered: commits that follow each other at once are one act,
    and so are answers in a row that say the same. `unavailable`: a coordinator gave nothing but errors in the end.
    """
    told = [one for one in events if isinstance(one, OffsetAnswer | OffsetCommit)]
    several = len({one.group for one in told}) > 1
    for group, topic, partition in dict.fromkeys((one.group, one.topic, one.partition) for one in told):
        own = [one for one in told if (one.group, one.topic, one.partition) == (group, topic, partition)]
        name, known = f"{group}: " if several else "", None
        rows = [part for _, row in groupby(own, _says) for part in _together(list(row))]
        for row in rows:
            first, last = row[0], row[-1]
            if isinstance(first, OffsetCommit):
                offsets = f"offset {last.offset}" if len(row) == 1 else f"offsets {first.offset}–{last.offset}"
                label, bad, done = f"{name}{offsets} committed", False, True
            else:
                label, bad = _answer(first, known)
                label, done = name + label, first.error is None
                bad = bad or (unavailable and not done and row is rows[-1])
            begin_ns = first.asked_ns if isinstance(first, OffsetAnswer) else first.at_ns
            kind: Kind = "commit" if isinstance(first, OffsetCommit) else "answer"
            yield Act(kind=kind, begin_ns=begin_ns, end_ns=last.at_ns, label=label, bad=bad, done=done)
            known = last.offset if last.offset is not None else known


def _together(row: list[OffsetAnswer | OffsetCommit]) -> Iterator[list[OffsetAnswer | OffsetCommit]]:
    """The parts of a row of commits between which more time passed than `TOGETHER_NS`; a row of answers as it is."""
    begin = 0
    for at in range(1, len(row)):
        if isinstance(row[at], OffsetCommit) and row[at].at_ns - row[at - 1].at_ns > TOGETHER_NS:
            yield row[begin:at]
            begin = at
    yield row[begin:]


def _says(one: OffsetAnswer | OffsetCommit) -> tuple[object, ...]:
    return ("answer", one.offset, one.error is None) if isinstance(one, OffsetAnswer) else ("commit",)


def _answer(one: OffsetAnswer, known: int | None) -> tuple[str, bool]:
    """The words for an answer, and whether less is committed than was known to be."""
    if one.error is not None:
        return f"committed offset? {one.error}", False
    if one.offset is None:
        return (f"committed offset {known} is gone", True) if known else ("no committed offset", False)
    if known is not None and one.offset < known:
        return f"committed offset is {one.offset}, not {known}", True
    return f"committed offset is {one.offset}", False


def transaction_acts(
    events: Sequence[Event], half: Iterable[tuple[str | None, object]] = (), end_ns: int = 0
) -> Iterator[Act]:
    """Transactions from their beginning to the answer about their end. `half` are the process and the number of those
    that were committed and of which a part is lost; one without an end is drawn up to `end_ns`.
    """
    told = of(events, Transaction)
    several, lost = len({one.process for one in told}) > 1, set(half)
    begun: dict[str, Transaction] = {}
    for one in told:
        if one.phase == "begin":
            if one.outcome == "ok":
                begun[one.process] = one
            continue
        if begin := begun.pop(one.process, None):
            parts = () if several else _parts(events, begin.at_ns, one.at_ns)
            words = f"{one.phase}: {one.error or 'unknown'}" if one.outcome != "ok" else ENDED[one.phase]
            bad = (one.process, begin.transaction) in lost
            yield Act(
                kind="transaction",
                begin_ns=begin.at_ns,
                end_ns=one.at_ns,
                label=f"{_named(begin, several, parts)} {words}" + (", half of it lost" if bad else ""),
                bad=bad,
                done=one.outcome == "ok" and one.phase == "commit",
            )
    for begin in begun.values():
        label = f"{_named(begin, several, ())} without an end"
        yield Act(kind="transaction", begin_ns=begin.at_ns, end_ns=end_ns, label=label, done=False)


ENDED: Final = {"commit": "committed", "abort": "aborted"}


def _named(begin: Transaction, several: bool, parts: Sequence[str]) -> str:
    to = f" ({', '.join(parts)})" if parts else ""
    name = f"transaction {begin.transaction}{to}"
    return f"{begin.process}: {name}" if several else name


def _parts(events: Sequence[Event], begin_ns: int, end_ns: int) -> tuple[str, ...]:
    """How many records were sent to each partition within these times, by the steps that send in a transaction."""
    counts: dict[str, int] = {}
    for one in of(events, Step):
        if one.name == SENDS and one.phase == "begin" and begin_ns <= one.at_ns <= end_ns:
            place = str(one.detail.get("partition"))
            counts[place] = counts.get(place, 0) + int(one.detail.get("count", 1))
    return tuple(f"{count} to {place}" for place, count in counts.items())


def end_acts(events: Sequence[Event], stuck: Iterable[tuple[object, int | None]] = ()) -> Iterator[Act]:
    """Where readers under read_committed come less far than others: answers in a row with one end are one act. `stuck`
    are partitions and ends that nothing moves any more.
    """
    told, held = of(events, EndsAnswer), set(stuck)
    for topic, partition in dict.fromkeys((one.topic, one.partition) for one in told):
        own = [one for one in told if (one.topic, one.partition) == (topic, partition)]
        for end, answers in groupby(own, lambda one: one.last_stable_offset):
            row = list(answers)
            if end >= row[-1].high_watermark:
                continue
            bad = ((topic, partition), end) in held
            label = f"read_committed ends at {end} of {row[-1].high_watermark} in {topic}-{partition}"
            yield Act(
                kind="answer",
                begin_ns=row[0].asked_ns,
                end_ns=row[-1].at_ns,
                label=f"{label}, forever" if bad else label,
                bad=bad,
                done=not bad,
            )


def thread_acts(events: Sequence[Event]) -> Iterator[Act]:
    """Threads that were watched: those that were watched at the same time are one act. A thread's share is that of the
    time in which it could run.
    """
    for (name, begin_ns), watched in groupby(of(events, ThreadTime), lambda one: (bare(one.thread), one.begin_ns)):
        row = list(watched)
        shares = (one.running_ns / max(1, one.elapsed_ns - one.waiting_ns) for one in row)
        label = (
            f"{name} of {', '.join(one.node for one in row)} is busy for {', '.join(f'{one:.0%}' for one in shares)}"
        )
        yield Act(kind="answer", begin_ns=begin_ns, end_ns=max(one.at_ns for one in row), label=label)


def bare(thread: str) -> str:
    """A thread's name without its broker.

    >>> bare("kafka-1-raft-io"), bare("ReplicaFetcherThread-0-1")
    ('raft-io', 'ReplicaFetcherThread-0-1')
    """
    return re.sub(r"^kafka-\d+-", "", thread)


def request_acts(events: Sequence[Event]) -> Iterator[Act]:
    """What operators asked of the cluster: deletions, settings and other replicas."""
    for one in events:
        if label := _request(one):
            yield Act(kind="request", begin_ns=one.at_ns, end_ns=one.at_ns, label=label)


def _request(one: Event) -> str:
    match one:
        case DeleteTopic():
            name = one.topic if len(one.topic) <= LONGEST_NAME else f"{one.topic[:LONGEST_NAME]}…"
            return f"deletion of topic {name} {'withdrawn' if one.withdrawn else 'asked'}"
        case DeleteRecords():
            return f"deletion of {one.topic}-{one.partition} before {one.before} asked"
        case Reassign():
            return f"replicas {', '.join(map(str, one.replicas))} of {one.topic}-{one.partition} asked"
        case Step() if one.phase == "begin" and one.name in SETTINGS:
            whose = SETTINGS[one.name]
            of_what = f" of topic {one.detail.get(whose)}" if whose else " of all brokers"
            return f"{one.detail.get('setting')}={one.detail.get('value')}{of_what}"
        case _:
            return ""
