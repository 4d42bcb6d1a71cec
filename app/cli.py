"""The command line: `kafka-chaos run | matrix | suite | check | audit | report | guide | museum | explain | replicas |
list | setup | doctor | clean`.

Every command ends with one of the statuses of evidence/errors.py: 0 all as documented, 1 unexpected or not
reproduced, 2 unknown, 254 bad input (one line on stderr), 255 the harness failed; 130 after Ctrl-C, when
everything started has been removed; 141 if the reader of a command that judges nothing left (`list | head`).
What a person reads goes to stderr as it happens; results go to stdout, as JSON with `--json`.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from app import completion
from app import options as options_of
from app.output import mute, nobody_reads, result, say
from evidence.errors import EXIT_ERROR, EXIT_UNREAD, EXIT_USAGE, HarnessError, KafkaChaosError, UsageError, refusal
from evidence.text import forgiving_output, visible

if TYPE_CHECKING:
    from evidence.events import Event
    from evidence.rundir import RunDir
    from harness.cluster.versions import Version
    from judgement.verdict import Verdict

EXIT_INTERRUPTED: Final = 130
PR_SET_PDEATHSIG: Final = 1


PARTITION: Final = re.compile(r"(?<!\S)(?!(?:broker|controller|producer|consumer|load)-)[\w.-]+-\d+(?=[\s:,]|$)")
"""A partition in a line of progress: `t-0`."""
MOST_ALIKE: Final = 3


class Progress:
    """Lines of progress, each behind the seconds since the start.

    Of events that differ in nothing but the partition, as of the fifty subjects of an audit, the first MOST_ALIKE in a
    row are told one by one, and the others by their number.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._start = time.monotonic()
        self._quiet = quiet
        self._lock = threading.RLock()
        self._alike: dict[str, set[str]] = {}
        self._untold = 0

    def line(self, text: str) -> None:
        """Print one line."""
        if not self._quiet:
            with self._lock:
                say(f"{time.monotonic() - self._start:7.1f} s  {visible(text)}")

    def event(self, event: Event) -> None:
        """Print what a person wants to see of the timeline: steps, faults and their proof, elections."""
        from judgement.report import console

        text = console.progress_line(event)
        with self._lock:
            if text and not self._is_like_others(text):
                self.line(text)

    def _is_like_others(self, text: str) -> bool:
        """Whether enough lines like this one have been told in a row, of other partitions."""
        named = PARTITION.search(text)
        if named is None:
            if self._untold:
                self.line(f"  … and {self._untold} more like these, of other partitions")
            self._alike, self._untold = {}, 0
            return False
        told = self._alike.setdefault(PARTITION.sub("", text), set())
        if named[0] not in told and len(told) >= MOST_ALIKE:
            self._untold += 1
            return True
        told.add(named[0])
        return False


def _settings(pairs: Sequence[str]) -> dict[str, str]:
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--setting {pair!r}: write it as name=value, such as --setting min.insync.replicas=2")
        settings[key.strip()] = value.strip()
    return settings


def _names(text: Sequence[str]) -> list[str]:
    return [name for part in text for name in part.replace(",", " ").split()]


def _versions(names: Sequence[str]) -> list[Version] | None:
    """The versions that --versions names; None for all."""
    from harness.cluster import versions

    ids = _names(names)
    return None if ids == ["all"] else [versions.get(name) for name in ids]


def _judged(run_dir: RunDir, verdict: Verdict) -> dict[str, Any]:
    """A run and its verdict, for --json."""
    return {"run_dir": str(run_dir.path)} | verdict.as_json()


def _expected(text: str | None) -> tuple[str, ...] | None:
    """The anomalies that --expect names; "none" is none of them."""
    from checks import catalogue as anomalies

    if text is None:
        return None
    names = () if text.strip() == "none" else tuple(dict.fromkeys(_names([text])))
    anomalies.validate(names)
    return names


