from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkafiles import batches as log
from kafkafiles import columns, walk
from kafkafiles import replica as r
from kafkafiles.batches import Corrupt, Record
from kafkafiles.errors import ParseError
from kafkafiles.replica import Difference, Replica
from kafkafiles.stored import segment_paths
from tests.properties import examples
from tests.unit.kafkafiles.encode import GZIP, NONE, R, batch, message, wrapper


@pytest.fixture
def put(tmp_path: Path):
    """Write a replica's segments, given by base offset, and read it."""
    count = 0

    def write(segments: dict[int, bytes], *, name: str = "t-0", **files: bytes) -> Replica:
        nonlocal count
        count += 1
        return write_replica(tmp_path / str(count) / name, segments, **files)

    return write


def write_replica(directory: Path, segments: dict[int, bytes], **files: bytes) -> Replica:
    directory.mkdir(parents=True)
    for base, data in segments.items():
        (directory / f"{base:020d}.log").write_bytes(data)
    for file, data in files.items():
        (directory / file.replace("_", "-")).write_bytes(data)
    return r.read_replica(directory)


def compare(replicas: Mapping[str, Replica], **how: Any) -> list[Difference[str]]:
    """Where replicas that were written before differ."""
    return list(r.examine({broker: replica.path for broker, replica in replicas.items()}, **how).differences)


def values(*texts: bytes) -> list[R]:
    return [R(value=text) for text in texts]


def seen(found: list[Difference[str]]) -> list[tuple[int, tuple[str, ...], dict[str, bytes | None]]]:
    return [
        (
            each.offset,
            each.fields,
            {broker: None if record is None else record.value for broker, record in each.records.items()},
        )
        for each in found
    ]


ABC = batch(0, values(b"a", b"b")) + batch(2, values(b"c"))


def test_a_replica(put):
    found = put(
        {0: ABC, 3: batch(3, values(b"d"), epoch=2)}, name="my-topic.x-12", leader_epoch_checkpoint=b"0\n1\n2 3\n"
    )
    assert (found.topic, found.partition, found.start_offset, found.leo) == ("my-topic.x", 12, 0, 4)
    assert found.epochs is not None
    assert found.epochs.entries[0].start_offset == 3
    table, problems = found.table()
    assert table["segment"].to_pylist() == [0, 0, 0, 3]
    assert table["value"].to_pylist() == [b"a", b"b", b"c", b"d"]
    assert (problems, found.notes, found.problems) == ([], (), ())


def test_an_empty_replica_and_one_that_was_only_rolled(put):
    assert (put({}).leo, put({}).start_offset) == (0, 0)
    assert put({7: b""}).leo == 7
    assert put({0: ABC, 3: b""}).leo == 3
    assert compare({"1": put({}), "2": put({0: ABC})}) == []


def test_names_that_are_no_partition(tmp_path: Path):
    with pytest.raises(ParseError, match="not named after a topic"):
        r.topic_partition_of(tmp_path / "nothing")
    with pytest.raises(ParseError, match="not a directory"):
        r.read_replica(tmp_path / "t-0")
    deleted = "t-0." + "0" * 32 + "-delete"
    assert r.topic_partition_of(Path(deleted)) == ("t", 0)


def test_tails_are_problems_but_no_corruption_at_the_end_only(put):
    tail = put({0: ABC + bytes(100)})
    assert ([each.corrupt.kind for each in tail.problems], tail.corruption) == (["zero-padding"], ())
    middle = put({0: ABC + b"x" * 5, 3: batch(3, values(b"d"))})
    assert [each.segment for each in middle.corruption] == [0]
    assert middle.leo == 4


def test_checksums_are_verified(put):
    found = put({0: ABC + batch(3, values(b"d"), crc=5) + message(4, R(), magic=1, crc=5), 5: batch(5, values(b"e"))})
    assert [(each.segment, each.corrupt.kind, each.corrupt.position) for each in found.problems] == [
        (0, "checksum", len(ABC)),
        (0, "checksum", len(ABC) + len(batch(3, values(b"d")))),
    ]
    assert put({0: ABC}).problems == ()


def test_offsets_that_go_back_are_noted(put):
    found = put({0: ABC + batch(1, values(b"b"))})
    assert found.notes == (f"{0:020d}.log: offset 1 at byte {len(ABC)} comes after offset 2",)
    assert "begins with offset 0" in put({5: ABC}).notes[0]


def test_a_checkpoint_that_cannot_be_read_is_noted(put):
    assert "line 2 announces 1" in put({0: ABC}, leader_epoch_checkpoint=b"0\n1\n").notes[0]


