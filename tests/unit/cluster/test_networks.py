"""Choosing an address range: what overlaps is never taken."""

from __future__ import annotations

import ipaddress
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError

from evidence.errors import HarnessError, UsageError
from harness.cluster import networks
from harness.cluster.docker import LABEL, OWNER_LABEL
from harness.cluster.namespace import namespace
from harness.cluster.networks import POOL, free_prefixes, host_routes, may_be_elsewhere, require_reached
from harness.cluster.ownership import fate

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


class Engine:
    """An engine that makes a network for a range unless that is taken, and the routes that there are then."""

    def __init__(self, routes: Path, *, here: bool, taken: int = 0) -> None:
        self.networks = self
        self.left: list[str] = []
        self._routes, self._here, self._taken = routes, here, taken
        routes.write_text(ROUTES)

    def list(self) -> list[Any]:
        return []

    def create(self, name: str, *, ipam: Any, labels: dict[str, str]) -> Any:
        if self._taken:
            self._taken -= 1
            raise APIError("Pool overlaps with other one on this address space")
        assert labels[LABEL] == namespace()
        assert fate(labels[OWNER_LABEL]).state == "alive"
        network = ipaddress.IPv4Network(ipam["Config"][0]["Subnet"])
        if self._here:
            number = network.network_address.packed[::-1].hex().upper()
            self._routes.write_text(f"{ROUTES}br-2\t{number}\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n")
        self.left.append(name)
        return SimpleNamespace(remove=lambda: self.left.remove(name))


@pytest.fixture
def ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "free_prefixes_here", lambda _: iter(f"172.20.{n}" for n in range(100, 200)))


@pytest.mark.usefixtures("ranges")
@pytest.mark.parametrize("taken", [0, 3])
def test_an_engine_beside_this_process_is_used(taken: int, tmp_path: Path) -> None:
    engine: Any = Engine(tmp_path / "route", here=True, taken=taken)
    require_reached(engine, tmp_path / "route")
    assert engine.left == []


@pytest.mark.usefixtures("ranges")
def test_an_engine_whose_networks_are_not_reached_is_told_at_once(tmp_path: Path) -> None:
    """A rootless engine's are in a namespace of its own: clients would wait for minutes and learn nothing."""
    engine: Any = Engine(tmp_path / "route", here=False)
    with pytest.raises(UsageError, match=r"do not reach the networks of the engine.*docs/install\.md"):
        require_reached(engine, tmp_path / "route")
    assert engine.left == []


@pytest.mark.usefixtures("ranges")
def test_an_engine_that_makes_no_network_is_told(tmp_path: Path) -> None:
    engine: Any = Engine(tmp_path / "route", here=True, taken=100)
    with pytest.raises(HarnessError, match="the engine makes no network: Pool overlaps"):
        require_reached(engine, tmp_path / "route")


def test_an_engine_that_was_named_may_be_elsewhere_and_so_may_that_of_a_container(tmp_path: Path) -> None:
    mark = tmp_path / ".dockerenv"
    assert not may_be_elsewhere({}, mark)
    assert may_be_elsewhere({"DOCKER_HOST": "unix:///run/user/1000/docker.sock"}, mark)
    mark.touch()
    assert may_be_elsewhere({}, mark)
