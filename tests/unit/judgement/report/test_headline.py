"""The sentence at the top says what was seen and who documents it, and claims nothing that was not checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from judgement.report import facts
from judgement.report.headline import headline
from tests.findings import write
from tests.unit.judgement.report import synthetic


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            synthetic.double_failover_lost,
            "m3, acknowledged with acks=all at offset 3 of t-0, is gone, "
            "as KIP-101 and KAFKA-1211 document for 0.10.2.2.",
        ),
        (
            synthetic.double_failover_kept,
            "All 5 acknowledged records were read back and the replicas agree, "
            "as KIP-101 and KAFKA-1211 document for 4.3.1.",
        ),
        (synthetic.unknown, "This run proves nothing: fault f1 (kill -9 of broker-1) was injected and never verified."),
        (synthetic.isolation, "Phantom: two records <b>nobody</b> sent. Nothing documents phantom for 2.8.2."),
        (synthetic.failed, "The harness failed, so nothing is known about Kafka: broker-2 ended while waiting"),
    ],
)
def test_the_headline(tmp_path: Path, make: Any, sentence: str) -> None:
    assert headline(facts.load(make(tmp_path))) == sentence


def test_a_contradicted_claim_is_the_headline(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_kept(tmp_path)
    findings = json.loads(run_dir.findings.read_text())
    name = "leader-epoch-rises-by-one"
    findings["claims"] = [
        {"name": name, "outcome": "contradicted", "observed": "2 changes of leader, 1 of them otherwise"}
    ]
    write(run_dir, findings)
    documented = run_dir.read_run().documented
    synthetic.change_run(run_dir, documented=structs.replace(documented, claims=(name,)))
    told = headline(facts.load(run_dir))
    assert told == f"On 4.3.1 the claim {name} is contradicted: 2 changes of leader, 1 of them otherwise."


def test_what_was_not_checked_is_not_claimed(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_kept(tmp_path)
    findings = json.loads(run_dir.findings.read_text())
    findings["checks"] = [c for c in findings["checks"] if c["name"] != "replica-divergence"]
    write(run_dir, findings)
    assert "agree" not in headline(facts.load(run_dir))


def test_a_source_that_is_no_ticket_is_named_in_brackets(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_kept(tmp_path)
    documented = run_dir.read_run().documented
    synthetic.change_run(run_dir, documented=structs.replace(documented, source="Documentation, Replication"))
    assert headline(facts.load(run_dir)).endswith("as documented for 4.3.1 (Documentation, Replication).")


def test_a_reused_offset_is_no_headline_of_its_own(tmp_path: Path) -> None:
    run_dir = synthetic.double_failover_lost(tmp_path)
    before = headline(facts.load(run_dir))
    findings = json.loads(run_dir.findings.read_text())
    values = [{"producer": 1, "sequence": 3}, {"producer": 1, "sequence": 4}]
    evidence = [{"offset": 3, "values": values, "readers": values[1:]}]
    reused = {"anomaly": "inconsistent-offsets", "topic": "t", "partition": 0, "count": 1, "evidence": evidence}
    findings["findings"].append(reused)
    write(run_dir, findings)
    assert headline(facts.load(run_dir)) == before
    reused["evidence"] = [{"offset": 3, "values": values, "readers": values}]
    write(run_dir, findings)
    assert "inconsistent-offsets: seen" in headline(facts.load(run_dir))
