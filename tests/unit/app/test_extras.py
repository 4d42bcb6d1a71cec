"""Which extra a command names when a package is missing."""

from __future__ import annotations

import pytest

from app import cli, extras
from evidence.errors import EXIT_ERROR, EXIT_USAGE, UsageError


@pytest.mark.parametrize(
    ("package", "command", "told"),
    [
        ("pyarrow.compute", "run", "run needs pyarrow, which is not installed: pip install 'kafka-chaos[run]'"),
        ("confluent_kafka", "run", "run needs confluent_kafka, which is not installed: pip install 'kafka-chaos[run]'"),
        ("kazoo", "audit", "audit needs kazoo, which is not installed: pip install 'kafka-chaos[live]'"),
        ("docker", "audit", "audit needs docker, which is not installed: pip install 'kafka-chaos[run]'"),
    ],
)
def test_the_extra_that_has_a_missing_package_is_named(package: str, command: str, told: str) -> None:
    assert str(extras.missing(ModuleNotFoundError(name=package), command)) == told


def test_an_error_that_no_extra_mends_stays_a_defect() -> None:
    assert extras.missing(ModuleNotFoundError(name="app.nothing"), "run") is None
    assert extras.missing(ImportError(name="docker"), "run") is None


def test_what_is_required_and_missing_is_refused_before_anything_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    extras.require(["kazoo", "numpy"], "audit")
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "kazoo" else name)
    with pytest.raises(UsageError, match=r"audit needs kazoo, .*\[live\]"):
        extras.require(["kazoo", "numpy"], "audit")


@pytest.mark.parametrize(("name", "status"), [("docker", EXIT_USAGE), ("app.nothing", EXIT_ERROR)])
def test_the_status_is_that_of_bad_input(
    name: str, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(module: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("importlib.import_module", absent)
    assert cli.main(["list"]) == status
    told = capsys.readouterr().err
    assert ("a defect" in told) == (status == EXIT_ERROR)
    assert (len(told.splitlines()) == 1) == (status == EXIT_USAGE)
