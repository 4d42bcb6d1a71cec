"""A file system of its own for each node: an image file on a loop device, mounted where the node's data lies.

Only clusters that ask for it get it (`ClusterPlan.disks`). What a file system promises, and what it forgets when the
power goes, can be shown on nothing less: a directory of this machine's own disk cannot lose power alone.

Mounting takes rights that this process may not have, and often only the engine's socket is there. So it is done by a
container of ours (`DiskMounter`), made from an image that is there anyway, with the two capabilities that it takes and
no device but loops. It makes the file system with mkfs of the image or of this machine, attaches the loop device, and
mounts it in the mount namespace of this process. It finds this process by its id and knows it by its namespace. That
this process sees the mount is asked each time, and once that the engine does too, by a container which looks. With an
engine on another machine, in another mount namespace or without rights of its own (rootless) that is not so, and then
there is no such cluster; nothing weaker takes its place.

The loop device is attached apart from the mount, and known by its backing file (/sys/block/loop*/loop). A mount that is
still held somewhere (the mount namespace of a container that is being torn down) keeps the old file system alive
behind an `umount` that succeeded, and to mount its device again would bring that one back, shut down as it is. So
`unmount` returns only when the device is detached, which is when nobody has it any more.

Whatever lies below a run's data directory is that run's: `release` unmounts all of it and nothing else. It is called
before live data is removed, and so by the next run and by `kafka-chaos clean` after a harness that was killed.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evidence.errors import HarnessError, UsageError
from harness.cluster.docker import KAFKA_LABEL, LABEL, OWNER_LABEL, owner, printed
from harness.cluster.namespace import namespace
from harness.plan import FILE_SYSTEMS

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

    from harness.plan import Disks

IMAGES: Final = "disks"
"""The directory of the image files, beside the nodes' own."""
SYNCED: Final = ".kafka-chaos-synced"
"""A file on each disk that was flushed when the disk was made: no power loss may take it."""
CONTENT: Final = b"kafka-chaos" * 372
"""Of our own files: less than a block."""
NO_DISKS: Final = "there can be no file system of its own for each node here"
GONE: Final = re.compile("not mounted|No such device")
"""What umount and losetup say of what is done already."""
LIMIT_S: Final = 60.0
POLL_S: Final = 0.05
SETTINGS: Final = (
    "dirty_background_bytes",
    "dirty_background_ratio",
    "dirty_bytes",
    "dirty_expire_centisecs",
    "dirty_ratio",
    "dirty_writeback_centisecs",
)
"""Of /proc/sys/vm: by what the kernel writes back. Put on record, never changed."""
SCANNED: Final = re.compile(r"^pgscan_(?:kswapd|direct) (\d+)$", re.MULTILINE)

PRELUDE: Final = """
root=/proc/$PROCESS/root
there() { nsenter --mount=/proc/$PROCESS/ns/mnt -- "$@"; }
"""
"""Of every script: where the files of this machine are as this process sees them, and running a command there."""
SAME: Final = '[ "$(stat --dereference --format %i /proc/$PROCESS/ns/mnt)" = "$1" ]'
MAKE: Final = 'place=$1; shift; if command -v "$1" >/dev/null; then "$@" "$root$place"; else there "$@" "$place"; fi'
MAKER: Final = {
    "ext4": ("mkfs.ext4", "-q", "-F", "-m", "0", "-N", "16384", "-E", "nodiscard"),
    "xfs": ("mkfs.xfs", "-q", "-f", "-K"),
}
"""Of the image, or else of this machine: not every base of Debian has e2fsprogs, and none has xfsprogs."""
MAKERS_PACKAGE: Final = {"ext4": "e2fsprogs", "xfs": "xfsprogs"}
PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Of root, as which they are run: this program's own may lack the folders of system programs."""
HAS: Final = 'command -v "$1" >/dev/null'
ATTACH: Final = 'there losetup -f "$1"'
DETACH: Final = 'there losetup -d "$1"'
"""There: losetup opens the path that it has resolved itself, which in the container is none or another file. Nor does
the container get /dev: a bind mount of it would hold whatever is mounted below, in /dev/shm."""
MOUNT: Final = 'there mount -t "$1" "$2" "$3" && chown "$4" "$root$3"'
UNMOUNT: Final = 'there umount "$1"'
ON_ERRORS: Final = 'there mount -o remount,errors=remount-ro "$1"'
MEET_ERROR: Final = """there sh -c 'echo kafka-chaos >"/sys/fs/ext4/$0/trigger_fs_error"' "$1" """
"""The kernel's own way to try what it does on an error."""
SHUT_DOWN: Final = """
for place do set -- "$@" "$root$place"; shift; done
exec perl -e '
for (@ARGV) {
    open(my $place, "<", $_) or die "$_: $!\\n";
    my $flags = pack("L", 2);
    defined ioctl($place, 0x8004587d, $flags) or die "$_: $!\\n";
}' "$@"
"""
"""EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN, which have one number, with NOLOGFLUSH: from then on the file system writes
nothing, not even its journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """One node's file system: its image and where it is mounted."""

    node: str
    file_system: str
    image: Path
    mount: Path


