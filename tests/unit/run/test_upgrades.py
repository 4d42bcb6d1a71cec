"""Upgrades: the words, on nodes that are only names; their proofs, on processes that are made up; what is refused."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evidence.errors import FaultUnproved, HarnessError, UsageError, WaitTimeout
from evidence.events import Software
from evidence.faults.upgrade import FinalizeProof, RaiseProof, RefusedProof, UpgradeProof
from harness.cluster import cluster as clusters
from harness.cluster import versions
from harness.cluster.builds import Build
from harness.cluster.cluster import Cluster, Composed, environment
from harness.cluster.docker import Node
from harness.cluster.requests import RequestRefused
from harness.cluster.state import ClusterState
from harness.faults import upgrade
from harness.faults.upgrade import Finalize, Raise, RefusedStart, Upgrade
from harness.plan import ClusterPlan, TopicPlan
from harness.run.record import GrowingRecord
from harness.run.sequence_log import SequenceLog
from harness.run.upgrades import Upgrader, refuse
from harness.run.who import Who
from kafkafiles.api_versions import Offer
from tests.records import run_record

OLD, NEW = versions.get("0.10.2.2"), versions.get("0.11.0.3")
PLAN = ClusterPlan(upgrades={"0.10.2.2": "0.11.0.3"})


class Said:
    """In the place of the nemesis and the waits: says what it was told to do, and does it to the cluster's names."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def stop(self, target: Any) -> None:
        self.lines.append(f"stop {target.node.name}")

    def restart_with(self, target: Any, settings: dict[str, str], kind: Any) -> None:
        told = ", ".join(f"{name}={value}" for name, value in settings.items())
        self.lines.append(f"{kind.__name__} {target.node.name}: {told}")

    def prove(self, done: Any, target: Any) -> None:
        self.lines.append(f"prove {done.description}")
        if isinstance(done, Upgrade):
            done.cluster.versions[done.node.name] = done.version

    def wait_unregistered(self, target: Any) -> None:
        self.lines.append(f"{target.node.name} is gone")

    def wait_registered(self, targets: Any) -> None:
        self.lines.append(f"{', '.join(one.node.name for one in targets)} is there")

    def wait_leader(self, t: Any) -> None: ...

    def wait_isr(self, t: Any, targets: Any) -> None:
        self.lines.append(f"{t} is whole")


def upgrader(
    tmp_path: Path,
    version: str = "0.10.2.2",
    plan: ClusterPlan = PLAN,
    apart: str = "zookeeper",
    pair: versions.Version | None = None,
) -> tuple[Upgrader, Who, Said, GrowingRecord, list[Any]]:
    names = {apart: 100 if apart.startswith("controller") else 0, "broker-2": 2, "broker-1": 1}
    container: Any = SimpleNamespace(attrs={"State": {"Running": True}}, reload=lambda: None)
    nodes = {name: Node(name, number, f"172.20.1.{number}", container) for name, number in names.items()}
    none: Any = None
    begun = versions.get(version) if pair is None else versions.upgraded(versions.get(version), pair)
    cluster = Cluster(none, begun, plan, "run", "172.20.1", tmp_path, nodes)
    said: Any = Said()
    topics = [TopicPlan(replicas=((1,),))]
    events: list[Any] = []
    timeline: Any = SimpleNamespace(append=events.append, listen=lambda listener: None)
    record = GrowingRecord(run_record({"kafka": versions.get(version).kafka}))
    who = Who(topics, cluster, none)
    parts: Any = SimpleNamespace(
        cluster=cluster, observer=none, events=none, topics=topics, run_dir=none, record=record, timeline=timeline
    )
    return Upgrader(parts, said, said, who, SequenceLog(timeline)), who, said, record, events


def test_a_node_is_stopped_and_goes_on_as_the_next_release(tmp_path: Path) -> None:
    made, who, said, record, events = upgrader(tmp_path)
    made.upgrade(who.broker(2))
    assert said.lines == [
        "stop broker-2",
        "broker-2 is gone",
        "prove start of broker-2 as 0.11.0.3",
        "broker-2 is there",
    ]
    assert (made.version_of(who.broker(2)).id, made.version_of(who.broker(1)).id) == ("0.11.0.3", "0.10.2.2")
    assert record.run.releases == {"broker-2": ("0.10.2.2", "0.11.0.3")}
    assert record.run.further_jars["0.11.0.3"]["org.apache.kafka:kafka_2.11:0.11.0.3"]
    assert [one.version for one in events if isinstance(one, Software)] == ["0.11.0.3"]
    made.downgrade(who.broker(2))
    assert record.run.releases == {"broker-2": ("0.10.2.2", "0.11.0.3", "0.10.2.2")}


