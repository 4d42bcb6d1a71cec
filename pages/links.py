"""Every JIRA and every KIP that a page in Markdown names becomes a link, unless it is within one already.

It is done to finished pages, so that no template can forget it. Code, headings, comments and the words of pictures stay
as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

JIRA: Final = "https://issues.apache.org/jira/browse/KAFKA-{}"
WIKI: Final = "https://cwiki.apache.org/confluence/"
SEARCH: Final = WIKI + "dosearchsite.action?queryString=%22KIP-{}%22"
"""What finds a KIP whose page is not known here."""
KIPS: Final[Mapping[int, str]] = {
    4: "+-+Command+line+and+centralized+administrative+operations",
    32: "+-+Add+timestamps+to+Kafka+message",
    35: "+-+Retrieving+protocol+version",
    91: "+Provide+Intuitive+User+Timeouts+in+The+Producer",
    98: "+-+Exactly+Once+Delivery+and+Transactional+Messaging",
    101: "+-+Alter+Replication+Protocol+to+use+Leader+Epoch+rather+than+High+Watermark+for+Truncation",
    103: "%3A+Separation+of+Internal+and+External+traffic",
    112: "%3A+Handle+disk+failure+for+JBOD",
    129: "%3A+Streams+Exactly-Once+Semantics",
    152: "+-+Improve+diagnostics+for+SASL+authentication+failures",
    158: "%3A+Kafka+Connect+should+allow+source+connectors+to+set+topic-specific+settings+for+new+topics",
    226: "+-+Dynamic+Broker+Configuration",
    279: "%3A+Fix+log+divergence+between+leader+and+follower+after+fast+leader+fail+over",
    345: "%3A+Introduce+static+membership+protocol+to+reduce+consumer+rebalances",
    415: "%3A+Incremental+Cooperative+Rebalancing+in+Kafka+Connect",
    429: "%3A+Kafka+Consumer+Incremental+Rebalance+Protocol",
    447: "%3A+Producer+scalability+for+exactly+once+semantics",
    455: "%3A+Create+an+Administrative+API+for+Replica+Reassignment",
    482: "%3A+The+Kafka+Protocol+should+Support+Optional+Tagged+Fields",
    516: "%3A+Topic+Identifiers",
    584: "%3A+Versioning+scheme+for+features",
    595: "%3A+A+Raft+Protocol+for+the+Metadata+Quorum",
    618: "%3A+Exactly-Once+Support+for+Source+Connectors",
    679: "%3A+Producer+will+enable+the+strongest+delivery+guarantee+by+default",
    714: "%3A+Client+metrics+and+observability",
    724: "%3A+Drop+support+for+message+formats+v0+and+v1",
    833: "%3A+Mark+KRaft+as+Production+Ready",
    848: "%3A+The+Next+Generation+of+the+Consumer+Rebalance+Protocol",
    890: "%3A+Transactions+Server-Side+Defense",
    898: "%3A+Modernize+Connect+plugin+discovery",
    937: "%3A+Improve+Message+Timestamp+Validation",
}
"""The page of a KIP at the wiki, behind its number, as Kafka's own documentation and sources link to it (2024-10)."""

CLOSED: Final = re.compile(
    r"(```.*?```|<!--.*?-->|^#.*?$|^    .*?$|`[^`\n]*`|!?\[(?:[^\[\]]|\[[^\]]*\])*\]\([^)]*\)|<[^>]*>)",
    re.DOTALL | re.MULTILINE,
)
"""Parts of a page whose text stays as it is: code, comments, headings, links, pictures, tags."""
NAMES: Final = re.compile(r"(?<![\w./-])(?:KAFKA-(?P<jira>\d{2,6})|KIP-(?P<kip>\d{1,4}))(?![\w-])")


def kip(number: str) -> str:
    """Where a KIP is read: its page, or a search that finds it.

    >>> kip("112")
    'https://cwiki.apache.org/confluence/display/KAFKA/KIP-112%3A+Handle+disk+failure+for+JBOD'
    >>> kip("1")
    'https://cwiki.apache.org/confluence/dosearchsite.action?queryString=%22KIP-1%22'
    """
    behind = KIPS.get(int(number))
    return f"{WIKI}display/KAFKA/KIP-{number}{behind}" if behind else SEARCH.format(number)


def _link(found: re.Match[str]) -> str:
    target = JIRA.format(found["jira"]) if found["jira"] else kip(found["kip"])
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
