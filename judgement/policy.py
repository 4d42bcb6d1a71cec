"""Policy: what the analysis found, held against what the scenario documents.

Detection knows nothing of expectations and this module knows nothing of detection: `judge` is a pure function of four
values (the run's record, its timeline, the findings, what was damaged), so any verdict can be given again from files.

Two questions are asked, in this order.

1. Was something seen that nothing documents or permits? Then the verdict is `unexpected`, whatever else is wrong
   with the run: a record that is gone is gone, also if a fault was not proved or the recorder died later. Not so if
   it was seen in files that other evidence contradicts (judgement/contradicted.py): these prove nothing, and are a
   doubt.
2. Is the run sound? Each of the things listed in `judgement.doubts` (a fault without proof, a blind observer, a dead
   recorder, a check that crashed …) means that what was *not* seen, or *why* something was seen, proves nothing. So
   `not-reproduced` and `as-documented` are given to sound runs only; an unsound one is `error` if the harness
   failed and else `unknown`.

`TABLE` has the answers: the first of its rules that holds gives the verdict. docs/how-a-run-works.md shows it, and a
test compares the two.

For settings of the user's own nothing is documented. Such a run is `observed`: it tells what was seen, and nothing of
that is unexpected. With an expectation (`--expect`) this takes the place of what is documented.

Some anomalies are what Kafka permits under the client's settings, or a documented loss seen from another side. They
are reported and do not fail a run; the catalogue of anomalies says which, and why (checks/catalogue.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from checks import claims
from checks.catalogue import LOST_WRITE, METADATA, consequence, permitted
from evidence.availability import summary
from evidence.course import Course
from evidence.events import Configuration, of
from evidence.run import RunRecord
from judgement import losses, soundness, subjects
from judgement.contradicted import TIMELINE, depends_on
from judgement.doubts import doubts, unshown_claims
from judgement.outcome import of_findings
from judgement.verdict import (
    AS_DOCUMENTED,
    ERROR,
    NOT_REPRODUCED,
    OBSERVED,
    UNEXPECTED,
    UNKNOWN,
    Verdict,
    named_summary,
)

Facts = Mapping[str, Any]
Lines = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """What a run shows, held against what is documented: all that the rules ask. Lines are reasons for people."""

    observed: bool = False
    """Whether the settings are the user's own, so that nothing is documented."""
    unexpected: Lines = ()
    """Names of the anomalies that nothing documents or permits."""
    undocumented: Lines = ()
    """A line for each of these, and for each outcome of a subject that is not stated."""
    refused: Lines = ()
    """Of the lines above, those of outcomes of subjects; some of them no anomaly shows (records that were refused)."""
    failure: Lines = ()
    """What the harness failed with."""
    doubts: Lines = ()
    contradicted: Lines = ()
    """A line for each documented claim that is contradicted."""
    unshown: Lines = ()
    """A line for each documented claim that nothing in the run could show."""
    missing: Lines = ()
    """A line for each documented anomaly, or stated outcome of a subject, that was not seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One line of the table."""

    condition: str
    """In words, as the documentation has them."""
    verdict: str
    holds: Callable[[Weighed], object]
    """Whether it holds: true in Python's sense."""
    reasons: Callable[[Weighed], Lines] = lambda weighed: weighed.undocumented
    """The reasons that the verdict names first, before a failure of the harness and the doubts."""


TABLE: Final = (
    Rule(
        condition="an anomaly was seen that nothing documents or permits",
        verdict=UNEXPECTED,
        holds=lambda weighed: weighed.unexpected,
    ),
    Rule(condition="the harness failed", verdict=ERROR, holds=lambda weighed: weighed.failure),
    Rule(condition="there are doubts", verdict=UNKNOWN, holds=lambda weighed: weighed.doubts),
    Rule(
        condition="records of a subject were refused, which is not stated",
        verdict=UNEXPECTED,
        holds=lambda weighed: weighed.refused,
    ),
    Rule(
        condition="a documented claim is contradicted",
        verdict=UNEXPECTED,
        holds=lambda weighed: weighed.contradicted,
        reasons=lambda weighed: weighed.contradicted,
    ),
    Rule(
        condition="a documented claim was not observed",
        verdict=UNKNOWN,
        holds=lambda weighed: weighed.unshown,
        reasons=lambda weighed: weighed.unshown,
    ),
    Rule(
        condition="a documented anomaly, or a stated outcome, was not seen",
        verdict=NOT_REPRODUCED,
        holds=lambda weighed: weighed.missing,
        reasons=lambda weighed: weighed.missing,
    ),
    Rule(condition="the settings are the user's own", verdict=OBSERVED, holds=lambda weighed: weighed.observed),
    Rule(
        condition="all that is documented was seen, and nothing else", verdict=AS_DOCUMENTED, holds=lambda weighed: True
    ),
)
"""The verdict on a run is that of the first rule that holds."""


