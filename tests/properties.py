"""How many examples a property test takes: more at night than at a desk.

`FACTOR` scales what a test asks for (100 if it asks for nothing). The environment's HYPOTHESIS_PROFILE chooses it, so
that the processes that share the tests take the same.
"""

from __future__ import annotations

import os
from typing import Final

from hypothesis import settings

FACTORS: Final = {"quick": 0.1, "whole": 1.0, "thorough": 10.0}
PROFILE: Final = os.environ.get("HYPOTHESIS_PROFILE", "quick")
LEAST: Final = 10
"""Examples that every test takes."""


def examples(asked: int) -> int:
    """How many examples to take in place of `asked`.

    Raises KeyError for a profile that does not exist.
    """
    return max(LEAST, round(asked * FACTORS[PROFILE]))


def load() -> None:
    """Make the profile the one that tests have which say nothing."""
    settings.register_profile(PROFILE, max_examples=examples(100), deadline=None)
    settings.load_profile(PROFILE)
