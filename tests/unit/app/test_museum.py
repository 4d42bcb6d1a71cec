"""`kafka-chaos museum`: which bugs a release has, and what showed them."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import Any

import pytest

from app import museum
from evidence.errors import UsageError
from harness.bugs import Bug, Exhibit
from harness.case import Case, Documented
from harness.cluster.versions import Version
from harness.cluster.versions import get as get_version
from harness.plan import ClusterPlan, TopicPlan
from harness.scenario import Scenario, all_scenarios, get_scenario
from harness.words import EVERY_VERSION, VersionRange
from pages import museum as pages
from pages.scenarios import also, of

EARLY = Bug(id="KAFKA-7", title="it bites", whom="you", since="1.0.0", fixed=("2.2.2", "2.3.0"))
LATE = Bug(id="KAFKA-8", title="it stings", whom="them", since="2.1.0", fixed=("2.4.1", "2.5.0"))
KRAFTS = Bug(id="KAFKA-9", title="it hides", whom="all", since="3.3.0", fixed=(), mode="kraft")


def exhibit(name: str, bug: Bug, affected: str, fixed: str) -> Scenario:
    return Scenario(
        name=name,
        claim="",
        source=bug.id,
        operator="Mind it.",
        cluster=ClusterPlan(),
        topic=TopicPlan(),
        cases={"default": Case(documented=(Documented(on=EVERY_VERSION),))},
        steps=lambda run: None,
        exhibit=Exhibit(bug=bug, affected=(affected,), fixed=(fixed,)),
    )


MADE = [exhibit("museum-bite", EARLY, "1.1.1", "2.2.2"), exhibit("museum-sting", LATE, "2.2.2", "2.8.2")]
DATA: dict[str, Any] = {
    "museum-bite": {"cases": {"default": {"1.1.1": {"good": 4, "runs": 5}, "2.2.2": {"good": 5, "runs": 5}}}}
}


def zookeeper(kafka: str) -> Version:
    return Version(id=kafka, kafka=kafka, mode="zookeeper")


def shown(name: str, version: str, case: str) -> str:
    return pages.shown(name, version, DATA, case)


def test_a_release_is_run_in_the_ways_that_it_has() -> None:
    assert [version.mode for version in museum.ways("2.6.1")] == ["zookeeper"]
    assert [version.mode for version in museum.ways("3.5.1")] == ["zookeeper", "kraft"]
    assert [version.mode for version in museum.ways("3.5.1-kraft")] == ["kraft"]
    assert [version.mode for version in museum.ways("3.9.2-zk")] == ["zookeeper"]
    assert [version.mode for version in museum.ways("4.1.2")] == ["kraft"]


@pytest.mark.parametrize("name", ["2.6.1-kraft", "4.3.1-zk", "2.6.1-docker", "latest", ""])
def test_what_is_no_release_or_no_way_to_run_it_is_bad_input(name: str) -> None:
    with pytest.raises(UsageError, match=r"no release|write a release"):
        museum.ways(name)


def test_what_a_release_has_comes_with_its_runs_and_what_to_be_on() -> None:
    found = museum.bugs_of(zookeeper("2.2.0"), MADE, shown)
    bite, sting = found["has"]
    assert (bite["bug"], bite["be_on"], bite["until_then"]) == ("KAFKA-7", "2.2.2", "Mind it.")
    assert (bite["affected"], bite["fixed"]) == ({"1.1.1": "4 of 5"}, {"2.2.2": "5 of 5"})
    assert (sting["bug"], sting["be_on"], sting["affected"]) == ("KAFKA-8", "2.4.1", {"2.2.2": "not run"})
    assert (found["has_not"], found["free_of_all"]) == ([], "2.4.1")
    text = museum.as_text(found)
    assert "2 of the museum's 2 bugs can happen there" in text
    assert "museum-bite, as documented on 1.1.1 4 of 5; fixed, on 2.2.2 5 of 5" in text


def test_what_a_release_has_not_is_named() -> None:
    found = museum.bugs_of(zookeeper("2.2.2"), MADE, shown)
    assert ([one["bug"] for one in found["has"]], found["has_not"]) == (["KAFKA-8"], ["KAFKA-7"])


def test_a_bug_that_nobody_fixed_leaves_nothing_to_be_on() -> None:
    kraft = Version(id="4.3.1", kafka="4.3.1", mode="kraft")
    found = museum.bugs_of(kraft, [exhibit("museum-hide", KRAFTS, "4.3.1", "2.8.2")], shown)
    assert (found["has"][0]["be_on"], found["free_of_all"]) == ("", "")
    assert "no release without it yet" in museum.as_text(found)


def test_who_has_zookeeper_is_not_told_to_leave_it() -> None:
    only_4 = Bug(id="KAFKA-6", title="it bites", whom="you", since="1.0.0", fixed=("4.0.0",))
    assert museum.free_of_all(zookeeper("3.9.2"), [only_4]) == ""
    assert museum.free_of_all(Version(id="x", kafka="3.9.2", mode="kraft"), [only_4]) == "4.0.0"


def test_the_command_names_all_bugs_or_those_of_a_release(capsys: pytest.CaptureFixture[str]) -> None:
    museum.run(argparse.Namespace(version=None, json=True), shown)
    every = json.loads(capsys.readouterr().out)
    assert {one["scenario"] for one in every} == {n for n, made in all_scenarios().items() if made.exhibit}
    museum.run(argparse.Namespace(version="1.1.1", json=True), shown)
    (found,) = json.loads(capsys.readouterr().out)
    assert "KAFKA-4893" in {one["bug"] for one in found["has"]}


def test_the_index_has_a_row_for_each_bug_and_the_versions_that_still_have_it() -> None:
    made = get_scenario("museum-long-topic-name")
    data = {made.name: {"cases": {"default": {"1.1.1": {"good": 5, "runs": 5}}}}}
    text = pages.page({"versions": ["1.1.1", "2.2.2"]}, [of(made)], data)
    (row,) = [line for line in text.splitlines() if line.startswith("| [KAFKA-4893]")]
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
BOTH = {name: {"4.3.1": {"good": good, "runs": 5}} for name, good in (("default", 4), ("java", 3))}


def test_a_fix_that_takes_a_client_too_is_shown_in_a_case_of_its_own() -> None:
    assert WITH_CLIENT.exhibit is not None
    assert WITH_CLIENT.exhibit.versions == ("4.3.1",)
    data = {"museum-bite": {"cases": BOTH}}
    text = pages.page({"versions": ["4.3.1"]}, [of(WITH_CLIENT)], data)
    (row,) = [line for line in text.splitlines() if line.startswith("| [KAFKA-9]")]
    assert row.endswith("| 4.3.1: 4 of 5 | 4.3.1: 3 of 5 (with the Java client) |")
    kraft = Version(id="4.3.1", kafka="4.3.1", mode="kraft")
    found = museum.bugs_of(kraft, [WITH_CLIENT], lambda name, version, case: pages.shown(name, version, data, case))
    assert found["has"][0]["fixed"] == {"4.3.1 (with the Java client)": "3 of 5"}


def test_a_bug_is_open_while_no_release_has_a_fix_whatever_clients_do() -> None:
    text = pages.page(
        {"versions": ["4.3.1"]},
        [of(WITH_CLIENT), of(replace(get_scenario("baseline"), exhibit=MADE[0].exhibit))],
        {},
    )
    assert "- [KAFKA-9](scenarios/museum-bite.md): `kafka-chaos run museum-bite --version 4.3.1`" in text
    assert "- [KAFKA-7]" not in text


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
    bug = Bug(id="KAFKA-9", title="it hides", whom="all", since="3.3.0", fixed=(), mode="kraft")
    has_it = Documented(on=bug.affected)
    one_line = Documented(on=VersionRange("of 4", lambda version: version.release >= (4,)))
    made = replace(
        exhibit("museum-hide", bug, "3.9.2-kraft", "2.8.2"),
        cases={
            name: Case(name=name, documented=documented)
            for name, documented in {
                "default": (has_it,),
                "rf3": (has_it,),
                "by-client": (one_line, has_it),
                "control": (Documented(on=EVERY_VERSION),),
            }.items()
        },
        exhibit=Exhibit(bug=bug, affected=("3.9.2-kraft", "4.3.1"), fixed=()),
    )
    seen = {"4.3.1": {"good": 5, "runs": 5}}
    data = {"museum-hide": {"cases": {"rf3": seen, "by-client": seen, "control": seen}}}
    kraft = Version(id="4.3.1", kafka="4.3.1", mode="kraft")
    found = museum.bugs_of(kraft, [made], lambda name, version, case: pages.shown(name, version, data, case))
    assert found["has"][0]["also"] == {
        "rf3": {"3.9.2-kraft": "not run", "4.3.1": "5 of 5"},
        "by-client": {"3.9.2-kraft": "not run"},
    }
    text = museum.as_text(found)
    assert "also        --case rf3, on 3.9.2-kraft not run, on 4.3.1 5 of 5\n" in text
    assert "control" not in text
    assert also(made) == ["rf3"]
    told = {"name": "museum-hide", "exhibit": made.exhibit.as_json() | {"also": also(made)}} if made.exhibit else {}
    assert "  or, of the same bug: `--case rf3` (5 of 5)\n" in pages.page({"versions": []}, [told], data)


def test_every_exhibit_shows_its_bug_by_default_and_its_fix_in_a_case_that_does_not() -> None:
    for made in all_scenarios().values():
        if made.exhibit is not None:
            default, fixed = made.case(), made.case(made.exhibit.fixed_case)
            assert [v for v in made.exhibit.affected if not made.shows(get_version(v), default)] == []
            assert [v for v in made.exhibit.fixed if made.shows(get_version(v), fixed)] == []
