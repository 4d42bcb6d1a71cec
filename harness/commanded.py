"""A cluster that a program commands while it is up: for tests of its own (docs/pytest.md).

A scenario's steps stand in a file. Here they come from somebody else, a line of JSON each, and each line is answered:

    {"do": "topic", "name": "orders", "replication": 3}     {"value": null}
    {"do": "leader", "topic": "orders"}                     {"value": 2}
    {"do": "kill", "brokers": [2]}                          {"value": null}
    {"do": "kill", "brokers": [2]}                          {"error": "…", "of": "FaultUnproved"}

All else is a run as any other: faults are proved from outside, the timeline is written, nodes and their logs are
looked after, and everything is removed at the end. Its records are the program's own, which nobody here knows, so it
gets no verdict, and the ledger has it as a run with an expectation of the user's own, which counts nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
from docker.errors import DockerException

from evidence.basis import Basis
from evidence.errors import HarnessError, KafkaChaosError, UsageError
from evidence.run import DEFAULT_CASE
from harness.case import Case, Documented, Steps
from harness.plan import ClusterPlan, TopicPlan
from harness.run import Partition, Run, Target
from harness.run.who import partitions_of
from harness.runner import Request
from harness.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

    from harness.cluster.versions import Version

NAME: Final = "own-tests"
"""The scenario of such a run."""
BROKERS: Final = range(3, 6)
"""How many there may be: what nodes are set to keep three times needs three, and the Compose files have five."""
WAIT_S: Final = 30.0


class ClusterCommand(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do"):
    """One thing to do, or to tell. Brokers are named by their ids."""

    def carry_out(self, run: Run) -> object:
        """Do it; returns what the program is told. Raises KafkaChaosError for what cannot be done, or proved."""
        raise NotImplementedError


class _OfBrokers(ClusterCommand, frozen=True):
    brokers: tuple[int, ...]

    def targets(self, run: Run) -> list[Target]:
        return [run.broker(number) for number in self.brokers]


class _OfPartition(ClusterCommand, frozen=True):
    topic: str
    partition: int = 0

    @property
    def where(self) -> Partition:
        return Partition(self.topic, self.partition)

    def replicas(self, run: Run) -> list[Target]:
        made = {t: t for t in partitions_of(run.topics)}
        if self.where not in made:
            raise UsageError(f"{self.where} was not made here; make its topic by the cluster's own `topic`")
        return run.replicas_of(self.where)


class MakeTopic(ClusterCommand, frozen=True, tag="topic"):
    """Makes a topic, and waits until it is led and in sync."""

    name: str
    partitions: int = 1
    replication: int = 3
    settings: Mapping[str, str] = {}

    def carry_out(self, run: Run) -> None:
        brokers = sorted(run.cluster.brokers)
        if not 1 <= self.replication <= len(brokers) or self.partitions < 1:
            asked = f"{self.partitions} partitions × {self.replication} replicas"
            raise UsageError(f"topic {self.name}: {asked} on {len(brokers)} brokers")
        if self.name in {plan.name for plan in run.topics}:
            raise UsageError(f"topic {self.name} is there already")
        placed = tuple(
            tuple(brokers[(first + at) % len(brokers)] for at in range(self.replication))
            for first in range(self.partitions)
        )
        run.create_topic(TopicPlan(name=self.name, replicas=placed, settings=dict(self.settings)))


class Leader(_OfPartition, frozen=True, tag="leader"):
    """Tells who leads a partition now."""

    def carry_out(self, run: Run) -> int:
        self.replicas(run)
        return run.leader_of(self.where).id


class InSync(_OfPartition, frozen=True, tag="in-sync"):
    """Tells which replicas are in sync now."""

    def carry_out(self, run: Run) -> list[int]:
        self.replicas(run)
        return [target.id for target in run.in_isr(self.where)]


class Replicas(_OfPartition, frozen=True, tag="replicas"):
    """Tells who has a replica, the preferred leader first."""

    def carry_out(self, run: Run) -> list[int]:
        return [target.id for target in self.replicas(run)]


class WaitLeader(_OfPartition, frozen=True, tag="wait-leader"):
    """Waits until a replica leads that is none of these, and tells which."""

    other_than: tuple[int, ...] = ()
    timeout_s: float = WAIT_S

    def carry_out(self, run: Run) -> int:
        others = [target for target in self.replicas(run) if target.id not in self.other_than]
        return run.wait_leader(self.where, *others, timeout_s=self.timeout_s).id


class WaitInSync(_OfPartition, frozen=True, tag="wait-in-sync"):
    """Waits until every replica is in sync."""

    timeout_s: float = WAIT_S

    def carry_out(self, run: Run) -> None:
        run.wait_isr(self.where, self.replicas(run), self.timeout_s)


class ActiveController(ClusterCommand, frozen=True, tag="controller"):
    """Tells which node is the active controller: a broker's id, or from 100 on that of a KRaft controller apart."""

    def carry_out(self, run: Run) -> int:
        return run.controller().id


class KillBrokers(_OfBrokers, frozen=True, tag="kill"):
    """Kills with signal 9."""

    def carry_out(self, run: Run) -> None:
        run.kill(*self.targets(run))


class StopBrokers(_OfBrokers, frozen=True, tag="stop"):
    """Stops cleanly."""

    def carry_out(self, run: Run) -> None:
        run.stop(*self.targets(run))


class StartBrokers(_OfBrokers, frozen=True, tag="start"):
    """Starts who is down, and waits until they are registered."""

    def carry_out(self, run: Run) -> None:
        run.start(*self.targets(run))


