"""Large histories of others on Spark: the same findings as in one process, whichever way the command takes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from analysis import jsonl
from analysis.jsonl import check_history
from analysis.large_history import check_large
from analysis.spark import open_context
from evidence.errors import EXIT_CONTRADICTED, EXIT_USAGE, UsageError
from evidence.findings import Findings
from tests.findings import timeless
from tests.properties import examples
from tests.unit.analysis.histories_of_others import Line, as_bytes, history

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    context = open_context("local[2]", str(tmp_path_factory.mktemp("spark")))
    yield context
    context.stop()


def mixed(histories: int) -> list[Line]:
    """Many random histories in one, with keys and processes of their own, since a job takes a second."""
    return [line for seed in range(histories) for line in history(Random(seed), name=f"{seed}-")]


def test_spark_finds_what_one_process_finds(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    content = as_bytes(mixed(examples(400)))
    for damage in (b"", b"\n\xff{\n"):
        path.write_bytes(content[:2000] + damage + content[2000:])
        whole = check_history(path)
        assert len({one.anomaly for one in whole.findings}) >= (10 if not damage else 3)
        assert timeless(check_large(spark, path, range_bytes=60_000, keys_bytes=60_000)) == timeless(whole)


def test_spark_refuses_another_file(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text("[]\n" * 10)
    with pytest.raises(UsageError, match="no history"):
        check_large(spark, path)
    path.write_text("")
    assert timeless(check_large(spark, path)) == timeless(check_history(path))


def test_the_command_takes_spark_if_a_master_is_named(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_bytes(as_bytes(mixed(5)))
    command = [sys.executable, "-m", "analysis.jsonl", str(path), "--json", "--master", "local[1]"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == EXIT_CONTRADICTED, done.stderr
    whole = check_history(path).as_json()
    assert json.loads(done.stdout)["findings"] == json.loads(json.dumps(whole["findings"]))
    nowhere = subprocess.run([*command[:3], str(tmp_path / "none"), *command[4:]], capture_output=True, check=False)
    assert nowhere.returncode == EXIT_USAGE


def test_a_large_history_is_checked_on_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "history.jsonl"
    path.write_bytes(as_bytes(mixed(2)))
    monkeypatch.setattr(jsonl, "LARGE", path.stat().st_size)
    seen: list[tuple[str, Path]] = []

    def check_on(master: str, path: Path) -> Findings:
        seen.append((master, path))
        return check_history(path)

    monkeypatch.setattr("analysis.large_history.check_on", check_on)
    assert jsonl.main([str(path)]) == EXIT_CONTRADICTED
    assert seen == [("local[2]", path)]
