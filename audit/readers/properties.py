"""Java .properties, as `java.util.Properties` reads them: comments, continuations, escapes, `=`, `:` or a blank
between.

The parser is javaproperties, whose elements have their source, from which lines are counted. Of a key that is there
twice the last one counts, as in Java, and it is told. Spring Boot divides a file into documents by `#---` or `!---`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import javaproperties

from audit.model import InputProblem, Setting
from audit.readers.text import Text
from audit.readers.walk import text_of

DIVIDER: Final = re.compile(r"[#!]---\s*")
MOST_BROKEN: Final = 20
"""After so many lines that cannot be read the rest is left out."""
MARK: Final = "\ufeff"


@dataclass(slots=True)
class Pages:
    """The settings of a .properties text, page by page (most have one), and what is to be said of them."""

    pages: list[list[Setting]] = field(default_factory=lambda: [[]])
    problems: list[InputProblem] = field(default_factory=list)

    @property
    def settings(self) -> list[Setting]:
        """Those of all pages."""
        return [setting for page in self.pages for setting in page]


def read_properties(source: Text, *, paged: bool = False) -> Pages:
    """The settings of a .properties text; `paged` if it is Spring's. What cannot be read is told and left out."""
    found = Pages()
    content, line = source.content, 1
    if content.startswith(MARK):
        message = "begins with a byte order mark, which Java takes for the first character of the first key"
        found.problems.append(source.problem("unreadable", 1, message, "save the file without it"))
    seen: dict[str, int] = {}
    broken = 0
    while content and broken < MOST_BROKEN:
        offset = 0
        try:
            for element in javaproperties.parse(content):
                if isinstance(element, javaproperties.KeyValue):
                    if element.key in seen:
                        message = f"the key {element.key!r} was there already, in line {seen[element.key]}"
                        found.problems.append(source.problem("duplicate", line, message, "the last one counts"))
                    seen[element.key] = line + source.first_line - 1
                    found.pages[-1].append(Setting(element.key, element.value.strip(), source.origin(line)))
                elif paged and DIVIDER.fullmatch(element.source):
                    found.pages.append([])
                    seen = {}
                offset += len(element.source)
                line += _lines(element.source)
            return found
        except javaproperties.InvalidUEscapeError:
            message = "a \\u that is not followed by four hexadecimal digits: Java refuses the whole file"
            found.problems.append(source.problem("unreadable", line, message, "write \\\\u for a backslash and a u"))
            # Go on behind the logical line that could not be read.
            broken += 1
            rest = re.compile(r"(?:[^\\\r\n]|\\(?:\r\n|[\s\S]))*(?:\r\n|\r|\n|\Z)").match(content, offset)
            end = rest.end() if rest and rest.end() > offset else len(content)
            line += _lines(content[offset:end])
            content = content[end:]
    return found


def _lines(text: str) -> int:
    """How many lines end in a text; a carriage return by itself ends one too."""
    return len(re.findall(r"\r\n|\r|\n", text))


LOCATION: Final = re.compile(r"(?:classpath\*?|file):/*([\w./-]+\.properties)")
HIGHEST: Final = 12
"""How many directories above a file are looked into for a file that it names."""


def named_properties(source: Text, texts: Iterable[str]) -> dict[str, Mapping[str, str]]:
    """The .properties that texts of a file name as Spring does (`classpath:kafka.properties`), by their whole path,
    with what they say.
    """
    here = Path(source.path).absolute().parent
    found: dict[str, Mapping[str, str]] = {}
    for name in (one for text in texts for one in LOCATION.findall(text)):
        places = (here / name, *(above / "src/main/resources" / name for above in here.parents[:HIGHEST]))
        for at in places:
            if (text := text_of(at)) is None:
                continue
            try:
                told = read_properties(text)
            except ValueError:
                continue
            found[str(at)] = {each.key: each.value for each in told.settings}
            break
    return found
