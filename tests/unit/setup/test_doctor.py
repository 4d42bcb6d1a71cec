"""The doctor: it reports what is missing and never fails over it."""

from __future__ import annotations

import errno
import os
import tempfile
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evidence.errors import UsageError
from harness.setup import doctor

usage = namedtuple("usage", "total used free")


def _refuse(message: str) -> object:
    raise UsageError(message)


def test_without_an_engine_the_rest_is_still_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path))
    monkeypatch.setattr("harness.setup.doctor.engine.connect", lambda: _refuse("no Docker engine answers"))
    monkeypatch.setattr(doctor, "compose_version", lambda: None)
    monkeypatch.setattr("harness.setup.doctor.java.find_java", lambda: _refuse("no Java 17 or later"))
    by_name = {check.name: check for check in doctor.diagnose()}
    for name in ("Docker engine", "docker compose", "Java"):
        assert by_name[name].status == "missing"
        assert by_name[name].remedy
    assert by_name["Python"].status == "ok"
    assert "memory" in by_name


@pytest.mark.parametrize(("free", "status"), [(50e9, "ok"), (3e9, "warning"), (0.4e9, "missing")])
def test_disk(free: float, status: str) -> None:
    assert doctor._disk(Path("/"), "runs", lambda path: usage(0, 0, int(free))).status == status


@pytest.fixture
def refuses(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Makes one directory refuse to be written, root or not."""

    def refuse(place: Path) -> None:
        real = tempfile.NamedTemporaryFile

        def opened(**options: Any) -> Any:
            if options["dir"] == place:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
            return real(**options)

        monkeypatch.setattr("harness.setup.doctor.tempfile.NamedTemporaryFile", opened)

    return refuse


def test_a_directory_counts_only_after_it_was_written(tmp_path: Path, refuses: Callable[[Path], None]) -> None:
    assert "GB free" in doctor._ours(tmp_path / "to be made" / "runs", "runs", "remedy").detail
    assert not list(tmp_path.iterdir())
    refuses(tmp_path)
    check = doctor._ours(tmp_path / "to be made" / "runs", "runs", "remedy")
    assert (check.status, check.remedy) == ("missing", "remedy")
    assert f"{tmp_path} cannot be written: Permission denied" in check.detail


def test_a_part_of_the_cache_that_is_anothers_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Callable[[Path], None]
) -> None:
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path))
    (tmp_path / "locks").mkdir()
    assert "GB free" in doctor._cache().detail
    refuses(tmp_path / "locks")
    assert doctor._cache().status == "missing"
    assert "locks cannot be written" in doctor._cache().detail


def test_memory() -> None:
    assert doctor.available_memory("MemTotal: 9 kB\nMemAvailable:    2048 kB\n") == 2048 * 1024
    assert doctor.available_memory("") is None


def test_every_probe_says_what_its_absence_means() -> None:
    assert doctor.PROBES.keys() == doctor.PROBE_NEEDS.keys()


def test_images_are_told_with_their_sizes_those_beside_the_matrix_too(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"2.4.1": 400_000_000, "4.3.1": 541_000_000, "4.4.0": 550_000_000}
    monkeypatch.setattr("harness.setup.doctor.images.sizes", lambda client: sizes)
    monkeypatch.setattr("harness.setup.doctor.images.present", lambda client, build: build.kafka != "4.4.0")
    check = doctor._images(SimpleNamespace())  # type: ignore[arg-type]
    assert check.status == "warning"
    assert check.detail.startswith("ready: 4.3.1 (541 MB); beside the matrix: 2.4.1 (400 MB); not built: 0.8.2.2, ")
    assert check.detail.endswith("4.4.0")
