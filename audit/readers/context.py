"""What is told to the readers below a call without passing through each function between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def while_set(variable: ContextVar[T], value: T) -> Iterator[None]:
    """While a variable has a value; afterwards it has the one that it had before.

    >>> deep = ContextVar("deep", default=0)
    >>> with while_set(deep, 1):
    ...     deep.get()
    1
    >>> deep.get()
    0
    """
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
