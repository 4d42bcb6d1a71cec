"""Which reader a text is for: by its name where that says it, otherwise by what is in it.

`read_paths` is what everybody else calls. Nothing that is in a file makes it fail: what cannot be read is a `Problem`,
and the rest is read.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Final

from audit.model import Client, Inputs, Origin, Problem, ProducerConfig, Setting
from audit.readers.application import FILE as APPLICATION
from audit.readers.application import read_applications
from audit.readers.check import check
from audit.readers.collect import Options, Page, Reading
from audit.readers.compose import is_compose, read_compose, read_env
from audit.readers.connect import is_worker, join, read_connector, read_worker
from audit.readers.flink import read_sink, read_sql, sinks
from audit.readers.kubernetes import is_resource, read_clusters, read_containers, read_resource
from audit.readers.names import producer_keys, squeezed, words
from audit.readers.placeholders import TEMPLATE
from audit.readers.plain import read_plain, read_prefixed, read_streams
from audit.readers.properties import read_properties
from audit.readers.python import read_python
from audit.readers.releases import BuildRelease, beside, contradictions, tells_client, told_in
from audit.readers.text import Text, Unreadable
from audit.readers.tree import Documents, Listing, Node, Table, flatten, read_json, read_yaml
from audit.readers.variables import read_variables
from audit.readers.walk import SPEAKS, Candidate, candidates

STDIN: Final = "-"
PROPERTY: Final = re.compile(r"(?:[ \t]*(?:[#!].*)?\r?\n)*[ \t]*[\w.-]+[ \t]*=")
"""What a .properties file, and neither YAML nor JSON, begins with."""
NOTHING: Final = "nothing of Kafka in it"
NO_PRODUCER: Final = "no producer, topic or broker in it"
STATEMENTS: Final = ("{%", "{{", "<%")
CLUSTER_ONLY: Final = words(
    "CustomResourceDefinition ClusterRole ClusterRoleBinding Role RoleBinding ServiceAccount Namespace"
)
"""Kinds of Kubernetes resources that configure nothing of ours, though they may name Kafka a thousand times."""
RENDER: Final = "render it first: helm template … | kafka-chaos audit -"


def read_paths(paths: Sequence[str | Path], options: Options | None = None) -> Inputs:
    """Everything that the files and directories at some paths configure; "-" is the standard input.

    Raises nothing on account of what it reads: a path that is not there is a `Problem`, as is a file that is damaged.
    """
    reading = Reading(options or Options())
    tops: dict[str, Path] = {}
    named = [str(path) for path in paths]
    if STDIN in named:
        named.remove(STDIN)
        content = sys.stdin.read()
        name = "stdin.properties" if PROPERTY.match(content) else "stdin.yaml"
        _read(Candidate(Text("(standard input)", content, name=name), True, Path("/")), reading)
    for candidate in candidates(named, reading.ignored, reading.problems):
        tops[candidate.text.path] = candidate.top
        _read(candidate, reading)
    read_applications(reading)
    for path, source in reading.env_files.items():
        if path not in reading.named_env_files:
            read_variables(source, source.file, "", read_env(source), reading, "shell")
    read_containers(reading)
    read_clusters(reading)
    producers, contradicted = _with_releases(reading.producers, tops, reading.options)
    reading.producers = join(producers)
    reading.problems += contradicted
    inputs = reading.inputs()
    return dataclasses.replace(inputs, problems=tuple(dict.fromkeys([*inputs.problems, *check(inputs)])))


def _read(candidate: Candidate, reading: Reading) -> None:
    """Read one file. What is not Kafka's at all leaves no trace but a count."""
    source = candidate.text
    application = APPLICATION.fullmatch(source.file)
    if not application and not SPEAKS.search(source.file) and not SPEAKS.search(source.content):
        reading.ignored[NOTHING] += 1
        if candidate.named:
            do = "a producer's, a topic's or a broker's configuration is looked for"
            reading.problems.append(source.problem("unreadable", None, NOTHING, do))
        return
    reading.read.append(source.path)
    before, problems = reading.count(), len(reading.problems)
    try:
        read_text(source, reading, named=candidate.named)
    except Unreadable as error:
        reading.unreadable(source, error)
    if reading.count() > before or (len(reading.problems) > problems and _concerns(source)):
        return
    del reading.problems[problems:]
    reading.ignored[NO_PRODUCER] += 1
    if candidate.named:
        do = "nothing in it tells that it is one's configuration: is it the right file?"
        reading.problems.append(source.problem("unreadable", None, NO_PRODUCER, do))


