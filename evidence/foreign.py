"""What befell nodes' containers by something other than a fault of the run, as the engine tells it.

Somebody pauses a container by hand, or a machine has no memory left: what comes of it is not Kafka's doing.
The verdict is in doubt then (judgement/doubts.py), and the duties of brokers after the faults are owed no more
(checks/anomalies/availability.py): nobody knows when such an action was over. A container that was disconnected from
its network, for instance, may come back with another address.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evidence.events import Container, of
from evidence.run_state import DEADLY, FaultFact, RunState


@dataclass(frozen=True, slots=True)
class Foreign:
    """What befell a node by something other than a fault of the run."""

    node: str
    text: str
    since_ns: int
    gone: bool
    """Whether its process was taken away, for a while at least."""
    acted: bool
    """Whether somebody acted on it: that its process ended alone may be the process's own doing."""


def foreign_events(run_state: RunState) -> list[Foreign]:
    """What the engine did to nodes' containers and no fault of the run explains, one for each node."""
    by_node: dict[str, list[Container]] = {}
    for event in of(run_state.events, Container):
        by_node.setdefault(event.node, []).append(event)
    out_of_memory, others = [], []
    for node, events in sorted(by_node.items()):
        told = _unexplained(events, [fault for fault in run_state.faults if fault.node == node])
        ooms = [event.at_ns for event in told if event.action == "oom"]
        if ooms:
            out_of_memory.append(Foreign(node, f"{node} ran out of memory", ooms[0], gone=True, acted=True))
            told = [event for event in told if event.action != "oom"]
            _take(told, "die", 0)
        # A container that ends leaves its network, and one that starts joins it: only one more is foreign.
        dies = sum(event.action == "die" for event in events)
        told += [event for event in events if event.action == "disconnect"][dies:]
        if told:
            what = ", ".join(_told(event) for event in told)
            text = f"{node}: {what}, by something other than a fault of this run"
            gone = any(event.action != "kill" or event.signal in DEADLY for event in told)
            acted = any(event.action != "die" and (event.action != "kill" or event.signal in DEADLY) for event in told)
            others.append(Foreign(node, text, min(event.at_ns for event in told), gone, acted))
    return out_of_memory + others


def _unexplained(events: Sequence[Container], faults: Sequence[FaultFact]) -> list[Container]:
    """Of what the engine did to one node, but for its first start, what its faults do not explain."""
    told = [event for event in events if event.action not in ("connect", "disconnect")]
    _take(told, "start", 0)
    for fault in faults:
        for action in fault.proof_type.explains:
            _take(told, action, fault.inject_ns)
        if (proof := fault.proof) is not None:
            told = [event for event in told if not proof.explains_event(event)]
    return told


def _take(events: list[Container], action: str, since_ns: int) -> None:
    """Leave out the first event of a kind from a time on."""
    found = next((event for event in events if event.action == action and event.at_ns >= since_ns), None)
    if found is not None:
        events.remove(found)


def _told(event: Container) -> str:
    if event.action == "die":
        how = "exit code not told" if event.exit_code is None else f"exit code {event.exit_code}"
        return f"its process ended ({how})"
    if event.action == "kill":
        return f"signal {event.signal}" if event.signal is not None else "a signal"
    return {
        "start": "started",
        "stop": "stopped",
        "pause": "paused",
        "unpause": "unpaused",
        "disconnect": "disconnected from the network",
    }.get(event.action, event.action)
