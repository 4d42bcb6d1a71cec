"""The bare Debian under every image: pulled where a registry answers, otherwise made with debootstrap.

debootstrap needs root on Debian or Ubuntu, and fetches from the first mirror that gives the suite (setup.sources), its
signatures checked. A base carries a label that says what it was made from; one that this machine would not make (an
older recipe, a mirror that is no longer in apt's sources) is made again, or used as it is where that cannot be.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from docker.errors import DockerException, ImageNotFound

from evidence.errors import HarnessError, UsageError
from harness.cluster.disks import data_with_disks, mounted_below
from harness.cluster.docker import LABEL
from harness.cluster.namespace import namespace
from harness.setup.cache import cache_dir, exclusive
from harness.setup.packages import explaining_lines, install, may_install
from harness.setup.sources import DEBIAN_KEYS, Mirror, keyring, mirrors
from harness.setup.waiting import Echo, saying

if TYPE_CHECKING:
    from docker import DockerClient

MADE_LABEL: Final = "kafka-chaos.base"
RECIPE: Final = 2
"""Counts up when a base made by the code before would be a wrong one."""
LIMIT_S: Final = 1800
GIVE_UP: Final = 'while [ "$1" != -- ]; do umount --lazy "$1"; shift; done; shift; exec "$@"'
"""With mount points, `--` and a command as arguments."""
TRUST: Final = Path("/etc/ssl/certs/ca-certificates.crt")


def base_repository() -> str:
    """The name of the base images, without their tag (the Debian suite)."""
    return f"{namespace()}/debian"


def suite(java: int) -> str:
    """The Debian suite that carries this Java: 8 is in unstable only."""
    return "sid" if java == 8 else "bookworm"


def made_from(name: str, mirror: Mirror | None = None) -> str:
    """The label of a base: of the one that is pulled, or of the one that is made from this mirror."""
    return f"recipe {RECIPE}: " + (f"debootstrap {name} from {mirror.uri}" if mirror else f"debian:{name}-slim")


def labels(made: str) -> dict[str, str]:
    """The labels of a base: what it was made from, and its namespace.

    Docker takes layers from its cache only on the same base, so a namespace never gets a layer that another has built.
    """
    return {LABEL: namespace(), MADE_LABEL: made}


def ensure_base(client: DockerClient, java: int, echo: Echo) -> str:
    """The tag of the bare Debian for this Java: the one at hand if this machine would make the same, else pulled, else
    made with debootstrap.

    Raises UsageError if there is none and none of these works.
    """
    return ensure_debian(client, suite(java), echo)


def ensure_debian(client: DockerClient, name: str, echo: Echo) -> str:
    """The tag of the bare Debian of a suite; as `ensure_base`."""
    tag = f"{base_repository()}:{name}"
    with exclusive(f"base-{name}", echo):
        try:
            found: Any = client.images.get(tag)
        except ImageNotFound:
            found = None
        candidates = mirrors()
        if found is not None:
            made = found.labels.get(MADE_LABEL, "")
            if made in {made_from(name), *(made_from(name, mirror) for mirror in candidates)}:
                return tag
            echo(f"the base image {tag} is made again: it was made {f'by {made}' if made else 'by an older recipe'}")
        refusal = _pull(client, name, tag, echo)
        if refusal is not None:
            try:
                _bootstrap(client, name, candidates, refusal, echo)
            except (UsageError, HarnessError) as error:
                if found is None:
                    raise
                echo(f"the base image {tag} is used as it is: {error}")
    return tag


def _pull(client: DockerClient, name: str, tag: str, echo: Echo) -> str | None:
    """Pull Debian's slim image and give it our tag and label; None if that worked, otherwise the reason."""
    source = f"debian:{name}-slim"
    try:
        echo(f"pulling {source}")
        with saying(echo, f"pulling {source}"):
            client.images.pull("debian", tag=f"{name}-slim")
            label(client, source, tag, made_from(name))
    except (DockerException, OSError) as error:
        return error_text(error)
    return None


def error_text(error: Exception) -> str:
    """Docker's message in one line, without the request's address that the SDK puts before it."""
    words = getattr(error, "explanation", None) or str(error) or type(error).__name__
    return " ".join(str(words).split())[:300]


def label(client: DockerClient, source: str, tag: str, made: str) -> None:
    """Give an image another tag and the label of a base."""
    recipe = io.BytesIO(f"FROM {source}\n".encode())
    client.images.build(fileobj=recipe, tag=tag, labels=labels(made), rm=True, forcerm=True)


