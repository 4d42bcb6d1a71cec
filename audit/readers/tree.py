"""YAML and JSON as trees whose every node knows its line.

PyYAML's events (libyaml, if it is there) are built into a tree here instead of by its composer, which recurses in C: a
file of a million brackets would end the process. YAML 1.1 is what Spring's SnakeYAML reads: `yes` is true, `010` is 8.
Aliases, merge keys and several documents are resolved; of a key that is there twice the last one counts and it is told.

JSON, with `//` and `/* */` comments if it has any, is checked by the standard library. Then it is read as the YAML that
it almost is, for its lines. Where it is not YAML (escaped surrogate pairs) it has none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

import yaml

from audit.model import InputProblem, Origin, Setting
from audit.readers.text import Text, Unreadable

LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DEEPEST: Final = 60
MOST: Final = 50_000
"""How many settings one text may have: aliases of aliases multiply (the "billion laughs")."""
TRUE: Final = frozenset({"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})
FALSE: Final = frozenset({"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})
NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
COMMENT: Final = re.compile(r'("(?:[^"\\\n]|\\.)*+")|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
"""In JSON; or a text, in which nothing is a comment."""
TAG: Final = re.compile(r"![A-Za-z][\w.]*")
"""A tag of somebody's own (`!Ref Acks`, `!vault`): the value is made of what is written, and is a placeholder."""
INTEGER: Final = re.compile(r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+|0|[1-9][0-9_]*)")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value as text; `block` if it was written below its key (`|`), so that its own lines are the file's."""

    text: str
    line: int | None
    block: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping. Its keys are text, each with its line; none is there twice."""

    items: tuple[tuple[str, int | None, Node], ...]
    line: int | None

    def get(self, *path: str) -> Node | None:
        """What is under a path of keys; None if there is nothing."""
        node: Node | None = self
        for key in path:
            if not isinstance(node, Table):
                return None
            node = next((value for name, _, value in node.items if name == key), None)
        return node

    def text(self, *path: str) -> str:
        """The text under a path of keys; empty if there is none."""
        node = self.get(*path)
        return node.text if isinstance(node, Scalar) else ""

    def table(self, *path: str) -> Table:
        """The mapping under a path of keys; an empty one if there is none."""
        node = self.get(*path)
        return node if isinstance(node, Table) else Table((), self.line)

    def tables(self, *path: str) -> tuple[Table, ...]:
        """The mappings in the list under a path of keys."""
        node = self.get(*path)
        return tuple(each for each in node.items if isinstance(each, Table)) if isinstance(node, Listing) else ()

    def scalars(self, *path: str) -> tuple[Scalar, ...]:
        """The texts in the list under a path of keys."""
        node = self.get(*path)
        return tuple(each for each in node.items if isinstance(each, Scalar)) if isinstance(node, Listing) else ()

    def names(self) -> set[str]:
        """Its own keys."""
        return {name for name, _, _ in self.items}


@dataclass(frozen=True, slots=True)
class Listing:
    """A sequence."""

    items: tuple[Node, ...]
    line: int | None


Node = Scalar | Table | Listing


@dataclass(slots=True)
class Documents:
    """What was made of a text: documents up to the first error, and what is to be said of it."""

    nodes: list[Node] = field(default_factory=list)
    problems: list[InputProblem] = field(default_factory=list)
    error: Unreadable | None = None
    items: int = 0
    """How many keys and values were put into mappings: merging multiplies them."""


@dataclass(slots=True)
class _Open:
    """A mapping or sequence that is being read."""

    line: int
    anchor: str | None
    table: bool
    parts: list[Node] = field(default_factory=list)


def plain(text: str) -> str:
    """A plain scalar as the client is given it: booleans and integers of YAML 1.1, null as nothing.

    >>> plain("yes"), plain("010"), plain("1_000"), plain("~"), plain("1.2"), plain("all")
    ('true', '8', '1000', '', '1.2', 'all')
    """
    if text in TRUE:
        return "true"
    if text in FALSE:
        return "false"
    if text in NULL:
        return ""
    if INTEGER.fullmatch(text):
        digits = text.replace("_", "").lstrip("+-")
        base = {"0b": 2, "0x": 16}.get(digits[:2]) or (8 if digits.startswith("0") else 10)
        if digits.strip("0bx") and len(digits) < 30:
            return ("-" if text.startswith("-") else "") + str(int(digits, base))
        return "0" if not digits.strip("0bx") else text
    return text


def read_yaml(source: Text) -> Documents:
    """The documents of a YAML text."""
    found = Documents()
    anchors: dict[str, Node] = {}
    opened: list[_Open] = []
    try:
        for event in _events(source.content):
            line = event.start_mark.line + 1
            if isinstance(event, yaml.DocumentStartEvent):
                anchors = {}
                continue
            if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                if len(opened) == DEEPEST:
                    raise Unreadable(f"nested more than {DEEPEST} deep", line)
                opened.append(_Open(line, event.anchor, isinstance(event, yaml.MappingStartEvent)))
                continue
            node: Node
            anchor: str | None = None
            if isinstance(event, yaml.ScalarEvent):
                bare = not event.style and event.implicit[0]
                text = plain(event.value) if bare else event.value
                if event.tag and TAG.fullmatch(event.tag):
                    text = f"${{{event.tag}}}"
                node = Scalar(text, line, event.style in ("|", ">"))
                anchor = event.anchor
            elif isinstance(event, yaml.AliasEvent):
                if event.anchor not in anchors:
                    raise Unreadable("an alias of nothing, or of what it is in", line)
                node = anchors[event.anchor]
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                done = opened.pop()
                node, anchor = (
                    (_table(done, source, found) if done.table else Listing(tuple(done.parts), done.line)),
                    done.anchor,
                )
            else:
                continue
            if anchor is not None:
                anchors[anchor] = node
            if opened:
                opened[-1].parts.append(node)
            else:
                found.nodes.append(node)
    except Unreadable as error:
        found.error = error
    return found


def _events(content: str) -> Iterator[Any]:
    loader = None
    try:
        loader = LOADER(content.removeprefix("\ufeff"))
        while loader.check_event():
            yield loader.get_event()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        message = getattr(error, "problem", None) or "not YAML"
        raise Unreadable(str(message), mark.line + 1 if mark else None) from None
    except (RecursionError, ValueError, UnicodeError):
        raise Unreadable("not YAML") from None
    finally:
        if loader is not None:
            loader.dispose()


def _table(done: _Open, source: Text, found: Documents) -> Table:
    """A mapping of its keys and values, with what is merged into it (`<<`) below what it says itself."""
    merged: dict[str, tuple[str, int | None, Node]] = {}
    own: dict[str, tuple[str, int | None, Node]] = {}
    for key, value in zip(done.parts[::2], done.parts[1::2], strict=True):
        name = key.text if isinstance(key, Scalar) else "?"
        if name == "<<" and isinstance(value, Table | Listing):
            tables = [value] if isinstance(value, Table) else [each for each in value.items if isinstance(each, Table)]
            for table in reversed(tables):
                merged |= {item[0]: item for item in table.items}
            continue
        if name in own:
            message = f"the key {name!r} is twice in one mapping, first in line {own[name][1]}"
            found.problems.append(
                source.problem(
                    "duplicate", key.line, message, "the last one counts, and strict readers (Spring's) refuse the file"
                )
            )
            del own[name]
        own[name] = (name, key.line, value)
    found.items += len(own) + len(merged)
    if found.items > 4 * MOST:
        raise Unreadable("merge keys make it too large", done.line)
    return Table((*(item for name, item in merged.items() if name not in own), *own.values()), done.line)


def read_json(source: Text) -> Documents:
    """The one document of a JSON text."""
    text = COMMENT.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), source.content.removeprefix("\ufeff"))
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return Documents(error=Unreadable(error.msg[:1].lower() + error.msg[1:], error.lineno))
    except (RecursionError, ValueError):
        return Documents(error=Unreadable("nested too deep, or not JSON"))
    found = read_yaml(replace(source, content=text))
    if found.error is None or len(found.nodes) > 1:
        return found
    try:
        return Documents(nodes=[_without_lines(value)])
    except RecursionError:
        return Documents(error=Unreadable("nested too deep"))


def _without_lines(value: Any) -> Node:
    if isinstance(value, dict):
        return Table(tuple((str(key), None, _without_lines(each)) for key, each in value.items()), None)
    if isinstance(value, list):
        return Listing(tuple(map(_without_lines, value)), None)
    if isinstance(value, bool):
        return Scalar(str(value).lower(), None)
    return Scalar("" if value is None else str(value), None)


def flatten(node: Node, source: Text, prefix: str = "") -> list[Setting]:
    """The settings of a tree, keys joined by dots as Spring does: `"[a.b]"` is the key a.b as it stands, a list of
    values is one value with commas, and other lists are `key[0]`, `key[1]`, ….

    Raises Unreadable if there are too many.
    """
    found: list[Setting] = []
    todo: list[tuple[str, int | None, Node]] = [(prefix, node.line, node)]
    steps = 0
    while todo:
        key, line, each = todo.pop()
        steps += 1
        if steps > MOST:
            raise Unreadable(f"more than {MOST} settings", node.line)
        if isinstance(each, Scalar):
            found.append(Setting(key, each.text.strip(), source.origin(line)))
        elif isinstance(each, Table):
            todo += [(_under(key, name), at, value) for name, at, value in reversed(each.items)]
        elif each.items and all(isinstance(one, Scalar) for one in each.items):
            texts = [one.text for one in each.items if isinstance(one, Scalar)]
            found.append(Setting(key, ",".join(texts), source.origin(line)))
        else:
            todo += [(f"{key}[{number}]", one.line, one) for number, one in reversed(list(enumerate(each.items)))]
    return found


def _under(prefix: str, name: str) -> str:
    bare = name[1:-1] if name.startswith("[") and name.endswith("]") and not name[1:-1].isdecimal() else name
    return f"{prefix}.{bare}" if prefix else bare


def tables(tree: Node, chosen: Callable[[str, Table], bool]) -> Iterator[Table]:
    """The tables of a tree that are chosen, by the name next to them ("" in a list), in the order of the text. What is
    in one that is chosen is not looked at.
    """
    todo: list[tuple[str, Node]] = [("", tree)]
    steps = 0
    while todo and steps < MOST:
        steps += 1
        name, each = todo.pop()
        if isinstance(each, Table) and chosen(name, each):
            yield each
        elif isinstance(each, Table):
            todo += [(key, value) for key, _, value in reversed(each.items)]
        elif isinstance(each, Listing):
            todo += [("", one) for one in reversed(each.items)]


def inner(node: Node, source: Text, name: str) -> Text:
    """A text inside a value, such as a file in a ConfigMap: its lines are those of the file that it is in."""
    text = node.text if isinstance(node, Scalar) else ""
    line = node.line if isinstance(node, Scalar) and node.line is not None else 1
    below = 1 if isinstance(node, Scalar) and node.block else 0
    return Text(source.path, text, source.first_line + line - 1 + below, name)


def place(node: Node, source: Text) -> Origin:
    """Where a node is."""
    return source.origin(node.line)
