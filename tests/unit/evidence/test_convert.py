"""What makes timelines of schema 2 of those of schema 1, as tests keep them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evidence.events import Fault, Log
from evidence.timeline import read
from tests import convert
from tests.proofs import proof

TIMES = {"monotonic_ns": 1, "wall_ns": 1}
FAULT = {**TIMES, "kind": "fault", "source": "runner", "fault": "kill", "id": "f1", "description": "kill -9"}
STRUCK = {**FAULT, "target": {"node": "broker-1", "role": ""}}
PROOF = {"exit_code": 137, "event": "die", "time_nano": 12, "signal_nano": 11}
LINE = "Truncating partition t-0 to local high watermark 3"
LOG = {**TIMES, "kind": "log", "source": "broker-log", "node": "broker-1", "line": LINE}


def converted(event: dict[str, Any], place: Path) -> Any:
    """The event that comes of one, converted twice."""
    once = convert.timeline([json.dumps(event), ""])
    assert convert.timeline(once) == once
    (place / "timeline.jsonl").write_text("\n".join(once))
    reading = read(place / "timeline.jsonl")
    assert reading.damaged == ()
    (made,) = reading.events
    return made


@pytest.mark.parametrize(
    ("phase", "before", "after", "seen"),
    [
        ("inject", {}, None, ""),
        ("verified", PROOF, proof("kill"), ""),
        ("unproved", {"seen": "it runs"}, None, "it runs"),
    ],
)
def test_a_fault_has_a_kind_and_a_proof_of_it(
    phase: str, before: dict[str, Any], after: Any, seen: str, tmp_path: Path
) -> None:
    made = converted({**STRUCK, "phase": phase, "proof": before}, tmp_path)
    assert isinstance(made, Fault)
    assert (made.fault_kind, made.proof, made.seen) == ("kill", after, seen)


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"event": "high-watermark", "detail": "loaded"}, "loaded"),
        ({"event": "high-watermark", "detail": None}, None),
        ({"event": "high-watermark"}, "falls-back"),
        ({"event": "truncate"}, None),
    ],
)
def test_a_line_has_its_detail(fields: dict[str, Any], detail: str | None, tmp_path: Path) -> None:
    made = converted({**LOG, **fields}, tmp_path)
    assert isinstance(made, Log)
    assert made.detail == detail


def test_what_is_no_event_stays_as_it_is() -> None:
    lines = ["", "torn {", '{"kind":"note","text":"t"}']
    assert convert.timeline(lines) == lines
