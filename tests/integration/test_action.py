"""The steps of the Action, as a runner runs them, with the program, Docker and the cache of this machine."""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from harness.cluster.namespace import namespace
from tests.workflows import run_action

ROOT = Path(__file__).parents[2]


@pytest.mark.docker
@pytest.mark.spark
def test_the_action_runs_and_a_second_job_finds_its_images(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    # Images are saved to, and loaded from, a cache of this test's; jars are not fetched, for the image is there.
    environment = {"KAFKA_CHAOS_CACHE": str(tmp_path / "cache"), "HOME": os.environ["HOME"]}
    asked = {"scenarios": "leader-crash", "cases": "acks-1 acks-all", "versions": "4.3.1"}
    job = run_action(ROOT, tmp_path / "workspace", asked, environment=environment)
    runs = tmp_path / "workspace" / "runs" / "kafka-chaos"
    assert job.status == 0, job.said
    assert "| leader-crash (acks-1) | 4.3.1 |" in job.summary
    assert len(list(ET.parse(runs / "junit.xml").iter("testcase"))) == 2
    assert len(list(runs.glob("*/verdict.json"))) == 2
    assert "::error" not in job.said
    assert (tmp_path / "cache" / "images.tar").stat().st_size > 1e8
    assert [name for name, _ in job.used] == ["actions/cache/restore", "actions/cache/save", "actions/upload-artifact"]

    # A second job finds the images, and in this workspace the finished runs too.
    again = run_action(ROOT, tmp_path / "workspace", asked, environment=environment, hits=True)
    assert again.status == 0, again.said
    assert re.search(rf"Loaded image: {re.escape(namespace())}/kafka:4\.3\.1", again.said), again.said
    assert "2 of 2 runs are finished already" in again.said
