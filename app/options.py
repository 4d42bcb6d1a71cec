"""The options of the command line. What carries a command out stands in app/cli.py."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final, NoReturn

from app import command_help as help_of
from audit import options as options_of_audit
from evidence.errors import EXIT_USAGE
from evidence.retention import RETAIN
from harness.suite import DEFAULT_VERSIONS
from kafkafiles import options as options_of_replicas

RUNS: Final = Path("runs")
FAIL_ON: Final = {"unexpected": "not-reproduced", "error": "error", "unknown": "unknown"}
"""The least severe verdict that ends a matrix with another status than 0, by the word for it."""


class _Parser(argparse.ArgumentParser):
    """argparse with one line and our status for bad usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, f"kafka-chaos: {message} (see {self.prog} --help)\n")


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def shard(text: str) -> tuple[int, int]:
    """Which part of how many, as "3/8"."""
    number, _, of = text.partition("/")
    if not (number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(f"{text!r} is no part of so many, such as 3/8")
    return int(number), int(of)


def _age(text: str) -> float:
    """Seconds of an age: "14d", "12h"."""
    found = re.fullmatch(r"(\d+)([dh])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of days or hours, such as 14d or 12h")
    return int(found[1]) * {"d": 86400.0, "h": 3600.0}[found[2]]


def _directory(text: str) -> Path:
    """A directory that is there, or that can be made as far as what is there tells."""
    path = Path(text)
    for place in (path, *path.parents):
        if os.path.lexists(place) and not os.path.isdir(place):
            raise argparse.ArgumentTypeError(f"{place} is no directory")
    return path


def _file(text: str) -> Path:
    """A file that is there, or that can be made likewise. It is replaced, so it must be no device and no pipe."""
    path = Path(text)
    if os.path.exists(path) and not os.path.isfile(path):
        raise argparse.ArgumentTypeError(f"{path} is no file, and would be replaced by one")
    _directory(str(path.parent))
    return path


def _master(text: str) -> str:
    if not re.fullmatch(r"local(\[.+\]|-cluster\[.+\])?|yarn|(spark|k8s)://.+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no Spark master, such as local[4] or spark://HOST:PORT")
    return text


def _ledger(ledger: argparse.ArgumentParser) -> None:
    """The options of `kafka-chaos ledger`."""
    ledger.set_defaults(action="counts")
    actions = ledger.add_subparsers(metavar="ACTION", parser_class=_Parser)

    def action(name: str, text: str) -> argparse.ArgumentParser:
        sub: argparse.ArgumentParser = actions.add_parser(
            name,
            help=text,
            description=help_of.description(text),
            epilog=help_of.epilog(f"ledger {name}"),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(action=name)
        return sub

    merge = action("merge", "enter what ran in these folders; no line is changed or dropped")
    merge.add_argument("runs_dirs", nargs="+", type=Path, metavar="RUNS_DIR", help="folders of run directories")
    exclude = action("exclude", "take a run out of every count, by a line that says why")
    exclude.add_argument("run", metavar="RUN", help="its name")
    exclude.add_argument("--why", required=True, metavar="TEXT", help="the reason, which pages show")
    needs = action("needs", "which documented cells need more runs, and how many (the most first)")
    needs.add_argument("--json", action="store_true", help="the answer as JSON on stdout")
    may = action("allowances", "what may be seen, and never was or always was")
    may.add_argument(
        "--runs", type=_positive, default=10, metavar="N", help="in cells with at least N runs (default: 10)"
    )
    may.add_argument("--json", action="store_true", help="the answer as JSON on stdout")
    covered = action("coverage", "how much of what can be run was ever run, on each version, and how long ago")
    form = covered.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="the answer as JSON on stdout")
    form.add_argument("--markdown", action="store_true", help="as its page in docs/ has it")
    check = action("check", "hold the ledger to what was ever committed of it")
    for each in (ledger, merge, exclude, needs, may, covered, check):
        each.add_argument(
            "--results",
            type=_directory,
            default=argparse.SUPPRESS,
            metavar="DIR",
            help="where the ledger is kept (default: the folder results/ of this program)",
        )
    ledger.add_argument("--json", action="store_true", help="the counts, as JSON")


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number between 0 and 1, such as 0.05")
    return value


def _compare(compare: argparse.ArgumentParser) -> None:
    """The options of `kafka-chaos compare`."""
    where = "a folder of runs or of nights, or a ledger"
    compare.add_argument("old", nargs="?", type=Path, metavar="OLD", help=where)
    compare.add_argument("new", nargs="?", type=Path, metavar="NEW", help=f"{where}, to compare with OLD")
    runs = compare.add_argument_group("two builds, run in turn on the same seeds and machine, in place of OLD and NEW")
    build = "a release, or a build of your own: a directory, an archive or an image"
    runs.add_argument("--kafka-under-test", metavar="BUILD", help=f"the new one: {build}")
    runs.add_argument("--against", metavar="BUILD", help="the old one, likewise")
    runs.add_argument("--way", default="", metavar="WAY", help="how to run both, where there are several: zk, kraft")
    runs.add_argument("--scenarios", nargs="+", default=[], metavar="S", help="names, or all (default: the suite's)")
    runs.add_argument("--case", action="append", default=[], metavar="C", help="only this case; again for more")
    runs.add_argument("--seed", type=_positive, default=1, help="seed of the first run (default 1)")
    runs.add_argument("--repeat", type=_positive, default=5, metavar="N", help="seeds of each cell (default 5)")
    runs.add_argument("--jobs", type=_positive, default=1, metavar="N", help="runs at the same time (default 1)")
    runs.add_argument("--minutes", type=_positive, metavar="N", help="begin no run after so long")
    runs.add_argument("--quiet", action="store_true", help="no progress on stderr")
    runs.add_argument(
        "--runs-dir", type=_directory, default=RUNS / "compared", metavar="DIR", help="(default runs/compared)"
    )
    compare.add_argument(
        "--version",
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="hold runs on NEW's version against those on OLD's, and no others; again for more",
    )
    compare.add_argument(
        "--dry-run", action="store_true", help="only tell what would be run, or which cells would be compared"
    )
    compare.add_argument("--accept", type=Path, metavar="FILE", help="changes that are accepted for a while (TOML)")
    compare.add_argument(
        "--error",
        type=_share,
        default=0.05,
        metavar="P",
        help="the greatest chance that a change is reported for runs of the same Kafka (default 0.05)",
    )
    compare.add_argument("--out", type=_directory, metavar="DIR", help="write HTML, JSON, Markdown and JUnit there")
    compare.add_argument("--json", action="store_true", help="the answer as JSON on stdout")


def _trend(trend: argparse.ArgumentParser) -> None:
    """The options of `kafka-chaos trend`."""
    trend.add_argument(
        "folders", nargs="*", type=Path, metavar="FOLDER", help="of runs, of nights, or a ledger: added to the table"
    )
    trend.add_argument(
        "--table",
        type=_directory,
        default=RUNS / "history.parquet",
        metavar="DIR",
        help="the table of all nights, by PySpark (default runs/history.parquet)",
    )
    trend.add_argument("--by", choices=("night", "release", "commit"), default="night", help="(default night)")
    trend.add_argument("--scenarios", nargs="+", default=[], metavar="S", help="only these")
    trend.add_argument("--versions", nargs="+", default=[], metavar="V", help="only these")
    trend.add_argument("--out", type=_file, metavar="FILE", help="write a page with all of it there")


def _list(listing: argparse.ArgumentParser) -> None:
    """The options of `kafka-chaos list`."""
    listing.usage = "%(prog)s [options] [SCENARIO ...]"  # argparse never breaks the line of a group
    listing.add_argument(
        "names",
        nargs="*",
        metavar="SCENARIO",
        help="scenarios, each in full; or sections, or all, a line for each scenario (default: the sections)",
    )
    listing.add_argument("--suite", action="store_true", help="only those of the default suite")
    listing.add_argument("--on", metavar="V", help="only those that apply to this version")
    listing.add_argument("--seen", metavar="NAME", help="only those of which this anomaly must be seen (--on: there)")
    listing.add_argument("--claim", metavar="CLAIM", help="only those that are held to this claim (--on: there)")
    listing.add_argument("--find", metavar="TEXT", help="only those whose name, claim, source or story has this text")
    listing.add_argument("--full", action="store_true", help="each in full")
    catalogue = listing.add_mutually_exclusive_group()
    catalogue.add_argument("--anomalies", action="store_true", help="list the anomalies and their meanings instead")
    catalogue.add_argument("--claims", action="store_true", help="what each claim says, instead")
    catalogue.add_argument("--settings", metavar="V", help="the broker settings that a version knows, instead")
    catalogue.add_argument(
        "--versions", action="store_true", help="every release, the ways to run it, and what is there of it, instead"
    )
    catalogue.add_argument(
        "--schema",
        choices=("verdict", "findings", "timeline", "run", "ledger"),
        metavar="FILE",
        help="the JSON Schema of a file, instead: verdict, findings, timeline, run or ledger",
    )
    listing.add_argument("--json", action="store_true", help="the answer as JSON on stdout")
    listing.add_argument("--markdown", action="store_true", help="anomalies or claims as their page in docs/ has them")


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0.05 <= rate < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share of runs from 0.05 to less than 1, such as 0.3")
    return rate


def _symptoms(sub: argparse.ArgumentParser) -> None:
    """Options of what is looked for besides anomalies."""
    sub.add_argument(
        "--longer",
        action="append",
        default=[],
        metavar="NAME=S",
        help="the symptom is a time over a limit in seconds: a claim's, write_pause_ms, read_pause_ms, "
        "first_success_ms or ack_ms; again for more",
    )
    sub.add_argument(
        "--line",
        action="append",
        default=[],
        metavar="TEXT",
        help="the symptom is a warning or an error of a broker: a part of it, as `compare` tells it; again for more",
    )


def _bisect(sub: argparse.ArgumentParser) -> None:
    """The options of `kafka-chaos bisect`."""
    sub.add_argument("scenario", metavar="SCENARIO", help="its name: `kafka-chaos list` shows all")
    sub.add_argument("--case", metavar="C", help="the case of the scenario (default: the first)")
    sub.add_argument("--good", required=True, metavar="V", help="a version without the symptom")
    sub.add_argument("--bad", required=True, metavar="V", help="a version with it")
    sub.add_argument("--fix", action="store_true", help="the bad one is the older: which release mended it?")
    sub.add_argument(
        "--seen",
        nargs="+",
        default=[],
        metavar="NAMES",
        help="the anomalies that are the symptom (default: those that only the bad one shows)",
    )
    _symptoms(sub)
    sub.add_argument(
        "--rate",
        type=_rate,
        default=0.95,
        metavar="P",
        help="in what share of runs a release with the symptom shows it, at least (default 0.95)",
    )
    sub.add_argument("--each", action="store_true", help="test every release between the two, also beside the way")
    sub.add_argument("--setting", action="append", default=[], metavar="K=V", help="override a broker setting")
    sub.add_argument("--seed", type=_positive, default=1, help="seed of the first run (default 1)")
    sub.add_argument(
        "--runs-dir",
        type=_directory,
        default=RUNS / "bisect",
        metavar="DIR",
        help="where run directories go, and finished runs are taken from (default runs/bisect)",
    )
    sub.add_argument("--json", action="store_true", help="the result as JSON on stdout")
    sub.add_argument("--quiet", action="store_true", help="no progress on stderr")


AddCommand = Callable[[str, str], argparse.ArgumentParser]
"""Adds a command by its name and its description."""


def _own(sub: argparse.ArgumentParser) -> None:
    """What brokers of one's own build are made of."""
    sub.add_argument(
        "--kafka",
        metavar="BUILD",
        help="brokers of your own build: a directory (libs/, /usr/share/java/kafka, /opt/kafka, a source tree), a "
        ".tgz of releaseTarGz, or an image",
    )
    sub.add_argument(
        "--jar",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="a further jar for all nodes; again for more",
    )


def _locked(sub: argparse.ArgumentParser) -> None:
    """Whether any release will do."""
    sub.add_argument(
        "--locked", action="store_true", help="take only releases whose jars have a committed lock (compose/locks/)"
    )


def _client(sub: argparse.ArgumentParser) -> None:
    """Who produces."""
    sub.add_argument(
        "--client",
        metavar="C",
        help="producers to use: librdkafka, java-<release>, scala-<release>, or a command: a client of your own "
        "(docs/own-clients.md), which may be the consumer too. The verdict is `observed`",
    )


def _common(sub: argparse.ArgumentParser) -> None:
    """What one run and many runs have in common."""
    sub.add_argument(
        "--case", action="append", default=[], metavar="C", help="only this case of the scenario; again for more"
    )
    sub.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="K=V",
        help="override a broker setting (again for more). Nothing is documented then: the verdict is `observed`",
    )
    sub.add_argument(
        "--expect",
        metavar="NAMES",
        help="anomalies that must be seen, or none, in place of what is documented: any other outcome ends with 1",
    )
    _own(sub)
    _locked(sub)
    sub.add_argument("--seed", type=_positive, default=1, help="seed of the first run (default 1)")
    sub.add_argument("--repeat", type=_positive, default=1, metavar="N", help="run N times, with seeds counting up")
    told = sub.add_mutually_exclusive_group()
    told.add_argument("--json", action="store_true", help="results as JSON on stdout")
    told.add_argument(
        "--json-lines", action="store_true", help="all that happens, as it happens, as lines of JSON on stdout"
    )
    sub.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _run(command: AddCommand) -> None:
    """One run."""
    run = command("run", "Run one scenario on one version of Kafka, judge it, and write its report.")
    run.add_argument("scenario", metavar="SCENARIO", help="its name: `kafka-chaos list` shows all")
    run.add_argument(
        "--version",
        metavar="V",
        help="a release, with its way to run if it has several: 2.4.1, 3.9.2-zk; of a build of your own (--kafka) the "
        "way alone: zk; 2.4.1-to-2.8.1 is --upgrade-to in one word",
    )
    run.add_argument(
        "--upgrade-to",
        metavar="V",
        help="of the scenarios upgrade-…: the release that the version is upgraded to (docs/upgrades.md)",
    )
    run.add_argument(
        "--upgrade-from",
        metavar="V",
        help="the release that is upgraded to the version, or to a build of your own (--kafka)",
    )
    run.add_argument(
        "--for-bisect",
        action="store_true",
        help="end as `git bisect run` wants it: 0 good, 1 bad, 125 cannot be told",
    )
    _symptoms(run)
    run.add_argument(
        "--runs-dir", type=_directory, default=RUNS, metavar="DIR", help="where run directories go (default runs/)"
    )
    run.add_argument(
        "--keep", action="store_true", help="leave the cluster up afterwards; `kafka-chaos clean` removes it"
    )
    _client(run)
    run.add_argument(
        "--subjects",
        type=Path,
        metavar="FILE",
        help="of a scenario of the audit: producers of your own in place of its own (`kafka-chaos audit --prove`)",
    )
    run.add_argument("--no-check", action="store_true", help="only record; judge later with `kafka-chaos check`")
    _common(run)


