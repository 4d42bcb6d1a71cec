from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis import check
from analysis.across import in_one_process
from analysis.check import check_piece
from analysis.pieces import Piece, pieces
from analysis.result import Result, merge
from checks.service import LATE_NS
from evidence.events import Ends, Event, Log, Moment
from evidence.findings import Findings
from evidence.history import schema, seal
from evidence.history.read import History, sealed_files
from evidence.rundir import RunDir, read_json, write_json
from evidence.timeline import Timeline
from tests.findings import timeless
from tests.properties import examples
from tests.unit.analysis.runs import make_run
from tests.unit.checks.histories import Row, asked_end, final_read, polled, sent
from tests.unit.timelines import at

PARTITIONS = 3
IRREGULAR = 1
"""The partition that is changed."""
RECORDS = 4
Rows = dict[str, list[Row]]


@pytest.fixture(autouse=True)
def all_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "FEW", 1)


def _sealed(root: Path, histories: Rows, *events: Event) -> RunDir:
    run_dir = make_run(root, histories, partitions=PARTITIONS)
    seal.seal_run(run_dir)
    run_dir.timeline.unlink()
    with Timeline(run_dir.timeline) as timeline:
        for event in events:
            timeline.append(event)
    return run_dir


def _clean() -> Rows:
    """Partitions of which nothing is to be told; one reader reads half of each, another the rest."""
    found: Rows = {"producer-1": [], "reader-1": [], "reader-2": []}
    for number in range(PARTITIONS):
        own: Row = {"partition": number}
        found["producer-1"] += [sent(one, one, op=10 * number + one, **own) for one in range(RECORDS)]
        for one in range(RECORDS):
            reader = "reader-1" if one < RECORDS // 2 else "reader-2"
            polls = polled(one, one, op=10 * number + one, invoked_ns=30 + one + number, **own)
            found[reader].append(polls)
        found["reader-2"] += [
            asked_end(RECORDS, 2000) | own | {"op": 10 * number + 8},
            final_read(RECORDS) | own | {"op": 10 * number + 9},
        ]
    return found


def _of(histories: Rows, name: str) -> list[Row]:
    return [row for row in histories[name] if row["partition"] == IRREGULAR]


def _set(name: str, place: int, **columns: Any) -> Callable[[Rows], None]:
    return lambda histories: _of(histories, name)[place].update(columns)


def _drop(name: str, place: int) -> Callable[[Rows], None]:
    return lambda histories: histories[name].remove(_of(histories, name)[place])


def _again(name: str, place: int, **columns: Any) -> Callable[[Rows], None]:
    def change(histories: Rows) -> None:
        row = _of(histories, name)[place]
        histories[name].insert(histories[name].index(row) + 1, row | columns)

    return change


