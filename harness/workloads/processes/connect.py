"""A worker of Kafka Connect in distributed mode, of any release from 0.11 on.

The release's own main program (org.apache.kafka.connect.cli.ConnectDistributed) runs in this process, in a Java virtual
machine (JPype), with the jars that the release's Connect was locked with. Nothing of ours runs on the Java side.

The process works in a directory of its own, as if each worker had a machine of its own. A connector is configured with
a file's name alone, so every worker has its own file of this name. A source finds in it the same lines at the same
positions, except for the number of the worker, which stands in each. So the outputs show which worker made them. A
sink writes to it, and the file says whose it is (harness/workloads/stores/lines.py).

The history has a `send` row for each line of a source before it is in the file. Its outcome is not known here: Connect
tells nobody what came of a line (handed_over.py). It is not even known whether this worker reads it, so there are no
`processed` rows. A sink's worker knows nothing of what the sink does.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from evidence.errors import HarnessError
from evidence.history import record
from evidence.history.inputs import Input
from evidence.history.writer import HistoryWriter
from harness.workloads.connectors import LINES
from harness.workloads.processes import child
from harness.workloads.processes.handed_over import OUTPUT_PARTITION, put_on_record
from harness.workloads.processes.java import start_jvm
from harness.workloads.stores.lines import begin

MAIN: Final = "org.apache.kafka.connect.cli.ConnectDistributed"
PROPERTIES: Final = "worker.properties"
POLL_S: Final = 0.1


class Lines:
    """The lines of a source's file, one for each input of a partition, from its first one on."""

    def __init__(self, arguments: Mapping[str, Any], writer: HistoryWriter) -> None:
        self._writer, self._producer = writer, int(arguments["producer"])
        self._run, self._output = record.run_hash(arguments["run"]), str(arguments["output"])
        self._topic, self._partition = str(arguments["input"]), int(arguments["partition"])
        self._path = Path(arguments["directory"]) / LINES
        if self._output:
            self._path.touch()
        self.lengths: list[int] = []
        """Of each line, with its end, in bytes."""

    def append(self, count: int) -> None:
        """Write so many further lines at once; each is on record before."""
        first = len(self.lengths)
        self._writer.reserve(self._output, [OUTPUT_PARTITION], self._producer, first, count)
        made = [self._line(sequence) for sequence in range(first, first + count)]
        self._writer.flush()
        with self._path.open("ab", buffering=0) as file:
            file.write(b"".join(made))
        self.lengths += map(len, made)

    def _line(self, sequence: int) -> bytes:
        put_on_record(self._writer, self._output, self._producer, sequence)
        payload = Input(self._topic, self._partition, sequence).payload
        return record.encode_text(self._run, self._producer, sequence, payload) + b"\n"


def properties_text(settings: Mapping[str, str]) -> str:
    """A properties file of these settings, none of which has a character that such files escape.

    >>> properties_text({"group.id": "g", "listeners": "http://127.0.0.1:83"}).splitlines()
    ['group.id=g', 'listeners=http://127.0.0.1:83']
    """
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def main() -> None:
    """Let the worker work until the harness says stop, and write the lines that it asks for."""
    with child.recording() as (arguments, commands, writer):
        child.say(ready=True)
        if commands.wait() is None:
            return
        directory = Path(arguments["directory"])
        directory.mkdir(parents=True, exist_ok=True)
        settings = {"bootstrap.servers": arguments["bootstrap"]} | arguments["settings"]
        (directory / PROPERTIES).write_text(properties_text(settings))
        if arguments["store"]:
            begin(Path(arguments["store"]), arguments["run"], int(arguments["producer"]))
        lines = Lines(arguments, writer)
        if arguments["lines"]:
            lines.append(int(arguments["lines"]))
            child.say(lengths=lines.lengths)
        worker = started(directory, arguments["library"])
        while not commands.stopped:
            asked = commands.next(POLL_S)
            if asked is not None:
                lines.append(int(asked["lines"]))
                child.say(lengths=lines.lengths)
            if not worker.is_alive():
                raise HarnessError("the worker has ended by itself")
        writer.flush()
        child.say(lengths=lines.lengths, done=True)
    # What Connect still runs would keep the process alive, and everything is on record.
    os._exit(0)


def started(directory: Path, library: Mapping[str, Any]) -> threading.Thread:
    """A thread in which the worker's main program runs. It ends the process if the worker cannot start, and says why
    on stderr.
    """
    # Java takes its working directory from the process when it starts.
    os.chdir(directory)
    start_jvm(Path(library["jars"]), Path(library["java_home"]))
    from jpype import JClass

    tell_errors()
    thread = threading.Thread(target=lambda: _run(JClass(MAIN)), daemon=True)
    thread.start()
    return thread


def _run(main_program: Any) -> None:
    from jpype import JClass

    # A thread of Python's has no class loader of its own, and Connect looks for its plugins by that.
    loader = JClass("java.lang.ClassLoader").getSystemClassLoader()
    JClass("java.lang.Thread").currentThread().setContextClassLoader(loader)
    main_program.main([PROPERTIES])


def tell_errors() -> None:
    """Have Connect's errors printed on stderr, whose end the harness tells if the process ends."""
    from jpype import JClass, JPackage

    log4j = JPackage("org").apache.log4j
    logger = log4j.Logger.getLogger("org.apache.kafka.connect")
    logger.setLevel(log4j.Level.ERROR)
    logger.addAppender(JClass("org.apache.log4j.ConsoleAppender")(log4j.SimpleLayout(), "System.err"))


if __name__ == "__main__":
    main()
