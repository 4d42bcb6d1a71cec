"""Waiting until the cluster states something, or a node has logged it: every wait has a limit and says what it saw."""

from __future__ import annotations

import operator
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from evidence.errors import NodeEnded, WaitTimeout
from evidence.events import NO_LEADER
from harness.observers import broker_logs
from harness.patience import Patience
from harness.polling import poll
from harness.run.who import Partition, partitions_of

if TYPE_CHECKING:
    from harness.cluster.state import ClusterObserver, ClusterState
    from harness.plan import TopicPlan
    from harness.run.sequence_log import SequenceLog
    from harness.run.who import Target, Who

T = TypeVar("T")

SLICE_S: Final = 2.0
START_LIMIT_S: Final = 90.0
ELECTION_LIMIT_S: Final = 60.0
ISR_LIMIT_S: Final = 90.0
LOG_LIMIT_S: Final = 30.0
ANNOUNCED_LIMIT_S: Final = 90.0
"""Leaders announce ISR changes every 60 s if these do not end."""


def _unseen(error: WaitTimeout) -> str:
    """What was not seen, of an observer that waited a part of the time.

    >>> _unseen(WaitTimeout("waited 0.6 s, not seen: broker-1 leads; last seen: no partitions"))
    'broker-1 leads; last seen: no partitions'
    """
    return str(error).partition("not seen: ")[2] or str(error)


def last_isr(text: str, t: Partition, leader: int) -> set[int] | None:
    """The ISR of a partition that its leader was the last to name in its log: when the controller had answered, or the
    metadata log had told it before that. None if it has named none.

    >>> last_isr("[Partition t-0 broker=1] ISR updated to 1,3  and version updated to 2", Partition("t", 0), 1)
    {1, 3}
    """
    words = (
        rf"\[Partition {t} broker={leader}\] ISR updated to ([\d,]+)",
        rf"become-leader state change for {t} .*? isr=\[([\d, ]+)\]",
        rf"Leader {t} .*? ISR \[([\d,]+)\]",
    )
    named = list(re.finditer("|".join(words), text))
    if not named:
        return None
    return {int(broker) for broker in re.findall(r"\d+", next(filter(None, named[-1].groups())))}


SESSIONS: Final = 4
"""A wait of so many sessions is long enough for a death to be noticed, on a busy machine too."""


def always(_: ClusterState) -> bool:
    """Kafka owes it whatever else is so."""
    return True


def led(state: ClusterState, t: Partition) -> bool:
    """Whether a broker that is registered leads the partition."""
    return t in state.partitions and state.partitions[t].leader in state.brokers


def isr_owed(state: ClusterState, t: Partition, wanted: Collection[int], running: Collection[int] = ()) -> bool:
    """Whether Kafka had to make the ISR what is wanted: the leader is alive, and so is everybody who is missing from
    it, or is running and would only have to register again.
    """
    return led(state, t) and set(wanted) - set(state.partitions[t].isr) <= {*state.brokers, *running}


def wait_whole(waits: Waits, who: Who, topics: Iterable[TopicPlan]) -> None:
    """Wait until every partition of these topics is led and all its replicas are in sync."""
    for t in partitions_of(topics):
        waits.wait_leader(t)
        waits.wait_isr(t, who.replicas_of(t))


