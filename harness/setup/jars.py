"""The jars of a Kafka release: exactly those of its lock, fetched by Maven coordinate, every byte checked.

Kafka and all it needs are Maven artifacts, and PySpark, which is here anyway, bundles Ivy, which fetches them. What a
release needs is resolved once, and written in a lock, a line for each jar:

    group:artifact:version[:classifier] sha256

Locks of the releases that tests, nights and CI run are committed (compose/locks/<release>.lock, written by
`python -m harness.setup.jars lock RELEASE`). Any other release is resolved when it is first asked for, and its lock is
kept beside its jars in the user's cache. `--locked` takes only what has a committed lock.

Afterwards nothing is resolved any more: each locked coordinate is fetched by itself, without what its POM asks for. The
directory is used only if it holds these files with these digests, none missing and none besides. If it does not, and
the lock is committed, they are fetched again: the lock tells what they must be. If the lock lies in the cache too, that
cache is refused, since whoever changed the one may have changed the other.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import quoteattr

from evidence import borders
from evidence.cache import cache_path
from evidence.errors import HarnessError, UsageError
from evidence.releases import numbers
from evidence.text import plural
from harness.cluster import apache, versions
from harness.setup.cache import cache_dir, exclusive
from harness.setup.java import find_java, trust_arguments
from harness.setup.waiting import Echo, saying

LOCKS: Final = Path(__file__).resolve().parents[2] / "compose" / "locks"
FETCH_LIMIT_S: Final = 900
FETCHERS: Final = 8
"""How many files are fetched at the same time."""
STREAMS: Final = "streams"
CONNECT: Final = "connect"
SPARK: Final = "spark"
KAFKAS: Final = "org.apache.kafka"
SPARKS: Final = "org.apache.spark"
OF_SETS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    STREAMS: ((KAFKAS, "kafka-streams"),),
    CONNECT: ((KAFKAS, "connect-runtime"), (KAFKAS, "connect-json"), (KAFKAS, "connect-file")),
    SPARK: ((SPARKS, "spark-sql-kafka-0-10_2.13"),),
}
"""The artifacts that each set beside the brokers' own is resolved from, with their groups. A set's name stands before
the release, which is Spark's own for Spark.
"""
PIECE: Final = 12
"""How many jars one Ivy fetches."""
FULL: Final = "No space left"
JVM: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
COORDINATE: Final = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+(?::[\w.-]+)?")
DIGEST: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Jar:
    """One line of a lock."""

    group: str
    artifact: str
    version: str
    classifier: str = ""
    sha256: str = ""

    @property
    def coordinate(self) -> str:
        """group:artifact:version[:classifier]."""
        return ":".join(filter(None, (self.group, self.artifact, self.version, self.classifier)))

    @property
    def file(self) -> str:
        """Its name in the directory of a release."""
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + ".jar"


def parse_lock(text: str, source: str) -> tuple[Jar, ...]:
    """The jars a lock names, sorted. Raises UsageError, with the line's number, for a line that names no jar."""
    jars: list[Jar] = []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].split()
        if not content:
            continue
        if len(content) != 2 or not COORDINATE.fullmatch(content[0]) or not DIGEST.fullmatch(content[1]):
            raise UsageError(
                f"{source}, line {number}: not 'group:artifact:version[:classifier] sha256': {line.strip()!r}"
            )
        parts = content[0].split(":")
        jars.append(
            Jar(
                group=parts[0],
                artifact=parts[1],
                version=parts[2],
                classifier=parts[3] if len(parts) > 3 else "",
                sha256=content[1],
            )
        )
    files = [jar.file for jar in jars]
    if twice := sorted({name for name in files if files.count(name) > 1}):
        raise UsageError(f"{source}: two lines for {', '.join(twice)}")
    if not jars:
        raise UsageError(f"{source}: no jars in it")
    return tuple(sorted(jars))


