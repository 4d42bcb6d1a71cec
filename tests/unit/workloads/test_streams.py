"""What an application of Kafka Streams puts on record, and that its process stops as a whole; without Java."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from evidence.errors import HarnessError
from evidence.history import record, schema
from evidence.history.inputs import Input, counted_by, input_of
from evidence.history.read import stream_batches
from evidence.history.writer import HistoryWriter
from harness import processes
from harness.polling import poll
from harness.processes import group_states, thread_states
from harness.workloads.handles.application import StreamsApplication
from harness.workloads.processes.streams import Outputs, Results
from harness.workloads.processes.streams_program import (
    STORE,
    CopyBefore27,
    CopyProcessor,
    CountBefore27,
    CountProcessor,
)

TWO_THREADS = """
import threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print(flush=True)
time.sleep(60)
"""


class Context:
    """What Streams gives a processor: where its input lies, and where its output goes."""

    def __init__(self) -> None:
        self.forwarded: list[Any] = []

    topic, partition, offset = (lambda _: "t"), (lambda _: 3), (lambda _: 7)

    def recordMetadata(self) -> Any:
        return SimpleNamespace(get=lambda: self)

    def forward(self, *output: Any) -> None:
        self.forwarded.append(output)


@pytest.fixture
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outputs]:
    monkeypatch.setitem(sys.modules, "jpype", SimpleNamespace(JArray=lambda _: bytes, JByte=None))
    arguments = {"producer": 2, "run": "r", "output": "out"}
    with HistoryWriter(tmp_path / "app.arrows", "app", run="r") as writer:
        yield Outputs(arguments, writer)


def rows(path: Path) -> list[dict[str, Any]]:
    complaints: list[str] = []
    found = [row for batch in stream_batches(path / "app.arrows", complaints) for row in batch.to_pylist()]
    assert complaints == []
    return found


@pytest.mark.parametrize("copy", [CopyProcessor, CopyBefore27])
def test_each_output_names_its_input_and_is_on_record_before_streams_has_it(
    copy: type[CopyProcessor | CopyBefore27], outputs: Outputs, tmp_path: Path
) -> None:
    context = Context()
    processor: Any = copy(outputs)
    processor.init(context)
    if copy is CopyProcessor:
        processor.process(SimpleNamespace(withValue=lambda value: value))
    else:
        processor.process(b"key", b"value")
    value = context.forwarded[0][-1]
    assert input_of(value) == Input("t", 3, 7)
    assert record.decode(value) == record.Identity(record.run_hash("r"), 2, 0)
    found = rows(tmp_path)
    assert [(row["kind"], row["topic"], row["partition"], row["offset"]) for row in found] == [
        (schema.RESERVE, "out", 0, None),
        (schema.SEND, "out", 0, None),
        (schema.PROCESSED, "t", 3, 7),
    ]
    assert {(row["producer"], row["sequence"], row["outcome"]) for row in found} == {(2, 0, schema.INFO)}


def test_outputs_are_numbered(outputs: Outputs, tmp_path: Path) -> None:
    for offset in (7, 7):
        outputs.made_of(Input("t", 0, offset))
    sent = [row["sequence"] for row in rows(tmp_path) if row["kind"] == schema.SEND]
    assert (sent, outputs.made) == ([0, 1], 2)


class Store:
    """The store of a task."""

    def __init__(self) -> None:
        self.kept: dict[bytes, bytes] = {}
        self.get, self.put = self.kept.get, self.kept.__setitem__


@pytest.mark.parametrize("kind", [CountProcessor, CountBefore27])
def test_a_result_names_the_inputs_that_were_counted_for_its_key(
    kind: type[CountProcessor | CountBefore27], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jpype", SimpleNamespace(JArray=lambda _: bytes, JByte=None))
    arguments = {"producer": 2, "run": "r", "output": "out", "padding": 3}
    context, store = Context(), Store()
    asked: list[str] = []

    def store_of(name: str) -> Store:
        asked.append(name)
        return store

    cast("Any", context).getStateStore = store_of
    with HistoryWriter(tmp_path / "app.arrows", "app", run="r") as writer:
        processor: Any = kind(Results(arguments, writer))
        processor.init(context)
        for key in (b"a", b"b", b"a"):
            if kind is CountProcessor:
                processor.process(SimpleNamespace(key=lambda key=key: key, withValue=lambda value: value))
            else:
                processor.process(key, b"value")
    assert asked == [STORE]
    values = [output[-1] for output in context.forwarded]
    assert [(input_of(value), counted_by(value)) for value in values] == [
        (Input("t", 3, 7), counted) for counted in ((7,), (7,), (7, 7))
    ]
    assert store.kept == {b"a": b"7,7   ", b"b": b"7   "}


def test_an_output_that_states_no_result_counts_nothing() -> None:
    assert counted_by(record.encode(1, 2, 3, Input("t", 3, 7).payload)) == ()
    assert counted_by(record.encode(1, 2, 3, b"t-3@7=")) == ()
    assert input_of(record.encode(1, 2, 3, b"t-3@7=7,")) is None


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", TWO_THREADS], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as started:
        assert started.stdout is not None
        started.stdout.readline()
        yield started
        started.kill()


def handle(pid: int) -> StreamsApplication:
    made: Any = object.__new__(StreamsApplication)
    made.name, made._child = "app", SimpleNamespace(pid=pid)
    return made  # type: ignore[no-any-return]


def test_every_thread_of_a_process_that_is_stopped_stands_still(process: subprocess.Popen[str]) -> None:
    assert "T" not in thread_states(process.pid)
    handle(process.pid).freeze()
    assert thread_states(process.pid) == group_states(process.pid) == ["T", "T"]


def test_what_a_process_has_started_is_stopped_with_it() -> None:
    begins = "import subprocess, sys; p = subprocess.Popen(['sleep', '600']); print(p.pid, flush=True); p.wait()"
    command = [sys.executable, "-c", begins]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as started:
        assert started.stdout is not None
        other = int(started.stdout.readline())
        handle(started.pid).freeze()
        assert thread_states(other) == ["T"]
        os.killpg(started.pid, signal.SIGKILL)


def test_one_that_has_ended_and_that_nobody_has_asked_for_stands_still() -> None:
    """Spark starts programs by the dozen. One that ends when its parent is stopped stays there as it ended."""
    begins = "import subprocess, sys, time; p = subprocess.Popen(['true']); print(p.pid, flush=True); time.sleep(600)"
    command = [sys.executable, "-c", begins]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as started:
        assert started.stdout is not None
        ended = int(started.stdout.readline())
        assert poll(lambda: thread_states(ended), 60.0, until=lambda states: states == ["Z"])
        handle(started.pid).freeze()
        assert (group_states(started.pid), thread_states(ended)) == (["T"], ["Z"])
        os.killpg(started.pid, signal.SIGKILL)


def test_a_process_that_is_gone_did_not_stop(process: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "STOP_LIMIT_S", 0.0)
    monkeypatch.setattr(os, "killpg", lambda *_: None)
    monkeypatch.setattr(processes, "group_states", lambda _: [])
    with pytest.raises(HarnessError, match="0 of 0 threads are not stopped"):
        handle(process.pid).freeze()


def test_a_process_that_does_not_stop_is_told(process: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "STOP_LIMIT_S", 0.0)
    monkeypatch.setattr(os, "killpg", lambda *_: None)
    with pytest.raises(HarnessError, match="2 of 2 threads are not stopped"):
        handle(process.pid).freeze()
