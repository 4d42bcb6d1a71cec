"""A stage on which scenarios are rehearsed without Docker: everything of the harness is real but what it stands on.

The stage is the engine (containers that die and start as they are told, with the events that Docker would send), the
cluster on it (who is registered, who leads, whose log holds what, as real files in real places) and the clients, which
record histories as the real ones do. It is kinder than Kafka: what happens, happens at once. A `forgetful` stage has a
bug: a leader that is elected has lost the last record of its log.
"""

from __future__ import annotations

import queue
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError, NotFound
from docker.models.containers import ExecResult

from analysis.check import check_run
from evidence import events
from evidence.errors import RecorderDied
from evidence.findings import write_findings
from evidence.history import record, schema
from evidence.history.writer import HistoryWriter
from evidence.run import DEFAULT_CASE
from evidence.rundir import RunDir
from evidence.timeline import Timeline
from harness.cluster import versions
from harness.cluster.docker import NODE_LABEL, RUN_LABEL
from harness.cluster.listings import WHOLE
from harness.cluster.state import ClusterState, PartitionState
from harness.observers import packet_filters
from harness.observers.packet_filters import WATCHING
from harness.observers.state import StateKeeper, node_name
from harness.plan import ClusterPlan, TopicPlan
from harness.removal import Removals
from harness.run import Run
from harness.runner import Finished, Request, execute
from harness.scenario import Scenario
from harness.words import EVERY_VERSION, Case, Documented
from harness.workloads.handles import client as handles
from harness.workloads.handles.client import FinalRead, SendResult
from judgement.report.facts import judge_run
from judgement.verdict import Verdict
from tests.records import STATED
from tests.unit.kafkafiles import encode

Key = tuple[str, int]
NODES = {0: "zookeeper", 1: "broker-1", 2: "broker-2", 3: "broker-3", 4: "broker-4"}


class Observer(StateKeeper):
    """What the cluster says of itself, when it says it."""

    def __init__(self, timeline: Timeline) -> None:
        super().__init__("zookeeper", timeline, node_name())
        self.at_close: Callable[[], None] = lambda: None

    def start(self) -> None:
        self.publish(ClusterState())

    def close(self) -> None:
        self.at_close()


@dataclass
class Container:
    """A node's container, as the engine's API shows it."""

    stage: Stage
    number: int
    attrs: dict[str, Any] = field(default_factory=dict)
    running: bool = False
    exit_code: int = 0
    deaf: bool = False
    """Signals do nothing: a fault that cannot be proved."""
    stuck: bool = False
    """It cannot be removed."""
    said: list[str] = field(default_factory=list)
    """What it printed, beside its version."""
    release: str = "2.8.2"

    @property
    def name(self) -> str:
        return NODES[self.number]

    @property
    def labels(self) -> dict[str, str]:
        return {NODE_LABEL: self.name}

    def reload(self) -> None:
        if self not in self.stage.created:
            raise NotFound(f"No such container: {self.name}")
        state = {"Running": self.running, "ExitCode": self.exit_code, "Pid": 1, "Status": "?"}
        self.attrs["State"] = state | {"StartedAt": "2026-01-01T00:00:00.000000000Z"}

    def start(self) -> None:
        self.running = True
        self.stage.tell(self.name, "start")
        with self.stage.lock:
            self.stage.came(self.number)

    def kill(self, signal: str) -> None:
        self.stage.tell(self.name, "kill", signal="9")
        self._end(137)

    def stop(self, timeout: int) -> None:
        self._end(143)

    def _end(self, code: int) -> None:
        if not self.deaf:
            self.running, self.exit_code = False, code
            self.stage.tell(self.name, "die", exitCode=str(code))
            self.stage.went(self.number)

    def exec_run(self, command: list[str], **_options: Any) -> ExecResult:
        if command[0] == "sha256sum":
            return ExecResult(0, f"{self.stage.digests[self.release]}  {command[1]}\n".encode())
        said = WATCHING if packet_filters.FILE in command[-1] else "-P INPUT ACCEPT"
        return ExecResult(0, f"{said}\n{WHOLE}\n".encode())

    def end_itself(self, why: str) -> None:
        """A broker that says why, and ends."""
        self.said.append(why)
        self._end(1)

    def logs(self, *, stream: bool = False, timestamps: bool = False, **_options: Any) -> Any:
        lines = [f"[...] INFO Kafka version: {self.release} (AppInfoParser)", *self.said] if self.number else []
        stamp = "2026-01-01T00:00:00.000000000Z " if timestamps else ""
        printed = [f"{stamp}{line}\n".encode() for line in lines]
        return iter(printed) if stream else b"".join(printed)

    def remove(self, **_options: Any) -> None:
        if self.stuck:
            raise APIError(f"{self.name} is stuck")
        if self in self.stage.created:
            self.stage.created.remove(self)
        if not self.stage.created:
            self.stage.empty.set()


