"""What was found here: each entry can be run, has a control arm, and says where it stands."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from app.cli import main
from evidence.errors import UsageError
from harness.cluster import versions
from harness.discoveries import DISCOVERIES, TAKEN_BACK, Discovery, described, every
from harness.scenario import all_scenarios, get_scenario
from pages import findings


@pytest.mark.parametrize("found", DISCOVERIES, ids=lambda found: found.id)
def test_both_arms_can_be_run_and_only_one_shows_it(found: Discovery) -> None:
    shows = []
    for arm in (found.seen, found.control):
        made = get_scenario(arm.scenario)
        assert arm.on
        outcomes = [made.documented_for(versions.get(on), arm.case) for on in arm.on]
        shows.append({(one.required, tuple(one.claims), one.sentence) for one in outcomes})
    seen, control = shows
    assert seen.isdisjoint(control)
    assert all(required or claims for required, claims, _ in seen)
    assert not any(required for required, _, _ in control)


def test_each_has_words_and_a_status_of_a_day_and_is_told_once() -> None:
    told = every(all_scenarios())
    assert len({one["id"] for one in told}) == len(told)
    for one in told:
        assert one["title"]
        assert one["whom"]
        assert one["releases"]
        assert one["code"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", one["status"]["on"])
        assert one["status"]["sources"]


def test_an_exhibit_is_told_in_the_words_of_its_bug_and_others_need_their_own() -> None:
    (letter,) = [one for one in DISCOVERIES if one.id == "malformed-checkpoint"]
    bug = get_scenario("museum-malformed-checkpoint").exhibit
    assert bug is not None
    assert described(letter, all_scenarios())["title"] == bug.bug.title
    mute = replace(letter, seen=replace(letter.seen, scenario="baseline"))
    with pytest.raises(UsageError, match="no words of its own"):
        described(mute, all_scenarios())


def test_every_open_bug_of_the_museum_is_among_them() -> None:
    open_bugs = {name for name, made in all_scenarios().items() if made.exhibit and made.exhibit.bug.open}
    assert open_bugs <= {one.seen.scenario for one in DISCOVERIES}


def test_what_runs_showed_is_told_beside_each_arm() -> None:
    (one,) = [one for one in every(all_scenarios()) if one["id"] == "malformed-checkpoint"]
    data = {"museum-malformed-checkpoint": {"cases": {"default": {"4.3.1": {"good": 4, "runs": 5}}}}}
    told = findings.counted(one, data)
    assert told["seen"]["runs"]["4.3.1"] == "4 of 5"
    assert set(told["control"]["runs"].values()) == {"not run"}


def test_the_page_and_the_command_have_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    ids = [one.id for one in DISCOVERIES]
    page = findings.page({})
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == [*ids, "Taken back"]
    assert [one.what for one in TAKEN_BACK if one.what not in page] == []
    assert page.count("\n- Control: ") == page.count("\n- Status on ") == len(ids)
    assert main(["findings", "--json"]) == 0
    assert [one["id"] for one in json.loads(capsys.readouterr().out)] == ids
    assert main(["findings"]) == 0
    printed = capsys.readouterr().out
    assert [one for one in ids if f"{one}: " not in printed] == []
