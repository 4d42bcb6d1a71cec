"""Which inputs a crash skips and repeats: claims on histories that show it, contradict it, or neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from msgspec import structs

from checks import claims
from checks.claim import HandedOver, MemberCommit, Processing, Result
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import CrashPoint, Event, Fault, StoreAnswer, Target
from evidence.faults.clients import KillClientProof
from evidence.faults.process import KillProof
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.checks import test_spontaneous
from tests.unit.checks.test_availability_anomalies import SECOND, run_state_of
from tests.unit.timelines import at

SKIPS = "crash-skips-what-was-committed"
REPEATS = "crash-repeats-what-was-not-committed"
KILLED, NEXT = 3, 4
"""Their producers' numbers."""
Outputs = Mapping[int, Sequence[int]]


def stands(committed: int | None, second: int = 1) -> CrashPoint:
    return at(
        second,
        CrashPoint(
            process="processor-1",
            producer=KILLED,
            done="commit",
            following="process",
            round=2,
            group="g",
            topic="t",
            partition=0,
            committed=committed,
            outputs=0,
            written=0,
        ),
    )


def killed(process: str = "processor-1", second: int = 2) -> tuple[Event, ...]:
    target = Target(node=process)
    proof = KillClientProof(pid=7, status=-9)
    return (
        at(second, Fault(fault_kind="kill-client", id="f1", phase="inject", target=target, description="kill")),
        at(
            second,
            Fault(fault_kind="kill-client", id="f1", phase="verified", target=target, description="kill", proof=proof),
        ),
    )


def judged(
    name: str, *events: Event, outputs: Outputs | None, inputs: int = 6, called: Outputs | None = None
) -> ClaimResult:
    seen = None if outputs is None else Processing(inputs=frozenset(range(inputs)), outputs=outputs)
    evidence = RunEvidence(
        run=run_record({}),
        run_state=RunState(events),
        processing=lambda topic, partition: seen,
        called_processed=lambda topic, partition: called or {},
    )
    return claims.judge(name, evidence)


def by(producer: int, *inputs: int) -> dict[int, tuple[int, ...]]:
    return dict.fromkeys(inputs, (producer,))


COMMITTED_FIRST = by(KILLED, 0, 1) | by(NEXT, 4, 5)
"""Of six inputs two were processed when four were committed; the next one begins with the fifth."""
PROCESSED_FIRST = by(KILLED, 0, 1) | {2: (KILLED, NEXT), 3: (KILLED, NEXT)} | by(NEXT, 4, 5)
"""Four were processed when two were committed."""
ONCE = by(KILLED, 0, 1) | by(NEXT, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("committed", "outputs", "skips", "repeats"),
    [
        (4, COMMITTED_FIRST, HELD, HELD),
        (2, PROCESSED_FIRST, HELD, HELD),
        (2, ONCE, HELD, HELD),
        (None, by(NEXT, *range(6)), HELD, HELD),
        # One more is gone than lay between.
        (4, by(KILLED, 0, 1) | by(NEXT, 5), CONTRADICTED, HELD),
        # What was committed is processed all the same.
        (4, ONCE, CONTRADICTED, HELD),
        # What was processed and not committed is not processed again.
        (2, by(KILLED, 0, 1, 2, 3) | by(NEXT, 4, 5), HELD, CONTRADICTED),
        # What was committed is processed again.
        (4, PROCESSED_FIRST, HELD, CONTRADICTED),
    ],
)
def test_exactly_what_lay_between(committed: int | None, outputs: Outputs, skips: str, repeats: str) -> None:
    events = (stands(committed), *killed())
    assert judged(SKIPS, *events, outputs=outputs).outcome == skips
    assert judged(REPEATS, *events, outputs=outputs).outcome == repeats


