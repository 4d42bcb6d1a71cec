"""The cache directory: one line where it cannot be made or written, and locks that keep others out."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from evidence.errors import UsageError
from harness.setup.cache import cache_dir, exclusive


@pytest.mark.parametrize("found", ["cache", "cache/locks", "cache/locks/setup.lock"])
def test_a_cache_that_cannot_be_written_is_one_line(
    found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path / "cache"))
    blocked = tmp_path / found
    blocked.parent.mkdir(parents=True, exist_ok=True)
    # Root may write anywhere; nobody opens a file as a directory, or a directory as a file.
    blocked.mkdir() if found.endswith(".lock") else blocked.write_text("")
    message = r"the cache directory .*/cache cannot be .*; set KAFKA_CHAOS_CACHE"
    with pytest.raises(UsageError, match=message) as caught, exclusive("setup"):
        pytest.fail("held")
    assert "\n" not in str(caught.value)


def test_a_lock_is_held_and_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path))
    with exclusive("setup"), (cache_dir() / "locks" / "setup.lock").open() as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with (cache_dir() / "locks" / "setup.lock").open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