def test_equal_replicas_with_different_segment_borders(put):
    one = put({0: ABC + batch(3, values(b"d"))})
    two = put({0: ABC, 3: batch(3, values(b"d")) + bytes(500)})
    assert compare({"1": one, "2": two}) == []


def test_a_lagging_replica_is_no_difference(put):
    assert compare({"1": put({0: ABC}), "2": put({0: ABC + batch(3, values(b"d"))})}) == []


def test_retention_is_no_difference(put):
    late = batch(3, values(b"d"))
    assert compare({"1": put({0: ABC, 3: late}), "2": put({3: late})}) == []
    found = compare({"1": put({0: ABC, 3: late}), "2": put({3: batch(3, values(b"X"))})})
    assert seen(found) == [(3, ("value",), {"1": b"d", "2": b"X"})]


def test_a_different_value_and_a_different_epoch(put):
    one = put({0: ABC + batch(3, values(b"d"))})
    two = put({0: batch(0, values(b"a", b"X")) + batch(2, values(b"c")) + batch(3, values(b"d"), epoch=9)})
    assert seen(compare({"1": one, "2": two})) == [
        (1, ("value",), {"1": b"b", "2": b"X"}),
        (3, ("leader_epoch",), {"1": b"d", "2": b"d"}),
    ]


def test_the_records_carry_their_place(put):
    one, two = put({0: ABC}), put({0: batch(0, values(b"a", b"b")) + batch(2, values(b"X"))})
    record = compare({"1": one, "2": two})[0].records["2"]
    assert record is not None
    assert record.position == len(batch(0, values(b"a", b"b")))


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats(put, magic):
    one = put({0: message(0, R(value=b"a"), magic=magic) + wrapper(1, values(b"b", b"c"), magic=magic, codec=GZIP)})
    two = put({0: message(0, R(value=b"a"), magic=magic) + wrapper(1, values(b"b", b"Y"), magic=magic, codec=GZIP)})
    assert seen(compare({"1": one, "2": two})) == [(2, ("value",), {"1": b"c", "2": b"Y"})]


def test_batches_cut_differently_are_compared_by_record(put):
    one = put({0: batch(0, values(b"a", b"b", b"c")) + batch(3, values(b"d", b"e"))})
    two = put({0: batch(0, values(b"a")) + batch(1, values(b"b", b"X", b"d")) + batch(4, values(b"e"))})
    assert seen(compare({"1": one, "2": two})) == [(2, ("value",), {"1": b"c", "2": b"X"})]
    three = put({0: batch(0, values(b"a", b"b", b"c", b"d", b"e", b"f"))})
    assert seen(compare({"1": one, "2": two, "3": three})) == [(2, ("value",), {"1": b"c", "2": b"X", "3": b"c"})]


def test_a_missing_record_is_a_difference_unless_compacted(put):
    one, two = put({0: ABC + batch(3, values(b"d"))}), put({0: batch(0, values(b"a", b"b")) + batch(3, values(b"d"))})
    assert seen(compare({"1": one, "2": two})) == [(2, ("record",), {"1": b"c", "2": None})]
    assert compare({"1": one, "2": two}, compacted=True) == []


def test_a_batch_that_is_corrupt_on_one_replica(put):
    bad = bytearray(ABC)
    bad[-2] ^= 1
    found = compare({"1": put({0: ABC}), "2": put({0: bytes(bad)})})
    assert [each.offset for each in found] == [2]
    assert "valid" in found[0].fields


def test_the_first_differences_only(put):
    one = put({0: b"".join(batch(at, values(b"a")) for at in range(100))})
    two = put({0: b"".join(batch(at, values(b"b")) for at in range(100))})
    assert [each.offset for each in compare({"1": one, "2": two}, limit=3)] == [0, 1, 2]
    assert len(compare({"1": one, "2": two})) == 100


def test_one_replica_alone(put):
    assert compare({"1": put({0: ABC})}) == []


def test_replicas_that_begin_or_end_elsewhere_do_not_end_the_comparison_of_the_others(put):
    whole = [batch(at, values(b"abcdef"[at : at + 1])) for at in range(6)]
    other = [*whole[:1], batch(1, values(b"X")), *whole[2:4], batch(4, values(b"Y")), whole[5]]
    one, two = put({0: b"".join(whole)}), put({0: b"".join(other)})
    late, short = put({3: b"".join(whole[3:])}), put({0: b"".join(whole[:3])})
    assert seen(compare({"1": one, "2": two, "late": late, "short": short})) == [
        (1, ("value",), {"1": b"b", "2": b"X", "short": b"b"}),
        (4, ("value",), {"1": b"e", "2": b"Y", "late": b"e"}),
    ]
    # A batch that lies across the border where one begins, or another ends.
    across = put({0: b"".join(whole[:2]) + batch(2, values(b"Z", b"d")) + b"".join(whole[4:])})
    assert seen(compare({"1": across, "late": late, "short": short})) == [
        (2, ("value",), {"1": b"Z", "short": b"c"}),
    ]


