"""What recording costs: `python -m benchmarks.recorder` (or `make bench-recorder`).

One real broker (KRaft, a controller beside it), four partitions, acks=all, and against it, in one run:

    produce, read    the recording client and the same client loop without recording, taken in pairs whose order
                     alternates; costs are medians of the pairs' ratios, with the smallest and the largest
    Kafka's own      ProducerPerformance on the same broker with the same records, once for each pair
    processes        one recorder, then several at once, in turns: what they reach together
    memory           the peak of resident memory at 1, 5 and 10 million records: it must not grow with them

The plain producer sends one constant value: what it costs to make records that can be told apart, and to check them,
counts as recording. The plain reader looks at each message's error, value and offset, as any reader would.

Clients and broker share the machine's cores. Where the broker has the core that a client wants, throughput says what
the machine can do; processor time for each record says what recording takes, whatever else is going on. Both are
printed. Nothing here asserts anything.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaException, Producer

from evidence.errors import HarnessError, WaitTimeout
from harness.cluster.docker import connect, owner
from harness.cluster.networks import free_prefixes_here

ROUNDS: Final = 3
MARKS: Final = (1_000_000, 5_000_000, 10_000_000)
COMPOSE: Final = Path(__file__).parent.parent / "compose" / "kraft.yml"
PARTITIONS: Final = [0, 1, 2, 3]
SETTINGS: Final = {"acks": "all", "linger.ms": "5"}
CLIENT_LIMIT_S: Final = 900.0


@contextmanager
def one_broker(version: str) -> Iterator[tuple[str, str]]:
    """A broker of its own; gives its address and its container's name."""
    prefix = next(free_prefixes_here(connect()))
    project = f"kafka-chaos-bench-{os.getpid()}"
    variables = {
        "KAFKA_VERSION": version,
        "CHAOS_SUBNET": prefix,
        "CHAOS_RUN": project,
        "CHAOS_OWNER": owner(),
        "CHAOS_HEAP": "1g",
        "KAFKA_SETTINGS": "num.partitions=4;default.replication.factor=1;offsets.topic.replication.factor=1;"
        "auto.create.topics.enable=true",
    }

    def compose(*words: str) -> None:
        done = subprocess.run(
            ["docker", "compose", "-p", project, "-f", str(COMPOSE), *words],
            env=os.environ | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise HarnessError(f"docker compose {' '.join(words)}: {done.stderr.strip()[-500:]}")

    try:
        compose("up", "-d", "controller-100", "broker-1")
        yield f"{prefix}.11:9092", f"{project}-broker-1-1"
    finally:
        compose("down", "--volumes", "--timeout", "1")


def wait_for_topic(bootstrap: str, topic: str, timeout_s: float = 60.0) -> None:
    """Have the topic created by asking for it, and wait until every partition has a leader."""
    client = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "allow.auto.create.topics": True})
    deadline = time.monotonic() + timeout_s
    seen: object = "nothing"
    while time.monotonic() < deadline:
        try:
            partitions = client.list_topics(topic, timeout=2.0).topics[topic].partitions
        except KafkaException as error:
            seen = error
            continue
        seen = {number: one.leader for number, one in partitions.items()}
        if len(partitions) == len(PARTITIONS) and all(one.leader >= 0 for one in partitions.values()):
            return
    raise WaitTimeout(f"topic {topic} has no leaders after {timeout_s:.0f} s; last seen: {seen}")


