"""The scale that grades are given on: which harm counts how much, as files that people can copy and change.

| key | values |
|---|---|
| reordered | "B", or "as-lost": the letter that a loss by the same fault has |
| refused | sends that failed for good count as losses: "never", "without-retries" (with retries=0), "always" |
| single-replica | the letter for a loss by disk-lost, which a topic with one replica has; empty: none |
| acknowledged-by-one | the letter for a loss by last-disk-lost, which min.insync.replicas=1 allows; empty: none |

Where no cell covers the settings the last two go by Kafka's documents, if replication.factor or min.insync.replicas is
known to be 1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Final

from audit.cells import DISK_LOST, LAST_DISK_LOST
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

    @property
    def lost_disks(self) -> Mapping[str, str]:
        """The letter for a loss by each fault that takes replicas for good, where the policy names one."""
        return {DISK_LOST: self.single_replica, LAST_DISK_LOST: self.acknowledged_by_one}


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
