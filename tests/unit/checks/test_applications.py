"""Two applications with the same inputs: each is judged by itself, whose outputs are told by who made them."""

from __future__ import annotations

from msgspec.structs import replace

from analysis.outputs import differing_outputs
from checks.anomalies.processing import committed_too_far, repeated_processing, skipped_processing
from checks.applications import each_pipeline
from checks.pipelines import Pipeline, pipelines_of
from checks.view import PartitionView
from tests.records import run_record
from tests.unit.checks.histories import Row, polled, view
from tests.unit.checks.test_transactions import commits, made, output

FIRST, OTHER = 8, 9
"""Their producers' numbers."""
TWO = (
    Pipeline("application", frozenset({"processor-1"}), frozenset({FIRST})),
    Pipeline("other", frozenset({"processor-2"}), frozenset({OTHER})),
)
INPUTS = [polled(at, at, process=name, completed_ns=1) for name in ("processor-1", "processor-2") for at in range(3)]


def has_done(name: str, producer: int, *inputs: int) -> list[Row]:
    """An application made outputs of inputs, and committed all three of them."""
    rows = [made(at, number, 10) | {"process": name, "producer": producer} for number, at in enumerate(inputs)]
    outputs = [output(at, number, producer=producer) for number, at in enumerate(inputs)]
    return [*rows, *outputs, commits(3, 20) | {"process": name}]


def seen(*rows: Row, pipelines: tuple[Pipeline, ...] = TWO) -> PartitionView:
    return view(*INPUTS, *rows, outputs_read=True, pipelines=pipelines)


def counts(of: PartitionView) -> tuple[int, int, int]:
    return committed_too_far(of).total, skipped_processing(of).total, repeated_processing(of).total


def test_what_two_applications_have_each_processed_once_was_not_repeated() -> None:
    rows = has_done("processor-1", FIRST, 0, 1, 2) + has_done("processor-2", OTHER, 0, 1, 2)
    assert counts(seen(*rows)) == (0, 0, 0)
    assert counts(seen(*rows, pipelines=())) == (0, 0, 3)


def test_what_one_has_repeated_it_repeated_itself() -> None:
    rows = has_done("processor-1", FIRST, 0, 1, 1, 2) + has_done("processor-2", OTHER, 0, 1, 2)
    found = repeated_processing(seen(*rows))
    assert [row["offset"] for row in found] == [1]
    assert [one["output"]["producer"] for one in found[0]["outputs"]] == [FIRST, FIRST]


def test_what_one_has_skipped_the_other_one_did_not_do_for_it() -> None:
    rows = has_done("processor-1", FIRST, 0, 2) + has_done("processor-2", OTHER, 0, 1, 2)
    assert counts(seen(*rows)) == (1, 1, 0)
    assert counts(seen(*rows, pipelines=()))[1] == 0


def test_one_that_never_began_has_skipped_nothing() -> None:
    assert counts(seen(*has_done("processor-1", FIRST, 0, 1, 2))) == (0, 0, 0)


def test_an_output_that_is_not_there_is_missed_though_the_other_one_has_made_it() -> None:
    told = [made(1, 7, 10) | {"process": "processor-1", "producer": FIRST}]
    rows = has_done("processor-1", FIRST, 0, 2) + has_done("processor-2", OTHER, 0, 1, 2) + told
    assert [one.what for one in differing_outputs(seen(*rows))] == ["outputs differ"]
    assert differing_outputs(seen(*rows, pipelines=())) == []


def test_generations_of_one_application_are_one() -> None:
    run = run_record(
        {
            "processes": [
                {"name": name, "kind": kind, "file": "", "final": False, "settings": settings}
                for name, kind, settings in (
                    ("producer-1", "producer", {}),
                    ("processor-1", "processor", {"group.id": "a"}),
                    ("processor-2", "processor", {"group.id": "b", "application.id": "x"}),
                    ("processor-3", "processor", {"group.id": "a"}),
                    ("processor-4", "processor", {"application.id": "c"}),
                )
            ]
        }
    )
    assert pipelines_of(run) == (
        Pipeline("a", frozenset({"processor-1", "processor-3"}), frozenset({2, 4})),
        Pipeline("b", frozenset({"processor-2"}), frozenset({3})),
        Pipeline("c", frozenset({"processor-4"}), frozenset({5})),
    )
    assert pipelines_of(replace(run, processes=())) == ()


def test_of_one_application_the_partition_is_as_it_is() -> None:
    whole = seen(pipelines=TWO[:1])
    assert list(each_pipeline(whole)) == [whole]
