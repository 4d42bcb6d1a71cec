"""Where the fields lie in the bytes of a record of ours (evidence/history/record.py writes and reads them).

A record that has to be a line of text has the same fields in another form, for programs that carry nothing else:

    KCT1 0123abcd 00000002 0000000007 t-0@7 89ef4567

The magic word, the run, the producer and the sequence stand first, then the payload, and the checksum last. Numbers are
hexadecimal, each of one width, so that lines with payloads of one length are of one length.
"""

from __future__ import annotations

import re
import struct
from typing import Final

HEADER: Final = struct.Struct(">4sIiq")
"""What it begins with: a magic word, the run, the producer, the sequence."""
CHECKSUM: Final = struct.Struct("<I")
"""What it ends with."""
TEXT_MAGIC: Final = b"KCT1"
TEXT: Final = re.compile(
    rb"KCT1 (?P<run>[0-9a-f]{8}) (?P<producer>[0-7][0-9a-f]{7}) (?P<sequence>[0-9a-f]{10}) "
    rb"(?P<payload>[ -~]*) (?P<checksum>[0-9a-f]{8})"
)
"""A record as a line of text, without the line's end. The payload is printable ASCII."""


def payload_of(value: bytes) -> bytes:
    """The payload of a record in either form. Of other bytes it has no meaning."""
    text = TEXT.fullmatch(value) if value.startswith(TEXT_MAGIC) else None
    return value[HEADER.size : -CHECKSUM.size] if text is None else text["payload"]
