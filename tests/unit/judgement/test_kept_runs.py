"""Runs that were made on real brokers are judged as they were judged when they were made.

`tests/data/runs` holds their directories, of schema 2, without what a person reads: logs, configuration, reports. Each
has the findings and the verdict that it was given.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Set
from html import unescape
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from analysis.check import check_run
from evidence.findings import Findings, read_findings, write_findings
from evidence.rundir import RunDir
from judgement.report import offsets_svg, timeline_svg
from judgement.report.facts import judge_run, load
from judgement.verdict import read_verdict

RUNS = sorted((Path(__file__).parents[2] / "data" / "runs").glob("*.tar.xz"))


def outline(found: Findings, without: Set[str] = frozenset()) -> list[tuple[Any, ...]]:
    """What was found where and how often, of which records at which offsets, by whom and when."""
    return [
        (
            one.anomaly,
            one.where,
            one.count,
            [
                (set(row.records), row.offset, row.process, row.node, row.moment, row.completed_ns)
                for row in one.evidence
            ],
        )
        for one in found.findings
        if one.anomaly not in without
    ]


@pytest.fixture
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> RunDir:
    with tarfile.open(request.param) as tar:
        tar.extractall(tmp_path, filter="data")
    return RunDir(tmp_path)


@pytest.mark.parametrize("kept", RUNS, indirect=True, ids=lambda path: path.name.removesuffix(".tar.xz"))
@pytest.mark.slow
def test_a_kept_run_is_judged_as_before(kept: RunDir) -> None:
    """Anomalies that nobody looked for when it was made may be seen as well, if they change no verdict."""
    (before, unreadable), judged = read_findings(kept), read_verdict(kept)
    assert before is not None, unreadable
    anew = check_run(kept)
    write_findings(kept, anew)
    newer = {check.name for check in anew.checks} - {check.name for check in before.checks}
    assert outline(anew, newer) == outline(before)
    assert anew.problems == before.problems
    assert {check.name for check in before.checks} <= {check.name for check in anew.checks if check.status == "ok"}
    again = judge_run(kept).verdict
    told = ("verdict", "documented", "unexpected", "missing", "reasons", "exit_status")
    assert {name: getattr(again, name) for name in told} == {name: getattr(judged, name) for name in told}
    for anomalies in ("seen", "permitted"):
        found = {one for one in getattr(again, anomalies) if one.partition(":")[0] not in newer}
        assert found == set(getattr(judged, anomalies)), anomalies
    claims = [[(one.name, one.outcome) for one in verdict.claims] for verdict in (again, judged)]
    assert claims[0] == claims[1]


def words_that_lie_on_others(svg: str) -> list[tuple[str, str]]:
    """Small words of a picture that overlap in one line; legends apart, whose places are a group's."""
    plain = re.sub(r"<title>.*?</title>|<g transform=.*?</g>", "", svg, flags=re.DOTALL)
    found = []
    for x, y, about, words in re.findall(r'<text x="([\d.]+)" y="([\d.]+)"([^>]*)>([^<]*)</text>', plain):
        if "tiny" in about:
            width = 5.2 * len(unescape(words))
            left = float(x) - width * (1.0 if '"end"' in about else 0.5 if '"middle"' in about else 0.0)
            found.append((float(y), left, left + width, words))
    return [
        (one[3], other[3])
        for one, other in combinations(sorted(found), 2)
        if other[0] - one[0] < 4 and min(one[2], other[2]) - max(one[1], other[1]) > 3
    ]


@pytest.mark.parametrize("kept", RUNS, indirect=True, ids=lambda path: path.name.removesuffix(".tar.xz"))
def test_its_pictures_have_no_words_on_others_and_no_ramps(kept: RunDir) -> None:
    facts = load(kept)
    assert words_that_lie_on_others(timeline_svg.render(facts)) == []
    offsets = offsets_svg.render(facts)
    lines = re.findall(r'<path d="(M[^"]*)" stroke=', offsets)
    assert lines if offsets else not lines
    assert [line for line in lines if "L" in line] == []


def test_there_are_kept_runs() -> None:
    assert len(RUNS) == 9
