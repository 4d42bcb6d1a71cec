"""From a run directory to findings, verdict and report: the analysis as a process of its own, fed one run at
a time.

Spark takes seconds to start and a second to judge one run, so its start overlaps the cluster's: `Analyst`
starts `python -m analysis.job --serve` in the background and waits for it only when the first run is ready.
One application serves a whole suite.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import IO, Any, Final, Self

from evidence.errors import HarnessError
from evidence.rundir import RunDir
from harness.setup.java import find_java
from judgement import verdict
from judgement.report import html, junit

READY_LIMIT_S: Final = 120.0
CHECK_LIMIT_S: Final = 1800.0


class Analyst:
    """A Spark application that waits for run directories. Safe to use from several threads, one check at a
    time.
    """

    def __init__(self, *, master: str = "local[2]", lazy: bool = False) -> None:
        """Start the application; with `lazy`, only when `start` is called or the first run is to be checked."""
        self._master = master
        self._process: subprocess.Popen[str] | None = None
        self._readers: list[threading.Thread] = []
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._complaints: list[str] = []
        self._lock = threading.Lock()
        self._ready = False
        if not lazy:
            self.start()

    def start(self) -> None:
        """Start the application if it is not started yet; does not wait until it is ready."""
        if self._process is not None:
            return
        self._process = subprocess.Popen(
            [sys.executable, "-m", "analysis.job", "--serve", "--master", self._master],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"JAVA_HOME": str(find_java().parent.parent)},
            # Ctrl-C is for the harness; the application ends when its input does.
            start_new_session=True,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._readers = [
            threading.Thread(target=self._read_answers, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._read_complaints, args=(self._process.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read_answers(self, stream: IO[str]) -> None:
        for line in stream:
            try:
                value = json.loads(line)
            except json.JSONDecodeError:
                self._complaints.append(line.rstrip())
                continue
            if isinstance(value, dict):
                self._answers.put(value)
        self._answers.put(None)

    def _read_complaints(self, stream: IO[str]) -> None:
        for line in stream:
            self._complaints.append(line.rstrip())
            del self._complaints[:-200]

    def _answer(self, limit_s: float, what: str) -> Mapping[str, Any]:
        deadline = time.monotonic() + limit_s
        try:
            answer = self._answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise HarnessError(
                f"the analysis gave no answer in {limit_s:.0f} s while {what}; it said: {self._said()}"
            ) from None
        if answer is None:
            self._answers.put(None)
            raise HarnessError(f"the analysis ended while {what}; it said: {self._said()}")
        return answer

    def _said(self) -> str:
        return " | ".join(self._complaints[-12:]) or "nothing"

    def check(self, run_dir: RunDir) -> None:
        """Write the run's findings.

        Raises HarnessError, with the end of what the analysis printed, if it cannot.
        """
        with self._lock:
            self.start()
            assert self._process is not None
            if not self._ready:
                self._answer(READY_LIMIT_S, "starting")
                self._ready = True
            assert self._process.stdin is not None
            try:
                self._process.stdin.write(f"{run_dir.path.resolve()}\n")
                self._process.stdin.flush()
            except BrokenPipeError:
                raise HarnessError(f"the analysis has ended; it said: {self._said()}") from None
            answer = self._answer(CHECK_LIMIT_S, f"checking {run_dir.path.name}")
            if answer.get("error"):
                raise HarnessError(f"the analysis of {run_dir.path.name} failed: {answer['error']}")

    def close(self) -> None:
        """End the application, if it was started."""
        if self._process is None:
            return
        if self._process.stdin is not None and not self._process.stdin.closed:
            try:
                self._process.stdin.close()
            except BrokenPipeError:
                self._complaints.append("input closed early")
        try:
            self._process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def judge(run_dir: RunDir, analyst: Analyst) -> verdict.Verdict:
    """Findings, verdict, report and JUnit file of one run.

    A failure of the analysis is part of the verdict (unknown), never a missing one.
    """
    try:
        analyst.check(run_dir)
    except HarnessError as error:
        run_dir.findings.unlink(missing_ok=True)
        judged = verdict.judge_run(run_dir, analysis_failure=str(error))
    else:
        judged = verdict.judge_run(run_dir)
    html.write_run(run_dir)
    junit.write_run(run_dir)
    return judged
