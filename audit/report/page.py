"""An audit as one self-contained HTML page, in the look of the reports of runs, without script or network."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

from audit import baseline
from audit.grade import GRADES, ORDER, AuditAnswer
from audit.report import words
from evidence.text import visible

TEMPLATES: Final = Path(__file__).parent / "templates"


def render(answer: AuditAnswer, *, style: str, accepted: Collection[str] = ()) -> str:
    """The page. `style` is the style sheet of the reports of runs."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
    from markupsafe import Markup

    def shown(value: object) -> object:
        plain = isinstance(value, str) and not isinstance(value, Markup)
        return visible(str(value), keep="\n\t") if plain or not isinstance(value, str | Markup) else value

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(default=True, enabled_extensions=("html", "j2")),
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("audit.html.j2").render(
        style=Markup(style),
        answer=answer,
        rows=sorted(answer.rows, key=lambda row: -ORDER.index(row.grade)),
        summary=words.summary(answer),
        measured=words.measured(answer),
        grades=GRADES,
        tone=tone,
        grade=words.grade,
        row_grade=words.row_grade,
        headline=words.headline,
        alternatives=words.alternatives,
        producer=words.producer,
        topic=words.topic,
        verb=words.VERB,
        fault=words.fault,
        where=words.where,
        harmless=words.harmless,
        refuses=words.refuses,
        measured_with=words.measured_with,
        ungraded=words.ungraded,
        evidence=words.evidence,
        against_power_loss=words.against_power_loss,
        proved=words.proved,
        fix_text=words.fix,
        costs=words.costs,
        cost_runs=words.cost_runs,
        commands=words.commands,
        accepted=lambda row, finding: baseline.is_accepted(row, finding, accepted),
    )


def tone(letter: str) -> str:
    """The colour of a grade: good, uncertain or bad."""
    return {"A": "good", "B": "uncertain", "?": "uncertain", "-": "uncertain"}.get(letter, "bad")
