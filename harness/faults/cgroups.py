"""Where the kernel keeps the limits and counters of a node: the control groups of its container.

With cgroup v1 each controller has a tree of its own (/sys/fs/cgroup/memory/…), with v2 all share one; on a machine
that has both, v2's lies in /sys/fs/cgroup/unified. In a container that has an engine of its own only a part of a tree
may be mounted there, while the kernel names groups from the tree's root.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

CGROUPS: Final = Path("/sys/fs/cgroup")
MOUNTS: Final = Path("/proc/self/mountinfo")


def group_of(lines: str, controller: str, root: Path = CGROUPS, mounts: str | None = None) -> Path:
    r"""The directory of a process's control group for a controller, from the lines of its /proc/<pid>/cgroup. It need
    not exist: ask for the file that is wanted. `mounts` are the lines of /proc/self/mountinfo, read if they are not
    given.

    >>> v1 = "9:blkio:/docker/a\n4:cpu,cpuacct:/docker/b\n0::/"
    >>> [str(group_of(v1, one)) for one in ("blkio", "cpu")]
    ['/sys/fs/cgroup/blkio/docker/a', '/sys/fs/cgroup/cpu/docker/b']
    >>> str(group_of("0::/system.slice/docker-a.scope", "cpu", Path("/new")))
    '/new/system.slice/docker-a.scope'
    >>> part = "35 31 0:32 /docker/outer /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"
    >>> str(group_of("4:cpu:/docker/outer/docker/inner", "cpu", mounts=part))
    '/sys/fs/cgroup/cpu/docker/inner'
    """
    mounts = MOUNTS.read_text() if mounts is None else mounts
    groups: dict[str, str] = dict(re.findall(r"^\d+:([^:]*):(.*)$", lines, re.MULTILINE))
    own = next((path for names, path in groups.items() if names and controller in names.split(",")), None)
    if own is not None:
        return _in_tree(root / controller, own, mounts)
    unified = root / "unified" if (root / "unified").is_dir() else root
    return _in_tree(unified, groups.get("", ""), mounts)


def _in_tree(tree: Path, group: str, mounts: str) -> Path:
    """Where a group lies below the directory at which its tree, or the part of it that holds the group, is mounted."""
    tops = (line.split(" ", 5)[3:5] for line in mounts.splitlines())
    top = Path(next((top for top, place in tops if place == str(tree)), "/"))
    own = Path("/", group)
    return tree / own.relative_to(top if own.is_relative_to(top) else "/")


def counters(text: str) -> dict[str, int]:
    r"""The counters of a file of a control group that has a name and a number in each line.

    >>> counters("nr_periods 12\nnr_throttled 7\n")
    {'nr_periods': 12, 'nr_throttled': 7}
    """
    return {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", text, re.MULTILINE)}
