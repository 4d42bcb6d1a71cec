"""A cluster that tests command, on the stage: what a program asks is done, and each line is answered."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from app.output import Progress
from evidence.errors import EXIT_USAGE, UsageError
from evidence.events import Fault
from evidence.timeline import read
from harness import commanded
from harness.cluster import versions
from harness.plan import ClusterPlan
from harness.runner import Finished
from kafka_chaos.session import Chaos, ChaosError, Cluster
from tests.unit.rehearsal import Stage, rehearse

PLAN = ClusterPlan(brokers=(1, 2, 3), controller=1)


def on_stage(root: Path, monkeypatch: pytest.MonkeyPatch, test: Callable[[Cluster], None]) -> tuple[Stage, Finished]:
    """A program's test, which speaks with the steps through pipes as it does with the program."""
    stage, ended = Stage(), list[Finished]()
    asked, answers = (os.pipe() for _ in range(2))

    def program() -> None:
        with open(asked[0]) as lines, open(answers[1], "w", buffering=1) as out, monkeypatch.context() as patched:
            progress = Progress(json_lines=True)
            patched.setattr("app.output.result", lambda text: print(text, file=out))
            steps = commanded.steps_from(lines, lambda kind, values: progress.json(kind, **values))
            ended.append(rehearse(stage, root, steps, patched, cluster=PLAN))

    thread = threading.Thread(target=program)
    thread.start()
    with open(answers[0]) as lines, open(asked[1], "w") as commands:
        cluster = Cluster(lines, commands)
        try:
            test(cluster)
        finally:
            cluster.close()
            thread.join()
    (finished,) = ended
    finished.removals.wait()
    return stage, finished


def test_what_is_asked_is_done_and_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def test(cluster: Cluster) -> None:
        chaos = Chaos()
        orders = cluster.topic("orders", partitions=2, settings={"min.insync.replicas": "2"})
        assert cluster.topic() == "test-2"
        assert cluster.bootstrap_servers.count(":9092") == len(cluster.brokers) == 3
        leader, followers = cluster.leader(orders), cluster.followers(orders)
        assert ([leader.id], [one.id for one in followers]) == ([1], [2, 3])
        assert cluster.leader(orders, 1).id == 2
        chaos.kill(leader)
        assert cluster.wait_leader(orders, other_than=[leader]) == followers[0]
        assert cluster.controller() in cluster.brokers
        assert [one.id for one in cluster.in_sync(orders)] == [2, 3]
        chaos.start(leader)
        cluster.wait_in_sync(orders)
        chaos.stop(cluster.broker(3))
        chaos.heal()
        assert [one.id for one in cluster.in_sync(orders)] == [1, 2, 3]

    stage, finished = on_stage(tmp_path, monkeypatch, test)
    run = finished.run_dir.read_run()
    assert (run.state, run.failure) == ("complete", None)
    assert [(topic.name, len(topic.partitions)) for topic in run.topics] == [("t", 1), ("orders", 2), ("test-2", 1)]
    faults = [one.fault_kind for one in read(finished.run_dir.timeline).of(Fault) if one.phase == "verified"]
    assert faults == ["kill", "start", "stop", "start"]
    assert stage.created == []


def test_what_cannot_be_done_is_answered_and_the_cluster_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(why: str, kind: str, ask: Callable[[], object]) -> None:
        with pytest.raises(ChaosError, match=why) as raised:
            ask()
        assert raised.value.kind == kind

    def test(cluster: Cluster) -> None:
        chaos = Chaos()
        refused("no node with id 9", "HarnessError", lambda: chaos.kill(cluster.broker(9)))
        refused("was not made here", "UsageError", lambda: cluster.leader("theirs"))
        refused("4 replicas on 3 brokers", "UsageError", lambda: cluster.topic(replication=4))
        refused("'explode'", "UsageError", lambda: cluster.ask("explode"))
        refused("Expected `int`", "UsageError", lambda: cluster.ask("kill", brokers=["one"]))
        refused("brokers of one cluster", "UsageError", lambda: chaos.cut([], []))
        cluster.topic("orders")
        refused("there already", "UsageError", lambda: cluster.topic("orders"))
        stage_of[0].containers_of[2].deaf = True
        refused("broker-2", "FaultUnproved", lambda: chaos.kill(cluster.broker(2)))
        stage_of[0].containers_of[2].deaf = False
        assert cluster.leader("orders").id == 1

    stage_of: list[Stage] = []
    made = Stage.__init__

    def remembered(self: Stage) -> None:
        made(self)
        stage_of.append(self)

    monkeypatch.setattr(Stage, "__init__", remembered)
    monkeypatch.setattr("harness.faults.process.EVENT_LIMIT_S", 0.1)
    _, finished = on_stage(tmp_path, monkeypatch, test)
    assert finished.run_dir.read_run().state == "complete"


def test_a_program_that_has_ended_is_told_with_its_last_words() -> None:
    said = io.StringIO('{"kind": "message", "text": "building the image"}\nkafka-chaos: no Docker engine\n')
    with pytest.raises(ChaosError, match=r"it said last: building the image \| kafka-chaos: no Docker engine"):
        Cluster(said, io.StringIO())


def test_a_run_of_commands_counts_nowhere(tmp_path: Path) -> None:
    asked = commanded.request(versions.get("4.3.1"), lambda run: None, brokers=4, settings={"a": "b"}, root=tmp_path)
    assert asked.observed
    assert asked.command == "kafka-chaos cluster --version 4.3.1 --brokers 4 --setting a=b"
    with pytest.raises(UsageError, match="2 brokers: a cluster for tests has 3 to 5") as raised:
        commanded.request(versions.get("4.3.1"), lambda run: None, brokers=2, settings={}, root=tmp_path)
    assert raised.value.exit_status == EXIT_USAGE
