"""Producers in source: Java, Kotlin, Scala, Go, C#, JavaScript, TypeScript and Rust, parsed by tree-sitter, never run.

A *maker* is where a producer is made (`new KafkaProducer`, `sarama.NewSyncProducer`, `kafka.producer({…})`). It is
set to the settings that are put into a map in the same function, in a function that is called in its arguments, or
in a value named there. Values that are written out count, constants of the same file, `@Value("${…}")` and the
environment's variables; every other value is told as unknown, and so is one that is set only under a condition.

Where a program makes the producer that a framework's file configures (Spring's `DefaultKafkaProducerFactory`, or
`Properties.load`), the source decides: `settle` puts what it sets above what the file says, with its line. So it does
with what a customizer of Boot's or of Spring Cloud Stream's puts into the factory that these make. A map of the
program's own (without `buildProducerProperties`) replaces what the file says. A producer whose settings are not in its
own file is told as unknown if its module has no other: a file that is loaded there is then the configuration.

Tests (`src/test`, `_test.go`, `*.spec.ts`) are passed over: they configure nothing that runs.
"""

from __future__ import annotations

import dataclasses
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from audit.model import Client, Origin, ProducerConfig, Setting
from audit.readers import calls
from audit.readers.asked import asked_of
from audit.readers.collect import Collected
from audit.readers.creates import TEMPLATES, sent_by_templates, topics_of_beans, topics_of_go
from audit.readers.fields import of_dotnet, of_file, of_jvm, of_module, of_rust, of_scala, of_script, path_of
from audit.readers.flink import SENDS as SQL_RUNS
from audit.readers.flink import pieces_of, placed, read_sql
from audit.readers.format import Document, Format
from audit.readers.keyed import asked_for_topics, said_in
from audit.readers.names import java_constants, producer_keys, relaxed, squeezed
from audit.readers.node import configured
from audit.readers.placeholders import Lookup, resolved
from audit.readers.properties import named_properties
from audit.readers.releases import module_of as module_of_build
from audit.readers.scripts import (
    arguments_of,
    callers,
    imported,
    module_of,
    object_of,
    of_environment,
    passed,
    returned_object,
)
from audit.readers.sends import Send, of_clients, sends_of
from audit.readers.structs import of_go
from audit.readers.text import Text, Unreadable
from audit.readers.walk import LARGEST

LANGUAGES: Final[Mapping[str, tuple[str, str]]] = {
    "java": ("tree_sitter_java", "language"),
    "kt": ("tree_sitter_kotlin", "language"),
    "kts": ("tree_sitter_kotlin", "language"),
    "scala": ("tree_sitter_scala", "language"),
    "go": ("tree_sitter_go", "language"),
    "cs": ("tree_sitter_c_sharp", "language"),
    "js": ("tree_sitter_javascript", "language"),
    "mjs": ("tree_sitter_javascript", "language"),
    "cjs": ("tree_sitter_javascript", "language"),
    "ts": ("tree_sitter_typescript", "language_typescript"),
    "rs": ("tree_sitter_rust", "language"),
}
"""The grammar of each kind of file, by the end of its name."""
MAKES: Final = re.compile(
    r"KafkaProducer\b|DefaultKafkaProducerFactory|SenderOptions|sarama\.New|kafka\.(?:New)?Writer|kgo\.NewClient"
    r"|NewProducer\(|ProducerConfig\b|ProducerBuilder<|kafkajs|node-rdkafka|segmentio/kafka-go|confluentinc/kafka-javascript"
    r"|kafka-node|platformatic/kafka"
    r"|Transport\.KAFKA|\bProducerSettings\b|KafkaSink\b|FlinkKafkaProducer|io\.vertx\.kafka|new KafkaStreams\b"
    r"|ProducerConfigCustomizer|ClientFactoryCustomizer|ProducerFactoryCustomizer"
    r"|kafka::producer|\.AddProducer[<(]|watermill-kafka|kafkapubsub|DotNetCore\.CAP|AddKafkaProducer|Wolverine\.Kafka|createWriteStream|lovoo/goka"
    r"|new KafkaTemplate|[=(]\s*KafkaTemplate\(|\bKafkaBolt\b|\bKafkaIO\b"
    r"|new_producer_config|@KafkaClient\b|\.write(?:Stream)?\b|rdkafka|(?i:kafka)\w*\.producer\(|\"kafka:"
)
TESTS: Final = re.compile(
    r"(?:^|/)src/(?:test|testFixtures|integrationTest|acceptance-?[tT]est|it|jmh)/|(?:^|/)__tests__/|_test\.go$"
    r"|(?:^|/)(?:[\w.]+\.)?(?:Unit|Integration)?[Tt]ests?/(?:(?!src/)[^/]+/)*[^/]+\.cs$"
    r"|(?:Tests?|IT|Spec)\.(?:java|kt|scala|cs)$"
    r"|\.(?:test|spec)\.[cm]?[jt]s$|(?:^|/)(?:tests|benches)/(?:(?!src/)[^/]+/)*[^/]+\.rs$"
)
FUNCTIONS: Final = frozenset(
    {
        "method_declaration",
        "constructor_declaration",
        "function_declaration",
        "function_definition",
        "method_definition",
        "secondary_constructor",
        "function_item",
        "local_function_statement",
        "func_literal",
        "anonymous_initializer",
    }
)
DECLARES: Final = frozenset(
    {
        "variable_declarator",
        "property_declaration",
        "val_definition",
        "var_definition",
        "short_var_declaration",
        "const_spec",
        "var_spec",
        "let_declaration",
        "const_item",
    }
)
CONDITIONS: Final = frozenset(
    {
        "if_statement",
        "if_expression",
        "switch_statement",
        "expression_switch_statement",
        "type_switch_statement",
        "select_statement",
        "switch_expression",
        "when_expression",
        "match_expression",
        "ternary_expression",
        "conditional_expression",
        "for_statement",
        "while_statement",
        "catch_clause",
    }
)
CALLS: Final = frozenset({"method_invocation", "call_expression", "invocation_expression"})
IMPLICIT: Final = "implicit_object_creation_expression"
"""`new()` of C#, whose type is what it is assigned to."""
CREATES: Final = frozenset(
    {"object_creation_expression", "instance_expression", "new_expression", "composite_literal", IMPLICIT}
)
STRINGS: Final = frozenset(
    {
        "string_literal",
        "string",
        "interpreted_string_literal",
        "raw_string_literal",
        "template_string",
        "line_string_literal",
    }
)
IF_ABSENT: Final = "putIfAbsent"
PUTS: Final = frozenset(
    {
        "put",
        IF_ABSENT,
        "setProperty",
        "property",
        "producerProperty",
        "withProducerProperty",
        "withProperty",
        "addOne",
        "Set",
        "set",
        "SetKey",
        "of",
        "entry",
    }
)
DEEPEST: Final = 400
MOST: Final = 100
"""Producers of one file that are told: each is looked up in the whole file."""
UNKNOWN: Final = "(not in this file)"
LONGEST: Final = 200
"""Characters of the longest expression that is followed."""
DECISIVE: Final = ("acks", "enable.idempotence", "retries")
SPREAD: Final = "(what another object has)"
SCRIPTS: Final = ("js", "mjs", "cjs", "ts")
SPRING: Final = frozenset({"DefaultKafkaProducerFactory", "SenderOptions"})
ASKING: Final = SPRING | {"KafkaProducer"}
"""Makers whose settings a program may ask its own file for."""
CUSTOMIZERS: Final[Mapping[str, str]] = {
    "ProducerConfigCustomizer": "spring-cloud-stream",
    "ClientFactoryCustomizer": "spring-cloud-stream",
    "DefaultKafkaProducerFactoryCustomizer": "spring",
}
"""Beans that change what a framework makes its producers with."""
CHAINED: Final = frozenset(
    {
        "ProducerSettings",
        "KafkaSink",
        "KafkaBolt",
        "beam",
        "rdkafka",
        "spark",
        "vert.x",
        "fs2",
        "zio",
        "kafka-rust",
    }
)
"""Makers that are the first of a chain of calls, in which settings are."""
LINKS: Final = CALLS | {"field_expression", "navigation_expression", "member_expression", "selector_expression"}
OF_NODE: Final = frozenset({"Producer", "HighLevelProducer"})
OF_RUST: Final = ("rdkafka", "arroyo", "handed")
RDKAFKA: Final = frozenset({"FutureProducer", "BaseProducer", "ThreadedProducer"})
Node = Any
"""A node of tree-sitter's, whose package has no types of its own that hold across releases."""


@dataclass(frozen=True, slots=True)
class _Value:
    text: str
    known: bool = True
    expression: str = field(default="", compare=False)
    """What stands in the source, if that is not known by itself."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """One setting that is made, and where: the function, and the variable that it is put into."""

    key: str
    value: _Value
    line: int
    scope: str
    owner: str
    sure: bool
    start: int
    other: Text | None = None
    """The file that it is in, if it is another one than the maker's."""
    case: tuple[str, tuple[str, ...]] = ("", ())
    """In Go, in a case of a `switch`: what is asked, and the texts of the case; empty for all others."""
    branch: tuple[int, int] | None = None
    """Where the branch of a condition begins and ends that it stands in."""


@dataclass(frozen=True, slots=True)
class _Maker:
    kind: str
    line: int
    scope: str
    start: int
    end: int
    names: frozenset[str]
    """The identifiers in its arguments."""
    text: str


@dataclass(slots=True)
class _SourceWalk:
    """What a walk over a tree gathers."""

    source: Text
    language: str
    pairs: list[_Pair] = field(default_factory=list)
    makers: list[_Maker] = field(default_factory=list)
    constants: dict[str, _Value] = field(default_factory=dict)
    scopes: dict[str, str] = field(default_factory=dict)
    """The text of each function, by its name."""
    owners: frozenset[str] = frozenset()
    """The maps that are filled in the file."""
    fillers: frozenset[str] = frozenset()
    """The functions that fill them."""
    classes: frozenset[str] = frozenset()
    """The functions of other classes' that were looked into: `Settings.producer`."""
    merges: tuple[tuple[str, re.Match[str]], ...] = ()
    """Where a map is put into another one: the function, and the call in its text."""
    encoded: bytes = b""
    """The source as nodes count it: their places are those of bytes."""
    assigned: frozenset[str] = frozenset()
    """What a script's producers are assigned to."""
    sends: tuple[tuple[int, str], ...] = ()
    """Where a script sends, up to which byte, and with what."""
    brought: set[int] = field(default_factory=set)
    """Where producers are made with a map of which the only caller of their function is known."""
    taken: set[str] = field(default_factory=set)
    """The files of settings that values were found in, by their whole paths."""


@dataclass(frozen=True, slots=True)
class Made:
    """A producer that a program makes: what settles whether it is one of its own."""

    producer: ProducerConfig
    kind: str
    fresh: bool
    """Whether the program's own map replaces what a framework's file says."""
    loads: bool
    """Whether it loads a file."""
    followed: bool
    content: str = field(default="", repr=False)
    """Of its source, which may name the file."""
    files: frozenset[str] = frozenset()
    """The files of settings that its values are from, by their whole paths."""


@cache
def _parser(language: str) -> Any:
    """A parser; None if the grammar is not installed."""
    module, function = LANGUAGES[language]
    try:
        sitter = import_module("tree_sitter")
        return sitter.Parser(sitter.Language(getattr(import_module(module), function)()))
    except ImportError:
        return None


def _text(node: Node) -> str:
    return str(node.text.decode(errors="replace"))


def _named(node: Node, *kinds: str) -> list[Node]:
    return [each for each in node.named_children if each.type in kinds]


def _walk(node: Node) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """Every named node with its ancestors, in the order of the source."""
    todo: list[tuple[Node, tuple[Node, ...]]] = [(node, ())]
    while todo:
        each, above = todo.pop()
        yield each, above
        if len(above) < DEEPEST:
            todo += [(child, (*above, each)) for child in reversed(each.named_children)]


def _name_of(node: Node) -> str:
    named = node.child_by_field_name("name") or node.child_by_field_name("pattern") or node.child_by_field_name("left")
    if named is None:
        found = _named(node, "variable_declaration", "identifier", "simple_identifier")
        named = found[0] if found else None
    return re.match(r"\w*", _text(named).strip())[0] if named is not None else ""  # type: ignore[index]


def _scope(above: Sequence[Node]) -> str:
    return next((f"{_name_of(each)}@{each.start_byte}" for each in reversed(above) if each.type in FUNCTIONS), "")


def _owner(above: Sequence[Node]) -> str:
    for each in reversed(above):
        if each.type in DECLARES:
            return _name_of(each)
        if each.type in FUNCTIONS:
            return ""
    return ""


HEADS_OF_IF: Final = frozenset({"initializer", "condition", "value"})
"""What of a condition is done in any case: in Go, `if err := config.SetKey("acks", 1); err != nil`."""


CASES: Final = re.compile(r"case|entry|arm$|section|group|rule")
"""Nodes of the cases of a `switch`, a `when` or a `match`, which may stand in a block."""


def _branch(above: Sequence[Node], inner: Node) -> tuple[int, int] | None:
    """Where the innermost branch of a condition begins and ends in which a node stands; None if it is in none."""
    below, inside = inner, inner
    for each in reversed(above):
        if each.type in FUNCTIONS:
            return None
        if each.type in CONDITIONS and not _is_head(each, below):
            part = inside if CASES.search(inside.type) and not CASES.search(below.type) else below
            return part.start_byte, part.end_byte
        below, inside = each, below
    return None


def _is_head(condition: Node, part: Node) -> bool:
    """Whether a part of a condition is what it asks."""
    for name in HEADS_OF_IF if condition.type in IFS else ():
        head = condition.child_by_field_name(name)
        if head is not None and (head.start_byte, head.end_byte) == (part.start_byte, part.end_byte):
            return True
    return False


IFS: Final = frozenset({"if_statement", "if_expression"})


def _string(node: Node) -> str | None:
    if node.type in STRINGS:
        text = _text(node)
        return None if "${" in text and node.type == "template_string" else text.strip("\"'`").removeprefix('@"')
    return None


WRITTEN: Final[Mapping[str, str]] = {
    "Integer.MAX_VALUE": "2147483647",
    "Int.MAX_VALUE": "2147483647",
    "Int.MaxValue": "2147483647",
    "int.MaxValue": "2147483647",
    "math.MaxInt32": "2147483647",
    "sarama.WaitForAll": "all",
    "sarama.WaitForLocal": "1",
    "sarama.NoResponse": "0",
    "kafka.RequireAll": "all",
    "kafka.RequireOne": "1",
    "kafka.RequireNone": "0",
    "Acks.All": "all",
    "Acks.Leader": "1",
    "Acks.None": "0",
    "Acks.One": "1",
    "Acks.Zero": "0",
    "ProduceAcks.ALL": "all",
    "ProduceAcks.LEADER": "1",
    "ProduceAcks.NO_RESPONSE": "0",
    "kgo.AllISRAcks()": "all",
    "kgo.LeaderAck()": "1",
    "kgo.NoAck()": "0",
    "RequiredAcks::All": "all",
    "RequiredAcks::One": "1",
    "RequiredAcks::None": "0",
}


ASKED: Final = re.compile(
    r"[\w.]+\.(?:getString|getInt|getLong|getBoolean|getProperty|getRequiredProperty|getValue)"
    r"\(\s*\"([\w.-]+)\"\s*(?:,\s*[\w.]+(?:\.class|::class(?:\.java)?)\s*)?(?:,\s*(?:\"([^\"]*)\"|(-?\d+|true|false))\s*)?\)"
    r"(?:\s*\?:\s*\"([^\"]*)\")?"
)
"""What a program asks the settings of its own for, by their name in its files, and the default."""
OF_KTOR: Final = re.compile(
    r"[\w.]+\.property(?:OrNull)?\(\s*\"([\w.-]+)\"\s*\)\??\.getString\(\)(?:\s*\?:\s*\"([^\"]*)\")?"
)
OF_NAME: Final = re.compile(r"(?:\w+\.)?(?:RequiredAcks|int\d*|Itoa|Number|parseInt)\(\s*(\w+)\s*(?:,\s*10\s*)?\)")
"""A conversion of what a name stands for."""
AS_TEXT: Final = re.compile(
    r"(?:String\.valueOf|Integer\.toString|Int\.box|Integer\.valueOf)\((.+)\)|(.+?)\.toString(?:\(\))?", re.DOTALL
)


def _asked(text: str) -> _Value | None:
    """What a program of the JVM's asks its settings for, as a placeholder."""
    inner = AS_TEXT.fullmatch(text) if len(text) < LONGEST else None
    text = (inner[1] or inner[2]).strip() if inner else text
    found = ASKED.fullmatch(text) or OF_KTOR.fullmatch(text)
    if found is None:
        return None
    default = next((each for each in found.groups()[1:] if each is not None), None)
    return _Value(f"${{{found[1]}}}" if default is None else f"${{{found[1]}:{default}}}")


def _value(node: Node, constants: Mapping[str, _Value]) -> _Value:
    """What an expression is, as far as it is written out."""
    while (
        node.type in ("value_argument", "argument", "literal_element", "parenthesized_expression")
        and node.named_child_count
    ):
        node = node.named_children[-1]
    while node.type == "ascription_expression":  # `0: Integer`
        node = node.named_children[0]
    if (text := _string(node)) is not None:
        return _Value(text)
    text = _text(node).strip()
    text = text.lstrip("&") if node.type == "reference_expression" else text  # of Rust's
    if text in WRITTEN:
        return _Value(WRITTEN[text])
    if (enumerated := ".".join(text.split(".")[-2:])) in WRITTEN and re.fullmatch(r"[\w.]+", text):
        return _Value(WRITTEN[enumerated])  # of a namespace: Confluent.Kafka.Acks.All
    if found := re.fullmatch(r"\w+\.(Require(?:All|One|None))", text):  # kafka-go, under a name of the file's own
        return _Value(WRITTEN[f"kafka.{found[1]}"])
    if re.fullmatch(r"-?\d[\d_]*[lL]?|true|false", text):
        return _Value(text.replace("_", "").rstrip("lL"))
    if text in constants:  # of another package's in Go
        return constants[text]
    if text.rpartition(".")[2] in constants and re.fullmatch(r"[\w.]+", text):
        return constants[text.rpartition(".")[2]]
    if (converted := OF_NAME.fullmatch(text)) and (known := constants.get(converted[1])) is not None:
        return known
    if (asked := _asked(text)) is not None:
        return asked
    if found := re.fullmatch(r"(?:String|Integer|Boolean|Objects)\.(?:valueOf|toString)\((.+)\)", text, re.DOTALL):
        bare = found[1].strip()
        if bare in WRITTEN:  # `Integer.toString(Integer.MAX_VALUE)`
            return _Value(WRITTEN[bare])
        return (
            _Value(bare.strip('"'))
            if re.fullmatch(r'"[^"]*"|-?\d+|true|false', bare)
            else constants.get(bare, _Value(bare, False))
        )
    if (variable := asked_of(text)) is not None:
        return _Value(variable)
    return _Value(UNKNOWN, known=False, expression=text[:LONGEST])


