"""`kafka-chaos audit` as people call it: files, options, messages, exit statuses; nothing heavy is loaded."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from app import audit_page, cli
from audit.cells import FAULTS, LINES
from audit.options import add_options
from audit.readers import registry
from audit.report import words
from results import MEASURED_ON
from tests.unit.audit.cells import cell, dark, matrix, run
from tests.unit.test_imports import HEAVY

ROOT = Path(__file__).parents[3]
CANARY = "s3cr3t-c4n4ry"


@pytest.fixture(autouse=True)
def _hand_written_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.matrix.load", lambda: tuple(matrix()))


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "producer.properties"
    path.write_text("bootstrap.servers=kafka:9092\nacks=1\n")
    return path  # type: ignore[return-value]


JAVA = ("--client", "java-2.8.2", "--brokers-version", "2.8.2")


LIGHT = {"javaproperties": "javaproperties", "pyyaml": "yaml", "jinja2": "jinja2", "argcomplete": "argcomplete"}
"""Packages that are enough to audit files, and how they are imported."""


def audit(*arguments: str | Path) -> int:
    return cli.main(["audit", *map(str, arguments)])


def test_a_file_is_graded_and_that_is_status_0(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit("producer.properties", *JAVA) == 0
    said = capsys.readouterr()
    assert said.out.startswith("D at best producer.properties → any topic   producer.properties:")
    assert "acks=1 (line 2)" in said.out
    assert said.err == ""


def test_fail_on_ends_with_1_and_says_what_met_it(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(conf, *JAVA, "--fail-on", "loss") == 1
    assert "--fail-on loss: producer.properties → any topic: 37 of 37" in capsys.readouterr().err
    assert audit(conf, *JAVA, "--fail-on", "reorder") == 0
    assert audit(conf, *JAVA, "--fail-on", "reorder,duplicate") == 1


def test_power_loss_fails_by_its_own_name_alone(
    conf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("audit.matrix.load", lambda: (*matrix(), *dark()))
    conf.write_text("bootstrap.servers=kafka:9092\nenable.idempotence=true\n")
    assert audit(conf, *JAVA, "--fail-on", "loss,duplicate,reorder") == 0
    assert audit(conf, *JAVA, "--fail-on", "power-loss") == 1
    assert "--fail-on power-loss: producer.properties → any topic: 7 of 12" in capsys.readouterr().err
    assert audit(conf, *JAVA, "--fail-on", "power-loss", "--topic", "t:flush.messages=1") == 0


def test_faults_are_of_a_proof(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(conf, *JAVA, "--faults", "time-out") == 254
    assert "add --prove" in capsys.readouterr().err
    assert audit(conf, *JAVA, "--prove", "--faults", "meteorite") == 254
    assert "'meteorite': what can be proved is" in capsys.readouterr().err


def test_a_baseline_accepts_what_is_known_also_when_lines_move(conf: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    assert audit("producer.properties", *JAVA, "--fail-on", "loss", "--write-baseline", known) == 0
    conf.write_text("# a line more\n\n" + conf.read_text())
    assert audit("producer.properties", *JAVA, "--fail-on", "loss", "--baseline", known) == 0
    (tmp_path / "other.properties").write_text("bootstrap.servers=kafka:9092\nacks=1\n")
    assert audit("other.properties", *JAVA, "--fail-on", "loss", "--baseline", known) == 1


@pytest.mark.parametrize("form", ["console", "html", "json", "sarif", "junit"])
def test_each_format_is_written_to_a_file_or_said(
    form: str, conf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(conf, *JAVA, "--format", form) == 0
    said = capsys.readouterr().out
    assert audit(conf, *JAVA, "--format", form, "--output", tmp_path / "out") == 0
    written = (tmp_path / "out").read_text()
    assert "producer.properties" in written
    assert said if form == "console" else said == written
    assert capsys.readouterr().out == f"{form}: {tmp_path / 'out'}\n"


def test_a_client_alone_is_audited_with_its_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(*JAVA, "--topic", "orders:replication.factor=3,min.insync.replicas=1") == 0
    assert "java 2.8.2 with its defaults → orders" in capsys.readouterr().out


def test_the_rest_is_audited_if_one_file_cannot_be_read(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (conf.parent / "broken.yml").write_text("spring: [kafka: {producer:\n")
    assert audit(conf.parent, "nowhere.properties", *JAVA, "--quiet") == 0
    said = capsys.readouterr().out
    assert "producer.properties → any topic" in said
    assert "nowhere.properties" in said
    assert "broken.yml" in said


def test_nothing_to_audit_is_254_with_the_way_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("nothing of Kafka's")
    assert audit(tmp_path) == 254
    assert "no producer is configured in" in (said := capsys.readouterr().err)
    assert "--client java-2.8.2" in said
    assert audit(tmp_path / "nowhere.properties") == 254
    assert "nowhere.properties" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "there is no PATH"),
        (("--bootstrap", "localhost:1"), "does not know what its producers are set to"),
        (("--client", "java", "--output", "/nowhere/at/all"), "cannot be written"),
        (("--client", "kafkajs-2"), "no client: java, librdkafka or scala"),
        (("--client", "java-new"), "no client"),
        (("--client", "java", "--brokers-version", "latest"), "no release: write it as"),
        (("--client", "java", "--brokers-version", "3.9.2-zoo"), "no release: write it as"),
        (("--client", "java", "--topic", ":replication.factor=3"), "names no topic"),
        (("--client", "java", "--topic", "a:acks=1"), "is not one of replication.factor"),
        (("--client", "java", "--topic", "a:replication.factor=0"), "no value of replication.factor"),
        (("--client", "java", "--topic", "a:replication.factor"), "not key=value"),
        (("--client", "java", "--baseline", "nowhere.json"), "no such baseline"),
        (("x.properties", "--env", "ACKS"), "write it as NAME=VALUE"),
    ],
)
def test_bad_options_are_a_line_and_254(
    arguments: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(*arguments) == 254
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def test_an_effect_that_there_is_not_is_bad_usage(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        audit(conf, "--fail-on", "losses")
    assert ended.value.code == 254
    assert "is not one of loss, duplicate, reorder" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["console", "html", "json", "sarif", "junit"])
def test_no_secret_is_in_any_output(form: str, conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf.write_text(
        "bootstrap.servers=kafka:9092\nacks=1\n"
        f'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="u" '
        f'password="{CANARY}";\nssl.keystore.password={CANARY}\nssl.key.password={CANARY}\n'
        f"unknown.password.key={CANARY}\nmy.url=https://me:{CANARY}@host/\nretries=password={CANARY}\n"
    )
    (conf.parent / "application.yml").write_text(
        "spring:\n  kafka:\n    producer:\n      acks: 1\n    properties:\n"
        f"      sasl.jaas.config: 'x required password=\"{CANARY}\";'\n      token: {CANARY}\n  bad: [\n"
    )
    known = conf.parent / "known.json"
    audit(conf.parent, "--env", f"PASSWORD={CANARY}", *JAVA, "--format", form, "--write-baseline", known)
    said = capsys.readouterr()
    assert said.out
    assert CANARY not in said.out + said.err + known.read_text()


def test_a_measured_cell_is_what_decides(
    conf: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("audit.matrix.load", lambda: (cell("broker-restart", run("only-1", 8, lost=2)),))
    audit(conf, *JAVA)
    assert capsys.readouterr().out.startswith("F producer.properties".replace("F ", "F    "))
    monkeypatch.setattr("audit.matrix.load", tuple)
    audit(conf, *JAVA)
    said = capsys.readouterr().out
    assert said.startswith("not measured producer.properties")
    assert "nothing is measured yet" in said


def test_an_audit_of_files_loads_nothing_heavy(conf: Path) -> None:
    told = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from app import cli; "
        f"status = cli.main(['audit', {str(conf)!r}]); print(status, *sys.modules)"
    )
    seen = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout
    status, *modules = seen.splitlines()[-1].split()
    assert status == "0"
    assert "audit.grade" in modules
    tops = {name.split(".")[0] for name in modules}
    assert tops & set(HEAVY) == set()
    ours = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    others = {name for name in tops - ours - sys.stdlib_module_names if not name.startswith("_")}
    assert others <= {*LIGHT.values(), "cython_runtime", "sitecustomize"}


def test_the_bundled_examples_are_audited_with_the_measured_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    for example in sorted(path for path in (ROOT / "audit" / "examples").iterdir() if path.is_dir()):
        assert audit(example, "--format", "json") == 0
        assert json.loads(capsys.readouterr().out)["producers"], example


def test_what_is_said_to_measure_a_fault_is_there() -> None:
    from app.audit_cells import scenarios
    from harness.scenario import all_scenarios

    assert all_scenarios().keys() >= words.OWN_SCENARIOS
    assert FAULTS.keys() - words.OWN_SCENARIOS - {"none"} <= scenarios().keys()
    assert MEASURED_ON.keys() == LINES.keys()


def test_the_page_shows_what_the_commands_on_it_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(ROOT)
    page = (ROOT / audit_page.PAGE).read_text()
    assert len(audit_page.EXAMPLE.findall(page)) >= 2
    assert audit_page.renewed(page) == page, "`make docs` writes it anew"


def test_the_page_has_every_format() -> None:
    assert registry.table() in (ROOT / audit_page.PAGE).read_text(), "`make docs` writes it anew"


def test_the_hook_runs_for_whatever_a_format_may_be_in() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert (hook["types"], hook["pass_filenames"], "files" in hook) == (["text"], False, False)
    names = [name for one in registry.formats() for name in one.files]
    assert [name for name in names if re.search(hook["exclude"], name)] == []
    assert re.search(hook["exclude"], "docs/README.md")


def test_the_page_names_every_option_and_how_little_is_installed(conf: Path) -> None:
    page = (ROOT / audit_page.PAGE).read_text()
    parser = argparse.ArgumentParser()
    add_options(parser)
    named = {name for action in parser._actions for name in action.option_strings if name.startswith("--")}
    assert {name for name in named if name not in page} <= {"--help"}
    assert "pip install './kafka-chaos[sources]'" in page
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(LIGHT) <= {Requirement(one).name for one in project["dependencies"]}
