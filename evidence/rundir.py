"""The run directory: the only place that knows which file lies where.

A run directory holds evidence first (what was run, what was seen) and judgement after (findings, verdict,
report), so that judgement can be made again from the files alone. It must stay readable whatever killed the
run: `run.json` is replaced atomically, streams are appended a whole line or a whole Arrow batch at a time,
everything sealed is renamed into place.

    run.json                    what was run: scenario, version, seed, settings, processes, state (evidence/run.py)
    timeline.jsonl              what happened: a line with the schema, then one event a line (evidence/timeline.py)
    compose.yml, config/        the cluster as rendered, enough to bring it up again by hand
    history/<process>.arrows    operations as they were recorded (evidence/history)
    history/sealed/…            the same by topic and partition, Parquet
    store/<name>.sqlite         what applications wrote to a store outside Kafka
    replicas/<moment>/<node>/   copies of each broker's log directory at named moments
    logs/<node>.log             what each node printed
    logs/<process>.stderr       what a client of the user's own printed on stderr
    manifest.json               every file above, with size and SHA-256 (evidence/manifest.py)
    findings/findings.json      what the analysis found
    verdict.json  report.html  junit.xml
    data/                       the nodes' live data, removed when the run has ended

run.json, timeline and manifest say of which schema they are. Files of another one are refused, in one line, by
`RunDir.read_run`, which whoever reads a run calls first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from evidence.errors import UsageError
from evidence.run import SCHEMA, RunRecord

HEADER_BYTES: Final = 1024
"""The first line of a timeline is far shorter."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace `path` by `content` so that a reader sees the old file or the new one, never a part of either."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    data = content.encode() if isinstance(content, str) else content
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: object) -> None:
    """Write `value` as indented JSON, atomically."""
    write_atomically(path, json.dumps(value, indent=1, sort_keys=False) + "\n")


def read_json(path: Path) -> Any:
    """What a file holds. OSError, or ValueError for what is no JSON, or nested deeper than anybody writes it."""
    try:
        return json.loads(path.read_text())
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _another_schema(path: Path, schema: object) -> UsageError:
    return UsageError(
        f"{path}: its schema is {schema!r}, this program reads {SCHEMA}; read it with the version of this program that "
        "wrote it, or run the scenario again"
    )


@dataclass(frozen=True, slots=True)
class RunDir:
    """The paths of one run."""

    path: Path

    @property
    def run_json(self) -> Path:
        return self.path / "run.json"

    @property
    def timeline(self) -> Path:
        return self.path / "timeline.jsonl"

    @property
    def compose_file(self) -> Path:
        return self.path / "compose.yml"

    @property
    def config(self) -> Path:
        return self.path / "config"

    @property
    def history(self) -> Path:
        return self.path / "history"

    @property
    def sealed(self) -> Path:
        return self.history / "sealed"

    @property
    def replicas(self) -> Path:
        return self.path / "replicas"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def findings(self) -> Path:
        return self.path / "findings" / "findings.json"

    @property
    def manifest(self) -> Path:
        return self.path / "manifest.json"

    @property
    def verdict(self) -> Path:
        return self.path / "verdict.json"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def junit(self) -> Path:
        return self.path / "junit.xml"

    @property
    def data(self) -> Path:
        return self.path / "data"

    def stream(self, process: str) -> Path:
        """The Arrow IPC stream that `process` records into."""
        return self.history / f"{process}.arrows"

    def sealed_partition(self, topic: str, partition: int, process: str) -> Path:
        """The sealed rows of `process` for one topic-partition."""
        return self.sealed / f"topic={topic}" / f"partition={partition}" / f"{process}.parquet"

    def sealed_shared(self, process: str) -> Path:
        """The sealed rows of `process` for many small topic-partitions, in one file."""
        return self.sealed / "shared" / f"{process}.parquet"

    def sealed_operations(self, process: str) -> Path:
        """The sealed rows of `process` that belong to no single partition."""
        return self.sealed / "operations" / f"{process}.parquet"

    def moment(self, name: str) -> Path:
        """The copies of replicas taken at the moment `name` (such as "01-final")."""
        return self.replicas / name

    def moments(self) -> list[str]:
        """The names of the moments at which replicas were copied, in order."""
        if not self.replicas.is_dir():
            return []
        return sorted(
            entry.name for entry in self.replicas.iterdir() if entry.is_dir() and not entry.name.startswith(".")
        )

    def log(self, node: str) -> Path:
        """What `node` printed, each line behind Docker's timestamp."""
        return self.logs / f"{node}.log"

    def complaints(self, process: str) -> Path:
        """What a client printed on stderr: one of the user's own, or librdkafka's that was told to (`debug`)."""
        return self.logs / f"{process}.stderr"

    def read_run(self) -> RunRecord:
        """The record of the run.

        Raises UsageError, in one line, if this is not a run directory, if `run.json` cannot be read, or if it or the
        timeline is of another schema.
        """
        if not self.path.is_dir():
            raise UsageError(f"{self.path}: no such run directory; `kafka-chaos run` writes one under runs/")
        try:
            value = read_json(self.run_json)
        except FileNotFoundError:
            raise UsageError(f"{self.path}: not a run directory, it has no run.json") from None
        except ValueError as error:
            raise UsageError(f"{self.run_json}: not readable as JSON ({error}); the run cannot be judged") from None
        if not isinstance(value, dict) or "scenario" not in value or "version" not in value:
            raise UsageError(f"{self.run_json}: not the record of a run (no scenario, no version)")
        if value.get("schema") != SCHEMA:
            raise _another_schema(self.run_json, value.get("schema"))
        self._refuse_another_timeline()
        try:
            return msgspec.convert(value, RunRecord, str_keys=True)
        except (msgspec.ValidationError, UnicodeError) as error:
            raise UsageError(f"{self.run_json}: not the record of a run ({error}); it cannot be judged") from None

    def _refuse_another_timeline(self) -> None:
        """Raise UsageError if the timeline begins with another schema. One that does not say its schema, or cannot be
        read, is damaged: `evidence.timeline.read` tells of that.
        """
        if not self.timeline.is_file():
            return  # opening a FIFO waits for a writer, for ever
        try:
            with self.timeline.open("rb") as file:
                header = json.loads(file.readline(HEADER_BYTES))
        except (OSError, ValueError, RecursionError):
            return
        if isinstance(header, dict) and header.keys() == {"schema"} and header["schema"] != SCHEMA:
            raise _another_schema(self.timeline, header["schema"])

    def refuse_special_files(self) -> None:
        """Raise UsageError if the directory holds anything but files and directories: a FIFO has no end."""
        for folder, _, names in os.walk(self.path):
            for name in names:
                path = Path(folder, name)
                if path.exists() and not path.is_file():
                    raise UsageError(f"{path}: neither a file nor a directory; the run is not judged with it there")

    def write_run(self, run: RunRecord) -> None:
        """Replace the record of the run, atomically."""
        write_json(self.run_json, {"schema": SCHEMA} | msgspec.to_builtins(run, str_keys=True))


def find_runs(root: Path) -> Iterator[RunDir]:
    """The run directories at `root` or directly below it, by name.

    Raises UsageError if there is none.
    """
    if (root / "run.json").exists():
        yield RunDir(root)
        return
    found = sorted(entry for entry in root.iterdir() if (entry / "run.json").exists()) if root.is_dir() else []
    if not found:
        raise UsageError(f"{root}: no run directory here (looked for run.json in it and one level below)")
    yield from (RunDir(entry) for entry in found)
