"""Claims about the ids of brokers: those that Kafka generates, and those that do not fit a broker's directory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import faults, judged
from evidence.basis import Basis
from evidence.events import Broker, of
from evidence.faults.process import ExitProof, RunningProof, StartProof
from evidence.nodes import broker, number_of
from evidence.text import plural

ID: Final = "broker.id"
UNSET: Final = "-1"
RESERVED: Final = 1000
"""The default of reserved.broker.max.id."""


@claim(
    "broker-id-generated",
    source="KAFKA-1070; Kafka documentation, broker configuration: broker.id.generation.enable, reserved.broker.max.id",
    basis=Basis.JIRA,
)
def broker_id_generated(evidence: RunEvidence) -> Judged:
    """A broker without a configured id registers with one above reserved.broker.max.id, and with the same one whenever
    it starts again.

    Each registration of a broker with broker.id=-1 is a row, and each of an id that no node of the cluster has.
    """
    run_state, settings = evidence.run_state, evidence.run.settings
    reserved = int(settings.get("reserved.broker.max.id", RESERVED))
    rows: list[dict[str, Any]] = [
        {"node": one.node, "at_ns": one.at_ns, "reserved": reserved, "known": one.node in run_state.processes}
        for one in of(run_state.events, Broker)
        if one.state == "registered"
        and (settings.get(f"{number_of(one.node)}:{ID}") == UNSET or one.node not in run_state.processes)
    ]
    wrong = [row for row in rows if not row["known"] or number_of(row["node"]) <= reserved]
    seen = plural(len(rows), "registration") + " with a generated id"
    return judged(rows, wrong, seen, "no broker was without an id")


@claim("other-broker-id-refused", source="KAFKA-1070", basis=Basis.JIRA)
def other_broker_id_refused(evidence: RunEvidence) -> Judged:
    """A broker that is started with another id than the one in meta.properties exits, and registers under neither."""
    rows = list(_started_with_another(evidence))
    wrong = [row for row in rows if row["registered"] or not row["ended"]]
    seen = plural(len(rows), "start") + " with another id, refused"
    return judged(rows, wrong, seen, "no broker was started with another id than it had")


def _started_with_another(evidence: RunEvidence) -> Iterator[dict[str, Any]]:
    """Each start of a node with an id that is not its own, and what came of it until it was started the next time."""
    run_state = evidence.run_state
    starts = list(faults(run_state, RunningProof))
    for fault, proof in run_state.proved(StartProof):
        other = (proof.settings or {}).get(ID, UNSET)
        if other in (UNSET, str(number_of(fault.node))):
            continue
        later = (one.inject_ns for one in starts if one.node == fault.node and one.inject_ns > fault.inject_ns)
        end_ns = next(later, run_state.end_ns)
        names = {fault.node, broker(int(other))}
        yield {
            "node": fault.node,
            "at_ns": fault.inject_ns,
            "id": other,
            "registered": sorted(
                one.node
                for one in of(run_state.events, Broker)
                if one.node in names and one.alive and fault.inject_ns < one.at_ns < end_ns
            ),
            "ended": any(
                one.node == fault.node and fault.inject_ns < one.inject_ns < end_ns
                for one, _ in run_state.proved(ExitProof)
            ),
        }
