"""Images of Kafka releases, built here from compose/Dockerfile and the locked jars.

An image is rebuilt when what it is made of changed: its label `kafka-chaos.inputs` is a digest of the Dockerfile, the
files beside it, the jar lock and the Java version. Nothing is looked up in a registry to decide that, so a run with its
image in place needs no network.

The base is a bare Debian: pulled where a registry answers, otherwise made with debootstrap (root, on Debian or Ubuntu)
from the mirror that this machine's own apt uses.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from docker.errors import APIError, BuildError, DockerException, ImageNotFound

from evidence.errors import HarnessError, UsageError
from harness.cluster.docker import LABEL, connect
from harness.cluster.namespace import namespace
from harness.setup import jars
from harness.setup.cache import exclusive
from harness.setup.packages import install, may_install

if TYPE_CHECKING:
    from docker import DockerClient

    from harness.cluster.versions import Version

COMPOSE: Final = Path(__file__).resolve().parents[2] / "compose"
INPUTS_LABEL: Final = "kafka-chaos.inputs"
BUILD_LIMIT_S: Final = 1800
NEEDED_BYTES: Final = 2_000_000_000
"""What a base image with Java and the jars of a release take, with room for the engine's own copies."""

Echo = Callable[[str], None]


def base_repository() -> str:
    """The name of the base images, without their tag (the Debian suite)."""
    return f"{namespace()}/debian"


def suite(java: int) -> str:
    """The Debian suite that carries this Java: 8 is in unstable only."""
    return "sid" if java == 8 else "bookworm"


def inputs(version: Version) -> str:
    """A digest of everything an image is made from, its base apart."""
    seen = hashlib.sha256(f"{version.kafka} java {version.java}\n".encode())
    for path in [COMPOSE / "Dockerfile", *sorted((COMPOSE / "image").iterdir()), jars.lock_path(version.kafka)]:
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            jars.read_lock(version.kafka)  # raises with the way out
            raise
        seen.update(f"{path.name} {len(content)}\n".encode() + content)
    return seen.hexdigest()[:16]


def present(client: DockerClient, version: Version) -> str | None:
    """The id of the version's image if it is there and up to date."""
    try:
        image = client.images.get(version.image)
    except ImageNotFound:
        return None
    return str(image.id) if image.labels.get(INPUTS_LABEL) == inputs(version) else None


def ensure_image(version: Version, echo: Echo) -> str:
    """The id of the version's image, built now if it is missing or out of date.

    Raises UsageError if it cannot be built here, with what is missing: network, disk, a base image.
    """
    client = connect()
    try:
        if found := present(client, version):
            return found
        # Two harnesses that start at once build once; the other waits and finds the image.
        with exclusive(f"image-{version.kafka}"):
            return present(client, version) or _build(client, version, echo)
    finally:
        client.close()


def _build(client: DockerClient, version: Version, echo: Echo) -> str:
    check_space(client)
    libraries = jars.resolve(version.kafka, echo)
    base = ensure_base(client, version.java, echo)
    echo(f"building the image of Kafka {version.kafka} on Java {version.java}")
    digest = inputs(version)
    # The engine's own time-out is for one answer; a build is one long answer.
    api = client.api
    limit, api.timeout = api.timeout, BUILD_LIMIT_S
    try:
        with tempfile.TemporaryFile() as context:
            _write_context(context, libraries)
            context.seek(0)
            image, _ = client.images.build(
                fileobj=context,
                custom_context=True,
                tag=version.image,
                rm=True,
                forcerm=True,
                buildargs={"BASE_IMAGE": base, "JAVA": str(version.java), "KAFKA_VERSION": version.kafka},
                labels={LABEL: namespace(), INPUTS_LABEL: digest, "kafka-chaos.kafka": version.kafka},
            )
    except BuildError as error:
        output = [str(line.get("stream", "")) for line in error.build_log]
        raise explain_failure(version.kafka, str(error.msg), output) from None
    except (APIError, DockerException, OSError) as error:
        raise explain_failure(version.kafka, str(error), []) from None
    finally:
        api.timeout = limit
    return str(image.id)


def explain_failure(kafka: str, message: str, output: list[str]) -> UsageError | HarnessError:
    """The error for a failed build: one line that tells a missing network or a full disk from a fault of ours."""
    lines = [line.strip() for text in output for line in text.splitlines() if line.strip()]
    everything = "\n".join([*lines, message])
    if "o space left" in everything:
        return UsageError(f"the image of Kafka {kafka} was not built: the disk is full where Docker keeps its data")
    if re.search(
        r"emporary failure resolving|ould not resolve|Unable to connect to|Network is unreachable", everything
    ):
        return UsageError(
            f"the image of Kafka {kafka} was not built: containers have no network to install Java from; "
            "build it once where there is one, or check the engine's DNS and forwarding"
        )
    reason = next((line for line in reversed(lines) if re.search(r"^E: |rror|xception|failed", line)), message)
    return HarnessError(f"the image of Kafka {kafka} was not built: {message.splitlines()[0][:200]} ({reason[:300]})")


