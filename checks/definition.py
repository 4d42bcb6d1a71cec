"""The definition of an anomaly or a claim: the first paragraph of its function's docstring."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def definition_of(function: Callable[..., Any]) -> str:
    """The first paragraph of a function's docstring, in one line. Raises ValueError if it has none that ends with a
    full stop.

    >>> def duplicate(): "One record at two or more offsets of a partition."
    >>> definition_of(duplicate)
    'One record at two or more offsets of a partition.'
    """
    text = " ".join((function.__doc__ or "").strip().partition("\n\n")[0].split())
    if not text.endswith("."):
        raise ValueError(f"the docstring of {function.__qualname__} has to begin with the definition, a sentence")
    return text