def mounted_below(place: Path, mountinfo: Iterable[str] | None = None) -> list[Path]:
    """The mount points at and below a directory, the innermost first, as this process sees them.

    >>> mounted_below(Path("/r"), ["36 35 7:0 / /r/a rw - ext4 /dev/loop0 rw", "37 35 7:1 / /rest rw - xfs /dev/loop1"])
    [PosixPath('/r/a')]
    """
    lines = Path("/proc/self/mountinfo").read_text().splitlines() if mountinfo is None else mountinfo
    places = [Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), line.split()[4])) for line in lines]
    return sorted((each for each in places if each.is_relative_to(place)), reverse=True)


def loops_below(place: Path, devices: Path = Path("/sys/block")) -> dict[str, Path]:
    """The loop devices whose backing files lie below a directory, by their paths in /dev."""
    found = {}
    for file in devices.glob("loop*/loop/backing_file"):
        with suppress(OSError):  # detached meanwhile
            image = Path(file.read_text().strip().removesuffix(" (deleted)"))
            if image.is_relative_to(place):
                found[f"/dev/{file.parts[-3]}"] = image
    return found


def data_with_disks(devices: Path = Path("/sys/block")) -> list[Path]:
    """The directories of live data, of any run, that have images of disks attached to this machine."""
    images = loops_below(Path("/"), devices).values()
    return sorted({image.parent.parent for image in images if image.parent.name == IMAGES})


def holders(devices: Iterable[str], processes: Path = Path("/proc")) -> list[str]:
    """A few of the processes that have these devices mounted in their mount namespaces, as far as this one may look."""
    names, found = set(devices), []
    for file in processes.glob("[0-9]*/mountinfo"):
        with suppress(OSError):  # it has ended, or is not ours to look at
            if any(line.partition(" - ")[2].split()[1] in names for line in file.read_text().splitlines()):
                found.append(f"process {file.parent.name} ({(file.parent / 'comm').read_text().strip()})")
    return found[:3]


def loop_of(disk: Disk) -> str:
    """The loop device of a disk; HarnessError if it has none."""
    found = next((device for device, image in loops_below(disk.image.parent).items() if image == disk.image), None)
    if found is None:
        raise HarnessError(f"{disk.node}: no loop device has {disk.image}")
    return found


def writeback() -> dict[str, int]:
    """The kernel's writeback settings, dirty memory (KiB), and the pages scanned for reclaim since boot.

    While `pages_scanned` grows, the kernel may write back a page however young it is.
    """
    found = {"pages_scanned": sum(map(int, SCANNED.findall(Path("/proc/vmstat").read_text())))}
    for name in SETTINGS:
        with suppress(OSError, ValueError):
            found[name] = int(Path("/proc/sys/vm", name).read_text())
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, amount = line.partition(":")
        if name in ("Dirty", "Writeback"):
            found[f"{name.lower()}_kib"] = int(amount.split()[0])
    return found


