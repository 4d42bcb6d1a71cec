"""The outcome of each subject, held against what is stated of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from evidence.findings import Finding, Findings
from evidence.subjects import counted
from judgement.subjects import JudgedSubjects, judge
from tests.findings import finding as made_of
from tests.findings import findings
from tests.records import run_record, subject_record

Facts = Mapping[str, Any]


def subject(
    number: int = 0, must: tuple[str, ...] = (), may: tuple[str, ...] = (), **changes: object
) -> dict[str, Any]:
    return {
        "client": "java",
        "acks": "1",
        "idempotence": False,
        "in_flight": 5,
        "retries": "many",
        "topic": "rf3-min1",
        "partition": number,
        "process": f"producer-{number}",
        "stated": {"must": list(must), "may": list(may)},
        "expected_loss": [[3, 10]],
    } | changes


def counts(number: int = 0, **changes: object) -> dict[str, Any]:
    of = {"topic": "rf3-min1", "partition": number, "process": f"producer-{number}", "acks": [1]}
    return of | {"acknowledged": 10, "refused": 0, "unknown_present": 0, "unknown_absent": 0} | changes


def row(sequence: int = 3, process: str = "producer-0") -> dict[str, Any]:
    return {"producer": 1, "sequence": sequence, "process": process}


def finding(anomaly: str = "lost-write", *rows: Facts, number: int = 0, count: int | None = None) -> Finding:
    told = list(rows or (row(),))
    size = len(told) if count is None else count
    return made_of({"anomaly": anomaly, "topic": "rf3-min1", "partition": number, "count": size, "evidence": told})


def known(*subjects: Facts, found: Sequence[Finding] = ()) -> Findings:
    return replace(findings({"subjects": list(subjects)}), findings=tuple(found))


def run_of(*subjects: Facts, settings: Facts | None = None) -> dict[str, Any]:
    given = {"acks": "1"} if settings is None else settings
    return {
        "subjects": list(subjects),
        "processes": [{"name": one["process"], "settings": given} for one in subjects],
    }


GOES_BY = {"acks": "1", "enable.idempotence": "false", "max.in.flight": "5", "retries": "2147483647"}
CONFIGURATIONS = {f"producer-{number}": GOES_BY for number in range(2)}


def judged(one: Facts, *found: Finding, of: Facts | None = None, settings: Facts | None = None) -> JudgedSubjects:
    return judge(run_record(run_of(one, settings=settings)), known(of or counts()), list(found), CONFIGURATIONS)


def test_a_run_without_subjects_has_nothing() -> None:
    assert judge(run_record({}), known(), [finding()], {}) == JudgedSubjects()


def test_what_is_stated_and_seen_is_neither_a_contradiction_nor_missing() -> None:
    seen = judged(subject(must=("loses",)), finding())
    assert (seen.contradictions, seen.missing, seen.doubts) == ([], [], [])
    assert seen.answers_for(finding())
    assert not seen.answers_for(finding(number=7))
    assert not seen.answers_for(finding("replica-divergence"))


@pytest.mark.parametrize(
    ("anomaly", "says"),
    [("lost-write", "1 of 10 acknowledged records lost"), ("duplicate", "1 records twice in the log")],
)
def test_what_is_not_stated_is_a_contradiction(anomaly: str, says: str) -> None:
    seen = judged(subject(may=("refuses",)), finding(anomaly))
    assert [line.endswith(says) for line in seen.contradictions] == [True]
    assert seen.unexpected == {anomaly}


def test_a_refusal_that_is_not_stated_is_a_contradiction() -> None:
    assert judged(subject(), of=counts(refused=2)).contradictions[0].endswith("2 records refused")
    assert judged(subject(must=("refuses",)), of=counts(refused=2)).contradictions == []


def test_what_is_stated_and_not_seen_is_missing() -> None:
    assert len(judged(subject(must=("loses",))).missing) == 1
    assert judged(subject(may=("loses",))).missing == []


def test_a_loss_of_another_subject_is_not_its_own() -> None:
    one, other = subject(must=("loses",)), subject(1)
    seen = judge(run_record(run_of(one, other)), known(counts(), counts(1)), [finding(number=1)], CONFIGURATIONS)
    assert len(seen.missing) == 1
    assert seen.contradictions[0].startswith("java acks=1, in flight 5, retries many, to rf3-min1-1")


def test_only_records_whose_loss_is_expected_may_be_lost() -> None:
    seen = judged(subject(must=("loses",)), finding("lost-write", row(3), row(2)))
    assert seen.contradictions == [
        "java acks=1, in flight 5, retries many, to rf3-min1-0: lost m2, whose loss the sequence does not expect"
    ]
    assert judged(subject(must=("loses",), expected_loss=None), finding("lost-write", row(2))).contradictions == []


def test_records_of_another_process_in_its_partition_are_not_swallowed() -> None:
    seen = judged(subject(may=("loses",)), finding("lost-write", row(3, "producer-9")))
    assert seen.contradictions[0].endswith("lost-write of 1 records of other processes beside it")


def test_the_place_of_a_lost_record_says_nothing_of_the_order() -> None:
    lost = row(9)
    order = {"process": "producer-0", "before": lost, "after": row(10)}
    moved = finding("nonmonotonic-send", order)
    alone = counted(subject_record(subject()), known(counts(), found=[moved]))
    beside = counted(subject_record(subject()), known(counts(), found=[moved, finding("lost-write", lost)]))
    assert alone is not None
    assert beside is not None
    assert (alone.reordered, beside.reordered) == (1, 0)


def test_counts_that_are_missing_or_there_twice_are_a_doubt() -> None:
    for told in ([], [counts(), counts()]):
        (doubt,) = judge(run_record(run_of(subject())), known(*told), [], CONFIGURATIONS).doubts
        assert doubt.endswith(f"the analysis counted its records {len(told)} times")


def test_a_subject_that_sent_nothing_is_a_doubt() -> None:
    assert judged(subject(), of=counts(acknowledged=0)).doubts[0].endswith("it sent nothing")


def test_records_and_settings_of_another_subject_are_a_doubt() -> None:
    assert judged(subject(), of=counts(acks=[-1])).doubts[0].endswith("its records were sent with acks [-1]")
    assert judged(subject(), settings={"acks": "all"}).doubts[0].endswith("its producer was given acks=all")
    scala = subject(acks="all", client="scala")
    given = {"request.required.acks": "-1"}
    told = known(counts(acks=[-1]))
    assert judge(run_record(run_of(scala, settings=given)), told, [], {"producer-0": given}).doubts == []
    nobody = judge(run_record({"subjects": [subject()], "processes": []}), known(counts()), [], CONFIGURATIONS)
    assert nobody.doubts[0].endswith("there is no process producer-0")


def test_two_subjects_in_one_partition_are_a_doubt() -> None:
    both = [subject(), subject(process="producer-1")]
    told = [counts(), counts(process="producer-1")]
    assert judge(run_record(run_of(*both)), known(*told), [], CONFIGURATIONS).doubts == [
        "rf3-min1-0 is said to be the partition of several subjects"
    ]


def test_rows_that_are_not_listed_are_a_doubt() -> None:
    seen = judged(subject(must=("loses",)), finding(count=2000))
    assert seen.doubts[0].endswith("lost-write lists 1 of 2000 rows")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("acks", "-1", "acks -1"),
        ("enable.idempotence", "true", "idempotence true"),
        ("max.in.flight", "1", "in_flight 1"),
        ("retries", "0", "retries 0"),
    ],
)
def test_a_client_that_goes_by_other_settings_is_a_doubt(name: str, value: str, says: str) -> None:
    told = known(counts())
    (doubt,) = judge(run_record(run_of(subject())), told, [], {"producer-0": GOES_BY | {name: value}}).doubts
    assert doubt.endswith(f"its producer goes by {says}")


def test_a_client_that_did_not_say_what_it_goes_by_is_a_doubt() -> None:
    (doubt,) = judge(run_record(run_of(subject())), known(counts()), [], {}).doubts
    assert doubt.endswith("nothing says what its producer goes by")


def test_one_of_somebodys_own_goes_by_its_clients_defaults_if_nothing_is_written() -> None:
    assert judged(subject(), settings={}).doubts  # of a cell everything is written
    own = subject(own={}, must=("loses",))
    assert judged(own, finding(), settings={}).doubts == []
    assert judged(own, finding(), settings={"acks": "0"}).doubts
    silent = {name: value for name, value in GOES_BY.items() if name != "acks"}
    told = judge(run_record(run_of(own, settings={})), known(counts()), [finding()], {"producer-0": silent})
    assert any("nothing says what acks" in doubt for doubt in told.doubts)
