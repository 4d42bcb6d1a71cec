"""Trees of tree-sitter's: the grammar of each language, what a node is called, and what a walk over a tree gathers.

A `SourceWalk` has what was found in one source: the settings that are put into maps (`Pair`), the places that make
producers (`Maker`), constants (`Value`), and the text of each function (a *scope*: its name and where it begins).
`Made` is a producer before it is settled whose it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Final

from audit.model import ProducerConfig
from audit.readers.text import Text

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
UNKNOWN: Final = "(not in this file)"
LONGEST: Final = 200
"""Characters of the longest expression that is followed."""
DECISIVE: Final = ("acks", "enable.idempotence", "retries")
SPREAD: Final = "(what another object has)"
SCRIPTS: Final = ("js", "mjs", "cjs", "ts")
SPRING: Final = frozenset({"DefaultKafkaProducerFactory", "SenderOptions"})
ASKING: Final = SPRING | {"KafkaProducer"}
"""Makers whose settings a program may ask its own file for."""
LINKS: Final = CALLS | {
    "generic_function",
    "field_expression",
    "navigation_expression",
    "member_expression",
    "selector_expression",
}
Node = Any
"""A node of tree-sitter's, whose package has no types of its own that hold across releases."""


@dataclass(frozen=True, slots=True)
class Value:
    """What stands for the value of a setting, as far as it is written out."""

    text: str
    known: bool = True
    expression: str = field(default="", compare=False)
    """What stands in the source, if that is not known by itself."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One setting that is made, and where: the function, and the variable that it is put into."""

    key: str
    value: Value
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
class Maker:
    """Where a producer is made, and what with."""

    kind: str
    line: int
    scope: str
    start: int
    end: int
    names: frozenset[str]
    """The identifiers in its arguments."""
    text: str


@dataclass(slots=True)
class SourceWalk:
    """What a walk over a tree gathers."""

    source: Text
    language: str
    pairs: list[Pair] = field(default_factory=list)
    makers: list[Maker] = field(default_factory=list)
    constants: dict[str, Value] = field(default_factory=dict)
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
def parser_of(language: str) -> Any:
    """A parser; None if the grammar is not installed."""
    module, function = LANGUAGES[language]
    try:
        sitter = import_module("tree_sitter")
        return sitter.Parser(sitter.Language(getattr(import_module(module), function)()))
    except ImportError:
        return None


def code_of(node: Node) -> str:
    """The source of a node."""
    return str(node.text.decode(errors="replace"))


def children_of(node: Node, *kinds: str) -> list[Node]:
    """The children of a node that are of some kinds."""
    return [each for each in node.named_children if each.type in kinds]


def walk_nodes(node: Node) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """Every named node with its ancestors, in the order of the source."""
    todo: list[tuple[Node, tuple[Node, ...]]] = [(node, ())]
    while todo:
        each, above = todo.pop()
        yield each, above
        if len(above) < DEEPEST:
            todo += [(child, (*above, each)) for child in reversed(each.named_children)]


def name_of(node: Node) -> str:
    """The name of a declaration or assignment; empty if it has none."""
    named = node.child_by_field_name("name") or node.child_by_field_name("pattern") or node.child_by_field_name("left")
    if named is None:
        found = children_of(node, "variable_declaration", "identifier", "simple_identifier")
        named = found[0] if found else None
    return re.match(r"\w*", code_of(named).strip())[0] if named is not None else ""  # type: ignore[index]


def scope_of(above: Sequence[Node]) -> str:
    """The function that a node stands in, with its place; empty if it stands in none."""
    return next((f"{name_of(each)}@{each.start_byte}" for each in reversed(above) if each.type in FUNCTIONS), "")


def owner_of(above: Sequence[Node]) -> str:
    """The variable that a node is declared in; empty if a function is nearer."""
    for each in reversed(above):
        if each.type in DECLARES:
            return name_of(each)
        if each.type in FUNCTIONS:
            return ""
    return ""


HEADS_OF_IF: Final = frozenset({"initializer", "condition", "value"})
"""What of a condition is done in any case: in Go, `if err := config.SetKey("acks", 1); err != nil`."""
CASES: Final = re.compile(r"case|entry|arm$|section|group|rule")
"""Nodes of the cases of a `switch`, a `when` or a `match`, which may stand in a block."""


def branch_of(above: Sequence[Node], inner: Node) -> tuple[int, int] | None:
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


def string_of(node: Node) -> str | None:
    """The text of a literal; None if a node is another expression, or has something put into it."""
    if node.type in STRINGS:
        text = code_of(node)
        return None if "${" in text and node.type == "template_string" else text.strip("\"'`").removeprefix('@"')
    return None


def given_to(node: Node) -> list[Node]:
    """The arguments of a call or creation, without comments."""
    found = node.child_by_field_name("arguments")
    if found is None:
        inside = children_of(node, "value_arguments", "call_suffix", "arguments", "argument_list")
        found = inside[0] if inside else None
    return [] if found is None else [each for each in found.named_children if "comment" not in each.type]