def _many_runs(command: AddCommand) -> None:
    """Many runs: of scenarios that are named, and of the default suite."""
    for name, text, needed, folder in (
        (
            "matrix",
            "Run scenarios × cases × versions. Cells that are finished in the folder are not run again.",
            True,
            RUNS / "matrix",
        ),
        ("suite", "Run the default suite, and write a report of all its runs.", False, None),
    ):
        sub = command(name, text)
        sub.add_argument("--scenarios", nargs="+", required=needed, metavar="S", help="names, or all")
        sub.add_argument("--versions", nargs="+", metavar="V", help="ids, or all; of --kafka the ways to run it")
        sub.add_argument(
            "--runs-dir", type=_directory, default=folder, metavar="DIR", help="where the run directories go"
        )
        _client(sub)
        sub.add_argument("--jobs", type=_positive, default=2, metavar="N", help="runs at the same time (default 2)")
        sub.add_argument(
            "-v", "--verbose", action="store_true", help="the steps of each run too, as lines (no table on a terminal)"
        )
        sub.add_argument(
            "--minutes",
            type=_positive,
            metavar="N",
            help="begin no run after so long; which are left depends on the seed, and the next call runs them",
        )
        sub.add_argument(
            "--plan",
            action="store_true",
            help="begin with what the ledger knows least of: never run, not good last time, changed since, longest ago",
        )
        sub.add_argument(
            "--retain",
            choices=RETAIN,
            default="all",
            help="all keeps everything of a judged run; interesting drops histories and copies of replicas if the run "
            "ended well; verdicts keeps the findings alone",
        )
        sub.add_argument("--shard", type=shard, metavar="I/N", help="of a plan, the part of machine I of N")
        sub.add_argument(
            "--fail-on",
            choices=tuple(FAIL_ON),
            default="unknown",
            help="end with 0 unless a verdict is so bad: unexpected (also not-reproduced), error or worse, unknown or "
            "worse (default)",
        )
        sub.add_argument("--dry-run", action="store_true", help="only tell what would be run (--json: as JSON)")
        sub.add_argument(
            "--again",
            type=_count,
            metavar="N",
            help="run cells that are not good N times more, one at a time (default: 3 with --minutes, else 0)",
        )
        _common(sub)


