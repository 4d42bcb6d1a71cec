"""A node's release, protocol and message format at each time of a run: nodes may be started as other releases, or with
another protocol or message format, during the run.

What is stated by release is chosen by these at the time of what is judged, never by the release that the run began
with.
"""

from __future__ import annotations

from typing import Final

from evidence import borders
from evidence.faults.upgrade import RaiseProof, UpgradeProof
from evidence.releases import Release, numbers
from evidence.run import RunRecord
from evidence.run_state import RunState

PROTOCOL: Final = "inter.broker.protocol.version"
FORMAT: Final = "log.message.format.version"


def release_at(run: RunRecord, run_state: RunState | None, node: str, at_ns: int) -> str:
    """The release that a node ran at a time (monotonic, ns), or had run last."""
    first = run.releases.get(node, (run.kafka,))[0]
    proofs = [
        fault.proof
        for fault in (run_state.faults if run_state else ())
        if fault.node == node and fault.inject_ns <= at_ns and isinstance(fault.proof, UpgradeProof)
    ]
    return proofs[-1].release if proofs else first


def _held_at(run: RunRecord, run_state: RunState | None, node: str, at_ns: int, setting: str) -> Release:
    """What a broker was last started with, or what the run's settings state, or its release."""
    raised = [
        fault.proof.settings[setting]
        for fault in (run_state.faults if run_state else ())
        if fault.node == node and fault.inject_ns <= at_ns and isinstance(fault.proof, RaiseProof)
        if fault.proof.settings and setting in fault.proof.settings
    ]
    stated = raised[-1] if raised else run.settings.get(setting)
    return numbers(stated or release_at(run, run_state, node, at_ns))


def protocol_at(run: RunRecord, run_state: RunState | None, node: str, at_ns: int) -> Release:
    """The inter-broker protocol that a broker with ZooKeeper went by at a time."""
    return _held_at(run, run_state, node, at_ns, PROTOCOL)


def format_at(run: RunRecord, run_state: RunState | None, node: str, at_ns: int) -> Release:
    """The message format that a broker with ZooKeeper wrote at a time, up to protocol 2.8."""
    return _held_at(run, run_state, node, at_ns, FORMAT)


def has_epochs_at(run: RunRecord, run_state: RunState | None, node: str, at_ns: int) -> bool:
    """Whether a broker with ZooKeeper truncated by leader epoch at a time: it needs the protocol to ask for the end of
    one, and the message format to have one in its log (KIP-101).
    """
    oldest = min(protocol_at(run, run_state, node, at_ns), format_at(run, run_state, node, at_ns))
    return oldest >= borders.LEADER_EPOCHS.release