def render_lock(kafka: str, jars: Iterable[Jar]) -> str:
    """The text of a lock."""
    lines = [f"{jar.coordinate} {jar.sha256}" for jar in sorted(jars)]
    head = f"# The jars of Kafka {kafka}; written by: python -m harness.setup.jars lock {kafka}"
    return "\n".join([head, *lines]) + "\n"


def of_set(name: str, kafka: str) -> str:
    """What the jars of a set of a release are called, where the brokers' own are called by the release alone."""
    return f"{name}-{kafka}"


def set_of(name: str) -> str:
    """The set whose jars are called so; "" for the brokers' own.

    >>> set_of("4.3.1"), set_of("streams-4.3.1")
    ('', 'streams')
    """
    return next((one for one in OF_SETS if name.startswith(f"{one}-")), "")


def release_of(name: str) -> str:
    """The release whose jars are called so.

    >>> release_of("4.3.1"), release_of("streams-4.3.1")
    ('4.3.1', '4.3.1')
    """
    return name.removeprefix(f"{set_of(name)}-")


def lock_path(kafka: str) -> Path:
    """Where the lock of a release is committed."""
    return LOCKS / set_of(kafka) / f"{release_of(kafka)}.lock"


def found_lock_path(kafka: str) -> Path:
    """Where the lock of a release is kept that was resolved on this machine."""
    return cache_path() / "jars" / f"{kafka}.lock"


def is_committed(kafka: str) -> bool:
    """Whether the lock of a release is committed."""
    return lock_path(kafka).exists()


def lock_text(kafka: str) -> str | None:
    """The lock of a release: the committed one, or that which was resolved here; None if there is neither."""
    for path in (lock_path(kafka), found_lock_path(kafka)):
        try:
            return path.read_text()
        except FileNotFoundError:
            continue
    return None


def cached_bytes() -> dict[str, int]:
    """The releases whose jars are in the user's cache, with what they take there."""
    try:
        directories = [path for path in (cache_path() / "jars").iterdir() if path.is_dir() and path.name[0] != "."]
    except OSError:
        return {}
    return {path.name: sum(jar.stat().st_size for jar in path.iterdir()) for path in directories}


def refuse_unlocked(releases: Iterable[str]) -> None:
    """Raise UsageError for the first release without a committed lock: what `--locked` does."""
    for kafka in releases:
        if not is_committed(kafka):
            raise UsageError(
                f"Kafka {kafka} has no committed lock of its jars, and --locked takes no other: write "
                f"compose/locks/{kafka}.lock with `python -m harness.setup.jars lock {kafka}`"
            )


def read_lock(kafka: str) -> tuple[Jar, ...]:
    """The jars of a release. Raises UsageError if it has no lock yet, or a damaged one."""
    text = lock_text(kafka)
    if text is None:
        raise UsageError(
            f"the jars of Kafka {kafka} are not resolved yet: `kafka-chaos setup --versions` with a version of it does"
        )
    return parse_lock(text, f"compose/locks/{kafka}.lock" if is_committed(kafka) else str(found_lock_path(kafka)))


