"""What is gathered while files are read: the readers add to it, and what needs several files is joined at the end."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from audit.model import (
    BrokerConfig,
    Client,
    InputProblem,
    Inputs,
    Origin,
    ProducerConfig,
    Setting,
    TopicConfig,
)
from audit.readers.creates import AskedTopic
from audit.readers.helm import Chart
from audit.readers.names import latest, whose
from audit.readers.placeholders import Lookup, Style, environment, resolved
from audit.readers.text import Text, Unreadable
from audit.readers.tree import Table

TELLING: Final = ("", "env")
"""Where a producer's keys tell whose it is; every framework has a client of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user says beside the paths."""

    profiles: tuple[str, ...] = ()
    """Active profiles of Spring and Quarkus; none: the default, and each that is found, by itself."""
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    """What placeholders and missing variables stand for."""
    client: Client | None = None
    """Whose producers these are, and of which release, whatever the files say."""
    release: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One document of an application's configuration (application.yml, application-prod.properties)."""

    profile: str
    """The profile in its file's name, or empty."""
    settings: tuple[Setting, ...]


@dataclass(slots=True)
class Collected:
    """Everything gathered so far."""

    options: Options
    is_file: Callable[[str], object] = lambda _: False
    """Whether a name is that of a file that some format reads."""
    nested: Callable[[Text], None] = lambda _: None
    """Reads a file that is inside another, as in a ConfigMap."""
    offer: Callable[[Text, Table], None] = lambda _source, _table: None
    """Reads a document that is inside another, as the values of a release."""
    producers: list[ProducerConfig] = field(default_factory=list)
    topics: list[TopicConfig] = field(default_factory=list)
    brokers: list[BrokerConfig] = field(default_factory=list)
    problems: list[InputProblem] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    pages: dict[str, list[Page]] = field(default_factory=dict)
    """Documents of applications, by directory (and, inside ConfigMaps, by ConfigMap)."""
    config_maps: dict[str, list[tuple[Text, Table]]] = field(default_factory=dict)
    """ConfigMaps, by their names: overlays have another one of a name that their base has."""
    patch: str = ""
    """While a stage is read: the file of the overlay that is put above the ConfigMaps of its base."""
    templates_of_charts: dict[Path, list[Text]] = field(default_factory=dict)
    """By a chart's directory, its templates that have something to do with Kafka, as they are."""
    kustomizations: list[tuple[Text, Table]] = field(default_factory=list)
    """Kustomizations, until it is known which containers they are for."""
    containers: list[tuple[Text, Table, str, str]] = field(default_factory=list)
    """Containers of Kubernetes: their environment may come from ConfigMaps of other files."""
    env_files: dict[str, Text] = field(default_factory=dict)
    """.env files, by their whole path: those that a Compose file names are read with it, and not by themselves."""
    dockerfiles: list[Text] = field(default_factory=list)
    """Dockerfiles, until it is known which services are built of them."""
    named_env_files: set[str] = field(default_factory=set)
    beans: list[AskedTopic] = field(default_factory=list)
    """Topics that programs make, until it is known what their applications' files say of them."""
    sources: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """The .properties that a program of Spring's names (`@PropertySource`), by their whole path, and what they say."""
    fillings: set[str] = field(default_factory=set)
    """Files that Spring's XML takes values from, by their whole path: they configure no producer of their own."""
    made: list[Any] = field(default_factory=list)
    """Producers that source makes (`source.Made`), until it is settled whose they are."""
    uses: dict[str, bool] = field(default_factory=dict)
    """Sources that receive with Spring or send with it, or with Confluent's .NET: by path, whether they send."""
    templates: set[str] = field(default_factory=set)
    """Sources that send with a template of Spring's that they are given, by path."""
    sent: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    """What such a source sends to, by path: texts that may be placeholders; None if not all of it is told."""
    consuming: set[str] = field(default_factory=set)
    """Files of Spring Boot's that say something of consumers and nothing of producers, by path: whether their
    application sends, its sources tell."""
    environments: list[tuple[str, Mapping[str, Setting]]] = field(default_factory=list)
    """The variables of services of Compose's, each with the directory that its image is built in."""
    services: list[tuple[str, str, Mapping[str, Setting]]] = field(default_factory=list)
    """The services of Compose's, each with its file, its name and its variables."""
    workloads: list[tuple[tuple[str, ...], Mapping[str, Setting]]] = field(default_factory=list)
    """The variables of containers whose image is built elsewhere, each with the names that its program may have: the
    workload's or service's first.
    """
    charts: dict[Path, Chart | None] = field(default_factory=dict)
    """Charts of Helm, by their directory."""
    build: str = ""
    """While a service of Compose's is read: the directory that its image is built in."""
    namespace: str = ""
    """While a resource of Kubernetes is read: its namespace."""
    pools: list[tuple[Text, Table]] = field(default_factory=list)
    clusters: list[tuple[Text, Table]] = field(default_factory=list)

    def apart(self) -> Collected:
        """A place to gather what a stage has, by the same options."""
        return Collected(self.options, is_file=self.is_file, offer=lambda _source, _table: None)

    def look_up(self) -> Lookup:
        """A look-up in `--env`."""
        return environment(self.options.env)

    def producer(
        self,
        name: str,
        settings: Iterable[Setting],
        origin: Origin,
        *,
        client: Client = "unknown",
        framework: str = "",
        spelling: str = "{key}",
        presets: Iterable[Setting] = (),
        topics: Iterable[str] = (),
        style: Style = "any",
        look_up: Lookup | None = None,
        release: str | None = None,
        release_from: str = "",
        namespace: str = "",
        makes: TopicConfig | None = None,
    ) -> None:
        """Add a producer; its placeholders are resolved here, and of settings that are there twice the last counts."""
        look = look_up or self.look_up()
        stated = latest(resolved(setting, style, look) for setting in settings if setting.key)
        self.producers.append(
            ProducerConfig(
                name=name,
                client=self.options.client or (whose(stated, client) if framework in TELLING else client),
                release=self.options.release or release,
                release_from="--client" if self.options.client else release_from if release else "",
                settings=MappingProxyType(dict(stated)),
                presets=MappingProxyType(dict(latest(presets))),
                topics=tuple(dict.fromkeys(topic for topic in topics if topic and "{{" not in topic)),
                framework=framework,
                namespace=namespace or self.namespace,
                build=self.build,
                makes=makes,
                spelling=spelling,
                origin=origin,
            )
        )

    def broker(self, broker: BrokerConfig, style: Style = "any") -> None:
        """Add brokers; the placeholders in their settings are resolved here."""
        look = self.look_up()
        settings = {key: resolved(setting, style, look) for key, setting in broker.settings.items()}
        self.brokers.append(dataclasses.replace(broker, settings=MappingProxyType(settings)))

    def topic(self, topic: TopicConfig, style: Style = "any") -> None:
        """Add a topic; the placeholders in its settings are resolved here."""
        look = self.look_up()
        settings = {key: resolved(setting, style, look) for key, setting in topic.settings.items()}
        self.topics.append(dataclasses.replace(topic, settings=MappingProxyType(settings)))

    def unreadable(self, source: Text, error: Unreadable, do: str = "") -> None:
        """Tell that a text, or the rest of it, could not be read."""
        self.problems.append(
            source.problem("unreadable", error.line, f"not readable: {error}", do or "the rest is left out")
        )

    def count(self) -> int:
        """How many things were found."""
        pages = sum(map(len, self.pages.values()))
        apart = (
            len(self.env_files)
            + len(self.dockerfiles)
            + len(self.made)
            + len(self.beans)
            + len(self.config_maps)
            + len(self.containers)
            + len(self.pools)
            + len(self.clusters)
        )
        return len(self.producers) + len(self.topics) + len(self.brokers) + pages + apart

    def inputs(self) -> Inputs:
        """What was gathered, for everybody else."""
        return Inputs(
            producers=tuple(self.producers),
            topics=tuple(self.topics),
            brokers=tuple(self.brokers),
            problems=tuple(dict.fromkeys(self.problems)),
            read=tuple(self.read),
            ignored=MappingProxyType(dict(sorted(self.ignored.items()))),
        )


def preset(key: str, value: str, note: str, origin: Origin) -> Setting:
    """A setting that a framework passes where nothing is written."""
    return Setting(key, value, origin, note=note)
