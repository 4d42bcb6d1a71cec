"""docker-compose files: the environment of each service, `env_file`s and the `.env` beside included.

Compose resolves `${NAME:-default}` and `$NAME` itself, from the shell and from `.env`; `$$` is a dollar sign.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Final

from audit.model import BrokerConfig, Origin, Setting
from audit.readers.collect import Collected
from audit.readers.environments import program_of
from audit.readers.format import YAML, Document, Format
from audit.readers.names import latest
from audit.readers.placeholders import Lookup, resolved
from audit.readers.text import Text, decode
from audit.readers.topiccommands import topics_of_commands
from audit.readers.tree import Listing, Node, Scalar, Table
from audit.readers.variables import arguments, options, read_variables
from audit.units import hosts

LARGEST = 100_000
ASSIGNMENT = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.]*)\s*=\s*(.*?)\s*")


def is_compose(document: Table) -> bool:
    """Whether a document has services of Compose's."""
    services = document.get("services")
    return isinstance(services, Table) and any(
        isinstance(service, Table) and service.names() & {"image", "build", "environment", "env_file", "extends"}
        for _, _, service in services.items
    )


def read_compose(source: Text, document: Table, reading: Collected) -> None:
    """Add what the environment of each service configures."""
    beside = {each.key: each.value for each in _env_file(source, ".env", reading)}
    outside = reading.look_up()

    def look_up(name: str) -> str | None:
        found = outside(name)
        return beside.get(name) if found is None else found

    first = len(reading.brokers)
    for name, _, service in document.table("services").items:
        if not isinstance(service, Table):
            continue
        given: list[Setting] = []
        for path in _paths(service.get("env_file")):
            given += _env_file(source, path, reading)
        given += pairs(service.get("environment"), source, look_up)
        image = resolved(Setting("image", service.text("image"), source.origin(service.line)), "shell", look_up).value
        base, inside = _built_from(source, service, look_up) if not KNOWN.search(image) else ("", [])
        image = base or image
        named = {each.key for each in given}
        given += [each for each in inside if each.key not in named]
        given += arguments(source, service.get("entrypoint"), service.get("command"))
        own = [resolved(each, "shell", look_up) for each in latest(given).values()]
        runs = not service.names() & {"command", "entrypoint"}
        known = [name, service.text("container_name"), service.text("hostname"), *_aliases(service)]
        reading.build = _context(source, service)
        reading.services.append((source.path, name, latest(own)))
        if reading.build:
            reading.environments.append((reading.build, latest(own)))
        else:
            reading.workloads.append(((name, program_of(image)), latest(own)))
        addresses = [each for each in known if each]
        before = len(reading.brokers)
        read_variables(source, name, image, own, reading, "none", runs=runs, addresses=addresses)
        reading.brokers[before:] = [
            # A service is where it is described, and not where its variables are.
            replace(each, replicas=1, origin=_here(each.origin, source, service))
            for each in reading.brokers[before:]
        ]
        reading.build = ""
    reading.brokers[first:] = _by_cluster(reading.brokers[first:])


def _here(origin: Origin, source: Text, service: Table) -> Origin:
    """Where brokers are described: in the Compose file, if what is told first of them stands in another one."""
    return origin if origin.path == source.path else source.origin(service.line)


QUORUM: Final = ("controller.quorum.voters", "controller.quorum.bootstrap.servers")


def _by_cluster(brokers: Sequence[BrokerConfig]) -> list[BrokerConfig]:
    """The brokers of one file, which are of several clusters if they have controllers of their own; where one does not
    tell its controllers, all are of one.
    """
    told = [_controllers(each) for each in brokers]
    groups: list[set[str]] = []
    for own in told:
        joined = [each for each in groups if each & own]
        groups = [each for each in groups if not each & own] + [own.union(*joined)]
    if len(groups) < 2 or not all(told):
        return list(brokers)
    first = {min(group): at for at, group in enumerate(groups)}
    at_of = [next(first[min(group)] for group in groups if own <= group) for own in told]
    return [replace(each, cluster=f"{each.cluster} {at}") for each, at in zip(brokers, at_of, strict=True)]


