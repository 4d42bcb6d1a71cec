"""Claims about znodes and metadata records: what each release writes holds, and each thing otherwise contradicts."""

from __future__ import annotations

from typing import Any

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Event, IsrChange, Metadata, Missed, Partition, Reassign, Znode
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

RUN: dict[str, Any] = {
    "kafka": "0.10.2.2",
    "mode": "zookeeper",
    "settings": {},
    "topics": [{"name": "t", "partitions": {"0": [1, 2]}}],
    "processes": [{"settings": {"bootstrap.servers": "172.20.0.12:9092,172.20.0.11:9092"}}],
}
PINNED = {"inter.broker.protocol.version": "0.10.2"}
ADDRESS = {"host": "172.20.0.11", "port": 9092}
BROKER_1 = {"version": 1, **ADDRESS, "jmx_port": -1, "timestamp": "1700000000000"}
BROKER_2 = BROKER_1 | {"version": 2, "endpoints": ["PLAINTEXT://172.20.0.11:9092"]}
BROKER_4 = BROKER_2 | {"version": 4, "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"}}
BROKER_5 = BROKER_4 | {"version": 5, "features": {}}


def judged(name: str, *events: Event, **run: Any) -> ClaimResult:
    """The claim on these events, a second apart."""
    timed = tuple(at((number + 1) * 1_000_000_000, event) for number, event in enumerate(events))
    return claims.judge(name, RunEvidence(run=run_record(RUN | run), run_state=RunState(timed)))


def znode(path: str, content: Any, *, ephemeral: bool = False) -> Znode:
    return Znode(path=path, content=content, ephemeral=ephemeral)


@pytest.mark.parametrize(
    ("kafka", "settings", "content"),
    [
        ("0.8.2.2", {}, BROKER_1),
        ("0.9.0.1", {}, BROKER_2),
        ("0.10.2.2", {}, BROKER_4),
        ("2.2.2", {}, BROKER_4 | {"rack": None}),
        ("2.8.2", PINNED, BROKER_4),
        ("2.8.2", {}, BROKER_5),
        ("3.9.2", {}, BROKER_5),
    ],
)
def test_a_brokers_znode_has_the_form_of_its_release(kafka: str, settings: dict[str, str], content: Any) -> None:
    one = znode("/brokers/ids/1", content, ephemeral=True)
    assert judged("broker-znode-content", one, kafka=kafka, settings=settings).outcome == HELD


@pytest.mark.parametrize(
    ("content", "otherwise"),
    [
        (BROKER_2, "it has no listener_security_protocol_map"),
        (BROKER_5, "it has features"),
        (BROKER_4 | {"port": 1}, "its port is 1"),
        (BROKER_4 | {"host": "172.20.0.12"}, "its host is '172.20.0.12'"),
        (BROKER_4 | {"timestamp": 5}, "its timestamp is 5"),
        (7, "it is no JSON object"),
    ],
)
def test_a_brokers_znode_of_another_form_contradicts(content: Any, otherwise: str) -> None:
    found = judged("broker-znode-content", znode("/brokers/ids/1", content, ephemeral=True))
    assert found.outcome == CONTRADICTED
    assert otherwise in found.evidence[0]["otherwise"]


def test_a_broker_is_registered_by_an_ephemeral_znode() -> None:
    found = judged("broker-znode-content", znode("/brokers/ids/1", BROKER_4))
    assert found.evidence[0]["otherwise"] == ["it is not ephemeral"]
    assert judged("broker-znode-content", znode("/brokers/ids/1", None)).outcome == NOT_OBSERVED


CONTROLLER_1 = {"version": 1, "brokerid": 2, "timestamp": "1"}
CONTROLLER_2 = CONTROLLER_1 | {"version": 2, "kraftControllerEpoch": -1}


@pytest.mark.parametrize(
    ("kafka", "content", "ephemeral", "outcome"),
    [
        ("2.8.2", CONTROLLER_1, True, HELD),
        ("3.9.2", CONTROLLER_2, True, HELD),
        ("2.8.2", CONTROLLER_2, True, CONTRADICTED),
        ("3.9.2", CONTROLLER_1, True, CONTRADICTED),
        ("2.8.2", CONTROLLER_1, False, CONTRADICTED),
        ("2.8.2", None, True, NOT_OBSERVED),
    ],
)
def test_the_controllers_znode(kafka: str, content: Any, ephemeral: bool, outcome: str) -> None:
    one = znode("/controller", content, ephemeral=ephemeral)
    assert judged("controller-znode-content", one, kafka=kafka).outcome == outcome


@pytest.mark.parametrize(
    ("contents", "outcome"),
    [([1, 2, 3], HELD), ([1, 3], CONTRADICTED), ([2, 1], CONTRADICTED), ([{"epoch": 1}], CONTRADICTED)],
)
def test_the_controller_epochs_znode(contents: list[Any], outcome: str) -> None:
    events = [znode("/controller_epoch", content) for content in contents]
    assert judged("controller-epoch-znode-content", *events).outcome == outcome


