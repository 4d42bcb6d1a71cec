"""Replicas read in parts: the same as in one reading, or nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkafiles.parts import join, parts_of
from kafkafiles.replica import Examination, examine
from tests.unit.kafkafiles.encode import R, batch, message

Log = dict[int, bytes]


def entry(offset: int, *, epoch: int = 0, value: bytes = b"v") -> bytes:
    return batch(offset, [R(value=value)], epoch=epoch)


def log(*segments: range, epoch: int = 0) -> Log:
    return {within.start: b"".join(entry(offset, epoch=epoch) for offset in within) for within in segments}


def written(root: Path, logs: list[Log]) -> dict[int, Path]:
    directories = {broker: root / f"broker-{broker}" / "t-0" for broker in range(1, len(logs) + 1)}
    for directory, segments in zip(directories.values(), logs, strict=True):
        directory.mkdir(parents=True)
        for base, data in segments.items():
            (directory / f"{base:020d}.log").write_bytes(data)
    return directories


def in_parts(directories: dict[int, Path]) -> tuple[int, Examination[int] | None]:
    """How many parts there are, and what they come to."""
    found = [(within, examine(directories, within=within)) for within in parts_of(directories)]
    return len(found), join(found)


EVEN = log(range(3), range(3, 5), range(5, 9))


@pytest.mark.parametrize(
    ("logs", "parts"),
    [
        ([EVEN, EVEN, EVEN], 3),
        ([EVEN, log(range(3), range(3, 5))], 2),
        ([EVEN, log(range(3), range(3, 4))], 2),
        ([EVEN, log(range(3), range(3, 9))], 2),
        ([log(range(3)) | log(range(3, 5), range(5, 7), epoch=2)] * 2, 3),
        ([EVEN], 3),
        ([log(range(4))] * 2, 1),
    ],
    ids=["even", "one ends at a border", "one ends before", "cut elsewhere", "epochs", "one copy", "one segment"],
)
def test_parts_come_to_the_same_as_the_whole(tmp_path: Path, logs: list[Log], parts: int) -> None:
    directories = written(tmp_path, logs)
    assert in_parts(directories) == (parts, examine(directories))


@pytest.mark.parametrize(
    "logs",
    [
        [EVEN, log(range(2), range(3, 5), range(5, 9))],
        [log(range(2), range(3, 5)), log(range(3), range(3, 4))],
        [EVEN, EVEN | {3: entry(3) + entry(4, value=b"w")}],
        [EVEN, EVEN | {3: entry(3) + entry(4)[:-1]}],
        [log(range(3), range(3, 5)) | {3: entry(2) + entry(3)}] * 2,
        [log(range(4), range(3, 5))] * 2,
        [{0: entry(0, epoch=1), 3: message(3, R(value=b"v"), magic=1) + entry(4, epoch=1)}] * 2,
    ],
    ids=["hole", "hole of one that goes on", "different", "torn", "begins below", "beyond a border", "old format"],
)
def test_what_is_not_in_order_in_a_part_takes_the_whole(tmp_path: Path, logs: list[Log]) -> None:
    parts, found = in_parts(written(tmp_path, logs))
    assert parts > 1
    assert found is None


@st.composite
def _logs(draw: st.DrawFn) -> list[Log]:
    """Replicas of one log that are cut, and end, in places of their own, with now and then something wrong."""
    size = draw(st.integers(1, 12))
    epochs = sorted(draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)))
    borders = draw(st.sets(st.integers(1, size)))
    logs: list[Log] = []
    for _ in range(draw(st.integers(1, 3))):
        own = {border for border in borders if draw(st.integers(0, 7))}
        end = size if draw(st.booleans()) else draw(st.integers(0, size))
        segments: Log = {0: b""}
        for offset in range(end):
            if offset in own:
                segments[offset] = b""
            odd = draw(st.integers(0, 60))
            data = entry(offset, epoch=epochs[offset], value=b"other" if odd == 1 else b"v")
            data = b"" if odd == 2 else entry(draw(st.integers(0, size))) if odd == 3 else data
            data = message(offset, R(value=b"v"), magic=1) if odd == 4 else data
            segments[max(segments)] += data[:-1] if odd == 5 else data
        if draw(st.booleans()) and end in own:
            segments[end] = b""
        logs.append(segments)
    return logs


@given(logs=_logs())
@settings(max_examples=300, deadline=None)
def test_parts_never_come_to_anything_else_than_the_whole(logs: list[Log]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        directories = written(Path(folder), logs)
        _, found = in_parts(directories)
        assert found is None or found == examine(directories)
