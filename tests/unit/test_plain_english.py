"""Plain English in what people read: short sentences, subject first, none of the patterns that read like riddles.

Three kinds of text, and what is asked of each:

- *pages*: README, CONTRIBUTING, SECURITY and docs/; the templates of pages in Markdown; the texts that pages are built
  from (scenarios, their advice, cases and bugs, claims, anomalies, faults, statements); and every help text. All rules
  hold for them.
- *messages*: the strings of four words or more in the code (errors, reasons of verdicts, headings, progress) and the
  templates of reports and of the site. They are fragments, so neither length nor beginning says anything: the worst
  patterns are banned.
- *notes*: the docstring of each module, its design note. The worst patterns are banned, and long sentences. In the
  docstrings of functions and classes a few pronouns without a noun are banned, such as "for one that is none".
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from app.options import parser
from checks import claims
from checks.catalogue import EVERY
from evidence.faults import KINDS
from harness.scenario import all_scenarios
from pages.statements.documents import STATEMENTS
from results import explained

ROOT = Path(__file__).parents[2]
ROOMS = ("analysis", "app", "audit", "checks", "evidence", "harness", "judgement", "kafka_chaos", "kafkafiles", "pages")
LONGEST = 36
"""Words of a sentence of a page."""
LONGEST_OF_NOTES = 34
"""Words of a sentence of a design note."""
WORST = re.compile(
    r"\b(ends? (?:itself|themselves)|ended (?:itself|themselves)|goes on|went on|go on|going on|for ever"
    r"|(?-i:is none|are none)"
    r"|comes? no further|came no further|made good|leads on|held against|to be had|in (?:its|their) turn"
    r"|for want of)\b",
    re.IGNORECASE,
)
"""Riddles, and words of another century."""
WITHOUT_NOUN = re.compile(
    r"(?<!there )\b(?:is|are) none\b(?! of)|\bnone's\b|\bthose of which\b|\bfor ever\b|\bfor want of\b|\bto be had\b",
)
"""What a docstring of a function or a class must not have: a pronoun whose noun is to be guessed, and such words."""
UNPLAIN = re.compile(
    r"\b(meanwhile|is told|are told|by which|for so long|but for|hears? of|heard of|of whom"
    r"|in 1 (?:runs|releases|records)"
    r"|so (?:many|much) (?!as\b|that\b|for\b|of the\b)\w+)\b|\b\d+/\d+ \d+/\d+\b|do not edit",
    re.IGNORECASE,
)
"""A pronoun without a noun, a passive without a subject, a figure without its meaning."""
BEGINNING = re.compile(
    r"[^\w<`]*(?:What|Which|Whoever|Whatever|Whose|Of (?!course\b)|That (?:is|was|holds|means|needs)\b)(?!.*\?\W*$)"
)
"""A sentence that begins with its object, or with a pronoun; a question may."""
TAG = re.compile(r"\{[{%#].*?[}%#]\}", re.DOTALL)
STATEMENT = re.compile(r"^\s*\{%.*?%\}\n|\{[%#].*?[%#]\}", re.DOTALL | re.MULTILINE)
PRINTED = re.compile(r"\{\{.*?\}\}", re.DOTALL)
"""What a template does, and what it prints: a word."""
HEADING = re.compile(r"#+ ")
ASIDE = re.compile(r"\([^()]*\)|\([^()]*$|^[^()]*\)")
"""What is in parentheses counts as no word: sources, settings, units."""
WORD = re.compile(r"\S*\w\S*")
FENCED = re.compile(r"```.*?```|<!--.*?-->|^    .*?$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\([^)\s]*\)")
CODE = re.compile(r"`[^`]+`")
BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.))|(?<=[^\\])\|")
END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`\"(*\[“])")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text in Markdown: those of each paragraph, item and cell. A code span is one word."""
    plain = CODE.sub("`code`", LINK.sub("]", FENCED.sub("", text)))
    for block in BLOCK.split(plain):
        yield from END.split(" ".join(block.split()))


def faults(text: str) -> list[str]:
    """The sentences of a page that break a rule."""
    return [one for one in sentences(text) if fault(one)]


def words(sentence: str) -> int:
    """How many words count."""
    return len(WORD.findall(ASIDE.sub("", sentence)))


def fault(sentence: str) -> str:
    """Which rule a sentence of a page breaks; "" for none."""
    if words(sentence) > LONGEST:
        return f"more than {LONGEST} words"
    if BEGINNING.match(sentence) and not HEADING.match(sentence):
        return "its subject is not first"
    found = WORST.search(sentence) or UNPLAIN.search(sentence)
    return f"“{found[0]}”" if found else ""


def helps(made: argparse.ArgumentParser) -> Iterator[str]:
    """Every help text of a command and of those below it."""
    yield from (made.description or "", *(made.epilog or "").splitlines())
    for action in made._actions:
        yield action.help or ""
        if isinstance(action, argparse._SubParsersAction):
            yield from (choice.help or "" for choice in action._choices_actions)
            for below in action.choices.values():
                yield from helps(below)


