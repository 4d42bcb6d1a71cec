"""`make demo`: from a bare machine to a first verdict and its report, with progress throughout.

One image, one run: double-failover on 0.10.2.2, which loses an acknowledged record as KIP-101 says. A newcomer mostly
waits for downloads, so independent steps run side by side:

    Python packages (PySpark, 450 MB, above all)  ┐
    Docker, Compose, Java, a bare Debian          ┴→ jars and image → the run, its verdict and report

This module therefore runs before most packages are there: it imports none but the Docker SDK (`FIRST` of the Makefile
names it and what it needs). The archive of Spark's classes, which saves later suites some seconds, is left to
`make chaos-run`. The times that are named are those measured on a bare Debian 12 with four cores.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evidence.errors import HarnessError, KafkaChaosError
from evidence.text import forgiving_output, visible
from harness.cluster import docker, versions
from harness.setup import base, bootstrap, images

SCENARIO: Final = "double-failover"
VERSION: Final = "0.10.2.2"
RUNS: Final = Path("runs") / "demo"
EXIT_INTERRUPTED: Final = 130
SILENT_S: Final = 10.0
"""After so long without a line, one says what is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncedStep:
    """A step that takes long enough to be announced."""

    what: str
    about_s: int
    """How long it took on a bare machine."""


PACKAGES: Final = AnnouncedStep(what="installing the Python packages", about_s=90)
MACHINE: Final = AnnouncedStep(what="bringing Docker, Compose and Java", about_s=30)
BASE: Final = AnnouncedStep(what="bringing a bare Debian for the image", about_s=40)
IMAGE: Final = AnnouncedStep(what=f"fetching the jars of Kafka {VERSION} and building its image", about_s=40)
RUN: Final = AnnouncedStep(
    what=f"running {SCENARIO} on Kafka {VERSION}: a cluster, its faults, the verdict", about_s=25
)


class StepPrinter:
    """Prints lines with the seconds since the start; safe to use from several threads."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._began = time.monotonic()
        self._open: dict[AnnouncedStep, float] = {}
        self._heard = self._began
        self._lock = threading.Lock()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self._began

    def say(self, text: str) -> None:
        """Write one line."""
        with self._lock:
            self._heard = time.monotonic()
            self._write(f"{self.seconds:7.1f} s  {visible(text)}")

    def echo(self, text: str) -> None:
        """Print a step's lines, except those that it still goes on: `speaking` prints these, with the time it takes."""
        if not text.startswith("still "):
            self.say(text)

    @contextmanager
    def doing(self, step: AnnouncedStep) -> Iterator[None]:
        """Say that a step begins and about how long it takes, and at its end how long it took."""
        began = time.monotonic()
        self._open[step] = began
        self.say(f"{step.what}: about {step.about_s} s")
        try:
            yield
        finally:
            del self._open[step]
        self.say(f"{step.what}: done in {time.monotonic() - began:.0f} s")

    def waiting(self) -> str:
        """The steps under way, since when, and about how long each takes; "" if there is none."""
        now = time.monotonic()
        parts = [f"{step.what} ({now - began:.0f} s of about {step.about_s})" for step, began in self._open.items()]
        return "; ".join(parts)

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """While the block lasts, print what is waited for whenever no line was printed for a while."""
        over = threading.Event()

        def speak() -> None:
            while not over.wait(max(0.1, self._heard + SILENT_S - time.monotonic())):
                if time.monotonic() - self._heard >= SILENT_S and (text := self.waiting()):
                    self.say(text)

        speaker = threading.Thread(target=speak, daemon=True)
        speaker.start()
        try:
            yield
        finally:
            over.set()
            speaker.join()


