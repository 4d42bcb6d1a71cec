"""From what is written to what is in force: a producer's settings, and a topic's, each with the reason for its value.

A producer is resolved once for each thing that is not known and would change the outcome. These are both sides of every
boundary if its release is not known, and every value that a placeholder without value could have. Answers that agree
are one answer, and each says for which releases and values it holds (`Resolved.when`). `refused` is what the client
itself refuses: such a producer does not start.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from audit.defaults import (
    ERAS,
    FOREVER,
    FRAMEWORK_SINCE,
    NAMES,
    NEVER_MEASURED,
    REQUEST_TIMEOUT_MS,
    RULES,
    Concept,
    Era,
    Rules,
    passes_retries,
    product,
    turns_idempotence_off,
)
from audit.known import known
from audit.model import Origin, ProducerConfig, Setting
from evidence.releases import numbers

T = TypeVar("T")

UNTOLD: Final[Mapping[Concept, tuple[str, ...]]] = {
    "acks": ("0", "1", "all"),
    "idempotence": ("true", "false"),
    "in_flight": ("1", "5"),
    "retries": ("0", str(FOREVER)),
}
"""What a setting may be whose value depends on something that is not here."""


DOTNET: Final[Mapping[str, str]] = {"none": "0", "leader": "1"}
"""Confluent.Kafka's names of acks (enum Acks)."""
World = tuple[str, tuple[str, ...]]
"""An era in words (empty: the release is told), and the values that settings are taken to have."""


@dataclass(frozen=True, slots=True)
class Value(Generic[T]):
    """A value in force and why it is."""

    value: T
    why: str
    """ "acks=1", "the default of kafka-clients 2.8.2", "dropped because acks=1"."""
    origin: Origin | None = None
    """Where it is written; None if it is not."""

    def __str__(self) -> str:
        return f"{self.why} ({self.origin})" if self.origin else self.why


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A producer with every value that decides over its records."""

    producer: ProducerConfig
    client: str
    """java, scala or librdkafka."""
    release: str
    worlds: tuple[World, ...] = (("", ()),)
    """Everything that this answer is for, of what was not told."""
    acks: Value[str]
    idempotence: Value[bool]
    in_flight: Value[int]
    retries: Value[int]
    delivery_timeout_ms: Value[int | None]
    refused: tuple[str, ...] = ()
    """Why the client refuses to start."""
    remarks: tuple[str, ...] = ()
    """What happens silently."""

    @property
    def does(self) -> tuple[object, ...]:
        """What decides over records, so that answers can be compared."""
        if self.refused:
            return (self.client, "refused")
        in_force = (self.acks.value, self.idempotence.value, self.in_flight.value > 1, self.retries.value > 0)
        return (self.client, *in_force)

    @property
    def when(self) -> str:
        """What was not told and is taken to be so: "the client is kafka-clients 2.1 to 2.8". Empty if all was told."""
        return conditions(self.worlds)


def resolve(producer: ProducerConfig) -> tuple[Resolved, ...]:
    """What is in force, once for each different answer; for a producer of which all is told that is one."""
    found: dict[tuple[object, ...], list[Resolved]] = {}
    for made, era, world in _worlds(producer):
        one = _resolved(made, era, world)
        found.setdefault(one.does, []).append(one)
    # Of the releases of one answer, the newest is shown.
    return tuple(replace(same[-1], worlds=tuple(one.worlds[0] for one in same)) for same in found.values())


def _worlds(producer: ProducerConfig) -> Iterator[tuple[ProducerConfig, Era, World]]:
    """Every combination of what is not told, and how to say it."""
    eras = _eras(producer)
    told = len(eras) == 1 and producer.client == eras[0].client
    for era in eras:
        untold = [
            (setting, values)
            for concept, values in UNTOLD.items()
            if (setting := written(producer, era.client, concept)) and not setting.known
        ]
        for chosen in itertools.product(*(values for _, values in untold)):
            settings = dict(producer.settings)
            taken = []
            for (setting, _), value in zip(untold, chosen, strict=True):
                settings[setting.key] = replace(setting, value=value, known=True, note="if it is that")
                taken.append(f"{setting.written} ({setting.origin}) is {_short(value)}")
            yield replace(producer, settings=settings), era, ("" if told else era.label, tuple(taken))


def _eras(producer: ProducerConfig) -> Sequence[Era]:
    """The client's release if it is told; else each era whose releases know all keys that are written."""
    if producer.client != "unknown" and producer.release:
        return (Era(producer.client, producer.release, product(producer.client, producer.release)),)
    clients = ("java", "librdkafka") if producer.client == "unknown" else (producer.client,)
    if producer.client in NEVER_MEASURED:
        own = [era for era in ERAS if era.client == producer.client and _is_since(era, producer.since)]
        return [era for era in own if _may_be(era, producer.settings)] or own
    since = FRAMEWORK_SINCE.get(producer.framework, ())
    eras = [
        era for era in ERAS if era.client in clients and not (era.client == "java" and numbers(era.release) < since)
    ]
    eras = [era for era in eras if _is_since(era, producer.since)] or eras
    # What a framework makes a transaction of runs on a release that has transactions.
    keys = {*producer.settings, *({"transactional.id"} & producer.presets.keys())}
    return [era for era in eras if _knows(era, keys)] or eras


