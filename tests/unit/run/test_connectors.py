"""A connector is made, its task is found, and what it has committed is read; on workers that are none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from evidence.errors import HarnessError, RecorderDied, WaitTimeout
from evidence.history import record
from evidence.timeline import Timeline
from harness.run import connectors
from harness.run.connectors import Connectors
from harness.run.sequence_log import SequenceLog
from harness.run.who import Partition
from harness.workloads.handles.connect import ConnectWorker, NotAnswered

T = Partition("t", 0)
KEY = json.dumps(["source", {"filename": "inputs.txt"}]).encode()


class Worker:
    """Gives the answers that it is told to, and the last one again and again; an error is raised."""

    def __init__(self, number: int, *answers: Any) -> None:
        self.name, self.producer_id, self.address = f"w{number}", number, f"127.0.0.1:{number}"
        self.lengths: tuple[int, ...] = (5, 6)
        self.beside: tuple[int, ...] = ()
        self.output, self.group = "out", "g"
        self.waited: list[int] = []
        self.asked: list[tuple[str, str]] = []
        self.appended: list[int] = []
        self.ended = False
        self._answers = list(answers)

    def ask(self, method: str, path: str, content: Any = None) -> Any:
        self.asked.append((method, path))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def append(self, count: int) -> None:
        self.appended.append(count)

    def wait_lines(self, count: int) -> None:
        self.waited.append(count)

    def require_running(self) -> None:
        if self.ended:
            raise RecorderDied(f"{self.name} has ended")


def runs_on(number: int, state: str = "RUNNING") -> dict[str, Any]:
    task = {"id": 0, "state": state, "worker_id": f"127.0.0.1:{number}", "trace": "o.a.k.E: why"}
    return {"name": "source", "connector": {"state": "RUNNING"}, "tasks": [task]}


class Topic:
    """A consumer of a topic with these positions of Connect's, or values, whose end comes after so many polls."""

    def __init__(self, *positions: int | bytes, polls: int = 1, refuses: bool = False) -> None:
        self._positions, self._polls, self._refuses = positions, polls, refuses
        self.assigned: list[Any] = []
        self.settings: dict[str, Any] = {}

    def __call__(self, settings: dict[str, Any]) -> Topic:
        self.settings = settings
        return self

    def get_watermark_offsets(self, *_: Any, **__: Any) -> tuple[int, int]:
        if self._refuses:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return 0, len(self._positions)

    def assign(self, places: Any) -> None:
        self.assigned += places

    def consume(self, *_: Any) -> list[Any]:
        self._polls -= 1
        if self._polls == 0:
            end = SimpleNamespace(code=lambda: KafkaError._PARTITION_EOF)
            return [SimpleNamespace(error=lambda: end, offset=lambda: len(self._positions))]
        return [message(position) for position in self._positions]

    def close(self) -> None: ...


def message(position: int | bytes) -> Any:
    value = position if isinstance(position, bytes) else json.dumps({"position": position}).encode()
    return SimpleNamespace(error=lambda: None, key=lambda: KEY, value=lambda: value)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connectors]:
    monkeypatch.setattr(connectors, "AGAIN_S", 0.001)
    monkeypatch.setattr(connectors, "ASK_S", 0.05)
    parts: Any = SimpleNamespace(
        cluster=SimpleNamespace(bootstrap="10.0.0.11:9092"),
        version=SimpleNamespace(client_settings={}, release=(4, 3, 1)),
    )
    with Timeline(tmp_path / "timeline.jsonl") as timeline:
        yield Connectors(parts, SequenceLog(timeline), cast("Any", None))


def of(*workers: Worker) -> list[ConnectWorker]:
    return cast("list[ConnectWorker]", list(workers))


def test_the_worker_of_a_task_knows_who_is_beside_it(asked: Connectors) -> None:
    first = Worker(1, NotAnswered("404"), runs_on(2, "UNASSIGNED"), runs_on(2))
    second = Worker(2, NotAnswered("refused"))
    found = asked.worker_of_task(of(first, second, Worker(3, runs_on(9))), timeout_s=5.0)
    assert found is cast("Any", second)
    assert found.beside == (1, 3)
    assert first.asked[0] == ("GET", "/connectors/source/status")


def test_a_task_that_runs_nowhere_is_told(asked: Connectors) -> None:
    with pytest.raises(WaitTimeout, match=r"the task of source does not run after 0 s: Task\(worker='127.0.0.1:9'"):
        asked.worker_of_task(of(Worker(1, runs_on(9))), timeout_s=0.02)
    with pytest.raises(WaitTimeout, match="does not run after 0 s: w1: refused"):
        asked.worker_of_task(of(Worker(1, NotAnswered("w1: refused"))), timeout_s=0.02)


def test_a_task_that_has_failed_ends_the_wait_at_once(asked: Connectors) -> None:
    with pytest.raises(HarnessError, match=r"the task source has failed on .*:1: o\.a\.k\.E: why"):
        asked.worker_of_task(of(Worker(1, runs_on(1, "FAILED"))), timeout_s=60.0)


