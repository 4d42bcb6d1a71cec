"""From ZooKeeper to KRaft (KIP-866, Kafka 3.4 to 3.9), in the steps of its documentation, while clients work.

A KRaft controller is started that knows of ZooKeeper. Each broker is stopped and started again with settings that have
it register with that controller too, one after the other. When all have that are registered in ZooKeeper or hold a
replica, the controller makes itself the cluster's and copies ZooKeeper's metadata into its own log. From then on it
writes what it decides to both. Brokers keep their registrations in ZooKeeper meanwhile, so the observer of ZooKeeper
sees the cluster all along. That is where this ends: brokers stay as they are, and can go back (`revert_migration`).

The last broker to be stopped is the one that holds no replica, if there is one (`ClusterPlan.controller`): as soon as
it is down the controller may take over. Where replicas return to their ISRs at that moment, what a leader asked for may
be lost with its connection to the old controller, and that leader changes none of its ISRs any more (seen on 3.9.2:
"Failed to alter partition", twice a second).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evidence.errors import UsageError
from harness.cluster.cluster import CONTROLLER_ID, PROPERTIES, voters
from harness.faults.migration import SWITCH, Revert
from harness.faults.migration import Migration as Proved
from harness.run.waits import wait_whole

if TYPE_CHECKING:
    from harness.run.nemesis import Nemesis
    from harness.run.parts import Parts
    from harness.run.sequence_log import SequenceLog
    from harness.run.waits import Waits
    from harness.run.who import Target, Who

WITHOUT: Final = {SWITCH: "false", "controller.quorum.voters": "", "controller.listener.names": ""}
"""A broker that does not migrate: each has its default."""


class Migrator:
    """Migrates the cluster, step by step or as a whole."""

    def __init__(self, parts: Parts, nemesis: Nemesis, waits: Waits, who: Who, sequence_log: SequenceLog) -> None:
        self._cluster, self._observer, self._topics = parts.cluster, parts.observer, parts.topics
        self._open_admin = parts.open_admin
        self._nemesis, self._waits, self._who, self._sequence_log = nemesis, waits, who, sequence_log

    def start_kraft_controller(self) -> Target:
        """Start the plan's KRaft controller, which waits for brokers to register with it, and return it.

        Raises UsageError for a cluster that has none (`ClusterPlan.migrates`).
        """
        if not self._cluster.plan.migrates or self._cluster.version.mode != "zookeeper":
            raise UsageError(
                "migrate_to_kraft: there is no controller to migrate to; give the ClusterPlan migrates=True"
            )
        controller = self._who.broker(CONTROLLER_ID, "the controller to migrate to")
        self._nemesis.start(controller)
        return controller

    def enter_migration(self, *targets: Target) -> None:
        """Stop brokers cleanly and start them again as such that migrate, one after the other: they register with the
        KRaft controller too. Waits after each until every replica is in sync.
        """
        plan = self._cluster.plan
        settings = {
            SWITCH: "true",
            "controller.quorum.voters": voters(self._cluster.prefix, plan),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "broker.heartbeat.interval.ms": str(max(plan.session_timeout_ms // 8, 100)),
        }
        for target in targets:
            self._nemesis.restart_with(target, settings)
            wait_whole(self._waits, self._who, self._topics)

    def wait_migrated(self, controller: Target) -> None:
        """Prove that this KRaft controller has the metadata and is the controller; wait until every replica is in
        sync.
        """
        data = self._cluster.data
        properties = {node.name: data / node.name / PROPERTIES for node in self._cluster.brokers.values()}
        self._nemesis.prove(Proved(node=controller.node, brokers=properties, observer=self._observer), controller)
        wait_whole(self._waits, self._who, self._topics)

    def migrate_to_kraft(self) -> Target:
        """Migrate the metadata from ZooKeeper to the plan's KRaft controller, and return it: it is the controller then,
        as the proof has it, and every replica is in sync. Brokers register with both from now on.

        Raises UsageError for a cluster that has none (`ClusterPlan.migrates`).
        """
        controller = self.start_kraft_controller()
        with self._sequence_log.step("migrate to KRaft", controller=controller.node.name):
            self.enter_migration(*(self._who.broker(number) for number in reversed(self._cluster.brokers)))
            self.wait_migrated(controller)
        return controller

    def revert_migration(self) -> None:
        """Go back to ZooKeeper, as Kafka's documentation has it (Reverting to ZooKeeper mode during the migration): the
        KRaft controller is stopped for good, what it wrote of itself is deleted, and each broker is started again
        without the settings of a migration. Waits after each until every replica is in sync.
        """
        controller = self._who.broker(CONTROLLER_ID, "the controller that was migrated to")
        with self._sequence_log.step("revert the migration", controller=controller.node.name):
            self._nemesis.stop(controller)
            self._cluster.retired.add(controller.node.name)
            self._nemesis.prove(
                Revert(node=controller.node, forget=self._open_admin().forget_migration, observer=self._observer),
                controller,
            )
            for number in reversed(self._cluster.brokers):
                self._nemesis.restart_with(self._who.broker(number), WITHOUT)
                wait_whole(self._waits, self._who, self._topics)
