"""What was found here: each entry can be run, has a control arm, and says where it stands."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest

import results
from app.cli import main
from evidence.errors import UsageError
from harness.case import Documented
from harness.cluster import apache, versions
from harness.discoveries import DISCOVERIES, TAKEN_BACK, Discovery, described, every
from harness.scenario import Scenario, all_scenarios, get_scenario
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
    data = {"museum-malformed-checkpoint": {"cases": {"default": {"4.3.1": {"verdicts": {}, "good": 4, "runs": 5}}}}}
    told = findings.counted(one, data)
    assert told["seen"]["runs"]["4.3.1"] == "4 of 5"
    assert set(told["control"]["runs"].values()) == {"not run"}


def test_a_case_that_was_not_run_has_those_that_were_and_runs_that_do_not_count_beside_it() -> None:
    (spins,) = [one for one in every(all_scenarios()) if one["id"] == "observers-spin"]
    aside = [{"run": "r", "runs": 1, "why": "run by a modified tree"}]
    cases = {
        "default": {
            "4.4.0": {"verdicts": {}, "good": 0, "runs": 0, "aside": aside},
            "4.2.0": {"verdicts": {}, "good": 1, "runs": 1},
        },
        "frozen": {"4.4.0": {"verdicts": {}, "good": 1, "runs": 1}, "4.1.2": {"verdicts": {}, "good": 1, "runs": 1}},
    }
    told = findings.counted(spins, {"museum-observers-spin": {"cases": cases}})
    assert told["seen"]["told"] == {
        "4.2.0": "1 of 1",
        "4.3.1": "not run",
        "4.4.0": "not run (1 run does not count; case frozen 1 of 1)",
    }
    assert (told["seen"]["others"], told["seen"]["aside"]) == ({"4.4.0": {"frozen": "1 of 1"}}, {"4.4.0": 1})
    assert told["control"]["told"]["4.1.2"] == "not run (case frozen 1 of 1)"


def test_a_control_is_no_other_case_of_what_it_controls() -> None:
    (back,) = [one for one in every(all_scenarios()) if one["id"] == "deleted-records-return"]
    cells = {
        case: {"4.3.1": {"verdicts": {}, "good": 5, "runs": 5}}
        for case in ("one-broker", "crashed", "controllers-first")
    }
    told = findings.counted(back, {"museum-deleted-records-return": {"cases": cells}})
    assert told["seen"]["told"]["4.3.1"] == "5 of 5 (case crashed 5 of 5)"
    assert told["control"]["told"]["4.3.1"] == "5 of 5"


@cache
def shown() -> dict[str, Any]:
    return results.by_scenario()


@pytest.mark.parametrize("found", findings.all_counted(), ids=lambda found: str(found["id"]))
def test_the_ledger_has_runs_of_every_version_that_is_named_and_each_that_it_has_is_named(found: Any) -> None:
    for side in ("seen", "control"):
        arm = found[side]
        made, cells = get_scenario(arm["scenario"]), shown()[arm["scenario"]]["cases"]
        for on in arm["on"]:
            assert arm["runs"][on] != "not run" or arm["others"].get(on), (side, on)
        here = {(one.required, tuple(one.claims)) for on in arm["on"] for one in [documented(made, on, arm["case"])]}
        ran = {on for on, cell in cells.get(arm["case"], {}).items() if cell["runs"]}
        same = {
            on for on in ran for one in [documented(made, on, arm["case"])] if (one.required, tuple(one.claims)) in here
        }
        on_exhibits = {on for on in same if made.exhibit is None or side == "seen"}
        assert on_exhibits <= set(arm["on"]), (side, on_exhibits)


def documented(made: Scenario, on: str, case: str) -> Documented:
    return made.documented_for(versions.get(on), case)


def test_a_status_is_of_a_day_that_is_past_and_of_a_release_that_there_is() -> None:
    for one in every(all_scenarios()):
        status = one["status"]
        assert "2026-11-01" <= status["on"] <= datetime.now(UTC).date().isoformat()
        looked_at = status["looked_at"]
        assert looked_at.startswith("librdkafka ") or looked_at in apache.releases(), one["id"]


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


def test_no_run_on_record_shows_what_was_taken_back() -> None:
    """Each of them ended as documented, which it does not with a replica out of the ISR in the end."""
    data = results.by_scenario()
    for one in TAKEN_BACK:
        for name in one.scenarios:
            assert name in one.tried
            cells = [of_case[one.on] for of_case in data[name]["cases"].values() if one.on in of_case]
            assert cells, f"{name} was not run on {one.on}"
            assert [cell["not_good"] for cell in cells if cell["good"] < cell["runs"]] == [], name