def _key(node: Node, constants: Mapping[str, _Value]) -> str:
    """The producer's key that an expression names; empty if it names none."""
    while node.type in ("value_argument", "argument", "literal_element") and node.named_child_count:
        node = node.named_children[-1]
    text = _string(node)
    if text is not None:
        return text if text in producer_keys() else ""
    name = _text(node).strip()
    if found := re.fullmatch(r"(?:StreamsConfig\.)?producerPrefix\((.+)\)", name, re.DOTALL):
        name = found[1].strip()
        if name.startswith('"'):
            return name.strip('"') if name.strip('"') in producer_keys() else ""
    if (
        "onsumer" in name.rpartition(".")[0]
        or "Admin" in name.rpartition(".")[0]
        or "Streams" in name.rpartition(".")[0]
    ):
        return ""
    last = name.rpartition(".")[2]
    if last in constants and constants[last].text in producer_keys():
        return constants[last].text
    return java_constants().get(last, "")


def _arguments(node: Node) -> list[Node]:
    found = node.child_by_field_name("arguments")
    if found is None:
        inside = _named(node, "value_arguments", "call_suffix", "arguments", "argument_list")
        found = inside[0] if inside else None
    return [] if found is None else [each for each in found.named_children if "comment" not in each.type]


def _callee(node: Node) -> str:
    """What is called or made, without its arguments and types: "kafka.Writer", "props.put"."""
    if node.type == IMPLICIT:
        return _declared(node)
    for name in ("constructor", "function", "type"):
        if (found := node.child_by_field_name(name)) is not None:
            owner, last = found.child_by_field_name("object"), found.child_by_field_name("property")
            if owner is not None and last is not None and owner.type in ("new_expression", "call_expression"):
                return f"(made).{_text(last)}"  # `new Kafka({brokers: […]}).producer`
            return re.sub(r"[<\[].*", "", _text(found), flags=re.DOTALL).strip()
    if node.type == "method_invocation":
        owner = node.child_by_field_name("object")
        name = node.child_by_field_name("name")
        return (f"{_text(owner)}." if owner is not None else "") + (_text(name) if name is not None else "")
    first = node.named_children[0] if node.named_child_count else None
    return re.sub(r"[<\[].*", "", _text(first), flags=re.DOTALL).strip() if first is not None else ""


def _declared(node: Node) -> str:
    """The type of the variable, field or property that a `new()` is assigned to, or of the method that returns it;
    empty if there is no such.
    """
    returned = node.parent is not None and node.parent.type in ("arrow_expression_clause", "return_statement")
    for _ in range(3):
        node = node.parent
        if node is None:
            return ""
        told = node.child_by_field_name("type") or (node.child_by_field_name("returns") if returned else None)
        if told is not None:
            return _text(told).rstrip("?")
    return ""


REASSIGNED: Final = re.compile(r"\bthis\.(\w+)\s*=(?!=)\s*(?![\"\d-]|true\b|false\b)")
"""A field that is set to something else, by a setter or a constructor."""


def _gather(source: Text, language: str, root: Node, *, outside: bool = True) -> _SourceWalk:
    """What a source has. `outside`: with the constants that it takes from other files."""
    found = _SourceWalk(source, language, encoded=source.content.encode(errors="replace"))
    nodes = list(_walk(root))
    for node, above in nodes:
        if node.type == "property_declaration" and _named(node, "modifiers") and "@Value" in source.content:
            if not _injected(node, found):
                _constant(node, above, found)
        elif node.type in DECLARES:
            _constant(node, above, found)
        elif node.type in INJECTED:
            _injected(node, found)
        if node.type in FUNCTIONS:
            found.scopes[f"{_name_of(node)}@{node.start_byte}"] = _text(node)
    for name in REASSIGNED.findall(source.content) if language in ("java", "kt", "cs") else ():
        if name in found.constants and not found.constants[name].text.startswith("${"):  # no longer what it begins with
            found.constants[name] = _Value(UNKNOWN, known=False, expression=name)
    if language in SCRIPTS:
        found.constants |= {name: _Value(value) for name, value in of_environment(source.content).items()}
    found.constants = {**_constants_elsewhere(source, language), **found.constants} if outside else found.constants
    for node, above in nodes:
        _pairs_of(node, above, found)
        _maker_of(node, above, found)
        _annotated(node, above, found)
    if outside and found.makers:
        found.pairs = _with_fields(found)
    if language in SCRIPTS:
        found.assigned = frozenset(_assigned_to(each, found) for each in found.makers) - {""}
        found.sends = tuple((each.end(), each[1].decode(errors="replace")) for each in SEND.finditer(found.encoded))
    found.owners = frozenset(each.owner for each in found.pairs)
    found.fillers = frozenset(each.scope.partition("@")[0] for each in found.pairs)
    if "putAll" in source.content:
        bodies = {**found.scopes, "": source.content}
        found.merges = tuple((scope, each) for scope, body in bodies.items() for each in MERGES.finditer(body))
    return found


FROM_FIELDS: Final = frozenset(
    {*DECISIVE, "max.in.flight.requests.per.connection", "max.in.flight", "message.send.max.retries"}
)
"""Keys whose values are followed into fields."""


BY_SCOPE: Final = frozenset({"go", "java", "kt", "scala", "cs", "rs", *SCRIPTS})
"""Languages in which a name is followed by the function that it stands in."""
FIELDS_MOST: Final = 100
"""Different fields that are followed for one file: each is looked for in other files."""


def _with_fields(found: _SourceWalk) -> list[_Pair]:
    """The settings, those whose value is a field of the program's own settings as what that stands for."""
    followed = {
        (each.value.expression, each.scope if found.language in BY_SCOPE else ""): None
        for each in found.pairs
        if each.value.expression and not each.value.known and each.key in FROM_FIELDS
    }
    texts = _texts_beside(found) if followed else []
    told = {each: _field(each[0], found, texts, each[1]) for each in list(followed)[:FIELDS_MOST]}

    def filled(pair: _Pair) -> _Pair:
        asked = (pair.value.expression, pair.scope if found.language in BY_SCOPE else "")
        value = told.get(asked) if pair.key in FROM_FIELDS and not pair.value.known else None
        return replace(pair, value=_Value(value)) if value is not None else pair

    return _of_cases([filled(each) for each in found.pairs], found, texts)


def _of_cases(pairs: Sequence[_Pair], found: _SourceWalk, texts: Sequence[str]) -> list[_Pair]:
    """Settings, those in cases of a `switch` only where what is asked is told: then the one of that case."""
    asked = {(each.case[0], each.scope): None for each in pairs if each.case[0]}
    if not asked:
        return list(pairs)
    texts = texts or _texts_beside(found)
    told = {each: _field(each[0], found, texts, each[1]) for each in list(asked)[:FIELDS_MOST]}
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


def _texts_beside(found: _SourceWalk) -> list[str]:
    """The files of a source's package, and for Go those of the packages that it imports."""
    own = Path(found.source.path).parent
    match found.language:
        case "scala" | "rs" as end:
            return [_content(path) for path in sorted(own.glob(f"*.{end}"))[:BESIDE]]
        case "go":
            imported = (path for path, _ in _imported_of_go(found.source))
            files = (*sorted(own.glob("*.go"))[:BESIDE], *imported)
            return [_content(path) for path in files if not TESTS.search(path.name)]
        case _:
            return []


def _field(expression: str, found: _SourceWalk, texts: Sequence[str], scope: str = "", depth: int = 0) -> str | None:
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
    choice: tuple[str, str, str], found: _SourceWalk, texts: Sequence[str], scope: str, depth: int
) -> str | None:
    """Which of two values a choice gives, if what it asks is told."""
    asked = _literal_of(choice[0], found) or (
        _field(choice[0], found, texts, scope, depth + 1) if depth <= STEPS else None
    )
    if asked is None or asked.lower() not in ("true", "false"):
        return None
    value = choice[1] if asked.lower() == "true" else choice[2]
    told = _literal_of(value, found)
    return _field(value, found, texts, scope, depth + 1) if told is None else told


def _literal_of(text: str, found: _SourceWalk) -> str | None:
    """What is written out, a constant of a library's, or one of the file."""
    if literal := LITERAL.fullmatch(text):
        return literal[1] if literal[1] is not None else literal[2]
    if (enumerated := ".".join(text.split(".")[-2:])) in WRITTEN:
        return WRITTEN[enumerated]
    known = found.constants.get(text) if re.fullmatch(r"\w+", text) else None
    return known.text if known is not None and known.known and not known.text.startswith("${") else None


def _of_constructed(expression: str, found: _SourceWalk, depth: int) -> str | None:
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
            told = {_told_by_call(each, each.argument(parameters, name), found.language, depth) for each in made}
            return told.pop() if len(told) == 1 else None
    return None


PARAMETER: Final = re.compile(r"(?:this\.)?(\w+)")
CONVERTED: Final = re.compile(
    r"(?:String\.valueOf|Integer\.valueOf|Integer\.parseInt|Boolean\.toString|(?:\w+\.)?RequiredAcks|int\d*|string)\((.+)\)"
    r"|\(\w+\)\s*(.+)|(.+?)\.(?:toString(?:\(\))?|to_string\(\)|as_str\(\)|toInt\(\)|ToString\(\))|&(.+)"
)
STEPS: Final = 3
"""How many functions are followed that hand on what they are given."""


def _given_by_calls(expression: str, found: _SourceWalk, scope: str, depth: int) -> str | None:
    """What every call gives a parameter of a function, or of a constructor: directly, or as the field that it is
    assigned to.
    """
    if found.language not in ("java", "kt", "scala", "cs", "go", "rs") or depth > STEPS:
        return None
    text = expression.strip()
    if inner := CONVERTED.fullmatch(text):
        text = next(each for each in inner.groups() if each is not None).strip()
    named = PARAMETER.fullmatch(text.removeprefix("self."))
    parameter = _parameter(named[1], scope, found) if named else None
    if parameter is None:
        return None
    name, function, called, made = parameter
    parameters = calls.parameters_of(function, found.language)
    told = calls.calls_of(calls.root_of(found.source.path), found.language, called, made=made)
    values = {_told_by_call(each, each.argument(parameters, name), found.language, depth) for each in told}
    return values.pop() if len(values) == 1 else None


def _parameter(name: str, scope: str, found: _SourceWalk) -> tuple[str, str, str, bool] | None:
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


def _told_by_call(call: calls.Call, given: str, language: str, depth: int) -> str | None:
    """What an argument of a call is: a literal, a constant, what is asked for, or a parameter once more."""
    given = given.strip().lstrip("&")
    if literal := LITERAL.fullmatch(given):
        return literal[1] if literal[1] is not None else literal[2]
    if (enumerated := ".".join(given.split(".")[-2:])) in WRITTEN:
        return WRITTEN[enumerated]
    asked = _asked(given)
    if asked is not None or (variable := asked_of(given)) is not None:
        return asked.text if asked is not None else variable
    walk, scope = _around(call, language)
    known = walk.constants.get(given.rpartition(".")[2]) if re.fullmatch(r"[\w.]+", given) else None
    if known is not None and known.known:
        return known.text
    return _field(given, walk, _texts_beside(walk), scope, depth + 1)


def _around(call: calls.Call, language: str) -> tuple[_SourceWalk, str]:
    """What the source of a call has, and the function that the call stands in."""
    walk = _walk_of(call.source, language)
    at = len(call.source.content[: call.at].encode(errors="replace"))
    spans = ((int(key.partition("@")[2]), len(text.encode(errors="replace")), key) for key, text in walk.scopes.items())
    return walk, max(((begin, key) for begin, length, key in spans if begin <= at < begin + length), default=(0, ""))[1]


@lru_cache(maxsize=16)
def _walk_of(source: Text, language: str) -> _SourceWalk:
    """What a source has by itself."""
    parser = _parser(language)
    return _gather(source, language, parser.parse(source.content.encode(errors="replace")).root_node, outside=False)


PARSED_ENUM: Final = re.compile(
    r"\AEnum\.Parse<(?:\w+\.)*\w+>\(\s*([^(),]+?)\s*(?:,\s*(?:ignoreCase:\s*)?true\s*)?\)\Z"
    r"|\A\((?:\w+\.)*\w+\)\s*Enum\.Parse\(\s*typeof\([\w.]+\)\s*,\s*([^(),]+?)\s*(?:,\s*true\s*)?\)\Z"
)
"""A value of an enumeration of .NET's, by its name in another expression."""


def _field_of_settings(expression: str, found: _SourceWalk, texts: Sequence[str], scope: str) -> str | None:
    """What an expression stands for, if it is a field of the program's own settings."""
    source = found.source
    match found.language:
        case "java" | "kt" | "kts":
            bound_to = of_jvm(source, expression, lambda name: _class(source, name, found.language))
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
                of_script(source, expression, own, scope.partition("@")[0], _class_around(scope, found)), found
            )
        case _:
            return None


def _written(text: str | None) -> str | None:
    return _as_written(text) if text is not None else None


def _taken(told: tuple[str, str] | None, found: _SourceWalk) -> str | None:
    """A value, and kept which file of settings it is from."""
    found.taken |= {told[1]} if told is not None and told[1] else set()
    return _as_written(told[0]) if told is not None else None


def _class_around(scope: str, found: _SourceWalk) -> str:
    """The class that a constructor of a script makes objects of; empty for other functions."""
    start = int(scope.rpartition("@")[2] or 0)
    before = found.encoded[:start].decode(errors="replace") if scope.startswith("constructor@") else ""
    named = re.findall(r"\bclass\s+(\w+)", before)
    return named[-1] if named else ""


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


def _constants_elsewhere(source: Text, language: str) -> dict[str, _Value]:
    """The constants that a source takes from other files of its program: of its package in Go, of a class in languages
    of the JVM, of a module that a script imports names from. A name that two of them have is unknown.
    """
    found: dict[str, _Value] = {}
    for other, names in _files_of_constants(source, language):
        parser = _parser(language)
        root = parser.parse(other.content.encode(errors="replace")).root_node
        package = f"{Path(other.path).parent.name}." if any("." in each for each in names or ()) else ""
        for own, value in _gather(other, language, root, outside=False).constants.items():
            name = package + own
            if names is None or name in names:
                known = found.get(name, value)
                found[name] = value if known == value else _Value(UNKNOWN, known=False)
    return found


def _files_of_constants(source: Text, language: str) -> Iterator[tuple[Text, frozenset[str] | None]]:
    """The files that a source may take constants from, each with their names; None if all count."""
    own = Path(source.path)
    if language == "go":
        for path in sorted(own.parent.glob("*.go"))[:BESIDE]:
            content = _content(path) if path.name != own.name and not TESTS.search(path.name) else ""
            if re.search(r"(?m)^const\b", content):
                yield Text(str(path), "".join(GO_CONSTANTS.findall(content))), None
        for path, _ in _imported_of_go(source):
            names = re.findall(rf"(?<![\w.]){re.escape(path.parent.name)}\.([A-Z]\w*)\b(?!\()", source.content)
            content = _content(path) if names and not TESTS.search(path.name) else ""
            if re.search(r"(?m)^const\b", content):
                own_names = frozenset(f"{path.parent.name}.{each}" for each in names)
                yield Text(str(path), "".join(GO_CONSTANTS.findall(content))), own_names
    elif language in SCRIPTS:
        for names, where in FROM.findall(source.content):
            taken = frozenset(each.partition(" as ")[0].strip() for each in names.split(","))
            if any(re.fullmatch(r"[A-Z][A-Z0-9_]*", each) for each in taken) and (module := module_of(own, where)):
                yield Text(str(module), _content(module)), taken
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
            if (other := _class(source, owner, language)) is not None:
                yield other, frozenset(taken_of)


GO_CONSTANTS: Final = re.compile(r"(?ms)\Apackage \w+\n|^const\s*\([^()]*^\)\n?|^const\s+\w[^\n]*\n?")
"""The constants of a file of Go's, and the line that names its package."""


NAMED: Final = re.compile(r"(?:\w+\.)?[A-Z][A-Z0-9_]*")
"""What a constant is bound to that is another one: `DEFAULT_ACKS = LEADER_ONLY`."""


def _constant(node: Node, above: Sequence[Node], found: _SourceWalk) -> None:
    """A name that is bound to a literal: of the file's, or in a function."""
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    if value is None and node.named_child_count:
        value = node.named_children[-1]
    name = _name_of(node)
    if value is None or not name or _text(value) == name:
        return
    while value.type == "expression_list" and value.named_child_count == 1:
        value = value.named_children[0]
    told = _value(value, {})
    if not told.known and NAMED.fullmatch(told.expression):
        told = found.constants.get(told.expression.rpartition(".")[2], told)
    known = found.constants.get(name)
    found.constants[name] = told if known is None or known == told else _Value(UNKNOWN, known=False)


INJECTED: Final = frozenset({"field_declaration", "formal_parameter", "parameter", "class_parameter"})
"""Nodes of fields and parameters, in Java and in Kotlin, whose annotations are in them or before them."""
OF_VALUE: Final = re.compile(r'@(?:\w+:)?Value\(\s*(?:value\s*=\s*)?"\\?(\$\{[^"]+\})"')


def _injected(node: Node, found: _SourceWalk) -> bool:
    """Keep Spring's `@Value("${…}") private String ack;`, and a parameter that has one; whether it is one."""
    before = node.prev_named_sibling if node.type == "parameter" else None
    annotated = before is not None and before.type == "parameter_modifiers"
    text = OF_VALUE.search((_text(before) if annotated else "") + _text(node))
    given = text[1] if text is not None else _of_property(node)
    if given:
        names = [_name_of(each) for each in (_named(node, "variable_declarator") or [node])]
        for name in names:  # fields and parameters of one name may have two values
            known = found.constants.get(name, _Value(given))
            found.constants[name] = known if known.text == given else _Value(UNKNOWN, known=False)
    return bool(given)


PROPERTY: Final = re.compile(r"@(?:\w+:)?(?:ConfigProperty|Property)\(([^()]*)\)")
"""What MicroProfile and Micronaut give a field or parameter."""


def _of_property(node: Node) -> str:
    """The placeholder that a field or parameter has by MicroProfile's or Micronaut's annotation; empty if none."""
    found = PROPERTY.search(_text(node))
    name = re.search(r"\bname\s*=\s*\"([\w.-]+)\"", found[1]) if found else None
    default = re.search(r"\bdefaultValue\s*=\s*\"([^\"]*)\"", found[1]) if found else None
    return "" if name is None else f"${{{name[1]}:{default[1]}}}" if default else f"${{{name[1]}}}"


def _method(node: Node) -> str:
    """The last name of what a call of Scala's or C#'s calls, whatever stands before it; without its types."""
    called = node.child_by_field_name("function")
    last = called.child_by_field_name("field" if called.type == "field_expression" else "name") if called else None
    return _text(last).partition("<")[0] if last is not None else ""