def digest(path: Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def differences(directory: Path, jars: Sequence[Jar]) -> list[str]:
    """What keeps a directory from being exactly these jars: one phrase for each file missing, changed or besides."""
    wanted = {jar.file: jar for jar in jars}
    present = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    found = [f"{wanted[name].coordinate} is missing" for name in sorted(wanted.keys() - present)]
    found += [f"{name} is not in the lock" for name in sorted(present - wanted.keys())]
    for name in sorted(wanted.keys() & present):
        if (actual := digest(directory / name)) != wanted[name].sha256:
            found.append(f"{wanted[name].coordinate} has sha256 {actual[:12]}…, not {wanted[name].sha256[:12]}…")
    return found


def resolve(kafka: str, echo: Echo) -> Path:
    """The directory with exactly the locked jars of a release, fetched now if it is not in the cache.

    Raises UsageError if there is no way to fetch, or the cache was changed; HarnessError if what was fetched is not
    what was locked.
    """
    return fetch([kafka], echo)[kafka]


def fetch(releases: Iterable[str], echo: Echo) -> dict[str, Path]:
    """The directories with exactly the locked jars of releases; what is not in the cache is fetched, all side by side.
    A release without a lock is resolved first, and its lock kept.

    Raises as `resolve` does, after all that could be fetched is in the cache.
    """
    wanted = list(dict.fromkeys(releases))
    with exclusive("jars", echo):
        for kafka in wanted:
            directory = cache_dir() / "jars" / kafka
            if lock_text(kafka) is None:
                _resolve_into_cache(kafka, directory, echo)
            elif not is_committed(kafka) and directory.exists() and (found := differences(directory, read_lock(kafka))):
                raise _changed(kafka, directory, found)
    return fetch_locked({kafka: read_lock(kafka) for kafka in wanted}, echo)


def fetch_locked(locked: Mapping[str, Sequence[Jar]], echo: Echo, what: str = "Kafka ") -> dict[str, Path]:
    """The directories with exactly these jars, by the name of each set; `what` stands before the names when they are
    told. Raises as `fetch` does.
    """
    directories = {kafka: cache_dir() / "jars" / kafka for kafka in locked}
    with exclusive("jars", echo):
        missing = {kafka: jars for kafka, jars in locked.items() if differences(directories[kafka], jars)}
        if missing:
            names = ", ".join(missing)
            count = sum(map(len, missing.values()))
            echo(f"fetching the {count} jars of {what}{names} (half a minute or two)")
            parent = cache_dir() / "jars"
            parent.mkdir(exist_ok=True)
            with (
                tempfile.TemporaryDirectory(dir=parent, prefix=".fetch-") as scratch,
                saying(echo, f"fetching the jars of {what}{names}"),
            ):
                output = _fetch(missing, Path(scratch))
                if again := _not_come(missing, Path(scratch), output):
                    echo(f"{plural(sum(map(len, again.values())), 'jar')} did not come: asking once more")
                    output |= _fetch(again, Path(scratch))
                refusals = [
                    refusal
                    for kafka, jars in missing.items()
                    if (refusal := _keep(kafka, jars, Path(scratch) / kafka, directories[kafka], output[kafka]))
                ]
            if refusals:
                raise refusals[0]
    return directories


def _changed(kafka: str, directory: Path, found: Sequence[str]) -> UsageError:
    return UsageError(
        f"{directory} was changed since Kafka {kafka} was resolved: {found[0]}; remove it and "
        f"{found_lock_path(kafka).name} beside it, and it is resolved again"
    )


def _resolve_into_cache(kafka: str, directory: Path, echo: Echo) -> None:
    """Resolve a release; keep its jars in their directory, and its lock beside it: the lock last."""
    parent = directory.parent
    parent.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=parent, prefix=".fetch-") as scratch,
        saying(echo, f"resolving Kafka {kafka}"),
    ):
        flat = Path(scratch) / "flat"
        flat.mkdir()
        jars = []
        for jar, path in _resolved(kafka, Path(scratch) / "jars", Path(scratch) / "ivy", echo):
            path.rename(flat / jar.file)
            jars.append(jar)
        text = render_lock(kafka, jars)
        parse_lock(text, "the resolved jars")
        shutil.rmtree(directory, ignore_errors=True)
        flat.rename(directory)
    fresh = parent / f".{kafka}.lock"
    fresh.write_text(text)
    fresh.rename(found_lock_path(kafka))
    echo(f"resolved Kafka {kafka}: {len(jars)} jars, whose digests are kept in {found_lock_path(kafka)}")


def _fetch(wanted: Mapping[str, Sequence[Jar]], scratch: Path) -> dict[str, str]:
    """Fetch the jars of each release to `scratch`/<release>; returns what Ivy printed, by release.

    Ivy fetches one file after the other and waits for each; so several of it have a few files each, and a cache each,
    since they do not share one safely.
    """

    def piece(kafka: str, jars: Sequence[Jar], number: int) -> str:
        module = _module(kafka, jars, transitive=False)
        cache = scratch / f"ivy-{kafka}-{number}"
        return _ivy(module, scratch / kafka, "[module]-[revision](-[classifier]).[ext]", cache)

    with ThreadPoolExecutor(max_workers=FETCHERS) as pool:
        pieces = {
            kafka: [
                pool.submit(piece, kafka, jars[start : start + PIECE], start) for start in range(0, len(jars), PIECE)
            ]
            for kafka, jars in wanted.items()
        }
        return {kafka: "".join(future.result() for future in futures) for kafka, futures in pieces.items()}


