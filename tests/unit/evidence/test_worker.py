"""A process that is talked to in lines: what it says, what it says before it dies, and that it goes in the end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evidence import worker
from evidence.errors import HarnessError, RecorderDied, WaitTimeout
from evidence.worker import Worker

LIMIT_S = 60.0
ECHO = """
import json, sys
print("a warning on stdout", flush=True)
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    if line == "begin\\n":
        import os, signal, subprocess
        other = subprocess.Popen(["sleep", "600"])
        os.kill(other.pid, signal.SIGSTOP)
    if line == "die\\n":
        print("last words", file=sys.stderr, flush=True)
        sys.exit(7)
    print(json.dumps({"heard": line.strip()}), flush=True)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "echo_module.py").write_text(ECHO)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    return "echo_module"


def test_messages_go_to_and_fro(module: str) -> None:
    conversation = Worker("echo", module, [])
    assert conversation.receive(LIMIT_S, "starting") == {"ready": True}
    conversation.send_message(x=1)
    assert conversation.receive(LIMIT_S, "answering") == {"heard": '{"x": 1}'}
    with pytest.raises(WaitTimeout, match="echo: nothing heard within 0 s while idle; it said: a warning on stdout"):
        conversation.receive(0.0, "idle")
    conversation.close()
    conversation.close()


@pytest.mark.parametrize("gone", [HarnessError, RecorderDied])
def test_one_that_has_ended_is_named_with_its_last_words(module: str, gone: type[HarnessError]) -> None:
    conversation = Worker("echo", module, [], gone=gone)
    conversation.receive(LIMIT_S, "starting")
    conversation.send_line("die")
    for _ in range(2):
        with pytest.raises(gone, match=r"the process echo has ended \(status 7\); it said: .*last words"):
            conversation.receive(LIMIT_S, "answering")
    conversation.close()
    with pytest.raises(gone, match="echo has ended"):
        conversation.send_message(too="late")


def test_what_it_has_started_and_left_stopped_is_ended_with_it(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has its output open would be waited for without an end."""
    monkeypatch.setattr(worker, "KILL_LIMIT_S", 1.0)
    conversation = Worker("echo", module, [])
    conversation.receive(LIMIT_S, "starting")
    conversation.send_line("begin")
    assert conversation.receive(LIMIT_S, "answering") == {"heard": "begin"}
    conversation.close()
    assert not any(reader.is_alive() for reader in conversation._readers)