def test_leader_epochs_as_the_batches_have_them(put):
    data = batch(0, values(b"a", b"b"), epoch=1) + batch(2, values(b"c"), epoch=1) + batch(3, values(b"d"), epoch=4)
    runs = put({0: data, 4: batch(4, values(b"e", b"f"), epoch=4)}).epoch_runs
    assert [(run.epoch, run.first_offset, run.last_offset) for run in runs] == [(1, 0, 2), (4, 3, 5)]


# --- what is found is what plain reading finds, whatever the way it is found in -------------------------------------

PART = st.tuples(
    st.lists(st.sampled_from([b"a", b"b", b"c"]), min_size=1, max_size=4),
    st.sampled_from([0, 0, 0, 0, 1, 3]),  # how much the epoch grows
    st.sampled_from([NONE, NONE, NONE, GZIP]),
)
CHANGE = st.tuples(
    st.sampled_from(["byte", "cut", "torn", "zeros", "drop", "value", "split", "epoch"]),
    st.integers(0, 10_000),
    st.integers(1, 255),
)


def made(parts: list[tuple[list[bytes], int, int]], magic: int) -> list[tuple[int, bytes]]:
    """Batches with their base offsets, of one format."""
    found, offset, epoch = [], 0, 0
    for texts, grows, codec in parts:
        epoch += grows
        if magic == 2:
            found.append((offset, batch(offset, values(*texts), epoch=epoch, codec=codec)))
            offset += len(texts)
        elif codec:
            found.append((offset, wrapper(offset, values(*texts), magic=magic, codec=codec)))
            offset += len(texts)
        else:
            found.append((offset, message(offset, R(value=texts[0]), magic=magic)))
            offset += 1
    return found


def changed(
    batches: list[tuple[int, bytes]], change: tuple[str, int, int] | None, magic: int
) -> list[tuple[int, bytes]]:
    """One replica's batches with something else in them."""
    if change is None or not batches:
        return batches
    how, where, what = change
    at = where % len(batches)
    base, data = batches[at]
    if how == "byte":
        spot = where % len(data)
        return [*batches[:at], (base, data[:spot] + bytes((data[spot] ^ what,)) + data[spot + 1 :]), *batches[at + 1 :]]
    if how == "cut":
        return batches[:at]
    if how == "torn":
        return [*batches[:at], (base, data[: where % len(data)])]
    if how == "zeros":
        return [*batches[: at + 1], (base, bytes(what))]
    if how == "drop":
        return [*batches[:at], *batches[at + 1 :]]
    records = [each for each in plain_records(data) if isinstance(each, Record)]
    if how == "value":
        again = [R(value=b"other" if each is records[-1] else each.value) for each in records]
    else:
        again = [R(value=each.value) for each in records]
    if magic < 2:
        new = [(each.offset, message(each.offset, one, magic=magic)) for each, one in zip(records, again, strict=True)]
    elif how == "split":
        new = [
            (each.offset, batch(each.offset, [one], epoch=each.leader_epoch))
            for each, one in zip(records, again, strict=True)
        ]
    else:
        new = [(base, batch(base, again, epoch=records[0].leader_epoch + (how == "epoch")))]
    return [*batches[:at], *new, *batches[at + 1 :]]


def rolled(batches: list[tuple[int, bytes]], every: int, skipped: int) -> dict[int, bytes]:
    """Segments of `every` batches, the first `skipped` of them gone by retention."""
    groups = [batches[at : at + every] for at in range(0, len(batches), every)]
    groups = groups[min(skipped, max(len(groups) - 1, 0)) :]
    return {group[0][0]: b"".join(data for _, data in group) for group in groups} or {0: b""}


