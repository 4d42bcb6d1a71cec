"""A slow link: what leaves chosen nodes for chosen others goes at so many bytes a second, and all else as ever.

A token bucket in the kernel of the sender (tc's htb: tbf for chosen packets, which a filter picks by their destination)
keeps packets waiting until there are tokens for them. Nothing is dropped before a thousand packets wait. TCP notices
that the link is slow and fills no more than it takes, so a sender sees its own buffer fill, as with a slow line. Only
this direction is slow: acknowledgements of the other one go with it and are small.

The proof: datagrams are sent to the receiver at once, to a port where nobody listens. The sender's kernel counts how
often the bucket of that rate had to hold packets back, and says how many wait; the receiver's kernel counts each
datagram when it has come. The count stays, so that a machine that is slow to ask has missed nothing; in a kernel whose
buckets have none (old ones) packets must be seen waiting.
"""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from evidence.errors import FaultUnproved, HarnessError
from evidence.faults.network import SlowLink, SlowProof
from harness.cluster.listings import listing
from harness.faults import network
from harness.faults.network import DEVICE, POLL_S, names, pair

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.cluster.docker import Node

BURST_BYTES: Final = 4000
"""What goes at once when the link was idle: two packets and a bit, as a bucket must take more than one."""
PROBE_BYTES: Final = 1000
PROBE_LEAST: Final = 8
PROBE_SHARE_S: Final = 0.2
"""The probe takes so long at the link's rate, at least: long enough to be seen waiting."""
DISCARD_PORT: Final = 9
DATAGRAM: Final = f"printf '%0{PROBE_BYTES}d' 0 >&3"
PROBE: Final = (
    f"bash -c 'exec 3>/dev/udp/{{to}}/{DISCARD_PORT} && "
    f"for i in $(seq {{probes}}); do {{{{ {DATAGRAM} || {DATAGRAM}; }}}} 2>/dev/null || exit 1; done'"
)
"""Send so many datagrams by one socket, as fast as it goes. A write that fails has sent nothing: it told of the refusal
of an earlier datagram, which the next write does not."""
BUCKET: Final = re.compile(
    r"class htb 1:(?P<number>[0-9a-f]+) root .*? rate (?P<rate>\d+)(?P<unit>[KMG]?)bit"
    r".*? overlimits (?P<held>\d+) .*? backlog \S+ (?P<waiting>\d+)p"
)
UNITS: Final = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


class Bucket(NamedTuple):
    """One token bucket, as the kernel tells of it."""

    bytes_per_s: float
    waiting: int
    """Packets that wait in it."""
    held: int
    """How often it had to hold packets back."""


def parse_buckets(lines: Iterable[str]) -> dict[int, Bucket]:
    """The token buckets by number, from `tc -s class show`."""
    text = " ".join(line.strip() for line in lines)
    return {
        int(found["number"], 16): Bucket(
            int(found["rate"]) * UNITS[found["unit"]] / 8, int(found["waiting"]), int(found["held"])
        )
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
    port: int = 0
    proof_type: ClassVar = SlowProof

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
        network.at_once(self.senders, self.apply)

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

    def verify(self) -> SlowProof:
        pairs = pair(self.senders, self.receivers)
        return SlowProof(links={f"{a.name} to {b.name}": self._seen(a, b) for a, b in pairs})

    def _seen(self, sender: Node, receiver: Node) -> SlowLink:
        """What both ends of a link show of it; FaultUnproved if that is not a slow one."""
        link = f"{self.description}: {sender.name} to {receiver.name}"
        arrived_before, held_before = self._arrived(receiver), self._bucket(sender, receiver, link).held
        deadline, sent = time.monotonic() + network.COUNTER_LIMIT_S, 0
        while True:
            sent += (probes := max(PROBE_LEAST, math.ceil(self.bytes_per_s * PROBE_SHARE_S / PROBE_BYTES)))
            bucket = self._bucket(sender, receiver, link, PROBE.format(to=receiver.address, probes=probes))
            held = bucket.held - held_before
            if held or bucket.waiting:
                break
            if time.monotonic() > deadline:
                raise FaultUnproved(f"{link}: no packet waits, right after {sent} datagrams of {PROBE_BYTES} bytes")
        while (arrived := self._arrived(receiver) - arrived_before) < sent:
            if time.monotonic() > deadline:
                limit = f"{network.COUNTER_LIMIT_S:.0f} s"
                raise FaultUnproved(f"{link}: {arrived} of {sent} datagrams came in {limit}: it is no slow link")
            time.sleep(POLL_S)
        return SlowLink(
            bytes_per_s=bucket.bytes_per_s,
            packets_waiting=bucket.waiting,
            packets_held=held,
            datagrams_arrived=arrived,
        )

    def _bucket(self, sender: Node, receiver: Node, link: str, *after: str) -> Bucket:
        """The link's bucket, as the sender's kernel tells of it when these commands have been run."""
        buckets = parse_buckets(listing(sender, *after, f"tc -s class show dev {DEVICE}"))
        bucket = buckets.get(number_of(receiver))
        if bucket is None or not math.isclose(bucket.bytes_per_s, self.bytes_per_s, rel_tol=0.01):
            raise FaultUnproved(f"{link}: the kernel has no such bucket: {bucket}")
        return bucket

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

        def take_out(node: Node) -> None:
            node.run_inside("sh", "-c", "\n".join(script))
            left = set(parse_buckets(listing(node, f"tc -s class show {dev}"))) & set(map(number_of, self.receivers))
            if left:
                raise HarnessError(f"{node.name}: {self.description} is healed, yet the kernel has its buckets {left}")

        network.at_once(network.running(self.senders), take_out)
