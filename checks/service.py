"""When a partition owes its clients an answer: its leader and ISR are well, and nothing has happened that may hold up.

A producer may be refused, or may wait, because of what happens to a cluster. Each of these is in the timeline, and
counts while it lasts and as long afterwards as it may still be felt:

- what may bring about an election, a shrink of the ISR or the end of a session (checks/claims/spontaneous.py): faults
  of nodes, what the engine did to their containers, acts of administrators. So long as that comes late (`after_ns`),
  and as long as a client may wait for the answer to a request of then before it tries again;
- what is done to connections of clients, and to the client's own process. What is done to another's is no reason;
- whatever changes the partition's leader or ISR. One that nothing explains is an anomaly of its own, and still makes
  clients wait;
- that nobody leads, that the leader's process is not up, or that the ISR is smaller than min.insync.replicas;
- what is done to a broker's disk, files, memory or clock, to the end of the run: what comes of it may stay;
- that brokers start, or that the partition is new, and `SETTLED_NS` more;
- a time in which an observer was blind, or the machine stood still.

After a step that sets something nobody knows here what is owed, and nothing is. Nothing is, either, of a partition
whose states no observer told, such as those of others' histories.

Sources: Kafka documentation, topic configuration: min.insync.replicas; KAFKA-1555; Kafka documentation, broker
configuration: replica.lag.time.max.ms; producer configuration: request.timeout.ms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Final

from checks.claims.replication.isr import lag_time_ms, shrinks_within_ms
from checks.claims.spontaneous import SETTLED_NS, SHARE, acts, after_ns, starts
from checks.disturbances import OF_PROCESSES
from checks.settings import min_insync_bounds
from evidence.events import NO_LEADER, Partition, Step, of
from evidence.faults.base import FaultProof
from evidence.faults.process import PowerLossProof
from evidence.nodes import broker
from evidence.own_ends import MAY_END_IT
from evidence.records import TopicPartition
from evidence.run import RunRecord
from evidence.run_state import LATE_TIMES, UP, RunState
from evidence.spans import NEVER_NS, Span, common, overlap, widened
from evidence.subjects import place_of

REQUEST_MS: Final = 30_000
"""The default of request.timeout.ms, of Java clients and of librdkafka."""
SOCKET_MS: Final = 60_000
"""The default of librdkafka's socket.timeout.ms, which bounds its requests too."""
JAVA: Final = "java"
LASTS: Final[tuple[type[FaultProof], ...]] = (*MAY_END_IT, PowerLossProof)
"""Faults that leave something behind."""
LATE_NS: Final = 10_000_000_000
"""No acknowledgement counts as late that took no longer: in any run screening keeps those that did. Ours."""


