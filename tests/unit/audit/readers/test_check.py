"""What is said of settings: slips, keys of others, keys of other releases, values that are refused."""

from __future__ import annotations

import pytest

from tests.unit.audit.reading import read, told


@pytest.mark.parametrize(
    ("line", "client", "release", "message"),
    [
        ("ack=all", "java", "2.8.2", "the Java producer has no key 'ack': did you mean acks?"),
        ("enable.idempotent=true", "java", "2.8.2",
         "the Java producer has no key 'enable.idempotent': did you mean enable.idempotence?"),
        ("max.in.flight.requests=1", "java", "2.8.2",
         "the Java producer has no key 'max.in.flight.requests': did you mean max.in.flight.requests.per.connection?"),
        ("request.required.acks=1", "java", "2.8.2",
         "the Java producer ignores 'request.required.acks', a key of the Scala producer: write acks"),
        ("message.timeout.ms=1", "java", "2.8.2",
         "the Java producer ignores 'message.timeout.ms', a key of librdkafka's producer: write delivery.timeout.ms"),
        ("acks=all", "scala", "0.8.2.2",
         "the Scala producer ignores 'acks', a key of the Java producer: write request.required.acks"),
        ("enable.idempotence=true", "java", "0.10.2.2",
         "the Java producer of 0.10.2.2 does not know 'enable.idempotence', which came after 0.10.2.2: "
         "it is ignored: use a newer client, or take it out"),
        ("block.on.buffer.full=true", "java", "2.8.2",
         "the Java producer of 2.8.2 no longer knows 'block.on.buffer.full', gone after 0.10.2.2: "
         "it is ignored: take it out"),
        ("acks=2", "java", "2.8.2", "acks=2 is refused: it takes one of all, -1, 0, 1"),
        ("retries=many", "java", "2.8.2", "retries=many is refused: it takes a whole number"),
        ("enable.idempotence=yes", "java", "2.8.2", "enable.idempotence=yes is refused: it takes true or false"),
    ],
)  # fmt: skip
def test_what_is_told(tmp_path, line, client, release, message) -> None:
    found = told(read(tmp_path, {"producer.properties": line + "\n"}, client=client, release=release))
    assert found == [f"producer.properties:1 {message}"]


@pytest.mark.parametrize(
    ("line", "client", "release"),
    [
        ("acks=all", "java", "2.8.2"),
        ("acks=ALL", "java", "2.8.2"),
        ("retries=-1", "java", "2.8.2"),
        ("schema.registry.url=http://r", "java", "2.8.2"),
        ("my.own.interceptor.setting=x", "java", "2.8.2"),
        ("acks=all", "librdkafka", "2.3.0"),
        ("request.required.acks=all", "librdkafka", "2.3.0"),
        ("request.required.acks=2", "scala", "0.8.2.2"),
        ("request.required.acks=-1", "scala", "0.8.2.2"),
        ("enable.idempotence=true", "java", "0.11.0.3"),
        ("group.id=x", "java", "2.8.2"),
    ],
)
def test_what_is_not(tmp_path, line, client, release) -> None:
    files = {"producer.properties": f"linger.ms=1\n{line}\n" if client == "java" else f"{line}\n"}
    assert told(read(tmp_path, files, client=client, release=release)) == []


def test_of_an_unknown_client_only_what_is_nobodys(tmp_path) -> None:
    content = '{"bootstrap.servers": "k", "acks": 1, "retires": 3, "request.required.ack": 1}'
    assert told(read(tmp_path, {"producer.json": content})) == [
        "producer.json:1 no producer has a key 'retires': did you mean retries?",
        "producer.json:1 no producer has a key 'request.required.ack': did you mean request.required.acks?",
    ]


def test_brokers_keys_and_values(tmp_path) -> None:
    content = "broker.id=1\nlog.dirs=/d\nmin.insync.replica=2\nunclean.leader.election.enable=maybe\n"
    assert told(read(tmp_path, {"server.properties": content})) == [
        "server.properties:3 a broker has no key 'min.insync.replica': did you mean min.insync.replicas?",
        "server.properties:4 unclean.leader.election.enable=maybe is refused: it takes true or false",
    ]


def test_without_a_release_nothing_is_too_new_or_too_old(tmp_path) -> None:
    content = (
        "broker.id=1\nlog.dirs=/d\nadvertised.host.name=h\nzookeeper.connect=z\ninter.broker.protocol.version=3.5\n"
    )
    assert told(read(tmp_path, {"server.properties": content})) == []


def test_as_many_replicas_as_have_to_be_in_sync_are_enough(tmp_path) -> None:
    content = (
        "apiVersion: kafka.strimzi.io/v1\nkind: KafkaTopic\nmetadata: {name: t}\n"
        "spec: {replicas: 2, config: {min.insync.replicas: 2}}\n"
    )
    assert told(read(tmp_path, {"t.yaml": content})) == []


@pytest.mark.parametrize(("value", "count"), [("Leader", 0), ("All", 0), ("None", 0), ("Most", 1)])
def test_the_names_that_dotnet_has_for_acks_are_no_bad_values(tmp_path, value, count) -> None:
    content = f'{{"Kafka": {{"Producer": {{"BootstrapServers": "k", "Acks": "{value}"}}}}}}'
    assert len(told(read(tmp_path, {"appsettings.json": content}), "bad-value")) == count
