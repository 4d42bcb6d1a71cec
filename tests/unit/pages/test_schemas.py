"""The schemas of a run's files are those of the types, and runs that were made on real brokers keep to them."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import results
from app.cli import main
from pages import schemas

RUNS = sorted((Path(__file__).parents[2] / "data" / "runs").glob("*.tar.xz"))
PLACES = {"verdict": "verdict.json", "findings": "findings/findings.json", "run": "run.json"}


def validator(name: str) -> Draft202012Validator:
    schema = schemas.schema(name)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.fixture(params=RUNS, ids=lambda path: path.name.removesuffix(".tar.xz"))
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with tarfile.open(request.param) as tar:
        tar.extractall(tmp_path, filter="data")
    return tmp_path


def test_each_is_written_and_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(schemas, "FOLDER", tmp_path / "schemas")
    schemas.main()
    for name in schemas.FILES:
        assert main(["list", "--schema", name]) == 0
        assert capsys.readouterr().out == (tmp_path / "schemas" / f"{name}.schema.json").read_text()


def test_kept_runs_keep_to_them(kept: Path) -> None:
    for name, place in PLACES.items():
        validator(name).validate(json.loads((kept / place).read_text()))
    event = validator("timeline")
    _, *events = (kept / "timeline.jsonl").read_text().splitlines()
    for line in events:
        event.validate(json.loads(line))


def test_what_is_none_of_it_is_refused(kept: Path) -> None:
    def broken(place: str, **values: Any) -> Any:
        return json.loads((kept / place).read_text()) | values

    assert not validator("verdict").is_valid(broken("verdict.json", verdict="fine"))
    assert not validator("findings").is_valid(broken("findings/findings.json", findings=[{}]))
    assert not validator("run").is_valid(broken("run.json", seed="one"))
    assert not validator("timeline").is_valid({"kind": "no-such-event"})


def test_lines_of_the_ledger_keep_to_theirs() -> None:
    line = validator("ledger")
    (first, *_) = sorted((results.ROOT / results.LEDGER).glob("*.jsonl"))
    for text in first.read_text().splitlines():
        line.validate(json.loads(text))
