"""Which errors are definite: the operation did not happen and never will. Every other error is indefinite.

A time-out says nothing: the record may be in the log, or still on its way to it. The library librdkafka gives the same
code for a record that was never sent and one that may have been written ("message timed out"). So that code is
indefinite as well. So is "purged from the queue" (_PURGE_QUEUE): a record whose first attempt went unanswered waits in
that same queue for its second. An error that is not in this table is indefinite, and the analysis lists it.

Limit: the error of a retried record is that of its last attempt, and librdkafka does not tell of the others. A broker's
refusal in this table is therefore definite of that attempt; an attempt before it may have gone unanswered and been
written. Where that matters, send without retries or with idempotence.
"""

from __future__ import annotations

from typing import Final

OK: Final = "ok"
FAIL: Final = "fail"
INFO: Final = "info"
"""What came of an operation: it happened, it definitely did not, or nobody knows."""

DEFINITE: Final[frozenset[str]] = frozenset(
    {
        # never handed to the network
        "_QUEUE_FULL",
        "_INVALID_ARG",
        "_UNKNOWN_TOPIC",
        "_UNKNOWN_PARTITION",
        # refused by a live broker before the append
        "NOT_ENOUGH_REPLICAS",
        "MSG_SIZE_TOO_LARGE",
        "RECORD_LIST_TOO_LARGE",
        "INVALID_MSG",
        "INVALID_RECORD",
        "INVALID_REQUIRED_ACKS",
        "INVALID_TIMESTAMP",
        "UNSUPPORTED_FOR_MESSAGE_FORMAT",
        "TOPIC_EXCEPTION",
        "UNKNOWN_TOPIC_OR_PART",
        "TOPIC_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "POLICY_VIOLATION",
        "INVALID_PRODUCER_EPOCH",
        "PRODUCER_FENCED",
        "_FENCED",
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        # what was said of a record of a share group that is not, or no more, held by who says it
        "INVALID_RECORD_STATE",
    }
)


def outcome_of(error_name: str | None) -> str:
    """What an operation came to: "ok" without an error, "fail" with a definite one, "info" with any other."""
    if error_name is None:
        return OK
    return FAIL if error_name in DEFINITE else INFO
