"""`kafka-chaos list`: scenarios, versions, anomalies, claims, broker settings."""

from __future__ import annotations

import argparse
import json
from types import ModuleType

from app import known_versions, listing
from app.output import say
from checks import catalogue as anomalies
from checks import claims
from harness.scenario import all_scenarios, get_scenario
from harness.setup import central, settings
from pages import catalogues


def _list_catalogue(catalogue: ModuleType, options: argparse.Namespace) -> int:
    """The catalogue of anomalies, or of claims."""
    entries = [one.as_json() for one in catalogue.EVERY]
    if options.markdown:
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
    if options.settings:
        names = sorted(settings.known(central.find(options.settings, say), say))
        print(json.dumps(names, indent=1) if options.json else "\n".join(names))
        return 0
    if options.versions:
        rows = known_versions.rows()
        print(json.dumps(rows, indent=1) if options.json else known_versions.as_text(rows))
        return 0
    if options.anomalies or options.claims:
        return _list_catalogue(anomalies if options.anomalies else claims, options)
    shown = [get_scenario(options.scenario)] if options.scenario else list(all_scenarios().values())
    print(json.dumps(listing.as_json(shown), indent=1) if options.json else listing.as_text(shown))
    return 0
