"""Settings of a run that several checks and claims go by."""

from __future__ import annotations

from typing import Final

from evidence.borders import ALL_REPLICAS_ARE_ENOUGH, TRANSACTIONS_SWEPT_OFTEN, UNCLEAN_IN_KRAFT, UNCLEAN_OFF
from evidence.events import NO_LEADER, DeleteTopic, Step, of
from evidence.faults.process import StartProof
from evidence.node_releases import release_at
from evidence.nodes import broker
from evidence.records import TopicPartition
from evidence.releases import Release, numbers
from evidence.run import RunRecord
from evidence.run_state import RunState

MIN_INSYNC: Final = "min.insync.replicas"
UNCLEAN: Final = "unclean.leader.election.enable"
HEARD_NS: Final = 5_000_000_000
"""A leader goes by what the cluster states so long after that at the latest. Ours."""
CLOSED_NS: Final = 15_000_000_000
"""A process that is stopped may have left its group so long before its end is told. Ours."""
SETS: Final = ("set for all brokers", "set for a topic")
"""The steps by which an administrator sets something while brokers run."""


def min_insync(run: RunRecord, run_state: RunState, where: TopicPartition, at_ns: int) -> int:
    """How many replicas of a partition have to be in sync for acks=all, at a time (monotonic, ns): the topic's own
    min.insync.replicas, as it was made or set since, or the brokers', or 1. It is the least that may hold.
    """
    return min_insync_bounds(run, run_state, where, at_ns)[0]


def min_insync_bounds(run: RunRecord, run_state: RunState, where: TopicPartition, at_ns: int) -> tuple[int, int]:
    """The least and the most of it that may hold.

    What a step sets may hold from its begin on, and holds from its end on. A broker that was started with a setting of
    its own may be the leader, or not. From 3.7 on all replicas are enough, where the partition has fewer than the
    setting asks for (KAFKA-15583): as many as it has at that time (Partition.effectiveMinIsr), or had shortly before or
    has shortly after, since the leader hears of it.
    """
    topic = where[0]
    own = [plan.settings[MIN_INSYNC] for plan in run.topics if plan.name == topic and MIN_INSYNC in plan.settings]
    holds, may_hold = _in_force(run_state, at_ns, topic)
    if not (settled := holds or own):
        settled = _of_brokers(run, run_state, at_ns)
    asked = list(map(int, [*settled, *may_hold]))
    state = run_state.state_at(*where, at_ns)
    if state is None or state.leader == NO_LEADER:
        return min(asked), max(asked)
    if numbers(release_at(run, run_state, broker(state.leader), at_ns)) < ALL_REPLICAS_ARE_ENOUGH.release:
        return min(asked), max(asked)
    had = _replicas_about(run, run_state, where, at_ns) or asked
    return min([*asked, *had]), min(max(asked), max(had))


def _replicas_about(run: RunRecord, run_state: RunState, where: TopicPartition, at_ns: int) -> list[int]:
    """How many replicas a partition may have had, for its leader, at a time; none if nobody says it."""
    told = [(one.at_ns, len(one.replicas)) for one in run_state.states[where] if one.replicas]
    before = [number for told_ns, number in told if told_ns <= at_ns - HEARD_NS][-1:]
    made = len(run.assignment.get(where, ()))
    about = [number for told_ns, number in told if at_ns - HEARD_NS < told_ns <= at_ns + HEARD_NS]
    return (before or ([made] if made else [])) + about


def min_insync_set_ns(run_state: RunState) -> list[int]:
    """When a step began to set min.insync.replicas, or had done so (monotonic, ns), in order."""
    steps = of(run_state.events, Step)
    return sorted(one.at_ns for one in steps if one.name in SETS and one.detail.get("setting") == MIN_INSYNC)


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
    stated += _started_with(run_state, at_ns, UNCLEAN)
    if stated:
        return any(value.lower() == "true" for value in stated)
    return min(releases) < UNCLEAN_OFF.release


def releases_of_controller(run: RunRecord, run_state: RunState, at_ns: int) -> set[Release]:
    """The release of who is the controller at a time; of every broker where nobody says who it is."""
    office = run_state.controller_at(at_ns)
    brokers = {broker(number) for replicas in run.assignment.values() for number in replicas} or {broker(1)}
    nodes = {office.value} if office is not None and office.value else brokers
    return {numbers(release_at(run, run_state, node, at_ns)) for node in nodes}


def _set_since(run_state: RunState, at_ns: int, topic: str | None, setting: str = UNCLEAN) -> list[str]:
    """To what an administrator has begun to set it by a time, for a topic, or for all brokers (None)."""
    return [str(step.detail["value"]) for step in _sets(run_state, at_ns, topic, setting) if step.phase == "begin"]


def _of_brokers(run: RunRecord, run_state: RunState, at_ns: int) -> list[str]:
    """Each min.insync.replicas that a broker may go by at a time, for topics without one."""
    holds, may_hold = _in_force(run_state, at_ns, None)
    stated = {name: value for name, value in run.settings.items() if name.rpartition(":")[2] == MIN_INSYNC}
    made = stated.pop(MIN_INSYNC, "1")
    return [*(holds or [made]), *may_hold, *stated.values(), *_started_with(run_state, at_ns, MIN_INSYNC)]


def _in_force(run_state: RunState, at_ns: int, topic: str | None) -> tuple[list[str], list[str]]:
    """The min.insync.replicas that was last set at a time, for a topic or for all brokers (None), if one was; and those
    that are being set.
    """
    steps = _sets(run_state, at_ns, topic, MIN_INSYNC)
    done = [str(step.detail["value"]) for step in steps if step.phase == "end"]
    return done[-1:], _set_since(run_state, at_ns, topic, MIN_INSYNC)[len(done) :]


def _sets(run_state: RunState, at_ns: int, topic: str | None, setting: str) -> list[Step]:
    wanted = (SETS[0], None) if topic is None else (SETS[1], topic)
    return [
        step
        for step in of(run_state.events, Step)
        if (step.name, step.detail.get("topic")) == wanted and step.detail.get("setting") == setting
        if step.at_ns <= at_ns
    ]


def _started_with(run_state: RunState, at_ns: int, setting: str) -> list[str]:
    """The values of a setting that brokers were started with of their own by a time."""
    return [
        proof.settings[setting]
        for fault, proof in run_state.proved(StartProof)
        if fault.inject_ns <= at_ns and proof.settings and setting in proof.settings
    ]


SWEPT_EVERY: Final = "transaction.abort.timed.out.transaction.cleanup.interval.ms"


def transactions_swept_ms(run: RunRecord) -> int:
    """How often a coordinator looks for transactions that have timed out."""
    default = 10_000 if numbers(run.kafka) >= TRANSACTIONS_SWEPT_OFTEN.release else 60_000
    return int(run.settings.get(SWEPT_EVERY, default))
