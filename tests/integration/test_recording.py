"""Workload processes against real brokers, old and new: what they record is what the brokers have."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from evidence.history import schema
from evidence.history.read import open_run
from evidence.history.seal import seal_run
from evidence.rundir import RunDir
from evidence.timeline import Timeline
from harness.cluster import docker, versions
from harness.cluster.networks import free_prefixes_here
from harness.workloads.handles.client import BackgroundConsumer, Client, FinalReader, LoadGenerator, ScriptedProducer
from tests.integration.engine import call, needs_image
from tests.records import run_record

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("recording")]

COMPOSE = Path(__file__).resolve().parents[2] / "compose"
UP_S = 90.0
LIMIT_S = 60.0
PARTITIONS = 3
NO_SETTINGS: Mapping[str, str] = {}
VERSIONS = ["0.8.2.2", "0.9.0.1", "0.10.2.2", "4.3.1"]


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker, its address, and what a client of it must be told."""

    address: str
    container: Any
    settings: dict[str, str]

    def make_topic(self, name: str) -> None:
        """Have a topic created by asking for it, and wait for its leaders."""
        client = Producer(
            {"bootstrap.servers": self.address, "log_level": 0, "allow.auto.create.topics": True} | self.settings
        )
        deadline, seen = time.monotonic() + UP_S, object()
        while time.monotonic() < deadline:
            try:
                partitions = client.list_topics(name, timeout=2.0).topics[name].partitions
            except KafkaException as error:
                seen = error
                continue
            seen = {number: one.leader for number, one in partitions.items()}
            if len(seen) == PARTITIONS and min(seen.values()) >= 0:
                return
        pytest.fail(f"topic {name} is not there after {UP_S} s; last seen: {seen}")

    def wait_end(self, topic: str, end: int) -> None:
        """Wait until partition 0 of a topic ends at `end` or beyond."""
        client = Consumer({"bootstrap.servers": self.address, "group.id": "test", "log_level": 0} | self.settings)
        deadline, high = time.monotonic() + LIMIT_S, -1
        while high < end:
            assert time.monotonic() < deadline, f"{topic}-0 ends at {high} after {LIMIT_S} s, wanted {end}"
            _, high = client.get_watermark_offsets(TopicPartition(topic, 0), timeout=5.0)
        client.close()


def client(
    run_dir: RunDir, name: str, broker: Broker, number: int = -1, settings: Mapping[str, str] = NO_SETTINGS
) -> Client:
    """A client of the broker, with settings beside those that its version needs."""
    return Client(run_dir, name, number, broker.address, broker.settings | dict(settings))


@contextmanager
def one_broker(name: str, settings: str = "") -> Iterator[Broker]:
    """A cluster of one broker of a version, with more settings if need be (name=value;…)."""
    version = versions.get(name)
    kraft = version.mode == "kraft"
    client = docker.connect()
    needs_image(client, version)
    project = f"kafka-chaos-test-{secrets.token_hex(4)}"
    prefix = next(free_prefixes_here(client))
    variables = {
        "KAFKA_VERSION": version.kafka,
        "CHAOS_SUBNET": prefix,
        "CHAOS_RUN": project,
        "CHAOS_OWNER": docker.owner(),
        "KAFKA_SETTINGS": f"auto.create.topics.enable=true;num.partitions={PARTITIONS};default.replication.factor=1;"
        f"offsets.topic.replication.factor=1{settings and ';'}{settings}",
    }
    compose = ["docker", "compose", "-p", project, "-f", str(COMPOSE / ("kraft.yml" if kraft else "zookeeper.yml"))]
    services = ["controller-100" if kraft else "zookeeper", "broker-1"]
    try:
        call([*compose, "up", "-d", *services], variables)
        container = client.containers.get(f"{project}-broker-1-1")
        yield Broker(f"{prefix}.11:9092", container, dict(version.client_settings))
    finally:
        docker.remove(docker.find_ours(client, run=project))


@pytest.fixture(scope="module", params=VERSIONS)
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with one_broker(request.param) as found:
        yield found


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    found = RunDir(tmp_path / "run")
    found.write_run(run_record({"run": found.path.name, "scenario": "s", "version": "v", "processes": []}))
    return found


