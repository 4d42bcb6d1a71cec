"""Packets between chosen nodes are dropped, silently: all of them (a cut), or a share at random (loss).

They are dropped both ways or one way: all packets, or those of connections to one port, whichever side opened them. So
a broker is cut from KRaft's controllers without being cut from brokers that are the same nodes. Clients are beyond the
bridge of the cluster's network and are cut by its address (`Host`).

Rules live in the nodes' own network namespaces, in chains of our own (`CHAOS-INPUT`, `CHAOS-OUTPUT`); healing takes
this fault's rules out and touches nobody else's, so faults compose. A packet is dropped (iptables DROP): peers see
silence, not a refusal, as with a broken switch; established connections stay and may resume after the heal.

The proof is the kernel's counters, of this fault's rules alone: every rule is there and at each sender at least one
packet ran into it. To a node that is cut from clients this machine sends one, because clients may be silent. Of a loss
a second rule counts all packets, and some have come through.
"""

from __future__ import annotations

import shlex
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from evidence.errors import FaultUnproved, HarnessError
from evidence.faults.network import CutProof, DroppedProof, LossProof
from evidence.run_state import CLIENTS
from harness.cluster.cluster import KAFKA_PORT
from harness.cluster.listings import CHAIN, listing
from harness.faults import network
from harness.faults.network import POLL_S, names, pair

if TYPE_CHECKING:
    from harness.cluster.docker import Node
    from harness.faults.base import Peer

HOOKS = ("INPUT", "OUTPUT")
DROPPED = "DROP"
LOST = "NFQUEUE --queue-num 0"
"""What becomes of packets: dropped, of which TCP is told if they are of its own host, or handed to a program that is
not there, of which it is not: to TCP they are sent, and lost on their way."""
DECIMALS = 3
"""Of a share: the kernel keeps it in 31 bits."""


@dataclass(frozen=True, slots=True)
class PacketRule:
    """Drop a share of what leaves for `peer` ("OUTPUT"), or of what comes from it ("INPUT"); 0 only counts."""

    hook: str
    peer: str
    port: int = 0
    """Only packets from or to this port of TCP; 0 for all."""
    share: float = 1.0
    pushed: bool = False
    """Only packets that end what an application wrote (TCP's PSH), not TCP's own; TCP takes them for sent (`LOST`)."""
    asked: bool = False
    """Only packets to the port: what is asked there, not what is answered from the same port of the other end."""

    def match(self) -> str:
        """Iptables' arguments for the packets of this rule."""
        words = ["-d" if self.hook == "OUTPUT" else "-s", self.peer]
        if self.port or self.pushed:
            words += ["-p", "tcp"]
        if self.port:
            words += ["-m", "multiport", "--dports" if self.asked else "--ports", str(self.port)]
        if self.pushed:
            words += ["-m", "tcp", "--tcp-flags", "PSH", "PSH"]
        if 0 < self.share < 1:
            words += ["-m", "statistic", "--mode", "random", "--probability", str(self.share)]
        return " ".join([*words, "-j", LOST if self.pushed else DROPPED] if self.share else words)

    def __str__(self) -> str:
        own = f"{' to' if self.asked else ''}:{self.port}" if self.port else ""
        return f"{self.hook} {self.peer}{own}" + (" PSH" if self.pushed else "")


def parse_counters(lines: Iterable[str]) -> dict[PacketRule, int]:
    """Packets by rule of the faults' chains, from `iptables -v -S`."""
    counters: dict[PacketRule, int] = {}
    for line in lines:
        words = shlex.split(line)
        if words[:1] != ["-A"] or not words[1].startswith(f"{CHAIN}-"):
            continue
        value = dict(pairwise(words))
        hook = words[1].removeprefix(f"{CHAIN}-")
        peer = value["-d" if hook == "OUTPUT" else "-s"].removesuffix("/32")
        share = round(float(value.get("--probability", 1)), DECIMALS) if "-j" in value else 0.0
        port = int(value.get("--ports", value.get("--dports", 0)))
        rule = PacketRule(hook, peer, port, share, "--tcp-flags" in value, "--dports" in value)
        counters[rule] = int(value["-c"])
    return counters


@dataclass(frozen=True, slots=True)
class Host:
    """The machine that the clients run on, as nodes see it."""

    address: str
    name: str = CLIENTS


