"""Scripts that register connectors: the JSON of `curl -d '{…}'`, or of a here-document, for Connect's REST interface.

The JSON is looked for where a text or a here-document begins with a brace, and parsed if it speaks of a connector's
class. Variables of the shell in it are placeholders.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from audit.readers.collect import Collected
from audit.readers.connect import read_request
from audit.readers.format import Document, Format
from audit.readers.text import Text
from audit.readers.topiccommands import topics_of_commands
from audit.readers.tree import Table, read_json

BEGINS: Final = re.compile(r"(?:(['\"])|<<-?[ \t]*['\"]?\w+['\"]?[^\n]*\n)\s*(\{)")
PART: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
TESTS: Final = re.compile(r"(?:^|/)tests?/")
MOST: Final = 500
"""How many places of one script are looked at."""
LONGEST: Final = 20_000
"""Characters of a connector that are looked at."""


def _object(text: str) -> str:
    """The object that a text begins with; empty if it does not end."""
    depth = 0
    for each in PART.finditer(text):
        depth += {"{": 1, "}": -1}.get(each[0], 0)
        if depth == 0:
            return text[: each.end()]
    return ""


def _read(document: Document, reading: Collected) -> bool:
    source = document.source
    if TESTS.search(source.path):
        return True
    reading.topics += topics_of_commands(source, folded=False)
    if "connector.class" not in source.content:
        return True
    at = 0
    for begin in islice(BEGINS.finditer(source.content), MOST):
        if begin.start() < at:
            continue  # inside another one
        text = source.content[begin.start(2) : begin.start(2) + LONGEST]
        text = _object(text.replace('\\"', '"') if begin[1] == '"' else text)
        if "connector.class" not in text:
            continue
        at = begin.start(2) + len(text)
        inside = Text(source.path, text, source.line_at(begin.start(2)) + source.first_line - 1)
        node = next(iter(read_json(inside).nodes), None)
        if isinstance(node, Table):
            read_request(inside, node, reading, "shell")
    return True


FORMATS: Final = (
    Format(
        name="scripts of a shell",
        reads="connectors that they register: the JSON of `curl -d`, or of a here-document; topics that `kafka-topics` "
        "makes",
        files=("*.sh", "*.bash"),
        rank=32,
        whole=True,
        claims=lambda document: document.file.endswith((".sh", ".bash")),
        read=_read,
    ),
)
