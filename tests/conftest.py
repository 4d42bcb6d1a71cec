"""Property tests take as many examples as the profile says, and no test has a wider terminal than another.

    HYPOTHESIS_PROFILE=quick      a quarter of the examples that a test asks for; the default
    HYPOTHESIS_PROFILE=thorough   ten times as many: each night

A test that asks for a number of its own asks by `tests.properties.examples`. There is no deadline: the first example
may compile a loop, and a loaded machine is no failure.
"""

from __future__ import annotations

import os

from tests import properties

properties.load()
os.environ["COLUMNS"] = "100"
