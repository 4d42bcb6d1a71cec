"""What an administrator asks of the cluster: topics, settings, reassignments, elections; and waiting for them."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec import structs

from evidence.events import DeleteRecords, DeleteTopic, PlaceTopic, Reassign, RecordsDeleted
from harness.plan import TopicPlan
from harness.run.who import Partition, Target, Who

if TYPE_CHECKING:
    from harness.cluster.admin import Admin
    from harness.cluster.state import ClusterState
    from harness.run.parts import Parts
    from harness.run.sequence_log import SequenceLog
    from harness.run.waits import Waits

REASSIGN_LIMIT_S: Final = 120.0


class Administration:
    """Asks the cluster to change, in the way of its version."""

    def __init__(self, parts: Parts, who: Who, waits: Waits, sequence_log: SequenceLog) -> None:
        self._open_admin, self._record, self._timeline = parts.open_admin, parts.record, parts.timeline
        self._cluster, self._version, self._observer = parts.cluster, parts.version, parts.observer
        self._who, self._waits, self._sequence_log = who, waits, sequence_log
        self.topics = parts.topics
        """The scenario's topic, and those that it has made itself."""

    @cached_property
    def admin(self) -> Admin:
        """The cluster's administration."""
        return self._open_admin()

    def create_topic(self, plan: TopicPlan, *, without: Sequence[Target] = ()) -> None:
        """Create a topic and wait until its preferred leaders lead it and every replica is in sync, but for those on
        the brokers `without`, which are down.
        """
        with self._sequence_log.step("create topic", topic=plan.name):
            self.admin.create_topic(plan.name, plan.replicas, plan.settings)
        if plan not in self.topics:
            self.topics.append(plan)
            self._record.state_topics(self.topics)
        for number, brokers in enumerate(plan.replicas):
            t = Partition(plan.name, number)
            self._waits.wait_leader(t, self._who.broker(brokers[0]))
            down = {target.id for target in without}
            self._waits.wait_isr(t, [replica for replica in self._who.replicas_of(t) if replica.id not in down])

    def create_topic_anywhere(self, name: str, *, partitions: int, replication: int) -> None:
        """Create a topic whose replicas Kafka places itself, in the way of the version, and wait until all are in sync.
        Where they lie is in `topics` then.
        """
        with self._sequence_log.step(
            "create topic, placed by Kafka", topic=name, partitions=partitions, replication=replication
        ):
            by = self.admin.create_topic_anywhere(name, partitions, replication)
            numbers = [Partition(name, number) for number in range(partitions)]
            state = self._waits.wait_state(
                f"{name} has its replicas in sync",
                lambda state: all(
                    t in state.partitions and len(state.partitions[t].isr) == replication for t in numbers
                ),
            )
        self._timeline.append(PlaceTopic(topic=name, partitions=partitions, replication=replication, by=by))
        plan = TopicPlan(name=name, replicas=tuple(state.partitions[t].replicas or () for t in numbers))
        self.topics.append(plan)
        self._record.state_topics(self.topics)

    def delete_topic(self, name: str) -> None:
        """Ask for a topic to be deleted; does not wait for it (`wait_deleted`). It is none of `topics` from now on."""
        with self._sequence_log.step("delete topic", topic=name):
            self._forget(name)
            self._timeline.append(DeleteTopic(topic=name, by=self.admin.delete_topic(name)))

    def wait_forgotten(self, name: str) -> None:
        """Wait until the cluster states nothing of a topic that it had made. It is none of `topics` from now on."""
        self._waits.wait_state(f"{name} is forgotten", lambda state: all(t[0] != name for t in state.partitions))
        self._forget(name)

    def _forget(self, name: str) -> None:
        number = next(i for i, plan in enumerate(self.topics) if plan.name == name)
        del self.topics[number]
        self._record.state_topics(self.topics)

    def delete_records(self, t: Partition, before: int) -> None:
        """Delete the partition's records before an offset by request (0.11 and later), and wait until they are."""
        with self._sequence_log.step("delete records", partition=str(t), before=before):
            self._timeline.append(DeleteRecords(topic=t.topic, partition=t.number, before=before))
            low = self.admin.delete_records(*t, before)
            self._timeline.append(RecordsDeleted(topic=t.topic, partition=t.number, low_watermark=low))

    def withdraw_deletion(self, name: str) -> None:
        """ZooKeeper: take back that a topic is to be deleted, while every broker is down: a controller that runs would
        go on with it.
        """
        with self._sequence_log.step("withdraw the deletion", topic=name):
            self._timeline.append(DeleteTopic(topic=name, by=self.admin.withdraw_deletion(name), withdrawn=True))

    def set_broker_default(self, name: str, value: str) -> None:
        """Set a broker setting for all brokers while they run (1.1 and later), and wait until each goes by it."""
        with self._sequence_log.step("set for all brokers", setting=name, value=value):
            self._sequence_log.note(f"asked by {self.admin.set_broker_default(name, value)}")
        log_pattern = "override for entityPath: brokers/<default> with config|Updating cluster configuration"
        for node in self._cluster.brokers.values():
            told = rf"(?:{log_pattern}) ?: .*{re.escape(name)}\W+{re.escape(value)}\b"
            self._waits.wait_log_line(self._who.broker(node.id), told, f"{name}={value}, for all brokers")

    def set_topic(self, topic: str, name: str, value: str, *, told: Sequence[Target]) -> None:
        """Change a setting of a topic (0.10.1 and later), and wait until these brokers, which run, go by it."""
        with self._sequence_log.step("set for a topic", topic=topic, setting=name, value=value):
            self._sequence_log.note(f"asked by {self.admin.set_topic(topic, name, value)}")
        log_pattern = (
            rf"override for entityPath: topics/{topic} with config|Updating topic {topic} with new configuration"
        )
        for broker in told:
            told_of = rf"(?:{log_pattern}).*{re.escape(name)}\W+{re.escape(value)}\b"
            self._waits.wait_log_line(broker, told_of, f"{name}={value}, for {topic}")

    def reassign(self, t: Partition, targets: Sequence[Target]) -> None:
        """Ask for the partition's replicas to be on these brokers, the preferred leader first, in the way of the
        version. They are its `replicas_of` from now on; `wait_reassigned` waits for them.
        """
        replicas = tuple(target.id for target in targets)
        with self._sequence_log.step("ask for other replicas", partition=str(t), replicas=list(replicas)):
            number, plan = next((i, plan) for i, plan in enumerate(self.topics) if plan.name == t.topic)
            placed = (*plan.replicas[: t.number], replicas, *plan.replicas[t.number + 1 :])
            self.topics[number] = replace(plan, replicas=placed)
            self._record.state_topics(self.topics)
            begun_ns, wall_ns = time.monotonic_ns(), time.time_ns()  # what follows may be stated before the answer
            by = self.admin.reassign(*t, replicas)
            asked = Reassign(topic=t.topic, partition=t.number, replicas=replicas, by=by)
            self._timeline.append(structs.replace(asked, monotonic_ns=begun_ns, wall_ns=wall_ns))

    def wait_reassigned(self, t: Partition) -> None:
        """Wait until the partition's replicas are those last asked for, all in sync, and one of them leads."""
        wanted = self._who.assignment_of(t)

        def over(state: ClusterState) -> bool:
            seen = state.partitions[t]
            return seen.replicas == wanted and set(seen.isr) == set(wanted) and seen.leader in wanted

        self._waits.wait_state(
            f"{t} is on {list(wanted)}, in sync",
            over,
            REASSIGN_LIMIT_S,
            owed=lambda state: set(wanted) <= state.brokers,
        )

    def elect_preferred_leader(self, t: Partition) -> None:
        """Ask for the election of the partition's preferred leader, in the way of the version; does not wait for it."""
        with self._sequence_log.step("ask for the preferred leader", partition=str(t)):
            self._sequence_log.note(f"asked by {self.admin.elect_preferred_leader(*t)}")

    def remove_controller(self) -> None:
        """ZooKeeper: delete /controller while its owner's session lasts. Who lives elects another; a controller that
        stands still does not hear of it.
        """
        with self._sequence_log.step("delete /controller"):
            self.admin.remove_controller()

    def move_controller_away_from(self, *targets: Target) -> None:
        """ZooKeeper: see to it that none of these brokers is the controller, now that they may have become it."""
        if self._version.mode != "zookeeper":
            return
        avoid = {target.id for target in targets}
        # The last word on the controller may still be of one that is dead: wait for one that is registered.
        self._waits.wait_state("a live broker is the controller", lambda state: state.controller in state.brokers)
        if self._observer.state.controller in avoid:
            others = sorted(self._observer.state.brokers - avoid)
            with self._sequence_log.step("move the controller", to=others[0]):
                self.admin.place_controller(others[0])