def _run(options: argparse.Namespace) -> int:
    from evidence.run import full_name
    from harness.cluster import versions
    from harness.removal import Removals
    from harness.runner import Request, execute
    from harness.scenario import get_scenario
    from harness.setup import settings as known_settings
    from harness.setup.java import java_home
    from judgement.judge import Analyst, judge
    from judgement.report import console
    from judgement.verdict import worst

    chosen, version, overrides = (
        get_scenario(options.scenario),
        versions.get(options.version),
        _settings(options.setting),
    )
    cases, expect = chosen.cases_for(version, _names(options.case)), _expected(options.expect)
    known_settings.validate(version, overrides, "--setting")
    for case in cases:
        known_settings.validate(version, chosen.cluster_of(case).settings, chosen.file)
    progress = Progress(quiet=options.quiet)
    verdicts, results, removals = [], [], Removals()
    analyst = None if options.no_check else Analyst(java_home=java_home(), lazy=True)
    try:
        for seed, case in itertools.product(range(options.seed, options.seed + options.repeat), cases):
            progress.line(f"{full_name(chosen.name, case.name)} on {version.id}, seed {seed}")
            request = Request(
                scenario=chosen,
                version=version,
                case=case.name,
                seed=seed,
                settings=overrides,
                expect=expect,
                client=options.client,
                subjects=options.subjects,
                root=options.runs_dir,
                keep=options.keep,
            )
            finished = execute(
                request,
                removals=removals,
                echo=progress.line,
                listen=progress.event,
                on_up=analyst.start if analyst else None,
            )
            if analyst is None:
                results.append({"run_dir": str(finished.run_dir.path)})
            else:
                judged = judge(finished.run_dir, analyst)
                verdicts.append(judged.verdict)
                results.append(_judged(finished.run_dir, judged.verdict))
                progress.line(f"verdict: {judged.verdict.in_words}")
                if not options.json:
                    result(console.run_summary(judged))
            removals.wait()
    finally:
        # Whatever ended the run: nothing more is said before its cluster is gone.
        try:
            removals.wait()
        finally:
            if analyst is not None:
                analyst.close()
            # Runs are whole, and count, also if the engine would not remove something of one.
            if options.json and results:
                result(json.dumps(results[0] if options.repeat == len(cases) == 1 else results))
    return worst(verdicts).exit_status if verdicts else 0


def _matrix(options: argparse.Namespace) -> int:
    from app.matrix import Matrix, cells, night_order, of_the_night, suite_cells, write_reports
    from harness.cluster import versions as known_versions
    from harness.scenario import all_scenarios, get_scenario
    from harness.setup import images
    from harness.setup import settings as known_settings
    from harness.suite import DEFAULT_VERSIONS, SUITE
    from judgement.report import console
    from judgement.verdict import read_verdict, worst

    names = _names(options.scenarios or ())
    chosen = [get_scenario(name) for name in names if name != "all"]
    if not chosen:
        chosen = [each for each in all_scenarios().values() if names or each.name in SUITE]
    if options.minutes is not None and names == ["all"]:
        chosen = of_the_night(chosen, options.seed)
    overrides, expect = _settings(options.setting), _expected(options.expect)
    cases = _names(options.case)
    if names or options.versions or cases:
        named = _versions(options.versions or DEFAULT_VERSIONS)
        wanted = cells(chosen, named, seed=options.seed, repeat=options.repeat, cases=cases)
    else:
        wanted = suite_cells(all_scenarios(), seed=options.seed, repeat=options.repeat)
    versions = [version for version in known_versions.KNOWN if any(cell.version == version.id for cell in wanted)]
    for version in versions:
        known_settings.validate(version, overrides, "--setting")
    if options.minutes is not None:
        wanted = night_order(wanted, options.seed)
    progress = Progress(quiet=options.quiet)
    images.ensure_images(versions, progress.line)
    root: Path = options.runs_dir
    root.mkdir(parents=True, exist_ok=True)
    until = math.inf if options.minutes is None else time.monotonic() + 60.0 * options.minutes
    matrix = Matrix(root, overrides, options.jobs, progress.line, expect, until)
    runs = list(matrix.run(wanted).values())
    verdicts = [read_verdict(run_dir) for run_dir in runs]
    loaded = write_reports(root, runs)
    if options.json:
        result(json.dumps([_judged(*pair) for pair in zip(runs, verdicts, strict=True)]))
    else:
        result(console.table(loaded))
        result(f"report: {root / 'report.html'}   JUnit: {root / 'junit.xml'}")
    if matrix.left:
        say(
            f"{matrix.left} of {len(wanted)} runs were not begun in {options.minutes} minutes; the same command goes on"
        )
    if matrix.lost:
        raise HarnessError(
            f"{len(matrix.lost)} of {len(wanted)} runs left no run directory; the first: {matrix.lost[0]}"
        )
    return worst(verdicts).exit_status


def _check_history(path: Path, *, as_json: bool) -> int:
    """Judge a history of JSON Lines in a process of the analysis; its status is ours."""
    command = [sys.executable, "-m", "analysis.jsonl", str(path), *(["--json"] if as_json else [])]
    return subprocess.run(command, check=False).returncode