def test_a_task_that_was_not_fenced_is_restarted_once_and_the_timeline_says_so(
    asked: Connectors, tmp_path: Path
) -> None:
    failed = runs_on(1, "FAILED")
    failed["tasks"][0]["trace"] = "o.a.k.E: Failed to perform round of zombie fencing\n\tat"
    worker = Worker(1, failed, {"name": "source"}, runs_on(1, "RESTARTING"), runs_on(1))
    assert asked.worker_of_task(of(worker), timeout_s=5.0) is cast("Any", worker)
    posted = [path for method, path in worker.asked if method == "POST"]
    assert posted == ["/connectors/source/restart?includeTasks=true&onlyFailed=true"]
    said = (tmp_path / "timeline.jsonl").read_text()
    assert "the failed task of source is restarted: o.a.k.E: Failed to perform round of zombie fencing" in said


def test_a_worker_that_has_ended_ends_the_wait_at_once(asked: Connectors) -> None:
    gone = Worker(1, runs_on(9))
    gone.ended = True
    with pytest.raises(RecorderDied, match="w1 has ended"):
        asked.worker_of_task(of(gone), timeout_s=60.0)


def test_every_worker_writes_the_lines(asked: Connectors) -> None:
    workers = [Worker(1, None), Worker(2, None)]
    asked.append_lines(of(*workers), 7)
    assert [one.appended for one in workers] == [[7], [7]]


def test_what_is_committed_is_read_to_the_end(asked: Connectors, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = Topic(5, 11, polls=2)
    monkeypatch.setattr(connectors, "consumer", topic)
    assert asked.lines_committed(of(Worker(1, None))[0]) == 2
    assert topic.settings["isolation.level"] == "read_committed"


def test_the_outputs_say_who_has_made_them(asked: Connectors, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [record.encode_text(1, producer, 0) for producer in (2, 3, 2)]
    topic = Topic(*lines, b"of somebody else", polls=2)
    monkeypatch.setattr(connectors, "consumer", topic)
    assert asked.makers_of(Partition("out", 0), 7) == {2, 3}
    assert topic.settings["isolation.level"] == "read_uncommitted"
    assert [(one.topic, one.partition, one.offset) for one in topic.assigned] == [("out", 0, 7)]


def test_outputs_that_cannot_be_read_are_nobodys(asked: Connectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectors, "consumer", Topic(refuses=True))
    assert asked.makers_of(Partition("out", 0), 7) == frozenset()


@pytest.mark.parametrize("topic", [Topic(5, refuses=True), Topic(5, polls=-1)], ids=["refused", "without an end"])
def test_what_nobody_says_is_not_taken_for_nothing(
    topic: Topic, asked: Connectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connectors, "consumer", topic)
    worker = of(Worker(1, None))
    assert asked.lines_committed(worker[0]) is None
    with pytest.raises(WaitTimeout, match="2 lines are not committed after 0 s: nobody says how many are"):
        asked.wait_lines_committed(worker, 2, timeout_s=0.0)


def test_lines_are_waited_for(asked: Connectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectors, "consumer", lambda _: Topic(5, 11, polls=2))
    asked.wait_lines_committed(of(Worker(1, None)), 2, timeout_s=5.0)
    with pytest.raises(WaitTimeout, match="1 lines are not committed after 0 s: 2 are"):
        asked.wait_lines_committed(of(Worker(1, None)), 1, timeout_s=0.02)


@pytest.mark.parametrize(("name", "group"), [("source", "source"), ("sink", "connect-sink")])
def test_three_workers_have_the_connector_that_is_asked_for_again(name: str, group: str, asked: Connectors) -> None:
    made: list[Worker] = []
    wanted, of_group = "out" if name == "source" else "", group

    @contextmanager
    def started(t: Partition, output: str, *, group: str, settings: Any) -> Iterator[Worker]:
        assert (t, output, group, settings) == (T, wanted, of_group, {"a": "b"})
        number = len(made) + 1
        made.append(Worker(number, NotAnswered("409"), {"name": name}, runs_on(2)))
        made[-1].output = output
        yield made[-1]

    asked._starter = cast("Any", SimpleNamespace(connect_worker=started))
    given: Any = {"worker": {"a": "b"}, "connector": {"c": "d"}}
    with asked.connect_source(T, "out", **given) if wanted else asked.connect_sink(T, **given) as workers:
        assert workers == cast("Any", made)
    assert len(made) == connectors.WORKERS
    asked_for = [one for worker in made for one in worker.asked]
    assert asked_for[0] == ("PUT", f"/connectors/{name}/config")
    assert ("GET", f"/connectors/{name}/status") in asked_for


@pytest.mark.parametrize("output", ["out", ""], ids=["source", "sink"])
def test_another_worker_joins_with_the_lines_that_the_others_have(output: str, asked: Connectors) -> None:
    one = Worker(1, None)
    one.output, one.lengths = output, (5, 6) if output else ()
    joining = Worker(2, None)

    @contextmanager
    def started(t: Partition, output: str, **given: Any) -> Iterator[Worker]:
        assert (t, output) == (T, one.output)
        assert given == {"group": "g", "settings": {"a": "b"}, "lines": len(one.lengths)}
        yield joining

    asked._starter = cast("Any", SimpleNamespace(connect_worker=started))
    with asked.join_workers(T, of(one), worker={"a": "b"}) as found:
        assert found is cast("Any", joining)
    assert joining.waited == [len(one.lengths)]


def test_a_connector_that_nobody_makes_is_told(asked: Connectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectors, "TASK_LIMIT_S", 0.02)
    with pytest.raises(WaitTimeout, match="the connector source is not made after 0 s: w1: refused"):
        asked._make(of(Worker(1, NotAnswered("w1: refused"))), "source", {})
