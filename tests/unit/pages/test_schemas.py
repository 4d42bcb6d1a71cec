"""The schemas of a run's files are those of the types, and runs that were made on real brokers keep to them."""

from __future__ import annotations

import json
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import results
from app.cli import main
from pages import schemas

RUNS = sorted((Path(__file__).parents[2] / "data" / "runs").glob("*.tar.xz"))
PLACES = {"verdict": "verdict.json", "findings": "findings/findings.json", "run": "run.json"}


@cache
def validator(name: str) -> Draft202012Validator:
    schema = schemas.schema(name)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@cache
def validator_of(kind: str) -> Draft202012Validator:
    """Of events of this kind alone, as the discriminator of the schema has it: to try 47 kinds takes long."""
    schema = {name: value for name, value in schemas.schema("timeline").items() if name != "anyOf"}
    return Draft202012Validator(schema | {"$ref": schema["discriminator"]["mapping"][kind]})


@cache
def texts(path: Path) -> dict[str, str]:
    """The files of a kept run that have a schema, by their place in it."""
    with tarfile.open(path) as tar:
        files = {place: tar.extractfile(place) for place in (*PLACES.values(), "timeline.jsonl")}
        return {place: file.read().decode() for place, file in files.items() if file is not None}


@pytest.fixture(params=RUNS, ids=lambda path: path.name.removesuffix(".tar.xz"))
def kept(request: pytest.FixtureRequest) -> dict[str, str]:
    return texts(request.param)


def test_each_is_written_and_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(schemas, "FOLDER", tmp_path / "schemas")
    schemas.main()
    for name in schemas.FILES:
        assert main(["list", "--schema", name]) == 0
        assert capsys.readouterr().out == (tmp_path / "schemas" / f"{name}.schema.json").read_text()


@pytest.mark.slow
def test_kept_runs_keep_to_them(kept: dict[str, str]) -> None:
    for name, place in PLACES.items():
        validator(name).validate(json.loads(kept[place]))
    _, *events = map(json.loads, kept["timeline.jsonl"].splitlines())
    for event in events:
        validator_of(event["kind"]).validate(event)
    validator("timeline").validate(events[0])


def test_each_kind_of_event_is_one_of_those_that_a_line_may_have() -> None:
    schema = schemas.schema("timeline")
    assert sorted(schema["discriminator"]["mapping"].values()) == sorted(one["$ref"] for one in schema["anyOf"])


def test_what_is_none_of_it_is_refused(kept: dict[str, str]) -> None:
    def broken(place: str, **values: Any) -> Any:
        return json.loads(kept[place]) | values

    assert not validator("verdict").is_valid(broken("verdict.json", verdict="fine"))
    assert not validator("findings").is_valid(broken("findings/findings.json", findings=[{}]))
    assert not validator("run").is_valid(broken("run.json", seed="one"))
    assert not validator("timeline").is_valid({"kind": "no-such-event"})


def test_lines_of_the_ledger_keep_to_theirs() -> None:
    line = validator("ledger")
    (first, *_) = sorted((results.ROOT / results.LEDGER).glob("*.jsonl"))
    for text in first.read_text().splitlines():
        line.validate(json.loads(text))