def test_epochs_that_nobody_saw_are_no_contradiction() -> None:
    missed = Missed(source="zookeeper", path="/controller_epoch", count=1, reason="two looks")
    events = [znode("/controller_epoch", 1), missed, znode("/controller_epoch", 3)]
    assert judged("controller-epoch-znode-content", *events).outcome == HELD
    assert judged("controller-epoch-znode-content", missed).outcome == NOT_OBSERVED


STATE = {"controller_epoch": 1, "leader": 1, "version": 1, "leader_epoch": 0, "isr": [1, 2]}


@pytest.mark.parametrize(
    ("kafka", "content", "outcome"),
    [
        ("0.8.2.2", STATE, HELD),
        ("0.8.2.2", STATE | {"leader": -1, "isr": [2]}, HELD),
        ("3.9.2", STATE | {"leader_recovery_state": 0}, HELD),
        ("2.8.2", STATE | {"leader_recovery_state": 0}, CONTRADICTED),
        ("2.8.2", STATE | {"isr": [2]}, CONTRADICTED),
        ("2.8.2", STATE | {"isr": [1, 3]}, CONTRADICTED),
        ("2.8.2", {"leader": 1}, CONTRADICTED),
        ("2.8.2", None, NOT_OBSERVED),
    ],
)
def test_a_partitions_state(kafka: str, content: Any, outcome: str) -> None:
    one = znode("/brokers/topics/t/partitions/0/state", content)
    assert judged("state-znode-content", one, kafka=kafka).outcome == outcome


TOPIC_1 = {"version": 1, "partitions": {"0": [1, 2]}}
TOPIC_2 = TOPIC_1 | {"version": 2, "adding_replicas": {}, "removing_replicas": {}}
TOPIC_3 = TOPIC_2 | {"version": 3, "topic_id": "aQVWVw89T1-Z1HXhZiRWvA"}


@pytest.mark.parametrize(
    ("kafka", "content", "outcome"),
    [
        ("0.8.2.2", TOPIC_1, HELD),
        ("2.4.1", TOPIC_2, HELD),
        ("2.8.2", TOPIC_3, HELD),
        ("2.8.2", TOPIC_2, CONTRADICTED),
        ("2.8.2", TOPIC_3 | {"topic_id": None}, CONTRADICTED),
        ("0.8.2.2", TOPIC_1 | {"partitions": {"0": [2, 1]}}, CONTRADICTED),
        ("0.8.2.2", None, NOT_OBSERVED),
    ],
)
def test_a_topics_znode(kafka: str, content: Any, outcome: str) -> None:
    assert judged("topic-znode-content", znode("/brokers/topics/t", content), kafka=kafka).outcome == outcome


MOVE = Reassign(topic="t", partition=0, replicas=(3, 4), by="znode")
BEFORE = Partition(source="zookeeper", topic="t", partition=0, leader=1, leader_epoch=0, isr=(1, 2), replicas=(1, 2))
MOVED: dict[str, Any] = {"kafka": "2.8.2", "topics": [{"name": "t", "partitions": {"0": [3, 4]}}]}
BOTH = TOPIC_3 | {
    "partitions": {"0": [3, 4, 1, 2]},
    "adding_replicas": {"0": [3, 4]},
    "removing_replicas": {"0": [1, 2]},
}
AFTER = TOPIC_3 | {"partitions": {"0": [3, 4]}}


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        ([TOPIC_3], [BOTH, AFTER], HELD),
        ([], [TOPIC_3, BOTH], HELD),
        ([AFTER], [], CONTRADICTED),
        ([BOTH], [AFTER], CONTRADICTED),
        ([TOPIC_3], [BOTH | {"partitions": {"0": [3, 4, 1]}}], CONTRADICTED),
        ([TOPIC_3], [BOTH | {"adding_replicas": {"1": [3]}}], CONTRADICTED),
    ],
    ids=["as it goes", "read late", "not asked for yet", "on its way too early", "a part of both", "another partition"],
)
def test_a_topics_znode_while_its_partition_moves(before: list[Any], after: list[Any], outcome: str) -> None:
    contents = [[znode("/brokers/topics/t", one) for one in told] for told in (before, after)]
    events = [BEFORE, *contents[0], MOVE, *contents[1]]
    assert judged("topic-znode-content", *events, **MOVED).outcome == outcome


@pytest.mark.parametrize(
    ("isr", "moves", "outcome"),
    [([1, 3], [MOVE], HELD), ([3, 4], [MOVE], HELD), ([1, 5], [MOVE], CONTRADICTED), ([1, 3], [], CONTRADICTED)],
)
def test_a_partitions_state_while_it_moves(isr: list[int], moves: list[Reassign], outcome: str) -> None:
    one = znode("/brokers/topics/t/partitions/0/state", STATE | {"leader": isr[0], "isr": isr})
    settings = MOVED if moves else {"kafka": "2.8.2"}
    assert judged("state-znode-content", BEFORE, *moves, one, **settings).outcome == outcome


