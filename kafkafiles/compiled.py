"""Functions compiled by Numba, whose code is kept on disk until what they are made of changes.

Numba keeps compiled code beside the source, and makes it anew when that file changes. But a function that calls one of
another module has that one's code within its own. It stays as it was when only the other module changes, and after an
update of this package it would silently use the old one. So the code is kept in a folder that is named after the
contents of the modules whose functions others call (`CALLED`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from numba import njit
from numba.core import config as _config

_numba: Any = _config
"""Its settings are set by name, from the environment: a type checker does not see them."""
HERE: Final = Path(__file__).parent
CALLED: Final = (HERE / "sums.py", HERE / "kernels.py")


def folder(beside: Path, called: Sequence[Path]) -> Path:
    """Where compiled code is kept, for what is in these modules now."""
    contents = hashlib.sha256(b"\0".join(path.read_bytes() for path in called)).hexdigest()
    return beside / "__pycache__" / f"compiled-{contents[:16]}"


def _keep_apart() -> None:
    """Have Numba keep its code in `folder`; where nothing can be written Numba's own place is left, the user's."""
    kept = folder(HERE, CALLED)
    try:
        kept.mkdir(parents=True, exist_ok=True)
        (kept / "writable").touch()
    except OSError:
        return
    _numba.CACHE_DIR = str(kept)


def compiled(function: Callable[..., Any]) -> Any:
    """The function, compiled when first called with arguments of some types; it frees the interpreter's lock."""
    return njit(cache=True, nogil=True)(function)


if not _numba.CACHE_DIR:  # NUMBA_CACHE_DIR, which the user may have set, stands
    _keep_apart()
