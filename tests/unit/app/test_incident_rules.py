"""Rules whose cause shows in the order of lines, in another broker's log, or on some releases alone."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from app import incident, incident_causes, incident_ends, incident_history, incident_logs, incident_untraced
from harness.scenario import all_scenarios
from kafkafiles.side_by_side import ReplicaComparison, compare_directories
from tests.unit.kafkafiles.encode import R, batch, control_key

HEAD = "INFO Starting log cleanup with a period of 300000 ms. (kafka.log.LogManager)\n"


def at(seconds: float, text: str) -> str:
    return f"[2026-11-23 10:{int(seconds) // 60:02}:{seconds % 60:06.3f}] {text}\n".replace(".", ",", 1)


def id_of(number: int) -> str:
    return f"\tbroker.id = {number}\n"


def cut(seconds: float, offset: int = 3) -> str:
    return at(seconds, f"INFO Truncating log t-0 to offset {offset}. (kafka.log.Log)")


def leads(seconds: float, partition: str = "t-0") -> str:
    return at(seconds, f"TRACE Broker 3 starting the become-leader transition for partition {partition} (state.change)")


def follows(seconds: float) -> str:
    return at(seconds, "TRACE Broker 3 starting the become-follower transition for partition t-0 (state.change)")


def joins(seconds: float, members: str) -> str:
    return at(seconds, f"INFO Partition [t,0] on broker 1: Expanding ISR for partition t-0 from 1 to {members} (kafka)")


def causes_of(folder: Path, release: str, **texts: str) -> list[str]:
    for name, text in texts.items():
        (folder / f"{name}.log").write_text(text)
    logs = incident_logs.read_all(sorted(folder.glob("*.log")))
    case = incident_causes.IncidentEvidence(logs, (), (), release)
    return [one.kind.id for one in incident_causes.causes(case)]


@pytest.mark.parametrize(
    ("broker", "other", "cause"),
    [
        (cut(10) + leads(14), "", "truncation-to-high-watermark"),
        (cut(10) + leads(14), joins(12, "1,2"), "truncation-to-high-watermark"),
        (cut(10) + leads(14), joins(9, "1,3"), "truncation-to-high-watermark"),
        (cut(10) + leads(14), joins(12, "1,3"), "truncation"),
        (cut(10) + leads(75), "", "truncation"),
        (leads(9) + cut(10), "", "truncation"),
        (cut(10) + leads(14, "u-0"), "", "truncation"),
        (cut(10) + follows(14), leads(12), "truncation"),
        (cut(10) + follows(14), "", "truncation-to-high-watermark"),
    ],
)
def test_a_cut_loses_records_where_its_broker_leads_next(tmp_path: Path, broker: str, other: str, cause: str) -> None:
    assert causes_of(tmp_path, "0.10.2.2", a=id_of(3) + broker, b=id_of(1) + other)[:1] == [cause]


def test_a_broker_before_0_9_names_no_release_and_tells_its_settings_otherwise(tmp_path: Path) -> None:
    id_of_3 = at(0, "INFO Property broker.id is overridden to 3 (kafka.utils.VerifiableProperties)")
    other = at(0, "INFO Property broker.id is overridden to 1 (kafka.utils.VerifiableProperties)")
    text = id_of_3 + cut(10) + leads(14)
    assert causes_of(tmp_path, "", a=text, b=other)[0] == "truncation-to-high-watermark"
    assert causes_of(tmp_path, "", a=text, b=other + joins(12, "1,3"))[0] == "truncation"
    consumer = at(0, "INFO Property group.id is overridden to g (kafka.utils.VerifiableProperties)")
    assert causes_of(tmp_path, "", a=consumer + cut(10) + leads(14), b="")[0] == "truncation"


def test_the_order_of_a_cut_and_an_election_is_told_first(tmp_path: Path) -> None:
    unclean = "WARN No broker in ISR is alive for [u,0]. There's potential data loss.\n"
    named = causes_of(tmp_path, "0.10.2.2", a=id_of(3) + unclean + cut(10) + leads(14))
    assert named == ["truncation-to-high-watermark", "unclean-election"]


def test_files_of_one_broker_are_one_history(tmp_path: Path) -> None:
    for broker, state in (("1", leads(14)), ("2", "")):
        folder = tmp_path / broker
        folder.mkdir()
        (folder / "server.log").write_text(id_of(int(broker)) + (cut(10) if broker == "1" else ""))
        (folder / "state-change.log").write_text(state or leads(2))
    logs = incident_logs.read_all(sorted(tmp_path.rglob("*.log")))
    assert [one.id for one in incident_history.brokers(logs)] == ["1", "2"]
    assert len(incident_history.led_after_a_cut(logs)) == 1


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("INFO Truncating log t-0 to offset 3. (kafka.log.Log)", "t-0"),
        ("INFO Created log for partition [my.topic,12] in /data (kafka.log.LogManager)", "my.topic-12"),
        ("INFO Created log for partition t-0 in /data/kafka/t-0 (kafka.log.LogManager)", "t-0"),
        ("INFO [Partition a-b-1 broker=1] a-b-1 starts at Leader Epoch 0 from offset 0.", "a-b-1"),
        ("INFO [Broker id=1] Leader t-0 with topic id Some(x) starts at leader epoch 0", "t-0"),
        ("INFO [UnifiedLog partition=__consumer_offsets-7, dir=/d] Truncating to offset 9", "__consumer_offsets-7"),
        ("INFO Log for partition t-0 is renamed to /d/t-0.x-delete and is scheduled for deletion", "t-0"),
        ("WARN Found invalid messages in log segment /d/t-0/00000000000000000000.log at byte offset 9: x", "t-0"),
        ("INFO Scheduling log segment 0 for log t-0 for deletion.", ""),
        ("INFO nothing", ""),
    ],
)
def test_lines_name_partitions_as_each_release_writes_them(text: str, named: str) -> None:
    assert incident_history.partition_of(incident_logs.LogLine(Path("x"), 0, text, None)) == named


UNCLEAN = (
    "INFO UNCLEAN partition change for t-0 with topic ID x: isr: [] -> [{}], leader: -1 -> {}, leaderEpoch: 1 -> 2, "
)


@pytest.mark.parametrize(
    ("text", "causes"),
    [
        (UNCLEAN.format(1, 1) + "lastKnownElr: [1] -> [], partitionEpoch: 3 -> 4\n", ["last-leader-again"]),
        (UNCLEAN.format(12, 12) + "lastKnownElr: [12] -> [], partitionEpoch: 3 -> 4\n", ["last-leader-again"]),
        (UNCLEAN.format(1, 1) + "lastKnownElr: [2] -> [], partitionEpoch: 3 -> 4\n", ["unclean-election"]),
        (UNCLEAN.format(1, 1) + "elr: [2] -> [], lastKnownElr: [1] -> [], partition\n", ["unclean-election"]),
        (UNCLEAN.format(1, 1) + "partitionEpoch: 3 -> 4\n", ["unclean-election"]),
    ],
)
def test_the_last_leader_is_no_unclean_one(tmp_path: Path, text: str, causes: list[str]) -> None:
    assert causes_of(tmp_path, "4.3.1", controller=text) == causes


def created(seconds: float, partition: str = "t-0") -> str:
    return at(
        seconds, f"INFO Created log for partition {partition} in /data with properties {{}} (kafka.log.LogManager)"
    )


def started(seconds: float) -> str:
    return at(seconds, "INFO Kafka version: 4.3.1 (org.apache.kafka.common.utils.AppInfoParser)")


def started_old(seconds: float) -> str:
    return at(seconds, "INFO Property broker.id is overridden to 3 (kafka.utils.VerifiableProperties)")


def deleted(seconds: float) -> str:
    return at(
        seconds, "INFO Log for partition t-0 is renamed to /data/t-0.1-delete and is scheduled for deletion (kafka)"
    )


@pytest.mark.parametrize(
    ("text", "causes"),
    [
        (started(1) + created(2) + started(10) + created(11), ["empty-disk"]),
        (started_old(1) + created(2) + started_old(10) + created(11), ["empty-disk"]),
        (started_old(1) + created(2) + created(11), []),
        (started(1) + created(2) + started(10) + created(11, "u-0"), []),
        (started(1) + created(2) + created(11), []),
        (started(1) + created(2) + deleted(3) + started(10) + created(11), []),
        (started(1) + created(2) + started(10) + created(11) + "java.io.IOException: Input/output error\n", ["disk"]),
    ],
)
def test_a_partition_that_is_created_again_was_gone(tmp_path: Path, text: str, causes: list[str]) -> None:
    assert causes_of(tmp_path, "4.3.1", broker=text) == causes


SHRANK = at(5, "INFO [Partition t-0 broker=1] Shrinking ISR from 1,2,3 to 1 (kafka.cluster.Partition)")


def test_a_replica_that_is_removed_while_the_isr_is_short(tmp_path: Path) -> None:
    texts = {"a": created(1) + SHRANK + deleted(9), "b": created(1), "c": created(1)}
    assert causes_of(tmp_path, "3.7.0", **texts)[0] == "reassigned-to-one"
    assert causes_of(tmp_path, "3.9.2", **texts) == ["shrunk-isr"]
    everywhere = {name: text.replace(deleted(9), "") + deleted(9) for name, text in texts.items()}
    assert causes_of(tmp_path, "3.7.0", **everywhere) == ["shrunk-isr"]


FAILED = at(5, "ERROR [ReplicaFetcher replicaId=2, leaderId=1, fetcherId=0] Error due to (kafka.server.ReplicaFetcher)")
ISR_CHANGE = "java.lang.IllegalStateException: Failed to enqueue ISR change state LeaderAndIsr(leader=2) for t-0\n"
SEQUENCE = "org.apache.kafka.common.errors.OutOfOrderSequenceException: Invalid sequence number\n"
OFFSETS = "java.lang.IllegalArgumentException: Out of order offsets found in List(3, 1, 2)\n"
MOVED = at(5, "INFO [UnifiedLog partition=__consumer_offsets-3, dir=/d] Truncating to offset 9 (kafka)")
LOADED = at(
    9, "INFO [Group Metadata Manager] Finished loading offsets and group metadata from __consumer_offsets-0 in 1"
)
CRASHED = at(8, "INFO [Log partition=t-0] Recovering unflushed segment 0 (kafka.log.Log)")
TIMED_OUT = "INFO [TransactionCoordinator id=1] Completed rollback of ongoing transaction for transactionalId x\n"
EXPIRED = "INFO [GroupMetadataManager brokerId=1] Removed 2 expired offsets in 3 milliseconds.\n"


@pytest.mark.parametrize(
    ("text", "release", "causes"),
    [
        (ISR_CHANGE, "2.8.2", ["isr-change-lost"]),
        (ISR_CHANGE, "3.1.0", []),
        (FAILED + SEQUENCE, "0.11.0.0", ["follower-refused-batch", "replication-stopped"]),
        (FAILED + SEQUENCE, "2.8.2", ["replication-stopped"]),
        (FAILED + OFFSETS, "1.1.0", ["follower-refused-batch", "replication-stopped"]),
        (SEQUENCE, "0.11.0.0", []),
        (FAILED.replace("ReplicaFetcher", "Other"), "2.8.2", []),
        (FAILED + "java.io.IOException: No space left on device\n", "2.8.2", ["disk"]),
        (MOVED, "4.1.1", ["commit-lost", "truncation"]),
        (MOVED, "4.3.1", ["truncation"]),
        (MOVED.replace("__consumer_offsets", "t"), "4.1.1", ["truncation"]),
        (CRASHED + LOADED, "0.11.0.0", ["oldest-offsets", "crash"]),
        (CRASHED + LOADED, "0.11.0.3", ["crash"]),
        (LOADED, "0.11.0.0", []),
        (TIMED_OUT, "2.8.2", ["transaction-timed-out"]),
        (TIMED_OUT.replace("rollback", "commit"), "2.8.2", []),
        ("java.io.IOException: /d/t-0.x-delete: File name too long\n", "1.1.1", ["topic-name-too-long"]),
        ("org.apache.kafka.common.errors.InconsistentTopicIdException: x\n", "3.6.0", ["topic-made-again"]),
        ("INFO Completed migration of metadata from ZooKeeper to KRaft.\n", "3.5.1", ["producer-ids-given-twice"]),
        ("INFO Completed migration of metadata from ZooKeeper to KRaft.\n", "3.9.2", []),
        ("INFO Replayed RemoveTopicRecord for topic t with ID x.\n", "4.3.1", ["topic-deleted"]),
        ("INFO Deletion of topic t successfully completed (kafka.controller)\n", "2.8.2", ["topic-deleted"]),
        ("INFO Deletion of topic t is queued\n", "2.8.2", []),
        (
            "INFO Incremented log start offset to 3 due to client delete records request (x)\n",
            "4.3.1",
            ["records-deleted"],
        ),
        ("INFO Incremented log start offset to 3 due to leader offset increment (x)\n", "4.3.1", []),
        ("INFO Log cleaner thread 0 cleaned log t-0 (dirty section = [0, 9])\n", "2.8.2", ["compacted"]),
        ("INFO Log cleaner thread 0 cleaned log __consumer_offsets-0 (dirty section = [0, 9])\n", "2.8.2", []),
        (at(5, "INFO Scheduling log segment 0 for log t-0 for deletion. (kafka.log.Log)"), "0.10.2.2", ["retention"]),
        (
            at(5, "INFO Scheduling log segment 9 for log t-0 for deletion. (kafka.log.Log)") + cut(5.2),
            "0.10.2.2",
            ["truncation-to-high-watermark"],
        ),
        ("WARN Found invalid messages in log segment 0.log: Record is corrupt (stored crc = 1)\n", "2.8.2", []),
        (
            "kafka.message.InvalidMessageException: Message is corrupt (stored crc = 1)\n",
            "0.10.2.2",
            ["damaged-record"],
        ),
        ("INFO zookeeper state changed (Expired) (org.I0Itec.zkclient.ZkClient)\n", "0.10.2.2", ["session"]),
        ("INFO zookeeper state changed (Disconnected) (org.I0Itec.zkclient.ZkClient)\n", "0.10.2.2", []),
        ("FATAL Halting due to unrecoverable I/O error while handling produce request\n", "0.10.2.2", ["disk"]),
    ],
)
def test_a_line_and_the_releases_that_it_counts_for(tmp_path: Path, text: str, release: str, causes: list[str]) -> None:
    assert causes_of(tmp_path, release, broker=text) == causes


@pytest.mark.parametrize(
    ("release", "bug"),
    [("1.1.1", "museum-expired-offsets"), ("2.1.0", "museum-upgrade-"), ("2.4.0", "museum-rebalance-"), ("3.9.2", "")],
)
def test_expired_offsets_name_the_bugs_of_the_release(tmp_path: Path, release: str, bug: str) -> None:
    (tmp_path / "broker.log").write_text(EXPIRED)
    logs = incident_logs.read_all([tmp_path / "broker.log"])
    (cause,) = incident_causes.causes(incident_causes.IncidentEvidence(logs, (), (), release))
    assert cause.kind.id == "expired-offsets"
    assert bug in cause.why
    assert ("museum" in cause.why) == bool(bug)


REFUSED = "org.apache.kafka.common.errors.NotEnoughReplicasException: The size of the current ISR : 1\n"


def test_refusals_are_the_cause_where_no_leader_was_replaced(tmp_path: Path) -> None:
    assert causes_of(tmp_path, "4.3.1", a=leads(1) + REFUSED, b=CRASHED) == ["refused", "crash"]
    assert causes_of(tmp_path, "4.3.1", a=leads(1) + REFUSED, b=CRASHED + leads(9)) == ["crash", "refused"]


def quorum(seconds: float, state: str) -> str:
    return at(seconds, f"INFO [RaftManager id=100] Completed transition to {state}(epoch=2, ) (QuorumState)")


def test_two_active_controllers(tmp_path: Path) -> None:
    first, second = quorum(1, "Leader"), quorum(20, "Leader")
    assert causes_of(tmp_path, "3.6.0", a=first, b=second) == ["isolated-controller"]
    assert causes_of(tmp_path, "3.6.0", a=first + quorum(90, "Follower"), b=second) == ["isolated-controller"]
    assert causes_of(tmp_path, "3.6.0", a=first + quorum(21, "Resigned"), b=second) == []
    assert causes_of(tmp_path, "3.9.2", a=first, b=second) == []


def test_every_exhibit_has_a_cause_or_is_said_to_leave_no_trace() -> None:
    told = {scenario for kind in incident_causes.kinds() for scenario in (kind.scenario, *kind.also)}
    untraced = {one.scenario for one in incident_untraced.UNTRACED}
    assert not told & untraced
    exhibits = {name for name, one in all_scenarios().items() if one.exhibit is not None}
    assert exhibits <= told | untraced
    assert told | untraced <= all_scenarios().keys()


def test_what_leaves_no_trace_is_said_of_releases_that_have_it(tmp_path: Path) -> None:
    named = {one.scenario for one in incident_untraced.of("0.10.2.2")}
    assert "at-most-once" in named
    assert "museum-misdelivered" not in named
    assert "museum-misdelivered" in {one.scenario for one in incident_untraced.of("3.9.1")}
    assert len(list(incident_untraced.of(""))) == len(incident_untraced.UNTRACED)
    found = incident.SavedFiles(logs=(tmp_path / "x.log",), parents=())
    told = incident.text(found, (), (), ((), "x"), (), (), "3.9.1")
    assert "acks=0" in told
    assert "KAFKA-19012" in told


def test_the_page_says_what_leaves_no_trace() -> None:
    page = (Path(__file__).parents[3] / "docs" / "lost-records.md").read_text()
    assert incident_untraced.rows() in page


@pytest.mark.parametrize(
    ("ends_with", "indexed", "release", "causes"),
    [
        (0, None, "2.8.1", ["aborted-came-back"]),
        (0, 8, "2.8.1", ["aborted-came-back"]),
        (0, 7, "2.8.1", []),
        (1, None, "2.8.1", []),
        (0, None, "2.8.2", []),
    ],
)
def test_an_aborted_transaction_that_no_index_names(
    tmp_path: Path, ends_with: int, indexed: int | None, release: str, causes: list[str]
) -> None:
    partition = tmp_path / "t-0"
    partition.mkdir()
    record = batch(0, [R(key=b"account", value=b"aborted")], producer=(7, 0, 0), transactional=True)
    marker = [R(key=control_key(ends_with), value=b"\0" * 6)]
    end = batch(1, marker, producer=(7, 0, -1), transactional=True, control=True)
    (partition / "00000000000000000000.log").write_bytes(record + end)
    if indexed is not None:
        (partition / "00000000000000000000.txnindex").write_bytes(struct.pack(">hqqqq", 0, indexed, 0, 1, 0))
    case = incident_causes.IncidentEvidence((), (), (partition,), release)
    assert [one.kind.id for one in incident_causes.causes(case)] == causes


FOUND = at(6, "WARN Found invalid messages in log segment /d/t-0/0.log at byte offset 9. (kafka.log.LogSegment)")
RECORD_SIZE = "org.apache.kafka.common.errors.CorruptRecordException: Found record size 0 smaller than minimum (14)\n"
CHECKSUM = "org.apache.kafka.common.errors.CorruptRecordException: Record is corrupt (stored crc = 1)\n"
FETCH = at(6, "ERROR [ReplicaManager broker=1] Error processing fetch with max size 9 from client on partition t-0")


@pytest.mark.parametrize("exception", [RECORD_SIZE, CHECKSUM])
def test_an_exception_of_a_recovery_tells_of_no_damaged_disk(tmp_path: Path, exception: str) -> None:
    trace = "\tat kafka.log.LogSegment.recover(LogSegment.scala:1)\n"
    assert causes_of(tmp_path, "4.3.1", a=CRASHED + FOUND + exception) == ["power-loss", "crash"]
    assert causes_of(tmp_path, "4.3.1", a=CRASHED + FOUND + trace + exception) == ["power-loss", "crash"]
    assert causes_of(tmp_path, "4.3.1", a=CRASHED + FOUND + FETCH + exception)[0] == "damaged-record"
    assert causes_of(tmp_path, "4.3.1", a=exception) == ["damaged-record"]


def recovers(seconds: float, partition: str = "t-0") -> str:
    return at(seconds, f"INFO Recovering unflushed segment 0 in log {partition}. (kafka.log.Log)")


def elects(seconds: float, broker: int, partition: str = "t,0") -> str:
    told = f"No broker in ISR is alive for [{partition}]. Elect leader {broker} from live brokers {broker}. "
    return at(seconds, f"WARN [OfflinePartitionLeaderSelector]: {told}There's potential data loss. (kafka.controller)")


def other_leads(seconds: float) -> str:
    return leads(seconds).replace("Broker 3", "Broker 2")


ELECTED = at(
    9,
    "INFO [QuorumController id=100] UNCLEAN partition change for t-0 with topic ID x: isr: [] -> [3], leader: -1 -> 3, "
    "leaderEpoch: 1 -> 2, elr: [2] -> [], lastKnownElr: [3] -> [], partitionEpoch: 4 -> 5",
)


@pytest.mark.parametrize(
    ("controller", "broker", "other", "causes"),
    [
        (elects(9, 3), leads(1) + recovers(5) + leads(10), "", ["crash", "last-leader-again"]),
        (elects(9, 3), leads(1) + recovers(5) + leads(10), other_leads(0.5), ["crash", "last-leader-again"]),
        (ELECTED, leads(1) + recovers(5) + leads(10), "", ["crash", "last-leader-again"]),
        (ELECTED, recovers(5) + leads(10), "", ["unclean-election", "crash"]),
        (elects(9, 3), leads(1) + recovers(5) + leads(10), other_leads(4), ["unclean-election", "crash"]),
        (elects(9, 2), leads(1) + recovers(5), "", ["unclean-election", "crash"]),
        (elects(9, 3, "u,0"), leads(1) + recovers(5), "", ["unclean-election", "crash"]),
        (elects(9, 3), leads(1) + recovers(5, "u-0"), "", ["unclean-election", "crash"]),
        (elects(9, 3), recovers(0.5) + leads(1), "", ["unclean-election", "crash"]),
        (elects(9, 3) + elects(9, 2, "u,0"), leads(1) + recovers(5), "", ["unclean-election", "crash"]),
    ],
)
def test_an_election_of_the_broker_that_led_last_costs_nothing(
    tmp_path: Path, controller: str, broker: str, other: str, causes: list[str]
) -> None:
    assert causes_of(tmp_path, "0.9.0.1", controller=controller, a=broker, b=other)[:2] == causes


def test_what_the_last_leader_lacks_was_lost_with_the_power(tmp_path: Path) -> None:
    torn = at(6, "WARN Corruption found in segment 0 of log t-0, truncating to offset 3. (kafka.log.Log)")
    text = leads(1) + recovers(5) + torn + leads(10)
    assert causes_of(tmp_path, "0.8.2.2", controller=elects(9, 3), a=text)[0] == "power-loss"
    assert causes_of(tmp_path, "0.8.2.2", controller=elects(9, 2), a=text)[0] == "unclean-election"


def two_records_at_one_offset(folder: Path) -> list[ReplicaComparison]:
    """Two replicas of t-0 that hold different records at offset 0, compared."""
    for name in ("a", "b"):
        (folder / name / "t-0").mkdir(parents=True)
        (folder / name / "t-0" / "00000000000000000000.log").write_bytes(batch(0, [R(value=name.encode())]))
    return compare_directories([folder / "a", folder / "b"])


TORN = at(6, "WARN Found invalid messages in log segment /d/t-0/00000000000000000000.log at byte offset 9: x (kafka)")


@pytest.mark.parametrize(
    ("controller", "first"),
    [
        ("", "replicas-differ"),
        (TORN, "power-loss"),
        (TORN.replace("t-0", "u-0"), "replicas-differ"),
        (elects(9, 2, "u,0"), "unclean-election"),
        (elects(9, 2), "unclean-election"),
        (elects(9, 3), "replicas-differ"),
    ],
)
def test_replicas_that_differ_after_an_unclean_election(tmp_path: Path, controller: str, first: str) -> None:
    (tmp_path / "broker.log").write_text(leads(1) + recovers(5) + controller)
    logs = incident_logs.read_all([tmp_path / "broker.log"])
    case = incident_causes.IncidentEvidence(logs, two_records_at_one_offset(tmp_path), (), "0.9.0.1")
    told = incident_causes.causes(case)
    of_other = "u,0" in controller
    assert [one.kind.id for one in told][: 1 + of_other] == (["replicas-differ", first] if of_other else [first])
    follows_from = controller in (elects(9, 2), TORN)
    assert [one.rank for one in told if one.kind.id == "replicas-differ"] == [int(follows_from)]


@pytest.mark.parametrize(
    ("protocol", "partition", "first"),
    [("0.10.2-IV0", "t-0", "unclean-election"), ("1.1-IV0", "t-0", "replicas-differ"), ("0.10.2", "u-0", "replicas")],
)
def test_replicas_that_differ_after_an_election_failed(
    tmp_path: Path, protocol: str, partition: str, first: str
) -> None:
    failed = f"Controller 3 epoch 1 failed to change state for partition {partition} from OfflinePartition to OnlinePar"
    text = MAY_BE_STALE + f"\tinter.broker.protocol.version = {protocol}\n" + at(9, f"ERROR {failed}tition (state)")
    (tmp_path / "broker.log").write_text(text)
    logs = incident_logs.read_all([tmp_path / "broker.log"])
    case = incident_causes.IncidentEvidence(logs, two_records_at_one_offset(tmp_path), (), "2.2.2")
    assert incident_causes.causes(case)[0].kind.id.startswith(first)


@pytest.mark.parametrize(
    ("release", "partition", "rank"), [("0.10.2.2", "t-0", 1), ("2.8.2", "t-0", 0), ("0.10.2.2", "u-0", 0)]
)
def test_replicas_that_differ_after_a_disk_came_back_empty(
    tmp_path: Path, release: str, partition: str, rank: int
) -> None:
    """With leader epochs the others truncate to what the emptied leader has, so a difference has another cause."""
    made = f"INFO Created log for partition {partition} in /d with properties {{}}. (kafka.log.LogManager)"
    start = f"INFO Kafka version: {release} (org.apache.kafka.common.utils.AppInfoParser)"
    (tmp_path / "broker.log").write_text(at(1, start) + at(2, made) + at(5, start) + at(6, made))
    logs = incident_logs.read_all([tmp_path / "broker.log"])
    case = incident_causes.IncidentEvidence(logs, two_records_at_one_offset(tmp_path), (), release)
    told = {one.kind.id: one.rank for one in incident_causes.causes(case)}
    assert (told["replicas-differ"], "empty-disk" in told) == (rank, True)


def loads(seconds: float, end: int) -> str:
    return at(seconds, f"INFO Completed load of log t-0 with 1 log segments and log end offset {end} in 15 ms (kafka)")


def loads_new(seconds: float, end: int) -> str:
    of = f"dir=/{'d' * 150}/t-0, topicId=bWXkNl43SjiNEufddnpa5g, topic=t, partition=0, highWatermark=0"
    return at(seconds, f"INFO Completed load of Log({of}, logStartOffset=0, logEndOffset={end}) with 1 segments in 1ms")


def starts(seconds: float, end: int, role: str = "Leader") -> str:
    told = f"{role} t-0 with topic id Some(x) starts at leader epoch 4 from offset {end} with partition epoch 6"
    return at(seconds, f"INFO [Broker id=1] {told} (state.change.logger)")


def shrinks(seconds: float, end: int) -> str:
    told = f"Shrinking ISR from 1,2 to 1. Leader: (highWatermark: 3, endOffset: {end}). Out of sync replicas: (2)"
    return at(seconds, f"INFO [Partition t-0 broker=1] {told} (kafka.cluster.Partition)")


def rolls(seconds: float, end: int) -> str:
    return at(seconds, f"INFO [Log partition=t-0, dir=/d] Rolled new log segment at offset {end} in 3 ms. (kafka.log)")


CUT_TO_3 = at(4, "INFO [UnifiedLog partition=t-0, dir=/d] Truncating to offset 3 (kafka.log.UnifiedLog)")
EMPTIED = at(4, "INFO [UnifiedLog partition=t-0, dir=/d] Truncate and start at offset 3 (kafka.log.UnifiedLog)")


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        (starts(1, 9) + recovers(5) + loads(6, 3), True),
        (starts(1, 9, "Follower") + recovers(5) + loads_new(6, 3), True),
        (shrinks(1, 9) + recovers(5) + loads(6, 3), True),
        (rolls(1, 9) + recovers(5) + loads(6, 3), True),
        (loads(1, 9) + recovers(5) + loads(6, 3), True),
        (starts(1, 9) + rolls(2, 5) + recovers(5) + loads(6, 8), True),
        (starts(1, 9) + recovers(5) + loads(6, 9), False),
        (starts(1, 9) + recovers(5) + loads(6, 12), False),
        (starts(1, 9) + loads(6, 3), False),
        (starts(1, 9) + recovers(5, "u-0") + loads(6, 3), False),
        (starts(1, 9) + CUT_TO_3 + recovers(5) + loads(6, 3), False),
        (starts(1, 9) + EMPTIED + recovers(5) + loads(6, 3), False),
        (starts(1, 9) + created(4) + recovers(5) + loads(6, 3), False),
        (starts(1, 9) + recovers(5) + loads(6, 3) + "java.io.IOException: Input/output error\n", False),
    ],
)
def test_a_log_that_comes_back_shorter_than_its_broker_told(tmp_path: Path, text: str, lost: bool) -> None:
    assert ("power-loss" in causes_of(tmp_path, "4.3.1", a=text)) == lost


def below(seconds: float, high_watermark: int, partition: str = "t-0") -> str:
    told = f"Truncating {partition} to offset 5 below high watermark {high_watermark}"
    return at(seconds, f"WARN [ReplicaFetcher replicaId=2, leaderId=1, fetcherId=0] {told} (kafka.server)")


BACK = recovers(5) + loads(6, 5) + starts(7, 5)
MAY_BE_STALE = "\tunclean.leader.election.enable = true\n"


@pytest.mark.parametrize(
    ("leader", "follower", "lost"),
    [
        (BACK, below(8, 9), True),
        (BACK, below(8, 5), False),
        (BACK, below(6.5, 9), False),
        (BACK, below(8, 9, "u-0"), False),
        (loads(6, 5) + starts(7, 5), below(8, 9), False),
        (BACK + starts(7.5, 5, "Follower"), starts(7.5, 7) + below(8, 9), True),
        (CUT_TO_3 + BACK, below(8, 9), False),
        (recovers(5) + loads(6, 5) + cut(6.5, 4) + starts(7, 4), below(8, 9), False),
        (BACK + elects(6.5, 1), below(8, 9), False),
        (MAY_BE_STALE + BACK, below(8, 9), False),
        (MAY_BE_STALE + starts(1, 3) + BACK, below(8, 9), True),
        (BACK, cut(8, 9) + cut(8.1, 5), False),
    ],
)
def test_a_leader_that_comes_back_without_what_was_committed(
    tmp_path: Path, leader: str, follower: str, lost: bool
) -> None:
    assert ("power-loss" in causes_of(tmp_path, "2.2.2", a=leader, b=follower)) == lost


@pytest.mark.parametrize(
    ("follower", "lost"),
    [
        (cut(8, 9) + cut(8.1, 5), True),
        (cut(8, 9), False),
        (cut(8, 5) + cut(8.1, 5), False),
        (cut(8, 9) + leads(8.05) + cut(8.1, 5), False),
        (cut(8, 9) + loads(8.05, 9) + cut(8.1, 5), False),
    ],
)
def test_a_follower_that_cuts_twice_before_there_were_leader_epochs(tmp_path: Path, follower: str, lost: bool) -> None:
    leader = recovers(5) + loads(6, 5) + leads(7)
    assert ("power-loss" in causes_of(tmp_path, "0.10.2.2", a=leader, b=id_of(3) + follower)) == lost


@pytest.mark.parametrize(
    ("text", "cuts"),
    [
        (loads(1, 3) + cut(2), 0),
        (loads(1, 3) + follows(1.5) + cut(2), 0),
        (loads(1, 9) + cut(2), 1),
        (loads(1, 3) + leads(1.5) + cut(2), 1),
        (loads(1, 3) + cut(2) + cut(3), 1),
        (cut(2), 1),
        ("INFO Truncating to offset 3 (kafka.log.Log)\n", 1),
    ],
)
def test_a_cut_at_the_end_of_a_log_removes_nothing(tmp_path: Path, text: str, cuts: int) -> None:
    (tmp_path / "a.log").write_text(text)
    logs = incident_logs.read_all([tmp_path / "a.log"])
    assert len(incident_ends.real_cuts(logs)) == cuts
    named = causes_of(tmp_path, "0.10.2.2", a=text, b=leads(1))
    assert any(one.startswith("truncation") for one in named) == bool(cuts)


def test_long_lines_are_read_and_shown_short(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(loads_new(6, 3))
    logs = incident_logs.read_all([tmp_path / "a.log"])
    assert incident_ends.end_of("loaded", logs[0].of("loaded")[0]) == 3
    assert incident_history.partition_of(logs[0].of("loaded")[0]) == "t-0"
    kind = next(iter(incident_causes.kinds()))
    cause = incident_causes.Cause(kind, "x", tuple(logs[0].of("loaded")))
    found = incident.SavedFiles(logs=(tmp_path / "a.log",), parents=())
    told = incident.text(found, (cause,), (), ((), "x"), (), (), "4.3.1")
    assert max(len(line) for line in told.splitlines() if "Completed load" in line) <= incident_logs.LONGEST + 5


def torn_at(position: int, size: int = 900) -> bytes:
    """A segment whose second batch is zeros from a byte of the file on."""
    whole = batch(0, [R()]) + batch(1, [R(value=b"x" * size)])
    return whole[:position] + bytes(len(whole) - position)


def flipped() -> bytes:
    """A segment whose last batch has another bit."""
    whole = bytearray(batch(0, [R()]) + batch(1, [R(value=b"x" * 900)]))
    whole[600] ^= 1
    return bytes(whole)


SOUND = batch(0, [R()])


@pytest.mark.parametrize(
    ("segment", "log", "first"),
    [
        (SOUND + bytes(99), "", "power-loss"),
        (torn_at(512), "", "power-loss"),
        (torn_at(512) + bytes(99), "", "power-loss"),
        (SOUND, "", ""),
        (SOUND + batch(1, [R()])[:-9], "", ""),
        (torn_at(1030), "", "damaged-record"),
        (torn_at(512) + batch(2, [R()]), "", "damaged-record"),
        (flipped(), "", "damaged-record"),
        (flipped() + bytes(99), "", "damaged-record"),
        (SOUND + bytes(99), "\tlog.preallocate = true\n", ""),
        (torn_at(512), "\tlog.preallocate = true\n", "damaged-record"),
        (SOUND + bytes(99), "java.io.IOException: No space left on device\n", "disk"),
    ],
    ids=lambda one: f"{len(one)} bytes" if isinstance(one, bytes) else one.strip(),
)
def test_a_copied_log_that_ends_in_what_was_never_written(tmp_path: Path, segment: bytes, log: str, first: str) -> None:
    for name, data in (("a", segment), ("b", SOUND)):
        partition = tmp_path / name / "t-0"
        partition.mkdir(parents=True)
        (partition / "00000000000000000000.log").write_bytes(data)
    (tmp_path / "broker.log").write_text(log)
    logs = incident_logs.read_all([tmp_path / "broker.log"])
    case = incident_causes.IncidentEvidence(logs, compare_directories([tmp_path / "a", tmp_path / "b"]), (), "2.8.2")
    assert next((one.kind.id for one in incident_causes.causes(case)), "") == first
    if first == "power-loss":
        (told,) = [one.why for one in incident_causes.causes(case) if one.kind.id == "power-loss"]
        assert "byte" in told


def test_zeros_in_the_middle_of_a_copied_log_are_damage(tmp_path: Path) -> None:
    for name, data in (("a", SOUND + bytes(99)), ("b", SOUND)):
        partition = tmp_path / name / "t-0"
        partition.mkdir(parents=True)
        (partition / "00000000000000000000.log").write_bytes(data)
        (partition / "00000000000000000001.log").write_bytes(batch(1, [R()]))
    case = incident_causes.IncidentEvidence((), compare_directories([tmp_path / "a", tmp_path / "b"]), (), "2.8.2")
    assert [one.kind.id for one in incident_causes.causes(case)] == ["damaged-record"]


def indexed(segment: Path, *entries: tuple[int, int]) -> None:
    segment.with_suffix(".index").write_bytes(b"".join(struct.pack(">Ii", *entry) for entry in entries))


@pytest.mark.parametrize(
    ("entries", "skipped", "causes"),
    [
        ([(2, 1 << 20)], True, ["damaged-index"]),
        ([(2, 1 << 20)], False, []),
        ([(0, 0)], True, []),
        ([(2, 90), (1, 80)], True, ["damaged-index"]),
        ([(2, 1 << 20), (0, 0), (0, 0)], True, []),
        ([], True, []),
    ],
    ids=["behind the end", "nothing skipped", "right", "descends", "still open", "empty"],
)
def test_a_damaged_index_is_told_where_a_replica_skipped_records(
    tmp_path: Path, entries: list[tuple[int, int]], skipped: bool, causes: list[str]
) -> None:
    for name in ("a", "b", "c"):
        partition = tmp_path / name / "t-0"
        partition.mkdir(parents=True)
        first = [batch(offset, [R()]) for offset in range(3)]
        kept = first[:1] if skipped and name == "c" else first
        (partition / f"{0:020}.log").write_bytes(b"".join(kept))
        (partition / f"{3:020}.log").write_bytes(batch(3, [R()]))
    indexed(tmp_path / "a" / "t-0" / f"{0:020}.log", *entries)
    compared = compare_directories([tmp_path / name for name in ("a", "b", "c")])
    case = incident_causes.IncidentEvidence((), compared, (), "2.8.2")
    assert [one.kind.id for one in incident_causes.causes(case)] == causes


def test_a_record_that_is_missing_is_no_other_record(tmp_path: Path) -> None:
    for name, offsets in (("a", (0, 1, 2)), ("b", (0, 1, 2)), ("c", (0, 2))):
        partition = tmp_path / name / "t-0"
        partition.mkdir(parents=True)
        value = b"other" if name == "c" else b""
        text = [batch(one, [R(value=value if one == 2 else b"")]) for one in offsets]
        (partition / f"{0:020}.log").write_bytes(b"".join(text))
    compared = compare_directories([tmp_path / "a", tmp_path / "b"])
    assert not incident_causes.causes(incident_causes.IncidentEvidence((), compared, (), "2.8.2"))
    compared = compare_directories([tmp_path / name for name in ("a", "b", "c")])
    (told,) = incident_causes.causes(incident_causes.IncidentEvidence((), compared, (), "2.8.2"))
    assert (told.kind.id, "offset 2" in told.why) == ("replicas-differ", True)


def starts_epoch(seconds: float, broker: int, partition: str = "t-0") -> str:
    told = f"{partition} starts at Leader Epoch 1 from offset 3. Previous Leader Epoch was: 0 (kafka.cluster.Partition)"
    return at(seconds, f"INFO [Partition {partition} broker={broker}] {told}")


def changes(seconds: float, verb: str, old: str, new: str, partition: str = "t-0") -> str:
    told = f"{verb} ISR from {old} to {new}. Leader: (highWatermark: 3, endOffset: 4). Out of sync replicas: x."
    return at(seconds, f"INFO [Partition {partition} broker=1] {told} (kafka.cluster.Partition)")


def updated(seconds: float, isr: str) -> str:
    return at(seconds, f"INFO [Partition t-0 broker=1] ISR updated to [{isr}] and zkVersion updated to [3] (kafka)")


def of(release: str) -> str:
    return at(0, f"INFO Kafka version: {release} (org.apache.kafka.common.utils.AppInfoParser)")


SHRUNK = starts_epoch(1, 1) + changes(5, "Shrinking", "1,3,2", "1")
SKIPS = at(6, "INFO [Partition t-0 broker=1] Cached zkVersion [3] not equal to that in zookeeper, skip updating ISR")
SILENCE = at(4, "WARN Client session timed out, have not heard from server in 4001ms for sessionid 0x1 (org.apache)")


@pytest.mark.parametrize(
    ("leader", "other", "unclean"),
    [
        (of("2.2.2") + SHRUNK, starts_epoch(9, 3), True),
        (of("2.2.2") + SHRUNK, starts_epoch(3, 3), False),
        (of("2.2.2") + SHRUNK, starts_epoch(9, 3, "u-0"), False),
        (of("2.2.2") + SHRUNK + changes(6, "Expanding", "1", "1,3"), starts_epoch(9, 3), False),
        (of("2.2.2") + SHRUNK + changes(6, "Expanding", "1", "1,2"), starts_epoch(9, 3), True),
        (of("2.2.2") + SHRUNK + starts_epoch(8, 1), "", False),
        (of("2.2.2") + SHRUNK + starts_epoch(8, 1), starts_epoch(9, 3), False),
        (of("2.2.2") + SHRUNK + SKIPS, starts_epoch(9, 3), False),
        (of("2.2.2") + SHRUNK + SILENCE, starts_epoch(9, 3), False),
        (of("2.2.2") + SILENCE + SHRUNK + changes(90, "Shrinking", "1,3", "1"), starts_epoch(95, 3), True),
        (of("2.2.2") + starts_epoch(1, 1), starts_epoch(9, 3), False),
        (of("2.4.1") + SHRUNK, starts_epoch(9, 3), False),
        (of("2.4.1") + SHRUNK + updated(5.1, "1"), starts_epoch(9, 3), True),
        (of("2.4.1") + SHRUNK + updated(5.1, "1") + updated(7, "1,3"), starts_epoch(9, 3), False),
    ],
)
def test_a_leader_from_outside_the_isr(tmp_path: Path, leader: str, other: str, unclean: bool) -> None:
    assert ("unclean-election" in causes_of(tmp_path, "2.2.2", a=MAY_BE_STALE + leader, b=other)) == unclean
    assert "unclean-election" not in causes_of(tmp_path, "2.2.2", a=leader, b=other)


def leads_as(seconds: float, broker: int) -> str:
    return leads(seconds).replace("Broker 3", f"Broker {broker}")


def comes_back(seconds: float, end: int) -> str:
    return recovers(seconds) + loads(seconds + 0.1, end)


def own(broker: int) -> str:
    """The first lines of a broker that holds a partition from its beginning."""
    return id_of(broker) + created(0.5) + loads(0.6, 0)


LED = own(1) + leads_as(1, 1)
DISK_FULL = "java.io.IOException: No space left on device\n"


@pytest.mark.parametrize(
    ("leader", "follower", "lost"),
    [
        (LED + comes_back(50, 5), own(2) + comes_back(51, 7), True),
        (LED + comes_back(50, 5) + leads_as(51, 1), own(2) + comes_back(52, 7), True),
        (LED + comes_back(50, 5), own(2) + comes_back(49, 7), True),
        (LED + comes_back(50, 7), own(2) + comes_back(51, 7), False),
        (LED + comes_back(50, 7), own(2) + comes_back(51, 5), False),
        (LED + loads(50, 5), own(2) + comes_back(51, 7), False),
        (LED + comes_back(50, 5), own(2) + loads(51, 7), False),
        (LED + comes_back(50, 5), own(2) + comes_back(200, 7), False),
        (LED + comes_back(50, 5), own(2) + leads_as(30, 2) + comes_back(51, 7), False),
        (LED + comes_back(50, 5), own(2) + leads_as(0.9, 2) + comes_back(51, 7), False),
        (LED + comes_back(50, 5), id_of(2) + comes_back(51, 7), False),
        (LED + joins(20, "1,2") + comes_back(50, 5), id_of(2) + comes_back(51, 7), True),
        (LED + joins(20, "1,3") + comes_back(50, 5), id_of(2) + comes_back(51, 7), False),
        (LED + comes_back(50, 5) + leads_as(51, 1) + joins(52, "1,2"), own(2) + comes_back(60, 7), False),
        (LED + cut(49, 5) + comes_back(50, 5), own(2) + comes_back(51, 7), False),
    ],
)
def test_a_leader_that_comes_back_with_less_than_a_follower_has_copied(
    tmp_path: Path, leader: str, follower: str, lost: bool
) -> None:
    assert ("power-loss" in causes_of(tmp_path, "0.10.2.2", a=leader, b=follower)) == lost


@pytest.mark.parametrize(
    ("controller", "leader", "follower", "first"),
    [
        (elects(51, 2), LED + comes_back(52, 5), own(2) + comes_back(50, 7), "power-loss"),
        (elects(51, 2), LED + comes_back(52, 7), own(2) + comes_back(50, 5), "unclean-election"),
        (elects(51, 2), LED + comes_back(52, 5), own(2), "unclean-election"),
        (elects(51, 3), LED + comes_back(52, 5), own(2) + comes_back(50, 7), "unclean-election"),
        (elects(51, 2, "u,0"), LED + comes_back(52, 5), own(2) + comes_back(50, 7), "unclean-election"),
        (elects(51, 2), LED + comes_back(52, 5) + DISK_FULL, own(2) + comes_back(50, 7), "unclean-election"),
    ],
)
def test_an_unclean_election_after_all_have_lost_power(
    tmp_path: Path, controller: str, leader: str, follower: str, first: str
) -> None:
    assert causes_of(tmp_path, "0.10.2.2", a=leader, b=follower, c=controller)[0] == first


@pytest.mark.parametrize(
    ("leader", "follower", "removed"),
    [
        (LED + comes_back(50, 9) + leads_as(51, 1), own(2) + comes_back(52, 9) + cut(53, 5), False),
        (LED + comes_back(50, 8) + leads_as(51, 1), own(2) + comes_back(52, 9) + cut(53, 5), True),
        (LED + comes_back(50, 9) + leads_as(51, 1), own(2) + comes_back(52, 9) + cut(53, 5) + cut(54, 4), True),
        (LED + leads_as(51, 1), own(2) + comes_back(52, 9) + cut(53, 5), True),
        (LED + comes_back(50, 9), own(2) + leads_as(51, 2) + comes_back(52, 9) + cut(53, 5), True),
    ],
)
def test_what_a_leader_has_is_copied_again(tmp_path: Path, leader: str, follower: str, removed: bool) -> None:
    assert ("truncation" in causes_of(tmp_path, "0.10.2.2", a=leader, b=follower)) == removed


def left(seconds: float, leader: int, isr: str) -> str:
    told = f'{{"leader":{leader},"leader_epoch":1,"isr":[{isr}]}}'
    return at(seconds, f"INFO [Controller 4]: New leader and ISR for partition [t,0] is {told} (kafka.controller)")


KNOWS = own(2) + comes_back(50, 9) + cut(51, 8)


@pytest.mark.parametrize(
    ("controller", "knows", "other", "lost"),
    [
        (left(40, -1, "3,2"), KNOWS, own(3) + comes_back(52, 5), True),
        (left(40, -1, "3,2"), KNOWS, own(3) + comes_back(49, 5), True),
        (left(40, -1, "2"), KNOWS, own(3) + comes_back(52, 5), False),
        (left(40, 1, "3,2"), KNOWS, own(3) + comes_back(52, 5), False),
        (left(40, -1, "3,2"), KNOWS, own(3) + comes_back(52, 8), False),
        (left(40, -1, "3,2"), KNOWS, own(3) + loads(52, 5), False),
        (left(40, -1, "3,2"), KNOWS, own(3) + loads(45, 4) + comes_back(52, 5), False),
        (left(40, -1, "3,2"), KNOWS, own(3) + comes_back(200, 5), False),
        (left(60, -1, "3,2"), KNOWS, own(3) + comes_back(52, 5), False),
        (left(40, -1, "3,2"), own(2) + comes_back(50, 9), own(3) + comes_back(52, 5), False),
        ("", KNOWS, own(3) + comes_back(52, 5), False),
    ],
)
def test_a_broker_in_sync_that_comes_back_below_a_high_watermark(
    tmp_path: Path, controller: str, knows: str, other: str, lost: bool
) -> None:
    texts = {"a": own(1) + leads_as(1, 1), "b": knows, "c": other, "d": controller}
    assert ("power-loss" in causes_of(tmp_path, "0.9.0.1", **texts)) == lost
    assert "power-loss" not in causes_of(tmp_path, "0.11.0.3", **texts)


@pytest.mark.parametrize(
    ("elected", "other", "first"),
    [
        (3, own(3) + comes_back(49, 5), "power-loss"),
        (3, own(3) + comes_back(49, 8), "unclean-election"),
        (2, own(3) + comes_back(49, 5), "unclean-election"),
    ],
)
def test_an_unclean_election_of_a_broker_that_was_in_sync_and_lost_power(
    tmp_path: Path, elected: int, other: str, first: str
) -> None:
    texts = {"a": own(1) + leads_as(1, 1), "b": KNOWS, "c": other, "d": left(40, -1, "3,2") + elects(50.5, elected)}
    assert causes_of(tmp_path, "0.9.0.1", **texts)[0] == first
