"""PySpark for applications: fetched once, by its digest; without pip."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evidence.errors import HarnessError, UsageError
from harness.setup import jars, pyspark


class Pip:
    """In the place of pip: makes what it is told to, or fails."""

    def __init__(self, fails: str = "") -> None:
        self.asked: list[Sequence[str]] = []
        self._fails = fails

    def __call__(self, command: Sequence[str], **_: Any) -> str:
        self.asked.append(command)
        if self._fails:
            raise HarnessError(self._fails)
        (Path(command[command.index("--target") + 1]) / "pyspark").mkdir(parents=True)
        return ""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path))


def test_it_is_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip, said = Pip(), list[str]()
    monkeypatch.setattr("harness.setup.packages.run", pip)
    found = pyspark.ensure_pyspark(said.append)
    assert found == tmp_path / f"pyspark-{pyspark.RELEASE}"
    assert (found / "pyspark").is_dir()
    assert pyspark.ensure_pyspark(said.append) == found
    assert len(pip.asked) == len(said) == 1
    assert "--require-hashes" in pip.asked[0]


def test_nothing_is_left_of_what_did_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.setup.packages.run", Pip("fetching PySpark: no route to host"))
    with pytest.raises(UsageError, match=r"need PySpark .*, once from the network: .*no route to host"):
        pyspark.ensure_pyspark(lambda _: None)
    assert [one.name for one in tmp_path.iterdir()] == ["locks"]


def test_the_lock_names_the_release_of_the_jars() -> None:
    assert f"pyspark=={pyspark.RELEASE} " in pyspark.LOCK.read_text()
    assert jars.lock_path(jars.of_set(jars.SPARK, pyspark.RELEASE)).exists()
