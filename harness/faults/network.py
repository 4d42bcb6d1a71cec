"""What the faults of the network share: they live in the network namespaces of nodes, which tell of them themselves.

A restarted node has a new namespace without them, so `apply` is called again for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

from evidence.errors import HarnessError
from harness.cluster.listings import CHAIN, listing
from harness.faults.base import Peer

if TYPE_CHECKING:
    from harness.cluster.docker import Node

DEVICE: Final = "eth0"
"""Every node has one, of the cluster's network."""
COUNTER_LIMIT_S: Final = 15.0
POLL_S: Final = 0.05
OWN: Final = re.compile(
    rf"-P (INPUT|FORWARD|OUTPUT) ACCEPT|-N {CHAIN}-(INPUT|OUTPUT)|-A (INPUT|OUTPUT) -j {CHAIN}-\3"
    r"|qdisc noqueue 0: root refcnt \d+ *"
)
"""The rules of a node that no fault of the network concerns at this time, and its queue."""


N = TypeVar("N", bound=Peer)
P = TypeVar("P", bound=Peer)


def at_once(nodes: Sequence[Node], act: Callable[[Node], None]) -> None:
    """Do something in several nodes side by side: one after another it takes seconds on a busy machine."""
    with ThreadPoolExecutor(max_workers=max(1, len(nodes))) as pool:
        list(pool.map(act, nodes))


def foreign_rules(node: Node) -> list[str]:
    """The rules in a node's packet filter, and the queues of its network device, that a node without faults of the
    network does not have, as iptables and tc list them.

    Raises HarnessError if no whole listing can be had.
    """
    return [
        line
        for line in listing(node, "iptables -w -S", f"tc qdisc show dev {DEVICE}")
        if line and not OWN.fullmatch(line)
    ]


def pair(senders: tuple[N, ...], receivers: tuple[P, ...]) -> list[tuple[N, P]]:
    """Each sender with each receiver; HarnessError if one is its own."""
    pairs = [(sender, receiver) for sender in senders for receiver in receivers]
    for sender, receiver in pairs:
        if sender.name == receiver.name:
            raise HarnessError(f"{sender.name} has no link to itself")
    return pairs


def names(nodes: tuple[Peer, ...]) -> str:
    """Nodes by name."""
    return ", ".join(node.name for node in nodes)


def running(senders: tuple[Node, ...]) -> list[Node]:
    """The senders that run, to be healed: one that is down lost its faults with its namespace.

    HarnessError if one is frozen: nothing can be told it.
    """
    states = [(node, node.state()) for node in senders]
    for node, state in states:
        if state["Paused"]:
            raise HarnessError(f"{node.name} is frozen: thaw it before healing its network")
    return [node for node, state in states if state["Running"]]
