"""Every kind of fault: one frozen type each (evidence.faults.base), and the registry that is made from them.

A kind is a type with a tag in a module of this package; nothing is listed by hand. What is not here is no kind of
fault: it is refused when it is carried out (harness.faults.base) and when a timeline is read (evidence.events.Fault).
"""

from __future__ import annotations

import functools
import importlib
import operator
import pkgutil
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from evidence.faults.base import FaultProof, kind_of
from evidence.faults.process import DeathProof

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def tagged(base: type[FaultProof]) -> Iterator[type[FaultProof]]:
    """The kinds of faults below a type; a type that is given no tag has its own name as one, and is no kind."""
    for one in base.__subclasses__():
        if kind_of(one) != one.__name__:
            yield one
        yield from tagged(one)


def registry(base: type[FaultProof]) -> Mapping[str, type[FaultProof]]:
    """The kinds below a type, by name. Raises TypeError for two of one name, or one that misses nothing in a proof."""
    found: dict[str, type[FaultProof]] = {}
    for one in tagged(base):
        if one.missing is FaultProof.missing:
            raise TypeError(f"{one.__name__} does not say what is missing from a proof: it has no missing()")
        if found.setdefault(kind_of(one), one) is not one:
            raise TypeError(f"{one.__name__} and {found[kind_of(one)].__name__} are both called {kind_of(one)!r}")
    return MappingProxyType(dict(sorted(found.items())))


KINDS: Final = registry(FaultProof)
DEATHS: Final = tuple(registry(DeathProof))
"""The kinds by which a process is gone from one moment to the next."""

if TYPE_CHECKING:
    AnyProof = FaultProof
else:
    AnyProof = functools.reduce(operator.or_, KINDS.values())
    """Any of them, for decoding: the tag says which."""
