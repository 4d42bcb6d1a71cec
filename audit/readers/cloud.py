"""Containers and functions of clouds: task definitions of ECS, CloudFormation, manifests of Cloud Foundry.

Each has the environment of a program, and its arguments, in words of its own. What comes
from a secret, a parameter or another stack is unknown. CloudFormation has connectors of MSK Connect too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from audit.model import Setting
from audit.readers.collect import Collected
from audit.readers.connect import read_connector
from audit.readers.format import JSON, YAML, Document, Format
from audit.readers.names import latest
from audit.readers.text import Text
from audit.readers.tree import Table, flatten
from audit.readers.variables import arguments, read_variables

TASK: Final = "AWS::ECS::TaskDefinition"
CONNECTOR: Final = "AWS::KafkaConnect::Connector"
FUNCTIONS: Final = ("AWS::Lambda::Function", "AWS::Serverless::Function")
MANIFEST: Final = re.compile(r"manifest(?:[-_.][\w-]+)?\.ya?ml")
BUILT: Final = frozenset({"target", "build", "dist", "out"})


def _task(source: Text, containers: tuple[Table, ...], reading: Collected, *, capital: bool) -> None:
    """The containers of a task definition; CloudFormation has names of its own for everything."""

    def spelled(name: str) -> str:
        return name[0].upper() + name[1:] if capital else name

    for container in containers:
        given = [
            Setting(
                each.text(spelled("name")), each.text(spelled("value")), source.origin(_line(each, spelled("value")))
            )
            for each in container.tables(spelled("environment"))
        ]
        given += [
            Setting(name, f"${{{name}}}", source.origin(each.line), known=False, note="from a secret")
            for each in container.tables(spelled("secrets"))
            if (name := each.text(spelled("name")))
        ]
        given += arguments(source, container.get(spelled("entryPoint")), container.get(spelled("command")))
        name, image = container.text(spelled("name")), container.text(spelled("image"))
        read_variables(source, name, image, given, reading, "any")


def _line(table: Table, key: str) -> int | None:
    return next((line for name, line, _ in table.items if name == key), table.line)


def _definition(document: Document) -> Table:
    tree = document.tree
    assert tree is not None
    return tree if "containerDefinitions" in tree.names() else tree.table("taskDefinition")


def _read_task(document: Document, reading: Collected) -> bool:
    _task(document.source, _definition(document).tables("containerDefinitions"), reading, capital=False)
    return True


def _resources(document: Document) -> Iterator[tuple[str, str, Table]]:
    """The resources of a stack: (name, type, properties)."""
    resources = document.tree.table("Resources") if document.tree is not None else Table((), None)
    for name, _, value in resources.items:
        if isinstance(value, Table) and value.text("Type").startswith("AWS::"):
            yield name, value.text("Type"), value.table("Properties")


def _read_stack(document: Document, reading: Collected) -> bool:
    source = document.source
    for name, kind, own in _resources(document):
        if kind == TASK:
            _task(source, own.tables("ContainerDefinitions"), reading, capital=True)
        elif kind in FUNCTIONS:
            variables = flatten(own.table("Environment", "Variables"), source)
            read_variables(source, name, "", variables, reading, "any")
        elif kind == CONNECTOR:
            settings = flatten(own.table("ConnectorConfiguration"), source)
            release = own.text("KafkaConnectVersion")
            told = f"{source.origin(_line(own, 'KafkaConnectVersion'))}: KafkaConnectVersion"
            known = re.fullmatch(r"[\d.]+", release) is not None
            if "connector.class" in latest(settings):
                read_connector(
                    own.text("ConnectorName") or name, settings, reading, "any",
                    release=release if known else None, release_from=told if known else "",
                )  # fmt: skip
    return True


def _read_manifest(document: Document, reading: Collected) -> bool:
    """Add what applications of Cloud Foundry's have in their environment, above what they are built of."""
    assert document.tree is not None
    source = document.source
    for each in document.tree.tables("applications"):
        given = flatten(each.table("env"), source) + arguments(source, each.get("command"))
        reading.build = _built_in(source, each.text("path"))
        reading.environments.append((reading.build, latest(given)))
        read_variables(source, each.text("name"), "", given, reading, "any")
        reading.build = ""
    return True


def _built_in(source: Text, path: str) -> str:
    """The directory of a program that a path below it is built in."""
    parts: list[str] = []
    for each in Path(path).parts:
        if each in BUILT or re.search(r"\.(?:jar|war|zip)$", each):
            break
        parts.append(each)
    return os.path.normpath(Path(source.path).absolute().parent.joinpath(*parts))


FORMATS: Final = (
    Format(
        name="ECS",
        reads="`containerDefinitions` of a task: their `environment`, arguments",
        files=(*JSON, *YAML),
        rank=112,
        claims=lambda document: document.tree is not None and "containerDefinitions" in _definition(document).names(),
        read=_read_task,
    ),
    Format(
        name="CloudFormation",
        reads="tasks of ECS, functions, connectors of MSK Connect",
        files=(*JSON, *YAML),
        rank=113,
        claims=lambda document: any(True for _ in _resources(document)),
        read=_read_stack,
    ),
    Format(
        name="Cloud Foundry",
        reads="`env` of the `applications` of a manifest.yml",
        files=YAML,
        rank=114,
        claims=lambda document: (
            document.tree is not None
            and MANIFEST.fullmatch(document.file) is not None
            and any("env" in each.names() for each in document.tree.tables("applications"))
        ),
        read=_read_manifest,
    ),
)
