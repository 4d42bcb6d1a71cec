"""Claims about partitions of the network: the behaviour of both sides while they last, and after they are healed.

A cut is known by its links: the ordered pairs of nodes between which every packet is dropped. It is in force from its
proof at the latest and until its healing begins; durations are measured from its injection, which is earlier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims import spontaneous
from checks.claims.basis import (
    CLIENT_BOUND,
    CLIENT_MS,
    elapsed_ms,
    judged,
    known_alone,
    protocol_of,
    session_ms,
    setting_ms,
    timed,
)
from checks.claims.network.unavailability import longest_pause
from checks.claims.replication.isr import EARLY_MS, FETCH_WAIT_MS, ISR_TOLERANCE_MS, lag_time_ms, shrinks_within_ms
from evidence import borders
from evidence.basis import Basis
from evidence.events import NO_LEADER, Partition
from evidence.nodes import broker
from evidence.run import RunRecord
from evidence.run_state import CLIENTS, FaultFact, RunState
from evidence.text import plural

SOCKET_MS: Final = 30_000
"""The default of replica.socket.timeout.ms, in every version."""
REQUEST_MS: Final = 30_000
"""The default of request.timeout.ms: so long a leader waits for the controller that it knows to take its connection."""
CONNECT_MS: Final = 10_000
"""The default of socket.connection.setup.timeout.ms (2.7 and later); before, TCP tries again after 1, 2 and 4 s."""
PAUSE_MS: Final = 1500
"""For clients and brokers that get no processor at once."""
SHRINK_BOUND: Final = (
    "from the cut (its end, where it took time). No sooner than replica.lag.time.max.ms, less "
    f"replica.fetch.wait.max.ms (the last fetch may have waited) and {EARLY_MS} ms for the machine, unless its "
    "session ends first. No later than replica.lag.time.max.ms, the interval of the leader's check (as long before "
    "0.10.2, half of it from then on; ReplicaManager, isr-expiration), "
    f"and a tolerance of {ISR_TOLERANCE_MS} ms for the machine"
)


def _held(states: Sequence[Partition], at_ns: int) -> Partition | None:
    """A partition's state at a time, if it has a leader."""
    held = next((state for state in reversed(states) if state.at_ns <= at_ns), None)
    return None if held is None or held.leader == NO_LEADER else held


def _led(evidence: RunEvidence) -> Iterator[tuple[FaultFact, tuple[str, int], Partition, list[Partition]]]:
    """Each cut, with each partition of the run's topics that had a leader when it began, its state of then, and those
    until the healing. Nothing may be written to topics of Kafka's own: whoever lacks no record stays in sync.
    """
    run_state, topics = evidence.run_state, {topic.name for topic in evidence.run.topics}
    for cut in run_state.severed:
        for key, states in run_state.states.items():
            held = _held(states, cut.inject_ns)
            if held is not None and key[0] in topics:
                yield (
                    cut,
                    key,
                    held,
                    [state for state in states if cut.inject_ns < state.at_ns < run_state.healing_of(cut)],
                )


def _disturbed(run_state: RunState, one: str, other: str, begin_ns: int, end_ns: int) -> bool:
    """Whether a fault lay between two nodes, or struck the other one itself, at some time between two."""
    return any(
        fault.inject_ns < end_ns
        and fault.until_ns > begin_ns
        and (fault.between(one, other) if fault.links else fault.node == other)
        for fault in run_state.faults
    )


