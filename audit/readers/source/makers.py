"""Where a source makes producers: makers of all kinds, Camel's endpoints, Micronaut's annotations, NestJS' clients.

A maker that is the first of a chain of calls has the arguments of the whole chain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from audit.readers.names import java_constants, producer_keys
from audit.readers.source.expressions import ENDPOINT, OF_CAMEL, value_of
from audit.readers.source.kinds import CHAINED, OF_LAMBDAS, OF_RUST, PRODUCES, kind_of
from audit.readers.source.nodes import (
    CALLS,
    CREATES,
    DECISIVE,
    LINKS,
    UNKNOWN,
    Maker,
    Node,
    Pair,
    SourceWalk,
    Value,
    callee_of,
    code_of,
    given_to,
    name_of,
    owner_of,
    scope_of,
)
from audit.readers.source.settings import put_pair


def find_maker(node: Node, above: Sequence[Node], found: SourceWalk) -> None:
    """Keep the producer that a node makes, if it makes one."""
    if node.type == "pair" and _is_nest(node, above):
        node = node.parent
        found.makers.append(
            Maker("kafkajs", node.start_point[0] + 1, scope_of(above), node.start_byte, node.end_byte, frozenset(), "")
        )
        return
    if node.type not in CALLS and node.type not in CREATES:
        return
    callee = callee_of(node)
    name = callee.rpartition(".")[2]
    if _is_endpoint(found, name, node):
        _endpoint(node, above, found)
        return
    kind = kind_of(found, callee, name, node)
    if kind in ("fs2", "zio") and any(each.start == node.start_byte for each in found.makers):
        return  # a link of a chain that is one already
    if kind:
        line, given = node.start_point[0] + 1, given_to(node)
        start, text = node.start_byte, code_of(node)
        if kind in CHAINED:
            node, more = _chain(node, above)
            given += more
            text = code_of(node)
        if kind in OF_LAMBDAS and given:  # what stands before it in its chain is of others
            line, start, text = given[0].start_point[0] + 1, given[0].start_byte, " ".join(map(code_of, given))
        if (kind == "watermill" and PUBLISHER not in text) or kind == "goka":
            text = found.scopes.get(scope_of(above), text)
        names = set(re.findall(r"[A-Za-z_]\w*", " ".join(map(code_of, given))))
        if kind == "franz-go" and not _produces(scope_of(above), found):
            return
        if kind == "confluent" and _only_asks(found.scopes.get(scope_of(above), "")):
            return
        if kind in OF_RUST and (_is_other(code_of(node), above) or _in_test(above)):
            return
        if kind == "arroyo":
            _of_arroyo(node, given, above, found)
        if (kind in CHAINED or kind == "kafka-go") and (owner := owner_of(above)):
            names.add(owner)
        if kind == "KafkaStreams" and any(each.kind == kind and each.scope == scope_of(above) for each in found.makers):
            return
        if kind == "kafkajs":  # the client, which says how often is tried again
            names.add(callee.partition(".")[0])
        if kind in ("watermill", "goka"):
            names |= set(re.findall(r"\w+", text))
        found.makers.append(Maker(kind, line, scope_of(above), start, node.end_byte, frozenset(names), text))


PUBLISHER: Final = "PublisherConfig{"
"""What Watermill's publisher is made with: where it is made, or before that in the same function."""


def _produces(scope: str, found: SourceWalk) -> bool:
    """Whether a client of franz-go's sends: its function says so, or no function of the file that makes one does."""
    own = found.scopes.get(scope, "")
    if PRODUCES.search(own) or not own:
        return True
    others = [each for each in found.scopes.values() if "kgo.NewClient" in each and PRODUCES.search(each)]
    return not others and not re.search(r"kgo\.Consume|kgo\.ConsumerGroup", own)


def _only_asks(function: str) -> bool:
    """Whether a function of Go's makes a producer to ask for metadata, and closes it: it sends nothing."""
    closed = re.search(r"\bdefer\s+(\w+)\.Close\(\)", function)
    if closed is None or ".GetMetadata(" not in function:
        return False
    return re.search(rf"\.Produce\w*\(|[(,]\s*{closed[1]}\s*[,)]", function) is None


def _of_arroyo(node: Node, given: Sequence[Node], above: Sequence[Node], found: SourceWalk) -> None:
    """The settings of `KafkaConfig::new_producer_config(servers, Some(HashMap::from([("acks".to_string(), …)])))`."""
    if len(given) < 2 or code_of(given[1]).strip() == "None":
        return
    pairs = list(re.finditer(r'\(\s*"([\w.]+)"(?:\.\w+\(\))?\s*,\s*("[^"]*"|[\w.]+)', code_of(given[1])))
    for each in pairs:
        known = each[2].startswith('"')
        value = Value(each[2].strip('"') if known else UNKNOWN, known)
        put_pair(each[1] if each[1] in producer_keys() else "", value, given[1], above, found)
    for key in () if pairs else DECISIVE:
        put_pair(key, Value(UNKNOWN, False), given[1], above, found)


