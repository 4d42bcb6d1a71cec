"""What belongs together: which brokers, and which topics, a producer's configuration is about.

A repository has many clusters, and most of them are somebody else's. So nothing is joined that is not told to belong
together, in this order, and the nearest counts; where two are equally near neither is taken:

1. a live cluster, which the user named, and files that the user named one by one;
2. brokers at an address that the producer's bootstrap.servers have: Strimzi's `NAME-kafka-bootstrap` wherever it is
   (in the producer's namespace if both tell one), a service of Compose's in the same file, in a directory above the
   producer's, or in its module;
3. brokers in the producer's own directory, in one above it or in its module, if the producer names no address, only
   this machine's, or if theirs is not told.

A module is the nearest directory above with a build file. A directory of examples or tests is a unit of its own: what
it describes is not what the module around it runs on. A topic belongs to a producer if it is of its cluster, or is
described in a file that lies so. A topic that is described once, in a file of no module, belongs to the producers that
name it if all of them are of one module, and their brokers are not described elsewhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Final

from audit.model import BrokerConfig, Origin, ProducerConfig, TopicConfig

NAMED: Final = "*"
"""The `unit` of what stands in a file that the user named: it is meant for all that was named."""
APART: Final = frozenset({"example", "examples", "sample", "samples", "demo", "demos", "test", "tests", "testdata"})
"""Directories that are units of their own."""
LOCAL: Final = frozenset({"localhost", "127.0.0.1", "0.0.0.0", "::1", "host.docker.internal", ""})
SERVERS: Final = ("bootstrap.servers", "metadata.broker.list")
BOOTSTRAP: Final = re.compile(r"(?P<name>[\w-]+?)-kafka(?:-[\w-]+)?-(?:bootstrap|brokers)(?:\.(?P<namespace>[\w-]+))?")


def hosts(servers: str) -> frozenset[str]:
    """The hosts of a list of addresses, without this machine's own and without what is not known.

    >>> sorted(hosts("PLAINTEXT://kafka-1:9092, kafka-2:9092,localhost:9094"))
    ['kafka-1', 'kafka-2']
    """
    found = set()
    for each in servers.split(","):
        host = re.sub(r"^\w+://", "", each.strip().strip("[]\"'")).rpartition(":")[0] or each.strip()
        if not re.search(r"[${}<>()%]", host):
            found.add(host.strip("[]").lower())
    return frozenset(found - LOCAL)


def _servers(producer: ProducerConfig) -> frozenset[str]:
    for key in SERVERS:
        setting = producer.settings.get(key) or producer.presets.get(key)
        if setting is not None and setting.known:
            return hosts(setting.value)
    return frozenset()


def _anywhere(origin: Origin) -> bool:
    """Whether something stands in no file: the user told it, or a cluster did."""
    return origin.path.startswith(("cluster ", "--", "("))


def _folder(origin: Origin) -> str:
    return os.path.dirname(os.path.abspath(origin.path))


def _within(folder: str, above: str) -> bool:
    return folder == above or folder.startswith(above.rstrip(os.sep) + os.sep)


def _distance(producer: ProducerConfig, other: Origin) -> int | None:
    """How many directories lie between a producer and something that may belong to it; None if it may not."""
    if other.path == producer.origin.path:
        return 0
    own, theirs = _folder(producer.origin), _folder(other)
    unit = producer.unit if producer.unit not in ("", NAMED) else own
    if not _within(own, theirs) and not (_within(own, unit) and _within(theirs, unit)):
        return None
    common = os.path.commonpath([own, theirs])
    if APART & set(theirs.removeprefix(common).split(os.sep)):
        return None
    return 1 + own.count(os.sep) + theirs.count(os.sep) - 2 * common.count(os.sep)


def brokers_of(producer: ProducerConfig, brokers: Sequence[BrokerConfig]) -> tuple[BrokerConfig, ...]:
    """The brokers that a producer connects to, as far as that is told; empty if it is not."""
    told = tuple(one for one in brokers if _anywhere(one.origin) or _anywhere(producer.origin))
    clusters: dict[str, list[BrokerConfig]] = {}
    for one in brokers:
        if one not in told:
            clusters.setdefault(_cluster(one), []).append(one)
    if told:
        return told + (tuple(next(iter(clusters.values()))) if len(clusters) == 1 else ())
    named = [each for each in clusters.values() if all(one.unit == NAMED for one in each)]
    if len(named) == 1 and len(clusters) == 1:
        return tuple(named[0])
    wanted = _servers(producer)
    ranked = [(rank, each) for each in clusters.values() if (rank := _rank(producer, wanted, each)) is not None]
    best = min((rank for rank, _ in ranked), default=None)
    nearest = [each for rank, each in ranked if rank == best]
    return tuple(nearest[0]) if len(nearest) == 1 else ()


def _cluster(broker: BrokerConfig) -> str:
    """What tells clusters apart: a name, or else the file's directory. Resources of one name in several files are
    several clusters: a platform has one in each environment, and a collection of examples one in each.
    """
    return f"{broker.cluster} {broker.origin.path}" if broker.cluster else _folder(broker.origin)


def _rank(producer: ProducerConfig, wanted: frozenset[str], brokers: Sequence[BrokerConfig]) -> tuple[int, int] | None:
    """How surely these are a producer's brokers (the less, the surer); None if nothing tells it."""
    theirs = frozenset(address for one in brokers for address in one.addresses)
    distances = [found for one in brokers if (found := _distance(producer, one.origin)) is not None]
    for host in wanted:
        strimzi = BOOTSTRAP.match(host)
        if strimzi and any(_is_strimzi(producer, strimzi, one) for one in brokers):
            return 0, min(distances, default=99)
    if not distances or (wanted and any(BOOTSTRAP.match(host) for host in wanted) and not wanted & theirs):
        return None
    short = {host.partition(".")[0] for host in wanted}
    if wanted and theirs:
        return (1, min(distances)) if (wanted | short) & theirs else None
    return 2, min(distances)


