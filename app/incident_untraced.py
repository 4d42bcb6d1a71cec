"""Causes that leave no trace in what brokers keep: `kafka-chaos incident` names them as not looked for.

Brokers do not log which client was told what. A producer that writes twice, an acknowledgement of a record that was
never meant to be written there, an application that commits before it processes: brokers serve all of these as usual.
So an answer without a cause excludes none of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app.incident_causes import has_bug


@dataclass(frozen=True, slots=True, kw_only=True)
class Untraced:
    """A cause that no saved file tells of."""

    what: str
    ask: str
    """Where the answer may be instead."""
    scenario: str
    is_bug: bool = False
    """Whether only releases with the scenario's bug have it."""


UNTRACED: Final = (
    Untraced(
        what="a producer used acks=0, or gave up after its retries",
        ask="the producer's configuration and its log",
        scenario="time-out",
    ),
    Untraced(
        what="a consumer committed offsets before it had processed their records",
        ask="the application's code: enable.auto.commit, and where it commits",
        scenario="at-most-once",
    ),
    Untraced(
        what="a record was written twice after a lost acknowledgement",
        ask="the producer's log, and enable.idempotence",
        scenario="lost-acknowledgement",
    ),
    Untraced(
        what="a late request aborted half of a transaction (KAFKA-17754)",
        ask="the producer's log: a time-out of an EndTxn request, and transaction.version of the cluster",
        scenario="museum-late-end",
        is_bug=True,
    ),
    Untraced(
        what="a Java producer wrote records into another topic (KAFKA-19012)",
        ask="the producer's release, and time-outs of delivery in its log",
        scenario="museum-misdelivered",
        is_bug=True,
    ),
    Untraced(
        what="a Java producer that is idempotent by default was not (KAFKA-13598)",
        ask="the producer's release, 3.0.0 or 3.1.0",
        scenario="museum-not-idempotent",
        is_bug=True,
    ),
    Untraced(
        what="a consumer of the new group protocol committed what was not processed yet (KAFKA-18641)",
        ask="the consumer's release, 3.7 to 3.9, and whether it had group.protocol=consumer",
        scenario="museum-commit-between-polls",
        is_bug=True,
    ),
    Untraced(
        what="a consumer of the new group protocol committed records in the poll that returned them",
        ask="the consumer's release, 4.2 or later, and whether it had group.protocol=consumer",
        scenario="museum-poll-commits-ahead",
        is_bug=True,
    ),
    Untraced(
        what="a consumer got records after it had committed for a rebalance (KAFKA-14196): they were processed twice",
        ask="the consumer's release, 3.2.1 or 3.2.2",
        scenario="museum-polled-while-revoking",
        is_bug=True,
    ),
    Untraced(
        what="a share consumer's commit succeeded and told nothing of records whose broker was gone (KAFKA-20330)",
        ask="the release of the share consumer, up to 4.2, and whether its application reads the result of commitSync",
        scenario="museum-acknowledgement-unanswered",
        is_bug=True,
    ),
    Untraced(
        what="a store of Kafka Streams kept the result of an aborted transaction after a crash (KAFKA-20685)",
        ask="the release of the application's Kafka Streams, and what its log says of a checkpoint at its next start",
        scenario="museum-aborted-result-kept",
        is_bug=True,
    ),
    Untraced(
        what="Kafka Streams restored a store on top of what an aborted transaction had left in it (KAFKA-7192)",
        ask="the release of the application's Kafka Streams, and whether it had crashed",
        scenario="museum-dirty-store-restored",
        is_bug=True,
    ),
    Untraced(
        what="brokers kept a processor busy without their controllers (observers-spin): no record is concerned",
        ask="the load of each broker",
        scenario="museum-observers-spin",
        is_bug=True,
    ),
)


def of(release: str) -> Iterator[Untraced]:
    """Those that a release may have had; all of them, if none is known."""
    return (one for one in UNTRACED if not (one.is_bug and release) or has_bug(release, one.scenario))


def rows() -> str:
    """The list of docs/lost-records.md."""
    return "\n".join(f"- {one.what} (`{one.scenario}`). Look at: {one.ask}." for one in UNTRACED)
