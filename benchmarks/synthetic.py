"""Sealed run directories of any size, with anomalies whose number is known: what the analysis is measured on.

Written by the recorder's own writer and sealed by the sealer, so that the files are those of a run; the rows are what a
load leaves behind: four producers that send blocks of 1000 records to 16 partitions in turn, four consumers that are
handed 500 records a poll, and a client that asks where the logs end while they grow. A process's rows are computed from
their offsets, a batch at a time, so memory stays flat whatever the size.

What they hold, and which anomalies, is in benchmarks.load.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from msgspec import structs

from benchmarks.load import (
    BLOCK,
    LOST,
    PACE_NS,
    PARTITIONS,
    PRODUCERS,
    REPEATED,
    TOPIC,
    PartitionLoad,
    partitions,
    sent_at,
    steps,
)
from evidence import events
from evidence.history import schema
from evidence.history.seal import seal_process
from evidence.history.writer import BATCH_ROWS, HistoryWriter
from evidence.run import ProcessRecord, RunRecord, TopicRecord, blank
from evidence.rundir import RunDir
from evidence.timeline import Timeline

CONSUMERS: Final = 4
POLL: Final = 500
RESERVED: Final = 100_000
ACKNOWLEDGED_NS: Final = 3_000_000
ANSWERS: Final = 100
WATCHER: Final = "watcher"
POLLED_NS: Final = 5_000_000
FINAL_READ_NS: Final = 1 << 60
EACH: Final = 20
"""Records of a small partition."""
LOST_IN: Final = 100
"""Of so many small partitions one has lost a record."""
EXPECTED: Final = {"lost-write": LOST * PARTITIONS, "duplicate": REPEATED * PARTITIONS}
UNREPLICATED: Final = LOST + 1
"""A partition of a whole run: what is lost is missing from the last copies, the first of it from those before too."""
SKIPS: Final = ("poll-skip", "internal-poll-skip")
"""A reader skips what is lost: within a poll, or from one to the next."""


def _produce(writer: HistoryWriter, producer: int, parts: Sequence[PartitionLoad]) -> None:
    for part in parts:
        where = part.where
        reserved = 0
        # The blocks of one producer in a batch's worth of rows, out of the blocks of all.
        for offsets in steps(part.records, BATCH_ROWS // BLOCK * BLOCK * PRODUCERS):
            own = offsets[offsets // BLOCK % PRODUCERS == producer - 1]
            if not len(own):
                continue
            _, sequence = part.identities(own)
            while reserved <= sequence[-1]:
                what: dict[str, Any] = {"producer": producer, "sequence": reserved, "count": RESERVED, "invoked_ns": 0}
                writer.extend(1, kind=schema.RESERVE, outcome=schema.INFO, **where, **what)
                reserved += RESERVED
            invoked = sent_at(own)
            writer.extend(
                len(own),
                kind=schema.SEND,
                outcome=schema.OK,
                **where,
                offset=own,
                producer=producer,
                sequence=sequence,
                invoked_ns=invoked,
                completed_ns=invoked + ACKNOWLEDGED_NS + own % BLOCK // 250 * 100_000,
                acks=-1,
            )


def _consume(writer: HistoryWriter, parts: Sequence[PartitionLoad]) -> None:
    polls = 0
    for part in parts:
        where = part.where
        for offsets in steps(part.end, BATCH_ROWS // POLL * POLL):
            there = offsets[~np.isin(offsets, part.lost)]
            producer, sequence = part.identities(there)
            came = there // POLL * POLL * PACE_NS + POLLED_NS
            writer.extend(
                len(there),
                operation=polls + there // POLL,
                kind=schema.POLL,
                outcome=schema.OK,
                **where,
                offset=there,
                producer=producer,
                sequence=sequence,
                invoked_ns=came - 1_000_000,
                completed_ns=came,
                valid=True,
                timestamp_ms=sent_at(there) // 1_000_000,
                leader_epoch=0,
            )
        polls += part.end // POLL + 1
        final: dict[str, Any] = {
            "outcome": schema.OK,
            "offset": part.end,
            "invoked_ns": FINAL_READ_NS,
            "completed_ns": FINAL_READ_NS,
        }
        for kind in (schema.END_OFFSETS, schema.FINAL_READ):
            writer.extend(1, kind=kind, **where, **final)


def _watch(writer: HistoryWriter, parts: Sequence[PartitionLoad]) -> None:
    """A client that asks the leaders where their logs end, ANSWERS times, while a block is being acknowledged."""
    for part in parts:
        asked = np.arange(ANSWERS, dtype=np.int64) * (part.records // ANSWERS)
        at = sent_at(asked) + ACKNOWLEDGED_NS + 1_000_000
        writer.extend(
            ANSWERS,
            operation=np.arange(ANSWERS, dtype=np.int64) + ANSWERS * part.number,
            kind=schema.END_OFFSETS,
            outcome=schema.OK,
            **part.where,
            offset=np.minimum(part.records, (asked // BLOCK + 1) * BLOCK),
            invoked_ns=at,
            completed_ns=at + 100_000,
        )


def _seal(run_dir: RunDir, processes: Sequence[ProcessRecord]) -> None:
    for process in processes:
        if not seal_process(run_dir, process.name):
            raise RuntimeError(f"{process.name} was not sealed")
        run_dir.stream(process.name).unlink()


def _process(name: str, kind: str) -> ProcessRecord:
    return ProcessRecord(name=name, kind=kind, file=f"history/{name}.arrows", final=False, settings={})


def _record(
    topics: Sequence[TopicRecord], processes: Sequence[ProcessRecord], moments: Sequence[str] = ()
) -> RunRecord:
    return structs.replace(
        blank("synthetic", "none"),
        topics=tuple(topics),
        processes=tuple(processes),
        moments=tuple(moments),
        state="complete",
    )


def write_run(run_dir: RunDir, records: int, *, skewed: bool = False, whole: bool = False) -> None:
    """Write and seal a run of `records` acknowledged records (SMALLEST at least), each of them read once; of a `whole`
    run also the timeline, and copies of replicas.
    """
    parts = partitions(records, skewed=skewed)
    processes: list[ProcessRecord] = []
    for number in range(1, PRODUCERS + 1):
        processes.append(_process(f"producer-{number}", "producer"))
        with HistoryWriter(run_dir.stream(f"producer-{number}"), f"producer-{number}") as writer:
            _produce(writer, number, parts)
    for number in range(CONSUMERS):
        processes.append(_process(f"consumer-{number}", "consumer"))
        with HistoryWriter(run_dir.stream(f"consumer-{number}"), f"consumer-{number}") as writer:
            _consume(writer, parts[number::CONSUMERS])
    processes.append(_process(WATCHER, "consumer"))
    with HistoryWriter(run_dir.stream(WATCHER), WATCHER) as writer:
        _watch(writer, parts)
    _seal(run_dir, processes)
    topics = (TopicRecord(name=TOPIC, partitions={part.number: (1, 2, 3) for part in parts}, settings={}),)
    moments: Sequence[str] = ()
    if whole:
        from benchmarks.brokers import write_brokers  # compiles

        moments = write_brokers(run_dir, parts)
    run_dir.write_run(_record(topics, processes, moments))


def write_small(run_dir: RunDir, count: int) -> None:
    """Write and seal a run of `count` partitions of EACH records, sent and read in turns, with their states in the
    timeline. One partition in LOST_IN has lost a record.
    """
    numbers = np.arange(count, dtype=np.int64)
    processes = [
        _process("producer-1", "producer"),
        _process("consumer-1", "consumer"),
    ]
    with HistoryWriter(run_dir.stream("producer-1"), "producer-1") as writer:
        for offset in range(EACH):
            at = (offset * count + numbers) * 1_000
            writer.extend(
                count,
                kind=schema.SEND,
                outcome=schema.OK,
                topic=TOPIC,
                partition=numbers,
                offset=offset,
                producer=1,
                sequence=offset,
                invoked_ns=at,
                completed_ns=at + ACKNOWLEDGED_NS,
                acks=-1,
            )
    with HistoryWriter(run_dir.stream("consumer-1"), "consumer-1") as writer:
        for offset in range(EACH):
            there = numbers[(numbers % LOST_IN != 0) | (offset != EACH // 2)]
            at = ((offset + 1) * count + there // POLL * POLL) * 1_000 + POLLED_NS
            writer.extend(
                len(there),
                operation=(offset * count + there) // POLL,
                kind=schema.POLL,
                outcome=schema.OK,
                topic=TOPIC,
                partition=there,
                offset=offset,
                producer=1,
                sequence=offset,
                invoked_ns=at - 1_000_000,
                completed_ns=at,
                valid=True,
            )
        for kind in (schema.END_OFFSETS, schema.FINAL_READ):
            writer.extend(
                count,
                operation=EACH * count // POLL + 1,
                kind=kind,
                outcome=schema.OK,
                topic=TOPIC,
                partition=numbers,
                offset=EACH,
                invoked_ns=FINAL_READ_NS,
                completed_ns=FINAL_READ_NS,
            )
    _seal(run_dir, processes)
    with Timeline(run_dir.timeline) as timeline:
        for number in range(count):
            timeline.append(
                events.Partition(
                    source="zookeeper",
                    topic=TOPIC,
                    partition=number,
                    leader=1,
                    leader_epoch=0,
                    isr=(1, 2),
                    replicas=(1, 2),
                    monotonic_ns=-5,
                    wall_ns=1_000,
                )
            )
    topics = (TopicRecord(name=TOPIC, partitions=dict.fromkeys(range(count), (1, 2)), settings={}),)
    run_dir.write_run(_record(topics, processes))
