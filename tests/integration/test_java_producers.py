"""Kafka's own producers, driven and recorded as ours is, on real brokers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evidence import timeline
from evidence.events import Configuration
from evidence.history import schema
from evidence.history.read import open_run
from harness.cluster import versions
from harness.run import Run
from harness.runner import Request, execute
from harness.scenario import get_scenario
from judgement.judge import AnalysisServer, judge
from tests.records import steps_ended

pytestmark = [pytest.mark.docker, pytest.mark.spark]
LIMIT_S = 60.0


@pytest.mark.parametrize(
    ("version", "client", "offsets", "default"),
    [
        # What each client goes by when nothing is said. Idempotence came with 0.11 and is on since 3.0 (KIP-679)…
        ("0.10.2.2", "scala-0.8.2.2", False, ("message.send.max.retries", "3")),
        ("0.10.2.2", "java-0.8.2.2", True, ("retries", "0")),
        ("4.3.1", "java-2.8.2", True, ("enable.idempotence", "false")),
        ("4.3.1", "java", True, ("enable.idempotence", "true")),
    ],
)
def test_a_producer_of_kafkas_own(
    version: str, client: str, offsets: bool, default: tuple[str, str], tmp_path: Path
) -> None:
    def steps(run: Run) -> None:
        t = run.partition()
        # The leader may not know of its partition yet, and the clients of 0.8 do not try again.
        next(sent for _ in range(50) for sent in run.send(t, must=False) if sent.outcome == "ok")
        sent = run.send(t, 3) + run.send(t, 2, acks="1")
        assert [one.offset for one in sent] == ([1, 2, 3, 4, 5] if offsets else [None] * 5)
        with run.load(run.partition(1), records=500, rate_per_s=1000, keys=10) as load:
            load.wait_acked(500, timeout_s=LIMIT_S)

    scenario = replace(get_scenario("baseline"), steps=steps)
    request = Request(scenario=scenario, version=versions.get(version), client=client, root=tmp_path)
    finished = execute(request, echo=lambda _: None)
    with AnalysisServer() as analyst:
        judged = judge(finished.run_dir, analyst).verdict
    finished.removals.wait()
    assert judged.verdict == "observed", judged.reasons
    assert (judged.seen, judged.reasons) == ((), ())
    rows = [row for table in open_run(finished.run_dir).tables.values() for row in table.to_pylist()]
    sends = [row for row in rows if row["kind"] == schema.SEND]
    assert sum(row["outcome"] == schema.OK for row in sends) == 506
    configured = timeline.read(finished.run_dir.timeline).of(Configuration)
    name = request.library.name
    assert [each.library for each in configured] == [name] * 3
    assert {each.settings[default[0]] for each in configured if each.settings.get("acks") != "1"} == {default[1]}
    # … but for a producer whose acks contradict it.
    assert all(
        each.settings.get("enable.idempotence") != "true" for each in configured if each.settings.get("acks") == "1"
    )
    assert finished.run_dir.read_run().client == name


@pytest.mark.parametrize("client", ["java", "java-2.8.2"])
def test_transactions_of_the_java_client(client: str, tmp_path: Path) -> None:
    """One is committed and one aborted; which transactions a client and a broker agree on is their own affair."""

    def steps(run: Run) -> None:
        t = run.partition()
        with run.transaction() as committed:
            committed.send(t, 2)
        with run.transaction(commit=False) as aborted:
            aborted.send(t)
        run.send(t)
        with run.consume(t, committed_only=True) as consumer:
            consumer.wait_read(3, timeout_s=LIMIT_S)

    scenario = replace(get_scenario("baseline"), steps=steps)
    request = Request(scenario=scenario, version=versions.get("4.3.1"), client=client, root=tmp_path)
    finished = execute(request, echo=lambda _: None)
    with AnalysisServer() as analyst:
        judged = judge(finished.run_dir, analyst).verdict
    finished.removals.wait()
    assert (judged.verdict, judged.seen, judged.reasons) == ("observed", (), ())
    rows = open_run(finished.run_dir).operations.to_pylist()
    ends = [(row["kind"], row["outcome"]) for row in rows if row["kind"] in (schema.BEGIN, schema.COMMIT, schema.ABORT)]
    assert ends == [("begin", "ok"), ("commit", "ok"), ("begin", "ok"), ("abort", "ok")]


def test_settings_that_a_client_refuses_are_its_own_words(tmp_path: Path) -> None:
    def steps(run: Run) -> None:
        run.producer(settings={"linger.ms": "soon"}).send("t", 0, timeout_s=LIMIT_S)

    scenario = replace(get_scenario("baseline"), steps=steps)
    request = Request(scenario=scenario, version=versions.get("4.3.1"), client="java", root=tmp_path)
    finished = execute(request, echo=lambda _: None)
    finished.removals.wait()
    assert "Invalid value soon for configuration linger.ms" in steps_ended(finished.run_dir)
