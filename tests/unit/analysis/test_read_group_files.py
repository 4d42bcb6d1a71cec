"""The copies of the coordinators' topic, read from a run directory, with files of real brokers."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from analysis.pieces import Piece
from analysis.places import stored_piece
from analysis.read_group_files import group_files, group_logs
from analysis.run_files import run_state_of
from checks.group_files import GroupFiles
from evidence.events import Ends, Moment, OffsetCommit, Partition
from evidence.rundir import RunDir
from kafkafiles.batches import BatchHeader, scan_batches
from kafkafiles.group_log import TOPIC
from tests.records import run_record
from tests.unit.timelines import at, write_lines

S = 1_000_000_000
GROUP_LOGS = Path(__file__).parents[2] / "data" / "group-logs"
LOG = f"{0:020}.log"
TOPIC_ID = "l66HJrL7RMGfk_ybLyoGvQ"


def run_of(
    root: Path,
    version: str = "2.8.2",
    *,
    isr: Sequence[tuple[int, tuple[int, ...]]] = ((1, (1, 2)),),
    number: int = 0,
    groups: bool = True,
) -> RunDir:
    """A run whose last moment, from 10 s to 11 s, has copies of two brokers. `isr`: from when on, in seconds."""
    run_dir = RunDir(root)
    files: dict[str, dict[str, int]] = {}
    source = GROUP_LOGS / version / f"{TOPIC}-0" / LOG
    for broker in ("broker-1", "broker-2"):
        copy = run_dir.moment("00-final") / broker / f"{TOPIC}-0"
        copy.mkdir(parents=True)
        shutil.copy(source, copy / LOG)
        topic = copy.parent / "none-client-0"
        topic.mkdir()
        (topic / "partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}")
        files[broker] = {f"{TOPIC}-0/{LOG}": source.stat().st_size}
    ends = {broker: {f"{TOPIC}-0": Ends(leo={"2.8.2": 12, "4.3.1": 38}[version])} for broker in files}
    states = [
        at(s * S, Partition(source="zookeeper", topic=TOPIC, partition=number, leader=1, leader_epoch=0, isr=brokers))
        for s, brokers in isr
    ]
    told = OffsetCommit(group="g", topic="none-client", partition=0, offset=3)
    moment = at(11 * S, Moment(name="00-final", group_logs=ends, groups=groups, files=files, begun_ns=10 * S))
    write_lines(run_dir.timeline, [*states, at(2 * S, told), moment])
    return run_dir


def seen(run_dir: RunDir, *processes: dict[str, object], **more: object) -> GroupFiles:
    run = run_record({"processes": list(processes)} | more)
    where = ("none-client", 0)
    return group_files(run_dir, run, run_state_of(run_dir, where), where)


def test_commits_and_owners_of_one_partition(tmp_path: Path) -> None:
    found = seen(run_of(tmp_path))
    assert (found.partitions, [one.offset for one in found.told]) == (1, [3])
    assert [copy.node for copy in found.copies] == ["broker-1", "broker-2"]
    copy = found.copies[0]
    assert (copy.number, copy.moment, copy.begun_ns) == (0, "00-final", 10 * S)
    assert [one.offset for one in copy.committed("g")] == [3, 4, 5]
    assert [(one.group, one.generation, len(one.members)) for one in copy.ownerships] == [
        ("g", 1, 1),
        ("g", 3, 1),
        ("static", 1, 1),
    ]


def test_what_was_to_be_copied(tmp_path: Path) -> None:
    found = seen(run_of(tmp_path / "asked"))
    assert (found.due_ns, set(found.copied)) == (10 * S, {0})
    assert seen(run_of(tmp_path / "before", groups=False)).due_ns is None


def test_a_topic_of_which_a_partition_was_not_seen(tmp_path: Path) -> None:
    assert seen(run_of(tmp_path / "second", number=1)).partitions == 0
    assert seen(run_of(tmp_path / "two"), settings={"offsets.topic.num.partitions": "2"}).partitions == 0
    assert seen(run_of(tmp_path / "one"), settings={"offsets.topic.num.partitions": "1"}).partitions == 1


def test_owners_by_the_topics_id(tmp_path: Path) -> None:
    found = seen(run_of(tmp_path, "4.3.1"))
    by_id = [one for one in found.copies[0].ownerships if one.group == "new"]
    # The first member is to give it back at 26 and has by 27; the second one has it at 28.
    assert [(one.at, one.members[0].member_id[:4], len(one.members)) for one in by_id] == [
        (21, "Un70", 1),
        (25, "Un70", 1),
        (26, "Un70", 1),
        (28, "yh4c", 1),
    ]


def test_who_keeps_its_offsets_in_a_store(tmp_path: Path) -> None:
    process = {"name": "processor-1", "kind": "processor", "file": "", "final": False, "settings": {}}
    run_dir = run_of(tmp_path)
    assert seen(run_dir, process).outside == frozenset()
    assert seen(run_dir, process | {"store": "store/a.sqlite"}).outside == {"processor-1"}


def test_a_broker_that_was_out_of_the_isr_bears_no_witness(tmp_path: Path) -> None:
    for name, isr in (("out", [(1, (1,))]), ("late", [(1, (1,)), (10, (1, 2))]), ("left", [(1, (1, 2)), (10, (1,))])):
        assert [copy.node for copy in seen(run_of(tmp_path / name, isr=isr)).copies] == ["broker-1"], name


def test_a_log_that_was_compacted_bears_no_witness(tmp_path: Path) -> None:
    run_dir = run_of(tmp_path)
    log = run_dir.moment("00-final") / "broker-2" / f"{TOPIC}-0" / LOG
    data = log.read_bytes()
    headers = [header for header in scan_batches(data) if isinstance(header, BatchHeader)]
    whole = len(data)
    log.write_bytes(data[: headers[1].position] + data[headers[1].end :])
    timeline = run_dir.timeline.read_text()
    before, _, after = timeline.rpartition(f":{whole}}}")
    run_dir.timeline.write_text(f"{before}:{log.stat().st_size}}}{after}")
    assert [copy.node for copy in seen(run_dir).copies] == ["broker-1"]
    assert group_logs(run_dir).problems == ()


@pytest.mark.parametrize("at_byte", [30, 500, 530])
def test_a_log_that_is_damaged_bears_no_witness_and_that_is_told(tmp_path: Path, at_byte: int) -> None:
    run_dir = run_of(tmp_path)
    log = run_dir.moment("00-final") / "broker-2" / f"{TOPIC}-0" / LOG
    data = bytearray(log.read_bytes())
    data[at_byte] ^= 1
    log.write_bytes(data)
    assert [copy.node for copy in seen(run_dir).copies] == ["broker-1"]
    assert {one.process for one in group_logs(run_dir).problems} == {"broker-2"}


def test_a_copy_that_is_gone_is_told(tmp_path: Path) -> None:
    run_dir = run_of(tmp_path)
    assert group_logs(run_dir).problems == ()
    gone = run_of(tmp_path / "gone")
    shutil.rmtree(gone.moment("00-final") / "broker-2" / f"{TOPIC}-0")
    (problem,) = group_logs(gone).problems
    assert problem.what == "missing copies"


def test_a_run_without_copies_says_nothing(tmp_path: Path) -> None:
    write_lines(tmp_path / "timeline.jsonl", [])
    assert seen(RunDir(tmp_path)) == GroupFiles()
    assert group_logs(RunDir(tmp_path / "none")).logs == ()


def test_every_piece_of_a_run_in_a_store_has_the_copies() -> None:
    names = ["run.json", f"replicas/00-final/broker-1/{TOPIC}-0/{LOG}", f"replicas/00-final/broker-1/t-1/{LOG}"]
    assert stored_piece(Piece("s3://x", "t", 0), names).files == tuple(names[:2])
    assert stored_piece(Piece("s3://x", "", -1), names).files == tuple(names[:2])
