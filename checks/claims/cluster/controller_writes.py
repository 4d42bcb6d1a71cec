"""Claims about how a broker writes itself down as the controller in ZooKeeper, by ZooKeeper's own transaction log.

Between two separate writes a controller may be replaced, and then raises the epoch of its successor. KAFKA-6082 joined
them in one transaction, which goes through only if nobody else has raised the epoch meanwhile.
"""

from __future__ import annotations

from typing import Any

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import judged
from evidence.basis import Basis
from evidence.events import ControllerWritten, of
from evidence.text import plural

NOBODY = "ZooKeeper's log has nobody who became the controller"


def _rows(evidence: RunEvidence) -> list[dict[str, Any]]:
    return [
        {
            "node": one.node,
            "at_ns": one.at_ns,
            "epoch": one.epoch,
            "controller_zxid": one.controller_zxid,
            "epoch_zxid": one.epoch_zxid,
        }
        for one in of(evidence.run_state.events, ControllerWritten)
    ]


@claim(
    "controller-and-epoch-in-one-transaction",
    source="KafkaZkClient.registerControllerAndIncrementControllerEpoch (2.1.0 to 3.9.2); KAFKA-6082",
    basis=Basis.SOURCE,
)
def controller_and_epoch_in_one_transaction(evidence: RunEvidence) -> Judged:
    """From 2.1 on a broker creates /controller and raises /controller_epoch in one transaction of ZooKeeper."""
    rows = _rows(evidence)
    wrong = [row for row in rows if row["controller_zxid"] != row["epoch_zxid"]]
    return judged(rows, wrong, plural(len(rows), "controller") + " by one transaction each", NOBODY)


@claim(
    "controller-and-epoch-in-two-writes",
    source="KafkaController.onControllerFailover, incrementControllerEpoch (0.8.2.2 to 2.0.1)",
    basis=Basis.SOURCE,
)
def controller_and_epoch_in_two_writes(evidence: RunEvidence) -> Judged:
    """Before 2.1 a broker creates /controller first, and raises /controller_epoch by a second write."""
    rows = _rows(evidence)
    wrong = [row for row in rows if row["controller_zxid"] >= row["epoch_zxid"]]
    return judged(rows, wrong, plural(len(rows), "controller") + " by two writes each", NOBODY)
