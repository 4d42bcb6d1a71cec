"""Damaged files: never a crash, a hang or a silent "fine".

Each case takes a sound log of one kind, damages it, and reads it in every way there is. "Silently fine" would be: no
`Corrupt`, although records are not what was written. Bytes that no checksum of the format covers may change unseen,
and those are named here: in format 2 the offset, the size, the leader epoch and the magic byte; in formats 0 and 1
the offset and the size. There the damage must still be confined: what changed is an offset or an epoch, or the end of
what can be read, never a key or a value.

KAFKA_CHAOS_MUTATIONS sets how many files are damaged (3000 otherwise); it prints the seed of a failure through the
assertion.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kafkafiles import batches as log
from kafkafiles import (
    checkpoints,
    columns,
    group_log,
    group_records,
    indexes,
    metadata_image,
    metadata_log,
    metadata_records,
)
from kafkafiles.batches import Corrupt, Record
from kafkafiles.errors import ParseError
from kafkafiles.replica import examine
from tests.unit.kafkafiles.encode import GZIP, LZ4, NONE, SNAPPY, ZSTD, R, batch, compact_ints, message, wrapper
from tests.unit.kafkafiles.test_indexes import index, snapshot, time_index
from tests.unit.kafkafiles.test_metadata_log import broker, change, partition, topic
from tests.unit.kafkafiles.test_metadata_log import log as metadata

MUTATIONS = int(os.environ.get("KAFKA_CHAOS_MUTATIONS", "3000"))
LIMIT = 1 << 20
DATA = Path(__file__).parents[2] / "data"

SOME = [
    R(key=b"k%d" % at, value=bytes([at]) * (at * 7), headers=((b"h", b"v"),), timestamp=1000 + at) for at in range(6)
]


def logs() -> dict[str, bytes]:
    found = {}
    for codec, name in ((NONE, "none"), (GZIP, "gzip"), (SNAPPY, "snappy"), (LZ4, "lz4"), (ZSTD, "zstd")):
        found[f"2-{name}"] = b"".join(batch(at, SOME, codec=codec, producer=(3, 0, at)) for at in (0, 6, 12))
        if codec not in (NONE, ZSTD):
            for magic in (0, 1):
                found[f"{magic}-{name}"] = b"".join(wrapper(at, SOME, magic=magic, codec=codec) for at in (0, 6, 12))
    for magic in (0, 1):
        found[f"{magic}-none"] = b"".join(message(at, SOME[at % 6], magic=magic) for at in range(18))
    found["2-snappy-raw"] = batch(0, SOME, codec=SNAPPY, framing="raw") * 1
    return found


LOGS = logs()


def damage(data: bytes, dice: random.Random) -> bytes:
    bad = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 5))):
        if not bad:
            break
        at = dice.randrange(len(bad))
        how = dice.randrange(8)
        if how == 0:
            bad[at] ^= 1 << dice.randrange(8)
        elif how == 1:
            bad[at] = dice.choice((0, 0x7F, 0x80, 0xFF))
        elif how == 2:
            del bad[at:]
        elif how == 3:
            del bad[at : at + dice.randrange(1, 9)]
        elif how == 4:
            bad[at:at] = dice.randbytes(dice.randrange(1, 9))
        elif how == 5:
            bad[at : at + 4] = dice.choice((b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\0"))
        elif how == 6:
            bad[at : at + 40] = bytes(len(bad[at : at + 40]))
        else:
            other = dice.randrange(len(bad))
            bad[at : at + 16] = bad[other : other + 16]
    return bytes(bad)


def contents(found: list[Record]) -> set[tuple[object, ...]]:
    return {(each.key, each.value, each.headers) for each in found if each.valid}


@pytest.mark.parametrize("kind", sorted(LOGS))
@pytest.mark.slow
def test_damaged_logs(kind):
    data = LOGS[kind]
    written = contents([each for each in log.records(data) if isinstance(each, Record)])
    count = sum(1 for each in log.records(data) if isinstance(each, Record))
    for seed in range(MUTATIONS // len(LOGS)):
        bad = damage(data, random.Random(f"{kind} {seed}"))
        found = list(log.records(bad, limit_bytes=LIMIT))
        read = [each for each in found if isinstance(each, Record)]
        problems = [each for each in found if isinstance(each, Corrupt)]
        assert contents(read) <= written, f"seed {seed}: valid records that were never written"
        whole_entries = len(bad) and sum(each.size for each in log.scan_batches(bad)) == len(bad)
        assert problems or whole_entries or not bad, f"seed {seed}: bytes left over in silence"
        if len(bad) == len(data) and sum(each.valid for each in read) < count:
            assert problems, f"seed {seed}: records gone in silence"
        plain = columns.table(bad, limit_bytes=LIMIT, compiled=False)
        compiled = columns.table(bad, limit_bytes=LIMIT, compiled=True)
        assert plain[0].equals(compiled[0]), f"seed {seed}"
        assert plain[1] == compiled[1] == problems, f"seed {seed}"
        assert plain[0].num_rows == len(read)


@pytest.mark.parametrize("kind", sorted(LOGS))
@pytest.mark.slow
def test_a_damaged_replica_beside_a_sound_one(kind, tmp_path):
    """Compared or looked at alone, compiled or not, it is never found alike and sound."""
    data = LOGS[kind]
    directories = {name: tmp_path / name / "t-0" for name in ("sound", "damaged")}
    for directory in directories.values():
        directory.mkdir(parents=True)
    (directories["sound"] / f"{0:020d}.log").write_bytes(data)
    for seed in range(max(MUTATIONS // len(LOGS) // 10, 10)):
        bad = damage(data, random.Random(f"replica {kind} {seed}"))
        (directories["damaged"] / f"{0:020d}.log").write_bytes(bad)
        found = []
        for compiled_from in (0, 1 << 60):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(columns, "COMPILED_FROM_BYTES", compiled_from)
                found.append(examine(directories))
        assert found[0] == found[1], f"seed {seed}"
        sound, damaged = (found[0].replicas[name] for name in ("sound", "damaged"))
        if damaged.problems or damaged.notes or found[0].differences or damaged.leo != sound.leo:
            continue
        assert told(bad) == told(data), f"seed {seed}: alike, but not the same"


def told(data: bytes) -> list[Record]:
    """What a log says, wherever in the file."""
    return [replace(each, position=0) for each in log.records(data, limit_bytes=LIMIT) if isinstance(each, Record)]


METADATA = metadata(topic(), partition([1, 2], 1), change(t0=compact_ints([1]), t6=compact_ints([2])), broker(1, 9))


def test_damaged_metadata_records_even_where_the_checksum_says_nothing():
    values = [topic(), partition([1, 2], 1, version=2), change(t0=compact_ints([1])), broker(1, 9)]
    for seed in range(MUTATIONS // 4):
        dice = random.Random(f"metadata {seed}")
        kind, _, fields = metadata_records.decode_record(damage(dice.choice(values), dice))
        assert kind
        assert fields is not None


def test_damaged_metadata_logs():
    for seed in range(MUTATIONS // 10):
        bad = damage(METADATA, random.Random(f"log {seed}"))
        events, position = metadata_log.decode_from(bad)
        assert 0 <= position <= len(bad)
        metadata_image.MetadataImage().apply_all(events)


GROUP_RECORDS = [
    [bytes.fromhex(part) for part in line.split("\t")[2:4]]
    for line in (DATA / "group-records" / "4.4.0.tsv").read_text().splitlines()
]


def test_damaged_records_of_groups_even_where_the_checksum_says_nothing():
    for seed in range(MUTATIONS):
        dice = random.Random(f"group {seed}")
        key, value = dice.choice(GROUP_RECORDS)
        found = group_records.decode_record(damage(key, dice), value)
        assert found.kind
        assert group_records.decode_record(key, damage(value, dice)).fields is not None


def test_damaged_logs_of_groups():
    logs = [path.read_bytes() for path in sorted((DATA / "group-logs").glob("*/*/*.log"))]
    for seed in range(MUTATIONS // 10):
        dice = random.Random(f"groups {seed}")
        whole = dice.choice(logs)
        events, sound = list(group_log.events_of(damage(whole, dice))), list(group_log.events_of(whole))
        group_log.commits_of(events)
        group_log.generations_of(events)
        known = [(event.key, event.fields) for event in sound]  # no checksum covers the offset of a batch
        accepted = [(event.key, event.fields) for event in events if event.kind != "CORRUPT"]
        assert all(one in known for one in accepted), f"seed {seed}: accepted as undamaged"


SMALL: dict[str, tuple[bytes, Callable[[bytes], object]]] = {
    "hw": (b"0\n2\nt 0 17\nt 1 0\n", checkpoints.parse_offset_checkpoint),
    "epochs": (b"0\n2\n0 0\n3 17\n", checkpoints.parse_leader_epoch_checkpoint),
    "meta": (b"version=1\nnode.id=3\ncluster.id=x\n", checkpoints.parse_meta_properties),
    "quorum": (b'{"leaderId":1,"leaderEpoch":2,"votedId":-1,"data_version":1}', checkpoints.parse_quorum_state),
    "clean": (b'{"version":0,"brokerEpoch":12}', checkpoints.parse_clean_shutdown),
    "index": (index((3, 100), (9, 300)) + bytes(16), lambda data: indexes.parse_index(data, 0)),
    "timeindex": (time_index((3, 100), (9, 300)), lambda data: indexes.parse_time_index(data, 0)),
    "snapshot": (snapshot((1, 2, 3, 4, 5, 6, 7, -1)), indexes.parse_snapshot),
}


@pytest.mark.parametrize("kind", sorted(SMALL))
def test_damaged_small_files_raise_parse_error_or_parse(kind):
    data, parse = SMALL[kind]
    parse(data)
    refused = 0
    for seed in range(MUTATIONS // 10):
        try:
            parse(damage(data, random.Random(f"{kind} {seed}")))
        except ParseError:
            refused += 1
    assert refused
