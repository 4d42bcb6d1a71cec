"""Every statement says where it is documented, and of what kind that is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from audit import matrix
from checks import catalogue as anomalies
from checks import claims
from evidence.basis import Basis, fault_of, in_words
from harness.cluster import versions
from harness.scenario import all_scenarios


@pytest.mark.parametrize(
    ("source", "basis", "wrong"),
    [
        ("KIP-101: scenario 1", Basis.KIP, ""),
        ("KIP 101", Basis.KIP, 'names no KIP ("KIP-101")'),
        ("KAFKA-3143", Basis.JIRA, ""),
        ("librdkafka issue 4953", Basis.JIRA, ""),
        ("somebody said so", Basis.JIRA, "names no ticket"),
        ("Partition.maybeShrinkIsr (2.6.2)", Basis.SOURCE, ""),
        ("Partition.maybeShrinkIsr", Basis.SOURCE, "names no release"),
        ("Kafka documentation, Design: replication", Basis.DOCUMENTATION, ""),
        ("", Basis.DOCUMENTATION, "names no document (documentation, a guide, a manual, "),
        ("seen on 4.3.1", Basis.MEASURED, ""),
        ("4.3.1", Basis.MEASURED, "does not say where it was seen"),
        ("KIP-101", "KIP", "is not one of documentation, KIP, JIRA, source, measured"),
    ],
)
def test_a_source_names_what_its_basis_says(source: str, basis: Basis, wrong: str) -> None:
    assert (wrong in fault_of(source, basis)) if wrong else fault_of(source, basis) == ""


def test_what_our_runs_alone_say_is_told_so() -> None:
    assert in_words("seen on 4.3.1", "measured") == "our runs alone: seen on 4.3.1"
    assert in_words("KIP-101", "KIP") == "KIP-101"


def stated() -> Iterator[tuple[str, str, Basis]]:
    """Every statement: what it is, its source and its basis."""
    for made in all_scenarios().values():
        for case in made.cases.values():
            for outcome in case.documented:
                yield f"{made.name}, {case.name}, {outcome.on.label}", outcome.source, outcome.basis
    for claim in claims.EVERY:
        yield claim.name, claim.source, claim.basis
        if claim.bound_basis is not None:
            yield f"the bound of {claim.name}", claim.bound_source, claim.bound_basis
    for anomaly in anomalies.EVERY:
        yield anomaly.name, anomaly.source, anomaly.basis
    for cell in matrix.measured():
        yield str(cell.key), cell.stated.source, cell.stated.basis


def test_every_statement_has_a_source_of_its_basis() -> None:
    found = list(stated())
    assert len(found) > 6_000
    assert [(what, fault) for what, source, basis in found if (fault := fault_of(source, basis))] == []


def test_what_was_only_seen_is_measured_and_says_on_which_releases() -> None:
    for what, source, basis in stated():
        if what.startswith("the bound of "):
            continue  # a bound is more than was seen on any release
        if basis == Basis.MEASURED:
            assert re.search(r"seen (on|of|with) .*\d+\.\d+", source), what
        else:
            assert "documented nowhere" not in source, what


def test_an_outcome_whose_range_is_about_a_ticket_names_it() -> None:
    """What is stated for the releases that have a bug has that bug as its source."""
    for made in all_scenarios().values():
        for case in made.cases.values():
            for outcome in case.documented:
                ticket = re.match(r"(?:without )?(KAFKA-\d+)", outcome.on.label)
                if ticket and made.exhibit is not None and ticket[1] == made.exhibit.bug.id:
                    assert ticket[1] in outcome.source, (made.name, case.name)


def test_every_version_has_an_outcome_with_a_basis() -> None:
    for made in all_scenarios().values():
        for version in versions.KNOWN:
            for case in made.cases.values():
                if made.applies_to(version, case):
                    assert made.documented_for(version, case.name).basis in Basis
