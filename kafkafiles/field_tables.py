"""Records by tables of their fields: the metadata log's (kafkafiles.metadata_records) and the group coordinator's
(kafkafiles.group_records).

A table has each type's fields in the order of the bytes, separated by spaces, as `name:type`, with the versions that
have it where these are not all: `name:type:first` or `name:type:first-last`. A field that a record may have or not, at
its end (KIP-482), is `name@tag:type`; without it the value is None. A type is a scalar, or

    []type     an array
    {fields}   a structure
    ?{fields}  a structure or null: one byte before it says which
    ~{fields}  the same in a tagged field, where that byte is a varint

How strings, bytes and arrays are encoded is the reader's business: `RecordReader` has the flexible encoding, which has
tagged fields, and `OldRecordReader` the one before.

    >>> kind = RecordType("OFFSET", 1, "offset:int64 epoch:int32:1")
    >>> decode(kind, OldRecordReader(bytes(8), version=0), {})
    ('OFFSET', {'offset': 0})
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Self, TypeAlias, TypeVar

from kafkafiles.encoding import Reader
from kafkafiles.errors import Malformed

T = TypeVar("T")

Fields: TypeAlias = Mapping[str, Any]
_LAST_VERSION: Final = 32767


@dataclass(frozen=True, slots=True)
class RecordType:
    """One type of record, as a table has it."""

    name: str
    version_max: int
    """The last version that the table describes."""
    plain: str
    """The fields that every record of this type has."""
    tagged: tuple[tuple[int, str, str, Any], ...] = ()
    """Tag, name, type and default of each field that a record may have."""


class RecordReader(Reader):
    """A cursor over one record's bytes in the flexible encoding, and the version that the record has."""

    __slots__ = ("version",)

    def __init__(self, data: bytes, version: int = 0) -> None:
        super().__init__(data)
        self.version = version

    def inside(self, data: bytes) -> Self:
        """A cursor over the bytes of one of its fields."""
        return type(self)(data, self.version)

    def boolean(self) -> bool:
        """One byte, 0 for false."""
        return self.take(1) != b"\x00"

    def uuid(self) -> str:
        """A UUID as Kafka prints it."""
        return base64.urlsafe_b64encode(self.take(16)).decode("ascii").rstrip("=")


class OldRecordReader(RecordReader):
    """A cursor over one record's bytes in the encoding that was before the flexible one. It has no tagged fields."""

    __slots__ = ()

    def string(self) -> str | None:
        """A string, whose length is an int16."""
        return self.old_string()

    def blob(self) -> bytes | None:
        """Bytes, whose length is an int32."""
        return self.old_blob()

    def array(self, element: Callable[[Self], T]) -> tuple[T, ...] | None:
        """An array, whose length is an int32, each element read by `element`."""
        count = self.int32()
        if count < 0:
            return None
        if count > self.left:
            raise Malformed(f"an array of {count} elements in {self.left} bytes")
        return tuple(element(self) for _ in range(count))

    def tagged(self) -> dict[int, bytes]:
        """No fields: this encoding has no tags."""
        return {}


_Read: TypeAlias = Callable[[RecordReader], Any]


def _fixed(code: str) -> _Read:
    form = struct.Struct(">" + code)
    return lambda reader: form.unpack(reader.take(form.size))[0]


_READERS: Final[dict[str, _Read]] = {
    "int8": _fixed("b"),
    "int16": _fixed("h"),
    "uint16": _fixed("H"),
    "int32": _fixed("i"),
    "int64": _fixed("q"),
    "float64": _fixed("d"),
    "bool": lambda reader: reader.boolean(),
    "uuid": lambda reader: reader.uuid(),
    "string": lambda reader: reader.string(),
    "bytes": lambda reader: reader.blob(),
}


@cache
def _reader_of(form: str) -> _Read:
    """The reader of a type."""
    if form in _READERS:
        return _READERS[form]
    if form.startswith("[]"):
        element = _reader_of(form[2:])
        return lambda reader: reader.array(element)
    if form.startswith("?"):
        inner = _reader_of(form[1:])
        return lambda reader: None if reader.int8() < 0 else inner(reader)
    if form.startswith("~"):
        inner = _reader_of(form[1:])
        return lambda reader: None if reader.uvarint() == 0 else inner(reader)
    return lambda reader: _fields(form[1:-1], reader)


@dataclass(frozen=True, slots=True)
class _Member:
    """One field of a structure."""

    name: str
    read: _Read
    first: int
    last: int
    tag: int | None


def _fields(text: str, reader: RecordReader) -> dict[str, Any]:
    """The fields that a structure of the reader's version has, by name."""
    found, tags = _untagged(text, reader), reader.tagged()
    for one in _members(text):
        if one.tag is not None:
            found[one.name] = one.read(reader.inside(tags[one.tag])) if one.tag in tags else None
    return found


def _untagged(text: str, reader: RecordReader) -> dict[str, Any]:
    members = (one for one in _members(text) if one.tag is None)
    return {one.name: one.read(reader) for one in members if one.first <= reader.version <= one.last}


@cache
def _members(text: str) -> tuple[_Member, ...]:
    return tuple(_member(part) for part in _split(text)) if text else ()


def _split(text: str) -> list[str]:
    """Cut at the spaces that are not inside braces."""
    parts, depth, part = [], 0, ""
    for character in text:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == " " and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += character
    return [*parts, part]


def _member(text: str) -> _Member:
    name, _, form = text.partition(":")
    name, _, tag = name.partition("@")
    first, last = 0, _LAST_VERSION
    head, _, versions = form.rpartition(":")
    if head and versions.replace("-", "").isdigit():
        begin, _, end = versions.partition("-")
        form, first, last = head, int(begin), int(end or last)
    return _Member(name, _reader_of(form), first, last, int(tag) if tag else None)


def read_fields(kind: RecordType, reader: RecordReader) -> dict[str, Any]:
    """The fields of a record of this type, by name. Raises Malformed."""
    found, tags = _untagged(kind.plain, reader), reader.tagged()
    for tag, name, form, default in kind.tagged:
        found[name] = _reader_of(form)(reader.inside(tags[tag])) if tag in tags else default
    return found


def decode(kind: RecordType | None, reader: RecordReader, unknown: Fields) -> tuple[str, Fields]:
    """The name of a record's type and its fields. `UNKNOWN` with the fields of `unknown` if there is no table, or a
    newer version does not fit it; `CORRUPT` with these and the reason if the table has the version.
    """
    if kind is None:
        return "UNKNOWN", unknown
    try:
        fields = read_fields(kind, reader)
        if reader.left:
            raise Malformed(f"{reader.left} bytes after the record's end")
    except Malformed as error:
        if reader.version > kind.version_max:  # a newer broker's: not for us to call corrupt
            return "UNKNOWN", {**unknown, "name": kind.name}
        return "CORRUPT", {**unknown, "name": kind.name, "reason": str(error)}
    return kind.name, fields
