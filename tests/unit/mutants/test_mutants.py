"""The registry of mutants, the file that tells the agent what to change, the rows and the page of what came of runs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import results
from checks import catalogue, claims
from evidence import ledger
from evidence.errors import HarnessError, UsageError
from evidence.ledger import RunJudged, RunStarted
from harness.plan import ClusterPlan
from harness.scenario import get_scenario
from tests.mutants import carry_out, image, page, registry, rows
from tests.mutants.__main__ import PAGE, RESULTS, Cell, cells, merge_into, named, suite
from tests.mutants.carry_out import hits_of, one_line
from tests.mutants.registry import MUTANTS, Mutant, Where
from tests.mutants.rows import MISSED, NOT_REACHED, NOTICED, OTHERWISE, Row
from tests.records import run_record


def row(**values: object) -> Row:
    plain: dict[str, object] = {
        "run": "r1",
        "mutant": "acknowledged-early",
        "scenario": "leader-crash",
        "case": "acks-all",
        "version": "4.3.1",
        "seed": 1,
        "commit": "0123456789ab",
        "hits": 3,
        "verdict": "unexpected",
    }
    return Row(**plain | values)  # type: ignore[arg-type]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_noticed_by_runs_that_there_are(mutant: Mutant) -> None:
    assert mutant.where
    for where in mutant.where:
        get_scenario(where.scenario).case(where.case)
    assert mutant.changes.keys() <= set(registry.RELEASES)
    assert mutant.broken.endswith(".")
    assert mutant.owed


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_its_right_reasons_are_anomalies_or_claims(mutant: Mutant) -> None:
    known = set(catalogue.CATALOGUE) | set(claims.CATALOGUE)
    assert [name for name in mutant.tells if name not in known] == []


def test_each_name_is_given_once_and_there_are_enough() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names)
    assert sum(bool(mutant.changes_on(registry.NEW)) for mutant in MUTANTS) >= 20


def test_a_misspelt_mutant_gets_near_ones() -> None:
    with pytest.raises(UsageError, match="did you mean acknowledged-early"):
        registry.get("acknowledged-erly")


def test_the_agents_file_numbers_the_changes() -> None:
    two = registry.get("truncates-to-high-watermark")
    text = image.properties(two, "4.3.1")
    assert text.startswith("name=truncates-to-high-watermark\n1.class=")
    assert "\n2.how=after\n" in text
    assert image.properties(two, "0.8.2.2") == "name=truncates-to-high-watermark\n"


def test_a_change_of_two_lines_is_refused() -> None:
    two_lines = registry.before("C", "m", "{\n}")
    mutant = registry.Mutant(name="m", broken="B.", owed="o", tells=(), where=(), changes={"4.3.1": (two_lines,)})
    with pytest.raises(HarnessError, match="change 1: code is not one line"):
        image.properties(mutant, "4.3.1")


def test_a_run_of_a_mutant_has_its_image_and_its_agent() -> None:
    altered = image.altered(registry.get("no-truncation"), "4.3.1-mutants-0")
    plan = ClusterPlan(java_options="-Down=1").mutated(altered)
    assert plan.image_tag == "4.3.1-mutants-0"
    assert plan.java_options == "-Down=1 -javaagent:/opt/mutants/agent.jar=/opt/mutants/no-truncation.properties"


def test_hits_are_the_last_count_of_each_process() -> None:
    assert hits_of("nothing\n") == 0
    assert hits_of("x MUTANT m hits 1\nMUTANT m hits 4\nother\nMUTANT m hits 2\n") == 6


def test_a_reason_is_one_line_without_the_separator() -> None:
    assert one_line("a\n b; c") == "a b, c"
    assert len(one_line("x" * 1000)) == 400


@pytest.mark.parametrize(
    ("of", "outcome"),
    [
        (row(anomalies=("lost-write",)), NOTICED),
        (row(claims=("acks-all-waits-for-isr",)), NOTICED),
        (row(reasons=("Kafka owes this and did not do it: nobody acknowledges (x)",)), NOTICED),
        (row(anomalies=("phantom",)), OTHERWISE),
        (row(verdict="unknown", anomalies=()), MISSED),
        (row(verdict="as-documented"), MISSED),
        (row(anomalies=("lost-write",), hits=0), NOT_REACHED),
    ],
)
def test_only_a_right_reason_is_a_notice(of: Row, outcome: str) -> None:
    assert of.outcome == outcome


def test_rows_are_read_as_they_were_written() -> None:
    every = [row(anomalies=("a", "b"), reasons=('one, "two"',)), row(run="r2", ended="interrupted")]
    assert rows.read(rows.as_csv(every), "x") == every


def test_a_line_that_is_no_row_is_told_with_its_number() -> None:
    text = rows.as_csv([row()]).replace(",3,unexpected", ",many,unexpected")
    with pytest.raises(UsageError, match=r"x, line 2: not a run of a mutant"):
        rows.read(text, "x")


def test_no_row_is_dropped_or_changed() -> None:
    before = [row(run="r2"), row(run="r1")]
    assert rows.merged(before, [row(run="r1", hits=99), row(run="r0")]) == [*before, row(run="r0")]


def test_the_page_is_made_of_the_committed_rows() -> None:
    every = rows.read(RESULTS.read_text(), str(RESULTS))
    assert page.page(every, suite()) == PAGE.read_text(), "`.venv/bin/python -m tests.mutants table` makes it anew"


def test_the_page_counts_what_was_reached_and_what_the_suite_noticed() -> None:
    every = [
        row(anomalies=("lost-write",)),
        row(run="r2", mutant="no-truncation", scenario="baseline", case="default", verdict="as-documented"),
        row(run="r3", mutant="isr-never-grows", scenario="baseline", case="default", hits=0, verdict="unknown"),
    ]
    text = page.page(every, [Where(scenario="leader-crash", case="acks-all")])
    of_release = sum(bool(mutant.changes_on("4.3.1")) for mutant in MUTANTS)
    assert f"| 4.3.1 | {of_release} | 3 | 2 | 1 of 2 (50 %) | 1 of {of_release} ({100 // of_release} %) |" in text
    assert "- **no-truncation** in baseline on 4.3.1 (as-documented):" in text
    assert "baseline (not reached)" in text
    assert "- Noticed on 4.3.1 and not by the suite: none." in text
    other = page.page(every, [Where(scenario="baseline")])
    assert "- Noticed on 4.3.1 and not by the suite: acknowledged-early (not run in the suite)." in other


def test_several_runs_of_a_cell_are_counted() -> None:
    text = page.page([row(anomalies=("lost-write",)), row(run="r2", anomalies=("lost-write",))], [])
    assert "leader-crash (acks-all) (2 of 2 runs)" in text


def test_cells_are_the_named_runs_or_those_of_the_registry() -> None:
    mutant = registry.get("acknowledged-early")
    assert [str(cell.where) for cell in cells([mutant], [], ["4.3.1"])] == [str(where) for where in mutant.where]
    assert cells([mutant], ["leader-crash/acks-1"], ["4.3.1"]) == [
        Cell("acknowledged-early", Where(scenario="leader-crash", case="acks-1"), "4.3.1")
    ]
    assert named(["suite"]) == list(suite())
    assert {where.case for where in named(["leader-crash"])} == {"acks-1", "acks-all"}
    assert cells([mutant], [], ["0.8.2.2"]) == []


def test_a_run_of_a_modified_tree_is_left_out(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    kept = merge_into(table, [row(), row(run="r2", commit="0123456789ab+")])
    assert [one.run for one in kept] == ["r1"]
    assert [one.run for one in merge_into(table, [row(run="r3")])] == ["r1", "r3"]


def test_a_run_is_told_to_the_ledger_of_its_folder_when_it_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    judged = SimpleNamespace(verdict=SimpleNamespace(verdict="unexpected", unexpected=(), claims=(), reasons=()))
    monkeypatch.setattr(carry_out, "check_run", lambda _: None)
    monkeypatch.setattr(carry_out, "write_findings", lambda *_: None)
    monkeypatch.setattr(carry_out, "judge_run", lambda *_, **__: judged)
    monkeypatch.setattr("judgement.ledger.tell", told.append)
    run_dir: Any = SimpleNamespace(logs=tmp_path, read_run=lambda: run_record(mutant="m", commit="a" * 40))
    assert carry_out.row_of(run_dir).verdict == "unexpected"
    assert told == [judged]


def test_each_judged_run_of_the_ledger_has_a_row() -> None:
    """Those of modified trees are in the ledger alone."""
    lines = [line for path in ledger.files_of(results.ROOT / results.LEDGER) for _, line in ledger.read(path)]
    judged = {line.run for line in lines if isinstance(line, RunJudged)}
    of_mutants = {line.run for line in lines if isinstance(line, RunStarted) and line.mutant and not line.modified}
    assert (of_mutants & judged) - {one.run for one in rows.read(RESULTS.read_text(), "")} == page.NO_ROW.keys()
