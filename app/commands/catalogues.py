"""`kafka-chaos list`: scenarios, versions, anomalies, claims, broker settings.

Scenarios and claims are listed by an installation that can run none. What else is asked for is loaded then.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys

from app import listing
from app.output import say
from harness.setup import central


def _list_catalogue(options: argparse.Namespace) -> int:
    """The catalogue of anomalies, or of claims."""
    if options.claims:
        from checks.claims import EVERY as CLAIMS

        entries = [one.as_json() for one in CLAIMS]
    else:
        from checks.catalogue import EVERY as ANOMALIES

        entries = [one.as_json() for one in ANOMALIES]
    if options.markdown:
        from pages import catalogues

        print(catalogues.pages()[catalogues.CLAIMS if options.claims else catalogues.ANOMALIES], end="")
    elif options.json:
        print(json.dumps(entries, indent=1))
    else:
        for entry in entries:
            name, *told = [f"{key}: {value}" for key, value in entry.items() if value]
            print("\n  ".join([name.removeprefix("name: "), *told]))
    return 0


def run(options: argparse.Namespace) -> int:
    """List what the options name."""
    if options.schema:
        from pages import schemas

        print(schemas.as_text(options.schema), end="")
        return 0
    if options.settings:
        from harness.setup import settings

        names = sorted(settings.known(central.find(options.settings, say), say))
        print(json.dumps(names, indent=1) if options.json else "\n".join(names))
        return 0
    if options.versions:
        from app import known_versions

        rows = known_versions.rows()
        print(json.dumps(rows, indent=1) if options.json else known_versions.as_text(rows))
        return 0
    if options.anomalies or options.claims:
        return _list_catalogue(options)
    return _list_scenarios(options)


def _list_scenarios(options: argparse.Namespace) -> int:
    """Sections, scenarios a line each, or scenarios in full: what is named by itself is told in full."""
    asked = listing.Selection(
        suite=options.suite,
        on=central.find(options.on, say) if options.on else None,
        seen=options.seen,
        claim=options.claim,
        find=options.find,
    )
    shown = listing.chosen(options.names, asked)
    every = [made for those in shown.values() for made in those]
    if options.json:
        print(json.dumps(listing.as_json(every), indent=1))
    elif options.full or (every and {made.name for made in every} <= set(options.names)):
        print(listing.as_text(every))
    elif options.names or not asked.nothing:
        print(listing.as_lines(shown, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))
        if set(shown) == set(options.names) and len(shown) == 1 and (told := listing.why(next(iter(shown)))):
            print(f"\n{told}")
    else:
        print(listing.overview(shown))
    return 0
