"""What README and the pages beside it say, held to what commands print, to what runs showed, and to the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import results
from app.cli import main
from harness.scenario import all_scenarios
from pages import guide, readme
from pages.atlas import model
from pages.site import build

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text()
EXAMPLE = re.compile(r"^```console\n\$ kafka-chaos ([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_examples_are_what_the_commands_say(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "110")
    examples = EXAMPLE.findall(README)
    assert {command.split()[0] for command, _ in examples} == {"museum", "atlas"}
    for command, shown in examples:
        main(shlex.split(command))
        lines = capsys.readouterr().out.splitlines()
        for line in shown.splitlines():
            if line != "…":
                assert line in lines, f"{command} does not say {line!r}"
                lines = lines[lines.index(line) + 1 :]


def test_the_table_of_losses_is_what_runs_showed() -> None:
    """`make docs` writes its counts anew."""
    data, scenarios = results.by_scenario(), all_scenarios()
    assert readme.renewed(README, data) == README, "run `make docs`"
    rows = readme.ROW.findall(README)
    assert len(rows) >= 6
    for beginning, name, case in rows:
        assert f"]({scenarios[name].file.replace('.', '/')}.py)" in beginning
        assert case in ("", *scenarios[name].cases)


def test_its_findings_are_those_of_the_data() -> None:
    data = model.load()
    found = build.findings_in_words(data, build.measured(data))
    assert readme.with_findings(README, found) == README, "run `make docs`"
    assert len(found) == 5


def test_it_is_short() -> None:
    """Ten minutes are enough for it: at most 700 words that are read, without what is in code and links."""
    prose = re.sub(
        r"<!--.*?-->|```.*?```|\]\([^)]*\)|^\|[-| ]*$|[|`*#\[\]]", " ", README, flags=re.DOTALL | re.MULTILINE
    )
    assert len(prose.split()) <= 700


def test_counts_are_renewed() -> None:
    text = "| what happens | scenario | 2.8.2 |\n|---|---|---|\n| it dies | [`a`](b.py), `--case c` | 0 of 1 |\n"
    data = {"a": {"cases": {"c": {"2.8.2": {"lost": 2, "runs": 4, "verdicts": {"as-documented": 3, "unknown": 1}}}}}}
    assert readme.renewed(text, data).endswith("| it dies | [`a`](b.py), `--case c` | **2 of 3** |\n")


def test_the_index_lists_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    listed = set(guide.links(index))
    there = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert there <= listed


def test_every_variable_of_the_environment_is_told() -> None:
    """But for those that pass between processes of ours: who began a run, and where a test writes."""
    told = set(re.findall(r"KAFKA_CHAOS_[A-Z_]+", (ROOT / "docs" / "configuration.md").read_text()))
    places = [
        ROOT / name for name in ("app", "audit", "analysis", "checks", "evidence", "harness", "judgement", "tests")
    ]
    files = [path for place in places for path in place.rglob("*.py")]
    used = {name for path in files for name in re.findall(r"\"(KAFKA_CHAOS_[A-Z_]+)\"", path.read_text())}
    assert used - told == {"KAFKA_CHAOS_PARENT", "KAFKA_CHAOS_RECORDED"}
    assert told <= used
