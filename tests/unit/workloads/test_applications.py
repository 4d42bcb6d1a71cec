"""Applications against a mock broker: stopped between two steps, they go on or die there; outputs name inputs."""

from __future__ import annotations

import operator
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, Consumer, Producer, TopicPartition

from analysis.outputs import differing_outputs
from checks.view import outputs_read, view_of
from evidence.errors import ClientFailed, HarnessError, WaitTimeout
from evidence.history import record, schema
from evidence.history.read import open_run
from evidence.rundir import RunDir
from harness.polling import poll
from harness.workloads import settings
from harness.workloads.handles.application import NOWHERE, Application, CrashPoint
from harness.workloads.handles.client import Child, Client, FinalReader
from harness.workloads.stores import is_written_to, read_store
from tests.records import run_record
from tests.sabotage import patched

pytestmark = pytest.mark.slow
LIMIT_S = 30.0
GROUP = "g"


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    found = RunDir(tmp_path / "run")
    found.write_run(run_record({"run": found.path.name, "processes": []}))
    return found


@pytest.fixture
def inputs(mock_cluster: Producer, topic: str) -> str:
    """A topic with four inputs in one partition."""
    for number in range(4):
        mock_cluster.produce(topic, value=record.encode(1, 1, number), partition=0)
    assert mock_cluster.flush(LIMIT_S) == 0
    return topic


def application(
    run_dir: RunDir,
    bootstrap: str,
    inputs: str,
    program: str,
    stop: CrashPoint,
    name: str = "app",
    own: Mapping[str, str] = MappingProxyType({}),
    **more: Any,
) -> Application:
    reading = more.pop("reading", {})
    return Application(
        Client(run_dir, name, 2, bootstrap, {"acks": "all", **own}),
        program=program,
        consumer_settings=dict(settings.MEMBER) | reading | {"group.id": f"{GROUP}-{inputs}"},
        inputs=inputs,
        output=f"{inputs}-out",
        output_partitions=4,
        batch=2,
        stop=stop,
        **more,
    )


def committed(bootstrap: str, inputs: str) -> int:
    client = Consumer({"bootstrap.servers": bootstrap, "group.id": f"{GROUP}-{inputs}", "log_level": 0})
    try:
        return int(client.committed([TopicPartition(inputs, 0)], timeout=LIMIT_S)[0].offset)
    finally:
        client.close()


def outputs(run_dir: RunDir, bootstrap: str, inputs: str) -> list[int]:
    """The inputs that outputs name, as the final reader tells of them."""
    out = {f"{inputs}-out": [0, 1, 2, 3]}
    final = FinalReader(Client(run_dir, "final", -1, bootstrap, {}), out, outputs=out, timeout_s=LIMIT_S)
    assert final.read().complete
    history = open_run(run_dir)
    assert outputs_read(history.operations)
    rows = history.tables[(inputs, 0)].to_pylist()
    found = [row for row in rows if row["kind"] == schema.OUTPUT]
    assert {row["process"] for row in found} <= {"final"}
    return sorted(row["offset"] for row in found)


@pytest.mark.parametrize(
    ("program", "stop", "has_committed", "has_processed"),
    [
        ("commit-then-process", CrashPoint("poll", "commit", 2), 2, 2),
        ("commit-then-process", CrashPoint("commit", "process", 2), 4, 2),
        ("commit-then-process", CrashPoint("process", "poll", 2), 4, 4),
        ("process-then-commit", CrashPoint("poll", "process", 2), 2, 2),
        ("process-then-commit", CrashPoint("process", "commit", 2), 2, 4),
        ("process-then-commit", CrashPoint("commit", "poll", 2), 4, 4),
        ("commit-async-then-process", CrashPoint("poll", "commit", 2), 2, 2),
        ("process-then-commit-async", CrashPoint("process", "commit", 2), 2, 4),
    ],
)
def test_a_program_is_killed_exactly_between_two_steps(
    run_dir: RunDir,
    mock_cluster: Producer,
    bootstrap: str,
    inputs: str,
    program: str,
    stop: CrashPoint,
    has_committed: int,
    has_processed: int,
) -> None:
    mock_cluster.list_topics(f"{inputs}-out", timeout=10)
    with application(run_dir, bootstrap, inputs, program, stop) as app:
        assert app.wait_still(timeout_s=LIMIT_S) == stop
        # Nobody in the program waits for a commit that is not synchronous.
        poll(lambda: committed(bootstrap, inputs), LIMIT_S, until=lambda offset: offset == has_committed)
        app.kill()
    assert committed(bootstrap, inputs) == has_committed
    assert outputs(run_dir, bootstrap, inputs) == list(range(has_processed))


