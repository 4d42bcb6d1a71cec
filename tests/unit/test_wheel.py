"""What an installed copy has: everything that a checkout says of runs, it says too; and what it can do by itself.

The wheel is installed into an environment of its own, outside a checkout, with the packages that it cannot do without.
These are copied from this environment, as their own lists of files say: no package index is asked.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement

import results
from app import extras
from kafka_chaos import __main__ as program

ROOT = Path(__file__).parents[2]
MOST_BYTES = 30_000_000
"""Of all files that the installation has, compiled modules too."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PROGRAM = f"kafka_chaos/{program.PROGRAM.name}"
"""Where a wheel has the program's packages."""
ELSEWHERE = {"jpype1": "jpype"}
"""Packages whose module has another name, apart from hyphens."""


def build(to: Path) -> Path:
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(to), versions=["standard"])
    return Path(wheel)


def test_the_wheel_has_what_runs_showed(tmp_path: Path) -> None:
    with ZipFile(build(tmp_path)) as file:
        carried = {name: file.getinfo(name).file_size for name in file.namelist()}
        (entries,) = (file.read(name).decode() for name in carried if name.endswith("entry_points.txt"))
    assert {"kafka_chaos/pytest_plugin.py", "kafka_chaos/session.py", "kafka_chaos/py.typed"} <= carried.keys()
    assert "[console_scripts]\nkafka-chaos = kafka_chaos.__main__:main" in entries
    # Beside those of others there is one package of ours: common names such as "app" stay inside it.
    assert {name.partition("/")[0] for name in carried} == {"kafka_chaos", "kafka_chaos-0.1.0.dist-info"}
    assert "[pytest11]\nkafka-chaos = kafka_chaos.pytest_plugin" in entries
    data = [path for path in results.ROOT.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert results.ROOT / "told" / "museum-late-end.json" in data
    # These are for pages, which a checkout makes.
    data = [path for path in data if path.parent.name not in (results.PICTURES, results.NIGHTS)]
    sizes = {f"{PROGRAM}/results/{path.relative_to(results.ROOT)}": path.stat().st_size for path in data}
    packed = {name for name in sizes if f"/{results.LEDGER}/" in name or name.endswith(results.CELLS)}
    assert {name: size for name, size in sizes.items() if name not in packed}.items() <= carried.items()
    assert len(packed) > 1
    assert {name for name in carried if name.endswith(results.PACKED)} == {f"{one}{results.PACKED}" for one in packed}
    there = {name for name in carried if name.startswith(f"{PROGRAM}/results/") and not name.endswith(results.PACKED)}
    assert there == sizes.keys() - packed


def modules_of(names: list[str]) -> set[str]:
    """The modules that packages bring, in the way that app/extras.py names them."""
    packages = (Requirement(name) for name in names)
    return {
        ELSEWHERE.get(one.name, one.name.replace("-", "_").removesuffix("_py"))
        for one in packages
        if one.name != PROJECT["name"]
    }


def test_each_extra_is_known_by_its_modules() -> None:
    optional = PROJECT["optional-dependencies"]
    assert modules_of(optional["live"]) == extras.LIVE
    assert modules_of(optional["run"]) | extras.LIVE == extras.RUN
    assert "kafka-chaos[live,sources]" in optional["run"]
    assert modules_of(PROJECT["dependencies"]) & extras.RUN == set()


def needed(names: list[str], seen: dict[str, Distribution]) -> dict[str, Distribution]:
    """The packages that some take, and what these take, without extras."""
    for name in names:
        requirement = Requirement(name)
        if requirement.name in seen or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        seen[requirement.name] = found = distribution(requirement.name)
        needed(found.requires or [], seen)
    return seen


@dataclass(frozen=True)
class Installed:
    """A copy of the program, in an environment of its own."""

    environment: Path
    folder: Path
    """Where it is run: no checkout."""

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        # None of this environment's own: neither where its modules are nor that they are measured.
        kept = {name: value for name, value in os.environ.items() if not re.match("PYTHON|COV|VIRTUAL", name)}
        command = [str(self.environment / "bin" / "kafka-chaos"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.folder, env=kept)

    @property
    def packages(self) -> Path:
        (found,) = self.environment.glob("lib/python*/site-packages")
        return found


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp("installed")
    made = Installed(folder / "venv", folder / "elsewhere")
    made.folder.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", made.environment], check=True)
    for one in needed(PROJECT["dependencies"], {}).values():
        for file in one.files or ():
            place = made.packages / file
            if ".." not in file.parts and "__pycache__" not in file.parts:
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file.locate(), place)
    uv = str(Path(sys.prefix) / "bin" / "uv")
    install = [uv, "pip", "install", "--quiet", "--offline", "--no-cache", "--no-deps", "--compile-bytecode"]
    subprocess.run([*install, "--python", str(made.environment / "bin" / "python"), str(build(folder))], check=True)
    shutil.copytree(ROOT / "audit" / "examples" / "spring-2.8", made.folder / "spring")
    yield made
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["audit", "spring"], "grade"),
        (["museum", "--version", "2.8"], "museum-late-end"),
        (["museum"], "found here, and no exhibits"),
        (["atlas", "--version", "2.8"], "Lost: "),
        (["atlas", "--settings", "spring", "--version", "2.8"], "Lost: "),
        (["list"], "scenarios with"),
        (["list", "double-failover"], "source: "),
        (["list", "--claims"], "acks-all-waits-for-isr"),
        (["findings"], "releases  "),
    ],
    ids=str,
)
def test_what_an_installation_without_extras_answers(installed: Installed, arguments: list[str], told: str) -> None:
    done = installed.run(*arguments)
    assert done.returncode == 0, done.stderr
    assert told in done.stdout
    assert str(ROOT) not in done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "baseline", "--version", "4.3.1"], r"run needs \w+, .*'kafka-chaos\[run\]'"),
        (["suite"], r"suite needs \w+, .*'kafka-chaos\[run\]'"),
        (["incident", "spring"], r"incident needs \w+, .*'kafka-chaos\[run\]'"),
        (["audit", "spring", "--bootstrap", "127.0.0.1:1"], r"audit needs confluent_kafka, .*'kafka-chaos\[live\]'"),
        (["list", "--anomalies"], r"list needs numpy, .*'kafka-chaos\[run\]'"),
    ],
    ids=str,
)
def test_what_takes_an_extra_names_it_in_a_line(installed: Installed, arguments: list[str], said: str) -> None:
    done = installed.run(*arguments)
    assert (done.returncode, done.stdout) == (254, "")
    assert re.fullmatch(rf"kafka-chaos: {said}\n", done.stderr), done.stderr


@pytest.mark.slow
def test_an_installation_without_extras_is_small(installed: Installed) -> None:
    there = {path.name for path in installed.packages.iterdir()}
    assert "kafka_chaos" in there
    assert there & extras.RUN == set()
    files = [path for path in installed.packages.rglob("*") if path.is_file()]
    assert {"__pycache__"} <= {path.parent.name for path in files}
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES
