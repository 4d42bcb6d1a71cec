"""Steps of an upgrade: a node is started as another release; brokers are started with a higher protocol or message
format; a feature of a KRaft cluster is set to another level.

None is a fault, but like one each may silently not have happened. The process itself proves another release. The jar of
the broker on its command line (/proc/<pid>/cmdline, as the host's kernel has it) has, where the process has it, the
digest that the release's lock states. The process also answers a request for what it speaks (ApiVersions). Proof of a
raised setting: the properties that the node wrote, and the line in which the process tells what it goes by. Proof of a
feature's level: the record in the metadata log on the controllers' disks, and every node's own answer.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from evidence.errors import FaultUnproved, HarnessError, WaitTimeout
from evidence.faults.upgrade import FinalizeProof, RaiseProof, RefusedProof, UpgradeProof
from harness.cluster.cluster import CONTROLLER_PORT, KAFKA_PORT
from harness.cluster.requests import FETCH, api_versions
from harness.faults.process import Exit, Start, StartWith
from harness.observers import broker_logs
from harness.polling import poll
from kafkafiles.api_versions import Offer

if TYPE_CHECKING:
    from docker.models.containers import Container

    from evidence.rundir import RunDir
    from harness.cluster.cluster import Cluster
    from harness.cluster.docker import Node
    from harness.cluster.state import ClusterObserver, ClusterState
    from harness.cluster.versions import Version

ANSWER_LIMIT_S: Final = 90.0
SAID_LIMIT_S: Final = 60.0
ASKED_S: Final = 5.0
POLL_S: Final = 0.2
BROKER_JAR: Final = re.compile(r"kafka_\d+\.\d+(?:\.\d+)?-[^/]*\.jar")
"""The name of the jar that has the broker, whatever its release and its Scala."""
LIBRARIES: Final = "/opt/kafka/libs"
EXCEPTION: Final = re.compile(r"\b[\w.$]+(?:Exception|Error): ")
CONTROLLERS: Final = "controller-"


def broker_jar(command_line: str) -> str | None:
    r"""The path of the broker's jar on a command line whose arguments are separated by NUL; None if there is none.

    >>> broker_jar("java\0-cp\0/libs/kafka-clients-1.1.1.jar:/libs/kafka_2.11-1.1.1.jar\0kafka.Kafka")
    '/libs/kafka_2.11-1.1.1.jar'
    """
    paths = (path for argument in command_line.split("\0") for path in argument.split(":"))
    return next((path for path in paths if BROKER_JAR.fullmatch(path.rpartition("/")[2])), None)


def why_ended(said: str) -> str:
    r"""The line by which a process that ended says why: the last exception that is no cause of another, or the last
    line.

    >>> why_ended("INFO x\njava.lang.IllegalArgumentException: No MetadataVersion\n\tat a.B\nCaused by: c.D: e\n")
    'java.lang.IllegalArgumentException: No MetadataVersion'
    >>> why_ended("INFO x\nINFO shut down\n"), why_ended("")
    ('INFO shut down', 'it said nothing')
    """
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    named = [line for line in lines if EXCEPTION.search(line) and not line.startswith(("at ", "Caused by:"))]
    return (named or lines or ["it said nothing"])[-1]


def speaks(node: Node) -> Offer | None:
    """What a node says that it speaks; None while it says nothing."""
    port = CONTROLLER_PORT if node.name.startswith(CONTROLLERS) else KAFKA_PORT
    try:
        return api_versions((node.address, port), timeout_s=ASKED_S)
    except (OSError, HarnessError):
        return None


def renew(node: Node, cluster: Cluster, version: Version, run_dir: RunDir) -> str:
    """Make the container of a node that is down anew, with another release, on the same disks and address; what the
    old one had printed is kept. Returns the version that the node was.
    """
    before = cluster.version_of(node).id
    broker_logs.collect({node.name: node.container}, run_dir)
    cluster.renew(node, version)
    return before


@dataclass(slots=True, kw_only=True)
class Upgrade(Start):
    """A node that is down is started as another release, on the same disks and address."""

    cluster: Cluster
    version: Version
    digests: Mapping[str, str]
    """SHA-256 of each of its jars, as its lock states them."""
    run_dir: RunDir
    """Which keeps what the node had printed: its container is made anew."""
    _before: str = field(default="", init=False)
    proof_type: ClassVar = UpgradeProof

    @property
    def description(self) -> str:
        return f"start of {self.node.name} as {self.version.id}"

    def inject(self) -> None:
        self._before = renew(self.node, self.cluster, self.version, self.run_dir)
        Start.inject(self)

    def verify(self) -> UpgradeProof:
        pid, time_nano = self._started()
        path = poll(lambda: broker_jar(_command_line(pid)), ANSWER_LIMIT_S, every_s=POLL_S, watch=self._watch)
        if path is None:
            raise FaultUnproved(f"{self.node.name}: no jar of a broker is on the command line of its process {pid}")
        name = path.rpartition("/")[2]
        digest = poll(lambda: self._checksum(path), ANSWER_LIMIT_S, every_s=POLL_S, watch=self._watch)
        if digest is None:
            raise FaultUnproved(f"{self.node.name} does not say the checksum of {path}")
        if digest not in self.digests.values():
            raise FaultUnproved(
                f"{self.node.name} runs {name} ({digest[:12]}…), which is not one of {self.version.kafka}"
            )
        offer = poll(lambda: speaks(self.node), ANSWER_LIMIT_S, every_s=POLL_S, watch=self._watch)
        if offer is None:
            raise FaultUnproved(f"{self.node.name} does not say what it speaks; it said:\n{self.node.last_lines()}")
        return UpgradeProof(
            pid=pid,
            time_nano=time_nano,
            before=self._before,
            after=self.version.id,
            release=self.version.kafka,
            jar=name,
            sha256=digest,
            apis=len(offer.apis),
            fetch=offer.apis.get(FETCH, -1),
        )

    def _checksum(self, path: str) -> str | None:
        """None if the engine hands out no answer: one did so once, on a machine that stood still, with status 0."""
        return self.node.run_inside("sha256sum", path).partition(" ")[0].strip() or None

    def _watch(self) -> None:
        if not self.node.state()["Running"]:
            why = why_ended(self.node.said())
            raise FaultUnproved(f"{self.node.name}, which was {self._before}, exited as {self.version.id}: {why}")


@dataclass(slots=True, kw_only=True)
class RefusedStart(Exit):
    """A node that is down is started as a release that does not run here any more, and exits."""

    cluster: Cluster
    version: Version
    digests: Mapping[str, str]
    """SHA-256 of each of its jars, as its lock states them."""
    run_dir: RunDir
    _before: str = field(default="", init=False)
    proof_type: ClassVar = RefusedProof

    @property
    def description(self) -> str:
        return f"start of {self.node.name} as {self.version.id}, which exits"

    def inject(self) -> None:
        self._begin()
        self._before = renew(self.node, self.cluster, self.version, self.run_dir)
        self.node.container.start()

    def verify(self) -> RefusedProof:
        ended = Exit.verify(self)
        jar, digest = jar_in(self.node.container)
        if digest not in self.digests.values():
            raise FaultUnproved(
                f"{self.node.name} has {jar} ({digest[:12]}…), which is not one of {self.version.kafka}"
            )
        return RefusedProof(
            exit_code=ended.exit_code,
            time_nano=ended.time_nano,
            line=ended.line,
            before=self._before,
            after=self.version.id,
            release=self.version.kafka,
            jar=jar,
            sha256=digest,
        )


def jar_in(container: Container) -> tuple[str, str]:
    """The name and SHA-256 of the broker's jar in a container, whether it runs or not. Raises FaultUnproved if it has
    none.
    """
    pieces, _ = container.get_archive(LIBRARIES)
    with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as tar:
        for member in tar:
            name = member.name.rpartition("/")[2]
            file = tar.extractfile(member) if BROKER_JAR.fullmatch(name) else None
            if file is not None:
                return name, hashlib.sha256(file.read()).hexdigest()
    raise FaultUnproved(f"{container.name} has no jar of a broker in {LIBRARIES}")


def _command_line(pid: int) -> str:
    """The arguments of a process, separated by NUL; empty for one that is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


