"""Replica logs, the second witness: copies of what lay on each broker's disk at named moments.

replica-divergence: two replicas that are both in the ISR hold different records at one offset at or below the smaller
of their log end offsets. A replica that is not in the ISR may hold what it likes: it has still to truncate. Copies
are compared per moment, against the ISR that the cluster had stated by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from analysis.metadata import isr_at
from analysis.view import NOBODY, SEQUENCE_BITS
from harness.formats.batches import Record
from harness.formats.errors import ParseError
from harness.formats.replica import Replica, compare, read_replica
from harness.history import record
from harness.rundir import RunDir

EVIDENCE_LIMIT: Final = 1000
Problem = dict[str, str]


def broker_of(node: str) -> int:
    """The broker id in a node's name."""
    return int(node.rpartition("-")[2])


def replicas_at(run_dir: RunDir, moment: str, topic: str, partition: int) -> tuple[dict[int, Replica], list[Problem]]:
    """The copies of one partition at one moment, by broker, and what is wrong with them."""
    found: dict[int, Replica] = {}
    problems: list[Problem] = []
    for directory in sorted(run_dir.moment(moment).glob(f"*/{topic}-{partition}")):
        node = directory.parent.name
        try:
            replica = read_replica(directory)
        except (ParseError, OSError) as error:
            problems.append(_problem(moment, node, directory, str(error)))
            continue
        found[broker_of(node)] = replica
        problems += [
            _problem(moment, node, directory, f"segment {p.segment}: {p.corrupt.kind}: {p.corrupt.reason}")
            for p in replica.corruption
        ]
        problems += [_problem(moment, node, directory, note) for note in replica.notes]
    return found, problems


def _problem(moment: str, node: str, directory: Path, detail: str) -> Problem:
    return {"what": "unreadable replica", "process": node, "detail": f"{moment}/{node}/{directory.name}: {detail}"}


def describe(one: Record | None) -> dict[str, Any] | None:
    """A record as evidence: whose it is, and what would tell it from another; None for no record."""
    if one is None:
        return None
    identity = record.decode(one.value)
    return {
        "producer": NOBODY if identity is None else identity.producer,
        "sequence": NOBODY if identity is None else identity.sequence,
        "leader_epoch": one.leader_epoch,
        "timestamp_ms": one.timestamp_ms,
        "size": 0 if one.value is None else len(one.value),
        "codec": str(one.codec),
    }


def replica_divergence(
    run_dir: RunDir, moments: Mapping[str, int], events: Sequence[Mapping[str, Any]], topic: str, partition: int
) -> tuple[list[dict[str, Any]], list[Problem], int]:
    """Offsets at which in-sync replicas differ, at each moment (name → monotonic ns); problems; batches looked at."""
    evidence: list[dict[str, Any]] = []
    problems: list[Problem] = []
    held = 0
    for moment, at_ns in moments.items():
        isr = isr_at(events, topic, partition, at_ns)
        replicas, wrong = replicas_at(run_dir, moment, topic, partition)
        problems += wrong
        held += sum(len(segment.headers) for replica in replicas.values() for segment in replica.segments)
        in_sync = {broker: replica for broker, replica in replicas.items() if broker in isr}
        if len(in_sync) < 2:
            continue
        for difference in compare(in_sync):
            evidence.append(
                {
                    "moment": moment,
                    "offset": difference.offset,
                    "fields": list(difference.fields),
                    "brokers": {str(broker): describe(one) for broker, one in difference.records.items()},
                    "isr": isr,
                }
            )
    return evidence, problems, held


def holdings(
    run_dir: RunDir, moments: Iterable[str], topic: str, partition: int, values: Iterable[int]
) -> dict[int, dict[str, dict[str, int | None]]]:
    """Where each value lay: value → moment → node → offset (None: not in that replica). Unreadable copies are left
    out.
    """
    wanted = set(values)
    found: dict[int, dict[str, dict[str, int | None]]] = {value: {} for value in wanted}
    if not wanted:
        return found
    for moment in moments:
        replicas, _ = replicas_at(run_dir, moment, topic, partition)
        for broker, replica in sorted(replicas.items()):
            for value in wanted:
                found[value].setdefault(moment, {})[f"broker-{broker}"] = None
            table, _ = replica.table()
            for value, offset in _values(table):
                if value in wanted:
                    found[value][moment][f"broker-{broker}"] = offset
    return found


def _values(table: pa.Table) -> Iterable[tuple[int, int]]:
    for content, offset in zip(table["value"], table["offset"], strict=True):
        identity = record.decode(content.as_py())
        if identity is not None:
            yield (identity.producer << SEQUENCE_BITS) + identity.sequence, offset.as_py()
