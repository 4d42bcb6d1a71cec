"""Telling lines, as brokers of every line printed them (`data/logs`), and what is made of them.

Each line of a sample is `node | event partition offset leader-epoch | the line`, `?` for what it does not name, `-` for
no event. They were printed by real brokers in divergence after an unclean election, and around a frozen follower.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError
from hypothesis import given
from hypothesis import strategies as st

from evidence.events import Log
from evidence.rundir import RunDir
from evidence.timeline import Timeline, read
from harness.observers.broker_logs import (
    LogEvent,
    append_to,
    collect,
    end_of_epoch,
    parse,
    parse_lines,
    parse_stamp,
    recognise,
    stopped_fetching,
    versions_in,
)
from scenarios.brokers.broker_ids import REFUSED

LOGS = sorted((Path(__file__).parent / "data" / "logs").glob("*.txt"))
STAMP = "2026-11-21T05:28:49.630000001Z "
LINES = ["0.8.2.2", "0.9.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.2.2", "2.2.2-pinned", "2.8.2"]
LINES += ["3.9.2-zk", "3.9.2-pinned", "3.9.2-kraft", "4.1.2", "4.3.1"]


def shown(event: LogEvent) -> str:
    where = "?" if event.topic is None else f"{event.topic}-{event.partition}"
    numbers = ["?" if value is None else str(value) for value in (event.offset, event.leader_epoch)]
    return " ".join([event.event, where, *numbers])


def sample(path: Path) -> dict[str, list[tuple[list[str], str]]]:
    """Each node's lines, with the events expected of them."""
    nodes: dict[str, list[tuple[list[str], str]]] = defaultdict(list)
    for line in path.read_text().splitlines():
        node, expected, raw = line.split(" | ", 2)
        nodes[node].append(([] if expected == "-" else expected.split(", "), raw))
    return nodes


def test_there_is_a_sample_of_every_line_of_releases() -> None:
    assert {path.stem for path in LOGS} == set(LINES)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_what_brokers_printed(path: Path) -> None:
    for node, lines in sample(path).items():
        found: dict[str, list[str]] = defaultdict(list)
        for event in parse_lines([raw for _, raw in lines], node):
            found[event.line].append(shown(event))
            assert event.node == node
        for expected, raw in lines:
            stamped = parse_stamp(raw)
            assert stamped is not None
            assert found.get(stamped[1], []) == expected, raw


def events_of(path: Path) -> dict[str, list[LogEvent]]:
    return {node: list(parse_lines([raw for _, raw in lines], node)) for node, lines in sample(path).items()}


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_every_line_of_releases_tells_who_led_and_followed_in_which_epoch(path: Path) -> None:
    """The divergence's course, the same everywhere: 1 leads epoch 0, 2 follows it; 2 leads 1; 1 leads 3."""
    told = {node: [(e.event, e.leader_epoch) for e in events] for node, events in events_of(path).items()}
    assert ("become-leader", 0) in told["broker-1"]
    followed = [epoch for event, epoch in told["broker-2"] if event == "become-follower"]
    assert followed
    assert set(followed) <= {None} if path.stem == "1.1.1" else None not in followed


def test_the_truncation_that_loses_is_told_with_its_offset() -> None:
    truncated = {
        path.stem: [e.offset for e in events_of(path)["broker-2"] if e.event == "truncate" and e.offset]
        for path in LOGS
    }
    # By high watermark, 3, where nothing is left to cut; by epoch, 2.
    assert truncated["0.10.2.2"][:1] == [3]
    assert truncated["2.2.2-pinned"] == truncated["3.9.2-pinned"] == []
    for release in ("0.11.0.3", "1.1.1", "2.8.2", "3.9.2-zk", "3.9.2-kraft", "4.1.2", "4.3.1"):
        assert truncated[release][:1] == [2], release


