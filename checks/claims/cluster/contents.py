"""Claims about what the cluster keeps of itself: znodes with ZooKeeper, records of the metadata log with KRaft.

Each znode is compared with the form that its release writes (`kafka.utils.ZkUtils` up to 1.0, `kafka.zk.ZkData` since)
and with the facts of the run: the brokers' addresses, the assignments. A form has exactly its keys: one more or less is
a contradiction. Where a release leaves a key out at times it is optional. The inter-broker protocol counts, not the
release, where the code asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import judged, protocol_of, release_of
from evidence import borders
from evidence.basis import Basis
from evidence.events import NO_LEADER, IsrChange, Metadata, Missed, Reassign, Znode, of
from evidence.nodes import broker
from evidence.run import RunRecord
from evidence.text import plural

Run = Mapping[str, Any]
Content = Mapping[str, Any]

LEADER_UNCHANGED: Final = -2
"""In a PartitionChangeRecord."""
PLAINTEXT: Final = {"PLAINTEXT": "PLAINTEXT"}
PORT: Final = 9092

_BROKER: Final = re.compile(r"/brokers/ids/(\d+)")
_CONTROLLER: Final = re.compile("/controller")
_CONTROLLER_EPOCH: Final = re.compile("/controller_epoch")
_TOPIC: Final = re.compile("/brokers/topics/([^/]+)")
_STATE: Final = re.compile(r"/brokers/topics/([^/]+)/partitions/(\d+)/state")
_NOTIFICATION: Final = re.compile(r"/isr_change_notification/isr_change_\d{10}")
_ZNODES: Final = "ZkUtils (0.8.2.2 to 1.0.2), ZkData (1.1.1 to 3.9.2)"


def _address(run: RunRecord, number: int) -> str | None:
    """The address that the run's clients are given for a broker."""
    for process in run.processes:
        for server in process.settings.get("bootstrap.servers", "").split(","):
            host, _, port = server.rpartition(":")
            if host.endswith(f".{10 + number}") and port == str(PORT):
                return host
    return None


class _Assignments:
    """Where replicas may lie: where the run placed them, and where it asked for them to be later on.

    run.json has the assignment that was asked for last, and the timeline when that was; the one before is the first
    that was stated.
    """

    def __init__(self, evidence: RunEvidence) -> None:
        self._last = {where: list(replicas) for where, replicas in evidence.run.assignment.items()}
        asked = of(evidence.run_state.events, Reassign)
        self._asked = [(one.at_ns, (one.topic, one.partition), one.replicas) for one in asked]
        self._states = evidence.run_state.states

    def possible(self, topic: str, number: int, at_ns: int) -> list[list[int]]:
        """The assignments there may have been by then, the one that is certain first; none if nothing is known."""
        key = (topic, number)
        moves = [(asked_ns, list(replicas)) for asked_ns, of_which, replicas in self._asked if of_which == key]
        if not moves:
            return [self._last[key]] if key in self._last else []
        first = next((list(one.replicas) for one in self._states.get(key, ()) if one.replicas), None)
        before = [first] if first is not None else []
        return before + [replicas for asked_ns, replicas in moves if asked_ns <= at_ns]

    def holds(self, topic: str, number: int, at_ns: int, replicas: Collection[int]) -> bool:
        """Whether an assignment may have been this: one that was asked for, or while a move lasts two together."""
        known = self.possible(topic, number, at_ns)
        unions = [{*one, *other} for one, other in pairwise(known)]
        return not known or list(replicas) in known or set(replicas) in unions

    def has_all(self, topic: str, number: int, at_ns: int, members: Collection[int]) -> bool:
        """Whether these brokers may all have been replicas."""
        known = self.possible(topic, number, at_ns)
        return not known or set(members) <= {one for replicas in known for one in replicas}

    def moved(self, topic: str, at_ns: int) -> set[str]:
        """The numbers of a topic's partitions that were asked to move by then."""
        return {str(key[1]) for asked_ns, key, _ in self._asked if key[0] == topic and asked_ns <= at_ns}


def _lacks(content: Any, wanted: Mapping[str, Any], optional: Collection[str] = ()) -> Iterator[str]:
    """What a JSON object has otherwise than `wanted`, whose values are values or tests of one."""
    if not isinstance(content, dict):
        yield "it is no JSON object"
        return
    for name in sorted(content.keys() - wanted.keys() - set(optional)):
        yield f"it has {name}"
    for name, value in wanted.items():
        if name not in content:
            yield f"it has no {name}"
        elif not (value(content[name]) if callable(value) else content[name] == value):
            yield f"its {name} is {content[name]!r}"


def _a_time(value: Any) -> bool:
    """Whether it is a wall time in milliseconds, as text."""
    return isinstance(value, str) and value.isdigit()


