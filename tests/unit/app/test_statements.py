"""What is stated in two commits: which change allows more, on pairs of registries that are written by hand."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import app
from app.registry import judge, sequences
from app.statements import StatementChange, as_json, as_text, base_of, compared, registry_of, summary
from evidence.errors import UsageError

OUTCOME: dict[str, Any] = {
    "required": ["lost-write"],
    "allowed": ["duplicate"],
    "claims": ["leader-elected-from-isr"],
    "out_of_sync": False,
    "source": "KIP-101",
    "basis": "KIP",
}
CLAIM: dict[str, Any] = {
    "definition": "It is quick.",
    "source": "KIP-1",
    "basis": "KIP",
    "bound": "the session and 1500 ms",
}
ANOMALY: dict[str, Any] = {"definition": "It is gone.", "source": "Jepsen", "basis": "documentation", "permitted": ""}
CELL: dict[str, Any] = {"must": ["loses"], "may": ["refuses"], "source": "KIP-101", "basis": "KIP"}


def registry(
    outcome: dict[str, Any] | None = None,
    claim: dict[str, Any] | None = None,
    anomaly: dict[str, Any] | None = None,
    cell: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A registry with one statement of each kind; what is given is other than usual."""
    return {
        "scenarios": {"s": {"default": {"4.3.1": OUTCOME | (outcome or {})}}},
        "claims": {"quick": CLAIM | (claim or {})},
        "anomalies": {"lost-write": ANOMALY | (anomaly or {})},
        "cells": {"none on 4.3.1: java": CELL | (cell or {})},
    }


def directions(new: dict[str, Any], old: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    return [(one.direction, one.how) for one in compared(old or registry(), new)]


def test_nothing_changed() -> None:
    assert compared(registry(), registry()) == []


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (
            {"required": [], "allowed": ["duplicate", "lost-write"]},
            ("widened", "lost-write had to be seen, and may be seen now"),
        ),
        ({"allowed": ["duplicate", "phantom"]}, ("widened", "phantom was unexpected, and may be seen now")),
        (
            {"required": ["duplicate", "lost-write"], "allowed": []},
            ("narrowed", "duplicate could be seen, and must be seen now"),
        ),
        ({"allowed": []}, ("narrowed", "duplicate could be seen, and is unexpected now")),
        ({"required": []}, ("turned", "lost-write had to be seen, and is unexpected now")),
        ({"required": ["lost-write", "phantom"]}, ("turned", "phantom was unexpected, and must be seen now")),
        ({"claims": []}, ("widened", "the claim leader-elected-from-isr is dropped")),
        (
            {"claims": ["leader-elected-from-isr", "quick"]},
            ("narrowed", "the claim quick is held too"),
        ),
        ({"out_of_sync": True}, ("widened", "a replica may be out of sync at the end")),
        (
            {"source": "seen on 4.3.1", "basis": "measured"},
            ("rests on", "seen on 4.3.1 (measured), before on KIP-101 (KIP)"),
        ),
    ],
)
def test_an_outcome_that_changed(outcome: dict[str, Any], told: tuple[str, str]) -> None:
    assert directions(registry(outcome)) == [told]
    back = directions(registry(), registry(outcome))
    reverse = {"widened": "narrowed", "narrowed": "widened"}
    assert [direction for direction, _ in back] == [reverse.get(told[0], told[0])]


def test_a_case_or_a_version_that_is_left_out_is_a_widening() -> None:
    nowhere, without_case, without_scenario = registry(), registry(), registry()
    nowhere["scenarios"]["s"]["default"] = {}
    without_case["scenarios"]["s"] = {}
    without_scenario["scenarios"] = {}
    assert directions(nowhere) == [("widened", "does not apply any more")]
    assert directions(without_case) == [("widened", "is not there any more")]
    assert directions(without_scenario) == [("widened", "is not there any more")]
    assert directions(registry(), nowhere) == [("narrowed", "applies now")]
    assert directions(registry(), without_case) == directions(registry(), without_scenario) == [("narrowed", "is new")]


@pytest.mark.parametrize(
    ("bound", "direction"),
    [
        ("the session and 3000 ms", "widened"),
        ("the session and 1000 ms", "narrowed"),
        ("two sessions", "turned"),
        ("", "widened"),
    ],
)
def test_a_bound_that_changed(bound: str, direction: str) -> None:
    assert [one for one, _ in directions(registry(claim={"bound": bound}))] == [direction]


def test_a_bound_of_which_one_part_is_longer_and_one_shorter_goes_neither_way() -> None:
    old, new = registry(claim={"bound": "5 s and 10 s"}), registry(claim={"bound": "6 s and 9 s"})
    assert [one for one, _ in directions(new, old)] == ["turned"]


def test_a_claim_that_is_gone_and_an_anomaly_that_is_permitted_are_widenings() -> None:
    without = registry()
    without["claims"] = {}
    assert directions(without) == [("widened", "is not in the catalogue any more")]
    permitted = registry(anomaly={"permitted": "if the producer retries"})
    assert directions(permitted) == [("widened", "it was permitted never, and is if the producer retries")]
    assert [one for one, _ in directions(registry(claim={"definition": "It is slow."}))] == ["turned"]


