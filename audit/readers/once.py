"""A producer that several files of a repository tell of is told once.

| what | which is kept |
|---|---|
| a connector's JSON, and the script that registers the same one | the JSON |
| a service in several Compose files of a directory, of which the others say nothing else | the first file's |
| a service in Compose's override, which is put above the file beside it | the first file's; what differs is unknown |
| a service of Compose's and the workload of Kubernetes' with its name, which say the same | the workload |
| images of one directory, which say the same | the first Dockerfile's |
| an application's file, and the one that is put above it where it is deployed: a ConfigMap's, or of `config/` | the \
application's, with what the other says |
| a template of Ansible's, and variables that such templates are filled with | the template |
| an agent's own file, and the same in a ConfigMap or in values of a chart | the agent's own |
| a section of appsettings.json, and that of an environment's file that says the same | the first |
| a worker of Connect's as a service of Compose's, and its file of properties, which say the same | the service |

Two producers that differ in what decides over records are two, unless one file is put above the other.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import PurePath
from types import MappingProxyType
from typing import Final

from audit.model import ProducerConfig, Setting
from audit.units import NAMED

DECIDES: Final[Mapping[str, str]] = {
    "acks": "acks",
    "request.required.acks": "acks",
    "enable.idempotence": "enable.idempotence",
    "retries": "retries",
    "message.send.max.retries": "retries",
    "max.in.flight.requests.per.connection": "max.in.flight",
    "max.in.flight": "max.in.flight",
    "transactional.id": "transactional.id",
}
"""What decides over records, and what else it is called."""
COMPOSE: Final = re.compile(r"(?:docker-)?compose(?P<more>[\w.-]*)\.ya?ml")
DOCKERFILE: Final = re.compile(r"Dockerfile(?:[.-][\w.-]+)?|[\w.-]+\.Dockerfile")
SCRIPT: Final = (".sh", ".bash")
OF_FILES: Final = ("spring", "smallrye")
"""Frameworks that put another file above an application's own."""
INSIDE: Final = "/src/main/resources/"
APPLICATION: Final = re.compile(r"(?:^|/)(?:config|conf|docker|deploy|deployment)/application\.(?:ya?ml|properties)$")
"""A file that is put beside an application where it runs."""
OF_KUBERNETES: Final = re.compile(r"\.ya?ml$")
NOTE: Final = "files that are put above each other say otherwise"


def told_once(producers: Sequence[ProducerConfig]) -> list[ProducerConfig]:
    """Producers, each of those that are one in the place that is kept."""
    kept = list(producers)
    for join in (
        _filled,
        _settings_of_dotnet,
        _connectors,
        _composed,
        _workloads,
        _images,
        _deployed,
        _agents,
        _workers,
    ):
        kept = join(kept)
    return kept


def decides(producer: ProducerConfig) -> dict[str, tuple[str, bool]]:
    """What is said of what decides over records."""
    said = {**producer.presets, **producer.settings}
    return {DECIDES[key]: (_plain(each.value), each.known) for key, each in said.items() if key in DECIDES}


def _plain(value: str) -> str:
    return {"-1": "all"}.get(value.strip().lower(), value.strip().lower())


def _file(producer: ProducerConfig) -> str:
    return PurePath(producer.origin.path).name


def _folder(producer: ProducerConfig) -> PurePath:
    return PurePath(producer.origin.path).parent


def _without(
    producers: Sequence[ProducerConfig],
    among: Iterable[ProducerConfig],
    stands_for: Callable[[ProducerConfig, ProducerConfig], bool],
) -> list[ProducerConfig]:
    """Producers without those of some that another of them stands for."""
    gone: set[int] = set()
    for one, other in combinations(list(among), 2):
        if id(one) in gone or id(other) in gone:
            continue
        if stands_for(one, other):
            gone.add(id(other))
        elif stands_for(other, one):
            gone.add(id(one))
    return [each for each in producers if id(each) not in gone]


def _connectors(producers: Sequence[ProducerConfig]) -> list[ProducerConfig]:
    def stands_for(one: ProducerConfig, other: ProducerConfig) -> bool:
        same = (one.name, one.topics, decides(one)) == (other.name, other.topics, decides(other))
        beside = _folder(one) == _folder(other) or _folder(one).parent in (_folder(other), _folder(other).parent)
        beside = beside or _folder(one) == _folder(other).parent
        scripted = _file(other).endswith(SCRIPT) and not _file(one).endswith(SCRIPT)
        return scripted and same and beside

    own = [each for each in producers if each.framework == "connect" and each.spelling.startswith("producer.override.")]
    return _without(producers, own, stands_for)


