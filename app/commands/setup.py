"""`kafka-chaos setup`: installs or builds what is missing, and names the images on standard output."""

from __future__ import annotations

import argparse

from app.arguments import own_versions, versions_of
from app.output import Progress, result
from harness.cluster import versions
from harness.setup import bootstrap
from harness.suite import DEFAULT_VERSIONS


def run(options: argparse.Namespace) -> int:
    """Install or build what the named versions need."""
    tell = Progress().line
    named = own_versions(options, tell)
    if named is None:
        named = versions_of(options.versions or DEFAULT_VERSIONS, tell, locked=options.locked)
    wanted = versions.ALL if named is None else named
    bootstrap.setup(wanted, tell)
    for image in dict.fromkeys(version.image for version in wanted):
        result(image)
    return 0
