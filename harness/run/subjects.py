"""The words of a run for subjects (harness/subjects.py): many producers at once, each with a partition of its own.

    subjects = Subjects(run, SUBJECTS)           their topics and processes
    subjects.begin()                             the first records of each are acknowledged
    subjects.send(7, expected_loss=loses)               seven records of each at once
    subjects.wait(lambda one: …, "…")            until it holds of each subject's tally
    with subjects.streaming(20.0): …             so many records a second of each while the block lasts
    subjects.settle()                            until it is known what came of every record

What is stated of each subject is put into run.json, where the verdict finds it (judgement/subjects.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from evidence.errors import HarnessError, WaitTimeout
from evidence.events import NO_LEADER
from evidence.run import StatedRecord, SubjectRecord, TimedRecord
from harness.observers import broker_logs
from harness.plan import TopicPlan
from harness.run.waits import isr_owed, led
from harness.run.who import Partition
from harness.subjects import DEFAULT_TIME_OUTS, NOTHING_STATED, Subject, TimeOuts
from harness.workloads.handles.producer_pool import ProducerPool, Tally
from harness.workloads.settings import LIBRDKAFKA

if TYPE_CHECKING:
    from harness.run import Run
    from harness.run.record import GrowingRecord
    from harness.run.who import Target

FIRST: Final = 3
"""Records of each subject before any fault."""
FIRST_LIMIT_S: Final = 40.0
WAIT_LIMIT_S: Final = 60.0
SETTLE_LIMIT_S: Final = 90.0
KNOWS_NOBODY: Final = {"socket.timeout.ms": "5000"}
"""A client of its own, which has never heard of another broker: one that has may ask a broker that stands still who
leads, and waits for its answer, a minute by default.
"""
Which = Callable[[Subject], bool]


def every(_: Subject) -> bool:
    """All subjects."""
    return True


@dataclass(slots=True)
class Placed:
    """A subject, its partition, and its producer."""

    subject: Subject
    partition: Partition
    pool: ProducerPool
    number: int
    process: str
    """That is its producer."""
    record: GrowingRecord = field(repr=False)

    @property
    def recorded(self) -> SubjectRecord:
        """Its entry in run.json."""
        return self.record.subject(self.process)

    def note(self, **changes: Any) -> None:
        """Change its entry in run.json."""
        self.record.change_subject(self.process, **changes)

    @property
    def tally(self) -> Tally:
        """What it has told last."""
        return self.pool.tallies[self.number]


class Subjects:
    """All subjects of a run."""

    def __init__(self, run: Run, subjects: Sequence[Subject], time_outs: TimeOuts = DEFAULT_TIME_OUTS) -> None:
        """Create their topics and start their processes; see `begin`."""
        self._run, self._time_outs = run, time_outs
        first = run.assignment_of(run.partition())
        order = (*first, *(broker for broker in run.cluster.plan.brokers if broker not in first))
        partitions: list[tuple[Subject, Partition]] = []
        for topic, group in groupby(sorted(subjects, key=lambda one: one.topic), key=lambda one: one.topic):
            members = list(group)
            replicas = (order[: topic.replication_factor],) * len(members)
            run.create_topic(TopicPlan(name=topic.name, replicas=replicas, settings=topic.settings))
            partitions += [(one, Partition(topic.name, number)) for number, one in enumerate(members)]
        self.all: list[Placed] = []

        def library(one: tuple[Subject, Partition]) -> str:
            return one[0].library(run.version).name

        for _, members_of in groupby(sorted(partitions, key=library), key=library):
            self._start(list(members_of))
        run.also_close(*self.pools)
        for pool in self.pools:
            pool.ready()

    @property
    def pools(self) -> list[ProducerPool]:
        """The processes, each once."""
        return list(dict.fromkeys(one.pool for one in self.all))

    def _start(self, members: list[tuple[Subject, Partition]]) -> None:
        run, version = self._run, self._run.version
        library = members[0][0].library(version)
        told = library.arguments(version, run.note) | {"own": True}
        clients = []
        for subject, _ in members:
            time_outs = subject.time_outs(version, self._time_outs)
            if library.kind == LIBRDKAFKA:
                time_outs |= version.client_settings
            clients.append(run.subject(subject.settings(version) | time_outs, library.name))
        pool = ProducerPool(clients, told, run.timeline)
        for number, ((subject, t), made) in enumerate(zip(members, clients, strict=True)):
            record = run.note_subject(
                SubjectRecord(
                    **subject.key,
                    topic=t.topic,
                    partition=t.number,
                    process=made.name,
                    client_release=library.release,
                    overrides=subject.time_outs(version, self._time_outs),
                    stated=StatedRecord(
                        must=tuple(sorted(subject.stated.must)),
                        may=tuple(sorted(subject.stated.may)),
                        why=" ".join(subject.stated.why.split()),
                        source=subject.stated.source,
                        basis=str(subject.stated.basis),
                    ),
                    expected_loss=None if subject.stated is NOTHING_STATED else (),
                    own=None if subject.own is None else dict(subject.own.settings),
                )
            )
            self.all.append(Placed(subject, t, pool, number, made.name, record))

    def of(self, which: Which = every) -> list[Placed]:
        """The subjects for which it holds."""
        return [one for one in self.all if which(one.subject)]

    def partitions(self, which: Which = every) -> list[Partition]:
        """Their partitions."""
        return [one.partition for one in self.of(which)]

    def send(self, count: int, which: Which = every, *, expected_loss: Which | None = None) -> None:
        """Have each send so many records at once. `expected_loss` are those whose records the sequence may lose."""
        with self._run.step("send of each subject", count=count):
            for pool in self.pools:
                members = [one for one in self.of(which) if one.pool is pool]
                if not members:
                    continue
                firsts = pool.send([(one.number, *one.partition, count) for one in members])
                for one, first in zip(members, firsts, strict=True):
                    ranges = one.recorded.expected_loss
                    if expected_loss is not None and expected_loss(one.subject) and ranges is not None:
                        one.note(expected_loss=(*ranges, (first, first + count)))

    @contextmanager
    def streaming(
        self, rate_per_s: float, which: Which = every, *, expected_loss: Which | None = None
    ) -> Iterator[None]:
        """Each sends so many records a second while the block lasts. Any record of the `expected_loss` may be lost."""
        for one in self.of(which):
            if expected_loss is not None and expected_loss(one.subject):
                one.note(expected_loss=None)
        with self._run.step("stream of each subject", rate_per_s=rate_per_s):
            for pool in self.pools:
                pool.stream([(one.number, *one.partition) for one in self.of(which) if one.pool is pool], rate_per_s)
            try:
                yield
            except Exception:  # what the sequence has failed of is told; nobody goes on sending while the run ends
                with suppress(HarnessError):
                    self._end_streams()
                raise
            self._end_streams()

    def _end_streams(self) -> None:
        for pool in self.pools:
            pool.stream([], 0.0)

    def wait(
        self, test: Callable[[Placed], bool], what: str, which: Which = every, *, timeout_s: float = WAIT_LIMIT_S
    ) -> None:
        """Wait until a test holds of each. WaitTimeout names the subjects for which it does not."""
        deadline = time.monotonic() + timeout_s
        with self._run.step(f"wait until {what}"):
            for pool in self.pools:
                members = [one for one in self.of(which) if one.pool is pool]
                try:
                    pool.wait(
                        lambda _, members=members: all(map(test, members)),  # type: ignore[misc]
                        what,
                        max(deadline - time.monotonic(), 0.01),
                    )
                except WaitTimeout:
                    late = [f"{one.subject} ({one.tally})" for one in members if not test(one)]
                    raise WaitTimeout(f"not {what} after {timeout_s:.0f} s: {'; '.join(late[:5])}") from None

    def wait_acknowledged(self, count: int, which: Which = every, *, timeout_s: float = WAIT_LIMIT_S) -> None:
        """Wait until each has been acknowledged so many records in all."""
        self.wait(lambda one: one.tally.ok >= count, f"{count} acknowledged", which, timeout_s=timeout_s)

    def wait_answered(self, which: Which = every, *, timeout_s: float = WAIT_LIMIT_S) -> None:
        """Wait until it is known what came of every record of theirs."""
        self.wait(lambda one: one.tally.unanswered == 0, "every record answered", which, timeout_s=timeout_s)

    def wait_more(self, count: int, which: Which = every, *, timeout_s: float = WAIT_LIMIT_S) -> None:
        """Wait until each has been acknowledged so many records more than it has told of by now."""
        before = {id(one): one.tally.ok for one in self.of(which)}
        self.wait(
            lambda one: one.tally.ok >= before[id(one)] + count,
            f"{count} more acknowledged",
            which,
            timeout_s=timeout_s,
        )

    def settle(self, *, timeout_s: float = SETTLE_LIMIT_S) -> None:
        """Wait until it is known what came of every record; what is not known by then is noted, and unknown."""
        try:
            self.wait_answered(timeout_s=timeout_s)
        except WaitTimeout as error:
            self._run.note(str(error))

    def wait_log_end(self, offset: int, target: Target, which: Which = every) -> None:
        """Wait until this broker's logs of their partitions end at an offset."""
        run, places = self._run, self.partitions(which)
        run.wait_files(
            f"the logs of {len(places)} subjects end at {offset} on {target.node.name}",
            lambda: all(run.log_end_and_high_watermark(target, t)[0] == offset for t in places),
            lambda: str({str(t): run.log_end_and_high_watermark(target, t)[0] for t in places}),
            WAIT_LIMIT_S,
        )

    def wait_replicated(self, offset: int, leader: Target, which: Which = every) -> None:
        """Wait until all replicas in sync have their records up to an offset, and have written them: a broker's
        checkpointed high watermark is there. A follower that flushes has flushed them, since it fetches after that.
        """
        run, places = self._run, self.partitions(which)

        def behind() -> dict[str, int]:
            marks = {str(t): run.log_end_and_high_watermark(leader, t)[1] for t in places}
            return {name: mark for name, mark in marks.items() if mark < offset}

        run.wait_files(
            f"the high watermarks of {len(places)} subjects are {offset} on {leader.node.name}",
            lambda: not behind(),
            lambda: str(behind()),
            WAIT_LIMIT_S,
        )

    def wait_led(self, *targets: Target, which: Which = every, timeout_s: float = WAIT_LIMIT_S) -> None:
        """Wait until one of these brokers leads each of their partitions."""
        wanted, places = {target.id for target in targets}, self.partitions(which)
        self._run.wait_state(
            f"{' or '.join(target.node.name for target in targets)} leads the partitions of {len(places)} subjects",
            lambda state: all(state.partitions[t].leader in wanted for t in places),
            timeout_s,
            owed=lambda state: not all(led(state, t) for t in places),
            about=places,
        )

    def lead(self, target: Target, which: Which = every) -> None:
        """Have a broker show that it leads each of their partitions, by one record more that it acknowledges there.

        That the cluster has made it the leader does not mean that it has heard of it: until then it may go on fetching.
        """
        producer = self._run.producer(acks="1", only=target, settings=KNOWS_NOBODY)
        with self._run.step(f"{target.node.name} takes a record for each of its partitions"):
            sent = [producer.send_async(*t) for t in self.partitions(which)]
            answers = [one.wait(WAIT_LIMIT_S) for one in sent]
        self._run.require(f"{target.node.name} leads", all(one.outcome == "ok" for one in answers))

    def wait_stopped_fetching(self, target: Target, which: Which = every) -> None:
        """Wait until a broker has stopped fetching each of their partitions, to lead it (before 2.1). What an old
        leader answers to its last fetch is not written any more then.
        """
        patterns = {str(t): broker_logs.stopped_fetching(str(t)) for t in self.partitions(which)}
        self._run.wait_log_lines(target, patterns, "that it has stopped fetching")

    def wait_leaderless(self, dead: Target, which: Which = every) -> None:
        """Wait until the cluster knows that the leader of their partitions is gone, and nobody else leads."""
        places = self.partitions(which)
        self._run.wait_state(
            f"nobody leads the partitions of {len(places)} subjects",
            lambda state: (
                dead.id not in state.brokers and all(state.partitions[t].leader in (NO_LEADER, dead.id) for t in places)
            ),
        )

    def wait_isr(self, targets: Sequence[Target], which: Which = every, *, timeout_s: float = WAIT_LIMIT_S) -> None:
        """Wait until the ISR of each of their partitions is those of these brokers that it is assigned to."""
        wanted = {target.id for target in targets}
        places = {t: wanted & set(self._run.assignment_of(t)) for t in self.partitions(which)}
        self._run.wait_state(
            f"the ISR is {sorted(wanted)} in the partitions of {len(places)} subjects",
            lambda state: all(set(state.partitions[t].isr) == isr for t, isr in places.items()),
            timeout_s,
            owed=lambda state: all(isr_owed(state, t, isr, self._run.running_brokers()) for t, isr in places.items()),
            about=list(places),
        )

    def wait_leader_knows_isr(self, targets: Sequence[Target], leader: Target, which: Which = every) -> None:
        """The same, and the leader goes by it in each (`run.wait_leader_goes_by`)."""
        self.wait_isr(targets, which)
        assigned = {t: self._run.assignment_of(t) for t in self.partitions(which)}
        isrs = {t: [target for target in targets if target.id in brokers] for t, brokers in assigned.items()}
        self._run.wait_leader_goes_by(isrs, leader)

    def wait_refused(self, leader: Target, which: Which) -> None:
        """Wait until the leader has logged that it refused to append to each of their partitions."""
        patterns = {str(t): rf"append operation on partition (?:\S+:)?{t}\s" for t in self.partitions(which)}
        self._run.wait_log_lines(leader, patterns, "that it refuses a record")

    def kill_clients(self) -> None:
        """Kill all their producers, -9. What each had taken until then is counted, answered or not."""
        for pool in self.pools:
            self._run.kill_client(pool)
        for one in self.all:
            one.note(killed=True)

    def wait_whole(self, which: Which = every) -> None:
        """Wait until every replica is in sync."""
        self.wait_isr(self._run.replicas_of(self._run.partition()), which, timeout_s=WAIT_LIMIT_S)

    def time(self, one_by_one: int, at_once: int, which: Which = every) -> None:
        """Have each by itself send records one by one, and then so many at once; run.json has which these are."""
        for one in self.of(which):
            with self._run.step("time a subject", partition=str(one.partition), one_by_one=one_by_one, at_once=at_once):
                place = (one.number, *one.partition)
                first = one.pool.one_by_one(place, one_by_one, timeout_s=WAIT_LIMIT_S)
                (then,) = one.pool.send([(*place, at_once)])
                one.note(timed=TimedRecord(latency=(first, then), throughput=(then, then + at_once)))
                self._wait_told(one, then + at_once)

    def _wait_told(self, one: Placed, sent: int) -> None:
        """Wait until it is known what came of every record of one subject, which has sent so many."""

        def all_answered(tallies: Sequence[Tally]) -> bool:
            own = tallies[one.number]
            return own.sent == sent and own.unanswered == 0

        one.pool.wait(all_answered, f"{one.subject} answered", WAIT_LIMIT_S)

    def begin(self, accepted: Which = every, *, expected_loss: Which | None = None) -> None:
        """The first records of each, which must be acknowledged, and written, if they are `accepted` at all. Those of
        `expected_loss` the sequence may lose later on.

        A leader that has not heard yet that it is one refuses records, of which acks=0 is told nothing: so its logs
        must be there first.
        """
        leader = self._run.leader_of(self._run.partition())
        self.wait_log_end(0, leader)
        self.send(FIRST, expected_loss=expected_loss)
        self.wait_acknowledged(FIRST, accepted, timeout_s=FIRST_LIMIT_S)
        self.wait_log_end(FIRST, leader, lambda one: one.producer.acks == "0")