@dataclass(frozen=True)
class Service:
    """What a partition owes its clients, and when."""

    run: RunRecord
    run_state: RunState
    where: TopicPartition

    @cached_property
    def owed(self) -> bool:
        """Whether anything is known of the partition's states. Records of subjects are judged by what is stated of
        them.
        """
        return bool(self._states) and self.where not in map(place_of, self.run.subjects)

    @cached_property
    def scripted(self) -> frozenset[tuple[int, int]]:
        """The producer and sequence of each record that a step sent by itself, and whose answer that step judges."""
        own = (send for send in self.run_state.sends if (send.topic, send.partition) == self.where)
        return frozenset((send.producer, send.sequence) for send in own)

    @cached_property
    def late_ns(self) -> int:
        """No acknowledgement takes longer, where something is owed: a follower that has not caught up for
        replica.lag.time.max.ms is out of the ISR when the leader looks next, and is waited for no more.
        """
        bound_ms = shrinks_within_ms(self.run)
        return max(round(bound_ms * 1e6), LATE_NS)

    def disturbed(self, client: str) -> list[Span]:
        """The times in which something may have held up this client."""
        return [*self._in_general, *widened(self._patient, 0, self._patience_ns(client)), *self._of_client(client)]

    def own_client(self, client: str) -> bool:
        """Whether it is a client of the user's own."""
        return self.run.is_own_client(self.run.process(client))

    def calm(self, span: Span, client: str) -> bool:
        """Whether nothing may have held up this client in some time."""
        return not any(overlap(span, one) for one in self.disturbed(client))

    def refused_by_machine(self, flight: Span) -> bool:
        """Whether a follower may have lagged, unseen, because the machine held somebody up before this refusal."""
        before_ns = after_ns(self.run, "isr-shrink")
        return self._held_up_ns((flight[0] - before_ns, flight[1])) >= SHARE * lag_time_ms(self.run) * 1e6

    def given_up_by_machine(self, flight: Span) -> bool:
        """Whether the machine held somebody up for half of the time after which somebody gave up; not so if that was
        `LATE_TIMES` what an acknowledgement may take.
        """
        took_ns = flight[1] - flight[0]
        return took_ns < LATE_TIMES * self.late_ns and self._held_up_ns(flight) >= SHARE * took_ns

    def late_by_machine(self, flight: Span) -> bool:
        """Whether an acknowledgement is over its bound by no more than the machine held somebody up; not so if it took
        `LATE_TIMES` its bound.
        """
        took_ns = flight[1] - flight[0]
        return took_ns < LATE_TIMES * self.late_ns and self._held_up_ns(flight) >= took_ns - self.late_ns

    def _held_up_ns(self, span: Span) -> int:
        """For how long the machine held somebody up; where nothing says when it was busy it was so all the time."""
        evenly_ns = 0 if self.run_state.waits else round(self.run_state.busy * (span[1] - span[0]))
        return self.run_state.held_up_ns(span) + evenly_ns

    @cached_property
    def _states(self) -> tuple[Partition, ...]:
        return self.run_state.states.get(self.where, ())

    @cached_property
    def _patient(self) -> list[Span]:
        """What may hold up a client for as long as it waits for the answer to a request, and what that comes late."""
        others = [one for one in self.run_state.faults if not issubclass(one.proof_type, OF_PROCESSES)]
        found = [(one.inject_ns, NEVER_NS if issubclass(one.proof_type, LASTS) else one.until_ns) for one in others]
        found += [one.span for one in acts(self.run_state) if one.where in (None, self.where)]
        found = widened(found, 0, after_ns(self.run, "isr-shrink"))
        found += [(one.at_ns, one.at_ns) for one in self._states[1:]]
        return found + list(self._unwell())

    @cached_property
    def _in_general(self) -> list[Span]:
        """What holds up every client, and no longer than it lasts, or until all is settled."""
        begun = [one.span for one in starts(self.run_state)] + [(0, self._states[0].at_ns)]
        set_ns = [one.at_ns for one in of(self.run_state.events, Step) if one.name.startswith("set ")]
        return [*widened(begun, 0, SETTLED_NS), *self.run_state.still, *((at_ns, NEVER_NS) for at_ns in set_ns)]

    def _unwell(self) -> Iterator[Span]:
        """The times in which nobody could acknowledge: nobody led, or was up, or the ISR was too small."""
        for one, following in zip_longest(self._states, self._states[1:]):
            span = (one.at_ns, NEVER_NS if following is None else following.at_ns)
            _, needed = min_insync_bounds(self.run, self.run_state, self.where, one.at_ns)
            if one.leader == NO_LEADER or len(one.isr) < needed:
                yield span
            else:
                processes = self.run_state.processes.get(broker(one.leader), ())
                yield from common([span], [(each.begin_ns, each.end_ns) for each in processes if each.value != UP])

    def _of_client(self, client: str) -> list[Span]:
        own = (one for one in self.run_state.faults if issubclass(one.proof_type, OF_PROCESSES) and client in one.nodes)
        return widened(((one.inject_ns, one.until_ns) for one in own), 0, self._patience_ns(client))

    def _patience_ns(self, client: str) -> int:
        """How long a client waits for the answer to a request before it tries again."""
        process = next((one for one in self.run.processes if one.name == client), None)
        settings = {} if process is None else process.settings
        library = self.run.client if process is None else process.library or self.run.client
        stated = [settings.get(name, "") for name in ("request.timeout.ms", "socket.timeout.ms")]
        defaults = (REQUEST_MS, 0 if library.startswith(JAVA) else SOCKET_MS)
        return (
            max(int(own) if own.isdigit() else least for own, least in zip(stated, defaults, strict=True)) * 1_000_000
        )
