"""What brokers logged and the cluster stated, as steps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from evidence.engine import ContainerAction
from evidence.events import Log
from judgement.report import facts
from judgement.report.steps import acts, fault_steps, log_steps, metadata_steps, state_text, truncations
from tests.unit.judgement.report.synthetic import START_NS, Synthetic

if TYPE_CHECKING:
    from evidence.events import LogDetail, LogKind

T0 = ("t", 0)


def logged(run: Synthetic, at_s: float, event: str, offset: int | None, line: str, *, topic: str | None = "t") -> None:
    """A line of broker-2's log; `event` is its kind, or "kind/detail"."""
    kind, _, detail = event.partition("/")
    partition = None if topic is None else 0
    where: dict[str, Any] = {"node": "broker-2", "topic": topic, "partition": partition}
    what: dict[str, Any] = {"event": cast("LogKind", kind), "detail": cast("LogDetail | None", detail or None)}
    run.event(at_s, Log(**what, offset=offset, line=line, **where))


def said(run: Synthetic) -> list[str]:
    loaded = facts.load(run.write(ended_s=30.0))
    return [step.text for step in log_steps(loaded, T0, 0, lambda line: ("truncate", ""))]


def test_lines_of_one_truncation_are_one_act(tmp_path: Path) -> None:
    run = Synthetic(tmp_path, "x", "2.8.2")
    run.truncate(1.0, "broker-1", 3)
    run.truncate(1.1, "broker-1", 3)
    run.truncate(2.0, "broker-1", 3)
    found = truncations(facts.load(run.write(ended_s=3.0)), T0, 0)
    assert [len(act.quotes) for act in found] == [2, 1]


def test_a_truncation_says_what_it_goes_by(tmp_path: Path) -> None:
    run = Synthetic(tmp_path, "x", "4.3.1")
    logged(run, 1.0, "epoch-request", 2, "Truncating partition t-0 with … due to leader epoch and offset …")
    logged(run, 1.01, "high-watermark/below", 2, "Truncating t-0 to offset 2 below high watermark 3")
    run.truncate(1.02, "broker-2", 2)
    run.truncate(5.0, "broker-2", 2)
    assert said(run) == [
        "broker-2 truncates t-0 to offset 2 (where the leader says its epoch ends, below its high watermark).",
        "broker-2 truncates t-0 to offset 2.",
    ]


@pytest.mark.parametrize(
    ("event", "offset", "line", "words"),
    [
        (
            "become-leader",
            4,
            "Leader t-0 starts at leader epoch 2 from offset 4",
            "becomes leader of t-0; its log ends at 4",
        ),
        ("become-follower", 4, "Follower t-0 starts at leader epoch 2", "becomes follower of t-0; its log ends at 4"),
        (
            "become-follower/fetches",
            3,
            "Added fetcher for partitions List([t-0, initOffset 3",
            "begins to fetch t-0 at offset 3",
        ),
        ("become-leader", None, "completed LeaderAndIsr request", "becomes leader of t-0"),
        (
            "high-watermark/loaded",
            3,
            "Log loaded for partition t-0 with initial high watermark 3",
            "loads t-0 with high watermark 3",
        ),
        (
            "high-watermark/falls-back",
            3,
            "Truncating partition t-0 to local high watermark 3",
            "goes by its own high watermark, 3",
        ),
        (
            "epoch-request/nothing-to-cut",
            4,
            "leader replied with an offset 4 >= the follower's log end offset 4 in t-0. No truncation needed.",
            "learns from the leader that its epoch ends at offset 4, and has nothing to cut",
        ),
        (
            "epoch-request/unknown-epoch",
            0,
            "leader replied with an unknown offset in t-0. The initial fetch offset 0 will be used",
            "learns nothing from the leader about its epoch and goes by offset 0",
        ),
        ("fatal", 2, "log truncation is not allowed for t-0", "exits"),
    ],
)
def test_what_a_broker_says_of_itself(tmp_path: Path, event: str, offset: int | None, line: str, words: str) -> None:
    run = Synthetic(tmp_path, "x", "2.8.2")
    logged(run, 1.0, event, offset, line)
    assert said(run) == [f"broker-2 {words}."]


@pytest.mark.parametrize(("line", "count"), [("segment 0 in log t-0.", 1), ("in log t-01.", 0), ("of not-t-0.", 0)])
def test_a_line_that_names_its_partition_in_words_only(tmp_path: Path, line: str, count: int) -> None:
    run = Synthetic(tmp_path, "x", "0.10.2.2")
    logged(run, 1.0, "recovery", 0, f"Recovering unflushed {line}", topic=None)
    assert len(acts(facts.load(run.write(ended_s=3.0)), T0, 0)) == count


