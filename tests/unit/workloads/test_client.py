"""The handles, with real processes that talk to the mock cluster in this one."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from evidence.errors import HarnessError, RecorderDied, WaitTimeout
from evidence.events import Acked, Failed, Position
from evidence.history import schema
from evidence.history.read import open_run, stream_batches
from evidence.rundir import RunDir
from evidence.timeline import Timeline, read
from harness.workloads.handles.client import (
    Background,
    BackgroundConsumer,
    Child,
    Client,
    FinalReader,
    LoadGenerator,
    ScriptedProducer,
    Summary,
)
from tests.records import run_record

pytestmark = pytest.mark.slow

NOWHERE = "127.0.0.1:1"
LIMIT_S = 60.0


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    found = RunDir(tmp_path / "run")
    found.write_run(run_record({"run": found.path.name, "scenario": "s", "version": "v", "processes": []}))
    return found


def a_load(run_dir: RunDir, bootstrap: str, topic: str, *, records: int | None, rate: float | None) -> LoadGenerator:
    return LoadGenerator(
        Client(run_dir, "load", 2, bootstrap, {"acks": "all", "linger.ms": "1"}),
        topic=topic,
        partitions=[0, 1],
        rate_per_s=rate,
        record_bytes=100,
        keys=3,
        records=records,
    )


def test_one_run_with_every_kind_of_process(
    run_dir: RunDir, mock_cluster: Producer, bootstrap: str, topic: str
) -> None:
    with Timeline(run_dir.timeline) as timeline:
        scripted = ScriptedProducer(Client(run_dir, "scripted", 1, bootstrap, {"acks": "all"}), timeline)
        load = a_load(run_dir, bootstrap, topic, records=500, rate=5000.0)
        final = FinalReader(Client(run_dir, "final", -1, bootstrap, {}), {topic: [0, 1]}, timeout_s=LIMIT_S)
        reader = Client(run_dir, "back", -1, bootstrap, {})
        with BackgroundConsumer(reader, assign={topic: [0, 1]}, timeline=timeline) as back:
            sent = scripted.send(topic, 0, count=2, timeout_s=LIMIT_S)
            pending = scripted.send_async(topic, 1)
            assert pending.wait(LIMIT_S).outcome == "ok"
            assert pending.done
            assert pending.acknowledged
            with load:
                assert load.wait_acked(500, timeout_s=LIMIT_S).acked == 500
            assert back.wait_read(503, timeout_s=LIMIT_S).records == 503
            ends = back.wait_position(topic, 1, 1, timeout_s=LIMIT_S).positions
        scripted.close()
        seen = final.read()
    assert [(one.sequence, one.offset, one.outcome) for one in sent] == [(0, 0, "ok"), (1, 1, "ok")]
    assert seen.complete
    assert sum(end or 0 for end, _ in seen.partitions.values()) == 503

    history = open_run(run_dir)
    assert history.problems == ()
    polled = {"back": 0, "final": 0}
    for table in history.tables.values():
        for row in table.to_pylist():
            if row["kind"] == schema.POLL:
                polled[row["process"]] += 1
                assert row["valid"]
    assert polled == {"back": 503, "final": 503}

    events = read(run_dir.timeline).of(Acked)
    assert [(event.sequence, event.offset) for event in events][:2] == [(0, 0), (1, 1)]
    assert len(events) == 3
    positions = read(run_dir.timeline).of(Position)
    assert {(event.topic, event.partition): event.offset for event in positions} == ends
    assert sum(ends.values()) == 503
    assert {event.process for event in positions} == {"back"}


def test_what_nobody_answers_is_told_as_unknown(run_dir: RunDir) -> None:
    with Timeline(run_dir.timeline) as timeline:
        producer = ScriptedProducer(Client(run_dir, "p", 1, NOWHERE, {"message.timeout.ms": "300"}), timeline)
        (sent,) = producer.send("t", 0, timeout_s=LIMIT_S)
        assert (sent.outcome, sent.error_name, sent.offset) == ("info", "_MSG_TIMED_OUT", None)
        producer.close()
    assert [event.error for event in read(run_dir.timeline).of(Failed)] == ["_MSG_TIMED_OUT"]


def test_waiting_has_a_limit_that_says_what_it_saw(run_dir: RunDir) -> None:
    with Timeline(run_dir.timeline) as timeline:
        producer = ScriptedProducer(Client(run_dir, "p", 1, NOWHERE, {}), timeline)
        with pytest.raises(WaitTimeout, match="p: the outcome of a record is not known"):
            producer.send("t", 0, timeout_s=0.3)
        producer.close()
    load = a_load(run_dir, NOWHERE, "t", records=5, rate=None)
    load.start()
    with pytest.raises(WaitTimeout, match="wanted 5 records acknowledged"):
        load.wait_acked(5, timeout_s=0.3)
    load.kill()
    kinds = [row["kind"] for row in open_run(run_dir, only=("t", 0)).tables[("t", 0)].to_pylist()]
    assert kinds.count("send") == 1


class Told:
    """In the place of a process: what it has told, None for a silence."""

    def __init__(self, *acked: int | None) -> None:
        self._acked = list(acked)

    def receive(self, timeout_s: float, what: str) -> dict[str, int]:
        told = self._acked.pop(0)
        if told is None:
            raise WaitTimeout(f"nothing while {what}")
        return {"sent": told, "acked": told, "failed": 0}


def test_waiting_for_more_counts_from_what_has_been_told_by_now() -> None:
    load = LoadGenerator.__new__(LoadGenerator)
    told: Any = Told(5, 9, None, 12, 14)
    Background.__init__(load, "load", told, Summary(0, 0, 0))
    assert load.wait_more(5, timeout_s=LIMIT_S).acked == 14


def test_a_load_that_ends_with_too_few_says_so(run_dir: RunDir, mock_cluster: Producer, bootstrap: str, topic: str):
    with a_load(run_dir, bootstrap, topic, records=5, rate=None) as load:
        load.wait_acked(5, timeout_s=LIMIT_S)
        with pytest.raises(HarnessError, match=r"ended with 5 records sent, 5 acknowledged, 0 failed, wanted 6"):
            load.wait_acked(6, timeout_s=LIMIT_S)


def test_a_process_that_fails_is_named_with_its_last_words(run_dir: RunDir) -> None:
    with Timeline(run_dir.timeline) as timeline:
        producer = ScriptedProducer(Client(run_dir, "p", 1, NOWHERE, {"no.such.setting": "1"}), timeline)
        with pytest.raises(RecorderDied, match=r"the process p has ended \(status 1\).*no\.such\.setting"):
            producer.send("t", 0, timeout_s=LIMIT_S)
        producer.close()
    assert [problem.what for problem in open_run(run_dir).problems] == ["recorder died"]


def sends_on_disk(run_dir: RunDir) -> int:
    """How many sends the load has written down."""
    complaints: list[str] = []
    batches = stream_batches(run_dir.stream("load"), complaints)
    return sum(batch["kind"].to_pylist().count(schema.SEND) for batch in batches)


def test_kill_9_in_mid_stream_leaves_everything_flushed_and_no_phantoms(
    run_dir: RunDir, mock_cluster: Producer, bootstrap: str, topic: str
) -> None:
    load = a_load(run_dir, bootstrap, topic, records=None, rate=None)
    load.start()
    acked = 0
    while not sends_on_disk(run_dir):
        acked = load.wait_acked(acked + 5000, timeout_s=LIMIT_S).acked
    flushed = sends_on_disk(run_dir)
    load.kill()
    final = FinalReader(Client(run_dir, "final", -1, bootstrap, {}), {topic: [0, 1]}, timeout_s=LIMIT_S)
    assert final.read().complete

    history = open_run(run_dir)
    assert [(p.what, p.process) for p in history.problems] == [("recorder died", "load")]
    rows = [row for table in history.tables.values() for row in table.to_pylist()]
    sends = [row for row in rows if row["kind"] == schema.SEND]
    reserved = {
        (row["partition"], number)
        for row in rows
        if row["kind"] == schema.RESERVE
        for number in range(row["sequence"], row["sequence"] + row["count"])
    }
    polled = {(row["partition"], row["sequence"]) for row in rows if row["kind"] == schema.POLL}
    assert len(polled) > 0
    assert polled <= reserved
    assert flushed <= len(sends) <= len(reserved)
    assert {row["outcome"] for row in sends} == {"ok"}


HARNESS = """
import sys, time
from pathlib import Path
from typing import Any
from evidence.rundir import RunDir
from harness.workloads.handles.client import Client, LoadGenerator

