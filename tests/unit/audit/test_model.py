"""What inputs are: no secret is held, places are told, and inputs add up."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.model import HIDDEN, InputProblem, Inputs, Origin, ProducerConfig, Setting, is_secret

HERE = Origin("a.properties", 1)
CANARY = "canary-4711"


@pytest.mark.parametrize(
    "key",
    [
        "sasl.jaas.config",
        "sasl.password",
        "ssl.key.password",
        "ssl.keystore.key",
        "ssl.keystore.password",
        "ssl.key.pem",
        "spring.kafka.properties.sasl.jaas.config",
        "KAFKA_SASL_PASSWORD",
        "CONNECT_PRODUCER_SASL_JAAS_CONFIG",
        "basic.auth.user.info",
        "basic.auth.credentials.source",
        "sasl.oauthbearer.client.secret",
        "keyStorePassword",
        "api_key",
        "AWS_SECRET_ACCESS_KEY",
        "spring.kafka.ssl.key-store-password",
        "oauth.access.token",
    ],
)
def test_a_secret_is_not_held(key: str) -> None:
    assert CANARY not in repr(Setting(key, CANARY, HERE))
    assert CANARY not in repr(Setting("acks", CANARY, HERE, written=key))


@pytest.mark.parametrize(
    "value",
    [
        f"https://me:{CANARY}@registry:8081",
        f"-----BEGIN PRIVATE KEY-----{CANARY}",
        f'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{CANARY}";',
        f"jdbc:postgresql://db/x?user=a&password={CANARY}",
        f"Bearer {CANARY}",
    ],
)
def test_a_value_that_looks_like_a_secret_is_not_held(value: str) -> None:
    assert Setting("anything", value, HERE).value == HIDDEN


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("acks", "all"),
        ("bootstrap.servers", "a:9092,b:9092"),
        ("key.serializer", "org.apache.kafka.common.serialization.StringSerializer"),
        ("ssl.keystore.location", "/etc/kafka/keystore.jks"),
        ("security.protocol", "SASL_SSL"),
        ("enable.idempotence", "true"),
        ("delivery.timeout.ms", "120000"),
        ("schema.registry.url", "https://registry:8081"),
        ("sasl.mechanism", "PLAIN"),
        ("client.id", "tokyo"),
    ],
)
def test_what_is_no_secret_is_kept(key: str, value: str) -> None:
    assert not is_secret(key, value)
    assert Setting(key, value, HERE).value == value


def test_replacing_a_value_does_not_bring_a_secret_in() -> None:
    assert dataclasses.replace(Setting("sasl.password", "", HERE), value=CANARY).value == HIDDEN


@given(st.from_regex(r"[a-z._]{0,20}(password|jaas|token|secret)[a-z._]{0,20}", fullmatch=True), st.text())
def test_no_key_that_names_a_secret_keeps_its_value(key: str, value: str) -> None:
    assert Setting(key, value, HERE).value == HIDDEN


def test_a_setting_is_spelled_as_its_neighbours_are() -> None:
    acks = Setting("acks", "1", HERE, written="spring.kafka.producer.acks")
    producer = ProducerConfig(name="p", settings={"acks": acks}, spelling="spring.kafka.producer.properties.{key}")
    assert producer.spelled("acks") == "spring.kafka.producer.acks"
    assert producer.spelled("linger.ms") == "spring.kafka.producer.properties.linger.ms"
    assert ProducerConfig(name="p", spelling="KAFKA_{KEY}").spelled("max.in.flight") == "KAFKA_MAX_IN_FLIGHT"


def test_inputs_add_up() -> None:
    one = Inputs(read=("a",), ignored={"binary": 1}, problems=(InputProblem(HERE, "unreadable", "no"),))
    both = one + Inputs(producers=(ProducerConfig(name="p"),), read=("b",), ignored={"binary": 2, "too large": 1})
    assert both.read == ("a", "b")
    assert dict(both.ignored) == {"binary": 3, "too large": 1}
    assert len(both.producers) == len(both.problems) == 1
    assert one + Inputs() == one


def test_what_a_problem_says_is_one_short_line() -> None:
    problem = InputProblem(HERE, "unknown-key", "no key\n" + "x" * 100_000, "a\tb")
    assert len(str(problem)) < 1000
    assert "\n" not in str(problem)
    assert problem.do == "a b"
