"""An application of Kafka Streams, of any release from 0.11 on: an output for each input, and Streams does the rest.

The program is one processor between a source and a sink. Streams reads the inputs, sends the outputs and commits, as
its settings say (processing.guarantee, commit.interval.ms). The Java virtual machine runs in this process (JPype), with
the jars that the release's Streams was locked with. Nothing of ours is compiled: the processor is Python, which Streams
calls from its own thread.

The history has a `send` and a `processed` row for each output that is handed to Streams. Their outcome is not known
here, since Streams tells nobody what came of a send. What counts is what is in the output, which has one partition.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from evidence.history import record, schema
from evidence.history.inputs import Input
from evidence.history.writer import HistoryWriter
from harness.setup.java import properties
from harness.workloads.processes import child
from harness.workloads.processes.java import start_jvm

STREAMS: Final = "org.apache.kafka.streams"
BYTES: Final = "org.apache.kafka.common.serialization.Serdes$ByteArraySerde"
SOURCE, PROCESSOR, SINK = "inputs", "copy", "outputs"
OUTPUT_PARTITION: Final = 0
POLL_S: Final = 0.2
ENDED: Final = frozenset({"ERROR", "PENDING_ERROR", "NOT_RUNNING"})


class Copy:
    """The processor: each input becomes an output that names it (org.apache.kafka.streams.processor.api.Processor)."""

    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs

    def init(self, context: Any) -> None:
        """Streams gives it a task."""
        self._context = context

    def process(self, given: Any) -> None:
        """Streams gives it an input, and takes the output."""
        place = self._context.recordMetadata().get()
        output = self._outputs.made_of(Input(str(place.topic()), int(place.partition()), int(place.offset())))
        self._context.forward(given.withValue(output))

    def close(self) -> None:
        """Streams takes the task away."""


class CopyBefore27:
    """The same as releases before 2.7 have it (org.apache.kafka.streams.processor.Processor, KIP-478)."""

    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs

    def init(self, context: Any) -> None:
        """Streams gives it a task."""
        self._context = context

    def process(self, key: Any, _value: Any) -> None:
        """Streams gives it an input, and takes the output."""
        place = self._context
        output = self._outputs.made_of(Input(str(place.topic()), int(place.partition()), int(place.offset())))
        self._context.forward(key, output)

    def punctuate(self, _timestamp: int) -> None:
        """Nobody asks for that."""

    def close(self) -> None:
        """Streams takes the task away."""


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
        with self._one_at_a_time:
            sequence = self.made
            self._writer.reserve(self._output, [OUTPUT_PARTITION], self._producer, sequence, 1)
            now = time.monotonic_ns()
            made: dict[str, Any] = {"producer": self._producer, "sequence": sequence, "invoked_ns": now}
            made |= {"completed_ns": now, "outcome": schema.INFO}
            self._writer.append(kind=schema.SEND, topic=self._output, partition=OUTPUT_PARTITION, **made)
            made |= zip(("topic", "partition", "offset"), source, strict=True)
            self._writer.append(kind=schema.PROCESSED, flush=True, **made)
            self.made += 1
        return self._bytes(record.encode(self._run, self._producer, sequence, source.payload))


def started(bootstrap: str, settings: Mapping[str, Any], inputs: str, output: str, outputs: Outputs) -> Any:
    """org.apache.kafka.streams.KafkaStreams, with a topology of a source, the processor and a sink; it works."""
    from jpype import JClass, JProxy

    topology, supplier, processor, copy = _classes()
    made = JClass(topology)()
    made.addSource(SOURCE, inputs)
    copies = JProxy(supplier, dict={"get": lambda: JProxy(processor, inst=copy(outputs))})
    made.addProcessor(PROCESSOR, copies, SOURCE)
    made.addSink(SINK, output, PROCESSOR)
    fixed = {"bootstrap.servers": bootstrap, "default.key.serde": BYTES, "default.value.serde": BYTES}
    streams = JClass(f"{STREAMS}.KafkaStreams")(made, properties(settings, fixed))
    streams.start()
    return streams


def _classes() -> tuple[str, str, str, type[Copy | CopyBefore27]]:
    """What the release calls a topology, a processor's supplier and a processor; and ours of them."""
    from jpype import JClass

    topology = f"{STREAMS}.Topology" if _has(f"{STREAMS}.Topology") else f"{STREAMS}.processor.TopologyBuilder"
    api = f"{STREAMS}.processor.api"
    if _has(f"{api}.ProcessorSupplier") and hasattr(JClass(f"{api}.ProcessorContext"), "recordMetadata"):
        return topology, f"{api}.ProcessorSupplier", f"{api}.Processor", Copy
    return topology, f"{STREAMS}.processor.ProcessorSupplier", f"{STREAMS}.processor.Processor", CopyBefore27


def _has(name: str) -> bool:
    """Whether the release has a class of this name."""
    from jpype import JClass

    try:
        JClass(name)
    except TypeError:  # how JPype says that there is none
        return False
    return True


def main() -> None:
    """Let Streams work until the harness says stop, and tell how many outputs it was given."""
    with child.recording() as (arguments, commands, writer):
        child.say(ready=True)
        if commands.wait() is None:
            return
        library = arguments["library"]
        start_jvm(Path(library["jars"]), Path(library["java_home"]))
        outputs = Outputs(arguments, writer)
        settings, inputs = arguments["settings"], arguments["input"]
        streams = started(arguments["bootstrap"], settings, inputs, arguments["output"], outputs)
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
