"""Every test is in one tier, and the table of CONTRIBUTING.md says which.

Pytest itself refuses a test that is in none, and an entry that is no test (conftest.py).
"""

from __future__ import annotations

import ast
import re
from types import SimpleNamespace
from typing import Any

import pytest

from tests import parts, releases, tiers
from tests.tiers import Row, read_rows, row_of, shard, tier_of, unused
from tests.unit.test_releases import versions_named

TABLE = """
| tests | tier | s | why there |
|---|---|---:|---|
| `tests/a.py::test_one[4.3.1]` | test | 30 | new |
| `tests/a.py::test_one` | rest | 60 | old |
| `tests/b.py` | rest | 20 | whatever |
"""
ROWS = read_rows(TABLE)
REAL = read_rows((tiers.ROOT / "CONTRIBUTING.md").read_text())


@pytest.mark.parametrize(
    ("node_id", "marks", "tier"),
    [
        ("tests/a.py::test_one[4.3.1]", {"docker"}, "test"),
        ("tests/a.py::test_one[0.10.2.2]", {"docker"}, "rest"),
        ("tests/b.py::test_two", {"spark", "parametrize"}, "rest"),
        ("tests/b.py::test_two", {"slow"}, "rest"),
        ("tests/b.py::test_two", {"parametrize"}, "unit"),
        ("tests/c.py::test_new", set(), "unit"),
    ],
)
def test_the_longest_entry_counts(node_id: str, marks: set[str], tier: str) -> None:
    assert tier_of(node_id, marks, ROWS) == tier


@pytest.mark.parametrize("node_id", ["tests/c.py::test_new", "tests/a.py::test_one_more", "tests/bb.py::test"])
@pytest.mark.parametrize("mark", tiers.MARKS)
def test_what_is_in_no_tier_is_told(node_id: str, mark: str) -> None:
    with pytest.raises(LookupError, match=node_id):
        tier_of(node_id, {mark}, ROWS)


def test_an_entry_that_is_no_test_is_told() -> None:
    there = ["tests/a.py::test_one[4.3.1]", "tests/b.py::test_two"]
    assert unused(ROWS, there) == ["tests/a.py::test_one"]
    assert unused(ROWS, [*there, "tests/a.py::test_one[0.10.2.2]"]) == []


def test_a_table_with_mistakes_is_refused() -> None:
    with pytest.raises(ValueError, match="no tier 'never'"):
        read_rows(TABLE.replace("| rest | 20", "| never | 20"))
    with pytest.raises(ValueError, match=r"more than one entry: tests/b.py"):
        read_rows(TABLE.replace("tests/a.py::test_one`", "tests/b.py`"))


@pytest.mark.parametrize("count", [1, 2, 3, 40])
def test_each_file_is_in_one_shard(count: int) -> None:
    rest = [row for row in REAL if row.tier == "rest"]
    parts = [shard(rest, number, count) for number in range(1, count + 1)]
    assert sorted(file for part in parts for file in part) == sorted({row.file for row in rest})


def test_shards_take_about_the_same_time() -> None:
    rest = [row for row in REAL if row.tier == "rest"]
    seconds = [sum(row.seconds for row in rest if row.file in shard(rest, number, 3)) for number in (1, 2, 3)]
    assert max(seconds) < 1.3 * min(seconds)
    with pytest.raises(ValueError, match="no part 4 of 3"):
        shard(rest, 4, 3)


def test_every_entry_is_first_in_its_turn() -> None:
    rows = [Row(f"tests/{name}.py", "rest", 1, "") for name in "abc"]
    orders = [sorted(rows, key=tiers.places(rows, turn).__getitem__) for turn in range(7)]
    assert ["".join(row.file[6] for row in order) for order in orders[:4]] == ["abc", "bca", "cab", "abc"]


