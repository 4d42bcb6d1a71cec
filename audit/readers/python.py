"""Producers in Python source: the dictionary that is handed to confluent-kafka's Producer, if it can be followed, what
kafka-python's and aiokafka's producers are called with, and the options of PySpark's sinks.

The source is parsed, never run. A dictionary with constant keys is followed if it is written in the call, or if a name
is bound to it exactly once in its scope. So are `NAME["key"] = value` and `NAME.update({…})` on such a name in the same
scope. What a function of the program returns is followed too, in the same file or in one of its own package that it is
imported from. Values are constants, `os.environ["X"]`, `os.environ.get("X", default)` or `os.getenv("X", default)`. One
that is anything else is reported as unknown, and so is one that is set only under a condition. Nothing is concluded of
a dictionary that cannot be followed, because it is handed to other code for instance.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

from audit.model import Client, Origin, Setting
from audit.readers.collect import Collected, preset
from audit.readers.context import while_set
from audit.readers.flink import placed, read_sql
from audit.readers.format import Format
from audit.readers.keyed import asked_for_topics, root_of
from audit.readers.modules import bound, imports, module_named, module_of, tree_of
from audit.readers.names import producer_keys
from audit.readers.objects import (
    CALLED,
    HEIR,
    Kind,
    Place,
    calls_of,
    calls_to,
    class_at,
    fields_of,
    function_at,
    given,
    heirs_of,
    is_never_given,
    kind_of,
    method_of,
    result_of,
    stands_for,
)
from audit.readers.packages import of_framework
from audit.readers.pyfiles import (
    PARSERS,
    of_flask,
    of_loaded_file,
    option_of,
    section_of_ini,
    section_of_loaded,
    variable_of_helper,
)
from audit.readers.sends import uses_of
from audit.readers.text import Text, Unreadable
from audit.readers.tree import Listing, Scalar, Table, flatten, read_json, read_yaml
from audit.readers.walk import text_of

CLASSES: Final = frozenset({"Producer", "SerializingProducer", "AvroProducer", "AIOProducer", "DeserializingProducer"})
READS: Final = frozenset({"get", "items", "keys", "values", "copy"})
HARMLESS: Final = CLASSES | {
    "update",
    "Consumer",
    "AdminClient",
    "copy",
    "deepcopy",
    "print",
    "dict",
    "len",
    "info",
    "debug",
    "dumps",
    "str",
    "repr",
}
LIBRARY: Final = "confluent_kafka"
OTHERS: Final[Mapping[str, tuple[str, Client]]] = {
    "KafkaProducer": ("kafka", "kafka-python"),
    "AIOKafkaProducer": ("aiokafka", "aiokafka"),
    "KafkaBroker": ("faststream", "aiokafka"),
}
"""Classes that are called with their settings, and the package of each."""
UNKNOWN: Final = "(an expression)"
DECISIVE: Final = ("acks", "enable.idempotence", "retries")
"""What is unknown of a producer whose settings cannot be followed."""
ASKS: Final = frozenset({"list_topics", "bootstrap_connected", "partitions_for", "start", "stop", "close"})
TESTS: Final = re.compile(r"(?:^|/)(?:test_[^/]+|[^/]+_test|conftest)\.py$")
COPIES: Final = frozenset({"dict", "copy", "deepcopy"})
OF_ARROYO: Final = frozenset({"build_kafka_configuration", "build_kafka_producer_configuration"})
"""Functions of sentry-arroyo that take a dictionary of librdkafka's, and one that stands above it."""
DEEPEST: Final = 4
"""How many functions are followed, each called by the one before."""
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
FOLLOWING: Final[ContextVar[tuple[ast.AST, ...]]] = ContextVar("FOLLOWING")
"""The functions that are being followed."""
Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


SPEAKS: Final = re.compile(
    r"confluent_kafka|KafkaProducer|AIOKafkaProducer|pyspark|pyflink|KafkaBroker|quixstreams|bytewax|\bfaust\b|\bpykafka\b"
)


def read_python(source: Text, reading: Collected) -> bool:
    """Add the producers of a Python source; whether there are any."""
    if TESTS.search(source.path):
        return False
    if (uses := uses_of(source.content)) is not None:
        reading.uses[source.path] = uses
    if not SPEAKS.search(source.content):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = _parsed(source.content)
    except SyntaxError as error:
        raise Unreadable("not Python", error.lineno) from None
    except (RecursionError, ValueError, MemoryError):
        raise Unreadable("not Python") from None
    try:
        BOUND.set(_dictionaries(tree))
        MODULE.set(tree)
        LOADED.set(reading.fillings)
        found = _producers(source, tree, reading) if re.search(r"confluent_kafka|arroyo", source.content) else False
        found |= _called(source, tree, reading)
        if "pyflink" in source.content:
            found |= read_sql(placed(source, _statements(source, tree)), reading)
            found |= _of_flink(source, tree, reading)
        found |= _of_frameworks(source, tree, reading)
        return _sinks(source, tree, reading) or found if "pyspark" in source.content else found
    except RecursionError:
        raise Unreadable("nested too deep") from None


def _parsed(content: str) -> ast.Module:
    """A module's tree. Type parameters of Python 3.12 are left out where the Python that reads is older."""
    try:
        return ast.parse(content)
    except SyntaxError:
        older = re.sub(
            r"(?m)^(\s*(?:class|def|async def) \w+)\[[^\[\]\n]*(?:\[[^\[\]\n]*\][^\[\]\n]*)*\]", r"\1", content
        )
        return ast.parse(re.sub(r"(?m)^(\s*)type (\w+)(?:\[[^\n=]*\])? = ", r"\1\2 = ", older))


BOUND: Final[ContextVar[Mapping[str, ast.expr]]] = ContextVar("BOUND")
"""Of the source that is read: dictionaries that a name of its module is bound to, once."""


def _dictionaries(tree: ast.Module) -> dict[str, ast.expr]:
    """The dictionaries that names of a module are bound to, where that is done once and nothing is put in."""
    bound = [each for each in tree.body if isinstance(each, ast.Assign) and len(each.targets) == 1]
    names = Counter(each.targets[0].id for each in bound if isinstance(each.targets[0], ast.Name))
    changed = {
        each.value.id
        for each in ast.walk(tree)
        if isinstance(each, ast.Subscript | ast.Attribute)
        and isinstance(each.value, ast.Name)
        and (isinstance(each.ctx, ast.Store) or getattr(each, "attr", "") in ("update", "pop", "setdefault", "clear"))
    }
    return {
        each.targets[0].id: each.value
        for each in bound
        if isinstance(each.targets[0], ast.Name)
        and (isinstance(each.value, ast.Dict) or _is_dict_of_words(each.value))
        and names[each.targets[0].id] == 1
        and each.targets[0].id not in changed
    }


def _is_dict_of_words(value: ast.expr) -> bool:
    """Whether an expression is `dict(acks=1, …)`."""
    called = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict"
    return called and isinstance(value, ast.Call) and bool(value.keywords) and not value.args


MODULE: Final[ContextVar[ast.Module]] = ContextVar("MODULE")
"""The tree of the source that is read, whose names settings have."""


@contextmanager
def _in_module(tree: ast.Module) -> Iterator[None]:
    """While a node of another file is followed."""
    with while_set(BOUND, _dictionaries(tree)), while_set(MODULE, tree):
        yield


def _producers(source: Text, tree: ast.Module, reading: Collected) -> bool:
    names = _imported(tree)
    found = False
    bound_to = _bound_to(tree, lambda call: _is_producer(call.func, names))
    sent: list[str] | None = None
    alike: set[object] = set()
    for scopes, call in _calls(tree, (tree,)):
        if not _is_producer(call.func, names) or _only_asks(call, scopes[-1]):
            continue
        found = True
        argument = (
            call.args[0]
            if call.args
            else next((word.value for word in call.keywords if word.arg in ("conf", "config")), None)
        )

        def settled(
            call: ast.Call = call, argument: ast.expr | None = argument, scopes: tuple[Scope, ...] = scopes
        ) -> list[Setting]:
            told = _followed(source, call, argument, scopes) if argument is not None else None
            if told is None:
                message = "the configuration of this producer is not a dictionary that can be followed"
                do = "give it as a file (JSON), or write the dictionary in the call"
                problem = source.problem("unreadable", call.lineno, message, do)
                reading.problems += [problem] if problem not in reading.problems else []
                told = [Setting(key, UNKNOWN, source.origin(call.lineno), known=False) for key in DECISIVE]
            return told

        sent = _sent_to(source, tree) if sent is None else sent
        for maker, settings in _by_maker(source, scopes, settled):
            if _is_alternative(call, scopes, settings, alike):
                continue
            name, origin = _name_of(source, call, scopes, bound_to), source.origin(call.lineno)
            name, origin = _of_maker(maker) or (name, origin)
            reading.producer(
                name, settings, origin, client="librdkafka", framework="python", topics=sent, style="spring"
            )
    return found


