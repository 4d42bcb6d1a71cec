"""Where the kernel keeps the limits and counters of a node: the control groups of its container.

With cgroup v1 each controller has a tree of its own (/sys/fs/cgroup/memory/…), with v2 all share one; on a machine
that has both, v2's lies in /sys/fs/cgroup/unified.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

CGROUPS: Final = Path("/sys/fs/cgroup")


def group_of(lines: str, controller: str, root: Path = CGROUPS) -> Path:
    r"""The directory of a process's control group for a controller, from the lines of its /proc/<pid>/cgroup. It need
    not exist: ask for the file that is wanted.

    >>> v1 = "9:blkio:/docker/a\n4:cpu,cpuacct:/docker/b\n0::/"
    >>> [str(group_of(v1, one)) for one in ("blkio", "cpu")]
    ['/sys/fs/cgroup/blkio/docker/a', '/sys/fs/cgroup/cpu/docker/b']
    >>> str(group_of("0::/system.slice/docker-a.scope", "cpu", Path("/new")))
    '/new/system.slice/docker-a.scope'
    """
    groups: dict[str, str] = dict(re.findall(r"^\d+:([^:]*):(.*)$", lines, re.MULTILINE))
    own = next((path for names, path in groups.items() if names and controller in names.split(",")), None)
    if own is not None:
        return root / controller / own.lstrip("/")
    unified = root / "unified" if (root / "unified").is_dir() else root
    return unified / groups.get("", "").lstrip("/")


def counters(text: str) -> dict[str, int]:
    r"""The counters of a file of a control group that has a name and a number in each line.

    >>> counters("nr_periods 12\nnr_throttled 7\n")
    {'nr_periods': 12, 'nr_throttled': 7}
    """
    return {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", text, re.MULTILINE)}
