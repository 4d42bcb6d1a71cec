"""Policy: the findings of the analysis, compared with the scenario's documentation.

Detection knows nothing of expectations and this module knows nothing of detection: `judge` is a pure function of four
values (the run's record, its timeline, the findings, what was damaged), so any verdict can be given again from files.

Three questions are asked, in this order.

1. Was something seen that nothing documents or permits? Then the verdict is `unexpected`, whatever else is wrong
   with the run: a record that is gone is gone, also if a fault was not proved or the recorder died later. Not so if
   it was seen in files that other evidence contradicts (judgement/contradicted.py): these prove nothing, and are a
   doubt.
2. Did Kafka not do what it owes: is a documented claim contradicted, or did the steps find a duty undone? Then the
   verdict is `unexpected` too, unless a doubt touches what this rests on (judgement/duties.py, judgement/scope.py).
3. Is the run sound? Each of the things listed in `judgement.doubts` (a fault without proof, a blind observer, a dead
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

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from checks import claims
from checks.catalogue import LOST_WRITE, METADATA, consequence, permitted
from checks.excuses import AGAIN_BY_MACHINE, PROCESSED_AGAIN, REORDERED, RETRIED
from evidence.basis import OWN_RUNS, Basis
from evidence.events import Configuration, of
from evidence.findings import ClaimResult, Finding, Findings
from evidence.run import RunRecord
from evidence.run_state import RunState
from judgement import bounds, losses, soundness, subjects
from judgement.contradicted import TIMELINE, depends_on
from judgement.doubts import doubts, unshown_claims
from judgement.duties import Contradiction, contradictions
from judgement.outcome_of_findings import of_findings
from judgement.scope import ON_RECORD, Doubt
from judgement.verdict import (
    AS_DOCUMENTED,
    ERROR,
    NOT_REPRODUCED,
    OBSERVED,
    UNEXPECTED,
    UNKNOWN,
    DocumentedAnomalies,
    Name,
    Verdict,
)

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
    """A line for each thing that Kafka owes and did not do, a documented claim or a duty, and that no doubt touches."""
    unshown: Lines = ()
    """A line for each documented claim that nothing in the run could show."""
    missing: Lines = ()
    """A line for each documented anomaly, or stated outcome of a subject, that was not seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRule:
    """One line of the table."""

    condition: str
    """In words, as the documentation has them."""
    verdict: Name
    holds: Callable[[Weighed], object]
    """Whether it holds: true in Python's sense."""
    reasons: Callable[[Weighed], Lines] = lambda weighed: weighed.undocumented
    """The reasons that the verdict names first, before a failure of the harness and the doubts."""


TABLE: Final = (
    VerdictRule(
        condition="an anomaly was seen that nothing documents or permits",
        verdict=UNEXPECTED,
        holds=lambda weighed: weighed.unexpected,
    ),
    VerdictRule(
        condition="a documented claim is contradicted, or a duty of Kafka was not done, and no doubt touches that",
        verdict=UNEXPECTED,
        holds=lambda weighed: weighed.contradicted,
        reasons=lambda weighed: weighed.contradicted,
    ),
    VerdictRule(condition="the harness failed", verdict=ERROR, holds=lambda weighed: weighed.failure),
    VerdictRule(condition="there are doubts", verdict=UNKNOWN, holds=lambda weighed: weighed.doubts),
    VerdictRule(
        condition="records of a subject were refused, which is not stated",
        verdict=UNEXPECTED,
        holds=lambda weighed: weighed.refused,
    ),
    VerdictRule(
        condition="a documented claim was not observed",
        verdict=UNKNOWN,
        holds=lambda weighed: weighed.unshown,
        reasons=lambda weighed: weighed.unshown,
    ),
    VerdictRule(
        condition="a documented anomaly, or a stated outcome, was not seen",
        verdict=NOT_REPRODUCED,
        holds=lambda weighed: weighed.missing,
        reasons=lambda weighed: weighed.missing,
    ),
    VerdictRule(condition="the settings are the user's own", verdict=OBSERVED, holds=lambda weighed: weighed.observed),
    VerdictRule(
        condition="all that is documented was seen, and nothing else", verdict=AS_DOCUMENTED, holds=lambda weighed: True
    ),
)
"""The verdict on a run is that of the first rule that holds."""


