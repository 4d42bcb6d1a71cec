"""What became of the records is told from findings alone, and not better than it is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evidence.findings import Findings
from judgement import verdict
from judgement.outcome_of_findings import of_findings
from judgement.report import facts, headline
from judgement.report.facts import judge_run
from tests.findings import findings as made_of
from tests.records import run_record
from tests.unit.judgement.report import synthetic

ROW = {"producer": 1, "sequence": 3, "offset": 3}


def finding(anomaly: str, count: int = 1, *evidence: dict[str, Any]) -> dict[str, Any]:
    return {"anomaly": anomaly, "topic": "t", "partition": 0, "count": count, "evidence": list(evidence)}


def findings(*found: dict[str, Any], acknowledged: int | None = 5, checked: str = "ok") -> Findings:
    return made_of(
        {
            "checks": [{"name": "lost-write", "status": checked}],
            "findings": list(found),
            "statistics": {} if acknowledged is None else {"sends_ok": acknowledged},
        }
    )


REUSED = finding(
    "inconsistent-offsets",
    1,
    {"offset": 3, "values": [{"producer": 1, "sequence": 3}, {"producer": 1, "sequence": 4}], "readers": []},
)


@pytest.mark.parametrize(
    ("found", "text", "tone"),
    [
        (findings(), "all 5 acknowledged records kept", "good"),
        (findings(acknowledged=1), "1 acknowledged record kept", "good"),
        (findings(acknowledged=20000), "all 20 000 acknowledged records kept", "good"),
        (findings(acknowledged=None), "every acknowledged record kept", "good"),
        (findings(acknowledged=0), "no record was acknowledged", "uncertain"),
        (findings(finding("lost-write", 1, ROW)), "1 of 5 acknowledged records LOST", "bad"),
        (findings(finding("lost-write", 1200), acknowledged=None), "1 200 acknowledged LOST", "bad"),
        (findings(finding("lost-write", 1, ROW), REUSED), "1 of 5 acknowledged records LOST", "bad"),
        (findings(REUSED), "all 5 acknowledged records kept; inconsistent-offsets", "bad"),
        (findings(finding("unseen", 2)), "2 of 5 acknowledged records not read back", "uncertain"),
        (
            findings(finding("lost-write", 1), finding("unseen", 2)),
            "1 of 5 acknowledged records LOST, 2 not read back",
            "bad",
        ),
        (
            findings(finding("replica-divergence", 2, {"offset": 2, "moment": "a"}, {"offset": 2, "moment": "b"})),
            "all 5 acknowledged records kept; replicas disagree at 1 offset",
            "bad",
        ),
        (findings(finding("phantom", 2)), "all 5 acknowledged records kept; phantom × 2", "bad"),
        (findings(checked="crashed"), "not known: 5 acknowledged records, none seen lost", "uncertain"),
        (None, "not known what became of the records: there are no findings", "uncertain"),
    ],
)
def test_the_outcome_of_a_sound_run(found: Findings | None, text: str, tone: str) -> None:
    made = of_findings(run_record({}), found, sound=True)
    assert (made.text, made.tone) == (text, tone)
    written = verdict.Verdict(verdict="unknown", outcome=made).as_json()
    assert msgspec.convert(json.loads(json.dumps(written)), verdict.Verdict).outcome == made


def test_of_a_run_in_doubt_nothing_good_is_said_and_nothing_bad_is_hidden() -> None:
    assert of_findings(run_record({}), findings(), sound=False).tone == "uncertain"
    lost = of_findings(run_record({}), findings(finding("lost-write", 1, ROW)), sound=False)
    assert (lost.tone, lost.lost, lost.acknowledged) == ("bad", 1, 5)


def test_what_kafka_permits_is_said_where_it_concerns_records_and_only_there() -> None:
    retrying = {"processes": [{"name": "p", "kind": "producer", "settings": {"retries": "5"}}]}
    duplicate = of_findings(run_record(retrying), findings(finding("duplicate", 3)), None, sound=True)
    assert (duplicate.text, duplicate.tone) == ("all 5 acknowledged records kept; duplicate × 3", "uncertain")
    leaderless = finding("empty-isr", 1, {"leader": -1})
    assert of_findings(run_record({}), findings(leaderless), sound=True).tone == "good"
    led = finding("empty-isr", 1, {"leader": 1})
    assert of_findings(run_record({}), findings(led), sound=True).text.endswith("; empty-isr")


def test_a_verdict_without_an_outcome_is_read_and_shown(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_lost(tmp_path)
    given = judge_run(run_dir).verdict
    assert given.outcome is not None
    value = json.loads(run_dir.verdict.read_text())
    assert value["outcome"]["lost"] == 1
    assert value["outcome"]["acknowledged"] == 5
    assert verdict.read_verdict(run_dir) == given
    del value["outcome"]
    run_dir.verdict.write_text(json.dumps(value))
    assert verdict.read_verdict(run_dir).outcome is None
    assert headline.outcome(facts.load(run_dir)) == given.outcome


@pytest.mark.parametrize("broken", ["lost", {}, {"text": "x", "tone": "green"}, []])
def test_what_is_no_outcome_is_no_verdict(broken: object) -> None:
    with pytest.raises(msgspec.ValidationError, match="outcome"):
        msgspec.convert({"verdict": "unknown", "outcome": broken}, verdict.Verdict)
