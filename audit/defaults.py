"""What a client does with what is not written: defaults, and when a default or a setting is silently undone.

Each rule here was compared with the clients themselves: tests/data/audit/effective.json has what KafkaProducer of
twenty releases made of 216 configurations each, and a unit test compares. What a release's code *declares* is in
`audit.known`; what it does differs in places:

* kafka-clients 3.0.0 and 3.1.0 declare enable.idempotence=true and do not act on it unless it is written
  (KAFKA-13598; fixed in 3.0.1, 3.1.1 and 3.2.0).
* From 3.0.1 on, idempotence that nobody wrote is dropped if acks is not all, retries are 0 or more than 5 requests
  may be in flight; a line in the client's log says so. From 4.0 on the last of these is refused instead.
* Idempotence that is written, or that a transactional.id asks for, is never dropped: the client refuses to start.
* From 2.1 on a delivery.timeout.ms that is written and is less than linger.ms + request.timeout.ms is refused. The
  value 30000 is enough up to 3.9 and too little from 4.0 on, since linger.ms is 5 there if it is not written.
* librdkafka has acks=all since 1.0.0 (acks=1 before), retries without end since 1.5.2 (2 before), idempotence off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from evidence.releases import numbers

Concept = Literal["acks", "idempotence", "in_flight", "retries", "delivery_timeout_ms", "transactional_id"]
FOREVER: Final = 2147483647
REQUEST_TIMEOUT_MS: Final = 30_000
"""The default of kafka-clients of every release."""

MEANT: Final[Mapping[Concept, tuple[str, ...]]] = MappingProxyType(
    {
        "acks": ("acks",),
        "idempotence": ("enable.idempotence",),
        "in_flight": ("max.in.flight.requests.per.connection",),
        "retries": ("retries",),
        "transactional_id": ("transactional.id",),
    }
)
"""For clients with names of their own: readers translate them into these, and keep what was written."""
NAMES: Final[Mapping[str, Mapping[Concept, tuple[str, ...]]]] = MappingProxyType(
    {
        "java": {
            "acks": ("acks",),
            "idempotence": ("enable.idempotence",),
            "in_flight": ("max.in.flight.requests.per.connection",),
            "retries": ("retries",),
            "delivery_timeout_ms": ("delivery.timeout.ms",),
            "transactional_id": ("transactional.id",),
        },
        "librdkafka": {
            "acks": ("acks", "request.required.acks"),
            "idempotence": ("enable.idempotence",),
            "in_flight": ("max.in.flight.requests.per.connection", "max.in.flight"),
            "retries": ("retries", "message.send.max.retries"),
            "delivery_timeout_ms": ("message.timeout.ms", "delivery.timeout.ms"),
            "transactional_id": ("transactional.id",),
        },
        "scala": {
            "acks": ("request.required.acks",),
            "retries": ("message.send.max.retries",),
        },
        **dict.fromkeys(("sarama", "franz-go", "kafka-go", "kafkajs", "kafka-node", "platformatic-kafka"), MEANT),
        **dict.fromkeys(("kafka-python", "aiokafka", "pykafka", "ruby-kafka", "kafka-rust"), MEANT),
        **dict.fromkeys(("brod", "lua-resty-kafka"), MEANT),
    }
)
"""What a client calls each thing that decides over records; the first name is the one to recommend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What one release of a client does."""

    acks: str
    idempotence: bool | None
    """Whether it is on if nothing is written; None if the release has no such thing."""
    retries: int
    in_flight: int
    delivery_timeout_ms: int | None
    """None if there is no such limit."""
    linger_ms: int | None = None
    """The default, where the client refuses a limit that is written and leaves no time to linger and for a request."""
    in_flight_idempotent: int = 5
    """The most requests in flight that idempotence allows; also what it makes of the default if that is more."""
    drops: frozenset[str] = frozenset()
    """Which settings (concepts) silently undo idempotence that is not written."""
    bug: str = ""
    """Why idempotence is off although the release declares it on."""


def java(release: str) -> Rules:
    """The rules of kafka-clients of a release.

    >>> java("2.8.2").acks, java("3.1.0").idempotence, java("3.1.1").idempotence
    ('1', False, True)
    """
    at = numbers(release)
    broken = (at[:2] == (3, 0) and at < (3, 0, 1)) or (at[:2] == (3, 1) and at < (3, 1, 1))
    drops = {"acks", "retries"} | ({"in_flight"} if at < (4,) else set())
    return Rules(
        acks="all" if at >= (3,) else "1",
        idempotence=None if at < (0, 11) else at >= (3,) and not broken,
        retries=FOREVER if at >= (2, 1) else 0,
        in_flight=5,
        delivery_timeout_ms=120_000 if at >= (2, 1) else None,
        linger_ms=None if at < (2, 1) else 5 if at >= (4,) else 0,
        in_flight_idempotent=1 if at < (1,) else 5,
        drops=frozenset(drops) if at >= (3,) and not broken else frozenset(),
        bug="KAFKA-13598: 3.0.0 and 3.1.0 declare it on and leave it off" if broken else "",
    )


def librdkafka(release: str) -> Rules:
    """The rules of librdkafka of a release.

    >>> librdkafka("0.11.6").acks, librdkafka("2.3.0").acks
    ('1', 'all')
    """
    at = numbers(release)
    return Rules(
        acks="all" if at >= (1,) else "1",
        idempotence=False if at >= (1,) else None,
        retries=FOREVER if at >= (1, 5, 2) else 2,
        in_flight=1_000_000,
        delivery_timeout_ms=300_000,
    )


def scala(release: str) -> Rules:
    """The rules of the old Scala producer, the same in every release: it sends one request at a time."""
    return Rules(acks="0", idempotence=None, retries=3, in_flight=1, delivery_timeout_ms=None)


def _never_measured(acks: str, *, idempotence: bool | None, retries: int, in_flight: int) -> Callable[[str], Rules]:
    rules = Rules(
        acks=acks,
        idempotence=idempotence,
        retries=retries,
        in_flight=in_flight,
        delivery_timeout_ms=None,
        drops=frozenset({"acks"}),
    )
    return lambda release: rules


def _kafka_python(release: str) -> Rules:
    """The rules of kafka-python of a release: idempotence came with 2.2.0, and is on from 3.0 on.

    >>> _kafka_python("2.1.5").retries, _kafka_python("2.2.0").acks, _kafka_python("3.0.0").idempotence
    (0, '1', True)
    """
    at = numbers(release)
    return _never_measured(
        "all" if at >= (3,) else "1",
        idempotence=at >= (3,) if at >= (2, 2) else None,
        retries=FOREVER if at >= (2, 2) else 0,
        in_flight=5,
    )(release)


NEVER_MEASURED: Final[Mapping[str, Callable[[str], Rules]]] = MappingProxyType(
    {
        "sarama": _never_measured("1", idempotence=False, retries=3, in_flight=5),
        "franz-go": _never_measured("all", idempotence=True, retries=FOREVER, in_flight=5),
        "kafka-go": _never_measured("0", idempotence=None, retries=10, in_flight=1),
        "kafkajs": _never_measured("all", idempotence=False, retries=5, in_flight=5),
        "kafka-node": _never_measured("1", idempotence=None, retries=0, in_flight=5),
        "platformatic-kafka": _never_measured("1", idempotence=False, retries=3, in_flight=5),
        "kafka-python": _kafka_python,
        "aiokafka": _never_measured("1", idempotence=False, retries=FOREVER, in_flight=1),
        "ruby-kafka": _never_measured("all", idempotence=False, retries=2, in_flight=1),
        "kafka-rust": _never_measured("1", idempotence=None, retries=0, in_flight=1),
        "pykafka": _never_measured("1", idempotence=None, retries=3, in_flight=1),
        "brod": _never_measured("all", idempotence=None, retries=3, in_flight=1),
        "lua-resty-kafka": _never_measured("1", idempotence=None, retries=3, in_flight=1),
    }
)
"""Clients that the matrix has no cell of. Read in the packages themselves: config.go (NewConfig) of sarama 1.46.3;
pkg/kgo/config.go (defaultCfg) and sink.go of franz-go 1.20.4 (in flight: 5 with idempotence, from Kafka 1.0 on, and 1
where that is turned off); writer.go of kafka-go 0.4.49 (a WriterConfig makes all of 0); src/producer/index.js and
messageProducer.js of KafkaJS 2.2.4; lib/baseProducer.js and kafkaClient.js of kafka-node 5.0.0 (a send that fails is
not sent again); clients/producer/producer.js and clients/base/options.js of @platformatic/kafka 1.35.0 and 2.12.1;
kafka/producer/kafka.py of kafka-python 2.0.2, 2.1.0, 2.1.5, 2.2.0, 2.2.15, 2.3.0 and 3.0.12;
aiokafka/producer/producer.py of aiokafka 0.12.0; lib/kafka/client.rb of ruby-kafka; src/producer.rs of the crate
kafka 0.10; pykafka/producer.py of pykafka 2; src/brod_producer.erl of brod; lib/resty/kafka/producer.lua of
lua-resty-kafka.
"""
RULES: Final[Mapping[str, Callable[[str], Rules]]] = MappingProxyType(
    {"java": java, "librdkafka": librdkafka, "scala": scala, **NEVER_MEASURED}
)


FRAMEWORK_SINCE: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType(
    {
        "smallrye": (2, 1),
        "connect": (0, 9),
        "streams": (0, 10),
        "flink": (0, 11),
        "strimzi": (0, 11),
        "debezium": (2, 5),
    }
)
"""The oldest kafka-clients that a framework ever ran on; of Debezium Server, which came with Debezium 1.2."""


def turns_idempotence_off(release: str) -> bool:
    """Whether Connect of a release sets enable.idempotence=false for its producers (Worker.baseProducerConfigs).

    >>> [turns_idempotence_off(one) for one in ("2.8.2", "3.0.1", "3.0.2", "3.1.0", "3.1.1", "3.2.0")]
    [False, False, True, False, True, True]
    """
    at = numbers(release)
    return at >= (3, 2) or (3, 1, 1) <= at < (3, 2) or (3, 0, 2) <= at < (3, 1)


def passes_retries(framework: str, release: str) -> int | None:
    """The retries that a framework passes where nothing is written: Connect's before 2.1 (Worker), Streams' up to 2.0
    (StreamsConfig); None if it leaves them to the client.
    """
    if numbers(release) >= (2, 1):
        return None
    return {"connect": FOREVER, "streams": 10}.get(framework)


@dataclass(frozen=True, slots=True)
class Era:
    """Releases of a client between two boundaries: all of them do the same."""

    client: str
    release: str
    """One of them, the newest that is known."""
    label: str


ERAS: Final = (
    Era("java", "0.10.2.2", "kafka-clients 0.8.2 to 0.10.2"),
    Era("java", "0.11.0.3", "kafka-clients 0.11.0"),
    Era("java", "2.0.1", "kafka-clients 1.0 to 2.0"),
    Era("java", "2.8.2", "kafka-clients 2.1 to 2.8"),
    Era("java", "3.1.0", "kafka-clients 3.0.0 or 3.1.0"),
    Era("java", "3.9.2", "kafka-clients 3.0.1 to 3.9 (not 3.1.0)"),
    Era("java", "4.3.1", "kafka-clients 4.0 or later"),
    Era("librdkafka", "0.11.6", "librdkafka before 1.0"),
    Era("librdkafka", "2.15.0", "librdkafka 1.0 or later"),
    Era("scala", "0.8.2.2", "the Scala producer"),
    Era("kafka-python", "2.1.5", "kafka-python before 2.2"),
    Era("kafka-python", "2.3.0", "kafka-python 2.2 or 2.3"),
    Era("kafka-python", "3.0.12", "kafka-python 3.0 or later"),
    *(Era(client, "", client) for client in NEVER_MEASURED if client != "kafka-python"),
)
"""For a client whose release is not told: each side of every boundary, oldest first."""


def product(client: str, release: str) -> str:
    """What people call a client of a release."""
    return {"java": "kafka-clients", "scala": "the Scala producer of"}.get(client, client) + f" {release}".rstrip()
