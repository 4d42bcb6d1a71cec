"""Section B of the catalogue: the in-sync replicas (ISR) and the high watermark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.scenario import Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.run import Partition, Run, Target

SHRINK_HOLDS_BACK: Final = Line(
    "the high watermark stays when an ISR shrinks, until the next record (protocol 2.7 to 3.0, KAFKA-13091)",
    lambda version: version.uses_alter_partition and version.release < (3, 1),
)


def wait_shrunk(run: Run, t: Partition, targets: Sequence[Target]) -> None:
    """Wait until the leader has taken all but these replicas out of the ISR. Where the high watermark waits for the
    next record, wait too until the leader has heard that the ISR is smaller: a record before that moves nothing.
    """
    run.wait_isr(t, targets)
    if SHRINK_HOLDS_BACK.holds(run.version):
        run.wait_log_line(run.leader_of(t), rf"Partition {t} .*ISR updated to", "that its smaller ISR is in force")
