"""The outputs of an application as others read them: in what order, and what a reader gets who reads meanwhile."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import judged
from evidence.basis import Basis
from evidence.events import CrashPoint, of
from evidence.text import plural

NAMED = 20
"""Inputs that a row names."""
NOBODY = "no application stood at a crash point, or nobody read its outputs"


def _worked_on(evidence: RunEvidence) -> list[tuple[str, int, str]]:
    """The partitions in which an application stood at a crash point, and its group: without one nothing could have
    gone wrong.
    """
    return sorted({(one.topic, one.partition, one.group) for one in of(evidence.run_state.events, CrashPoint)})


@claim("outputs-keep-order-of-inputs", source="KIP-98", basis=Basis.KIP)
def outputs_keep_order_of_inputs(evidence: RunEvidence) -> Judged:
    """The outputs of a partition's inputs lie in their log in the order of these inputs, as readers of what is
    committed find them, whatever dies.

    Each output is a row, by the input before it: two outputs of one input are in order. Kafka's own transactions_test
    compares whole lists (check_order); here the pairs that are out of order are named.
    """
    rows: list[dict[str, Any]] = []
    wrong: list[dict[str, Any]] = []
    for topic, partition, group in _worked_on(evidence):
        found = evidence.processing_in(topic, partition, group)
        if found is not None and found.order:
            back = [[before, after] for before, after in pairwise(found.order) if after < before]
            row: dict[str, Any] = {"topic": topic, "partition": partition, "group": group}
            row |= {"outputs": len(found.order), "out_of_order": back[:NAMED]}
            rows.append(row)
            wrong += [row] if back else []
    outputs = sum(row["outputs"] for row in rows)
    return judged(rows, wrong, f"{plural(len(rows), 'partition')} with {plural(outputs, 'output')} in order", NOBODY)


@claim("reader-meanwhile-gets-each-input-once", source="KIP-98", basis=Basis.KIP)
def reader_meanwhile_gets_each_input_once(evidence: RunEvidence) -> Judged:
    """A consumer with isolation.level=read_committed that reads the outputs while applications and brokers die is given
    one output of each input, in the order of the inputs, and none that is aborted.

    The consumer is not the one that reads everything at the end. That one says which outputs there are, and of which
    inputs they were made: what it does not find was aborted, or is lost.
    """
    rows: list[dict[str, Any]] = []
    for topic, partition in sorted({(topic, partition) for topic, partition, _ in _worked_on(evidence)}):
        found = evidence.processing(topic, partition)
        if found is None or evidence.processing_by(topic, partition):
            continue  # of several applications nobody would know whose an output is that nobody finds at the end
        for reader, given in evidence.read_meanwhile(topic, partition).items():
            known = [one for one in given if one is not None]
            rows.append(
                {
                    "topic": topic,
                    "partition": partition,
                    "process": reader,
                    "given": len(given),
                    "missing": sorted(found.inputs - set(known))[:NAMED],
                    "twice": sorted(one for one, count in Counter(known).items() if count > 1)[:NAMED],
                    "unknown": len(given) - len(known),
                    "out_of_order": [list(pair) for pair in pairwise(known) if pair[1] < pair[0]][:NAMED],
                }
            )
    faults = ("missing", "twice", "unknown", "out_of_order")
    wrong = [row for row in rows if any(row[name] for name in faults)]
    given_in_all = plural(sum(row["given"] for row in rows), "output")
    return judged(rows, wrong, f"{plural(len(rows), 'consumer')} given {given_in_all}", NOBODY)
