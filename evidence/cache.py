"""Where the user's cache directory is: the set-up fills it, the analysis keeps an archive of classes in it.

Everything in it can be deleted at any time: it is fetched or made again.
"""

from __future__ import annotations

import os
from pathlib import Path


def cache_path() -> Path:
    """$KAFKA_CHAOS_CACHE, else `kafka-chaos` in the user's cache directory. It need not exist."""
    if chosen := os.environ.get("KAFKA_CHAOS_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafka-chaos"
