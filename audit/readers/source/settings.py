"""The settings that a node puts into a map, a struct or an object: `props.put(K, V)`, `c.Producer.RequiredAcks = …`.

An object of a script that takes in another one (`{…, ...options}`) may have any setting of it: what decides is then
unknown, unless the other is written out, or says nothing of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from audit.readers.names import relaxed
from audit.readers.scripts import object_of, passed
from audit.readers.source.expressions import key_of, value_of
from audit.readers.source.nodes import (
    CALLS,
    CONDITIONS,
    CREATES,
    DECISIVE,
    DECLARES,
    FUNCTIONS,
    PLATFORMATIC,
    SCRIPTS,
    SPREAD,
    Node,
    Pair,
    SourceWalk,
    Value,
    branch_of,
    callee_of,
    class_around,
    code_of,
    name_of,
    owner_of,
    packages_of,
    scope_of,
)
from audit.readers.source.program import imported_content


def put_pair(key: str, value: Value, node: Node, above: Sequence[Node], found: SourceWalk, owner: str = "") -> None:
    """Keep a setting that a node makes: its key, its value, and the map that it is put into."""
    if key:
        # A field of another object's may be null, and is then not set.
        branch = branch_of(above, node)
        sure = branch is None and not (key == "transactional.id" and not value.known and _is_field(node, found))
        owner = (
            _result_of(owner, above, found)
            if owner and found.language in ("scala", "kt", "kts")
            else owner or owner_of(above)
        )
        pair = Pair(key, value, node.start_point[0] + 1, scope_of(above), owner, sure, node.start_byte, branch=branch)
        found.pairs.append(replace(pair, case=_case(above)) if found.language == "go" and not sure else pair)


def _case(above: Sequence[Node]) -> tuple[str, tuple[str, ...]]:
    """The case of a `switch` of Go's that a node stands in."""
    around = [each for each in reversed(above) if each.type in (*CONDITIONS, "expression_case", "default_case")][:2]
    if len(around) < 2 or around[1].type != "expression_switch_statement" or "case" not in around[0].type:
        return "", ()
    asked, given = around[1].child_by_field_name("value"), around[0].child_by_field_name("value")
    labels = re.findall(r"\"([^\"]*)\"|(-?\d+)", code_of(given)) if given is not None else []
    return (code_of(asked) if asked is not None else ""), tuple("".join(each) for each in labels)


def _result_of(owner: str, above: Sequence[Node], found: SourceWalk) -> str:
    """What a map is called outside of the block that makes it: `val props = { val p = new Properties(); …; p }`."""
    for each in reversed(above):
        if each.type in FUNCTIONS:
            break
        if each.type in DECLARES and (name := name_of(each)) != owner:
            end = found.encoded[max(each.start_byte, each.end_byte - 100) : each.end_byte].decode(errors="replace")
            return name if re.search(rf"\b{re.escape(owner)}\s*\}}\s*\Z", end) else owner
    return owner


def _is_field(node: Node, found: SourceWalk) -> bool:
    """Whether what is assigned, in a language whose settings may be null, is a field of an object."""
    return (
        found.language in ("cs", *SCRIPTS) and re.search(r"[=:]\s*[\w?]+(?:\??\.\w+)+\s*$", code_of(node)) is not None
    )


OF_FS2: Final[Mapping[str, str]] = {
    "withAcks": "acks",
    "withRetries": "retries",
    "withEnableIdempotence": "enable.idempotence",
    "withMaxInFlightRequestsPerConnection": "max.in.flight.requests.per.connection",
}
"""Methods of fs2-kafka's ProducerSettings."""
OF_KAFKAFLOW: Final = "WithAcks"
"""How KafkaFlow is told acks. What its `WithProducerConfig` says of them is put back: null without this."""
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


def is_retry_of_kafkajs(key: Node, above: Sequence[Node], found: SourceWalk) -> bool:
    """Whether a name is in what KafkaJS is told of retrying, `retry: {retries: 3}`, by a client or a producer."""
    if found.language not in SCRIPTS or code_of(key) != "retries" or "kafkajs" not in packages_of(found.source.content):
        return False
    retry = [each for each in above if each.type == "pair" and code_of(each).startswith("retry:")]
    made = next((each for each in reversed(above) if each.type in CALLS | CREATES), None)
    return bool(retry) and made is not None and re.search(r"(?:\bKafka|\.producer)$", callee_of(made)) is not None


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


def is_allowed(found: SourceWalk, key: str, written: str) -> bool:
    """Whether a name that an object or a struct has is a setting of a producer's, in this language."""
    if found.language in SCRIPTS:
        quoted = written.startswith(("'", '"'))
        of_platformatic = written in OF_PLATFORMATIC and PLATFORMATIC in packages_of(found.source.content)
        return quoted or written in FIELDS or of_platformatic
    return written != "acks"


def put_spread(node: Node, above: Sequence[Node], found: SourceWalk) -> None:
    """`{…, ...options}`: what stands before it may be replaced, unless the other object is one of the file's."""
    if len(above) < 2 or above[-1].type != "object":
        return
    if above[-2].type not in ("arguments", "variable_declarator", "assignment_expression"):
        return
    _assume_any(code_of(node).removeprefix("..."), node, above, found)