class Packages:
    """`make venv` as a process of its own, which can be stopped as a whole."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def install(self, board: StepPrinter) -> None:
        """Run it to its end. Raises HarnessError with the last line that it printed if it fails."""
        last = "it said nothing"
        with board.doing(PACKAGES):
            with self._lock:
                if self._stopped:
                    return
                self._process = process = subprocess.Popen(
                    self._command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
                )
            assert process.stdout is not None
            with process.stdout:
                for line in process.stdout:
                    last = line.strip() or last
                    board.echo(line.rstrip())
            if process.wait() != 0:
                raise HarnessError(f"the Python packages were not installed: {last}")

    def stop(self) -> None:
        """End it with all that it started, if it runs, and let it not be started any more."""
        with self._lock:
            self._stopped = True
            if self._process is not None and self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGTERM)


def bring_machine(board: StepPrinter, version: versions.Version) -> None:
    """Docker, Compose, Java, and the bare Debian that the image is made from, if the image is not there yet."""
    with board.doing(MACHINE):
        bootstrap.ensure_engine(board.echo)
        bootstrap.ensure_compose(board.echo)
        bootstrap.ensure_java(board.echo)
    client = docker.connect()
    try:
        if images.present(client, version.build) is None:
            with board.doing(BASE):
                base.ensure_base(client, version.java, board.echo)
    finally:
        client.close()


def set_up(board: StepPrinter, packages: Packages, version: versions.Version) -> None:
    """Everything that a run needs. Raises the first error of any part, when the other parts have ended."""
    with board.speaking():
        with ThreadPoolExecutor() as pool:
            parts = [pool.submit(packages.install, board), pool.submit(bring_machine, board, version)]
            try:
                wait(parts, return_when=FIRST_EXCEPTION)
            finally:
                if not all(part.done() and part.exception() is None for part in parts):
                    packages.stop()
        # The error that came first caused the others.
        for part in reversed(parts):
            part.result()
        with board.doing(IMAGE):
            images.ensure_image(version.build, board.echo)


def run_to_end(command: Sequence[str]) -> int:
    """Run a command and return its status. On Ctrl-C it is given the time to remove what it started, also if that comes
    while the process is still being started.
    """
    began: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, _: object) -> None:
        if began:
            began[0].send_signal(number)
        else:
            early.append(number)

    before = signal.signal(signal.SIGINT, pass_on)
    try:
        with subprocess.Popen(command) as process:
            began.append(process)
            if early:
                process.send_signal(signal.SIGINT)
            return process.wait()
    finally:
        signal.signal(signal.SIGINT, before)


def newest(runs: Path) -> Path | None:
    """The report of the newest run; names of runs begin with their time."""
    return max(runs.glob("*/report.html"), default=None, key=lambda path: path.parent.name)


def opener(environment: Mapping[str, str]) -> list[str] | None:
    """The command that opens a page here, or None where nobody would see it: no display, or a job of CI."""
    display = environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    if environment.get("CI") or not (display or sys.platform == "darwin"):
        return None
    return ["xdg-open"] if shutil.which("xdg-open") else [sys.executable, "-m", webbrowser.__name__]


def show(report: Path) -> None:
    """Open a report in the browser, if there is a display."""
    if command := opener(os.environ):
        subprocess.Popen([*command, report.resolve().as_uri()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def demo(packages: Packages, board: StepPrinter) -> int:
    """All of it; the exit status is the run's."""
    version = versions.get(VERSION)
    board.say(f"{SCENARIO} on Kafka {VERSION}: does a record survive that every replica acknowledged?")
    board.say("from a bare machine to the verdict: about 3 minutes, and 1 GB to download; the second time: 30 s")
    set_up(board, packages, version)
    before = newest(RUNS)
    with board.doing(RUN):
        command = [sys.executable, "-m", "app.cli", "run", SCENARIO, "--version", VERSION, "--runs-dir", str(RUNS)]
        status = run_to_end(command)
    if status == EXIT_INTERRUPTED:
        return status
    report = newest(RUNS)
    board.say(f"from the start to the verdict: {board.seconds:.0f} s")
    if report is not None and report != before:
        board.say(f"its report, for a browser: {report.resolve()}")
        show(report)
    board.say("the same on versions with and without the bug, and more scenarios: make chaos-run")
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; its last arguments are the command that installs the packages."""
    parser = argparse.ArgumentParser(prog="python -m app.demo", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("packages", nargs="+", metavar="COMMAND", help="what installs the Python packages")
    options = parser.parse_args(arguments)
    forgiving_output()
    packages = Packages(options.packages)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        return demo(packages, StepPrinter(lambda line: print(line, file=sys.stderr, flush=True)))
    except KafkaChaosError as error:
        print(visible(f"kafka-chaos: {error}"), file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    finally:
        packages.stop()


if __name__ == "__main__":
    sys.exit(main())
