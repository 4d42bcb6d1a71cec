"""What works on this machine and what is missing, before a run finds out the hard way.

Every check looks at the thing itself (a rule is set in a container, a file system is mounted), not at version numbers,
and none of them installs or changes anything that outlives it (an empty cache directory apart). "missing" means that no
cluster can run; "warning" that some scenario cannot, or that something will be made on first use.
"""

from __future__ import annotations

import contextlib
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from docker.errors import DockerException, ImageNotFound, NotFound

from evidence.errors import HarnessError, UsageError
from harness.cluster import disks, versions
from harness.cluster import docker as engine
from harness.cluster.namespace import namespace
from harness.plan import FILE_SYSTEMS
from harness.setup import images, java
from harness.setup.bootstrap import compose_version
from harness.setup.cache import cache_dir

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

Status = Literal["ok", "missing", "warning"]

FREE_BYTES: Final = 5_000_000_000
"""Images of a few releases, and the replicas and histories of a suite."""
NODE_BYTES: Final = 300_000_000
"""Memory of a broker at the heap set for it, with what the JVM takes beside."""
CLUSTER_NODES: Final = 5


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One thing looked at."""

    name: str
    status: Status
    detail: str
    """What was seen."""
    remedy: str = ""
    """What to do about it; empty if it is fine."""


def diagnose() -> list[DoctorCheck]:
    """Check everything that a run needs. What is missing is reported, never raised."""
    checks = [_python(), *_engine_checks(), _compose(), _java(), _memory()]
    return [*checks, _ours(Path("runs"), "runs", "choose another place with --runs-dir"), _cache()]


def _python() -> DoctorCheck:
    return DoctorCheck("Python", "ok", platform.python_version())


def _engine_checks() -> list[DoctorCheck]:
    try:
        client = engine.connect()
    except UsageError as error:
        return [DoctorCheck("Docker engine", "missing", str(error), "make setup, as root on Debian")]
    try:
        info: dict[str, Any] = client.info()
        found = [DoctorCheck("Docker engine", "ok", f"{info.get('ServerVersion')} on {info.get('KernelVersion')}")]
        root = Path(str(info.get("DockerRootDir", "")))
        if root.is_dir():
            found.append(_disk(root, "Docker"))
        found.append(_images(client))
        found.extend(_inside(client))
        found.extend(_loop_mounts(client))
        return found
    except (DockerException, OSError) as error:
        return [DoctorCheck("Docker engine", "missing", str(error)[:200], "look at the engine's log")]
    finally:
        client.close()


def _compose() -> DoctorCheck:
    version = compose_version()
    if version is None:
        return DoctorCheck("docker compose", "missing", "no version 2", "make setup, or install it")
    return DoctorCheck("docker compose", "ok", version)


def _java() -> DoctorCheck:
    try:
        found = java.find_java()
    except UsageError as error:
        return DoctorCheck("Java", "missing", str(error), "make setup")
    return DoctorCheck("Java", "ok", f"{java.major_version(found)} at {found}")


def _images(client: DockerClient) -> DoctorCheck:
    sizes = images.sizes(client)
    by_release = {version.kafka: version for version in versions.ALL}
    ready = [kafka for kafka, version in by_release.items() if kafka in sizes and images.present(client, version.build)]
    absent = [kafka for kafka in by_release if kafka not in ready]
    others = [kafka for kafka in sizes if kafka not in by_release]

    def listed(releases: Iterable[str]) -> str:
        return ", ".join(f"{kafka} ({sizes[kafka] / 1e6:.0f} MB)" for kafka in releases) or "none"

    detail = f"ready: {listed(ready)}" + (f"; beside the matrix: {listed(others)}" if others else "")
    if not absent:
        return DoctorCheck("images", "ok", detail)
    return DoctorCheck(
        "images",
        "warning",
        f"{detail}; not built: {', '.join(absent)}",
        "built on first use, or all at once by kafka-chaos setup --versions all",
    )


PROBES: Final = {
    "iptables": "iptables -N CHAOS && iptables -A CHAOS -s 192.0.2.1 -j DROP && iptables -S CHAOS | grep -q 192.0.2.1",
    "tcp-reset": "iptables -A INPUT -p tcp -s 192.0.2.1 -j REJECT --reject-with tcp-reset",
    "statistic": "iptables -A INPUT -s 192.0.2.1 -m statistic --mode random --probability 0.5 -j DROP",
    "nfqueue": "iptables -A OUTPUT -p tcp -d 192.0.2.1 -j NFQUEUE --queue-num 0",
    "htb": "tc qdisc add dev lo root handle 1: htb && tc class add dev lo parent 1: classid 1:1 htb rate 1mbit && "
    "tc filter add dev lo parent 1: protocol ip u32 match ip dst 192.0.2.1/32 flowid 1:1 && tc qdisc del dev lo root",
    "netem": "tc qdisc add dev lo root netem delay 10ms && tc qdisc del dev lo root",
}
"""Commands for a container that may do what a node may do; each leaves no trace but in that container."""

PROBE_NEEDS: Final[dict[str, tuple[Status, str]]] = {
    "iptables": ("missing", "network cuts need it: load the kernel's iptables modules, or use another engine"),
    "tcp-reset": ("warning", "cuts that refuse instead of dropping need it"),
    "statistic": ("warning", "lost packets need the kernel module xt_statistic"),
    "nfqueue": ("warning", "answers that are held back need the kernel module xt_NFQUEUE"),
    "htb": ("warning", "slow links need the kernel modules sch_htb and cls_u32"),
    "netem": ("warning", "delays in the kernel need the module sch_netem; nothing in the default suite does"),
}


def _inside(client: DockerClient) -> list[DoctorCheck]:
    """What a container with a node's rights can do, and whether it can be frozen."""
    tag = next((version.image for version in versions.ALL if images.present(client, version.build)), None)
    if tag is None:
        return [
            DoctorCheck(
                "containers", "warning", "no image yet to look inside a container with", "make setup, then look again"
            )
        ]
    container: Container | None = None
    try:
        container = client.containers.run(
            tag,
            ["-c", "sleep 120"],
            entrypoint="bash",
            detach=True,
            cap_add=["NET_ADMIN"],
            labels={engine.LABEL: namespace(), engine.OWNER_LABEL: engine.owner()},
        )
        checks = []
        for name, command in PROBES.items():
            status, output = container.exec_run(["bash", "-c", command], user="0")
            assert isinstance(output, bytes)
            if status == 0:
                checks.append(DoctorCheck(name, "ok", "works in a container"))
            else:
                severity, remedy = PROBE_NEEDS[name]
                words = " ".join(output.decode(errors="replace").split())[:160]
                checks.append(DoctorCheck(name, severity, words or f"ended with {status}", remedy))
        return [*checks, _freezer(container)]
    except (DockerException, OSError, ImageNotFound) as error:
        return [DoctorCheck("containers", "missing", str(error)[:200], "look at the engine's log")]
    finally:
        if container is not None:
            with contextlib.suppress(NotFound):
                container.remove(force=True, v=True)


