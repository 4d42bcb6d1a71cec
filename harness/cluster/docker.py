"""Docker as this project uses it: finding the engine, our label, nodes, and removing what is ours and nothing else.

Everything the project creates carries its namespace (`kafka-chaos`), the run it belongs to (`kafka-chaos.run`) and the
process that owns it (`kafka-chaos.process`; harness.cluster.ownership). So what a killed harness left behind can be
told from what another harness is using at this moment: an owner that no longer runs owns nothing.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from evidence.errors import HarnessError, UsageError
from harness.cluster.namespace import namespace
from harness.cluster.ownership import fate
from harness.cluster.ownership import owner as owner

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

LABEL: Final = "kafka-chaos"
RUN_LABEL: Final = "kafka-chaos.run"
NODE_LABEL: Final = "kafka-chaos.node"
KAFKA_LABEL: Final = "kafka-chaos.kafka"
"""Of images: the release of Kafka that is inside."""
MUTANTS_LABEL: Final = "kafka-chaos.mutants"
"""Of images whose brokers were changed on purpose (tests/mutants): a digest of what such an image is made from."""
OWNER_LABEL: Final = "kafka-chaos.process"
"""Not "kafka-chaos.owner": versions that wrote that one would take a label in the new form for a dead owner's."""
API_TIMEOUT_S: Final = 60
COMMAND_LIMIT_S: Final = 300
LAST_LINES: Final = 15


def unanswered() -> tuple[type[Exception], ...]:
    """What the engine's client raises when there is none any more."""
    from requests import exceptions

    return exceptions.ConnectionError, exceptions.Timeout


def connect() -> DockerClient:
    """A client of the engine that answers here.

    Raises UsageError, saying which it is, if there is no engine, if it is elsewhere, or if there is no right to use it.
    """
    import docker
    from docker.errors import DockerException

    host = os.environ.get("DOCKER_HOST", "")
    if host.startswith("ssh://"):
        raise UsageError(
            f"DOCKER_HOST is {host}: the engine has to be on this machine, because clients speak with the addresses of "
            "containers and observers read their disks; run kafka-chaos on that machine by ssh, or unset DOCKER_HOST"
        )
    try:
        client = docker.from_env(timeout=API_TIMEOUT_S)
        client.ping()
    except (DockerException, OSError) as error:
        text = str(error)
        if "ermission denied" in text:
            raise UsageError(
                "Docker answers but this user may not use it (permission denied on its socket): "
                "add the user to the group docker and log in again, or run as root"
            ) from None
        raise UsageError(
            "no Docker engine answers: start it, or run `make setup`, which installs one on Debian and Ubuntu as root "
            f"({text.splitlines()[0][:160]})"
        ) from None
    return client


def why_unanswered(error: Exception) -> str:
    """A line for an engine that answered before and does not any more: its client's errors name sockets and no engine.

    >>> why_unanswered(OSError("Connection aborted."))
    'no Docker engine answers any more (Connection aborted.)'
    """
    return f"no Docker engine answers any more ({' '.join(str(error).split())[:160]})"


@dataclass(slots=True)
class Node:
    """One node of a cluster: a container that keeps its name and address over restarts.

    Only the faults and the cluster's own bring-up may call what changes it.
    """

    name: str
    id: int
    """The broker id (or the controller's node id; 0 for ZooKeeper)."""
    address: str
    container: Container

    def state(self) -> dict[str, Any]:
        """Docker's own state of the container, asked afresh."""
        self.container.reload()
        state: dict[str, Any] = self.container.attrs["State"]
        return state

    def started(self) -> datetime:
        """When it was last started, by the engine's clock, to the microsecond."""
        return datetime.fromisoformat(self.state()["StartedAt"][:26].rstrip("Z") + "+00:00")

    def said(self) -> str:
        """What it has printed since it was last started."""
        return self.container.logs(since=self.started()).decode(errors="replace")

    def run_inside(self, *command: str) -> str:
        """Run a command in the container as root and return what it printed; HarnessError if it fails."""
        result = self.container.exec_run(list(command), user="0")
        printed = result.output if isinstance(result.output, bytes) else b"".join(result.output)
        output = printed.decode(errors="replace")
        if result.exit_code != 0:
            raise HarnessError(
                f"{self.name}: {' '.join(command)} ended with {result.exit_code}: {output.strip()[:300]}"
            )
        return output

    def run_class(self, *command: str) -> str:
        """Run a class of Kafka's jars with arguments in the container, in a JVM of its own; else as `run_inside`."""
        script = '. /opt/kafka/jvm && exec "${jvm[@]}" -Xmx96m "$@"'
        return self.run_inside("bash", "-c", script, "java", *command)

    def last_lines(self) -> str:
        """The end of what the node printed, for a message that explains a failure."""
        return self.container.logs(tail=LAST_LINES).decode(errors="replace")


