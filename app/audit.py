"""`kafka-chaos audit`: what producers' settings risk, from files and live clusters. What it says is made in `audit`.

Nothing that needs Docker, Java, Spark or a Kafka client is imported unless an option asks for it: files are audited on
a machine that has none of them.

Exit status: 0 graded; 1 if --fail-on is met by something that the baseline does not accept; 254 if nothing could be
audited, unless --allow-empty. What could not be read is said, and the rest is audited all the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from shutil import get_terminal_size
from typing import Final

from app import extras
from app.output import result, say
from audit import baseline, history, matrix, policies
from audit.grade import AuditAnswer, Breach, Grader
from audit.model import Client, Inputs, Origin, ProducerConfig
from audit.readers import Options, read_paths
from audit.readers.log import read_logs
from audit.report import console, data, junit, page, sarif
from audit.topics import StatedByUser, parse_topic
from evidence.errors import EXIT_AS_DOCUMENTED, EXIT_CONTRADICTED, UsageError
from evidence.releases import numbers
from evidence.text import plural, visible

NARROWEST: Final = 60
WIDEST: Final = 120
CLIENTS: Final[Mapping[str, Client]] = {"java": "java", "librdkafka": "librdkafka", "scala": "scala"}
A_CLIENT: Final = "a client whose defaults to audit: --client java-2.8.2"
WAYS: Final = ("", "zk", "kraft", "pinned")
"""How a release is run, as it is said behind it."""


def run(options: argparse.Namespace, columns: int | None = None) -> int:
    """Audit what the options name, write the answer, and return the exit status. `columns`: of the terminal."""
    if options.faults and not options.prove:
        raise UsageError("--faults names what --prove is to run: add --prove")
    if options.history and not (options.paths or options.log or options.client):
        result("\n".join(map(visible, history.lines(history.load(options.history)))))
        return EXIT_AS_DOCUMENTED
    accepted = baseline.load(options.baseline) if options.baseline else frozenset[str]()
    stated = _stated(options)
    inputs = _inputs(options)
    answer = Grader(matrix.load(), policies.load(options.policy)).answer(inputs, stated)
    if not answer.rows and not options.allow_empty:
        for problem in answer.problems:
            say(str(problem))
        raise UsageError(_nothing(options, inputs))
    if options.prove:
        from app import audit_prove

        answer = audit_prove.prove(answer, options, lambda text: None if options.quiet else say(text))
    if options.write_baseline:
        _write(options.write_baseline, baseline.text(answer))
        accepted |= baseline.every(answer)
    met = baseline.new(answer, options.fail_on, accepted, strict=options.strict)
    text = _rendered(options, answer, accepted, {finding.kind for _, finding in met}, columns)
    if options.output:
        _write(options.output, text)
        result(f"{options.format}: {options.output}")
    else:
        result(text, end="")
    if options.history:
        _remember(options, answer)
    for row, finding in met[:1]:
        more = f", and {len(met) - 1} more" if len(met) > 1 else ""
        by = "" if isinstance(finding, Breach) else f" by {finding.fault}"
        say(f"kafka-chaos: --fail-on {finding.kind}: {row.name}: {finding.sentence}{by}{more}")
    return EXIT_CONTRADICTED if met else EXIT_AS_DOCUMENTED


def _remember(options: argparse.Namespace, answer: AuditAnswer) -> None:
    """Add a line to the history, and tell what changed since the last one of this repository."""
    name = history.name_of(options.paths)
    now = history.audited(answer, name, datetime.now(UTC).date().isoformat())
    known = history.load(options.history) if options.history.exists() else []
    before = [one for one in known if one.repository == name]
    history.append(options.history, now)
    if before:
        say(f"{visible(name)} since {before[-1].day}: {history.since(before[-1], now)}")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); name another file") from None


def _rendered(
    options: argparse.Namespace,
    answer: AuditAnswer,
    accepted: Collection[str],
    failed: Collection[str],
    columns: int | None,
) -> str:
    match options.format:
        case "json":
            return data.render(answer, accepted=accepted, failed=failed)
        case "sarif":
            return sarif.render(answer, accepted=accepted, baselined=bool(options.baseline or options.write_baseline))
        case "junit":
            return junit.render(answer, fail_on=options.fail_on, accepted=accepted)
        case "html":
            style = resources.files("judgement.report").joinpath("templates/style.css").read_text(encoding="utf-8")
            return page.render(answer, style=style, accepted=accepted)
    wide = columns or (WIDEST if options.output else get_terminal_size((100, 24)).columns)
    width = max(NARROWEST, min(WIDEST, wide))
    return console.render(answer, accepted=accepted, width=width, quiet=options.quiet)


# What is audited


def _inputs(options: argparse.Namespace) -> Inputs:
    client, release = _client(options.client)
    inputs = Inputs()
    if options.paths:
        env = dict(_pair(text) for text in options.env)
        inputs += read_paths(
            options.paths, Options(profiles=tuple(options.profile), env=env, client=client, release=release)
        )
    elif options.log:
        pass
    elif client is not None:
        name = f"{client} {release or 'of any release'} with its defaults"
        told = "--client" if release else ""
        nothing = ProducerConfig(
            name=name, client=client, release=release, release_from=told, origin=Origin(f"--client {options.client}")
        )
        inputs += Inputs(producers=(nothing,))
    else:
        why = "a cluster does not know what its producers are set to" if options.bootstrap else "there is no PATH"
        raise UsageError(f"{why}: name files or directories that configure producers, or {A_CLIENT}")
    if options.log:
        inputs += read_logs(options.log, Options(client=client, release=release))
    if options.bootstrap:
        extras.require(extras.LIVE, "audit")
        from audit.live import read_cluster

        topics = {topic for producer in inputs.producers for topic in producer.topics}
        topics |= {parse_topic(text).name for text in options.topic}
        inputs += read_cluster(
            options.bootstrap,
            command_config=options.command_config,
            zookeeper=options.zookeeper,
            topics=sorted(topics),
            say=lambda text: None if options.quiet else say(text),
        )
    return inputs


def _nothing(options: argparse.Namespace, inputs: Inputs) -> str:
    read, passed = len(inputs.read), sum(inputs.ignored.values())
    if not read and not passed:
        return f"no file was read: name files or directories that configure producers, or {A_CLIENT}"
    counts = f"{plural(read, 'file')} of Kafka's read, {passed} passed over"
    named = ", ".join([*options.paths, *map(str, options.log)])
    others = "only brokers and topics are: " if inputs.brokers or inputs.topics else ""
    return f"no producer is configured in {named} ({counts}); {others}name the file that configures one, or {A_CLIENT}"


def _client(text: str | None) -> tuple[Client | None, str | None]:
    """The client and the release that --client names."""
    if text is None:
        return None, None
    name, _, release = text.partition("-")
    client = CLIENTS.get(name)
    if client is None or (release and len(numbers(release)) < 2):
        raise UsageError(
            f"--client {text!r} is no client: java, librdkafka or scala, with the release where it is known, such as "
            "java-2.8.2"
        )
    return client, release or None


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"--env {name!r}: write it as NAME=VALUE")
    return name.strip(), value


def _stated(options: argparse.Namespace) -> StatedByUser:
    version = options.brokers_version or ""
    release, _, way = version.partition("-")
    if version and (len(numbers(release)) < 2 or way not in WAYS):
        raise UsageError(
            f"--brokers-version {version!r} is no release: write it as 2.8.2, 3.9.2-zk, 3.9.2-kraft or 3.9.2-pinned"
        )
    return StatedByUser(version=version, topics=tuple(parse_topic(text) for text in options.topic))
