"""What a producer is told that another one with its transactional.id has fenced (KIP-98, KIP-588).

Two processes have one transactional.id among their settings. The second one began a transaction while the first one's
was open, and then the first one came to commit it. Which error it is told differs by release and by client, so a
scenario names the claim that fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import judged
from evidence.basis import Basis
from evidence.events import Transaction, of
from evidence.history.outcomes import OK
from evidence.text import plural

TRANSACTIONAL_ID = "transactional.id"
NEVER = "no producer came to commit after another one with its transactional.id had begun"


def _late_commits(evidence: RunEvidence) -> Iterator[Transaction]:
    """Commits of transactions that were open when another process with the same transactional.id began one."""
    told = of(evidence.run_state.events, Transaction)
    for commit in told:
        opened = [one for one in told if one.phase == "begin" and one.outcome == OK and one.at_ns < commit.at_ns]
        own = [one for one in opened if one.process == commit.process]
        if commit.phase == "commit" and own:
            same = {one.process for one in opened if one.at_ns > own[-1].at_ns and _same_id(evidence, one, commit)}
            if same - {commit.process}:
                yield commit


def _same_id(evidence: RunEvidence, one: Transaction, other: Transaction) -> bool:
    ids = []
    for name in (one.process, other.process):
        process = evidence.run.process(name)
        ids.append(process.settings.get(TRANSACTIONAL_ID) if process is not None else None)
    return ids[0] is not None and ids[0] == ids[1]


def _told(evidence: RunEvidence, *errors: str) -> Judged:
    """Whether each late commit ended with one of these errors."""
    rows: list[dict[str, Any]] = [
        {"process": one.process, "transaction": one.transaction, "outcome": one.outcome, "error": one.error}
        for one in _late_commits(evidence)
    ]
    wrong = [row for row in rows if row["outcome"] == OK or row["error"] not in errors]
    seen = ", ".join(sorted({row["error"] or "no error" for row in rows}))
    return judged(rows, wrong, f"{plural(len(rows), 'late commit')} ({seen})", NEVER)


@claim(
    "fenced-commit-told-producer-fenced",
    source="KIP-588; TransactionCoordinator.endTransaction (2.7.0, 2.8.2): PRODUCER_FENCED",
    basis=Basis.KIP,
)
def fenced_commit_told_producer_fenced(evidence: RunEvidence) -> Judged:
    """The commit of a producer that another one with its transactional.id has fenced ends with PRODUCER_FENCED."""
    return _told(evidence, "PRODUCER_FENCED")


@claim(
    "fenced-commit-told-invalid-epoch",
    source="TransactionCoordinator.endTransaction (0.11.0.2, 2.6.3): INVALID_PRODUCER_EPOCH; KIP-588",
    basis=Basis.SOURCE,
)
def fenced_commit_told_invalid_epoch(evidence: RunEvidence) -> Judged:
    """The commit of a producer that another one with its transactional.id has fenced ends with INVALID_PRODUCER_EPOCH.

    Java's class for this error was ProducerFencedException before 2.7, and is InvalidProducerEpochException since.
    """
    return _told(evidence, "INVALID_PRODUCER_EPOCH")


@claim(
    "fenced-commit-told-by-client",
    source="librdkafka, rd_kafka_txn_normalize_err (2.16.0): _FENCED; TransactionManager.maybeFailWithError (0.11.0.2 "
    "to 2.2.2): KafkaException",
    basis=Basis.SOURCE,
)
def fenced_commit_told_by_client(evidence: RunEvidence) -> Judged:
    """The commit of a producer that another one with its transactional.id has fenced ends with an error of its client's
    own. librdkafka has _FENCED, whatever the broker said. Java has KafkaException, once a record was refused.
    """
    return _told(evidence, "_FENCED", "KafkaException")
