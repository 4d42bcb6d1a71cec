"""What a node runs: a release of Kafka, or somebody's own build, as one value.

Whatever depends on the code of brokers asks this value: the tag of their image, their Java, their jars
(harness/setup/builds.py). A release is named by its number, and its jars by the lock of that number. An own build says
its version itself, in kafka/kafka-version.properties, and that may be the number of a release, or of another build:
what tells two builds apart is the digest of their jars. So the digest is in the image's tag, and in the name of every
version of that build (harness/cluster/versions.py); two builds of one number share no image, no cell and no run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal

from evidence.releases import Release, numbers
from harness.cluster.namespace import namespace

ON_JAVA_17: Final = numbers("3.0")
"""The first release that we run on Java 17, which is younger than every line before it."""
SHORT: Final = 12
"""Hexadecimal digits of a build's digest that names have."""
NOT_IN_TAGS: Final = re.compile(r"[^\w.-]")
"""Characters of a version that a tag of an image may not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A release, or an own build. Two of them are equal if their versions and jars are, wherever they came from."""

    kafka: str
    """Its version: "4.3.1"; of an own build what it says itself, such as "4.5.0-SNAPSHOT" or "3.9.2-vendor.7"."""
    digest: str = ""
    """Of an own build: SHA-256 of the names and digests of its jars. "": a release, whose jars its lock names."""
    origin: str = field(default="", compare=False)
    """Where an own build was taken from, as its user named it: a directory, an archive, an image."""

    @property
    def own(self) -> bool:
        """Whether it is a build of the user's own, not a release."""
        return bool(self.digest)

    @property
    def release(self) -> Release:
        """Its version as numbers: (0, 10, 2, 2). A candidate, a snapshot and a vendor's build have their release's."""
        return numbers(self.kafka)

    @property
    def java(self) -> Literal[8, 17]:
        """The Java its brokers run on."""
        return 17 if self.release >= ON_JAVA_17 else 8

    @property
    def mark(self) -> str:
        """What tells it from all others in names: "@" and the digest's beginning; "" of a release."""
        return f"@{self.digest[:SHORT]}" if self.own else ""

    @property
    def name(self) -> str:
        """Its version, which for an own build is not enough, with its mark: "4.3.1", "4.3.1-rc2@0123456789ab"."""
        return self.kafka + self.mark

    @property
    def tag(self) -> str:
        """The tag of its image, without the image's name.

        >>> Build(kafka="4.3.1").tag, Build(kafka="4.3.1-rc2+mine", digest="0123456789abcdef").tag
        ('4.3.1', '4.3.1-rc2-mine-build-0123456789ab')
        """
        return NOT_IN_TAGS.sub("-", self.kafka) + (f"-build-{self.digest[:SHORT]}" if self.own else "")

    @property
    def image(self) -> str:
        """The name of its image. Ways to run one build share the image."""
        return f"{namespace()}/kafka:{self.tag}"

    def __str__(self) -> str:
        return f"Kafka {self.name}"
