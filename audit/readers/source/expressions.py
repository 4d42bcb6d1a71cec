"""What an expression is, as far as it is written out: a literal, a constant, what is asked of the environment.

A *key* is an expression that names a setting of a producer's. Values that a framework gives fields and parameters by
annotations (`@Value`, `@ConfigProperty`) are constants of the file too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from audit.readers.asked import asked_of
from audit.readers.names import java_constants, producer_keys
from audit.readers.source.nodes import (
    LONGEST,
    UNKNOWN,
    Node,
    SourceWalk,
    Value,
    children_of,
    code_of,
    name_of,
    string_of,
)

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


def asked_value(text: str) -> Value | None:
    """What a program of the JVM's asks its settings for, as a placeholder."""
    inner = AS_TEXT.fullmatch(text) if len(text) < LONGEST else None
    text = (inner[1] or inner[2]).strip() if inner else text
    found = ASKED.fullmatch(text) or OF_KTOR.fullmatch(text)
    if found is None:
        return None
    default = next((each for each in found.groups()[1:] if each is not None), None)
    return Value(f"${{{found[1]}}}" if default is None else f"${{{found[1]}:{default}}}")


JOINS: Final = frozenset({"binary_expression", "additive_expression", "infix_expression"})


def _joined(node: Node, constants: Mapping[str, Value]) -> Value | None:
    """Texts that are added to each other, if each is known and one is a literal; None of anything else."""
    parts = node.named_children
    if len(parts) == 3:  # Scala has a node for what stands between
        parts = [parts[0], parts[2]] if code_of(parts[1]) == "+" else []
    elif node.child_count != 3 or code_of(node.children[1]) != "+":
        return None
    literal = any(string_of(each) is not None or each.type in JOINS for each in parts)
    values = [value_of(each, constants) for each in parts] if literal else []
    return Value("".join(each.text for each in values)) if values and all(each.known for each in values) else None


def value_of(node: Node, constants: Mapping[str, Value]) -> Value:
    """What an expression is, as far as it is written out."""
    while (
        node.type in ("value_argument", "argument", "literal_element", "parenthesized_expression")
        and node.named_child_count
    ):
        node = node.named_children[-1]
    while node.type == "ascription_expression":  # `0: Integer`
        node = node.named_children[0]
    if (text := string_of(node)) is not None:
        return Value(text)
    if node.type in JOINS and (joined := _joined(node, constants)) is not None:
        return joined
    text = code_of(node).strip()
    text = text.lstrip("&") if node.type == "reference_expression" else text  # of Rust's
    if text in WRITTEN:
        return Value(WRITTEN[text])
    if (enumerated := ".".join(text.split(".")[-2:])) in WRITTEN and re.fullmatch(r"[\w.]+", text):
        return Value(WRITTEN[enumerated])  # of a namespace: Confluent.Kafka.Acks.All
    if found := re.fullmatch(r"\w+\.(Require(?:All|One|None))", text):  # kafka-go, under a name of the file's own
        return Value(WRITTEN[f"kafka.{found[1]}"])
    if re.fullmatch(r"-?\d[\d_]*[lL]?|true|false", text):
        return Value(text.replace("_", "").rstrip("lL"))
    if text in constants:  # of another package's in Go
        told = constants[text]
        declared = not told.known and re.fullmatch(r"string|bool|u?int\d*", told.expression) is not None
        return Value(told.text, known=False, expression=text) if declared else told  # `var acks string`
    if text.rpartition(".")[2] in constants and re.fullmatch(r"[\w.]+", text):
        return constants[text.rpartition(".")[2]]
    if (converted := OF_NAME.fullmatch(text)) and (known := constants.get(converted[1])) is not None:
        return known
    if (asked := asked_value(text)) is not None:
        return asked
    if found := re.fullmatch(r"(?:String|Integer|Boolean|Objects)\.(?:valueOf|toString)\((.+)\)", text, re.DOTALL):
        bare = found[1].strip()
        if bare in WRITTEN:  # `Integer.toString(Integer.MAX_VALUE)`
            return Value(WRITTEN[bare])
        return (
            Value(bare.strip('"'))
            if re.fullmatch(r'"[^"]*"|-?\d+|true|false', bare)
            else constants.get(bare, Value(bare, False))
        )
    if (variable := asked_of(text)) is not None:
        return Value(variable)
    return Value(UNKNOWN, known=False, expression=text[:LONGEST])


