"""Where a group of consumers of 0.8 has its offsets: in ZooKeeper, in Kafka, or in both (offsets.storage,
dual.commit.enabled).

The scenario reads the group's znode (ZnodeOffset) and then asks its coordinator (OffsetAnswer). The last time decides,
for the settings of a group that moves its offsets are others then than before. Which claim fits these settings the
scenario says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import judged
from evidence.basis import Basis
from evidence.events import OffsetAnswer, ZnodeOffset

STORAGE = "Kafka documentation 0.8.2, old consumer configuration: offsets.storage, dual.commit.enabled"
ZNODES = "Kafka documentation, Implementation: consumer offset tracking (/consumers/[group_id]/offsets/[topic]/[N])"
NEVER = "nobody read the group's znode and asked its coordinator after it"


@dataclass(frozen=True, slots=True)
class BothPlaces:
    """A group's offset as its znode has it, and as its coordinator has it."""

    znode: ZnodeOffset
    answer: OffsetAnswer

    @property
    def row(self) -> dict[str, Any]:
        """What the evidence of a claim has of it."""
        return {"path": self.znode.path, "content": self.znode.content, "coordinator": self.answer.offset}


def _last_seen(evidence: RunEvidence) -> list[BothPlaces]:
    """The last time that the znode was read and the coordinator asked next, of each group and partition."""
    znodes: dict[tuple[str, str, int], ZnodeOffset] = {}
    found: dict[tuple[str, str, int], BothPlaces] = {}
    for one in evidence.run_state.events:
        if isinstance(one, ZnodeOffset):
            znodes[(one.group, one.topic, one.partition)] = one
        elif isinstance(one, OffsetAnswer) and one.error is None:
            key = (one.group, one.topic, one.partition)
            if key in znodes:
                found[key] = BothPlaces(znodes.pop(key), one)
    return list(found.values())


@claim("offset-in-zookeeper-alone", source=ZNODES, basis=Basis.DOCUMENTATION)
def offset_in_zookeeper_alone(evidence: RunEvidence) -> Judged:
    """The group's offset is in the znode /consumers/<group>/offsets/<topic>/<partition>, as decimal digits, and the
    group's coordinator has none.
    """
    rows, wrong = [], []
    for seen in _last_seen(evidence):
        znode = seen.znode
        rows.append(seen.row)
        named = znode.path == f"/consumers/{znode.group}/offsets/{znode.topic}/{znode.partition}"
        if not named or znode.offset is None or seen.answer.offset is not None:
            wrong.append(seen.row)
    return judged(rows, wrong, _told(rows), NEVER)


@claim("offset-in-kafka-alone", source=STORAGE, basis=Basis.DOCUMENTATION)
def offset_in_kafka_alone(evidence: RunEvidence) -> Judged:
    """The group's coordinator has its offset, and there is no znode."""
    seen = _last_seen(evidence)
    wrong = [one.row for one in seen if one.znode.content is not None or one.answer.offset is None]
    rows = [one.row for one in seen]
    return judged(rows, wrong, _told(rows), NEVER)


@claim("offset-in-both", source=STORAGE, basis=Basis.DOCUMENTATION)
def offset_in_both(evidence: RunEvidence) -> Judged:
    """The znode and the group's coordinator have the same offset."""
    seen = _last_seen(evidence)
    wrong = [one.row for one in seen if one.znode.offset is None or one.answer.offset != one.znode.offset]
    rows = [one.row for one in seen]
    return judged(rows, wrong, _told(rows), NEVER)


def _told(rows: list[dict[str, Any]]) -> str:
    return "; ".join(f"{row['path']}: {row['content']}, the coordinator: {row['coordinator']}" for row in rows)
