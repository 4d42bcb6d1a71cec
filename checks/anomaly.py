"""What an anomaly is: a function with the decorator `@anomaly`, which finds it in the evidence of a run.

The decorator and the function's docstring are all there is to register:

    @anomaly(
        "duplicate",
        source="KIP-98",
        basis=Basis.KIP,
        reads=(HISTORY,),
        screened=KEPT_ROWS,
        permitted="if the producer retries without idempotence",
        permits=retried,
    )
    def duplicate(view: PartitionView) -> Rows:
        '''One record at two or more offsets of a partition.'''

The first paragraph of the docstring is the definition. `reads` names kinds of evidence; the function is given one
argument for each, in that order. The scope of a check follows from them: one partition, the run as a whole, or what
all partitions told (`gathered`). `screened` says which rows of a partition the function needs: by default all of every
partition, which is always right, and slow. A module in `checks/anomalies/` needs no other registration than its names
in checks/names.py.

An anomaly that is found in two kinds of evidence by two functions has a second decorator, `@also_found`.

Two properties of an entry excuse a finding:

- `permits`: Kafka permits it under the settings of the clients that it is about (a retry without idempotence may
  write twice). Such a finding is reported and fails nothing.
- `follows`: it is a documented anomaly seen from another side. The offset of a lost record is given to the next one,
  so one offset was acknowledged for two values; that is no second anomaly.

Both are pure functions of the run's record (run.json), of findings (findings.json) and of what held when, which the
timeline says, in checks/excuses.py.

The modules of `checks/anomalies/` are imported by whatever needs the catalogue: they load numpy and pyarrow, and
neither pyspark nor numba (tests/unit/checks/test_catalogue.py). Who needs a name alone asks checks/names.py.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeVar

from checks.definition import definition_of
from evidence.basis import Basis, fault_of
from evidence.findings import Finding
from evidence.run import RunRecord
from evidence.run_state import RunState

Permits = Callable[[RunRecord, Finding, RunState | None], str | None]
Follows = Callable[[Finding, Sequence[Finding]], str | None]
Scope = Literal["partition", "run", "across partitions"]
Function = TypeVar("Function", bound=Callable[..., Any])

HISTORIES: Final = "client histories"
REPLICAS: Final = "replicas' files"
METADATA: Final = "cluster metadata"
COORDINATORS: Final = "answers of group coordinators"
FILES: Final = (HISTORIES, REPLICAS, METADATA)
"""The kinds of files that a finding can rest on, in the order in which findings name them."""

JEPSEN: Final = "Jepsen, Kafka workload"
ADYA: Final = "Adya, Weak Consistency (1999); Jepsen, Kafka workload"
OFFSETS_DOC: Final = "Kafka documentation, Design: consumer offset tracking"
GUARANTEES: Final = "Kafka documentation, Design: replication"
DELIVERY: Final = "Kafka documentation, Design: message delivery semantics"


# What a check reads


@dataclass(frozen=True, slots=True)
class Reads:
    """A kind of evidence, for which a check is given one argument."""

    argument: str
    """What the argument is."""
    scope: Scope
    files: tuple[str, ...] = ()
    """The files that a finding rests on if its check reads this."""
    seen_in: str = ""
    """The kind of evidence that the catalogue says an anomaly is seen in; empty if nothing is found in this alone."""


HISTORY: Final = Reads("checks.view.PartitionView", "partition", (HISTORIES,), HISTORIES)
"""What clients sent to and read from one partition, in columns."""
COPIES: Final = Reads("checks.copies.Copies", "partition", (REPLICAS, METADATA), REPLICAS)
"""The copies of one partition's replicas at all moments, and what the cluster stated of the partition."""
DELETIONS: Final = Reads("Sequence[evidence.events.RecordsDeleted]", "partition", (METADATA,))
"""The answers to requests to delete records of one partition that still hold (delete_records.confirmed)."""
MIN_INSYNC: Final = Reads("Sequence[checks.anomalies.min_insync.TooSmall]", "partition", (METADATA,))
"""When the ISR of one partition was known to be too small for acks=all (min_insync.too_small)."""
SERVICE: Final = Reads("checks.service.Service", "partition", (METADATA,))
"""When one partition owes its clients an answer: nothing has happened that may hold one up (service.Service)."""
SHARE_GROUPS: Final = Reads("checks.shares.ShareGroupState", "partition", (METADATA,))
"""What coordinators said of the share groups of one partition (shares.share_group_state)."""
GROUP_FILES: Final = Reads("checks.group_files.GroupFiles", "partition", (REPLICAS, METADATA), REPLICAS)
"""What the copies of the coordinators' topic say of one partition (read_group_files.group_files)."""
CLUSTER: Final = Reads("evidence.run_state.RunState", "run", (METADATA,), METADATA)
"""What held when in the whole run, by its timeline."""
GROUPS: Final = Reads("evidence.run_state.RunState", "run", (METADATA,), COORDINATORS)
"""What coordinators answered about groups' offsets, by the timeline."""
SETTINGS: Final = Reads("the run's record (run.json)", "run")
"""Topics, processes and their settings."""