def _is_since(era: Era, oldest: str) -> bool:
    """Whether an era has a release that is as new as the oldest that is allowed."""
    return not oldest or not era.release or numbers(era.release) >= numbers(oldest)


def _may_be(era: Era, keys: Iterable[str]) -> bool:
    """Whether a client that was never measured has what is written: idempotence, some have not."""
    return "enable.idempotence" not in keys or RULES[era.client](era.release).idempotence is not None


def _knows(era: Era, keys: Iterable[str]) -> bool:
    if era.client == "scala":
        return True
    history = known("librdkafka" if era.client == "librdkafka" else "java-producer")
    here = history.at(era.release)
    return all(key in here for key in keys if key in history.history and key not in OF_CONSUMERS)


OF_CONSUMERS: Final = frozenset(
    {"group.id", "group.protocol.type", "heartbeat.interval.ms", "partition.assignment.strategy", "session.timeout.ms"}
)
"""Keys that librdkafka's list has for both before 1.0, and for consumers from then on: a producer takes them still."""


def conditions(worlds: Iterable[World]) -> str:
    """What several worlds have in common, in words: the releases, and the values of settings; empty if nothing."""
    eras_of: dict[tuple[str, ...], list[str]] = {}
    for era, values in worlds:
        eras_of.setdefault(values, []).append(era)
    values_of: dict[tuple[str, ...], list[str]] = {}
    for values, eras in eras_of.items():
        values_of.setdefault(tuple(filter(None, dict.fromkeys(eras))), []).append(" and ".join(values))
    told = []
    for eras_told, values_told in values_of.items():
        parts = [f"the client is {' or '.join(_runs(eras_told))}"] if eras_told else []
        parts += [" or ".join(filter(None, values_told))] if any(values_told) else []
        told.append(" and ".join(parts))
    return "; or ".join(filter(None, told))


def _runs(labels: Sequence[str]) -> list[str]:
    """Eras that follow each other as one: "kafka-clients 0.8.2 to 2.0"."""
    order = [era.label for era in ERAS]
    groups: list[list[int]] = []
    for at in sorted(order.index(each) for each in labels):
        if groups and groups[-1][-1] == at - 1 and ERAS[at].client == ERAS[at - 1].client:
            groups[-1].append(at)
        else:
            groups.append([at])
    told = []
    for group in groups:
        first, last = order[group[0]], order[group[-1]]
        family = [at for at, era in enumerate(ERAS) if era.client == ERAS[group[0]].client]
        if len(group) == 1:
            told.append(first)
        elif group == family:
            told.append(f"{first.split(' ')[0]} of any release")
        elif last.endswith("later"):
            told.append(f"{_first(first)} or later")
        else:
            told.append(f"{_first(first)} to {_last(last)}")
    return told


def _first(label: str) -> str:
    return label.split(" to ")[0].split(" or ")[0]


def _last(label: str) -> str:
    return label.split(" (")[0].split(" to ")[-1].split(" or ")[-1].split(" ")[-1]


def _short(value: str) -> str:
    return "without end" if value == str(FOREVER) else value


