"""Whether a history that ended properly has all that its process recorded.

A process numbers its operations 0, 1, 2 … and its records likewise, and puts on record which it may send before it
sends them. So a row that is missing leaves a gap, in a stream whose batches are all well-formed too: among the
operations, among the sent sequences, or as a reservation of which nothing was sent.

Streams that name no run are not the harness's (those of benchmarks, for example), and these rules do not apply to them.

Rows come in the order recorded, nearly that of their numbers: what is told here costs one look at each.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evidence.history import schema

Ints = npt.NDArray[np.int64]


class Count:
    """Numbers that should be 0, 1, 2 …, each at least once, nearly in order."""

    def __init__(self) -> None:
        self._next = 0
        self._ahead: Ints = np.zeros(0, np.int64)

    def add(self, numbers: Ints) -> None:
        """Take in more of them."""
        steps = numbers[1:] - numbers[:-1]
        first = numbers[0] if len(numbers) else self._next
        if not len(self._ahead) and self._next - 1 <= first <= self._next and ((steps == 0) | (steps == 1)).all():
            self._next = max(self._next, int(numbers[-1]) + 1) if len(numbers) else self._next
            return
        ahead = np.unique(np.concatenate([self._ahead, numbers[numbers >= self._next]]))
        in_turn = int((ahead == self._next + np.arange(len(ahead))).sum())
        self._next, self._ahead = self._next + in_turn, ahead[in_turn:]

    @property
    def missing(self) -> int | None:
        """The first number that is missing; None if there is no gap."""
        return self._next if len(self._ahead) else None

    def has(self, number: int) -> bool:
        """Whether a number was there."""
        return 0 <= number < self._next or bool(np.isin(number, self._ahead))


class Whole:
    """The rows of one history, a batch at a time."""

    def __init__(self) -> None:
        self._operations = Count()
        self._sent: dict[int, Count] = {}
        self._reserved: set[tuple[int, int]] = set()

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in the rows of a batch, one for each record (evidence.history.read.stream_batches)."""
        self._operations.add(_ints(batch, "op"))
        sent, reserved = _of(batch, schema.SEND), _of(batch, schema.RESERVE)
        for producer, sequences in _by_producer(batch, sent):
            self._sent.setdefault(producer, Count()).add(sequences)
        for producer, sequences in _by_producer(batch, reserved):
            self._reserved.update((producer, int(sequence)) for sequence in np.unique(sequences))

    @property
    def complaints(self) -> list[str]:
        """What is missing; of a history that was cut short much is, and nothing follows from it."""
        found = []
        if self._operations.missing is not None:
            found.append(f"there is no operation {self._operations.missing}, and there are later ones")
        for producer, count in sorted(self._sent.items()):
            if count.missing is not None:
                found.append(f"producer {producer} has no record {count.missing}, and has later ones")
        unsent = sorted(one for one in self._reserved if one[0] not in self._sent or not self._sent[one[0]].has(one[1]))
        if unsent:
            producer, sequence = unsent[0]
            found.append(
                f"producer {producer} reserved sequence {sequence}, and nothing says what became of it"
                + (f"; {len(unsent)} such" if len(unsent) > 1 else "")
            )
        return found


def _ints(batch: pa.RecordBatch, name: str) -> Ints:
    return np.asarray(batch.column(name).fill_null(-1)).astype(np.int64)


def _of(batch: pa.RecordBatch, kind: str) -> npt.NDArray[np.bool_]:
    """Which rows are of a kind."""
    column = batch.column("kind")
    words = column.dictionary.to_pylist()
    codes = np.asarray(column.indices.fill_null(-1))
    return codes == words.index(kind) if kind in words else np.zeros(len(codes), np.bool_)


def _by_producer(batch: pa.RecordBatch, rows: npt.NDArray[np.bool_]) -> list[tuple[int, Ints]]:
    if not rows.any():
        return []
    producers, sequences = _ints(batch, "producer")[rows], _ints(batch, "sequence")[rows]
    return [(int(one), sequences[producers == one]) for one in np.unique(producers)]
