"""How long an application takes that is left alone: it is given inputs slowly, and then many at once.

What is measured the histories say (analysis/paces.py). Here is said which inputs were given for that, while nothing
else was done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from evidence.events import Paced

if TYPE_CHECKING:
    from harness.run.clients import Clients
    from harness.run.ends import EndOffsets
    from harness.run.parts import Parts
    from harness.run.sequence_log import SequenceLog
    from harness.run.who import Partition
    from harness.workloads.handles.client import BackgroundConsumer

SLOWLY: Final = 40
"""Inputs that come one after the other."""
AT_ONCE: Final = 300
RATE_PER_S: Final = 4.0
"""So slowly that none waits for another one, even if each is a transaction and the machine has other work."""
LIMIT_S: Final = 120.0
TELLS_ENDS: Final[Mapping[str, str]] = MappingProxyType({"enable.partition.eof": "true"})
"""A reader with this says that it is at the end, behind what is no record: the ends of transactions."""


class Paces:
    """Measures applications."""

    def __init__(self, parts: Parts, sequence_log: SequenceLog, clients: Clients, ends: EndOffsets) -> None:
        self._timeline, self._sequence_log = parts.timeline, sequence_log
        self._loads, self._ends_of_inputs = clients, ends

    def measure(
        self,
        t: Partition,
        processed: Callable[[int], object],
        reader: BackgroundConsumer | None,
        output: str = "output",
    ) -> None:
        """Give an application that works inputs of t, the only partition of its topic: slowly at first, and then many
        at once. `processed` waits until it has committed those below an offset. `reader` is who reads its outputs
        (`reading_outputs`); without one they are in a store.
        """
        with self._sequence_log.step("give inputs while nothing is done", slowly=SLOWLY, at_once=AT_ONCE):
            ends = [self._end_of_inputs(t)]
            for count, rate_per_s in ((SLOWLY, RATE_PER_S), (AT_ONCE, None)):
                with self._loads.load(t, records=count, rate_per_s=rate_per_s) as load:
                    load.wait_acked(count, timeout_s=LIMIT_S)
                ends.append(self._end_of_inputs(t))
                processed(ends[-1])
        begin, then, end = ends
        self._timeline.append(
            Paced(
                topic=t.topic,
                partition=t.number,
                latency=(begin, then),
                throughput=(then, end),
                output=output if reader else "",
                reader=reader.name if reader else "",
            )
        )

    def _end_of_inputs(self, t: Partition) -> int:
        return self._ends_of_inputs.wait_ends(t).high_watermark
