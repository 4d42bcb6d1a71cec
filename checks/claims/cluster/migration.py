"""Claims about a migration from ZooKeeper to KRaft (KIP-866, Kafka 3.4 to 3.9).

It has happened when three say so: the KRaft controller in its log; ZooKeeper, where that controller writes that it has
the metadata (/migration) and that it is the controller; and the proofs that brokers were started with what a migration
takes. A line in a log alone is of a controller that nobody may heed. Where one of the three says nothing, nothing is
shown. A broker that is down at that moment, and has no replica, is not waited for (seen on 3.5.1): it joins later.
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
    run_state = evidence.run_state
    proved = [start for start in faults(run_state, StartProof) if (start.proved_ns or NEVER_NS) < line.at_ns]
    started = {start.node: start.proof.settings for start in proved if isinstance(start.proof, StartProof)}
    brokers = [node for node in run_state.registrations if run_state.alive_at(node, line.at_ns)]
    return bool(brokers) and all((started.get(node) or {}).get(SWITCH) == "true" for node in brokers)


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
