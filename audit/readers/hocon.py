"""HOCON, the configuration of Akka, Pekko and Play (`application.conf`, `reference.conf`), as trees with lines.

It is parsed here, by what its specification says of objects, lists, comments, text over several lines, substitutions,
concatenation and merging. The library for Python (pyhocon 0.3.63) was looked at and not taken: it keeps no line of a
value, it takes `${X}` from this process's environment, and `include url(…)` of a foreign repository would be fetched.

A substitution is resolved within its file. What is not there is a variable of the environment: `acks = ${?ACKS}` after
`acks = "1"` is the placeholder `${ACKS:1}`, as Spring writes it. `include` is passed over: a file is read by itself.

Settings are read below a key `kafka-clients` of a producer (`akka.kafka.producer`, or an application's own section of
that form), and below an application's own prefix, as in other files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from audit.model import Setting
from audit.readers.collect import Collected, preset
from audit.readers.format import Document, Format
from audit.readers.names import producer_keys
from audit.readers.plain import read_prefixed
from audit.readers.text import Text, Unreadable
from audit.readers.tree import DEEPEST, MOST, Listing, Node, Scalar, Table, flatten

BLOCK: Final = re.compile(r"(?m)^[ \t]*[\w.\"'-]+[ \t]*[=:]?[ \t]*\{")
SPEAKS: Final = re.compile(r"kafka|producer", re.IGNORECASE)
SPACE: Final = re.compile(r"(?:[^\S\n]|#[^\n]*|//[^\n]*)+")
GAP: Final = re.compile(r"(?:[\s,]|#[^\n]*|//[^\n]*)+")
KEY: Final = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"|[^\s"{}\[\]=:,+#`^?!@*&\\$/])+(?:[^\S\n]+(?=[^\s{}=:+]))?')
QUOTED: Final = re.compile(r'"""(.*?)"""+|"((?:[^"\\\n]|\\.)*)"', re.DOTALL)
UNQUOTED: Final = re.compile(r"(?:(?!//)[^\s\"{}\[\]=:,+#`^?!@*&\\$]|[:=+?!*&@^](?=[\w/*.-]))+")
REFERENCE: Final = re.compile(r"\$\{(\??)\s*([^}\n]*?)\s*\}")
CLIENTS: Final = "kafka-clients"
SPELLED: Final = re.compile(r"[A-Z][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class _Reference:
    path: tuple[str, ...]
    written: str
    optional: bool


@dataclass(slots=True)
class _Object:
    line: int
    fields: list[tuple[str, int, _Value]] = field(default_factory=list)


@dataclass(slots=True)
class _List:
    line: int
    items: list[_Value] = field(default_factory=list)


_Part = _Object | _List | _Reference | str
_Value = list[_Part]
"""What is concatenated."""


def read_hocon(source: Text) -> Table:
    """The object that a text is, with its substitutions resolved. Raises Unreadable."""
    root = _HoconParser(source).root()
    return _Resolver(root).table([root])


def _keys(text: str) -> tuple[str, ...]:
    """The keys of a path.

    >>> _keys('akka.kafka."a.b"')
    ('akka', 'kafka', 'a.b')
    """
    return tuple(quoted or bare for quoted, bare in re.findall(r'"((?:[^"\\]|\\.)*)"|([^."\s]+)', text))


class _HoconParser:
    """Reads from left to right; never recurses deeper than DEEPEST."""

    def __init__(self, source: Text) -> None:
        self.text = source.content.removeprefix("\ufeff")
        self.source = source
        self.at = 0
        self.depth = 0
        self.line = 1
        self.counted = 0

    def root(self) -> _Object:
        self._skip(GAP)
        braced = self._take("{")
        made = self._object(end="}" if braced else "")
        self._skip(GAP)
        if self.at < len(self.text):
            raise self._wrong("not HOCON")
        return made

    def _wrong(self, message: str) -> Unreadable:
        return Unreadable(message, self._line())

    def _line(self) -> int:
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.line

    def _skip(self, what: re.Pattern[str]) -> None:
        if found := what.match(self.text, self.at):
            self.at = found.end()

    def _take(self, token: str) -> bool:
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def _object(self, end: str) -> _Object:
        made = _Object(self._line())
        self._deeper()
        while True:
            self._skip(GAP)
            if self.at >= len(self.text):
                if end:
                    raise self._wrong("a brace is not closed")
                break
            if end and self._take(end):
                break
            self._field(made)
        self.depth -= 1
        return made

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._wrong(f"nested more than {DEEPEST} deep")

    def _field(self, made: _Object) -> None:
        line = self._line()
        if included := re.compile(r"include\s+[\w(]*\s*[\w(]*\"[^\"\n]*\"\s*\)*").match(self.text, self.at):
            self.at = included.end()
            return
        found = KEY.match(self.text, self.at)
        keys = _keys(found[0]) if found else ()
        if found is None or not keys:
            raise self._wrong("a key was expected")
        self.at = found.end()
        self._skip(SPACE)
        adds = self._take("+=")
        if not adds and not self._take("=") and not self._take(":") and not self.text.startswith("{", self.at):
            raise self._wrong("a key has no value")
        self._skip(re.compile(r"(?:\s|#[^\n]*|//[^\n]*)*"))
        value = self._value()
        if adds:
            value = [_Reference(keys, ".".join(keys), optional=True), _List(line, [value])]
        for key in reversed(keys[1:]):
            value = [_Object(line, [(key, line, value)])]
        made.fields.append((keys[0], line, value))

    def _value(self) -> _Value:
        """Everything up to the end of the line, a comma, or what closes."""
        parts: _Value = []
        while True:
            space = SPACE.match(self.text, self.at)
            self.at = space.end() if space else self.at
            if self.at >= len(self.text) or self.text[self.at] in "\n,}]":
                return parts
            if space and parts and isinstance(parts[-1], str | _Reference) and self.text[self.at] not in "{[":
                parts.append(" ")
            parts.append(self._part())

    def _part(self) -> _Part:
        if self._take("{"):
            return self._object("}")
        if self._take("["):
            return self._list()
        if found := REFERENCE.match(self.text, self.at):
            self.at = found.end()
            return _Reference(_keys(found[2]), found[2], optional=bool(found[1]))
        if found := QUOTED.match(self.text, self.at):
            self.at = found.end()
            return found[1] if found[1] is not None else re.sub(r"\\(.)", r"\1", found[2])
        if found := UNQUOTED.match(self.text, self.at):
            self.at = found.end()
            return found[0]
        raise self._wrong("a value was expected")

    def _list(self) -> _List:
        made = _List(self._line())
        self._deeper()
        while True:
            self._skip(GAP)
            if self.at >= len(self.text):
                raise self._wrong("a bracket is not closed")
            if self._take("]"):
                break
            made.items.append(self._value())
        self.depth -= 1
        return made


class _Resolver:
    """Gives parts as nodes; substitutions by what the root has at their path."""

    def __init__(self, root: _Object) -> None:
        self.root = root
        self.steps = 0
        self.under_way: list[tuple[str, ...]] = []

    def table(self, objects: Sequence[_Object]) -> Table:
        """Objects merged, the later above the earlier."""
        values: dict[str, list[tuple[int, _Value]]] = {}
        for one in objects:
            for key, line, value in one.fields:
                values.setdefault(key, []).append((line, value))
        items = []
        for key, layers in values.items():
            if (node := self._node(layers)) is not None:
                items.append((key, layers[-1][0] if isinstance(node, Scalar) else layers[0][0], node))
        return Table(tuple(items), objects[0].line if objects else None)

    def _node(self, layers: Sequence[tuple[int, _Value]]) -> Node | None:
        self._count(len(layers))
        result: Node | None = None
        merged: list[_Object] = []
        for line, value in layers:
            if objects := self._objects(value):
                merged += objects
                continue
            one = self._concatenated(value, line, None if merged else result)
            if one is not None:
                merged, result = [], one
        return self.table(merged) if merged else result

    def _objects(self, value: _Value) -> list[_Object]:
        """The objects that a value is merged from; none if it is no object."""
        found: list[_Object] = []
        for part in value:
            if isinstance(part, _Object):
                found.append(part)
            elif isinstance(part, _Reference):
                for _, each in self._found(part.path):
                    found += self._through(part.path, each)
        return found

    def _through(self, path: tuple[str, ...], value: _Value) -> list[_Object]:
        if path in self.under_way:
            return []
        self.under_way.append(path)
        found = self._objects(value)
        self.under_way.pop()
        return found

    def _found(self, path: tuple[str, ...]) -> list[tuple[int, _Value]]:
        """The values that the root has at a path, the latest last."""
        objects, values = [self.root], list[tuple[int, _Value]]()
        for number, key in enumerate(path):
            if number:
                objects = [each for _, value in values for each in self._through(path[:number], value)]
            self._count(sum(len(one.fields) for one in objects))
            values = [(line, value) for one in objects for name, line, value in one.fields if name == key]
        return values

    def _count(self, steps: int) -> None:
        self.steps += steps + 1
        if self.steps > 2 * MOST or len(self.under_way) > DEEPEST:
            raise Unreadable("substitutions make it too large")

    def _concatenated(self, value: _Value, line: int, before: Node | None) -> Node | None:
        """A text or list; None for what only the environment tells, and it need not."""
        if any(isinstance(part, _List) for part in value):
            items = [
                self._node([(part.line, each)]) for part in value if isinstance(part, _List) for each in part.items
            ]
            own = tuple(each for each in items if each is not None)
            added = isinstance(before, Listing) and isinstance(value[0], _Reference)
            return Listing((*before.items, *own) if isinstance(before, Listing) and added else own, line)
        alone = len(value) == 1
        texts: list[str] = []
        for part in value:
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, _Reference):
                node = self._of(part)
                if alone and isinstance(node, Listing):
                    return node
                if isinstance(node, Scalar):
                    texts.append(node.text)
                elif not part.optional:
                    texts.append(f"${{{part.written}}}")
                elif alone:
                    return self._overridden(part, before)
        return Scalar("".join(texts), line)

    def _of(self, part: _Reference) -> Node | None:
        if part.path in self.under_way:
            return None
        values = self._found(part.path)
        self.under_way.append(part.path)
        found = self._node(values)
        self.under_way.pop()
        return found

    def _overridden(self, part: _Reference, before: Node | None) -> Node | None:
        """What was said before, which a variable of the environment replaces if it is set."""
        if isinstance(before, Scalar) and SPELLED.fullmatch(part.written) and "${" not in before.text:
            return Scalar(f"${{{part.written}:{before.text}}}", before.line)
        return before


def _producers(table: Table, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Table]]:
    """The sections that have a `kafka-clients` and are a producer's."""
    own = table.get(CLIENTS)
    name = ".".join(path).lower()
    if isinstance(own, Table) and "producer" in name and "consumer" not in path[-1].lower():
        yield path, own
    for key, _, value in table.items:
        if isinstance(value, Table) and key != CLIENTS:
            yield from _producers(value, (*path, key))


