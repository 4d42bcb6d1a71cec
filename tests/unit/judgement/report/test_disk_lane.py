"""The lane of a disk: deleted records are outlines, moments stand in order, a file's high watermark is told as one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec
import pytest

from evidence.events import Moment
from judgement.report import facts
from judgement.report.timeline_svg import render
from judgement.report.timeline_svg.drawing import CELL, RIGHT
from tests.unit.judgement.report.synthetic import Synthetic

SEGMENT: Final = "t-0/{:020d}.log"


def made(root: Path, *moments: tuple[float, str, int, int, int]) -> str:
    """The picture of a run of one broker: moments with their time, name, first offset on the disk, log end and high
    watermark.
    """
    run = Synthetic(root, "baseline", "4.3.1", mode="kraft")
    run.cluster(brokers=1, controller=1)
    run.partition(6.2, 1, 0, [1])
    run.send(6.5, 0, 0)
    run.send(19.9, 1, 1)
    for at_s, name, first, leo, hw in moments:
        run.moment(at_s, name, broker_1=(leo, hw))
        told = run.events[-1]
        assert isinstance(told, Moment)
        files = {"broker-1": {SEGMENT.format(first): 100, "t-0/leader-epoch-checkpoint": 8}}
        run.events[-1] = msgspec.structs.replace(told, files=files)
    run_dir = run.write(ended_s=20.0)
    facts.judge_run(run_dir)
    return render(facts.load(run_dir))


def at(svg: str, moment: str) -> str:
    """What is drawn of the disk at a moment."""
    found = re.search(rf"<g><title>[^<]*“{moment}”: on [^<]*</title>(.*?)</g>", svg)
    assert found, moment
    return found[1]


def marks(drawn: str) -> list[tuple[str, float]]:
    return [(look, float(x)) for x, look in re.findall(r'<rect x="([\d.]+)"[^>]*class="(cell|gone)"', drawn)]


def label(drawn: str) -> tuple[float, float, str]:
    found = re.search(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)<', drawn)
    assert found
    return float(found[1]), float(found[2]), found[3]


def test_deleted_records_are_outlines_and_held_ones_are_cells(tmp_path: Path) -> None:
    svg = made(tmp_path, (8.0, "00-armed", 0, 5, 5), (12.0, "01-after", 5, 5, 5), (15.0, "02-half", 2, 5, 5))
    assert [look for look, _ in marks(at(svg, "armed"))] == ["cell"] * 5
    assert [look for look, _ in marks(at(svg, "after"))] == ["gone"] * 5
    assert [look for look, _ in marks(at(svg, "half"))] == ["gone", "gone", "cell", "cell", "cell"]
    assert label(at(svg, "armed"))[2] == "LEO 5 HW 5"
    assert label(at(svg, "after"))[2] == "empty, LEO 5 HW 5"
    assert ">deleted record<" in svg


def test_without_a_deletion_no_outline_is_drawn_nor_explained(tmp_path: Path) -> None:
    svg = made(tmp_path, (8.0, "00-armed", 0, 5, 5))
    assert 'class="gone"' not in svg
    assert ">deleted record<" not in svg


def test_what_is_drawn_left_of_its_time_has_a_line_of_its_own(tmp_path: Path) -> None:
    """Two moments at the end of the picture, after one for which there was room: no line runs backwards."""
    svg = made(tmp_path, (18.3, "00-armed", 0, 5, 5), (19.8, "01-after", 5, 5, 5), (19.9, "02-final", 5, 5, 5))
    places = [label(at(svg, name)) for name in ("armed", "after", "final")]
    by_line: dict[float, list[float]] = {}
    for x, y, _ in places:
        by_line.setdefault(y, []).append(x)
    assert all(xs == sorted(xs) for xs in by_line.values())
    assert len({places[1][1], places[2][1]}) == 2
    assert places[0][1] < places[1][1] < places[2][1]
    for name in ("after", "final"):
        assert max(x for _, x in marks(at(svg, name))) + CELL <= RIGHT
        assert 'class="lane"' in at(svg, name)


def test_moments_with_room_share_a_line(tmp_path: Path) -> None:
    svg = made(tmp_path, (8.0, "00-armed", 0, 2, 2), (14.0, "01-after", 0, 3, 3))
    (first, y, _), (second, other, _) = label(at(svg, "armed")), label(at(svg, "after"))
    assert y == other
    assert first < second


@pytest.mark.parametrize(("hw", "told"), [(9, "LEO 4, HW file: 9"), (4, "LEO 4 HW 4")])
def test_a_high_watermark_above_the_log_end_is_told_to_be_of_a_file(tmp_path: Path, hw: int, told: str) -> None:
    drawn = at(made(tmp_path, (8.0, "00-armed", 0, 4, hw)), "armed")
    assert label(drawn)[2] == told
    assert ('class="high-watermark"' in drawn) == (hw <= 4)
