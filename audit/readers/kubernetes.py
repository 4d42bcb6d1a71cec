"""Kubernetes manifests: workloads with their environment, ConfigMaps with files in them, and Strimzi's resources.

A container's environment is read when all files are, because `envFrom` and `configMapKeyRef` name ConfigMaps that may
be in another file. Secrets are never looked into: what comes from one is not known. A file inside a ConfigMap
(`application.yml: |`) is read as such a file, with the manifest's own line numbers.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from audit.model import BrokerConfig, InputProblem, Setting, TopicConfig
from audit.readers.agents import read_operated, read_outputs
from audit.readers.collect import Collected
from audit.readers.connect import read_connector, read_worker
from audit.readers.creates import made_with
from audit.readers.environments import program_of
from audit.readers.format import JSON, YAML, Document, Format
from audit.readers.kustomize import generated, patches_of
from audit.readers.names import latest, under
from audit.readers.patches import bases, containers_of, entries_of, in_stage, patches
from audit.readers.pipelines import read_runtime
from audit.readers.placeholders import Lookup
from audit.readers.text import Text
from audit.readers.tree import Scalar, Table, flatten, inner
from audit.readers.values import read_released
from audit.readers.variables import arguments, read_variables, release_of

STRIMZI: Final = ("kafka.strimzi.io/", "eventstreams.ibm.com/", "eventstreams.ibm.cloud/", "kafka.banzaicloud.io/")
CONFLUENT: Final = "platform.confluent.io/"
JIKKOU: Final = "kafka.jikkou.io/"
OPENTELEMETRY: Final = "opentelemetry.io/"
CLUSTER: Final = "strimzi.io/cluster"
WORKLOADS: Final = frozenset(
    {
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "ReplicaSet",
        "Job",
        "CronJob",
        "Pod",
        "DeploymentConfig",
        "Rollout",
        "Service",
    }
)
OPERATOR: Final = "the Strimzi operator's default"


def is_resource(document: Table) -> bool:
    """Whether a document is a resource of Kubernetes."""
    return isinstance(document.get("apiVersion"), Scalar) and isinstance(document.get("kind"), Scalar)


def read_resource(source: Text, document: Table, reading: Collected) -> None:
    """Gather what one resource has, and read the files that are inside a ConfigMap."""
    kind, api = document.text("kind"), document.text("apiVersion")
    if kind == "List":
        for each in document.tables("items"):
            if each.text("kind") != "List":
                read_resource(source, each, reading)
    elif api.startswith(STRIMZI):
        reading.namespace = document.text("metadata", "namespace")
        _strimzi(source, document, reading)
        reading.namespace = ""
    elif api.startswith(CONFLUENT):
        _confluent(source, document, reading)
    elif api.startswith(OPENTELEMETRY):
        _collector(source, document, reading)
    elif api.startswith(JIKKOU):
        _jikkou(source, document, reading)
    elif kind == "Template":  # OpenShift's
        for each in document.tables("objects"):
            if each.text("kind") not in ("Template", "List"):
                read_resource(source, each, reading)
    elif any(read(source, document, reading) for read in (read_operated, read_released, read_runtime)):
        pass
    elif kind == "ConfigMap":
        reading.config_maps.setdefault(_name(document), []).append((source, document))
        for key, _, value in document.table("data").items:
            if reading.is_file(key) and isinstance(value, Scalar) and value.text.strip():
                reading.nested(inner(value, source, f"{_name(document)}/{key}"))
    elif kind in WORKLOADS:
        for container in containers_of(document):
            reading.containers.append((source, container, _name(document), document.text("metadata", "namespace")))


def _name(document: Table) -> str:
    return document.text("metadata", "name")


def read_containers(reading: Collected) -> None:
    """Add what the environment of every container configures."""
    among, above = bases(reading), in_stage(reading)
    for each_container in among:
        source, container, workload, namespace = each_container
        reading.namespace = namespace
        outside = reading.look_up()
        given: list[Setting] = []
        for each in container.tables("envFrom"):
            given += _from_map(each.text("configMapRef", "name"), each.text("prefix"), source, reading)
        for where, each in entries_of(each_container, among, above):
            if name := each.text("name"):
                given.append(_variable(where, each, name, reading))
        by_name = latest(given)

        own = [_dollars(each, by_name, outside) for each in by_name.values()]
        own += arguments(source, container.get("command"), container.get("args"))
        named = (workload or container.text("name"), container.text("name"), program_of(container.text("image")))
        reading.workloads.append((named, latest(own)))
        read_variables(source, workload or container.text("name"), container.text("image"), own, reading, "spring")
    reading.namespace = ""


def _variable(source: Text, entry: Table, name: str, reading: Collected) -> Setting:
    """One entry of `env`: its value, or what it is taken from."""
    line = next((line for key, line, _ in entry.items if key in ("value", "valueFrom")), entry.line)
    origin = source.origin(line)
    if isinstance(entry.get("value"), Scalar):
        return Setting(name, entry.text("value"), origin)
    wanted, key = entry.text("valueFrom", "configMapKeyRef", "name"), entry.text("valueFrom", "configMapKeyRef", "key")
    for each in _from_map(wanted, "", source, reading) if wanted else ():
        if each.key == key:
            return dataclasses.replace(
                each, key=name, written=name, note=f"ConfigMap {wanted}, {each.origin}", origin=origin
            )
    secret = entry.table("valueFrom", "secretKeyRef").items
    return Setting(name, f"${{{name}}}", origin, known=False, note="from a Secret" if secret else "")


def _from_map(name: str, prefix: str, where: Text, reading: Collected) -> list[Setting]:
    """The values of a ConfigMap, as variables of a resource that is in a file."""
    maps = _in_force(reading.config_maps.get(name, ()), reading)
    if not maps:
        return [dataclasses.replace(each, key=prefix + each.key) for each in generated(name, where.path, reading)]
    return [
        Setting(prefix + key, value.text.strip(), source.origin(line))
        for source, document in maps
        for key, line, value in document.table("data").items
        if isinstance(value, Scalar) and not reading.is_file(key)
    ]


def _in_force(maps: Sequence[tuple[Text, Table]], reading: Collected) -> list[tuple[Text, Table]]:
    """Of the ConfigMaps of a name the last that is no patch of an overlay's, and above it the patch of the stage that
    is read; a patch alone where there is nothing else.
    """
    changed = set(patched(reading))
    own = [each for each in maps if each[0].path not in changed] or list(maps)
    return [*own[-1:], *(each for each in maps if each[0].path == reading.patch)]


def patched(reading: Collected) -> list[str]:
    """The files with ConfigMaps that kustomizations have as patches, of those that were read, and those that patch the
    environment of containers.
    """
    named = patches_of(reading) if reading.kustomizations else frozenset()
    paths = [source.path for maps in reading.config_maps.values() for source, _ in maps]
    paths = [each for each in paths if os.path.abspath(each) in named]
    return list(dict.fromkeys([*paths, *(each.path for each in patches(reading))]))


def _dollars(setting: Setting, variables: Mapping[str, Setting], outside: Lookup) -> Setting:
    """A value with Kubernetes' $(NAME) replaced, where it is known."""

    def known(found: re.Match[str]) -> str:
        value = outside(found[1])
        return variables[found[1]].value if value is None and found[1] in variables else value or found[0]

    return dataclasses.replace(setting, value=re.sub(r"\$\((\w+)\)", known, setting.value))


