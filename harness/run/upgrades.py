"""Upgrades, as Kafka's documentation describes them, while clients work: one node after the other as the new release,
then the protocol, then the message format (ZooKeeper), or the features of the cluster (KRaft).

With ZooKeeper both are settings of each broker, which is started anew for them. `ClusterPlan.upgrades` has brokers
begin with those of their own release set, so a new binary speaks as the old one did until it is told otherwise. With
KRaft the levels of features are in the metadata log, and one request sets them for all at once.

A node that becomes another release has a new container, with the data, the name and the address of the old one: what a
person does with the Compose files (`KAFKA_VERSION_1=… docker compose up -d broker-1`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from evidence.borders import CONTROLLERS_TELL_LEVELS, IGNORES_FORMATS
from evidence.errors import HarnessError, UsageError, WaitTimeout
from evidence.events import Software
from evidence.releases import line_of, numbers
from harness.cluster.cluster import KAFKA_PORT, further_versions, next_version
from harness.cluster.requests import NOT_CONTROLLER, RequestRefused, update_feature
from harness.cluster.versions import FORMAT, PROTOCOL, follows
from harness.faults.upgrade import CONTROLLERS, Finalize, Raise, RefusedStart, Upgrade, speaks
from harness.polling import poll
from harness.run.waits import wait_whole
from harness.setup import builds

if TYPE_CHECKING:
    from harness.cluster.docker import Node
    from harness.cluster.versions import Version
    from harness.run.nemesis import Nemesis
    from harness.run.parts import Parts
    from harness.run.sequence_log import SequenceLog
    from harness.run.waits import Waits
    from harness.run.who import Target, Who

LOADED_LIMIT_S: Final = 90.0
POLL_S: Final = 0.2
REQUEST_S: Final = 10.0
REQUEST_LIMIT_S: Final = 60.0


def refuse(before: Version, after: Version, *, older: bool) -> None:
    """Raise UsageError, in a line, for a release that a node cannot become: one of another way to keep the metadata,
    and one that is not newer (or, with `older`, not older) than its own.
    """
    if before.mode != after.mode:
        raise UsageError(
            f"a node of {before.id} cannot become {after.id}: one has ZooKeeper, the other KRaft; a cluster is "
            "migrated on 3.4 to 3.9 (run.migrate_to_kraft), and 4.0 has no ZooKeeper"
        )
    if older and not follows(before, after):
        raise UsageError(f"a node of {before.id} is not downgraded by {after.id}: name an older release")
    if not older and not follows(after, before):
        raise UsageError(
            f"a node of {before.id} is not upgraded by {after.id}: name a newer release (run.downgrade goes back)"
        )


class Upgrader:
    """Upgrades nodes, and what they speak."""

    def __init__(self, parts: Parts, nemesis: Nemesis, waits: Waits, who: Who, sequence_log: SequenceLog) -> None:
        self._cluster, self._observer, self._events = parts.cluster, parts.observer, parts.events
        self._topics = parts.topics
        self._run_dir, self._record, self._timeline = parts.run_dir, parts.record, parts.timeline
        self._nemesis, self._waits, self._who, self._sequence_log = nemesis, waits, who, sequence_log

    @property
    def next_version(self) -> Version:
        """The version that this run's nodes are upgraded to: the user's, or the plan's. Raises UsageError if none is
        named.
        """
        found = next_version(self._cluster.version, self._cluster.plan)
        if found is None:
            run = self._cluster.version.id
            raise UsageError(f"nothing says what {run} is upgraded to; give the ClusterPlan upgrades={{{run!r}: …}}")
        return found

    def version_of(self, target: Target) -> Version:
        """The version that a node runs now."""
        return self._cluster.version_of(target.node)

    def upgrade(self, target: Target, version: Version | None = None) -> None:
        """Stop a node cleanly, if it runs, and start it as another release, the run's next one, on the same disks;
        proved by the jar of its process and by what it says that it speaks. Waits until a broker is registered.

        Raises UsageError for a release that it cannot be upgraded to.
        """
        self._go_on_as(target, version or self.next_version, older=False)

    def downgrade(self, target: Target, version: Version | None = None, *, refused: str = "") -> None:
        """The same with an older release, the run's own: what Kafka allows as long as nothing was raised.

        With `refused`, a pattern of the line in which it says why, the node exits instead, proved by that exit: it is
        down, and goes on as another release (`upgrade`).
        """
        self._go_on_as(target, version or self._cluster.version.first, older=True, refused=refused)

    def _go_on_as(self, target: Target, version: Version, *, older: bool, refused: str = "") -> None:
        node, broker = target.node, target.node in self._cluster.brokers.values()
        before = self.version_of(target)
        if not broker and not node.name.startswith(CONTROLLERS):
            raise UsageError(f"{node.name} is no broker and no controller: it is not upgraded")
        refuse(before, version, older=older)
        self._require_image(version)
        with self._sequence_log.step("downgrade" if older else "upgrade", node=node.name, to=version.id):
            if node.state()["Running"]:
                self._nemesis.stop(target)
            if broker:
                self._waits.wait_unregistered(target)
            digests = builds.digests(version.build)
            self._keep(target, before, version, digests)
            if refused:
                self._nemesis.prove(
                    RefusedStart(
                        node,
                        self._events,
                        log_pattern=refused,
                        cluster=self._cluster,
                        version=version,
                        digests=digests,
                        run_dir=self._run_dir,
                    ),
                    target,
                )
                return
            done = Upgrade(
                node, self._events, cluster=self._cluster, version=version, digests=digests, run_dir=self._run_dir
            )
            self._nemesis.prove(done, target)
            if broker:
                self._waits.wait_registered([target])
            else:
                self._wait_loaded(target)

    def _wait_loaded(self, target: Target) -> None:
        """Wait until a KRaft controller knows the cluster's features: it has read the metadata log. One before 3.6 does
        not tell them; then it is enough that it answers.
        """
        tells = self._tells_levels(target.node)

        def loaded() -> bool:
            offer = speaks(target.node)
            return offer is not None and (bool(offer.features) or not tells)

        if not poll(loaded, LOADED_LIMIT_S, every_s=POLL_S):
            raise WaitTimeout(f"{target.node.name} knows nothing of the metadata log after {LOADED_LIMIT_S:.0f} s")

    def _require_image(self, version: Version) -> None:
        run = self._cluster.version
        ready = {run.build, *(one.build for one in further_versions(run, self._cluster.plan))}
        if version.build not in ready:
            raise UsageError(
                f"the image of {version.id} is not made ready: give the ClusterPlan "
                f"upgrades={{{run.id!r}: {version.id!r}}}"
            )

    def _keep(self, target: Target, before: Version, after: Version, digests: Mapping[str, str]) -> None:
        """Put on record what a node is about to run."""
        run, name = self._record.run, target.node.name
        ran = run.releases.get(name, (before.kafka,))
        further = {} if after.build == self._cluster.version.build else {after.build.name: digests}
        self._record.change(
            releases={**run.releases, name: (*ran, after.kafka)}, further_jars={**run.further_jars, **further}
        )
        self._timeline.append(Software(source="docker", node=name, version=after.kafka))

    def raise_protocol(self, *targets: Target, to: str = "") -> None:
        """ZooKeeper: start brokers, or all one after the other, with the inter.broker.protocol.version of the plan's
        next release, or `to`; proved by their properties and by what each says it goes by. Waits after each until every
        replica is in sync.
        """
        self._raise(PROTOCOL, to, targets)

    def raise_format(self, *targets: Target, to: str = "") -> None:
        """The same with log.message.format.version, which brokers have up to protocol 2.8."""
        if not to and self.next_version.release >= IGNORES_FORMATS.release:
            raise UsageError(f"raise_format: {self.next_version.id} looks at no {FORMAT} (KIP-724)")
        self._raise(FORMAT, to, targets)

    def _raise(self, setting: str, to: str, targets: Sequence[Target]) -> None:
        if self._cluster.version.mode != "zookeeper":
            raise UsageError(f"{setting} is a setting of brokers with ZooKeeper; with KRaft use run.finalize")
        value = to or ".".join(map(str, line_of(self.next_version.release)))
        chosen = targets or [self._who.broker(number) for number in reversed(self._cluster.brokers)]
        for target in chosen:
            if line_of(self.version_of(target).release) < numbers(value):
                raise UsageError(
                    f"{target.node.name} runs {self.version_of(target).id}, which has no {setting}={value}"
                )
        with self._sequence_log.step(f"set {setting}", value=value, nodes=[one.node.name for one in chosen]):
            for target in chosen:
                self._nemesis.restart_with(target, {setting: value}, Raise)
                wait_whole(self._waits, self._who, self._topics)

    def finalize(self, feature: str, level: int | None = None) -> None:
        """KRaft: set a feature of the cluster, such as "metadata.version", to a level, or to the highest that every
        node which runs supports; proved by the record in the metadata log and by what every node says that it goes by.

        Raises UsageError with ZooKeeper, for a feature that no node supports, and in Kafka's words for a level that it
        refuses.
        """
        if self._cluster.version.mode != "kraft":
            raise UsageError(f"finalize: {feature} is a feature of KRaft; with ZooKeeper use run.raise_protocol")
        highest = self.supported(feature)
        if highest == 0:
            raise UsageError(f"finalize: no level of {feature} is supported by every node that runs")
        wanted = highest if level is None else level
        if wanted == self.level_of(feature):
            raise UsageError(f"finalize: {feature} is {wanted} already")
        node = next(one for one in self._cluster.brokers.values() if one.state()["Running"])

        def ask() -> bool:
            """Whether it was taken; one that reached no controller is asked again."""
            try:
                update_feature((node.address, KAFKA_PORT), feature, wanted, timeout_s=REQUEST_S)
            except OSError:
                return False
            except RequestRefused as error:
                if error.code == NOT_CONTROLLER:
                    return False
                raise UsageError(f"finalize: Kafka refuses {feature}={wanted}: {error}") from None
            return True

        done = Finalize(
            node=node,
            feature=feature,
            level=wanted,
            ask=lambda: poll(ask, REQUEST_LIMIT_S, every_s=POLL_S),
            members=self._telling(),
            observer=self._observer,
        )
        with self._sequence_log.step("finalize", feature=feature, level=wanted):
            self._nemesis.prove(done, self._who.node(node.name))

    def level_of(self, feature: str) -> int:
        """KRaft: the level that a feature has, as the first node says that answers and tells; 0 for none."""
        offer = next(filter(None, map(speaks, self._telling().values())), None)
        return offer.features.get(feature, 0) if offer else 0

    def supported(self, feature: str) -> int:
        """KRaft: the highest level of a feature that every node which runs supports. HarnessError if one of them says
        nothing.
        """
        levels = []
        for name, node in self._members().items():
            offer = speaks(node)
            if offer is None:
                raise HarnessError(f"{name} does not say which features it supports")
            levels.append(offer.supported.get(feature, 0))
        return min(levels)

    def _telling(self) -> dict[str, Node]:
        """Those that say to which levels features are set."""
        return {name: node for name, node in self._members().items() if self._tells_levels(node)}

    def _tells_levels(self, node: Node) -> bool:
        if not node.name.startswith(CONTROLLERS):
            return True
        return self._cluster.version_of(node).release >= CONTROLLERS_TELL_LEVELS.release

    def _members(self) -> dict[str, Node]:
        return {name: node for name, node in self._cluster.nodes.items() if node.state()["Running"]}
