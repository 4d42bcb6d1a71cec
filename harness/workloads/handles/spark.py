"""The harness's handles on applications of Spark Structured Streaming (harness/workloads/processes/spark.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.workloads.handles.application import StoppedFromOutside
from harness.workloads.handles.client import Client
from harness.workloads.spark import CommitGate
from harness.workloads.stores import located

CHECKPOINT: Final = "store/checkpoint"
"""The checkpoint of a run's queries, within the run directory: one continues where another one was killed."""


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """Nothing: what a query has done its checkpoint says."""

    def __str__(self) -> str:
        return "a query"


class SparkQuery(StoppedFromOutside[QueryProgress]):
    """A process in which a query of Spark works, and the Java virtual machine that is killed with it."""

    def __init__(
        self, client: Client, *, inputs: tuple[str, int], count: int, sink: str, output: str, store: str, work: str
    ) -> None:
        """`inputs`: the topic and partition that it reads, `count` how many records there are to be. `work`: a
        directory for files that nobody reads.
        """
        self.run, self.producer_id = client.run_dir.path.name, client.producer_id
        self.store = located(client.run_dir.path, store) if store else ""
        self.checkpoint = Path(located(client.run_dir.path, CHECKPOINT))
        self._gate = CommitGate(Path(work) / "gate")
        self._gate.make()
        topic, partition = inputs
        child = client.start(
            "spark",
            input=topic,
            partition=partition,
            inputs=count,
            sink=sink,
            output=output,
            store=self.store,
            checkpoint=str(self.checkpoint),
            gate=str(self._gate.directory),
            work=work,
        )
        super().__init__(client.name, child, QueryProgress())
        self.inputs, self.output, self.group = topic, output, ""

    def _progress(self, _heard: Mapping[str, Any]) -> QueryProgress:
        return QueryProgress()

    def hold_commit(self) -> None:
        """Have the next commit of a batch wait until the process is killed."""
        self._gate.shut()

    def commit_is_held(self) -> bool:
        """Whether a commit waits. Raises RecorderDied, with the last that it printed, if its process has ended."""
        self.require_running()
        return self._gate.is_reached()
