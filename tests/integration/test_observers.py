"""What the observers see of real clusters, brought up from compose/ as a person would."""

from __future__ import annotations

import os
import secrets
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from msgspec import structs

from evidence.errors import WaitTimeout
from evidence.events import Blind, Broker, Container, Controller, E, Event, Log, Missed, Note, Partition, Znode
from evidence.rundir import RunDir
from evidence.timeline import Timeline, read
from harness.cluster import docker, versions
from harness.cluster.networks import free_prefixes_here
from harness.cluster.state import ClusterState
from harness.faults.process import pause
from harness.observers import broker_logs
from harness.observers.docker_events import DockerEvents
from harness.observers.kraft import KRaftObserver
from harness.observers.replicas import copy_replicas, leo_and_hw
from harness.observers.state import StateKeeper
from harness.observers.transactions import read_log, skipped_states
from harness.observers.zookeeper import ZooKeeperObserver
from tests.integration.engine import needs_image

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(420)]

COMPOSE = Path(__file__).resolve().parents[2] / "compose"
SESSION_MS = 3000
UP_S = 90.0
CHANGE_S = 60.0


@dataclass(slots=True)
class ByHand:
    """A cluster, the timeline of what is seen of it, and Docker's events."""

    file: str
    version: str
    services: tuple[str, ...]
    root: Path
    client: Any
    run: str
    timeline: Timeline
    events: DockerEvents
    prefix: str = ""

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{self.prefix}.{10 + int(s[-1])}:9092" for s in self.services if s.startswith("broker-"))

    def compose(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        variables = {
            "KAFKA_VERSION": self.version,
            "CHAOS_SUBNET": self.prefix,
            "CHAOS_RUN": self.run,
            "CHAOS_OWNER": docker.owner(),
            "CHAOS_DATA": str(self.data),
            "CHAOS_SESSION_TIMEOUT_MS": str(SESSION_MS),
            "CHAOS_TICK_MS": str(SESSION_MS // 20),
            "CHAOS_UID": str(os.getuid()),
            "CHAOS_GID": str(os.getgid()),
        }
        command = ["docker", "compose", "-p", self.run, "-f", str(COMPOSE / self.file), *arguments]
        return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)

    def up(self) -> None:
        for service in self.services:
            (self.data / service).mkdir(parents=True)
        result = None
        for prefix in free_prefixes_here(self.client):
            self.prefix = prefix
            result = self.compose("up", "-d", "--no-deps", *self.services)
            if result.returncode == 0:
                return
            self.compose("down", "--volumes")
            if "overlap" not in result.stderr and "in use" not in result.stderr:
                break
        raise AssertionError(f"compose: {result and result.stderr}")

    def container(self, service: str) -> Any:
        (found,) = self.client.containers.list(
            all=True, filters={"label": [f"kafka-chaos.run={self.run}", f"kafka-chaos.node={service}"]}
        )
        return found

    def kill(self, service: str) -> Container:
        since_ns = time.time_ns()
        self.container(service).kill()
        return self.events.wait(service, "die", since_ns=since_ns, timeout_s=15)

    def produce(self, count: int) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap, "acks": "all", "log_level": 2})
        for number in range(count):
            producer.produce("t", str(number).encode(), partition=0)
        assert producer.flush(30) == 0

    def told(self, kind: type[E]) -> list[E]:
        return read(self.root / "timeline.jsonl").of(kind)

    def silent(self) -> bool:
        return not [event for kind in (Blind, Missed, Note) for event in self.told(kind)]


@pytest.fixture
def by_hand(tmp_path: Path) -> Iterator[Callable[..., ByHand]]:
    client = docker.connect()
    made: list[ByHand] = []

    def make(file: str, version: str, *services: str) -> ByHand:
        needs_image(client, versions.get(version))
        run = f"observers-{secrets.token_hex(4)}"
        timeline = Timeline(tmp_path / "timeline.jsonl")
        events = DockerEvents(client, run, timeline)
        cluster = ByHand(file, version, services, tmp_path, client, run, timeline, events)
        made.append(cluster)
        events.start()
        cluster.up()
        return cluster

    yield make
    for cluster in made:
        cluster.events.close()
        cluster.compose("down", "--volumes", "--timeout", "0")
        cluster.timeline.close()
    client.close()


def brokers(*wanted: int) -> Callable[[ClusterState], bool]:
    return lambda state: state.controller is not None and state.brokers == frozenset(wanted)


def led(leader: int, *isr: int) -> Callable[[ClusterState], bool]:
    def holds(state: ClusterState) -> bool:
        partition = state.partitions.get(("t", 0))
        return partition is not None and partition.leader == leader and set(partition.isr) == set(isr)

    return holds


def wait_blind(observer: StateKeeper, blind: bool) -> None:
    deadline = time.monotonic() + CHANGE_S
    while observer.blind != blind:
        assert time.monotonic() < deadline, f"blind is still {observer.blind}"
        time.sleep(0.02)


