"""`kafka-chaos doctor`: what works on this machine."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from evidence.errors import EXIT_ERROR
from harness.setup import doctor


def run(options: argparse.Namespace) -> int:
    """Tell what works; EXIT_ERROR if anything is missing."""
    checks = doctor.diagnose()
    if options.json:
        print(json.dumps([asdict(check) for check in checks]))
    else:
        for check in checks:
            print(f"{check.status:8} {check.name}: {check.detail}" + (f" - {check.remedy}" if check.remedy else ""))
    return EXIT_ERROR if any(check.status == "missing" for check in checks) else 0
