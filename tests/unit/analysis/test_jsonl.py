"""Histories of others: each kind of line, what becomes of lines that are none, the documentation's examples."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from analysis.jsonl import check_history, exit_status, main
from evidence.errors import EXIT_USAGE, UsageError

DOCUMENT = Path(__file__).parents[3] / "docs" / "histories-of-others.md"


def send(kind: str, value: Any, *, process: Any = 0, key: str = "k", **more: Any) -> dict[str, Any]:
    return {"process": process, "type": kind, "f": "send", "value": [["send", key, value]], **more}


def acked(offset: int | None, value: Any, **more: Any) -> list[dict[str, Any]]:
    return [send("invoke", value, **more), send("ok", [offset, value], **more)]


def poll(*records: list[Any], process: Any = 1, key: str = "k", kind: str = "ok", **more: Any) -> dict[str, Any]:
    return {"process": process, "type": kind, "f": "poll", "value": [["poll", {key: list(records)}]], **more}


def operation(f: str, value: Any = None, *, kind: str = "ok", process: Any = 1, **more: Any) -> dict[str, Any]:
    return {"process": process, "type": kind, "f": f, "value": value, **more}


def check(path: Path, *lines: dict[str, Any] | str) -> dict[str, Any]:
    file = path / "history.jsonl"
    file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return check_history(file)


def found(findings: dict[str, Any]) -> dict[str, int]:
    return {finding["anomaly"]: finding["count"] for finding in findings["findings"]}


def test_a_sound_history(tmp_path: Path) -> None:
    findings = check(tmp_path, *acked(0, "a"), *acked(1, "b"), poll([0, "a"]), poll([1, "b"]))
    assert (found(findings), findings["problems"], exit_status(findings)) == ({}, [], 0)
    assert findings["statistics"] == {"partitions": 1, "polled": 2, "sends_fail": 0, "sends_info": 0, "sends_ok": 2}


def test_a_lost_write_names_the_value_as_the_history_did(tmp_path: Path) -> None:
    findings = check(tmp_path, *acked(0, {"id": 5}, process="w"), *acked(1, "b"), poll([1, "b"]))
    assert found(findings) == {"lost-write": 1}
    (row,) = findings["findings"][0]["evidence"]
    assert (row["value"], row["offset"], row["process"]) == ({"id": 5}, 0, "w")
    assert "sequence" not in row
    assert exit_status(findings) == 1


def test_what_is_only_unseen_is_in_doubt_until_a_final_read(tmp_path: Path) -> None:
    history = [*acked(0, 1), *acked(None, 2), poll([0, 1])]
    findings = check(tmp_path, *history)
    assert (found(findings), exit_status(findings)) == ({"unseen": 1}, 2)
    assert found(check(tmp_path, *history, operation("final-read", {"k": 1}))) == {"lost-write": 1}


def test_a_final_read_counts_from_when_it_was_invoked(tmp_path: Path) -> None:
    asked = [operation("final-read", {}, kind="invoke", time=10), operation("final-read", {"k": 0}, time=30)]
    late = [send("invoke", 1, time=15), send("ok", [0, 1], time=20)]
    assert found(check(tmp_path, asked[0], *late, asked[1])) == {"unseen": 1}


def test_keys_are_partitions_of_their_own(tmp_path: Path) -> None:
    findings = check(tmp_path, *acked(0, 1), *acked(0, 1, key="l"), poll([0, 1]), poll([0, 1], key="l"))
    assert found(findings) == {}


def test_an_operation_without_an_end_is_unknown(tmp_path: Path) -> None:
    open_for_ever = check(tmp_path, send("invoke", 1), *acked(1, 2, process=5), poll([1, 2]))
    assert (found(open_for_ever), open_for_ever["statistics"]["sends_info"]) == ({}, 1)
    went_on = check(tmp_path, send("invoke", 1), *acked(1, 2), poll([1, 2]))
    assert (found(went_on), went_on["statistics"]["sends_info"]) == ({}, 1)
    crashed = check(tmp_path, send("invoke", 1), operation("crash", kind="info", process=0), *acked(0, 2), poll([0, 2]))
    assert crashed["statistics"]["sends_info"] == 1


def test_a_read_proves_an_unknown_operation_of_several_sends(tmp_path: Path) -> None:
    several = [["send", "k", [0, 1]], ["send", "k", [1, 2]]]
    unknown = {"process": 0, "type": "info", "f": "send", "value": several, "error": "timed out"}
    findings = check(tmp_path, unknown, *acked(2, 3, process=4), poll([0, 1]), poll([2, 3]))
    assert found(findings)["lost-write"] == 1
    assert findings["unknown_errors"] == [{"error": "timed out", "count": 1}]


def test_values_read_and_never_sent(tmp_path: Path) -> None:
    findings = check(tmp_path, *acked(0, 1), poll([0, 1]), poll([1, "nobody's"]))
    assert found(findings) == {"phantom": 1}
    assert findings["findings"][0]["evidence"][0]["value"] == "nobody's"


def test_sends_are_ordered_as_they_were_invoked(tmp_path: Path) -> None:
    assert found(check(tmp_path, *acked(1, "z"), *acked(0, "a"), poll([0, "a"], [1, "z"]))) == {"nonmonotonic-send": 1}
    assert found(check(tmp_path, *acked(0, "z"), *acked(1, "a"), poll([0, "z"], [1, "a"]))) == {}


BACK = [*acked(0, 1), *acked(1, 2), poll([0, 1]), poll([1, 2])]


@pytest.mark.parametrize(
    ("between", "anomalies"),
    [
        ([], {"nonmonotonic-poll": 1}),
        ([operation("assign", ["k"])], {}),
        ([operation("assign", ["k"]), operation("assign", ["k", "l"])], {}),
        ([operation("assign", ["k"], kind="fail")], {"nonmonotonic-poll": 1}),
        ([operation("assign", ["k"], process=7)], {"nonmonotonic-poll": 1}),
        ([operation("subscribe", ["topic"])], {}),
        ([operation("crash", kind="info")], {}),
    ],
)
def test_positions_begin_anew(tmp_path: Path, between: list[dict[str, Any]], anomalies: dict[str, int]) -> None:
    assert found(check(tmp_path, *BACK, *between, poll([0, 1]))) == anomalies


def test_what_stays_assigned_goes_on(tmp_path: Path) -> None:
    first, more = operation("assign", ["k"]), operation("assign", ["k", "l"])
    assert found(check(tmp_path, first, *BACK, more, poll([0, 1]))) == {"nonmonotonic-poll": 1}


def test_a_rebalance_during_a_poll(tmp_path: Path) -> None:
    assert found(check(tmp_path, *BACK, poll([0, 1], rebalanced=["k"]))) == {}
    assert found(check(tmp_path, *BACK, poll([0, 1], rebalanced=["l"]))) == {"nonmonotonic-poll": 1}


def test_a_transaction_that_read_what_it_wrote_and_one_that_is_torn(tmp_path: Path) -> None:
    own = [["send", "k", [0, 1]], ["poll", {"k": [[0, 1]]}]]
    assert found(check(tmp_path, operation("txn", own))) == {"precommitted-read": 1}
    parts = operation("txn", [["send", "k", [0, 1]], ["send", "l", [0, 2]]], process=0)
    findings = check(tmp_path, parts, poll([0, 1]), operation("final-read", {"k": 1, "l": 0}))
    assert found(findings) == {"lost-write": 1, "torn-transaction": 1}
    (torn,) = [one for one in findings["findings"] if one["anomaly"] == "torn-transaction"]
    assert torn["evidence"][0]["missing"] == [{"value": 2, "topic": "l", "partition": 0}]


def test_an_aborted_transaction_takes_back_what_it_processed_and_committed(tmp_path: Path) -> None:
    steps = [["processed", "k", 0], ["commit", "k", 1]]
    first = [*acked(0, "a", time=1), poll([0, "a"], time=2)]
    assert found(check(tmp_path, *first, *(operation("txn", steps, kind=k, time=3) for k in ("fail", "ok")))) == {}
    twice = check(tmp_path, *first, *(operation("txn", steps, time=3) for _ in range(2)))
    assert found(twice) == {"repeated-processing": 1}
    assert twice["findings"][0]["evidence"][0]["outputs"][0].keys() == {"process", "completed_ns", "transaction"}


def test_how_long_a_consumer_waited(tmp_path: Path) -> None:
    polls = [operation("poll", kind="invoke", time=at) for at in (10, 90)]
    reads = [poll([n, "ab"[n]], time=at) for n, at in ((0, 11), (1, 95))]
    lines = [*acked(0, "a", time=1), *acked(1, "b", time=5), polls[0], reads[0], polls[1], reads[1]]
    lag = check(tmp_path, *lines)["real_time_lag"]
    assert (lag["lag_ns"], lag["value"], lag["offset"]) == (85, "b", 1)


def test_an_aborted_transaction_may_be_read_uncommitted(tmp_path: Path) -> None:
    aborted = operation("txn", [["send", "k", 1]], kind="fail", process=0)
    assert found(check(tmp_path, aborted, poll([0, 1]))) == {"aborted-read": 1}
    assert found(check(tmp_path, aborted, poll([0, 1], isolation="read_uncommitted"))) == {}


BAD_LINES = {
    "not JSON": '{"process"',
    "no object": "[1]",
    "no type": '{"process": 1, "f": "send"}',
    "another type": '{"process": 1, "type": "done", "f": "send", "value": []}',
    "another operation": '{"process": 1, "type": "ok", "f": "delete", "value": []}',
    "another micro-operation": '{"process": 1, "type": "ok", "f": "txn", "value": [["cas", "k", 1]]}',
    "a short micro-operation": '{"process": 1, "type": "ok", "f": "send", "value": [["send"]]}',
    "a send of three": '{"process": 1, "type": "ok", "f": "send", "value": [["send", "k", [1, 2, 3]]]}',
    "a poll of no records": '{"process": 1, "type": "ok", "f": "poll", "value": [["poll", {"k": 5}]]}',
    "a time in words": '{"process": 1, "type": "ok", "f": "poll", "value": [], "time": "noon"}',
}


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES)
def test_a_line_that_is_none_is_a_problem_and_not_the_end(tmp_path: Path, line: str) -> None:
    findings = check(tmp_path, *acked(0, 1), line, poll([0, 1]))
    (problem,) = findings["problems"]
    assert problem["what"] == "damaged history"
    assert problem["detail"].startswith("line 3: ")
    assert (found(findings), exit_status(findings)) == ({}, 2)


def test_a_file_that_is_no_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        check_history(tmp_path / "nothing")
    with pytest.raises(UsageError, match="no history"):
        check(tmp_path, "x", "y")
    assert main([str(tmp_path / "nothing")]) == EXIT_USAGE
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_an_empty_history_shows_nothing(tmp_path: Path) -> None:
    findings = check(tmp_path)
    assert [problem["what"] for problem in findings["problems"]] == ["empty history"]
    assert exit_status(findings) == 2


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(tmp_path, *acked(0, 1), *acked(1, 2), poll([1, 2]))
    assert main([str(tmp_path / "history.jsonl")]) == 1
    assert capsys.readouterr().out.startswith("lost-write: 1 in k-0, the first at offset 0\n")
    assert main([str(tmp_path / "history.jsonl"), "--json"]) == 1
    assert found(json.loads(capsys.readouterr().out)) == {"lost-write": 1}


def test_the_examples_of_the_documentation(tmp_path: Path) -> None:
    examples = [
        block
        for block in re.split(r"\n(?!    )", DOCUMENT.read_text().split("## Examples")[1])
        if '{"process"' in block
    ]
    assert len(examples) == 3
    lost, pipeline, aborted = (
        check(tmp_path, *(line[4:] for line in block.splitlines() if line)) for block in examples
    )
    assert found(lost) == {"lost-write": 1, "internal-poll-skip": 1}
    assert found(pipeline) == {"committed-too-far": 1, "skipped-processing": 1, "repeated-processing": 1}
    assert found(aborted) == {"aborted-read": 1}
    assert aborted["problems"] + lost["problems"] == [
        {"what": "empty history", "process": "", "detail": aborted["problems"][0]["detail"]}
    ]
