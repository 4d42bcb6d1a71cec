"""The sections of the catalogue of scenarios: their order, and what introduces each.

A section is a folder of `scenarios/`, and its docstring introduces it. The command line lists sections without the rest
of the pages, which load far more.
"""

from __future__ import annotations

import re
from typing import Final

ORDER: Final = (
    "",
    "truncation",
    "replication",
    "controller",
    "placement",
    "brokers",
    "partition",
    "producer",
    "delivery",
    "durability",
    "upgrade",
    "museum",
)
"""The sections in the order in which they are read; others follow."""


ITEM: Final = re.compile(r"\n(?=- )")
"""Between two items of a list."""


def introduced(docstring: str, section: str) -> tuple[str, list[str]]:
    """The heading of a section and its introduction, from the docstring of its folder: what stands before the first
    colon or, without one, the first line.
    """
    first, *rest = docstring.strip().split("\n\n") if docstring.strip() else [section]
    before, colon, after = " ".join(first.split()).partition(": ")
    text = [f"{after[:1].upper()}{after[1:]}", ""] if colon else []
    return before.rstrip("."), [*text, *paragraphs("\n\n".join(rest))] if rest else text


def paragraphs(text: str) -> list[str]:
    r"""A docstring as paragraphs, each a line, as is each item of a list; what is indented stays as it is.

    >>> paragraphs("A list:\n\n- one\n  more\n- two")
    ['A list:', '', '- one more', '- two', '']
    """
    found: list[str] = []
    for part in text.split("\n\n"):
        items = ITEM.split(part) if part.startswith("- ") else [part]
        found += [item if item.startswith(" ") else " ".join(item.split()) for item in items]
        found.append("")
    return found
