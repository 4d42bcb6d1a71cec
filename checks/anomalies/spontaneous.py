"""Elections, shrinks of an ISR and ends of sessions and offices that nothing of the run explains.

None of them loses a record by itself, and each is a fault of Kafka's: a leader that is replaced for no reason makes
clients wait, and is a chance to lose records. What explains one stands in checks/claims/spontaneous.py. Where the
machine may have been the reason there is a doubt instead (judgement/doubts.py).
"""

from __future__ import annotations

from typing import Any, Final

from checks.anomaly import CLUSTER, GUARANTEES, SETTINGS, anomaly
from checks.claims.spontaneous import What, spontaneous
from evidence.basis import Basis
from evidence.run import RunRecord
from evidence.run_state import RunState

Evidence = dict[str, Any]

LAG: Final = "Kafka documentation, broker configuration: replica.lag.time.max.ms; KIP-16"
OFFICE: Final = (
    "KIP-595 (voters replace a leader that they do not hear); Kafka documentation, broker configuration: "
    "zookeeper.session.timeout.ms, controller.quorum.fetch.timeout.ms"
)
SESSION: Final = "Kafka documentation, broker configuration: zookeeper.session.timeout.ms, broker.session.timeout.ms"


def _rows(run_state: RunState, run: RunRecord, what: What) -> list[Evidence]:
    return [one.row() for one in spontaneous(run_state, run) if one.what == what and not one.by_machine]


@anomaly("spontaneous-election", source=GUARANTEES, basis=Basis.DOCUMENTATION, reads=(CLUSTER, SETTINGS))
def spontaneous_election(run_state: RunState, run: RunRecord) -> list[Evidence]:
    """A leader whose process was up was replaced, or elected again, and nothing explains it.

    No fault of the run that concerns the partition's leaders or the controller lasted, or had ended shortly before. No
    administrator asked for it, no automatic rebalance may have done it, and no observer was blind. The machine had held
    nobody up for half a session.
    """
    return _rows(run_state, run, "election")


@anomaly("spontaneous-isr-shrink", source=LAG, basis=Basis.DOCUMENTATION, reads=(CLUSTER, SETTINGS))
def spontaneous_isr_shrink(run_state: RunState, run: RunRecord) -> list[Evidence]:
    """A follower whose process was up left the ISR, and nothing explains it.

    As of spontaneous-election, of faults that concern the follower or its leaders, and of a machine that held nobody up
    for half of replica.lag.time.max.ms.
    """
    return _rows(run_state, run, "isr-shrink")


@anomaly("spontaneous-fencing", source=SESSION, basis=Basis.DOCUMENTATION, reads=(CLUSTER, SETTINGS))
def spontaneous_fencing(run_state: RunState, run: RunRecord) -> list[Evidence]:
    """The session of a broker whose process was up ended (with KRaft it was fenced), and nothing explains it.

    As of spontaneous-election, of faults that concern the broker, or who keeps sessions.
    """
    return _rows(run_state, run, "fencing")


@anomaly("spontaneous-controller-change", source=OFFICE, basis=Basis.KIP, reads=(CLUSTER, SETTINGS))
def spontaneous_controller_change(run_state: RunState, run: RunRecord) -> list[Evidence]:
    """A controller whose process was up was replaced, elected again or taken away, and nothing explains it.

    As of spontaneous-election, of faults that concern the controller, ZooKeeper or KRaft's other controllers, and of a
    machine that held nobody up for half of a session (ZooKeeper) or of controller.quorum.fetch.timeout.ms.
    """
    return _rows(run_state, run, "controller-change")