def _concerns(source: Text) -> bool:
    """Whether a text that could not be read speaks of producers or brokers, so that it must be told."""
    marks = r"bootstrap|connector\.class|producer|\backs\b" + ("" if source.file.endswith(".json") else "|kafka")
    return bool(re.search(marks, source.content, re.IGNORECASE))


def read_text(source: Text, reading: Reading, *, named: bool = False) -> None:
    """Read a text by its name. Raises Unreadable if nothing of it can be read."""
    file = source.file.lower()
    file = re.sub(r"\.(tpl|tmpl|j2|erb|template)$", "", file)
    if file.endswith((".yml", ".yaml")):
        kinds = set(re.findall(r"(?m)^kind:[ \t]*[\"']?(\w+)", source.content))
        if kinds and kinds <= CLUSTER_ONLY:
            return
        _documents(source, read_yaml(source), reading, named=named)
    elif file.endswith(".json"):
        _documents(source, read_json(source), reading, named=named)
    elif file.endswith(".py"):
        read_python(source, reading)
    elif file.endswith(".sql"):
        read_sql(source, reading)
    elif file.endswith(".env") or file.startswith(".env"):
        reading.env_files[str(Path(source.path).absolute())] = source
    elif source.content.lstrip().startswith("{") and not file.endswith(".properties"):
        _documents(source, read_json(source), reading, named=named)
    else:
        _properties(source, reading)


def _properties(source: Text, reading: Reading) -> None:
    application = APPLICATION.fullmatch(source.file)
    pages = read_properties(source, paged=application is not None)
    before = reading.count()
    if any(each.value.endswith("{") or each.key == "}" for each in pages.settings):
        if re.search(r"LoginModule\s+(required|requisite|sufficient|optional)", source.content):
            return  # JAAS: it has users, not settings
        raise Unreadable("blocks in braces (HOCON?), which are not read")
    if any(each.key.startswith(STATEMENTS) for each in pages.settings):
        at = next(each.origin.line for each in pages.settings if each.key.startswith(STATEMENTS))
        says = "has statements of a template: it is read without them, every line as if it counted"
        pages.problems = [Problem(Origin(source.path, at), "template", says, "render it first")]
        pages.pages = [[each for each in page if not each.key.startswith(STATEMENTS)] for page in pages.pages]
    if application or any(each.key.startswith(("spring.", "mp.messaging.", "%")) for each in pages.settings):
        _pages(source, pages.pages, application[1] if application else None, reading)
    elif pages.settings:
        _settings(source, pages.settings, reading, properties=True)
    if reading.count() > before or not pages.settings:
        reading.problems += pages.problems


def _pages(source: Text, pages: Sequence[Sequence[Setting]], profile: str | None, reading: Reading) -> None:
    """Keep the documents of an application's file until all of its files are there."""
    folder = str(PurePath(source.name or source.path).parent)
    folder = source.path + "/" + folder if source.name else str(Path(source.path).absolute().parent)
    for page in pages:
        if page:
            reading.pages.setdefault(folder, []).append(Page(profile or "", tuple(page)))


def _settings(source: Text, settings: Sequence[Setting], reading: Reading, *, properties: bool) -> bool:
    """Read flat settings that are not an application's, by their keys; whether anything was found."""
    keys = {each.key for each in settings}
    client: Client = "librdkafka" if "rdkafka" in source.file else "java" if properties else "unknown"
    if "application.id" in keys and "bootstrap.servers" in keys:
        read_streams(settings, reading, "any")
        return True
    if is_worker(keys):
        read_worker(source, settings, reading, "none")
        return True
    if "connector.class" in keys:
        return read_connector("", settings, reading, "none")
    if any(each.key.isupper() and each.key.startswith(("KAFKA_", "SPRING_", "CONNECT_")) for each in settings):
        read_variables(source, source.file, "", settings, reading, "shell")
        return True
    found = read_plain(source, settings, reading, client=client, style="any")
    return read_prefixed(source, settings, reading, client=client, style="any") or found


