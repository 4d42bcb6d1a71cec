"""Settings of a run that several checks and claims go by."""

from __future__ import annotations

from typing import Final

from evidence.borders import UNCLEAN_IN_KRAFT, UNCLEAN_OFF
from evidence.events import DeleteTopic, Step, of
from evidence.faults.process import StartProof
from evidence.node_releases import release_at
from evidence.nodes import broker
from evidence.releases import Release, numbers
from evidence.run import RunRecord
from evidence.run_state import RunState

MIN_INSYNC: Final = "min.insync.replicas"
UNCLEAN: Final = "unclean.leader.election.enable"


def min_insync(run: RunRecord, topic: str) -> int:
    """A topic's min.insync.replicas as the run was begun: its own, the brokers', or 1."""
    own = next((plan.settings.get(MIN_INSYNC) for plan in run.topics if plan.name == topic), None)
    return int(own or run.settings.get(MIN_INSYNC, "1"))


def unclean_elections_on(run: RunRecord, run_state: RunState, topic: str, at_ns: int, mode: str) -> bool:
    """Whether replicas outside the ISR may be elected for a topic at a time (monotonic, ns), where the controller is
    ZooKeeper's or KRaft's (`mode`): by the topic's own setting, as it was made or set since, or by the brokers', or by
    its default, which was true before 0.11 (KIP-106). KRaft asks no setting before 3.9 (KAFKA-12670).

    Brokers may have settings of their own, and nobody asks here whose was the controller: it is on if it is for one.
    """
    releases = releases_of_controller(run, run_state, at_ns)
    if mode == "kraft" and max(releases) < UNCLEAN_IN_KRAFT.release:
        return False
    own = _set_since(run_state, at_ns, topic) or [
        plan.settings[UNCLEAN] for plan in run.topics if plan.name == topic and UNCLEAN in plan.settings
    ]
    if own:
        return own[-1].lower() == "true"
    if any(one.topic == topic and not one.withdrawn for one in of(run_state.events, DeleteTopic)):
        return True  # nobody knows the settings of a topic that is gone
    stated = _set_since(run_state, at_ns, None)[-1:] or [
        value for name, value in run.settings.items() if name.rpartition(":")[2] == UNCLEAN
    ]
    stated += [
        proof.settings[UNCLEAN]
        for fault, proof in run_state.proved(StartProof)
        if fault.inject_ns <= at_ns and proof.settings and UNCLEAN in proof.settings
    ]
    if stated:
        return any(value.lower() == "true" for value in stated)
    return min(releases) < UNCLEAN_OFF.release


def releases_of_controller(run: RunRecord, run_state: RunState, at_ns: int) -> set[Release]:
    """The release of who is the controller at a time; of every broker where nobody says who it is."""
    office = run_state.controller_at(at_ns)
    brokers = {broker(number) for replicas in run.assignment.values() for number in replicas} or {broker(1)}
    nodes = {office.value} if office is not None and office.value else brokers
    return {numbers(release_at(run, run_state, node, at_ns)) for node in nodes}


def _set_since(run_state: RunState, at_ns: int, topic: str | None) -> list[str]:
    """To what an administrator has set it by a time, for a topic, or for all brokers (None)."""
    wanted = ("set for all brokers", None) if topic is None else ("set for a topic", topic)
    return [
        str(step.detail["value"])
        for step in of(run_state.events, Step)
        if (step.name, step.detail.get("topic")) == wanted and step.detail.get("setting") == UNCLEAN
        if step.phase == "begin" and step.at_ns <= at_ns
    ]