def put_copied(given: Sequence[Node], above: Sequence[Node], found: SourceWalk) -> None:
    """`Object.assign({…}, options)`, which compilers make of `{…, ...options}`."""
    for each in given:
        if each.type in ("identifier", "member_expression"):
            _assume_any(code_of(each), each, above, found)


def _assume_any(other: str, node: Node, above: Sequence[Node], found: SourceWalk) -> None:
    """Leave unknown what another object of a script may set, unless it is written out in the file."""
    if is_literal(other.strip(), found) or _says_nothing(other.strip(), found):
        return
    if _is_never_given(other.strip(), scope_of(above), found):
        return
    assigned = next((each for each in reversed(above) if each.type == "assignment_expression"), None)
    left = assigned.child_by_field_name("left") if assigned is not None else None
    owner = code_of(left).rpartition(".")[2] if left is not None else ""
    for key in DECISIVE:
        put_pair(key, Value(SPREAD, False), node, above, found, owner)


def _is_never_given(name: str, scope: str, found: SourceWalk) -> bool:
    """Whether what is spread is a parameter that is empty by default, and that no call of the program gives."""
    called, owner = scope.partition("@")[0], class_around(scope, found)
    if not re.fullmatch(r"\w+", name) or not called:
        return False
    each = passed(found.source, called, owner, name, found.scopes.get(scope, ""))
    return bool(each) and all(given in ("", "{}", "undefined") for _, given in each or ())


OF_OPTIONS: Final = re.compile(
    r"\.\.\.|Object\.assign|\b(?:acks|retr(?:y|ies)|idempoten(?:t|ce)|transactionalId|maxInFlight\w*|max\.in\.flight)\b"
)
"""What an object has that may decide over records."""


def _says_nothing(other: str, found: SourceWalk) -> bool:
    """Whether what is spread is what a module beside a script makes, of which nothing decides over records."""
    called = re.fullmatch(r"(\w+)(?:\([^()]*\))?", other)
    module = imported_content(found.source, called[1]) if called else ""
    if called is None or not module:
        return False
    name = re.escape(called[1])
    start, end = object_of(module, [], called[1])
    if start and not called[0].endswith(")"):
        return OF_OPTIONS.search(module[start:end]) is None
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


def is_literal(name: str, found: SourceWalk) -> bool:
    """Whether a name of a script is bound to an object that is written out."""
    return name in _literals(found.source.content)


@lru_cache(maxsize=1)
def _literals(content: str) -> frozenset[str]:
    """The names of a script that are bound to objects that are written out."""
    return frozenset(re.findall(r"\b(?:const|let|var)\s+(\w+)\b[^=;]{0,200}=\s*\{", content))


def put_franz(name: str, given: Sequence[Node], node: Node, above: Sequence[Node], found: SourceWalk) -> None:
    """Put what an option of franz-go's sets."""
    if name == "DisableIdempotentWrite":
        put_pair("enable.idempotence", Value("false"), node, above, found)
    elif name == "RequiredAcks" and given:
        put_pair("acks", value_of(given[0], found.constants), node, above, found)
    elif name == "RecordRetries" and given:
        put_pair("retries", value_of(given[0], found.constants), node, above, found)
    elif name == "MaxProduceRequestsInflightPerBroker" and given:
        put_pair("max.in.flight.requests.per.connection", value_of(given[0], found.constants), node, above, found)


def put_assigned(node: Node, above: Sequence[Node], found: SourceWalk) -> None:
    """`props[KEY] = value`, sarama's `config.Producer.RequiredAcks = …`, a field of a .NET ProducerConfig."""
    left = node.child_by_field_name("left") or (node.named_children[0] if node.named_child_count else None)
    right = node.child_by_field_name("right") or (node.named_children[-1] if node.named_child_count else None)
    if left is None or right is None:
        return
    text = code_of(left).strip()
    value = value_of(
        right.named_children[0] if right.type == "expression_list" and right.named_child_count else right,
        found.constants,
    )
    if left.type in ("index_expression", "subscript_expression", "element_access_expression", "indexing_expression"):
        owner = text.partition("[")[0].removeprefix("this")  # of what a function is applied to
        put_pair(key_of(left.named_children[-1], found.constants), value, node, above, found, owner)
        return
    owner, _, rest = text.partition(".")
    if found.language == "go" and (setting := re.fullmatch(r"(?:.*\.)?(\w+)\.((?:Producer|Net)\.[\w.]+)", text)):
        put_pair(SARAMA.get(setting[2], ""), value, node, above, found, setting[1])
    elif (
        found.language == "go"
        and rest in ("RequiredAcks", "MaxAttempts")
        and "segmentio/kafka-go" in found.source.content
    ):
        put_pair(FIELDS[rest], value, node, above, found, owner)
    elif found.language == "cs":
        inside = next((each for each in reversed(above) if each.type in CREATES), None)
        config = inside is not None and callee_of(inside).endswith("ProducerConfig")
        name = rest.removeprefix("Config.")  # of Aspire's settings
        name = name if name and "." not in name else text
        key = relaxed(name) if re.fullmatch(r"[A-Z]\w+", name) else None
        if key is not None and (config or rest):
            put_pair(key, value, node, above, found, owner if rest else "")
