"""How Spark is started: with which Java, and with options that its launcher, which splits like a shell, keeps whole."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import spark
from evidence.errors import HarnessError, UsageError


def _java(home: Path, version: str | None) -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("#!/bin/sh\n")
    (home / "bin" / "java").chmod(0o755)
    if version is not None:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path / "a cache"))


def test_the_java_that_is_stated_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stated, other = _java(tmp_path / "stated", "17.0.1"), _java(tmp_path / "other", "25")
    monkeypatch.setenv("PATH", str(other / "bin"))
    assert spark.find_java_home() == str(other)
    monkeypatch.setenv("JAVA_HOME", str(stated))
    assert spark.find_java_home() == str(stated)


def test_a_java_that_does_not_say_its_version_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "wheel", None)))
    assert spark.find_java_home() == str(tmp_path / "wheel")


@pytest.mark.parametrize(
    ("version", "complaint"),
    [
        ("1.8.0_504", "is Java 8"),
        ("11.0.2", "is Java 11"),
        ("gone", "which has none"),
        (None, "the PATH has none"),
    ],
)
def test_no_java_that_will_do_is_one_line(
    version: str | None, complaint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if version == "gone":
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    elif version is not None:
        monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "old", version)))
    with pytest.raises(UsageError, match=rf"Spark needs Java 17 or later and .*{complaint}.*set JAVA_HOME") as caught:
        spark.find_java_home()
    assert "\n" not in str(caught.value)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1))
def test_an_option_is_one_word_to_the_launcher(option: str) -> None:
    assert shlex.split(spark.quoted(option)) == [option]


def test_options_with_a_space_in_a_path_stay_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Where a test has started Spark before, its virtual machine would give its own settings.
    monkeypatch.setattr("pyspark.SparkContext._jvm", None)
    home = _java(tmp_path / "java", "17")
    monkeypatch.setenv("JAVA_HOME", str(home))
    archive = spark.archive_path(str(home))
    archive.parent.mkdir(parents=True)
    archive.touch()
    conf = spark.configuration("local[1]", str(tmp_path / "a scratch ü"))
    options = shlex.split(str(conf.get("spark.driver.extraJavaOptions")))
    assert f"-XX:SharedArchiveFile={archive}" in options
    [logging] = [option for option in options if option.startswith("-Dlog4j2")]
    assert logging == f"-Dlog4j2.configurationFile={(tmp_path / 'a scratch ü' / 'log4j2.properties').as_uri()}"


def test_a_java_without_an_archive_of_its_own_classes_is_not_asked_for_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "wheel", None)))
    monkeypatch.setattr("analysis.spark.subprocess.run", lambda *_, **__: pytest.fail("Spark was started"))
    with pytest.raises(HarnessError, match="has no archive of its own classes"):
        spark.prepare_archive()
