"""What workers and connectors of Kafka Connect are configured with, and what Connect says of them, as data.

Workers of every release get the same settings: one that a release does not know yet, or no more, it ignores with a
warning. Before 1.1 the REST interface is set by rest.host.name and rest.port (KIP-208). Before 2.0 the converters of
Connect's own topics must be named (KIP-174). From 2.3 on the tasks of a worker that has gone wait for its return, for
scheduled.rebalance.max.delay.ms (KIP-415). With a delay of 0 the releases that brought it would not hand them on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from evidence.errors import HarnessError
from harness.workloads.settings import MEMBER
from harness.workloads.stores.lines import FILE

HOST: Final = "127.0.0.1"
"""The only address that a worker listens on."""
CONFIGS: Final = "connect-configs"
OFFSETS: Final = "connect-offsets"
STATUS: Final = "connect-status"
GROUP: Final = "connect-workers"
LINES: Final = "inputs.txt"
"""The file that a source reads, within the directory of its worker."""
RUNNING: Final = "RUNNING"
FAILED: Final = "FAILED"
WOKEN: Final = "org.apache.kafka.common.errors.WakeupException"
NOT_FENCED: Final = re.compile("[zZ]ombie ?(fencing|SourceTasks)")
"""What a failure names if nobody fenced the earlier producers of a source's tasks: in words, or by the method
that failed (DistributedHerder.fenceZombieSourceTasks). Workers ask their leader, which may be gone or busy."""
JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
TEXT: Final = "org.apache.kafka.connect.storage.StringConverter"


def worker_settings(port: int, settings: Mapping[str, str]) -> dict[str, str]:
    """The settings of a worker in distributed mode whose REST interface has a port: the fixed ones, then these.

    Its group waits as long for a member that died as any other application's does here, and so does a sink's.
    """
    converters = {f"internal.{of}.converter": JSON for of in ("key", "value")}
    plain = {f"internal.{of}.converter.schemas.enable": "false" for of in ("key", "value")}
    fixed = {
        "group.id": GROUP,
        "config.storage.topic": CONFIGS,
        "offset.storage.topic": OFFSETS,
        "offset.storage.partitions": "1",
        "status.storage.topic": STATUS,
        "status.storage.partitions": "1",
        "key.converter": TEXT,
        "value.converter": TEXT,
        "listeners": f"http://{HOST}:{port}",
        "rest.host.name": HOST,
        "rest.port": str(port),
        "rest.advertised.host.name": HOST,
        "rest.advertised.port": str(port),
        "session.timeout.ms": MEMBER["session.timeout.ms"],
        "heartbeat.interval.ms": "2000",
        "consumer.session.timeout.ms": MEMBER["session.timeout.ms"],
        "consumer.heartbeat.interval.ms": "2000",
        "scheduled.rebalance.max.delay.ms": "1000",
        # Plugins are found by what their jars declare, not by reading every class (KIP-898, 3.6).
        "plugin.discovery": "service_load",
    }
    return converters | plain | fixed | dict(settings)


def source(output: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The configuration of a connector of Kafka's own that sends the lines of a file to a topic."""
    fixed = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "tasks.max": "1",
        "file": LINES,
        "topic": output,
    }
    return fixed | dict(settings)


def sink(inputs: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The configuration of a connector of Kafka's own that writes the records of a topic to a file: a line for each,
    which names where the record lies (KIP-66).
    """
    transforms = "org.apache.kafka.connect.transforms"
    fixed = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "tasks.max": "1",
        "file": FILE,
        "topics": inputs,
        "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "transforms": "hoist,place",
        "transforms.hoist.type": f"{transforms}.HoistField$Value",
        "transforms.hoist.field": "value",
        "transforms.place.type": f"{transforms}.InsertField$Value",
        "transforms.place.topic.field": "topic",
        "transforms.place.partition.field": "partition",
        "transforms.place.offset.field": "offset",
    }
    return fixed | dict(settings)


def group_of(connector: str) -> str:
    """The group whose offsets a sink commits.

    >>> group_of("sink")
    'connect-sink'
    """
    return f"connect-{connector}"


@dataclass(frozen=True, slots=True)
class Task:
    """Where a connector's only task is, as Connect says."""

    worker: str
    """The address of its worker, such as "127.0.0.1:18083"."""
    state: str
    not_fenced: str = ""
    """Why it has failed before it began, if that is because nobody fenced its predecessors; else ""."""


def task_of(status: Mapping[str, Any], *, woken: bool = False) -> Task | None:
    """The task of a connector by its status; None if it has none yet.

    Before 2.7 a sink's task that is stopped for a rebalance while it commits says that it has failed (KAFKA-10240). It
    was woken up, and is started again when the rebalance is over. `woken` is whether that may be.

    A source's task with exactly.once.source.support fails if nobody fences its predecessors, which may still write. It
    stays so until somebody restarts it (KIP-618).

    Raises HarnessError, with Connect's own words, if the connector or its task has failed otherwise.

    >>> task_of({"connector": {"state": "RUNNING"}, "tasks": [{"worker_id": "127.0.0.1:83", "state": "RUNNING"}]})
    Task(worker='127.0.0.1:83', state='RUNNING', not_fenced='')
    """
    tasks = list(status.get("tasks", ()))
    for what, one in (("connector", status.get("connector", {})), *(("task", task) for task in tasks)):
        if one.get("state") == FAILED:
            said = _failure(one)
            if what == "task" and ((woken and WOKEN in said) or _not_fenced(one)):
                continue
            raise HarnessError(f"the {what} {status.get('name', '')} has failed on {one.get('worker_id')}: {said}")
    if not tasks:
        return None
    return Task(str(tasks[0].get("worker_id")), str(tasks[0].get("state")), _not_fenced(tasks[0]))


def _failure(one: Mapping[str, Any]) -> str:
    """The first line of why a connector or task has failed."""
    return (str(one.get("trace", "")).strip().splitlines() or ["no reason"])[0]


def _not_fenced(task: Mapping[str, Any]) -> str:
    """The same, if a task has failed because nobody fenced its predecessors; else ""."""
    named = NOT_FENCED.search(str(task.get("trace", "")))
    return _failure(task) if task.get("state") == FAILED and named else ""


def position_of(records: Iterable[tuple[bytes | None, bytes | None]], connector: str, file: str) -> int:
    """How far in a file, in bytes, a source's offsets are committed: by the last record of Connect's topic of offsets
    that is of this connector and file; 0 if there is none.

    Raises HarnessError for a record of this connector that is of another form.
    """
    key = [connector, {"filename": file}]
    found = 0
    for name, value in records:
        if name is None or json.loads(name) != key:
            continue
        said = None if value is None else json.loads(value)
        if said is not None and not isinstance(said.get("position"), int):
            raise HarnessError(f"{connector}: its committed offset is no position: {said}")
        found = 0 if said is None else int(said["position"])
    return found


def lines_before(position: int, lengths: Sequence[int]) -> int:
    """How many lines of these lengths, each with its end, lie before a position.

    Raises HarnessError if it lies within a line, or beyond the last one.

    >>> lines_before(0, [5, 6]), lines_before(5, [5, 6]), lines_before(11, [5, 6])
    (0, 1, 2)
    """
    ends = [0, *accumulate(lengths)]
    if position not in ends:
        raise HarnessError(f"the committed position {position} is no line's end: these are {ends}")
    return ends.index(position)
