"""Settings that stand in other files than the producer: of a package of Go's, of classes, of modules, of the caller."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from audit.readers import calls
from audit.readers.scripts import arguments_of, imported, object_of
from audit.readers.source.bound import FRESH, OF_BUILDER, OF_CLASS, bound_values
from audit.readers.source.following import gather, parameter_of, told_by_call, walk_around, walk_of
from audit.readers.source.kinds import returned_config
from audit.readers.source.nodes import (
    GIVES,
    MAPS,
    OF_SARAMA,
    TESTS,
    Maker,
    Pair,
    SourceWalk,
    Value,
    calling,
    given_name,
    is_parameter,
)
from audit.readers.source.program import BESIDE, class_file, content_of, imported_of_go
from audit.readers.text import Text

GO_CONFIG: Final = re.compile(r"(?m)^func\s+(\w+)\([^{}]{0,400}\*sarama\.Config\b")
"""A function of Go's that makes a configuration of sarama's."""


def gather_package(found: SourceWalk, parser: Any) -> None:
    """Add what functions of other files of a Go package put into configurations of sarama's that this file asks for."""
    if not any(each.kind in OF_SARAMA for each in found.makers):
        return
    own = Path(found.source.path)
    here = set(re.findall(r"(?<![\w.])(\w+)\(", found.source.content))
    files = [(path, here) for path in sorted(own.parent.glob("*.go"))[:BESIDE] if path.name != own.name]
    for path, called in [*files, *imported_of_go(found.source)]:
        content = "" if TESTS.search(path.name) else content_of(path)
        if not called & set(GO_CONFIG.findall(content)):
            continue
        other = Text(str(path), content)
        there = gather(other, "go", parser.parse(content.encode(errors="replace")).root_node)
        followed = calling(called, there.scopes)
        for scope, text in there.scopes.items():
            if scope.partition("@")[0] in followed and scope not in found.scopes:
                found.scopes[scope] = text
                found.pairs += [replace(each, other=other) for each in there.pairs if each.scope == scope]


def gather_classes(found: SourceWalk, language: str, parser: Any) -> None:
    """Add what static functions of other classes of the program put into the maps that producers are made with."""
    makers = [each for each in found.makers if each.kind in MAPS]
    values = [value for each in makers for value in (each.text, *bound_values(each, found))]
    for called in dict.fromkeys(one for value in values for one in OF_CLASS.findall(value)):
        owner, _, function = called.partition(".")
        other = class_file(found.source, owner, language)
        if other is None:
            continue
        there = gather(other, language, parser.parse(other.content.encode(errors="replace")).root_node)
        names = {function}
        for _ in range(GIVES):
            bodies = {key: text for key, text in there.scopes.items() if key.partition("@")[0] in names}
            names |= {name for text in bodies.values() for name in re.findall(r"(?<![\w.])(\w+)\(", text)}
        taken = [key for key in there.scopes if key.partition("@")[0] in names]
        if not taken or any(re.search(r"\bputAll\(|\.load\(", there.scopes[key]) for key in taken):
            continue
        for key in taken:
            at = f"{function}@{owner}.{key}"
            found.scopes[at] = there.scopes[key]
            own = [replace(each, other=other, scope=at) for each in there.pairs if each.scope == key]
            found.pairs += [_as_called(each, function, there.scopes[key], found, language) for each in own]
        found.classes |= {called}
    for owner, chain in dict.fromkeys(one for value in values for one in OF_BUILDER.findall(value)):
        _gather_builder(owner, re.findall(r"\.\s*(\w+)\s*\(", chain), found, language)


def _as_called(pair: Pair, function: str, body: str, found: SourceWalk, language: str) -> Pair:
    """A setting that a static function is given by a parameter, with what the calls of the source give it: calls of
    other sources may give something else.
    """
    parameters = calls.parameters_of(body, language)
    name = pair.value.expression.strip()
    if pair.value.known or not any(each == name for each, _ in parameters):
        return pair
    told = {
        told_by_call(each, each.argument(parameters, name), language, 0)
        for each in calls.calls_of(calls.root_of(found.source.path), language, function, made=False)
        if Path(each.source.path).absolute() == Path(found.source.path).absolute()
    }
    value = told.pop() if len(told) == 1 else None
    return replace(pair, value=Value(value), sure=True) if value is not None else pair


def _gather_builder(owner: str, methods: Sequence[str], found: SourceWalk, language: str) -> None:
    """Add what a class of the program's puts into the map that it builds, in the methods that are called of it."""
    other = class_file(found.source, owner, language)
    there = walk_of(other, language) if other is not None else None
    taken = [key for key in there.scopes if key.partition("@")[0] in (owner, *methods)] if there is not None else []
    if there is None or not {*methods} <= {key.partition("@")[0] for key in taken}:
        return
    if any(re.search(r"\bputAll\(|\.load\(", there.scopes[key]) for key in taken):
        return
    name = f"new {owner}"
    for key in taken:
        pairs = [replace(each, other=other, scope=f"{name}@{key}") for each in there.pairs if each.scope == key]
        found.scopes |= {f"{name}@{key}": there.scopes[key]} if pairs else {}
        found.pairs += pairs
    found.classes |= {name}


