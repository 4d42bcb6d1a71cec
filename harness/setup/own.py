"""Taking in a build of the user's own: its jars are found, looked at, and kept in the cache under their digest.

A build is a directory, an archive or an image of a container:

    a directory     Kafka's own layout (libs/), a package's (usr/share/java/kafka, share/java/kafka), opt/kafka,
                    opt/bitnami/kafka, the directory of jars itself, or a source tree with one archive of releaseTarGz
    FILE.tgz        as releaseTarGz makes it
    an image        one that the engine has; it is taken apart (docker create, export) and not run

All jars are taken that Kafka's own start script takes: not those of sources, tests and documentation. They go into the
image that releases go into, so that faults of networks, clocks and disks are the same.

What the build is it says itself. The version and the commit stand in its jars. The logging binding is the class that
implements slf4j's logger. The Java is that of its classes. Its code is asked for its requests and features
(harness/setup/features.py). A version keeps the numbers of the release that it is made from: "4.5.0-SNAPSHOT",
"4.3.1-rc2" and "3.9.2-vendor.7" have the traits of 4.5.0, 4.3.1 and 3.9.2. A vendor's number of its own says nothing of
Kafka's, and is refused where that can be told.

Jars of the user's own (`--jar`) are added to a build or a release, which makes another build of it.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, cast

import msgspec

from evidence.borders import KRAFT_ONLY
from evidence.errors import KafkaChaosError, UsageError
from evidence.releases import line_of, numbers
from evidence.run import REPACKED, BuildRecord
from evidence.rundir import write_atomically
from harness.cluster import apache, versions
from harness.cluster.builds import SHORT, Build
from harness.cluster.docker import connect
from harness.cluster.versions import Version
from harness.setup import builds, features, jars
from harness.setup.cache import cache_dir, exclusive
from harness.setup.contents import (
    CAN_TRACE,
    CLIENT,
    MAIN,
    RELOAD4J,
    ZOOKEEPER_CLIENT,
    JarFile,
    bindings_of,
    changed_classes,
)
from harness.setup.waiting import Echo, saying

if TYPE_CHECKING:
    from docker import DockerClient

RECORD: Final = "build.json"
"""Beside a build's listing: what was read from its jars."""
LAYOUTS: Final = (
    "libs",
    "usr/share/java/kafka",
    "share/java/kafka",
    "opt/kafka/libs",
    "opt/bitnami/kafka/libs",
    "",
)
"""Where the jars lie, below a directory, an archive or an image; the first that has Kafka's counts."""
ARCHIVES: Final = "core/build/distributions"
"""Of a source tree: where releaseTarGz leaves its archive."""
LEFT_OUT: Final = re.compile(r"-(test|test-sources|src|sources|scaladoc|javadoc)\.jar$")
"""Jars that Kafka's start script leaves out of the class path (bin/kafka-run-class.sh)."""
VERSION: Final = re.compile(r"\d+(?:\.\d+){1,3}(?:[-+.][\w.+-]*)?")
IN_A_NAME: Final = re.compile(r"-(\d+(?:\.\d+)+[\w.+-]*)\.jar$")
"""The version in a jar's file name."""
BESIDE: Final = tuple(f"-{what}.jar" for what in ("sources", "javadoc", "scaladoc", "test", "test-sources"))
"""Ends of the names of jars that releases have beside a module's own: in libs/ of kafka_2.11-0.10.2.2.tgz, for one."""
ASKED: Final = re.compile(rf"(.+)@([0-9a-f]{{{SHORT}}})")
"""The name of a version of an own build that was taken in before."""
BINDING_JARS: Final = ("slf4j-reload4j", "reload4j")
TOLD: Final = 3
"""Names that a line tells of many."""


# --- 1. finding the jars ---


def libraries_in(root: Path, source: str) -> Path:
    """The directory below `root` that has Kafka's jars. Raises UsageError if none has."""
    for layout in LAYOUTS:
        place = root / layout
        if place.is_dir() and any(MAIN in JarFile(jar).names for jar in _jars(place)):
            return place
    tried = ", ".join(f"{layout}/" for layout in LAYOUTS if layout)
    raise UsageError(
        f"--kafka {source}: there is no Kafka in it: no jar with {MAIN} in it, in {tried} or itself; of a source tree, "
        "./gradlew releaseTarGz makes an archive that can be given"
    )


