"""`make unit`: which files of tests each process imports and runs.

By itself pytest-xdist has every process import all files before the first test begins, and at the end one process may
be left with a long file. Here each process is told its own files beforehand, so that each file is imported once. The
parts are equally long by what the files took last time in this checkout. For a new file this is guessed from its size.

A process that dies is not replaced: the test that it died of has failed, and what it had left is not run. One that
refuses what it has collected runs nothing, and pytest-xdist goes on without it: then the whole round has failed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest

from tests import tiers

KEY: Final = "kafka-chaos/seconds"
"""Where pytest's cache has the seconds of each file."""
BYTES_PER_SECOND: Final = 30_000
REFUSED: Final = (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR)
"""Statuses of a process whose tests were not run."""
FILES: Final = "files"
"""What a process is told its files by."""


def sizes() -> dict[str, int]:
    """Every file of tests, by its name below the root: how many bytes it has."""
    files = (tiers.ROOT / "tests").rglob("test_*.py")
    return {file.relative_to(tiers.ROOT).as_posix(): file.stat().st_size for file in files}


def split(sizes: Mapping[str, int], seconds: Mapping[str, float], count: int) -> list[list[str]]:
    """All files in `count` parts that take about the same time, by their seconds, or else by their sizes.

    >>> split({"a": 30_000, "b": 90_000, "c": 30_000, "new": 60_000}, {"a": 4.5}, 2)
    [['a', 'c'], ['b', 'new']]
    """
    taken = {file: seconds.get(file, size / BYTES_PER_SECOND) for file, size in sizes.items()}
    parts: list[list[str]] = [[] for _ in range(count)]
    sums = [0.0] * count
    for file in sorted(taken, key=lambda file: (-taken[file], file)):
        least = sums.index(min(sums))
        parts[least].append(file)
        sums[least] += taken[file]
    return parts


def own_files(config: pytest.Config) -> frozenset[str] | None:
    """The files of this process; None if it was not told any, and takes all."""
    told = getattr(config, "workerinput", {}).get(FILES)
    return None if told is None else frozenset(told)


def wanted(config: pytest.Config) -> bool:
    """Whether this process starts others that run the whole tier unit by file."""
    return (
        config.getoption("dist", "no") == "loadfile"
        and config.getoption("tier") == ["unit"]
        and config.args_source is pytest.Config.ArgsSource.TESTPATHS
        and not config.getoption("collectonly")
        and not hasattr(config, "workerinput")
    )


class Parts:
    """The plugin of the process that starts the others."""

    def __init__(self, config: pytest.Config) -> None:
        self._cache: pytest.Cache | None = getattr(config, "cache", None)  # there is none with -p no:cacheprovider
        self._before: dict[str, float] = self._cache.get(KEY, {}) if self._cache else {}
        self._now: defaultdict[str, float] = defaultdict(float)
        self._parts: list[list[str]] = []
        self._collected = 0
        config.option.maxworkerrestart = "0"

    @pytest.hookimpl
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a process its files, before it begins."""
        self._parts = self._parts or split(sizes(), self._before, node.workerinput["workercount"])
        node.workerinput[FILES] = self._parts.pop()

    @pytest.hookimpl
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    @pytest.hookimpl
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Each process runs all that it has collected."""
        from xdist.scheduler import EachScheduling

        return EachScheduling(config, log)

    @pytest.hookimpl
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._collected += len(ids)

    @pytest.hookimpl
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Fail if a process has ended without running its tests. Its status is not looked at by pytest-xdist."""
        status = getattr(node, "workeroutput", {}).get("exitstatus", pytest.ExitCode.OK)
        if status in REFUSED:
            self._session.shouldfail = f"a process ran none of its tests: it ended with status {int(status)}"

    @pytest.hookimpl
    def pytest_runtest_logstart(self) -> None:
        """Progress is shown of all tests: pytest-xdist itself takes the last process's for those of each."""
        self._session.testscollected = self._collected

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._now[report.nodeid.partition("::")[0]] += report.duration

    @pytest.hookimpl
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Keep what each file took, unless the round was cut short."""
        if session.shouldfail:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        elif self._cache and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            self._cache.set(KEY, self._before | self._now)