def test_zookeeper_0_10(by_hand: Callable[..., ByHand], tmp_path: Path) -> None:
    cluster = by_hand("zookeeper.yml", "0.10.2.2", "zookeeper", "broker-1", "broker-2")
    observer = ZooKeeperObserver(f"{cluster.prefix}.10:2181", cluster.timeline)
    try:
        observer.start()  # while ZooKeeper itself is starting
        observer.wait(brokers(1, 2), what="both brokers", timeout_s=UP_S)
        client = observer.client
        client.create("/brokers/topics/t", b'{"version":1,"partitions":{"0":[1,2]}}', makepath=True)
        state = observer.wait(led(1, 1, 2), what="t-0 led by 1", timeout_s=CHANGE_S).partitions["t", 0]
        assert (state.leader_epoch, state.replicas, state.version) == (0, (1, 2), 0)

        cluster.produce(3)
        assert leo_and_hw(cluster.data / "broker-1", "t", 0)[0] == 3
        assert leo_and_hw(cluster.data / "broker-2", "t", 0)[0] == 3
        copied = copy_replicas(cluster.data, ["broker-1", "broker-2"], tmp_path / "replicas" / "00-x", ["t"])
        assert copied["broker-2"]["t-0"].leo == 3

        # From the change in ZooKeeper to the waking of who waits for it. The real controller does not make a leader of
        # a broker that is not there, so it writes no state of its own.
        delays_s: list[float] = []
        for number in range(20):
            path = f"/brokers/topics/u{number}"
            began = time.monotonic()
            client.create(path, b'{"version":1,"partitions":{}}')
            client.create(f"{path}/partitions", b"")
            client.create(f"{path}/partitions/0", b"")
            client.set(path, b'{"version":1,"partitions":{"0":[7]}}')
            client.create(
                f"{path}/partitions/0/state",
                b'{"controller_epoch":1,"leader":7,"version":1,"leader_epoch":0,"isr":[7]}',
            )
            observer.wait(lambda s, n=number: (f"u{n}", 0) in s.partitions, what="u", timeout_s=CHANGE_S)  # type: ignore[misc]
            delays_s.append(time.monotonic() - began)
        assert len(delays_s) == 20
        for epoch in range(1, 4):
            client.set(
                "/brokers/topics/u0/partitions/0/state",
                b'{"controller_epoch":1,"leader":7,"version":1,"leader_epoch":%d,"isr":[7]}' % epoch,
            )
            observer.wait(
                lambda s, n=epoch: s.partitions["u0", 0].leader_epoch == n,  # type: ignore[misc]
                what=f"epoch {epoch}",
                timeout_s=CHANGE_S,
            )

        died = cluster.kill("broker-1")
        assert died.exit_code == 137
        observer.wait(brokers(2), what="broker 1 is gone", timeout_s=CHANGE_S)
        observer.wait(led(2, 2), what="t-0 led by 2", timeout_s=CHANGE_S)
        assert observer.history_of("t", 0)[0].leader == 1
        gone = next(e for e in cluster.told(Broker) if e.state == "gone")
        assert gone.node == "broker-1"
        assert gone.monotonic_ns > cluster.told(Container)[-1].monotonic_ns

        assert cluster.told(Blind) == []
        zookeeper = cluster.container("zookeeper")
        frozen_ns = time.monotonic_ns()
        pause(zookeeper)
        wait_blind(observer, True)
        zookeeper.unpause()
        wait_blind(observer, False)
        begin, end = [e for e in cluster.told(Blind) if e.source == "zookeeper"]
        assert (begin.phase, end.phase) == ("begin", "end")
        assert abs(begin.monotonic_ns - frozen_ns) < 2e9, "it begins when ZooKeeper fell silent"
        observer.wait(brokers(2), what="broker 2 is back", timeout_s=CHANGE_S)

        # One controller for each epoch, whatever happened.
        controllers = [(e.epoch, e.node) for e in cluster.told(Controller) if e.node is not None]
        assert len({epoch for epoch, _ in controllers}) == len(set(controllers))
    finally:
        observer.close()
    assert "zookeeper-observer" not in {thread.name for thread in threading.enumerate()}
    check_logs(cluster, leader="broker-1")
    check_skipped_states(cluster)


def check_skipped_states(cluster: ByHand) -> None:
    """States that the observer told, and is made to forget, are told alike from ZooKeeper's own log."""
    told = read(cluster.root / "timeline.jsonl").events
    forgotten = [
        event
        for event in told
        if isinstance(event, Znode) and event.path.endswith("/u0/partitions/0/state") and event.version in (1, 2)
    ]
    states = [state for state in cluster.told(Partition) if state.topic == "u0" and state.version in (1, 2)]
    offset_ns = told[0].monotonic_ns - told[0].wall_ns
    again = skipped_states(
        read_log(cluster.data / "zookeeper"),
        [event for event in told if event not in forgotten],
        wall_to_monotonic_ns=offset_ns,
    )
    assert [without_time(one) for one in again] == [
        without_time(one) for pair in zip(forgotten, states, strict=True) for one in pair
    ]
    apart_ns = [abs(new.monotonic_ns - old.monotonic_ns) for new, old in zip(again[::2], forgotten, strict=True)]
    assert max(apart_ns) < 1e9


