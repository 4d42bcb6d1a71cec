"""The plugin of pytest, in a pytest of its own: what it makes of the program's words, and what it tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STUB = f"{sys.executable} {Path(__file__).with_name('stub_program.py')}"
OWN = """
import pytest
from kafka_chaos.session import ChaosError

def test_the_leader_is_killed(kafka_cluster, chaos):
    cluster = kafka_cluster(version="4.3.1")
    assert cluster is kafka_cluster(version="4.3.1")
    leader = cluster.leader(cluster.topic())
    assert (leader.id, leader in cluster.brokers, cluster.bootstrap_servers) == (2, True, "10.0.0.1:9092")
    chaos.kill(leader)

def test_it_fails(kafka_cluster, chaos):
    chaos.freeze(*kafka_cluster(version="4.3.1").brokers[:1])
    raise AssertionError

def test_a_fault_without_proof_is_an_error(kafka_cluster, chaos):
    with pytest.raises(ChaosError, match="it runs still") as raised:
        chaos.stop(kafka_cluster(version="4.3.1").broker(1))
    assert raised.value.kind == "FaultUnproved"

def test_no_version(kafka_cluster):
    with pytest.raises(ChaosError, match="name a release"):
        kafka_cluster()
"""


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """pytest with this plugin alone."""
    command = [sys.executable, "-m", "pytest", "-p", "kafka_chaos.pytest_plugin", "-p", "no:cacheprovider", "-v"]
    command += ["--strict-markers", "-W", "error", "--rootdir", str(folder), "--kafka-chaos-program", STUB]
    return subprocess.run(
        [*command, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ
        | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT), "STUB_ASKED": str(folder / "asked")},
    )


def test_scenarios_are_items(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, "--kafka-chaos", "all", "--kafka-versions", "4.3.1", "--junitxml", "j.xml")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "kafka-chaos::leader-crash[acks-all-4.3.1-seed-1] PASSED" in done.stdout
    assert "2 failed, 1 passed" in done.stdout
    told = done.stdout.partition("FAILURES")[2]
    assert "double-failover[4.3.1-seed-1]: unexpected\n1 of 5 acknowledged records LOST" in told
    assert "report: runs/pytest/double-failover/report.html" in told
    assert "· kill the leader" in told
    assert "no verdict (status 255): · kill the leader | kafka-chaos: no Docker engine" in told
    assert "Traceback" not in told
    assert 'name="verdict" value="unexpected"' in (tmp_path / "j.xml").read_text()


def test_items_are_chosen_by_name_and_mark(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("def test_other(): pass\n")
    done = run_pytest(tmp_path, "--kafka-chaos", "all", "-k", "leader", "-m", "kafka_chaos")
    assert (done.returncode, "1 passed, 3 deselected" in done.stdout) == (0, True), done.stdout
    none = run_pytest(tmp_path)
    assert (none.returncode, "1 passed" in none.stdout) == (0, True), none.stdout


def test_what_the_program_refuses_is_one_line(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, "--kafka-chaos", "no-such")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: --kafka-chaos no-such: kafka-chaos: there is no scenario 'no-such'" in done.stderr


def test_own_tests_have_a_cluster_and_faults(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(OWN)
    done = run_pytest(tmp_path)
    assert "1 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    told = done.stdout.partition("FAILURES")[2]
    assert "✓ freeze: exit code 137" in told
    assert "✓ kill" not in told  # of another test
    asked = [json.loads(line) for line in (tmp_path / "asked").read_text().splitlines()]
    assert [one["do"] for one in asked] == ["topic", "leader", "kill", "heal", "freeze", "heal", "stop", "heal"]
    assert (asked[2], asked[4]["brokers"]) == ({"do": "kill", "brokers": [2]}, [1])


def test_the_plugin_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"kafka-chaos": "kafka_chaos.pytest_plugin"}
