"""The doctor: it reports what is missing and never fails over it."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path

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
    monkeypatch.setattr(doctor, "_loop_mounts", lambda: doctor.Check(name="loop mounts", status="ok", detail=""))
    by_name = {check.name: check for check in doctor.diagnose()}
    for name in ("Docker engine", "docker compose", "Java"):
        assert by_name[name].status == "missing"
        assert by_name[name].remedy
    assert by_name["Python"].status == "ok"
    assert "memory" in by_name


@pytest.mark.parametrize(("free", "status"), [(50e9, "ok"), (3e9, "warning"), (0.4e9, "missing")])
def test_disk(free: float, status: str) -> None:
    assert doctor._disk(Path("/"), "runs", lambda path: usage(0, 0, int(free))).status == status


def test_memory() -> None:
    assert doctor.available_memory("MemTotal: 9 kB\nMemAvailable:    2048 kB\n") == 2048 * 1024
    assert doctor.available_memory("") is None


def test_every_probe_says_what_its_absence_means() -> None:
    assert doctor.PROBES.keys() == doctor.PROBE_NEEDS.keys()