def _jars(place: Path) -> list[Path]:
    """The jars of a directory that are started; one that only links to another in it is left out."""
    found = [path for path in sorted(place.glob("*.jar")) if path.is_file() and not LEFT_OUT.search(path.name)]
    return [path for path in found if not (path.is_symlink() and path.resolve().parent == place.resolve())]


def unpack(file: IO[bytes], to: Path, source: str) -> None:
    """Write the jars of an archive, with the links to them, below `to`. Raises UsageError if it is no archive."""
    try:
        with tarfile.open(fileobj=file, mode="r|*") as tar:
            for member in tar:
                keep = member.name.endswith(".jar") if member.isfile() else member.issym() or member.isdir()
                if keep and not re.search(r"(^|/)(proc|sys|dev)(/|$)", member.name):
                    _extract(tar, member, to)
    except tarfile.TarError as error:
        raise UsageError(f"--kafka {source} is not readable as an archive: {error}") from None


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, to: Path) -> None:
    if member.issym() and member.linkname.startswith("/"):
        # Of an image: from its own root, not from this machine's.
        member.linkname = os.path.relpath(member.linkname, "/" + str(Path(member.name).parent).lstrip("./"))
    member.mode = 0o755 if member.isdir() else 0o644
    try:
        tar.extract(member, to, filter="data")
    except (tarfile.FilterError, FileExistsError):  # a link out of the tree, or in place of a directory: no jar of it
        return


def _top(root: Path) -> Path:
    """The one directory that an archive has everything in, or the archive itself."""
    inside = [path for path in root.iterdir() if path.is_dir()]
    return inside[0] if len(inside) == 1 and not any(root.glob("*.jar")) else root


def take_apart(client: DockerClient, name: str, to: Path, echo: Echo) -> None:
    """Write the jars of an image below `to`, without running it.

    Raises UsageError if the engine has no such image, or it is for another processor.
    """
    from docker.errors import APIError, ImageNotFound

    try:
        image = client.images.get(name)
    except (ImageNotFound, APIError):
        raise UsageError(
            f"--kafka {name}: there is no such file or directory, and the engine has no such image (docker pull {name})"
        ) from None
    made_for, here = image.attrs.get("Architecture"), client.version().get("Arch")
    if made_for and here and made_for != here:
        raise UsageError(
            f"--kafka {name}: the image is for the processor {made_for}, and this engine's is {here}: "
            f"docker pull --platform linux/{here} {name}"
        )
    with saying(echo, f"taking the image {name} apart"):
        container = client.containers.create(image, command=["none"])
        try:
            with tempfile.TemporaryFile(dir=to) as file:
                for piece in cast("Iterable[bytes]", container.export()):
                    file.write(piece)
                file.seek(0)
                unpack(cast("IO[bytes]", file), to, name)
        finally:
            container.remove(force=True, v=True)


# --- 2. what they say ---


def version_in(read: Sequence[JarFile], source: str) -> tuple[str, str]:
    """The version and the commit that jars say they are of.

    Raises UsageError if they do not say one, say two, or are no version whose numbers are Kafka's.
    """
    said = {jar.path.name: jar.properties for jar in read if jar.properties.get("version")}
    if not said:
        raise UsageError(f"--kafka {source}: none of its {len(read)} jars says of which version of Kafka it is")
    by_version = {told["version"]: name for name, told in said.items()}
    if len(by_version) > 1:
        (one, its), (other, others) = sorted(by_version.items())[:2]
        raise UsageError(f"--kafka {source} mixes jars of two releases: {its} is of {one}, {others} is of {other}")
    (version,) = by_version
    _refuse_twins(read, source)
    _refuse_other_numbers(read, version, source)
    commits = {told["commitId"] for told in said.values() if told.get("commitId")}
    return version, " ".join(sorted(commits))


