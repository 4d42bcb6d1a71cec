"""KRaft's metadata log as events.

`__cluster_metadata-0` is an ordinary log of format 2 batches; `kafkafiles.metadata_records` decodes their records. An
observer can follow the file while the broker appends to it:

    events, position = decode_from(read from `position`, position)

which stops before an entry that is not there in full yet. `kafkafiles.metadata_image` folds events into the cluster's
state.

Records above the quorum's high watermark may not be committed; a reader that follows one node's file cannot tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kafkafiles import batches as log
from kafkafiles.field_tables import Fields
from kafkafiles.metadata_records import decode_control, decode_record


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataEvent:
    """One record of the metadata log.

    `kind` is the record's name as DumpLogSegments prints it (`PARTITION_CHANGE_RECORD`, …), `LEADER_CHANGE` and the
    like for control records, `UNKNOWN` for a type this does not know and `CORRUPT` for one that cannot be decoded.
    `fields` are named in snake_case; a tagged field that is absent has its default. `timestamp_ms` is the
    controller's clock; `epoch` the quorum epoch, which is the controller's.
    """

    offset: int
    timestamp_ms: int
    epoch: int
    kind: str
    version: int
    fields: Fields


def decode_from(buffer: log.Buffer, position: int = 0, *, start: int = 0) -> tuple[list[MetadataEvent], int]:
    """The events of every whole batch in `buffer`, and the file position to go on from.

    `buffer` holds the file from `position` on (so a follower reads only what is new); `start` skips bytes of the
    buffer. An entry that is cut by the buffer's end, or preallocated zeros, end the reading and are met again next
    time. A batch that is corrupt gives one event of kind `CORRUPT` whose fields have `position` and `reason`; a
    header that makes no sense does the same and ends the reading for good: the returned position is then that of the
    end of the buffer.
    """
    events: list[MetadataEvent] = []
    reached = start
    for found in log.scan_batches(buffer, start):
        if isinstance(found, log.Corrupt):
            if found.kind in ("torn", "zero-padding"):
                break
            events.append(_corrupt(found, position, offset=-1, timestamp_ms=-1, epoch=-1))
            reached = found.position + found.size
            break
        batch = log.decode_batch(buffer, found)
        if batch.corrupt is not None:
            events.append(
                _corrupt(
                    batch.corrupt,
                    position,
                    offset=found.last_offset,
                    timestamp_ms=found.max_timestamp_ms,
                    epoch=found.leader_epoch,
                )
            )
        else:
            events.extend(_events(batch))
        reached = found.end
    return events, position + reached


def _corrupt(found: log.Corrupt, position: int, *, offset: int, timestamp_ms: int, epoch: int) -> MetadataEvent:
    fields = {"position": position + found.position, "size": found.size, "reason": found.reason}
    return MetadataEvent(
        offset=offset, timestamp_ms=timestamp_ms, epoch=epoch, kind="CORRUPT", version=-1, fields=fields
    )


def _events(batch: log.Batch) -> Iterable[MetadataEvent]:
    epoch = batch.header.leader_epoch
    rows = zip(batch.offsets, batch.timestamps_ms, batch.values, batch.control_types(), strict=True)
    for offset, timestamp, value, control in rows:
        if control is None:
            kind, version, fields = decode_record(value)
        else:
            kind, version, fields = decode_control(control, value)
        yield MetadataEvent(
            offset=offset, timestamp_ms=timestamp, epoch=epoch, kind=kind, version=version, fields=fields
        )