def _bound_to(tree: ast.Module, made: Callable[[ast.Call], bool]) -> dict[int, str]:
    """By the place of a call that makes a producer, what it is bound to: the name of a variable or of a field, where
    several are made in one function, so that a name tells them apart.
    """
    bound: dict[int, str] = {}
    for each in ast.walk(tree):
        if isinstance(each, ast.Assign | ast.AnnAssign) and isinstance(each.value, ast.Call) and made(each.value):
            target = each.targets[0] if isinstance(each, ast.Assign) else each.target
            name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
            bound[id(each.value)] = name
        elif isinstance(each, ast.keyword) and each.arg:
            bound[id(each.value)] = each.arg
        elif isinstance(each, ast.Dict):
            bound |= {id(value): str(key.value) for key, value in zip(each.keys, each.values, strict=True)
                      if isinstance(key, ast.Constant)}  # fmt: skip
    makes = Counter(id(scopes[-1]) for scopes, call in _calls(tree, (tree,)) if made(call))
    alone = {id(call) for scopes, call in _calls(tree, (tree,)) if makes[id(scopes[-1])] == 1}
    return {place: name for place, name in bound.items() if place not in alone}


def _name_of(source: Text, call: ast.Call, scopes: Sequence[Scope], bound_to: Mapping[int, str]) -> str:
    """What a producer is called: by its file, and its variable or the function that makes it."""
    function = next((scope.name for scope in reversed(scopes) if not isinstance(scope, ast.Module)), "")
    owner = next((scope.name for scope in reversed(scopes) if isinstance(scope, ast.ClassDef)), "")
    if owner and sum(isinstance(each, ast.ClassDef) for each in ast.walk(scopes[0])) > 1 and function == "__init__":
        function = owner
    part = bound_to.get(id(call)) or function
    return f"{source.file}, {part}" if part else source.file


