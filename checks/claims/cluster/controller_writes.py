"""Claims about how a broker writes itself down as the controller in ZooKeeper, by ZooKeeper's own transaction log.

Between two separate writes a controller may be replaced, and then raises the epoch of its successor. KAFKA-6082 joined
them in one transaction, which goes through only if nobody else has raised the epoch meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import judged
from evidence.basis import Basis
from evidence.events import ControllerWritten, CreationRefused, Log, of
from evidence.run_state import UP
from evidence.text import plural

REFUSED: Final = "controller-refused"
FOUND: Final = "controller-found"
CLOCKS_NS: Final = 100_000_000
"""By how much the clocks of ZooKeeper, in milliseconds, and of a broker's lines may differ."""
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


@claim(
    "one-broker-creates-controller-znode",
    source="ZookeeperLeaderElector.elect (0.8.2.2 to 0.11.0.3), KafkaController.elect (1.0.2 to 3.0.0)",
    basis=Basis.SOURCE,
)
def one_broker_creates_controller_znode(evidence: RunEvidence) -> Judged:
    """When /controller is deleted every live broker tries to create it. One succeeds, and each of the others is refused
    (NODEEXISTS), or finds it there before it tries.

    The others say which, at DEBUG. For one that was refused ZooKeeper's own log has a creation that it refused to it.
    """
    rows = list(_contenders(evidence))
    wrong = [row for row in rows if row["said"] is None or (row["said"] == REFUSED and row["refused_zxid"] is None)]
    refused = sum(row["said"] == REFUSED for row in rows)
    seen = f"{plural(len(rows), 'broker')} came too late for /controller, {refused} of them refused"
    return judged(rows, wrong, seen, "no controller was replaced, or no broker said what came of its election")


def _contenders(evidence: RunEvidence) -> Iterator[dict[str, Any]]:
    """Of each controller but the first: the other brokers that lived when it made /controller, and what came of it."""
    run_state = evidence.run_state
    said = [one for one in of(run_state.events, Log) if one.event in (REFUSED, FOUND)]
    if not said:
        return
    written = sorted(of(run_state.events, ControllerWritten), key=lambda one: one.at_ns)
    refusals = {(one.node, one.controller_zxid): one.zxid for one in of(run_state.events, CreationRefused)}
    ends_ns = [*(after.at_ns for _, after in pairwise(written)), run_state.end_ns][1:]
    for made, end_ns in zip(written[1:], ends_ns, strict=True):
        for node in run_state.registrations:
            lives = run_state.alive_at(node, made.at_ns) and run_state.condition_at(node, made.at_ns) == UP
            if node == made.node or not lives:
                continue
            own = (one.event for one in said if one.node == node and made.at_ns - CLOCKS_NS <= one.at_ns < end_ns)
            yield {
                "node": node,
                "at_ns": made.at_ns,
                "controller": made.node,
                "epoch": made.epoch,
                "said": next(own, None),
                "refused_zxid": refusals.get((node, made.controller_zxid)),
            }
