"""The script and the workflow of docs/in-your-ci.md for a branch of Kafka: taken from the page, and run on a tiny
repository whose build step writes down what it built.

The program is a stand-in here; its options are held against the real parser.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

import results
from app import ledger as store
from app import options, plan
from app.matrix import cells
from harness.cluster import versions
from harness.scenario import get_scenario
from judgement.comparison import Fact, Ran, compare
from tests.workflows import run_workflow

ROOT: Final = Path(__file__).parents[3]
PAGE: Final = (ROOT / "docs" / "in-your-ci.md").read_text()
GRADLEW: Final = """#!/bin/sh
echo "gradlew $* in $(git rev-parse HEAD)" >>"$STUB_LOG"
[ ! -e broken ] || { echo "a compiler error" >&2; exit 1; }
mkdir -p core/build/distributions
cp source core/build/distributions/kafka_2.13-4.5.0-SNAPSHOT.tgz
echo documentation >core/build/distributions/kafka_2.13-4.5.0-SNAPSHOT-site-docs.tgz
"""
PROGRAM: Final = """#!/bin/bash
echo "kafka-chaos $*" >>"$STUB_LOG"
case $1 in
compare) echo "no regression in 11 cells"; exit "${STUB_COMPARED:-0}" ;;
esac
if [[ "$*" = *"--again 3"* ]]; then exit "${STUB_JUDGED:-0}"; else exit "${STUB_BASE:-0}"; fi
"""
KEPT, LOST = Fact("claim", "kept"), Fact("anomaly", "lost-write")
REPEAT: Final = 7


def fenced(language: str, beginning: str) -> str:
    """The one example of the page in a language that begins so."""
    every = [text for text in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if text.startswith(beginning)]
    assert len(every) == 1, every
    return str(every[0])


@dataclass(frozen=True)
class Tiny:
    """A clone of a tiny Kafka with a branch, and its trunk elsewhere, which has gone on since."""

    home: Path
    base: str
    head: str

    @property
    def log(self) -> Path:
        return self.home / "log"

    @property
    def called(self) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line.replace(str(self.home), "~") for line in lines]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "HOME": str(self.home), "STUB_LOG": str(self.log)}

    def night(self, **stub: int) -> subprocess.CompletedProcess[str]:
        """Run the script of the page. Its trunk is the one beside."""
        script = re.sub(r"(?m)^trunk=\S+", f"trunk={self.home / 'trunk'}", fenced("sh", "#!/bin/sh"))
        (self.home / "nightly-kafka.sh").write_text(script)
        return subprocess.run(
            ["sh", str(self.home / "nightly-kafka.sh")],
            env=self.environment | {f"STUB_{name.upper()}": str(value) for name, value in stub.items()},
            cwd="/",
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", "-C", str(folder), *who, *arguments], check=True, text=True, capture_output=True
    ).stdout.strip()


def commit(folder: Path, source: str) -> str:
    (folder / "source").write_text(source)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", source)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    trunk, clone = tmp_path / "trunk", tmp_path / "kafka"
    trunk.mkdir()
    git(trunk, "init", "-q", "-b", "trunk")
    (trunk / "gradlew").write_text(GRADLEW)
    (trunk / "gradlew").chmod(0o755)
    base = commit(trunk, "base")
    git(tmp_path, "clone", "-q", str(trunk), str(clone))
    git(clone, "checkout", "-qb", "my-branch")
    head = commit(clone, "patched")
    commit(trunk, "later on trunk")
    program = tmp_path / "kafka-chaos" / ".venv" / "bin" / "kafka-chaos"
    program.parent.mkdir(parents=True)
    program.write_text(PROGRAM)
    program.chmod(0o755)
    return Tiny(tmp_path, base, head)


def test_the_branch_is_held_against_its_merge_base_and_against_the_documentation(tiny: Tiny) -> None:
    done = tiny.night()
    assert done.returncode == 0, done.stdout
    first, second, compared, base, branch = tiny.called
    assert first == f"gradlew -q --no-daemon -PcommitId={tiny.base} releaseTarGz in {tiny.base}"
    assert second == f"gradlew -q --no-daemon -PcommitId={tiny.head} releaseTarGz in {tiny.head}"
    assert (tiny.home / "builds" / f"{tiny.base}.tgz").read_text() == "base"
    assert (tiny.home / "builds" / f"{tiny.head}.tgz").read_text() == "patched"
    asked = [options.parser().parse_args(shlex.split(line)[1:]) for line in (compared, base, branch)]
    assert [one.command for one in asked] == ["compare", "matrix", "matrix"]
    assert asked[0].kafka_under_test == asked[2].kafka == f"~/builds/{tiny.head}.tgz"
    assert asked[0].against == asked[1].kafka == f"~/builds/{tiny.base}.tgz"
    assert len({(one.runs_dir, one.seed, one.repeat, tuple(one.scenarios)) for one in asked}) == 1, "the same runs"
    assert asked[0].runs_dir == Path("runs/branch") / f"{tiny.base[:8]}-{tiny.head[:8]}"
    assert asked[0].seed % REPEAT == 0, "no night has a seed of another"
    assert (asked[0].minutes, asked[2].minutes, asked[2].fail_on, asked[2].jobs) == (170, 1, "unexpected", 1)
    assert (asked[1].again, asked[2].again) == (0, 3)
    assert "no regression in 11 cells" in done.stdout.splitlines()[0]
    assert done.stdout.splitlines()[-1].startswith("status 0; ")
    assert git(tiny.home / "kafka", "status", "--porcelain") == "", "the checkout is as it was"
    assert git(tiny.home / "kafka", "branch", "--show-current") == "my-branch"
    assert git(tiny.home / "kafka", "worktree", "list").count("\n") == 0, "no worktree is left"


@pytest.mark.parametrize(
    ("compared", "base", "judged", "status"),
    [(0, 0, 0, 0), (1, 0, 0, 1), (0, 0, 1, 1), (2, 0, 0, 2), (2, 0, 1, 1), (0, 1, 0, 0), (255, 0, 0, 255)],
)
def test_the_status_is_that_of_a_regression_or_of_a_run_of_the_branch(
    tiny: Tiny, compared: int, base: int, judged: int, status: int
) -> None:
    done = tiny.night(compared=compared, base=base, judged=judged)
    assert done.returncode == status, done.stdout
    assert done.stdout.splitlines()[-1].startswith(f"status {status}; ")


def test_only_what_is_new_is_built(tiny: Tiny) -> None:
    tiny.night()
    tiny.log.unlink()
    tiny.night()
    assert not any(line.startswith("gradlew") for line in tiny.called), "a night without a push"
    rebased = tiny.home / "kafka"
    git(rebased, "fetch", "-q")
    git(rebased, "rebase", "-q", "-X", "theirs", "origin/trunk")
    done = tiny.night()
    assert done.returncode == 0, done.stdout
    built = [line.split()[-1] for line in tiny.called if line.startswith("gradlew")]
    assert built == [git(rebased, "rev-parse", "origin/trunk"), git(rebased, "rev-parse", "HEAD")]


def test_a_night_that_was_killed_while_it_built_keeps_none_from_the_next(tiny: Tiny) -> None:
    (tiny.home / "builds").mkdir()
    git(tiny.home / "kafka", "worktree", "add", "-q", "--detach", str(tiny.home / "builds" / "tree"), tiny.head)
    assert tiny.night().returncode == 0


def test_a_build_that_fails_compares_nothing_and_is_told(tiny: Tiny) -> None:
    (tiny.home / "kafka" / "broken").touch()
    commit(tiny.home / "kafka", "broken")
    done = tiny.night()
    assert done.returncode == 1
    assert "a compiler error" in done.stdout
    assert not any(line.startswith("kafka-chaos") for line in tiny.called)
    assert sorted(path.suffix for path in (tiny.home / "builds").iterdir() if path.is_file()) == [".tgz"]


def test_a_branch_without_a_commit_is_told(tiny: Tiny) -> None:
    git(tiny.home / "kafka", "reset", "-q", "--hard", tiny.base)
    done = tiny.night()
    assert done.returncode == 254
    assert "nothing to compare" in done.stdout
    assert tiny.called == []


def workflow() -> Mapping[Any, Any]:
    read: dict[Any, Any] = yaml.safe_load(fenced("yaml", "name:"))
    return read


@pytest.mark.parametrize("hits", [False, True])
def test_the_workflow_builds_both_and_gives_them_to_the_action(tiny: Tiny, hits: bool) -> None:
    steps = yaml.safe_dump(workflow()).replace("https://github.com/apache/kafka.git", str(tiny.home / "trunk"))
    job = run_workflow(
        yaml.safe_load(steps),
        tiny.home,
        {"repository_owner": "me", "run_number": "12"},
        environment=tiny.environment,
        hits=hits,
    )
    assert job.status == 0, job.said
    by_name = {name: given for name, given in job.used if name != "actions/checkout"}
    checkouts = [given for name, given in job.used if name == "actions/checkout"]
    assert checkouts[1] == {"repository": "me/kafka", "ref": "my-branch", "fetch-depth": "0", "path": "kafka"}
    assert by_name["actions/cache/restore"] == {"path": "builds/base.tgz", "key": f"kafka-{tiny.base}"}
    assert ("actions/cache/save" in by_name) is not hits
    assert by_name.get("actions/cache/save", by_name["actions/cache/restore"]) == by_name["actions/cache/restore"]
    assert (tiny.home / "builds" / "branch.tgz").read_text() == "patched"
    built = [line.split()[-1] for line in tiny.called if line.startswith("gradlew")]
    assert built == ([tiny.head] if hits else [tiny.base, tiny.head])
    if not hits:
        assert (tiny.home / "builds" / "base.tgz").read_text() == "base"
    given = by_name["./kafka-chaos"]
    assert (given["kafka"], given["against"], given["seed"]) == ("builds/branch.tgz", "builds/base.tgz", "12")


def test_the_workflow_runs_the_scripts_scenarios_as_often_and_in_time() -> None:
    described = workflow()
    assert described[True]["schedule"], "YAML 1.1 reads `on` as true"
    (job,) = described["jobs"].values()
    (given,) = (step["with"] for step in job["steps"] if step.get("uses") == "./kafka-chaos")
    assert given["scenarios"].split() == of_the_script()
    assert int(given["repeat"]) == REPEAT
    assert int(given["minutes"]) + 60 < job["timeout-minutes"] <= 360, "builds, the last run, and cells run again"


def of_the_script() -> list[str]:
    """The scenarios of the script."""
    found = re.search(r'(?s)scenarios="(.*?)"', fenced("sh", "#!/bin/sh"))
    assert found is not None
    assert f"repeat={REPEAT}\n" in fenced("sh", "#!/bin/sh")
    return found[1].split()


def rows() -> list[tuple[list[str], int, int]]:
    """What the page has for code that was changed: the scenarios, the runs and the minutes."""
    found = re.findall(r"(?m)^\| .*\]\(scenarios/.*\| (\d+) \| (\d+) \|$", PAGE)
    lines = re.findall(r"(?m)^\| .*\]\(scenarios/.*\|$", PAGE)
    assert len(lines) == len(found) > 5
    return [
        (re.findall(r"\(scenarios/([\w-]+)\.md\)", line), int(runs), int(minutes))
        for line, (runs, minutes) in zip(lines, found, strict=True)
    ]


def test_the_runs_and_minutes_of_each_row_are_those_of_the_ledger() -> None:
    lines = list(store.load().lines)
    assert rows()[0][0] == of_the_script()
    for names, runs, minutes in rows():
        asked = cells(map(get_scenario, names), [versions.get("4.3.1")], seed=1, repeat=1)
        assert set(names) == {cell.scenario for cell in asked}, "each applies to the newest releases"
        assert 2 * REPEAT * len(asked) == runs, names
        took = sum(plan.durations(lines, asked).values()) * 2 * REPEAT / 60
        assert 0.7 * took < minutes < 1.3 * took, f"{names}: {took:.0f} minutes by the ledger"
        assert minutes < 170, "a night"
    assert f"are 11 cells: {rows()[0][1]} runs, {rows()[0][1] // 2} of each build" in PAGE
    assert f"about {rows()[0][2]} minutes" in PAGE


def test_the_share_of_unexpected_runs_of_unchanged_releases_is_the_ledgers() -> None:
    tally = Counter[str]()
    for scenario in of_the_script():
        for by_version in results.by_scenario()[scenario]["cases"].values():
            for version in ("4.3.1", "4.4.0"):
                tally.update(by_version.get(version, {"verdicts": {}})["verdicts"])
    told = re.search(r"about 1 run in (\d+) of these cells was \*unexpected\*", PAGE)
    assert told is not None
    one_in = (tally["unexpected"] + tally["as-documented"]) / tally["unexpected"]
    assert 0.6 < int(told[1]) / one_in < 1.6, f"one in {one_in:.0f}"


def sample(name: str, lost: int, runs: int) -> list[Ran]:
    """So many runs of one cell, some of which lost a record."""
    return [
        Ran(
            run=f"{name}-{number}",
            cell=("double-failover", "default", "4.3.1"),
            at="",
            place="runs",
            verdict="unexpected" if number < lost else "as-documented",
            setting=("Linux, 2 cores", "quiet"),
            shown={LOST: number < lost, KEPT: False},
            times_ms={},
            lines=frozenset(),
        )
        for number in range(runs)
    ]


@pytest.mark.parametrize(
    ("lost", "runs", "told"), [(3, 7, False), (4, 5, False), (5, 5, True), (7, 7, True), (6, 14, False), (9, 21, True)]
)
def test_losses_that_the_page_says_are_told_or_not(lost: int, runs: int, told: bool) -> None:
    assert bool(compare(sample("old", 0, runs), sample("new", lost, runs)).regressions) is told
    words = {(3, 7): "3 of 7 runs against 0 of 7", (9, 21): "three nights is 9 of 21", (4, 5): "in 4 of 5 runs is not"}
    assert words.get((lost, runs), "") in PAGE


def test_the_planted_night_that_the_page_tells_of_is_on_its_page() -> None:
    planted = (ROOT / "docs" / "planted.md").read_text()
    (told,) = re.findall(r"(?m)^    (truncates-to-high-watermark-2: .*)$", PAGE)
    assert told in planted
    row = re.search(r"\| truncates-to-high-watermark-2 \| (\d+) \| (\d+) \|", planted)
    assert row is not None
    assert f"found {row[2]} of {row[1]} runs of that build *unexpected*" in PAGE


def commands(text: str) -> Sequence[list[str]]:
    """Commands of the program in indented examples, as words."""
    found = re.findall(r"(?m)^    .*?\.venv/bin/kafka-chaos (.*?)(?:; done)?$", re.sub(r"(?s)```.*?```", "", text))
    return [shlex.split(one) for one in found if "…" not in one]


def test_every_command_of_the_page_is_understood() -> None:
    every = commands(PAGE)
    assert {one[0] for one in every} >= {"suite", "matrix", "report", "run", "prune"}
    for words in every:
        options.parser().parse_args(words)
    with pytest.raises(SystemExit):
        options.parser().parse_args([*every[0], "--no-such-option"])


def test_the_scripts_are_parsed() -> None:
    for name in ("sh", "bash"):
        subprocess.run([name, "-n"], input=fenced("sh", "#!/bin/sh"), text=True, check=True)
    for step in next(iter(workflow()["jobs"].values()))["steps"]:
        subprocess.run(["bash", "-n"], input=step.get("run", ""), text=True, check=True)
    subprocess.run(["bash", "-n", str(ROOT / ".ci" / "matrix")], check=True)
