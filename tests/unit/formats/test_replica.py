from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.formats import replica as r
from harness.formats.batches import Record
from harness.formats.errors import ParseError
from harness.formats.replica import Difference, Replica
from tests.unit.formats.encode import GZIP, R, batch, message, wrapper


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
    assert r.compare({"1": put({}), "2": put({0: ABC})}) == []


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


def test_checksums_are_verified_when_asked(put):
    found = put({0: ABC + batch(3, values(b"d"), crc=5) + message(4, R(), magic=1, crc=5), 5: batch(5, values(b"e"))})
    assert found.problems == ()
    assert [(each.segment, each.corrupt.kind, each.corrupt.position) for each in found.checksum_problems()] == [
        (0, "checksum", len(ABC)),
        (0, "checksum", len(ABC) + len(batch(3, values(b"d")))),
    ]
    assert put({0: ABC}).checksum_problems() == []


def test_offsets_that_go_back_are_noted(put):
    found = put({0: ABC + batch(1, values(b"b"))})
    assert found.notes == (f"{0:020d}.log: offset 1 at byte {len(ABC)} comes after offset 2",)
    assert "begins with offset 0" in put({5: ABC}).notes[0]


def test_a_checkpoint_that_cannot_be_read_is_noted(put):
    assert "line 2 announces 1" in put({0: ABC}, leader_epoch_checkpoint=b"0\n1\n").notes[0]


def test_equal_replicas_with_different_segment_borders(put):
    one = put({0: ABC + batch(3, values(b"d"))})
    two = put({0: ABC, 3: batch(3, values(b"d")) + bytes(500)})
    assert r.compare({"1": one, "2": two}) == []


def test_a_lagging_replica_is_no_difference(put):
    assert r.compare({"1": put({0: ABC}), "2": put({0: ABC + batch(3, values(b"d"))})}) == []


def test_retention_is_no_difference(put):
    late = batch(3, values(b"d"))
    assert r.compare({"1": put({0: ABC, 3: late}), "2": put({3: late})}) == []
    found = r.compare({"1": put({0: ABC, 3: late}), "2": put({3: batch(3, values(b"X"))})})
    assert seen(found) == [(3, ("value",), {"1": b"d", "2": b"X"})]


def test_a_different_value_and_a_different_epoch(put):
    one = put({0: ABC + batch(3, values(b"d"))})
    two = put({0: batch(0, values(b"a", b"X")) + batch(2, values(b"c")) + batch(3, values(b"d"), epoch=9)})
    assert seen(r.compare({"1": one, "2": two})) == [
        (1, ("value",), {"1": b"b", "2": b"X"}),
        (3, ("leader_epoch",), {"1": b"d", "2": b"d"}),
    ]


def test_the_records_carry_their_place(put):
    one, two = put({0: ABC}), put({0: batch(0, values(b"a", b"b")) + batch(2, values(b"X"))})
    record = r.compare({"1": one, "2": two})[0].records["2"]
    assert record is not None
    assert record.position == len(batch(0, values(b"a", b"b")))


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats(put, magic):
    one = put({0: message(0, R(value=b"a"), magic=magic) + wrapper(1, values(b"b", b"c"), magic=magic, codec=GZIP)})
    two = put({0: message(0, R(value=b"a"), magic=magic) + wrapper(1, values(b"b", b"Y"), magic=magic, codec=GZIP)})
    assert seen(r.compare({"1": one, "2": two})) == [(2, ("value",), {"1": b"c", "2": b"Y"})]


def test_batches_cut_differently_are_compared_by_record(put):
    one = put({0: batch(0, values(b"a", b"b", b"c")) + batch(3, values(b"d", b"e"))})
    two = put({0: batch(0, values(b"a")) + batch(1, values(b"b", b"X", b"d")) + batch(4, values(b"e"))})
    assert seen(r.compare({"1": one, "2": two})) == [(2, ("value",), {"1": b"c", "2": b"X"})]
    three = put({0: batch(0, values(b"a", b"b", b"c", b"d", b"e", b"f"))})
    assert seen(r.compare({"1": one, "2": two, "3": three})) == [(2, ("value",), {"1": b"c", "2": b"X", "3": b"c"})]


def test_a_missing_record_is_a_difference_unless_compacted(put):
    one, two = put({0: ABC + batch(3, values(b"d"))}), put({0: batch(0, values(b"a", b"b")) + batch(3, values(b"d"))})
    assert seen(r.compare({"1": one, "2": two})) == [(2, ("record",), {"1": b"c", "2": None})]
    assert r.compare({"1": one, "2": two}, compacted=True) == []


def test_a_batch_that_is_corrupt_on_one_replica(put):
    bad = bytearray(ABC)
    bad[-2] ^= 1
    found = r.compare({"1": put({0: ABC}), "2": put({0: bytes(bad)})})
    assert [each.offset for each in found] == [2]
    assert "valid" in found[0].fields


def test_the_first_differences_only(put):
    one = put({0: b"".join(batch(at, values(b"a")) for at in range(100))})
    two = put({0: b"".join(batch(at, values(b"b")) for at in range(100))})
    assert [each.offset for each in r.compare({"1": one, "2": two}, limit=3)] == [0, 1, 2]
    assert len(r.compare({"1": one, "2": two})) == 100


def test_one_replica_alone(put):
    assert r.compare({"1": put({0: ABC})}) == []


LOGS = st.lists(st.lists(st.sampled_from([b"a", b"b", b"c"]), min_size=1, max_size=4), max_size=6)


@given(logs=st.lists(LOGS, min_size=2, max_size=3), cut=st.integers(1, 5), compacted=st.booleans())
@settings(max_examples=150)
def test_comparison_is_what_a_plain_one_by_offset_would_say(tmp_path_factory, logs, cut, compacted):
    """Batches are cut at random, so aligned runs, misaligned runs and lags all come up."""
    replicas: dict[str, Replica] = {}
    root = tmp_path_factory.mktemp("replicas")
    for number, groups in enumerate(logs):
        segments: dict[int, bytes] = {}
        offset = 0
        for index, group in enumerate(groups):
            base = offset if index % cut == 0 else max(segments)
            segments[base] = segments.get(base, b"") + batch(offset, values(*group))
            offset += len(group)
        replicas[str(number)] = write_replica(root / str(number) / "t-0", segments or {0: b""})
    plain = {broker: by_offset(replica) for broker, replica in replicas.items()}
    stop = min(replica.leo for replica in replicas.values())
    expected = [offset for offset in range(stop) if len({plain[broker][offset].value for broker in replicas}) > 1]
    assert [each.offset for each in r.compare(replicas, compacted=compacted)] == expected


def by_offset(replica: Replica) -> dict[int, Record]:
    from harness.formats.batches import records

    found = {}
    for segment in replica.segments:
        for each in records(segment.path.read_bytes()):
            assert isinstance(each, Record)
            found[each.offset] = each
    return found
