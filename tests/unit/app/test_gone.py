"""Runs of commits that are gone: which they are, and that the page names them all."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from app import gone
from evidence.ledger import AnyLine
from tests.ledgers import ended, judged, restored, started

ROOT = Path(__file__).parents[3]
HERE, AWAY = "a" * 40, "b" * 40


def shallow() -> bool:
    """Whether this is no checkout, or one that has not the whole history."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        return True
    asked = ["git", "rev-parse", "--is-shallow-repository"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip() == "true"


def test_a_run_of_a_commit_that_is_gone_counts_and_is_named() -> None:
    lines: list[AnyLine] = [
        *(started("r1", commit=HERE), ended("r1"), judged("r1")),
        *(started("r2", commit=AWAY), ended("r2"), judged("r2", "unexpected")),
        *(started("r3", commit=AWAY, modified=True), ended("r3"), judged("r3")),
        *(started("r4", commit=None), ended("r4"), judged("r4")),
    ]
    found = gone.of_gone_commits(lines, {HERE})
    assert [(one.run, one.commit, one.why) for one in found] == [
        ("r2", AWAY, gone.COUNTS),
        ("r3", AWAY, "run by a modified tree of bbbbbbbb"),
    ]
    told = gone.part(found, 0)
    assert "The commits of 2 runs are gone; 1 of these runs count." in told
    assert "| r2 | bbbbbbbbbb | yes |" in told
    assert "r1" not in told


def test_a_restored_run_is_of_one_of_its_commits() -> None:
    lines: list[AnyLine] = [
        restored("r1", commits=(HERE[:8], AWAY[:8])),
        restored("r2", commits=(AWAY[:8],)),
        restored("r3", commits=(f"{AWAY}+", "c" * 40)),
        restored("r4", commits=(f"{HERE}+",)),
    ]
    assert gone.restored(lines, {HERE}) == 2


@pytest.mark.skipif(shallow(), reason="the whole history of git is not here")
def test_the_page_names_every_run_of_a_commit_that_is_gone() -> None:
    text = (ROOT / gone.PAGE).read_text(encoding="utf-8")
    assert gone.renewed(text, gone.made()) == text, "`make docs` writes it anew"
