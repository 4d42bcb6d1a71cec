"""Whether what a run of a scenario does, and is held to, has changed since a commit: a night runs such cells first.

That is the code of three things: the scenario's file with what it takes from other files of scenarios/, the claims that
are documented of it, and the faults that its steps carry out. A step is a word of `Run`, so the faults of a scenario
are those that its words, and the words that these use, name. Of a claim and a fault it is the definition, with those
that it uses in the same file. Definitions are compared as Python understands them: without comments, docstrings and
the sentences of a scenario (app.registry.FOR_READERS), because no run differs by these.

What all runs share, such as the runner, the observers and the analysis, is left out. It changes daily, and would make
every cell one that has changed.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Final

from app import git_blobs
from app.registry import FOR_READERS, names_of, parsed
from checks.claims import CATALOGUE
from evidence import ledger
from harness.run import Run
from harness.scenario import PACKAGE, Scenario, all_scenarios

ROOT: Final = git_blobs.ROOT
FAULTS: Final = "harness.faults."


def changed(asked: Iterable[tuple[str, str]]) -> dict[tuple[str, str], bool]:
    """Whether the code of each scenario has changed since a commit, by (commit, scenario).

    Scenarios that nobody knows any more, and commits that git does not have here, are left out.
    """
    every = all_scenarios()
    known = [(commit, scenario) for commit, scenario in dict.fromkeys(asked) if commit and scenario in every]
    parts = {scenario: parts_of(every[scenario]) for scenario in {scenario for _, scenario in known}}
    blobs = git_blobs.blobs({(commit, path) for commit, scenario in known for path in parts[scenario]}, ROOT)
    now = {path: (ROOT / path).read_bytes() for each in parts.values() for path in each}
    named = {path: ledger.blob(content) for path, content in now.items()}
    others = git_blobs.contents({blob for (_, path), blob in blobs.items() if blob != named[path]}, ROOT)
    here = {commit for commit, _ in blobs}

    def differs(commit: str, path: str, names: frozenset[str]) -> bool:
        # A file that was not there: it was moved, or is new, and then whoever uses it was changed.
        blob = blobs.get((commit, path), named[path])
        return blob != named[path] and sense(others[blob], names) != sense(now[path], names)

    return {
        (commit, scenario): any(differs(commit, path, names) for path, names in parts[scenario].items())
        for commit, scenario in known
        if commit in here
    }


Parts = Mapping[str, frozenset[str]]
"""Definitions by the file that has them, from the root of the checkout; none: the whole file."""


def parts_of(one: Scenario) -> Parts:
    """The code that decides what a run of a scenario does and is held to."""
    own = Path(one.path).resolve()
    declared = {own: frozenset[str]()} | {path: names for path, names in _taken(own).items() if path != own}
    words = {
        node.attr
        for path in declared
        for node in ast.walk(_parsed(path.read_bytes()))
        if isinstance(node, ast.Attribute)
    }
    claims = {name for case in one.cases.values() for each in case.documented for name in each.claims}
    used = [inspect.unwrap(CATALOGUE[name].judge) for name in claims] + list(faults_of(words))
    found = dict(declared)
    for made in used:
        path = Path(inspect.getfile(made)).resolve()
        found[path] = found.get(path, frozenset()) | {made.__qualname__.split(".")[0]}
    return {str(path.relative_to(ROOT)): names for path, names in found.items()}


def _taken(path: Path) -> dict[Path, frozenset[str]]:
    """What a scenario's file takes from other files of scenarios/, and these from others."""
    found, left = dict[Path, frozenset[str]](), [path]
    while left:
        for node in _parsed(left.pop().read_bytes()).body:
            if not isinstance(node, ast.ImportFrom) or (node.module or "").split(".")[0] != PACKAGE:
                continue
            for name in (one.name for one in node.names):
                whole, module = _module(f"{node.module}.{name}"), _module(node.module or "")
                other = whole or module
                if other is not None:
                    if other not in found:
                        left.append(other)
                    found[other] = found.get(other, frozenset()) | (frozenset() if whole else {name})
    return found


@cache
def _module(name: str) -> Path | None:
    """The file of a module of this project; None if there is none of that name."""
    bare = ROOT.joinpath(*name.split("."))
    return next((path for path in (bare.with_suffix(".py"), bare / "__init__.py") if path.is_file()), None)


def faults_of(words: Iterable[str]) -> frozenset[type]:
    """The faults that words of `Run` carry out; a name that is no word of it carries out none."""
    return frozenset().union(*map(_faults_of_word, words))


@cache
def _faults_of_word(word: str) -> frozenset[type]:
    seen, left, found = set[str](), [word], set[type]()
    while left:
        name = left.pop()
        function = inspect.getattr_static(Run, name, None)
        if name in seen or not inspect.isfunction(function):
            continue
        seen.add(name)
        names = set(_names(function.__code__))
        left += names
        values = (function.__globals__.get(one) for one in names)
        found |= {one for one in values if isinstance(one, type) and one.__module__.startswith(FAULTS)}
    return frozenset(found)


def _names(code: CodeType) -> Iterator[str]:
    """Every name that a function's code reads, with those of the functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


# The sense of a text


@cache
def sense(content: bytes, names: frozenset[str] = frozenset()) -> str:
    r"""A digest of what definitions of a Python file do, with those that they use there; none named: of the whole file.

    If this Python cannot read the file, it is that of its bytes.

    >>> sense(b'"What it is."\nx = 1  # one') == sense(b"x = 1"), sense(b"x = 1") == sense(b"x = 2")
    (True, False)
    >>> f = frozenset(["f"])
    >>> sense(b"f = g\ng = 1\nh = 2", f) == sense(b"f = g\ng = 1\nh = 3", f)
    True
    """
    try:
        told = [ast.dump(node) for node in _used(_parsed(content), names)]
    except SyntaxError:
        told = [content.hex()]
    return hashlib.sha256("".join(told).encode()).hexdigest()


def _used(module: ast.Module, names: frozenset[str]) -> list[ast.stmt]:
    """The statements of a module that define these names, and those that these use."""
    if not names:
        return module.body
    defined: dict[str, list[ast.stmt]] = {}
    for node in module.body:
        for name in names_of(node):
            defined.setdefault(name, []).append(node)
    seen, left = set[str](), [*names]
    while left:
        name = left.pop()
        if name in defined and name not in seen:
            seen.add(name)
            left += [one.id for node in defined[name] for one in ast.walk(node) if isinstance(one, ast.Name)]
    return [node for node in module.body if seen.intersection(names_of(node))]


@cache
def _parsed(content: bytes) -> ast.Module:
    """A file without what is there for people. Raises SyntaxError."""
    return parsed(content.decode(), FOR_READERS)
