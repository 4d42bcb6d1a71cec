"""results/explained.toml: each run that counts and did not end as documented has one entry."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import results
from results.explained import CAUSES, EXPLAINED, by_run, entries

RUN = '[[run]]\nruns = ["r1"]\ncause = "machine"\nwhy = "It was busy."\n'


def not_good() -> Iterator[str]:
    """The runs that the rows of cells name as not as documented, and of which the pages tell."""
    for line in (results.ROOT / results.CELLS).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if results.OWN_BUILD not in row["version"]:
            yield from (each.partition(": ")[0] for each in row["not_good"])


def test_each_run_that_did_not_end_as_documented_has_one_entry_and_no_other_run_has() -> None:
    counted, told = set(not_good()), set(by_run())
    without = "\n".join(sorted(counted - told))
    assert not without, (
        f"these runs count and did not end as documented, and nobody says why:\n{without}\n"
        f"Find out (the run's reasons in results/ledger/, its load, git log around its commit), and add an entry to "
        f"results/{EXPLAINED}, or the run to an entry that has the same cause. What cannot be found out is not-known. "
        f"Then: make docs."
    )
    assert not told - counted, f"take these out of results/{EXPLAINED}, they are no such runs: {sorted(told - counted)}"


def test_the_commits_that_are_named_are_in_the_history() -> None:
    named = {commit for one in entries() for commit in one.commits}
    asked = subprocess.run(["git", "rev-list", "HEAD"], cwd=results.ROOT, capture_output=True, text=True, check=False)
    if asked.returncode or (results.ROOT.parent / ".git" / "shallow").exists():
        pytest.skip("no whole history here")
    gone = sorted(named - set(asked.stdout.split()))
    assert not gone, f"results/{EXPLAINED} names commits that the history lacks, or not by 40 digits: {gone}"


def test_every_cause_is_used_and_every_entry_ends_its_sentences() -> None:
    assert {one.cause for one in entries()} == set(CAUSES)
    assert [one.runs for one in entries() if not one.why.endswith(".")] == []
    assert [one.runs for one in entries() if one.followed and not one.followed.endswith(".")] == []
    # What later runs of the same cell came to is counted by the pages. A sentence on it is soon no longer true.
    assert [one.runs for one in entries() if "run again" in one.followed] == []


def test_no_file_is_no_entry_and_lines_are_joined(tmp_path: Path) -> None:
    assert entries(tmp_path) == []
    (tmp_path / EXPLAINED).write_text(RUN.replace('"It was busy."', '"""It was\n    busy."""'))
    assert by_run(tmp_path)["r1"].why == "It was busy."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (RUN.replace("machine", "weather"), "the entry of r1 has the cause 'weather'; there are kafka, our-statement"),
        (RUN.replace('why = "It was busy."\n', ""), "the entry of r1 lacks why"),
        (RUN.replace('runs = ["r1"]\n', ""), "the entry of no run lacks runs"),
        (RUN + 'reason = "x"\n', "the entry of r1 has the field 'reason'"),
        (RUN + 'commits = ["c"]\n', "the entry of r1 names commits and does not say what they did"),
        (RUN + RUN, "r1 stands there twice"),
        (RUN.replace("busy.", "busy, is likely and not proved."), "the entry of r1 says 'not proved': its cause is"),
    ],
)
def test_what_is_wrong_in_an_entry_is_told(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / EXPLAINED).write_text(text)
    with pytest.raises(ValueError, match=f"^{EXPLAINED}: {said}"):
        entries(tmp_path)
