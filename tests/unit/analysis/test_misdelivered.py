"""A record that is read where nobody sent it, and that was sent elsewhere, is misdelivered and no phantom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.check import check_run
from analysis.partition import elsewhere
from analysis.pieces import pieces
from checks.anomalies.phantom import misdelivered, phantom
from checks.view import Ints, PartitionView, pack
from evidence.findings import Findings
from tests.unit.analysis.runs import make_run
from tests.unit.checks.histories import Row, final_read, polled, reserved, sent, view


def seen(*rows: Row, to: dict[int, tuple[str, int]] | None = None, **more: Any) -> PartitionView:
    """A view of partition 0 of a run whose other partitions were sent these sequences of producer 1."""
    known = {pack(1, sequence): where for sequence, where in (to or {}).items()}
    return view(*rows, elsewhere=lambda values: {v: known[v] for v in values.tolist() if v in known}, **more)


def test_a_record_of_another_partition_is_misdelivered_and_no_phantom() -> None:
    rows = (sent(0, 0), polled(0, 0), polled(1, 7), polled(2, 8))
    found = seen(*rows, to={7: ("other", 3)})
    (row,) = misdelivered(found)
    assert (row["offset"], row["sequence"], row["process"]) == (1, 7, "reader-1")
    assert (row["sent_to_topic"], row["sent_to_partition"]) == ("other", 3)
    assert [row["sequence"] for row in phantom(found)] == [8]


@pytest.mark.parametrize(
    "rows",
    [
        (sent(7, 0), polled(0, 7)),
        (sent(7, None, "info"), polled(0, 7)),
        (reserved(7, 1), polled(0, 7)),
        (polled(0, 8),),
        (polled(0, 7, valid=False),),
    ],
    ids=["sent here", "of unknown outcome here", "it may have been sent here", "sent nowhere", "damaged"],
)
def test_what_is_not_misdelivered(rows: tuple[Row, ...]) -> None:
    assert misdelivered(seen(*rows, to={7: ("other", 3)})) == []


def test_it_is_known_though_histories_are_missing() -> None:
    found = seen(polled(0, 7), to={7: ("other", 3)}, writers_missing=True)
    assert (len(misdelivered(found)), phantom(found)) == (1, [])


def test_other_partitions_are_asked_only_for_what_nobody_sent_here() -> None:
    asked: list[list[int]] = []

    def nowhere(values: Ints) -> dict[int, tuple[str, int]]:
        asked.append(values.tolist())
        return {}

    assert misdelivered(view(sent(0, 0), polled(0, 0), elsewhere=nowhere)) == []
    misdelivered(view(sent(0, 0), polled(0, 0), polled(1, 4), polled(2, 4), elsewhere=nowhere))
    assert asked == [[pack(1, 4)]]


SENT = [sent(0, 0), sent(1, 0, partition=1), sent(2, 1, partition=1)]
"""Sequence 0 to partition 0, 1 and 2 to partition 1."""


def read(*where: tuple[int, int, int]) -> list[Row]:
    """What was read: partition, offset, sequence."""
    ends = [final_read(end) | {"partition": number} for number, end in ((0, 9), (1, 9))]
    return [*(polled(offset, sequence, partition=number) for number, offset, sequence in where), *ends]


def findings(run: Findings) -> dict[tuple[str, Any], int]:
    return {(one.anomaly, one.partition): one.count for one in run.findings}


def test_over_the_partitions_of_a_run(tmp_path: Path) -> None:
    """Sequence 2 is read in partition 0, too, where nobody sent it; sequence 9 was sent by nobody."""
    reads = read((0, 0, 0), (0, 1, 2), (0, 2, 9), (1, 0, 1), (1, 1, 2))
    run = make_run(tmp_path / "run", {"producer-1": SENT, "reader-1": reads}, partitions=2)
    assert findings(check_run(run)) == {("misdelivered", 0): 1, ("phantom", 0): 1}


def test_a_run_in_which_each_is_read_where_it_was_sent(tmp_path: Path) -> None:
    reads = read((0, 0, 0), (1, 0, 1), (1, 1, 2))
    run = make_run(tmp_path / "run", {"producer-1": SENT, "reader-1": reads}, partitions=2)
    assert findings(check_run(run)) == {}


def test_what_was_only_to_be_sent_elsewhere_may_have_been(tmp_path: Path) -> None:
    rows = [*SENT, reserved(5, 2) | {"partition": 1}]
    run = make_run(tmp_path / "run", {"producer-1": rows}, partitions=2)
    known = elsewhere(run, run.read_run(), ("t", 0))(np.array([pack(1, n) for n in (0, 2, 6, 7)]))
    assert known == {pack(1, 2): ("t", 1), pack(1, 6): ("t", 1)}
    assert len(pieces(run)) == 3