def test_a_cell_of_the_audit_that_may_come_to_more() -> None:
    (change,) = compared(registry(), registry(cell={"may": ["loses", "refuses"], "must": []}))
    assert change == StatementChange(
        "widened", "audit none", "loses had to be seen, and may be seen now", "none on 4.3.1: java"
    )
    assert directions(registry(cell={"may": []})) == [("narrowed", "refuses could be seen, and is unexpected now")]
    without = registry()
    without["cells"] = {}
    assert [one for one, _ in directions(without)] == ["widened"]


def test_the_same_change_on_many_versions_is_one_line() -> None:
    old, new = registry(), registry()
    for number in range(8):
        old["scenarios"]["s"]["default"][f"v{number}"] = OUTCOME
        new["scenarios"]["s"]["default"][f"v{number}"] = OUTCOME | {"claims": []}
    found = compared(old, new)
    text = as_text(found, "a", "b")
    assert summary(found) == (
        "8 widened, 0 narrowed, 0 turned, 0 judged otherwise, 0 run otherwise; 0 statements from another source"
    )
    assert text.splitlines()[-1] == (
        "  scenario s, case default: the claim leader-elected-from-isr is dropped [v0; v1; v2; v3; v4; v5 and 2 more]"
    )
    assert len(as_json(found, "a", "b")["changes"]) == 8


SEQUENCE = {"sequences": {"scenarios/s.py": {"steps": "a1", "CLUSTER": "b1"}}}


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"steps": "a1", "CLUSTER": "b1"}, []),
        ({"steps": "a2", "CLUSTER": "b1"}, [("run otherwise", "is other code")]),
        ({"steps": "a1"}, [("run otherwise", "is not there any more")]),
        ({"steps": "a1", "CLUSTER": "b1", "more": "c1"}, [("run otherwise", "is new")]),
    ],
    ids=["the same", "other steps", "less", "more"],
)
def test_a_sequence_that_changed_is_named(parts: dict[str, str], told: list[tuple[str, str]]) -> None:
    new = registry() | {"sequences": {"scenarios/s.py": parts}}
    assert directions(new, registry() | SEQUENCE) == told


SCENARIO = '''"""Words."""
KEPT = Documented(claims=["quick"], source="KIP-1", basis=Basis.KIP)
CLUSTER = ClusterPlan(brokers=3)
@scenario(name="s", claim="It is kept.", documented=[KEPT, Documented(required=LOST)], cluster=CLUSTER)
def steps(run):
    run.freeze(1)
    run.claim("it is kept", True)
'''


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('claims=["quick"]', "claims=[]", set()),
        ("It is kept.", "It is lost.", set()),
        ("required=LOST", "allowed=LOST", set()),
        ("Words.", "Other words.", set()),
        ("brokers=3", "brokers=5", {"CLUSTER"}),
        ("run.freeze(1)", "run.freeze(2)", {"steps"}),
        ('    run.claim("it is kept", True)\n', "", {"steps"}),
        ("cluster=CLUSTER", "cluster=OTHER", {"steps"}),
    ],
)
def test_what_a_sequence_does_is_told_apart_from_what_it_states(
    tmp_path: Path, old: str, new: str, told: set[str]
) -> None:
    found = []
    for number, text in enumerate((SCENARIO, SCENARIO.replace(old, new))):
        folder = tmp_path / str(number) / "scenarios"
        folder.mkdir(parents=True)
        (folder / "s.py").write_text(text)
        found.append(dict(sequences(folder.parent))["scenarios/s.py"])
    assert {name for name in found[0] if found[0][name] != found[1].get(name)} == told


def test_other_sources_are_counted_and_told_on_request() -> None:
    found = compared(registry(), registry(claim={"source": "KIP-2"}))
    assert "KIP-2" not in as_text(found, "a", "b")
    assert "KIP-2" in as_text(found, "a", "b", sources=True)


EXCUSE = "AFTER_NS = {after}\n\n\ndef retried(row):\n    {words}return row > AFTER_NS  # {comment}\n"


def judging(tmp_path: Path, name: str = "excuses", after: int = 5, words: str = "", comment: str = "as ever") -> Any:
    """A registry whose judge is one file of excuses."""
    path = tmp_path / "checks" / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(EXCUSE.format(after=after, words=words, comment=comment))
    found = registry() | {"judge": dict(judge(tmp_path))}
    path.unlink()
    return found


def test_a_judge_that_excuses_more_is_told_by_its_name(tmp_path: Path) -> None:
    """Its words stay the same, and so does every statement."""
    found = compared(judging(tmp_path), judging(tmp_path, after=6))
    assert [(one.direction, one.what, one.how, one.where) for one in found] == [
        ("judged otherwise", "excuses, checks/excuses.py", "is other code", "AFTER_NS")
    ]
    text = as_text(found, "a", "b")
    assert "0 widened, 0 narrowed, 0 turned, 1 judged otherwise" in text
    assert text.splitlines()[-1] == "  excuses, checks/excuses.py: is other code [AFTER_NS]"
    assert as_json(found, "a", "b")["changes"][0]["where"] == "AFTER_NS"


