"""Transactional workloads against real brokers: what is recorded, judged by the analysis, and then falsified."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from analysis.check import check_run
from evidence.events import Configuration
from evidence.history import schema
from evidence.history.read import open_run
from evidence.rundir import RunDir
from evidence.timeline import Timeline, read
from harness.workloads.handles.client import BackgroundConsumer, FinalReader
from harness.workloads.handles.transactions import Pipeline, TransactionalProducer
from tests.integration.test_recording import LIMIT_S, PARTITIONS, Broker, client, one_broker
from tests.records import run_record
from tests.streams import rewrite

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("transactions"),
]

SETTINGS = (
    "transaction.state.log.replication.factor=1;transaction.state.log.min.isr=1;transaction.state.log.num.partitions=1"
)
TOPICS = {"in": list(range(PARTITIONS)), "out": list(range(PARTITIONS))}
EXPECTED_PROBLEMS = {"no metadata"}
"""Nobody watches this cluster."""


@pytest.fixture(scope="module", params=["0.11.0.3", "4.3.1"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with one_broker(request.param, SETTINGS) as found:
        yield found


def process(name: str, kind: str, **settings: str) -> dict[str, Any]:
    return {"name": name, "kind": kind, "final": kind == "final-read", "settings": settings}


def found_in(run_dir: RunDir) -> list[str]:
    findings = check_run(run_dir)
    assert {check.name for check in findings.checks if check.status != "ok"} == set()
    assert {problem.what for problem in findings.problems} <= EXPECTED_PROBLEMS
    return [finding.anomaly for finding in findings.findings]


def rewritten(run_dir: RunDir, process: str, kind: str, new_kind: str) -> None:
    """Falsify a process's stream: rows of one kind become rows of another."""

    def change(table: pa.Table) -> pa.Table:
        rows = [row | {"kind": new_kind if row["kind"] == kind else row["kind"]} for row in table.to_pylist()]
        return pa.Table.from_pylist(rows, schema=table.schema)

    rewrite(run_dir.stream(process), change)


def test_transactions_and_a_pipeline_that_processes_exactly_once(broker: Broker, tmp_path: Path) -> None:
    for topic in TOPICS:
        broker.make_topic(topic)
    run_dir = RunDir(tmp_path / "run")
    isolation = {"isolation.level": "read_committed"}
    run_dir.write_run(
        run_record({
            "run": run_dir.path.name,
            "scenario": "s",
            "version": "v",
            "topics": [
                {"name": topic, "partitions": {str(n): [1] for n in numbers}} for topic, numbers in TOPICS.items()
            ],
            "processes": [
                process("producer", "producer", **{"transactional.id": "p"}),
                process("pipeline", "processor", **{"transactional.id": "q"} | isolation),
                process("reader", "consumer", **isolation),
                process("final", "final-read"),
            ],
        })
    )  # fmt: skip
    final = FinalReader(client(run_dir, "final", broker), TOPICS, timeout_s=LIMIT_S)
    pipeline = Pipeline(
        client(run_dir, "pipeline", broker, 2, {"transactional.id": "q"}),
        consumer_settings=broker.settings | isolation,
        inputs={"in": TOPICS["in"]},
        output="out",
        output_partitions=PARTITIONS,
    )
    with Timeline(run_dir.timeline) as timeline:
        reader = BackgroundConsumer(client(run_dir, "reader", broker, settings=isolation), assign=TOPICS)
        producer = TransactionalProducer(client(run_dir, "producer", broker, 1, {"transactional.id": "p"}), timeline)
        with reader, pipeline:
            for partition, end in enumerate((producer.commit, producer.abort, producer.commit)):
                assert producer.begin(timeout_s=LIMIT_S).outcome == "ok"
                sent = producer.send("in", partition, count=2, timeout_s=LIMIT_S)
                sent += producer.send("in", 0, timeout_s=LIMIT_S)
                assert [one.outcome for one in sent] == ["ok"] * 3
                ended = end(timeout_s=LIMIT_S)
                assert (ended.transaction, ended.outcome, ended.error_name) == (partition, "ok", None)
            pipeline.wait_processed(6, timeout_s=LIMIT_S)
            reader.wait_read(12, timeout_s=LIMIT_S)
        producer.close()
    assert final.read().complete
    (told,) = read(run_dir.timeline).of(Configuration)
    assert told.settings.items() >= {"transactional.id": "p", "request.required.acks": "-1"}.items()

    table = pa.concat_tables([*open_run(run_dir).tables.values(), open_run(run_dir).operations])
    rows = table.to_pylist()
    ends = [(row["kind"], row["transaction"]) for row in rows if row["process"] == "producer" and row["topic"] is None]
    assert ends[:6] == [
        *(("begin", 0), ("commit", 0)),
        *(("begin", 1), ("abort", 1)),
        *(("begin", 2), ("commit", 2)),
    ]
    processed = [row for row in rows if row["kind"] == schema.PROCESSED]
    assert len(processed) == 6
    assert {row["topic"] for row in processed} == {"in"}
    assert all(row["transaction"] is not None for row in rows if row["kind"] in (schema.PROCESSED, schema.OFFSETS))
    assert found_in(run_dir) == []

    # The same history, had the committed transactions been aborted, and the other way round.
    rewritten(run_dir, "producer", schema.COMMIT, schema.ABORT)
    assert "aborted-read" in found_in(run_dir)


def test_a_pipeline_without_transactions_and_one_that_commits_what_it_never_processed(
    broker: Broker, tmp_path: Path
) -> None:
    broker.make_topic("in2")
    broker.make_topic("out2")
    run_dir = RunDir(tmp_path / "run")
    names = {"producer": "producer", "pipeline": "processor", "final": "final-read"}
    run_dir.write_run(
        run_record(
            {
                "run": run_dir.path.name,
                "scenario": "s",
                "version": "v",
                "topics": [{"name": topic, "partitions": {"0": [1]}} for topic in ("in2", "out2")],
                "processes": [process(name, kind) for name, kind in names.items()],
            }
        )
    )
    inputs = {"in2": [0], "out2": [0]}
    final = FinalReader(client(run_dir, "final", broker), inputs, timeout_s=LIMIT_S)
    pipeline = Pipeline(
        client(run_dir, "pipeline", broker, 2),
        consumer_settings=broker.settings, inputs={"in2": [0]}, output="out2", output_partitions=1,
    )  # fmt: skip
    with Timeline(run_dir.timeline) as timeline:
        own = {"transactional.id": f"p-{time.monotonic_ns()}"}
        producer = TransactionalProducer(client(run_dir, "producer", broker, 1, own), timeline)
        with pipeline:
            producer.begin(timeout_s=LIMIT_S)
            producer.send("in2", 0, count=3, timeout_s=LIMIT_S)
            producer.commit(timeout_s=LIMIT_S)
            pipeline.wait_processed(3, timeout_s=LIMIT_S)
        producer.close()
    assert final.read().complete
    assert found_in(run_dir) == []
    rewritten(run_dir, "pipeline", schema.PROCESSED, schema.POLL_ERROR)
    assert {"committed-too-far", "skipped-processing"} <= set(found_in(run_dir))
