"""What a crash between two steps of an application does to its inputs, in numbers.

A crash is an application that stood still at a crash point, of which others said what was committed there
(evidence.events.CrashPoint), and was killed there. What it had processed is what the output says at the end that it, or
one before it, has made; nobody can add to that once it is dead. (Applications are numbered as they are started. Those
that ran beside it and were given its inputs later are named by the crash point.)

Where a busy machine may have ended a broker's session since, members may have been given inputs anew. Other
repetitions than those that are owed contradict nothing then. A change before the crash gave nobody anything anew after
it, and one after the last input was handed over gave nobody anything. No input is skipped by what is given anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from checks.anomaly import DELIVERY
from checks.claim import CONTRADICTED, HELD, NOT_OBSERVED, Judged, MemberCommit, Processing, RunEvidence, claim
from checks.claims.basis import judged
from checks.claims.spontaneous import spontaneous
from evidence.basis import Basis
from evidence.events import CrashPoint, StoreAnswer, of
from evidence.faults.clients import KillClientProof
from evidence.faults.process import KillProof
from evidence.history.outcomes import OK
from evidence.text import plural
from kafkafiles.group_log import TOPIC as OFFSETS_TOPIC

POSTGRESQL = "PostgreSQL documentation, Reliability and the Write-Ahead Log: Asynchronous Commit"
SPARK = "Spark documentation, Structured Streaming Programming Guide: output sinks, foreachBatch"
NAMED = 20
"""Inputs that a row names."""
NOTHING = "no application was killed at a crash point, or nobody read its inputs and its output to their ends"
NOBODY_LATE: Final = "nobody asked a coordinator to commit late"
NEVER = "no application stood at a crash point, or nobody read its inputs and its output to their ends"


@dataclass(frozen=True, slots=True)
class Crash:
    """An application that was killed at a crash point, and what became of its inputs."""

    point: CrashPoint
    processing: Processing

    @property
    def processed(self) -> frozenset[int]:
        """The inputs that were in the output when it was killed."""
        made = self.processing.outputs.items()
        return frozenset(offset for offset, producers in made if any(map(self._made_before, producers)))

    @property
    def committed_only(self) -> frozenset[int]:
        """The inputs that were committed then, and not processed."""
        return frozenset(one for one in self.processing.inputs if one < self._committed) - self.processed

    @property
    def processed_only(self) -> frozenset[int]:
        """The inputs that were processed then, and not committed."""
        return frozenset(one for one in self.processed if one >= self._committed)

    def _made_before(self, producer: int) -> bool:
        return producer <= self.point.producer and producer not in self.point.beside

    def twice_before(self, inputs: Iterable[int]) -> bool:
        """Whether one of these inputs was in the output twice when it was killed."""
        made = (self.processing.outputs.get(one, ()) for one in inputs)
        return any(sum(map(self._made_before, producers)) > 1 for producers in made)

    @property
    def _committed(self) -> int:
        return self.point.committed or 0


def _crashes(evidence: RunEvidence) -> list[Crash]:
    killed = {name: fact.inject_ns for fact, _ in evidence.run_state.proved(KillClientProof) for name in fact.nodes}
    points = [one for one in of(evidence.run_state.events, CrashPoint) if one.at_ns < killed.get(one.process, -1)]
    found = ((point, evidence.processing_in(point.topic, point.partition, point.group)) for point in points)
    return [Crash(point, processing) for point, processing in found if processing is not None]


def _moved_by_machine(evidence: RunEvidence, crash: Crash, inputs: Iterable[int]) -> bool:
    """Whether a busy machine may have ended a broker's session, or moved a coordinator of groups, when that may have
    given members these inputs anew: since the application stood still, or before if one of them was processed twice by
    then, until the last input was handed over. The group's offset is where members begin.
    """
    handed = evidence.handed_over(crash.point.topic, crash.point.partition)
    begin_ns = 0 if crash.twice_before(inputs) else crash.point.at_ns
    end_ns = max((one.at_ns for one in handed), default=evidence.run_state.end_ns)
    return any(
        one.by_machine and begin_ns <= one.at_ns <= end_ns
        for one in spontaneous(evidence.run_state, evidence.run)
        if one.where is None or one.where[0] == OFFSETS_TOPIC
    )


def _compared(
    evidence: RunEvidence,
    owed: Callable[[Crash], frozenset[int]],
    seen: Callable[[Processing], frozenset[int]],
    words: tuple[str, str],
    *,
    again: bool = True,
) -> Judged:
    """Whether what was seen of inputs is exactly what the crashes owe, partition by partition. What is done `again` a
    busy machine may have brought about.
    """
    crashes = _crashes(evidence)
    if not crashes:
        return Judged(outcome=NOT_OBSERVED, observed=NOTHING)
    rows: list[dict[str, Any]] = []
    wrong: list[dict[str, Any]] = []
    by_machine = again
    for where in sorted({_place(crash.point) for crash in crashes}):
        here = [crash for crash in crashes if _place(crash.point) == where]
        expected, found = frozenset[int]().union(*map(owed, here)), seen(here[0].processing)
        row = {
            "topic": where[0],
            "partition": where[1],
            "group": where[2],
            "committed": [crash.point.committed for crash in here],
            "inputs": len(here[0].processing.inputs),
            "expected": sorted(expected)[:NAMED],
            "seen": sorted(found)[:NAMED],
            "count": len(found),
        }
        rows.append(row)
        if expected != found:
            wrong.append(row)
            by_machine = by_machine and any(_moved_by_machine(evidence, crash, expected ^ found) for crash in here)
    count = sum(row["count"] for row in rows)
    exactly = f"{plural(count, 'input')} of {sum(row['inputs'] for row in rows)} {words[0]}"
    if wrong:
        observed = f"{exactly}, not exactly those {words[1]}"
        if by_machine:
            return Judged(outcome=NOT_OBSERVED, observed=f"{observed}; the machine may be why", evidence=wrong)
        return Judged(outcome=CONTRADICTED, observed=observed, evidence=wrong)
    return Judged(outcome=HELD, observed=f"{exactly}, exactly those {words[1]}", evidence=rows)


def _place(point: CrashPoint) -> tuple[str, int, str]:
    """Of what application's inputs a crash point is."""
    return point.topic, point.partition, point.group


