"""The events of the Atlas, in words.

`EVENTS` is the one name of each fault of the audit's matrix, grouped by how much has to fail (audit.grade).
`ROWS` are cases of scenarios whose outcome no producer setting decides, each with what to do. Such advice names what it
rests on: an arm (`prevented_by`) in which the same event loses nothing. Where no run backs it on a release, it is not
given as a remedy there. `PAUSES` are the events after which writes stop for a while.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from audit.cells import FAULTS
from audit.grade import GRADE_IF_LOST, UNGRADED
from evidence.run import DEFAULT_CASE

EVENTS: Final[Mapping[str, str]] = {
    "broker-restart": "One broker restarted cleanly",
    "rolling-restart": "All brokers restarted cleanly, one by one",
    "lost-acknowledgement": "Acknowledgement lost on the network",
    "refused-then-accepted": "Write refused once, then retried",
    "time-out": "Broker answers after the time-out",
    "client-crash": "Producer killed",
    "leader-crash-under-load": "Leader killed under load",
    "leader-crash-behind": "Leader killed, followers behind",
    "leader-cut-off": "Leader cut off, clients still reach it",
    "zombie-leader": "Leader freezes, is replaced, wakes up",
    "shrunk-isr-crash": "ISR shrinks to the leader, which is killed",
    "whole-isr-down": "All replicas killed and restarted",
    "double-failover": "Leader and successor killed, replicated",
    "follower-reboot": "Follower restarts, leads too early",
    "disk-lost": "Leader's disk lost for good",
    "rack-lost": "Leader's and a follower's disk lost",
    "last-disk-lost": "Last in-sync replica's disk lost",
    "power-loss": "All replicas lose power at once",
    "last-replica": "Last in-sync replica loses power, returns",
}
"""Every fault of the matrix but "none": its one name, on pages and in a terminal, in `WIDEST` characters."""
WIDEST: Final = 42

NOTES: Final[Mapping[str, str]] = {
    "shrunk-isr-crash": "with unclean elections off, the partition is offline until that broker returns",
    "double-failover": "one right after the other; both followers have the records",
    "follower-reboot": "before it has caught up",
    "disk-lost": "another replica leads",
    "last-disk-lost": "for good; another replica leads",
    "last-replica": "before the others, which were stopped earlier",
}
"""What a name leaves out and its outcome rests on."""


def inside(name: str) -> str:
    """The name of an event within a sentence.

    >>> inside("Leader killed"), inside("ISR shrinks")
    ('leader killed', 'ISR shrinks')
    """
    return name if name.startswith(("ISR", "ZooKeeper")) else name[:1].lower() + name[1:]


GROUPS: Final[Mapping[str, str]] = {
    "F": "No broker fails, or one disk",
    "ED": "One broker fails",
    "C": "Several brokers fail, one after the other",
    "": "Power is lost",
}
"""Groups of events, by the grade that a loss in them gives."""


def grouped() -> list[tuple[str, list[str]]]:
    """The events of each group, in the order of the grid."""
    found = []
    for grades, title in GROUPS.items():
        fits = [
            fault
            for fault in EVENTS
            if (fault in UNGRADED if not grades else fault not in UNGRADED and GRADE_IF_LOST[fault] in grades)
        ]
        found.append((title, fits))
    return found


def missing() -> set[str]:
    """Faults of the matrix that have no words here."""
    return set(FAULTS) - {"none"} - set(EVENTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """An event whose outcome no producer setting decides."""

    event: str
    settings: str
    scenario: str
    case: str = DEFAULT_CASE
    do: str
    """What to do about it: an imperative."""
    prevented_by: tuple[str, str] | None = None
    """The scenario and case in which this was done, and nothing was lost."""
    remedy: str = ""
    """What that arm had, in words: "log.flush.interval.messages=1"."""
    decided_by: str = ""
    """The producer setting that decides, if one does: such an event stands apart."""
    same_as: str = ""
    """The event of the grid that this is too, with other settings or another cluster."""
    needs: str = ""
    """The setting of a topic or of brokers that it takes, if that is not the recommended one."""


MIN_2: Final = "acks=all, min.insync.replicas=2"
ROWS: Final[tuple[EventRow, ...]] = (
    EventRow(
        event=EVENTS["power-loss"],
        settings=MIN_2,
        same_as="power-loss",
        scenario="page-cache-only",
        do="Spread replicas over power supplies, or set log.flush.interval.messages=1.",
        prevented_by=("page-cache-only", "flush-each"),
        remedy="log.flush.interval.messages=1",
    ),
    EventRow(
        event=EVENTS["power-loss"],
        settings=f"{MIN_2}; a flush each second",
        same_as="power-loss",
        scenario="page-cache-only",
        case="flush-interval",
        do="A flush each second bounds the loss and does not prevent it. Set log.flush.interval.messages=1.",
        prevented_by=("page-cache-only", "flush-each"),
        remedy="log.flush.interval.messages=1",
    ),
    EventRow(
        event="All brokers lose power just after a transaction in two topics",
        settings="flush.messages=1 in one of the topics",
        same_as="power-loss",
        scenario="coordinator-power-loss",
        case="transaction",
        do="Set log.flush.interval.messages=1 for the whole cluster: a transaction needs it in every topic.",
        prevented_by=("coordinator-power-loss", "transaction-flush-each"),
        remedy="log.flush.interval.messages=1",
    ),
    EventRow(
        event=EVENTS["last-replica"],
        settings=f"{MIN_2}; the followers were stopped cleanly",
        same_as="last-replica",
        scenario="last-replica-standing",
        case="min-2-stopped",
        do="Set flush.messages=1 in the topic, or use eligible leader replicas (KRaft; on in new clusters from 4.1). "
        "With neither, see which replica has the records (kafka-chaos replicas) before you start that leader.",
        prevented_by=("last-replica-standing", "min-2-stopped"),
        remedy="eligible leader replicas",
    ),
    EventRow(
        event="Followers killed, leader loses power, returns",
        settings=MIN_2,
        same_as="last-replica",
        scenario="last-replica-standing",
        case="min-2-killed",
        do="Set flush.messages=1 in the topic. Without it, see which replica has the records (kafka-chaos replicas) "
        "before you start that leader.",
    ),
    EventRow(
        event="Last in-sync broker returns with an empty disk",
        settings=MIN_2,
        scenario="blank-disk-replacement",
        case="still-in-isr",
        do="Replace a disk only when its broker is in no ISR.",
        prevented_by=("blank-disk-replacement", "out-of-isr"),
        remedy="a broker that was in no ISR",
    ),
    EventRow(
        event="Rack cut off, then loses power",
        settings="min.insync.replicas fits into the rack",
        scenario="rack-loss",
        case="within",
        do="Set min.insync.replicas to more replicas than any rack holds.",
        prevented_by=("rack-loss", "across"),
        remedy="more in-sync replicas asked for than the rack holds",
    ),
    EventRow(
        event="Every in-sync replica killed, another one leads",
        settings="unclean.leader.election.enable=true",
        needs="unclean.leader.election.enable=true",
        scenario="unclean-election",
        case="enabled",
        do="Set unclean.leader.election.enable=false. The partition then waits for its last in-sync replica.",
        prevented_by=("unclean-election", "disabled"),
        remedy="unclean.leader.election.enable=false",
    ),
    EventRow(
        event="Second machine starts with a broker's node.id",
        settings=MIN_2,
        scenario="duplicate-id-counts-as-replica",
        do="Make sure the old machine is off before you give its node.id to another.",
        prevented_by=("duplicate-id-counts-as-replica", "without-double"),
        remedy="only one machine with that node.id",
    ),
    EventRow(
        event="Leader's clock eight days ahead",
        settings="acks=all, retention.ms of seven days (the default)",
        scenario="clock-step",
        case="leader-ahead",
        do="Let time servers slew and never step. Set retention.ms=-1 where nothing may be deleted.",
    ),
    EventRow(
        event="One bit of an index file flips",
        settings="acks=all",
        scenario="bit-rot",
        case="index",
        do="Delete the index files of a broker whose disk is suspect, while it is down: it makes them anew.",
    ),
    EventRow(
        event="ZooKeeper or the controllers freeze for longer than the sessions",
        settings="acks=1 and acks=all side by side",
        scenario="coordinator-outage",
        case="frozen",
        do="Set acks=all. The records that were lost were sent with acks=1.",
        decided_by="acks",
    ),
    EventRow(
        event=EVENTS["double-failover"],
        settings="acks=all",
        same_as="double-failover",
        scenario="double-failover",
        do="Run 0.11 or later, and finish the upgrade of inter.broker.protocol.version.",
        prevented_by=("double-failover", DEFAULT_CASE),
    ),
    EventRow(
        event=EVENTS["whole-isr-down"],
        settings=MIN_2,
        same_as="whole-isr-down",
        scenario="memory-survives",
        case="killed",
        do="Nothing: the page cache outlives processes.",
        prevented_by=("memory-survives", "killed"),
    ),
    EventRow(
        event="The leader and one follower lose power at once",
        settings=MIN_2,
        scenario="memory-survives",
        case="leader-and-follower",
        do="Give each replica a power supply of its own, and run 0.11 or later: before, a replica that was not hit may "
        "truncate too.",
    ),
    EventRow(
        event="The leader's disk is full",
        settings=MIN_2,
        scenario="disk-full",
        case="leader",
        do="Nothing for the records: writes stop until another broker leads.",
        prevented_by=("disk-full", "leader"),
    ),
    EventRow(
        event="The leader's disk answers with errors",
        settings=MIN_2,
        scenario="disk-full",
        case="leader-broken",
        do="Nothing for the records: writes stop until another broker leads.",
        prevented_by=("disk-full", "leader-broken"),
    ),
    EventRow(
        event="One of the leader's two log directories fails",
        settings=MIN_2,
        scenario="log-directory-failure",
        case="leader",
        do="Nothing for the records: another broker leads.",
        prevented_by=("log-directory-failure", "leader"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePause:
    """An event after which writes stop for a while, with acks=all."""

    event: str
    scenario: str
    case: str = DEFAULT_CASE


PAUSES: Final[tuple[WritePause, ...]] = (
    WritePause(event="A leader is stopped cleanly", scenario="controlled-shutdown", case="clean"),
    WritePause(event=EVENTS["rolling-restart"], scenario="rolling-restart", case="clean"),
    WritePause(event="A leader is killed", scenario="controlled-shutdown", case="killed"),
    WritePause(event="All brokers are killed and restarted, one by one", scenario="rolling-restart", case="killed"),
    WritePause(event="All brokers are killed at once and restarted", scenario="memory-survives", case="killed"),
    WritePause(event="The controller is killed", scenario="controller-failover", case="a-broker"),
    WritePause(event="The leader is cut off from the cluster", scenario="leader-isolated", case="acks-all"),
    WritePause(event="A follower is cut off from the cluster", scenario="follower-isolated", case="acks-all"),
    WritePause(event="The leader's disk is full", scenario="disk-full", case="leader"),
    WritePause(event="The leader loses power", scenario="memory-survives", case="leader"),
)
