"""What recording costs: `python -m benchmarks.recorder` (or `make bench-recorder`).

One real broker (KRaft, a controller beside it), four partitions, acks=all, and against it, in one run:

    produce, read    the recording client and the same client loop without recording, taken in pairs whose order
                     alternates; the ratio is the median of the pairs' ratios, in throughput and in processor time
    Kafka's own      ProducerPerformance on the same broker, same records, for scale
    memory           resident memory over a long recorded load: it must not grow with it
    processes        one recorder, then several at once: what they reach together

The plain producer sends one constant value: what it costs to make records that can be told apart, and to check them,
counts as recording. Throughput on a machine that does something else as well says little; processor time for each
record says how much of a core recording takes, whatever else is going on. Both are printed. Nothing here asserts
anything.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaException, Producer

from harness.cluster.docker import connect
from harness.cluster.networks import free_prefixes_here
from harness.errors import HarnessError, WaitTimeout

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


def wait_for_topic(bootstrap: str, topic: str, limit_s: float = 60.0) -> None:
    """Have the topic created by asking for it, and wait until every partition has a leader."""
    client = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "allow.auto.create.topics": True})
    deadline = time.monotonic() + limit_s
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
    raise WaitTimeout(f"topic {topic} has no leaders after {limit_s:.0f} s; last seen: {seen}")


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


def tell(name: str, text: str) -> None:
    """One line of the report."""
    sys.stdout.write(f"{name:<28} {text}\n")
    sys.stdout.flush()


class Bench:
    """The measurements, all against one broker."""

    def __init__(self, bootstrap: str, directory: Path, record_bytes: int) -> None:
        self._bootstrap, self._directory, self._record_bytes = bootstrap, directory, record_bytes
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
        """Recorded against plain, alternating who goes first; a line for each pair and one for all."""
        seen: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
        for number, topic in enumerate(topics):
            for recorded in (True, False) if number % 2 else (False, True):
                name = f"{topic}-{'recorded' if recorded else 'plain'}" if kind == "produce" else topic
                result = finish(start(self.options(kind, name, records, recorded=recorded)))
                seen[recorded].append(result)
            plain, with_it = seen[False][-1], seen[True][-1]
            tell(
                f"{kind} pair {number + 1}",
                f"plain {rate(plain):>9,.0f}/s {cost(plain):5.2f} µs   recorded {rate(with_it):>9,.0f}/s "
                f"{cost(with_it):5.2f} µs   history {with_it['history_bytes'] / with_it['records']:.1f} bytes a record",
            )
        rates = [rate(r) / rate(p) for p, r in zip(seen[False], seen[True], strict=True)]
        costs = [cost(r) / cost(p) for p, r in zip(seen[False], seen[True], strict=True)]
        tell(
            f"{kind}: recording costs",
            f"{1 - statistics.median(rates):6.1%} of throughput, {statistics.median(costs) - 1:6.1%} more processor "
            f"time (medians of {len(topics)} pairs)",
        )

    def memory(self, records: int) -> None:
        """Resident memory over a long load."""
        result = finish(start(self.options("produce", "memory", records, recorded=True)))
        samples = result["memory_mb"]
        quarter = max(1, len(samples) // 4)
        tell(
            "memory",
            f"{result['records']:,} records at {rate(result):,.0f}/s: after 250 000 {samples[1]:.0f} MB, mean of the "
            f"second quarter {statistics.mean(samples[quarter : 2 * quarter]):.0f} MB, of the last "
            f"{statistics.mean(samples[-quarter:]):.0f} MB, largest {max(samples):.0f} MB",
        )

    def processes(self, records: int, most: int) -> None:
        """Several recorders at once."""
        alone = 0.0
        for count in range(1, most + 1):
            wanted = [
                self.options("produce", f"side-{count}-{n}", records // count, recorded=True) for n in range(count)
            ]
            results = [finish(process) for process in [start(options) for options in wanted]]
            together = sum(rate(result) for result in results)
            alone = alone or together
            tell(
                f"{count} recorder process{'es' if count > 1 else ''}",
                f"{together:>9,.0f}/s together ({together / alone:.2f} of one), "
                f"{statistics.mean(cost(result) for result in results):.2f} µs of processor a record",
            )


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
    parser.add_argument("--memory-records", type=int, default=10_000_000, help="records of the long load; 0 for none")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 2, help="recorders at once, at most")
    chosen = parser.parse_args()
    load = os.getloadavg()[0]
    tell("machine", f"{os.cpu_count()} cores, load average {load:.1f} before the start")
    tell("records", f"{chosen.records:,} of {chosen.record_bytes} bytes for each client, 4 partitions, acks=all")
    with one_broker(chosen.version) as (bootstrap, container), tempfile.TemporaryDirectory() as directory:
        bench = Bench(bootstrap, Path(directory), chosen.record_bytes)
        topics = [f"pair-{number + 1}" for number in range(chosen.pairs)]
        bench.pairs("produce", topics, chosen.records)
        kafkas = producer_performance(bootstrap, container, chosen.records, chosen.record_bytes)
        tell("ProducerPerformance", f"{kafkas:>9,.0f}/s")
        bench.pairs("read", [f"{topic}-recorded" for topic in topics], chosen.records)
        bench.processes(chosen.records, chosen.processes)
        if chosen.memory_records:
            bench.memory(chosen.memory_records)


if __name__ == "__main__":
    main()