VARIABLES: Final = re.compile(r"(?:^|/)(?:group_vars|host_vars|defaults|vars)/(?:[^/]+/)?[^/]+\.ya?ml$")
"""Where Ansible has what it fills templates with."""


def _filled(producers: Sequence[ProducerConfig]) -> list[ProducerConfig]:
    """Producers without sections of Ansible's variables, where a template of its has a producer."""
    if not any(each.origin.path.endswith(".j2") for each in producers):
        return list(producers)
    return [each for each in producers if each.framework or not VARIABLES.search(each.origin.path)]


OF_ENVIRONMENT: Final = re.compile(r"appsettings\.[\w-]+\.json", re.IGNORECASE)


def _settings_of_dotnet(producers: Sequence[ProducerConfig]) -> list[ProducerConfig]:
    """Producers of sections of .NET's settings, those of an environment's file with what appsettings.json says below;
    without them, if they say nothing else of what decides, or of addresses.
    """
    bases = {(_folder(each), each.spelling): each for each in producers if _file(each).lower() == "appsettings.json"}
    kept = []
    for each in producers:
        base = bases.get((_folder(each), each.spelling)) if OF_ENVIRONMENT.fullmatch(_file(each)) else None
        if base is None:
            kept.append(each)
            continue
        whole = _above(base, each)
        if (decides(whole), _servers(whole)) != (decides(base), _servers(base)):
            kept.append(dataclasses.replace(each, settings=whole.settings))
    return kept


def _composed(producers: Sequence[ProducerConfig]) -> list[ProducerConfig]:
    """Without what a second Compose file says of a service of the first; with what an override says."""

    def stands_for(one: ProducerConfig, other: ProducerConfig) -> bool:
        first, second = COMPOSE.fullmatch(_file(one)), COMPOSE.fullmatch(_file(other))
        more = decides(other).items() <= decides(one).items() and other.presets.keys() <= one.presets.keys()
        return (
            _is_same_service(one, other)
            and _folder(one) == _folder(other)
            and first is not None
            and second is not None
            and not first["more"]
            and bool(second["more"])
            and (more or second["more"] == ".override")
        )

    own = [each for each in producers if COMPOSE.fullmatch(_file(each))]
    kept = _without(producers, own, stands_for)
    left = {id(each) for each in kept}
    gone = [each for each in own if id(each) not in left and ".override." in _file(each)]
    for at, each in enumerate(kept):
        for other in gone:
            if stands_for(each, other):
                kept[at] = each = _above(each, other, unsure=True)
    return kept


def _is_same_service(one: ProducerConfig, other: ProducerConfig) -> bool:
    def what(each: ProducerConfig) -> tuple[str, ...]:
        return each.name, each.framework, each.spelling, each.build

    return one.spelling.endswith("{KEY}") and what(one) == what(other)


def _workloads(producers: Sequence[ProducerConfig]) -> list[ProducerConfig]:
    def stands_for(one: ProducerConfig, other: ProducerConfig) -> bool:
        same = _is_same_service(one, other) and decides(one) == decides(other)
        return same and _kind_of_workload(one) < _kind_of_workload(other)

    return _without(producers, [each for each in producers if each.spelling.endswith("{KEY}")], stands_for)


def _kind_of_workload(producer: ProducerConfig) -> int:
    """Which of the files that start a service is kept: a workload's of Kubernetes', one of Compose's, or another."""
    if COMPOSE.fullmatch(_file(producer)):
        return 1
    return 0 if OF_KUBERNETES.search(_file(producer)) else 2


OF_AGENTS: Final = frozenset(
    {"beats", "telegraf", "opentelemetry", "benthos", "redpanda connect", "vector", "fluent bit", "fluentd", "logstash"}
)
"""Programs whose configuration is a file of their own, which is deployed as it is."""
DEPLOYED: Final = re.compile(
    r"(?:^|/)(?:k8s|kube\w*|manifests?|deploy\w*|charts?|helm|overlays|base)/|config-?map|daemon-?set|values"
)
"""Where a copy of it is that is put into a cluster."""


def _agents(producers: Sequence[ProducerConfig]) -> list[ProducerConfig]:
    """Without what a ConfigMap or a chart says of an agent, where its own file says the same."""

    def what(each: ProducerConfig) -> tuple[object, ...]:
        return each.framework, each.topics, decides(each), _servers(each)

    def stands_for(one: ProducerConfig, other: ProducerConfig) -> bool:
        deployed = DEPLOYED.search(other.origin.path) is not None and _file(other).endswith((".yml", ".yaml"))
        return deployed and DEPLOYED.search(one.origin.path) is None and what(one) == what(other)

    return _without(producers, [each for each in producers if each.framework in OF_AGENTS], stands_for)