def _tool() -> str | None:
    return shutil.which("debootstrap", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def build_directory() -> Path:
    """The directory to make a base in. Raises UsageError if there is none that may hold devices and programs."""
    places = [cache_dir(), Path(tempfile.gettempdir())]
    for place in places:
        if not os.statvfs(place).f_flag & (os.ST_NODEV | os.ST_NOEXEC):
            return place
    raise UsageError(
        f"a bare Debian cannot be made in {' or in '.join(map(str, places))}: mounted nodev or noexec; "
        "set KAFKA_CHAOS_CACHE to a directory that is not"
    )


def _bootstrap(client: DockerClient, name: str, candidates: Sequence[Mirror], refusal: str, echo: Echo) -> None:
    """Make the base with debootstrap. Raises UsageError, with why the pull was refused, if that cannot be."""
    context = f"no base image: debian:{name}-slim could not be pulled ({refusal}), and "
    # Ubuntu's debootstrap without Debian's keys would check no signatures.
    with exclusive("debootstrap", echo):
        if (_tool() is None or not DEBIAN_KEYS.exists()) and may_install():
            install(["debootstrap", "debian-archive-keyring"], echo)
    tool = _tool()
    if tool is None:
        raise UsageError(f"{context}making one needs debootstrap (apt install debootstrap debian-archive-keyring)")
    if os.geteuid() != 0:
        raise UsageError(f"{context}making one needs root")
    echo(f"no registry answers; making a bare Debian {name} with debootstrap")
    remove_unfinished(name)
    refusals = []
    for mirror in candidates:
        with tempfile.TemporaryDirectory(dir=build_directory(), prefix=f"debian-{name}-") as scratch:
            root = Path(scratch) / "root"
            failure = _debootstrap(tool, name, root, mirror, echo)
            if failure is not None:
                refusals.append(f"from {mirror.uri}: {failure}")
                echo(f"no Debian {refusals[-1]}")
                continue
            echo(f"importing Debian {name} into Docker")
            import_directory(client, root, name, made_from(name, mirror), echo)
            return
    raise UsageError(f"{context}debootstrap failed {'; '.join(refusals)}")


def remove_unfinished(name: str) -> None:
    """Remove what a set-up that was killed left in our cache. The caller holds the lock of this suite's base."""
    for left in cache_dir().glob(f"debian-{name}-*"):
        shutil.rmtree(left, ignore_errors=True)


def apart(command: Sequence[str]) -> list[str]:
    """The command in a mount namespace of its own, where this machine lets us make one; otherwise as it is.

    debootstrap mounts /proc in the directory that it fills. Killed, it would leave it mounted, and nobody could remove
    the directory; a namespace's mounts end with its last process. It begins with a copy of this machine's mounts, and
    gives up those of disks of runs: a run could not detach a disk that is still mounted there.
    """
    unshare = ["unshare", "--mount", "--"]
    try:
        allowed = subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        allowed = False
    disks = [str(place) for data in data_with_disks() for place in mounted_below(data)]
    return [*unshare, "sh", "-c", GIVE_UP, "sh", *disks, "--", *command] if allowed else list(command)


def _debootstrap(tool: str, name: str, root: Path, mirror: Mirror, echo: Echo) -> str | None:
    """Make a bare Debian in a directory; None if that worked, otherwise the reason. Signatures are always checked."""
    arguments = ["--variant=minbase", "--force-check-gpg", f"--keyring={keyring(mirror)}"]
    https = mirror.uri.startswith("https:")
    if https:
        arguments.append("--include=ca-certificates")
    try:
        with saying(echo, f"making Debian {name} from {mirror.uri}"):
            result = subprocess.run(
                apart([tool, *arguments, name, str(root), mirror.uri]),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=LIMIT_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
    except subprocess.TimeoutExpired:
        return f"not done within {LIMIT_S} s"
    if result.returncode != 0:
        return (explaining_lines((result.stdout + result.stderr).splitlines()) or ["it said nothing"])[0][:300]
    if https and TRUST.exists():
        # The mirror that this machine trusts may be known to an authority of its own only.
        shutil.copyfile(TRUST, root / TRUST.relative_to("/"))
    return None


def import_directory(client: DockerClient, root: Path, name: str, made: str, echo: Echo) -> None:
    """Import a directory as the base image of a suite, with its label; without the packages it was installed from.

    Raises HarnessError, with what Docker said, if it is not imported.
    """
    arguments = ["tar", "--directory", str(root), "--exclude=./var/cache/apt/archives/*.deb", "--numeric-owner"]
    with tempfile.TemporaryFile() as archive, saying(echo, f"importing Debian {name}"):
        packed = subprocess.run(
            [*arguments, "-c", "."], stdout=archive, stderr=subprocess.PIPE, text=True, check=False, timeout=LIMIT_S
        )
        if packed.returncode:
            complaint = " ".join(packed.stderr.split())[:300]
            raise HarnessError(f"the base image could not be packed in {tempfile.gettempdir()}: {complaint}")
        archive.seek(0)
        limit, client.api.timeout = client.api.timeout, LIMIT_S
        changes = [f'LABEL {key}="{value}"' for key, value in labels(made).items()]
        try:
            answer = str(client.api.import_image(archive, repository=base_repository(), tag=name, changes=changes))
        except (DockerException, OSError) as error:
            answer = f"error: {error_text(error)}"
        finally:
            client.api.timeout = limit
    if "error" in answer.lower():
        raise HarnessError(f"Docker did not import the base image: {' '.join(answer.split())[:300]}")