def _check(options: argparse.Namespace) -> int:
    if options.history is not None:
        if options.run_dirs:
            raise UsageError("check takes run directories or --history FILE, not both")
        return _check_history(options.history, as_json=options.json)
    if not options.run_dirs:
        raise UsageError("check what? Name run directories, or a history of JSON Lines with --history FILE")
    from harness.setup.java import java_home
    from judgement.judge import Analyst, judge
    from judgement.report import console
    from judgement.verdict import worst

    runs, refusals = _readable(options.run_dirs)
    failures = [_tell_failure(error) for error in refusals]
    if not runs:
        return EXIT_USAGE
    results, verdicts = [], []
    with Analyst(java_home=java_home(), master=options.master) as analyst:
        for run_dir in runs:
            try:
                judged = judge(run_dir, analyst)
            except Exception as error:
                failures.append(_tell_failure(error))
                continue
            verdicts.append(judged.verdict)
            results.append(_judged(run_dir, judged.verdict))
            if not options.json:
                result(console.run_summary(judged))
    if options.json:
        result(json.dumps(results[0] if len(results) == 1 and not failures else results))
    return max(failures) if failures else worst(verdicts).exit_status


def _readable(paths: Sequence[Path]) -> tuple[list[RunDir], list[UsageError]]:
    """The runs at these places that can be judged, and why others cannot: one that cannot keeps no other from it."""
    from evidence.rundir import find_runs

    runs: list[RunDir] = []
    refusals: list[UsageError] = []
    for path in paths:
        try:
            found = list(find_runs(path))
        except UsageError as error:
            refusals.append(error)
            continue
        for run_dir in found:
            try:
                run_dir.refuse_special_files()
                run_dir.read_run()
            except UsageError as error:
                refusals.append(error)
            else:
                runs.append(run_dir)
    return runs, refusals


def _report(options: argparse.Namespace) -> int:
    from evidence.rundir import find_runs
    from judgement.report import console, html, junit
    from judgement.report.facts import load_all
    from judgement.verdict import worst

    runs = [run_dir for path in options.run_dirs for run_dir in find_runs(path)]
    judged = [run_dir for run_dir in runs if run_dir.verdict.exists()]
    if len(judged) < len(runs):
        left_out = f"{len(runs) - len(judged)} of {len(runs)} runs"
        say(f"{left_out} have no verdict and are left out; `kafka-chaos check` judges them")
    if not judged:
        raise UsageError("none of these runs has a verdict; `kafka-chaos check` judges them")
    loaded = load_all(judged)
    for run in loaded.facts:
        html.write_run(run)
        junit.write_run(run)
    if options.out:
        html.write_suite(loaded, options.out)
        result(f"report: {options.out}")
    if options.picture:
        if len(loaded.facts) != 1:
            raise UsageError(f"--picture draws one run, and these are {len(loaded.facts)}: name one run directory")
        result(f"picture: {html.write_picture(loaded.facts[0], options.picture)}")
    result(console.table(loaded))
    if loaded.unreadable:
        raise UsageError(loaded.unreadable[0])
    return worst(run.verdict for run in loaded.facts).exit_status


def _guide(options: argparse.Namespace) -> int:
    import results
    from pages import build, guide, reproduced
    from pages.scenarios import described

    told = described()
    root = options.results or results.ROOT
    if options.run_dirs:
        gathered = reproduced.gather(reproduced.find(options.run_dirs))
        for line in gathered.left_out:
            say(f"left out: {line}")
        if not gathered.runs:
            raise UsageError("none of these runs can be counted; `kafka-chaos check` judges runs without a verdict")
        guide.write_data(root, told, gathered.runs, say)
        print(f"{len(gathered.runs)} runs counted, {len(gathered.left_out)} left out")
    for page in build.write(options.docs, build.pages(root, told)):
        print(options.docs / page)
    return 0


def _museum(options: argparse.Namespace) -> int:
    if options.report is not None:
        from app.bug_report import report
        from evidence.rundir import RunDir

        print(report(RunDir(options.report)))
        return 0
    import results
    from app import museum
    from pages.museum import shown

    data = results.by_scenario()
    return museum.run(options, lambda name, version, case: shown(name, version, data, case))


def _explain(options: argparse.Namespace) -> int:
    from evidence.rundir import RunDir
    from judgement.report import explain

    explain.run(RunDir(options.run_dir), record=options.record, anomaly=options.anomaly, as_json=options.json)
    return 0


def _audit(options: argparse.Namespace) -> int:
    from app import audit

    return audit.run(options)


def _list_catalogue(catalogue: ModuleType, options: argparse.Namespace) -> int:
    """The catalogue of anomalies, or of claims."""
    entries = [one.as_json() for one in catalogue.EVERY]
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


