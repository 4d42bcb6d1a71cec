"""What is known and accepted: findings have fingerprints that stay the same when lines move.

A fingerprint is made of what is harmed (lost, duplicated, reordered), by which fault, and whose it is: the file as it
was named, the producer's name in it, and the topic. It is not made of lines, settings, counts or runs. So a finding
that was accepted stays accepted when the file grows or the matrix is measured again, and a fault that did no harm
before is new.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

from audit.grade import AuditAnswer, Breach, Effect, MeasuredHarm, ProducerRow
from evidence.errors import UsageError

SCHEMA: Final = 1
ORDER: Final = ("path", "producer", "topic", "effect", "fault", "fingerprint")


def fingerprint(row: ProducerRow, effect: Effect, fault: str, topic: str) -> str:
    """Sixteen hexadecimal digits for a kind of harm to a producer's records on a topic, by one fault."""
    told = [effect, fault, place(row.producer.origin.path), row.producer.name, row.number, topic]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


def fingerprints(row: ProducerRow, effect: Effect, fault: str = "") -> tuple[str, ...]:
    """One for each topic of the row, or one if it has none."""
    return tuple(fingerprint(row, effect, fault, topic) for topic in row.topics or ("",))


def is_accepted(row: ProducerRow, finding: MeasuredHarm | Breach, accepted: Collection[str]) -> bool:
    """Whether a finding is accepted for all topics of its row."""
    return all(name in accepted for name in fingerprints(row, finding.effect, finding.fault))


def place(path: str) -> str:
    """A path as it is the same from one call to the next: "./conf/a" is "conf/a".

    >>> place("./conf//a.properties")
    'conf/a.properties'
    """
    return os.path.normpath(path).replace(os.sep, "/")


def findings(answer: AuditAnswer) -> Iterator[tuple[ProducerRow, MeasuredHarm | Breach]]:
    """Every finding with its row, once, also if several cases of the row have it."""
    for row in answer.rows:
        seen = set()
        for case in row.cases:
            for finding in case.harm:
                if (finding.effect, finding.fault) not in seen:
                    seen.add((finding.effect, finding.fault))
                    yield row, finding


def new(
    answer: AuditAnswer, kinds: Collection[str], accepted: Collection[str], *, strict: bool = False
) -> list[tuple[ProducerRow, MeasuredHarm | Breach]]:
    """The findings of these kinds that are not accepted, and that are certain; with `strict` those too that depend on
    what is not told.
    """
    return [
        (row, finding)
        for row, finding in findings(answer)
        if finding.kind in kinds and (strict or row.certainly(finding.kind)) and not is_accepted(row, finding, accepted)
    ]


def every(answer: AuditAnswer) -> frozenset[str]:
    """The fingerprints of everything that was found."""
    return frozenset(
        name for row, finding in findings(answer) for name in fingerprints(row, finding.effect, finding.fault)
    )


def text(answer: AuditAnswer) -> str:
    """A baseline that accepts everything that was found: sorted, so that it can be compared and merged."""
    accepted: dict[str, dict[str, Any]] = {}
    for row, finding in findings(answer):
        for topic in row.topics or ("",):
            name = fingerprint(row, finding.effect, finding.fault, topic)
            accepted[name] = {
                "fingerprint": name,
                "effect": finding.effect,
                "fault": finding.fault,
                "producer": row.producer.name,
                "path": place(row.producer.origin.path),
                "topic": topic,
            }
    ordered = sorted(accepted.values(), key=lambda one: [str(one[name]) for name in ORDER])
    return json.dumps({"schema": SCHEMA, "accepted": ordered}, indent=1) + "\n"


def load(path: Path) -> frozenset[str]:
    """The fingerprints that a baseline accepts. Raises UsageError, in one line, for a file that is no baseline."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        if told["schema"] != SCHEMA:
            raise ValueError(f"its schema is {told['schema']!r}, not {SCHEMA}")
        return frozenset(str(one["fingerprint"]) for one in told["accepted"])
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such baseline; --write-baseline {path} makes one") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{path}: not a baseline ({why}); --write-baseline {path} makes one anew") from None
