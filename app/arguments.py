"""What several commands make of their options, and of a verdict for --json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from checks import catalogue as anomalies
from evidence.errors import UsageError
from evidence.rundir import RunDir
from harness.cluster.versions import Version
from harness.setup import central, jars
from harness.setup.waiting import Echo
from judgement.verdict import Verdict


def settings_of(pairs: Sequence[str]) -> dict[str, str]:
    """The settings that --setting gives, by name. Raises UsageError."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--setting {pair!r}: write it as name=value, such as --setting min.insync.replicas=2")
        settings[key.strip()] = value.strip()
    return settings


def names_of(text: Sequence[str]) -> list[str]:
    """Names that are divided by blanks or commas."""
    return [name for part in text for name in part.replace(",", " ").split()]


def versions_of(names: Sequence[str], echo: Echo, *, locked: bool = False) -> list[Version] | None:
    """The versions that --versions names; None for all. `echo` is told if Maven Central is asked for one.

    Raises UsageError for what is none, and, if only `locked` ones are wanted, for a release without a committed lock.
    """
    ids = names_of(names)
    if ids == ["all"]:
        return None
    found = [central.find(name, echo) for name in ids]
    if locked:
        jars.refuse_unlocked(version.kafka for version in found)
    return found


def expected(text: str | None) -> tuple[str, ...] | None:
    """The anomalies that --expect names; "none" is none of them."""
    if text is None:
        return None
    names = () if text.strip() == "none" else tuple(dict.fromkeys(names_of([text])))
    anomalies.validate(names)
    return names


def judged_json(run_dir: RunDir, verdict: Verdict) -> dict[str, Any]:
    """A run and its verdict, for --json."""
    return {"run_dir": str(run_dir.path)} | verdict.as_json()