def _put(key: str, value: _Value, node: Node, above: Sequence[Node], found: _SourceWalk, owner: str = "") -> None:
    if key:
        # A field of another object's may be null, and is then not set.
        branch = _branch(above, node)
        sure = branch is None and not (key == "transactional.id" and not value.known and _is_field(node, found))
        owner = (
            _result_of(owner, above, found)
            if owner and found.language in ("scala", "kt", "kts")
            else owner or _owner(above)
        )
        pair = _Pair(key, value, node.start_point[0] + 1, _scope(above), owner, sure, node.start_byte, branch=branch)
        found.pairs.append(replace(pair, case=_case(above)) if found.language == "go" and not sure else pair)


def _case(above: Sequence[Node]) -> tuple[str, tuple[str, ...]]:
    """The case of a `switch` of Go's that a node stands in."""
    around = [each for each in reversed(above) if each.type in (*CONDITIONS, "expression_case", "default_case")][:2]
    if len(around) < 2 or around[1].type != "expression_switch_statement" or "case" not in around[0].type:
        return "", ()
    asked, given = around[1].child_by_field_name("value"), around[0].child_by_field_name("value")
    labels = re.findall(r"\"([^\"]*)\"|(-?\d+)", _text(given)) if given is not None else []
    return (_text(asked) if asked is not None else ""), tuple("".join(each) for each in labels)


def _result_of(owner: str, above: Sequence[Node], found: _SourceWalk) -> str:
    """What a map is called outside of the block that makes it: `val props = { val p = new Properties(); …; p }`."""
    for each in reversed(above):
        if each.type in FUNCTIONS:
            break
        if each.type in DECLARES and (name := _name_of(each)) != owner:
            end = found.encoded[max(each.start_byte, each.end_byte - 100) : each.end_byte].decode(errors="replace")
            return name if re.search(rf"\b{re.escape(owner)}\s*\}}\s*\Z", end) else owner
    return owner


def _is_field(node: Node, found: _SourceWalk) -> bool:
    """Whether what is assigned, in a language whose settings may be null, is a field of an object."""
    return found.language in ("cs", *SCRIPTS) and re.search(r"[=:]\s*[\w?]+(?:\??\.\w+)+\s*$", _text(node)) is not None


def _pairs_of(node: Node, above: Sequence[Node], found: _SourceWalk) -> None:
    """The settings that a node makes."""
    constants = found.constants
    if node.type in CALLS:
        callee = _callee(node)
        name, owner = callee.rpartition(".")[2], callee.rpartition(".")[0].rpartition(".")[2]
        if not re.fullmatch(r"\w*", owner):  # `config.set(…).set(…)`: what the chain begins with
            owner = re.match(r"\w*", callee)[0]  # type: ignore[index]
        given = _arguments(node)
        if name in PUTS and len(given) >= 2:
            for key, value in zip(given[::2], given[1::2], strict=False):
                _put(
                    _key(key, constants),
                    replace(_value(value, constants), known=False) if name == IF_ABSENT else _value(value, constants),
                    key,
                    above,
                    found,
                    owner if name not in ("of", "entry") else "",
                )
        elif name == "option" and len(given) == 2:
            key = _string(given[0]) or ""
            if key.startswith("kafka.") and key.removeprefix("kafka.") in producer_keys():
                _put(key.removeprefix("kafka."), _value(given[1], constants), given[0], above, found)
        elif found.language == "scala" and len(given) == 1 and (key := OF_FS2.get(_method(node), "")):
            _put(key, _value(given[0], constants), given[0], above, found)
        elif found.language == "cs" and len(given) == 2 and callee.endswith("MainConfig.Add"):
            _put(_key(given[0], constants), _value(given[1], constants), given[0], above, found)
        elif found.language == "cs" and len(given) == 1 and _method(node) == OF_KAFKAFLOW:
            _put("acks", _value(given[0], constants), given[0], above, found, OF_KAFKAFLOW)
        elif found.language == "rs" and name == "with_required_acks" and given:
            _put("acks", _value(given[0], constants), given[0], above, found)
        elif callee == "Object.assign" and found.language in SCRIPTS:
            _copied(given, above, found)
        elif callee.startswith("kgo."):
            _franz(name, given, node, above, found)
    elif node.type == "infix_expression" and node.named_child_count >= 3:
        left, middle, right = node.named_children[0], node.named_children[1], node.named_children[-1]
        if _text(middle) in ("to", "->"):
            _put(_key(left, constants), _value(right, constants), node, above, found)
    elif node.type in ("assignment", "assignment_expression", "assignment_statement"):
        _assigned(node, above, found)
    elif node.type in ("keyed_element", "pair"):
        key = node.child_by_field_name("key") or node.named_children[0]
        value = node.child_by_field_name("value") or node.named_children[-1]
        known = _key(key, constants) or FIELDS.get(_text(key).strip("\"'"), "")
        known = known or ("retries" if _is_retry_of_kafkajs(key, above, found) else "")
        if _text(key) == "retry" and value.type in ("identifier", "member_expression", "call_expression"):
            _retried(value, above, found)
        known = known or OF_PLATFORMATIC.get(_text(key) if PLATFORMATIC in _packages(found.source.content) else "", "")
        if known and (known == "retries" or _allowed(found, known, _text(key))):
            _put(known, _value(value, constants), node, above, found)
    elif node.type == "shorthand_property_identifier" and found.language in SCRIPTS:
        name = _text(node)
        _put(FIELDS.get(name, ""), constants.get(name, _Value(UNKNOWN, False)), node, above, found)
    elif node.type == "spread_element" and found.language in SCRIPTS:
        _spread(node, above, found)


OF_FS2: Final[Mapping[str, str]] = {
    "withAcks": "acks",
    "withRetries": "retries",
    "withEnableIdempotence": "enable.idempotence",
    "withMaxInFlightRequestsPerConnection": "max.in.flight.requests.per.connection",
}
"""Methods of fs2-kafka's ProducerSettings."""
OF_KAFKAFLOW: Final = "WithAcks"
"""How KafkaFlow is told acks. What its `WithProducerConfig` says of them is put back: null without this."""
OF_CAMEL: Final[Mapping[str, str]] = {
    "requestRequiredAcks": "acks",
    "enableIdempotence": "enable.idempotence",
    "retries": "retries",
    "maxInFlightRequest": "max.in.flight.requests.per.connection",
    "brokers": "bootstrap.servers",
}
"""Options of an endpoint of Camel's."""
ENDPOINT: Final = re.compile(r"kafka:(?://)?([^?\s]+)(?:\?(\S*))?")
FIELDS: Final[Mapping[str, str]] = {
    "RequiredAcks": "acks",
    "MaxAttempts": "retries",
    "acks": "acks",
    "idempotent": "enable.idempotence",
    "transactionalId": "transactional.id",
    "maxInFlightRequests": "max.in.flight.requests.per.connection",
    "requireAcks": "acks",
}
"""Fields of kafka-go's Writer, and of what KafkaJS' producer() and kafka-node's Producer take."""
PLATFORMATIC: Final = "@platformatic/kafka"
CONFLUENTS: Final = "confluentinc/kafka-javascript"
PACKAGES: Final = (CONFLUENTS, "kafkajs", "node-rdkafka", "kafka-node", PLATFORMATIC)
"""Packages of Node that have a producer, as a script that imports one names it."""


@lru_cache(maxsize=8)
def _packages(content: str) -> frozenset[str]:
    """Which of them a script names: asked of each call in it, so its text is searched once."""
    return frozenset(each for each in PACKAGES if each in content)


def _is_retry_of_kafkajs(key: Node, above: Sequence[Node], found: _SourceWalk) -> bool:
    """Whether a name is in what KafkaJS is told of retrying, `retry: {retries: 3}`, by a client or a producer."""
    if found.language not in SCRIPTS or _text(key) != "retries" or "kafkajs" not in _packages(found.source.content):
        return False
    retry = [each for each in above if each.type == "pair" and _text(each).startswith("retry:")]
    made = next((each for each in reversed(above) if each.type in CALLS | CREATES), None)
    return bool(retry) and made is not None and re.search(r"(?:\bKafka|\.producer)$", _callee(made)) is not None


def _retried(value: Node, above: Sequence[Node], found: _SourceWalk) -> None:
    """Add how often KafkaJS tries again, where `retry` is not written out: what `settings.retry.retries` stands for."""
    made = next((each for each in reversed(above) if each.type in CALLS | CREATES), None)
    if made is None or "kafkajs" not in _packages(found.source.content):
        return
    if re.search(r"(?:\bKafka|\.producer)$", _callee(made)) is None:
        return
    if (told := _field(f"{_text(value)}.retries", found, [], _scope(above))) is not None:
        _put("retries", _Value(told), value, above, found)


OF_PLATFORMATIC: Final[Mapping[str, str]] = {
    "retries": "retries",
    "maxInflights": "max.in.flight.requests.per.connection",
}
"""What a Producer of @platformatic/kafka takes beside the fields of others."""
SARAMA: Final[Mapping[str, str]] = {
    "Producer.RequiredAcks": "acks",
    "Producer.Retry.Max": "retries",
    "Producer.Idempotent": "enable.idempotence",
    "Net.MaxOpenRequests": "max.in.flight.requests.per.connection",
    "Producer.Transaction.ID": "transactional.id",
}


def _allowed(found: _SourceWalk, key: str, written: str) -> bool:
    if found.language in SCRIPTS:
        quoted = written.startswith(("'", '"'))
        of_platformatic = written in OF_PLATFORMATIC and PLATFORMATIC in _packages(found.source.content)
        return quoted or written in FIELDS or of_platformatic
    return written != "acks"


def _spread(node: Node, above: Sequence[Node], found: _SourceWalk) -> None:
    """`{…, ...options}`: what stands before it may be replaced, unless the other object is one of the file's."""
    if len(above) < 2 or above[-1].type != "object":
        return
    if above[-2].type not in ("arguments", "variable_declarator", "assignment_expression"):
        return
    _assume_any(_text(node).removeprefix("..."), node, above, found)


def _copied(given: Sequence[Node], above: Sequence[Node], found: _SourceWalk) -> None:
    """`Object.assign({…}, options)`, which compilers make of `{…, ...options}`."""
    for each in given:
        if each.type in ("identifier", "member_expression"):
            _assume_any(_text(each), each, above, found)


def _assume_any(other: str, node: Node, above: Sequence[Node], found: _SourceWalk) -> None:
    """Leave unknown what another object of a script may set, unless it is written out in the file."""
    if _is_literal(other.strip(), found) or _says_nothing(other.strip(), found):
        return
    if _is_never_given(other.strip(), _scope(above), found):
        return
    assigned = next((each for each in reversed(above) if each.type == "assignment_expression"), None)
    left = assigned.child_by_field_name("left") if assigned is not None else None
    owner = _text(left).rpartition(".")[2] if left is not None else ""
    for key in DECISIVE:
        _put(key, _Value(SPREAD, False), node, above, found, owner)


def _is_never_given(name: str, scope: str, found: _SourceWalk) -> bool:
    """Whether what is spread is a parameter that is empty by default, and that no call of the program gives."""
    called, owner = scope.partition("@")[0], _class_around(scope, found)
    if not re.fullmatch(r"\w+", name) or not called:
        return False
    each = passed(found.source, called, owner, name, found.scopes.get(scope, ""))
    return bool(each) and all(given in ("", "{}", "undefined") for _, given in each or ())


OF_OPTIONS: Final = re.compile(
    r"\.\.\.|Object\.assign|\b(?:acks|retr(?:y|ies)|idempotent|transactionalId|maxInFlight\w*)\b"
)
"""What an object has that may decide over records."""


def _says_nothing(other: str, found: _SourceWalk) -> bool:
    """Whether what is spread is what a module beside a script makes, of which nothing decides over records."""
    called = re.fullmatch(r"(\w+)(?:\([^()]*\))?", other)
    module = _imported(found.source, called[1]) if called else ""
    if called is None or not module:
        return False
    name = re.escape(called[1])
    made = re.search(
        rf"\bfunction\s+{name}\b[^{{}}]*\{{\s*return\s*\{{|\b{name}\b[^=;{{}}]{{0,200}}=\s*(?:\([^()]*\)[^=;{{}}]{{0,100}}=>\s*\(?)?\{{",
        module,
    )
    return made is not None and OF_OPTIONS.search(_braced(module, made.end())) is None


def _braced(text: str, start: int) -> str:
    """What stands in the braces that are open at a place."""
    depth = 1
    for at in re.finditer(r"[{}]", text[start:]):
        depth += 1 if at[0] == "{" else -1
        if depth == 0:
            return text[start : start + at.start()]
    return text[start:]


def _is_literal(name: str, found: _SourceWalk) -> bool:
    """Whether a name of a script is bound to an object that is written out."""
    return name in _literals(found.source.content)


@lru_cache(maxsize=1)
def _literals(content: str) -> frozenset[str]:
    """The names of a script that are bound to objects that are written out."""
    return frozenset(re.findall(r"\b(?:const|let|var)\s+(\w+)\b[^=;]{0,200}=\s*\{", content))


def _franz(name: str, given: Sequence[Node], node: Node, above: Sequence[Node], found: _SourceWalk) -> None:
    if name == "DisableIdempotentWrite":
        _put("enable.idempotence", _Value("false"), node, above, found)
    elif name == "RequiredAcks" and given:
        _put("acks", _value(given[0], found.constants), node, above, found)
    elif name == "RecordRetries" and given:
        _put("retries", _value(given[0], found.constants), node, above, found)
    elif name == "MaxProduceRequestsInflightPerBroker" and given:
        _put("max.in.flight.requests.per.connection", _value(given[0], found.constants), node, above, found)


def _assigned(node: Node, above: Sequence[Node], found: _SourceWalk) -> None:
    """`props[KEY] = value`, sarama's `config.Producer.RequiredAcks = …`, a field of a .NET ProducerConfig."""
    left = node.child_by_field_name("left") or (node.named_children[0] if node.named_child_count else None)
    right = node.child_by_field_name("right") or (node.named_children[-1] if node.named_child_count else None)
    if left is None or right is None:
        return
    text = _text(left).strip()
    value = _value(
        right.named_children[0] if right.type == "expression_list" and right.named_child_count else right,
        found.constants,
    )
    if left.type in ("index_expression", "subscript_expression", "element_access_expression", "indexing_expression"):
        _put(_key(left.named_children[-1], found.constants), value, node, above, found, text.partition("[")[0])
        return
    owner, _, rest = text.partition(".")
    if found.language == "go" and (setting := re.fullmatch(r"(?:.*\.)?(\w+)\.((?:Producer|Net)\.[\w.]+)", text)):
        _put(SARAMA.get(setting[2], ""), value, node, above, found, setting[1])
    elif (
        found.language == "go"
        and rest in ("RequiredAcks", "MaxAttempts")
        and "segmentio/kafka-go" in found.source.content
    ):
        _put(FIELDS[rest], value, node, above, found, owner)
    elif found.language == "cs":
        inside = next((each for each in reversed(above) if each.type in CREATES), None)
        config = inside is not None and _callee(inside).endswith("ProducerConfig")
        name = rest.removeprefix("Config.")  # of Aspire's settings
        name = name if name and "." not in name else text
        key = relaxed(name) if re.fullmatch(r"[A-Z]\w+", name) else None
        if key is not None and (config or rest):
            _put(key, value, node, above, found, owner if rest else "")


def _maker_of(node: Node, above: Sequence[Node], found: _SourceWalk) -> None:
    if node.type == "pair" and _is_nest(node, above):
        node = node.parent
        found.makers.append(
            _Maker("kafkajs", node.start_point[0] + 1, _scope(above), node.start_byte, node.end_byte, frozenset(), "")
        )
        return
    if node.type not in CALLS and node.type not in CREATES:
        return
    callee = _callee(node)
    name = callee.rpartition(".")[2]
    if _is_endpoint(found, name, node):
        _endpoint(node, above, found)
        return
    kind = _kind(found, callee, name, node)
    if kind in ("fs2", "zio") and any(each.start == node.start_byte for each in found.makers):
        return  # a link of a chain that is one already
    if kind:
        line, given = node.start_point[0] + 1, _arguments(node)
        start, text = node.start_byte, _text(node)
        if kind in CHAINED:
            node, more = _chain(node, above)
            given += more
            text = _text(node)
        if kind in OF_LAMBDAS and given:  # what stands before it in its chain is of others
            line, start, text = given[0].start_point[0] + 1, given[0].start_byte, " ".join(map(_text, given))
        if (kind == "watermill" and PUBLISHER not in text) or kind == "goka":
            text = found.scopes.get(_scope(above), text)
        names = set(re.findall(r"[A-Za-z_]\w*", " ".join(map(_text, given))))
        if kind == "franz-go" and not _produces(_scope(above), found):
            return
        if kind in OF_RUST and (_is_other(_text(node), above) or _in_test(above)):
            return
        if kind == "arroyo":
            _of_arroyo(node, given, above, found)
        if (kind in CHAINED or kind == "kafka-go") and (owner := _owner(above)):
            names.add(owner)
        if kind == "KafkaStreams" and any(each.kind == kind and each.scope == _scope(above) for each in found.makers):
            return
        if kind == "kafkajs":  # the client, which says how often is tried again
            names.add(callee.partition(".")[0])
        if kind in ("watermill", "goka"):
            names |= set(re.findall(r"\w+", text))
        found.makers.append(_Maker(kind, line, _scope(above), start, node.end_byte, frozenset(names), text))


OF_LAMBDAS: Final = frozenset({"kafkaflow", "cap", "aspire", "wolverine"})
"""Makers of .NET's that are told all in their arguments."""
PUBLISHER: Final = "PublisherConfig{"
"""What Watermill's publisher is made with: where it is made, or before that in the same function."""
PRODUCES: Final = re.compile(r"\bProduce|RequiredAcks|DefaultProduceTopic|RecordPartitioner")
"""What is said or done of producing with franz-go."""


def _produces(scope: str, found: _SourceWalk) -> bool:
    """Whether a client of franz-go's sends: its function says so, or no function of the file that makes one does."""
    own = found.scopes.get(scope, "")
    if PRODUCES.search(own) or not own:
        return True
    others = [each for each in found.scopes.values() if "kgo.NewClient" in each and PRODUCES.search(each)]
    return not others and not re.search(r"kgo\.Consume|kgo\.ConsumerGroup", own)


def _of_arroyo(node: Node, given: Sequence[Node], above: Sequence[Node], found: _SourceWalk) -> None:
    """The settings of `KafkaConfig::new_producer_config(servers, Some(HashMap::from([("acks".to_string(), …)])))`."""
    if len(given) < 2 or _text(given[1]).strip() == "None":
        return
    pairs = list(re.finditer(r'\(\s*"([\w.]+)"(?:\.\w+\(\))?\s*,\s*("[^"]*"|[\w.]+)', _text(given[1])))
    for each in pairs:
        known = each[2].startswith('"')
        value = _Value(each[2].strip('"') if known else UNKNOWN, known)
        _put(each[1] if each[1] in producer_keys() else "", value, given[1], above, found)
    for key in () if pairs else DECISIVE:
        _put(key, _Value(UNKNOWN, False), given[1], above, found)


