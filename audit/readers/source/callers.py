"""Producers that one function makes for several callers, one for each that gives it something else.

So it is with options of Go's too, of which those count that the callers ask for.
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
from audit.readers.source.nodes import DECISIVE, SCRIPTS, UNKNOWN, Maker, Pair, SourceWalk, Value, class_around
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


TAKEN: Final[Mapping[str, str]] = {
    "kt": r"\b(\w+)\s*:\s*(?:\([\w<>, ?]*\)|[\w<>, ?]+\.\(\))\s*->\s*Unit\b",
    "java": r"\b(?:Consumer|UnaryOperator)<[^(){};]{1,100}>\s+(\w+)\s*[,)]",
}
"""A parameter of a function that is a function itself, which may set more."""
APPLIED: Final = (
    r"\.(?:apply|also|let|run)\(\s*{0}\s*\)|(?<![\w.]){0}(?:\.(?:accept|apply|invoke))?\(\s*\w+\s*\)|\.{0}\(\)"
)
"""Where a function does what that one says."""


def by_lambdas(pairs: Sequence[Pair], maker: Maker, found: SourceWalk) -> list[tuple[Caller, list[Pair]]]:
    """The settings by each caller of the function that makes a producer, if it takes a function that may set more:
    `producer(env) { put("acks", "1") }`. Where a caller gives what cannot be followed, what decides is unknown.
    """
    body = found.scopes.get(maker.scope, "")
    name = re.search(TAKEN.get(found.language, r"\Z."), body[:LONGEST_HEAD])
    if name is None or re.search(APPLIED.format(name[1]), body[name.end() :]) is None:
        return []
    function = maker.scope.partition("@")[0]
    parameters = calls.parameters_of(body, found.language)
    told = calls.calls_of(calls.root_of(found.source.path), found.language, function, made=False)
    here = Caller(found.source, maker.line, function)
    by_values: dict[object, tuple[calls.Call, list[Pair]]] = {}
    for call in told if any(each == name[1] for each, _ in parameters) else ():
        own = _set_by_lambda(call, parameters, name[1], found.language)
        if own is None:
            by_values.clear()
            break
        keys = {each.key for each in own}
        by_values.setdefault(
            tuple((each.key, each.value) for each in own),
            (call, [*(each for each in pairs if each.key not in keys), *own]),
        )
    if not by_values or len(by_values) > CALLERS:
        rest = [each for each in pairs if each.key not in FROM_FIELDS]
        start = maker.start
        return [
            (here, rest + [Pair(key, Value(UNKNOWN, False), maker.line, maker.scope, "", False, start) for key in OPEN])
        ]
    if len(by_values) == 1:
        return [(here, own) for _, own in by_values.values()]
    scopes = Counter((call.source.path, walk_around(call, found.language)[1]) for call, _ in by_values.values())
    return [(_caller(call, found.language, scopes), own) for call, own in by_values.values()]


MAINS: Final[Mapping[str, str]] = {
    "java": r"\bstatic\s+void\s+main\s*\(",
    "kt": r"(?m)^(?:suspend\s+)?fun\s+main\s*\(",
    "scala": r"\bdef\s+main\s*\(|\bobject\s+\w+\s+extends\s+(?:App|IOApp|ZIOAppDefault)\b",
    "go": r"(?m)^func\s+main\(\)",
    "cs": r"\bstatic\s+(?:async\s+)?(?:void|int|Task(?:<int>)?)\s+Main\s*\(",
    "rs": r"(?m)^(?:async\s+)?fn\s+main\(\)",
}
"""Where a program begins."""


def by_programs(maker: Maker, found: SourceWalk) -> list[Caller]:
    """The programs that make a producer each by one function of theirs, or one constructor, if only they call it."""
    begins = re.compile(MAINS[found.language]) if found.language in MAINS and maker.scope else None
    if begins is None or begins.search(found.source.content):
        return []
    called = maker.scope.partition("@")[0]
    made = re.search(rf"\bclass\s+{re.escape(called)}\b", found.source.content) is not None if called else False
    told = calls.calls_of(calls.root_of(found.source.path), found.language, called, made=made) if called else ()
    places = {each.source.path: each for each in told[: CALLERS + 1]}
    if not 1 < len(places) <= CALLERS or not all(begins.search(each.source.content) for each in places.values()):
        return []
    return [_caller(each, found.language, {}) for each in places.values()]


LONGEST_HEAD: Final = 1_000
"""Characters of a function in which its parameters are looked for."""
OPEN: Final = (*DECISIVE, "max.in.flight.requests.per.connection")
"""What is unknown where more may be set."""
IS_LAMBDA: Final[Mapping[str, str]] = {"kt": r"\{", "java": r"\(?\w+\)?\s*->"}


def _set_by_lambda(
    call: calls.Call, parameters: tuple[tuple[str, str], ...], name: str, language: str
) -> list[Pair] | None:
    """What a call sets in the function that it gives a parameter; None if that is not written out."""
    content = call.source.content
    opened = content.index("(", call.at) + 1
    _, end = arguments_of(content, opened)
    begins = re.compile(r"[ \t]*\{").match(content, end) if language == "kt" else None
    if begins is not None:
        text = content[begins.end() : _closing(content, begins.end())]
        start = begins.end()
    else:
        text = call.argument(parameters, name).strip()
        if text in ("", "{}"):
            return []
        start = content.find(text, opened)
        if re.match(IS_LAMBDA[language], text) is None or start < 0:
            return None
    if re.search(r"\bputAll\(|\+=|\bif\b|\bwhen\b|\.apply\(", text):
        return None
    begin, length = len(content[:start].encode(errors="replace")), len(text.encode(errors="replace"))
    walk = walk_of(call.source, language)
    own = [each for each in walk.pairs if begin <= each.start < begin + length]
    return [replace(each, other=call.source) for each in own]


def _closing(content: str, at: int) -> int:
    """Where the brace closes that was opened before a place."""
    depth = 1
    for each in re.finditer(r"\"(?:[^\"\\\n]|\\.)*\"|[{}]", content[at:]):
        depth += {"{": 1, "}": -1}.get(each[0], 0)
        if depth == 0:
            return at + each.start()
    return len(content)


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
