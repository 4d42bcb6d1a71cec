"""Which tests are run, and with how many examples.

    --tier test --tier rest       the tests of these tiers (tests/tiers.py; the table is in CONTRIBUTING.md)
    --shard 2/3                   of the table's tests those of the second of three parts, by file
    --turn 7                      begin with another entry of the table for each number; the others follow in its order
    --minutes 25                  begin no test later; each that is left out is named
    HYPOTHESIS_PROFILE=quick      a tenth of the examples that a property test asks for; the default
    HYPOTHESIS_PROFILE=thorough   ten times as many: each night

A property test that asks for a number of its own asks by `tests.properties.examples`. There is no deadline: the first
example may compile a loop, and a loaded machine is no failure. No test has a wider terminal than another.
"""

from __future__ import annotations

import gc
import os
import time
from functools import cache
from pathlib import Path

import pytest

from tests import parts, properties, tiers

properties.load()
os.environ["COLUMNS"] = "100"
gc.disable()  # until all tests are collected
BEGAN = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers")
    group.addoption("--tier", action="append", choices=tiers.TIERS, help="tests of this tier only; may be repeated")
    group.addoption("--shard", metavar="I/N", help="of the table's tests part I of N, by file")
    group.addoption("--turn", type=int, default=0, metavar="N", help="begin with the N-th entry of the table")
    group.addoption("--minutes", type=float, metavar="N", help="begin no test after so many minutes")


def pytest_configure(config: pytest.Config) -> None:
    if parts.wanted(config):
        config.pluginmanager.register(parts.Parts(config), "parts")


@cache
def table() -> tuple[tiers.Row, ...]:
    return tiers.read_rows((tiers.ROOT / "CONTRIBUTING.md").read_text())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Of tiers that the table lists whole, only the files that it names are imported: that saves most of the time. A
    process that has files of its own imports these.
    """
    if (own := parts.own_files(config)) is not None and collection_path.name.startswith("test_"):
        return collection_path.relative_to(tiers.ROOT).as_posix() not in own or None
    wanted = config.getoption("tier")
    if wanted is None or "unit" in wanted or not collection_path.name.startswith("test_"):
        return None
    files = {tiers.ROOT / row.file for row in table() if row.tier in wanted}
    return collection_path not in files or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    rows = table()
    tier: dict[str, str] = {}
    missing = []
    for item in items:
        try:
            tier[item.nodeid] = tiers.tier_of(item.nodeid, {mark.name for mark in item.iter_markers()}, rows)
        except LookupError:
            missing.append(item.nodeid)
    listed = [node_id for node_id, of_it in tier.items() if of_it != "unit"]
    wanted = config.getoption("tier")
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and (wanted is None or "unit" in wanted)
    own = parts.own_files(config)
    stale = tiers.unused([row for row in rows if own is None or row.file in own], listed) if whole else []
    if missing or stale:
        raise pytest.UsageError(
            "CONTRIBUTING.md's table of tiers: "
            + "; ".join([f"{name} is in no tier" for name in missing] + [f"{name} is no test" for name in stale])
        )
    if wanted is None:
        return
    kept = [item for item in items if tier[item.nodeid] in wanted]
    if (part := config.getoption("shard")) is not None:
        number, _, count = part.partition("/")
        files = tiers.shard([row for row in rows if row.tier in wanted], int(number), int(count))
        kept = [item for item in kept if item.nodeid.partition("::")[0] in files]
    order = tiers.places([row for row in rows if row.tier in wanted], config.getoption("turn"))
    place = {item.nodeid: order[row] for item in kept if (row := tiers.row_of(item.nodeid, order)) is not None}
    kept.sort(key=lambda item: place.get(item.nodeid, -1))
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Tests of a group stay on one process, which pytest-xdist does by a private field of pytest's. The collector of
    garbage looks neither at modules while they are imported, nor at tests afterwards: both stay to the end.
    """
    if getattr(session.config.option, "loadgroup", False):
        grouped = [item.nodeid for item in session.items if item.get_closest_marker("xdist_group")]
        apart = [name for name in grouped if "@" not in name]
        if apart:
            raise pytest.UsageError(f"pytest-xdist keeps no groups with this pytest: {apart[0]} has no name of one")
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # a test makes little garbage, and the collector is a twentieth of the time
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    minutes = item.config.getoption("minutes")
    if minutes is not None and time.monotonic() - BEGAN > minutes * 60:
        pytest.skip(f"left out, {minutes:g} minutes were over: {item.nodeid}")