def _without(table: Table) -> Table:
    """A tree without its sections `kafka-clients`."""
    items = tuple(
        (key, line, _without(value) if isinstance(value, Table) else value)
        for key, line, value in table.items
        if key != CLIENTS
    )
    return Table(items, table.line)


def _read_seatunnel(source: Text, tree: Table, reading: Collected) -> bool:
    """Add the sinks of a job of SeaTunnel's: `sink { kafka { topic = …, kafka.config = {…} } }`; whether it has any."""
    sinks = [value for name, _, value in tree.table("sink").items if name.lower() == "kafka"]
    for sink in (each for each in sinks if isinstance(each, Table)):
        own = [each for each in flatten(sink.table("kafka", "config"), source) if each.key in producer_keys()]
        servers = sink.text("bootstrap", "servers") or sink.text("bootstrap.servers")
        own += [Setting("bootstrap.servers", servers, source.origin(sink.line))] if servers else []
        once = sink.text("semantics").replace("-", "_").upper() == "EXACTLY_ONCE"
        note = "semantics = EXACTLY_ONCE of SeaTunnel"
        reading.producer(
            "sink kafka",
            own,
            own[0].origin if own else source.origin(sink.line),
            client="java",
            framework="seatunnel",
            spelling="kafka.config.{key}",
            presets=[preset("transactional.id", "(its own)", note, source.origin(sink.line))] if once else [],
            topics=[sink.text("topic")] if "$" not in sink.text("topic") else [],
            style="spring",
        )
    return bool(sinks)