def _not_come(wanted: Mapping[str, Sequence[Jar]], scratch: Path, output: Mapping[str, str]) -> dict[str, list[Jar]]:
    """The jars that a second try may bring, by release: a repository that resets one connection has the file all the
    same. Where the disk is full none may.
    """
    absent = {
        kafka: [jar for jar in jars if not (scratch / kafka / jar.file).exists()]
        for kafka, jars in wanted.items()
        if FULL not in output[kafka]
    }
    return {kafka: jars for kafka, jars in absent.items() if jars}


def _keep(
    kafka: str, jars: Sequence[Jar], fetched: Path, directory: Path, output: str
) -> UsageError | HarnessError | None:
    """Put what was fetched into its place, if it is what was locked; otherwise the error."""
    wrong = differences(fetched, jars)
    missing = [phrase for phrase in wrong if phrase.endswith("is missing")]
    if missing:
        reason = _reason(output)
        cause = (
            f"the disk of {directory.parent} is full; free some, or set KAFKA_CHAOS_CACHE"
            if FULL in reason
            else f"fetching needs the network once: {reason}"
        )
        return UsageError(
            f"Kafka {kafka}: {len(missing)} of {len(jars)} jars could not be fetched ({missing[0]}); {cause}"
        )
    if wrong:
        return HarnessError(f"the jars fetched for Kafka {kafka} are not the locked ones: {'; '.join(wrong[:5])}")
    shutil.rmtree(directory, ignore_errors=True)
    fetched.rename(directory)
    return None


TOOLS: Final = "kafka-tools"


BOUND_BY_US: Final = numbers("1.0")
"""The first release whose logging binding is ours. Those of before have one that nothing else drags in."""


def roots(kafka: str) -> tuple[Jar, ...]:
    """What a release is resolved from: its broker, its tools, and a logging binding where the broker brings none.

    From 1.1 on only slf4j's interface comes with Kafka (KAFKA-1044): without a binding a broker prints nothing, and
    ZooKeeper 3.4's main class does not start without log4j. Reload4j, log4j 1.2 kept alive, serves 1.0 to 4.4 with
    one configuration file. The tools (ProducerPerformance, DumpLogSegments of 4.3) are an artifact of their own since
    0.9. No run needs them, so a release whose tools are not there is resolved without.

    Kafka Streams and Kafka Connect of a release are sets of their own (`of_set`): the library, for Connect also the
    connectors for files, what these need, and a logging binding. So is Spark's source and sink for Kafka, without what
    PySpark of that release has.
    """
    logging = Jar(group="org.slf4j", artifact="slf4j-reload4j", version="1.7.36")
    if artifacts := OF_SETS.get(set_of(kafka)):
        own = tuple(Jar(group=group, artifact=one, version=release_of(kafka)) for group, one in artifacts)
        return own if set_of(kafka) == SPARK else (*own, logging)
    release = numbers(kafka)
    scala = "2.13" if release >= borders.SCALA_2_13.release else "2.11"
    chosen = [Jar(group=KAFKAS, artifact=f"kafka_{scala}", version=kafka)]
    if release >= borders.TOOLS_APART.release:
        chosen.append(Jar(group=KAFKAS, artifact=TOOLS, version=kafka))
    if release >= BOUND_BY_US:
        chosen.append(logging)
    return tuple(chosen)


