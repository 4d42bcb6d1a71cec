"""Faults: what strikes a node, proved from outside, and starting again what was struck."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from evidence.errors import HarnessError, UsageError, WaitTimeout
from evidence.faults.base import FaultProof
from evidence.faults.clients import FreezeClientProof, WithheldProof
from evidence.faults.clock import ClockStepProof
from evidence.faults.disks import DiskProof
from evidence.faults.network import NetworkProof
from evidence.faults.pressure import PressureProof
from evidence.faults.process import DeathProof, FreezeProof
from harness.cluster.cluster import CLOCK, CONTROLLER_PORT, DOUBLE, ENVIRONMENT, KAFKA_PORT, PROPERTIES
from harness.cluster.requests import brokers_told
from harness.faults.answers import Hold, Reset, question
from harness.faults.bad_disks import DeadDisk, FullDisk, ReadOnlyDisk
from harness.faults.base import Faults, OfTheNetwork
from harness.faults.client import FreezeClient, KillClient
from harness.faults.clock import ClockStep
from harness.faults.cut import Cut, Host
from harness.faults.damage import (
    Flip,
    Resize,
    index_position,
    last_digit,
    middle_of_last_batch,
    segment_with,
    value_position,
)
from harness.faults.delay import Delay
from harness.faults.files import Overwrite, Remove, Wipe
from harness.faults.power import Outage, PowerLoss
from harness.faults.pressure import CpuPressure, MemoryPressure
from harness.faults.process import Double, Exit, Freeze, Kill, Start, StartWith, Stop
from harness.faults.slow import Slow
from harness.faults.slow_disk import SlowDisk
from harness.faults.withheld import Withhold
from harness.observers.replicas import LOG_DIR, newest_segment
from harness.polling import poll
from harness.run.who import Target
from kafkafiles.checkpoints import HIGH_WATERMARKS, RECOVERY_POINTS
from kafkafiles.indexes import base_offset_of

if TYPE_CHECKING:
    from pathlib import Path

    from harness.cluster.disks import Disk
    from harness.cluster.docker import Node
    from harness.faults.base import Fault
    from harness.faults.client import ClientProcess
    from harness.run.parts import Parts
    from harness.run.sequence_log import SequenceLog
    from harness.run.waits import Waits
    from harness.run.who import Partition

BetweenClients = TypeVar("BetweenClients", Hold, Delay)
DELIVERY_LIMIT_S: Final = 60.0
"""The kernel of a client that has closed a connection tries again at intervals that double."""
DELIVERY_POLL_S: Final = 0.2
KNOWN_LIMIT_S: Final = 60.0
ASK_S: Final = 3.0


def _tells_of(node: Node, number: int) -> bool:
    try:
        return number in brokers_told((node.address, KAFKA_PORT), timeout_s=ASK_S)
    except OSError:
        return False


class Nemesis:
    """Carries faults out and remembers when whom was killed."""

    def __init__(self, parts: Parts, waits: Waits, sequence_log: SequenceLog) -> None:
        self._events, self._cluster, self._observer = parts.events, parts.cluster, parts.observer
        self._waits, self._sequence_log = waits, sequence_log
        self._faults = Faults(parts.timeline)
        self._killed: set[str] = set()
        """Clients."""
        self._killed_ns: dict[str, int] = {}
        """By node, the wall time at which Docker had sent the signal."""
        self._delay: Delay | None = None
        """The last one."""

    @property
    def faults(self) -> int:
        """How many faults were carried out, starts among them."""
        return self._faults.count

    @property
    def killed_clients(self) -> frozenset[str]:
        """The clients that were killed. What they recorded has no end."""
        return frozenset(self._killed)

    def heal(self) -> None:
        """Undo whatever still lasts."""
        self._faults.heal()

    def kill(self, *targets: Target) -> None:
        """Kill -9, proved by exit code 137."""
        for target in targets:
            proof = self._faults.carry_out(Kill(target.node, self._events), role=target.role)
            self._remember(target, proof)

    def _remember(self, target: Target, death: FaultProof) -> None:
        assert isinstance(death, DeathProof)
        self._killed_ns[target.node.name] = death.signal_nano

    def lose_power(self, *targets: Target) -> None:
        """These nodes lose power at one moment: what their disks have not taken is gone. They are down, their disks
        mounted again, when this returns. For clusters with disks of their own (`ClusterPlan.disks`).
        """
        mounter = self._cluster.require_disks("lose_power")
        if self._cluster.second_disks:
            raise UsageError("lose_power: it takes one disk for each node; give the ClusterPlan log_directories=1")
        outage = Outage([target.node for target in targets], self._cluster.disks, mounter)
        faults = [(PowerLoss(target.node, self._events, outage=outage), target.role) for target in targets]
        for target, proof in zip(targets, self._faults.carry_out_at_once(faults), strict=True):
            self._remember(target, proof)
        if any(target.node is self._cluster.coordinator for target in targets):
            self._observer.accept_older()

    def stop(self, *targets: Target) -> None:
        """A clean stop, proved by the exit code of SIGTERM."""
        for target in targets:
            self._faults.carry_out(Stop(target.node, self._events), role=target.role)

    def freeze(self, *targets: Target) -> None:
        """Freeze every thread of the node, proved by its CPU clock standing still."""
        for target in targets:
            self._faults.carry_out(Freeze(target.node, self._events), role=target.role)

    def remove_checkpoint(self, target: Target) -> None:
        """Remove the file of checkpointed high watermarks of a broker that is down."""
        path = self._logs_of(target) / HIGH_WATERMARKS
        self._faults.carry_out(Remove(target.node, path), role=target.role)

    def overwrite_high_watermark(self, target: Target, t: Partition, offset: int) -> None:
        """Put another high watermark into the checkpoint of a broker that is down."""
        self._overwrite(target, HIGH_WATERMARKS, t, offset)

    def overwrite_recovery_point(self, target: Target, t: Partition, offset: int) -> None:
        """Put another recovery point into the checkpoint of a broker that is down."""
        self._overwrite(target, RECOVERY_POINTS, t, offset)

    def _overwrite(self, target: Target, file: str, t: Partition, offset: int) -> None:
        path = self._logs_of(target) / file
        self._faults.carry_out(Overwrite(target.node, path, t.topic, t.number, offset), role=target.role)

    def flip_record(self, target: Target, t: Partition, offset: int) -> None:
        """Flip a bit in the value of the record at `offset` in this broker's copy, whether it runs or not."""
        segment = segment_with(self._logs_of(target) / str(t), offset)
        self._flip(target, segment, value_position(segment.read_bytes(), offset), offset)

    def flip_index(self, target: Target, t: Partition, offset: int) -> None:
        """Flip a bit in this broker's index, so that `offset` is looked for 1 GiB further on in its segment."""
        segment = segment_with(self._logs_of(target) / str(t), offset)
        index = segment.with_suffix(".index")
        self._flip(target, index, index_position(index.read_bytes(), base_offset_of(segment), offset), offset)

    def flip_checkpoint(self, target: Target) -> None:
        """Flip a bit in the file of checkpointed high watermarks of a broker, so that one is no number any more."""
        path = self._logs_of(target) / HIGH_WATERMARKS
        self._flip(target, path, last_digit(path.read_bytes()))

    def _flip(self, target: Target, path: Path, position: int, offset: int | None = None) -> None:
        fault = Flip(target.node, self._logs_of(target), path, position, offset)
        self._faults.carry_out(fault, role=target.role)

    def tear_tail(self, target: Target, t: Partition) -> None:
        """Cut the log of a broker that is down in the middle of its last batch."""
        segment = self._newest(target, t)
        self._resize(target, segment, middle_of_last_batch(segment.read_bytes()))

    def extend_by_zeros(self, target: Target, t: Partition, count: int) -> None:
        """Put so many zero bytes after the end of the log of a broker that is down."""
        segment = self._newest(target, t)
        self._resize(target, segment, segment.stat().st_size + count)

    def cut_checkpoint(self, target: Target, left: float) -> None:
        """Leave so much, from 0 to 1, of the file of checkpointed high watermarks of a broker that is down."""
        path = self._logs_of(target) / HIGH_WATERMARKS
        self._resize(target, path, int(path.stat().st_size * left))

    def _resize(self, target: Target, path: Path, size: int) -> None:
        self._faults.carry_out(Resize(target.node, path, size), role=target.role)

    def _logs_of(self, target: Target) -> Path:
        return self._cluster.data / target.node.name / LOG_DIR

    def _newest(self, target: Target, t: Partition) -> Path:
        """The segment that is written to."""
        segment = newest_segment(self._logs_of(target) / str(t))
        if segment is None:
            raise HarnessError(f"{target.node.name} has no segment of {t}")
        return segment

    def wipe(self, target: Target) -> None:
        """Put a blank disk in the place of that of a broker that is down."""
        self._faults.carry_out(Wipe(target.node, self._logs_of(target)), role=target.role)

    def expect_exit(self, target: Target, log_pattern: str) -> None:
        """Wait until a broker has exited since it was last started, and has logged why in a line that matches.

        For an end that the scenario documents: any other is a doubt. It stays down until it is started again.
        """
        self._faults.carry_out(Exit(node=target.node, events=self._events, log_pattern=log_pattern), role=target.role)

    def thaw(self) -> None:
        """Thaw whatever is frozen."""
        self._faults.heal(FreezeProof)

    def cut(
        self, senders: Sequence[Target], receivers: Sequence[Target], *, one_way: bool = False, port: int = 0
    ) -> None:
        """Drop packets between two groups of nodes, proved by the kernel's counters; with a `port` only those of
        connections to that port, at either end.
        """
        self._strike_network(Cut, senders, receivers, one_way, port)

    def isolate(self, *targets: Target) -> None:
        """Cut nodes from all others: brokers, and ZooKeeper or the controllers. Clients reach each of them."""
        apart = {target.node.name for target in targets}
        self.cut(targets, [Target("", node) for name, node in self._cluster.nodes.items() if name not in apart])

    def cut_requests(self, senders: Sequence[Target], receivers: Sequence[Target]) -> None:
        """Drop what brokers ask of others, such as a follower's fetches, proved by the kernel's counters: what those
        ask of them, and what they answer, gets through.
        """
        self._strike_network(partial(Cut, one_way=True, port=KAFKA_PORT, asked=True), senders, receivers)

    def lose(
        self, senders: Sequence[Target], receivers: Sequence[Target], share: float, *, one_way: bool = False
    ) -> None:
        """Drop a share of the packets between two groups of nodes, at random; proved by the kernel's counters."""
        self._strike_network(Cut, senders, receivers, one_way, 0, share)

    def cut_from_coordinator(self, *targets: Target) -> None:
        """Cut nodes from ZooKeeper, or from KRaft's controllers, and from nobody else."""
        nodes = self._cluster.nodes.values()
        if self._cluster.version.mode == "zookeeper":
            keepers, port = [self._cluster.coordinator], 0
        else:
            apart = [node for node in nodes if node.name.startswith("controller-")]
            keepers, port = apart or list(nodes), CONTROLLER_PORT
        for target in targets:
            others = [Target("coordinator", node) for node in keepers if node.name != target.node.name]
            self.cut([target], others, port=port)

    def cut_clients(self, *targets: Target) -> None:
        """Cut clients, which run on this machine, from nodes, proved by the kernel's counters."""
        fault = Cut(tuple(target.node for target in targets), (self._clients_host(),))
        self._faults.carry_out(fault, role="; ".join(map(str, targets)))

    def _clients_host(self) -> Host:
        return Host(f"{self._cluster.prefix}.1")

    def hold_answers(self, *targets: Target) -> None:
        """Hold back what brokers answer to clients, while requests still get in; proved by a request that is taken and
        not answered. After the heal (`heal_network`) TCP delivers what waits.
        """
        self._between_clients(Hold, targets)

    def delay_clients(self, *targets: Target) -> None:
        """Hold back what clients send to brokers on the connections that they have now, and on no others: a client that
        waits for an answer connects anew, and after the heal (`heal_network`) TCP delivers what it had given up.
        """
        self._delay = self._between_clients(Delay, targets)

    def wait_delivered(self) -> None:
        """After the heal, wait until something that was delayed last has come, and the broker has answered it: a client
        had given up the connection that it was sent on, and the broker has closed its end. A precondition.
        """
        if self._delay is None:
            raise UsageError("wait_delivered: nothing was delayed; use delay_clients before it")
        with self._sequence_log.step("wait until what was delayed has come"):
            ended = poll(self._delay.ended, DELIVERY_LIMIT_S, every_s=DELIVERY_POLL_S)
        self._sequence_log.require("what clients gave up has come", bool(ended), ports=ended)

    def _between_clients(self, kind: type[BetweenClients], targets: Sequence[Target]) -> BetweenClients:
        fault = kind(
            senders=tuple(target.node for target in targets),
            receivers=(self._clients_host(),),
            one_way=True,
            port=KAFKA_PORT,
            question=question(self._cluster.version.release),
        )
        self._faults.carry_out(fault, role="; ".join(map(str, targets)))
        return fault

    def reset_clients(self, *targets: Target) -> None:
        """Reset the connections that clients have to brokers; what these had not delivered is forgotten."""
        for target in targets:
            fault = Reset(target.node, self._clients_host(), KAFKA_PORT)
            self._faults.carry_out(fault, role=target.role)
            left = fault.left_at_clients()
            self._sequence_log.require(
                f"clients have lost their connections to {target.node.name}", not left, left=left
            )

    def kill_client(self, process: ClientProcess) -> None:
        """Kill -9 of a producer, a load or a consumer, proved by the status with which it ended."""
        self._faults.carry_out(KillClient(process))
        self._killed.add(process.name)

    def freeze_client(self, process: ClientProcess) -> None:
        """SIGSTOP of a client's process, proved by what the kernel says of each thread: it keeps its connections, and
        asks and answers nothing.
        """
        self._faults.carry_out(FreezeClient(process))

    def thaw_clients(self) -> None:
        """Thaw every client that is frozen."""
        self._faults.heal(FreezeClientProof)

    def withhold_answer(self, process: ClientProcess, api: str, *, timeout_s: float) -> None:
        """Withhold from an application behind relays (`ClusterPlan.relayed`) the next answer to a request that Kafka
        calls so: "EndTxn", "TxnOffsetCommit" or "OffsetCommit". Returns when a broker has answered one, which is the
        proof. `answer_again` passes on what was withheld.
        """
        if self._cluster.relays is None:
            raise UsageError("withhold_answer: no client is behind relays; give the ClusterPlan relayed=True")
        self._faults.carry_out(Withhold(process, self._cluster.relays.of, api, timeout_s))

    def answer_again(self) -> None:
        """Pass on what was withheld, and all that is answered from now on."""
        self._faults.heal(WithheldProof)

    def flap(
        self, senders: Sequence[Target], receivers: Sequence[Target], *, times: int, down_s: float, up_s: float
    ) -> None:
        """Cut the links and heal them so many times, each cut proved by itself. A link is down for `down_s` and for as
        long as the proof takes, and up for `up_s`: the times are the sequence here.
        """
        for _ in range(times):
            begun = time.monotonic()
            fault = self._strike_network(Cut, senders, receivers)
            time.sleep(max(0.0, begun + down_s - time.monotonic()))
            self._faults.heal_one(fault)
            time.sleep(up_s)

    def slow(self, senders: Sequence[Target], receivers: Sequence[Target], bytes_per_s: int) -> None:
        """What the senders send to the receivers goes at this rate, from each to each, proved by packets that wait."""
        self._strike_network(Slow, senders, receivers, bytes_per_s)

    def _strike_network(
        self, kind: Callable[..., Fault], senders: Sequence[Target], receivers: Sequence[Target], *details: object
    ) -> Fault:
        fault = kind(tuple(t.node for t in senders), tuple(t.node for t in receivers), *details)
        self._faults.carry_out(fault, role="; ".join(map(str, (*senders, *receivers))))
        return fault

    def slow_disk(self, target: Target, bytes_per_s: int) -> None:
        """What a node reads from its disk and flushes to it goes at this rate, proved by a write that takes as long.

        For clusters with disks of their own (`ClusterPlan.disks`), as all faults of disks here: on a shared one others
        would wait for the journal too.
        """
        disk = self._disk_of(target, "slow_disk")
        self._faults.carry_out(SlowDisk(target.node, disk.mount, bytes_per_s), role=target.role)

    def fill_disk(self, target: Target) -> None:
        """Leave no room on the disk of a node that runs, proved by a write that is refused."""
        self._faults.carry_out(FullDisk(target.node, self._disk_of(target, "fill_disk")), role=target.role)

    def fail_disk(self, target: Target) -> None:
        """The disk of a node that runs answers with errors, proved by the one that a new file meets. It is healed once
        the node has ended.
        """
        self._fail(DeadDisk, target, self._cluster.disks, "fail_disk")

    def make_disk_read_only(self, target: Target) -> None:
        """The disk of a node that runs takes nothing any more, as when the kernel has met an error in its file system
        (ext4); proved by the error that a new file meets. It is healed once the node has ended.
        """
        self._fail(ReadOnlyDisk, target, self._cluster.disks, "make_disk_read_only")

    def fail_log_directory(self, target: Target) -> None:
        """The disk of a broker's second log directory answers with errors, and the other one goes on. For clusters with
        `Disks(log_directories=2)`. It is healed once the broker has ended.
        """
        if not self._cluster.second_disks:
            raise UsageError(
                "fail_log_directory: brokers have one; give the ClusterPlan disks=Disks(log_directories=2)"
            )
        self._fail(DeadDisk, target, self._cluster.second_disks, "fail_log_directory")

    def _fail(self, kind: type[DeadDisk], target: Target, disks: Mapping[str, Disk], word: str) -> None:
        mounter, seconds = self._cluster.require_disks(word), self._cluster.second_disks
        below = [seconds[target.node.name]] if target.node.name in seconds and disks is not seconds else []
        fault = kind(target.node, disks[target.node.name], mounter, below)
        self._faults.carry_out(fault, role=target.role)

    def _disk_of(self, target: Target, word: str) -> Disk:
        self._cluster.require_disks(word)
        return self._cluster.disks[target.node.name]

    def heal_disks(self) -> None:
        """Undo every fault of disks that lasts."""
        self._faults.heal(DiskProof)

    def squeeze_cpu(self, target: Target, share: float) -> None:
        """A node gets so much of one CPU, such as 0.05, proved by the kernel's counters while a loop asks for more. A
        node that is started again is free of it.
        """
        self._faults.carry_out(CpuPressure(target.node, share), role=target.role)

    def squeeze_memory(self, target: Target, spare_bytes: int) -> None:
        """A node gets the memory that its processes hold now, and so many bytes beyond, for the page cache of its files
        and for what its heap grows by; proved by a read of more than fits. A node that is started again is free of it.
        """
        self._faults.carry_out(MemoryPressure(target.node, spare_bytes), role=target.role)

    def heal_pressure(self) -> None:
        """Give every node its CPU and memory again, as it had them."""
        self._faults.heal(PressureProof)

    def step_clock(self, target: Target, seconds: int) -> None:
        """Set the wall clock of a broker so many seconds ahead, or behind, proved by its own log against Docker's. For
        clusters whose nodes have clocks of their own (`ClusterPlan.own_clocks`).
        """
        if not self._cluster.plan.own_clocks:
            raise UsageError("step_clock: all nodes go by the machine's clock; give the ClusterPlan own_clocks=True")
        file = self._cluster.data / target.node.name / CLOCK
        self._faults.carry_out(ClockStep(target.node, file, seconds), role=target.role)

    def set_clocks_right(self) -> None:
        """Set every clock right, and see that the brokers that run go by it."""
        self._faults.heal(ClockStepProof)

    def heal_network(self, *targets: Target) -> None:
        """Undo every fault of the network, or those between these nodes alone."""
        self._faults.heal(NetworkProof, among=[target.node for target in targets])

    def start_cut_off(self, target: Target, others: Sequence[Target]) -> None:
        """Start a node that cannot reach these others from its first moment on, and wait until it is registered.

        The cut is made in the node's new network while its process still loads.
        """
        self._waits.wait_unregistered(target)
        self._start(target)
        self.cut([target], others)
        self._waits.wait_registered([target])

    def start(self, *targets: Target) -> None:
        """Start nodes that are down, and wait until all that are brokers are registered. ZooKeeper and controllers are
        started first, for they end registrations; each broker once its old registration is gone.

        From 0.9 on a broker that finds its own old registration exits, so an earlier start would only add noise.
        """
        brokers = [target for target in targets if target.node in self._cluster.brokers.values()]
        for target in targets:
            if target not in brokers:
                self._start_as_it_was(target)
        for target in brokers:
            self._waits.wait_unregistered(target)
        for target in brokers:
            self._start_as_it_was(target)
        self._waits.wait_registered(brokers)

    def _start_as_it_was(self, target: Target) -> None:
        """Start a node, under those faults of the network that still last for it."""
        self._start(target)
        for _, fault in self._faults.active:
            if isinstance(fault, OfTheNetwork) and target.node.name in {node.name for node in fault.senders}:
                fault.apply(target.node)

    def _start(self, target: Target) -> None:
        if self._cluster.mounter is not None:
            for disks in (self._cluster.disks, self._cluster.second_disks):
                if target.node.name in disks:
                    self._cluster.mounter.require_mounted(disks[target.node.name])
        self._faults.carry_out(Start(target.node, self._events), role=target.role)

    def restart_with(self, target: Target, settings: Mapping[str, str], kind: type[StartWith] = StartWith) -> None:
        """ZooKeeper: stop a broker cleanly, if it runs, and start it again with these settings over those that it has,
        from now on. Waits until it is registered.
        """
        if target.node.state()["Running"]:
            self.stop(target)
        self._waits.wait_unregistered(target)
        self.start_with(target, settings, kind)

    def start_with(
        self, target: Target, settings: Mapping[str, str], kind: type[StartWith] = StartWith, *, refused: str = ""
    ) -> None:
        """ZooKeeper: start a broker that is down with these settings over those that it has, from now on. Waits until
        it is registered; or, with a pattern of the line that says why (`refused`), until it has exited.
        """
        node, data = target.node, self._cluster.data / target.node.name
        start = kind(
            node, self._events, settings=settings, environment=data / ENVIRONMENT, properties=data / PROPERTIES
        )
        self._faults.carry_out(start, role=target.role)
        if refused:
            self.expect_exit(target, refused)
        else:
            self._waits.wait_registered([target])

    def prove(self, done: Fault, target: Target) -> None:
        """Prove what other faults have brought about."""
        self._faults.carry_out(done, role=target.role)

    def start_early(self, target: Target) -> None:
        """Start a broker though its old registration has not ended, and wait for nothing."""
        self._start(target)

    def add_broker(self, number: int) -> Target:
        """Start a broker that was no part of the cluster yet (`ClusterPlan.joins`), with an empty disk; wait until it
        is registered, and every broker that runs tells clients of it: those who place topics know it from then on.

        Raises UsageError for another one, WaitTimeout if somebody does not hear of it.
        """
        if number not in self._cluster.plan.joins:
            raise UsageError(f"add_broker({number}): the brokers that join are {list(self._cluster.plan.joins)}")
        target = Target(f"broker {number}, which joins", self._cluster.node(number))
        self._start(target)
        self._waits.wait_registered([target])
        with self._sequence_log.step(f"wait until every broker tells of {target.node.name}"):
            if unaware := poll(partial(self._unaware_of, number), KNOWN_LIMIT_S, until=operator.not_, every_s=0.5):
                raise WaitTimeout(f"{', '.join(unaware)} tell nobody of {target.node.name} after {KNOWN_LIMIT_S:.0f} s")
        return target

    def _unaware_of(self, number: int) -> list[str]:
        """The brokers that run and do not tell clients of this one, or do not answer."""
        running = [node for node in self._cluster.brokers.values() if node.state()["Running"]]
        return [node.name for node in running if not _tells_of(node, number)]

    def start_double(self) -> Target:
        """Start the plan's second broker with the id of another that runs, wait for nothing, and return it."""
        double, data = self._cluster.nodes[DOUBLE], self._cluster.data
        first = self._cluster.node(double.id)
        properties = (data / double.name / PROPERTIES, data / first.name / PROPERTIES)
        target = Target(f"second broker with the id of {first.name}", double)
        self._faults.carry_out(
            Double(node=double, events=self._events, first=first, properties=properties), role=target.role
        )
        return target

    def wait_share_of_session(self, target: Target, share: float) -> None:
        """Wait until `share` of the session has passed since this broker was killed.

        One of the few waits that is a time, because the sequence is one: what counts is which of two dead
        brokers' sessions ends first. A broker renews its session at least every third of it (ZooKeeper; KRaft:
        every eighth), so it ends between two thirds and the whole of it after the kill. The time counts from
        Docker's event that the signal was sent.
        """
        until_ns = self._killed_ns[target.node.name] + int(share * self._cluster.plan.session_timeout_ms * 1e6)
        with self._sequence_log.step(f"wait until {share:.0%} of the session has passed since {target.node.name} died"):
            time.sleep(max(0.0, (until_ns - time.time_ns()) / 1e9))

    def elected_after_death(self, target: Target, t: Partition) -> bool:
        """Whether a broker that was killed has been elected leader, and this after it died."""
        died_ns = self._killed_ns[target.node.name]
        elections = [state.source_ns for state in self._observer.history_of(*t) if state.leader == target.id]
        return any(at_ns is not None and at_ns >= died_ns for at_ns in elections)
