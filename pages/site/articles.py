"""Pages from Markdown: docstrings, and the documents of docs/ as they are.

Links to other documents become links to their pages; what is in the repository and not on the site stays as its path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import Final

from markdown_it import MarkdownIt
from markupsafe import Markup

LINK: Final = re.compile(r'<a href="([^"]*)">(.*?)</a>', re.DOTALL)
IMAGE: Final = re.compile(r'<img src="([^"]*)" alt="([^"]*)"[^>]*>')
SIBLING: Final = re.compile(r'<a href="([\w-]+)\.md')
"""A link from one scenario's docstring to another scenario."""
FILE: Final = re.compile(r"(?:<code>)?(?:[\w.]+/)*[\w-]+\.md(?:</code>)?")
"""A link's text that is no more than a file's name."""
HEADING: Final = re.compile(r"<(h[1-4])>(.*?)</\1>", re.DOTALL)
TAGS: Final = re.compile(r"<[^>]+>")
FENCE: Final = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1`*~* *$", re.MULTILINE | re.DOTALL)
COMMENT: Final = re.compile(r"<!--.*?-->[ \t]*", re.DOTALL)
TABLE: Final = re.compile(r"<table>\n(<thead>.*?</thead>)(.*?)</table>", re.DOTALL)
NARROW: Final = 4
"""A table of so many columns is read without its heading too: on a phone each row of it is a card."""
OF_SITE: Final = re.compile(r"<code>site/([\w./-]+\.html)</code>")
"""A page of the site that a document names by its path."""
OF_CHECKOUT: Final = re.compile(
    r"^(?:Pages marked \*\*built\*\*|`make site` builds all of it).*?(?:\n\n|\Z)", re.MULTILINE | re.DOTALL
)
"""Paragraphs of docs/README.md that say which of its links work in a checkout."""
FIRST: Final = re.compile(r".*?</h1>(?:\s*<blockquote>.*?</blockquote>)?", re.DOTALL)
"""A title, and the box below it: a quotation that a document begins with."""
HEADED: Final = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
ROW: Final = re.compile(r"<tr>(.*?)</tr>", re.DOTALL)
SECTION: Final = re.compile(r'<h2 id="([^"]+)">(.*?)</h2>', re.DOTALL)
LISTED: Final = 4
"""A document of so many sections begins with a list of them."""


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def html(text: str) -> Markup:
    """Markdown as HTML."""
    made = _parser().render(text)
    return Markup(SIBLING.sub(lambda found: f'<a href="{found[1]}.html', made))


def slug(text: str) -> str:
    """The anchor of a heading, as GitHub makes it.

    >>> slug("How to read a verdict")
    'how-to-read-a-verdict'
    """
    plain = TAGS.sub("", text).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def document(text: str, path: str, sites: Mapping[str, str], up: str) -> Markup:
    """A document as the inside of a page. `path` is where it lies in the repository, `sites` the page of each document
    and picture that the site has.
    """
    made = _parser().render(without_comments(text))
    made = HEADING.sub(lambda found: f'<{found[1]} id="{slug(found[2])}">{found[2]}</{found[1]}>', made)
    made = OF_SITE.sub(lambda found: f'<a href="{up}{found[1]}">{found[1]}</a>', made)
    made = LINK.sub(lambda found: _link(found[1], found[2], path, sites, up), made)
    made = IMAGE.sub(lambda found: f'<img src="{_target(found[1], path, sites, up) or ""}" alt="{found[2]}">', made)
    made = TABLE.sub(_table, made)
    return Markup(_with_contents(made))


def without_comments(text: str) -> str:
    """Markdown without its HTML comments, which mark what is generated; blocks of code keep theirs.

    >>> without_comments("one <!-- figures --> two")
    'one two'
    """
    parts, end = [], 0
    for block in FENCE.finditer(text):
        parts += [COMMENT.sub("", text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, COMMENT.sub("", text[end:])])


def on_the_site(text: str) -> str:
    r"""The index of documents without what holds in a checkout alone: on the site every page is there.

    >>> on_the_site("Pages marked **built** are\nnot here.\n\n- [a](b.md) (**built**): c")
    '- [a](b.md): c'
    """
    return OF_CHECKOUT.sub("", text).replace(" (**built**)", "")


def _with_contents(made: str) -> str:
    """A document with a list of its sections below its title, if there are many; below what it begins with in a box."""
    found = SECTION.findall(made)
    if len(found) < LISTED:
        return made
    links = " · ".join(f'<a href="#{anchor}">{TAGS.sub("", words)}</a>' for anchor, words in found)
    first = FIRST.match(made)
    place = first.end() if first else 0
    return f'{made[:place]}\n<nav class="contents" aria-label="On this page">{links}</nav>\n{made[place:]}'


def _table(found: re.Match[str]) -> str:
    """A table that scrolls; a narrow one becomes cards on a phone, whose cells have the heads of their columns."""
    if found[1].count("<th>") > NARROW:
        return f'<div class="scroll"><table class="plain">\n{found[1]}{found[2]}</table></div>'
    heads = [TAGS.sub("", one) for one in HEADED.findall(found[1])]
    body = ROW.sub(lambda row: f"<tr>{_headed(row[1], heads)}</tr>", found[2])
    return f'<div class="scroll"><table class="plain stack">\n{found[1]}{body}</table></div>'


def _headed(row: str, heads: Sequence[str]) -> str:
    """The cells of a row, all but the first with the head of their column.

    >>> _headed('<td>a</td><td class="b">b</td>', ["x", "y"])
    '<td>a</td><td data-head="y" class="b">b</td>'
    """
    first, *others = row.split("<td")[1:]
    cells = (f'<td data-head="{head}"{cell}' for head, cell in zip(heads[1:], others, strict=True))
    return "".join([f"<td{first}", *cells])


def _link(target: str, text: str, path: str, sites: Mapping[str, str], up: str) -> str:
    if "://" in target or target.startswith("#"):
        return f'<a href="{target}">{text}</a>'
    found = _target(target, path, sites, up)
    if FILE.fullmatch(text) and found:
        text = found.rpartition("/")[2].partition(".html")[0].replace("-", " ")
    return f'<a href="{found}">{text}</a>' if found else text


def _target(target: str, path: str, sites: Mapping[str, str], up: str) -> str:
    """Where a link leads on the site; "" if it is to something that the site does not have."""
    plain, mark, anchor = target.partition("#")
    parts: list[str] = []
    for part in (*PurePosixPath(path).parent.parts, *PurePosixPath(plain).parts):
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    name = "/".join(parts)
    page = sites.get(name)
    # A page that stands in the place of several documents has other headings than these.
    place = "" if list(sites.values()).count(page or "") > 1 or name == "README.md" else f"{mark}{anchor}"
    return f"{up}{page}{place}" if page else ""


def title_of(text: str) -> str:
    """The first heading of a document."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1].replace("`", "") if found else ""
