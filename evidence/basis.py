"""On what a statement about Kafka rests: its source in words, and of which kind that is.

Every statement that runs are compared with has both: an outcome of a scenario (`Documented`), a claim and its bound
(`@claim`), an anomaly (`@anomaly`), what is stated of a cell of the audit (`Outcome`). There is no default, so nobody
can leave it open. A reader who sees "documented" should be able to look it up; where nobody but us has ever said so,
the basis is `measured`, and that is told wherever the statement is shown.

A statement with several sources has the basis of the weakest part that it cannot do without. So an outcome of which one
anomaly was only ever seen in our runs is `measured`, whatever else a KIP says of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Basis(StrEnum):
    """The kind of a source."""

    DOCUMENTATION = "documentation"
    """What is published for users of Kafka, ZooKeeper, Linux or a client, and papers and test suites that define a
    term."""
    KIP = "KIP"
    """An adopted proposal (Kafka Improvement Proposal)."""
    JIRA = "JIRA"
    """A ticket, or a thread of a project's tracker."""
    SOURCE = "source"
    """Code at releases that are named: who reads it there finds the statement."""
    MEASURED = "measured"
    """Runs of ours, and nothing else: documented nowhere, as far as is known."""


NAMED: Final[Mapping[Basis, tuple[re.Pattern[str], str]]] = {
    Basis.DOCUMENTATION: (
        re.compile(r"documentation|guide|manual|INTRODUCTION|Jepsen|Adya"),
        'names no document (documentation, a guide, a manual, "Jepsen" or "Adya")',
    ),
    Basis.KIP: (re.compile(r"\bKIP-\d+"), 'names no KIP ("KIP-101")'),
    Basis.JIRA: (
        re.compile(r"\b(KAFKA|ZOOKEEPER)-\d+|#\d+|issue \d+"),
        'names no ticket ("KAFKA-3143", "#20716", "issue 4953")',
    ),
    Basis.SOURCE: (re.compile(r"\b\d+\.\d+"), "names no release whose code says so"),
    Basis.MEASURED: (re.compile(r"\bseen\b"), 'does not say where it was seen ("seen on 4.3.1")'),
}
"""What the words of a source must have, by its basis, and what is wrong if they have not."""
OWN_RUNS: Final = "our runs alone"


def fault_of(source: str, basis: object) -> str:
    """What is wrong with a source, such as "source 'KIP 101' names no KIP"; empty if nothing is.

    >>> fault_of("KIP-101: scenario 1", Basis.KIP)
    ''
    >>> fault_of("Partition.maybeShrinkIsr", Basis.SOURCE)
    "source 'Partition.maybeShrinkIsr' names no release whose code says so"
    """
    if not isinstance(basis, Basis):
        return f"basis {basis!r} is not one of {', '.join(str(one) for one in Basis)}"
    pattern, wrong = NAMED[basis]
    return "" if pattern.search(source) else f"source {source!r} {wrong}"


def in_words(source: str, basis: str) -> str:
    """How a statement's source is told: as it is, but for one of our own, which says so.

    >>> in_words("KIP-101", "KIP")
    'KIP-101'
    >>> in_words("seen on 3.9.2", "measured")
    'our runs alone: seen on 3.9.2'
    """
    return f"{OWN_RUNS}: {source}" if basis == Basis.MEASURED else source
