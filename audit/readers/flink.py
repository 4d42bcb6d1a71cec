"""Flink's Kafka sinks: `properties.*` options of a table in SQL, or of a sink in YAML or JSON.

Statements of SQL that a program of the JVM or of Python runs are read as if they were a file of SQL.

A table is a sink if something is inserted into it, or if it has options that only sinks and producers have, and is not
only read where others are written to. Otherwise it may as well be a source, and nothing is said of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from audit.model import Setting
from audit.readers.collect import Collected, preset
from audit.readers.format import JSON, YAML, Document, Format
from audit.readers.names import PRODUCERS, latest, under
from audit.readers.text import Text
from audit.readers.tree import MOST, Listing, Node, Table, flatten

TABLE: Final = re.compile(
    r"CREATE\s+(?:TEMPORARY\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?([`\w.\"]+)(?:'(?:[^']|'')*+'|(?!\bCREATE\s)[^';])*?"
    r"\bWITH\s*\((?P<options>(?:'(?:[^']|'')*+'|[^')])*+)\)",
    re.IGNORECASE | re.DOTALL,
)
OPTION: Final = re.compile(r"'((?:[^']|'')++)'\s*=\s*'((?:[^']|'')*+)'")
COMMENT: Final = re.compile(r"('(?:[^']|'')*+')|--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
"""Or a text, in which nothing is a comment."""
EXACTLY_ONCE: Final = "sink.delivery-guarantee = exactly-once of Flink's Kafka sink"


def read_sql(source: Text, reading: Collected) -> bool:
    """Add the producers of the Kafka tables that a SQL text writes to; whether it has any Kafka table."""
    text = COMMENT.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), source.content)
    written = [_path(name) for name in re.findall(r"INSERT\s+(?:INTO|OVERWRITE)\s+([`\w.\"]+)", text, re.IGNORECASE)]
    selected = [_path(name) for name in re.findall(r"\b(?:FROM|JOIN)\s+([`\w.\"]+)", text, re.IGNORECASE)]
    used = OF_FLINK | {part for name in USES.findall(text) for part in _path(name)}
    any_table = False
    for table in TABLE.finditer(text):
        start = table.start("options")
        options = [
            Setting(
                option[1].replace("''", "'"),
                option[2].replace("''", "'"),
                source.origin(source.line_at(start + option.start())),
            )
            for option in OPTION.finditer(table["options"])
        ]
        name = _bare(table[1])
        if is_sink(options):
            any_table = True
            own = _path(table[1])
            certain = any(_is_same(own, each, used) for each in written)
            if certain or not written or not any(_is_same(own, each, used) for each in selected):
                read_sink(name, options, reading, certain=certain)
    return any_table


STATEMENT: Final = re.compile(r"\b(?:CREATE\s+(?:TEMPORARY\s+)?TABLE|INSERT\s+(?:INTO|OVERWRITE))\b", re.IGNORECASE)
"""What a text in a program has that is a statement of SQL, of those that tell a sink."""
SENDS: Final = re.compile(r"\b(?:executeSql|sqlUpdate|addInsertSql|execute_sql)\b")
LITERAL: Final = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"\"\"(?P<block>.*?)\"\"\"|\"(?P<text>(?:[^\"\\\n]|\\.)*)\"|'(?:[^'\\\n]|\\.)'", re.DOTALL
)
JOINED: Final = re.compile(r"\s*\+\s*(?:([\w.]+(?:\(\))?)\s*\+\s*)?")
"""What stands between two texts that are one: a name, perhaps."""
Piece = tuple[int, str]
"""A text of a program, and the line on which it begins."""


def placed(source: Text, pieces: Sequence[Piece]) -> Text:
    """The statements of SQL that a program has, each on the line on which it is in the program's source."""
    done: list[str] = []
    line = 1
    for at, text in sorted(pieces):
        if STATEMENT.search(text):
            done += ["\n" * (at - line), text, ";"]
            line = max(at, line) + text.count("\n")
    return replace(source, content="".join(done))


def pieces_of(content: str) -> list[Piece]:
    """The texts of a source of Java, Kotlin or Scala, those that are added to each other as one; a name between them
    is a placeholder.
    """
    found: list[Piece] = []
    end = 0
    for each in LITERAL.finditer(content):
        if each.lastgroup not in ("block", "text"):
            continue
        text = each[each.lastgroup]
        if each.lastgroup == "text":
            text = re.sub(r"\\[nrt]", " ", text).replace('\\"', '"')
        between = JOINED.fullmatch(content, end, each.start()) if found else None
        if between is not None:
            name = f"${{{re.sub(r'[^0-9A-Za-z]', '_', between[1])}}}" if between[1] else ""
            found[-1] = (found[-1][0], f"{found[-1][1]}{name}{text}")
        else:
            found.append((content.count("\n", 0, each.start()) + 1, text))
        end = each.end()
    return found


