"""What saved files tell of a cause: rules on lines of logs, on copied replicas and on the release, the surest first.

A rule needs what only its cause leaves behind. That a broker was killed is in most logs of an incident and explains
little; zeros at the end of a log are left by a loss of power and not by a kill. A broker that waits for its own old
session is refused its id too; so a second machine is one that was refused and never started. Where the same lines come
of several causes, the cause says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final

from app import incident_copies as copies
from app import incident_ends as ends
from app import incident_history as history
from app.incident_logs import LogFile, LogLine, statement, times_around
from evidence import borders
from evidence.releases import numbers
from evidence.text import plural
from kafkafiles import batches, columns, errors, indexes
from kafkafiles.replica import SegmentProblem
from kafkafiles.side_by_side import ReplicaComparison, fault

JUMP: Final = timedelta(minutes=30)
"""A log whose times go back by so much has a clock that was ahead."""
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
MARKERS: Final = (b"\x00\x00\x00\x00", b"\x00\x00\x00\x01")
"""Keys of transactions' markers: version 0, abort or commit."""
ABORT: Final = MARKERS[0]
MOST_READ: Final = 64 << 20
"""Bytes of a segment that are read record by record."""
LEADS_ON: Final = timedelta(seconds=10)
"""A controller that resigns does so within a few fetch time-outs of the quorum."""
LOG_GOES_ON: Final = 2048
"""Bytes after a line from which on what did not follow was not cut off."""
RECOVERS: Final = "Found invalid messages in log segment"
"""What a recovery says of the place from which on it cuts a log off."""
ALL_CRASHED: Final = "all-brokers-crashed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseKind:
    """A cause, in words."""

    id: str
    means: str
    do: str
    scenario: str
    lines: tuple[str, ...] = ()
    """Strings by which a log tells of it, for the page; none where it shows in copied files."""
    also: tuple[str, ...] = ()
    """Other scenarios that show it."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause that files tell of."""

    kind: CauseKind
    why: str
    """What was found, in a sentence."""
    lines: tuple[LogLine, ...] = ()
    rank: int = 0
    """-1 is told before all others, because the order of its lines leaves no other cause; 1 after them."""


@dataclass(frozen=True, slots=True)
class IncidentEvidence:
    """What there is to go by."""

    logs: Sequence[LogFile]
    comparisons: Sequence[ReplicaComparison]
    partitions: Sequence[Path]
    release: str

    def lines(self, kind: str) -> list[LogLine]:
        """The lines of a kind in all logs."""
        return [line for log in self.logs for line in log.of(kind)]

    @property
    def brokers(self) -> list[LogFile]:
        """The logs of brokers."""
        return [log for log in self.logs if log.is_broker]

    @property
    def unclean(self) -> list[LogLine]:
        """The lines of unclean elections that chose a replica which may have lacked records."""
        told = self.lines("unclean")
        again = set(history.elected_again(self.logs, told))
        return [line for line in told if line not in again]

    @property
    def outside(self) -> list[LogLine]:
        """The lines by which a replica began to lead that the last leader had removed from the ISR."""
        return history.elected_outside(self.logs) if self.lines("unclean enabled") else []

    @property
    def never_written(self) -> list[tuple[str, list[SegmentProblem]]]:
        """The ends of copied logs that were never written, by replica; none where files are made in their full size,
        or a disk was full.
        """
        if self.lines("preallocated") or self.lines("disk"):
            return []
        found = [(name, one) for comparison in self.comparisons for name, one in comparison.replicas.items()]
        return [(name, problems) for name, one in found if (problems := ends.never_written(one))]

    @property
    def lost_power(self) -> list[LogLine]:
        """The lines of brokers whose logs lost an end that they had had, by their own lines or by their followers'."""
        logs = [log for log in self.logs if not log.of("disk")]  # a full disk tears a log as well
        torn = [line for log in logs for line in log.of("zeros")] if self.lines("recovering") else []
        return [*torn, *ends.shorter_than_told(logs), *ends.shorter_than_copied(logs), *self.lost_committed]

    @property
    def lost_committed(self) -> list[LogLine]:
        """Those of brokers that were in sync when their partition had lost its leader."""
        logs = [log for log in self.logs if not log.of("disk")]
        return [] if self.by_epoch else ends.shorter_than_in_sync(logs)

    @property
    def led_after_a_cut(self) -> list[LogLine]:
        """The cuts that removed something, after which that broker led before it was in sync again."""
        cuts = set(ends.real_cuts(self.logs))
        return [line for line in history.led_after_a_cut(self.logs) if line in cuts]

    @property
    def by_epoch(self) -> bool:
        """Whether followers truncate by leader epochs, as far as the release and the protocol in the logs tell."""
        if any("is overridden to" in line.text for line in self.lines("broker id")):
            return False  # a broker before 0.9 tells its settings so, and names no release
        told = [line.text.rpartition("= ")[2].partition("-")[0] for line in self.lines("protocol")]
        oldest = min((numbers(one) for one in told if _is_release(one)), default=borders.LEADER_EPOCHS.release)
        return oldest >= borders.LEADER_EPOCHS.release and (
            not self.release or numbers(self.release) >= borders.LEADER_EPOCHS.release
        )


