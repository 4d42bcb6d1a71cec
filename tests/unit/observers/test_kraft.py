"""The metadata log as a cluster's state: real logs of 4.3.1, growing, truncated, in several copies that differ.

`metadata-combined-4.3.1.log`: three combined nodes; the active controller (1) was killed, 3 became it; the topic t has
one partition on [1, 2, 3]. `metadata-isolated-4.3.1.log`: controller 100 apart, broker 1 killed and started again. Both
end with the clean stop of all. Batches can be given other offsets and epochs without touching their checksum, so other
logs are made of these.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.errors import WaitTimeout
from evidence.events import Blind, Broker, Controller, E, Missed, Note, Partition
from evidence.timeline import Timeline, read
from harness.observers import kraft
from harness.observers.kraft import Decision, KRaftObserver, MetadataLogTail, committed, shared_end
from kafkafiles.batches import BatchHeader, scan_batches

DATA = Path(__file__).parent / "data"
COMBINED = (DATA / "metadata-combined-4.3.1.log").read_bytes()
ISOLATED = (DATA / "metadata-isolated-4.3.1.log").read_bytes()


def cut(log: bytes) -> list[bytes]:
    """The batches of a log."""
    headers = [header for header in scan_batches(log) if isinstance(header, BatchHeader)]
    return [log[header.position : header.end] for header in headers]


def moved(batch: bytes, *, offset: int, epoch: int) -> bytes:
    """The batch at another place: neither offset nor leader epoch is under the checksum."""
    return struct.pack(">q", offset) + batch[8:12] + struct.pack(">i", epoch) + batch[16:]


NO_OP = next(batch for batch in cut(ISOLATED)[10:] if len(batch) == min(len(b) for b in cut(ISOLATED)))


class Nodes:
    """The log directories of some nodes, with a metadata log each."""

    def __init__(self, root: Path, *names: str) -> None:
        self.log_dirs = {name: root / name / "kafka" for name in names}

    def segment(self, name: str, base: int = 0) -> Path:
        path = self.log_dirs[name] / kraft.DIRECTORY / f"{base:020d}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def append(self, name: str, data: bytes, base: int = 0) -> None:
        with self.segment(name, base).open("ab") as file:
            file.write(data)


@pytest.fixture
def timeline(tmp_path: Path) -> Iterator[Timeline]:
    with Timeline(tmp_path / "timeline.jsonl") as timeline:
        yield timeline


def told(tmp_path: Path, kind: type[E]) -> list[E]:
    return read(tmp_path / "timeline.jsonl").of(kind)


def test_a_whole_log_gives_the_cluster_it_describes(tmp_path: Path, timeline: Timeline) -> None:
    nodes = Nodes(tmp_path, "controller-100", "broker-1")
    nodes.append("controller-100", ISOLATED)
    observer = KRaftObserver(nodes.log_dirs, timeline)
    observer.poll()
    state = observer.state
    assert (state.controller, state.controller_epoch, state.brokers) == (100, 1, frozenset())
    assert [(s.leader, s.leader_epoch, s.isr, s.elr) for s in observer.history_of("t", 0)] == [
        (1, 0, (1, 2, 3), ()),
        (2, 1, (2, 3), ()),
        (2, 1, (1, 2, 3), ()),
        (2, 1, (1, 2), ()),
        (1, 2, (1,), ()),
        (-1, 3, (), (1,)),
    ]
    assert state.partitions["t", 0].replicas == (1, 2, 3)
    assert told(tmp_path, Controller)[0].node == "controller-100"
    broker_1 = [event for event in told(tmp_path, Broker) if event.node == "broker-1"]
    assert [event.alive for event in broker_1] == [False, True, False] * 2
    assert [event.state for event in broker_1] == [
        "registered",
        "unfenced",
        "fenced",
        "registered",
        "unfenced",
        "fenced",
    ]
    assert all((event.source_ns or 0) > 1.7e18 for event in told(tmp_path, Partition))


def test_a_partition_and_its_brokers_fencing_are_one_step(tmp_path: Path, timeline: Timeline) -> None:
    """Leader 2 and the fencing of broker 1 are one batch: no snapshot has the one without the other."""
    nodes = Nodes(tmp_path, "controller-100")
    observer = KRaftObserver(nodes.log_dirs, timeline)
    for batch in cut(ISOLATED):
        nodes.append("controller-100", batch)
        observer.poll()
        state = observer.state
        if ("t", 0) in state.partitions and state.partitions["t", 0].leader_epoch == 1 and 1 not in state.brokers:
            break
        assert ("t", 0) not in state.partitions or state.partitions["t", 0].leader == 1
        assert ("t", 0) not in state.partitions or 1 in state.brokers
    else:
        raise AssertionError("broker 1 was never fenced")


@given(cuts=st.lists(st.integers(0, len(ISOLATED)), max_size=6))
def test_however_the_log_grows_the_end_is_the_same(tmp_path_factory: pytest.TempPathFactory, cuts: list[int]) -> None:
    nodes = Nodes(tmp_path_factory.mktemp("grows"), "controller-100")
    tail = MetadataLogTail(nodes.log_dirs["controller-100"] / kraft.DIRECTORY)
    tail.poll()
    begin = 0
    for end in [*sorted(cuts), len(ISOLATED)]:
        nodes.append("controller-100", ISOLATED[begin:end])
        tail.poll()
        begin = end
    whole = [event.offset for decision in tail.decisions for event in decision.events]
    assert whole == list(range(whole[-1] + 1))
    assert tail.end == whole[-1] + 1


def test_the_log_goes_on_in_the_next_segment(tmp_path: Path, timeline: Timeline) -> None:
    nodes, batches = Nodes(tmp_path, "controller-100"), cut(ISOLATED)
    observer = KRaftObserver(nodes.log_dirs, timeline)
    nodes.append("controller-100", b"".join(batches[:20]))
    observer.poll()
    base = struct.unpack_from(">q", batches[20])[0]
    nodes.append("controller-100", b"".join(batches[20:30]), base)
    observer.poll()
    nodes.append("controller-100", b"".join(batches[30:]), base)
    observer.poll()
    assert observer.state.partitions["t", 0].leader_epoch == 3
    assert observer.state.brokers == frozenset()


def test_preallocated_zeros_are_no_records(tmp_path: Path) -> None:
    nodes = Nodes(tmp_path, "controller-100")
    nodes.append("controller-100", b"".join(cut(ISOLATED)[:5]) + bytes(4096))
    tail = MetadataLogTail(nodes.log_dirs["controller-100"] / kraft.DIRECTORY)
    tail.poll()
    assert len(tail.decisions) == 5


def test_a_truncated_log_is_read_again(tmp_path: Path) -> None:
    """Also if it has grown past where it was before anyone looked."""
    nodes = Nodes(tmp_path, "controller-100")
    tail = MetadataLogTail(nodes.log_dirs["controller-100"] / kraft.DIRECTORY)
    nodes.append("controller-100", moved(NO_OP, offset=0, epoch=1) + moved(NO_OP, offset=1, epoch=1))
    tail.poll()
    after = [moved(NO_OP, offset=0, epoch=1), *(moved(NO_OP, offset=n, epoch=2) for n in (1, 2, 3))]
    nodes.segment("controller-100").write_bytes(b"".join(after))
    tail.poll()
    assert [(d.first, d.epoch) for d in tail.decisions] == [(0, 1), (1, 2), (2, 2), (3, 2)]
    nodes.segment("controller-100").write_bytes(after[0])
    tail.poll()
    assert [(d.first, d.epoch) for d in tail.decisions] == [(0, 1)]


def test_a_log_whose_disk_went_away_and_came_back_shorter_is_read_again(tmp_path: Path) -> None:
    nodes = Nodes(tmp_path, "controller-100")
    directory = nodes.log_dirs["controller-100"] / kraft.DIRECTORY
    tail = MetadataLogTail(directory)
    nodes.append("controller-100", moved(NO_OP, offset=0, epoch=1) + moved(NO_OP, offset=1, epoch=1))
    tail.poll()
    directory.rename(tmp_path / "unmounted")
    tail.poll()
    assert tail.decisions == []
    (tmp_path / "unmounted").rename(directory)
    nodes.segment("controller-100").write_bytes(moved(NO_OP, offset=0, epoch=1) + moved(NO_OP, offset=1, epoch=2))
    tail.poll()
    assert [(d.first, d.epoch) for d in tail.decisions] == [(0, 1), (1, 2)]


class TestCommitted:
    @pytest.fixture
    def nodes(self, tmp_path: Path) -> Nodes:
        return Nodes(tmp_path, "broker-1", "broker-2", "broker-3")

    def test_one_copy_of_three_is_not_enough(self, nodes: Nodes, tmp_path: Path, timeline: Timeline) -> None:
        observer = KRaftObserver(nodes.log_dirs, timeline)
        nodes.append("broker-1", COMBINED)
        observer.poll()
        assert observer.state.controller is None
        nodes.append("broker-3", COMBINED)
        observer.poll()
        state = observer.state
        assert (state.controller, state.controller_epoch, state.brokers) == (3, 2, frozenset())
        assert [event.node for event in told(tmp_path, Controller)] == ["broker-1", "broker-3"]

    def test_what_a_deposed_controller_wrote_alone_never_shows(
        self, nodes: Nodes, tmp_path: Path, timeline: Timeline
    ) -> None:
        batches = cut(COMBINED)
        headers = [header for header in scan_batches(COMBINED) if isinstance(header, BatchHeader)]
        first_of_2 = next(n for n, header in enumerate(headers) if header.leader_epoch == 2)
        fencing = next(n for n, header in enumerate(headers) if n > first_of_2 and (header.count or 0) > 1)
        common, offset = b"".join(batches[:first_of_2]), headers[first_of_2].base_offset or 0
        observer = KRaftObserver(nodes.log_dirs, timeline)
        for name in nodes.log_dirs:
            nodes.append(name, common)
        # The old controller moves the leader away, and nobody hears of it.
        nodes.append("broker-1", moved(batches[fencing], offset=offset, epoch=1))
        observer.poll()
        assert observer.state.partitions["t", 0].leader == 1
        # The others elect a new one, which goes on from the common part.
        for name in ("broker-2", "broker-3"):
            nodes.append(name, batches[first_of_2])
        observer.poll()
        assert (observer.state.controller, observer.state.partitions["t", 0].leader) == (3, 1)
        # The old one comes back, truncates and follows.
        nodes.segment("broker-1").write_bytes(common + batches[first_of_2])
        for name in nodes.log_dirs:
            nodes.append(name, b"".join(batches[first_of_2 + 1 :]))
        observer.poll()
        assert [state.leader for state in observer.history_of("t", 0)] == [1, 2, 2, 2, 3, -1]
        assert [told(tmp_path, kind) for kind in (Note, Missed, Blind)] == [[], [], []]

    def test_earlier_epochs_count_with_the_first_record_of_the_last(self, nodes: Nodes, tmp_path: Path) -> None:
        """Raft's rule: a record of an earlier epoch on a majority may still be taken back."""
        tails = {name: MetadataLogTail(path / kraft.DIRECTORY) for name, path in nodes.log_dirs.items()}
        for name in ("broker-1", "broker-2"):
            nodes.append(name, moved(NO_OP, offset=0, epoch=1))
        nodes.append("broker-1", moved(NO_OP, offset=1, epoch=3))
        for tail in tails.values():
            tail.poll()
        assert committed(tails.values()) is None
        nodes.append("broker-2", moved(NO_OP, offset=1, epoch=3))
        for tail in tails.values():
            tail.poll()
        found = committed(tails.values())
        assert found is not None
        assert found[1] == 2

    def test_a_dead_minority_does_not_hold_it_back(self, nodes: Nodes, timeline: Timeline) -> None:
        observer = KRaftObserver(nodes.log_dirs, timeline)
        half = len(cut(COMBINED)) // 2
        nodes.append("broker-1", b"".join(cut(COMBINED)[:half]))
        for name in ("broker-2", "broker-3"):
            nodes.append(name, COMBINED)
        observer.poll()
        assert observer.state.controller == 3

    def test_a_log_that_was_rewritten_below_what_was_shown_is_told(
        self, nodes: Nodes, tmp_path: Path, timeline: Timeline
    ) -> None:
        """Never in a healthy quorum: a majority lost its disks."""
        observer = KRaftObserver(nodes.log_dirs, timeline)
        for name in nodes.log_dirs:
            nodes.append(name, COMBINED)
        observer.poll()
        for name in nodes.log_dirs:
            nodes.segment(name).write_bytes(
                b"".join(moved(batch, offset=n, epoch=7) for n, batch in enumerate([NO_OP] * 100))
            )
        observer.poll()
        assert "rewritten" in told(tmp_path, Note)[0].text


