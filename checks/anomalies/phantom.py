"""phantom and misdelivered: values that were read in a partition to which no producer sent them.

A value counts as sent if it has a send with any outcome, or if a producer reserved it that may have died before it
could record the outcome. Records whose bytes are damaged are corrupt, not phantoms.

A record that its producer sent to another partition, and to no other than that, is misdelivered. A client or a broker
mixed up where it belongs, as topic and partition are no part of what a batch's checksum covers. Missing histories do
not matter for this; values reserved for this partition too are left out. A value that no producer sent to any partition
is a phantom. Where a writer's history is missing or torn, only values of producers whose histories are whole are called
phantoms: any other value may be from that writer.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checks.anomaly import (
    HISTORY,
    KEPT_ROWS,
    anomaly,
)
from checks.view import (
    EVIDENCE_LIMIT,
    NO_IDENTITY,
    SEQUENCE_BITS,
    Bools,
    Ints,
    PartitionView,
    Rows,
    pack,
    reader,
)
from evidence.basis import Basis


@anomaly(
    "phantom",
    source="Jepsen, checker total-queue: unexpected",
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY,),
    screened=KEPT_ROWS,
)
def phantom(view: PartitionView) -> Rows:
    """A record that was read and that no producer sent, to this partition or to another."""
    rows = _unsent(view)
    values = view.polls.value[rows]
    excused = _reserved(view, values) | np.isin(values, list(_elsewhere(view, values)))
    if view.writers_missing:
        torn = [number for number, name in enumerate(view.processes) if name in view.torn]
        of_whole = view.sends.value[~np.isin(view.sends.process, torn)]
        heard_of = np.unique(of_whole >> SEQUENCE_BITS).tolist()
        heard_of += [one.producer for one in view.reservations if one.process not in view.torn]
        excused |= ~np.isin(values >> SEQUENCE_BITS, heard_of)
    rows = rows[~excused]
    return Rows((reader(view, int(row)) for row in rows[:EVIDENCE_LIMIT]), total=len(rows))


@anomaly("misdelivered", source="KAFKA-19012", basis=Basis.JIRA, reads=(HISTORY,), screened=KEPT_ROWS)
def misdelivered(view: PartitionView) -> Rows:
    """A record was read in a partition that it was never sent to: its producer sent it to another one."""
    rows = _unsent(view)
    rows = rows[~_reserved(view, view.polls.value[rows])]
    sent_to = _elsewhere(view, view.polls.value[rows])
    rows = rows[np.isin(view.polls.value[rows], list(sent_to))]
    shown = rows[:EVIDENCE_LIMIT].tolist()
    places = [sent_to[int(view.polls.value[row])] for row in shown]
    return Rows(
        (
            reader(view, row) | {"sent_to_topic": topic, "sent_to_partition": partition}
            for row, (topic, partition) in zip(shown, places, strict=True)
        ),
        total=len(rows),
    )


def _unsent(view: PartitionView) -> Ints:
    """The rows of polls whose value has no send here."""
    polls = view.polls
    return np.flatnonzero((polls.value != NO_IDENTITY) & polls.valid & ~np.isin(polls.value, view.sends.value))


def _reserved(view: PartitionView, values: Ints) -> Bools:
    """Which values may have been sent here by a producer that could not record it any more."""
    reserved = np.zeros(len(values), dtype=np.bool_)
    for one in view.reservations:
        first = pack(one.producer, one.first)
        reserved |= (values >= first) & (values < first + one.count)
    return reserved


def _elsewhere(view: PartitionView, values: Ints) -> Mapping[int, tuple[str, int]]:
    return view.elsewhere(np.unique(values)) if len(values) else {}
