"""A subject's settings in its client's own words, and nothing that the cell does not set."""

from __future__ import annotations

import pytest

from harness.cluster import versions
from harness.subjects import NOTHING_STATED, ClientSettings, Outcome, Producer, Subject, TimeOuts, Topic
from tests.records import STATED

OLD, EPOCH, NEW = (0, 10, 2, 2), (2, 8, 2), (4, 3, 1)


def test_a_java_producer_is_given_what_its_release_knows() -> None:
    producer = Producer(client="java", acks="all", idempotence=True, in_flight=1)
    given = {"acks": "all", "retries": "2147483647", "max.in.flight.requests.per.connection": "1"}
    assert producer.settings(OLD) == given
    assert producer.settings(NEW) == given | {"enable.idempotence": "true"}
    assert set(producer.time_outs(OLD)) == {"request.timeout.ms"}
    assert set(producer.time_outs(EPOCH)) == {"request.timeout.ms", "delivery.timeout.ms"}


def test_idempotence_is_said_where_it_is_off_for_it_is_on_by_default_from_3_0_on() -> None:
    assert Producer(client="java", acks="1").settings(NEW)["enable.idempotence"] == "false"


def test_a_producer_without_retries_sends_once() -> None:
    for client, name in (("librdkafka", "retries"), ("java", "retries"), ("scala", "message.send.max.retries")):
        assert Producer(client=client, acks="1", retries="0").settings(OLD)[name] == "0"


def test_the_scala_producer_has_names_of_its_own_and_its_own_time_outs() -> None:
    producer = Producer(client="scala", acks="all", in_flight=1)
    assert producer.settings(OLD) == {"request.required.acks": "-1", "message.send.max.retries": "100"}
    assert producer.time_outs(OLD) == {}


def test_time_outs_are_in_the_order_of_the_defaults() -> None:
    librdkafka = {name: int(value) for name, value in Producer(client="librdkafka", acks="1").time_outs(NEW).items()}
    assert librdkafka["request.timeout.ms"] < librdkafka["socket.timeout.ms"] < librdkafka["message.timeout.ms"]
    java = {name: int(value) for name, value in Producer(client="java", acks="1").time_outs(NEW).items()}
    assert java["request.timeout.ms"] < java["delivery.timeout.ms"]


def test_a_topic_says_its_unclean_elections_either_way() -> None:
    assert Topic(unclean=True).settings["unclean.leader.election.enable"] == "true"
    assert Topic().settings == {"min.insync.replicas": "1", "unclean.leader.election.enable": "false"}
    assert [Topic(min_insync_replicas=2, unclean=True).name, Topic().name] == ["rf3-min2-unclean", "rf3-min1"]


def test_a_topic_flushes_each_record_only_if_it_is_to() -> None:
    flushes = Topic(min_insync_replicas=2, flush_each=True)
    assert (flushes.settings["flush.messages"], flushes.name) == ("1", "rf3-min2-flush")
    assert "flush.messages" not in Topic().settings


def test_an_outcome_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no outcome 'losses'"):
        Outcome(must=frozenset({"losses"}), why="w", **STATED)


def test_a_subject_is_named_by_all_that_its_cell_is_named_by() -> None:
    key = Subject(producer=Producer(client="java", acks="1"), topic=Topic(), stated=NOTHING_STATED).key
    assert key == {
        "client": "java",
        "acks": "1",
        "idempotence": False,
        "in_flight": 5,
        "retries": "many",
        "replication_factor": 3,
        "min_insync_replicas": 1,
        "unclean": False,
        "flush_each": False,
    }


def test_kafkas_own_clients_are_of_the_brokers_release() -> None:
    for client, name in (("java", "java-2.8.2"), ("librdkafka", "librdkafka")):
        subject = Subject(producer=Producer(client=client, acks="1"), topic=Topic(), stated=NOTHING_STATED)
        assert subject.library(versions.get("2.8.2")).name == name


def test_one_of_somebodys_own_is_given_what_is_written_and_its_own_release() -> None:
    own = ClientSettings(release="0.9.0.1", settings={"linger.ms": "5"}, stated=True)
    subject = Subject(producer=Producer(client="java", acks="1"), topic=Topic(), stated=NOTHING_STATED, own=own)
    version = versions.get("2.8.2")
    assert subject.library(version).name == "java-0.9.0.1"
    assert subject.settings(version) == {"linger.ms": "5"}
    assert set(subject.time_outs(version, TimeOuts())) == {"request.timeout.ms"}


LIMITS = TimeOuts(request_ms=2_000, delivery_ms=4_000, scala_ms=2_500)


@pytest.mark.parametrize(
    ("client", "release", "limits", "given"),
    [
        ("java", (2, 1), LIMITS, {"request.timeout.ms": "2000", "delivery.timeout.ms": "4000"}),
        ("java", (2, 0), LIMITS, {"request.timeout.ms": "2000"}),
        ("java", (4, 3), TimeOuts(), {"request.timeout.ms": "12000", "delivery.timeout.ms": "30000"}),
        ("scala", (0, 10), LIMITS, {"request.timeout.ms": "2500"}),
        ("scala", (0, 10), TimeOuts(), {}),
        (
            "librdkafka",
            (4, 3),
            LIMITS,
            {
                "request.timeout.ms": "2000",
                "socket.timeout.ms": "5000",
                "message.timeout.ms": "4000",
                "socket.connection.setup.timeout.ms": "2000",
            },
        ),
    ],
)
def test_time_outs_are_made_of_what_the_client_knows(
    client: str, release: tuple[int, ...], limits: TimeOuts, given: dict[str, str]
) -> None:
    assert Producer(client=client, acks="all").time_outs(release, limits) == given
