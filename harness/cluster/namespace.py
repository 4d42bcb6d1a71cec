"""The namespace of images and containers, which keeps several users of one Docker engine apart.

Everything that the project makes in Docker belongs to one namespace, $KAFKA_CHAOS_NAMESPACE. The names of the images
begin with it, and it is the value of the label by which containers, networks and volumes are found again. So what is
set up, reaped or cleaned in one namespace is never another's, and a fresh namespace has nothing that an earlier run
left.
"""

from __future__ import annotations

import os
import re
from typing import Final

from evidence.errors import UsageError

VARIABLE: Final = "KAFKA_CHAOS_NAMESPACE"
DEFAULT: Final = "kafka-chaos"
ALLOWED: Final = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")
"""What Docker allows as the first part of an image's name."""


def namespace() -> str:
    """The namespace in force. Raises UsageError if Docker allows no image of that name."""
    chosen = os.environ.get(VARIABLE) or DEFAULT
    if not ALLOWED.fullmatch(chosen):
        raise UsageError(
            f"{VARIABLE}={chosen!r} cannot begin an image's name: use lower-case letters and digits, with single . _ - "
            "between them"
        )
    return chosen