@pytest.mark.parametrize(
    ("program", "stop", "has_processed"),
    [
        ("commit-async-then-process", CrashPoint("commit", "process", 2), 2),
        ("process-then-commit-async", CrashPoint("commit", "poll", 2), 4),
    ],
)
def test_a_commit_that_nobody_waits_for_is_carried_out_and_not_heard_of(
    run_dir: RunDir,
    mock_cluster: Producer,
    bootstrap: str,
    inputs: str,
    program: str,
    stop: CrashPoint,
    has_processed: int,
) -> None:
    mock_cluster.list_topics(f"{inputs}-out", timeout=10)
    with application(run_dir, bootstrap, inputs, program, stop) as app:
        app.wait_still(timeout_s=LIMIT_S)
        assert poll(lambda: committed(bootstrap, inputs), LIMIT_S, until=lambda offset: offset == 4) == 4
        app.kill()
    assert outputs(run_dir, bootstrap, inputs) == list(range(has_processed))
    # The second is answered in a third poll, which never was.
    heard = commits(run_dir, inputs)
    assert {(2, schema.INFO), (4, schema.INFO)} <= set(heard) <= {(2, schema.INFO), (2, schema.OK), (4, schema.INFO)}


def commits(run_dir: RunDir, inputs: str) -> list[tuple[int, str]]:
    """The offsets that were committed by a program's own word, and what came of it."""
    rows = open_run(run_dir).tables[(inputs, 0)].to_pylist()
    found = [(row["completed_ns"], row["offset"], row["outcome"]) for row in rows if row["kind"] == schema.OFFSETS]
    return [(offset, outcome) for _, offset, outcome in sorted(found)]


STORED = {"enable.auto.commit": "true", "auto.commit.interval.ms": "100", "enable.auto.offset.store": "false"}


@pytest.mark.parametrize(
    ("program", "stop", "has_committed", "has_processed"),
    [
        ("process-then-store", CrashPoint("poll", "process", 2), 2, 2),
        ("process-then-store", CrashPoint("process", "store", 2), 2, 4),
        ("process-then-store", CrashPoint("store", "poll", 2), 4, 4),
        ("hand-over-then-store", CrashPoint("hand-over", "process", 2), 2, 2),
        ("hand-over-then-store", CrashPoint("process", "store", 2), 2, 4),
    ],
)
def test_the_client_commits_what_the_program_has_stored(
    run_dir: RunDir,
    mock_cluster: Producer,
    bootstrap: str,
    inputs: str,
    program: str,
    stop: CrashPoint,
    has_committed: int,
    has_processed: int,
) -> None:
    mock_cluster.list_topics(f"{inputs}-out", timeout=10)
    with application(run_dir, bootstrap, inputs, program, stop, reading=STORED) as app:
        app.wait_still(timeout_s=LIMIT_S)
        assert poll(lambda: committed(bootstrap, inputs), LIMIT_S, until=lambda offset: offset == has_committed)
        time.sleep(0.5)  # it would commit more by now
        app.kill()
    assert committed(bootstrap, inputs) == has_committed
    assert outputs(run_dir, bootstrap, inputs) == list(range(has_processed))


def test_it_stands_still_in_the_callback_that_revokes_its_partitions(
    run_dir: RunDir, mock_cluster: Producer, bootstrap: str, inputs: str
) -> None:
    mock_cluster.list_topics(f"{inputs}-out", timeout=10)
    program, stop = "process-then-commit-when-revoked", CrashPoint("revoke", "commit")
    with application(run_dir, bootstrap, inputs, program, stop) as app:
        app.wait_processed(4, timeout_s=LIMIT_S)
        with application(run_dir, bootstrap, inputs, program, NOWHERE, "next"):
            assert app.wait_still(timeout_s=LIMIT_S) == stop
            # The broker of tests refuses commits while a group rebalances, which Kafka does not.
            app.kill()
    assert committed(bootstrap, inputs) == OFFSET_INVALID


def test_it_goes_on_when_it_is_told_to(run_dir: RunDir, mock_cluster: Producer, bootstrap: str, inputs: str) -> None:
    mock_cluster.list_topics(f"{inputs}-out", timeout=10)
    with application(run_dir, bootstrap, inputs, "process-then-commit", CrashPoint("poll", "process")) as app:
        app.wait_still(timeout_s=LIMIT_S)
        assert app.stands_still()
        assert app.processed() == 0
        app.go_on()
        app.wait_processed(4, timeout_s=LIMIT_S)
        assert (app.stands_still(), app.processed()) == (False, 4)
    assert committed(bootstrap, inputs) == 4
    assert outputs(run_dir, bootstrap, inputs) == [0, 1, 2, 3]


