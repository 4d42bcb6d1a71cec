"""Images of Kafka releases, built here from compose/Dockerfile and the locked jars.

An image is rebuilt when what it is made of changed: its label `kafka-chaos.inputs` is a digest of the Dockerfile, the
files beside it, the jar lock (the committed one, or that which was resolved here) and the Java version.
Nothing is looked up in a registry to decide that, so a run with its image in place needs no network.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from docker.errors import APIError, BuildError, DockerException, ImageNotFound

from evidence.errors import HarnessError, UsageError
from evidence.releases import numbers
from harness.cluster.docker import KAFKA_LABEL, LABEL, connect
from harness.cluster.namespace import namespace
from harness.setup import builds, jars
from harness.setup.base import ensure_base
from harness.setup.cache import exclusive
from harness.setup.contents import JarFile, bindings_of
from harness.setup.packages import explaining_lines
from harness.setup.waiting import Echo, saying

if TYPE_CHECKING:
    from docker import DockerClient

    from harness.cluster.builds import Build

COMPOSE: Final = Path(__file__).resolve().parents[2] / "compose"
INPUTS_LABEL: Final = "kafka-chaos.inputs"
NOTE: Final = "note: "
COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
"""What Docker puts around the error output of a build's commands."""
BUILD_LIMIT_S: Final = 1800
NEEDED_BYTES: Final = 2_000_000_000
"""What a base image with Java and the jars of a release take, with room for the engine's own copies."""


def inputs(build: Build) -> str:
    """A digest of everything an image is made from, its base apart. Raises UsageError if its jars are not resolved."""
    seen = hashlib.sha256(f"{build.kafka} java {build.java}\n".encode())
    parts = [
        (path.name, path.read_bytes()) for path in (COMPOSE / "Dockerfile", *sorted((COMPOSE / "image").iterdir()))
    ]
    recipe = builds.recipe(build)
    if recipe is None:
        jars.read_lock(build.kafka)  # raises with the way out
    parts.append((f"{build.kafka}.lock", (recipe or "").encode()))
    for name, content in parts:
        seen.update(f"{name} {len(content)}\n".encode() + content)
    return seen.hexdigest()[:16]


def present(client: DockerClient, build: Build) -> str | None:
    """The id of a build's image if it is there and up to date."""
    try:
        image = client.images.get(build.image)
    except ImageNotFound:
        return None
    if builds.recipe(build) is None or image.labels.get(INPUTS_LABEL) != inputs(build):
        return None
    return str(image.id)


def sizes(client: DockerClient) -> dict[str, int]:
    """The releases whose images are there, up to date or not, with the bytes of each as the engine counts them: layers
    that images share are counted in each.
    """
    name = f"{namespace()}/kafka"
    found: dict[str, int] = {}
    for image in client.api.images(name=name):
        for tag in image.get("RepoTags") or ():
            found[tag.removeprefix(f"{name}:")] = int(image.get("Size", 0))
    return dict(sorted(found.items(), key=lambda pair: numbers(pair[0])))


def refuse_other_processor(client: DockerClient, build: Build) -> None:
    """Raise UsageError if the build's image is one for another processor than the engine's, such as a loaded one."""
    made_for = client.images.get(build.image).attrs.get("Architecture")
    here = client.version().get("Arch")
    if made_for and here and made_for != here:
        raise UsageError(
            f"the image {build.image} is for the processor {made_for}, and this engine's is {here}: remove it "
            f"(docker image rm {build.image}), and it is built anew"
        )


def _usable(client: DockerClient, build: Build) -> str | None:
    """The id of a build's image if it is there, up to date, and for this processor."""
    if found := present(client, build):
        refuse_other_processor(client, build)
    return found


def ensure_image(build: Build, echo: Echo) -> str:
    """The id of a build's image, built now if it is missing or out of date.

    Raises UsageError if it cannot be built here, with what is missing: network, disk, a base image.
    """
    client = connect()
    try:
        if found := _usable(client, build):
            return found
        # Two harnesses that start at once build once; the other waits and finds the image.
        with exclusive(f"image-{build.tag}", echo):
            return _usable(client, build) or _build(client, build, echo)
    finally:
        client.close()


