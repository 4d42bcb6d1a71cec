"""One run's cluster: its containers created from compose/, started one by one, removed at the end.

Docker Compose creates network and containers from the same files that a person uses by hand. From then on the engine's
API starts and stops single nodes: a scenario cares about their order, and compose does not offer that at the speed of
one call. The rendered compose file goes into the run directory: it brings the same cluster up again.

Nothing here waits for Kafka to be ready: that is asked of the observers, which see what the cluster says of itself.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evidence import borders
from evidence.errors import HarnessError, UsageError
from harness.cluster import docker as engine
from harness.cluster import namespace as namespaces
from harness.cluster import versions
from harness.cluster.networks import free_prefixes_here
from harness.cluster.relay import listeners
from harness.cluster.versions import own_protocol
from harness.plan import SECOND

if TYPE_CHECKING:
    from docker import DockerClient

    from harness.cluster.disks import Disk, DiskMounter
    from harness.cluster.relay import Relays
    from harness.cluster.versions import Version
    from harness.plan import ClusterPlan

COMPOSE: Final = Path(__file__).resolve().parents[2] / "compose"
CONTROLLER_ID: Final = 100
KAFKA_PORT: Final = 9092
CONTROLLER_PORT: Final = 9093
"""Of KRaft's controllers, apart or combined."""
DOUBLE: Final = "double"
"""The node of a second broker with the id of another."""
DOUBLE_GIVES_UP_MS: Final = 15_000
"""KRaft: how long a broker of which there are two tries to register (60 s by default): the second one ends then."""
FORMATS_EVERY: Final = "--ignore-formatted"
"""Has KRaft nodes formatted by Kafka's tool, which does so in each of their log directories."""
PROPERTIES: Final = "server.properties"
"""Of each node's data directory: what it is started with."""
ENVIRONMENT: Final = "environment"
"""Of each node's data directory, with ZooKeeper: shell commands that change its environment from its next start on, if
it is there."""
CLUSTER_ID: Final = "Y2hhb3MtY2hhb3MtY2hhbw"
"""What KRaft nodes are formatted with (compose/image)."""
CLOCK: Final = "clock"
"""Of each node's data directory: by how many seconds its own wall clock is ahead ("+0"), if it has one."""
NETWORK_ATTEMPTS: Final = 6
COMPOSE_TIMEOUT_S: Final = 120
COMPOSE_FINISH_S: Final = 20

STEADY: Final[Mapping[str, str]] = {
    # Nothing moves unless the scenario moves it.
    "auto.leader.rebalance.enable": "false",
    "auto.create.topics.enable": "false",
    # A follower's high watermark shows in its checkpoint soon after it knows it, so that steps can wait for it.
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    # A broker that talks to a dead one must give up sooner than the sequence takes.
    "controller.socket.timeout.ms": "1500",
}


def compose_file(version: Version, plan: ClusterPlan) -> Path:
    """The file of compose/ that lays out this cluster."""
    if version.mode == "zookeeper":
        return COMPOSE / "zookeeper.yml"
    return COMPOSE / ("kraft-combined.yml" if plan.combined else "kraft.yml")


def services(version: Version, plan: ClusterPlan) -> tuple[str, ...]:
    """The services to create: the one that coordinates first, then the brokers in the order of starting, last the
    second one with a broker's id.
    """
    brokers = tuple(f"broker-{b}" for b in plan.broker_ids(version.mode))
    brokers += tuple(f"broker-{b}" for b in plan.joins)
    brokers += () if plan.double_of is None else (DOUBLE,)
    controllers = tuple(f"controller-{number}" for number in _controllers(plan))
    if version.mode == "zookeeper":
        return ("zookeeper", *(controllers if plan.migrates else ()), *brokers)
    return brokers if plan.combined else (*controllers, *brokers)


def _controllers(plan: ClusterPlan) -> range:
    """The ids of KRaft's controllers apart."""
    return range(CONTROLLER_ID, CONTROLLER_ID + plan.controllers)


