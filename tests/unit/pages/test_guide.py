"""The generated pages: as the code and the committed data have them, and counts as the runs have them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import results
from app.cli import main
from evidence.findings import ClaimResult
from evidence.rundir import RunDir
from harness.scenario import get_scenario
from judgement.report import facts, timings
from pages import build, guide, reproduced
from pages.scenarios import of, steps_of
from tests.unit.judgement.report import synthetic


def stated(name: str, **changes: Any) -> dict[str, Any]:
    """A scenario as the pages are told of it."""
    case = {"name": "default", "changes": {"acks": "all"}, "documented": []}
    about = {"name": name, "section": "a", "file": "scenarios/a/b.py", "claim": "C.", "source": "S", "operator": "O."}
    return about | {"applies": "every", "suite": "", "told": "T.", "steps": "", "cases": [case]} | changes


def guide_of(runs: Sequence[RunDir]) -> dict[str, str]:
    """The pages for these runs."""
    gathered = reproduced.gather(runs)
    every = reproduced.data(gathered.runs)
    scenarios = [stated(name) for name in every]
    versions = ["0.10.2.2", "2.8.2", "4.3.1"]
    return guide.pages({"versions": versions, "sections": {"a": "A: b."}, "scenarios": scenarios}, every)


def counted(runs: Sequence[RunDir], root: Path) -> int:
    """`kafka-chaos guide`: counts, pictures and pages of these runs in one folder; the exit status."""
    return main(["guide", *(str(run.path) for run in runs), "--docs", str(root), "--results", str(root)])


# What a page has


def test_a_page_has_the_claim_the_source_the_steps_the_cases_and_what_an_operator_takes_from_it() -> None:
    made = get_scenario("leader-crash")
    page = guide.page(of(made), {})
    assert f"> {made.claim}" in page
    assert made.source in page
    assert made.operator in page
    assert "def leader_crash(run: Run) -> None:\n    t = run.partition()" in page
    assert "@scenario" not in page
    assert "### Case acks-1" in page
    assert "must be seen: `lost-write`" in page
    assert "No runs of it are on record here yet." in page


def test_the_index_says_where_acknowledged_records_are_lost() -> None:
    assert guide.losing(of(get_scenario("leader-crash"))) == "acks-1: every version"
    assert guide.losing(of(get_scenario("double-failover"))).startswith("followers truncate to the high watermark")
    assert guide.losing(of(get_scenario("unclean-election"))).startswith("default: before 0.11 · enabled: ")
    assert guide.losing(of(get_scenario("baseline"))) == ""


def test_helper_functions_of_the_steps_are_shown_too() -> None:
    assert "def frozen(run: Run)" in of(get_scenario("zombie-controller"))["steps"]
    assert steps_of("import a\n\n@b\ndef c() -> None:\n    d()\n\nE = 1\n") == "def c() -> None:\n    d()"


def test_a_section_is_read_in_the_order_of_its_introduction_and_sections_in_theirs() -> None:
    sections = {"controller": "Controllers: who.\n\nFirst `c`, then `b`.", "truncation": "Truncation."}
    names = {"a": "controller", "b": "controller", "c": "controller", "d": "truncation", "e": ""}
    told = {"sections": sections, "scenarios": [stated(n, section=s) for n, s in names.items()], "versions": []}
    assert [one["name"] for one in guide.in_order(told)] == ["e", "d", "c", "b", "a"]
    index = guide.pages(told, {})["scenarios/README.md"]
    assert "## Controllers\n\nWho.\n\nFirst [c](c.md), then [b](b.md)." in index


# What runs showed


@pytest.fixture
def runs(tmp_path: Path) -> list[RunDir]:
    makers = [synthetic.double_failover_lost, synthetic.double_failover_kept, synthetic.isolation]
    made = [make(tmp_path / str(number)) for number, make in enumerate(makers)]
    made.append(synthetic.double_failover_kept(tmp_path / "again", seed=2))
    for run_dir in made:
        facts.judge_run(run_dir)
    return made


def test_the_table_has_a_row_for_each_case_and_a_column_for_each_version(runs: list[RunDir]) -> None:
    page = guide_of(runs)["reproduced.md"]
    assert "| scenario | case | 0.10.2.2 | 2.8.2 | 4.3.1 |" in page
    assert "| [double-failover](scenarios/double-failover.md) | – | **1/1** |  | 2/2 |" in page
    assert "3 of 4 runs ended as documented" in page
    assert "isolated-broker (–) on 2.8.2: 20251009t085320-isolated-broker" in page
    assert guide_of(list(reversed(runs))) == guide_of(runs)


def test_the_run_that_is_shown_lost_what_must_be_lost_or_is_the_newest_and_the_first_of_its_seeds(
    runs: list[RunDir],
) -> None:
    gathered = [one for one in reproduced.gather(runs).runs if one.run.scenario == "double-failover"]
    telling = reproduced.chosen(gathered, ["default"])
    assert telling is not None
    assert telling.version == "0.10.2.2"
    kept = [one for one in gathered if not one.verdict.required]
    for order in (kept, kept[::-1]):
        newest = reproduced.chosen(order, ["default"])
        assert newest is not None
        assert (newest.version, newest.run.seed) == ("4.3.1", 1)
    assert reproduced.chosen(gathered, ["another"]) is None
    (affected,) = {one.version for one in gathered if one.verdict.required}
    (other,) = {one.version for one in gathered} - {affected}
    of_other = reproduced.chosen(gathered, ["default"], [other])
    assert of_other is not None
    assert of_other.version == other
    assert reproduced.chosen(gathered, ["default"], ["2.2.2"]) is None


def test_what_cannot_be_counted_is_left_out_and_named(runs: list[RunDir], tmp_path: Path) -> None:
    broken, unjudged, own, ancient = (synthetic.double_failover_kept(tmp_path / name, seed=9) for name in "abcd")
    for run_dir in (broken, own, ancient):
        facts.judge_run(run_dir)
    broken.run_json.write_text("{")
    own.run_json.write_text(json.dumps(json.loads(own.run_json.read_text()) | {"overridden": {"a": "b"}}))
    ancient.verdict.write_text("[]")
    gathered = reproduced.gather([*runs, broken, unjudged, own, ancient])
    assert len(gathered.runs) == len(runs)
    assert [name for line in gathered.left_out for name in "abcd" if f"/{name}/" in line] == list("abcd")
    assert "double-failover" in reproduced.data(gathered.runs)


def test_runs_are_found_below_folders_of_folders(runs: list[RunDir], tmp_path: Path) -> None:
    assert {run.path for run in reproduced.find([tmp_path])} == {run.path for run in runs}
    assert reproduced.find([tmp_path / "nowhere"]) == []


def test_the_command_counts_draws_and_writes_what_has_changed(runs: list[RunDir], tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    assert counted(runs, docs) == 0
    page = (docs / "scenarios" / "double-failover.md").read_text()
    assert "/pictures/double-failover.svg)" in page
    assert results.picture("double-failover.svg", docs).read_text().startswith("<svg")
    assert "As it ran on 0.10.2.2, seed 1: 1 of 5 acknowledged records LOST." in page
    made = build.pages(docs)
    assert build.write(docs, made) == []
    (docs / "scenarios" / "gone.md").write_text("of a scenario that is gone")
    assert build.write(docs, made) == ["scenarios/gone.md"]


def test_cells_that_no_run_was_given_for_stay_as_they_were_counted(runs: list[RunDir], tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    assert counted(runs, docs) == 0
    before = results.by_scenario(docs)["double-failover"]
    kept = [run for run in runs if run.read_run().version == "4.3.1"][:1]
    assert counted(kept, docs) == 0
    after = results.by_scenario(docs)["double-failover"]
    assert after["cases"]["default"]["0.10.2.2"] == before["cases"]["default"]["0.10.2.2"]
    assert (before["cases"]["default"]["4.3.1"]["runs"], after["cases"]["default"]["4.3.1"]["runs"]) == (2, 1)
    assert after["shown"] == before["shown"]
    assert results.picture("double-failover.svg", docs).exists()


def test_a_cell_that_is_counted_anew_is_shown_anew_and_a_case_that_is_gone_goes() -> None:
    before = {
        "cases": {"a": {"2.8.2": {"runs": 9}, "4.3.1": {"runs": 1}}, "gone": {"4.3.1": {"runs": 3}}},
        "machines": ["one"],
        "shown": {"case": "a", "version": "4.3.1"},
    }
    anew = {"cases": {"a": {"4.3.1": {"runs": 5}, "0.10.2.2": {"runs": 5}}}, "machines": ["another"]}
    cells = {"a": {"0.10.2.2": {"runs": 5}, "2.8.2": {"runs": 9}, "4.3.1": {"runs": 5}}}
    merged = guide.merged(before, anew, ["a"])
    assert merged == {"cases": cells, "machines": ["another", "one"]}
    assert list(merged["cases"]["a"]) == ["0.10.2.2", "2.8.2", "4.3.1"]
    other = {"cases": {"a": {"2.8.2": {"runs": 2}}}, "machines": []}
    assert guide.merged(before, other, ["a"])["shown"] == before["shown"]
    assert guide.merged({}, other, ["a"]) == other


def test_a_run_of_an_exhibit_on_a_release_without_its_bug_is_shown_no_more() -> None:
    before = {"cases": {}, "shown": {"case": "a", "version": "2.2.2"}}
    anew = {"cases": {"a": {"1.1.1": {"runs": 1}}}, "machines": []}
    assert guide.merged(before, anew, ["a"], ("2.2.2",))["shown"] == before["shown"]
    assert "shown" not in guide.merged(before, anew, ["a"], ("1.1.1",))


def test_a_run_that_cannot_be_drawn_is_counted_and_named(
    runs: list[RunDir], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_run_dir: RunDir) -> None:
        raise KeyError("layout")

    monkeypatch.setattr(reproduced, "load", fail)
    docs = tmp_path / "docs"
    assert counted(runs[:1], docs) == 0
    assert f"no picture of {runs[0].path}: KeyError: 'layout'" in capsys.readouterr().err
    assert "1/1" in (docs / "reproduced.md").read_text()
    assert not results.picture("double-failover.svg", docs).exists()


# How long things took


def claim(name: str, measured_ms: float | None, bound_ms: float = 5000) -> ClaimResult:
    bound = None if measured_ms is None else bound_ms
    return ClaimResult(name=name, outcome="held", measured_ms=measured_ms, bound_ms=bound)


def test_the_spread_of_a_duration_has_every_measurement() -> None:
    spread = timings.of_claims([claim("a", 3000), claim("a", 1000), claim("a", 9000, 6000), claim("b", None)])
    assert spread == {"a": {"ms": [3, 1000.0, 3000.0, 9000.0], "bound_ms": [5000.0, 6000.0]}}
    row = timings.row("a", "–", "4.3.1", spread["a"])
    assert row == ("a", "–", "4.3.1", "3", "1.00 s", "3.00 s", "9.00 s", "5.0 s to 6.0 s")
    assert timings.of_claims([claim("b", None)]) == {}