def decide(weighed: Weighed) -> tuple[str, Lines]:
    """The verdict, and why: the reasons of the rule, what the harness failed with, and the doubts."""
    rule = next(rule for rule in TABLE if rule.holds(weighed))
    return rule.verdict, (*rule.reasons(weighed), *weighed.failure, *weighed.doubts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What is documented for a run, or expected of it by its user."""

    required: Lines
    allowed: Lines
    observed: bool
    expected: bool
    """Whether the user said what to expect."""
    version: str

    @classmethod
    def of(cls, run: RunRecord) -> Stated:
        return cls(
            required=(run.expect or ()) if run.observed else run.documented.required,
            allowed=() if run.observed else run.documented.allowed,
            observed=run.observed,
            expected=run.expect is not None,
            version=run.version,
        )

    @property
    def option(self) -> str:
        return f"--expect {','.join(self.required) or 'none'}"

    @property
    def unfounded(self) -> str:
        """The end of a line about what is not documented."""
        return (
            f"this is not expected ({self.option})" if self.observed else f"nothing documents this for {self.version}"
        )

    @property
    def founded(self) -> str:
        return f"expected ({self.option})" if self.observed else f"documented for {self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """The findings of a run: those that count, each with what excuses it, and those that prove nothing."""

    everything: tuple[Facts, ...]
    unsupported: tuple[tuple[Facts, str], ...]
    """Findings that depend on a file which other evidence contradicts, with its path: these are a doubt."""
    subjects: subjects.Judged
    """What came of the records of subjects."""
    open: tuple[tuple[Facts, str | None], ...]
    """Findings that are not documented, each with why that is no surprise, or None."""
    losses: Lines
    """A line for each documented loss that has more than the doomed."""
    loss_doubts: Lines

    @property
    def seen(self) -> Lines:
        """Names of all anomalies found."""
        return tuple(sorted({str(finding.get("anomaly")) for finding in self.everything}))

    @property
    def unexpected(self) -> Lines:
        """Names of those that nothing documents or permits."""
        unexcused = {str(finding.get("anomaly")) for finding, excuse in self.open if excuse is None}
        return tuple(sorted(unexcused | ({LOST_WRITE} if self.losses else set()) | self.subjects.unexpected))


def classify(
    run: RunRecord, course: Course, findings: Facts | None, stated: Stated, contradicted: Sequence[str]
) -> Classified:
    """Tell the findings apart: documented, excused, unexpected, without support."""
    everything = tuple((findings or {}).get("findings") or ())
    paths = [*contradicted, *_contradicted_files(run, course, findings)]
    unsupported = tuple((one, path) for one in everything if (path := depends_on(one, paths)) is not None)
    found = [finding for finding in everything if not any(finding is one for one, _ in unsupported)]
    anything = stated.observed and not stated.expected
    named = {str(one.get("anomaly")) for one in everything} if anything else {*stated.required, *stated.allowed}
    configurations = {event.process: event.settings for event in of(course.events, Configuration)}
    of_subjects = subjects.judge(run, findings or {}, found, configurations)
    others = [finding for finding in found if not of_subjects.answers_for(finding)]
    known = {*named, *of_subjects.named}
    held = LOST_WRITE in named and not stated.observed
    # Which sends are doomed the timeline says.
    told = [finding for finding in others if depends_on(finding, paths, METADATA) is None]
    return Classified(
        everything=everything,
        unsupported=unsupported,
        subjects=of_subjects,
        open=tuple(
            (finding, permitted(run, finding) or consequence(finding, everything, known))
            for finding in others
            if finding.get("anomaly") not in named
        ),
        losses=tuple(losses.undocumented(run, course, told) if held else ()),
        loss_doubts=tuple(losses.unnamed(run, others) if held else ()),
    )


def _contradicted_files(run: RunRecord, course: Course, findings: Facts | None) -> list[str]:
    """The files, within the run directory, that the run's other evidence contradicts."""
    named = [str(problem["file"]) for problem in (findings or {}).get("problems") or () if problem.get("file")]
    return named + ([TIMELINE] if soundness.timeline_not_ended(run, course) else [])


def weigh(
    run: RunRecord, stated: Stated, found: Classified, judged: Sequence[Facts], doubted: Sequence[str]
) -> Weighed:
    """What the rules ask. `judged` is what came of the claims, `doubted` what makes the run as a whole prove less."""
    unexcused = [f"{named_summary(finding)}; {stated.unfounded}" for finding, excuse in found.open if excuse is None]
    refused = [f"{line}; {stated.unfounded}" for line in found.subjects.contradictions]
    unsupported = [
        f"{named_summary(one)}; it proves nothing, for it rests on {path}" for one, path in found.unsupported
    ]
    failed = run.state == "failed"
    missing = [f"{name} is {stated.founded} and was not seen" for name in stated.required if name not in found.seen]
    return Weighed(
        observed=stated.observed,
        unexpected=found.unexpected,
        undocumented=(*unexcused, *(f"{line}; {stated.unfounded}" for line in found.losses), *refused),
        refused=tuple(refused),
        failure=(f"the harness failed: {run.failure or 'no reason recorded'}",) if failed else (),
        doubts=(*doubted, *found.loss_doubts, *found.subjects.doubts, *unsupported),
        contradicted=tuple(
            f"the claim {one['name']} is contradicted: {one.get('says')}"
            for one in judged
            if one.get("outcome") == claims.CONTRADICTED
        ),
        unshown=tuple(unshown_claims(claims.declared(run), judged)),
        missing=(*missing, *found.subjects.missing),
    )


def judge(
    run: RunRecord,
    course: Course,
    findings: Facts | None,
    damaged: Sequence[str] = (),
    *,
    contradicted: Sequence[str] = (),
    analysis_failure: str | None = None,
) -> Verdict:
    """The verdict on one run; pure.

    `run` is run.json, `course` what its timeline says, `findings` the analysis' findings (None: there are none),
    `damaged` one line for each thing that could not be read, `contradicted` the files that are not what they were when
    the run was sealed, `analysis_failure` what the analysis said when it failed.
    """
    stated = Stated.of(run)
    judged = [one for one in (findings or {}).get("claims") or () if one.get("name") in claims.declared(run)]
    found = classify(run, course, findings, stated, contradicted)
    doubted = doubts(run, course, findings, damaged, analysis_failure, stated.required)
    weighed = weigh(run, stated, found, judged, doubted)
    verdict, reasons = decide(weighed)
    sound = not weighed.failure and not weighed.doubts
    return Verdict(
        verdict=verdict,
        required=stated.required,
        allowed=stated.allowed,
        seen=found.seen,
        unexpected=found.unexpected,
        missing=tuple(name for name in stated.required if name not in found.seen),
        permitted=tuple(sorted({f"{finding.get('anomaly')}: {excuse}" for finding, excuse in found.open if excuse})),
        reasons=reasons,
        scenario=run.scenario,
        case=run.case,
        version=stated.version,
        seed=run.seed,
        run=run.run,
        seconds=_seconds(run, findings),
        sound=sound,
        outcome=of_findings(run, findings, sound=sound, unsupported=[one for one, _ in found.unsupported]),
        claims=tuple({key: value for key, value in one.items() if key != "evidence"} for one in judged),
        availability=tuple(summary((findings or {}).get("availability") or ())),
    )


def _seconds(run: RunRecord, findings: Facts | None) -> float:
    if run.started_wall_ns is None or run.ended_wall_ns is None:
        return 0.0
    return round((run.ended_wall_ns - run.started_wall_ns) / 1e9 + float((findings or {}).get("seconds") or 0.0), 1)