def printed(client: DockerClient, image: str, command: list[str], *, stderr: bool = False, **options: Any) -> str:
    """What a command prints in a container of its own, which is removed; `options` are those of the SDK's `run`.

    Raises HarnessError if the command ends with another status than 0, or not within `COMMAND_LIMIT_S`.
    """
    labels = {LABEL: namespace(), OWNER_LABEL: owner()}
    container = client.containers.run(image, command, detach=True, labels=labels, **options)
    # Not `run(remove=True)`: it reads what was printed only after it has asked for the removal, and may get a part.
    try:
        status = container.wait(timeout=COMMAND_LIMIT_S)["StatusCode"]
        output = container.logs(stdout=True, stderr=stderr).decode(errors="replace")
        if status != 0:
            said = container.logs(tail=5).decode(errors="replace")
            raise HarnessError(f"{command[0]} in {image} ended with {status}: {' '.join(said.split())[:300]}")
    except OSError as error:
        raise HarnessError(f"{command[0]} in {image}: {' '.join(str(error).split())[:300]}") from None
    finally:
        container.remove(force=True, v=True)
    return output


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """What carries our label and may be removed."""

    containers: tuple[Any, ...]
    networks: tuple[Any, ...]
    volumes: tuple[Any, ...]
    left_alone: tuple[str, ...] = ()
    """A line for each reason why something was left alone because nobody can tell here whether it is abandoned."""

    def __len__(self) -> int:
        return len(self.containers) + len(self.networks) + len(self.volumes)


def _labels(thing: Any) -> dict[str, str]:
    attributes = thing.attrs
    return attributes.get("Labels") or attributes.get("Config", {}).get("Labels") or {}


def find_ours(client: DockerClient, *, run: str | None = None, only_abandoned: bool = False) -> Leftovers:
    """Containers, networks and volumes of this namespace: of one run, or only those whose owner no longer runs.

    Things without an owner label were started by hand from compose/ and are never "abandoned", nor are those whose
    owner cannot be judged from here, which `left_alone` tells. Raises HarnessError if no engine answers.
    """
    labels = [f"{LABEL}={namespace()}", *([f"{RUN_LABEL}={run}"] if run else [])]
    unjudged: Counter[str] = Counter()

    def chosen(things: list[Any]) -> Iterator[Any]:
        for thing in things:
            identity = _labels(thing).get(OWNER_LABEL, "")
            became = fate(identity) if only_abandoned and identity else None
            if became is not None and became.state == "unknown":
                unjudged[became.why] += 1
            if not only_abandoned or (became is not None and became.state == "dead"):
                yield thing

    filters: dict[str, str | list[str] | bool] = {"label": labels}
    try:
        found = Leftovers(
            containers=tuple(chosen(client.containers.list(all=True, filters=filters, ignore_removed=True))),
            networks=tuple(chosen(client.networks.list(filters=filters))),
            volumes=tuple(chosen(client.volumes.list(filters=filters))),
        )
    except unanswered() as error:
        raise HarnessError(why_unanswered(error)) from None
    return replace(found, left_alone=tuple(f"{count} of ours: {why}" for why, count in sorted(unjudged.items())))


def remove(leftovers: Leftovers, left_alone: Callable[[str], None] = lambda why: None) -> int:
    """Remove these things, containers first and all at once; what has vanished meanwhile is fine.

    Returns how many were removed. Raises HarnessError naming what the engine would not remove. An empty network that
    has endpoints, as the engine says, stays, and `left_alone` hears of it: Docker 20.10 may keep the endpoint of a
    container that is gone until the engine is started anew.
    """
    from docker.errors import APIError, NotFound

    refused: list[str] = []

    def one(thing: Any, **options: Any) -> None:
        try:
            thing.remove(**options)
        except NotFound:
            return
        except APIError as error:
            if "active endpoints" in str(error) and not _containers_of(thing):
                left_alone(f"network {thing.name}: Docker keeps an endpoint of a gone container until it restarts")
            elif "already in progress" not in str(error):
                refused.append(f"{thing.name}: {error.explanation or error}")

    if leftovers.containers:
        with ThreadPoolExecutor(max_workers=8) as pool:
            list(pool.map(lambda container: one(container, force=True, v=True), leftovers.containers))
    for network in leftovers.networks:
        one(network)
    for volume in leftovers.volumes:
        one(volume)
    if refused:
        raise HarnessError(f"Docker would not remove: {'; '.join(refused)}")
    return len(leftovers)


def _containers_of(network: Any) -> Mapping[str, Any]:
    """The containers on a network, as the engine says now."""
    network.reload()
    found: Mapping[str, Any] = network.attrs.get("Containers") or {}
    return found


def remove_mutants(client: DockerClient) -> list[str]:
    """Remove the images of brokers that were changed on purpose, and return their tags. One that a container is made of
    stays.
    """
    from docker.errors import APIError

    gone = []
    for image in client.images.list(filters={"label": [f"{LABEL}={namespace()}", MUTANTS_LABEL]}):
        try:
            image.remove()
        except APIError:
            continue
        gone += image.tags
    return gone