def _called(source: Text, tree: ast.Module, reading: Collected) -> bool:
    """Add the producers of kafka-python and aiokafka: their settings are the arguments' names, with underscores."""
    imported = {
        ((each.module or "") if isinstance(each, ast.ImportFrom) else one.name).split(".")[0]
        for each in ast.walk(tree)
        if isinstance(each, ast.ImportFrom | ast.Import)
        for one in each.names
    }
    found = False
    classes = _classes(tree)
    bound_to = _bound_to(tree, lambda call: classes.get(_called_name(call), _called_name(call)) in OTHERS)
    sent: list[str] | None = None
    alike: set[object] = set()
    for scopes, call in _calls(tree, (tree,)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        package, client = OTHERS.get(classes.get(name, name), ("", "unknown"))
        if package not in imported or not package or _only_asks(call, scopes[-1]):
            continue
        if package == "faststream":
            if not _sends_below(source, OF_FASTSTREAM, "broker"):
                continue  # it only subscribes
            client = "librdkafka" if "faststream.confluent" in source.content else client

        def settled(call: ast.Call = call, scopes: tuple[Scope, ...] = scopes) -> list[Setting]:
            return _settings_of_words(source, call, scopes)

        sent = _sent_to(source, tree) if sent is None else sent
        found = True
        for maker, settings in _by_maker(source, scopes, settled):
            if _is_alternative(call, scopes, settings, alike):
                continue
            title, origin = _name_of(source, call, scopes, bound_to), source.origin(call.lineno)
            title, origin = _of_maker(maker) or (title, origin)
            reading.producer(title, settings, origin, client=client, framework="python", topics=sent, style="spring")
    return found


def _settings_of_words(source: Text, call: ast.Call, scopes: tuple[Scope, ...]) -> list[Setting]:
    """What a producer of kafka-python or aiokafka is called with."""
    given = [_setting(source, word.arg.replace("_", "."), word.value) for word in call.keywords if word.arg]
    spread = [_spread(source, call, word.value, scopes) for word in call.keywords if word.arg is None]
    for each in spread:
        given += [dataclasses.replace(one, key=one.key.replace("_", ".")) for one in each or ()]
    settings = [each for each in given if each.key in producer_keys()]
    if any(each.key == "transactional.id" and not each.known for each in settings):  # it may be None
        settings = [each for each in settings if each.key != "transactional.id"]
        settings.append(Setting("enable.idempotence", UNKNOWN, source.origin(call.lineno), known=False))
    if any(each is None for each in spread):
        named = {each.key for each in settings}
        settings += [
            Setting(key, UNKNOWN, source.origin(call.lineno), known=False) for key in DECISIVE if key not in named
        ]
    return settings


CALLERS: Final = 10
"""Callers of one function that are told apart."""


def _by_maker(
    source: Text, scopes: Sequence[Scope], settled: Callable[[], list[Setting]]
) -> list[tuple[Kind | Place | None, list[Setting]]]:
    """What a producer is set to, by the classes that inherit from the one that makes it, or else by the calls of the
    function that makes it, if these give it something else that is known: each is a producer then.
    """
    found: list[tuple[Kind | Place | None, list[Setting]]] = [*_by_heir(source, scopes, settled)]
    function = next((each for each in reversed(scopes) if isinstance(each, FUNCTIONS)), None)
    if len(found) != 1 or function is None or _is_told(found[0][1]):
        return found
    told = calls_to(Place(source, MODULE.get(), ast.Name(function.name)), function)
    by_values: dict[object, tuple[Kind | Place | None, list[Setting]]] = {}
    for each in told if 1 < len(told) <= CALLERS else ():
        with while_set(CALLED, each):
            settings = settled()
        if not _is_told(settings):
            return found
        by_values.setdefault(_deciding(settings), (each, settings))
    return list(by_values.values()) if len(by_values) > 1 else found


def _is_told(settings: Sequence[Setting]) -> bool:
    """Whether all that decides over records is told."""
    return all(each.known for each in settings if each.key in ALTERNATIVE)


def _of_maker(maker: Kind | Place | None) -> tuple[str, Origin] | None:
    """What the producer of a class, or of a call, is called, and where it is."""
    if isinstance(maker, Kind):
        return f"{maker.source.file}, {maker.owner.name}", maker.source.origin(maker.owner.lineno)
    if maker is None:
        return None
    bound = next(
        (each for each in ast.walk(maker.tree) if isinstance(each, ast.Assign) and each.value is maker.value), None
    )
    name = ast.unparse(bound.targets[0]).removeprefix("self.") if bound is not None else ""
    function = function_at(maker.tree, maker.value)
    name = name or (function.name if function is not None else "")
    origin = maker.source.origin(getattr(maker.value, "lineno", None))
    return (f"{maker.source.file}, {name}" if name else maker.source.file), origin


def _by_heir(
    source: Text, scopes: Sequence[Scope], settled: Callable[[], list[Setting]]
) -> list[tuple[Kind | None, list[Setting]]]:
    """What a producer is set to, and by the classes that inherit from the one that makes it, if these give it something
    else: each of them is a producer then, and the class itself if the program makes one of it.
    """
    own = settled()
    owner = next((each for each in reversed(scopes) if isinstance(each, ast.ClassDef)), None)
    by_values: dict[object, tuple[Kind | None, list[Setting]]] = {}
    for heir in heirs_of(source, owner) if owner is not None else ():
        with while_set(HEIR, heir):
            settings = settled()
        by_values.setdefault(_deciding(settings), (heir, settings))
    if owner is None or by_values.keys() <= {_deciding(own)}:
        return [(None, own)]
    if calls_of(root_of(source.path), owner.name):
        by_values[_deciding(own)] = (None, own)
    return list(by_values.values())


def _deciding(settings: Sequence[Setting]) -> tuple[object, ...]:
    """What decides over records."""
    by_key = {each.key: (each.value, each.known) for each in settings}
    return tuple((key, by_key[key]) for key in ALTERNATIVE if key in by_key)


ALTERNATIVE: Final = (*DECISIVE, "request.required.acks", "message.send.max.retries", "transactional.id",
                      "max.in.flight.requests.per.connection", "max.in.flight")  # fmt: skip
"""What two producers do not differ in that stand for one another."""


def _is_alternative(call: ast.Call, scopes: Sequence[Scope], settings: Sequence[Setting], before: set[object]) -> bool:
    """Whether the same function makes a producer before that stands in the place of this one, with and without TLS for
    instance: both are returned, or bound to one name, and nothing that decides differs. A field of a class
    may be bound by several functions. What is told is kept in `before`.
    """
    scope = scopes[-1]
    target = next((told for each in _own(scope) if (told := _target(each, call))), "")
    if isinstance(scope, ast.Module) or not target:
        return False
    deciding = _deciding(settings)
    owner = next((each for each in reversed(scopes) if isinstance(each, ast.ClassDef)), scope)
    one = (id(owner if target.startswith("self.") else scope), target, _called_name(call), deciding)
    known = one in before
    before.add(one)
    return known


def _target(node: ast.AST, call: ast.Call) -> str:
    """What is done with the value of a call by a statement: it is returned, or bound to a name; empty if neither."""
    value = getattr(node, "value", None)
    value = value.value if isinstance(value, ast.Await) else value
    if value is not call:
        return ""
    if isinstance(node, ast.Return):
        return "return"
    return ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else ""


def _spread(source: Text, call: ast.Call, value: ast.expr, scopes: tuple[Scope, ...]) -> list[Setting] | None:
    """The settings of what is spread into a call; none of what a function is given beside its parameters, `**options`,
    where no call of it gives any.
    """
    settings = _followed(source, call, value, scopes)
    chosen, function = CALLED.get(), function_at(MODULE.get(), value)
    if settings is None and chosen is not None and function is not None and isinstance(value, ast.Name):
        more = function.args.kwarg
        taken = {each.arg for each in (*function.args.args, *function.args.kwonlyargs)}
        if more is not None and more.arg == value.id and isinstance(chosen.value, ast.Call):
            words = [each for each in chosen.value.keywords if each.arg not in taken]
            if all(each.arg for each in words):
                return [_setting(chosen.source, str(each.arg), each.value) for each in words]
    return [] if settings is None and is_never_given(Place(source, MODULE.get(), value)) else settings


def _sent_to(source: Text, tree: ast.Module) -> list[str]:
    """The topics that a source's producer sends to, if it makes one and they are all told; placeholders of variables
    too. Where the source does not send, those that its program sends to elsewhere, if it makes no other producer.
    """
    names, classes = _imported(tree), _classes(tree)

    def makes(call: ast.Call) -> bool:
        return _is_producer(call.func, names) or classes.get(_called_name(call), _called_name(call)) in OTHERS

    calls = list(_calls(tree, (tree,)))
    made = [call for _, call in calls if makes(call)]
    if len(made) != 1:
        return []
    bound = _names_of(tree, made[0])
    sends = [(scopes, call) for scopes, call in calls if _called_name(call) in SENDS and _is_of_producer(call, bound)]
    with asked_for_topics():
        if not sends:
            return _sent_elsewhere(source)
        told = [_topic_of(source, call, scopes) for scopes, call in sends]
    return [each for each in told if each is not None] if all(told) else []


SENDS: Final = frozenset({"send", "send_and_wait", "produce"})


def _names_of(tree: ast.Module, made: ast.Call) -> frozenset[str]:
    """What a source binds a producer to: `p`, `self.client`."""
    found: list[ast.expr] = []
    for each in ast.walk(tree):
        value = getattr(each, "value", None)
        value = value.value if isinstance(value, ast.Await) else value
        if value is made and isinstance(each, ast.Assign):
            found += each.targets
        elif value is made and isinstance(each, ast.AnnAssign | ast.NamedExpr):
            found.append(each.target)
        elif isinstance(each, ast.withitem) and each.context_expr is made and each.optional_vars is not None:
            found.append(each.optional_vars)
    return frozenset(map(ast.unparse, found))


def _topic_of(source: Text, call: ast.Call, scopes: tuple[Scope, ...]) -> str | None:
    """The topic that is sent to, or the placeholder of one; None if it is not told."""
    named = next((each.value for each in call.keywords if each.arg == "topic"), next(iter(call.args), None))
    if named is None:
        return None
    told = _setting(source, "topic", named)
    value = told.value if told.known else _text_of_section(source, named, scopes)
    return value if value and re.fullmatch(r"[\w.-]+|\$\{\w+(?::[\w.-]+)?\}", value) else None


def _text_of_section(source: Text, value: ast.expr, scopes: tuple[Scope, ...]) -> str | None:
    """What a part of a file is that a source loads, where that is one value: `config["TOPIC"]`, or a field of an object
    that is set to it.
    """
    if isinstance(value, ast.Attribute) and getattr(value.value, "id", "") == "self":
        further = stands_for(Place(source, MODULE.get(), value))
        function = function_at(MODULE.get(), further.value) if further is not None else None
        if further is None or further.source is not source or function is None:
            return None
        value, scopes = further.value, (MODULE.get(), function)
    path: list[str] = []
    while isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        path.insert(0, str(value.slice.value))
        value = value.value
    bound = _only_value(value.id, scopes) if isinstance(value, ast.Name) else None
    if not path or not isinstance(bound, ast.Call) or _called_name(bound) not in LOADS:
        return None
    text = _only_file(source)
    table = _parsed_file(text) if text is not None else None
    found = table.get(*path) if table is not None else None
    return found.text if isinstance(found, Scalar) else None


def _sent_elsewhere(source: Text) -> list[str]:
    """The topics that other files of a program send to with what they call a producer, if the program makes one and
    they are all told.
    """
    root = root_of(source.path)
    makers = {(each.source.path, each.value.lineno) for name in (*OTHERS, *CLASSES) for each in calls_of(root, name)}
    if len(makers) != 1:
        return []
    found: list[str] = []
    for each in [one for name in sorted(SENDS) for one in calls_of(root, name)][:MOST_SENDS]:
        if not isinstance(each.value, ast.Call) or not _is_of_producer(each.value, frozenset()):
            continue
        function = function_at(each.tree, each.value)
        with while_set(MODULE, each.tree):
            scopes: tuple[Scope, ...] = (each.tree,) if function is None else (each.tree, function)
            told = _topic_of(each.source, each.value, scopes)
        if told is None:
            return []
        found.append(told)
    return found


MOST_SENDS: Final = 50
"""Calls of a program that send, of which the topics are looked for."""


def _is_of_producer(call: ast.Call, bound: Collection[str]) -> bool:
    """Whether what is called is a method of a producer: of what one is bound to, or of what is named so."""
    if not isinstance(call.func, ast.Attribute):
        return False
    owner = ast.unparse(call.func.value)
    return owner in bound or "producer" in owner.lower()


def _classes(tree: ast.Module) -> dict[str, str]:
    """Names that an import gives a class of producers, and functions that return one, each with that class."""
    found: dict[str, str] = {}
    for each in ast.walk(tree):
        if isinstance(each, ast.ImportFrom):
            found |= {one.asname: one.name for one in each.names if one.asname and one.name in OTHERS}
        if isinstance(each, ast.FunctionDef) and isinstance(each.body[-1], ast.Return):
            value = each.body[-1].value
            name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
            if name in OTHERS:
                found[each.name] = name
    return found


OF_SPARK: Final = re.compile(r"\bspark-(?:sql|streaming)-kafka-0-10_[\d.]+:(\d+(?:\.\d+)+)")
"""Where a program names the connector that Spark is to load."""


BESIDE_SPARK: Final = ("README*", "Makefile", "Dockerfile*", "*.sh", "*.y*ml", "spark-defaults.conf")
"""Files that tell how a program of Spark's is started."""
ABOVE_SPARK: Final = 3
STARTS: Final = 40
"""Files that are looked into for how it is started."""


def _of_packages(source: Text) -> tuple[str | None, str]:
    """The release of kafka-clients that the connector brings which a program of Spark's is started with, and where that
    is told: in the program, or in a file beside it or above, if all of these agree.
    """
    texts = [source] if OF_SPARK.search(source.content) else []
    for folder in () if texts else Path(source.path).absolute().parents[:ABOVE_SPARK]:
        paths = [path for glob in BESIDE_SPARK for path in sorted(folder.glob(glob))][:STARTS]
        texts += [text for path in paths if (text := text_of(path)) is not None and OF_SPARK.search(text.content)]
        if paths or (folder / ".git").exists():
            break
    places = [(text, each) for text in texts for each in OF_SPARK.finditer(text.content)]
    if len({each[1] for _, each in places}) != 1:
        return None, ""
    text, named = places[0]
    where = f"{text.file}:{text.line_at(named.start())}" if text is not source else None
    where = where or str(source.origin(source.line_at(named.start())))
    return of_framework("spark", named[1]), f"{where}: {named[0]}, which brings kafka-clients"


def _sinks(source: Text, tree: ast.Module, reading: Collected) -> bool:
    """Add PySpark's sinks: `.write` or `.writeStream` with `.format("kafka")` and `.option("kafka.acks", …)`."""
    inner: set[ast.expr] = set()
    brought: tuple[str | None, str] | None = None
    for scopes, call in _calls(tree, (tree,)):
        if call in inner:
            continue
        options: list[Setting] = []
        topics: list[str] = []
        kafka = writes = False
        node: ast.expr = call
        while isinstance(node, ast.Call | ast.Attribute):
            inner.add(node)
            if isinstance(node, ast.Attribute):
                writes |= node.attr in ("write", "writeStream")
                node = node.value
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            texts = [_constant(each) for each in node.args]
            kafka |= name == "format" and texts[:1] == ["kafka"] and not writes  # behind it, the source's is told
            given = []
            if name == "option" and len(node.args) == 2 and texts[0] is not None:
                given = [_setting(source, texts[0], node.args[1])]
            elif name == "options":
                given = [
                    one
                    for word in node.keywords
                    for one in (
                        [_setting(source, word.arg, word.value)]
                        if word.arg
                        else _within(source, word.value, scopes, "kafka.")
                    )
                ]
            for each in reversed(given):
                if each.key.startswith("kafka."):
                    options.append(dataclasses.replace(each, key=each.key.removeprefix("kafka.")))
                elif each.key == "topic" and each.known:
                    topics.append(each.value)
            node = node.func
        if kafka and writes:
            options.reverse()
            brought = brought or _of_packages(source)
            reading.producer(
                source.file, options, source.origin(call.lineno), client="java", framework="spark",
                spelling="kafka.{key}", topics=topics, style="spring", release=brought[0], release_from=brought[1],
            )  # fmt: skip
    return brought is not None


INSERTS: Final = frozenset({"execute_insert", "add_insert", "insert_into"})
"""Methods of PyFlink's that write to the table that they are told first."""


def _statements(source: Text, tree: ast.Module) -> list[tuple[int, str]]:
    """The texts of a source that may be statements of SQL, with what is formatted into them as far as it is known; and
    the tables that methods insert into, as such statements.
    """
    inside = {id(one) for each in ast.walk(tree) if isinstance(each, ast.JoinedStr) for one in each.values}
    notes = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    found = []
    for each in ast.walk(tree):
        if isinstance(each, ast.JoinedStr):
            text = _formatted(source, each)
        elif isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in inside | notes:
            text = each.value
        elif isinstance(each, ast.Call) and _called_name(each) in INSERTS and each.args:
            name = _constant(each.args[0])
            text = f"INSERT INTO {name}" if name is not None else ""
        else:
            continue
        if text.count("\n") != (each.end_lineno or each.lineno) - each.lineno:
            text = text.replace("\n", " ")
        found.append((each.lineno, text))
    return found


def _formatted(source: Text, node: ast.JoinedStr) -> str:
    """An f-string with what is known put in: a placeholder in a text of SQL's, a name elsewhere, for what is not."""
    done = ""
    for each in node.values:
        if isinstance(each, ast.Constant):
            done += str(each.value)
        elif isinstance(each, ast.FormattedValue):
            told = _setting(source, "x", each.value)
            name = re.sub(r"\W+", "_", ast.unparse(each.value))
            if told.known and not told.value.startswith("${"):
                done += told.value
            elif told.known:
                done += re.sub(r":", ":-", told.value, count=1)
            else:
                done += f"${{{name}}}" if done.count("'") % 2 else name
    return done


def _of_flink(source: Text, tree: ast.Module, reading: Collected) -> bool:
    """Add PyFlink's sinks: `KafkaSink.builder()` with `.set_property("acks", …)`, and `FlinkKafkaProducer(…)`."""
    inner: set[ast.expr] = set()
    found = False
    for scopes, call in _calls(tree, (tree,)):
        settings: list[Setting] = []
        if _called_name(call) == "FlinkKafkaProducer":
            given = dict(zip(("topic", "serialization_schema", "producer_config"), call.args, strict=False))
            given |= {word.arg: word.value for word in call.keywords if word.arg}
            config = given.get("producer_config")
            settings = _within(source, config, scopes) if config is not None else []
        elif call in inner or not _chained(source, call, settings, inner):
            continue
        reading.producer(
            source.file, settings, source.origin(call.lineno), client="java", framework="flink", style="spring"
        )
        found = True
    return found


def _chained(source: Text, call: ast.Call, settings: list[Setting], inner: set[ast.expr]) -> bool:
    """Gather what a chain of calls sets that begins with `KafkaSink.builder()`; whether it does."""
    node: ast.expr = call
    name = ""
    while isinstance(node, ast.Call | ast.Attribute):
        inner.add(node)
        if isinstance(node, ast.Call):
            name = _called_name(node)
            texts = [_constant(each) for each in node.args]
            if name == "set_property" and len(node.args) == 2 and texts[0] is not None:
                settings.insert(0, _setting(source, texts[0], node.args[1]))
            elif name == "set_delivery_guarantee" and "EXACTLY_ONCE" in ast.unparse(node):
                note = "a sink that is exactly once sends in transactions"
                settings.append(Setting("transactional.id", "(its own)", source.origin(node.lineno), note=note))
            node = node.func
        else:
            node = node.value
    return isinstance(node, ast.Name) and (node.id, name) == ("KafkaSink", "builder")


def _of_frameworks(source: Text, tree: ast.Module, reading: Collected) -> bool:
    """Add what stream processors send with: an application of quixstreams' that sends and sinks of bytewax', whose
    client is confluent-kafka, one of Faust's, and topics of pykafka's.
    """
    quix = "quixstreams" in source.content and QUIX.search(source.content) is not None
    bytewax = re.search(r"\bbytewax\.connectors\.kafka\b", source.content) is not None
    bytewax &= "bytewax/connectors/" not in source.path  # which hands on what it is given
    faust = re.search(r"(?m)^\s*(?:import|from)\s+faust\b", source.content) is not None
    faust = faust and _sends_with_faust(source)
    found = False
    bound_to = _bound_to(tree, lambda call: _called_name(call) in OF_FRAMEWORKS | OF_PYKAFKA)
    for scopes, call in _calls(tree, (tree,)):
        name = _called_name(call)
        title = ", ".join(filter(None, (source.file, bound_to.get(id(call)))))
        words = {word.arg: word.value for word in call.keywords if word.arg}
        topics: list[str] = []
        if quix and name == "Application":
            config = words.get("producer_extra_config")
        elif bytewax and (name == "KafkaSink" or ast.unparse(call.func) in ("kop.output", "kafka.operators.output")):
            config = words.get("add_config") or (call.args[2] if name == "KafkaSink" and len(call.args) > 2 else None)
            told = words.get("topic") or (call.args[1] if name == "KafkaSink" and len(call.args) > 1 else None)
            topics = [one] if told is not None and (one := _constant(told)) else []
        elif name in OF_PYKAFKA and "pykafka" in source.content:
            given = [_setting(source, OF_PYKAFKA_NAMES[key], each) for key, each in words.items()
                     if key in OF_PYKAFKA_NAMES]  # fmt: skip
            origin = source.origin(call.lineno)
            reading.producer(title, given, origin, client="pykafka", framework="python", style="spring")
            found = True
            continue
        elif faust and name == "App":
            _of_faust(source, title, call, reading)
            found = True
            continue
        else:
            continue
        settings = _within(source, config, scopes) if config is not None else []
        reading.producer(
            title, settings, source.origin(call.lineno), client="librdkafka", framework="python", topics=topics,
            style="spring",
        )  # fmt: skip
        found = True
    return found


FAUST: Final = re.compile(r"\bproducer_\w+\s*=|\.(?:send|cast|send_soon|Table|SetTable|GlobalTable)\(|\bsink\s*=")
"""What an application of Faust's does that sends: a table has a topic of its own."""


BESIDE: Final = 100
"""How many modules of a package are looked into."""


def _sends_with_faust(source: Text) -> bool:
    """Whether an application of Faust's sends: in its own file, or in a module below that imports it."""
    return _sends_below(source, FAUST, "app")


OF_FASTSTREAM: Final = re.compile(r"\.publish(?:er)?\(")
"""What a broker of FastStream's does that sends."""


def _sends_below(source: Text, sends: re.Pattern[str], name: str) -> bool:
    """Whether what a source makes sends: in its own file, or in a module beside or below that imports it."""
    if sends.search(source.content):
        return True
    own = Path(source.path)
    named = re.compile(rf"(?m)^\s*from\s+(?:[\w.]*\b{re.escape(own.stem)}\s+import\b|[\w.]+\s+import\b.*\b{name}\b)")
    for path in islice(own.parent.rglob("*.py"), BESIDE):
        other = text_of(path) if path != own and not TESTS.search(str(path)) else None
        if other is not None and named.search(other.content) and sends.search(other.content):
            return True
    return False


def _of_faust(source: Text, title: str, call: ast.Call, reading: Collected) -> None:
    """Add the producer of an application of Faust's, which is aiokafka's and waits for all replicas."""
    origin = source.origin(call.lineno)
    given = [
        _setting(source, word.arg.removeprefix("producer_").replace("_", "."), word.value)
        for word in call.keywords
        if word.arg and word.arg.startswith("producer_")
    ]
    reading.producer(
        title, [each for each in given if each.key in producer_keys()], origin, client="aiokafka",
        framework="python", presets=[preset("acks", "all", "Faust's default", origin)], style="spring",
    )  # fmt: skip


OF_FRAMEWORKS: Final = frozenset({"Application", "KafkaSink", "App"})
OF_PYKAFKA: Final = frozenset({"get_producer", "get_sync_producer"})
OF_PYKAFKA_NAMES: Final = {"required_acks": "acks", "max_retries": "retries"}
QUIX: Final = re.compile(r"\.(?:get_producer|to_topic)\(")
"""What an application of quixstreams' does that sends."""


def _imported(tree: ast.Module) -> set[str]:
    """The names by which producers of confluent_kafka, and the module itself, are known in a source: those of arroyo,
    which is made of them, and classes of the source that inherit from them too.
    """
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == LIBRARY:
            names |= {one.asname or one.name for one in node.names if one.name in CLASSES}
        elif isinstance(node, ast.Import):
            names |= {(one.asname or one.name.split(".")[0]) for one in node.names if one.name.split(".")[0] == LIBRARY}
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("arroyo.backends.kafka"):
            names |= {one.asname or one.name for one in node.names if one.name == "KafkaProducer"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(_is_producer(base, names) for base in node.bases):
            names |= set() if _wraps(node) else {node.name}
    return names


def _wraps(node: ast.ClassDef) -> bool:
    """Whether a class of producers makes none: its `__init__` calls no other, so that it only hands on."""
    made = next((each for each in node.body if isinstance(each, FUNCTIONS) and each.name == "__init__"), None)
    called = [_called_name(each) for each in ast.walk(made) if isinstance(each, ast.Call)] if made else ["__init__"]
    return "__init__" not in called


def _is_producer(function: ast.expr, names: set[str]) -> bool:
    if isinstance(function, ast.Name):
        return function.id in names and function.id != LIBRARY
    root: ast.expr = function
    while isinstance(root, ast.Attribute):
        root = root.value
    return (
        isinstance(function, ast.Attribute)
        and function.attr in CLASSES
        and isinstance(root, ast.Name)
        and root.id in names
    )


def _calls(node: ast.AST, scopes: tuple[Scope, ...]) -> Iterator[tuple[tuple[Scope, ...], ast.Call]]:
    """Every call, with the scopes that it is in, outermost first."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield scopes, child
        inside = (
            (*scopes, child) if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else scopes
        )
        yield from _calls(child, inside)


def _followed(source: Text, call: ast.Call, argument: ast.expr, scopes: tuple[Scope, ...]) -> list[Setting] | None:
    """The settings of a dictionary, or of the only one that a name is bound to; None if it cannot be followed."""
    if isinstance(argument, ast.Attribute) and getattr(argument.value, "id", "") in ("self", "cls"):
        own = _of_object(source, argument.attr, scopes)
        return own if own is not None else _of_class(source, argument)
    if isinstance(argument, ast.Attribute):
        return _of_attribute(source, scopes[0], argument, called=False)
    if isinstance(argument, ast.Subscript):
        return _of_section(source, argument, scopes)
    if not isinstance(argument, ast.Name):
        return _made(source, argument, scopes)
    for scope in reversed(scopes):
        if isinstance(scope, ast.ClassDef):
            continue
        inside = list(_own(scope))
        bound = [node for node in inside if _binds(node, argument.id)]
        taken = (
            []
            if isinstance(scope, ast.Module)
            else [each.arg for each in ast.walk(scope.args) if isinstance(each, ast.arg)]
        )
        if argument.id in taken and not bound and isinstance(scope, FUNCTIONS):
            return _of_callers(Place(source, MODULE.get(), argument), scope, inside)
        if argument.id in taken or len(bound) > 1:
            return None
        if not bound:
            continue
        value = bound[0].value if isinstance(bound[0], ast.Assign | ast.AnnAssign) else None
        settings = _made(source, value, scopes) if value is not None else None
        if settings is None or any(_hands_on(node, argument.id) for node in inside if node is not call):
            return None
        until = call.lineno if scope is scopes[-1] else None
        return _changed(source, argument.id, scope, inside, settings, until)
    return _of_package(source, scopes[0], argument.id, called=False)


def _of_callers(
    place: Place, function: ast.FunctionDef | ast.AsyncFunctionDef, inside: list[ast.AST]
) -> list[Setting] | None:
    """The settings of a dictionary that a function takes, if its only call hands one on and nothing changes it."""
    name = place.value.id if isinstance(place.value, ast.Name) else ""
    following = FOLLOWING.get(())
    handed = given(place, function, name) if function not in following and len(following) <= DEEPEST else None
    if handed is None or any(_changes(each, name) or _hands_on(each, name) for each in inside if not _makes(each)):
        return None
    around: tuple[Scope, ...] = (handed.tree,)
    own = function_at(handed.tree, handed.value)
    around = (handed.tree, own) if own is not None else around
    with _in_module(handed.tree), while_set(FOLLOWING, (*following, function)):
        at = ast.copy_location(ast.Call(ast.Name("dict"), [handed.value], []), handed.value)
        return _followed(handed.source, at, handed.value, around)


def _makes(node: ast.AST) -> bool:
    """Whether a call makes a producer, which takes the dictionary as it is."""
    return isinstance(node, ast.Call) and _called_name(node) in CLASSES | {*OTHERS}


def _made(source: Text, value: ast.expr, scopes: tuple[Scope, ...]) -> list[Setting] | None:
    """The settings of an expression that makes a dictionary: it is written out, copied, or returned by a function."""
    settings = _literal(source, value, scopes)
    if isinstance(value, ast.DictComp):
        return _of_fields(source, value)
    if settings is not None or not isinstance(value, ast.Call):
        return settings
    name = _called_name(value)
    if name in LOADS and (loaded := _loaded(source)) is not None:
        return loaded
    if name in COPIES and len(value.args) == 1 and not value.keywords:
        return _followed(source, value, value.args[0], scopes)
    if name in OF_ARROYO:
        return _of_arroyo(source, value, scopes)
    return _returned(source, value, name, scopes)


FIELDS: Final = re.compile(
    r"(?:(?:\w+\.)?asdict|vars)\(([\w.]+)\)|([\w.]+)\.(?:__dict__|dict\([^()]*\)|model_dump\([^()]*\))"
)
"""Where a dictionary is made of the fields of an object."""


def _of_fields(source: Text, value: ast.DictComp) -> list[Setting] | None:
    """The settings of an object's fields: `{k.replace("_", "."): v for k, v in asdict(self).items()}`."""
    first = value.generators[0]
    items = first.iter.func if isinstance(first.iter, ast.Call) else None
    over = items.value if isinstance(items, ast.Attribute) and items.attr == "items" else None
    made = (
        FIELDS.fullmatch(ast.unparse(over)) if isinstance(over, ast.expr) and isinstance(first.iter, ast.Call) else None
    )
    names = [getattr(each, "id", "") for each in getattr(first.target, "elts", ())]
    dotted = len(names) == 2 and ast.unparse(value.key) == f"{names[0]}.replace('_', '.')"
    if made is None or len(value.generators) > 1 or not dotted or ast.unparse(_bare(value.value)) != names[1]:
        return None
    owner = ast.parse(made[1] or made[2], mode="eval").body
    for each in ast.walk(owner):
        ast.copy_location(each, value)
    kind = kind_of(Place(source, MODULE.get(), owner))
    keys = {each.replace("_", "."): each for each in fields_of(kind)} if kind is not None else {}
    return [
        _setting(source, key, ast.copy_location(ast.Attribute(owner, name), value))
        for key, name in keys.items()
        if key in producer_keys()
    ] or None


LOADS: Final = frozenset({"load", "loads", "safe_load"})
"""Functions that read a file of JSON, YAML or TOML."""
FILE: Final = re.compile(r"[\w.-][\w./-]*\.(?:json|ya?ml|toml)")


def _of_section(source: Text, argument: ast.Subscript, scopes: tuple[Scope, ...]) -> list[Setting] | None:
    """The settings of a part of a file that a source loads: `settings["kafka"]["producer"]`; None for anything else."""
    path: list[str] = []
    node: ast.expr = argument
    while isinstance(node, ast.Subscript):
        if not isinstance(node.slice, ast.Constant) or not isinstance(node.slice.value, str):
            return None
        path.insert(0, node.slice.value)
        node = node.value
    if isinstance(node, ast.Name):
        value = _only_value(node.id, scopes)
        function = scopes[-1]
        if value is None and isinstance(function, FUNCTIONS):
            return _of_handed_section(Place(source, MODULE.get(), node), function, path)
        node = value if isinstance(value, ast.expr) else node
    if isinstance(node, ast.Call) and PARSERS.search(ast.unparse(node)) and len(path) == 1:
        return section_of_ini(source, path[0])
    loaded = _loaded(source, path) if isinstance(node, ast.Call) and _loads(node) else None
    return loaded if loaded is not None else section_of_loaded(Place(source, MODULE.get(), node), path)


def _loads(call: ast.Call) -> bool:
    """Whether a call loads a file: by a function of a library's, or by one of its own file that returns that."""
    own = _functions(MODULE.get()).get(_called_name(call), ())
    result = result_of(own[0]) if len(own) == 1 and isinstance(call.func, ast.Name) else call
    return isinstance(result, ast.Call) and _called_name(result) in LOADS


def _of_handed_section(
    place: Place, function: ast.FunctionDef | ast.AsyncFunctionDef, path: Sequence[str]
) -> list[Setting] | None:
    """The settings of a part of what the only call of a function hands it: `conf["producer"]` of `loaded["kafka"]`."""
    name = place.value.id if isinstance(place.value, ast.Name) else ""
    following = FOLLOWING.get(())
    handed = given(place, function, name) if function not in following and len(following) <= DEEPEST else None
    if handed is None or not isinstance(handed.value, ast.Name | ast.Subscript):
        return None
    part: ast.expr = handed.value
    for key in path:
        part = ast.copy_location(ast.Subscript(part, ast.copy_location(ast.Constant(key), part)), part)
    own = function_at(handed.tree, handed.value)
    around: tuple[Scope, ...] = (handed.tree, own) if own is not None else (handed.tree,)
    with _in_module(handed.tree), while_set(FOLLOWING, (*following, function)):
        return _of_section(handed.source, part, around) if isinstance(part, ast.Subscript) else None


def _loaded(source: Text, path: Sequence[str] = ()) -> list[Setting] | None:
    """The settings of the only file of JSON, YAML or TOML that a source names, or of a part of it, if it is there and
    has a producer's.
    """
    text = _only_file(source)
    if text is None:
        return None
    table = _parsed_file(text)
    part = table.get(*path) if table is not None and path else table
    settings = flatten(part, text) if isinstance(part, Table) else []
    if not any(each.key in producer_keys() for each in settings):
        return None
    LOADED.get().add(str(Path(text.path).absolute()))
    return settings


def _only_file(source: Text) -> Text | None:
    """The only file of JSON, YAML or TOML that a source names, if it is there."""
    nodes = (each for each in ast.walk(MODULE.get()) if isinstance(each, ast.Constant) and isinstance(each.value, str))
    names = {str(each.value) for each in nodes if FILE.fullmatch(str(each.value)) and ".." not in str(each.value)}
    return next((one for each in names for one in _named_files(source, each)), None) if len(names) == 1 else None


def _parsed_file(text: Text) -> Table | None:
    """What a file of JSON, YAML or TOML has; None if it is damaged. Of TOML no lines are known."""
    if text.file.endswith(".toml"):
        try:
            text = Text(text.path, json.dumps(tomllib.loads(text.content), default=str), name="x.json")
        except ValueError:
            return None
        table = next(iter(read_json(text).nodes), None)
        return _without_lines(table) if isinstance(table, Table) else None
    documents = read_yaml(text) if text.file.endswith((".yml", ".yaml")) else read_json(text)
    table = documents.nodes[0] if documents.nodes else None
    return table if isinstance(table, Table) else None


def _without_lines(table: Table) -> Table:
    items = [(name, _without_lines(each) if isinstance(each, Table) else each) for name, _, each in table.items]
    return Table(tuple((name, None, each) for name, each in items), None)


def _named_files(source: Text, name: str) -> Iterator[Text]:
    """The files of a name beside a source, and one directory above; in the directory too that stands before it, as in
    `Path(__file__).parent / "config" / "kafka.yml"`.
    """
    joined = re.search(rf"((?:[\"'][\w.-]+[\"']\s*[/,]\s*){{1,5}})[\"']{re.escape(name)}[\"']", source.content)
    below = Path(*re.findall(r"[\w.-]+", joined[1])) if joined else Path()
    for folder in Path(source.path).absolute().parents[: 3 if joined else 2]:
        for place in dict.fromkeys((folder / below / name, folder / name)):
            if (found := text_of(place)) is not None:
                yield found


LOADED: Final[ContextVar[set[str]]] = ContextVar("LOADED")
"""The files that a source loads its settings from, by their whole path."""


def _called_name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _of_arroyo(source: Text, call: ast.Call, scopes: tuple[Scope, ...]) -> list[Setting] | None:
    """What arroyo's functions make of a dictionary and of one that stands above it."""
    names = ("default_config", "bootstrap_servers", "override_params")
    given = dict(zip(names, call.args, strict=False)) | {word.arg: word.value for word in call.keywords if word.arg}
    found: list[Setting] = []
    for each in (given.get("default_config"), given.get("override_params")):
        if each is None or (isinstance(each, ast.Constant) and each.value is None):
            continue
        below = _followed(source, call, each, scopes)
        if below is None:
            return None
        found += below
    return found


def _returned(source: Text, call: ast.Call, name: str, scopes: tuple[Scope, ...]) -> list[Setting] | None:
    """The settings of what a function of the program returns; None if it cannot be followed."""
    outer: tuple[Scope, ...] = scopes[:1]
    if isinstance(call.func, ast.Attribute):
        if getattr(call.func.value, "id", "") not in ("self", "cls"):
            own = _of_method(source, call.func, scopes) if scopes else None
            own = own or _of_objects_method(source, call.func)
            return own or (_of_attribute(source, scopes[0], call.func, called=True) if scopes else None)
        outer = scopes[: max((at + 1 for at, each in enumerate(scopes) if isinstance(each, ast.ClassDef)), default=0)]
    if not outer:
        return None
    heir = HEIR.get() if isinstance(outer[-1], ast.ClassDef) else None
    if heir is not None and (instead := method_of(heir, name)) is not None:
        return _of_heirs_method(heir, instead)
    functions = _functions(outer[-1]).get(name, ())
    if len(functions) == 1:
        return _of_function(source, functions[0], outer)
    return _of_package(source, scopes[0], name, called=True) if not functions and len(outer) == 1 else None


def _of_heirs_method(heir: Kind, method: ast.FunctionDef | ast.AsyncFunctionDef) -> list[Setting] | None:
    """The settings of what a method returns of the class that inherits from the one that makes the producer."""
    with _in_module(heir.tree), while_set(HEIR, None):
        return _of_function(heir.source, method, (heir.tree, heir.owner))


def _of_method(source: Text, function: ast.Attribute, scopes: tuple[Scope, ...]) -> list[Setting] | None:
    """The settings of what a method returns of an object whose class is told: by the annotation of a parameter, or
    where a name is bound to the only one that is made.
    """
    name = getattr(function.value, "id", "")
    owner = next(filter(None, (_class_of(name, scope) for scope in reversed(scopes))), "")
    node, original = imports(scopes[0]).get(owner, (None, owner))
    home = source if node is None else module_of(source, node)
    tree = scopes[0] if node is None else None if home is None else _module_tree(home)
    found = [each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == original] if tree else []
    methods = _functions(found[0]).get(function.attr, ()) if len(found) == 1 else ()
    if not owner or home is None or not isinstance(tree, ast.Module) or len(methods) != 1:
        return None
    with _in_module(tree):
        return _of_function(home, methods[0], (tree, found[0]))


def _of_objects_method(source: Text, function: ast.Attribute) -> list[Setting] | None:
    """The settings of what a method returns of an object whose class is told anywhere: `settings.kafka.producer()`."""
    kind = kind_of(Place(source, MODULE.get(), function.value))
    methods = _functions(kind.owner).get(function.attr, ()) if kind is not None else ()
    if kind is None or len(methods) != 1:
        return None
    with _in_module(kind.tree):
        return _of_function(kind.source, methods[0], (kind.tree, kind.owner))


def _class_of(name: str, scope: Scope) -> str:
    """The class of what a name is in a scope, as far as that is written there; empty if it is not."""
    if isinstance(scope, FUNCTIONS):
        told = [each.annotation for each in ast.walk(scope.args) if isinstance(each, ast.arg) and each.arg == name]
        if told and told[0] is not None:
            return told[0].id if isinstance(told[0], ast.Name) else ""
    value = _only_value(name, (scope,))
    return value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""


def _module_tree(source: Text) -> ast.Module | None:
    """The tree of another file; None if it is not Python."""
    try:
        return ast.parse(source.content)
    except (SyntaxError, RecursionError, ValueError, MemoryError):
        return None


@lru_cache(maxsize=8)
def _functions(scope: Scope) -> dict[str, tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]]:
    """The functions of a module or class, by their names."""
    found: dict[str, tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]] = {}
    for each in scope.body:
        if isinstance(each, FUNCTIONS):
            found[each.name] = (*found.get(each.name, ()), each)
    return found


