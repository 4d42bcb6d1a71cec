"""The program of an application of Kafka Streams: its topology, and the processor in it, which are Python (streams.py).

A program that copies makes an output of each input. One that counts keeps in a store of Streams' own, for each key, the
inputs that it has counted, and makes an output that states them. Streams keeps the store on the disk (RocksDB), and
each change of it in a changelog topic.

Releases from 2.7 on have the processor with typed records (KIP-478), releases before 1.0 have another topology and make
stores in another way.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from evidence.history.inputs import Input

STREAMS: Final = "org.apache.kafka.streams"
STORE: Final = "counts"
"""The store of a program that counts; its changelog topic is APPLICATION-counts-changelog."""
PROCESSOR: Final = "processor"
"""Its name in the topology."""


class OutputMaker(Protocol):
    """What makes outputs."""

    def made_of(self, source: Input) -> Any:
        """The value of the output that is made of an input, as Java takes it."""
        ...


class ResultMaker(Protocol):
    """What makes outputs that state results."""

    def result_of(self, source: Input, kept: Any) -> tuple[Any, Any]:
        """What the store keeps for the key from now on, and the value of the output, as Java takes them: of an input,
        and of what the store has kept so far (None: nothing).
        """
        ...


class _Processor:
    """What Streams asks of a processor in every release: to be given a task, and to have it taken away."""

    def __init__(self, outputs: Any) -> None:
        self._outputs = outputs

    def init(self, context: Any) -> None:
        """Streams gives it a task."""
        self._context = context

    def close(self) -> None:
        """Streams takes the task away."""


def _at(place: Any) -> Input:
    """An input by its place: topic, partition and offset as Java has them."""
    return Input(str(place.topic()), int(place.partition()), int(place.offset()))


class CopyProcessor(_Processor):
    """The processor: each input becomes an output that names it (org.apache.kafka.streams.processor.api.Processor)."""

    def process(self, given: Any) -> None:
        """Streams gives it an input, and takes the output."""
        self._context.forward(given.withValue(self._outputs.made_of(_at(self._context.recordMetadata().get()))))


class CopyBefore27(_Processor):
    """The same as releases before 2.7 have it (org.apache.kafka.streams.processor.Processor, KIP-478)."""

    def process(self, key: Any, _value: Any) -> None:
        """Streams gives it an input, and takes the output."""
        self._context.forward(key, self._outputs.made_of(_at(self._context)))

    def punctuate(self, _timestamp: int) -> None:
        """Nobody asks for that."""


class _Counter(_Processor):
    """A processor that counts the inputs of each key in the store."""

    def init(self, context: Any) -> None:
        """Streams gives it a task, and the task's store."""
        super().init(context)
        self._store = context.getStateStore(STORE)

    def _counted(self, key: Any, place: Any) -> Any:
        """Count an input for its key: the value of the output."""
        kept, made = self._outputs.result_of(_at(place), self._store.get(key))
        self._store.put(key, kept)
        return made


class CountProcessor(_Counter):
    """The processor: each input is counted, and becomes an output that states the result of its key."""

    def process(self, given: Any) -> None:
        """Streams gives it an input, and takes the output."""
        self._context.forward(given.withValue(self._counted(given.key(), self._context.recordMetadata().get())))


class CountBefore27(_Counter):
    """The same as releases before 2.7 have it."""

    def process(self, key: Any, _value: Any) -> None:
        """Streams gives it an input, and takes the output."""
        self._context.forward(key, self._counted(key, self._context))

    def punctuate(self, _timestamp: int) -> None:
        """Nobody asks for that."""


def topology(inputs: str, output: str, outputs: OutputMaker | ResultMaker, *, counts: bool = False) -> Any:
    """A source, the processor, and a sink: org.apache.kafka.streams.Topology. With `counts` the processor counts, and
    has a store.
    """
    from jpype import JClass, JProxy

    supplier, processor, kind = _processors(counts)
    name = f"{STREAMS}.Topology" if _has(f"{STREAMS}.Topology") else f"{STREAMS}.processor.TopologyBuilder"
    made = JClass(name)()
    made.addSource("inputs", inputs)
    processors = JProxy(supplier, dict={"get": lambda: JProxy(processor, inst=kind(outputs))})
    made.addProcessor(PROCESSOR, processors, "inputs")
    if counts:
        made.addStateStore(_store(), PROCESSOR)
    made.addSink("outputs", output, PROCESSOR)
    return made


def _processors(counts: bool) -> tuple[str, str, type[_Processor]]:
    """What the release calls a processor's supplier and a processor; and ours."""
    api = f"{STREAMS}.processor.api"
    if _has(f"{api}.ProcessorSupplier"):
        return f"{api}.ProcessorSupplier", f"{api}.Processor", CountProcessor if counts else CopyProcessor
    old = f"{STREAMS}.processor"
    return f"{old}.ProcessorSupplier", f"{old}.Processor", CountBefore27 if counts else CopyBefore27


def _store() -> Any:
    """A store of bytes by bytes, on the disk, with a changelog topic, and without a cache before it."""
    from jpype import JClass

    stores = JClass(f"{STREAMS}.state.Stores")
    if not hasattr(stores, "keyValueStoreBuilder"):  # before 1.0
        return stores.create(STORE).withByteArrayKeys().withByteArrayValues().persistent().build()
    serdes = JClass("org.apache.kafka.common.serialization.Serdes")
    return stores.keyValueStoreBuilder(stores.persistentKeyValueStore(STORE), serdes.ByteArray(), serdes.ByteArray())


def _has(name: str) -> bool:
    """Whether the release has a class of this name."""
    from jpype import JClass

    try:
        JClass(name)
    except TypeError:  # how JPype says that there is none
        return False
    return True
