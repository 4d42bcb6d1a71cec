"""From a run directory to findings, verdict and report: the analysis as a process of its own, fed one run at a time.

Spark takes seconds to start and a second to judge one run, so its start overlaps the cluster's: `AnalysisServer`
starts `python -m analysis.job --serve` in the background and waits for it only when the first run is ready.
One application serves a whole suite.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Final, Self

from evidence.errors import HarnessError
from evidence.rundir import RunDir
from evidence.worker import Worker
from judgement import ledger
from judgement.report import html, junit
from judgement.report.facts import JudgedRun, judge_run, unbound

READY_LIMIT_S: Final = 120.0
CHECK_LIMIT_S: Final = 1800.0
CLOSE_LIMIT_S: Final = 15.0


class AnalysisServer:
    """A Spark application that waits for run directories. Safe to use from several threads, one check at a time."""

    def __init__(self, *, java_home: str | None = None, master: str = "local[2]", lazy: bool = False) -> None:
        """Start the application; with `lazy`, only when `start` is called or the first run is to be checked.

        `java_home` is the Java to run it with; by default the application takes what JAVA_HOME or the PATH names.
        """
        self._environment = {"JAVA_HOME": java_home} if java_home else {}
        self._master = master
        self._process: Worker | None = None
        self._lock = threading.Lock()
        self._ready = False
        if not lazy:
            self.start()

    def start(self) -> None:
        """Start the application if it is not started yet; does not wait until it is ready."""
        self._started()

    def _started(self) -> Worker:
        if self._process is None:
            self._process = Worker(
                "the analysis",
                "analysis.job",
                ["--serve", "--master", self._master],
                environment=self._environment,
                fresh=True,
            )
        return self._process

    def check(self, run_dir: RunDir) -> None:
        """Write the run's findings.

        Raises HarnessError, with the end of what the analysis printed, if it cannot.
        """
        with self._lock:
            process = self._started()
            if not self._ready:
                process.receive(READY_LIMIT_S, "starting")
                self._ready = True
            process.send_line(str(run_dir.path.resolve()))
            answer = process.receive(CHECK_LIMIT_S, f"checking {run_dir.path.name}")
            if answer.get("error"):
                raise HarnessError(f"the analysis of {run_dir.path.name} failed: {answer['error']}")

    def close(self) -> None:
        """End the application, if it was started."""
        if self._process is not None:
            self._process.close(CLOSE_LIMIT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def judge(run_dir: RunDir, analyst: AnalysisServer) -> JudgedRun:
    """Findings, verdict, its line in the ledger, report and JUnit file of one run, whose files are read once for all.

    A failure of the analysis is part of the verdict (unknown), never a missing one.
    """
    failure = None
    with ThreadPoolExecutor(1) as pool:
        differs = pool.submit(unbound, run_dir)  # it reads every file, as the analysis does
        try:
            analyst.check(run_dir)
        except HarnessError as error:
            run_dir.findings.unlink(missing_ok=True)
            failure = str(error)
        judged = judge_run(run_dir, analysis_failure=failure, differs=differs.result())
    ledger.tell(judged)
    html.write_run(judged)
    junit.write_run(judged)
    return judged