def _clusters(command: AddCommand) -> None:
    """A cluster for tests of one's own, and runs that look for a release."""
    commanded = command(
        "cluster",
        "Start a cluster for your own tests. They command it by lines of JSON on standard input (docs/pytest.md).",
    )
    commanded.add_argument("--version", metavar="V", help="a release; of --kafka the way to run it")
    _own(commanded)
    _locked(commanded)
    commanded.add_argument("--brokers", type=_positive, default=3, metavar="N", help="3 to 5 (default 3)")
    commanded.add_argument(
        "--setting", action="append", default=[], metavar="K=V", help="a broker setting; again for more"
    )
    commanded.add_argument(
        "--runs-dir", type=_directory, default=RUNS / "own-tests", metavar="DIR", help="(default runs/own-tests)"
    )

    _bisect(
        command(
            "bisect",
            "Find the release that a symptom came with, or went with, by runs on releases between (docs/bisect.md). "
            "For commits: `run … --for-bisect`.",
        )
    )


def _answers(command: AddCommand) -> None:
    """What runs, releases and saved files tell."""
    check = command("check", "Analyse and judge again, from the files of runs alone.")
    check.add_argument("run_dirs", nargs="*", type=Path, metavar="RUN_DIR", help="run directories, or folders of them")
    check.add_argument(
        "--history", type=Path, metavar="FILE", help="a history of JSON Lines instead of run directories"
    )
    check.add_argument("--master", type=_master, help="Spark master (default local[2]; none for a small history)")
    check.add_argument("--json", action="store_true", help="the answer as JSON on stdout")

    report = command("report", "Write the reports of judged runs again.")
    report.add_argument("run_dirs", nargs="+", type=Path, metavar="RUN_DIR", help="run directories, or folders of them")
    report.add_argument("--out", type=_file, metavar="FILE", help="one report for all of them")
    report.add_argument("--picture", type=_file, metavar="FILE", help="the picture of one run, as an SVG file")

    watch = command(
        "watch",
        "Show what a run does, or did, in the order of time, then its verdict. The exit status is that of the verdict.",
    )
    watch.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="the directory of a run")
    watch.add_argument("--json-lines", action="store_true", help="as lines of JSON on stdout")

    bugs = command("museum", "List which of Kafka's historical bugs can happen on a release, and what showed it.")
    bugs.add_argument("--version", metavar="V", help="a release, such as 2.6.1 or 3.5.1-kraft; without it all bugs")
    bugs.add_argument(
        "--report", type=Path, metavar="RUN_DIR", help="what a maintainer needs of a judged run of one, as Markdown"
    )
    bugs.add_argument("--json", action="store_true", help="the answer as JSON on stdout")

    pages = command(
        "atlas", "Show what can happen to acknowledged records, for a version and your settings, event by event."
    )
    pages.add_argument("--version", metavar="V", help="a line or a release: 2.8, 2.8.2, 3.9-kraft, 3.9-pinned")
    pages.add_argument(
        "--settings", action="append", default=[], metavar="FILE", help="mark the column that these producers fall in"
    )
    pages.add_argument(
        "--client", choices=("java", "librdkafka"), help="whose grid, and whose settings (default: java, or the file's)"
    )
    pages.add_argument("--all", action="store_true", help="the whole page: settings, bugs, a move")
    pages.add_argument("--format", choices=("text", "csv", "json", "parquet"), default="text", help="(default text)")
    pages.add_argument("--output", type=_file, metavar="FILE", help="write there")

    saved = command(
        "incident",
        "Read saved logs, partitions and configuration, and tell what may have lost records (docs/lost-records.md).",
    )
    saved.add_argument("places", nargs="+", type=Path, metavar="DIR", help="what you saved; one of each broker")
    saved.add_argument("--version", metavar="V", help="the brokers' release (default: the newest that a log names)")

    found = command("findings", "Show what was found here that no document says, with its control and its status.")
    found.add_argument("--json", action="store_true", help="the answer as JSON on stdout")


