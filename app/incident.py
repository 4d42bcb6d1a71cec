"""`kafka-chaos incident`: what can be read out of what people saved after they lost records.

It takes what there is: copied partitions, text logs of brokers and controllers, configuration, a version. It answers in
order: which causes the files tell of, the surest first (incident_causes.py); where copied replicas differ; which known
bugs the release has, and who meets them; what the producers' settings risk. What was not found in the files is said to
be not found, never excluded: a log that was not saved tells nothing.

Logs are read in pieces (incident_logs.py), so memory does not grow with them. Nothing of it needs Docker, Java or a
network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from app import incident_untraced, museum
from app.incident_causes import Cause, CauseKind, kinds
from app.incident_logs import LONGEST
from app.incident_signs import SIGNS, SeenSign, Sign, told
from evidence.errors import UsageError
from evidence.text import plural, visible
from kafkafiles import errors
from kafkafiles.side_by_side import ReplicaComparison, compare_directories

SEGMENT: Final = re.compile(r"\d{20}\.(?:log|index|timeindex|txnindex|snapshot)(?:\..*)?$")
PARTITION: Final = re.compile(r".+-\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFiles:
    """What lies in the places that were named."""

    logs: tuple[Path, ...]
    parents: tuple[Path, ...]
    """Directories that hold partitions."""
    partitions: tuple[Path, ...] = ()
    """The partitions themselves."""


def look(places: Iterable[Path]) -> SavedFiles:
    """The text logs and log directories in places. Raises UsageError for a place that is not there."""
    logs: set[Path] = set()
    partitions: set[Path] = set()
    for place in places:
        if not place.exists():
            raise UsageError(f"{place}: there is no such file or directory; name what you saved")
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            if SEGMENT.search(path.name):
                if path.suffix == ".log" and PARTITION.fullmatch(path.parent.name):
                    partitions.add(path.parent)
            elif path.is_file() and (".log" in path.suffixes or path.suffix in (".out", ".txt")):
                logs.update([path] if path.stat().st_size else [])
    parents = {one.parent for one in partitions}
    return SavedFiles(logs=tuple(sorted(logs)), parents=tuple(sorted(parents)), partitions=tuple(sorted(partitions)))


def nothing_read(places: Sequence[Path]) -> UsageError:
    """What to say of places that hold neither logs nor partitions nor configuration."""
    return UsageError(
        f"nothing was read in {', '.join(map(str, places))}: there is no broker's log (*.log, *.log.1, *.out, *.txt, "
        "not empty), no copied partition (TOPIC-0/00000000000000000000.log) and no producer's configuration; "
        "docs/lost-records.md shows how to lay out what you save"
    )


TOGETHER: Final[Mapping[str, tuple[str, ...]]] = {
    "false-clean-shutdown": ("unable to register with the controller quorum",),
    "too-large-to-copy": ("Unexpected error occurred while processing data for partition",),
    "power-loss": ("Recovering unflushed segment",),
    "reassigned-to-one": ("Shrinking ISR",),
    "follower-refused-batch": ("Error due to",),
    "forgotten-overrides": ("retention time",),
}
"""Strings that a cause needs beside one of its other lines."""
NAMED: Final = re.compile(r"KAFKA-\d+")
WHOLE: Final[Mapping[str, str]] = {"ession expired": "Session expired", "leaned log ": "Cleaned log"}
"""Strings that are looked for without their first letter, as a reader sees them."""
ON_ANY_RELEASE: Final = frozenset({"transaction-timed-out"})
"""Causes that name a bug and are met without it."""


def fragments(kind: CauseKind) -> str:
    """The strings by which logs tell of a cause: any of them, or all of them."""
    needed = TOGETHER.get(kind.id, ())
    others = [f"`{WHOLE.get(line, line).strip()}`" for line in kind.lines if line not in needed]
    any_of = f"any of: {', '.join(others)}" if len(others) > 1 else "".join(others)
    beside = "".join(f"`{line}`" for line in needed)
    if not needed:
        return any_of
    return f"{any_of}; and {beside}" if len(others) > 1 else f"all of: {any_of}, {beside}"


def releases_of(kind: CauseKind) -> str:
    """The releases that have the one bug that a cause names: "from 0.11.0.0 on, fixed in 3.6.0"; "" of others."""
    from harness.scenario import get_scenario  # only for the page, for it loads every scenario

    exhibit = get_scenario(kind.scenario).exhibit
    named = NAMED.findall(kind.means)
    only = kind.id not in ON_ANY_RELEASE and exhibit is not None and named == [exhibit.bug.id]
    return exhibit.bug.releases if exhibit and only else ""


def row(kind: CauseKind) -> str:
    """A cause as a row of docs/lost-records.md; without lines, as one of its table of copied files."""
    releases = releases_of(kind)
    means = f"**{_capital(releases)}.** {_capital(kind.means)}" if releases else kind.means
    return _row(fragments(kind), f"{means} (`{kind.scenario}`)", kind.do)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def sign_row(sign: Sign) -> str:
    """A sign as a row of docs/lost-records.md."""
    return _row(f"`{sign.line}`", f"{sign.means} (`{sign.scenario}`)", sign.do)


def _row(*cells: str) -> str:
    return f"| {' | '.join(one for one in cells if one)} |"


def table() -> str:
    """Every cause that lines of logs tell of, and every sign, for docs/lost-records.md: by the first string.

    `python -m app.incident` prints it, and the table of copied files.
    """
    rows = [*(row(kind) for kind in kinds() if kind.lines), *map(sign_row, SIGNS)]
    ordered = sorted(rows, key=lambda one: one.split("`")[1].casefold())
    return "\n".join(["| log line | what happened | what to do |", "|---|---|---|", *ordered])


def table_of_files() -> str:
    """Every cause that shows in copied files alone."""
    rows = (row(kind) for kind in kinds() if not kind.lines)
    return "\n".join(["| what happened | what to do |", "|---|---|", *rows])


def replicas(parents: Sequence[Path]) -> tuple[list[ReplicaComparison], str]:
    """Copied partitions compared, or why they are not."""
    if len(parents) < 2:
        return [], "at least two brokers' copies of a partition are needed" if parents else "no partition was found"
    try:
        return compare_directories(parents), ""
    except errors.FilesError as error:
        return [], str(error)


def nothing_named(found: SavedFiles, lines_read: int, *, signs: bool) -> Iterator[str]:
    """What to say where no cause was named: how much was read, and that this excludes nothing."""
    if found.logs:
        known = "names a cause by itself" if signs else "is known"
        yield f"   {plural(lines_read, 'log line')} read in {plural(len(found.logs), 'file')}: no line {known}."
    else:
        yield "   no log was read, and the copied partitions show no cause"
    yield "   This does not mean that nothing was lost: a log that was not saved tells nothing."


def text(
    found: SavedFiles,
    causes: Sequence[Cause],
    releases: Sequence[str],
    compared: tuple[Sequence[ReplicaComparison], str],
    bugs: Sequence[Mapping[str, Any]],
    settings: Sequence[str],
    version: str,
    signs: Sequence[SeenSign] = (),
    lines_read: int = 0,
) -> str:
    """The answer for people. `lines_read`: of all logs."""
    comparisons, why = compared
    lines = [
        f"read: {plural(len(found.logs), 'log file')}, {plural(len(found.parents), 'log directory')}".replace(
            "log directorys", "log directories"
        ),
        "",
        "1  What the files tell, the surest cause first",
        *(["   Copy every broker before you do any of this."] if causes or signs else []),
    ]
    for one in causes:
        lines += [f"   {one.kind.id}: {one.kind.means}", f"     {visible(one.why)}"]
        lines += [f"     {line.file}:\n     {line.text[:LONGEST]}" for line in one.lines[:1]]
        lines += [f"     do: {one.kind.do}", f"     shown by: kafka-chaos run {one.kind.scenario}"]
    if not (found.logs or found.parents):
        lines.append("   nothing to look at: there is no broker's log and no copied partition, only configuration")
    elif not causes:
        lines += list(nothing_named(found, lines_read, signs=bool(signs)))
    for sign in signs:
        lines += told(sign)
    lines.append("   Brokers' files tell nothing of these; ask the clients:")
    lines += [f"     {one.what}: look at {one.ask}" for one in incident_untraced.of(version)]
    lines += ["", "2  Replicas"]
    for comparison in comparisons:
        where = f"{comparison.topic}-{comparison.partition}"
        if comparison.sound:
            lines.append(f"   {where}: {plural(len(comparison.replicas), 'replica')} alike")
            continue
        lines.append(f"   {where}: replicas differ, or are damaged")
        if comparison.differences:
            first = comparison.differences[0]
            lines.append(f"     first difference at offset {first.offset}")
        lines += [f"     {visible(fault)}" for fault in comparison.corrupt[:3]]
    lines += [f"   not compared: {why}"] if why else []
    lines += ["", f"3  Known bugs of {version or 'this release'}"]
    if not version:
        lines.append("   not looked up: no log names a release; add --version")
    elif len(releases) > 1:
        lines.append(f"   the logs name several releases: {', '.join(releases)}")
    for bug in bugs:
        fixed = museum.fixed_in(bug["fixed_in"], bug["back_in"])
        remedy = f"fixed in {fixed}" if fixed else "no release mends it"
        lines.append(f"   {bug['bug']}: {bug['title']} ({remedy}); affected: {bug['whom']}")
    lines += ["", "4  Settings"]
    lines += [f"   {one}" for one in settings] or ["   no producer's configuration was found"]
    lines += [
        "",
        "Next: keep what you saved as it is, and dead brokers down.",
        "   To get records back, compare the copies: `kafka-chaos replicas DIR DIR…` has every difference.",
        "   Read the records that only one copy has from its files, and send them again (docs/lost-records.md).",
        f"   `kafka-chaos atlas{f' --version {version}' if version else ''}` shows what these settings can lose.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), table_of_files(), sep="\n\n")