# Texts that no sample has, from the sources of the release named.
@pytest.mark.parametrize(
    ("line", "event", "offset", "epoch"),
    [
        (  # 0.8.2.2
            "FATAL [ReplicaFetcherThread-0-2], Halting because log truncation is not allowed for topic [t,0], Current "
            "leader 2's latest offset 1 is less than replica 1's latest offset 4 (kafka.server.ReplicaFetcherThread)",
            "fatal",
            "1",
            None,
        ),
        (  # 1.1.1
            "ERROR [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Exiting because log truncation is not allowed "
            "for partition t-0, current leader's latest offset 1 is less than replica's latest offset 4",
            "fatal",
            "1",
            None,
        ),
        (  # 0.9.0.1
            "WARN Corruption found in segment 0 of log t-0, truncating to offset 7. (kafka.log.Log)",
            "recovery",
            "7",
            None,
        ),
        (  # 3.9
            "WARN [LogLoader partition=t-0, dir=/data/kafka] Corruption found in segment 0, truncating to offset 7",
            "recovery",
            "7",
            None,
        ),
        (  # 0.11.0.2
            "INFO [ReplicaFetcherThread-0-1]: Based on follower's leader epoch, leader replied with an offset 3 >= the "
            "follower's log end offset 2 in t-0. No truncation needed. (kafka.server.ReplicaFetcherThread)",
            "epoch-request/nothing-to-cut",
            "3",
            None,
        ),
        (  # 2.2.2
            "INFO [ReplicaFetcher replicaId=1, leaderId=2] Based on replica's leader epoch, leader replied "
            "with epoch 4 unknown to the replica for t-0. Will truncate to 5 and send another leader epoch request",
            "epoch-request/unknown-epoch",
            "5",
            None,
        ),
        (  # 2.2.2
            "WARN [ReplicaFetcher replicaId=1, leaderId=2] Truncating t-0 to offset 2 below high watermark 3",
            "high-watermark/below",
            "2",
            None,
        ),
    ],
)
def test_what_the_sources_print(line: str, event: str, offset: str, epoch: str | None) -> None:
    found = recognise(line)
    assert found is not None
    kind, (named,) = found
    assert (kind, named["topic"] or named["topic2"], named["partition"] or named["partition2"]) == (event, "t", "0")
    assert (named["offset"], named.get("epoch")) == (offset, epoch)


@pytest.mark.parametrize(
    "line",
    [
        "INFO KafkaConfig values: unclean.leader.election.enable = true",
        "INFO [UnifiedLog partition=t-0, dir=/data/kafka] Truncating to 0 has no effect as the largest offset is 0",
        "TRACE Broker 1 handling LeaderAndIsr request correlationId 1 from controller 3 starting the become-leader",
        "DEBUG [OfflinePartitionLeaderSelector]: No broker in ISR is alive for [t,0]. Pick the leader from the alive",
        "INFO [RaftManager id=1] High watermark set to Optional[LogOffsetMetadata(offset=1)] for the first time",
        "java.lang.RuntimeException: something",
        "",
    ],
)
def test_lines_that_tell_of_nothing(line: str) -> None:
    assert list(parse_lines([STAMP + line], "broker-1")) == []


def test_one_line_about_several_partitions() -> None:
    line = (
        "[x] INFO [ReplicaFetcherManager on broker 2] Added fetcher for partitions List([t-0, initOffset 3 to broker "
        "BrokerEndPoint(1,h,9092)] , [a-b.c-11, initOffset 0 to broker BrokerEndPoint(1,h,9092)] ) (kafka.server)"
    )
    events = list(parse_lines([STAMP + line], "broker-2"))
    assert [(e.topic, e.partition, e.offset) for e in events] == [("t", 0, 3), ("a-b.c", 11, 0)]


