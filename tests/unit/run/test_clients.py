"""What clients are told and registered as: consumers, transactions and pipelines, without brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evidence.errors import UsageError, WaitTimeout
from evidence.events import ClientEnded, Precondition, Step
from evidence.rundir import RunDir
from evidence.timeline import Timeline, read
from harness.case import Case
from harness.cluster import versions
from harness.cluster.state import ClusterState
from harness.plan import TopicPlan
from harness.run import DutyNotDone, Partition, PreconditionNotHeld
from harness.run.clients import Clients
from harness.run.record import GrowingRecord
from harness.run.sequence_log import SequenceLog
from harness.workloads.handles.application import Counting
from harness.workloads.handles.transactions import TransactionStepResult
from harness.workloads.libraries import RDKAFKA, Library
from harness.workloads.protocol import Hello
from harness.workloads.settings import OF_LIBRDKAFKA
from tests.records import run_record

T = Partition("t", 0)
BOOTSTRAP = "172.20.0.11:9092"
RELAYED = "127.0.0.1:40001"
"""Where applications of Streams and workers of Connect begin, if they are behind relays."""


class Told:
    """In the place of every handle: what it was made with, and what it was told to do."""

    made: list[Told]
    begins, name = "ok", "told"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.arguments, self.options = arguments, options
        self.done: list[str] = []
        Told.made.append(self)

    def __enter__(self) -> Told:
        self.done.append("entered")
        return self

    def __exit__(self, *_: object) -> None:
        self.done.append("left")

    def _end(self, what: str) -> TransactionStepResult:
        self.done.append(what)
        return TransactionStepResult(transaction=0, outcome="info" if Told.begins != "ok" else "ok", error_name=None)

    def begin(self, *, timeout_s: float) -> TransactionStepResult:
        return self._end("begin")

    def commit(self, *, timeout_s: float) -> TransactionStepResult:
        return self._end("commit")

    def abort(self, *, timeout_s: float) -> TransactionStepResult:
        return self._end("abort")

    def send(self, topic: str, partition: int, *, count: int, timeout_s: float, key: str | None) -> list[Any]:
        self.done.append(f"send {count} to {topic}-{partition}")
        return [SimpleNamespace(outcome="ok" if topic == "t" else "info", error_name="_MSG_TIMED_OUT")] * count

    def close(self) -> None:
        self.done.append("closed")


@pytest.fixture(autouse=True)
def handles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Told, "made", [], raising=False)
    applications = ("Pipeline", "Application", "StreamsApplication", "ConnectWorker", "SparkQuery")
    for name in ("BackgroundConsumer", "LoadGenerator", "TransactionalProducer", *applications):
        monkeypatch.setattr(f"harness.run.clients.{name}", Told)


class Stage:
    """Clients on no cluster."""

    def __init__(self, root: Path, timeline: Timeline, version: str = "4.3.1", client: Library = RDKAFKA) -> None:
        self.run_dir, self.record = RunDir(root), GrowingRecord(run_record())
        topics = [TopicPlan(replicas=((1, 2, 3), (2, 3, 1))), TopicPlan(name="out")]
        cluster: Any = SimpleNamespace(
            bootstrap=BOOTSTRAP, bootstrap_of_applications=RELAYED, zookeeper="172.20.0.2:2181"
        )
        parts: Any = SimpleNamespace(
            cluster=cluster,
            version=versions.get(version),
            run_dir=self.run_dir,
            timeline=timeline,
            topics=topics,
            case=Case(documented=(), client_settings={"linger.ms": "7"}),
            library=client,
            recorders=OF_LIBRDKAFKA if client == RDKAFKA else {"name": client.name},
            record=self.record,
            observer=SimpleNamespace(state=ClusterState()),
        )
        self.clients = Clients(parts, SequenceLog(timeline))

    def settings(self, number: int = 0) -> Mapping[str, str]:
        return self.record.run.processes[number].settings


@pytest.fixture
def timeline(tmp_path: Path) -> Iterator[Timeline]:
    with Timeline(RunDir(tmp_path).timeline) as made:
        yield made


@pytest.fixture
def stage(tmp_path: Path, timeline: Timeline) -> Stage:
    return Stage(tmp_path, timeline)


def test_a_consumer_alone_is_assigned_the_whole_topic(stage: Stage) -> None:
    with stage.clients.consume(T):
        pass
    (told,) = Told.made
    assert isinstance(told.options.pop("timeline"), Timeline)
    assert told.options == {"assign": {"t": [0, 1]}, "subscribe": (), "group": "consumer-1-alone"}
    assert told.done == ["entered", "left"]
    assert (stage.record.run.processes[0].name, stage.record.run.processes[0].kind) == ("consumer-1", "consumer")
    assert stage.settings()["bootstrap.servers"] == BOOTSTRAP
    assert "isolation.level" not in stage.settings()


def test_a_consumer_of_a_group_is_subscribed(stage: Stage) -> None:
    with stage.clients.consume(T, group="g", committed_only=True, settings={"fetch.min.bytes": "9"}):
        pass
    (told,) = Told.made
    assert isinstance(told.options.pop("timeline"), Timeline)
    assert told.options == {"assign": None, "subscribe": ("t",), "group": "g"}
    assert (stage.settings()["isolation.level"], stage.settings()["fetch.min.bytes"]) == ("read_committed", "9")


@pytest.mark.parametrize(
    ("version", "also", "names"),
    [
        ("4.3.1", True, ["producer-1", "producer-2"]),
        ("4.3.1", False, ["producer-1"]),
        ("0.10.2.2", True, ["producer-1"]),
        ("3.9.2-pinned", True, ["producer-1"]),
    ],
    ids=["beside it", "nobody asks", "before KIP-98", "what is written is of before KIP-98"],
)
def test_an_idempotent_producer_beside_a_load(
    version: str, also: bool, names: list[str], tmp_path: Path, timeline: Timeline
) -> None:
    stage = Stage(tmp_path, timeline, version)
    with stage.clients.load(T, acks="1", expected_loss=True, also_idempotent=also):
        pass
    assert [one.done for one in Told.made] == [["entered", "left"]] * len(names)
    assert [process.name for process in stage.record.run.processes] == names
    if len(names) > 1:
        beside = stage.record.run.processes[1]
        assert (beside.beside, stage.record.run.beside) == (True, frozenset({"producer-2"}))
        assert (beside.settings["enable.idempotence"], beside.settings["acks"], beside.expected_loss) == (
            "true",
            "all",
            False,
        )
        assert (beside.library, Told.made[1].options["partitions"]) == ("librdkafka", [0, 1])


@pytest.mark.parametrize(
    ("acks", "expected_loss", "beside"),
    [("all", True, True), ("1", True, False), ("all", False, False)],
    ids=["what is lost of acks=all is lost of it", "acks=1 alone loses", "nothing is lost"],
)
def test_what_is_beside_a_load_is_lost_with_acks_all_and_given_up_as_soon(
    acks: str, expected_loss: bool, beside: bool, stage: Stage
) -> None:
    settings = {"message.timeout.ms": "5000", "linger.ms": "9"}
    with stage.clients.load(T, acks=acks, expected_loss=expected_loss, settings=settings, also_idempotent=True) as load:
        told: object = load.beside
    assert told is Told.made[1]
    assert stage.record.run.processes[1].expected_loss == beside
    assert (stage.settings(1)["message.timeout.ms"], stage.settings(1)["linger.ms"]) == ("5000", "0")


@pytest.mark.parametrize(("commit", "end"), [(True, "commit"), (False, "abort")])
def test_a_transaction_ends_with_its_block(commit: bool, end: str, stage: Stage) -> None:
    for _ in range(2):
        with stage.clients.transaction("id", commit=commit) as transaction:
            transaction.send(T, 2)
            assert transaction.ended is None
        assert transaction.ended is not None
    stage.clients.close_clients()
    (told,) = Told.made  # one process for each transactional id
    assert told.done == [*(("begin", "send 2 to t-0", end) * 2), "closed"]
    assert (stage.settings()["transactional.id"], stage.settings()["enable.idempotence"]) == ("id", "true")
    steps = [step.name for step in read(stage.run_dir.timeline).of(Step) if step.phase == "begin"]
    assert steps == ["send in a transaction", end] * 2


def test_a_block_that_fails_leaves_its_transaction_open(stage: Stage) -> None:
    with (
        pytest.raises(PreconditionNotHeld, match="a record sent to out-0 in a transaction is delivered"),
        stage.clients.transaction() as transaction,
    ):
        transaction.send(Partition("out", 0))
    assert Told.made[0].done == ["begin", "send 1 to out-0"]
    assert transaction.ended is None
    assert [precondition.held for precondition in read(stage.run_dir.timeline).of(Precondition)] == [False]


def test_a_transaction_that_cannot_begin_is_a_precondition_not_held(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Told, "begins", "info")
    with pytest.raises(PreconditionNotHeld, match="a transaction begins"), stage.clients.transaction():
        raise AssertionError("it began")


def test_there_are_no_transactions_before_0_11(tmp_path: Path, timeline: Timeline) -> None:
    clients = Stage(tmp_path, timeline, "0.10.2.2").clients
    with pytest.raises(UsageError, match=r"0\.10\.2\.2 has no transactions"), clients.transaction():
        raise AssertionError("it began")
    with (
        pytest.raises(UsageError, match="has no transactions"),
        clients.pipeline(T, "out", transactional_id="id"),
    ):
        raise AssertionError("it began")
    assert Told.made == []


@pytest.mark.parametrize("transactional_id", [None, "id"])
def test_a_pipeline_reads_one_topic_and_writes_the_other(transactional_id: str | None, stage: Stage) -> None:
    with stage.clients.pipeline(T, "out", transactional_id=transactional_id):
        pass
    (told,) = Told.made
    assert told.options["inputs"] == {"t": [0, 1]}
    assert (told.options["output"], told.options["output_partitions"]) == ("out", 1)
    assert stage.record.run.processes[0].kind == "processor"
    assert stage.settings().get("transactional.id") == transactional_id
    assert told.options["consumer_settings"].get("isolation.level") == (
        None if transactional_id is None else "read_committed"
    )


def test_the_end_of_an_application_is_told_when_it_is_gone(timeline: Timeline, stage: Stage) -> None:
    told: list[str] = []
    timeline.listen(lambda event: told.append(event.process) if isinstance(event, ClientEnded) else None)
    with stage.clients.pipeline(T, "out"):
        assert told == []
    assert (told, Told.made[0].done) == (["told"], ["entered", "left"])


def test_the_consumer_of_0_8_is_told_where_zookeeper_is(tmp_path: Path, timeline: Timeline) -> None:
    stage = Stage(tmp_path, timeline, version="0.10.2.2", client=Library("scala", "0.10.2.2"))
    with stage.clients.application("process-and-poll", T, "out", group="g"):
        pass
    (told,) = Told.made
    assert told.arguments[0].library == {"name": "scala-0.10.2.2", "zookeeper": "172.20.0.2:2181"}
    assert told.options["in_zookeeper"]
    settings = stage.settings()
    assert (settings["auto.commit.enable"], settings["auto.offset.reset"]) == ("false", "smallest")


@pytest.mark.parametrize(
    ("version", "program", "why"),
    [
        ("0.10.2.2", "process-then-commit", "process-then-commit commits, and scala-0.10.2.2 commits by itself alone"),
        ("4.3.1", "hand-over", "scala-0.10.2.2 has its groups in ZooKeeper, and 4.3.1 has none"),
    ],
)
def test_what_the_consumer_of_0_8_cannot_run(
    version: str, program: str, why: str, tmp_path: Path, timeline: Timeline
) -> None:
    stage = Stage(tmp_path, timeline, version=version, client=Library("scala", "0.10.2.2"))
    with pytest.raises(UsageError, match=why), stage.clients.application(program, T, "out", group="g"):
        pass
    assert Told.made == []


@pytest.mark.parametrize(
    ("client", "program", "why"),
    [
        (Library("java", "4.3.1"), "process-then-store", "java-4.3.1 has no such step"),
        (Library("librdkafka"), "transact-by-partition", "librdkafka names the member"),
    ],
)
def test_a_program_that_only_another_client_can_run(
    client: Library, program: str, why: str, tmp_path: Path, timeline: Timeline
) -> None:
    stage = Stage(tmp_path, timeline, client=client)
    with pytest.raises(UsageError, match=why), stage.clients.application(program, T, "out", group="g"):
        pass
    assert Told.made == []


def test_kafka_streams_is_a_client_of_its_own(tmp_path: Path, timeline: Timeline) -> None:
    """It is given what the scenario says, and librdkafka sends beside it."""
    stage = Stage(tmp_path, timeline, client=Library("streams", "4.3.1"))
    given = {"commit.interval.ms": "7"}
    with (
        stage.clients.streams(T, "out", group="g", guarantee="at_least_once", settings=given),
        stage.clients.load(T),
    ):
        state = Path(stage.settings()["state.dir"])
        assert state.is_dir()
    assert not state.exists()
    streams, load = Told.made
    assert streams.arguments[0].library == {"name": "streams-4.3.1"}
    assert load.arguments[0].library == OF_LIBRDKAFKA
    assert (streams.options["inputs"], streams.options["output"], streams.options["group"]) == ("t", "out", "g")
    process = stage.record.run.processes[0]
    assert (process.kind, process.output, process.library) == ("processor", "out", None)
    assert stage.settings().items() >= {"application.id": "g", "processing.guarantee": "at_least_once", **given}.items()
    assert [one.settings["bootstrap.servers"] for one in stage.record.run.processes] == [RELAYED, BOOTSTRAP]


def test_processes_of_one_machine_have_one_directory_of_state(tmp_path: Path, timeline: Timeline) -> None:
    stage = Stage(tmp_path, timeline, client=Library("streams", "4.3.1"))
    for state in ("machine", "machine", "other"):
        counting = Counting(7)
        with stage.clients.streams(T, "out", group="g", guarantee="exactly_once_v2", counting=counting, state=state):
            pass
    directories = [Path(one.settings["state.dir"]) for one in stage.record.run.processes]
    assert (directories[0], len(set(directories))) == (directories[1], 2)
    assert all(one.is_dir() and one.parent == stage.run_dir.data.resolve() for one in directories)
    assert [told.options["state"] for told in Told.made] == directories
    assert {told.options["counting"] for told in Told.made} == {counting}


def test_kafka_streams_runs_for_no_other_client(stage: Stage) -> None:
    with (
        pytest.raises(UsageError, match=r"the case's client is streams, not librdkafka"),
        stage.clients.streams(T, "out", group="g", guarantee="at_least_once"),
    ):
        raise AssertionError("it began")


def test_the_output_of_kafka_streams_has_one_partition(tmp_path: Path, timeline: Timeline) -> None:
    stage = Stage(tmp_path, timeline, client=Library("streams", "4.3.1"))
    with (
        pytest.raises(UsageError, match="has one partition here, and t has more"),
        stage.clients.streams(T, "t", group="g", guarantee="at_least_once"),
    ):
        raise AssertionError("it began")


def test_a_worker_of_kafka_connect_listens_on_loopback_alone(tmp_path: Path, timeline: Timeline) -> None:
    stage = Stage(tmp_path, timeline, client=Library("connect", "4.3.1"))
    given = {"offset.flush.interval.ms": "7"}
    with (
        stage.clients.connect_worker(T, "out", group="source", settings=given),
        stage.clients.connect_worker(T, "out", group="source"),
    ):
        pass
    first, second = Told.made
    assert first.arguments[0].library == {"name": "connect-4.3.1"}
    assert (first.options["inputs"], first.options["output"], first.options["group"]) == (("t", 0), "out", "source")
    ports = [told.options["port"] for told in (first, second)]
    assert [stage.settings(number)["listeners"] for number in (0, 1)] == [f"http://127.0.0.1:{port}" for port in ports]
    assert stage.settings().items() >= given.items() | {"bootstrap.servers": RELAYED}.items()
    process = stage.record.run.processes[0]
    assert (process.kind, process.output, process.library) == ("processor", "out", None)


def test_each_worker_with_a_sink_has_a_file_of_its_own(tmp_path: Path, timeline: Timeline) -> None:
    stage = Stage(tmp_path, timeline, client=Library("connect", "4.3.1"))
    with (
        stage.clients.connect_worker(T, "", group="connect-sink"),
        stage.clients.connect_worker(T, "", group="connect-sink"),
    ):
        pass
    files = [f"store/processor-{number}/outputs.lines" for number in (1, 2)]
    assert [told.options["store"] for told in Told.made] == files
    assert [(one.output, one.store) for one in stage.record.run.processes] == [("", file) for file in files]


def test_kafka_connect_runs_for_no_other_client(stage: Stage) -> None:
    with (
        pytest.raises(UsageError, match=r"Kafka Connect runs where the case's client is connect, not librdkafka"),
        stage.clients.connect_worker(T, "out", group="source"),
    ):
        raise AssertionError("it began")


@pytest.mark.parametrize(
    ("sink", "output", "store"), [("kafka", "out", ""), ("files", "", "store/output.parts")], ids=["kafka", "files"]
)
def test_a_query_of_spark_has_its_output_on_record(
    tmp_path: Path, timeline: Timeline, sink: str, output: str, store: str
) -> None:
    stage = Stage(tmp_path, timeline, client=Library("spark", "4.2.0"))
    with stage.clients.spark(T, "out", sink=sink, inputs=20, settings={"minOffsetsPerTrigger": "7"}):
        pass
    (told,) = Told.made
    assert told.arguments[0].library == {"name": "spark-4.2.0"}
    assert (told.options["inputs"], told.options["count"], told.options["sink"]) == (("t", 0), 20, sink)
    assert not Path(told.options["work"]).exists()
    assert stage.settings().items() >= {"minOffsetsPerTrigger": "7"}.items()
    process = stage.record.run.processes[0]
    assert (process.kind, process.output, process.store) == ("processor", output, store)
    assert (told.options["output"], told.options["store"]) == (output, store)


def test_spark_runs_for_no_other_client(stage: Stage) -> None:
    with (
        pytest.raises(UsageError, match=r"Spark runs where the case's client is spark, not librdkafka"),
        stage.clients.spark(T, "out", sink="kafka", inputs=20),
    ):
        raise AssertionError("it began")


def test_a_transaction_is_the_cases_clients(tmp_path: Path, timeline: Timeline) -> None:
    """A Java client is given what the case and the scenario say, and none of the harness's defaults."""
    stage = Stage(tmp_path, timeline, client=Library("java", "3.9.2"))
    with stage.clients.transaction("x", settings={"request.timeout.ms": "3000"}):
        pass
    (told,) = Told.made
    assert told.arguments[0].library == {"name": "java-3.9.2"}
    assert stage.settings() == {
        "bootstrap.servers": BOOTSTRAP,
        "acks": "all",
        "transactional.id": "x",
        "enable.idempotence": "true",
        "linger.ms": "7",
        "request.timeout.ms": "3000",
    }


