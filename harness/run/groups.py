"""Consumer groups' offsets: committed and asked for by somebody who is no member, as operators and tools do.

A client that commits without being a member is answered by the group's coordinator like any other, as long as the group
has no members. Each commit and each answer is in the timeline, an error too: what became of an offset that was
committed is judged from there (checks/groups.py).
"""

from __future__ import annotations

import operator
import socket
import time
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager, nullcontext
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from evidence.errors import HarnessError, WaitTimeout
from evidence.events import GroupMember, GroupMembers, OffsetAnswer, OffsetCommit, ZnodeOffset
from harness.cluster.cluster import KAFKA_PORT
from harness.cluster.librdkafka import administrator, client_settings, consumer, place, refusals
from harness.cluster.requests import offset_fetch
from harness.polling import poll

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from confluent_kafka import Consumer, TopicPartition
    from confluent_kafka.admin import AdminClient

    from harness.run.parts import Parts
    from harness.run.sequence_log import SequenceLog
    from harness.run.who import Partition, Target

ASK_S: Final = 3.0
"""How long one request may take: a coordinator that loads, or is none, is asked again."""
AGAIN_S: Final = 0.5
GIVE_UP_MS: Final = 1500
"""How long a client that is told of some brokers waits for one answer. librdkafka sends a commit again to the
coordinator that it knows, twice, before it says that nobody answers (rd_kafka_buf_retry)."""
COMMIT_LIMIT_S: Final = 60.0
"""The first commit makes the topic of offsets."""


