"""One row per operation, or per record of it: the schema of histories, as recorded and as sealed.

A row says who did what to which topic-partition, when it was invoked and completed (CLOCK_MONOTONIC, nanoseconds: one
clock for all processes of a machine), and what came of it: "ok" it happened, "fail" it definitely did not, "info"
nobody knows. A record's identity is (producer, sequence); it is in the record's own bytes too
(evidence.history.record). `op` numbers the operations of a process; one poll that returns many records is one
operation of many rows. What was done within a transaction (`transaction`, its number within the process) has the
outcome that it had by itself: whether it counts, the row that ended the transaction says.

Streams are recorded with runs (evidence.history.runs): a send or poll row with a `count` stands for that many rows. In
each, offset and sequence are one more than in the row before, and so is `op` if they are sends; everything else is the
same. Whoever reads a history through evidence.history.read gets a row for each and no counts. Streams of version 1 have
no runs, and are read as they are. Since version 3 every batch has a checksum (evidence.history.checksums).

Rows that are no operation on a record:
    reserve      sequences [sequence, sequence + count) may be sent to this partition from now on. Written and flushed
                 before the first of them is sent, so that a record whose sender was killed is never "nobody's"
    poll-error   a consumer was handed an error in place of a record (`error_name`; of a partition, if it names one)
    final-read   the final reader reached the broker's end offset of this partition (`offset`)
    end-offsets  the broker's end offset when it was asked (`offset`)
    assign       a consumer was given this partition (`offset`: where it begins, null for "where the group left off";
                 `count`: in which generation of its group, null if its client does not say)
    revoke       a consumer had to give this partition back; outcome "info" when it was lost without being asked
    begin        a transaction was begun
    commit       it was committed; or nobody knows: an error of its end is never definite. No such row: nobody knows
    abort        it was aborted; likewise
    processed    a pipeline made the input at this topic, partition and `offset` into the record `producer`, `sequence`
                 of another topic; the outcome is that of the output's sending
    output       the final reader found the record `producer`, `sequence` in an output, as a reader of what is committed
                 does; its bytes name the input at this topic, partition and `offset` as what it was made from. One
                 of no topic says that all outputs were read to their ends. `count`, if it states a result for a key:
                 a number that stands for the key (CRC-32)
    in-result    the output `producer`, `sequence` states a result that counts the input at this topic, partition and
                 `offset`; one row for each time that it counts it
    offsets      a pipeline committed `offset` (the next input to process) for this partition; with a `transaction`
                 that holds once the transaction is committed
    delivered    a member of a share group (KIP-932) was given the record at `offset`, for the `count`th time as it was
                 told; the record's bytes are read as those of a poll
    accept       such a member said of the record at `offset` that it is processed: a row before it is sent, of outcome
                 "info", and another one (of the same `invoked_ns`) with the broker's answer
    release      the same: that it is to be delivered again
    reject       the same: that it is never to be delivered again
    group-offsets  a member of a group committed `offset` for this partition: what a client of the user's own says
    client-failed  a client of the user's own said nothing, ended, or said what is no answer (`error_name`)
    close        the process ended properly; its last row. Without it the recorder died
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from evidence.arrow import leave_out_pandas
from evidence.history.outcomes import FAIL as FAIL
from evidence.history.outcomes import INFO as INFO
from evidence.history.outcomes import OK as OK
from evidence.shares import ACCEPT as ACCEPT
from evidence.shares import DELIVERED as DELIVERED
from evidence.shares import REJECT as REJECT
from evidence.shares import RELEASE as RELEASE

leave_out_pandas()  # of every process that writes or reads histories, before its first array

SEND: Final = "send"
RESERVE: Final = "reserve"
POLL: Final = "poll"
POLL_ERROR: Final = "poll-error"
ASSIGN: Final = "assign"
REVOKE: Final = "revoke"
END_OFFSETS: Final = "end-offsets"
FINAL_READ: Final = "final-read"
BEGIN: Final = "begin"
COMMIT: Final = "commit"
ABORT: Final = "abort"
PROCESSED: Final = "processed"
OUTPUT: Final = "output"
IN_RESULT: Final = "in-result"
OFFSETS: Final = "offsets"
GROUP_OFFSETS: Final = "group-offsets"
CLIENT_FAILED: Final = "client-failed"
CLOSE: Final = "close"

COUNTED: Final = (SEND, POLL)
"""Kinds whose rows may stand for several."""
RUN_LIMIT: Final = 65_536
"""How many a row stands for at most."""

VERSION_KEY: Final = b"kafka-chaos-history"
VERSION: Final = b"3"
RUN_KEY: Final = b"kafka-chaos-run"
"""Metadata of a stream, and of what was sealed from it: the run in which it was recorded."""

_WORD: Final = pa.dictionary(pa.int8(), pa.string())

SCHEMA: Final = pa.schema(
    [
        pa.field("process", pa.dictionary(pa.int16(), pa.string()), nullable=False),
        pa.field("op", pa.int64(), nullable=False),
        pa.field("kind", _WORD, nullable=False),
        pa.field("outcome", _WORD, nullable=False),
        pa.field("topic", pa.dictionary(pa.int16(), pa.string())),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("producer", pa.int32()),
        pa.field("sequence", pa.int64()),
        pa.field("count", pa.int64()),
        pa.field("invoked_ns", pa.int64()),
        pa.field("completed_ns", pa.int64()),
        pa.field("error", pa.int32()),
        pa.field("error_name", pa.dictionary(pa.int16(), pa.string())),
        pa.field("acks", pa.int8()),
        pa.field("valid", pa.bool_()),
        pa.field("transaction", pa.int64()),
        pa.field("timestamp_ms", pa.int64()),
        pa.field("leader_epoch", pa.int32()),
    ],
    metadata={VERSION_KEY: VERSION},
)
COLUMNS: Final = tuple(SCHEMA.names)
UNKNOWN_IDENTITY: Final = -1
"""Producer and sequence of a record that is not ours or whose bytes are damaged."""
