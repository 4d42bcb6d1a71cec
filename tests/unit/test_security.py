"""SECURITY.md says which rights are taken and by what: held to the code that takes them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from app.cli import COMMANDS, main
from evidence import ledger
from evidence.errors import UsageError
from harness.scenario import all_scenarios
from tests.ledgers import judged, started

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()
GRANTS = ("cap_add", "privileged", "pid_mode", "device_cgroup_rules", "security_opt", "devices", "ipc_mode")
ROOMS = ("app", "harness", "pages", "judgement", "analysis", "audit", "evidence", "kafka_chaos")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading."""
    part = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def granted() -> Iterator[tuple[str, str, object]]:
    """(file, what, value) of everything that containers are granted, in code and in Compose files."""
    for path in (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if any(f"{what}=" in text for what in GRANTS) else ():
            if isinstance(node, ast.keyword) and node.arg in GRANTS:
                yield path.relative_to(ROOT).as_posix(), node.arg, ast.literal_eval(node.value)
    for path in sorted((ROOT / "compose").glob("*.yml")):
        told = yaml.safe_load(path.read_text())
        for service in (*told["services"].values(), *(one for name, one in told.items() if name.startswith("x-"))):
            for key in {*GRANTS, "ports", "network_mode"} & set(service):
                yield "compose/*.yml", key, service[key]


def test_containers_have_the_rights_that_are_told_and_no_others() -> None:
    found: dict[str, set[tuple[str, str]]] = {}
    for place, what, value in granted():
        found.setdefault(place, set()).add((what, str(value)))
    node = {("cap_add", "['NET_ADMIN']")}
    assert found == {
        "compose/*.yml": node,
        "harness/setup/doctor.py": node,
        "harness/cluster/disks.py": {
            ("cap_add", "['SYS_ADMIN', 'SYS_PTRACE']"),
            ("device_cgroup_rules", "['b 7:* rwm', 'c 10:237 rwm']"),
            ("security_opt", "['apparmor=unconfined', 'label=disable']"),
            ("pid_mode", "host"),
        },
    }
    told = {row[0]: row[1] for row in rows("What containers may do")}
    words = {place: set(re.findall(r"`([A-Z_]+)`", rights)) for place, rights in told.items()}
    assert [words[place] for place in words] == [{"NET_ADMIN"}, {"SYS_ADMIN", "SYS_PTRACE"}]


def test_the_mounter_is_started_where_it_is_told() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), function.name)
        for path in (ROOT / "harness").rglob("*.py")
        if "DiskMounter(" in (text := path.read_text())
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef) and "DiskMounter(" in ast.unparse(function)
    }
    disks = "harness/cluster/disks.py"
    assert found == {
        ("harness/runner.py", "_carry_out"),
        *((disks, name) for name in ("release", "probe", "require_maker")),
    }
    paragraph = PAGE.partition("disks of their own (")[2].partition("`doctor`")[0]
    named = [all_scenarios()[name] for name in re.findall(r"`([a-z-]+)`", paragraph)]
    assert len(named) == 3
    assert all(any(one.cluster_of(case).disks for case in one.cases.values()) for one in named)


def test_words_that_write_control_groups_are_told() -> None:
    writers = {path.stem for path in (ROOT / "harness" / "faults").glob("*.py") if "cgroups import" in path.read_text()}
    assert writers == {"slow_disk", "pressure"}
    (row,) = (row for row in rows("What it may do on your machine") if "control groups" in row[1])
    assert set(re.findall(r"run\.(\w+)", row[2])) == {"slow_disk", "squeeze_cpu", "squeeze_memory"}
    assert "run.slow_disk(" in Path(all_scenarios()["slow-disk"].path).read_text()


def test_each_command_is_in_one_row() -> None:
    table = rows("What it may do on your machine")
    without, engine = ({word.split()[0] for word in re.findall(r"`([^`]+)`", table[at][2])} for at in (0, 1))
    assert without | engine == set(COMMANDS)
    assert without & engine == {"audit", "compare"}  # of files, and --prove; of runs, and --kafka-under-test


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise UsageError("the engine was asked")

    monkeypatch.setattr("docker.from_env", refused)
    monkeypatch.setattr("docker.DockerClient", refused)


def ledger_of(folder: Path) -> str:
    folder.mkdir()
    for line in (started("r1"), judged("r1")):
        ledger.append(folder / ledger.FILE, line)
    return str(folder)


@pytest.mark.usefixtures("no_engine")
@pytest.mark.slow
def test_commands_that_need_no_engine_ask_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, one = tmp_path / "saved", ledger_of(tmp_path / "one")
    saved.mkdir()
    (saved / "server.log").write_text("[2026-01-01 00:00:00,000] INFO Kafka version: 4.3.1 (x)\n")
    (saved / "producer.properties").write_text("bootstrap.servers=a:9092\nacks=1\n")
    asked = {
        "atlas": ["--version", "4.3"],
        "audit": [str(saved)],
        "compare": [one, one],
        "findings": [],
        "incident": [str(saved)],
        "ledger": [],
        "list": ["leader-crash"],
        "museum": ["--version", "4.3.1"],
        "prune": [one, "--older-than", "1d"],
    }
    for command, options in asked.items():
        main([command, *options])
        assert "the engine was asked" not in capsys.readouterr().err, command


@pytest.mark.usefixtures("no_engine")
@pytest.mark.parametrize(
    "command", [["run", "baseline", "--version", "4.3.1"], ["cluster", "--version", "4.3.1"], ["clean"]]
)
def test_commands_that_need_one_ask_it(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    main(command)
    assert "the engine was asked" in capsys.readouterr().err
