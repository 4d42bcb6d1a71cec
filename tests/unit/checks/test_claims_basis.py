"""The words that claims share."""

from __future__ import annotations

from typing import Any

import pytest

from checks.claims.basis import known_alone
from tests.records import run_record


@pytest.mark.parametrize(
    ("process", "node"),
    [
        ({"only": "broker-2"}, "broker-2"),
        ({"only": "broker-2", "settings": {"bootstrap.servers": "172.20.0.12:9092"}}, "broker-2"),
        ({"settings": {"bootstrap.servers": "172.20.0.13:9092"}}, "broker-3"),
        ({"settings": {"bootstrap.servers": "172.20.0.12:9092,172.20.0.13:9092"}}, None),
        ({"settings": {"bootstrap.servers": "broker-1:9092"}}, None),
        ({"settings": {}}, None),
        ({}, None),
    ],
)
def test_which_broker_a_client_knows_alone(process: dict[str, Any], node: str | None) -> None:
    assert known_alone(run_record({"processes": [{"name": "p"} | process]})).get("p") == node


def test_a_run_without_clients() -> None:
    assert known_alone(run_record({})) == {}
