"""Asking groups' coordinators: what is acknowledged, what is answered, and when asking is given up."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event as Flag
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from evidence.errors import HarnessError, WaitTimeout
from evidence.events import Event, GroupMember, GroupMembers, OffsetAnswer, OffsetCommit, ZnodeOffset
from evidence.timeline import Timeline
from harness.cluster.admin import ZnodeContent
from harness.cluster.requests import offset_fetch
from harness.run import groups
from harness.run.groups import Groups
from harness.run.sequence_log import SequenceLog
from harness.run.who import Partition, Target

T = Partition("t", 0)
LOADING = KafkaException(KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS))
NONE = -1001


class Coordinator:
    """Answers what it is told to, the last for ever; an exception is an error."""

    def __init__(self, *answers: int | KafkaException) -> None:
        self.answers = list(answers)
        self.clients = 0
        self.metadata: str | None = None

    def __call__(self, settings: dict[str, Any]) -> Coordinator:
        assert settings["group.id"] == "g"
        self.clients += 1
        return self

    def _next(self) -> int:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, KafkaException):
            raise answer
        return answer

    def commit(self, *, offsets: list[TopicPartition], asynchronous: bool) -> list[TopicPartition]:
        assert not asynchronous
        self.metadata = offsets[0].metadata
        self._next()
        return offsets

    def committed(self, places: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        return [TopicPartition(places[0].topic, places[0].partition, self._next())]

    def close(self) -> None:
        self.clients -= 1


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr(groups, "AGAIN_S", 0.0)
    with Timeline(tmp_path / "timeline.jsonl") as timeline:
        yield Stage(timeline, monkeypatch)


class Stage:
    def __init__(self, timeline: Timeline, monkeypatch: pytest.MonkeyPatch) -> None:
        self._timeline, self._monkeypatch = timeline, monkeypatch
        self._events: list[Event] = []
        timeline.listen(self._events.append)

    def asking(self, coordinator: Coordinator, znodes: Sequence[str | None] = ()) -> Groups:
        contents = iter(znodes)
        admin = SimpleNamespace(offset_in_zookeeper=lambda *of: ZnodeContent("/".join(map(str, of)), next(contents)))
        self._monkeypatch.setattr(groups, "consumer", coordinator)
        parts: Any = SimpleNamespace(
            timeline=self._timeline,
            cluster=SimpleNamespace(bootstrap="10.0.0.11:9092"),
            version=SimpleNamespace(client_settings={}),
            open_admin=lambda: admin,
        )
        return Groups(parts, SequenceLog(self._timeline))

    @property
    def told(self) -> list[Event]:
        return [one for one in self._events if isinstance(one, OffsetAnswer | OffsetCommit | ZnodeOffset)]


def test_a_commit_that_is_acknowledged_in_the_end_is_told_of_once(stage: Stage) -> None:
    coordinator = Coordinator(LOADING, LOADING, 0)
    stage.asking(coordinator).commit("g", T, 7, metadata_bytes=3)
    (said,) = cast("list[OffsetCommit]", stage.told)
    assert (said.group, said.topic, said.partition, said.offset, said.metadata_bytes) == ("g", "t", 0, 7, 3)
    assert (coordinator.metadata, coordinator.clients) == ("mmm", 0)


def test_a_commit_that_is_never_acknowledged_is_not_told_of(stage: Stage) -> None:
    coordinator = Coordinator(LOADING)
    with pytest.raises(WaitTimeout, match=r"offset 7 of t-0 is not committed .*: COORDINATOR_LOAD_IN_PROGRESS"):
        stage.asking(coordinator).commit("g", T, 7, timeout_s=0.0)
    assert stage.told == []
    assert coordinator.clients == 0


def test_a_coordinator_is_asked_until_it_answers(stage: Stage) -> None:
    answer = stage.asking(Coordinator(LOADING, 5)).committed("g", T, 10.0)
    assert (answer.offset, answer.error) == (5, None)
    assert [(one.offset, one.error) for one in cast("list[OffsetAnswer]", stage.told)] == [
        (None, "COORDINATOR_LOAD_IN_PROGRESS"),
        (5, None),
    ]


def test_no_offset_is_an_answer_and_an_error_is_none(stage: Stage) -> None:
    none = stage.asking(Coordinator(NONE)).committed("g", T, 10.0)
    assert (none.offset, none.error) == (None, None)
    never = stage.asking(Coordinator(LOADING)).committed("g", T, 0.0)
    assert (never.offset, never.error) == (None, "COORDINATOR_LOAD_IN_PROGRESS")


def test_an_offset_is_waited_for(stage: Stage) -> None:
    stage.asking(Coordinator(NONE, 4, LOADING, 5)).wait_committed("g", T, 5, timeout_s=10.0)
    with pytest.raises(WaitTimeout, match=r"g has not committed 5 of t-0 .*: committed is 4"):
        stage.asking(Coordinator(4)).wait_committed("g", T, 5, timeout_s=0.0)


def test_a_commit_is_told_of_when_it_is_acknowledged_and_waited_for(stage: Stage) -> None:
    pending = stage.asking(Coordinator(0)).commit_async("g", T, 7)
    assert pending.wait(10.0) is None
    assert pending.done
    (said,) = cast("list[OffsetCommit]", stage.told)
    assert (said.group, said.offset) == ("g", 7)


def test_a_commit_that_is_refused_is_tried_once_and_not_told_of(stage: Stage) -> None:
    coordinator = Coordinator(LOADING, 0)
    assert stage.asking(coordinator).commit_async("g", T, 7).wait(10.0) == "COORDINATOR_LOAD_IN_PROGRESS"
    assert (stage.told, coordinator.clients) == ([], 0)


def test_a_commit_without_an_answer_is_not_waited_for_for_ever() -> None:
    answered = Flag()
    pending = groups.PendingCommit(lambda: None if answered.wait(10.0) else "nobody")
    with pytest.raises(WaitTimeout, match="not answered after 0 s"):
        pending.wait(0.0)
    assert not pending.done
    answered.set()
    assert pending.wait(10.0) is None


def test_a_coordinator_is_asked_much_at_once_and_left_when_the_block_ends(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(groups, "KAFKA_PORT", server.getsockname()[1])
        target = Target("", cast("Any", SimpleNamespace(address="127.0.0.1", name="broker-1", id=1)))
        asking = stage.asking(Coordinator(0))
        with asking.ask_much(target, "g", requests=2, times=3):
            taken = [server.accept()[0] for _ in range(2)]
            asked = offset_fetch("g", "none", 3)
            assert [one.recv(len(asked), socket.MSG_WAITALL) for one in taken] == [asked] * 2
        assert [one.recv(1) for one in taken] == [b""] * 2
        for one in taken:
            one.close()
    with (
        pytest.raises(HarnessError, match="broker-1 cannot be asked"),
        asking.ask_much(target, "g", requests=1, times=1),
    ):
        pass


def test_the_znode_of_a_group_is_read_until_it_has_the_offset(stage: Stage) -> None:
    seen = stage.asking(Coordinator(0), [None, "3", "7"]).wait_in_zookeeper("g", T, 7, timeout_s=10.0)
    assert (seen.path, seen.content, seen.offset) == ("g/t/0", "7", 7)
    assert [one.content for one in cast("list[ZnodeOffset]", stage.told)] == ["7"]


def test_a_znode_that_never_has_the_offset(stage: Stage) -> None:
    with pytest.raises(WaitTimeout, match="g/t/0 has seven after 0 s, not 7"):
        stage.asking(Coordinator(0), ["seven"]).wait_in_zookeeper("g", T, 7, timeout_s=0.0)


def test_what_the_znode_has_is_told(stage: Stage) -> None:
    assert stage.asking(Coordinator(0), [None]).in_zookeeper("g", T).offset is None
    assert len(stage.told) == 1


def described(state: str, *members: tuple[str, int]) -> GroupMembers:
    given = [
        GroupMember(member_id=f"{name}-1", instance=name, partitions=(("t", number),) if number >= 0 else ())
        for name, number in members
    ]
    return GroupMembers(group="g", state=state, members=tuple(given))


WANTED = {"a": [Partition("t", 0)], "b": [Partition("t", 1)]}


@pytest.mark.parametrize(
    ("last", "seen"),
    [
        (described("PREPARING_REBALANCING", ("a", 0)), "it was PREPARING_REBALANCING with a: t-0"),
        (described("COMPLETING_REBALANCING", ("a", 0), ("b", 1)), "it was COMPLETING_REBALANCING with a: t-0; b: t-1"),
        (described("STABLE", ("a", 0), ("b", -1)), "it was STABLE with a: t-0; b: nothing"),
        (described("EMPTY"), "it was EMPTY with no members"),
        (None, "its coordinator did not answer"),
    ],
)
def test_a_group_that_never_settles_is_given_up_with_what_was_seen(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, last: GroupMembers | None, seen: str
) -> None:
    rebalancing = iter([described("PREPARING_REBALANCING"), described("STABLE", ("a", 0))])
    monkeypatch.setattr(groups, "administrator", lambda settings: None)
    monkeypatch.setattr(groups, "_members", lambda admin, group: next(rebalancing, last))
    asking = stage.asking(Coordinator(0))
    with pytest.raises(WaitTimeout) as given_up:
        asking.wait_members("g", WANTED, timeout_s=0.05)
    assert str(given_up.value) == f"g is not stable with a: t-0; b: t-1 after 0 s: {seen}"


def test_a_group_that_settles_in_the_end_is_waited_for(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    settling = iter([None, described("PREPARING_REBALANCING"), described("STABLE", ("a", 0), ("b", 1))])
    monkeypatch.setattr(groups, "administrator", lambda settings: None)
    monkeypatch.setattr(groups, "_members", lambda admin, group: next(settling))
    assert stage.asking(Coordinator(0)).wait_members("g", WANTED, timeout_s=10.0).state == "STABLE"


def test_a_client_is_told_of_these_brokers_alone(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, Any]] = []
    asking = stage.asking(Coordinator(5))

    def consumer(settings: dict[str, Any]) -> Coordinator:
        given.append(settings)
        return Coordinator(5)

    monkeypatch.setattr(groups, "consumer", consumer)
    others = [cast("Target", SimpleNamespace(node=SimpleNamespace(address=f"10.0.0.1{n}"))) for n in (2, 3)]
    asking.committed("g", T, 1.0, only=others)
    asking.committed("g", T, 1.0)
    assert [one["bootstrap.servers"] for one in given] == ["10.0.0.12:9092,10.0.0.13:9092", "10.0.0.11:9092"]
