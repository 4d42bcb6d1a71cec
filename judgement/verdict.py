"""Policy: what the analysis found, held against what the scenario documents.

Detection knows nothing of expectations and this module knows nothing of detection: `judge` is a pure function of four
values (the run's facts, its timeline, the findings, what was damaged), so any verdict can be given again from files.

Two questions are asked, in this order.

1. Was something seen that nothing documents or permits? Then the verdict is `unexpected`, whatever else is wrong
   with the run: a record that is gone is gone, also if a fault was not proved or the recorder died later. Not so if
   it was seen in files that something refutes (judgement/refuted.py): these prove nothing, and are a doubt.
2. Is the run sound? Each of the things listed in `doubts` (a fault without proof, a blind observer, a dead recorder,
   a check that crashed …) means that what was *not* seen, or *why* something was seen, proves nothing. So
   `not-reproduced` and `as-documented` are given to sound runs only; an unsound one is `error` if the harness
   failed and else `unknown`.

    |                                  | sound          | doubts only | harness failed |
    |----------------------------------|----------------|-------------|----------------|
    | something undocumented seen      | unexpected     | unexpected  | unexpected     |
    | a required anomaly not seen      | not-reproduced | unknown     | error          |
    | a claim contradicted             | unexpected     | unknown     | error          |
    | a claim not observed             | unknown        | unknown     | error          |
    | all required seen, nothing else  | as-documented  | unknown     | error          |

For settings of the user's own nothing is documented. Such a run is `observed`: it tells what was seen, and nothing of
that is unexpected. With an expectation (`--expect`) this takes the place of what is documented in the table above.

The order of severity (unexpected > not-reproduced > error > unknown > observed > as-documented) ranks verdicts of a
suite, where each is already established; it is not the order of the questions.

Some anomalies are what Kafka permits under the client's settings, or a documented loss seen from another side. They
are reported and do not fail a run; the catalogue of anomalies says which, and why (checks/catalogue.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from checks import claims
from checks.catalogue import LOST_WRITE, METADATA, consequence, permitted
from evidence import errors, manifest
from evidence.availability import summary
from evidence.course import Course
from evidence.events import DEATHS, Configuration, Precondition, of
from evidence.rundir import DEFAULT_CASE, SCHEMA, RunDir, read_json
from judgement import losses, soundness, subjects
from judgement.outcome import Outcome, of_findings
from judgement.refuted import TIMELINE, rests_on

Facts = Mapping[str, Any]

AS_DOCUMENTED: Final = "as-documented"
OBSERVED: Final = "observed"
UNKNOWN: Final = "unknown"
ERROR: Final = "error"
NOT_REPRODUCED: Final = "not-reproduced"
UNEXPECTED: Final = "unexpected"
DIED: Final = "recorder died"


EXIT_STATUS: Final[Mapping[str, int]] = {
    AS_DOCUMENTED: errors.EXIT_AS_DOCUMENTED,
    OBSERVED: errors.EXIT_AS_DOCUMENTED,
    UNKNOWN: errors.EXIT_UNKNOWN,
    ERROR: errors.EXIT_ERROR,
    NOT_REPRODUCED: errors.EXIT_CONTRADICTED,
    UNEXPECTED: errors.EXIT_CONTRADICTED,
}
"""Of each verdict, in the order in which a suite's verdicts outrank one another: the last is the most severe."""
SEVERITY: Final = {verdict: rank for rank, verdict in enumerate(EXIT_STATUS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a run means."""

    verdict: str
    required: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    """Names of all anomalies found, the permitted ones included."""
    unexpected: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    permitted: tuple[str, ...] = ()
    """Anomalies seen that nothing documents but the clients' settings permit, each with why: "duplicate: …".
    """
    reasons: tuple[str, ...] = ()
    """Why the verdict is not as-documented: contradictions first, then doubts. Empty for as-documented and observed."""
    scenario: str = ""
    case: str = DEFAULT_CASE
    version: str = ""
    seed: int = 0
    run: str = ""
    seconds: float = 0.0
    """From the start of the run to its end, and the analysis; 0 if the run has no end."""
    manifest: str = ""
    """SHA-256 of the manifest of the files that were judged; "" for a run that was made before there were manifests."""
    sound: bool = False
    """Whether nothing makes the run prove less than it shows, whatever that is."""
    outcome: Outcome | None = None
    """What became of the records; None in a verdict.json that was written before there were outcomes."""
    claims: tuple[Mapping[str, Any], ...] = ()
    """What came of each claim that is documented here: name, outcome, what was seen, durations with their bounds."""
    availability: tuple[Mapping[str, Any], ...] = ()
    """What faults cost the clients of each partition that was written to meanwhile (evidence/availability.py)."""

    @property
    def exit_status(self) -> int:
        return EXIT_STATUS[self.verdict]

    @property
    def good(self) -> bool:
        """Whether nothing is wrong: as documented, or observed where nothing is documented."""
        return self.verdict in (AS_DOCUMENTED, OBSERVED)

    @property
    def in_words(self) -> str:
        """What became of the records, how that stands to what is documented, and why it is not as documented."""
        parts = [self.outcome.text if self.outcome else "", self.verdict, "; ".join(self.reasons)]
        return ": ".join(filter(None, parts))

    def as_json(self) -> dict[str, Any]:
        """The machine interface, verdict.json."""
        value = {key: list(part) if isinstance(part, tuple) else part for key, part in asdict(self).items()}
        documented = {"required": value.pop("required"), "allowed": value.pop("allowed")}
        return {
            "schema": SCHEMA,
            "verdict": value.pop("verdict"),
            "exit_status": self.exit_status,
            "documented": documented,
        } | value

    @classmethod
    def from_json(cls, value: Facts) -> Verdict:
        """Inverse of `as_json`; KeyError or ValueError if it is no verdict."""
        if value["verdict"] not in SEVERITY:
            raise ValueError(f"no such verdict: {value['verdict']!r}")
        names = ("seen", "unexpected", "missing", "permitted", "reasons", "claims", "availability")
        documented = value["documented"]
        return cls(
            verdict=value["verdict"],
            required=tuple(documented.get("required", ())),
            allowed=tuple(documented.get("allowed", ())),
            scenario=value.get("scenario", ""),
            case=value.get("case", DEFAULT_CASE),
            version=value.get("version", ""),
            seed=value.get("seed", 0),
            run=value.get("run", ""),
            seconds=float(value.get("seconds") or 0.0),
            manifest=str(value.get("manifest") or ""),
            sound=bool(value.get("sound")),
            outcome=Outcome.from_json(value.get("outcome")),
            **{name: tuple(value.get(name, ())) for name in names},
        )


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of a suite: the first of its most severe ones.

    Of no verdicts at all it is `unknown`: nothing was shown.
    """
    nothing = Verdict(verdict=UNKNOWN, reasons=("there is no run to judge",))
    return max(verdicts, key=lambda verdict: SEVERITY[verdict.verdict], default=nothing)


# Doubts: each function returns the reasons of one kind for which a run proves nothing


def unproved_faults(course: Course) -> list[str]:
    """Faults that were injected (or healed) without proof that this took effect."""
    reasons = []
    for fault in course.faults:
        what = f"fault {fault.id} ({fault.description})"
        if fault.unproved:
            reasons.append(f"{what} did not provably take effect: {fault.proof.get('seen') or 'no proof'}")
        elif fault.proved_ns is None:
            reasons.append(f"{what} was injected and never verified")
        if fault.heal_ns is not None and fault.healed_ns is None:
            reasons.append(f"{what}: its healing was begun and never confirmed")
    return reasons


def failed_preconditions(course: Course) -> list[str]:
    """Preconditions of the claim that did not hold: the sequence did not take the course the claim is about."""
    return [
        f"a precondition did not hold: {precondition.name}" + _detail(precondition.detail)
        for precondition in of(course.events, Precondition)
        if not precondition.held
    ]


def _detail(detail: Facts) -> str:
    return f" ({', '.join(f'{key}={value}' for key, value in detail.items())})" if detail else ""


RETURN_NS: Final = 15_000_000_000
"""For a ZooKeeper that is back to start, on a busy machine, and for the observer to find it."""
LAST_WORD_NS: Final = 1_000_000_000
"""A blind interval begins with the last sign of life, which may be older than the end of who gave it."""

BLINDS_BY_GOING: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "zookeeper": ("zookeeper", (*DEATHS, "stop", "freeze")),
    "kraft": ("controller-", ("power-loss",)),
}
"""By observer: whose faults take away what it looks at, and which."""


def _explained(course: Course, begin_ns: int, end_ns: int, why: str) -> bool:
    """Whether an observer was blind because ZooKeeper itself was away. It wrote nothing then, and when it is back the
    versions of znodes tell what came before the observer did. Likewise where KRaft's controllers lost their disks with
    the power: what is on them when they are back is all there is.
    """
    keeper, kinds = BLINDS_BY_GOING.get(why.partition(" ")[0], ("", ()))
    away = [one for one in course.faults if keeper and one.node.startswith(keeper) and one.kind in kinds]
    return any(one.inject_ns - LAST_WORD_NS <= begin_ns and end_ns <= one.until_ns + RETURN_NS for one in away)


def blind_during_faults(course: Course) -> list[str]:
    """Observers that saw nothing while a fault lasted, unless the fault itself explains it."""
    reasons = []
    for begin_ns, end_ns, why in course.blind:
        if _explained(course, begin_ns, end_ns, why):
            continue
        over = [fault.description for fault in course.faults if fault.inject_ns < end_ns and begin_ns < fault.until_ns]
        if over:
            reasons.append(f"an observer was blind during {', '.join(dict.fromkeys(over))} ({why})")
    return reasons


def incomplete_state(run: Facts) -> list[str]:
    """A run that was cut short, or never read to the end."""
    state = run.get("state")
    reasons = []
    if state not in ("complete", "failed"):
        was = {"running": "was cut short (its state is still 'running')", "interrupted": "was interrupted"}
        reasons.append(f"the run {was.get(str(state), f'has the state {state!r}')}")
    if not any(process.get("final") for process in run.get("processes") or ()):
        reasons.append("there was no final read, so a record that was not read may still be there")
    return reasons


def killed_clients(course: Course) -> set[str]:
    """The clients that faults of the run have killed, as was proved."""
    killed = (fault for fault in course.faults if fault.kind == "kill-client" and fault.proved_ns is not None)
    return {name.strip() for fault in killed for name in fault.node.split(",")}


def analysis_doubts(
    findings: Facts | None,
    required: Iterable[str],
    failure: str | None = None,
    killed: Collection[str] = (),
) -> list[str]:
    """What the analysis could not do: it failed, a check crashed or was left out, a file was unreadable. That the
    histories of clients which the run itself `killed` have no end is no doubt.
    """
    if findings is None:
        return [f"the analysis failed: {failure}" if failure else "the run has not been analysed: it has no findings"]
    reasons = [f"the analysis failed: {failure}"] if failure else []
    checks = {check.get("name"): check for check in findings.get("checks") or ()}
    reasons += [
        f"the check {name} crashed: {check.get('reason') or 'no reason given'}"
        for name, check in checks.items()
        if check.get("status") == "crashed"
    ]
    for name in required:
        check = checks.get(name)
        if check is None:
            reasons.append(f"nothing checked for {name}, which is documented here")
        elif check.get("status") == "not-applicable":
            reasons.append(
                f"{name} is documented here, yet its check did not apply: {check.get('reason') or 'no reason given'}"
            )
    for problem in findings.get("problems") or ():
        if problem.get("what") == DIED and problem.get("process") in killed:
            continue
        about = ": ".join(str(problem[key]) for key in ("what", "process", "detail") if problem.get(key))
        reasons.append(about or "a problem without a description")
    return reasons


def unshown_claims(declared: Iterable[str], judged: Sequence[Facts]) -> list[str]:
    """The claims that are documented here and that nothing in the run could show, each with why."""
    came_of = {one.get("name"): one for one in judged}
    return [
        f"the claim {name} was not observed: {came_of.get(name, {}).get('says') or 'it was not judged'}"
        for name in declared
        if came_of.get(name, {}).get("outcome") not in (claims.HELD, claims.CONTRADICTED)
    ]


def doubts(
    run: Facts,
    course: Course,
    findings: Facts | None,
    damaged: Sequence[str],
    failure: str | None = None,
    required: Iterable[str] = (),
) -> list[str]:
    """Every reason for which the run proves nothing, the most telling first."""
    reasons = [
        *unproved_faults(course),
        *soundness.hollow_proofs(course),
        *failed_preconditions(course),
        *incomplete_state(run),
        *soundness.timeline_not_ended(run, course),
        *soundness.unheard(run, course),
        *soundness.foreign_events(course),
        *soundness.foreign_rules(run, course),
        *soundness.other_software(run, course),
        *soundness.out_of_sync(run, course),
        *blind_during_faults(course),
        *(f"damaged: {description}" for description in damaged),
        *analysis_doubts(findings, required, failure, killed_clients(course)),
    ]
    # A sequence that ended early mostly did so for one of these reasons.
    reasons = reasons or soundness.sequence_not_ended(run, course)
    return list(dict.fromkeys(reasons))


# The verdict


def judge(
    run: Facts,
    course: Course,
    findings: Facts | None,
    damaged: Sequence[str] = (),
    *,
    refuted: Sequence[str] = (),
    analysis_failure: str | None = None,
) -> Verdict:
    """The verdict on one run; pure.

    `run` is run.json, `course` what its timeline says, `findings` the analysis' findings (None: there are none),
    `damaged` one line for each thing that could not be read, `refuted` the files that are not what they were when the
    run was sealed, `analysis_failure` what the analysis said when it failed.
    """
    judged = [one for one in (findings or {}).get("claims") or () if one.get("name") in claims.declared(run)]
    documented, observed, expected = run.get("documented") or {}, bool(run.get("observed")), run.get("expect")
    required, allowed = tuple(documented.get("required") or ()), tuple(documented.get("allowed") or ())
    if observed:
        required, allowed = tuple(expected or ()), ()
    everything = list((findings or {}).get("findings") or ())
    seen = tuple(sorted({str(finding.get("anomaly")) for finding in everything}))
    paths = [*refuted, *_contradicted(run, course, findings)]
    hollow = [(finding, path) for finding in everything if (path := rests_on(finding, paths)) is not None]
    found = [finding for finding in everything if not any(finding is one for one, _ in hollow)]
    anything = observed and expected is None
    named = seen if anything else (*required, *allowed)
    configurations = {event.process: event.settings for event in of(course.events, Configuration)}
    of_subjects = subjects.judge({} if observed else run, findings or {}, found, configurations)
    open_questions = [f for f in found if f.get("anomaly") not in named and not of_subjects.answers_for(f)]
    known = (*named, *of_subjects.named)
    excuses = [(f, permitted(run, f) or consequence(f, everything, known)) for f in open_questions]
    # Which sends are doomed the timeline says.
    told = [f for f in found if rests_on(f, paths, METADATA) is None and not of_subjects.answers_for(f)]
    undoomed = losses.undocumented(run, course, told) if LOST_WRITE in named and not observed else []
    unexpected = tuple(
        sorted(
            {str(finding.get("anomaly")) for finding, excuse in excuses if excuse is None}
            | ({LOST_WRITE} if undoomed else set())
            | of_subjects.unexpected
        )
    )
    missing = tuple(name for name in required if name not in seen)

    version = run.get("version", "")
    option = f"--expect {','.join(required) or 'none'}"
    unfounded = f"this is not expected ({option})" if observed else f"nothing documents this for {version}"
    contradictions = [f"{named_summary(finding)}; {unfounded}" for finding, excuse in excuses if excuse is None]
    contradictions += [f"{line}; {unfounded}" for line in (*undoomed, *of_subjects.contradictions)]
    reasons = doubts(run, course, findings, damaged, analysis_failure, required)
    reasons += (
        losses.unnamed(run, [f for f in found if not of_subjects.answers_for(f)])
        if LOST_WRITE in named and not observed
        else []
    )
    reasons += of_subjects.doubts
    reasons += [f"{named_summary(one)}; it proves nothing, for it rests on {path}" for one, path in hollow]
    failed = run.get("state") == "failed"
    failure = [f"the harness failed: {run.get('failure') or 'no reason recorded'}"] if failed else []
    contradicted = [one for one in judged if one.get("outcome") == claims.CONTRADICTED]
    unshown = unshown_claims(claims.declared(run), judged)
    if unexpected:
        name = UNEXPECTED
    elif failed:
        name = ERROR
    elif reasons:
        name = UNKNOWN
    elif of_subjects.contradictions:  # of what no anomaly shows: records that were refused
        name = UNEXPECTED
    elif contradicted:
        name = UNEXPECTED
        contradictions = [f"the claim {one['name']} is contradicted: {one.get('says')}" for one in contradicted]
    elif unshown:
        name, contradictions = UNKNOWN, unshown
    elif missing or of_subjects.missing:
        name = NOT_REPRODUCED
        stated = f"expected ({option})" if observed else f"documented for {version}"
        contradictions = [f"{anomaly} is {stated} and was not seen" for anomaly in missing] + of_subjects.missing
    else:
        name = OBSERVED if observed else AS_DOCUMENTED
    return Verdict(
        verdict=name,
        required=required,
        allowed=allowed,
        seen=seen,
        unexpected=unexpected,
        missing=missing,
        permitted=tuple(sorted({f"{finding.get('anomaly')}: {excuse}" for finding, excuse in excuses if excuse})),
        reasons=(*contradictions, *failure, *reasons),
        scenario=run.get("scenario", ""),
        case=run.get("case", DEFAULT_CASE),
        version=version,
        seed=run.get("seed", 0),
        run=run.get("run", ""),
        seconds=_seconds(run, findings),
        sound=not failed and not reasons,
        outcome=of_findings(run, findings, sound=not failed and not reasons, hollow=[one for one, _ in hollow]),
        claims=tuple({key: value for key, value in one.items() if key != "evidence"} for one in judged),
        availability=tuple(summary((findings or {}).get("availability") or ())),
    )


def _contradicted(run: Facts, course: Course, findings: Facts | None) -> list[str]:
    """The files, within the run directory, that the run's other evidence contradicts."""
    named = [str(problem["file"]) for problem in (findings or {}).get("problems") or () if problem.get("file")]
    return named + ([TIMELINE] if soundness.timeline_not_ended(run, course) else [])


def named_summary(finding: Facts) -> str:
    """A finding in one line that begins with the anomaly's name."""
    name, summary = str(finding.get("anomaly")), str(finding.get("summary") or "seen")
    return summary if summary.startswith(name) else f"{name}: {summary}"


def claim_text(judged: Facts) -> str:
    """What came of a claim, for people: "held: 2 changes of leader", a duration with its bound."""
    took, bound = judged.get("measured_ms"), judged.get("bound_ms")
    measured = f" (bound {bound / 1000:.1f} s)" if took is not None and bound is not None else ""
    return f"{str(judged.get('outcome')).replace('-', ' ')}: {judged.get('says')}{measured}"


def _seconds(run: Facts, findings: Facts | None) -> float:
    started, ended = run.get("started_wall_ns"), run.get("ended_wall_ns")
    if started is None or ended is None:
        return 0.0
    return round((int(ended) - int(started)) / 1e9 + float((findings or {}).get("seconds") or 0.0), 1)


def read_findings(run_dir: RunDir) -> tuple[Facts | None, str | None]:
    """The findings of a run, or None and what is wrong with the file (None and None if there is no file)."""
    try:
        value = read_json(run_dir.findings)
    except FileNotFoundError:
        return None, None
    except (OSError, ValueError) as error:
        return None, f"findings.json is not readable: {error}"
    if not isinstance(value, dict):
        return None, "findings.json holds no findings"
    for part in ("findings", "checks", "problems", "claims", "availability"):
        entries = value.setdefault(part, None if part == "findings" else [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            return None, f"findings.json holds no list of {part}"
    return value, None


def read_verdict(run_dir: RunDir) -> Verdict:
    """The verdict given before.

    Raises UsageError, in one line, if there is none, it cannot be read, or it was given for other files than are there.
    """
    advice = f"`kafka-chaos check {run_dir.path}` gives one"
    try:
        judged = Verdict.from_json(read_json(run_dir.verdict))
        given_ns = run_dir.verdict.stat().st_mtime_ns
    except FileNotFoundError:
        raise errors.UsageError(f"{run_dir.path}: has no verdict; {advice}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise errors.UsageError(f"{run_dir.verdict}: not readable as a verdict ({error!r}); {advice}") from None
    if judged.manifest != manifest.digest(run_dir):
        raise errors.UsageError(f"{run_dir.verdict}: given for other files than are there; {advice}")
    if judged.manifest:
        changed = manifest.told(manifest.verify(run_dir, run_dir.read_run(), changed_since_ns=given_ns))
        if {f"damaged: {line}" for line in changed} - set(judged.reasons):
            raise errors.UsageError(f"{run_dir.verdict}: given before the files changed ({changed[0]}); {advice}")
    return judged
