"""The table of the ledger's lines in docs/ledger.md, made from their types.

    python -m pages.ledger

writes it anew (`make docs` does), and a test holds the page to it. What a field means is the text below it.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, get_args

from msgspec import Struct

from evidence import ledger
from evidence.ledger import AnyLine, ClaimLine, Counts, LedgerLine, Load, Throughout

PAGE: Final = Path("docs/ledger.md")
TABLE: Final = re.compile(r"(?<=^<!-- lines -->\n)\n.*?(?=^<!-- end of lines -->$)", re.DOTALL | re.MULTILINE)


def tables() -> str:
    """A table of each kind of line, and of the parts that some have."""
    source = ast.parse(inspect.getsource(ledger))
    classes = {node.name: node for node in source.body if isinstance(node, ast.ClassDef)}
    kinds: list[type[Struct]] = [LedgerLine, *get_args(AnyLine), Load, Throughout, ClaimLine, Counts]
    return "\n" + "\n".join(_table(one, classes[one.__name__]) for one in kinds) + "\n"


def _table(kind: type[Struct], node: ast.ClassDef) -> str:
    tag = kind.__struct_config__.tag
    heading = (
        "all lines" if kind is LedgerLine else f"`{tag}`" if issubclass(kind, LedgerLine) else f"`{kind.__name__}`"
    )
    about = " ".join((inspect.getdoc(kind) or "").split())
    rows = [f"| `{name}` | `{type_}` | {meaning} |" for name, type_, meaning in _fields(node)]
    return "\n".join([f"### {heading}", "", about, "", "| field | type | |", "|---|---|---|", *rows, ""])


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Name, type and meaning of each field: the string that stands below it."""
    for at, entry in enumerate(node.body):
        if isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name) and entry.target.id != "ORDER":
            below = node.body[at + 1] if at + 1 < len(node.body) else None
            told = ""
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                told = " ".join(str(below.value.value).split())
            yield entry.target.id, ast.unparse(entry.annotation).replace(" | ", " or "), told.replace("|", "or")


def renewed(text: str) -> str:
    """The page with its tables as the types have them."""
    return TABLE.sub(lambda _: tables(), text)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
