"""Which releases have a bug whose fix went into several lines, and what exhibits are shown on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.matrix import cells
from evidence.borders import Border, Side
from evidence.errors import UsageError
from evidence.releases import line_of
from harness.bugs import Bug, BugStatus, Status, numbers
from harness.cluster import apache, versions
from harness.cluster.builds import Build
from harness.cluster.versions import Version
from harness.scenario import Scenario, all_scenarios, get_scenario
from tests.records import first

BACKPORTED = Bug(
    id="KAFKA-1", title="it bites", whom="you", since=first("1.1.0"), fixed=("2.8.2", "3.0.2", "3.1.1", "3.2.0")
)
EXHIBITS = [made for made in all_scenarios().values() if made.exhibit is not None]


def version(kafka: str, mode: versions.Mode = "zookeeper") -> Version:
    return Version(id=kafka, build=Build(kafka=kafka), mode=mode)


@pytest.mark.parametrize("kafka", ["1.1.0", "2.8.1", "3.0.1", "3.1.0", "2.9.0"])
def test_a_release_has_the_bug_until_its_own_line_got_the_fix(kafka: str) -> None:
    assert BACKPORTED.affects(version(kafka))
    assert BACKPORTED.affected.holds(version(kafka))
    assert not BACKPORTED.unaffected.holds(version(kafka))


@pytest.mark.parametrize("kafka", ["0.11.0.3", "1.0.2", "2.8.2", "3.0.2", "3.1.1", "3.1.2", "3.2.0", "3.3.0", "4.0.0"])
def test_releases_of_before_the_bug_and_with_the_fix_do_not(kafka: str) -> None:
    assert not BACKPORTED.affects(version(kafka))
    assert BACKPORTED.unaffected.holds(version(kafka))


def status(state: BugStatus) -> Status:
    return Status(state=state, told="It stays.", sources=("here",), on="2026-11-23", looked_at="4.4.0")


@pytest.mark.parametrize(
    ("state", "is_open", "words"),
    [
        (BugStatus.OPEN, True, "not fixed"),
        (BugStatus.UNRELEASED, False, "fixed in the source, in no release"),
        (BugStatus.LIMITATION, False, "a known limitation, to be documented"),
        (BugStatus.IN_A_CLIENT, False, "fixed in Kafka, not in every client"),
    ],
)
def test_a_bug_that_no_release_mends_stays_and_says_where_it_stands(
    state: BugStatus, is_open: bool, words: str
) -> None:
    unfixed = Bug(
        id="KAFKA-2", title="it bites", whom="you", since=first("3.3.0"), fixed=(), status=status(state), mode="kraft"
    )
    assert unfixed.affects(version("4.3.1", "kraft"))
    assert not unfixed.affects(version("3.2.9", "kraft"))
    assert unfixed.open is is_open
    assert unfixed.releases == f"KRaft, from 3.3.0 on, {words} (looked up 2026-11-23)"


def test_a_bug_is_fixed_or_says_where_it_stands_and_not_both() -> None:
    for fixed, told in (((), None), (("3.3.1",), status(BugStatus.OPEN))):
        with pytest.raises(UsageError, match="either the releases that fixed it, or its status"):
            Bug(id="KAFKA-6", title="it bites", whom="you", since=first("3.3.0"), fixed=fixed, status=told)


def test_a_bug_that_came_back_is_there_again() -> None:
    again = Bug(
        id="KAFKA-9",
        title="it bites",
        whom="you",
        since=first("3.0.0"),
        fixed=("3.8.0",),
        again=Border("4.3.0", "KAFKA-10", Side("4.2.1", "it waits"), Side("4.3.0", "it does not")),
        status=status(BugStatus.LIMITATION),
    )
    has = [kafka for kafka in ("2.8.2", "3.7.2", "3.8.0", "4.2.2", "4.3.0", "4.4.0") if again.affects(version(kafka))]
    assert has == ["3.7.2", "4.3.0", "4.4.0"]
    assert again.fixed_after((3, 7, 2)) == ("3.8.0",)
    assert again.fixed_after((4, 3, 0)) == ()
    assert "fixed in 3.8.0, back in 4.3.0: a known limitation" in again.releases
    assert again.came.endswith("It is back since 4.3.0 (KAFKA-10). In 4.2.1 it waits. In 4.3.0 it does not.")
    assert again.upgrade == "Move brokers to 3.8.0 or later, and not to 4.3.0 or later, where it is back."


@pytest.mark.parametrize(("fixed", "back"), [((), "4.3.0"), (("3.8.0",), "3.7.0")])
def test_what_comes_back_was_there_and_fixed(fixed: tuple[str, ...], back: str) -> None:
    border = Border(back, "KAFKA-10", Side("3.6.0", "it waits"), Side(back, "it does not"))
    with pytest.raises(UsageError, match="what came back was fixed before"):
        Bug(
            id="KAFKA-9",
            title="it bites",
            whom="you",
            since=first("3.0.0"),
            fixed=fixed,
            again=border,
            status=status(BugStatus.LIMITATION),
        )


def test_since_when_a_bug_is_there_has_a_source_on_both_sides() -> None:
    told: dict[str, Any] = {"id": "KAFKA-8", "title": "it bites", "whom": "you", "fixed": ("3.1.0",)}
    with pytest.raises(TypeError, match="since"):
        Bug(**told)
    asks, asks_not = Side("2.6.3", "it asks"), Side("2.7.0", "it does not ask")
    with pytest.raises(UsageError, match=r"KAFKA-8: it needs the first release that has it, not the line 2\.7"):
        Bug(since=Border("2.7", "KIP-497", asks, asks_not), **told)
    bug = Bug(since=Border("2.7.0", "KIP-497", asks, asks_not), **told)
    assert bug.came == "It is there since 2.7.0 (KIP-497). In 2.6.3 it asks. In 2.7.0 it does not ask."


@pytest.mark.parametrize("made", EXHIBITS, ids=lambda made: made.name)
def test_nothing_lies_between_the_releases_that_say_since_when_a_bug_is_there(made: Scenario) -> None:
    """The release that was read before a bug came is of the last line before it, or of its own."""
    assert made.exhibit is not None
    since = made.exhibit.bug.since
    lines = sorted({line_of(numbers(release)) for release in ("0.8.1.1", *apache.releases())})
    own = lines.index(line_of(since.release))
    assert line_of(numbers(since.before.release)) in lines[own - 1 : own + 1]
    assert since.first in apache.releases()
    assert all(len(side.code.split()) <= 30 for side in (since.before, since.after))


@pytest.mark.parametrize(
    ("name", "first_release"),
    [
        # OffsetManager of 0.8.2.0 deletes offsets by their age, and reads one chunk again and again.
        ("museum-expired-offsets", "0.8.2.0"),
        ("museum-unloadable-group", "0.8.2.0"),
        # Log.append refuses what is larger than segment.bytes from KAFKA-1670 on.
        ("museum-segment-below-batch", "0.8.2.0"),
        # KRaft before it was ready for production
        ("museum-isolated-controller", "2.8.0"),
        ("museum-false-clean-marker", "2.8.0"),
        ("museum-deleted-records-return", "2.8.0"),
        ("museum-reassigned-to-one", "3.0.0"),
        ("museum-made-again", "3.0.0"),
    ],
)
def test_first_releases_that_were_corrected_by_the_source(name: str, first_release: str) -> None:
    exhibit = get_scenario(name).exhibit
    assert exhibit is not None
    assert exhibit.bug.since.first == first_release
    assert exhibit.as_json()["since"] == first_release
    assert exhibit.as_json()["came"].startswith(f"It is there since {first_release} (")


def test_borders_of_a_bug_are_neighbours_of_which_one_has_it() -> None:
    known = ["1.0.2", "1.1.0", "2.8.1", "2.8.2", "3.0.1", "3.0.2", "3.1.0", "3.1.1", "3.2.0", "4.2.2", "4.3.0"]
    assert BACKPORTED.borders(known) == [
        (BACKPORTED.since.before.release, "1.1.0"),
        ("2.8.1", "2.8.2"),
        ("3.0.1", "3.0.2"),
        ("3.1.0", "3.1.1"),
        ("3.1.0", "3.2.0"),
    ]
    back = Border("4.3.0", "KAFKA-10", Side("4.2.2", "it waits"), Side("4.3.0", "it does not"))
    again = replace(BACKPORTED, again=back, status=status(BugStatus.LIMITATION))
    assert again.borders(known)[-1] == ("4.2.2", "4.3.0")


@pytest.mark.parametrize("made", EXHIBITS, ids=lambda made: made.name)
def test_of_each_border_of_an_exhibits_bug_one_side_has_it(made: Scenario) -> None:
    assert made.exhibit is not None
    bug = made.exhibit.bug
    for before, after in bug.borders(apache.releases()):
        assert bug.is_in(numbers(before)) is not bug.is_in(numbers(after)), (before, after)


def test_a_bug_of_a_client_says_whose_releases_these_are() -> None:
    of_java = Bug(
        id="KAFKA-7", title="it bites", whom="you", since=first("3.0.0"), fixed=("3.0.1",), whose="Java clients"
    )
    assert of_java.releases == "Java clients from 3.0.0 on, fixed in 3.0.1"


def test_of_the_bugs_that_no_release_mends_those_are_open_that_nobody_knows() -> None:
    """The tracker, the source and the clients were looked at: a word that is wrong here is wrong on every page."""
    bugs = {made.exhibit.bug.id: made.exhibit.bug for made in EXHIBITS if made.exhibit}
    stands = {name: bug.status.state for name, bug in bugs.items() if bug.status}
    assert {name for name, state in stands.items() if state is BugStatus.OPEN} == {
        "deleted-records-return",
        "malformed-checkpoint",
        "observers-spin",
        "poll-commits-ahead",
    }
    assert stands["KAFKA-17375"] is BugStatus.UNRELEASED
    assert stands["KAFKA-20716"] is BugStatus.LIMITATION
    assert stands["KAFKA-15665"] is BugStatus.LIMITATION
    assert bugs["KAFKA-15665"].again is not None
    assert bugs["KAFKA-20716"].also_known_as == ("KAFKA-7408",)
    assert stands["KAFKA-17754"] is BugStatus.IN_A_CLIENT
    assert "Jepsen" in bugs["KAFKA-17754"].credit
    assert bugs["KAFKA-20634"].fixed == ("4.2.2", "4.3.1")
    of_clients = {"KAFKA-19012", "KAFKA-13598", "KAFKA-20685", "KAFKA-7192", "KAFKA-18641", "KAFKA-14196"}
    of_clients |= {"poll-commits-ahead", "KAFKA-20330"}
    assert {name for name, bug in bugs.items() if bug.whose == "Java clients"} == of_clients


def test_a_bug_of_one_mode_is_none_of_the_other() -> None:
    of_kraft = Bug(id="KAFKA-3", title="it bites", whom="you", since=first("3.3.0"), fixed=("3.8.0",), mode="kraft")
    assert of_kraft.affects(version("3.5.1", "kraft"))
    assert not of_kraft.affects(version("3.5.1"))


def test_before_1_0_a_line_has_three_numbers() -> None:
    assert line_of(numbers("0.11.0.3")) == (0, 11, 0)
    early = Bug(id="KAFKA-4", title="it bites", whom="you", since=first("0.10.0.0"), fixed=("0.10.1.1", "0.10.2.0"))
    assert [kafka for kafka in ("0.10.0.1", "0.10.1.0") if early.affects(version(kafka))] == ["0.10.0.1", "0.10.1.0"]
    assert not any(early.affects(version(kafka)) for kafka in ("0.9.0.1", "0.10.1.1", "0.10.2.0", "0.11.0.0"))


@pytest.mark.parametrize("fixed", [("3.0.2", "2.8.2"), ("2.8.1", "2.8.2")])
def test_fixed_releases_are_one_of_each_line_in_order(fixed: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="one fixed release of each line"):
        Bug(id="KAFKA-5", title="it bites", whom="you", since=first("1.0.0"), fixed=fixed)


def test_what_is_no_release_is_bad_input() -> None:
    with pytest.raises(UsageError, match="is no release"):
        numbers("3.9.2-kraft")


@pytest.mark.parametrize("made", EXHIBITS, ids=lambda made: made.name)
def test_an_exhibit_is_shown_on_releases_that_have_the_bug_and_on_some_that_have_not(made: Scenario) -> None:
    exhibit = made.exhibit
    assert exhibit is not None
    assert made.name.startswith("museum-")
    assert exhibit.affected
    assert all(exhibit.bug.affects(versions.get(name)) for name in exhibit.affected)
    # Where a fix takes clients too, a case of its own shows it.
    fixed_alone = exhibit.fixed_case == "default"
    assert fixed_alone is not any(exhibit.bug.affects(versions.get(name)) for name in exhibit.fixed)
    assert fixed_alone is not bool(exhibit.fixed_with)
    for name in () if fixed_alone else exhibit.fixed:
        assert made.documented_for(versions.get(name), exhibit.fixed_case).required == frozenset()
    assert exhibit.fixed or not exhibit.bug.fixed
    assert exhibit.bug.id in made.source or "no JIRA" in made.source
    for one in made.versions:
        (case, *_) = made.cases_for(one)
        documented = made.documented_for(one, case.name)
        affected = one.id in exhibit.affected
        assert documented.on is (exhibit.bug.affected if affected else exhibit.bug.unaffected)


def test_the_museum_is_there() -> None:
    assert {made.file.split(".")[1] for made in EXHIBITS} == {"museum"}
    assert len(EXHIBITS) >= 2


def test_all_versions_are_those_of_the_matrix_and_for_an_exhibit_those_it_is_shown_on() -> None:
    baseline, exhibit = get_scenario("baseline"), get_scenario("museum-kip-279")
    found = [(cell.scenario, cell.version) for cell in cells([baseline, exhibit], None, seed=1, repeat=1)]
    assert [version for name, version in found if name == "baseline"] == [one.id for one in versions.ALL]
    assert [version for name, version in found if name == exhibit.name] == ["1.1.1", "2.2.2"]


def test_a_version_of_exhibits_alone_is_run_where_it_is_named() -> None:
    assert not {one.id for one in versions.OF_EXHIBITS} & {one.id for one in versions.ALL}
    for one in versions.OF_EXHIBITS:
        assert versions.get(one.id) is one
        assert [cell.version for cell in cells([get_scenario("baseline")], [one], seed=1, repeat=1)] == [one.id]
        assert any(one.id in made.exhibit.versions for made in EXHIBITS if made.exhibit is not None), one.id


def test_other_cases_show_what_one_shows_and_perhaps_more() -> None:
    back, newest = get_scenario("museum-deleted-records-return"), versions.get("4.3.1")
    assert back.alike(newest, "one-broker") == ["default", "crashed", "power-cut", "own-settings"]
    assert back.alike(newest, "default") == ["crashed", "power-cut", "own-settings"], "one need not show all of it"
    assert back.alike(newest, "controllers-first") == ["one-gives-up"], "a case without the bug shows none"
    assert get_scenario("museum-marker-lost").alike(newest, "next-aborts") == []
    assert get_scenario("last-replica-standing").alike(newest, "min-1-killed") == [], "it is no exhibit"
