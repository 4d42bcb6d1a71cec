"""The verdict on a run, and verdict.json.

`judgement.policy` gives verdicts; here is what one says, how it is written and read, and how those of a suite rank.

The order of severity (unexpected > not-reproduced > error > unknown > observed > as-documented) ranks verdicts of a
suite, where each is already established; it is not the order of the policy's questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from evidence import errors, manifest
from evidence.run import DEFAULT_CASE
from evidence.rundir import SCHEMA, RunDir, read_json
from judgement.outcome import Outcome

Facts = Mapping[str, Any]

AS_DOCUMENTED: Final = "as-documented"
OBSERVED: Final = "observed"
UNKNOWN: Final = "unknown"
ERROR: Final = "error"
NOT_REPRODUCED: Final = "not-reproduced"
UNEXPECTED: Final = "unexpected"

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


def named_summary(finding: Facts) -> str:
    """A finding in one line that begins with the anomaly's name."""
    name, summary = str(finding.get("anomaly")), str(finding.get("summary") or "seen")
    return summary if summary.startswith(name) else f"{name}: {summary}"


def claim_text(judged: Facts) -> str:
    """What came of a claim, for people: "held: 2 changes of leader", a duration with its bound."""
    took, bound = judged.get("measured_ms"), judged.get("bound_ms")
    measured = f" (bound {bound / 1000:.1f} s)" if took is not None and bound is not None else ""
    return f"{str(judged.get('outcome')).replace('-', ' ')}: {judged.get('says')}{measured}"


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
        changed = manifest.describe(manifest.verify(run_dir, run_dir.read_run(), changed_since_ns=given_ns))
        if {f"damaged: {line}" for line in changed} - set(judged.reasons):
            raise errors.UsageError(f"{run_dir.verdict}: given before the files changed ({changed[0]}); {advice}")
    return judged
