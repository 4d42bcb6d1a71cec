"""The table of the kinds of faults in docs/writing-a-fault.md, made from their types.

    python -m pages.faults

writes it anew (`make docs` does), and a test holds the page to it. What counts as proof is the docstring of the type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from evidence.faults import KINDS
from evidence.faults.base import FaultProof

PAGE: Final = Path("docs/writing-a-fault.md")
TABLE: Final = re.compile(r"(?<=^<!-- kinds -->\n)\|.*?(?=^<!-- end of kinds -->$)", re.DOTALL | re.MULTILINE)


def table(kinds: Mapping[str, type[FaultProof]] = KINDS) -> str:
    """A row for each kind of fault: its name, how long it lasts, what counts as its proof."""
    rows = [f"| {kind} | {one.lasts.value} | {_in_one_line(one)} |" for kind, one in kinds.items()]
    return "\n".join(["| kind | lasts | what counts as proof |", "|---|---|---|", *rows]) + "\n"


def _in_one_line(proof_type: type[FaultProof]) -> str:
    return " ".join((proof_type.__doc__ or "").split()).removesuffix(".")


def renewed(text: str) -> str:
    """The page with its table as the types have it."""
    return TABLE.sub(lambda _: table(), text)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
