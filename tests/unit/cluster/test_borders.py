"""A border between releases is drawn once, with a source on both sides."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from evidence import borders
from evidence.borders import JAVA_IDEMPOTENT_IN_FACT, Border, Side
from evidence.errors import UsageError
from evidence.releases import Release, line_of, numbers
from harness.cluster import apache, ranges, versions
from harness.cluster.ranges import VersionRange

ROOT = Path(__file__).parents[3]
BEFORE, AFTER = Side("2.2.2", "Partition.thing is missing"), Side("2.3.0", "Partition.thing")
BORDERS = [border for border in vars(borders).values() if isinstance(border, Border)]
RANGES = {name: value for name, value in vars(ranges).items() if isinstance(value, VersionRange)}


@pytest.mark.parametrize(
    ("first", "reason", "before", "after", "wrong"),
    [
        ("2.3", "KIP-461", BEFORE, AFTER, ""),
        ("2.3", "KIP-461", BEFORE, Side("2.3.0", " "), "a side without a source"),
        ("2.3", "KIP-461", Side("", "Partition.thing"), AFTER, "a side without a source"),
        ("2.3", "KIP-461", AFTER, AFTER, "is no release before it"),
        ("2.3", "KIP-461", BEFORE, BEFORE, "is not the first release after it"),
        ("2.3", "KIP-461", BEFORE, Side("2.4.1", "Partition.thing"), "is not the first release after it"),
        ("2.3", "somebody said so", BEFORE, AFTER, "names no KIP and no ticket"),
    ],
)
def test_a_border_has_a_source_on_both_sides(first: str, reason: str, before: Side, after: Side, wrong: str) -> None:
    if not wrong:
        assert Border(first, reason, before, after).release == (2, 3)
        return
    with pytest.raises(UsageError, match=wrong):
        Border(first, reason, before, after)


def test_nothing_lies_between_the_two_sides_of_a_border() -> None:
    """The release that was read before a border is of the last line before it, or of its own."""
    assert len(BORDERS) > 60
    lines = sorted({line_of(numbers(release)) for release in apache.releases()})
    for border in BORDERS:
        own = lines.index(line_of(numbers(border.after.release)))
        assert line_of(numbers(border.before.release)) in lines[max(own - 1, 0) : own + 1], border


def changes(one: VersionRange) -> Iterator[Release]:
    """Where a range begins or ends: among the releases of each mode, and among the protocols of the newest release."""
    plain = [versions.get(way) for release in apache.releases() for way in versions.ways(release)]
    newest = next(version for version in reversed(plain) if version.mode == "zookeeper")
    held = [versions.get(f"{newest.kafka}-protocol-{older}") for older in versions.protocols(newest.kafka)]
    families = [[version for version in plain if version.mode == mode] for mode in ("zookeeper", "kraft")]
    for before, after in [pair for family in families for pair in pairwise(family)]:
        if one.holds(before) is not one.holds(after):
            yield after.release
    for before, after in pairwise(held):
        if one.holds(before) is not one.holds(after):
            yield after.protocol


def test_a_range_begins_and_ends_at_borders_that_it_names() -> None:
    found = 0
    for name, one in RANGES.items():
        for at in changes(one):
            found += 1
            drawn = [border.release for border in one.borders]
            # 3.1.0 is newer than 3.0.1, and lacks what that has: the side before a border may begin in its line.
            drawn += [numbers(border.before.release) for border in JAVA_IDEMPOTENT_IN_FACT if border in one.borders]
            assert any(at[: len(border)] == border[: len(at)] for border in drawn), (name, at, drawn)
    assert found > 60


def test_a_border_that_a_range_names_is_one_of_its_own() -> None:
    for name, one in RANGES.items():
        assert all(border in JAVA_IDEMPOTENT_IN_FACT or border in BORDERS for border in one.borders), name


def test_scenarios_draw_no_borders_of_their_own() -> None:
    """A range is made in harness/cluster/ranges.py, or is a bug's."""
    for path in (ROOT / "scenarios").rglob("*.py"):
        made = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        assert not any(isinstance(node.func, ast.Name) and node.func.id == "VersionRange" for node in made), path


def test_claims_compare_releases_with_borders_alone() -> None:
    for path in (ROOT / "checks").rglob("*.py"):
        compared = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Compare)]
        sides = [side for node in compared for side in (node.left, *node.comparators)]
        written = [side for side in sides if isinstance(side, ast.Tuple) and side.elts]
        assert not any(all(map(_number, side.elts)) for side in written), path


def _number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def test_a_last_fetch_holds_nothing_up_from_1_1_on() -> None:
    """KAFKA-6051 is in 1.1.0, and not in 1.0.2."""
    assert ranges.FETCHES_HOLD_UP.holds(versions.get("0.11.0.3"))
    assert not ranges.FETCHES_HOLD_UP.holds(versions.get("1.1.1"))
    assert ranges.FETCHES_END.holds(versions.get("1.1.1"))


@pytest.mark.parametrize(
    ("one", "without", "with_it"),
    [
        # System.currentTimeMillis in ClientCnxnSocket of ZooKeeper 3.4.10, not of 3.4.13
        (ranges.SESSIONS_BY_MONOTONIC_CLOCK, "1.1.1", "2.0.1"),
        # a line without the partition in 1.0.1
        (ranges.DELETION_REASON_LOGGED, "1.0.1", "1.0.2"),
        # no protocol is asked for
        (ranges.DYNAMIC_BROKER_SETTINGS, "1.0.2", "2.8.2-pinned"),
        # LogDirFailureHandler halts at protocols before 1.0
        (ranges.GOES_ON_WITH_OTHER_DIRECTORIES, "3.9.2-pinned", "3.9.2-protocol-1.0"),
        # Fetch 5 has the log start, and needs protocol 0.11
        (ranges.FOLLOWERS_FOLLOW_LOG_START, "3.9.2-pinned", "3.9.2-protocol-0.11.0"),
        (ranges.DELETES_RECORDS, "2.8.2-pinned", "0.11.0.3"),
        # LogValidator refuses transactions in a message format before 2
        (ranges.TRANSACTIONS, "2.8.2-pinned", "2.8.2"),
        # a broker tells its rack from version 3 of its registration on
        (ranges.RACKS, "2.8.2-protocol-0.9.0", "2.8.2-pinned"),
        # format 0 has no time stamps
        (ranges.TIME_STAMPS, "2.8.2-protocol-0.9.0", "2.8.2-pinned"),
    ],
)
def test_borders_that_were_corrected_by_the_source(one: VersionRange, without: str, with_it: str) -> None:
    assert not one.holds(versions.get(without))
    assert one.holds(versions.get(with_it))
