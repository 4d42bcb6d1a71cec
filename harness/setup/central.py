"""Which releases of Kafka Maven Central has: asked when a release is not known here, and by `kafka-chaos releases`.

Two small files tell it: the metadata of the broker's artifact for Scala 2.11, of releases up to 2.4, and for Scala
2.13, of those from 2.4 on. KAFKA_CHAOS_MAVEN names a mirror of Maven Central, by the URL that its groups lie below.
"""

from __future__ import annotations

import os
import re
import urllib.request
from typing import Final

from evidence.errors import UsageError
from evidence.rundir import write_atomically
from harness.cluster import apache, versions
from harness.cluster.versions import TO, Version
from harness.setup import own
from harness.setup.waiting import Echo, saying

CENTRAL: Final = "https://repo1.maven.org/maven2"
VARIABLE: Final = "KAFKA_CHAOS_MAVEN"
METADATA: Final = tuple(f"org/apache/kafka/kafka_{scala}/maven-metadata.xml" for scala in ("2.11", "2.13"))
"""What has all releases, between them."""
LIMIT_S: Final = 30.0
LARGEST_BYTES: Final = 1_000_000


def names_in(metadata: str) -> tuple[str, ...]:
    """The releases that an artifact's metadata names, oldest first: no betas, no candidates.

    >>> names_in("<version>0.8.2-beta</version><version>0.8.2.0</version><version>0.8.1.1</version>")
    ('0.8.2.0',)
    """
    found = re.findall(r"<version>\s*([^<\s]+)\s*</version>", metadata)
    return apache.ordered(name for name in found if apache.RELEASE.fullmatch(name))


def ask(echo: Echo) -> tuple[str, ...]:
    """All releases that Maven Central has, oldest first. Raises UsageError, in one line, if it cannot be asked."""
    base = os.environ.get(VARIABLE, CENTRAL).rstrip("/")
    found: list[str] = []
    with saying(echo, f"asking {base} for Kafka's releases"):
        for path in METADATA:
            url = f"{base}/{path}"
            try:
                with urllib.request.urlopen(url, timeout=LIMIT_S) as answer:
                    text = answer.read(LARGEST_BYTES).decode("utf-8", errors="replace")
            except (OSError, ValueError) as error:
                reason = getattr(error, "reason", None) or error
                raise UsageError(
                    f"{url} cannot be read ({reason}): Kafka's releases are asked for there; {VARIABLE} names a mirror"
                ) from None
            names = names_in(text)
            if not names:
                raise UsageError(f"{url} names no release of Kafka: is {VARIABLE} a mirror of Maven Central?")
            found += names
    return apache.ordered(found)


def keep(found: tuple[str, ...]) -> tuple[str, ...]:
    """Keep, in the user's cache, what the committed list lacks of these; returns that, oldest first.

    Raises UsageError if the cache cannot be written.
    """
    known = set(apache.committed())
    lacking = tuple(one for one in found if one not in known)
    path = apache.found_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, apache.render(lacking))
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}); set KAFKA_CHAOS_CACHE") from None
    apache.releases.cache_clear()
    return lacking


def find(name: str, echo: Echo) -> Version:
    """The version of this name, as `versions.get` has it; if its release may be newer than what is known here, Maven
    Central is asked first. An own build that was taken in before is found too (harness/setup/own.py). Raises UsageError
    as these do. The name of an upgrade ("2.4.1-to-2.8.1") has two of these.
    """
    before, to, after = name.partition(TO)
    if to:
        return versions.upgraded(find(before, echo), find(after, echo))
    if (taken := own.find(name)) is not None:
        return taken
    try:
        return versions.get(name)
    except apache.UnknownRelease as unknown:
        if not apache.may_be_newer(unknown.kafka, apache.releases()):
            raise
        echo(f"Kafka {unknown.kafka} is not known here: asking Maven Central")
        try:
            keep(ask(echo))
        except UsageError as error:
            raise UsageError(f"{unknown}; it may be newer, but {error}") from None
        return versions.get(name)
