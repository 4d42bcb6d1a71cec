"""Reads texts as YAML, JSON or .properties, and offers each document that is in one to the formats (`registry`).

`read_paths` is what everybody else calls. Nothing that is in a file makes it fail: what cannot be read is an
`InputProblem`, and the rest is read.
"""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from audit.model import Client, InputProblem, Inputs, Origin, ProducerConfig, Setting
from audit.readers import ansible, calls, keyed, objects, scripts
from audit.readers.apart import told_apart
from audit.readers.application import FILE as APPLICATION
from audit.readers.application import read_applications
from audit.readers.check import check
from audit.readers.collect import Collected, Options
from audit.readers.compose import read_env
from audit.readers.connect import join
from audit.readers.context import while_set
from audit.readers.creates import topic_asked
from audit.readers.environments import join_environments, placed, with_topics
from audit.readers.format import Document
from audit.readers.helm import RENDERED, chart_of, conditions, has_templates, rendered
from audit.readers.kubernetes import read_clusters, read_containers
from audit.readers.kustomize import replaced
from audit.readers.names import PRODUCERS, squeezed, words
from audit.readers.once import told_once
from audit.readers.packages import BuildRelease
from audit.readers.placeholders import TEMPLATE, Lookup, resolve
from audit.readers.properties import read_properties
from audit.readers.registry import concerns_kafka, file_names, formats, speaks_of_kafka
from audit.readers.releases import (
    beside,
    binder_of,
    contradictions,
    least,
    module_of,
    of_projects,
    of_role,
    of_worker_image,
    served,
    tells_client,
    told_in,
)
from audit.readers.services import read_dockerfiles
from audit.readers.source import settle, topics_of_module
from audit.readers.stages import in_environment, with_stages
from audit.readers.text import Text, Unreadable
from audit.readers.tree import Documents, Listing, Table, read_json, read_yaml
from audit.readers.variables import read_variables
from audit.readers.walk import Candidate, candidates, text_of
from audit.units import NAMED
from evidence.releases import numbers

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

    Raises nothing on account of what it reads: a path that is not there is an `InputProblem`, as is a damaged file.
    """
    inputs = _read_once(paths, options)
    chosen = keyed.environments()[:ENVIRONMENTS]
    on_disk = [each for each in paths if str(each) != STDIN] if len(inputs.read) <= ANEW else []
    shown = {os.path.abspath(each): each for each in inputs.read}
    more = []
    for file in chosen if on_disk else ():
        with while_set(keyed.CHOSEN, file):
            more += in_environment(inputs.producers, _read_once(on_disk, options).producers, shown.get(file, file))
    return dataclasses.replace(inputs, producers=(*inputs.producers, *more)) if more else inputs


ENVIRONMENTS: Final = 6
"""Files of environments that are put above the settings of a program, one after another."""
ANEW: Final = 2_000
"""How many files may have to do with Kafka, so that all are read once more for each of these."""


def _read_once(paths: Sequence[str | Path], options: Options | None) -> Inputs:
    """Everything that files and directories configure, with the settings of programs that `keyed.CHOSEN` tells."""
    reading = Collected(options or Options(), is_file=file_names().fullmatch)
    reading.nested = lambda inside: _nested(inside, reading)
    reading.offer = lambda source, table: _offered(source, table, reading)
    keyed.forget()
    objects.forget()
    scripts.forget()
    calls.forget()
    ansible.forget()
    tops: dict[str, Path] = {}
    named = [str(path) for path in paths]
    if STDIN in named:
        named.remove(STDIN)
        content = sys.stdin.read()
        name = "stdin.properties" if PROPERTY.match(content) else "stdin.yaml"
        _read(Candidate(Text("(standard input)", content, name=name), True, Path("/")), reading)
    for candidate in candidates(named, file_names(), reading.ignored, reading.problems):
        tops[candidate.text.path] = candidate.top
        _read(candidate, reading)
    read_applications(reading)
    read_containers(reading)  # before files of variables: they may be what a ConfigMap is made of
    read_dockerfiles(reading)
    reading.fillings |= {*keyed.TAKEN, *keyed.environments(taken=True)}
    reading.producers = [each for each in reading.producers if not _is_file_of_others(each, reading)]
    reading.producers = _in_force(reading.producers, replaced(reading))
    for path, source in reading.env_files.items():
        if path not in reading.named_env_files and not _is_sample(path, reading):
            read_variables(source, source.file, "", read_env(source), reading, "shell")
    read_clusters(reading)
    _with_units(reading, tops)
    reading.producers = settle(reading.made, reading.producers, lambda unit: _look_up(unit, reading))
    reading.producers = _without_sections(reading.producers)
    reading.producers, environments = placed(reading.producers, reading.workloads, reading.environments)
    environments = [*reading.environments, *environments]
    reading.producers = join_environments(reading.producers, environments, reading.read, reading.workloads)
    reading.producers = with_stages(_with_sends(told_once(reading.producers)), reading, read_text)
    reading.producers = [
        with_topics(each, environments, lambda unit: _look_up(unit, reading)) for each in reading.producers
    ]
    producers, contradicted = _with_releases(reading.producers, tops, reading.options)
    reading.producers = told_apart(join(producers))
    reading.problems += contradicted
    inputs = reading.inputs()
    return dataclasses.replace(inputs, problems=tuple(dict.fromkeys([*inputs.problems, *check(inputs)])))


def _is_file_of_others(producer: ProducerConfig, reading: Collected) -> bool:
    """Whether a file was read by itself, and has the variables of a container that takes it, or the values of Spring's
    XML.
    """
    path = Path(producer.origin.path)
    whole = str(path.absolute())
    if whole in reading.sources:  # the values of a program's, if it asks for them
        asked = {value.value for one in reading.made for value in one.producer.settings.values()}
        taken = any(value.startswith(f"${{{key}") for key in reading.sources[whole] for value in asked)
        return taken and not producer.framework
    return (whole in reading.named_env_files and producer.name == path.name) or (
        whole in reading.fillings and not producer.framework
    )


def _in_force(producers: Sequence[ProducerConfig], instead: Mapping[str, frozenset[str]]) -> list[ProducerConfig]:
    """Producers without those of files that stand nowhere, if those in their place have one."""
    paths = [os.path.abspath(each.origin.path) for each in producers]
    gone = {path for path, others in instead.items() if not others.isdisjoint(paths)} if instead else ()
    return [each for each, path in zip(producers, paths, strict=True) if path not in gone]


OF_PROGRAMS: Final = (".yml", ".yaml", ".json", ".toml", ".conf")
"""Files of a program's own settings, in which a client's are a section; nobody but the program reads them."""

OF_JVM: Final = (".java", ".kt", ".scala")
"""Sources of programs whose frameworks make producers of sections, beside those that the sources make."""


def _without_sections(producers: Sequence[ProducerConfig]) -> list[ProducerConfig]:
    """Producers, without the section of a program's own settings where the program makes one producer and its files
    have one section: it is that producer's. What the source makes of it, and does not tell, stays unknown.
    """
    by_unit: dict[str, list[ProducerConfig]] = {}
    for each in producers:
        by_unit.setdefault(each.unit, []).append(each)
    dropped: set[int] = set()
    for unit, several in by_unit.items():
        makers = [each for each in several if each.framework in ("source", "python")]
        sections = [each for each in several if _is_section(each)]
        if (
            unit in ("", NAMED)
            or len(makers) != 1
            or makers[0].origin.path.endswith(OF_JVM)
            or len({each.spelling for each in sections}) != 1
        ):
            continue
        dropped |= {id(each) for each in sections}
    return [each for each in producers if id(each) not in dropped]


def _is_section(producer: ProducerConfig) -> bool:
    """Whether a producer is a section of a program's own settings."""
    named = producer.spelling.endswith(".{key}") and producer.origin.path.endswith(OF_PROGRAMS)
    return named and producer.framework == ""