@pytest.mark.parametrize(("busy", "outcome"), [(0.9, NOT_OBSERVED), (0.1, CONTRADICTED)])
def test_what_is_repeated_since_a_busy_machine_ended_a_session_contradicts_nothing(busy: float, outcome: str) -> None:
    """Members may have been given their inputs anew."""
    cluster = (*test_spontaneous.UP, test_spontaneous.CREATED, test_spontaneous.FENCED, test_spontaneous.waits(busy))
    events = run_state_of(*cluster, stands(4), *killed()).events
    seen = Processing(inputs=frozenset(range(6)), outputs=PROCESSED_FIRST)
    evidence = RunEvidence(
        run=test_spontaneous.RUN, run_state=RunState(events), processing=lambda topic, partition: seen
    )
    assert claims.judge(REPEATS, evidence).outcome == outcome


COMMITTED_MORE_AND_SKIPPED = by(KILLED, 0, 1) | by(NEXT, 5)
TWICE_BEFORE = by(KILLED, 0) | {1: (KILLED, KILLED)} | by(NEXT, 4, 5)
"""The one that was killed had processed an input twice."""


@pytest.mark.parametrize(
    ("crashed_s", "handed_s", "name", "outputs", "outcome"),
    [
        # The session ends at 60 s.
        (20, 80, REPEATS, PROCESSED_FIRST, NOT_OBSERVED),
        (20, None, REPEATS, PROCESSED_FIRST, NOT_OBSERVED),
        (70, 80, REPEATS, PROCESSED_FIRST, CONTRADICTED),
        (20, 50, REPEATS, PROCESSED_FIRST, CONTRADICTED),
        (70, 80, REPEATS, TWICE_BEFORE, NOT_OBSERVED),
        (20, 80, SKIPS, COMMITTED_MORE_AND_SKIPPED, CONTRADICTED),
        (70, 80, SKIPS, COMMITTED_MORE_AND_SKIPPED, CONTRADICTED),
    ],
    ids=[
        "since the crash",
        "nobody says what was handed over",
        "before the crash",
        "after the last input was handed over",
        "before the crash and before the repetition",
        "skipped",
        "skipped after a change before the crash",
    ],
)
def test_a_busy_machine_explains_what_is_repeated_after_it_and_no_skip(
    crashed_s: int, handed_s: int | None, name: str, outputs: Outputs, outcome: str
) -> None:
    cluster = (*test_spontaneous.UP, test_spontaneous.CREATED, test_spontaneous.FENCED, test_spontaneous.waits(0.9))
    died = (stands(4, crashed_s * SECOND), *killed(second=crashed_s * SECOND + 1))
    polls = [] if handed_s is None else [HandedOver(process="processor-2", at_ns=handed_s * SECOND, offsets=(5,))]
    seen = Processing(inputs=frozenset(range(6)), outputs=outputs)
    evidence = RunEvidence(
        run=test_spontaneous.RUN,
        run_state=RunState(tuple(sorted((*run_state_of(*cluster).events, *died), key=lambda one: one.at_ns))),
        processing=lambda topic, partition: seen,
        handed_over=lambda topic, partition: polls,
    )
    assert claims.judge(name, evidence).outcome == outcome


def test_what_another_one_beside_it_made_was_made_later() -> None:
    """Workers of Connect are started together: the next one's number may be lower than that of the one that died."""
    lower = KILLED - 1
    outputs = by(KILLED, 0, 1, 2, 3) | {2: (KILLED, lower), 3: (KILLED, lower)} | by(lower, 4, 5)
    stood = stands(2)
    named = structs.replace(stood, beside=(lower, NEXT))
    assert judged(REPEATS, named, *killed(), outputs=outputs).outcome == HELD
    # Without that the last two would be its own, and not repeated.
    assert judged(REPEATS, stood, *killed(), outputs=outputs).outcome == CONTRADICTED
    # A repetition that is missing is noticed all the same.
    once = by(KILLED, 0, 1, 2, 3) | by(lower, 4, 5)
    assert judged(REPEATS, named, *killed(), outputs=once).outcome == CONTRADICTED


