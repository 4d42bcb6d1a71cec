"""Run directories made by hand, with events in the shape and at the distances of real runs.

Only for tests of what reads run directories; nothing here was run. The makers write no histories and no copies of
replicas (as if a run's large files had been left behind); `write_history` and `write_replica` add them,
`with_files` adds all of a double failover's, `with_copies` those of a divergence.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from evidence import manifest
from evidence.engine import ContainerAction
from evidence.events import (
    Acked,
    Blind,
    Container,
    Controller,
    Ends,
    Event,
    Failed,
    Fault,
    FaultPhase,
    Log,
    Moment,
    Partition,
    Precondition,
    Send,
    State,
    Step,
    Target,
)
from evidence.faults.base import FaultProof
from evidence.history import record, schema
from evidence.history.seal import seal_process
from evidence.history.writer import HistoryWriter
from evidence.rundir import RunDir
from tests.findings import write
from tests.proofs import proof as proof_of
from tests.records import changed, run_record
from tests.unit.kafkafiles import encode
from tests.unit.timelines import sound, write_lines

START_NS = 5_000_000_000_000
WALL_NS = 1_760_000_000_000_000_000


def nano(at_s: float) -> int:
    """The engine's time of something so long after the run's beginning."""
    return WALL_NS + int(at_s * 1e9)


class Synthetic:
    """Builds a run directory; times are seconds since the start of the run."""

    def __init__(self, root: Path, scenario: str, version: str, *, seed: int = 1, mode: str = "zookeeper") -> None:
        self.dir = RunDir(root / f"20251009t085320-{scenario}-{version.replace('.', '-')}-s{seed}-0a1b")
        self.dir.path.mkdir(parents=True)
        self.events: list[Event] = []
        self.faults = 0
        self.run: dict[str, Any] = {
            "run": self.dir.path.name,
            "scenario": scenario,
            "version": version,
            "kafka": version.partition("-")[0],
            "mode": mode,
            "seed": seed,
            "settings": {"replica.fetch.wait.max.ms": "2500", "min.insync.replicas": "1"},
            "overridden": {},
            "topics": [{"name": "t", "partitions": {"0": [1, 2, 3]}, "settings": {}}],
            "documented": {"required": [], "allowed": [], "claim": "A claim.", "source": "KIP-101"},
            "processes": [
                {
                    "name": "producer-1",
                    "kind": "producer",
                    "file": "history/producer-1.arrows",
                    "final": False,
                    "settings": {"acks": "all", "enable.idempotence": "false"},
                },
                {
                    "name": "final-read-1",
                    "kind": "final-read",
                    "file": "history/final-read-1.arrows",
                    "final": True,
                    "settings": {},
                },
            ],
            "moments": [],
            "state": "complete",
            "failure": None,
            "started_wall_ns": WALL_NS,
            "started_monotonic_ns": START_NS,
            "ended_wall_ns": WALL_NS,
            "phases": {"create": 0.9, "start": 6.4, "steps": 10.2, "settle": 3.1, "final read": 0.8, "seal": 0.4},
            "host": {"system": "Linux", "cores": 2, "python": "3.11", "docker": "20.10", "kernel": "6.1"},
            "commit": "0123456789abcdef0123456789abcdef01234567",
            "images": {"broker-1": "sha256:aa"},
            "command": f"kafka-chaos run {scenario} --version {version} --seed {seed}",
        }
        self.findings: dict[str, Any] = {
            "checks": [
                {"name": n, "status": "ok", "reason": None, "seconds": 0.1}
                for n in ("lost-write", "replica-divergence", "duplicate", "phantom")
            ],
            "findings": [],
            "problems": [],
            "statistics": {
                "sends_ok": 5,
                "sends_fail": 0,
                "sends_info": 0,
                "polled": 5,
                "partitions": 1,
                "replica_records": 15,
            },
            "unknown_errors": {},
            "seconds": 1.2,
        }

    def event(self, at_s: float, event: Event) -> None:
        offset_ns = int(at_s * 1e9)
        stamped = msgspec.structs.replace(event, monotonic_ns=START_NS + offset_ns, wall_ns=WALL_NS + offset_ns)
        self.events.append(stamped)

    @property
    def source(self) -> State:
        return "zookeeper" if self.run["mode"] == "zookeeper" else "kraft"

    def container(self, at_s: float, node: str, action: ContainerAction, exit_code: int | None = None) -> None:
        self.event(at_s, Container(node=node, action=action, exit_code=exit_code, time_nano=nano(at_s)))

    def fault(
        self,
        at_s: float,
        kind: str,
        node: str,
        role: str,
        description: str,
        *,
        proof: FaultProof | None,
        proved_s: float = 0.12,
    ) -> str:
        self.faults += 1
        about = Fault(
            fault_kind=kind,
            id=f"f{self.faults}",
            phase="inject",
            target=Target(role=role, node=node),
            description=description,
        )
        self.event(at_s, about)
        if proof is not None:
            self.event(at_s + proved_s, msgspec.structs.replace(about, phase="verified", proof=proof))
        return about.id

    def kill(self, at_s: float, node: str, role: str) -> None:
        self.container(at_s + 0.05, node, "kill")
        self.container(at_s + 0.09, node, "die", 137)
        proof = proof_of("kill", time_nano=nano(at_s + 0.09), signal_nano=nano(at_s + 0.05))
        self.fault(at_s, "kill", node, role, f"kill -9 of {node}", proof=proof)

    def start(self, at_s: float, node: str, role: str = "replica of t-0") -> None:
        self.container(at_s + 0.1, node, "start")
        self.fault(
            at_s,
            "start",
            node,
            role,
            f"start of {node}",
            proof=proof_of("start", time_nano=nano(at_s + 0.1)),
        )

    def partition(
        self,
        at_s: float,
        leader: int,
        epoch: int,
        isr: list[int],
        *,
        number: int = 0,
        version: int | None = None,
        replicas: list[int] | None = None,
    ) -> None:
        self.event(
            at_s,
            Partition(
                source=self.source,
                topic="t",
                partition=number,
                leader=leader,
                leader_epoch=epoch,
                isr=tuple(isr),
                controller_epoch=1,
                version=version,
                replicas=None if replicas is None else tuple(replicas),
            ),
        )

    def controller(self, at_s: float, node: str | None, epoch: int) -> None:
        self.event(at_s, Controller(source=self.source, node=node, epoch=epoch))

    def precondition(self, at_s: float, name: str, *, held: bool, **detail: int) -> None:
        self.event(at_s, Precondition(name=name, held=held, detail=detail))

    def send(
        self,
        at_s: float,
        sequence: int,
        offset: int | None,
        *,
        acked_s: float | None = 0.02,
        acks: str = "all",
        process: str = "producer-1",
        producer: int = 1,
        error: str | None = None,
    ) -> None:
        who: dict[str, Any] = {"process": process, "topic": "t", "partition": 0, "producer": producer}
        who |= {"sequence": sequence, "acks": acks}
        self.event(at_s, Send(**who))
        if acked_s is not None and error:
            self.event(at_s + acked_s, Failed(**who, outcome="fail", error=error))
        elif acked_s is not None:
            self.event(at_s + acked_s, Acked(**who, outcome="ok", offset=offset))

    def moment(self, at_s: float, name: str, **ends: tuple[int, int]) -> None:
        self.run["moments"].append(name)
        nodes = {node.replace("_", "-"): {"t-0": Ends(leo=leo, hw=hw)} for node, (leo, hw) in ends.items()}
        self.event(at_s, Moment(name=name, nodes=nodes, begun_ns=START_NS + int(at_s * 1e9)))

    def step(self, begin_s: float, end_s: float, name: str) -> None:
        self.event(begin_s, Step(name=name, phase="begin"))
        self.event(end_s, Step(name=name, phase="end"))

    def truncate(self, at_s: float, node: str, offset: int) -> None:
        stamp = f"2025-10-09 08:53:{20 + at_s:06.3f}"
        line = f"[{stamp}] INFO Truncating log t-0 to offset {offset}. (kafka.log.Log)"
        self.event(at_s, Log(node=node, event="truncate", topic="t", partition=0, offset=offset, line=line))

    def cluster(self, *, brokers: int = 4, controller: int = 4) -> None:
        """Containers, registrations, a controller and the topic, up at 6.4 s."""
        coordinator = "zookeeper" if self.run["mode"] == "zookeeper" else "controller-100"
        self.container(0.9, coordinator, "start")
        self.container(1.2, f"broker-{controller}" if self.run["mode"] == "zookeeper" else "broker-1", "start")
        who = f"broker-{controller}" if self.run["mode"] == "zookeeper" else "controller-100"
        self.controller(3.1, who, 1)
        for number in range(1, brokers + 1):
            if number != controller and not (number == 1 and self.run["mode"] == "kraft"):
                self.container(3.2 + number / 20, f"broker-{number}", "start")
        self.step(5.9, 6.1, "create topic")

    def write(self, *, ended_s: float) -> RunDir:
        self.run["ended_wall_ns"] = WALL_NS + int(ended_s * 1e9)
        if "lost-write" in self.run["documented"]["required"]:
            for process in self.run["processes"]:
                process["expected_loss"] = process["kind"] == "producer"
        lines = sorted(self.events, key=lambda event: event.monotonic_ns)
        record, whole = sound(run_record(self.run), lines)
        write_lines(self.dir.timeline, whole)
        for node in ("broker-1", "broker-2", "broker-3", "broker-4"):
            self.dir.logs.mkdir(exist_ok=True)
            self.dir.log(node).write_text(f"{node}\n")
        self.dir.write_run(record)
        write(self.dir, self.findings)
        manifest.write(self.dir, record.run)
        return self.dir


def _failover_events(run: Synthetic, *, keeps: bool) -> None:
    for number in range(3):
        run.send(6.5 + number * 0.03, number, number)
    run.step(6.62, 9.1, "wait until the high watermark of t-0 is 3 on broker-1, broker-2, broker-3")
    run.send(9.12, 3, 3, acked_s=0.015)
    run.kill(9.15, "broker-1", "leader of t-0")
    run.precondition(9.3, "broker-2 holds the record above its high watermark", held=True, leo=4, hw=3)
    run.precondition(9.31, "broker-3 holds the record above its high watermark", held=True, leo=4, hw=3)
    run.moment(9.35, "00-armed", broker_1=(4, 4), broker_2=(4, 3), broker_3=(4, 3))
    run.kill(11.15, "broker-2", "follower of t-0")


def double_failover_lost(root: Path, *, seed: int = 1, version: str = "0.10.2.2") -> RunDir:
    """The record of KIP-101's first scenario, gone as documented."""
    run = Synthetic(root, "double-failover", version, seed=seed)
    run.run["documented"] |= {
        "required": ["lost-write"],
        "claim": "A record acknowledged with acks=all is lost by two clean elections.",
        "source": "KIP-101, KAFKA-1211",
    }
    run.cluster()
    run.partition(6.2, 1, 0, [1, 2, 3], version=0)
    _failover_events(run, keeps=False)
    run.partition(12.6, 2, 1, [2, 3], version=1)
    run.truncate(12.65, "broker-3", 3)
    run.partition(15.0, 3, 2, [3], version=2)
    run.send(15.1, 4, 3, acked_s=0.05)
    run.start(15.4, "broker-1")
    run.start(15.6, "broker-2")
    run.truncate(17.4, "broker-1", 3)
    run.truncate(17.6, "broker-2", 3)
    run.partition(17.9, 3, 2, [3, 1], version=3)
    run.partition(18.1, 3, 2, [3, 1, 2], version=4)
    run.step(18.3, 18.9, "final read")
    run.moment(19.0, "01-final", broker_1=(4, 4), broker_2=(4, 4), broker_3=(4, 4))
    run.findings["findings"] = [
        {
            "anomaly": "lost-write",
            "topic": "t",
            "partition": 0,
            "count": 1,
            "summary": "producer 1, sequence 3 (acks=all, offset 3) was never read",
            "evidence": [
                {
                    "producer": 1,
                    "sequence": 3,
                    "offset": 3,
                    "process": "producer-1",
                    "invoked_ns": START_NS + 9_120_000_000,
                    "completed_ns": START_NS + 9_135_000_000,
                    "acks": -1,
                    "furthest_read": 4,
                    "replicas": {
                        "00-armed": {"broker-1": 3, "broker-2": 3, "broker-3": 3},
                        "01-final": {"broker-1": None, "broker-2": None, "broker-3": None},
                    },
                }
            ],
        }
    ]
    return run.write(ended_s=21.8)


