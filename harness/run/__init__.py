"""One run as its scenario sees it: who is who, what to do to whom, what to wait for.

Steps name roles ("the leader of t-0"), never brokers; a role is resolved when the step runs and both are recorded. Each
word is one sentence of a scenario. It writes a step to the timeline, does one thing, and either proves it (faults),
waits for its condition with a limit (waits), or records what came of it (sends). The words come from one module for
each noun:

    sequence_log    steps, notes, and preconditions: what the timeline says of the sequence itself
    who             roles and what the cluster states of them
    clients         producers, loads, consumers, transactions, pipelines
    connectors      workers and connectors of Kafka Connect
    crash_points    where an application stands still, and what others say of it there
    groups          what consumer groups have committed
    logs            batches whose bytes are known, and searches by offset and by time
    ends            how far a partition may be read
    paces           how long an application takes that is left alone
    threads         how busy a thread of a broker is
    waits           until the cluster states something, or a node has logged it
    disks           what lies on the brokers' disks, and copies of it
    directories     replicas that are moved between a broker's log directories
    administration  topics, settings, reassignments, elections that are asked for
    nemesis         faults, and starting again what they struck
    migration       from ZooKeeper to KRaft
    upgrades        from one release to the next

`Run` is all of them: it inherits their words. A noun that needs another one's words is given it when it is made, so
that each can be made and tested alone; within a run that is the run itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from harness.run.administration import Administration
from harness.run.clients import BATCH, NO_SETTINGS, Clients
from harness.run.connectors import Connectors
from harness.run.crash_points import CrashPoints
from harness.run.directories import LogDirectories
from harness.run.disks import LiveFiles
from harness.run.ends import EndOffsets
from harness.run.groups import Groups
from harness.run.logs import Logs
from harness.run.migration import Migrator
from harness.run.nemesis import Nemesis
from harness.run.paces import LIMIT_S as PACE_LIMIT_S
from harness.run.paces import TELLS_ENDS, Paces
from harness.run.parts import OfCase, Parts
from harness.run.sequence_log import DutyNotDone, PreconditionNotHeld, SequenceLog
from harness.run.share_groups import ShareGroups
from harness.run.threads import Threads
from harness.run.upgrades import Upgrader
from harness.run.waits import START_LIMIT_S, Waits
from harness.run.who import OFFSETS, Partition, Target, Who
from harness.workloads.handles.application import NOWHERE, Counting, CrashPoint

if TYPE_CHECKING:
    from harness.cluster.versions import Version
    from harness.plan import TopicPlan
    from harness.subjects import UserSubject
    from harness.workloads.handles.application import Application, StreamsApplication
    from harness.workloads.handles.client import BackgroundConsumer
    from harness.workloads.handles.connect import ConnectWorker
    from harness.workloads.handles.spark import SparkQuery
    from harness.workloads.handles.transactions import Pipeline

__all__ = ["OFFSETS", "START_LIMIT_S", "DutyNotDone", "Partition", "Parts", "PreconditionNotHeld", "Run", "Target"]


class Run(
    SequenceLog,
    Who,
    Waits,
    LiveFiles,
    LogDirectories,
    Administration,
    Nemesis,
    Migrator,
    Upgrader,
    Clients,
    Logs,
    EndOffsets,
    Groups,
    ShareGroups,
    Connectors,
    CrashPoints,
    Paces,
    Threads,
):
    """The running cluster, its witnesses and clients, in the words of a scenario."""

    version: Version
    topic: TopicPlan
    case: OfCase
    """What the steps may know of the case that is run: its acks, its client's settings."""
    given: tuple[UserSubject, ...]
    """Subjects of the user's own, in place of the scenario's."""

    def __init__(self, parts: Parts) -> None:
        SequenceLog.__init__(self, parts.timeline)
        Who.__init__(self, parts.topics, parts.cluster, parts.observer)
        Waits.__init__(self, parts.observer, self, self, alters_by_request=parts.version.uses_alter_partition)
        LiveFiles.__init__(self, parts, self)
        LogDirectories.__init__(self, parts, self, self)
        Administration.__init__(self, parts, self, self, self)
        Nemesis.__init__(self, parts, self, self)
        Migrator.__init__(self, parts, self, self, self, self)
        Upgrader.__init__(self, parts, self, self, self, self)
        Clients.__init__(self, parts, self)
        Logs.__init__(self, parts, self, self, self._register)
        EndOffsets.__init__(self, parts, self)
        Groups.__init__(self, parts, self)
        ShareGroups.__init__(self, parts, self, self)
        Connectors.__init__(self, parts, self, self)
        CrashPoints.__init__(self, parts, self, self, self, self, self)
        Paces.__init__(self, parts, self, self, self)
        Threads.__init__(self, parts.timeline, self)
        self._random = Random(parts.record.run.seed)
        self.version, self.topic, self.case, self.given = parts.version, parts.topics[0], parts.case, parts.given
        self.cluster, self.observer, self.timeline = parts.cluster, parts.observer, parts.timeline

    def vary(self, usual: float, low: float, high: float) -> float:
        """A number of this run's own, for what the sequence allows from `low` to `high`: `usual` with seed 1, with any
        other seed one that is drawn from it. run.json has it (`drawn`), the timeline as a note.
        """
        drawn = usual if self._record.run.seed == 1 else round(self._random.uniform(low, high), 3)
        self._record.change(drawn=(*self._record.run.drawn, drawn))
        self.note(f"{drawn:g}, by the seed, from {low:g} to {high:g}")
        return drawn

    def let_pass(self, seconds: float, what: str) -> None:
        """Wait so long, where the time is the sequence: for what happens, or must not, by a broker's clock alone."""
        with self.step(f"wait until {what}", seconds=seconds):
            time.sleep(seconds)

    @contextmanager
    def pipeline(
        self,
        t: Partition,
        output: str = "output",
        *,
        transactional_id: str | None = None,
        settings: Mapping[str, str] = NO_SETTINGS,
    ) -> Iterator[Pipeline]:
        """A process that sends on what it consumes of t's topic while the block lasts: exactly once with a
        `transactional_id` (0.11 and later), at least once without. The topic `output` is created like t's if there is
        none of that name.
        """
        self._make_output(t, output)
        with super().pipeline(t, output, transactional_id=transactional_id, settings=settings) as process:
            yield process

    @contextmanager
    def reading_outputs(self, t: Partition, output: str = "output") -> Iterator[BackgroundConsumer]:
        """A consumer that reads what is committed in the topic `output` while the block lasts, and until it has read it
        to its end: that of an application on the inputs of t's topic, which has ended by then. The topic is created
        like t's if there is none of that name.
        """
        self._make_output(t, output)
        with self.consume(Partition(output, 0), committed_only=True, settings=TELLS_ENDS) as reader:
            yield reader
            for number in self._partitions_of(output):
                ends = self.wait_stable(Partition(output, number), timeout_s=PACE_LIMIT_S)
                reader.wait_position(output, number, ends.high_watermark, timeout_s=PACE_LIMIT_S)

    @contextmanager
    def application(
        self,
        program: str,
        t: Partition,
        output: str = "output",
        *,
        group: str,
        transactional_id: str | None = None,
        stop: CrashPoint = NOWHERE,
        batch: int = BATCH,
        settings: Mapping[str, str] = NO_SETTINGS,
        producer_settings: Mapping[str, str] = NO_SETTINGS,
        store: str = "",
    ) -> Iterator[Application]:
        """A member of `group` that runs a program on the inputs of t's topic while the block lasts. The topic `output`
        is created like t's if there is none of that name; not for a program that writes to a `store`.
        """
        if not store:
            self._make_output(t, output)
        with super().application(
            program,
            t,
            output,
            group=group,
            transactional_id=transactional_id,
            stop=stop,
            batch=batch,
            settings=settings,
            producer_settings=producer_settings,
            store=store,
        ) as process:
            yield process

    @contextmanager
    def share_application(
        self,
        program: str,
        t: Partition,
        output: str = "output",
        *,
        group: str,
        stop: CrashPoint = NOWHERE,
        batch: int = BATCH,
        settings: Mapping[str, str] = NO_SETTINGS,
    ) -> Iterator[Application]:
        """A member of the share group `group` that runs a program on the inputs of t's topic while the block lasts. The
        topic `output` is created like t's if there is none of that name.
        """
        self._make_output(t, output)
        with super().share_application(
            program, t, output, group=group, stop=stop, batch=batch, settings=settings
        ) as process:
            yield process

    @contextmanager
    def streams(
        self,
        t: Partition,
        output: str = "output",
        *,
        group: str,
        guarantee: str,
        settings: Mapping[str, str] = NO_SETTINGS,
        counting: Counting | None = None,
        state: str = "",
    ) -> Iterator[StreamsApplication]:
        """An application of Kafka Streams on the inputs of t's topic while the block lasts, with a processing.guarantee
        and the application id `group`. The topic `output` is created like t's if there is none of that name. With
        `counting` it has a store; processes with the same `state` have one directory of state.
        """
        self._make_output(t, output)
        with super().streams(
            t, output, group=group, guarantee=guarantee, settings=settings, counting=counting, state=state
        ) as process:
            yield process

    @contextmanager
    def connect_source(
        self,
        t: Partition,
        output: str = "output",
        *,
        worker: Mapping[str, str] = NO_SETTINGS,
        connector: Mapping[str, str] = NO_SETTINGS,
    ) -> Iterator[list[ConnectWorker]]:
        """Three workers of Kafka Connect with a source of lines, one for each record of t, while the block lasts. The
        topic `output` is created like t's if there is none of that name.
        """
        self._make_output(t, output)
        with super().connect_source(t, output, worker=worker, connector=connector) as workers:
            yield workers

    @contextmanager
    def spark(
        self,
        t: Partition,
        output: str = "output",
        *,
        sink: str,
        inputs: int,
        settings: Mapping[str, str] = NO_SETTINGS,
    ) -> Iterator[SparkQuery]:
        """A query of Spark Structured Streaming on t's topic while the block lasts. The topic `output` is created like
        t's if the sink is Kafka's and there is none of that name.
        """
        if sink == "kafka":
            self._make_output(t, output)
        with super().spark(t, output, sink=sink, inputs=inputs, settings=settings) as query:
            yield query

    def _make_output(self, t: Partition, output: str) -> None:
        if all(plan.name != output for plan in self.topics):
            source = next(plan for plan in self.topics if plan.name == t.topic)
            self.create_topic(replace(source, name=output))
