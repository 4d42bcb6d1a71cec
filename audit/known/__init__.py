"""The keys that producers, topics and brokers know, with their defaults, release by release: data, and how to ask it.

The JSON files beside this are written by `python -m harness.setup.known_settings`, which asked each release's own code
(see there), and begin with the releases asked and where each came from. A key's history is a list of spans:

    "retries": [{"from": "0.8.2.2", "to": "2.0.1", "default": "0", "type": "int", "valid": "[0,...,2147483647]"},
                {"from": "2.1.1", "to": "4.3.1", "default": "2147483647", …}]

`default` is text as one would write it, null if it has no default; `alias` is the librdkafka key that this one stands
for. A release that was not asked knows what the nearest older asked one knew (`Known.nearest`), or the oldest.

What the code declares is not always what it does: kafka-clients 3.0.0 and 3.1.0 declare enable.idempotence=true and do
not act on it (KAFKA-13598), and acks=1 undoes it in most releases. That is for `audit.defaults` and `audit.resolve`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final, Literal

from evidence.releases import numbers

Kind = Literal["java-producer", "scala-producer", "librdkafka", "topic", "broker"]
KINDS: Final[tuple[Kind, ...]] = ("java-producer", "scala-producer", "librdkafka", "topic", "broker")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKey:
    """What one key is in some releases."""

    name: str
    default: str | None
    type: str = ""
    """"boolean", "int", "long", "string", "list", "class", … of Java; "integer", "enum value", … of librdkafka."""
    valid: str = ""
    """The values it takes, as its own code says it ("[all, -1, 0, 1]", "0 .. 2147483647")."""
    alias: str = ""
    since: str
    """The oldest asked release that has it so; `until` is the newest."""
    until: str


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """All that was asked of one kind."""

    kind: Kind
    releases: tuple[str, ...]
    """Those asked, oldest first."""
    history: Mapping[str, tuple[KnownKey, ...]]
    """Every key that any release had, oldest first."""

    def nearest(self, release: str | None) -> str:
        """The newest asked release that is not newer, or the oldest of all; without a release the newest."""
        if release is None:
            return self.releases[-1]
        wanted = numbers(release)
        older = [each for each in self.releases if numbers(each) <= wanted]
        return older[-1] if older else self.releases[0]

    def at(self, release: str | None) -> Mapping[str, KnownKey]:
        """The keys of a release, by name."""
        here = numbers(self.nearest(release))
        found = {}
        for name, spans in self.history.items():
            for key in spans:
                if numbers(key.since) <= here <= numbers(key.until):
                    found[name] = key
        return found


@cache
def known(kind: Kind) -> KnownKeys:
    """What was asked of a kind, read from its file once."""
    told = json.loads(resources.files(__name__).joinpath(f"{kind}.json").read_text(encoding="utf-8"))
    history = {
        name: tuple(
            KnownKey(
                name=name,
                default=span["default"],
                type=span.get("type", ""),
                valid=span.get("valid", ""),
                alias=span.get("alias", ""),
                since=span["from"],
                until=span["to"],
            )
            for span in spans
        )
        for name, spans in told["keys"].items()
    }
    return KnownKeys(kind, tuple(told["releases"]), history)
