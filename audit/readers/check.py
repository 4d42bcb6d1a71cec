"""What is said of settings once they are read: keys that nobody knows, values that would be refused, what is not known.

A key that is not known may be a serializer's or an interceptor's: those read the same configuration. So it is told only
if it looks like a slip (a known key is near), if it is another client's, or if the client came to know it later.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Final

from audit.known import Kind, KnownKey, known
from audit.model import HIDDEN, Client, InputProblem, Inputs, ProducerConfig, Setting, TopicConfig
from audit.readers.names import MATTERS, relaxed, words
from evidence.releases import numbers

KIND: Final[Mapping[Client, Kind]] = {"java": "java-producer", "scala": "scala-producer", "librdkafka": "librdkafka"}
OF: Final[Mapping[Client, str]] = {
    "java": "the Java producer",
    "scala": "the Scala producer",
    "librdkafka": "librdkafka's producer",
    "unknown": "a producer",
}
NEAR: Final = 0.84
"""How alike a key must be to be a slip (difflib's ratio): "ack" and "acks" are 0.86."""
MOST_NAMED: Final = 12
"""Longer lists of values, such as protocol versions, are not all that is taken."""
MOST: Final = 50
"""For how many unknown keys of one configuration near ones are looked for."""
LONGEST: Final = 80
COMMON: Final = words(
    """schema.registry.url auto.register.schemas use.latest.version specific.avro.reader value.subject.name.strategy
    key.subject.name.strategy json.fail.invalid.schema basic.auth.credentials.source interceptor.classes topic topics
    log_level error_cb stats_cb dr_cb dr_msg_cb oauth_cb throttle_cb on_delivery logger default.topic.config
    group.id auto.offset.reset enable.auto.commit session.timeout.ms client.software.name"""
)
"""Keys that stand in producers' configurations without being theirs."""
BOOLEANS: Final = frozenset({"true", "false"})
INTEGERS: Final = frozenset({"int", "long", "short", "integer"})


def check(inputs: Inputs) -> Iterator[InputProblem]:
    """Everything there is to say."""
    for producer in inputs.producers:
        yield from check_producer(producer)
    for topic in inputs.topics:
        yield from check_topic(topic)
    for broker in inputs.brokers:
        yield from _settings(broker.settings, "broker", broker.release, "a broker")


def check_producer(producer: ProducerConfig) -> Iterator[InputProblem]:
    """What there is to say of a producer's settings."""
    if producer.client not in OF:
        return
    what = OF[producer.client]
    if producer.client == "unknown":
        yield from _unknown_client(producer)
    else:
        yield from _settings(producer.settings, KIND[producer.client], producer.release, what)
    if producer.release is None:
        told = "its client is" if producer.client == "unknown" else f"the release of its client ({producer.client}) is"
        example = "librdkafka-2.3.0" if producer.client == "librdkafka" else "java-2.8.2"
        message = f"{told} not told for {producer.name!r}, and defaults depend on it"
        yield InputProblem(producer.origin, "release", message, f"say it: --client {example}")


def _unknown_client(producer: ProducerConfig) -> Iterator[InputProblem]:
    """Of a producer whose client is not told only what is nobody's key."""
    names = {name for kind in KIND.values() for name in known(kind).history}
    looked_up = 0
    for setting in producer.settings.values():
        yield from _placeholder(setting)
        if setting.key not in names and setting.key not in COMMON:
            looked_up += 1
            if looked_up <= MOST and len(setting.key) <= LONGEST and (near := _near(setting.key, names)):
                message = f"no producer has a key {setting.key!r}"
                yield InputProblem(setting.origin, "unknown-key", message, f"did you mean {near}?")


def check_topic(topic: TopicConfig) -> Iterator[InputProblem]:
    """What there is to say of a topic's settings."""
    yield from _settings(topic.settings, "topic", None, "a topic")
    least = topic.settings.get("min.insync.replicas")
    replicas = topic.replication_factor
    if least is None or replicas is None or not least.known or not least.value.isdecimal():
        return
    if int(least.value) > replicas:
        message = f"min.insync.replicas {least.value} is more than the {replicas} replicas of {topic.name}"
        do = "every write with acks=all is refused: use fewer, or more replicas"
        yield InputProblem(least.origin, "contradiction", message, do)


def _settings(settings: Mapping[str, Setting], kind: Kind, release: str | None, what: str) -> Iterator[InputProblem]:
    here, ever = known(kind).at(release), known(kind).history
    names, looked_up = set(here), 0
    for setting in settings.values():
        yield from _placeholder(setting)
        key = setting.key
        if key in here:
            yield from _value(setting, here[key])
        elif key in ever:
            if release is not None:
                yield _not_here(setting, ever[key], release, kind, what)
        elif key not in COMMON and not key.startswith(("listener.name.", "confluent.", "kafka.")):
            others = [
                OF[client] for client, each in KIND.items() if kind in KIND.values() and key in known(each).history
            ]
            looked_up += not others
            near = "" if others or looked_up > MOST or len(key) > LONGEST else _near(key, names)
            if others:
                message = f"{what} ignores {key!r}, a key of {others[0]}"
                yield InputProblem(setting.origin, "unknown-key", message, _instead(key, here) or "take it out")
            elif near:
                yield InputProblem(setting.origin, "unknown-key", f"{what} has no key {key!r}", f"did you mean {near}?")


def _not_here(setting: Setting, history: tuple[KnownKey, ...], release: str, kind: Kind, what: str) -> InputProblem:
    """What to say of a key that other releases have."""
    newest = known(kind).nearest(release)
    if numbers(history[0].since) > numbers(newest):
        message = (
            f"{what} of {release} does not know {setting.key!r}, which came after {_before(kind, history[0].since)}"
        )
        return InputProblem(setting.origin, "unknown-key", message, "it is ignored: use a newer client, or take it out")
    message = f"{what} of {release} no longer knows {setting.key!r}, gone after {history[-1].until}"
    return InputProblem(setting.origin, "unknown-key", message, "it is ignored: take it out")


def _before(kind: Kind, release: str) -> str:
    releases = known(kind).releases
    at = releases.index(release)
    return releases[at - 1] if at else "the first"


INSTEAD: Final[Mapping[str, str]] = {
    "request.required.acks": "acks",
    "message.send.max.retries": "retries",
    "metadata.broker.list": "bootstrap.servers",
    "queue.buffering.max.ms": "linger.ms",
    "batch.num.messages": "batch.size",
    "compression.codec": "compression.type",
    "message.timeout.ms": "delivery.timeout.ms",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "acks": "request.required.acks",
    "retries": "message.send.max.retries",
    "bootstrap.servers": "metadata.broker.list",
}


def _instead(key: str, here: Mapping[str, KnownKey]) -> str:
    other = INSTEAD.get(key)
    return f"write {other}" if other in here else ""


def _near(key: str, names: set[str]) -> str:
    """Known names that a key is a slip of, for a sentence; empty if there is none."""
    spelled = relaxed(key)
    if spelled in names and spelled != key:
        return str(spelled)
    longer = [name for name in sorted(names) if name.startswith(f"{key}.")]
    near = longer if len(longer) == 1 and "." in key else difflib.get_close_matches(key, sorted(names), 2, NEAR)
    return " or ".join(near)


def _placeholder(setting: Setting) -> Iterator[InputProblem]:
    if not setting.known and setting.key in MATTERS and setting.value != HIDDEN:
        kind = "template" if "{{" in setting.value or "{%" in setting.value else "placeholder"
        note = f" ({setting.note})" if setting.note else ""
        message = f"the value of {setting.written} depends on what is not here{note}"
        do = "render the template first" if kind == "template" else "say what it is: --env NAME=value"
        yield InputProblem(setting.origin, "template" if kind == "template" else "placeholder", message, do)


OF_DOTNET: Final = ("None", "Leader", "All")
"""Names of acks in Confluent.Kafka's enumeration, as appsettings.json has them."""


def _value(setting: Setting, key: KnownKey) -> Iterator[InputProblem]:
    """A value that the code refuses at its start."""
    if not setting.known or setting.value == HIDDEN:
        return
    value = setting.value.strip()
    wrong = ""
    if setting.written.endswith("Acks") and value in OF_DOTNET:
        return
    if key.type == "boolean" and value.lower() not in BOOLEANS:
        wrong = "true or false"
    elif key.type in INTEGERS and not value.removeprefix("-").removeprefix("+").isdecimal():
        wrong = "a whole number" if key.alias != "request.required.acks" and key.name != "request.required.acks" else ""
        if not wrong and value not in ("all", "-1"):
            wrong = "-1, all, 0, 1 or a number of brokers"
    elif key.valid.startswith("[") and "..." not in key.valid and key.type == "string" and " or " not in key.valid:
        allowed = [each.strip() for each in key.valid[1:-1].split(",")]
        if len(allowed) <= MOST_NAMED and all(allowed) and value not in allowed and value.lower() not in allowed:
            wrong = f"one of {', '.join(allowed)}"
    if wrong:
        yield InputProblem(
            setting.origin, "bad-value", f"{setting.written}={_shown(value)} is refused", f"it takes {wrong}"
        )


def _shown(value: str) -> str:
    return value if len(value) <= 30 and value.isprintable() else f"{value[:30]!r}…"
