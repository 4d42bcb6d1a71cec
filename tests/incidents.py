"""Runs whose cause is known, as somebody would have saved them, and how often `kafka-chaos incident` names it first.

tests/data/incidents has what a run left (brokers' logs, partitions as they were in the end, configuration) without
what names its scenario: `pack` copies it and strips the run's name, the scenario's name and the stamps of the container
engine. Topics keep their names, which no rule reads.

Losses that nobody had looked at are `DECLARED`: the cell of a run that the ledger had no run of, drawn at random for
each case that documents a loss, and the causes that are right, both written down and committed before the first of
these runs began. `--unseen RUNS_DIR` reads such runs and adds what was named to results/incidents.csv, a row for each
run, which is never changed. Their run directories are too many to keep.

The rules were written with the incidents of `WRITTEN_WITH`. Those of `HELD_OUT` were run afterwards, each with its
cause written down before the run. How many of these were named first by the rules as they then were is `first`; the
rules were mended after that, so the count of today says less than it. `make incidents` prints both.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import re
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

from app.cli import main as kafka_chaos
from evidence.rundir import RunDir, find_runs, write_atomically
from judgement.verdict import read_verdict

INCIDENTS: Final = Path(__file__).parent / "data" / "incidents"
UNSEEN: Final = Path(__file__).parents[1] / "results" / "incidents.csv"
NAMED: Final = re.compile(r"^   ([\w-]+): ", re.MULTILINE)
STAMP: Final = re.compile(rb"^\d{4}-\d\d-\d\dT[\d:.]+Z (?=\[|\t|\s|at |java|org)", re.MULTILINE)
"""What the engine writes before each line of a container's log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedIncident:
    """An incident, and what caused it."""

    name: str
    """Of its archive."""
    cause: str
    """What must be named first (app/incident_causes.py)."""
    run: str = ""
    """"scenario/case version": what was run."""
    first: str = ""
    """What the rules named first before they were mended; "" of `WRITTEN_WITH`, "nothing" if they named nothing."""


def pack(run: Path, name: str, to: Path = INCIDENTS) -> Path:
    """The archive of a run directory, without what names its scenario. Returns it."""
    request = json.loads((run / "run.json").read_text(encoding="utf-8"))
    names = sorted({run.name, str(request["scenario"])}, key=len, reverse=True)
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / name
        moments = sorted((run / "replicas").glob("*"))
        if moments:
            shutil.copytree(moments[-1], saved / "data")
        for kind in ("logs", "config"):
            (saved / kind).mkdir(parents=True)
            for file in sorted((run / kind).glob("*.log" if kind == "logs" else "*.properties")):
                if not file.name.startswith("zookeeper"):
                    (saved / kind / file.name).write_bytes(anonymous(file.read_bytes(), names))
        archive = to / f"{name}.tar.xz"
        with tarfile.open(archive, "w:xz") as packed:
            packed.add(saved, name)
    return archive


def anonymous(text: bytes, names: Iterable[str]) -> bytes:
    """A log without the engine's stamps and without these names.

    >>> anonymous(b"2026-11-24T10:00:00.1Z [x] INFO of a-run-1 here", ["a-run-1"])
    b'[x] INFO of cluster here'
    """
    for name in names:
        text = re.sub(re.escape(name.encode()), b"cluster", text, flags=re.IGNORECASE)
    return STAMP.sub(b"", text)