def callee_of(node: Node) -> str:
    """What is called or made, without its arguments and types: "kafka.Writer", "props.put"."""
    if node.type == IMPLICIT:
        return _declared(node)
    for name in ("constructor", "function", "type"):
        if (found := node.child_by_field_name(name)) is not None:
            owner, last = found.child_by_field_name("object"), found.child_by_field_name("property")
            if owner is not None and last is not None and owner.type in ("new_expression", "call_expression"):
                return f"(made).{code_of(last)}"  # `new Kafka({brokers: […]}).producer`
            text = code_of(found)
            last = found.child_by_field_name("field") if found.type == "field_expression" else None
            end = f".{code_of(last)}" if last is not None and re.search(r"\[[^()]*\(", text) else ""
            called = re.sub(r"[<\[].*", "", text, flags=re.DOTALL).strip() + end
            return re.sub(r"\s*\n\s*(?=\??\.)", "", called) if "\n" in called else called
    if node.type == "method_invocation":
        owner = node.child_by_field_name("object")
        name = node.child_by_field_name("name")
        return (f"{code_of(owner)}." if owner is not None else "") + (code_of(name) if name is not None else "")
    first = node.named_children[0] if node.named_child_count else None
    return re.sub(r"[<\[].*", "", code_of(first), flags=re.DOTALL).strip() if first is not None else ""


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
            return code_of(told).rstrip("?")
    return ""


def class_around(scope: str, found: SourceWalk) -> str:
    """The class that a constructor of a script makes objects of; empty for other functions."""
    start = int(scope.rpartition("@")[2] or 0)
    before = found.encoded[:start].decode(errors="replace") if scope.startswith("constructor@") else ""
    named = re.findall(r"\bclass\s+(\w+)", before)
    return named[-1] if named else ""


def method_of(node: Node) -> str:
    """The last name of what a call of Scala's or C#'s calls, whatever stands before it; without its types."""
    called = node.child_by_field_name("function")
    last = called.child_by_field_name("field" if called.type == "field_expression" else "name") if called else None
    return code_of(last).partition("<")[0] if last is not None else ""


PLATFORMATIC: Final = "@platformatic/kafka"
CONFLUENTS: Final = "confluentinc/kafka-javascript"
PACKAGES: Final = (CONFLUENTS, "kafkajs", "node-rdkafka", "kafka-node", PLATFORMATIC)
"""Packages of Node that have a producer, as a script that imports one names it."""


@lru_cache(maxsize=8)
def packages_of(content: str) -> frozenset[str]:
    """Which of them a script names: asked of each call in it, so its text is searched once."""
    return frozenset(each for each in PACKAGES if each in content)


OF_SARAMA: Final = frozenset({"sarama", "watermill", "gocloud", "goka"})
"""Makers that take a configuration of sarama's."""
SEND: Final = re.compile(rb"((?:\w|[\x80-\xff])+)\s*\.\s*send(?:Batch)?\(")
MAPS: Final = frozenset({"KafkaProducer", "DefaultKafkaProducerFactory", "FlinkKafkaProducer"})
"""Makers that take a map."""
MERGES: Final = re.compile(r"(?:(\w*)\.|\b)putAll\(\s*(?!Map\.of|Collections|ImmutableMap)(?:\w+\.)?(\w*)\s*(\(?)")


def given_name(maker: Maker) -> str:
    """The name that a producer is made with; empty if its first argument is no name."""
    told = re.match(r"[^(]*\(\s*(?:this\.)?(\w+)\s*[,)]", maker.text)
    return told[1] if told else ""


def assigned_to(maker: Maker, found: SourceWalk) -> str:
    """The variable or field that what is made is assigned to; empty if it is to none."""
    before_it = found.encoded[max(0, maker.start - 200) : maker.start].decode(errors="replace")
    told = re.search(r"(?:this\.)?(\w+)\s*(?::\s*[\w.<>]+\s*)?(?:\?\?|:)?=\s*(?:await\s+|&)?$", before_it)
    return told[1] if told else ""


def is_parameter(maker: Maker, body: str) -> bool:
    """Whether the only thing that a producer is made with is a parameter of its function."""
    given = re.match(r"[^(]*\(\s*(\w+)\s*[,)]", maker.text)
    return given is not None and re.search(rf"[\w>\]?]\s+{given[1]}\s*[,)]", body.partition("{")[0]) is not None


def calling(names: Collection[str], scopes: Mapping[str, str]) -> frozenset[str]:
    """Functions, and those of the same file that they call, one after another."""
    found = frozenset(names)
    for _ in range(GIVES):
        bodies = [text.partition("{")[2] for scope, text in scopes.items() if scope.partition("@")[0] in found]
        found |= {name for text in bodies for name in re.findall(r"(?<![\w.])(\w+)\(", text)}
    return found


GIVES: Final = 5
"""How many functions of another class's are followed, each called by the one before."""