@dataclass(slots=True, kw_only=True)
class Raise(StartWith):
    """A broker is started with a higher protocol or message format over the one that it had."""

    proof_type: ClassVar = RaiseProof

    def verify(self) -> RaiseProof:
        started = StartWith.verify(self)
        wanted = [f"{name} = {value}" for name, value in self.settings.items()]

        def said() -> list[str]:
            lines = {line.strip() for line in self.node.said().splitlines()}
            return [line for line in wanted if line in lines]

        told = poll(said, SAID_LIMIT_S, every_s=POLL_S, until=lambda lines: len(lines) == len(wanted))
        return RaiseProof(pid=started.pid, time_nano=started.time_nano, settings=started.settings, logged=tuple(told))


@dataclass(slots=True, kw_only=True)
class Finalize:
    """A feature of a KRaft cluster is set to a level, by request."""

    node: Node
    """Who is asked."""
    feature: str
    level: int
    ask: Callable[[], object]
    members: Mapping[str, Node]
    """Every node that runs and says to which levels features are set."""
    observer: ClusterObserver
    _before: int = field(default=0, init=False)
    proof_type: ClassVar = FinalizeProof
    timeout_s: float = ANSWER_LIMIT_S

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.node,)

    @property
    def description(self) -> str:
        return f"{self.feature} is set to {self.level}"

    def inject(self) -> None:
        offer = next(filter(None, map(speaks, self.members.values())), None)
        self._before = offer.features.get(self.feature, 0) if offer else 0
        self.ask()

    def verify(self) -> FinalizeProof:
        what = f"the metadata log has {self.feature} {self.level}"
        try:
            state = self.observer.wait(self._recorded, what=what, timeout_s=self.timeout_s)
        except WaitTimeout as error:
            raise FaultUnproved(str(error)) from None

        def behind() -> list[str]:
            offers = {name: speaks(node) for name, node in self.members.items()}
            return [n for n, one in offers.items() if one is None or one.features.get(self.feature, 0) != self.level]

        if left := poll(behind, self.timeout_s, every_s=POLL_S, until=lambda names: not names):
            raise FaultUnproved(f"{', '.join(left)} do not say that {self.feature} is {self.level}")
        return FinalizeProof(
            feature=self.feature,
            before=self._before,
            level=self.level,
            offset=state.features[self.feature][1],
            nodes=tuple(sorted(self.members)),
        )

    def _recorded(self, state: ClusterState) -> bool:
        return state.features.get(self.feature, (0, -1))[0] == self.level

    def heal(self) -> None:
        """Nothing to undo."""