def _is_strimzi(producer: ProducerConfig, found: re.Match[str], broker: BrokerConfig) -> bool:
    namespace = found["namespace"] or producer.namespace
    same = not namespace or not broker.namespace or namespace == broker.namespace
    return broker.name == found["name"] and bool(broker.cluster) and same


def topics_of_unit(
    producer: ProducerConfig,
    brokers: Sequence[BrokerConfig],
    topics: Iterable[TopicConfig],
    every: Sequence[BrokerConfig] = (),
    producers: Sequence[ProducerConfig] = (),
) -> tuple[TopicConfig, ...]:
    """The topics that are described for a producer's cluster, or beside it. Where several clusters of `every` have the
    name that a topic tells, it is of the one in its directory. `producers` are all that were read.
    """
    clusters = {one.cluster for one in brokers if one.cluster}
    named: dict[str, set[str]] = {}
    for one in every:
        named.setdefault(one.cluster, set()).add(one.origin.path)
    beside = {_folder(producer.origin), *(_folder(each.origin) for each in brokers)}
    topics = tuple(topics)
    found = list(_named_alone(producer, topics, brokers, producers))
    for topic in topics:
        near = _anywhere(topic.origin) or _anywhere(producer.origin) or topic.unit == NAMED
        near = near or _distance(producer, topic.origin) is not None
        if topic.cluster and len(named.get(topic.cluster, ())) > 1 and _folder(topic.origin) not in beside:
            continue
        if topic not in found and (topic.cluster in clusters if topic.cluster and clusters else near):
            found.append(topic)
    return tuple(found)


def _named_alone(
    producer: ProducerConfig,
    topics: Sequence[TopicConfig],
    brokers: Sequence[BrokerConfig],
    producers: Sequence[ProducerConfig],
) -> Iterable[TopicConfig]:
    """The topics that a producer names and that are described once in all that was read: outside of any module, or for
    the cluster of Strimzi's that its bootstrap.servers name. Of several descriptions none is surely its own. Outside of
    modules, neither is one that producers of several modules name, or whose brokers are other ones.
    """
    clusters = {one.cluster for one in brokers if one.cluster}
    strimzi = [found for host in _servers(producer) if (found := BOOTSTRAP.match(host))]
    for name in producer.topics:
        alike = [each for each in topics if each.name == name]
        if len(alike) != 1 or (alike[0].cluster and clusters and alike[0].cluster not in clusters):
            continue
        namespace, _, cluster = alike[0].cluster.rpartition("/")
        its = any(
            one["name"] == cluster and (not namespace or one["namespace"] in (None, namespace)) for one in strimzi
        )
        modules = {_module(each) for each in producers if name in each.topics} | {_module(producer)}
        near = all(_anywhere(one.origin) or _within(_folder(alike[0].origin), _folder(one.origin)) for one in brokers)
        if its or (not cluster and not alike[0].unit and len(modules) == 1 and near):
            yield alike[0]


def _module(producer: ProducerConfig) -> str:
    """What a producer belongs to: its module, or its directory."""
    return producer.unit if producer.unit not in ("", NAMED) else _folder(producer.origin)
