"""Stored pictures as they are drawn today: outcomes stand above them, and no label lies under another."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from html import unescape

import pytest

import results
from evidence.faults.network import BROKEN_LINE
from harness.scenario import all_scenarios
from judgement.report.timeline_svg import STYLE
from judgement.report.timeline_svg.clients import MOST
from judgement.report.timeline_svg.drawing import RIGHT, WIDTH, text_width
from judgement.report.timeline_svg.legend import entries
from judgement.report.timeline_svg.words import below, heading
from pages import answers, counted, pictures
from pages.scenarios import described
from pages.site.scenarios import bug_title, picture

NAMES = sorted(path.name for path in results.picture("baseline.svg").parent.glob("*.svg"))
MISDELIVERED = "museum-misdelivered.svg"
MADE_AGAIN = "museum-made-again.svg"


def rules(style: str) -> set[str]:
    return {rule.strip() for rule in re.findall(r"[^{}]+\{[^}]*\}", style)}


def test_the_rules_of_stored_pictures_are_those_of_the_site() -> None:
    """So none needs its own, which would be a kilobyte or two in each of hundreds."""
    stored = [results.picture(name).read_text(encoding="utf-8") for name in NAMES]
    of_then = {style for svg in stored for style in re.findall(r"<style>(.*?)</style>", svg, re.DOTALL)}
    assert set().union(*map(rules, of_then)) <= rules(STYLE)
    assert not any("<style>" in pictures.bare(svg) for svg in stored)


@pytest.fixture(scope="module")
def told() -> dict[str, results.Value]:
    runs = results.by_scenario()
    return {name: results.shown_of(runs, name.partition(".")[0]) for name in NAMES}


@pytest.fixture(scope="module")
def drawn(told: dict[str, results.Value]) -> dict[str, str]:
    scenarios = {one["name"]: one for one in described()["scenarios"]}
    made = {}
    for name, shown in told.items():
        one = scenarios[name.partition(".")[0]]
        deletes = bool(shown) and answers.deletes(one, shown["case"], shown["version"])
        made[name] = picture(name, shown, deletes=deletes)
    return made


def labels(svg: str) -> Iterator[tuple[float, float, float, str]]:
    """Words within the bands of processes: left, right, height, text."""
    for x, y, words in re.findall(r'<text x="([\d.]+)" y="([\d.]+)" class="(?:on-up )?tiny">([^<]*)</text>', svg):
        yield float(x), float(x) + text_width(words, 10), float(y), words


def collisions(svg: str) -> list[tuple[str, str]]:
    every = sorted(labels(svg), key=lambda one: (one[2], one[0]))
    return [
        (one[3], other[3]) for one, other in itertools.pairwise(every) if one[2] == other[2] and one[1] > other[0] + 1
    ]


def test_no_label_lies_under_another(drawn: dict[str, str]) -> None:
    assert {name: found for name, svg in drawn.items() if (found := collisions(svg))} == {}


def test_a_label_under_another_would_be_found() -> None:
    svg = results.picture("auto-leader-rebalance.svg").read_text()
    assert ("fenced", "up") in collisions(svg)


def test_the_outcome_heads_each_picture_of_a_run(drawn: dict[str, str]) -> None:
    for name, svg in drawn.items():
        for words in re.findall(r'class="headline">(.*?)</text>', svg):
            assert "as-documented" not in words, name
            assert words.startswith("What clients of") or ".offsets." in name or " · " in words, name
            assert text_width(words, 15) <= WIDTH, name


def test_records_deleted_by_request_are_not_called_lost(told: dict[str, results.Value], drawn: dict[str, str]) -> None:
    seen = re.findall(r"<text[^>]*>(.*?)</text>", drawn[MADE_AGAIN])
    assert "LOST" in told[MADE_AGAIN]["outcome"]
    assert not [words for words in seen if re.search("lost|LOST|are gone", words)]
    assert any(words.startswith("3 of 7 acknowledged records deleted by request") for words in seen)


def test_sends_that_came_together_share_a_row(drawn: dict[str, str]) -> None:
    """Every send has its mark still, and is within the numbers of a label."""
    stored, svg = results.picture(MISDELIVERED).read_text(), drawn[MISDELIVERED]
    sends = re.findall(r"producer-1 sends m(\d+) ", stored)
    assert sorted(re.findall(r"producer-1 sends m(\d+) ", svg)) == sorted(sends)
    found = re.findall(r'class="halo">m(\d+)(?:–(\d+))? ', svg)
    assert len(found) <= MOST < len(re.findall(r'class="halo">m\d', stored))
    covered = {number for first, last in found for number in range(int(first), int(last or first) + 1)}
    assert {int(one) for one in sends} == covered
    size = re.search(r'viewBox="0 0 1200 (\d+)" width="1200" height="(\d+)"', svg)
    assert size
    assert size[1] == size[2]
    assert max(float(y) for y in re.findall(r' y="([\d.]+)"', svg)) < int(size[1]) < 700


def test_a_picture_with_few_sends_stays_as_it_is() -> None:
    svg = results.picture("double-failover.svg").read_text()
    assert pictures.folded(svg) == svg


def test_words_of_pauses_end_within_the_picture(drawn: dict[str, str]) -> None:
    for name, svg in drawn.items():
        for x, words in re.findall(r'<text x="([\d.]+)" y="[\d.]+" class="halo tiny">(no [^<]*)<', svg):
            assert float(x) + text_width(words, 10) <= RIGHT + 1, name


def test_words_above_a_picture_fit() -> None:
    long = "; ".join(["1 of 2 acknowledged records LOST", *(f"anomaly-number-{n} × 3" for n in range(12))])
    assert heading(long, "a on 4.3.1").startswith("1 of 2 acknowledged records LOST; anomaly-number-0 × 3; ")
    assert " more · a on 4.3.1" in heading(long, "a on 4.3.1")
    sources = "Kafka documentation, Design: replication; " * 20
    assert below(f"m3 is gone, as documented for 4.3.1 ({sources}).") == ["m3 is gone, as documented for 4.3.1."]
    assert below("; ".join(f"misdelivered: 1 in t-{n}" for n in range(30))) == ["misdelivered: 1 in t-0; 29 more."]


def test_each_picture_is_of_a_scenario() -> None:
    assert {name.partition(".")[0] for name in NAMES} <= set(all_scenarios())


def test_pictures_of_what_clients_saw_have_losses_in_red(told: dict[str, results.Value], drawn: dict[str, str]) -> None:
    lossy = {name for name in drawn if ".clients." in name and " LOST" in told[name]["outcome"]}
    assert lossy
    assert {name for name in lossy if "acknowledged-then-lost" not in drawn[name]} == set()


def test_every_bug_is_shown_beside_a_run_without_it() -> None:
    runs = results.by_scenario()
    for one in described()["scenarios"]:
        if not one["exhibit"]:
            continue
        shown = results.shown_of(runs, one["name"])
        control = shown.get("control")
        assert control, one["name"]
        assert shown["version"] in one["exhibit"]["affected"], one["name"]
        assert counted.shows_harm(one, shown["case"], shown["version"]), one["name"]
        assert not counted.shows_harm(one, control["case"], control["version"]), one["name"]
        assert {f"{one['name']}.svg", f"{one['name']}.control.svg"} <= shown["pictures"].keys(), one["name"]


def legend(svg: str) -> list[str]:
    """The words of a picture's legend."""
    return [unescape(words) for words in re.findall(r'<text x="28" y="9.5" class="tiny muted">([^<]*)</text>', svg)]