def test_an_assignment_has_the_generation_of_its_group(
    run_dir: RunDir, mock_cluster: Producer, bootstrap: str, inputs: str
) -> None:
    """As librdkafka says it, in bytes whose form is its own: without it two owners of a partition are never found."""
    mock_cluster.list_topics(f"{inputs}-out", timeout=10)
    with application(run_dir, bootstrap, inputs, "process-then-commit", NOWHERE) as app:
        app.wait_processed(4, timeout_s=LIMIT_S)
    rows = open_run(run_dir).tables[(inputs, 0)].to_pylist()
    (generation,) = [row["count"] for row in rows if row["kind"] == schema.ASSIGN]
    assert generation is not None
    assert generation > 0


def test_one_that_never_comes_to_its_crash_point_is_waited_for_so_long(
    run_dir: RunDir, mock_cluster: Producer, bootstrap: str, inputs: str
) -> None:
    mock_cluster.list_topics(f"{inputs}-out", timeout=10)
    stop = CrashPoint("poll", "process", round=9)
    with application(run_dir, bootstrap, inputs, "process-then-commit", stop) as app:
        app.wait_processed(4, timeout_s=LIMIT_S)
        with pytest.raises(
            WaitTimeout, match="4 outputs after 0 s, wanted it stands between poll and process, round 9"
        ):
            app.wait_still(timeout_s=0.1)
        assert not app.stands_still()
        app.stop()
        with pytest.raises(HarnessError, match="app ended with 4 outputs"):
            app.wait_still(timeout_s=LIMIT_S)


HARNESS = """
import sys, time
from pathlib import Path
from tests.unit.workloads.test_applications import CrashPoint, RunDir, application
run_dir, bootstrap, inputs, program, done, following = sys.argv[1:]
own = {"transactional.id": "one"} if program == "transact" else {}
stop = CrashPoint(done, following, 2)
with application(RunDir(Path(run_dir)), bootstrap, inputs, program, stop, own=own) as app:
    app.wait_still(timeout_s=30)
    print("it stands still", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize(
    ("program", "done", "following"), [("process-then-commit", "process", "commit"), ("transact", "offsets", "end")]
)
def test_one_whose_harness_is_killed_ends_by_itself(
    run_dir: RunDir, mock_cluster: Producer, bootstrap: str, inputs: str, program: str, done: str, following: str
) -> None:
    mock_cluster.list_topics(f"{inputs}-out", timeout=10)
    command = [sys.executable, "-c", HARNESS, str(run_dir.path), bootstrap, inputs, program, done, following]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        assert harness.stderr is not None
        said = harness.stdout.readline()
        assert said, harness.stderr.read()
        harness.kill()
        assert "Traceback" not in harness.stderr.read()  # ends when the application does, which has it, too
    # Its end may take it some seconds: it closes its transaction first.
    assert poll(lambda: open_run(run_dir).problems, LIMIT_S, until=operator.not_, every_s=0.5) == ()


def test_a_crash_point_says_where_it_is() -> None:
    assert str(CrashPoint("commit", "process", 2)) == "between commit and process, round 2"
    assert NOWHERE.round == 0


# A store outside Kafka

STORE = "store/sqlite.sqlite"


def stored(run_dir: RunDir) -> tuple[list[int], int | None]:
    """The inputs of the store's outputs, and the next one to process."""
    seen = read_store(str(run_dir.path / STORE), run_dir.path.name)
    return [one.source.offset for one in seen.outputs], next(iter(seen.offsets.values()), None)


def read_at_the_end(run_dir: RunDir, bootstrap: str, inputs: str) -> list[tuple[int, int]]:
    """The inputs that outputs in the store name, and their producers, as the final reader tells of them."""
    final = FinalReader(Client(run_dir, "final", -1, bootstrap, {}), {inputs: [0]}, stores=[STORE], timeout_s=LIMIT_S)
    assert final.read().complete
    history = open_run(run_dir)
    assert outputs_read(history.operations)
    rows = history.tables[(inputs, 0)].to_pylist()
    return sorted((row["offset"], row["producer"]) for row in rows if row["kind"] == schema.OUTPUT)