SAMPLE: Final = re.compile(r"\.env[._-](?:example|sample|template|dist|defaults?)")


def _is_sample(path: str, reading: Collected) -> bool:
    """Whether a .env file is the sample of one that a Compose file beside it takes its variables from, or a program
    whose sources tell its producer.
    """
    if SAMPLE.fullmatch(Path(path).name) is None:
        return False
    if any(one.framework == "python" for one in reading.producers) or any(one.followed for one in reading.made):
        return True
    folder = Path(path).parent
    beside = {Path(each).name for each in reading.read if Path(each).absolute().parent == folder}
    composed = any(re.match(r"(?:docker-)?compose\b", each) for each in beside)
    return composed


def _read(candidate: Candidate, reading: Collected) -> None:
    """Read one file. What is not Kafka's at all leaves no trace but a count."""
    source = candidate.text
    chart = chart_of(source.path, reading.charts)
    source = ansible.rendered(source)
    if chart is not None:
        template, source = source, rendered(source, chart)
    elif not candidate.named and has_templates(source.path):
        reading.ignored["values of a chart, read with its templates"] += 1
        return
    if not concerns_kafka(source):
        reading.ignored[NOTHING] += 1
        if candidate.named:
            do = "a producer's, a topic's or a broker's configuration is looked for"
            reading.problems.append(source.problem("unreadable", None, NOTHING, do))
        return
    reading.read.append(source.path)
    if chart is not None and chart.layers:
        root = next(each for each, one in reading.charts.items() if one is chart)
        reading.templates_of_charts.setdefault(root, []).append(template)
    before, problems = reading.count(), len(reading.problems)
    try:
        read_text(source, reading)
    except Unreadable as error:
        reading.unreadable(source, error)
    if chart is not None and reading.count() > before:
        _told_of_template(template, reading, problems)
    if reading.count() > before or (len(reading.problems) > problems and _concerns(source)):
        return
    del reading.problems[problems:]
    reading.ignored[NO_PRODUCER] += 1
    if candidate.named:
        do = "nothing in it tells that it is one's configuration: is it the right file?"
        reading.problems.append(source.problem("unreadable", None, NO_PRODUCER, do))


