"""Decompression of record batches, bounded: no input makes it allocate more than the caller's limit allows.

The codecs come with the standard library (gzip) and with pyarrow (snappy, lz4, zstd), which the first such batch loads.
This module has what is peculiar to Kafka:

- snappy: Kafka's clients write the xerial stream framing (a 16-byte header, then blocks each with its length); other
  clients write one raw snappy block. Both are legal on disk and are told apart by the header's magic.
- lz4: the frame format. Up to 0.9, and for message format 0 ever after, Kafka computed the frame descriptor's
  checksum over the magic number as well (KAFKA-3160), so a proper decoder refuses those frames. Format 0 accepts both,
  later formats only the proper one. The checksum is verified here and then replaced by the proper one before decoding.
- The size after decompression is nowhere in Kafka's headers, so a few hundred bytes may announce gigabytes. Snappy
  announces its size and cannot compress more than about 21-fold, so an impossible announcement is refused outright;
  the others are decompressed piece by piece and stopped at the limit.
"""

from __future__ import annotations

import zlib
from typing import Final

from kafkafiles.errors import Malformed, TooLarge

NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4

NAMES: Final = ("none", "gzip", "snappy", "lz4", "zstd")

DEFAULT_LIMIT_BYTES: Final = 256 * 1024 * 1024
"""Bound on one batch after decompression. Kafka bounds a batch before compression only (message.max.bytes, 1 MiB)."""

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES: Final = 16
_SNAPPY_RATIO_MAX: Final = 24  # a copy of at most 64 bytes takes 3 bytes, so 21.4 at best
_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_MASK: Final = 0xFFFFFFFF


def name(codec: int) -> str:
    """`none`, `gzip`, `snappy`, `lz4`, `zstd`, or `codec-N` for a number Kafka has given no meaning."""
    return NAMES[codec] if 0 <= codec < len(NAMES) else f"codec-{codec}"


