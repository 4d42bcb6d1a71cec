"""The image of a release's mutants: the released one, an agent, and a file for each mutant.

The agent's sources are compiled here, with Eclipse's compiler, which is one jar and needs no JDK; what it changes
methods with is Javassist. Both come from Maven Central by the lock beside this file. Nothing of the released image is
touched: which mutant a broker is, an argument of its JVM says.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from docker.errors import APIError, BuildError, ImageNotFound

from evidence.errors import HarnessError
from harness.cluster.docker import LABEL, MUTANTS_LABEL, connect
from harness.cluster.namespace import namespace
from harness.plan import Mutant as Altered
from harness.setup import jars
from harness.setup.cache import exclusive
from harness.setup.images import ensure_image
from harness.setup.java import find_java
from tests.mutants.registry import MUTANTS, Mutant

if TYPE_CHECKING:
    from docker import DockerClient

    from harness.cluster.versions import Version
    from harness.setup.waiting import Echo

HERE: Final = Path(__file__).resolve().parent
SOURCES: Final = HERE / "agent"
LOCK: Final = HERE / "jars.lock"
PLACE: Final = "/opt/mutants"
"""In the image."""
AGENT: Final = "agent.jar"
COMPILE_LIMIT_S: Final = 120
MANIFEST: Final = """Manifest-Version: 1.0
Premain-Class: mutants.Mutant
Class-Path: {library}

"""
DOCKERFILE: Final = f"""ARG RELEASED
FROM ${{RELEASED}}
COPY mutants {PLACE}
"""


def altered(mutant: Mutant, tag: str) -> Altered:
    """A mutant as a request for a run takes it, of the image with this tag."""
    return Altered(
        name=mutant.name,
        image_tag=tag,
        java_options=f"-javaagent:{PLACE}/{AGENT}={PLACE}/{mutant.name}.properties",
        command=f"python -m tests.mutants run {mutant.name}",
    )


def properties(mutant: Mutant, release: str) -> str:
    """The file that tells the agent what to change.

    Raises HarnessError for a change that such a file cannot say in a line.
    """
    lines = [f"name={mutant.name}"]
    for number, change in enumerate(mutant.changes_on(release), 1):
        values = {"class": change.of, "method": change.method, "how": change.how, "call": change.call}
        for key, value in (values | {"code": change.code}).items():
            if "\n" in value or "\\" in value or value != value.strip():
                raise HarnessError(f"mutant {mutant.name}, change {number}: {key} is not one line without backslashes")
            lines += [f"{number}.{key}={value}"] if value else []
    return "\n".join(lines) + "\n"


def compile_agent(echo: Echo) -> dict[str, bytes]:
    """The agent's jar and the library that it needs, by their file names."""
    locked = jars.parse_lock(LOCK.read_text(), "tests/mutants/jars.lock")
    libraries = jars.fetch_locked({"mutants": locked}, echo, what="the ")["mutants"]
    compiler, library = (next(libraries.glob(f"{name}-*.jar")) for name in ("ecj", "javassist"))
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-") as scratch:
        command: list[str | os.PathLike[str]] = [find_java(), "-jar", compiler, "-nowarn", "-proc:none"]
        command += ["-source", "1.8", "-target", "1.8"]
        command += ["-cp", library, "-d", scratch, *sorted(SOURCES.glob("*.java"))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_LIMIT_S, check=False)
        if done.returncode:
            raise HarnessError(f"the agent of the mutants does not compile: {(done.stdout + done.stderr)[-1500:]}")
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as jar:
            jar.writestr("META-INF/MANIFEST.MF", MANIFEST.format(library=library.name))
            for path in sorted(Path(scratch).rglob("*.class")):
                jar.write(path, str(path.relative_to(scratch)))
    return {AGENT: packed.getvalue(), library.name: library.read_bytes()}


def unmade(release: str, echo: Echo) -> list[str]:
    """A line for each change that cannot be made to the released jars: a method that is not there, code that does not
    compile.
    """
    libraries = jars.resolve(release, echo)
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-") as scratch:
        place = Path(scratch)
        for name, content in (compile_agent(echo) | files_of(release)).items():
            (place / name).write_bytes(content)
        names = sorted(str(path) for path in place.glob("*.properties"))
        command: list[str | os.PathLike[str]] = [find_java(), "-cp", f"{place}/*:{libraries}/*"]
        command += ["mutants.Mutant", *names]
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_LIMIT_S, check=False)
    lines = [line for line in done.stdout.splitlines() if " failed: " in line]
    return lines or ([done.stderr.strip()[-500:]] if done.returncode else [])


def files_of(release: str) -> dict[str, bytes]:
    """The files that tell the agent what to change on a release, by their names."""
    return {f"{mutant.name}.properties": properties(mutant, release).encode() for mutant in MUTANTS}


def inputs(release: str, released: str) -> str:
    """A digest of what the image is made from; `released` is the id of the image below it."""
    seen = hashlib.sha256(f"{released} {DOCKERFILE} {MANIFEST}".encode())
    for path in (LOCK, *sorted(SOURCES.glob("*.java"))):
        seen.update(f"{path.name}\n".encode() + path.read_bytes())
    for mutant in MUTANTS:
        seen.update(properties(mutant, release).encode())
    return seen.hexdigest()[:16]


def ensure(version: Version, echo: Echo) -> str:
    """The tag of the image of a release's mutants, which is built now if it is not there. Another registry has another
    tag, so a round that goes on keeps its own; `kafka-chaos clean` removes them all.

    Raises UsageError if it cannot be built here, HarnessError if the agent does not compile.
    """
    digest = inputs(version.kafka, ensure_image(version.build, echo))
    tag = f"{version.kafka}-mutants-{digest}"
    name = f"{namespace()}/kafka:{tag}"
    with closing(connect()) as client, exclusive(f"mutants-{version.kafka}", echo):
        try:
            client.images.get(name)
        except ImageNotFound:
            echo(f"building the image of the mutants of Kafka {version.kafka}")
            _build(client, version, name, digest, compile_agent(echo))
    return tag


def _build(client: DockerClient, version: Version, name: str, digest: str, files: dict[str, bytes]) -> None:
    files |= files_of(version.kafka)
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as tar:
        for path, content in {
            "Dockerfile": DOCKERFILE.encode(),
            **{f"mutants/{n}": c for n, c in files.items()},
        }.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), 0o644
            tar.addfile(member, io.BytesIO(content))
    context.seek(0)
    try:
        client.images.build(
            fileobj=context,
            custom_context=True,
            tag=name,
            rm=True,
            forcerm=True,
            buildargs={"RELEASED": version.image},
            labels={LABEL: namespace(), MUTANTS_LABEL: digest},
        )
    except (APIError, BuildError) as error:
        raise HarnessError(f"the image of the mutants of Kafka {version.kafka} was not built: {error}") from None
