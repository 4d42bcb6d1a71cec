"""The table of what the unit tests run."""

from __future__ import annotations

from pathlib import Path

from coverage import CoverageData

from tests.covered import ROOT, by_room, table


def test_what_was_run_is_counted_by_room(tmp_path: Path) -> None:
    data, file = CoverageData(str(tmp_path / "data")), str(ROOT / "kafkafiles" / "crc.py")
    data.add_lines({file: range(1, 1000), str(ROOT / "scenarios" / "baseline.py"): [], "a.html.j2": [1]})
    data.write()
    rooms = by_room(tmp_path / "data")
    assert {room: run == every for room, (every, run) in rooms.items()} == {"kafkafiles": True, "scenarios": False}
    assert rooms["scenarios"][1] == 0


def test_the_first_line_has_the_total() -> None:
    lines = table({"a": (200, 150), "b": (100, 0)}).splitlines()
    assert lines[0] == "Coverage of product code by unit tests: 50 % of 300 statements"
    assert lines[-2:] == ["| a | 200 | 75 % |", "| b | 100 | 0 % |"]