def ensure_images(chosen: Iterable[Build], echo: Echo) -> None:
    """Build what is missing or out of date of the images of these builds. Raises as `ensure_image` does.

    What they are made from comes first: jars and bases side by side, since both wait for the network.
    """

    def bring_base(java: int) -> None:
        with closing(connect()) as client:
            ensure_base(client, java, echo)

    wanted = list(dict.fromkeys(chosen))
    with closing(connect()) as client:
        missing = [build for build in wanted if not _usable(client, build)]
        if missing:
            check_space(client)
            with ThreadPoolExecutor() as pool:
                releases = [build.kafka for build in missing if not build.own]
                parts: list[Future[Any]] = [pool.submit(jars.fetch, releases, echo)]
                parts += [pool.submit(bring_base, java) for java in {build.java for build in missing}]
            for part in parts:
                part.result()
    for build in missing:
        ensure_image(build, echo)


def _build(client: DockerClient, build: Build, echo: Echo) -> str:
    check_space(client)
    libraries = builds.libraries(build, echo)
    base = ensure_base(client, build.java, echo)
    echo(f"building the image of {build} on Java {build.java}")
    digest = inputs(build)
    with (
        one_build(client, f"Kafka {build.kafka}{build.mark}"),
        tempfile.TemporaryFile() as context,
        saying(echo, f"building the image of {build}"),
    ):
        _write_context(context, libraries)
        context.seek(0)
        image, output = client.images.build(
            fileobj=context,
            custom_context=True,
            tag=build.image,
            rm=True,
            forcerm=True,
            buildargs={
                "BASE_IMAGE": base,
                "JAVA": str(build.java),
                "KAFKA_VERSION": ".".join(map(str, build.release)),
                "KAFKA_LOGGING": "".join(bindings_of(map(JarFile, sorted(libraries.glob("*.jar"))))),
            },
            labels={LABEL: namespace(), INPUTS_LABEL: digest, KAFKA_LABEL: build.kafka},
        )
        for line in notes(str(part.get("stream", "")) for part in output if isinstance(part, dict)):
            echo(f"the image of {build}: {line}")
    return str(image.id)


@contextmanager
def one_build(client: DockerClient, what: str, *, installs: str = "Java") -> Iterator[None]:
    """Within this block the engine may take `BUILD_LIMIT_S` for an answer: its own time-out is for one answer, and a
    build is one long answer. A build that fails there is explained in one line (`explain_failure`).
    """
    api = client.api
    limit, api.timeout = api.timeout, BUILD_LIMIT_S
    try:
        yield
    except BuildError as error:
        said = [str(line.get("stream", "")) for line in error.build_log]
        raise explain_failure(what, str(error.msg), said, installs=installs) from None
    except (APIError, DockerException, OSError) as error:
        raise explain_failure(what, str(error), [], installs=installs) from None
    finally:
        api.timeout = limit


def notes(output: Iterable[str]) -> list[str]:
    """What the Dockerfile's commands want a reader to know: what they print behind "note: "."""
    lines = COLOUR.sub("", "".join(output)).splitlines()
    return [line.removeprefix(NOTE).strip() for line in lines if line.startswith(NOTE)]


def explain_failure(what: str, message: str, output: list[str], *, installs: str = "Java") -> UsageError | HarnessError:
    """The error for a failed build of an image of `what`, which `installs` packages of Debian: one line that tells a
    missing network or a full disk from a fault of ours.
    """
    lines = [line.strip() for line in COLOUR.sub("", "".join(output)).splitlines() if line.strip()]
    everything = "\n".join([*lines, message])
    if "o space left" in everything:
        return UsageError(f"the image of {what} was not built: the disk is full where Docker keeps its data")
    if re.search(
        r"emporary failure resolving|ould not resolve|Unable to connect to|Network is unreachable", everything
    ):
        return UsageError(
            f"the image of {what} was not built: containers have no network to install {installs} from; "
            "build it once where there is one, or check the engine's DNS and forwarding"
        )
    marked = [line for line in reversed(lines) if re.search(r"rror|xception|failed", line)]
    reason = [*explaining_lines(lines), *marked, message][0]
    return HarnessError(f"the image of {what} was not built: {message.splitlines()[0][:200]} ({reason[:300]})")


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
