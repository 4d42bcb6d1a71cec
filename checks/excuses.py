"""What excuses a finding: the reasons for which Kafka permits it, and for which it is a loss seen from another side.

A reason is checked for each row of evidence, not for the anomaly's name: an excuse is as narrow as its reason. The
first half is for `permits` of `@anomaly`, (run, finding, what held when) → reason or None; the second for `follows`,
(finding, findings of what is lost in its partition) → reason or None. Of histories of others nobody knows what held
when: it is None there, and what depends on it is permitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from checks.claims.basis import session_ms
from checks.disturbances import within_reach
from checks.processed_again import SESSION, limits_of, outputs_of, reason_of
from checks.settings import CLOSED_NS, HEARD_NS, min_insync_bounds, releases_of_controller, unclean_elections_on
from evidence.borders import (
    ASKS_CONTROLLER,
    ELIGIBLE_LEADERS_SUPPORTED,
    FETCHES_END,
    GROUPS_OUTLIVE_MEMBERS,
    HIGH_WATERMARK_NEEDS_MIN_ISR,
    ISR_SHRINK_RAISES,
    LEADER_EPOCHS,
    java_is_idempotent_by_default,
)
from evidence.events import NO_LEADER, Broker, ClientEnded, Container, Log, Moment, Step, of
from evidence.faults.clients import FreezeClientProof, KillClientProof
from evidence.findings import Finding, Row
from evidence.node_releases import asks_by_epoch_at, protocol_at, release_at, speaks_epochs_at
from evidence.nodes import broker
from evidence.records import RecordId, TopicPartition
from evidence.releases import numbers
from evidence.run import ProcessRecord, RunRecord, Settings
from evidence.run_state import ALIVE, PartitionInterval, RunState
from evidence.spans import NEVER_NS, Span, overlap
from kafkafiles.group_log import TOPIC as OFFSETS_TOPIC

UNLIMITED: Final = 2**31 - 1


# What the clients' settings permit


def _concerned(run: RunRecord, finding: Finding, kind: str) -> list[ProcessRecord]:
    """The processes of a kind that a finding names; all of them if it names none."""
    of_kind = {process.name: process for process in run.of_kind(kind)}
    named = {row.process for row in finding.evidence if row.process}
    return [of_kind[name] for name in sorted(named) if name in of_kind] or list(of_kind.values())


def _number(settings: Settings, default: int, *names: str) -> int:
    return next((int(settings[name]) for name in names if settings.get(name, "").isdigit()), default)


def _retries(settings: Settings) -> bool:
    idempotent = settings.get("enable.idempotence", "false").lower() == "true" or "transactional.id" in settings
    return not idempotent and _number(settings, UNLIMITED, "message.send.max.retries", "retries") > 0


def _in_flight(settings: Settings, default: int = 1_000_000) -> int:
    return _number(settings, default, "max.in.flight.requests.per.connection", "max.in.flight")


RETRY_BACKOFF_MS: Final = 100
"""The default of retry.backoff.ms, of Java clients, the Scala producer and librdkafka."""
REQUEST_MS: Final = 30_000
"""The default of request.timeout.ms, of Java clients and librdkafka."""
SESSION_MS: Final = 10_000
"""The shortest default of session.timeout.ms of consumers that tell their generation (KIP-735: 45 s since)."""
HEARTBEAT_MS: Final = 3_000
"""The default of heartbeat.interval.ms, of Java clients and librdkafka. Sessions count from the last heartbeat."""
HEARTBEAT: Final = "heartbeat.interval.ms"
PROTOCOL: Final = "group.protocol"
SOCKET_MS: Final = 30_000
"""The default of replica.socket.timeout.ms."""
STOPS_NS: Final = 5_000_000_000
"""For the rest of what a new leader does. Ours."""
NOT_COORDINATOR: Final = "NOT_COORDINATOR"
BROKERS_SESSION_MS: Final = 45_000
BROKERS_HEARTBEAT_MS: Final = 5_000
"""The defaults of the brokers' group.consumer.session.timeout.ms and group.consumer.heartbeat.interval.ms (KIP-848)."""
LEAST_BACKOFF: Final = 0.8
"""Clients may wait for so much of it (KIP-580: a jitter of 20 %; librdkafka 2.3 and later likewise)."""
IDEMPOTENCE: Final = "enable.idempotence"


