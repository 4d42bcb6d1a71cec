"""Forked processes: each is what `python -m` makes of its module, and their server ends with its owner."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evidence import forks
from evidence.worker import Worker

pytestmark = pytest.mark.slow

LIMIT_S = 60.0
TALKER = """
import os, sys
LOADED = os.getpid()
ASKED = []
def load_more():
    ASKED.append(os.getpid())
if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")
    for word in sys.argv[1:]:
        if word.startswith("mark="):
            open(word[5:], "a").write("begun")
    print(sys.argv[1:], os.environ.get("OF_THE_COPY"), os.getsid(0) == os.getpid(), flush=True)
    print("on stderr", file=sys.stderr, flush=True)
    for line in sys.stdin:
        if line == "fail\\n":
            raise ValueError("as asked")
        if line == "end\\n":
            sys.exit(7)
        if line == "loaded\\n":
            import talker
            print(talker.LOADED == os.getpid(), len(talker.ASKED), flush=True)
        if line == "fork\\n":
            from evidence import forks
            with forks.start("talker", ["nested"], os.environ, devnull=True, merged=True) as nested:
                print(type(nested).__name__, nested.stdout.readline().strip(), flush=True)
                nested.stdout.read()
            print(nested.returncode, flush=True)
"""


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[forks.Forks]:
    (tmp_path / "talker.py").write_text(TALKER)
    monkeypatch.setattr(forks, "_connections", [])
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path.cwd()}")
    with forks.serving(["talker:load_more"]):
        server = forks.current()
        assert server is not None
        yield server
    assert forks.current() is None


def begun(*arguments: str) -> forks.Forked:
    copy = forks.start("talker", arguments, os.environ | {"OF_THE_COPY": "its own"})
    assert isinstance(copy, forks.Forked)
    return copy


def said(copy: forks.Forked, line: str) -> str:
    assert copy.stdin is not None
    assert copy.stdout is not None
    copy.stdin.write(f"{line}\n")
    copy.stdin.flush()
    return copy.stdout.readline().strip()


def end(copy: forks.Forked) -> None:
    """End its input, hear what else it says, close its files and wait."""
    with copy:
        assert copy.stdin is not None
        assert copy.stdout is not None
        assert copy.stderr is not None
        copy.stdin.close()
        copy.stdout.read()
        copy.stderr.read()


def test_a_copy_is_what_python_makes_of_the_module(served: forks.Forks) -> None:
    copy = begun("one", "two")
    assert copy.stdout is not None
    assert copy.stderr is not None
    assert copy.stdout.readline() == "['one', 'two'] its own True\n"
    assert copy.stderr.readline() == "on stderr\n"
    assert copy.poll() is None
    assert said(copy, "loaded") == "False 1", "the server had loaded it"
    assert said(copy, "end") == ""
    assert copy.wait(LIMIT_S) == copy.poll() == copy.returncode == 7
    copy.kill()
    end(copy)


def test_an_exception_is_told_on_stderr_and_by_the_status(served: forks.Forks) -> None:
    copy = begun()
    assert copy.stderr is not None
    assert copy.stdout is not None
    copy.stdout.readline()
    assert said(copy, "fail") == ""
    assert copy.stderr.read().endswith("ValueError: as asked\n")
    assert copy.wait(LIMIT_S) == 1
    end(copy)


def test_two_run_at_once_and_the_end_of_stdin_is_theirs_alone(served: forks.Forks) -> None:
    first, second = begun("1"), begun("2")
    end(first)
    assert first.returncode == 0
    assert second.poll() is None
    end(second)


def test_a_signal_is_told_as_popen_tells_it(served: forks.Forks) -> None:
    copy = begun()
    with pytest.raises(subprocess.TimeoutExpired):
        copy.wait(0.0)
    copy.kill()
    assert copy.wait(LIMIT_S) == -signal.SIGKILL
    end(copy)


def test_a_copy_may_have_copies(served: forks.Forks) -> None:
    copy = begun()
    assert copy.stdout is not None
    copy.stdout.readline()
    assert said(copy, "fork") == "Forked ['nested'] its own True"
    assert copy.stdout.readline() == "0\n"
    end(copy)


def test_a_process_that_ends_at_once_is_not_missed(served: forks.Forks) -> None:
    for _ in range(20):
        with forks.start("talker", [], os.environ, devnull=True, merged=True) as copy:
            assert isinstance(copy, forks.Forked)
            assert copy.wait(LIMIT_S) == 0


def test_without_its_server_a_copy_lives_on_and_the_next_is_begun_from_nothing(served: forks.Forks) -> None:
    copy = begun()
    os.kill(served.pid, signal.SIGKILL)
    assert copy.stdout is not None
    copy.stdout.readline()
    assert said(copy, "loaded") == "False 1"
    end(copy)
    assert copy.returncode == forks.UNKNOWN
    with forks.start("talker", [], os.environ, devnull=True, merged=True) as another:
        assert isinstance(another, subprocess.Popen)
        assert another.wait(LIMIT_S) == 0


def test_a_request_that_nobody_waits_for_any_more_is_void(
    served: forks.Forks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the process would run twice: begun from nothing, and forked when the server has its turn."""
    end(begun())
    os.kill(served.pid, signal.SIGSTOP)
    mark = tmp_path / "begun"
    with monkeypatch.context() as patience:
        patience.setattr(forks, "START_LIMIT_S", 0.1)
        another = forks.start("talker", [f"mark={mark}"], os.environ, devnull=True, merged=True)
    with another:
        assert isinstance(another, subprocess.Popen)
        assert another.stdout is not None
        another.stdout.read()
    os.kill(served.pid, signal.SIGCONT)
    later = served.popen("talker", [], os.environ)
    end(later)
    assert mark.read_text() == "begun"


def test_a_request_that_no_message_can_hold_is_begun_from_nothing(served: forks.Forks) -> None:
    with forks.start("talker", ["x" * 100_000] * 4, os.environ, devnull=True, merged=True) as another:
        assert isinstance(another, subprocess.Popen)
        assert another.stdout is not None
        another.stdout.read()


def test_a_worker_is_forked_unless_it_is_to_be_fresh(served: forks.Forks) -> None:
    for fresh in (False, True):
        worker = Worker("talker", "talker", [], fresh=fresh)
        assert (parent(worker.pid) == os.getpid()) is fresh
        worker.close()
        assert worker.status == 0


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_the_server_has_one_thread_whatever_it_has_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "talker.py").write_text(TALKER)
    monkeypatch.setattr(forks, "_connections", [])
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path.cwd()}")
    with forks.serving(["numpy", "pyarrow.compute", "talker"]), begun("hello") as copy:
        assert copy.stdout is not None
        assert "hello" in copy.stdout.readline(), "it has imported all when a copy answers"
        server = forks.current()
        assert server is not None
        threads = [place.joinpath("comm").read_text() for place in Path(f"/proc/{server.pid}/task").iterdir()]
        assert len(threads) == 1, threads
        said(copy, "end")


def test_the_server_ends_when_its_owner_is_killed() -> None:
    code = "from evidence import forks\nwith forks.serving(['json']):\n print(forks.current().pid, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        server = os.pidfd_open(int(owner.stdout.readline()))
        owner.kill()
    assert select.select([server], [], [], LIMIT_S)[0] == [server]
    os.close(server)