def _refuse_twins(read: Sequence[JarFile], source: str) -> None:
    """Raise UsageError for two jars of one module of Kafka's: the first on the class path would run."""
    modules: dict[str, list[str]] = {}
    for jar in read:
        name = jar.path.name
        kinds: list[str] = [kind for kind in (CLIENT, MAIN) if kind in jar.names]
        if name.startswith("kafka") and not name.endswith(BESIDE):
            kinds.append(stem(name))
        for kind in kinds:
            modules.setdefault(kind, []).append(name)
    twins = next((names for names in modules.values() if len(names) > 1), None)
    if twins:
        raise UsageError(f"--kafka {source} has two of one jar, of which one would run: {', '.join(twins[:2])}")


def _refuse_other_numbers(read: Sequence[JarFile], version: str, source: str) -> None:
    """Raise UsageError for a version that is none of Kafka's, as far as that can be told."""
    release, known = numbers(version), [numbers(one) for one in apache.releases()]
    if not VERSION.fullmatch(version) or release < apache.OLDEST:
        raise UsageError(f"--kafka {source}: it says version {version!r}: a version of Kafka from 0.8.2 on is wanted")
    lines = {line_of(one) for one in known}
    with_zookeeper = any(name in jar.names for jar in read for name in ZOOKEEPER_CLIENT)
    older = release < max(known) and line_of(release) not in lines
    if older or release[0] > max(known)[0] + 1 or (with_zookeeper and release >= KRAFT_ONLY.release):
        raise UsageError(
            f"--kafka {source}: it says version {version}, which is no number of Apache Kafka's: what is documented is "
            "told by Kafka's numbers, so a build that has others cannot be held to it"
        )


def refuse_mixed(digests: Mapping[str, str], version: str, near: str, source: str) -> None:
    """Raise UsageError if a module of Kafka says another version in its name; or, of a release's number, if a jar is
    byte for byte that of another release and not this one's. (Of no release's number it may be: who goes on from 4.3.1
    keeps modules of it.)
    """
    modules = {jar.artifact for jar in _lock(near) if jar.group == "org.apache.kafka"}
    for name in digests:
        found = IN_A_NAME.search(name)
        if found and name[: found.start()] in modules and numbers(found[1]) != numbers(version):
            raise UsageError(f"--kafka {source} mixes jars of two releases: {name} among those of {version}")
    its_own = {jar.sha256 for jar in _lock(near)}
    if numbers(near) != numbers(version) or not its_own:
        return
    of_others = {
        jar.sha256: other
        for other in apache.releases()
        if numbers(other) != numbers(version)
        for jar in _lock(other)
        if jar.group == "org.apache.kafka"
    }
    for name, sha256 in digests.items():
        if sha256 in of_others and sha256 not in its_own:
            raise UsageError(
                f"--kafka {source} mixes jars of two releases: {name} is that of {of_others[sha256]}, among those of "
                f"{version}"
            )


def _lock(kafka: str) -> tuple[jars.Jar, ...]:
    """The jars of a release whose lock is here; none if it is not."""
    return jars.read_lock(kafka) if jars.lock_text(kafka) is not None else ()


def refuse_other_java(read: Iterable[JarFile], build: Build, source: str) -> None:
    """Raise UsageError if a class of Kafka, or one that was added, needs a newer Java than brokers have here."""
    for jar in read:
        java, name = jar.java
        if java > build.java:
            raise UsageError(
                f"{source}: {jar.path.name} is for Java {java} ({name.removesuffix('.class').replace('/', '.')}), and "
                f"brokers of {build.kafka} run on Java {build.java} here: compile it with --release {build.java}"
            )


def stem(name: str) -> str:
    """A jar's name without its version.

    >>> stem("kafka_2.13-4.3.1.jar"), stem("kafka-server-common-4.3.1-rc2.jar"), stem("own.jar")
    ('kafka_2.13', 'kafka-server-common', 'own')
    """
    found = IN_A_NAME.search(name)
    return name[: found.start()] if found else name.removesuffix(".jar")


def compared(own: Mapping[str, str], released: Mapping[str, str]) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    """What a build's jars (digest by name) are beside a release's: names added, names gone, and those replaced, in
    pairs of (released, own).

    >>> compared({"a-1.0.jar": "x", "b-2.0.jar": "y", "d.jar": "z"}, {"a-1.0.jar": "x", "b-1.0.jar": "w", "c.jar": "v"})
    (['d.jar'], ['c.jar'], [('b-1.0.jar', 'b-2.0.jar')])
    """
    old, new = ({stem(name): name for name in names} for names in (released, own))
    replaced = [
        (old[each], new[each]) for each in sorted(old.keys() & new.keys()) if released[old[each]] != own[new[each]]
    ]
    added, gone = (
        [names[each] for each in sorted(names.keys() - rest.keys())] for names, rest in ((new, old), (old, new))
    )
    return added, gone, replaced


