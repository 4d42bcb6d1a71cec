"""Producers of classes that inherit from the one that makes a producer, each with what it gives that one.

A class of the program's makes a producer, and others inherit from it: what they put into its map, give its
constructor, or answer when it asks them, is theirs alone. The class itself is no producer then, if it is abstract.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from audit.readers import calls, scripts
from audit.readers.keyed import root_of
from audit.readers.scripts import arguments_of
from audit.readers.source.callers import CALLERS, Caller
from audit.readers.source.elsewhere import pairs_of_argument
from audit.readers.source.following import FROM_FIELDS, parameter_of, told_by_call, walk_of
from audit.readers.source.nodes import MERGES, SCRIPTS, SPREAD, Maker, Pair, SourceWalk, Value, assigned_to, given_name
from audit.readers.text import Text


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the class that makes a producer leaves to those that inherit from it."""

    methods: frozenset[str]
    """Methods that return its map, and are called by those in their place."""
    hooks: frozenset[str]
    """Methods that it hands its map."""
    maps: tuple[tuple[str, str], ...]
    """Parameters of its constructor that are put into its map, each with that constructor's text."""
    fields: tuple[Pair, ...]
    """Settings that are asked of methods, or of its constructor's parameters."""
    objects: frozenset[str]
    """In a script: its own fields or methods that have the object it makes its producer with."""

    @property
    def is_any(self) -> bool:
        """Whether it leaves anything to them."""
        return any((self.methods, self.hooks, self.maps, self.fields, self.objects))


def by_subclass(pairs: Sequence[Pair], maker: Maker, found: SourceWalk) -> tuple[list[tuple[Caller, list[Pair]]], bool]:
    """The settings by each class of the program that inherits from the one that makes a producer, and gives it more:

    - what it puts into the map that a method returns: `Map<…> settings() { var m = super.settings(); m.put(…); … }`
    - what it puts into the map that a method is handed: `void customise(Properties p) { p.put("acks", "1"); }`
    - what a method returns that the settings are asked of: `String acks() { return "1"; }`
    - what it makes the class with: `super(servers, "1")`, `super(Map.of("acks", "1"))`

    Classes that give the same are one. And whether these are all that there are: the class itself is abstract, and
    each that inherits from it gives it something.
    """
    asked = _asked(pairs, maker, found)
    heirs = _inheriting(maker, found) if asked.is_any else []
    pairs = [each for each in pairs if not any(heir.has_own(each, found) for heir in heirs)]
    told: dict[object, tuple[Caller, list[Pair]]] = {}
    giving, whole = 0, True
    for heir in heirs:
        own, known = _put_by_heir(heir, asked, found)
        whole &= known
        instead = {each: said for each in asked.fields if (said := _said_by_heir(each, heir, found)) is not None}
        if own or instead:
            giving += 1
            alone = sum(each.source.path == heir.source.path for each in heirs) == 1
            line = own[0].line if own else heir.source.line_at(heir.start)
            what = tuple((each.key, each.value) for each in (*own, *instead.values()))
            place = Caller(heir.source, line, "" if alone else heir.name)
            beneath = [instead.get(each, each) for each in pairs if each.value.text != SPREAD or not known]
            told.setdefault(what, (place, [*beneath, *own]))
    complete = bool(told) and giving == len(heirs) and _is_never_made(maker, found)
    if complete and whole and (asked.hooks or asked.maps or asked.objects):
        found.brought.add(maker.start)
    return list(told.values()), complete


def _asked(pairs: Sequence[Pair], maker: Maker, found: SourceWalk) -> _Asked:
    """What the class that makes a producer leaves to those that inherit from it."""
    given = {each.scope.partition("@")[0] for each in pairs if each.scope != maker.scope and each.other is None}
    fields = [each for each in pairs if not each.value.known and each.key in FROM_FIELDS and each.other is None]
    objects = frozenset(OF_THIS.findall(maker.text)) if found.language in SCRIPTS else frozenset()
    return _Asked(frozenset(given & maker.names), _hooks(maker, found), _maps(maker, found), tuple(fields), objects)


