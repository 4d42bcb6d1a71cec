"""Files written by real brokers, held record by record against what Kafka's own DumpLogSegments printed of them.

tests/data/segments is made by tests/integration/make_segments.py; tests/integration/test_dump_log_segments.py makes
it anew from brokers.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkafiles import batches as log
from kafkafiles import checkpoints, codecs, metadata_image, metadata_log, replica
from kafkafiles.batches import BatchHeader
from tests.unit.kafkafiles import dumps

DATA = Path(__file__).parents[2] / "data" / "segments"
VERSIONS = sorted(path.name for path in DATA.iterdir() if path.is_dir())
PARTITIONS = sorted(path for version in VERSIONS for path in (DATA / version).iterdir() if path.is_dir())


def name(path: Path) -> str:
    return f"{path.parent.name}-{path.name}"


@pytest.mark.parametrize("directory", PARTITIONS, ids=name)
def test_every_file_is_read_as_the_brokers_own_tool_reads_it(directory):
    assert dumps.compare_directory(directory) > 0


@pytest.mark.parametrize("directory", [path for path in PARTITIONS if not path.name.startswith("__")], ids=name)
def test_replicas_are_read(directory):
    found = replica.read_replica(directory)
    assert (found.leo, found.start_offset, found.problems, found.notes) == (12, 0, (), ())
    high_watermarks = checkpoints.read_offset_checkpoint(directory.parent / checkpoints.HIGH_WATERMARKS)
    assert high_watermarks.offsets[found.topic, 0] == 12
    assert replica.examine({"1": directory, "2": directory}).differences == ()


def codecs_seen(version: str) -> set[tuple[int, int]]:
    return {
        (header.magic, header.codec)
        for path in (DATA / version).rglob("*.log")
        for header in log.scan_batches(path.read_bytes())
        if isinstance(header, BatchHeader)
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_every_codec_of_the_version_is_there(version):
    magic = {"0.8.2.2": 0, "0.9.0.1": 0, "0.10.2.2": 1}.get(version, 2)
    numbers = range(5) if version in ("2.8.2", "4.3.1") else range(4)
    assert {(magic, codec) for codec in numbers} <= codecs_seen(version)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_log_directorys_own_files(version):
    directory = DATA / version
    recovery = checkpoints.read_offset_checkpoint(directory / checkpoints.RECOVERY_POINTS)
    assert recovery.offsets["gzip-client", 0] == 12
    epoch = checkpoints.read_clean_shutdown(directory / checkpoints.CLEAN_SHUTDOWN.lstrip(".")).broker_epoch
    assert (epoch is None) == (version != "4.3.1")
    if version != "0.8.2.2":
        assert checkpoints.read_meta_properties(directory / checkpoints.META_PROPERTIES).node_id == 1


def test_the_image_of_a_real_metadata_log():
    directory = DATA / "4.3.1" / "__cluster_metadata-0"
    data = (directory / "00000000000000000000.log").read_bytes()
    events, position = metadata_log.decode_from(data)
    assert position == len(data)
    assert not [event for event in events if event.kind in ("UNKNOWN", "CORRUPT")]
    image = metadata_image.MetadataImage().apply_all(events)
    state = image.partitions["gzip-client", 0]
    assert (image.controller, state.replicas, state.leader, state.leader_epoch, state.elr) == (100, (1,), -1, 1, (1,))
    assert image.brokers[1].fenced  # it was stopped
    assert checkpoints.read_quorum_state(directory / checkpoints.QUORUM_STATE).leader_id == 100
    before = metadata_image.MetadataImage().apply_all(event for event in events if event.offset < state.offset)
    assert before.partitions["gzip-client", 0].leader == 1
    assert not before.brokers[1].fenced


def test_kafkas_odd_lz4_framing_is_in_the_files_of_old_brokers():
    """If it were not, the tests above would not show that it is read."""
    data = (DATA / "0.8.2.2" / "lz4-client-0" / "00000000000000000000.log").read_bytes()
    frame = data[data.index(b"\x04\x22\x4d\x18") :]
    assert frame[6] == (codecs.xxh32(frame[:6]) >> 8) & 0xFF
    assert frame[6] != (codecs.xxh32(frame[4:6]) >> 8) & 0xFF
    assert len(list(log.records(data))) == 12
