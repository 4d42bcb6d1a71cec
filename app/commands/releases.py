"""`kafka-chaos releases`: what is new at Maven Central, and what changed in it."""

from __future__ import annotations

import argparse
import json

from app import releases
from app.arguments import names_of
from app.output import Progress, result, say
from evidence.errors import EXIT_AS_DOCUMENTED, EXIT_UNKNOWN, UsageError
from harness.cluster import apache


def run(options: argparse.Namespace) -> int:
    """Renew the list, or write the pages of releases; EXIT_UNKNOWN if runs are left to be made."""
    progress = Progress(quiet=options.quiet)
    if options.against and len(options.releases) != 1:
        raise UsageError("--against takes one release to compare: kafka-chaos releases 4.4.0 --against 4.3.1")
    unknown = [name for name in options.releases if name not in apache.releases()]
    new = releases.ask(progress.line) if unknown or not options.releases else ()
    if options.list:
        renewed = releases.renew(new)
        told = {"new": list(new), "known": len(apache.releases()), "committed_list_renewed": renewed}
        result(json.dumps(told) if options.json else _told(new, renewed))
        return EXIT_AS_DOCUMENTED
    plans = [releases.plan(name, options.against) for name in (options.releases or new)]
    if not plans:
        result(json.dumps([]) if options.json else "nothing new: every release at Maven Central is in the list")
        return EXIT_AS_DOCUMENTED
    teller = releases.Telling(
        root=options.runs_dir,
        docs=options.docs,
        jobs=options.jobs,
        repeat=options.repeat,
        seed=options.seed,
        until=releases.deadline(options.minutes),
        echo=progress.line,
    )
    left, pages = 0, []
    for plan in plans:
        page, matrix = teller.tell(plan, releases.chosen(names_of(options.scenarios), plan.pairs))
        pages.append({"release": plan.release, "before": plan.before, "page": str(page), "left": matrix.left})
        left += matrix.left + len(matrix.lost)
        if not options.json:
            result(f"{page}: Kafka {plan.release} beside {plan.before}")
        if matrix.left or matrix.lost:
            say(f"{matrix.left + len(matrix.lost)} runs are missing on that page; the same command continues")
        else:
            releases.renew([plan.release])
    if options.json:
        result(json.dumps(pages))
    return EXIT_UNKNOWN if left else EXIT_AS_DOCUMENTED


def _told(new: tuple[str, ...], renewed: bool) -> str:
    if not new:
        return "nothing new: every release at Maven Central is in the list"
    where = "compose/releases.txt" if renewed else str(apache.found_path())
    return f"new at Maven Central, and added to {where}: {', '.join(new)}"
