"""A slow link: what leaves chosen nodes for chosen others goes at so many bytes a second, and all else as ever.

A token bucket in the kernel of the sender (tc's htb: tbf for chosen packets, which a filter picks by their destination)
keeps packets waiting until there are tokens for them. Nothing is dropped before a thousand packets wait. TCP notices
that the link is slow and fills no more than it takes, so a sender sees its own buffer fill, as with a slow line. Only
this direction is slow: acknowledgements of the other one go with it and are small.

The proof: right after a handful of datagrams has been sent to the receiver, to a port where nobody listens, the
sender's kernel says that packets wait in the bucket of that rate; the receiver's kernel counts each of them when it has
come.
"""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from evidence.errors import FaultUnproved, HarnessError
from harness.faults import network
from harness.faults.network import DEVICE, POLL_S, listing, names, pair

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.cluster.docker import Node
    from harness.faults.base import Proof

BURST_BYTES: Final = 4000
"""What goes at once when the link was idle: two packets and a bit, as a bucket must take more than one."""
PROBE_BYTES: Final = 1000
PROBE_LEAST: Final = 8
PROBE_SHARE_S: Final = 0.1
"""The probe takes so long at the link's rate, at least: long enough to be seen waiting."""
DISCARD_PORT: Final = 9
BUCKET: Final = re.compile(
    r"class htb 1:(?P<number>[0-9a-f]+) root .*? rate (?P<rate>\d+)(?P<unit>[KMG]?)bit"
    r".*? backlog \S+ (?P<waiting>\d+)p"
)
UNITS: Final = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


class Bucket(NamedTuple):
    """One token bucket, as the kernel tells of it."""

    bytes_per_s: float
    waiting: int
    """Packets that wait in it."""


def parse_buckets(lines: Iterable[str]) -> dict[int, Bucket]:
    """The token buckets by number, from `tc -s class show`."""
    text = " ".join(line.strip() for line in lines)
    return {
        int(found["number"], 16): Bucket(int(found["rate"]) * UNITS[found["unit"]] / 8, int(found["waiting"]))
        for found in BUCKET.finditer(text)
    }


def datagrams_to_nobody(lines: Iterable[str]) -> int:
    """How many datagrams have come to ports where nobody listens, from /proc/net/snmp."""
    head, counts = (line.split() for line in lines if line.startswith("Udp:"))
    return int(counts[head.index("NoPorts")])


def number_of(receiver: Node) -> int:
    """The number of the bucket for a receiver: the last part of its address."""
    return int(receiver.address.rpartition(".")[2])


@dataclass(slots=True)
class Slow:
    """What senders send to receivers goes at `bytes_per_s` from each to each."""

    senders: tuple[Node, ...]
    receivers: tuple[Node, ...]
    bytes_per_s: int
    name: str = "slow"
    port: int = 0

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (*self.senders, *self.receivers)

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        return tuple((a.name, b.name) for a, b in pair(self.senders, self.receivers))

    @property
    def description(self) -> str:
        return f"slow link from {names(self.senders)} to {names(self.receivers)} ({self.bytes_per_s} bytes/s)"

    def inject(self) -> None:
        pair(self.senders, self.receivers)
        for node in self.senders:
            self.apply(node)

    def apply(self, node: Node) -> None:
        dev, rate = f"dev {DEVICE}", f"{self.bytes_per_s}bps"
        bucket = f"htb rate {rate} ceil {rate} burst {BURST_BYTES} cburst {BURST_BYTES} quantum 1514"
        script = ["set -e", f"tc qdisc show {dev} | grep -q '^qdisc htb 1:' || tc qdisc add {dev} root handle 1: htb"]
        for receiver in self.receivers:
            number = number_of(receiver)
            script.append(f"tc class add {dev} parent 1: classid 1:{number:x} {bucket}")
            match = f"u32 match ip dst {receiver.address}/32 flowid 1:{number:x}"
            script.append(f"tc filter add {dev} parent 1: protocol ip prio {number} {match}")
        node.run_inside("sh", "-c", "\n".join(script))

    def verify(self) -> Proof:
        return {"links": {f"{a.name} to {b.name}": self._seen(a, b) for a, b in pair(self.senders, self.receivers)}}

    def _seen(self, sender: Node, receiver: Node) -> dict[str, float]:
        """What both ends of a link show of it; FaultUnproved if that is not a slow one."""
        link = f"{self.description}: {sender.name} to {receiver.name}"
        before, deadline = self._arrived(receiver), time.monotonic() + network.COUNTER_LIMIT_S
        probes = max(PROBE_LEAST, math.ceil(self.bytes_per_s * PROBE_SHARE_S / PROBE_BYTES))
        send = f"printf '%0{PROBE_BYTES}d' 0 >/dev/udp/{receiver.address}/{DISCARD_PORT}"
        probe = f"bash -c 'for i in $(seq {probes}); do {send}; done'"
        bucket = parse_buckets(listing(sender, probe, f"tc -s class show dev {DEVICE}")).get(number_of(receiver))
        if bucket is None or not math.isclose(bucket.bytes_per_s, self.bytes_per_s, rel_tol=0.01):
            raise FaultUnproved(f"{link}: the kernel has no such bucket: {bucket}")
        if not bucket.waiting:
            raise FaultUnproved(f"{link}: no packet waits, right after {probes} datagrams of {PROBE_BYTES} bytes")
        while (arrived := self._arrived(receiver) - before) < probes:
            if time.monotonic() > deadline:
                limit = f"{network.COUNTER_LIMIT_S:.0f} s"
                raise FaultUnproved(f"{link}: {arrived} of {probes} datagrams came in {limit}: it is no slow link")
            time.sleep(POLL_S)
        return {"bytes_per_s": bucket.bytes_per_s, "packets_waiting": bucket.waiting, "datagrams_arrived": arrived}

    @staticmethod
    def _arrived(receiver: Node) -> int:
        return datagrams_to_nobody(listing(receiver, "cat /proc/net/snmp"))

    def heal(self) -> None:
        """Take the buckets out of every node that runs, with the packets that wait there: TCP sends those again."""
        dev = f"dev {DEVICE}"
        script = [
            f"tc filter del {dev} parent 1: protocol ip prio {n} 2>/dev/null; tc class del {dev} classid 1:{n:x} "
            "2>/dev/null"
            for n in map(number_of, self.receivers)
        ]
        script.append(f"tc class show {dev} | grep -q . || tc qdisc del {dev} root 2>/dev/null || true")
        for node in network.running(self.senders):
            node.run_inside("sh", "-c", "\n".join(script))
            left = set(parse_buckets(listing(node, f"tc -s class show {dev}"))) & set(map(number_of, self.receivers))
            if left:
                raise HarnessError(f"{node.name}: {self.description} is healed, yet the kernel has its buckets {left}")
