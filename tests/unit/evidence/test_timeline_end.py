"""The end of a timeline."""

from __future__ import annotations

from pathlib import Path

from evidence.events import End, Note
from evidence.timeline import Timeline, read


def test_after_its_end_nothing_is_written(tmp_path: Path) -> None:
    with Timeline(tmp_path / "timeline.jsonl") as timeline:
        timeline.append(Note(text="one"))
        timeline.append(End(run="r1"))
        timeline.append(Note(text="late"))
    one, end = read(tmp_path / "timeline.jsonl").events
    assert isinstance(one, Note)
    assert isinstance(end, End)
    assert end.lines == 1