OF_THIS: Final = re.compile(r"\.producer\(\s*(?:\{\s*\.\.\.)?this\.(\w+)(?:\(\))?\s*[,)}]")


def _body(maker: Maker, found: SourceWalk) -> str:
    """The function that makes a producer; in Kotlin and Scala, where a class is its own constructor, the file."""
    whole = found.source.content if found.language in ("kt", "scala") else ""
    name = maker.scope.partition("@")[0]
    return found.scopes.get(maker.scope, whole) if name or not whole else whole


def _map_of(maker: Maker, found: SourceWalk) -> str:
    """The name of the map, or of the configuration, that a producer is made with."""
    return assigned_to(maker, found) if maker.kind == "ProducerConfig" else given_name(maker)


def _hooks(maker: Maker, found: SourceWalk) -> frozenset[str]:
    """The methods of its own class that a function hands the map which it makes a producer with."""
    name = _map_of(maker, found)
    if not name or found.language not in EXTENDS:
        return frozenset()
    handed = re.findall(rf"(?<![\w.])(?:this\.)?(\w+)\(\s*{re.escape(name)}\s*\)", _body(maker, found))
    declared = {scope.partition("@")[0] for scope in found.scopes}
    abstract = set(re.findall(r"\babstract\s[^;{}=]*?\b(\w+)\s*\(", found.source.content))
    return frozenset(handed) & (declared | abstract)


def _maps(maker: Maker, found: SourceWalk) -> tuple[tuple[str, str], ...]:
    """The parameters of the constructor of the class that makes a producer which are put into its map, or are it."""
    if found.language not in EXTENDS or found.language == "cs":
        return ()
    names = {given_name(maker), *(each[2] for each in MERGES.finditer(_body(maker, found)) if not each[3])}
    if found.language in SCRIPTS:
        names = {*OF_OBJECT.findall(maker.text)}
        text = found.scopes.get(maker.scope, "")
        own = {each for each, _ in calls.parameters_of(text, "ts")} if maker.scope.startswith("constructor@") else set()
        return tuple((each, text) for each in sorted(names & own))
    told = ((each, parameter_of(each, maker.scope, found)) for each in sorted(names - {""}))
    return tuple((asked[0], asked[1]) for _, asked in told if asked is not None and asked[3])


OF_OBJECT: Final = re.compile(r"\.producer\(\s*(?:\{[^{}]*?\.\.\.)?(\w+)\s*[,)}]")
"""The object that a script makes a producer of KafkaJS' with, or that it takes into one."""


def _put_by_heir(heir: _Heir, asked: _Asked, found: SourceWalk) -> tuple[list[Pair], bool]:
    """What a class puts into the map of the one that it inherits from, and whether that is all that it does."""
    walk = walk_of(heir.source, found.language)
    taken = {
        key
        for key, body in walk.scopes.items()
        if (name := key.partition("@")[0]) in asked.hooks
        or (name in asked.methods and re.search(rf"\bsuper\.{name}\(", body))
    }
    own = [replace(each, other=heir.source) for each in walk.pairs if each.scope in taken and heir.has(each.start)]
    known = not any(re.search(r"\bputAll\(", walk.scopes[key]) for key in taken)
    for name in sorted(asked.objects):
        if (at := re.search(OBJECT.format(name), heir.text)) is not None:
            own += _pairs_between(heir, heir.start + at.end() - 1, walk)
    for name, function in asked.maps:
        if (opened := re.search(CONSTRUCTS[found.language], heir.text)) is None:
            continue
        begins, text = heir.start + opened.end(), heir.source.content
        call = calls.Call(heir.source, heir.start + opened.start(), tuple(arguments_of(text, begins)[0]))
        given = call.argument(calls.parameters_of(function, found.language), name).strip()
        if found.language in SCRIPTS and given.startswith("{"):
            own += _pairs_between(heir, text.index(given, begins), walk)
            known &= "..." not in given
            continue
        more = [] if found.language in SCRIPTS else pairs_of_argument(call, given, found.language)
        own += more
        known &= bool(more) or given in ("", "{}", "Map.of()", "emptyMap()")
    return own, known