def _config(source: Text, node: Table) -> list[Setting]:
    return flatten(node, source) if node.items else []


def _number(document: Table, *path: str) -> int | None:
    text = document.text(*path)
    return int(text) if text.isdecimal() and len(text) < 10 else None


def _strimzi(source: Text, document: Table, reading: Collected) -> None:
    kind, spec = document.text("kind"), document.table("spec")
    cluster = document.text("metadata", "labels", CLUSTER)
    if cluster and (namespace := document.text("metadata", "namespace")):
        cluster = f"{namespace}/{cluster}"
    config = _config(source, spec.table("config"))
    if kind == "Kafka":
        reading.clusters.append((source, document))
    elif kind == "KafkaNodePool":
        reading.pools.append((source, document))
    elif kind == "KafkaTopic":
        number = {name: _number(spec, name) for name in ("partitions", "replicas")}
        for name, value in number.items():
            if spec.text(name) and value is None:
                message = f"{name} is not a number"
                reading.problems.append(source.problem("bad-value", spec.line, message, "it is taken as not told"))
        reading.topic(
            TopicConfig(
                name=spec.text("topicName") or _name(document),
                partitions=number["partitions"],
                replication_factor=number["replicas"],
                settings=MappingProxyType(dict(latest(config))),
                cluster=cluster,
                origin=source.origin(document.line),
            )
        )
    elif kind == "KafkaConnect":
        at = [*config, *([Setting("bootstrap.servers", spec.text("bootstrapServers"), source.origin(spec.line))])]
        version = spec.text("version") or None
        told = f"{source.origin(spec.line)}: spec.version {version}"
        read_worker(source, at, reading, "any", name=_name(document), release=version, release_from=told)
    elif kind == "KafkaConnector" and spec.text("class"):
        line = next((line for key, line, _ in spec.items if key == "class"), spec.line)
        read_connector(
            _name(document),
            [Setting("connector.class", spec.text("class"), source.origin(line)), *config],
            reading,
            "any",
        )
    elif kind == "KafkaMirrorMaker2":
        _mirror(source, document, reading)
    elif kind == "KafkaBridge":
        own = _config(source, spec.table("producer", "config"))
        own.append(Setting("bootstrap.servers", spec.text("bootstrapServers"), source.origin(spec.line)))
        reading.producer(_name(document), own, source.origin(document.line), client="java", framework="bridge")


