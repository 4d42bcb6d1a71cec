"""What the tag of a version says on a scenario's page: what hides committed records is named before other anomalies."""

from __future__ import annotations

from typing import Any

import pytest

from checks import anomalies
from pages.site import scenarios


def cell(**seen: int) -> dict[str, Any]:
    made: dict[str, Any] = {"seen": {name.replace("_", "-"): times for name, times in seen.items()}, "lost": 0}
    return made | {"runs": 5, "good": 5, "verdicts": {"as-documented": 5}}


@pytest.mark.parametrize(
    ("seen", "named"),
    [
        ({"internal_poll_skip": 5, "transaction_half_committed": 5}, "transaction-half-committed"),
        ({"internal_poll_skip": 5, "transaction_half_committed": 1}, "transaction-half-committed"),
        ({"internal_poll_skip": 5, "nonmonotonic_send": 1}, "internal-poll-skip"),
    ],
)
def test_what_hides_committed_records_is_named(
    monkeypatch: pytest.MonkeyPatch, seen: dict[str, int], named: str
) -> None:
    monkeypatch.setattr(scenarios, "telling", lambda _: 5)
    monkeypatch.setattr(scenarios, "contradicted", lambda _: 0)
    assert scenarios.kind(cell(**seen))[1].startswith(f"▲ {named} in ")


def test_they_are_anomalies() -> None:
    assert set(scenarios.HIDES_RECORDS) <= set(anomalies.REGISTRY)