def _records(command: AddCommand) -> None:
    """What is kept of runs, and what is compared and written of it."""
    prune = command("prune", "Remove old runs, or what is large of them. The ledger keeps their lines.")
    prune.add_argument("runs_dirs", nargs="+", type=Path, metavar="RUNS_DIR", help="folders of run directories")
    prune.add_argument(
        "--older-than", type=_age, required=True, metavar="AGE", help="since their end: 14d, 12h", dest="older_than"
    )
    prune.add_argument(
        "--retain", choices=RETAIN[1:], help="in place of the whole directory, what `matrix --retain` would remove"
    )

    guide = command("guide", "Write the generated pages of docs/: scenarios, what was reproduced, durations.")
    guide.add_argument(
        "run_dirs",
        nargs="*",
        type=Path,
        metavar="RUN_DIR",
        help="judged runs, or folders of them; one of each scenario is described in full and drawn",
    )
    guide.add_argument(
        "--docs", type=_directory, default=Path("docs"), metavar="DIR", help="where the pages go (docs/)"
    )
    guide.add_argument(
        "--results",
        type=_directory,
        metavar="DIR",
        help="where the ledger and pictures of runs are kept (default: the folder results/ of this program)",
    )

    _ledger(
        command("ledger", "Count the runs that were ever started, and show which cells need more (docs/ledger.md).")
    )

    _compare(
        command("compare", "Tell in one sentence what changed between two samples of runs, and then what to look at.")
    )

    _trend(command("trend", "Show each cell and each duration over nights, releases or commits (docs/nights.md)."))

    options_of_audit.add_options(command("audit", options_of_audit.DESCRIPTION))


