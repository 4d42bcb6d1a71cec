"""All that a source has, with values that are followed out of its function: into fields of the program's settings,
constants of other files, and what callers give.

`gather` walks over a tree and asks for what its values stand for. That may lie in another source, which is gathered in
turn, so that these functions call each other in a circle. They stand in one module for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from audit.readers import calls
from audit.readers.asked import asked_of
from audit.readers.fields import of_dotnet, of_file, of_jvm, of_rust, of_scala, of_script, path_of
from audit.readers.names import producer_keys
from audit.readers.scripts import module_of, of_environment
from audit.readers.source.expressions import (
    INJECTED,
    WRITTEN,
    asked_value,
    keep_constant,
    keep_injected,
    key_of,
    value_of,
)
from audit.readers.source.makers import find_annotated, find_maker
from audit.readers.source.nodes import (
    CALLS,
    CREATES,
    DECISIVE,
    DECLARES,
    FUNCTIONS,
    IF_ABSENT,
    MERGES,
    PLATFORMATIC,
    PUTS,
    SCRIPTS,
    SEND,
    TESTS,
    UNKNOWN,
    Node,
    Pair,
    SourceWalk,
    Value,
    assigned_to,
    callee_of,
    children_of,
    class_around,
    code_of,
    given_to,
    method_of,
    name_of,
    packages_of,
    parser_of,
    scope_of,
    string_of,
    walk_nodes,
)
from audit.readers.source.program import BESIDE, class_file, content_of, imported_of_go
from audit.readers.source.settings import (
    FIELDS,
    OF_FS2,
    OF_KAFKAFLOW,
    OF_PLATFORMATIC,
    is_allowed,
    is_retry_of_kafkajs,
    put_assigned,
    put_copied,
    put_franz,
    put_pair,
    put_spread,
)
from audit.readers.structs import of_go
from audit.readers.text import Text

REASSIGNED: Final = re.compile(r"\bthis\.(\w+)\s*=(?!=)\s*(?![\"\d-]|true\b|false\b)")
"""A field that is set to something else, by a setter or a constructor."""


def gather(source: Text, language: str, root: Node, *, outside: bool = True) -> SourceWalk:
    """What a source has. `outside`: with the constants that it takes from other files."""
    found = SourceWalk(source, language, encoded=source.content.encode(errors="replace"))
    nodes = list(walk_nodes(root))
    for node, above in nodes:
        if node.type == "property_declaration" and children_of(node, "modifiers") and "@Value" in source.content:
            if not keep_injected(node, found):
                keep_constant(node, above, found)
        elif node.type in DECLARES and not _is_option(node, above, language):
            keep_constant(node, above, found)
        elif node.type in INJECTED:
            keep_injected(node, found)
        if node.type in FUNCTIONS:
            found.scopes[f"{name_of(node)}@{node.start_byte}"] = code_of(node)
    for name in REASSIGNED.findall(source.content) if language in ("java", "kt", "cs") else ():
        if name in found.constants and not found.constants[name].text.startswith("${"):  # no longer what it begins with
            found.constants[name] = Value(UNKNOWN, known=False, expression=name)
    if language in SCRIPTS:
        found.constants |= {name: Value(value) for name, value in of_environment(source.content).items()}
    found.constants = {**_constants_elsewhere(source, language), **found.constants} if outside else found.constants
    for node, above in nodes:
        _pairs_of(node, above, found)
        find_maker(node, above, found)
        find_annotated(node, above, found)
    if outside and found.makers:
        found.pairs = _with_fields(found)
    if language in SCRIPTS:
        found.assigned = frozenset(assigned_to(each, found) for each in found.makers) - {""}
        found.sends = tuple((each.end(), each[1].decode(errors="replace")) for each in SEND.finditer(found.encoded))
    found.owners = frozenset(each.owner for each in found.pairs)
    found.fillers = frozenset(each.scope.partition("@")[0] for each in found.pairs)
    if "putAll" in source.content:
        bodies = {**found.scopes, "": source.content}
        found.merges = tuple((scope, each) for scope, body in bodies.items() for each in MERGES.finditer(body))
    return found


OF_OPTIONS: Final = re.compile(r"\w+(?:Options|Settings|Config|Configuration)")
"""What a class of .NET's is called that settings are bound to."""