def test_what_is_recorded_is_what_the_broker_has(broker: Broker, run_dir: RunDir) -> None:
    broker.make_topic("t")
    partitions = list(range(PARTITIONS))
    load_settings = {
        "acks": "all",
        "compression.type": "gzip",
        "linger.ms": "5",
        "max.in.flight.requests.per.connection": "2",
    }
    final = FinalReader(client(run_dir, "final", broker), {"t": partitions}, timeout_s=LIMIT_S)
    load = LoadGenerator(
        client(run_dir, "load", broker, 9, load_settings),
        topic="t", partitions=partitions, rate_per_s=None, record_bytes=200, keys=5, records=5000,
    )  # fmt: skip
    with (
        Timeline(run_dir.timeline) as timeline,
        BackgroundConsumer(client(run_dir, "back", broker), assign={"t": partitions}) as back,
    ):
        sent = {}
        for number, acks in enumerate(("all", "1", "0")):
            producer = ScriptedProducer(client(run_dir, f"acks-{acks}", broker, number, {"acks": acks}), timeline)
            sent[acks] = producer.send("t", 1, count=3, timeout_s=LIMIT_S)
            # What was sent with acks=0 may still be on its way: a connection that is closed with an answer unread is
            # reset, and the broker drops what it has not read yet.
            back.wait_read(3 * (number + 1), timeout_s=LIMIT_S)
            producer.close()
        with load:
            load.wait_acked(5000, timeout_s=LIMIT_S)
        back.wait_read(5009, timeout_s=LIMIT_S)
    seen = final.read()

    assert [(one.outcome, one.offset) for one in sent["all"]] == [("ok", 0), ("ok", 1), ("ok", 2)]
    assert [(one.outcome, one.offset) for one in sent["1"]] == [("ok", 3), ("ok", 4), ("ok", 5)]
    # Nobody answers acks=0: "ok" is all that the client knows, where the record lies it does not.
    assert [(one.outcome, one.offset) for one in sent["0"]] == [("ok", None)] * 3
    assert seen.complete
    assert seen.errors == ()
    assert sum(end or 0 for end, _ in seen.partitions.values()) == 5009

    unsealed = open_run(run_dir)
    seal_run(run_dir)
    history = open_run(run_dir)
    assert history.problems == unsealed.problems == ()
    for partition in partitions:
        table = history.tables[("t", partition)]
        assert table.equals(unsealed.tables[("t", partition)])
        rows = table.to_pylist()
        sends = {(row["producer"], row["sequence"]): row["offset"] for row in rows if row["kind"] == schema.SEND}
        for reader in ("back", "final"):
            polls = [row for row in rows if row["kind"] == schema.POLL and row["process"] == reader]
            assert all(row["valid"] for row in polls)
            assert [row["offset"] for row in polls] == list(range(len(polls)))
            polled = {(row["producer"], row["sequence"]): row["offset"] for row in polls}
            assert polled.keys() == sends.keys()
            assert {key: offset for key, offset in polled.items() if sends[key] is not None} == {
                key: offset for key, offset in sends.items() if offset is not None
            }
    outcomes = Counter(
        row["outcome"] for t in history.tables.values() for row in t.to_pylist() if row["kind"] == "send"
    )
    assert outcomes == {"ok": 5009}


@pytest.mark.parametrize("broker", ["4.3.1"], indirect=True)
def test_purged_from_the_queue_is_no_proof_of_never_sent(broker: Broker, run_dir: RunDir) -> None:
    """A record whose first attempt went unanswered waits in the queue for its second, and is in the log nonetheless."""
    broker.make_topic("frozen")
    settings = {"acks": "all", "socket.timeout.ms": "1000", "request.timeout.ms": "1000"}
    with Timeline(run_dir.timeline) as timeline:
        producer = ScriptedProducer(client(run_dir, "p", broker, 1, settings), timeline)
        assert producer.send("frozen", 0, timeout_s=LIMIT_S)[0].outcome == "ok"
        broker.container.kill(signal="SIGSTOP")
        try:
            pending = producer.send_async("frozen", 0)
            time.sleep(2.5)  # the sequence itself: longer than the request's time-out, so that it is tried again
            producer.close()
        finally:
            broker.container.kill(signal="SIGCONT")
    answer = pending.wait(1.0)
    broker.wait_end("frozen", 2)
    final = FinalReader(client(run_dir, "f", broker), {"frozen": [0]}, timeout_s=LIMIT_S)
    seen = final.read()
    assert seen.complete
    assert (answer.outcome, answer.offset) == ("info", None)
    assert answer.error_name == "_PURGE_QUEUE"
    rows = open_run(run_dir).tables[("frozen", 0)].to_pylist()
    polled = [row["sequence"] for row in rows if row["kind"] == schema.POLL]
    assert polled[:2] == [0, 1]
