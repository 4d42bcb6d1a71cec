"""The ledger: a line for each run that was started, one for its end, and one for each verdict given on it.

    started         before anything of the run is started: what is run, of which commit, what is documented of it
    ended           how the harness ended it; a run that was killed has no such line
    judged          a verdict on it; the first one counts, each later one is told
    evidence        the digest of its evidence, packed small (`kafka-chaos evidence`)
    excluded        it is taken out of every count, and why
    restored        a run that was published before there was a ledger, as far as it is known
    restored-cell   runs that were published as counts alone, and figures of runs that are not told one by one

The harness appends lines to `ledger.jsonl` in the folder of run directories, so that they outlive the directories;
`kafka-chaos ledger merge` takes them over into results/ledger/. A line never changes, and none is ever removed:
whatever is said later of a run is a line of its own. docs/ledger.md explains each field.

A line is written at once, under a lock, and is on the disk before the program continues: runs side by side and kill -9
lose at most the line that was being written.
"""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import os
import shlex
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Final

import msgspec
from msgspec import Struct

from evidence.errors import UsageError
from evidence.run import DEFAULT_CASE, DocumentedRecord, HostRecord, RunRecord
from evidence.text import code_places, visible, without_place, without_places

SCHEMA: Final = 1
SUFFIX: Final = ".jsonl"
PACKED: Final = ".gz"
"""Behind the suffix of files that are compressed, as an installed package has them (results/packed.py)."""
FILE: Final = f"ledger{SUFFIX}"
"""Its name in a folder of run directories."""
NAME_FILES: Final = ("--client", "--subjects")
"""Options of a command whose values may name files of its user's own."""
MODIFIED: Final = "+"
"""Behind a commit: the tree had changes."""


WHOLE: Final = 40
"""Letters of a commit's name; of restored runs the beginning was published."""


def in_history(commit: str, history: Collection[str]) -> bool:
    """Whether a commit, of which perhaps the beginning was published, is in a history."""
    bare = commit.removesuffix(MODIFIED)
    return bare in history if len(bare) == WHOLE else any(one.startswith(bare) for one in history)


SHORT: Final = 8
BUILD: Final = 12
"""Letters that are told of a commit, and of the digest of a build."""
OWN: Final = "with settings, a client, subjects or an expectation of the user's own"


def by_modified_tree(commits: Sequence[str]) -> str:
    """Why a run of one of these commits counts nowhere: one of them has the mark; "" if none has."""
    marked = [commit for commit in commits if commit.endswith(MODIFIED)]
    if not marked:
        return ""
    return (
        f"run by a modified tree: {', '.join(commits)}" if len(commits) == 1 else f"run by one of {', '.join(commits)}"
    )