def _is_option(node: Node, above: Sequence[Node], language: str) -> bool:
    """Whether a property of C#'s is one of a class of options, whose initializer is only a default."""
    if language != "cs" or node.type != "property_declaration" or not re.search(r"\b(?:set|init);", code_of(node)):
        return False
    around = next((each for each in reversed(above) if each.type in ("class_declaration", "record_declaration")), None)
    return around is not None and OF_OPTIONS.fullmatch(name_of(around)) is not None


FROM_FIELDS: Final = frozenset(
    {*DECISIVE, "max.in.flight.requests.per.connection", "max.in.flight", "message.send.max.retries"}
)
"""Keys whose values are followed into fields."""
BY_SCOPE: Final = frozenset({"go", "java", "kt", "scala", "cs", "rs", *SCRIPTS})
"""Languages in which a name is followed by the function that it stands in."""
FIELDS_MOST: Final = 100
"""Different fields that are followed for one file: each is looked for in other files."""


def _with_fields(found: SourceWalk) -> list[Pair]:
    """The settings, those whose value is a field of the program's own settings as what that stands for."""
    followed = {
        (each.value.expression, each.scope if found.language in BY_SCOPE else ""): None
        for each in found.pairs
        if each.value.expression and not each.value.known and each.key in FROM_FIELDS
    }
    texts = texts_beside(found) if followed else []
    told = {each: field_told(each[0], found, texts, each[1]) for each in list(followed)[:FIELDS_MOST]}

    def filled(pair: Pair) -> Pair:
        asked = (pair.value.expression, pair.scope if found.language in BY_SCOPE else "")
        value = told.get(asked) if pair.key in FROM_FIELDS and not pair.value.known else None
        return replace(pair, value=Value(value)) if value is not None else pair

    return _of_cases([filled(each) for each in found.pairs], found, texts)


def _of_cases(pairs: Sequence[Pair], found: SourceWalk, texts: Sequence[str]) -> list[Pair]:
    """Settings, those in cases of a `switch` only where what is asked is told: then the one of that case."""
    asked = {(each.case[0], each.scope): None for each in pairs if each.case[0]}
    if not asked:
        return list(pairs)
    texts = texts or texts_beside(found)
    told = {each: field_told(each[0], found, texts, each[1]) for each in list(asked)[:FIELDS_MOST]}
    labels = {one for each in pairs for one in each.case[1]}
    kept = []
    for each in pairs:
        value = told.get((each.case[0], each.scope)) if each.case[0] else None
        value = value if value is None or not (default := re.fullmatch(r"\$\{\w+:([^{}]*)\}", value)) else default[1]
        if value is None or value.startswith("${"):
            kept.append(each)
        elif value in each.case[1] or (not each.case[1] and value not in labels):
            kept.append(replace(each, sure=True))
    return kept


def texts_beside(found: SourceWalk) -> list[str]:
    """The files of a source's package, and for Go those of the packages that it imports."""
    own = Path(found.source.path).parent
    match found.language:
        case "scala" | "rs" as end:
            return [content_of(path) for path in sorted(own.glob(f"*.{end}"))[:BESIDE]]
        case "go":
            imported = (path for path, _ in imported_of_go(found.source))
            files = (*sorted(own.glob("*.go"))[:BESIDE], *imported)
            return [content_of(path) for path in files if not TESTS.search(path.name)]
        case _:
            return []


def field_told(expression: str, found: SourceWalk, texts: Sequence[str], scope: str = "", depth: int = 0) -> str | None:
    """What an expression stands for, if it is a field of the program's own settings, or what a function is given that
    every call of it gives the same; `scope` is the function that it stands in.
    """
    if (choice := _choice(expression)) is not None:
        return _chosen(choice, found, texts, scope, depth)
    told = _field_of_settings(expression, found, texts, scope)
    told = _given_by_calls(expression, found, scope, depth) if told is None else told
    return _of_constructed(expression, found, depth) if told is None else told


