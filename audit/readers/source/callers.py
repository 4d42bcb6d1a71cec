"""Producers that one function makes for several callers, one for each that gives it something else.

So it is with classes that inherit from the one that makes a producer, and put more into its map; and with options of
Go's, of which those count that the callers ask for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from audit.readers import calls
from audit.readers.fields import of_script
from audit.readers.scripts import arguments_of, callers, passed
from audit.readers.source.following import (
    CONVERTED,
    FROM_FIELDS,
    LITERAL,
    PARAMETER,
    parameter_of,
    told_by_call,
    walk_around,
    walk_of,
)
from audit.readers.source.nodes import SCRIPTS, Maker, Pair, SourceWalk, Value, class_around
from audit.readers.text import Text


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls the function that makes a producer: its file and line, and what it is called."""

    source: Text
    line: int
    name: str


CALLERS: Final = 10
"""Callers of one function that are told apart."""


def by_callers(pairs: Sequence[Pair], maker: Maker, found: SourceWalk) -> list[tuple[Caller, list[Pair]]]:
    """The settings by each caller of the function that makes a producer, if what they give it is known and differs:
    several producers are made there. Callers that give the same are one.
    """
    if not maker.scope:
        return []
    if found.language in SCRIPTS:
        return _by_caller_of_script(pairs, maker, found)
    asked = {each: _asked_of_caller(each, maker, found) for each in pairs}
    wanted = {each: told for each, told in asked.items() if told is not None}
    functions = {(told[1], told[2], told[3]) for told in wanted.values()}
    if len(functions) != 1:
        return []
    function, called, made = functions.pop()
    parameters = calls.parameters_of(function, found.language)
    told = calls.calls_of(calls.root_of(found.source.path), found.language, called, made=made)
    if not 1 < len(told) <= CALLERS:
        return []
    by_values: dict[tuple[str, ...], calls.Call] = {}
    for call in told:
        given = [told_by_call(call, call.argument(parameters, each[0]), found.language, 0) for each in wanted.values()]
        if any(each is None for each in given):
            return []
        by_values.setdefault(tuple(each or "" for each in given), call)
    scopes = Counter((call.source.path, walk_around(call, found.language)[1]) for call in by_values.values())
    return [
        (
            _caller(call, found.language, scopes),
            [replace(each, value=Value(dict(zip(wanted, values, strict=True))[each])) if each in wanted else each
             for each in pairs],
        )
        for values, call in by_values.items()
    ]  # fmt: skip


def by_subclass(pairs: Sequence[Pair], maker: Maker, found: SourceWalk) -> list[tuple[Caller, list[Pair]]]:
    """The settings by each class of the program that inherits from the one that makes a producer, and puts more into
    the map that a method of it returns: `Map<…> settings() { var m = super.settings(); m.put(…); return m; }`.
    """
    given = {each.scope.partition("@")[0] for each in pairs if each.scope != maker.scope and each.other is None}
    methods = given & maker.names
    told: list[tuple[Caller, list[Pair]]] = []
    for text in _inheriting(maker, found) if methods else ():
        walk = walk_of(text, found.language)
        taken = {key for key, body in walk.scopes.items()
                 if (name := key.partition("@")[0]) in methods and re.search(rf"\bsuper\.{name}\(", body)}  # fmt: skip
        own = [replace(each, other=text) for each in walk.pairs if each.scope in taken]
        if own:
            told.append((Caller(text, own[0].line, ""), [*pairs, *own]))
    return told


def _inheriting(maker: Maker, found: SourceWalk) -> list[Text]:
    """The files of a program's module whose class inherits from the one that a producer is made in, if it is the only
    one of its file.
    """
    classes = re.findall(r"(?m)^(?:public\s+|open\s+|abstract\s+)*class\s+(\w+)", found.source.content)
    if found.language not in ("java", "kt") or len(classes) != 1 or not maker.scope:
        return []
    inherits = re.compile(rf"\bclass\s+\w+[^{{]{{0,200}}?(?:\bextends\s+|:\s*){classes[0]}\b")
    others = calls.sources_of(calls.root_of(found.source.path), found.language)
    return [each for each in others if classes[0] in each.content and inherits.search(each.content)][:CALLERS]


def all_override(maker: Maker, found: SourceWalk, count: int) -> bool:
    """Whether a class that makes a producer is abstract, and all that inherit from it make one of their own of it."""
    abstract = re.search(r"(?m)^(?:public\s+)?abstract\s+class\b", found.source.content) is not None
    return abstract and len(_inheriting(maker, found)) == count