def read(name: str, where: Path = INCIDENTS) -> list[str]:
    """The causes that are named of an incident, in their order."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(where / f"{name}.tar.xz") as packed:
            packed.extractall(folder, filter="data")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            kafka_chaos(["incident", str(Path(folder) / name)])
    return NAMED.findall(said.getvalue().partition("2  Replicas")[0])


WRITTEN_WITH: Final = (
    SavedIncident(name="power", cause="power-loss"),
    SavedIncident(name="unclean", cause="unclean-election"),
    SavedIncident(name="clock", cause="clock-ahead"),
    SavedIncident(name="second-machine", cause="duplicate-broker-id"),
    SavedIncident(name="acks-1", cause="truncation"),
    SavedIncident(name="bit", cause="damaged-record"),
    SavedIncident(name="full", cause="disk"),
    SavedIncident(name="blank", cause="empty-disk"),
    SavedIncident(name="compacted", cause="marker-compacted"),
    SavedIncident(name="divergence", cause="replicas-differ"),
    SavedIncident(name="checkpoint", cause="malformed-checkpoint"),
    SavedIncident(name="overrides", cause="forgotten-overrides"),
    SavedIncident(name="nothing-lost", cause="crash"),
)
HELD_OUT: Final = (
    SavedIncident(name="rack", cause="power-loss", run="rack-loss/within 2.8.2", first="power-loss"),
    SavedIncident(
        name="late-record", cause="open-transaction", run="museum-late-produce 2.8.2", first="open-transaction"
    ),
    SavedIncident(
        name="false-clean",
        cause="false-clean-shutdown",
        run="museum-false-clean-marker 3.5.1-kraft",
        first="power-loss",
    ),
    SavedIncident(
        name="large-batch", cause="too-large-to-copy", run="museum-segment-below-batch 4.3.1", first="unclean-election"
    ),
    SavedIncident(name="group", cause="group-not-loaded", run="museum-unloadable-group 1.1.1", first="crash"),
    SavedIncident(
        name="marker-lost", cause="unclean-election", run="museum-marker-lost 4.3.1", first="unclean-election"
    ),
    SavedIncident(name="expired", cause="expired-offsets", run="museum-expired-offsets 1.1.1", first="nothing"),
    SavedIncident(
        name="returned",
        cause="started-without-controllers",
        run="museum-deleted-records-return 4.3.1",
        first="started-without-controllers",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A loss that was not looked at before its cause was written down."""

    cell: str
    """"scenario/case version"."""
    causes: tuple[str, ...]
    """Any of these is right: a leader that was cut off removes its records when it is back (`truncation`), because it
    had lost its session (`session`)."""


