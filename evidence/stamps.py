"""The time that a broker puts before each line of its log, by its own wall clock."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

OWN: Final = re.compile(r"\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\] ")
"""As compose/image/log4j.properties has it: UTC, to the millisecond."""
MS_NS: Final = 1_000_000


def own_ns(line: str) -> int | None:
    """The wall time (nanoseconds) that a broker's line begins with; None for a line that has none.

    >>> own_ns("[1970-01-01T00:00:01.500Z] INFO started"), own_ns("  at kafka.Kafka")
    (1500000000, None)
    """
    found = OWN.match(line)
    try:
        return None if found is None else round(datetime.fromisoformat(found[1]).timestamp() * 1000) * MS_NS
    except ValueError:
        return None