def _described(source: Text, name: str, spec: Table, replicas: str, configs: str, reading: Collected) -> None:
    config = _config(source, spec.table(configs))
    reading.topic(
        TopicConfig(
            name=name,
            partitions=_number(spec, "partitionCount") or _number(spec, "partitions"),
            replication_factor=_number(spec, replicas),
            settings=MappingProxyType(dict(latest(config))),
            origin=source.origin(spec.line),
        )
    )


def _collector(source: Text, document: Table, reading: Collected) -> None:
    """The OpenTelemetry operator's collectors: a configuration as it is, or as a text."""
    config = document.get("spec", "config")
    if isinstance(config, Table):
        read_outputs(source, config, reading)
    elif isinstance(config, Scalar):
        reading.nested(inner(config, source, f"{_name(document)}/collector.yaml"))


def _confluent(source: Text, document: Table, reading: Collected) -> None:
    """Confluent for Kubernetes: workers, connectors and topics."""
    kind, spec = document.text("kind"), document.table("spec")
    if kind == "Connect":
        own = _overridden(source, spec)
        at = spec.text("dependencies", "kafka", "bootstrapEndpoint")
        own.append(Setting("bootstrap.servers", at, source.origin(spec.line)))
        image = spec.text("image", "application")
        told = f"{source.origin(spec.line)}: image {image}"
        read_worker(source, own, reading, "any", name=_name(document), release=release_of(image), release_from=told)
    if kind == "Kafka":
        _confluents_brokers(source, document, reading)
    if kind == "KafkaTopic":
        _described(source, spec.text("name") or _name(document), spec, "replicas", "configs", reading)
    elif kind == "Connector" and spec.text("class"):
        line = next((line for key, line, _ in spec.items if key == "class"), spec.line)
        mark = Setting("connector.class", spec.text("class"), source.origin(line))
        read_connector(_name(document), [mark, *_config(source, spec.table("configs"))], reading, "any")


def _overridden(source: Text, spec: Table) -> list[Setting]:
    """What a resource of Confluent's sets beside what the operator does, `NAME=VALUE` in each line."""
    return [
        Setting(key.strip(), value.strip(), source.origin(each.line))
        for each in spec.scalars("configOverrides", "server")
        for key, _, value in [each.text.partition("=")]
    ]


def _confluents_brokers(source: Text, document: Table, reading: Collected) -> None:
    """Add the brokers of a Kafka resource of Confluent's, whose service has its name."""
    spec, name, namespace = document.table("spec"), _name(document), document.text("metadata", "namespace")
    image = spec.text("image", "application")
    release = release_of(image)
    reading.broker(
        BrokerConfig(
            name=name,
            release=release,
            release_from=f"{source.origin(spec.line)}: image {image}" if release else "",
            mode="kraft" if spec.table("dependencies", "kRaftController").items else "zookeeper",
            settings=latest(_overridden(source, spec)),
            replicas=_number(spec, "replicas"),
            addresses=(name,),
            namespace=namespace,
            origin=source.origin(document.line),
        )
    )


def _jikkou(source: Text, document: Table, reading: Collected) -> None:
    """Jikkou's topics, one or a list of them."""
    for each in document.tables("items") or (document,):
        if document.text("kind") in ("KafkaTopic", "KafkaTopicList"):
            _described(source, each.text("metadata", "name"), each.table("spec"), "replicas", "configs", reading)