def voters(prefix: str, plan: ClusterPlan) -> str:
    """controller.quorum.voters of a cluster in this network."""
    return ",".join(f"{number}@{prefix}.{number}:{CONTROLLER_PORT}" for number in _controllers(plan))


def broker_settings(version: Version, plan: ClusterPlan, overrides: Mapping[str, str]) -> dict[str, str]:
    """The broker properties of a run: ours, the session, the version's pins, the scenario's, the user's;
    later ones win. A name with a broker's id before it ("2:name") is that broker's alone.
    """
    session = plan.session_timeout_ms
    own = {f"{broker}:zookeeper.session.timeout.ms": str(ms) for broker, ms in plan.zookeeper_sessions_ms.items()}
    sessions = (
        {"zookeeper.session.timeout.ms": str(session), "zookeeper.connection.timeout.ms": "20000", **own}
        if version.mode == "zookeeper"
        else {
            "broker.session.timeout.ms": str(session),
            "broker.heartbeat.interval.ms": str(max(session // 8, 100)),
        }
    )
    if version.mode == "kraft" and plan.double_of is not None:
        sessions[f"{plan.double_of}:initial.broker.registration.timeout.ms"] = str(DOUBLE_GIVES_UP_MS)
    if plan.disks is not None and plan.disks.log_directories > 1:
        directories = f"/data/kafka,/data/{SECOND}/kafka"
        sessions |= {f"{broker}:log.dirs": directories for broker in plan.broker_ids(version.mode)}
    if plan.producers_expire_ms is not None:
        alone = version.release >= borders.PRODUCER_IDS_EXPIRE_ALONE.release
        sessions[f"{'producer' if alone else 'transactional'}.id.expiration.ms"] = str(plan.producers_expire_ms)
    kept = own_protocol(version) if plan.upgrades or plan.releases else {}
    return dict(STEADY) | sessions | kept | dict(version.settings) | dict(plan.settings) | dict(overrides)


def environment(
    *, version: Version, plan: ClusterPlan, settings: Mapping[str, str], run_id: str, prefix: str, data: Path
) -> dict[str, str]:
    """The variables that the compose files interpolate (listed at the head of each)."""
    options = {"CHAOS_JAVA_OPTIONS": plan.java_options} if plan.java_options else {}
    options |= {"CHAOS_CLOCK": "own"} if plan.own_clocks else {}
    options |= {release_variable(node): versions.get(name).build.tag for node, name in plan.releases.items()}
    return options | {
        namespaces.VARIABLE: namespaces.namespace(),
        "KAFKA_VERSION": plan.image_tag or version.build.tag,
        "KAFKA_SETTINGS": ";".join(f"{key}={value}" for key, value in sorted(settings.items())),
        "CHAOS_SUBNET": prefix,
        "CHAOS_RUN": run_id,
        "CHAOS_OWNER": engine.owner(),
        "CHAOS_DATA": str(data),
        "CHAOS_VOTERS": voters(prefix, plan),
        "CHAOS_SESSION_TIMEOUT_MS": str(plan.session_timeout_ms),
        # ZooKeeper grants sessions of 2 to 20 ticks and expires them on tick boundaries: a fine tick keeps them exact.
        "CHAOS_TICK_MS": str(max(plan.session_timeout_ms // 20, 100)),
        "CHAOS_UID": str(os.getuid()),
        "CHAOS_GID": str(os.getgid()),
        "CHAOS_LOG_TRACE": ",".join(plan.trace),
        "CHAOS_FORMAT": plan.format or (FORMATS_EVERY if plan.disks and plan.disks.log_directories > 1 else ""),
        "CHAOS_DOUBLE_OF": str(plan.double_of or 1),
    }


def further_versions(version: Version, plan: ClusterPlan) -> list[Version]:
    """What nodes run, at first or later, beside the run's version. Raises UsageError for a version that does not exist,
    and for a cluster of ZooKeeper and KRaft at once.
    """
    found = [versions.get(name) for name in plan.releases.values()]
    if (later := next_version(version, plan)) is not None:
        found.append(later)
    for one in found:
        if one.mode != version.mode:
            raise UsageError(f"a cluster of {version.id} has no node of {one.id}: one has ZooKeeper, the other KRaft")
    return list({one.build: one for one in found if one.build != version.build}.values())


def next_version(version: Version, plan: ClusterPlan) -> Version | None:
    """What a run upgrades its nodes to: the second of a pair, or what the plan names for its version; None if nothing
    says so.
    """
    if version.pair is not None:
        return version.pair[1]
    return versions.get(plan.upgrades[version.id]) if version.id in plan.upgrades else None


def first_releases(plan: ClusterPlan) -> dict[str, tuple[str, ...]]:
    """The releases of nodes that begin with another one than the run's, by node."""
    kinds = {True: "controller", False: "broker"}
    return {
        f"{kinds[number >= CONTROLLER_ID]}-{number}": (versions.get(name).kafka,)
        for number, name in plan.releases.items()
    }


def release_variable(node: int) -> str:
    """The variable of the compose files that has the release of one node, by its id."""
    return f"KAFKA_VERSION_{node}"


def _compose(arguments: Sequence[str], variables: Mapping[str, str]) -> tuple[int, str, str]:
    """Run `docker compose`: its exit status and what it printed, on stdout and on stderr."""
    # An interrupt reaches the main thread alone: started by another, the process is known however early one comes.
    started: Future[subprocess.Popen[str]] = Future()
    starter = threading.Thread(target=_start_compose, args=(arguments, variables, started), daemon=True)
    try:
        starter.start()
        process = started.result()
        out, err = process.communicate(timeout=COMPOSE_TIMEOUT_S)
    except FileNotFoundError:
        raise UsageError("no `docker` command on the PATH; run `make setup` or install Docker") from None
    except subprocess.TimeoutExpired:
        said = end_session(started.result(), 0.0)
        raise HarnessError(f"docker compose {arguments[0]} took longer than {COMPOSE_TIMEOUT_S} s: {said!r}") from None
    except BaseException:
        # What compose has asked the engine for is made whether compose lives or not: only when it has ended can
        # everything be found and removed.
        with suppress(OSError, TimeoutError):
            end_session(started.result(COMPOSE_FINISH_S), COMPOSE_FINISH_S)
        raise
    return process.returncode, out, err


def _start_compose(
    arguments: Sequence[str], variables: Mapping[str, str], started: Future[subprocess.Popen[str]]
) -> None:
    try:
        process = subprocess.Popen(
            ["docker", "compose", *arguments],
            env=os.environ | dict(variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            stdin=subprocess.DEVNULL,
            # Ctrl-C is for the harness, which then removes what compose was making.
            start_new_session=True,
        )
    except OSError as error:
        started.set_exception(error)
    else:
        started.set_result(process)


def end_session(process: subprocess.Popen[str], patience_s: float) -> str:
    """Wait until a process that leads a session has ended, for so long; then kill it with all its children.

    `docker` starts Compose as a child that would outlive it. Returns what was said on stderr.
    """
    try:
        _, said = process.communicate(timeout=patience_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, said = process.communicate()
    return said


def _is_clash(message: str) -> bool:
    return bool(re.search(r"overlap|already in use|conflicts with|Address already", message, re.IGNORECASE))


@dataclass(frozen=True, slots=True)
class Composed:
    """What Docker Compose made a cluster's containers with."""

    arguments: tuple[str, ...]
    """The project and the file."""
    variables: Mapping[str, str]


@dataclass(slots=True)
class Cluster:
    """The nodes of one run."""

    client: DockerClient
    version: Version
    plan: ClusterPlan
    run_id: str
    prefix: str
    data: Path
    nodes: dict[str, Node] = field(default_factory=dict)
    rendering: Future[None] | None = None
    mounter: DiskMounter | None = None
    """Who mounts and unmounts the disks; None if the nodes have none of their own."""
    disks: Mapping[str, Disk] = field(default_factory=dict)
    """By node."""
    second_disks: Mapping[str, Disk] = field(default_factory=dict)
    """By broker's node: of its second log directory, if it has two."""
    store: Node | None = None
    """The store outside Kafka, if the plan has one: none of the nodes."""
    relays: Relays | None = None
    """Between brokers and the applications that are behind relays; None if the plan has none."""
    composed: Composed | None = None
    """What its containers were made with; None for a cluster that was not made here."""
    versions: dict[str, Version] = field(default_factory=dict)
    """By node: what it runs, where that is not the cluster's version."""
    retired: set[str] = field(default_factory=set)
    """Nodes that were taken out of the cluster for good: nobody starts them again."""

    @property
    def coordinator(self) -> Node:
        """ZooKeeper, the KRaft controller, or the first combined node."""
        return next(iter(self.nodes.values()))

    @property
    def brokers(self) -> dict[int, Node]:
        """The brokers by id, in the order of starting."""
        return {node.id: node for name, node in self.nodes.items() if name.startswith("broker-")}

    def node(self, broker_id: int) -> Node:
        """The node with this broker (or controller) id; HarnessError if the cluster has none."""
        for node in self.members:
            if node.id == broker_id:
                return node
        raise HarnessError(
            f"the cluster has no node with id {broker_id}; it has {sorted(n.id for n in self.nodes.values())}"
        )

    @property
    def members(self) -> list[Node]:
        """All nodes but a second broker with the id of another."""
        return [node for name, node in self.nodes.items() if name != DOUBLE]

    def version_of(self, node: Node) -> Version:
        """What a node runs now."""
        return self.versions.get(node.name, self.version.first)

    def renew(self, node: Node, version: Version) -> None:
        """Make the container of a node that is stopped anew, as another version: its data, name and address stay. What
        it had printed is gone with the old one.

        Raises HarnessError with Docker's own words.
        """
        if self.composed is None:
            raise HarnessError(f"{node.name} cannot be made anew: its cluster was not made by Compose")
        variables = {**self.composed.variables, release_variable(node.id): version.build.tag}
        arguments = (*self.composed.arguments, "up", "--no-start", "--no-deps", "--no-build", "--pull", "never")
        status, _, said = _compose([*arguments, node.name], variables)
        if status != 0:
            raise HarnessError(f"docker compose could not make {node.name} anew: {said.strip()[-600:]}")
        self.composed = Composed(self.composed.arguments, variables)
        self.versions[node.name] = version
        node.container = _containers(self.client, self.run_id)[node.name]

    @property
    def bootstrap(self) -> str:
        """bootstrap.servers: every broker."""
        return ",".join(f"{node.address}:{KAFKA_PORT}" for node in self.brokers.values())

    @property
    def bootstrap_of_applications(self) -> str:
        """bootstrap.servers of applications of Kafka Streams and of workers of Kafka Connect."""
        return self.bootstrap if self.relays is None else self.relays.bootstrap

    @property
    def zookeeper(self) -> str:
        """zookeeper.connect as the host sees it."""
        return f"{self.coordinator.address}:2181"

    def require_disks(self, word: str) -> DiskMounter:
        """Who mounts and unmounts the disks; UsageError, for the word that needs them, if nodes have none."""
        if self.mounter is None:
            raise UsageError(f"{word}: the nodes have no file systems of their own; give the ClusterPlan disks=Disks()")
        return self.mounter

    def start(self, *nodes: Node) -> None:
        """Start these nodes' containers, all at once."""
        with ThreadPoolExecutor(max_workers=max(1, len(nodes))) as pool:
            list(pool.map(lambda node: node.container.start(), nodes))

    def wait_rendered(self) -> None:
        """Wait until the compose file is written; HarnessError or OSError if it could not be."""
        if self.rendering is not None:
            self.rendering.result()


def _address(container_name: str, prefix: str, plan: ClusterPlan) -> tuple[int, str]:
    if container_name == "zookeeper":
        return 0, f"{prefix}.10"
    if container_name == DOUBLE:
        return plan.double_of or 1, f"{prefix}.19"
    kind, _, number = container_name.partition("-")
    return int(number), f"{prefix}.{number if kind == 'controller' else 10 + int(number)}"


def second_listeners(plan: ClusterPlan, prefix: str, relays: Relays | None) -> dict[str, str]:
    """The settings that give brokers in this network a second listener, for applications behind relays."""
    found: dict[str, str] = {}
    for broker, port in (relays.ports if relays else {}).items():
        found |= listeners(broker, _address(f"broker-{broker}", prefix, plan)[1], port, KAFKA_PORT)
    return found


def create(
    client: DockerClient,
    *,
    version: Version,
    plan: ClusterPlan,
    settings: Mapping[str, str],
    run_id: str,
    data: Path,
    rendered: Path,
    relays: Relays | None = None,
) -> Cluster:
    """Create (not start) the containers of a cluster in a network of its own.

    `data` is the host directory under which every node keeps its files, `rendered` where the resolved compose file
    goes, `relays` what applications find its brokers behind. Raises HarnessError with Docker's own words if they cannot
    be created, UsageError if no address range is free.
    """
    file, wanted = compose_file(version, plan), services(version, plan)
    # The containers write as this user, so the directories must exist before Docker makes them as root.
    for service in wanted:
        (data / service).mkdir(parents=True, exist_ok=True)
    refusals: list[str] = []
    for prefix in free_prefixes_here(client):
        given = dict(settings) | second_listeners(plan, prefix, relays)
        variables = environment(version=version, plan=plan, settings=given, run_id=run_id, prefix=prefix, data=data)
        arguments = ["-p", run_id, "-f", str(file)]
        status, _, said = _compose([*arguments, "create", "--no-build", "--pull", "never", *wanted], variables)
        if status == 0:
            break
        engine.remove(engine.find_ours(client, run=run_id))
        refusals.append(f"{prefix}.0/24: {said.strip().splitlines()[-1] if said.strip() else '?'}")
        if not _is_clash(said):
            raise HarnessError(f"docker compose could not create the cluster: {said.strip()[-600:]}")
        if len(refusals) >= NETWORK_ATTEMPTS:
            raise UsageError(
                f"no address range for the cluster's network: {'; '.join(refusals)}; remove unused networks"
            )
    else:
        raise UsageError("every range of 172.20.0.0-172.30.255.0 is taken; remove unused Docker networks")

    def render() -> None:
        status, text, said = _compose([*arguments, "config", *wanted], variables)
        if status != 0:
            raise HarnessError(f"docker compose could not render the cluster's file: {said.strip()[-600:]}")
        rendered.write_text(text)

    pool = ThreadPoolExecutor(max_workers=1)
    cluster = Cluster(client, version, plan, run_id, prefix, data, rendering=pool.submit(render), relays=relays)
    pool.shutdown(wait=False)
    cluster.composed = Composed(tuple(arguments), variables)
    found = _containers(client, run_id)
    for service in wanted:
        if service not in found:
            raise HarnessError(f"docker compose made no container for {service}: only {sorted(found)}")
        number, address = _address(service, prefix, plan)
        cluster.nodes[service] = engine.Node(service, number, address, found[service])
        if number in plan.releases:
            cluster.versions[service] = versions.get(plan.releases[number])
    return cluster


def _containers(client: DockerClient, run_id: str) -> dict[str, Any]:
    """The containers of a run, by node."""
    found = client.containers.list(all=True, filters={"label": f"{engine.RUN_LABEL}={run_id}"})
    return {container.labels.get(engine.NODE_LABEL, ""): container for container in found}


def images_of(cluster: Cluster) -> dict[str, str]:
    """The image id of every node."""
    from docker.errors import NotFound

    images: dict[str, str] = {}
    for name, node in cluster.nodes.items():
        try:
            images[name] = str(node.container.attrs["Image"])
        except (KeyError, NotFound):
            images[name] = "?"
    return images


def releases_of(cluster: Cluster) -> dict[str, str]:
    """The release of Kafka in the image of every node, as far as the image's label says it."""
    labels = {name: node.container.labels.get(engine.KAFKA_LABEL) for name, node in cluster.nodes.items()}
    return {name: release for name, release in labels.items() if release}


Node = engine.Node
