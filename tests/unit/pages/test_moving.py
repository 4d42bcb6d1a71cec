"""Moving pictures: what a frame shows can be, each chapter has one, and nobody has to see it move."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape

import pytest

from pages.site import chapters, lessons, moving
from pages.site.moving import DrawnReplica, Frame, Moving
from pages.site.render import TEMPLATES

PICTURES = [chapter.lesson for chapter in chapters.CHAPTERS]
CSS = (TEMPLATES / "site.css").read_text()


@pytest.mark.parametrize("picture", PICTURES, ids=lambda one: one.id)
def test_what_a_frame_shows_can_be(picture: Moving) -> None:
    assert list(moving.problems(picture)) == []
    assert len(picture.frames) >= 4


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (Frame("", (DrawnReplica("a", "leader, epoch 0", "ab", 3),)), "above its log's end"),
        (Frame("", (DrawnReplica("a", "leader, epoch 0", "ab"),), lost="b"), "has a record that is lost"),
        (
            Frame("", (DrawnReplica("a", "leader, epoch 0", ""), DrawnReplica("b", "leader, epoch 0", ""))),
            "two leaders",
        ),
    ],
)
def test_what_cannot_be_is_found(frame: Frame, told: str) -> None:
    assert told in " ".join(moving.problems(Moving("x", "", (frame,))))


def test_a_frame_has_the_replicas_of_the_first() -> None:
    other = Frame("", (DrawnReplica("b", "follower", ""),))
    picture = replace(lessons.WATERMARK, frames=(*lessons.WATERMARK.frames, other))
    assert any("other replicas" in one for one in moving.problems(picture))


def test_there_are_ten_and_the_first_is_the_staircase() -> None:
    assert len({one.id for one in PICTURES}) == 10
    assert [one.id for one in PICTURES if one.plot] == ["high-watermark"]
    frames = lessons.WATERMARK.frames[1:5]
    ends = [[(len(one.log), one.hw) for one in frame.replicas] for frame in frames]
    assert ends == [[(4, 3), (3, 3)], [(4, 3), (4, 3)], [(4, 4), (4, 3)], [(4, 4), (4, 4)]]


@pytest.mark.parametrize("picture", PICTURES, ids=lambda one: one.id)
def test_each_frame_is_there_without_motion_and_in_words(picture: Moving) -> None:
    drawn = moving.drawn(picture)
    assert drawn.count("<li>") == len(picture.frames)
    assert drawn.count("<svg") == len(picture.frames) + 1
    assert all(escape(frame.caption) in drawn for frame in picture.frames)
    assert "<script" not in drawn


def test_who_asks_for_less_motion_or_prints_sees_frames() -> None:
    for media in ("prefers-reduced-motion: reduce", "print"):
        found = re.findall(rf"@media \(?{media}\)? \{{(.*?)\}} \}}|@media \(?{media}\)? \{{(.*?)\n\}}", CSS, re.DOTALL)
        assert any(".movie > .strip { display: grid" in text for pair in found for text in pair), media


def test_what_stays_is_drawn_once_and_what_changes_moves() -> None:
    frames = (
        Frame("one", (DrawnReplica("a", "leader, epoch 0", "x", 0),)),
        Frame("two", (DrawnReplica("a", "leader, epoch 0", "xy", 1),)),
    )
    drawn = moving.drawn(Moving("t", "about", frames)).partition("<ol")[0]
    assert drawn.count(">x<") == drawn.count(">y<") == 1
    assert "@keyframes m-t-hw-0{0.00%{transform:translateX(0px)}" in drawn
    assert "translateX(40px)" in drawn
