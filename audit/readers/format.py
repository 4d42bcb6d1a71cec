"""What a format of configuration is to the audit: whose files it is in, how one is known, and who reads it.

A reader module declares each format that it reads in its own `FORMATS`; `registry` finds them. A file is read as YAML,
JSON or .properties first. Each document in it is offered to the formats, in the order of their `rank`. The first format
that claims the document, and finds in it what it claims, has it. A format with a syntax of its own (`whole`) is offered
the text instead, before anything is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from audit.model import Setting
from audit.readers.collect import Collected
from audit.readers.text import Text
from audit.readers.tree import Table, flatten

YAML: Final = ("*.yml", "*.yaml")
JSON: Final = ("*.json",)
PROPERTIES: Final = ("*.properties", "*.conf", "*.config", "*.cfg", "*.props")
"""What is read as .properties, unless a format of its own claims it."""
TEMPLATED: Final = (*YAML, *JSON, "*.properties")
"""Files that are also read under the name of a template (values.yaml.j2)."""
TEMPLATES: Final = "tpl|tmpl|j2|erb|template|example|sample|dist|orig"
TOPIC_DEFAULTS: Final = "default.topic.config"


@dataclass(slots=True)
class Document:
    """One document of a file: its text, and what YAML, JSON or .properties make of it."""

    source: Text
    tree: Table | None = None
    """The mapping that a document of YAML or JSON is; None for .properties, and before anything is parsed."""
    pages: Sequence[Sequence[Setting]] = ()
    """The settings of a .properties file, page by page (Spring divides one by `#---`)."""
    listed: bool = False
    """Whether it is one of several in a list, so that the file's name says nothing of it."""
    _flat: list[Setting] | None = field(default=None, init=False)

    @property
    def file(self) -> str:
        """The file's name in lower case, without what makes it a template's."""
        return re.sub(rf"\.({TEMPLATES})$", "", self.source.file.lower())

    @property
    def settings(self) -> list[Setting]:
        """All settings, the keys of mappings joined by dots. Raises Unreadable if they are too many."""
        if self._flat is None:
            self._flat = [each for page in self.pages for each in page] if self.tree is None else self._flattened()
        return self._flat

    def _flattened(self) -> list[Setting]:
        """A tree's settings; librdkafka's defaults for topics are settings of the client too, below its own."""
        assert self.tree is not None
        defaults = self.tree.get(TOPIC_DEFAULTS)
        found = flatten(defaults, self.source) if isinstance(defaults, Table) else []
        own = Table(tuple(item for item in self.tree.items if item[0] != TOPIC_DEFAULTS), self.tree.line)
        return found + flatten(own, self.source)

    @property
    def keys(self) -> set[str]:
        """The keys of all settings."""
        return {each.key for each in self.settings}


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format: how its files are named, how a document of it is known, and what reads it."""

    name: str
    """As docs/audit.md has it."""
    reads: str
    """What of it is read, for docs/audit.md."""
    files: tuple[str, ...]
    """The names of its files; `*` is one character or more. Case does not matter."""
    rank: int
    """When it is asked; lower ones are asked first. No two formats have the same."""
    claims: Callable[[Document], bool]
    """Whether a document looks like one of this format. Cheap, and without effect."""
    read: Callable[[Document, Collected], bool]
    """Add to the reading what a document configures. False: it is none after all, and the next format is asked.

    Raises Unreadable if it is damaged.
    """
    whole: bool = False
    """Whether it has a syntax of its own: it is asked for the text, before that is parsed."""
    speaks: tuple[str, ...] = ()
    """Regular expressions; a file in which one of them occurs concerns Kafka. For words that `registry` lacks."""
    named: re.Pattern[str] | None = None
    """File names that are this format's, whatever is in the file."""