CHOICES: Final = (
    re.compile(r"(!?)\(?\s*([\w.]+(?:\(\))?)\s*\)?\s*\?\s*([^?:]+?)\s*:\s*([^?:]+)"),
    re.compile(r"if\s*\(\s*(!?)([\w.]+(?:\(\))?)\s*\)\s*([^{}]+?)\s+else\s+([^{}]+)"),
)
"""One of two values by what is true or false: of C, and of Kotlin and Scala."""


def _choice(expression: str) -> tuple[str, str, str] | None:
    """What is asked, and the values if it is true and if it is false; None if an expression is no such choice.

    >>> _choice("o.Durable ? Acks.All : Acks.Leader"), _choice('if (!fast) "all" else "1"'), _choice("a ?: b")
    (('o.Durable', 'Acks.All', 'Acks.Leader'), ('fast', '"1"', '"all"'), None)
    """
    text = expression.strip()
    found = next((told for each in CHOICES if (told := each.fullmatch(text)) is not None), None)
    if found is None:
        return None
    first, second = (found[4], found[3]) if found[1] else (found[3], found[4])
    return found[2], first.strip(), second.strip()


def _chosen(
    choice: tuple[str, str, str], found: SourceWalk, texts: Sequence[str], scope: str, depth: int
) -> str | None:
    """Which of two values a choice gives, if what it asks is told."""
    asked = _literal_of(choice[0], found) or (
        field_told(choice[0], found, texts, scope, depth + 1) if depth <= STEPS else None
    )
    if asked is None or asked.lower() not in ("true", "false"):
        return None
    value = choice[1] if asked.lower() == "true" else choice[2]
    told = _literal_of(value, found)
    return field_told(value, found, texts, scope, depth + 1) if told is None else told


def _literal_of(text: str, found: SourceWalk) -> str | None:
    """What is written out, a constant of a library's, or one of the file."""
    if literal := LITERAL.fullmatch(text):
        return literal[1] if literal[1] is not None else literal[2]
    if (enumerated := ".".join(text.split(".")[-2:])) in WRITTEN:
        return WRITTEN[enumerated]
    known = found.constants.get(text) if re.fullmatch(r"\w+", text) else None
    return known.text if known is not None and known.known and not known.text.startswith("${") else None


def _of_constructed(expression: str, found: SourceWalk, depth: int) -> str | None:
    """A field of an object, if every place in the module that makes one of its class gives the field the same."""
    names = path_of(expression) if found.language in ("java", "kt", "scala", "cs") and depth <= STEPS else []
    if len(names) != 2:
        return None
    root = re.escape(names[0])
    typed = re.search(rf"\b([A-Z]\w*)\s+{root}\b|\b{root}\s*:\s*([A-Z]\w*)", found.source.content)
    kind = (typed[1] or typed[2]) if typed else ""
    where = calls.root_of(found.source.path)
    head = re.compile(rf"\b(?:class|record)\s+{re.escape(kind)}\b\s*(?=\()")
    for text in calls.sources_of(where, found.language) if kind else ():
        if at := head.search(text.content):
            parameters = calls.parameters_of(text.content[at.start() :], found.language)
            name = next((each for each, _ in parameters if each.lower() == names[1].lower()), "")
            made = calls.calls_of(where, found.language, kind, made=True) if name else ()
            told = {told_by_call(each, each.argument(parameters, name), found.language, depth) for each in made}
            return told.pop() if len(told) == 1 else None
    return None


PARAMETER: Final = re.compile(r"(?:this\.)?(\w+)")
CONVERTED: Final = re.compile(
    r"(?:String\.valueOf|Integer\.valueOf|Integer\.parseInt|Boolean\.toString|(?:\w+\.)?RequiredAcks|int\d*|string)\((.+)\)"
    r"|\(\w+\)\s*(.+)|(.+?)\.(?:toString(?:\(\))?|to_string\(\)|as_str\(\)|toInt\(\)|ToString\(\))|&(.+)"
)
STEPS: Final = 3
"""How many functions are followed that hand on what they are given."""


