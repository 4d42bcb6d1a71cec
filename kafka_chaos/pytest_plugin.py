"""The plugin of pytest (docs/pytest.md): scenarios as items, and a cluster for tests of your own.

    pytest --kafka-chaos double-failover,leader-crash --kafka-versions 2.8.2,4.3.1

adds an item for each scenario, case, version and seed, such as `kafka-chaos::leader-crash[acks-1-4.3.1]`. Each is a
run in a process of its own, so `-k`, `-x`, `--lf` and `-n` work as for any test. A run that is not as documented fails
with what happened to the records; so does one that proves nothing, since it has not passed.

The fixtures `kafka_cluster` and `chaos` are for tests of your own.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest

from kafka_chaos.session import LAST_LINES, PROGRAM, Chaos, ChaosError, Cluster, begin, decoded, ended

GOOD: Final = ("as-documented", "observed")
MARK: Final = "kafka_chaos"
DEFAULT_CASE: Final = "default"
SUITE: Final = "suite"


def pytest_addoption(parser: pytest.Parser) -> None:
    """What is run, and by which program."""
    group = parser.getgroup("kafka-chaos", "Kafka under fault")
    group.addoption(
        "--kafka-chaos", metavar="NAMES", help=f"run these scenarios as items, or all, or {SUITE} (the default suite)"
    )
    group.addoption(
        "--kafka-versions", metavar="V", help="releases, such as 2.8.2,4.3.1; kafka_cluster takes the first"
    )
    group.addoption("--kafka", metavar="BUILD", help="a build of your own: a directory, an archive or an image")
    group.addoption("--kafka-case", metavar="C", action="append", default=[], help="only this case; again for more")
    group.addoption("--kafka-seed", metavar="N", type=int, default=1, help="seed of the first run (default 1)")
    group.addoption("--kafka-repeat", metavar="N", type=int, default=1, help="seeds of each case (default 1)")
    group.addoption("--kafka-runs-dir", metavar="DIR", default="runs/pytest", help="(default runs/pytest)")
    group.addoption("--kafka-chaos-program", metavar="COMMAND", help="the program, where it is not in this environment")


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known that every such item has."""
    config.addinivalue_line("markers", f"{MARK}: a scenario of kafka-chaos, on real brokers")


def program_of(config: pytest.Config) -> list[str]:
    """The program to call."""
    named = config.getoption("--kafka-chaos-program")
    return shlex.split(named) if named else list(PROGRAM)