def double_failover_kept(root: Path, *, seed: int = 1) -> RunDir:
    """The same sequence where followers truncate by leader epoch: nothing is lost."""
    run = Synthetic(root, "double-failover", "4.3.1", seed=seed, mode="kraft")
    run.run["documented"] |= {
        "claim": "A record acknowledged with acks=all is lost by two clean elections.",
        "source": "KIP-101, KAFKA-1211",
    }
    run.cluster(brokers=3, controller=1)
    run.partition(6.2, 1, 0, [1, 2, 3], version=10)
    _failover_events(run, keeps=True)
    run.partition(12.6, 2, 1, [2, 3], version=20)
    run.partition(14.2, 3, 2, [3], version=22)
    run.send(14.5, 4, 4, acked_s=0.04)
    run.start(14.8, "broker-1")
    run.start(14.9, "broker-2")
    run.partition(17.0, 3, 2, [3, 1], version=30)
    run.partition(17.2, 3, 2, [3, 1, 2], version=31)
    run.step(17.4, 18.0, "final read")
    run.moment(18.1, "01-final", broker_1=(5, 5), broker_2=(5, 5), broker_3=(5, 5))
    return run.write(ended_s=20.4)


def unknown(root: Path, *, seed: int = 1) -> RunDir:
    """A kill that nothing proves, and a precondition that did not hold."""
    run = Synthetic(root, "double-failover", "0.10.2.2", seed=seed)
    run.run["documented"] |= {"required": ["lost-write"], "source": "KIP-101, KAFKA-1211"}
    run.cluster()
    run.partition(6.2, 1, 0, [1, 2, 3])
    run.send(6.5, 0, 0)
    run.fault(7.0, "kill", "broker-1", "leader of t-0", "kill -9 of broker-1", proof=None)
    run.precondition(7.5, "broker-2 holds the record above its high watermark", held=False, leo=4, hw=4)
    run.event(8.0, Blind(source="zookeeper", phase="begin", reason="session suspended"))
    run.event(9.0, Blind(source="zookeeper", phase="end", reason="connected"))
    run.step(9.5, 10.0, "final read")
    return run.write(ended_s=12.0)