@dataclass(slots=True)
class Cut:
    """Senders cannot reach receivers, and the other way round unless `one_way`; with a `share` less than 1 so much of
    the packets is lost.
    """

    senders: tuple[Node, ...]
    receivers: tuple[Peer, ...]
    one_way: bool = False
    port: int = 0
    """Only connections to this port, at either end; 0 for all packets."""
    share: float = 1.0
    asked: bool = False
    """Only what senders ask on connections that they have to the port; what receivers ask of them gets through."""

    @property
    def proof_type(self) -> type[DroppedProof]:
        return CutProof if self.share == 1 else LossProof

    @property
    def nodes(self) -> tuple[Peer, ...]:
        return (*self.senders, *self.receivers)

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        there = pair(self.senders, self.receivers)
        return (*((a.name, b.name) for a, b in there), *((b.name, a.name) for a, b in there if not self.one_way))

    @property
    def description(self) -> str:
        what = "network cut" if self.share == 1 else f"loss of {self.share:.1%} of packets"
        port = f", {'requests to ' if self.asked else ''}port {self.port}" if self.port else ""
        ends = f"of {names(self.senders)} {'to' if self.one_way else 'from'} {names(self.receivers)}"
        return f"{what} {ends}{port}{' (one way)' if self.one_way else ''}"

    def rules(self) -> list[PacketRule]:
        """The rules at each sender, where a packet is dropped before it is on the wire: those that count come first."""
        shares = (1.0,) if self.share == 1 else (0.0, round(self.share, DECIMALS))
        hooks = ("OUTPUT",) if self.one_way else ("OUTPUT", "INPUT")
        return [
            PacketRule(hook, peer.address, self.port, share, asked=self.asked)
            for peer in self.receivers
            for hook in hooks
            for share in shares
        ]

    def inject(self) -> None:
        pair(self.senders, self.receivers)
        network.at_once(self.senders, self.apply)

    def apply(self, node: Node) -> None:
        script = ["set -e"]
        for chain, hook in ((f"{CHAIN}-{hook}", hook) for hook in HOOKS):
            make = f"iptables -w -N {chain}; iptables -w -I {hook} -j {chain}"
            script.append(f"iptables -w -n -L {chain} >/dev/null 2>&1 || {{ {make}; }}")
        for rule in self.rules():
            where = f"{CHAIN}-{rule.hook} {rule.match()}"
            script.append(f"iptables -w -C {where} 2>/dev/null || iptables -w -A {where}")
        node.run_inside("sh", "-c", "\n".join(script))

    @staticmethod
    def _counters(node: Node) -> dict[PacketRule, int]:
        """What the kernel has counted; nothing where the chains were never made. HarnessError if no whole listing can
        be had.
        """
        return parse_counters(listing(node, "iptables -w -v -S"))

    def verify(self) -> DroppedProof:
        if self.share == 1 and any(isinstance(peer, Host) for peer in self.receivers):
            for node in self.senders:
                knock(node.address, self.port or KAFKA_PORT)
        dropped, every = self._counts()
        if self.share == 1:
            return CutProof(packets_dropped=dropped, chain=CHAIN)
        return LossProof(packets_dropped=dropped, chain=CHAIN, packets=every, share=self.share)

    def _counts(self) -> tuple[dict[str, int], dict[str, int]]:
        """The packets that the kernel dropped, by rule, and of a loss all packets; FaultUnproved if there are none."""
        deadline = time.monotonic() + network.COUNTER_LIMIT_S
        while True:
            seen = {node.name: self._counters(node) for node in self.senders}
            missing = [rule for rule in self.rules() for counters in seen.values() if rule not in counters]
            if missing:
                raise FaultUnproved(f"{self.description}: no such rule in the kernel: {missing[0]}; there are {seen}")
            dropped = {name: self._counted(counters, dropped=True) for name, counters in seen.items()}
            every = {name: self._counted(counters, dropped=False) for name, counters in seen.items()}
            told = _told(dropped), _told(every)
            if all(_some_of(dropped[name], every[name]) for name in seen):
                return told
            if time.monotonic() > deadline:
                limit = f"{network.COUNTER_LIMIT_S:.0f} s"
                nothing = f"rules are there but no packet ran into them in {limit}"
                part = f"rules are there but did not drop some packets and let others pass in {limit}"
                raise FaultUnproved(f"{self.description}: {part if self.share < 1 else nothing}: {told}")
            time.sleep(POLL_S)

    def _counted(self, counters: dict[PacketRule, int], *, dropped: bool) -> dict[PacketRule, int]:
        """The counters of this fault's rules: of those that drop, or of those that only count."""
        return {rule: counters[rule] for rule in self.rules() if bool(rule.share) == dropped}

    def heal(self) -> None:
        """Take this fault's own rules out of every node that runs."""
        mine = self.rules()
        script = [f"iptables -w -D {CHAIN}-{rule.hook} {rule.match()} 2>/dev/null || true" for rule in mine]

        def take_out(node: Node) -> None:
            node.run_inside("sh", "-c", "\n".join(script))
            left = set(self._counters(node)) & set(mine)
            if left:
                raise HarnessError(
                    f"{node.name}: {self.description} is healed, yet the kernel has its rules {sorted(map(str, left))}"
                )

        network.at_once(network.running(self.senders), take_out)


def knock(address: str, port: int) -> None:
    """Send a packet of this machine's own to a port, and wait for nothing; clients may be silent."""
    with socket.socket() as own:
        own.setblocking(False)
        own.connect_ex((address, port))


def _some_of(dropped: dict[PacketRule, int], every: dict[PacketRule, int]) -> bool:
    """Whether packets were dropped; and, where all are counted, not all of them."""
    lost = sum(dropped.values())
    return lost > 0 and (not every or lost < sum(every.values()))


def _told(counted: dict[str, dict[PacketRule, int]]) -> dict[str, int]:
    return {f"{name} {rule}": count for name, counters in counted.items() for rule, count in counters.items()}
