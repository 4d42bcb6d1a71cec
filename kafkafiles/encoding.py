r"""Kafka's encoding of requests, answers and metadata records, field by field.

Integers are big-endian. In the old encoding the length of a string is an int16, of bytes and arrays an int32. In the
flexible one (KIP-482) a length is a varint, one more than the number, with 0 for null, and a structure ends with its
tagged fields.

    >>> reader = Reader(string("t") + b"\x00\x07" + NO_TAGS)
    >>> reader.string(), reader.int16(), reader.tagged(), reader.left
    ('t', 7, {}, 0)
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, Self, TypeVar

from kafkafiles.errors import Malformed

T = TypeVar("T")

NO_TAGS: Final = b"\x00"
"""A structure's tagged fields, if it has none."""


class Reader:
    """A cursor over bytes. Every read is checked against their end: `Malformed` if it would pass it."""

    __slots__ = ("data", "position")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    @property
    def left(self) -> int:
        """Bytes that are not read yet."""
        return len(self.data) - self.position

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        stop = self.position + count
        if count < 0 or stop > len(self.data):
            raise Malformed(f"{count} bytes wanted at byte {self.position} of {len(self.data)}")
        piece = self.data[self.position : stop]
        self.position = stop
        return piece

    def int8(self) -> int:
        """One byte, signed."""
        return int.from_bytes(self.take(1), "big", signed=True)

    def int16(self) -> int:
        """Two bytes, signed."""
        return int.from_bytes(self.take(2), "big", signed=True)

    def int32(self) -> int:
        """Four bytes, signed."""
        return int.from_bytes(self.take(4), "big", signed=True)

    def uvarint(self) -> int:
        """An unsigned varint of 32 bits."""
        value = 0
        for shift in (0, 7, 14, 21, 28):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise Malformed("a varint of more than 5 bytes")

    def string(self) -> str | None:
        """A string of the flexible encoding."""
        content = self.blob()
        return None if content is None else _text(content)

    def blob(self) -> bytes | None:
        """Bytes of the flexible encoding."""
        length = self.uvarint()
        return None if length == 0 else self.take(length - 1)

    def array(self, element: Callable[[Self], T]) -> tuple[T, ...] | None:
        """An array of the flexible encoding, each element read by `element`."""
        length = self.uvarint()
        if length == 0:
            return None
        if length - 1 > self.left:
            raise Malformed(f"an array of {length - 1} elements in {self.left} bytes")
        return tuple(element(self) for _ in range(length - 1))

    def tagged(self) -> dict[int, bytes]:
        """The tagged fields at the end of a structure, by tag."""
        tags: dict[int, bytes] = {}
        for _ in range(self.uvarint()):
            tag = self.uvarint()
            tags[tag] = self.take(self.uvarint())
        return tags

    def old_string(self) -> str | None:
        """A string of the old encoding."""
        length = self.int16()
        return None if length < 0 else _text(self.take(length))

    def old_blob(self) -> bytes | None:
        """Bytes of the old encoding."""
        length = self.int32()
        return None if length < 0 else self.take(length)


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("a string that is not UTF-8") from None


def length(number: int) -> bytes:
    r"""A length of the flexible encoding: one more than the number, as an unsigned varint.

    >>> length(3), length(200)
    (b'\x04', b'\xc9\x01')
    """
    value, coded = number + 1, bytearray()
    while value >= 0x80:
        coded.append(value & 0x7F | 0x80)
        value >>= 7
    coded.append(value)
    return bytes(coded)


def string(text: str) -> bytes:
    r"""A string of the flexible encoding.

    >>> string("t")
    b'\x02t'
    """
    content = text.encode()
    return length(len(content)) + content


def old_string(text: str) -> bytes:
    r"""A string of the old encoding.

    >>> old_string("t")
    b'\x00\x01t'
    """
    content = text.encode()
    return struct.pack(">h", len(content)) + content
