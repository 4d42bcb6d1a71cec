"""Which parts of a night a folder has (`matrix --shard 2/3`), so that whoever puts parts together can be told of a
missing one.

    parts.json      {"3": [1, 2]}: parts 1 and 2 of 3
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from evidence.errors import UsageError
from evidence.rundir import read_json, write_atomically

FILE: Final = "parts.json"


def read(folder: Path) -> dict[int, list[int]]:
    """By how many parts there are, those of this folder; empty if it is no part. Raises UsageError for another file."""
    try:
        missing_parts = read_json(folder / FILE)
        return {int(of): [int(number) for number in numbers] for of, numbers in missing_parts.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError):
        raise UsageError(f"{folder / FILE}: is not what `matrix --shard` writes; remove it") from None


def add(folder: Path, number: int, of: int) -> None:
    """Put on record that a folder has one more part. Raises UsageError as `read` does."""
    there = read(folder)
    there[of] = sorted({*there.get(of, ()), number})
    write_atomically(folder / FILE, json.dumps(there))


def missing_parts(path: Path, folders: Sequence[Path]) -> Iterator[str]:
    """Which parts are missing among the folders of a night at `path`, or there more than once, a line each."""
    by_count: dict[int, dict[int, list[str]]] = {}
    for folder in folders:
        for of, numbers in read(folder).items():
            for number in numbers:
                by_count.setdefault(of, {}).setdefault(number, []).append(folder.name)
    for of, there in sorted(by_count.items()):
        missing = [str(number) for number in range(1, of + 1) if number not in there]
        if missing:
            named = f"part {missing[0]} of {of} is" if len(missing) == 1 else f"parts {', '.join(missing)} of {of} are"
            yield f"{path}: {named} not here; the cells of it are not compared"
        yield from _twice(path, there, of)


def _twice(path: Path, there: Mapping[int, Sequence[str]], of: int) -> Iterator[str]:
    for number, names in sorted(there.items()):
        if len(names) > 1:
            times = f"{len(names)} times ({', '.join(names)})"
            yield f"{path}: part {number} of {of} is here {times}; a run that was copied counts once"
