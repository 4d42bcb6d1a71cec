"""All pages of the site, and writing them: `make site`, `python -m pages.site.build FOLDER`.

The same data gives the same pages. Pages of docs/ come as they are; those that `make docs` generates from the same data
have pages of their own here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

import results
from evidence.text import plural
from harness.harms import HARM_ORDER, harm_of
from judgement.rates import telling
from judgement.report.timeline_svg import STYLE
from pages import counted, delivery, guide, museum, pictures
from pages.atlas import events, lines, model, tables
from pages.atlas.columns import ACKS_1, CLIENTS
from pages.compact import compact
from pages.scenarios import described as describe
from pages.site import articles, atlas, chapters, finding_articles, scenarios
from pages.site.render import NAV, TEMPLATES, page
from pages.statements import page as statements

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
LOST: Final = "docs/lost-records.md"
OWN: Final[Mapping[str, tuple[str, str]]] = {
    LOST: ("lost.html", "I lost records"),
    "docs/audit.md": ("settings.html", "Your settings"),
    "docs/in-your-ci.md": ("ci.html", "In your CI"),
    "docs/trust.md": ("trust.html", "Can I trust it?"),
    "docs/glossary.md": ("glossary.html", "Reference"),
}
"""Documents that have a place of their own."""
GENERATED: Final[Mapping[str, str]] = {
    "docs/scenarios/README.md": "scenarios/index.html",
    "docs/museum.md": "bugs.html",
    "docs/findings.md": "findings/index.html",
    "docs/statements.md": "reference/statements.html",
    "docs/delivery.md": "reference/delivery.html",
    "docs/audit-matrix.md": "atlas/index.html",
    "docs/reproduced.md": "scenarios/index.html",
    "docs/timings.md": "scenarios/index.html",
    "docs/what-survives-what.md": "atlas/index.html",
    "README.md": "index.html",
    "docs/README.md": "reference/index.html",
}
"""What stands in their place on the site."""
HERO: Final[Mapping[str, str]] = {
    "outcome": "1 of 5 acknowledged records LOST",
    "version": "0.10.2.2",
    "title": "A run of double-failover",
}
"""What the picture of the home page shows; tests/unit/pages/test_readme.py holds it to the run."""
SHORTEST: Final = ("4.4", "4.3", "3.9-zk", "2.8", "0.10.2")
"""Versions that the home page links."""


def documents() -> list[Path]:
    """The documents of docs/ that are in the repository."""
    generated = {ROOT / name for name in GENERATED}
    found = (
        *DOCS.glob("*.md"),
        *(DOCS / "releases").glob("*.md"),
        ROOT / "compose" / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
    )
    return sorted(path for path in found if path not in generated)


def _pictures() -> list[Path]:
    """The pictures of docs/ that its pages show, and no heat map that an older tree has left."""
    return [svg for svg in sorted(DOCS.glob("*.svg")) if not svg.name.startswith("audit-matrix")]


def sites(names: frozenset[str]) -> dict[str, str]:
    """The page of each document, by its path in the repository."""
    found = dict(GENERATED)
    for path in documents():
        name = path.relative_to(ROOT).as_posix()
        found[name] = OWN[name][0] if name in OWN else f"reference/{_name(path)}.html"
    for svg in _pictures():
        found[f"docs/{svg.name}"] = f"reference/{svg.name}"
    return found | {f"docs/scenarios/{name}.md": f"scenarios/{name}.html" for name in names}


def _name(path: Path) -> str:
    return "compose" if path.parent.name == "compose" else path.stem.lower()


def pages(described: Mapping[str, Any] | None = None, data: model.Data | None = None) -> dict[str, str]:
    """Every page by its path; what is no text is written by `write`."""
    told, found = described or describe(), data or model.load()
    names = frozenset(one["name"] for one in told["scenarios"])
    atlases = [model.atlas(line, found) for line in lines.every()]
    made = dict(atlas.pages(found, atlases))
    made |= dict(scenarios.pages(told, found))
    made |= dict(chapters.pages(told, found, names))
    made |= dict(finding_articles.pages(told, found, names, documented_in_words(found, atlases)))
    made |= dict(_documents(names))
    for name, text in (
        ("docs/statements.md", statements.page(found.runs)),
        ("docs/delivery.md", delivery.page(found.runs)),
    ):
        made[GENERATED[name]] = _generated(name, text, names)
    made["bugs.html"] = _bugs(told, found, atlases, names)
    made["index.html"] = _home(found, atlases)
    made["site.css"] = (TEMPLATES / "site.css").read_text(encoding="utf-8") + "\n" + STYLE
    made[chapters.SCRIPT] = (TEMPLATES / "movie.js").read_text(encoding="utf-8")
    made[atlas.STYLE] = atlas.style(atlases)
    made[atlas.SCRIPT] = (TEMPLATES / "atlas.js").read_text(encoding="utf-8")
    made["search.html"] = _search(made)
    return made


def _documents(names: frozenset[str]) -> Iterator[tuple[str, str]]:
    where = sites(names)
    listed = []
    for path in documents():
        name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        target = where[name]
        title = articles.title_of(text)
        section = OWN[name][1] if name in OWN else "Reference"
        up = "../" * target.count("/")
        body = articles.document(text, name, where, up)
        yield target, page("article.html.j2", target, title=title, section=section, scenarios=names, body=body)
        listed.append((title, target.rpartition("/")[2] if target.startswith("reference/") else f"../{target}"))
    body = articles.document(
        articles.on_the_site((DOCS / "README.md").read_text(encoding="utf-8")), "docs/README.md", where, "../"
    )
    yield (
        "reference/index.html",
        page("article.html.j2", "reference/index.html", title="Reference", section="Reference", body=body),
    )
    for svg in _pictures():
        yield f"reference/{svg.name}", svg.read_text(encoding="utf-8")


def _generated(name: str, text: str, names: frozenset[str]) -> str:
    """A page of docs/ that is built from what runs showed."""
    target = GENERATED[name]
    body = articles.document(text, name, sites(names), "../")
    title = articles.title_of(text)
    return page("article.html.j2", target, title=title, section="Reference", scenarios=names, body=body)


def _bugs(told: Mapping[str, Any], data: model.Data, every: Sequence[model.Atlas], names: frozenset[str]) -> str:
    exhibits = museum.exhibits(guide.in_order(told))
    groups = [
        (
            harm,
            [(one, _shown(one, data)) for one in exhibits if harm_of(data.scenarios[one["name"]]) == harm],
        )
        for harm in HARM_ORDER
    ]
    failover = data.runs["double-failover"]["cases"]["default"]
    truncation = next(text for text, name in documented_in_words(data, every) if name == "double-failover")
    return page(
        "bugs.html.j2",
        "bugs.html",
        title="Kafka bugs by release",
        section="Kafka bugs",
        scenarios=names,
        groups=[(harm, bugs) for harm, bugs in groups if bugs],
        atlases=[one for one in every if not one.line.pinned],
        truncation=truncation,
        truncates=[name for name, cell in failover.items() if cell["lost"]],
    )


def _shown(one: Mapping[str, Any], data: model.Data) -> str:
    return "; ".join(f"{counted.shown(one['name'], on, data.runs)} on {on}" for on in one["exhibit"]["affected"])


def home_facts(data: model.Data) -> dict[str, Any]:
    """What the home page says of all runs."""
    cells = [
        cell
        for of_scenario in data.runs.values()
        for of_case in of_scenario["cases"].values()
        for cell in of_case.values()
    ]
    return {
        "runs": sum(cell["runs"] for cell in cells),
        "telling": sum(telling(cell) for cell in cells),
        "started": sum(cell["runs"] + sum(run["runs"] for run in cell["aside"]) for cell in cells),
        "scenarios": len(data.scenarios),
        "bugs": sum(made.exhibit is not None for made in data.scenarios.values()),
        "cells": len({one.key for of_fault in data.measured.values() for one in of_fault}),
        "versions": len({cell["version"] for cell in cells}),
    }


def measured(data: model.Data) -> list[model.Atlas]:
    """The pages of the lines whose own newest release was measured."""
    every = (line for line in lines.every() if line.version(line.newest).id in results.MEASURED_ON.values())
    return [model.atlas(line, data) for line in every]


def findings_in_words(data: model.Data, atlases: Sequence[model.Atlas]) -> list[str]:
    """Five findings with their figures, each made of the data. The last is in no document."""
    double = data.runs["duplicate-id-counts-as-replica"]["cases"]["default"]
    return [
        *(text for text, _ in documented_in_words(data, atlases)),
        f"A second machine with a follower's node.id counted as that follower: records acknowledged with acks=all and "
        f"min.insync.replicas=2 were lost in {_lost(double)} runs, on KRaft {', '.join(sorted(double))}.",
    ]


def _lost(cells: Mapping[str, Any]) -> str:
    return f"{sum(cell['lost'] for cell in cells.values())} of {sum(telling(cell) for cell in cells.values())}"


def _losing_runs(cells: Mapping[str, model.GridCell]) -> str:
    runs = [run for one in cells.values() for run in one.runs]
    return f"{sum(run.lost > 0 for run in runs)} of {len(runs)} runs"


def documented_in_words(data: model.Data, atlases: Sequence[model.Atlas]) -> list[tuple[str, str]]:
    """Findings that documents say and few expect, each with the scenario that its runs are of."""
    restarted = {
        client: {
            cell.cell.key.version: cell
            for atlas in atlases
            for cell in atlas.grids[client]["rolling-restart"]
            if atlas.measured_here and cell.column.id == ACKS_1 and cell.cell
        }
        for client in CLIENTS
    }
    losing = {version for of in restarted.values() for version, one in of.items() if one.worst == model.LOST}
    versions = {version for of in restarted.values() for version in of}
    all_power = data.runs["page-cache-only"]["cases"]["default"]
    flushed = data.runs["page-cache-only"]["cases"]["flush-each"]
    failover = data.runs["double-failover"]["cases"]["default"]
    clock = data.runs["clock-step"]["cases"]["leader-ahead"]
    old = [name for name, cell in failover.items() if cell["lost"]]
    new = {name: cell for name, cell in failover.items() if not cell["lost"]}
    return [
        (
            f"A clean rolling restart lost acks=1 records in {_losing_runs(restarted['java'])} of a Java producer, in "
            f"{_losing_runs(restarted['librdkafka'])} of librdkafka, on {len(losing)} of {len(versions)} measured "
            f"versions ({', '.join(sorted(losing))}).",
            "audit-rolling-restart",
        ),
        (
            f"{events.EVENTS['power-loss']}: acks=all records were lost in {_lost(all_power)} runs; with a flush of "
            f"each record in {_lost(flushed)}.",
            "page-cache-only",
        ),
        (
            "The leader dies, then the follower that will be elected. An acks=all record that both followers had was "
            f"lost in {_lost({name: failover[name] for name in old})} runs on {plural(len(old), 'version')} that "
            f"truncate to the high watermark, and in {_lost(new)} runs on {plural(len(new), 'version')} with leader "
            "epochs (KIP-101).",
            "double-failover",
        ),
        (
            "A leader whose clock was eight days ahead for a minute deleted acknowledged records in "
            f"{_lost(clock)} runs, on {', '.join(sorted(clock))}.",
            "clock-step",
        ),
    ]


def counts_in_words(data: model.Data) -> str:
    """How much was run."""
    facts = home_facts(data)
    return (
        f"{plural(facts['started'], 'run')} were started, and {plural(facts['runs'], 'run')} count. They are of "
        f"{plural(facts['scenarios'], 'scenario')} ({facts['bugs']} of them are bugs of Kafka) on "
        f"{plural(facts['versions'], 'version')}; one release with ZooKeeper and with KRaft is two. The Atlas rests on "
        f"{plural(facts['cells'], 'combination')} of producer settings, topic settings, fault and version."
    )


def _home(data: model.Data, atlases: Sequence[model.Atlas]) -> str:
    by_name = {line.name: line for line in lines.every()}
    svg = (DOCS / "double-failover.svg").read_text(encoding="utf-8")
    return page(
        "home.html.j2",
        "index.html",
        title="What happens to acknowledged records",
        section="Home",
        found=findings_in_words(data, atlases),
        hero=HERO,
        since=since_epochs(data),
        # Its heading is the page's.
        picture=Markup(compact(pictures.HEADLINE.sub("", pictures.bare(svg)))),
        counts=counts_in_words(data),
        lines=[{"name": name, "short": by_name[name].label} for name in SHORTEST],
    )


def since_epochs(data: model.Data) -> str:
    """That what the home page's picture shows is over, and how often that was tried."""
    kept = [cell for cell in data.runs["double-failover"]["cases"]["default"].values() if not cell["lost"]]
    return (
        f"Replicas with leader epochs (KIP-101, 0.11 and later) keep the record: {sum(map(telling, kept))} runs of the "
        "same sequence lost none."
    )


