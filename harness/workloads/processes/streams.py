"""An application of Kafka Streams, of any release from 0.11 on: an output for each input, and Streams does the rest.

The program is one processor between a source and a sink, with a store or without (streams_program.py). Streams reads
the inputs, sends the outputs and commits, as its settings say (processing.guarantee, commit.interval.ms). The Java
virtual machine runs in this process (JPype), with the jars that the release's Streams was locked with. Nothing of ours
is compiled: the processor is Python, which Streams calls from its own thread.

The history has a `send` and a `processed` row for each output that is handed to Streams. Their outcome is not known
here, since Streams tells nobody what came of a send (handed_over.py).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from evidence.history import record, schema
from evidence.history.inputs import Input, result_payload
from evidence.history.writer import HistoryWriter
from harness.setup.java import properties
from harness.workloads.processes import child
from harness.workloads.processes.handed_over import OUTPUT_PARTITION, put_on_record
from harness.workloads.processes.java import start_jvm
from harness.workloads.processes.streams_program import STREAMS, topology

BYTES: Final = "org.apache.kafka.common.serialization.Serdes$ByteArraySerde"
POLL_S: Final = 0.2
ENDED: Final = frozenset({"ERROR", "PENDING_ERROR", "NOT_RUNNING"})


class Outputs:
    """Makes outputs, and puts each on record before Streams gets it. Its method may be called on any thread."""

    def __init__(self, arguments: Mapping[str, Any], writer: HistoryWriter) -> None:
        from jpype import JArray, JByte

        self._bytes = JArray(JByte)
        self._writer, self._producer = writer, int(arguments["producer"])
        self._run = record.run_hash(arguments["run"])
        self._output = arguments["output"]
        self._one_at_a_time = threading.Lock()
        self.made = 0

    def made_of(self, source: Input) -> Any:
        """The value of the output that is made of an input, as Java takes it."""
        return self._made_of(source, source.payload)

    def _made_of(self, source: Input, payload: bytes) -> Any:
        with self._one_at_a_time:
            sequence = self.made
            self._writer.reserve(self._output, [OUTPUT_PARTITION], self._producer, sequence, 1)
            made = put_on_record(self._writer, self._output, self._producer, sequence)
            made |= zip(("topic", "partition", "offset"), source, strict=True)
            self._writer.append(kind=schema.PROCESSED, flush=True, **made)
            self.made += 1
        return self._bytes(record.encode(self._run, self._producer, sequence, payload))


class Results(Outputs):
    """Makes outputs that state the result of their key: the inputs that were counted for it.

    What the store keeps is their offsets as text, and after them as many spaces as are asked for: a store of large
    values writes them to its files soon.
    """

    def __init__(self, arguments: Mapping[str, Any], writer: HistoryWriter) -> None:
        super().__init__(arguments, writer)
        self._padding = b" " * int(arguments["padding"])

    def result_of(self, source: Input, kept: Any) -> tuple[Any, Any]:
        """What the store keeps for the key from now on, and the value of the output, as Java takes them: of an input,
        and of what the store has kept so far (None: nothing).
        """
        counted = [*map(int, bytes(kept or b"").split(b",") if kept else ()), source.offset]
        text = ",".join(map(str, counted)).encode()
        return self._bytes(text + self._padding), self._made_of(source, result_payload(source, counted))


def started(bootstrap: str, settings: Mapping[str, Any], made: Any) -> Any:
    """org.apache.kafka.streams.KafkaStreams with a topology; it works."""
    from jpype import JClass

    fixed = {"bootstrap.servers": bootstrap, "default.key.serde": BYTES, "default.value.serde": BYTES}
    streams = JClass(f"{STREAMS}.KafkaStreams")(made, properties(settings, fixed))
    streams.start()
    return streams


def main() -> None:
    """Let Streams work until the harness says stop, and tell how many outputs it was given."""
    with child.recording() as (arguments, commands, writer):
        child.say(ready=True)
        if commands.wait() is None:
            return
        library = arguments["library"]
        start_jvm(Path(library["jars"]), Path(library["java_home"]))
        counts = arguments["padding"] is not None
        outputs = Results(arguments, writer) if counts else Outputs(arguments, writer)
        made = topology(arguments["input"], arguments["output"], outputs, counts=counts)
        streams = started(arguments["bootstrap"], arguments["settings"], made)
        told: tuple[int, str] | None = None
        while not commands.stopped:
            commands.next(POLL_S)
            now = outputs.made, str(streams.state())
            if now != told:
                told = now
                child.say(processed=now[0], errors=[now[1]] if now[1] in ENDED else [])
        streams.close()
        writer.flush()
        child.say(processed=outputs.made, errors=[], done=True)


if __name__ == "__main__":
    main()
