"""What a static member of a group keeps while it is away (KIP-345).

A static member has a group.instance.id, which stands among the settings of its process. The coordinator has described
the group with this member (GroupMembers) before its process was killed. kill -9 sends no request to leave.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import judged
from evidence.basis import Basis
from evidence.events import GroupMember, GroupMembers, of
from evidence.faults.clients import KillClientProof
from evidence.text import plural

KIP_345 = "KIP-345"
INSTANCE = "group.instance.id"
HEARTBEATS_MS = 3000
"""heartbeat.interval.ms by default: a member that is killed may have been silent for so long."""
NEVER = "no static member was killed while its coordinator was asked before and after"


@dataclass(frozen=True, slots=True)
class Away:
    """A static member that was killed: what the coordinator said of its group before, and each time after."""

    instance: str
    process: str
    killed_ns: int
    before: GroupMembers
    after: tuple[GroupMembers, ...]


def _member(group: GroupMembers, instance: str) -> GroupMember | None:
    return next((one for one in group.members if one.instance == instance), None)


def _away(evidence: RunEvidence) -> Iterator[Away]:
    told = of(evidence.run_state.events, GroupMembers)
    for fact, _ in evidence.run_state.proved(KillClientProof):
        process = evidence.run.process(fact.node)
        instance = process.settings.get(INSTANCE, "") if process is not None else ""
        before = [one for one in told if one.at_ns < fact.inject_ns and _member(one, instance) is not None]
        after = tuple(one for one in told if one.at_ns > fact.inject_ns)
        if instance and before and after:
            yield Away(instance, fact.node, fact.inject_ns, before[-1], after)


@claim("static-member-returns-without-rebalance", source=KIP_345, basis=Basis.KIP)
def static_member_returns_without_rebalance(evidence: RunEvidence) -> Judged:
    """A static member that is back before its session ends has its old partitions, and no other member got or lost one.

    The coordinator says who has which partitions. The other members report each partition that they get or lose: with
    the eager protocol a rebalance takes all partitions from every member.
    """
    rows: list[dict[str, Any]] = []
    for away in _away(evidence):
        old = _member(away.before, away.instance)
        for back in away.after:
            new = _member(back, away.instance)
            if old is None or new is None or new.member_id == old.member_id:
                continue
            moved = [
                change.process
                for member in away.before.members
                for t in member.partitions
                for change in evidence.member_changes(*t)
                if away.killed_ns < change.at_ns < back.at_ns and member.instance != away.instance
            ]
            same = {one.instance: one.partitions for one in back.members} == {
                one.instance: one.partitions for one in away.before.members
            }
            rows.append(
                {"instance": away.instance, "partitions": len(new.partitions), "same": same, "others_moved": moved}
            )
    wrong = [row for row in rows if not row["same"] or row["others_moved"]]
    moves = sum(len(row["others_moved"]) for row in rows)
    seen = f"{plural(len(rows), 'static member')} came back; of the others {plural(moves, 'partition')} moved"
    return judged(rows, wrong, seen, NEVER)


@claim("static-member-replaced-after-session", source=KIP_345, basis=Basis.KIP)
def static_member_replaced_after_session(evidence: RunEvidence) -> Judged:
    """A static member that stays away loses its partitions to others, and not before its session has ended.

    Its session ends session.timeout.ms after its last heartbeat, which may be a heartbeat's interval before it died.
    """
    rows: list[dict[str, Any]] = []
    for away in _away(evidence):
        old, process = _member(away.before, away.instance), evidence.run.process(away.process)
        if old is None or process is None:
            continue
        others = [
            (change.at_ns - away.killed_ns) / 1e6
            for t in old.partitions
            for change in evidence.member_changes(*t)
            if change.given and change.process != away.process and change.at_ns > away.killed_ns
        ]
        gone = any(_member(one, away.instance) is None for one in away.after)
        if gone and others:
            session_ms = float(process.settings["session.timeout.ms"])
            rows.append({"instance": away.instance, "after_ms": round(min(others)), "session_ms": session_ms})
    wrong = [row for row in rows if row["after_ms"] < row["session_ms"] - HEARTBEATS_MS]
    times = ", ".join(f"{row['after_ms'] / 1000:.1f} s after it died" for row in rows)
    return judged(rows, wrong, f"another member was given its partitions {times}", NEVER)
