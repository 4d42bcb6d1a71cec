"""Asks KafkaProducer itself what it makes of configurations: how tests/data/audit/effective.json was made.

    python -m tests.integration.make_effective RELEASE DIRECTORY-OF-JARS   one release, as a line of that file
    python -m tests.integration.make_effective 2.8.2                       a release that has a lock, from our cache

A producer is made of each configuration, and what it has got is read from its private fields (the sender, its client,
its accumulator); none connects to anything. The data has twenty releases: the eleven with a lock, and kafka-clients
2.0.1, 2.1.1, 2.5.1, 3.0.0, 3.0.2, 3.1.0, 3.1.2, 3.2.3 and 3.4.1, each with slf4j-api beside it, for boundaries.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.setup.jars import resolve
from harness.setup.java import java_home

VALUES = {
    "acks": ("", "0", "1", "all"),
    "enable.idempotence": ("", "true", "false"),
    "max.in.flight.requests.per.connection": ("", "1", "6"),
    "retries": ("", "0", "3"),
    "transactional.id": ("", "x"),
}
SINCE_0_11 = {"enable.idempotence", "transactional.id"}
BYTES = "org.apache.kafka.common.serialization.ByteArraySerializer"
FIXED = {"bootstrap.servers": "127.0.0.1:1", "key.serializer": BYTES, "value.serializer": BYTES}


def configurations() -> list[dict[str, str]]:
    """Every combination of the values above; an empty one is not written."""
    chosen = (zip(VALUES, values, strict=True) for values in itertools.product(*VALUES.values()))
    return [{key: value for key, value in pairs if value} for pairs in chosen]


def answers(release: str, jars: Path) -> list[list[Any]]:
    """What the producer of a release makes of each: [answer, numbers of the configurations] as the file has them."""
    import jpype

    library = next(Path(java_home()).glob("lib/**/libjvm.so"), None)
    jpype.startJVM(str(library) if library else None, classpath=sorted(map(str, jars.glob("*.jar"))))
    producer = jpype.JClass("org.apache.kafka.clients.producer.KafkaProducer")
    found: dict[str, list[int]] = {}
    for number, settings in enumerate(configurations()):
        old = tuple(map(int, release.split("."))) < (0, 11)
        if not (old and SINCE_0_11 & settings.keys()):
            found.setdefault(json.dumps(_answer(producer, settings)), []).append(number)
    return [[json.loads(answer), numbers] for answer, numbers in found.items()]


def _answer(producer: Any, settings: dict[str, str]) -> Any:
    import jpype

    properties = jpype.JClass("java.util.HashMap")()
    for key, value in (FIXED | settings).items():
        properties.put(key, value)
    try:
        made = producer(properties)
    except jpype.JException as error:
        causes = list(_causes(error))
        return str(causes[-1].getMessage())
    sender, accumulator = _field(made, "sender"), _field(made, "accumulator")
    acks, limit = int(_field(sender, "acks")), _field(accumulator, "deliveryTimeoutMs", None)
    try:
        idempotent = _field(sender, "transactionManager") is not None
    except KeyError:
        idempotent = None
    in_flight = int(_field(_field(_field(sender, "client"), "inFlightRequests"), "maxInFlightRequestsPerConnection"))
    answer = ["all" if acks == -1 else str(acks), idempotent, in_flight, int(_field(sender, "retries"))]
    sender.forceClose()
    return [*answer, None if limit is None else int(limit)]


def _causes(error: Any) -> Iterator[Any]:
    while error is not None:
        yield error
        error = error.getCause()


MISSING = object()


def _field(owner: Any, name: str, default: Any = MISSING) -> Any:
    """The value of a private field, of the object's class or one above it."""
    declared = owner.getClass()
    while declared is not None:
        for field in declared.getDeclaredFields():
            if str(field.getName()) == name:
                field.setAccessible(True)
                return field.get(owner)
        declared = declared.getSuperclass()
    if default is MISSING:
        raise KeyError(name)
    return default


if __name__ == "__main__":
    release = sys.argv[1]
    jars = Path(sys.argv[2]) if len(sys.argv) > 2 else resolve(release, print)
    print(json.dumps({release: answers(release, jars)}), flush=True)
    # Transactional producers wait for their coordinator when they are closed, and there is none.
    os._exit(0)