def test_protocol_and_format_are_raised_one_broker_after_the_other(tmp_path: Path) -> None:
    made, who, said, _, _ = upgrader(tmp_path)
    for number in (1, 2):
        made.upgrade(who.broker(number))
    said.lines.clear()
    made.raise_protocol()
    made.raise_format(who.broker(2))
    assert said.lines == [
        "Raise broker-1: inter.broker.protocol.version=0.11.0",
        "t-0 is whole",
        "Raise broker-2: inter.broker.protocol.version=0.11.0",
        "t-0 is whole",
        "Raise broker-2: log.message.format.version=0.11.0",
        "t-0 is whole",
    ]


def test_nodes_of_a_pair_go_on_as_its_second_version_whatever_the_plan_names(tmp_path: Path) -> None:
    made, who, said, record, _ = upgrader(tmp_path, "0.10.2.2-to-2.2.2")
    assert made.version_of(who.broker(2)).id == "0.10.2.2"
    made.upgrade(who.broker(2))
    assert made.version_of(who.broker(2)).id == "2.2.2"
    assert record.run.releases == {"broker-2": ("0.10.2.2", "2.2.2")}
    assert list(record.run.further_jars) == ["2.2.2"]
    with pytest.raises(UsageError, match=r"runs 0\.10\.2\.2, which has no inter\.broker\.protocol\.version=2\.2"):
        made.raise_protocol(who.broker(1))
    said.lines.clear()
    made.raise_protocol(who.broker(2))
    assert said.lines[0] == "Raise broker-2: inter.broker.protocol.version=2.2"
    made.downgrade(who.broker(2))
    assert made.version_of(who.broker(2)) == versions.get("0.10.2.2")


def test_an_own_build_of_the_same_number_is_another_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = versions.of_build(Build(kafka="2.8.2", digest="e" * 64), "")
    monkeypatch.setattr("harness.run.upgrades.builds.digests", lambda build: {build.name: "5" * 64})
    made, who, _, record, _ = upgrader(tmp_path, "2.8.2", pair=own)
    made.upgrade(who.broker(2))
    assert record.run.releases == {"broker-2": ("2.8.2", "2.8.2")}
    assert record.run.further_jars == {"2.8.2@eeeeeeeeeeee": {"2.8.2@eeeeeeeeeeee": "5" * 64}}
    made.downgrade(who.broker(2))
    with pytest.raises(UsageError, match=r"is not upgraded by 2\.8\.2"):
        made.upgrade(who.broker(2), versions.get("2.8.2"))


def to(version: str) -> Callable[[Upgrader, Who], None]:
    return lambda made, who: made.upgrade(who.broker(1), versions.get(version))


