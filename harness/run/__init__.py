"""One run as its scenario sees it: who is who, what to do to whom, what to wait for.

Steps name roles ("the leader of t-0"), never brokers; a role is resolved when the step runs and both are recorded.
Each word is one sentence of a scenario: it writes a step to the timeline, does one thing, and either proves it
(faults), waits for its condition with a limit (waits), or records what came of it (sends). The words come from one
module for each noun:

    account   steps, notes, and preconditions: what the timeline says of the sequence itself
    who       roles and what the cluster states of them
    clients   producers, loads, consumers, transactions, pipelines
    groups    what consumer groups have committed
    ends      how far a partition may be read
    waits     until the cluster states something, or a node has logged it
    disks     what lies on the brokers' disks, and copies of it
    nemesis   faults, and starting again what they struck
    migration from ZooKeeper to KRaft

`Run` puts them together and offers their words as its own.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Final

from msgspec import structs

from evidence.events import DeleteRecords, DeleteTopic, PlaceTopic, Reassign, RecordsDeleted
from harness.plan import TopicPlan
from harness.run.account import Account, PreconditionNotHeld
from harness.run.clients import NO_SETTINGS, Clients
from harness.run.disks import Disks
from harness.run.ends import Ends
from harness.run.groups import Groups
from harness.run.migration import Migration
from harness.run.nemesis import Nemesis
from harness.run.parts import Parts
from harness.run.waits import START_LIMIT_S, Waits
from harness.run.who import OFFSETS, Partition, Target, Who

if TYPE_CHECKING:
    from harness.cluster.admin import Admin
    from harness.cluster.state import ClusterState
    from harness.workloads.handles.transactions import Pipeline

__all__ = ["OFFSETS", "START_LIMIT_S", "Partition", "Parts", "PreconditionNotHeld", "Run", "Target"]

REASSIGN_LIMIT_S: Final = 120.0


class Run:
    """The running cluster, its witnesses and clients, in the words of a scenario."""

    def __init__(self, parts: Parts) -> None:
        self._open_admin, self._facts = parts.open_admin, parts.facts
        self._random = Random(parts.facts["seed"])
        self.version, self.topic = parts.version, parts.topics[0]
        self.case, self.given = parts.case, parts.given
        """The case of the scenario that is run: its acks, its client's settings, its variant."""
        self.cluster, self.observer, self.timeline = parts.cluster, parts.observer, parts.timeline
        self.topics = parts.topics
        """The scenario's topic, and those that it has made itself."""

        self.account = account = Account(parts.timeline)
        self.step, self.note, self.require = account.step, account.note, account.require

        who = Who(self.topics, parts.cluster, parts.observer)
        self.partition, self.assignment_of, self.state_of = who.partition, who.assignment_of, who.state_of
        self.leader_of, self.followers_of, self.replicas_of = who.leader_of, who.followers_of, who.replicas_of
        self.in_isr, self.broker, self.controller = who.in_isr, who.broker, who.controller
        self.coordinator, self.without = who.coordinator, who.without
        self.node = who.node

        waits = Waits(parts.observer, who, account, alters_by_request=parts.version.uses_alter_partition)
        self.wait_state, self.wait_log_line = waits.wait_state, waits.wait_log_line
        self.wait_end_of_epoch = waits.wait_end_of_epoch
        self.wait_leader, self.wait_no_leader, self.wait_isr = waits.wait_leader, waits.wait_no_leader, waits.wait_isr
        self.wait_controller, self.wait_controller_other_than = waits.wait_controller, waits.wait_controller_other_than
        self.wait_isr_announced = waits.wait_isr_announced
        self.wait_leader_knows_isr = waits.wait_leader_knows_isr
        self.wait_leader_goes_by, self.wait_log_lines = waits.wait_leader_goes_by, waits.wait_log_lines
        self.wait_registered, self.wait_unregistered = waits.wait_registered, waits.wait_unregistered

        disks = Disks(parts, account)
        self.log_end_and_high_watermark, self.epochs_of = disks.log_end_and_high_watermark, disks.epochs_of
        self.wait_files, self.wait_log_end, self.wait_quiet = disks.wait_files, disks.wait_log_end, disks.wait_quiet
        self.wait_deleted, self.wait_log_start = disks.wait_deleted, disks.wait_log_start
        self.checkpointed_log_start = disks.checkpointed_log_start
        self.wait_log_start_checkpointed = disks.wait_log_start_checkpointed
        self.batches_of, self.producer_ids_of = disks.batches_of, disks.producer_ids_of
        self.wait_cleaned = disks.wait_cleaned
        self.second_directory_of = disks.second_directory_of
        self.wait_high_watermark, self.wait_recovery_point = disks.wait_high_watermark, disks.wait_recovery_point
        self.wait_checkpoint_written, self.read_checkpoints = disks.wait_checkpoint_written, disks.read_checkpoints
        self.require_next_epoch_starts_at = disks.require_next_epoch_starts_at
        self.copy_replicas = disks.copy_replicas
        self.flush_disks, self.flush_log = disks.flush_disks, disks.flush_log

        self.nemesis = nemesis = Nemesis(parts, waits, account)
        self.kill, self.stop, self.freeze, self.thaw = nemesis.kill, nemesis.stop, nemesis.freeze, nemesis.thaw
        self.lose_power = nemesis.lose_power
        self.cut, self.cut_clients, self.cut_from_coordinator = (
            nemesis.cut,
            nemesis.cut_clients,
            nemesis.cut_from_coordinator,
        )
        self.cut_requests = nemesis.cut_requests
        self.hold_answers, self.reset_clients = nemesis.hold_answers, nemesis.reset_clients
        self.delay_clients, self.wait_delivered = nemesis.delay_clients, nemesis.wait_delivered
        self.kill_client = nemesis.kill_client
        self.flap, self.lose, self.slow, self.heal_network = (
            nemesis.flap,
            nemesis.lose,
            nemesis.slow,
            nemesis.heal_network,
        )
        self.remove_checkpoint = nemesis.remove_checkpoint
        self.overwrite_high_watermark = nemesis.overwrite_high_watermark
        self.overwrite_recovery_point = nemesis.overwrite_recovery_point
        self.flip_record, self.flip_index = nemesis.flip_record, nemesis.flip_index
        self.flip_checkpoint, self.cut_checkpoint = nemesis.flip_checkpoint, nemesis.cut_checkpoint
        self.slow_disk, self.heal_disks = nemesis.slow_disk, nemesis.heal_disks
        self.fill_disk, self.fail_disk = nemesis.fill_disk, nemesis.fail_disk
        self.make_disk_read_only, self.fail_log_directory = nemesis.make_disk_read_only, nemesis.fail_log_directory
        self.step_clock, self.set_clocks_right = nemesis.step_clock, nemesis.set_clocks_right
        self.tear_tail, self.extend_by_zeros = nemesis.tear_tail, nemesis.extend_by_zeros
        self.start, self.start_cut_off = nemesis.start, nemesis.start_cut_off
        self.start_early, self.start_double = nemesis.start_early, nemesis.start_double
        self.restart_with = nemesis.restart_with
        self.migrate_to_kraft = Migration(parts, nemesis, waits, who, account).migrate_to_kraft
        self.expect_exit, self.wipe = nemesis.expect_exit, nemesis.wipe
        self.wait_share_of_session = nemesis.wait_share_of_session
        self.elected_after_death = nemesis.elected_after_death

        self.clients = clients = Clients(parts, account)
        self.producer, self.send, self.send_async = clients.producer, clients.send, clients.send_async
        self.load = clients.load
        self.consume, self.transaction = clients.consume, clients.transaction

        self.watch_ends = Ends(parts, account).watch
        groups = Groups(parts, account)
        self.commit, self.committed, self.wait_committed = groups.commit, groups.committed, groups.wait_committed
        self.commit_async, self.ask_much = groups.commit_async, groups.ask_much

    @cached_property
    def admin(self) -> Admin:
        """The cluster's administration."""
        return self._open_admin()

    def vary(self, usual: float, low: float, high: float) -> float:
        """A number of this run's own, for what the sequence allows from `low` to `high`: `usual` with seed 1, with any
        other seed one that is drawn from it. run.json has it (`drawn`), the timeline as a note.
        """
        drawn = usual if self._facts["seed"] == 1 else round(self._random.uniform(low, high), 3)
        self._facts["drawn"].append(drawn)
        self.note(f"{drawn:g}, by the seed, from {low:g} to {high:g}")
        return drawn

    def create_topic(self, plan: TopicPlan, *, without: Sequence[Target] = ()) -> None:
        """Create a topic and wait until its preferred leaders lead it and every replica is in sync, but for those on
        the brokers `without`, which are down.
        """
        with self.step("create topic", topic=plan.name):
            self.admin.create_topic(plan.name, plan.replicas, plan.settings)
        if plan not in self.topics:
            self.topics.append(plan)
            self._facts["topics"].append(plan.as_json())
        for number, brokers in enumerate(plan.replicas):
            t = Partition(plan.name, number)
            self.wait_leader(t, self.broker(brokers[0]))
            down = {target.id for target in without}
            self.wait_isr(t, [replica for replica in self.replicas_of(t) if replica.id not in down])

    def create_topic_anywhere(self, name: str, *, partitions: int, replication: int) -> None:
        """Create a topic whose replicas Kafka places itself, in the way of the version, and wait until all are in sync.
        Where they lie is in `topics` then.
        """
        with self.step("create topic, placed by Kafka", topic=name, partitions=partitions, replication=replication):
            by = self.admin.create_topic_anywhere(name, partitions, replication)
            numbers = [Partition(name, number) for number in range(partitions)]
            state = self.wait_state(
                f"{name} has its replicas in sync",
                lambda state: all(
                    t in state.partitions and len(state.partitions[t].isr) == replication for t in numbers
                ),
            )
        self.timeline.append(PlaceTopic(topic=name, partitions=partitions, replication=replication, by=by))
        plan = TopicPlan(name=name, replicas=tuple(state.partitions[t].replicas or () for t in numbers))
        self.topics.append(plan)
        self._facts["topics"].append(plan.as_json())

    def delete_topic(self, name: str) -> None:
        """Ask for a topic to be deleted; does not wait for it (`wait_deleted`). It is none of `topics` from now on."""
        with self.step("delete topic", topic=name):
            self._forget(name)
            self.timeline.append(DeleteTopic(topic=name, by=self.admin.delete_topic(name)))

    def wait_forgotten(self, name: str) -> None:
        """Wait until the cluster states nothing of a topic that it had made. It is none of `topics` from now on."""
        self.wait_state(f"{name} is forgotten", lambda state: all(t[0] != name for t in state.partitions))
        self._forget(name)

    def _forget(self, name: str) -> None:
        number = next(i for i, plan in enumerate(self.topics) if plan.name == name)
        del self.topics[number], self._facts["topics"][number]

    def delete_records(self, t: Partition, before: int) -> None:
        """Delete the partition's records before an offset by request (0.11 and later), and wait until they are."""
        with self.step("delete records", partition=str(t), before=before):
            self.timeline.append(DeleteRecords(topic=t.topic, partition=t.number, before=before))
            low = self.admin.delete_records(*t, before)
            self.timeline.append(RecordsDeleted(topic=t.topic, partition=t.number, low_watermark=low))

    def withdraw_deletion(self, name: str) -> None:
        """ZooKeeper: take back that a topic is to be deleted, while every broker is down: a controller that runs would
        go on with it.
        """
        with self.step("withdraw the deletion", topic=name):
            self.timeline.append(DeleteTopic(topic=name, by=self.admin.withdraw_deletion(name), withdrawn=True))

    def set_broker_default(self, name: str, value: str) -> None:
        """Set a broker setting for all brokers while they run (1.1 and later), and wait until each goes by it."""
        with self.step("set for all brokers", setting=name, value=value):
            self.note(f"asked by {self.admin.set_broker_default(name, value)}")
        says = "override for entityPath: brokers/<default> with config|Updating cluster configuration"
        for node in self.cluster.brokers.values():
            told = rf"(?:{says}) ?: .*{re.escape(name)}\W+{re.escape(value)}\b"
            self.wait_log_line(self.broker(node.id), told, f"{name}={value}, for all brokers")

    def set_topic(self, topic: str, name: str, value: str, *, told: Sequence[Target]) -> None:
        """Change a setting of a topic (0.10.1 and later), and wait until these brokers, which run, go by it."""
        with self.step("set for a topic", topic=topic, setting=name, value=value):
            self.note(f"asked by {self.admin.set_topic(topic, name, value)}")
        says = rf"override for entityPath: topics/{topic} with config|Updating topic {topic} with new configuration"
        for broker in told:
            told_of = rf"(?:{says}).*{re.escape(name)}\W+{re.escape(value)}\b"
            self.wait_log_line(broker, told_of, f"{name}={value}, for {topic}")

    def let_pass(self, seconds: float, what: str) -> None:
        """Wait so long, where the time is the sequence: for what happens, or must not, by a broker's clock alone."""
        with self.step(f"wait until {what}", seconds=seconds):
            time.sleep(seconds)

    def reassign(self, t: Partition, targets: Sequence[Target]) -> None:
        """Ask for the partition's replicas to be on these brokers, the preferred leader first, in the way of the
        version. They are its `replicas_of` from now on; `wait_reassigned` waits for them.
        """
        replicas = tuple(target.id for target in targets)
        with self.step("ask for other replicas", partition=str(t), replicas=list(replicas)):
            number, plan = next((i, plan) for i, plan in enumerate(self.topics) if plan.name == t.topic)
            placed = (*plan.replicas[: t.number], replicas, *plan.replicas[t.number + 1 :])
            self.topics[number] = replace(plan, replicas=placed)
            self._facts["topics"][number] = self.topics[number].as_json()
            begun_ns, wall_ns = time.monotonic_ns(), time.time_ns()  # what follows may be stated before the answer
            by = self.admin.reassign(*t, replicas)
            asked = Reassign(topic=t.topic, partition=t.number, replicas=replicas, by=by)
            self.timeline.append(structs.replace(asked, monotonic_ns=begun_ns, wall_ns=wall_ns))

    def wait_reassigned(self, t: Partition) -> None:
        """Wait until the partition's replicas are those last asked for, all in sync, and one of them leads."""
        wanted = self.assignment_of(t)

        def over(state: ClusterState) -> bool:
            seen = state.partitions[t]
            return seen.replicas == wanted and set(seen.isr) == set(wanted) and seen.leader in wanted

        self.wait_state(f"{t} is on {list(wanted)}, in sync", over, REASSIGN_LIMIT_S)

    def elect_preferred_leader(self, t: Partition) -> None:
        """Ask for the election of the partition's preferred leader, in the way of the version; does not wait for it."""
        with self.step("ask for the preferred leader", partition=str(t)):
            self.note(f"asked by {self.admin.elect_preferred_leader(*t)}")

    @contextmanager
    def pipeline(
        self,
        t: Partition,
        output: str = "output",
        *,
        transactional_id: str | None = None,
        settings: Mapping[str, str] = NO_SETTINGS,
    ) -> Iterator[Pipeline]:
        """A process that sends on what it consumes of t's topic while the block lasts: exactly once with a
        `transactional_id` (0.11 and later), at least once without. The topic `output` is created like t's if there is
        none of that name.
        """
        if all(plan.name != output for plan in self.topics):
            source = next(plan for plan in self.topics if plan.name == t.topic)
            self.create_topic(replace(source, name=output))
        with self.clients.pipeline(t, output, transactional_id=transactional_id, settings=settings) as process:
            yield process

    def move_controller_away_from(self, *targets: Target) -> None:
        """ZooKeeper: see to it that none of these brokers is the controller, now that they may have become it."""
        if self.version.mode != "zookeeper":
            return
        avoid = {target.id for target in targets}
        # The last word on the controller may still be of one that is dead: wait for one that is registered.
        self.wait_state("a live broker is the controller", lambda state: state.controller in state.brokers)
        if self.observer.state.controller in avoid:
            others = sorted(self.observer.state.brokers - avoid)
            with self.step("move the controller", to=others[0]):
                self.admin.place_controller(others[0])