def own(*can: str) -> Library:
    return Library("own", "x-1", "./x", Hello(protocol=1, name="x", version="1", can=can))


def test_a_client_of_the_users_own_is_producer_and_consumer(tmp_path: Path, timeline: Timeline) -> None:
    """It is given what the scenario says, and run.json says which process is whose."""
    stage = Stage(tmp_path, timeline, client=own("produce", "consume", "groups"))
    with stage.clients.load(T), stage.clients.consume(T, group="g", settings={"fetch.min.bytes": "9"}):
        pass
    load, consumer = Told.made
    assert load.arguments[0].library == consumer.arguments[0].library == {"name": "own-x-1"}
    assert [one.library for one in stage.record.run.processes] == [None, "own-x-1"]
    assert stage.settings() == {"bootstrap.servers": BOOTSTRAP, "acks": "all", "linger.ms": "7"}
    assert stage.settings(1) == {"bootstrap.servers": BOOTSTRAP, "fetch.min.bytes": "9"}


def test_a_client_that_only_consumes_leaves_producing_to_librdkafka(tmp_path: Path, timeline: Timeline) -> None:
    stage = Stage(tmp_path, timeline, client=own("consume"))
    with stage.clients.load(T), stage.clients.consume(T):
        pass
    assert Told.made[0].arguments[0].library == OF_LIBRDKAFKA
    assert [one.library for one in stage.record.run.processes] == ["librdkafka", "own-x-1"]
    with pytest.raises(UsageError, match=r"a consumer in a group needs groups"), stage.clients.consume(T, group="g"):
        pass


