"""Topics that a program makes itself, where nobody else describes them: how many replicas it asks for.

Kafka Connect makes those of source connectors by `topic.creation.default.…` (KIP-158), MirrorMaker 2 by its
`replication.factor`, Spring Cloud Stream's binder by its `replication-factor`. A program of Spring's makes those that
are beans: `TopicBuilder.name(…).replicas(…)` and `new NewTopic(…)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from audit.model import Origin, Setting, TopicConfig
from audit.readers.names import latest
from audit.readers.placeholders import Lookup, resolve
from audit.readers.text import Text

FACTOR: Final = "replication.factor"
OF_CONNECTORS: Final = "topic.creation.default."
OF_TOPICS: Final = frozenset({"min.insync.replicas", "unclean.leader.election.enable", "flush.messages"})


def made_with(settings: Iterable[Setting]) -> TopicConfig | None:
    """The topics that are made with these settings, of which `replication.factor` is one; None if none tells much."""
    by_key = latest(settings)
    factor = by_key.get(FACTOR)
    replicas = int(factor.value) if factor is not None and re.fullmatch(r"[1-9]\d{0,3}", factor.value) else None
    own = {key: each for key, each in by_key.items() if key in OF_TOPICS}
    first = factor if factor is not None and replicas else next(iter(own.values()), None)
    if first is None:
        return None
    return TopicConfig(name="", replication_factor=replicas, settings=MappingProxyType(own), origin=first.origin)


BUILDER: Final = re.compile(
    r"\bTopicBuilder\s*\.\s*name\(\s*((?:[^()]|\(\)){1,200}?)\s*\)((?:\s*\.\s*\w+\((?:[^()]|\([^()]*\)){0,400}\)){0,20})"
)
PLAIN: Final = re.compile(
    r"\bNewTopic\(\s*((?:[^(),]|\(\)){1,200}?)\s*,\s*[^(),]+(?:\([^()]*\))?\s*,\s*((?:\(\s*short\s*\)\s*)?[^(),]+(?:\([^()]*\))?)\s*\)"
    r"(\s*\.\s*configs\((?:[^()]|\([^()]*\)){0,400}\))?"
)
REPLICAS: Final = re.compile(r"\.\s*replicas\(\s*((?:[^()]|\(\)){1,200}?)\s*\)")
LEAST: Final = re.compile(r"(?:\bMIN_IN_SYNC_REPLICAS_CONFIG|\"min\.insync\.replicas\")\s*(?:,|to)\s*\"?([\w.]+)\"?")


@dataclass(frozen=True, slots=True)
class AskedTopic:
    """A topic that a source makes, with texts that may be placeholders of its application's files."""

    name: str
    replicas: str
    """Empty if it is not told."""
    least: str
    """Of min.insync.replicas, empty if it is not told."""
    origin: Origin


def topics_of_beans(source: Text, constant: Callable[[str], str | None]) -> Iterator[AskedTopic]:
    """The topics that a source makes; `constant` gives what an expression is, as far as it is told."""
    for found in BUILDER.finditer(source.content):
        replicas = REPLICAS.search(found[2])
        yield from _topic(source, found, found[1], replicas[1] if replicas else "", found[2], constant)
    for found in PLAIN.finditer(source.content):
        yield from _topic(source, found, found[1], found[2], found[3] or "", constant)


TEMPLATES: Final = re.compile(
    r"\b\w{0,60}(?i:template|kafka|operations)\w{0,60}(?:\(\))?\s*\.\s*send(?:Default)?\(\s*(?:(\"[^\"\n]*\"|[\w.]+)\s*,)?"
)
"""Where a program of Spring's sends with a template, and the topic if that is a literal or a name."""


def sent_by_templates(content: str) -> tuple[str, ...] | None:
    """The topics that a source sends to with templates of Spring's, with placeholders; None if not all are told."""
    found: list[str] = []
    for name in TEMPLATES.findall(content):
        last = re.escape(name.rpartition(".")[2])
        literal = f"{name[1:-1]}" if name.startswith('"') else ""
        told = re.search(
            rf"@Value\(\s*\"(\$\{{[^\"]*\}})\"\s*\)\s*(?:(?:private|protected|final)\s+)*String\s+{last}\b"
            rf"|\b(?:String\s+|va[lr]\s+){last}\s*(?::\s*String\s*)?=\s*\"([^\"$]*)\"",
            content,
        ) if name and not literal else None  # fmt: skip
        text = literal or ((told[1] or told[2]) if told else "")
        if not text:
            return None
        found.append(text)
    return tuple(dict.fromkeys(found))


OF_GO: Final = re.compile(r"\bTopicSpecification\{\{?([^{}]*(?:\{[^{}]*\}[^{}]*)?)\}")
"""Where a program of Go's makes a topic with confluent's client."""


def topics_of_go(source: Text, constant: Callable[[str], str | None]) -> Iterator[AskedTopic]:
    """The topics that a source of Go's makes."""
    for found in OF_GO.finditer(source.content):
        name = re.search(r"\bTopic:\s*(\"[^\"]*\"|[\w.]+)", found[1])
        replicas = re.search(r"\bReplicationFactor:\s*([\w.]+)", found[1])
        least = re.search(r"\"min\.insync\.replicas\":\s*\"(\d+)\"", found[1])
        called = constant(name[1]) if name else None
        if called is not None:
            factor = (constant(replicas[1]) if replicas else None) or ""
            yield AskedTopic(called, factor, least[1] if least else "", source.origin(source.line_at(found.start())))


def _topic(
    source: Text, at: re.Match[str], name: str, replicas: str, more: str, constant: Callable[[str], str | None]
) -> Iterator[AskedTopic]:
    """A topic by the expressions that tell its name and replicas; none if its name is not told."""
    called = constant(name)
    bare = re.sub(r"\(\s*short\s*\)|\.toShort\(\)", "", replicas).strip()
    least = LEAST.search(more)
    if called is not None:
        factor = (constant(bare) if bare else None) or ""
        own = (constant(least[1]) if least else None) or ""
        yield AskedTopic(called, factor, own, source.origin(source.line_at(at.start())))


def topic_asked(asked: AskedTopic, look_up: Lookup) -> TopicConfig | None:
    """A topic with what its application's files say of its name and replicas; None if its name is not known."""
    name, replicas, least = (resolve(each, "spring", look_up) for each in (asked.name, asked.replicas, asked.least))
    if not name.known or not re.fullmatch(r"[\w.-]+", name.text):
        return None
    own: dict[str, Setting] = {}
    if least.known and least.text:
        own = {"min.insync.replicas": Setting("min.insync.replicas", least.text, asked.origin)}
    factor = int(replicas.text) if replicas.known and re.fullmatch(r"[1-9]\d{0,3}", replicas.text) else None
    return TopicConfig(name=name.text, replication_factor=factor, settings=MappingProxyType(own), origin=asked.origin)
