"""Topics that a program makes itself, where nobody else describes them: how many replicas it asks for.

Kafka Connect makes those of source connectors by `topic.creation.default.…` (KIP-158), MirrorMaker 2 by its
`replication.factor`, Spring Cloud Stream's binder by its `replication-factor`. A program of Spring's makes those that
are beans: `TopicBuilder.name(…).replicas(…)` and `new NewTopic(…)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from audit.model import Setting, TopicConfig
from audit.readers.names import latest
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
    r"\bTopicBuilder\s*\.\s*name\(\s*([^()]+?)\s*\)((?:\s*\.\s*\w+\((?:[^()]|\([^()]*\)){0,400}\)){0,20})"
)
PLAIN: Final = re.compile(
    r"\bNewTopic\(\s*([^(),]+?)\s*,\s*[^(),]+(?:\([^()]*\))?\s*,\s*((?:\(\s*short\s*\)\s*)?[^(),]+(?:\([^()]*\))?)\s*\)"
    r"(\s*\.\s*configs\((?:[^()]|\([^()]*\)){0,400}\))?"
)
REPLICAS: Final = re.compile(r"\.\s*replicas\(\s*([^()]+?)\s*\)")
LEAST: Final = re.compile(r"(?:\bMIN_IN_SYNC_REPLICAS_CONFIG|\"min\.insync\.replicas\")\s*(?:,|to)\s*\"?([\w.]+)\"?")


def topics_of_beans(source: Text, constant: Callable[[str], str | None]) -> Iterator[TopicConfig]:
    """The topics that a source makes; `constant` gives what an expression is, as far as it is written out."""
    for found in BUILDER.finditer(source.content):
        replicas = REPLICAS.search(found[2])
        yield from _topic(source, found, found[1], replicas[1] if replicas else "", found[2], constant)
    for found in PLAIN.finditer(source.content):
        yield from _topic(source, found, found[1], found[2], found[3] or "", constant)


def _topic(
    source: Text, at: re.Match[str], name: str, replicas: str, more: str, constant: Callable[[str], str | None]
) -> Iterator[TopicConfig]:
    """A topic by the expressions that tell its name and replicas; none if its name is not written out."""
    called = constant(name)
    bare = re.sub(r"\(\s*short\s*\)|\.toShort\(\)", "", replicas).strip()
    factor = constant(bare) if bare else None
    if called is None or not re.fullmatch(r"[\w.-]+", called):
        return
    origin = source.origin(source.line_at(at.start()))
    least = LEAST.search(more)
    told = constant(least[1]) if least else None
    own: Mapping[str, Setting] = {}
    if told is not None:
        own = {"min.insync.replicas": Setting("min.insync.replicas", told, origin)}
    yield TopicConfig(
        name=called,
        replication_factor=int(factor) if factor is not None and re.fullmatch(r"[1-9]\d{0,3}", factor) else None,
        settings=MappingProxyType(dict(own)),
        origin=origin,
    )