def start(options: Mapping[str, Any]) -> subprocess.Popen[str]:
    """Start one client process."""
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.recorder_client", json.dumps(dict(options))],
        stdout=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Its result."""
    said, _ = process.communicate(timeout=CLIENT_LIMIT_S)
    if process.returncode:
        raise HarnessError(f"a client of the benchmark ended with status {process.returncode}")
    result: dict[str, Any] = json.loads(said)
    return result


def rate(result: Mapping[str, Any]) -> float:
    """Records a second."""
    return float(result["records"] / result["seconds"])


def cost(result: Mapping[str, Any]) -> float:
    """Processor time for each record, µs."""
    return float(result["processor_s"] / result["records"] * 1e6)


def spread(values: Sequence[float], form: str) -> str:
    """The median of some figures, with the smallest and the largest."""
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def tell(name: str, text: str) -> None:
    """One line of the report."""
    sys.stdout.write(f"{name:<22} {text}\n")
    sys.stdout.flush()


class Bench:
    """The measurements, all against one broker."""

    def __init__(self, bootstrap: str, container: str, directory: Path, record_bytes: int) -> None:
        self._bootstrap, self._container = bootstrap, container
        self._directory, self._record_bytes = directory, record_bytes
        self._files = 0

    def options(self, kind: str, topic: str, records: int, *, recorded: bool) -> dict[str, Any]:
        self._files += 1
        wait_for_topic(self._bootstrap, topic)
        return {
            "kind": kind,
            "recorded": recorded,
            "topic": topic,
            "records": records,
            "bootstrap": self._bootstrap,
            "partitions": PARTITIONS,
            "record_bytes": self._record_bytes,
            "settings": SETTINGS if kind == "produce" else {},
            "path": str(self._directory / f"client-{self._files}.arrows"),
        }

    def pairs(self, kind: str, topics: list[str], records: int) -> None:
        """Recorded against plain, alternating who goes first; a line for each pair, then what recording costs."""
        seen: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
        kafkas: list[float] = []
        for number, topic in enumerate(topics):
            for recorded in (True, False) if number % 2 else (False, True):
                name = f"{topic}-{'recorded' if recorded else 'plain'}" if kind == "produce" else topic
                result = finish(start(self.options(kind, name, records, recorded=recorded)))
                seen[recorded].append(result)
            plain, with_it = seen[False][-1], seen[True][-1]
            line = (
                f"plain {rate(plain):>9,.0f}/s {cost(plain):5.2f} µs   recorded {rate(with_it):>9,.0f}/s "
                f"{cost(with_it):5.2f} µs   history {with_it['history_bytes'] / with_it['records']:.2f} bytes a record"
            )
            if kind == "produce":
                kafkas.append(producer_performance(self._bootstrap, self._container, records, self._record_bytes))
                line += f"   ProducerPerformance {kafkas[-1]:>9,.0f}/s"
            tell(f"{kind} pair {number + 1}", line)
        rates = [1 - rate(r) / rate(p) for p, r in zip(seen[False], seen[True], strict=True)]
        costs = [cost(r) / cost(p) - 1 for p, r in zip(seen[False], seen[True], strict=True)]
        tell(f"{kind} cost", f"{spread(rates, '.1%')} less throughput, {spread(costs, '.1%')} more processor time")
        if kafkas:
            ratios = [rate(r) / kafka for r, kafka in zip(seen[True], kafkas, strict=True)]
            tell("recorded to Kafka's own", f"{spread(ratios, '.2f')} of ProducerPerformance's throughput")

    def processes(self, kind: str, records: int, most: int, rounds: int) -> None:
        """Several recorders at once, each of them with its own records."""
        together: dict[int, list[float]] = {}
        costs: dict[int, list[float]] = {}
        for number in range(rounds):
            for count in range(1, most + 1):
                topics = [f"side-{number}-{count}-{one}" for one in range(count)]
                wanted = [self.options(kind, topic, records // count, recorded=True) for topic in topics]
                results = [finish(process) for process in [start(options) for options in wanted]]
                together.setdefault(count, []).append(sum(rate(result) for result in results))
                costs.setdefault(count, []).append(statistics.mean(cost(result) for result in results))
        for count in together:
            times = [many / one for many, one in zip(together[count], together[1], strict=True)]
            tell(
                f"{kind}, {count} recorder{'s' if count > 1 else ''}",
                f"{spread(together[count], ',.0f')}/s together, {spread(times, '.2f')} of one; "
                f"{spread(costs[count], '.2f')} µs of processor a record",
            )

    def memory(self, kind: str, records: int) -> None:
        """Peak resident memory as records go by."""
        result = finish(start(self.options(kind, "memory", records, recorded=True)))
        peaks = [
            f"{mark / 1e6:g} M {max(size for done, size in result['memory_mb'] if done <= mark):.0f} MB"
            for mark in sorted({*(mark for mark in MARKS if mark < records), records})
        ]
        tell(f"{kind} memory, peaks", f"{', '.join(peaks)} (at {rate(result):,.0f}/s)")


def producer_performance(bootstrap: str, container: str, records: int, record_bytes: int) -> float:
    """Records a second that Kafka's own benchmark producer reaches, run beside the broker."""
    command = [
        *("docker", "exec", container, "java", "-cp", "/opt/kafka/libs/*"),
        *("org.apache.kafka.tools.ProducerPerformance", "--topic", "performance", "--throughput", "-1"),
        *("--num-records", str(records), "--record-size", str(record_bytes)),
        *("--producer-props", f"bootstrap.servers={bootstrap}", "acks=all", "linger.ms=5"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=CLIENT_LIMIT_S)
    rates = re.findall(r"^\d+ records sent, ([\d.]+) records/sec", done.stdout, re.MULTILINE)
    if done.returncode or not rates:
        raise HarnessError(f"ProducerPerformance: {(done.stderr or done.stdout).strip()[-500:]}")
    return float(rates[-1])


def main() -> None:
    """Measure everything once."""
    parser = argparse.ArgumentParser(prog="benchmarks.recorder", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--version", default="4.3.1", help="the broker's release, KRaft (default %(default)s)")
    parser.add_argument("--records", type=int, default=1_000_000, help="records of each measurement")
    parser.add_argument("--record-bytes", type=int, default=100, help="size of values")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of recorded and plain")
    parser.add_argument(
        "--memory-records", type=int, default=10_000_000, help="records of the long load and read; 0 for none"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 2, help="recorders at once, at most")
    chosen = parser.parse_args()
    load = os.getloadavg()[0]
    tell("machine", f"{os.cpu_count()} cores, broker and clients on all of them; load {load:.1f} before the start")
    tell("records", f"{chosen.records:,} of {chosen.record_bytes} bytes for each client, 4 partitions, acks=all")
    # Asked to stop, it takes its broker along.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    began = time.monotonic()
    with one_broker(chosen.version) as (bootstrap, container), tempfile.TemporaryDirectory() as directory:
        bench = Bench(bootstrap, container, Path(directory), chosen.record_bytes)
        topics = [f"pair-{number + 1}" for number in range(chosen.pairs)]
        bench.pairs("produce", topics, chosen.records)
        bench.pairs("read", [f"{topic}-recorded" for topic in topics], chosen.records)
        bench.processes("produce", chosen.records, chosen.processes, ROUNDS)
        bench.processes("read", chosen.records, chosen.processes, ROUNDS)
        if chosen.memory_records:
            bench.memory("produce", chosen.memory_records)
            bench.memory("read", chosen.memory_records)
    tell("took", f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
