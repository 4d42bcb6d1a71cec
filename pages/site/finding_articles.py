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
from pages.counted import contradicted, shown
from pages.site import articles
from pages.site.render import page, sentence
from pages.site.scenarios import picture
from pages.titles import title
from results import Value

FOLDER: Final = "findings"
SIDES: Final = (("seen", "With the fault"), ("control", "Control"))
FEW: Final = 5
"""Below so many runs a cell says that something can happen, and not how often it does."""
NAMES: Final = 4
"""So many names of runs stand in a row; the ledger has all."""
NOT_SEARCHED: Final = "JIRA itself cannot be searched"
"""How an entry of the registry says that only GitHub was searched for a ticket."""


def pages(
    described: Value, data: Data, names: frozenset[str], found: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Path and text of each article, and of their index. `found` are findings that documents say, each with the
    scenario that its runs are of.
    """
    by_name = {one["name"]: one for one in described["scenarios"]}
    every = findings.all_counted(data.runs)
    for index, one in enumerate(every):
        scenario = by_name[one["seen"]["scenario"]]
        told = results.shown_of(data.runs, scenario["name"])
        pictures = told.get("pictures", {})
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
                rows=[
                    (words, {**one[side], "command": command(one[side], data)}, list(_rows(one[side], data)))
                    for side, words in SIDES
                ],
                control=control(one),
                ledgers=dict.fromkeys(one[side]["scenario"] for side, _ in SIDES),
                elsewhere=elsewhere(one, scenario, data),
                limits=limits(one, data),
                picture=Markup(picture(place, told)) if place in pictures else "",
                caption=caption(one, told, pictures.get(place, "")),
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
    seen, other = (_counts(one[side], data) for side, _ in SIDES)
    ran = [version for version, cell in _cells(one["seen"], data) if cell and telling(cell)]
    status = one.get("status")
    told = f" Status: {status['state']}, looked up on {status['on']}." if status else ""
    if status and any(NOT_SEARCHED in text for text in (status["told"], *status["sources"])):
        told += " No ticket was found on GitHub. JIRA itself was not searched."
    return (
        f"Affected: {one['whom']}. {seen} with the fault showed it, on {', '.join(ran)}. {control(one)} "
        f"{other} of the control did not show it.{told}"
    )


def control(one: Value) -> str:
    """What the control is: the same case on other releases, or another case of a scenario."""
    seen, other = one["seen"], one["control"]
    if (seen["scenario"], seen["case"]) == (other["scenario"], other["case"]):
        return f"The control is the same sequence on other releases: {', '.join(other['on'])}."
    case = "" if other["case"] == DEFAULT_CASE else f", case {other['case']}"
    same = "the same scenario" if seen["scenario"] == other["scenario"] else other["scenario"]
    return f"The control is another sequence of {same}{case}."


def command(arm: Value, data: Data) -> str:
    """What runs an arm, on the newest version of which runs are on record."""
    ran = [version for version, cell in _cells(arm, data) if cell and telling(cell)]
    named: str = arm["command"]
    return named.replace(f"--version {arm['on'][-1]}", f"--version {ran[-1]}") if ran else named


def elsewhere(one: Value, scenario: Value, data: Data) -> str:
    """Of an exhibit that is shown by another case, or on other versions, than the page on Kafka's bugs counts: those
    counts, so that nobody takes them for the same. "" if they are the same.
    """
    exhibit, arm = scenario.get("exhibit"), one["seen"]
    if not exhibit or (arm["case"] == DEFAULT_CASE and list(arm["on"]) == list(exhibit["affected"])):
        return ""
    counts = (f"{shown(scenario['name'], on, data.runs)} on {on}" for on in exhibit["affected"])
    return f"The page on Kafka bugs counts the case {DEFAULT_CASE} on its own versions: {'; '.join(counts)}."


def caption(one: Value, told: Value, text: str) -> str:
    """The words under the picture; of a run of another case than the article's they say so."""
    case = told.get("case", DEFAULT_CASE)
    if not text or case == one["seen"]["case"]:
        return text
    own = "the case of this article" if one["seen"]["case"] == DEFAULT_CASE else f"case {one['seen']['case']}"
    return f"{text} This run is of the case {case}. No picture of {own} is stored."


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
            yield {"version": version, "count": arm["told"][version], "possible": "", "days": "", "runs": ""}
            continue
        runs = telling(cell)
        yield {
            "version": version,
            "count": f"{cell['good']} of {runs}",
            "possible": f"at most {percent(at_most(contradicted(cell), runs))} of attempts do not",
            "days": " to ".join(dict.fromkeys((cell["days"][0], cell["days"][-1]))) if cell["days"] else "",
            "runs": _named(cell["ids"]),
        }


def _named(ids: Sequence[str]) -> str:
    """The names of the first runs, and how many more the ledger has.

    >>> _named(["a", "b"]), _named(list("abcdef"))
    ('a, b', 'a, b, c, d and 2 more')
    """
    more = f" and {len(ids) - NAMES} more" if len(ids) > NAMES else ""
    return ", ".join(ids[:NAMES]) + more


def limits(one: Value, data: Data) -> str:
    """What so few runs do not say."""
    few = {
        words: [version for version, cell in _cells(one[side], data) if cell and 0 < telling(cell) < FEW]
        for side, words in SIDES
    }
    told = [f"{words.lower()}: {', '.join(on)}" for words, on in few.items() if on]
    if not told:
        return f"Each cell that was run has {FEW} runs or more."
    return (
        f"Fewer than {FEW} runs were made here ({'; '.join(told)}). One run proves that it can happen, "
        "not how often it does."
    )
