"""Whether a run's own evidence holds together: each witness against the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from evidence.engine import ContainerAction
from evidence.events import (
    Container,
    Ends,
    Event,
    Fault,
    FaultPhase,
    Firewall,
    Log,
    Moment,
    Partition,
    Precondition,
    Software,
    Target,
)
from evidence.foreign import foreign_events
from evidence.run import SequenceRecord
from evidence.run_state import RunState
from judgement import soundness
from tests.proofs import proof as proof_of
from tests.records import run_record
from tests.unit.timelines import at


def fault(ns: int, phase: FaultPhase, kind: str, id_: str = "f1", node: str = "broker-1", **proof: Any) -> Fault:
    target = Target(node=node)
    return at(
        ns,
        Fault(
            fault_kind=kind,
            id=id_,
            phase=phase,
            target=target,
            description=f"{kind} of {node}",
            proof=proof_of(kind, **proof) if phase == "verified" else None,
        ),
    )


def docker(ns: int, action: ContainerAction, node: str = "broker-1", code: int | None = None) -> Container:
    return at(ns, Container(node=node, action=action, exit_code=code, time_nano=ns))


def run_state(*events: Event) -> RunState:
    return RunState(tuple(sorted(events, key=lambda event: event.at_ns)))


UP = docker(1, "start")
KILL = [fault(10, "inject", "kill"), docker(11, "kill"), docker(12, "die", code=137), docker(12, "disconnect")]
KILLED = fault(13, "verified", "kill", exit_code=137, time_nano=12)
STOP = [fault(10, "inject", "stop"), docker(11, "kill"), docker(12, "die", code=143), docker(12, "stop")]
STOPPED = fault(13, "verified", "stop", exit_code=143, time_nano=12)
START = [fault(20, "inject", "start", "f2"), docker(21, "start")]
STARTED = fault(22, "verified", "start", "f2", time_nano=21)
FREEZE = [fault(10, "inject", "freeze"), docker(11, "pause")]
FROZEN = fault(12, "verified", "freeze", cpu_ticks=[7, 7])
THAWED = [fault(15, "heal", "freeze"), docker(16, "unpause"), fault(17, "healed", "freeze")]
DROPPED = {"broker-1 INPUT 172.0.0.2": 0, "broker-1 OUTPUT 172.0.0.2": 3}
CUT = [fault(10, "inject", "cut", node="broker-1, broker-2")]
CUT_OFF = fault(12, "verified", "cut", node="broker-1, broker-2", packets_dropped=DROPPED)
HEALED = [fault(15, "heal", "cut"), fault(16, "healed", "cut")]
LOSS = fault(10, "inject", "loss", node="broker-1, broker-2")
LOST: dict[str, Any] = {"packets_dropped": {"broker-1 OUTPUT x": 3}, "packets": {"broker-1 OUTPUT x": 9}}
SLOW = fault(10, "inject", "slow", node="broker-1, broker-2")
HOLD = fault(10, "inject", "hold", node="broker-1, clients")
RESET = fault(10, "inject", "reset")
DELAY = fault(10, "inject", "delay", node="broker-1, clients")
KILLED_CLIENT = fault(10, "inject", "kill-client", node="producer-1")


def held(asked: Sequence[str] = ("broker-1",), **proof: Any) -> Fault:
    return fault(
        12, "verified", "hold", node="broker-1, clients",
        **{"packets_dropped": {"broker-1 OUTPUT x PSH": 3}, "taken_and_unanswered": list(asked)} | proof,
    )  # fmt: skip


def delayed(asked: Sequence[str] = ("broker-1",), **proof: Any) -> Fault:
    return fault(
        12, "verified", "delay", node="broker-1, clients",
        **{"packets_dropped": {"broker-1 INPUT x:43210": 3}, "not_taken": list(asked)} | proof,
    )  # fmt: skip


def slowed(**link: float) -> Fault:
    whole = {"bytes_per_s": 20_000.0, "packets_waiting": 0, "packets_held": 0, "datagrams_arrived": 0} | link
    return fault(12, "verified", "slow", node="broker-1, broker-2", links={"broker-1 to broker-2": whole})


LINE = "A broker is already registered on the path /brokers/ids/1"
SAID = at(25, Log(node="broker-1", event="id-taken", line=LINE))
EXIT = [fault(23, "inject", "exit", "f3"), docker(26, "die", code=1), SAID, docker(26, "disconnect")]
EXITED = fault(27, "verified", "exit", "f3", exit_code=1, time_nano=26, line=LINE)
DOUBLE = [fault(10, "inject", "double", node="double"), docker(11, "start", "double")]
DOUBLED = fault(12, "verified", "double", node="double", time_nano=11, id=1)
OVER = "Completed migration of metadata from ZooKeeper to KRaft."
MIGRATION = [
    docker(1, "start", "controller-100"),
    fault(10, "inject", "migration", node="controller-100"),
    at(11, Log(node="controller-100", event="migrated", line=OVER)),
]


def migrated(**proof: Any) -> Fault:
    told: dict[str, Any] = {"line": OVER, "controller": "controller-100", "brokers": ["broker-1"]} | proof
    return fault(12, "verified", "migration", node="controller-100", **told)


WIPED = fault(15, "verified", "wipe", "f4", files_before=9, files_after=0)
FLIPPED = fault(15, "verified", "flip", "f4", byte_before=1, byte=65, others_as_before=True)
RESIZED = fault(15, "verified", "resize", "f4", bytes_before=9, bytes=3, rest_as_before=True)
OVERWRITTEN = fault(15, "verified", "overwrite", "f4", offset_before=3, offset=1003)
POWER: dict[str, Any] = {"exit_code": 137, "time_nano": 12, "refused_then": "Input/output error", "replicas": {}}
POWER |= {"flushed_file_held": True, "unflushed_file_held": False}
DARK = [fault(10, "inject", "power-loss"), docker(11, "kill"), docker(12, "die", code=137), docker(12, "disconnect")]


def without_power(**changes: Any) -> list[Event]:
    return [UP, *DARK, fault(13, "verified", "power-loss", **POWER | changes)]


RIGHT = "[1970-01-01T00:10:00.000Z] WARN Unexpected error from /172.0.0.1; closing connection"
WRONG = "[1970-01-01T02:10:01.000Z] WARN Unexpected error from /172.0.0.1; closing connection"


def stepped(seconds: int = 7200, before: str = RIGHT, line: str = WRONG, node: str = "broker-1") -> list[Event]:
    """A clock that is set two hours ahead, by lines that Docker stamped 10:00 and 10:01 after the hour."""
    lines = [
        Log(node=node, event="unreadable", line=text, wall_ns=at_s * 1_000_000_000)
        for text, at_s in ((RIGHT, 600), (WRONG, 601))
    ]
    return [
        UP,
        *(replace(one, monotonic_ns=10) for one in lines),
        fault(14, "inject", "clock-step", "f4"),
        fault(
            15, "verified", "clock-step", "f4", seconds=seconds, line_before=before, ahead_ms=seconds * 1000, line=line
        ),
    ]


PROVED: dict[str, list[Event]] = {
    "power loss and start": [*without_power(), *START, STARTED],
    "kill and start": [UP, *KILL, KILLED, *START, STARTED, docker(20, "connect")],
    "stop and start": [UP, *STOP, STOPPED, *START, STARTED],
    "a stop that took two signals": [UP, *STOP, docker(12, "kill"), STOPPED],
    "freeze": [UP, *FREEZE, FROZEN, *THAWED],
    "cut": [UP, *CUT, CUT_OFF, *HEALED],
    "migration": [*MIGRATION, migrated()],
    "loss": [UP, LOSS, fault(12, "verified", "loss", **LOST)],
    "slow": [UP, SLOW, slowed(packets_held=9, datagrams_arrived=8)],
    "slow, in a kernel that does not count": [UP, SLOW, slowed(packets_waiting=9, datagrams_arrived=8)],
    "answers held back": [UP, HOLD, held()],
    "connections delayed": [UP, DELAY, delayed()],
    "connections reset": [UP, RESET, fault(12, "verified", "reset", connections=["172.0.0.1:4000"], left=[])],
    "a client killed": [UP, KILLED_CLIENT, fault(12, "verified", "kill-client", node="producer-1", status=-9)],
    "an end that was expected": [UP, *KILL, KILLED, *START, STARTED, *EXIT, EXITED],
    "an end that was over when it was asked for": [
        UP,
        *KILL,
        KILLED,
        *START,
        EXIT[1],
        SAID,
        STARTED,
        fault(30, "inject", "exit", "f3"),
        at(31, EXITED),
    ],
    "a second broker": [UP, *DOUBLE, DOUBLED],
    "a blank disk": [UP, *KILL, KILLED, fault(14, "inject", "wipe", "f4"), WIPED],
    "a wrong checkpoint": [UP, *KILL, KILLED, fault(14, "inject", "overwrite", "f4"), OVERWRITTEN],
    "a flipped bit": [UP, fault(14, "inject", "flip", "f4"), FLIPPED],
    "a full disk": [UP, fault(14, "inject", "disk-full", "f4"), fault(15, "verified", "disk-full", "f4")],
    "a slow disk": [
        UP,
        fault(14, "inject", "slow-disk", "f4"),
        fault(15, "verified", "slow-disk", "f4", bytes=8192, bytes_counted=8192, bytes_per_s=4096, took_ms=1900),
    ],
    "a clock that is wrong": stepped(),
    "another length": [UP, *KILL, KILLED, fault(14, "inject", "resize", "f4"), RESIZED],
    "no fault": [UP],
}


@pytest.mark.parametrize("events", PROVED.values(), ids=PROVED)
def test_what_docker_bears_out_is_sound(events: list[Event]) -> None:
    assert soundness.unsupported_proofs(run_state(*events)) == []
    assert foreign_events(run_state(*events)) == []


HOLLOW: dict[str, tuple[list[Event], str]] = {
    "an end that the broker does not speak of": ([*EXIT[:2], EXITED], "log does not say so"),
    "an end that another broker speaks of": (
        [*EXIT[:2], at(25, Log(node="broker-2", event="id-taken", line=LINE)), EXITED],
        "log does not say so",
    ),
    "an end by a signal": (
        [*EXIT, fault(27, "verified", "exit", "f3", exit_code=137, time_nano=26, line=LINE)],
        "exit code 137",
    ),
    "an end that Docker knows nothing of": ([EXIT[0], SAID, EXITED], "no such end"),
    "a migration that no log tells of": ([*MIGRATION[:2], migrated()], "log does not say so"),
    "a migration that another line tells of": ([*MIGRATION, migrated(line="Starting")], "log does not say so"),
    "a migration of no broker": ([*MIGRATION, migrated(brokers=[])], "brokers that migrated"),
    "a migration to somebody else": ([*MIGRATION, migrated(controller="broker-1")], "names as the controller"),
    "a second broker that was not started": ([DOUBLE[0], DOUBLED], "no such start"),
    "a disk that forgot nothing": (without_power(unflushed_file_held=True), "forgot what was not flushed"),
    "a disk that forgot too much": (without_power(flushed_file_held=False), "forgot what was not flushed"),
    "a disk that was not shut down": (without_power(refused_then=""), "shut down with"),
    "a power loss that ended cleanly": (without_power(exit_code=143), "exit code 143"),
    "a power loss that Docker knows nothing of": (without_power(time_nano=99), "no such end"),
    "a disk that was not blank": (
        [fault(14, "inject", "wipe", "f4"), fault(15, "verified", "wipe", "f4", files_before=9, files_after=1)],
        "has none",
    ),
    "a checkpoint that stayed as it was": (
        [fault(14, "inject", "overwrite", "f4"), fault(15, "verified", "overwrite", "f4", offset_before=3, offset=3)],
        "another offset",
    ),
    "a disk that took what was written": (
        [fault(14, "inject", "disk-failure", "f4"), fault(15, "verified", "disk-failure", "f4", refused="")],
        "refused",
    ),
    "a clock that went on": (stepped(line=RIGHT), "wrong by so much"),
    "a clock that is wrong by less": (stepped(seconds=7300), "wrong by so much"),
    "a clock that was to stay as it is": (stepped(seconds=0, line=RIGHT), "right before"),
    "a clock that was wrong before": (stepped(before=WRONG), "right before"),
    "a clock of which its broker's log says nothing": (stepped(node="broker-2"), "right before"),
    "a disk that was quick": (
        [
            fault(14, "inject", "slow-disk", "f4"),
            fault(15, "verified", "slow-disk", "f4", bytes=8192, bytes_counted=8192, bytes_per_s=4096, took_ms=90),
        ],
        "as long as it says",
    ),
    "a slow disk that nothing was written to": (
        [
            fault(14, "inject", "slow-disk", "f4"),
            fault(15, "verified", "slow-disk", "f4", bytes=8192, bytes_counted=0, bytes_per_s=4096, took_ms=1900),
        ],
        "the kernel counted",
    ),
    "a byte that stayed as it was": (
        [fault(14, "inject", "flip", "f4"), fault(15, "verified", "flip", "f4", byte_before=1, byte=1)],
        "another byte",
    ),
    "a file in which more was changed": (
        [fault(14, "inject", "flip", "f4"), fault(15, "verified", "flip", "f4", others_as_before=False)],
        "all others as before",
    ),
    "a file that is as long as before": (
        [fault(14, "inject", "resize", "f4"), fault(15, "verified", "resize", "f4", bytes_before=9, bytes=9)],
        "another length",
    ),
    "another exit code": ([*KILL, fault(13, "verified", "kill", exit_code=0)], "exit code 0"),
    "no event": ([KILL[0], KILLED], "told of no such end"),
    "an event of another time": ([*KILL, fault(13, "verified", "kill", exit_code=137, time_nano=5)], "no such end"),
    "an event of another node": ([KILL[0], docker(12, "die", "broker-2", 137), KILLED], "no such end"),
    "an event with another code": ([KILL[0], docker(12, "die", code=0), KILLED], "no such end"),
    "killed instead of stopped": ([*STOP, fault(13, "verified", "stop", exit_code=137, time_nano=12)], "code 137"),
    "no start": ([START[0], STARTED], "no such start"),
    "a clock that goes on": ([*FREEZE, fault(12, "verified", "freeze", cpu_ticks=[7, 8])], "stands still"),
    "no pause": ([FREEZE[0], FROZEN], "no pause"),
    "no packet": ([*CUT, fault(12, "verified", "cut", packets_dropped={"broker-1 OUTPUT x": 0})], "packets"),
    "no answer held back": ([HOLD, held(packets_dropped={"broker-1 OUTPUT x PSH": 0})], "answers dropped"),
    "nothing delayed": ([DELAY, delayed(packets_dropped={"broker-1 INPUT x": 0})], "packets dropped"),
    "nobody was asked whether it is delayed": ([DELAY, delayed([])], "not taken"),
    "another was asked whether it is delayed": ([DELAY, delayed(["broker-2"])], "not taken"),
    "nobody was asked": ([HOLD, held([])], "taken and not answered"),
    "another was asked": ([HOLD, held(["broker-2"])], "taken and not answered"),
    "a connection that is left": (
        [RESET, fault(12, "verified", "reset", connections=["172.0.0.1:4000"], left=["172.0.0.1:4000"])],
        "are gone",
    ),
    "no connection": ([RESET, fault(12, "verified", "reset", connections=[], left=[])], "are gone"),
    "a client that ended by itself": (
        [KILLED_CLIENT, fault(12, "verified", "kill-client", node="producer-1", status=0)],
        "status 0",
    ),
    "every packet lost": (
        [LOSS, fault(12, "verified", "loss", **LOST | {"packets": {"broker-1 OUTPUT x": 3}})],
        "came through",
    ),
    "nothing that counts": ([LOSS, fault(12, "verified", "loss", packets_dropped=DROPPED, packets={})], "came through"),
    "no packet waited": ([SLOW, slowed(datagrams_arrived=8)], "packets that wait"),
    "no packet arrived": ([SLOW, slowed(packets_waiting=9, datagrams_arrived=0)], "and arrive"),
    "no link": ([SLOW, fault(12, "verified", "slow", links={})], "on each link"),
    "verified before it was injected": ([docker(12, "die", code=137), KILLED, fault(14, "inject", "kill")], "order"),
    "healed before it was healed": ([*CUT, CUT_OFF, HEALED[1]], "order inject, verified, healed"),
    "no proof": ([*CUT, replace(CUT_OFF, proof=None)], "no proof"),
}


@pytest.mark.parametrize(("events", "word"), HOLLOW.values(), ids=HOLLOW)
def test_a_proof_that_proves_nothing(events: list[Event], word: str) -> None:
    (reason,) = soundness.unsupported_proofs(run_state(UP, *events))
    assert word in reason


@pytest.mark.parametrize(("injected_ns", "sound"), [(None, True), (10, True), (13, True), (9, False), (14, False)])
def test_an_injection_ends_before_its_proof(injected_ns: int | None, *, sound: bool) -> None:
    verified = at(13, replace(KILLED, injected_ns=injected_ns))
    assert (soundness.unsupported_proofs(run_state(UP, *KILL, verified)) == []) == sound


FOREIGN: dict[str, tuple[list[Event], str]] = {
    "kill -9": ([docker(30, "die", code=137)], "its process ended (exit code 137)"),
    "SIGABRT": ([docker(30, "die", code=134)], "exit code 134"),
    "an end of its own": ([docker(30, "die", code=1)], "exit code 1"),
    "a clean end": ([docker(30, "die", code=0)], "exit code 0"),
    "docker stop": (
        [docker(30, "kill"), docker(31, "die", code=143), docker(32, "stop")],
        "a signal, its process ended (exit code 143), stopped",
    ),
    "docker restart": ([docker(30, "die", code=143), docker(31, "start")], "started"),
    "docker pause": ([docker(30, "pause"), docker(31, "unpause")], "paused, unpaused"),
    "docker network disconnect": ([docker(30, "disconnect"), docker(31, "connect")], "disconnected from the network"),
    "a signal": ([docker(30, "kill")], "a signal"),
    "out of memory": ([docker(30, "oom"), docker(31, "die", code=137)], "broker-1 ran out of memory"),
}


@pytest.mark.parametrize(
    "of_ours",
    [[], [*KILL, KILLED, *START, STARTED], [*FREEZE, FROZEN, *THAWED], [*KILL, KILLED, *START, STARTED, *EXIT, EXITED]],
)
@pytest.mark.parametrize(("events", "word"), FOREIGN.values(), ids=FOREIGN)
def test_what_no_fault_explains(events: list[Event], word: str, of_ours: list[Event]) -> None:
    (foreign,) = foreign_events(run_state(UP, *of_ours, *events))
    assert word in foreign.text


def test_what_came_before_a_fault_is_not_explained_by_it() -> None:
    assert foreign_events(run_state(UP, docker(5, "die", code=137), *KILL[:2], KILLED)) != []


def test_an_expected_end_that_was_not_proved_explains_none() -> None:
    unproved = fault(27, "unproved", "exit", "f3", seen="another line")
    (told,) = foreign_events(run_state(UP, *KILL, KILLED, *START, STARTED, *EXIT, unproved))
    assert told.text == "broker-1: its process ended (exit code 1), by something other than a fault of this run"
    assert (told.node, told.gone, told.acted) == ("broker-1", True, False)


def test_another_nodes_end_is_not_explained() -> None:
    assert foreign_events(run_state(*KILL, KILLED, UP, docker(12, "die", "broker-2", 137))) != []


def test_brokers_that_docker_is_silent_about() -> None:
    run = {"topics": [{"name": "t", "partitions": {"0": [1, 2]}}]}
    assert soundness.unheard(run_record(run), run_state(UP, docker(1, "start", "broker-2"))) == []
    assert soundness.unheard(run_record(run), run_state(UP)) == ["Docker told of no start of broker-2"]


# The packet filters


def test_rules_that_were_left() -> None:
    drop = at(30, Firewall(node="broker-2", rules=("-A INPUT -j DROP",), changes=()))
    clean = at(30, Firewall(node="broker-1", rules=(), changes=()))
    assert soundness.foreign_rules(run_state(clean)) == []
    (reason,) = soundness.foreign_rules(run_state(clean, drop))
    assert "broker-2: " in reason
    assert "-A INPUT -j DROP" in reason


def test_rules_that_nobody_looked_at() -> None:
    assert "nothing says" in soundness.foreign_rules(run_state())[0]


def test_a_rule_that_came_and_went() -> None:
    clean, unwatched = (at(30, Firewall(node="broker-1", rules=(), changes=changes)) for changes in ((), None))
    changed = at(30, Firewall(node="broker-2", rules=(), changes=("-A INPUT -j DROP", "-D INPUT -j DROP")))
    assert soundness.foreign_rules(run_state(clean)) == []
    (reason,) = soundness.foreign_rules(run_state(clean, changed))
    assert reason.startswith("broker-2: no fault of this run made these changes")
    assert reason.endswith("-A INPUT -j DROP; -D INPUT -j DROP")
    assert soundness.foreign_rules(run_state(unwatched)) == ["broker-1: nobody watched its packet filter"]


# The sequence


@pytest.mark.parametrize(
    ("sequence", "reasons"),
    [
        (SequenceRecord(ended=True, cause=None, preconditions=1, duties=0, faults=1), []),
        (SequenceRecord(ended=True, cause=None, preconditions=2, duties=0, faults=1), ["2 preconditions were checked"]),
        (
            SequenceRecord(ended=False, cause="it did not hold", preconditions=1, duties=0, faults=1),
            ["it did not hold"],
        ),
        (SequenceRecord(ended=False, cause=None, preconditions=1, duties=0, faults=1), ["nothing says why"]),
        (None, ["nothing says why"]),
        (SequenceRecord(ended=True, cause=None, preconditions=1, duties=0, faults=2), ["2 faults were carried out"]),
        (SequenceRecord(ended=True, cause=None, preconditions=1, duties=0, faults=0), ["0 faults were carried out"]),
        (SequenceRecord(ended=True, cause=None, preconditions=1, duties=0, faults=None), ["how many faults"]),
        (
            SequenceRecord(ended=False, cause="no", preconditions=0, duties=0, faults=0),
            ["no", "0 preconditions", "0 faults"],
        ),
    ],
)
def test_the_end_of_the_sequence_its_preconditions_and_its_faults(
    sequence: SequenceRecord | None, reasons: list[str]
) -> None:
    held = run_state(at(1, Precondition(name="p", held=True)), delayed())
    told = soundness.sequence_not_ended(structs.replace(run_record(), sequence=sequence), held)
    assert len(told) == len(reasons)
    assert all(word in line for word, line in zip(reasons, told, strict=True))


# Replicas at the end

TOPIC = {"name": "t", "partitions": {"0": [1, 2]}}


def end(leo_1: int | None, leo_2: int | None, *, isr: tuple[int, ...] = (1, 2), name: str = "01-final") -> list[Event]:
    nodes = {"broker-1": {"t-0": Ends(leo=leo_1)}, "broker-2": {"t-0": Ends(leo=leo_2)}}
    state = Partition(source="kraft", topic="t", partition=0, leader=1, leader_epoch=1, isr=isr)
    return [at(1, state), at(50, Moment(name=name, nodes=nodes, begun_ns=50))]


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (end(5, 5), []),
        (end(5, 5, isr=(1,)), ["broker-2 not in sync at the end: the ISR of t-0 is [1]"]),
        (end(5, 2), ["broker-2 held t-0 up to 2 of 5 at the end"]),
        (end(5, None), ["broker-2 held nothing of t-0 at the end"]),
        (end(5, 2, isr=(1,), name="00-armed"), []),
    ],
)
def test_replicas_that_do_not_come_back(events: list[Event], words: list[str]) -> None:
    assert soundness.out_of_sync(run_record({"topics": [TOPIC]}), run_state(*events)) == words
    assert (
        soundness.out_of_sync(run_record({"topics": [TOPIC], "documented": {"out_of_sync": True}}), run_state(*events))
        == []
    )


def test_only_the_copies_of_the_end_count() -> None:
    late = end(5, 5)
    assert soundness.out_of_sync(run_record({"topics": [TOPIC]}), run_state(*end(5, 1, name="00-armed"), *late)) == []


# Versions


def software(version: str, node: str = "broker-1") -> Software:
    return at(30, Software(source="broker-log", node=node, version=version))


def test_what_brokers_say_they_are() -> None:
    run = {"kafka": "2.8.2"}
    assert soundness.other_software(run_record(run), run_state(UP, software("2.8.2"))) == []
    assert soundness.other_software(run_record(run), run_state(UP, software("0.10.2.2"), software("2.8.2"))) == [
        "broker-1 runs Kafka 0.10.2.2, and this is a run of 2.8.2"
    ]
    assert soundness.other_software(run_record(run), run_state(UP)) == ["nothing says which version broker-1 runs"]


OLD, NEW = "0.10.2.2", "0.11.0.3"
UPGRADED = fault(
    12, "verified", "upgrade", node="broker-1", time_nano=11, before=OLD, after=NEW, release=NEW, sha256="a" * 64
)
UPGRADE = [UP, fault(10, "inject", "upgrade"), docker(11, "start"), UPGRADED]
OF_BOTH: dict[str, Any] = {
    "kafka": OLD,
    "releases": {"broker-1": [OLD, NEW]},
    "further_jars": {NEW: {"org.apache.kafka:kafka_2.11:0.11.0.3": "a" * 64}},
}


def test_a_node_that_was_upgraded_says_both_releases() -> None:
    events = [*UPGRADE, software(OLD), software(NEW)]
    assert soundness.other_software(run_record(OF_BOTH), run_state(*events)) == []
    assert soundness.other_software(run_record(OF_BOTH), run_state(*events, software("1.1.1"))) == [
        "broker-1 runs Kafka 1.1.1, and this is a run of 0.10.2.2 and 0.11.0.3"
    ]
    assert soundness.other_software(run_record({"kafka": OLD}), run_state(UP, software(NEW))) == [
        "broker-1 runs Kafka 0.11.0.3, and this is a run of 0.10.2.2"
    ]


@pytest.mark.parametrize(
    ("changes", "events", "reason"),
    [
        ({}, [*UPGRADE, software(OLD)], "the log of broker-1 does not say that it ran Kafka 0.11.0.3"),
        ({}, [UP, software(OLD), software(NEW)], "run.json has other releases of broker-1 than its upgrades proved"),
        ({"releases": {}}, [*UPGRADE, software(OLD)], "run.json has other releases of broker-1"),
        (
            {"further_jars": {NEW: {"x": "b" * 64}}},
            [*UPGRADE, software(NEW)],
            "started with another kafka_2.11-0.11.0.3.jar",
        ),
        ({"further_jars": {}}, [*UPGRADE, software(NEW)], "started with another kafka_2.11-0.11.0.3.jar"),
    ],
    ids=["its log is silent", "no proof", "not in run.json", "another jar", "no jars in run.json"],
)
def test_an_upgrade_that_other_witnesses_do_not_bear_out(
    changes: dict[str, Any], events: list[Event], reason: str
) -> None:
    found = soundness.other_software(run_record({**OF_BOTH, **changes}), run_state(*events))
    assert any(reason in one for one in found), found


def test_an_own_build_of_the_same_number_is_held_to_its_own_jars() -> None:
    proved = fault(
        12,
        "verified",
        "upgrade",
        node="broker-1",
        time_nano=11,
        before=OLD,
        after=f"{OLD}@{'e' * 12}",
        release=OLD,
        sha256="c" * 64,
    )
    events = [UP, fault(10, "inject", "upgrade"), docker(11, "start"), proved, software(OLD)]
    run = {"kafka": OLD, "releases": {"broker-1": [OLD, OLD]}, "jars": {"kafka_2.11": "a" * 64}}
    own = {f"{OLD}@{'e' * 12}": {"kafka_2.11": "c" * 64}}
    assert soundness.other_software(run_record({**run, "further_jars": own}), run_state(*events)) == []
    for further in ({}, {f"{OLD}@{'f' * 12}": {"kafka_2.11": "c" * 64}}, {OLD: {"kafka_2.11": "c" * 64}}):
        found = soundness.other_software(run_record({**run, "further_jars": further}), run_state(*events))
        assert any("was started with another" in one for one in found), further
