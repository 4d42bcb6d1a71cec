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

DISKS = ("disk-lost", "last-disk-lost")


def row(topic: str, policy: Policy | None = None, *, failed: int = 0, measured_disks: bool = True) -> ProducerRow:
    """A producer with acks=all on a topic; with `failed`, one without retries, of whose sends so many failed. A single
    replica loses all by disk-lost, and one in sync by last-disk-lost, if that was measured.
    """
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
        measured += harmless(*(fault for fault in FULL if fault not in ("broker-restart", *DISKS)), **key)
        if measured_disks:
            measured.append(cell("disk-lost", run("disk-1", 12, lost=10 if factor == 1 else 0), **key))
        if measured_disks and factor > 1:
            measured.append(cell("last-disk-lost", run("last-1", 8, lost=3 if least == 1 else 0), **key))
        measured.append(cell("broker-restart", run("restart-1", 20, refused=failed), **key))
    stated = StatedByUser(version="2.8.2", topics=(parse_topic(topic),))
    return Grader(measured, policy).answer(Inputs(producers=(producer,)), stated).rows[0]


BEST = "t:replication.factor=3,min.insync.replicas=2"


def test_three_replicas_of_which_two_must_be_in_sync_come_out_best() -> None:
    topics = (BEST, "t:replication.factor=3", "t:replication.factor=1")
    shown = [row(topic) for topic in topics]
    assert [each.grade for each in shown] == ["A", "C", "F"]
    assert [each.cases[0].breaches for each in shown] == [(), (), ()], "measured, so no document is needed"
    assert [[one.fault for one in each.cases[0].findings] for each in shown] == [[], ["last-disk-lost"], ["disk-lost"]]


def test_where_no_cell_covers_them_lost_replicas_go_by_kafkas_documents() -> None:
    topics = ("t:replication.factor=3", "t:replication.factor=1")
    shown = [row(topic, measured_disks=False) for topic in topics]
    assert [each.grade for each in shown] == ["C", "F"]
    assert [one.fault for each in shown for one in each.cases[0].breaches] == ["acknowledged-by-one", "single-replica"]


@pytest.mark.parametrize("measured", [True, False])
def test_a_policy_may_leave_it_out(measured: bool) -> None:
    lenient = replace(load("durable"), single_replica="", acknowledged_by_one="")
    assert row("t:replication.factor=1", lenient, measured_disks=measured).grade == "A"
    assert row("t:replication.factor=3", lenient, measured_disks=measured).grade == "A"


def test_without_retries_a_send_that_failed_in_a_cell_counts_and_the_run_is_named() -> None:
    one = row(BEST, failed=7)
    (breach,) = one.cases[0].breaches
    assert (one.grade, breach.source) == ("F", "run restart-1")
    assert breach.sentence.startswith("7 of 27 sends failed")
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
