"""Terraform: topics, and connectors of Kafka Connect with their workers' configurations.

| resource | what it is |
|---|---|
| `kafka_topic`, those of Confluent and Aiven | a topic |
| `aws_mskconnect_connector` | a connector of MSK Connect (`connector_configuration`), with workers of its own |
| `aws_mskconnect_worker_configuration` | the .properties of such workers, in the same directory |
| any with `name` and `value` of variables | a container's environment |
| `kafka-connect_connector` (`config`), `confluent_connector` (`config_nonsensitive`) | a connector |

A block is searched, not evaluated: what is an expression in it is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from audit.model import Setting, TopicConfig
from audit.readers.agents import closing, pairs_of
from audit.readers.collect import Collected
from audit.readers.connect import OVERRIDE, read_connector
from audit.readers.format import Document, Format
from audit.readers.names import latest, under
from audit.readers.properties import read_properties
from audit.readers.text import Text
from audit.readers.variables import read_variables
from audit.readers.walk import text_of

TERRAFORM: Final = re.compile(r'(?m)^resource[ \t]+"(?:\w*kafka_topic|aiven_kafka_topic)"[ \t]+"([\w-]+)"[ \t]*\{')
CONNECTOR: Final = re.compile(
    r'(?m)^resource[ \t]+"(aws_mskconnect_connector|kafka-connect_connector|confluent_connector)"'
    r'[ \t]+"([\w-]+)"[ \t]*\{'
)
CONFIG: Final = re.compile(
    r"(?m)^[ \t]*(?:connector_configuration|config|config_nonsensitive)[ \t]*=\s*"
    r"(?:merge\(\s*(?P<before>(?:[\w.\[\]]+\s*,\s*)*))?\{"
)
MERGED: Final = re.compile(r"\}\s*,\s*[\w.]")
"""What stands behind a map that another one is put above."""
DECISIVE: Final = ("acks", "enable.idempotence", "retries")
ENTRY: Final = re.compile(
    r"(?m)^[ \t]*\"?([\w.-]+)\"?[ \t]*[=:][ \t]*(?:\"([^\"\n]*)\"|([^\n#]*?))[ \t]*,?[ \t]*(?:(?:#|//)[^\n]*)?$"
)
LITERAL: Final = re.compile(r"-?\d+|true|false")
VERSION: Final = re.compile(r'(?m)^[ \t]*kafkaconnect_version[ \t]*=[ \t]*"([\d.]+)"')
WORKER: Final = re.compile(r"\baws_mskconnect_worker_configuration\.([\w-]+)")
HEREDOC: Final = re.compile(
    r"properties_file_content[ \t]*=[ \t]*<<-?(\w+)\n(.*?)^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE
)
BESIDE: Final = 64
"""How many files of a directory are looked into for a worker's configuration."""
UNKNOWN: Final = "(an expression)"


def _unfolded(text: str) -> str:
    """A text in which each entry of a map that is written in one line has a line of its own; it is as long as before.

    >>> _unfolded('config = { "a" = 1, b = "x,y" }').splitlines()
    ['config = ', ' "a" = 1', ' b = "x,y" ']
    """
    made = []
    for line in text.split("\n"):
        inside = re.split(r'("[^"]*")', line) if "{" in line and len(line) < LINE else [line]
        made.append("".join(each if each.startswith('"') else re.sub(r"[{},]", "\n", each) for each in inside)
                    if len(inside) > 1 else line)  # fmt: skip
    return "\n".join(made)


LINE: Final = 2_000
"""Characters of the longest line of Terraform's that is taken apart."""


def _read_topics(source: Text, reading: Collected) -> None:
    for block in TERRAFORM.finditer(source.content):
        text = source.content[block.end() : closing(source.content, block.end())]
        separator = r"[ \t]*=[ \t]*"
        given = {
            **latest(pairs_of(source, _unfolded(text), block.end(), separator)),
            **latest(pairs_of(source, text, block.end(), separator)),
        }
        factor = next((given[key].value for key in ("replication_factor", "replication") if key in given), "")
        settings = {
            key.replace("_", "."): each
            for key, each in given.items()
            if key.replace("_", ".") in ("min.insync.replicas", "unclean.leader.election.enable", "flush.messages")
        }
        named = {key: Setting(key, each.value, each.origin) for key, each in settings.items()}
        reading.topic(
            TopicConfig(
                name=given["name"].value
                if "name" in given
                else given["topic_name"].value
                if "topic_name" in given
                else block[1],
                replication_factor=int(factor) if factor.isdecimal() else None,
                settings=MappingProxyType(named),
                origin=source.origin(source.line_at(block.start())),
            )
        )


