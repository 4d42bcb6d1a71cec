"""Signals and crashes of the command line itself: no traceback for Ctrl-C, 255 for every defect, nobody listening."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import pytest

from app import cli
from evidence.errors import EXIT_AS_DOCUMENTED, EXIT_CONTRADICTED, EXIT_ERROR, EXIT_UNREAD

pytestmark = pytest.mark.slow

LIMIT_S = 60.0


def start(code: str, **options: Any) -> subprocess.Popen[str]:
    """The code in a process that ignores no signal: what nohup has this one ignore is inherited."""
    command = ["env", "--default-signal", sys.executable, "-c", code]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


WORKING = """
import sys
from app import cli
from harness.setup import doctor
def work():
    print("at work", flush=True)
    sys.stdin.read()
doctor.diagnose = work
sys.exit(cli.main(["doctor"]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_every_signal_that_ends_a_session_interrupts(number: signal.Signals) -> None:
    with start(WORKING, stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "at work\n"
        process.send_signal(number)
        _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == cli.EXIT_INTERRUPTED
    assert said.startswith("kafka-chaos: interrupted")
    assert "Traceback" not in said


IGNORING = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
"""


def test_nohup_is_heeded() -> None:
    with start(IGNORING + WORKING, stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=LIMIT_S)
    # Had the first one counted, the second would have been answered with patience.
    assert [line.partition(";")[0] for line in said.splitlines()] == ["kafka-chaos: interrupted"]


IMPORTING = """
import builtins, os, signal, sys
real = builtins.__import__
def slow(name, *rest):
    if name == "argparse" and "app.cli" in sys.modules:
        os.kill(os.getpid(), signal.SIGINT)
    return real(name, *rest)
builtins.__import__ = slow
from app.__main__ import main
sys.exit(main())
"""


def test_ctrl_c_while_modules_load_shows_no_traceback() -> None:
    with start(IMPORTING) as process:
        _, said = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, said) == (-signal.SIGINT, "")


def test_a_closed_terminal_is_not_the_end_of_the_work() -> None:
    code = "from app.output import say; say('one'); say('two'); print('done')"
    read_end, write_end = os.pipe()
    os.close(read_end)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=write_end, text=True) as process:
        os.close(write_end)
        out, _ = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out) == (0, "done\n")


def unread(*arguments: str) -> tuple[int, str]:
    """The status, and what is said on standard error, of a command whose standard output nobody reads."""
    code = f"import sys; from app import cli; sys.exit(cli.main({list(arguments)}))"
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=write_end, stderr=subprocess.PIPE, text=True) as process:
        os.close(write_end)
        _, said = process.communicate(timeout=LIMIT_S)
    return process.returncode, said


def test_a_list_that_nobody_reads_to_its_end_ends_quietly() -> None:
    assert unread("list", "--claims") == (EXIT_UNREAD, "")
    # So few lines that they are written when the command is done, not before.
    assert unread("list", "--settings", "0.8.2.2") == (EXIT_UNREAD, "")


@pytest.mark.parametrize(("fail_on", "status"), [((), EXIT_AS_DOCUMENTED), (("--fail-on", "loss"), EXIT_CONTRADICTED)])
def test_a_verdict_that_nobody_reads_is_still_the_status(fail_on: Sequence[str], status: int) -> None:
    returned, _ = unread("audit", "--client", "java-0.8.2.2", *fail_on)
    assert returned == status


def test_another_broken_pipe_than_that_of_the_results_is_a_failure() -> None:
    code = (
        "import sys\nfrom app import cli\nfrom harness.setup import doctor\n"
        "def refuse(): raise BrokenPipeError(32, 'Broken pipe')\n"
        "doctor.diagnose = refuse\nsys.exit(cli.main(['doctor']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert (done.returncode, done.stderr) == (EXIT_ERROR, "kafka-chaos: Broken pipe\n")


def failing(error: Exception) -> Callable[[], NoReturn]:
    def fail() -> NoReturn:
        raise error

    return fail


def test_a_defect_is_a_line_a_traceback_and_255(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("harness.setup.doctor.diagnose", failing(TypeError("unsupported\noperand")))
    assert cli.main(["doctor"]) == EXIT_ERROR
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("kafka-chaos: TypeError: unsupported operand (a defect of kafka-chaos")
    assert lines[1].startswith("Traceback")


def test_a_defect_whose_error_cannot_be_told_ends_with_255_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class OfSpark(Exception):
        def __str__(self) -> str:
            raise AssertionError

    monkeypatch.setattr("harness.setup.doctor.diagnose", failing(OfSpark()))
    assert cli.main(["doctor"]) == EXIT_ERROR
    said = "kafka-chaos: OfSpark: it does not say why (AssertionError) (a defect of kafka-chaos"
    assert capsys.readouterr().err.startswith(said)
