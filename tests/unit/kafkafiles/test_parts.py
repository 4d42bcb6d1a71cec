"""Replicas read in parts: the same as in one reading, or nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkafiles.parts import join, parts_of
from kafkafiles.replica import Examination, examine
from tests.properties import examples
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


def in_parts(directories: dict[int, Path], most: int = 100) -> tuple[int, Examination[int] | None]:
    """How many parts there are, and what they come to."""
    found = [(part.offsets, examine(directories, within=part.slices)) for part in parts_of(directories, most)]
    return len(found), join(found)


def records(first: int, *, codec: int = 0, count: int = 3) -> bytes:
    """A batch of several records."""
    return batch(first, [R(value=b"v")] * count, codec=codec)


EVEN = log(range(3), range(3, 5), range(5, 9))
NESTED = b"".join(entry(offset) for offset in (4, 5, 6))
"""Bytes of entries, as the value of a record has them on a topic that holds copies of segments."""


@pytest.mark.parametrize(
    ("logs", "parts"),
    [
        ([EVEN, EVEN, EVEN], 9),
        ([EVEN, log(range(3), range(3, 5))], 9),
        ([EVEN, log(range(3), range(3, 4))], 9),
        ([EVEN, log(range(2), range(2, 7), range(7, 9)), log(range(9))], 9),
        ([log(range(3)) | log(range(3, 5), range(5, 7), epoch=2)] * 2, 7),
        ([{0: entry(0, epoch=1) + entry(1, epoch=1) + entry(2, epoch=2)}] * 2, 3),
        ([EVEN], 9),
        ([{0: records(0) + records(3) + records(6)}, {0: records(0) + records(3, count=6)}], 2),
        ([{0: records(0, codec=1) + records(3, codec=1)}] * 2, 2),
        ([EVEN, EVEN | {3: entry(3) + entry(4, value=b"w")}], 9),
        ([EVEN, EVEN | {3: entry(3, value=b"w") + entry(4)}], 9),
        ([EVEN, EVEN | {3: entry(3) + batch(4, [R()], crc=1)}], 9),
        ([EVEN, EVEN | {5: entry(5) + entry(6)[:-1]}], 6),
        ([EVEN, log(range(3), range(3, 5)) | {5: b""}], 9),
        ([{0: b""}] * 2, 1),
        ([{0: entry(0) + entry(1, value=NESTED) + entry(2)}] * 2, 4),
    ],
    ids=[
        "even",
        "one ends at a border",
        "one ends before",
        "segments of its own",
        "epochs",
        "epochs in a segment",
        "one copy",
        "a batch over a border",
        "compressed",
        "different before a border",
        "different after a border",
        "wrong checksum",
        "torn end",
        "empty segment",
        "empty",
        "entries in a record",
    ],
)
def test_parts_come_to_the_same_as_the_whole(tmp_path: Path, logs: list[Log], parts: int) -> None:
    directories = written(tmp_path, logs)
    assert in_parts(directories) == (parts, examine(directories))


@pytest.mark.parametrize(
    "logs",
    [
        [EVEN, log(range(2), range(3, 5), range(5, 9))],
        [log(range(2), range(3, 5)), log(range(3), range(3, 4))],
        [EVEN, EVEN | {3: entry(3) + entry(4)[:-1]}],
        [log(range(3), range(3, 5)) | {3: entry(2) + entry(3)}] * 2,
        [log(range(4), range(3, 5))] * 2,
        [{0: entry(0, epoch=1), 3: message(3, R(value=b"v"), magic=1) + entry(4, epoch=1)}] * 2,
        [{0: entry(0) + entry(1, value=NESTED * 1000) + entry(2)}] * 2,
    ],
    ids=["hole", "hole of one that goes on", "torn", "begins below", "beyond a border", "old format", "a false entry"],
)
def test_what_is_not_in_order_at_a_border_takes_the_whole(tmp_path: Path, logs: list[Log]) -> None:
    parts, found = in_parts(written(tmp_path, logs))
    assert parts > 1
    assert found is None


def test_large_logs_are_cut_into_stretches_of_like_size(tmp_path: Path) -> None:
    whole = b"".join(batch(offset, [R(value=bytes(10_000))]) for offset in range(200))
    cut = 77 * (len(whole) // 200)
    directories = written(tmp_path, [{0: whole}, {0: whole[:cut], 77: whole[cut:]}])
    parts = parts_of(directories, 8)
    assert [len(part.offsets) for part in parts[:-1]] == [25] * 7
    assert [len(part.slices[2]) for part in parts] == [1, 1, 1, 2, 1, 1, 1, 1]
    assert all(
        sum(one.stop - one.begin for one in of) == len(whole) // 8 for part in parts for of in part.slices.values()
    )
    assert in_parts(directories, 8) == (8, examine(directories))


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


@given(logs=_logs(), most=st.integers(1, 12))
@settings(max_examples=examples(300), deadline=None)
def test_parts_never_come_to_anything_else_than_the_whole(logs: list[Log], most: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        directories = written(Path(folder), logs)
        _, found = in_parts(directories, most)
        assert found is None or found == examine(directories)
