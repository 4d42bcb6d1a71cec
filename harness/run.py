"""One run as its scenario sees it: who is who, what to do to whom, what to wait for.

Steps name roles ("the leader of t-0"), never brokers; a role is resolved when the step runs and both are
recorded. Each method here is one sentence of a scenario: it writes a step to the timeline, does one thing,
and either proves it (faults), waits for its condition with a limit (waits), or records what came of it
(sends).

A sequence also has preconditions, such as "the second leader died before anyone could fetch from it".
`require` records whether one held. Where it did not, the run says nothing about Kafka and its verdict is
unknown.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evidence.errors import HarnessError, WaitTimeout
from evidence.events import Moment, Note, Precondition, Step
from harness.cluster.cluster import KAFKA_PORT, Cluster
from harness.cluster.docker import Node
from harness.faults.base import Faults
from harness.faults.cut import Cut
from harness.faults.process import Freeze, Kill, Start, Stop
from harness.observers.replicas import copy_replicas, leo_and_hw
from harness.workloads.handles.client import LoadGenerator, Pending, ScriptedProducer, Sent
from kafkafiles.checkpoints import read_leader_epoch_checkpoint

if TYPE_CHECKING:
    from evidence.events import Ends
    from evidence.rundir import RunDir
    from evidence.timeline import Timeline
    from harness.cluster.admin import Admin
    from harness.cluster.versions import Version
    from harness.observers.docker_events import DockerEvents
    from harness.observers.state import ClusterObserver, ClusterState, PartitionState
    from harness.plan import TopicPlan
    from harness.scenario import Case

POLL_S: Final = 0.02
START_LIMIT_S: Final = 90.0
ELECTION_LIMIT_S: Final = 60.0
ISR_LIMIT_S: Final = 90.0
FILE_LIMIT_S: Final = 30.0
SEND_LIMIT_S: Final = 30.0

CLIENT_SETTINGS: Final[Mapping[str, str]] = {
    # A client must find the new leader soon after the election, or it would be the slowest part of every
    # sequence.
    "topic.metadata.refresh.interval.ms": "1000",
    "topic.metadata.refresh.fast.interval.ms": "100",
    "socket.connection.setup.timeout.ms": "1500",
    "reconnect.backoff.ms": "50",
    "reconnect.backoff.max.ms": "500",
    "retry.backoff.ms": "100",
    "linger.ms": "0",
    "enable.idempotence": "false",
}
NO_SETTINGS: Final[Mapping[str, str]] = MappingProxyType({})


class PreconditionNotHeld(HarnessError):
    """The sequence did not take the course that the claim is about."""


class Partition(NamedTuple):
    """A topic-partition."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


@dataclass(frozen=True, slots=True)
class Target:
    """A node and the role it was chosen for."""

    role: str
    node: Node

    @property
    def id(self) -> int:
        return self.node.id

    def __str__(self) -> str:
        return f"{self.node.name} ({self.role})" if self.role else self.node.name


