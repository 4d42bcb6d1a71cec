"""What the timeline says of the sequence itself: its steps, notes for the reader, preconditions, and duties of Kafka.

A sequence has preconditions, such as "the second leader died before anyone could fetch from it". `require` records
whether one held. Where it did not, the run says nothing about Kafka and its verdict is unknown.

Kafka has duties, such as "a leader that reaches no member of the ISR acknowledges nothing with acks=all". `claim`
records whether one was done at that moment. Where it was not, the verdict is unexpected, whatever else went wrong in
the run: only a doubt about the very witness takes that back (judgement/duties.py). A duty whose breach shows in the
evidence at any time is a claim of the catalogue (checks/claims/) or an anomaly; `claim` is for what holds at one place
of one sequence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from evidence.errors import HarnessError, WaitTimeout
from evidence.events import Duty, Note, Precondition, Step, Witness
from evidence.own_ends import OwnEnds
from evidence.records import TopicPartition
from harness.patience import lasted_s

if TYPE_CHECKING:
    from evidence.timeline import Timeline
    from harness.run.who import Partition


class PreconditionNotHeld(HarnessError):
    """The sequence did not take the course that the claim is about."""


class DutyNotDone(HarnessError):
    """Kafka did not do what it owes: the rest of the sequence would be about another Kafka."""


class SequenceLog:
    """Writes the sequence down."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.preconditions = 0
        """How many were checked."""
        self.duties = 0
        """How many duties of Kafka were checked."""
        self.owing = True
        """Whether states that do not come in time, and brokers that end themselves, are held against Kafka: they are
        while the steps go on, and not while the cluster is brought up or put in order at the end."""
        self._own_ends = OwnEnds()
        timeline.listen(self._own_ends.note)

    @contextmanager
    def step(self, name: str, **detail: Any) -> Iterator[None]:
        """Record the begin and the end of a step."""
        self._timeline.append(Step(name=name, phase="begin", detail=detail))
        yield
        self._timeline.append(Step(name=name, phase="end", detail=detail))

    def note(self, text: str) -> None:
        """Record an observation for the reader of the report."""
        self._timeline.append(Note(text=text))

    def require(self, name: str, held: bool, **detail: Any) -> None:
        """Record whether a precondition of the claim held.

        Raises PreconditionNotHeld if it did not: the sequence ends there and the run is unknown.
        """
        self.preconditions += 1
        self._timeline.append(Precondition(name=name, held=held, detail=detail))
        if not held:
            raise PreconditionNotHeld(f"{name}: did not hold ({', '.join(f'{k}={v}' for k, v in detail.items())})")

    def claim(
        self,
        name: str,
        held: bool,
        *,
        witness: Witness = "clients",
        of_sessions: bool = True,
        about: Sequence[Partition] = (),
        **detail: Any,
    ) -> None:
        """Record whether Kafka does what it owes at this moment, and who saw that: clients by the answers they got, or
        another `witness`. `of_sessions`: whether a session that ends may bring the other state about, which a machine
        that stood still then excuses. `about`: the partitions that it is about; what befalls others excuses nothing.

        Raises DutyNotDone if it does not: the sequence ends there and the run is unexpected.
        """
        self._duty(
            Duty(
                name=name, held=held, witness=witness, detail=detail, of_sessions=of_sessions, partitions=_named(about)
            )
        )
        if not held:
            raise DutyNotDone(f"Kafka owes this and did not do it: {name} ({_told(detail)})")

    def overdue(
        self,
        name: str,
        *,
        witness: Witness,
        since_ns: int,
        timeout_s: float,
        seen: str,
        about: Sequence[Partition] = (),
    ) -> HarnessError:
        """Record that a state which Kafka owes did not come within its limit, which may have been waited for longer;
        the error to raise.
        """
        waited_s = lasted_s(timeout_s, since_ns)
        if not self.owing:
            return WaitTimeout(f"not within {waited_s:g} s: {name}; {seen}")
        limit_ms = round(timeout_s * 1000)
        self._duty(
            Duty(
                name=name,
                held=False,
                witness=witness,
                detail={"seen": seen},
                since_ns=since_ns,
                limit_ms=limit_ms,
                partitions=_named(about),
            )
        )
        return DutyNotDone(f"Kafka owes this and did not do it within {waited_s:g} s: {name} ({seen})")

    def notice(self) -> None:
        """Raise DutyNotDone if a broker or a controller has exited, which no fault of its own explains: every wait
        asks, so that a run does not wait for what is gone.
        """
        if not self.owing or not self._own_ends.ended:
            return
        node, died = self._own_ends.ended.popitem()
        self._duty(Duty(name=f"{node} goes on", held=False, witness="processes", detail={"exit_code": died.exit_code}))
        raise DutyNotDone(f"{node} has exited (exit code {died.exit_code}), and no fault had struck it")

    def _duty(self, duty: Duty) -> None:
        self.duties += 1
        self._timeline.append(duty)


def _named(about: Sequence[Partition]) -> tuple[TopicPartition, ...]:
    return tuple((t.topic, t.number) for t in about)


def _told(detail: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in detail.items()) or "no detail"