load = LoadGenerator(Client(RunDir(Path(sys.argv[1])), "load", 2, sys.argv[2], {}), topic=sys.argv[3], partitions=[0],
                     rate_per_s=1000.0, record_bytes=100, keys=0, records=None)
load.start()
load.wait_acked(50, timeout_s=60.0)
print(load._child.pid, flush=True)
time.sleep(600)
"""


def test_a_process_ends_properly_when_the_harness_is_killed(
    run_dir: RunDir, mock_cluster: Producer, bootstrap: str, topic: str
) -> None:
    command = [sys.executable, "-c", HARNESS, str(run_dir.path), bootstrap, topic]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        child = int(harness.stdout.readline())
        harness.kill()
    deadline = time.monotonic() + LIMIT_S
    while _alive(child):
        assert time.monotonic() < deadline, "the child outlived the harness"
        time.sleep(0.05)
    history = open_run(run_dir)
    assert history.problems == ()
    assert len(history.tables[(topic, 0)]) > 50


def _alive(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False


def test_sigterm_ends_a_process_properly(run_dir: RunDir, mock_cluster: Producer, bootstrap: str, topic: str) -> None:
    load = a_load(run_dir, bootstrap, topic, records=None, rate=1000.0)
    load.start()
    load.wait_acked(10, timeout_s=LIMIT_S)
    os.kill(load._child.pid, signal.SIGTERM)
    assert load._child._process.wait(LIMIT_S) == 0
    load.kill()
    assert open_run(run_dir).problems == ()


def test_a_consumer_is_assigned_or_subscribed(run_dir: RunDir) -> None:
    for options in ({}, {"assign": {"t": [0]}, "subscribe": ["t"]}):
        with pytest.raises(ValueError, match="one of the two"):
            BackgroundConsumer(Client(run_dir, "c", -1, NOWHERE, {}), **options)  # type: ignore[arg-type]
    assert not run_dir.history.exists()


def test_closing_twice_does_no_harm(run_dir: RunDir) -> None:
    child = Child("reader", "f", {"path": str(run_dir.stream("f")), "process": "f", "run": "run", "bootstrap": NOWHERE,
                                  "settings": {}, "topics": {}, "timeout_s": 1})  # fmt: skip
    assert child.receive(LIMIT_S, "starting") == {"ready": True}
    child.close()
    child.close()
    with pytest.raises(HarnessError, match="has ended"):
        child.send_message(go=True)
    assert json.loads(json.dumps([p.what for p in open_run(run_dir).problems])) == []