def test_a_truncation_without_effect_is_taken_back_and_only_that_one() -> None:
    lines = [
        "INFO Truncating log t-1 to offset 5. (kafka.log.Log)",
        "INFO Truncating log t-0 to offset 5. (kafka.log.Log)",
        "INFO Truncating t-0 to 5 has no effect as the largest offset in the log is 2. (kafka.log.Log)",
    ]
    assert [shown(e) for e in parse_lines([STAMP + line for line in lines], "b")] == ["truncate t-1 5 ?"]


def test_an_isr_that_was_updated_after_shrinking_has_not_grown() -> None:
    lines = [
        f"{STAMP}[x] INFO [Partition t-0 broker=1] Shrinking ISR from 1,2 to 1. Leader: (highWatermark: 3).",
        f"{STAMP}[x] INFO [Partition t-0 broker=1] ISR updated to 1  and version updated to 3 (kafka)",
        f"{STAMP}[x] INFO [Partition t-0 broker=1] ISR updated to 1,2  and version updated to 4 (kafka)",
    ]
    assert [shown(e) for e in parse_lines(lines, "b")] == ["shrink-isr t-0 ? ?", "expand-isr t-0 ? ?"]


@pytest.mark.parametrize(
    ("line", "wall_ns"),
    [
        ("2026-11-21T05:28:49.630000001Z x", 1795238929630000001),
        ("2026-11-21T05:28:49.63Z x", 1795238929630000000),
        ("2026-11-21T05:28:49Z x", 1795238929000000000),
        ("2026-13-41T05:28:49.1Z x", None),
        ("no stamp", None),
    ],
)
def test_dockers_stamps(line: str, wall_ns: int | None) -> None:
    assert parse_stamp(line) == (None if wall_ns is None else (wall_ns, "x"))


@given(st.text())
def test_no_text_is_too_strange(text: str) -> None:
    assert isinstance(list(parse_lines([STAMP + text, text], "b")), list)


class Container:
    def __init__(self, content: list[bytes] | APIError) -> None:
        self.content = content

    def logs(self, *, stream: bool, follow: bool, timestamps: bool) -> Any:
        assert (stream, follow, timestamps) == (True, False, True)
        if isinstance(self.content, APIError):
            raise self.content
        return iter(self.content)


@pytest.mark.parametrize(
    ("printed", "versions"),
    [
        (b"[x] INFO Kafka version : 0.10.2.2 (org.apache.kafka.common.utils.AppInfoParser)\n", ["0.10.2.2"]),
        (b"[x] INFO Kafka version: 4.3.1 (o.a.k)\n\xff\n[x] INFO Kafka version: 4.3.1 (o.a.k)\n", ["4.3.1"]),
        (b"INFO Kafka version: 2.8.2\nINFO Kafka version: 3.0.0\n", ["2.8.2", "3.0.0"]),
        (b"INFO started (kafka.server.KafkaServer)\n", []),
    ],
)
def test_which_release_a_broker_says_it_is(printed: bytes, versions: list[str], tmp_path: Path) -> None:
    (tmp_path / "broker-1.log").write_bytes(printed)
    assert versions_in(tmp_path / "broker-1.log") == versions


def test_logs_are_kept_and_put_among_what_else_happened(tmp_path: Path) -> None:
    run_dir = RunDir(tmp_path)
    gone = APIError("404", explanation="No such container")
    line = STAMP.encode() + b"[x] INFO Truncating log t-0 to offset 3. (kafka.log.Log)\n"
    collect({"broker-1": Container([line[:9], line[9:], b"\xff\n"]), "broker-2": Container(gone)}, run_dir)
    assert run_dir.log("broker-1").read_bytes() == line + b"\xff\n"
    assert run_dir.log("broker-2").read_text() == "(the engine has no log of broker-2: No such container)\n"
    with Timeline(run_dir.timeline) as timeline:
        append_to(timeline, run_dir, wall_to_monotonic_ns=-1795238929000000000)
    (event,) = read(run_dir.timeline).of(Log)
    assert (event.node, event.event, event.topic, event.partition) == ("broker-1", "truncate", "t", 0)
    assert (event.offset, event.monotonic_ns) == (3, 630000001)
    assert [e.offset for e in parse(run_dir.log("broker-1"), "broker-1")] == [3]


