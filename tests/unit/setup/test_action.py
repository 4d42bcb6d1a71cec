"""The Action and the GitLab template: their steps, taken from the YAML, run as a runner runs them.

The program, make and Docker are stand-ins that write down what they are given (tests/integration/test_action.py runs
the same steps with the real ones).
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from app import options
from tests.workflows import Job, run_action, run_component

ROOT = Path(__file__).parents[3]
PROGRAM = """#!/bin/bash
echo "kafka-chaos $*" >>"$STUB_LOG"
case $1 in
setup) echo kafka-chaos/kafka:4.3.1 ;;
compare)
    while [ "$1" != --out ]; do shift; done
    mkdir -p "$2" && echo "## 1 regression" >"$2/comparison.md"
    if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then echo "a table of both" >>"$GITHUB_STEP_SUMMARY"; fi
    exit "${STUB_STATUS:-0}" ;;
*)
    echo "1 unexpected"
    case "$*" in *"${STUB_BUILD:-}"*) exit "${STUB_JUDGED:-${STUB_STATUS:-0}}" ;; esac ;;
esac
"""
TOOL = """#!/bin/bash
echo "$(basename "$0") $*" >>"$STUB_LOG"
if [ "$1" = save ]; then echo layers >"$3"; fi
"""


@dataclass
class Place:
    """A copy of what the steps need, with stand-ins."""

    folder: Path
    workspace: Path
    log: Path

    @property
    def environment(self) -> dict[str, str]:
        path = f"{self.folder}/tools:/usr/bin:/bin"
        return {"STUB_LOG": str(self.log), "PATH": path, "KAFKA_CHAOS_CACHE": str(self.workspace.parent / "cache")}

    def act(
        self, status: int = 0, *, judged: int | None = None, judged_build: str = "", hits: bool = False, **inputs: str
    ) -> Job:
        """Run the Action. `status` is what the program ends with; `judged`, if given, what `suite` does, of the build
        whose options `judged_build` has."""
        named = {name.replace("_", "-"): value for name, value in inputs.items()}
        environment = self.environment | {"STUB_STATUS": str(status), "STUB_BUILD": judged_build}
        environment |= {} if judged is None else {"STUB_JUDGED": str(judged)}
        return run_action(self.folder, self.workspace, named, environment=environment, hits=hits)

    @property
    def called(self) -> list[str]:
        """What was called, without places of this machine."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line.replace(str(self.workspace.parent), "…") for line in lines]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path / "action", tmp_path / "workspace", tmp_path / "log")
    made.workspace.mkdir()
    for name in (".ci/matrix", "action.yml", "requirements.lock", "compose/Dockerfile"):
        (made.folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, made.folder / name)
    for name, text in ((".venv/bin/kafka-chaos", PROGRAM), ("tools/make", TOOL), ("tools/docker", TOOL)):
        (made.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (made.folder / name).write_text(text)
        (made.folder / name).chmod(0o755)
    return made


def test_the_action_sets_up_and_runs(place: Place) -> None:
    job = place.act(scenarios="leader-crash double-failover", versions="2.8.2 4.3.1", fail_on="error", shard="2/3")
    assert job.status == 0, job.said
    make, setup, save, run = place.called
    assert make == "make -C …/action --no-print-directory venv"
    assert setup == "kafka-chaos setup --versions 2.8.2 4.3.1"
    assert save == "docker save --output …/cache/images.tar.new kafka-chaos/kafka:4.3.1"
    assert run == (
        "kafka-chaos suite --scenarios leader-crash double-failover --seed 1 --jobs 2 "
        "--versions 2.8.2 4.3.1 --fail-on error --plan --shard 2/3 --retain interesting --runs-dir runs/kafka-chaos"
    )
    assert [name for name, _ in job.used] == ["actions/cache/restore", "actions/cache/save", "actions/upload-artifact"]
    restored, saved, kept = (given for _, given in job.used)
    assert restored == saved
    assert restored["key"].startswith("kafka-chaos-")
    assert kept == {"name": "kafka-chaos", "path": "runs/kafka-chaos", "if-no-files-found": "ignore"}
    assert job.outputs["junit"] == "runs/kafka-chaos/junit.xml"


def test_what_is_called_is_understood(place: Place) -> None:
    place.act(cases="acks-all acks-1", settings="a=b", kafka="build", minutes="5", scenarios="leader-crash")
    for line in (line for line in place.called if line.startswith("kafka-chaos ")):
        options.parser().parse_args(line.split()[1:])
    asked = options.parser().parse_args(place.called[-1].split()[1:])
    assert (asked.case, asked.setting, asked.kafka, asked.minutes) == (["acks-all", "acks-1"], ["a=b"], "build", 5)
    assert not any("docker save" in line for line in place.called), "the image of a build is of one commit"


def test_against_compares_two_builds_in_turn(place: Place) -> None:
    job = place.act(1, kafka="build.tgz", against="4.3.1", way="kraft", scenarios="leader-crash", repeat="7")
    assert job.status == 1
    ends = "--jobs 1 --minutes 1 --again {} --fail-on unexpected --retain interesting --runs-dir runs/kafka-chaos"
    assert place.called[-4:] == [
        "kafka-chaos setup --versions 4.3.1",
        "kafka-chaos compare --kafka-under-test build.tgz --against 4.3.1 --scenarios leader-crash --repeat 7 --seed 1 "
        "--jobs 2 --way kraft --runs-dir runs/kafka-chaos --out runs/kafka-chaos/compared",
        "kafka-chaos suite --scenarios leader-crash --seed 1 --repeat 7 --versions 4.3.1-kraft " + ends.format(0),
        "kafka-chaos suite --scenarios leader-crash --seed 1 --repeat 7 --kafka build.tgz --versions kraft "
        + ends.format(3),
    ]
    assert job.summary == "## 1 regression\n", "the program writes no table of both builds to it"
    assert job.outputs["comparison"] == "runs/kafka-chaos/compared/comparison.html"
    for line in (line for line in place.called if line.startswith("kafka-chaos ")):
        options.parser().parse_args(line.split()[1:])


@pytest.mark.parametrize(("compared", "judged", "status"), [(0, 1, 1), (2, 1, 1), (2, 0, 2), (1, 0, 1), (0, 0, 0)])
def test_a_run_that_contradicts_the_documentation_fails_too(
    place: Place, compared: int, judged: int, status: int
) -> None:
    job = place.act(compared, judged=judged, kafka="build.tgz", against="base.tgz", scenarios="leader-crash")
    assert job.status == status
    assert "The runs of base.tgz, beside what is documented:" in job.said
    judging = "kafka-chaos suite --scenarios leader-crash --seed 1 --repeat 5 --kafka build.tgz "
    assert place.called[-1].startswith(judging)


def test_an_unexpected_run_of_the_other_build_fails_nothing(place: Place) -> None:
    assert place.act(0, judged=1, judged_build="--kafka base.tgz", kafka="build.tgz", against="base.tgz").status == 0
    assert place.act(0, judged=1, judged_build="--kafka build.tgz", kafka="build.tgz", against="base.tgz").status == 1


def test_builds_that_cannot_be_compared_are_not_judged(place: Place) -> None:
    assert place.act(254, judged=0, kafka="build.tgz", against="build.tgz").status == 254
    assert place.called[-1].startswith("kafka-chaos compare")


def test_too_little_to_say_fails_only_where_unknown_does(place: Place) -> None:
    def status(compared: int, *, fail_on: str = "unknown") -> int:
        return place.act(compared, judged=0, versions="4.4.0", against="4.3.1", fail_on=fail_on).status

    assert status(2) == 2
    assert status(2, fail_on="error") == 0
    assert status(1, fail_on="error") == 1
    assert status(255, fail_on="unexpected") == 255


def test_parts_and_settings_are_refused_for_two_builds(place: Place) -> None:
    job = place.act(versions="4.4.0", against="4.3.1", shard="1/2")
    assert job.status == 254
    assert "two builds are compared without shards" in job.said
    assert not any(line.startswith("kafka-chaos compare") for line in place.called)


@pytest.mark.parametrize("status", [1, 2, 254, 255])
def test_the_status_is_the_programs_and_runs_are_kept_all_the_same(place: Place, status: int) -> None:
    job = place.act(status)
    assert job.status == status
    assert job.used[-1][0] == "actions/upload-artifact"
    assert "actions/upload-artifact" not in [name for name, _ in place.act(status, artifact="").used]


def test_images_in_the_cache_are_taken_and_not_saved_again(place: Place) -> None:
    assert place.act().status == 0
    place.log.unlink()
    job = place.act(hits=True)
    assert place.called[1] == "docker load --quiet --input …/cache/images.tar"
    assert "docker save" not in " ".join(place.called)
    assert "actions/cache/save" not in [name for name, _ in job.used]


def test_another_lock_or_version_is_another_key(place: Place) -> None:
    keys = [place.act().used[0][1]["key"], place.act(versions="4.3.1").used[0][1]["key"]]
    with (place.folder / "requirements.lock").open("a") as file:
        file.write("more==1\n")
    keys.append(place.act().used[0][1]["key"])
    assert len(set(keys)) == 3


def test_the_gitlab_job_clones_sets_up_and_runs(place: Place, tmp_path: Path) -> None:
    (place.folder / "Makefile").write_text("venv:\n")
    git = ["git", "-C", str(place.folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q", "-b", "main"], ["add", "-Af"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], check=True)
    environment = place.environment | {"CI_PROJECT_DIR": str(place.workspace)}
    environment |= {"CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "4", "STUB_STATUS": "2"}
    inputs = {"repository": str(place.folder), "versions": "4.3.1", "shards": 4}
    template = ROOT / "templates" / "kafka-chaos.yml"
    job, filled = run_component(template, place.workspace, inputs, environment=environment)
    assert job.status == 2, job.said
    assert place.called[-2:] == [
        "kafka-chaos setup --versions 4.3.1",
        "kafka-chaos suite --seed 1 --jobs 2 --versions 4.3.1 --fail-on unknown --plan --shard 2/4 "
        "--retain interesting --runs-dir runs/kafka-chaos",
    ]
    assert filled["parallel"] == 4
    assert filled["artifacts"]["reports"]["junit"] == [
        "runs/kafka-chaos/junit.xml",
        "runs/kafka-chaos/compared/comparison-junit.xml",
    ]
    assert filled["artifacts"]["when"] == "always"
    assert "/" not in filled["cache"]["key"]


def test_the_pages_examples_give_inputs_that_there_are_and_name_no_owner() -> None:
    page = (ROOT / "docs" / "in-your-ci.md").read_text()
    action = set(yaml.safe_load((ROOT / "action.yml").read_text())["inputs"])
    component = set(next(yaml.safe_load_all((ROOT / "templates" / "kafka-chaos.yml").read_text()))["spec"]["inputs"])
    examples = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    included = [one["include"][0]["inputs"] for one in examples if "include" in one]
    assert len(included) == 1
    assert set(included[0]) <= component
    steps = [step for one in examples for job in one.get("jobs", {}).values() for step in job["steps"]]
    given = [one["with"] for one in steps if str(one.get("uses", "")).startswith("./kafka-chaos")]
    assert len(given) == 2
    assert all(set(one) <= action for one in given)
    assert not re.search(r"\bOWNER\b|\bGROUP\b", page + (ROOT / "docs" / "audit.md").read_text())


def test_both_have_the_same_inputs_and_words() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    component = next(yaml.safe_load_all((ROOT / "templates" / "kafka-chaos.yml").read_text()))["spec"]["inputs"]
    common = set(action) & set(component)
    assert common >= {"scenarios", "versions", "kafka", "cases", "settings", "minutes", "repeat", "seed", "fail-on"}
    assert [name for name in common if action[name]["default"] != component[name]["default"]] == []
    assert component["fail-on"]["options"] == list(options.FAIL_ON)
    page = (ROOT / "docs" / "in-your-ci.md").read_text()
    assert [name for name in set(action) | set(component) if f"`{name}`" not in page] == []
