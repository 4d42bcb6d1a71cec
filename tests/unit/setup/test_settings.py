"""Broker settings: of the committed list, or asked of the release's own jars and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from evidence.errors import UsageError
from harness.cluster import versions
from harness.setup import settings

UNLISTED = versions.get("2.4.1")


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Jars of 2.4.1, whose code knows one setting; what is asked of them."""
    questions: list[list[str]] = []

    def ask(class_path: list[Path], what: list[str]) -> dict[str, dict[str, dict[str, str | None]]]:
        questions.append([path.name for path in class_path])
        return {"broker": {"num.io.threads": {"default": "8"}}, "topic": {}, "java-producer": {}}

    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "kafka.jar").touch()
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("harness.setup.settings.jars.resolve", lambda kafka, echo: tmp_path / "jars")
    monkeypatch.setattr("harness.setup.settings.jars.lock_text", lambda kafka: "one lock")
    monkeypatch.setattr(settings, "asked", ask)
    return questions


def test_a_release_without_a_list_is_asked_once(asked: list[list[str]]) -> None:
    said: list[str] = []
    assert settings.known(UNLISTED, said.append) == {"num.io.threads"}
    assert settings.known(UNLISTED, said.append) == {"num.io.threads"}
    assert asked == [["kafka.jar"]]
    assert said == ["asking the code of Kafka 2.4.1 for its settings"]


def test_other_jars_are_asked_anew(asked: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    settings.known(UNLISTED)
    monkeypatch.setattr("harness.setup.settings.jars.lock_text", lambda kafka: "another lock")
    settings.known(UNLISTED)
    assert len(asked) == 2


def test_an_answer_that_cannot_be_read_is_asked_for_again(asked: list[list[str]], tmp_path: Path) -> None:
    settings.known(UNLISTED)
    (kept,) = (tmp_path / "cache" / "settings").iterdir()
    kept.write_text("{")
    assert settings.known(UNLISTED) == {"num.io.threads"}
    assert len(asked) == 2


def test_a_misspelt_setting_of_such_a_release_is_refused(asked: list[list[str]]) -> None:
    settings.validate(UNLISTED, {"num.io.threads": "1"}, "--setting")
    with pytest.raises(
        UsageError, match=r"no broker setting of 2\.4\.1 'num\.io\.thread'; did you mean num\.io\.threads"
    ):
        settings.validate(UNLISTED, {"num.io.thread": "1"}, "--setting")


def test_a_committed_list_asks_nobody(asked: list[list[str]]) -> None:
    assert "min.insync.replicas" in settings.known(versions.get("4.4.0"))
    assert asked == []
