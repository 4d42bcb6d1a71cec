"""Records of runs for tests: what a test says of one, and the rest as small as can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from evidence.basis import Basis
from evidence.run import RunRecord, SubjectRecord
from evidence.rundir import RunDir

STATED: dict[str, Any] = {"source": "KIP-101", "basis": Basis.KIP}
"""Of an outcome whose source does not matter."""
ANYTHING = {"run": "r", "scenario": "s", "version": "v", "kafka": "4.3.1", "mode": "kraft"}
A_SUBJECT = {
    "client": "java", "acks": "all", "idempotence": True, "in_flight": 5, "retries": "many", "replication_factor": 3,
    "min_insync_replicas": 1, "unclean": False, "topic": "t", "partition": 0, "process": "producer-1",
    "stated": {"must": [], "may": [], "why": "", "source": "KIP-98", "basis": "KIP"},
}  # fmt: skip


def _whole(told: Mapping[str, Any]) -> dict[str, Any]:
    """What a test tells, with all that its parts must have."""
    least: dict[str, dict[str, Any]] = {"topics": {"name": "t", "partitions": {}}, "processes": {"name": "p"}}
    parts = {
        name: [{**part, **msgspec.to_builtins(one, str_keys=True)} for one in told[name]]
        for name, part in least.items()
        if name in told
    }
    subjects = {"subjects": [_whole_subject(one) for one in told["subjects"]]} if "subjects" in told else {}
    return {**told, **parts, **subjects}


def _whole_subject(told: Mapping[str, Any] | SubjectRecord) -> dict[str, Any]:
    whole: dict[str, Any] = {**A_SUBJECT, **msgspec.to_builtins(told)}
    stated: Any = A_SUBJECT["stated"]
    return whole | {"stated": stated | whole["stated"]}


def run_record(told: Mapping[str, Any] | None = None, /, **more: Any) -> RunRecord:
    """A run of which a test tells so much, in the words of run.json."""
    return msgspec.convert({**ANYTHING, **_whole({**(told or {}), **more})}, RunRecord, str_keys=True)


def changed(run: RunRecord, told: Mapping[str, Any] | None = None, /, **more: Any) -> RunRecord:
    """The same run, told otherwise."""
    return run_record({**msgspec.to_builtins(run, str_keys=True), **(told or {}), **more})


def subject_record(told: Mapping[str, Any] | None = None, /, **more: Any) -> SubjectRecord:
    """A subject of which a test tells so much."""
    return msgspec.convert(_whole_subject({**(told or {}), **more}), SubjectRecord)


def steps_ended(run_dir: RunDir) -> str:
    """Why the steps of a run ended early; "True" if they did not."""
    sequence = run_dir.read_run().sequence
    return str(sequence and sequence.ended)
