"""Every KIP, JIRA, setting and scenario that a page names becomes a link, unless it is within one already.

A setting is one where a section names it first: tables repeat some settings in each row. It is done to finished pages,
so that no template can forget it. Settings link to Kafka's documentation by its anchors (`producerconfigs_acks`), which
are those of the newest release.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from audit.known import known
from pages.links import JIRA, kip

SETTING: Final = "https://kafka.apache.org/documentation/#{}configs_{}"
LIBRDKAFKA: Final = "https://github.com/confluentinc/librdkafka/issues/{}"

TAG: Final = re.compile(r"(<!--.*?-->|<[^>]*>)", re.DOTALL)
NAMES: Final = re.compile(
    r"(?<![\w./-])(?:KAFKA-(?P<jira>\d{2,6})|KIP-(?P<kip>\d{1,4})|librdkafka issue (?P<issue>\d{3,5})"
    r"|(?P<setting>[a-z]+(?:\.[a-z0-9]+)+|acks|retries))(?![\w-]|\.\w)"
)
CLOSED: Final = frozenset({"a", "pre", "svg", "script", "style", "title", "option", "h1", "label", "summary", "thead"})
"""Elements whose text stays as it is."""
SECTIONS: Final = frozenset({"h2", "h3", "details"})
"""What begins a section."""


@cache
def settings() -> Mapping[str, str]:
    """Each setting of brokers, topics and Java's producer, with the list that documents it."""
    found: dict[str, str] = {}
    for kind, anchor in (("broker", "broker"), ("topic", "topic"), ("java-producer", "producer")):
        found |= {name: anchor for name in known(kind).history if "." in name}
    return found | {"acks": "producer", "retries": "producer", "min.insync.replicas": "broker"}


def _link(found: re.Match[str], told: set[str], *, code: bool) -> str:
    """What stands for a name. `told` are the settings that this section has as links."""
    text = found[0]
    if found["jira"]:
        return f'<a href="{JIRA.format(found["jira"])}">{text}</a>'
    if found["kip"]:
        return f'<a href="{kip(found["kip"])}">{text}</a>'
    if found["issue"]:
        return f'<a href="{LIBRDKAFKA.format(found["issue"])}">{text}</a>'
    name = found["setting"]
    # "acks" alone is an English abbreviation too: it is a setting where it is written as one.
    if name in settings() and ("." in name or code) and name not in told:
        told.add(name)
        return f'<a href="{SETTING.format(settings()[name], name)}">{text}</a>'
    return text


def linked(page: str, scenarios: frozenset[str] = frozenset(), up: str = "") -> str:
    """A page in which all that can be a link is one.

    >>> linked("<p>See KIP-36.</p>")
    '<p>See <a href="https://cwiki.apache.org/confluence/dosearchsite.action?queryString=%22KIP-36%22">KIP-36</a>.</p>'
    >>> linked('<a href="x">KAFKA-1211</a>')
    '<a href="x">KAFKA-1211</a>'
    """
    closed = 0
    code = False
    told: set[str] = set()
    made = []
    for part in TAG.split(page):
        if part.startswith("<"):
            name = re.match(r"</?([a-z0-9]+)", part)
            if name and name[1] in CLOSED:
                closed += -1 if part.startswith("</") else 1
            if name and name[1] in SECTIONS:
                told.clear()
            if name and name[1] == "code":
                code = not part.startswith("</")
            made.append(part)
        elif closed > 0 or not part:
            told.update({part} & settings().keys())
            made.append(part)
        elif code and part in scenarios:
            made.append(f'<a href="{up}scenarios/{part}.html">{part}</a>')
        else:
            in_code = code
            made.append(NAMES.sub(lambda found, in_code=in_code: _link(found, told, code=in_code), part))
    return "".join(made)
