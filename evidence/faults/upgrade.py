"""Steps of an upgrade: a node is started as another release, brokers are started with a higher protocol or message
format, and a feature of the cluster is set to another level.

These are not faults, but each may silently not have happened, and then an old broker would count as a new one.
"""

from __future__ import annotations

from typing import ClassVar, Final

from msgspec import field

from evidence.engine import ContainerAction
from evidence.faults.base import FaultProof, Icon, Lasts, Mark, Witnesses
from evidence.faults.process import EndProof, ExitProof, StartProof

SHA256_DIGITS: Final = 64
ARROW = Icon(0, 3.2, "v-6m-2.6 2.6l2.6 -2.6l2.6 2.6")


class UpgradeProof(StartProof, frozen=True, kw_only=True, tag="upgrade"):
    """As for a start. The broker's jar, as the process's command line in /proc names it, has the digest of that
    release's jar. The process itself answers a request (ApiVersions) with its protocol versions.
    """

    mark: ClassVar = Mark(verb="upgrade", icon=ARROW, colour="start")

    before: str
    """The version that the node ran until then, such as "0.10.2.2"."""
    after: str
    """The version that it runs from then on; an older one, of a downgrade."""
    release: str
    """The release of Kafka in that."""
    jar: str
    """The name of the jar's file."""
    sha256: str
    """Of that jar, where the process has it."""
    apis: int
    """How many kinds of requests the process says it takes."""
    fetch: int
    """The highest version of a fetch among them."""

    def missing(self) -> str | None:
        if not self.before or self.before == self.after or not self.after.startswith(self.release):
            return "its proof does not show a node that ran another version before, and this one then"
        if not self.release or not self.jar or len(self.sha256) != SHA256_DIGITS:
            return f"its proof does not show a process that was started with the jars of {self.release or 'a release'}"
        if self.apis <= 0 or self.fetch < 0:
            return "its proof does not show a process that says which requests it takes"
        return super().missing()

    def text(self) -> str:
        return f"process {self.pid} has {self.jar} and takes fetches up to version {self.fetch}"


class RefusedProof(ExitProof, frozen=True, kw_only=True, tag="refused"):
    """A node was started as another release, and has exited, as its scenario expects: as for an exit, with the line
    that has the reason. The broker's jar in its container has the digest of that release's jar.
    """

    explains: ClassVar[tuple[ContainerAction, ...]] = ("start",)
    mark: ClassVar = Mark(verb="refused", icon=ARROW)

    before: str
    """The version that the node ran until then."""
    after: str
    """The version that it was started as."""
    release: str
    jar: str
    sha256: str
    """Of that jar, in the container of the node."""

    def missing(self) -> str | None:
        if not self.before or self.before == self.after or not self.after.startswith(self.release) or not self.line:
            return "its proof does not show a node that ran another version before, and says why it ended"
        if not self.release or not self.jar or len(self.sha256) != SHA256_DIGITS:
            return f"its proof does not show a node with the jars of {self.release or 'a release'}"
        return super().missing()

    def contradicted(self, witnesses: Witnesses) -> str | None:
        # Why it ended is told by an exception, in words of many kinds, of which the telling lines have few.
        return EndProof.contradicted(self, witnesses)

    def text(self) -> str:
        return f"as {self.after} ({self.jar}) it ended with {self.exit_code}: {self.line.strip()[:160]}"


class RaiseProof(StartProof, frozen=True, kw_only=True, tag="raise"):
    """A broker was started with a higher inter.broker.protocol.version or log.message.format.version: as for a start
    with other settings, and the process itself has logged these settings.
    """

    mark: ClassVar = Mark(verb="raise", icon=ARROW, colour="start")

    logged: tuple[str, ...] = field(name="says")  # the name that it has in timelines
    """The lines in which the process tells of these settings, since it was started."""

    def missing(self) -> str | None:
        told = [line.strip() for line in self.logged]
        if not self.settings or [f"{name} = {value}" for name, value in self.settings.items()] != told:
            return "its proof does not show a process that says it goes by the settings"
        return super().missing()

    def text(self) -> str:
        return f"process {self.pid} says {', '.join(line.strip() for line in self.logged)}"


class FinalizeProof(FaultProof, frozen=True, kw_only=True, tag="finalize"):
    """A feature of a KRaft cluster has another level. The metadata log on the controllers' disks has a record of it,
    and every running node answers a request (ApiVersions) with that level.
    """

    lasts: ClassVar = Lasts.AT_ONCE
    strikes: ClassVar = False
    mark: ClassVar = Mark(verb="finalize", icon=ARROW, colour="start")

    feature: str
    """Such as "metadata.version"."""
    before: int
    """The level that it had; 0 for none."""
    level: int
    offset: int
    """Of the record in the metadata log."""
    nodes: tuple[str, ...]
    """Those that answered with the level."""

    def missing(self) -> str | None:
        if not self.feature or self.before == self.level or self.offset < 0:
            return "its proof does not show a record of another level in the metadata log"
        return None if self.nodes else "its proof does not show a node that goes by the level"

    def contradicted(self, witnesses: Witnesses) -> str | None:
        return None if witnesses.node in self.nodes else f"{witnesses.node} did not say that it goes by the level"

    def text(self) -> str:
        return f"{self.feature} {self.before} to {self.level}, offset {self.offset} of the metadata log"