def _freezer(container: Any) -> DoctorCheck:
    try:
        container.pause()
        container.reload()
        state = container.status
        container.unpause()
    except DockerException as error:
        return DoctorCheck("freezer", "warning", str(error)[:160], "freezing brokers needs cgroups' freezer")
    return DoctorCheck("freezer", "ok" if state == "paused" else "warning", f"a frozen container is {state}")


def _loop_mounts(client: DockerClient) -> list[DoctorCheck]:
    """Power loss is shown on file systems in loop images, which a container of ours mounts: tried with each kind."""
    tag = next((version.image for version in versions.ALL if images.present(client, version.build)), None)
    checks = []
    for kind in FILE_SYSTEMS if tag is not None else ():
        try:
            disks.probe(client, str(tag), kind)
        except (UsageError, HarnessError) as error:
            remedy = "scenarios that lose power need root's rights through the engine, and loop devices"
            if kind == "xfs":
                remedy += "; for xfs install xfsprogs (no scenario's default needs it)"
            checks.append(DoctorCheck(f"{kind} disks", "warning", str(error)[:160], remedy))
        else:
            checks.append(
                DoctorCheck(f"{kind} disks", "ok", "a file system on a loop device was made, mounted and removed")
            )
    return checks


def _disk(path: Path, what: str, usage: Callable[[Path], Any] = shutil.disk_usage) -> DoctorCheck:
    """The free space under a directory, which this user need not be able to write to (Docker's own)."""
    free = usage(path).free
    detail = f"{free / 1e9:.0f} GB free at {path}"
    if free >= FREE_BYTES:
        return DoctorCheck(f"disk for {what}", "ok", detail)
    status: Status = "missing" if free < FREE_BYTES / 5 else "warning"
    return DoctorCheck(f"disk for {what}", status, detail, f"{FREE_BYTES / 1e9:.0f} GB are comfortable")


def _ours(path: Path, what: str, remedy: str) -> DoctorCheck:
    """The free space under a directory, after a test that it can be written to; `path` need not exist yet."""
    place = next(place for place in (path, *path.absolute().parents) if place.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=place, prefix=".kafka-chaos-") as file:
            file.write(b"x")
            file.flush()
        return _disk(place, what)
    except OSError as error:
        detail = f"{place} cannot be written: {error.strerror}"
        return DoctorCheck(f"disk for {what}", "missing", detail, remedy)


def _cache() -> DoctorCheck:
    remedy = "set KAFKA_CHAOS_CACHE"
    try:
        cache = cache_dir()
        # A set-up by another user (root with this user's HOME) may own a part of it.
        parts = [cache, *sorted(part for part in cache.iterdir() if part.is_dir())]
    except (UsageError, OSError) as error:
        return DoctorCheck("disk for the cache", "missing", str(error), remedy)
    checks = [_ours(part, "the cache", remedy) for part in parts]
    return next((check for check in checks if check.status == "missing"), checks[0])


def available_memory(meminfo: str) -> int | None:
    """MemAvailable of /proc/meminfo, in bytes."""
    for line in meminfo.splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _memory() -> DoctorCheck:
    try:
        free = available_memory(Path("/proc/meminfo").read_text())
    except OSError:
        free = None
    if free is None:
        return DoctorCheck("memory", "warning", "unknown: /proc/meminfo does not say")
    needed = NODE_BYTES * CLUSTER_NODES + 1_500_000_000
    detail = f"{free / 1e9:.1f} GB available; a cluster and Spark take about {needed / 1e9:.1f} GB"
    if free >= needed:
        return DoctorCheck("memory", "ok", detail)
    return DoctorCheck("memory", "warning", detail, "run one cluster at a time (--jobs 1)")
