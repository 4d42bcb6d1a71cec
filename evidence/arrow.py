"""pyarrow without pandas, which nobody here hands it.

The first `pa.array([…])` of a process imports pandas, to know a Series if it were given one. That takes 0.4 s of
processor time and 40 MB, in every client, reader and check of a run, and in a client in the middle of its sends. What
asks for pandas itself (`to_pandas`, Spark's data frames) still gets it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa


class NotFound(MetaPathFinder):
    """Finds no pandas."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "pandas":
            raise ImportError("pyarrow is to work without pandas")
        return None


def leave_out_pandas() -> None:
    """Have pyarrow look for pandas now, and not find it; it looks once. No effect where pandas is imported already."""
    finder = NotFound()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