def _mirror(source: Text, document: Table, reading: Collected) -> None:
    """MirrorMaker 2 is Connect: the worker is configured by the cluster that it connects to."""
    spec = document.table("spec")
    version = spec.text("version") or None
    target = spec.table("target")
    clusters = [target] if target.items else spec.tables("clusters")
    for cluster in clusters:
        if cluster is target or cluster.text("alias") == spec.text("connectCluster"):
            config = _config(source, cluster.table("config"))
            config += _overrides(source, spec.tables("mirrors"))
            own = [*config, Setting("bootstrap.servers", cluster.text("bootstrapServers"), source.origin(cluster.line))]
            told = f"{source.origin(spec.line)}: spec.version {version}"
            mirrored = [each.table("sourceConnector", "config") for each in spec.tables("mirrors")]
            made = [made_with(_config(source, each)) for each in mirrored]
            read_worker(
                source, own, reading, "any", name=_name(document), release=version, release_from=told,
                makes=made[0] if len({each and each.replication_factor for each in made}) == 1 else None,
            )  # fmt: skip


def _overrides(source: Text, mirrors: Sequence[Table]) -> list[Setting]:
    """What the source connectors of mirrors override of their worker's producer: unknown where they do not agree."""
    told = [
        latest(under(_config(source, each.table("sourceConnector", "config")), "producer.override."))
        for each in mirrors
    ]
    found = []
    for key in dict.fromkeys(key for each in told for key in each):
        values = [each[key] for each in told if key in each]
        agree = len({each.value for each in values}) == 1 and len(values) == len(told)
        found.append(dataclasses.replace(values[0], key=f"producer.{key}", known=values[0].known and agree))
    return found


def read_clusters(reading: Collected) -> None:
    """Add the brokers of every Kafka resource, with the node pools that belong to it."""
    for source, document in reading.clusters:
        kafka = document.table("spec", "kafka")
        name, namespace = _name(document), document.text("metadata", "namespace")
        pools = [pool for _, pool in reading.pools if pool.text("metadata", "labels", CLUSTER) == name]
        brokers = [pool for pool in pools if _is_of_brokers(pool)]
        counts = [_number(pool, "spec", "replicas") for pool in brokers]
        replicas = sum(count or 0 for count in counts) if counts else _number(kafka, "replicas")
        settings = latest(_config(source, kafka.table("config")))
        zookeeper = bool(document.table("spec", "zookeeper").items)
        annotation = document.text("metadata", "annotations", "strimzi.io/kraft")
        release = kafka.text("version") or None
        reading.broker(
            BrokerConfig(
                name=name,
                release=release,
                release_from=f"{source.origin(kafka.line)}: spec.kafka.version" if release else "",
                mode="kraft" if annotation == "enabled" or not zookeeper else "zookeeper",
                settings=settings,
                replicas=replicas,
                cluster=f"{namespace}/{name}" if namespace else name,
                addresses=(f"{name}-kafka-bootstrap", f"{name}-kafka-brokers"),
                namespace=namespace,
                origin=source.origin(document.line),
            )
        )
        if kafka.table("rack").items and "broker.rack" not in settings:
            rack = Setting("broker.rack", "${topologyKey}", source.origin(kafka.table("rack").line), known=False)
            at = reading.brokers[-1]
            reading.brokers[-1] = dataclasses.replace(at, settings={**at.settings, "broker.rack": rack})
    names = {_name(document) for _, document in reading.clusters}
    for source, pool in reading.pools:
        wanted = pool.text("metadata", "labels", CLUSTER)
        if wanted not in names:
            message = f"a KafkaNodePool of the cluster {wanted!r}, whose Kafka resource is not among the files"
            reading.problems.append(
                InputProblem(source.origin(pool.line), "contradiction", message, "give its file too")
            )


def _is_of_brokers(pool: Table) -> bool:
    """Whether nodes of a pool are brokers, which they are where no role is told."""
    roles = [each.text for each in pool.scalars("spec", "roles")]
    return not roles or "broker" in roles


def _read(document: Document, reading: Collected) -> bool:
    assert document.tree is not None
    read_resource(document.source, document.tree, reading)
    return True


FORMATS: Final = (
    Format(
        name="Kubernetes and Strimzi",
        reads="the environment of containers and the files in ConfigMaps; `Kafka`, `KafkaNodePool`, `KafkaTopic`, "
        "`KafkaConnect`, `KafkaConnector`, `KafkaMirrorMaker2`, `KafkaBridge`; Confluent's `Connect`, "
        "`Connector`, `KafkaTopic`; `OpenTelemetryCollector`. Operators' `ClusterOutput` and `Output`; Elastic's "
        "`Beat`, `Agent`, `Logstash`; Dapr's `Component`, Argo Events' `Sensor`. Templates of OpenShift and of Helm "
        "charts; values of Flux' and Argo CD's releases",
        files=(*YAML, *JSON),
        rank=100,
        speaks=(r"\bconfigMap(?:Key)?Ref\b",),
        claims=lambda document: document.tree is not None and is_resource(document.tree),
        read=_read,
    ),
)
