"""What workers of Kafka Connect are given, what they put on record, and what is understood of Connect; without Java."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.errors import HarnessError, RecorderDied, WaitTimeout
from evidence.history import record, schema
from evidence.history.inputs import Input, input_of
from evidence.history.read import stream_batches
from evidence.history.writer import HistoryWriter
from harness.workloads.connectors import (
    Task,
    group_of,
    lines_before,
    position_of,
    sink,
    source,
    task_of,
    worker_settings,
)
from harness.workloads.handles import connect
from harness.workloads.handles.connect import (
    ConnectWorker,
    NotAnswered,
    WorkerProgress,
    directory_of,
    free_port,
    understood,
)
from harness.workloads.processes.connect import Lines, properties_text
from harness.workloads.stores.lines import FILE

KEY = json.dumps(["source", {"filename": "inputs.txt"}]).encode()


def at(position: int) -> bytes:
    return json.dumps({"position": position}).encode()


# What is configured


def test_a_worker_is_told_what_the_scenario_says_and_listens_on_loopback() -> None:
    settings = worker_settings(83, {"offset.flush.interval.ms": "7", "session.timeout.ms": "9000"})
    assert settings["listeners"] == "http://127.0.0.1:83"
    assert (settings["rest.host.name"], settings["rest.port"]) == ("127.0.0.1", "83")
    assert (settings["offset.flush.interval.ms"], settings["session.timeout.ms"]) == ("7", "9000")
    assert settings["offset.storage.partitions"] == "1"


def test_the_source_is_told_a_name_that_each_worker_has_a_file_of() -> None:
    told = source("out", {"transaction.boundary": "interval"})
    assert (told["file"], told["topic"], told["tasks.max"]) == ("inputs.txt", "out", "1")
    assert told["transaction.boundary"] == "interval"


def test_the_sink_names_in_each_line_where_its_input_lies() -> None:
    told = sink("t", {"tasks.max": "1"})
    assert (told["topics"], told["file"]) == ("t", FILE)
    assert [told[f"transforms.place.{of}.field"] for of in ("topic", "partition", "offset")] == [
        "topic",
        "partition",
        "offset",
    ]
    assert group_of("sink") == "connect-sink"


# What Connect says


def status(task: str = "RUNNING", connector: str = "RUNNING", trace: str = "") -> dict[str, Any]:
    return {
        "name": "source",
        "connector": {"state": connector, "worker_id": "127.0.0.1:83"} | ({"trace": trace} if trace else {}),
        "tasks": [{"id": 0, "state": task, "worker_id": "127.0.0.1:84"} | ({"trace": trace} if trace else {})],
    }


@pytest.mark.parametrize("state", ["RUNNING", "UNASSIGNED"])
def test_where_a_task_is(state: str) -> None:
    assert task_of(status(state)) == Task("127.0.0.1:84", state)


def test_a_connector_without_a_task_has_none() -> None:
    assert task_of({"name": "source", "connector": {"state": "RUNNING"}, "tasks": []}) is None


@pytest.mark.parametrize(
    ("failed", "told"),
    [
        (status(task="FAILED", trace="o.a.k.Refused: no file\n\tat a.b"), "the task source has failed on .*:84"),
        (status(connector="FAILED", trace="o.a.k.Refused: no file"), "the connector source has failed on .*:83"),
    ],
)
def test_what_has_failed_is_told_in_connects_own_words(failed: dict[str, Any], told: str) -> None:
    with pytest.raises(HarnessError, match=rf"{told}: o\.a\.k\.Refused: no file$"):
        task_of(failed)


@pytest.mark.parametrize(
    "why",
    [
        "o.a.k.c.e.ConnectException: Failed to read to end of config topic before performing zombie fencing",
        "o.a.k.c.r.r.e.ConnectRestException: Cannot complete request momentarily due to no known leader URL",
    ],
)
def test_a_task_that_nobody_fenced_can_be_restarted_and_a_connector_cannot(why: str) -> None:
    trace = f"{why}\n\tat o.a.k.c.r.r.RestClient.httpRequest\n\tat o.a.k.c.Herder.lambda$fenceZombieSourceTasks$3"
    task = task_of(status(task="FAILED") | {"tasks": [{"state": "FAILED", "worker_id": "w", "trace": trace}]})
    assert task == Task("w", "FAILED", not_fenced=why)
    running = status()
    running["tasks"][0]["trace"] = trace
    assert task_of(running) == Task("127.0.0.1:84", "RUNNING")
    with pytest.raises(HarnessError, match="the connector source has failed"):
        task_of(status(connector="FAILED", trace=why))


def test_what_has_failed_without_a_word_is_told_too() -> None:
    with pytest.raises(HarnessError, match=r"has failed on .*:84: no reason$"):
        task_of(status(task="FAILED"))


def test_a_task_that_was_woken_up_in_its_commit_is_stopped_and_has_not_failed_before_2_7() -> None:
    woken = status(task="FAILED", trace="org.apache.kafka.common.errors.WakeupException\n\tat a.b")
    task = task_of(woken, woken=True)
    assert task is not None
    assert task.state == "FAILED"
    with pytest.raises(HarnessError, match="WakeupException"):
        task_of(woken)


def test_the_last_position_counts() -> None:
    other = json.dumps(["other", {"filename": "inputs.txt"}]).encode()
    elsewhere = json.dumps(["source", {"filename": "x.txt"}]).encode()
    records = [(KEY, at(5)), (other, at(70)), (None, b"?"), (KEY, at(9)), (elsewhere, at(80))]
    assert position_of(records, "source", "inputs.txt") == 9
    assert position_of([*records, (KEY, None)], "source", "inputs.txt") == 0
    assert position_of([], "source", "inputs.txt") == 0


@pytest.mark.parametrize("value", [b"{}", b'{"position": "5"}'])
def test_an_offset_that_is_no_position_is_told(value: bytes) -> None:
    with pytest.raises(HarnessError, match="source: its committed offset is no position"):
        position_of([(KEY, value)], "source", "inputs.txt")


@given(st.lists(st.integers(1, 200), max_size=20), st.data())
def test_a_position_is_so_many_lines(lengths: list[int], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, len(lengths)))
    assert lines_before(sum(lengths[:count]), lengths) == count


@pytest.mark.parametrize("position", [1, 6, 12])
def test_a_position_that_is_no_lines_end_is_told(position: int) -> None:
    with pytest.raises(HarnessError, match=re.escape(f"position {position} is no line's end: these are [0, 5, 11]")):
        lines_before(position, [5, 6])


@pytest.mark.parametrize(("code", "text", "found"), [(200, '{"a": 1}', {"a": 1}), (201, "[]", []), (204, "", None)])
def test_an_answer_is_understood(code: int, text: str, found: object) -> None:
    assert understood("w", code, text) == found


@pytest.mark.parametrize("code", [404, 409, 500, 503])
def test_what_may_be_otherwise_soon_is_no_answer(code: int) -> None:
    with pytest.raises(NotAnswered, match=f"w: {code} rebalance"):
        understood("w", code, "rebalance")


def test_what_is_refused_for_good_is_told_in_connects_own_words() -> None:
    with pytest.raises(HarnessError, match="w refuses: 400 Connector configuration is invalid"):
        understood("w", 400, "Connector configuration is invalid")
    with pytest.raises(HarnessError, match="w answers what is no JSON: <html>"):
        understood("w", 200, "<html>")


# The lines of a source


@pytest.fixture
def lines(tmp_path: Path) -> Iterator[Lines]:
    arguments = {"producer": 2, "run": "r", "output": "out", "input": "t", "partition": 0, "directory": str(tmp_path)}
    with HistoryWriter(tmp_path / "w.arrows", "w", run="r") as writer:
        yield Lines(arguments, writer)


def rows(path: Path) -> list[dict[str, Any]]:
    complaints: list[str] = []
    found = [row for batch in stream_batches(path / "w.arrows", complaints) for row in batch.to_pylist()]
    assert complaints == []
    return found


def test_each_line_names_its_input_and_is_on_record(lines: Lines, tmp_path: Path) -> None:
    for count in (9, 3):
        lines.append(count)
    text = (tmp_path / "inputs.txt").read_bytes()
    written = text.splitlines()
    assert [input_of(line) for line in written] == [Input("t", 0, number) for number in range(12)]
    identities = [record.decode(line) for line in written]
    assert identities == [record.Identity(record.run_hash("r"), 2, number) for number in range(12)]
    assert (sum(lines.lengths), len(lines.lengths)) == (len(text), 12)
    sent = [row for row in rows(tmp_path) if row["kind"] == schema.SEND]
    assert [(row["sequence"], row["outcome"], row["topic"]) for row in sent] == [
        (number, schema.INFO, "out") for number in range(12)
    ]
    assert [row["sequence"] for row in rows(tmp_path) if row["kind"] == schema.RESERVE] == [0, 9]


def test_the_file_is_there_before_the_first_line(lines: Lines, tmp_path: Path) -> None:
    assert (tmp_path / "inputs.txt").read_bytes() == b""


def test_settings_are_written_as_java_reads_them() -> None:
    assert properties_text(worker_settings(83, {})).splitlines()[-1] == "plugin.discovery=service_load"


# The handle


def handle(**more: Any) -> Any:
    made: Any = object.__new__(ConnectWorker)
    made.name, made.port, made._latest, made._done = "w", free_port(), WorkerProgress(), False
    for name, value in more.items():
        setattr(made, name, value)
    return made


def test_a_worker_is_told_its_directory_and_its_sinks_file(tmp_path: Path) -> None:
    told: dict[str, Any] = {}

    def start(module: str, **arguments: Any) -> Any:
        told.update(arguments, module=module)

    client: Any = SimpleNamespace(run_dir=SimpleNamespace(path=tmp_path), name="w", producer_id=3, start=start)
    store = f"{directory_of('w')}/{FILE}"
    made = ConnectWorker(client, port=83, inputs=("t", 0), output="", group="g", store=store)
    directory = tmp_path.resolve() / "store" / "w"
    assert (told["module"], told["directory"], told["store"]) == ("connect", str(directory), str(directory / FILE))
    assert (made.run, made.producer_id, made.store) == (tmp_path.name, 3, told["store"])
    source_worker = ConnectWorker(client, port=83, inputs=("t", 0), output="o", group="g")
    assert (source_worker.store, told["store"], told["output"], told["lines"]) == ("", "", "o", 0)
    ConnectWorker(client, port=83, inputs=("t", 0), output="o", group="g", lines=7)
    assert told["lines"] == 7


def test_a_worker_that_does_not_listen_gives_no_answer() -> None:
    with pytest.raises(NotAnswered, match=r"^w: "):
        handle().ask("GET", "/")


class Process:
    """A worker's process that says so many lines are written, and then nothing, or that it has ended."""

    def __init__(self, *said: tuple[int, ...], ended: bool = False) -> None:
        self.sent: list[dict[str, Any]] = []
        self._said, self._ended = list(said), ended

    def send_message(self, **message: Any) -> None:
        self.sent.append(message)

    def receive(self, _timeout_s: float, _what: str) -> dict[str, Any]:
        if self._said:
            return {"lengths": list(self._said.pop(0))}
        raise RecorderDied("w has ended") if self._ended else WaitTimeout("nothing")


def test_lines_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process((), (5, 6))
    worker = handle(_child=process, watch=lambda: None)
    worker.append(2)
    assert (process.sent, worker.lengths, worker.address) == ([{"lines": 2}], (5, 6), f"127.0.0.1:{worker.port}")
    monkeypatch.setattr(connect, "LINES_LIMIT_S", 0.01)
    worker.late = lambda what, *_: HarnessError(f"late: {what}")
    with pytest.raises(HarnessError, match="late: 4 lines"):
        worker.append(2)


def test_a_worker_that_has_ended_is_told() -> None:
    handle(_child=Process((5,))).require_running()
    with pytest.raises(RecorderDied, match="w has ended"):
        handle(_child=Process((5,), ended=True)).require_running()


def test_progress_is_told_in_words() -> None:
    assert str(WorkerProgress((5, 6))) == "2 lines"