class FreezeBrokers(_OfBrokers, frozen=True, tag="freeze"):
    """Freezes every thread."""

    def carry_out(self, run: Run) -> None:
        run.freeze(*self.targets(run))


class Thaw(ClusterCommand, frozen=True, tag="thaw"):
    """Thaws whoever is frozen."""

    def carry_out(self, run: Run) -> None:
        run.thaw()


class CutLinks(ClusterCommand, frozen=True, tag="cut"):
    """Drops packets between two groups of brokers, or from one to the other."""

    senders: tuple[int, ...]
    receivers: tuple[int, ...]
    one_way: bool = False

    def carry_out(self, run: Run) -> None:
        senders, receivers = ([run.broker(one) for one in those] for those in (self.senders, self.receivers))
        run.cut(senders, receivers, one_way=self.one_way)


class SlowLinks(ClusterCommand, frozen=True, tag="slow"):
    """Has packets from brokers to others go at this rate."""

    senders: tuple[int, ...]
    receivers: tuple[int, ...]
    bytes_per_s: int

    def carry_out(self, run: Run) -> None:
        senders, receivers = ([run.broker(one) for one in those] for those in (self.senders, self.receivers))
        run.slow(senders, receivers, self.bytes_per_s)


class CutClients(_OfBrokers, frozen=True, tag="cut-clients"):
    """Cuts clients on this machine from brokers."""

    def carry_out(self, run: Run) -> None:
        run.cut_clients(*self.targets(run))


class HoldAnswers(_OfBrokers, frozen=True, tag="hold-answers"):
    """Holds back what brokers answer to clients."""

    def carry_out(self, run: Run) -> None:
        run.hold_answers(*self.targets(run))


class HealNetwork(ClusterCommand, frozen=True, tag="heal-network"):
    """Undoes every fault of the network."""

    def carry_out(self, run: Run) -> None:
        run.heal_network()


class Heal(ClusterCommand, frozen=True, tag="heal"):
    """Undoes whatever still lasts, starts who is down, and waits until every replica is in sync."""

    timeout_s: float = 60.0

    def carry_out(self, run: Run) -> None:
        run.heal()
        down = [number for number, node in run.cluster.brokers.items() if not node.state()["Running"]]
        if down:
            run.start(*(run.broker(number) for number in down))
        for t in partitions_of(run.topics):
            run.wait_isr(t, run.replicas_of(t), self.timeout_s)


COMMANDS: Final = (
    MakeTopic
    | Leader
    | InSync
    | Replicas
    | WaitLeader
    | WaitInSync
    | ActiveController
    | KillBrokers
    | StopBrokers
    | StartBrokers
    | FreezeBrokers
    | Thaw
    | CutLinks
    | SlowLinks
    | CutClients
    | HoldAnswers
    | HealNetwork
    | Heal
)
Answer = Callable[[Literal["up", "answer"], Mapping[str, Any]], None]
"""Tells the program something, of a kind."""


def answered(run: Run, line: str) -> dict[str, Any]:
    """Carry out the command of a line: {"value": …}, or {"error": one line, "of": the kind of error}."""
    try:
        command = msgspec.json.decode(line, type=COMMANDS)
        return {"value": command.carry_out(run)}
    except msgspec.DecodeError as error:
        return {"error": f"{line.strip()[:200]}: {error}", "of": UsageError.__name__}
    except KafkaChaosError as error:
        return {"error": " ".join(str(error).split()), "of": type(error).__name__}
    except DockerException as error:
        return {"error": " ".join(str(error).split())[:500], "of": HarnessError.__name__}


def steps_from(lines: Iterable[str], answer: Answer) -> Steps:
    """Steps that are the commands of these lines, until there are no more."""

    def steps(run: Run) -> None:
        about = {"bootstrap_servers": run.cluster.bootstrap, "brokers": sorted(run.cluster.brokers)}
        answer("up", about | {"version": run.version.id, "run_dir": str(run.cluster.data.parent)})
        for line in lines:
            if line.strip():
                answer("answer", answered(run, line))

    return steps


@dataclass(frozen=True, kw_only=True)
class CommandedRequest(Request):
    """A run of these steps."""

    @property
    def command(self) -> str:
        """What makes such a cluster again; its commands are in the timeline, as steps."""
        settings = "".join(f" --setting {key}={value}" for key, value in sorted(self.settings.items()))
        brokers = len(self.scenario.cluster.brokers)
        return f"kafka-chaos cluster --version {self.version.id} --brokers {brokers}{settings}"


def request(
    version: Version, steps: Steps, *, brokers: int, settings: Mapping[str, str], root: Path
) -> CommandedRequest:
    """A run of so many brokers that takes these steps. Raises UsageError for a number of brokers that cannot be."""
    if brokers not in BROKERS:
        raise UsageError(f"{brokers} brokers: a cluster for tests has {BROKERS[0]} to {BROKERS[-1]}")
    ids = tuple(range(1, brokers + 1))
    outcome = Documented(source="what the tests themselves have seen", basis=Basis.MEASURED, out_of_sync=True)
    scenario = Scenario(
        name=NAME,
        claim="What a program's own tests do to a cluster.",
        source="the tests",
        operator="",
        cluster=ClusterPlan(brokers=ids, controller=1),
        topic=TopicPlan(name=NAME, replicas=(ids[:3],)),
        cases={DEFAULT_CASE: Case(documented=(outcome,))},
        steps=steps,
    )
    return CommandedRequest(scenario=scenario, version=version, settings=dict(settings), expect=(), root=root)