def _read(document: Document, reading: Collected) -> bool:
    source = document.source
    try:
        tree = read_hocon(source)
    except Unreadable as error:
        if source.file.lower() in ("application.conf", "reference.conf"):
            raise
        return bool(error.args) and False
    found = _read_seatunnel(source, tree, reading)
    tree = Table(tuple(item for item in tree.items if item[0] != "sink"), tree.line) if found else tree
    for path, clients in _producers(tree):
        given: list[Setting] = [each for each in flatten(clients, source) if each.key in producer_keys()]
        name = ".".join(path)
        origin = given[0].origin if given else source.origin(clients.line)
        spelling = f"{name}.{CLIENTS}.{{key}}"
        reading.producer(name, given, origin, client="java", spelling=spelling, style="spring")
        found = True
    return read_prefixed(source, flatten(_without(tree), source), reading, client="java", style="spring") or found


FORMATS: Final = (
    Format(
        name="HOCON",
        reads="`kafka-clients` of a producer's section, as in `akka.kafka.producer` and `pekko.kafka.producer`; a "
        "producer's keys below an application's prefix; sinks of SeaTunnel. Substitutions of the same file are "
        "resolved",
        files=("*.conf", "*.hocon"),
        rank=57,
        whole=True,
        claims=lambda document: (
            document.file.endswith((".conf", ".hocon"))
            and SPEAKS.search(document.source.content) is not None
            and (
                BLOCK.search(document.source.content) is not None
                or document.file in ("application.conf", "reference.conf")
            )
        ),
        read=_read,
    ),
)
