"""Whole run directories, made by hand: histories as recorders write them, a timeline, the facts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evidence.events import Controller, Partition
from evidence.history.writer import HistoryWriter
from evidence.rundir import RunDir
from evidence.timeline import Timeline
from tests.records import run_record
from tests.unit.checks.histories import Row


def make_run(root: Path, histories: dict[str, list[Row]], *, close: bool = True, partitions: int = 1) -> RunDir:
    """A run of one topic whose processes recorded these rows (of partition 0 unless they say otherwise)."""
    run_dir = RunDir(root)
    root.mkdir(parents=True)
    for process, rows in histories.items():
        writer = HistoryWriter(run_dir.stream(process), process)
        for row in rows:
            columns: dict[str, Any] = {"topic": "t", "partition": 0} | {k: v for k, v in row.items() if k != "process"}
            writer.extend(1, operation=columns.pop("op", None), **columns)
        if close:
            writer.close()
        else:
            writer.flush()
    with Timeline(run_dir.timeline) as timeline:
        timeline.append(Controller(source="zookeeper", node="broker-1", epoch=1))
        where: dict[str, Any] = {"source": "zookeeper", "topic": "t", "partition": 0}
        timeline.append(Partition(**where, leader=1, leader_epoch=0, isr=(1, 2), controller_epoch=1))
    run_dir.write_run(
        run_record(
            {
                "run": "",
                "scenario": "double-failover",
                "version": "0.10.2.2",
                "topics": [{"name": "t", "partitions": {str(n): [1, 2] for n in range(partitions)}, "settings": {}}],
                "processes": [
                    {"name": name, "kind": "producer", "file": f"history/{name}.arrows", "final": False, "settings": {}}
                    for name in histories
                ],
                "moments": [],
                "state": "complete",
            }
        )
    )
    return run_dir
