"""What of a run is drawn: which partitions, and from when to when."""

from __future__ import annotations

import math
from typing import Final

from evidence.records import TopicPartition
from judgement.report.facts import JudgedRun

MAX_PARTITIONS: Final = 3


def known_partitions(facts: JudgedRun) -> set[TopicPartition]:
    """The partitions of the run's own topics, without internal ones such as that of committed offsets."""
    return set(facts.assignment) or set(facts.partitions)


def chosen_partitions(facts: JudgedRun) -> list[TopicPartition]:
    """The partitions to draw: those with findings first, at most three."""
    known = known_partitions(facts)
    with_findings = [one.where for one in facts.everything_found if one.where is not None and one.where in known]
    every = dict.fromkeys([*with_findings, *sorted(known)])
    return sorted(list(every)[:MAX_PARTITIONS])


def window_of(facts: JudgedRun) -> tuple[float, float]:
    """The time to draw, in seconds: from just before the topic's first leader to the last event."""
    known = known_partitions(facts)
    topic = [states[0].begin_ns for where, states in facts.partitions.items() if where in known and states]
    first = [*topic, *(send.sent_ns for send in facts.sends), *(fault.inject_ns for fault in facts.faults)]
    begin_s = facts.at(min(first)) if first else 0.0
    end_s = facts.at(facts.end_ns)
    begin_s = max(0.0, math.floor((begin_s - 0.2) * 2) / 2)
    return begin_s, max(end_s + 0.03 * (end_s - begin_s), begin_s + 1.0)