def _given_by_calls(expression: str, found: SourceWalk, scope: str, depth: int) -> str | None:
    """What every call gives a parameter of a function, or of a constructor: directly, or as the field that it is
    assigned to.
    """
    if found.language not in ("java", "kt", "scala", "cs", "go", "rs") or depth > STEPS:
        return None
    text = expression.strip()
    if inner := CONVERTED.fullmatch(text):
        text = next(each for each in inner.groups() if each is not None).strip()
    named = PARAMETER.fullmatch(text.removeprefix("self."))
    parameter = parameter_of(named[1], scope, found) if named else None
    if parameter is None:
        return None
    name, function, called, made = parameter
    parameters = calls.parameters_of(function, found.language)
    told = calls.calls_of(calls.root_of(found.source.path), found.language, called, made=made)
    values = {told_by_call(each, each.argument(parameters, name), found.language, depth) for each in told}
    return values.pop() if len(values) == 1 else None


def parameter_of(name: str, scope: str, found: SourceWalk) -> tuple[str, str, str, bool] | None:
    """Of which function a name is a parameter, or of which constructor the field of that name is assigned from one:
    (the parameter, the function's text, its name, whether it makes an object).
    """
    language, content = found.language, found.source.content
    own = found.scopes.get(scope, "")
    if own and any(each == name for each, _ in calls.parameters_of(own.partition("{")[0] or own, language)):
        called = scope.partition("@")[0]
        made = re.search(rf"\bclass\s+{re.escape(called)}\b", content) is not None if called else False
        if language == "rs" and called == "new" and (owner := re.search(r"\bimpl(?:<[^<>]*>)?\s+(\w+)", content)):
            called = f"{owner[1]}::new"
        return name, own, called, made
    for each in re.finditer(r"\b(?:class|record)\s+(\w+)(?:<[^<>]*>)?(?:\s+@?\w+)*\s*(?=\()", content):
        if any(one == name for one, _ in calls.parameters_of(content[each.start() :], language)):
            return name, content[each.start() :], each[1], True
    assigned = re.search(rf"(?:this\.|\b_?){re.escape(name.lstrip('_'))}\s*=\s*(\w+)\s*[;\n]", content)
    if assigned is None or language not in ("java", "cs"):
        return None
    for key, text in found.scopes.items():
        function = key.partition("@")[0]
        constructs = (
            re.search(rf"\bclass\s+{re.escape(function)}\b", content) is not None and assigned[0].strip() in text
        )
        if constructs and any(each == assigned[1] for each, _ in calls.parameters_of(text, language)):
            return assigned[1], text, function, True
    return None


LITERAL: Final = re.compile(r"&?\"([^\"\\$]*)\"(?:\.to_string\(\)|\.into\(\))?|(-?\d+|true|false)")


def told_by_call(call: calls.Call, given: str, language: str, depth: int) -> str | None:
    """What an argument of a call is: a literal, a constant, what is asked for, or a parameter once more."""
    given = given.strip().lstrip("&")
    if literal := LITERAL.fullmatch(given):
        return literal[1] if literal[1] is not None else literal[2]
    if (enumerated := ".".join(given.split(".")[-2:])) in WRITTEN:
        return WRITTEN[enumerated]
    asked = asked_value(given)
    if asked is not None or (variable := asked_of(given)) is not None:
        return asked.text if asked is not None else variable
    walk, scope = walk_around(call, language)
    known = walk.constants.get(given.rpartition(".")[2]) if re.fullmatch(r"[\w.]+", given) else None
    if known is not None and known.known:
        return known.text
    return field_told(given, walk, texts_beside(walk), scope, depth + 1)


def walk_around(call: calls.Call, language: str) -> tuple[SourceWalk, str]:
    """What the source of a call has, and the function that the call stands in."""
    walk = walk_of(call.source, language)
    at = len(call.source.content[: call.at].encode(errors="replace"))
    spans = ((int(key.partition("@")[2]), len(text.encode(errors="replace")), key) for key, text in walk.scopes.items())
    return walk, max(((begin, key) for begin, length, key in spans if begin <= at < begin + length), default=(0, ""))[1]


