"""`kafka-chaos setup`: installs or builds what is missing."""

from __future__ import annotations

import argparse

from app.arguments import versions_of
from app.output import Progress
from harness.cluster import versions
from harness.setup import bootstrap


def run(options: argparse.Namespace) -> int:
    """Install or build what the named versions need."""
    tell = Progress().line
    named = versions_of(options.versions, tell, locked=options.locked)
    bootstrap.setup(versions.ALL if named is None else named, tell)
    return 0
