"""The yardstick of the audit: small repositories of our own making, in the shapes that public ones have.

A repository is one text file here: a YAML list of the producers that are in it, then its files, each below a line
`-- PATH --`. What the list says is true of the repository, by the documents and the source of the frameworks; it was
not made by the audit. Every file that the list does not name configures no producer, and must be passed over silently.

| key | what is true |
|---|---|
| at | the file, or the files of which one is to be named |
| n | a part of the producer's name, where a file has several; `!x` is "without x" |
| acks, idem, flight (1, many), retries (0, many) | what is in force; "?" if the repository does not tell it |
| client, release, brokers | a library; releases by as many numbers as are told |
| rf, isr, topics | replication.factor, min.insync.replicas, the topic's name |
| a | the grade is A |
| log | the file is an application's own log, for `--log` |

Precision: of the producers that are reported, those that there are. Recall: of those that there are, those that are
reported. Resolution: of the values that the list has for producers that were found, those that the audit says, and says
of every case of the answer; for "?" it may not claim to know. A false A is one for a producer that may lose, write
twice or refuse: acks below all, no idempotence, no retries, a single replica or replicas that nobody tells, or
min.insync.replicas=1.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from audit import matrix
from audit.grade import Grader, ProducerRow
from audit.readers import read_paths
from audit.readers.log import read_logs
from audit.topics import StatedByUser

HERE: Final = Path(__file__).parent
WRITTEN_SINCE: Final = (
    *("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    *("eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth"),
)
KINDS: Final = ("open", "kept", "blind", *WRITTEN_SINCE)
HELD_OUT: Final[tuple[str, ...]] = ()
"""Parts that no reader was mended by: their figures are printed, and decide nothing."""
GOALS: Final = (0.98, 0.95, 0.95)
FILE: Final = re.compile(r"(?m)^-- (\S+) --\n")
Unit = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository: its files, and the producers that there are."""

    name: str
    producers: Sequence[Mapping[str, Any]]
    files: Mapping[str, str]


@dataclass(slots=True)
class Score:
    """Counts over repositories; `wrong` has a line for each miss."""

    repositories: int = 0
    files: int = 0
    reported: int = 0
    true: int = 0
    found: int = 0
    values: int = 0
    right: int = 0
    false_a: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def shares(self) -> tuple[float, float, float]:
        """Precision, recall, resolution."""
        pairs = ((self.found, self.reported), (self.found, self.true), (self.right, self.values))
        one, two, three = (part / whole if whole else 1.0 for part, whole in pairs)
        return one, two, three

    def reaches(self, goals: Sequence[float]) -> bool:
        """Whether every goal is met, and there is no false A."""
        return all(share >= goal for share, goal in zip(self.shares, goals, strict=True)) and not self.false_a

    def line(self, kind: str) -> str:
        """For people."""
        precision, recall, resolution = self.shares
        return (
            f"{kind}: {self.repositories} repositories, {self.files} files; "
            f"precision {precision:.3f} ({self.found} of {self.reported}), recall {recall:.3f} ({self.found} of "
            f"{self.true}), resolution {resolution:.3f} ({self.right} of {self.values}), false A: {self.false_a}"
        )


def repositories(kind: str) -> Iterator[Repository]:
    """The repositories of a part."""
    for path in sorted((HERE / kind).glob("*.txt")):
        head, *rest = FILE.split(path.read_text())
        yield Repository(path.stem, yaml.safe_load(head) or [], dict(zip(rest[::2], rest[1::2], strict=True)))


def score(kind: str) -> Score:
    """The score of a part."""
    grader = Grader(matrix.measured())
    made = Score()
    for one in repositories(kind):
        with tempfile.TemporaryDirectory() as folder:
            _score_one(one, Path(folder), grader, made)
    return made