def divergence(root: Path, *, seed: int = 1) -> RunDir:
    """Two in-sync replicas with different records at offset 2."""
    run = Synthetic(root, "replica-divergence", "0.10.2.2", seed=seed)
    run.run["topics"] = [{"name": "t", "partitions": {"0": [1, 2]}, "settings": {}}]
    run.run["documented"] |= {"required": ["lost-write", "replica-divergence"], "source": "KIP-101, KAFKA-1211"}
    run.cluster(brokers=3, controller=3)
    run.partition(6.2, 1, 0, [1, 2])
    run.send(6.5, 0, 0)
    run.send(6.53, 1, 1)
    run.kill(8.4, "broker-1", "replica of t-0")
    run.partition(12.1, 2, 1, [2])
    run.send(12.3, 2, 2)
    run.moment(14.0, "00-second-alone", broker_1=(2, 2), broker_2=(3, 3))
    run.kill(14.2, "broker-2", "replica of t-0")
    run.partition(17.9, -1, 2, [])
    run.start(18.4, "broker-1")
    run.partition(20.4, 1, 3, [1])
    run.send(20.6, 3, 2)
    run.moment(20.9, "01-first-alone", broker_1=(3, 2), broker_2=(3, 3))
    run.start(21.0, "broker-2")
    run.truncate(22.7, "broker-2", 3)
    run.partition(23.1, 1, 3, [1, 2])
    run.send(23.2, 4, 3)
    run.step(24.0, 24.5, "final read")
    run.moment(24.6, "02-final", broker_1=(4, 4), broker_2=(4, 4))
    run.findings["findings"] = [
        {
            "anomaly": "replica-divergence",
            "topic": "t",
            "partition": 0,
            "count": 1,
            "summary": "brokers 1 and 2 differ at offset 2",
            "evidence": [
                {
                    "moment": "02-final",
                    "offset": 2,
                    "brokers": {
                        "1": {"producer": 1, "sequence": 3, "leader_epoch": None, "size": 64, "crc": 1},
                        "2": {"producer": 1, "sequence": 2, "leader_epoch": None, "size": 64, "crc": 2},
                    },
                    "isr": [1, 2],
                }
            ],
        },
        {
            "anomaly": "lost-write",
            "topic": "t",
            "partition": 0,
            "count": 1,
            "summary": "producer 1, sequence 2 was never read",
            "evidence": [
                {
                    "producer": 1,
                    "sequence": 2,
                    "offset": 2,
                    "process": "producer-1",
                    "invoked_ns": START_NS + 12_300_000_000,
                    "completed_ns": START_NS + 12_320_000_000,
                    "acks": -1,
                    "furthest_read": 4,
                    "replicas": {
                        "00-second-alone": {"broker-1": None, "broker-2": 2},
                        "01-first-alone": {"broker-1": None, "broker-2": 2},
                        "02-final": {"broker-1": None, "broker-2": 2},
                    },
                }
            ],
        },
    ]
    return run.write(ended_s=27.0)


