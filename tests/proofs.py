"""A proof of each kind of fault that holds, for tests to take as it is or to change."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from evidence.faults.base import FaultProof, kind_of
from evidence.faults.clients import FreezeClientProof, KillClientProof, ResetProof, WithheldProof
from evidence.faults.clock import ClockStepProof
from evidence.faults.disks import DiskFailureProof, DiskFullProof, DiskReadOnlyProof, SlowDiskProof
from evidence.faults.files import FlipProof, OverwriteProof, RemoveProof, ResizeProof, WipeProof
from evidence.faults.network import CutProof, DelayProof, HoldProof, LossProof, SlowLink, SlowProof
from evidence.faults.pressure import CpuPressureProof, MemoryPressureProof
from evidence.faults.process import (
    DoubleProof,
    ExitProof,
    FreezeProof,
    KillProof,
    MigrationProof,
    PowerLossProof,
    ReplicaOnDisk,
    RevertProof,
    StartProof,
    StopProof,
)
from evidence.faults.upgrade import FinalizeProof, RaiseProof, RefusedProof, UpgradeProof

SETTINGS: Final = {"inter.broker.protocol.version": "0.11.0"}
DROPPED: Final = {"broker-1 OUTPUT 172.20.0.12": 3}
PROOFS: Final[Mapping[str, FaultProof]] = {
    kind_of(type(one)): one
    for one in (
        KillProof(exit_code=137, time_nano=12, signal_nano=11),
        PowerLossProof(
            exit_code=137,
            time_nano=12,
            signal_nano=11,
            refused_then="Input/output error",
            flushed_file_held=True,
            unflushed_file_held=False,
            replicas={"t-0": ReplicaOnDisk(written=13, held=3)},
        ),
        StopProof(exit_code=143, time_nano=11),
        ExitProof(exit_code=1, time_nano=11, line="the id is taken"),
        StartProof(pid=4711, time_nano=12),
        DoubleProof(pid=4711, time_nano=12, id=1, pid_of_first=4712),
        FreezeProof(status="paused", cpu_ticks=(55, 55), watched_ms=100),
        MigrationProof(line="Completed migration of metadata", controller="broker-1", epoch=3, brokers=("broker-2",)),
        RevertProof(before="controller-100", epoch_before=3, controller="broker-1", epoch=4),
        UpgradeProof(
            pid=4711,
            time_nano=12,
            before="0.10.2.2",
            after="0.11.0.3",
            release="0.11.0.3",
            jar="kafka_2.11-0.11.0.3.jar",
            sha256="0" * 64,
            apis=34,
            fetch=5,
        ),
        RefusedProof(
            exit_code=1,
            time_nano=11,
            line="Version `0.11.0` is not a valid version",
            before="0.11.0.3",
            after="0.10.2.2",
            release="0.10.2.2",
            jar="kafka_2.11-0.10.2.2.jar",
            sha256="0" * 64,
        ),
        RaiseProof(pid=4711, time_nano=12, settings=SETTINGS, logged=("inter.broker.protocol.version = 0.11.0",)),
        FinalizeProof(feature="metadata.version", before=21, level=25, offset=77, nodes=("broker-1",)),
        WipeProof(files_before=5, logs_before=("t-0",), files_after=0),
        RemoveProof(file="replication-offset-checkpoint", bytes=20, there=False),
        OverwriteProof(file="replication-offset-checkpoint", replica="t-0", offset_before=5, offset=3),
        FlipProof(
            file="t-0/00000000000000000000.log", position=70, byte_before=65, byte=1, bytes=99, others_as_before=True
        ),
        ResizeProof(file="t-0/00000000000000000000.log", bytes_before=99, bytes=70, rest_as_before=True),
        SlowDiskProof(device="253:0", bytes_per_s=8192, bytes=8192, bytes_counted=8192, took_ms=1000),
        CpuPressureProof(
            quota_us=5000, period_us=100_000, wall_us=2_400_000, used_us=121_000, throttled=24, throttled_us=2_100_000
        ),
        MemoryPressureProof(
            limit_bytes=200 << 20,
            held_bytes=168 << 20,
            read_bytes=64 << 20,
            used_bytes=199 << 20,
            reclaims=900,
            killed=0,
        ),
        DiskFullProof(refused=os.strerror(errno.ENOSPC), running=True),
        DiskFailureProof(refused=os.strerror(errno.EIO), running=True),
        DiskReadOnlyProof(refused=os.strerror(errno.EROFS), running=True),
        CutProof(packets_dropped=DROPPED),
        LossProof(packets_dropped=DROPPED, packets={"broker-1 OUTPUT 172.20.0.12": 9}, share=0.3),
        HoldProof(packets_dropped=DROPPED, taken_and_unanswered=("broker-1",)),
        DelayProof(packets_dropped=DROPPED, connections=2, not_taken=("broker-1",)),
        SlowProof(
            links={
                "broker-1 to broker-2": SlowLink(
                    bytes_per_s=1000, packets_waiting=4, packets_held=4, datagrams_arrived=8
                )
            }
        ),
        ResetProof(connections=("172.20.0.1:40000",), left=()),
        KillClientProof(pid=4713, status=-9),
        FreezeClientProof(pid=4713, threads=2, states=("T",)),
        WithheldProof(
            api="EndTxn", api_key=26, asked_id=17, answered_id=17, answer_bytes=22, client_id="app", broker=2
        ),
        ClockStepProof(
            seconds=3600,
            before_ms=0,
            line_before="[2026-11-22T11:00:00.000Z] WARN Unexpected error",
            ahead_ms=3600_000,
            line="[2026-11-22T12:00:01.000Z] WARN Unexpected error",
        ),
    )
}


def proof(kind: str, **changes: Any) -> FaultProof:
    """A proof of this kind that holds, but for the changes, as it comes from a timeline.

    Raises msgspec.ValidationError for a change to what is no value of its field.
    """
    example = PROOFS[kind]
    return msgspec.convert(msgspec.to_builtins(example) | msgspec.to_builtins(changes), type=type(example))


def shown(made: FaultProof | None) -> dict[str, Any]:
    """The fields of a proof as a timeline has them, but for its kind and those that are None."""
    assert made is not None
    told = msgspec.json.decode(msgspec.json.encode(made))
    return {name: value for name, value in told.items() if name != "kind" and value is not None}
