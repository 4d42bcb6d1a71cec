"""A plugin of pytest: what the checks and claims come to in tests, written to the file that KAFKA_CHAOS_RECORDED names.

It is loaded before the tests are, and puts itself in the place of every function of the two catalogues, so that what
tests import is what is watched.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

from checks import catalogue, claims
from checks.anomaly import REGISTRY as ANOMALIES
from checks.claim import REGISTRY as CLAIMS

SEEN: set[tuple[str, str]] = set()


def _watched(function: Callable[..., Any], name: str, outcome: Callable[[Any], str]) -> Callable[..., Any]:
    @wraps(function)
    def watched(*evidence: Any) -> Any:
        found = function(*evidence)
        SEEN.add((name, outcome(found)))
        return found

    setattr(sys.modules[function.__module__], function.__name__, watched)
    return watched


def _watch() -> None:
    for name, entry in catalogue.CATALOGUE.items():
        checks = [
            replace(
                check,
                function=_watched(
                    check.function, f"{name} ({check.function.__name__})", lambda rows: "found" if rows else "not found"
                ),
            )
            for check in entry.checks
        ]
        ANOMALIES[name] = replace(entry, checks=tuple(checks))
    for name, one in claims.CATALOGUE.items():
        CLAIMS[name] = replace(one, judge=_watched(one.judge, name, lambda judged: judged.outcome))


def pytest_configure() -> None:
    """Watch before any test is imported."""
    _watch()


def pytest_unconfigure() -> None:
    """Write what was seen."""
    Path(os.environ["KAFKA_CHAOS_RECORDED"]).write_text(json.dumps(sorted(SEEN)))
