"""Property tests here have no deadline: the first example may compile a loop, and a loaded machine is no failure."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
