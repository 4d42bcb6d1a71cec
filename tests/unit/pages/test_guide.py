"""The generated pages: as the code and the committed data have them, and counts as the ledger has them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import results
from analysis import ledger as derivation
from app.cli import main
from evidence.findings import ClaimResult
from evidence.ledger import AnyLine, ClaimLine, Load
from evidence.rundir import RunDir
from harness.scenario import all_scenarios, get_scenario
from judgement.report import facts, timings
from pages import answers, build, example_runs, guide, museum
from pages.counted import shows_harm
from pages.links import linked
from pages.scenarios import described, of, steps_of
from tests.ledgers import ended, judged, started
from tests.unit.judgement.report import synthetic


def stated(name: str, **changes: Any) -> dict[str, Any]:
    """A scenario as the pages are told of it."""
    case = {"name": "default", "changes": {"acks": "all"}, "documented": []}
    about = {"name": name, "section": "a", "file": "scenarios/a/b.py", "claim": "C.", "source": "S", "operator": "O."}
    return (
        about
        | {"exhibit": None, "applies": "every", "suite": "", "told": "T.", "steps": "", "programs": "", "cases": [case]}
        | changes
    )


def guide_of(*lines: AnyLine, **changes: Any) -> dict[str, str]:
    """The pages for these lines of the ledger."""
    rows = [json.loads(text) for text in derivation.text_of(derivation.rows(lines)).splitlines()]
    every: dict[str, Any] = {}
    for row in rows:
        cases = every.setdefault(row["scenario"], {"cases": {}})["cases"]
        cases.setdefault(row["case"], {})[row["version"]] = row
    scenarios = [stated(name, **changes) for name in every]
    versions = ["0.10.2.2", "2.8.2", "4.3.1"]
    return guide.pages({"versions": versions, "sections": {"a": "A: b."}, "scenarios": scenarios}, every, {"0" * 40})


def text_of(name: str) -> str:
    """The page of a scenario, as this tree has it."""
    return guide.page(of(get_scenario(name)), results.of_scenario(name))


def ran(run: str, verdict: str = "as-documented", about: dict[str, Any] | None = None, **changes: Any) -> list[AnyLine]:
    return [started(run, **(about or {})), ended(run), judged(run, verdict, **changes)]


def told_of(runs: Sequence[RunDir], root: Path) -> int:
    """`kafka-chaos guide`: pictures and pages of these runs in one folder; the exit status."""
    return main(["guide", *(str(run.path) for run in runs), "--docs", str(root), "--results", str(root)])


# What a page has


def test_a_page_has_the_claim_the_source_the_steps_the_cases_and_what_an_operator_takes_from_it() -> None:
    made = get_scenario("leader-crash")
    page = guide.page(of(made), results.NOT_RUN)
    assert f"> {made.claim}" in page
    assert made.source in page
    assert made.operator in page
    assert "def leader_crash(run: Run) -> None:\n    t = run.partition()" in page
    assert "@scenario" not in page
    assert "### Case acks-1" in page
    assert "must be seen: `lost-write`" in page
    assert "No runs of it are on record here yet." in page


def test_the_index_says_where_acknowledged_records_are_lost() -> None:
    every = answers.run_on([of(one) for one in all_scenarios().values()])
    assert answers.documented(of(get_scenario("leader-crash")), every) == "every version (acks-1)"
    told = answers.documented(of(get_scenario("double-failover")), every)
    assert told == "0.8.2.2 to 0.10.2.2, 2.2.2-pinned, 2.8.2-pinned, 3.9.2-pinned"
    told = answers.documented(of(get_scenario("unclean-election")), every)
    assert told == "0.8.2.2 to 0.10.2.2 (default); every version (enabled)"
    assert answers.documented(of(get_scenario("baseline")), every) == ""
    assert answers.documented(of(get_scenario("museum-marker-compacted")), every) == ""


def test_the_index_tells_a_loss_that_runs_showed_from_one_that_is_only_stated() -> None:
    made = of(get_scenario("leader-crash"))
    every = answers.run_on([made])
    data = {"cases": {"acks-1": {"2.8.2": {"lost": 1}, "4.3.1": {"lost": 0}}, "acks-all": {"4.3.1": {"lost": 1}}}}
    assert answers.lost_in(made, data, every) == (1, len(every))
    assert answers.lost_in(made, results.NOT_RUN, every) == (0, len(every))


def test_a_page_says_on_which_versions_records_were_lost_the_worst_first_and_the_newest_first() -> None:
    about = {"version": "0.10.2.2"}
    lines = [*ran("r1", about=about, anomalies={"lost-write": 1}, lost=1), *ran("r2"), *ran("r3", "unknown")]
    lines += [*ran("r4", about={"version": "2.8.2"}), *ran("r5", "unexpected", about={"version": "4.2.2"})]
    page = guide_of(*lines)["scenarios/s.md"]
    told = page.partition("## On which versions")[2].partition("“")[0]
    assert [line for line in told.splitlines() if line] == [
        "- ✕ acknowledged records were lost: 0.10.2.2 (1 of 1)",
        "- ! not as documented: 4.2.2 (1 of 1)",
        "- ✓ every acknowledged record was kept: 4.3.1 (1 of 1), 2.8.2 (1 of 1)",
    ]


def test_records_that_a_sequence_deletes_are_not_called_lost() -> None:
    outcome: dict[str, Any] = {"on": "every version", "versions": ["4.3.1"], "required": [], "allowed": ["lost-write"]}
    outcome |= {"claims": [], "source": "KIP-1", "basis": "KIP", "deletes": True}
    case = {"name": "default", "changes": {"acks": "all"}, "documented": [outcome]}
    lines = ran("r1", anomalies={"lost-write": 3}, lost=3)
    page = guide_of(*lines, cases=[case])["scenarios/s.md"]
    assert "- – records are gone that were deleted by request: 4.3.1 (1 of 1)" in page
    assert "deleted by request, in 1 run" in page
    assert "acknowledged records were lost" not in page
    otherwise = ran("r2", "unexpected", anomalies={"lost-write": 4}, lost=4)
    page = guide_of(*lines, *otherwise, cases=[case])["scenarios/s.md"]
    assert "- ✕ acknowledged records were lost: 4.3.1 (2 of 2)" in page


def test_a_page_has_a_title_in_words_its_name_its_neighbours_and_its_commands() -> None:
    pages = guide.pages(described(), {})
    page = pages["scenarios/bridge.md"]
    assert page.startswith("# Two brokers cannot reach each other, a third reaches both\n")
    assert "\n`bridge`. Source: " in page
    assert "Before: [Packets are lost in one direction only](one-way.md). Next: [A follower's link" in page
    assert "\n    kafka-chaos run bridge" in page
    assert "- [Two brokers cannot reach each other, a third reaches both](bridge.md) (`bridge`). " in pages[guide.INDEX]


def test_every_jira_and_kip_of_a_generated_page_is_a_link() -> None:
    for name, text in guide.pages(described(), results.by_scenario()).items():
        assert linked(text) == text, name
    assert "[KAFKA-14616](https://issues.apache.org/jira/browse/KAFKA-14616)" in text_of("museum-made-again")


def test_helper_functions_of_the_steps_are_shown_too() -> None:
    assert "def frozen(run: Run)" in of(get_scenario("zombie-controller"))["steps"]
    assert steps_of("import a\n\n@b\ndef c() -> None:\n    d()\n\nE = 1\n") == "def c() -> None:\n    d()"


def test_the_application_that_a_scenario_runs_is_quoted() -> None:
    assert of(get_scenario("at-least-once"))["programs"].startswith("def process_then_commit(app")
    assert of(get_scenario("zombie-controller"))["programs"] == ""
    assert of(get_scenario("share-group"))["programs"].startswith("def process_then_accept(app")
    assert "def _counted(" in of(get_scenario("streams-count"))["programs"]


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


def test_the_table_has_a_row_for_each_case_and_a_column_for_each_version() -> None:
    old = {"version": "0.10.2.2"}
    lines = [*ran("r1", about=old, anomalies={"lost-write": 1}, lost=1), *ran("r2"), *ran("r3"), *ran("r4", "unknown")]
    page = guide_of(*lines)["reproduced.md"]
    assert "| scenario | case | 4.3.1 | 0.10.2.2 |" in page
    assert "| [s](scenarios/s.md) | – | ✓ 2/2 | ✕ 1/1 |" in page
    assert "| scenarios with faults | 4 | 3 | 0 | 1 | 0 | 0 | 0 |" in page
    assert guide_of(*reversed(lines)) == guide_of(*lines)


def test_runs_that_contradict_show_nothing_or_do_not_count_are_told_apart() -> None:
    failures = [line for number in range(7) for line in ran(f"bad{number}", "unexpected", text="1 of 5 LOST")]
    lines = [
        *failures,
        *ran("dark", "unknown", reasons=("no proof",)),
        started("cut"),
        *ran("own", about={"modified": True}),
    ]
    pages = guide_of(*lines)
    page, own = pages["reproduced.md"], pages["scenarios/s.md"]
    contradicting, nothing = page.index("## Runs that contradict"), page.index("## Runs that show nothing")
    aside = page.index("## Runs that do not count")
    assert (
        page[contradicting:nothing].count("- s (–) on 4.3.1: bad") + page[contradicting:nothing].count("- s (default)")
        == 7
    )
    assert "| [s](scenarios/s.md) | 1 | Not explained yet |" in page[nothing:aside]
    assert "dark: unknown: no proof" in own
    assert "- **Not explained yet.**" in page[contradicting:nothing]
    assert "| started, and no end is on record | 1 |" in page[aside:]
    assert "| run by a modified tree, or by one of several trees of which one was modified | 1 |" in page[aside:]
    assert "cut: started, and no end is on record" in own
    assert "own: run by a modified tree of 00000000" in own
    assert "10 runs on real brokers were started and are on record; 8 of them count" in page


def test_what_was_seen_beside_what_is_documented_is_told() -> None:
    outcome = {
        "on": "every version",
        "versions": ["4.3.1"],
        "required": ["lost-write"],
        "allowed": ["empty-isr"],
        "claims": [],
        "source": "KIP-1",
        "basis": "KIP",
    }
    case = {"name": "default", "changes": {"acks": "all"}, "documented": [outcome]}
    lines = ran("r1", anomalies={"lost-write": 1, "empty-isr": 1, "duplicate": 500}, permitted=("duplicate",))
    pages = guide_of(*lines, cases=[case])
    assert "| `duplicate` | – | 1 run of 1 cell |\n| `empty-isr` | 1 run of 1 cell | – |" in pages["reproduced.md"]
    assert "`lost-write`" not in pages["reproduced.md"].partition("## Seen beside")[2]
    assert "| empty-isr, lost-write | duplicate | – |" in pages["scenarios/s.md"]


def test_commits_that_are_gone_are_told() -> None:
    page = guide_of(*ran("r1"), *ran("r2", about={"commit": "ab" * 20}))["reproduced.md"]
    assert "Commits: 00000000." in page
    assert "Not in the history any more: abababab." in page


def test_times_of_a_busy_machine_are_marked() -> None:
    claims = (ClaimLine(name="c", outcome="held", measured_ms=1000.0, bound_ms=2000.0),)
    pages = guide_of(*ran("r1", about={"load": Load(cpu=90.0)}, claims=claims), *ran("r2", claims=claims))
    assert "| `c` | – | 4.3.1 | busy | 1 | 1.00 s | 1.00 s | 1.00 s | 2.0 s |" in pages["scenarios/s.md"]
    assert "| `c` | – | 4.3.1 | not on record | 1 |" in pages["scenarios/s.md"]
    assert "| `c` | – | – | 50 % in 1 run | 50 % in 1 run |" in pages["timings.md"]


def test_the_run_that_is_shown_lost_what_must_be_lost_or_is_the_newest_and_the_first_of_its_seeds(
    runs: list[RunDir],
) -> None:
    gathered = [one for one in example_runs.gather(runs).runs if one.run.scenario == "double-failover"]
    scenario = next(one for one in described()["scenarios"] if one["name"] == "double-failover")
    telling = example_runs.chosen(gathered, scenario)
    assert telling is not None
    assert telling.version == "0.10.2.2"
    kept = [one for one in gathered if not one.verdict.required]
    for order in (kept, kept[::-1]):
        newest = example_runs.chosen(order, scenario)
        assert newest is not None
        assert (newest.version, newest.run.seed) == ("4.3.1", 1)
    assert example_runs.chosen(gathered, scenario | {"cases": [{"name": "another"}]}) is None
    exhibit = {"bug": "KAFKA-1", "affected": ["4.3.1"]}
    of_other = example_runs.chosen(gathered, scenario | {"exhibit": exhibit})
    assert of_other is not None
    assert of_other.version == "4.3.1"
    assert example_runs.chosen(gathered, scenario | {"exhibit": exhibit | {"affected": ["2.2.2"]}}) is None


def test_a_bug_without_an_anomaly_is_harm_all_the_same() -> None:
    every = {one["name"]: one for one in described()["scenarios"]}
    bug = every["museum-segment-below-batch"]
    harm = {case: shows_harm(bug, case, "4.3.1") for case in ("default", "blank-disk", "restarted", "above")}
    assert harm == {"default": True, "blank-disk": True, "restarted": False, "above": False}
    assert shows_harm(every["museum-made-again"], "default", "3.5.1-kraft")
    assert not shows_harm(every["museum-made-again"], "default", "3.9.2-kraft")
    torn = every["museum-false-clean-marker"]  # a record is lost with and without the bug
    assert shows_harm(torn, "default", "3.5.1-kraft")
    assert not shows_harm(torn, "default", "3.9.2-kraft")
    assert shows_harm(every["double-failover"], "default", "0.10.2.2")
    assert not shows_harm(every["double-failover"], "default", "4.3.1")


def test_the_museum_tells_both_sides_of_each_border_and_what_runs_showed_there() -> None:
    made = of(get_scenario("museum-marker-compacted"))
    cell = {"good": 2, "runs": 3, "verdicts": {"as-documented": 2, "unexpected": 1}}
    data = {made["name"]: {"cases": {"default": {"3.0.1": cell}}}}
    text = museum.page({"versions": ["4.3.1"]}, [made], data)
    link = "[KAFKA-14055](scenarios/museum-marker-compacted.md)"
    assert f"| {link} | 3.0.1 has it: 2 of 3 | 3.0.2 has it not: not run |" in text
    assert f"| {link} | 0.10.2.2 has it not: cannot be run | 0.11.0.0 has it: not run |" in text
    both = museum.page({"versions": ["4.3.1"]}, [of(get_scenario("museum-late-produce"))], {})
    assert "3.5.2 has it: 3.5.2-zk not run, 3.5.2-kraft not run" in both


def test_what_cannot_be_told_is_left_out_and_named(runs: list[RunDir], tmp_path: Path) -> None:
    broken, unjudged, own, ancient = (synthetic.double_failover_kept(tmp_path / name, seed=9) for name in "abcd")
    for run_dir in (broken, own, ancient):
        facts.judge_run(run_dir)
    broken.run_json.write_text("{")
    own.run_json.write_text(json.dumps(json.loads(own.run_json.read_text()) | {"overridden": {"a": "b"}}))
    ancient.verdict.write_text("[]")
    gathered = example_runs.gather([*runs, broken, unjudged, own, ancient])
    assert len(gathered.runs) == len(runs)
    assert [name for line in gathered.left_out for name in "abcd" if f"/{name}/" in line] == list("abcd")


def test_runs_are_found_below_folders_of_folders(runs: list[RunDir], tmp_path: Path) -> None:
    assert {run.path for run in example_runs.find([tmp_path])} == {run.path for run in runs}
    assert example_runs.find([tmp_path / "nowhere"]) == []


@pytest.mark.slow
def test_the_command_draws_and_writes_what_has_changed(runs: list[RunDir], tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    assert told_of(runs, docs) == 0
    page = (docs / "scenarios" / "double-failover.md").read_text()
    assert "/pictures/double-failover.svg)" in page
    assert results.picture("double-failover.svg", docs).read_text().startswith("<svg")
    assert "As it ran on 0.10.2.2, seed 1: 1 of 5 acknowledged records LOST." in page
    made = build.pages(docs)
    assert build.write(docs, made) == []
    (docs / "scenarios" / "gone.md").write_text("of a scenario that is gone")
    assert build.write(docs, made) == ["scenarios/gone.md"]


@pytest.mark.slow
def test_a_run_that_is_told_stays_until_another_of_its_scenario_is(runs: list[RunDir], tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    assert told_of(runs, docs) == 0
    before = results.by_scenario(docs)["double-failover"]["shown"]
    assert told_of([run for run in runs if run.read_run().scenario != "double-failover"], docs) == 0
    assert results.by_scenario(docs)["double-failover"]["shown"] == before
    assert told_of([run for run in runs if run.read_run().version == "0.10.2.2"], docs) == 0
    alone = results.by_scenario(docs)["double-failover"]["shown"]
    assert (alone["version"], "control" in alone) == ("0.10.2.2", False)
    assert not results.picture("double-failover.control.svg", docs).exists()


@pytest.mark.slow
def test_the_harm_is_shown_and_the_fixed_release_beside_it(runs: list[RunDir], tmp_path: Path) -> None:
    both, apart = tmp_path / "both", tmp_path / "apart"
    ours = [run for run in runs if run.read_run().scenario == "double-failover"]
    assert told_of(ours, both) == 0
    # A run without harm does not take the place of one with it, and the other way round.
    for version in ("0.10.2.2", "4.3.1"):
        assert told_of([run for run in ours if run.read_run().version == version], apart) == 0
    for docs in (both, apart):
        shown = results.by_scenario(docs)["double-failover"]["shown"]
        assert (shown["version"], shown["control"]["version"]) == ("0.10.2.2", "4.3.1")
        assert "LOST" in results.picture("double-failover.svg", docs).read_text()
        assert "kept" in results.picture("double-failover.control.svg", docs).read_text()
        assert list(shown["pictures"])[:2] == ["double-failover.svg", "double-failover.control.svg"]


def test_a_run_that_cannot_be_drawn_is_named(
    runs: list[RunDir], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_run_dir: RunDir) -> None:
        raise KeyError("layout")

    monkeypatch.setattr(example_runs, "load", fail)
    docs = tmp_path / "docs"
    assert told_of(runs[:1], docs) == 0
    assert f"no picture of {runs[0].path}: KeyError: 'layout'" in capsys.readouterr().err
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