def test_every_part_of_the_judge_is_named(tmp_path: Path) -> None:
    old, new = judging(tmp_path), judging(tmp_path)
    new["judge"]["judgement/duties.py"] = {f"part{number}": "d" for number in range(9)}
    assert as_text(compared(old, new), "a", "b").count("part") == 9


def test_a_judge_of_whom_only_words_changed_or_that_moved_judges_as_before(tmp_path: Path) -> None:
    old = judging(tmp_path)
    assert compared(old, judging(tmp_path, words='"Whether it was sent again."\n    ', comment="always")) == []
    assert compared(old, judging(tmp_path, name="reasons")) == []
    assert {one.how for one in compared(old, judging(tmp_path, name="reasons", after=6))} == {
        "is new", "is not there any more",
    }  # fmt: skip


def test_what_judges_is_read_and_reports_are_not(tmp_path: Path) -> None:
    files = ("checks/claims/storage/a.py", "judgement/duties.py", "evidence/run_state.py")
    for name in (*files, "judgement/report/html.py", "harness/run/waits.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("SHARE = 0.1\n")
    assert {path for path, _ in judge(tmp_path)} == set(files)
    here = {path for path, parts in judge(Path(app.__file__).parents[1]) if parts}
    assert {"checks/excuses.py", "checks/disturbances.py", "judgement/duties.py", "evidence/node_releases.py"} < here


OLD_LAYOUT = {
    "harness/__init__.py": "",
    "harness/cluster/__init__.py": "",
    "harness/cluster/versions.py": "class V:\n    id = '4.3.1'\nKNOWN = (V,)\n",
    "harness/scenario.py": """
from types import SimpleNamespace as N
case = N(name="default")
stated = N(required={"lost-write"}, allowed=set(), claims=["quick"], out_of_sync=False)
made = N(source="KIP-1", cases={"default": case}, applies_to=lambda *_: True, documented_for=lambda *_: stated)
def all_scenarios():
    return {"s": made}
""",
    "evidence/__init__.py": "",
    "evidence/claims.py": """
class Claim:
    def as_json(self):
        return {"name": "quick", "says": "It is quick.", "source": "KIP-1", "bound": ""}
CATALOGUE = {"quick": Claim()}
""",
    "evidence/anomalies.py": "CATALOGUE = {}\n",
    "audit/__init__.py": "",
    "audit/cells.py": """
from types import SimpleNamespace as N
def load():
    return [N(key="none on 4.3.1", stated=N(must={"loses"}, may=set(), source="KIP-1"))]
""",
}
"""The modules of a checkout as they were called at 6959c5e, as small as can be."""


def git(*words: str, folder: Path) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, text in OLD_LAYOUT.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git("init", "-q", folder=tmp_path)
    git("add", ".", folder=tmp_path)
    git("commit", "-qm", "one", folder=tmp_path)
    return tmp_path


def test_the_registry_of_a_commit_is_made_by_its_own_code(repository: Path) -> None:
    made = registry_of("HEAD", repository)
    (repository / "evidence" / "claims.py").write_text("CATALOGUE = {}\n")
    git("commit", "-qam", "two", folder=repository)
    assert registry_of("HEAD~1", repository) == made == json.loads(json.dumps(made))
    assert made["scenarios"]["s"]["default"]["4.3.1"]["required"] == ["lost-write"]
    assert made["claims"]["quick"]["definition"] == "It is quick."
    assert made["cells"] == {"none on 4.3.1": {"must": ["loses"], "may": [], "source": "KIP-1", "basis": ""}}
    found = compared(made, registry_of("HEAD", repository))
    assert ("widened", "claim quick", "is not in the catalogue any more") in [
        (one.direction, one.what, one.how) for one in found
    ]
    assert [(one.what, one.how, one.where) for one in found if one.direction == "judged otherwise"] == [
        ("claims, evidence/claims.py", "is not there any more", "Claim"),
        ("claims, evidence/claims.py", "is other code", "CATALOGUE"),
    ]


def test_a_commit_that_there_is_not_and_one_that_cannot_be_read_are_told_in_a_line(repository: Path) -> None:
    with pytest.raises(UsageError, match="commit nowhere: what it states cannot be read"):
        registry_of("nowhere", repository)
    (repository / "harness" / "scenario.py").write_text("raise ValueError('broken')\n")
    git("commit", "-qam", "broken", folder=repository)
    with pytest.raises(UsageError, match="broken") as caught:
        registry_of("HEAD", repository)
    assert "\n" not in str(caught.value)


def test_a_branch_is_compared_with_the_last_tag_or_with_the_commit_before(repository: Path) -> None:
    with pytest.raises(UsageError, match="no commit before"):
        base_of(repository)
    first = git("rev-parse", "HEAD", folder=repository)
    git("commit", "-qm", "two", "--allow-empty", folder=repository)
    assert base_of(repository) == first[:12]
    git("tag", "v1", folder=repository)
    git("commit", "-qm", "three", "--allow-empty", folder=repository)
    assert base_of(repository) == "v1"