def _partitions(value: Any) -> bool:
    """Whether it is a list of partitions, by topic and number."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(set(one) == {"topic", "partition"} and isinstance(one["partition"], int) for one in value)
    )


def _znodes(
    evidence: RunEvidence, path: re.Pattern[str], what: str, lacks: Callable[[Znode, re.Match[str]], Iterator[str]]
) -> Judged:
    """The contents of the znodes at a path, each held against its form."""
    rows = []
    for event in of(evidence.run_state.events, Znode):
        found = path.fullmatch(event.path)
        if found is not None and event.content is not None:
            row = {"path": event.path, "at_ns": event.at_ns, "content": event.content, "ephemeral": event.ephemeral}
            rows.append(row | {"otherwise": list(lacks(event, found))})
    wrong = [row for row in rows if row["otherwise"]]
    return judged(rows, wrong, plural(len(rows), "content") + f" of {what}", f"nobody read {what}")


def _lifetime(event: Znode, *, ephemeral: bool) -> Iterator[str]:
    if event.ephemeral != ephemeral:
        yield "it is ephemeral" if event.ephemeral else "it is not ephemeral"


@claim("broker-znode-content", source=f"{_ZNODES}: BrokerIdZNode; KIP-103, KIP-584", basis=Basis.SOURCE)
def broker_znode_content(evidence: RunEvidence) -> Judged:
    """/brokers/ids/N is ephemeral and has the broker's address, in the form of its release.

    /brokers/ids/N: version 1 in 0.8, 2 with endpoints in 0.9, 3 from protocol 0.10.0, 4 with the map of listeners from
    0.10.2 (KIP-103), 5 with features from protocol 2.7 (KIP-584).
    """
    release, protocol = release_of(evidence.run), protocol_of(evidence.run)

    def lacks(event: Znode, found: re.Match[str]) -> Iterator[str]:
        host = _address(evidence.run, int(found[1]))
        wanted: dict[str, Any] = {"version": 1, "host": host, "port": PORT, "jmx_port": -1, "timestamp": _a_time}
        if release >= borders.REGISTERS_ENDPOINTS.release:
            wanted |= {"version": 2, "endpoints": [f"PLAINTEXT://{host}:{PORT}"]}
        named = protocol >= borders.RACKS.release
        if named:
            wanted |= {"version": 3}
        if named and release >= borders.REGISTERS_LISTENERS.release:
            wanted |= {"version": 4, "listener_security_protocol_map": PLAINTEXT}
        if protocol >= borders.REGISTERS_FEATURES.release:
            wanted |= {"version": 5, "features": lambda value: isinstance(value, dict)}
        yield from _lacks(event.content, wanted, ("rack",) if named else ())
        yield from _lifetime(event, ephemeral=True)

    return _znodes(evidence, _BROKER, "/brokers/ids", lacks)


@claim("controller-znode-content", source=f"{_ZNODES}: ControllerZNode; KIP-866", basis=Basis.SOURCE)
def controller_znode_content(evidence: RunEvidence) -> Judged:
    """/controller is ephemeral and names a broker, in the form of its release.

    /controller: the broker's id and the time; version 2 with kraftControllerEpoch from 3.4 (KIP-866).
    """

    def lacks(event: Znode, _: re.Match[str]) -> Iterator[str]:
        wanted: dict[str, Any] = {"version": 1, "brokerid": lambda value: isinstance(value, int), "timestamp": _a_time}
        if release_of(evidence.run) >= borders.CONTROLLER_NAMES_KRAFT.release:
            wanted |= {"version": 2, "kraftControllerEpoch": -1}
        yield from _lacks(event.content, wanted)
        yield from _lifetime(event, ephemeral=True)

    return _znodes(evidence, _CONTROLLER, "/controller", lacks)


@claim("controller-epoch-znode-content", source=f"{_ZNODES}: ControllerEpochZNode", basis=Basis.SOURCE)
def controller_epoch_znode_content(evidence: RunEvidence) -> Judged:
    """/controller_epoch is persistent: a number that each controller raises by one.

    /controller_epoch: a number that rises by one each time, in a znode that outlives every controller.
    """
    last: list[int] = []
    missed = any(event.path == _CONTROLLER_EPOCH.pattern for event in of(evidence.run_state.events, Missed))

    def lacks(event: Znode, _: re.Match[str]) -> Iterator[str]:
        if not isinstance(event.content, int):
            yield "it is no number"
            return
        if last and event.content != last[-1] + 1 and not missed:
            yield f"it was {last[-1]} before"
        last.append(event.content)
        yield from _lifetime(event, ephemeral=False)

    return _znodes(evidence, _CONTROLLER_EPOCH, "/controller_epoch", lacks)


@claim("state-znode-content", source=f"{_ZNODES}: TopicPartitionStateZNode; KIP-704", basis=Basis.SOURCE)
def state_znode_content(evidence: RunEvidence) -> Judged:
    """A partition's state znode has leader, leader epoch, ISR and controller epoch; the leader is in the ISR, and the
    ISR is part of the assignment.

    /brokers/topics/T/partitions/P/state: leader, leader epoch, ISR and controller epoch; a leader in the ISR, an ISR of
    assigned replicas; from 3.2 on perhaps the leader's recovery state (KIP-704).
    """
    assignments = _Assignments(evidence)

    def lacks(event: Znode, found: re.Match[str]) -> Iterator[str]:
        numbers = dict.fromkeys(("leader", "leader_epoch", "controller_epoch"), lambda value: isinstance(value, int))
        wanted = {"version": 1, "isr": lambda value: isinstance(value, list), **numbers}
        optional = ("leader_recovery_state",) if release_of(evidence.run) >= borders.LEADERS_RECOVER.release else ()
        otherwise = list(_lacks(event.content, wanted, optional))
        yield from otherwise
        if not otherwise:
            leader, isr = event.entries["leader"], event.entries["isr"]
            if leader != NO_LEADER and leader not in isr:
                yield f"its leader {leader} is not in the ISR"
            if not assignments.has_all(found[1], int(found[2]), event.at_ns, isr):
                yield f"its ISR {isr} is no part of the assignment"
        yield from _lifetime(event, ephemeral=False)

    return _znodes(evidence, _STATE, "the states of partitions", lacks)


@claim("topic-znode-content", source=f"{_ZNODES}: TopicZNode; KIP-455, KIP-516", basis=Basis.SOURCE)
def topic_znode_content(evidence: RunEvidence) -> Judged:
    """/brokers/topics/T has the assignment that was asked for, in the form of its release.

    /brokers/topics/T: the assignment, as it was asked for; version 2 with the replicas that a reassignment adds and
    removes from 2.4 (KIP-455), version 3 with the topic's id from 2.8 (KIP-516). A reassignment changes it on its way,
    to old and new replicas together and to the new ones.
    """
    release, assignments = release_of(evidence.run), _Assignments(evidence)

    def lacks(event: Znode, found: re.Match[str]) -> Iterator[str]:
        def assigned(value: Any) -> bool:
            of_each = value.items() if isinstance(value, dict) else [("", value)]
            return all(
                number.isdigit() and assignments.holds(found[1], int(number), event.at_ns, replicas)
                for number, replicas in of_each
            )

        def changes(value: Any) -> bool:
            return isinstance(value, dict) and value.keys() <= assignments.moved(found[1], event.at_ns)

        wanted: dict[str, Any] = {"version": 1, "partitions": assigned}
        if release >= borders.ALTER_REASSIGNMENTS.release:
            wanted |= {"version": 2, "adding_replicas": changes, "removing_replicas": changes}
        if release >= borders.TOPIC_IDS.release:
            wanted |= {"version": 3}
        if protocol_of(evidence.run) >= borders.TOPIC_IDS.release:
            wanted |= {"topic_id": lambda value: isinstance(value, str) and len(value) == 22}
        yield from _lacks(event.content, wanted)
        yield from _lifetime(event, ephemeral=False)

    return _znodes(evidence, _TOPIC, "/brokers/topics", lacks)


@claim(
    "isr-notification-content",
    source=f"{_ZNODES}: IsrChangeNotificationZNode; KAFKA-1367 (0.9 to protocol 2.6)",
    basis=Basis.SOURCE,
)
def isr_notification_content(evidence: RunEvidence) -> Judged:
    """A notification of ISR changes is persistent, has a number of ten digits, and names partitions (if it is read
    before the controller deletes it).

    /isr_change_notification/isr_change_N: partitions whose ISR has changed; not bound to its maker's session.

    The controller deletes one within milliseconds, so of some the name alone is seen.
    """
    events = evidence.run_state.events
    held = {event.path: event for event in of(events, Znode) if event.content is not None}
    rows = []
    for made in (event for event in of(events, IsrChange) if event.state == "made"):
        read = held.get(made.path)
        otherwise = [] if _NOTIFICATION.fullmatch(made.path) else ["it has no number of ten digits"]
        if read is not None:
            otherwise += _lacks(read.content, {"version": 1, "partitions": _partitions})
            otherwise += _lifetime(read, ephemeral=False)
        content = read.content if read else None
        rows.append({"path": made.path, "at_ns": made.at_ns, "content": content, "otherwise": otherwise})
    wrong = [row for row in rows if row["otherwise"]]
    seen = f"{plural(len(rows), 'notification')}, {sum(row['content'] is not None for row in rows)} of them read"
    return judged(rows, wrong, seen, "no notification of an ISR change was made")


# Records


def _records(
    evidence: RunEvidence, types: Collection[str], what: str, lacks: Callable[[Metadata], Iterator[str]]
) -> Judged:
    rows = [
        {"type": event.type, "offset": event.offset, "at_ns": event.at_ns, "fields": event.fields}
        | {"otherwise": list(lacks(event))}
        for event in of(evidence.run_state.events, Metadata)
        if event.type in types
    ]
    wrong = [row for row in rows if row["otherwise"]]
    return judged(rows, wrong, plural(len(rows), "record") + f" of {what}", f"nobody read records of {what}")


@claim(
    "broker-records-content",
    source="KIP-631: RegisterBrokerRecord, BrokerRegistrationChangeRecord; KIP-858",
    basis=Basis.KIP,
)
def broker_records_content(evidence: RunEvidence) -> Judged:
    """With KRaft a broker registers fenced, with incarnation id, endpoint and log directory; it is fenced and unfenced
    under the epoch of that registration.

    A broker registers fenced, with an incarnation id, its endpoint and its log directories (KIP-631, KIP-858); later
    records fence and unfence it under the epoch of its registration.
    """
    epochs: dict[int, int] = {}

    def lacks(event: Metadata) -> Iterator[str]:
        fields, number = event.fields, int(event.fields.get("broker_id", -1))
        if event.type != "REGISTER_BROKER_RECORD":
            if fields.get("broker_epoch") != epochs.get(number):
                yield f"its broker epoch is {fields.get('broker_epoch')}, the registration's is {epochs.get(number)}"
            if fields.get("fenced") not in (-1, 0, 1):
                yield f"its fenced is {fields.get('fenced')!r}"
            return
        # A broker that registers once more as the same incarnation keeps its epoch.
        # Records of partitions may be written with it, before it: its epoch is the offset of the first then.
        anew = fields["broker_epoch"] != epochs.get(number)
        if anew and not epochs.get(number, -1) < fields["broker_epoch"] <= event.offset:
            yield f"its broker epoch {fields['broker_epoch']} is not its offset"
        elif anew and not fields.get("fenced"):
            yield "it is not fenced"
        epochs[number] = fields["broker_epoch"]
        if len(fields.get("incarnation_id") or "") != 22:
            yield f"its incarnation id is {fields.get('incarnation_id')!r}"
        points = [(one["name"], one["host"], one["port"]) for one in fields.get("end_points") or ()]
        if points != [("PLAINTEXT", _address(evidence.run, number), PORT)]:
            yield f"its endpoints are {points}"
        if len(fields.get("log_dirs") or ()) != 1:
            yield f"its log directories are {fields.get('log_dirs')}"

    return _records(evidence, ("REGISTER_BROKER_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD"), "brokers", lacks)


@claim(
    "partition-records-content",
    source="KIP-631: PartitionRecord, PartitionChangeRecord; KIP-858, KIP-966",
    basis=Basis.KIP,
)
def partition_records_content(evidence: RunEvidence) -> Judged:
    """With KRaft a partition begins with the assignment in sync and its first replica as leader; each change has an ISR
    of assigned replicas, and a leader out of it.

    A PartitionRecord has the assignment, all of it in sync, led by the first in epoch 0; a PartitionChangeRecord has
    what changes: an ISR of assigned replicas, a leader out of it.
    """
    assignments = _Assignments(evidence)
    in_sync: dict[tuple[str, int], list[int]] = {}

    def lacks(event: Metadata) -> Iterator[str]:
        fields, topic, number = event.fields, event.topic or "", int(event.fields["partition_id"])
        if event.type == "PARTITION_RECORD":
            in_sync[topic, number] = list(fields["isr"])
            for assigned in assignments.possible(topic, number, event.at_ns)[:1]:
                wanted = {"replicas": assigned, "isr": assigned, "leader": assigned[0], "leader_epoch": 0}
                for name, value in (wanted | {"partition_epoch": 0}).items():
                    said = list(fields[name]) if isinstance(value, list) else fields[name]
                    if said != value:
                        yield f"its {name} is {said}"
            if len(fields.get("directories") or ()) != len(fields["replicas"]):
                yield f"its directories are {fields.get('directories')}"
            return
        if "isr" in fields:
            in_sync[topic, number] = list(fields["isr"])
            if not assignments.has_all(topic, number, event.at_ns, fields["isr"]):
                yield f"its ISR {list(fields['isr'])} is no part of the assignment"
        leader = fields.get("leader", LEADER_UNCHANGED)
        if leader not in (LEADER_UNCHANGED, NO_LEADER) and leader not in in_sync.get((topic, number), [leader]):
            yield f"its leader {broker(leader)} is not in the ISR"

    return _records(evidence, ("PARTITION_RECORD", "PARTITION_CHANGE_RECORD"), "partitions", lacks)
