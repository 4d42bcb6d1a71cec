from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkafiles import side_by_side
from kafkafiles.errors import RequestError
from tests.unit.kafkafiles.encode import R, batch
from tests.unit.kafkafiles.test_replica import values

ABC = batch(0, values(b"a", b"b")) + batch(2, [R(key=b"k", value=bytes(60))])


def put(directory: Path, data: bytes) -> Path:
    directory.mkdir(parents=True)
    (directory / f"{0:020d}.log").write_bytes(data)
    return directory


def test_log_directories_that_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for broker in ("broker-1", "broker-2"):
        put(tmp_path / broker / "kafka" / "t-0", ABC)
        put(tmp_path / broker / "kafka" / "u-1", ABC)
    status = side_by_side.main([str(tmp_path / broker / "kafka") for broker in ("broker-1", "broker-2")])
    assert status == 0
    assert capsys.readouterr().out == (
        "t-0: alike (broker-1 0…3, broker-2 0…3)\nu-1: alike (broker-1 0…3, broker-2 0…3)\n"
    )


def test_the_first_differences_are_shown_record_by_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    one = put(tmp_path / "a" / "t-0", ABC)
    two = put(tmp_path / "b" / "t-0", batch(0, values(b"a", b"X")) + batch(2, [R(key=b"k", value=b"z")], epoch=7))
    assert side_by_side.main([str(one), str(two)]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "t-0: 2 offsets differ (a 0…3, b 0…3)"
    assert shown[1] == "  offset 1: value"
    assert "value b (1 bytes, crc" in shown[2]
    assert "value X (1 bytes, crc" in shown[3]
    assert shown[4] == "  offset 2: value, leader_epoch"
    assert "value 0x0000" in shown[5]
    assert "… (60 bytes" in shown[5]
    assert "epoch 7" in shown[6]
    assert side_by_side.main([str(one), str(two), "--limit", "1", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["alike"], found["more_differences"], found["differences"][0]["offset"]) == (False, True, 1)
    assert found["differences"][0]["records"]["b"]["value"] == b"X".hex()


def test_corruption_is_not_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    bad = ABC + batch(3, values(b"d"), crc=1) + bytes(100)
    assert side_by_side.main([str(put(tmp_path / name / "t-0", bad)) for name in ("a", "b")]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "t-0: alike, but not sound (a 0…4, b 0…4)"
    assert shown[1].startswith("  a: segment 0, byte")
    assert len(shown) == 3  # the zeros at the end are normal


def test_nothing_to_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    one, two = put(tmp_path / "a" / "t-0", ABC), put(tmp_path / "b" / "u-0", ABC)
    with pytest.raises(RequestError, match="they hold t-0, u-0"):
        side_by_side.compare_directories([one, two])
    assert side_by_side.main([str(tmp_path / "none")]) == 254
    assert "not a directory" in capsys.readouterr().err
    assert side_by_side.main([str(one), str(two), "--limit", "0"]) == 254
    (tmp_path / "empty").mkdir()
    with pytest.raises(RequestError, match="no partition"):
        side_by_side.compare_directories([tmp_path / "empty"])


def test_partitions_that_only_one_has_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for broker in ("a", "b"):
        put(tmp_path / broker / "t-0", ABC)
    put(tmp_path / "b" / "u-0", ABC)
    assert side_by_side.main([str(tmp_path / broker) for broker in ("a", "b")]) == 0
    assert capsys.readouterr().out.splitlines() == ["t-0: alike (a 0…3, b 0…3)", "u-0: only in b, not compared"]


def test_a_torn_end_is_normal_and_a_torn_middle_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    one = put(tmp_path / "a" / "t-0", ABC + batch(3, values(b"d")))
    two = put(tmp_path / "b" / "t-0", ABC + batch(3, values(b"d"))[:-1])
    assert side_by_side.main([str(one), str(two)]) == 0
    assert capsys.readouterr().out == "t-0: alike (a 0…4, b 0…3)\n"
    (two / f"{4:020d}.log").write_bytes(batch(4, values(b"e")))
    (one / f"{4:020d}.log").write_bytes(batch(4, values(b"e")))
    assert side_by_side.main([str(one), str(two)]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "t-0: 1 offset differs (a 0…5, b 0…5)"
    assert shown[1].startswith(f"  b: segment 0, byte {len(ABC)}: torn: an entry of 69 bytes at offset 3, of which 68")
    assert shown[2:5:2] == ["  offset 3: record", "    b  no record"]


def test_a_segment_that_is_missing_in_the_middle(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name, bases in (("a", (0, 3, 4)), ("b", (0, 4))):
        directory = put(tmp_path / name / "t-0", ABC)
        for base in bases[1:]:
            (directory / f"{base:020d}.log").write_bytes(batch(base, values(b"d")))
    assert side_by_side.main([str(tmp_path / "a" / "t-0"), str(tmp_path / "b" / "t-0")]) == 1
    assert "  offset 3: record" in capsys.readouterr().out.splitlines()


def test_a_file_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch):
    paths = [str(put(tmp_path / name / "t-0", ABC)) for name in ("a", "b")]

    def refuse(path: Path, flags: int) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("kafkafiles.walk.os.open", refuse)
    assert side_by_side.main(paths) == 254
    error = capsys.readouterr().err
    assert error.endswith("00000000000000000000.log: cannot be read: Permission denied\n")
    assert len(error.splitlines()) == 1


def test_a_file_that_its_broker_cuts_meanwhile(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch):
    paths = [str(put(tmp_path / name / "t-0", ABC)) for name in ("a", "b")]
    monkeypatch.setattr("kafkafiles.walk.os.preadv", lambda *_: 0)
    assert side_by_side.main(paths) == 254
    assert "cut at byte 0 while it was read; compare copies" in capsys.readouterr().err


def test_names_tell_the_directories_apart(tmp_path: Path):
    paths = [tmp_path / "r" / "00-armed" / "broker-1" / "t-0", tmp_path / "r" / "01-final" / "broker-1" / "t-0"]
    assert side_by_side._names(paths) == ["00-armed", "01-final"]
