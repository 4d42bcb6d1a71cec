"""What a node ran and spoke at a time: from run.json, and from the proofs of what was done to it."""

from __future__ import annotations

from typing import Any

import pytest

from checks import excuses
from evidence.events import Event, Fault, FaultPhase, Log, Partition, Target
from evidence.findings import Finding, found
from evidence.node_releases import FORMAT, PROTOCOL, format_at, protocol_at, release_at
from evidence.run_state import RunState
from tests.proofs import proof
from tests.records import run_record
from tests.unit.timelines import at

OLD, NEW = "0.10.2.2", "0.11.0.3"
RUN = run_record(
    {
        "kafka": OLD,
        "mode": "zookeeper",
        "settings": {PROTOCOL: "0.10.2", FORMAT: "0.10.2"},
        "releases": {"broker-1": [OLD, NEW]},
    }
)


def done(kind: str, begin: int, node: str = "broker-1", **fields: object) -> list[Event]:
    """Something that was done to a broker."""

    def event(ns: int, phase: FaultPhase) -> Fault:
        proved = proof(kind, **fields) if phase == "verified" else None
        target = Target(role="", node=node)
        return at(
            ns,
            Fault(fault_kind=kind, id=f"f{begin}", phase=phase, target=target, description=kind, proof=proved),
        )

    return [event(begin, "inject"), event(begin + 5, "verified")]


STATE = RunState(
    (
        *done("upgrade", 10),
        *done("raise", 20, settings={PROTOCOL: "0.11.0"}, says=(f"{PROTOCOL} = 0.11.0",)),
        *done("raise", 30, settings={FORMAT: "0.11.0"}, says=(f"{FORMAT} = 0.11.0",)),
    )
)


@pytest.mark.parametrize(
    ("ns", "release", "protocol", "message_format"),
    [
        (9, OLD, (0, 10, 2), (0, 10, 2)),
        (15, NEW, (0, 10, 2), (0, 10, 2)),
        (25, NEW, (0, 11, 0), (0, 10, 2)),
        (35, NEW, (0, 11, 0), (0, 11, 0)),
    ],
    ids=["old", "new binary", "new protocol", "new format"],
)
def test_a_node_is_what_it_was_last_made(
    ns: int, release: str, protocol: tuple[int, ...], message_format: tuple[int, ...]
) -> None:
    assert release_at(RUN, STATE, "broker-1", ns) == release
    assert protocol_at(RUN, STATE, "broker-1", ns) == protocol
    assert format_at(RUN, STATE, "broker-1", ns) == message_format


def test_a_node_that_began_as_another_release_is_that() -> None:
    mixed = run_record({"kafka": OLD, "releases": {"broker-3": [NEW]}})
    assert [release_at(mixed, None, f"broker-{number}", 1) for number in (2, 3)] == [OLD, NEW]
    assert protocol_at(mixed, None, "broker-3", 1) == (0, 11, 0, 3)


# Truncations, in the order in which a run of upgrade-rolling from 0.10.2.2 had them


def led(ns: int, leader: int, epoch: int, isr: tuple[int, ...] = (1, 2, 3)) -> Event:
    state = Partition(source="zookeeper", topic="t", partition=0, leader=leader, leader_epoch=epoch, isr=isr)
    return at(ns, state)


def leads_from(ns: int, leader: int, epoch: int, offset: int) -> Event:
    """What a broker logs when it becomes leader."""
    where: dict[str, Any] = {"topic": "t", "partition": 0, "leader_epoch": epoch, "offset": offset}
    return at(ns, Log(node=f"broker-{leader}", event="become-leader", line="t-0 starts at Leader Epoch", **where))


def raised(begin: int, node: str, setting: str) -> list[Event]:
    return done("raise", begin, node, settings={setting: "0.11.0"}, says=(f"{setting} = 0.11.0",))


PROTOCOLS = [*raised(10, "broker-1", PROTOCOL), *raised(20, "broker-2", PROTOCOL), *raised(30, "broker-3", PROTOCOL)]
FORMATS = [
    led(0, 3, 7),
    *PROTOCOLS,
    *raised(40, "broker-1", FORMAT),
    led(50, 2, 8),
    leads_from(51, 2, 8, 100),
    *raised(60, "broker-3", FORMAT),
    led(70, 3, 9),
    leads_from(71, 3, 9, 200),
    *raised(80, "broker-2", FORMAT),
    led(90, 2, 10),
    leads_from(91, 2, 10, 300),
]
"""Broker 1 has the new format before anybody; broker 3 is the first to write in it, from offset 200 on."""


def truncated(ns: int, node: str, below: int) -> Finding:
    """A follower was truncated below this high watermark, which its leader had announced."""
    row = {"node": node, "at_ns": ns, "announced_by": "leader", "high_watermark": below}
    return found("log-truncated-below-high-watermark", ("t", 0), [row])


@pytest.mark.parametrize(
    ("ns", "node", "below", "permitted"),
    [
        (15, "broker-2", 100, True),
        (35, "broker-1", 100, True),
        (52, "broker-1", 100, True),
        (72, "broker-1", 200, True),
        (72, "broker-1", 201, False),
        (92, "broker-1", 300, False),
        (92, "broker-3", 300, False),
    ],
    ids=[
        "the protocol is old",
        "the protocol is new, and nobody wrote an epoch",
        "the follower alone has the new format",
        "the new leader has it too, and the old one had written what was cut off",
        "what was cut off has an epoch",
        "long after",
        "another follower",
    ],
)
def test_a_truncation_is_permitted_by_the_format_of_whoever_wrote_the_log(
    ns: int, node: str, below: int, permitted: bool
) -> None:
    told = excuses.truncated_by_protocol(RUN, truncated(ns, node, below), RunState(tuple(FORMATS)))
    assert (told is not None) is permitted


