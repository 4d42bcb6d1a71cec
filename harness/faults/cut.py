"""A network cut: packets between chosen nodes are dropped, silently, one way or both.

Rules live in the nodes' own network namespaces, in chains of our own (`CHAOS-INPUT`, `CHAOS-OUTPUT`); healing
takes this cut's rules out and touches nobody else's, so cuts compose. A cut drops packets (iptables DROP):
peers see silence, not a refusal, as with a broken switch; established connections stay and may resume after
the heal. Clients on the host are not cut unless asked for.

The proof is the kernel's counters: every rule is there and at least one packet ran into the cut. A restarted
node has a new namespace without rules, so `apply` is called again for it and the proof with it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evidence.errors import FaultUnproved, HarnessError

if TYPE_CHECKING:
    from harness.cluster.docker import Node
    from harness.faults.base import Proof

CHAIN: Final = "CHAOS"
COUNTER_LIMIT_S: Final = 15.0
POLL_S: Final = 0.05
WHOLE: Final = "# whole"
"""Ends a listing: the engine may hand over less than a command has printed."""
OWN: Final = re.compile(rf"-P (INPUT|FORWARD|OUTPUT) ACCEPT|-N {CHAIN}-(INPUT|OUTPUT)|-A (INPUT|OUTPUT) -j {CHAIN}-\3")
"""The rules of a node that no cut concerns at this time."""


def foreign_rules(node: Node) -> list[str]:
    """The rules in a node's packet filter that a node without a cut does not have, as `iptables -S` lists them.

    Raises HarnessError if no whole listing can be had.
    """
    listing = node.run_inside("sh", "-c", f"iptables -w -S && echo '{WHOLE}'").splitlines()
    if listing[-1:] != [WHOLE]:
        raise HarnessError(f"{node.name}: the listing of its packet filter is not whole: {listing[-1:]}")
    return [line for line in listing[:-1] if not OWN.fullmatch(line)]


@dataclass(frozen=True, slots=True)
class Rule:
    """Drop what leaves `at` for `peer` ("OUTPUT"), or what reaches `at` from `peer` ("INPUT")."""

    at: str
    hook: str
    peer: str

    def match(self) -> tuple[str, ...]:
        """Iptables' arguments for the packets of this rule."""
        return ("-d" if self.hook == "OUTPUT" else "-s", self.peer, "-j", "DROP")


def rules_between(senders: Sequence[Node], receivers: Sequence[Node], *, one_way: bool) -> list[tuple[Node, Rule]]:
    """The rules that stop packets from senders to receivers, and back unless one way.

    They stand at the senders' side, where a packet is dropped before it is on the wire.
    """
    rules = []
    for sender in senders:
        for receiver in receivers:
            if sender.name == receiver.name:
                raise HarnessError(f"{sender.name} cannot be cut from itself")
            rules.append((sender, Rule(sender.name, "OUTPUT", receiver.address)))
            if not one_way:
                rules.append((sender, Rule(sender.name, "INPUT", receiver.address)))
    return rules


def parse_counters(listing: str) -> dict[tuple[str, str], int]:
    """Packets per (hook, peer) from `iptables -L CHAOS-… -n -v -x` of both chains, each headed by its hook's name."""
    counters: dict[tuple[str, str], int] = {}
    hook = ""
    for line in listing.splitlines():
        fields = line.split()
        if line.startswith("Chain "):
            hook = fields[1].rpartition("-")[2]
        elif len(fields) >= 9 and fields[0].isdigit() and fields[2] == "DROP":
            peer = fields[8] if hook == "OUTPUT" else fields[7]
            counters[(hook, peer)] = int(fields[0])
    return counters


