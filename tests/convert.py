"""Run directories of schema 1 become ones of schema 2: for the runs that are kept for tests. Again does no harm."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from evidence.events import LogDetail, LogKind


def run_dir(place: Path) -> None:
    """A whole run directory, in place: its timeline, and its manifest, which lists the files that were kept."""
    path, manifest = place / "timeline.jsonl", place / "manifest.json"
    path.write_text("\n".join(timeline(path.read_text().split("\n"))))
    if manifest.exists():
        listed = json.loads(manifest.read_text())
        kept = {name: (place / name).read_bytes() for name in listed["files"] if (place / name).exists()}
        listed["files"] = {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in kept.items()
        }
        manifest.write_text(json.dumps(listed, indent=1) + "\n")


def timeline(lines: Iterable[str]) -> list[str]:
    """The lines of a timeline, as many as before. One that is empty, or no JSON, stays as it is."""
    return [_line(line) for line in lines]


def _line(line: str) -> str:
    try:
        event = json.loads(line)
    except ValueError:
        return line
    if not isinstance(event, dict) or event.get("kind") not in CHANGED:
        return line
    return json.dumps(CHANGED[event["kind"]](event), separators=(",", ":"), ensure_ascii=False)


def _fault(event: dict[str, Any]) -> dict[str, Any]:
    """The kind has a name of its own, and a proof says of what kind it is."""
    if "fault_kind" in event:
        return event
    made = {("fault_kind" if name == "fault" else name): value for name, value in event.items()}
    proof, kind = event.get("proof") or {}, event["fault"]
    verified = event["phase"] == "verified"
    return made | {"proof": {"kind": kind, **proof} if verified else None, "seen": str(proof.get("seen", ""))}


DETAILS: Final[tuple[tuple[LogKind, str, LogDetail], ...]] = (
    ("high-watermark", "Log loaded", "loaded"),
    ("high-watermark", " below high watermark ", "below"),
    ("high-watermark", "runcat", "falls-back"),  # Truncating, truncation
    ("epoch-request", "unknown", "unknown-epoch"),
    ("epoch-request", "No truncation", "nothing-to-cut"),
    ("become-follower", "Added fetcher", "fetches"),
)
"""What tells the details of lines apart in runs whose events do not say."""


def _log(event: dict[str, Any]) -> dict[str, Any]:
    """A telling line has its detail in a field."""
    return event if "detail" in event else event | {"detail": detail_of(event["event"], event["line"])}


def detail_of(event: str, line: str) -> LogDetail | None:
    """What a line says beyond its kind."""
    return next((detail for kind, words, detail in DETAILS if kind == event and words in line), None)


CHANGED = {"fault": _fault, "log": _log}
"""By kind of event, what makes it one of schema 2."""
