"""Histories of others: each kind of line, what becomes of lines that are none, the documentation's examples."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis import jsonl_keys
from analysis.jsonl import check_history, exit_status, main
from evidence.errors import EXIT_USAGE, UsageError
from evidence.findings import Findings

DOCUMENT = Path(__file__).parents[3] / "docs" / "histories-of-others.md"


def send(kind: str, value: Any, *, process: Any = 0, key: str = "k", **more: Any) -> dict[str, Any]:
    return {"process": process, "type": kind, "f": "send", "value": [["send", key, value]], **more}


def acked(offset: int | None, value: Any, **more: Any) -> list[dict[str, Any]]:
    return [send("invoke", value, **more), send("ok", [offset, value], **more)]


def poll(*records: list[Any], process: Any = 1, key: str = "k", kind: str = "ok", **more: Any) -> dict[str, Any]:
    return {"process": process, "type": kind, "f": "poll", "value": [["poll", {key: list(records)}]], **more}


def operation(f: str, value: Any = None, *, kind: str = "ok", process: Any = 1, **more: Any) -> dict[str, Any]:
    return {"process": process, "type": kind, "f": f, "value": value, **more}


def check(path: Path, *lines: dict[str, Any] | str) -> Findings:
    file = path / "history.jsonl"
    file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return check_history(file)


def found(findings: Findings) -> dict[str, int]:
    return {finding.anomaly: finding.count for finding in findings.findings}


def test_a_sound_history(tmp_path: Path) -> None:
    findings = check(tmp_path, *acked(0, "a"), *acked(1, "b"), poll([0, "a"]), poll([1, "b"]))
    assert (found(findings), findings.problems, exit_status(findings)) == ({}, (), 0)
    assert findings.statistics == {"partitions": 1, "polled": 2, "sends_fail": 0, "sends_info": 0, "sends_ok": 2}


def test_a_lost_write_names_the_value_as_the_history_did(tmp_path: Path) -> None:
    findings = check(tmp_path, *acked(0, {"id": 5}, process="w"), *acked(1, "b"), poll([1, "b"]))
    assert found(findings) == {"lost-write": 1}
    (row,) = findings.findings[0].evidence
    assert (row.detail["value"], row.offset, row.process) == ({"id": 5}, 0, "w")
    assert row.records == ()
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
    assert (found(open_for_ever), open_for_ever.statistics["sends_info"]) == ({}, 1)
    went_on = check(tmp_path, send("invoke", 1), *acked(1, 2), poll([1, 2]))
    assert (found(went_on), went_on.statistics["sends_info"]) == ({}, 1)
    crashed = check(tmp_path, send("invoke", 1), operation("crash", kind="info", process=0), *acked(0, 2), poll([0, 2]))
    assert crashed.statistics["sends_info"] == 1


def test_a_read_proves_an_unknown_operation_of_several_sends(tmp_path: Path) -> None:
    several = [["send", "k", [0, 1]], ["send", "k", [1, 2]]]
    unknown = {"process": 0, "type": "info", "f": "send", "value": several, "error": "timed out"}
    findings = check(tmp_path, unknown, *acked(2, 3, process=4), poll([0, 1]), poll([2, 3]))
    assert found(findings)["lost-write"] == 1
    assert findings.unknown_errors == {"timed out": 1}


def test_values_read_and_never_sent(tmp_path: Path) -> None:
    findings = check(tmp_path, *acked(0, 1), poll([0, 1]), poll([1, "nobody's"]))
    assert found(findings) == {"phantom": 1}
    assert findings.findings[0].evidence[0].detail["value"] == "nobody's"


def test_sends_are_ordered_as_they_were_invoked(tmp_path: Path) -> None:
    assert found(check(tmp_path, *acked(1, "z"), *acked(0, "a"), poll([0, "a"], [1, "z"]))) == {"nonmonotonic-send": 1}
    assert found(check(tmp_path, *acked(0, "z"), *acked(1, "a"), poll([0, "z"], [1, "a"]))) == {}


BACK = [*acked(0, 1), *acked(1, 2), poll([0, 1]), poll([1, 2])]


@pytest.mark.parametrize(
    ("between", "anomalies"),
    [
        ([], {"nonmonotonic-poll": 1}),
        ([operation("assign", ["k"])], {"nonmonotonic-poll": 1}),
        ([operation("assign", ["l"]), operation("assign", ["l", "k"])], {}),
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
    (torn,) = [one for one in findings.findings if one.anomaly == "torn-transaction"]
    assert torn.evidence[0].detail["missing"] == [{"value": 2, "topic": "l", "partition": 0}]


def test_an_aborted_transaction_takes_back_what_it_processed_and_committed(tmp_path: Path) -> None:
    steps = [["processed", "k", 0], ["commit", "k", 1]]
    first = [*acked(0, "a", time=1), poll([0, "a"], time=2)]
    assert found(check(tmp_path, *first, *(operation("txn", steps, kind=k, time=3) for k in ("fail", "ok")))) == {}
    twice = check(tmp_path, *first, *(operation("txn", steps, time=3) for _ in range(2)))
    assert found(twice) == {"repeated-processing": 1}
    assert twice.findings[0].evidence[0].detail["outputs"][0].keys() == {"process", "completed_ns", "transaction"}


def test_how_long_a_consumer_waited(tmp_path: Path) -> None:
    polls = [operation("poll", kind="invoke", time=at) for at in (10, 90)]
    reads = [poll([n, "ab"[n]], time=at) for n, at in ((0, 11), (1, 95))]
    lines = [*acked(0, "a", time=1), *acked(1, "b", time=5), polls[0], reads[0], polls[1], reads[1]]
    lag = check(tmp_path, *lines).real_time_lag
    assert lag is not None
    assert lag is not None
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
    (problem,) = findings.problems
    assert problem.what == "damaged history"
    assert problem.detail.startswith("line 3: ")
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
    assert [problem.what for problem in findings.problems] == ["empty history"]
    assert exit_status(findings) == 2


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(tmp_path, *acked(0, 1), *acked(1, 2), poll([1, 2]))
    assert main([str(tmp_path / "history.jsonl")]) == 1
    assert capsys.readouterr().out.startswith("lost-write: 1 in k-0, the first at offset 0\n")
    assert main([str(tmp_path / "history.jsonl"), "--json"]) == 1
    assert found(msgspec.json.decode(capsys.readouterr().out, type=Findings)) == {"lost-write": 1}


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
    assert [one.what for one in aborted.problems + lost.problems] == ["empty history"]


# Unknown operations, and what lies beyond the end


def txn(kind: str, *micro: list[Any], f: str = "txn", process: Any = 0, **more: Any) -> dict[str, Any]:
    return operation(f, list(micro), kind=kind, process=process, **more)


@pytest.mark.parametrize("f", ["txn", "send"])
def test_a_read_in_one_key_proves_an_unknown_operation_in_all(tmp_path: Path, f: str) -> None:
    unknown = txn("info", ["send", "x", "a"], ["send", "y", [0, "b"]], f=f)
    others = (*acked(2, "c", key="y", process=2), poll([2, "c"], key="y"))
    due = {"lost-write": 1} | ({"torn-transaction": 1} if f == "txn" else {})
    assert found(check(tmp_path, unknown, poll([0, "a"], key="x"), *others)) == due
    assert found(check(tmp_path, unknown, *others)) == {}
    taken = acked(0, "d", key="y", process=3)
    twice = check(tmp_path, unknown, *taken, poll([0, "a"], key="x"), poll([0, "d"], [2, "c"], key="y"), *others[:2])
    assert found(twice) == due | {"inconsistent-offsets": 1}
    uncommitted = poll([0, "a"], key="x", isolation="read_uncommitted", process=8)
    assert found(check(tmp_path, unknown, uncommitted, *others)) == ({} if f == "txn" else {"lost-write": 1})


INPUT = [*acked(0, "a", key="in"), poll([0, "a"], key="in")]
MAKES: list[list[Any]] = [["processed", "in", 0], ["send", "out", "A1"], ["commit", "in", 1]]


def test_an_output_that_was_read_proves_its_input_processed(tmp_path: Path) -> None:
    first = txn("info", *MAKES, process=1)
    again = txn("ok", ["processed", "in", 0], ["send", "out", [1, "A2"]], ["commit", "in", 1], process=2)
    both = poll([0, "A1"], [1, "A2"], key="out", process=3)
    assert found(check(tmp_path, *INPUT, first, again, both)) == {"repeated-processing": 1}
    assert found(check(tmp_path, *INPUT, first, again, poll([1, "A2"], key="out", process=3))) == {}


def test_an_output_that_is_nowhere_leaves_its_input_unprocessed(tmp_path: Path) -> None:
    makes = txn("info", *MAKES[:2], f="process", process=1)
    commit = txn("ok", MAKES[2], f="process", process=1)
    end = operation("final-read", {"out": 0}, process=3)
    skipped = {"skipped-processing": 1, "committed-too-far": 1}
    assert found(check(tmp_path, *INPUT, makes, commit, end)) == skipped
    assert found(check(tmp_path, *INPUT, makes, commit)) == {}
    assert found(check(tmp_path, *INPUT, end, makes, commit)) == {}
    never_over = txn("invoke", *MAKES[:2], f="process", process=7)
    assert found(check(tmp_path, *INPUT, never_over, commit, end)) == {}
    # An aborted offset is none, and nothing is skipped.
    assert found(check(tmp_path, *INPUT, txn("info", *MAKES, process=1), end)) == {}


def test_what_was_read_and_lies_beyond_the_end_is_lost(tmp_path: Path) -> None:
    history = [line for n in range(3) for line in acked(n, n)] + [poll([0, 0], [1, 1], [2, 2])]
    findings = check(tmp_path, *history, poll([0, 0], process=9), operation("final-read", {"k": 1}, process=9))
    assert found(findings) == {"lost-write": 2}
    assert findings.findings[0].evidence[0].detail["read_before"]["process"] == "1"
    whole = operation("final-read", {"k": 3}, process=9)
    assert found(check(tmp_path, *history, whole)) == {}


# Order is that of the lines


def test_the_clock_does_not_order_sends(tmp_path: Path) -> None:
    def pair(first: int, second: int) -> list[dict[str, Any]]:
        return [
            *acked(first, "a", time=1000),
            *acked(second, "b", time=10),
            poll(*sorted([[first, "a"], [second, "b"]])),
        ]

    assert found(check(tmp_path, *pair(0, 1))) == {}
    assert found(check(tmp_path, *pair(5, 3))) == {"nonmonotonic-send": 1}


@pytest.mark.parametrize(("order", "anomalies"), [("ab", {}), ("ba", {"internal-nonmonotonic-send": 1})])
def test_a_poll_that_named_a_value_first_does_not_order_sends(
    tmp_path: Path, order: str, anomalies: dict[str, int]
) -> None:
    places = {value: place for place, value in enumerate(order)}
    sends = txn("ok", *(["send", "k", [places[value], value]] for value in "ab"), f="send")
    rest = [[place, value] for value, place in sorted(places.items(), key=lambda one: one[1])]
    assert found(check(tmp_path, poll([places["b"], "b"]), sends, poll(*rest, process=2))) == anomalies


def test_what_is_acknowledged_after_the_final_read_is_not_due(tmp_path: Path) -> None:
    first, end = [*acked(0, 0), poll([0, 0])], operation("final-read", {"k": 1})
    assert found(check(tmp_path, *first, end, *acked(1, 1))) == {"unseen": 1}
    assert found(check(tmp_path, *first, end, *acked(1, 1), end)) == {"lost-write": 1}
    asked = operation("final-read", {}, kind="invoke")
    assert found(check(tmp_path, *first, asked, *acked(1, 1), end)) == {"unseen": 1}


def test_an_offset_committed_too_far_without_any_time(tmp_path: Path) -> None:
    sends = txn("ok", ["send", "in", [0, "a"]], ["send", "in", [1, "b"]], f="send")
    steps = [txn("ok", ["processed", "in", n], f="process", process=1) for n in range(2)]
    commit = txn("ok", ["commit", "in", 2], f="process", process=1)
    read = poll([0, "a"], [1, "b"], key="in")
    assert found(check(tmp_path, sends, read, steps[0], commit, steps[1])) == {"committed-too-far": 1}
    assert found(check(tmp_path, sends, read, *steps, commit)) == {}


def test_overlapping_operations_are_told_and_not_ordered(tmp_path: Path) -> None:
    begun = [send("invoke", "a"), send("invoke", "b")]
    for first, second in (("a", "b"), ("b", "a")):
        ended = [send("ok", [0, first]), send("ok", [1, second])]
        findings = check(tmp_path, *begun, *ended[::-1], poll([0, first], [1, second]))
        assert [problem.what for problem in findings.problems] == ["overlapping operations"]
        assert (found(findings), exit_status(findings)) == ({}, 2)
    findings = check(tmp_path, *begun, send("ok", [0, "b"]), poll([0, "b"]))
    assert (found(findings), findings.problems) == ({}, ())


def test_a_value_that_was_read_before_it_was_sent(tmp_path: Path) -> None:
    findings = check(tmp_path, poll([0, "a"]), *acked(0, "a"))
    (problem,) = findings.problems
    assert (problem.what, found(findings)) == ("read before it was sent", {})
    assert problem.detail.startswith('line 1: 1 read "a" of k, and line 2 is')
    assert check(tmp_path, send("invoke", "a"), poll([0, "a"]), send("ok", [0, "a"])).problems == ()
    assert check(tmp_path, poll([0, "a"]), send("ok", [0, "a"])).problems == ()


# Positions


def test_what_a_consumer_reads_without_being_assigned_is_held(tmp_path: Path) -> None:
    history = [line for n in range(4) for line in acked(n, n)] + [poll([0, 0], [1, 1], [2, 2])]
    back = poll([1, 1], [2, 2], [3, 3])
    assert found(check(tmp_path, *history, operation("assign", ["k"]), back)) == {"nonmonotonic-poll": 1}
    assert found(check(tmp_path, *history, operation("assign", ["other"]), back)) == {}
    assert found(check(tmp_path, *history, operation("assign", []), operation("assign", ["k"]), back)) == {}


def test_a_key_that_is_rebalanced_inside_a_poll_is_exempt(tmp_path: Path) -> None:
    history = [line for n in range(5) for line in acked(n, n)] + [poll(*([n, n] for n in range(5)))]
    for offsets, anomaly in (((0, 3), "internal-poll-skip"), ((1, 0), "internal-nonmonotonic-poll")):
        records = [[offset, offset] for offset in offsets]
        assert found(check(tmp_path, *history, poll(*records, process=2, rebalanced=["k"]))) == {}
        assert found(check(tmp_path, *history, poll(*records, process=2))) == {anomaly: 1}


@pytest.mark.parametrize("kind", ["fail", "info"])
def test_a_poll_counts_whatever_became_of_its_operation(tmp_path: Path, kind: str) -> None:
    history = [line for n in range(4) for line in acked(n, n)] + [poll(*([n, n] for n in range(4)), process=2)]
    assert found(check(tmp_path, *history, poll([0, 0]), poll([2, 2], [3, 3], kind=kind))) == {"poll-skip": 1}
    assert found(check(tmp_path, *history, poll([0, 0]), poll([1, 1], [2, 2], kind=kind))) == {}


def test_a_value_sent_again_is_no_step_back_against_itself(tmp_path: Path) -> None:
    assert found(check(tmp_path, send("info", "a"), *acked(0, "a"), send("ok", [0, "a"]), poll([0, "a"]))) == {}
    assert found(check(tmp_path, *acked(1, "a"), *acked(0, "b"), poll([0, "b"], [1, "a"]))) == {"nonmonotonic-send": 1}


# Values


def test_values_may_be_any_json(tmp_path: Path) -> None:
    for value in ([7, 8], [None, 1], [], {"a": [1]}, None, True, 1.5, "é", 10**30):
        for given in (value, [3, value]):
            lines = [send("invoke", value), send("info", given), poll([3, value])]
            assert found(check(tmp_path, *lines)) == {}, value
        assert found(check(tmp_path, send("invoke", value), poll([3, value]))) == {}, value
        assert found(check(tmp_path, send("invoke", value), send("ok", [3, value]), poll([3, value]))) == {}
    lines = [*acked(0, 1), *acked(1, True), *acked(2, "1"), *acked(3, 1.0), poll([0, 1], [1, True], [2, "1"], [3, 1.0])]
    assert found(check(tmp_path, *lines)) == {}
    assert found(check(tmp_path, *lines[:2], poll([0, True]))) == {
        "inconsistent-offsets": 1,
        "phantom": 1,
        "lost-write": 1,
    }


def test_a_completion_without_a_value_has_that_of_its_invocation(tmp_path: Path) -> None:
    first = [*acked(0, 1), *acked(None, 2), poll([0, 1])]
    asked = operation("final-read", {"k": 1}, kind="invoke")
    assert found(check(tmp_path, *first, asked, operation("final-read"))) == {"lost-write": 1}
    unended = check(tmp_path, *first, asked)
    assert (found(unended), unended.problems) == ({"unseen": 1}, ())
    went_on = check(tmp_path, *first, operation("final-read", {}, kind="invoke"), poll([1, 2]))
    assert (found(went_on), went_on.problems) == ({}, ())


def test_a_transaction_is_torn_where_a_reader_has_passed_its_missing_part(tmp_path: Path) -> None:
    parts = txn("ok", ["send", "k", [0, "a"]], ["send", "k", [1, "b"]])
    passed = [*acked(2, "c", process=4), poll([0, "a"]), poll([2, "c"], process=5)]
    assert found(check(tmp_path, parts, *passed)) == {"lost-write": 1, "torn-transaction": 1}
    assert found(check(tmp_path, parts, poll([0, "a"]))) == {"unseen": 1}


# Lines that are refused

HALF_POLL, HALF_SEND = '{"process":1,"type":"ok","f":"po', '{"process":0,"type":"ok","f":"se'
BAD_POLL, BAD_SEND = poll(["0", 1]), send("ok", [0.5, 9])


@pytest.mark.parametrize("line", [HALF_POLL, BAD_POLL], ids=["cut", "offset in words"])
def test_what_a_refused_line_may_have_read_is_not_lost_nor_skipped(tmp_path: Path, line: Any) -> None:
    history = [line for n in range(3) for line in acked(n, n)]
    findings = check(tmp_path, *history, poll([0, 0]), line, poll([2, 2]))
    assert (found(findings), exit_status(findings)) == ({"unseen": 1}, 2)
    ended = check(tmp_path, *history, poll([0, 0]), line, poll([2, 2]), operation("final-read", {"k": 3}))
    assert (found(ended), exit_status(ended)) == ({"unseen": 1}, 2)
    whole = check(tmp_path, *history, poll([0, 0]), poll([2, 2]))
    assert found(whole) == {"lost-write": 1, "poll-skip": 1}


@pytest.mark.parametrize("line", [HALF_SEND, BAD_SEND], ids=["cut", "offset of a half"])
def test_what_a_refused_line_may_have_sent_is_no_phantom(tmp_path: Path, line: Any) -> None:
    findings = check(tmp_path, *acked(0, 0), line, poll([0, 0]), poll([1, 1]))
    assert (found(findings), exit_status(findings)) == ({}, 2)


def test_a_refused_send_excuses_no_loss_and_a_refused_poll_no_phantom(tmp_path: Path) -> None:
    history = [line for n in range(3) for line in acked(n, n)]
    assert found(check(tmp_path, *history, BAD_SEND, poll([0, 0]), poll([2, 2])))["lost-write"] == 1
    assert found(check(tmp_path, *acked(0, 0), BAD_POLL, poll([0, 0]), poll([1, 1])))["phantom"] == 1


def test_a_refused_line_of_another_process_takes_nobody_else_back(tmp_path: Path) -> None:
    history = [line for n in range(3) for line in acked(n, n)]
    reads = [poll([0, 0]), poll(["0", 1], process=7), poll([2, 2])]
    assert found(check(tmp_path, *history, *reads, poll([1, 1], process=8)))["poll-skip"] == 1


def test_what_a_pipeline_may_have_done_on_a_refused_line_is_not_skipped(tmp_path: Path) -> None:
    commit = txn("ok", ["commit", "in", 1], f="process", process=1)
    bad = txn("ok", ["processed", "in", -3], f="process", process=1)
    assert found(check(tmp_path, *INPUT, commit)) == {"committed-too-far": 1, "skipped-processing": 1}
    assert found(check(tmp_path, *INPUT, bad, commit)) == {}


@pytest.mark.parametrize(
    "offset", ['"0"', "true", "{}", "NaN", "Infinity", "9223372036854775808", "0.5", "1.0", "-3", "null"]
)
def test_an_offset_is_a_whole_number_of_64_bits(tmp_path: Path, offset: str) -> None:
    line = f'{{"process": 1, "type": "ok", "f": "poll", "value": [["poll", {{"k": [[{offset}, 1]]}}]]}}'
    findings = check(tmp_path, *acked(0, 1), line, poll([0, 1]))
    assert (found(findings), exit_status(findings)) == ({}, 2)
    assert findings.problems[0].detail.startswith("line 3: ")


def test_the_largest_offset_is_one(tmp_path: Path) -> None:
    largest = 2**63 - 1
    findings = check(tmp_path, *acked(largest, 1), poll([largest, 1]))
    assert (found(findings), findings.problems) == ({}, ())


@pytest.mark.parametrize(
    "line",
    [
        poll([0, 1], time=2**70),
        poll([0, 1], time=True),
        operation("final-read", {"k": "1"}),
        operation("final-read", {"k": -1}),
        '{"process": 1, "type": "ok", "f": "poll", "value": [["poll", {"\\ud800": [[0, 1]]}]]}',
        '{"process": "\\ud800", "type": "ok", "f": "poll", "value": [["poll", {"k": [[0, 1]]}]]}',
        "[" * 100_000,
        json.dumps(poll([0, json.loads("[" * 500 + "]" * 500)])),
        operation("assign", "k"),
        poll([0, 1], rebalanced="k"),
        operation("poll", [["poll", {"k": {"0": 1}}]]),
        {"process": None, "type": "ok", "f": "poll"},
    ],
    ids=range(12),
)
def test_what_cannot_be_taken_is_refused_with_its_line(tmp_path: Path, line: Any) -> None:
    findings = check(tmp_path, *acked(0, 1), poll([0, 1]), line)
    assert [problem.detail.partition(": ")[0] for problem in findings.problems] == ["line 4"]
    assert (found(findings), exit_status(findings)) == ({}, 2)


def test_a_process_without_a_name_is_one_process(tmp_path: Path) -> None:
    history = [line for n in range(2) for line in acked(n, n)] + [poll([0, 0], [1, 1])]
    crash = operation("crash", kind="info", process="")
    assert found(check(tmp_path, *history, crash, poll([0, 0]))) == {"nonmonotonic-poll": 1}


def test_a_refused_line_leaves_nothing_behind(tmp_path: Path) -> None:
    half = operation("poll", [["poll", {"k": [[0, 1], [1, 2]], "l": [["x", 1]]}]])
    findings = check(tmp_path, *acked(0, 1), half, poll([0, 1]))
    assert (found(findings), findings.statistics["partitions"]) == ({}, 1)


def test_a_key_whose_check_fails_is_crashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("on purpose")

    monkeypatch.setattr(jsonl_keys, "_view", fails)
    findings = check(tmp_path, *acked(0, 1), *acked(1, 2), poll([0, 1]))
    (crashed,) = [one for one in findings.checks if one.status == "crashed"]
    assert (crashed.name, crashed.reason) == ("k", "RuntimeError: on purpose")
    assert exit_status(msgspec.structs.replace(findings, findings=())) == 2


# The command, and anything at all for its input


def run_command(path: Path, *, stdout: Any = subprocess.PIPE, **environ: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "analysis.jsonl", str(path)]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, check=False, env=os.environ | environ)


def test_a_reader_that_has_seen_enough(tmp_path: Path) -> None:
    check(tmp_path, *acked(0, 1), *acked(1, 2), poll([1, 2]))
    reading, writing = os.pipe()
    os.close(reading)
    ended = run_command(tmp_path / "history.jsonl", stdout=writing)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (1, b"")


def test_a_terminal_that_has_no_such_character(tmp_path: Path) -> None:
    check(tmp_path, *acked(0, 1, key="é"), *acked(1, 2, key="é"), poll([1, 2], key="é"))
    ended = run_command(tmp_path / "history.jsonl", PYTHONIOENCODING="ascii")
    assert (ended.returncode, ended.stderr) == (1, b"")
    assert ended.stdout.startswith(rb"lost-write: 1 in \xe9-0")