def _is_endpoint(found: _SourceWalk, name: str, node: Node) -> bool:
    """Whether a call sends to Kafka through Camel: `.to("kafka:orders?requestRequiredAcks=1")`."""
    if name not in ("to", "toD", "wireTap") or "org.apache.camel" not in found.source.content:
        return False
    given = _arguments(node)
    return len(given) > 0 and ENDPOINT.fullmatch(_value(given[0], found.constants).text) is not None


def _endpoint(node: Node, above: Sequence[Node], found: _SourceWalk) -> None:
    """An endpoint of Camel's; what it does not tell is the component's, and set elsewhere."""
    given = _arguments(node)[0]
    told = ENDPOINT.fullmatch(_value(given, found.constants).text)
    assert told is not None
    line, scope = given.start_point[0] + 1, f"{told[1]}@{node.start_byte}"
    options = dict(each.partition("=")[::2] for each in re.split(r"&(?:amp;)?", told[2] or ""))
    for option, key in OF_CAMEL.items():
        if option in options:
            value = _Value(re.sub(r"\{\{([^{}]+)\}\}", r"${\1}", options[option]))
            found.pairs.append(_Pair(key, value, line, scope, "", True, given.start_byte))
        elif key == "acks":  # all or 1 by Camel's release, or what the component is set to
            found.pairs.append(_Pair(key, _Value(UNKNOWN, False), line, scope, "", True, given.start_byte))
    text = f'Topic: "{told[1]}"' if re.fullmatch(r"[\w.-]+", told[1]) else ""
    found.makers.append(_Maker("camel", line, scope, given.start_byte, given.end_byte, frozenset(), text))


def _is_other(text: str, above: Sequence[Node]) -> bool:
    """Whether a ClientConfig of Rust's is a consumer's or an administrator's."""
    around = [_text(each).partition("{")[0] for each in above if each.type in ("let_declaration", "function_item")]
    return re.search(r"group\.id|Consumer|AdminClient", " ".join((text, *around[-2:]))) is not None


def _in_test(above: Sequence[Node]) -> bool:
    """Whether it is in a test of Rust's, which stands in the file that it is about."""
    named = (_name_of(each) for each in above if each.type in ("mod_item", "function_item"))
    return any(re.fullmatch(r"tests?|test_\w+", name) for name in named)


def _chain(node: Node, above: Sequence[Node]) -> tuple[Node, list[Node]]:
    """The whole chain of calls that a call is the first of, and the arguments of the others."""
    given: list[Node] = []
    for each in reversed(above):
        if each.type not in LINKS or each.named_children[0].start_byte != node.start_byte:
            break
        node = each
        if each.type in CALLS:
            given += _arguments(each)
    return node, given


def _annotated(node: Node, above: Sequence[Node], found: _SourceWalk) -> None:
    """Micronaut's `@KafkaClient(acks = KafkaClient.Acknowledge.ALL)`, which sets a producer of its own."""
    if node.type not in ("annotation", "constructor_invocation") or "micronaut" not in found.source.content:
        return
    text = _text(node)
    if re.match(r"@?KafkaClient\(", text) is None or "=" not in text:
        return
    line, scope = node.start_point[0] + 1, f"{_name_of_type(above)}@{node.start_byte}"
    if asked := re.search(r"\backs\s*=\s*[\w.]*\b(ALL|ONE|NONE)\b", text):
        value = {"ALL": "all", "ONE": "1", "NONE": "0"}[asked[1]]
        found.pairs.append(_Pair("acks", _Value(value), line, scope, "", True, node.start_byte))
    for each in re.finditer(r"@?Property\(\s*name\s*=\s*([\w.\"]+)\s*,\s*value\s*=\s*\"([^\"]*)\"", text):
        name = each[1].strip('"')
        key = name if name in producer_keys() else java_constants().get(name.rpartition(".")[2], "")
        if key:
            found.pairs.append(_Pair(key, _Value(each[2]), line, scope, "", True, node.start_byte))
    if any(each.scope == scope for each in found.pairs):
        found.makers.append(_Maker("micronaut", line, scope, node.start_byte, node.end_byte, frozenset(), text))


def _name_of_type(above: Sequence[Node]) -> str:
    kinds = ("interface_declaration", "class_declaration")
    return next((_name_of(each) for each in reversed(above) if each.type in kinds), "")


def _is_nest(node: Node, above: Sequence[Node]) -> bool:
    """Whether it says that a program of NestJS sends to Kafka: `transport: Transport.KAFKA` of a client, or beside what
    is said of a producer. A server only replies.
    """
    key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    if key is None or value is None or (_text(key), _text(value)) != ("transport", "Transport.KAFKA"):
        return False
    if node.parent is not None and re.search(r"\bproducer\b", _text(node.parent)) is not None:
        return True
    called = [_callee(each) for each in above if each.type in CALLS]
    return any(re.search(r"^Client(?:sModule|ProxyFactory)?\b", each) for each in called)


def _kind(found: _SourceWalk, callee: str, name: str, node: Node) -> str:
    """What a call or creation makes; empty if no producer."""
    match found.language:
        case "java" | "kt" | "kts" | "scala":
            return _kind_of_jvm(found, callee, name, node)
        case "rs":
            return _kind_of_rust(found.source.content, callee, name)
        case "cs":
            return _kind_of_dotnet(found, callee, name, node)
        case "go":
            return _kind_of_go(found.source.content, callee, name, node)
        case _:
            return _kind_of_javascript(found, callee, name, node)


STREAMS: Final = re.compile(r"producerPrefix|ProducerConfig|APPLICATION_ID_CONFIG|\"application\.id\"")
"""What a file that makes a KafkaStreams has if it is what configures it."""
IMPORTED: Final = re.compile(
    r"import\s+org\.apache\.kafka\.clients\.producer\."
    r"(?:KafkaProducer\b|\*|_(?!\w)|\{[^{}]*(?:\bKafkaProducer\b|\b_|\*)[^{}]*\})"
)
"""Whether a file's KafkaProducer is Kafka's."""


SUPPLIES: Final = re.compile(r"\b(?:implements|extends|:)\s[^{]{0,200}\b\w*KafkaClientSupplier\b")


@lru_cache(maxsize=8)
def _has(pattern: re.Pattern[str], content: str) -> bool:
    """Whether a source has something: asked of each call in it."""
    return pattern.search(content) is not None


def _kind_of_jvm(found: _SourceWalk, callee: str, name: str, node: Node) -> str:
    content = found.source.content
    makes = node.type in CREATES or found.language in ("kt", "kts", "scala")
    # Camel, Pulsar and others have a KafkaProducer of their own.
    kafkas = name != "KafkaProducer" or _has(IMPORTED, content) or "." in callee
    if name == "KafkaProducer" and _has(SUPPLIES, content):
        return ""  # Kafka Streams' producer, which it is asked for
    if found.language in ("kt", "kts") and _is_own_function(name, len(_arguments(node)), content):
        return ""
    if name == "DefaultKafkaProducerFactory" and _is_programs_class(found.source, name, found.language):
        return ""
    if name in ("KafkaProducer", "DefaultKafkaProducerFactory") and makes and kafkas:
        return name
    if name == "KafkaTemplate" and makes and len(_arguments(node)) > 1:
        return "template"
    if name == "FlinkKafkaProducer" and makes:
        return name
    if name == "KafkaBolt" and makes and "org.apache.storm" in content:
        return name
    if name == "KafkaStreams" and makes and "org.apache.kafka.streams" in content:
        return name if STREAMS.search(content) else ""
    return _kind_of_call(found, callee, name, node)


def _is_programs_class(source: Text, name: str, language: str) -> bool:
    """Whether a class that has a library's name is one of the program's: of this file, or beside it."""
    own = re.search(rf"\bclass\s+{name}\b", source.content) is not None
    return own or ("springframework" not in source.content and _class(source, name, language) is not None)


def _is_own_function(name: str, given: int, content: str) -> bool:
    """Whether a call is of a function of the file's own that has a class's name: `fun KafkaProducer(s: Settings)`."""
    found = re.finditer(rf"\bfun\s+(?:<[^(){{}}]*>\s*)?{re.escape(name)}\s*\(([^()]*)\)", content)
    return any(len(re.findall(r"\w\s*:", each[1])) == given for each in found)


def _kind_of_rust(content: str, callee: str, name: str) -> str:
    """What a call makes of rdkafka's or of arroyo's; `handed` if its configuration is made in another file."""
    if "kafka::producer" in content and re.search(r"(?:^|::)Producer::from_(?:hosts|client)$", callee):
        return "kafka-rust"
    if callee.endswith("KafkaConfig::new_producer_config"):
        return "arroyo" if re.search(r"\b(?:\w+_)?arroyo::", content) else ""
    if "rdkafka" not in content or not any(each in content for each in RDKAFKA):
        return ""
    if callee.endswith("ClientConfig::new"):
        return "rdkafka"
    made = name in ("create", "create_with_context") and re.fullmatch(r"\w+\.\w+", callee) is not None
    return "handed" if made and "ClientConfig::new" not in content else ""


NEW_CONFIG: Final = re.compile(
    r"\bnew\s+(?:\w+\.)*ProducerConfig\b|\bProducerConfig\??\s+\w+\s*(?:\{[^{}]*\}\s*)?=\s*new\b"
)
"""Where a source makes a configuration of a .NET producer."""


def _kind_of_dotnet(found: _SourceWalk, callee: str, name: str, node: Node) -> str:
    """A ProducerConfig, or the producers that a rider of MassTransit's makes, of which the first is told."""
    content = found.source.content
    if name == "ProducerConfig" and node.type in CREATES and "Confluent.Kafka" in content:
        return name
    if name == "ProducerBuilder" and node.type in CREATES and "Confluent.Kafka" in content:
        return "" if NEW_CONFIG.search(content) else "handed-dotnet"
    method = _method(node)
    if "KafkaFlow" in content and method == "AddProducer":
        return "kafkaflow"
    if "Wolverine" in content and method == "ConfigureProducers":
        return "wolverine"
    if "DotNetCore.CAP" in content and method == "UseKafka":
        return "cap"
    if "Confluent.Kafka" in content and method == "AddKafkaProducer":
        return "aspire"
    rides = name == "AddProducer" and "." in callee and "MassTransit" in content and "UsingKafka" in content
    first = rides and not any(each.kind == "masstransit" for each in found.makers)
    return "masstransit" if first else ""


WATERMILL: Final = re.compile(r"(?m)^[ \t]*(?:import[ \t]+)?(\w*)[ \t]*\"github\.com/ThreeDotsLabs/watermill-kafka/")
"""How a file imports Watermill's publishers, and the name that it has for them, if it is its own."""


def _kind_of_go(content: str, callee: str, name: str, node: Node) -> str:
    if re.fullmatch(r"sarama\.New(?:Sync|Async)Producer(?:FromClient)?", callee):
        return "sarama"
    if name == "NewPublisher" and callee.partition(".")[0] in {each or "kafka" for each in WATERMILL.findall(content)}:
        return "watermill"
    if "segmentio/kafka-go" in content and name in ("Writer", "WriterConfig") and node.type == "composite_literal":
        return "kafka-go" if name == "Writer" else "kafka-go-config"
    if callee == "kgo.NewClient" and PRODUCES.search(content):
        return "franz-go"
    if callee == "goka.NewEmitter":
        return "goka"
    if callee == "kafkapubsub.OpenTopic":
        return "gocloud"
    return "confluent" if name == "NewProducer" and "confluentinc/confluent-kafka-go" in content else ""


def _kind_of_javascript(found: _SourceWalk, callee: str, name: str, node: Node) -> str:
    packages = _packages(found.source.content)
    called = name == "producer" and node.type == "call_expression" and "." in callee
    if CONFLUENTS in packages and not (node.type == "new_expression" and name in OF_NODE):
        return "confluent-javascript" if called else ""
    if called:
        if "kafkajs" in packages:
            return "kafkajs"
        imported = _imported(found.source, callee.partition(".")[0])
        if "kafkajs" in imported or CONFLUENTS in imported:
            return "kafkajs" if "kafkajs" in imported else "confluent-javascript"
    if "node-rdkafka" in packages and callee.endswith("Producer.createWriteStream"):
        return "node-rdkafka"
    if node.type != "new_expression" or name not in OF_NODE:
        return ""
    if _is_class_of_scripts(found.source, callee.partition(".")[0]):
        return ""
    kinds = {each: each for each in (PLATFORMATIC, "node-rdkafka", "kafka-node")} | {CONFLUENTS: "node-rdkafka"}
    return next((kind for package, kind in kinds.items() if package in packages), "")


def _is_class_of_scripts(source: Text, name: str) -> bool:
    """Whether a script takes a class from a file of its own program, and no library's through it."""
    where = re.search(
        rf"\b{re.escape(name)}\b[^;\n=]{{0,200}}(?:=\s*require\(\s*|\bfrom\s+)[\"'](\.[\w./-]*)[\"']", source.content
    )
    if where is None:
        return False
    module = _imported(source, name)
    return not any(each in module for each in PACKAGES) or re.search(rf"\bclass\s+{name}\b", module) is not None


def _imported(source: Text, name: str) -> str:
    """The source of the module of the program that a name is imported from; empty if it cannot be read."""
    text = imported(source, name)
    return text.content if text is not None else ""


def _kind_of_call(found: _SourceWalk, callee: str, name: str, node: Node) -> str:
    """What a call makes by itself, without `new`: a builder, a factory, a sink of Spark's."""
    content = found.source.content
    if callee.endswith("SenderOptions.create"):
        return "SenderOptions"
    if re.search(r"\bKafkaIO\.write(?:Records)?$", callee) and "org.apache.beam" in content:
        return "beam"
    if re.search(r"\bKafkaSink(?:\.\w+)?\.builder$", callee) and "org.apache.flink" in content:
        return "KafkaSink"
    if re.search(r"(?:^|\.)ProducerSettings(?:\.(?:create|apply))?$", callee):
        if "fs2.kafka" in content or "zio.kafka" in content:
            return "fs2" if "fs2.kafka" in content else "zio"
        return "ProducerSettings" if "kafka.ProducerSettings" in content else ""
    if re.search(r"\bKafka(?:Producer|WriteStream)\.create(?:Shared)?$", callee) and "io.vertx" in content:
        return "vert.x" if "package io.vertx.kafka" not in content else ""  # not of its own overloads
    written = re.search(r"\.write(?:Stream)?(?:\(\))?(?:\s*\.|$)", callee) is not None
    given = _arguments(node) if name == "format" and written and "org.apache.spark" in content else []
    return "spark" if given and _string(given[0]) == "kafka" else ""


def _makers_of_config(maker: _Maker, found: _SourceWalk) -> frozenset[str]:
    """The functions that the configuration of a producer of sarama's is what they return."""
    name = _config_name(maker) if maker.kind in OF_SARAMA else ""
    if not re.fullmatch(r"\w+", name):
        return frozenset()
    body = found.scopes.get(maker.scope, "")
    return frozenset(re.findall(rf"(?<![\w.]){name}\b(?:\s*,\s*\w+)?\s*:?=\s*(?:\w+\.)?(\w+)\(", body))


OF_SARAMA: Final = frozenset({"sarama", "watermill", "gocloud", "goka"})
"""Makers that take a configuration of sarama's."""
MAKE_CONFIG: Final = (
    "sarama.NewConfig(",
    "sarama.Config{",
    "DefaultSaramaSyncPublisherConfig(",
    "kafkapubsub.MinimalConfig(",
    "goka.DefaultConfig(",
)
"""How a configuration of sarama's is made."""
WATERMILLS: Final = "DefaultSaramaSyncPublisherConfig("
"""What Watermill makes its configuration with where it is given none."""


def _config_name(maker: _Maker) -> str:
    """What the configuration of a maker is called: its last argument, or a field; empty if it is no name."""
    if maker.kind == "watermill":
        given = re.search(r"\bOverwriteSaramaConfig:\s*&?([\w.]+)(?![\w.(])", maker.text)
        return given[1] if given else ""
    if maker.kind == "goka":
        given = re.search(r"(?:ProducerBuilderWithConfig|ReplaceGlobalConfig)\(\s*([\w.]+)\s*\)", maker.text)
        return given[1] if given else "nil"
    if maker.kind == "gocloud":
        given = re.search(r"OpenTopic\(\s*[^,]+,\s*([\w.]+)\s*,", maker.text)
        return given[1] if given else ""
    told = re.search(r"(?:,|\()\s*&?\*?([\w.]+)\s*,?\s*\)$", maker.text)
    return told[1] if told else ""


def _selected(maker: _Maker, found: _SourceWalk) -> list[_Pair]:
    """The settings that a producer is made with."""
    inside = [each for each in found.pairs if maker.start <= each.start < maker.end and each.other is None]
    if maker.kind in ("cap", "aspire", "wolverine"):
        return inside
    if maker.kind == "kafkaflow":
        named = [each for each in found.pairs if each.owner in maker.names and each not in inside]
        return [each for each in (*named, *inside) if each.key != "acks" or each.owner == OF_KAFKAFLOW]
    if maker.kind == "watermill" and "OverwriteSaramaConfig" not in maker.text:
        return []
    copied = {name for value in (*_bound(maker, found), maker.text) for name in _filled_here(value, found)}
    maker = replace(maker, names=maker.names | copied | _makers_of_config(maker, found))
    names = maker.names
    if maker.kind in OF_SARAMA:
        names = _calling(names - {maker.scope.partition("@")[0]}, found.scopes)
    called = {scope for scope in found.scopes if scope.partition("@")[0] in names and scope != maker.scope}
    within = set(inside)
    own = [each for each in found.pairs if each.scope == maker.scope and each not in within and each.scope]
    mine = [each for each in own if each.owner in maker.names]
    mine = [] if maker.kind == "franz-go" else mine  # its options are not put into a map
    own = (
        mine
        if maker.kind in ("watermill", "gocloud", "goka")
        else mine or _without_anothers([each for each in own if each.value.text != SPREAD], maker, found)
    )
    shared = [
        each
        for each in found.pairs
        if (each.scope != maker.scope or not maker.scope) and each.owner in maker.names and each.owner
    ]
    local = {each for each in maker.names if _is_local(each, found.scopes.get(maker.scope, ""))}
    shared = [each for each in shared if each not in within and not _is_anothers_local(each, local, found)]
    if maker.kind == "spark":
        return inside
    if maker.kind == "beam":
        given = re.search(r"withProducerConfigUpdates\(\s*(\w+)\s*\)", maker.text)
        return [each for each in found.pairs if given and each.owner == given[1]] + inside
    known = set(shared)
    shared += [each for each in found.pairs if each.scope in called and each not in known]
    if maker.kind in ("kafkajs", PLATFORMATIC):
        shared += _at_sends(maker, found)
    if maker.kind in ("sarama", "franz-go") and not own:
        shared = [each for each in found.pairs if each not in within]
    within.update(own)
    # What another function puts is there before the producer's own changes it, wherever it stands in the file.
    return sorted([*shared, *own, *inside], key=lambda one: (one in within, one.start))