def isolation(root: Path, *, seed: int = 1) -> RunDir:
    """A frozen follower, a cut network and a refused send; an anomaly that nothing documents."""
    run = Synthetic(root, "isolated-broker", "2.8.2", seed=seed)
    run.cluster()
    run.partition(6.2, 1, 0, [1, 2, 3])
    run.send(6.5, 0, 0)
    run.container(7.05, "broker-2", "pause")
    frozen = run.fault(
        7.0,
        "freeze",
        "broker-2",
        "follower of t-0",
        "freeze (docker pause) of broker-2",
        proof=proof_of("freeze"),
    )
    cut = run.fault(
        8.0,
        "cut",
        "broker-1, broker-3",
        "leader; follower",
        "network cut of broker-1 from broker-3",
        proof=proof_of("cut", packets_dropped={"broker-1 OUTPUT 172.30.200.13": 7}),
    )
    run.send(8.5, 1, None, error="REQUEST_TIMED_OUT", acked_s=1.5)
    run.partition(11.0, 1, 0, [1])
    healing: tuple[tuple[float, str, str, str, FaultPhase], ...] = (
        (12.0, cut, "cut", "broker-1, broker-3", "heal"),
        (12.2, cut, "cut", "broker-1, broker-3", "healed"),
        (12.3, frozen, "freeze", "broker-2", "heal"),
        (12.5, frozen, "freeze", "broker-2", "healed"),
    )
    for at_s, fault_id, kind, node, phase in healing:
        about = Target(node=node)
        run.event(at_s, Fault(fault_kind=kind, id=fault_id, phase=phase, target=about, description=""))
    run.container(12.45, "broker-2", "unpause")
    run.partition(13.0, 1, 0, [1, 2, 3])
    run.step(13.5, 14.0, "final read")
    run.moment(14.1, "00-final", broker_1=(2, 2), broker_2=(2, 2), broker_3=(2, 2))
    run.findings["findings"] = [
        {
            "anomaly": "phantom",
            "topic": "t",
            "partition": 0,
            "count": 2,
            "summary": "two records <b>nobody</b> sent",
            "evidence": [{"offset": 1, "reader": "final-read-1"}],
        }
    ]
    return run.write(ended_s=16.0)


