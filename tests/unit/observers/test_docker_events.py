"""The engine's event stream, with an engine made of queues."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evidence.errors import WaitTimeout
from evidence.events import Blind, Container, E
from evidence.timeline import Timeline, read
from harness.observers import docker_events
from harness.observers.docker_events import DockerEvents, event_of
from tests.unit.timelines import at

END = object()


def event(node: str, action: str, at_ns: int, **attributes: str) -> dict[str, Any]:
    return {
        "Type": "container",
        "Action": action,
        "Actor": {
            "ID": f"id of {node}",
            "Attributes": {
                "kafka-chaos.node": node,
                "kafka-chaos.run": "the-run",
                "name": f"run-{node}-1",
                **attributes,
            },
        },
        "timeNano": at_ns,
    }


class Stream:
    """What the SDK returns: iterable, and closable from another thread."""

    def __init__(self) -> None:
        self.items: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def __iter__(self) -> Iterator[Any]:
        while (item := self.items.get()) is not END:
            if isinstance(item, Exception):
                raise item
            yield item

    def close(self) -> None:
        self.items.put(END)


class Engine:
    def __init__(self) -> None:
        self.streams: list[Stream] = []
        self.asked: list[dict[str, Any]] = []
        self.opened = threading.Condition()
        self.refusals = 0

    def events(self, **arguments: Any) -> Stream:
        with self.opened:
            if self.streams and self.refusals:
                self.refusals -= 1
                raise ConnectionError("no engine")
            self.asked.append(arguments)
            self.streams.append(Stream())
            self.opened.notify_all()
            return self.streams[-1]

    def wait_for_stream(self, number: int) -> Stream:
        with self.opened:
            assert self.opened.wait_for(lambda: len(self.streams) >= number, timeout=10)
            return self.streams[number - 1]


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def events(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DockerEvents]:
    monkeypatch.setattr(docker_events, "REOPEN_S", 0.001)
    with Timeline(tmp_path / "timeline.jsonl") as timeline:
        events = DockerEvents(engine, "the-run", timeline)  # type: ignore[arg-type]
        events.start()
        yield events
        events.close()


def told(tmp_path: Path, kind: type[E]) -> list[E]:
    return read(tmp_path / "timeline.jsonl").of(kind)


def test_what_is_asked_for_from_the_start_on(engine: Engine, events: DockerEvents) -> None:
    filters = engine.asked[0]["filters"]
    assert filters["type"] == ["container", "network"]
    of_processes = {"start", "die", "kill", "pause", "unpause", "oom", "stop"}
    assert set(filters["event"]) == {"create", "connect", "disconnect", *of_processes}
    seconds, _, nanos = engine.asked[0]["since"].partition(".")
    assert len(nanos) == 9
    assert int(seconds) > 1_700_000_000


def test_an_event_is_kept_written_and_waited_for(engine: Engine, events: DockerEvents, tmp_path: Path) -> None:
    engine.streams[0].items.put(event("broker-1", "die", 70, exitCode="137"))
    found = events.wait("broker-1", "die", since_ns=70, timeout_s=10)
    assert found == Container(node="broker-1", action="die", exit_code=137, time_nano=70)
    (written,) = told(tmp_path, Container)
    assert at(found.monotonic_ns, written) == at(found.monotonic_ns, found)


def test_the_past_proves_nothing_and_neither_do_others(engine: Engine, events: DockerEvents) -> None:
    for entry in (
        event("broker-1", "die", 69),
        event("broker-2", "die", 80),
        event("broker-1", "kill", 75, signal="9"),
    ):
        engine.streams[0].items.put(entry)
    events.wait("broker-1", "kill", since_ns=70, timeout_s=10)
    with pytest.raises(WaitTimeout, match=r"waited 0\.\d s, no 'die' event of broker-1; seen of it since: kill$"):
        events.wait("broker-1", "die", since_ns=70, timeout_s=0.05)
    with pytest.raises(WaitTimeout, match="seen of it since: nothing"):
        events.wait("broker-3", "die", since_ns=70, timeout_s=0)


@pytest.mark.parametrize("how", [END, ConnectionError("reset")])
def test_a_broken_stream_is_blind_until_it_is_open_again(
    engine: Engine, events: DockerEvents, tmp_path: Path, how: object
) -> None:
    engine.refusals = 2
    now_ns = int(engine.asked[0]["since"].replace(".", "")) + 5
    engine.streams[0].items.put(event("broker-1", "die", now_ns, exitCode="137"))
    engine.streams[0].items.put(how)
    again = engine.wait_for_stream(2)
    # The engine sends again what it had at that very moment, and what came meanwhile.
    assert engine.asked[1]["since"] == f"{now_ns // 10**9}.{now_ns % 10**9:09d}"
    again.items.put(event("broker-1", "die", now_ns, exitCode="137"))
    again.items.put(event("broker-1", "start", now_ns + 1))
    events.wait("broker-1", "start", since_ns=0, timeout_s=10)
    assert [entry.action for entry in told(tmp_path, Container)] == ["die", "start"]
    assert [entry.phase for entry in told(tmp_path, Blind)] == ["begin", "end"]


def test_what_the_stream_left_out_is_looked_up(engine: Engine, events: DockerEvents, tmp_path: Path) -> None:
    engine.streams[0].items.put(event("broker-1", "start", 70))
    events.wait("broker-1", "start", since_ns=0, timeout_s=10)
    looked = threading.Thread(target=events.look_back)
    looked.start()
    kept = engine.wait_for_stream(2)
    for entry in (event("broker-1", "start", 70), event("broker-2", "start", 75), END):
        kept.items.put(entry)
    looked.join(10)
    assert engine.asked[1]["since"] == engine.asked[0]["since"]
    assert float(engine.asked[1]["until"]) > float(engine.asked[1]["since"])
    assert [(entry.node, entry.time_nano) for entry in told(tmp_path, Container)] == [
        ("broker-1", 70),
        ("broker-2", 75),
    ]


def test_closing_ends_the_thread_and_is_no_blind_interval(engine: Engine, events: DockerEvents, tmp_path: Path) -> None:
    events.close()
    events.close()
    assert "docker-events" not in {thread.name for thread in threading.enumerate()}
    assert told(tmp_path, Blind) == []


def test_closing_while_the_engine_is_away(engine: Engine, events: DockerEvents) -> None:
    engine.refusals = 10**9
    engine.streams[0].items.put(END)
    events.close()
    assert "docker-events" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"Type": "network", "Action": "connect", "timeNano": 1},
        event("broker-1", "exec_start: iptables", 5),
        event("broker-1", "health_status: healthy", 5),
    ],
)
def test_what_is_of_no_interest_is_left_out(other: dict[str, Any]) -> None:
    assert event_of(other) is None


def joined(action: str, at_ns: int, container: str = "id of broker-1", network: str = "the-run_cluster") -> Any:
    attributes = {"container": container, "name": network}
    return {"Type": "network", "Action": action, "Actor": {"Attributes": attributes}, "timeNano": at_ns}


def test_who_leaves_the_clusters_network_is_told_by_name(events: DockerEvents, tmp_path: Path) -> None:
    events.note(joined("connect", 1))  # whose that is nobody has said yet
    events.note(event("broker-1", "create", 2))
    for entry in (joined("disconnect", 3), joined("connect", 4)):
        events.note(entry)
    events.note(joined("disconnect", 5, container="id of another"))
    events.note(joined("disconnect", 6, network="another_cluster"))
    assert [(e.node, e.action) for e in told(tmp_path, Container)] == [
        ("broker-1", "disconnect"),
        ("broker-1", "connect"),
    ]


def test_containers_of_other_runs_are_left_out(events: DockerEvents, tmp_path: Path) -> None:
    events.note(event("broker-1", "die", 1, **{"kafka-chaos.run": "another"}))
    assert told(tmp_path, Container) == []


def test_a_container_without_our_label_goes_by_its_name() -> None:
    entry = event_of({"Action": "oom", "Actor": {"Attributes": {"name": "x"}}, "timeNano": 5})
    assert entry == Container(node="x", action="oom", time_nano=5)
