"""What clients and operators did beside sending: each act has a label, and a loss of what was acknowledged is bad."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from evidence.events import (
    DeleteRecords,
    DeleteTopic,
    EndsAnswer,
    Event,
    OffsetAnswer,
    OffsetCommit,
    Reassign,
    Step,
    ThreadTime,
    Transaction,
    TransactionPhase,
)
from evidence.findings import Finding, Row
from evidence.records import RecordId
from evidence.run_state import Sent
from judgement.report import facts, timeline_svg
from judgement.report.timeline_svg.acts import (
    MOST_ACTS,
    TOGETHER_NS,
    end_acts,
    offset_acts,
    request_acts,
    thread_acts,
    transaction_acts,
)
from judgement.report.timeline_svg.clients import others_lost
from judgement.report.timeline_svg.legend import entries
from tests.unit.judgement.report import synthetic

SECOND = 1_000_000_000


def commit(at_s: float, offset: int, group: str = "g") -> OffsetCommit:
    at_ns = int(at_s * SECOND)
    return OffsetCommit(monotonic_ns=at_ns, wall_ns=at_ns, group=group, topic="t", partition=0, offset=offset)


def answer(at_s: float, offset: int | None, error: str | None = None, group: str = "g") -> OffsetAnswer:
    at_ns = int(at_s * SECOND)
    return OffsetAnswer(
        monotonic_ns=at_ns,
        wall_ns=at_ns,
        group=group,
        topic="t",
        partition=0,
        offset=offset,
        error=error,
        asked_ns=at_ns - SECOND // 2,
    )


def offsets(*events: Event, unavailable: bool = False) -> list[tuple[str, bool]]:
    return [(one.label, one.bad) for one in offset_acts(events, unavailable)]


def test_commits_at_once_are_one_act_and_answers_that_say_the_same_are_one() -> None:
    told = [commit(1, 1), commit(1.5, 2), commit(1.5 + 2 * TOGETHER_NS / SECOND, 5), answer(8, 5), answer(9, 5)]
    assert offsets(*told) == [
        ("offsets 1–2 committed", False),
        ("offset 5 committed", False),
        ("committed offset is 5", False),
    ]
    last = list(offset_acts(told))[-1]
    assert (last.begin_ns, last.end_ns) == (int(7.5 * SECOND), 9 * SECOND)


def test_less_than_was_committed_is_bad() -> None:
    assert offsets(commit(1, 5), answer(2, 1))[1] == ("committed offset is 1, not 5", True)
    assert offsets(commit(1, 5), answer(2, None))[1] == ("committed offset 5 is gone", True)
    assert offsets(answer(1, 5), answer(2, None))[1] == ("committed offset 5 is gone", True)
    assert offsets(answer(1, None), commit(2, 5), answer(3, 6)) == [
        ("no committed offset", False),
        ("offset 5 committed", False),
        ("committed offset is 6", False),
    ]


def test_an_error_is_bad_where_a_coordinator_gives_nothing_else_in_the_end() -> None:
    told = [commit(1, 5), answer(2, None, "LOADING"), answer(3, None, "LOADING")]
    assert offsets(*told)[1:] == [("committed offset? LOADING", False)]
    assert offsets(*told, unavailable=True)[1:] == [("committed offset? LOADING", True)]
    assert offsets(*told, answer(4, 5), unavailable=True)[1:] == [
        ("committed offset? LOADING", False),
        ("committed offset is 5", False),
    ]


def test_several_groups_are_told_apart() -> None:
    told = [commit(1, 5), commit(1, 4, "h"), answer(2, 5), answer(2, 3, group="h")]
    assert offsets(*told) == [
        ("g: offset 5 committed", False),
        ("g: committed offset is 5", False),
        ("h: offset 4 committed", False),
        ("h: committed offset is 3, not 4", True),
    ]


def phase(
    at_s: float, name: TransactionPhase, number: int, process: str = "producer-1", error: str | None = None
) -> Transaction:
    at_ns = int(at_s * SECOND)
    return Transaction(
        monotonic_ns=at_ns,
        wall_ns=at_ns,
        process=process,
        phase=name,
        transaction=number,
        outcome="fail" if error else "ok",
        error=error,
    )


def sent_in_it(at_s: float, partition: str) -> Step:
    at_ns = int(at_s * SECOND)
    detail = {"partition": partition, "count": 2}
    return Step(monotonic_ns=at_ns, wall_ns=at_ns, name="send in a transaction", phase="begin", detail=detail)


def test_a_transaction_tells_what_was_sent_in_it_and_how_it_ended() -> None:
    told = [phase(1, "begin", 0), sent_in_it(2, "t-0"), sent_in_it(2, "t-1"), phase(3, "commit", 0)]
    told += [phase(4, "begin", 1), phase(5, "abort", 1), phase(6, "begin", 2), phase(7, "commit", 2, error="FENCED")]
    told += [phase(8, "begin", 3)]
    found = list(transaction_acts(told, {("producer-1", 0)}, 9 * SECOND))
    assert [(one.label, one.bad, one.done) for one in found] == [
        ("transaction 0 (2 to t-0, 2 to t-1) committed, half of it lost", True, True),
        ("transaction 1 aborted", False, False),
        ("transaction 2 commit: FENCED", False, False),
        ("transaction 3 without an end", False, False),
    ]
    assert (found[-1].begin_ns, found[-1].end_ns) == (8 * SECOND, 9 * SECOND)


def test_transactions_of_several_producers_name_them() -> None:
    told = [phase(1, "begin", 0), phase(1, "begin", 0, "producer-2"), sent_in_it(2, "t-0"), phase(3, "commit", 0)]
    assert [one.label for one in transaction_acts(told)] == [
        "producer-1: transaction 0 committed",
        "producer-2: transaction 0 without an end",
    ]


def test_readers_that_come_less_far_are_an_act_and_others_are_none() -> None:
    def ends(at_s: int, stable: int) -> EndsAnswer:
        at_ns = at_s * SECOND
        return EndsAnswer(
            monotonic_ns=at_ns,
            wall_ns=at_ns,
            topic="t",
            partition=0,
            high_watermark=4,
            last_stable_offset=stable,
            asked_ns=at_ns,
        )

    told = [ends(1, 4), ends(2, 0), ends(3, 0), ends(4, 4)]
    (held,) = end_acts(told)
    assert (held.label, held.begin_ns, held.end_ns, held.bad) == (
        "read_committed ends at 0 of 4 in t-0",
        2 * SECOND,
        3 * SECOND,
        False,
    )
    (stuck,) = end_acts(told, {(("t", 0), 0)})
    assert (stuck.label, stuck.bad) == ("read_committed ends at 0 of 4 in t-0, forever", True)


def test_threads_that_were_watched_together_are_one_act() -> None:
    def watched(node: int, begin_s: int, running_s: float, waiting_s: float) -> ThreadTime:
        return ThreadTime(
            monotonic_ns=(begin_s + 4) * SECOND,
            wall_ns=1,
            node=f"broker-{node}",
            thread=f"kafka-{node}-raft-io",
            begin_ns=begin_s * SECOND,
            elapsed_ns=4 * SECOND,
            running_ns=int(running_s * SECOND),
            waiting_ns=int(waiting_s * SECOND),
        )

    found = list(thread_acts([watched(1, 0, 1, 2), watched(2, 0, 0, 0), watched(1, 9, 3, 1)]))
    assert [(one.begin_ns, one.end_ns, one.label) for one in found] == [
        (0, 4 * SECOND, "raft-io of broker-1, broker-2 is busy for 50%, 0%"),
        (9 * SECOND, 13 * SECOND, "raft-io of broker-1 is busy for 100%"),
    ]


def test_what_operators_ask_for_is_named() -> None:
    def step(name: str, phase: Literal["begin", "end"] = "begin", **detail: str) -> Step:
        return Step(monotonic_ns=1, wall_ns=1, name=name, phase=phase, detail=detail)

    told: list[Event] = [
        DeleteTopic(monotonic_ns=1, wall_ns=1, topic="t" * 200, by="DeleteTopics"),
        DeleteTopic(monotonic_ns=1, wall_ns=1, topic="t", by="DeleteTopics", withdrawn=True),
        DeleteRecords(monotonic_ns=1, wall_ns=1, topic="t", partition=0, before=5),
        Reassign(monotonic_ns=1, wall_ns=1, topic="t", partition=0, replicas=(2, 1), by="a request"),
        step("set for a topic", topic="t", setting="a", value="1"),
        step("set for all brokers", setting="a", value="1"),
        step("set for all brokers", "end", setting="a", value="1"),
        step("final read"),
    ]
    assert [one.label for one in request_acts(told)] == [
        f"deletion of topic {'t' * 24}… asked",
        "deletion of topic t withdrawn",
        "deletion of t-0 before 5 asked",
        "replicas 2, 1 of t-0 asked",
        "a=1 of topic t",
        "a=1 of all brokers",
    ]


def lost(*numbers: int) -> Finding:
    rows = tuple(
        Row(
            records=(RecordId("t", 0, 1, number),),
            process="producer-1",
            offset=number,
            acks=-1,
            invoked_ns=10 - number,
            completed_ns=20 - number,
        )
        for number in numbers
    )
    return Finding(anomaly="lost-write", topic="t", partition=0, count=len(rows), evidence=rows)


def test_lost_records_that_no_script_sent_are_drawn_too() -> None:
    scripted = Sent(
        process="producer-1",
        topic="t",
        partition=0,
        producer=1,
        sequence=2,
        acks="all",
        sent_ns=1,
        done_ns=2,
        outcome="acked",
    )
    found = others_lost([lost(1, 2, 3)], [scripted])
    assert [(one.sequence, one.sent_ns, one.done_ns, one.acks, one.offset) for one in found] == [
        (3, 7, 17, "all", 3),
        (1, 9, 19, "all", 1),
    ]


def test_a_picture_shows_acts_and_tells_what_it_leaves_out(tmp_path: Path) -> None:
    def drawn(count: int, place: str) -> str:
        run = synthetic.Synthetic(tmp_path / place, "leader-crash", "4.3.1", mode="kraft")
        run.cluster(brokers=3, controller=3)
        run.partition(2, 1, 0, [1, 2, 3])
        for number in range(count):
            run.event(3 + 2 * number, commit(3 + 2 * number, number + 1))
        run_dir = run.write(ended_s=40)
        facts.judge_run(run_dir)
        return timeline_svg.render(facts.load(run_dir), standalone=True)

    few, many = drawn(2, "few"), drawn(MOST_ACTS + 1, "many")
    assert (few.count("committed</text>"), "not drawn" in few) == (3, False)  # one stands in the legend
    assert "committed</text>" not in many
    assert f"not drawn: {MOST_ACTS + 1} commits and answers of groups" in many


def test_the_legend_has_the_marks_of_the_picture_and_no_others() -> None:
    assert entries("", str) == []
    found = [words for words, _ in entries('<rect class="up"/><rect class="isr"/>', str)]
    assert found == ["process up", "in ISR, as stated"]


def test_a_red_answer_alone_is_no_lost_record() -> None:
    answered = '<rect rx="1" fill="var(--surface)" stroke="var(--lost)"/>'
    assert [words for words, _ in entries(answered, str)] == ["asked or measured"]
    on_disk = '<rect class="cell" fill="var(--lost)" stroke="var(--lost)"/>'
    assert "lost record" in [words for words, _ in entries(on_disk, str)]