def _by_caller_of_script(pairs: Sequence[Pair], maker: Maker, found: SourceWalk) -> list[tuple[Caller, list[Pair]]]:
    """The same of a script: a field that its class has of a parameter counts too, as acks is given with the records."""
    called, owner = maker.scope.partition("@")[0], class_around(maker.scope, found)
    told = callers(found.source, called, owner) if called else []
    if not 1 < len(told) <= CALLERS:
        return []
    values: dict[Pair, list[str]] = {}
    for pair in (each for each in pairs if not each.value.known and each.key in FROM_FIELDS):
        name = pair.value.expression.strip()
        if field_of := re.fullmatch(r"this\.(\w+)", name):
            assigned = re.search(rf"\bthis\.{field_of[1]}\s*=\s*(\w+)\s*[;\n]", found.scopes[maker.scope])
            name = assigned[1] if assigned else ""
        given = passed(found.source, called, owner, name, found.scopes[maker.scope]) if name else None
        known = [of_script(where, each) if each else None for where, each in given or ()]
        if len(known) == len(told) and all(each is not None for each in known):
            values[pair] = [each[0] for each in known if each is not None]
    by_values: dict[tuple[str, ...], Text] = {}
    for at, (text, _) in enumerate(told):
        by_values.setdefault(tuple(each[at] for each in values.values()), text)
    if len(by_values) < 2:
        return []
    made = re.compile(rf"\b{re.escape(owner or called)}\s*(?:<[^<>()]*>)?\(")
    places = {text.path: made.search(text.content) for text in by_values.values()}
    order = {pair: at for at, pair in enumerate(values)}
    return [
        (
            Caller(text, text.line_at(place.start()) if (place := places[text.path]) else 1, ""),
            [replace(each, value=Value(own[order[each]]), sure=True) if each in order else each for each in pairs],
        )
        for own, text in by_values.items()
    ]


def _asked_of_caller(pair: Pair, maker: Maker, found: SourceWalk) -> tuple[str, str, str, bool] | None:
    """Of which parameter of the function that makes a producer a setting is: that, the function's text, its name, and
    whether it makes an object; None if it is of none.
    """
    if pair.value.known or not pair.sure or pair.key not in FROM_FIELDS or pair.scope != maker.scope:
        return None
    text = pair.value.expression.strip()
    inner = CONVERTED.fullmatch(text)
    text = next(each for each in inner.groups() if each is not None).strip() if inner else text
    named = PARAMETER.fullmatch(text.removeprefix("self."))
    return parameter_of(named[1], maker.scope, found) if named else None


def _caller(call: calls.Call, language: str, scopes: Mapping[tuple[str, str], int]) -> Caller:
    """Who calls a function: named by the function that the call stands in, or by what it is assigned to if that has
    several; `scopes` counts them.
    """
    _, scope = walk_around(call, language)
    before = call.source.content[max(0, call.at - 200) : call.at]
    bound = re.search(r"(\w+)\s*(?::\s*[\w.<>]+\s*)?:?=\s*(?:await\s+|new\s+|&)?(?:\w+\.)*$", before)
    alone = scopes.get((call.source.path, scope), 1) == 1
    names = (scope.partition("@")[0] if alone else "", bound[1] if bound else "", scope.partition("@")[0])
    name = next((each for each in names if each), "")
    return Caller(call.source, call.source.line_at(call.at), name)


OPTION: Final = re.compile(r"\Afunc\s+(\w+)\([^{}]*\{\s*return\s+func\(\s*\w+\s+\*[\w.]+\s*\)\s*\{")
"""A function of Go's that returns an option: `func WithAcks() Option { return func(c *sarama.Config) { … } }`."""
VARIADIC: Final = re.compile(r"\b(\w+)\s+\.\.\.[\w.*]+\s*\)")


def with_options(pairs: list[Pair], maker: Maker, found: SourceWalk) -> list[Pair]:
    """Settings, of those that options of Go's make only what the callers of the producer's function ask for."""
    body = found.scopes.get(maker.scope, "")
    if found.language != "go" or VARIADIC.search(body.partition("{\n")[0]) is None:
        return pairs
    options = {each[1]: key for key, text in found.scopes.items() if (each := OPTION.match(text))}
    spans = {key: range(int(key.partition("@")[2]), int(key.partition("@")[2]) + len(found.scopes[key].encode()))
             for key in options.values()}  # fmt: skip
    optional = {each: key for each in pairs for key, span in spans.items() if each.start in span}
    rest = [each for each in pairs if each not in optional]
    if not optional:
        return pairs
    told = calls.calls_of(calls.root_of(found.source.path), "go", maker.scope.partition("@")[0], made=False)
    given = {tuple(each for each in call.given if CALLS_OPTION.fullmatch(each)) for call in told}
    if len(given) != 1:
        return rest + [replace(each, sure=False) for each in optional]
    for asked in given.pop():
        call = CALLS_OPTION.fullmatch(asked)
        key = options.get(call[1], "") if call else ""
        own = calls.parameters_of(found.scopes[key], "go") if key else ()
        arguments = dict(
            zip((name for name, _ in own), arguments_of(f"{call[2]})", 0)[0] if call else (), strict=False)
        )
        for pair in [one for one, where in optional.items() if where == key]:
            literal = LITERAL.fullmatch(arguments.get(pair.value.expression, ""))
            text = (literal[1] if literal[1] is not None else literal[2]) if literal else None
            rest.append(replace(pair, value=Value(text)) if text is not None and not pair.value.known else pair)
    return rest


CALLS_OPTION: Final = re.compile(r"(?:\w+\.)?([A-Z]\w*)\((.*)\)", re.DOTALL)
