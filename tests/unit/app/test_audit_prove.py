"""`kafka-chaos audit --prove` without Docker: how a configuration becomes a subject, and what a run says of it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app import audit_prove
from app.audit_matrix import measured_by
from app.audit_prove import chosen_faults, proof_request, prove, settings_to_run
from app.matrix import Matrix, MatrixCell, finished_cells
from audit.cells import LOSES_POWER
from audit.grade import AuditAnswer, Grader, ProducerCase
from audit.model import Client, Inputs, Origin, ProducerConfig, Setting
from audit.proof import Proof
from audit.report import console, data, junit, page, sarif
from audit.topics import StatedByUser, parse_topic
from evidence.errors import UsageError
from evidence.rundir import RunDir
from harness.cluster import disks, versions
from harness.run import Run
from harness.runner import Request
from harness.scenario import get_scenario
from harness.subjects import NOTHING_STATED, UserSubject, read_user_subjects, write_user_subjects
from scenarios.audit import leader_crash_behind, plan
from tests.findings import write
from tests.unit.app.test_audit_matrix import COUNTS, LOST, SUBJECT, a_run
from tests.unit.audit.cells import matrix

BEHIND = "leader-crash-behind"
CANARY = "s3cr3t-c4n4ry"


def producer(client: Client = "java", release: str | None = "2.8.2", /, **settings: str) -> ProducerConfig:
    return ProducerConfig(
        name=f"app-{CANARY}",
        client=client,
        release=release,
        settings={
            name: Setting(name, value, Origin("app.properties", line))
            for line, (name, value) in enumerate(((key.replace("_", "."), v) for key, v in settings.items()), 1)
        },
        origin=Origin("app.properties", 1),
    )


def answer(*producers: ProducerConfig, version: str = "2.8.2", topic: str = "orders") -> AuditAnswer:
    return Grader(matrix()).answer(
        Inputs(producers=producers), StatedByUser(version=version, topics=(parse_topic(topic),))
    )


def case(one: ProducerConfig, **where: str) -> ProducerCase:
    return answer(one, **where).rows[0].cases[0]


def user_subject_of(one: ProducerConfig, **where: str) -> UserSubject:
    wanted = proof_request((0, 0), case(one, **where))
    assert wanted.given is not None, wanted.why_not
    return wanted.given


# How a configuration becomes a subject


def test_a_client_is_given_what_is_written_and_nothing_else() -> None:
    given = user_subject_of(producer(acks="1", linger_ms="20", compression_type="snappy", batch_size="65536"))
    assert given.own.settings == {
        "acks": "1", "linger.ms": "20", "compression.type": "snappy", "batch.size": "65536"
    }  # fmt: skip
    assert (given.own.release, given.own.stated) == ("2.8.2", True)
    assert (given.producer.acks, given.producer.retries, given.producer.in_flight) == ("1", "many", 5)
    assert user_subject_of(producer()).own.settings == {}


def test_addresses_classes_names_and_secrets_stay_out_and_only_their_keys_are_told() -> None:
    texts = dict.fromkeys(
        ("bootstrap_servers", "key_serializer", "interceptor_classes", "client_id", "transactional_id",
         "partitioner_class", "metric_reporters", "sasl_jaas_config", "ssl_truststore_location"),
        CANARY,
    )  # fmt: skip
    numeric_secrets = {"sasl_login_retry_backoff_ms": "41", "ssl_key_password": "4711", "my_own_pin": "4711"}
    wanted = proof_request((0, 0), case(producer(acks="all", **texts, **numeric_secrets)))
    assert wanted.given is not None
    assert wanted.given.own.settings == {"acks": "all", "enable.idempotence": "true"}  # for the transactional.id
    told = " ".join(wanted.notes)
    assert all(name.replace("_", ".") in told for name in (*texts, *numeric_secrets))
    assert "in place of transactional.id" in told
    assert CANARY not in told + json.dumps(wanted.given.as_json)


def test_time_outs_are_the_runs_own_and_said_to_be() -> None:
    wanted = proof_request(
        (0, 0), case(producer(request_timeout_ms="7", delivery_timeout_ms="70000", linger_ms="50000"))
    )
    assert wanted.given is not None
    assert wanted.given.own.settings == {}
    assert "in place of delivery.timeout.ms, request.timeout.ms" in " ".join(wanted.notes)
    assert "may have them: linger.ms" in " ".join(wanted.notes)


def test_of_several_names_for_one_thing_the_one_that_counts_is_given() -> None:
    given = user_subject_of(producer("librdkafka", "2.3.0", acks="1", request_required_acks="all"))
    assert given.own.settings == {"request.required.acks": "all"}
    assert given.producer.acks == "all"


def test_what_would_make_a_client_report_otherwise_is_left_out() -> None:
    config = producer("librdkafka", "2.3.0", delivery_report_only_error="true", test_mock_num_brokers="3", retries="2")
    assert user_subject_of(config).own.settings == {"retries": "2"}


def test_the_legacy_scala_producer_is_run_synchronously_with_its_own_release() -> None:
    config = producer("scala", "0.8.2.2", producer_type="async", batch_num_messages="500", compression_codec="snappy")
    wanted = proof_request((0, 0), case(config, version="0.10.2.2"))
    assert wanted.given is not None
    assert (wanted.version, wanted.given.own.release) == ("0.10.2.2", "0.8.2.2")
    assert wanted.given.own.settings == {"batch.num.messages": "500", "compression.codec": "snappy"}
    assert (wanted.given.producer.acks, wanted.given.topic.unclean, wanted.given.own.stated) == ("0", True, True)


def test_a_release_that_is_not_here_is_run_as_the_nearest_that_does_the_same_and_that_is_told() -> None:
    wanted = proof_request((0, 0), case(producer("java", "2.6.0"), version="2.4.1"))
    assert wanted.given is not None
    assert (wanted.given.own.release, wanted.version) == ("2.8.1", "2.8.2")
    assert wanted.differs == ("run on 2.8.2, audited 2.4.1", "run with kafka-clients 2.8.1, audited 2.6.0")
    assert proof_request((0, 0), case(producer())).differs == ()


def test_what_no_client_here_does_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = producer("java", "3.0.0")  # KAFKA-13598
    wanted = proof_request((0, 0), case(config, version="3.9.2-zk"))
    assert wanted.given is not None
    assert wanted.given.own.release == "3.1.0"
    for release in ("2.8.2", "3.9.2"):
        (tmp_path / f"{release}.lock").touch()
    monkeypatch.setattr("app.audit_prove.LOCKS", tmp_path)
    wanted = proof_request((0, 0), case(config, version="3.9.2-zk"))
    assert wanted.given is None
    assert "no client that is here does what kafka-clients 3.0.0 does" in wanted.why_not


def test_a_client_that_the_brokers_do_not_understand_is_not_run() -> None:
    for one in (producer("scala", "0.8.2.2"), producer("scala", "1.1.1"), producer("java", "0.10.2.2")):
        assert (
            "understood by" in (why := proof_request((0, 0), case(one, version="4.3.1")).why_not) or "understand" in why
        )


@pytest.mark.parametrize(
    ("topic", "says"),
    [("replication.factor=2,min.insync.replicas=3", "nothing is written"), ("replication.factor=5", None)],
)
def test_a_topic_is_as_audited_as_far_as_there_are_brokers(topic: str, says: str | None) -> None:
    wanted = proof_request((0, 0), case(producer(), topic=f"orders:{topic}"))
    if says is None:
        assert wanted.given is not None
        assert wanted.given.topic.replication_factor == 3
        assert wanted.differs == ("run with 3 replicas, audited 5",)
    else:
        assert says in wanted.why_not


MIN_2 = "orders:replication.factor=3,min.insync.replicas=2"


@pytest.mark.parametrize(
    ("fault", "version", "topic", "acks", "why"),
    [
        ("last-replica", "3.9.0-kraft", MIN_2, "all", "4.3.1, on which it would be run, does otherwise than 3.9.0"),
        ("last-replica", "4.0.2", MIN_2, "all", "does otherwise than 4.0.2"),
        ("last-replica", "4.1.2", MIN_2, "all", ""),
        ("last-replica", "3.9.0-kraft", "orders", "all", ""),
        ("power-loss", "3.9.0-kraft", MIN_2, "all", ""),
        ("shrunk-isr-crash", "3.9.0-kraft", MIN_2, "1", "does otherwise than 3.9.0"),
        ("last-replica", "2.4.1", MIN_2, "all", ""),
        ("last-replica", "0.10.2.2", "orders", "all", ""),
        ("last-replica", "0.10.2.2", "orders:unclean.leader.election.enable=false", "all", "exit rather than follow"),
        ("power-loss", "0.10.2.2", "orders:unclean.leader.election.enable=false", "all", ""),
    ],
)
def test_a_fault_in_which_other_brokers_do_otherwise_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, version: str, topic: str, acks: str, why: str
) -> None:
    ran: list[UserSubject] = []

    def run(groups: Any, *_: object) -> dict[tuple[str, str, UserSubject], Proof]:
        ran.extend(one for _, given in groups for one in given)
        return {(at, fault, one): Proof(fault=fault) for at, given in groups for one in given}

    monkeypatch.setattr(audit_prove, "connect", lambda: None)
    monkeypatch.setattr(audit_prove, "ensure_image", lambda *_: None)
    monkeypatch.setattr(audit_prove, "without_disks", lambda *_: {})
    monkeypatch.setattr(audit_prove, "_run_groups", run)
    release = "0.10.2.2" if version == "0.10.2.2" else "2.8.2"
    one = producer("java", release, acks=acks)
    options = argparse.Namespace(faults=(fault,), runs_dir=tmp_path, jobs=1)
    told = prove(answer(one, version=version, topic=topic), options, lambda _: None)
    (proof,) = told.rows[0].cases[0].proved.proofs  # type: ignore[union-attr]
    assert why in proof.why_not
    assert bool(proof.why_not) is bool(why)
    assert bool(ran) is not bool(why)


def test_nothing_is_stated_beyond_the_matrix_and_the_rules_of_scenarios_else() -> None:
    within, beyond = (user_subject_of(producer(acks="1"), topic=f"t:min.insync.replicas={least}") for least in (2, 3))
    stage = cast("Run", SimpleNamespace(version=versions.get("2.8.2"), given=(within, beyond)))
    one, other = plan(stage, leader_crash_behind.stated)
    assert (one.stated.must, one.own) == (frozenset({"loses"}), within.own)
    assert one.topic.min_insync_replicas == 2
    assert other.stated is NOTHING_STATED


# Files of subjects, and runs of them


def test_subjects_are_read_as_they_were_written_and_from_a_runs_own_facts(tmp_path: Path) -> None:
    given = (user_subject_of(producer(acks="1")), user_subject_of(producer("librdkafka", "2.3.0")))
    write_user_subjects(given, tmp_path / "s.json")
    assert read_user_subjects(tmp_path / "s.json") == given
    request = Request(
        scenario=get_scenario("audit-leader-crash-behind"),
        version=versions.get("2.8.2"),
        subjects=tmp_path / "s.json",
    )
    assert request.given == given
    assert not request.observed
    assert request.command.endswith(f"--subjects {tmp_path / 's.json'}")


@pytest.mark.parametrize("text", ["{}", "[]", "no json", '{"given": [{"producer": {}}]}'])
def test_a_file_of_no_subjects_is_one_clear_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(UsageError, match="no subjects"):
        read_user_subjects(tmp_path / "s.json")


def test_only_scenarios_of_the_audit_take_subjects(tmp_path: Path) -> None:
    write_user_subjects((user_subject_of(producer()),), tmp_path / "s.json")
    request = Request(scenario=get_scenario("baseline"), version=versions.get("2.8.2"), subjects=tmp_path / "s.json")
    with pytest.raises(UsageError, match="takes no --subjects"):
        _ = request.given


def a_proof(root: Path, *given: UserSubject, name: str = "p1", lost: bool = True, **facts: Any) -> RunDir:
    subjects, counts = [], []
    for number, one in reversed(list(enumerate(given))):  # in a run they are by topic and client
        own = {"own": dict(one.own.settings), "client_release": one.own.release}
        subjects.append(SUBJECT | {"client": "java", "partition": number} | own)
        counts.append(COUNTS | {"partition": number})
    run_dir = a_run(root, name, subjects=subjects, given=[one.as_json for one in given], **OF_A_RUN | facts)
    write(run_dir, {"findings": [LOST] if lost else [], "subjects": counts})
    return run_dir


OF_A_RUN: Any = {"overridden": {}, "seed": 1}


def test_a_proof_is_no_measurement_of_the_matrix_and_no_finished_run_of_anybody_elses(tmp_path: Path) -> None:
    given = user_subject_of(producer(acks="1"))
    run_dir = a_proof(tmp_path / "runs", given)
    with pytest.raises(UsageError, match="somebody's own"):
        measured_by(run_dir)
    path = tmp_path / "s.json"
    write_user_subjects((given,), path)
    cell = MatrixCell(scenario=f"audit-{BEHIND}", version="2.8.2", seed=1)
    assert finished_cells(tmp_path / "runs", {}) == {}
    assert finished_cells(tmp_path / "runs", {}, None, path) == {cell: run_dir}
    write_user_subjects((user_subject_of(producer(acks="1", linger_ms="5")),), path)
    assert finished_cells(tmp_path / "runs", {}, None, path) == {}


def test_a_proof_in_doubt_is_not_the_end_of_it(tmp_path: Path) -> None:
    given = user_subject_of(producer(acks="1"))
    a_proof(tmp_path / "runs", given, sound=False)
    write_user_subjects((given,), tmp_path / "s.json")
    assert finished_cells(tmp_path / "runs", {}, None, tmp_path / "s.json") == {}


@pytest.mark.parametrize("broken", [True, False])
def test_subjects_are_run_together_and_by_themselves_only_if_that_proves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    monkeypatch.setattr(audit_prove, "connect", lambda: None)
    monkeypatch.setattr(audit_prove, "ensure_image", lambda *_: None)
    ran: list[int] = []

    def run(self: Matrix, cells: Sequence[MatrixCell]) -> dict[MatrixCell, RunDir]:
        assert self.subjects is not None
        given = read_user_subjects(self.subjects)
        ran.append(len(given))
        sound = not broken or len(given) == 1
        return {cell: a_proof(tmp_path, *given, name=f"p{len(ran)}", sound=sound) for cell in cells}

    monkeypatch.setattr(Matrix, "run", run)
    options = argparse.Namespace(faults=(BEHIND,), runs_dir=tmp_path, jobs=1)
    told = prove(answer(producer(acks="1"), producer(acks="1", linger_ms="5")), options, lambda _: None)
    assert ran == ([2, 1, 1] if broken else [2])
    found = [proof for row in told.rows for each in row.cases if each.proved for proof in each.proved.proofs]
    # Each has its own counts, whatever the order in the run.
    assert [proof.run and proof.run.lost for proof in found] == ([1, 1] if broken else [1, 0])


# The answer


@pytest.fixture
def _no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_prove, "connect", lambda: None)
    monkeypatch.setattr(audit_prove, "ensure_image", lambda *_: None)


def proved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one: ProducerConfig, fault: str = BEHIND, **how: Any
) -> AuditAnswer:
    """The answer when the runs of a matrix are this one."""

    def run(_: Any, cells: Sequence[MatrixCell]) -> dict[MatrixCell, RunDir]:
        return {cell: a_proof(tmp_path, user_subject_of(one), scenario=cell.scenario, **how) for cell in cells}

    monkeypatch.setattr(Matrix, "run", run)
    options = argparse.Namespace(faults=(fault,), runs_dir=tmp_path, jobs=1)
    return prove(answer(one), options, lambda _: None)


@pytest.mark.usefixtures("_no_engine")
def test_a_proof_that_agrees_stands_beside_the_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = proved(tmp_path, monkeypatch, producer(acks="1"))
    (row,) = told.rows
    shown = console.render(told, width=400)
    assert f"leader-crash-behind: of 12 acknowledged records 1 lost (as the matrix has it; run {tmp_path}/p1)" in shown
    assert "time-outs of the runs: request.timeout.ms=12000" in shown
    assert [one.run.run for one in row.cases[0].findings if one.fault == BEHIND] == ["behind-1"]
    assert "THE MATRIX" not in shown


@pytest.mark.usefixtures("_no_engine")
def test_a_disagreement_is_told_and_takes_no_harm_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = proved(tmp_path, monkeypatch, producer(acks="1"), lost=False)
    assert "THE MATRIX HAS IT OTHERWISE: loses in 2 of 2 runs" in console.render(told, width=400)
    assert "not as stated beforehand" in console.render(told, width=400)
    assert told.rows[0].grade == answer(producer(acks="1")).rows[0].grade == "D"


@pytest.mark.usefixtures("_no_engine")
def test_harm_that_only_the_proof_shows_is_graded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = proved(tmp_path, monkeypatch, producer(acks="1"), "broker-restart")
    assert (answer(producer(acks="1")).rows[0].grade, told.rows[0].grade) == ("D", "F")
    assert "THE MATRIX HAS IT OTHERWISE: loses in 0 of 1 runs" in console.render(told, width=400)


@pytest.mark.usefixtures("_no_engine")
def test_a_proof_is_what_there_is_where_nothing_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = proved(tmp_path, monkeypatch, producer(acks="1"), "leader-cut-off")
    (one,) = told.rows[0].cases
    assert "leader-cut-off" not in one.not_measured
    assert "the matrix has no such cell" in console.render(told, width=400)
    assert any(each.fault == "leader-cut-off" for each in one.findings)


@pytest.mark.usefixtures("_no_engine")
def test_a_run_in_doubt_proves_nothing_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = proved(tmp_path, monkeypatch, producer(acks="1"), "leader-cut-off", sound=False)
    assert "leader-cut-off: not measured: p1 measures nothing" in console.render(told, width=400)
    assert "leader-cut-off" in told.rows[0].cases[0].not_measured


@pytest.mark.usefixtures("_no_engine")
@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("dark", sorted(LOSES_POWER))
def test_where_there_are_no_disks_loss_of_power_alone_is_not_proved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dark: str, there: bool
) -> None:
    asked: list[str] = []

    def probe(_client: object, _image: str, file_system: str) -> None:
        asked.append(file_system)
        if not there:
            raise UsageError("no loop devices here")

    def run(_: Any, cells: Sequence[MatrixCell]) -> dict[MatrixCell, RunDir]:
        ran.extend(cell.scenario for cell in cells)
        return {
            cell: a_proof(tmp_path, user_subject_of(producer(acks="1")), name=cell.scenario, scenario=cell.scenario)
            for cell in cells
        }

    ran: list[str] = []
    monkeypatch.setattr(disks, "probe", probe)
    monkeypatch.setattr(Matrix, "run", run)
    options = argparse.Namespace(faults=(BEHIND, dark), runs_dir=tmp_path, jobs=1)
    told = prove(answer(producer(acks="1"), producer(acks="1")), options, lambda _: None)
    assert asked == ["ext4"]
    assert ran == [f"audit-{BEHIND}", *([f"audit-{dark}"] if there else [])]
    (one, _) = (row.cases[0] for row in told.rows)
    shown = console.render(told, width=400)
    assert (f"{dark}: not measured: no loop devices here" in shown) is not there
    assert (dark in one.not_measured) is not there
    assert bool(one.ungraded) is there
    assert one.grade == "D"


def test_a_topic_that_flushes_is_run_as_one_that_does() -> None:
    flushes = user_subject_of(producer(acks="1"), topic="orders:flush.messages=1").topic
    assert flushes.settings["flush.messages"] == "1"
    assert "flush.messages" not in user_subject_of(producer(acks="1")).topic.settings


@pytest.mark.usefixtures("_no_engine")
def test_every_format_has_the_proof_and_none_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import jsonschema

    root = Path(__file__).parents[3]
    told = proved(tmp_path, monkeypatch, producer(acks="1", sasl_jaas_config=f"password={CANARY}-2"))
    whole = json.loads(data.render(told))
    jsonschema.Draft202012Validator(json.loads((root / "docs/audit.schema.json").read_text())).validate(whole)
    (proof,) = whole["producers"][0]["cases"][0]["proved"]["runs"]
    assert (proof["counts"]["lost"], proof["agrees"], proof["as_stated"]) == (1, True, True)
    reports = [json.dumps(whole), sarif.render(told), junit.render(told), page.render(told, style="")]
    official = json.loads((root / "tests/data/sarif/sarif-2.1.0.json").read_text())
    jsonschema.Draft202012Validator(official).validate(json.loads(sarif.render(told)))
    assert all(f"{tmp_path}/p1" in text for text in reports)
    assert not any(f"{CANARY}-2" in text for text in reports)
    assert CANARY not in "".join(path.read_text() for path in tmp_path.glob("subjects-*.json"))


def test_a_fault_that_cannot_be_proved_is_refused_with_those_that_can() -> None:
    assert chosen_faults((BEHIND, BEHIND)) == [BEHIND]
    assert "none" not in chosen_faults(())
    with pytest.raises(UsageError, match=r"--faults 'meteorite': what can be proved is .*zombie-leader"):
        chosen_faults(("meteorite",))


def test_of_nothing_written_nothing_is_given_and_nothing_said() -> None:
    assert settings_to_run(case(producer()).resolved, "2.8.2") == ({}, ())