class DiskMounter:
    """A container that may mount file systems where this process sees them, and does nothing of itself."""

    def __init__(self, client: DockerClient, image: str) -> None:
        """Start it. UsageError if the engine gives no such rights."""
        from docker.errors import APIError, DockerException, NotFound

        self._client, self._image = client, image
        try:
            self._container: Container = client.containers.create(
                image,
                ["-c", "exec sleep infinity"],
                entrypoint="bash",
                # Not `privileged`: an engine that lacks any capability at all refuses that.
                cap_add=["SYS_ADMIN", "SYS_PTRACE"],
                device_cgroup_rules=["b 7:* rwm", "c 10:237 rwm"],
                security_opt=["apparmor=unconfined", "label=disable"],
                pid_mode="host",
                network_mode="none",
                user="0",
                environment={"PROCESS": str(os.getpid())},
                # Not the run's label: the events of its nodes are evidence, and this is none of them.
                labels={LABEL: namespace(), OWNER_LABEL: owner()},
            )
            try:
                self._container.start()
            except APIError:
                # A rootless engine makes it and cannot start it; removed here, because nobody else knows of it.
                with suppress(NotFound):
                    self._container.remove(force=True, v=True)
                raise
        except (APIError, DockerException) as error:
            said = " ".join(str(getattr(error, "explanation", None) or error).split())[:200]
            raise UsageError(f"{NO_DISKS}: the engine gives no container the rights to mount them ({said})") from None
        try:
            self.run(SAME, Path("/proc/self/ns/mnt").stat().st_ino)
        except HarnessError:
            self.close()
            raise UsageError(f"{NO_DISKS}: the engine does not run beside this process, in its namespaces") from None

    def run(self, script: str, *arguments: object) -> str:
        """Run a shell script with arguments as root; what it printed, HarnessError if it fails."""
        command = ["sh", "-c", PRELUDE + script, "mounter", *map(str, arguments)]
        status, output = self._container.exec_run(command, user="0")
        said = (output if isinstance(output, bytes) else b"".join(output)).decode(errors="replace")
        if status != 0:
            raise HarnessError(f"{' '.join(said.split())[:300] or script} (status {status})")
        return said

    def make(self, disk: Disk, size_bytes: int) -> None:
        """Make the image and its file system, of so many bytes, sparse; mount it, and flush a file to it."""
        disk.image.parent.mkdir(parents=True, exist_ok=True)
        disk.mount.mkdir(parents=True, exist_ok=True)
        with disk.image.open("wb") as file:
            file.truncate(size_bytes)
        self.run(MAKE, disk.image, *MAKER[disk.file_system])
        self.mount(disk)
        write(disk.mount / SYNCED, flush=True)

    def mount(self, disk: Disk) -> None:
        """Attach and mount it. HarnessError if that fails, or if this process does not see it."""
        self.run(ATTACH, disk.image)
        self.run(MOUNT, disk.file_system, loop_of(disk), disk.mount, f"{os.getuid()}:{os.getgid()}")
        if disk.mount not in mounted_below(disk.mount):
            raise HarnessError(f"{disk.mount}: mounted by the engine, and not seen here: it is in another namespace")

    def unmount(self, disk: Disk) -> None:
        """Unmount it and wait until nobody has it any more; HarnessError if that is not within the limit."""
        self._unmount([disk.mount], lambda: loops_below(disk.image.parent), {disk.image})

    def make_read_only(self, disk: Disk) -> None:
        """Have the kernel make it read-only, as it does when it meets an error in a file system that is mounted so
        (ext4, errors=remount-ro), whoever has files open. UsageError for any other file system.
        """
        if disk.file_system != "ext4":
            raise UsageError(f"{disk.node}: {disk.file_system} is never made read-only by the kernel; ext4 is")
        self.run(ON_ERRORS, disk.mount)
        self.run(MEET_ERROR, Path(loop_of(disk)).name)

    def require_engine_sees(self, disk: Disk) -> None:
        """HarnessError unless the engine gives its containers this disk, and not the directory beneath it."""
        look, bound = ["-c", f"test -s /disk/{SYNCED}"], {str(disk.mount): {"bind": "/disk", "mode": "ro"}}
        try:
            printed(self._client, self._image, look, entrypoint="bash", volumes=bound, network_mode="none", user="0")
        except HarnessError:
            raise HarnessError(
                "the engine does not see what this process mounts: one of them is in a mount namespace of its own"
            ) from None

    def require_mounted(self, disk: Disk) -> None:
        """HarnessError unless it is mounted: a node that is started without finds the empty directory beneath."""
        if disk.mount not in mounted_below(disk.mount):
            raise HarnessError(f"{disk.node}: its disk is not mounted, so it is not started")

    def shut_down(self, disks: Iterable[Disk]) -> None:
        """Have these file systems write nothing any more, one right after the other."""
        self.run(SHUT_DOWN, *(disk.mount for disk in disks))

    def release(self, place: Path) -> None:
        """Unmount and detach whatever lies below a directory."""
        attached = loops_below(place)
        self._unmount(mounted_below(place), lambda: loops_below(place), set(attached.values()))

    def _unmount(self, mounts: Iterable[Path], attached: Callable[[], Mapping[str, Path]], images: set[Path]) -> None:
        deadline = time.monotonic() + LIMIT_S
        for mount in mounts:
            self._retry_while_busy(UNMOUNT, mount, deadline)
        for device, image in attached().items():
            if image in images:
                self._retry_while_busy(DETACH, device, deadline)
        while left := images & set(attached().values()):
            if time.monotonic() > deadline:
                by = ", ".join(holders(device for device, image in attached().items() if image in left))
                raise HarnessError(
                    f"still attached {LIMIT_S:.0f} s after it was unmounted: {', '.join(map(str, sorted(left)))}; "
                    f"in the mount namespace of {by or 'nobody who is seen from here'}"
                )
            time.sleep(POLL_S)

    def _retry_while_busy(self, script: str, what: object, deadline: float) -> None:
        """Try until it works: what is busy now, by a container that goes or a reader of ours, is not for long."""
        while True:
            try:
                self.run(script, what)
            except HarnessError as error:
                if GONE.search(str(error)):
                    return
                if time.monotonic() > deadline:
                    raise
                time.sleep(POLL_S)
            else:
                return

    def close(self) -> None:
        """Remove the container; what it mounted stays."""
        from docker.errors import NotFound

        with suppress(NotFound):
            self._container.remove(force=True, v=True)