def test_the_numbers_are_told() -> None:
    skipped = judged(SKIPS, stands(4), *killed(), outputs=COMMITTED_FIRST)
    assert skipped.observed == (
        "2 inputs of 6 never processed, exactly those that were committed and not processed at the crash"
    )
    assert [(row["expected"], row["seen"]) for row in skipped.evidence] == [([2, 3], [2, 3])]


@pytest.mark.parametrize("name", [SKIPS, REPEATS])
@pytest.mark.parametrize(
    ("events", "outputs"),
    [
        ((stands(4),), COMMITTED_FIRST),
        (killed(), COMMITTED_FIRST),
        ((stands(4), *killed("processor-2")), COMMITTED_FIRST),
        ((stands(4, second=3), *killed()), COMMITTED_FIRST),
        ((stands(4), *killed()), None),
    ],
    ids=["not killed", "nowhere", "another one", "stood still afterwards", "nobody read"],
)
def test_nothing_is_said_without_a_crash(name: str, events: tuple[Event, ...], outputs: Outputs | None) -> None:
    assert judged(name, *events, outputs=outputs).outcome == NOT_OBSERVED


@pytest.mark.parametrize(
    ("outputs", "outcome"),
    [(ONCE, HELD), (COMMITTED_FIRST, CONTRADICTED), (PROCESSED_FIRST, CONTRADICTED), (None, NOT_OBSERVED)],
)
def test_each_input_is_processed_once(outputs: Outputs | None, outcome: str) -> None:
    assert judged("each-input-processed-once", stands(2), outputs=outputs).outcome == outcome
    assert judged("each-input-processed-once", outputs=outputs).outcome == NOT_OBSERVED


def store_killed(second: int = 2) -> tuple[Event, ...]:
    target, proof = Target(node="store"), KillProof(exit_code=137, time_nano=1, signal_nano=1)
    fault = Fault(fault_kind="kill", id="f1", phase="inject", target=target, description="kill")
    return at(second, fault), at(second, structs.replace(fault, phase="verified", proof=proof))


def has(committed: int | None, second: int = 3, process: str = "processor-1") -> StoreAnswer:
    return at(
        second,
        StoreAnswer(process=process, store="postgresql", topic="t", partition=0, committed=committed, outputs=0),
    )


@pytest.mark.parametrize(
    ("outputs", "outcome"),
    [
        (by(KILLED, 0, 1, 4, 5), HELD),
        (by(KILLED, *range(6)), CONTRADICTED),
        (by(KILLED, 0, 1, 5), CONTRADICTED),
        (None, NOT_OBSERVED),
    ],
    ids=["exactly what was lost", "nothing", "one more", "nobody read"],
)
def test_a_killed_store_has_lost_what_is_skipped(outputs: Outputs | None, outcome: str) -> None:
    events = (stands(4), *store_killed(), has(2))
    assert judged("store-crash-skips-what-it-lost", *events, outputs=outputs).outcome == outcome


@pytest.mark.parametrize(
    "events",
    [
        (stands(4), has(2)),
        (stands(4), *store_killed(), has(4)),
        (stands(4), *store_killed(second=4), has(2)),
        (stands(4, second=3), *store_killed(second=2), has(2, second=4)),
        (stands(4), *store_killed(), has(2, process="processor-2")),
    ],
    ids=["not killed", "nothing lost", "killed afterwards", "killed before", "another application"],
)
def test_nothing_is_said_of_a_store_that_has_lost_nothing(events: tuple[Event, ...]) -> None:
    found = judged("store-crash-skips-what-it-lost", *events, outputs=by(KILLED, 0, 1, 4, 5))
    assert found.outcome == NOT_OBSERVED


def commit(process: str, second: int, outcome: str = "ok", error: str | None = None) -> MemberCommit:
    return MemberCommit(process=process, offset=4, invoked_ns=second, outcome=outcome, error=error)


OWN, OTHER = "processor-1", "processor-2"