POWER: Final = ("power-loss",)
CUT_OFF: Final = ("truncation", "session")
OF_HIGH_WATERMARK: Final = ("truncation-to-high-watermark",)
DECLARED: Final = (
    Declared(cell="bit-rot/index 0.8.2.2", causes=("damaged-record",)),
    Declared(cell="blank-disk-replacement/still-in-isr 3.9.2-kraft", causes=("empty-disk",)),
    Declared(cell="clock-step/follower-ahead 3.9.2-kraft", causes=("clock-ahead",)),
    Declared(cell="clock-step/leader-ahead 4.4.0", causes=("clock-ahead",)),
    Declared(cell="coordinator-power-loss/transaction 3.9.2-zk", causes=POWER),
    Declared(cell="double-failover/default 0.9.0.1", causes=OF_HIGH_WATERMARK),
    Declared(cell="duplicate-id-counts-as-replica/default 3.9.2-kraft", causes=("duplicate-broker-id",)),
    Declared(cell="follower-reboot/default 0.9.0.1", causes=OF_HIGH_WATERMARK),
    Declared(cell="isolated-broker/acks-1 3.9.2-zk", causes=CUT_OFF),
    Declared(cell="last-replica-standing/min-1-frozen 2.8.2", causes=POWER),
    Declared(cell="last-replica-standing/min-1-killed 2.2.2", causes=POWER),
    Declared(cell="last-replica-standing/min-1-stopped 0.9.0.1", causes=POWER),
    Declared(cell="last-replica-standing/min-2-frozen 2.2.2", causes=POWER),
    Declared(cell="last-replica-standing/min-2-frozen-elr-off 4.3.1", causes=POWER),
    Declared(cell="last-replica-standing/min-2-killed 0.8.2.2", causes=POWER),
    Declared(cell="last-replica-standing/min-2-killed-elr-off 4.3.1", causes=POWER),
    Declared(cell="last-replica-standing/min-2-killed-elr-on 4.0.2", causes=POWER),
    Declared(cell="last-replica-standing/min-2-stopped 0.8.2.2", causes=POWER),
    Declared(cell="last-replica-standing/min-2-stopped-elr-off 4.3.1", causes=POWER),
    Declared(cell="leader-crash/acks-1 0.11.0.3", causes=("truncation",)),
    Declared(cell="leader-isolated/acks-1 1.1.1", causes=CUT_OFF),
    Declared(cell="leader-with-minority/acks-1 1.1.1", causes=CUT_OFF),
    Declared(cell="museum-aborted-survives/default 1.1.1", causes=("aborted-came-back",)),
    Declared(cell="museum-false-clean-marker/default 4.3.1", causes=("false-clean-shutdown",)),
    Declared(cell="museum-forgotten-overrides/default 2.2.2-pinned", causes=("forgotten-overrides",)),
    Declared(cell="museum-kip-279/default 3.9.2-zk", causes=("unclean-election",)),
    Declared(cell="museum-marker-compacted/default 0.11.0.3", causes=("marker-compacted",)),
    Declared(cell="page-cache-only/default 2.8.2-pinned", causes=POWER),
    Declared(cell="page-cache-only/flush-interval 0.8.2.2", causes=POWER),
    Declared(cell="page-cache-only/xfs 2.2.2-pinned", causes=POWER),
    Declared(cell="power-outage-divergence/compressed 3.9.2-pinned", causes=("power-loss", "replicas-differ")),
    Declared(cell="power-outage-divergence/single 0.11.0.3", causes=POWER),
    Declared(cell="rack-loss/within 3.9.2-pinned", causes=POWER),
    Declared(cell="shrink-to-leader/unclean 0.11.0.3", causes=("unclean-election",)),
    Declared(cell="split-in-halves/acks-1 3.9.2-pinned", causes=CUT_OFF),
    Declared(cell="unclean-election/default 0.9.0.1", causes=("unclean-election",)),
    Declared(cell="unclean-election/enabled 0.10.2.2", causes=("unclean-election",)),
)
DECLARED_AGAIN: Final = (
    Declared(cell="bit-rot/index 2.8.2-pinned", causes=("damaged-record",)),
    Declared(cell="blank-disk-replacement/still-in-isr 0.9.0.1", causes=("empty-disk",)),
    Declared(cell="clock-step/leader-ahead 0.11.0.3", causes=("clock-ahead",)),
    Declared(cell="clock-step/follower-ahead 4.3.1", causes=("clock-ahead",)),
    Declared(cell="coordinator-power-loss/transaction 2.8.2", causes=POWER),
    Declared(cell="double-failover/default 2.2.2-pinned", causes=OF_HIGH_WATERMARK),
    Declared(cell="duplicate-id-counts-as-replica/default 4.1.2", causes=("duplicate-broker-id",)),
    Declared(cell="follower-reboot/default 0.8.2.2", causes=OF_HIGH_WATERMARK),
    Declared(cell="isolated-broker/acks-1 1.1.1", causes=CUT_OFF),
    Declared(cell="last-replica-standing/min-2-stopped 2.8.2-pinned", causes=POWER),
    Declared(cell="last-replica-standing/min-1-stopped 4.3.1", causes=POWER),
    Declared(cell="leader-crash/acks-1 4.1.2", causes=("truncation",)),
    Declared(cell="leader-isolated/acks-1 2.2.2", causes=CUT_OFF),
    Declared(cell="leader-with-minority/acks-1 4.4.0", causes=CUT_OFF),
    Declared(cell="museum-aborted-survives/default 0.11.0.3", causes=("aborted-came-back",)),
    Declared(cell="museum-false-clean-marker/default 4.0.2", causes=("false-clean-shutdown",)),
    Declared(cell="museum-forgotten-overrides/default 1.1.1", causes=("forgotten-overrides",)),
    Declared(cell="museum-kip-279/default 2.8.2", causes=("unclean-election",)),
    Declared(cell="museum-marker-compacted/default 2.2.2", causes=("marker-compacted",)),
    Declared(cell="page-cache-only/default 0.10.2.2", causes=POWER),
    Declared(cell="page-cache-only/flush-interval 0.10.2.2", causes=POWER),
    Declared(cell="power-outage-divergence/compressed 3.9.2-zk", causes=POWER),
    Declared(cell="power-outage-divergence/single 1.1.1", causes=POWER),
    Declared(cell="rack-loss/within 1.1.1", causes=POWER),
    Declared(cell="shrink-to-leader/unclean 2.2.2-pinned", causes=("unclean-election",)),
    Declared(cell="split-in-halves/acks-1 1.1.1", causes=CUT_OFF),
    Declared(cell="unclean-election/enabled 0.11.0.3", causes=("unclean-election",)),
    Declared(cell="unclean-election/default 0.8.2.2", causes=("unclean-election",)),
)
"""Drawn after the first ones were named and before their rules were mended: two cases of a scenario at most, of cells
that are not among the first.

Of museum-false-clean-marker a wrong cause was declared, twice: 4.0.2 and 4.3.1 have the fix, and the scenario documents
that on them only the torn record is lost, which is power-loss. Declared causes are not changed, so these two count as
missed.
"""
DECLARED_THIRD: Final = (
    Declared(cell="bit-rot/index 3.9.2-kraft", causes=("damaged-index", "damaged-record")),
    Declared(cell="bit-rot/index 4.1.2", causes=("damaged-index", "damaged-record")),
    Declared(cell="blank-disk-replacement/still-in-isr 2.8.2-pinned", causes=("empty-disk",)),
    Declared(cell="blank-disk-replacement/still-in-isr 3.9.2-pinned", causes=("empty-disk",)),
    Declared(cell="clock-step/follower-ahead 4.4.0", causes=("clock-ahead",)),
    Declared(cell="clock-step/leader-ahead 2.2.2", causes=("clock-ahead",)),
    Declared(cell="coordinator-power-loss/transaction 1.1.1", causes=POWER),
    Declared(cell="coordinator-power-loss/transaction 4.1.2", causes=POWER),
    Declared(cell="isolated-broker/acks-1 2.2.2-pinned", causes=CUT_OFF),
    Declared(cell="isolated-broker/acks-1 4.1.2", causes=CUT_OFF),
    Declared(cell="last-replica-standing/min-1-killed 2.2.2-pinned", causes=POWER),
    Declared(cell="last-replica-standing/min-2-killed 2.2.2", causes=POWER),
    Declared(cell="leader-crash/acks-1 3.9.2-zk", causes=("truncation",)),
    Declared(cell="leader-isolated/acks-1 2.8.2-pinned", causes=CUT_OFF),
    Declared(cell="leader-isolated/acks-1 4.4.0", causes=CUT_OFF),
    Declared(cell="leader-with-minority/acks-1 3.9.2-pinned", causes=CUT_OFF),
    Declared(cell="leader-with-minority/acks-1 4.0.2", causes=CUT_OFF),
    Declared(cell="page-cache-only/xfs 0.11.0.3", causes=POWER),
    Declared(cell="page-cache-only/xfs 0.9.0.1", causes=POWER),
    Declared(cell="power-outage-divergence/compressed 2.2.2-pinned", causes=POWER),
    Declared(cell="rack-loss/within 0.8.2.2", causes=POWER),
    Declared(cell="rack-loss/within 2.2.2", causes=POWER),
    Declared(cell="shrink-to-leader/unclean 3.9.2-kraft", causes=("unclean-election",)),
    Declared(cell="shrink-to-leader/unclean 4.0.2", causes=("unclean-election",)),
    Declared(cell="split-in-halves/acks-1 2.2.2", causes=CUT_OFF),
    Declared(cell="split-in-halves/acks-1 2.8.2-pinned", causes=CUT_OFF),
    Declared(cell="unclean-election/enabled 0.8.2.2", causes=("unclean-election",)),
    Declared(cell="unclean-election/enabled 3.9.2-pinned", causes=("unclean-election",)),
)
"""Drawn before the rules were mended by the second ones: two cells of a scenario at most, of those without a run. What
a damaged index hides is lost without any damaged record, so the cause may be told as one of its own. Two of the 30 that
were drawn were run by who mended the rules, and are left out: leader-crash/acks-1 0.8.2.2 and
power-outage-divergence/single 2.8.2-pinned.
"""
DECLARED_FOURTH: Final = (
    Declared(cell="bit-rot/index 2.2.2", causes=("damaged-index", "damaged-record")),
    Declared(cell="bit-rot/index 2.2.2-pinned", causes=("damaged-index", "damaged-record")),
    Declared(cell="blank-disk-replacement/still-in-isr 0.11.0.3", causes=("empty-disk",)),
    Declared(cell="blank-disk-replacement/still-in-isr 2.2.2", causes=("empty-disk",)),
    Declared(cell="clock-step/follower-ahead 4.0.2", causes=("clock-ahead",)),
    Declared(cell="clock-step/leader-ahead 4.1.2", causes=("clock-ahead",)),
    Declared(cell="coordinator-power-loss/transaction 2.2.2", causes=POWER),
    Declared(cell="coordinator-power-loss/transaction 3.9.2-kraft", causes=POWER),
    Declared(cell="isolated-broker/acks-1 0.11.0.3", causes=CUT_OFF),
    Declared(cell="isolated-broker/acks-1 3.9.2-kraft", causes=CUT_OFF),
    Declared(cell="last-replica-standing/min-2-killed 2.8.2-pinned", causes=POWER),
    Declared(cell="last-replica-standing/min-2-killed 4.0.2", causes=POWER),
    Declared(cell="leader-crash/acks-1 2.8.2-pinned", causes=("truncation",)),
    Declared(cell="leader-crash/acks-1 4.4.0", causes=("truncation",)),
    Declared(cell="leader-isolated/acks-1 3.9.2-kraft", causes=CUT_OFF),
    Declared(cell="leader-isolated/acks-1 4.0.2", causes=CUT_OFF),
    Declared(cell="leader-with-minority/acks-1 2.2.2", causes=CUT_OFF),
    Declared(cell="leader-with-minority/acks-1 2.2.2-pinned", causes=CUT_OFF),
    Declared(cell="page-cache-only/default 3.9.2-kraft", causes=POWER),
    Declared(cell="page-cache-only/flush-interval 1.1.1", causes=POWER),
    Declared(cell="power-outage-divergence/compressed 0.9.0.1", causes=POWER),
    Declared(cell="power-outage-divergence/single 2.2.2", causes=POWER),
    Declared(cell="rack-loss/within 2.8.2-pinned", causes=POWER),
    Declared(cell="rack-loss/within 4.4.0", causes=POWER),
    Declared(cell="shrink-to-leader/unclean 2.2.2", causes=("unclean-election",)),
    Declared(cell="shrink-to-leader/unclean 4.1.2", causes=("unclean-election",)),
    Declared(cell="split-in-halves/acks-1 2.2.2-pinned", causes=CUT_OFF),
    Declared(cell="split-in-halves/acks-1 4.1.2", causes=CUT_OFF),
    Declared(cell="unclean-election/enabled 2.8.2-pinned", causes=("unclean-election",)),
    Declared(cell="unclean-election/enabled 4.4.0", causes=("unclean-election",)),
)
"""Drawn after the rules were mended by the third ones: two cells of a scenario at most, of those without a run in the
ledger. Two had one in a night that was not entered yet, which `incident` had not read: leader-isolated/acks-1 4.0.2 and
page-cache-only/flush-interval 1.1.1.
"""
SETS: Final = (DECLARED, DECLARED_AGAIN, DECLARED_THIRD, DECLARED_FOURTH)
RIGHT_OF: Final = {one.cell: one.causes for declared in SETS for one in declared}
"""By cell, the causes of which any is right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """What the rules named of a run of a declared cell: a row of results/incidents.csv."""

    run: str
    cell: str
    named: str
    """First; "nothing" if they named nothing."""


def read_unseen(path: Path) -> list[Unseen]:
    """The rows of a table; none if there is no such file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [Unseen(**row) for row in csv.DictReader(file)]


