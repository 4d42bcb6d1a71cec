"""Spark tests run on the Java that the harness would hand to the analysis."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.setup.java import java_home


@pytest.fixture(scope="session", autouse=True)
def _java() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_HOME", java_home())
        yield
