"""Finding a Java 17 or later on this machine, for Spark and for the Ivy that Spark bundles.

Brokers never use it: they run on the Java in their image.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from evidence.errors import UsageError
from harness.setup.cache import cache_dir

OLDEST: Final = 17
SYSTEM_TRUST: Final = Path("/etc/ssl/certs/java/cacerts")
"""Where Debian keeps the machine's certificates for every Java; a Java from elsewhere does not look there by itself."""


def wheel_java() -> Path:
    """Where the set-up puts a Java runtime from the Python registry, as the last resort (see bootstrap)."""
    return cache_dir() / "java" / "bin" / "java"


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if found := shutil.which("java"):
        yield Path(found)
    yield from sorted(Path("/usr/lib/jvm").glob("*/bin/java"))
    yield wheel_java()


def major_version(java: Path) -> int | None:
    """The feature release of a `java` binary (8, 17, …); None if it does not run."""
    try:
        result = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', result.stderr)
    return int(match.group(1)) if match and result.returncode == 0 else None


@lru_cache(maxsize=1)
def _find() -> tuple[Path | None, tuple[str, ...]]:
    seen: dict[Path, str] = {}
    for candidate in _candidates():
        if not candidate.exists():
            continue
        # /usr/bin/java is a chain of links; JAVA_HOME is two levels above the end of it. The wheel's is our own script.
        real = candidate if candidate == wheel_java() else candidate.resolve()
        if real in seen:
            continue
        version = major_version(real)
        if version is not None and version >= OLDEST:
            return real, ()
        seen[real] = f"{real} is {'no working Java' if version is None else f'Java {version}'}"
    return None, tuple(seen.values())


def find_java() -> Path:
    """The `java` binary of a Java 17 or later: $JAVA_HOME, the PATH, /usr/lib/jvm, or the one the set-up fetched.

    Raises UsageError if there is none.
    """
    java, refused = _find()
    if java is None:
        note = f" ({'; '.join(refused)})" if refused else ""
        raise UsageError(
            f"no Java {OLDEST} or later for Spark{note}: run `make setup`, or install one and set JAVA_HOME"
        )
    return java


def java_home() -> str:
    """JAVA_HOME for a program that wants it. Raises UsageError as `find_java` does."""
    return str(find_java().parent.parent)


def forget() -> None:
    """Make the next `find_java` search again, after something was installed."""
    _find.cache_clear()


def trust_arguments() -> list[str]:
    """JVM arguments that make any Java trust what this machine trusts (a private certificate authority, say)."""
    return [f"-Djavax.net.ssl.trustStore={SYSTEM_TRUST}"] if SYSTEM_TRUST.exists() else []


def properties(*settings: Mapping[str, Any]) -> Any:
    """java.util.Properties of these settings, later ones over earlier ones; a Java virtual machine must run here."""
    from jpype import JClass

    made = JClass("java.util.Properties")()
    for each in settings:
        for name, value in each.items():
            made.put(name, str(value))
    return made
