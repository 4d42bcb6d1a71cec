"""Findings: an article each, in the order of Jepsen's analyses: abstract, background, test design, results, discussion,
status.

The words are the registry's (harness/discoveries.py) and the scenario's; counts and intervals are the ledger's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import Markup

import results
from evidence.run import DEFAULT_CASE
from evidence.text import plural
from harness.discoveries import TAKEN_BACK
from judgement.rates import telling
from judgement.sampling import at_most, percent
from pages import findings
from pages.atlas.model import Data
from pages.counted import contradicted
from pages.site import articles
from pages.site.render import page, sentence
from pages.site.scenarios import picture
from pages.titles import title
from results import Value

FOLDER: Final = "findings"
SIDES: Final = (("seen", "With the fault"), ("control", "Control"))


def pages(described: Value, data: Data, names: frozenset[str], found: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Path and text of each article, and of their index. `found` are the home page's findings."""
    by_name = {one["name"]: one for one in described["scenarios"]}
    every = findings.all_counted(data.runs)
    for index, one in enumerate(every):
        scenario = by_name[one["seen"]["scenario"]]
        shown = results.shown_of(data.runs, scenario["name"])
        pictures = shown.get("pictures", {})
        place = f"{scenario['name']}.svg"
        yield (
            _path(one),
            page(
                "finding.html.j2",
                _path(one),
                title=one["title"],
                section="Findings",
                description=f"{sentence(one['title'])} {abstract(one, data)}",
                before=_place(every[index - 1]) if index else None,
                after=_place(every[index + 1]) if index + 1 < len(every) else None,
                scenarios=names,
                one=one,
                abstract=abstract(one, data),
                scenario=scenario,
                scenario_title=title(scenario),
                background=articles.html(scenario["told"]),
                rows=[(words, one[side], list(_rows(one[side], data))) for side, words in SIDES],
                limits=limits(one, data),
                picture=Markup(picture(place, shown)) if place in pictures else "",
                caption=pictures.get(place, ""),
                operator=data.scenarios[scenario["name"]].operator,
            ),
        )
    yield (
        f"{FOLDER}/index.html",
        page(
            "findings.html.j2",
            f"{FOLDER}/index.html",
            title="Findings",
            section="Findings",
            scenarios=names,
            found=[(one, abstract(one, data)) for one in every],
            documented=found,
            taken_back=TAKEN_BACK,
        ),
    )


def _path(one: Value) -> str:
    return f"{FOLDER}/{one['id']}.html"


def _place(one: Value) -> tuple[str, str]:
    return sentence(one["title"]).rstrip("."), _path(one)


def abstract(one: Value, data: Data) -> str:
    """Who is affected, how often it was seen and not seen in the control, and where it stands."""
    seen, control = (_counts(one[side], data) for side, _ in SIDES)
    ran = [version for version, cell in _cells(one["seen"], data) if cell and telling(cell)]
    status = f" Status: {one['status']['state']}, looked up on {one['status']['on']}." if one.get("status") else ""
    return (
        f"Affected: {one['whom']}. {seen} with the fault showed it, on {', '.join(ran)}. The control differs in one "
        f"thing, and {control} of it did not show it.{status}"
    )


def _cells(arm: Value, data: Data) -> Iterator[tuple[str, Value | None]]:
    cells = results.cells_of(data.runs, arm["scenario"], arm["case"] or DEFAULT_CASE)
    for version in arm["on"]:
        yield version, cells.get(version)


def _counts(arm: Value, data: Data) -> str:
    cells = [cell for _, cell in _cells(arm, data) if cell]
    good, runs = sum(cell["good"] for cell in cells), sum(telling(cell) for cell in cells)
    return f"{good} of {plural(runs, 'run')}"


def _rows(arm: Value, data: Data) -> Iterator[dict[str, str]]:
    for version, cell in _cells(arm, data):
        if cell is None or not telling(cell):
            yield {"version": version, "count": "not run", "possible": "", "days": "", "runs": ""}
            continue
        runs = telling(cell)
        yield {
            "version": version,
            "count": f"{cell['good']} of {runs}",
            "possible": f"at most {percent(at_most(contradicted(cell), runs))} of attempts may end otherwise",
            "days": " to ".join(dict.fromkeys((cell["days"][0], cell["days"][-1]))) if cell["days"] else "",
            "runs": ", ".join(cell["ids"][:4]),
        }


def limits(one: Value, data: Data) -> str:
    """What so few runs do not say."""
    few = [version for arm in _arms(one) for version, cell in _cells(arm, data) if cell and telling(cell) < 5]
    if not few:
        return "Each cell has five runs or more."
    return (
        f"Fewer than five runs were made on {', '.join(dict.fromkeys(few))}. One run proves that it can happen, "
        "not how often it does."
    )


def _arms(one: Value) -> list[Value]:
    return [one[side] for side, _ in SIDES]
