"""What a program of Laravel's asks its own configuration for: `config('kafka.producer')` is in config/kafka.php.

A file there returns nested arrays. A section's text is found by its names, each in the brackets of the one before.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from audit.readers.text import Text
from audit.readers.walk import text_of

HIGHEST: Final = 8
"""How many directories are looked into for the one that has config/."""
LOOP: Final = re.compile(
    r"\bforeach\s*\(\s*config\(\s*['\"](\w+)\.([\w.]+)['\"]\s*\)\s*as\s*(\$\w+)\s*=>\s*(\$\w+)\s*\)"
    r"\s*\{?\s*\$(?:this->)?(\w+)\s*->\s*set\(\s*\3\s*,\s*(?:\(string\)\s*)?\4\s*\)\s*;"
)
"""A loop that sets all that a section has."""
ASKS: Final = re.compile(r"config\(\s*['\"](\w+)\.([\w.]+)['\"]\s*(?:,\s*([^()]+))?\)")
"""What asks for one value, and perhaps a default."""


def section(source: Text, file: str, names: str) -> tuple[Text, int, int] | None:
    """The file of a program's configuration, and where the array is in it that is below some names; None if nowhere."""
    found = _file(source, file)
    if found is None:
        return None
    start, end = 0, len(found.content)
    for name in names.split("."):
        at = re.compile(rf"['\"]{re.escape(name)}['\"]\s*=>\s*(?:\[|array\()").search(found.content, start, end)
        if at is None:
            return None
        start, end = at.end(), _closing(found.content, at.end(), end)
    return found, start, end


def value(source: Text, expression: str) -> str | None:
    """The expression that stands in a program's configuration for what another asks it for; None if it is not told."""
    asks = ASKS.fullmatch(expression.strip())
    if asks is None:
        return None
    above, _, last = asks[2].rpartition(".")
    found = _file(source, asks[1])
    inside = section(source, asks[1], above) if above else (found, 0, len(found.content)) if found else None
    if inside is None:
        return asks[3]
    text = inside[0].content[inside[1] : inside[2]]
    told = re.search(rf"['\"]{re.escape(last)}['\"]\s*=>\s*((?:[^,()\[\]]|\([^()]*\))+)", text)
    return told[1].strip() if told else asks[3]


def _file(source: Text, name: str) -> Text | None:
    for folder in Path(source.path).absolute().parents[:HIGHEST]:
        if (found := text_of(folder / "config" / f"{name}.php")) is not None:
            return found
    return None


def _closing(text: str, start: int, end: int) -> int:
    """Where the bracket closes that is open at a place."""
    depth = 1
    for at in re.finditer(r"[\[(\])]", text[start:end]):
        depth += 1 if at[0] in "[(" else -1
        if depth == 0:
            return start + at.start()
    return end
