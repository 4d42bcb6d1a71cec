"""Kafka's two checksums inside compiled loops, where a call into a library for every batch would cost more than the
checksum: a log of small batches has millions.

CRC-32C (format 2) takes the processor's own instruction where it has one (x86-64 with SSE 4.2: eight bytes at a
time), else tables; CRC-32 (formats 0 and 1, another polynomial) always takes tables, eight bytes at a time. The
instruction has its result after three cycles and can be begun in each, so long pieces are summed in three lanes at
once. Compiled code is cached by processor, so a cache that moves to another machine is made anew there.
"""

from __future__ import annotations

import platform
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

from kafkafiles.compiled import compiled

Tables = npt.NDArray[np.uint32]

CASTAGNOLI: Final = 0x82F63B78
IEEE: Final = 0xEDB88320
IN_HARDWARE: Final = platform.machine() in ("x86_64", "AMD64") and bool(
    binding.get_host_cpu_features().get("sse4.2", False)
)


def _tables(polynomial: int) -> Tables:
    """Row n: what a byte adds to the checksum when n more bytes follow it."""
    rows = np.zeros((8, 256), dtype=np.uint32)
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (polynomial if value & 1 else 0)
        rows[0, byte] = value
    for row in range(1, 8):
        rows[row] = (rows[row - 1] >> 8) ^ rows[0, rows[row - 1] & 0xFF]
    return rows


def _followed(table: Tables, doublings: int) -> Tables:
    """Row n, entry b: what the byte b, n bytes up in a checksum, becomes when 2 ** `doublings` zeros follow."""
    bits = np.arange(256, dtype=np.uint32) << np.arange(0, 32, 8, dtype=np.uint32)[:, None]
    rows: Tables = (bits >> 8) ^ table[bits & 0xFF]
    for _ in range(doublings):
        rows = rows[0, rows & 0xFF] ^ rows[1, rows >> 8 & 0xFF] ^ rows[2, rows >> 16 & 0xFF] ^ rows[3, rows >> 24]
    return rows


_WORD: Final = ir.IntType(64)
_CASTAGNOLI: Final = _tables(CASTAGNOLI)
_IEEE: Final = _tables(IEEE)
_LANE: Final = 1024
"""Bytes of a lane."""
_AFTER_LANE: Final = _followed(_CASTAGNOLI[0], 10)


def _typed_load(context: Any, data: Any, at: Any) -> Any:
    """Eight bytes of an array of bytes as one number, in the machine's order, wherever they begin."""

    def code(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = target.make_array(signature.args[0])(target, builder, arguments[0])
        pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), _WORD.as_pointer())
        value = builder.load(pointer)
        value.align = 1
        return value

    return types.uint64(data, types.int64), code


def _typed_instruction(context: Any, value: Any, word: Any) -> Any:
    """The processor's CRC-32C of eight more bytes."""

    def code(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        form = ir.FunctionType(_WORD, [_WORD, _WORD])
        return builder.call(builder.module.declare_intrinsic("llvm.x86.sse42.crc32.64.64", (), form), arguments)

    return types.uint64(types.uint64, types.uint64), code


_load: Any = intrinsic(_typed_load)
_instruction: Any = intrinsic(_typed_instruction)


@compiled
def _by_tables(tables: Any, data: Any, begin: Any, end: Any) -> Any:
    value = np.uint32(0xFFFFFFFF)
    at = np.int64(begin)
    while at + 8 <= end:
        low = value ^ (
            np.uint32(data[at])
            | (np.uint32(data[at + 1]) << np.uint32(8))
            | (np.uint32(data[at + 2]) << np.uint32(16))
            | (np.uint32(data[at + 3]) << np.uint32(24))
        )
        value = (
            tables[7, low & np.uint32(0xFF)]
            ^ tables[6, (low >> np.uint32(8)) & np.uint32(0xFF)]
            ^ tables[5, (low >> np.uint32(16)) & np.uint32(0xFF)]
            ^ tables[4, low >> np.uint32(24)]
            ^ tables[3, data[at + 4]]
            ^ tables[2, data[at + 5]]
            ^ tables[1, data[at + 6]]
            ^ tables[0, data[at + 7]]
        )
        at += 8
    while at < end:
        value = (value >> np.uint32(8)) ^ tables[0, (value ^ np.uint32(data[at])) & np.uint32(0xFF)]
        at += 1
    return value ^ np.uint32(0xFFFFFFFF)


@compiled
def crc32(data: Any, begin: Any, end: Any) -> Any:
    """CRC-32 of `data[begin:end]`, for compiled callers."""
    return _by_tables(_IEEE, data, begin, end)


@compiled
def crc32c_by_tables(data: Any, begin: Any, end: Any) -> Any:
    """CRC-32C of `data[begin:end]` on any processor."""
    return _by_tables(_CASTAGNOLI, data, begin, end)


@compiled
def _after_lane(value: Any) -> Any:
    """A checksum when a lane of zeros follows."""
    return np.uint64(
        _AFTER_LANE[0, value & np.uint64(0xFF)]
        ^ _AFTER_LANE[1, (value >> np.uint64(8)) & np.uint64(0xFF)]
        ^ _AFTER_LANE[2, (value >> np.uint64(16)) & np.uint64(0xFF)]
        ^ _AFTER_LANE[3, value >> np.uint64(24)]
    )


@compiled
def _crc32c_in_hardware(data: Any, begin: Any, end: Any) -> Any:
    value: Any = np.uint64(0xFFFFFFFF)
    at = np.int64(begin)
    while at + 3 * _LANE <= end:
        second, third = np.uint64(0), np.uint64(0)
        for place in range(at, at + _LANE, 8):
            value = _instruction(value, _load(data, place))
            second = _instruction(second, _load(data, place + _LANE))
            third = _instruction(third, _load(data, place + 2 * _LANE))
        value = third ^ _after_lane(second ^ _after_lane(value))
        at += 3 * _LANE
    while at + 8 <= end:
        value = _instruction(value, _load(data, at))
        at += 8
    rest = np.uint32(value)
    while at < end:
        rest = (rest >> np.uint32(8)) ^ _CASTAGNOLI[0, (rest ^ np.uint32(data[at])) & np.uint32(0xFF)]
        at += 1
    return rest ^ np.uint32(0xFFFFFFFF)


crc32c = _crc32c_in_hardware if IN_HARDWARE else crc32c_by_tables
"""CRC-32C of `data[begin:end]`, for compiled callers."""
