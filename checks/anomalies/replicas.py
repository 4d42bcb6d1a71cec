"""Replicas compared with each other, and with clients' acknowledgements.

replica-divergence: two replicas that are both in the ISR hold different records at one offset below the smaller of
their log end offsets. A replica outside the ISR may hold any records: it has still to truncate. So may, above the high
watermark, one that is in the ISR but has not settled. After an election a follower, or a broker that is frozen or dead,
may hold records that the new leader never had, until it truncates. So above the larger of the two replicas' high
watermarks only replicas are compared that run, of a partition whose leader and ISR have not changed for `QUIET_NS`.
Below a high watermark that either has announced, in-sync replicas must agree at any time.

unreplicated-acknowledgement: a record acknowledged under acks=all before the copies were taken, and missing from the
copy of a replica that was in every ISR stated from before its sending until the copying.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from checks import excuses
from checks.anomaly import (
    COPIES,
    GUARANTEES,
    HISTORY,
    KEPT_ROWS,
    anomaly,
)
from checks.copies import ACKS_ALL, Copies, Copy, differing_fields, held_by
from checks.view import (
    EVIDENCE_LIMIT,
    NO_IDENTITY,
    Evidence,
    PartitionView,
    Rows,
    sender,
)
from evidence.basis import Basis
from evidence.run_state import UP, in_isr_throughout


def _settled(copies: Copies, at_ns: int, pair: tuple[Copy, Copy]) -> bool:
    return copies.quiet(at_ns) and all(copy.condition == UP for copy in pair)


@anomaly("replica-divergence", source="KIP-101, KAFKA-1211", basis=Basis.KIP, reads=(COPIES,), screened=KEPT_ROWS)
def replica_divergence(copies: Copies) -> Rows:
    """Two in-sync replicas held different records at one offset that both had."""
    rows = Rows()
    for at_ns, of_moment, difference in copies.compared():
        isr = copies.isr_at(at_ns) or []
        in_sync = [copy for copy in of_moment if copy.broker in isr and copy.broker in difference.records]
        fields: set[str] = set()
        for pair in combinations(in_sync, 2):
            known = [copy.high_watermark for copy in pair if copy.high_watermark is not None]
            if difference.offset < max(known, default=0) or _settled(copies, at_ns, pair):
                fields.update(differing_fields(*(difference.records[copy.broker] for copy in pair)))
        if not fields:
            continue
        rows.total += 1
        if len(rows) < EVIDENCE_LIMIT:
            rows.append(
                {
                    "moment": of_moment[0].moment,
                    "offset": difference.offset,
                    "fields": sorted(fields),
                    "isr": isr,
                    **held_by(of_moment[0], {copy.broker: difference.records[copy.broker] for copy in in_sync}),
                }
            )
    return rows


@anomaly(
    "unreplicated-acknowledgement",
    source=GUARANTEES,
    basis=Basis.DOCUMENTATION,
    reads=(COPIES, HISTORY),
    screened=KEPT_ROWS,
    follows_from="lost-write",
    follows=excuses.lost_record_is_missing,
)
def unreplicated_acknowledgement(copies: Copies, view: PartitionView) -> Rows:
    """A record acknowledged with acks=all was missing from a replica that was in the ISR throughout."""
    sends = view.sends
    rows = Rows()
    # -1 is acks=all; a history that does not say (acks null) does not accuse.
    acked = np.flatnonzero(sends.ok & (sends.acks == ACKS_ALL) & (sends.invoked_ns >= 0) & (sends.completed_ns >= 0))
    for at_ns, of_moment in copies.moments():
        begun = [copy for copy in of_moment if copy.replica.segments]
        due = acked[sends.completed_ns[acked] <= min(copy.begun_ns for copy in of_moment)]
        if not len(due):
            continue
        # From one change of the ISR to the next, the brokers that stay are the same for all sends.
        changes = sorted({state.monotonic_ns for state in copies.states if state.monotonic_ns <= at_ns})
        stay = np.searchsorted(changes, sends.invoked_ns[due], side="right")
        lacking: dict[int, list[Copy]] = {}
        expected: dict[int, list[int]] = {}
        for era in np.unique(stay).tolist():
            if era == 0:
                continue  # sent before anything was stated of the partition
            brokers = in_isr_throughout(copies.states, changes[era - 1], at_ns)
            of_era = due[stay == era]
            for copy in begun:
                if copy.broker not in brokers:
                    continue
                # Below its start a log has been cut by retention, not by replication.
                kept = (sends.offset[of_era] < 0) | (sends.offset[of_era] >= copy.replica.start_offset)
                values, offsets = copy.contents
                # What cannot be told whose it is may be the very record.
                kept &= ~np.isin(sends.offset[of_era], offsets[values == NO_IDENTITY])
                missing = of_era[kept & ~np.isin(sends.value[of_era], values)]
                for row in missing.tolist():
                    lacking.setdefault(row, []).append(copy)
                    expected[row] = sorted(brokers)
        for row in sorted(lacking):
            rows.total += 1
            if len(rows) < EVIDENCE_LIMIT:
                rows.append(
                    sender(view, row)
                    | {
                        "moment": of_moment[0].moment,
                        "missing_from": [copy.node for copy in lacking[row]],
                        "log_ends": {copy.node: copy.replica.leo for copy in lacking[row]},
                        "in_isr_throughout": expected[row],
                    }
                )
    return rows


@anomaly("log-start-regression", source="KIP-107", basis=Basis.KIP, reads=(COPIES,), screened=KEPT_ROWS)
def log_start_regression(copies: Copies) -> Rows:
    """The first offset of a replica's log went down."""
    rows: list[Evidence] = []
    begun: dict[str, Copy] = {}
    for copy in copies.copies:
        before = begun.get(copy.node)
        if before is not None and copy.replica.start_offset < before.replica.start_offset:
            was = {"moment": before.moment, "start_offset": before.replica.start_offset}
            rows.append(copy.place() | {"start_offset": copy.replica.start_offset, "before": was})
        begun[copy.node] = copy
    return Rows(rows)