def _entries(source: Text, text: str, start: int) -> Iterator[Setting]:
    """The entries of a map, which begins at a place of a source."""
    for each in ENTRY.finditer(text):
        value = each[2] if each[2] is not None else each[3]
        known = "${" not in value if each[2] is not None else LITERAL.fullmatch(value) is not None
        yield Setting(
            each[1], value if known else UNKNOWN, source.origin(source.line_at(start + each.start(1))), known=known
        )


def _read_connectors(source: Text, reading: Collected) -> None:
    for block in CONNECTOR.finditer(source.content):
        text = source.content[block.end() : closing(source.content, block.end())]
        config = CONFIG.search(text)
        if config is None:
            continue
        start = block.end() + config.end()
        end = closing(source.content, start)
        own = list(_entries(source, source.content[start:end], start))
        if "connector.class" not in latest(own):
            continue
        others = [
            Setting(OVERRIDE + key, UNKNOWN, source.origin(source.line_at(start)), known=False) for key in DECISIVE
        ]
        own = (others if config["before"] else []) + own + (others if MERGED.match(source.content, end) else [])
        worker = WORKER.search(text)
        version = VERSION.search(text)
        told = (
            f"{source.origin(source.line_at(block.end() + version.start(1)))}: kafkaconnect_version" if version else ""
        )
        read_connector(
            block[2],
            own,
            reading,
            "none",
            shared=_of_worker(source, worker[1]) if worker else (),
            release=version[1] if version else None,
            release_from=told,
        )


RESOURCE: Final = re.compile(r'(?m)^resource[ \t]+"([\w-]+)"[ \t]+"([\w-]+)"[ \t]*\{')
VARIABLE: Final = re.compile(
    r"\"?name\"?\s*[=:]\s*\"([A-Z][A-Z0-9_]*)\"\s*,?\s*\"?value\"?\s*[=:]\s*(\"(?:[^\"\\\n]|\\.)*\"|[^\s,}\"][^,}\n]*)"
)
"""A variable of a container, in a block of its own or in a list (`jsonencode`)."""
IMAGE: Final = re.compile(r"\bimage\"?\s*[=:]\s*\"([^\"\n]*)\"")


def _read_containers(source: Text, reading: Collected) -> None:
    """Add what containers have in their environment: of ECS, Kubernetes, Cloud Run, Container Apps."""
    for block in RESOURCE.finditer(source.content):
        text = source.content[block.end() : closing(source.content, block.end())]
        given = []
        for each in VARIABLE.finditer(text):
            known = each[2].startswith('"') and "${" not in each[2]
            origin = source.origin(source.line_at(block.end() + each.start(2)))
            given.append(Setting(each[1], each[2].strip('"') if known else UNKNOWN, origin, known=known))
        if given:
            image = IMAGE.search(text)
            read_variables(source, block[2], image[1] if image else "", given, reading, "any")


def _of_worker(source: Text, name: str) -> list[Setting]:
    """What a configuration of workers of the same directory gives to the producers of a connector."""
    block = re.compile(rf'(?m)^resource[ \t]+"aws_mskconnect_worker_configuration"[ \t]+"{re.escape(name)}"[ \t]*\{{')
    for each in _beside(source):
        if (found := block.search(each.content)) is None:
            continue
        text = HEREDOC.search(each.content, found.end(), closing(each.content, found.end()))
        if text is not None:
            lines = Text(each.path, text[2], each.line_at(text.start(2)))
            return [_shared(each) for each in under(read_properties(lines).settings, "producer.")]
    return []


def _shared(setting: Setting) -> Setting:
    """A worker's setting of producers."""
    known = "${" not in setting.value
    return replace(setting, value=setting.value if known else UNKNOWN, known=known)


def _beside(source: Text) -> Iterator[Text]:
    """A file, and the others of its directory, which Terraform reads as one."""
    yield source
    for path in sorted(Path(source.path).parent.glob("*.tf"))[:BESIDE]:
        if path.name != source.file and (other := text_of(path)) is not None:
            yield other


def _read(document: Document, reading: Collected) -> bool:
    _read_topics(document.source, reading)
    _read_connectors(document.source, reading)
    _read_containers(document.source, reading)
    return True


FORMATS: Final = (
    Format(
        name="Terraform",
        reads='topics: `resource "kafka_topic"`, and those of Confluent and Aiven; connectors of MSK Connect, '
        "Confluent and `kafka-connect_connector`; the environment of containers",
        files=("*.tf",),
        rank=54,
        whole=True,
        claims=lambda document: document.file.endswith(".tf"),
        read=_read,
    ),
)