def cells(config: pytest.Config, names: str) -> list[dict[str, Any]]:
    """What these names stand for: a scenario, case, version and seed each. Raises UsageError in the program's words."""
    option = config.getoption
    asked = [SUITE] if names == SUITE else ["matrix", "--scenarios", names]
    asked += ["--versions", option("--kafka-versions")] if option("--kafka-versions") else []
    asked += ["--kafka", option("--kafka")] if option("--kafka") else []
    asked += [part for case in option("--kafka-case") for part in ("--case", case)]
    asked += ["--seed", str(option("--kafka-seed")), "--repeat", str(option("--kafka-repeat"))]
    done = subprocess.run(
        [*program_of(config), *asked, "--dry-run", "--json", "--quiet"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise pytest.UsageError(f"--kafka-chaos {names}: {done.stderr.strip() or f'status {done.returncode}'}")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add an item for each run. First of all, so that -k, -m and --lf choose among them too."""
    names = config.getoption("--kafka-chaos")
    if names:
        runs = Runs.from_parent(session, name="kafka-chaos", nodeid="kafka-chaos")
        items += [ScenarioRun.of(runs, cell) for cell in cells(config, names)]


class Runs(pytest.Collector):
    """Has the items of all runs."""

    def collect(self) -> list[pytest.Item]:
        """They were made by pytest_collection_modifyitems."""
        return []


class NotGood(Exception):
    """A run that is not as documented, or that proves nothing."""


class ScenarioRun(pytest.Item):
    """One run of one scenario."""

    cell: Mapping[str, Any]

    @classmethod
    def of(cls, runs: Runs, cell: Mapping[str, Any]) -> ScenarioRun:
        """The item of a cell."""
        parts = [cell["case"]] if cell["case"] != DEFAULT_CASE else []
        parts += [cell["version"], f"seed-{cell['seed']}"]
        made: ScenarioRun = cls.from_parent(runs, name=f"{cell['scenario']}[{'-'.join(parts)}]")
        made.cell = cell
        made.add_marker(MARK)
        return made

    def runtest(self) -> None:
        """Run it, and judge it. Raises NotGood."""
        cell, runs_dir = self.cell, self.config.getoption("--kafka-runs-dir")
        command = [*program_of(self.config), "run", cell["scenario"], "--case", cell["case"]]
        command += ["--version", cell["version"], "--seed", str(cell["seed"]), "--runs-dir", runs_dir, "--json-lines"]
        verdict, said = None, []
        try:
            with begin(command) as process, ended(process):
                for line in process.stdout or ():
                    one = decoded(line)
                    verdict = one if one["kind"] == "run" else verdict
                    said += [one["text"]] if one.get("text") else []
        finally:
            self.add_report_section("call", "kafka-chaos", "\n".join(said))
        if verdict is None:
            raise NotGood(f"{self.name}: no verdict (status {process.returncode}): {' | '.join(said[-LAST_LINES:])}")
        self.user_properties += [("verdict", verdict["verdict"]), ("run_dir", verdict["run_dir"])]
        if verdict["verdict"] not in GOOD:
            raise NotGood(self._in_words(verdict))

    def _in_words(self, verdict: Mapping[str, Any]) -> str:
        """What happened, as the run's own reports have it."""
        place = Path(verdict["run_dir"])
        try:
            story = ET.parse(place / "junit.xml").findtext(".//system-out") or ""
        except (OSError, ET.ParseError):
            story = "\n".join(verdict.get("reasons", ()))
        return f"{self.name}: {verdict['verdict']}\n{story.strip()}\nreport: {place / 'report.html'}"

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What happened to the records, in place of a traceback."""
        if isinstance(excinfo.value, NotGood):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Where pytest says that it is: nowhere in a file of the tests'."""
        return self.path, None, f"kafka-chaos::{self.name}"


@pytest.fixture(scope="session")
def kafka_cluster(request: pytest.FixtureRequest) -> Iterator[Callable[..., Cluster]]:
    """Brings clusters up: `kafka_cluster(version="4.3.1", brokers=3, settings={…})`, or `kafka="~/kafka"` of a build.

    The same arguments give the same cluster until the end of the session. Without a version it is the one that
    --kafka or --kafka-versions names on the command line.
    """
    option, up = request.config.getoption, dict[tuple[Any, ...], Cluster]()

    def cluster(
        version: str | None = None,
        *,
        kafka: str | None = None,
        brokers: int = 3,
        settings: Mapping[str, str] | None = None,
    ) -> Cluster:
        if version is kafka is None:
            kafka, version = option("--kafka"), (option("--kafka-versions") or "").replace(",", " ").partition(" ")[0]
        if not version and kafka is None:
            raise ChaosError('name a release: kafka_cluster(version="4.3.1"), or --kafka-versions', "UsageError")
        wanted = (version, kafka, brokers, tuple(sorted((settings or {}).items())))
        if wanted not in up:
            up[wanted] = Cluster.start(
                program_of(request.config),
                version=version or None,
                kafka=kafka,
                brokers=brokers,
                settings=settings,
                runs_dir=option("--kafka-runs-dir"),
            )
        return up[wanted]

    yield cluster
    for one in up.values():
        one.close()


STRUCK: Final = pytest.StashKey[Chaos]()


@pytest.fixture
def chaos(request: pytest.FixtureRequest) -> Iterator[Chaos]:
    """Faults for brokers of these clusters, each proved; undone after the test, when every replica is in sync again."""
    made = request.node.stash[STRUCK] = Chaos()
    yield made
    made.heal()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show beside a failed test of yours which faults there were, with their proofs."""
    report = yield
    struck = item.stash.get(STRUCK, None)
    if report.failed and struck is not None:
        report.sections.append(("kafka-chaos", "\n".join(struck.said)))
    return report


__all__: Sequence[str] = ["Chaos", "ChaosError", "Cluster", "chaos", "kafka_cluster"]