@dataclass(frozen=True, slots=True)
class RowsNeeded:
    """Which rows of a partition a check, or what is gathered for one, needs. Others may be left out of the view: a
    large partition is screened first (analysis/screen.py), and small partitions that are trivially clean are not looked
    at one by one (analysis/trivially_clean.py).
    """

    clean: bool = False
    """It finds nothing in a partition that is trivially clean, so none of these has to be looked at."""
    enough: Callable[..., bool] = field(default=lambda *_: False)
    """Called as the function, with the rows that were kept as the history: whether it finds in these what it would find
    in all. If not, it is given all."""


EVERY_ROW: Final = RowsNeeded()
"""Given every row of every partition: always right, and slow."""
KEPT_ROWS: Final = RowsNeeded(clean=True, enough=lambda *_: True)
"""Finds in the rows that screening keeps what it would find in all, copies and answers included, for which screening
keeps rows as well (analysis/rows_needed.py). tests/unit/analysis/test_screen.py compares the two."""


def absent_if(absent: Callable[..., bool]) -> RowsNeeded:
    """Of a check that needs every row, unless the rows that were kept prove that it can find nothing at all."""
    return RowsNeeded(clean=True, enough=absent)


@dataclass(frozen=True, slots=True)
class Gathered(Reads):
    """What a function of one partition's history told of it, put together over all partitions of the run."""

    function: Callable[..., Sequence[Mapping[str, Any]]] = field(kw_only=True, repr=False)
    screened: RowsNeeded = field(kw_only=True, repr=False)
    by: tuple[str, ...] = field(kw_only=True)
    """Rows that differ in these fields have nothing to do with each other, so they may be looked at on different
    machines. () for the edges of a graph whose cycles are sought (analysis/across.py)."""

    @property
    def name(self) -> str:
        """The function's, under which what it told is kept."""
        return self.function.__name__


def gathered_by(check: Check) -> Gathered:
    """What a check over all partitions reads."""
    (kind,) = check.reads
    assert isinstance(kind, Gathered)
    return kind


def gathered(
    function: Callable[..., Sequence[Mapping[str, Any]]], screened: RowsNeeded, *, by: tuple[str, ...] = ()
) -> Gathered:
    """A kind of evidence for `reads`: the rows (as JSON has them) that a function of a PartitionView gives."""
    argument, files = "list[dict]", (HISTORIES,)
    return Gathered(argument, "across partitions", files, HISTORIES, function=function, screened=screened, by=by)


