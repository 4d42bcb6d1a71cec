"""What of a scenario, its claims and its faults has changed since a commit, and what is there for people only."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from app import changed_code
from app.changed_code import faults_of, parts_of, sense
from harness.faults.clock import ClockStep
from harness.faults.process import Kill, Start
from harness.scenario import get_scenario

CLAIMS = "checks/claims/cluster/elections.py"


def test_a_scenario_rests_on_its_file_its_claims_and_its_faults() -> None:
    parts = parts_of(get_scenario("leader-crash"))
    assert parts["scenarios/producer/leader_crash.py"] == frozenset()
    assert "leader_replaced_in_time" in parts[CLAIMS]
    assert "Kill" in parts["harness/faults/process.py"]
    assert not any(path.startswith("harness/run/") for path in parts)


def test_what_it_takes_from_other_scenarios_is_a_part_of_it() -> None:
    parts = parts_of(get_scenario("lost-acknowledgement"))
    assert parts["scenarios/producer/__init__.py"] >= {"lose_acknowledgement"}
    assert any(path.startswith("harness/faults/answers") for path in parts)


def test_faults_are_those_of_words_and_of_the_words_that_they_use() -> None:
    assert Kill in faults_of(["kill"])
    assert faults_of(["step_clock"]) == {ClockStep}
    assert Start in faults_of(["restart", "start"])
    assert faults_of(["no_word", "note"]) == frozenset()


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("def f():\n    return 1", 'def f():\n    """What."""\n    # why\n    return (1)', True),
        ("def f():\n    return 1", "def f():\n    return 2", False),
        ("N = 1\nf = lambda: g()\ng = lambda: N", "N = 2\nf = lambda: g()\ng = lambda: N", False),
        ("def f():\n    return 1\ndef h():\n    return 1", "def f():\n    return 1\ndef h():\n    return 2", True),
        ("f = Case(claims=['a'], sentence='x')", "f = Case(claims=['a'], sentence='y')", True),
        ("f = Case(claims=['a'])", "f = Case(claims=['b'])", False),
        ("f = 1", "f = ", False),
        ("def f():\n    return 1", "def g():\n    return 1", False),
    ],
)  # fmt: skip
def test_definitions_are_compared_by_what_they_do(before: str, after: str, same: bool) -> None:
    names = frozenset({"f"})
    assert (sense(before.encode(), names) == sense(after.encode(), names)) is same


def commit(root: Path, **files: str) -> str:
    """A commit with these files, and those of before."""
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".py").write_text(text)
    for words in (["add", "."], ["commit", "-qm", "x"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=root, check=True)
    return subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_history_is_asked_for_each_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.setattr(changed_code, "ROOT", tmp_path)
    monkeypatch.setattr(changed_code, "all_scenarios", lambda: {"a": "a", "b": "b"})
    parts = {"a": {"a.py": frozenset[str](), "claims.py": frozenset({"f"})}, "b": {"claims.py": frozenset({"g"})}}
    monkeypatch.setattr(changed_code, "parts_of", lambda one: parts[one])
    first = commit(tmp_path, a="x = 1")
    second = commit(tmp_path, claims="def f():\n    return 1\n\ndef g():\n    return 1")
    third = commit(tmp_path, claims="def f():\n    return 2\n\ndef g():\n    return 1", a="x = 1  # one")
    asked = [(one, name) for one in (first, second, third, "0" * 40, "") for name in ("a", "b", "nobody")]
    assert changed_code.changed(asked) == {
        (first, "a"): False,
        (first, "b"): False,  # a file that was not there tells nothing
        (second, "a"): True,
        (second, "b"): False,
        (third, "a"): False,
        (third, "b"): False,
    }