def _documents(source: Text, documents: Documents, reading: Reading, *, named: bool) -> None:
    application = APPLICATION.fullmatch(source.file)
    before = reading.count()
    for node in documents.nodes:
        try:
            _document(source, node, application, reading)
        except Unreadable as error:
            reading.unreadable(source, error)
    if reading.count() > before:
        reading.problems += documents.problems
    if documents.error is not None:
        if TEMPLATE.search(source.content):
            says = "a template, which is no configuration until it is rendered"
            at = source.content[: TEMPLATE.search(source.content).start()].count("\n") + 1  # type: ignore[union-attr]
            reading.problems.append(source.problem("template", at, says, RENDER))
        else:
            reading.unreadable(source, documents.error)


def _document(source: Text, node: Node, application: re.Match[str] | None, reading: Reading) -> None:
    """Read one document of YAML, or JSON's only one, by what it is."""
    if isinstance(node, Listing):
        for each in node.items:
            if isinstance(each, Table):
                _document(source, each, None, reading)
        return
    if not isinstance(node, Table):
        return
    if is_resource(node):
        read_resource(source, node, reading, lambda inside: _nested(inside, reading))
    elif is_compose(node):
        read_compose(source, node, reading)
    elif (
        application
        or node.names() & {"spring", "mp"}
        or any(key.startswith(("spring.", "mp.", "%")) for key in node.names())
    ):
        _pages(source, [flatten(node, source)], application[1] if application else None, reading)
    elif "connector.class" in node.names() or "connector.class" in node.table("config").names():
        config = node.table("config") if "connector.class" in node.table("config").names() else node
        read_connector(node.text("name"), flatten(config, source), reading, "none")
    else:
        _mapping(source, node, reading)


def _mapping(source: Text, node: Table, reading: Reading) -> None:
    """A mapping that says nothing of what it is: Flink's sinks, a client's settings, or anything with some below."""
    found = False
    for name, options in sinks(node, source):
        read_sink(name or source.file, options, reading, certain=False)
        found = True
    if found:
        return
    settings: list[Setting] = []
    nested = node.get("default.topic.config")
    if isinstance(nested, Table):
        settings += flatten(nested, source)
    own = Table(tuple(item for item in node.items if item[0] != "default.topic.config"), node.line)
    settings += flatten(own, source)
    top = [each for each in settings if each.key in producer_keys()]
    if top and _settings(source, settings, reading, properties=False):
        return
    if _settings(source, settings, reading, properties=False):
        return
    # A connector, or a client's settings, one level down: {"connectors": {"a": {…}}, "producer": {…}}.
    for name, _, value in node.items:
        if isinstance(value, Table):
            if "connector.class" in value.names():
                read_connector(name, flatten(value, source), reading, "none")
            elif "connector.class" in value.table("config").names():
                read_connector(name, flatten(value.table("config"), source), reading, "none")
            elif squeezed(name) in ("producer", "producerconfig", "kafkaproducer", "kafka"):
                read_plain(source, flatten(value, source), reading, client="unknown", style="any")


def _nested(inside: Text, reading: Reading) -> None:
    """Read a file that is inside a ConfigMap; its problems are told only if it has to do with Kafka."""
    if not SPEAKS.search(inside.content):
        return
    problems, before = len(reading.problems), reading.count()
    try:
        read_text(inside, reading)
    except Unreadable as error:
        reading.unreadable(inside, error)
    if reading.count() == before and not _concerns(inside):
        del reading.problems[problems:]


def _with_releases(
    producers: Sequence[ProducerConfig], tops: dict[str, Path], options: Options
) -> tuple[list[ProducerConfig], list[Problem]]:
    """Give each producer the release, and if it is not known the client, that the build files beside it tell.

    Returns them, and what build files tell twice.
    """
    folders: dict[Path, list[BuildRelease]] = {}

    def released(producer: ProducerConfig) -> ProducerConfig:
        path = producer.origin.path
        if options.client is not None or producer.release is not None or path not in tops:
            return producer
        if producer.framework == "connect":
            return producer  # the client is the worker's
        client = producer.client
        if client == "unknown":
            folder = Path(path).absolute().parent
            if folder not in folders:
                folders[folder] = list(told_in(folder))
            client = tells_client(folders[folder]) or client
        # What a container runs need not be what is built above; beside it, it is likely.
        top = Path(path).absolute().parent if producer.spelling.endswith("{KEY}") else tops[path]
        found = beside(path, top, client, folders) if client != "unknown" else None
        release, source = found if found is not None else (None, "")
        return dataclasses.replace(producer, client=client, release=release, release_from=source)

    found = [released(each) for each in producers]
    return found, [each for told in folders.values() for each in contradictions(told)]
