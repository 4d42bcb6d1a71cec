"""`kafka-chaos list --versions`: every release, the ways to run it, and what of it is on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any, Final

from evidence.errors import UsageError
from harness.cluster import apache, versions
from harness.cluster.docker import connect
from harness.setup import images, jars

HEADINGS: Final = ("release", "versions", "held at protocols", "Java", "Scala", "lock", "jars", "image")


def rows() -> list[dict[str, Any]]:
    """A row for each release, oldest first. `image_bytes` and `jars_bytes` are null where there is none, and
    `image_bytes` is missing where no Docker engine answers.
    """
    built = _images()
    cached = jars.cached_bytes()
    of_the_matrix = {version.id for version in versions.ALL}
    found: list[dict[str, Any]] = []
    for kafka in apache.releases():
        ways = [versions.get(name) for name in versions.ways(kafka)]
        held = versions.protocols(kafka)
        about: dict[str, Any] = {
            "kafka": kafka,
            "versions": [version.id for version in ways],
            "protocols": list(held),
            "pinned": f"{kafka}-pinned" if versions.PINNED_PROTOCOL in held else None,
            "java": ways[0].java,
            "scala": ways[0].scala,
            "matrix": [one for one in (*versions.ways(kafka), f"{kafka}-pinned") if one in of_the_matrix],
            "locked": jars.is_committed(kafka),
            "jars_bytes": cached.get(kafka),
        }
        found.append(about if built is None else about | {"image_bytes": built.get(kafka)})
    return found


def _images() -> Mapping[str, int] | None:
    """The images that are there, by release; None if no engine answers."""
    try:
        with closing(connect()) as client:
            return images.sizes(client)
    except UsageError:
        return None


def as_text(found: Iterable[Mapping[str, Any]]) -> str:
    """The same for people: a table, and what the names mean."""
    table = [HEADINGS, *(_row(one) for one in found)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in table]
    return "\n".join([*lines, "", *_notes()])


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    held = " to ".join(dict.fromkeys([*one["protocols"][:1], *one["protocols"][-1:]])) or "-"
    return (
        one["kafka"],
        " ".join([*one["versions"], *([one["pinned"]] if one["pinned"] else [])]),
        held,
        str(one["java"]),
        one["scala"],
        "committed" if one["locked"] else "-",
        _size(one["jars_bytes"]),
        _size(one["image_bytes"]) if "image_bytes" in one else "?",
    )


def _size(count: int | None) -> str:
    """Such as "61 MB"; "-" for nothing."""
    return "-" if count is None else f"{count / 1e6:.0f} MB"


def _notes() -> Iterator[str]:
    yield "`RELEASE-protocol-2.3` is a release held at inter.broker.protocol.version 2.3; -pinned is -protocol-0.10.2."
    yield "`2.4.1-to-2.8.1` is a cluster of 2.4.1 that is upgraded to 2.8.1 (scenarios upgrade-…, run --upgrade-to)."
    yield "Jars and images that are missing are made on first use (some 60 MB and 400 to 600 MB), or by `setup`."
    yield "No committed lock: the jars are resolved once, and their digests kept in the cache; --locked refuses these."