def decompress(codec: int, data: bytes, *, magic: int, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> bytes:
    """The records of one compressed batch.

    `codec` is the number in the batch's attributes, `magic` its message format (0, 1 or 2).
    Raises `Malformed` if the bytes are not what the codec writes, `TooLarge` beyond `limit_bytes`.
    """
    if codec == NONE:
        return data
    if codec == GZIP:
        return _gzip(data, limit_bytes)
    if codec == SNAPPY:
        return _snappy(data, limit_bytes)
    if codec == LZ4:
        return _stream("lz4", _proper_lz4(data, magic), limit_bytes)
    if codec == ZSTD:
        if magic < 2:
            raise Malformed(f"zstd does not exist in message format {magic}")
        return _stream("zstd", data, limit_bytes)
    raise Malformed(f"unknown compression codec {codec}")


def _gzip(data: bytes, limit: int) -> bytes:
    pieces: list[bytes] = []
    total = 0
    rest = data
    while rest:  # a gzip stream may have several members
        decoder = zlib.decompressobj(wbits=31)
        try:
            piece = decoder.decompress(rest, limit - total + 1)
        except zlib.error as error:
            raise Malformed(f"gzip: {error}") from None
        total += len(piece)
        if total > limit:
            raise TooLarge(f"gzip: more than {limit} bytes after decompression")
        pieces.append(piece)
        if not decoder.eof:
            raise Malformed("gzip: the stream ends before its end mark")
        if len(decoder.unused_data) >= len(rest):
            raise Malformed("gzip: no progress")
        rest = decoder.unused_data
        if rest and not rest.startswith(b"\x1f\x8b"):
            raise Malformed(f"gzip: {len(rest)} bytes after the end of the stream")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _snappy(data: bytes, limit: int) -> bytes:
    if not data.startswith(_XERIAL_MAGIC):
        return _snappy_block(data, limit)
    pieces: list[bytes] = []
    total = 0
    position = _XERIAL_HEADER_BYTES
    if len(data) < position:
        raise Malformed("snappy: the framing's header is cut")
    while position < len(data):
        if data.startswith(_XERIAL_MAGIC, position):  # streams concatenated: the header comes again
            position += _XERIAL_HEADER_BYTES
            continue
        size = int.from_bytes(data[position : position + 4], "big")
        position += 4
        if position + size > len(data):
            raise Malformed(f"snappy: a block of {size} bytes, of which {max(0, len(data) - position)} are there")
        piece = _snappy_block(data[position : position + size], limit - total)
        total += len(piece)
        pieces.append(piece)
        position += size
    return b"".join(pieces)


def _snappy_block(block: bytes, limit: int) -> bytes:
    size = shift = 0
    for at in range(5):
        if at >= len(block):
            raise Malformed("snappy: a block without its length")
        byte = block[at]
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    else:
        raise Malformed("snappy: a block's length has more than 5 bytes")
    if size > limit:
        raise TooLarge(f"snappy: {size} bytes after decompression, more than {limit}")
    if size > len(block) * _SNAPPY_RATIO_MAX:
        raise Malformed(f"snappy: a block of {len(block)} bytes announces {size}, which it cannot hold")
    if size == 0:
        return b""
    from pyarrow import Codec

    try:
        decoded: bytes = Codec("snappy").decompress(block, decompressed_size=size, asbytes=True)
    except (OSError, ValueError) as error:
        raise Malformed(f"snappy: {_first_line(error)}") from None
    return decoded


def _stream(codec: str, data: bytes, limit: int) -> bytes:
    """Decompress a frame in growing pieces, so that memory follows what really comes out."""
    from pyarrow import BufferReader, CompressedInputStream

    pieces: list[bytes] = []
    total = 0
    want = min(limit + 1, max(1 << 14, 4 * len(data)))
    try:
        with CompressedInputStream(BufferReader(data), codec) as stream:
            while piece := stream.read(min(want, limit + 1 - total)):
                total += len(piece)
                if total > limit:
                    raise TooLarge(f"{codec}: more than {limit} bytes after decompression")
                pieces.append(piece)
                want = min(2 * want, 1 << 24)
    except (OSError, ValueError) as error:
        raise Malformed(f"{codec}: {_first_line(error)}") from None
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _proper_lz4(data: bytes, magic: int) -> bytes:
    """The frame with a proper descriptor checksum. Raises Malformed if neither form of checksum matches."""
    if len(data) < 7 or not data.startswith(_LZ4_MAGIC):
        raise Malformed("lz4: no frame header")
    flags = data[4]
    end = 6 + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)  # content size, dictionary id
    if len(data) <= end:
        raise Malformed("lz4: the frame header is cut")
    found = data[end]
    proper = (xxh32(data[4:end]) >> 8) & 0xFF
    if found == proper:
        return data
    odd = (xxh32(data[:end]) >> 8) & 0xFF
    if magic == 0 and found == odd:
        return data[:end] + bytes((proper,)) + data[end + 1 :]
    raise Malformed(f"lz4: the frame header's checksum is {found:#04x}, computed {proper:#04x}")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


# XxHash-32 of a frame header: at most 18 bytes, so plain Python is fast enough

_P1: Final = 2654435761
_P2: Final = 2246822519
_P3: Final = 3266489917
_P4: Final = 668265263
_P5: Final = 374761393


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _MASK


def xxh32(data: bytes) -> int:
    """xxHash, 32 bits, of seed 0 (the lz4 frame format's checksum). Meant for headers: it is slow on long inputs."""
    position = 0
    size = len(data)
    if size >= 16:
        lanes = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
        while position <= size - 16:
            for lane in range(4):
                word = int.from_bytes(data[position : position + 4], "little")
                lanes[lane] = (_rotate((lanes[lane] + word * _P2) & _MASK, 13) * _P1) & _MASK
                position += 4
        rotated = (_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
        value = sum(rotated) & _MASK
    else:
        value = _P5
    value = (value + size) & _MASK
    while position <= size - 4:
        word = int.from_bytes(data[position : position + 4], "little")
        value = (_rotate((value + word * _P3) & _MASK, 17) * _P4) & _MASK
        position += 4
    for byte in data[position:]:
        value = (_rotate((value + byte * _P5) & _MASK, 11) * _P1) & _MASK
    value ^= value >> 15
    value = (value * _P2) & _MASK
    value ^= value >> 13
    value = (value * _P3) & _MASK
    return value ^ (value >> 16)