def write(path: Path, *, flush: bool) -> None:
    """Write a file of ours, and flush it and its name to the disk, or leave it in the page cache."""
    with path.open("wb", buffering=0) as file:
        file.write(CONTENT)
        if flush:
            os.fsync(file.fileno())
    if flush:
        flush_file(path.parent)


def flush(place: Path) -> None:
    """Have the file system of a directory write all that it has in memory (syncfs); OSError if it does not."""
    handle = os.open(place, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(handle):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(place))
    finally:
        os.close(handle)


def flush_file(path: Path) -> None:
    """Have a file, or a directory, written to its disk (fsync); raises OSError if it is not."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_disks(mounter: DiskMounter, plan: Disks, data: Path, nodes: Sequence[str], below: str = "") -> dict[str, Disk]:
    """Make the disk of each node whose data lies in `data/<node>`, all at once; with `below` one that is mounted at
    that directory of the node's first disk.
    """
    kind, suffix = plan.file_system, f"-{below}" if below else ""
    made = [
        Disk(node=n, file_system=kind, image=data / IMAGES / f"{n}{suffix}.{kind}", mount=data / n / below)
        for n in nodes
    ]
    try:
        with ThreadPoolExecutor(max_workers=len(made)) as pool:
            list(pool.map(lambda disk: mounter.make(disk, plan.size_bytes), made))
        mounter.require_engine_sees(made[0])
    except HarnessError as error:
        raise UsageError(f"{NO_DISKS}: {error}") from None
    return {disk.node: disk for disk in made}


def require_maker(client: DockerClient, image: str, file_system: str) -> None:
    """Require that file systems of this kind can be made. Raises UsageError if neither the image nor this machine has
    the program.
    """
    program = MAKER[file_system][0]
    if shutil.which(program, path=PATH) is not None:
        return
    with closing(DiskMounter(client, image)) as mounter:
        try:
            mounter.run(HAS, program)
        except HarnessError:
            package = MAKERS_PACKAGE[file_system]
            raise UsageError(f"{NO_DISKS}: this machine has no {program}; install {package}") from None


def require_disks(client: DockerClient, image: str, file_system: str, root: Path) -> None:
    """Require that a disk can be made and mounted below a directory, by a small one. Raises UsageError if it cannot."""
    try:
        probe(client, image, file_system, root)
    except HarnessError as error:
        raise UsageError(f"{NO_DISKS}: {error}") from None


def release(client: DockerClient, place: Path) -> None:
    """Unmount and detach what lies below a directory, if anything does; HarnessError if that cannot be."""
    place = place.resolve()
    if not mounted_below(place) and not loops_below(place):
        return
    images = client.images.list(filters={"label": f"{LABEL}={namespace()}"})
    tag = next((tag for image in images if image.labels.get(KAFKA_LABEL) for tag in image.tags), None)
    if tag is None:
        raise HarnessError(
            f"{place}: file systems are mounted there, and no image of ours is left to unmount them with"
        )
    with closing(DiskMounter(client, tag)) as mounter:
        mounter.release(place)


def probe(client: DockerClient, image: str, file_system: str, root: Path | None = None) -> None:
    """Make, mount and remove a small file system; UsageError or HarnessError with the reason if that cannot be had."""
    from msgspec import structs  # `make demo` imports this module before all packages are installed

    from evidence.run import blank
    from evidence.rundir import RunDir

    with (
        closing(DiskMounter(client, image)) as mounter,
        tempfile.TemporaryDirectory(prefix="kafka-chaos-", dir=root) as scratch,
    ):
        # Laid out as a run's directory is: `clean` finds what is still mounted below it if this process is killed.
        place = RunDir(Path(scratch).resolve())
        trial = structs.replace(blank("doctor", "none"), namespace=namespace(), owner=owner())
        place.write_run(trial)
        disk = Disk(
            node="probe",
            file_system=file_system,
            image=place.data / IMAGES / f"probe.{file_system}",
            mount=place.data / "probe",
        )
        try:
            mounter.make(disk, FILE_SYSTEMS[file_system])
            mounter.require_engine_sees(disk)
        finally:
            mounter.release(place.data)