OBJECT: Final = r"\b{}\s*(?:\(\s*\))?\s*(?::\s*[\w.<>]+\s*)?(?:=\s*|\{{\s*return\s*)\{{"
"""Where a class of a script has an object as a field, or returns one."""


def _pairs_between(heir: _Heir, opened: int, walk: SourceWalk) -> list[Pair]:
    """The settings of the object of a script that begins at a place."""
    end = scripts.closing(heir.source.content, opened + 1)
    begin, until = (len(heir.source.content[:at].encode(errors="replace")) for at in (opened, end))
    return [replace(each, other=heir.source) for each in walk.pairs if begin <= each.start < until]


def _is_never_made(maker: Maker, found: SourceWalk) -> bool:
    """Whether the class that makes a producer is abstract; in a script, that nobody makes one of it counts too."""
    name = _class_of(maker, found)
    abstract = rf"\b(?:(?:abstract|sealed)\s+(?:\w+\s+)*class|trait)\s+{re.escape(name)}\b"
    if name and re.search(abstract, found.source.content) is not None:
        return True
    made = re.compile(rf"\bnew\s+{re.escape(name)}\b")
    return found.language in SCRIPTS and bool(name) and not any(made.search(each.content) for each in _sources(found))


@dataclass(frozen=True, slots=True)
class _Heir:
    """A class that inherits from another one: its source, its name, and where it begins and ends there."""

    source: Text
    name: str
    start: int
    end: int

    @property
    def text(self) -> str:
        """What stands in it."""
        return self.source.content[self.start : self.end]

    def has(self, at: int) -> bool:
        """Whether a place in the source's bytes is in it."""
        return self.start <= len(self.source.content.encode(errors="replace")[:at].decode(errors="replace")) < self.end

    def has_own(self, pair: Pair, found: SourceWalk) -> bool:
        """Whether a setting of the file that makes the producer stands in it."""
        return pair.other is None and self.source.path == found.source.path and self.has(pair.start)


CLASSES: Final = re.compile(
    r"(?m)^[ \t]{0,4}(?:(?:public|internal|open|abstract|sealed|export|default)\s+)*(?:class|trait)\s+(\w+)"
)
OF_SCRIPT: Final = r"\bclass\s+(\w+)[^{{;]{{0,200}}?\bextends\s+{}\b"
EXTENDS: Final[Mapping[str, str]] = {
    "java": r"\bclass\s+(\w+)[^{{;]{{0,200}}?\bextends\s+{}\b",
    "kt": r"\bclass\s+(\w+)\s*(?:<[^<>{{}}]*>)?\s*(?:\((?:[^(){{}}]|\([^(){{}}]*\)){{0,600}}\))?"
    r"\s*:\s*(?:[\w.<>, ]+,\s*)?{}\b",
    "cs": r"\bclass\s+(\w+)\s*(?:<[^<>{{}}]*>)?\s*(?:\([^(){{}}]*\))?\s*:\s*(?:[\w.<>, ]+,\s*)?{}\b",
    "scala": r"\b(?:class|object)\s+(\w+)[^{{\n]{{0,200}}?\b(?:extends|with)\s+{}\b",
    **dict.fromkeys(SCRIPTS, OF_SCRIPT),
}
"""How a class inherits from another one."""


def _class_of(maker: Maker, found: SourceWalk) -> str:
    """The class that a producer is made in: the last one that begins before it; empty if there is none."""
    before = len(found.encoded[: maker.start].decode(errors="replace"))
    classes = [each[1] for each in CLASSES.finditer(found.source.content) if each.start() < before]
    return classes[-1] if classes and (maker.scope or found.language in ("kt", "scala")) else ""