def _write_context(file: Any, libraries: Path) -> None:
    """What a build sees: the Dockerfile, image/ and the jars, with the times and owners of no machine in particular."""

    def neutral(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        member.mtime = 0
        member.mode = 0o755 if member.isdir() else 0o644
        return member

    with tarfile.open(fileobj=file, mode="w") as tar:
        tar.add(COMPOSE / "Dockerfile", "Dockerfile", filter=neutral)
        tar.add(COMPOSE / "image", "image", filter=neutral)
        tar.add(libraries, "jars", filter=neutral)


def check_space(client: DockerClient) -> None:
    """Raise UsageError if the engine's disk, where it is this machine's, has no room for another image."""
    root = Path(str(client.info().get("DockerRootDir", "")))
    place = root if root.is_dir() else None
    if place is not None and (free := shutil.disk_usage(place).free) < NEEDED_BYTES:
        raise UsageError(
            f"{free / 1e9:.1f} GB free under {place}: an image needs {NEEDED_BYTES / 1e9:.0f} GB; "
            "free some (docker system df shows what Docker holds)"
        )


def ensure_base(client: DockerClient, java: int, echo: Echo) -> str:
    """The tag of the bare Debian for this Java: the one at hand, else pulled, else made with debootstrap.

    Raises UsageError if none of these works.
    """
    name = suite(java)
    tag = f"{base_repository()}:{name}"
    with exclusive(f"base-{name}"):
        try:
            client.images.get(tag)
        except ImageNotFound:
            pass
        else:
            return tag
        refusal = _pull_base(client, name, echo)
        if refusal is not None:
            _bootstrap_base(client, name, refusal, echo)
    return tag


def _pull_base(client: DockerClient, name: str, echo: Echo) -> str | None:
    """Pull Debian's slim image; None if that worked, otherwise the reason."""
    try:
        echo(f"pulling debian:{name}-slim")
        client.images.pull("debian", tag=f"{name}-slim").tag(base_repository(), name)
    except (DockerException, OSError) as error:
        return str(error).splitlines()[0][:160]
    return None


def mirror_in(sources: str) -> str | None:
    """The first Debian mirror in the text of an apt source, one-line or deb822 style; None if there is none.

    Only a source with the component main counts, and not the archive of security updates, which has no whole suite.

    >>> mirror_in("deb [arch=amd64] http://mirror.example/debian bookworm main")
    'http://mirror.example/debian'
    """
    for stanza in re.split(r"\n\s*\n", sources):
        fields = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.+)$", stanza, re.MULTILINE))
        candidates = []
        if "URIs" in fields and "deb" in fields.get("Types", "").split():
            candidates = [(uri, fields.get("Components", "")) for uri in fields["URIs"].split()]
        candidates += re.findall(r"^deb[ \t]+(?:\[[^]]*\][ \t]+)?(\S+)[ \t]+\S+[ \t]+(.*)$", stanza, re.MULTILINE)
        for uri, components in candidates:
            if "main" in components.split() and re.search(r"/debian/?$", uri):
                return str(uri)
    return None


def machine_sources() -> Iterator[str]:
    """The texts of this machine's apt sources."""
    for path in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]:
        if path.suffix in (".list", ".sources") and path.is_file():
            yield path.read_text(errors="replace")


def _debootstrap() -> str | None:
    return shutil.which("debootstrap", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _bootstrap_base(client: DockerClient, name: str, refusal: str, echo: Echo) -> None:
    tool = _debootstrap()
    if tool is None and may_install():
        install(["debootstrap"], echo)
        tool = _debootstrap()
    if tool is None or os.geteuid() != 0:
        raise UsageError(
            f"no base image: debian:{name}-slim could not be pulled ({refusal}), and making one needs "
            + ("debootstrap (apt install debootstrap)" if tool is None else "root")
        )
    echo(f"no registry answers; making a bare Debian {name} with debootstrap")
    # Without a mirror debootstrap uses the one it has for the suite, which is what a machine that is not Debian needs.
    mirror = next(filter(None, map(mirror_in, machine_sources())), None)
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-") as scratch:
        root = Path(scratch) / "root"
        command = [tool, "--variant=minbase", name, str(root), *([mirror] if mirror else [])]
        try:
            result = subprocess.run(
                command, capture_output=True, text=True, timeout=BUILD_LIMIT_S, check=False, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            raise HarnessError(f"debootstrap of {name} took longer than {BUILD_LIMIT_S} s") from None
        if result.returncode != 0:
            lines = [line for line in (result.stdout + result.stderr).splitlines() if line.strip()]
            reason = next((line for line in lines if line.startswith("E:")), lines[-1] if lines else "no output")
            raise UsageError(
                f"no base image: debian:{name}-slim could not be pulled ({refusal}), "
                f"and debootstrap failed: {reason.strip()[:200]}"
            )
        echo(f"importing Debian {name} into Docker")
        _import(client, root, name)


def _import(client: DockerClient, root: Path, name: str) -> None:
    """Import a directory as the base image. Packages of the installation itself are left out."""
    arguments = [
        "tar",
        "--directory",
        str(root),
        "--exclude=./var/cache/apt/archives/*.deb",
        "--numeric-owner",
        "-c",
        ".",
    ]
    with tempfile.TemporaryFile() as archive:
        subprocess.run(arguments, stdout=archive, check=True, timeout=BUILD_LIMIT_S)
        archive.seek(0)
        limit, client.api.timeout = client.api.timeout, BUILD_LIMIT_S
        try:
            answer = str(client.api.import_image(archive, repository=base_repository(), tag=name))
        except (DockerException, OSError) as error:
            answer = f"error: {error}"
        finally:
            client.api.timeout = limit
    if "error" in answer.lower():
        raise HarnessError(f"Docker did not import the base image: {' '.join(answer.split())[:300]}")