def _told_of_template(template: Text, reading: Collected, since: int) -> None:
    """Tell that a template has conditions, in place of the keys that its branches have twice."""
    reading.problems[since:] = [each for each in reading.problems[since:] if each.kind != "duplicate"]
    if (line := next(conditions(template), None)) is not None:
        reading.problems.append(template.problem("template", line, RENDERED, RENDER))


def _concerns(source: Text) -> bool:
    """Whether a text that could not be read speaks of producers or brokers, so that it must be told."""
    marks = r"bootstrap|connector\.class|producer|\backs\b" + ("" if source.file.endswith(".json") else "|kafka")
    return bool(re.search(marks, source.content, re.IGNORECASE))


def read_text(source: Text, reading: Collected) -> None:
    """Offer a text to the formats. Raises Unreadable if nothing of it can be read."""
    whole = Document(source)
    if _offer(whole, reading, whole=True):
        return
    if whole.file.endswith((".yml", ".yaml")):
        kinds = set(re.findall(r"(?m)^kind:[ \t]*[\"']?(\w+)", source.content))
        if not kinds or not kinds <= CLUSTER_ONLY:
            _documents(source, read_yaml(source), reading)
    elif whole.file.endswith(".json") or (
        source.content.lstrip().startswith("{") and not whole.file.endswith(".properties")
    ):
        _documents(source, read_json(source), reading)
    else:
        _properties(source, reading)


def _offer(document: Document, reading: Collected, *, whole: bool = False) -> bool:
    """Have the first format that claims a document, and finds something in it, read it; whether one did."""
    return any(one.whole == whole and one.claims(document) and one.read(document, reading) for one in formats())


