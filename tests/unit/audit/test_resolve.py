"""What is in force, held against what the clients themselves made of the same configurations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from audit.defaults import ERAS, FOREVER, RULES
from audit.known import known
from audit.model import Origin, ProducerConfig, Setting
from audit.resolve import Resolved, resolve

EFFECTIVE = json.loads((Path(__file__).parents[2] / "data" / "audit" / "effective.json").read_text())
MEASURED = [
    (release, answer, EFFECTIVE["configurations"][number])
    for release, answers in EFFECTIVE["releases"].items()
    for answer, numbers in answers
    for number in numbers
]


def producer(client: str = "java", release: str | None = "2.8.2", **settings: str) -> ProducerConfig:
    return made({name.replace("_", "."): value for name, value in settings.items()}, client, release)


def made(settings: dict[str, str], client: str = "java", release: str | None = "2.8.2") -> ProducerConfig:
    return ProducerConfig(
        name="p",
        client=client,  # type: ignore[arg-type]
        release=release,
        settings={
            name: Setting(name, value, Origin("p.properties", line))
            for line, (name, value) in enumerate(settings.items(), 1)
        },
        origin=Origin("p.properties"),
    )


def only(config: ProducerConfig) -> Resolved:
    (one,) = resolve(config)
    return one


def in_force(one: Resolved) -> list[object]:
    return [
        one.acks.value,
        one.idempotence.value,
        one.in_flight.value,
        one.retries.value,
        one.delivery_timeout_ms.value,
    ]


@pytest.mark.parametrize("release", EFFECTIVE["releases"])
def test_it_is_what_the_client_itself_makes_of_each_configuration(release: str) -> None:
    mine = [(answer, settings) for at, answer, settings in MEASURED if at == release]
    assert len(mine) in (36, 216)
    for answer, settings in mine:
        one = only(made(settings, "java", release))
        if isinstance(answer, str):
            assert one.refused, (settings, answer)
        else:
            answer[1] = bool(answer[1])
            assert not one.refused, (settings, one.refused)
            assert in_force(one) == answer, settings


@pytest.mark.parametrize("client", ["java", "librdkafka", "scala"])
def test_defaults_are_those_that_each_release_declares(client: str) -> None:
    kind = {"java": "java-producer", "librdkafka": "librdkafka", "scala": "scala-producer"}[client]
    declared = known(kind)
    names = {
        "java": ("acks", "retries", "max.in.flight.requests.per.connection", "delivery.timeout.ms"),
        "librdkafka": (
            "request.required.acks",
            "message.send.max.retries",
            "max.in.flight.requests.per.connection",
            "message.timeout.ms",
        ),
        "scala": ("request.required.acks", "message.send.max.retries"),
    }[client]
    for release in declared.releases:
        rules, keys = RULES[client](release), declared.at(release)
        mine = [rules.acks, rules.retries, rules.in_flight, rules.delivery_timeout_ms]
        for name, value in zip(names, mine, strict=False):
            if name not in keys:
                assert (name, value) == ("delivery.timeout.ms", None)
            else:
                assert {"-1": "all"}.get(str(keys[name].default), keys[name].default) == str(value), (release, name)


def test_each_value_says_where_it_is_written_or_whose_default_it_is() -> None:
    one = only(producer(acks="1"))
    assert str(one.acks) == "acks=1 (p.properties:1)"
    assert str(one.in_flight) == "the default of kafka-clients 2.8.2"


def test_idempotence_dropped_without_an_error_says_why() -> None:
    one = only(producer(release="3.9.2", acks="1"))
    assert str(one.idempotence) == "on by default, dropped because acks=1 (p.properties:1)"
    assert one.remarks
    assert not only(producer(release="3.9.2")).remarks


def test_the_old_bug_is_named() -> None:
    assert "KAFKA-13598" in only(producer(release="3.1.0")).idempotence.why
    assert only(producer(release="3.1.1")).idempotence.value


@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        ({}, ["all", False, 1_000_000, FOREVER, 300_000]),
        ({"acks": "1"}, ["1", False, 1_000_000, FOREVER, 300_000]),
        ({"request.required.acks": "-1"}, ["all", False, 1_000_000, FOREVER, 300_000]),
        ({"enable.idempotence": "true"}, ["all", True, 5, FOREVER, 300_000]),
        ({"transactional.id": "x"}, ["all", True, 5, FOREVER, 300_000]),
        ({"message.send.max.retries": "0", "max.in.flight": "1"}, ["all", False, 1, 0, 300_000]),
        ({"acks": "all", "request.required.acks": "0"}, ["0", False, 1_000_000, FOREVER, 300_000]),
    ],
)
def test_librdkafka_has_rules_of_its_own(settings: dict[str, str], answer: list[object]) -> None:
    one = only(made(settings, "librdkafka", "2.3.0"))
    assert in_force(one) == answer
    assert not one.refused


@pytest.mark.parametrize(
    "more", [{"acks": "1"}, {"retries": "0"}, {"max.in.flight": "6"}, {"enable.idempotence": "false"}]
)
def test_librdkafka_refuses_what_its_idempotence_excludes(more: dict[str, str]) -> None:
    from confluent_kafka import KafkaException, Producer

    settings = {"transactional.id": "x"} | more
    assert only(made(settings, "librdkafka", "2.3.0")).refused
    with pytest.raises(KafkaException):
        Producer(settings)


def test_the_scala_producer_asks_for_no_answer_and_has_no_idempotence() -> None:
    one = only(made({}, "scala", "0.8.2.2"))
    assert in_force(one) == ["0", False, 1, 3, None]
    assert only(made({"request.required.acks": "-1"}, "scala", "0.8.2.2")).acks.value == "all"
    assert "async" in only(made({"producer.type": "async"}, "scala", "0.8.2.2")).remarks[0]


def test_a_preset_of_the_framework_counts_and_what_is_written_wins() -> None:
    preset = Setting("acks", "all", Origin("c.json", 1), note="Kafka Connect's own")
    config = ProducerConfig(name="p", client="java", release="2.8.2", presets={"acks": preset}, origin=Origin("c.json"))
    assert only(config).acks.value == "all"
    assert "Kafka Connect's own" in only(config).acks.why
    mine = ProducerConfig(
        name="p",
        client="java",
        release="2.8.2",
        presets={"acks": preset},
        settings={"acks": Setting("acks", "1", Origin("c.json", 3))},
        origin=Origin("c.json"),
    )
    assert only(mine).acks.value == "1"


def test_without_a_release_both_sides_of_every_boundary_are_answered() -> None:
    found = resolve(producer(release=None))
    assert [(one.acks.value, one.idempotence.value, one.retries.value > 0, one.when) for one in found] == [
        ("1", False, False, "the client is kafka-clients 0.8.2 to 2.0"),
        ("1", False, True, "the client is kafka-clients 2.1 to 2.8"),
        ("all", False, True, "the client is kafka-clients 3.0.0 or 3.1.0"),
        ("all", True, True, "the client is kafka-clients 3.0.1 or later"),
    ]


def test_releases_that_do_not_know_a_written_key_are_left_out() -> None:
    found = resolve(producer(release=None, delivery_timeout_ms="60000", acks="1"))
    assert [one.when for one in found] == ["the client is kafka-clients 2.1 or later"]


def test_settings_that_settle_it_make_one_answer_of_all_releases() -> None:
    found = resolve(producer(release=None, acks="1", retries="0"))
    assert [one.when for one in found] == ["the client is kafka-clients of any release"]


def test_an_unknown_client_may_be_either() -> None:
    clients = {one.client for one in resolve(made({}, "unknown", None))}
    assert clients == {"java", "librdkafka"}


def test_a_value_that_is_not_here_is_answered_for_every_value() -> None:
    setting = Setting("acks", "${ACKS}", Origin("a.yml", 4), known=False)
    config = ProducerConfig(
        name="p", client="java", release="2.8.2", settings={"acks": setting}, origin=Origin("a.yml")
    )
    assert [(one.acks.value, one.when) for one in resolve(config)] == [
        ("0", "acks (a.yml:4) is 0"),
        ("1", "acks (a.yml:4) is 1"),
        ("all", "acks (a.yml:4) is all"),
    ]


@pytest.mark.parametrize("settings", [{"acks": "2"}, {"retries": "often"}, {"enable.idempotence": "yes"}, {"acks": ""}])
def test_a_value_that_the_client_refuses_is_said(settings: dict[str, str]) -> None:
    assert "p.properties:1" in only(made(settings)).refused[0]


def test_every_era_is_a_release_that_is_known() -> None:
    assert {era.client for era in ERAS} == set(RULES)


def test_conditions_that_agree_are_said_together() -> None:
    setting = Setting("acks", "${ACKS}", Origin("a.yml", 4), known=False)
    config = ProducerConfig(name="p", client="java", settings={"acks": setting}, origin=Origin("a.yml"))
    found = {one.does[1:]: one.when for one in resolve(config)}
    assert found["1", False, True, True] == "the client is kafka-clients 2.1 or later and acks (a.yml:4) is 1"
    refused = ProducerConfig(
        name="p",
        client="java",
        settings={"acks": setting, "retries": Setting("retries", "x", Origin("a.yml", 5))},
        origin=Origin("a.yml"),
    )
    assert only(refused).when == (
        "the client is kafka-clients of any release and acks (a.yml:4) is 0 or acks (a.yml:4) is 1 or "
        "acks (a.yml:4) is all"
    )


@pytest.mark.parametrize(
    ("release", "settings", "starts"),
    [
        ("2.0.1", {"delivery_timeout_ms": "1000"}, True),  # it does not know the key
        ("2.1.1", {"delivery_timeout_ms": "1000"}, False),
        ("3.9.2", {"delivery_timeout_ms": "30000"}, True),
        ("4.3.1", {"delivery_timeout_ms": "30000"}, False),  # linger.ms is 5
        ("4.3.1", {"delivery_timeout_ms": "30000", "linger_ms": "0"}, True),
        ("2.8.2", {"delivery_timeout_ms": "1000", "request_timeout_ms": "990", "linger_ms": "50"}, False),
        ("2.8.2", {"delivery_timeout_ms": "1000", "request_timeout_ms": "900", "linger_ms": "50"}, True),
        ("2.8.2", {"request_timeout_ms": "200000"}, True),
    ],
)
def test_a_delivery_time_out_without_time_for_a_request_is_refused(
    release: str, settings: dict[str, str], starts: bool
) -> None:
    """As KafkaProducer of these releases did (2.0.1 knows no such setting)."""
    refused = only(producer(release=release, **settings)).refused
    assert bool(refused) is not starts
    assert all("less than linger.ms + request.timeout.ms" in one for one in refused)


def test_time_outs_that_are_not_told_refuse_nothing() -> None:
    config = producer(delivery_timeout_ms="${LIMIT}", request_timeout_ms="200000")
    unknown = replace(config.settings["delivery.timeout.ms"], known=False)
    assert only(replace(config, settings={**config.settings, "delivery.timeout.ms": unknown})).refused == ()
    config = producer(delivery_timeout_ms="1000", request_timeout_ms="${LIMIT}")
    unknown = replace(config.settings["request.timeout.ms"], known=False)
    assert only(replace(config, settings={**config.settings, "request.timeout.ms": unknown})).refused == ()


@pytest.mark.parametrize(
    ("release", "said"),
    [("2.1.5", ("1", False, 0)), ("2.3.0", ("1", False, FOREVER)), ("3.0.12", ("all", True, FOREVER))],
)
def test_kafka_python_has_three_eras(release: str, said: tuple[str, bool, int]) -> None:
    one = only(made({}, "kafka-python", release))
    assert (one.acks.value, one.idempotence.value, one.retries.value) == said


def test_franz_go_has_one_request_in_flight_only_without_idempotence() -> None:
    on = only(made({}, "franz-go", None))
    off = only(made({"enable.idempotence": "false"}, "franz-go", None))
    assert (on.in_flight.value, off.in_flight.value) == (5, 1)


@pytest.mark.parametrize(("since", "acks"), [("", {"1", "all"}), ("0.11", {"1", "all"}), ("2.3", {"all"})])
def test_what_no_allowed_release_does_is_left_out(since: str, acks: set[str]) -> None:
    config = replace(producer("librdkafka", None), since=since)
    assert {one.acks.value for one in resolve(config)} == acks


def test_a_preset_transaction_runs_on_a_release_that_has_them() -> None:
    preset = Setting("transactional.id", "(its own)", Origin("p"))
    config = replace(producer("java", None), presets={"transactional.id": preset})
    assert {one.idempotence.value for one in resolve(config)} == {True}