def gather_objects(found: SourceWalk, language: str) -> None:
    """Add what objects of other modules have that a script makes its producers with: `new Producer(config.kafka)`."""
    for maker in found.makers:
        made = max(maker.text.rfind(".producer"), 0)  # behind what the client is made with
        opened = maker.text.find("(", made) if maker.kind in OF_LIBRDKAFKA else -1
        given = arguments_of(maker.text, opened + 1)[0] if opened >= 0 else []
        for each in given:
            root = re.fullmatch(r"(\w+)(?:\.\w+)*", each)
            module = imported(found.source, root[1]) if root else None
            if root is None or module is None:
                continue
            start, end = object_of(module.content, each.split(".")[1:], root[1])
            begin, until = (len(module.content[:at].encode(errors="replace")) for at in (start, end))
            pairs = [one for one in walk_of(module, language).pairs if begin <= one.start < until]
            own = [replace(one, other=module, scope=maker.scope, owner=root[1], start=maker.start) for one in pairs]
            found.pairs += own
            found.brought |= {maker.start} if own else set()


OF_LIBRDKAFKA: Final = frozenset({"node-rdkafka", "confluent-javascript"})


def gather_configs(found: SourceWalk) -> None:
    """Add what a function of another file of Rust's puts into the configuration that a chain begins with."""
    for at, maker in enumerate(found.makers):
        begins = re.match(r"[\w:]+(?=\()", maker.text) if maker.kind == "rdkafka" else None
        told = returned_config(found.source, begins[0]) if begins is not None else None
        if told is None:
            continue
        there = walk_of(told[0], "rs")
        for key in [one for one in there.scopes if one.partition("@")[0] == told[1]]:
            scope = f"{told[1]}@{told[0].path}.{key}"
            found.scopes[scope] = there.scopes[key]
            found.pairs += [replace(each, other=told[0], scope=scope) for each in there.pairs if each.scope == key]
        found.makers[at] = replace(maker, names=maker.names | {told[1]})


def gather_callers(found: SourceWalk, language: str) -> None:
    """Add what the only call of a function puts into the map that the function makes a producer with."""
    for maker in found.makers:
        name = given_name(maker)
        if maker.kind not in MAPS or not name or not (asked := _taking(maker, name, found, language)):
            continue
        parameters, called, made = asked
        told = calls.calls_of(calls.root_of(found.source.path), language, called, made=made)
        if len(told) != 1 or Path(told[0].source.path).absolute() == Path(found.source.path).absolute():
            continue
        pairs = pairs_of_argument(told[0], told[0].argument(parameters, name), language)
        if pairs:
            start = int(maker.scope.partition("@")[2] or 0)
            found.pairs += [replace(each, scope=maker.scope, owner=name, start=start) for each in pairs]
            found.brought.add(maker.start)


def _taking(
    maker: Maker, name: str, found: SourceWalk, language: str
) -> tuple[tuple[tuple[str, str], ...], str, bool] | None:
    """Of what the map is a parameter that a producer is made with, a function or a class's own constructor: its
    parameters, its name, and whether it makes an object; None if it is no parameter.
    """
    if is_parameter(maker, found.scopes.get(maker.scope, "")):
        function, called = found.scopes[maker.scope], maker.scope.partition("@")[0]
        made = re.search(rf"\bclass\s+{re.escape(called)}\b", found.source.content) is not None
    elif language in ("kt", "scala") and (asked := parameter_of(name, maker.scope, found)) is not None and asked[3]:
        _, function, called, made = asked
    else:
        return None
    parameters = calls.parameters_of(function, language)
    return (parameters, called, made) if any(each == name for each, _ in parameters) else None


def pairs_of_argument(call: calls.Call, given: str, language: str) -> list[Pair]:
    """The settings of a map that a call hands on: a variable of the caller's, or what a function returns to it."""
    walk, scope = walk_around(call, language)
    pairs: list[Pair] = []
    if FRESH.match(given) and (at := call.source.content.find(given, call.at)) >= 0:
        begin, length = len(call.source.content[:at].encode(errors="replace")), len(given.encode(errors="replace"))
        inside = [each for each in walk.pairs if begin <= each.start < begin + length]
        return [replace(each, other=walk.source) for each in inside]
    if re.fullmatch(r"\w+", given):
        pairs = [each for each in walk.pairs if each.owner == given and each.scope in (scope, "")]
        body = walk.scopes.get(scope, walk.source.content)
        bound = re.search(rf"(?<![\w.]){given}\s*(?::\s*[\w<>\[\], .?]+)?=(?!=)\s*([^;\n]+)", body)
        given = bound[1].strip() if bound and not FRESH.match(bound[1].strip()) else ""
        if "putAll(" in body or (bound is None and not pairs):
            return []
    if function := re.match(r"(?:(\w+)\.)?(\w+)\(", given):
        other = class_file(call.source, function[1], language) if function[1] and function[1][0].isupper() else None
        there = walk_of(other, language) if other is not None else walk
        taken = {key for key in there.scopes if key.partition("@")[0] == function[2]}
        if not taken or any(re.search(r"\bputAll\(|\.load\(", there.scopes[key]) for key in taken):
            return []
        pairs = [replace(each, other=there.source) for each in there.pairs if each.scope in taken] + pairs
    return [each if each.other is not None else replace(each, other=walk.source) for each in pairs]
