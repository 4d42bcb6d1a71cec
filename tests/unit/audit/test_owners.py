"""Owners by CODEOWNERS: the last pattern that fits counts."""

from __future__ import annotations

import pytest

from audit.owners import _rules, owners_of, parsed


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*", "a/b.yml", True),
        ("*.yml", "a/b.yml", True),
        ("*.yml", "a/b.yaml", False),
        ("/docs/", "docs/a/b", True),
        ("/docs/", "x/docs/a", False),
        ("docs/", "x/docs/a", True),
        ("apps", "x/apps/a/b", True),
        ("apps", "x/apps2/a", False),
        ("docs/*", "docs/a", True),
        ("docs/*", "docs/a/b", False),
        ("/apps/**/kafka.yml", "apps/a/b/kafka.yml", True),
        ("/apps/**/kafka.yml", "apps/kafka.yml", True),
        ("**/logs", "deep/in/logs/a", True),
        ("/a?c.yml", "abc.yml", True),
        ("a\\ b/", "a b/c", True),
    ],
)
def test_patterns_are_those_of_gitignore(pattern: str, path: str, fits: bool) -> None:
    ((compiled, owners),) = parsed(f"{pattern} @one\n")
    assert (compiled.match(path) is not None, owners) == (fits, ("@one",))


def test_the_last_pattern_counts_and_may_take_owners_away(tmp_path) -> None:
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "CODEOWNERS").write_text("* @all # everything\n\n[Section]\n/app/ @app @two\n/app/free/\n")
    _rules.cache_clear()
    assert owners_of(str(tmp_path / "x.yml")) == ("@all",)
    assert owners_of(str(tmp_path / "app" / "x.yml")) == ("@app", "@two")
    assert owners_of(str(tmp_path / "app" / "free" / "x.yml")) == ()


def test_another_repositorys_owners_are_not_ones_own(tmp_path) -> None:
    (tmp_path / "CODEOWNERS").write_text("* @outer\n")
    (tmp_path / "inner" / ".git").mkdir(parents=True)
    _rules.cache_clear()
    assert owners_of(str(tmp_path / "inner" / "x.yml")) == ()
    assert owners_of(str(tmp_path / "x.yml")) == ("@outer",)