USES: Final = re.compile(r"\bUSE\s+(?:CATALOG\s+)?([`\w.\"]+)", re.IGNORECASE)
OF_FLINK: Final = frozenset({"default_catalog", "default_database"})
"""Where a table is that is made without the name of a catalog or a database."""


def _path(name: str) -> list[str]:
    return name.replace("`", "").replace('"', "").split(".")


def _bare(name: str) -> str:
    return _path(name)[-1]


def _is_same(table: Sequence[str], other: Sequence[str], used: Collection[str]) -> bool:
    """Whether two names are of one table, of which one may tell more of its catalog and database: these are those that
    are in use.
    """
    short, long = sorted((table, other), key=len)
    more = long[: len(long) - len(short)]
    return long[len(more) :] == short and all(each in used or "$" in each for each in more)


def sinks(node: Node, source: Text) -> Iterator[tuple[str, list[Setting]]]:
    """The mappings of a tree that are options of a Kafka table, each by the name that is next to it."""
    todo: list[tuple[str, Node]] = [("", node)]
    steps = 0
    while todo and steps < MOST:
        steps += 1
        name, each = todo.pop()
        if isinstance(each, Table):
            settings = (
                flatten(each, source) if each.names() & {"connector", "type", "identifier", "connector.type"} else []
            )
            if is_sink(settings):
                yield each.text("name") or name, settings
            else:
                todo += [(key, value) for key, _, value in each.items]
        elif isinstance(each, Listing):
            todo += [(name, one) for one in each.items]


def is_sink(options: Sequence[Setting]) -> bool:
    """Whether options are those of a Kafka table: a kafka connector, and properties for its client."""
    by_key = latest(options)
    kinds = [by_key[key].value for key in ("connector", "type", "identifier", "connector.type") if key in by_key]
    return any("kafka" in kind for kind in kinds) and any(key.startswith("properties.") for key in by_key)


OF_GUARANTEES: Final = "2.4.1"
"""The oldest kafka-clients of a connector that has `sink.delivery-guarantee`, which Flink 1.15 brought."""


def read_sink(name: str, options: Sequence[Setting], reading: Collected, *, certain: bool) -> None:
    """Add a table's producer, if it is a sink."""
    by_key = latest(options)
    own = under(options, "properties.")
    marks = {each.key for each in own} & PRODUCERS
    if not certain and not marks and not any(key.startswith("sink.") for key in by_key):
        return
    guarantee = next((by_key[key] for key in ("sink.delivery-guarantee", "sink.semantic") if key in by_key), None)
    presets = []
    if guarantee is not None and guarantee.value.replace("_", "-").lower() == "exactly-once":
        presets = [preset("transactional.id", "(its own)", EXACTLY_ONCE, guarantee.origin)]
    topics = [by_key["topic"].value] if "topic" in by_key else []
    first = next((each for each in own if each.key in PRODUCERS), options[0])
    reading.producer(
        name or "sink",
        own,
        first.origin,
        client="java",
        framework="flink",
        spelling="properties.{key}",
        presets=presets,
        topics=[topic for each in topics for topic in each.split(";")],
        style="shell",
    )
    if "sink.delivery-guarantee" in by_key:
        reading.producers[-1] = replace(reading.producers[-1], since=OF_GUARANTEES)


def _read_sinks(document: Document, reading: Collected) -> bool:
    found = False
    for name, options in sinks(document.tree, document.source) if document.tree is not None else ():
        read_sink(name or document.source.file, options, reading, certain=False)
        found = True
    return found


FORMATS: Final = (
    Format(
        name="Flink SQL",
        reads="`properties.*` of the Kafka tables that are written to",
        files=("*.sql",),
        rank=30,
        whole=True,
        claims=lambda document: document.file.endswith(".sql"),
        read=lambda document, reading: read_sql(document.source, reading) or True,
    ),
    Format(
        name="Flink sinks",
        reads="`properties.*` of a sink of the Kafka connector",
        files=(*YAML, *JSON),
        rank=140,
        claims=lambda document: document.tree is not None,
        read=_read_sinks,
    ),
)