class Load(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How busy the machine was at a moment."""

    load_1: float | None = None
    """Processes that ran or waited, in the mean of the last minute (/proc/loadavg)."""
    cpu: float | None = None
    """The share of the last ten seconds in which some process waited for a CPU, in per cent (/proc/pressure/cpu)."""
    memory: float | None = None
    """Likewise for memory."""
    io: float | None = None
    """Likewise for a disk."""


class Throughout(Struct, frozen=True, kw_only=True):
    """How busy the machine was in the whole run, as the timeline has it (its `machine`). Shares are in per cent."""

    seconds: float
    """For how long it was watched."""
    cpu: float
    """The share in which some process waited for a CPU, Kafka's own among them; 0 if the kernel does not tell."""
    memory: float
    """In which all processes waited for memory."""
    io: float
    """In which all processes waited for a disk."""
    steal: float
    """The share of the processors' time that other machines had."""
    late_ms: int
    """By how much a thread was woken too late, at most."""


class LedgerLine(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="kind"):
    """The fields of all lines."""

    ORDER: ClassVar[int] = 0
    """Where its kind stands among the lines of one run."""
    schema: int
    run: str = ""
    """The run's name; "" of a restored cell."""
    at: str
    """When the line was written, in UTC: "2026-11-23T15:50:12.000Z". For a restored run, when it was started."""


class RunStarted(LedgerLine, frozen=True, kw_only=True, tag="started"):
    """A run is about to be started."""

    scenario: str
    case: str = DEFAULT_CASE
    version: str
    kafka: str = ""
    mode: str = ""
    client: str = ""
    seed: int
    command: str
    """The command that runs it again. It has the names of the user's own files without directories, which are of one
    machine.
    """
    files: Mapping[str, str] = {}
    """SHA-256 of each of these files, by name; none of runs before there was this field."""
    commit: str | None = None
    """The harness's commit; None outside a checkout."""
    modified: bool = False
    """Whether the tree of that commit had changes."""
    observed: bool = False
    """Whether settings, client, subjects or expectation are the user's own, or the brokers are a mutant's: such a run
    counts nowhere.
    """
    mutant: str = ""
    """The name of the mutant, if the brokers were changed on purpose."""
    build: str = ""
    """The digest of the jars of an own build of Kafka, which counts nowhere; of two, of the one that runs first."""
    documented: str
    """SHA-256 of what is documented of the run, before it (`digest`)."""
    code: str = ""
    """The text of the scenario, as git names it (`blob`); "" of runs before there was this field."""
    host: HostRecord
    load: Load | None = None

    @property
    def aside(self) -> str:
        """Why such a run counts nowhere, however it ended; "" if nothing is against it."""
        if self.commit is None:
            return "not run from a checkout"
        if self.modified:
            return f"run by a modified tree of {self.commit[:SHORT]}"
        if self.mutant:
            return f"of brokers that were changed on purpose ({self.mutant})"
        if self.build:
            return f"of an own build of Kafka, jars {self.build[:BUILD]}"
        return OWN if self.observed else ""


class RunEnded(LedgerLine, frozen=True, kw_only=True, tag="ended"):
    """A run has ended."""

    ORDER: ClassVar[int] = 1
    state: str
    """complete, failed or interrupted."""
    failure: str | None = None
    seconds: float
    """From its start."""
    load: Load | None = None


class ClaimLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of a claim."""

    name: str
    outcome: str
    measured_ms: float | None = None
    bound_ms: float | None = None


class RunJudged(LedgerLine, frozen=True, kw_only=True, tag="judged"):
    """A verdict on a run."""

    ORDER: ClassVar[int] = 2
    verdict: str
    reasons: tuple[str, ...] = ()
    sound: bool = False
    text: str = ""
    """The outcome for the records, in words."""
    acknowledged: int | None = None
    lost: int = 0
    unread: int = 0
    anomalies: Mapping[str, int] = {}
    """Every anomaly that was found, with the number of its occurrences."""
    permitted: tuple[str, ...] = ()
    """Those of the anomalies that are not documented and that the clients' settings permit."""
    unexpected: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    claims: tuple[ClaimLine, ...] = ()
    write_pause_ms: float | None = None
    """The longest, of the worst partition; so is what follows."""
    read_pause_ms: float | None = None
    first_success_ms: float | None = None
    errors: int | None = None
    ack_ms: float | None = None
    """The median time that an acknowledgement took of the records that were sent one by one."""
    latency_p50_ms: float | None = None
    """The median time from an input's acknowledgement until its output could be read, of an application that was left
    alone; None of runs in which none was, and of those before there was this field. So is what follows.
    """
    latency_p99_ms: float | None = None
    """The 99th percentile of these times."""
    inputs_per_s: float | None = None
    """How many inputs a second it processed that came at once."""
    throughout: Throughout | None = None
    """None of runs before there was this field, and of those whose timeline does not say it."""
    seconds: float
    """From the start of the run to its end, and the analysis."""
    documented: str
    """SHA-256 of what it was held to; that of the start, unless run.json was changed."""
    manifest: str
    """SHA-256 of the manifest of the files that were judged."""


class Packed(LedgerLine, frozen=True, kw_only=True, tag="evidence"):
    """The evidence of a run was packed."""

    ORDER: ClassVar[int] = 3
    digest: str
    """SHA-256 of the archive."""
    bytes: int


class Excluded(LedgerLine, frozen=True, kw_only=True, tag="excluded"):
    """A run counts no more."""

    ORDER: ClassVar[int] = 4
    why: str


class RestoredRun(LedgerLine, frozen=True, kw_only=True, tag="restored"):
    """A run whose name was published before there was a ledger."""

    scenario: str
    case: str = DEFAULT_CASE
    version: str
    seed: int | None = None
    source: str
    """The commit that published it first."""
    gone: str | None = None
    """The commit from which on it was no longer published."""
    commits: tuple[str, ...] = ()
    """It was run by one of these commits, as they were published: of most eight letters, without the mark of a
    modified tree, so that is not known of them."""
    verdict: str | None = None
    """None: the counts do not tell which of several runs had it."""
    told: str = ""
    """The text that was published of a run that did not end as documented."""
    lost: int | None = None
    """How many acknowledged records it lost, where that was published of it alone."""
    seen: tuple[str, ...] | None = None
    """The anomalies that it had; None: that was not published."""
    unsure: tuple[str, ...] = ()
    """Those that it may have had: the counts do not tell."""

    @property
    def aside(self) -> str:
        """Why it counts nowhere; "" if nothing is against it."""
        return by_modified_tree(self.commits)


class Counts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The published counts of all runs of a cell."""

    runs: int
    good: int
    verdicts: Mapping[str, int] = {}
    lost: int = 0
    """Runs that lost acknowledged records."""
    acknowledged: tuple[int, int] | None = None
    """The least and the most in a run."""
    lost_records: tuple[int, int] | None = None
    seen: Mapping[str, int] = {}
    """Anomalies, with the number of runs."""
    claims: Mapping[str, Mapping[str, int]] = {}
    """Claims, with the number of times that each outcome came."""
    timings: Mapping[str, Mapping[str, tuple[float, ...]]] = {}
    """Claims that are durations: `ms`, how many, the least, the median and the most; `bound_ms`."""
    clients: Mapping[str, tuple[float, ...]] = {}
    """Clients' figures: number of runs, minimum, median and maximum."""
    seconds: float | None = None
    ack_ms: float | None = None


class RestoredCell(LedgerLine, frozen=True, kw_only=True, tag="restored-cell"):
    """Runs of one scenario and case on one version, as they were published together."""

    scenario: str
    case: str = DEFAULT_CASE
    version: str
    source: str
    """The commit that published it."""
    runs: tuple[str, ...] = ()
    """The names of its runs; none where they were not published."""
    unnamed: int = 0
    """How many of them have no line of their own, and are in no other such line: at least so many."""
    unnamed_good: int = 0
    """How many of these ended as documented."""
    commits: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    """The machines of all runs of the scenario that were published with it."""
    counts: Counts


AnyLine = RunStarted | RunEnded | RunJudged | Packed | Excluded | RestoredRun | RestoredCell

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_DECODER: Final = msgspec.json.Decoder(AnyLine)


def encode(line: AnyLine) -> str:
    """A line as it stands in a file, without the newline."""
    return _ENCODER.encode(line).decode()


def decode(text: str) -> AnyLine:
    """The line of a text. Raises ValueError for a text that is no line of a ledger."""
    line: AnyLine = _DECODER.decode(text)
    if line.schema != SCHEMA:
        raise ValueError(f"schema {line.schema}, this program reads {SCHEMA}")
    return line


def files_of(folder: Path) -> list[Path]:
    """The files of a folder that is a ledger with a file for each scenario, those that are compressed among them."""
    found = (path for end in ("", PACKED) for path in folder.glob(f"*{SUFFIX}{end}"))
    return sorted(path for path in found if path.is_file())


def read(path: Path, cut_short: Callable[[str], None] | None = None) -> Iterator[tuple[str, AnyLine]]:
    """Every line of a file, as it stands there and decoded.

    `cut_short` is told of a line that is no JSON, such as a machine that fails or a full disk leaves, and it is passed
    over. Raises UsageError, in one line, for a file that cannot be read or has something else in it; without
    `cut_short` also for such a line.
    """
    try:
        packed = path.suffix == PACKED
        content = gzip.decompress(path.read_bytes()) if packed else path.read_bytes()
        texts = content.decode().removesuffix("\n").split("\n")
    except (OSError, EOFError, zlib.error, UnicodeError) as error:
        raise UsageError(f"{path}: not readable as a ledger ({error})") from None
    for number, text in enumerate(texts if texts != [""] else [], 1):
        try:
            yield text, decode(text)
        except (ValueError, RecursionError) as error:
            # JSON that is no line of ours is a ValidationError, which is a kind of DecodeError.
            no_json = isinstance(error, msgspec.DecodeError) and not isinstance(error, msgspec.ValidationError)
            if cut_short is not None and no_json:
                cut_short(f"{path}, line {number}: was cut short, and is passed over")
                continue
            raise UsageError(
                f"{path}, line {number}: not a line of the ledger ({error}); one that was cut short when the machine "
                "failed is to be removed by hand, and its run excluded"
            ) from None


def append(path: Path, line: AnyLine) -> None:
    """Add a line to a file, which is on the disk when this returns. Raises OSError.

    What a dying program wrote of a line stays a line of its own.
    """
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        end = os.lseek(file, 0, os.SEEK_END)
        torn = end > 0 and os.pread(file, 1, end - 1) != b"\n"
        data = ("\n" if torn else "").encode() + encode(line).encode() + b"\n"
        while data:
            data = data[os.write(file, data) :]
        os.fsync(file)
    finally:
        os.close(file)


def now() -> str:
    """The present moment, as lines have it."""
    return stamp(datetime.now(UTC))


def stamp(moment: datetime) -> str:
    """A moment as lines have it, to a millisecond.

    >>> stamp(datetime(2026, 11, 23, 15, 50, 12, tzinfo=UTC))
    '2026-11-23T15:50:12.000Z'
    """
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def digest(documented: DocumentedRecord) -> str:
    """SHA-256 of what is documented of a run."""
    return hashlib.sha256(_ENCODER.encode(documented)).hexdigest()


def without_machine_paths(text: str, run: str) -> str:
    """What is told of a run, without the directories of one machine (the run's, the program's, the libraries'), in
    characters that any file can hold.
    """
    return visible(without_places(without_place(text, run), code_places()))


def without_directories(command: str) -> tuple[str, dict[str, str]]:
    """A command whose files of the user's own have no directories, and SHA-256 of these files, by name.

    >>> without_directories("kafka-chaos run s --client '/home/me/bin/py /home/me/client.py --to=/tmp/x' --seed 1")
    ("kafka-chaos run s --client 'py client.py --to=x' --seed 1", {})
    >>> without_directories("kafka-chaos run s --setting log.dir=/data --client java-2.8.2")[0]
    'kafka-chaos run s --setting log.dir=/data --client java-2.8.2'
    """
    try:
        words = shlex.split(command)
        parts = {at: shlex.split(words[at + 1]) for at, word in enumerate(words[:-1]) if word in NAME_FILES}
    except ValueError:
        return command, {}
    files: dict[str, str] = {}
    for at, named in parts.items():
        words[at + 1] = shlex.join([_by_name(part, files) for part in named])
    return (shlex.join(words) if parts else command), files


def _by_name(part: str, files: dict[str, str]) -> str:
    """A part of a command without the directories of the file that it names, whose digest goes into `files`."""
    option, equals, value = part.rpartition("=")
    if "://" in value or value.endswith("/"):
        return part
    path = Path(value)
    if path.is_file():
        with suppress(OSError):  # it is the client's matter, which says so
            files[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"{option}{equals}{path.name}" if "/" in value else part


def blob(content: bytes) -> str:
    """What git calls a file of this content: two files of one text have one name, wherever and whenever they are.

    >>> blob(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0%s" % (len(content), content), usedforsecurity=False).hexdigest()


def started(run: RunRecord, load: Load | None, code: str = "") -> RunStarted:
    """The line of a run that is about to be started; `code` is the `blob` of its scenario."""
    commit = run.commit or ""
    command, files = without_directories(run.command)
    return RunStarted(
        schema=SCHEMA,
        run=run.run,
        at=now(),
        scenario=run.scenario,
        case=run.case,
        version=run.version,
        kafka=run.kafka,
        mode=run.mode,
        client=run.client,
        seed=run.seed,
        command=command,
        files=files,
        commit=commit.removesuffix(MODIFIED) or None,
        modified=commit.endswith(MODIFIED),
        observed=any((run.observed, run.overridden, run.given, run.expect is not None, run.mutant, run.own_builds)),
        mutant=run.mutant,
        build=next((one.digest for one in run.own_builds), ""),
        documented=digest(run.documented),
        code=code,
        host=run.host,
        load=load,
    )


def ended(run: RunRecord, load: Load | None) -> RunEnded:
    """The line of a run that has ended."""
    took_ns = (run.ended_wall_ns or 0) - run.started_wall_ns
    return RunEnded(
        schema=SCHEMA,
        run=run.run,
        at=now(),
        state=run.state,
        failure=None if run.failure is None else without_machine_paths(run.failure, run.run),
        seconds=round(max(0, took_ns) / 1e9, 1),
        load=load,
    )


def in_order(lines: Iterable[tuple[str, AnyLine]]) -> list[str]:
    """Lines as texts in the one order that they have in a file: by run, then by what happened to it; each once."""
    keyed = {text: (line.run or _cell(line), line.ORDER, line.at, text) for text, line in lines}
    return sorted(keyed, key=keyed.__getitem__)


def _cell(line: AnyLine) -> str:
    return f"{line.scenario} {line.case} {line.version}" if isinstance(line, RestoredCell) else ""
