"""The generated parts of docs/audit.md: its examples, and the table of the formats that are read.

    python -m app.audit_page

writes them anew; `make docs` and `make audit-matrix` call it, and tests hold the page to it. An example is a command
and its output, with the matrix as it is committed.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import Final

from audit.readers import registry

PAGE: Final = Path("docs/audit.md")
EXAMPLE: Final = re.compile(r"^```console\n\$ kafka-chaos (audit [^\n]*)\n.*?^```$", re.DOTALL | re.MULTILINE)
FORMATS: Final = re.compile(r"(?<=^<!-- formats -->\n)\|.*?(?=^<!-- end of formats -->$)", re.DOTALL | re.MULTILINE)
COLUMNS: Final = 100


def said(command: str) -> str:
    """What a command of `kafka-chaos` says, on standard output and then on standard error."""
    from app import audit, options

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        audit.run(options.parser().parse_args(shlex.split(command)), columns=COLUMNS)
    return out.getvalue() + err.getvalue()


def renewed(text: str) -> str:
    """A page with every example run again; paths are relative to the working directory."""
    text = FORMATS.sub(lambda _: registry.table(), text)
    return EXAMPLE.sub(lambda found: f"```console\n$ kafka-chaos {found[1]}\n{said(found[1])}```", text)


def write(page: Path = PAGE) -> None:
    """Write the page anew."""
    page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write()
