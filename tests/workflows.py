"""Runs the steps of an Action, the job of a workflow and the script of a GitLab job as their runners do, as far as ours
need it.

GitHub: composite actions, jobs of one machine, expressions of inputs and of outputs of steps, `if` with `&&`,
`always()`, `==` and `!=`; a step without `if` is left out after one that failed. A step that uses another action is not
run but taken down.
https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax

GitLab: inputs of a component with their defaults, variables that name others, and the lines of `script` in one shell.
https://docs.gitlab.com/ci/inputs/
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

EXPRESSION: Final = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
INPUT: Final = re.compile(r"\$\[\[\s*inputs\.([\w-]+)\s*\]\]")


@dataclass
class Job:
    """What became of a job."""

    status: int = 0
    """Of the first command that failed."""
    said: str = ""
    used: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """Other actions, without their commits, and what they were given."""
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""


def run_action(
    folder: Path,
    workspace: Path,
    inputs: Mapping[str, str],
    *,
    environment: Mapping[str, str],
    hits: bool = False,
) -> Job:
    """Run the action.yml of a folder. `hits` says whether the cache has what is asked for."""
    action = yaml.safe_load((folder / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    assert set(inputs) <= set(action["inputs"]), "an input that the action does not have"
    known = {f"inputs.{name}": inputs.get(name, one.get("default", "")) for name, one in action["inputs"].items()}
    job = Job()

    steps = action["runs"]["steps"]
    assert all(step["shell"] == "bash" for step in steps if "run" in step)
    assert all(re.fullmatch(r"\S+@[0-9a-f]{40}", step["uses"]) for step in steps if "uses" in step), "not pinned"
    given = {**environment, "GITHUB_ACTION_PATH": str(folder)}
    filled = _run_steps(job, steps, known, workspace, given, hits=hits)
    job.outputs = {name: filled(one["value"]) for name, one in action["outputs"].items()}
    return job


def run_workflow(
    workflow: Mapping[str, Any],
    workspace: Path,
    github: Mapping[str, str],
    *,
    environment: Mapping[str, str],
    hits: bool = False,
) -> Job:
    """Run the one job of a workflow. Actions are taken down, so a test puts there beforehand what they would bring."""
    known = {f"github.{name}": value for name, value in github.items()}
    named = {name: _filled(str(value), known) for name, value in workflow.get("env", {}).items()}
    known |= {f"env.{name}": value for name, value in named.items()}
    (described,) = workflow["jobs"].values()
    job = Job()
    _run_steps(job, described["steps"], known, workspace, {**environment, **named}, hits=hits)
    return job


def _filled(text: str, known: Mapping[str, str]) -> str:
    """A text with the values of its expressions. An output that no step has is empty, as at GitHub."""

    def value(name: str) -> str:
        assert name in known or name.startswith("steps."), name
        return str(known.get(name, ""))

    return EXPRESSION.sub(lambda found: value(found[1]), str(text))


def _run_steps(
    job: Job,
    steps: Sequence[Mapping[str, Any]],
    known: dict[str, str],
    workspace: Path,
    environment: Mapping[str, str],
    *,
    hits: bool,
) -> Callable[[str], str]:
    """Run steps one after the other, and give what fills in expressions afterwards. `known` gets their outputs."""

    def filled(text: str) -> str:
        return _filled(text, known)

    def holds(condition: str) -> bool:
        parts = [part.strip() for part in condition.split("&&")]
        always = "always()" in parts
        if not always and job.status:
            return False
        compared = [re.fullmatch(r"(\S+) (==|!=) '(.*)'", part) for part in parts if part != "always()"]
        return all(
            one is not None and (filled(f"${{{{ {one[1]} }}}}") == one[3]) == (one[2] == "==") for one in compared
        )

    for number, step in enumerate(steps):
        if not holds(step.get("if", "")) if step.get("if") else job.status:
            continue
        if "uses" in step:
            name, _, _ = step["uses"].partition("@")
            job.used.append((name, {key: filled(given) for key, given in step.get("with", {}).items()}))
            if step.get("id"):
                known[f"steps.{step['id']}.outputs.cache-hit"] = "true" if hits else ""
            continue
        files = {name: workspace.parent / f"{name}-{number}" for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.touch()
        script = workspace.parent / f"step-{number}.sh"
        script.write_text(filled(step["run"]))
        done = _bash(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            workspace,
            {**environment, "GITHUB_ACTIONS": "true"}
            | {name: str(file) for name, file in files.items()}
            | {name: filled(given) for name, given in step.get("env", {}).items()},
        )
        job.said += done.stdout
        job.status = job.status or done.returncode
        job.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        for line in files["GITHUB_OUTPUT"].read_text().splitlines():
            name, _, told = line.partition("=")
            known[f"steps.{step['id']}.outputs.{name}"] = told
    return filled


def run_component(
    template: Path, workspace: Path, inputs: Mapping[str, Any], *, environment: Mapping[str, str]
) -> tuple[Job, dict[str, Any]]:
    """Run the one job of a GitLab component; what became of it, and the job as it was filled in."""
    header, _, body = template.read_text().partition("\n---\n")
    declared = yaml.safe_load(header)["spec"]["inputs"]
    assert set(inputs) <= set(declared), "an input that the component does not have"
    missing = [name for name, one in declared.items() if "default" not in one and name not in inputs]
    assert not missing, f"inputs without a value: {missing}"
    values = {name: inputs.get(name, one.get("default")) for name, one in declared.items()}
    (filled,) = yaml.safe_load(INPUT.sub(lambda found: str(values[found[1]]), body)).values()
    variables: dict[str, str] = {}
    for name, given in filled["variables"].items():
        variables[name] = re.sub(r"\$(\w+)", lambda found: environment.get(found[1], ""), str(given))
    script = workspace.parent / "script.sh"
    script.write_text("\n".join(["set -eo pipefail", *filled["script"]]))
    done = _bash(["bash", str(script)], workspace, {**environment, **variables})
    return Job(status=done.returncode, said=done.stdout), filled


def _bash(command: list[str], workspace: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=workspace,
        env=os.environ | dict(environment),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