@claim("crash-skips-what-was-committed", source=DELIVERY, basis=Basis.DOCUMENTATION)
def crash_skips_what_was_committed(evidence: RunEvidence) -> Judged:
    """The inputs that are never processed are exactly those that were committed and not processed when the application
    was killed; none if there were none.

    Committed is what the group's coordinator says at the crash point, or the store that has the application's offsets;
    processed is what is in the output.
    """
    words = "never processed", "that were committed and not processed at the crash"
    return _compared(evidence, lambda crash: crash.committed_only, lambda of_all: of_all.skipped, words, again=False)


@claim("crash-repeats-what-was-not-committed", source=DELIVERY, basis=Basis.DOCUMENTATION)
def crash_repeats_what_was_not_committed(evidence: RunEvidence) -> Judged:
    """The inputs that are processed twice are exactly those that were processed and not committed when the application
    was killed; none if there were none.

    Committed is what the group's coordinator says at the crash point, or the store that has the application's offsets;
    processed is what is in the output.
    """
    words = "processed twice", "that were processed and not committed at the crash"
    return _compared(evidence, lambda crash: crash.processed_only, lambda of_all: of_all.repeated, words)


@claim("crash-counts-again-what-was-not-committed", source="KIP-129", basis=Basis.KIP)
def crash_counts_again_what_was_not_committed(evidence: RunEvidence) -> Judged:
    """The inputs that a result counts more than once are exactly those that were processed and not committed when the
    application was killed; none if there were none.

    A result is what an output states of its key: the inputs that the application's store has counted for it.
    """
    words = "counted more than once", "that were processed and not committed at the crash"
    return _compared(evidence, lambda crash: crash.processed_only, lambda of_all: of_all.counted_again, words)


@claim("each-input-counted-once", source="KIP-129", basis=Basis.KIP)
def each_input_counted_once(evidence: RunEvidence) -> Judged:
    """Each result counts the inputs of its key up to the one that it was made from, each once, and no others.

    Which inputs have a key the outputs say that were made of them. Without an application at a crash point nothing
    could have gone wrong, and nothing is said.
    """
    points = of(evidence.run_state.events, CrashPoint)
    rows: list[dict[str, Any]] = []
    for topic, partition in sorted({(one.topic, one.partition) for one in points}):
        found = evidence.processing(topic, partition)
        results = () if found is None else found.results
        for result in results:
            same_key = (one.offset for one in results if one.key == result.key)
            owed, counted = sorted({one for one in same_key if one <= result.offset}), sorted(result.counted)
            row = {"topic": topic, "partition": partition, "offset": result.offset, "exact": counted == owed}
            rows.append(row | {"expected": owed[:NAMED], "counted": counted[:NAMED]})
    wrong = [row for row in rows if not row["exact"]]
    return judged(rows, wrong, f"{len(rows) - len(wrong)} of {plural(len(rows), 'result')} exact", NEVER)


