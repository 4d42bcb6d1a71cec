"""The tests of docs/pytest.md, taken from the page as they stand, beside a scenario as an item: on real brokers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.docker
@pytest.mark.spark
def test_the_example_and_a_scenario_pass(tmp_path: Path) -> None:
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "pytest.md").read_text(), re.DOTALL)
    assert code is not None
    (tmp_path / "test_orders.py").write_text(code.group(1))
    # The plugin by its name, also where the environment was made before it had one; no other but pytest's own.
    command = [sys.executable, "-m", "pytest", "-p", "kafka_chaos.pytest_plugin", "-v", "--junitxml", "results.xml"]
    command += ["--kafka-chaos", "leader-crash", "--kafka-case", "acks-1", "--kafka-versions", "4.3.1"]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_orders.py::test_acknowledged_orders_outlive_their_leader PASSED" in done.stdout
    assert "kafka-chaos::leader-crash[acks-1-4.3.1-seed-1] PASSED" in done.stdout
    told = {one.get("name"): one.get("value") for one in ET.parse(tmp_path / "results.xml").iter("property")}
    assert told["verdict"] == "as-documented"
    assert len(list((tmp_path / "runs" / "pytest").glob("*/timeline.jsonl"))) == 2
