"""Claims about where replicas lie: reassignments, leadership that goes back by itself, and how new topics are placed.

What was asked for is in the timeline (`Reassign`, `PlaceTopic`); what came of it is judged by what the cluster stated:
the znodes /brokers/topics/T and /admin/reassign_partitions, or the metadata log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import (
    CLIENT_BOUND,
    CLIENT_MS,
    ELECTION_MS,
    elapsed_ms,
    judged,
    lives,
    protocol_of,
    release_of,
    timed,
)
from checks.claims.network.unavailability import longest_pause
from checks.claims.replication.isr import CHECKED_MS, QUIET_MS
from evidence import borders
from evidence.basis import Basis
from evidence.events import NO_LEADER, Moment, Partition, PlaceTopic, Reassign, Znode, of
from evidence.nodes import broker, number_of
from evidence.records import TopicPartition
from evidence.run import RunRecord
from evidence.run_state import ALIVE, RunState
from evidence.text import plural

REASSIGNMENT: Final = "/admin/reassign_partitions"
CHECK_S: Final = 300
"""The default of leader.imbalance.check.interval.seconds, in every version."""
RATIO_PERCENT: Final = 10
"""The default of leader.imbalance.per.broker.percentage, in every version with ZooKeeper."""
HEARD_MS: Final = QUIET_MS + CHECKED_MS
"""From a change of an ISR until its leader announces it in ZooKeeper, at most (isr-change-propagation)."""
STALLED_MS: Final = 20_000
"""Nothing is documented: the partitions of a run are small, and a reassignment takes a few seconds."""
CHECKS: Final = 2
"""So many checks an imbalance must outlast for it to have been left alone."""


# Reassignments


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reassignment:
    """A reassignment: what was asked for, what had been stated, and what was from then on, until the next."""

    asked: Reassign
    before: Partition
    states: Sequence[Partition]

    @property
    def done(self) -> Partition | None:
        """The first state with the replicas that were asked for."""
        return next((state for state in self.states if state.replicas == self.asked.replicas), None)

    def row(self) -> dict[str, Any]:
        return {
            "topic": self.asked.topic,
            "partition": self.asked.partition,
            "at_ns": self.asked.at_ns,
            "replicas_before": list(self.before.replicas or ()),
            "replicas_asked": list(self.asked.replicas),
            "by": self.asked.by,
        }


def _moves(run_state: RunState) -> Iterator[_Reassignment]:
    asked = of(run_state.events, Reassign)
    for one in asked:
        key = (one.topic, one.partition)
        until = next(
            (o.at_ns for o in asked if (o.topic, o.partition) == key and o.at_ns > one.at_ns), run_state.end_ns
        )
        states = run_state.states.get(key, ())
        earlier = [state for state in states if state.at_ns <= one.at_ns]
        later = tuple(state for state in states if one.at_ns < state.at_ns <= until)
        if earlier:
            yield _Reassignment(asked=one, before=earlier[-1], states=later)


@claim(
    "reassignment-ends-as-asked",
    source="Kafka documentation, Expanding your cluster; KIP-455",
    basis=Basis.DOCUMENTATION,
)
def reassignment_ends_as_asked(evidence: RunEvidence) -> Judged:
    """A reassigned partition ends on the requested brokers. They are its ISR, and one of them leads."""
    rows, wrong = [], []
    for move in _moves(evidence.run_state):
        wanted = move.asked.replicas
        whole = [one for one in move.states if one.replicas == wanted and set(one.isr) == set(wanted)]
        ended = next((one for one in whole if one.leader in wanted), None)
        last = move.states[-1] if move.states else move.before
        took = {"took_ms": elapsed_ms(move.asked.at_ns, ended.at_ns)} if ended else {}
        stated = {"replicas": list(last.replicas or ()), "isr": list(last.isr), "leader": last.leader}
        rows.append(move.row() | stated | took)
        wrong += rows[-1:] if ended is None or last.replicas != wanted or last.leader not in wanted else []
    slowest = max((row["took_ms"] for row in rows if "took_ms" in row), default=0.0)
    seen = f"{plural(len(rows), 'reassignment')} asked for and over, the slowest after {slowest / 1000:.1f} s"
    return judged(rows, wrong, seen, "no reassignment was asked for")


@claim(
    "reassignment-stalls",
    source="KAFKA-6003",
    basis=Basis.JIRA,
    bound=f"{STALLED_MS} ms without a fault on these brokers; no time is documented",
    bound_source="nothing is documented; those that end were seen to take less",
    bound_basis=Basis.MEASURED,
)
def reassignment_stalls(evidence: RunEvidence) -> Judged:
    """A reassignment does not end, although every requested broker is alive.

    A partition that should move to other brokers is not in sync there for long, although no fault strikes the requested
    brokers, and they are alive.
    """
    run_state, rows = evidence.run_state, []
    for move in _moves(run_state):
        wanted = move.asked.replicas
        nodes = {broker(number) for number in wanted}
        over = [one.at_ns for one in move.states if one.replicas == wanted and set(one.isr) == set(wanted)]
        struck = [one.inject_ns for one in run_state.faults if one.inject_ns > move.asked.at_ns and one.node in nodes]
        until_ns = min([*over, *struck, run_state.end_ns])
        if all(lives(run_state, number, move.asked.at_ns) for number in wanted):
            watched_ms = elapsed_ms(move.asked.at_ns, until_ns)
            rows.append(move.row() | {"over": bool(over) and over[0] == until_ns, "watched_ms": watched_ms})
    stalled = [row for row in rows if not row["over"] and row["watched_ms"] >= STALLED_MS]
    if stalled:
        longest = max(row["watched_ms"] for row in stalled)
        return judged(stalled, (), f"{plural(len(stalled), 'reassignment')} not over after {longest / 1000:.0f} s", "")
    over_in_time = [row for row in rows if row["over"]]
    seen = f"{plural(len(over_in_time), 'reassignment')} over"
    return judged(over_in_time, over_in_time, seen, "no reassignment was watched for long enough")


@claim(
    "reassignment-adds-before-it-removes",
    source="KafkaController.onPartitionReassignment (0.8.2.2 to 3.9.2), "
    "PartitionReassignmentReplicas (3.7.2, 3.9.2, 4.3.1); KIP-455, KAFKA-15665, KAFKA-19975",
    basis=Basis.SOURCE,
)
def reassignment_adds_before_it_removes(evidence: RunEvidence) -> Judged:
    """A reassignment adds replicas first, and removes old ones only when all that stay are in sync.

    With KRaft, before 3.8 and from 4.3 on, those that are added have to be in sync; from 4.3 on all that stay, if more
    are removed than added.
    """
    rows, wrong = [], []
    for move in _moves(evidence.run_state):
        for before, after in pairwise((move.before, *move.states)):
            old, new = set(before.replicas or ()), set(after.replicas or ())
            if old == new:
                continue
            stated = {"replicas_before": list(before.replicas or ()), "replicas": list(after.replicas or ())}
            rows.append(move.row() | stated | {"at_ns": after.at_ns, "isr": list(after.isr)})
            removed_in_sync = new < old and _to_be_in_sync(evidence.run, before, new) <= set(after.isr)
            wrong += [] if new > old or removed_in_sync else rows[-1:]
    return judged(rows, wrong, plural(len(rows), "change") + " of an assignment", "no assignment changed")


def _to_be_in_sync(run: RunRecord, before: Partition, stay: set[int]) -> set[int]:
    """Which replicas have to be in sync before a reassignment removes the others."""
    release = release_of(run)
    since_all, since_added = borders.REASSIGNED_WHEN_ALL_IN_SYNC.release, borders.REASSIGNED_WHEN_ADDED_IN_SYNC.release
    if run.mode == "zookeeper" or since_all <= release < since_added:
        return stay
    fewer = len(before.adding or ()) < len(before.removing or ())
    return stay if release >= since_added and fewer else stay & set(before.adding or ())


@claim(
    "reassignment-elects-first-of-new",
    source="ReassignedPartitionLeaderSelector (0.8.2.2 to 1.0.2), "
    "PartitionLeaderElectionAlgorithms (1.1.1 to 3.9.2), PartitionChangeBuilder (3.9.2, "
    "4.3.1)",
    basis=Basis.SOURCE,
)
def reassignment_elects_first_of_new(evidence: RunEvidence) -> Judged:
    """If the leader is not among the new replicas, the first new replica that lives and is in sync leads."""
    rows, wrong = [], []
    for move in _moves(evidence.run_state):
        for before, after in pairwise((move.before, *move.states)):
            wanted = move.asked.replicas
            if after.leader == before.leader or before.leader in wanted or after.leader not in wanted:
                continue
            in_sync = {*before.isr, *after.isr}
            eligible = [one for one in wanted if one in in_sync and lives(evidence.run_state, one, after.at_ns)]
            rows.append(move.row() | {"at_ns": after.at_ns, "leader": after.leader, "leader_before": before.leader})
            wrong += rows[-1:] if eligible[:1] != [after.leader] else []
    return judged(rows, wrong, plural(len(rows), "leader") + " elected for a move", "no leader made way for a new one")


@claim(
    "reassignment-znode-comes-and-goes",
    source="ReassignPartitionsCommand, KafkaController (0.8.2.2 to 2.3.1); KIP-455",
    basis=Basis.SOURCE,
)
def reassignment_znode_comes_and_goes(evidence: RunEvidence) -> Judged:
    """/admin/reassign_partitions holds the request, until the controller deletes it when the move is complete."""
    rows, wrong = [], []
    told = [one for one in of(evidence.run_state.events, Znode) if one.path == REASSIGNMENT]
    for move in _moves(evidence.run_state):
        named = {"topic": move.asked.topic, "partition": move.asked.partition, "replicas": list(move.asked.replicas)}
        held = [one for one in told if one.content is not None and one.at_ns >= move.asked.at_ns]
        made = next((one for one in held if named in one.entries.get("partitions", ())), None)
        if made is None:
            continue
        gone = next((one for one in told if one.content is None and one.at_ns > made.at_ns), None)
        times = {"made_ns": made.at_ns, "gone_ns": gone.at_ns if gone else None}
        rows.append(move.row() | {"path": REASSIGNMENT, "content": made.content} | times)
        early = gone is not None and (move.done is None or gone.at_ns < move.done.at_ns)
        wrong += rows[-1:] if gone is None or early else []
    return judged(rows, wrong, plural(len(rows), "request") + " in the znode", f"nothing was in {REASSIGNMENT}")


@claim(
    "reassignment-states-its-change",
    source="KIP-455: adding and removing replicas of TopicZNode and PartitionChangeRecord",
    basis=Basis.KIP,
)
def reassignment_states_its_change(evidence: RunEvidence) -> Judged:
    """While a reassignment lasts the assignment names the replicas that are added and removed, then none."""
    rows, wrong = [], []
    for move in _moves(evidence.run_state):
        old, new = set(move.before.replicas or ()), set(move.asked.replicas)
        stated = [one for one in move.states if one.adding is not None and one.removing is not None]
        during = next((one for one in stated if one.adding or one.removing), None)
        if not stated:
            continue
        said = {"adding": list(during.adding or ()), "removing": list(during.removing or ())} if during else {}
        last = stated[-1]
        rows.append(move.row() | said | {"adding_at_end": last.adding, "removing_at_end": last.removing})
        right = during is not None and set(said["adding"]) == new - old and set(said["removing"]) == old - new
        wrong += [] if right and not last.adding and not last.removing else rows[-1:]
    return judged(rows, wrong, plural(len(rows), "reassignment") + " stated", "no assignment says what is added")


@claim(
    "removed-replicas-are-deleted",
    source="KafkaController: StopReplica with deletePartition (0.8.2.2 to 3.9.2), "
    "ReplicaManager.applyDelta (3.9.2, 4.3.1)",
    basis=Basis.SOURCE,
)
def removed_replicas_are_deleted(evidence: RunEvidence) -> Judged:
    """Brokers from which a partition was moved away delete its log.

    Brokers that a partition was moved away from, and that ran all the time, have deleted its log by the end.
    """
    rows, wrong = [], []
    copies = of(evidence.run_state.events, Moment)
    for move in _moves(evidence.run_state):
        for number in sorted(set(move.before.replicas or ()) - set(move.asked.replicas)):
            node, done = broker(number), move.done
            if done is None or not copies or copies[-1].at_ns < done.at_ns or node not in copies[-1].nodes:
                continue
            if evidence.run_state.undisturbed_since(node, copies[-1].at_ns) > move.asked.at_ns:
                continue
            left = f"{move.asked.topic}-{move.asked.partition}" in copies[-1].nodes[node]
            rows.append(move.row() | {"node": node, "moment": copies[-1].name, "still_there": left})
            wrong += rows[-1:] if left else []
    return judged(rows, wrong, plural(len(rows), "replica") + " deleted", "no broker that ran on was moved away from")


@claim(
    "move-pauses-writes-briefly",
    source="Kafka documentation, Expanding your cluster; Kafka sources, ReplicaManager: stopReplicas",
    basis=Basis.DOCUMENTATION,
    bound=f"{ELECTION_MS} ms for the election, whose time is not documented, and {CLIENT_BOUND}",
    bound_source="nothing is documented of elections and clients; what was seen is less",
    bound_basis=Basis.MEASURED,
)
def move_pauses_writes_briefly(evidence: RunEvidence) -> Judged:
    """While a partition moves with its leader writes pause only until producers have found the next one."""
    rows = []
    for move in _moves(evidence.run_state):
        where, end_ns = (move.asked.topic, move.asked.partition), evidence.run_state.end_ns
        pause = longest_pause(evidence, where, move.asked.at_ns, end_ns)
        moved = any(one.leader != move.before.leader for one in move.states)
        if moved and pause is not None:
            about = move.row() | {"at_ns": pause.at_ns}
            rows.append(about | {"took_ms": pause.ms, "bound_ms": ELECTION_MS + CLIENT_MS})
    return timed(
        rows,
        lambda row: f"{row['topic']}-{row['partition']} took no writes for {row['took_ms'] / 1000:.2f} s",
        "nobody wrote while a leader was moved",
    )


# Leadership that goes back by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class _Imbalance:
    """How long a preferred replica was in sync and another led that lived, and how it ended."""

    partition: TopicPartition
    preferred: int
    percent: float
    """Of the partitions that the broker should lead, how many it did not when this began."""
    begin_ns: int
    end_ns: int
    over: bool
    """Whether it ended with the election of the preferred replica."""

    def row(self) -> dict[str, Any]:
        topic, number = self.partition
        return {
            "topic": topic,
            "partition": number,
            "preferred": self.preferred,
            "percent": round(self.percent, 1),
            "at_ns": self.begin_ns,
            "took_ms": elapsed_ms(self.begin_ns, self.end_ns),
            "moved": self.over,
        }


def _imbalances(run_state: RunState) -> Iterator[_Imbalance]:
    for key, states in run_state.states.items():
        begun: Partition | None = None
        for state in states:
            preferred = (state.replicas or (NO_LEADER,))[0]
            waits = state.leader not in (NO_LEADER, preferred) and preferred in state.isr
            if waits and begun is None and lives(run_state, preferred, state.at_ns):
                begun = state
            elif begun is not None and not waits:
                yield _imbalance(run_state, key, begun, state.at_ns, over=state.leader == preferred)
                begun = None
        if begun is not None:
            yield _imbalance(run_state, key, begun, run_state.end_ns, over=False)


def _imbalance(run_state: RunState, key: TopicPartition, begun: Partition, end_ns: int, *, over: bool) -> _Imbalance:
    preferred = (begun.replicas or (NO_LEADER,))[0]
    stated = [[one for one in states if one.at_ns <= begun.at_ns][-1:] for states in run_state.states.values()]
    its = [one for states in stated for one in states if (one.replicas or (NO_LEADER,))[0] == preferred]
    percent = 100 * sum(one.leader != preferred for one in its) / len(its)
    about = {"partition": key, "preferred": preferred, "begin_ns": begun.at_ns, "end_ns": end_ns}
    return _Imbalance(**about, percent=percent, over=over)  # type: ignore[arg-type]


def _check_ms(run: RunRecord) -> int:
    return 1000 * int(run.settings.get("leader.imbalance.check.interval.seconds", CHECK_S))


def _heard_ms(run: RunRecord) -> int:
    """By when the controller knows an ISR by which it decides: 0 where it changes ISRs itself, and where an election
    reads them from ZooKeeper.
    """
    told = run.mode == "zookeeper" and protocol_of(run) < borders.ASKS_CONTROLLER.release
    return HEARD_MS if told and release_of(run) >= borders.REBALANCE_ASKS_ISR.release else 0


def _allowed_percent(run: RunRecord) -> float:
    """What share of a broker's leaderships may be elsewhere: KRaft's controller knows none."""
    if run.mode == "kraft":
        return -1.0
    return float(run.settings.get("leader.imbalance.per.broker.percentage", RATIO_PERCENT))


@claim(
    "leadership-returns-by-itself",
    source="Kafka documentation, Balancing leadership; broker configuration: auto.leader.rebalance.enable, "
    "leader.imbalance.check.interval.seconds, leader.imbalance.per.broker.percentage",
    basis=Basis.DOCUMENTATION,
    bound=f"leader.imbalance.check.interval.seconds, and {ELECTION_MS} ms for the election, whose time is not "
    f"documented. From 2.6 on with a protocol below 2.7 first {HEARD_MS} ms: the controller goes by the ISR that it "
    "knows, and leaders announce theirs so late",
    bound_source="Kafka documentation, broker configuration: leader.imbalance.check.interval.seconds; of "
    "elections nothing is documented, and 3 s are more than was seen; KAFKA-9866 (2.6.0), isr-change-propagation",
    bound_basis=Basis.MEASURED,
)
def leadership_returns_by_itself(evidence: RunEvidence) -> Judged:
    """With auto.leader.rebalance.enable leadership returns to preferred replicas that are in sync, where a broker lacks
    more than leader.imbalance.per.broker.percentage of its leaderships (KRaft: any).
    """
    bound_ms = _heard_ms(evidence.run) + _check_ms(evidence.run) + ELECTION_MS
    found = [one for one in _imbalances(evidence.run_state) if one.percent > _allowed_percent(evidence.run)]
    # One that ended otherwise, or with the run, before a check was due says nothing.
    rows = [one.row() | {"bound_ms": bound_ms} for one in found]
    return timed(
        [row for row in rows if row["moved"] or row["took_ms"] > bound_ms],
        lambda row: (
            f"{row['topic']}-{row['partition']}: {row['percent']:.0f} % of the leaderships of broker-"
            f"{row['preferred']} were elsewhere, "
            + (f"it led again after {row['took_ms'] / 1000:.1f} s" if row["moved"] else "and stayed there")
        ),
        "no broker missed enough of its leaderships for long enough",
    )


@claim(
    "small-imbalance-is-left",
    source="Kafka documentation, broker configuration: leader.imbalance.per.broker.percentage",
    basis=Basis.DOCUMENTATION,
)
def small_imbalance_is_left(evidence: RunEvidence) -> Judged:
    """Where a broker lacks no more than leader.imbalance.per.broker.percentage of its leaderships, they stay where they
    are, although its replicas are in sync.
    """
    least_ms = CHECKS * _check_ms(evidence.run)
    found = [one for one in _imbalances(evidence.run_state) if one.percent <= _allowed_percent(evidence.run)]
    rows = [one.row() | {"least_ms": least_ms} for one in found]
    rows = [row for row in rows if row["moved"] or row["took_ms"] >= least_ms]
    wrong = [row for row in rows if row["moved"]]
    return judged(
        rows, wrong, plural(len(rows), "small imbalance") + " left", "no small imbalance outlasted two checks"
    )


# New topics


def _placed(run_state: RunState) -> Iterator[tuple[PlaceTopic, list[tuple[int, ...]], int]]:
    """Each topic that Kafka placed, with a partition for each broker at least: its replicas, and how many brokers
    lived.
    """
    for made in of(run_state.events, PlaceTopic):
        keys = [(made.topic, number) for number in range(made.partitions)]
        first = [run_state.states[key][0].replicas or () for key in keys if key in run_state.states]
        alive = sum(run_state.alive_at(node, made.at_ns) for node in run_state.registrations)
        if len(first) == made.partitions >= alive > 1:
            yield made, first, alive


def _rounds(placed: Sequence[tuple[int, ...]], brokers: int) -> Iterator[Sequence[tuple[int, ...]]]:
    """The partitions, as many at a time as there are brokers; what is left over at the end is no round."""
    for begin in range(0, len(placed) - brokers + 1, brokers):
        yield placed[begin : begin + brokers]


def _row(made: PlaceTopic, placed: Sequence[tuple[int, ...]], brokers: int) -> dict[str, Any]:
    assignment = {str(number): list(replicas) for number, replicas in enumerate(placed)}
    about = {"topic": made.topic, "brokers": brokers, "replication": made.replication, "by": made.by}
    return about | {"at_ns": made.at_ns, "assignment": assignment}


@claim(
    "replicas-placed-evenly",
    source="AdminUtils.assignReplicasToBrokers (0.8.2.2 to 3.9.2), StripedReplicaPlacer (3.9.2, 4.3.1)",
    basis=Basis.SOURCE,
)
def replicas_placed_evenly(evidence: RunEvidence) -> Judged:
    """Kafka places a new topic evenly: of n consecutive partitions on n brokers each broker leads one, and has as many
    replicas as any other.
    """
    rows, wrong = [], []
    for made, placed, brokers in _placed(evidence.run_state):
        rows.append(_row(made, placed, brokers))
        even = all(_is_even(part, made.replication) for part in _rounds(placed, brokers))
        wrong += [] if even else rows[-1:]
    return judged(rows, wrong, plural(len(rows), "topic") + " placed", "Kafka placed no topic")


def _is_even(part: Sequence[tuple[int, ...]], replication: int) -> bool:
    """Whether each of as many brokers as partitions is first once, and has `replication` replicas, one of each."""
    firsts = {replicas[0] for replicas in part if replicas}
    shares = [sum(one in replicas for replicas in part) for one in firsts]
    whole = all(len(set(replicas)) == len(replicas) == replication for replicas in part)
    return whole and shares == [replication] * len(part)


@claim("replicas-placed-by-shift", source="AdminUtils.assignReplicasToBrokers (0.8.2.2 to 3.9.2)", basis=Basis.SOURCE)
def replicas_placed_by_shift(evidence: RunEvidence) -> Judged:
    """With ZooKeeper the first replica of partition i is on broker (s+i) mod n of some order, and the others follow by
    a shift that grows by one with each round.
    """
    rows, wrong = [], []
    for made, placed, brokers in _placed(evidence.run_state):
        order = [replicas[0] for replicas in placed[:brokers]]
        second = order.index(placed[0][1]) if made.replication > 1 and placed[0][1] in order else 1
        rows.append(_row(made, placed, brokers) | {"order": order, "shift": second - 1})
        wrong += [] if list(placed) == shifted(order, second - 1, len(placed), made.replication) else rows[-1:]
    return judged(rows, wrong, plural(len(rows), "topic") + " placed", "Kafka placed no topic")


def shifted(order: Sequence[int], shift: int, partitions: int, replication: int) -> list[tuple[int, ...]]:
    """What AdminUtils.assignReplicasToBrokers makes of brokers in an order that begins with partition 0's first.

    >>> shifted((1, 2, 3), 0, 4, 2)
    [(1, 2), (2, 3), (3, 1), (1, 3)]
    """
    brokers, placed = len(order), []
    for number in range(partitions):
        first = number % brokers
        behind = [1 + (shift + number // brokers + j) % (brokers - 1) for j in range(replication - 1)]
        placed.append((order[first], *(order[(first + step) % brokers] for step in behind)))
    return placed


@claim("replicas-placed-in-stripes", source="StripedReplicaPlacer (3.9.2, 4.3.1)", basis=Basis.SOURCE)
def replicas_placed_in_stripes(evidence: RunEvidence) -> Judged:
    """With KRaft each round has the brokers in a random order, and partition i on those from the i-th on."""
    rows, wrong = [], []
    for made, placed, brokers in _placed(evidence.run_state):
        rows.append(_row(made, placed, brokers))
        rounds = _rounds(placed, brokers)
        striped = all(list(part) == _stripes([one[0] for one in part], made.replication) for part in rounds)
        wrong += [] if striped else rows[-1:]
    return judged(rows, wrong, plural(len(rows), "topic") + " placed", "Kafka placed no topic")


def _stripes(order: Sequence[int], replication: int) -> list[tuple[int, ...]]:
    return [tuple(order[(first + j) % len(order)] for j in range(replication)) for first in range(len(order))]


@claim(
    "replicas-spread-over-racks",
    source="KIP-36; Kafka documentation, Balancing replicas across racks",
    basis=Basis.KIP,
)
def replicas_spread_over_racks(evidence: RunEvidence) -> Judged:
    """Where brokers name their racks, each partition of a new topic has replicas in as many racks as possible.

    That is the smaller of its replicas and of the racks. In runs in which each broker has a rack by its settings.
    """
    settings, rows = evidence.run.settings, list[dict[str, Any]]()
    for made, placed, brokers in _placed(evidence.run_state):
        racks = {name.partition(":")[0]: rack for name, rack in settings.items() if name.endswith(":broker.rack")}
        if len(racks) == brokers and len(set(racks.values())) > 1:
            wanted = min(made.replication, len(set(racks.values())))
            least = min(len({racks.get(str(number)) for number in replicas}) for replicas in placed)
            about = {"racks": racks, "least": least, "wanted": wanted}
            rows.append(_row(made, placed, brokers) | about)
    wrong = [row for row in rows if row["least"] < row["wanted"]]
    return judged(rows, wrong, plural(len(rows), "topic") + " spread over racks", "no topic was placed over racks")


# Brokers that join


def _joined(run_state: RunState) -> Iterator[tuple[int, int]]:
    """Each broker that registered for the first time when there were partitions already, and when it did."""
    first_ns = min((states[0].at_ns for states in run_state.states.values()), default=run_state.end_ns)
    for node, registered in run_state.registrations.items():
        alive_ns = next((one.begin_ns for one in registered if one.value == ALIVE), None)
        if alive_ns is not None and alive_ns > first_ns and not run_state.died_by(node, alive_ns):
            yield number_of(node), alive_ns


@claim(
    "joined-broker-gets-no-old-partition",
    source="Kafka documentation, Expanding your cluster",
    basis=Basis.DOCUMENTATION,
)
def joined_broker_gets_no_old_partition(evidence: RunEvidence) -> Judged:
    """A broker that joins gets none of the existing partitions: an operator must move them.

    In no state of such a partition is it a replica, until the run ends.
    """
    run_state, rows = evidence.run_state, list[dict[str, Any]]()
    asked = {(one.topic, one.partition) for one in of(run_state.events, Reassign)}
    for number, joined_ns in _joined(run_state):
        for (topic, partition), states in run_state.states.items():
            later = [state for state in states if state.at_ns > joined_ns]
            if states[0].at_ns < joined_ns and (topic, partition) not in asked:
                has = any(number in (state.replicas or ()) for state in later)
                about = {"topic": topic, "partition": partition, "node": broker(number), "at_ns": joined_ns}
                rows.append(about | {"replicas": list((later or states)[-1].replicas or ()), "given": has})
    wrong = [row for row in rows if row["given"]]
    return judged(rows, wrong, plural(len(rows), "partition") + " left where it was", "no broker joined")


@claim(
    "joined-broker-gets-share-of-new-topics",
    source="Kafka documentation, Expanding your cluster",
    basis=Basis.DOCUMENTATION,
)
def joined_broker_gets_share_of_new_topics(evidence: RunEvidence) -> Judged:
    """A topic that is created after a broker has joined has replicas on it, and partitions that it leads.

    Topics whose replicas Kafka places itself, with as many partitions as there are brokers or more.
    """
    run_state, rows = evidence.run_state, list[dict[str, Any]]()
    for number, joined_ns in _joined(run_state):
        for made, placed, _ in _placed(run_state):
            if made.at_ns > joined_ns:
                leads = sum(replicas[0] == number for replicas in placed)
                held = sum(number in replicas for replicas in placed)
                about = {"topic": made.topic, "node": broker(number), "at_ns": made.at_ns, "partitions": len(placed)}
                rows.append(about | {"first": leads, "replicas": held})
    wrong = [row for row in rows if not row["first"] or not row["replicas"]]
    seen = plural(len(rows), "topic") + " with replicas on the new broker"
    return judged(rows, wrong, seen, "no topic was made after a broker had joined")