TITLE: Final = re.compile(r"<title>(.*?) · kafka-chaos</title>", re.DOTALL)
WORDS: Final = re.compile(r"<(?:h2|h3|code)[^>]*>(.*?)</(?:h2|h3|code)>", re.DOTALL)
TAGS: Final = re.compile(r"<[^>]+>")
DESCRIPTION: Final = re.compile(r'<meta name="description" content="([^"]*)">')


ROW: Final = re.compile(r"<tr>(.*?)</tr>", re.DOTALL)
CELL: Final = re.compile(r"<t[dh][^>]*>(.*?)</t[dh]>", re.DOTALL)
LINES: Final = "what-log-lines-mean"
"""The section of the page on lost records that has an index of lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEntry:
    """A line of the search page."""

    title: str
    path: str
    first: str = ""
    """Its first sentence."""
    words: str = ""
    """By which it is found beside these."""
    main: bool = False
    """Whether it comes before others that are found as well."""


def plain(text: str) -> str:
    r"""HTML as text.

    >>> plain("any of: <code>a</code>,\n <code>b</code>")
    'any of: a, b'
    """
    return " ".join(unescape(TAGS.sub("", text)).split())


def _words(text: str) -> str:
    """The words by which a page is found beside its title: of its headings and of its code."""
    parts = " ".join(TAGS.sub(" ", found) for found in WORDS.findall(text))
    return " ".join(sorted(set(re.findall(r"[\w.=-]{3,}", unescape(parts).lower()))))[:600]


def entries_of_pages(made: Mapping[str, str]) -> Iterator[SearchEntry]:
    """A line for each page; the pages of the navigation come first."""
    main = {path for _, path in NAV}
    for path in sorted(made):
        text = made[path]
        title, about = TITLE.search(text), DESCRIPTION.search(text)
        if path.endswith(".html") and title:
            first = about[1] if about and about[1] != title[1] else ""
            yield SearchEntry(
                title=unescape(title[1]),
                path=path,
                first=unescape(first),
                words=f"{_words(text)} {ACKS if path.startswith('atlas/') else ''}".strip(),
                main=path in main,
            )


ACKS: Final = "acks=0 acks=1 acks=all enable.idempotence min.insync.replicas flush.messages"
"""Settings that pages of the Atlas are about, which stand in its tables alone."""


def entries_of_lines(lost: str) -> Iterator[SearchEntry]:
    """A line for each log line of the index on the page on lost records."""
    begin = lost.find(f'id="{LINES}"')
    index = lost[begin : lost.find("</table>", begin)] if begin >= 0 else ""
    for row in ROW.findall(index):
        cells = [plain(one) for one in CELL.findall(row)]
        if "<td" in row and "<code>" in row.partition("</td>")[0]:
            yield SearchEntry(title=f"Log line: {cells[0]}", path=f"{OWN[LOST][0]}#{LINES}", first=cells[1], main=True)


def _search(made: Mapping[str, str]) -> str:
    lost = made.get(OWN[LOST][0], "")
    entries = [*entries_of_pages(made), *entries_of_lines(lost)]
    return page(
        "search.html.j2",
        "search.html",
        title="Search",
        section="Search",
        entries=entries,
        index=f"{OWN[LOST][0]}#{LINES}",
    )


DATA: Final[Mapping[str, Callable[[Iterable[dict[str, Any]], Path], None]]] = {
    "data/atlas.csv.gz": tables.write_csv,
    "data/atlas.parquet": tables.write_parquet,
}
"""The Atlas as files for programs, and what writes each. What reads CSV here reads it compressed as well: 2.5 MB would
be a sixth of what the whole site may take."""


def write(folder: Path) -> int:
    """Write the site to a folder; pages that are not made any more are removed. Returns how many files there are."""
    data = model.load()
    made = pages(data=data)
    for path, text in made.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    rows = list(tables.rows(model.atlas(line, data) for line in lines.every()))
    for name, write_rows in DATA.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_rows(rows, folder / name)
    for old in folder.rglob("*"):
        name = old.relative_to(folder).as_posix()
        if old.is_file() and name not in made and name not in DATA:
            old.unlink()
    return len(made) + len(DATA)


if __name__ == "__main__":
    TO = Path(sys.argv[1] if len(sys.argv) > 1 else "site")
    print(f"{write(TO)} files in {TO}")