def _properties(source: Text, reading: Collected) -> None:
    pages = read_properties(source, paged=APPLICATION.fullmatch(source.file) is not None)
    before = reading.count()
    if any(each.value.endswith("{") or each.key == "}" for each in pages.settings):
        if re.search(
            r"LoginModule\s+(required|requisite|sufficient|optional)|(?<![^\W_])jaas\.conf\Z",
            source.content + source.file,
        ):
            return  # JAAS: it has users, not settings
        raise Unreadable("blocks in braces (HOCON?), which are not read")
    if any(each.key.startswith(STATEMENTS) for each in pages.settings):
        at = next(each.origin.line for each in pages.settings if each.key.startswith(STATEMENTS))
        message = "has statements of a template: it is read without them, every line as if it counted"
        pages.problems = [InputProblem(Origin(source.path, at), "template", message, "render it first")]
        pages.pages = [[each for each in page if not each.key.startswith(STATEMENTS)] for page in pages.pages]
    if pages.settings:
        _offer(Document(source, pages=pages.pages), reading)
    if reading.count() > before or not pages.settings:
        reading.problems += pages.problems


def _documents(source: Text, documents: Documents, reading: Collected) -> None:
    before = reading.count()
    for node in documents.nodes:
        tables = [node] if isinstance(node, Table) else node.items if isinstance(node, Listing) else ()
        try:
            for table in tables:
                if isinstance(table, Table) and not _is_schema(table) and not _is_task(table):
                    _offer(Document(source, tree=table, listed=table is not node), reading)
        except Unreadable as error:
            reading.unreadable(source, error)
    if reading.count() > before:
        reading.problems += documents.problems
    if documents.error is not None:
        if (template := TEMPLATE.search(source.content)) is not None:
            message = "a template, which is no configuration until it is rendered"
            at = source.content[: template.start()].count("\n") + 1
            reading.problems.append(source.problem("template", at, message, RENDER))
        else:
            reading.unreadable(source, documents.error)


SCHEMAS: Final = ("$schema", "openapi", "swagger", "$defs", "definitions")


def _is_schema(table: Table) -> bool:
    """Whether a document describes settings in place of making them: a JSON schema, OpenAPI."""
    names = table.names()
    described = table.text("type") == "object" and isinstance(table.get("properties"), Table)
    return described or (bool(names & set(SCHEMAS)) and "connector.class" not in names)


def _is_task(table: Table) -> bool:
    """Whether a document is a play or task of Ansible's: its `retries` are Ansible's."""
    names = table.names()
    return bool(
        names & {"hosts", "tasks", "until", "register", "become", "include_tasks", "ansible.builtin.shell"}
    ) or ("name" in names and bool(names & {"command", "shell", "when", "notify", "with_items", "loop", "delay"}))


def _nested(inside: Text, reading: Collected) -> None:
    """Read a file that is inside a ConfigMap; its problems are told only if it has to do with Kafka."""
    if not speaks_of_kafka(inside.content):
        return
    problems, before = len(reading.problems), reading.count()
    try:
        read_text(inside, reading)
    except Unreadable as error:
        reading.unreadable(inside, error)
    if reading.count() == before and not _concerns(inside):
        del reading.problems[problems:]


def _offered(source: Text, table: Table, reading: Collected) -> None:
    """Read a document that is inside another."""
    if table.items:
        _offer(Document(source, tree=table, listed=True), reading)


def _of_binder(producer: ProducerConfig, binder: str | None, release: str | None) -> Mapping[str, Setting]:
    """A producer's presets, with requiredAcks as its binder has it: all from 5.0.2 on, of Spring Boot 4."""
    acks = producer.presets.get("acks")
    if producer.framework != "spring-cloud-stream" or acks is None:
        return producer.presets
    if binder is not None and numbers(binder) >= (5, 0, 2):
        acks = dataclasses.replace(acks, value="all")
    elif binder is None and release is not None and numbers(release) >= (4, 1):
        acks = dataclasses.replace(acks, known=False, note=f"{acks.note}: 1 before 5.0.2, then all")
    return MappingProxyType({**producer.presets, "acks": acks})