def _evidence(command: AddCommand) -> None:
    """One run in detail, and what is stated."""
    packed = command(
        "evidence",
        "Pack the small evidence of judged runs, at most 200 kB each, and print its SHA-256 (docs/evidence.md).",
    )
    packed.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="RUN_DIR",
        help="a run directory; or folders of them: one run of each cell",
    )
    packed.add_argument(
        "--out", type=Path, metavar="PLACE", help="a file or folder (default: here; of folders: dist/evidence/)"
    )

    replay = command("replay", "Run again what a run of the ledger ran, on the commit that it was run from.")
    replay.add_argument("run", metavar="RUN", help="its name")
    replay.add_argument("--here", action="store_true", help="on whatever is checked out")
    replay.add_argument(
        "--runs-dir", type=_directory, default=RUNS, metavar="DIR", help="where runs are (default runs/)"
    )

    explain = command("explain", "Tell the life of a record, as every witness saw it, in the order of time.")
    explain.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="the directory of a run")
    which = explain.add_mutually_exclusive_group()
    which.add_argument(
        "--record",
        metavar="ID",
        help="TOPIC-PARTITION:PRODUCER/SEQUENCE, such as t-0:1/3, or TOPIC-PARTITION@OFFSET, such as t-0@3, for all "
        "that is known there; default: every record that a finding names",
    )
    which.add_argument("--anomaly", metavar="NAME", help="only the records that findings of this anomaly name")
    explain.add_argument("--json", action="store_true", help="all stories, as JSON")

    replicas = command("replicas", "Compare data directories of replicas, copied from any cluster.")
    options_of_replicas.add_arguments(replicas)

    _list(
        command(
            "list",
            "List scenarios, and what is documented for each version; or anomalies, claims, settings and versions.",
        )
    )

    statements = command(
        "statements", "Compare what two commits state about Kafka, and tell which of them allows more."
    )
    statements.add_argument(
        "old", nargs="?", metavar="OLD", help="a commit (default: the last tag, or where this branch left origin/main)"
    )
    statements.add_argument("new", nargs="?", metavar="NEW", help="another (default: the working tree)")
    statements.add_argument("--sources", action="store_true", help="also what is the same and rests on another source")
    statements.add_argument("--json", action="store_true", help="the answer as JSON on stdout")