@pytest.mark.parametrize(
    "line",
    [
        "DEBUG Processed offset for epoch request for partition t-0 epoch:0 and returning offset 2 from epoch list of "
        "size 1 (kafka.server.epoch.LeaderEpochFileCache)",
        "DEBUG [LeaderEpochCache t-0] Processed end offset request for epoch 0 and returning epoch 0 with end offset 2 "
        "from epoch cache of size 1 (kafka.server.epoch.LeaderEpochFileCache)",
    ],
    ids=["0.11", "2.0"],
)
def test_where_a_leader_says_that_an_epoch_ends(line: str) -> None:
    other = line.replace("epoch:0", "epoch:1").replace("for epoch 0", "for epoch 1").replace("offset 2", "offset 5")
    found = list(parse_lines([STAMP + line, STAMP + line, STAMP + other, STAMP + line], "broker-1"))
    assert {(one.event, one.topic, one.partition) for one in found} == {("epoch-answer", "t", 0)}
    assert [(one.leader_epoch, one.offset) for one in found] == [(0, 2), (1, 5), (0, 2)]


@pytest.mark.parametrize(
    "line",
    [
        "leader replied with an offset 2 >= the follower's log end offset 2 in t-0. No truncation needed.",
        "Receive leaderEpoch response Map(t-0 -> EpochEndOffset{error=NONE, leaderEpoch=0, endOffset=2})",
        "Sending fetch request builder FetchRequest(... t-0=PartitionData(topicId=x, fetchOffset=2, maxBytes=1, "
        "currentLeaderEpoch=Optional[0], lastFetchedEpoch=Optional[0]))",
    ],
)
def test_a_follower_that_knows_the_end_of_its_epoch(line: str) -> None:
    assert re.search(end_of_epoch("t-0", 2), line)
    assert not re.search(end_of_epoch("t-0", 3), line)
    assert not re.search(end_of_epoch("u-0", 2), line)


@pytest.mark.parametrize(
    "line",
    [
        "Broker 3 ignoring LeaderAndIsr request from controller 1 with correlation id 5 since its controller epoch 1 "
        "is old. Latest known controller epoch is 2",
        "[Broker id=3] Ignoring LeaderAndIsr request from controller 1 with correlation id 5 since its controller "
        "epoch 1 is old. Latest known controller epoch is 2",
        "Broker 3 received update metadata request with correlation id 5 from an old controller 1 with epoch 1. Latest "
        "known controller epoch is 2",
    ],
    ids=["0.10", "2.0", "metadata"],
)
def test_requests_of_an_old_controller_that_were_refused(line: str) -> None:
    found = recognise(line)
    assert found is not None
    assert found[0] == "stale-controller"


FOLLOWER = "Stopped fetchers as part of become-follower request from controller 1 epoch 1 with correlation id 3 for "
LEADER = "Stopped fetchers as part of LeaderAndIsr request correlationId 3 from controller 1 epoch 1 as part of the "


