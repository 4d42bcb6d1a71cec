"""CI runs what README and CONTRIBUTING say, letter by letter: what a user types is what was tried."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
RUN = ROOT / ".ci" / "run"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
VARIABLE = re.compile(r'\b([A-Z]+)=("[^"]*"|\S+)')


def documented(page: str) -> list[str]:
    """The make commands that stand in a page's blocks of code, without remarks."""
    lines = re.findall(r"^    (make .*)$", (ROOT / page).read_text(), re.MULTILINE)
    return [line.partition("#")[0].strip() for line in lines]


def run_by_ci() -> list[str]:
    """The make commands of .ci/run."""
    return re.findall(r"^run (make .*)$", RUN.read_text(), re.MULTILINE)


def run_by(workflow: Path) -> list[str]:
    steps = [step for job in yaml.safe_load(workflow.read_text())["jobs"].values() for step in job["steps"]]
    return [step["run"] for step in steps if "run" in step and not step["run"].startswith("test ")]


def target(command: str) -> str:
    return VARIABLE.sub("", command).strip()


def variables(command: str) -> set[str]:
    return {name for name, _ in VARIABLE.findall(command)}


def test_ci_begins_with_make_test_as_readme_has_it() -> None:
    assert "make test" in documented("README.md")
    assert run_by_ci()[0] == "make test"
    assert ["make test"] in [run_by(workflow)[1:2] for workflow in WORKFLOWS]


@pytest.mark.parametrize("place", [RUN, *WORKFLOWS], ids=lambda path: path.name)
def test_ci_runs_what_is_written_down_and_nothing_else(place: Path) -> None:
    told = documented("README.md") + documented("CONTRIBUTING.md")
    commands = run_by_ci() if place == RUN else run_by(place)
    assert commands
    for command in commands:
        assert target(command) in {target(one) for one in told}, f"{command}: in neither README nor CONTRIBUTING"
        known = (ROOT / "Makefile").read_text()
        assert [name for name in variables(command) if not re.search(rf"^{name} \?=", known, re.MULTILINE)] == []


def test_ci_tries_each_python_that_the_package_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [one.rpartition(" ")[2] for one in project["classifiers"] if re.search(r":: Python :: 3\.\d+$", one)]
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    assert jobs["pythons"]["strategy"]["matrix"]["python"] == named
    assert project["requires-python"] == f">={named[0]}"
    minors = [int(one.partition(".")[2]) for one in named]
    assert minors == list(range(minors[0], minors[-1] + 1)), "one between two is left out"


def test_the_gate_waits_for_every_job() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    others = [name for name in jobs if name != "gate"]
    assert sorted(jobs["gate"]["needs"]) == sorted(others)
    (step,) = jobs["gate"]["steps"]
    asked, _, wanted = step["run"].partition(" = ")
    assert re.findall(r"needs\.(\w+)\.result", asked) == jobs["gate"]["needs"]
    assert wanted.strip('"').split() == ["success"] * len(others)


def test_nothing_is_handed_to_make_behind_its_back() -> None:
    """Only where things lie is CI's own: our variables, and the directories of pip, numba and temporary files."""
    exported = re.findall(r"^export (.*)$", RUN.read_text(), re.MULTILINE)
    names = {word.partition("=")[0] for line in exported for word in line.split()}
    assert names == {
        "KAFKA_CHAOS_NAMESPACE",
        "KAFKA_CHAOS_CACHE",
        "PIP_CACHE_DIR",
        "NUMBA_CACHE_DIR",
        "TMPDIR",
    }
    page = (ROOT / "docs" / "configuration.md").read_text()
    assert all(f"`{name}`" in page for name in names if name.startswith("KAFKA"))


def test_bare_machines_run_readmes_commands() -> None:
    tried = re.findall(r"^    try (make \S+)", (ROOT / "tests" / "bare" / "run").read_text(), re.MULTILINE)
    assert tried == ["make demo", "make chaos-run", "make test"]
    assert set(tried) <= set(documented("README.md"))
