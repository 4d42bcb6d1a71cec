"""Everything that is stated about Kafka in a checkout, as JSON: `python registry.py`, begun in the checkout's folder.

It is run as a file by itself, in a process whose working directory is the checkout of some commit, so that the modules
of that commit are imported and none of this one (app/statements.py). So it imports nothing of ours at its top, and
asks a checkout by its files what its modules are called: it knows every layout since commit 6959c5e.

    scenarios   name → case → version → what must and may be seen, the claims, and what that rests on
    claims      name → definition, source, basis, bound
    anomalies   name → definition, source, basis, when it is permitted
    cells       a cell of the audit's matrix, in words → what must and may come of it, and what that rests on
    judge       a file of those that judge → each of its functions, classes and constants → a digest of its code
    sequences   a file of scenarios → each of its functions, classes and constants → a digest of its code

The judge is what holds a run against the statements: the code of claims and anomalies, excuses, duties, and the account
of what held when, which these ask. Its files are read and not imported. A digest is of the code alone: comments,
docstrings and layout are no part of it (a definition that is a docstring stands in its catalogue).

A sequence is what a scenario does: its steps, its cluster, topics and settings. A scenario could be made to ask less
although it states the same. What it states is no part of these digests, for that is compared by itself. What the steps'
words do (harness/run/) is no part of them either.

Before there were bases the source is the scenario's, and the basis is empty.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

Stated = dict[str, Any]

JUDGES = ("checks", "judgement", "evidence")
"""The packages that judge. Reports, which follow the verdict, lie in folders of these names."""
REPORTS = ("report",)
THE_REST = "the rest of the module"
SCENARIOS = "scenarios"
AUDIT = "audit-"
"""How the audit's scenarios are called."""
STATE = ("Documented", "Outcome", "Rule")
"""What makes a statement."""
FOR_READERS = ("also_called", "basis", "claim", "operator", "sentence", "source", "why")
"""Arguments that are words for readers."""
STATED = ("documented", *FOR_READERS)
"""These, and those that state something."""


def registry(checkout: Path) -> dict[str, Any]:
    """What is stated in a checkout, whose modules are those that are imported."""
    rooms = (checkout / "checks").is_dir()
    versions = import_module("harness.cluster.versions").KNOWN
    made = import_module("harness.scenario").all_scenarios()
    return {
        "scenarios": {name: scenario(one, versions) for name, one in sorted(made.items())},
        "claims": catalogue(import_module("checks.claims" if rooms else "evidence.claims")),
        "anomalies": catalogue(import_module("checks.catalogue" if rooms else "evidence.anomalies")),
        "cells": dict(sorted(cells(checkout).items())),
        "judge": {path: parts for path, parts in sorted(judge(checkout)) if parts},
        "sequences": {path: parts for path, parts in sorted(sequences(checkout)) if parts},
    }


def scenario(made: Any, versions: Iterable[Any]) -> dict[str, dict[str, Stated]]:
    """What is stated of each case on each version that it applies to."""
    return {
        case.name: {
            version.id: outcome(made.documented_for(version, case.name), made.source)
            for version in versions
            if made.applies_to(version, case)
        }
        for case in made.cases.values()
    }


def outcome(documented: Any, source: str) -> Stated:
    """One documented outcome. `source`: the scenario's, of before an outcome had one."""
    return {
        "required": sorted(documented.required),
        "allowed": sorted(documented.allowed),
        "claims": sorted(documented.claims),
        "out_of_sync": documented.out_of_sync,
        "source": getattr(documented, "source", source),
        "basis": str(getattr(documented, "basis", "")),
    }


def catalogue(module: Any) -> dict[str, Stated]:
    """A catalogue's entries, without their names."""
    return {name: with_todays_names(entry.as_json()) for name, entry in sorted(module.CATALOGUE.items())}


def with_todays_names(entry: Mapping[str, str]) -> Stated:
    """An entry as its own JSON has it, by the names of today: `definition` was `says`."""
    named = {"definition" if key in ("says", "claim") else key: value for key, value in entry.items()}
    return {key: value for key, value in named.items() if key != "name"}


def cells(checkout: Path) -> dict[str, Stated]:
    """What is stated of each cell of the audit's matrix: by its scenario's rule, and where that cannot be asked as the
    matrix has it, which says what was stated when the cell was measured last.
    """
    module = import_module("audit.matrix" if (checkout / "audit" / "matrix.py").exists() else "audit.cells")
    measured = {str(cell.key): of_cell(cell.stated) for cell in module.load()}
    return measured | {name: of_cell(outcome) for name, outcome in planned().items()}


def of_cell(stated: Any) -> Stated:
    """What is stated of one cell."""
    return {
        "must": sorted(stated.must),
        "may": sorted(stated.may),
        "source": stated.source,
        "basis": str(getattr(stated, "basis", "")),
    }


class Planned(Exception):
    """Steps have come to where they name their subjects."""

    def __init__(self, subjects: Iterable[Any]) -> None:
        super().__init__()
        self.subjects = tuple(subjects)