def _of_function(
    source: Text, function: ast.FunctionDef | ast.AsyncFunctionDef, outer: tuple[Scope, ...]
) -> list[Setting] | None:
    """The settings of the one thing that a function returns, beside None."""
    following = FOLLOWING.get(())
    returned = [each for each in _own(function) if isinstance(each, ast.Return) and each.value is not None]
    values = [each for each in returned if not (isinstance(each.value, ast.Constant) and each.value.value is None)]
    if len(values) != 1 or function in following or len(following) > DEEPEST:
        return None
    value = values[0].value
    assert value is not None
    # Where the call stands decides what has been put in before it: here, the return.
    at = ast.copy_location(ast.Call(ast.Name("return"), [], []), values[0])
    with while_set(FOLLOWING, (*following, function)):
        return _followed(source, at, value, (*outer, function))


def _of_package(source: Text, module: Scope, name: str, *, called: bool) -> list[Setting] | None:
    """The settings of a dictionary, or of what a function returns, that a file imports from its own package."""
    node, original = imports(module).get(name, (None, ""))
    if node is None or (not called and any(_hands_on(each, name) or _changes(each, name) for each in ast.walk(module))):
        return None
    return _of_file(module_of(source, node), original, called=called)


def _of_attribute(source: Text, module: Scope, node: ast.Attribute, *, called: bool) -> list[Setting] | None:
    """The settings of a dictionary, or of what a function returns, of a module that a file imports: `config.KAFKA`."""
    if not isinstance(node.value, ast.Name):
        return None
    return _of_file(module_named(source, module, node.value.id), node.attr, called=called)


