"""syslog-ng: destinations `kafka-c(…)` and `kafka(…)`, whose client is librdkafka.

Options have their values in brackets: `topic("logs")`. Inside `config(…)` are librdkafka's own keys, as `"acks"("1")`
or `"acks" => "1"`. Where nothing is written, librdkafka's own defaults are in force.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from audit.model import Setting
from audit.readers.collect import Collected
from audit.readers.format import Document, Format
from audit.readers.names import librdkafka_keys

DESTINATION: Final = re.compile(r"(?<![\w-])kafka(?:-c)?[ \t\n]*\(")
NAMED: Final = re.compile(r"(?m)^[ \t]*destination[ \t]+[\"']?([\w.-]+)")
TEXT: Final = r"[\"']([^\"'\n]*)[\"']"
OPTION: Final = re.compile(rf"(?<![\w-])(topic|bootstrap-servers?)[ \t]*\([ \t]*{TEXT}")
PAIR: Final = re.compile(rf"{TEXT}[ \t]*(?:=>|\()[ \t]*{TEXT}")
MOST: Final = 50
"""How many destinations of one file are looked at."""
LONGEST: Final = 20_000
"""Characters of a destination that are looked at."""
SERVERS: Final = re.compile(r"bootstrap-servers?")


def _closing(text: str, at: int) -> int:
    """Where the bracket closes that was opened before `at`; the end if none does."""
    depth = 1
    for found in re.finditer(r"\"[^\"\n]*\"|'[^'\n]*'|#[^\n]*|[()]", text[at : at + LONGEST]):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth == 0:
            return at + found.start()
    return min(len(text), at + LONGEST)


def _read(document: Document, reading: Collected) -> bool:
    """Add the producer of each destination of Kafka's."""
    source = document.source
    found = False
    for block in islice(DESTINATION.finditer(source.content), MOST):
        text = source.content[block.end() : _closing(source.content, block.end())]
        options = {each[1]: each[2] for each in OPTION.finditer(text)}
        if not options.keys() & {"topic", "bootstrap-server", "bootstrap-servers"}:
            continue
        own = [
            Setting(each[1], each[2], source.origin(source.line_at(block.end() + each.start())))
            for each in PAIR.finditer(text)
            if each[1] in librdkafka_keys()
        ]
        origin = source.origin(source.line_at(block.start()))
        own += [Setting("bootstrap.servers", text, origin) for key, text in options.items() if SERVERS.fullmatch(key)]
        topic = options.get("topic", "")
        before = NAMED.findall(source.content[max(0, block.start() - LONGEST) : block.start()])
        reading.producer(
            f"destination {before[-1]} kafka" if before else "destination kafka", own, origin,
            client="librdkafka", framework="syslog-ng",
            topics=[topic] if topic and "$" not in topic else [], spelling="{key}", style="none",
        )  # fmt: skip
        found = True
    return found


FORMATS: Final = (
    Format(
        name="syslog-ng",
        reads="`destination { kafka-c(…) }`: `config`, the topic",
        files=("*.conf",),
        rank=49,
        whole=True,
        claims=lambda document: re.search(r"(?m)^[ \t]*destination\b", document.source.content) is not None,
        read=_read,
    ),
)
