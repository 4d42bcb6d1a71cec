"""An audit for a terminal: a block for each producer and topic, worst first, and the count of grades at the end."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Sequence

from audit import baseline
from audit.grade import EFFECTS, ORDER, REFUSED, REFUSED_SENDS, AuditAnswer, ProducerCase, ProducerRow
from audit.owners import owners_of
from audit.report import words
from evidence.text import plural, visible

INDENT = "     "
LABEL = 14


def render(answer: AuditAnswer, *, accepted: Collection[str] = (), width: int = 100, quiet: bool = False) -> str:
    """The whole answer; with `quiet` only a line each, and what could not be read."""
    lines: list[str] = []
    ordered = sorted(answer.rows, key=lambda row: -ORDER.index(row.grade))
    if quiet:
        lines += [line for row in ordered for line in _brief(row)]
    else:
        for alike in _folded(ordered, accepted, width):
            lines += [*alike, ""]
    lines += _problems(answer, width)
    if passed := words.passed_over(answer):
        lines += [*_wrapped(passed, width, first="", then="  "), ""]
    if answer.rows:
        lines += [words.summary(answer), *([] if quiet else [words.measured(answer)])]
    return "\n".join(visible(line) for line in lines) + "\n"


def _folded(rows: Sequence[ProducerRow], accepted: Collection[str], width: int) -> Iterator[list[str]]:
    """A block for each row; of rows of which the same is said one, with the names of the others."""
    groups: dict[tuple[str, ...], list[tuple[ProducerRow, str]]] = {}
    for row in rows:
        first, *body = block(row, accepted, width)
        groups.setdefault((words.row_grade(row), *body), []).append((row, first))
    for (_, *body), alike in groups.items():
        others = "; ".join(f"{row.name} ({row.producer.origin})" for row, _ in alike[1:])
        said = _labelled(f"and {len(alike) - 1} more", others, width) if others else ()
        yield [alike[0][1], *said, *body]


def _brief(row: ProducerRow) -> list[str]:
    return [f"{words.row_grade(row):12} {row.name}  {row.producer.origin}  {row.reason}"]


def block(row: ProducerRow, accepted: Collection[str] = (), width: int = 100) -> Iterator[str]:
    """What is said of one producer and topic, in lines."""
    told = words.alternatives(row)
    condition, worst = told[0]
    yield f"{words.row_grade(row):4} {row.name}   {row.producer.origin}"
    yield from _wrapped(row.reason[0].upper() + row.reason[1:] + ".", width)
    if condition:
        yield from _labelled("that is if", condition, width)
    if owners := owners_of(row.producer.origin.path):
        yield from _labelled("owners", " ".join(owners), width)
    yield from _case(row, worst, accepted, width)
    for condition, case in told[1:]:
        yield from _labelled("but if", f"{condition or 'otherwise'}: {words.grade(case)}, {case.reason}", width)
        yield from _proved(case, width)


def _case(row: ProducerRow, case: ProducerCase, accepted: Collection[str], width: int) -> Iterator[str]:
    yield from _labelled("producer", words.flat(words.producer(case)), width)
    if case.grade == REFUSED:
        return
    yield from _labelled("topic", words.flat(words.topic(case)), width)
    for effect in EFFECTS:
        label = words.VERB[effect]
        for finding in case.has(effect):
            mark = " [accepted]" if baseline.is_accepted(row, finding, accepted) else ""
            text = f"{finding.fault}: {finding.count} of {finding.run.acknowledged} ({words.evidence(finding)}){mark}"
            yield from _labelled(label, text, width)
            label = ""
    if refused := words.refuses(case):
        yield from _labelled("refuses", refused, width)
    if told := words.measured_with(case):
        yield from _labelled("measured", told, width)
    label = "policy"
    accepted_ones = {one for one in case.breaches if baseline.is_accepted(row, one, accepted)}
    refusals = [one for one in case.breaches if one.fault.startswith(REFUSED_SENDS) and one not in accepted_ones]
    if refusals:
        yield from _labelled(label, words.refused_sends(refusals), width)
        label = ""
    for breach in (one for one in case.breaches if one not in refusals):
        mark = " [accepted]" if breach in accepted_ones else ""
        yield from _labelled(label, f"{breach.letter}: {breach.sentence} ({breach.source}){mark}", width)
        label = ""
    label = "power loss"
    for finding in case.ungraded:
        mark = " [accepted]" if baseline.is_accepted(row, finding, accepted) else ""
        yield from _labelled(label, f"{words.ungraded(finding)} ({words.evidence(finding)}){mark}", width)
        label = ""
    if case.ungraded:
        yield from _labelled("", words.against_power_loss(case), width)
    yield from _proved(case, width)
    if case.harmless:
        yield from _labelled("no harm", words.harmless(case), width)
    if case.not_measured:
        yield from _labelled("not measured", words.not_measured(case), width)
        yield from _labelled("to measure", "; ".join(words.commands(case)), width)
    label = "change"
    for fix in case.fixes:
        costs = words.costs(fix)
        text = words.fix(case, fix) + (f"; {costs}" if costs else "; what it costs is not measured often enough")
        yield from _labelled(label, text, width)
        label = "or"
    if case.findings and not case.fixes:
        yield from _labelled("change", "no measured change of one or two settings removes any of it", width)
    for text in (*case.resolved.remarks, *case.topic.remarks):
        yield from _labelled("note", text, width)
    if case.topic.assumed:
        yield from _labelled("assumed", "; ".join(case.topic.assumed), width)


def _proved(case: ProducerCase, width: int) -> Iterator[str]:
    label = "proved"
    for text in words.proved(case):
        yield from _labelled(label, text, width)
        label = ""


def _problems(answer: AuditAnswer, width: int) -> Iterator[str]:
    if answer.problems:
        count = len(answer.problems)
        yield f"{plural(count, 'remark')} on what was read:"
        for text in words.remarks(answer.problems):
            yield from _wrapped(f"- {text}", width, first="", then="  ")
        yield ""


def _labelled(label: str, text: str, width: int) -> Iterator[str]:
    yield from _wrapped(text, width, first=f"{INDENT}{label:{LABEL}}", then=INDENT + " " * LABEL)


def _wrapped(text: str, width: int, *, first: str = INDENT, then: str = INDENT) -> list[str]:
    return textwrap.wrap(
        visible(text), width, initial_indent=first, subsequent_indent=then,
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip
