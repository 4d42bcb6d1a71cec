"""The first look: side by side, never silent, stopped as a whole, and begun with no package but Docker's SDK."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path

import pytest

from app import demo
from evidence.errors import EXIT_ERROR, EXIT_USAGE, HarnessError, UsageError
from harness.cluster import versions
from harness.setup import images

ROOT = Path(__file__).resolve().parents[3]
VERSION = versions.get(demo.VERSION)


def named_first() -> list[str]:
    [line] = re.findall(r"^FIRST := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return str(line).split()


def board() -> tuple[demo.StepPrinter, list[str]]:
    lines: list[str] = []
    return demo.StepPrinter(lines.append), lines


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.mark.slow
@pytest.mark.parametrize("module", ["app.demo", "harness.setup.runner_image"])
def test_it_begins_with_no_package_but_those_that_are_installed_first(module: str) -> None:
    """`make demo` and `make runner` begin with these."""
    code = (
        "import sys; from importlib.metadata import packages_distributions as of; before = set(sys.modules); "
        f"import {module}; "
        "tops = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "print(*{one for top in tops for one in of().get(top, ())})"
    )
    done = subprocess.run(python(code), cwd=ROOT, capture_output=True, text=True, check=True)
    used = {name.lower().replace("_", "-") for name in done.stdout.split()} - {"kafka-chaos"}
    assert "docker" in used
    assert used <= set(named_first())


def test_what_is_installed_first_has_all_that_it_needs_and_is_in_the_lock() -> None:
    first = set(named_first())
    for name in first:
        for requirement in requires(name) or ():
            wanted = re.split(r"[ <>=!~\[;(]", requirement)[0].replace("_", "-").lower()
            assert wanted in first or ";" in requirement, f"{name} needs {wanted}"
    locked = re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert first <= set(locked)


def test_each_step_says_how_long_it_will_take_and_how_long_it_took() -> None:
    on, lines = board()
    step = demo.AnnouncedStep(what="doing something", about_s=7)
    with on.doing(step):
        assert re.fullmatch(r"doing something \(0 s of about 7\)", on.waiting())
    assert on.waiting() == ""
    assert [line.split(" s  ")[1] for line in lines] == ["doing something: about 7 s", "doing something: done in 0 s"]


def test_a_step_that_fails_is_not_called_done() -> None:
    on, lines = board()
    with pytest.raises(HarnessError), on.doing(demo.BASE):
        raise HarnessError("no")
    assert "done" not in "".join(lines)
    assert on.waiting() == ""


def test_what_a_step_says_is_told_but_for_that_it_still_goes_on() -> None:
    on, lines = board()
    for line in ("starting Docker by systemd", "still installing docker.io, 10 s"):
        on.echo(line)
    assert [line.split(" s  ")[1] for line in lines] == ["starting Docker by systemd"]


def test_silence_is_broken_by_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "SILENT_S", 0.0)
    heard = threading.Event()
    on = demo.StepPrinter(lambda line: heard.set() if re.search(r"\(\d+ s of about", line) else None)
    with on.doing(demo.BASE), on.speaking():
        assert heard.wait(10)


def test_the_last_line_explains_packages_that_could_not_be_installed() -> None:
    on, lines = board()
    packages = demo.Packages(python("print('no index \\x1b[2J'); raise SystemExit(1)"))
    with pytest.raises(HarnessError, match="no index"):
        packages.install(on)
    assert any(line.endswith("  no index \\x1b[2J") for line in lines)


def test_both_parts_go_on_side_by_side_and_the_image_comes_after(monkeypatch: pytest.MonkeyPatch) -> None:
    on, _ = board()
    meet, done = threading.Barrier(2, timeout=10), list[str]()

    class Meeting(demo.Packages):
        def install(self, board: demo.StepPrinter) -> None:
            meet.wait()
            done.append("packages")

    def machine(board: demo.StepPrinter, version: versions.Version) -> None:
        meet.wait()
        done.append("machine")

    monkeypatch.setattr(demo, "bring_machine", machine)
    monkeypatch.setattr(images, "ensure_image", lambda version, echo: done.append("image"))
    demo.set_up(on, Meeting([]), VERSION)
    assert sorted(done[:2]) == ["machine", "packages"]
    assert done[2:] == ["image"]


def test_a_machine_without_docker_ends_it_at_once_and_stops_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    forever = python("import signal; print('begun', flush=True); signal.pause()")
    packages, begun = demo.Packages(forever), threading.Event()
    on = demo.StepPrinter(lambda line: begun.set() if "begun" in line else None)

    def machine(board: demo.StepPrinter, version: versions.Version) -> None:
        assert begun.wait(10)
        raise UsageError("no Docker engine answers")

    monkeypatch.setattr(demo, "bring_machine", machine)
    with pytest.raises(UsageError, match="no Docker engine"):
        demo.set_up(on, packages, VERSION)
    begun.set()
    assert demo.main(["--", *python("")]) == EXIT_USAGE


def test_what_was_stopped_is_not_started_any_more() -> None:
    on, lines = board()
    packages = demo.Packages(python("print('begun')"))
    packages.stop()
    packages.install(on)
    assert not any("begun" in line for line in lines)


def test_a_run_that_is_interrupted_is_given_the_time_to_end() -> None:
    ends = (
        "import os, signal, sys; signal.signal(signal.SIGINT, lambda *_: sys.exit(130)); "
        "os.kill(os.getppid(), signal.SIGINT); signal.pause()"
    )
    assert demo.run_to_end(python(ends)) == 130
    assert demo.run_to_end(python("raise SystemExit(2)")) == 2


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """Main's handlers are taken back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_packages_that_fail_are_the_error_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "bring_machine", lambda board, version: None)
    assert demo.main(["--", *python("raise SystemExit(1)")]) == EXIT_ERROR


@pytest.mark.parametrize(
    ("environment", "opens"),
    [
        ({}, False),
        ({"DISPLAY": ":0"}, True),
        ({"WAYLAND_DISPLAY": "w"}, True),
        ({"DISPLAY": ":0", "CI": "true"}, False),
    ],
)
def test_a_report_is_opened_only_where_somebody_sees_it(
    environment: dict[str, str], opens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert (demo.opener(environment) is not None) == opens


def test_the_newest_report_is_shown(tmp_path: Path) -> None:
    assert demo.newest(tmp_path) is None
    for name in ("20251009t085320-a", "20251010t085320-a", "20251011t085320-without"):
        (tmp_path / name).mkdir()
    for name in ("20251009t085320-a", "20251010t085320-a"):
        (tmp_path / name / "report.html").touch()
    assert demo.newest(tmp_path) == tmp_path / "20251010t085320-a" / "report.html"
