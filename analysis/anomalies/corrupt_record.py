"""corrupt-record: a record that was read whose own checksum does not fit its content, or that is none of ours."""

from __future__ import annotations

import numpy as np

from analysis.view import Evidence, PartitionView, reader


def corrupt_record(view: PartitionView) -> list[Evidence]:
    """Reads of damaged records."""
    return [reader(view, int(row)) for row in np.flatnonzero(~view.polls.valid)]
