"""Moving pictures: what a frame shows can be, each mark has one meaning, and nobody has to see it move."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape

import pytest

from pages.site import chapters, lessons, moving
from pages.site.moving import Asked, DrawnReplica, Frame, Moving, Row, Sent, Strip
from pages.site.render import TEMPLATES

PICTURES = [chapter.lesson for chapter in chapters.CHAPTERS]
CSS = (TEMPLATES / "site.css").read_text()
SCRIPT = (TEMPLATES / "movie.js").read_text()


def leader(log: str, hw: int | None = None, name: str = "a", epoch: int = 0) -> DrawnReplica:
    return DrawnReplica(name, f"leader, epoch {epoch}", log, hw)


def follower(log: str, name: str = "b") -> DrawnReplica:
    return DrawnReplica(name, "follower", log)


def picture(*strips: Strip, parts: tuple[str, ...] = ()) -> Moving:
    """A picture with a frame for each strip."""
    named = parts or ("",) * len(strips)
    return Moving("t", "about", tuple(Frame("", (one,), part) for one, part in zip(strips, named, strict=True)))


def looks(svg: str) -> list[tuple[str, str]]:
    """The records of a drawing: how each looks, and its letter."""
    return re.findall(r'<g class="([a-z ]+)"><rect[^>]*/><text[^>]*>(.)</text>', svg)


def still(one: Moving, index: int, strip: int = 0) -> str:
    return moving._svg(one, strip, index)


@pytest.mark.parametrize("one", PICTURES, ids=lambda one: one.id)
def test_what_a_frame_shows_can_be(one: Moving) -> None:
    assert list(moving.problems(one)) == []
    assert len(one.frames) >= 4


@pytest.mark.parametrize(
    ("strip", "told"),
    [
        (Strip((leader("ab", 3),)), "above its log's end"),
        (Strip((leader("ab"),), Sent("p", "b", "lost")), "has a record that is lost"),
        (Strip((leader(""), leader("", name="b"))), "two leaders"),
    ],
)
def test_what_cannot_be_is_found(strip: Strip, told: str) -> None:
    assert told in " ".join(moving.problems(picture(strip)))


def test_two_leaders_of_different_epochs_can_be() -> None:
    assert list(moving.problems(picture(Strip((leader("ab"), leader("a/C", name="b", epoch=1)))))) == []


@pytest.mark.parametrize(
    "other",
    [
        Strip((follower("", "c"),)),
        Strip((leader(""),), Sent("p")),
        Strip((leader(""),), rows=(Row("controller", "x"),)),
    ],
)
def test_a_frame_has_the_lanes_of_the_first(other: Strip) -> None:
    assert any("other lanes" in one for one in moving.problems(picture(Strip((leader(""),)), other)))


def test_a_caption_that_is_too_long_is_found() -> None:
    long = Frame("word " * (moving.LONGEST + 1), (Strip((leader(""),)),))
    assert any("words" in one for one in moving.problems(Moving("t", "", (long,))))


def test_a_frame_is_shown_as_long_as_its_words_take() -> None:
    short, long = Frame("two words", ()), Frame("word " * 34, ())
    assert moving.seconds(short) < 4 < 12 < moving.seconds(long)
    for one in PICTURES:
        for frame in one.frames:
            assert len(frame.caption.split()) / moving.seconds(frame) * 60 < 230


# What follows from the frames


def test_a_record_is_hollow_until_it_is_committed_and_filled_from_then_on() -> None:
    one = picture(
        Strip((leader("ab", 1), follower("a"))),
        Strip((leader("ab", 2), follower("ab"))),
        Strip((DrawnReplica("a", "down", "ab"), follower("ab"))),
    )
    assert [looks(still(one, index)) for index in range(3)] == [
        [("record", "a"), ("open", "b"), ("record", "a")],
        [("record", "a"), ("record", "b")] * 2,
        [("down", "a"), ("down", "b"), ("record", "a"), ("record", "b")],
    ]


def test_dashed_says_that_a_record_is_on_no_disk_and_nothing_else() -> None:
    one = picture(Strip((DrawnReplica("a", "leader", "ab", 2, memory=1),)))
    assert looks(still(one, 0)) == [("record", "a"), ("record memory", "b")]
    assert re.findall(r"\.movie ([^{}]*) \{[^}]*stroke-dasharray", CSS) == [".memory rect"]
    assert [one.id for one in PICTURES if " memory" in moving.drawn(one)] == ["durability"]


def test_a_lost_record_is_red_where_it_is_missing_and_not_where_it_is() -> None:
    one = picture(
        Strip((leader("ab", 2), follower("ab"), follower("a", "c")), Sent("p", "b", "acknowledged")),
        Strip((DrawnReplica("a", "down", "ab"), follower("ab"), leader("a", 1, "c", 1)), Sent("p", "b", "lost")),
    )
    assert looks(still(one, 1)) == [
        ("lost", "b"),  # at the producer
        ("down", "a"), ("down", "b"),
        ("record", "a"), ("record", "b"),
        ("record", "a"), ("lost", "b"),
    ]  # fmt: skip


def test_an_offset_that_another_record_took_shows_that_record() -> None:
    one = picture(
        Strip((leader("ab", 2),), Sent("p", "b", "acknowledged")),
        Strip((leader("a/C", 2, epoch=1),), Sent("p", "b", "lost")),
    )
    assert looks(still(one, 1)) == [("lost", "b"), ("record", "a"), ("record", "C")]


def test_a_record_that_a_log_has_just_lost_is_crossed_out_for_one_frame() -> None:
    strips = Strip((follower("ax"),)), Strip((follower("a"),)), Strip((follower("a"),))
    found = [looks(still(picture(*strips), index))[1:] for index in range(3)]
    assert found == [[("open", "x")], [("removed", "x")], []]
    apart = picture(*strips, parts=("1", "2", "2"))
    assert looks(still(apart, 1)) == [("open", "a")]


def test_records_before_the_log_start_are_not_drawn_as_held() -> None:
    held = DrawnReplica("a", "leader", "ab", 2)
    one = picture(
        Strip((held,), Sent("p", "ab", "acknowledged")),
        Strip((replace(held, start=2),), Sent("p", "ab", "lost")),
        Strip((replace(held, start=2),), Sent("p")),
    )
    assert looks(still(one, 1))[2:] == [("lost", "a"), ("lost", "b")]
    assert "start 2, end 2" in still(one, 1)
    assert looks(still(one, 2)) == []


def test_records_bear_epochs_in_the_strips_that_have_them() -> None:
    one = replace(picture(Strip((leader("ab/C", 3, epoch=1),))), epochs=(0,))
    assert re.findall(r'class="epoch">(e\d)<', still(one, 0)) == ["e0", "e0", "e1"]
    assert 'class="epoch"' not in still(replace(one, epochs=()), 0)


def test_a_question_is_an_arrow_with_its_words() -> None:
    one = picture(Strip((leader("a"), follower("a")), asked=Asked("epoch 0 ends at?", 1, 0)))
    assert ">epoch 0 ends at?</text>" in still(one, 0)
    (down, up) = re.findall(r'class="asked"><path d="M\d+ (\d+)V(\d+)', still(one, 0))[0]
    assert int(down) > int(up)


# The lessons


def test_there_are_ten_and_the_first_is_the_staircase() -> None:
    assert len({one.id for one in PICTURES}) == 10
    assert [one.id for one in PICTURES if one.plot] == ["high-watermark"]
    frames = lessons.WATERMARK.frames[1:5]
    ends = [[(len(one.log), one.hw) for one in frame.strips[0].replicas] for frame in frames]
    assert ends == [[(4, 3), (3, 3)], [(4, 3), (4, 3)], [(4, 4), (4, 3)], [(4, 4), (4, 4)]]


def test_the_lesson_on_truncation_has_both_ways_beside_each_other() -> None:
    one = lessons.TRUNCATION
    assert len(one.names) == 2
    assert all(word in name for word, name in zip(("0.10", "0.11"), one.names, strict=True))
    old, new = one.frames[-2].strips
    assert (old.lost, new.lost) == ("d", "")
    assert [strip.replicas[2].records for strip in (old, new)] == ["abc", "abcd"]
    said = [frame.strips[1].asked.words for frame in one.frames if frame.strips[1].asked]
    assert said == ["epoch 0 ends at?", "it ends at 3", "epoch 0 ends at?", "it ends at 4"]
    assert not any(frame.strips[0].asked for frame in one.frames)
    assert len({frame.part for frame in one.frames}) == 2


def test_an_answer_to_a_follower_is_where_the_leaders_epoch_ends() -> None:
    for frame in lessons.TRUNCATION.frames:
        asked = frame.strips[1].asked
        if asked and asked.words.startswith("it ends at"):
            epochs = frame.strips[1].replicas[asked.begin].epochs
            assert asked.words == f"it ends at {epochs.count(0)}"


@pytest.mark.parametrize("one", PICTURES, ids=lambda one: one.id)
def test_no_two_frames_in_a_row_are_the_same_drawing(one: Moving) -> None:
    for index in range(1, len(one.frames)):
        assert one.frames[index].strips != one.frames[index - 1].strips, index


def test_what_would_happen_instead_is_a_part_of_its_own() -> None:
    told = {one.id for one in PICTURES for frame in one.frames if frame.instead}
    assert told == {"placement", "brokers", "producers", "durability", "bugs"}
    for one in PICTURES:
        assert {frame.instead for frame in one.frames if frame.part.startswith("Instead")} <= {True}
        assert all(frame.part.startswith("Instead") for frame in one.frames if frame.instead)
    assert moving.drawn(lessons.PRODUCERS).count('<p class="instead"><b class="part">Instead') == 3


# The page


@pytest.mark.parametrize("one", PICTURES, ids=lambda one: one.id)
def test_each_frame_is_there_without_a_script_and_in_words(one: Moving) -> None:
    drawn = moving.drawn(one)
    stills = drawn.partition('<ol class="stills">')[2]
    assert len(re.findall("<li[ >]", stills)) == len(one.frames)
    assert stills.count("<svg") == len(one.frames) * len(one.names)
    assert all(escape(frame.caption) in stills for frame in one.frames)
    assert "<script" not in drawn
    assert "data-in" not in stills
    assert f"1 of {len(one.frames)}<" in drawn


@pytest.mark.parametrize("one", PICTURES, ids=lambda one: one.id)
def test_the_legend_has_the_marks_of_the_picture_and_no_others(one: Moving) -> None:
    drawn = moving.drawn(one)
    legend = re.search(r'<ul class="marks".*?</ul>', drawn, re.DOTALL)
    assert legend
    stage = drawn.partition('<ul class="marks"')[0]
    for sign, _, _, words in moving.MARKS:
        assert (words in legend[0]) == (sign in stage), words


def test_without_a_script_and_in_print_all_frames_are_seen() -> None:
    assert ".movie > .controls, .movie > .stage { display: none; }" in CSS
    assert re.search(r"\n\.stills \{ display: grid;", CSS)
    printed = CSS[CSS.rindex("@media print {") :]
    assert ".movie > .stills, .movie.live > .stills { display: grid;" in printed
    assert ".movie.live > .controls, .movie.live > .stage { display: none; }" in printed


def test_nothing_moves_for_who_asks_for_less_motion_and_nothing_plays_by_itself() -> None:
    moving_rules = [line for line in CSS.splitlines() if ".movie" in line and "transition" in line]
    assert moving_rules
    assert all("prefers-reduced-motion: no-preference" in line for line in moving_rules)
    assert "animation" not in CSS
    assert SCRIPT.rstrip().endswith('movie.classList.add("live");\n  show(0);\n}')


def test_what_stays_is_drawn_once_and_what_changes_says_when() -> None:
    one = picture(Strip((leader("x", 0),)), Strip((leader("xy", 1),)))
    stage = moving.drawn(one).partition("<ul")[0]
    assert [letter for _, letter in looks(stage)].count("y") == 1
    assert '<g data-in="01" class="off">' in stage
    assert f'data-at="0,{moving.CELL}"' in stage
