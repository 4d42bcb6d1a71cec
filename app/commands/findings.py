"""`kafka-chaos findings`: what was found here that no document says."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

from pages.findings import all_counted


def run(options: argparse.Namespace) -> int:
    """Print the registry."""
    found = all_counted()
    print(json.dumps(found, indent=1) if options.json else "\n\n".join("\n".join(_lines(one)) for one in found))
    return 0


def _lines(one: Mapping[str, Any]) -> Iterator[str]:
    yield f"{one['id']}: {one['title']}"
    yield f"  whom      {one['whom']}"
    yield f"  releases  {one['releases']}"
    yield f"  the least {one['least']}"
    for side in ("seen", "control"):
        arm = one[side]
        runs = ", ".join(f"{count} on {version}" for version, count in arm["told"].items())
        yield f"  {side:<9} {arm['shows']}; {runs}: {arm['command']}"
    if one["beside"]:
        yield f"  besides   {one['beside']}"
    if one["credit"]:
        yield f"  credit    {one['credit']}"
    yield f"  status    {one['status']['on']}: {one['status']['state']}. {one['status']['told']}"
