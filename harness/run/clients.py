"""Clients: processes of their own that record what they saw (harness/workloads), and what to have them do.

Each is registered in run.json before its process starts, with the settings that it was given: a history that is
missing is then missed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from evidence import borders
from evidence.errors import HarnessError, UsageError
from evidence.events import ClientEnded
from evidence.run import ProcessRecord, SubjectRecord
from harness.cluster.cluster import KAFKA_PORT
from harness.run.waits import led
from harness.run.who import Partition
from harness.setup.jars import CONNECT, SPARK, STREAMS
from harness.workloads import settings as defaults
from harness.workloads.connectors import worker_settings
from harness.workloads.handles.application import NOWHERE, Application, Counting, CrashPoint, StreamsApplication
from harness.workloads.handles.client import (
    Background,
    BackgroundConsumer,
    Client,
    FinalReader,
    Handle,
    Late,
    LoadGenerator,
    Pending,
    ScriptedProducer,
    SendResult,
    Unanswered,
    not_in_time,
)
from harness.workloads.handles.connect import ConnectWorker, directory_of, free_port
from harness.workloads.handles.spark import SparkQuery
from harness.workloads.handles.transactions import Pipeline, TransactionalProducer, TransactionStepResult
from harness.workloads.libraries import JAVA, RDKAFKA, Library
from harness.workloads.processes.programs import BY_PARTITION, COMMITTED_BY_CLIENT, STORING
from harness.workloads.processes.share_programs import IMPLICIT
from harness.workloads.protocol import GROUPS
from harness.workloads.stores import ADDRESS, POSTGRESQL, SQLITE
from harness.workloads.stores.lines import FILE
from harness.workloads.stores.parts import SUFFIX as PARTS

if TYPE_CHECKING:
    from harness.run.parts import Parts
    from harness.run.record import GrowingRecord
    from harness.run.sequence_log import SequenceLog
    from harness.run.who import Target
    from harness.workloads.handles.producer_pool import ProducerPool

SEND_LIMIT_S: Final = 45.0
"""A client that begins to connect while a broker's container is down tries again for the fifth time after 31 s."""
FINAL_READ_LIMIT_S: Final = 300.0
IDEMPOTENT: Final[Mapping[str, str]] = MappingProxyType({"enable.idempotence": "true"})
GIVEN_UP_AFTER: Final = "message.timeout.ms"
IDEMPOTENT_PER_S: Final = 10.0
IDEMPOTENT_BYTES: Final = 200
BATCH: Final = 5
"""Inputs that an application is given at a time."""
NO_SETTINGS: Final[Mapping[str, str]] = MappingProxyType({})


def _require_ok(sequence_log: SequenceLog, outcomes: Iterable[SendResult | TransactionStepResult], what: str) -> None:
    for one in outcomes:
        if one.outcome != "ok":
            sequence_log.require(what, held=False, error=one.error_name)


@dataclass(slots=True)
class OpenTransaction:
    """A transaction while it lasts, and what came of it when it has ended."""

    _producer: TransactionalProducer
    _sequence_log: SequenceLog
    ended: TransactionStepResult | None = None
    """Its commit or abort; None while it is open, and if the block ended with an error."""

    def send(
        self,
        t: Partition,
        count: int = 1,
        *,
        timeout_s: float = SEND_LIMIT_S,
        must: bool = True,
        key: str | None = None,
    ) -> list[SendResult]:
        """Send records within the transaction, one after the other, each when it is known what came of the one before.

        Raises PreconditionNotHeld if one is not delivered within `timeout_s`, unless it need not be (`must`).
        """
        with self._sequence_log.step("send in a transaction", partition=str(t), count=count):
            sent = self._producer.send(t.topic, t.number, count=count, timeout_s=timeout_s, key=key)
        _require_ok(self._sequence_log, sent if must else (), f"a record sent to {t} in a transaction is delivered")
        return sent