def test_the_legend_of_a_stored_picture_has_the_marks_that_it_has(drawn: dict[str, str]) -> None:
    for name, svg in drawn.items():
        if "process up" not in legend(svg):
            continue
        found = [words for words, _ in entries(re.sub(r'<g transform="translate.*?</g>', "", svg), str)]
        if name.startswith("museum-made-again"):  # its records were deleted by request
            found = [words.replace("lost record", "deleted record") for words in found]
        assert legend(svg) == found, name
        height = re.search(r'viewBox="0 0 1200 (\d+)"', svg)
        assert height
        below_all = [float(y) for y in re.findall(r'<g transform="translate\([\d.]+ ([\d.]+)\)"', svg)]
        assert max(below_all) + 11 <= int(height[1]), name


def test_a_legend_explains_no_mark_that_is_not_drawn() -> None:
    copied = "records on disk below | above HW"
    assert copied in legend(results.picture("auto-leader-rebalance.svg").read_text())
    assert copied not in legend(pictures.drawn("auto-leader-rebalance.svg"))
    assert "lost record" in legend(pictures.drawn("double-failover.svg"))


def test_legends_of_other_pictures_stay_as_they_are(drawn: dict[str, str]) -> None:
    for name in ("leader-isolated.clients.svg", "high-watermark-steps.offsets.svg"):
        assert len(legend(drawn[name])) >= 3 or ".offsets." in name
        assert legend(drawn[name]) == legend(results.picture(name).read_text()), name


def test_a_cut_does_not_look_like_a_plus(drawn: dict[str, str]) -> None:
    assert any(pictures.OLD_CUT in results.picture(name).read_text() for name in NAMES)
    assert not [name for name, svg in drawn.items() if pictures.OLD_CUT in svg]
    assert BROKEN_LINE.path != pictures.OLD_CUT


@pytest.mark.parametrize(
    ("name", "bug", "control"),
    [
        ("museum-late-end", "half of a transaction", "no transaction-half-committed"),
        ("museum-kip-279", "in-sync replicas hold different records", "the replicas agree"),
        ("museum-deleted-records-return", "records that were deleted by request come back", "no resurrected"),
        ("museum-observers-spin", "each broker keeps a processor busy", "all 7 acknowledged records kept"),
        ("museum-forgotten-overrides", "two changes of a broker setting", "all 5 acknowledged records kept"),
    ],
)
def test_a_bug_heads_its_picture_and_what_is_not_so_that_of_its_control(name: str, bug: str, control: str) -> None:
    shown = results.shown_of(results.by_scenario(), name)
    one = next(one for one in described()["scenarios"] if one["name"] == name)
    heads = {}
    for file in (f"{name}.svg", f"{name}.control.svg"):
        svg = picture(file, shown, bug=bug_title(one))
        heads[file] = unescape(re.findall(r'class="headline">(.*?)</text>', svg)[0])
        assert text_width(heads[file], 15) <= WIDTH
    assert heads[f"{name}.svg"].startswith(f"With the bug: {bug}")
    assert control in heads[f"{name}.control.svg"]
    assert heads[f"{name}.control.svg"].startswith("Without the bug")
    below = re.findall(r'style="font-size:12px">(.*?)</text>', picture(f"{name}.svg", shown, bug=bug_title(one)))
    assert f"{name} on {shown['version']}" in unescape(below[0])


def test_no_heading_of_a_bug_is_wider_than_its_picture() -> None:
    for one in described()["scenarios"]:
        if one["exhibit"]:
            assert text_width(f"With the bug: {bug_title(one)}", 15) <= WIDTH - 32, one["name"]