class Stage:
    """What stands in for a run until steps name their subjects: it has a version, and answers to any word."""

    given = ()

    def __init__(self, version: Any) -> None:
        self.version = version

    def __getattr__(self, name: str) -> Stage:
        return self

    def __call__(self, *_: Any, **__: Any) -> Stage:
        return self


def planned() -> dict[str, Any]:
    """The cells that the audit's scenarios measure on every version, in words, and what they state of each.

    Nothing of a scenario whose steps do more with a run than to name subjects: those of before each had a rule.
    """
    versions = import_module("harness.cluster.versions").KNOWN
    found: dict[str, Any] = {}
    for name, made in import_module("harness.scenario").all_scenarios().items():
        if name.startswith(AUDIT):
            for case in made.cases.values():
                for version in (one for one in versions if made.applies_to(one, case)):
                    found |= of_rule(name.removeprefix(AUDIT), made.steps_of(case.name), version)
    return found


def of_rule(fault: str, steps: Any, version: Any) -> dict[str, Any]:
    """What the steps of one scenario state of their subjects on a version, by the words of the cell."""

    def stop(_run: Any, subjects: Iterable[Any], *_: Any) -> None:
        raise Planned(subjects)

    audit = import_module("audit.cells")
    module = sys.modules[getattr(steps, "func", steps).__module__]
    began = getattr(module, "Subjects", None)
    setattr(module, "Subjects", stop)  # noqa: B010  # a module has no attributes that a type knows
    try:
        steps(Stage(version))
    except Planned as named:
        about = {"line": "", "version": version.id, "fault": fault}  # a cell's words do not name its line
        return {str(audit.CellKey(**about, **one.key)): one.stated for one in named.subjects}
    except (AttributeError, TypeError, ValueError):
        pass
    finally:
        setattr(module, "Subjects", began)  # noqa: B010
    return {}


def judge(checkout: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The parts of each file that judges, with the digest of each."""
    for package in JUDGES:
        for path in (checkout / package).rglob("*.py"):
            name = path.relative_to(checkout)
            if not set(REPORTS) & set(name.parts):
                yield str(name), digests(path.read_text(encoding="utf-8"))


def sequences(checkout: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The parts of each file of scenarios, with the digest of each, whatever they state."""
    for path in (checkout / SCENARIOS).rglob("*.py"):
        yield str(path.relative_to(checkout)), digests(path.read_text(encoding="utf-8"), stated=False)


class _Without(ast.NodeTransformer):
    """Takes away some arguments of calls, and some calls."""

    def __init__(self, arguments: Collection[str], calls: Collection[str]) -> None:
        self.arguments, self.calls = arguments, calls

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        if called in self.calls:
            return ast.Constant(value=None)
        node.keywords = [one for one in node.keywords if one.arg not in self.arguments]
        return self.generic_visit(node)


def parsed(source: str, arguments: Collection[str] = (), calls: Collection[str] = ()) -> ast.Module:
    """A module without docstrings, and without these arguments of any call and these calls. Raises SyntaxError."""
    module = ast.parse(source)
    if arguments or calls:
        _Without(arguments, calls).visit(module)
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            node.body = [one for one in node.body if not _is_words(one)]
    return module


def digests(source: str, *, stated: bool = True) -> dict[str, str]:
    r"""The digest of each function, class and constant at the top of a module, by its name.

    >>> plain = "def late(ns):\n    return ns > 5"
    >>> digests(plain) == digests('def late(ns):\n    "Words."\n    return (ns > 5)  # as ever')
    True
    >>> digests(plain) == digests("def late(ns):\n    return ns > 6")
    False
    >>> [*digests("import os\nAFTER_NS: int = 5\nclass A: ...")]
    ['AFTER_NS', 'A']

    Without what is `stated`, of a scenario:

    >>> steps = "@scenario(name='s', documented={}, claim='It is {}.')\ndef steps(run):\n    run.send({})"
    >>> one, same, other = (steps.format(*each) for each in (("a", "so", 1), ("b", "not", 1), ("a", "so", 2)))
    >>> digests(one, stated=False) == digests(same, stated=False) != digests(other, stated=False)
    True
    """
    codes: dict[str, list[str]] = {}
    for statement in (parsed(source) if stated else parsed(source, STATED, STATE)).body:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            for name in names_of(statement):
                codes.setdefault(name, []).append(ast.dump(statement))
    return {name: hashlib.sha256("\n".join(code).encode()).hexdigest()[:12] for name, code in codes.items()}


def names_of(statement: ast.stmt) -> list[str]:
    r"""What a statement at the top of a module gives a name to.

    >>> [names_of(one) for one in ast.parse("A, B = C = 1, 2\nA.x = 1").body]
    [['A', 'B', 'C'], ['the rest of the module']]
    """
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", statement)]
    each = [one for target in targets for one in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return [one.id for one in each if isinstance(one, ast.Name)] or [THE_REST]


def _is_words(statement: ast.stmt) -> bool:
    """Whether it is a string by itself, which says something and does nothing."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


if __name__ == "__main__":
    # With `python FILE` the first place to import from is the folder of the file: it must be the checkout.
    sys.path[0] = str(Path.cwd())
    json.dump(registry(Path.cwd()), sys.stdout, sort_keys=True)
