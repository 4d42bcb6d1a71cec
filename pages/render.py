"""The pages of docs/ from their templates (pages/templates/*.md.j2): Markdown, so that nothing is escaped by itself.

A template has the sentences and the layout; what stands in a cell is made in Python, where it can be tested alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from evidence.basis import in_words
from evidence.text import markdown
from pages.links import linked

TEMPLATES: Final = Path(__file__).parent / "templates"


@cache
def _environment() -> Environment:
    """The templates' environment, made once: 130 pages of scenarios compile their template once."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "escaped": markdown,
        "row": row,
        "rule": rule,
        "names": names,
        "of_basis": in_words,
        "clipped": clipped,
    }
    return environment


def render(template: str, **values: Any) -> str:
    """A page, by its name in docs/ (`museum.md`), with one newline at its end, whose JIRAs and KIPs are links."""
    return linked(_environment().get_template(f"{template}.j2").render(**values).rstrip("\n") + "\n")


LONGEST_STEP: Final = 300


def clipped(text: str) -> str:
    """The beginning of a long text, up to a word.

    >>> clipped("x " * 200)[-4:], clipped("short")
    ('x x…', 'short')
    """
    return text if len(text) <= LONGEST_STEP else f"{text[:LONGEST_STEP].rpartition(' ')[0]}…"


def row(cells: Iterable[str]) -> str:
    """A line of a table.

    >>> row(["a", "b"]), row(["a", ""])
    ('| a | b |', '| a |  |')
    """
    return f"| {' | '.join(cells)} |"


def rule(columns: Sequence[str]) -> str:
    """The line below the headings of a table.

    >>> rule(["a", "b"])
    '|---|---|'
    """
    return "|" + "---|" * len(columns)


def names(words: Iterable[str]) -> str:
    """Words as code, in a row.

    >>> names(["a", "b"])
    '`a`, `b`'
    """
    return ", ".join(f"`{word}`" for word in words)