@lru_cache(maxsize=8_192)
def _is_local(name: str, body: str) -> bool:
    """Whether a function declares a variable of its own."""
    declared = rf"(?:[\w>\]]\s+|^\s*){re.escape(name)}\s*(?::[^=\n]{{0,200}})?:?=(?!=)"
    found = re.search(declared, body, re.MULTILINE)
    return found is not None and not found[0].lstrip().startswith((f"{name} =", f"{name}="))


def _is_anothers_local(pair: _Pair, local: Collection[str], found: _SourceWalk) -> bool:
    """Whether a setting is put into a variable of another function, of which the maker's own has one of that name."""
    return pair.owner in local and bool(pair.scope) and _is_local(pair.owner, found.scopes.get(pair.scope, ""))


def _settled_pairs(pairs: Sequence[_Pair], maker: _Maker, found: _SourceWalk) -> list[_Pair]:
    """Settings of other functions, unsure where the producer may be made with other ones: what it is made with is a
    parameter, and several call the function; or it is a configuration that others bring.
    """
    brought = maker.kind in OF_SARAMA and _is_config_of_others(maker, found)
    if maker.kind in MAPS and _is_parameter(maker, found.scopes.get(maker.scope, "")):
        name = maker.scope.partition("@")[0]
        calls = re.findall(rf"(?<!\w){re.escape(name)}\(\s*(\w+)", found.source.content)
        callers = [each for each in calls if each not in ("Map", "Properties", "final")]
        brought = len(set(callers)) > 1
    if not brought:
        return list(pairs)
    return [each if each.scope == maker.scope else replace(each, sure=False) for each in pairs]


def _beside(pair: _Pair, maker: _Maker) -> _Pair:
    """A setting, sure if it stands in the branch that the producer is made in: `if (!producer) { … }`."""
    inside = pair.branch is not None and pair.branch[0] <= maker.start < pair.branch[1] and pair.other is None
    return replace(pair, sure=True) if inside and not pair.sure else pair


def _at_sends(maker: _Maker, found: _SourceWalk) -> list[_Pair]:
    """What KafkaJS' sends ask for: acks is given with the records, not with the producer. Of several producers of a
    file each has what is sent with its own name.
    """
    own, others = _assigned_to(maker, found), found.assigned
    asked = [each for each in found.pairs if each.key == "acks" and each.value.text != SPREAD]
    if own and len(others) > 1:
        by = {each: _sender(each, found) for each in asked}
        asked = [each for each in asked if by[each] == own or by[each] not in others]
    return asked if len({each.value for each in asked}) == 1 else [replace(each, sure=False) for each in asked]


SEND: Final = re.compile(rb"((?:\w|[\x80-\xff])+)\s*\.\s*send(?:Batch)?\(")


def _sender(pair: _Pair, found: _SourceWalk) -> str:
    """What a script sends with, where a setting is given with the records; empty if nothing is seen to."""
    at = bisect_right(found.sends, pair.start, key=lambda one: one[0])
    return found.sends[at - 1][1] if at else ""


def _without_anothers(pairs: Sequence[_Pair], maker: _Maker, found: _SourceWalk) -> list[_Pair]:
    """Settings without those in a map that another producer of the same function takes, or in its arguments."""
    if not pairs:
        return []
    others = [each for each in found.makers if each.start != maker.start]
    names = frozenset[str]().union(*(each.names for each in others))
    spans = _joined(sorted((each.start, each.end) for each in others if not each.start <= maker.start < each.end))

    def in_arguments(pair: _Pair) -> bool:
        at = bisect_right(spans, pair.start, key=lambda span: span[0])
        return pair.other is None and at > 0 and pair.start < spans[at - 1][1]

    return [each for each in pairs if each.owner not in names and not in_arguments(each)]


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that overlap as one.

    >>> _joined([(0, 4), (1, 2), (3, 6), (8, 9)])
    [(0, 6), (8, 9)]
    """
    found: list[tuple[int, int]] = []
    for begin, end in spans:
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


MAPS: Final = frozenset({"KafkaProducer", "DefaultKafkaProducerFactory", "FlinkKafkaProducer"})
"""Makers that take a map."""
MERGES: Final = re.compile(r"(?:(\w*)\.|\b)putAll\(\s*(?!Map\.of|Collections|ImmutableMap)(?:\w+\.)?(\w*)\s*(\(?)")


def _with_outside(
    settings: list[Setting], pairs: Sequence[_Pair], maker: _Maker, found: _SourceWalk, *, based: bool, loads: bool
) -> list[Setting]:
    """Settings, and as unknown what may come from elsewhere: from a map that is a parameter of the function, is made in
    another file, or gets what another one has; from a configuration of sarama's or of .NET's that others may set. A
    transactional.id that is set under a condition leaves idempotence unknown too.
    """
    empty = not pairs
    note = "decided elsewhere in the program"
    origin = found.source.origin(maker.line)
    if any(each.key == "transactional.id" and not each.sure for each in pairs):
        pairs = [each for each in pairs if each.key != "transactional.id"]
        settings = [each for each in settings if each.key != "transactional.id"]
        if all(each.key != "enable.idempotence" for each in settings):
            settings.append(Setting("enable.idempotence", UNKNOWN, origin, known=False, note=note))
    decided = any(each.key == "enable.idempotence" for each in pairs)
    if maker.kind == "kafkajs" and not decided and re.search(r"\.producer\(\s*[^\s{)]", maker.text):
        settings.append(Setting("enable.idempotence", UNKNOWN, origin, known=False, note=note))
    if maker.kind == "kafkaflow":  # its acks are told by itself
        given = re.search(r"\.WithProducerConfig\(\s*(?!new\b)([\w.]+)", maker.text)
        foreign = given is not None and not re.search(rf"\b{re.escape(given[1])}\s*=\s*new\b", found.source.content)
        return _with_unknown(settings, maker, origin, DECISIVE[1:]) if foreign else settings
    if maker.kind in CONFIGURED:
        return _with_unknown(settings, maker, origin) if CONFIGURED[maker.kind](maker, found) else settings
    if maker.kind in ("node-rdkafka", "kafka-node") and maker.start not in found.brought and _has_options(maker, found):
        settings = [_made_unknown(each, note) if each.key == "acks" else each for each in settings]
        return _with_unknown(settings, maker, origin, ("acks",))
    if maker.kind == "beam" and not pairs and re.search(r"withProducerConfigUpdates\(\s*(?!Map\.of\b)\w", maker.text):
        return _with_unknown(settings, maker, origin)
    if maker.kind == "kafkajs":  # acks is given with the records
        settings = [each for each in settings if each.key in FIELDS.values()]  # librdkafka's are another producer's
        return [each for each in settings if (each.key, each.value) != ("acks", SPREAD)]
    if maker.kind not in MAPS or based or empty or maker.start in found.brought:
        return settings
    if found.language == "scala" and ADDED.search(found.scopes.get(maker.scope, "")):
        return _with_unknown([_made_unknown(each, note) for each in settings], maker, origin)
    if _put_later(maker, found) or _is_made_elsewhere(maker, found):
        settings = [_made_unknown(each, note) if _put_later(maker, found) else each for each in settings]
        return _with_unknown(settings, maker, origin)
    start = int(maker.scope.rpartition("@")[2] or 0)
    body = found.scopes.get(maker.scope, "") if maker.scope else ""
    merged = [
        start + each.start()
        for scope, each in found.merges
        if scope and scope == maker.scope and _is_foreign(each, found)
    ]
    if not merged and not loads and not _is_parameter(maker, body):
        return settings
    if loads and not merged:
        return settings  # what is loaded is joined where its file is known
    told = [
        _made_unknown(each, note) if merged and pair.scope == maker.scope and pair.start < merged[-1] else each
        for each, pair in zip(settings, pairs, strict=False)
    ] + settings[len(pairs) :]
    return _with_unknown(told, maker, origin)


def _with_unknown(
    settings: Sequence[Setting], maker: _Maker, origin: Origin, keys: Sequence[str] = DECISIVE
) -> list[Setting]:
    """Settings, and what decides over records as unknown where they do not have it."""
    named = {each.key for each in settings}
    note = "decided elsewhere in the program"
    return [*settings, *(Setting(key, UNKNOWN, origin, known=False, note=note) for key in keys if key not in named)]


def _has_options(maker: _Maker, found: _SourceWalk) -> bool:
    """Whether the options after a producer's first argument are not written out: the topic's settings of node-rdkafka,
    what kafka-node is told beside its client.
    """
    given = re.match(r"new\s+[\w.$]+\(\s*(?:[\w.$]+|\{[^{}]*\})\s*,\s*([\w.$]+)\s*[,)]", maker.text)
    return given is not None and given[1] not in ("undefined", "null") and not _is_literal(given[1], found)


def _given(maker: _Maker) -> str:
    """The name that a producer is made with; empty if its first argument is no name."""
    told = re.match(r"[^(]*\(\s*(?:this\.)?(\w+)\s*[,)]", maker.text)
    return told[1] if told else ""


def _put_later(maker: _Maker, found: _SourceWalk) -> bool:
    """Whether another function of the file puts a map that comes from elsewhere into the one of a producer, or into
    the one that it returns to it.
    """
    name = _given(maker)
    return any(
        (each[1] == name or (not each[1] and (not scope or scope.partition("@")[0] in maker.names)))
        and _is_foreign(each, found)
        for scope, each in found.merges
        if (scope != maker.scope if maker.scope and scope else not maker.scope and not scope)
    )


def _is_foreign(merge: re.Match[str], found: _SourceWalk) -> bool:
    """Whether the map that is put into another one is not filled in the file."""
    return merge[2] not in (found.fillers if merge[3] else found.owners)


ADDED: Final = re.compile(r"\+\+\s*\(?(?!Map\b|Seq\b|List\b)[a-z]\w*\.")
"""In Scala: a map of another object's is added."""
FRESH: Final = re.compile(
    r"(?:new\s+)?(?:\w+\.)*(?:(?:Properties|\w*Map)\s*(?:<[^()]*>|\[[^()]*\])?\s*(?:\(\s*\d*\s*\)|$|\{)"
    r"|(?:[Mm]utableMapOf|mapOf|hashMapOf|linkedMapOf|buildMap|Map|ImmutableMap|Collections)\b[\s.(\[])"
)
"""A map that is made on the spot."""


COPIED: Final = re.compile(
    r"new\s+(?:\w+\.)*(?:Properties|\w*Map)\s*(?:<[^()]*>)?\s*\(\s*(?!\d|Map\.of|ImmutableMap)\w"
)
"""A map that is made of another one."""


def _bound(maker: _Maker, found: _SourceWalk) -> list[str]:
    """What the map of a producer is bound to: in its function, or else anywhere in the file."""
    name = _given(maker)
    if not name or maker.kind not in MAPS:
        return []
    bound = re.compile(rf"(?<![\w.])(?:this\.)?{re.escape(name)}\s*(?::\s*[\w<>\[\], .?]+)?=(?!=)\s*([^;\n]+)")
    return bound.findall(found.scopes.get(maker.scope, "")) or bound.findall(found.source.content)


def _filled_here(value: str, found: _SourceWalk) -> set[str]:
    """The functions and maps of a file that an expression has its settings of."""
    own = {each for each in re.findall(r"(?<![\w.])(?:this\.)?(\w+)", value) if each in found.owners | found.fillers}
    built = {f"new {owner}" for owner, _ in OF_BUILDER.findall(value)} & found.classes
    return own | built | {each.partition(".")[2] for each in OF_CLASS.findall(value) if each in found.classes}


def _is_made_elsewhere(maker: _Maker, found: _SourceWalk) -> bool:
    """Whether what a producer is made with is what another class returns or holds, or a copy of that."""
    return any(
        not FRESH.match(value.strip())
        and not _filled_here(value, found)
        and (re.match(r"[\w.]+\s*[(.]|\w+$", value.strip()) or COPIED.match(value.strip())) is not None
        for value in _bound(maker, found)
    )


def _is_config_of_others(maker: _Maker, found: _SourceWalk) -> bool:
    """Whether a producer of sarama's is made with a configuration that is not made in its file, or is a field of what
    its function is given.
    """
    content = found.source.content
    name = _config_name(maker)
    if maker.kind == "watermill" and not name:
        return PUBLISHER not in maker.text
    if "FromClient" in maker.text:
        client = re.search(rf"\b{re.escape(name)}\b[^\n=]*=\s*sarama\.NewClient\([^\n]*?&?([\w.]+)\s*\)", content)
        name = client[1] if client else name
    if name == "nil":
        return False
    root, _, field_name = name.partition(".")
    head = found.scopes.get(maker.scope, "").partition("{\n")[0]
    parameters = re.sub(r"^func\s*\([^)]*\)", "func", head)
    given = re.search(rf"[(,]\s*{re.escape(root)}\s+[\w*.]", parameters) is not None
    if given and "FromClient" in maker.text and content.count("sarama.NewClient(") == 1:
        given = False  # the only client of the file, which an injector hands on
    if given and (field_name or maker.kind != "sarama" or not _is_set_or_called_here(maker, found)):
        return True
    texts = (content, *(found.scopes[scope] for scope in found.scopes))
    return not any(made in text for text in texts for made in MAKE_CONFIG)


def _is_set_or_called_here(maker: _Maker, found: _SourceWalk) -> bool:
    """Whether the configuration of sarama's that a function takes is one of its file: something in it sets one, or
    calls the function where it makes one.
    """
    function = re.escape(maker.scope.partition("@")[0])
    others = [text for scope, text in found.scopes.items() if scope != maker.scope]
    called = [text for text in others if re.search(rf"(?<!\w){function}\(", text)]
    return bool(found.pairs) or any(made in text for text in called for made in MAKE_CONFIG)


def _is_set_by_others(maker: _Maker, found: _SourceWalk) -> bool:
    """Whether a ProducerConfig of .NET begins with what it is given, is handed to who asks to set it, or is a field
    that is assigned elsewhere too.
    """
    if re.match(r"new\s+[\w.]*ProducerConfig\s*\(\s*[^)\s]", maker.text):
        return True
    name = re.escape(_assigned_to(maker, found))
    if not name:
        return False
    content = found.source.content
    handed = rf"(?:\.(?:Bind|Invoke)|\b[Cc]onfig(?:ure)?\w*)\(\s*{name}\s*\)"
    return re.search(rf"(?<![\w.]){name}\s*=\s*(?!new\b)\w|{handed}", content) is not None


def _assigned_to(maker: _Maker, found: _SourceWalk) -> str:
    """The variable or field that what is made is assigned to; empty if it is to none."""
    before_it = found.encoded[max(0, maker.start - 200) : maker.start].decode(errors="replace")
    told = re.search(r"(?:this\.)?(\w+)\s*(?::\s*[\w.<>]+\s*)?(?:\?\?|:)?=\s*(?:await\s+|&)?$", before_it)
    return told[1] if told else ""


CONFIGURED: Final[Mapping[str, Callable[[_Maker, _SourceWalk], bool]]] = {
    **dict.fromkeys(OF_SARAMA, _is_config_of_others),
    "ProducerConfig": _is_set_by_others,
}
"""Makers whose configuration is an object, and what tells that others set it too."""


def _made_unknown(setting: Setting, note: str) -> Setting:
    """A setting whose value something else may replace."""
    return dataclasses.replace(setting, value=UNKNOWN, known=False, note=note) if setting.key in DECISIVE else setting


def _is_parameter(maker: _Maker, body: str) -> bool:
    """Whether the only thing that a producer is made with is a parameter of its function."""
    given = re.match(r"[^(]*\(\s*(\w+)\s*[,)]", maker.text)
    return given is not None and re.search(rf"[\w>\]?]\s+{given[1]}\s*[,)]", body.partition("{")[0]) is not None


FOLLOWED: Final = frozenset(
    {
        "sarama",
        "kafka-go",
        "kafka-go-config",
        "franz-go",
        "kafkajs",
        "kafka-node",
        "spark",
        "fs2",
        "arroyo",
        "kafka-rust",
        "masstransit",
        "kafkaflow",
        "watermill",
        "gocloud",
        "goka",
        "beam",
        "cap",
        "aspire",
        "wolverine",
    }
)
"""Makers that show everything they are set to."""
PASSED: Final[Mapping[str, tuple[tuple[str, str, str], ...]]] = {
    "kafka-go-config": (("acks", "all", "kafka.WriterConfig's default"),),
    "masstransit": (("acks", "all", "the default of every librdkafka that MassTransit's rider ran on"),),
    "kafkaflow": (("acks", "all", "the default of every librdkafka that KafkaFlow ran on"),),
    "watermill": (("retries", "10", "Watermill's DefaultSaramaSyncPublisherConfig"),),
    "goka": (("retries", "20", "goka's DefaultConfig"),),
    "beam": (("retries", "3", "Beam's KafkaIO, DEFAULT_PRODUCER_PROPERTIES"),),
    "cap": (("acks", "all", "the default of every librdkafka that CAP ran on"),),
    "aspire": (("acks", "all", "the default of every librdkafka that Aspire ran on"),),
    "wolverine": (("acks", "all", "the default of every librdkafka that Wolverine ran on"),),
    "camel": (
        ("enable.idempotence", "false", "Camel's default (KafkaConfiguration of 4.8.1)"),
        ("max.in.flight.requests.per.connection", "5", "Camel's default"),
    ),
}
"""What a maker passes where nothing is written."""
CLIENTS: Final[Mapping[str, Client]] = {
    **dict.fromkeys(OF_SARAMA, "sarama"),
    "kafka-go": "kafka-go",
    "kafka-go-config": "kafka-go",
    "franz-go": "franz-go",
    "kafkajs": "kafkajs",
    "kafka-node": "kafka-node",
    PLATFORMATIC: "platformatic-kafka",
    "confluent": "librdkafka",
    "node-rdkafka": "librdkafka",
    "confluent-javascript": "librdkafka",
    "ProducerConfig": "librdkafka",
    "masstransit": "librdkafka",
    **dict.fromkeys(OF_LAMBDAS, "librdkafka"),
    "handed-dotnet": "librdkafka",
    "kafka-rust": "kafka-rust",
    **dict.fromkeys(OF_RUST, "librdkafka"),
}


