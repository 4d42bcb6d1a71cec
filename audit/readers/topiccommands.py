"""Topics that commands make: `kafka-topics --create --topic orders --replication-factor 3`, in scripts of a shell and
in the commands of Compose's services.

A loop over names that are written out makes one of each. A factor that is no number is not told. What is commented out
makes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from types import MappingProxyType
from typing import Final

from audit.model import Setting, TopicConfig
from audit.readers.text import Text

MOST: Final = 200
"""Commands of one file that are looked at."""
LONGEST: Final = 1_000
"""Characters of one command that are looked at."""
COMMAND: Final = re.compile(r"\bkafka-topics(?:\.sh)?\b")
ENDS: Final = re.compile(r"&&|\|\||;|(?<![\\>|])\n[ \t]*\n|\bkafka-topics(?:\.sh)?\b|\bkafka-console-|\bdone\b")
LINE: Final = re.compile(r"(?<!\\)\n")
OPTION: Final = r"--{name}(?:=|[\s,\"'\\]+)[\"']?([^\s\"',\\]+)"
LOOP: Final = re.compile(r"\bfor\s+(\w+)\s+in\s+([^;\n]{1,500}?)\s*;?\s*\n?\s*do\b")
OF_TOPICS: Final = ("min.insync.replicas", "unclean.leader.election.enable", "flush.messages")


def topics_of_commands(source: Text, *, folded: bool) -> list[TopicConfig]:
    """The topics that the commands of a file make. `folded`: lines of one command need no backslash, as in YAML."""
    return list(_topics(source, folded=folded))


def _topics(source: Text, *, folded: bool) -> Iterator[TopicConfig]:
    text = re.sub(r"(?m)^[ \t]*#[^\n]*", lambda found: " " * len(found[0]), source.content)
    for found in islice(COMMAND.finditer(text), MOST):
        rest = text[found.end() : found.end() + LONGEST]
        end = ENDS.search(rest) if folded else LINE.search(rest)
        rest = rest[: end.start()] if end else rest
        if not folded:
            rest = re.split(r"&&|\|\||;", rest)[0]
        if "--create" not in rest:
            continue
        name, factor = _option("topic", rest), _option("replication-factor", rest)
        for each in _names(name, text[: found.start()]):
            settings = {
                key: Setting(key, value, source.origin(source.line_at(found.start())))
                for key, value in re.findall(r"([\w.]+)=([\w.-]+)", rest)
                if key in OF_TOPICS
            }
            yield TopicConfig(
                name=each,
                replication_factor=int(factor) if re.fullmatch(r"[1-9]\d{0,2}", factor) else None,
                settings=MappingProxyType(settings),
                origin=source.origin(source.line_at(found.start())),
            )


def _option(name: str, rest: str) -> str:
    found = re.search(OPTION.format(name=name), rest)
    return found[1] if found else ""


def _names(name: str, before: str) -> list[str]:
    """The names of topics that a command is told: one, or those of the loop that it stands in."""
    if re.fullmatch(r"[\w.-]+", name):
        return [name]
    variable = re.fullmatch(r"\$?\$\{?(\w+)\}?", name)
    loops = [each for each in LOOP.finditer(before) if variable is not None and each[1] == variable[1]]
    words = loops[-1][2].replace('"', " ").replace("'", " ").split() if loops else []
    return words if words and all(re.fullmatch(r"[\w.-]+", each) for each in words) else []
