"""An application in a group: it runs one of the programs (programs.py, share_programs.py), and stands still between two
of its steps.

The program is a process of its own, which nothing but its client tells about Kafka. Where it is to stand still is said
when it starts: between which two steps, and in which round (the first time that it comes there is the first). There it
says so,

    {"at": {"done": "commit", "following": "process", "round": 2}, …}

and waits for the order to continue ({"go_on": true}), or is killed. What it has done is not taken from this line: the
harness asks the group's coordinator and the leader of the output (harness/run/crash_points.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from evidence.errors import ClientFailed
from harness.workloads.processes import child
from harness.workloads.processes.group_steps import GroupSteps
from harness.workloads.processes.programs import ASYNCHRONOUS, BY_PARTITION, PROGRAMS
from harness.workloads.processes.share_programs import SHARE_PROGRAMS
from harness.workloads.processes.share_steps import ShareSteps
from harness.workloads.stores import name_of
from harness.workloads.stores.types import StoreFull, StoreLost


@contextmanager
def _store_told(place: str) -> Iterator[None]:
    """Raises ClientFailed, in one line, if the program's store has no room, or does not come back."""
    try:
        yield
    except StoreFull as error:
        raise ClientFailed(f"the store {name_of(place)} is full: {error}") from None
    except StoreLost as error:
        raise ClientFailed(f"the store {name_of(place)} does not come back: {error}") from None


def main() -> None:
    """Run a program until the harness says stop."""
    with child.recording() as (arguments, commands, writer):
        child.say(ready=True)
        if commands.wait() is None:
            return
        if (name := arguments["program"]) in SHARE_PROGRAMS:
            sharing = ShareSteps(arguments, commands, writer)
            SHARE_PROGRAMS[name](sharing)
            sharing.close()
        else:
            asynchronous, by_partition = name in ASYNCHRONOUS, name in BY_PARTITION
            with _store_told(arguments["store"]):
                app = GroupSteps(arguments, commands, writer, asynchronous=asynchronous, by_partition=by_partition)
                PROGRAMS[name](app)
                app.close()


if __name__ == "__main__":
    main()
