"""G0 and G1c: cycles of dependencies between transactions.

Transaction b depends on a

    write-write   if b's value comes next after a's in some partition's log (only values of transactions counted)
    write-read    if b was given a value that a sent

A cycle of write-write dependencies alone is G0 (which Kafka's model permits: partitions are ordered each by itself, so
transactions that overlap may interleave), one with a write-read dependency in it is G1c. Aborted transactions have no
place in the log and depend on nothing; reading their values is aborted-read.

`dependencies` is of one partition; a cycle usually runs through several, so cycles are sought in those of all. Each
dependency also has a time of its two transactions: whoever seeks cycles on several machines cuts the graph by it
(analysis/across.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from checks import excuses
from checks.anomaly import (
    ADYA,
    KEPT_ROWS,
    anomaly,
    gathered,
)
from checks.view import EVIDENCE_LIMIT, NO_IDENTITY, Evidence, PartitionView, Rows, identity_of
from evidence.basis import Basis
from evidence.findings import record_of
from evidence.records import RecordId

WRITE_WRITE: Final = "write-write"
WRITE_READ: Final = "write-read"
TIMES: Final = ("before_ns", "after_ns")
"""When the two transactions were at work in this partition. Evidence does not tell them."""
Transaction = tuple[str, int]
Dependency = dict[str, Any]


def dependencies(view: PartitionView) -> list[Dependency]:
    """What transactions depend on through this partition, each pair once a kind, with the values that show it."""
    sends, polls = view.sends, view.polls
    place = view.places
    rows = np.flatnonzero((sends.transaction >= 0) & (place >= 0))
    rows = rows[np.argsort(place[rows], kind="stable")]
    found: dict[tuple[str, Transaction, Transaction], Dependency] = {}

    def add(kind: str, writer: int, other: Transaction, other_ns: int, detail: Mapping[str, Any]) -> None:
        before = (view.processes[sends.process[writer]], int(sends.transaction[writer]))
        if before != other:
            row = {
                "kind": kind,
                "before": list(before),
                "after": list(other),
                "before_ns": int(sends.invoked_ns[writer]),
                "after_ns": other_ns,
                "topic": view.topic,
                "partition": view.partition,
                "offset": int(place[writer]),
                **identity_of(int(sends.value[writer])),
                **detail,
            }
            found.setdefault((kind, before, other), row)

    for one, other in zip(rows[:-1].tolist(), rows[1:].tolist(), strict=True):
        after = (view.processes[sends.process[other]], int(sends.transaction[other]))
        shown = {"next": identity_of(int(sends.value[other])), "next_offset": int(place[other])}
        add(WRITE_WRITE, one, after, int(sends.invoked_ns[other]), shown)
    writers = {int(sends.value[row]): row for row in rows.tolist()}
    in_transaction = (polls.transaction >= 0) & polls.good & (polls.value != NO_IDENTITY)
    for row in np.flatnonzero(in_transaction).tolist() if writers else ():
        writer = writers.get(int(polls.value[row]))
        if writer is not None:
            reader = (view.processes[polls.process[row]], int(polls.transaction[row]))
            add(WRITE_READ, writer, reader, int(polls.invoked_ns[row]), {})
    return list(found.values())


def _components(graph: Mapping[Transaction, Iterable[Transaction]]) -> Iterator[set[Transaction]]:
    """The strongly connected components of more than one transaction (Tarjan's, without recursion)."""
    number: dict[Transaction, int] = {}
    low: dict[Transaction, int] = {}
    stack: list[Transaction] = []
    on_stack: set[Transaction] = set()
    for root in graph:
        if root in number:
            continue
        work = [(root, iter(graph[root]))]
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, successors = work[-1]
            following = next((one for one in successors if one not in number or one in on_stack), None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    component: set[Transaction] = set()
                    while node not in component:
                        component.add(stack.pop())
                    on_stack -= component
                    if len(component) > 1:
                        yield component
            elif following in number:
                low[node] = min(low[node], number[following])
            else:
                number[following] = low[following] = len(number)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(graph.get(following, ()))))