def pages() -> Iterator[tuple[str, str]]:
    """Each text of the kind *pages*, by its name."""
    for name, made in all_scenarios().items():
        yield f"story of {name}", ast.get_docstring(ast.parse(Path(made.path).read_text())) or ""
        yield f"advice of {name}", made.operator
        yield f"claim of {name}", made.claim
        for case in made.cases.values():
            for outcome in case.documented:
                yield f"{name}, case {case.name}, on {outcome.on.label}", " ".join(outcome.sentence.split())
        if made.exhibit:
            yield f"bug of {name}", f"{made.exhibit.bug.title}.\n\n{made.exhibit.bug.whom}."
    yield from ((f"definition of {one.name}", one.definition) for one in claims.EVERY)
    yield from ((f"definition of {one.name}", one.definition) for one in EVERY)
    for kind, proof in KINDS.items():
        yield f"proof of {kind}", proof.__doc__ or ""
    for statement in STATEMENTS:
        yield f"statement {statement.number}", f"{statement.sentence}\n\n{statement.corrected}"
    for one in explained.entries():
        yield f"why {one.runs[0]} did not end as documented", f"{one.why}\n\n{one.followed}"
    for path in sorted((ROOT / "pages" / "templates").glob("*.md.j2")):
        yield path.name, STATEMENT.sub("", PRINTED.sub("x", path.read_text()))
    yield "--help", "\n\n".join(helps(parser()))
    generated = set((ROOT / ".gitignore").read_text().splitlines())
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "compose" / "README.md"):
        name = str(path.relative_to(ROOT))
        if f"/{name}" not in generated and not path.name.startswith("audit-matrix") and name != "CHANGELOG.md":
            yield name, path.read_text()


@cache
def modules() -> dict[str, ast.Module]:
    """Each module of the program, parsed."""
    return {
        str(path.relative_to(ROOT)): ast.parse(path.read_text())
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
    }


def strings(module: ast.Module) -> Iterator[str]:
    """The strings of four words or more that are no docstrings."""
    notes = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes:
            yield from [node.value] if len(node.value.split()) >= 4 else []


def test_pages_are_plain() -> None:
    bad = [f"{name}: {fault(one)}: {one}" for name, text in pages() for one in faults(text)]
    assert not bad, "\n".join(["", *bad])


def test_messages_are_plain() -> None:
    found = [(name, text) for name, module in modules().items() for text in strings(module)]
    found += [
        (str(path.relative_to(ROOT)), TAG.sub("", path.read_text()))
        for room in ("judgement", "pages")
        for path in sorted((ROOT / room).rglob("*.j2"))
    ]
    bad = [
        f"{name}: “{worst[0]}”: {' '.join(text.split())[:200]}" for name, text in found if (worst := WORST.search(text))
    ]
    assert not bad, "\n".join(["", *bad])


def test_design_notes_are_plain() -> None:
    notes = [(name, one) for name, module in modules().items() for one in sentences(ast.get_docstring(module) or "")]
    bad = [f"{name}: “{worst[0]}”: {one}" for name, one in notes if (worst := WORST.search(one))]
    bad += [f"{name}: {words(one)} words: {one}" for name, one in notes if words(one) > LONGEST_OF_NOTES]
    assert not bad, "\n".join(["", *bad])


def definitions(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Each function and class with its docstring, in one line."""
    for node in ast.walk(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, " ".join((ast.get_docstring(node) or "").split())


def test_docstrings_name_what_they_mean() -> None:
    found = [(f"{name}: {what}", told) for name, module in modules().items() for what, told in definitions(module)]
    bad = [f"{what}: “{worst[0]}”: {told}" for what, told in found if (worst := WITHOUT_NOUN.search(told))]
    assert not bad, "\n".join(["", *bad])


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("What is lost is lost.", "its subject is not first"),
        ("Of these runs none lost a record.", "its subject is not first"),
        ("That is the bug.", "its subject is not first"),
        ("**What it does.**", "its subject is not first"),
        ("The broker ends itself.", "“ends itself”"),
        ("Replicas differ for ever.", "“for ever”"),
        ("The leader goes on leading.", "“goes on”"),
        ("The old controller is none.", "“is none”"),
        ("Meanwhile a follower dies.", "“Meanwhile”"),
        ("It was seen in 1 runs.", "“in 1 runs”"),
        ("double-failover: 5/5 15/15 claims", "“5/5 15/15”"),
        ("Wait until so many records are read.", "“so many records”"),
        (" ".join(["word"] * (LONGEST + 1)), f"more than {LONGEST} words"),
        ("- plain\n- It is none.", "“is none”"),
        ("| a | b |\n|---|---|\n| fine | Whoever leads has the record. |", "its subject is not first"),
    ],
)
def test_a_bad_sentence_is_found(sentence: str, rule: str) -> None:
    assert [fault(one) for one in faults(sentence)] == [rule]


@pytest.mark.parametrize(
    "sentence",
    [
        "That record is lost on any release.",
        "Which log lines tell of a cause?",
        "## What counts",
        "Of course a follower may lag.",
        "`What is lost` is the name of a page.",
        "It needs 40 runs: so many that one night is not enough.",
        "[A page](what-is-on-disk.md)",
    ],
)
def test_a_plain_sentence_passes(sentence: str) -> None:
    assert faults(sentence) == []


def test_code_is_no_prose() -> None:
    text = "Fine.\n\n    goes on\n\n```\nfor ever\n```\n\nWhat was lost is gone."
    assert faults(text) == ["What was lost is gone."]
