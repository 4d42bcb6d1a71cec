"""Choosing an address range for a run's own network.

Parallel runs and whatever else uses Docker must not collide, and addresses must be fixed because a broker
tells clients the address it was given. So each run takes a /24 that overlaps no Docker network and no route
of the host. Two harnesses may still choose the same range at the same moment: the engine then refuses the
second, which takes another.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from docker import DockerClient

Network = ipaddress.IPv4Network
POOL: Final = tuple(f"172.{second}.{third}" for second in range(20, 31) for third in range(0, 256))


def host_routes(table: str) -> Iterator[Network]:
    """The networks the host has routes for, from the text of /proc/net/route (default route left out)."""
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) < 8 or fields[7] == "00000000":
            continue
        destination, mask = (int.from_bytes(bytes.fromhex(field), "little") for field in (fields[1], fields[7]))
        yield ipaddress.IPv4Network((destination, bin(mask).count("1")), strict=False)


def docker_networks(client: DockerClient) -> Iterator[Network]:
    """The ranges of all networks Docker knows, ours or not."""
    for network in client.networks.list():
        for config in (network.attrs.get("IPAM") or {}).get("Config") or []:
            subnet = config.get("Subnet", "")
            if subnet and ":" not in subnet:
                yield ipaddress.IPv4Network(subnet, strict=False)


def free_prefixes(taken: Iterable[Network], generator: random.Random) -> Iterator[str]:
    """Prefixes ("172.20.7") of /24 networks that overlap none of `taken`, in an order drawn from `generator`."""
    occupied = tuple(taken)
    for prefix in generator.sample(POOL, len(POOL)):
        network = ipaddress.IPv4Network(f"{prefix}.0/24")
        if not any(network.overlaps(other) for other in occupied):
            yield prefix


def free_prefixes_here(client: DockerClient) -> Iterator[str]:
    """Free prefixes on this machine, as it is now."""
    routes = Path("/proc/net/route")
    taken = [*docker_networks(client), *(host_routes(routes.read_text()) if routes.exists() else ())]
    return free_prefixes(taken, random.Random())
