"""What a static member keeps while it is away: claims on histories that show it, contradict it, or neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from msgspec import structs

from checks import claims
from checks.claim import MemberChange
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Event, Fault, GroupMember, GroupMembers, Target
from evidence.faults.clients import KillClientProof
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

RETURNS, REPLACED = "static-member-returns-without-rebalance", "static-member-replaced-after-session"
SECOND_NS = 1_000_000_000
OWN, OTHER = ("t", 0), ("t", 1)
Parts = Sequence[tuple[str, int]]


def group(second: int, **members: tuple[str, Parts]) -> GroupMembers:
    """By instance: its member id, and what it has."""
    found = tuple(
        GroupMember(member_id=member_id, instance=name, partitions=tuple(parts))
        for name, (member_id, parts) in members.items()
    )
    return at(second * SECOND_NS, GroupMembers(group="g", state="STABLE", members=found))


def killed(second: int = 2, process: str = "processor-1") -> tuple[Event, ...]:
    proof = KillClientProof(pid=7, status=-9)
    fault = Fault(fault_kind="kill-client", id="f1", phase="inject", target=Target(node=process), description="kill -9")
    return at(second * SECOND_NS, fault), at(second * SECOND_NS, structs.replace(fault, phase="verified", proof=proof))


def outcome(name: str, *events: Event, changes: Mapping[tuple[str, int], Sequence[MemberChange]] | None = None) -> str:
    settings = {"session.timeout.ms": "6000"}
    processes = [
        {
            "name": f"processor-{number}",
            "kind": "processor",
            "file": f"history/processor-{number}.arrows",
            "final": False,
            "settings": settings | ({"group.instance.id": instance} if instance else {}),
        }
        for number, instance in enumerate(("a", "b", ""), 1)
    ]
    evidence = RunEvidence(
        run=run_record({"processes": processes}),
        run_state=RunState(events),
        member_changes=lambda topic, partition: (changes or {}).get((topic, partition), ()),
    )
    return claims.judge(name, evidence).outcome


def given(process: str, second: float) -> MemberChange:
    return MemberChange(process=process, given=True, at_ns=int(second * SECOND_NS))


def taken(process: str, second: float) -> MemberChange:
    return MemberChange(process=process, given=False, at_ns=int(second * SECOND_NS))


BEFORE = group(1, a=("a-1", [OWN]), b=("b-1", [OTHER]))
BACK = group(5, a=("a-2", [OWN]), b=("b-1", [OTHER]))
GONE = group(9, b=("b-1", [OWN, OTHER]))


@pytest.mark.parametrize(
    ("events", "changes", "expected"),
    [
        ((BEFORE, *killed(), BACK), {OTHER: [given("processor-2", 1), taken("processor-2", 9)]}, HELD),
        ((BEFORE, *killed(), BACK), {OTHER: [taken("processor-2", 3), given("processor-2", 4)]}, CONTRADICTED),
        ((BEFORE, *killed(), group(5, a=("a-2", [OTHER]), b=("b-1", [OWN]))), {}, CONTRADICTED),
        ((BEFORE, *killed(), group(5, a=("a-1", [OWN]), b=("b-1", [OTHER]))), {}, NOT_OBSERVED),
        ((BEFORE, *killed(), GONE), {}, NOT_OBSERVED),
        ((BEFORE, BACK), {}, NOT_OBSERVED),
        ((BEFORE, *killed(process="processor-3"), BACK), {}, NOT_OBSERVED),
    ],
    ids=["back", "a rebalance", "other partitions", "still the old one", "gone", "not killed", "a dynamic member"],
)
def test_a_member_that_is_back_in_time(
    events: tuple[Event, ...], changes: Mapping[tuple[str, int], Sequence[MemberChange]], expected: str
) -> None:
    assert outcome(RETURNS, *events, changes=changes) == expected


@pytest.mark.parametrize(
    ("events", "at_s", "expected"),
    [
        ((BEFORE, *killed(), GONE), 8.5, HELD),
        ((BEFORE, *killed(), GONE), 5.5, HELD),
        ((BEFORE, *killed(), GONE), 4.0, CONTRADICTED),
        ((BEFORE, *killed(), BACK), 8.5, NOT_OBSERVED),
        ((BEFORE, GONE), 8.5, NOT_OBSERVED),
    ],
    ids=["after its session", "silent before it died", "too early", "back", "not killed"],
)
def test_a_member_that_is_away_for_too_long(events: tuple[Event, ...], at_s: float, expected: str) -> None:
    assert (
        outcome(REPLACED, *events, changes={OWN: [given("processor-1", 0.5), given("processor-2", at_s)]}) == expected
    )
