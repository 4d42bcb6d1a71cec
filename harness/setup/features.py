"""The requests and features that a build's code knows, asked in a process with a Java virtual machine of its own.

This is what its brokers answer to ApiVersions: the oldest and newest version of each request (0.10.1 and later have
ApiKeys tell it), and the newest released level of each feature (3.3 and later: metadata.version; 4.0 and later: all).
What a build's code does not tell is left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from evidence.rundir import write_atomically
from harness.setup import jars
from harness.setup.cache import cache_dir
from harness.setup.java import java_home
from harness.setup.waiting import Echo

MODULE: Final = "harness.setup.features"
LIMIT_S: Final = 120


@dataclass(frozen=True, kw_only=True)
class SupportedVersions:
    """What code knows."""

    requests: Mapping[str, str] = field(default_factory=dict)
    """The versions of each request: "0-12"."""
    features: Mapping[str, str] = field(default_factory=dict)
    """The newest released level of each feature."""


def asked(libraries: Path) -> SupportedVersions:
    """What the jars of a directory know; nothing if their code cannot be asked."""
    command = [sys.executable, "-m", MODULE, *map(str, sorted(libraries.glob("*.jar")))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        return SupportedVersions(**json.loads(done.stdout.splitlines()[-1]))
    except (subprocess.TimeoutExpired, IndexError, ValueError, TypeError):
        return SupportedVersions()


def of_release(kafka: str, echo: Echo) -> SupportedVersions:
    """What a release knows, kept in the user's cache. Raises as `jars.resolve` does."""
    path = cache_dir() / "features" / f"{kafka}.json"
    with suppress(OSError, ValueError, TypeError):
        return SupportedVersions(**json.loads(path.read_text()))
    found = asked(jars.resolve(kafka, echo))
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, json.dumps(asdict(found)))
    return found


def differences(released: SupportedVersions, own: SupportedVersions) -> Iterator[str]:
    """A line for each request or feature that a build knows otherwise than a release.

    >>> new = SupportedVersions(requests={"Produce": "0-13", "New": "0-0"})
    >>> list(differences(SupportedVersions(requests={"Produce": "0-12"}), new))
    ['New: none → 0-0', 'Produce: 0-12 → 0-13']
    """
    for one, other in ((released.requests, own.requests), (released.features, own.features)):
        for name in sorted(one.keys() | other.keys()):
            if one.get(name) != other.get(name):
                yield f"{name}: {one.get(name, 'none')} → {other.get(name, 'none')}"


def ask(class_path: Sequence[str]) -> SupportedVersions:
    """In this process: what the classes on a class path know."""
    import jpype

    library = next(Path(java_home()).glob("lib/**/libjvm.so"))
    jpype.startJVM(str(library), "-Xmx256m", "-XX:+UseSerialGC", classpath=list(class_path), convertStrings=True)
    return SupportedVersions(requests=dict(_requests(jpype)), features=dict(_features(jpype)))


def _requests(jpype: Any) -> Iterator[tuple[str, str]]:
    try:
        keys = list(jpype.JClass("org.apache.kafka.common.protocol.ApiKeys").values())
    except TypeError:
        return
    for key in keys:
        with suppress(AttributeError, jpype.JException):
            yield str(key.name), f"{int(key.oldestVersion())}-{int(key.latestVersion())}"


def _features(jpype: Any) -> Iterator[tuple[str, str]]:
    with suppress(TypeError, AttributeError, jpype.JException):
        metadata = jpype.JClass("org.apache.kafka.server.common.MetadataVersion")
        latest = metadata.latestProduction() if hasattr(metadata, "latestProduction") else metadata.latest()
        yield "metadata.version", str(latest)
    with suppress(TypeError, AttributeError, jpype.JException):
        for feature in jpype.JClass("org.apache.kafka.server.common.Feature").PRODUCTION_FEATURES:
            yield str(feature.featureName()), str(int(feature.latestProduction()))


if __name__ == "__main__":
    print(json.dumps(asdict(ask(sys.argv[1:]))))
