"""Connectors that scripts of a shell register."""

from __future__ import annotations

import pytest

from tests.unit.audit.damage import CANARY, holds_up
from tests.unit.audit.reading import lines, only, read, values

BODY = """{
  "name": "c",
  "config": {
    "connector.class": "io.debezium.connector.mysql.MySqlConnector",
    "database.password": "%s",
    "producer.override.acks": "1"
  }
}"""
PUT = BODY.partition('"config": ')[2].rpartition("}")[0]


@pytest.mark.parametrize(
    ("script", "name"),
    [
        (f"curl -d '{BODY}' http://c:8083/connectors\n", "c"),
        (f"curl -X PUT --data '{PUT}' http://c:8083/connectors/c/config\n", "MySqlConnector"),
        (f"curl -d @- http://c:8083/connectors <<EOF\n{BODY}\nEOF\n", "c"),
        ('curl -d "' + BODY.replace('"', '\\"') + '" http://c:8083/connectors\n', "c"),
    ],
)
def test_a_connector_that_is_registered(tmp_path, script, name) -> None:
    producer = only(read(tmp_path, {"register.sh": "#!/bin/sh\n" + script}))
    assert (producer.name, producer.framework, values(producer)["acks"]) == (name, "connect", "1")
    line = int(lines(producer)["acks"].rpartition(":")[2])
    assert "override.acks" in ("#!/bin/sh\n" + script).splitlines()[line - 1]


def test_a_variable_is_unknown(tmp_path) -> None:
    script = f"curl -d '{BODY}' c\n".replace('"1"', '"${ACKS}"')
    assert not only(read(tmp_path, {"r.sh": script})).settings["acks"].known


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("r.sh", f"curl -d '{BODY}' c\n".replace("MySqlConnector", "S3SinkConnector").replace("producer.o", "o")),
        ("r.sh", "curl -s http://c:8083/connector-plugins | jq '.[] | {class}' # connector.class\n"),
        ("tests/r.sh", f"curl -d '{BODY}' c\n"),
    ],
)
def test_what_is_none(tmp_path, name, script) -> None:
    assert read(tmp_path, {name: script}).producers == ()


def test_damage_is_survived_and_a_secret_is_kept_nowhere(tmp_path) -> None:
    holds_up(tmp_path, "r.sh", f"curl -d '{BODY % CANARY}' c\n")
