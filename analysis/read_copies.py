"""Copies of a partition's replicas, read from a run's files, and what is wrong with them.

Replicas are compared as bytes while their files are read for everything else, so agreeing replicas cost little more
than reading them. What cannot be read, or does not fit what the timeline says of it, is a problem: the copy is no
witness. The torn end of a log whose broker is dead does not count: recovery cuts it off. Where a fault of the run has
flipped a bit, the damage is found and the rest of the copy counts; any other damage makes the copy unreadable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from analysis.copies_vs_timeline import complaints
from analysis.split_copies import read_split
from checks.copies import Copies, Copy, damage
from checks.view import (
    NO_IDENTITY,
    Ints,
    PartitionView,
    identity_of,
    pack,
)
from evidence.events import Moment, of
from evidence.faults.files import FlipProof
from evidence.findings import Problem
from evidence.nodes import number_of
from evidence.run_state import RunState, isr_at
from evidence.rundir import RunDir
from kafkafiles.errors import ParseError
from kafkafiles.replica import Difference, Examination, Replica, SegmentProblem, examine, read_replica

if TYPE_CHECKING:
    from analysis.copied_records import CopiedRecords


def load_copies(
    run_dir: RunDir,
    run_state: RunState,
    topic: str,
    partition: int,
    *,
    compacted: bool = False,
    copied: Callable[[str], CopiedRecords] | None = None,
) -> tuple[Copies, list[Problem]]:
    """The copies of one partition at all moments, and what is wrong with them. Of a partition that is screened,
    `copied` of a moment are told which records its copies hold.
    """
    states = run_state.states.get((topic, partition), ())
    moments = {moment.name: moment for moment in of(run_state.events, Moment)}
    found: list[Copy] = []
    differences: dict[str, Sequence[Difference[int]]] = {}
    problems: list[Problem] = []
    names = sorted({*run_dir.moments(), *(name for name, event in moments.items() if event.nodes)})
    of_moment = {name: sorted(run_dir.moment(name).glob(f"*/{topic}-{partition}")) for name in names}
    known = {name: paths for name, paths in of_moment.items() if name in moments}
    split = read_split(known, compacted=compacted, copied=copied)
    for name in of_moment.keys() - known.keys():
        if of_moment[name]:
            detail = f"{name}: the timeline does not say when these copies were taken"
            problems.append(_of_timeline("unknown moment", detail))
    for name, directories in known.items():
        moment, told, unreadable = moments[name], None if copied is None else copied(name), dict[Path, str]()
        problems += _missing(moment, directories, f"{topic}-{partition}")
        if (examined := split.get(name)) is None:
            examined, unreadable = _examine(directories, compacted, told)
        problems += [_problem(name, path, reason) for path, reason in unreadable.items()]
        differences[name] = examined.differences
        for replica in examined.replicas.values():
            copy = _copy(moment, replica, run_state)
            found.append(copy)
            if told is not None and (copy.broker in told.refused or replica.problems or replica.notes):
                told.take(copy.broker, *replace(copy).contents)
            problems += _problems_of(copy, run_state)
        by_path = {replica.path: replica for replica in examined.replicas.values()}
        problems += [
            _problem(name, directory, complaint)
            for directory in directories
            for complaint in complaints(moment, directory, by_path.get(directory))
        ]
        if states and len(directories) > 1 and isr_at(states, moment.at_ns) is None:
            detail = f"{name}: nothing was stated of {topic}-{partition} before these copies were taken"
            problems.append(Problem("unknown ISR", detail=detail))
    return Copies(copies=tuple(found), states=states, run_state=run_state, differences=differences), problems


def _copy(moment: Moment, replica: Replica, run_state: RunState) -> Copy:
    """A replica that was read, with what the timeline says of it."""
    node = replica.path.parent.name
    ends = moment.held(node).get(replica.path.name)
    return Copy(
        moment=moment.name,
        at_ns=moment.monotonic_ns,
        node=node,
        replica=replica,
        high_watermark=None if ends is None else ends.hw,
        condition=run_state.condition_at(node, moment.monotonic_ns),
        begun_ns=moment.begun_ns,
    )


def _missing(moment: Moment, directories: Sequence[Path], partition: str) -> list[Problem]:
    """The brokers that had a replica of the partition at a moment, and of which there is no copy."""
    held = {node for node in (*moment.nodes, *moment.group_logs) if partition in moment.held(node)}
    gone = sorted(held - {path.parent.name for path in directories})
    detail = f"{moment.name}: {', '.join(gone)} had {partition}, and there is no copy of it"
    return [_of_timeline("missing copies", detail)] if gone else []


def _problems_of(copy: Copy, run_state: RunState) -> list[Problem]:
    """What makes a copy no witness: damage that no fault of the run explains, and what its reading noted."""
    directory = copy.replica.path
    struck = [problem for problem in damage(copy) if not _was_struck(run_state, copy, problem)]
    told = [f"segment {p.segment}: {p.corrupt.kind}: {p.corrupt.reason}" for p in struck]
    return [_problem(copy.moment, directory, detail) for detail in (*told, *copy.replica.notes)]


def _examine(
    directories: Sequence[Path], compacted: bool, copied: CopiedRecords | None
) -> tuple[Examination[int], dict[Path, str]]:
    """The copies of one moment, by broker, read together; those that cannot be read, with the reason, left out."""
    readable = {number_of(directory.parent.name): directory for directory in directories}
    unreadable: dict[Path, str] = {}
    while True:
        if copied is not None:
            copied.begin()
        try:
            return examine(readable, compacted=compacted, passed=copied), unreadable
        except (ParseError, OSError, ValueError):
            before = len(readable)
            for broker, directory in list(readable.items()):
                try:
                    read_replica(directory)
                except (ParseError, OSError, ValueError) as error:
                    unreadable[directory] = str(error)
                    del readable[broker]
            if len(readable) == before:
                raise


def _problem(moment: str, directory: Path, detail: str) -> Problem:
    node = directory.parent.name
    place = f"{moment}/{node}/{directory.name}"
    return Problem("unreadable replica", node, f"{place}: {detail}", f"replicas/{place}/*")


def _of_timeline(what: str, detail: str) -> Problem:
    """The moments that the timeline tells of are not the moments at which copies were made."""
    return Problem(what, detail=detail, file="timeline.jsonl")


def _was_struck(run_state: RunState, copy: Copy, problem: SegmentProblem) -> bool:
    """Whether a fault of the run has flipped a bit there before, in this copy's log or in another of its partition:
    damage may spread.
    """
    file, corrupt = f"{copy.replica.path.name}/{problem.segment:020}.log", problem.corrupt
    return any(
        fault.inject_ns <= copy.at_ns
        and proof.file == file
        and corrupt.position <= proof.position < corrupt.position + corrupt.size
        for fault, proof in run_state.proved(FlipProof)
    )


def unsent(view: PartitionView, copies: Copies, left_out: Ints | None = None) -> list[Problem]:
    """Records of ours on disks that no history has the sending of, though none is missing or torn: a problem of the
    histories, for nobody but our clients can have made their bytes. `left_out` has the sends that are not in the view.
    A send to another partition is not among them: whoever reads its record is told so (misdelivered).
    """
    if view.writers_missing:
        return []
    for copy in copies.copies:
        values, offsets = copy.contents
        unheard = (values != NO_IDENTITY) & ~np.isin(values, view.sends.value)
        for one in view.reservations:
            first = pack(one.producer, one.first)
            unheard &= (values < first) | (values >= first + one.count)
        if left_out is not None and unheard.any():
            unheard[unheard] = ~np.isin(values[unheard], left_out)
        if unheard.any():
            unheard[unheard] = ~np.isin(values[unheard], list(view.elsewhere(np.unique(values[unheard]))))
        if unheard.any():
            at = int(np.flatnonzero(unheard)[0])
            who = identity_of(int(values[at]))
            place = f"{view.topic}-{view.partition}@{offsets[at]}"
            what = f"m{who['sequence']} of producer {who['producer']} at {place} in “{copy.moment}”"
            detail = f"{copy.node} held {what}, and no history has its sending"
            return [Problem("incomplete history", detail=detail, file="history/*")]
    return []


def holdings(copies: Copies, wanted: Sequence[int]) -> dict[int, dict[str, dict[str, int | None]]]:
    """Where each value lay: value → moment → node → offset (None: not in that replica), unreadable copies left out."""
    found: dict[int, dict[str, dict[str, int | None]]] = {value: {} for value in wanted}
    if not wanted:
        return found
    asked = np.array(sorted(wanted))
    for copy in copies.copies:
        for value in found:
            found[value].setdefault(copy.moment, {})[copy.node] = None
        values, offsets = copy.contents
        for at in np.flatnonzero(np.isin(values, asked)).tolist():
            found[int(values[at])][copy.moment][copy.node] = int(offsets[at])
    return found
