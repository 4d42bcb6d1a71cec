"""Lines of the ledger: written at once, read as they were written, never taken for something else."""

from __future__ import annotations

import gzip
import hashlib
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from app.commands import replay
from evidence import ledger
from evidence.errors import UsageError
from evidence.ledger import AnyLine, Excluded, Load, RunEnded, RunJudged, RunStarted
from evidence.run import NO_HOST, NOTHING_DOCUMENTED
from tests.ledgers import ended, judged, started
from tests.records import run_record


def test_a_line_is_read_as_it_was_written() -> None:
    line = started("r1", load=Load(load_1=0.5, cpu=1.0))
    assert ledger.decode(ledger.encode(line)) == line
    assert ledger.encode(line).startswith('{"kind":"started","schema":1,"run":"r1"')


def test_lines_are_added_and_none_is_lost_when_many_are_written_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / ledger.FILE
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: ledger.append(path, started(f"r{number}")), range(40)))
    assert sorted(line.run for _, line in ledger.read(path)) == sorted(f"r{number}" for number in range(40))


def test_files_that_are_compressed_are_read_like_others(tmp_path: Path) -> None:
    text = ledger.encode(started("r1"))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(f"{text}\n".encode()))
    (tmp_path / "b.jsonl").write_text(f"{text}\n")
    (tmp_path / "c.json").touch()
    assert [path.name for path in ledger.files_of(tmp_path)] == ["a.jsonl.gz", "b.jsonl"]
    assert [list(ledger.read(path)) for path in ledger.files_of(tmp_path)] == [[(text, started("r1"))]] * 2


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b"x", mtime=0)[:-4]], ids=["another", "cut off"])
def test_a_compressed_file_that_is_none_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="not readable as a ledger"):
        list(ledger.read(path))


def test_what_a_dying_program_wrote_stays_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / ledger.FILE
    ledger.append(path, started("r1"))
    with path.open("a") as file:
        file.write('{"kind":"star')
    ledger.append(path, started("r2"))
    first, torn, last = path.read_text().splitlines()
    assert (ledger.decode(first).run, torn, ledger.decode(last).run) == ("r1", '{"kind":"star', "r2")
    with pytest.raises(UsageError, match=r"ledger.jsonl, line 2: not a line of the ledger .*removed by hand"):
        list(ledger.read(path))


def test_a_killed_process_leaves_the_line_that_it_wrote(tmp_path: Path) -> None:
    path = tmp_path / ledger.FILE
    told = (
        "import os, signal; from pathlib import Path; from evidence import ledger; from tests.ledgers import started; "
        f"ledger.append(Path({str(path)!r}), started('r1')); os.kill(os.getpid(), signal.SIGKILL)"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", told], cwd=root, check=False, env=os.environ | {"PYTHONPATH": str(root)}
    )
    assert done.returncode == -9
    assert [line.run for _, line in ledger.read(path)] == ["r1"]


@pytest.mark.parametrize(
    "text",
    ["", "{}", "no json", '{"kind":"started","schema":1,"run":"r"}', '{"kind":"rumour","schema":1,"run":"r","at":"x"}'],
)
def test_what_is_no_line_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / ledger.FILE
    path.write_text(f"{ledger.encode(started('r1'))}\n{text}\n{ledger.encode(ended('r1'))}\n")
    with pytest.raises(UsageError, match=r"line 2: not a line of the ledger"):
        list(ledger.read(path))


def test_a_line_of_another_schema_or_with_a_field_that_nobody_knows_is_refused() -> None:
    text = ledger.encode(ended("r1"))
    for other in (text.replace('"schema":1', '"schema":2'), text.replace('"run"', '"name":"x","run"')):
        with pytest.raises(ValueError, match=r"schema 2|unknown field `name`"):
            ledger.decode(other)


def test_a_file_that_has_no_lines_is_an_empty_ledger(tmp_path: Path) -> None:
    (tmp_path / ledger.FILE).write_text("")
    assert list(ledger.read(tmp_path / ledger.FILE)) == []
    with pytest.raises(UsageError, match="not readable as a ledger"):
        list(ledger.read(tmp_path / "none"))


def test_lines_of_a_run_stand_together_in_the_order_of_what_happened() -> None:
    lines: list[AnyLine] = [judged("r1", "as-documented"), ended("r1"), started("r2"), started("r1")]
    texts = ledger.in_order((ledger.encode(line), line) for line in [*lines, lines[0]])
    assert [type(ledger.decode(text)) for text in texts] == [RunStarted, RunEnded, RunJudged, RunStarted]
    assert [ledger.decode(text).run for text in texts] == ["r1", "r1", "r1", "r2"]


