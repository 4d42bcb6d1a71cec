"""Own builds for tests, made of released jars: a class replaced, a module compiled anew, in each layout.

What a vendor or a developer ships is made here from Maven Central alone: the jars of a release, of which one class is
changed in its source and compiled against them (Eclipse's compiler, as for tests/mutants), the version that they say
changed, and the logging binding of the kind that is wanted. `python -m tests.own_builds DIRECTORY` makes those of
docs/own-builds.md.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.setup import jars
from harness.setup.contents import PROPERTIES
from harness.setup.java import find_java
from harness.setup.own import stem

LOCK: Final = Path(__file__).resolve().parent / "jars.lock"
COMPILER: Final = Path(__file__).resolve().parents[1] / "mutants" / "jars.lock"
LIMIT_S: Final = 600
LOG4J_2: Final = ("log4j-core", "log4j-slf4j-impl")
LOG4J_1: Final = ("slf4j-reload4j", "reload4j")


def say(line: str) -> None:
    """Tell what takes long."""
    sys.stderr.write(f"{line}\n")


def lock_of(path: Path, name: str) -> tuple[jars.Jar, ...]:
    """The jars of a lock of tests."""
    return jars.parse_lock(path.read_text(), name)


def parts() -> Path:
    """The directory with what is not of a release: sources and log4j 2."""
    locked = lock_of(LOCK, "tests/own_builds/jars.lock")
    return jars.fetch_locked({"own-builds": locked}, say, what="the jars of ")["own-builds"]


def compiled(sources: Mapping[str, str], libraries: Path, java: int) -> dict[str, bytes]:
    """The class files of Java sources, by their path in a jar, compiled against the jars of a directory."""
    compiler = jars.fetch_locked({"mutants": lock_of(COMPILER, "tests/mutants/jars.lock")}, say, what="the ")["mutants"]
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-") as scratch:
        source, target = Path(scratch) / "source", Path(scratch) / "target"
        for name, text in sources.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(text)
        level = "1.8" if java == 8 else str(java)
        command: list[str | os.PathLike[str]] = [find_java(), "-jar", next(compiler.glob("ecj-*.jar")), "-nowarn"]
        command += ["-proc:none", "-source", level, "-target", level, "-d", target]
        command += ["-cp", os.pathsep.join(map(str, libraries.glob("*.jar"))), source]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode:
            raise RuntimeError(f"an own build does not compile: {(done.stdout + done.stderr)[-1500:]}")
        return {str(path.relative_to(target)): path.read_bytes() for path in target.rglob("*.class")}


def rewritten(jar: Path, entries: Mapping[str, bytes]) -> None:
    """Replace entries of a jar, or add them."""
    fresh = jar.with_suffix(".new")
    with zipfile.ZipFile(jar) as old, zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if entry.filename not in entries:
                new.writestr(entry, old.read(entry.filename))
        for name, content in entries.items():
            new.writestr(name, content)
    fresh.replace(jar)


def saying(libraries: Path, version: str, commit: str = "") -> None:
    """Have the jars of a directory say that they are of this version, in their contents and in their names."""
    for jar in sorted(libraries.glob("kafka*.jar")):
        with zipfile.ZipFile(jar) as archive:
            says = PROPERTIES in archive.namelist()
        if says:
            rewritten(jar, {PROPERTIES: f"commitId={commit}\nversion={version}\n".encode()})
        jar.rename(jar.with_name(f"{stem(jar.name)}-{version}.jar"))


def released(kafka: str, to: Path) -> Path:
    """A copy of a release's jars, in Kafka's own layout."""
    libraries = to / "libs"
    shutil.copytree(jars.resolve(kafka, say), libraries)
    return libraries


def source_of(module: str, kafka: str) -> dict[str, str]:
    """The Java sources of a module of Kafka, from its sources jar on Maven Central."""
    with zipfile.ZipFile(parts() / f"{module}-{kafka}-sources.jar") as archive:
        return {name: archive.read(name).decode() for name in archive.namelist() if re.fullmatch(r"org/.*\.java", name)}


def log4j_2(libraries: Path) -> None:
    """Have a build log by log4j 2 in place of reload4j."""
    for jar in libraries.glob("*.jar"):
        if stem(jar.name) in LOG4J_1:
            jar.unlink()
    for name in LOG4J_2:
        (jar,) = parts().glob(f"{name}-[0-9]*.jar")
        shutil.copyfile(jar, libraries / jar.name)


def packed(directory: Path, to: Path) -> Path:
    """The archive of a build, as releaseTarGz makes it: everything in one directory."""
    with tarfile.open(to, "w:gz") as tar:
        tar.add(directory, to.name.removesuffix(".tgz"))
    return to


START: Final = '#!/bin/sh\nexec java -cp "$(dirname "$0")/../libs/*" kafka.Kafka "$@"\n'


def as_apache_ships(kafka: str, root: Path) -> Path:
    """An archive with everything where releaseTarGz puts it: bin/, bin/windows/, config/, libs/, licenses/, site-docs/
    with an archive of its own, LICENSE and NOTICE; it logs by log4j 2, as releases from 4.0 on do.
    """
    top = root / f"kafka_2.13-{kafka}"
    log4j_2(released(kafka, top))
    for name, text in {
        "bin/kafka-server-start.sh": START,
        "bin/windows/kafka-server-start.bat": "java -cp ..\\..\\libs\\* kafka.Kafka %*\n",
        "config/server.properties": "process.roles=broker,controller\n",
        "licenses/slf4j-MIT": "MIT\n",
        "LICENSE": "Apache License 2.0\n",
        "NOTICE": "Apache Kafka\n",
        "docs/index.html": "<p>documentation</p>\n",
    }.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    (top / "site-docs").mkdir()
    packed(top / "docs", top / "site-docs" / f"kafka_2.13-{kafka}-site-docs.tgz")
    shutil.rmtree(top / "docs")
    return packed(top, root / f"kafka_2.13-{kafka}.tgz")


SAID: Final = "a patched broker says so"


def patched(libraries: Path, kafka: str, java: int) -> None:
    """Replace one class of kafka-clients, AppInfoParser, by one that logs a line more: compiled from its source."""
    name = "org/apache/kafka/common/utils/AppInfoParser.java"
    text = source_of("kafka-clients", kafka)[name]
    line = 'log.info("Kafka version: {}"'
    changed = text.replace(line, f'log.info("{SAID}");\n            {line}')
    if changed == text:
        raise RuntimeError(f"AppInfoParser of {kafka} has no line {line!r}")
    (jar,) = libraries.glob("kafka-clients-*.jar")
    rewritten(jar, compiled({name: changed}, libraries, java))


def module_anew(libraries: Path, module: str, kafka: str, java: int) -> int:
    """Replace a whole module by one compiled from its sources; returns how many classes that are."""
    (jar,) = libraries.glob(f"{module}-[0-9]*.jar")
    classes = compiled(source_of(module, kafka), libraries, java)
    rewritten(jar, classes)
    return len(classes)