def _sources(found: SourceWalk) -> Sequence[Text]:
    """The sources of a program's module."""
    if found.language in SCRIPTS:
        return calls.sources_of(root_of(found.source.path), found.language)
    return calls.sources_of(calls.root_of(found.source.path), found.language)


def _inheriting(maker: Maker, found: SourceWalk) -> list[_Heir]:
    """The classes of a program's module that inherit from the one that a producer is made in."""
    name = _class_of(maker, found)
    if found.language not in EXTENDS or not name:
        return []
    inherits = re.compile(EXTENDS[found.language].format(name))
    heirs: list[_Heir] = []
    for each in _sources(found):
        if name not in each.content:
            continue
        begins = [one.start() for one in re.finditer(r"\b(?:class|object|interface)\s+\w+", each.content)]
        for one in inherits.finditer(each.content):
            end = next((at for at in begins if at > one.start()), len(each.content))
            heirs.append(_Heir(each, one[1], one.start(), end))
    return heirs[:CALLERS]


RETURNS: Final[Mapping[str, str]] = {
    "java": r"\b{}\s*\(\s*\)\s*\{{\s*return\s+([^;{{}}]+);\s*\}}",
    "kt": r"\boverride\s+(?:\w+\s+)*?(?:fun|val)\s+{}\b(?:\(\s*\))?\s*(?::\s*[\w.?]+\s*)?"
    r"(?:(?:get\(\)\s*)?=\s*([^\n{{}}]+)|\{{\s*return\s+([^\n{{}}]+)\}})",
    "cs": r"\boverride\s+[\w.?<>]+\s+{}\b\s*(?:\(\s*\))?\s*(?:=>\s*([^;{{}}]+);"
    r"|\{{\s*(?:return\s+([^;{{}}]+);|get\s*=>\s*([^;{{}}]+);|get;\s*\}}\s*=\s*([^;{{}}]+);))",
    "scala": r"\b(?:def|val)\s+{}\b(?:\(\))?\s*(?::\s*[\w.]+\s*)?=\s*([^\n;{{}}]+)",
}
"""What a method without parameters, or a property, returns."""
CONSTRUCTS: Final[Mapping[str, str]] = {
    "java": r"\bsuper\s*\(",
    "kt": r"\A[^{]*?:\s*(?:[\w.<>, ]+,\s*)?\w+\(",
    "cs": r":\s*base\s*\(",
    "scala": r"\A[^{]*?\b(?:extends|with)\s+\w+\(",
    **dict.fromkeys(SCRIPTS, r"\bsuper\s*\("),
}
"""Where a class makes the one that it inherits from."""


def _said_by_heir(pair: Pair, heir: _Heir, found: SourceWalk) -> Pair | None:
    """A setting as a class says it that inherits from the one that makes the producer; None if it says nothing of it,
    unknown if it cannot be followed.
    """
    expression = pair.value.expression.strip().removeprefix("this.")
    name = re.fullmatch(r"(\w+)(?:\(\))?", expression)
    if name is None or found.language not in RETURNS:
        return None
    said = re.search(RETURNS[found.language].format(name[1]), heir.text)
    at, given = (said.start(), next(filter(None, said.groups()))) if said else (0, "")
    asked = parameter_of(name[1], pair.scope, found) if said is None and pair.sure else None
    if asked is not None and asked[3]:
        opened = re.search(CONSTRUCTS[found.language], heir.text)
        if opened is not None:
            call = calls.Call(heir.source, heir.start + opened.start(), tuple(arguments_of(heir.text, opened.end())[0]))
            at, given = opened.start(), call.argument(calls.parameters_of(asked[1], found.language), asked[0])
    if not given:
        return None
    call = calls.Call(heir.source, heir.start + at, ())
    told = told_by_call(call, given, found.language, 0)
    value = Value(told) if told is not None else replace(pair.value, expression="")
    return replace(pair, value=value, other=heir.source, line=heir.source.line_at(heir.start + at))
