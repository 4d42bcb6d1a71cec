"""The worked example of docs/writing-a-scenario.md, taken from the page as it stands and run on real brokers."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evidence.events import Fault
from evidence.timeline import read
from harness import scenario as scenarios
from harness.cluster import versions
from harness.runner import Request, execute
from harness.setup.java import java_home
from judgement.judge import AnalysisServer, judge

PAGE = Path(__file__).resolve().parents[2] / "docs" / "writing-a-scenario.md"


@pytest.fixture
def example(tmp_path: Path) -> Iterator[scenarios.Scenario]:
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert code is not None
    path = tmp_path / "frozen_follower.py"
    path.write_text(code.group(1))
    assert len(path.read_text().splitlines()) <= 45
    spec = importlib.util.spec_from_file_location("frozen_follower", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["frozen_follower"] = module
    spec.loader.exec_module(module)
    yield scenarios.get_scenario("frozen-follower")
    del sys.modules["frozen_follower"]
    scenarios._REGISTRY.pop("frozen-follower")


@pytest.mark.docker
@pytest.mark.spark
def test_the_worked_example_runs(example: scenarios.Scenario, tmp_path: Path) -> None:
    request = Request(scenario=example, version=versions.get("4.3.1"), root=tmp_path)
    finished = execute(request, echo=lambda _: None)
    with AnalysisServer(java_home=java_home()) as analyst:
        judged = judge(finished.run_dir, analyst).verdict
    finished.removals.wait()
    assert judged.verdict == "as-documented", judged.reasons
    faults = read(finished.run_dir.timeline).of(Fault)
    assert [fault.phase for fault in faults if fault.fault_kind == "freeze"] == [
        "inject",
        "verified",
        "heal",
        "healed",
    ]
