"""ZooKeeper's transaction log: what each type of transaction says, and where a log that is being written ends."""

from __future__ import annotations

import struct
import zlib

import pytest

from kafkafiles.errors import ParseError
from kafkafiles.zookeeper_log import ZnodeChange, transactions

HEAD = struct.pack(">4siq", b"ZKLG", 2, 0)
ACL = struct.pack(">ii", 1, 31) + b"\0\0\0\5world\0\0\0\6anyone"


def array(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def header(zxid: int, kind: int, session: int = 7) -> bytes:
    return struct.pack(">qiqqi", session, 1, zxid, 1_700_000_000_000 + zxid, kind)


def created(path: bytes, data: bytes, ephemeral: bool = False) -> bytes:
    return array(path) + array(data) + ACL + bytes([ephemeral]) + struct.pack(">i", 1)


def entry(body: bytes) -> bytes:
    return struct.pack(">qi", zlib.adler32(body), len(body)) + body + b"B"


CREATE = entry(header(5, 1) + created(b"/a", b"{}"))
CREATED = ZnodeChange(zxid=5, time_ms=1_700_000_000_005, session=7, kind="create", path="/a", data=b"{}")
DELETE = entry(header(6, 2) + array(b"/a"))
DELETED = ZnodeChange(zxid=6, time_ms=1_700_000_000_006, session=7, kind="delete", path="/a")
MULTI = entry(
    header(9, 14)
    + struct.pack(">i", 2)
    + (struct.pack(">i", 1) + array(created(b"/b", b"1", True)))
    + (struct.pack(">i", 5) + array(array(b"/a") + array(b"2") + struct.pack(">i", 3)))
)


def read(*entries: bytes) -> list[ZnodeChange]:
    return list(transactions(HEAD + b"".join(entries), "log.1"))


def test_what_was_made_changed_and_deleted() -> None:
    assert read(CREATE, DELETE) == [CREATED, DELETED]
    told = {"time_ms": 1_700_000_000_009, "session": 7}
    assert read(MULTI) == [
        ZnodeChange(zxid=9, kind="create", path="/b", data=b"1", ephemeral=True, **told),
        ZnodeChange(zxid=9, kind="set", path="/a", data=b"2", **told),  # type: ignore[arg-type]
    ]


def test_what_was_refused() -> None:
    """A single request, and a multi of which nothing is done."""
    refused = struct.pack(">i", -110)
    parts = [(1, created(b"/b", b"1")), (-1, refused), (-1, struct.pack(">i", -2))]
    multi = struct.pack(">i", len(parts)) + b"".join(struct.pack(">i", kind) + array(part) for kind, part in parts)
    found = read(entry(header(3, -1) + refused), entry(header(9, 14) + multi), DELETE)
    assert [(one.zxid, one.kind, one.path, one.error) for one in found] == [
        (3, "refused", "", -110),
        (9, "refused", "", -110),
        (6, "delete", "/a", 0),
    ]


@pytest.mark.parametrize("kind", [-10, -11, 7], ids=["a session", "its end", "an ACL"])
def test_what_changes_no_znode(kind: int) -> None:
    assert read(entry(header(3, kind) + struct.pack(">i", 4000)), DELETE) == [DELETED]


@pytest.mark.parametrize(
    "rest", [b"\0" * 100, DELETE[:-1], DELETE[:20], DELETE[:-3] + b"x" + DELETE[-2:]], ids=["zeros", "B", "cut", "sum"]
)
def test_a_log_that_is_being_written_ends_with_its_last_whole_entry(rest: bytes) -> None:
    assert read(CREATE, rest) == [CREATED]


@pytest.mark.parametrize("data", [b"", b"ZKSN" + HEAD[4:], struct.pack(">4siq", b"ZKLG", 3, 0)])
def test_a_file_that_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(ParseError, match="magic"):
        list(transactions(data, "log.1"))


def test_an_entry_that_is_not_what_its_type_says_is_refused() -> None:
    with pytest.raises(ParseError, match=r"log\.1, byte 16"):
        read(entry(header(5, 1) + struct.pack(">i", 1000)))
