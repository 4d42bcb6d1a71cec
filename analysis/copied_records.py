"""Which records of a screened partition lie in which of its copies, worked out while the copies are compared.

Copies are large and agree: nearly every record in them is one that was acknowledged at that very offset. So each
record's identity is compared with the table of screening (which value was acknowledged at which offset), once for all
copies that are equal byte for byte, and what agrees is one bit. The records of which a check needs more than that are
those that differ, and those at offsets that are kept anyway: `part` gives these two together, as `Copy.contents` gives
all.

Only what is plainly sound is taken so: entries of message format 2, every record well formed. Where a copy has anything
else, or its reading had any problem, it is decoded by itself, all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from checks.view import NO_IDENTITY, SEQUENCE_BITS, Ints
from evidence.history.record import MAGIC, MINIMUM_BYTES
from kafkafiles import sums
from kafkafiles.batches import V2_HEADER_BYTES, BatchHeader, header_at
from kafkafiles.codecs import decompress
from kafkafiles.compiled import compiled
from kafkafiles.errors import Malformed, TooLarge
from kafkafiles.kernels import big, varint
from kafkafiles.walk import ByteArray

MOST_COPIES: Final = 8
"""Of one moment: a bit for each."""
_MAGIC: Final = int.from_bytes(MAGIC, "big")
_SMALLEST_RECORD_BYTES: Final = 7


@dataclass(slots=True)
class CopiedRecords:
    """What the copies of one moment hold, by broker; `table` and `base` are those of screening."""

    table: Ints
    base: int
    seen: npt.NDArray[np.uint8] = field(init=False)
    """For each offset of the table a bit for each copy that holds the plain send there."""
    refused: set[int] = field(default_factory=set)
    """Brokers whose copies were not read to the end."""
    _bits: dict[int, int] = field(default_factory=dict)
    _irregular: dict[int, list[tuple[Ints, Ints]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forget everything: the copies are read from the beginning."""
        self.seen = np.zeros(len(self.table), np.uint8)
        self.refused, self._bits, self._irregular = set(), {}, {}

    def bit(self, broker: int) -> int:
        """The bit that stands for a broker's copy. Raises ValueError if there are more than MOST_COPIES."""
        if broker not in self._bits and len(self._bits) == MOST_COPIES:
            raise ValueError(f"more than {MOST_COPIES} copies of one moment")
        return self._bits.setdefault(broker, 1 << len(self._bits))

    def __call__(self, brokers: Sequence[int], data: ByteArray) -> None:
        """Take down the records of whole entries that all of these brokers have."""
        brokers = [broker for broker in brokers if broker not in self.refused]
        if not brokers:
            return
        room = len(data) // _SMALLEST_RECORD_BYTES + 1
        values, offsets = np.empty(room, np.int64), np.empty(room, np.int64)
        known = self.base, self.table, self.seen, np.uint8(sum(self.bit(broker) for broker in brokers))
        position = 0
        while position < len(data):
            irregular, position = _mark(data, position, *known, values, offsets)
            self._note(brokers, values[: max(irregular, 0)], offsets[: max(irregular, 0)])
            if irregular >= 0 and position < len(data):
                entry = header_at(data.data, position, len(data))
                assert isinstance(entry, BatchHeader), "entries are sound"
                irregular, position = self._mark_compressed(brokers, data, entry, known), entry.end
            if irregular < 0:
                self.refused.update(brokers)
                return

    def _mark_compressed(self, brokers: Sequence[int], data: ByteArray, entry: BatchHeader, known: Any) -> int:
        """Take down the records of one compressed entry. -1 if they are not well formed."""
        try:
            packed = data[entry.position + V2_HEADER_BYTES : entry.end].tobytes()
            body = np.frombuffer(bytearray(decompress(entry.codec, packed, magic=entry.magic)), np.uint8)
        except (Malformed, TooLarge):
            return -1
        count = entry.count or 0
        if count * _SMALLEST_RECORD_BYTES > len(body) or entry.is_control:
            return -1
        values, offsets = np.empty(count, np.int64), np.empty(count, np.int64)
        first, most = entry.base_offset, entry.last_offset - (entry.base_offset or 0)
        irregular, stop = _mark_records(body, 0, len(body), first, most, count, *known, values, offsets, 0)
        if irregular < 0 or stop != len(body):
            return -1
        self._note(brokers, values[:irregular], offsets[:irregular])
        return 0

    def _note(self, brokers: Sequence[int], values: Ints, offsets: Ints) -> None:
        """Take down records of these brokers' copies that are no plain sends."""
        for broker in brokers if len(values) else ():
            self._irregular.setdefault(broker, []).append((values.copy(), offsets.copy()))

    def take(self, broker: int, values: Ints, offsets: Ints) -> None:
        """Take down all records of one copy, decoded."""
        at = offsets - self.base
        within = np.flatnonzero((values >= 0) & (at >= 0) & (at < len(self.table)))
        plain = within[self.table[at[within]] == values[within]]
        bit = self.bit(broker)
        self.seen &= np.uint8(0xFF ^ bit)
        self.seen[at[plain]] |= np.uint8(bit)
        irregular = np.ones(len(values), np.bool_)
        irregular[plain] = False
        self._irregular[broker] = [(values[irregular], offsets[irregular])]

    def seen_in(self, broker: int) -> tuple[npt.NDArray[np.uint8], int]:
        """`seen`, and which bit of it is that of a broker's copy."""
        return self.seen, self.bit(broker)

    def part(self, broker: int, keep: npt.NDArray[np.uint8]) -> tuple[Ints, Ints]:
        """Values and offsets, in log order, of a copy's records that are no plain sends, or that are kept."""
        found = self._irregular.get(broker, [])
        slots = np.flatnonzero((keep != 0) & (self.seen & np.uint8(self.bit(broker)) != 0))
        values = np.concatenate([self.table[slots], *(values for values, _ in found)])
        offsets = np.concatenate([slots + self.base, *(offsets for _, offsets in found)])
        order = np.argsort(offsets, kind="stable")
        return values[order], offsets[order]


