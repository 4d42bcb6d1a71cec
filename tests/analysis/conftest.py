"""Spark tests run on the Java that the harness would hand to the analysis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from analysis.spark import short_session
from harness.setup.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session", autouse=True)
def _java() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_HOME", java_home())
        yield


@pytest.fixture(scope="module", autouse=True)
def _no_context_is_left() -> Iterator[None]:
    """A file stops its application: Spark has one in a process and would hand it to the next file."""
    from pyspark import SparkContext

    yield
    left = SparkContext._active_spark_context
    if left is not None:
        left.stop()
        raise AssertionError(f"an application on {left.master} was left running")


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    """A session for the tests of a file, in universal time."""
    with short_session("local[2]") as made:
        made.conf.set("spark.sql.session.timeZone", "UTC")
        yield made