@pytest.mark.parametrize(
    ("commits", "outcome"),
    [
        ([commit(OTHER, 2), commit(OWN, 3, "info", "ILLEGAL_GENERATION")], HELD),
        ([commit(OTHER, 2), commit(OWN, 3)], CONTRADICTED),
        # Nobody else had the partition, or nobody is known to.
        ([commit(OWN, 3, "info", "_TIMED_OUT")], NOT_OBSERVED),
        ([commit(OTHER, 2, "info", "_TIMED_OUT"), commit(OWN, 3, "info", "ILLEGAL_GENERATION")], NOT_OBSERVED),
        # It committed before it stood still, or never again.
        ([commit(OWN, 0), commit(OTHER, 2)], NOT_OBSERVED),
        # No coordinator was asked.
        ([commit(OTHER, 2), commit(OWN, 3, "info", "_FATAL")], NOT_OBSERVED),
        ([commit(OTHER, 2), commit(OWN, 3, "fail", "_FATAL")], NOT_OBSERVED),
        ([commit(OTHER, 2), commit(OWN, 3, "info", "FENCED_INSTANCE_ID"), commit(OWN, 4, "info", "_FATAL")], HELD),
        # When it is a member again it may commit.
        ([commit(OTHER, 2), commit(OWN, 3, "info", "ILLEGAL_GENERATION"), commit(OWN, 4)], HELD),
    ],
)
def test_a_late_commit_is_refused(commits: list[MemberCommit], outcome: str) -> None:
    evidence = RunEvidence(
        run=run_record({}), run_state=RunState((stands(2),)), member_commits=lambda topic, partition: commits
    )
    assert claims.judge("late-commit-refused", evidence).outcome == outcome


REMOVED, REPLACED_INSTANCE = "late-commit-of-removed-member-unknown", "late-commit-of-replaced-instance-fenced"


@pytest.mark.parametrize(
    ("error", "same_instance", "removed", "fenced"),
    [
        ("UNKNOWN_MEMBER_ID", False, HELD, NOT_OBSERVED),
        ("CommitFailedException", False, HELD, NOT_OBSERVED),
        ("ILLEGAL_GENERATION", False, CONTRADICTED, NOT_OBSERVED),
        (None, False, CONTRADICTED, NOT_OBSERVED),
        ("FENCED_INSTANCE_ID", True, NOT_OBSERVED, HELD),
        # librdkafka refused it by itself: no coordinator was asked.
        ("_FATAL", True, NOT_OBSERVED, NOT_OBSERVED),
        ("_FATAL", False, NOT_OBSERVED, NOT_OBSERVED),
        ("UNKNOWN_MEMBER_ID", True, NOT_OBSERVED, CONTRADICTED),
        (None, True, NOT_OBSERVED, CONTRADICTED),
    ],
)
def test_a_late_commit_is_refused_for_a_reason(
    error: str | None, same_instance: bool, removed: str, fenced: str
) -> None:
    names = ("a", "a" if same_instance else "b")
    processes = [
        {"name": process, "settings": {"group.instance.id": name}}
        for process, name in zip((OWN, OTHER), names, strict=True)
    ]
    commits = [commit(OTHER, 2), commit(OWN, 3, "info" if error else "ok", error)]
    evidence = RunEvidence(
        run=run_record({"processes": processes}),
        run_state=RunState((stands(2),)),
        member_commits=lambda topic, partition: commits,
    )
    assert claims.judge(REMOVED, evidence).outcome == removed
    assert claims.judge(REPLACED_INSTANCE, evidence).outcome == fenced


