"""What the kernel tells of packet filters: changes of our cuts, and others."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest
from docker.errors import DockerException

from evidence.events import Container
from harness.cluster.listings import WHOLE
from harness.observers.packet_filters import FILE, PacketFilters, foreign_changes

OURS = """# watching
 EVENT: nft: NEW table: table filter ip flags 0 use 1 handle 1
 EVENT: # nft: ip filter INPUT use 1 type filter hook input prio 0 policy accept packets 0 bytes 0 flags 1
 EVENT: -4 -t filter -N CHAOS-INPUT
NEWGEN: GENID=4 PID=22450 NAME=iptables
 EVENT: -4 -t filter -A INPUT -j CHAOS-INPUT
 EVENT: -4 -t filter -A CHAOS-INPUT -s 10.1.2.3/32 -j DROP
NEWGEN: GENID=6 PID=22452 NAME=iptables
 EVENT: -4 -t filter -D CHAOS-INPUT -s 10.1.2.3/32 -j DROP
"""


NEWER = """# watching
 EVENT: nft: NEW table: table filter ip flags 0 use 1 handle 1
 EVENT: iptables -t filter -N CHAOS-INPUT
 EVENT: nft: NEW chain: ip filter INPUT use 1 type filter hook input prio 0 policy accept packets 0 bytes 0 flags 1
 EVENT: iptables -t filter -A INPUT -j CHAOS-INPUT
 EVENT: iptables -t filter -A CHAOS-INPUT -s 10.1.2.3/32 -j DROP
 EVENT: iptables -t filter -D CHAOS-INPUT -s 10.1.2.3/32 -j DROP
"""
"""As iptables 1.8.13 has it; the other is of 1.8.9."""


@pytest.mark.parametrize("told", [OURS, NEWER])
def test_our_own_cuts_are_no_changes(told: str) -> None:
    assert foreign_changes(told.splitlines()) == ()


@pytest.mark.parametrize(
    ("line", "change"),
    [
        ("-4 -t filter -A INPUT -s 203.0.113.1/32 -j DROP", "-A INPUT -s 203.0.113.1/32 -j DROP"),
        ("-4 -t filter -D INPUT -s 203.0.113.1/32 -j DROP", "-D INPUT -s 203.0.113.1/32 -j DROP"),
        ("iptables -t filter -A INPUT -s 203.0.113.1/32 -j DROP", "-A INPUT -s 203.0.113.1/32 -j DROP"),
        ("ip6tables -t filter -A INPUT -j DROP", "-A INPUT -j DROP"),
        (
            "nft: NEW chain: ip filter INPUT use 0 type filter hook input prio 0 policy drop packets 0",
            "nft: NEW chain: ip filter INPUT use 0 type filter hook input prio 0 policy drop packets 0",
        ),
        ("-6 -t filter -A OUTPUT -j DROP", "-A OUTPUT -j DROP"),
        ("-4 -t filter -A INPUT -j CHAOS-OUTPUT", "-A INPUT -j CHAOS-OUTPUT"),
        ("-4 -t filter -N MINE", "-N MINE"),
        (
            "# nft: ip filter INPUT use 1 type filter hook input prio 0 policy drop packets 0",
            "# nft: ip filter INPUT use 1 type filter hook input prio 0 policy drop packets 0",
        ),
    ],
)
def test_changes_of_others(line: str, change: str) -> None:
    assert foreign_changes([*OURS.splitlines(), f" EVENT: {line}"]) == (change,)


def test_a_filter_that_nobody_watched() -> None:
    assert foreign_changes([]) is None


class Box:
    """A node whose container takes commands."""

    name = "broker-1"

    def __init__(self, *, ended: bool = False) -> None:
        self.container, self.ended = self, ended
        self.asked: list[Any] = []
        self.heard = threading.Event()

    def exec_run(self, command: list[str], **options: Any) -> None:
        self.asked.append((command, options))
        self.heard.set()
        if self.ended:
            raise DockerException("it is not running")

    def run_inside(self, *_command: str) -> str:
        return f"{OURS}{WHOLE}\n"


def test_each_start_of_a_node_begins_its_watching() -> None:
    box = Box()
    watched = PacketFilters({"broker-1": cast("Any", box)})
    for node, action in (("broker-1", "start"), ("broker-1", "die"), ("elsewhere", "start"), ("broker-1", "start")):
        watched.note(Container(node=node, action=cast("Any", action)))
    watched.close()
    assert len(box.asked) == 2
    command, options = box.asked[0]
    assert (options["detach"], options["user"], FILE in command[-1]) == (True, "0", True)
    assert watched.changes(cast("Any", box)) == ()
    assert watched.refused(cast("Any", box)) is None


def test_a_node_that_has_ended_again_is_no_error() -> None:
    box = Box(ended=True)
    watched = PacketFilters({"broker-1": cast("Any", box)})
    watched.note(Container(node="broker-1", action="start"))
    watched.close()
    assert box.heard.is_set()
    assert watched.refused(cast("Any", box)) == "it is not running"
    watched.note(Container(node="broker-1", action="start"))
    assert len(box.asked) == 1
