"""Reading and copying replicas' files while a broker may write, truncate and delete them."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import pytest

from evidence.events import Ends
from harness.observers import replicas
from harness.observers.replicas import (
    SegmentEnds,
    copy_replicas,
    copy_sparse,
    copy_whole,
    directory_of,
    leo_and_hw,
    log_end_offset,
)


def message(offset: int, value: bytes = b"value") -> bytes:
    """An entry of format 0: all that matters here is where it ends and which offset it has."""
    body = struct.pack(">bbi", 0, 0, -1) + struct.pack(">i", len(value)) + value
    entry = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", offset, len(entry)) + entry


def log(*offsets: int) -> bytes:
    return b"".join(message(offset) for offset in offsets)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two nodes; t-0 has records 0 to 3 on the first, 0 to 2 on the second."""
    for node, offsets, hw in (("broker-1", (0, 1, 2, 3), 3), ("broker-2", (0, 1, 2), 2)):
        directory = tmp_path / "data" / node / "kafka" / "t-0"
        directory.mkdir(parents=True)
        (directory / f"{0:020d}.log").write_bytes(log(*offsets))
        with (directory / f"{0:020d}.index").open("wb") as index:
            index.truncate(10 << 20)
        (directory / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
        (directory.parent / "replication-offset-checkpoint").write_text(f"0\n1\nt 0 {hw}\n")
        (directory.parent / "t-1").mkdir()
        (directory.parent / "t-10").mkdir()
        (directory.parent / "other-0").mkdir()
        (directory.parent / "__cluster_metadata-0").mkdir()
    return tmp_path / "data"


def segment(data: Path, node: str = "broker-1", base: int = 0) -> Path:
    return data / node / "kafka" / "t-0" / f"{base:020d}.log"


class TestLogEnd:
    def test_end_and_high_watermark(self, data: Path) -> None:
        assert leo_and_hw(data / "broker-1", "t", 0) == (4, 3)
        assert leo_and_hw(data / "broker-2", "t", 0) == (3, 2)

    def test_what_is_not_there_is_minus_one(self, data: Path) -> None:
        assert leo_and_hw(data / "broker-1", "t", 1) == (-1, -1)
        assert leo_and_hw(data / "broker-9", "t", 0) == (-1, -1)
        (data / "broker-1" / "kafka" / "replication-offset-checkpoint").write_text("0\n7\nt 0 1\n")
        assert leo_and_hw(data / "broker-1", "t", 0) == (4, -1)

    def test_an_empty_segment_ends_at_its_base(self, data: Path) -> None:
        segment(data, base=4).touch()
        assert log_end_offset(segment(data).parent, SegmentEnds()) == 4

    def test_only_what_was_appended_is_read(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        ends, path = SegmentEnds(), segment(data)
        assert ends.offset(path) == 4
        read_from: list[int] = []
        pread = os.pread

        def noted(file: int, count: int, at: int) -> bytes:
            read_from.append(at)
            return pread(file, count, at)

        monkeypatch.setattr(os, "pread", noted)
        length = path.stat().st_size
        with path.open("ab") as file:
            file.write(log(4, 5))
        assert ends.offset(path) == 6
        assert read_from == [length - len(message(3)), length]

    def test_half_a_batch_is_not_counted_until_it_is_whole(self, data: Path) -> None:
        ends, path = SegmentEnds(), segment(data)
        entry = message(4)
        for part, end in ((entry[:5], 4), (entry[5:20], 4), (entry[20:], 5)):
            with path.open("ab") as file:
                file.write(part)
            assert ends.offset(path) == end

    def test_a_truncated_segment_is_read_anew(self, data: Path) -> None:
        ends, path = SegmentEnds(), segment(data)
        assert ends.offset(path) == 4
        os.truncate(path, len(log(0, 1)))
        assert ends.offset(path) == 2

    def test_also_if_it_has_grown_again_meanwhile(self, data: Path) -> None:
        ends, path = SegmentEnds(), segment(data)
        assert ends.offset(path) == 4
        path.write_bytes(log(0) + message(1, b"another, longer value") + log(2, 3, 4, 5))
        assert ends.offset(path) == 6

    def test_a_batch_larger_than_a_piece(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(replicas, "PIECE_BYTES", 64)
        segment(data).write_bytes(log(0, 1) + message(2, b"x" * 1000) + log(3))
        assert SegmentEnds().offset(segment(data)) == 4

    def test_older_segments_are_forgotten(self, data: Path) -> None:
        ends, directory = SegmentEnds(), segment(data).parent
        assert log_end_offset(directory, ends) == 4
        segment(data, base=4).write_bytes(log(4))
        assert log_end_offset(directory, ends) == 5
        assert len(ends) == 1


class TestCopies:
    def test_a_moment_has_the_partitions_asked_for_and_the_checkpoints(self, data: Path, tmp_path: Path) -> None:
        moment = tmp_path / "replicas" / "00-armed"
        seen = copy_replicas(data, ["broker-1", "broker-2", "broker-3"], moment, ["t"])
        assert seen == {
            "broker-1": {
                "t-0": Ends(leo=4, hw=3),
                "t-1": Ends(),
                "t-10": Ends(),
            },
            "broker-2": {
                "t-0": Ends(leo=3, hw=2),
                "t-1": Ends(),
                "t-10": Ends(),
            },
            "broker-3": {},
        }
        copied = {str(path.relative_to(moment / "broker-1")) for path in (moment / "broker-1").rglob("*")}
        name = f"{0:020d}"
        assert copied == {
            "replication-offset-checkpoint",
            *("t-0", "t-1", "t-10"),
            *(f"t-0/{name}.log", f"t-0/{name}.index", "t-0/leader-epoch-checkpoint"),
        }
        assert (moment / "broker-1/t-0" / f"{name}.log").read_bytes() == log(0, 1, 2, 3)
        assert [path.name for path in (tmp_path / "replicas").iterdir()] == ["00-armed"]

    def test_what_a_second_log_directory_has_is_put_beside_it(self, data: Path, tmp_path: Path) -> None:
        second = data / "broker-1" / "second" / "kafka" / "t-1"
        second.mkdir(parents=True)
        (data / "broker-1" / "kafka" / "t-1").rmdir()
        (second / f"{0:020d}.log").write_bytes(log(0, 1))
        (second.parent / "replication-offset-checkpoint").write_text("0\n1\nt 1 2\n")
        (second.parent / "recovery-point-offset-checkpoint").write_text("0\n9\n")
        moment = tmp_path / "00-armed"
        seen = copy_replicas(data, ["broker-1", "broker-2"], moment, ["t"])
        assert seen["broker-1"] == {"t-0": Ends(leo=4, hw=3), "t-1": Ends(leo=2, hw=2), "t-10": Ends()}
        assert seen["broker-2"]["t-1"] == Ends()
        assert (moment / "broker-1" / "replication-offset-checkpoint").read_text() == "0\n2\nt 0 3\nt 1 2\n"
        assert leo_and_hw(data / "broker-1", "t", 1) == (2, 2)
        assert leo_and_hw(data / "broker-1", "t", 0) == (4, 3)
        assert directory_of(data / "broker-1", "t-1") == second.parent
        assert directory_of(data / "broker-1", "t-7") == data / "broker-1" / "kafka"

    def test_of_a_topic_with_many_partitions_those_come_that_have_records(self, data: Path, tmp_path: Path) -> None:
        for node, number in (("broker-1", 7), ("broker-1", 8), ("broker-2", 7), ("broker-2", 8)):
            directory = data / node / "kafka" / f"groups-{number}"
            directory.mkdir(parents=True)
            (directory / f"{0:020d}.log").write_bytes(log(0, 1) if (node, number) == ("broker-1", 7) else b"")
        seen = copy_replicas(data, ["broker-1", "broker-2"], tmp_path / "00-final", [], written="groups")
        assert seen == {"broker-1": {"groups-7": Ends(leo=2)}, "broker-2": {"groups-7": Ends(leo=0)}}

    def test_a_moment_is_never_overwritten(self, data: Path, tmp_path: Path) -> None:
        copy_replicas(data, ["broker-1"], tmp_path / "00-armed", ["t"])
        with pytest.raises(OSError, match=r"not empty|exists"):
            copy_replicas(data, ["broker-2"], tmp_path / "00-armed", ["t"])

    def test_files_may_vanish_meanwhile(self, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        copy = replicas.copy_whole

        def copy_whole_and_roll(source: Path, target: Path) -> None:
            copy(source, target)
            if source.suffix == ".log":
                (source.parent / "leader-epoch-checkpoint").unlink(missing_ok=True)

        monkeypatch.setattr(replicas, "copy_whole", copy_whole_and_roll)
        copy_replicas(data, ["broker-1"], tmp_path / "00-armed", ["t"])
        assert (tmp_path / "00-armed/broker-1/t-0" / f"{0:020d}.log").exists()
        assert not (tmp_path / "00-armed/broker-1/t-0/leader-epoch-checkpoint").exists()

    def test_an_index_is_copied_with_its_holes(self, tmp_path: Path) -> None:
        source, target = tmp_path / "a.index", tmp_path / "b.index"
        with source.open("wb") as file:
            file.write(b"entry")
            file.seek(5 << 20)
            file.write(b"more")
            file.truncate(10 << 20)
        copy_sparse(source, target)
        assert target.read_bytes() == source.read_bytes()
        assert target.stat().st_blocks * 512 < 1 << 20

    @pytest.mark.parametrize("content", [b"", b"x", b"\0" * 200_000, b"\0" * 100_000 + b"x" * 100_000 + b"\0" * 5])
    def test_copies_are_the_same_byte_for_byte(self, tmp_path: Path, content: bytes) -> None:
        source = tmp_path / "source"
        source.write_bytes(content)
        for number, copy in enumerate((copy_sparse, copy_whole)):
            copy(source, tmp_path / str(number))
            assert (tmp_path / str(number)).read_bytes() == content

    def test_a_file_system_that_cannot_copy_in_the_kernel(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> int:
            raise OSError(18, "Invalid cross-device link")

        monkeypatch.setattr(os, "copy_file_range", refuse)
        (tmp_path / "a").write_bytes(b"x" * 10_000)
        copy_whole(tmp_path / "a", tmp_path / "b")
        assert (tmp_path / "b").read_bytes() == b"x" * 10_000
