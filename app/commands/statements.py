"""`kafka-chaos statements`: which statements about Kafka two commits have differently."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from app import statements
from evidence.errors import UsageError


def run(options: argparse.Namespace) -> int:
    """Compare the registries of two commits, or of one and the working tree. Raises UsageError outside a checkout."""
    checkout = Path(statements.__file__).resolve().parents[1]
    if not (checkout / ".git").exists():
        raise UsageError(f"{checkout}: not a git checkout, so there are no commits to compare")
    base = options.old or statements.base_of(checkout)
    old = statements.registry_of(base, checkout)
    new = statements.registry_of(options.new, checkout) if options.new else statements.registry_in(checkout)
    found, name = statements.compared(old, new), options.new or statements.WORKING_TREE
    if options.json:
        print(json.dumps(statements.as_json(found, base, name), indent=1))
    else:
        print(statements.as_text(found, base, name, sources=options.sources))
    return 0
