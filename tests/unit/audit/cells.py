"""Hand-written cells for tests: never shipped, never shown as measured."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from audit.cells import Cell, CellKey, RunCounts, Settings, Stated
from evidence.basis import Basis

SAID: dict[str, Any] = {"why": "w", "source": "KIP-98", "basis": Basis.KIP}
SPRING = Settings(
    client="java",
    line="epoch",
    version="2.8.2",
    replication_factor=3,
    min_insync_replicas=1,
    unclean=False,
    acks="1",
    idempotence=False,
    in_flight=5,
    retries="many",
)
FULL = ("leader-crash-behind", "leader-crash-under-load", "leader-cut-off", "zombie-leader", "shrunk-isr-crash",
        "whole-isr-down", "broker-restart", "rolling-restart", "double-failover", "follower-reboot",
        "lost-acknowledgement", "refused-then-accepted", "time-out", "client-crash", "disk-lost", "rack-lost",
        "last-disk-lost")  # fmt: skip


def run(name: str, acknowledged: int = 20, **counts: object) -> RunCounts:
    known = {"date": "2026-11-22", "commit": "abc", "client_release": "2.8.2", "broker_version": "2.8.2"}
    return RunCounts(run=name, acknowledged=acknowledged, **(known | counts))  # type: ignore[arg-type]


def cell(fault: str, *runs: RunCounts, of: Settings = SPRING, **changes: object) -> Cell:
    key = CellKey(**asdict(replace(of, **changes)), fault=fault)  # type: ignore[arg-type]
    return Cell(key=key, stated=Stated(**SAID), runs=runs or (run(f"{fault}-1"),))


def harmless(*faults: str, of: Settings = SPRING, **changes: object) -> list[Cell]:
    """Cells of these faults, or of all, in which nothing came of it."""
    return [cell(fault, of=of, **changes) for fault in faults or FULL]


def dark() -> list[Cell]:
    """Power loss: every producer loses seven, and none with a flush of each record, which is measured of acks=all."""
    every: list[dict[str, Any]] = [{"acks": "1"}, {"acks": "all"}, {"acks": "all", "idempotence": True}]
    return [
        *(cell("power-loss", run(f"dark-{at}", 12, lost=7), **one) for at, one in enumerate(every)),
        *(cell("power-loss", run(f"flush-{at}", 12), flush_each=True, **one) for at, one in enumerate(every)),
        cell("none", run("none-4", latency_p50_ms=8.0, latency_p99_ms=9.0), acks="all", flush_each=True),
    ]


KRAFT: dict[str, Any] = {"line": "kraft", "version": "4.3.1"}
FLUSHED: dict[str, Any] = {"flush_each": True}


def standing() -> list[Cell]:
    """The last replica on 4.3.1: seven are lost, and with min.insync.replicas=2 the three that it had alone; with
    acks=all none is then.
    """
    two: dict[str, Any] = KRAFT | {"min_insync_replicas": 2}
    return [
        cell("last-replica", run("alone-1", 12, lost=7), **KRAFT),
        cell("last-replica", run("alone-1f", 12), **KRAFT, **FLUSHED),
        cell("last-replica", run("alone-all", 12, lost=7), acks="all", **KRAFT),
        cell("last-replica", run("alone-allf", 12), acks="all", **KRAFT, **FLUSHED),
        cell("last-replica", run("two-1", 12, lost=3), **two),
        cell("last-replica", run("two-1f", 12, lost=3), **two, **FLUSHED),
        cell("last-replica", run("two-all", 9), acks="all", **two),
    ]


def matrix() -> list[Cell]:
    """Java on 2.8.2: acks=1 loses, acks=all duplicates and reorders, idempotence does neither."""
    one = [
        cell("leader-crash-behind", run("behind-1", 37, lost=37), run("behind-2", 37, lost=36)),
        cell("zombie-leader", run("zombie-1", 4, lost=4)),
        cell("lost-acknowledgement", run("ack-1", 20, duplicated=3)),
        *harmless("broker-restart", "rolling-restart", "whole-isr-down"),
        cell("none", run("none-1", latency_p50_ms=1.0, latency_p99_ms=2.1, records_per_s=41000.0)),
    ]
    every = [
        *harmless(*(fault for fault in FULL if fault != "lost-acknowledgement"), acks="all"),
        cell("lost-acknowledgement", run("ack-2", 20, duplicated=3, reordered=2), acks="all"),
        cell("none", run("none-2", latency_p50_ms=1.5, latency_p99_ms=3.4, records_per_s=36000.0), acks="all"),
    ]
    idempotent = [
        *harmless(acks="all", idempotence=True),
        cell("none", run("none-3", latency_p99_ms=3.5, records_per_s=35000.0), acks="all", idempotence=True),
    ]
    return [*one, *every, *idempotent]