BINDINGS: Final = (
    (KAFKAS, "kafka-log4j-appender"),
    ("org.slf4j", "slf4j-log4j12"),
    ("log4j", "log4j"),
    ("ch.qos.logback", "logback-classic"),
    ("ch.qos.logback", "logback-core"),
    ("org.slf4j", "slf4j-simple"),
    ("org.apache.logging.log4j", "log4j-slf4j-impl"),
    ("org.apache.logging.log4j", "log4j-1.2-api"),
)
"""Logging bindings beside ours, of which slf4j would take whichever comes first on the class path (patterns of group
and artifact).
"""
UNWANTED: Final = (
    (KAFKAS, "connect-runtime"),
    (KAFKAS, "connect-transforms"),
    ("org.eclipse.jetty.*", ".*"),
    ("org.glassfish.*", ".*"),
    ("org.apache.logging.log4j", "log4j-core"),
    *BINDINGS,
)
"""What the tools or the broker drag in and nothing of theirs runs: Kafka Connect, web servers, and other bindings.
Connect itself needs its web server, and from 4.0 on log4j-core, whose loggers its REST interface may set.
"""
IN_PYSPARK: Final = (
    ("org.apache.hadoop", ".*"),
    (SPARKS, "spark-(core|sql|catalyst|tags)_.*"),
    ("org.scala-lang.*", ".*"),
    ("org.slf4j", ".*"),
    ("at.yawk.lz4", ".*"),
    ("com.github.luben", ".*"),
    ("org.xerial.snappy", ".*"),
    ("com.google.code.findbugs", ".*"),
)
"""What Spark's source and sink for Kafka need and PySpark has."""


def lock(kafka: str, echo: Echo) -> Path:
    """Resolve a release with everything it needs and write its lock, to be committed. Returns the lock's path."""
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-") as scratch, exclusive("jars"):
        jars = [jar for jar, _ in _resolved(kafka, Path(scratch) / "jars", cache_dir() / "ivy", echo)]
    text = render_lock(kafka, jars)
    parse_lock(text, "the resolved jars")
    path = lock_path(kafka)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    echo(f"wrote {len(jars)} jars to compose/locks/{path.relative_to(LOCKS)}")
    return path


def _resolved(kafka: str, libraries: Path, cache: Path, echo: Echo) -> list[tuple[Jar, Path]]:
    """The jars of a release and of all that it needs, with their digests, and where they lie below `libraries`.

    Raises UsageError if one of its roots cannot be had.
    """
    chosen = roots(kafka)
    echo(f"resolving {', '.join(jar.coordinate for jar in chosen)} (a minute or two)")
    pattern = "[organisation]/[module]/[revision]/[module]-[revision](-[classifier]).[ext]"
    output = _ivy(_module(kafka, chosen, transitive=True), libraries, pattern, cache)
    if f"module not found: org.apache.kafka#{TOOLS};{kafka}" in output:
        echo(f"{TOOLS} {kafka} is not there: resolving without Kafka's tools, which no run needs")
        chosen = tuple(jar for jar in chosen if jar.artifact != TOOLS)
        output = _ivy(_module(kafka, chosen, transitive=True), libraries, pattern, cache)
    found = []
    for path in sorted(libraries.glob("*/*/*/*.jar")):
        group, artifact, version, name = path.relative_to(libraries).parts
        classifier = name.removeprefix(f"{artifact}-{version}").removesuffix(".jar").removeprefix("-")
        jar = Jar(group=group, artifact=artifact, version=version, classifier=classifier, sha256=digest(path))
        found.append((jar, path))
    resolved = {(jar.group, jar.artifact) for jar, _ in found}
    if absent := [jar.coordinate for jar in chosen if (jar.group, jar.artifact) not in resolved]:
        reason = _reason(output)
        cause = (
            "the disk is full; free some, or set KAFKA_CHAOS_CACHE"
            if FULL in reason
            else f"resolving needs the network once: {reason}"
        )
        raise UsageError(f"{', '.join(absent)} could not be resolved: {cause}")
    return found