@claim("each-input-processed-once", source="KIP-98", basis=Basis.KIP)
def each_input_processed_once(evidence: RunEvidence) -> Judged:
    """Each input is processed exactly once: one committed output names it.

    Inputs are the records of the partitions in which an application stood at a crash point. Without one nothing could
    have gone wrong, and nothing is said. Of several applications each one that did has an output of its own for each.
    """
    points = of(evidence.run_state.events, CrashPoint)
    rows: list[dict[str, Any]] = []
    for topic, partition, group in sorted({_place(one) for one in points}):
        if (found := evidence.processing_in(topic, partition, group)) is not None:
            skipped, repeated = sorted(found.skipped), sorted(found.repeated)
            counts = {"skipped_count": len(skipped), "repeated_count": len(repeated)}
            named = {"skipped": skipped[:NAMED], "repeated": repeated[:NAMED]}
            row = {"topic": topic, "partition": partition, "group": group, "inputs": len(found.inputs)}
            rows.append(row | named | counts)
    skips, repeats, inputs = (sum(row[name] for row in rows) for name in ("skipped_count", "repeated_count", "inputs"))
    wrong = [row for row in rows if row["skipped_count"] or row["repeated_count"]]
    seen = f"of {plural(inputs, 'input')} {skips} skipped, {repeats} processed more than once"
    if wrong or not rows:
        return Judged(
            outcome=CONTRADICTED if wrong else NOT_OBSERVED, observed=seen if wrong else NEVER, evidence=wrong
        )
    return Judged(outcome=HELD, observed=seen, evidence=rows)


@claim("output-by-key-written-again", source=DELIVERY, basis=Basis.DOCUMENTATION)
def output_by_key_written_again(evidence: RunEvidence) -> Judged:
    """Inputs that an application had processed and not committed when it was killed are processed again, and the
    output has each of them once: the second write of a key has replaced the first.

    That they are processed twice the programs themselves recorded; how often each is in the output others say. So the
    result is the same as if nothing had happened, and the work was not done exactly once.
    """
    crashes = _crashes(evidence)
    if not crashes:
        return Judged(outcome=NOT_OBSERVED, observed=NOTHING)
    rows: list[dict[str, Any]] = []
    wrong: list[dict[str, Any]] = []
    twice = once = 0
    for crash in crashes:
        called = evidence.called_processed(crash.point.topic, crash.point.partition)
        committed = crash.point.committed or 0
        again = sorted(offset for offset, producers in called.items() if len(producers) > 1 and offset >= committed)
        kept = [offset for offset in again if len(crash.processing.outputs.get(offset, ())) == 1]
        row = {"topic": crash.point.topic, "partition": crash.point.partition, "committed": crash.point.committed}
        row |= {"processed_twice": again[:NAMED], "in_output_once": kept[:NAMED]}
        rows.append(row)
        wrong += [row] if kept != again else []
        twice, once = twice + len(again), once + len(kept)
    if not twice:
        return Judged(outcome=NOT_OBSERVED, observed="no input was processed twice", evidence=rows)
    return judged(rows, wrong, f"{plural(twice, 'input')} processed twice, {once} of them once in the output", NOTHING)


@claim("written-batch-not-written-again", source=SPARK, basis=Basis.DOCUMENTATION)
def written_batch_not_written_again(evidence: RunEvidence) -> Judged:
    """Inputs whose outputs were written and not committed when the application was killed are in the output once: the
    sink knows the batch by its number, and does not write it again.

    Committed is what the query's checkpoint says at the crash point.
    """
    crashes = _crashes(evidence)
    rows: list[dict[str, Any]] = []
    wrong: list[dict[str, Any]] = []
    for crash in crashes:
        written, again = sorted(crash.processed_only), sorted(crash.processed_only & crash.processing.repeated)
        if written:
            row = {"topic": crash.point.topic, "partition": crash.point.partition, "committed": crash.point.committed}
            rows.append(row | {"written": written[:NAMED], "written_again": again[:NAMED]})
            wrong += rows[-1:] if again else []
    if crashes and not rows:
        return Judged(outcome=NOT_OBSERVED, observed="all that was written was committed")
    again_in_all = sum(len(row["written_again"]) for row in rows)
    count = plural(sum(len(row["written"]) for row in rows), "input")
    return judged(
        rows, wrong, f"{count} written and not committed, {again_in_all} of them twice in the output", NOTHING
    )