def read_source(source: Text, reading: Collected) -> bool:
    """Add the producers that a source makes; what settles whose they are is in `reading.made`."""
    language = source.file.rpartition(".")[2].lower()
    parser = _parser(language)
    if parser is None:
        reading.ignored[f"source in {language}, which takes the extra kafka-chaos[sources]"] += 1
        return True
    try:
        tree = parser.parse(source.content.encode(errors="replace"))
        found = _gather(source, language, tree.root_node)
    except (RecursionError, ValueError):
        raise Unreadable("nested too deep") from None
    if language == "go":
        _gather_package(found, parser)
    elif language in ("java", "kt", "scala"):
        _gather_classes(found, language, parser)
        _gather_callers(found, language)
    elif language in SCRIPTS:
        _gather_objects(found, language)
    _customized(found, reading)
    before = len(reading.made)
    fields: set[str] = set()
    if len(found.makers) > MOST:
        reading.ignored[f"a producer beyond {MOST} of one file"] += len(found.makers) - MOST
    alternatives: dict[tuple[str, ...], list[Made]] = {}
    for maker in found.makers[:MOST]:
        count = len(reading.made)
        name = _assigned_to(maker, found) if maker.kind == "ProducerConfig" else ""
        if maker.kind == "ProducerConfig" and _is_kafkaflows(maker, name, found):
            continue
        if maker.kind == "template":
            _overrides(maker, found, reading)
            continue
        if not name.startswith("_") or name not in fields:  # a field of a builder's, made by whoever is first
            _add(maker, found, reading)
            if len(reading.made) == count + 1:
                _without_alternative(maker, found, alternatives, reading)
        fields.add(name)
    reading.made[before:] = _folded(reading.made[before:])
    return True


TARGET: Final = re.compile(
    r"(?:\b(return)|([\w.$]+)(?:\s*,\s*\w+)*\s*(?::\s*[\w.<>]+\s*)?(?:\?\?|:)?=)\s*(?:await\s+|&|\*)*\Z"
)
"""What is done with what is made: it is returned, or assigned to a variable or a field, of which Go has several."""
ALTERNATIVE: Final = (*DECISIVE, "request.required.acks", "message.send.max.retries", "transactional.id",
                      "max.in.flight.requests.per.connection", "max.in.flight")  # fmt: skip
"""What two producers do not differ in that stand for one another."""


def _without_alternative(
    maker: _Maker, found: _SourceWalk, before: dict[tuple[str, ...], list[Made]], reading: Collected
) -> None:
    """Leave out the producer that was added last, if the same function makes one before that stands in its place, with
    and without TLS for instance: both are returned, or put into one variable, and nothing that decides differs. A
    field of a class may be set by several functions.
    """
    target = TARGET.search(found.encoded[max(0, maker.start - 200) : maker.start].decode(errors="replace"))
    if target is None or not maker.scope:
        return
    last = reading.made[-1]
    alike = before.setdefault((_home(maker, target[2] or "", found), maker.kind, target[1] or target[2]), [])
    if any(_deciding(each.producer) == _deciding(last.producer) for each in alike):
        reading.made.pop()
    else:
        alike.append(last)


def _home(maker: _Maker, target: str, found: _SourceWalk) -> str:
    """In what there is one variable of a name: in the class of a field, or else in the function."""
    if not target.startswith("this."):
        return maker.scope
    classes = re.findall(rb"\bclass\s+(\w+)", found.encoded[: maker.start])
    return f"class {classes[-1].decode(errors='replace')}" if classes else maker.scope


def _deciding(producer: ProducerConfig) -> tuple[object, ...]:
    """What decides over a producer's records, and where they are sent."""
    given = ((key, each.value, each.known) for key in ALTERNATIVE if (each := producer.settings.get(key)) is not None)
    return (*given, producer.topics)


def _is_kafkaflows(maker: _Maker, name: str, found: _SourceWalk) -> bool:
    """Whether a configuration of .NET is what a producer of KafkaFlow's is made with, so that it makes none itself."""
    flows = [each for each in found.makers if each.kind == "kafkaflow"]
    return any(each.start <= maker.start < each.end or (name and name in each.names) for each in flows)


GO_CONFIG: Final = re.compile(r"(?m)^func\s+(\w+)\([^{}]{0,400}\*sarama\.Config\b")
"""A function of Go's that makes a configuration of sarama's."""
BESIDE: Final = 64
"""How many files of a package are looked into."""


def _gather_package(found: _SourceWalk, parser: Any) -> None:
    """Add what functions of other files of a Go package put into configurations of sarama's that this file asks for."""
    if not any(each.kind in OF_SARAMA for each in found.makers):
        return
    own = Path(found.source.path)
    here = set(re.findall(r"(?<![\w.])(\w+)\(", found.source.content))
    files = [(path, here) for path in sorted(own.parent.glob("*.go"))[:BESIDE] if path.name != own.name]
    for path, called in [*files, *_imported_of_go(found.source)]:
        content = "" if TESTS.search(path.name) else _content(path)
        if not called & set(GO_CONFIG.findall(content)):
            continue
        other = Text(str(path), content)
        there = _gather(other, "go", parser.parse(content.encode(errors="replace")).root_node)
        followed = _calling(called, there.scopes)
        for scope, text in there.scopes.items():
            if scope.partition("@")[0] in followed and scope not in found.scopes:
                found.scopes[scope] = text
                found.pairs += [replace(each, other=other) for each in there.pairs if each.scope == scope]


def _calling(names: Collection[str], scopes: Mapping[str, str]) -> frozenset[str]:
    """Functions, and those of the same file that they call, one after another."""
    found = frozenset(names)
    for _ in range(GIVES):
        bodies = [text.partition("{")[2] for scope, text in scopes.items() if scope.partition("@")[0] in found]
        found |= {name for text in bodies for name in re.findall(r"(?<![\w.])(\w+)\(", text)}
    return found


IMPORTED_OF_GO: Final = re.compile(r"(?m)^[ \t]*(?:import[ \t]+)?(?:(\w+)[ \t]+)?\"([\w.-]+(?:/[\w.-]+)+)\"[ \t]*$")
MODULE_OF_GO: Final = re.compile(r"(?m)^module[ \t]+(\S+)")


def _imported_of_go(source: Text) -> Iterator[tuple[Path, set[str]]]:
    """The files of packages of the same module that a file of Go's imports, and what it calls of each."""
    root = next((each for each in Path(source.path).absolute().parents if (each / "go.mod").is_file()), None)
    module = MODULE_OF_GO.search(_content(root / "go.mod")) if root is not None else None
    if root is None or module is None:
        return
    for name, path in IMPORTED_OF_GO.findall(source.content):
        if path.startswith(module[1] + "/") and ".." not in path:
            called = rf"(?<![\w.]){re.escape(name or path.rpartition('/')[2])}\.(\w+)\("
            folder = root / path.removeprefix(module[1] + "/")
            for file in sorted(folder.glob("*.go"))[:BESIDE]:
                yield file, set(re.findall(called, source.content))


OF_CLASS: Final = re.compile(r"(?<![\w.])([A-Z]\w*\.\w+)(?=\()")
"""A function of another class's, which is called."""
GIVES: Final = 5
"""How many functions of another class's are followed, each called by the one before."""


def _gather_classes(found: _SourceWalk, language: str, parser: Any) -> None:
    """Add what static functions of other classes of the program put into the maps that producers are made with."""
    makers = [each for each in found.makers if each.kind in MAPS]
    values = [value for each in makers for value in (each.text, *_bound(each, found))]
    for called in dict.fromkeys(one for value in values for one in OF_CLASS.findall(value)):
        owner, _, function = called.partition(".")
        other = _class(found.source, owner, language)
        if other is None:
            continue
        there = _gather(other, language, parser.parse(other.content.encode(errors="replace")).root_node)
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
            found.pairs += [replace(each, other=other, scope=at) for each in there.pairs if each.scope == key]
        found.classes |= {called}
    for owner, chain in dict.fromkeys(one for value in values for one in OF_BUILDER.findall(value)):
        _gather_builder(owner, re.findall(r"\.\s*(\w+)\s*\(", chain), found, language)


OF_BUILDER: Final = re.compile(
    r"\bnew\s+(?!KafkaProducer\b|Properties\b|\w*Map\b)([A-Z]\w*)\((?:[^()]|\([^()]*\)){0,400}\)"
    r"((?:\s*\.\s*\w+\((?:[^()]|\([^()]*\)){0,400}\)){1,20})"
)
"""A map that a class of the program's builds: `new Settings().forProducer(servers).build()`."""


def _gather_builder(owner: str, methods: Sequence[str], found: _SourceWalk, language: str) -> None:
    """Add what a class of the program's puts into the map that it builds, in the methods that are called of it."""
    other = _class(found.source, owner, language)
    there = _walk_of(other, language) if other is not None else None
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


def _gather_objects(found: _SourceWalk, language: str) -> None:
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
            pairs = [one for one in _walk_of(module, language).pairs if begin <= one.start < until]
            own = [replace(one, other=module, scope=maker.scope, owner=root[1], start=maker.start) for one in pairs]
            found.pairs += own
            found.brought |= {maker.start} if own else set()


OF_LIBRDKAFKA: Final = frozenset({"node-rdkafka", "confluent-javascript"})


def _gather_callers(found: _SourceWalk, language: str) -> None:
    """Add what the only call of a function puts into the map that the function makes a producer with."""
    for maker in found.makers:
        name = _given(maker)
        if maker.kind not in MAPS or not name or not _is_parameter(maker, found.scopes.get(maker.scope, "")):
            continue
        function = found.scopes[maker.scope]
        parameters = calls.parameters_of(function, language)
        if all(each != name for each, _ in parameters):
            continue
        called = maker.scope.partition("@")[0]
        made = re.search(rf"\bclass\s+{re.escape(called)}\b", found.source.content) is not None
        told = calls.calls_of(calls.root_of(found.source.path), language, called, made=made)
        if len(told) != 1 or Path(told[0].source.path).absolute() == Path(found.source.path).absolute():
            continue
        pairs = _pairs_of_argument(told[0], told[0].argument(parameters, name), language)
        if pairs:
            start = int(maker.scope.partition("@")[2])
            found.pairs += [replace(each, scope=maker.scope, owner=name, start=start) for each in pairs]
            found.brought.add(maker.start)


def _pairs_of_argument(call: calls.Call, given: str, language: str) -> list[_Pair]:
    """The settings of a map that a call hands on: a variable of the caller's, or what a function returns to it."""
    walk, scope = _around(call, language)
    pairs: list[_Pair] = []
    if re.fullmatch(r"\w+", given):
        pairs = [each for each in walk.pairs if each.owner == given and each.scope in (scope, "")]
        body = walk.scopes.get(scope, walk.source.content)
        bound = re.search(rf"(?<![\w.]){given}\s*(?::\s*[\w<>\[\], .?]+)?=(?!=)\s*([^;\n]+)", body)
        given = bound[1].strip() if bound and not FRESH.match(bound[1].strip()) else ""
        if "putAll(" in body or (bound is None and not pairs):
            return []
    if function := re.match(r"(?:(\w+)\.)?(\w+)\(", given):
        other = _class(call.source, function[1], language) if function[1] and function[1][0].isupper() else None
        there = _walk_of(other, language) if other is not None else walk
        taken = {key for key in there.scopes if key.partition("@")[0] == function[2]}
        if not taken or any(re.search(r"\bputAll\(|\.load\(", there.scopes[key]) for key in taken):
            return []
        pairs = [replace(each, other=there.source) for each in there.pairs if each.scope in taken] + pairs
    return [each if each.other is not None else replace(each, other=walk.source) for each in pairs]


def _class(source: Text, name: str, language: str) -> Text | None:
    """The file of a class of the program's: beside a source, or where its import says; None if there is none."""
    own = Path(source.path)
    folders = [own.parent]
    imported = re.search(rf"(?m)^import\s+(?:static\s+)?([\w.]+)\.{re.escape(name)}\b", source.content)
    package = re.search(r"(?m)^package\s+([\w.]+)", source.content)
    if imported and package and own.parent.parts[-len(package[1].split(".")) :] == tuple(package[1].split(".")):
        root = own.parents[len(package[1].split("."))]
        folders = [root.joinpath(*imported[1].split("."))]
    for folder in folders:
        path = folder / f"{name}.{language}"
        if path != own and path.is_file() and (content := _content(path)):
            return Text(str(path), content)
    return _class_of_module(source, imported[1], name, language) if imported else None


def _class_of_module(source: Text, package: str, name: str, language: str) -> Text | None:
    """The file of a class in another module of the program's, by the package that its import says; None if there is
    none, or several.
    """
    end = "/".join(("", *package.split("."), f"{name}.{language}"))
    found = [each for each in calls.sources_of(calls.root_of(source.path), language) if each.path.endswith(end)]
    return found[0] if len(found) == 1 else None


def _content(path: Path) -> str:
    """The text of a file; empty if it cannot be read, or is too large."""
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.stat().st_size < LARGEST else ""
    except OSError:
        return ""


def _customized(found: _SourceWalk, reading: Collected) -> None:
    """Add what customizers of a file put into the producers of a framework."""
    for name, framework in CUSTOMIZERS.items():
        if not re.search(rf"\b{name}\b", found.source.content):
            continue
        inherits = re.search(rf"\b(?:implements|extends|:)\s[^{{]{{0,400}}\b{name}\b", found.source.content) is not None
        for scope, text in found.scopes.items():
            function, _, start = scope.partition("@")
            own = re.search(rf"\b{name}\b", text) or (inherits and function in ("configure", "customize"))
            if own and start.isdecimal():  # not one of another class's
                _customizes(framework, scope, range(int(start), int(start) + len(text.encode())), found, reading)


def _customizes(framework: str, scope: str, within: range, found: _SourceWalk, reading: Collected) -> None:
    """Add what one method puts into a framework's producers, if it puts anything."""
    source, text = found.source, found.scopes[scope]
    pairs = [each for each in found.pairs if each.start in within]
    line = source.content.encode()[: within.start].count(b"\n") + 1
    settings = [
        Setting(each.key, each.value.text, source.origin(each.line), known=each.value.known and each.sure)
        for each in pairs
    ]
    if not pairs and not re.search(r"\.updateConfigs\(|\bputAll\(", text):
        return
    if any(_is_foreign(each, found) for each in MERGES.finditer(text)) or not pairs:
        settings = [_made_unknown(each, "a customizer puts it") for each in settings]
        named = {each.key for each in settings}
        settings += [Setting(key, UNKNOWN, source.origin(line), known=False) for key in DECISIVE if key not in named]
    before = len(reading.producers)
    reading.producer(source.file, settings, source.origin(line), client="java", framework=framework, style="none")
    producer = reading.producers.pop(before)
    reading.made.append(Made(producer, "customizer", fresh=False, loads=False, followed=True))


def _folded(made: Sequence[Made]) -> list[Made]:
    """Producers of a file. Producers of unknown settings are told once for each kind: the overloads of a factory."""
    kinds: set[str] = set()
    kept = []
    for one in made:
        if one.followed or one.kind not in kinds:
            kept.append(one)
        if not one.followed:
            kinds.add(one.kind)
    return kept


TEMPLATE: Final = re.compile(r"\bnew\s+KafkaTemplate\b|(?<![\w<.])KafkaTemplate(?:<[^<>()]*>)?\(")


def _overrides(maker: _Maker, found: _SourceWalk, reading: Collected) -> None:
    """Add what a template of Spring's sets above its factory, as a customizer of what Boot makes. Where the file makes
    several templates it is not known of which.
    """
    source = found.source
    pairs = [each for each in found.pairs if maker.start <= each.start < maker.end or each.owner in maker.names]
    if not pairs or any(each.kind in SPRING for each in found.makers):
        return
    alone = len(TEMPLATE.findall(source.content)) == 1
    settings = [
        Setting(each.key, each.value.text, source.origin(each.line), known=each.value.known and each.sure and alone)
        for each in pairs
    ]
    before = len(reading.producers)
    reading.producer(source.file, settings, source.origin(maker.line), client="java", framework="spring", style="none")
    producer = reading.producers.pop(before)
    reading.made.append(Made(producer, "customizer", fresh=False, loads=False, followed=True))


LOOPS: Final[Mapping[str, re.Pattern[str]]] = {
    "rs": re.compile(
        r"\bfor\s*\(\s*&?(\w+)\s*,\s*&?\w+\s*\)\s*in\s+&?(?:mut\s+)?([\w.]+)[^{;]{0,100}\{[^{}]{0,200}?\.set\(\s*&?\1\b"
    ),
    "go": re.compile(
        r"\bfor\s+(\w+)\s*,\s*\w+\s*:?=\s*range\s+([\w.]+)\s*\{[^{}]{0,200}?(?:\.SetKey\(\s*\1\b|\w\)?\[\1\]\s*=)"
    ),
}
"""Where a program puts all that a map of another place has into the one that its producer is made with."""


def _with_loops(settings: list[Setting], maker: _Maker, found: _SourceWalk) -> list[Setting]:
    """Settings, and what a loop puts above them of a map: of a section of the program's file, or else unknown."""
    pattern = LOOPS.get(found.language) if maker.kind in ("rdkafka", "confluent") else None
    loop = pattern.search(found.scopes.get(maker.scope, "")) if pattern is not None else None
    names = loop[2].removeprefix("self.").split(".") if loop else []
    if loop is None or names[-1] in found.owners:
        return settings
    origin = found.source.origin(maker.line)
    said = next(
        (told for at in range(len(names)) if (told := said_in(found.source.path, names[at:])) is not None), None
    )
    if said is None:
        return _with_unknown([_made_unknown(each, "a loop may set it") for each in settings], maker, origin)
    by_key = {squeezed(key): key for key in producer_keys()}
    more = {by_key[key]: value for key, value in said.items() if key in by_key}
    put = [Setting(key, value, origin, note=f"{'.'.join(names)} of a file") for key, value in more.items()]
    return [each for each in settings if each.key not in more] + put


OF_SECTION: Final = re.compile(r"\bgetConfig\(\s*\"[\w.-]+\"\s*\)\s*\.\s*(?:entrySet|root)\b")
"""Where a program of Scala's takes all that a section of its file says."""


COPIES: Final = re.compile(
    r"\[\s*(?:it|key|k|name)(?:\.key)?\s*\]\s*=(?!=)"
    r"|\b(?:put|setProperty)\(\s*(?:(?:it|entry|e)\.(?:key|getKey\(\)|_1)|key|k|name)\s*,"
    r"|\bforEach\(\s*\w+::(?:put|setProperty)\s*\)"
)
"""Where a program of the JVM's puts a section of its file into a map, by keys that only the file has."""


def _content_around(maker: _Maker, found: _SourceWalk) -> str:
    """The function that makes a producer; the file, if it is a field of a class."""
    return found.scopes.get(maker.scope, found.source.content)


def _add(maker: _Maker, found: _SourceWalk, reading: Collected) -> None:
    """Add the producer that a maker makes; one for each caller, if these give its function what differs."""
    pairs = _with_options([_beside(each, maker) for each in _selected(maker, found)], maker, found)
    pairs = _settled_pairs(pairs, maker, found)
    by_caller = _by_caller(pairs, maker, found)
    below = _by_subclass(pairs, maker, found)
    for place, own in (*by_caller, *below):
        _add_one(own, maker, found, reading, place)
    if not by_caller and not (below and _all_override(maker, found, len(below))):
        _add_one(pairs, maker, found, reading, None)


@dataclass(frozen=True, slots=True)
class _Caller:
    """Who calls the function that makes a producer: its file and line, and what it is called."""

    source: Text
    line: int
    name: str