def _look_up(unit: str, reading: Collected) -> Lookup:
    """A look-up of placeholders in `--env`, then in what the applications of a module say without a profile."""
    outside = reading.look_up()
    said = {
        setting.key: setting.value
        for folder, pages in reading.pages.items()
        if unit and folder.startswith(unit)
        for page in pages
        if not page.profile
        for setting in page.settings
    }
    named = [told for path, told in reading.sources.items() if unit and path.startswith(unit)]
    said = {key: value for told in named for key, value in told.items()} | said
    loose = {squeezed(key): value for key, value in said.items()}  # as frameworks bind it to fields

    def told(name: str) -> str | None:
        given = outside(name)
        return given if given is not None else said.get(name, loose.get(squeezed(name)) if "." in name else None)

    return told


def _with_units(reading: Collected, tops: dict[str, Path]) -> None:
    """Give everything the module that it is in. What the user named file by file is meant for all that was named."""
    known: dict[Path, bool] = {}

    def unit(origin: Origin) -> str:
        named = tops.get(origin.path) == Path("/") or origin.path.startswith("(standard input)")
        if named or origin.path not in tops:
            return NAMED if named else ""
        return served(origin.path, known) or module_of(origin.path, known)

    reading.producers = [dataclasses.replace(each, unit=unit(each.origin)) for each in reading.producers]
    for at, one in enumerate(reading.made):
        made = dataclasses.replace(one.producer, unit=unit(one.producer.origin))
        reading.made[at] = dataclasses.replace(one, producer=made)
    reading.brokers = [dataclasses.replace(each, unit=unit(each.origin)) for each in reading.brokers]
    asked = [topic_asked(each, _look_up(unit(each.origin), reading)) for each in reading.beans]
    reading.topics += [each for each in asked if each is not None]
    reading.topics = [dataclasses.replace(each, unit=unit(each.origin)) for each in reading.topics]
    uses: dict[str, set[bool]] = {}
    for path, sends in reading.uses.items():
        uses.setdefault(unit(Origin(path)), set()).add(sends)
    senders = {unit(Origin(path)) for path in reading.templates}
    kept = [each for each in reading.producers if not _is_not_sent_with(each, senders, reading)]
    received = [each for each in kept if not _only_receives(each, uses, reading) and not _is_receivers(each, reading)]
    topics = _topics_sent(unit, reading)
    reading.producers = [
        dataclasses.replace(each, topics=topics.get(each.unit, ())) if each.framework == "spring" and not each.topics
        else each
        for each in received
    ]  # fmt: skip


def _topics_sent(unit: Callable[[Origin], str], reading: Collected) -> dict[str, tuple[str, ...]]:
    """By module, the topics that its sources send to with the template that Spring Boot makes, if all are told."""
    if any(one.kind in FACTORIES for one in reading.made):
        return {}
    by_unit: dict[str, list[tuple[str, ...] | None]] = {}
    for path, sent in reading.sent.items():
        by_unit.setdefault(unit(Origin(path)), []).append(sent)
    found: dict[str, tuple[str, ...]] = {}
    for module, several in by_unit.items():
        told = [name for sent in several for name in sent or ()]
        names = [resolve(each, "spring", _look_up(module, reading)) for each in told]
        known = None not in several and all(each.known and re.fullmatch(r"[\w.-]+", each.text) for each in names)
        if module and known:
            found[module] = tuple(dict.fromkeys(each.text for each in names))
    return found


