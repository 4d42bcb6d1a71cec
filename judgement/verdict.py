"""The verdict on a run, and verdict.json.

`judgement.policy` gives verdicts; here is what one says, how it is written and read, and how those of a suite rank.

The order of severity (unexpected > not-reproduced > error > unknown > observed > as-documented) ranks verdicts of a
suite, where each is already established; it is not the order of the policy's questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from evidence import errors, kept, manifest
from evidence.findings import AvailabilityFigures, ClaimResult, Pace
from evidence.run import DEFAULT_CASE
from evidence.rundir import RunDir, read_json
from judgement.outcome import RunOutcome

Name = Literal["as-documented", "observed", "unknown", "error", "not-reproduced", "unexpected"]

SCHEMA: Final = 2
AS_DOCUMENTED: Final = "as-documented"
OBSERVED: Final = "observed"
UNKNOWN: Final = "unknown"
ERROR: Final = "error"
NOT_REPRODUCED: Final = "not-reproduced"
UNEXPECTED: Final = "unexpected"

EXIT_STATUS: Final[Mapping[Name, int]] = {
    AS_DOCUMENTED: errors.EXIT_AS_DOCUMENTED,
    OBSERVED: errors.EXIT_AS_DOCUMENTED,
    UNKNOWN: errors.EXIT_UNKNOWN,
    ERROR: errors.EXIT_ERROR,
    NOT_REPRODUCED: errors.EXIT_CONTRADICTED,
    UNEXPECTED: errors.EXIT_CONTRADICTED,
}
"""Of each verdict, in the order in which a suite's verdicts outrank one another: the last is the most severe."""
SEVERITY: Final[Mapping[str, int]] = {verdict: rank for rank, verdict in enumerate(EXIT_STATUS)}


class DocumentedAnomalies(Struct, frozen=True, kw_only=True):
    """The anomalies that are documented for a run, or that its user expects."""

    required: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()


class Verdict(Struct, frozen=True, kw_only=True):
    """What a run means."""

    schema: int = SCHEMA
    verdict: Name
    documented: DocumentedAnomalies = DocumentedAnomalies()
    unconfirmed: str = ""
    """If no recorded run showed what is documented on this very version: a sentence that says so. It is no doubt."""
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
    build: str = ""
    """Of an own build of Kafka: what it is, and what differs from the nearest release, in a line."""
    seed: int = 0
    run: str = ""
    seconds: float = 0.0
    """From the start of the run to its end, and the analysis; 0 if the run has no end."""
    manifest: str = ""
    """SHA-256 of the manifest of the files that were judged; "" for a run without one."""
    sound: bool = False
    """Whether nothing makes the run prove less than it shows, whatever that is."""
    outcome: RunOutcome | None = None
    """What became of the records; None where no run was judged."""
    claims: tuple[ClaimResult, ...] = ()
    """What came of each claim that is documented here, without the evidence."""
    availability: tuple[AvailabilityFigures, ...] = ()
    """What faults cost the clients of each partition that was written to meanwhile (evidence/availability.py)."""
    paces: tuple[Pace, ...] = ()
    """How long applications took that were left alone."""

    @property
    def required(self) -> tuple[str, ...]:
        """The anomalies that had to be seen."""
        return self.documented.required

    @property
    def allowed(self) -> tuple[str, ...]:
        """Those that may be seen beside them."""
        return self.documented.allowed

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
        """Plain values of JSON, as verdict.json has them: the machine interface."""
        plain: dict[str, Any] = msgspec.to_builtins(self, str_keys=True)
        first = {name: plain.pop(name) for name in ("schema", "verdict")}
        return first | {"exit_status": self.exit_status} | plain


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of a suite: the first of its most severe ones.

    Of no verdicts at all it is `unknown`: nothing was shown.
    """
    nothing = Verdict(verdict=UNKNOWN, reasons=("there is no run to judge",))
    return max(verdicts, key=lambda verdict: SEVERITY[verdict.verdict], default=nothing)


def read_verdict(run_dir: RunDir) -> Verdict:
    """The verdict given before.

    Raises UsageError, in one line, if there is none, it cannot be read, or it was given for other files than are there.
    """
    advice = f"`kafka-chaos check {run_dir.path}` gives one"
    try:
        judged = msgspec.convert(read_json(run_dir.verdict), Verdict)
        given_ns = run_dir.verdict.stat().st_mtime_ns
    except FileNotFoundError:
        raise errors.UsageError(f"{run_dir.path}: has no verdict; {advice}") from None
    except (OSError, ValueError) as error:
        raise errors.UsageError(f"{run_dir.verdict}: not readable as a verdict ({error}); {advice}") from None
    if judged.schema != SCHEMA:
        raise errors.UsageError(f"{run_dir.verdict}: schema {judged.schema}, this program reads {SCHEMA}; {advice}")
    if judged.manifest != manifest.digest(run_dir):
        raise errors.UsageError(f"{run_dir.verdict}: given for other files than are there; {advice}")
    if judged.manifest:
        changed = manifest.describe(
            manifest.verify(run_dir, run_dir.read_run(), changed_since_ns=given_ns, removed=kept.removed(run_dir))
        )
        if {f"damaged: {line}" for line in changed} - set(judged.reasons):
            raise errors.UsageError(f"{run_dir.verdict}: given before the files changed ({changed[0]}); {advice}")
    return judged
