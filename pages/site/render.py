"""A page of the site from its template: navigation, style and links are those of every page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pages.site.links import linked

TEMPLATES: Final = Path(__file__).parents[1] / "templates" / "site"
NAV: Final = (
    ("Atlas", "atlas/index.html"),
    ("I lost records", "lost.html"),
    ("Your settings", "settings.html"),
    ("Kafka bugs", "bugs.html"),
    ("Findings", "findings/index.html"),
    ("Learn", "learn/index.html"),
    ("Scenarios", "scenarios/index.html"),
    ("In your CI", "ci.html"),
    ("Can I trust it?", "trust.html"),
    ("Reference", "reference/index.html"),
)
Place = tuple[str, str]
"""A title and a path below the site's root."""

ENVIRONMENT: Final = Environment(
    loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
)


def sentence(text: str) -> str:
    """Text with a capital at its beginning and a full stop at its end.

    >>> sentence("records are lost"), sentence("Is it so?")
    ('Records are lost.', 'Is it so?')
    """
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!", ":")) else ".")


def short(text: str) -> str:
    """A topic's settings in few letters, for headings.

    >>> short("min.insync.replicas=2, flush.messages=1")
    'min ISR 2, flush each record'
    """
    return text.replace("min.insync.replicas=", "min ISR ").replace("flush.messages=1", "flush each record")


def grouped(rows: Iterable[Mapping[str, Any]], key: str) -> list[tuple[Any, list[Mapping[str, Any]]]]:
    """Rows by a value of theirs, in the order in which the values first occur.

    >>> grouped([{"a": 2}, {"a": 1}, {"a": 2}], "a")
    [(2, [{'a': 2}, {'a': 2}]), (1, [{'a': 1}])]
    """
    found: dict[Any, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return list(found.items())


ENVIRONMENT.filters |= {"sentence": sentence, "short": short, "groupby_in_order": grouped}


def page(
    template: str,
    path: str,
    *,
    title: str,
    section: str,
    description: str = "",
    before: Place | None = None,
    after: Place | None = None,
    scenarios: frozenset[str] = frozenset(),
    **values: Any,
) -> str:
    """The page that lies at `path`, from a template."""
    up = "../" * path.count("/")
    made = ENVIRONMENT.get_template(template).render(
        title=title,
        section=section,
        description=description or title,
        nav=NAV,
        up=up,
        before=before,
        after=after,
        **values,
    )
    return linked(made, scenarios, up) + "\n"
