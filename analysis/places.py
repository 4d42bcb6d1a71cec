"""Where run directories live: on a disk that every worker sees, or in a store that is named by a URL.

The checks read local files, some of them mapped into memory. So the files of a piece that lives in a store are copied
into a scratch directory, which is a run directory like any other and is removed when the piece is done. The driver
lists a run once and tells each task its files; findings are written beside run.json. No other module knows about
stores. Files are streamed to disk: they may have any size, and a task needs no more memory than for local files.

Arrow does the copying (`pyarrow.fs`), in the Python workers, where it is anyway. Spark's own `binaryFiles` is no
alternative. It hands over each file as one array of at most 2 GB, and a segment is often half of that. It gives files
of one piece to different tasks, so that they would have to be shuffled. Python workers have no Java of their own
through which to read in another way. For s3a it would also need hadoop-aws 3.5.0 (Spark 4.3.0 brings Hadoop 3.5.0) and
Amazon's whole SDK on every executor. Arrow needs no package for s3://, s3a:// (the same place by its Hadoop name),
gs:// and abfs://; for hdfs:// it needs Hadoop's libhdfs on the workers. Other schemes are refused.

Credentials and the endpoint come from the usual variables, AWS_ACCESS_KEY_ID and so on; `analysis.spark` passes those
of the driver to executors.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final, Self
from urllib.parse import unquote, urlsplit

from analysis.pieces import Piece, pieces
from evidence.errors import UsageError
from evidence.rundir import RunDir, write_atomically
from kafkafiles.group_log import TOPIC

S3: Final = ("s3", "s3a", "s3n")
STORES: Final = (*S3, "gs", "abfs", "abfss", "hdfs", "viewfs")
CONNECT_LIMIT_S: Final = 10.0
REQUEST_LIMIT_S: Final = 60.0
ATTEMPTS: Final = 3
CHUNK_BYTES: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class StoredPiece:
    """A piece, and which files must be copied to check it: none if its run directory is on a disk."""

    piece: Piece
    files: tuple[str, ...] = ()
    """Copied whole; paths below the run directory."""
    streams: tuple[str, ...] = ()
    """Streams of sealed processes: copied only if a sealed file turns out to be damaged."""

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), (self.piece, self.files, self.streams)


def local(place: str) -> Path | None:
    """The path of a run directory on a disk, from a path or a file:// URL; None if it lives in a store.

    Raises UsageError for a scheme that cannot be read.
    """
    scheme, separator, _ = place.partition("://")
    if not separator:
        return Path(place.removeprefix("file:")) if place.startswith("file:/") else Path(place)
    if scheme == "file":
        parts = urlsplit(place)
        if parts.netloc not in ("", "localhost"):
            raise UsageError(f"{place}: a file URL has three slashes, file:///path; {parts.netloc!r} is a host")
        return Path(unquote(parts.path))
    if scheme not in STORES:
        raise UsageError(f"{place}: unknown scheme {scheme!r}; a path, file://, {'://, '.join(STORES)}:// can be read")
    return None


def _open(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it. Raises UsageError if it cannot be opened."""
    from pyarrow import fs

    scheme, _, rest = url.partition("://")
    try:
        if scheme in S3:
            environ = os.environ
            return fs.S3FileSystem(
                endpoint_override=environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL"),
                region=environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION"),
                connect_timeout=CONNECT_LIMIT_S,
                request_timeout=REQUEST_LIMIT_S,
                retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
            ), rest.rstrip("/")
        system, path = fs.FileSystem.from_uri(url)
    except (OSError, ValueError, NotImplementedError) as error:
        raise UsageError(f"{url}: {_first_line(error)}") from None
    return system, path.rstrip("/")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def listing(url: str) -> list[str]:
    """The files of a run directory in a store, as paths below it, sorted. Raises UsageError if it cannot be listed."""
    from pyarrow import fs

    system, base = _open(url)
    try:
        found = system.get_file_info(fs.FileSelector(base, recursive=True))
    except FileNotFoundError:
        raise UsageError(f"{url}: no such run directory") from None
    except OSError as error:
        raise UsageError(f"{url}: cannot be listed: {_first_line(error)}") from None
    return sorted(str(PurePosixPath(one.path).relative_to(base)) for one in found if one.type == fs.FileType.File)


OF_NODE: Final = 4
"""Parts of the name of a file that is of no single partition: replicas/MOMENT/NODE/FILE."""


