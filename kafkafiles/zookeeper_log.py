"""ZooKeeper's transaction log: every znode that was made, changed or deleted, whoever looked meanwhile.

    file    magic "ZKLG", version 2 (4 bytes each), database id (8)
    entry   Adler-32 of the bytes (8), their length (4), the bytes, "B"
    bytes   session (8), the request's number in it (4), zxid (8), wall time in ms (8), type (4), what the type says

Numbers are big-endian, texts and byte arrays have their length before them (-1: none). Files are filled with zeros in
advance. A server that is still at work may have written half of the last entry: what is whole before it counts.

Source: ZooKeeper sources, FileTxnLog, TxnHeader, zookeeper.jute (3.3 to 3.9).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from kafkafiles.errors import ParseError

MAGIC: Final = b"ZKLG"
FILE_HEADER: Final = struct.Struct(">4siq")
ENTRY_HEADER: Final = struct.Struct(">qi")
HEADER: Final = struct.Struct(">qiqqi")
CREATE: Final = frozenset({1, 15})
"""create, create2: both say whether the znode is ephemeral."""
CREATE_LASTING: Final = frozenset({19, 21})
"""createContainer, createTTL."""
DELETE: Final = frozenset({2, 20})
"""delete, deleteContainer."""
SET_DATA: Final = 5
MULTI: Final = 14
ERROR: Final = -1
NODE_EXISTS: Final = -110
"""ZooKeeper's error for a creation of what is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZnodeChange:
    """One change of a znode, or a request that was refused. The changes of one `multi` share a zxid."""

    zxid: int
    time_ms: int
    """Wall time of the server."""
    session: int
    """Of the client that asked for it."""
    kind: Literal["create", "set", "delete", "refused"]
    path: str
    """"" of what was refused: the log does not say what was asked for."""
    data: bytes = b""
    ephemeral: bool = False
    error: int = 0
    """Of what was refused: ZooKeeper's code."""


class _Fields:
    """The fields of an entry, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, form: struct.Struct) -> tuple[int, ...]:
        self._at += form.size
        return form.unpack_from(self._data, self._at - form.size)

    def number(self) -> int:
        (number,) = struct.unpack_from(">i", self._data, self._at)
        self._at += 4
        return int(number)

    def array(self) -> bytes:
        length = max(self.number(), 0)
        if length > len(self._data) - self._at:
            raise struct.error("an array is longer than its entry")
        self._at += length
        return self._data[self._at - length : self._at]

    def text(self) -> str:
        return self.array().decode()

    def flag(self) -> bool:
        self._at += 1
        return self._data[self._at - 1] != 0


def transactions(data: bytes, name: str) -> Iterator[ZnodeChange]:
    """The changes in a transaction log, in order. Raises ParseError if the file is no transaction log, or a whole entry
    is not what its type says.
    """
    if len(data) < FILE_HEADER.size or FILE_HEADER.unpack_from(data)[:2] != (MAGIC, 2):
        raise ParseError(f"{name}: it does not begin with ZooKeeper's magic ZKLG and version 2")
    at = FILE_HEADER.size
    while at + ENTRY_HEADER.size <= len(data):
        checksum, length = ENTRY_HEADER.unpack_from(data, at)
        begin, end = at + ENTRY_HEADER.size, at + ENTRY_HEADER.size + length
        entry = data[begin:end]
        if length <= 0 or data[end : end + 1] != b"B" or zlib.adler32(entry) != checksum:
            return
        try:
            yield from _changes(entry)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise ParseError(f"{name}, byte {at}: {error}") from None
        at = end + 1


def _changes(entry: bytes) -> Iterator[ZnodeChange]:
    fields = _Fields(entry)
    session, _, zxid, time_ms, kind = fields.take(HEADER)
    if kind != MULTI:
        yield from _change(kind, fields, zxid, time_ms, session)
        return
    parts = [(fields.number(), _Fields(fields.array())) for _ in range(fields.number())]
    refused = [part for part in parts if part[0] == ERROR]
    # Of a multi that is refused nothing is done. The first error is the reason, and the others follow from it.
    for kind, part in refused[:1] or parts:
        yield from _change(kind, part, zxid, time_ms, session)


def _change(kind: int, fields: _Fields, zxid: int, time_ms: int, session: int) -> Iterator[ZnodeChange]:
    """The change that a transaction of this type is, or its refusal; none for sessions and ACLs."""
    if kind in CREATE | CREATE_LASTING:
        path, data = fields.text(), fields.array()
        for _ in range(fields.number()):  # who may do what
            fields.number(), fields.text(), fields.text()
        ephemeral = kind in CREATE and fields.flag()
        yield ZnodeChange(
            zxid=zxid, time_ms=time_ms, session=session, kind="create", path=path, data=data, ephemeral=ephemeral
        )
    elif kind in DELETE:
        yield ZnodeChange(zxid=zxid, time_ms=time_ms, session=session, kind="delete", path=fields.text())
    elif kind == SET_DATA:
        path, data = fields.text(), fields.array()
        yield ZnodeChange(zxid=zxid, time_ms=time_ms, session=session, kind="set", path=path, data=data)
    elif kind == ERROR:
        yield ZnodeChange(zxid=zxid, time_ms=time_ms, session=session, kind="refused", path="", error=fields.number())
