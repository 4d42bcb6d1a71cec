"""The examples in docstrings are run: one that nobody runs keeps the names of the day on which it was written."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = (
    *("analysis", "app", "audit", "benchmarks", "checks", "evidence", "harness", "judgement", "kafka_chaos"),
    *("kafkafiles", "pages", "results", "scenarios"),
)
EXAMPLE = re.compile(r"^\s*>>> ", re.MULTILINE)


def modules() -> list[str]:
    """The modules of the product that have an example."""
    files = (path.relative_to(ROOT) for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))
    having = (path for path in files if EXAMPLE.search((ROOT / path).read_text(encoding="utf-8")))
    return [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in having]


@pytest.mark.parametrize("name", modules())
def test_examples_are_true(name: str) -> None:
    told: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
        runner.run(test, out=told.append)
    assert not runner.failures, "".join(told)
    assert runner.tries, f"{name} has examples, and none was found"