class Clients:
    """Starts clients and tells them what to do."""

    def __init__(self, parts: Parts, sequence_log: SequenceLog) -> None:
        self._whose, self._recorders = parts.library, parts.recorders
        """Whose clients send and read; what their processes are told of it, if that is not librdkafka."""
        self._library = parts.library.producers
        """Which producers send."""
        self._case_settings = parts.case.client_settings
        self._cluster, self._version, self._run_dir = parts.cluster, parts.version, parts.run_dir
        self._timeline, self._topics, self._sequence_log = parts.timeline, parts.topics, sequence_log
        self._observer = parts.observer
        self._record = parts.record
        """Gets every client that is started."""
        self._producers: dict[tuple[tuple[str, str], ...], ScriptedProducer] = {}
        self._transactional: dict[str, TransactionalProducer] = {}
        self._pools: list[ProducerPool] = []

    def _register(
        self,
        kind: str,
        settings: Mapping[str, str],
        *,
        bootstrap: str = "",
        only: Target | None = None,
        final: bool = False,
        expected_loss: bool = False,
        library: str | None = None,
        beside: bool = False,
        output: str = "",
        store: str = "",
    ) -> Client:
        """A new client, which run.json has from now on."""
        name = self._next_name(kind)
        bootstrap = bootstrap or self._cluster.bootstrap
        self._record.add_process(
            ProcessRecord(
                name=name,
                kind=kind,
                file=f"history/{name}.arrows",
                final=final,
                settings={"bootstrap.servers": bootstrap} | dict(settings),
                expected_loss=expected_loss,
                only=only.node.name if only else None,
                library=library,
                beside=beside,
                output=output,
                store=store,
            )
        )
        return Client(self._run_dir, name, len(self._record.run.processes), bootstrap, settings)

    def _next_name(self, kind: str) -> str:
        """What the next client of a kind is called."""
        return f"{kind}-{1 + len(self._record.run.of_kind(kind))}"

    def _library_of(self, role: Library) -> str | None:
        """What run.json says of a process of this library, whose own client may be of the other role alone."""
        return None if role == self._whose else role.name

    def _told(self, client: Client, role: Library) -> Client:
        """A client whose process is told which library it is of."""
        return replace(client, library=self._recorders) if role == self._whose else client

    def _reader_settings(self, committed_only: bool, settings: Mapping[str, str]) -> dict[str, str]:
        isolation = defaults.READ_COMMITTED if committed_only else NO_SETTINGS
        return dict(defaults.CLIENT) | self._version.client_settings | dict(isolation) | dict(settings)

    def _consumer_settings(self, committed_only: bool, settings: Mapping[str, str]) -> dict[str, str]:
        """What a consumer is configured with; one of the user's own is given nothing that the scenario does not say."""
        if self._whose.consumers == RDKAFKA:
            return self._reader_settings(committed_only, settings)
        return dict(defaults.READ_COMMITTED if committed_only else NO_SETTINGS) | dict(settings)

    # Producers

    def _producer_client(
        self,
        settings: Mapping[str, str],
        *,
        bootstrap: str = "",
        only: Target | None = None,
        expected_loss: bool = False,
    ) -> Client:
        """A new client of the run's producers."""
        library = self._library_of(self._library)
        client = self._register(
            "producer", settings, bootstrap=bootstrap, only=only, expected_loss=expected_loss, library=library
        )
        return self._told(client, self._library)

    def producer(
        self, *, acks: str = "all", only: Target | None = None, settings: Mapping[str, str] = NO_SETTINGS
    ) -> ScriptedProducer:
        """The producer with these settings (one process each, started at first use).

        `only` bootstraps it from that broker alone, as a client that has not heard of the others.
        """
        options = self._library.settings(acks, self._version, self._case_settings, settings)
        bootstrap = f"{only.node.address}:{KAFKA_PORT}" if only else self._cluster.bootstrap
        key = tuple(sorted((options | {"bootstrap": bootstrap}).items()))
        if key not in self._producers:
            client = self._producer_client(options, bootstrap=bootstrap, only=only)
            made = ScriptedProducer(client, self._timeline)
            made.watch = self._sequence_log.notice
            self._producers[key] = made
        return self._producers[key]

    def send(
        self,
        t: Partition,
        count: int = 1,
        *,
        acks: str = "all",
        only: Target | None = None,
        settings: Mapping[str, str] = NO_SETTINGS,
        timeout_s: float = SEND_LIMIT_S,
        expected_loss: bool = False,
        must: bool = True,
        key: str | None = None,
    ) -> list[SendResult]:
        """Send records one after the other, each when it is known what came of the one before: acknowledged, refused or
        unknown. `expected_loss` names those whose loss the scenario documents: no other record may be lost. `settings`
        are the producer's own, `key` is the records'.

        One that must be acknowledged (`must`) and is not within `timeout_s` is held against Kafka (DutyNotDone) if the
        cluster names a leader that is alive, which could have; otherwise the sequence has not taken its course
        (PreconditionNotHeld). A producer without retries may be refused by a leader that is alive: by a broker that has
        not been told of the topic yet, for one (KafkaApis.handleProduceRequest asks its metadata cache first).
        """
        producer, since_ns = self.producer(acks=acks, only=only, settings=settings), time.monotonic_ns()
        owed = f"a record sent to {t} with acks={acks} is acknowledged"
        with self._sequence_log.step("send", partition=str(t), count=count, acks=acks):
            try:
                sent = producer.send(
                    t.topic, t.number, count=count, timeout_s=timeout_s, expected_loss=expected_loss, key=key
                )
            except Unanswered as error:
                raise self._late([t])(owed, timeout_s, str(error), since_ns) from None
        tries_again = self._library.tries_again(dict(self._case_settings) | dict(settings))
        for one in sent if must and tries_again else ():
            if one.outcome != "ok" and self._whose.hello is None and self._led([t]):
                raise self._late([t])(owed, timeout_s, one.error_name or one.outcome, since_ns)
        _require_ok(self._sequence_log, sent if must else (), owed)
        return sent

    def _led(self, places: Iterable[Partition]) -> bool:
        """Whether a broker that is registered leads each of them."""
        return all(led(self._observer.state, t) for t in places)

    def _late(self, places: Sequence[Partition]) -> Late:
        """Who is at fault if clients of these partitions do not get what they wait for: Kafka, if they are led and the
        clients are none of the user's own.
        """

        def late(what: str, timeout_s: float, seen: str, since_ns: int) -> HarnessError:
            if self._whose.hello is not None or not self._led(places):
                return not_in_time(what, timeout_s, seen, since_ns)
            return self._sequence_log.overdue(
                what, witness="clients", since_ns=since_ns, timeout_s=timeout_s, seen=seen
            )

        return late

    def _watched(self, handle: Handle, topic: str) -> None:
        """Let a process that works by itself on a topic notice what makes waiting for it vain, or is Kafka's fault."""
        handle.watch = self._sequence_log.notice
        handle.late = self._late([Partition(topic, number) for number in self._partitions_of(topic)])

    def send_async(self, t: Partition, *, acks: str = "all", expected_loss: bool = False) -> Pending:
        """Send one record once, without retries, and do not wait: for records that are not to be acknowledged."""
        producer = self.producer(acks=acks, settings=self._library.one_attempt)
        with self._sequence_log.step("send without waiting", partition=str(t), acks=acks):
            return producer.send_async(t.topic, t.number, expected_loss=expected_loss)

    @contextmanager
    def load(
        self,
        t: Partition,
        *,
        records: int | None = None,
        rate_per_s: float | None = None,
        acks: str = "all",
        record_bytes: int = 200,
        keys: int = 0,
        expected_loss: bool = False,
        settings: Mapping[str, str] = NO_SETTINGS,
        also_idempotent: bool = False,
    ) -> Iterator[LoadGenerator]:
        """A load on all partitions of the topic while the block lasts; what is then in flight is waited for.
        `expected_loss` says that the scenario documents the loss of any of its records.

        `also_idempotent` has a second producer send beside it to the same partitions, a few records a second with
        acks=all and idempotence (0.11 and later): of what it sends nothing is permitted, no duplicate and no other
        order. Its loss is documented where that of a load with acks=all is, for idempotence does not keep records; it
        gives them up after as long as the load. It has no topic of its own, so the cluster has nothing more to do or to
        state.
        """
        options = self._library.settings(acks, self._version, self._library.lingering, self._case_settings, settings)
        generator = LoadGenerator(
            self._producer_client(options, expected_loss=expected_loss),
            topic=t.topic,
            partitions=self._partitions_of(t.topic),
            rate_per_s=rate_per_s,
            record_bytes=record_bytes,
            keys=keys,
            records=records,
            timeline=self._timeline,
        )
        self._watched(generator, t.topic)
        detail = {"acks": acks, "records": records, "rate_per_s": rate_per_s, "record_bytes": record_bytes}
        with ExitStack() as stack:
            stack.enter_context(self._sequence_log.step("load", **detail))
            stack.enter_context(generator)
            if also_idempotent and self._is_idempotent_there():
                given_up = {name: value for name, value in settings.items() if name == GIVEN_UP_AFTER}
                beside = self._idempotent(t, given_up, expected_loss=expected_loss and acks == "all")
                generator.beside = stack.enter_context(beside)
            yield generator

    def _is_idempotent_there(self) -> bool:
        """Whether brokers know idempotent producers: the release, and the format of what they write (KIP-98)."""
        return (
            self._version.release >= borders.IDEMPOTENT_PRODUCERS.release
            and not self._version.truncates_to_high_watermark
        )

    def _idempotent(self, t: Partition, settings: Mapping[str, str], *, expected_loss: bool) -> LoadGenerator:
        """The producer that is there beside a load, whatever the load's own client is."""
        options = RDKAFKA.settings("all", self._version, IDEMPOTENT, settings)
        generator = LoadGenerator(
            self._register("producer", options, expected_loss=expected_loss, library=RDKAFKA.name, beside=True),
            topic=t.topic,
            partitions=self._partitions_of(t.topic),
            rate_per_s=IDEMPOTENT_PER_S,
            record_bytes=IDEMPOTENT_BYTES,
            keys=0,
            records=None,
            timeline=self._timeline,
        )
        self._watched(generator, t.topic)
        return generator

    # Transactions

    @contextmanager
    def transaction(
        self,
        transactional_id: str = "transactions",
        *,
        commit: bool = True,
        settings: Mapping[str, str] = NO_SETTINGS,
        timeout_s: float = SEND_LIMIT_S,
        expected_loss: bool = False,
    ) -> Iterator[OpenTransaction]:
        """A transaction that lasts as long as the block: committed at its end, or aborted if not `commit`; what came
        of that is in `ended`. A block that ends with an error leaves it open.

        One producer process for each transactional id, whose `settings` are those of its first transaction; that one
        says too whether the loss of whatever the process sends is documented (`expected_loss`). Raises
        PreconditionNotHeld if the transaction cannot begin, UsageError before 0.11 (KIP-98) and for a client that has
        no transactions.
        """
        producer = self._transactional_producer(transactional_id, settings, expected_loss=expected_loss)
        _require_ok(self._sequence_log, [producer.begin(timeout_s=timeout_s)], "a transaction begins")
        transaction = OpenTransaction(producer, self._sequence_log)
        yield transaction
        with self._sequence_log.step("commit" if commit else "abort", transactional_id=transactional_id):
            transaction.ended = producer.commit(timeout_s=timeout_s) if commit else producer.abort(timeout_s=timeout_s)

    def _transactional_producer(
        self, transactional_id: str, settings: Mapping[str, str], *, expected_loss: bool
    ) -> TransactionalProducer:
        if transactional_id not in self._transactional:
            options = self._transactional_settings(self._library, transactional_id, self._case_settings, settings)
            client = self._producer_client(options, expected_loss=expected_loss)
            self._transactional[transactional_id] = TransactionalProducer(client, self._timeline)
        return self._transactional[transactional_id]

    def _transactional_settings(
        self, library: Library, transactional_id: str, *settings: Mapping[str, str]
    ) -> dict[str, str]:
        if self._version.release < borders.TRANSACTIONS.release:
            raise UsageError(f"{self._version.id} has no transactions; they came with 0.11 (KIP-98)")
        if not library.has_transactions:
            raise UsageError(f"{library.name} has no transactions; Java clients have them from 0.11 on (KIP-98)")
        own = {"transactional.id": transactional_id, "enable.idempotence": "true"}
        return library.settings("all", self._version, own, *settings)

    # Readers

    @contextmanager
    def consume(
        self,
        t: Partition,
        *,
        group: str | None = None,
        committed_only: bool = False,
        settings: Mapping[str, str] = NO_SETTINGS,
    ) -> Iterator[BackgroundConsumer]:
        """A consumer of the whole topic while the block lasts: assigned its partitions, from their beginning, or
        subscribed to it in `group`. `committed_only` reads as a consumer of transactions does (read_committed).
        """
        options, readers = self._consumer_settings(committed_only, settings), self._whose.consumers
        readers.require({GROUPS} if group else (), "a consumer in a group")
        own = readers.name if readers != RDKAFKA else None
        client = self._told(self._register("consumer", options, library=own), readers)
        consumer = BackgroundConsumer(
            client,
            assign={t.topic: self._partitions_of(t.topic)} if group is None else None,
            subscribe=() if group is None else (t.topic,),
            group=group or f"{client.name}-alone",
            timeline=self._timeline,
        )
        self._watched(consumer, t.topic)
        with self._sequence_log.step("consume", topic=t.topic, group=group, committed_only=committed_only), consumer:
            yield consumer

    @contextmanager
    def pipeline(
        self,
        t: Partition,
        output: str,
        *,
        transactional_id: str | None = None,
        settings: Mapping[str, str] = NO_SETTINGS,
    ) -> Iterator[Pipeline]:
        """A process that sends on to the topic `output` what it consumes of t's topic, while the block lasts: exactly
        once with a `transactional_id` (0.11 and later, UsageError before), at least once without.
        """
        sending = (
            RDKAFKA.settings("all", self._version, settings)
            if transactional_id is None
            else self._transactional_settings(RDKAFKA, transactional_id, settings)
        )
        reading = self._reader_settings(transactional_id is not None, NO_SETTINGS)
        client = self._register("processor", sending | reading, output=output)
        process = Pipeline(
            replace(client, settings=sending),
            consumer_settings=reading,
            inputs={t.topic: self._partitions_of(t.topic)},
            output=output,
            output_partitions=len(self._partitions_of(output)),
            group=client.name,
        )
        detail = {"input": t.topic, "output": output, "transactional_id": transactional_id}
        with self._sequence_log.step("pipeline", **detail), self._until_its_end(process):
            yield process

    @contextmanager
    def _until_its_end(self, process: Background[Any]) -> Iterator[None]:
        """The process of an application while the block lasts; the timeline tells its end. From then on it holds no
        transaction open, but for as long as brokers wait for who has one, and no records of a share group.
        """
        with process:
            yield
        self._timeline.append(ClientEnded(process=process.name))

    @contextmanager
    def application(
        self,
        program: str,
        t: Partition,
        output: str,
        *,
        group: str,
        transactional_id: str | None = None,
        stop: CrashPoint = NOWHERE,
        batch: int = BATCH,
        settings: Mapping[str, str] = NO_SETTINGS,
        producer_settings: Mapping[str, str] = NO_SETTINGS,
        store: str = "",
    ) -> Iterator[Application]:
        """A process that runs a program of harness/workloads/processes/programs.py while the block lasts, with the
        case's client: a member of `group`, it makes an output in the topic `output` of each record of t's topic, as
        many at a time as `batch` says (a Java client before 0.10: as many as it is given). A Scala client is the
        consumer of 0.8, whose group is in ZooKeeper; it commits by itself alone. `stop` is where it stands still.
        `settings` are its consumer's, `producer_settings` its producer's. With a `transactional_id` (0.11 and later,
        UsageError before) its producer has transactions, and its consumer reads what is committed. A program that
        writes to a `store` outside Kafka makes its outputs there, and none in a topic: that is the store's name.
        UsageError if the case's client cannot run the program, or if the cluster has no such store.
        """
        self._require_program(program, store)
        isolation = NO_SETTINGS if transactional_id is None else defaults.READ_COMMITTED
        reading = self._library.reading(self._version, batch, defaults.MEMBER, isolation, settings, {"group.id": group})
        sending = (
            self._library.settings("all", self._version, producer_settings)
            if transactional_id is None
            else self._transactional_settings(self._library, transactional_id, producer_settings)
        )
        place = self._place_of(store)
        registered = self._register("processor", sending | reading, output="" if store else output, store=place)
        process = Application(
            replace(registered, settings=sending, library=self._of_application()),
            program=program,
            consumer_settings=reading,
            inputs=t.topic,
            output=output,
            output_partitions=0 if store else len(self._partitions_of(output)),
            batch=batch,
            stop=stop,
            store=place,
            in_zookeeper=self._library.keeps_offsets_in_zookeeper(reading),
        )
        self._watched(process, t.topic)
        detail = {"program": program, "input": t.topic, "output": place or output, "group": group, "stop": str(stop)}
        with self._sequence_log.step("application", **detail), self._until_its_end(process):
            yield process

    @contextmanager
    def share_application(
        self,
        program: str,
        t: Partition,
        output: str,
        *,
        group: str,
        stop: CrashPoint = NOWHERE,
        batch: int = BATCH,
        settings: Mapping[str, str] = NO_SETTINGS,
    ) -> Iterator[Application]:
        """A process that runs a program of harness/workloads/processes/share_programs.py while the block lasts, with
        the case's client: a member of the share group `group` (KIP-932), it makes an output in the topic `output` of
        each record of t's topic that it is given. `settings` are its share consumer's; the rest as for `application`.

        UsageError if the case's client has no share consumer.
        """
        mode = {"group.id": group, "share.acknowledgement.mode": "implicit" if program in IMPLICIT else "explicit"}
        reading = self._library.sharing(self._version, batch, settings, mode)
        sending = self._library.settings("all", self._version)
        registered = self._register("processor", sending | reading, output=output)
        process = Application(
            replace(registered, settings=sending, library=self._recorders),
            program=program,
            consumer_settings=reading,
            inputs=t.topic,
            output=output,
            output_partitions=len(self._partitions_of(output)),
            batch=batch,
            stop=stop,
            shares=True,
        )
        self._watched(process, t.topic)
        detail = {"program": program, "input": t.topic, "output": output, "group": group, "stop": str(stop)}
        with self._sequence_log.step("share application", **detail), self._until_its_end(process):
            yield process

    def _of_application(self) -> Mapping[str, Any]:
        """What an application's process is told of its client: that of 0.8 finds its group in ZooKeeper."""
        if self._library.kind != defaults.SCALA:
            return self._recorders
        return {**self._recorders, defaults.ZOOKEEPER: self._cluster.zookeeper}

    def _require_program(self, program: str, store: str) -> None:
        """UsageError if the case's client cannot run a program."""
        if store and self._library != RDKAFKA:
            raise UsageError(f"a program that writes to a store runs with librdkafka, not with {self._library.name}")
        if program in STORING and self._library != RDKAFKA:
            raise UsageError(
                f"{program} stores offsets for its client to commit, and {self._library.name} has no such step"
            )
        if program in BY_PARTITION and self._library.kind != JAVA:
            raise UsageError(f"{program} commits for a group alone, and {self._library.name} names the member")
        if self._library.kind != defaults.SCALA:
            return
        if program not in COMMITTED_BY_CLIENT:
            raise UsageError(f"{program} commits, and {self._library.name} commits by itself alone")
        if self._version.mode != "zookeeper":
            raise UsageError(f"{self._library.name} has its groups in ZooKeeper, and {self._version.id} has none")

    @contextmanager
    def streams(
        self,
        t: Partition,
        output: str,
        *,
        group: str,
        guarantee: str,
        settings: Mapping[str, str] = NO_SETTINGS,
        counting: Counting | None = None,
        state: str = "",
    ) -> Iterator[StreamsApplication]:
        """A process in which Kafka Streams makes an output in the topic `output` of each record of t's topic, while the
        block lasts: with the `guarantee` (processing.guarantee), under the application id `group`, which is its
        consumers' group. `settings` are Streams' own. With `counting` it has a store. Processes with the same `state`
        have one directory of state, one after the other, as on one machine; without, each has its own.

        Raises UsageError if the case's client is not Kafka Streams, or if the output has more than one partition.
        """
        self._require_runner("Kafka Streams", STREAMS, output)
        with self._directory_of(state) as directory:
            given = {
                "application.id": group,
                "processing.guarantee": guarantee,
                "state.dir": str(directory),
                # The shortest that brokers take: so long does a group wait for a member that died.
                "session.timeout.ms": defaults.MEMBER["session.timeout.ms"],
                "heartbeat.interval.ms": "2000",
            } | dict(settings)
            bootstrap = self._cluster.bootstrap_of_applications
            client = self._told(self._register("processor", given, bootstrap=bootstrap, output=output), self._whose)
            process = StreamsApplication(
                client, group=group, inputs=t.topic, output=output, state=directory, counting=counting
            )
            self._watched(process, t.topic)
            detail = {"input": t.topic, "output": output, "group": group, "guarantee": guarantee}
            with self._sequence_log.step("streams", **detail), self._until_its_end(process):
                yield process

    @contextmanager
    def _directory_of(self, state: str) -> Iterator[Path]:
        """A directory of state: that of this name, which the run's other data lies beside, or one for the block."""
        if state:
            shared = self._run_dir.data / f"{state}-state"
            shared.mkdir(parents=True, exist_ok=True)
            yield shared.resolve()
            return
        with self._scratch() as alone:
            yield alone

    @contextmanager
    def _scratch(self) -> Iterator[Path]:
        """A directory for the block, beside the run's other live data: what removes that of a dead harness removes this
        too. A process that was killed may still leave a file there while it is removed.
        """
        self._run_dir.data.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="client-", dir=self._run_dir.data, ignore_cleanup_errors=True) as directory:
            yield Path(directory).resolve()

    @contextmanager
    def connect_worker(
        self, t: Partition, output: str, *, group: str, settings: Mapping[str, str] = NO_SETTINGS, lines: int = 0
    ) -> Iterator[ConnectWorker]:
        """A worker of Kafka Connect while the block lasts, with these settings beside those that all have. Its source
        reads a file with a line for each record of t, and sends to the topic `output`; so many `lines` are there when
        it begins. Without an output it has a sink of t's topic, which commits as `group` and writes to a file.

        Raises UsageError if the case's client is not Kafka Connect, or if the output has more than one partition.
        """
        self._require_runner("Kafka Connect", CONNECT, output)
        port, store = free_port(), "" if output else f"{directory_of(self._next_name('processor'))}/{FILE}"
        bootstrap = self._cluster.bootstrap_of_applications
        registered = self._register(
            "processor", worker_settings(port, settings), bootstrap=bootstrap, output=output, store=store
        )
        client = self._told(registered, self._whose)
        worker = ConnectWorker(
            client, port=port, inputs=(t.topic, t.number), output=output, group=group, store=store, lines=lines
        )
        self._watched(worker, t.topic)
        detail = {"process": client.name, "port": port}
        with self._sequence_log.step("worker of Kafka Connect", **detail), self._until_its_end(worker):
            yield worker

    @contextmanager
    def spark(
        self, t: Partition, output: str, *, sink: str, inputs: int, settings: Mapping[str, str] = NO_SETTINGS
    ) -> Iterator[SparkQuery]:
        """A query of Spark Structured Streaming on t's topic, which gets so many inputs, while the block lasts. Its
        sink is "kafka" (the topic `output`), "files" (a directory), "store" (PostgreSQL, batch by batch), or
        "store-by-batch-id". All queries of a run have one checkpoint. `settings` are its source's own.

        Raises UsageError if the case's client is not Spark, or if the output has more than one partition.
        """
        to_topic = sink == "kafka"
        self._require_runner("Spark", SPARK, output if to_topic else "")
        place = f"store/output{PARTS}" if sink == "files" else self._place_of("" if to_topic else POSTGRESQL)
        with self._scratch() as work:
            registered = self._register("processor", dict(settings), output=output if to_topic else "", store=place)
            query = SparkQuery(
                self._told(registered, self._whose),
                inputs=(t.topic, t.number),
                count=inputs,
                sink=sink,
                output=output if to_topic else "",
                store=place,
                work=str(work),
            )
            self._watched(query, t.topic)
            detail = {"input": t.topic, "sink": sink, "output": output if to_topic else place}
            with self._sequence_log.step("query of Spark", **detail), query:
                yield query

    def _require_runner(self, name: str, kind: str, output: str) -> None:
        """UsageError if the case's client is not what is to run, or if the output has more than one partition."""
        if output and self._partitions_of(output) != [0]:
            raise UsageError(f"the output of {name} has one partition here, and {output} has more")
        if self._whose.kind != kind:
            raise UsageError(f"{name} runs where the case's client is {kind}, not {self._whose.name}")

    def _place_of(self, store: str) -> str:
        """Where a store is: a file of the run directory, or the node that the cluster has for it; "" for none."""
        if store != POSTGRESQL:
            return f"store/{store}.{SQLITE}" if store else ""
        if self._cluster.store is None:
            raise UsageError("a program that writes to postgresql needs its node: ClusterPlan(store=StorePlan())")
        return f"{ADDRESS}{self._cluster.store.address}"

    def final_reader(self) -> FinalReader:
        """The final reader's process, started while the brokers still settle: it reads when it is told to."""
        client = self._register("final-read", self._version.client_settings, final=True)
        partitions = {topic.name: self._partitions_of(topic.name) for topic in self._topics}
        outputs = {topic: partitions[topic] for topic in sorted(self._record.run.outputs)}
        stores = sorted(self._record.run.stores)
        return FinalReader(client, partitions, outputs=outputs, stores=stores, timeout_s=FINAL_READ_LIMIT_S)

    # Subjects (harness/run/subjects.py)

    def subject(self, settings: Mapping[str, str], library: str) -> Client:
        """The client of a subject, which run.json has from now on. It is given these settings and no others."""
        return self._register("producer", settings, library=library)

    def note_subject(self, subject: SubjectRecord) -> GrowingRecord:
        """Put a subject into run.json; in the record that is returned it may be changed."""
        self._record.add_subject(subject)
        return self._record

    def also_close(self, *pools: ProducerPool) -> None:
        """Close these processes with the others."""
        self._pools.extend(pools)

    def close_clients(self) -> None:
        """Close every producer, so that each history ends properly."""
        for producer in (*self._producers.values(), *self._transactional.values()):
            producer.close()
        for pool in self._pools:
            pool.close()

    def _partitions_of(self, topic: str) -> list[int]:
        return list(range(next(len(plan.replicas) for plan in self._topics if plan.name == topic)))
