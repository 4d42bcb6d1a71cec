"""One run of a mutant, from its brokers to its row.

It is an ordinary run of an ordinary scenario, judged by what is documented of Kafka; only the brokers are others, and
run.json says so. A run that lasts longer than its limit is ended, and judged as far as it came.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from analysis.check import check_run
from checks.claims import CONTRADICTED
from evidence.errors import HarnessError, KafkaChaosError, UsageError
from evidence.findings import write_findings
from evidence.rundir import RunDir
from harness import runner
from harness.cluster import versions
from harness.removal import Removals
from harness.scenario import get_scenario
from judgement import ledger
from judgement.report.facts import judge_run
from tests.mutants import image
from tests.mutants.registry import Mutant, Where
from tests.mutants.rows import BETWEEN, Row

HITS: Final = re.compile(r"^.*?MUTANT \S+ hits (\d+)\s*$", re.MULTILINE)
FAILED: Final = re.compile(r"MUTANT \S+ failed: .*")
REASONS: Final = 4
LONGEST: Final = 400
"""Characters of a reason."""


class TooLong(KeyboardInterrupt):
    """A run lasted longer than it may."""


def hits_of(text: str) -> int:
    """How often a node's log says that it did other than Kafka: the last count of each of its processes.

    >>> hits_of("MUTANT m hits 1\\nMUTANT m hits 7\\nMUTANT m hits 1\\n")
    8
    """
    total = last = 0
    for count in map(int, HITS.findall(text)):
        if count < last:
            total += last
        last = count
    return total + last


def one_line(reason: str) -> str:
    """A reason as a row has it."""
    text = " ".join(reason.split()).replace(BETWEEN, ", ")
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def row_of(run_dir: RunDir) -> Row:
    """Judge a run, whatever became of it, and tell it in a row and in the ledger: of a mutant, or of Kafka itself.

    Raises HarnessError for a mutant whose change could not be made.
    """
    run = run_dir.read_run()
    logs = [path.read_text(errors="replace") for path in sorted(run_dir.logs.glob("*"))]
    if failures := [found.group() for text in logs if (found := FAILED.search(text))]:
        raise HarnessError(f"{run.mutant} on {run.version}: {failures[0]}")
    try:
        write_findings(run_dir, check_run(run_dir))
        failure = None
    except KafkaChaosError as error:
        failure = str(error)
    judged = judge_run(run_dir, analysis_failure=failure)
    ledger.tell(judged)
    verdict = judged.verdict
    began, ended = run.started_wall_ns, run.ended_wall_ns or run.started_wall_ns
    return Row(
        run=run.run,
        mutant=run.mutant,
        scenario=run.scenario,
        case=run.case,
        version=run.version,
        seed=run.seed,
        commit=(run.commit or "")[:9] + ("+" if (run.commit or "").endswith("+") else ""),
        hits=sum(map(hits_of, logs)),
        verdict=verdict.verdict,
        anomalies=verdict.unexpected,
        claims=tuple(one.name for one in verdict.claims if one.outcome == CONTRADICTED),
        reasons=tuple(map(one_line, verdict.reasons[:REASONS])),
        seconds=round((ended - began) / 1e9),
        ended=run.state,
    )


def carry_out(
    mutant: Mutant | None,
    where: Where,
    version_id: str,
    *,
    seed: int,
    root: Path,
    timeout_s: int,
    echo: Callable[[str], None],
) -> Row:
    """Run a scenario on a mutant, or on Kafka itself, for no longer than `timeout_s`, and judge it.

    Raises UsageError for a version that the mutant has no change for, and as `runner.execute` does before it begins.
    """
    version = versions.get(version_id)
    if mutant is not None and not mutant.changes_on(version.kafka):
        raise UsageError(f"mutant {mutant.name} changes nothing on {version.kafka}")
    scenario = get_scenario(where.scenario)
    if not scenario.applies_to(version, scenario.case(where.case)):
        raise UsageError(f"{where} does not apply to {version.id}")
    altered = None if mutant is None else image.altered(mutant, image.ensure(version, echo))
    request = runner.Request(
        scenario=scenario,
        version=version,
        case=where.case,
        seed=seed,
        root=root,
        mutant=altered,
    )
    removals = Removals()
    begun = set(root.glob("*/run.json"))

    def too_long(*_: Any) -> None:
        raise TooLong

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(timeout_s)
    try:
        run_dir = runner.execute(request, removals=removals, echo=echo).run_dir
    except TooLong:
        made = sorted(set(root.glob("*/run.json")) - begun)
        if not made:
            raise HarnessError(f"{where}: nothing was begun within {timeout_s} s") from None
        run_dir = RunDir(made[-1].parent)
    finally:
        signal.alarm(0)
        try:
            removals.wait()
        except HarnessError as error:  # what the engine would not remove `kafka-chaos clean` does; the run is whole
            echo(str(error))
    return row_of(run_dir)
