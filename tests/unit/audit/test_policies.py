"""The scale: what is graded beside measured losses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from audit.grade import Grader, ProducerRow
from audit.model import Inputs, Origin, ProducerConfig, Setting
from audit.policies import Policy, load
from audit.topics import StatedByUser, parse_topic
from evidence.errors import UsageError
from tests.unit.audit.cells import FULL, cell, harmless, run


def row(topic: str, policy: Policy | None = None, *, failed: int = 0) -> ProducerRow:
    """A producer with acks=all on a topic; with `failed`, one without retries, of whose sends so many failed."""
    retries = "0" if failed else "many"
    given = {"acks": "all"} | ({"retries": "0"} if failed else {})
    at = Origin("p.properties", 1)
    settings = {key: Setting(key, value, at) for key, value in given.items()}
    producer = ProducerConfig(name="p", client="java", release="2.8.2", origin=at, settings=settings)
    measured = []
    for factor, least in ((3, 2), (3, 1), (1, 1)):
        key: dict[str, Any] = {
            "acks": "all",
            "retries": retries,
            "replication_factor": factor,
            "min_insync_replicas": least,
        }
        measured += harmless(*(fault for fault in FULL if fault != "broker-restart"), **key)
        measured.append(cell("broker-restart", run("restart-1", 20, refused=failed), **key))
    stated = StatedByUser(version="2.8.2", topics=(parse_topic(topic),))
    return Grader(measured, policy).answer(Inputs(producers=(producer,)), stated).rows[0]


BEST = "t:replication.factor=3,min.insync.replicas=2"


def test_three_replicas_of_which_two_must_be_in_sync_come_out_best() -> None:
    topics = (BEST, "t:replication.factor=3", "t:replication.factor=1")
    letters = [row(topic).grade for topic in topics]
    assert letters == ["A", "C", "F"]


def test_a_policy_may_leave_it_out() -> None:
    lenient = replace(load("durable"), single_replica="", acknowledged_by_one="")
    assert row("t:replication.factor=1", lenient).grade == "A"


def test_without_retries_a_send_that_failed_in_a_cell_counts_and_the_run_is_named() -> None:
    one = row(BEST, failed=7)
    (breach,) = one.cases[0].breaches
    assert (one.grade, breach.source) == ("F", "run restart-1")
    assert breach.says.startswith("7 of 27 sends failed")
    assert row(BEST, replace(load("durable"), refused="never"), failed=7).grade == "A"


@pytest.mark.parametrize("name", ["durable", "ordered", "available"])
def test_each_policy_that_is_named_is_there(name: str) -> None:
    assert load(name).name == name


def test_what_is_no_policy_is_one_line(tmp_path) -> None:
    bad = tmp_path / "p.json"
    bad.write_text('{"refused": "sometimes"}')
    for told in (str(bad), str(tmp_path / "gone.json")):
        with pytest.raises(UsageError, match="--policy"):
            load(told)