@claim(
    "isr-shrinks-to-reachable-side",
    source="Kafka documentation, Design: replication; broker configuration: replica.lag.time.max.ms; KIP-16",
    basis=Basis.DOCUMENTATION,
    bound=SHRINK_BOUND,
    bound_source="Kafka documentation, broker configuration: replica.lag.time.max.ms",
    bound_basis=Basis.DOCUMENTATION,
)
def isr_shrinks_to_reachable_side(evidence: RunEvidence) -> Judged:
    """A leader that reaches ZooKeeper or the controller removes unreachable followers from the ISR, and keeps the
    reachable ones.

    Nothing is said of a reachable one that a machine which was busy, or stood still, for half a lag may have kept from
    fetching.
    """
    run_state, rows, dropped = evidence.run_state, [], []
    by_machine = spontaneous.by_machine(evidence.run_state, evidence.run)
    least_ms = _least_wait_ms(evidence)
    bound_ms = shrinks_within_ms(evidence.run)
    for cut, (topic, number), held, later in _led(evidence):
        leader, end_ns = broker(held.leader), run_state.healing_of(cut)
        if run_state.off_coordinator(leader, cut.proved_ns or cut.inject_ns):
            continue
        led = [state for state in later if state.leader == held.leader]
        for follower in (one for one in held.isr if one != held.leader):
            left_ns = next((state.at_ns for state in led if follower not in state.isr), None)
            about = {"topic": topic, "partition": number, "follower": follower, "at_ns": cut.inject_ns}
            took_ms = max(0.0, elapsed_ms(cut.whole_ns, left_ns or end_ns))
            if cut.between(leader, broker(follower)):
                if left_ns is not None or (took_ms > bound_ms and len(led) == len(later)):
                    rows.append(about | {"took_ms": took_ms, "bound_ms": bound_ms})
                if left_ns is None or elapsed_ms(cut.inject_ns, left_ns) >= least_ms:
                    continue
                if run_state.alive_at(broker(follower), left_ns):
                    dropped.append(rows[-1] | {"least_ms": least_ms})
            elif (
                left_ns is not None
                and ((topic, number), left_ns) not in by_machine
                and not _disturbed(run_state, leader, broker(follower), cut.inject_ns, left_ns)
            ):
                dropped.append(about | {"left_ns": left_ns})
    if dropped:
        return judged(rows, dropped, plural(len(rows), "follower") + " cut from a leader left its ISR", "")
    return timed(
        rows,
        lambda row: f"broker-{row['follower']} left the ISR {row['took_ms'] / 1000:.1f} s after it was cut off",
        "no leader that could change its ISR was cut from a member for long enough",
    )


def _least_wait_ms(evidence: RunEvidence) -> int:
    """How long a follower stays in the ISR at least once it cannot fetch any more."""
    wait_ms = setting_ms(evidence.run, "replica.fetch.wait.max.ms", FETCH_WAIT_MS)
    return lag_time_ms(evidence.run) - wait_ms - EARLY_MS


@claim(
    "isr-whole-after-heal",
    source="Kafka documentation, Design: replication",
    basis=Basis.DOCUMENTATION,
    bound="no time is documented for the whole. Its parts are replica.socket.timeout.ms (a follower then gives up a "
    f"lost fetch), {CONNECT_MS} ms for a connection (socket.connection.setup.timeout.ms, or TCP itself before 2.7), "
    "a session for a broker that has to register again, from 2.7 on request.timeout.ms (a leader then asks another "
    f"controller to change the ISR, KIP-497), and a tolerance of {ISR_TOLERANCE_MS} ms for the machine",
    bound_source="nothing is documented of the whole; what was seen is less than its parts together",
    bound_basis=Basis.MEASURED,
)
def isr_whole_after_heal(evidence: RunEvidence) -> Judged:
    """When a cut is healed the replicas that it kept out of the ISR catch up and are in it again."""
    run_state, run, rows = evidence.run_state, evidence.run, []
    bound_ms = setting_ms(run, "replica.socket.timeout.ms", SOCKET_MS) + CONNECT_MS + ISR_TOLERANCE_MS
    if protocol_of(run) >= borders.ASKS_CONTROLLER.release:
        bound_ms += setting_ms(run, "request.timeout.ms", REQUEST_MS)
    for cut, healed_ns in ((cut, cut.heal_ns) for cut in run_state.severed if cut.heal_ns is not None):
        for (topic, number), states in run_state.states.items():
            replicas, held = _assigned(run, topic, number), _held(states, healed_ns)
            if held is None or set(held.isr) >= replicas:
                continue
            whole_ns = next((s.at_ns for s in states if s.at_ns > healed_ns and set(s.isr) >= replicas), None)
            until_ns = min([f.inject_ns for f in run_state.faults if f.inject_ns > healed_ns], default=run_state.end_ns)
            others = any(other.inject_ns < healed_ns < other.until_ns for other in run_state.faults if other is not cut)
            seen = whole_ns is not None and whole_ns <= until_ns
            if others or not (seen or elapsed_ms(healed_ns, until_ns) > _away(run, bound_ms)):
                continue
            took_ms = max(0.0, elapsed_ms(cut.healed_ns or healed_ns, min(whole_ns or until_ns, until_ns)))
            about = {"topic": topic, "partition": number, "at_ns": healed_ns}
            rows.append(about | {"took_ms": took_ms, "bound_ms": _away(run, bound_ms)})
    return timed(
        rows,
        lambda row: (
            f"the ISR of {row['topic']}-{row['partition']} was whole {row['took_ms'] / 1000:.1f} s after the heal"
        ),
        "no ISR was short of a replica when a cut was healed, or the next fault came too soon",
    )