def written(producer: ProducerConfig, client: str, concept: Concept) -> Setting | None:
    """The setting that says it, by any of its names, the last of several; what the framework presets if none does."""
    names = NAMES[client].get(concept, ())
    for place in (producer.settings, producer.presets):
        found = [place[name] for name in names if name in place]
        if found:
            return max(found, key=lambda one: (one.origin.path, one.origin.line or 0))
    return None


def _passed(producer: ProducerConfig, era: Era) -> ProducerConfig:
    """A producer with what its framework passes at this release: presets are those of the newest."""
    presets = dict(producer.presets)
    if producer.framework == "connect" and "(KIP-618)" not in getattr(presets.get("enable.idempotence"), "note", ""):
        own = presets.get("enable.idempotence")
        if own is not None and own.note.startswith("Kafka Connect") and not turns_idempotence_off(era.release):
            del presets["enable.idempotence"]
    retries = passes_retries(producer.framework, era.release)
    if retries is not None and "retries" not in presets:
        note = f"what {producer.framework.capitalize()} passes before 2.1"
        presets["retries"] = Setting("retries", str(retries), producer.origin, note=note)
    return replace(producer, presets=presets)


def _resolved(producer: ProducerConfig, era: Era, world: World) -> Resolved:
    producer = _passed(producer, era)
    told = _ClientReading(producer, era)
    rules = RULES[era.client](era.release)
    acks = told.acks(rules.acks)
    retries = told.number("retries", rules.retries)
    in_flight = told.number("in_flight", rules.in_flight)
    timeout = told.time_limit(rules)
    idempotence = told.idempotence(rules)
    if era.client == "franz-go" and not in_flight.origin and not idempotence.value:
        in_flight = Value(1, "the default of franz-go without idempotence")
    asked = idempotence.value and (idempotence.origin is not None or told.transactional is not None)
    if idempotence.value:
        found = _against_idempotence(rules, acks, retries, in_flight)
        silent = [(concept, what) for concept, what in found if not asked and concept in rules.drops]
        if silent:
            because = " and ".join(what for _, what in silent)
            idempotence = Value(False, f"on by default, dropped because {because}")
            told.remarks.append(
                f"idempotence, on by default, is dropped because {because}; only a line in the client's log says so"
            )
            refusing = [what for concept, what in found if concept not in rules.drops]
        else:
            refusing = [what for _, what in found]
        if refusing:
            told.refused.append(f"idempotence is on ({idempotence}) and excludes {' and '.join(refusing)}")
        if idempotence.value:
            acks, retries, in_flight = _adjusted(rules, acks, retries, in_flight)
    if not idempotence.value and told.transactional is not None and rules.idempotence is not None and not told.refused:
        told.refused.append(
            f"transactional.id ({told.transactional.origin}) needs idempotence, which is off ({idempotence})"
        )
    if era.client == "scala" and (mode := producer.settings.get("producer.type")) and mode.value == "async":
        told.remarks.append(
            f"producer.type=async ({mode.origin}): send() returns before anything is sent, and nobody is told of a "
            "failure; cells are measured with sync"
        )
    return Resolved(
        producer=producer,
        client=era.client,
        release=era.release,
        worlds=(world,),
        acks=acks,
        idempotence=idempotence,
        in_flight=in_flight,
        retries=retries,
        delivery_timeout_ms=timeout,
        refused=tuple(told.refused),
        remarks=tuple(told.remarks),
    )


def _against_idempotence(
    rules: Rules, acks: Value[str], retries: Value[int], in_flight: Value[int]
) -> list[tuple[Concept, str]]:
    """What is written that idempotence cannot be had with."""
    found: list[tuple[Concept, str]] = []
    if acks.origin and acks.value != "all":
        found.append(("acks", str(acks)))
    if retries.origin and retries.value == 0:
        found.append(("retries", str(retries)))
    if in_flight.origin and in_flight.value > rules.in_flight_idempotent:
        found.append(("in_flight", f"more than {rules.in_flight_idempotent} in flight: {in_flight}"))
    return found


