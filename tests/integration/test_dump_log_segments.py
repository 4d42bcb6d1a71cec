"""Our reading of segments against Kafka's own, on files that a broker writes during the test.

One broker at a time. Values are larger than in the files that are kept in tests/data, so that a snappy stream has
several blocks.
KAFKA_CHAOS_SEGMENTS=all takes every release (two minutes more; `make setup VERSION=all` before).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.cluster import versions
from harness.cluster.versions import Version
from harness.setup import jars
from kafkafiles import replica
from tests.integration.make_segments import make
from tests.unit.kafkafiles import dumps

pytestmark = pytest.mark.docker


def has_tool(version: Version) -> bool:
    """Whether the jars of a release have DumpLogSegments: it lies in an artifact of its own from 4.3 on, and a release
    may be locked without that (jars.TOOLS).
    """
    return version.release < (4, 3) or any(jar.artifact == jars.TOOLS for jar in jars.read_lock(version.kafka))


ALWAYS = ["0.8.2.2", "0.10.2.2", "2.8.2", "4.3.1"]
OTHERS = list({v.kafka: v.id for v in versions.ALL if not v.settings and v.id not in ALWAYS and has_tool(v)}.values())

VERSIONS = ALWAYS + (OTHERS if os.environ.get("KAFKA_CHAOS_SEGMENTS") == "all" else [])


@pytest.mark.parametrize("version_id", VERSIONS)
def test_every_record_is_read_as_the_brokers_own_tool_reads_it(version_id: str, tmp_path: Path) -> None:
    version = versions.get(version_id)
    target = make(version, tmp_path, value_bytes=100_000)
    partitions = sorted(path for path in target.iterdir() if path.is_dir())
    assert len(partitions) >= 4
    compared = sum(dumps.compare_directory(partition) for partition in partitions)
    assert compared >= 12 * len(partitions)
    for partition in partitions:
        if not partition.name.startswith("__"):
            assert replica.read_replica(partition).leo == 12
