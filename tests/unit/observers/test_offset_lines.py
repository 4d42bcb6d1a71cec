"""What brokers at TRACE printed of offsets, ISRs and elections (`data/trace`), and what is made of it.

Each line of a sample is `node | events | the line`, with "-" for no event. They were printed by real brokers around a
frozen follower, a kill of the leader, an election of the preferred leader, a stop, a frozen leader, a controller that
stood still and an unclean election.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.events import Log, ReplicaOffset
from evidence.rundir import RunDir
from evidence.timeline import Timeline, read
from harness.observers.broker_logs import LogEvent, append_to, parse_lines, parse_offsets, parse_stamp
from harness.observers.offset_lines import LoggedOffset, offsets_in

SAMPLES = sorted((Path(__file__).parent / "data" / "trace").glob("*.txt"))
RELEASES = ["0.8.2.2", "0.9.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.2.2", "2.8.2", "3.9.2-zk", "3.9.2-kraft"]
RELEASES += ["4.3.1"]
STAMP = "2026-11-21T05:28:49.630000001Z [2026-11-21T05:28:49.630Z] "


def word(value: object) -> str:
    return "?" if value is None else str(value)


def shown(event: LogEvent | ReplicaOffset) -> str:
    where = "?" if event.topic is None else f"{event.topic}-{event.partition}"
    if isinstance(event, ReplicaOffset):
        numbers = f"offset={event.offset} replica={word(event.replica)} hw={word(event.high_watermark)}"
        return f"{event.what} {where} {numbers}"
    kind = event.event + (f"/{event.detail}" if event.detail else "")
    isr = "?" if event.isr is None else ",".join(map(str, event.isr))
    return (
        f"{kind} {where} offset={word(event.offset)} epoch={word(event.leader_epoch)} "
        f"leader={word(event.leader)} isr={isr}"
    )


def sample(path: Path) -> dict[str, list[tuple[str, str]]]:
    nodes: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for line in path.read_text().splitlines():
        node, expected, raw = line.split(" | ", 2)
        nodes[node].append((expected, raw))
    return nodes


def found_in(path: Path) -> list[tuple[str, str, str]]:
    """Node, line and kind of each event of a sample."""
    found = []
    for node, lines in sample(path).items():
        raw = [line for _, line in lines]
        events: list[LogEvent | ReplicaOffset] = [*parse_lines(raw, node), *parse_offsets(raw, node)]
        found += [(node, event.line, shown(event)) for event in events]
    return found


def test_there_is_a_sample_of_every_line_of_releases() -> None:
    assert {path.stem for path in SAMPLES} == set(RELEASES)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_what_brokers_printed(path: Path) -> None:
    told: dict[tuple[str, str], list[str]] = defaultdict(list)
    for node, line, event in found_in(path):
        told[node, line].append(event)
    for node, lines in sample(path).items():
        for expected, raw in lines:
            stamped = parse_stamp(raw)
            assert stamped is not None
            assert ("; ".join(told[node, stamped[1]]) or "-") == expected, raw


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_line_of_releases_tells_of_every_step_that_the_claims_need(path: Path) -> None:
    kinds = {(node, event.split()[0]) for node, _, event in found_in(path) if "t-0" in event}
    for node in ("broker-1", "broker-2"):
        assert {(node, "log-end"), (node, "high-watermark"), (node, "response"), (node, "remote-log-end")} <= kinds


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_log_of_another_broker_tells_of_no_answer_and_no_followers_log_end(path: Path) -> None:
    """If logs were mixed up, the claims that need these lines would not be observed. Logs name no broker themselves."""
    nodes = sample(path)
    for node, other in (("broker-1", "broker-2"), ("broker-2", "broker-1")):
        swapped = parse_offsets([line for _, line in nodes[other]], node)
        assert {one.what for one in swapped if "ReplicaFetcher" in one.line or "Partition" in one.line} == set()


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_isrs_are_told_with_their_members(path: Path) -> None:
    isrs = {event.rpartition("isr=")[2] for _, _, event in found_in(path) if event.startswith("expand-isr t-0")}
    assert isrs
    assert isrs <= {"1,2", "2,1"}


@pytest.mark.parametrize(
    ("releases", "strategies"),
    [
        (["0.8.2.2", "0.9.0.1", "0.10.2.2", "0.11.0.3"], {"offline", "preferred", "controlled-shutdown"}),
        (["1.1.1"], {"preferred"}),
        (["2.8.2", "3.9.2-zk"], {"offline", "preferred", "controlled-shutdown"}),
        (["3.9.2-kraft", "4.3.1"], {"offline", "controlled-shutdown"}),
    ],
    ids=["old", "1.1", "middle", "kraft"],
)
def test_elections_are_told_with_their_strategies(releases: list[str], strategies: set[str]) -> None:
    for path in SAMPLES:
        if path.stem in releases:
            elections = [event.split()[0] for _, _, event in found_in(path) if event.startswith("election/")]
            assert {one.partition("/")[2] for one in elections} == strategies, path.stem


def offsets(text: str, node: str = "broker-1") -> list[LoggedOffset]:
    return list(offsets_in(text, node))


@pytest.mark.parametrize(
    "text",
    [
        "DEBUG [Partition t-0 broker=2] High watermark updated from (offset=3 segment=[0:9]) to (offset=4 [0:12])",
        "DEBUG Partition [t,0] on broker 2: High watermark for partition [t,0] updated to 4 [0 : 136]",
        "TRACE [ReplicaFetcherThread-0-1], Follower 2 set replica high watermark for partition [t,0] to 0",
        "TRACE [ReplicaFetcher replicaId=2, leaderId=1, fetcherId=0] Follower has replica log end offset 1 after "
        "appending 92 bytes of messages for partition t-0 (kafka.server.ReplicaFetcherThread)",
        "DEBUG [Replica Manager on Broker 2]: Recorded follower 1 position 1 for partition [t,0]. (kafka.server)",
        "TRACE [ReplicaFetcher replicaId=2, leaderId=1, fetcherId=0] Sending fetch request (type=FetchRequest, "
        "replicaId=2, maxWait=1500, minBytes=1, fetchData={t-0=PartitionData(fetchOffset=2, maxBytes=1)}",
    ],
)
def test_lines_of_another_broker_are_none_of_this_ones(text: str) -> None:
    assert len(offsets(text, "broker-2")) == 1
    assert offsets(text, "broker-1") == []


@pytest.mark.parametrize(
    "text",
    [
        "TRACE Setting log end offset for replica 2 for partition t-0 to [-1 [0 : 0]] (kafka.cluster.Replica)",
        "TRACE [Partition t-0 broker=1] Skipping update high watermark since new hw (offset=-1 segment=[0:0]) is not "
        "larger than old value. All current LEOs are Set(replica 2: (offset=-1 segment=[0:0]))",
        "TRACE [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Follower received high watermark 0 from the "
        "leader but did not update replica high watermark for partition t-0 (kafka.server.ReplicaFetcherThread)",
        "TRACE Appended 92 to /data/kafka/t-0/00000000000000000000.log at end offset 0 (kafka.log.LogSegment)",
        "TRACE [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Sending fetch request (type=FetchRequest, "
        "replicaId=1, maxWait=500, minBytes=1, fetchData={}, isolationLevel=READ_UNCOMMITTED, toForget=",
        "INFO [RaftManager id=1] High watermark set to Optional[LogOffsetMetadata(offset=1)] for the first time",
        "TRACE Reading 1048576 bytes from offset 1 in log t-0 of length 50 bytes (kafka.log.Log)",
        "",
    ],
)
def test_lines_that_tell_of_no_offset(text: str) -> None:
    assert offsets(text) == []


def test_a_fetch_of_several_partitions() -> None:
    text = (
        "TRACE [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Sending fetch request (type=FetchRequest, "
        "replicaId=1, fetchData={a-b.c-11=PartitionData(topicId=x_Y-1, fetchOffset=7, logStartOffset=0), "
        "t-0=PartitionData(topicId=x_Y-2, fetchOffset=2, logStartOffset=0)}, isolationLevel=read_uncommitted"
    )
    assert [(one.topic, one.partition, one.offset) for one in offsets(text)] == [("a-b.c", 11, 7), ("t", 0, 2)]


WORDS = [
    "High watermark updated ",
    "[Partition t-0 broker=1] ",
    "(offset=4 segment=[0:1])",
    " to ",
    "Follower 1 ",
    "[ReplicaFetcherThread-0-2], ",
    "has replica log end offset 3 ",
    "after appending ",
    " for partition ",
    "t-0",
    "[t,0]",
    "Received 5 messages and leader hw 9",
    "Setting log end offset for replica ",
    "ISR updated to 1,",
    "Shrinking ISR from 1 to ",
    "Changed partition t-0 from OnlinePartition to OnlinePartition with state ",
    "] partition change for t-0 with topic ID x: leader: 1 -> ",
]


@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=12).map("".join))
def test_no_line_is_too_strange(text: str) -> None:
    """Whatever a line holds, reading it does not fail, and no offset is read that is not in it."""
    list(parse_lines([STAMP + text, text], "broker-1"))
    for event in parse_offsets([STAMP + text, text], "broker-1"):
        assert str(event.offset) in text
        assert f"{event.topic}-{event.partition}" in text.replace("[", "").replace(",", "-")


@given(st.sampled_from(SAMPLES), st.data())
def test_a_cut_line_says_nothing_else(path: Path, data: st.DataObject) -> None:
    """A line that was torn tells the same as the whole one, or nothing: never of another partition or broker.

    Numbers at the very end of a torn line may have lost digits.
    """
    node, lines = data.draw(st.sampled_from(sorted(sample(path).items())))
    raw = data.draw(st.sampled_from([line for _, line in lines]))
    torn = raw[: data.draw(st.integers(0, len(raw)))]
    whole = {(one.what, one.topic, one.partition) for one in offsets_in(raw, node)}
    assert {(one.what, one.topic, one.partition) for one in offsets_in(torn, node)} <= whole


def test_an_epoch_that_is_repeated_is_not_stale() -> None:
    line = (
        f"{STAMP}WARN Broker 1 ignoring LeaderAndIsr request from controller 4 with correlation id 37 epoch 1 for "
        "partition [t,0] since its associated leader epoch 5 is old. Current leader epoch is "
    )
    assert list(parse_lines([line + "5 (state.change.logger)"], "broker-1")) == []
    (event,) = parse_lines([line + "6 (state.change.logger)"], "broker-1")
    assert (event.event, event.topic, event.leader_epoch) == ("stale-leader-epoch", "t", 5)


def test_a_cause_is_of_the_next_election_only() -> None:
    """KRaft: a broker is fenced, which takes it out of the ISR and elects nobody; the preferred leader is elected."""
    lines = [
        "DEBUG [QuorumController id=100] handleBrokerFenced: changing partition(s): t-0",
        "DEBUG [QuorumController id=100] partition change for t-0 with topic ID x-1: isr: [1, 2] -> [1], "
        "partitionEpoch: 0 -> 1",
        "DEBUG [QuorumController id=100] partition change for t-0 with topic ID x-1: leader: 2 -> 1, leaderEpoch: "
        "1 -> 2, partitionEpoch: 4 -> 5",
    ]
    (event,) = parse_lines([STAMP + line for line in lines], "controller-100")
    assert (event.event, event.leader, event.leader_epoch, event.detail) == ("election", 1, 2, None)


def test_offsets_are_put_into_the_timeline(tmp_path: Path) -> None:
    run_dir = RunDir(tmp_path)
    run_dir.logs.mkdir(parents=True)
    run_dir.log("broker-2").write_text(
        f"{STAMP}TRACE [ReplicaFetcher replicaId=2, leaderId=1, fetcherId=0] Follower has replica log end offset 1 for "
        "partition t-0. Received 0 bytes of messages and leader hw 1 (kafka.server.ReplicaFetcherThread)\n"
        f"{STAMP}INFO [Partition t-0 broker=2] Shrinking ISR from 1,2 to 2 (kafka.cluster.Partition)\n"
    )
    with Timeline(run_dir.timeline) as timeline:
        append_to(timeline, run_dir, wall_to_monotonic_ns=-1795238929000000000)
    reading = read(run_dir.timeline)
    (answer,), (shrunk,) = reading.of(ReplicaOffset), reading.of(Log)
    assert (answer.node, answer.what, answer.offset, answer.high_watermark) == ("broker-2", "response", 1, 1)
    assert answer.monotonic_ns == 630000000
    assert (shrunk.event, shrunk.isr) == ("shrink-isr", (2,))
