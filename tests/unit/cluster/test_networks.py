"""Choosing an address range: what overlaps is never taken."""

from __future__ import annotations

import ipaddress
import random

from harness.cluster.networks import POOL, free_prefixes, host_routes

ROUTES = """Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
br-1\t000714AC\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
"""


def test_host_routes_are_read_without_the_default_route() -> None:
    assert [str(network) for network in host_routes(ROUTES)] == ["172.17.0.0/16", "172.20.7.0/24"]


def test_no_prefix_overlaps_what_is_taken() -> None:
    taken = [ipaddress.IPv4Network("172.20.0.0/15"), ipaddress.IPv4Network("172.22.3.128/25")]
    prefixes = set(free_prefixes(taken, random.Random(1)))
    assert "172.22.3" not in prefixes
    assert not any(prefix.startswith(("172.20.", "172.21.")) for prefix in prefixes)
    assert "172.22.4" in prefixes
    assert len(prefixes) == len(POOL) - 2 * 256 - 1


def test_nothing_is_offered_when_all_is_taken() -> None:
    assert list(free_prefixes([ipaddress.IPv4Network("172.16.0.0/12")], random.Random(1))) == []


def test_two_generators_differ() -> None:
    first, second = (next(iter(free_prefixes([], random.Random(seed)))) for seed in (1, 2))
    assert first != second
