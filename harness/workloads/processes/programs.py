"""Applications as people write them: each consumes inputs, makes an output of each, and commits where it is.

They differ in the order of two steps, and that decides what a crash between these does to inputs. A program says where
it is between two steps (`app.between`), so that it can be stopped there, or killed (application.py). `poll` returns at
least one input, or none once the program is to end; `process` returns when every output is acknowledged, and the
program fails if one is not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from harness.workloads.stores.types import StoreLost

if TYPE_CHECKING:
    from confluent_kafka import Message

    from harness.workloads.processes.group_steps import GroupSteps
    from harness.workloads.processes.polls import Key
    from harness.workloads.processes.program_steps import ProgramSteps


def commit_then_process(app: ProgramSteps) -> None:
    """At most once: what is committed is not read again, whether it was processed or not."""
    while inputs := app.poll():
        app.between("poll", "commit")
        if app.commit(inputs):
            app.between("commit", "process")
            app.process(inputs)
            app.between("process", "poll")


def process_then_commit(app: ProgramSteps) -> None:
    """At least once: what is not committed is read again, whether it was processed or not."""
    while inputs := app.poll():
        app.between("poll", "process")
        app.process(inputs)
        app.between("process", "commit")
        app.commit(inputs)
        app.between("commit", "poll")


def commit_async_then_process(app: GroupSteps) -> None:
    """At most once, if the commit is carried out before the crash: nobody waits for its answer."""
    while inputs := app.poll():
        app.between("poll", "commit")
        app.commit_async(inputs)
        app.between("commit", "process")
        app.process(inputs)
        app.between("process", "poll")


def process_then_commit_async(app: GroupSteps) -> None:
    """At least once: the next inputs are polled before it is known whether the commit was carried out."""
    while inputs := app.poll():
        app.between("poll", "process")
        app.process(inputs)
        app.between("process", "commit")
        app.commit_async(inputs)
        app.between("commit", "poll")


def process_then_commit_when_revoked(app: GroupSteps) -> None:
    """At least once, with few commits: one when partitions are taken away, and one at the end. What was done of lost
    partitions is not committed: others have them.
    """
    done: list[Message] = []

    def commit() -> None:
        if done:
            app.between("revoke", "commit")
            app.commit(done)
            app.between("commit", "give up")
            done.clear()

    def forget(lost: Collection[Key]) -> None:
        done[:] = [one for one in done if (one.topic(), one.partition()) not in lost]

    app.when_revoked(commit)
    app.when_lost(forget)
    while inputs := app.poll():
        app.process(inputs)
        done.extend(inputs)
    commit()


def process_and_poll(app: ProgramSteps) -> None:
    """The client commits by itself (enable.auto.commit)."""
    while inputs := app.poll():
        app.between("poll", "process")
        app.process(inputs)
        app.between("process", "poll")


def hand_over(app: ProgramSteps) -> None:
    """The client commits by itself, and a thread of its own does the work: the loop polls on meanwhile."""

    def work(inputs: Sequence[Message]) -> None:
        app.between("hand-over", "process")
        app.process(inputs)
        app.between("process", "hand-over")

    with app.own_thread(work) as give:
        while inputs := app.poll():
            give(inputs)


def process_then_store(app: GroupSteps) -> None:
    """The client commits by itself what the program stores: offsets of inputs that are processed."""
    while inputs := app.poll():
        app.between("poll", "process")
        app.process(inputs)
        app.between("process", "store")
        app.store(inputs)
        app.between("store", "poll")


def hand_over_then_store(app: GroupSteps) -> None:
    """The same with a thread of its own that does the work, and stores."""

    def work(inputs: Sequence[Message]) -> None:
        app.between("hand-over", "process")
        app.process(inputs)
        app.between("process", "store")
        app.store(inputs)

    with app.own_thread(work) as give:
        while inputs := app.poll():
            give(inputs)


def transact(app: ProgramSteps, *, as_member: bool = True) -> None:
    """Exactly once: the outputs and the offsets of their inputs are one transaction."""
    while inputs := app.poll():
        app.between("poll", "begin")
        app.begin()
        app.process(inputs)
        app.between("process", "offsets")
        added = app.commit(inputs, as_member=as_member)
        app.between("offsets", "end")
        if not (added and app.end()) and not app.give_up(inputs):
            return
        app.between("end", "poll")


def transact_for_group(app: ProgramSteps) -> None:
    """The same as before KIP-447: the offsets are the group's, whoever its members are."""
    transact(app, as_member=False)