def _other(kind: str, **columns: Any) -> Callable[[Rows], None]:
    row = {"kind": kind, "outcome": "ok", "partition": IRREGULAR, "op": 10 * IRREGULAR + 1, **columns}
    return lambda histories: histories["reader-1"].insert(len(histories["reader-1"]) // 2, row)


CHANGES: dict[str, Callable[[Rows], None]] = {
    "a send is missing": _drop("producer-1", 1),
    "a poll is missing": _drop("reader-1", 1),
    "nobody read the last": _drop("reader-2", 1),
    "a send failed": _set("producer-1", 2, outcome="fail"),
    "a send is unknown": _set("producer-1", 2, outcome="info"),
    "a send of a transaction": _set("producer-1", 2, transaction=1),
    "a send without an offset": _set("producer-1", 2, offset=None),
    "a send at another offset": _set("producer-1", 3, offset=7),
    "a send of a value that was sent": _set("producer-1", 3, sequence=0),
    "a send earlier than the one before": _set("producer-1", 3, invoked_ns=0),
    "sends of one operation before the last": _set("producer-1", 3, op=10 * IRREGULAR),
    "two sends at one offset": _again("producer-1", 1, sequence=9, op=10 * IRREGULAR + 1),
    "a poll failed": _set("reader-1", 1, outcome="fail"),
    "a poll of a transaction": _set("reader-1", 1, transaction=1),
    "a damaged poll": _set("reader-1", 1, valid=False),
    "a poll of another value": _set("reader-1", 1, sequence=3),
    "a poll of nobody's value": _set("reader-1", 1, producer=None, sequence=None),
    "a poll at another offset": _set("reader-1", 1, offset=2),
    "a poll beyond the log": _set("reader-1", 1, offset=9),
    "a record read twice": _again("reader-1", 1),
    "polls go back": _set("reader-2", 1, op=10 * IRREGULAR),
    "the log ended before": _set("reader-2", -1, offset=RECORDS - 1),
    "a broker answered less": _set("reader-2", -2, offset=RECORDS - 1),
    "an answer that came late": _set("producer-1", 2, completed_ns=LATE_NS + 100),
    "an error is named": _set("reader-1", 1, error_name="_TIMED_OUT"),
    "an input was processed": _other(schema.PROCESSED, offset=1, producer=2, sequence=1),
    "an offset was committed": _other(schema.OFFSETS, offset=9),
    "an unknown kind": _other("what?"),
}


def _results(run_dir: RunDir) -> list[Result]:
    return check.check_pieces(pieces(run_dir))


def whole(results: list[Result]) -> Findings:
    return merge(results, 0.0, in_one_process(results))


def _same(run_dir: RunDir) -> bool:
    """Whether pieces together come to what each by itself does."""
    each = [check_piece(piece) for piece in pieces(run_dir)]
    return timeless(whole(_results(run_dir))) == timeless(whole(each))


def _by_itself(run_dir: RunDir, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The partitions that are checked by themselves."""
    found: list[int] = []
    real = check_piece

    def counted(piece: Piece, *read: History) -> Result:
        found.append(piece.partition)
        return real(piece, *read)

    with monkeypatch.context() as patch:
        patch.setattr(check, "check_piece", counted)
        _results(run_dir)
    return [partition for partition in found if partition >= 0]


def test_of_trivially_clean_partitions_none_is_checked_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = _sealed(tmp_path / "run", _clean())
    assert _by_itself(run_dir, monkeypatch) == []
    assert _same(run_dir)
    findings = whole(_results(run_dir))
    assert findings.findings == ()
    assert findings.statistics["sends_ok"] == PARTITIONS * RECORDS
    assert findings.real_time_lag is not None
    assert findings.real_time_lag["lag_ns"] > 0


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.slow
def test_what_is_not_trivially_clean_is_checked_by_itself(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    histories = _clean()
    CHANGES[what](histories)
    run_dir = _sealed(tmp_path / "run", histories)
    assert _by_itself(run_dir, monkeypatch) == [IRREGULAR]
    assert _same(run_dir)


@pytest.mark.parametrize(
    ("given", "kind", "apart"),
    [("reader-1", "consumer", [IRREGULAR]), ("reader-2", "consumer", []), ("reader-1", "producer", [])],
    ids=["one that stops", "one that reads to the end", "no consumer"],
)
def test_a_partition_of_which_a_consumer_got_not_all_is_checked_by_itself(
    given: str, kind: str, apart: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    histories = _clean()
    row = {"kind": schema.ASSIGN, "outcome": "ok", "partition": IRREGULAR, "op": 0, "completed_ns": 1}
    histories[given].insert(0, row)
    run_dir = _sealed(tmp_path / "run", histories)
    facts = read_json(run_dir.run_json)
    facts["processes"] = [one | ({"kind": kind} if one["name"] == given else {}) for one in facts["processes"]]
    write_json(run_dir.run_json, facts)
    assert _by_itself(run_dir, monkeypatch) == apart
    assert _same(run_dir)


@pytest.mark.parametrize(
    "event",
    [
        Log(node="broker-1", event="truncate", topic="t", partition=IRREGULAR, offset=2, line="Truncating"),
        Moment(name="01-one", nodes={"broker-1": {f"t-{IRREGULAR}": Ends(leo=4, hw=4)}}, begun_ns=0),
    ],
)
def test_a_partition_that_brokers_tell_of_is_checked_by_itself(
    event: Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = _sealed(tmp_path / "run", _clean(), at(5000, event))
    assert _by_itself(run_dir, monkeypatch) == [IRREGULAR]
    assert _same(run_dir)


def test_a_partition_of_which_there_is_a_copy_is_checked_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = _sealed(tmp_path / "run", _clean())
    (run_dir.replicas / "01-one" / "broker-1" / f"t-{IRREGULAR}").mkdir(parents=True)
    assert _by_itself(run_dir, monkeypatch) == [IRREGULAR]


def test_without_a_final_read_an_trivially_clean_partition_is_doubted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    histories = _clean()
    _drop("reader-2", -1)(histories)
    run_dir = _sealed(tmp_path / "run", histories)
    assert _by_itself(run_dir, monkeypatch) == []
    assert _same(run_dir)
    told = [one.detail for one in whole(_results(run_dir)).problems if one.what == "no final read"]
    assert told == [f"t-{IRREGULAR} was not read to the brokers' end offset"]


def test_the_longest_lag_is_that_of_the_whole_although_the_partition_was_given_away(tmp_path: Path) -> None:
    histories = _clean()
    _set("reader-1", 1, invoked_ns=10**9)(histories)
    _other(schema.ASSIGN)(histories)
    run_dir = _sealed(tmp_path / "run", histories)
    assert _same(run_dir)


def test_what_faults_cost_clients_is_told_of_trivially_clean_partitions_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where in ("evidence.availability.FEWEST", "analysis.together.FEWEST"):
        monkeypatch.setattr(where, RECORDS)
    run_dir = _sealed(tmp_path / "run", _clean())
    assert _by_itself(run_dir, monkeypatch) == []
    assert len(whole(_results(run_dir)).availability) == PARTITIONS
    assert _same(run_dir)


def test_partitions_are_checked_each_by_itself_if_a_recorder_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = _sealed(tmp_path / "run", _clean())
    facts = read_json(run_dir.run_json)
    facts["processes"].append(facts["processes"][0] | {"name": "reader-3"})
    write_json(run_dir.run_json, facts)
    assert _by_itself(run_dir, monkeypatch) == list(range(PARTITIONS))
    assert _same(run_dir)


def test_a_damaged_shared_file_is_left_to_the_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir = _sealed(tmp_path / "run", _clean())
    path = run_dir.sealed_shared("reader-1")
    content = bytearray(path.read_bytes())
    content[40] ^= 1
    path.write_bytes(content)
    assert _by_itself(run_dir, monkeypatch) == list(range(PARTITIONS))
    assert whole(_results(run_dir)).findings == ()


def test_partitions_that_share_a_file_are_not_screened(tmp_path: Path) -> None:
    run_dir = _sealed(tmp_path / "run", _clean())
    assert sealed_files(run_dir, run_dir.read_run(), ("t", IRREGULAR)) is None


@pytest.mark.slow
@given(changes=st.lists(st.sampled_from(sorted(CHANGES)), max_size=3), seed=st.integers(0, 99), rows=st.integers(1, 9))
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_together_is_found_what_is_found_one_by_one(
    changes: list[str], seed: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    histories = _clean()
    for what in changes:
        try:
            CHANGES[what](histories)
        except (IndexError, ValueError):
            continue  # an earlier change has taken the row
    for of_process in histories.values():
        for _ in range(chance.randint(0, 2)):
            row = chance.choice(of_process)
            row["completed_ns"] = chance.randint(0, 4000)
            row["invoked_ns"] = chance.choice([None, 0, 45, 3000])
    monkeypatch.setattr(seal, "SHARED_GROUP_ROWS", rows)
    monkeypatch.setattr(seal, "SORTED_ROWS", 7 * rows)
    monkeypatch.setattr(check, "TOGETHER", chance.choice([2, 512]))
    with tempfile.TemporaryDirectory() as folder:
        assert _same(_sealed(Path(folder) / "run", histories))
