"""The steps of a migration to KRaft, on nodes that are only names; and that the cluster has its id before it starts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evidence.errors import UsageError
from harness.cluster import versions
from harness.cluster.cluster import CLUSTER_ID, Cluster
from harness.cluster.docker import Node
from harness.plan import ClusterPlan, TopicPlan
from harness.run.migration import Migrator
from harness.run.sequence_log import SequenceLog
from harness.run.who import Who
from harness.runner import _bring_up


class Said:
    """In the place of the nemesis, the waits and the cluster: says what it was told to do."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.settings: dict[str, str] = {}

    def start(self, target: Any) -> None:
        self.lines.append(f"start {target.node.name}")

    def restart_with(self, target: Any, settings: dict[str, str]) -> None:
        self.lines.append(f"restart {target.node.name}")
        self.settings = settings

    def prove(self, done: Any, target: Any) -> None:
        brokers = getattr(done, "brokers", None)
        self.lines.append(f"prove {done.description}" + (f" of {', '.join(brokers)}" if brokers else ""))

    def stop(self, target: Any) -> None:
        self.lines.append(f"stop {target.node.name}")

    def wait_leader(self, t: Any) -> None:
        self.lines.append(f"{t} is led")

    def wait_isr(self, t: Any, targets: Any) -> None:
        self.lines.append(f"{t} is whole")


def migration(tmp_path: Path, version: str, plan: ClusterPlan) -> tuple[Migrator, Said]:
    names = {"zookeeper": 0, "controller-100": 100, "broker-2": 2, "broker-1": 1}
    none: Any = None
    nodes = {name: Node(name, number, "", none) for name, number in names.items()}
    cluster = Cluster(none, versions.get(version), plan, "run", "172.20.1", tmp_path, nodes)
    said: Any = Said()
    topics = [TopicPlan(replicas=((1,),))]
    admin = SimpleNamespace(forget_migration=lambda: None)
    parts: Any = SimpleNamespace(cluster=cluster, observer=none, topics=topics, open_admin=lambda: admin)
    timeline: Any = SimpleNamespace(append=lambda event: None, listen=lambda listener: None)
    return Migrator(parts, said, said, Who(topics, cluster, none), SequenceLog(timeline)), said


def test_brokers_are_restarted_one_by_one_and_the_first_one_last(tmp_path: Path) -> None:
    made, said = migration(tmp_path, "3.9.2-zk", ClusterPlan(session_timeout_ms=4000, migrates=True))
    assert made.migrate_to_kraft().node.name == "controller-100"
    whole = ["t-0 is led", "t-0 is whole"]
    proved = "prove migration of the metadata from ZooKeeper to controller-100 of broker-2, broker-1"
    assert said.lines == [
        "start controller-100",
        "restart broker-1",
        *whole,
        "restart broker-2",
        *whole,
        proved,
        *whole,
    ]
    assert said.settings["zookeeper.metadata.migration.enable"] == "true"
    assert said.settings["controller.quorum.voters"] == "100@172.20.1.100:9093"
    assert said.settings["broker.heartbeat.interval.ms"] == "500"


def test_a_migration_is_reverted_without_its_controller(tmp_path: Path) -> None:
    made, said = migration(tmp_path, "3.9.2-zk", ClusterPlan(migrates=True))
    made.revert_migration()
    whole = ["t-0 is led", "t-0 is whole"]
    assert said.lines == [
        "stop controller-100",
        "prove /controller and /migration of controller-100 are deleted",
        "restart broker-1",
        *whole,
        "restart broker-2",
        *whole,
    ]
    assert said.settings["zookeeper.metadata.migration.enable"] == "false"
    assert said.settings["controller.quorum.voters"] == ""
    assert made._cluster.retired == {"controller-100"}


@pytest.mark.parametrize(("version", "migrates"), [("3.9.2-zk", False), ("3.9.2-kraft", True)])
def test_a_migration_takes_a_controller_to_migrate_to(tmp_path: Path, version: str, migrates: bool) -> None:
    made, said = migration(tmp_path, version, ClusterPlan(migrates=migrates))
    with pytest.raises(UsageError, match="give the ClusterPlan migrates=True"):
        made.migrate_to_kraft()
    assert said.lines == []


@pytest.mark.parametrize("migrates", [True, False])
def test_a_cluster_that_migrates_has_its_id_before_a_broker_starts(migrates: bool) -> None:
    done: list[str] = []
    nodes = {number: SimpleNamespace(name=f"broker-{number}", id=number) for number in (1, 2)}
    cluster = SimpleNamespace(
        version=versions.get("3.9.2-zk"),
        plan=ClusterPlan(brokers=(1, 2), controller=1, migrates=migrates),
        coordinator=SimpleNamespace(name="zookeeper"),
        store=None,
        brokers=nodes,
        start=lambda *nodes: done.extend(f"start {node.name}" for node in nodes),
    )
    run: Any = SimpleNamespace(
        cluster=cluster,
        observer=SimpleNamespace(start=lambda: done.append("watch")),
        admin=SimpleNamespace(set_cluster_id=lambda value: done.append(f"id {value}")),
        wait_state=lambda *_, **__: None,
        broker=nodes.get,
    )
    _bring_up(run)
    told = [f"id {CLUSTER_ID}"] if migrates else []
    assert done == ["start zookeeper", "watch", *told, "start broker-1", "start broker-2"]