class Groups:
    """Asks groups' coordinators."""

    def __init__(self, parts: Parts, sequence_log: SequenceLog) -> None:
        self._timeline, self._sequence_log, self._open_admin = parts.timeline, sequence_log, parts.open_admin
        self._committer_settings: dict[str, Any] = {
            "enable.auto.commit": False,
            # One who reads what is committed is not answered while offsets are part of an open transaction (KIP-447).
            "isolation.level": "read_uncommitted",
            **client_settings(parts.cluster.bootstrap, parts.version.client_settings),
        }

    def commit(
        self,
        group: str,
        t: Partition,
        offset: int,
        *,
        metadata_bytes: int = 0,
        timeout_s: float = COMMIT_LIMIT_S,
        only: Sequence[Target] = (),
    ) -> None:
        """Commit an offset for a group that has no members, with so many bytes of metadata beside it. The client asks
        `only` these brokers who coordinates the group, if they are given.

        Raises WaitTimeout if that is not acknowledged in time.
        """
        committing = place(t, offset, "m" * metadata_bytes)
        with (
            ExitStack() as opened,
            self._sequence_log.step("commit an offset", group=group, partition=str(t), offset=offset),
        ):
            client = None if only else opened.enter_context(closing(self._client(group)))

            def commit() -> str | None:
                """Each time anew with a client that looks for the coordinator, where that one may be gone."""
                with nullcontext(client) if client else closing(self._client(group, only)) as committer:
                    return _error(lambda: _committed(committer, committing))

            # A coordinator that is not ready tells nobody when it is.
            error = poll(commit, timeout_s, until=operator.not_, every_s=AGAIN_S)
            if error is not None:
                raise WaitTimeout(f"offset {offset} of {t} is not committed after {timeout_s:.0f} s: {error}")
            self._timeline.append(
                OffsetCommit(
                    group=group, topic=t.topic, partition=t.number, offset=offset, metadata_bytes=metadata_bytes
                )
            )

    def commit_async(self, group: str, t: Partition, offset: int) -> PendingCommit:
        """Commit an offset for a group that has no members, once, and do not wait: it is in the timeline when it is
        acknowledged.
        """
        with self._sequence_log.step("commit an offset without waiting", group=group, partition=str(t), offset=offset):
            return PendingCommit(lambda: self._commit_once(group, t, offset))

    def _commit_once(self, group: str, t: Partition, offset: int) -> str | None:
        """The name of the error; None if it is acknowledged."""
        client = self._client(group)
        try:
            error = _error(lambda: _committed(client, place(t, offset)))
            if error is None:
                self._timeline.append(OffsetCommit(group=group, topic=t.topic, partition=t.number, offset=offset))
            return error
        finally:
            client.close()

    @contextmanager
    def ask_much(self, coordinator: Target, group: str, *, requests: int, times: int) -> Iterator[None]:
        """Ask a coordinator for a group's offset, so many times over by so many requests at once, and do not wait for
        the answers: it is busy with them. Their connections are closed when the block ends.

        Raises HarnessError if it takes no connection.
        """
        asked = offset_fetch(group, "none", times)
        address = (coordinator.node.address, KAFKA_PORT)
        with ExitStack() as open_ones:
            try:
                made = [
                    open_ones.enter_context(socket.create_connection(address, timeout=ASK_S)) for _ in range(requests)
                ]
                with self._sequence_log.step("ask much of a coordinator", requests=requests, times=times):
                    for connection in made:
                        connection.sendall(asked)
            except OSError as error:
                raise HarnessError(f"{coordinator.node.name} cannot be asked: {error}") from None
            yield

    def committed(self, group: str, t: Partition, timeout_s: float, *, only: Sequence[Target] = ()) -> OffsetAnswer:
        """What a group's coordinator says that it has committed, asked again until it answers or the time is over: the
        last answer, or the last error. `only` these brokers are asked who the coordinator is, if they are given.
        """
        with self._sequence_log.step("ask for a group's offset", group=group, partition=str(t)):
            return poll(
                lambda: self._ask(group, t, only), timeout_s, until=lambda answer: answer.error is None, every_s=AGAIN_S
            )

    def wait_committed(
        self, group: str, t: Partition, offset: int | None, timeout_s: float, *, only: Sequence[Target] = ()
    ) -> None:
        """Wait until a group's coordinator says that this offset is committed, None for none. WaitTimeout if not.
        `only` these brokers are asked who the coordinator is, if they are given.
        """

        def is_committed(answer: OffsetAnswer) -> bool:
            return answer.error is None and answer.offset == offset

        with self._sequence_log.step(f"wait until {group} has committed {offset}", partition=str(t)):
            answer = poll(lambda: self._ask(group, t, only), timeout_s, until=is_committed, every_s=AGAIN_S)
            if not is_committed(answer):
                said = answer.error or f"committed is {answer.offset}"
                raise WaitTimeout(f"{group} has not committed {offset} of {t} after {timeout_s:.0f} s: {said}")

    def in_zookeeper(self, group: str, t: Partition) -> ZnodeOffset:
        """The offset that a group of consumers of 0.8 has in ZooKeeper, which the timeline has. UsageError without
        ZooKeeper.
        """
        with self._sequence_log.step("look for a group's offset in ZooKeeper", group=group, partition=str(t)):
            return self._told_in_timeline(self._znode(group, t))

    def wait_in_zookeeper(self, group: str, t: Partition, offset: int, timeout_s: float) -> ZnodeOffset:
        """Wait until a group of consumers of 0.8 has this offset in ZooKeeper. WaitTimeout if not, UsageError without
        ZooKeeper.
        """
        with self._sequence_log.step(f"wait until {group} has {offset} in ZooKeeper", partition=str(t)):
            # The observer watches the cluster's own znodes, and a group's are not among them.
            seen = poll(
                lambda: self._znode(group, t), timeout_s, until=lambda one: one.offset == offset, every_s=AGAIN_S
            )
            self._told_in_timeline(seen)
            if seen.offset != offset:
                raise WaitTimeout(f"{seen.path} has {seen.content} after {timeout_s:.0f} s, not {offset}")
            return seen

    def _znode(self, group: str, t: Partition) -> ZnodeOffset:
        path, content = self._open_admin().offset_in_zookeeper(group, *t)
        return ZnodeOffset(group=group, topic=t.topic, partition=t.number, path=path, content=content)

    def _told_in_timeline(self, seen: ZnodeOffset) -> ZnodeOffset:
        self._timeline.append(seen)
        return seen

    def wait_members(self, group: str, wanted: Mapping[str, Sequence[Partition]], *, timeout_s: float) -> GroupMembers:
        """Wait until a group is stable and has exactly these static members, by group.instance.id, each with these
        partitions; what the coordinator says of them then, which the timeline has. Before 2.4 it tells of no instances.

        Raises WaitTimeout if it does not come to that in time.
        """
        expected = {instance: {(t.topic, t.number) for t in given} for instance, given in wanted.items()}

        def as_wanted(seen: GroupMembers | None) -> bool:
            return (
                seen is not None
                and seen.state == "STABLE"
                and len(seen.members) == len(expected)
                and {one.instance: set(one.partitions) for one in seen.members} == expected
            )

        admin = administrator({key: self._committer_settings[key] for key in ("bootstrap.servers", "log_level")})
        with self._sequence_log.step("wait for a group's members", group=group, members=", ".join(expected)):
            seen = poll(lambda: _members(admin, group), timeout_s, until=as_wanted, every_s=AGAIN_S)
        if seen is None or not as_wanted(seen):
            wanted_ones = _told((one, given) for one, given in expected.items())
            raise WaitTimeout(f"{group} is not stable with {wanted_ones} after {timeout_s:.0f} s: {_settled(seen)}")
        self._timeline.append(seen)
        return seen

    def _ask(self, group: str, t: Partition, only: Sequence[Target]) -> OffsetAnswer:
        """Ask once, with a client of its own, which looks for the coordinator anew. Of answers in a row that say the
        same the timeline has each: they are few.
        """
        client, asked_ns = self._client(group, only), time.monotonic_ns()
        found: list[TopicPartition] = []
        try:
            error = _error(lambda: found.extend(client.committed([place(t)], timeout=ASK_S)))
        finally:
            client.close()
        offset = found[0].offset if found and found[0].offset >= 0 else None
        answer = OffsetAnswer(
            group=group, topic=t.topic, partition=t.number, offset=offset, error=error, asked_ns=asked_ns
        )
        self._timeline.append(answer)
        return answer

    def _client(self, group: str, only: Sequence[Target] = ()) -> Consumer:
        known = {
            "bootstrap.servers": ",".join(f"{one.node.address}:{KAFKA_PORT}" for one in only),
            "socket.timeout.ms": GIVE_UP_MS,
        }
        return consumer(self._committer_settings | {"group.id": group} | (known if only else {}))