class Waits:
    """Waits for what the cluster says of itself."""

    def __init__(
        self, observer: ClusterObserver, who: Who, sequence_log: SequenceLog, *, alters_by_request: bool = False
    ) -> None:
        """`alters_by_request` says that leaders ask the controller for changes of the ISR."""
        self._observer, self._who, self._sequence_log = observer, who, sequence_log
        self._alters_by_request = alters_by_request

    def wait_state(
        self,
        what: str,
        predicate: Callable[[ClusterState], bool],
        timeout_s: float = ELECTION_LIMIT_S,
        *,
        alive: Sequence[Target] = (),
        owed: Callable[[ClusterState], bool] = lambda _: False,
        about: Sequence[Partition] = (),
    ) -> ClusterState:
        """Wait until the cluster's own statements satisfy `predicate`; fails early if a node of `alive` has ended, or
        any broker by itself. What processes wait for a CPU meanwhile is not counted (harness/patience.py).

        `owed` says of the state at the end of the time whether Kafka is at fault that it is not another. Then the run
        is unexpected (DutyNotDone); otherwise the sequence has not taken its course (WaitTimeout). `about` are the
        partitions that it is about.
        """
        since_ns, patience = time.monotonic_ns(), Patience(timeout_s)
        with self._sequence_log.step(f"wait until {what}"):
            while True:
                # In slices, so that a node that died meanwhile is noticed before the limit.
                self._sequence_log.notice()
                try:
                    return self._observer.wait(predicate, what=what, timeout_s=min(SLICE_S, max(patience.left_s, 0.01)))
                except WaitTimeout as error:
                    for target in alive:
                        if not target.node.state()["Running"]:
                            raise NodeEnded(
                                f"{target} ended while waiting until {what}; it said:\n{target.node.last_lines()}"
                            ) from None
                    if patience.left_s > 0:
                        continue
                    if owed(state := self._observer.state):
                        raise self._sequence_log.overdue(
                            what,
                            witness="metadata",
                            since_ns=since_ns,
                            timeout_s=patience.limit_s,
                            seen=str(state),
                            about=about,
                        ) from None
                    raise WaitTimeout(f"not within {patience.lasted_s:g} s: {_unseen(error)}") from None

    def wait_leader(self, t: Partition, *targets: Target, timeout_s: float = ELECTION_LIMIT_S) -> Target:
        """Wait until one of `targets` leads the partition (any broker if none is named) and return it.

        Kafka owes it a leader that is alive. Which one is a matter of the sequence. One whose process had ended before
        the wait, and which is still named at its end, is not alive: it ought to have been replaced long before, if a
        replica in sync is there and the wait is much longer than sessions are.
        """
        wanted = {target.id for target in targets}
        names = " or ".join(target.node.name for target in targets) or "a broker"

        def leads(state: ClusterState) -> bool:
            leader = state.partitions[t].leader if t in state.partitions else NO_LEADER
            return leader in wanted if wanted else leader != NO_LEADER

        ended = self._who.ended_leader(t)

        def owed(state: ClusterState) -> bool:
            return not led(state, t) or self._is_not_missed(state, t, ended, timeout_s)

        self.wait_state(f"{names} leads {t}", leads, timeout_s, owed=owed, about=[t])
        return self._who.leader_of(t)

    def _is_not_missed(self, state: ClusterState, t: Partition, ended: int | None, timeout_s: float) -> bool:
        """Whether a leader that had ended is still named after a wait, and another could have taken its place."""
        if ended is None or state.partitions[t].leader != ended:
            return False
        others = (self._who.broker(number) for number in state.partitions[t].isr if number in state.brokers - {ended})
        long = timeout_s * 1000 >= SESSIONS * self._who.longest_session_ms
        return long and any(other.node.state()["Running"] for other in others)

    def wait_controller(self, *targets: Target, timeout_s: float = ELECTION_LIMIT_S) -> Target:
        """Wait until one of `targets` is the controller and return it. Kafka owes another than before."""
        wanted, before = {target.id for target in targets}, self._observer.state.controller
        names = " or ".join(target.node.name for target in targets)
        self.wait_state(
            f"{names} is the controller",
            lambda state: state.controller in wanted,
            timeout_s,
            owed=lambda state: state.controller in (None, before),
        )
        return self._who.controller()

    def wait_controller_other_than(self, dead: Target, timeout_s: float = ELECTION_LIMIT_S) -> Target:
        """Wait until there is a controller, and not this one, which Kafka owes, and return it."""
        what = f"another than {dead.node.name} is the controller"
        self.wait_state(what, lambda state: state.controller not in (None, dead.id), timeout_s, owed=always)
        return self._who.controller()

    def wait_no_leader(self, t: Partition, dead: Target) -> None:
        """Wait until the cluster knows that the partition's leader is gone: it has none, or a dead one's name. Kafka
        owes that it ends the dead one's session.
        """
        self.wait_state(
            f"{t} is without a live leader",
            lambda state: dead.id not in state.brokers and state.partitions[t].leader in (NO_LEADER, dead.id),
            owed=lambda state: dead.id in state.brokers,
            about=[t],
        )

    def wait_stated_leaderless(self, t: Partition) -> None:
        """Wait until the controller has stated that the partition has no leader. It does so some time after it heard
        that the leader is gone.
        """
        self.wait_state(
            f"the controller states no leader of {t}", lambda state: state.partitions[t].leader == NO_LEADER
        )

    def wait_isr(self, t: Partition, targets: Sequence[Target], timeout_s: float = ISR_LIMIT_S) -> None:
        """Wait until the ISR is exactly these replicas.

        Kafka owes it while somebody leads: that those come back which are registered, or run and have to register
        first, and that those leave which are dead, or lag.
        """
        wanted = {target.id for target in targets}
        self.wait_state(
            f"the ISR of {t} is {sorted(wanted)}",
            lambda state: t in state.partitions and set(state.partitions[t].isr) == wanted,
            timeout_s,
            owed=lambda state: isr_owed(state, t, wanted, self._who.running_brokers()),
            about=[t],
        )

    def wait_leader_knows_isr(self, t: Partition, targets: Sequence[Target]) -> None:
        """Wait until the ISR is exactly these replicas, and the leader goes by it.

        A leader that writes its ISR to ZooKeeper itself does so at once. One that asks the controller (AlterPartition)
        hears of the answer later than those who read the controller's word, and says when.
        """
        self.wait_isr(t, targets)
        self.wait_leader_goes_by({t: targets}, self._who.leader_of(t))

    def wait_leader_goes_by(self, isrs: Mapping[Partition, Sequence[Target]], leader: Target) -> None:
        """Wait until a broker goes by these ISRs of partitions that it leads, which the cluster states already: until
        its last word on each is that.
        """
        if not self._alters_by_request:
            return
        wanted = {t: {target.id for target in isr} for t, isr in isrs.items()}

        def others() -> dict[Partition, set[int] | None]:
            text = leader.node.said()
            return {t: isr for t in wanted if (isr := last_isr(text, t, leader.id)) != wanted[t]}

        with self._sequence_log.step(f"wait until {leader.node.name} goes by the ISR", of=len(isrs)):
            if other := self._poll(others, LOG_LIMIT_S, until=operator.not_):
                told = ", ".join(f"{t} {sorted(isr or ())}" for t, isr in other.items())
                raise WaitTimeout(f"{leader.node.name} goes by other ISRs after {LOG_LIMIT_S:.0f} s: {told}")

    def wait_log_lines(
        self, target: Target, patterns: Mapping[str, str], what: str, timeout_s: float = LOG_LIMIT_S
    ) -> None:
        """Wait until the node has printed a line for each pattern since it was last started; WaitTimeout names, by
        their keys, those for which it has not.
        """
        missing = dict(patterns)

        def still_missing() -> dict[str, str]:
            text = target.node.said()
            for name in [name for name, pattern in missing.items() if re.search(pattern, text)]:
                del missing[name]
            return missing

        with self._sequence_log.step(f"wait until {target.node.name} logs: {what}", of=len(patterns)):
            if self._poll(still_missing, timeout_s, until=operator.not_):
                raise self._not_logged(target, f"{what} of {', '.join(missing)}", timeout_s)

    def wait_isr_announced(self, count: int, timeout_s: float = ANNOUNCED_LIMIT_S) -> None:
        """Wait until the controller has read so many notifications of ISR changes since the run began (ZooKeeper, 0.9
        to protocol 2.6).
        """
        self.wait_state(
            f"the controller has read {count} notifications of ISR changes",
            lambda state: state.isr_changes_read >= count,
            timeout_s,
        )

    def wait_registered(self, targets: Sequence[Target]) -> None:
        """Wait until these brokers, whose processes run, are registered; fails early if one of them ends."""
        wanted = {target.id for target in targets}
        self.wait_state(
            f"brokers {sorted(wanted)} registered",
            lambda state: wanted <= state.brokers,
            START_LIMIT_S,
            alive=targets,
            owed=always,
        )

    def wait_unregistered(self, target: Target) -> None:
        """Wait until a dead broker's registration has ended (its ZooKeeper session, or KRaft's fencing)."""
        self.wait_state(
            f"{target.node.name} is no longer registered",
            lambda state: target.id not in state.brokers,
            START_LIMIT_S,
            owed=always,
        )

    def wait_end_of_epoch(self, target: Target, t: Partition, offset: int) -> None:
        """Wait until a follower knows that its last epoch ends at `offset`; needs the fetcher's TRACE."""
        what = f"that the epoch of {t} ends at {offset}, or that it asks with each fetch"
        self.wait_log_line(target, broker_logs.end_of_epoch(str(t), offset), what)

    def wait_log_line(self, target: Target, pattern: str, what: str, timeout_s: float = LOG_LIMIT_S) -> str:
        """Wait until the node has printed a line that matches since it was last started; returns the line.

        Raises WaitTimeout with the end of what it printed.
        """
        expression = re.compile(pattern)

        def matching() -> str | None:
            return next(filter(expression.search, target.node.said().splitlines()), None)

        with self._sequence_log.step(f"wait until {target.node.name} logs: {what}"):
            line = self._poll(matching, timeout_s)
            if line is None:
                raise self._not_logged(target, what, timeout_s)
            self._sequence_log.note(f"{target.node.name} logged: {line}")
            return line

    def _poll(self, ask: Callable[[], T], timeout_s: float, *, until: Callable[[T], object] = bool) -> T:
        """The same as `polling.poll`, and fails early if a broker exits."""
        return poll(ask, timeout_s, until=until, watch=self._sequence_log.notice)

    @staticmethod
    def _not_logged(target: Target, what: str, timeout_s: float) -> WaitTimeout:
        end = target.node.said()[-2000:]
        return WaitTimeout(f"{target.node.name} did not log {what} in {timeout_s:.0f} s; its last lines:\n{end}")
