"""Fingerprints: the same when lines move, another when the harm is another."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from audit import baseline
from audit.cells import Cell
from audit.grade import AuditAnswer, Grader
from audit.model import Inputs, Origin, ProducerConfig, Setting
from audit.topics import StatedByUser
from evidence.errors import UsageError
from tests.unit.audit.cells import cell, dark, matrix, run


def answer(
    line: int = 1,
    *,
    path: str = "a/app.properties",
    name: str = "app",
    topics: tuple[str, ...] = ("orders",),
    cells: list[Cell] | None = None,
) -> AuditAnswer:
    config = ProducerConfig(
        name=name,
        client="java",
        release="2.8.2",
        settings={"acks": Setting("acks", "1", Origin(path, line + 1))},
        topics=topics,
        origin=Origin(path, line),
    )
    return Grader(cells or matrix()).answer(Inputs(producers=(config,)), StatedByUser(version="2.8.2"))


def test_what_was_accepted_stays_so_when_lines_move_and_runs_are_others() -> None:
    accepted = baseline.every(answer())
    assert len(accepted) == 3
    assert baseline.new(answer(line=40, path="./a//app.properties"), ("loss", "duplicate"), accepted) == []
    again = [
        replace(each, runs=(*each.runs, run("later", 9, lost=1))) if each.times("loses") else each for each in matrix()
    ]
    assert baseline.new(answer(cells=again), ("loss", "duplicate"), accepted) == []


def test_another_producer_topic_file_or_fault_is_new() -> None:
    accepted = baseline.every(answer())
    for other in (answer(name="b"), answer(topics=("payments",)), answer(path="b.properties")):
        assert len(baseline.new(other, ("loss",), accepted)) == 2
    worse = [
        *(each for each in matrix() if each.key.fault != "broker-restart"),
        cell("broker-restart", run("r", lost=1)),
    ]
    assert [one.fault for _, one in baseline.new(answer(cells=worse), ("loss",), accepted)] == ["broker-restart"]


def test_only_the_effects_asked_for_count() -> None:
    assert {one.effect for _, one in baseline.new(answer(), ("duplicate",), ())} == {"duplicate"}
    assert baseline.new(answer(), (), ()) == []


def test_a_further_topic_is_new_and_those_known_stay_accepted() -> None:
    accepted = baseline.every(answer())
    assert baseline.new(answer(topics=("orders", "more")), ("loss",), accepted) != []
    both = baseline.every(answer(topics=("orders", "more")))
    assert baseline.new(answer(), ("loss",), both) == []


def test_two_producers_of_one_name_in_one_file_are_told_apart() -> None:
    config = answer().rows[0].producer
    found = Grader(matrix()).answer(Inputs(producers=(config, config)), StatedByUser(version="2.8.2"))
    assert len(baseline.every(found)) == 6


def test_a_baseline_is_read_as_it_was_written_and_sorted(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(baseline.text(answer()))
    assert baseline.load(path) == baseline.every(answer())
    told = json.loads(path.read_text())["accepted"]
    assert told == sorted(
        told, key=lambda one: (one["path"], one["producer"], one["topic"], one["effect"], one["fault"])
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "no such baseline; --write-baseline"),
        ("{", "not a baseline"),
        ("[]", "not a baseline"),
        ('{"schema": 2, "accepted": []}', "its schema is 2, not 1"),
        ('{"schema": 1, "accepted": [3]}', "not a baseline"),
    ],
)
def test_what_is_no_baseline_is_said_in_a_line(tmp_path: Path, content: str | None, says: str) -> None:
    path = tmp_path / "b.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError, match=says) as raised:
        baseline.load(path)
    assert "\n" not in str(raised.value)


def test_power_loss_fails_by_its_own_name_and_can_be_accepted() -> None:
    dim = answer(cells=[*matrix(), *dark()])
    assert [one.fault for _, one in baseline.new(dim, ("power-loss",), frozenset())] == ["power-loss"]
    assert "power-loss" not in {one.fault for _, one in baseline.new(dim, ("loss", "duplicate"), frozenset())}
    assert len(baseline.every(dim)) == len(baseline.every(answer())) + 1
    assert baseline.new(dim, ("power-loss",), baseline.every(dim)) == []