class Stream:
    """Docker's events, until somebody closes them."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def put(self, event: dict[str, Any]) -> None:
        self._events.put(event)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._events.get, None)

    def close(self) -> None:
        self._events.put(None)


@dataclass
class Listing:
    """A kind of thing that the engine has."""

    things: Callable[[], Sequence[Any]]

    def list(self, **_options: Any) -> list[Any]:
        return list(self.things())


@dataclass
class Broker:
    """A broker's disk: its log of each partition, and the high watermarks it has checkpointed."""

    logs: dict[Key, list[tuple[int, bytes]]] = field(default_factory=dict)
    """By partition, (leader epoch, value) at each offset."""


class Stage:
    """The engine, and the cluster on it."""

    def __init__(self, *, forgetful: bool = False) -> None:
        self.forgetful = forgetful
        self.elsewhere = False
        """Whether the engine may have networks and disks that are not this process's."""
        self.lock = threading.RLock()
        """Nodes are started several at once."""
        self.containers_of = {number: Container(self, number) for number in NODES}
        self.created: list[Container] = []
        self.empty = threading.Event()
        """Whether everything that was created has been removed."""
        self.brokers = {number: Broker() for number in NODES if number}
        self.replicas: dict[Key, tuple[int, ...]] = {}
        self.stream = Stream()
        self.digests: dict[str, str] = {}
        """By release, what the jar of its broker has."""
        self.observer: Observer
        self.data: Path
        self.run: Run
        self.containers = Listing(lambda: self.created)
        self.networks = Listing(list)
        self.volumes = Listing(list)

    # The engine

    def version(self) -> dict[str, str]:
        return {"Version": "a stage"}

    def events(self, **options: Any) -> Stream:
        if "until" not in options:
            return self.stream
        past = Stream()
        past.close()
        return past

    def tell(self, node: str, action: str, **attributes: str) -> None:
        """An event, as Docker would send it."""
        actor = {"ID": node, "Attributes": {NODE_LABEL: node, RUN_LABEL: self.data.parent.name, **attributes}}
        self.stream.put({"Type": "container", "Action": action, "Actor": actor, "timeNano": time.time_ns()})

    def create(self, arguments: Sequence[str], variables: Mapping[str, str]) -> tuple[int, str, str]:
        """`docker compose create …` and `docker compose config …`."""
        if "create" in arguments:
            self.data = Path(variables["CHAOS_DATA"])
            self.created += [each for each in self.containers_of.values() if each.name in arguments]
            for each in self.created:
                each.attrs = {"Image": "sha256:0", "Labels": {NODE_LABEL: each.name}}
        if "up" in arguments:
            (renewed,) = (each for each in self.created if each.name == arguments[-1])
            renewed.release = variables[f"KAFKA_VERSION_{renewed.number}"].partition("-build-")[0]
        return 0, "services: {}\n", ""

    # The cluster

    def create_topic(self, name: str, replicas: Sequence[Sequence[int]], settings: Mapping[str, str]) -> None:
        for number, brokers in enumerate(replicas):
            self.replicas[name, number] = tuple(brokers)
            for broker in brokers:
                self.brokers[broker].logs[name, number] = []
            self._state(name, number, leader=brokers[0], isr=tuple(brokers), epoch=0)
        self._write()

    def create_topic_anywhere(self, name: str, partitions: int, replication: int) -> str:
        self.create_topic(name, [tuple(range(1, replication + 1))] * partitions, {})
        return "the stage"

    def delete_topic(self, name: str) -> str:
        for key in [key for key in self.replicas if key[0] == name]:
            del self.replicas[key]
            for broker in self.brokers.values():
                broker.logs.pop(key, None)
            for node in NODES.values():
                shutil.rmtree(self.data / node / "kafka" / f"{name}-{key[1]}", ignore_errors=True)
        return "the stage"

    def withdraw_deletion(self, name: str) -> str:
        return f"the stage, of {name}"

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        assert (topic, partition) in self.replicas
        return before

    def reassign(self, topic: str, number: int, replicas: Sequence[int]) -> str:
        """The new replicas have the log at once, and the first of them leads; the old ones have none."""
        key, state = (topic, number), self.observer.state.partitions[topic, number]
        log = self.brokers[state.leader].logs[key]
        for broker in self.brokers.values():
            broker.logs.pop(key, None)
        for each in replicas:
            self.brokers[each].logs[key] = list(log)
        self.replicas[key] = tuple(replicas)
        self._state(topic, number, leader=replicas[0], isr=tuple(replicas), epoch=state.leader_epoch + 1)
        for node in NODES.values():
            shutil.rmtree(self.data / node / "kafka" / f"{topic}-{number}", ignore_errors=True)
        self._write()
        return "the stage"

    def _state(self, topic: str, number: int, *, leader: int, isr: tuple[int, ...], epoch: int) -> None:
        now = self.observer.state
        about: dict[str, Any] = {"replicas": self.replicas[topic, number], "controller_epoch": 1}
        partition = PartitionState(leader=leader, leader_epoch=epoch, isr=isr, **about)
        self._publish(partitions={**now.partitions, (topic, number): partition})

    def _publish(self, **changes: Any) -> None:
        now = self.observer.state
        fields: dict[str, Any] = {"controller": now.controller, "controller_epoch": 1, "brokers": now.brokers}
        self.observer.publish(ClusterState(**(fields | {"partitions": now.partitions} | changes)))

    def came(self, broker: int) -> None:
        """A broker is registered; with a leader there is, every replica that is there truncates, fetches, and is in
        sync.
        """
        if broker == 0:
            return
        now = self.observer.state
        self._publish(brokers=now.brokers | {broker}, controller=now.controller or broker)
        for key, state in list(self.observer.state.partitions.items()):
            leader = state.leader if state.leader >= 0 or broker not in state.isr else broker
            if leader < 0 or broker not in self.replicas[key]:
                continue  # Only one that was in sync may lead.
            present = [b for b in self.replicas[key] if b in self.observer.state.brokers]
            for each in present:
                self.brokers[each].logs[key] = list(self.brokers[leader].logs[key])
            self._state(*key, leader=leader, isr=tuple(present), epoch=state.leader_epoch + (state.leader < 0))
        self._write()

    def went(self, broker: int) -> None:
        """A broker is not registered any more: the next in-sync replica leads, if there is one."""
        now = self.observer.state
        self._publish(brokers=now.brokers - {broker})
        for key, state in list(now.partitions.items()):
            if broker in state.isr:
                isr = tuple(b for b in state.isr if b != broker) or state.isr
                leader = state.leader if state.leader != broker else next((b for b in isr if b != broker), -1)
                changed = leader != state.leader
                if changed and leader >= 0 and self.forgetful:
                    for each in isr:
                        del self.brokers[each].logs[key][-1:]
                self._state(*key, leader=leader, isr=isr, epoch=state.leader_epoch + changed)
        self._write()

    def append(self, key: Key, value: bytes) -> int | None:
        """The offset at which the leader and everybody in sync holds the record; None if nobody leads."""
        state = self.observer.state.partitions[key]
        if state.leader < 0:
            return None
        for broker in state.isr:
            self.brokers[broker].logs[key].append((state.leader_epoch, value))
        self._write()
        return len(self.brokers[state.leader].logs[key]) - 1

    def _write(self) -> None:
        """Put every log on its disk."""
        for number, broker in self.brokers.items():
            folder = self.data / NODES[number] / "kafka"
            for (topic, partition), log in broker.logs.items():
                directory = folder / f"{topic}-{partition}"
                directory.mkdir(parents=True, exist_ok=True)
                batches = [encode.batch(at, [encode.R(value=v)], epoch=epoch) for at, (epoch, v) in enumerate(log)]
                (directory / f"{0:020}.log").write_bytes(b"".join(batches))
            if broker.logs:
                lines = [f"{topic} {partition} {len(log)}\n" for (topic, partition), log in broker.logs.items()]
                (folder / "replication-offset-checkpoint").write_text(f"0\n{len(lines)}\n{''.join(lines)}")