def unseen(root: Path, known: Sequence[Unseen]) -> list[Unseen]:
    """The rows of a table and those of the runs below a directory that it has not, by run; a run counts if it was as
    documented, so that records are lost in it.
    """
    rows = {one.run: one for one in known}
    for run_dir in find_runs(root):
        about = run_dir.read_run()
        cell = f"{about.scenario}/{about.case} {about.version}"
        if cell in RIGHT_OF and about.run not in rows and _good(run_dir):
            with tempfile.TemporaryDirectory() as folder:
                named = read("incident", pack(run_dir.path, "incident", Path(folder)).parent)
            rows[about.run] = Unseen(run=about.run, cell=cell, named=next(iter(named), "nothing"))
    return [rows[run] for run in sorted(rows)]


def _good(run_dir: RunDir) -> bool:
    """Whether a run ended as documented; one that was killed has no verdict."""
    return run_dir.verdict.exists() and read_verdict(run_dir).good


def as_csv(rows: Iterable[Unseen]) -> str:
    """The table."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Unseen)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(one) for one in rows)
    return text.getvalue()


def named_first(one: Unseen) -> bool:
    """Whether a cause that was declared right was named first."""
    return one.named in RIGHT_OF[one.cell]


def sentence_of_unseen(rows: Sequence[Unseen]) -> str:
    """The counts of them that docs/trust.md publishes."""
    first, again, *later = ([one for one in rows if one.cell in {declared.cell for declared in of}] for of in SETS)
    told = [
        f"Losses of {len(DECLARED)} other cells were drawn at random, and their causes were written down before the "
        f"first of these runs began: the rules named {sum(map(named_first, first))} of {len(first)} first."
    ]
    if again:
        told.append(
            f"The rules were mended by these. They named {sum(map(named_first, again))} of {len(again)} first of "
            f"{len(DECLARED_AGAIN)} further cells, which were drawn before the mends and read after them."
        )
    told += [
        f"They were mended by these too. Then they named {sum(map(named_first, of))} of {len(of)} first of "
        f"{len(declared)} more, drawn in the same way."
        for declared, of in zip(SETS[2:], later, strict=True)
        if of
    ]
    return " ".join(told)


def right(one: SavedIncident) -> bool:
    """Whether an incident's cause is named first today."""
    return next(iter(read(one.name)), "nothing") == one.cause