class PendingCommit:
    """A commit that may not be answered yet."""

    def __init__(self, commit: Callable[[], str | None]) -> None:
        self._error: Future[str | None] = Future()
        Thread(target=self._carry_out, args=(commit,), daemon=True).start()

    def _carry_out(self, commit: Callable[[], str | None]) -> None:
        try:
            self._error.set_result(commit())
        except BaseException as error:
            self._error.set_exception(error)

    @property
    def done(self) -> bool:
        """Whether it is answered."""
        return self._error.done()

    def wait(self, timeout_s: float) -> str | None:
        """The name of the error that it ended with; None if it is acknowledged. WaitTimeout if it is not answered."""
        try:
            return self._error.result(timeout_s)
        except TimeoutError:
            raise WaitTimeout(f"a commit is not answered after {timeout_s:.0f} s") from None


def _committed(client: Consumer, committing: TopicPartition) -> None:
    """Commit one offset; KafkaException if the coordinator refuses it."""
    for one in client.commit(offsets=[committing], asynchronous=False) or ():
        if one.error is not None:
            raise refusals()(one.error)


def _members(admin: AdminClient, group: str) -> GroupMembers | None:
    """A group's members, as its coordinator describes them; None if nobody answers."""
    try:
        found = admin.describe_consumer_groups([group], request_timeout=ASK_S)[group].result(2 * ASK_S)
    except (refusals(), TimeoutError):
        return None
    members = tuple(
        GroupMember(
            member_id=one.member_id,
            instance=one.group_instance_id or "",
            partitions=tuple(sorted((t.topic, t.partition) for t in one.assignment.topic_partitions)),
        )
        for one in found.members
    )
    return GroupMembers(group=group, state=found.state.name, members=members)


def _settled(seen: GroupMembers | None) -> str:
    """What a group was when it was last asked for."""
    if seen is None:
        return "its coordinator did not answer"
    return f"it was {seen.state} with {_told((one.instance or one.member_id, one.partitions) for one in seen.members)}"


def _told(members: Iterable[tuple[str, Iterable[tuple[str, int]]]]) -> str:
    """Members and their partitions in a line."""
    ones = [
        f"{name}: {', '.join(f'{topic}-{number}' for topic, number in sorted(given)) or 'nothing'}"
        for name, given in members
    ]
    return "; ".join(ones) or "no members"


def _error(ask: Callable[[], None]) -> str | None:
    """The name of the error that a request ends with; None if it succeeds."""
    try:
        ask()
    except refusals() as error:
        return str(error.args[0].name())
    return None
