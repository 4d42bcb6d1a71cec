"""Claims about how a broker writes itself down as the controller in ZooKeeper, by ZooKeeper's own transaction log.

Between two separate writes a controller may be replaced, and then raises the epoch of its successor. KAFKA-6082 joined
them in one transaction, which goes through only if nobody else has raised the epoch meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import judged, release_of
from evidence import borders
from evidence.basis import Basis
from evidence.events import Controller, ControllerWritten, CreationRefused, Log, LogKind, Partition, of
from evidence.run import RunRecord
from evidence.run_state import UP
from evidence.text import plural

REFUSED: Final = "controller-refused"
FOUND: Final = "controller-found"
CLOCKS_NS: Final = 100_000_000
"""By how much the clocks of ZooKeeper, in milliseconds, and of a broker's lines may differ."""
NOT_ACTED: Final = "no controller that had been replaced told that it was held back"
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
    source="ZookeeperLeaderElector.elect (0.8.2.2 to 0.10.2.2), KafkaController.elect (0.11.0.0 to 3.9.0)",
    basis=Basis.SOURCE,
)
def one_broker_creates_controller_znode(evidence: RunEvidence) -> Judged:
    """When /controller is deleted every live broker tries to create it. One succeeds, and each of the others is refused
    (NODEEXISTS), or finds it there before it tries.

    The others say which, at DEBUG. For one that was refused ZooKeeper's own log has a creation that it refused to it.
    From 0.11 to 1.0 a broker whose client reads /controller when it is there again is told of a change, and says
    nothing: such a broker is not counted.
    """
    rows = [row for row in _contenders(evidence) if row["said"] is not None or not _may_be_silent(evidence.run)]
    wrong = [row for row in rows if row["said"] is None or (row["said"] == REFUSED and row["refused_zxid"] is None)]
    refused = sum(row["said"] == REFUSED for row in rows)
    seen = f"{plural(len(rows), 'broker')} came too late for /controller, {refused} of them refused"
    return judged(rows, wrong, seen, "no controller was replaced, or no broker said what came of its election")


def _may_be_silent(run: RunRecord) -> bool:
    """Whether a broker may learn of a new controller without a line in its log."""
    between = borders.CONTROLLER_CHANGES_SILENTLY.release, borders.DELETIONS_TOLD_ONE_BY_ONE.release
    return between[0] <= release_of(run) < between[1]


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


@claim(
    "replaced-controller-leaves-newer-state",
    source="PartitionStateMachine: electLeaderForPartition (0.8.2.2 to 1.0.2), doElectLeaderForPartitions (1.1.1 to "
    "3.9.0)",
    basis=Basis.SOURCE,
)
def replaced_controller_leaves_newer_state(evidence: RunEvidence) -> Judged:
    """A controller that has been replaced and acts with its old view leaves a partition's state alone, where a newer
    controller has written it.

    It says so in its log. No partition's controller epoch fell after that.
    """
    rows = list(_held_back(evidence, "controller-moved"))
    wrong = [row for row in rows if any(_falls(evidence, row["at_ns"]))]
    return judged(rows, wrong, plural(len(rows), "state") + " left to the newer controller", NOT_ACTED)


@claim("replaced-controller-is-fenced", source="KAFKA-6082", basis=Basis.JIRA)
def replaced_controller_is_fenced(evidence: RunEvidence) -> Judged:
    """From 2.1 on ZooKeeper refuses what a replaced controller writes, because /controller_epoch has changed.

    The old controller says so in its log, and no member of an ISR was removed in its epoch after it was replaced.
    """
    rows = list(_held_back(evidence, "controller-fenced"))
    wrong = [row for row in rows if any(_removals(evidence, row["in_office_ns"], row["epoch"]))]
    return judged(rows, wrong, plural(len(rows), "write") + " of a replaced controller refused", NOT_ACTED)


@claim(
    "replaced-controller-still-writes",
    source="KafkaController.removeReplicaFromIsr (0.8.2.2 to 0.11.0.3), ReplicaStateMachine (1.1.1, 2.0.1); KAFKA-6082",
    basis=Basis.SOURCE,
)
def replaced_controller_still_writes(evidence: RunEvidence) -> Judged:
    """Before 2.1 a controller that has been replaced and acts with its old view still writes the states of partitions
    that no newer controller has written.

    It says that it leaves another partition alone. A member of an ISR was removed in its epoch after it was replaced.
    """
    rows = [
        row | {"written": any(_removals(evidence, row["in_office_ns"], row["epoch"]))}
        for row in _held_back(evidence, "controller-moved")
    ]
    wrong = [row for row in rows if not row["written"]]
    return judged(rows, wrong, "a member was removed from an ISR in an old controller epoch", NOT_ACTED)


def _held_back(evidence: RunEvidence, kind: LogKind) -> Iterator[dict[str, Any]]:
    """What former controllers said of being held back, with the controller that was in office by then."""
    offices = [one for one in of(evidence.run_state.events, Controller) if one.node is not None]
    for said in of(evidence.run_state.events, Log):
        before = [one for one in offices if one.at_ns <= said.at_ns]
        if said.event == kind and before and before[-1].node != said.node in {one.node for one in before}:
            yield {
                "node": said.node,
                "at_ns": said.at_ns,
                "controller": before[-1].node,
                "epoch": before[-1].epoch,
                "in_office_ns": before[-1].at_ns,
            }


def _changes(evidence: RunEvidence, since_ns: int) -> Iterator[tuple[Partition, Partition]]:
    """Each change of a partition's state after a time."""
    for states in evidence.run_state.states.values():
        yield from ((before, after) for before, after in pairwise(states) if after.at_ns > since_ns)


def _falls(evidence: RunEvidence, since_ns: int) -> Iterator[bool]:
    """Of each change: whether the controller epoch fell."""
    for before, after in _changes(evidence, since_ns):
        yield (after.controller_epoch or 0) < (before.controller_epoch or 0)


def _removals(evidence: RunEvidence, since_ns: int, epoch: int) -> Iterator[bool]:
    """Of each change: whether a member of an ISR was removed in an older controller epoch."""
    for before, after in _changes(evidence, since_ns):
        yield bool(set(before.isr) - set(after.isr)) and (after.controller_epoch or 0) < epoch