@compiled
def _identity(data: Any, start: Any, size: Any) -> Any:
    """The value in a record's bytes; NO_IDENTITY if they are not ours, or damaged."""
    if size < MINIMUM_BYTES or big(data, start, 4) != _MAGIC:
        return np.int64(NO_IDENTITY)
    end = start + size
    stated = np.int64(0)
    for place in range(4):
        stated |= np.int64(data[end - 4 + place]) << (8 * place)
    if np.int64(sums.crc32c(data, start, end - 4)) != stated:
        return np.int64(NO_IDENTITY)
    producer = np.int64(np.int32(big(data, start + 8, 4)))
    sequence = big(data, start + 12, 8)
    if producer < 0 or sequence < 0:
        return np.int64(NO_IDENTITY)
    return (producer << SEQUENCE_BITS) + sequence


@compiled
def _mark_records(
    data: Any,
    position: Any,
    stop: Any,
    first: Any,
    most: Any,
    count: Any,
    base: Any,
    table: Any,
    seen: Any,
    mask: Any,
    values: Any,
    offsets: Any,
    irregular: Any,
) -> Any:
    """Hold `count` records of one entry against the table; `irregular` are in `values` and `offsets` already.
    Returns how many are there then, -1 if one is not well formed, and the position after the last.
    """
    before = np.int64(-1)
    for _ in range(count):
        length, position = varint(data, position, stop, 32)
        if position < 0 or length < 1 or length > stop - position:
            return -1, position
        end = position + length
        _, position = varint(data, position + 1, end, 64)
        if position < 0:
            return -1, position
        delta, position = varint(data, position, end, 32)
        if position < 0 or delta <= before or delta > most:
            return -1, position
        before = delta
        size, position = varint(data, position, end, 32)
        if position < 0 or size < -1 or size > end - position:
            return -1, position
        position += max(size, 0)
        size, position = varint(data, position, end, 32)
        if position < 0 or size < -1 or size > end - position:
            return -1, position
        value = _identity(data, position, size)
        position += max(size, 0)
        if position != end - 1 or data[position] != 0:  # it has headers
            return -1, position
        position = end
        at = first + delta - base
        if value >= 0 and 0 <= at < len(table) and table[at] == value:
            seen[at] |= mask
        else:
            values[irregular], offsets[irregular] = value, first + delta
            irregular += 1
    return irregular, position


@compiled
def _mark(data: Any, position: Any, base: Any, table: Any, seen: Any, mask: Any, values: Any, offsets: Any) -> Any:
    """Hold the records of whole, sound entries against the table, from a position up to the first entry that is
    compressed. Returns how many are irregular, and the position of that entry, or the end; -1 for the former if an
    entry is not of format 2, or not well formed.
    """
    irregular = 0
    while position < len(data):
        first = big(data, position, 8)
        stop = position + np.int64(np.int32(big(data, position + 8, 4))) + 12
        attributes = big(data, position + 21, 2)
        if data[position + 16] != 2:
            return -1, position
        if attributes & 7:
            return irregular, position
        if attributes & 0x20:  # a marker of a transaction is no record
            position = stop
            continue
        most = big(data, position + 23, 4)
        count = big(data, position + 57, 4)
        start = position + V2_HEADER_BYTES
        irregular, position = _mark_records(
            data, start, stop, first, most, count, base, table, seen, mask, values, offsets, irregular
        )
        if irregular < 0 or position != stop:
            return -1, position
    return irregular, position