def _path(
    graph: Mapping[Transaction, Iterable[Transaction]], start: Transaction, end: Transaction
) -> list[Transaction]:
    """A shortest path from `start` to `end`; empty if there is none."""
    came_from: dict[Transaction, Transaction] = {}
    seen, level = {start}, [start]
    while level and end not in seen:
        following = []
        for node in level:
            for successor in graph.get(node, ()):
                if successor not in seen:
                    seen.add(successor)
                    came_from[successor] = node
                    following.append(successor)
        level = following
    if end not in seen:
        return []
    path = [end]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]


def ends_of(edge: Dependency) -> tuple[Transaction, Transaction]:
    """The two transactions of a dependency."""
    (process, number), (other, its_number) = edge["before"], edge["after"]
    return (process, number), (other, its_number)


def _graph(edges: Iterable[Dependency]) -> dict[Transaction, list[Transaction]]:
    graph: dict[Transaction, list[Transaction]] = {}
    for before, after in map(ends_of, edges):
        graph.setdefault(before, []).append(after)
        graph.setdefault(after, [])
    return graph


def _shortest_cycle(edges: Sequence[Dependency], kind: str) -> list[Dependency] | None:
    """The shortest cycle of a strongly connected component that begins with an edge of a kind, as its edges."""
    graph = _graph(edges)
    best: list[Dependency] | None = None
    for first in edges:
        if first["kind"] != kind:
            continue
        before, after = ends_of(first)
        path = _path(graph, after, before)
        if path and (best is None or len(path) < len(best)):
            best = [first, *(next(e for e in edges if ends_of(e) == step) for step in pairwise(path))]
    return best


DEPENDENCIES: Final = gathered(dependencies, KEPT_ROWS)


@anomaly(
    "G0",
    source=ADYA,
    basis=Basis.DOCUMENTATION,
    reads=(DEPENDENCIES,),
    permitted="always: transactions of Kafka do not order their writes",
    permits=excuses.cycles_of_writes,
)
def write_cycles(edges: Sequence[Dependency]) -> Rows:
    """A cycle of transactions, each of which wrote to a partition after the one before it.

    For each set of transactions whose writes depend on each other, a shortest cycle as its dependencies.
    """
    return _cycles([edge for edge in edges if edge["kind"] == WRITE_WRITE], WRITE_WRITE)


@anomaly("G1c", source=ADYA, basis=Basis.DOCUMENTATION, reads=(DEPENDENCIES,))
def read_cycles(edges: Sequence[Dependency]) -> Rows:
    """A cycle of transactions, each of which wrote after the one before it or read what it wrote.

    For each set of transactions that depend on each other, a shortest cycle with a read in it, as its dependencies.
    """
    return _cycles(edges, WRITE_READ)


def _cycles(edges: Sequence[Dependency], kind: str) -> Rows:
    """For each strongly connected component, a shortest cycle that begins with an edge of a kind; in the order of the
    first transactions of the components.
    """
    component = {node: number for number, nodes in enumerate(_components(_graph(edges))) for node in nodes}
    inside: dict[int, list[Dependency]] = {}
    for edge in edges:
        before, after = (component.get(end) for end in ends_of(edge))
        if before is not None and before == after:
            inside.setdefault(before, []).append(edge)
    rows: list[Evidence] = []
    for own in inside.values():
        if cycle := _shortest_cycle(own, kind):
            transactions = sorted({end for edge in own for end in ends_of(edge)})
            told = [{name: part for name, part in edge.items() if name not in TIMES} for edge in cycle]
            named = [list(one) for one in transactions[:EVIDENCE_LIMIT]]
            rows.append({"records": _records(cycle), "cycle": told, "transactions": named})
    rows.sort(key=lambda row: tuple(row["transactions"][0]))
    return Rows(rows[:EVIDENCE_LIMIT], total=len(rows))


def _records(cycle: Sequence[Dependency]) -> list[RecordId]:
    """The records that show the dependencies of a cycle."""
    found: list[RecordId] = []
    for edge in cycle:
        found += (*record_of(edge), *record_of(edge.get("next") or {}, (edge["topic"], edge["partition"])))
    return found
