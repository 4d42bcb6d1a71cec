"""Segments written by real brokers, and what Kafka's own DumpLogSegments says of them.

    python -m tests.integration.make_segments VERSION DESTINATION

starts one broker of VERSION (its image must be there), writes a topic per codec and writer, stops the broker cleanly,
and leaves DESTINATION/VERSION/<topic>-0/ with the files of each partition and `dump.txt`, the tool's output for them.
The same records go to every topic; what differs is who compressed them:

- `<codec>-client`: librdkafka compressed, the broker kept the batch (a broker before 0.10 always compresses anew, so
there it is the broker's work);
- `<codec>-broker`: written uncompressed into a topic with compression.type set, so Kafka's Java code compressed it
(0.9 and later);
- `append-time`: message.timestamp.type=LogAppendTime (0.10 and later);
- `transactions`: committed, aborted and plain records of a transactional producer (0.11 and later);
- `__consumer_offsets`: what members of groups commit, by themselves and in transactions (0.10 and later), one after the
other with a static member (2.4) and with the consumer protocol (4.0).

With KRaft, the controller's metadata log comes too. tests/data/segments and tests/data/group-logs were made with this.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kazoo.client import KazooClient

from harness.cluster import docker as engine
from harness.cluster import versions
from harness.cluster.namespace import namespace
from harness.cluster.networks import free_prefixes_here
from harness.cluster.versions import Version
from tests.integration.engine import call, needs_image

COMPOSE = Path(__file__).resolve().parents[2] / "compose"
SETTINGS = (
    "auto.create.topics.enable=false;offsets.topic.replication.factor=1;"
    "offsets.topic.num.partitions=1;group.initial.rebalance.delay.ms=0;"
    "transaction.state.log.replication.factor=1;transaction.state.log.min.isr=1;transaction.state.log.num.partitions=1"
)
LIMIT_S = 90.0
RECORDS = 12
KEPT = re.compile(
    r"\d{20}\.(log|index|timeindex|txnindex|snapshot)|leader-epoch-checkpoint|partition\.metadata|quorum-state"
)
LOG_DIR_FILES = ("replication-offset-checkpoint", "recovery-point-offset-checkpoint", "log-start-offset-checkpoint",
                 "cleaner-offset-checkpoint", "meta.properties", ".kafka_cleanshutdown")  # fmt: skip


def make(version: Version, destination: Path, *, value_bytes: int = 60) -> Path:
    """Write `destination`/<version>; `value_bytes` is the size of the largest value."""
    run = f"segments-{version.kafka}-{os.getpid()}"
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-") as scratch, engine_client() as client:
        needs_image(client, version)
        prefix = next(free_prefixes_here(client))
        data = Path(scratch)
        variables = {
            "KAFKA_VERSION": version.kafka,
            "KAFKA_SETTINGS": SETTINGS,
            "CHAOS_SUBNET": prefix,
            "CHAOS_DATA": scratch,
            "CHAOS_RUN": run,
            "CHAOS_OWNER": engine.owner(),
        }
        zookeeper = version.mode == "zookeeper"
        compose = ["docker", "compose", "-p", f"kafka-chaos-{os.getpid()}", "-f"]
        compose.append(str(COMPOSE / ("zookeeper.yml" if zookeeper else "kraft.yml")))
        coordinator = "zookeeper" if zookeeper else "controller-100"
        try:
            call([*compose, "up", "-d", coordinator, "broker-1"], variables)
            write(version, prefix, value_bytes)
            call([*compose, "stop", "broker-1"], variables)
            call([*compose, "stop", coordinator], variables)
            return collect(version, data, destination)
        finally:
            engine.remove(engine.find_ours(client, run=run))


@contextlib.contextmanager
def engine_client() -> Iterator[Any]:
    client = engine.connect()
    try:
        yield client
    finally:
        client.close()


# --- writing --------------------------------------------------------------------------------------------------------


def topics(version: Version) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """Settings of each topic and of the producer that writes to it."""
    codecs = ["none", "gzip", "snappy", "lz4"]
    if version.release >= (2, 1):
        codecs.append("zstd")
    found: dict[str, tuple[dict[str, str], dict[str, str]]] = {}
    for codec in codecs:
        found[f"{codec}-client"] = ({}, {"compression.type": codec})
        if version.release >= (0, 9) and codec != "none":
            found[f"{codec}-broker"] = ({"compression.type": codec}, {"compression.type": "none"})
    if version.release >= (0, 10):
        found["append-time"] = ({"message.timestamp.type": "LogAppendTime"}, {"compression.type": "gzip"})
    if version.release >= (0, 11):
        found["transactions"] = ({}, {"compression.type": "none"})
    return found


def write(version: Version, prefix: str, value_bytes: int) -> None:
    bootstrap = f"{prefix}.11:9092"
    wanted = topics(version)
    client = {"bootstrap.servers": bootstrap, "log_level": 2, **version.client_settings}
    create_topics(version, prefix, bootstrap, {name: settings for name, (settings, _) in wanted.items()})
    for name, (_, producing) in wanted.items():
        settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "linger.ms": 50,
            "acks": "all",
            "message.timeout.ms": int(LIMIT_S * 1000),
            "topic.metadata.refresh.interval.ms": 1000,
            "log_level": 2,
            "enable.idempotence": version.release >= (0, 11) and name != "none-client",
        }
        settings |= version.client_settings | producing
        if name == "transactions":
            write_transactions(
                Producer(settings | {"transactional.id": "t", "transaction.timeout.ms": settings["message.timeout.ms"]})
            )
        else:
            write_plain(version, Producer(settings), name, value_bytes)
    if version.release >= (0, 10):
        write_groups(version, client)


def write_groups(version: Version, client: Mapping[str, Any]) -> None:
    """Two members that share two partitions and commit, then a third kind of member where the release has one."""
    group = {**client, "group.id": "g", "enable.auto.commit": False, "partition.assignment.strategy": "roundrobin"}
    with members(group, group) as both:
        for number, member in enumerate(both):
            member.commit(offsets=[TopicPartition("none-client", 0, number + 3, metadata="m")], asynchronous=False)
    if version.release >= (0, 11):
        write_offsets_in_transactions(Producer({**client, "transactional.id": "o"}), group)
    if version.release >= (2, 4):
        with members(group | {"group.instance.id": "i", "group.id": "static"}) as (static,):
            static.commit(offsets=[TopicPartition("none-client", 0, 7)], asynchronous=False)
    if version.release >= (4, 0):
        del group["partition.assignment.strategy"]
        with members(*[group | {"group.protocol": "consumer", "group.id": "new"}] * 2) as (new, _):
            new.commit(offsets=[TopicPartition("none-client", 0, 8)], asynchronous=False)


@contextlib.contextmanager
def members(*settings: Mapping[str, Any]) -> Iterator[list[Consumer]]:
    """Members of groups, each with its settings, when all partitions are given to some of them."""
    topics = ["none-client", "gzip-client"]
    found = [Consumer(dict(one)) for one in settings]
    try:
        for one in found:
            one.subscribe(topics)

        def shared() -> bool:
            for one in found:
                one.poll(0.2)
            given = [{(t.topic, t.partition) for t in one.assignment()} for one in found]
            return all(given) and sum(map(len, given)) == len(topics) == len(set().union(*given))

        until(shared, "the members' partitions")
        yield found
    finally:
        for one in found:
            one.close()


def write_offsets_in_transactions(producer: Producer, group: Mapping[str, Any]) -> None:
    """Offsets in a transaction that is committed, and in one that is aborted."""
    producer.init_transactions(LIMIT_S)
    with members(group) as (member,):
        for offset in (5, 6):
            producer.begin_transaction()
            places = [TopicPartition("none-client", 0, offset)]
            producer.send_offsets_to_transaction(places, member.consumer_group_metadata(), LIMIT_S)
            producer.commit_transaction(LIMIT_S) if offset == 5 else producer.abort_transaction(LIMIT_S)


def write_plain(version: Version, producer: Producer, topic: str, value_bytes: int) -> None:
    failures: list[str] = []

    def delivered(error: object, _: object) -> None:
        if error is not None:
            failures.append(str(error))

    for number in range(RECORDS):
        extra: dict[str, Any] = {}
        if version.release >= (0, 10):
            extra["timestamp"] = 1_600_000_000_000 + 1000 * number
        if version.release >= (0, 11) and number % 3 == 0:
            extra["headers"] = [("h1", b"x"), ("h2", None), ("h1", b"")][: number % 4]
        key = None if number % 5 == 4 else f"k{number}".encode()
        value = None if number % 7 == 6 else f"v{number}-".encode() + b"abcde" * (value_bytes * number // RECORDS // 5)
        producer.produce(topic, value=value, key=key, partition=0, on_delivery=delivered, **extra)
        if number % 4 == 3:
            flush(producer)
    flush(producer)
    if failures:
        raise RuntimeError(f"{topic}: {failures[0]}")


def flush(producer: Producer) -> None:
    left = producer.flush(LIMIT_S)
    if left:
        raise RuntimeError(f"{left} records not delivered in {LIMIT_S:.0f} s")


def write_transactions(producer: Producer) -> None:
    producer.init_transactions(LIMIT_S)
    for number, commit in enumerate((True, False, True)):
        producer.begin_transaction()
        for at in range(3):
            producer.produce("transactions", value=f"tx{number}-{at}".encode(), partition=0)
        flush(producer)
        if commit:
            producer.commit_transaction(LIMIT_S)
        else:
            producer.abort_transaction(LIMIT_S)


def create_topics(version: Version, prefix: str, bootstrap: str, wanted: Mapping[str, Mapping[str, str]]) -> None:
    if version.has_create_topics:
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
        new = [
            NewTopic(
                name, num_partitions=1, replica_assignment=[[1]], config={"index.interval.bytes": "100", **settings}
            )
            for name, settings in wanted.items()
        ]
        until(lambda: all_done(admin.create_topics(new, request_timeout=10)), "the topics' creation")
        return
    client = KazooClient(hosts=f"{prefix}.10:2181", connection_retry={"max_tries": -1, "max_delay": 0.5})
    client.start(timeout=LIMIT_S)
    try:
        until(lambda: client.exists("/brokers/ids/1") is not None, "broker 1's registration")
        client.ensure_path("/config/topics")
        for name, settings in wanted.items():
            config = {"version": 1, "config": {"index.interval.bytes": "100", **settings}}
            client.create(f"/config/topics/{name}", json.dumps(config).encode())
            client.create(f"/brokers/topics/{name}", json.dumps({"version": 1, "partitions": {"0": [1]}}).encode())
    finally:
        client.stop()
        client.close()


def all_done(futures: Mapping[str, Any]) -> bool:
    for future in futures.values():
        try:
            future.result(timeout=15)
        except KafkaException as error:
            if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
                return False
        except TimeoutError:
            return False
    return True


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {LIMIT_S:.0f} s for {what}")
        time.sleep(0.2)


# --- collecting -----------------------------------------------------------------------------------------------------


def collect(version: Version, data: Path, destination: Path) -> Path:
    """Copy what matters of the broker's log directory (and the controller's), each with its dump."""
    target = destination / version.kafka
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    log_dir = data / "broker-1" / "kafka"
    for name in LOG_DIR_FILES:
        if (log_dir / name).exists():
            shutil.copy(log_dir / name, target / name.lstrip("."))
    partitions = [log_dir / f"{topic}-0" for topic in topics(version)]
    if version.release >= (0, 10):
        partitions.append(log_dir / "__consumer_offsets-0")
    if version.mode == "kraft":
        partitions.append(data / "controller-100" / "kafka" / "__cluster_metadata-0")
    for partition in partitions:
        copy = target / partition.name
        copy.mkdir()
        for path in sorted(partition.iterdir()):
            if KEPT.fullmatch(path.name):
                shutil.copy(path, copy / path.name)
    for name, text in dumps(version, target).items():
        (target / name / "dump.txt").write_text(text)
    return target


def dumps(version: Version, target: Path) -> dict[str, str]:
    """What the version's own DumpLogSegments prints of each partition directory's files. One JVM reads all: it takes
    a second to start.
    """
    shown = (
        (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
        if version.release >= (0, 10, 1)
        else (".log", ".index")
    )
    files = sorted(path.relative_to(target) for path in target.glob("*-0/*") if path.suffix in shown)
    decoders = {"__cluster_metadata-0": "--cluster-metadata-decoder", "__consumer_offsets-0": "--offsets-decoder"}
    plain = [path for path in files if path.parent.name not in decoders]
    text = dump(version, target, plain, "--deep-iteration --print-data-log")
    for name, decoder in decoders.items():
        logs = [path for path in files if path.parent.name == name and path.suffix == ".log"]
        if logs:
            text += dump(version, target, logs, f"--deep-iteration --print-data-log {decoder}")
    found: dict[str, str] = {}
    for section in re.split(r"^(?=Dumping )", text, flags=re.MULTILINE)[1:]:
        head, _, body = section.partition("\n")
        path = Path(head.removeprefix("Dumping ").strip())
        found[path.parent.name] = found.get(path.parent.name, "") + f"Dumping {path.name}\n{body}"
    return found


def dump(version: Version, target: Path, files: list[Path], options: str) -> str:
    tool = "org.apache.kafka.tools" if version.release >= (4, 3) else "kafka.tools"
    names = ",".join(f"/tmp/segments/{path}" for path in files)
    # A copy, because the tool of old versions opens indexes for writing.
    script = (
        f'cp -r /segments /tmp; . /opt/kafka/jvm; exec "${{jvm[@]}}" {tool}.DumpLogSegments --files {names} {options}'
        " 2>/dev/null"
    )
    mount = f"{target.resolve()}:/segments:ro"
    label = f"{engine.LABEL}={namespace()}"
    docker = ["--rm", "--network", "none", "--label", label, "--volume", mount, "--entrypoint", "bash"]
    return call(["docker", "run", *docker, version.image, "-c", script])


if __name__ == "__main__":
    print(make(versions.get(sys.argv[1]), Path(sys.argv[2])))