# The entries


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A function that finds an anomaly."""

    anomaly: str
    function: Callable[..., Sequence[Mapping[str, Any]]] = field(repr=False)
    reads: tuple[Reads, ...]
    screened: RowsNeeded = field(repr=False)

    @property
    def scope(self) -> Scope:
        return self.reads[0].scope

    @property
    def files(self) -> list[str]:
        """The kinds of files that its findings rest on."""
        return [one for one in FILES if any(one in kind.files for kind in self.reads)]


def _never(run: RunRecord, finding: Finding, run_state: RunState | None) -> str | None:
    return None


def _on_its_own(finding: Finding, losses: Sequence[Finding]) -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """One name, and what is to be known of it."""

    name: str
    definition: str
    source: str
    basis: Basis
    """Of what kind the source is."""
    checks: tuple[Check, ...]
    permitted: str = ""
    """When Kafka permits it, in words; empty if never."""
    permits: Permits = _never
    """(run, finding, what held when) → why Kafka permits this finding under the settings of its clients, or None."""
    follows_from: str = ""
    """The anomaly that it can be another side of; empty if none."""
    follows: Follows = _on_its_own
    """(finding, findings of what is lost in its partition) → why it is the same as those, or None."""

    @property
    def seen_in(self) -> str:
        """The kinds of evidence that it is found in, such as "client histories, replicas' files"."""
        kinds = [kind.seen_in for check in self.checks for kind in check.reads if kind.seen_in]
        return ", ".join(dict.fromkeys(kinds))

    def as_json(self) -> dict[str, str]:
        """The entry in words, for `kafka-chaos list --anomalies --json`."""
        return {
            "name": self.name,
            "seen_in": self.seen_in,
            "definition": self.definition,
            "source": self.source,
            "basis": str(self.basis),
            "permitted": self.permitted,
            "follows_from": self.follows_from,
        }


REGISTRY: Final[dict[str, Anomaly]] = {}
"""Every anomaly by its name, in the order in which modules were imported (checks.anomalies imports all of them)."""


def anomaly(
    name: str,
    *,
    source: str,
    basis: Basis,
    reads: tuple[Reads, ...],
    screened: RowsNeeded = EVERY_ROW,
    permitted: str = "",
    permits: Permits = _never,
    follows_from: str = "",
    follows: Follows = _on_its_own,
) -> Callable[[Function], Function]:
    """Register a function as the check that finds the anomaly `name`; its docstring begins with the definition.

    source: who defined it; basis: of what kind that is. Raises ValueError for a name that is taken, a docstring without
    a definition, a source that does not name what its basis says, kinds of evidence that nobody has at one place, or
    another number of them than the function has parameters.
    """

    def register(function: Function) -> Function:
        if fault := fault_of(source, basis):
            raise ValueError(f"anomaly {name!r}: {fault}")
        if name in REGISTRY:
            raise ValueError(f"there are two anomalies {name!r}")
        REGISTRY[name] = Anomaly(
            name=name,
            definition=definition_of(function),
            source=source,
            basis=basis,
            checks=(_check(name, function, reads, screened),),
            permitted=permitted,
            permits=permits,
            follows_from=follows_from,
            follows=follows,
        )
        return function

    return register


def also_found(
    name: str, *, reads: tuple[Reads, ...], screened: RowsNeeded = EVERY_ROW
) -> Callable[[Function], Function]:
    """Register a function as another check that finds the anomaly `name`, in other evidence. Raises ValueError as
    `anomaly` does, and if there is no such anomaly yet.
    """

    def register(function: Function) -> Function:
        if name not in REGISTRY:
            raise ValueError(f"there is no anomaly {name!r} that could be found elsewhere too")
        entry = REGISTRY[name]
        REGISTRY[name] = replace(entry, checks=(*entry.checks, _check(name, function, reads, screened)))
        return function

    return register


def _check(name: str, function: Callable[..., Any], reads: tuple[Reads, ...], screened: RowsNeeded) -> Check:
    if len({kind.scope for kind in reads}) != 1:
        raise ValueError(f"what {name!r} reads is not available at one place: {', '.join(r.argument for r in reads)}")
    if len(inspect.signature(function).parameters) != len(reads):
        raise ValueError(f"{function.__qualname__} has to have a parameter for each kind of evidence that it reads")
    return Check(anomaly=name, function=function, reads=reads, screened=screened)
