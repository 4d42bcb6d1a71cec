"""One client of the recorder's benchmark, a process of its own: produces or reads so many records, recorded or not.

Without recording it is the same loop. Producing: the same blocks handed to `produce_batch`, the same polls, a callback
for every record, which counts instead of keeping the report. Reading: the same `consume`, and for every record what
anybody who reads would do, a look at its error, its value and its offset. The collector of cycles is spared in both.

What is measured is the time from the first record to the last acknowledgement (or the last record read), and the
processor time of the whole process, librdkafka's threads included, over the same span.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition

from evidence.history import record
from evidence.history.writer import HistoryWriter
from harness.workloads.processes import child
from harness.workloads.processes.consumer import BATCH, BackgroundReader
from harness.workloads.processes.load import BLOCK, IDLE_POLL_S, IN_FLIGHT, STOP_LIMIT_S, LoadSender
from harness.workloads.processes.polls import READING

SAMPLES_S: Final = 0.1
POLL_S: Final = 0.05


class PlainSender:
    """What LoadSender does, less the recording."""

    def __init__(
        self, settings: Mapping[str, Any], bootstrap: str, topic: str, partitions: list[int], size: int
    ) -> None:
        self._client = Producer(child.client_settings(bootstrap, settings))
        self._topic, self._partitions = topic, partitions
        self._entries: list[dict[str, Any]] = [{"value": bytes(size)} for _ in range(BLOCK)]
        self._turn = self.sent = self.acked = self.failed = 0

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.acked += 1
        else:
            self.failed += 1

    def send(self, count: int) -> int:
        count = min(count, BLOCK, IN_FLIGHT - (self.sent - self.acked - self.failed))
        if count <= 0:
            return 0
        partition = self._partitions[self._turn]
        self._turn = (self._turn + 1) % len(self._partitions)
        self.sent += self._client.produce_batch(
            self._topic, self._entries[:count], partition=partition, on_delivery=self._delivered
        )
        return count

    def poll(self, timeout_s: float) -> None:
        self._client.poll(timeout_s)

    def close(self, timeout_s: float) -> None:
        self._client.flush(timeout_s)


def processor_s() -> float:
    """Processor time of this process so far, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def resident_mb() -> float:
    """Resident memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


class ResidentMemory:
    """Resident memory as records go by."""

    def __init__(self) -> None:
        self.samples: list[tuple[int, float]] = []
        self._last = 0.0

    def look(self, records: int) -> None:
        """Take a sample if the last one is not too young."""
        now = time.monotonic()
        if now - self._last >= SAMPLES_S:
            self._last = now
            self.samples.append((records, resident_mb()))


def produce(options: Mapping[str, Any], sender: PlainSender | LoadSender) -> dict[str, Any]:
    """Send everything as fast as it goes."""
    wanted: int = options["records"]
    memory = ResidentMemory()
    began, processor = time.monotonic(), processor_s()
    while sender.acked + sender.failed < wanted:
        allowed = min(BLOCK, wanted - sender.sent)
        taken = sender.send(allowed) if allowed > 0 else 0
        sender.poll(0.0 if taken == BLOCK else IDLE_POLL_S)
        memory.look(sender.acked)
    sender.close(STOP_LIMIT_S)
    return {
        "records": sender.acked,
        "failed": sender.failed,
        "seconds": time.monotonic() - began,
        "processor_s": processor_s() - processor,
        "memory_mb": memory.samples,
    }


def read_plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Read without recording."""
    settings = child.client_settings(
        options["bootstrap"],
        options["settings"],
        fixed={"group.id": "b", "enable.auto.commit": False, "auto.offset.reset": "error", **READING},
    )
    client = Consumer(settings)
    client.assign([TopicPartition(options["topic"], number, OFFSET_BEGINNING) for number in options["partitions"]])
    seen = size = offsets = 0
    began, processor = time.monotonic(), processor_s()
    while seen < options["records"]:
        for message in client.consume(BATCH, POLL_S):
            if message.error() is None:
                seen += 1
                size += len(message.value() or b"")
                offsets += message.offset() or 0
    result = {"records": seen, "seconds": time.monotonic() - began, "processor_s": processor_s() - processor}
    client.close()
    return result


def read_recorded(options: Mapping[str, Any], writer: HistoryWriter) -> dict[str, Any]:
    """Read with recording."""
    reader = BackgroundReader(
        writer,
        options["bootstrap"],
        options["settings"],
        group="b",
        assign=[(options["topic"], number) for number in options["partitions"]],
    )
    began, processor = time.monotonic(), processor_s()
    memory = ResidentMemory()
    while reader.read < options["records"]:
        reader.poll(POLL_S)
        memory.look(reader.read)
    writer.flush()
    result = {
        "records": reader.read,
        "seconds": time.monotonic() - began,
        "processor_s": processor_s() - processor,
        "memory_mb": memory.samples,
    }
    reader.close()
    return result


def main() -> None:
    """Do what the only argument, a JSON object, says; answer with one line of JSON."""
    options: dict[str, Any] = json.loads(sys.argv[1])
    child.collect_garbage_rarely()
    bootstrap, topic, settings = options["bootstrap"], options["topic"], options["settings"]
    size: int = options["record_bytes"]
    if not options["recorded"]:
        if options["kind"] == "produce":
            result = produce(options, PlainSender(settings, bootstrap, topic, options["partitions"], size))
        else:
            result = read_plain(options)
    else:
        path = Path(options["path"])
        with HistoryWriter(path, path.stem) as writer:
            if options["kind"] == "produce":
                sender = LoadSender(
                    writer,
                    producer=1,
                    run="benchmark",
                    settings=settings,
                    bootstrap=bootstrap,
                    topic=topic,
                    partitions=options["partitions"],
                    record_bytes=max(size, record.MINIMUM_BYTES),
                    keys=0,
                )
                result = produce(options, sender)
            else:
                result = read_recorded(options, writer)
        result["history_bytes"] = path.stat().st_size
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
