"""Claims about a migration from ZooKeeper to KRaft (KIP-866, Kafka 3.4 to 3.9).

It has happened when three witnesses say so. The KRaft controller says it in its log. In ZooKeeper that controller
writes that it has the metadata (/migration) and that it is the controller. The proofs of starts say that brokers were
started with what a migration takes. A line in a log alone is of a controller that nobody may heed. Where one of the
three says nothing, nothing is shown. A broker that is down at that moment, and has no replica, is not waited for (seen
on 3.5.1): it joins later.

The way back is shown by ZooKeeper again, which names a broker as the controller and has no /migration any more, and by
the starts of brokers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import faults, judged
from evidence.basis import Basis
from evidence.events import Log, Znode, of
from evidence.faults.process import StartProof
from evidence.nodes import number_of
from evidence.spans import NEVER_NS
from evidence.text import plural

MIGRATION: Final = "/migration"
SWITCH: Final = "zookeeper.metadata.migration.enable"


def _prepared(evidence: RunEvidence, line: Log) -> bool:
    """Whether every broker that was registered when a controller said that the migration is over had been started with
    the settings of one.
    """
    return _switched(evidence, line.at_ns, "true") == []


def _switched(evidence: RunEvidence, at_ns: int, to: str) -> list[str] | None:
    """The brokers, registered at a moment, of which the last start that set the switch did not set it to this value: a
    setting counts from a start on. None if no broker is registered.
    """
    run_state = evidence.run_state
    proved = [start for start in faults(run_state, StartProof) if (start.proved_ns or NEVER_NS) < at_ns]
    settings = [(start.node, start.proof.settings or {}) for start in proved if isinstance(start.proof, StartProof)]
    set_to = {node: given[SWITCH] for node, given in settings if SWITCH in given}
    brokers = [node for node in run_state.registrations if run_state.alive_at(node, at_ns)]
    return [node for node in brokers if set_to.get(node) != to] if brokers else None


def _otherwise(evidence: RunEvidence, line: Log, kept: Znode) -> Iterator[str]:
    """What speaks against the migration that a controller's line tells of."""
    has = (kept.entries.get("kraft_controller_id"), int(kept.entries.get("kraft_metadata_offset", -1)) >= 0)
    if has != (number_of(line.node), True):
        yield f"{MIGRATION} does not say that {line.node} has the metadata"
    since = [one.value for one in evidence.run_state.controllers if one.value and one.end_ns > line.at_ns]
    if set(since) != {line.node}:
        yield f"{line.node} is not the controller to the end"


@claim("metadata-migrated-to-kraft", source="KIP-866", basis=Basis.KIP)
def metadata_migrated_to_kraft(evidence: RunEvidence) -> Judged:
    """A KRaft controller has completed the migration once every registered broker was started with the settings of a
    migration. To the end ZooKeeper names that controller as the holder of the metadata and as the controller.
    """
    lines = [one for one in of(evidence.run_state.events, Log) if one.event == "migrated"]
    kept = [one for one in of(evidence.run_state.events, Znode) if one.path == MIGRATION]
    rows: list[dict[str, Any]] = [
        {
            "node": line.node,
            "at_ns": line.at_ns,
            "line": line.line,
            "otherwise": [*_otherwise(evidence, line, kept[-1])],
        }
        for line in lines
        if kept and _prepared(evidence, line)
    ]
    wrong = [row for row in rows if row["otherwise"]]
    return judged(rows, wrong, plural(len(rows), "migration") + " completed", "no migration was seen to its end")


def _not_reverted(evidence: RunEvidence, gone: Znode, last_ns: int) -> Iterator[str]:
    """What speaks against a revert, once /migration is gone."""
    since = [one.value for one in evidence.run_state.controllers if one.value and one.end_ns > gone.at_ns]
    if not since:
        yield "nobody is the controller"
    if others := sorted({one for one in since if not one.startswith("broker-")}):
        yield f"{', '.join(others)} is the controller after it"
    left = _switched(evidence, last_ns, "false")
    if left is None or left:
        yield f"{', '.join(left or ())} migrates still" if left else "no broker is registered at the end"


@claim(
    "migration-reverted",
    source="Kafka documentation, Reverting to ZooKeeper mode during the migration",
    basis=Basis.DOCUMENTATION,
)
def migration_reverted(evidence: RunEvidence) -> Judged:
    """After a migration was completed and then reverted, ZooKeeper has no /migration, brokers alone are the controller
    to the end, and every broker that is registered was started without the settings of a migration.
    """
    events = evidence.run_state.events
    lines = [one for one in of(events, Log) if one.event == "migrated"]
    kept = [one for one in of(events, Znode) if one.path == MIGRATION]
    last_ns = events[-1].at_ns - 1 if events else 0
    rows: list[dict[str, Any]] = [
        {
            "node": line.node,
            "at_ns": kept[-1].at_ns,
            "completed_ns": line.at_ns,
            "otherwise": [*_not_reverted(evidence, kept[-1], last_ns)],
        }
        for line in lines
        if kept and kept[-1].content is None and kept[-1].at_ns > line.at_ns
    ]
    wrong = [row for row in rows if row["otherwise"]]
    return judged(rows, wrong, plural(len(rows), "migration") + " reverted", "no migration was reverted")
