"""Producers' settings as columns of the Atlas: from what nobody asks an answer for to what is flushed before it counts.

Before 0.11, and where brokers are held at an older protocol, there is no idempotence: the order of records is then kept
with one request in flight. All columns have three replicas and retries; how a file's own settings are told is `own`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from audit.cells import CellKey, Index, Settings, covering_in
from audit.defaults import RULES
from pages.atlas.lines import ReleaseLine

CLIENTS: Final[Mapping[str, str]] = {"java": "Java", "librdkafka": "librdkafka"}
"""Those that have a grid. Scala's producer, which 1.0 removed, is in the data and in an audit."""
WITHOUT_IDEMPOTENCE: Final = ("old", "pinned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A producer's and a topic's settings."""

    id: str
    acks: str
    title: str
    """What a producer sets: "acks=all, idempotent"."""
    topic: str = ""
    """What its topic has: "min.insync.replicas=2"."""
    note: str = ""
    idempotence: bool = False
    in_flight: int = 5
    retries: str = "many"
    replication_factor: int = 3
    min_insync_replicas: int = 1
    unclean: bool = False
    flush_each: bool = False

    def settings(self, client: str, line: str, release: str) -> Settings:
        """The same as the audit's matrix has it."""
        return Settings(
            client=client,
            line=line,
            version=release,
            replication_factor=self.replication_factor,
            min_insync_replicas=self.min_insync_replicas,
            unclean=self.unclean,
            acks=self.acks,
            idempotence=self.idempotence,
            in_flight=self.in_flight,
            retries=self.retries,
            flush_each=self.flush_each,
        )


ACKS_1: Final = "acks-1"
RECOMMENDED: Final = "recommended"
FLUSHED: Final = "flushed"
_DEFAULT_NOW: Final = "Java default since 3.0"
_DEFAULT_THEN: Final = "Java default before 3.0"


def columns(line: str) -> tuple[Column, ...]:
    """The columns of a line of the audit's matrix."""
    idempotent = line not in WITHOUT_IDEMPOTENCE
    ordered = Column(
        id=RECOMMENDED,
        acks="all",
        title="acks=all, idempotent" if idempotent else "acks=all, one in flight",
        topic="min.insync.replicas=2",
        note="recommended",
        idempotence=idempotent,
        in_flight=5 if idempotent else 1,
        min_insync_replicas=2,
    )
    weak = replace(
        ordered,
        id="all-min-1",
        title="acks=all, idempotent" if idempotent else "acks=all",
        topic="min.insync.replicas=1",
        note=_DEFAULT_NOW if idempotent else "",
        in_flight=5,
        min_insync_replicas=1,
    )
    return (
        Column(id="acks-0", acks="0", title="acks=0"),
        Column(id=ACKS_1, acks="1", title="acks=1", note=_DEFAULT_THEN),
        replace(weak, id="unclean", topic="min.insync.replicas=1, unclean elections on", note="", unclean=True),
        weak,
        replace(
            ordered,
            id="not-idempotent",
            title="acks=all, not idempotent" if idempotent else "acks=all, five in flight",
            note="",
            idempotence=False,
            in_flight=5,
        ),
        ordered,
        replace(
            ordered, id=FLUSHED, topic="min.insync.replicas=2, flush.messages=1", note="against a loss of power",
            flush_each=True,
        ),
    )  # fmt: skip


def default_of_java(release: str) -> str:
    """The column that a Java producer of a release falls in, if nothing is set: ACKS_1, or "all-min-1".

    >>> default_of_java("2.8.2"), default_of_java("3.0.0"), default_of_java("3.9.2")
    ('acks-1', '', 'all-min-1')
    """
    rules = RULES["java"](release)
    if rules.acks == "1":
        return ACKS_1
    return "all-min-1" if rules.idempotence else ""


def of(settings: Settings, title: str) -> Column:
    """Somebody's own settings as a column."""
    topic = [f"replication factor {settings.replication_factor}", f"min.insync.replicas={settings.min_insync_replicas}"]
    topic += ["unclean elections on"] if settings.unclean else []
    topic += ["flush.messages=1"] if settings.flush_each else []
    flight = "one in flight" if settings.in_flight == 1 else ""
    words = [f"acks={settings.acks}", *(["idempotent"] if settings.idempotence else []), *([flight] if flight else [])]
    return Column(
        id="yours",
        acks=settings.acks,
        title=", ".join([*words, *(["no retries"] if str(settings.retries) == "0" else [])]),
        topic=", ".join(topic),
        note=title,
        idempotence=settings.idempotence,
        in_flight=settings.in_flight,
        retries=settings.retries,
        replication_factor=settings.replication_factor,
        min_insync_replicas=settings.min_insync_replicas,
        unclean=settings.unclean,
        flush_each=settings.flush_each,
    )


def cells_of(measured: Index, settings: Settings) -> dict[str, CellKey]:
    """The measured cells that cover settings, by fault."""
    return {fault: one.cell.key for fault, one in covering_in(measured, settings).items()}


def falls_in(measured: Index, settings: Settings, line: ReleaseLine) -> Column | None:
    """The column that settings fall in: the one that is covered by the same cells under every fault."""
    mine = cells_of(measured, settings)
    for column in columns(line.audit):
        if mine and mine == cells_of(measured, column.settings(settings.client, settings.line, settings.version)):
            return column
    return None
