"""Choosing an address range for a run's own network.

Parallel runs and whatever else uses Docker must not collide, and addresses must be fixed because a broker
tells clients the address it was given. So each run takes a /24 that overlaps no Docker network and no route
of the host. Two harnesses may still choose the same range at the same moment: the engine then refuses the
second, which takes another.
"""

from __future__ import annotations

import ipaddress
import itertools
import os
import random
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evidence.errors import HarnessError, UsageError
from harness.cluster.docker import LABEL, OWNER_LABEL, owner
from harness.cluster.namespace import namespace

if TYPE_CHECKING:
    from docker import DockerClient

Network = ipaddress.IPv4Network
ROUTES: Final = Path("/proc/net/route")
IN_A_CONTAINER: Final = Path("/.dockerenv")
"""The engine puts this file into each container."""
ATTEMPTS: Final = 6
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
    taken = [*docker_networks(client), *(host_routes(ROUTES.read_text()) if ROUTES.exists() else ())]
    return free_prefixes(taken, random.Random())


def may_be_elsewhere(environment: Mapping[str, str] = os.environ, mark: Path = IN_A_CONTAINER) -> bool:
    """Whether the engine may have networks and a file system that are not this process's: it was named, as a rootless
    one is, or this process is in a container.
    """
    return bool(environment.get("DOCKER_HOST")) or mark.exists()


def require_reached(client: DockerClient, routes: Path = ROUTES) -> None:
    """Require that this process reaches the networks that the engine makes: a bridge has a route as soon as it is made,
    in the engine's own network namespace alone. One is made, looked for, and removed.

    Raises UsageError if it is not reached: every client would wait until it gives up. HarnessError if the engine makes
    none.
    """
    from docker.errors import APIError
    from docker.types import IPAMConfig, IPAMPool

    labels = {LABEL: namespace(), OWNER_LABEL: owner()}
    refusal: APIError | None = None
    for prefix in itertools.islice(free_prefixes_here(client), ATTEMPTS):
        network = Network(f"{prefix}.0/24")
        pools = IPAMConfig(pool_configs=[IPAMPool(subnet=str(network))])
        try:
            made = client.networks.create(f"{namespace()}-reached-{prefix}", ipam=pools, labels=labels)
        except APIError as error:
            refusal = error  # another harness took the range meanwhile
            continue
        try:
            found = network in host_routes(routes.read_text())
        finally:
            made.remove()
        if not found:
            raise UsageError(
                "clients here do not reach the networks of the engine, which are in another network namespace (of a "
                "rootless engine, of Docker Desktop, or this is a container without --network host): use the runner's "
                "image, as docs/install.md says"
            )
        return
    raise HarnessError(f"the engine makes no network: {refusal or 'no address range is free'}")