@pytest.mark.parametrize(
    ("program", "stop", "there", "following", "written_to", "in_the_end"),
    [
        ("store-transaction", CrashPoint("poll", "write", 2), [0, 1], 2, False, [0, 1, 2, 3]),
        ("store-transaction", CrashPoint("write", "end", 2), [0, 1], 2, True, [0, 1, 2, 3]),
        ("store-transaction", CrashPoint("end", "poll", 2), [0, 1, 2, 3], 4, False, [0, 1, 2, 3]),
        ("store-offset-first", CrashPoint("offsets", "outputs", 1), [], 2, False, [2, 3]),
        ("store-offset-first", CrashPoint("outputs", "poll", 1), [0, 1], 2, False, [0, 1, 2, 3]),
        ("store-output-first", CrashPoint("outputs", "offsets", 2), [0, 1, 2, 3], 2, False, [0, 1, 2, 2, 3, 3]),
        ("store-output-first", CrashPoint("offsets", "poll", 1), [0, 1], 2, False, [0, 1, 2, 3]),
    ],
)
def test_a_program_with_a_store_is_killed_and_another_one_begins_where_the_store_says(
    run_dir: RunDir,
    mock_cluster: Producer,
    bootstrap: str,
    inputs: str,
    program: str,
    stop: CrashPoint,
    there: list[int],
    following: int,
    written_to: bool,
    in_the_end: list[int],
) -> None:
    with application(run_dir, bootstrap, inputs, program, stop, store=STORE) as app:
        assert app.wait_still(timeout_s=LIMIT_S) == stop
        assert stored(run_dir) == (there, following)
        assert is_written_to(str(run_dir.path / STORE)) == written_to
        app.kill()
    assert stored(run_dir) == (there, following)
    with application(run_dir, bootstrap, inputs, program, NOWHERE, "next", store=STORE) as app:
        app.wait_processed(4 - following, timeout_s=LIMIT_S)
    assert stored(run_dir)[1] == 4
    assert [offset for offset, _ in read_at_the_end(run_dir, bootstrap, inputs)] == in_the_end


def test_a_store_that_is_gone_leaves_a_history_that_is_not_whole(
    run_dir: RunDir, mock_cluster: Producer, bootstrap: str, inputs: str
) -> None:
    final = FinalReader(
        Client(run_dir, "final", -1, bootstrap, {}), {inputs: [0]}, stores=["store/none.sqlite"], timeout_s=LIMIT_S
    )
    with pytest.raises(HarnessError, match=r"the store none\.sqlite cannot be read"), closing(final):
        final.read()
    assert not outputs_read(open_run(run_dir).operations)


# Applications that are broken on purpose


def test_one_that_makes_nothing_of_its_inputs_is_found_out(
    run_dir: RunDir, mock_cluster: Producer, bootstrap: str, inputs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Child, "__init__", Child.__init__)
    patched.application_sends_nothing()
    mock_cluster.list_topics(f"{inputs}-out", timeout=10)
    with application(run_dir, bootstrap, inputs, "process-then-commit", NOWHERE) as app:
        app.wait_processed(4, timeout_s=LIMIT_S)
    assert outputs(run_dir, bootstrap, inputs) == []
    (problem,) = differing_outputs(view_of(inputs, 0, open_run(run_dir).tables[(inputs, 0)], outputs_read=True))
    assert problem.detail.startswith("4 inputs that a program calls processed are in no output")


def test_one_that_commits_before_it_processes_is_found_out(
    run_dir: RunDir, mock_cluster: Producer, bootstrap: str, inputs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Child, "__init__", Child.__init__)
    patched.application_commits_first()
    mock_cluster.list_topics(f"{inputs}-out", timeout=10)
    stop = CrashPoint("process", "commit", 2)
    with application(run_dir, bootstrap, inputs, "process-then-commit", stop) as app:
        app.wait_still(timeout_s=LIMIT_S)
        app.kill()
    assert (committed(bootstrap, inputs), outputs(run_dir, bootstrap, inputs)) == (4, [0, 1])


def test_one_whose_transaction_is_two_is_found_out(
    run_dir: RunDir, mock_cluster: Producer, bootstrap: str, inputs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Child, "__init__", Child.__init__)
    patched.application_stores_apart()
    stop = CrashPoint("write", "end", 2)
    with application(run_dir, bootstrap, inputs, "store-transaction", stop, store=STORE) as app:
        app.wait_still(timeout_s=LIMIT_S)
        app.kill()
    with application(run_dir, bootstrap, inputs, "store-transaction", NOWHERE, "next", store=STORE) as app:
        app.wait_processed(2, timeout_s=LIMIT_S)
    assert [offset for offset, _ in read_at_the_end(run_dir, bootstrap, inputs)] == [0, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("program", ["store-transaction", "store-position-kept", "store-offset-first"])
def test_one_whose_store_is_full_ends_with_one_line(
    run_dir: RunDir,
    mock_cluster: Producer,
    bootstrap: str,
    inputs: str,
    program: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Child, "__init__", Child.__init__)
    patched.application_store_is_full()
    why = r"^app: the store sqlite\.sqlite is full: database or disk is full$"
    with (
        pytest.raises(ClientFailed, match=why),
        application(run_dir, bootstrap, inputs, program, NOWHERE, store=STORE) as app,
    ):
        app.wait_processed(99, timeout_s=LIMIT_S)
    assert not is_written_to(str(run_dir.path / STORE))
    made, _ = stored(run_dir)
    assert made == [0, 1]
    history = open_run(run_dir)
    assert [(one.what, one.detail) for one in history.problems] == [
        ("client failed", "the store sqlite.sqlite is full: database or disk is full")
    ]