def _module(kafka: str, jars: Iterable[Jar], *, transitive: bool) -> str:
    """An Ivy module that depends on these jars: with all that they need, or with each by itself."""
    lines = [
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">',
        f'  <info organisation="kafka-chaos" module="kafka-{kafka}-{"resolve" if transitive else "fetch"}"/>',
        '  <configurations><conf name="default"/></configurations>',
        "  <dependencies>",
    ]
    mapping = "default-&gt;default" if transitive else "default-&gt;master"
    for jar in jars:
        start = (
            f"    <dependency org={quoteattr(jar.group)} name={quoteattr(jar.artifact)} rev={quoteattr(jar.version)} "
            f'force="true" conf="{mapping}" transitive="{str(transitive).lower()}"'
        )
        if jar.classifier:
            name, classifier = quoteattr(jar.artifact), quoteattr(jar.classifier)
            artifact = f'<artifact name={name} type="jar" ext="jar" m:classifier={classifier}/>'
            lines.append(f"{start}>{artifact}</dependency>")
        else:
            lines.append(f"{start}/>")
    if transitive and (unwanted := _unwanted(kafka, jars)):
        lines += [f'    <exclude org="{group}" module="{module}" matcher="regexp"/>' for group, module in unwanted]
    return "\n".join([*lines, "  </dependencies>", "</ivy-module>"]) + "\n"


def _unwanted(kafka: str, jars: Iterable[Jar]) -> tuple[tuple[str, str], ...]:
    """What these jars drag in and is left out: patterns of group and artifact."""
    if set_of(kafka) == SPARK:
        return IN_PYSPARK
    if not any(jar.artifact == "slf4j-reload4j" for jar in jars):
        return ()
    return BINDINGS if set_of(kafka) == CONNECT else UNWANTED


def _ivy_jar() -> Path:
    import pyspark

    found = sorted((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    if not found:
        raise HarnessError("this PySpark bundles no Ivy: the jars of Kafka cannot be fetched")
    return found[-1]


def _ivy(module: str, directory: Path, pattern: str, cache: Path) -> str:
    """Let Ivy fetch what a module depends on into a directory; returns what Ivy printed.

    Ivy's exit status does not tell a partial failure from success, so callers look at the files.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-") as scratch:
        descriptor = Path(scratch) / "ivy.xml"
        descriptor.write_text(module)
        command: list[str | os.PathLike[str]] = [find_java(), *JVM, *trust_arguments(), "-jar", _ivy_jar()]
        if settings := os.environ.get("KAFKA_CHAOS_IVY_SETTINGS"):
            command += ["-settings", settings]
        command += ["-cache", cache, "-ivy", descriptor, "-types", "jar", "bundle"]
        command += ["-retrieve", f"{directory}/{pattern}"]
        try:
            result = subprocess.run(
                command, capture_output=True, text=True, timeout=FETCH_LIMIT_S, check=False, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            raise HarnessError(f"Ivy did not finish within {FETCH_LIMIT_S} s") from None
    return result.stdout + result.stderr


def _reason(output: str) -> str:
    """The line of Ivy's output that explains a failure best."""
    lines = [line.strip() for line in output.splitlines()]
    # Of an exception its first line says what happened; where it happened says nothing to a reader.
    lines = [line for line in lines if line and not line.startswith("at ")]
    for mark in (FULL, "UnknownHost", "timed out", "refused", "Server access", "SSL", "not found", "ERROR"):
        for line in lines:
            if mark.lower() in line.lower():
                return line[:200]
    return lines[-1][:200] if lines else "Ivy printed nothing"


def main(arguments: Sequence[str]) -> int:
    """`lock VERSION…` writes locks, `fetch VERSION…` fills the cache; a version is a release or a version's id."""
    if len(arguments) < 2 or arguments[0] not in ("lock", "fetch"):
        raise UsageError("usage: python -m harness.setup.jars lock|fetch RELEASE…, such as lock 4.3.1")

    def say(line: str) -> None:
        sys.stdout.write(line + "\n")

    releases = [
        name if apache.RELEASE.fullmatch(release_of(name)) else versions.get(name).kafka for name in arguments[1:]
    ]
    if arguments[0] == "lock":
        for kafka in releases:
            lock(kafka, say)
    if arguments[0] == "fetch":
        for directory in fetch(releases, say).values():
            say(str(directory))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_status)
