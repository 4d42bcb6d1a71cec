"""`kafka-chaos releases`: what is new, what it is compared with, and what is run on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from app import releases
from app.cli import main
from app.matrix import MatrixCell
from evidence.errors import UsageError
from evidence.rundir import RunDir
from harness.cluster import apache
from harness.scenario import all_scenarios


@pytest.fixture(autouse=True)
def own_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A committed list and a cache of our own."""
    committed = tmp_path / "releases.txt"
    committed.write_text(apache.render(apache.committed()))
    monkeypatch.setattr(apache, "COMMITTED", committed)
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path / "cache"))
    apache.releases.cache_clear()
    yield committed
    apache.releases.cache_clear()


def quiet(line: str) -> None:
    pass


@pytest.mark.parametrize(
    ("release", "before", "pairs"),
    [
        ("4.2.2", "4.2.1", [("4.2.1", "4.2.2")]),
        ("4.4.0", "4.3.1", [("4.3.1", "4.4.0")]),
        ("4.0.0", "3.9.2", [("3.9.2-kraft", "4.0.0")]),
        ("3.9.2", "3.9.1", [("3.9.1-zk", "3.9.2-zk"), ("3.9.1-kraft", "3.9.2-kraft")]),
        ("0.8.2.1", "0.8.2.0", [("0.8.2.0", "0.8.2.1")]),
    ],
)
def test_a_release_is_compared_with_the_one_before_in_each_way_that_both_have(
    release: str, before: str, pairs: list[tuple[str, str]]
) -> None:
    plan = releases.plan(release)
    assert plan.before == before
    assert [(old.id, new.id) for old, new in plan.pairs] == pairs


@pytest.mark.parametrize(
    ("release", "against", "told"),
    [
        ("4.9.9", None, r"there is no Kafka 4\.9\.9"),
        ("4.4.0", "4.9.9", r"there is no Kafka 4\.9\.9"),
        ("4.4.0", "4.4.0", "is compared with another one"),
        ("4.4.0", "2.8.2", "have no way to run in common"),
        ("0.8.2.0", None, "there is no release before 0.8.2.0"),
    ],
)
def test_what_cannot_be_compared_is_one_line(release: str, against: str | None, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        releases.plan(release, against)


def test_the_telling_set_has_the_default_suite_and_the_bugs_of_either_release() -> None:
    names = {one.name for one in releases.telling(all_scenarios().values(), releases.plan("4.4.0").pairs)}
    assert {"baseline", "double-failover", "controlled-shutdown", "museum-segment-below-batch"} <= names
    assert "museum-kip-279" not in names
    assert len(names) < len(all_scenarios())


def test_new_is_what_the_committed_list_lacks_until_its_page_is_written(
    own_lists: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.releases.central.ask", lambda echo: ("2.8.2", "99.0.0"))
    assert releases.ask(quiet) == ("99.0.0",)
    assert releases.ask(quiet) == ("99.0.0",)
    assert "99.0.0" in apache.releases()
    assert releases.renew(["99.0.0"])
    assert releases.ask(quiet) == ()
    assert apache.committed()[-1] == "99.0.0"


def test_the_list_alone_is_renewed_and_nothing_is_run(
    own_lists: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("app.releases.central.ask", lambda echo: ("2.8.2", "99.0.0"))
    assert main(["releases", "--list", "--quiet"]) == 0
    assert "new at Maven Central" in capsys.readouterr().out
    assert main(["releases", "--list", "--quiet"]) == 0
    assert "nothing new" in capsys.readouterr().out


def test_nothing_new_runs_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("app.releases.central.ask", lambda echo: ("2.8.2",))
    assert main(["releases", "--quiet"]) == 0
    assert "nothing new" in capsys.readouterr().out


def test_against_takes_one_release(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["releases", "--against", "4.3.1"]) == 254
    assert "--against takes one release" in capsys.readouterr().err


class NoRuns:
    """A matrix that runs nothing: `left` runs are left."""

    left_of_all = 0
    wanted: ClassVar[list[MatrixCell]] = []

    def __init__(self, *arguments: object) -> None:
        self.left, self.lost = self.left_of_all, list[str]()

    def run(self, wanted: Sequence[MatrixCell]) -> dict[MatrixCell, RunDir]:
        NoRuns.wanted = list(wanted)
        return {}


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Everything that takes Docker or jars is left out; the folder of the pages."""
    both = iter([{"a": {"default": "1"}}, {"a": {"default": "2"}}])
    monkeypatch.setattr("app.releases.images.ensure_images", lambda chosen, echo: None)
    monkeypatch.setattr(
        "app.releases.settings_of.defaults",
        lambda kafka, echo: {"broker": next(both), "topic": {}, "java-producer": {}},
    )
    monkeypatch.setattr(releases, "Matrix", NoRuns)
    monkeypatch.setattr(releases, "write_reports", lambda root, runs: None)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "docs" / "releases"


def test_a_page_is_written_of_a_release_and_the_one_before(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["releases", "4.4.0", "--quiet", "--repeat", "1", "--scenarios", "baseline", "double-failover"]) == 0
    page = (told / "4.4.0.md").read_text()
    assert "# Kafka 4.4.0 beside 4.3.1" in page
    assert "- `a`: default 1 → 2" in page
    assert "com.github.luben:zstd-jni 1.5.6-10 → 1.5.7-17" in page
    assert [(cell.scenario, cell.version) for cell in NoRuns.wanted] == [
        ("baseline", "4.3.1"),
        ("baseline", "4.4.0"),
        ("double-failover", "4.3.1"),
        ("double-failover", "4.4.0"),
    ]
    assert "docs/releases/4.4.0.md: Kafka 4.4.0 beside 4.3.1" in capsys.readouterr().out


def test_a_release_stays_new_while_runs_are_left(
    told: Path, own_lists: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = [one for one in apache.committed() if one != "4.4.0"]
    own_lists.write_text(apache.render(kept))
    apache.releases.cache_clear()
    monkeypatch.setattr("app.releases.central.ask", lambda echo: (*kept, "4.4.0"))
    monkeypatch.setattr(NoRuns, "left_of_all", 3)
    assert main(["releases", "--quiet", "--scenarios", "baseline"]) == 2
    assert "3 runs are missing on that page; the same command continues" in capsys.readouterr().err
    assert releases.ask(quiet) == ("4.4.0",)