def test_that_a_client_of_the_users_own_is_late_is_held_against_nobody(tmp_path: Path, timeline: Timeline) -> None:
    stage = Stage(tmp_path, timeline, client=own("produce"))
    late = stage.clients._late([T])("a record is acknowledged", 9.0, "nothing", 0)
    assert isinstance(late, WaitTimeout)


@pytest.mark.parametrize("client", [Library("java", "0.10.2.2"), Library("scala", "0.11.0.3")])
def test_a_client_without_transactions_is_bad_input(client: Library, tmp_path: Path, timeline: Timeline) -> None:
    stage = Stage(tmp_path, timeline, version="0.11.0.3", client=client)
    with pytest.raises(UsageError, match=f"{client.name} has no transactions"), stage.clients.transaction():
        pass


@pytest.mark.parametrize(
    ("client", "settings", "held_against"),
    [
        (RDKAFKA, {"retries": "10"}, DutyNotDone),
        (RDKAFKA, {"retries": "0"}, PreconditionNotHeld),
        (RDKAFKA, {}, DutyNotDone),
        (Library("java", "2.0.1"), {}, PreconditionNotHeld),
        (Library("java", "2.0.1"), {"retries": "3"}, DutyNotDone),
        (Library("java", "2.1.1"), {}, DutyNotDone),
    ],
    ids=["tries again", "one attempt", "as librdkafka does", "Java before 2.1", "Java that was told to", "Java since"],
)
def test_a_refusal_is_held_against_kafka_if_the_producer_tries_again(
    client: Library,
    settings: Mapping[str, str],
    held_against: type[Exception],
    tmp_path: Path,
    timeline: Timeline,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A broker that has not been told of a topic refuses what is sent to it, whoever leads."""
    stage = Stage(tmp_path, timeline, client=client)
    monkeypatch.setattr("harness.run.clients.led", lambda *_: True)
    refused = SimpleNamespace(outcome="fail", error_name="UNKNOWN_TOPIC_OR_PART")
    monkeypatch.setattr(stage.clients, "producer", lambda **_: SimpleNamespace(send=lambda *_, **__: [refused]))
    with pytest.raises(held_against, match="UNKNOWN_TOPIC_OR_PART"):
        stage.clients.send(T, settings=settings)