@dataclass(slots=True)
class Cut:
    """Senders cannot reach receivers (and the other way round unless `one_way`)."""

    senders: tuple[Node, ...]
    receivers: tuple[Node, ...]
    one_way: bool = False
    name: str = "cut"
    _rules: list[tuple[Node, Rule]] = field(default_factory=list)

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (*self.senders, *self.receivers)

    @property
    def description(self) -> str:
        arrow = "to" if self.one_way else "from"
        ends = [", ".join(node.name for node in side) for side in (self.senders, self.receivers)]
        return f"network cut of {ends[0]} {arrow} {ends[1]}" + (" (one way)" if self.one_way else "")

    def inject(self) -> None:
        self._rules = rules_between(self.senders, self.receivers, one_way=self.one_way)
        for node in self.senders:
            self.apply(node)

    def apply(self, node: Node) -> None:
        """Put this cut's rules into a node's namespace; used again when the node was restarted."""
        script = ["set -e"]
        for hook in ("INPUT", "OUTPUT"):
            chain = f"{CHAIN}-{hook}"
            make = f"iptables -w -N {chain}; iptables -w -I {hook} -j {chain}"
            script.append(f"iptables -w -n -L {chain} >/dev/null 2>&1 || {{ {make}; }}")
        for at, rule in self._rules:
            if at.name == node.name:
                match = " ".join(rule.match())
                chain = f"{CHAIN}-{rule.hook}"
                script.append(f"iptables -w -C {chain} {match} 2>/dev/null || iptables -w -A {chain} {match}")
        node.run_inside("sh", "-c", "\n".join(script))

    def _counters(self, node: Node) -> dict[tuple[str, str], int]:
        """What the kernel has counted. HarnessError if no whole listing can be had."""
        chains = " && ".join(f"iptables -w -nvxL {CHAIN}-{hook}" for hook in ("INPUT", "OUTPUT"))
        deadline = time.monotonic() + COUNTER_LIMIT_S
        while True:
            listing = node.run_inside("sh", "-c", f"{chains} && echo '{WHOLE}'")
            if listing.rstrip().endswith(WHOLE):
                return parse_counters(listing)
            if time.monotonic() > deadline:
                raise HarnessError(f"{node.name}: no whole listing in {COUNTER_LIMIT_S:.0f} s; the last: {listing!r}")

    def verify(self) -> Proof:
        deadline = time.monotonic() + COUNTER_LIMIT_S
        while True:
            seen = {node.name: self._counters(node) for node in self.senders}
            missing = [rule for node, rule in self._rules if (rule.hook, rule.peer) not in seen[node.name]]
            if missing:
                raise FaultUnproved(f"{self.description}: no such rule in the kernel: {missing[0]}; there are {seen}")
            dropped = {
                f"{name} {hook} {peer}": count
                for name, counters in seen.items()
                for (hook, peer), count in counters.items()
            }
            if all(any(counters.values()) for counters in seen.values()):
                return {"packets_dropped": dropped, "chain": CHAIN}
            if time.monotonic() > deadline:
                nothing = f"rules are there but no packet ran into them in {COUNTER_LIMIT_S:.0f} s"
                raise FaultUnproved(f"{self.description}: {nothing}: {dropped}")
            time.sleep(POLL_S)

    def heal(self) -> None:
        """Take this cut's own rules out of every node that runs; a node that is down lost them with its namespace."""
        for node in self.senders:
            state = node.state()
            if not state["Running"]:
                continue
            if state["Paused"]:
                raise HarnessError(f"{node.name} is frozen: thaw it before healing its network")
            mine = [rule for at, rule in self._rules if at.name == node.name]
            script = [
                f"iptables -w -D {CHAIN}-{rule.hook} {' '.join(rule.match())} 2>/dev/null || true" for rule in mine
            ]
            node.run_inside("sh", "-c", "\n".join(script))
            left = set(self._counters(node)) & {(rule.hook, rule.peer) for rule in mine}
            if left:
                raise HarnessError(
                    f"{node.name}: {self.description} is healed, yet the kernel still drops {sorted(left)}"
                )