class Client:
    """What the clients on the stage share: a history of their own."""

    def __init__(self, stage: Stage, client: handles.Client) -> None:
        self.name, self._stage, self._run = client.name, stage, record.run_hash(client.run_dir.path.name)
        self._writer = HistoryWriter(client.run_dir.stream(self.name), self.name, run=client.run_dir.path.name)
        self._dead = self._closed = False

    def close(self) -> None:
        if not self._dead and not self._closed:
            self._closed = True
            self._writer.close()

    def kill(self) -> None:
        """Its history has no end."""
        self._writer.flush()
        self._dead = True

    def _alive(self) -> None:
        if self._dead:
            raise RecorderDied(f"the process {self.name} has ended (status -9); it said: nothing")


class Producer(Client):
    """In the place of ScriptedProducer."""

    def __init__(self, stage: Stage, client: handles.Client, timeline: Timeline) -> None:
        super().__init__(stage, client)
        self._number, self._timeline, self._sequence = client.producer_id, timeline, -1

    def send(
        self,
        topic: str,
        partition: int,
        *,
        count: int = 1,
        timeout_s: float,
        expected_loss: bool = False,
        key: str | None = None,
    ) -> list[SendResult]:
        return [self._send(topic, partition, expected_loss) for _ in range(count)]

    def _send(self, topic: str, partition: int, expected_loss: bool) -> SendResult:
        self._alive()
        self._sequence += 1
        place: dict[str, Any] = {"topic": topic, "partition": partition, "producer": self._number}
        place["sequence"] = self._sequence
        self._writer.reserve(topic, [partition], self._number, self._sequence, 1)
        self._timeline.append(events.Send(process=self.name, acks="all", expected_loss=expected_loss, **place))
        invoked_ns = time.monotonic_ns()
        offset = self._stage.append((topic, partition), record.encode(self._run, self._number, self._sequence))
        times: dict[str, Any] = {"invoked_ns": invoked_ns, "completed_ns": time.monotonic_ns()}
        outcome: events.Outcome = "info" if offset is None else "ok"
        self._writer.append(kind=schema.SEND, outcome=outcome, offset=offset, acks=-1, flush=True, **place, **times)
        if offset is not None:
            told: dict[str, Any] = {"offset": offset, "outcome": outcome, "error": None, "acks": "all", **times}
            self._timeline.append(events.Acked(process=self.name, **place, **told))
        error = "_MSG_TIMED_OUT" if offset is None else None
        return SendResult(outcome=outcome, offset=offset, error=None, error_name=error, acks=-1, **place, **times)