def decide(weighed: Weighed) -> tuple[Name, Lines]:
    """The verdict, and why: the reasons of the rule, what the harness failed with, and the doubts."""
    rule = next(rule for rule in TABLE if rule.holds(weighed))
    return rule.verdict, (*rule.reasons(weighed), *weighed.failure, *weighed.doubts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What is documented for a run, or expected of it by its user."""

    documented: DocumentedAnomalies
    claims: Lines
    observed: bool
    """Whether the settings are the user's own."""
    expected: bool
    """Whether the user said what to expect."""
    version: str
    basis: str = ""
    """On what the documented outcome rests (evidence/basis.py)."""

    @classmethod
    def of(cls, run: RunRecord) -> Expectation:
        return cls(
            documented=DocumentedAnomalies(
                required=(run.expect or ()) if run.observed else run.documented.required,
                allowed=() if run.observed else run.documented.allowed,
            ),
            claims=tuple(claims.declared(run)),
            observed=run.observed,
            expected=run.expect is not None,
            version=run.version,
            basis=run.documented.basis,
        )

    def named(self, seen: Iterable[str]) -> set[str]:
        """The anomalies that are no surprise: the documented ones, or whatever was `seen` where nothing is documented
        or expected.
        """
        anything = self.observed and not self.expected
        return set(seen) if anything else {*self.documented.required, *self.documented.allowed}

    @property
    def option(self) -> str:
        return f"--expect {','.join(self.documented.required) or 'none'}"

    @property
    def unfounded(self) -> str:
        """The end of a line about what is not documented."""
        if self.observed:
            return f"this is not expected ({self.option})"
        return f"nothing documents this for {self.version}"

    @property
    def founded(self) -> str:
        if self.observed:
            return f"expected ({self.option})"
        if self.basis == Basis.MEASURED:
            return f"stated for {self.version} ({OWN_RUNS} say so)"
        return f"documented for {self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """The findings of a run told apart."""

    everything: tuple[Finding, ...]
    unsupported: tuple[tuple[Finding, str], ...]
    """Findings that depend on a file which other evidence contradicts, with its path: these are a doubt."""
    subjects: subjects.JudgedSubjects
    """What came of the records of subjects."""
    undocumented: tuple[tuple[Finding, str | None], ...]
    """The others that are not documented, each with why that is no surprise, or None."""
    losses: Lines
    """A line for each documented loss of more than the records whose loss the scenario expects."""
    out_of_bounds: tuple[tuple[str, str], ...]
    """Of other documented anomalies, those where none is documented (judgement/bounds.py): the name, and a line."""
    loss_doubts: Lines

    @property
    def seen(self) -> Lines:
        """Names of all anomalies found."""
        return tuple(sorted({finding.anomaly for finding in self.everything}))

    @property
    def unexpected(self) -> Lines:
        """Names of those that nothing documents or permits."""
        unexcused = {finding.anomaly for finding, excuse in self.undocumented if excuse is None}
        beyond = {name for name, _ in self.out_of_bounds} | ({LOST_WRITE} if self.losses else set())
        return tuple(sorted(unexcused | beyond | self.subjects.unexpected))


def classify(
    run: RunRecord, run_state: RunState, findings: Findings, stated: Expectation, contradicted: Sequence[str]
) -> Classified:
    """Tell the findings apart: documented, excused, unexpected, without support."""
    paths = [*contradicted, *_contradicted_files(run, run_state, findings)]
    unsupported = tuple((one, path) for one in findings.findings if (path := depends_on(one, paths)) is not None)
    found = [finding for finding in findings.findings if not any(finding is one for one, _ in unsupported)]
    configurations = {event.process: event.settings for event in of(run_state.events, Configuration)}
    of_subjects = subjects.judge(run, findings, found, configurations)
    others = [finding for finding in found if not of_subjects.answers_for(finding)]
    named = stated.named(findings.seen)
    known = {*named, *of_subjects.named}
    held = LOST_WRITE in named and not stated.observed
    # The timeline says which sends the scenario expects to be lost.
    told = [finding for finding in others if held and depends_on(finding, paths, METADATA) is None]
    undocumented = tuple(
        (finding, permitted(run, finding, run_state) or consequence(finding, findings.findings, known))
        for finding in others
        if finding.anomaly not in named
    )
    return Classified(
        everything=findings.findings,
        unsupported=unsupported,
        subjects=of_subjects,
        undocumented=undocumented,
        out_of_bounds=() if stated.observed else tuple(_out_of_bounds(run, run_state, others, named)),
        losses=tuple(losses.undocumented(run, run_state, told)),
        loss_doubts=(
            *losses.unnamed(run, others if held else ()),
            *_unlisted(undocumented),
            *_by_machine(undocumented),
        ),
    )


def _out_of_bounds(
    run: RunRecord, run_state: RunState, found: Iterable[Finding], named: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Of the findings with a documented name, those that what is documented does not cover: the name, and a line."""
    for one in found:
        why = bounds.out_of_bounds(run, run_state, one) if one.anomaly in named else None
        if why is not None:
            yield one.anomaly, f"{one.named_summary}, but {why}"


def _unlisted(undocumented: Iterable[tuple[Finding, str | None]]) -> Iterator[str]:
    """A doubt for each permitted repetition that lists some of its records only: whether the others have that excuse
    cannot be told.
    """
    for one, excuse in undocumented:
        if excuse in UNLISTED and not one.whole:
            listed = f"{one.anomaly}: {len(one.evidence)} of {one.count} in {one.place} are listed"
            yield f"{listed}; whether the others {UNLISTED[excuse]} cannot be told"


def _by_machine(undocumented: Iterable[tuple[Finding, str | None]]) -> Iterator[str]:
    """A doubt for each repetition that nothing explains but the machine."""
    yield from (f"{one.named_summary}; {excuse}" for one, excuse in undocumented if excuse == AGAIN_BY_MACHINE)


UNLISTED: Final[Mapping[str | None, str]] = {
    RETRIED: "were in flight when something happened",
    REORDERED: "were in flight when something happened",
    PROCESSED_AGAIN: "followed something that disturbed a member",
    AGAIN_BY_MACHINE: "followed something that disturbed a member",
}
"""What is to be known of each occurrence that an excuse covers."""


def _contradicted_files(run: RunRecord, run_state: RunState, findings: Findings) -> list[str]:
    """The files, within the run directory, that the run's other evidence contradicts."""
    named = [problem.file for problem in findings.problems if problem.file]
    return named + ([TIMELINE] if soundness.timeline_not_ended(run, run_state) else [])


def weigh(
    run: RunRecord,
    stated: Expectation,
    found: Classified,
    judged: Sequence[ClaimResult],
    doubted: Sequence[Doubt],
    undone: Sequence[Contradiction],
    run_state: RunState,
) -> Weighed:
    """What the rules ask. `judged` is what came of the claims, `doubted` what makes the run as a whole prove less,
    `undone` what Kafka owes and did not do, `run_state` when the machine stood still and processes waited for a CPU.
    """
    refused = [f"{line}; {stated.unfounded}" for line in found.subjects.contradictions]
    undocumented = [one.named_summary for one, excuse in found.undocumented if excuse is None]
    undocumented += [*found.losses, *(line for _, line in found.out_of_bounds)]
    touched = [
        (
            one,
            one.doubted(_with_failure(run, doubted))
            or one.stood_still(run_state.still)
            or one.slowed(run_state)
            or one.brought_about(),
        )
        for one in undone
    ]
    return Weighed(
        observed=stated.observed,
        unexpected=found.unexpected,
        undocumented=(*(f"{line}; {stated.unfounded}" for line in undocumented), *refused),
        refused=tuple(refused),
        failure=_failure(run),
        doubts=(
            *(doubt.text for doubt in doubted),
            *(f"{one.text}; it proves nothing, for {doubt.text}" for one, doubt in touched if doubt is not None),
            *found.loss_doubts,
            *found.subjects.doubts,
            *(f"{one.named_summary}; it proves nothing, for it rests on {path}" for one, path in found.unsupported),
        ),
        contradicted=tuple(one.text for one, doubt in touched if doubt is None),
        unshown=tuple(unshown_claims(stated.claims, judged)),
        missing=(
            *(f"{name} is {stated.founded} and was not seen" for name in _missing(stated, found)),
            *found.subjects.missing,
        ),
    )


def _failure(run: RunRecord) -> Lines:
    failed = run.state == "failed"
    return (f"the harness failed: {run.failure or 'no reason recorded'}",) if failed else ()


def _with_failure(run: RunRecord, doubted: Sequence[Doubt]) -> list[Doubt]:
    """The doubts, and that the harness failed before the final part had ended: what then did not happen may never have
    been asked of Kafka.
    """
    ended = run.sequence is not None and run.sequence.faults is not None
    failed = run.state == "failed" and not ended
    return [*doubted, *([Doubt("the harness failed before the run had come to its end", ON_RECORD)] if failed else [])]


def _missing(stated: Expectation, found: Classified) -> Lines:
    return tuple(name for name in stated.documented.required if name not in found.seen)


def judge(
    run: RunRecord,
    run_state: RunState,
    findings: Findings | None,
    damaged: Sequence[str] = (),
    *,
    contradicted: Sequence[str] = (),
    analysis_failure: str | None = None,
) -> Verdict:
    """The verdict on one run; pure.

    `run` is run.json, `run_state` what its timeline says, `findings` the analysis' findings (None: there are none),
    `damaged` one line for each thing that could not be read, `contradicted` the files that are not what they were when
    the run was sealed, `analysis_failure` what the analysis said when it failed.
    """
    stated, known = Expectation.of(run), findings or Findings(findings=())
    judged = [one for one in known.claims if one.name in stated.claims]
    found = classify(run, run_state, known, stated, contradicted)
    doubted = doubts(run, run_state, findings, damaged, analysis_failure, stated.documented.required)
    undone = contradictions(run, run_state, judged, duties=not stated.observed)
    weighed = weigh(run, stated, found, judged, doubted, undone, run_state)
    verdict, reasons = decide(weighed)
    sound = not weighed.failure and not weighed.doubts
    return Verdict(
        verdict=verdict,
        documented=stated.documented,
        unconfirmed=run.documented.unconfirmed,
        build="; ".join(one.in_words for one in run.own_builds),
        seen=found.seen,
        unexpected=found.unexpected,
        missing=_missing(stated, found),
        permitted=tuple(sorted({f"{one.anomaly}: {excuse}" for one, excuse in found.undocumented if excuse})),
        reasons=reasons,
        scenario=run.scenario,
        case=run.case,
        version=stated.version,
        seed=run.seed,
        run=run.run,
        seconds=_seconds(run, known),
        sound=sound,
        outcome=of_findings(run, findings, run_state, sound=sound, unsupported=[one for one, _ in found.unsupported]),
        claims=tuple(replace(one, evidence=()) for one in judged),
        availability=tuple(one.figures for one in known.availability),
        paces=known.paces,
    )


def _seconds(run: RunRecord, findings: Findings) -> float:
    """From the start of the run to its end, and the analysis; 0 if the run has no end."""
    if run.ended_wall_ns is None:
        return 0.0
    return round((run.ended_wall_ns - run.started_wall_ns) / 1e9 + findings.seconds, 1)
