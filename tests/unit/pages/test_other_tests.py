"""docs/other-tests.md: each name of ours that it gives is one of an anomaly, a claim or a case."""

from __future__ import annotations

import re
from pathlib import Path

from checks.names import ANOMALIES, CLAIMS
from harness.scenario import all_scenarios

PAGE = Path(__file__).parents[3] / "docs" / "other-tests.md"


def named() -> set[str]:
    """What the last column of each table names, and what the list at the end does of cases."""
    rows = [line.rpartition(" | ")[2] for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_every_name_of_ours_is_one() -> None:
    cases = {f"{name}/{case}" for name, one in all_scenarios().items() for case in one.cases}
    assert named() - cases - ANOMALIES - CLAIMS == set()
    assert {"each-input-processed-once", "lost-write", "share-group/two-brokers-killed"} <= named()


def test_every_row_names_something_of_ours() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    told = [row for row in rows if not row.startswith("| they check")]
    without = [row for row in told if not re.search(r"`[^`]+` ?[^|]*\|$", row.rpartition(" | ")[2])]
    assert [row.split(" | ")[0] for row in without] == [
        "| ZooKeeper and KRaft",
        "| How long a value cannot be read",
        "| Processes paused, killed; networks cut; clocks",
    ]