def test_make_test_needs_two_releases() -> None:
    """Those whose images it sets up, and no other: an image that is missing would be built within a test."""
    seen: set[str] = set()
    for row in (row for row in REAL if row.tier == "test" and row.file.startswith("tests/integration/")):
        name = row.tests.partition("::")[2].partition("[")[0]
        (function,) = (
            node
            for node in ast.parse((tiers.ROOT / row.file).read_text()).body
            if isinstance(node, ast.FunctionDef) and node.name == name
        )
        body = "\n".join(map(ast.unparse, function.body))
        of_it = versions_named(body) | {one for one in releases.VERSIONS if re.search(rf"[\[-]{one}[]-]", row.tests)}
        assert of_it <= set(releases.OF_TEST), row.tests
        seen |= of_it
    assert seen == set(releases.OF_TEST)


def test_the_entry_of_a_test_is_one() -> None:
    row = row_of("tests/a.py::test_one[4.3.1]", ROWS)
    assert row is not None
    assert (row.tests, row.file, row.seconds, row.why) == ("tests/a.py::test_one[4.3.1]", "tests/a.py", 30, "new")


def test_every_entry_is_in_a_file() -> None:
    """A process that has files of its own hears of no others (tests/parts.py)."""
    assert {row.file for row in REAL} <= set(parts.sizes())


@pytest.mark.parametrize("count", [1, 2, 3, 400])
def test_each_file_is_in_one_part(count: int) -> None:
    files = parts.sizes()
    split = parts.split(files, {"tests/unit/test_tiers.py": 3.0}, count)
    assert len(split) == count
    assert sorted(file for part in split for file in part) == sorted(files)


def test_parts_take_about_the_same_time() -> None:
    sizes = {"long.py": 1, "new.py": 3 * parts.BYTES_PER_SECOND, "a.py": 1, "b.py": 1}
    seconds = {"long.py": 9.0, "a.py": 3.0, "b.py": 2.0, "gone.py": 50.0}
    assert parts.split(sizes, seconds, 2) == [["long.py"], ["a.py", "new.py", "b.py"]]


@pytest.mark.parametrize(
    ("arguments", "apart"),
    [
        (["-n", "2", "--dist", "loadfile", "--tier", "unit"], True),
        (["-n", "2", "--dist", "loadfile", "--tier", "unit", "tests/unit/test_tiers.py"], False),
        (["-n", "2", "--dist", "loadfile", "--tier", "unit", "--tier", "test"], False),
        (["-n", "2", "--dist", "loadfile"], False),
        (["-n", "2", "--dist", "loadgroup", "--tier", "unit"], False),
        (["-n", "0", "--tier", "unit"], False),
        (["-n", "2", "--dist", "loadfile", "--tier", "unit", "--collect-only"], False),
    ],
)
def test_only_the_whole_tier_unit_is_taken_apart(arguments: list[str], apart: bool) -> None:
    config = pytest.Config.fromdictargs({}, arguments)
    assert parts.wanted(config) == apart


@pytest.mark.parametrize(
    ("status", "failed"),
    [
        (pytest.ExitCode.USAGE_ERROR, True),
        (pytest.ExitCode.INTERNAL_ERROR, True),
        (pytest.ExitCode.OK, False),
        (pytest.ExitCode.TESTS_FAILED, False),
    ],
)
def test_a_process_that_ran_none_of_its_tests_fails_the_round(status: pytest.ExitCode, *, failed: bool) -> None:
    """pytest-xdist goes on without it, and its status was looked at by nobody: half of the tests passed as all."""
    session: Any = SimpleNamespace(shouldfail=False, exitstatus=pytest.ExitCode.OK)
    plugin = parts.Parts(pytest.Config.fromdictargs({}, ["-p", "no:cacheprovider"]))
    plugin.pytest_sessionstart(session)
    plugin.pytest_testnodedown(SimpleNamespace(workeroutput={"exitstatus": status}), None)
    plugin.pytest_sessionfinish(session, pytest.ExitCode.OK)
    assert bool(session.shouldfail) == failed
    assert session.exitstatus == (pytest.ExitCode.USAGE_ERROR if failed else pytest.ExitCode.OK)