def log_of(*epochs: int, start: int = 0) -> MetadataLogTail:
    tail = MetadataLogTail(Path("nowhere"), start=start)
    for offset, epoch in enumerate(epochs, start):
        tail.decisions.append(Decision(first=offset, last=offset, epoch=epoch, events=()))
    return tail


@pytest.mark.parametrize(
    ("one", "other", "end"),
    [
        (log_of(), log_of(1, 1), 0),
        (log_of(1, 1), log_of(1, 1), 2),
        (log_of(1, 1), log_of(1, 1, 1), 2),
        (log_of(1, 1, 1), log_of(1, 1, 2), 2),
        (log_of(1, 1, 1), log_of(2, 2, 2), 0),
        (log_of(1, 2, 2, 2), log_of(1, 3), 1),
        (log_of(1, 1, 2, 4), log_of(1, 1, 3, 3, 3), 2),
        (log_of(5, 5, start=10), log_of(*[1] * 11, 5), 12),
        (log_of(5, 5, start=10), log_of(*[1] * 11, 4), 10),
        (log_of(5, 5, start=10), log_of(1, 1, 1), 0),
    ],
)
def test_logs_agree_up_to_where_their_epochs_do(one: MetadataLogTail, other: MetadataLogTail, end: int) -> None:
    if one.start == 10 and other.end == 12:
        other.decisions[10] = Decision(first=10, last=10, epoch=other.decisions[11].epoch, events=())
    assert shared_end(one, other) == end
    assert shared_end(other, one) == end


