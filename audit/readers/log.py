"""Applications' own logs: what their clients print at the start is exactly what is in force.

The Java client logs `ProducerConfig values:`, every setting in a line of its own, and then `Kafka version: 3.9.1`.
librdkafka, with debug=conf, logs `Client configuration:` and `Default topic configuration:`, and its release at `INIT`.
A log has no defaults to be added: whatever it does not say is not known. Passwords are `[hidden]` there, and are hidden
here as everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from audit.model import Client, InputProblem, Inputs, Origin, Setting
from audit.readers.collect import Collected, Options
from audit.readers.names import librdkafka_keys, producer_keys
from audit.readers.text import Text, decode

LARGEST: Final = 200_000_000
"""Bytes of a log that are read, from its beginning."""
BEGINS: Final = re.compile(r"\bProducerConfig values:")
LINE: Final = re.compile(r"\s+([a-z][\w.]*) = (.*)")
VERSION: Final = re.compile(r"Kafka version ?: (\d+(?:\.\d+)+)")
RDKAFKA: Final = re.compile(r"\|CONF\|([^|]*)\|[^\]]*\]:\s+([a-z][\w.]*) = (.*)")
INIT: Final = re.compile(r"librdkafka v(\d+\.\d+\.\d+)")
WITHIN: Final = 40
"""Lines after a dump within which the version is told."""


def read_logs(paths: Sequence[Path], options: Options | None = None) -> Inputs:
    """The producers that some logs tell of. What cannot be read, or has none, is a problem."""
    reading = Collected(options or Options())
    for path in paths:
        try:
            with path.open("rb") as file:
                content = decode(file.read(LARGEST))
        except OSError as error:
            message = f"cannot be read: {error.strerror}"
            reading.problems.append(InputProblem(Origin(str(path)), "unreadable", message, "is the path right?"))
            continue
        reading.read.append(str(path))
        if not read_log(Text(str(path), content), reading):
            message = "no client says in it what it is set to"
            do = "the Java client does at the level INFO of org.apache.kafka, librdkafka with debug=conf"
            reading.problems.append(InputProblem(Origin(str(path)), "unreadable", message, do))
    return reading.inputs()


def read_log(source: Text, reading: Collected) -> bool:
    """Add the producers of a log, each that is set the same way once; whether there are any."""
    lines = source.content.splitlines()
    seen: set[tuple[object, ...]] = set()
    for client, start, settings, release in (*_java(source, lines), *_librdkafka(source, lines)):
        by_key = {each.key: each.value for each in settings}
        what = (client, release, *sorted(item for item in by_key.items() if item[0] != "client.id"))
        if what in seen:
            continue
        seen.add(what)
        name = by_key.get("client.id") or client
        told = f"{source.origin(start)}: the client's own log" if release else ""
        reading.producer(
            name,
            settings,
            source.origin(start),
            client=client,
            framework="log",
            style="none",
            release=release,
            release_from=told,
        )
    return bool(seen)


def _java(source: Text, lines: Sequence[str]) -> Iterator[tuple[Client, int, list[Setting], str | None]]:
    for number, line in enumerate(lines):
        if not BEGINS.search(line):
            continue
        settings: list[Setting] = []
        at = number + 1
        while at < len(lines) and (found := LINE.fullmatch(lines[at])):
            value = found[2].strip()
            if found[1] in producer_keys() and value not in ("null", ""):
                bare = value[1:-1] if value.startswith("[") and value.endswith("]") else value
                settings.append(Setting(found[1], bare, source.origin(at + 1)))
            at += 1
        told = next((found[1] for each in lines[at : at + WITHIN] if (found := VERSION.search(each))), None)
        if settings:
            yield "java", number + 1, settings, told


def _librdkafka(source: Text, lines: Sequence[str]) -> Iterator[tuple[Client, int, list[Setting], str | None]]:
    settings: dict[str, list[Setting]] = {}
    releases: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        parts = line.split("|")
        if len(parts) < 4 or "rdkafka" not in parts[3]:
            continue
        who = parts[3]
        if found := INIT.search(line):
            releases[who] = found[1]
        if (found := RDKAFKA.search(line)) and found[2] in librdkafka_keys() and "#producer" in who:
            settings.setdefault(who, []).append(Setting(found[2], found[3].strip(), source.origin(number)))
    for who, own in settings.items():
        yield "librdkafka", own[0].origin.line or 1, own, releases.get(who)
