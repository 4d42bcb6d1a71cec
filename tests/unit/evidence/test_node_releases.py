"""What a node ran and spoke at a time: from run.json, and from the proofs of what was done to it."""

from __future__ import annotations

import pytest

from checks import excuses
from evidence.events import Event, Fault, FaultPhase, Target
from evidence.findings import Finding, found
from evidence.node_releases import FORMAT, PROTOCOL, format_at, has_epochs_at, protocol_at, release_at
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


def done(kind: str, begin: int, **fields: object) -> list[Event]:
    """Something that was done to broker-1."""

    def event(ns: int, phase: FaultPhase) -> Fault:
        proved = proof(kind, **fields) if phase == "verified" else None
        target = Target(role="", node="broker-1")
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
    ("ns", "release", "protocol", "message_format", "epochs"),
    [
        (9, OLD, (0, 10, 2), (0, 10, 2), False),
        (15, NEW, (0, 10, 2), (0, 10, 2), False),
        (25, NEW, (0, 11, 0), (0, 10, 2), False),
        (35, NEW, (0, 11, 0), (0, 11, 0), True),
    ],
    ids=["old", "new binary", "new protocol", "new format"],
)
def test_a_node_is_what_it_was_last_made(
    ns: int, release: str, protocol: tuple[int, ...], message_format: tuple[int, ...], epochs: bool
) -> None:
    assert release_at(RUN, STATE, "broker-1", ns) == release
    assert protocol_at(RUN, STATE, "broker-1", ns) == protocol
    assert format_at(RUN, STATE, "broker-1", ns) == message_format
    assert has_epochs_at(RUN, STATE, "broker-1", ns) is epochs
    assert has_epochs_at(RUN, STATE, "broker-2", ns) is False


def test_a_node_that_began_as_another_release_is_that() -> None:
    mixed = run_record({"kafka": OLD, "releases": {"broker-3": [NEW]}})
    assert [release_at(mixed, None, f"broker-{number}", 1) for number in (2, 3)] == [OLD, NEW]
    assert protocol_at(mixed, None, "broker-3", 1) == (0, 11, 0, 3)


def truncated(ns: int, node: str = "broker-1") -> Finding:
    row = {"node": node, "at_ns": ns, "announced_by": "leader"}
    return found("log-truncated-below-high-watermark", ("t", 0), [row])


def test_a_truncation_is_permitted_by_what_the_node_spoke_then() -> None:
    assert excuses.truncated_by_protocol(RUN, truncated(25), STATE) is not None
    assert excuses.truncated_by_protocol(RUN, truncated(35), STATE) is None
    assert excuses.truncated_by_protocol(RUN, truncated(35, "broker-2"), STATE) is not None
