"""A cluster that tests command: `kafka-chaos cluster` in a process of its own, spoken with in lines of JSON.

    cluster = Cluster.start(program, version="4.3.1")
    topic = cluster.topic("orders")
    chaos = Chaos()
    chaos.kill(cluster.leader(topic))
    cluster.close()

The process ends, and removes the cluster, when its standard input is closed or when this process dies.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any, Final

PROGRAM: Final = (sys.executable, "-P", "-m", "kafka_chaos")
"""`kafka-chaos` of the same environment; -P, since the directory of the tests may have a package `app` of its own."""
PARENT_VARIABLE: Final = "KAFKA_CHAOS_PARENT"
"""Tells the program whose end is its end too (app/matrix.py)."""
LAST_LINES: Final = 5


class ChaosError(Exception):
    """What the program could not do, in one line. `kind` is its name for it: FaultUnproved, WaitTimeout, UsageError."""

    def __init__(self, message: str, kind: str = "HarnessError") -> None:
        super().__init__(f"{message} ({kind})")
        self.kind = kind


def begin(command: Sequence[str], *, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    """Start the program: it ends when this process does, and a Ctrl-C at the terminal is this process's to pass on."""
    return subprocess.Popen(
        command,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env=os.environ | {PARENT_VARIABLE: str(os.getpid())},
    )