def test_the_line_of_a_start_tells_a_modified_tree_and_what_is_the_users_own() -> None:
    run = run_record(run="r1", commit="abc+", host=msgspec.structs.replace(NO_HOST, cores=2))
    line = ledger.started(run, None)
    assert (line.commit, line.modified, line.observed, line.host.cores) == ("abc", True, False, 2)
    own = ledger.started(msgspec.structs.replace(run, commit=None, overridden={"a": "b"}), None)
    assert (own.commit, own.modified, own.observed) == (None, False, True)


def test_the_digest_is_of_what_is_documented_and_of_nothing_else() -> None:
    documented = msgspec.structs.replace(NOTHING_DOCUMENTED, required=("lost-write",))
    one, other = run_record(run="r1", documented=documented), run_record(run="r2", documented=documented)
    assert ledger.started(one, None).documented == ledger.started(other, None).documented
    allowed = msgspec.structs.replace(NOTHING_DOCUMENTED, allowed=("lost-write",))
    weaker = msgspec.structs.replace(one, documented=allowed)
    assert ledger.started(weaker, None).documented != ledger.started(one, None).documented


def test_what_is_told_of_a_run_has_no_place_of_one_machine_and_no_separator_of_lines(tmp_path: Path) -> None:
    run = run_record(
        run="r1", failure="/home/me/runs/r1/data: gone\u2028\udcff", started_wall_ns=0, ended_wall_ns=10**9
    )
    line = ledger.ended(run, None)
    assert (line.failure, line.seconds) == (r"data: gone\u2028\udcff", 1.0)
    ledger.append(tmp_path / "l", line)
    assert [each for _, each in ledger.read(tmp_path / "l")] == [line]


def test_a_failure_in_the_code_is_told_without_where_the_code_lies() -> None:
    failure = f'{ledger.__file__}, line 104: refused; File "{msgspec.__file__}", line 1'
    line = ledger.ended(run_record(run="r1", failure=failure, started_wall_ns=0, ended_wall_ns=10**9), None)
    assert line.failure == 'evidence/ledger.py, line 104: refused; File "msgspec/__init__.py", line 1'


def test_a_line_that_excludes_says_why() -> None:
    with pytest.raises(ValueError, match="why"):
        ledger.decode('{"kind":"excluded","schema":1,"run":"r1","at":"x"}')
    assert Excluded(schema=1, run="r1", at="x", why="w").why == "w"


def test_a_run_of_a_mutant_counts_nowhere_and_is_named() -> None:
    line = ledger.started(run_record(mutant="no-truncation"), None)
    assert (line.observed, line.mutant) == (True, "no-truncation")
    assert not ledger.started(run_record(), None).observed


def test_a_command_has_no_directories_of_the_users_files_and_tells_what_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, subjects = tmp_path / "my clients" / "client.py", tmp_path / "subjects.toml"
    own.parent.mkdir()
    own.write_text("pass")
    subjects.write_text("x = 1")
    client = shlex.quote(shlex.join([f"{tmp_path}/venv/bin/python", str(own), "--log=" + str(tmp_path / "log")]))
    command = f"kafka-chaos run s --version 4.3.1 --client {client} --subjects {subjects} --setting log.dir=/data"
    line = ledger.started(run_record(command=command), None)
    assert line.command == (
        "kafka-chaos run s --version 4.3.1 --client 'python client.py --log=log' --subjects subjects.toml "
        "--setting log.dir=/data"
    )
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (own, subjects)}
    assert line.files == digests
    monkeypatch.chdir(own.parent)
    assert replay.others(line.files) == ["subjects.toml"]
    own.write_text("other")
    assert replay.others(line.files) == ["client.py", "subjects.toml"]


@pytest.mark.parametrize(
    "command",
    [
        "kafka-chaos run s --version 4.3.1 --seed 1",
        "kafka-chaos run s --client java-2.8.2",
        "kafka-chaos run s --client 'client --registry http://host/path'",
        "kafka-chaos run s --client 'no end",
        "kafka-chaos run s --client",
    ],
)
def test_a_command_that_names_no_file_stays_as_it_is(command: str) -> None:
    assert ledger.without_directories(command) == (command, {})