@claim("store-crash-skips-what-it-lost", source=POSTGRESQL, basis=Basis.DOCUMENTATION)
def store_crash_skips_what_it_lost(evidence: RunEvidence) -> Judged:
    """The inputs that are never processed are exactly those of the transactions that a killed store has lost.

    Lost is what the store said that it had, of outputs and offsets, when the application stood at a crash point, and
    has not after it was killed and started again.
    """
    kills = [fact.inject_ns for fact, _ in evidence.run_state.proved(KillProof)]
    rows: list[dict[str, Any]] = []
    points, answers = of(evidence.run_state.events, CrashPoint), of(evidence.run_state.events, StoreAnswer)
    for point, answer in product(points, answers):
        same = (point.process, point.topic, point.partition) == (answer.process, answer.topic, answer.partition)
        found = evidence.processing(point.topic, point.partition)
        if found is not None and same and any(point.at_ns < at_ns < answer.at_ns for at_ns in kills):
            lost = sorted(one for one in found.inputs if (answer.committed or 0) <= one < (point.committed or 0))
            row = {"topic": point.topic, "partition": point.partition, "had": point.committed, "has": answer.committed}
            rows.append(row | {"lost": lost[:NAMED], "skipped": sorted(found.skipped)[:NAMED]})
    if not any(row["lost"] for row in rows):
        return Judged(outcome=NOT_OBSERVED, observed="no store that was killed has lost a transaction")
    wrong = [row for row in rows if row["lost"] != row["skipped"]]
    inputs = plural(sum(len(row["skipped"]) for row in rows), "input")
    return judged(rows, wrong, f"{inputs} never processed, of {sum(len(row['lost']) for row in rows)} lost", NOTHING)


NEVER_ASKED: Final = "_FATAL"
"""The error of a commit that no coordinator was asked for. librdkafka answers so by itself once its consumer has a
fatal error (rd_kafka_cgrp_offsets_commit: "Commits are not allowed when a fatal error has been raised"), for example
since a heartbeat was told FENCED_INSTANCE_ID (rd_kafka_cgrp_handle_Heartbeat). A commit that the coordinator refuses
has the coordinator's own error (rd_kafka_handle_OffsetCommit)."""


@dataclass(frozen=True, slots=True)
class LateCommit:
    """What a member tried to commit when another one had committed offsets of its partition."""

    commit: MemberCommit
    owners: frozenset[str]
    """The processes that had, since it stood still."""

    def row(self) -> dict[str, Any]:
        """What the evidence of a claim has of it."""
        commit = self.commit
        return {"process": commit.process, "offset": commit.offset, "outcome": commit.outcome, "error": commit.error}


def late_commits(evidence: RunEvidence) -> list[LateCommit]:
    """Of each member that stood still at a crash point the next commit that it asked of a coordinator, if another one
    had committed meanwhile.
    """
    found: list[LateCommit] = []
    for point in of(evidence.run_state.events, CrashPoint):
        commits = evidence.member_commits(point.topic, point.partition)
        asked = (one for one in commits if one.process == point.process and one.error != NEVER_ASKED)
        own = [one for one in asked if one.invoked_ns > point.at_ns]
        if own:
            since = [one for one in commits if point.at_ns < one.invoked_ns < own[0].invoked_ns and one.outcome == OK]
            owners = frozenset(one.process for one in since if one.process != point.process)
            found += [LateCommit(own[0], owners)] if owners else []
    return found


@claim(
    "late-commit-refused",
    source="Kafka protocol guide: ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID; KIP-447 of offsets in a transaction",
    basis=Basis.DOCUMENTATION,
)
def late_commit_refused(evidence: RunEvidence) -> Judged:
    """The offsets that a member commits when its partition has another owner are refused.

    The member stood still at a crash point, another application committed offsets of the partition meanwhile, and then
    the first one asked the coordinator to commit its own. What librdkafka refuses by itself nobody has asked for.
    """
    rows = [late.row() for late in late_commits(evidence)]
    wrong = [row for row in rows if row["outcome"] == OK]
    errors = ", ".join(sorted({row["error"] for row in rows if row["error"]}))
    return judged(rows, wrong, f"{plural(len(rows), 'late commit')} ({errors or 'no error'})", NOBODY_LATE)
