"""What tests on real brokers share: commands whose failures show Docker's own words, and images that must be there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import pytest

from harness.setup import images

if TYPE_CHECKING:
    from docker import DockerClient

    from harness.cluster.versions import Version

LIMIT_S: Final = 90.0


def call(command: list[str], variables: Mapping[str, str] | None = None, *, timeout_s: float = LIMIT_S) -> str:
    """What a command printed. Raises RuntimeError with all that it said if it fails."""
    done = subprocess.run(
        command, env=os.environ | dict(variables or {}), capture_output=True, text=True, timeout=timeout_s, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def needs_image(client: DockerClient, version: Version) -> None:
    """Fail the test if the version's image is not there, or not made from what is here now.

    Building it is no test's business: it takes minutes and the network. `make test` does it before.
    """
    if images.present(client, version.build) is None:
        pytest.fail(
            f"no image {version.image} as this checkout makes it: `make setup-tests` builds those that tests use "
            "(tests/releases.py)",
            pytrace=False,
        )