def test_a_protocol_from_3_0_on_has_the_message_format_in_it() -> None:
    """log.message.format.version is not looked at then (KIP-724)."""
    state = RunState(tuple(done("raise", 20, settings={PROTOCOL: "3.5"}, says=(f"{PROTOCOL} = 3.5",))))
    assert format_at(RUN, state, "broker-1", 15) == (0, 10, 2)
    assert format_at(RUN, state, "broker-1", 25) == (3, 5)


@pytest.mark.parametrize(("release", "permitted"), [("2.0.1", False), ("2.1.1", True), ("2.8.2", True)])
def test_from_2_1_1_on_a_follower_of_an_older_format_keeps_no_epochs(release: str, permitted: bool) -> None:
    """What was cut off has an epoch, which broker 1 itself did not keep."""
    upgrade = done("upgrade", 5, after=release, release=release)
    formats = [one for one in FORMATS if one not in raised(40, "broker-1", FORMAT)]
    told = excuses.truncated_by_protocol(RUN, truncated(92, "broker-1", 300), RunState((*upgrade, *formats)))
    assert (told is not None) is permitted


@pytest.mark.parametrize(
    ("release", "below", "permitted"),
    [("2.1.1", 300, False), ("2.2.1", 300, True), ("2.8.2", 300, True), ("2.8.2", 301, False)],
    ids=["epochs are kept", "epochs are cleared", "so with later releases", "new ones were written since"],
)
def test_from_2_2_1_on_a_batch_of_an_older_format_clears_all_epochs(release: str, below: int, permitted: bool) -> None:
    """Broker 2 wrote epochs, then broker 3 wrote in the old format, and broker 2 leads again (KAFKA-7601)."""
    upgrade = done("upgrade", 5, after=release, release=release)
    formats = [*raised(40, "broker-1", FORMAT), *raised(45, "broker-2", FORMAT)]
    first = [led(50, 2, 8), leads_from(51, 2, 8, 100), led(60, 3, 9), leads_from(61, 3, 9, 200)]
    state = RunState((led(0, 3, 7), *upgrade, *PROTOCOLS, *formats, *first, led(80, 2, 10), leads_from(81, 2, 10, 300)))
    told = excuses.truncated_by_protocol(RUN, truncated(85, "broker-1", below), state)
    assert (told is not None) is permitted


@pytest.mark.parametrize(("release", "permitted"), [("2.0.1", False), ("2.1.1", True), ("2.8.2", True)])
def test_from_2_1_1_on_a_leader_of_an_older_format_knows_no_epochs_end(release: str, permitted: bool) -> None:
    """Broker 2 wrote epochs up to 200, and broker 3 leads from there, whose own format is old."""
    upgrade = done("upgrade", 5, after=release, release=release)
    old = done("upgrade", 6, "broker-3", after=release, release=release)
    formats = [*raised(40, "broker-1", FORMAT), *raised(45, "broker-2", FORMAT)]
    terms = [led(50, 2, 8), leads_from(51, 2, 8, 100), led(60, 3, 9), leads_from(61, 3, 9, 200)]
    state = RunState((led(0, 3, 7), *upgrade, *old, *PROTOCOLS, *formats, *terms))
    told = excuses.truncated_by_protocol(RUN, truncated(65, "broker-1", 200), state)
    assert (told is not None) is permitted


def test_which_of_both_is_old_is_said() -> None:
    by_protocol, by_log = truncated(15, "broker-2", 100), truncated(52, "broker-1", 100)
    state, rest = RunState(tuple(FORMATS)), "a follower truncates to its own high watermark (KIP-101)"
    assert excuses.truncated_by_protocol(RUN, by_protocol, state) == f"before protocol 0.11 {rest}"
    assert excuses.truncated_by_protocol(RUN, by_log, state) == f"without leader epochs in its log {rest}"


def test_a_leader_that_does_not_say_from_where_it_wrote_excuses_nothing() -> None:
    silent = RunState(tuple(event for event in FORMATS if not isinstance(event, Log)))
    assert excuses.truncated_by_protocol(RUN, truncated(72, "broker-1", 200), silent) is None
    assert excuses.truncated_by_protocol(RUN, truncated(52, "broker-1", 100), silent) is not None


def test_a_leader_that_was_started_with_the_new_format_may_have_written_epochs() -> None:
    """Nobody else was in sync, so it led again."""
    same = RunState((led(0, 3, 7), *PROTOCOLS, *raised(60, "broker-3", FORMAT), led(90, 2, 8)))
    assert excuses.truncated_by_protocol(RUN, truncated(92, "broker-1", 100), same) is None


def test_what_no_leader_announced_is_permitted_by_no_format() -> None:
    row = {"node": "broker-1", "at_ns": 52, "announced_by": "itself", "high_watermark": 100}
    own = found("log-truncated-below-high-watermark", ("t", 0), [row])
    assert excuses.truncated_by_protocol(RUN, own, RunState(tuple(FORMATS))) is None