def transact_by_partition(app: GroupSteps) -> None:
    """The same with a producer for each input partition, whose transactional.id names the partition. Who is given the
    partition fences the producer of who had it, before it asks where to begin.
    """
    while inputs := app.poll():
        for ours in app.by_partition(inputs):
            app.between("poll", "begin")
            app.begin()
            app.process(ours)
            app.between("process", "offsets")
            added = app.commit(ours, as_member=False)
            app.between("offsets", "end")
            if not (added and app.end()) and not app.give_up(ours):
                return
            app.between("end", "poll")


def store_transaction(app: ProgramSteps) -> None:
    """Exactly once: the outputs and the offsets of their inputs are one transaction of the store that has both. If the
    store is lost, what counts is what it has when it is back.
    """
    while inputs := app.poll():
        app.between("poll", "write")
        try:
            app.write(inputs)
            app.write_offsets(inputs)
            app.between("write", "end")
            app.end_writing()
        except StoreLost:
            app.reconnect()
            app.return_to_stored()
        else:
            app.between("end", "poll")


def store_position_kept(app: ProgramSteps) -> None:
    """The same, but if the store is lost it writes what it was about to write, and goes on from its own position."""
    while inputs := app.poll():
        written = False
        while not written:
            try:
                app.write(inputs)
                app.write_offsets(inputs)
                app.end_writing()
                written = True
            except StoreLost:
                app.reconnect()
        app.between("end", "poll")


def store_offset_first(app: ProgramSteps) -> None:
    """The same store, and two transactions: the offsets, then the outputs."""
    while inputs := app.poll():
        app.write_offsets(inputs)
        app.end_writing()
        app.between("offsets", "outputs")
        app.write(inputs)
        app.end_writing()
        app.between("outputs", "poll")


def store_output_first(app: ProgramSteps) -> None:
    """The same store, and two transactions: the outputs, then the offsets."""
    while inputs := app.poll():
        app.write(inputs)
        app.end_writing()
        app.between("outputs", "offsets")
        app.write_offsets(inputs)
        app.end_writing()
        app.between("offsets", "poll")


def store_by_key(app: ProgramSteps) -> None:
    """At least once, into a table that has one output for each input: writing it again replaces the first."""
    while inputs := app.poll():
        app.write(inputs, by_key=True)
        app.end_writing()
        app.between("outputs", "offsets")
        app.write_offsets(inputs)
        app.end_writing()
        app.between("offsets", "poll")


COMMITTED_BY_CLIENT: Final = frozenset({"process-and-poll", "hand-over"})
"""Programs that leave commits to their client."""
STORING: Final = frozenset({"process-then-store", "hand-over-then-store"})
"""Programs that store offsets by hand for their client to commit, which librdkafka alone has."""
ASYNCHRONOUS: Final = frozenset({"commit-async-then-process", "process-then-commit-async"})
"""Programs that do not wait for the answer to a commit."""
BY_PARTITION: Final = frozenset({"transact-by-partition"})
"""Programs with a producer for each input partition."""
PROGRAMS: Final[Mapping[str, Callable[[GroupSteps], None]]] = {
    "commit-then-process": commit_then_process,
    "process-then-commit": process_then_commit,
    "commit-async-then-process": commit_async_then_process,
    "process-then-commit-async": process_then_commit_async,
    "process-then-commit-when-revoked": process_then_commit_when_revoked,
    "process-and-poll": process_and_poll,
    "hand-over": hand_over,
    "process-then-store": process_then_store,
    "hand-over-then-store": hand_over_then_store,
    "transact": transact,
    "transact-for-group": transact_for_group,
    "transact-by-partition": transact_by_partition,
    "store-transaction": store_transaction,
    "store-position-kept": store_position_kept,
    "store-offset-first": store_offset_first,
    "store-output-first": store_output_first,
    "store-by-key": store_by_key,
}