def _of_file(other: Text | None, name: str, *, called: bool) -> list[Setting] | None:
    """The settings of a dictionary, or of what a function returns, of another file."""
    tree = _module_tree(other) if other is not None else None
    if other is None or tree is None:
        return None
    with _in_module(tree):
        if not called:
            maps = BOUND.get()
            return _literal(other, maps[name]) if name in maps else None
        functions = _functions(tree).get(name, ())
        return _of_function(other, functions[0], (tree,)) if len(functions) == 1 else None


def _changes(node: ast.AST, name: str) -> bool:
    """Whether a node changes the dictionary of a name."""
    if isinstance(node, ast.Call):
        return _method(node, name) not in {"", *READS}
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store | ast.Del)
        and getattr(node.value, "id", "") == name
    )


def _only_asks(call: ast.Call, scope: Scope) -> bool:
    """Whether a producer is only there to ask which topics there are, or whether brokers answer."""
    if isinstance(scope, ast.Module):
        return False
    inside = list(_own(scope))
    if any(isinstance(each, ast.Attribute) and each.value is call and each.attr in ASKS for each in inside):
        return True
    names = [
        each.targets[0].id
        for each in inside
        if isinstance(each, ast.Assign) and each.value is call and isinstance(each.targets[0], ast.Name)
    ]
    if not names:
        return False
    asked = [each for each in inside if isinstance(each, ast.Attribute) and getattr(each.value, "id", "") == names[0]]
    used = [each for each in inside if isinstance(each, ast.Name) and each.id == names[0]]
    does = {each.attr for each in asked}
    return len(used) == len(asked) + 1 and does <= ASKS and bool(does & {"list_topics", "stop", "close"})