@dataclass(slots=True)
class Run:
    """The running cluster, its witnesses and clients, in the words of a scenario."""

    topic: TopicPlan
    version: Version
    case: Case
    """The case of the scenario that is run: its acks, its client's settings, its variant."""
    run_dir: RunDir
    timeline: Timeline
    cluster: Cluster
    events: DockerEvents
    observer: ClusterObserver
    admin: Admin
    faults: Faults
    moments: list[str] = field(default_factory=list)
    processes: list[dict[str, Any]] = field(default_factory=list)
    _producers: dict[tuple[tuple[str, str], ...], ScriptedProducer] = field(default_factory=dict)
    _killed_ns: dict[str, int] = field(default_factory=dict)
    """By node, the wall time at which Docker had sent the signal."""

    # Who is who

    def partition(self, number: int = 0) -> Partition:
        """A partition of the scenario's topic."""
        return Partition(self.topic.name, number)

    def assignment_of(self, t: Partition) -> tuple[int, ...]:
        """The brokers that hold the partition, the preferred leader first."""
        return self.topic.replicas[t.number]

    def state_of(self, t: Partition) -> PartitionState:
        """The partition's state as the cluster last stated it."""
        state = self.observer.state.partitions.get(t)
        if state is None:
            raise HarnessError(f"the cluster has not stated anything about {t} yet")
        return state

    def broker(self, broker_id: int, role: str = "") -> Target:
        """A broker by id."""
        return Target(role or f"broker {broker_id}", self.cluster.node(broker_id))

    def leader_of(self, t: Partition) -> Target:
        """The leader at this moment; HarnessError if there is none."""
        leader = self.state_of(t).leader
        if leader < 0:
            raise HarnessError(f"{t} has no leader at this moment")
        return self.broker(leader, f"leader of {t}")

    def followers_of(self, t: Partition) -> list[Target]:
        """The other replicas, in the order in which they would be elected (that of the assignment)."""
        leader = self.state_of(t).leader
        return [self.broker(b, f"follower of {t}") for b in self.assignment_of(t) if b != leader]

    def replicas_of(self, t: Partition) -> list[Target]:
        """All replicas, in the order of the assignment."""
        return [self.broker(b, f"replica of {t}") for b in self.assignment_of(t)]

    def in_isr(self, t: Partition) -> list[Target]:
        """The in-sync replicas at this moment."""
        return [self.broker(b, f"in the ISR of {t}") for b in self.state_of(t).isr]

    def controller(self) -> Target:
        """The active controller at this moment; HarnessError if there is none."""
        controller = self.observer.state.controller
        if controller is None:
            raise HarnessError("there is no controller at this moment")
        return self.broker(controller, "controller")

    # Steps and preconditions

    @contextmanager
    def step(self, name: str, **detail: Any) -> Iterator[None]:
        """Record the begin and the end of a step."""
        self.timeline.append(Step(name=name, phase="begin", detail=detail))
        yield
        self.timeline.append(Step(name=name, phase="end", detail=detail))

    def note(self, text: str) -> None:
        """Record an observation for the reader of the report."""
        self.timeline.append(Note(text=text))

    def require(self, name: str, held: bool, **detail: Any) -> None:
        """Record whether a precondition of the claim held.

        Raises PreconditionNotHeld if it did not: the sequence ends there and the run is unknown.
        """
        self.timeline.append(Precondition(name=name, held=held, detail=detail))
        if not held:
            raise PreconditionNotHeld(f"{name}: did not hold ({', '.join(f'{k}={v}' for k, v in detail.items())})")

    # Clients

    def producer(
        self, *, acks: str = "all", only: Target | None = None, settings: Mapping[str, str] = NO_SETTINGS
    ) -> ScriptedProducer:
        """The producer with these settings (one process each, started at first use).

        `only` bootstraps it from that broker alone, as a client that has not heard of the others.
        """
        options = dict(CLIENT_SETTINGS) | dict(self.version.client_settings) | {"acks": acks} | dict(settings)
        bootstrap = f"{only.node.address}:{KAFKA_PORT}" if only else self.cluster.bootstrap
        key = tuple(sorted((options | {"bootstrap": bootstrap}).items()))
        if key not in self._producers:
            name = self._register("producer", options | {"bootstrap.servers": bootstrap})
            self._producers[key] = ScriptedProducer(
                self.run_dir, name, len(self.processes), bootstrap, options, self.timeline
            )
        return self._producers[key]

    def _register(self, kind: str, settings: Mapping[str, str], *, final: bool = False) -> str:
        number = 1 + sum(1 for process in self.processes if process["kind"] == kind)
        name = f"{kind}-{number}"
        self.processes.append(
            {
                "name": name,
                "kind": kind,
                "file": f"history/{name}.arrows",
                "final": final,
                "settings": dict(settings),
            }
        )
        return name

    def send(
        self,
        t: Partition,
        count: int = 1,
        *,
        acks: str = "all",
        only: Target | None = None,
        limit_s: float = SEND_LIMIT_S,
    ) -> list[Sent]:
        """Send records one after the other, each acknowledged before the next.

        Raises PreconditionNotHeld if one is not acknowledged within `limit_s`.
        """
        sent = self.try_send(t, count, acks=acks, only=only, limit_s=limit_s)
        for one in sent:
            if one.outcome != "ok":
                self.require(f"a record sent to {t} with acks={acks} is acknowledged", held=False, error=one.error_name)
        return sent

    def try_send(
        self,
        t: Partition,
        count: int = 1,
        *,
        acks: str = "all",
        only: Target | None = None,
        limit_s: float = SEND_LIMIT_S,
    ) -> list[Sent]:
        """Send records and return what came of each: acknowledged, refused or unknown."""
        producer = self.producer(acks=acks, only=only)
        with self.step("send", partition=str(t), count=count, acks=acks):
            return producer.send(t.topic, t.number, count=count, timeout_s=limit_s)

    def send_async(self, t: Partition, *, acks: str = "all") -> Pending:
        """Send one record once, without retries, and do not wait: for records that are not to be
        acknowledged.
        """
        producer = self.producer(acks=acks, settings={"message.send.max.retries": "0"})
        with self.step("send without waiting", partition=str(t), acks=acks):
            return producer.send_async(t.topic, t.number)

    @contextmanager
    def load(
        self,
        t: Partition,
        *,
        records: int | None = None,
        rate_per_s: float | None = None,
        acks: str = "all",
        record_bytes: int = 200,
        keys: int = 0,
        **settings: str,
    ) -> Iterator[LoadGenerator]:
        """A load on all partitions of the topic while the block lasts; what is then in flight is waited for."""
        options = (
            dict(CLIENT_SETTINGS) | dict(self.version.client_settings) | {"acks": acks, "linger.ms": "5"} | settings
        )
        name = self._register("producer", options | {"bootstrap.servers": self.cluster.bootstrap})
        generator = LoadGenerator(
            self.run_dir,
            name,
            len(self.processes),
            self.cluster.bootstrap,
            options,
            topic=t.topic,
            partitions=list(range(len(self.topic.replicas))),
            rate_per_s=rate_per_s,
            record_bytes=record_bytes,
            keys=keys,
            records=records,
        )
        with self.step("load", acks=acks, records=records, rate_per_s=rate_per_s, record_bytes=record_bytes), generator:
            yield generator

    # Faults

    def kill(self, *targets: Target) -> None:
        """Kill -9, proved by exit code 137."""
        for target in targets:
            proof = self.faults.carry_out(Kill(target.node, self.events), role=target.role)
            self._killed_ns[target.node.name] = int(proof["signal_nano"])

    def stop(self, *targets: Target) -> None:
        """A clean stop, proved by the exit code of SIGTERM."""
        for target in targets:
            self.faults.carry_out(Stop(target.node, self.events), role=target.role)

    def freeze(self, *targets: Target) -> None:
        """Freeze every thread of the node, proved by its CPU clock standing still."""
        for target in targets:
            self.faults.carry_out(Freeze(target.node, self.events), role=target.role, lasting=True)

    def thaw(self) -> None:
        """Thaw whatever is frozen."""
        self.faults.heal("freeze")

    def cut(self, senders: Sequence[Target], receivers: Sequence[Target], *, one_way: bool = False) -> None:
        """Drop packets between two groups of nodes, proved by the kernel's counters."""
        fault = Cut(tuple(t.node for t in senders), tuple(t.node for t in receivers), one_way)
        self.faults.carry_out(fault, role="; ".join(str(t) for t in (*senders, *receivers)), lasting=True)

    def heal_network(self) -> None:
        """Undo every cut."""
        self.faults.heal("cut")

    def start_cut_off(self, target: Target, others: Sequence[Target]) -> None:
        """Start a node that cannot reach these others from its first moment on, and wait until it is registered.

        The cut is made in the node's new network while its process still loads.
        """
        self.wait_unregistered(target)
        self.faults.carry_out(Start(target.node, self.events), role=target.role)
        self.cut([target], others)
        self.wait_registered([target])

    def start(self, *targets: Target) -> None:
        """Start nodes that are down, each once its old registration is gone, and wait until all are
        registered.

        From 0.9 on a broker that finds its own old registration ends itself, so starting earlier would only
        add noise.
        """
        for target in targets:
            self.wait_unregistered(target)
        for target in targets:
            self.faults.carry_out(Start(target.node, self.events), role=target.role)
            for _, fault in self.faults.active:
                if isinstance(fault, Cut) and target.node.name in {node.name for node in fault.senders}:
                    fault.apply(target.node)
        self.wait_registered(targets)

    # Waits

    def wait_state(
        self,
        what: str,
        predicate: Callable[[ClusterState], bool],
        limit_s: float = ELECTION_LIMIT_S,
        *,
        alive: Sequence[Target] = (),
    ) -> ClusterState:
        """Wait until the cluster's own statements satisfy `predicate`; fails early if a node of `alive` has
        ended.
        """
        deadline = time.monotonic() + limit_s
        with self.step(f"wait until {what}"):
            while True:
                # In slices, so that a node that died meanwhile is noticed before the limit.
                remaining = deadline - time.monotonic()
                try:
                    return self.observer.wait(predicate, what=what, timeout_s=min(2.0, max(remaining, 0.01)))
                except WaitTimeout:
                    for target in alive:
                        if not target.node.state()["Running"]:
                            raise HarnessError(
                                f"{target} ended while waiting until {what}; it said:\n{target.node.last_lines()}"
                            ) from None
                    if remaining <= 2.0:
                        raise

    def wait_leader(self, t: Partition, *targets: Target, limit_s: float = ELECTION_LIMIT_S) -> Target:
        """Wait until one of `targets` leads the partition (any broker if none is named) and return it."""
        wanted = {target.id for target in targets}
        names = " or ".join(target.node.name for target in targets) or "a broker"

        def leads(state: ClusterState) -> bool:
            leader = state.partitions[t].leader if t in state.partitions else -1
            return leader in wanted if wanted else leader >= 0

        self.wait_state(f"{names} leads {t}", leads, limit_s)
        return self.leader_of(t)

    def wait_no_leader(self, t: Partition, dead: Target) -> None:
        """Wait until the cluster knows that the partition's leader is gone: it has none, or the dead one
        unregistered.
        """
        self.wait_state(
            f"{t} is without a live leader",
            lambda state: dead.id not in state.brokers and state.partitions[t].leader in (-1, dead.id),
        )

    def wait_isr(self, t: Partition, targets: Sequence[Target], limit_s: float = ISR_LIMIT_S) -> None:
        """Wait until the ISR is exactly these replicas."""
        wanted = {target.id for target in targets}
        self.wait_state(
            f"the ISR of {t} is {sorted(wanted)}",
            lambda state: t in state.partitions and set(state.partitions[t].isr) == wanted,
            limit_s,
        )

    def wait_registered(self, targets: Sequence[Target]) -> None:
        """Wait until these brokers are registered; fails early if one of them ends."""
        wanted = {target.id for target in targets}
        self.wait_state(
            f"brokers {sorted(wanted)} registered", lambda state: wanted <= state.brokers, START_LIMIT_S, alive=targets
        )

    def wait_unregistered(self, target: Target) -> None:
        """Wait until a dead broker's registration has ended (its ZooKeeper session, or KRaft's fencing)."""
        self.wait_state(
            f"{target.node.name} is no longer registered",
            lambda state: target.id not in state.brokers,
            START_LIMIT_S,
        )

    def move_controller_away_from(self, *targets: Target) -> None:
        """ZooKeeper: see to it that none of these brokers is the controller, now that they may have become
        it.
        """
        if self.version.mode != "zookeeper":
            return
        avoid = {target.id for target in targets}
        # The last word on the controller may still be of one that is dead: wait for one that is registered.
        self.wait_state("a live broker is the controller", lambda state: state.controller in state.brokers)
        if self.observer.state.controller in avoid:
            others = sorted(self.observer.state.brokers - avoid)
            with self.step("move the controller", to=others[0]):
                self.admin.place_controller(others[0])

    def wait_share_of_session(self, target: Target, share: float) -> None:
        """Wait until `share` of the session has passed since this broker was killed.

        One of the few waits that is a time, because the sequence is one: what counts is which of two dead
        brokers' sessions ends first. A broker renews its session at least every third of it (ZooKeeper; KRaft:
        every eighth), so it ends between two thirds and the whole of it after the kill. The time counts from
        Docker's event that the signal was sent.
        """
        until_ns = self._killed_ns[target.node.name] + int(share * self.cluster.plan.session_timeout_ms * 1e6)
        with self.step(f"wait until {share:.0%} of the session has passed since {target.node.name} died"):
            time.sleep(max(0.0, (until_ns - time.time_ns()) / 1e9))

    def elected_after_death(self, target: Target, t: Partition) -> bool:
        """Whether a broker that was killed has been elected leader, and this after it died."""
        died_ns = self._killed_ns[target.node.name]
        elections = [state.source_ns for state in self.observer.history_of(*t) if state.leader == target.id]
        return any(at_ns is not None and at_ns >= died_ns for at_ns in elections)

    def log_end_and_high_watermark(self, target: Target, t: Partition) -> tuple[int, int]:
        """LEO and checkpointed HW of a replica, read from its files."""
        return leo_and_hw(self.cluster.data / target.node.name, t.topic, t.number)

    def wait_files(self, what: str, satisfied: Callable[[], bool], describe: Callable[[], str], limit_s: float) -> None:
        """Wait until files on the brokers' disks show something; WaitTimeout says what they show."""
        deadline = time.monotonic() + limit_s
        with self.step(f"wait until {what}"):
            while not satisfied():
                if time.monotonic() > deadline:
                    raise WaitTimeout(f"not within {limit_s:.0f} s: {what}; seen: {describe()}")
                time.sleep(POLL_S)

    def wait_high_watermark(self, t: Partition, offset: int, targets: Sequence[Target]) -> None:
        """Wait until these replicas have checkpointed this high watermark."""
        self.wait_files(
            f"the high watermark of {t} is {offset} on {', '.join(target.node.name for target in targets)}",
            lambda: all(self.log_end_and_high_watermark(target, t)[1] == offset for target in targets),
            lambda: self._describe_files(t, targets),
            FILE_LIMIT_S,
        )

    def wait_checkpoint_written(self, target: Target) -> None:
        """Wait until a broker has just written its high watermarks to disk.

        It does so at a fixed interval, so what follows has most of that interval before the next time.
        """
        path = self.cluster.data / target.node.name / "kafka" / "replication-offset-checkpoint"
        written = path.stat().st_mtime_ns
        self.wait_files(
            f"{target.node.name} has just checkpointed its high watermarks",
            lambda: path.stat().st_mtime_ns != written,
            lambda: f"last written at {written}",
            FILE_LIMIT_S,
        )

    def wait_log_end(self, t: Partition, offset: int, targets: Sequence[Target]) -> None:
        """Wait until these replicas' logs end at this offset on disk."""
        self.wait_files(
            f"the log of {t} ends at {offset} on {', '.join(target.node.name for target in targets)}",
            lambda: all(self.log_end_and_high_watermark(target, t)[0] == offset for target in targets),
            lambda: self._describe_files(t, targets),
            FILE_LIMIT_S,
        )

    def epochs_of(self, target: Target, t: Partition) -> list[tuple[int, int]]:
        """(leader epoch, start offset) of a replica, from its leader-epoch-checkpoint."""
        path = self.cluster.data / target.node.name / "kafka" / str(t) / "leader-epoch-checkpoint"
        return [(entry.epoch, entry.start_offset) for entry in read_leader_epoch_checkpoint(path).entries]

    def require_next_epoch_starts_at(self, target: Target, t: Partition, *, epoch: int, offset: int) -> None:
        """Require that the first epoch after `epoch` begins at `offset` in this replica's epoch file."""
        epochs = self.epochs_of(target, t)
        later = [start for number, start in epochs if number > epoch]
        self.require(
            f"{target.node.name} truncated to the end of epoch {epoch}: the next one starts at {offset}",
            held=bool(later) and later[0] == offset,
            leader_epoch_checkpoint=epochs,
        )

    def wait_log_line(self, target: Target, pattern: str, what: str, limit_s: float = FILE_LIMIT_S) -> str:
        """Wait until the node has printed a line that matches since it was last started; returns the line.

        Raises WaitTimeout with the end of what it printed.
        """
        since = datetime.fromisoformat(target.node.state()["StartedAt"][:26].rstrip("Z") + "+00:00")
        expression, deadline = re.compile(pattern), time.monotonic() + limit_s
        with self.step(f"wait until {target.node.name} logs: {what}"):
            while True:
                text = target.node.container.logs(since=since).decode(errors="replace")
                for line in text.splitlines():
                    if expression.search(line):
                        self.note(f"{target.node.name} logged: {line}")
                        return str(line)
                if time.monotonic() > deadline:
                    raise WaitTimeout(
                        f"{target.node.name} did not log {what} in {limit_s:.0f} s; its last lines:\n{text[-2000:]}"
                    )
                time.sleep(POLL_S)

    def wait_quiet(self, t: Partition, targets: Sequence[Target], limit_s: float) -> None:
        """Wait until these replicas' logs end at one offset and all their high watermarks have reached it."""

        def equal() -> bool:
            seen = {self.log_end_and_high_watermark(target, t) for target in targets}
            return len(seen) == 1 and len(set(seen.pop())) == 1

        names = ", ".join(target.node.name for target in targets)
        self.wait_files(f"{t} is quiet on {names}", equal, lambda: self._describe_files(t, targets), limit_s)

    def _describe_files(self, t: Partition, targets: Sequence[Target]) -> str:
        seen = {target.node.name: self.log_end_and_high_watermark(target, t) for target in targets}
        return ", ".join(f"{name} LEO {leo} HW {hw}" for name, (leo, hw) in seen.items())

    # Witnesses

    def copy_replicas(self, name: str) -> dict[str, dict[str, Ends]]:
        """Copy every broker's replica files and checkpoints, and record the moment with each one's LEO and
        HW.
        """
        moment = f"{len(self.moments):02d}-{name}"
        nodes = [node.name for node in self.cluster.brokers.values()]
        begun_ns = time.monotonic_ns()
        seen = copy_replicas(self.cluster.data, nodes, self.run_dir.moment(moment), [self.topic.name])
        self.moments.append(moment)
        self.timeline.append(Moment(name=moment, nodes=seen, begun_ns=begun_ns))
        return seen

    def close_clients(self) -> None:
        """Close every producer, so that each history ends properly."""
        for producer in self._producers.values():
            producer.close()

    @property
    def data(self) -> Path:
        """Where the nodes keep their files while the run goes on."""
        return self.cluster.data