def _by_default(run: RunRecord, process: ProcessRecord) -> Settings:
    """What a producer's own documentation says of idempotence where its settings do not: Java clients have it from 3.0
    on, if nothing that was set speaks against it. Of a client of the user's own, what it says itself.
    """
    kind, _, release = (process.library or run.client).partition("-")
    settings = process.settings
    against = settings.get("acks", "all") not in ("all", "-1") or _in_flight(settings, 5) > 5
    if run.own_client is not None and run.is_own_client(process):
        return {name: value for name, value in run.own_client.defaults.items() if name != IDEMPOTENCE or not against}
    idempotent = kind == "java" and java_is_idempotent_by_default(numbers(release))
    return {IDEMPOTENCE: "true"} if idempotent and not against else {}


def _producers(run: RunRecord, finding: Finding) -> list[Settings]:
    """The settings of the producers that a finding names; of all if it names none. An application is one, too, if its
    settings are those of its producer.
    """
    named = {row.process for row in finding.evidence if row.process}
    within = [one for one in run.of_kind("processor") if IDEMPOTENCE in one.settings]
    concerned = [one for one in (*run.of_kind("producer"), *within) if one.name in named] or run.of_kind("producer")
    return [{**_by_default(run, process), **process.settings} for process in concerned]


def _reached(run: RunRecord, run_state: RunState | None, finding: Finding) -> bool:
    return run_state is None or within_reach(
        run, run_state, finding, _backoff_ns(run, finding), _request_timeout_ns(run, finding)
    )


def _request_timeout_ns(run: RunRecord, finding: Finding) -> int:
    """After how long the producers concerned give a request up, or the records in it. Nobody knows that of a client of
    the user's own, which is given no such excuse.
    """
    if run.own_client is not None:
        return NEVER_NS
    limits_ms = [
        min(_number(one, REQUEST_MS, "request.timeout.ms"), _number(one, REQUEST_MS, "message.timeout.ms"))
        for one in _producers(run, finding)
    ]
    return max(limits_ms, default=REQUEST_MS) * 1_000_000


def _backoff_ns(run: RunRecord, finding: Finding) -> int:
    """How long the producers concerned wait at least before they send a record again; 0 of a client of the user's own,
    of which nobody knows.
    """
    if run.own_client is not None:
        return 0
    backoffs_ms = [_number(one, RETRY_BACKOFF_MS, "retry.backoff.ms") for one in _producers(run, finding)]
    return round(min(backoffs_ms, default=0) * LEAST_BACKOFF * 1e6)


RETRIED: Final = "retries without idempotence may write a record twice"
REORDERED: Final = "retries with several requests in flight and no idempotence may reorder records"