def _of_object(source: Text, name: str, scopes: tuple[Scope, ...]) -> list[Setting] | None:
    """The settings of a dictionary that an object keeps (`self.NAME`), if it is bound once and nothing changes it."""
    owner = next((each for each in reversed(scopes) if isinstance(each, ast.ClassDef)), None)
    if owner is None:
        return None

    def is_it(node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Attribute) and node.attr == name and getattr(node.value, "id", "") in ("self", "cls")
        )

    bound: list[ast.expr] = []
    for node in ast.walk(owner):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bound += [node.value for each in targets if is_it(each) and node.value is not None]
            if any(isinstance(each, ast.Subscript) and is_it(each.value) for each in targets):
                return None
        elif isinstance(node, ast.Call):
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if isinstance(node.func, ast.Attribute) and is_it(node.func.value) and function not in READS:
                return None
            if function not in HARMLESS and any(is_it(each) for each in node.args):
                return None
    return _made(source, bound[0], scopes) if len(bound) == 1 else None


def _of_class(source: Text, argument: ast.Attribute) -> list[Setting] | None:
    """The settings of a dictionary that a class has as a field, or the class that inherits from it: `options = {…}`."""
    place = Place(source, MODULE.get(), argument)
    further = stands_for(place)
    if further is None or not isinstance(further.value, ast.Dict | ast.Call | ast.BinOp):
        return None
    if class_at(further.tree, further.value) is None or function_at(further.tree, further.value) is not None:
        return None  # what a method binds it to
    if _is_changed(further, argument.attr):
        return None
    with _in_module(further.tree):
        return _literal(further.source, further.value, (further.tree,))


