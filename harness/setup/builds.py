"""The jars of what nodes run: those of a release's lock (harness/setup/jars.py), or those of an own build.

An own build lies in the user's cache, in a folder that its digest names: `jars/`, and `jars.txt` with a line for each
jar, `name sha256`. The digest is that of these lines, so nothing in the folder can be changed unnoticed: what is not
what its name says is refused, and has to be taken in again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from evidence.cache import cache_path
from evidence.errors import UsageError
from harness.cluster.builds import Build
from harness.setup import jars
from harness.setup.waiting import Echo

LISTING: Final = "jars.txt"


def render(digests: Mapping[str, str]) -> str:
    """The listing of an own build's jars: SHA-256 by file name."""
    return "".join(f"{name} {digests[name]}\n" for name in sorted(digests))


def digest_of(listing: str) -> str:
    """The digest that names a build with this listing."""
    return hashlib.sha256(listing.encode()).hexdigest()


def folder(digest: str) -> Path:
    """Where an own build is kept."""
    return cache_path() / "builds" / digest


def _listing(build: Build) -> str:
    place = folder(build.digest)
    try:
        text = (place / LISTING).read_text()
    except (OSError, UnicodeError):
        raise UsageError(f"{build} is not in the cache ({place}): give --kafka with the build itself") from None
    if digest_of(text) != build.digest:
        raise _changed(build, f"{LISTING} is another")
    return text


def _changed(build: Build, what: str) -> UsageError:
    return UsageError(
        f"{folder(build.digest)} was changed since {build} was taken in: {what}; remove it, and give --kafka again"
    )


def read(build: Build) -> dict[str, str]:
    """SHA-256 of each jar of an own build, by file name. Raises UsageError if the build is not there, or changed."""
    return dict(tuple(line.rsplit(" ", 1)) for line in _listing(build).splitlines())  # type: ignore[misc]


def recipe(build: Build) -> str | None:
    """A text that names every jar of a build by its digest; None for a release whose jars are not resolved yet.

    Raises UsageError for an own build that is not there, or was changed.
    """
    return _listing(build) if build.own else jars.lock_text(build.kafka)


def digests(build: Build) -> dict[str, str]:
    """SHA-256 of each jar: of a release by Maven coordinate, of an own build by file name.

    Raises UsageError if the release is not resolved yet, or the own build is not there.
    """
    return read(build) if build.own else {jar.coordinate: jar.sha256 for jar in jars.read_lock(build.kafka)}


def libraries(build: Build, echo: Echo) -> Path:
    """The directory with exactly the jars of a build: of a release they are fetched if they are not in the cache.

    Raises UsageError if they cannot be fetched, or are not there, or were changed; HarnessError as `jars.resolve` does.
    """
    if not build.own:
        return jars.resolve(build.kafka, echo)
    place, wanted = folder(build.digest) / "jars", read(build)
    present = {path.name for path in place.iterdir()} if place.is_dir() else set()
    if other := sorted(present ^ wanted.keys()):
        raise _changed(build, f"{other[0]} is {'besides' if other[0] in present else 'missing'}")
    for name, sha256 in wanted.items():
        if jars.digest(place / name) != sha256:
            raise _changed(build, f"{name} is another")
    return place
