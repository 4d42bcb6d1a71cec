"""The program of an application of Kafka Streams: its topology, and the processor in it, which are Python (streams.py).

Releases from 2.7 on have the processor with typed records (KIP-478), releases before 1.0 have another topology.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from evidence.history.inputs import Input

STREAMS: Final = "org.apache.kafka.streams"


class OutputMaker(Protocol):
    """What makes outputs."""

    def made_of(self, source: Input) -> Any:
        """The value of the output that is made of an input, as Java takes it."""
        ...


class _Processor:
    """What Streams asks of a processor in every release: to be given a task, and to have it taken away."""

    def __init__(self, outputs: OutputMaker) -> None:
        self._outputs = outputs

    def init(self, context: Any) -> None:
        """Streams gives it a task."""
        self._context = context

    def close(self) -> None:
        """Streams takes the task away."""

    def _made_of(self, place: Any) -> Any:
        """The output that names an input, by its place: topic, partition and offset as Java has them."""
        return self._outputs.made_of(Input(str(place.topic()), int(place.partition()), int(place.offset())))


class CopyProcessor(_Processor):
    """The processor: each input becomes an output that names it (org.apache.kafka.streams.processor.api.Processor)."""

    def process(self, given: Any) -> None:
        """Streams gives it an input, and takes the output."""
        self._context.forward(given.withValue(self._made_of(self._context.recordMetadata().get())))


class CopyBefore27(_Processor):
    """The same as releases before 2.7 have it (org.apache.kafka.streams.processor.Processor, KIP-478)."""

    def process(self, key: Any, _value: Any) -> None:
        """Streams gives it an input, and takes the output."""
        self._context.forward(key, self._made_of(self._context))

    def punctuate(self, _timestamp: int) -> None:
        """Nobody asks for that."""


def topology(inputs: str, output: str, outputs: OutputMaker) -> Any:
    """A source, the processor, and a sink: org.apache.kafka.streams.Topology."""
    from jpype import JClass, JProxy

    supplier, processor, copy = _processors()
    name = f"{STREAMS}.Topology" if _has(f"{STREAMS}.Topology") else f"{STREAMS}.processor.TopologyBuilder"
    made = JClass(name)()
    made.addSource("inputs", inputs)
    copies = JProxy(supplier, dict={"get": lambda: JProxy(processor, inst=copy(outputs))})
    made.addProcessor("copy", copies, "inputs")
    made.addSink("outputs", output, "copy")
    return made


def _processors() -> tuple[str, str, type[CopyProcessor | CopyBefore27]]:
    """What the release calls a processor's supplier and a processor; and ours."""
    api = f"{STREAMS}.processor.api"
    if _has(f"{api}.ProcessorSupplier"):
        return f"{api}.ProcessorSupplier", f"{api}.Processor", CopyProcessor
    return f"{STREAMS}.processor.ProcessorSupplier", f"{STREAMS}.processor.Processor", CopyBefore27


def _has(name: str) -> bool:
    """Whether the release has a class of this name."""
    from jpype import JClass

    try:
        JClass(name)
    except TypeError:  # how JPype says that there is none
        return False
    return True