def failed(root: Path, *, seed: int = 1) -> RunDir:
    """The harness could not bring the cluster up."""
    run = Synthetic(root, "baseline", "1.1.1", seed=seed)
    run.run |= {"state": "failed", "failure": "broker-2 ended while waiting", "processes": []}
    run.container(0.9, "zookeeper", "start")
    directory = run.write(ended_s=3.0)
    directory.findings.unlink()
    return directory


def write_history(run_dir: RunDir, process: str, *rows: Mapping[str, Any], sealed: bool = True) -> None:
    """What a process recorded; without `sealed` its stream only. Of records before those that are told, which a whole
    history has, it knows nothing but that they were to be sent to another topic.
    """
    sent = {(row["producer"], row["sequence"]) for row in rows if row["kind"] == schema.SEND}
    before = {(producer, number) for producer, sequence in sent for number in range(sequence)} - sent
    with HistoryWriter(run_dir.stream(process), process, run=run_dir.path.name) as writer:
        for producer, number in sorted(before):
            of_it: dict[str, Any] = {"topic": "other", "partition": 0, "producer": producer, "sequence": number}
            writer.append(kind=schema.SEND, outcome=schema.INFO, **of_it)
        for row in rows:
            writer.append(**{"topic": "t", "partition": 0, **row})
    if sealed:
        assert seal_process(run_dir, process)
    manifest.write(run_dir, run_dir.path.name)