def retried(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """Every producer concerned retries without idempotence, and each record was in flight when something happened."""
    producers = _producers(run, finding)
    permitted = bool(producers) and all(map(_retries, producers)) and _reached(run, run_state, finding)
    return RETRIED if permitted else None


def reordered(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """The same, with several requests in flight."""
    producers = _producers(run, finding)
    several = bool(producers) and all(_retries(settings) and _in_flight(settings) > 1 for settings in producers)
    permitted = several and _reached(run, run_state, finding)
    return REORDERED if permitted else None


COMMIT_FIRST: Final = frozenset({"commit-then-process", "share-accept-then-process"})
"""Programs of applications that repeat no input: what they have processed was committed, or accepted, before."""
APPLICATIONS: Final = ("application", "share application")
"""Steps that start one; they name its program."""
PROCESSED_AGAIN: Final = (
    "without transactions a pipeline processes again what a member had in its hand, and not committed"
)
AGAIN_BY_MACHINE: Final = (
    "a member may have lost what it had in its hand, for within one session the machine stood still, or some process "
    "waited for a CPU, for half of it"
)
"""That is a doubt (judgement/policy.py)."""


def processed_at_least_once(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """No pipeline concerned uses transactions, and each input may have been in the hand of a member that lost it."""
    members = _concerned(run, finding, "processor")
    if any("transactional.id" in one.settings for one in members):
        return None
    return PROCESSED_AGAIN if run_state is None else _lost_in_hand(run, members, run_state, finding)


def _lost_in_hand(
    run: RunRecord, members: Sequence[ProcessRecord], run_state: RunState, finding: Finding
) -> str | None:
    """Why each input of a finding may have been in the hand of a member that lost it: its program does not commit
    first, something may have taken a member's life or its partition shortly before the input was processed again
    (checks/processed_again.py), and it was handed over as often as it was processed (Kafka documentation, Design:
    message delivery semantics). None if nothing explains that.
    """
    programs = {step.detail.get("program") for step in of(run_state.events, Step) if step.name in APPLICATIONS}
    if (programs and programs <= COMMIT_FIRST) or not all(handed_as_often(row) for row in finding.evidence):
        return None
    reason = reason_of(run_state, finding, limits_of(run, [one.settings for one in members]))
    return {"disturbed": PROCESSED_AGAIN, "machine": AGAIN_BY_MACHINE, None: None}[reason]


def handed_as_often(row: Row) -> bool:
    """Whether an input was handed to members as often as it was processed, or nobody knows how often it was. Of one
    output that its producer wrote twice that is the producer's doing (`duplicate`).
    """
    handed = row.detail.get("handed")
    return not isinstance(handed, int) or len(outputs_of(row)) <= handed


def counted_at_least_once(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """No application concerned counts in transactions: by an id of its own, or as Kafka Streams does."""
    guarantees = [one.settings.get("processing.guarantee", "") for one in _concerned(run, finding, "processor")]
    if any(guarantee.startswith("exactly_once") for guarantee in guarantees):
        return None
    return processed_at_least_once(run, finding, run_state)


def may_still_be_there(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """Always: nobody looked to the end."""
    return "not read, but the final read did not reach the end, so it may still be there"


def documented_out_of_sync(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """The scenario documents that a replica is out of sync at the end."""
    return "that a replica stays out of sync is documented here" if run.documented.out_of_sync else None


ENDS_AFTER_NS: Final = 60_000_000_000
"""So long a broker may take to end after it has lost its session while it started, on such a machine."""


def session_lost_on_busy_machine(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """Each broker had lost its session with ZooKeeper while it started, which ends it (KafkaServer.startup), and some
    process had waited for a CPU for as long as a session lasts since its process began.
    """
    rows = finding.evidence
    lost = run_state is not None and bool(rows) and all(_session_lost(run, run_state, row) for row in rows)
    return "a session ended while the broker started, on a machine that was busy for as long" if lost else None


def _session_lost(run: RunRecord, run_state: RunState, row: Row) -> bool:
    node, at_ns, limit_ms = row.node or "", row.at_ns or 0, session_ms(run, row.node or "")
    told = [
        log.at_ns
        for log in of(run_state.events, Log)
        if (log.event, log.node) == ("session-lost", node) and at_ns - ENDS_AFTER_NS <= log.at_ns <= at_ns
    ]
    return limit_ms is not None and any(
        run_state.held_up_ns((run_state.undisturbed_since(node, lost_ns), lost_ns)) >= limit_ms * 1_000_000
        for lost_ns in told
    )


REGISTERS_IN_MS: Final = 60_000
"""initial.broker.registration.timeout.ms, where a run does not set it (Kafka documentation, broker configuration)."""


def without_controllers_at_start(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """Each broker gave up in its start, as documented (KIP-631): until its time to register was over no controller's
    process had begun.
    """
    rows = finding.evidence
    alone = run_state is not None and bool(rows) and all(_no_controller(run, run_state, row) for row in rows)
    return "no controller ran while the broker could register" if alone else None


def _time_to_register(run: RunRecord, run_state: RunState, row: Row) -> Span | None:
    """From when to when a broker that has ended could register; None if it ended earlier, or nobody saw its start."""
    node, at_ns = row.node or "", row.at_ns or 0
    limit_ms = int(run.settings.get("initial.broker.registration.timeout.ms", REGISTERS_IN_MS))
    begun_ns = run_state.undisturbed_since(node, at_ns - 1)
    until_ns = begun_ns + limit_ms * 1_000_000
    return (begun_ns, until_ns) if node.startswith("broker-") and begun_ns > 0 and until_ns <= at_ns else None


def _no_controller(run: RunRecord, run_state: RunState, row: Row) -> bool:
    time = _time_to_register(run, run_state, row)
    began = [
        event.at_ns
        for event in of(run_state.events, Container)
        if event.node.startswith("controller-") and event.action == "start"
    ]
    return time is not None and bool(began) and min(began) >= time[1]


def registered_late_on_busy_machine(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """Each broker gave up in its start, as documented (KIP-631): it ended soon after its time to register was over,
    nobody had seen it registered, and some process had waited for a CPU for half of that time.
    """
    rows = finding.evidence
    slow = run_state is not None and bool(rows) and all(_registered_late(run, run_state, row) for row in rows)
    return "its time to register was over, on a machine that was busy for half of it" if slow else None


def _registered_late(run: RunRecord, run_state: RunState, row: Row) -> bool:
    time, at_ns = _time_to_register(run, run_state, row), row.at_ns or 0
    if time is None or at_ns - time[1] > ENDS_AFTER_NS or run.mode != "kraft":
        return False
    told = run_state.registrations.get(row.node or "", ())
    seen = any(one.value == ALIVE and overlap((one.begin_ns, one.end_ns), (time[0], at_ns)) for one in told)
    return not seen and 2 * run_state.held_up_ns(time) >= time[1] - time[0]


def could_not_start(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """A broker lost its session, had no controller, or had no CPU, while it started."""
    for permits in (session_lost_on_busy_machine, without_controllers_at_start, registered_late_on_busy_machine):
        if why := permits(run, finding, run_state):
            return why
    return None


def cycles_of_writes(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """Always: transactions do not order their writes over partitions."""
    return "Kafka's transactions allow cycles of writes"


def leaderless(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """Nobody led the partition in any of the states."""
    led = any(row.detail.get("leader") not in (None, NO_LEADER) for row in finding.evidence)
    return None if led else "a partition that nobody leads may have nobody in sync: nothing is committed meanwhile"


def elected_uncleanly(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """Each election was allowed: unclean elections were on for the topic, or it was of the last leader, with eligible
    leader replicas, where nobody was in sync or eligible.
    """
    rows = finding.evidence
    if run_state is None or not rows or not finding.whole:
        return None
    on = [
        unclean_elections_on(
            run, run_state, row.topic or finding.topic or "", row.at_ns or 0, str(row.detail.get("source", ""))
        )
        for row in rows
    ]
    if all(on):
        return "unclean.leader.election.enable is true"
    others = (row for row, allowed in zip(rows, on, strict=True) if not allowed)
    if all(_last_known_leader(run, run_state, row) for row in others):
        return "the last known leader is elected where nobody is in sync or eligible (KIP-966)"
    return None


REGISTERED_NS: Final = 1_000_000_000
"""One batch of the metadata log is stated within so much time."""


def _last_known_leader(run: RunRecord, run_state: RunState, row: Row) -> bool:
    """Whether the controller may go by eligible leader replicas, has none of a partition, and elects who led last
    (PartitionChangeBuilder.canElectLastKnownLeader). Who registers just then, after an unclean end, is eligible no more
    by that same change.
    """
    at_ns = row.at_ns or 0
    registered = {
        event.node
        for event in of(run_state.events, Broker)
        if event.state == "registered" and abs(event.at_ns - at_ns) <= REGISTERED_NS
    }
    eligible = {broker(number) for number in row.detail.get("elr_before", ())} - registered
    return (
        row.detail.get("source") == "kraft"
        and min(releases_of_controller(run, run_state, at_ns)) >= ELIGIBLE_LEADERS_SUPPORTED.release
        and not row.detail.get("isr_before")
        and not eligible
        and row.detail.get("leader") == row.detail.get("led_last")
    )


FINAL: Final = "final"


def above_high_watermark(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """The leader has the records at the end, where readers are given none: acks other than all say nothing of the high
    watermark, which followers, or an ISR below min.insync.replicas (KAFKA-15583), may hold up.
    """
    if run_state is None or finding.where is None or not finding.whole:
        return None
    final = next((one for one in reversed(of(run_state.events, Moment)) if one.label == FINAL), None)
    state = None if final is None else run_state.state_at(*finding.where, final.begun_ns)
    if final is None or state is None or state.leader == NO_LEADER:
        return None
    for row in finding.evidence:
        held, end = row.holdings.get(final.name, {}), row.detail.get("final_offset")
        offset = held.get(broker(state.leader))
        if row.acks in (-1, None) or offset is None or end is None or offset < end:
            return None
        # Once all who are in sync have it the high watermark is beyond, unless these are too few, or were more.
        if (
            all(held.get(node) is not None for node in map(broker, state.isr))
            and not _too_few(run, run_state, finding.where, final.begun_ns)
            and not _shrink_holds_back(run, run_state, finding.where, state, row)
        ):
            return None
    return "the leader has it above its high watermark, of which acks other than all say nothing"


def _too_few(run: RunRecord, run_state: RunState, where: TopicPartition, at_ns: int) -> bool:
    """Whether the ISR may be too small for the high watermark to move (KAFKA-15583)."""
    if numbers(run.kafka) < HIGH_WATERMARK_NEEDS_MIN_ISR.release:
        return False
    state = run_state.state_at(*where, at_ns)
    return state is not None and len(state.isr) < min_insync_bounds(run, run_state, where, at_ns)[1]


def _shrink_holds_back(
    run: RunRecord, run_state: RunState, where: TopicPartition, state: PartitionInterval, row: Row
) -> bool:
    """Whether the high watermark has stayed since the leader shrank the ISR, until something else is written: it looks
    when it asks the controller, and not when that has answered (KAFKA-13091).

    Whoever begins to lead looks too. So only a change within one leader epoch counts, as with ZooKeeper: KRaft raises
    the epoch with it (before 3.6, KAFKA-15021).
    """
    leader, before = broker(state.leader), run_state.state_at(*where, state.begin_ns - 1)
    return (
        run.mode == "zookeeper"
        and before is not None
        and before.leader_epoch == state.leader_epoch
        and set(before.isr) > set(state.isr)
        and row.invoked_ns is not None
        and row.invoked_ns <= state.begin_ns + HEARD_NS
        and protocol_at(run, run_state, leader, state.begin_ns) >= ASKS_CONTROLLER.release
        and numbers(release_at(run, run_state, leader, state.begin_ns)) < ISR_SHRINK_RAISES.release
    )


def group_forgotten(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """The coordinator forgets a group without members at once, before groups outlived them (KAFKA-2720, 0.10.1). The
    first owner gave the partition back, or was killed or stopped and its session has ended: who comes next may begin
    with the same generation again.
    """
    if numbers(run.kafka) >= GROUPS_OUTLIVE_MEMBERS.release or run_state is None:
        return None
    over = _sessions_over(run, run_state)
    for row in finding.evidence:
        owners, given_ns = row.detail.get("owners", ("",)), row.detail.get("given_ns", (0, 0))
        if row.detail.get("given_back_ns") is None and not _within(over.get(str(owners[0]), ()), given_ns[1]):
            return None
    return "a group without members is forgotten, and begins with generation 1 again"


def _sessions_over(run: RunRecord, run_state: RunState) -> dict[str, list[Span]]:
    """From when to when each client's session may be over, by its process: since it was killed, stopped or ended, and
    until it went on. A session is that of the brokers for a member of the consumer protocol, else its own setting's.
    """
    over: dict[str, list[Span]] = {}
    for kind in (FreezeClientProof, KillClientProof):
        for fact, _ in run_state.proved(kind):
            on_ns = NEVER_NS if fact.heal_ns is None else fact.heal_ns
            for name in fact.nodes:
                left_ns = _left_ns(run, name)
                if fact.inject_ns + left_ns < on_ns:
                    over.setdefault(name, []).append((fact.inject_ns + left_ns, on_ns + left_ns))
    for event in of(run_state.events, ClientEnded):
        over.setdefault(event.process, []).append((event.at_ns - CLOSED_NS, NEVER_NS))
    return over


def _left_ns(run: RunRecord, name: str) -> int:
    """What is left of a client's session, at least, when it falls silent: it has sent a heartbeat some time before."""
    process = run.process(name)
    settings = {} if process is None else process.settings
    if settings.get(PROTOCOL) == "consumer":
        session_ms = _number(run.settings, BROKERS_SESSION_MS, f"group.consumer.{SESSION}")
        beat_ms = _number(run.settings, BROKERS_HEARTBEAT_MS, f"group.consumer.{HEARTBEAT}")
    else:
        session_ms = _number(settings, SESSION_MS, SESSION)
        beat_ms = _number(settings, HEARTBEAT_MS, HEARTBEAT)
    return max(0, session_ms - beat_ms) * 1_000_000


def _within(spans: Sequence[Span], at_ns: int) -> bool:
    return any(begin_ns <= at_ns < end_ns for begin_ns, end_ns in spans)


def group_emptied(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """A group of the consumer protocol without members takes offsets of whoever has left it, or was fenced
    (ConsumerGroup.validateOffsetCommit, 4.0.2 and 4.3.1): the sessions of all others had ended.
    """
    if run_state is None:
        return None
    over = _sessions_over(run, run_state)
    for row in finding.evidence:
        process = run.process(row.process or "")
        if process is None or process.settings.get(PROTOCOL) != "consumer":
            return None
        group = process.settings.get("group.id")
        others = {one.name for one in run.processes if group and one.settings.get("group.id") == group}
        others = others - {process.name} | {str(row.detail.get("owner"))}
        if not all(_within(over.get(name, ()), row.completed_ns or 0) for name in others):
            return None
    return "the group was empty, and takes offsets of whoever has left it"


def held_up_by_last_fetch(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """Before 1.1 whoever is made the leader waits for the answer to the last fetch that it has sent to the leader
    before, or for a connection to it, for up to replica.socket.timeout.ms (KAFKA-6051). Until then the coordinator
    answers NOT_COORDINATOR.
    """
    if numbers(run.kafka) >= FETCHES_END.release or run_state is None:
        return None
    wait_ns = _number(run.settings, SOCKET_MS, "replica.socket.timeout.ms") * 1_000_000 + STOPS_NS
    terms = [
        state.begin_ns
        for (topic, _), states in run_state.partitions.items()
        for before, state in pairwise(states)
        if topic == OFFSETS_TOPIC and state.leader != before.leader
    ]
    for row in finding.evidence:
        until_ns = row.detail.get("until_ns", NEVER_NS)
        led_ns = max((begin_ns for begin_ns in terms if begin_ns <= until_ns), default=-NEVER_NS)
        if row.detail.get("error") != NOT_COORDINATOR or until_ns > led_ns + wait_ns:
            return None
    return "before 1.1 a new coordinator is held up by its last fetch from the one before"


def truncates_to_high_watermark(run: RunRecord) -> bool:
    """Whether the run's brokers truncate to their high watermark: an inter-broker protocol before 0.11 (KIP-101), the
    release's own or the one it is pinned to.
    """
    stated = run.settings.get("inter.broker.protocol.version") or run.kafka
    return run.mode == "zookeeper" and () < numbers(stated) < LEADER_EPOCHS.release


def truncated_by_protocol(run: RunRecord, finding: Finding, run_state: RunState | None = None) -> str | None:
    """The protocol lets a follower truncate to its own high watermark, or its log has no leader epochs, and the leader
    alone had announced more.
    """
    # Below what it had announced itself no protocol lets it truncate.
    rows = finding.evidence
    by_leader = all(row.detail.get("announced_by") == "leader" for row in rows)
    permitted = by_leader and truncates_to_high_watermark(run)
    if not permitted or any(_by_epoch(run, run_state, finding.where, row) for row in rows):
        return None
    asks = any(speaks_epochs_at(run, run_state, row.node or "", row.at_ns or 0) for row in rows)
    why = "without leader epochs in its log" if asks else "before protocol 0.11"
    return f"{why} a follower truncates to its own high watermark (KIP-101)"


def _by_epoch(run: RunRecord, run_state: RunState | None, where: TopicPartition | None, row: Row) -> bool:
    """Whether a replica truncated by leader epoch, as a row tells of it: its log had gone to that high watermark."""
    high_watermark = row.detail.get("high_watermark")
    log_end = high_watermark if isinstance(high_watermark, int) else NEVER_NS
    return where is None or asks_by_epoch_at(run, run_state, row.node or "", where, log_end, row.at_ns or 0)


# What a loss looks like from other sides


def _lost(losses: Sequence[Finding]) -> tuple[set[RecordId], bool]:
    """The lost records that evidence names, and whether there are more than it names."""
    # Evidence stops at a number of rows; beyond it, what was acknowledged and read by nobody is a lost record all the
    # same.
    return {one for loss in losses for one in loss.records}, not all(loss.whole for loss in losses)


def offset_given_again(finding: Finding, losses: Sequence[Finding]) -> str | None:
    """At every offset at most one value may be other than a lost one, and nobody may have read the lost one: that it
    was not read is what makes it lost.
    """
    lost, curtailed = _lost(losses)
    for row in finding.evidence:
        values, read = set(row.records), set(row.read)
        others = (values & read if curtailed else values) - lost
        if not values or len(others) > 1 or read & lost:
            return None
    same = bool(finding.evidence) and bool(lost)
    return "the offset of a lost record was given to the next one, as the documented loss implies" if same else None


def lost_record_came_before(finding: Finding, losses: Sequence[Finding]) -> str | None:
    """Where a log was cut off, the next record takes a lower offset than the lost ones had, if of each two records that
    are out of order the earlier one is lost and the later one is not.
    """
    lost, curtailed = _lost(losses)
    pairs = [row.records for row in finding.evidence]
    same = finding.whole and bool(lost) and not curtailed
    same &= all(len(pair) == 2 and pair[0] in lost and pair[1] not in lost for pair in pairs)
    return "it was sent after a lost record and took a lower offset, as the documented loss implies" if same else None


def lost_record_is_missing(finding: Finding, losses: Sequence[Finding]) -> str | None:
    """What is lost for all is missing from in-sync replicas, if no acknowledged record but lost ones is missing."""
    lost, curtailed = _lost(losses)
    same = bool(lost) and (curtailed or lost.issuperset(finding.records))
    return "a lost record is missing from in-sync replicas, as the documented loss implies" if same else None


def lost_record_was_cut_off(finding: Finding, losses: Sequence[Finding]) -> str | None:
    """A log cut off below a high watermark says no more than the loss, if nothing but lost records was cut off."""
    lost, curtailed = _lost(losses)
    ends = [row.offset or 0 for loss in losses for row in loss.evidence]
    same = bool(lost) and all(
        (curtailed or lost.issuperset(row.records)) and row.detail.get("log_end", NEVER_NS) <= max(ends)
        for row in finding.evidence
    )
    return "a log was cut off where the lost record lay, as the documented loss implies" if same else None
