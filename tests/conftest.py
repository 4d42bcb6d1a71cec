"""Property tests here have no deadline: the first example may compile a loop, and a loaded machine is no failure.

Text is as wide as where nobody looks, whatever terminal the tests are started from.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
os.environ["COLUMNS"] = "100"