def _is_not_sent_with(producer: ProducerConfig, sends: Collection[str], reading: Collected) -> bool:
    """Whether Spring Boot makes a producer that nobody uses: its file is about consumers only, and no source of its
    module sends with a template that it is given, or a program makes the factories of templates itself.
    """
    if producer.framework != "spring" or producer.origin.path not in reading.consuming:
        return False
    if any(".producer." in each.written for each in producer.settings.values()):
        return False
    return producer.unit not in sends or any(one.kind in FACTORIES for one in reading.made)


FACTORIES: Final = frozenset({"DefaultKafkaProducerFactory", "SenderOptions", "KafkaProducer"})


def _only_receives(producer: ProducerConfig, uses: Mapping[str, set[bool]], reading: Collected) -> bool:
    """Whether what Spring Boot configures is only received with: the sources of the module receive, none sends, and
    where something is said of a producer none calls what may. A module without an application of its own may be a
    library that sends for it.
    """
    if _is_section(producer) and producer.unit not in ("", NAMED):
        return uses.get(producer.unit) == {False} and not any(True in sends for sends in uses.values())
    if producer.framework == "" and producer.origin.path.endswith(".json") and "group.id" in producer.settings:
        return uses.get(producer.unit) == {False} and not any(True in sends for sends in uses.values())
    if producer.framework != "spring" or not producer.unit or producer.topics or uses.get(producer.unit) != {False}:
        return False
    said = any(".producer." in each.written or each.key in PRODUCERS for each in producer.settings.values())
    if said and _may_send(producer.unit):
        return False
    applications = {each.unit for each in reading.producers if each.framework == "spring"}
    libraries = [module for module, sends in uses.items() if True in sends and module not in applications]
    return not any(_may_depend_on(producer.unit, module) for module in libraries)


def _is_receivers(producer: ProducerConfig, reading: Collected) -> bool:
    """Whether variables of a container are of a program that only receives, as those that several services share are:
    the sources that its image is built of take a client and none sends; or so it is of all sources that there are.
    """
    if producer.framework != "env":
        return False
    home = Path(producer.build).absolute() if producer.build else None
    sends = {sends for path, sends in reading.uses.items() if home is None or home in Path(path).absolute().parents}
    return sends == {False}


HANDS_ON: Final = re.compile(r"(?i)\b\w*(?:publish|emit|outbox|produc|send|notif|dispatch)\w*\s*\(")
"""What a source calls that may send, of a library's that is not here."""


def _may_send(unit: str) -> bool:
    """Whether a source of a module calls what may send for it, so that what its file says of producers counts."""
    texts = [each for language in ("java", "kt") for each in calls.sources_of(Path(unit), language)]
    return any(HANDS_ON.search(each.content) for each in texts)


NEEDS: Final = re.compile(r"<dependency>|\b(?:implementation|api|compile)\b")
"""What a build file has that names what its module is built with."""
BUILDS: Final = ("pom.xml", "build.gradle", "build.gradle.kts")


def _may_depend_on(unit: str, module: str) -> bool:
    """Whether the build file of a module names another one, or one beside it that does: it may send for it."""
    texts = {each.name: "".join(_content(each / name) for name in BUILDS) for each in _siblings(Path(unit))}
    own = texts.pop(Path(unit).name, "")
    if not NEEDS.search(own) or Path(module).parent != Path(unit).parent:
        return True
    wanted, seen = [own], {Path(unit).name}
    while wanted:
        text = wanted.pop()
        named = {name for name in texts if name not in seen and re.search(rf"[>:/'\"]{re.escape(name)}[<'\")]", text)}
        if Path(module).name in named:
            return True
        seen |= named
        wanted += [texts[name] for name in named]
    return False


def _siblings(folder: Path) -> list[Path]:
    """A directory and those beside it, if they are not too many."""
    found = [each for each in folder.parent.iterdir() if each.is_dir()]
    return found if len(found) <= SIBLINGS else [folder]


SIBLINGS: Final = 64


