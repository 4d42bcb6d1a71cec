"""What runs leave behind, and its removal: registered first, started in the background, waited for by all.

A run's containers are removed while its analysis is already at work. Code that reports the removal, or that ends the
program for any reason, waits for it first (`Removals.wait`). An interpreter that ends starts no more threads, and a
removal caught by that would leave the cluster running behind a message that it is gone.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from evidence.errors import HarnessError, UsageError
from evidence.run import RunRecord
from evidence.rundir import RunDir
from harness.cluster import docker
from harness.cluster.disks import IMAGES, data_with_disks, loops_below, release
from harness.cluster.namespace import namespace
from harness.cluster.ownership import fate

if TYPE_CHECKING:
    from docker import DockerClient


class Removals:
    """The removals that are to be done, by the name of the run."""

    def __init__(self) -> None:
        self._threads: dict[str, threading.Thread] = {}
        self._done: dict[str, threading.Event] = {}
        self._trouble: list[str] = []

    def register(self, name: str, action: Callable[[], None]) -> None:
        """From now on `wait` does not return before `action` has been done."""
        done = threading.Event()

        def guarded() -> None:
            try:
                action()
            except Exception as error:
                self._trouble.append(f"{name}: {error}")
            finally:
                done.set()

        self._done[name] = done
        self._threads[name] = threading.Thread(target=guarded, name=f"removal of {name}")

    def start(self, name: str) -> None:
        """Start what is registered for this run, if anything is and it has not been started."""
        thread = self._threads.get(name)
        if thread is not None and thread.ident is None:
            thread.start()

    def wait(self) -> None:
        """Start everything that is registered and wait until it is done, Ctrl-C or not.

        Raises HarnessError naming what would not go.
        """
        try:
            self._finish()
        finally:
            # Ctrl-C ends a wait; only when the removal has ended too may anybody say that it has.
            self._finish()
        if self._trouble:
            raise HarnessError(f"{self._trouble[0]}; `kafka-chaos clean` tries again")

    def _finish(self) -> None:
        for name in list(self._threads):
            self.start(name)
        # Not `Thread.join`: interrupted by a signal, Python 3.11's takes the thread for ended from then on.
        for done in self._done.values():
            done.wait()


def abandoned_data(
    pattern: str, root: Path, *, owned_too: bool = False, left_alone: Callable[[str], None] = lambda _: None
) -> Iterator[RunDir]:
    """The run directories of this namespace under `root` that still hold live data (`pattern` finds it) and whose owner
    runs no more.

    `owned_too` takes those of living owners as well; `left_alone` hears of what cannot be read as a run directory, and
    of owners that cannot be judged from here.
    """
    for path in sorted(root.glob(pattern)):
        run_dir = RunDir(path.parent)
        try:
            run = run_dir.read_run()
        except UsageError as error:
            left_alone(str(error))
            continue
        if not _of_this_namespace(run):
            continue
        became = fate(run.owner)
        if owned_too or became.state == "dead":
            yield run_dir
        elif became.state == "unknown":
            left_alone(f"{run_dir.data}: {became.why}")


def abandoned_disks(
    devices: Path = Path("/sys/block"), *, left_alone: Callable[[str], None] = lambda _: None
) -> Iterator[RunDir]:
    """The run directories of a namespace, wherever they lie, whose disks are attached to this machine still and whose
    owner runs no more. The machine has its loop devices until somebody detaches them, and the next command may have
    other run directories to look at. `left_alone` hears of those that nobody speaks for: their run.json was removed.
    """
    for data in data_with_disks(devices):
        run_dir = RunDir(data.parent)
        if data != run_dir.data:
            continue
        try:
            run = run_dir.read_run()
        except UsageError:
            loops = sorted(loops_below(data, devices))
            left_alone(
                f"{', '.join(loops)}: attached to {data / IMAGES}, where no run.json says whose they are; "
                f"if they are yours: umount {data}/*; losetup --detach {' '.join(loops)}"
            )
            continue
        if _of_this_namespace(run) and fate(run.owner).state == "dead":
            yield run_dir


def _of_this_namespace(run: RunRecord) -> bool:
    """Whether a run is of this namespace, by its run.json."""
    return run.namespace == namespace()


def remove_data(client: DockerClient, run_dir: RunDir) -> str | None:
    """Unmount and remove a run's live data; None if it is gone, or why it is not. A symbolic link is not followed and
    stays.
    """
    if run_dir.data.is_symlink():
        return f"{run_dir.data} is a symbolic link to {run_dir.data.readlink()}, which is not ours to empty"
    try:
        release(client, run_dir.data)
    except (HarnessError, UsageError) as error:
        return str(error)
    refusals: list[str] = []

    def note(_function: object, path: str, error: BaseException | tuple[object, ...]) -> None:
        cause = error[1] if isinstance(error, tuple) else error
        if not isinstance(cause, FileNotFoundError):
            refusals.append(f"{path}: {cause}")

    shutil.rmtree(run_dir.data, onerror=note)
    return refusals[0] if refusals else None


def clean(
    client: DockerClient, root: Path, *, owned_too: bool, tell: Callable[[str], None], left_alone: Callable[[str], None]
) -> None:
    """Remove what killed runs left on the engine, in the run directories below `root` and, as mounted file systems, in
    those anywhere; `tell` what that was.

    `owned_too` takes what living owners have as well, and what was started by hand; `left_alone` hears of what stays.
    Raises HarnessError, when all else is removed, for what the engine would not remove: in Docker 20.10 a network may
    keep an endpoint of a container that is gone until the engine is started anew.
    """
    leftovers = docker.find_ours(client, only_abandoned=not owned_too)
    refused: HarnessError | None = None
    try:
        removed = docker.remove(leftovers, left_alone)
    except HarnessError as error:
        refused, removed = error, len(leftovers)
    counts = {"containers": leftovers.containers, "networks": leftovers.networks, "volumes": leftovers.volumes}
    tell(
        ("removed " if refused is None else "found ")
        + ", ".join(f"{len(things)} {kind}" for kind, things in counts.items())
    )
    for why in leftovers.left_alone:
        left_alone(f"{why}; `kafka-chaos clean --all` removes it")
    here = list(abandoned_data("**/data", root, owned_too=owned_too, left_alone=left_alone))
    for run_dir in chain(here, abandoned_disks(left_alone=left_alone)):
        left = remove_data(client, run_dir)
        if left is None:
            removed += 1
            tell(f"removed the live data of {run_dir.path}")
        else:
            left_alone(left)
    for tag in docker.remove_mutants(client):
        removed += 1
        tell(f"removed the image {tag}, of brokers that were changed on purpose")
    if refused is not None:
        raise refused
    if not removed:
        tell("nothing of ours was left behind")