def _adjusted(
    rules: Rules, acks: Value[str], retries: Value[int], in_flight: Value[int]
) -> tuple[Value[str], Value[int], Value[int]]:
    """Idempotence makes of defaults what it needs."""
    why = "made so because idempotence is on"
    if not acks.origin and acks.value != "all":
        acks = Value("all", why)
    if not retries.origin and retries.value != FOREVER:
        retries = Value(FOREVER, why)
    if not in_flight.origin and in_flight.value > rules.in_flight_idempotent:
        in_flight = Value(rules.in_flight_idempotent, why)
    return acks, retries, in_flight


class _ClientReading:
    """What one producer's configuration says, read for one client; collects what is refused and remarked."""

    def __init__(self, producer: ProducerConfig, era: Era) -> None:
        self._producer, self._era = producer, era
        self._default = f"the default of {era.label if era in ERAS else product(era.client, era.release)}"
        self.refused: list[str] = []
        self.remarks: list[str] = []
        self.transactional = self._setting("transactional_id")

    def _setting(self, concept: Concept) -> Setting | None:
        return written(self._producer, self._era.client, concept)

    def _why(self, setting: Setting) -> str:
        return f"{setting.written}={setting.value}" + (f", {setting.note}" if setting.note else "")

    def acks(self, default: str) -> Value[str]:
        setting = self._setting("acks")
        if setting is None:
            return Value(default, self._default)
        text = {"-1": "all"}.get(setting.value.strip().lower(), setting.value.strip().lower())
        if self._era.client == "librdkafka":
            text = DOTNET.get(text, text)
        if text not in ("0", "1", "all"):
            sent = text.isdigit() and self._era.client != "java"
            who = ", and brokers from 0.9 on refuse every record" if sent else ""
            self.refused.append(f"{self._why(setting)} ({setting.origin}) is not 0, 1 or all{who}")
        return Value(text, self._why(setting), setting.origin)

    def number(self, concept: Concept, default: int) -> Value[int]:
        setting = self._setting(concept)
        if setting is None:
            return Value(default, self._default)
        if not setting.known:
            return Value(default, self._why(setting), setting.origin)
        try:
            return Value(int(setting.value), self._why(setting), setting.origin)
        except ValueError:
            self.refused.append(f"{self._why(setting)} ({setting.origin}) is not a number")
            return Value(default, self._why(setting), setting.origin)

    def time_limit(self, rules: Rules) -> Value[int | None]:
        if rules.delivery_timeout_ms is None:
            return Value(None, f"{product(self._era.client, self._era.release)} has no such limit")
        told, setting = (
            self.number("delivery_timeout_ms", rules.delivery_timeout_ms),
            self._setting("delivery_timeout_ms"),
        )
        if rules.linger_ms is not None and setting is not None and setting.known:
            parts = {"linger.ms": rules.linger_ms, "request.timeout.ms": REQUEST_TIMEOUT_MS}
            needed = [self._milliseconds(key, default) for key, default in parts.items()]
            if None not in needed and told.value < (least := sum(filter(None, needed))):
                self.refused.append(f"{told} is less than linger.ms + request.timeout.ms, {least}")
        return Value(told.value, told.why, told.origin)

    def _milliseconds(self, key: str, default: int) -> int | None:
        """What a setting that decides over no record is; None if that is not told."""
        setting = self._producer.settings.get(key) or self._producer.presets.get(key)
        if setting is None:
            return default
        return int(setting.value) if setting.known and setting.value.strip().isdecimal() else None

    def idempotence(self, rules: Rules) -> Value[bool]:
        setting = self._setting("idempotence")
        if rules.idempotence is None:
            who = product(self._era.client, self._era.release)
            if setting is not None or self.transactional is not None:
                key = setting.key if setting is not None else "transactional.id"
                self.remarks.append(f"{who} does not know {key}: it is ignored but for a warning")
            return Value(False, f"{who} has no idempotence")
        if setting is not None:
            on = setting.value.strip().lower()
            if on not in ("true", "false"):
                self.refused.append(f"{self._why(setting)} ({setting.origin}) is not true or false")
            return Value(on == "true", self._why(setting), setting.origin)
        if self.transactional is not None:
            return Value(True, "transactional.id asks for it", self.transactional.origin)
        return Value(rules.idempotence, rules.bug or self._default)
