"""What jars say of themselves: the version of Kafka, the Java they are for, the logging binding, their classes.

Kafka's build writes kafka/kafka-version.properties into several of its jars (`version`, `commitId`); no file name is
asked for a version. A logging binding is told by the class that implements slf4j's logger.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from evidence.errors import UsageError

PROPERTIES: Final = "kafka/kafka-version.properties"
MAIN: Final = "kafka/Kafka.class"
CLIENT: Final = "org/apache/kafka/clients/producer/KafkaProducer.class"
"""Of releases before there were version.properties in every module, and since."""
ZOOKEEPER_CLIENT: Final = ("kafka/zk/KafkaZkClient.class", "kafka/utils/ZkUtils.class")
MAGIC: Final = b"\xca\xfe\xba\xbe"
JAVA_OF_CLASSES: Final = 44
"""A class file's major version is this and the Java it needs: 52 is Java 8, 61 is Java 17."""

LOG4J_1: Final = "log4j 1"
RELOAD4J: Final = "reload4j"
LOG4J_2: Final = "log4j 2"
BINDINGS: Final[Mapping[str, str]] = {
    "org/slf4j/impl/Log4jLoggerAdapter.class": LOG4J_1,
    "org/slf4j/reload4j/Reload4jLoggerAdapter.class": RELOAD4J,
    "org/slf4j/impl/Reload4jLoggerAdapter.class": RELOAD4J,
    "org/apache/logging/slf4j/Log4jLogger.class": LOG4J_2,
    "ch/qos/logback/classic/Logger.class": "logback",
    "org/slf4j/impl/SimpleLogger.class": "slf4j-simple",
    "org/slf4j/simple/SimpleLogger.class": "slf4j-simple",
    "org/slf4j/impl/JDK14LoggerAdapter.class": "slf4j-jdk14",
    "org/slf4j/jul/JDK14LoggerAdapter.class": "slf4j-jdk14",
}
"""The class of each binding that implements slf4j's logger."""
CAN_TRACE: Final = (LOG4J_1, RELOAD4J, LOG4J_2)
"""Those whose lines and levels the entry point of images sets."""


@dataclass(frozen=True)
class JarFile:
    """A jar, read once. Raises UsageError, when it is read, if it is no archive."""

    path: Path

    @cached_property
    def names(self) -> frozenset[str]:
        """The entries in it."""
        with self._open() as archive:
            return frozenset(archive.namelist())

    @cached_property
    def properties(self) -> Mapping[str, str]:
        """`version` and `commitId` of the build of Kafka that it is of; nothing if it does not say."""
        if PROPERTIES not in self.names:
            return {}
        with self._open() as archive:
            lines = archive.read(PROPERTIES).decode(errors="replace").splitlines()
        return dict(line.strip().split("=", 1) for line in lines if "=" in line)

    def _open(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.path)
        except (OSError, zipfile.BadZipFile) as error:
            raise UsageError(f"{self.path} is not readable as a jar: {error}") from None

    @cached_property
    def java(self) -> tuple[int, str]:
        """The newest Java that a class in it needs, and that class; (0, "") without classes. Classes for some Java
        alone (META-INF/versions) are not loaded by an older one, and do not count.
        """
        found = (0, "")
        with self._open() as archive:
            for name in sorted(self.names):
                if name.endswith(".class") and not name.startswith("META-INF/") and name != "module-info.class":
                    with archive.open(name) as file:
                        head = file.read(8)
                    if head[:4] == MAGIC:
                        found = max(found, (int.from_bytes(head[6:8], "big") - JAVA_OF_CLASSES, name))
        return found

    @cached_property
    def binding(self) -> str:
        """The logging binding that it is; "" for any other jar."""
        return next((binding for name, binding in BINDINGS.items() if name in self.names), "")

    def classes(self) -> dict[str, int]:
        """The checksum of each class, those inside another one with it ("A$B" with "A")."""
        found: dict[str, int] = {}
        with self._open() as archive:
            for entry in archive.infolist():
                if entry.filename.endswith(".class"):
                    name = entry.filename.removesuffix(".class").partition("$")[0].replace("/", ".")
                    found[name] = found.get(name, 0) ^ entry.CRC
        return found


def changed_classes(before: Path, after: Path) -> list[str]:
    """The classes of two jars that came, went or differ, in the order of their names."""
    one, other = JarFile(before).classes(), JarFile(after).classes()
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def bindings_of(jars: Iterable[JarFile]) -> dict[str, str]:
    """The logging bindings among jars, each with the file that it is in."""
    return {jar.binding: jar.path.name for jar in jars if jar.binding}