def _is_changed(place: Place, name: str) -> bool:
    """Whether a file changes what a field of its classes has: `self.options["acks"] = 1`, `X.options.update(…)`."""
    return any(
        isinstance(each, ast.Attribute | ast.Subscript)
        and isinstance(each.value, ast.Attribute)
        and each.value.attr == name
        and (isinstance(each.ctx, ast.Store) or getattr(each, "attr", "") in ("update", "pop", "setdefault", "clear"))
        for each in ast.walk(place.tree)
    )


def _own(scope: Scope) -> Iterator[ast.AST]:
    """The nodes of a scope in the order of the source, without those of scopes inside it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _own(child)  # type: ignore[arg-type]


def _only_value(name: str, scopes: Sequence[Scope]) -> Any:
    """What a name is bound to in scopes that bind it once; None if they bind it otherwise, or to no value."""
    bound = [each for scope in scopes for each in _own(scope) if _binds(each, name)]
    return getattr(bound[0], "value", None) if len(bound) == 1 else None


def _binds(node: ast.AST, name: str) -> bool:
    """Whether a statement binds a name, other than by changing what it holds."""
    if isinstance(node, ast.Assign):
        targets: list[ast.expr] = node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.For | ast.NamedExpr):
        targets = [node.target]
    elif isinstance(node, ast.With):
        targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
    else:
        return False
    return any(isinstance(each, ast.Name) and each.id == name for target in targets for each in _names(target))


def _names(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        for each in target.elts:
            yield from _names(each)
    else:
        yield target


def _hands_on(node: ast.AST, name: str) -> bool:
    """Whether a call is given the dictionary of a name, and may change it."""
    if not isinstance(node, ast.Call):
        return False
    function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    given = [*node.args, *(word.value for word in node.keywords if word.arg is not None)]
    return function not in HARMLESS and any(isinstance(each, ast.Name) and each.id == name for each in given)


def _changed(
    source: Text, name: str, scope: Scope, inside: list[ast.AST], settings: list[Setting], until: int | None
) -> list[Setting] | None:
    """Settings with the changes that a scope makes to the dictionary of a name before a line; None if it makes others.

    A change that is made only under a condition leaves its value unknown.
    """
    always = {id(one) for statement in _done(scope.body) for one in (statement, getattr(statement, "value", None))}
    for node in inside:
        more: list[Setting] | None = []
        if until is not None and getattr(node, "lineno", 0) > until:
            break
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name:
                    key = target.slice.value if isinstance(target.slice, ast.Constant) else None
                    more = [_setting(source, key, node.value)] if isinstance(key, str) else None
        elif isinstance(node, ast.Call) and (method := _method(node, name)) not in {"", *READS}:
            plain = method == "update" and len(node.args) == 1 and not node.keywords
            more = _literal(source, node.args[0]) if plain else None
            around: tuple[Scope, ...] = (MODULE.get(), scope) if scope is not MODULE.get() else (scope,)
            if plain and more is None and isinstance(node.args[0], ast.Subscript):
                more = _of_section(source, node.args[0], around[::-1])
            elif plain and more is None and isinstance(node.args[0], ast.Name):
                more = _followed(source, node, node.args[0], around)
        if more is None:
            return None
        sure = id(node) in always
        settings = [*settings, *(each if sure else dataclasses.replace(each, known=False) for each in more)]
    return settings


def _done(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that are done in any case: those of a `with` too, and what a program does that is called."""
    for each in body:
        yield each
        if isinstance(each, ast.With | ast.AsyncWith | ast.Try) or (
            isinstance(each, ast.If) and ast.unparse(each.test) == "__name__ == '__main__'"
        ):
            yield from _done(each.body)