def _content(path: Path) -> str:
    """The text of a build file; empty if there is none, or it is too large."""
    found = text_of(path)
    return found.content if found is not None else ""


OF_MICRONAUT: Final = re.compile(r"kafka\.producers\.([\w-]+)\.\{key\}")


def _with_sends(producers: Sequence[ProducerConfig]) -> list[ProducerConfig]:
    """Producers with the topics that the sources of their module send to, if it has no other producer; a client of
    Micronaut's with those of its interface.
    """
    count = Counter(each.unit for each in producers)
    known: dict[Path, bool] = {}

    def told(producer: ProducerConfig) -> ProducerConfig:
        client = OF_MICRONAUT.fullmatch(producer.spelling)
        alone = count[producer.unit] == 1 and (producer.framework in ("spring", "source") or _is_of_file(producer))
        if producer.topics or producer.unit in ("", NAMED) or not (alone or client):
            return producer
        topics = topics_of_module(producer.unit, producer.origin.path, known, client[1] if client else "")
        return dataclasses.replace(producer, topics=tuple(topics))

    return [told(each) for each in producers]


def _is_of_file(producer: ProducerConfig) -> bool:
    """Whether a producer's settings are in a file that a program of its module takes them from."""
    plain = producer.framework == "" and not producer.spelling.endswith("{KEY}")
    return plain and producer.origin.path.endswith((".properties", ".conf", ".yml", ".yaml"))


def _is_of_another_place(producer: ProducerConfig) -> bool:
    """Whether a producer's module is not where its settings are: on a configuration server, in another project."""
    elsewhere = producer.unit not in ("", NAMED) and not producer.build
    return elsewhere and Path(producer.unit) not in Path(producer.origin.path).absolute().parents


def _with_releases(
    producers: Sequence[ProducerConfig], tops: dict[str, Path], options: Options
) -> tuple[list[ProducerConfig], list[InputProblem]]:
    """Give each producer the release, and if it is not known the client, that the build files beside it tell.

    Returns them, and what build files tell twice.
    """
    folders: dict[Path, list[BuildRelease]] = {}

    def released(producer: ProducerConfig) -> ProducerConfig:
        path = producer.origin.path
        if options.client is not None or producer.release is not None or path not in tops:
            return producer
        client: Client = producer.client
        if client == "unknown":
            folder = Path(path).absolute().parent
            if folder not in folders:
                folders[folder] = list(told_in(folder))
            client = tells_client(folders[folder]) or client
        # What a container runs need not be what is built above; beside it, it is likely.
        contained = producer.spelling.endswith("{KEY}")
        top = Path(path).absolute().parent if contained or producer.build else tops[path]
        if producer.build:
            path, top = str(Path(producer.build) / "Dockerfile"), Path(producer.build).absolute()
        if contained and not producer.build and producer.framework in ("connect", "streams"):
            return dataclasses.replace(producer, client=client)  # an image has it
        found = beside(path, top, client, folders) if client != "unknown" else None
        if found is None and client != "unknown" and _is_of_another_place(producer):
            found = beside(str(Path(producer.unit) / "x"), tops[path], client, folders)
        if found is None and client == "librdkafka" and path.endswith((".cs", ".json")):
            found = of_projects(path, top, client, folders)
        if producer.framework == "connect" and found is not None and "connect-runtime" not in found[1]:
            found = None  # a plugin is built with one kafka-clients, and runs on its worker's
        if producer.framework == "connect" and found is None:
            found = of_worker_image(path, top) or of_role(path)
        release, source = found if found is not None else (None, "")
        presets = _of_binder(producer, binder_of(path, folders), release)
        if release:
            since = ""
        else:
            since = least(path, top, client) if client in ("librdkafka", "kafka-python") else producer.since
        return dataclasses.replace(
            producer, client=client, release=release, release_from=source, presets=presets, since=since
        )

    found = [released(each) for each in producers]
    return found, [each for told in folders.values() for each in contradictions(told)]
