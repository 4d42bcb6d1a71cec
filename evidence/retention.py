"""How much of a run may be kept: the values of `--retain`, where evidence/kept.py says what each leaves.

They stand alone, so that the command line can name them without loading what reads runs.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

Retain = Literal["all", "interesting", "verdicts"]
RETAIN: Final[tuple[Retain, ...]] = get_args(Retain)
