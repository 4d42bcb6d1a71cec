"""Which broker settings each version knows, so that a misspelt one is refused instead of silently ignored.

A Kafka broker only logs a warning about a setting it does not know and goes on without it, and a run with a
setting that was never in force says something false. The lists in compose/settings/ were printed by the
brokers' own code (`python -m harness.cluster.settings VERSION` writes one again).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.errors import HarnessError, unknown_name

if TYPE_CHECKING:
    from harness.cluster.versions import Version

LISTS: Final = Path(__file__).resolve().parents[2] / "compose" / "settings"
NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:\.[a-z0-9]+)+")


def known(version: Version) -> frozenset[str]:
    """The broker settings of a version; HarnessError if its list is missing."""
    path = LISTS / f"{version.kafka}.txt"
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        raise HarnessError(
            f"compose/settings/{path.name} is missing: write it with python -m harness.cluster.settings"
        ) from None
    return frozenset(line for line in lines if line and not line.startswith("#"))


def validate(version: Version, settings: Mapping[str, str]) -> None:
    """Raise UsageError, with near names, for the first setting the version does not know."""
    names = known(version) if settings else frozenset()
    for name in settings:
        if name not in names:
            raise unknown_name(f"broker setting of {version.kafka}", name, names)


def names_in(text: str, source: str) -> list[str]:
    """Setting names in what a broker's code printed: HTML of its ConfigDef, or the strings of its class file
    before 0.9.
    """
    if source == "html":
        found = set(
            re.findall(r"<td>([a-z0-9._]+)</td>|id=\"brokerconfigs_([a-z0-9._]+)\"|<a id=\"([a-z0-9._]+)\"", text)
        )
        names = {name for group in found for name in group if name}
    else:
        names = set(re.findall(r"^[a-z][a-z0-9.]+$", text, re.MULTILINE))
    return sorted(name for name in names if NAME.fullmatch(name))


def print_from_image(version: Version) -> list[str]:
    """Ask the version's own KafkaConfig for its settings, in its image."""
    from harness.cluster.docker import connect

    client = connect()
    classpath, classes = "/opt/kafka/libs/*", "kafka.server.KafkaConfig"
    if version.kafka.startswith("0.8"):
        script = (
            "cd /tmp && for c in 'kafka/server/KafkaConfig.class' 'kafka/utils/ZKConfig.class' 'kafka/message/CompressionCodec.class'; do "
            "python3 -c 1 2>/dev/null; unzip -p /opt/kafka/libs/kafka_*.jar $c; done | tr -c '[:print:]' '\\n'"
        )
        return names_in(
            client.containers.run(version.image, ["-c", script], entrypoint="sh", remove=True).decode(),
            "class",
        )
    output = client.containers.run(
        version.image, ["-cp", classpath, classes], entrypoint="java", remove=True, stderr=False
    )
    return names_in(output.decode(), "html")


if __name__ == "__main__":
    from harness.cluster import versions

    for identifier in sys.argv[1:]:
        chosen = versions.get(identifier)
        names = print_from_image(chosen)
        LISTS.mkdir(exist_ok=True)
        (LISTS / f"{chosen.kafka}.txt").write_text("\n".join(names) + "\n")
        sys.stdout.write(f"{chosen.kafka}: {len(names)} settings\n")
