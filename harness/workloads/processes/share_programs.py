"""Applications whose inputs are delivered by a share group (KIP-932): each makes an output of an input, and says what
is to become of it.

They differ as those of consumer groups do (programs.py): what is not accepted is delivered again, whether it was
processed or not. `poll` returns at least one input, or none once the program is to end; `process` returns when every
output is acknowledged, and the program fails if one is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from harness.workloads.processes.share_consumer import Delivered
    from harness.workloads.processes.share_steps import ShareSteps


def process_then_accept(app: ShareSteps) -> None:
    """At least once: what is not accepted is delivered again, whether it was processed or not."""
    while inputs := app.poll():
        app.between("poll", "process")
        app.process(inputs)
        app.between("process", "accept")
        app.accept(inputs)
        app.between("accept", "poll")


def accept_then_process(app: ShareSteps) -> None:
    """At most once: what is accepted is not delivered again, whether it was processed or not."""
    while inputs := app.poll():
        app.between("poll", "accept")
        if app.accept(inputs):
            app.between("accept", "process")
            app.process(inputs)
            app.between("process", "poll")


def process_and_poll(app: ShareSteps) -> None:
    """The client accepts by itself: with each poll what the poll before has returned (the implicit mode)."""
    while inputs := app.poll():
        app.between("poll", "process")
        app.process(inputs)
        app.between("process", "poll")


def release_odd(app: ShareSteps) -> None:
    """It can process no input of an odd offset, and releases it each time."""
    while inputs := app.poll():
        app.release(_process_even(app, inputs))
        app.between("release", "poll")


def reject_odd(app: ShareSteps) -> None:
    """It can process no input of an odd offset, and rejects it."""
    while inputs := app.poll():
        app.reject(_process_even(app, inputs))
        app.between("reject", "poll")


def _process_even(app: ShareSteps, inputs: Sequence[Delivered]) -> list[Delivered]:
    """Process and accept the inputs of even offsets, and return the others."""
    even = [one for one in inputs if one.offset % 2 == 0]
    app.process(even)
    app.accept(even)
    return [one for one in inputs if one.offset % 2 == 1]


IMPLICIT: Final = frozenset({"share-process-and-poll"})
"""Programs that leave it to their client to accept."""
SHARE_PROGRAMS: Final[Mapping[str, Callable[[ShareSteps], None]]] = {
    "share-process-then-accept": process_then_accept,
    "share-accept-then-process": accept_then_process,
    "share-process-and-poll": process_and_poll,
    "share-release-odd": release_odd,
    "share-reject-odd": reject_odd,
}
