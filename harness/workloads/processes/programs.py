"""Applications as people write them: each consumes inputs, makes an output of each, and commits where it is.

They differ in the order of two steps, and that decides what a crash between these does to inputs. A program says where
it is between two steps (`app.between`), so that it can be stopped there, or killed (application.py). `poll` returns at
least one input, or none once the program is to end; `process` returns when every output is acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from harness.workloads.processes.application import Application


def commit_then_process(app: Application) -> None:
    """At most once: what is committed is not read again, whether it was processed or not."""
    while inputs := app.poll():
        app.between("poll", "commit")
        if app.commit(inputs):
            app.between("commit", "process")
            app.process(inputs)
            app.between("process", "poll")


def process_then_commit(app: Application) -> None:
    """At least once: what is not committed is read again, whether it was processed or not."""
    while inputs := app.poll():
        app.between("poll", "process")
        app.process(inputs)
        app.between("process", "commit")
        app.commit(inputs)
        app.between("commit", "poll")


PROGRAMS: Final[Mapping[str, Callable[[Application], None]]] = {
    "commit-then-process": commit_then_process,
    "process-then-commit": process_then_commit,
}
