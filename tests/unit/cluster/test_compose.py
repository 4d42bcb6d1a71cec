"""Compose outlives nobody: what it was making is made, or it is dead with its children, before anybody removes."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from evidence.errors import HarnessError, UsageError
from harness.cluster import cluster, versions
from harness.cluster import docker as engine
from harness.cluster.relay import Relays
from harness.plan import ClusterPlan, Disks

LIMIT_S = 30.0
CHILD = 'sleep 600 & echo $! >"$CHILD"; wait'
"""As `docker` starts Compose: as a child that a kill -9 of `docker` does not reach."""


@pytest.fixture
def docker_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `docker` on the PATH that a test writes."""
    command = tmp_path / "bin" / "docker"
    command.parent.mkdir()
    command.touch()
    command.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("CHILD", str(tmp_path / "child"))
    return command


def test_what_compose_says_comes_back(docker_command: Path) -> None:
    docker_command.write_text('#!/bin/sh\necho "out $*"; echo "said $X" >&2; exit 3\n')
    assert cluster._compose(["create"], {"X": "this"}) == (3, "out compose create\n", "said this\n")


def test_no_docker_is_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="no `docker` command"):
        cluster._compose(["create"], {})


def test_one_that_hangs_is_killed_with_its_children(
    docker_command: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker_command.write_text(f"#!/bin/sh\necho words >&2\n{CHILD}\n")
    monkeypatch.setattr(cluster, "COMPOSE_TIMEOUT_S", 0.5)
    with pytest.raises(HarnessError, match=r"took longer than 0\.5 s: 'words"):
        cluster._compose(["create"], {})
    await_end(int((tmp_path / "child").read_text()))


INTERRUPTED = """
import signal
from harness.cluster import cluster
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs the tests in the background
end_session = cluster.end_session
def told(process, patience_s):
    print("waiting", flush=True)
    return end_session(process, patience_s)
cluster.end_session = told
try:
    cluster._compose(["create"], {})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_waits_until_compose_has_made_what_it_was_making(docker_command: Path, tmp_path: Path) -> None:
    fifo, made = tmp_path / "begun", tmp_path / "made"
    os.mkfifo(fifo)
    go = tmp_path / "go"
    os.mkfifo(go)
    docker_command.write_text(f"#!/bin/sh\necho begun >{fifo}\ncat {go} >/dev/null\ntouch {made}\n")
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as harness:
        assert fifo.read_text() == "begun\n"
        harness.send_signal(signal.SIGINT)
        assert harness.stdout is not None
        assert harness.stdout.readline() == "waiting\n"
        assert not made.exists()
        go.write_text("go")
        out, _ = harness.communicate(timeout=LIMIT_S)
    assert out == "interrupted\n"
    assert made.exists()


def await_end(process: int) -> None:
    deadline = time.monotonic() + LIMIT_S
    while Path(f"/proc/{process}").exists() and "Z" not in Path(f"/proc/{process}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline, f"process {process} is still there"
        time.sleep(0.02)


class Containers:
    """What Compose made, by service; networks and volumes are none."""

    def __init__(self, *services: str) -> None:
        self.containers = self.networks = self.volumes = self
        self._services = services

    def list(self, **_options: object) -> list[Any]:
        labels = [{engine.NODE_LABEL: service} for service in self._services]
        return [
            SimpleNamespace(labels=each, attrs={"Image": "sha256:1", "Labels": each}, remove=lambda **_: None)
            for each in labels
        ]


def create(tmp_path: Path, client: Containers, plan: ClusterPlan | None = None) -> cluster.Cluster:
    return cluster.create(
        client,  # type: ignore[arg-type]
        version=versions.get("4.3.1"),
        plan=plan or ClusterPlan(),
        settings={"min.insync.replicas": "2"},
        run_id="run",
        data=tmp_path / "data",
        rendered=tmp_path / "compose.yml",
    )


@pytest.fixture
def ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "free_prefixes_here", lambda _: iter(f"172.20.{n}" for n in range(9)))


NODES = ("controller-100", "broker-1", "broker-2", "broker-3")


@pytest.mark.usefixtures("ranges")
def test_an_address_range_that_is_taken_is_not_the_last(docker_command: Path, tmp_path: Path) -> None:
    docker_command.write_text(
        '#!/bin/sh\ncase "$*" in *config*) echo "services: $KAFKA_SETTINGS"; exit 0;; esac\n'
        'test "$CHAOS_SUBNET" = 172.20.2 && exit 0\necho "Pool overlaps with other one" >&2; exit 1\n'
    )
    made = create(tmp_path, Containers(*NODES))
    made.wait_rendered()
    assert (tmp_path / "compose.yml").read_text() == "services: min.insync.replicas=2\n"
    assert made.bootstrap == "172.20.2.11:9092,172.20.2.12:9092,172.20.2.13:9092"
    assert made.coordinator.address == "172.20.2.100"
    assert cluster.images_of(made) == dict.fromkeys(NODES, "sha256:1")
    assert made.node(2).name == "broker-2"
    with pytest.raises(HarnessError, match=r"no node with id 7; it has \[1, 2, 3, 100\]"):
        made.node(7)


@pytest.mark.usefixtures("ranges")
@pytest.mark.parametrize(
    ("said", "error", "why"),
    [
        ("Pool overlaps with other one", UsageError, "no address range for the cluster's network: 172.20.0.0/24"),
        ("no such image", HarnessError, "could not create the cluster: no such image"),
    ],
)
def test_a_cluster_that_cannot_be_made(
    said: str, error: type[Exception], why: str, docker_command: Path, tmp_path: Path
) -> None:
    docker_command.write_text(f'#!/bin/sh\necho "{said}" >&2; exit 1\n')
    with pytest.raises(error, match=why):
        create(tmp_path, Containers())


@pytest.mark.usefixtures("ranges")
def test_what_compose_leaves_out_is_missed(docker_command: Path, tmp_path: Path) -> None:
    docker_command.write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(HarnessError, match="made no container for broker-3"):
        create(tmp_path, Containers(*NODES[:-1]))


@pytest.mark.usefixtures("ranges")
def test_a_file_that_cannot_be_rendered_is_told(docker_command: Path, tmp_path: Path) -> None:
    docker_command.write_text('#!/bin/sh\ncase "$*" in *config*) echo "no such variable" >&2; exit 1;; esac\n')
    with pytest.raises(HarnessError, match="could not render the cluster's file: no such variable"):
        create(tmp_path, Containers(*NODES)).wait_rendered()


def test_controllers_apart_are_named_and_are_the_voters(tmp_path: Path) -> None:
    version, plan = versions.get("4.3.1"), ClusterPlan(controllers=3)
    controllers = ("controller-100", "controller-101", "controller-102")
    assert cluster.services(version, plan) == (*controllers, "broker-1", "broker-2", "broker-3")
    variables = cluster.environment(
        version=version, plan=plan, settings={}, run_id="r", prefix="172.20.1", data=tmp_path
    )
    assert variables["CHAOS_VOTERS"] == "100@172.20.1.100:9093,101@172.20.1.101:9093,102@172.20.1.102:9093"
    assert cluster.services(version, ClusterPlan())[0] == "controller-100"
    file = cluster.compose_file(version, plan).read_text()
    assert all(f"  {name}:\n" in file and f"kafka-chaos.node: {name}}}" in file for name in controllers)


@pytest.mark.parametrize(("version", "role"), [("0.10.2.2", "broker"), ("4.3.1", "kraft-broker")])
def test_a_second_broker_with_an_id_is_made_and_not_taken_for_the_first(
    version: str, role: str, docker_command: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, plan = versions.get(version), ClusterPlan(double_of=3).laid_out({3: 2})
    assert plan.double_of == 2
    assert cluster.services(release, plan)[-1] == "double"
    assert "double" not in cluster.services(release, ClusterPlan())
    variables = cluster.environment(
        version=release, plan=plan, settings={}, run_id="r", prefix="172.20.1", data=tmp_path
    )
    assert variables["CHAOS_DOUBLE_OF"] == "2"
    settings = cluster.broker_settings(release, plan, {})
    assert ("2:initial.broker.registration.timeout.ms" in settings) == (release.mode == "kraft")
    file = cluster.compose_file(release, plan).read_text()
    (service,) = (part for part in file.split("\n\n") if "\n  double:\n" in part)
    assert f"CHAOS_ROLE: {role}, CHAOS_ID: '${{CHAOS_DOUBLE_OF:-1}}'" in service


@pytest.mark.parametrize(("version", "last"), [("2.8.2", "broker-3"), ("4.3.1", "broker-3")])
def test_brokers_that_join_are_made_with_the_others(version: str, last: str) -> None:
    release = versions.get(version)
    assert cluster.services(release, ClusterPlan(controller=1))[-1] == last
    assert cluster.services(release, ClusterPlan(controller=1, joins=(4,)))[-2:] == (last, "broker-4")


@pytest.mark.usefixtures("ranges")
def test_a_second_broker_is_no_member(docker_command: Path, tmp_path: Path) -> None:
    docker_command.write_text("#!/bin/sh\nexit 0\n")
    made = create(tmp_path, Containers(*NODES, "double"), ClusterPlan(double_of=2))
    assert (made.nodes["double"].id, made.nodes["double"].address) == (2, "172.20.0.19")
    assert made.node(2).name == "broker-2"
    assert [node.name for node in made.members] == list(NODES)
    assert set(made.brokers) == {1, 2, 3}
    assert "172.20.0.19" not in made.bootstrap


@pytest.mark.parametrize("name", ["2.8.2", "4.3.1"])
def test_brokers_and_nobody_else_have_a_second_log_directory(name: str) -> None:
    def directories(disks: Disks | None) -> dict[str, str]:
        settings = cluster.broker_settings(
            versions.get(name), ClusterPlan(brokers=(1, 2), controller=1, disks=disks), {}
        )
        return {key: value for key, value in settings.items() if key.endswith("log.dirs")}

    assert directories(Disks(log_directories=2)) == dict.fromkeys(
        ("1:log.dirs", "2:log.dirs"), "/data/kafka,/data/second/kafka"
    )
    assert directories(Disks()) == directories(None) == {}


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("3.3.2-zk", "transactional.id.expiration.ms"),
        ("3.4.0-kraft", "producer.id.expiration.ms"),
    ],
)
def test_how_long_producers_are_remembered_is_told_by_the_setting_of_the_release(name: str, setting: str) -> None:
    plan = ClusterPlan(producers_expire_ms=5000)
    told = cluster.broker_settings(versions.get(name), plan, {})
    assert {key: value for key, value in told.items() if "expiration" in key} == {setting: "5000"}
    assert not any("expiration" in key for key in cluster.broker_settings(versions.get(name), ClusterPlan(), {}))


@pytest.mark.parametrize(("second", "stated", "told"), [(1, "", ""), (2, "", "--ignore-formatted"), (2, "-x", "-x")])
def test_a_second_log_directory_is_formatted_by_kafka(second: int, stated: str, told: str, tmp_path: Path) -> None:
    plan = ClusterPlan(disks=Disks(log_directories=second), format=stated)
    variables = cluster.environment(
        version=versions.get("4.3.1"), plan=plan, settings={}, run_id="r", prefix="172.20.1", data=tmp_path
    )
    assert variables["CHAOS_FORMAT"] == told


def test_nodes_are_given_the_plans_java_options_or_the_users() -> None:
    def told(plan: ClusterPlan) -> dict[str, str]:
        return cluster.environment(
            version=versions.get("2.8.2"), plan=plan, settings={}, run_id="r", prefix="172.20.1", data=Path("/data")
        )

    assert told(ClusterPlan(java_options="-Da=b"))["CHAOS_JAVA_OPTIONS"] == "-Da=b"
    assert "CHAOS_JAVA_OPTIONS" not in told(ClusterPlan())  # what the environment has is passed on
    assert told(ClusterPlan(own_clocks=True))["CHAOS_CLOCK"] == "own"
    assert "CHAOS_CLOCK" not in told(ClusterPlan())


def test_brokers_behind_relays_have_a_second_listener() -> None:
    assert cluster.second_listeners(ClusterPlan(), "172.20.1", None) == {}
    relays = Relays((1, 2))
    try:
        settings = cluster.second_listeners(ClusterPlan(relayed=True), "172.20.1", relays)
        stated = "PLAINTEXT://172.20.1.12:9092,RELAYED://127.0.0.1:"
        assert settings["2:advertised.listeners"] == f"{stated}{relays.ports[2]}"
        assert settings["1:listeners"] == "PLAINTEXT://172.20.1.11:9092,RELAYED://172.20.1.11:9094"
    finally:
        relays.close()


def test_a_cluster_that_migrates_has_a_controller_beside_zookeeper(tmp_path: Path) -> None:
    version, plan = versions.get("3.9.2-zk"), ClusterPlan(brokers=(1, 2), controller=1, migrates=True)
    assert cluster.services(version, plan) == ("zookeeper", "controller-100", "broker-1", "broker-2")
    assert "controller-100" not in cluster.services(version, ClusterPlan())
    variables = cluster.environment(
        version=version, plan=plan, settings={}, run_id="r", prefix="172.20.1", data=tmp_path
    )
    assert variables["CHAOS_VOTERS"] == cluster.voters("172.20.1", plan) == "100@172.20.1.100:9093"
    described = yaml.safe_load(cluster.compose_file(version, plan).read_text())["services"]
    settings = described["controller-100"]["environment"]["KAFKA_SETTINGS"]
    assert "zookeeper.metadata.migration.enable=true" in settings
    assert all(f"/data/{cluster.ENVIRONMENT}" == one["environment"]["BASH_ENV"] for one in described.values())


def test_the_cluster_id_is_that_which_nodes_are_formatted_with() -> None:
    for script in ("entrypoint", "prepare"):
        assert f"StorageTool format -t {cluster.CLUSTER_ID} " in (cluster.COMPOSE / "image" / script).read_text()
