"""What tells producers of one file apart that are called alike: the topics that they send to, where these differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from audit.model import ProducerConfig


def told_apart(producers: Sequence[ProducerConfig]) -> list[ProducerConfig]:
    """Producers, each with its topics behind its name where another one of its file has that name, or one that begins
    with it, and sends to other topics. A name that has the topics stays.

    >>> from audit.model import Origin
    >>> two = [ProducerConfig(name="output kafka", topics=(each,), origin=Origin("a.conf")) for each in ("a", "b")]
    >>> [each.name for each in told_apart(two)]
    ['output kafka a', 'output kafka b']
    >>> two = [ProducerConfig(name=name, topics=("a",), origin=Origin("a.yml")) for name in ("a", "a (prod)")]
    >>> [each.name for each in told_apart(two)]
    ['a', 'a (prod)']
    """
    beside: dict[str, list[ProducerConfig]] = {}
    for each in producers:
        beside.setdefault(each.origin.path, []).append(each)
    return [_named(each, beside[each.origin.path]) for each in producers]


def _named(producer: ProducerConfig, beside: Sequence[ProducerConfig]) -> ProducerConfig:
    name = producer.name
    alike = [each for each in beside if each is not producer and each.name.startswith(name)]
    # A name that has the topics already, as that of an application has, gains nothing by them.
    told = set(producer.topics) <= set(name.split())
    if not alike or told or any(each.topics == producer.topics for each in alike if each.name == name):
        return producer
    return dataclasses.replace(producer, name=f"{name} {','.join(producer.topics)}")
