"""Copies of replicas, compared with the statements about them when they were made.

A moment's event in the timeline has each copy's log end offset, taken from the copy itself, and its files with their
sizes. A copy that has lost a segment, or whose log was cut off between two batches, is well-formed and agrees with
every other as far as it goes: only what was stated tells. That a copy is of the broker whose name it bears is told by
the broker's own meta.properties, from 0.9 on.

What does not fit makes the copy no witness: a problem, and the run's verdict unknown at best.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evidence.events import Moment
from evidence.nodes import number_of
from kafkafiles.checkpoints import META_PROPERTIES, read_meta_properties
from kafkafiles.errors import ParseError
from kafkafiles.replica import Replica


def complaints(moment: Moment, directory: Path, replica: Replica | None) -> Iterator[str]:
    """What one partition directory of a copy lacks, or has otherwise than stated; `replica` is what was read of it."""
    yield from _identity(directory.parent)
    if not any(directory.glob("*.log")):
        yield "it has no segment"
    stated = moment.held(directory.parent.name).get(directory.name)
    if stated is not None and stated.leo is not None and replica is not None and replica.leo != stated.leo:
        yield f"its log ends at {replica.leo}, and when it was copied it ended at {stated.leo}"
    for name, size in sorted(moment.files.get(directory.parent.name, {}).items()):
        path = directory.parent / name
        if "/" not in name or name.startswith(f"{directory.name}/"):
            if not path.is_file():
                yield f"{name} is gone"
            elif path.stat().st_size != size:
                yield f"{name} has {path.stat().st_size} bytes, and had {size} when it was copied"


def _identity(node: Path) -> Iterator[str]:
    """Whether a copy's meta.properties is another broker's."""
    try:
        found = read_meta_properties(node / META_PROPERTIES).node_id
    except FileNotFoundError:
        return
    except ParseError as error:
        yield f"its {META_PROPERTIES} cannot be read: {error}"
        return
    if found is not None and found != number_of(node.name):
        yield f"its {META_PROPERTIES} is that of broker {found}"