def unpack(one: Repository, folder: Path) -> None:
    """Write a repository's files."""
    for name, content in one.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def _score_one(one: Repository, folder: Path, grader: Grader, made: Score) -> None:
    unpack(one, folder)
    logs = dict.fromkeys(folder / truth["at"] for truth in one.producers if truth.get("log"))
    answer = grader.answer(read_paths([folder]) + read_logs(list(logs)), StatedByUser())
    units: dict[Unit, list[ProducerRow]] = {}
    for row in answer.rows:
        path = os.path.relpath(row.producer.origin.path, folder)
        units.setdefault((path, row.producer.name, row.number), []).append(row)
    made.repositories += 1
    made.files += len(one.files)
    made.reported += len(units)
    made.true += len(one.producers)
    left = dict(units)
    for truth in one.producers:
        unit = next((unit for unit in left if _is(truth, unit)), None)
        if unit is None:
            made.wrong.append(f"{one.name}: missed {truth['at']} {truth.get('n', '')}")
            continue
        made.found += 1
        rows = left.pop(unit)
        for key, right, said in _compared(truth, rows):
            made.values += 1
            made.right += right
            if not right:
                made.wrong.append(f"{one.name}: {unit[0]} {unit[1]}: {key} is {truth[key]}, told {said}")
        if any(row.grade == "A" for row in rows) and not _may_be_a(truth):
            made.false_a += 1
            made.wrong.append(f"{one.name}: {unit[0]} {unit[1]}: a false A")
    made.wrong += [f"{one.name}: no producer: {unit[0]} {unit[1]}" for unit in left]


def _is(truth: Mapping[str, Any], unit: Unit) -> bool:
    at = truth["at"] if isinstance(truth["at"], list) else [truth["at"]]
    part = str(truth.get("n", ""))
    named = part[1:] not in unit[1] if part.startswith("!") else part in unit[1]
    return unit[0] in at and named


def _may_be_a(truth: Mapping[str, Any]) -> bool:
    harm = {"acks": ("0", "1", "?"), "idem": (False, "?"), "retries": ("0",), "rf": (1, "?"), "isr": (1,)}
    return not any(key in truth and truth[key] in values for key, values in harm.items())


def _compared(truth: Mapping[str, Any], rows: Sequence[ProducerRow]) -> Iterator[tuple[str, bool, str]]:
    """(key, whether it is told as it is, what is told) for each value of the truth."""
    cases = [case for row in rows for case in row.cases]
    resolved = [case.resolved for case in cases]
    told: dict[str, list[Any]] = {
        "acks": [one.acks.value for one in resolved],
        "idem": [one.idempotence.value for one in resolved],
        "flight": ["1" if one.in_flight.value == 1 else "many" for one in resolved],
        "retries": ["0" if one.retries.value == 0 else "many" for one in resolved],
        "client": [one.client for one in resolved],
        "release": [row.producer.release or "?" for row in rows],
        "rf": [_known(case.topic.replication_factor) for case in cases],
        "isr": [_known(case.topic.min_insync_replicas) for case in cases],
        "brokers": [_known(case.topic.version) for case in cases],
        "topics": [",".join(row.topics) for row in rows],
        "a": [row.grade == "A" for row in rows],
    }
    for key, true in truth.items():
        if key not in told:
            continue
        values = list(dict.fromkeys(told[key]))
        said = ", ".join(map(str, values))
        if true == "?":
            yield key, len(values) > 1 or values == ["?"], said
        else:
            yield key, len(values) == 1 and _same(key, true, values[0]), said


def _known(value: Any) -> Any:
    """A value, or "?" if it is assumed, or Kafka's default that nobody wrote and nobody tells the brokers of."""
    return "?" if value.why.startswith("assumed") else value.value


def _same(key: str, true: Any, said: Any) -> bool:
    if key in ("release", "brokers"):
        wanted, told = str(true).split("."), str(said).split(".")
        return told[: len(wanted)] == wanted
    return str(true) == str(said)


def shown(lines: Iterable[str]) -> str:
    """What is wrong, for the message of a test."""
    return "\n".join(lines)