def _is_release(text: str) -> bool:
    return len(text.split(".")) > 1 and all(part.isdigit() for part in text.split("."))


Rule = Callable[[IncidentEvidence, CauseKind], Cause | None]
RULES: list[tuple[CauseKind, Rule]] = []
"""In the order in which causes are told."""


def rule(**words: str | tuple[str, ...]) -> Callable[[Rule], Rule]:
    """Register a rule; the first that is written is the surest."""

    def keep(made: Rule) -> Rule:
        RULES.append((CauseKind(**words), made))  # type: ignore[arg-type]
        return made

    return keep


def causes(evidence: IncidentEvidence) -> list[Cause]:
    """The causes that files tell of, the surest first."""
    found = (made(evidence, kind) for kind, made in RULES)
    return sorted((one for one in found if one is not None), key=lambda one: one.rank)


def _of_lines(kind: CauseKind, lines: Sequence[LogLine], what: str = "") -> Cause | None:
    files = len({line.file for line in lines})
    if not lines:
        return None
    return Cause(kind, what or f"{plural(len(lines), 'line')} in {plural(files, 'file')}", tuple(lines[:3]))


# In copied replicas


@rule(
    id="damaged-record",
    means="a copied replica holds a record whose checksum is wrong: the disk, or memory, changed it",
    do="Move leadership to a sound replica first. Then replace the disk, and let the broker copy everything anew.",
    scenario="bit-rot",
    lines=("CorruptRecordException", "Record is corrupt"),
)
def damaged(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A checksum that is wrong, in copied files or by a log; not at an end that recovery cut off after a crash."""
    torn = {fault(name, problem) for name, problems in evidence.never_written for problem in problems}
    faults = [told for one in evidence.comparisons for told in one.corrupt if told not in torn]
    if faults:
        return Cause(kind, f"{plural(len(faults), 'damaged place')} in copied files; the first: {faults[0]}")
    # The exception stands by itself below the line that says what was read.
    return _of_lines(kind, [one for one in evidence.lines("corrupt") if one.time or RECOVERS not in statement(one)])


@rule(
    id="damaged-index",
    means="an index beside a copied segment points to another place than its log has: fetches of records there were "
    "answered from the next segment, without an error, and a replica or a reader has skipped them",
    do="Move leadership to a replica that has the records, and stop the broker with the damaged index. Delete that "
    ".index file while it is down: its next start makes it anew. Look at its disk. Empty the replica that skipped "
    "records, so that it copies everything anew.",
    scenario="bit-rot",
)
def damaged_index(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """An index that does not fit its segment, beside records that another replica has skipped."""
    found = [told for one in evidence.comparisons for told in copies.hiding_indexes(one)]
    return Cause(kind, found[0]) if found else None


@rule(
    id="replicas-differ",
    means="replicas hold different records at one offset, and do not know it: which one is read depends on who leads",
    do="Do not restart brokers. Decide which replica is right, and empty the others while their brokers are "
    "down. Find out "
    "whether unclean elections are enabled, or inter.broker.protocol.version is older than 0.11.",
    scenario="replica-divergence",
    also=("museum-kip-279",),
)
def differ(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """Two records at one offset. Where a replica outside the ISR was elected, a disk was empty, or power was lost, they
    followed from that.
    """
    found = []
    lines = [*evidence.unclean, *evidence.outside]
    if not evidence.by_epoch:  # with epochs replicas truncate to what is alike
        lines += [*evidence.lost_power, *history.created_again(evidence.logs)]
        lines += evidence.lines("no leader") if evidence.lines("unclean enabled") else ()
    explained = {history.partition_of(line) for line in lines}
    for one in evidence.comparisons:
        partition = f"{one.topic}-{one.partition}"
        for difference in one.differences:
            if copies.holds_others(difference):
                told = f"the first is {partition}, offset {difference.offset} ({', '.join(difference.fields)})"
                found.append(Cause(kind, told, rank=int(partition in explained)))
                break
    return min(found, key=lambda one: one.rank, default=None)


# In logs


@rule(
    id="clock-ahead",
    means="the times of the log's lines jump back: a broker's clock was ahead, and it deleted records as too old that "
    "were not",
    do="Set retention.ms=-1 until every clock is right. Compare log start offsets on all replicas.",
    scenario="clock-step",
    lines=("retention time ",),
)
def clock(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """Retention at a time from which the log goes back."""
    for line in _deletions(evidence):
        times = times_around(line)
        back = [(before, after) for before, after in pairwise(times) if before - after > JUMP]
        if back and line.time is not None:
            ahead = max(before - after for before, after in back)
            return Cause(kind, f"round this line the log's times go back by {ahead}", (line,))
    return None


@rule(
    id="malformed-checkpoint",
    means="a checkpoint file of a broker cannot be read: it is up, and serves none of the replicas in that directory",
    do="Stop the broker, remove the checkpoint that the line names from that directory, and start it.",
    scenario="museum-malformed-checkpoint",
    lines=("CheckpointReadBuffer", "line in checkpoint file"),
)
def malformed(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A reader of checkpoints failed."""
    return _of_lines(kind, evidence.lines("malformed checkpoint"))


@rule(
    id="too-large-to-copy",
    means="a batch is larger than segment.bytes allows now: no replica can copy it, and the partition loses its copies",
    do="Raise segment.bytes above the largest batch.",
    scenario="museum-segment-below-batch",
    lines=("RecordBatchTooLargeException",),
)
def too_large(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A replica, and no producer alone, was refused a batch."""
    told = [log for log in evidence.logs if log.of("too large to copy")]
    return _of_lines(kind, [line for log in told if log.of("cannot copy") for line in log.of("too large to copy")])


@rule(
    id="false-clean-shutdown",
    means="a broker with a torn log was started without its controllers, and gave up with the mark of a clean stop. "
    "Its next start checked nothing, and a later one cut off the records since (KAFKA-15375)",
    do="Start controllers before brokers. Move to 3.5.2 or later. Read the records from another replica: this broker "
    "has lost them.",
    scenario="museum-false-clean-marker",
    lines=("unable to register with the controller quorum", "Corruption found in segment"),
)
def false_clean(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A release that has it; a broker gave up, and found a torn log in a later start."""
    if not has_bug(evidence.release, kind.scenario):
        return None
    for log in evidence.brokers:
        gave_up = log.of("without controllers")
        torn = [line for line in log.of("zeros") if gave_up and line.at > gave_up[0].at]
        if torn:
            return Cause(kind, "a broker gave up without controllers, and later found its log torn", tuple(torn[:1]))
    return None


@rule(
    id="unclean-election",
    means="a replica outside the ISR was elected: records that it lacked are lost",
    do="Set unclean.leader.election.enable=false. Look for the records on the replica that led before, before "
    "it starts.",
    scenario="unclean-election",
    lines=("potential data loss", "UNCLEAN partition change", "Failed to elect leader for partition"),
)
def unclean(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A controller says so, or unclean elections are on and a partition had no replica in sync. Where the last leader
    and who was elected had lost power, this followed from that.
    """
    if told := evidence.unclean:
        fell = history.fell_with_their_leaders(evidence.logs, told, evidence.lost_power, evidence.lost_committed)
        found = _of_lines(kind, told)
        return replace(found, rank=int(fell == told)) if found else None
    if led := evidence.outside:
        return _of_lines(kind, led, "unclean elections are enabled, and a replica led that was not in the ISR")
    if evidence.lines("unclean") or not evidence.lines("unclean enabled"):
        return None
    return _of_lines(
        kind, evidence.lines("no leader"), "unclean elections are enabled, and a partition had no replica in sync left"
    )


@rule(
    id="power-loss",
    means="a machine lost power: the end of a log was never written to its disk",
    do="If all in-sync replicas lost power at one moment, unflushed records are gone. If one kept it, do not start the "
    "others as leaders: compare the replicas first.",
    scenario="page-cache-only",
    lines=(
        "Found record size 0 ",
        "Found invalid messages in log segment",
        "Corruption found in segment",
        " below high watermark ",
    ),
)
def power(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A log that ends in zeros, or torn, or before what had been in it, on a broker that crashed and whose disk was not
    full; or a copied log that ends in zeros.
    """
    if copied := evidence.never_written:
        first = f"{copied[0][0]}, segment {copied[0][1][-1].segment}, byte {copied[0][1][-1].corrupt.position}"
        return Cause(kind, f"{plural(len(copied), 'copied log')} end in what was never written; the first: {first}")
    if not evidence.lines("recovering"):
        return None
    # A full disk tears a log as well.
    lines = [line for log in evidence.logs if not log.of("disk") for line in log.of("zeros")]
    if not lines:
        return _came_back_shorter(evidence, kind)
    crashed = sum(log.crashes > 0 for log in evidence.brokers)
    return _of_lines(
        kind,
        lines,
        f"{plural(len({line.file for line in lines}), 'broker')} found a log that ends in what was never written; "
        f"{crashed} of {plural(len(evidence.brokers), 'broker')} had not stopped cleanly",
    )


def _came_back_shorter(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A log that was cut off by nobody, and ends before what had been in it."""
    logs = [log for log in evidence.logs if not log.of("disk")]
    if told := ends.shorter_than_told(logs):
        return _of_lines(kind, told, "a broker crashed, and its log came back shorter than the broker had told before")
    if told := ends.shorter_than_copied(logs):
        return _of_lines(
            kind, told, "a leader crashed, and its log came back without what a follower had copied from it"
        )
    if told := evidence.lost_committed:
        return _of_lines(kind, told, "a broker crashed in sync, and its log came back without what was committed")
    elected = {history.partition_of(line) for line in (*evidence.unclean, *evidence.outside)}
    lines = ends.shorter_than_committed(logs, evidence.by_epoch, only_again=bool(evidence.lines("unclean enabled")))
    return _of_lines(
        kind,
        [one for one in lines if history.partition_of(one) not in elected],
        "a broker crashed, and its log came back without records that a follower knew to be committed",
    )


@rule(
    id="empty-disk",
    means="a broker came back with an empty directory, and was elected or followed as if it had its records",
    do="Stop it. If another replica still has the records, let that one lead. Replace a disk only when its "
    "broker is in no "
    "ISR.",
    scenario="blank-disk-replacement",
    lines=("No meta.properties file under dir", "Created log for partition ", "Truncating to offset 0"),
)
def empty(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A broker that had run found nothing, or a follower removed all of its log."""
    for log in evidence.brokers:
        starts = [line.at for line in log.of("started")]
        again = [line for line in log.of("empty directory") if any(at < line.at for at in starts)]
        if again:
            return Cause(kind, "a broker that had run before found nothing in its directory", tuple(again[:1]))
    if made := list(history.created_again(evidence.logs)):
        return Cause(kind, "a broker created a partition that it had before", tuple(made[:3]))
    thrown = [line for line in evidence.lines("truncated") if "Truncating to offset 0 " in line.text]
    return _of_lines(kind, thrown, "a follower removed its whole log, because its leader's was empty")


@rule(
    id="duplicate-broker-id",
    means="two machines used one broker id: with KRaft the second can count as the first one's replica",
    do="Stop the second machine. Compare the replicas of every partition that this id holds.",
    scenario="duplicate-id-counts-as-replica",
    lines=("DuplicateBrokerRegistration", "DUPLICATE_BROKER_REGISTRATION", "already registered on the path"),
)
def duplicate_id(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A machine was refused its id, and did not start afterwards."""
    refused = [log for log in evidence.logs if log.of("refused id")]
    others = [log for log in refused if log.is_broker or not log.of("started")]
    # A broker that is refused and starts later had to wait for its own old session.
    never = [log for log in others if not any(one.at > log.of("refused id")[-1].at for one in log.of("started"))]
    if never:
        return _of_lines(kind, never[0].of("refused id"), "a machine was refused its id, and never started")
    return None if others else _of_lines(kind, [line for log in refused for line in log.of("refused id")])


@rule(
    id="topic-name-too-long",
    means="a topic with a long name was deleted, and its brokers took the failed renaming for a failed disk: each of "
    "them gave its replicas up (KAFKA-4893)",
    do="Start the brokers again. Move to 2.2.2, 2.3.0 or later before such a topic is deleted.",
    scenario="museum-long-topic-name",
    lines=("File name too long",),
)
def long_name(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """The file system refused a name."""
    return _of_lines(kind, evidence.lines("long name"))


@rule(
    id="reassigned-to-one",
    means="a reassignment ended while the replicas that stay were out of sync. The old replicas were deleted, and one "
    "good copy is left (KAFKA-15665)",
    do="Do not remove the new replica: it may be the only good copy. Before a reassignment, wait until every ISR is "
    "whole. Releases from 3.8 to 4.2 wait for that themselves.",
    scenario="museum-reassigned-to-one",
    lines=("Shrinking ISR", "scheduled for deletion"),
)
def reassigned(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A release that has it, an ISR that shrank, and a partition that some of its brokers deleted."""
    if not evidence.lines("shrunk") or not has_bug(evidence.release, kind.scenario):
        return None
    return _of_lines(kind, history.deleted_on_some(evidence.logs), "an ISR shrank, and one replica was deleted")


@rule(
    id="topic-made-again",
    means="a broker holds a log of a topic that was deleted and created again with the same name: it has no replica of "
    "the new topic",
    do="Compare topic ids (kafka-topics.sh --describe with partition.metadata). The old log has the old topic's "
    "records: copy it. Then restart the broker. Move to 3.7.0 or later (KAFKA-14616).",
    scenario="museum-made-again",
    lines=("but log already contained topic ID", "InconsistentTopicIdException"),
)
def made_again(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A log with another topic id."""
    return _of_lines(kind, evidence.lines("other topic id"))


@rule(
    id="disk",
    means="a disk was full, failed, or was made read-only, and its broker gave the replicas up",
    do="Do not give the broker an empty disk while it is in an ISR.",
    scenario="disk-full",
    lines=(
        "No space left on device",
        "Input/output error",
        "Read-only file system",
        "Stopping serving logs in",
        "Stopping serving replicas in",
    ),
)
def disk(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A broker says that a disk failed."""
    return _of_lines(kind, evidence.lines("disk"))


@rule(
    id="producer-ids-given-twice",
    means="a migration from ZooKeeper to KRaft assigned producer ids a second time: first records of new producers "
    "were acknowledged as repetitions, and not written (KAFKA-15552)",
    do="Send again what producers sent first after the migration. Move to 3.5.2, 3.6.1, 3.7.0 or later before you "
    "migrate.",
    scenario="museum-ids-given-twice",
    lines=("Completed migration of metadata from",),
)
def ids_given_twice(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A release that has it, and a migration."""
    return _of_lines(kind, evidence.lines("migrated")) if has_bug(evidence.release, kind.scenario) else None


@rule(
    id="follower-refused-batch",
    means="up to 1.1.0: a follower refused a batch of its leader (KAFKA-6003, KAFKA-6975). Its fetcher thread ended, "
    "and it copies no partition from that leader any more",
    do="Do not stop the leader: it may have the only copy. Move to 1.0.2, 1.1.1, 2.0.0 or later, then restart the "
    "follower.",
    scenario="museum-unknown-sequence",
    also=("museum-deleted-half-a-batch",),
    lines=("OutOfOrderSequenceException", "Out of order offsets found", "Error due to"),
)
def refused_batch(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A fetcher of replicas failed; the exception says of which bug, if the release has it."""
    bugs = zip(("sequence refused", "offsets out of order"), (kind.scenario, *kind.also), strict=True)
    has = [lines for lines, bug in bugs if has_bug(evidence.release, bug)]
    told = [log for log in evidence.logs if log.of("fetcher failed")]
    return _of_lines(kind, [line for log in told for lines in has for line in log.of(lines)])


@rule(
    id="isr-change-lost",
    means="a leader has given up changing an ISR (KAFKA-14010): a replica stays out of it although it has every "
    "record, or stays in it and holds up acks=all",
    do="Restart the brokers that logged the line, one after the other, or move the partition's leadership. Then move "
    "to 3.1.0 or later.",
    scenario="museum-isr-change-lost",
    lines=("Failed to enqueue ISR change state",),
)
def isr_change_lost(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A release that has it, and a leader that could not ask again."""
    return _of_lines(kind, evidence.lines("isr change lost")) if has_bug(evidence.release, kind.scenario) else None


@rule(
    id="forgotten-overrides",
    means="broker defaults were changed while brokers ran, and topics' own settings were forgotten (KAFKA-9254)",
    do="Copy the partitions, then restart each broker. Do not change cluster-wide settings before 2.4.1. Set "
    "retention.ms again and look at the log start offsets.",
    scenario="museum-forgotten-overrides",
    lines=("entityPath: brokers/<default>",),
)
def overrides(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A release that has it, a default that changed, and deleted segments."""
    if not evidence.lines("retention") or not has_bug(evidence.release, kind.scenario):
        return None
    return _of_lines(
        kind, evidence.lines("default changed"), "broker defaults were changed, and retention deleted segments"
    )


@rule(
    id="retention",
    means="segments were deleted because they were too old or too many; the clock was right if the times of the log's "
    "lines do not jump back",
    do="Compare this with the topic's retention.ms and retention.bytes, and the brokers' clocks. Set "
    "retention.ms=-1 until "
    "it is clear.",
    scenario="clock-step",
    lines=("retention time ", "retention size "),
)
def retention(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """Segments were deleted."""
    return _of_lines(kind, _deletions(evidence))


def _deletions(evidence: IncidentEvidence) -> list[LogLine]:
    """Lines of retention. Before 0.11 no reason is told, and a truncation deletes segments in the same second."""
    cuts = [line.time for line in evidence.lines("truncated") if line.time is not None]
    return [
        line
        for line in evidence.lines("retention")
        if "Scheduling" not in line.text
        or not any(line.time is not None and abs(line.time - cut) < timedelta(seconds=1) for cut in cuts)
    ]


@rule(
    id="commit-lost",
    means="the log of committed offsets was cut on a broker that had coordinated groups: a commit that it acknowledged "
    "may be lost (KAFKA-20634)",
    do="Move to 4.2.2, 4.3.1 or later. Compare each group's offsets with what its consumers log as committed.",
    scenario="museum-acknowledged-commit-lost",
    lines=("Truncating to offset ",),
)
def commit_lost(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A release that has it, and a cut of the groups' topic."""
    if not has_bug(evidence.release, kind.scenario):
        return None
    lines = [one for one in evidence.lines("truncated") if history.partition_of(one).startswith("__consumer_offsets-")]
    return _of_lines(kind, [one for one in lines if "Truncating to offset 0 " not in one.text])


@rule(
    id="truncation-to-high-watermark",
    means="before 0.11, or with inter.broker.protocol.version below 0.11: a follower truncated to its own high "
    "watermark, which may be behind (KIP-101): acks=all does not prevent it",
    do="Move to 0.11 or later and raise inter.broker.protocol.version on every broker. If a replica still has "
    "the records, "
    "read them from its files before it starts.",
    scenario="double-failover",
    lines=("Truncating to offset ", "Truncating log "),
)
def truncated_to_hw(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A truncation, without leader epochs, on a broker that led afterwards; or on any, if no log says who led."""
    if evidence.by_epoch:
        return None
    if lines := evidence.led_after_a_cut:
        told = "a broker cut its log, and led the partition before it was in sync again"
        return Cause(kind, told, tuple(lines[:3]), rank=-1)
    return None if history.tells_of_leaders(evidence.logs) else _of_lines(kind, ends.real_cuts(evidence.logs))


@rule(
    id="truncation",
    means="from 0.11 on, and before it where that broker did not lead soon afterwards: a follower removed the end of "
    "its log; what its new leader did not have is lost",
    do="With acks=1 these records were acknowledged by one broker alone: set acks=all. With acks=all they were never "
    "acknowledged.",
    scenario="leader-crash",
    lines=("Truncating to offset ", "Truncating log "),
)
def truncated(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A truncation, with leader epochs or on a broker that remained a follower."""
    told = evidence.by_epoch or history.tells_of_leaders(evidence.logs)
    if not told or (not evidence.by_epoch and evidence.led_after_a_cut):
        return None
    again = set(ends.copied_again(evidence.logs))
    return _of_lines(kind, [line for line in ends.real_cuts(evidence.logs) if line not in again])


@rule(
    id="marker-compacted",
    means="transactions write to a compacted topic that has keys of four bytes which are 0 or 1. The cleaner "
    "takes commit "
    "markers for out of date, and committed records vanish when the leader moves (KAFKA-14055)",
    do="Move to 3.0.2, 3.1.2, 3.2.1 or later. Until then use other keys, or stop compaction of this topic.",
    scenario="museum-marker-compacted",
)
def marker_compacted(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A release that has it, transactions, and such a key."""
    if not has_bug(evidence.release, kind.scenario):
        return None
    for path in evidence.partitions:
        if not path.name.startswith("__") and (found := keys_like_markers(path)):
            return Cause(kind, f"{path}: a key like a marker's at offset {found}, among transactions")
    return None


def has_bug(release: str, exhibit: str) -> bool:
    """Whether a release is told and has the bug that a scenario of the museum shows."""
    if not release:
        return False
    from harness.scenario import get_scenario  # only where a cause depends on it, for it loads every scenario

    shown = get_scenario(exhibit).exhibit
    return shown is not None and shown.bug.is_in(numbers(release))


def keys_like_markers(partition: Path) -> int | None:
    """The offset of the first record in a partition whose key is the integer 0 or 1, if transactions write to it."""
    transactional, found = False, None
    for segment in sorted(partition.glob("*.log")):
        with segment.open("rb") as file:
            data = file.read(MOST_READ)
        for batch in batches.batches(data):
            if isinstance(batch, batches.Corrupt):
                continue
            transactional = transactional or batch.header.is_transactional
            if not batch.header.is_control and found is None:
                keys = zip(batch.offsets, batch.keys, strict=True)
                found = next((int(offset) for offset, key in keys if key in MARKERS), None)
        if transactional and found is not None:
            return found
    return None


@rule(
    id="aborted-came-back",
    means="compaction lost the note that a transaction was aborted: its records count as committed, and committed "
    "ones of the same keys are removed (KAFKA-13727)",
    do="Stop compaction of this topic. Move to 2.8.2, 3.0.2, 3.1.1, 3.2.0 or later. Write the committed values again.",
    scenario="museum-aborted-survives",
)
def aborted_came_back(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A release that has it, and an aborted transaction with records that no index of its partition names."""
    if not has_bug(evidence.release, kind.scenario):
        return None
    for path in evidence.partitions:
        if not path.name.startswith("__") and (producer := aborted_without_index(path)) is not None:
            return Cause(kind, f"{path}: producer {producer} aborted records, and no .txnindex names it")
    return None


def aborted_without_index(partition: Path) -> int | None:
    """A producer with records and an abort marker behind them in a partition whose indexes do not name it."""
    named: set[int] = set()
    opened: set[int] = set()
    aborted: set[int] = set()
    for segment in sorted(partition.glob("*.log")):
        index = segment.with_suffix(".txnindex")
        try:
            if index.exists():
                named |= {one.producer_id for one in indexes.parse_transaction_index(index.read_bytes(), str(index))}
            with segment.open("rb") as file:
                data = file.read(MOST_READ)
        except (OSError, errors.FilesError):
            return None
        for batch in batches.batches(data):
            if isinstance(batch, batches.Corrupt) or not batch.header.is_transactional:
                continue
            producer = int(batch.header.producer_id)
            if not batch.header.is_control:
                if len(batch.offsets):
                    opened.add(producer)
            elif producer in opened:
                opened.discard(producer)
                aborted |= {producer} if ABORT in batch.keys else set()
    return min(aborted - named, default=None)


@rule(
    id="group-not-loaded",
    means="a coordinator did not load the offsets of its groups: they go back, or cannot commit",
    do="Look up the known bugs of your release (`kafka-chaos museum --version V`). Move to a release that has none of "
    "them.",
    scenario="museum-unloadable-group",
    lines=(
        "Error loading offsets from",
        "Error in loading offsets from",
        "Scheduling loading of offsets and group metadata from",
    ),
)
def group(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A coordinator failed to load, or began to and never said that it had finished."""
    if failed := evidence.lines("group"):
        return _of_lines(kind, failed)
    for log in evidence.brokers:
        for line in log.of("loading offsets"):
            partition = line.text.partition(" from ")[2].split()[0]
            done = any(one.at > line.at and partition in one.text for one in log.of("loaded offsets"))
            if not done and log.file.stat().st_size - line.at > LOG_GOES_ON:
                return Cause(kind, f"{partition} was never loaded after this line", (line,))
    return None


@rule(
    id="oldest-offsets",
    means="a coordinator of 0.11.0.0 that loads a group's offsets keeps the oldest of them: the group reads again "
    "what it has long processed (KAFKA-5600)",
    do="Move to 0.11.0.1 or later. Set the groups to their last positions (kafka-consumer-groups.sh --reset-offsets).",
    scenario="museum-oldest-offsets",
    lines=("Finished loading offsets and group metadata from",),
)
def oldest(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A release that has it, and a coordinator that loaded groups after a broker had crashed or stopped."""
    if not has_bug(evidence.release, kind.scenario) or not (evidence.lines("recovering") or evidence.lines("shrunk")):
        return None
    return _of_lines(kind, [one for one in evidence.lines("loaded offsets") if "Finished loading" in one.text])


@rule(
    id="expired-offsets",
    means="a coordinator deleted committed offsets as expired: their groups begin where auto.offset.reset says. Before "
    "2.1 this strikes groups that are alive and have nothing to commit (KAFKA-4682); in the middle of an upgrade to "
    "2.1, groups without members (KAFKA-8069); from 2.4 to 3.1.0, groups that form again (KAFKA-13636)",
    do="Set offsets.retention.minutes to more than the longest time without a commit. Move to 2.1 or later. Commit the "
    "last positions by hand (kafka-consumer-groups.sh --reset-offsets).",
    scenario="museum-expired-offsets",
    also=("museum-upgrade-expires-offsets", "museum-rebalance-expires-offsets"),
    lines=("expired offsets in",),
)
def expired(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A coordinator removed offsets; the release says by which bugs it may."""
    lines = evidence.lines("expired offsets")
    bugs = [one for one in (kind.scenario, *kind.also) if lines and has_bug(evidence.release, one)]
    found = _of_lines(kind, lines)
    return Cause(kind, f"{found.why}; this release has {', '.join(bugs)}", found.lines) if found and bugs else found


@rule(
    id="open-transaction",
    means="a transaction in a copied partition has no marker: readers under read_committed wait, or skip what "
    "it committed",
    do="Look up the known bugs of your release (`kafka-chaos museum --version V`): markers were lost by compaction, by "
    "unclean elections and by losses of power. kafka-transactions.sh shows the producer, and can abort it.",
    scenario="museum-late-produce",
    also=("museum-marker-lost",),
)
def open_transaction(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A producer without a marker behind its records."""
    for path in evidence.partitions:
        if not path.name.startswith("__") and (producers := open_producers(path)):
            told = ", ".join(str(one) for one in producers[:3])
            return Cause(kind, f"{path}: producer {told} has records behind its last marker")
    return None


def open_producers(partition: Path) -> list[int]:
    """The producers whose last transactional batch in a partition has no marker behind it."""
    last: dict[int, bool] = {}
    for segment in sorted(partition.glob("*.log")):
        try:
            headers, _ = columns.read_headers(segment)
        except (OSError, errors.FilesError):
            return []
        chosen = headers[(headers["attributes"] & TRANSACTIONAL) > 0]
        for producer, attributes in zip(chosen["producer_id"], chosen["attributes"], strict=True):
            last[int(producer)] = not int(attributes) & CONTROL
    return [producer for producer, is_open in last.items() if is_open]


@rule(
    id="transaction-timed-out",
    means="a coordinator aborted a transaction that was open for too long: its records are hidden from readers under "
    "read_committed. Before 0.11.0.2 its producer was not told, and committed the rest of it (KAFKA-6119)",
    do="Find that producer's log: it got an error and must send these records again. Set transaction.timeout.ms above "
    "its longest transaction.",
    scenario="museum-timed-out-transaction",
    lines=("ongoing transaction",),
)
def transaction_timed_out(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A coordinator rolled a transaction back by itself."""
    return _of_lines(kind, evidence.lines("transaction timed out"))


@rule(
    id="started-without-controllers",
    means="a broker was started before its controllers and gave up: log start offsets go back, deleted records return",
    do="Start controllers before brokers. Compare log start offsets, and delete again what has returned.",
    scenario="museum-deleted-records-return",
    lines=("unable to register with the controller quorum",),
)
def without_controllers(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A broker gave up because it found no controller."""
    return _of_lines(kind, evidence.lines("without controllers"))


@rule(
    id="replication-stopped",
    means="a follower's fetcher failed: it copies nothing more of the partitions that the line names",
    do="Do not stop the leader: it may have the only copy. Restart the follower, and look whether it returns to the "
    "ISR. If it fails again, look up the known bugs of your release (`kafka-chaos museum --version V`).",
    scenario="museum-segment-below-batch",
    lines=("Error due to", "marked as failed"),
)
def stopped(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A fetcher of replicas failed, and no disk."""
    return _of_lines(kind, [line for log in evidence.logs if not log.of("disk") for line in log.of("fetcher failed")])


@rule(
    id=ALL_CRASHED,
    means="the log of every broker has this line: all were killed or lost power; if all lost power, unflushed records "
    "are gone",
    do="Find out whether power was lost. Compare the replicas of each partition before brokers start again.",
    scenario="memory-survives",
    lines=("Recovering unflushed segment",),
)
def all_crashed(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """Each broker recovered a log."""
    brokers = evidence.brokers
    if len(brokers) < 2 or not all(log.crashes for log in brokers):
        return None
    return _of_lines(kind, evidence.lines("recovering"))


@rule(
    id="topic-deleted",
    means="a topic was deleted by request, and its records with it",
    do="Find out who asked for it. Copies of its directories end in -delete for a minute (file.delete.delay.ms): save "
    "them from brokers that are down.",
    scenario="museum-made-again",
    lines=("RemoveTopicRecord", "Deletion of topic "),
)
def topic_deleted(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A controller deleted a topic."""
    return _of_lines(kind, evidence.lines("topic deleted"))


@rule(
    id="records-deleted",
    means="a client asked for the deletion of a partition's first records (DeleteRecords; the log has it from 2.7 on)",
    do="Find out who called kafka-delete-records.sh or an admin client. Streams does so with its internal topics.",
    scenario="exactly-once",
    lines=("due to client delete records request",),
)
def records_deleted(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A broker moved the start of a log by request."""
    return _of_lines(kind, evidence.lines("records deleted"))


@rule(
    id="refused",
    means="writes were refused: their producers were told, and nothing acknowledged is concerned",
    do="Look whether the producers gave up.",
    scenario="min-insync-refusal",
    lines=("NotEnoughReplicas",),
)
def refused(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """Writes were refused. Where a leader was replaced, this followed from something else."""
    found = _of_lines(kind, evidence.lines("refused"))
    return replace(found, rank=1) if found and history.leaders_moved(evidence.logs) else found


@rule(
    id="crash",
    means="one log alone has this line, or not that of every broker: those brokers were killed or lost power; if they "
    "lost power, what they had not flushed is gone",
    do="If several brokers show it at one moment, compare their replicas before any of them leads.",
    scenario="memory-survives",
    lines=("Recovering unflushed segment",),
)
def crashed(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A broker recovered a log."""
    return None if all_crashed(evidence, kind) else _of_lines(kind, evidence.lines("recovering"))


@rule(
    id="last-leader-again",
    means="the controller calls an election unclean because the partition's last leader had crashed; no other replica "
    "had more, so only what a loss of power took is missing",
    do="Find out whether its machine lost power. If not, nothing is lost.",
    scenario="last-replica-standing",
    lines=("UNCLEAN partition change", "potential data loss"),
)
def last_leader(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """The elected replica is the last known leader (KIP-966), or by brokers' logs the last that led."""
    again = history.elected_again(evidence.logs, evidence.lines("unclean"))
    return _of_lines(kind, [*evidence.lines("last known leader"), *again])


@rule(
    id="compacted",
    means="a topic is compacted: of each key only the newest record remains",
    do="Look up cleanup.policy of the topic. Records without a newer one of the same key must still be there.",
    scenario="museum-marker-compacted",
    lines=("leaned log ",),
)
def compacted(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A cleaner finished a log of a user's topic."""
    return _of_lines(kind, evidence.lines("compacted"))


@rule(
    id="isolated-controller",
    means="a controller that was cut off from the others remained the brokers' controller: no partition got another "
    "leader while this lasted (KAFKA-15489)",
    do="Restart the controller that was cut off. Move to 3.7.0 or later.",
    scenario="museum-isolated-controller",
    lines=("Completed transition to ",),
)
def isolated_controller(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A release that has it, and a controller that led on after another one had been elected."""
    if not has_bug(evidence.release, kind.scenario):
        return None
    led = [line for line in evidence.lines("quorum state") if "transition to Leader(" in line.text]
    for line in led:
        moved = [one for log in evidence.logs if log.file == line.file for one in log.of("quorum state")]
        until = next((one.time for one in moved if one.at > line.at), None)
        for other in led:
            if other.file == line.file or line.time is None or other.time is None or other.time <= line.time:
                continue
            if until is None or until > other.time + LEADS_ON:
                return Cause(kind, "two controllers took themselves for the active one", (line, other))
    return None


@rule(
    id="session",
    means="a broker was silent for longer than its session: it was replaced, and may have taken writes (acks=1)",
    do="Look for long garbage collections and cut networks at that time. Use acks=all.",
    scenario="isolated-broker",
    lines=("ession expired", "because its session has timed out", "zookeeper state changed (Expired)"),
)
def session(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """A session ended."""
    return _of_lines(kind, evidence.lines("session"))


@rule(
    id="shrunk-isr",
    means="followers fell behind: until they returned, fewer replicas had what was acknowledged",
    do="Set min.insync.replicas=2, so that acks=all never means one replica.",
    scenario="isr-shrink-expand",
    also=("museum-shrunk-isr-stalls",),
    lines=("Shrinking ISR",),
)
def shrunk(evidence: IncidentEvidence, kind: CauseKind) -> Cause | None:
    """An ISR shrank."""
    return _of_lines(kind, evidence.lines("shrunk"))


def kinds() -> Iterator[CauseKind]:
    """Every cause that is known, in the order in which they are told."""
    return (kind for kind, _ in RULES)


def releases(logs: Iterable[LogFile]) -> list[str]:
    """The releases that logs name, the oldest first."""
    return sorted({release for log in logs for release in log.releases}, key=numbers)
