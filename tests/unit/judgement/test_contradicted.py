"""Findings accuse unless they depend on a file that other evidence contradicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checks.catalogue import HISTORIES, METADATA, REPLICAS
from evidence import manifest
from evidence.events import End
from evidence.findings import Finding
from judgement import verdict
from judgement.contradicted import depends_on
from judgement.report.facts import judge_run
from tests.records import changed, run_record
from tests.unit.judgement.report import synthetic
from tests.unit.judgement.test_verdict import PROVED, RUN, found, judge, run
from tests.unit.timelines import at, sound

HISTORY, COPIES, BOTH, STATED = (HISTORIES,), (REPLICAS, METADATA), (HISTORIES, REPLICAS, METADATA), (METADATA,)
OF_T_0 = "history/sealed/topic=t/partition=0/p.parquet"
OF_T_1 = "history/sealed/topic=t/partition=1/p.parquet"
COPY, COPY_OF_T_1 = "replicas/00-a/broker-1/t-0/0.log", "replicas/00-a/broker-1/t-1/0.log"
PROCESSES = [one | {"expected_loss": False} for one in RUN["processes"]]
"""Of a run that expects no loss."""
CHECKPOINT = "replicas/00-a/broker-1/replication-offset-checkpoint"


@pytest.mark.parametrize(
    ("path", "reads", "rests"),
    [
        (OF_T_0, HISTORY, True),
        (OF_T_1, HISTORY, False),
        (OF_T_0, COPIES, False),
        ("history/sealed/operations/p.parquet", HISTORY, True),
        ("history/p.arrows", HISTORY, True),
        ("history/p.arrows", BOTH, True),
        ("history/p.arrows", STATED, False),
        (COPY, COPIES, True),
        (COPY_OF_T_1, COPIES, False),
        ("replicas/00-a/broker-1/t-0/*", BOTH, True),
        (CHECKPOINT, COPIES, True),
        (COPY, HISTORY, False),
        ("timeline.jsonl", COPIES, True),
        ("timeline.jsonl", STATED, True),
        ("timeline.jsonl", HISTORY, False),
        ("run.json", HISTORY, True),
        ("logs/broker-1.log", BOTH, False),
        ("compose.yml", BOTH, False),
    ],
)
def test_what_a_finding_rests_on(path: str, reads: tuple[str, ...], *, rests: bool) -> None:
    finding = Finding(anomaly="phantom", topic="t", partition=0, reads=reads)
    assert depends_on(finding, [path]) == (path if rests else None)


def test_a_finding_of_no_single_partition_rests_on_all_of_them() -> None:
    finding = Finding(anomaly="torn-transaction", reads=(HISTORIES,))
    assert depends_on(finding, [COPY, OF_T_1]) == OF_T_1


@pytest.mark.parametrize(("documented", "expected"), [(["lost-write"], "unknown"), ([], "unexpected")])
def test_whether_a_loss_is_expected_the_timeline_says(documented: list[str], expected: str) -> None:
    """That there is one, the histories alone say; and what follows from a documented one is excused all the same."""
    facts = run(processes=PROCESSES, documented={"required": documented, "allowed": []})
    findings = reading("inconsistent-offsets", HISTORIES)
    lost = {"producer": 1, "sequence": 3}
    findings["findings"][0]["evidence"] = [lost]
    findings["findings"][1]["evidence"] = [{"offset": 3, "values": [lost, lost | {"sequence": 4}]}]
    judged = judge(facts, PROVED, findings, ["timeline.jsonl: changed"], contradicted=["timeline.jsonl"])
    assert judged.verdict == expected
    assert judged.outcome is not None
    assert judged.outcome.lost == 1


def test_one_that_does_not_say_what_it_rests_on_may_rest_on_anything() -> None:
    finding = Finding(anomaly="phantom", topic="t", partition=0)
    assert [depends_on(finding, [path]) for path in (OF_T_0, COPY, COPY_OF_T_1)] == [OF_T_0, COPY, None]


def reading(name: str, *reads: str) -> dict[str, Any]:
    findings = found("lost-write", name)
    for finding, of_it in zip(findings["findings"], ((HISTORIES,), reads), strict=True):
        finding["reads"] = list(of_it)
    return findings


@pytest.mark.parametrize(
    ("contradicted", "expected"),
    [([], "unexpected"), ([COPY], "unknown"), ([COPY_OF_T_1], "unexpected"), ([OF_T_0], "unexpected")],
)
def test_what_was_found_in_a_contradicted_copy_is_unknown(contradicted: list[str], expected: str) -> None:
    damaged = [f"{path}: not what it was" for path in contradicted]
    judged = judge(run(), PROVED, reading("replica-divergence-x", REPLICAS), damaged, contradicted=contradicted)
    assert judged.verdict == expected
    assert judged.seen == ("lost-write", "replica-divergence-x")
    assert (judged.unexpected == ("replica-divergence-x",)) == (expected == "unexpected")
    if expected == "unknown":
        assert any(f"rests on {COPY}" in reason for reason in judged.reasons)


def test_of_two_findings_the_one_whose_files_are_whole_stands() -> None:
    findings = reading("phantom", HISTORIES)
    findings["findings"].append(findings["findings"][1] | {"anomaly": "index-mismatch", "reads": [REPLICAS]})
    judged = judge(run(), PROVED, findings, contradicted=[COPY])
    assert (judged.verdict, judged.unexpected) == ("unexpected", ("phantom",))


def test_a_loss_that_nothing_names_is_unknown_in_a_contradicted_history() -> None:
    """Every record that a changed history does not show as read would be a loss that the scenario does not name."""
    facts = run(processes=PROCESSES)
    assert judge(facts, PROVED, found("lost-write")).unexpected == ("lost-write",)
    judged = judge(facts, PROVED, found("lost-write"), contradicted=["history/p.arrows"])
    assert (judged.verdict, judged.unexpected) == ("unknown", ())
    assert judged.outcome is not None
    assert (judged.outcome.lost, judged.outcome.tone) == (0, "uncertain")
    assert "lost-write in files that other evidence contradicts" in judged.outcome.text


def test_a_problem_that_names_its_file_contradicts_it() -> None:
    findings = reading("replica-divergence-x", REPLICAS)
    problem = {"what": "unreadable replica", "process": "broker-1", "detail": "shorter"}
    assert judge(run(), PROVED, findings | {"problems": [problem]}).verdict == "unexpected"
    problem["file"] = "replicas/00-a/broker-1/t-0/*"
    assert judge(run(), PROVED, findings | {"problems": [problem]}).verdict == "unknown"


def test_a_timeline_that_is_anothers_accuses_nobody() -> None:
    _, (*before, end) = sound(run_record(run()), PROVED)
    for name, expected in (("r1", "unexpected"), ("r2", "unknown")):
        events = [*before, at(end.at_ns, End(source="runner", run=name, lines=len(before)))]
        assert judge(run(), events, reading("leader-outside-isr", METADATA)).verdict == expected


def test_a_run_directory_with_a_changed_history(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_lost(tmp_path)
    record = run_dir.read_run()
    run_dir.write_run(changed(record, documented={"required": [], "allowed": []}))
    manifest.write(run_dir, record.run)
    assert judge_run(run_dir).verdict.verdict == verdict.UNEXPECTED
    run_dir.stream("x").parent.mkdir(parents=True, exist_ok=True)
    run_dir.stream("x").write_text("not there when it was sealed")
    judged = judge_run(run_dir).verdict
    assert judged.verdict == verdict.UNKNOWN
    assert any("history/x.arrows: not there when" in reason for reason in judged.reasons)