def key_of(node: Node, constants: Mapping[str, Value]) -> str:
    """The producer's key that an expression names; empty if it names none."""
    while node.type in ("value_argument", "argument", "literal_element") and node.named_child_count:
        node = node.named_children[-1]
    text = string_of(node)
    if text is not None:
        return text if text in producer_keys() else ""
    name = code_of(node).strip()
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


NAMED: Final = re.compile(r"(?:\w+\.)?[A-Z][A-Z0-9_]*")
"""What a constant is bound to that is another one: `DEFAULT_ACKS = LEADER_ONLY`."""


def keep_constant(node: Node, above: Sequence[Node], found: SourceWalk) -> None:
    """A name that is bound to a literal: of the file's, or in a function."""
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    if value is None and node.named_child_count:
        value = node.named_children[-1]
    name = name_of(node)
    if value is None or not name or code_of(value) == name or value.type in ("variable_declaration", "accessor_list"):
        return  # in Kotlin and C#, one that is declared and not bound
    while value.type == "expression_list" and value.named_child_count == 1:
        value = value.named_children[0]
    told = value_of(value, {})
    if not told.known and NAMED.fullmatch(told.expression):
        told = found.constants.get(told.expression.rpartition(".")[2], told)
    known = found.constants.get(name)
    found.constants[name] = told if known is None or known == told else Value(UNKNOWN, known=False)


INJECTED: Final = frozenset({"field_declaration", "formal_parameter", "parameter", "class_parameter"})
"""Nodes of fields and parameters, in Java and in Kotlin, whose annotations are in them or before them."""
OF_VALUE: Final = re.compile(r'@(?:\w+:)?Value\(\s*(?:value\s*=\s*)?"\\?(\$\{[^"]+\})"')


def keep_injected(node: Node, found: SourceWalk) -> bool:
    """Keep Spring's `@Value("${…}") private String ack;`, and a parameter that has one; whether it is one."""
    before = node.prev_named_sibling if node.type == "parameter" else None
    annotated = before is not None and before.type == "parameter_modifiers"
    text = OF_VALUE.search((code_of(before) if annotated else "") + code_of(node))
    given = text[1] if text is not None else _of_property(node)
    if given:
        names = [name_of(each) for each in (children_of(node, "variable_declarator") or [node])]
        for name in names:  # fields and parameters of one name may have two values
            known = found.constants.get(name, Value(given))
            found.constants[name] = known if known.text == given else Value(UNKNOWN, known=False)
    return bool(given)


PROPERTY: Final = re.compile(r"@(?:\w+:)?(?:ConfigProperty|Property)\(([^()]*)\)")
"""What MicroProfile and Micronaut give a field or parameter."""


def _of_property(node: Node) -> str:
    """The placeholder that a field or parameter has by MicroProfile's or Micronaut's annotation; empty if none."""
    found = PROPERTY.search(code_of(node))
    name = re.search(r"\bname\s*=\s*\"([\w.-]+)\"", found[1]) if found else None
    default = re.search(r"\bdefaultValue\s*=\s*\"([^\"]*)\"", found[1]) if found else None
    return "" if name is None else f"${{{name[1]}:{default[1]}}}" if default else f"${{{name[1]}}}"


OF_CAMEL: Final[Mapping[str, str]] = {
    "requestRequiredAcks": "acks",
    "enableIdempotence": "enable.idempotence",
    "retries": "retries",
    "maxInFlightRequest": "max.in.flight.requests.per.connection",
    "brokers": "bootstrap.servers",
}
"""Options of an endpoint of Camel's."""
ENDPOINT: Final = re.compile(r"kafka:(?://)?([^?\s]+)(?:\?(\S*))?")