def _list(options: argparse.Namespace) -> int:
    from app import listing
    from checks import catalogue as anomalies
    from checks import claims

    if options.settings:
        from harness.cluster import versions
        from harness.setup import settings

        names = sorted(settings.known(versions.get(options.settings)))
        print(json.dumps(names, indent=1) if options.json else "\n".join(names))
        return 0
    if options.anomalies or options.claims:
        return _list_catalogue(anomalies if options.anomalies else claims, options)
    print(json.dumps(listing.as_json(), indent=1) if options.json else listing.as_text())
    return 0


def _setup(options: argparse.Namespace) -> int:
    from harness.cluster import versions
    from harness.setup import bootstrap

    named = _versions(options.versions)
    bootstrap.setup(versions.ALL if named is None else named, Progress().line)
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from harness.setup import doctor

    checks = doctor.diagnose()
    if options.json:
        print(json.dumps([asdict(check) for check in checks]))
    else:
        for check in checks:
            print(f"{check.status:8} {check.name}: {check.detail}" + (f" - {check.remedy}" if check.remedy else ""))
    return EXIT_ERROR if any(check.status == "missing" for check in checks) else 0


def _clean(options: argparse.Namespace) -> int:
    from harness.cluster import docker
    from harness.removal import clean

    def left_alone(why: str) -> None:
        say(f"left alone: {why}")

    clean(docker.connect(), options.runs_dir, owned_too=options.all, tell=print, left_alone=left_alone)
    return 0


def _replicas(options: argparse.Namespace) -> int:
    from kafkafiles import errors, side_by_side

    try:
        return side_by_side.run(options)
    except errors.FilesError as error:
        raise UsageError(str(error)) from None


def _on_signals(handler: Callable[[int, FrameType | None], None]) -> None:
    """Have Ctrl-C, SIGTERM and a closed terminal (SIGHUP, unless ignored as by nohup) handled."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _interrupt_once(signum: int, frame: FrameType | None) -> None:
    """The first signal ends the work; further ones must not end the cleaning up."""
    _on_signals(lambda *_: say("removing what was started; a moment, please"))
    raise KeyboardInterrupt


def _die_with_the_matrix() -> None:
    from app.matrix import PARENT_VARIABLE

    parent = os.environ.get(PARENT_VARIABLE)
    if parent is not None:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
        if os.getppid() != int(parent):
            raise KeyboardInterrupt


def _tell_failure(error: Exception) -> int:
    """Say in one line what failed, behind it where if that is a defect; the exit status, never a verdict's."""
    if isinstance(error, KafkaChaosError):
        say(f"kafka-chaos: {error}")
        return error.exit_status
    if isinstance(error, OSError):
        # A full disk, a directory of another user, Docker's refusals.
        say(f"kafka-chaos: {refusal(error)}")
        return EXIT_ERROR
    said = " ".join(f"{type(error).__name__}: {error}".split())
    say(f"kafka-chaos: {said[:500]} (a defect of kafka-chaos, nothing is judged; where it happened:)")
    say("".join(traceback.format_exception(error)).rstrip())
    return EXIT_ERROR


def _what_is_left(arguments: Sequence[str] | None) -> str:
    if "--keep" in (sys.argv if arguments is None else arguments):
        return "the cluster is still up (--keep) until `kafka-chaos clean` or the next run removes it"
    return "what was started has been removed"


COMMANDS: Final[Mapping[str, Callable[[argparse.Namespace], int]]] = {
    "run": _run,
    "matrix": _matrix,
    "suite": _matrix,
    "check": _check,
    "report": _report,
    "explain": _explain,
    "replicas": _replicas,
    "list": _list,
    "setup": _setup,
    "doctor": _doctor,
    "clean": _clean,
    "guide": _guide,
    "museum": _museum,
    "audit": _audit,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 1 and 2 are verdicts, and no failure ever ends with them."""
    forgiving_output()
    try:
        _on_signals(_interrupt_once)
        parser = options_of.parser()
        completion.answer(parser)
        options = parser.parse_args(arguments)
        if options.command == "run":
            _die_with_the_matrix()
        status = COMMANDS[options.command](options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        say(f"kafka-chaos: interrupted; {_what_is_left(arguments)}, what was recorded is kept")
        return EXIT_INTERRUPTED
    except Exception as error:
        if isinstance(error, BrokenPipeError) and nobody_reads(sys.stdout):
            mute(sys.stdout)
            return EXIT_UNREAD
        return _tell_failure(error)
    return status


if __name__ == "__main__":
    sys.exit(main())
