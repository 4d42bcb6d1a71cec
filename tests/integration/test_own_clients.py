"""A client of the user's own on real brokers: the one on the page is judged, and one that dies accuses nobody."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evidence.history import schema
from evidence.history.read import open_run
from harness.cluster import versions
from harness.run import Run
from harness.runner import Request, execute
from harness.scenario import get_scenario
from judgement.judge import AnalysisServer, judge
from tests import clients

pytestmark = [pytest.mark.docker, pytest.mark.spark]
LIMIT_S = 120.0
STUB = Path(__file__).parents[1] / "unit" / "workloads" / "stub_client.py"


def test_the_client_of_the_page_is_producer_and_consumer(tmp_path: Path) -> None:
    def steps(run: Run) -> None:
        t = run.partition()
        with run.consume(t) as consumer:
            assert [one.offset for one in run.send(t, 3)] == [0, 1, 2]
            with run.load(t, records=2_000) as load:
                load.wait_acked(2_000, timeout_s=LIMIT_S)
            consumer.wait_read(2_003, timeout_s=LIMIT_S)

    scenario = replace(get_scenario("baseline"), steps=steps)
    client = clients.command("worked")
    request = Request(scenario=scenario, version=versions.get("4.3.1"), client=client, root=tmp_path)
    finished = execute(request, echo=lambda _: None)
    with AnalysisServer() as analyst:
        judged = judge(finished.run_dir, analyst).verdict
    finished.removals.wait()
    assert (judged.verdict, judged.seen, judged.reasons) == ("observed", (), ())
    run = finished.run_dir.read_run()
    assert run.client.startswith("own-worked-")
    assert run.own_client is not None
    assert run.own_client.command == client
    assert {one.library for one in run.of_kind("consumer")} == {run.client}
    rows = [row for table in open_run(finished.run_dir).tables.values() for row in table.to_pylist()]
    sent = [row for row in rows if row["kind"] == schema.SEND]
    read = [row for row in rows if row["kind"] == schema.POLL and row["process"].startswith("consumer")]
    assert len(sent) == len(read) == 2_003
    assert all(row["outcome"] == schema.OK for row in sent)
    assert finished.run_dir.complaints("producer-1").exists()


def test_a_client_that_dies_makes_the_run_unknown_and_says_why(tmp_path: Path) -> None:
    """Its history is whole, and says that it died; what it claimed before that is in no log, and no loss of Kafka's."""

    def steps(run: Run) -> None:
        run.send(run.partition(), 3)

    request = Request(
        scenario=replace(get_scenario("baseline"), steps=steps),
        version=versions.get("4.3.1"),
        client=f"{sys.executable} {STUB} dies-after-a-record",
        root=tmp_path,
    )
    finished = execute(request, echo=lambda _: None)
    with AnalysisServer() as analyst:
        judged = judge(finished.run_dir, analyst).verdict
    finished.removals.wait()
    assert judged.verdict == "unknown"
    assert any("has ended (status 3)" in reason and "on stderr the reason" in reason for reason in judged.reasons)
    history = open_run(finished.run_dir)
    assert [problem.what for problem in history.problems] == ["client failed"]
    assert finished.run_dir.complaints("producer-1").read_text() == "the reason\n"