def sentence(named: int) -> str:
    """The counts that docs/trust.md publishes; `named` of `HELD_OUT` are right today."""
    first = sum(one.first == one.cause for one in HELD_OUT)
    return (
        f"The cause is named first in {len(WRITTEN_WITH)} of the {len(WRITTEN_WITH)} incidents that the rules were "
        f"written with. Another {len(HELD_OUT)} were run afterwards, with their causes written down before. The rules "
        f"named {first} of these first as they then were, and {named} after they were mended."
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Score all incidents, or pack a run directory."""
    parser = argparse.ArgumentParser(prog="python -m tests.incidents", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pack", nargs=2, metavar=("RUN_DIR", "NAME"), help="make an incident of a run directory")
    parser.add_argument("--unseen", type=Path, metavar="RUNS_DIR", help="what is named of these runs, if declared")
    options = parser.parse_args(arguments)
    if options.unseen:
        rows = unseen(options.unseen, read_unseen(UNSEEN))
        write_atomically(UNSEEN, as_csv(rows))
        for row in rows:
            print(f"  {'right' if named_first(row) else 'WRONG'}  {row.cell:<50} named: {row.named}")
        print(sentence_of_unseen(rows))
        return 0
    if options.pack:
        print(pack(Path(options.pack[0]), options.pack[1]))
        return 0
    for title, incidents in (("the rules were written with", WRITTEN_WITH), ("held out", HELD_OUT)):
        print(f"{title}:")
        for one in incidents:
            named = next(iter(read(one.name)), "nothing")
            was = f"; at first: {one.first}" if one.first and one.first != one.cause else ""
            print(f"  {'right' if named == one.cause else 'WRONG'}  {one.name:<16} {one.cause:<30} named: {named}{was}")
    print(sentence(sum(map(right, HELD_OUT))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