def stored_piece(piece: Piece, names: Iterable[str]) -> StoredPiece:
    """What of a run's files a piece needs.

    A topic-partition: its own sealed rows, shared ones, rows of no partition, and its replicas' copies. The run as a
    whole: all histories. Both: the copies of the group coordinators' topic, which tells of every partition.
    """
    own = f"topic={piece.topic}/partition={piece.partition}/"
    replica = f"{piece.topic}-{piece.partition}"
    files: list[str] = []
    streams: list[str] = []
    names = list(names)
    sealed = {Path(name).stem for name in names if name.startswith("history/sealed/operations/")}
    for name in names:
        parts = PurePosixPath(name).parts
        if name in ("run.json", "timeline.jsonl"):
            files.append(name)
        elif parts[:2] == ("history", "sealed"):
            if not piece.topic or parts[2] in ("operations", "shared") or name.startswith(f"history/sealed/{own}"):
                files.append(name)
        elif parts[0] == "history" and len(parts) == 2 and name.endswith(".arrows"):
            (streams if piece.topic and Path(name).stem in sealed else files).append(name)
        elif parts[0] == "replicas" and (parts[3:4] == (replica,) or len(parts) == OF_NODE or _of_groups(parts[3])):
            files.append(name)
    return StoredPiece(piece, tuple(files), tuple(streams))


def _of_groups(replica: str) -> bool:
    return replica.rpartition("-")[0] == TOPIC


def stored_pieces(place: str) -> list[StoredPiece]:
    """The pieces of a run, each with the files it needs. Raises UsageError if it is no run directory."""
    path = local(place)
    if path is not None:
        return [StoredPiece(piece) for piece in pieces(RunDir(path))]
    names = listing(place)
    if "run.json" not in names:
        raise UsageError(f"{place}: not a run directory, it has no run.json")
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-outline-") as scratch:
        # Pieces are told from the facts, the names of directories, and what is said of shared files.
        outline = Path(scratch)
        shared = any(name.startswith("history/sealed/shared/") for name in names)
        telling = [name for name in names if shared and name.startswith("history/sealed/operations/")]
        try:
            _copy(place, ["run.json", *telling], outline)
        except OSError as error:
            raise UsageError(f"{place}: run.json cannot be read: {_first_line(error)}") from None
        for name in names:
            if name.startswith("history/sealed/"):
                (outline / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            found = pieces(RunDir(outline))
        except UsageError as error:
            raise UsageError(str(error).replace(scratch, place)) from None
    return [stored_piece(replace(piece, run_dir=place), names) for piece in found]


@contextmanager
def fetched(stored: Sequence[StoredPiece]) -> Iterator[list[Piece]]:
    """Copy the files of pieces of one run, which need the same, to this machine; yields the pieces. The copies are gone
    when the context ends.

    Raises OSError if they cannot be copied: Spark then tries the task again, elsewhere if it can.
    """
    one = stored[0]
    if not one.files:
        yield [each.piece for each in stored]
        return
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-piece-") as scratch:
        into, url = Path(scratch), one.piece.run_dir
        _copy(url, one.files, into)
        if all(map(_readable, (into / name for name in one.files if name.endswith(".parquet")))):
            # A process whose sealed files are whole is not read from its stream, but the stream must exist.
            for name in one.streams:
                (into / name).touch()
        else:
            _copy(url, one.streams, into)
        yield [replace(each.piece, run_dir=scratch) for each in stored]


def _readable(path: Path) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        pq.read_metadata(path)
    except (pa.ArrowException, OSError):
        return False
    return True


def _copy(url: str, names: Sequence[str], into: Path) -> None:
    system, base = _open(url)
    for name in names:
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with system.open_input_stream(f"{base}/{name}", compression=None) as source, target.open("wb") as sink:
            while chunk := source.read(CHUNK_BYTES):
                sink.write(chunk)


def write_file(place: str, name: str, content: str) -> None:
    """Write a file of a run directory, wherever it lives: a reader sees the old one or the new one.

    Raises UsageError if the store does not take it.
    """
    path = local(place)
    if path is not None:
        write_atomically(path / name, content)
        return
    system, base = _open(place)
    target = f"{base}/{name}"
    try:
        if system.type_name == "hdfs":
            system.create_dir(target.rpartition("/")[0], recursive=True)
            with system.open_output_stream(f"{target}.tmp") as sink:
                sink.write(content.encode())
            system.move(f"{target}.tmp", target)
        else:  # an object is there when it is whole
            with system.open_output_stream(target) as sink:
                sink.write(content.encode())
    except OSError as error:
        raise UsageError(f"{place}: {name} cannot be written: {_first_line(error)}") from None


def aws_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What of a process's environment says how to reach S3."""
    return {name: value for name, value in environ.items() if name.startswith("AWS_")}