def sent(
    at_s: float, sequence: int, offset: int | None, *, outcome: str = schema.OK, producer: int = 1, **more: Any
) -> dict[str, Any]:
    """A row of a send, answered 15 ms later."""
    at_ns = START_NS + int(at_s * 1e9)
    row = {"kind": schema.SEND, "outcome": outcome, "producer": producer, "sequence": sequence, "offset": offset}
    return row | {"acks": -1, "invoked_ns": at_ns, "completed_ns": at_ns + 15_000_000} | more


def polled(at_s: float, sequence: int, offset: int, *, producer: int = 1) -> dict[str, Any]:
    """A row of a poll that returned a record."""
    at_ns = START_NS + int(at_s * 1e9)
    row = {"kind": schema.POLL, "outcome": schema.OK, "producer": producer, "sequence": sequence, "offset": offset}
    return row | {"invoked_ns": at_ns, "completed_ns": at_ns, "valid": True}


def final_read(at_s: float, end: int) -> dict[str, Any]:
    """The row that says a final read came to the end offset."""
    return {
        "kind": schema.FINAL_READ,
        "outcome": schema.OK,
        "offset": end,
        "completed_ns": START_NS + int(at_s * 1e9),
    }


def write_replica(
    run_dir: RunDir,
    moment: str,
    node: str,
    contents: Mapping[int, tuple[int, int] | bytes],
    *,
    hw: int | None = None,
    magic: int = 1,
    epoch: int = 0,
) -> Path:
    """A copy of t-0 on a node: at each offset a record of ours (producer, sequence), or any bytes as its value."""
    folder = run_dir.moment(moment) / node
    (folder / "t-0").mkdir(parents=True)
    run = record.run_hash(run_dir.path.name)
    data = b""
    for offset, content in contents.items():
        value = content if isinstance(content, bytes) else record.encode(run, *content)
        one = encode.R(value=value)
        data += encode.batch(offset, [one], epoch=epoch) if magic == 2 else encode.message(offset, one, magic=magic)
    segment = folder / "t-0" / f"{min(contents, default=0):020}.log"
    segment.write_bytes(data)
    if hw is not None:
        (folder / "replication-offset-checkpoint").write_text(f"0\n1\nt 0 {hw}\n")
    return segment


def change_run(run_dir: RunDir, **changes: Any) -> None:
    """Another record of the run, and a manifest of it."""
    run_dir.write_run(changed(run_dir.read_run(), changes))
    manifest.write(run_dir, run_dir.path.name)


def with_files(run_dir: RunDir) -> RunDir:
    """The histories and copies of `double_failover_lost`: m3 is at offset 3 of every disk, and then m4 is."""
    write_history(
        run_dir,
        "producer-1",
        *(sent(6.5 + number * 0.03, number, number) for number in range(3)),
        sent(9.12, 3, 3),
        sent(15.1, 4, 3),
    )
    reads = [polled(18.5, sequence, offset) for offset, sequence in enumerate((0, 1, 2, 4))]
    write_history(run_dir, "final-read-1", *reads, final_read(18.9, 4))
    for number in (1, 2, 3):
        node, before = f"broker-{number}", {offset: (1, offset) for offset in range(4)}
        write_replica(run_dir, "00-armed", node, before, hw=4 if number == 1 else 3)
        write_replica(run_dir, "01-final", node, before | {3: (1, 4)}, hw=4)
    manifest.write(run_dir, run_dir.path.name)
    return run_dir


def with_copies(run_dir: RunDir) -> RunDir:
    """Final read and copies of `divergence`: at offset 2 broker-2 has m2 from the first on, broker-1 has m3 from
    the second on, and m3 is what is read.
    """
    reads = [polled(24.2, sequence, offset) for offset, sequence in enumerate((0, 1, 3, 4))]
    write_history(run_dir, "final-read-1", *reads, final_read(24.3, 4))
    for number, moment in enumerate(("00-second-alone", "01-first-alone", "02-final")):
        later = {3: (1, 4)} if number == 2 else {}
        first, second = {2: (1, 3)} if number else {}, {2: (1, 2)}
        for broker, (own, hw) in {1: (first, (2, 2, 4)), 2: (second, (3, 3, 4))}.items():
            held = {0: (1, 0), 1: (1, 1)} | own | later
            write_replica(run_dir, moment, f"broker-{broker}", held, hw=hw[number])
    manifest.write(run_dir, run_dir.path.name)
    return run_dir
