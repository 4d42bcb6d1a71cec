"""Topics that commands make."""

from __future__ import annotations

import pytest

from tests.unit.audit.reading import read

MAKES = "kafka-topics --bootstrap-server k:9092 --create --topic %s --partitions 3 --replication-factor %s"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (MAKES % ("orders", "3"), [("orders", 3)]),
        (MAKES.replace("--topic", "\\\n  --topic") % ("orders", "3"), [("orders", 3)]),
        ("docker-compose exec k " + MAKES.replace("kafka-topics", "/opt/kafka-topics.sh") % ("a", "1"), [("a", 1)]),
        (f"{MAKES % ('a', '1')}\n{MAKES % ('b', '2')}", [("a", 1), ("b", 2)]),
        (f"{MAKES % ('a', '1')} && {MAKES % ('b', '2')}", [("a", 1), ("b", 2)]),
        (f"for t in a b; do\n  {MAKES % ('$t', '2')}\ndone", [("a", 2), ("b", 2)]),
        (f"for t in a b; do\n  {MAKES % ('${t}', '2')}\ndone", [("a", 2), ("b", 2)]),
        (MAKES % ("a", "$FACTOR"), [("a", None)]),
        (MAKES % ("$TOPIC", "1"), []),
        ("# " + MAKES % ("a", "1"), []),
        ("kafka-topics --bootstrap-server k --describe --topic a\necho --create", []),
        ("kafka-topics --bootstrap-server k --list", []),
    ],
)
def test_what_a_script_makes(tmp_path, script, expected) -> None:
    found = read(tmp_path, {"create.sh": f"#!/bin/sh\n{script}\n"}).topics
    assert [(each.name, each.replication_factor) for each in found] == expected


def test_a_topics_own_settings(tmp_path) -> None:
    script = MAKES % ("a", "3") + " --config min.insync.replicas=2 --config retention.ms=1\n"
    (topic,) = read(tmp_path, {"create.sh": script}).topics
    assert {key: each.value for key, each in topic.settings.items()} == {"min.insync.replicas": "2"}
    assert topic.origin.line == 1


@pytest.mark.parametrize(
    "command",
    [
        'command: ["kafka-topics", "--create", "--topic", "a", "--replication-factor", "3"]',
        "command: >\n      bash -c 'kafka-topics --create --topic a\n      --replication-factor 3 && sleep 1'",
        "command: |\n      kafka-topics --list\n      kafka-topics --create --topic a --replication-factor 3",
    ],
)
def test_what_a_service_of_composes_makes(tmp_path, command) -> None:
    content = f"services:\n  init:\n    image: confluentinc/cp-kafka:7.6.0\n    {command}\n"
    found = read(tmp_path, {"compose.yaml": content}).topics
    assert [(each.name, each.replication_factor) for each in found] == [("a", 3)]