class FinalReader(Client):
    """In the place of the final reader."""

    def __init__(
        self,
        stage: Stage,
        client: handles.Client,
        topics: Mapping[str, Sequence[int]],
        *,
        outputs: Mapping[str, Sequence[int]],
        stores: Sequence[str],
        timeout_s: float,
    ) -> None:
        super().__init__(stage, client)
        assert not outputs, "the stage has no applications"
        assert not stores, "the stage has no applications"
        self._topics = topics

    def read(self) -> FinalRead:
        self._alive()
        seen: dict[Key, tuple[int | None, int]] = {}
        for key in [(topic, number) for topic, numbers in self._topics.items() for number in numbers]:
            log = self._stage.brokers[self._stage.observer.state.partitions[key].leader].logs[key]
            place: dict[str, Any] = {"topic": key[0], "partition": key[1]}
            for offset, (_, value) in enumerate(log):
                found = record.decode(value)
                assert found is not None
                now = time.monotonic_ns()
                self._writer.append(
                    kind=schema.POLL, outcome=schema.OK, offset=offset, valid=True, invoked_ns=now, completed_ns=now,
                    producer=found.producer, sequence=found.sequence, **place,
                )  # fmt: skip
            end = len(log)
            self._writer.append(
                kind=schema.FINAL_READ, outcome=schema.OK, offset=end, completed_ns=time.monotonic_ns(), **place
            )
            seen[key] = (end, end)
        return FinalRead(seen, ())


def rehearsed(steps: Callable[[Run], None], cluster: ClusterPlan) -> Scenario:
    """A scenario of these steps, for which nothing is documented on any version."""
    return Scenario(
        name="rehearsal",
        claim="a claim",
        source="a source",
        operator="",
        cluster=cluster,
        topic=TopicPlan(),
        cases={DEFAULT_CASE: Case(documented=(Documented(on=EVERY_VERSION, **STATED),))},
        steps=steps,
    )


def rehearse(
    stage: Stage,
    root: Path,
    steps: Callable[[Run], None],
    monkeypatch: pytest.MonkeyPatch,
    removals: Removals | None = None,
    seed: int = 1,
    cluster: ClusterPlan | None = None,
    version: versions.Version | None = None,
) -> Finished:
    """Carry a scenario of these steps out on the stage."""

    def observer(_cluster: object, timeline: Timeline) -> Observer:
        stage.observer = Observer(timeline)
        return stage.observer

    monkeypatch.setattr("harness.runner._observer", observer)
    monkeypatch.setattr("harness.runner.ensure_image", lambda *_: None)
    monkeypatch.setattr("harness.runner.open_admin", lambda *_: stage)
    monkeypatch.setattr("harness.runner.may_be_elsewhere", lambda: stage.elsewhere)
    monkeypatch.setattr("harness.cluster.cluster._compose", stage.create)
    monkeypatch.setattr("harness.cluster.cluster.free_prefixes_here", lambda _: iter(["172.20.0"]))
    monkeypatch.setattr("harness.run.clients.ScriptedProducer", partial(Producer, stage))
    monkeypatch.setattr("harness.run.clients.FinalReader", partial(FinalReader, stage))
    request = Request(
        scenario=rehearsed(steps, cluster or ClusterPlan()),
        version=version or versions.get("2.8.2"),
        seed=seed,
        root=root,
    )
    return execute(request, client=stage, removals=removals, echo=lambda _: None)  # type: ignore[arg-type]


def judged(run_dir: RunDir) -> Verdict:
    """The verdict, by the analysis without Spark."""
    write_findings(run_dir, check_run(run_dir))
    return judge_run(run_dir).verdict