@pytest.mark.parametrize(
    ("settings", "library", "kafka", "outcome"),
    [
        ({"transactional.id": "a"}, "librdkafka", "2.8.2", HELD),
        ({"transactional.id": "a"}, "librdkafka", "3.0.0", CONTRADICTED),
        ({"transactional.id": "a"}, "librdkafka", "4.3.1", CONTRADICTED),
        ({"transactional.id": "a"}, "java", "2.8.2", CONTRADICTED),
        ({}, "librdkafka", "2.8.2", CONTRADICTED),
    ],
)
def test_a_member_that_left_by_itself_is_told_of_its_generation(
    settings: dict[str, str], library: str, kafka: str, outcome: str
) -> None:
    """librdkafka forgets its member id. Before 3.0 only the generation is checked of a commit in a transaction that
    has none.
    """
    processes = [{"name": OWN, "settings": settings, "library": library}, {"name": OTHER, "settings": {}}]
    commits = [commit(OTHER, 2), commit(OWN, 3, "info", "ILLEGAL_GENERATION")]
    evidence = RunEvidence(
        run=run_record({"processes": processes, "kafka": kafka}),
        run_state=RunState((stands(2),)),
        member_commits=lambda topic, partition: commits,
    )
    assert claims.judge(REMOVED, evidence).outcome == outcome


WRITTEN = "written-batch-not-written-again"


@pytest.mark.parametrize(
    ("committed", "outputs", "outcome"),
    [
        (2, by(KILLED, 0, 1, 2, 3) | by(NEXT, 4, 5), HELD),
        (2, PROCESSED_FIRST, CONTRADICTED),
        (4, by(KILLED, 0, 1, 2, 3) | by(NEXT, 4, 5), NOT_OBSERVED),
        (2, ONCE, NOT_OBSERVED),
        (2, None, NOT_OBSERVED),
    ],
    ids=["once", "twice", "it was committed", "nothing was written", "nobody read"],
)
def test_a_batch_that_is_written_is_not_written_again(committed: int, outputs: Outputs | None, outcome: str) -> None:
    assert judged(WRITTEN, stands(committed), *killed(), outputs=outputs).outcome == outcome
    assert judged(WRITTEN, stands(committed), outputs=outputs).outcome == NOT_OBSERVED


BY_KEY = "output-by-key-written-again"
REPLACED = by(KILLED, 0, 1) | by(NEXT, 2, 3, 4, 5)
"""What is in a table with one row for each input, when the second and the third were processed twice."""


@pytest.mark.parametrize(
    ("outputs", "called", "outcome"),
    [
        (REPLACED, PROCESSED_FIRST, HELD),
        (PROCESSED_FIRST, PROCESSED_FIRST, CONTRADICTED),
        ({**REPLACED, 3: (KILLED, NEXT)}, PROCESSED_FIRST, CONTRADICTED),
        (by(KILLED, 0, 1) | by(NEXT, 4, 5), PROCESSED_FIRST, CONTRADICTED),
        (ONCE, ONCE, NOT_OBSERVED),
        (None, PROCESSED_FIRST, NOT_OBSERVED),
    ],
    ids=["replaced", "all are there twice", "one is there twice", "gone", "nothing was repeated", "nobody read"],
)
def test_an_output_by_key_is_written_again(outputs: Outputs | None, called: Outputs, outcome: str) -> None:
    assert judged(BY_KEY, stands(2), *killed(), outputs=outputs, called=called).outcome == outcome
    assert judged(BY_KEY, stands(2), outputs=outputs, called=called).outcome == NOT_OBSERVED


def test_each_of_many_outputs_by_key_counts() -> None:
    """More of them than a row names, and the last is there twice."""
    inputs = range(2, 32)
    called, outputs = dict.fromkeys(inputs, (KILLED, NEXT)), dict.fromkeys(inputs, (NEXT,))
    seen = judged(BY_KEY, stands(2), *killed(), outputs=outputs, called=called)
    assert (seen.outcome, seen.observed) == (HELD, "30 inputs processed twice, 30 of them once in the output")
    assert (
        judged(BY_KEY, stands(2), *killed(), outputs={**outputs, 31: (KILLED, NEXT)}, called=called).outcome
        == CONTRADICTED
    )