def _is_endpoint(found: SourceWalk, name: str, node: Node) -> bool:
    """Whether a call sends to Kafka through Camel: `.to("kafka:orders?requestRequiredAcks=1")`."""
    if name not in ("to", "toD", "wireTap") or "org.apache.camel" not in found.source.content:
        return False
    given = given_to(node)
    return len(given) > 0 and ENDPOINT.fullmatch(value_of(given[0], found.constants).text) is not None


def _endpoint(node: Node, above: Sequence[Node], found: SourceWalk) -> None:
    """An endpoint of Camel's; what it does not tell is the component's, and set elsewhere."""
    given = given_to(node)[0]
    told = ENDPOINT.fullmatch(value_of(given, found.constants).text)
    assert told is not None
    line, scope = given.start_point[0] + 1, f"{told[1]}@{node.start_byte}"
    options = dict(each.partition("=")[::2] for each in re.split(r"&(?:amp;)?", told[2] or ""))
    for option, key in OF_CAMEL.items():
        if option in options:
            value = Value(re.sub(r"\{\{([^{}]+)\}\}", r"${\1}", options[option]))
            found.pairs.append(Pair(key, value, line, scope, "", True, given.start_byte))
        elif key == "acks":  # all or 1 by Camel's release, or what the component is set to
            found.pairs.append(Pair(key, Value(UNKNOWN, False), line, scope, "", True, given.start_byte))
    text = f'Topic: "{told[1]}"' if re.fullmatch(r"[\w.-]+", told[1]) else ""
    found.makers.append(Maker("camel", line, scope, given.start_byte, given.end_byte, frozenset(), text))


def _is_other(text: str, above: Sequence[Node]) -> bool:
    """Whether a ClientConfig of Rust's is a consumer's or an administrator's."""
    around = [code_of(each).partition("{")[0] for each in above if each.type in ("let_declaration", "function_item")]
    return re.search(r"group\.id|Consumer|AdminClient", " ".join((text, *around[-2:]))) is not None


def _in_test(above: Sequence[Node]) -> bool:
    """Whether it is in a test of Rust's, which stands in the file that it is about."""
    named = (name_of(each) for each in above if each.type in ("mod_item", "function_item"))
    return any(re.fullmatch(r"tests?|test_\w+", name) for name in named)


def _chain(node: Node, above: Sequence[Node]) -> tuple[Node, list[Node]]:
    """The whole chain of calls that a call is the first of, and the arguments of the others."""
    given: list[Node] = []
    for each in reversed(above):
        if each.type not in LINKS or each.named_children[0].start_byte != node.start_byte:
            break
        node = each
        if each.type in CALLS:
            given += given_to(each)
    return node, given


def find_annotated(node: Node, above: Sequence[Node], found: SourceWalk) -> None:
    """Micronaut's `@KafkaClient(acks = KafkaClient.Acknowledge.ALL)`, which sets a producer of its own."""
    if node.type not in ("annotation", "constructor_invocation") or "micronaut" not in found.source.content:
        return
    text = code_of(node)
    if re.match(r"@?KafkaClient\(", text) is None or "=" not in text:
        return
    line, scope = node.start_point[0] + 1, f"{_name_of_type(above)}@{node.start_byte}"
    if asked := re.search(r"\backs\s*=\s*[\w.]*\b(ALL|ONE|NONE)\b", text):
        value = {"ALL": "all", "ONE": "1", "NONE": "0"}[asked[1]]
        found.pairs.append(Pair("acks", Value(value), line, scope, "", True, node.start_byte))
    for each in re.finditer(r"@?Property\(\s*name\s*=\s*([\w.\"]+)\s*,\s*value\s*=\s*\"([^\"]*)\"", text):
        name = each[1].strip('"')
        key = name if name in producer_keys() else java_constants().get(name.rpartition(".")[2], "")
        if key:
            found.pairs.append(Pair(key, Value(each[2]), line, scope, "", True, node.start_byte))
    if any(each.scope == scope for each in found.pairs):
        found.makers.append(Maker("micronaut", line, scope, node.start_byte, node.end_byte, frozenset(), text))


def _name_of_type(above: Sequence[Node]) -> str:
    kinds = ("interface_declaration", "class_declaration")
    return next((name_of(each) for each in reversed(above) if each.type in kinds), "")


def _is_nest(node: Node, above: Sequence[Node]) -> bool:
    """Whether it says that a program of NestJS sends to Kafka: `transport: Transport.KAFKA` of a client, or beside what
    is said of a producer. A server only replies.
    """
    key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    if key is None or value is None or (code_of(key), code_of(value)) != ("transport", "Transport.KAFKA"):
        return False
    if node.parent is not None and re.search(r"\bproducer\b", code_of(node.parent)) is not None:
        return True
    called = [callee_of(each) for each in above if each.type in CALLS]
    return any(re.search(r"^Client(?:sModule|ProxyFactory)?\b", each) for each in called)
