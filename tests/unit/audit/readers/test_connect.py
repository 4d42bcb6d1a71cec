"""Kafka Connect: workers, connectors, and what a connector gets from its worker."""

from __future__ import annotations

import json

from tests.unit.audit.reading import lines, only, read, values

WORKER = "bootstrap.servers=k\ngroup.id=c1\noffset.storage.topic=o\nproducer.acks=1\nconsumer.max.poll.records=5\n"
SOURCE = {"connector.class": "io.x.PgSource", "topic": "t", "producer.override.linger.ms": "50"}
SINK = {"connector.class": "io.x.JdbcSinkConnector", "topics": "t"}


def test_a_workers_producer(tmp_path) -> None:
    producer = only(read(tmp_path, {"connect-distributed.properties": WORKER}))
    assert (producer.name, producer.client, producer.framework) == ("c1", "java", "connect")
    assert values(producer) == {"bootstrap.servers": "k", "acks": "1"}
    assert lines(producer)["acks"] == "connect-distributed.properties:4"
    assert producer.spelled("retries") == "producer.retries"
    assert {key: each.value for key, each in producer.presets.items()} == {
        "acks": "all",
        "max.in.flight.requests.per.connection": "1",
        "delivery.timeout.ms": "2147483647",
        "max.block.ms": "9223372036854775807",
        "enable.idempotence": "false",
    }


def test_exactly_once_sources_are_transactional(tmp_path) -> None:
    content = WORKER + "exactly.once.source.support=enabled\n"
    presets = only(read(tmp_path, {"w.properties": content})).presets
    assert presets["enable.idempotence"].value == "true"
    assert "transactional.id" in presets


def test_a_connector_plain_or_with_its_name(tmp_path) -> None:
    files = {
        "a.json": json.dumps(SOURCE | {"name": "a"}),
        "b.json": json.dumps({"name": "b", "config": SOURCE}, indent=1),
    }
    a, b = read(tmp_path, files).producers
    assert (a.name, b.name, a.topics) == ("a", "b", ("t",))
    assert values(b) == {"linger.ms": "50"}
    assert lines(b)["linger.ms"] == "b.json:6"
    assert b.presets["acks"].value == "all"


def test_a_connector_in_properties_and_several_in_one_file(tmp_path) -> None:
    files = {
        "c.properties": "name=c\nconnector.class=FileStreamSource\ntopic=t\nproducer.override.acks=0\n",
        "all.json": json.dumps([{"name": "d", "config": SOURCE}, {"name": "e", "config": SOURCE}]),
    }
    assert sorted(each.name for each in read(tmp_path, files).producers) == ["c", "d", "e"]


def test_a_sink_has_a_producer_only_for_its_dead_letters(tmp_path) -> None:
    inputs = read(tmp_path, {"s.json": json.dumps(SINK)})
    assert inputs.producers == ()
    assert "a sink connector's, which writes to no topic" in inputs.ignored
    letters = SINK | {"errors.deadletterqueue.topic.name": "dlq"}
    assert only(read(tmp_path, {"s.json": json.dumps(letters)})).topics == ("dlq",)


def test_a_connector_goes_by_its_worker(tmp_path) -> None:
    _, connector = sorted(
        read(tmp_path, {"w.properties": WORKER, "a.json": json.dumps(SOURCE | {"name": "zz"})}).producers,
        key=lambda each: each.name,
    )
    assert connector.presets["acks"].value == "1"
    assert "w.properties" in connector.presets["acks"].note
    assert "acks" not in connector.settings


def test_with_two_workers_nobody_knows_whose_it_is(tmp_path) -> None:
    files = {"x/w.properties": WORKER, "y/w.properties": WORKER, "z/a.json": json.dumps(SOURCE | {"name": "zz"})}
    connector = next(each for each in read(tmp_path, files).producers if each.name == "zz")
    assert connector.presets["acks"].value == "all"


def test_a_connector_goes_by_the_only_worker_in_a_directory_beside_its_own(tmp_path) -> None:
    connector = json.dumps(SOURCE | {"name": "zz"})

    def acks(folder: str, at: str) -> str:
        files = {"x/w.properties": WORKER, at: connector}
        found = read(tmp_path / folder, files).producers
        return next(each for each in found if each.name == "zz").presets["acks"].value

    assert acks("beside", "connectors/a.json") == "1"
    assert acks("deeper", "other/connectors/a.json") == "all"