def _controllers(broker: BrokerConfig) -> set[str]:
    """The hosts of a broker's controllers: of KRaft; its own name stands for this machine."""
    setting = next((broker.settings[key] for key in QUORUM if key in broker.settings), None)
    if setting is None or not setting.known:
        return set()
    return set(hosts(re.sub(r"\d+@", "", setting.value))) or {broker.name.lower()}


def _aliases(service: Table) -> list[str]:
    networks = service.table("networks")
    return [each.text for name, _, _ in networks.items for each in networks.scalars(name, "aliases")]


def _context(source: Text, service: Table) -> str:
    """The directory that a service's image is built in; empty if it is not built here."""
    context = service.text("build") or service.text("build", "context")
    if not context or "$" in context or "://" in context:
        return ""
    return os.path.normpath(Path(source.path).absolute().parent / context)


def _built_from(source: Text, service: Table, look_up: Lookup) -> tuple[str, list[Setting]]:
    """The image that a service's own is built from, if it is one that is known, and its variables."""
    context = service.text("build") or service.text("build", "context")
    if not context:
        return "", []
    named = service.text("build", "dockerfile") or "Dockerfile"
    parts = [
        resolved(Setting("build", each, source.origin(service.line)), "shell", look_up).value
        for each in (context, named)
    ]
    path = PurePath(*parts)
    if any("$" in each or "://" in each for each in parts) or path.is_absolute() or ".." in path.parts:
        return "", []
    try:
        at = Path(source.path).parent / path
        lines = decode(at.read_bytes()).splitlines() if at.stat().st_size < LARGEST else []
    except (OSError, ValueError):
        return "", []
    told = {each.key: each.value for each in pairs(service.get("build", "args"), source, look_up)}
    return _stages(Text(str(at), "\n".join(lines)), told)


FROM: Final = re.compile(r"(?i)\s*FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?\s*")
ARG: Final = re.compile(r"(?i)\s*ARG\s+([A-Za-z_]\w*)=(\"[^\"]*\"|\S*)\s*")
IS_ENV: Final = re.compile(r"(?i)\s*ENV\s")
PAIR: Final = re.compile(r"(?<!\S)([A-Za-z_]\w*)=(\"[^\"]*\"|'[^']*'|\S*)")
OLD_ENV: Final = re.compile(r"(?i)\s*ENV\s+([A-Za-z_]\w*)\s+(\S.*?)\s*")
STARTS: Final = re.compile(r"(?i)\s*(?:ENTRYPOINT|CMD)\s")
KNOWN: Final = re.compile(r"(?:^|/)(?:cp-[\w-]+|confluent-local|kafka|kafka-native|debezium/[\w-]+)(?::|@|$)")
"""Images whose tags tell a release of Kafka's."""


def _stages(source: Text, arguments: Mapping[str, str]) -> tuple[str, list[Setting]]:
    """The image of a Dockerfile's last stage, if it is one that is known, and what the stage sets."""
    base, inside = last_stage(source, arguments)
    return base if KNOWN.search(base) else "", inside


def last_stage(source: Text, arguments: Mapping[str, str]) -> tuple[str, list[Setting]]:
    """The image of a Dockerfile's last stage, and the variables and an application's arguments that the stage sets."""
    bases: dict[str, str] = {}
    known: dict[str, str] = {}
    base, inside, goes_on = "", list[Setting](), ""
    for number, line in enumerate(source.content.splitlines(), 1):
        text = goes_on + line.rstrip().removesuffix("\\")
        goes_on = "ENV " if line.rstrip().endswith("\\") and IS_ENV.match(text) else ""
        if stage := FROM.fullmatch(line):
            image = resolved(Setting("image", stage[1], source.origin(number)), "shell", known.get).value
            base, inside = bases.get(image, image), []
            bases[stage[2] or ""] = base
        elif given := ARG.fullmatch(line):
            known[given[1]] = arguments.get(given[1], given[2].strip('"'))
        elif IS_ENV.match(text):
            pairs_told = PAIR.findall(text) or [each.groups() for each in (OLD_ENV.fullmatch(text),) if each]
            inside += [Setting(name, value.strip("\"'"), source.origin(number)) for name, value in pairs_told]
        elif STARTS.match(line):
            inside += options(re.sub(r"[\[\],]", " ", line), source.origin(number))
    return base, inside


