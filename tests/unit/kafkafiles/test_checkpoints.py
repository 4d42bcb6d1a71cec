from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafiles import checkpoints as c
from kafkafiles.errors import ParseError


def test_offset_checkpoint():
    found = c.parse_offset_checkpoint(b"0\n2\nt 0 17\n__consumer_offsets 49 0\n")
    assert found.offsets == {("t", 0): 17, ("__consumer_offsets", 49): 0}


def test_an_offset_checkpoint_without_rows():
    assert c.parse_offset_checkpoint(b"0\n0\n").offsets == {}
    assert c.parse_offset_checkpoint(b"").offsets == {}  # as a young broker of 2.8 has it
    assert c.parse_leader_epoch_checkpoint(b"").entries == ()


@given(
    offsets=st.dictionaries(
        st.tuples(st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True), st.integers(0, 2**31 - 1)),
        st.integers(0, 2**63 - 1),
    )
)
def test_offset_checkpoint_round_trip(offsets):
    lines = [f"{topic} {partition} {offset}\n" for (topic, partition), offset in offsets.items()]
    assert c.parse_offset_checkpoint(f"0\n{len(lines)}\n{''.join(lines)}".encode()).offsets == offsets


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\n", "hw: 0 lines; expected a version, a count"),
        (b"0\n", "hw: 1 lines"),
        (b"7\n0\n", "hw: line 1: version 7"),
        (b"0\nx\n", "hw: line 2: count is 'x', not a number"),
        (b"0\n2\nt 0 1\n", "hw: line 2 announces 2 rows, 1 follow"),
        (b"0\n1\nt 0\n", "hw: line 3: 't 0'; expected '<topic> <partition> <offset>'"),
        (b"0\n1\nt 0 one\n", "hw: line 3: offset is 'one', not a number"),
        (b"0\n2\nt 0 1\nt 0 2\n", "hw: line 4: t-0 for the second time"),
        (b"\xff\xfe", "hw: not text (byte 0 is 0xff)"),
        (bytes(20), "hw: 1 lines"),
    ],
)
def test_a_wrong_offset_checkpoint_says_where(data, message):
    with pytest.raises(ParseError) as raised:
        c.parse_offset_checkpoint(data, "hw")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert isinstance(raised.value, ValueError)


def test_leader_epochs():
    found = c.parse_leader_epoch_checkpoint(b"0\n3\n0 0\n2 10\n5 10\n")
    assert [(each.epoch, each.start_offset) for each in found.entries] == [(0, 0), (2, 10), (5, 10)]


def test_meta_properties_of_zookeeper_mode_and_of_kraft():
    old = c.parse_meta_properties(b"#Thu Nov 19 10:00:00 UTC 2026\nversion=0\nbroker.id=2\n")
    assert (old.version, old.node_id, old.cluster_id, old.directory_id) == (0, 2, None, None)
    new = c.parse_meta_properties(b"cluster.id=ab\nversion=1\nnode.id=3\ndirectory.id=cd==\n")
    assert (new.version, new.node_id, new.cluster_id, new.directory_id) == (1, 3, "ab", "cd==")
    with pytest.raises(ParseError, match="expected 'name=value'"):
        c.parse_meta_properties(b"broker.id\n")


def test_quorum_state_of_both_versions():
    old = c.parse_quorum_state(
        b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}'
    )
    assert (old.leader_id, old.leader_epoch, old.voted_id, old.voters) == (1, 2, None, (1, 2))
    new = c.parse_quorum_state(
        b'{"leaderId":-1,"leaderEpoch":9,"votedId":3,"votedDirectoryId":"AAAA","data_version":1}'
    )
    assert (new.leader_id, new.leader_epoch, new.voted_id, new.voted_directory_id, new.voters) == (
        None,
        9,
        3,
        "AAAA",
        (),
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"data_version":5}',
        b'{"data_version":0,"leaderId":true,"votedId":1,"leaderEpoch":1}',
        b'{"data_version":0,"leaderId":1,"votedId":1,"leaderEpoch":1,"currentVoters":[1]}',
        b"[" * 100_000,
    ],
)
def test_a_wrong_quorum_state(data):
    with pytest.raises(ParseError):
        c.parse_quorum_state(data)


def test_clean_shutdown_empty_and_with_the_brokers_epoch():
    assert c.parse_clean_shutdown(b"").broker_epoch is None
    assert c.parse_clean_shutdown(b'{"version":0,"brokerEpoch":12}').broker_epoch == 12
    with pytest.raises(ParseError, match="brokerEpoch is None"):
        c.parse_clean_shutdown(b"{}")


def test_files(tmp_path: Path):
    path = tmp_path / c.HIGH_WATERMARKS
    path.write_bytes(b"0\n1\nt 0 1\n")
    assert c.read_offset_checkpoint(path).offsets == {("t", 0): 1}
    path.write_bytes(b"0\n1\n")
    with pytest.raises(ParseError, match=c.HIGH_WATERMARKS):
        c.read_offset_checkpoint(path)
    with pytest.raises(FileNotFoundError):
        c.read_offset_checkpoint(tmp_path / "absent")


@given(data=st.binary(max_size=60))
def test_any_bytes_at_all(data):
    for parse in (
        c.parse_offset_checkpoint,
        c.parse_leader_epoch_checkpoint,
        c.parse_meta_properties,
        c.parse_quorum_state,
        c.parse_clean_shutdown,
    ):
        with contextlib.suppress(ParseError):
            parse(data, "file")


def test_the_id_of_a_topic() -> None:
    data = b"version: 0\ntopic_id: RAo1rGG0RpSmsdhKjmgjeQ"
    assert c.parse_topic_id(data) == "RAo1rGG0RpSmsdhKjmgjeQ"
    with pytest.raises(ParseError, match="no topic_id"):
        c.parse_topic_id(b"version: 0")
