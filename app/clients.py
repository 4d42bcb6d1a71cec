"""Whether a client can run a case, which a user is told before anything is started."""

from __future__ import annotations

from typing import Final

from evidence.errors import UsageError
from evidence.run import full_name
from harness.case import Case
from harness.cluster import ranges
from harness.cluster.versions import Version
from harness.scenario import Scenario
from harness.setup.jars import CONNECT, SPARK, STREAMS
from harness.workloads.libraries import Library, library
from harness.workloads.protocol import TRANSACTIONS

RUNNERS: Final = frozenset({CONNECT, SPARK, STREAMS})
"""Clients that run an application by themselves: no other one can take their place, nor they another's."""


def require_client(chosen: Library, scenario: Scenario, case: Case, version: Version) -> None:
    """Hold a client to what a case needs of it. Raises UsageError if it lacks that."""
    what = full_name(scenario.name, case.name)
    chosen.require(scenario.needs_of(case), what)
    own = library(case.client, version)
    if chosen.kind != own.kind and RUNNERS & {chosen.kind, own.kind}:
        raise UsageError(f"{what} runs with {own.name}, not with {chosen.name}")
    if TRANSACTIONS in scenario.needs_of(case) and not chosen.has_transactions:
        raise UsageError(f"{what} needs transactions, which {chosen.name} has not (KIP-98)")
    if scenario.applies == ranges.SHARE_GROUPS:
        chosen.sharing(version, batch=1)
