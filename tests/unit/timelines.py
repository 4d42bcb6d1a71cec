"""Timelines that tests write by hand: their events, and their lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from evidence.events import Container, Duty, E, End, Event, Fault, Firewall, Precondition, Software, of
from evidence.run import RunRecord, SequenceRecord
from evidence.run_state import RunState
from evidence.timeline import HEADER


def at(ns: int, event: E) -> E:
    """The event at this time, on both clocks."""
    return msgspec.structs.replace(event, monotonic_ns=ns, wall_ns=ns)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The events of a timeline as its lines have them."""
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


def write_lines(path: Path, events: Iterable[Mapping[str, Any] | Event]) -> None:
    """Write a timeline of these events, which may be as its lines have them."""
    path.write_bytes(HEADER + b"".join(msgspec.json.encode(event) + b"\n" for event in events))


def sound(run: RunRecord, events: Sequence[Event]) -> tuple[RunRecord, tuple[Event, ...]]:
    """The run, and its events with all that bears witness to a run and that they do not have: Docker's start of each
    broker, which release it runs, packet filters at the end, how the steps went, and the end of the timeline.
    """
    times = [event.monotonic_ns for event in events] or [0]
    begin = (min(times), [event.wall_ns for event in events if event.monotonic_ns == min(times)][:1] or [0])
    end = (max(times), [event.wall_ns for event in events if event.monotonic_ns == max(times)][:1] or [0])

    def stamped(event: E, when: tuple[int, list[int]]) -> E:
        return msgspec.structs.replace(event, monotonic_ns=when[0], wall_ns=when[1][0])

    assigned = {f"broker-{broker}" for brokers in run.assignment.values() for broker in brokers}
    started = {event.node for event in of(events, Container) if event.action == "start"}
    first: list[Event] = [stamped(Container(node=node, action="start"), begin) for node in sorted(assigned - started)]
    nodes = assigned | {node for node in RunState(tuple(events)).processes if node.startswith("broker-")}
    told = {event.node for event in of(events, Software)}
    first += [stamped(Software(source="docker", node=node, version=run.kafka), begin) for node in sorted(nodes - told)]
    whole = [*first, *events]
    if not of(events, Firewall):
        whole.append(stamped(Firewall(node="broker-1", rules=(), changes=()), end))
    if not of(events, End) and run.state == "complete":
        whole.append(stamped(End(run=run.run, lines=len(whole)), end))
    sequence = run.sequence or SequenceRecord(
        ended=True,
        cause=None,
        preconditions=len(of(events, Precondition)),
        duties=len(of(events, Duty)),
        faults=len({event.id for event in of(events, Fault)}),
    )
    return msgspec.structs.replace(run, sequence=sequence), tuple(whole)