def test_a_log_that_begins_behind_a_snapshot(tmp_path: Path, timeline: Timeline) -> None:
    """Its beginning is in the snapshot, the quorum's leader in quorum-state."""
    nodes, batches = Nodes(tmp_path, "controller-100"), cut(ISOLATED)
    headers = [header for header in scan_batches(ISOLATED) if isinstance(header, BatchHeader)]
    at = next(n for n, header in enumerate(headers) if (header.base_offset or 0) >= 45)
    base = headers[at].base_offset or 0
    nodes.append("controller-100", b"".join(batches[at : at + 12]), base)
    directory = nodes.segment("controller-100").parent
    # A snapshot has the same records under offsets of its own.
    (directory / f"{base:020d}-0000000001.checkpoint").write_bytes(b"".join(batches[:at]))
    (directory / "quorum-state").write_text(
        '{"leaderId":100,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":100}],'
        '"data_version":0,"clusterId":""}'
    )
    observer = KRaftObserver(nodes.log_dirs, timeline)
    observer.poll()
    assert observer.state.controller == 100
    assert observer.state.brokers == {1, 2, 3}
    assert observer.state.partitions["t", 0].leader_epoch == 1
    assert told(tmp_path, Missed)[0].count == base


def test_damage_is_a_blind_interval_until_it_is_gone(tmp_path: Path, timeline: Timeline) -> None:
    nodes, batches = Nodes(tmp_path, "controller-100"), cut(ISOLATED)
    nodes.append("controller-100", batches[0] + b"\xff" * 100)
    observer = KRaftObserver(nodes.log_dirs, timeline)
    with pytest.raises(kraft.Damaged, match=r"000\.log: at byte"):
        observer.poll()
    nodes.segment("controller-100").write_bytes(ISOLATED)
    observer.poll()
    assert observer.state.controller == 100


def test_starting_without_a_cluster_says_whose_log_was_waited_for(
    tmp_path: Path, timeline: Timeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kraft, "START_LIMIT_S", 0.05)
    observer = KRaftObserver(Nodes(tmp_path, "controller-100", "broker-1").log_dirs, timeline)
    with pytest.raises(WaitTimeout, match=r"leader of the quorum in the metadata log of controller-100;"):
        observer.start()
    observer.close()


def test_a_running_observer_follows_and_closes(tmp_path: Path, timeline: Timeline) -> None:
    nodes = Nodes(tmp_path, "controller-100")
    nodes.append("controller-100", ISOLATED[:3000])
    observer = KRaftObserver(nodes.log_dirs, timeline)
    observer.start()
    nodes.append("controller-100", ISOLATED[3000:])
    observer.wait(
        lambda state: ("t", 0) in state.partitions and state.partitions["t", 0].leader_epoch == 3,
        what="the end of the log",
        timeout_s=10,
    )
    observer.close()
    observer.close()