@pytest.mark.parametrize(
    ("line", "known"),
    [
        (f"[Broker id=1] {FOLLOWER}2 partitions", True),
        (f"[Broker id=1] {LEADER}become-leader transition for 1 partitions", True),
        (f"[Broker id=1] {FOLLOWER}partition t-0 with leader 2", False),
    ],
    ids=["follower, 2.4 on", "leader, 2.4 on", "each partition, before"],
)
def test_requests_of_a_controller_that_were_followed(line: str, known: bool) -> None:
    found = recognise(line)
    assert (found is not None and found[0] == "controller-request") == known


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (
            "StateChangeFailedException: aborted leader election for partition [t,0] since the LeaderAndIsr "
            "path was already written by another controller. This probably means that the current controller 4 went "
            "through a soft failure",
            "controller-moved",
        ),
        ("Leader and isr path written by another controller. This probably means the current", "controller-moved"),
        (
            "ControllerMovedException: Controller epoch zkVersion check fails. Expected zkVersion = 1",
            "controller-fenced",
        ),
        ("DEBUG Broker 2 was elected as leader instead of broker 3 (kafka.server.X)", "controller-refused"),
        ("DEBUG [Controller id=3] Broker 2 was elected as controller instead of broker 3", "controller-refused"),
        ("INFO New leader is 2 (kafka.server.ZookeeperLeaderElector$LeaderChangeListener)", "controller-found"),
        ("DEBUG Broker 2 has been elected as leader, so stopping the election process.", "controller-found"),
        ("DEBUG Broker 2 has been elected as the controller, so stopping the election process.", "controller-found"),
    ],
)
def test_brokers_that_came_too_late_to_be_the_controller(line: str, event: str) -> None:
    found = recognise(line)
    assert found is not None
    assert found[0] == event


@pytest.mark.parametrize(
    "said",
    [
        "kafka.common.InconsistentBrokerIdException: Configured brokerId 5 doesn't match stored brokerId 4 in",
        "kafka.common.InconsistentBrokerIdException: Configured broker.id 5 doesn't match stored broker.id 4 in",
        "java.lang.RuntimeException: Stored node id 4 doesn't match previous node id 0 in /data/kafka/meta.properties.",
    ],
)
def test_a_broker_whose_directory_has_another_id(said: str) -> None:
    found = recognise(said)
    assert re.search(REFUSED, said)
    assert found is not None
    assert found[0] == "fatal"


@pytest.mark.parametrize(
    ("own", "wall_ms"),
    [("[2026-11-21T05:28:49.600Z] ", 600), ("[2026-11-21T05:28:49.700Z] ", 630), ("", 630)],
    ids=["read late", "a clock ahead", "none"],
)
def test_a_line_that_the_engine_read_late_was_said_when_its_broker_says(own: str, wall_ms: int) -> None:
    line = f"{STAMP}{own}INFO [Log partition=t-0, dir=/d] Truncating to offset 3 (kafka.log.Log)"
    (event,) = parse_lines([line], "broker-1")
    assert event.wall_ns // 1_000_000 % 1000 == wall_ms


