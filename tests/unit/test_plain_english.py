"""Plain English in what people read: no sentence is too long, and the worst patterns are in none.

Read here: advice to operators, what scenarios claim, the definitions of claims and anomalies, statements, every help
text of the command line, README and the pages of docs/.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.options import parser
from checks import claims
from checks.catalogue import EVERY
from harness.scenario import all_scenarios
from pages.statements.documents import STATEMENTS

ROOT = Path(__file__).parents[2]
LONGEST = 40
"""Words of a sentence."""
WORST = re.compile(
    r"\b(ends? itself|ended itself|goes on|went on|go on|is none|are none|for ever|comes no further|made good|leads on"
    r"|held against|to be had|in its turn)\b|^What \S.*\b(is|was|are)\b",
    re.IGNORECASE,
)
TO_BE_READ_AGAIN = {
    "adding-an-audit-format.md",
    "analysis-at-scale.md",
    "anomalies.md",  # made of definitions, which are read here; its excuses and limits are not
    "claims.md",  # made of definitions, which are read here; its bounds and sources are not
    "histories-of-others.md",
    "kafka-files.md",
    "mutants.md",
    "recall.md",
    "sabotage.md",
    "spark-cluster.md",
    "writing-a-claim.md",
    "writing-a-fault.md",
    "writing-a-scenario.md",
    "writing-an-anomaly.md",
}
"""Pages for developers that wait for their rewrite. This set only shrinks."""
NOT_PROSE = re.compile(r"```.*?```|<!--.*?-->|^    .*?$", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.))|(?<=[^\\])\|")
END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`\"(*\[“])")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text in Markdown: those of each paragraph, item and cell."""
    for block in BLOCK.split(NOT_PROSE.sub("", text)):
        yield from END.split(" ".join(block.split()))


def faults(text: str) -> list[str]:
    """The sentences that are too long or have one of the worst patterns."""
    return [one for one in sentences(text) if len(one.split()) > LONGEST or WORST.search(one)]


def helps(made: argparse.ArgumentParser) -> Iterator[str]:
    """Every help text of a command and of those below it."""
    yield from filter(None, (made.description, made.epilog))
    for action in made._actions:
        yield action.help or ""
        if isinstance(action, argparse._SubParsersAction):
            yield from (choice.help or "" for choice in action._choices_actions)
            for below in action.choices.values():
                yield from helps(below)


def texts() -> dict[str, str]:
    """What is read, by its name."""
    found = {f"advice of {name}": made.operator for name, made in all_scenarios().items()}
    found |= {f"claim of {name}": made.claim for name, made in all_scenarios().items()}
    found |= {f"claim {one.name}": one.definition for one in claims.EVERY}
    found |= {f"anomaly {one.name}": one.definition for one in EVERY}
    found |= {f"statement {one.number}": f"{one.sentence}\n\n{one.corrected}" for one in STATEMENTS}
    found |= {"--help": "\n\n".join(helps(parser()))}
    pages = (path for path in (ROOT / "docs").glob("*.md") if path.name not in TO_BE_READ_AGAIN)
    generated = set((ROOT / ".gitignore").read_text().splitlines())
    mine = [
        path for path in pages if f"/docs/{path.name}" not in generated and not path.name.startswith("audit-matrix")
    ]
    return found | {path.name: path.read_text() for path in (ROOT / "README.md", ROOT / "SECURITY.md", *mine)}


def test_what_people_read_is_plain() -> None:
    bad = [f"{name}: {one}" for name, text in sorted(texts().items()) for one in faults(text)]
    assert bad == [], "\n".join(["", *bad])


@pytest.mark.parametrize(
    "sentence",
    [
        "What is lost is lost.",
        "The broker ends itself.",
        "Replicas differ for ever.",
        "The leader goes on leading.",
        " ".join(["word"] * (LONGEST + 1)),
        "- plain\n- It is none.",
        "| a | b |\n|---|---|\n| fine | What the leader had is gone. |",
    ],
)
def test_a_bad_sentence_is_found(sentence: str) -> None:
    assert len(faults(sentence)) == 1


def test_code_is_no_prose() -> None:
    assert faults("Fine.\n\n    goes on\n\n```\nfor ever\n```\n\nWhat was lost is gone.") == ["What was lost is gone."]


def test_pages_that_wait_exist() -> None:
    assert [name for name in TO_BE_READ_AGAIN if not (ROOT / "docs" / name).exists()] == []
