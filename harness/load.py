"""How busy this machine is: what the ledger tells of the moments at which a run began and ended."""

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
