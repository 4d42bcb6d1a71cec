"""An application that is broken on purpose, run in the place of harness.workloads.processes.application.

Its argument says how (`broken`). What it says of itself is what a sound one would say.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Sequence

from confluent_kafka import Message

from evidence.history import schema
from harness.workloads.processes import application, programs
from harness.workloads.processes.program_steps import ProgramSteps
from harness.workloads.stores.sqlite import SqliteStore
from harness.workloads.stores.types import Output


def sends_nothing() -> None:
    """It records that it has processed its inputs, and makes nothing of them."""

    def process(self: ProgramSteps, inputs: Sequence[Message]) -> None:
        for message in inputs:
            self._writer.append(
                kind=schema.PROCESSED,
                outcome=schema.OK,
                topic=message.topic(),
                partition=message.partition(),
                offset=message.offset(),
                producer=1,
                sequence=message.offset(),
                completed_ns=time.monotonic_ns(),
            )
        self._processed += len(inputs)
        self._tell()

    ProgramSteps.process = process  # type: ignore[method-assign]


def commits_first() -> None:
    """It claims to process and then to commit, and does it the other way round."""

    def program(app: ProgramSteps) -> None:
        while inputs := app.poll():
            app.between("poll", "process")
            app.commit(inputs)
            app.between("process", "commit")
            app.process(inputs)
            app.between("commit", "poll")

    programs.PROGRAMS["process-then-commit"] = program  # type: ignore[index]


def stores_apart() -> None:
    """It claims to have outputs and offsets in one transaction of the store, and commits between the two."""

    def program(app: ProgramSteps) -> None:
        while inputs := app.poll():
            app.between("poll", "write")
            app.write(inputs)
            app.end_writing()
            app.write_offsets(inputs)
            app.between("write", "end")
            app.end_writing()
            app.between("end", "poll")

    programs.PROGRAMS["store-transaction"] = program  # type: ignore[index]


def store_is_full() -> None:
    """From its second transaction on its store has no room: the file may not grow, and more is written than fits."""
    write = SqliteStore.write

    def fill(self: SqliteStore, outputs: Iterable[Output], *, by_key: bool = False) -> None:
        made = list(outputs)
        if made[0].sequence:
            self._database.execute("PRAGMA max_page_count = 1")
            made *= 1000
        write(self, made, by_key=by_key)

    SqliteStore.write = fill  # type: ignore[method-assign]


WAYS = {way.__name__: way for way in (sends_nothing, commits_first, stores_apart, store_is_full)}

if __name__ == "__main__":
    WAYS[json.loads(sys.argv[1])["broken"]]()
    application.main()