def without_time(event: Event) -> Event:
    return structs.replace(event, monotonic_ns=0, wall_ns=0)


def check_logs(cluster: ByHand, *, leader: str) -> None:
    """The dead broker's log is there too, and tells that it led."""
    run_dir = RunDir(cluster.root)
    broker_logs.collect({service: cluster.container(service) for service in cluster.services}, run_dir)
    broker_logs.append_to(cluster.timeline, run_dir, wall_to_monotonic_ns=time.monotonic_ns() - time.time_ns())
    events = [e for e in cluster.told(Log) if e.topic == "t"]
    first = next(e for e in events if e.event == "become-leader")
    assert (first.node, first.partition, first.leader_epoch) == (leader, 0, 0)
    seen = next(e for e in cluster.told(Partition) if e.topic == "t")
    assert abs(first.monotonic_ns - seen.monotonic_ns) < 5e9


def test_kraft_with_a_controller_apart_4_3(by_hand: Callable[..., ByHand]) -> None:
    cluster = by_hand("kraft.yml", "4.3.1", "controller-100", "broker-1", "broker-2")
    log_dirs = {service: cluster.data / service / "kafka" for service in cluster.services}
    observer = KRaftObserver(log_dirs, cluster.timeline)
    try:
        observer.start()
        state = observer.wait(brokers(1, 2), what="both brokers", timeout_s=UP_S)
        assert (state.controller, state.controller_epoch) == (100, 1)
        create_topic(cluster, observer, [1, 2])
        cluster.produce(3)
        assert leo_and_hw(cluster.data / "broker-1", "t", 0)[0] == 3

        # A frozen controller says nothing, and the file does not either: no blindness, the log goes on afterwards.
        controller = cluster.container("controller-100")
        pause(controller)
        with pytest.raises(WaitTimeout, match=r"t-0 leader 1 epoch 0"):
            observer.wait(led(2, 2), what="nothing", timeout_s=0.5)
        controller.unpause()

        cluster.kill("broker-1")
        state = observer.wait(led(2, 2), what="t-0 led by 2", timeout_s=CHANGE_S)
        assert state.brokers == {2}, "fenced in the same batch"
        assert state.partitions["t", 0].leader_epoch > 0
        cluster.container("broker-1").start()
        observer.wait(led(2, 1, 2), what="broker 1 is back in the ISR", timeout_s=CHANGE_S)
        states = [e.state for e in cluster.told(Broker) if e.node == "broker-1"]
        assert states[:3] == ["registered", "unfenced", "fenced"]
        assert states[-2:] == ["registered", "unfenced"]
        partitions = [e for e in cluster.told(Partition) if e.topic == "t"]
        assert all(0 <= e.wall_ns - (e.source_ns or 0) < 2e9 for e in partitions), "the controller's clock is ours"
        assert cluster.silent()

        late = KRaftObserver(log_dirs, cluster.timeline)
        late.poll()
        assert late.state.partitions["t", 0] == observer.state.partitions["t", 0]
        assert late.history_of("t", 0) == observer.history_of("t", 0)
    finally:
        observer.close()
    check_logs(cluster, leader="broker-1")


def test_kraft_combined_4_3_shows_the_next_controller(by_hand: Callable[..., ByHand]) -> None:
    cluster = by_hand("kraft-combined.yml", "4.3.1", "broker-1", "broker-2", "broker-3")
    observer = KRaftObserver({s: cluster.data / s / "kafka" for s in cluster.services}, cluster.timeline)
    try:
        observer.start()
        state = observer.wait(brokers(1, 2, 3), what="three brokers", timeout_s=UP_S)
        first, epoch = state.controller, state.controller_epoch
        others = sorted({1, 2, 3} - {first})
        create_topic(cluster, observer, [first, *others])
        cluster.kill(f"broker-{first}")
        state = observer.wait(lambda s: s.controller in others, what="another controller", timeout_s=CHANGE_S)
        assert state.controller_epoch > epoch
        state = observer.wait(led(others[0], *others), what="t-0 has moved", timeout_s=CHANGE_S)
        assert state.brokers == set(others)
        assert state.partitions["t", 0].controller_epoch == state.controller_epoch
        assert cluster.silent()
    finally:
        observer.close()


def create_topic(cluster: ByHand, observer: KRaftObserver, replicas: list[Any]) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
    deadline = time.monotonic() + CHANGE_S
    while ("t", 0) not in observer.state.partitions:
        assert time.monotonic() < deadline
        future = admin.create_topics([NewTopic("t", num_partitions=1, replica_assignment=[replicas])])["t"]
        try:
            future.result(timeout=15)
        except Exception:  # a young cluster drops the first connection; then the topic may exist after all
            time.sleep(0.2)
    observer.wait(led(replicas[0], *replicas), what="t-0", timeout_s=CHANGE_S)