ASKED = {"version": 1, "partitions": [{"topic": "t", "partition": 0}]}
NOTE = "/isr_change_notification/isr_change_0000000001"


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([IsrChange(path=NOTE), znode(NOTE, ASKED)], HELD),
        ([IsrChange(path=NOTE), IsrChange(path=NOTE, state="gone")], HELD),
        ([IsrChange(path=NOTE), znode(NOTE, ASKED, ephemeral=True)], CONTRADICTED),
        ([IsrChange(path=NOTE), znode(NOTE, ASKED | {"partitions": []})], CONTRADICTED),
        ([IsrChange(path=NOTE), znode(NOTE, ASKED | {"partitions": [{"topic": "t"}]})], CONTRADICTED),
        ([IsrChange(path=NOTE.removesuffix("1"))], CONTRADICTED),
        ([IsrChange(path=NOTE, state="gone")], NOT_OBSERVED),
    ],
    ids=["read", "not read", "ephemeral", "of nothing", "no partition", "nine digits", "not seen to be made"],
)
def test_a_notification_of_isr_changes(events: list[Event], outcome: str) -> None:
    assert judged("isr-notification-content", *events).outcome == outcome


# KRaft

INCARNATION = "kc71BTLjQKGVhkeg4n3cWQ"
ENDPOINT = {"name": "PLAINTEXT", "host": "172.20.0.11", "port": 9092, "security_protocol": 0}


def record(type_: str, offset: int, **fields: Any) -> Metadata:
    return Metadata(type=type_, version=0, offset=offset, epoch=1, fields=fields, topic="t")


def registration(offset: int, **fields: Any) -> Metadata:
    told = {"broker_id": 1, "incarnation_id": INCARNATION, "broker_epoch": offset, "fenced": True}
    told |= {"end_points": [ENDPOINT], "log_dirs": [INCARNATION]}
    return record("REGISTER_BROKER_RECORD", offset, **(told | fields))


def change(offset: int, epoch: int, fenced: int) -> Metadata:
    return record("BROKER_REGISTRATION_CHANGE_RECORD", offset, broker_id=1, broker_epoch=epoch, fenced=fenced)


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([registration(5), change(6, 5, -1), change(9, 5, 1), registration(10), change(11, 10, -1)], HELD),
        ([registration(5), registration(8, broker_epoch=5, fenced=False)], HELD),
        ([registration(5), change(6, 4, -1)], CONTRADICTED),
        ([registration(5, broker_epoch=4)], HELD),
        ([registration(5, broker_epoch=6)], CONTRADICTED),
        ([registration(5), registration(9, broker_epoch=3)], CONTRADICTED),
        ([registration(5, fenced=False)], CONTRADICTED),
        ([registration(5, incarnation_id="")], CONTRADICTED),
        ([registration(5, end_points=[ENDPOINT | {"port": 1}])], CONTRADICTED),
        ([registration(5, log_dirs=[])], CONTRADICTED),
        ([], NOT_OBSERVED),
    ],
)
def test_records_of_brokers(events: list[Metadata], outcome: str) -> None:
    assert judged("broker-records-content", *events, mode="kraft").outcome == outcome


def partition(**fields: Any) -> Metadata:
    told = {"partition_id": 0, "replicas": [1, 2], "isr": [1, 2], "leader": 1, "leader_epoch": 0, "partition_epoch": 0}
    return record("PARTITION_RECORD", 5, **(told | {"directories": ["a", "b"]} | fields))


def changed(**fields: Any) -> Metadata:
    return record("PARTITION_CHANGE_RECORD", 9, partition_id=0, **fields)


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([partition(), changed(isr=[2], leader=2), changed(leader=-1), changed(isr=[1, 2], leader=-2)], HELD),
        ([partition(replicas=[2, 1])], CONTRADICTED),
        ([partition(isr=[1])], CONTRADICTED),
        ([partition(leader_epoch=1)], CONTRADICTED),
        ([partition(directories=["a"])], CONTRADICTED),
        ([partition(), changed(isr=[3], leader=3)], CONTRADICTED),
        ([partition(), changed(isr=[2], leader=1)], CONTRADICTED),
        ([partition(), changed(isr=[2]), changed(leader=1)], CONTRADICTED),
        ([], NOT_OBSERVED),
    ],
)
def test_records_of_partitions(events: list[Metadata], outcome: str) -> None:
    assert judged("partition-records-content", *events, mode="kraft").outcome == outcome


@pytest.mark.parametrize(("isr", "outcome"), [([1, 3], HELD), ([1, 5], CONTRADICTED)])
def test_records_of_a_partition_that_moves(isr: list[int], outcome: str) -> None:
    events = [BEFORE, partition(), MOVE, changed(isr=isr)]
    assert judged("partition-records-content", *events, mode="kraft", topics=MOVED["topics"]).outcome == outcome