@pytest.mark.parametrize("magic", [0, 1, 2])
@given(
    parts=st.lists(PART, min_size=1, max_size=8),
    changes=st.lists(st.none() | CHANGE, min_size=2, max_size=3),
    rolls=st.lists(st.tuples(st.integers(1, 8), st.integers(0, 2)), min_size=3, max_size=3),
    compacted=st.booleans(),
)
@settings(max_examples=examples(40))
def test_whatever_the_way_the_findings_are_those_of_plain_reading(
    tmp_path_factory, magic, parts, changes, rolls, compacted
):
    """Replicas with damage, lags, retention, other epochs, other batches and other segment borders: in blocks of any
    size, compiled or not, what is said of them is the same, and is what reading each file record by record says.
    """
    root = tmp_path_factory.mktemp("replicas")
    sound = made(parts, magic)
    directories: dict[str, Path] = {}
    for number, change in enumerate(changes):
        directory = root / str(number) / "t-0"
        write_replica(directory, rolled(changed(sound, change, magic), *rolls[number]))
        directories[str(number)] = directory
    found = said(directories, compacted)
    for compiled_from, block, least in ((0, 384 * 1024, 64 * 1024), (0, 300, 64), (1 << 60, 300, 64)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(columns, "COMPILED_FROM_BYTES", compiled_from)
            patch.setattr(walk, "BLOCK_BYTES", block)
            patch.setattr(walk, "_LEAST_BYTES", least)
            assert said(directories, compacted) == found
    for name, directory in directories.items():
        assert found[1][name] == plainly_wrong(directory)
    if not any(replica.notes for replica in found[2].values()):
        assert found[0] == plain_differences(found[2], compacted)


Said = tuple[list[tuple[int, tuple[str, ...], object]], dict[str, list[tuple[int, Corrupt]]], dict[str, Replica]]


def said(directories: dict[str, Path], compacted: bool) -> Said:
    """Differences, problems and replicas; the problems' reasons left to other tests."""
    examined = r.examine(directories, compacted=compacted)
    assert compare(examined.replicas, compacted=compacted) == list(examined.differences)
    alone = {name: r.read_replica(directory) for name, directory in directories.items()}
    assert alone == examined.replicas  # what is said of a replica does not depend on its company
    return (
        [(each.offset, each.fields, dict(each.records)) for each in examined.differences],
        {name: [(each.segment, each.corrupt) for each in one.problems] for name, one in examined.replicas.items()},
        dict(examined.replicas),
    )


def plainly_wrong(directory: Path) -> list[tuple[int, Corrupt]]:
    """What headers and checksums say of each segment, read whole."""
    found = []
    for path in segment_paths(directory):
        data = path.read_bytes()
        for each in log.scan_batches(data):
            if isinstance(each, Corrupt):
                found.append((int(path.stem), each))
            elif not log.checksum_matches(data, each):
                reason = f"offset {each.last_offset}: the checksum does not match"
                problem = Corrupt(position=each.position, size=each.size, kind="checksum", reason=reason)
                found.append((int(path.stem), problem))
    return found


def plain_records(data: bytes) -> list[Record | Corrupt]:
    return list(log.records(data))


def plain_differences(replicas: dict[str, Replica], compacted: bool) -> list[tuple[int, tuple[str, ...], object]]:
    """Every offset, one after another, in dictionaries of all records."""
    held = {name: by_offset(replica) for name, replica in replicas.items()}
    found: list[tuple[int, tuple[str, ...], object]] = []
    for offset in sorted({offset for each in held.values() for offset in each}):
        there = {
            name: held[name].get(offset)
            for name, replica in replicas.items()
            if replica.start_offset <= offset < replica.leo
        }
        present = [one for one in there.values() if one is not None]
        fields = ["record"] if None in there.values() and present and not compacted else []
        for field in (
            "key", "value", "headers", "timestamp_ms", "timestamp_type", "leader_epoch", "producer_id",
            "producer_epoch", "sequence", "transactional", "control", "valid",
        ):  # fmt: skip
            if len({getattr(one, field) for one in present}) > 1:
                fields.append(field)
        if fields:
            found.append((offset, tuple(fields), there))
    return found


def by_offset(replica: Replica) -> dict[int, Record]:
    found = {}
    for segment in replica.segments:
        for each in plain_records(segment.path.read_bytes()):
            if isinstance(each, Record):
                found[each.offset] = each
    return found


def test_a_record_is_found_by_its_offset_in_whatever_segment(put) -> None:
    replica = put({0: batch(0, values(b"a", b"b")), 4: batch(4, values(b"c"), codec=GZIP)})
    found = r.RecordsByOffset(replica)
    told = {offset: found.at(offset) for offset in range(6)}
    assert {offset: one.value for offset, one in told.items() if isinstance(one, Record)} == {0: b"a", 1: b"b", 4: b"c"}
    assert [offset for offset, one in told.items() if one is None] == [2, 3, 5]