@pytest.mark.parametrize("own", ["2026-11-30T10:00:00.500Z", "2026-11-22T08:00:00.500Z"], ids=["ahead", "behind"])
def test_the_stamp_of_a_wrong_clock_does_not_count(own: str) -> None:
    line = f"2026-11-22T10:00:00.750000000Z [{own}] WARN Unexpected error from /172.20.0.1; closing connection (x)"
    (event,) = parse_lines([line], "broker-1")
    assert (event.event, event.wall_ns // 1_000_000 % 1000) == ("unreadable", 750)
    assert event.line.startswith(f"[{own}] ")


@pytest.mark.parametrize(
    "line",
    [
        "WARN Unexpected error from /172.20.0.1; closing connection (org.apache.kafka.common.network.Selector)",
        "WARN [SocketServer listenerType=BROKER, nodeId=1] Unexpected error from /172.20.0.1 (channelId=x-1); closing "
        "connection (org.apache.kafka.common.network.Selector)",
    ],
)
def test_what_is_no_request_is_told_of(line: str) -> None:
    assert [event for event, _ in filter(None, [recognise(line)])] == ["unreadable"]


@pytest.mark.parametrize(
    "line",
    [
        "INFO Loaded 1 logs in 654ms (unclean log dirs = ArrayBuffer(/data/kafka)) (kafka.log.LogManager)",  # 4.3.1
        "INFO Loaded 0 logs in 9ms. (kafka.log.LogManager)",  # 2.8.2
        "INFO Logs loading complete in 223 ms. (kafka.log.LogManager)",  # 0.10.2.2
    ],
)
def test_how_long_logs_took_to_load_is_told(line: str) -> None:
    assert [event for event, _ in filter(None, [recognise(line)])] == ["logs-loaded"]


@pytest.mark.parametrize("where", ["", " for /brokers/ids"])
def test_a_session_that_a_broker_has_lost_is_told_of(where: str) -> None:
    line = f"org.apache.zookeeper.KeeperException$SessionExpiredException: KeeperErrorCode = Session expired{where}"
    assert [event for event, _ in filter(None, [recognise(line)])] == ["session-lost"]
    assert recognise("WARN except it is a SessionExpiredException. (org.apache.zookeeper.ClientCnxn)") is None


def test_a_broker_that_ends_itself_for_want_of_a_log_directory_is_told_of() -> None:
    line = (
        "ERROR [ReplicaManager broker=1] Shutdown broker because the metadata log dir /data/kafka has failed"  # 4.3.1
    )
    assert [event for event, _ in filter(None, [recognise(line)])] == ["fatal"]
    line = "FATAL Shutdown broker because all log dirs in /data/kafka have failed (kafka.log.LogManager)"  # 1.1.1
    assert [event for event, _ in filter(None, [recognise(line)])] == ["fatal"]
    line = "ERROR [ReplicaManager broker=1] Halting broker because dir /data/kafka is offline"  # 3.9.2, protocol 0.10.2
    assert [event for event, _ in filter(None, [recognise(line)])] == ["fatal"]
    assert recognise("INFO all log dirs in /data/kafka are there (kafka.log.LogManager)") is None


@pytest.mark.parametrize(
    "line",
    [
        "INFO [Log partition=t-0, dir=/data/kafka] Found deletable segments with base offsets [0] due to retention "
        "time 10000ms breach (kafka.log.Log)",  # 2.2.2
        "INFO [Log partition=t-0, dir=/data/kafka] Deleting segments due to retention time 10000ms breach: LogSegment("
        "baseOffset=0, size=350, lastModifiedTime=1, largestRecordTimestamp=Some(1)) (kafka.log.Log)",  # 2.8
        "INFO [UnifiedLog partition=t-0, dir=/data/kafka] Deleting segment LogSegment(baseOffset=0, size=350) due to "
        "log retention time 10000ms breach based on the largest record timestamp in the segment",  # 3.x
    ],
)
def test_what_retention_deletes_is_told_of(line: str) -> None:
    assert [(event, named[0]["topic2"]) for event, named in filter(None, [recognise(line)])] == [("retention", "t")]
    assert recognise("INFO [Log partition=t-0, dir=/data/kafka] Deleting segment due to retention size") is None


def test_a_leader_to_be_says_when_it_has_stopped_fetching() -> None:
    line = (
        "[2026-11-22T17:19:04.227Z] TRACE Broker 1 stopped fetchers as part of become-leader request from controller 4 "
        "epoch 1 with correlation id 12 for partition rf3-min1-1 (state.change.logger)"
    )
    assert re.search(stopped_fetching("rf3-min1-1"), line)
    assert not re.search(stopped_fetching("rf3-min1-1"), line.replace("-1 (", "-12 ("))
    assert not re.search(stopped_fetching("rf3-min1-1"), line.replace("become-leader", "become-follower"))


@pytest.mark.parametrize(
    "line",
    [
        "INFO [KRaftMigrationDriver id=100] Completed migration of metadata from Zookeeper to KRaft. A total of 3 "
        "metadata records were generated.",  # 3.5.1
        "INFO [KRaftMigrationDriver id=100] Completed migration of metadata from ZooKeeper to KRaft. 3 records were "
        "generated in 203 ms across 1 batches.",  # 3.9.2
    ],
)
def test_a_migration_that_is_completed_is_told_of(line: str) -> None:
    assert [event for event, _ in filter(None, [recognise(line)])] == ["migrated"]


def test_a_migration_that_begins_is_none() -> None:
    assert recognise("INFO [KRaftMigrationDriver id=100] Starting ZK migration") is None
