"""A store outside Kafka in a node of its own: a PostgreSQL server on the network of a run's cluster.

The cluster's nodes do not include it, so no step that asks every broker asks the store. Its container carries the run's
labels, so that Docker's events tell of it and it is removed with the others. Its data lie in the container, as Debian's
packages have them on a disk: what a killed server had written is there when it is started again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from docker.errors import APIError

from evidence.errors import HarnessError
from harness.cluster import docker as engine
from harness.cluster.namespace import namespace

if TYPE_CHECKING:
    from docker import DockerClient

    from harness.plan import StorePlan

NAME: Final = "store"
LAST_OCTET: Final = 30
NETWORK: Final = "cluster"
"""The network of the compose files; Compose puts the run's name before it."""
MEMORY: Final = "512m"


def make_store(client: DockerClient, plan: StorePlan, image: str, run_id: str, prefix: str) -> engine.Node:
    """Create (not start) the container of a store in the network of a run's cluster.

    Raises HarnessError, with Docker's own words, if that is not possible.
    """
    address, network = f"{prefix}.{LAST_OCTET}", f"{run_id}_{NETWORK}"
    networks: Any = {network: client.api.create_endpoint_config(ipv4_address=address)}
    try:
        made = client.api.create_container(
            image,
            command=[part for name, value in sorted(plan.settings.items()) for part in ("-c", f"{name}={value}")],
            name=f"{run_id}-{NAME}",
            hostname=NAME,
            labels={
                engine.LABEL: namespace(),
                engine.RUN_LABEL: run_id,
                engine.NODE_LABEL: NAME,
                engine.OWNER_LABEL: engine.owner(),
            },
            host_config=client.api.create_host_config(mem_limit=MEMORY, pids_limit=256),
            networking_config=client.api.create_networking_config(networks),
        )
        return engine.Node(NAME, 0, address, client.containers.get(made["Id"]))
    except APIError as error:
        raise HarnessError(f"the store's container cannot be created: {error.explanation or error}") from None
