"""Lines that GitHub shows beside a job: one for each cell that did not end well, the most severe first.

    ::error title=leader-crash (acks-all) on 4.3.1%3A unexpected::1 of 5 acknowledged records LOST …

GitHub shows ten of each level in a step. What has a meaning in such a line is escaped, as its documentation of workflow
commands and the code of actions/toolkit (packages/core/src/command.ts) have it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from judgement.report import cells
from judgement.report.facts import Loaded
from judgement.report.headline import headline
from judgement.verdict import UNKNOWN

MOST: Final = 10


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def commands(runs: Loaded) -> Iterator[str]:
    """The lines for these runs; none if all ended well and could be read."""
    for line in runs.unreadable[:MOST]:
        yield f"::error title=a run that cannot be read::{_data(line)}"
    for cell in [one for one in cells.failures_first(cells.group(runs.facts)) if one.good < len(one.runs)][:MOST]:
        level = "warning" if cell.verdict == UNKNOWN else "error"
        run = cell.worst_run
        told = "\n".join([headline(run), *run.verdict.reasons, f"To run it again: {run.run.command}"])
        yield f"::{level} title={_property(f'{cell.scenario} on {cell.label}: {cell.verdict}')}::{_data(told)}"