@pytest.mark.parametrize(
    ("version", "asked", "why"),
    [
        ("3.9.2-zk", to("4.0.2"), "one has ZooKeeper, the other KRaft"),
        ("3.9.2-kraft", to("3.9.2-zk"), "one has ZooKeeper, the other KRaft"),
        ("1.1.1", to("0.11.0.3"), r"not upgraded by 0.11.0.3: name a newer release \(run.downgrade"),
        ("1.1.1", to("1.1.1"), "not upgraded by 1.1.1"),
        ("1.1.1", to("2.8.2"), "image of 2.8.2 is not made ready: give the ClusterPlan"),
        ("1.1.1", lambda made, who: made.upgrade(who.broker(1)), "nothing says what 1.1.1 is upgraded to"),
        ("1.1.1", lambda made, who: made.downgrade(who.broker(1), NEW), "image of 0.11.0.3 is not made ready"),
        ("0.10.2.2", lambda made, who: made.downgrade(who.broker(1), NEW), "not downgraded by 0.11.0.3"),
        ("0.10.2.2", lambda made, who: made.upgrade(who.node("broker-9")), "no node 'broker-9'; it has zookeeper"),
        ("0.10.2.2", lambda made, who: made.upgrade(who.node("zookeeper")), "no broker and no controller"),
        ("0.10.2.2", lambda made, who: made.raise_protocol(), "runs 0.10.2.2, which has no inter.broker.protocol"),
        ("0.10.2.2", lambda made, who: made.finalize("metadata.version"), "feature of KRaft; with ZooKeeper use"),
        ("4.0.2", lambda made, who: made.raise_protocol(to="4.1"), "with KRaft use run.finalize"),
        ("4.0.2", lambda made, who: made.finalize("spin"), "no level of spin is supported by every node"),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    version: str, asked: Callable[[Upgrader, Who], None], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoken = Offer(apis={}, supported={"metadata.version": 25}, features={})
    monkeypatch.setattr("harness.run.upgrades.speaks", lambda node: spoken)
    made, who, _, _, _ = upgrader(tmp_path, version)
    with pytest.raises(UsageError, match=why) as error:
        asked(made, who)
    assert "\n" not in str(error.value)


def test_formats_end_with_protocol_3(tmp_path: Path) -> None:
    made, _, _, _, _ = upgrader(tmp_path, "2.8.2", ClusterPlan(upgrades={"2.8.2": "3.9.2-zk"}))
    with pytest.raises(UsageError, match=r"looks at no log\.message\.format\.version"):
        made.raise_format()


def test_zookeeper_is_not_asked_of_4_x() -> None:
    with pytest.raises(UsageError, match="has no ZooKeeper"):
        versions.get("4.0.2-zk")
    refuse(versions.get("2.8.2"), versions.get("3.9.2-zk"), older=False)


def test_an_upgrade_sets_what_brokers_speak_to_begin_with() -> None:
    settings = clusters.broker_settings(OLD, PLAN, {})
    assert settings["inter.broker.protocol.version"] == settings["log.message.format.version"] == "0.10.2"
    assert "inter.broker.protocol.version" not in clusters.broker_settings(OLD, ClusterPlan(), {})
    assert "inter.broker.protocol.version" not in clusters.broker_settings(versions.get("4.0.2"), PLAN, {})


def test_a_plan_names_the_releases_of_nodes(tmp_path: Path) -> None:
    plan = ClusterPlan(releases={3: "0.11.0.3"}).laid_out({1: 3, 2: 2, 3: 1})
    made = environment(version=OLD, plan=plan, settings={}, run_id="r", prefix="172.20.1", data=tmp_path)
    assert (made["KAFKA_VERSION"], made["KAFKA_VERSION_1"]) == ("0.10.2.2", "0.11.0.3")
    assert clusters.first_releases(plan) == {"broker-1": ("0.11.0.3",)}
    assert [one.id for one in clusters.further_versions(OLD, plan)] == ["0.11.0.3"]
    assert [one.id for one in clusters.further_versions(OLD, PLAN)] == ["0.11.0.3"]
    with pytest.raises(UsageError, match="one has ZooKeeper, the other KRaft"):
        clusters.further_versions(OLD, ClusterPlan(releases={1: "4.0.2"}))


@pytest.mark.parametrize("file", ["zookeeper.yml", "kraft.yml", "kraft-combined.yml"])
def test_every_node_of_the_compose_files_has_a_release_of_its_own(file: str) -> None:
    text = (clusters.COMPOSE / file).read_text()
    nodes = re.findall(r"^  (?:broker|controller)-(\d+):$\n    <<: \*node$\n    image: (.*)", text, re.MULTILINE)
    assert len(nodes) >= 3
    for number, image in nodes:
        assert f"${{{clusters.release_variable(int(number))}:-${{KAFKA_VERSION:-" in image, number


def test_a_container_is_made_anew_with_its_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def compose(arguments: list[str], variables: dict[str, str]) -> tuple[int, str, str]:
        asked.append((arguments, variables))
        return (0, "", "") if variables["KAFKA_VERSION_2"] == "0.11.0.3" else (1, "", "no such image")

    renewed: Any = SimpleNamespace(labels={"kafka-chaos.node": "broker-2"})
    client: Any = SimpleNamespace(containers=SimpleNamespace(list=lambda **_: [renewed]))
    none: Any = None
    node = Node("broker-2", 2, "", none)
    cluster = Cluster(client, OLD, PLAN, "run", "172.20.1", tmp_path, {"broker-2": node})
    with pytest.raises(HarnessError, match="not made by Compose"):
        cluster.renew(node, NEW)
    cluster.composed = Composed(("-p", "run", "-f", "zookeeper.yml"), {"KAFKA_VERSION": "0.10.2.2"})
    monkeypatch.setattr(clusters, "_compose", compose)
    cluster.renew(node, NEW)
    assert asked[0][0][4:6] == ["up", "--no-start"]
    assert asked[0][0][-1] == "broker-2"
    assert (node.container, cluster.version_of(node)) == (renewed, NEW)
    with pytest.raises(HarnessError, match="make broker-2 anew: no such image"):
        cluster.renew(node, OLD)


DIGEST = "5" * 64
CLASS_PATH = "java\0-cp\0/libs/jopt.jar:/libs/kafka_2.11-0.11.0.3.jar\0kafka.Kafka\0/data/server.properties"


def started(running: bool = True, inside: str = DIGEST) -> Any:
    """A node whose process is 4711."""
    state = {"Running": running, "Pid": 4711, "ExitCode": 1}
    return SimpleNamespace(
        name="broker-1",
        address="172.20.1.11",
        container=None,
        state=lambda: state,
        last_lines=lambda: "FATAL",
        said=lambda: "\tinter.broker.protocol.version = 0.11.0\n",
        run_inside=lambda *command: f"{inside}  {command[1]}\n",
    )


EVENTS: Any = SimpleNamespace(wait=lambda *_, **__: SimpleNamespace(time_nano=12))
SPOKEN = Offer(apis={1: 5, 18: 1}, supported={}, features={})


def upgraded(node: Any) -> Upgrade:
    cluster: Any = SimpleNamespace(version_of=lambda _: OLD, renew=lambda *_: None)
    none: Any = None
    made = Upgrade(node, EVENTS, cluster=cluster, version=NEW, digests={"jar": DIGEST}, run_dir=none)
    made._before = OLD.id
    return made


def test_an_upgrade_is_proved_by_the_process_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upgrade, "_command_line", lambda pid: CLASS_PATH)
    monkeypatch.setattr(upgrade, "speaks", lambda node: SPOKEN)
    assert upgraded(started()).verify() == UpgradeProof(
        pid=4711,
        time_nano=12,
        before="0.10.2.2",
        after="0.11.0.3",
        release="0.11.0.3",
        jar="kafka_2.11-0.11.0.3.jar",
        sha256=DIGEST,
        apis=2,
        fetch=5,
    )


@pytest.mark.parametrize(
    ("node", "line", "spoken", "why"),
    [
        (started(), "bash\0entrypoint", SPOKEN, "no jar of a broker"),
        (started(inside="6" * 64), CLASS_PATH, SPOKEN, "which is not one of 0.11.0.3"),
        (started(inside=""), CLASS_PATH, SPOKEN, "does not say the checksum of"),
        (started(), CLASS_PATH, None, "does not say what it speaks"),
        (started(running=False), CLASS_PATH, SPOKEN, "ended at once with 1"),
    ],
    ids=["no jar", "another jar", "no checksum", "no answer", "no process"],
)
def test_an_upgrade_that_did_not_happen_is_unproved(
    node: Any, line: str, spoken: Offer | None, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upgrade, "ANSWER_LIMIT_S", 0.0)
    monkeypatch.setattr(upgrade, "_command_line", lambda pid: line)
    monkeypatch.setattr(upgrade, "speaks", lambda node: spoken)
    with pytest.raises(FaultUnproved, match=why):
        upgraded(node).verify()


def test_a_process_that_answered_nothing_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    node = started()
    answers = iter(["", f"{DIGEST}  {JAR}\n"])
    node.run_inside = lambda *command: next(answers)
    monkeypatch.setattr(upgrade, "_command_line", lambda pid: CLASS_PATH)
    monkeypatch.setattr(upgrade, "speaks", lambda node: SPOKEN)
    assert upgraded(node).verify().sha256 == DIGEST


def test_a_downgrade_that_kafka_refuses_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    node = started()
    states = iter([{"Running": True, "Pid": 4711}])
    node.state = lambda: next(states, {"Running": False})
    node.said = lambda: f"INFO starting\n{WHY}\n\tat kafka.server.KafkaConfig\nINFO shut down\n"
    monkeypatch.setattr(upgrade, "_command_line", lambda pid: "")
    with pytest.raises(FaultUnproved) as told:
        upgraded(node).verify()
    assert str(told.value) == f"broker-1, which was 0.10.2.2, exited as 0.11.0.3: {WHY}"


def archive(name: str, content: bytes) -> Any:
    """A container that has one jar, as the engine gives it out."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        member = tarfile.TarInfo(f"libs/{name}")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    return SimpleNamespace(name="broker-1", get_archive=lambda path: (iter([packed.getvalue()]), {}))


JAR = "kafka_2.11-0.10.2.2.jar"
WHY = "java.lang.IllegalArgumentException: Version `0.11.0` is not a valid version"


def refused(container: Any, said: str = WHY, exit_code: int = 1) -> RefusedStart:
    node: Any = started()
    node.container, node.said = container, lambda: f"a line\n{said}\n"
    none: Any = None
    cluster: Any = SimpleNamespace(version_of=lambda _: NEW)
    events: Any = SimpleNamespace(wait=lambda *_, **__: SimpleNamespace(time_nano=11, exit_code=exit_code))
    digests = {"jar": hashlib.sha256(b"old").hexdigest()}
    made = RefusedStart(
        node, events, log_pattern="valid version", cluster=cluster, version=OLD, digests=digests, run_dir=none
    )
    made._before = NEW.id
    return made


def test_a_refused_downgrade_is_proved_by_its_end_and_its_jar() -> None:
    assert refused(archive(JAR, b"old")).verify() == RefusedProof(
        exit_code=1,
        time_nano=11,
        line=WHY,
        before="0.11.0.3",
        after="0.10.2.2",
        release="0.10.2.2",
        jar=JAR,
        sha256=hashlib.sha256(b"old").hexdigest(),
    )


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (refused(archive(JAR, b"new")), "which is not one of 0.10.2.2"),
        (refused(archive("jopt-simple.jar", b"old")), "no jar of a broker"),
        (refused(archive(JAR, b"old"), said="Out of memory"), "no line of it matches"),
        (refused(archive(JAR, b"old"), exit_code=137), "not by itself"),
    ],
    ids=["another jar", "no jar", "another reason", "killed"],
)
def test_a_downgrade_that_was_not_refused_is_unproved(made: RefusedStart, why: str) -> None:
    with pytest.raises(FaultUnproved, match=why):
        made.verify()


def test_a_refused_node_is_not_waited_for(tmp_path: Path) -> None:
    made, who, said, record, _ = upgrader(tmp_path)
    made.upgrade(who.broker(2))
    said.lines.clear()
    made.downgrade(who.broker(2), refused="valid version")
    told = "prove start of broker-2 as 0.10.2.2, which exits"
    assert said.lines == ["stop broker-2", "broker-2 is gone", told]
    assert record.run.releases == {"broker-2": ("0.10.2.2", "0.11.0.3", "0.10.2.2")}


def test_a_controller_is_waited_for_until_it_knows_the_metadata(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.run.upgrades.LOADED_LIMIT_S", 0.0)
    made, who, said, _, _ = upgrader(tmp_path, "4.0.2", ClusterPlan(upgrades={"4.0.2": "4.3.1"}), "controller-100")
    monkeypatch.setattr("harness.run.upgrades.speaks", lambda node: SPOKEN)
    with pytest.raises(WaitTimeout, match="controller-100 knows nothing of the metadata log"):
        made.upgrade(who.node("controller-100"))
    assert said.lines == ["stop controller-100", "prove start of controller-100 as 4.3.1"]
    knows = Offer(apis={}, supported={"metadata.version": 25}, features={"metadata.version": 25})
    monkeypatch.setattr("harness.run.upgrades.speaks", lambda node: knows)
    made.downgrade(who.node("controller-100"))
    with pytest.raises(UsageError, match="is 25 already"):
        made.finalize("metadata.version", 25)


def test_a_controller_before_3_6_does_not_tell_levels_and_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.run.upgrades.LOADED_LIMIT_S", 0.0)
    monkeypatch.setattr("harness.run.upgrades.builds.digests", lambda build: {})
    silent = Offer(apis={}, supported={"metadata.version": 11}, features={})
    telling = Offer(apis={}, supported={"metadata.version": 11}, features={"metadata.version": 7})
    monkeypatch.setattr(
        "harness.run.upgrades.speaks", lambda node: silent if node.name.startswith("controller") else telling
    )
    made, who, _, _, _ = upgrader(tmp_path, "3.3.2-kraft-to-3.5.1-kraft", apart="controller-100")
    made.upgrade(who.node("controller-100"))
    assert (made.level_of("metadata.version"), made.supported("metadata.version")) == (7, 11)
    made, who, _, _, _ = upgrader(tmp_path, "3.3.2-kraft-to-3.6.0-kraft", apart="controller-100")
    with pytest.raises(WaitTimeout, match="knows nothing of the metadata log"):
        made.upgrade(who.node("controller-100"))


def test_a_process_that_is_gone_has_no_command_line() -> None:
    assert upgrade._command_line(2**22 + 1) == ""


def raised(tmp_path: Path, value: str) -> Raise:
    properties = tmp_path / "server.properties"
    properties.write_text(f"inter.broker.protocol.version={value}\n")
    settings = {"inter.broker.protocol.version": value}
    return Raise(started(), EVENTS, settings=settings, environment=tmp_path / "e", properties=properties)


def test_a_raised_protocol_is_what_the_process_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upgrade, "SAID_LIMIT_S", 0.0)
    proof = raised(tmp_path, "0.11.0").verify()
    assert isinstance(proof, RaiseProof)
    assert proof.missing() is None
    silent = raised(tmp_path, "1.1").verify().missing()
    assert silent is not None
    assert "says it goes by the settings" in silent


def finalized(level: int, in_log: int, said: int, monkeypatch: pytest.MonkeyPatch) -> Finalize:
    answers = iter([Offer(apis={}, supported={}, features={"metadata.version": 21})])
    later = Offer(apis={}, supported={}, features={"metadata.version": said})
    monkeypatch.setattr(upgrade, "speaks", lambda node: next(answers, later))

    def wait(predicate: Any, *, what: str, timeout_s: float) -> ClusterState:
        state = ClusterState(features={"metadata.version": (in_log, 77)})
        if not predicate(state):
            raise WaitTimeout(what)
        return state

    node, observer = started(), SimpleNamespace(wait=wait)
    asked: Any = {"node": node, "members": {"broker-1": node}, "observer": observer, "ask": lambda: True}
    made = Finalize(feature="metadata.version", level=level, timeout_s=0.0, **asked)
    made.inject()
    return made


def test_a_level_is_in_the_metadata_log_and_every_node_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    proof = finalized(25, 25, 25, monkeypatch).verify()
    assert proof == FinalizeProof(feature="metadata.version", before=21, level=25, offset=77, nodes=("broker-1",))


class Taken(Said):
    """Carries out what a proof is made of."""

    def prove(self, done: Any, target: Any) -> None:
        if isinstance(done, Finalize):
            done.inject()


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([ConnectionError("no"), RequestRefused(41, "another"), None], ""),
        (
            [RequestRefused(91, "Invalid update version 9")],
            "Kafka refuses metadata.version=9: error 91: Invalid update",
        ),
    ],
)
def test_a_level_is_asked_for_until_it_is_taken_or_refused(
    answers: list[Exception | None], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoken = Offer(apis={}, supported={"metadata.version": 30}, features={"metadata.version": 7})
    monkeypatch.setattr("harness.run.upgrades.speaks", lambda node: spoken)
    monkeypatch.setattr("harness.faults.upgrade.speaks", lambda node: spoken)
    monkeypatch.setattr("harness.run.upgrades.POLL_S", 0.0)

    def update(address: object, feature: str, level: int, *, timeout_s: float) -> None:
        if (answer := answers.pop(0)) is not None:
            raise answer

    monkeypatch.setattr("harness.run.upgrades.update_feature", update)
    made, _, _, _, _ = upgrader(tmp_path, "4.0.2", apart="controller-100")
    made._nemesis = Taken()  # type: ignore[assignment]
    if why:
        with pytest.raises(UsageError, match=why):
            made.finalize("metadata.version", 9)
    else:
        made.finalize("metadata.version", 9)
    assert not answers


@pytest.mark.parametrize(("in_log", "said", "why"), [(21, 25, "the metadata log has"), (25, 21, "broker-1 do not say")])
def test_a_level_that_was_not_set_is_unproved(
    in_log: int, said: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FaultUnproved, match=why):
        finalized(25, in_log, said, monkeypatch).verify()