def _method(call: ast.Call, name: str) -> str:
    """Which method of what a name holds is called; empty if it is no such call."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return call.func.attr if isinstance(call.func, ast.Attribute) and getattr(owner, "id", "") == name else ""


def _literal(source: Text, node: ast.expr, scopes: tuple[Scope, ...] = ()) -> list[Setting] | None:
    """The settings of a dictionary with constant keys: `{…}`, `dict(…)`, `base | {…}`; None for anything else. What
    another dictionary in it sets is followed too, and else it is unknown what that sets of what decides.
    """
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _within(source, node.left, scopes) + _within(source, node.right, scopes)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        if len(node.args) > 1 or (node.args and not node.keywords):
            return None
        found = [one for each in node.args for one in _within(source, each, scopes)]
        for word in node.keywords:
            found += [_setting(source, word.arg, word.value)] if word.arg else _within(source, word.value, scopes)
        return found
    if not isinstance(node, ast.Dict):
        return None
    found = []
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            found += _within(source, value, scopes)
            continue
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            return None
        if key.value == "default.topic.config":
            below = _literal(source, value, scopes)
            if below is None:
                return None
            found += below
        else:
            found.append(_setting(source, key.value, value))
    return found


def _within(source: Text, value: ast.expr, scopes: tuple[Scope, ...], prefix: str = "") -> list[Setting]:
    """The settings of a dictionary that another one begins with, or has in it; what decides, with a prefix, is unknown
    if it cannot be followed.
    """
    bound_here = BOUND.get({}).get(value.id) if isinstance(value, ast.Name) else None
    if bound_here is not None:
        found = _literal(source, bound_here)
    else:
        at = ast.copy_location(ast.Call(ast.Name("dict"), [], []), value)
        found = _followed(source, at, value, scopes or (MODULE.get(),))
    if found is not None:
        return found
    if is_never_given(Place(source, MODULE.get(), value)):
        return []
    return [Setting(prefix + key, UNKNOWN, source.origin(value.lineno), known=False) for key in DECISIVE]


def _setting(source: Text, key: str, value: ast.expr) -> Setting:
    place = _final(Place(source, MODULE.get(), value))
    flask = of_flask(dataclasses.replace(place, value=_bare(place.value)))
    place = place if flask is None else _final(flask)
    source, value = place.source, place.value
    line = value.lineno
    text = _constant(value)
    if text is not None:
        return Setting(key, text, source.origin(line))
    variable, default = _variable(value)
    if not variable and (asked := variable_of_helper(_bare(value), place.tree)) is not None:
        variable, default = asked[0], _constant(asked[1]) if asked[1] is not None else None
    if not variable:
        told, beside = of_loaded_file(dataclasses.replace(place, value=_bare(value)))
        if told is not None:
            return Setting(key, told.value if told.known else UNKNOWN, source.origin(line), known=told.known)
        given = _constant(beside) if beside is not None else None
        return Setting(key, given or "(an expression)", source.origin(line), known=given is not None)
    return Setting(key, f"${{{variable}}}" if default is None else f"${{{variable}:{default}}}", source.origin(line))


def _bare(value: ast.expr) -> ast.expr:
    """A value without conversions."""
    while isinstance(value, ast.Call) and ast.unparse(value.func) in ("int", "str", "bool") and len(value.args) == 1:
        value = value.args[0]
    return value


STEPS: Final = 8
"""How often what stands for an expression is followed further."""


def _final(place: Place) -> Place:
    """What an expression stands for in the end: a constant, a variable of the environment, or what is not told."""
    for _ in range(STEPS):
        value = place.value
        if isinstance(value, ast.Call) and ast.unparse(value.func) in ("int", "str") and len(value.args) == 1:
            inner = value.args[0]
            if not isinstance(inner, ast.Name | ast.Attribute):
                return place
            place = dataclasses.replace(place, value=inner)
            continue
        if not isinstance(value, ast.Name | ast.Attribute):
            return place
        source, told = bound(place.source, place.tree, value)
        if told is not value:
            tree = place.tree if source is place.source else tree_of(source)
            place = Place(source, tree if tree is not None else place.tree, told)
        elif (further := stands_for(place)) is not None:
            place = further
        elif (default := option_of(place)) is not None:
            place = dataclasses.replace(place, value=default)
        else:
            return place
    return place


def _constant(value: ast.expr) -> str | None:
    sign = ""
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        sign, value = "-", value.operand
    if not isinstance(value, ast.Constant) or not isinstance(value.value, str | int | float | bool):
        return None
    return sign + (str(value.value).lower() if isinstance(value.value, bool) else str(value.value))


def _variable(value: ast.expr) -> tuple[str, str | None]:
    """The environment variable that an expression reads, and its default; ("", None) if it reads none."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) in ("int", "str") and len(value.args) == 1:
        return _variable(value.args[0])
    if isinstance(value, ast.BoolOp) and isinstance(value.op, ast.Or) and len(value.values) == 2:
        variable, default = _variable(value.values[0])
        return (variable, _constant(value.values[1])) if variable and default is None else ("", None)
    if isinstance(value, ast.Subscript) and ast.unparse(value.value) in ("os.environ", "environ"):
        return (str(value.slice.value), None) if isinstance(value.slice, ast.Constant) else ("", None)
    if isinstance(value, ast.Call) and ast.unparse(value.func) in (
        "os.environ.get",
        "environ.get",
        "os.getenv",
        "getenv",
    ):
        names = [each.value for each in value.args[:1] if isinstance(each, ast.Constant)]
        default = _constant(value.args[1]) if len(value.args) > 1 else None
        return (str(names[0]), default) if names else ("", None)
    return "", None


def _read_notebook(source: Text, reading: Collected) -> bool:
    """Read the code of a Jupyter notebook, each line in the file's own."""
    nodes = read_json(source).nodes
    cells = nodes[0].get("cells") if nodes and isinstance(nodes[0], Table) else None
    lines: list[str] = []
    for cell in cells.items if isinstance(cells, Listing) else ():
        if not isinstance(cell, Table) or cell.text("cell_type") != "code":
            continue
        code = cell.get("source")
        parts = code.items if isinstance(code, Listing) else (code,)
        for each in (part for part in parts if isinstance(part, Scalar)):
            for text in each.text.splitlines():
                lines += [""] * ((each.line or 1) - 1 - len(lines))
                lines.append("" if text.lstrip().startswith(("%", "!")) else text)
    return read_python(dataclasses.replace(source, content="\n".join(lines) + "\n"), reading)


FORMATS: Final = (
    Format(
        name="Jupyter notebooks",
        reads="their code, as Python",
        files=("*.ipynb",),
        rank=21,
        whole=True,
        claims=lambda document: document.file.endswith(".ipynb"),
        read=lambda document, reading: _read_notebook(document.source, reading) or True,
    ),
    Format(
        name="Python sources",
        reads="the dictionary that is handed to a producer of confluent-kafka; what producers of kafka-python and "
        "aiokafka are called with; pykafka, Faust, quixstreams and bytewax; options of PySpark's sinks; PyFlink's "
        "sinks, and its tables in SQL",
        files=("*.py",),
        rank=20,
        whole=True,
        claims=lambda document: document.file.endswith(".py"),
        read=lambda document, reading: read_python(document.source, reading) or True,
    ),
)
