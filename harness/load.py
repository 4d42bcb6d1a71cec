"""How busy this machine is, as the kernel counts it: its load, and for how long processes waited."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from evidence.ledger import Load

PRESSURE: Final = Path("/proc/pressure")
"""Pressure stall information, where the kernel has it (https://docs.kernel.org/accounting/psi.html)."""
SOME: Final = re.compile(r"^some avg10=([\d.]+)", re.MULTILINE)


def load(pressure: Path = PRESSURE) -> Load:
    """The load at this moment; None for what this machine does not tell."""
    try:
        load_1 = round(os.getloadavg()[0], 2)
    except OSError:
        load_1 = None
    return Load(load_1=load_1, **{kind: stalled(pressure / kind) for kind in ("cpu", "memory", "io")})


def stalled(file: Path) -> float | None:
    """The share of the last ten seconds, in per cent, in which some process waited; None if the file does not say."""
    try:
        found = SOME.search(file.read_text())
    except (OSError, UnicodeError):
        return None
    return float(found[1]) if found else None


def total_us(resource: str, kind: str, pressure: Path = PRESSURE) -> int:
    """For how long since the machine was started some process (`kind` "some"), or every one ("full"), waited for a
    resource ("cpu", "memory", "io"): the total of a line such as "some avg10=0.00 avg60=0.00 avg300=0.00 total=12", in
    microseconds. 0 where the kernel does not count it.
    """
    try:
        lines = (pressure / resource).read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.rpartition("total=")[2]) for line in lines if line.startswith(kind)), 0)


def held_up_us(pressure: Path = PRESSURE) -> int:
    """For how long since the machine was started some process waited for a CPU, or all waited for memory, or for a
    disk, in microseconds. While some process could run and waits for its turn, not all wait for something else.
    """
    return sum(total_us(*one, pressure) for one in (("cpu", "some"), ("memory", "full"), ("io", "full")))