@lru_cache(maxsize=16)
def walk_of(source: Text, language: str) -> SourceWalk:
    """What a source has by itself."""
    parser = parser_of(language)
    return gather(source, language, parser.parse(source.content.encode(errors="replace")).root_node, outside=False)


PARSED_ENUM: Final = re.compile(
    r"\AEnum\.Parse<(?:\w+\.)*\w+>\(\s*([^(),]+?)\s*(?:,\s*(?:ignoreCase:\s*)?true\s*)?\)\Z"
    r"|\A\((?:\w+\.)*\w+\)\s*Enum\.Parse\(\s*typeof\([\w.]+\)\s*,\s*([^(),]+?)\s*(?:,\s*true\s*)?\)\Z"
)
"""A value of an enumeration of .NET's, by its name in another expression."""


def _field_of_settings(expression: str, found: SourceWalk, texts: Sequence[str], scope: str) -> str | None:
    """What an expression stands for, if it is a field of the program's own settings."""
    source = found.source
    match found.language:
        case "java" | "kt" | "kts":
            bound_to = of_jvm(source, expression, lambda name: class_file(source, name, found.language))
            return bound_to if bound_to is not None else _written(of_file(source, expression))
        case "scala":
            asked = of_scala(expression, texts)
            return asked if asked is not None else _written(of_file(source, expression))
        case "rs":
            return _written(of_rust(source, expression, texts))
        case "go":
            answer = of_go(expression, found.scopes.get(scope, ""), source.path, (source.content, *texts))
            return _as_written(answer.value) if answer is not None and answer.known else None
        case "cs":
            told = of_dotnet(source, PARSED_ENUM.sub(lambda found: found[1] or found[2], expression.strip()))
            value = _taken(told, found)
            return WRITTEN.get(f"Acks.{value}", value) if value else value  # by the names of the enumeration
        case "js" | "mjs" | "cjs" | "ts":
            own = found.scopes.get(scope, "")
            return _taken(
                of_script(source, expression, own, scope.partition("@")[0], class_around(scope, found)), found
            )
        case _:
            return None


def _written(text: str | None) -> str | None:
    return _as_written(text) if text is not None else None


def _taken(told: tuple[str, str] | None, found: SourceWalk) -> str | None:
    """A value, and kept which file of settings it is from."""
    found.taken |= {told[1]} if told is not None and told[1] else set()
    return _as_written(told[0]) if told is not None else None


def _as_written(text: str) -> str:
    """A text, or the default of a placeholder, in which a constant of a library stands as what it is."""
    name, colon, default = text.rstrip("}").partition(":")
    return f"{name}:{WRITTEN[default]}}}" if colon and default in WRITTEN else WRITTEN.get(text, text)


OF_CONSTANTS: Final = re.compile(r"(?<![\w.])([A-Z]\w*)\.([A-Z][A-Z0-9_]*)\b(?!\s*[.(])")
"""A constant of another class's: `Settings.ACKS`."""
OF_MEMBERS: Final = re.compile(r"=\s*([A-Z]\w*)\.([A-Z]\w*)\b(?!\s*[.(])")
"""A constant of another class's of C#, where it is assigned: `Defaults.Acks`."""
LIBRARIES: Final = frozenset({"Acks", "CompressionType", "SecurityProtocol", "SaslMechanism", "Partitioner"})
"""Enumerations of Confluent.Kafka's."""
OF_OBJECTS: Final = re.compile(r"(?<![\w.])([A-Z]\w*)\.([a-z]\w*)\b(?!\s*[.(])")
"""A value of an object of Kotlin's or Scala's: `Settings.acks`."""
STATIC: Final = re.compile(r"(?m)^import\s+static\s+[\w.]+\.([A-Z]\w*)\.(?:[A-Z][A-Z0-9_]*|\*)\s*;")
FROM: Final = re.compile(
    r"(?m)^\s*(?:import\s*(?:type\s*)?|(?:const|let|var)\s*)\{([^{}]*)\}\s*(?:from|=\s*require\()\s*[\"'](\.\.?/[\w./-]+)[\"']"
)
"""What a script imports by its names from a module of its own program."""


