"""Every JIRA and every KIP that a page in Markdown names becomes a link, unless it is within one already.

It is done to finished pages, so that no template can forget it. Code, headings, comments and the words of pictures stay
as they are.
"""

from __future__ import annotations

import re
from typing import Final

JIRA: Final = "https://issues.apache.org/jira/browse/KAFKA-{}"
KIP: Final = "https://cwiki.apache.org/confluence/dosearchsite.action?queryString=%22KIP-{}%22"

CLOSED: Final = re.compile(
    r"(```.*?```|<!--.*?-->|^#.*?$|^    .*?$|`[^`\n]*`|!?\[(?:[^\[\]]|\[[^\]]*\])*\]\([^)]*\)|<[^>]*>)",
    re.DOTALL | re.MULTILINE,
)
"""Parts of a page whose text stays as it is: code, comments, headings, links, pictures, tags."""
NAMES: Final = re.compile(r"(?<![\w./-])(?:KAFKA-(?P<jira>\d{2,6})|KIP-(?P<kip>\d{1,4}))(?![\w-])")


def _link(found: re.Match[str]) -> str:
    target = JIRA.format(found["jira"]) if found["jira"] else KIP.format(found["kip"])
    return f"[{found[0]}]({target})"


def linked(page: str) -> str:
    """A page in which all that can be a link is one.

    >>> linked("See KAFKA-1211.")
    'See [KAFKA-1211](https://issues.apache.org/jira/browse/KAFKA-1211).'
    >>> linked("`KIP-101` and [KAFKA-1211](museum.md)")
    '`KIP-101` and [KAFKA-1211](museum.md)'
    """
    parts = CLOSED.split(page)
    return "".join(part if number % 2 else NAMES.sub(_link, part) for number, part in enumerate(parts))
