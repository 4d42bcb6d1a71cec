"""Which broker settings each version knows, so that a misspelt one is refused instead of silently ignored.

A Kafka broker only logs a warning about an unknown setting and starts without it. A run with a setting that was never
in force would show something false. The lists in compose/settings/ were printed by the brokers' own code (`python -m
harness.setup.settings VERSION` writes one again). Where none is committed, the code in the release's jars is asked, in
a process with a Java virtual machine of its own, and its answer kept in the user's cache.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evidence import borders
from evidence.errors import unknown_name
from evidence.rundir import write_atomically
from harness.cluster.docker import connect, printed
from harness.setup import builds, jars
from harness.setup.cache import cache_dir
from harness.setup.known_settings import CONFIG_DEFS, SETTING, Keys, asked
from harness.setup.waiting import Echo

if TYPE_CHECKING:
    from harness.cluster.builds import Build
    from harness.cluster.versions import Version

LISTS: Final = Path(__file__).resolve().parents[2] / "compose" / "settings"


def quiet(line: str) -> None:
    """Tell nobody."""


def known(version: Version, echo: Echo = quiet) -> frozenset[str]:
    """The broker settings of a version: of the committed list, or of its jars, which are fetched if need be.

    Raises UsageError if they cannot be had, HarnessError if their code does not answer.
    """
    if version.build.own:
        return frozenset(defaults(version.build, echo)["broker"])
    path = LISTS / f"{version.kafka}.txt"
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return frozenset(defaults(version.build, echo)["broker"])
    return frozenset(line for line in lines if line and not line.startswith("#"))


def defaults(build: Build, echo: Echo = quiet) -> dict[str, Keys]:
    """The keys of a build's brokers ("broker"), topics ("topic") and Java producers ("java-producer"), each with its
    default, as the code in its jars has them. Raises as `known` does.

    The answer is kept in the user's cache under the digest of the list of jars, so that other jars are asked anew.
    """
    libraries = builds.libraries(build, echo)
    recipe = hashlib.sha256((builds.recipe(build) or "").encode()).hexdigest()[:16]
    path = cache_dir() / "settings" / f"{build.tag}-{recipe}.json"
    with suppress(OSError, ValueError):
        kept: dict[str, Keys] = json.loads(path.read_text())
        return kept
    echo(f"asking the code of {build} for its settings")
    found = asked(sorted(libraries.glob("*.jar")), list(CONFIG_DEFS))
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, json.dumps(found))
    return found


def validate(version: Version, settings: Mapping[str, str], asked_by: str, echo: Echo = quiet) -> None:
    """Raise UsageError, with near names, for the first setting the version does not know.

    `asked_by` is the option or the file that has the settings. A setting of one broker alone ("2:name") is looked up
    by its name.
    """
    names = known(version, echo) if settings else frozenset()
    for name in (key.rpartition(":")[2] for key in settings):
        if name not in names:
            hint = f"asked for by {asked_by}; `kafka-chaos list --settings {version.id}` lists them"
            raise unknown_name(f"broker setting of {version.kafka}", name, names, hint=hint)


def names_in_html(page: str) -> list[str]:
    """Setting names in the table that a broker's ConfigDef prints (0.9 and later)."""
    found = re.findall(r'<td>([a-z0-9._]+)</td>|<a id="(?:brokerconfigs_)?([a-z0-9._]+)"', page)
    return sorted({name for pair in found for name in pair if SETTING.fullmatch(name)})


def names_in_class(content: bytes) -> list[str]:
    """Setting names among the constants of a class file: brokers before 0.9 have no ConfigDef to ask."""
    words = re.findall(rb"\x01\x00[\x05-\x60]([a-z][a-z0-9.]+)", content)
    return sorted({word.decode() for word in words if SETTING.fullmatch(word.decode())})


def ask_release(version: Version) -> list[str]:
    """The settings that a release's code names: from its jars, or from 0.9 on by running it in its image."""
    if version.release < borders.SETTINGS_DECLARED.release:
        archive = next(jars.resolve(version.kafka, lambda _: None).glob("kafka_*.jar"))
        with zipfile.ZipFile(archive) as jar:
            wanted = ("kafka/server/KafkaConfig.class", "kafka/utils/ZKConfig.class")
            return sorted({name for entry in wanted for name in names_in_class(jar.read(entry))})
    arguments = ["-cp", "/opt/kafka/libs/*", "kafka.server.KafkaConfig"]
    client = connect()
    try:
        return names_in_html(printed(client, version.image, arguments, entrypoint="java"))
    finally:
        client.close()


if __name__ == "__main__":
    from harness.cluster import versions

    for identifier in sys.argv[1:]:
        chosen = versions.get(identifier)
        names = ask_release(chosen)
        LISTS.mkdir(exist_ok=True)
        (LISTS / f"{chosen.kafka}.txt").write_text("\n".join(names) + "\n")
        sys.stdout.write(f"{chosen.kafka}: {len(names)} settings\n")