def _away(run: RunRecord, bound_ms: int) -> float:
    """The bound for a broker that may have to register again."""
    return bound_ms + (session_ms(run, "") or 0)


def _assigned(run: RunRecord, topic: str, number: int) -> set[int]:
    return set(run.assignment.get((topic, number), ()))


@claim(
    "isolated-leader-acknowledges-no-acks-all",
    source="Kafka documentation, Design: replication; producer configuration: acks; KIP-497",
    basis=Basis.DOCUMENTATION,
)
def isolated_leader_acknowledges_no_acks_all(evidence: RunEvidence) -> Judged:
    """A leader that reaches neither all of its ISR nor ZooKeeper or the controller cannot change the ISR, and
    acknowledges nothing with acks=all.

    What a client that knows only the isolated leader sends it with acks=all is not acknowledged before the heal.
    """
    run_state = evidence.run_state
    only = known_alone(evidence.run)
    rows, wrong = [], []
    for cut, (topic, number), held, _ in _led(evidence):
        leader, begin_ns, end_ns = broker(held.leader), cut.proved_ns or 0, run_state.healing_of(cut)
        silent = [one for one in held.isr if one != held.leader and cut.between(leader, broker(one))]
        if not silent or not run_state.off_coordinator(leader, begin_ns):
            continue
        for one in run_state.sends:
            asked = (one.topic, one.partition, one.acks, only.get(one.process)) == (topic, number, "all", leader)
            if asked and begin_ns <= one.sent_ns < end_ns:
                row = {"topic": topic, "partition": number, "producer": one.producer, "sequence": one.sequence}
                rows.append(row | {"leader": held.leader, "at_ns": one.sent_ns, "outcome": one.outcome})
                acked = one.outcome == "acked" and one.done_ns is not None and one.done_ns < end_ns
                wrong += rows[-1:] if acked else []
    seen = plural(len(rows), "record") + " with acks=all not acknowledged by an isolated leader"
    return judged(rows, wrong, seen, "nobody sent with acks=all to an isolated leader")


@claim(
    "isr-outlasts-brief-cuts",
    source="Kafka documentation, broker configuration: replica.lag.time.max.ms; KIP-16",
    basis=Basis.DOCUMENTATION,
)
def isr_outlasts_brief_cuts(evidence: RunEvidence) -> Judged:
    """A cut that is shorter than replica.lag.time.max.ms removes no replica from the ISR.

    A cut that is over before replica.lag.time.max.ms takes nobody out of an ISR, then or until the lag is over. Nothing
    is said of one if a machine that was busy, or stood still, for half a session or lag may have done it.
    """
    run_state, lag_ms = evidence.run_state, lag_time_ms(evidence.run)
    by_machine = spontaneous.by_machine(evidence.run_state, evidence.run)
    rows, wrong = [], []
    for cut, (topic, number), held, _ in _led(evidence):
        members = [one for one in held.isr if cut.between(broker(held.leader), broker(one))]
        lasted_ms = elapsed_ms(cut.inject_ns, run_state.healing_of(cut))
        if not members or cut.heal_ns is None or lasted_ms >= _least_wait_ms(evidence):
            continue
        until_ns = cut.inject_ns + lag_ms * 1_000_000
        states = [state for state in run_state.states[topic, number] if cut.inject_ns < state.at_ns < until_ns]
        shrunk_ns = next((state.at_ns for state in states if not set(members) <= set(state.isr)), None)
        if ((topic, number), shrunk_ns) in by_machine:
            continue
        row = {"topic": topic, "partition": number, "at_ns": cut.inject_ns, "lasted_ms": lasted_ms}
        rows.append(row | {"isr": list(held.isr)})
        wrong += rows[-1:] if shrunk_ns is not None else []
    return judged(rows, wrong, plural(len(rows), "brief cut"), "no leader was cut from a member of its ISR briefly")


# What clients see of it


@claim(
    "writes-go-on-while-cut",
    source="Kafka documentation, producer configuration: acks",
    basis=Basis.DOCUMENTATION,
    bound=f"no wait is needed: a tolerance of {PAUSE_MS} ms for the machine",
    bound_source="Kafka documentation, producer configuration: acks",
    bound_basis=Basis.DOCUMENTATION,
)
def writes_go_on_while_cut(evidence: RunEvidence) -> Judged:
    """A leader that its clients reach acknowledges records with acks=1 without a pause, whichever other nodes are
    unreachable.
    """
    return timed(
        [row | {"bound_ms": PAUSE_MS} for row in _pauses(evidence, waiting=False)],
        lambda row: f"the longest pause of writes during a cut was {row['took_ms'] / 1000:.2f} s",
        "nothing was written to a leader that stayed through a cut",
    )