def _constants_elsewhere(source: Text, language: str) -> dict[str, Value]:
    """The constants that a source takes from other files of its program: of its package in Go, of a class in languages
    of the JVM, of a module that a script imports names from. A name that two of them have is unknown.
    """
    found: dict[str, Value] = {}
    for other, names in _files_of_constants(source, language):
        parser = parser_of(language)
        root = parser.parse(other.content.encode(errors="replace")).root_node
        package = f"{Path(other.path).parent.name}." if any("." in each for each in names or ()) else ""
        for own, value in gather(other, language, root, outside=False).constants.items():
            name = package + own
            if names is None or name in names:
                known = found.get(name, value)
                found[name] = value if known == value else Value(UNKNOWN, known=False)
    return found


def _files_of_constants(source: Text, language: str) -> Iterator[tuple[Text, frozenset[str] | None]]:
    """The files that a source may take constants from, each with their names; None if all count."""
    own = Path(source.path)
    if language == "go":
        for path in sorted(own.parent.glob("*.go"))[:BESIDE]:
            content = content_of(path) if path.name != own.name and not TESTS.search(path.name) else ""
            if re.search(r"(?m)^const\b", content):
                yield Text(str(path), "".join(GO_CONSTANTS.findall(content))), None
        for path, _ in imported_of_go(source):
            names = re.findall(rf"(?<![\w.]){re.escape(path.parent.name)}\.([A-Z]\w*)\b(?!\()", source.content)
            content = content_of(path) if names and not TESTS.search(path.name) else ""
            if re.search(r"(?m)^const\b", content):
                own_names = frozenset(f"{path.parent.name}.{each}" for each in names)
                yield Text(str(path), "".join(GO_CONSTANTS.findall(content))), own_names
    elif language in SCRIPTS:
        for names, where in FROM.findall(source.content):
            taken = frozenset(each.partition(" as ")[0].strip() for each in names.split(","))
            if any(re.fullmatch(r"[A-Z][A-Z0-9_]*", each) for each in taken) and (module := module_of(own, where)):
                yield Text(str(module), content_of(module)), taken
    elif language == "cs":
        asked = {(owner, name) for owner, name in OF_MEMBERS.findall(source.content) if owner not in LIBRARIES}
        for text in calls.sources_of(calls.root_of(source.path), "cs") if asked else ():
            owners = set(re.findall(r"\bclass\s+(\w+)", text.content)) if str(own) != text.path else set()
            if members := frozenset(name for owner, name in asked if owner in owners):
                yield text, members
    elif language in ("java", "kt", "scala"):
        classes: dict[str, set[str]] = {}
        objects = OF_OBJECTS.findall(source.content) if language in ("kt", "scala") else []
        for owner, name in (*OF_CONSTANTS.findall(source.content), *objects):
            classes.setdefault(owner, set()).add(name)
        for owner in STATIC.findall(source.content):
            classes.setdefault(owner, set()).update(re.findall(r"(?<![\w.])[A-Z][A-Z0-9_]*\b", source.content))
        for owner, taken_of in list(classes.items())[:BESIDE]:
            if (other := class_file(source, owner, language)) is not None:
                yield other, frozenset(taken_of)


GO_CONSTANTS: Final = re.compile(r"(?ms)\Apackage \w+\n|^const\s*\([^()]*^\)\n?|^const\s+\w[^\n]*\n?")
"""The constants of a file of Go's, and the line that names its package."""


