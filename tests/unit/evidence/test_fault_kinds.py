"""Sabotage of every kind of fault there is: an empty proof, and a proof with each of its fields wrong, is refused.

The tables are made from the registry, so a new kind is covered by its being there. What it needs is a proof that holds
(tests/proofs.py), to be made wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evidence.engine import ContainerAction
from evidence.events import Container, Event, Fault, Log, Target
from evidence.faults import DEATHS, KINDS, registry
from evidence.faults.base import FaultProof, kind_of
from evidence.faults.network import NetworkProof
from evidence.run_state import RunState
from evidence.stamps import own_ns
from evidence.timeline import Timeline, read
from judgement import soundness
from tests.proofs import PROOFS, shown
from tests.proofs import proof as proof_of
from tests.unit.timelines import at, lines_of, write_lines

Fields = dict[str, Any]
HUGE = 10**12
"""Larger than anything that a proof may hold."""


def run_of(proof: FaultProof) -> RunState:
    """A run with one fault that is called verified by this proof, and every other witness that it may have."""
    named = shown(PROOFS[proof.kind]) | {"node": "broker-1"}
    struck = Target(node="broker-1")
    about: Fields = {"fault_kind": proof.kind, "id": "f1", "target": struck, "description": "it"}
    ended = named.get("exit_code")
    told: list[tuple[ContainerAction, int]] = [("kill", named.get("signal_nano", 11)), ("pause", 11)]
    told.append(("start" if ended is None else "die", named.get("time_nano", 12)))
    said = [named[name] for name in ("line", "line_before") if name in named]
    events: list[Event] = [
        at(10, Fault(phase="inject", **about)),
        at(20, Fault(phase="verified", proof=proof, **about)),
        *(at(11, Container(node="broker-1", action=action, time_nano=nano, exit_code=ended)) for action, nano in told),
    ]
    for line in said:
        ahead_ns = named.get("ahead_ms", 0) * 1_000_000 if line == named.get("line") else 0
        logged = at(12, Log(node="broker-1", event="fatal", line=line))
        events.append(msgspec.structs.replace(logged, wall_ns=(own_ns(line) or 0) - ahead_ns))
    return RunState(tuple(sorted(events, key=lambda event: event.at_ns)))


def wrong_values(value: Any, others: Sequence[Any]) -> Iterator[Any]:
    """Values that a field may have in the place of `value`: nothing, too little, too much, and what others have."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (one for one in (0, -1, HUGE, *others) if isinstance(one, int) and one != value)
    elif isinstance(value, str):
        yield from ("", "something else")
    elif isinstance(value, list):
        yield from ([], ["more"], value[:1])
        yield from ([wrong, *value[1:]] for one in value[:1] for wrong in wrong_values(one, ()))
    elif isinstance(value, dict):
        yield {}
        for name, one in value.items():
            yield from (value | {name: wrong} for wrong in wrong_values(one, ()))


def depends_on() -> list[Any]:
    """Each kind and each field that its proof rests on: those without a default."""
    found = []
    for kind, proof_type in KINDS.items():
        for one in msgspec.structs.fields(proof_type):
            if one.required:
                found.append(pytest.param(kind, one.encode_name, id=f"{kind}: {one.encode_name}"))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_proof_that_holds(kind: str) -> None:
    assert kind in PROOFS, f"put a proof of the kind {kind!r} that holds into tests/proofs.py"
    assert soundness.unsupported_proofs(run_of(PROOFS[kind])) == []


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_proof_is_refused(kind: str, tmp_path: Path) -> None:
    """As a line of a timeline, where its kind has fields at all; and nothing in the place of a proof always is."""
    required = [one.encode_name for one in msgspec.structs.fields(KINDS[kind]) if one.required]
    assert required, "a proof has to rest on something"
    assert refused_line(tmp_path, kind, {"kind": kind})
    events = run_of(PROOFS[kind]).events
    bare = [msgspec.structs.replace(one, proof=None) if isinstance(one, Fault) else one for one in events]
    assert "it has no proof" in soundness.unsupported_proofs(RunState(tuple(bare)))[0]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("kill", "exit code 137, Docker's event “die”"),
        ("start", "running as process 4711, Docker's event “start”"),
        ("power-loss", "its disk forgot what was not flushed; of t-0 it holds 3 of 13 offsets"),
        ("freeze", "its CPU clock stood still at 55 ticks for 100 ms"),
        ("loss", "the kernel dropped 3 packets"),
        ("hold", "a request was taken and not answered, the kernel dropped 3 packets of answers"),
        ("delay", "a request on a connection that there was is not taken, the kernel dropped 3 packets"),
        ("slow", "4 packets waited in the kernel's token bucket, and arrived"),
        ("reset", "1 connections are gone"),
        ("kill-client", "its process ended with -9"),
        ("freeze-client", "its 2 threads are stopped"),
        ("withhold", "broker 2 answered EndTxn of app with 22 bytes, withheld"),
        ("wipe", "files_before 5, logs_before ['t-0'], files_after 0"),
    ],
)
def test_a_proof_is_told_in_words(kind: str, text: str) -> None:
    assert PROOFS[kind].text() == text