# --- 3. taking it in ---


def take(source: str | None, more: Sequence[Path], kafka: str, echo: Echo) -> Build:
    """Take in a build, with further jars; without a source the further jars are added to the release `kafka`.

    Raises UsageError, in one line, for what cannot be run.
    """
    with exclusive("builds", echo):
        parent = cache_dir() / "builds"
        try:
            parent.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=parent, prefix=".take-") as scratch:
                return _take(source, more, kafka, Path(scratch), echo)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise UsageError(f"{parent}: no room for one more build; free some, or set KAFKA_CHAOS_CACHE") from None
            raise UsageError(f"{error.filename or source}: {error.strerror or error}") from None


def _found(source: str, scratch: Path, echo: Echo) -> Path:
    """The directory with the jars of a source."""
    place = Path(source).expanduser()
    if place.is_dir():
        distributions = sorted((place / ARCHIVES).glob("kafka_*.tgz"))
        archives = [path for path in distributions if "site-docs" not in path.name]
        if len(archives) > 1:
            raise UsageError(f"--kafka {source}: which of {', '.join(path.name for path in archives)}? Name one")
        if not archives:
            return libraries_in(place, source)
        place = archives[0]
    away = scratch / "away"
    away.mkdir()
    if place.is_file():
        with place.open("rb") as file:
            unpack(file, away, source)
        return libraries_in(_top(away), source)
    if os.sep in source and (source.startswith((".", "/", "~")) or source.endswith((".tgz", ".tar.gz"))):
        raise UsageError(f"--kafka {source}: there is no such file or directory")
    with closing(connect()) as client:
        take_apart(client, source, away, echo)
    return libraries_in(away, source)


def _take(source: str | None, more: Sequence[Path], kafka: str, scratch: Path, echo: Echo) -> Build:
    for path in more:
        if not path.is_file():
            raise UsageError(f"--jar {path}: there is no such file")
    place = jars.resolve(kafka, echo) if source is None else _found(source, scratch, echo)
    origin = f"Kafka {kafka}" if source is None else _told_origin(source)
    read = [JarFile(path) for path in _jars(place)]
    told = f"{source}" if source is not None else origin
    version, commit = version_in(read, told)
    near = apache.closest(version)
    digests = {jar.path.name: jars.digest(jar.path) for jar in read}
    refuse_mixed(digests, version, near, told)
    kept = scratch / "kept" / "jars"
    kept.mkdir(parents=True)
    for jar in read:
        shutil.copyfile(jar.path, kept / jar.path.name)
    for path in more:
        if path.name in digests:
            raise UsageError(
                f"--jar {path}: {told} has a jar of that name; name yours otherwise, or give --kafka a build"
            )
        shutil.copyfile(path, kept / path.name)
    without_digest = Build(kafka=version)
    of_kafka = [jar for jar in read if stem(jar.path.name).startswith("kafka")]
    refuse_other_java([*of_kafka, *map(JarFile, more)], without_digest, told)
    added = _bind(kept, near, told, echo)
    digests = {path.name: jars.digest(path) for path in sorted(kept.iterdir())}
    listing = builds.render(digests)
    build = Build(kafka=version, digest=builds.digest_of(listing), origin=origin)
    record = _record(build, commit, kept, digests, near, added, more, echo)
    _keep(build, listing, record, kept.parent)
    echo(f"{build} from {origin}: {record.differs}")
    return build


def _told_origin(source: str) -> str:
    """A source as records name it: a path from its root on."""
    place = Path(source).expanduser()
    return str(place.resolve()) if place.exists() else source


