"""The scale that grades are given on: which harm counts how much, as files that people can copy and change.

| key | values |
|---|---|
| reordered | "B", or "as-lost": the letter that a loss by the same fault has |
| refused | sends that failed for good count as losses: "never", "without-retries" (with retries=0), "always" |
| single-replica | the letter for a topic that is known to have one replica; empty: none |
| acknowledged-by-one | the letter for acks=all where min.insync.replicas is known to be 1; empty: none |

The last two are by Kafka's documents, not by cells: no fault of the matrix takes a replica for good.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Final

from evidence.errors import UsageError

NAMES: Final = ("durable", "ordered", "available")
LETTERS: Final = ("", "A", "B", "C", "D", "E", "F")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How harm is graded; see the module."""

    name: str = "durable"
    reordered: str = "B"
    refused: str = "without-retries"
    single_replica: str = "F"
    acknowledged_by_one: str = "C"


ALLOWED: Final = {
    "reordered": ("B", "as-lost"),
    "refused": ("never", "without-retries", "always"),
    "single_replica": LETTERS,
    "acknowledged_by_one": LETTERS,
}


def load(told: str) -> Policy:
    """A policy by its name, or of a file. Raises UsageError, in one line.

    >>> load("durable").single_replica
    'F'
    """
    try:
        if told in NAMES:
            text = resources.files(__name__).joinpath(f"{told}.json").read_text(encoding="utf-8")
        else:
            text = Path(told).read_text(encoding="utf-8")
        values = {name.replace("-", "_"): value for name, value in json.loads(text).items() if name != "about"}
    except FileNotFoundError:
        raise UsageError(
            f"--policy {told}: there is no such file, and no policy of this name: {', '.join(NAMES)}"
        ) from None
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(f"--policy {told}: not a policy ({error}): see docs/audit.md") from None
    known = {field.name for field in fields(Policy)} - {"name"}
    for name, value in values.items():
        if name not in known or value not in ALLOWED[name]:
            raise UsageError(
                f"--policy {told}: {name.replace('_', '-')}={value!r}: {', '.join(ALLOWED.get(name, known))}"
            )
    return Policy(name=told, **values)