def decoded(line: str) -> dict[str, Any]:
    """A line of the program. What is no JSON is a failure that it tells."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError:
        value = None
    return value if isinstance(value, dict) and "kind" in value else {"kind": "failure", "text": line.rstrip()}


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """If something ends the block, a Ctrl-C or a time limit, end the program too: it removes what it started."""
    try:
        yield
    except BaseException:
        process.send_signal(signal.SIGINT)
        raise


@dataclass(frozen=True)
class Broker:
    """A node of a cluster, by its id: a broker, or from 100 on a KRaft controller apart."""

    cluster: Cluster = field(repr=False)
    id: int


class Cluster:
    """A cluster that is up. `kafka_cluster` of the plugin gives one; tests need not close it."""

    def __init__(self, lines: Iterable[str], commands: IO[str], process: subprocess.Popen[str] | None = None) -> None:
        """Speak with a program that writes these lines and reads these commands. Raises ChaosError if it has ended."""
        self._commands, self._process = commands, process
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._topics = 0
        self.said: list[str] = []
        """What the program has told so far: faults with their proofs, elections, waits."""
        # Always listening: a program whose lines nobody takes would stand still.
        self._listener = threading.Thread(target=self._listen, args=(lines,), daemon=True)
        self._listener.start()
        up = self._next()
        self.version: str = up["version"]
        self.bootstrap_servers: str = up["bootstrap_servers"]
        self.run_dir: str = up["run_dir"]
        """Where the timeline and the logs of brokers are, and stay."""
        self.brokers: tuple[Broker, ...] = tuple(Broker(self, number) for number in up["brokers"])

    @classmethod
    def start(
        cls,
        program: Sequence[str] = PROGRAM,
        *,
        version: str | None = None,
        kafka: str | None = None,
        brokers: int = 3,
        settings: Mapping[str, str] | None = None,
        runs_dir: str | os.PathLike[str] | None = None,
    ) -> Cluster:
        """Bring a cluster up: of a release, or of a build of your own (`kafka`). Raises ChaosError."""
        command = [*program, "cluster", "--brokers", str(brokers)]
        command += [] if version is None else ["--version", version]
        command += [] if kafka is None else ["--kafka", kafka]
        command += [] if runs_dir is None else ["--runs-dir", os.fspath(runs_dir)]
        command += [part for key, value in sorted((settings or {}).items()) for part in ("--setting", f"{key}={value}")]
        process = begin(command, stdin=subprocess.PIPE)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with ended(process):
                return cls(process.stdout, process.stdin, process)
        except BaseException:
            with process:
                raise

    def _listen(self, lines: Iterable[str]) -> None:
        for line in lines:
            one = decoded(line)
            if one["kind"] in ("up", "answer"):
                self._answers.put(one)
            elif text := one.get("text"):
                self.said.append(text)
        self._answers.put(None)

    def _next(self) -> dict[str, Any]:
        answer = self._answers.get()
        if answer is None:
            self._answers.put(None)
            raise ChaosError(f"the cluster has ended; it said last: {' | '.join(self.said[-LAST_LINES:])}")
        return answer

    def ask(self, do: str, **arguments: Any) -> Any:
        """Have the program do one thing, and return what it answers. Raises ChaosError."""
        try:
            self._commands.write(json.dumps({"do": do} | arguments) + "\n")
            self._commands.flush()
        except (OSError, ValueError):
            self._next()
            raise
        answer = self._next()
        if "error" in answer:
            raise ChaosError(answer["error"], answer["of"])
        return answer["value"]

    def close(self) -> None:
        """Have everything healed, the logs collected and the cluster removed."""
        self._commands.close()
        self._listener.join()
        if self._process is not None:
            with self._process:
                pass

    def broker(self, number: int) -> Broker:
        """A node by its id."""
        return Broker(self, number)

    def topic(
        self,
        name: str | None = None,
        *,
        partitions: int = 1,
        replication: int = 3,
        settings: Mapping[str, str] | None = None,
    ) -> str:
        """Make a topic and wait until it is led and in sync; its name, a new one if none is given."""
        self._topics += 1
        name = name or f"test-{self._topics}"
        self.ask("topic", name=name, partitions=partitions, replication=replication, settings=dict(settings or {}))
        return name

    def leader(self, topic: str, partition: int = 0) -> Broker:
        """Who leads a partition at this moment. Raises ChaosError if nobody does."""
        return self.broker(self.ask("leader", topic=topic, partition=partition))

    def followers(self, topic: str, partition: int = 0) -> list[Broker]:
        """The other replicas, in the order in which they would be elected."""
        leader = self.leader(topic, partition)
        return [one for one in self._those("replicas", topic, partition) if one != leader]

    def in_sync(self, topic: str, partition: int = 0) -> list[Broker]:
        """The replicas that are in sync at this moment."""
        return self._those("in-sync", topic, partition)

    def _those(self, do: str, topic: str, partition: int) -> list[Broker]:
        return [self.broker(number) for number in self.ask(do, topic=topic, partition=partition)]

    def controller(self) -> Broker:
        """The active controller at this moment."""
        return self.broker(self.ask("controller"))

    def wait_leader(
        self, topic: str, partition: int = 0, *, other_than: Sequence[Broker] = (), timeout_s: float = 30.0
    ) -> Broker:
        """Wait until a replica leads that is none of these. Raises ChaosError when the time is over."""
        others = [one.id for one in other_than]
        return self.broker(
            self.ask("wait-leader", topic=topic, partition=partition, other_than=others, timeout_s=timeout_s)
        )

    def wait_in_sync(self, topic: str, partition: int = 0, *, timeout_s: float = 30.0) -> None:
        """Wait until every replica is in sync. Raises ChaosError when the time is over."""
        self.ask("wait-in-sync", topic=topic, partition=partition, timeout_s=timeout_s)


class Chaos:
    """Faults for brokers of any cluster. Each is proved from outside before its method returns; ChaosError if not."""

    def __init__(self) -> None:
        self._struck: dict[Cluster, int] = {}
        """By cluster, how much it had told when this first struck it."""

    def _do(self, what: str, brokers: Sequence[Broker], **arguments: Any) -> None:
        for cluster in dict.fromkeys(one.cluster for one in brokers):
            self._struck.setdefault(cluster, len(cluster.said))
            cluster.ask(what, brokers=[one.id for one in brokers if one.cluster is cluster], **arguments)

    def _between(self, what: str, senders: Sequence[Broker], receivers: Sequence[Broker], **arguments: Any) -> None:
        clusters = {one.cluster for one in (*senders, *receivers)}
        if len(clusters) != 1:
            raise ChaosError(f"{what}: name brokers of one cluster, on both sides", "UsageError")
        (cluster,) = clusters
        self._struck.setdefault(cluster, len(cluster.said))
        both = {"senders": [one.id for one in senders], "receivers": [one.id for one in receivers]}
        cluster.ask(what, **both, **arguments)

    def kill(self, *brokers: Broker) -> None:
        """Kill -9."""
        self._do("kill", brokers)

    def stop(self, *brokers: Broker) -> None:
        """A clean stop."""
        self._do("stop", brokers)

    def start(self, *brokers: Broker) -> None:
        """Start brokers that are down, and wait until they are registered."""
        self._do("start", brokers)

    def freeze(self, *brokers: Broker) -> None:
        """Freeze every thread, as a long pause of the JVM or of the machine does."""
        self._do("freeze", brokers)

    def cut(self, senders: Sequence[Broker], receivers: Sequence[Broker], *, one_way: bool = False) -> None:
        """Drop packets between brokers, or only from the first to the second."""
        self._between("cut", senders, receivers, one_way=one_way)

    def slow(self, senders: Sequence[Broker], receivers: Sequence[Broker], bytes_per_s: int) -> None:
        """What brokers send to others goes at this rate."""
        self._between("slow", senders, receivers, bytes_per_s=bytes_per_s)

    def cut_clients(self, *brokers: Broker) -> None:
        """Cut clients, which run on this machine, from brokers."""
        self._do("cut-clients", brokers)

    def hold_answers(self, *brokers: Broker) -> None:
        """Hold back what brokers answer to clients; requests still get in."""
        self._do("hold-answers", brokers)

    def thaw(self) -> None:
        """Thaw whoever is frozen."""
        for cluster in self._struck:
            cluster.ask("thaw")

    def heal_network(self) -> None:
        """Undo every fault of the network."""
        for cluster in self._struck:
            cluster.ask("heal-network")

    def heal(self, *, timeout_s: float = 60.0) -> None:
        """Undo everything, start who is down, and wait until every replica is in sync; done after each test."""
        for cluster in self._struck:
            cluster.ask("heal", timeout_s=timeout_s)

    @property
    def said(self) -> list[str]:
        """What the struck clusters have told since: faults with their proofs, elections, waits."""
        return [line for cluster, since in self._struck.items() for line in cluster.said[since:]]
