"""`kafka-chaos museum`: which bugs a release has, and what showed them."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import replace
from typing import Any

import pytest

import results
from app import museum
from evidence.errors import UsageError
from harness.bugs import Bug, BugStatus, Exhibit, Status
from harness.case import Case, Documented
from harness.cluster.builds import Build
from harness.cluster.versions import Mode, Version
from harness.cluster.versions import get as get_version
from harness.discoveries import DISCOVERIES
from harness.harms import BUSY, HARM_ORDER, LOSES, STOPS, harm_of
from harness.plan import ClusterPlan, TopicPlan
from harness.scenario import Scenario, all_scenarios, get_scenario
from harness.words import EVERY_VERSION, VersionRange
from pages import counted, guide
from pages import museum as pages
from pages.scenarios import also, exhibit_of, of
from tests.records import STATED, first

EARLY = Bug(id="KAFKA-7", title="it bites", whom="you", since=first("1.0.0"), fixed=("2.2.2", "2.3.0"))
LATE = Bug(id="KAFKA-8", title="it stings", whom="them", since=first("2.1.0"), fixed=("2.4.1", "2.5.0"))
OPEN = Status(state=BugStatus.OPEN, told="It stays.", sources=("here",), on="2026-11-23", looked_at="4.3.1")
KRAFTS = Bug(id="KAFKA-9", title="it hides", whom="all", since=first("3.3.0"), fixed=(), status=OPEN, mode="kraft")
CLIENTS = Bug(
    id="KAFKA-6", title="it mixes", whom="senders", since=first("2.1.0"), fixed=("2.1.1", "2.2.0"), whose="Java clients"
)
KNOWN = ("0.11.0.0", "0.11.0.1", "2.2.0", "2.2.2", "2.6.1", "3.5.1", "3.9.2", "4.1.2", "4.3.1", "4.4.0")


def exhibit(name: str, bug: Bug, affected: str, fixed: str) -> Scenario:
    return Scenario(
        name=name,
        claim="",
        source=bug.id,
        operator="Mind it.",
        cluster=ClusterPlan(),
        topic=TopicPlan(),
        cases={"default": Case(documented=(Documented(on=EVERY_VERSION, **STATED),))},
        steps=lambda run: None,
        exhibit=Exhibit(bug=bug, affected=(affected,), fixed=(fixed,)),
    )


MADE = [exhibit("museum-bite", EARLY, "1.1.1", "2.2.2"), exhibit("museum-sting", LATE, "2.2.2", "2.8.2")]
FIVE: dict[str, Any] = {"runs": 5, "verdicts": {}}
DATA: dict[str, Any] = {
    "museum-bite": {"cases": {"default": {"1.1.1": {"good": 4} | FIVE, "2.2.2": {"good": 5} | FIVE}}}
}


def zookeeper(*releases: str) -> museum.AskedReleases:
    return asked("zookeeper", *releases)


def kraft(*releases: str) -> museum.AskedReleases:
    return asked("kraft", *releases)


def asked(mode: Mode, *releases: str) -> museum.AskedReleases:
    made = tuple(Version(id=kafka, build=Build(kafka=kafka), mode=mode) for kafka in releases)
    return museum.AskedReleases(releases[0] if len(releases) == 1 else "line", mode, made)


def shown(name: str, version: str, case: str) -> str:
    return counted.shown(name, version, DATA, case)


@pytest.mark.parametrize(
    ("name", "modes"),
    [
        ("2.6.1", ["zookeeper"]),
        ("3.5.1", ["zookeeper", "kraft"]),
        ("3.5.1-kraft", ["kraft"]),
        ("3.9.2-zk", ["zookeeper"]),
        ("4.1.2", ["kraft"]),
    ],
)
def test_a_release_is_run_in_the_ways_that_it_has(name: str, modes: list[str]) -> None:
    found = museum.ways(name, KNOWN)
    assert [one.mode for one in found] == modes
    assert {tuple(one.releases) for one in found} == {(name.partition("-")[0],)}


@pytest.mark.parametrize(
    ("name", "releases"),
    [("2.2", ["2.2.0", "2.2.2"]), ("0.11", ["0.11.0.0", "0.11.0.1"]), ("0.11.0", ["0.11.0.0", "0.11.0.1"])],
)
def test_a_line_is_all_of_its_releases(name: str, releases: list[str]) -> None:
    (found,) = museum.ways(name, KNOWN)
    assert (found.name, found.releases) == (name, releases)


@pytest.mark.parametrize("name", ["2.6.1-kraft", "4.3.1-zk", "2.6.1-docker", "latest", ""])
def test_what_is_no_release_or_no_way_to_run_it_is_bad_input(name: str) -> None:
    with pytest.raises(UsageError, match=r"no release|write a release"):
        museum.ways(name, KNOWN)


@pytest.mark.parametrize("name", ["9.9.9", "2.6.9", "2.7", "2.6.1.1"])
def test_a_release_that_does_not_exist_is_refused_with_the_nearest_that_do(name: str) -> None:
    with pytest.raises(UsageError, match=rf"there is no Kafka {name}; the nearest releases are \d"):
        museum.ways(name, KNOWN)


def test_what_a_release_has_comes_with_its_runs_and_what_to_be_on() -> None:
    found = museum.bugs_of(zookeeper("2.2.0"), MADE, shown)
    bite, sting = found["has"]
    assert (bite["bug"], bite["be_on"], bite["until_then"]) == ("KAFKA-7", "2.2.2", "Mind it.")
    assert (bite["affected"], bite["fixed"]) == ({"1.1.1": "4 of 5"}, {"2.2.2": "5 of 5"})
    assert (sting["bug"], sting["be_on"], sting["affected"]) == ("KAFKA-8", "2.4.1", {"2.2.2": "not run"})
    assert (found["has_not"], found["free_of_mended"]) == ({}, "2.4.1")
    text = museum.as_text(found)
    assert "2 of the museum's 2 bugs of brokers can happen there, " in text
    assert "  fixed in    2.2.2, 2.3.0 or later\n" in text
    assert "  until then  Mind it.\n" in text
    assert "  source      It is there since 1.0.0 (KAFKA-1). In 0.8.1.1 Partition.thing is missing." in text
    assert "museum-bite, as documented on 1.1.1 4 of 5; fixed, on 2.2.2 5 of 5" in text


def test_what_a_release_has_not_is_named() -> None:
    found = museum.bugs_of(zookeeper("2.2.2"), MADE, shown)
    assert [one["bug"] for one in found["has"]] == ["KAFKA-8"]
    assert found["has_not"] == {"KAFKA-7": "fixed in 2.2.2, 2.3.0"}
    before = museum.bugs_of(zookeeper("0.11.0.0"), [*MADE, exhibit("museum-hide", KRAFTS, "4.3.1", "2.8.2")], shown)
    assert before["has_not"] == {
        "KAFKA-7": "came with 1.0.0",
        "KAFKA-8": "came with 2.1.0",
        "KAFKA-9": "of KRaft alone",
    }


def test_of_a_line_each_bug_is_told_with_the_releases_that_have_it() -> None:
    found = museum.bugs_of(zookeeper("2.2.0", "2.2.2"), MADE, shown)
    assert {one["bug"]: one["in"] for one in found["has"]} == {"KAFKA-7": ["2.2.0"], "KAFKA-8": ["2.2.0", "2.2.2"]}
    text = museum.as_text(found)
    assert text.startswith("Kafka line with ZooKeeper (2.2.0, 2.2.2): 2 of the museum's 2 bugs of brokers")
    assert text.count("  of these    2.2.0\n") == 1


def test_it_is_told_what_was_run_and_what_follows_from_a_fix() -> None:
    (bite,) = museum.bugs_of(zookeeper("1.1.1"), MADE, shown)["has"]
    assert bite["known_by"] == "run on 1.1.1: 4 of 5"
    (bite, _) = museum.bugs_of(zookeeper("2.2.0"), MADE, shown)["has"]
    assert bite["known_by"] == "not run on 2.2.0: by the releases that got the fix"


def test_what_no_release_mends_is_known_of_the_releases_that_were_looked_at_and_of_no_newer_one() -> None:
    hide = exhibit("museum-hide", KRAFTS, "4.3.1", "2.8.2")
    (one,) = museum.bugs_of(kraft("4.1.2"), [hide], shown)["has"]
    assert one["known_by"] == "not run on 4.1.2: no release to 4.3.1 mends it"
    newer = museum.bugs_of(kraft("4.4.0"), [hide], shown)
    assert (newer["has"], newer["has_not"], newer["unknown"]) == ([], {}, ["KAFKA-9"])
    assert "not known, since it is newer than what was looked at: KAFKA-9" in museum.as_text(newer)


def test_bugs_of_clients_are_told_by_the_release_of_the_client() -> None:
    mixes = exhibit("museum-mix", CLIENTS, "2.1.1", "2.2.2")
    for kafka in ("2.1.0", "2.2.2"):
        found = museum.bugs_of(zookeeper(kafka), [mixes], shown)
        assert (found["has"], found["has_not"], [one["bug"] for one in found["clients"]]) == ([], {}, ["KAFKA-6"])
        text = museum.as_text(found)
        assert "0 of the museum's 0 bugs of brokers" in text
        assert ("fixed in clients 2.1.1, 2.2.0 or later; shown" in text) == (kafka == "2.1.0")
        assert ("of Java clients of other releases" in text) == (kafka == "2.2.2")


def test_a_bug_of_clients_that_nobody_fixed_names_no_client_to_be_on() -> None:
    open_still = replace(KRAFTS, whose="Java clients")
    text = museum.as_text(museum.bugs_of(kraft("4.3.1"), [exhibit("museum-hide", open_still, "4.3.1", "2.8.2")], shown))
    assert "not fixed" in text
    assert "no client mends it; shown" in text


def test_a_bug_that_nobody_fixed_leaves_nothing_to_be_on() -> None:
    found = museum.bugs_of(kraft("4.3.1"), [exhibit("museum-hide", KRAFTS, "4.3.1", "2.8.2")], shown)
    assert found["has"][0]["be_on"] == ""
    text = museum.as_text(found)
    assert "  fixed in    no release of brokers\n  status      2026-11-23: It stays.\n" in text


def test_what_needs_kraft_is_not_told_of_clients_beside_zookeeper() -> None:
    mine = exhibit("museum-hide", replace(KRAFTS, whose="Java clients"), "4.3.1", "2.8.2")
    found = museum.bugs_of(zookeeper("3.9.2"), [mine], shown)
    assert (found["clients"], found["has_not"]) == ([], {"KAFKA-9": "of KRaft alone"})


def test_bugs_that_lose_records_come_first_and_are_counted() -> None:
    every = [one for one in all_scenarios().values() if one.exhibit]
    found = museum.bugs_of(zookeeper("2.8.2"), every, shown)
    places = [HARM_ORDER.index(one["harm"]) for one in found["has"]]
    assert places == sorted(places)
    assert 0 < places.count(0) < len(places)
    lose = places.count(0)
    assert f"{lose} of them {'loses' if lose == 1 else 'lose'} records" in museum.as_text(found).splitlines()[0]
    (marker,) = (one for one in found["has"] if one["bug"] == "KAFKA-14055")
    assert marker["fixed_in"] == ["3.0.2", "3.1.2", "3.2.1"]


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("museum-poll-commits-ahead", "makes consumers skip records"),
        ("museum-commit-between-polls", "makes consumers skip records"),
        ("museum-polled-while-revoking", "makes consumers repeat records"),
        ("museum-dirty-store-restored", "keeps aborted results in Streams"),
        ("museum-deleted-records-return", "returns deleted records"),
        ("museum-marker-compacted", LOSES),
        ("museum-isolated-controller", STOPS),
        ("museum-observers-spin", BUSY),
    ],
)
def test_the_harm_of_a_bug(name: str, harm: str) -> None:
    assert harm_of(all_scenarios()[name]) == harm


def test_advice_until_the_upgrade_does_not_name_the_upgrade() -> None:
    """A page says "fixed in 3.0.2 or later. Until then: …" (harness/bugs.py)."""
    for made in all_scenarios().values():
        if made.exhibit and made.exhibit.bug.fixed:
            first = made.operator.partition(".")[0]
            assert not re.match(r"(Be on|Update|Move|Before \d|With (KRaft|Java)|From \d|Up to \d)", first), made.name


def test_a_run_that_says_nothing_is_not_counted() -> None:
    cell = {"runs": 7, "good": 6, "verdicts": {"as-documented": 6, "unknown": 1}}
    runs = {"museum-bite": {"cases": {"default": {"1.1.1": cell, "2.2.2": cell | {"runs": 1, "good": 0}}}}}
    assert counted.shown("museum-bite", "1.1.1", runs) == "6 of 6"
    assert counted.shown("museum-bite", "2.2.2", runs) == counted.NOT_RUN


def test_who_has_zookeeper_is_not_told_to_leave_it() -> None:
    only_4 = Bug(id="KAFKA-6", title="it bites", whom="you", since=first("1.0.0"), fixed=("4.0.0",))
    assert museum.free_of_mended(zookeeper("3.9.2").versions[0], [only_4]) == ""
    assert museum.free_of_mended(kraft("3.9.2").versions[0], [only_4, KRAFTS]) == "4.0.0"


def test_the_command_names_all_bugs_or_those_of_a_release(capsys: pytest.CaptureFixture[str]) -> None:
    museum.run(argparse.Namespace(version=None, json=True), shown)
    every = json.loads(capsys.readouterr().out)
    exhibits = {name for name, made in all_scenarios().items() if made.exhibit}
    found_here = {one.seen.scenario for one in DISCOVERIES}
    assert {one["scenario"] for one in every} == exhibits | found_here
    museum.run(argparse.Namespace(version=None, json=False), shown)
    printed = capsys.readouterr().out
    assert [one.id for one in DISCOVERIES if f"{one.id}: " not in printed] == []
    museum.run(argparse.Namespace(version="1.1.1", json=True), shown)
    (found,) = json.loads(capsys.readouterr().out)
    assert "KAFKA-4893" in {one["bug"] for one in found["has"]}


def test_the_index_has_a_row_for_each_bug_and_the_versions_that_still_have_it() -> None:
    made = get_scenario("museum-long-topic-name")
    data = {made.name: {"cases": {"default": {"1.1.1": {"good": 5, "runs": 5, "verdicts": {}}}}}}
    text = pages.page({"versions": ["1.1.1", "2.2.2"]}, [of(made)], data)
    row, *_ = [line for line in text.splitlines() if line.startswith("| [KAFKA-4893]")]
    assert row.endswith("| 1.1.1: 5 of 5 | 2.2.2: not run |")
    assert "| 1.1.1 | [KAFKA-4893](scenarios/museum-long-topic-name.md) |" in text
    assert "| 2.2.2 | none of these |" in text


WITH_CLIENT = replace(
    get_scenario("baseline"),
    name="museum-bite",
    exhibit=Exhibit(
        bug=KRAFTS, affected=("4.3.1",), fixed=("4.3.1",), fixed_case="java", fixed_with="with the Java client"
    ),
)
BOTH = {name: {"4.3.1": {"good": good, "runs": 5, "verdicts": {}}} for name, good in (("default", 4), ("java", 3))}


def test_a_fix_that_takes_a_client_too_is_shown_in_a_case_of_its_own() -> None:
    assert WITH_CLIENT.exhibit is not None
    assert WITH_CLIENT.exhibit.versions == ("4.3.1",)
    data = {"museum-bite": {"cases": BOTH}}
    text = pages.page({"versions": ["4.3.1"]}, [of(WITH_CLIENT)], data)
    row, *_ = [line for line in text.splitlines() if line.startswith("| [KAFKA-9]")]
    assert row.endswith("| 4.3.1: 4 of 5 | 4.3.1: 3 of 5 (with the Java client) |")
    found = museum.bugs_of(
        kraft("4.3.1"), [WITH_CLIENT], lambda name, version, case: counted.shown(name, version, data, case)
    )
    assert found["has"][0]["fixed"] == {"4.3.1 (with the Java client)": "3 of 5"}


def test_a_scenarios_page_tells_since_when_its_bug_is_there() -> None:
    text = guide.page(of(get_scenario("museum-kip-279")), results.NOT_RUN)
    assert "\nThe bug: It is there since 0.11.0.0 ([KIP-101](" in text
    assert "). In 0.10.2.2 followers truncate" in text


def test_open_is_what_nobody_knows_and_the_rest_says_where_it_stands() -> None:
    assert WITH_CLIENT.exhibit is not None
    limit = replace(KRAFTS, id="KAFKA-5", status=replace(OPEN, state=BugStatus.LIMITATION), credit="somebody found it")
    known = replace(WITH_CLIENT, name="museum-limit", exhibit=replace(WITH_CLIENT.exhibit, bug=limit))
    fixed = replace(get_scenario("baseline"), exhibit=MADE[0].exhibit)
    text = pages.page({"versions": ["4.3.1"]}, [of(WITH_CLIENT), of(known), of(fixed)], {})
    came, _, sections = text.partition("## Open\n")
    assert (
        "- [KAFKA-7](scenarios/baseline.md): It is there since 1.0.0 (KAFKA-1). In 0.8.1.1 Partition.thing is" in came
    )
    unfixed, _, rest = sections.partition("## Known, and mended by no release of brokers\n")
    assert "- [KAFKA-9](scenarios/museum-bite.md): `kafka-chaos run museum-bite --version 4.3.1`" in unfixed
    assert "KAFKA-5" not in unfixed
    told = "a known limitation, to be documented (2026-11-23). It stays. Sources: here. Somebody found it."
    assert f"- [KAFKA-5](scenarios/museum-limit.md): {told}" in rest
    assert "- [KAFKA-7]" not in sections


def test_bugs_of_clients_have_a_table_of_their_own() -> None:
    exhibit_of_clients = exhibit("museum-mix", CLIENTS, "2.1.1", "2.2.2").exhibit
    made = replace(get_scenario("baseline"), name="museum-mix", exhibit=exhibit_of_clients)
    text = pages.page({"versions": ["2.1.1"]}, [of(made)], {})
    assert "| 2.1.1 | none of these |" in text
    releases = "Java clients from 2.1.0 on, fixed in 2.1.1, 2.2.0"
    assert f"| [KAFKA-6](scenarios/museum-mix.md) | it mixes | {releases} |" in text


def test_without_exhibits_there_is_no_index() -> None:
    assert pages.page({"versions": []}, [of(get_scenario("baseline"))], {}) == ""


def test_bugs_stand_in_the_order_of_their_jira_and_those_without_come_last() -> None:
    named = [{"exhibit": {"bug": bug}} for bug in ("unfiled", "KAFKA-17754", "KAFKA-9254")]
    assert [one["exhibit"]["bug"] for one in pages.exhibits([*named, {"exhibit": None}])] == [
        "KAFKA-9254",
        "KAFKA-17754",
        "unfiled",
    ]


def test_cases_that_show_the_same_bug_are_named_and_others_are_not() -> None:
    bug = KRAFTS
    has_it = Documented(on=bug.affected, **STATED)
    one_line = Documented(on=VersionRange("of 4", lambda version: version.release >= (4,), ()), **STATED)
    made = replace(
        exhibit("museum-hide", bug, "3.9.2-kraft", "2.8.2"),
        cases={
            name: Case(name=name, documented=documented)
            for name, documented in {
                "default": (has_it,),
                "rf3": (has_it,),
                "by-client": (one_line, has_it),
                "control": (Documented(on=EVERY_VERSION, **STATED),),
            }.items()
        },
        exhibit=Exhibit(bug=bug, affected=("3.9.2-kraft", "4.3.1"), fixed=()),
    )
    seen = {"4.3.1": {"good": 5, "runs": 5, "verdicts": {}}}
    data = {"museum-hide": {"cases": {"rf3": seen, "by-client": seen, "control": seen}}}
    found = museum.bugs_of(kraft("4.3.1"), [made], lambda name, version, case: counted.shown(name, version, data, case))
    assert found["has"][0]["also"] == {
        "rf3": {"3.9.2-kraft": "not run", "4.3.1": "5 of 5"},
        "by-client": {"3.9.2-kraft": "not run"},
    }
    text = museum.as_text(found)
    assert "also        --case rf3, on 3.9.2-kraft not run, on 4.3.1 5 of 5\n" in text
    assert found["has"][0]["known_by"] == "run on 4.3.1: case rf3 5 of 5"
    assert found["has"][0]["others"] == {"4.3.1": {"rf3": "5 of 5"}}
    assert "as documented on 3.9.2-kraft not run, on 4.3.1 not run (case rf3 5 of 5)" in text
    assert "control" not in text
    assert also(made) == ["rf3"]
    page = pages.page({"versions": []}, [{"name": "museum-hide", "exhibit": exhibit_of(made)}], data)
    assert "  or, of the same bug: `--case rf3` (5 of 5)\n" in page
    assert "3.9.2-kraft: not run; 4.3.1: not run; case rf3 5 of 5 |" in page


def test_every_exhibit_shows_its_bug_by_default_and_its_fix_in_a_case_that_does_not() -> None:
    for made in all_scenarios().values():
        if made.exhibit is not None:
            default, fixed = made.case(), made.case(made.exhibit.fixed_case)
            assert [v for v in made.exhibit.affected if not made.shows(get_version(v), default)] == []
            assert [v for v in made.exhibit.fixed if made.shows(get_version(v), fixed)] == []


def test_an_exhibit_is_told_by_a_run_on_a_release_that_has_the_bug() -> None:
    """On one that got the fix there is nothing to see."""
    for name, data in results.by_scenario().items():
        made = all_scenarios().get(name)
        if made is not None and made.exhibit is not None and "shown" in data:
            assert data["shown"]["version"] in made.exhibit.affected, name


def test_a_bug_that_came_back_is_told_with_where_it_is_fixed_and_where_it_is_back() -> None:
    made = get_scenario("museum-reassigned-to-one")
    before, again = (museum.bugs_of(kraft(kafka), [made], shown) for kafka in ("3.7.1", "4.3.1"))
    (first_one,), (second,) = before["has"], again["has"]
    assert (first_one["fixed_in"], first_one["back_in"], first_one["status"]) == (["3.8.0"], "4.3.0", None)
    assert (second["fixed_in"], second["was_fixed_in"], bool(second["status"])) == ([], ["3.8.0"], True)
    assert "no later release: 3.8.0 and later ones fixed it, and it is back in 4.3.0" in museum.as_text(again)
    assert "fixed in    3.8.0 or later, and back in 4.3.0" in museum.as_text(before)
    assert museum.bugs_of(kraft("4.2.2"), [made], shown)["has"] == []
