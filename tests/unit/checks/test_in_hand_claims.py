"""How much members of a group may process again, or skip: claims on histories that keep to it, and that do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from checks import claims
from checks.claim import HandedOver, MemberChange, MemberCommit, Processing
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import CrashPoint, Event, Fault, Target
from evidence.faults.clients import KillClientProof
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

REPEATS, SKIPS = "repeats-no-more-than-was-in-hand", "skips-no-more-than-was-in-hand"
NONE = "commit-first-repeats-none"
A, B = "application-1", "application-2"
Outputs = Mapping[int, Sequence[int]]
Step = HandedOver | MemberCommit | MemberChange


def given(process: str, second: int) -> MemberChange:
    return MemberChange(process=process, given=True, at_ns=second)


def polled(process: str, second: int, *offsets: int) -> HandedOver:
    return HandedOver(process=process, at_ns=second, offsets=offsets)


def committed(process: str, second: int, offset: int, outcome: str = "ok") -> MemberCommit:
    error = None if outcome == "ok" else "ILLEGAL_GENERATION"
    return MemberCommit(process=process, offset=offset, invoked_ns=second, outcome=outcome, error=error)


def killed(*processes: str) -> tuple[Event, ...]:
    target, proof = Target(node=", ".join(processes)), KillClientProof(pid=7, status=-9)
    return tuple(
        at(
            5,
            Fault(
                fault_kind="kill-client", id="f1", phase=phase, target=target, description="kill",
                proof=proof if phase == "verified" else None,
            ),
        )
        for phase in ("inject", "verified")
    )  # fmt: skip


STANDS = at(
    4,
    CrashPoint(
        process=A, producer=1, done="commit", following="process", round=2, group="g", topic="t", partition=0,
        committed=2, outputs=0, written=0,
    ),
)  # fmt: skip


def judged(name: str, steps: Sequence[Step], outputs: Outputs | None, *events: Event, inputs: int = 6) -> ClaimResult:
    seen = None if outputs is None else Processing(inputs=frozenset(range(inputs)), outputs=outputs)
    evidence = RunEvidence(
        run=run_record({}),
        run_state=RunState((STANDS, *events)),
        processing=lambda topic, partition: seen,
        handed_over=lambda *_: [one for one in steps if isinstance(one, HandedOver)],
        member_commits=lambda *_: [one for one in steps if isinstance(one, MemberCommit)],
        member_changes=lambda *_: [one for one in steps if isinstance(one, MemberChange)],
    )
    return claims.judge(name, evidence)


FIRST: list[Step] = [given(A, 1), polled(A, 2, 0, 1), committed(A, 3, 2), polled(A, 4, 2, 3)]
"""Two are committed, and two more are in its hand when it is killed, or loses its partition."""
GOES_ON: list[Step] = [given(B, 10), polled(B, 11, 2, 3), committed(B, 12, 4), polled(B, 13, 4, 5), committed(B, 14, 6)]
ANEW: list[Step] = [
    given(B, 10),
    polled(B, 11, 0, 1, 2, 3),
    committed(B, 12, 4),
    polled(B, 13, 4, 5),
    committed(B, 14, 6),
]
ONCE: Outputs = dict.fromkeys(range(6), (1,))
AGAIN: Outputs = {**ONCE, 2: (1, 2), 3: (1, 2)}
ALL_AGAIN: Outputs = dict.fromkeys(range(6), (1, 2))


@pytest.mark.parametrize(
    ("steps", "outputs", "outcome"),
    [
        ([*FIRST, *GOES_ON], AGAIN, HELD),
        ([*FIRST, *GOES_ON], ONCE, HELD),
        # What the coordinator refused was in hand as well.
        ([*FIRST, committed(A, 5, 4, "fail"), *GOES_ON], AGAIN, HELD),
        # What it had acknowledged was not.
        ([*FIRST, committed(A, 5, 4), *GOES_ON], AGAIN, CONTRADICTED),
        # The next owner begins anew, and not where the group was.
        ([*FIRST, *ANEW], {**AGAIN, 0: (1, 2), 1: (1, 2)}, CONTRADICTED),
        ([*FIRST, *GOES_ON], ALL_AGAIN, CONTRADICTED),
        # Twice more, and one member alone had lost them.
        ([*FIRST, *GOES_ON], {**ONCE, 2: (1, 2, 3)}, CONTRADICTED),
        # The same member loses its partition twice with them.
        ([*FIRST, given(A, 6), polled(A, 7, 2, 3), *GOES_ON], {**ONCE, 2: (1, 1, 2)}, HELD),
        # What it commits while it has the partition again says nothing of the first time.
        ([*FIRST, given(A, 6), polled(A, 7, 2, 3), committed(A, 8, 4)], {**ONCE, 2: (1, 1)}, HELD),
    ],
)
def test_no_more_is_repeated_than_was_in_hand(steps: Sequence[Step], outputs: Outputs, outcome: str) -> None:
    assert judged(REPEATS, steps, outputs, *killed(A)).outcome == outcome


SKIPPED: Outputs = {offset: made for offset, made in ONCE.items() if offset not in (2, 3)}
COMMITS_FIRST: list[Step] = [
    given(A, 1),
    polled(A, 2, 0, 1),
    committed(A, 3, 2),
    polled(A, 4, 2, 3),
    committed(A, 5, 4),
]
GOES_BEYOND: list[Step] = [given(B, 10), polled(B, 11, 4, 5), committed(B, 12, 6)]


@pytest.mark.parametrize(
    ("outputs", "dead", "outcome"),
    [
        (SKIPPED, (A,), HELD),
        (ONCE, (A,), HELD),
        (SKIPPED, (), CONTRADICTED),
        (SKIPPED, (B,), CONTRADICTED),
        # The poll before was processed before it polled again.
        ({4: (1,), 5: (1,)}, (A,), CONTRADICTED),
        ({}, (A,), CONTRADICTED),
    ],
)
def test_no_more_is_skipped_than_was_in_hand(outputs: Outputs, dead: tuple[str, ...], outcome: str) -> None:
    steps = [*COMMITS_FIRST, *GOES_BEYOND]
    assert judged(SKIPS, steps, outputs, *(killed(*dead) if dead else ())).outcome == outcome


@pytest.mark.parametrize(
    ("outputs", "outcome"), [(SKIPPED, HELD), (ONCE, HELD), ({**SKIPPED, 0: (1, 2)}, CONTRADICTED)]
)
def test_who_commits_first_repeats_nothing(outputs: Outputs, outcome: str) -> None:
    """Not even what a member had in hand that was killed."""
    assert judged(NONE, [*COMMITS_FIRST, *GOES_BEYOND], outputs, *killed(A)).outcome == outcome


@pytest.mark.parametrize("name", [REPEATS, NONE, SKIPS])
def test_without_members_or_without_outputs_nothing_is_shown(name: str) -> None:
    assert judged(name, [], ONCE).outcome == NOT_OBSERVED
    assert judged(name, [*FIRST, *GOES_ON], None).outcome == NOT_OBSERVED


def test_what_is_told() -> None:
    found = judged(REPEATS, [*FIRST, *GOES_ON], ALL_AGAIN, *killed(A))
    (row,) = found.evidence
    assert (row["count"], row["in_hand"], row["not_in_hand"]) == (6, 2, [0, 1, 4, 5])
    assert found.observed.startswith("of 6 inputs 6 processed again, 4 inputs of them without having been in hand")