AGAIN, COUNTED = "crash-counts-again-what-was-not-committed", "each-input-counted-once"
A, B = 1, 2
"""Numbers of keys."""


def states(*results: tuple[int, int, tuple[int, ...]], name: str, committed: int = 2) -> ClaimResult:
    """What a claim says of outputs, each with its key, its input, and the inputs that its result counts."""
    outputs: dict[int, list[int]] = {}
    for _, offset, _ in results:
        outputs[offset] = [*outputs.get(offset, ()), NEXT if offset in outputs else KILLED]
    told = [Result(key=key, offset=offset, counted=counted) for key, offset, counted in results]
    seen = Processing(inputs=frozenset(outputs), outputs=outputs, results=told)
    evidence = RunEvidence(
        run=run_record({}), run_state=RunState((stands(committed), *killed())), processing=lambda *_: seen
    )
    return claims.judge(name, evidence)


ONCE_EACH = ((A, 0, (0,)), (B, 1, (1,)), (A, 2, (0, 2)), (B, 3, (1, 3)))
COUNTED_AGAIN = (*ONCE_EACH, (A, 2, (0, 2, 2)), (B, 3, (1, 3, 3)))
"""Two inputs were not committed at the crash, and counted on top of themselves."""


def test_results_that_count_each_input_of_their_key_once_are_exact() -> None:
    told = states(*ONCE_EACH, name=COUNTED)
    assert (told.outcome, told.observed) == (HELD, "4 of 4 results exact")


@pytest.mark.parametrize(
    "wrong",
    [(A, 2, (0, 2, 2)), (A, 2, (2,)), (A, 2, (0, 1, 2)), (A, 2, (0,))],
    ids=["twice", "forgotten", "of another key", "without its own"],
)
def test_a_result_that_counts_otherwise_is_told(wrong: tuple[int, int, tuple[int, ...]]) -> None:
    told = states(*ONCE_EACH[:2], wrong, ONCE_EACH[3], name=COUNTED)
    assert (told.outcome, told.observed) == (CONTRADICTED, "3 of 4 results exact, 1 of them otherwise")
    assert [row["offset"] for row in told.evidence] == [2]


def test_what_was_not_committed_is_counted_again() -> None:
    told = states(*COUNTED_AGAIN, name=AGAIN)
    assert told.outcome == HELD
    assert told.observed.startswith("2 inputs of 4 counted more than once")
    # More than that, and less, is not what lay between.
    assert states(*COUNTED_AGAIN, name=AGAIN, committed=3).outcome == CONTRADICTED
    assert states(*ONCE_EACH, name=AGAIN).outcome == CONTRADICTED
    assert states(*ONCE_EACH, name=AGAIN, committed=4).outcome == HELD


def test_outputs_that_state_no_result_show_nothing() -> None:
    assert judged(COUNTED, stands(2), *killed(), outputs=ONCE).outcome == NOT_OBSERVED
    assert judged(COUNTED, stands(2), outputs=None).outcome == NOT_OBSERVED
    assert judged(AGAIN, *killed(), outputs=ONCE).outcome == NOT_OBSERVED


def test_of_two_applications_each_owes_what_lay_between_its_own_steps() -> None:
    """The other one has processed all inputs, some of them in the place of this one: that is nothing to this one."""
    other = 9
    own = Processing(inputs=frozenset(range(6)), outputs=PROCESSED_FIRST)
    both = {offset: (*producers, other) for offset, producers in PROCESSED_FIRST.items()}
    evidence = RunEvidence(
        run=run_record({}),
        run_state=RunState((stands(2), *killed())),
        processing=lambda topic, partition: Processing(inputs=frozenset(range(6)), outputs=both),
    )
    told_apart = replace(evidence, processing_by=lambda topic, partition: {"g": own})
    assert claims.judge(REPEATS, evidence).outcome == CONTRADICTED
    assert claims.judge(REPEATS, told_apart).outcome == claims.judge(SKIPS, told_apart).outcome == HELD