def _servers(producer: ProducerConfig) -> str:
    """A producer's addresses, without what spellings of lists differ in."""
    setting = producer.settings.get("bootstrap.servers")
    return re.sub(r"[\s\[\]\"']", "", setting.value) if setting is not None else ""


def _workers(producers: Sequence[ProducerConfig]) -> list[ProducerConfig]:
    """Without the file of properties of a worker of Connect's that a service of Compose's is, where there is one of
    each: the image has the file, or the service makes it of its variables.
    """
    own = [each for each in producers if each.framework == "connect" and not each.spelling.startswith("producer.over")]
    services = [each for each in own if COMPOSE.fullmatch(_file(each))]
    files = [each for each in own if _file(each).endswith(".properties")]
    if len(services) != 1 or len(files) != 1:
        return list(producers)
    one, other = services[0], files[0]
    same = (decides(one), _servers(one)) == (decides(other), _servers(other))
    return [each for each in producers if each is not other] if same else list(producers)


def _images(producers: Sequence[ProducerConfig]) -> list[ProducerConfig]:
    def stands_for(one: ProducerConfig, other: ProducerConfig) -> bool:
        same = (one.framework, one.spelling, decides(one)) == (other.framework, other.spelling, decides(other))
        return same and _folder(one) == _folder(other) and len(_file(one)) <= len(_file(other))

    return _without(producers, [each for each in producers if DOCKERFILE.fullmatch(_file(each))], stands_for)


def _deployed(producers: Sequence[ProducerConfig]) -> list[ProducerConfig]:
    """An application's own file with what the file says that is put above it; without that one."""
    own = [each for each in producers if each.framework in OF_FILES and each.spelling.endswith("{key}")]
    inside = [each for each in own if INSIDE in each.origin.path and each.unit not in ("", NAMED)]
    outside = [each for each in own if "/src/" not in each.origin.path and _is_put_above(each)]
    alone = len({each.unit for each in inside}) == 1
    kept = list(producers)
    for one in inside:
        mine = [each for each in outside if _is_of_application(each, one, alone=alone)]
        alike = len({(_whose(each), *sorted(decides(each).items())) for each in mine}) == 1
        if alike and [_is_beside(each, one) for each in inside].count(True) == 1:  # no other profile
            gone = {id(each) for each in mine}
            kept = [_above(one, mine[0]) if each is one else each for each in kept if id(each) not in gone]
    return kept


def _is_beside(producer: ProducerConfig, application: ProducerConfig) -> bool:
    """Whether a producer is of an application's module, and of channels the one of the same name."""
    same = producer.framework == application.framework and producer.unit == application.unit
    return same and (producer.framework == "spring" or _channel(producer) == _channel(application))


def _channel(producer: ProducerConfig) -> str:
    return producer.name.partition(" (profile ")[0]


def _is_of_application(producer: ProducerConfig, application: ProducerConfig, *, alone: bool) -> bool:
    """Whether a file is for an application, and for no other one: it has its name, or lies in its module. Of channels
    it is the one of the same name.
    """
    beside = alone or APPLICATION.search(producer.origin.path) is not None
    named = application.framework == "spring" and _is_named_for(producer, application)
    return (beside and _is_beside(producer, application)) or (named and producer.framework == "spring")


def _whose(producer: ProducerConfig) -> str:
    """Which application a file is for: by the ConfigMap's name, or else its own."""
    return _file(producer) if producer.name == _folder(producer).name else producer.name


def _is_put_above(producer: ProducerConfig) -> bool:
    """Whether a file is put above an application's own where that runs: a ConfigMap's, or one of `config/`."""
    path = producer.origin.path
    named = APPLICATION.search(path) is not None
    return "(profile " not in producer.name and (named or not re.search(r"/application[\w-]*\.\w+$", path))


def _is_named_for(producer: ProducerConfig, application: ProducerConfig) -> bool:
    """Whether a ConfigMap has the name of an application's directory, or of the application."""
    name = re.sub(r"[-_](?:config(?:map)?|cm|properties|settings)$", "", producer.name)
    return name in (PurePath(application.unit).name, application.name)


def _above(one: ProducerConfig, other: ProducerConfig, *, unsure: bool = False) -> ProducerConfig:
    """A producer with what another file says that is put above it; `unsure`: that may not be there."""

    def said(key: str, each: Setting) -> Setting:
        own = one.settings.get(key)
        differs = own is None or _plain(own.value) != _plain(each.value)
        return dataclasses.replace(each, known=False, note=NOTE) if unsure and differs and key in DECIDES else each

    more = {key: said(key, each) for key, each in other.settings.items()}
    return dataclasses.replace(one, settings=MappingProxyType({**one.settings, **more}))
