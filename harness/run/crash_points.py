"""Where an application stands still between two of its steps, and what others say of it there.

The application says itself that it stands still; it cannot be asked what took effect. So the group's coordinator is
asked what is committed, and the leader of its output how much can be read: both from outside, while nothing moves. Of a
program that writes to a store the store is asked for both. A consumer of 0.8 that commits to ZooKeeper has its offset
in a znode, which is read in the coordinator's place. A share group commits no offset: its coordinator says how
many records it is done with, which are those of the rounds before.

Kafka Streams and Kafka Connect do not stand still where they are told to. They are stopped from outside as a whole,
when their outputs are written and before the next commit, which an interval puts off. Or they are stopped when a broker
has answered their commit and they have not been told (harness/faults/withheld.py). What a source of Connect has
committed is told by Connect's own topic of offsets, as lines. A query of Spark is held when it makes the file that is
its commit (harness/workloads/spark.py), and what it has committed its checkpoint tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evidence import events
from evidence.errors import HarnessError, WaitTimeout
from harness.polling import poll
from harness.run.who import Partition
from harness.workloads.handles.application import CrashPoint
from harness.workloads.handles.connect import ConnectWorker
from harness.workloads.handles.spark import SparkQuery
from harness.workloads.spark import committed_in
from harness.workloads.stores import is_written_to, keeps_offsets, name_of, read_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.run.connectors import Connectors
    from harness.run.ends import EndOffsets
    from harness.run.groups import Groups
    from harness.run.parts import Parts
    from harness.run.sequence_log import SequenceLog
    from harness.run.share_groups import ShareGroups
    from harness.workloads.handles.application import Application, StreamsApplication
    from harness.workloads.stores.types import Stored

    Working = Application | StreamsApplication | ConnectWorker | SparkQuery
    """Whoever works on inputs."""

STILL_LIMIT_S: Final = 90.0
"""It has to join its group first, which may wait for a member that died."""
SENT: Final = CrashPoint("send", "commit")
"""Where Kafka Streams, Kafka Connect and Spark are stopped: outputs are written, and their inputs not committed."""
UNANSWERED: Final = CrashPoint("commit", "answer")
"""Where they are stopped, too: the commit is carried out, and its answer withheld."""
ASK_LIMIT_S: Final = 30.0
STANDING_S: Final = 0.05
AGAIN_S: Final = 0.2
"""A reader of a store keeps its writer from committing for a moment."""


class CrashPoints:
    """Waits for applications to stand still."""

    def __init__(
        self,
        parts: Parts,
        sequence_log: SequenceLog,
        groups: Groups,
        shares: ShareGroups,
        ends: EndOffsets,
        connectors: Connectors,
    ) -> None:
        self._timeline, self._sequence_log = parts.timeline, sequence_log
        self._groups, self._shares, self._ends, self._connectors = groups, shares, ends, connectors

    def wait_crash_point(
        self,
        application: Application,
        t: Partition,
        *,
        committed: int | None = None,
        timeout_s: float = STILL_LIMIT_S,
    ) -> events.CrashPoint:
        """Wait until an application that is given the inputs of t stands still where it was told to; what the group's
        coordinator and the leader of its output say of it there, which the timeline has. If its client is to commit an
        offset by itself there (`committed`), that is waited for, too.

        Raises WaitTimeout if it does not come there in time, PreconditionNotHeld if nobody answers.
        """
        with self._sequence_log.step("wait until an application stands still", process=application.name):
            at = application.wait_still(timeout_s=timeout_s)
        if committed is not None and application.in_zookeeper:
            self._groups.wait_in_zookeeper(application.group, t, committed, timeout_s)
        elif committed is not None:
            self._groups.wait_committed(application.group, t, committed, timeout_s)
        return self._seen(application, t, at)

    def wait_any_crash_point(
        self, applications: Sequence[Application], t: Partition, *, timeout_s: float = STILL_LIMIT_S
    ) -> Application:
        """Wait until one of several applications that share the inputs of t stands still where it was told to. Returns
        it; the timeline has what others say of it there.

        Raises WaitTimeout if none comes there in time, PreconditionNotHeld if nobody answers, HarnessError if one ends.
        """
        with self._sequence_log.step("wait until one of the applications stands still"):
            found = poll(
                lambda: next((one for one in applications if one.stands_still()), None),
                timeout_s,
                until=lambda standing: standing is not None,
                every_s=STANDING_S,
            )
        if found is None:
            said = ", ".join(one.name for one in applications)
            raise WaitTimeout(f"none of {said} stands still after {timeout_s:.0f} s")
        self.wait_crash_point(found, t)
        return found

    def freeze_after_outputs(
        self,
        application: StreamsApplication | ConnectWorker | SparkQuery,
        t: Partition,
        *,
        written: int,
        timeout_s: float = STILL_LIMIT_S,
    ) -> events.CrashPoint:
        """Wait until its outputs are written (`wait_outputs`), and stop its process then; what the group's coordinator,
        Connect's topic of offsets or Spark's checkpoint, and the leader of the output say of it, which the timeline
        has.

        Raises as `wait_outputs`, PreconditionNotHeld if nobody answers, HarnessError if the process does not stop.
        """
        self.wait_outputs(application, t, written=written, timeout_s=timeout_s)
        self._stop(application)
        return self._seen(application, t, SENT)

    def freeze_unanswered(
        self,
        application: StreamsApplication | ConnectWorker,
        t: Partition,
        *,
        committed: int,
        timeout_s: float = STILL_LIMIT_S,
    ) -> events.CrashPoint:
        """Stop the process of an application whose commit was answered and that has not been told (`withhold_answer`).
        Wait until the commit has taken effect: the committed offset is `committed`, and no transaction is open in the
        output. Returns what others say of it then, which the timeline has.

        Raises WaitTimeout if it does not take effect in time, PreconditionNotHeld if nobody answers, HarnessError if
        the process does not stop.
        """
        self._stop(application)
        with self._sequence_log.step("wait until its commit has taken effect", process=application.name):
            found = poll(
                lambda: self._committed(application, t),
                timeout_s,
                until=lambda offset: offset == committed,
                every_s=AGAIN_S,
            )
        if found != committed:
            raise WaitTimeout(f"{application.name}: {found} is committed after {timeout_s:.0f} s, not {committed}")
        self._ends.wait_stable(Partition(application.output, t.number), timeout_s=timeout_s)
        return self._seen(application, t, UNANSWERED)

    def _stop(self, application: StreamsApplication | ConnectWorker | SparkQuery) -> None:
        with self._sequence_log.step("stop the process", process=application.name):
            application.freeze()

    def wait_outputs(
        self,
        application: StreamsApplication | ConnectWorker | SparkQuery,
        t: Partition,
        *,
        written: int,
        timeout_s: float = STILL_LIMIT_S,
    ) -> None:
        """Wait until a reader of everything can read the output of an application of Kafka Streams or of Spark, or of a
        source of Kafka Connect, up to the offset `written`. Of a sink of Kafka Connect so many lines in its file.

        Raises WaitTimeout if the output does not get there in time, HarnessError if the process has ended.
        """
        with self._sequence_log.step("wait until its outputs are written", process=application.name, end=written):
            end = poll(
                lambda: self._written(application, t),
                timeout_s,
                until=lambda end: end >= written,
                every_s=AGAIN_S,
                watch=application.require_running,
            )
        if end < written:
            output = name_of(application.store) if application.store else Partition(application.output, t.number)
            raise WaitTimeout(f"{application.name}: {output} ends at {end} after {timeout_s:.0f} s, not at {written}")

    def wait_flushed(
        self, application: StreamsApplication, before: frozenset[str], *, timeout_s: float = STILL_LIMIT_S
    ) -> None:
        """Wait until the store of an application of Kafka Streams has written what it had in memory to a file that was
        not there `before` (an SST file of RocksDB).

        Raises WaitTimeout if it has not in time, HarnessError if the process has ended.
        """
        with self._sequence_log.step("wait until its store has written a file", process=application.name):
            found = poll(
                lambda: application.files_of_state() - before,
                timeout_s,
                every_s=AGAIN_S,
                watch=application.require_running,
            )
        if not found:
            raise WaitTimeout(f"{application.name}: its store has written no file after {timeout_s:.0f} s")
        self._sequence_log.note(f"the store of {application.name} has written {', '.join(sorted(found))}")

    def wait_store(self, application: StreamsApplication, *, timeout_s: float = STILL_LIMIT_S) -> None:
        """Wait until an application of Kafka Streams has a store: that of a task, or of its standby replica.

        Raises WaitTimeout if it has none in time, HarnessError if the process has ended.
        """
        with self._sequence_log.step("wait until it has a store", process=application.name):
            found = poll(application.stores, timeout_s, every_s=AGAIN_S, watch=application.require_running)
        if not found:
            raise WaitTimeout(f"{application.name}: there is no store in its directory after {timeout_s:.0f} s")
        self._sequence_log.note(f"{application.name} has {', '.join(sorted(found))}")

    def wait_any_at_work(
        self, applications: Sequence[StreamsApplication], *, timeout_s: float = STILL_LIMIT_S
    ) -> StreamsApplication:
        """Wait until one of several processes of an application of Kafka Streams, with one task, has made an output.
        Returns it: the others have none of the tasks, or a standby replica.

        Raises WaitTimeout if none has in time, HarnessError if one ends.
        """
        with self._sequence_log.step("wait until one of the processes is at work"):
            found = poll(
                lambda: next((one for one in applications if one.processed()), None),
                timeout_s,
                until=lambda working: working is not None,
                every_s=AGAIN_S,
            )
        if found is None:
            raise WaitTimeout(f"none of {', '.join(one.name for one in applications)} has made an output")
        found.beside = tuple(one.producer_id for one in applications if one is not found)
        self._sequence_log.note(f"{found.name} is at work")
        return found

    def wait_written(self, t: Partition, end: int, *, timeout_s: float = STILL_LIMIT_S) -> None:
        """Wait until a reader of everything can read a partition up to the offset `end`. Raises WaitTimeout if not in
        time.
        """
        with self._sequence_log.step(f"wait until {t} can be read to {end}"):
            seen = poll(lambda: self._readable(t), timeout_s, until=lambda offset: offset >= end, every_s=AGAIN_S)
        if seen < end:
            raise WaitTimeout(f"{t} ends at {seen} after {timeout_s:.0f} s, not at {end}")

    def _readable(self, t: Partition) -> int:
        """Up to where a reader of everything is given a partition; -1 if nobody says."""
        ends = self._ends.watch_ends(t, 0.0)
        return -1 if ends is None else ends.high_watermark

    def _written(self, application: StreamsApplication | ConnectWorker | SparkQuery, t: Partition) -> int:
        """How many records of its output a reader of everything is given, or how many lines are in its file; -1 if
        nobody says.
        """
        if application.store:
            return _stored(application).made_of(*t)
        return self._readable(Partition(application.output, t.number))

    def hold_commit(self, query: SparkQuery) -> None:
        """Have a query of Spark stand still before it commits its next batch, until it is killed."""
        with self._sequence_log.step("hold the commit of the next batch", process=query.name):
            query.hold_commit()

    def wait_commit_held(
        self, query: SparkQuery, t: Partition, *, timeout_s: float = STILL_LIMIT_S
    ) -> events.CrashPoint:
        """Wait until a query of Spark on t stands still before it commits a batch; what its checkpoint, and the leader
        of its output or its store, say of it there, which the timeline has.

        Raises WaitTimeout if it does not come there in time, PreconditionNotHeld if nobody answers, HarnessError if the
        query has ended.
        """
        with self._sequence_log.step("wait until the commit of a batch is held", process=query.name):
            held = poll(query.commit_is_held, timeout_s, until=bool, every_s=AGAIN_S)
        if not held:
            raise WaitTimeout(f"{query.name} has no batch to commit after {timeout_s:.0f} s")
        return self._seen(query, t, SENT)

    def wait_checkpointed(self, query: SparkQuery, t: Partition, offset: int, *, timeout_s: float) -> None:
        """Wait until the checkpoint of a query of Spark says that it is done with t up to this offset.

        Raises WaitTimeout if it does not in time, HarnessError if the query has ended or the checkpoint is no such.
        """
        with self._sequence_log.step(f"wait until {offset} of {t} is committed in the checkpoint"):
            found = poll(
                lambda: committed_in(query.checkpoint, t.topic, t.number),
                timeout_s,
                until=lambda committed: committed == offset,
                every_s=AGAIN_S,
                watch=query.require_running,
            )
        if found != offset:
            raise WaitTimeout(f"{offset} of {t} is not committed in the checkpoint after {timeout_s:.0f} s: {found} is")

    def wait_stored(self, application: Application, t: Partition, offset: int, *, timeout_s: float) -> None:
        """Wait until this offset of t is committed in the store that an application writes to. Raises WaitTimeout if
        it is not in time, HarnessError if the store cannot be read.
        """
        key = (t.topic, t.number)
        with self._sequence_log.step(f"wait until {offset} of {t} is committed in the store"):
            found = poll(
                lambda: _stored(application).offsets.get(key),
                timeout_s,
                until=lambda following: following == offset,
                every_s=AGAIN_S,
            )
        if found != offset:
            raise WaitTimeout(f"{offset} of {t} is not committed in the store after {timeout_s:.0f} s: {found} is")

    def ask_store(self, application: Application, t: Partition, *, timeout_s: float) -> events.StoreAnswer:
        """What the store that an application writes to has of t, which the timeline has; asked for until it answers.

        Raises HarnessError if it does not in time.
        """
        with self._sequence_log.step("ask the store what it has", process=application.name):
            stored = poll(
                lambda: _answer(application), timeout_s, until=lambda answer: answer is not None, every_s=AGAIN_S
            )
        stored = stored or _stored(application)
        answer = events.StoreAnswer(
            process=application.name,
            store=name_of(application.store),
            topic=t.topic,
            partition=t.number,
            committed=stored.offsets.get((t.topic, t.number)),
            outputs=stored.made_of(t.topic, t.number),
        )
        self._timeline.append(answer)
        return answer

    def _seen(self, application: Working, t: Partition, at: CrashPoint) -> events.CrashPoint:
        """What others say of an application that stands still, which the timeline has."""
        seen = self._of_store(application, t, at) if application.store else self._of_brokers(application, t, at)
        self._timeline.append(seen)
        return seen

    def _of_store(self, application: Working, t: Partition, at: CrashPoint) -> events.CrashPoint:
        """What the store says; of one that keeps no offsets the group's coordinator says how far it has come."""
        stored, store = _stored(application), application.store
        outputs = stored.made_of(*t)
        kept = keeps_offsets(store) and not isinstance(application, SparkQuery)
        return _event(
            application,
            t,
            at,
            committed=stored.offsets.get((t.topic, t.number)) if kept else self._committed(application, t),
            outputs=outputs,
            written=outputs,
            store=name_of(store),
            store_is_written_to=is_written_to(store),
        )

    def _of_brokers(self, application: Working, t: Partition, at: CrashPoint) -> events.CrashPoint:
        """What the group's coordinator and the leader of the output say."""
        output = Partition(application.output, t.number)
        # Its leader may have died just now, and the next one is not elected.
        ends = poll(
            lambda: self._ends.watch_ends(output, 0.0),
            ASK_LIMIT_S,
            until=lambda answer: answer is not None,
            every_s=AGAIN_S,
        )
        self._sequence_log.require("the leader says how far the output may be read", ends is not None)
        assert ends is not None
        return _event(
            application,
            t,
            at,
            committed=self._committed(application, t),
            outputs=ends.last_stable_offset,
            written=ends.high_watermark,
            in_zookeeper=application.in_zookeeper,
        )

    def _committed(self, application: Working, t: Partition) -> int | None:
        """The committed offset, where the group has it; of a share group how many records it is done with, of a source
        of Connect how many lines, of a query of Spark what its checkpoint says.
        """
        if isinstance(application, SparkQuery):
            return committed_in(application.checkpoint, t.topic, t.number)
        if isinstance(application, ConnectWorker) and not application.store:
            lines = self._connectors.lines_committed(application)
            self._sequence_log.require("Connect's topic of offsets says what is committed", lines is not None)
            return lines
        if application.shares:
            told = self._shares.share_progress(application.group, t, ASK_LIMIT_S)
            said = told.done is not None
            self._sequence_log.require("the coordinator says how far the group has come", said, error=told.error)
            return told.done
        if application.in_zookeeper:
            return self._groups.in_zookeeper(application.group, t).offset
        answer = self._groups.committed(application.group, t, ASK_LIMIT_S)
        self._sequence_log.require("the coordinator says what is committed", answer.error is None, error=answer.error)
        return answer.offset


def _event(
    application: Working,
    t: Partition,
    at: CrashPoint,
    *,
    committed: int | None,
    outputs: int,
    written: int,
    store: str = "",
    store_is_written_to: bool = False,
    in_zookeeper: bool = False,
) -> events.CrashPoint:
    """Where an application stands still, and what is committed there and written."""
    return events.CrashPoint(
        process=application.name,
        producer=application.producer_id,
        done=at.done,
        following=at.following,
        round=at.round,
        group=application.group,
        topic=t.topic,
        partition=t.number,
        committed=committed,
        outputs=outputs,
        written=written,
        store=store,
        store_is_written_to=store_is_written_to,
        in_zookeeper=in_zookeeper,
        beside=application.beside,
    )


def _stored(application: Working) -> Stored:
    """What is committed in the store that an application writes to."""
    return read_store(application.store, application.run)


def _answer(application: Application) -> Stored | None:
    """The same; None while the store cannot be read."""
    try:
        return _stored(application)
    except HarnessError:
        return None