def pairs(node: Node | None, source: Text, look_up: Lookup) -> list[Setting]:
    """The variables of an `environment`: a mapping, or a list of NAME=value. NAME alone is passed on from outside."""
    found: list[Setting] = []
    if isinstance(node, Table):
        for name, line, value in node.items:
            text = value.text if isinstance(value, Scalar) else ""
            found.append(
                _passed(name, text, source, line, look_up) if not text else Setting(name, text, source.origin(line))
            )
    elif isinstance(node, Listing):
        for each in node.items:
            if isinstance(each, Scalar):
                name, equals, text = each.text.partition("=")
                origin = source.origin(each.line)
                found.append(Setting(name, text, origin) if equals else _passed(name, "", source, each.line, look_up))
    return found


def _passed(name: str, text: str, source: Text, line: int | None, look_up: Lookup) -> Setting:
    value = look_up(name)
    note = "" if value is None else f"${{{name}}} is set"
    return Setting(name, text if value is None else value, source.origin(line), known=value is not None, note=note)


def _paths(node: Node | None) -> list[str]:
    if isinstance(node, Scalar):
        return [node.text]
    found = []
    for each in node.items if isinstance(node, Listing) else ():
        if isinstance(each, Scalar):
            found.append(each.text)
        elif isinstance(each, Table):
            found.append(each.text("path"))
    return found


def _env_file(source: Text, path: str, reading: Collected) -> list[Setting]:
    """The variables of a file named by a Compose file, beside it or below; none if it cannot be read."""
    if not path or "$" in path or PurePath(path).is_absolute() or ".." in PurePath(path).parts:
        return []
    name = str(PurePath(source.path).parent / path)
    try:
        if Path(name).stat().st_size > LARGEST:
            return []
        reading.named_env_files.add(str(Path(name).absolute()))
        return read_env(Text(name, decode(Path(name).read_bytes())))
    except (OSError, ValueError):
        return []


def read_env(source: Text) -> list[Setting]:
    """The variables of a .env file: NAME=value, with or without quotes, `#` before a comment."""
    found = []
    for number, line in enumerate(source.content.splitlines(), 1):
        if line.lstrip().startswith("#") or not (pair := ASSIGNMENT.fullmatch(line)):
            continue
        name, value = pair.groups()
        quoted = re.fullmatch(r"""(["'])(.*?)\1\s*(?:#.*)?""", value)
        text = quoted[2] if quoted else re.sub(r"\s+#.*", "", value)
        found.append(Setting(name, text, source.origin(number)))
    return found


PARSED: Final = (".yml", ".yaml", ".json", ".py", ".sql")
"""What a file whose name begins with .env may end in, and then is (.env.yaml)."""


def _is_env(document: Document) -> bool:
    return document.file.endswith(".env") or (document.file.startswith(".env") and not document.file.endswith(PARSED))


def _read_env_file(document: Document, reading: Collected) -> bool:
    """Keep the file until all are there: a Compose file may name it."""
    reading.env_files[str(Path(document.source.path).absolute())] = document.source
    return True


def _read(document: Document, reading: Collected) -> bool:
    assert document.tree is not None
    read_compose(document.source, document.tree, reading)
    known = set(map(str, (each.origin for each in reading.topics)))
    made = topics_of_commands(document.source, folded=True)
    reading.topics += [each for each in made if str(each.origin) not in known]
    return True


FORMATS: Final = (
    Format(
        name="`.env` files",
        reads="environment variables: those of a Compose file that names it, or its own",
        files=("*.env", ".env", ".env.*"),
        rank=10,
        whole=True,
        claims=_is_env,
        read=_read_env_file,
    ),
    Format(
        name="docker-compose",
        reads="the environment of each service, with its `env_file`s and the `.env` beside it",
        files=YAML,
        rank=110,
        claims=lambda document: document.tree is not None and is_compose(document.tree),
        read=_read,
    ),
)