CALLERS: Final = 10
"""Callers of one function that are told apart."""


def _by_caller(pairs: Sequence[_Pair], maker: _Maker, found: _SourceWalk) -> list[tuple[_Caller, list[_Pair]]]:
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
        given = [_told_by_call(call, call.argument(parameters, each[0]), found.language, 0) for each in wanted.values()]
        if any(each is None for each in given):
            return []
        by_values.setdefault(tuple(each or "" for each in given), call)
    scopes = Counter((call.source.path, _around(call, found.language)[1]) for call in by_values.values())
    return [
        (
            _caller(call, found.language, scopes),
            [replace(each, value=_Value(dict(zip(wanted, values, strict=True))[each])) if each in wanted else each
             for each in pairs],
        )
        for values, call in by_values.items()
    ]  # fmt: skip


def _by_subclass(pairs: Sequence[_Pair], maker: _Maker, found: _SourceWalk) -> list[tuple[_Caller, list[_Pair]]]:
    """The settings by each class of the program that inherits from the one that makes a producer, and puts more into
    the map that a method of it returns: `Map<…> settings() { var m = super.settings(); m.put(…); return m; }`.
    """
    given = {each.scope.partition("@")[0] for each in pairs if each.scope != maker.scope and each.other is None}
    methods = given & maker.names
    told: list[tuple[_Caller, list[_Pair]]] = []
    for text in _inheriting(maker, found) if methods else ():
        walk = _walk_of(text, found.language)
        taken = {key for key, body in walk.scopes.items()
                 if (name := key.partition("@")[0]) in methods and re.search(rf"\bsuper\.{name}\(", body)}  # fmt: skip
        own = [replace(each, other=text) for each in walk.pairs if each.scope in taken]
        if own:
            told.append((_Caller(text, own[0].line, ""), [*pairs, *own]))
    return told


def _inheriting(maker: _Maker, found: _SourceWalk) -> list[Text]:
    """The files of a program's module whose class inherits from the one that a producer is made in, if it is the only
    one of its file.
    """
    classes = re.findall(r"(?m)^(?:public\s+|open\s+|abstract\s+)*class\s+(\w+)", found.source.content)
    if found.language not in ("java", "kt") or len(classes) != 1 or not maker.scope:
        return []
    inherits = re.compile(rf"\bclass\s+\w+[^{{]{{0,200}}?(?:\bextends\s+|:\s*){classes[0]}\b")
    others = calls.sources_of(calls.root_of(found.source.path), found.language)
    return [each for each in others if classes[0] in each.content and inherits.search(each.content)][:CALLERS]


def _all_override(maker: _Maker, found: _SourceWalk, count: int) -> bool:
    """Whether a class that makes a producer is abstract, and all that inherit from it make one of their own of it."""
    abstract = re.search(r"(?m)^(?:public\s+)?abstract\s+class\b", found.source.content) is not None
    return abstract and len(_inheriting(maker, found)) == count


def _by_caller_of_script(
    pairs: Sequence[_Pair], maker: _Maker, found: _SourceWalk
) -> list[tuple[_Caller, list[_Pair]]]:
    """The same of a script: a field that its class has of a parameter counts too, as acks is given with the records."""
    called, owner = maker.scope.partition("@")[0], _class_around(maker.scope, found)
    told = callers(found.source, called, owner) if called else []
    if not 1 < len(told) <= CALLERS:
        return []
    values: dict[_Pair, list[str]] = {}
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
            _Caller(text, text.line_at(place.start()) if (place := places[text.path]) else 1, ""),
            [replace(each, value=_Value(own[order[each]]), sure=True) if each in order else each for each in pairs],
        )
        for own, text in by_values.items()
    ]


def _asked_of_caller(pair: _Pair, maker: _Maker, found: _SourceWalk) -> tuple[str, str, str, bool] | None:
    """Of which parameter of the function that makes a producer a setting is: that, the function's text, its name, and
    whether it makes an object; None if it is of none.
    """
    if pair.value.known or not pair.sure or pair.key not in FROM_FIELDS or pair.scope != maker.scope:
        return None
    text = pair.value.expression.strip()
    inner = CONVERTED.fullmatch(text)
    text = next(each for each in inner.groups() if each is not None).strip() if inner else text
    named = PARAMETER.fullmatch(text.removeprefix("self."))
    return _parameter(named[1], maker.scope, found) if named else None


def _caller(call: calls.Call, language: str, scopes: Mapping[tuple[str, str], int]) -> _Caller:
    """Who calls a function: named by the function that the call stands in, or by what it is assigned to if that has
    several; `scopes` counts them.
    """
    _, scope = _around(call, language)
    before = call.source.content[max(0, call.at - 200) : call.at]
    bound = re.search(r"(\w+)\s*(?::\s*[\w.<>]+\s*)?:?=\s*(?:await\s+|new\s+|&)?(?:\w+\.)*$", before)
    alone = scopes.get((call.source.path, scope), 1) == 1
    names = (scope.partition("@")[0] if alone else "", bound[1] if bound else "", scope.partition("@")[0])
    name = next((each for each in names if each), "")
    return _Caller(call.source, call.source.line_at(call.at), name)


OPTION: Final = re.compile(r"\Afunc\s+(\w+)\([^{}]*\{\s*return\s+func\(\s*\w+\s+\*[\w.]+\s*\)\s*\{")
"""A function of Go's that returns an option: `func WithAcks() Option { return func(c *sarama.Config) { … } }`."""
VARIADIC: Final = re.compile(r"\b(\w+)\s+\.\.\.[\w.*]+\s*\)")


def _with_options(pairs: list[_Pair], maker: _Maker, found: _SourceWalk) -> list[_Pair]:
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
            rest.append(replace(pair, value=_Value(text)) if text is not None and not pair.value.known else pair)
    return rest


CALLS_OPTION: Final = re.compile(r"(?:\w+\.)?([A-Z]\w*)\((.*)\)", re.DOTALL)


def _add_one(pairs: list[_Pair], maker: _Maker, found: _SourceWalk, reading: Collected, caller: _Caller | None) -> None:
    pairs = list({each.key: each for each in pairs}.values())  # of one key the last counts
    source = found.source
    settings = [
        Setting(
            each.key,
            each.value.text,
            (each.other or source).origin(each.line),
            known=each.value.known and each.sure,
            note="" if each.value.known and each.sure else "decided elsewhere in the program",
        )
        for each in pairs
    ]
    body = found.scopes.get(maker.scope, source.content)
    called = "".join(text for scope, text in found.scopes.items() if scope.partition("@")[0] in maker.names)
    based = re.search(r"buildProducerProperties|getProducer\(\)\.build|kafkaProperties", body + called) is not None
    loads = re.search(r"\.load\(|ConfigFactory|loadProps|Utils\.loadProps", body + called) is not None
    loads |= found.language == "scala" and OF_SECTION.search(_content_around(maker, found)) is not None
    loads |= maker.kind in MAPS and COPIES.search(_content_around(maker, found)) is not None
    loads |= maker.kind == "ProducerSettings"  # of Akka's and Pekko's, which begin with `….kafka.producer` of HOCON
    followed = bool(pairs) or maker.kind in FOLLOWED or (maker.kind == "KafkaStreams" and not loads)
    followed |= maker.kind == "KafkaSink" and BUILT.search(maker.text) is not None
    name = maker.scope.partition("@")[0]
    if sum(each.scope == maker.scope and each.kind == maker.kind for each in found.makers) > 1:
        name = _assigned_to(maker, found) or name  # what tells it from the others
    home, line = source, maker.line
    if caller is not None:
        home, line, name = caller.source, caller.line, caller.name
    before = len(reading.producers)
    if not pairs and BUILT_BY_BOOT.search(body + called) and "putAll(" not in body:
        settings = []  # all that it has is the file's
    elif not followed:
        settings = [
            Setting(key, UNKNOWN, source.origin(maker.line), known=False, note="decided elsewhere in the program")
            for key in DECISIVE
        ]
    settings = _with_outside(settings, pairs, maker, found, based=based, loads=loads)
    settings = _with_loops(settings, maker, found)
    if maker.kind == "KafkaStreams":
        settings += _guarantee(source)
    if maker.kind == "kafkajs" and (client := _imported(source, maker.text.partition(".")[0])):
        given = RETRIES_OF_KAFKAJS.search(client) if all(each.key != "retries" for each in settings) else None
        settings += [Setting("retries", given[1], source.origin(maker.line), note="of the client")] if given else []
    if maker.kind == "kafkajs" and (options := _options_of(maker, found)) is not None:
        settings = [each for each in settings if each.key not in options]
        settings += [Setting(key, value, source.origin(maker.line)) for key, value in options.items() if value]
    if maker.kind == "kafkajs" and (asked := configured(source, maker.text)) is not None:
        named = [replace(each, key=FIELDS[each.key]) for each in asked if each.key in FIELDS]
        settings = [each for each in settings if each.known] + named
    if maker.kind == "beam" and ".withEOS(" in maker.text:
        settings.append(Setting("transactional.id", "(its own)", source.origin(maker.line), note="withEOS of Beam"))
    if maker.kind in ("KafkaSink", "FlinkKafkaProducer") and "EXACTLY_ONCE" in maker.text:
        note = "a sink that is exactly once sends in transactions"
        settings.append(Setting("transactional.id", "(its own)", source.origin(maker.line), note=note))
    if maker.kind == "kafka-go-config":  # writer.go: 0 is nothing written, and becomes all
        settings = [each for each in settings if (each.key, each.value) != ("acks", "0")]
    passed = PASSED.get(maker.kind, ())
    if maker.kind == "watermill" and _config_name(maker) and WATERMILLS not in source.content:
        passed = ()  # the program's own configuration stands in place of Watermill's
    presets = [Setting(key, value, source.origin(maker.line), note=note) for key, value, note in passed]
    reading.producer(
        f"{home.file}, {name}" if name else home.file,
        settings,
        home.origin(line),
        client=CLIENTS.get(maker.kind, "java"),
        framework={"KafkaStreams": "streams", "spark": "spark"}.get(maker.kind, "source"),
        presets=presets,
        topics=_topics(maker, found),
        style="none",
    )
    producer = reading.producers.pop(before)
    reading.made.append(
        Made(
            producer,
            maker.kind,
            fresh=not based,
            loads=loads,
            followed=followed,
            content=source.content,
            files=frozenset(found.taken),
        )
    )


OPTIONS: Final[Mapping[str, str]] = {
    "idempotent": "enable.idempotence",
    "maxInFlightRequests": "max.in.flight.requests.per.connection",
    "transactionalId": "transactional.id",
}


def _options_of(maker: _Maker, found: _SourceWalk) -> dict[str, str] | None:
    """What KafkaJS' producer is made with, if that is an object of another module: each key with its value, empty if
    the object does not have it; None if it cannot be followed.
    """
    given = re.search(r"\.producer\(\s*(\w+(?:\.\w+)*)(\(\))?\s*\)$", maker.text)
    if given is None:
        return None
    if given[2]:
        part = returned_object(found.source, given[1])
        told = {key: of_module(f"x.{name}", part) for name, key in OPTIONS.items()} if part is not None else {}
        return {key: value or "" for key, value in told.items()} if part is not None else None
    if not _imported(found.source, given[1].partition(".")[0]):
        return None
    told = {key: _field(f"{given[1]}.{name}", found, [], maker.scope) for name, key in OPTIONS.items()}
    return {key: value or "" for key, value in told.items()} if any(told.values()) else None


BUILT_BY_BOOT: Final = re.compile(r"\bbuildProducerProperties\(|\.getProducer\(\)\.buildProperties\(")
"""Where a program takes what Spring Boot's file says of producers."""
RETRIES_OF_KAFKAJS: Final = re.compile(
    r"\bKafka\(\s*\{(?:[^{}]|\{[^{}]*\}){0,400}?\bretry:\s*\{[^{}]*\bretries:\s*(\d+)"
)
"""How often a client of KafkaJS's, which is made in another file, tries again."""
BUILT: Final = re.compile(r"\A(?!.*(?:setKafkaProducerConfig|setProperty)\().*\.build\(\)\Z", re.DOTALL)
"""A sink of Flink's that is built in one expression, without properties: it has none but its client's own."""
GUARANTEE: Final = re.compile(
    r"(?:\bPROCESSING_GUARANTEE_CONFIG|\"processing\.guarantee\")\s*\)?(?:,|\s+to|\s*->|\]\s*=)\s*"
    r"(?:StreamsConfig\.)?(\w+|\"\w*\")(?!\s*[.(?])"
)
"""Where a source sets what Kafka Streams guarantees, and to what."""


def _guarantee(source: Text) -> list[Setting]:
    """What a guarantee of Kafka Streams' makes of its producer: transactions, or it is unknown whether."""
    found = GUARANTEE.search(source.content)
    if found is None:
        set_elsewhere = re.search(r"PROCESSING_GUARANTEE_CONFIG|\"processing\.guarantee\"", source.content)
        if set_elsewhere is None:
            return []
        origin = source.origin(source.line_at(set_elsewhere.start()))
        return [Setting("enable.idempotence", UNKNOWN, origin, known=False, note="by what Streams guarantees")]
    value, origin = found[1].strip('"').lower(), source.origin(source.line_at(found.start()))
    if value == "at_least_once":
        return []
    note = f"processing.guarantee={value} of Kafka Streams"
    if value.startswith("exactly_once"):
        return [Setting("transactional.id", "(its own)", origin, note=note)]
    return [Setting("enable.idempotence", UNKNOWN, origin, known=False, note=note)]


def _topics(maker: _Maker, found: _SourceWalk) -> list[str]:
    """The topics that a producer is made for; those of the records of its file, if the file makes no other."""
    told = re.search(
        r"(?:\bTopic:\s*|(?:Default(?:Produce)?|\bwith)Topic\(|OpenTopic\([^\"\n]*)\"([\w.-]+)\"", maker.text
    )
    if maker.kind == "confluent" and len(found.makers) == 1 and (topics := _topics_of_confluent(found)):
        return topics
    if told or maker.kind == "micronaut":
        named = re.search(r"(?:\(|\b(?:id|value)\s*=)\s*\"([\w.-]+)\"", maker.text)
        asked = of_clients(found.source.content).get(named[1] if named else "", []) if not told else []
        return [told[1]] if told else _topics_told([Send(0, each) for each in asked], found)
    if len(found.makers) > 1:
        return []
    if maker.kind in ("kafka-go", "kafka-go-config") and (field := TOPIC_OF_WRITER.search(maker.text)):
        return _topics_told([Send(len(found.encoded[: maker.start].decode(errors="replace")), field[1])], found)
    return _topics_told(sends_of(found.source.content, found.language), found)


TOPIC_OF_WRITER: Final = re.compile(r"\bTopic:\s*((?:[^,\n{}()]|\([^()\n]*\)){1,200}?)\s*[,\n}]")


def _topics_told(sends: Sequence[Send], found: _SourceWalk) -> list[str]:
    """The topics that places of a source send to, as names or placeholders; empty if one of them is not told."""
    texts = _texts_beside(found) if sends else []
    taken = set(found.taken)
    with asked_for_topics():
        told = [_topic_told(each, found, texts, 0) for each in sends]
    found.taken = taken
    return list(dict.fromkeys(each for each in told if each)) if all(told) else []


def _topic_told(send: Send, found: _SourceWalk, texts: Sequence[str], depth: int) -> str | None:
    """What the expression of a topic stands for: a literal, a constant, a field of settings, or what a function or a
    constructor is given.
    """
    text = send.topic.lstrip("&*").strip()
    literal = re.fullmatch(r"[\"'`]([^\"'`\n]*)[\"'`]", text)
    if literal is not None:
        return literal[1] if OF_TOPIC.fullmatch(literal[1]) else None
    bare = text.removeprefix("this.").removeprefix("self.")
    if not bare or len(text) > LONGEST:
        return None
    at = len(found.source.content[: send.at].encode(errors="replace"))
    scope = _scope_at(at, found)
    parameters = calls.parameters_of(found.scopes[scope], found.language) if scope else ()
    is_given = any(name == bare for name, _ in parameters)
    known = found.constants.get(bare.rpartition(".")[2]) if re.fullmatch(r"[\w.]+", bare) and not is_given else None
    if known is not None and known.known:
        return known.text if OF_TOPIC.fullmatch(known.text) else None
    variable = _asked(text) or (_Value(asked) if (asked := asked_of(text)) is not None else None)
    told = variable.text if variable is not None else _field(text, found, texts, scope)
    if told is None and found.language == "go" and depth < STEPS and (field := re.fullmatch(r"\w+\.(\w+)", bare)):
        given = list(re.finditer(rf"(?<![\w.]){field[1]}:\s*(&?[\w.\"-]+)\s*[,\n}}]", found.source.content))
        if len(given) == 1:  # where the only object of the struct is made
            return _topic_told(Send(given[0].start(), given[0][1]), found, texts, depth + 1)
    if (
        told is None
        and found.language in ("java", "cs")
        and depth < STEPS
        and re.fullmatch(r"\w+", bare)
        and not is_given
    ):
        set_to = list(re.finditer(rf"(?<![\w.])(?:this\.)?{bare}\s*=(?!=)\s*([^;\n]{{1,200}});", found.source.content))
        if len(set_to) == 1:  # a field, where the constructor sets it
            return _topic_told(Send(set_to[0].start(), set_to[0][1].strip()), found, texts, depth + 1)
    return told if told is not None and OF_TOPIC.fullmatch(told) else None


def _scope_at(at: int, found: _SourceWalk) -> str:
    """The innermost function of a source that a place in its bytes is in; empty if it is in none."""
    spans = ((int(key.partition("@")[2]), len(text.encode(errors="replace")), key) for key, text in found.scopes.items()
             if key.partition("@")[2].isdecimal())  # fmt: skip
    return max(((begin, key) for begin, length, key in spans if begin <= at < begin + length), default=(0, ""))[1]


OF_TOPIC: Final = re.compile(r"[\w.-]+|\$\{[\w.-]+(?::[\w.-]+)?\}")
"""A topic's name, or a placeholder of one."""


def topics_of_module(unit: str, path: str, known: dict[Path, bool], client_id: str = "") -> list[str]:
    """The topics that the sources of a module send to, in the language of a producer's file, or those of Boot's; of one
    client of Micronaut's by its id. Empty if one of them is not told.
    """
    end = path.rpartition(".")[2]
    found: list[str] = []
    for language in (end,) if end in LANGUAGES else ("java", "kt", "scala"):
        parser = _parser(language)
        for text in calls.sources_of(calls.root_of(str(Path(unit) / "x")), language) if parser is not None else ():
            if client_id:
                asked = of_clients(text.content).get(client_id, []) if "KafkaClient" in text.content else []
                sends = [Send(0, each) for each in asked]
            else:
                sends = sends_of(text.content, language)
            if not sends or TESTS.search(text.path) or module_of_build(text.path, known) != unit:
                continue
            try:
                walk = _gather(text, language, parser.parse(text.content.encode(errors="replace")).root_node)
            except (RecursionError, ValueError):
                return []
            told = _topics_told(sends, walk)
            if not told:
                return []
            found += told
    return list(dict.fromkeys(found))


