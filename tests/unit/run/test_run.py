"""A run is all of its nouns at once: no two of them may mean different things by one name."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict

from harness.run import Run

NOUNS = [noun for noun in Run.__mro__ if noun not in (Run, object)]


def attributes(noun: type) -> dict[str, set[str]]:
    """What a noun's methods assign to itself: by name, what is assigned, as text."""
    found: dict[str, set[str]] = defaultdict(set)
    for node in ast.walk(ast.parse(inspect.getsource(noun))):
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.Assign):
            (target,) = node.targets
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            else:
                pairs = [(target, node.value)]
        for place, value in pairs:
            if isinstance(place, ast.Attribute) and ast.unparse(place.value) == "self":
                found[place.attr].add(ast.unparse(value).removeprefix("parts."))
    return found


def test_no_two_nouns_have_a_word_of_one_name() -> None:
    of: dict[str, list[str]] = defaultdict(list)
    for noun in NOUNS:
        for name in vars(noun):
            if not name.startswith("__"):
                of[name].append(noun.__name__)
    assert len(of) > 100
    assert {name: nouns for name, nouns in of.items() if len(nouns) > 1} == {}


def test_nouns_that_share_an_attribute_are_given_the_same() -> None:
    meant: dict[str, set[str]] = defaultdict(set)
    for noun in NOUNS:
        for name, values in attributes(noun).items():
            meant[name] |= values
    assert meant["_timeline"] == {"timeline"}
    several = {name for name, values in meant.items() if len(values) > 1}
    assert several == {"_delay"}  # of Nemesis alone: none at first, then the last one


def test_a_class_that_is_taken_for_a_noun_is_one() -> None:
    assert [noun.__name__ for noun in NOUNS][:3] == ["SequenceLog", "Who", "Waits"]
    assert all(noun.__bases__ == (object,) for noun in NOUNS)
