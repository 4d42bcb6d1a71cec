"""Histories of others: one operation a line of JSON, judged by the same functions as our own.

    python -m analysis.jsonl FILE [--json] [--master local[2]]

The form is the one that harnesses of Jepsen's school record for Kafka (docs/histories-of-others.md has it in full, with
examples). A line is the invocation of an operation or its completion:

    {"process": 0, "type": "invoke", "f": "send", "value": [["send", "k", 7]], "time": 10}
    {"process": 0, "type": "ok",     "f": "send", "value": [["send", "k", [3, 7]]], "time": 25}
    {"process": 1, "type": "ok",     "f": "poll", "value": [["poll", {"k": [[3, 7]]}]], "time": 40}

analysis.jsonl_reader reads the lines, analysis.jsonl_keys checks the keys. A key is a partition. Values are any JSON,
unique within a key. The checks see a value as a sequence number of one producer, and lines as times. The evidence has
again what the history stated for either. An operation that is never completed, or whose process crashed, is `info`.
What a read of one key proves of such an operation holds in all (`settled_by`), so reads are gone through before any key
is checked.

In most keys of a large history everything was acknowledged in order and read in order. Such a key (`_trivially_clean`)
is recognised in one pass over its rows, in a hundredth of the time that the checks take, and has nothing that they
could find; a test compares the two.

A history is held in memory as Python objects, some 0.5 kB a line. So one that is large (`LARGE`), or for which a Spark
master is named, is read and checked on Spark (analysis.large_history), where a task has some of its keys.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from analysis.across import in_one_process
from analysis.jsonl_keys import check_keys, of_lines, settled_by, unknown_sends
from analysis.jsonl_reader import read
from analysis.result import merge
from analysis.spark import LOCAL
from checks.catalogue import UNSEEN, WRITE_CYCLE, permitted
from evidence.errors import EXIT_AS_DOCUMENTED, EXIT_CONTRADICTED, EXIT_UNKNOWN, KafkaChaosError
from evidence.findings import CRASHED, Findings
from evidence.run import blank
from evidence.text import forgiving_output, visible

OF_OTHERS: Final = blank("", "")
"""What was run, where nothing is known of it."""
PERMITTED: Final = frozenset({WRITE_CYCLE})
"""Anomalies that Kafka permits whatever a history's clients were set to, of which it says nothing."""
LARGE: Final = 200_000_000
"""Bytes from which on a history is checked on Spark: two million lines, which need 1 GB in one process."""


def check_history(path: Path) -> Findings:
    """The findings of a history; keys are topics of one partition. All is in the memory of this process.

    Raises UsageError if there is no such file, or nothing in it can be read.
    """
    begun = time.monotonic()
    others = read(path)
    settled = settled_by(one for key in others.keys.values() for one in unknown_sends(key, others).items())
    results = [result for _, result in check_keys(others, settled)]
    return merge([of_lines(others), *results], time.monotonic() - begun, in_one_process(results))


def summary(findings: Findings) -> Iterator[str]:
    """The findings for people: a line for each finding and each problem."""
    for finding in findings.findings:
        told = permitted(OF_OTHERS, finding) if finding.anomaly in PERMITTED else None
        yield finding.summary + (f" (no contradiction: {told})" if told else "")
        yield f"    {json.dumps(finding.evidence[0].for_people())}"
    for problem in findings.problems:
        yield f"{problem.what}: {problem.detail}"
    if not findings.findings:
        yield "no anomaly" + ("" if findings.problems else " and nothing in doubt")


def exit_status(findings: Findings) -> int:
    """1 for any anomaly that Kafka does not permit, 2 if there is none but something is in doubt (what is only unseen
    is), else 0.
    """
    names = set(findings.seen) - PERMITTED
    if names - {UNSEEN}:
        return EXIT_CONTRADICTED
    crashed = any(check.status == CRASHED for check in findings.checks)
    return EXIT_UNKNOWN if names or findings.problems or crashed else EXIT_AS_DOCUMENTED


def _checked(path: Path, master: str | None) -> Findings:
    """The findings of a history, checked in the way that its size asks for, or on the master that is named."""
    if master is None and not (path.is_file() and path.stat().st_size >= LARGE):
        return check_history(path)
    from analysis.large_history import check_on

    return check_on(master or LOCAL, path)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m analysis.jsonl", description="Check a history of JSON Lines.")
    parser.add_argument("history", type=Path, metavar="FILE")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("--master", help="check it on this Spark (default: local[2] if it is large, else none)")
    options = parser.parse_args(arguments)
    forgiving_output()
    try:
        findings = _checked(options.history, options.master)
    except KafkaChaosError as error:
        print(visible(f"analysis: {error}"), file=sys.stderr)
        return error.exit_status
    text = json.dumps(findings.as_json(), indent=1) if options.json else "\n".join(map(visible, summary(findings)))
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # Who reads has seen enough; what is left in the buffer would fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return exit_status(findings)


if __name__ == "__main__":
    sys.exit(main())
