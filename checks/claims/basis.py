"""The words that claims are judged in: outcomes of rows, durations, and what held of brokers at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from checks.claim import CONTRADICTED, HELD, NOT_OBSERVED, Judged
from evidence.events import Ends, Log, Moment, of
from evidence.faults.base import FaultProof
from evidence.faults.process import StartProof
from evidence.nodes import broker
from evidence.records import TopicPartition
from evidence.releases import numbers
from evidence.run import RunRecord
from evidence.run_state import DOWN, DYING, FaultFact, RunState

SESSION_TOLERANCE_MS: Final = 1500
"""For a server that gets no processor at once, and an observer that hears of it later."""
TICK_SHARE: Final = 0.05
"""ZooKeeper ends sessions on the ticks of its clock, here 1/20 of a session apart."""

SESSION_BOUND: Final = (
    f"the broker's configured session, {TICK_SHARE:.0%} of it for the tick on which sessions end "
    f"(ZooKeeper: tickTime), and a tolerance of {SESSION_TOLERANCE_MS} ms for the machine"
)

ELECTION_MS: Final = 3000
"""For a controller that may have to read the cluster's state first, on a busy machine: nothing is documented."""
ADDRESS: Final = 10
"""The last octet of broker 1's address is one more, and so on."""
CLIENT_MS: Final = 4000
"""For a client that has to learn of the new leader."""
CLIENT_BOUND: Final = (
    f"{CLIENT_MS} ms for a client (it asks for metadata each second and may first wait for a connection to the dead "
    "broker, socket.connection.setup.timeout.ms)"
)


def judged(rows: Sequence[Mapping[str, Any]], wrong: Sequence[Mapping[str, Any]], seen: str, nothing: str) -> Judged:
    """Contradicted by the `wrong` ones of the rows, held if there are none, not observed without rows."""
    if wrong:
        return Judged(outcome=CONTRADICTED, observed=f"{seen}, {len(wrong)} of them otherwise", evidence=wrong)
    if not rows:
        return Judged(outcome=NOT_OBSERVED, observed=nothing)
    return Judged(outcome=HELD, observed=seen, evidence=rows)


def timed(rows: Sequence[Mapping[str, Any]], observed: Callable[[Mapping[str, Any]], str], nothing: str) -> Judged:
    """Of durations (`took_ms`, `bound_ms`): contradicted by those over their bound; told of the one nearest to it."""
    if not rows:
        return Judged(outcome=NOT_OBSERVED, observed=nothing)
    longest = max(rows, key=lambda row: float(row["took_ms"]) - float(row["bound_ms"]))
    wrong = [row for row in rows if row["took_ms"] > row["bound_ms"]]
    return Judged(
        outcome=CONTRADICTED if wrong else HELD,
        observed=observed(longest),
        evidence=wrong or rows,
        measured_ms=longest["took_ms"],
        bound_ms=longest["bound_ms"],
    )


def release_of(run: RunRecord) -> tuple[int, ...]:
    """The Kafka release that was run, as numbers.

    >>> from msgspec import structs
    >>> from evidence.run import blank
    >>> release_of(structs.replace(blank("baseline", "0.10.2.2"), kafka="0.10.2.2"))
    (0, 10, 2, 2)
    """
    return numbers(run.kafka)


def setting_ms(run: RunRecord, name: str, default: int) -> int:
    """A broker setting of the run, or the default that its version has."""
    return int(run.settings.get(name, default))


def session_ms(run: RunRecord, node: str) -> int | None:
    """The session that run.json states for a broker: its own, or that of all."""
    settings, broker = run.settings, node.rpartition("-")[2]
    name = "zookeeper.session.timeout.ms" if run.mode == "zookeeper" else "broker.session.timeout.ms"
    stated = settings.get(f"{broker}:{name}", settings.get(name))
    return int(stated) if stated is not None and str(stated).isdigit() else None


def session_bound_ms(limit_ms: int) -> float:
    """By when a session of so many milliseconds has ended for those who watch."""
    return limit_ms * (1 + TICK_SHARE) + SESSION_TOLERANCE_MS


def known_alone(run: RunRecord) -> dict[str, str]:
    """The broker's node that a client knows alone, by the client's name. A run says it (`only`), or at least with
    which addresses each was started.
    """
    alone = {}
    for process in run.processes:
        servers = process.settings.get("bootstrap.servers", "")
        host, _, port = servers.partition(":")
        last = host.rpartition(".")[2]
        if process.only:
            alone[process.name] = process.only
        elif port.isdigit() and last.isdigit():
            alone[process.name] = broker(int(last) - ADDRESS)
    return alone


def elapsed_ms(begin_ns: int, end_ns: int) -> float:
    """The time between two stamps, to a tenth of a millisecond."""
    return round((end_ns - begin_ns) / 1e6, 1)


def row_of(fault: FaultFact, where: TopicPartition) -> dict[str, Any]:
    """What rows say of a fault and a partition that it concerns."""
    return {"node": fault.node, "topic": where[0], "partition": where[1], "at_ns": fault.inject_ns}


def faults(run_state: RunState, kind: type[FaultProof]) -> Iterator[FaultFact]:
    """The faults of a kind and of those below it, proved or not, in order: an upgrade is a start too."""
    return (fault for fault in run_state.faults if issubclass(fault.proof_type, kind))


def start_after(run_state: RunState, node: str, at_ns: int) -> int:
    """When a node was started next; the end of the run and more if it was not."""
    starts = (fault.inject_ns for fault in faults(run_state, StartProof) if fault.node == node)
    return next((start_ns for start_ns in starts if start_ns > at_ns), run_state.end_ns + 1)


def copied(run_state: RunState, node: str, begin_ns: int, end_ns: int) -> dict[str, Ends]:
    """How far a node's replicas went when they were first copied between two times."""
    copies = (moment for moment in of(run_state.events, Moment) if begin_ns < moment.at_ns < end_ns)
    return next((moment.nodes.get(node, {}) for moment in copies), {})


def truncations(
    run_state: RunState, node: str, replica: str, begin_ns: int, end_ns: int | None = None
) -> list[int | None]:
    """The offsets to which a replica was truncated between two times, as its broker's log tells."""
    return [
        log.offset
        for log in of(run_state.events, Log)
        if (log.node, log.event, f"{log.topic}-{log.partition}") == (node, "truncate", replica)
        and begin_ns < log.at_ns
        and (end_ns is None or log.at_ns <= end_ns)
    ]


def lives(run_state: RunState, number: int, at_ns: int) -> bool:
    """Whether a broker is alive to the cluster at a time, and its process has not ended."""
    node = broker(number)
    return run_state.alive_at(node, at_ns) and run_state.condition_at(node, at_ns) not in (DYING, DOWN)


def protocol_of(run: RunRecord) -> tuple[int, ...]:
    """The inter-broker protocol: the release's own, unless the run's settings pin another."""
    pinned = run.settings.get("inter.broker.protocol.version")
    return numbers(pinned) if pinned else release_of(run)
