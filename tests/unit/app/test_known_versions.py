"""`kafka-chaos list --versions`: every release, and what of it is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app import known_versions
from app.cli import main
from evidence.errors import UsageError


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with the image of one release and the jars of another."""
    jars = tmp_path / "jars" / "2.4.1"
    jars.mkdir(parents=True)
    (jars / "a.jar").write_bytes(b"x" * 2_000_000)
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path))
    monkeypatch.setattr(known_versions, "_images", lambda: {"4.3.1": 541_000_000})


def test_every_release_has_a_row_with_its_names_and_what_is_there(here: None) -> None:
    rows = {row["kafka"]: row for row in known_versions.rows()}
    assert next(iter(rows)) == "0.8.2.0"
    assert rows["3.7.1"]["versions"] == ["3.7.1-zk", "3.7.1-kraft"]
    assert (rows["3.7.1"]["java"], rows["3.7.1"]["locked"], rows["3.7.1"]["matrix"]) == (17, False, [])
    assert rows["3.9.2"]["matrix"] == ["3.9.2-zk", "3.9.2-kraft", "3.9.2-pinned"]
    assert rows["2.6.3"]["protocols"][-1] == "2.5"
    assert rows["4.4.0"]["protocols"] == []
    assert (rows["2.4.1"]["jars_bytes"], rows["2.4.1"]["image_bytes"]) == (2_000_000, None)
    assert (rows["4.3.1"]["jars_bytes"], rows["4.3.1"]["image_bytes"]) == (None, 541_000_000)


def test_the_table_has_sizes(here: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--versions"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert next(line for line in table if line.startswith("2.4.1 ")).endswith("-          2 MB  -")
    assert next(line for line in table if line.startswith("4.3.1 ")).endswith("committed  -     541 MB")


def test_without_an_engine_sizes_of_images_are_not_known(
    here: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.undo()

    def refuse() -> None:
        raise UsageError("no Docker engine answers")

    monkeypatch.setattr(known_versions, "connect", refuse)
    assert main(["list", "--versions", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert not any("image_bytes" in row for row in rows)
    assert known_versions.as_text(rows).splitlines()[1].endswith("?")