def test_steps_of_high_watermarks_are_not_told(tmp_path: Path) -> None:
    run = Synthetic(tmp_path, "x", "2.8.2")
    logged(run, 1.0, "high-watermark", 3, "High watermark updated to 3")
    logged(run, 1.1, "expand-isr", None, "Expanding ISR from 1 to 1,2")
    assert said(run) == []


def test_an_election_that_the_controller_calls_unclean_is_not_called_clean(tmp_path: Path) -> None:
    run = Synthetic(tmp_path, "x", "4.3.1", mode="kraft")
    run.partition(1.0, 1, 0, [1])
    run.partition(2.0, -1, 1, [])
    run.partition(3.0, 1, 2, [1])
    assert [step.text for step in metadata_steps(facts.load(run.write(ended_s=5.0)), T0, 0)][-1] == (
        "broker-1 is elected leader of t-0 in epoch 2: a clean election, from the ISR [1]."
    )
    logged(run, 2.95, "unclean-election", None, "UNCLEAN partition change for t-0")
    last = list(metadata_steps(facts.load(run.write(ended_s=5.0)), T0, 0))[-1]
    assert "an unclean election by the controller's own word, though it is of the last known ISR [1]" in last.text
    assert last.quotes == ("UNCLEAN partition change for t-0",)


def test_states_stated_again_are_no_elections(tmp_path: Path) -> None:
    run = Synthetic(tmp_path, "x", "2.8.2")
    for at_s, leader, version in ((1.0, 1, 0), (2.0, 2, 1), (3.0, 1, 0), (3.1, 2, 1)):
        run.partition(at_s, leader, version, [leader], version=version)
    steps = list(metadata_steps(facts.load(run.write(ended_s=5.0)), T0, 0))
    assert [step.kind for step in steps] == ["election"]


@pytest.mark.parametrize(("end", "words"), [("kill", "."), ("die", " — although it has been dead for 1.0 s.")])
def test_who_is_dying_is_not_called_dead(tmp_path: Path, end: ContainerAction, words: str) -> None:
    run = Synthetic(tmp_path, "x", "2.8.2")
    run.container(0.1, "broker-2", "start")
    run.partition(1.0, 1, 0, [1, 2])
    run.container(2.0, "broker-2", end)
    run.partition(3.0, 2, 1, [2])
    (step,) = metadata_steps(facts.load(run.write(ended_s=5.0)), T0, 0)
    assert step.text == f"broker-2 is elected leader of t-0 in epoch 1: a clean election, from the ISR [1, 2]{words}"


def test_a_fault_that_lasts_is_told_and_one_that_is_over_is_not(tmp_path: Path) -> None:
    run = Synthetic(tmp_path, "x", "2.8.2")
    run.container(0.1, "broker-1", "start")
    run.container(0.1, "broker-2", "start")
    run.kill(1.0, "broker-1", "leader")
    run.start(2.0, "broker-1")
    run.kill(3.0, "broker-2", "follower")
    run.start(3.4, "broker-1")
    run.kill(3.5, "broker-9", "a broker without a replica")
    run.run["topics"] = [{"name": "t", "partitions": {"0": [1, 2]}}]
    texts = [step.text for step in fault_steps(facts.load(run.write(ended_s=9.0)), T0, START_NS + 3_300_000_000)]
    assert texts == [
        "kill -9 of broker-2 (follower); proved: exit code 137, Docker's event “die”.",
        "start of broker-1; proved: running as process 4711, Docker's event “start”.",
    ]


def test_a_change_of_the_assignment_is_a_step(tmp_path: Path) -> None:
    run = Synthetic(tmp_path, "x", "2.8.2")
    for second, replicas in enumerate(([1, 2], [3, 1, 2], [3, 1], [1, 3], [1, 3])):
        run.partition(1.0 + second, 1, 0, [1], replicas=replicas)
    assert [s.text for s in metadata_steps(facts.load(run.write(ended_s=9.0)), T0, 0)] == [
        "t-0 is assigned to [3, 1, 2]: broker-3 is added.",
        "t-0 is assigned to [3, 1]: broker-2 is removed.",
        "t-0 is assigned to [1, 3].",
    ]


def test_a_change_of_controller_is_a_step(tmp_path: Path) -> None:
    run = Synthetic(tmp_path, "x", "2.8.2")
    run.partition(0.5, 1, 0, [1, 2])
    run.controller(1.0, "broker-1", 1)
    run.controller(2.0, None, 1)
    loaded = facts.load(run.write(ended_s=3.0))
    assert [s.text for s in metadata_steps(loaded, T0, 0)] == [
        "broker-1 is the controller, epoch 1.",
        "There is no controller.",
    ]
    assert (
        state_text(loaded, T0, START_NS + 10**9)
        == "leader broker-1 (epoch 0), ISR [1, 2], controller broker-1 (epoch 1)"
    )
    assert state_text(loaded, T0, START_NS) == ""
