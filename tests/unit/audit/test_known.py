"""The lists of known keys: what they say of releases that were asked and of those between them."""

from __future__ import annotations

import pytest

from audit.known import KINDS, known
from evidence.releases import numbers
from harness.workloads.processes.producers import librdkafka_configuration


@pytest.mark.parametrize(
    ("kind", "release", "key", "default"),
    [
        ("java-producer", "0.8.2.2", "acks", "1"),
        ("java-producer", "2.8.2", "acks", "1"),
        ("java-producer", "3.0.0", "acks", "all"),
        ("java-producer", "2.0.1", "retries", "0"),
        ("java-producer", "2.1.1", "retries", "2147483647"),
        ("java-producer", "2.8.2", "enable.idempotence", "false"),
        ("java-producer", "4.3.1", "enable.idempotence", "true"),
        ("java-producer", "4.3.1", "linger.ms", "5"),
        ("java-producer", "3.9.2", "linger.ms", "0"),
        ("scala-producer", "0.8.2.2", "request.required.acks", "0"),
        ("scala-producer", "0.8.2.2", "message.send.max.retries", "3"),
        ("librdkafka", "0.11.6", "request.required.acks", "1"),
        ("librdkafka", "1.0.0", "request.required.acks", "-1"),
        ("librdkafka", "2.3.0", "enable.idempotence", "false"),
        ("librdkafka", "2.3.0", "acks", "-1"),
        ("broker", "0.10.2.2", "unclean.leader.election.enable", "true"),
        ("broker", "0.8.2.2", "default.replication.factor", "1"),
        ("broker", "4.3.1", "min.insync.replicas", "1"),
        ("topic", "2.8.2", "unclean.leader.election.enable", "false"),
    ],
)
def test_defaults_are_those_documented(kind, release, key, default) -> None:
    assert known(kind).at(release)[key].default == default


def test_a_release_between_two_is_as_the_older_one() -> None:
    java = known("java-producer")
    assert (java.nearest("2.6.0"), java.nearest("0.7.0"), java.nearest("99.0"), java.nearest(None)) == (
        "2.5.1",
        "0.8.2.2",
        "4.4.0",
        "4.4.0",
    )
    assert java.at("2.7.1")["acks"].default == "1"


def test_a_key_is_known_only_where_it_was() -> None:
    java = known("java-producer")
    assert "enable.idempotence" not in java.at("0.10.2.2")
    assert "block.on.buffer.full" in java.at("0.10.2.2")
    assert "block.on.buffer.full" not in java.at("2.8.2")
    assert "group.id" not in known("librdkafka").at("2.3.0")
    assert "group.id" not in java.at(None)


@pytest.mark.parametrize("kind", KINDS)
def test_every_span_begins_and_ends_at_a_release_that_was_asked(kind) -> None:
    told = known(kind)
    assert list(told.releases) == sorted(told.releases, key=numbers)
    assert told.history
    for spans in told.history.values():
        assert {key.since for key in spans} | {key.until for key in spans} <= set(told.releases)
        ends = [numbers(end) for key in spans for end in (key.since, key.until)]
        assert ends == sorted(ends)


def test_librdkafka_says_the_same_of_itself() -> None:
    """CONFIGURATION.md against the library that this process has loaded; both would have to be wrong alike."""
    dumped = librdkafka_configuration({})
    told = known("librdkafka").at(None)
    same = {name for name in dumped.keys() & told.keys() if dumped[name] == (told[name].default or "")}
    assert {"request.required.acks", "enable.idempotence", "message.send.max.retries", "message.timeout.ms"} <= same