@claim(
    "writes-wait-for-the-isr",
    source="Kafka documentation, producer configuration: acks; broker configuration: replica.lag.time.max.ms",
    basis=Basis.DOCUMENTATION,
    bound=f"{SHRINK_BOUND}, and {PAUSE_MS} ms for the clients",
    bound_source="Kafka documentation, broker configuration: replica.lag.time.max.ms",
    bound_basis=Basis.DOCUMENTATION,
)
def writes_wait_for_the_isr(evidence: RunEvidence) -> Judged:
    """With acks=all writes pause until the leader has removed unreachable replicas from the ISR.

    A pause that the heal may have ended counts only if it was too long by then.
    """
    least_ms = _least_wait_ms(evidence)
    bound_ms = shrinks_within_ms(evidence.run) + PAUSE_MS
    rows = [row | {"least_ms": least_ms, "bound_ms": bound_ms} for row in _pauses(evidence, waiting=True)]
    rows = [row for row in rows if row["over"] or row["took_ms"] > bound_ms]
    early = [row for row in rows if row["took_ms"] < least_ms]
    if early:
        return judged(rows, early, plural(len(rows), "pause") + " for an ISR", "")
    return timed(
        rows,
        lambda row: (
            f"writes paused for {row['took_ms'] / 1000:.2f} s until the {'ISR had shrunk' if row['over'] else 'heal'}"
        ),
        "nothing was written to a leader that stayed through a cut",
    )


def _pauses(evidence: RunEvidence, *, waiting: bool) -> Iterator[dict[str, Any]]:
    """The longest pause of writes during each cut, of each partition whose leader stays and is reached by clients:
    where these wait, with acks=all, for a replica that the leader is cut from, or where they do not.
    """
    acks = evidence.run.case_changes.acks
    for cut, (topic, number), held, later in _led(evidence):
        leader = broker(held.leader)
        if cut.between(leader, CLIENTS) or any(state.leader != held.leader for state in later):
            continue
        if waiting != (acks == "all" and any(cut.between(leader, broker(one)) for one in held.isr)):
            continue
        pause = longest_pause(evidence, (topic, number), cut.inject_ns, evidence.run_state.healing_of(cut))
        if pause is not None:
            about = {"topic": topic, "partition": number, "at_ns": pause.at_ns}
            yield about | {"took_ms": pause.ms, "over": pause.over}


@claim(
    "no-writes-while-clients-are-cut",
    source="Kafka documentation, Design: replication; broker configuration: zookeeper.session.timeout.ms, "
    "broker.session.timeout.ms",
    basis=Basis.DOCUMENTATION,
    bound=f"from the heal: as long again as the cut has lasted, because TCP doubles its time-outs, {CLIENT_BOUND}, "
    f"and a tolerance of {PAUSE_MS} ms for the machine",
    bound_source="RFC 6298 (time-outs of TCP double); nothing is documented of clients, and the rest is "
    "more than was seen",
    bound_basis=Basis.MEASURED,
)
def no_writes_while_clients_are_cut(evidence: RunEvidence) -> Judged:
    """While only clients are cut off from a leader, it remains the leader, and nothing is written until the heal."""
    rows, wrong = [], []
    for cut, (topic, number), held, later in _led(evidence):
        if not cut.between(broker(held.leader), CLIENTS) or cut.proved_ns is None or cut.heal_ns is None:
            continue
        acknowledged = evidence.acknowledged(topic, number)
        within = [done for sent, done in acknowledged if cut.proved_ns < sent and done < cut.heal_ns]
        after = [done for sent, done in acknowledged if done > cut.heal_ns]
        leaders = sorted({held.leader, *(state.leader for state in later)})
        row: dict[str, Any] = {
            "topic": topic,
            "partition": number,
            "at_ns": cut.inject_ns,
            "acknowledged": len(within),
            "leaders": leaders,
            "took_ms": elapsed_ms(cut.heal_ns, min(after, default=evidence.run_state.end_ns)),
            # TCP waits before it tries again for as long as it has waited already.
            "bound_ms": elapsed_ms(cut.inject_ns, cut.heal_ns) + CLIENT_MS + PAUSE_MS,
        }
        rows.append(row)
        wrong += [row] if within or len(leaders) > 1 else []
    if wrong:
        return judged(rows, wrong, plural(len(rows), "leader") + " cut from its clients", "")
    return timed(
        rows,
        lambda row: f"nothing was acknowledged during the cut, and again {row['took_ms'] / 1000:.1f} s after its heal",
        "no clients were cut from a leader",
    )
