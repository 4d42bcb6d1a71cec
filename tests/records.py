"""Records of runs for tests: what a test says of one, and the rest as small as can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from evidence.basis import Basis
from evidence.borders import Border, Side
from evidence.run import RunRecord, SubjectRecord, blank
from evidence.rundir import RunDir

STATED: dict[str, Any] = {"source": "KIP-101", "basis": Basis.KIP}
"""Of an outcome whose source does not matter."""


def first(release: str) -> Border:
    """The first release with a bug whose source does not matter."""
    return Border(release, "KAFKA-1", Side("0.8.1.1", "Partition.thing is missing"), Side(release, "Partition.thing"))


ANYTHING = msgspec.to_builtins(blank("s", "v"), str_keys=True) | {"kafka": "4.3.1", "mode": "kraft"}
A_SUBJECT = {
    "client": "java", "acks": "all", "idempotence": True, "in_flight": 5, "retries": "many", "replication_factor": 3,
    "min_insync_replicas": 1, "unclean": False, "topic": "t", "partition": 0, "process": "producer-1",
    "client_release": "", "overrides": {}, "expected_loss": None,
    "stated": {"must": [], "may": [], "why": "", "source": "KIP-98", "basis": "KIP"},
}  # fmt: skip
LEAST: dict[str, dict[str, Any]] = {
    "topics": {"name": "t", "partitions": {}, "settings": {}},
    "processes": {"name": "p", "kind": "", "file": "", "final": False, "settings": {}},
}
"""What parts of a run have at least."""


def whole(told: Mapping[str, Any]) -> dict[str, Any]:
    """What a test tells of a run, in the words of run.json, with all that a run must have."""
    parts: dict[str, Any] = {
        name: [{**part, **msgspec.to_builtins(one, str_keys=True)} for one in told[name]]
        for name, part in LEAST.items()
        if name in told
    }
    if "subjects" in told:
        parts["subjects"] = [_whole_subject(one) for one in told["subjects"]]
    for name in ("documented", "host"):
        if isinstance(told.get(name), Mapping):
            parts[name] = {**ANYTHING[name], **told[name]}
    return {**ANYTHING, **told, **parts}


def _whole_subject(told: Mapping[str, Any] | SubjectRecord) -> dict[str, Any]:
    whole: dict[str, Any] = {**A_SUBJECT, **msgspec.to_builtins(told)}
    stated: Any = A_SUBJECT["stated"]
    return whole | {"stated": stated | whole["stated"]}


def run_record(told: Mapping[str, Any] | None = None, /, **more: Any) -> RunRecord:
    """A run of which a test tells so much, in the words of run.json."""
    return msgspec.convert(whole({**(told or {}), **more}), RunRecord, str_keys=True)


def changed(run: RunRecord, told: Mapping[str, Any] | None = None, /, **more: Any) -> RunRecord:
    """The same run, told otherwise."""
    return run_record({**msgspec.to_builtins(run, str_keys=True), **(told or {}), **more})


def subject_record(told: Mapping[str, Any] | None = None, /, **more: Any) -> SubjectRecord:
    """A subject of which a test tells so much."""
    return msgspec.convert(_whole_subject({**(told or {}), **more}), SubjectRecord)


def steps_ended(run_dir: RunDir) -> str:
    """Why the steps of a run ended early; "True" if they did not."""
    sequence = run_dir.read_run().sequence
    return str(sequence and (sequence.cause or sequence.ended))
