import sys
from pathlib import Path

import pytest

from evidence.errors import UsageError
from harness.cluster import versions
from harness.workloads.libraries import RDKAFKA, Library, library, understood
from harness.workloads.processes.producers import librdkafka_configuration
from harness.workloads.settings import PRODUCER

OLD, NEW = versions.get("0.9.0.1"), versions.get("4.3.1")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("librdkafka", RDKAFKA),
        ("java", Library("java", "0.9.0.1")),
        ("java-0.8.2.2", Library("java", "0.8.2.2")),
        ("scala-0.8.2.2", Library("scala", "0.8.2.2")),
        ("java-0.8.2.1", Library("java", "0.8.2.1")),
    ],
)
def test_a_client_by_its_name(name: str, found: Library) -> None:
    assert library(name, OLD) == found
    assert found.name.startswith(name)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("jav", "no client 'jav': librdkafka, java-<release> or scala-<release>"),
        ("java-9.9", "no client 'java-9.9'"),
        ("streams", "no client 'streams': Kafka Streams is run from 0.11 on"),
        ("connect", "no client 'connect': Kafka Connect is run from 0.11 on"),
        ("spark-4.1.1", "no client 'spark-4.1.1': Spark is run as spark-4.2.0"),
        ("spark", "spark-4.2.0 brings clients of 3.9.2, which do not know 0.9.0.1"),
        ("scala-2.8.2", r"no client 'scala-2.8.2': the Scala producer was removed in 2.0$"),
        ("java-4.3.1", "share no version of the Produce request"),
    ],
)
def test_a_client_that_there_is_not(name: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        library(name, OLD)


def test_the_scala_producer_is_not_understood_from_4_0_on() -> None:
    assert library("scala-1.1.1", versions.get("3.9.2-zk")) == Library("scala", "1.1.1")
    with pytest.raises(UsageError, match="share no version of the Produce request"):
        library("scala-1.1.1", versions.get("4.0.2"))


@pytest.mark.parametrize(
    ("client", "broker", "held"),
    [
        ((0, 8, 2, 2), (3, 9, 2), True),
        ((0, 8, 2, 2), (4, 0, 2), False),
        ((0, 11, 0, 3), (4, 3, 1), True),
        ((0, 10, 2, 2), (0, 10, 0, 1), True),
        ((0, 9, 0, 1), (0, 8, 2, 2), False),
        ((2, 8, 2), (0, 9, 0, 1), False),
        ((4, 0, 2), (2, 0, 1), False),
        ((4, 0, 2), (2, 2, 2), True),
        ((4, 3, 1), (4, 0, 2), True),
    ],
)
def test_which_brokers_understand_which_producers(client: tuple[int, ...], broker: tuple[int, ...], held: bool) -> None:
    assert understood(client, broker) is held


def test_a_java_producer_is_not_idempotent_where_brokers_have_no_room_for_it() -> None:
    pinned = versions.get("3.9.2-pinned")
    assert Library("java", "3.9.2").settings("all", pinned) == {"enable.idempotence": "false", "acks": "all"}
    assert Library("java", "3.9.2").settings("all", OLD) == {"enable.idempotence": "false", "acks": "all"}
    asked = {"enable.idempotence": "true"}
    assert Library("java", "3.9.2").settings("all", pinned, asked) == asked | {"acks": "all"}
    assert Library("java", "2.8.2").settings("all", pinned) == {"acks": "all"}


def test_only_librdkafka_is_given_defaults_of_ours() -> None:
    assert RDKAFKA.settings("1", NEW).items() >= {**PRODUCER, "acks": "1"}.items()
    assert Library("java", "2.8.2").settings("all", NEW, {"retries": "1"}) == {"acks": "all", "retries": "1"}
    assert Library("scala", "0.8.2.2").settings("all", OLD) == {"request.required.acks": "-1"}


STUB = f"{sys.executable} {Path(__file__).with_name('stub_client.py')}"


def test_a_command_is_a_client_of_the_users_own() -> None:
    own = library(f"{STUB} good", NEW)
    assert own.name == "own-stub-1.0"
    assert own.producers == own.consumers == own
    assert own.settings("1", NEW, {"message.timeout.ms": "5"}) == {"acks": "1", "delivery.timeout.ms": "5"}
    assert own.record is not None
    assert (own.record.name, own.record.version, own.record.command) == ("stub", "1.0", own.command)
    told = own.arguments(OLD, lambda _: None)
    assert (told["label"], told["kafka"], told["command"][-1]) == ("stub 1.0", "0.9.0.1", "good")


def test_what_a_client_is_not_librdkafka_is_and_what_it_cannot_is_refused() -> None:
    own = library(f"{STUB} produces-only", NEW)
    assert (own.producers, own.consumers) == (own, RDKAFKA)
    assert not own.has_transactions
    for settings in ({"acks": "1"}, {"acks": "all", "enable.idempotence": "true"}):
        with pytest.raises(UsageError, match=r"needs (acks-1|idempotence), which stub 1\.0 does not say that it can"):
            own.settings(settings["acks"], NEW, settings)
    own.require({"groups"}, "a group, of which librdkafka is the member,")


def test_librdkafka_says_what_it_goes_by_and_what_one_setting_does_to_others() -> None:
    plain = librdkafka_configuration({"linger.ms": "0", "acks": "1", "log_level": 0})
    assert (plain["request.required.acks"], plain["queue.buffering.max.ms"], plain["enable.idempotence"]) == (
        "1",
        "0",
        "false",
    )
    idempotent = librdkafka_configuration({"enable.idempotence": True, "log_level": 0})
    assert (idempotent["request.required.acks"], idempotent["max.in.flight.requests.per.connection"]) == ("-1", "5")


def test_what_the_consumer_of_an_application_is_told() -> None:
    assert RDKAFKA.reading(NEW, 5, {"group.id": "g"})["group.id"] == "g"
    assert Library("java", "4.3.1").reading(NEW, 5, {"group.id": "g"}) == {"max.poll.records": "5", "group.id": "g"}
    assert Library("java", "0.9.0.1").reading(OLD, 5) == {}


def test_the_consumer_of_0_8_has_names_of_its_own() -> None:
    of_0_8 = Library("scala", "0.8.2.2")
    given = {"enable.auto.commit": "true", "auto.offset.reset": "earliest", "session.timeout.ms": "6000"}
    assert of_0_8.reading(OLD, 5, given, {"group.id": "g"}) == {
        "rebalance.max.retries": "10",
        "auto.commit.enable": "true",
        "auto.offset.reset": "smallest",
        "zookeeper.session.timeout.ms": "6000",
        "group.id": "g",
    }


def test_where_a_consumer_has_its_offsets() -> None:
    of_0_8 = Library("scala", "0.8.2.2")
    assert of_0_8.keeps_offsets_in_zookeeper({})
    assert of_0_8.keeps_offsets_in_zookeeper({"offsets.storage": "zookeeper"})
    assert not of_0_8.keeps_offsets_in_zookeeper({"offsets.storage": "kafka"})
    assert not Library("java", "0.10.2.2").keeps_offsets_in_zookeeper({})


@pytest.mark.parametrize("of", [Library("streams", "2.8.2"), Library("java", "0.8.2.2"), Library("own", "c-1")])
def test_a_client_that_no_application_runs_with(of: Library) -> None:
    with pytest.raises(
        UsageError, match=f"no application runs with {of.name}: take librdkafka, java-<release> from 0.9"
    ):
        of.reading(OLD, 5)


def test_spark_is_of_one_release_whatever_the_brokers_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.workloads.libraries.resolve", lambda name, _: Path("/jars") / name)
    monkeypatch.setattr("harness.workloads.libraries.ensure_pyspark", lambda _: Path("/pyspark"))
    found = library("spark", NEW)
    assert library("spark-4.2.0", versions.get("0.10.2.2")) == found
    assert (found.name, found.producers, found.consumers) == ("spark-4.2.0", RDKAFKA, RDKAFKA)
    told = found.arguments(NEW, lambda _: None)
    assert (told["jars"], told["pyspark"]) == ("/jars/spark-4.2.0", "/pyspark")


@pytest.mark.parametrize("name", ["streams", "connect"])
def test_what_runs_applications_has_its_own_jars_and_librdkafka_beside_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.workloads.libraries.resolve", lambda name, _: Path("/jars") / name)
    found = library(name, NEW)
    assert (found.name, found.producers, found.consumers) == (f"{name}-4.3.1", RDKAFKA, RDKAFKA)
    assert found.arguments(NEW, lambda _: None)["jars"] == f"/jars/{name}-4.3.1"
