"""The list of Apache's releases, and which number may be newer than it."""

from __future__ import annotations

from pathlib import Path

import pytest

from evidence.errors import UsageError
from harness.cluster import apache, versions


def test_the_committed_list_has_every_release_of_the_matrix_in_order_and_as_it_is_written() -> None:
    listed = apache.committed()
    assert set(versions.releases()) <= set(listed)
    assert apache.COMMITTED.read_text() == apache.render(listed)
    assert listed[0] == "0.8.2.0"


def test_a_line_that_is_no_release_is_refused_with_its_number() -> None:
    assert apache.parse("# x\n2.8.1\n\n0.11.0.0  # why\n", "x") == ("0.11.0.0", "2.8.1")
    with pytest.raises(UsageError, match=r"x, line 2: '2\.8' is no release"):
        apache.parse("2.8.1\n2.8\n", "x")


def test_what_was_looked_up_is_known_beside_the_committed_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path))
    apache.releases.cache_clear()
    try:
        assert "99.0.0" not in apache.releases()
        (tmp_path / "releases.txt").write_text(apache.render(["99.0.0"]))
        apache.releases.cache_clear()
        assert apache.releases()[-1] == "99.0.0"
        assert versions.get("99.0.0").mode == "kraft"
    finally:
        apache.releases.cache_clear()


@pytest.mark.parametrize(
    ("kafka", "near"),
    [
        ("1.5", ["1.0.0", "1.1.0", "2.0.0", "2.1.0"]),
        ("0.1.0.0", ["1.0.0", "1.1.0", "2.0.0", "2.1.0"]),
        ("9.0.0", ["1.1.0", "2.0.0", "2.1.0", "2.2.0"]),
    ],
)
def test_the_nearest_lie_on_both_sides(kafka: str, near: list[str]) -> None:
    known = ["1.0.0", "1.1.0", "2.0.0", "2.1.0", "2.2.0"]
    assert apache.nearest(kafka, known) == near
