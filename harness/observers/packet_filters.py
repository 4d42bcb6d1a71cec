"""Every change of the nodes' packet filters, from each start of their containers on.

A rule that is put in and taken out again leaves no trace in a listing at the end, and its counters go with it. The
kernel tells of each change as it is made (nftables' events, which xtables-monitor prints), so one process in each node
that sleeps until then, of 1 MB, writes all of them to a file of its container. It lives in the namespaces and with the
processes of the node. It stands still with a frozen node, and has what it missed when that is thawed. It dies with a
killed one, which loses its rules too, and is started anew with it. The file is read when the run ends.

What is not seen: a rule that comes and goes in the tenth of a second between the container's start and the
process's, and changes by the old interface of the kernel (iptables-legacy).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from docker.errors import DockerException

from evidence.events import Container, Event
from harness.cluster.listings import CHAIN, listing

if TYPE_CHECKING:
    from harness.cluster.docker import Node

FILE: Final = "/tmp/packet-filter"
WATCHING: Final = "# watching"
WATCH: Final = f"echo '{WATCHING}' >> {FILE}; exec stdbuf -oL xtables-monitor --event >> {FILE}"
CHANGE: Final = re.compile(r" *EVENT: (?:(?:-[46]|ip6?tables) -t \S+ )?(?P<what>.*)")
OWN: Final = re.compile(
    rf"-[ADNX] {CHAIN}-(INPUT|OUTPUT)( .*)?|-[AD] (INPUT|OUTPUT) -j {CHAIN}-\3"
    r"|nft: (NEW|DEL) table: .*"
    r"|(# nft|nft: (NEW|DEL) chain): ip6? \S+ (INPUT|OUTPUT|FORWARD) use .* policy accept .*"
)
"""What the faults of the network change, and the tables and chains that iptables makes for the first rule."""


def foreign_changes(lines: Iterable[str]) -> tuple[str, ...] | None:
    """The changes that no fault of ours makes, from what was written; None if nobody was watching.

    >>> foreign_changes(["# watching", " EVENT: -4 -t filter -A CHAOS-INPUT -s 10.0.0.2/32 -j DROP"])
    ()
    >>> foreign_changes(["# watching", " EVENT: -4 -t filter -A INPUT -j DROP", "NEWGEN: GENID=2 PID=7 NAME=iptables"])
    ('-A INPUT -j DROP',)
    """
    written = list(lines)
    if WATCHING not in written:
        return None
    told = [found["what"] for line in written if (found := CHANGE.fullmatch(line))]
    return tuple(what for what in told if not OWN.fullmatch(what))


class PacketFilters:
    """Watches the packet filters of a cluster's nodes; a listener of the timeline, which tells when one starts."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes
        self._pool = ThreadPoolExecutor(thread_name_prefix="packet-filters")
        self._refused: dict[str, str] = {}

    def note(self, event: Event) -> None:
        """Watch a node whose container has started."""
        if isinstance(event, Container) and event.action == "start" and event.node in self._nodes:
            with suppress(RuntimeError):  # closed
                self._pool.submit(self._watch, self._nodes[event.node])

    def _watch(self, node: Node) -> None:
        try:
            node.container.exec_run(["sh", "-c", WATCH], user="0", detach=True)
        except (DockerException, OSError) as error:  # mostly it has ended again; if it runs, the reason is wanted
            self._refused[node.name] = str(error)

    def changes(self, node: Node) -> tuple[str, ...] | None:
        """The changes in a node that runs which no fault of ours made, so far; None if nobody was watching.

        Raises HarnessError or DockerException if the node does not answer.
        """
        return foreign_changes(listing(node, f"touch {FILE}", f"cat {FILE}"))

    def refused(self, node: Node) -> str | None:
        """Why the engine last refused to begin the watching of a node; None if it never did."""
        return self._refused.get(node.name)

    def close(self) -> None:
        """Begin to watch no more nodes."""
        self._pool.shutdown(wait=True)