SENT_TO: Final = re.compile(r"\bTopicPartition\{\s*Topic:\s*&?([\w.]+)")
"""In Go: the topic of what is sent with confluent's client."""


def _topics_of_confluent(found: _SourceWalk) -> list[str]:
    """The topics that a file of Go's sends to, if they are constants of it."""
    named = []
    for name in SENT_TO.findall(found.source.content):
        value = found.constants.get(name)
        if value is None or not value.known or not re.fullmatch(r"[\w.-]+", value.text):
            return []
        named.append(value.text)
    return named


SHIPPED: Final = re.compile(r"/(?:dist|build|out)/(?:.*/)?[^/]+\.[cm]?js$")
"""Built code, of which a package for Node has several copies: of each kind of module, and in each bundle."""


def settle(
    made: Iterable[Made], producers: Sequence[ProducerConfig], look_up: Callable[[str], Lookup]
) -> list[ProducerConfig]:
    """Producers with what source says of them put above what their file says, and those that only source makes.

    `look_up` gives a module's own look-up of placeholders: what its application's files say.
    """
    made = list(made)
    files = frozenset[str]().union(*(one.files for one in made))
    found = [each for each in producers if not _is_read_by_source(each, made) and not _is_section_of(each, files)]
    look_ups = {one.producer.unit: look_up(one.producer.unit) for one in made}
    found = [each for each in found if not any(_is_of_fields(each, one.producer) for one in made)]
    apart = _apart(made)
    replaced: set[int] = set()
    more: list[ProducerConfig] = []
    bundled: set[object] = set()
    for one in made:
        what = _copied_of(one)
        if what is not None and what in bundled:
            continue
        bundled.add(what)
        own = _filled(_of_component(one, look_ups[one.producer.unit]), look_ups[one.producer.unit])
        if one.kind == "handed" and any(each.kind == "rdkafka" and each.producer.unit == own.unit for each in made):
            continue  # it is that one's configuration which is handed to it
        if one.kind in SPRING and _is_undecided(own) and any(_is_applications(each) for each in found):
            continue
        asked = [at for at, each in enumerate(found) if one.kind in ASKING and _is_asked_for(each, one.producer)]
        if asked:
            for at in asked:
                found[at] = _above(_as_asked(found[at], own), own, fresh=False)
            continue
        if one.kind == "micronaut":
            own, section = _of_micronaut(one, own, found)
            replaced |= section
        if one.kind == "handed-dotnet" and _is_set_in_another(one, found, made):
            continue
        if one.kind == "customizer":
            _customize(own, found, made)
            continue
        boots = [at for at, each in enumerate(found) if each.framework == "spring" and each.unit == own.unit]
        if boots and one.kind in SPRING and own.unit and _is_for_errors(one):
            beneath = _above(found[boots[0]], own, fresh=False).settings if not one.fresh else own.settings
            more.append(_addressed(dataclasses.replace(own, settings=beneath), found[boots[0]]))
            continue
        if one.kind == "ProducerConfig" and (sections := _bound_sections(one, found)):
            for at in sections:  # what the file says, in the project that binds it
                found[at] = dataclasses.replace(found[at], unit=own.unit)
            continue
        if boots and one.kind in SPRING and own.unit:
            if id(one) in apart:
                replaced |= set(boots)
                more.append(_addressed(own, found[boots[0]]))
            for at in () if id(one) in apart else boots:
                found[at] = _above(found[at], own, fresh=one.fresh and one.followed)
            continue
        if one.loads or not one.followed:
            plain = [
                at
                for at, each in enumerate(found)
                if each.unit == own.unit and each.framework in ("", "spring", "smallrye") and own.unit
            ]
            if one.followed:
                plain = _loaded(one, [found[at] for at in plain], plain, made)
            if plain:
                for at in plain:
                    found[at] = _above(found[at], own, fresh=False) if one.followed else found[at]
                continue
            if one.kind in SPRING and any(each.framework.startswith("spring") for each in found):
                continue
            if one.followed and one.kind in MAPS:
                own = _undecided(own)
        found.append(own)
    return [each for at, each in enumerate(found) if at not in replaced] + more


FOR_ERRORS: Final = r"(?:ErrorHandler|Recoverer|ContainerFactory|RetryTopicConfiguration)\b(?:<[^;(){}]*>)?"
"""What a bean is that handles what could not be received: a factory that it makes for itself is no bean of Spring's."""


def _is_for_errors(one: Made) -> bool:
    """Whether a factory of Spring's is made in a function that makes an error handler or the like, so that Boot's own
    producer is there beside it.
    """
    name = one.producer.name.rpartition(", ")[2]
    if not re.fullmatch(r"\w+", name):
        return False
    made = rf"{FOR_ERRORS}\s+{name}\s*\(|\bfun\s+{name}\s*\([^{{}}=]*?\)\s*:\s*\w*{FOR_ERRORS}"
    return re.search(made, one.content) is not None


BINDS: Final = re.compile(r"\bGetSection\(\s*\"([\w:.-]+)\"\s*\)\s*\.(?:Bind\(|Get<(?:\w+\.)*ProducerConfig>)")
"""Where a source of .NET's has a configuration filled by a section of its settings."""


def _bound_sections(one: Made, found: Sequence[ProducerConfig]) -> list[int]:
    """Which sections of files a source of .NET's binds its configuration to, and sets nothing beside that is known."""
    named = {f"{each.replace(':', '.')}.{{key}}" for each in BINDS.findall(one.content)}
    if not named or any(each.known and key in DECISIVE for key, each in one.producer.settings.items()):
        return []
    return [at for at, each in enumerate(found) if each.spelling in named and each.origin.path.endswith(".json")]


def _copied_of(one: Made) -> object:
    """What copies of one piece of built code have in common; None of a source."""
    if not SHIPPED.search(one.producer.origin.path):
        return None
    settings = tuple((key, each.value) for key, each in one.producer.settings.items())
    return (one.kind, one.producer.name.partition(",")[2], settings)


def _addressed(own: ProducerConfig, boots: ProducerConfig) -> ProducerConfig:
    """A producer that stands in place of Boot's, with the addresses that Boot's file has."""
    known = {key: each for key, each in boots.settings.items() if key == "bootstrap.servers"}
    return dataclasses.replace(own, settings=MappingProxyType({**known, **own.settings}))


def _apart(made: Sequence[Made]) -> frozenset[int]:
    """The factories of Spring's, by identity, that stand in place of Boot's and differ: a module has several."""
    by_unit: dict[str, list[Made]] = {}
    for one in made:
        if one.kind in SPRING and not _is_for_errors(one):
            by_unit.setdefault(one.producer.unit, []).append(one)
    found: set[int] = set()
    for unit, makers in by_unit.items():
        decided = {tuple(_decisive(each.producer)) for each in makers}
        if unit and len(decided) > 1 and all(each.fresh and each.followed for each in makers):
            found |= {id(each) for each in makers}
    return frozenset(found)


def _decisive(producer: ProducerConfig) -> Iterator[tuple[str, str]]:
    """What a source sets of what decides over records."""
    for key in DECISIVE:
        if key in producer.settings:
            yield key, producer.settings[key].value


def _of_micronaut(one: Made, own: ProducerConfig, found: Sequence[ProducerConfig]) -> tuple[ProducerConfig, set[int]]:
    """A client of Micronaut's above the section of its id in the files of its module, or else that of all clients; and
    the section, if it is the client's alone: by its id, or as it says nothing of what decides over records.
    """
    sections = {each.spelling: at for at, each in enumerate(found) if each.unit == own.unit and not each.framework}
    text = "\n".join(one.content.splitlines()[(own.origin.line or 1) - 1 :][:20])
    named = re.search(r"KafkaClient\(\s*\"([\w-]+)\"|\b(?:id|value)\s*=\s*\"([\w-]+)\"", text)
    by_id = sections.get(f"kafka.producers.{named[1] or named[2]}.{{key}}") if named else None
    at = by_id if by_id is not None else sections.get("kafka.producers.default.{key}")
    if at is None:
        return own, set()
    beneath = found[at].settings
    alone = by_id is not None or not any(key in DECISIVE for key in beneath)
    joined = dataclasses.replace(own, settings=MappingProxyType({**beneath, **own.settings}))
    return joined, {at} if alone else set()


def _is_undecided(own: ProducerConfig) -> bool:
    """Whether a source puts into a producer what it is told elsewhere, and nothing that is known of what decides."""
    decisive = [own.settings[key] for key in DECISIVE if key in own.settings]
    return bool(decisive) and not any(each.known for each in decisive)


def _is_applications(producer: ProducerConfig) -> bool:
    """Whether a producer is a section of an application's own: a library of the program's reads it."""
    file = producer.origin.path.rpartition("/")[2]
    return producer.framework == "" and producer.spelling != "{key}" and file.startswith("application")


def _is_asked_for(producer: ProducerConfig, own: ProducerConfig) -> bool:
    """Whether a section of an application's own is what a source of its module asks for."""
    asks = any(_asks_for(each, producer.settings.get(key)) for key, each in own.settings.items())
    return asks and _is_applications(producer) and producer.unit == own.unit


def _as_asked(section: ProducerConfig, own: ProducerConfig) -> ProducerConfig:
    """A section of a file as the source that asks for it has it: with the keys that it puts the values under."""
    settings = dict(section.settings)
    for key, each in own.settings.items():
        for named in [one for one in section.settings.values() if one.key != key and _asks_for(each, one)]:
            settings.pop(named.key, None)
            settings[key] = dataclasses.replace(named, key=key)
    return dataclasses.replace(section, settings=MappingProxyType(settings), client=own.client)


def _is_of_fields(producer: ProducerConfig, own: ProducerConfig) -> bool:
    """Whether a section of an application's own is what a source of its module has in fields of a class."""
    prefix = producer.spelling.removesuffix("{key}")
    if not _is_applications(producer) or producer.unit != own.unit or not prefix:
        return False
    if not producer.origin.path.endswith((".yml", ".yaml", ".properties")):
        return False  # what is asked of HOCON is looked up in its producer
    return any(squeezed(each.value).startswith(squeezed(f"${{{prefix}")) for each in own.settings.values())


def _is_read_by_source(producer: ProducerConfig, made: Sequence[Made]) -> bool:
    """Whether a section of .NET's is what a source reads into a configuration that it makes: one that it asks for by
    its keys, or that has only addresses.
    """
    only_addresses = producer.settings.keys() <= {"bootstrap.servers", "client.id"}
    section = producer.framework == "" and producer.origin.path.endswith(".json")
    prefix = '"' + producer.spelling.removesuffix("{key}").replace(".", ":")
    asked = producer.spelling != "{key}" and any(
        each.kind == "ProducerConfig" and prefix in each.content for each in made
    )
    return section and (asked or (only_addresses and any(each.kind == "ProducerConfig" for each in made)))


def _is_section_of(producer: ProducerConfig, files: Collection[str]) -> bool:
    """Whether it is a section of a file that a program's producer has its settings of."""
    return producer.framework == "" and str(Path(producer.origin.path).absolute()) in files


def _is_set_in_another(one: Made, found: Sequence[ProducerConfig], made: Sequence[Made]) -> bool:
    """Whether a configuration that is handed to a .NET producer is one that another source makes, or a file has: the
    projects of a solution are modules of their own.
    """
    files = any(each.framework == "" and each.origin.path.endswith(".json") for each in found)
    return files or any(each.kind == "ProducerConfig" for each in made if each is not one)


def _of_component(one: Made, look_up: Lookup) -> ProducerConfig:
    """A producer; one of Camel's with what the files of its module set its component to, if its endpoint does not."""
    if one.kind != "camel":
        return one.producer
    settings = dict(one.producer.settings)
    for option, key in OF_CAMEL.items():
        kebab = re.sub(r"(?<!^)(?=[A-Z])", "-", option).lower()
        told = next((f"{COMPONENT}{name}" for name in (kebab, option) if look_up(COMPONENT + name) is not None), "")
        if told and (key not in settings or not settings[key].known):
            settings[key] = Setting(key, look_up(told) or "", one.producer.origin, note=told)
    return dataclasses.replace(one.producer, settings=MappingProxyType(settings))


COMPONENT: Final = "camel.component.kafka."


def _customize(own: ProducerConfig, found: list[ProducerConfig], made: Sequence[Made]) -> None:
    """Put what a customizer sets above what the files of its module say; a factory of the program's own has none."""
    makes = any(each.kind in SPRING and each.producer.unit == own.unit for each in made)
    if not own.unit or (own.framework == "spring" and makes):
        return
    for at, each in enumerate(found):
        if each.framework == own.framework and each.unit == own.unit:
            found[at] = _above(each, own, fresh=False)


def _undecided(own: ProducerConfig) -> ProducerConfig:
    """A producer whose file is not among those that were read: what the source does not set is unknown."""
    note = "in a file that the program loads"
    more = {
        key: Setting(key, UNKNOWN, own.origin, known=False, note=note) for key in DECISIVE if key not in own.settings
    }
    return dataclasses.replace(own, settings=MappingProxyType({**more, **own.settings}))


def _loaded(one: Made, files: Sequence[ProducerConfig], at: Sequence[int], made: Sequence[Made]) -> list[int]:
    """Which files a program loads before it sets its own: those that it names, or the only one of the only loader."""
    names = [each.origin.path.rpartition("/")[2] for each in files]
    if named := [place for place, name in zip(at, names, strict=True) if name in one.content]:
        return named
    loaders = [each for each in made if each.loads and each.producer.unit == one.producer.unit]
    return list(at) if len(set(names)) == 1 and len(loaders) == 1 else []


def _filled(producer: ProducerConfig, look_up: Lookup) -> ProducerConfig:
    settings = {key: resolved(each, "spring", look_up) for key, each in producer.settings.items()}
    return dataclasses.replace(producer, settings=MappingProxyType(settings))


def _above(producer: ProducerConfig, own: ProducerConfig, *, fresh: bool) -> ProducerConfig:
    """A framework's producer, as the program makes it."""
    note = "the program sets it: the file does not decide"
    given = {key: each for key, each in own.settings.items() if not _asks_for(each, producer.settings.get(key))}
    said = {key: dataclasses.replace(each, note=each.note or note) for key, each in given.items()}
    kept = {
        key: each
        for key, each in producer.settings.items()
        if not fresh or key in ("bootstrap.servers",) or (key in own.settings and key not in given)
    }
    return dataclasses.replace(producer, settings=MappingProxyType({**kept, **said}))


def _asks_for(own: Setting, of_file: Setting | None) -> bool:
    """Whether what a program sets is what it asks its file for: `config.getString("kafka.acks")`."""
    asked = re.fullmatch(r"\$\{([\w.-]+)(?::[^{}]*)?\}", own.value)
    return of_file is not None and asked is not None and f".{of_file.written}".endswith(f".{asked[1]}")


LISTENS: Final = re.compile(
    r"@Kafka(?:Listener|Handler)\b|ConsumerFactory\b|MessageListenerContainer\b|ReceiverOptions\b"
)
"""What a source has that receives with Spring."""
SENDS: Final = re.compile(
    r"Kafka(?:Template|Operations|Producer|Sender)\b|ProducerFactory\b|ProducerRecord\b|@SendTo\b|StreamBridge\b"
    r"|DeadLetterPublishing|@RetryableTopic\b|RetryTopicConfiguration|SenderOptions\b|ReactiveKafkaProducer"
    r"|\bKafkaStreams\b"
)
"""What one has that may send."""


TEMPLATE_OF_BOOT: Final = re.compile(r"\bKafka(?:Template|Operations)\s*<")
"""What one has that is given a template of Spring's."""
PROPERTY_SOURCE: Final = re.compile(r"@PropertySource\([^()]{0,400}\)")


def _read(document: Document, reading: Collected) -> bool:
    """Read a source that is no test's: whether it receives or sends with Spring, and the producers that it makes."""
    source = document.source
    if TESTS.search(source.path):
        return True
    sends = SENDS.search(source.content) is not None
    if source.file.endswith((".java", ".kt", ".scala")) and (sends or LISTENS.search(source.content)):
        reading.uses[source.path] = sends
        if TEMPLATE_OF_BOOT.search(source.content) and TEMPLATES.search(source.content):
            reading.templates |= {source.path}
            reading.sent[source.path] = sent_by_templates(source.content)
    if source.file.endswith(".cs") and "Confluent.Kafka" in source.content:
        reading.uses[source.path] = "Produce" in source.content
    if "@PropertySource" in source.content:
        reading.sources |= named_properties(source, PROPERTY_SOURCE.findall(source.content))
    if source.file.endswith((".java", ".kt", ".scala")) and SQL_RUNS.search(source.content):
        read_sql(placed(source, pieces_of(source.content)), reading)
    if source.file.endswith((".java", ".kt")) and re.search(r"\bTopicBuilder\b|\bNewTopic\(", source.content):
        _make_topics(source, reading)
    if source.file.endswith(".go") and "TopicSpecification{" in source.content:
        _make_topics(source, reading)
    return read_source(source, reading) if MAKES.search(source.content) else True


def _make_topics(source: Text, reading: Collected) -> None:
    """Add the topics that a program of Java's, Kotlin's or Go's makes."""
    language = source.file.rpartition(".")[2]
    parser = _parser(language)
    if parser is None:
        return
    tree = parser.parse(source.content.encode(errors="replace"))
    try:
        found = _gather(source, language, tree.root_node)
    except RecursionError:
        return

    def constant(written: str) -> str | None:
        text = re.fullmatch(r"\"([^\"]*)\"|(-?\d+)", written)
        if text is not None:
            return text[1] if text[1] is not None else text[2]
        value = found.constants.get(written.rpartition(".")[2])
        if value is not None:
            return value.text if value.known else None
        return _field(written, found, [])

    reading.beans += topics_of_go(source, constant) if language == "go" else topics_of_beans(source, constant)


FORMATS: Final = (
    Format(
        name="Java, Kotlin, Scala, Go, C#, JavaScript, TypeScript, Rust",
        reads="the settings of the producers that a program makes. JVM: kafka-clients, Spring's factories and "
        "templates, Kafka Streams, Pekko's and Akka's ProducerSettings, Flink's, Spark's, Beam's and Storm's sinks, "
        "Vert.x, Micronaut. Go: confluent's, sarama, Watermill, Go CDK, franz-go, kafka-go. .NET: Confluent.Kafka, "
        "Aspire, KafkaFlow, MassTransit, CAP. Others: KafkaJS (NestJS and node-config too), node-rdkafka, kafka-node, "
        "@platformatic/kafka, confluent's JavaScript, rdkafka",
        files=tuple(f"*.{end}" for end in LANGUAGES if end not in ("kts",)),
        rank=25,
        whole=True,
        speaks=("twmb/franz-go", "lovoo/goka", "NewTopic"),
        claims=lambda document: document.file.rpartition(".")[2] in LANGUAGES,
        read=_read,
    ),
)