def _pairs_of(node: Node, above: Sequence[Node], found: SourceWalk) -> None:
    """The settings that a node makes."""
    constants = found.constants
    if node.type in CALLS:
        callee = callee_of(node)
        name, owner = callee.rpartition(".")[2], callee.rpartition(".")[0].rpartition(".")[2]
        if not re.fullmatch(r"\w*", owner):  # `config.set(…).set(…)`: what the chain begins with
            owner = re.match(r"\w*", callee)[0]  # type: ignore[index]
        given = given_to(node)
        if name in PUTS and len(given) >= 2:
            for key, value in zip(given[::2], given[1::2], strict=False):
                put_pair(
                    key_of(key, constants) or _of_spark(key, found),
                    replace(value_of(value, constants), known=False)
                    if name == IF_ABSENT
                    else value_of(value, constants),
                    key,
                    above,
                    found,
                    owner if name not in ("of", "entry") else "",
                )
        elif name == "option" and len(given) == 2:
            key = string_of(given[0]) or ""
            if key.startswith("kafka.") and key.removeprefix("kafka.") in producer_keys():
                put_pair(key.removeprefix("kafka."), value_of(given[1], constants), given[0], above, found)
        elif found.language == "scala" and len(given) == 1 and (key := OF_FS2.get(method_of(node), "")):
            put_pair(key, value_of(given[0], constants), given[0], above, found)
        elif found.language == "cs" and len(given) == 2 and callee.endswith("MainConfig.Add"):
            put_pair(key_of(given[0], constants), value_of(given[1], constants), given[0], above, found)
        elif found.language == "cs" and len(given) == 1 and method_of(node) == OF_KAFKAFLOW:
            put_pair("acks", value_of(given[0], constants), given[0], above, found, OF_KAFKAFLOW)
        elif found.language == "rs" and name == "with_required_acks" and given:
            put_pair("acks", value_of(given[0], constants), given[0], above, found)
        elif callee == "Object.assign" and found.language in SCRIPTS:
            put_copied(given, above, found)
        elif callee.startswith("kgo."):
            put_franz(name, given, node, above, found)
    elif node.type == "infix_expression" and node.named_child_count >= 3:
        left, middle, right = node.named_children[0], node.named_children[1], node.named_children[-1]
        if code_of(middle) in ("to", "->"):
            put_pair(key_of(left, constants) or _of_spark(left, found), value_of(right, constants), node, above, found)
    elif node.type in ("assignment", "assignment_expression", "assignment_statement"):
        put_assigned(node, above, found)
    elif node.type in ("keyed_element", "pair"):
        key = node.child_by_field_name("key") or node.named_children[0]
        value = node.child_by_field_name("value") or node.named_children[-1]
        known = key_of(key, constants) or FIELDS.get(code_of(key).strip("\"'"), "")
        known = known or ("retries" if is_retry_of_kafkajs(key, above, found) else "")
        if code_of(key) == "retry" and value.type in ("identifier", "member_expression", "call_expression"):
            _retried(value, above, found)
        known = known or OF_PLATFORMATIC.get(
            code_of(key) if PLATFORMATIC in packages_of(found.source.content) else "", ""
        )
        if known and (known == "retries" or is_allowed(found, known, code_of(key))):
            put_pair(known, value_of(value, constants), node, above, found)
    elif node.type == "shorthand_property_identifier" and found.language in SCRIPTS:
        name = code_of(node)
        put_pair(FIELDS.get(name, ""), constants.get(name, Value(UNKNOWN, False)), node, above, found)
    elif node.type == "spread_element" and found.language in SCRIPTS:
        put_spread(node, above, found)


def _of_spark(key: Node, found: SourceWalk) -> str:
    """The setting that an entry of a map of options of Spark's has: `"kafka.acks" -> "all"`."""
    text = (string_of(key) or "") if "org.apache.spark" in found.source.content else ""
    bare = text.removeprefix("kafka.")
    return bare if bare != text and bare in producer_keys() else ""


def _retried(value: Node, above: Sequence[Node], found: SourceWalk) -> None:
    """Add how often KafkaJS tries again, where `retry` is not written out: what `settings.retry.retries` stands for."""
    made = next((each for each in reversed(above) if each.type in CALLS | CREATES), None)
    if made is None or "kafkajs" not in packages_of(found.source.content):
        return
    if re.search(r"(?:\bKafka|\.producer)$", callee_of(made)) is None:
        return
    if (told := field_told(f"{code_of(value)}.retries", found, [], scope_of(above))) is not None:
        put_pair("retries", Value(told), value, above, found)
