r"""kcat's configuration file: librdkafka's properties, one in a line (kcat.c, read_conf_file, of kcat 1.7).

Blanks around a line are dropped, those around `=` are not; `\:` and `\=` are what Java's files write for `:` and `=`;
a property may have "topic." before it. `#` begins a comment. kcat refuses a line without `=`.
"""

from __future__ import annotations

import re
from typing import Final

from audit.model import Setting
from audit.readers.collect import Collected
from audit.readers.format import Document, Format
from audit.readers.plain import read_plain

FILE: Final = re.compile(r"(kcat|kafkacat)\.conf")


def read_kcat(document: Document, reading: Collected) -> bool:
    """Add the producer that `kcat -P` makes of the file, if its properties are a producer's."""
    source, settings = document.source, []
    for number, line in enumerate(source.content.splitlines(), 1):
        text = re.sub(r"\\([:=])", r"\1", line.strip())
        key, equals, value = text.partition("=")
        if not text or text.startswith("#"):
            continue
        if not equals or not key:
            message = "is no property=value, for which kcat refuses the file"
            reading.problems.append(source.problem("unreadable", number, message, "write property=value"))
        else:
            settings.append(Setting(key.removeprefix("topic."), value, source.origin(number)))
    read_plain(source, settings, reading, client="librdkafka", style="none")
    return True


FORMATS: Final = (
    Format(
        name="kcat",
        reads="librdkafka's properties, with or without `topic.`",
        files=("kcat.conf", "kafkacat.conf"),
        rank=40,
        whole=True,
        claims=lambda document: FILE.fullmatch(document.file) is not None,
        read=read_kcat,
    ),
)