def test_a_disk_that_lost_nothing_is_told() -> None:
    whole = proof_of("power-loss", replicas={"t-0": {"written": 2, "held": 2}})
    assert whole.text().endswith("; of its replicas it holds everything")


def refused_line(place: Path, kind: str, proof: Fields | None) -> str:
    """What is said of a line with a verified fault, when the timeline is read; "" if it is taken."""
    path = place / "timeline.jsonl"
    path.unlink(missing_ok=True)
    with Timeline(path) as timeline:
        about: Fields = {"id": "f1", "target": Target(node="broker-1"), "description": "it"}
        timeline.append(Fault(fault_kind="cut", phase="verified", **about))
    (line,) = lines_of(path)
    write_lines(path, [line | {"fault_kind": kind, "proof": proof}])
    reading = read(path)
    assert len(reading.events) + len(reading.damaged) == 1
    return "".join(reading.damaged)


@pytest.mark.parametrize(("kind", "name"), depends_on())
def test_a_proof_without_a_field_that_it_rests_on_is_no_line_of_a_timeline(
    kind: str, name: str, tmp_path: Path
) -> None:
    proof = {"kind": kind, **shown(PROOFS[kind])}
    assert refused_line(tmp_path, kind, proof) == ""
    assert name in refused_line(tmp_path, kind, {field: one for field, one in proof.items() if field != name})


@pytest.mark.parametrize(("kind", "name"), depends_on())
def test_a_proof_with_a_wrong_field_is_refused(kind: str, name: str) -> None:
    proof = shown(PROOFS[kind])
    refused = []
    for wrong in wrong_values(proof[name], tuple(proof.values())):
        try:
            made = proof_of(kind, **{name: wrong})
        except msgspec.ValidationError:
            continue
        if soundness.unsupported_proofs(run_of(made)):
            refused.append(wrong)
    assert refused, f"{kind}: a proof with any {name} is believed; what does not count has to have a default"


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_described_and_told(kind: str) -> None:
    proof_type = KINDS[kind]
    assert vars(proof_type).get("__doc__"), "what counts as its proof, for docs/writing-a-fault.md"
    assert PROOFS[kind].text()


@pytest.mark.parametrize(
    ("proof", "word"),
    [
        (None, "no kind of fault is called 'new'"),
        ({"anything": False}, "missing required field `kind`"),
        ({"kind": "new", "anything": False}, "Invalid value 'new'"),
    ],
    ids=["no proof", "any proof", "its own"],
)
def test_a_kind_that_nobody_has_written_down_is_refused(proof: Fields | None, word: str, tmp_path: Path) -> None:
    assert word in refused_line(tmp_path, "new", proof)


def test_the_proof_of_another_kind_is_refused(tmp_path: Path) -> None:
    other = {"kind": "stop", **shown(PROOFS["stop"])}
    assert "is that of a fault 'stop'" in refused_line(tmp_path, "kill", other)


class _Sketch(FaultProof, frozen=True, kw_only=True):
    """The base of what is registered in tests alone."""


def test_a_kind_that_misses_nothing_is_not_registered() -> None:
    class Base(_Sketch, frozen=True, kw_only=True):
        pass

    class NothingMissing(Base, frozen=True, kw_only=True, tag="nothing-missing"):
        pass

    with pytest.raises(TypeError, match=r"NothingMissing .* has no missing\(\)"):
        registry(Base)


def test_two_kinds_of_one_name_are_not_registered() -> None:
    class Base(_Sketch, frozen=True, kw_only=True):
        def missing(self) -> str | None:
            return None

    class One(Base, frozen=True, kw_only=True, tag="same"):
        pass

    class Other(Base, frozen=True, kw_only=True, tag="same"):
        pass

    with pytest.raises(TypeError, match="both called 'same'"):
        registry(Base)


def test_kinds_that_are_asked_for_together() -> None:
    assert DEATHS == ("kill", "power-loss")
    assert tuple(registry(NetworkProof)) == ("cut", "delay", "hold", "loss", "slow")
    assert kind_of(KINDS["kill"]) == "kill"