def _machine(command: AddCommand) -> None:
    """What a machine needs, and what is new."""
    setup = command("setup", "Install or build what is missing: Docker, Java, images (docs/install.md).")
    setup.add_argument(
        "--versions",
        nargs="+",
        metavar="V",
        help=f"ids, or all (default {' '.join(DEFAULT_VERSIONS)}); of --kafka the ways",
    )
    _own(setup)
    _locked(setup)

    releases = command("releases", "Ask Maven Central for new releases, and write a page on what changed in each.")
    releases.add_argument(
        "releases", nargs="*", metavar="RELEASE", help="these, whether new or not; default: those that the list lacks"
    )
    releases.add_argument("--against", metavar="RELEASE", help="the release to compare with (default: the one before)")
    releases.add_argument("--list", action="store_true", help="only renew the list of releases, and run nothing")
    releases.add_argument(
        "--scenarios", nargs="+", default=[], metavar="S", help="names, or all, in place of a telling set"
    )
    releases.add_argument(
        "--runs-dir",
        type=_directory,
        default=RUNS / "releases",
        metavar="DIR",
        help="where run directories go, and what is finished is taken from (default runs/releases)",
    )
    releases.add_argument(
        "--docs", type=_directory, default=Path("docs/releases"), metavar="DIR", help="where pages go (docs/releases)"
    )
    releases.add_argument("--jobs", type=_positive, default=2, metavar="N", help="runs at the same time (default 2)")
    releases.add_argument("--minutes", type=_positive, metavar="N", help="begin no run after so long")
    releases.add_argument("--seed", type=_positive, default=1, help="seed of the first run (default 1)")
    releases.add_argument("--repeat", type=_positive, default=3, metavar="N", help="runs of each cell (default 3)")
    releases.add_argument("--json", action="store_true", help="results as JSON on stdout")
    releases.add_argument("--quiet", action="store_true", help="no progress on stderr")

    doctor = command("doctor", "Check this machine: show what works, and how to mend the rest.")
    doctor.add_argument("--json", action="store_true", help="the answer as JSON on stdout")

    clean = command("clean", "Remove what killed runs left behind, and nothing that is not ours.")
    clean.add_argument("--all", action="store_true", help="also what living harnesses own and what was started by hand")
    clean.add_argument(
        "--runs-dir", type=_directory, default=RUNS, metavar="DIR", help="where runs are (default runs/)"
    )


@cache
def parser() -> argparse.ArgumentParser:
    """The parser of the command line; which command it is stands in `command`. It is made once in a process."""
    whole = _Parser(
        prog=help_of.PROGRAM,
        usage="%(prog)s [-h] [--version] COMMAND ...",
        description="What happens to acknowledged records when Kafka's brokers fail?",
        epilog=help_of.overview(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument("--version", action="version", version=f"%(prog)s {metadata.version('kafka-chaos')}")
    # The epilog lists the commands in groups; argparse would list them once more, in one.
    commands = whole.add_subparsers(
        dest="command",
        required=True,
        metavar="COMMAND",
        prog=help_of.PROGRAM,
        help=argparse.SUPPRESS,
        parser_class=_Parser,
    )

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            help=help_of.COMMANDS[name].summary,
            description=help_of.description(text),
            epilog=help_of.epilog(name),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    for add in (_run, _many_runs, _clusters, _answers, _records, _evidence, _machine):
        add(command)
    return whole
