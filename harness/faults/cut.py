"""A network cut: packets between chosen nodes are dropped, silently, one way or both.

Rules live in the nodes' own network namespaces, in chains of our own (`CHAOS-INPUT`, `CHAOS-OUTPUT`); healing
takes this cut's rules out and touches nobody else's, so cuts compose. A cut drops packets (iptables DROP):
peers see silence, not a refusal, as with a broken switch; established connections stay and may resume after
the heal. Clients on the host are not cut unless asked for.

The proof is the kernel's counters: every rule is there and at least one packet ran into the cut. A restarted
node has a new namespace without rules, so `apply` is called again for it and the proof with it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evidence.errors import FaultUnproved, HarnessError
from harness.faults import network
from harness.faults.network import CHAIN, POLL_S, listing, names, pair

if TYPE_CHECKING:
    from harness.cluster.docker import Node
    from harness.faults.base import Proof


@dataclass(frozen=True, slots=True)
class Rule:
    """Drop what leaves `at` for `peer` ("OUTPUT"), or what reaches `at` from `peer` ("INPUT")."""

    at: str
    hook: str
    peer: str

    def match(self) -> tuple[str, ...]:
        """Iptables' arguments for the packets of this rule."""
        return ("-d" if self.hook == "OUTPUT" else "-s", self.peer, "-j", "DROP")


def rules_between(senders: tuple[Node, ...], receivers: tuple[Node, ...], *, one_way: bool) -> list[tuple[Node, Rule]]:
    """The rules that stop packets from senders to receivers, and back unless one way.

    They stand at the senders' side, where a packet is dropped before it is on the wire.
    """
    hooks = ("OUTPUT",) if one_way else ("OUTPUT", "INPUT")
    return [(a, Rule(a.name, hook, b.address)) for a, b in pair(senders, receivers) for hook in hooks]


def parse_counters(lines: Iterable[str]) -> dict[tuple[str, str], int]:
    """Packets per (hook, peer) from `iptables -L CHAOS-… -n -v -x` of both chains, each headed by its hook's name."""
    counters: dict[tuple[str, str], int] = {}
    hook = ""
    for line in lines:
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
        way = " (one way)" if self.one_way else ""
        return f"network cut of {names(self.senders)} {arrow} {names(self.receivers)}{way}"

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
        return parse_counters(listing(node, *(f"iptables -w -nvxL {CHAIN}-{hook}" for hook in ("INPUT", "OUTPUT"))))

    def verify(self) -> Proof:
        deadline = time.monotonic() + network.COUNTER_LIMIT_S
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
                nothing = f"rules are there but no packet ran into them in {network.COUNTER_LIMIT_S:.0f} s"
                raise FaultUnproved(f"{self.description}: {nothing}: {dropped}")
            time.sleep(POLL_S)

    def heal(self) -> None:
        """Take this cut's own rules out of every node that runs; a node that is down lost them with its namespace."""
        for node in network.running(self.senders):
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
