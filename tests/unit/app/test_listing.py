from __future__ import annotations

import pytest

from app import listing
from app.cli import main
from evidence.errors import EXIT_USAGE, UsageError
from harness.cluster import versions


def names(asked: listing.Selection, *named: str) -> set[str]:
    return {made.name for those in listing.chosen(named, asked).values() for made in those}


def test_without_arguments_the_list_fits_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24
    assert any(line.split()[:2] == ["truncation", "6"] for line in lines)
    assert max(map(len, lines)) <= 105


def test_every_scenario_is_in_one_section_and_every_section_has_a_line() -> None:
    sections = listing.sections()
    every = [made.name for those in sections.values() for made in those]
    assert len(every) == len(set(every)) == len(names(listing.Selection()))
    assert all(f"  {section}" in listing.overview(sections) for section in sections)
    assert next(iter(sections)) == "baseline"


def test_a_section_is_a_line_for_each_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "truncation"]) == 0
    told, _, why = capsys.readouterr().out.partition("\n\n")
    heading, *lines = told.splitlines()
    assert heading.startswith("truncation: ")
    assert len(lines) == len(listing.sections()["truncation"])
    assert why.startswith("A follower copies its leader's log.")
    assert max(map(len, why.splitlines())) <= 100


def test_several_sections_are_lines_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "truncation", "controller"]) == 0
    assert "A follower copies its leader's log." not in capsys.readouterr().out
    assert listing.why("baseline") == ""


def test_a_scenario_that_is_named_is_told_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "double-failover"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("double-failover\n")
    assert "lost-write" in text
    assert "follower-reboot" not in text.replace("museum-follower-reboot", "")
    assert main(["list", "truncation", "double-failover"]) == 0
    assert "source:" not in capsys.readouterr().out


def test_lines_are_cut_at_the_edge_of_a_terminal() -> None:
    shown = listing.chosen(["truncation"], listing.Selection())
    assert max(map(len, listing.as_lines(shown, 80).splitlines()[1:])) == 80
    assert "…" not in listing.as_lines(shown, None)


@pytest.mark.parametrize(
    ("asked", "within", "without"),
    [
        (listing.Selection(suite=True), "double-failover", "bridge"),
        (listing.Selection(seen="lost-write"), "double-failover", "baseline"),
        (listing.Selection(seen="lost-write", on=versions.get("4.3.1")), "leader-crash", "double-failover"),
        (listing.Selection(on=versions.get("0.10.2.2")), "double-failover", "follower-reboot-epoch"),
        (listing.Selection(claim="leader-elected-from-isr"), "double-failover", "baseline"),
        (listing.Selection(find="kip-966"), "last-replica-standing", "baseline"),
    ],
)
def test_a_list_is_narrowed(asked: listing.Selection, within: str, without: str) -> None:
    found = names(asked)
    assert within in found
    assert without not in found
    assert found < names(listing.Selection())


def test_names_and_filters_are_both_held_to() -> None:
    assert names(listing.Selection(suite=True), "truncation") == {
        "double-failover",
        "follower-reboot",
        "follower-reboot-epoch",
        "leader-epoch-recovery",
        "replica-divergence",
    }
    assert listing.as_lines(listing.chosen(["baseline"], listing.Selection(seen="lost-write")), None) == (
        "no scenario is like that"
    )


def test_bad_names_are_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "double-failovr"]) == EXIT_USAGE
    assert "did you mean double-failover" in capsys.readouterr().err
    with pytest.raises(UsageError, match="no anomaly 'lost-writ'"):
        listing.Selection(seen="lost-writ")
    with pytest.raises(UsageError, match="no claim 'x'"):
        listing.Selection(claim="x")