def _bind(kept: Path, near: str, source: str, echo: Echo) -> str:
    """The logging binding of jars; reload4j is added where there is none.

    Raises UsageError if there are two, or one whose lines are not known here.
    """
    found = bindings_of(map(JarFile, sorted(kept.iterdir())))
    if len(found) > 1:
        raise UsageError(
            f"{source} has {len(found)} logging bindings, of which slf4j would take any: "
            f"{', '.join(f'{name} ({jar})' for name, jar in sorted(found.items()))}; leave one"
        )
    if found:
        (binding,) = found
        if binding not in CAN_TRACE:
            raise UsageError(
                f"{source} logs by {binding} ({found[binding]}); lines and levels are known of {', '.join(CAN_TRACE)}"
            )
        return binding
    released = jars.resolve(near, echo)
    for path in released.glob("*.jar"):
        if stem(path.name) in BINDING_JARS and not (kept / path.name).exists():
            shutil.copyfile(path, kept / path.name)
    if not bindings_of(map(JarFile, sorted(kept.iterdir()))):
        raise UsageError(
            f"{source} has no logging binding, and {near} has none to add: without one brokers say nothing"
        )
    return f"{RELOAD4J}, added"


def _record(
    build: Build,
    commit: str,
    kept: Path,
    digests: Mapping[str, str],
    near: str,
    binding: str,
    more: Sequence[Path],
    echo: Echo,
) -> BuildRecord:
    """What is told of a build, and what differs from the nearest release, if that can be had."""
    known = features.asked(kept)
    blank = BuildRecord(
        version=build.kafka,
        commit=commit,
        digest=build.digest,
        origin=build.origin,
        logging=binding,
        extra=tuple(path.name for path in more),
        requests=known.requests,
        features=known.features,
        nearest="",
    )
    try:
        released = jars.resolve(near, echo)
    except KafkaChaosError as error:
        echo(f"{build} is not compared with {near}: {error}")
        return blank
    names = {jar.file: jar.sha256 for jar in jars.read_lock(near)}
    added, gone, replaced = compared(digests, names)
    of_release = features.of_release(near, echo)
    return msgspec.structs.replace(
        blank,
        nearest=near,
        added=tuple(added),
        gone=tuple(gone),
        replaced={new: _what(released / old, kept / new) for old, new in replaced},
        requests_differ=tuple(features.differences(of_release, known)),
    )


def _what(released: Path, own: Path) -> str:
    """How a jar differs from the released one, in words."""
    differ = changed_classes(released, own)
    renamed = "" if released.name == own.name else f"in place of {released.name}, "
    if not differ:
        return f"{renamed}{REPACKED}"
    more = f" and {len(differ) - TOLD} more" if len(differ) > TOLD else ""
    return f"{renamed}{len(differ)} of its classes: {', '.join(differ[:TOLD])}{more}"


def _keep(build: Build, listing: str, record: BuildRecord, fresh: Path) -> None:
    """Put a build into its place, if it is not there already. Raises UsageError if what is there was changed."""
    place = builds.folder(build.digest)
    if place.exists():
        builds.libraries(build, lambda line: None)
    else:
        (fresh / builds.LISTING).write_text(listing)
        fresh.rename(place)
    write_atomically(place / RECORD, msgspec.json.format(msgspec.json.encode(record), indent=1).decode())


# --- 4. naming it ---


def record(build: Build) -> BuildRecord | None:
    """What was read from a build's jars when it was taken in; None of a release. Raises UsageError if it is gone."""
    if not build.own:
        return None
    path = builds.folder(build.digest) / RECORD
    try:
        return msgspec.json.decode(path.read_bytes(), type=BuildRecord)
    except (OSError, ValueError):
        raise UsageError(f"{path} is not readable: give --kafka with the build itself again") from None


def find(name: str) -> Version | None:
    """The version of a build that was taken in before, by the name that runs have ("4.3.1-rc2@0123456789ab"); None for
    another kind of name. Raises UsageError if the build is not in the cache any more.
    """
    match = ASKED.fullmatch(name)
    if match is None:
        return None
    found = next(builds.folder("").glob(f"{match[2]}*"), None)
    if found is None:
        raise UsageError(
            f"the build of {name} is not in the cache ({builds.folder('')}): give --kafka with the build itself"
        )
    told: Any = msgspec.json.decode((found / RECORD).read_bytes(), type=BuildRecord)
    build = Build(kafka=told.version, digest=found.name, origin=told.origin)
    return versions.of_build(build, match[1])
