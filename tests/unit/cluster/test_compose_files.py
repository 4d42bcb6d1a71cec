"""What the compose files let a node do: so much memory, so many processes, its own network, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

FILES = sorted((Path(__file__).parents[3] / "compose").glob("*.yml"))


def services() -> list[Any]:
    found = []
    for path in FILES:
        described = yaml.safe_load(path.read_text())["services"]
        found += [pytest.param(one, id=f"{path.stem}: {name}") for name, one in described.items()]
    return found


@pytest.mark.parametrize("service", services())
def test_a_node_that_runs_away_takes_nothing_along(service: dict[str, Any]) -> None:
    assert service["mem_limit"] == "${CHAOS_MEMORY:-1g}"
    assert 0 < service["pids_limit"] <= 1024


@pytest.mark.parametrize("service", services())
def test_a_node_may_change_its_own_network_and_nothing_else(service: dict[str, Any]) -> None:
    assert service["cap_add"] == ["NET_ADMIN"]
    assert not {"privileged", "ports", "network_mode", "pid", "ipc", "devices", "security_opt"} & set(service)


def test_there_are_files() -> None:
    assert len(FILES) == 3
