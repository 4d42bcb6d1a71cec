"""One topic-partition as the clients have it, in columns: what was sent, what was read.

The columns are numpy arrays, one entry per row of the history, so that a check is a few passes over arrays whatever
their length. A record's identity (producer, sequence) is packed into one integer, its *value*. Values are unique in a
partition, and sort by producer and then by sequence; -1 stands for a record that is not ours or is damaged. Names of
processes are codes into `PartitionView.processes`.

What several checks need (which values are committed for sure, the log as clients know it) is worked out once, when it
is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from checks.pipelines import Pipeline
from checks.settled_operations import NOTHING_SETTLED, OPERATION, RECORD, TRANSACTION, Operation, Settled
from checks.shares import KINDS, ShareStep, share_steps
from evidence.history import schema
from evidence.records import RecordId
from evidence.spans import NEVER_NS

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Evidence = Mapping[str, Any]

SEQUENCE_BITS: Final = 40
NO_IDENTITY: Final = -1
NO_OFFSET: Final = -1
NO_TRANSACTION: Final = -1
NO_TIME: Final = -1
NO_GENERATION: Final = -1
EVIDENCE_LIMIT: Final = 1000
"""Rows of evidence that a finding carries at most; its count is of all."""


class Rows(list[Evidence]):
    """Evidence, perhaps cut to its first rows; `total` is the number of all rows."""

    def __init__(self, rows: Iterable[Evidence] = (), total: int | None = None) -> None:
        super().__init__(rows)
        self.total = len(self) if total is None else total


def pack(producer: Any, sequence: Any) -> Any:
    """The value of an identity that is known: of two ints an int, of two columns a column."""
    return (producer << SEQUENCE_BITS) + sequence


def value_of(producer: npt.NDArray[Any], sequence: npt.NDArray[Any]) -> Ints:
    """The values of identities; NO_IDENTITY where one has no producer or no sequence."""
    packed = pack(producer.astype(np.int64), sequence.astype(np.int64))
    return np.where((producer < 0) | (sequence < 0), NO_IDENTITY, packed)


def identity_of(value: int) -> dict[str, int]:
    """A value as producer and sequence."""
    if value < 0:
        return {"producer": NO_IDENTITY, "sequence": NO_IDENTITY}
    return {"producer": value >> SEQUENCE_BITS, "sequence": value & ((1 << SEQUENCE_BITS) - 1)}


def record_in(view: PartitionView, value: int) -> RecordId:
    """The record of a value in a partition, as rows of evidence name it in `records`."""
    return RecordId(view.topic, view.partition, **identity_of(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sends:
    """Records sent, a row each. `offset` is -1 where it is not known; exactly one of ok, fail, info holds."""

    value: Ints
    offset: Ints
    ok: Bools
    fail: Bools
    info: Bools
    acks: Ints
    op: Ints
    transaction: Ints
    """-1: none."""
    invoked_ns: Ints
    completed_ns: Ints
    process: Ints
    errors: Mapping[int, str] = field(default_factory=dict)
    """By row, the error's name, of those that ended with one."""

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Polls:
    """Records read, a row each, in the order of each process. `good` is false for polls that failed or are unknown."""

    value: Ints
    offset: Ints
    valid: Bools
    good: Bools
    op: Ints
    transaction: Ints
    completed_ns: Ints
    process: Ints
    invoked_ns: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What processing pipelines did with this partition, a row each: inputs processed, or offsets committed."""

    offset: Ints
    """The offset of the processed input; in commits of offsets, that of the next input to process."""
    value: Ints
    """The output that an input was made into; NO_IDENTITY if it is not known."""
    ok: Bools
    fail: Bools
    op: Ints
    transaction: Ints
    completed_ns: Ints
    process: Ints

    def __len__(self) -> int:
        return len(self.offset)


class Membership(NamedTuple):
    """The group of a process, and its group.instance.id if it is a static member (KIP-345)."""

    group: str
    instance: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberStep:
    """A member of a group was given this partition, was told of its loss, or committed an offset of it."""

    process: str
    of: Membership
    kind: str
    """"assign", "revoke", or "offsets"."""
    invoked_ns: int
    completed_ns: int
    """Of an offset in a transaction, when the transaction had ended."""
    offset: int = NO_OFFSET
    generation: int = NO_GENERATION
    """Of the group, when it was given."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a transaction ended ("ok" committed, "fail" aborted, "info" unknown), and when that was known."""

    outcome: str
    completed_ns: int


NO_GROUPS: Final[Mapping[str, Membership]] = {}
NEVER_CLOSED: Final[Mapping[str, int]] = {}
Endings = Mapping[tuple[str, int], Ending]
"""By process and number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Sequences [first, first + count) of a producer may have been sent."""

    producer: int
    first: int
    count: int
    process: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalReadEnd:
    """The final read came to the brokers' end offset `offset`, which it had asked for at `asked_ns`.

    What was acknowledged after that moment may lie beyond it. Unknown times are the end of all times.
    """

    offset: int
    asked_ns: int = NEVER_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class EndAnswer:
    """What a broker answered a client that asked for the log's end as a consumer may read it."""

    offset: int
    asked_ns: int
    answered_ns: int
    process: str
    uncommitted: bool = False
    """The client reads at read_uncommitted, so that the answer is the leader's high watermark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedLog:
    """The partition as clients know it: what was seen at which offset, sorted by offset, each row once per witness."""

    offset: Ints
    value: Ints
    index: Ints
    """Dense rank of `offset`: it has no holes where offsets have."""

    def index_of(self, offsets: Ints) -> Ints:
        """The index of offsets that are in the log."""
        return self.index[np.searchsorted(self.offset, offsets)]


Elsewhere = Callable[[Ints], Mapping[int, tuple[str, int]]]
"""Of values, to which other topic-partition each was sent or, if nothing is known of its sending, was to be sent."""


def not_asked(values: Ints) -> Mapping[int, tuple[str, int]]:
    """Where nothing is known of other partitions."""
    return {}


@dataclass(frozen=True, kw_only=True)
class PartitionView:
    """What the clients' histories say of one topic-partition."""

    topic: str
    partition: int
    processes: tuple[str, ...]
    sends: Sends
    polls: Polls
    reservations: tuple[Reservation, ...]
    final: FinalReadEnd | None
    """None if there was no final read, or it did not reach the end."""
    assignments: Mapping[int, Ints] = field(default_factory=dict)
    """By process: the ops at which it was given or lost this partition, ascending."""
    held: Mapping[int, int] = field(default_factory=dict)
    """By process: when it was given this partition, of those that had it to the end."""
    closed_ns: Mapping[str, int] = field(default_factory=dict)
    """By the name of a process: when it ended properly."""
    uncommitted_readers: frozenset[int] = frozenset()
    """Processes that read at the isolation level read_uncommitted."""
    readers_missing: bool = False
    """Whether the history of a reader is missing or torn: records without a poll may have been read."""
    writers_missing: bool = False
    """Whether the history of a writer is missing or torn: records without a send may have been sent."""
    torn: frozenset[str] = frozenset()
    """The processes whose histories are not whole."""
    ends: tuple[EndAnswer, ...] = ()
    """Answers to questions for the log's end, in the order of asking."""
    processed: Steps | None = None
    """Inputs that pipelines processed; None without pipelines."""
    outputs: Steps | None = None
    """Inputs that records in outputs name, as the final reader found them; None unless it read all outputs to their
    ends.
    """
    in_results: Steps | None = None
    """Inputs that the results of outputs count, one row for each time; None if no output states a result."""
    committed_offsets: Steps | None = None
    pipelines: tuple[Pipeline, ...] = ()
    """The applications of the run, which may all work on this partition."""
    members: tuple[MemberStep, ...] = ()
    """What members of groups were given and committed for sure, in the order of its end. Of groups that a coordinator
    leads."""
    unknown_commits: tuple[MemberStep, ...] = ()
    """What they tried to commit, and nobody knows whether it was taken. Such a commit may still be taken later."""
    shares: tuple[ShareStep, ...] = ()
    """What members of share groups were given, and said of it, in order."""
    unordered: frozenset[int] = frozenset()
    """Processes whose operations overlap: which came first is not known."""
    settled: Settled = NOTHING_SETTLED
    """What other partitions prove of operations whose outcome is unknown."""
    elsewhere: Elsewhere = not_asked
    """Asked only for values that nobody sent here: it reads the histories of all other partitions."""

    def operation(self, rows: Sends | Steps, row: int) -> Operation:
        """The operation that a row is part of, by the name that it has in every partition."""
        return _operations(rows, row, self.processes)[0]

    @cached_property
    def _proven_elsewhere(self) -> Bools:
        """Which sends belong to operations that other partitions prove."""
        return _among(self.sends, self.sends.info, self.processes, self.settled.proven)

    @cached_property
    def committed(self) -> Bools:
        """Which sends are committed for sure: those that are ok, and those of operations whose outcome is unknown but
        of which an ok poll has returned a value (of a transaction, one at read_committed: the other level shows values
        of transactions that may never be committed).
        """
        sends = self.sends
        proven = sends.info & np.isin(sends.value, self.polls.value[self.polls.good])
        if self.uncommitted_readers and np.any(proven & (sends.transaction >= 0)):
            proven &= (sends.transaction < 0) | np.isin(sends.value, self.polls.value[self.polls.good & ~self.dirty])
        if self.settled.proven:
            proven |= self._proven_elsewhere
        rows = np.flatnonzero(sends.info)
        if proven.any() and len(rows) > 1:
            # One value that was seen proves its whole operation.
            keys = np.stack([sends.process[rows], sends.transaction[rows], sends.op[rows]], axis=1)
            keys[keys[:, 1] >= 0, 2] = 0  # the operation that a transaction is has many sends
            _, operation = np.unique(keys, axis=0, return_inverse=True)
            seen = np.bincount(operation.ravel(), weights=proven[rows]) > 0
            proven[rows] = seen[operation.ravel()]
        return sends.ok | proven

    @cached_property
    def dirty(self) -> Bools:
        """Which rows of polls were read at read_uncommitted."""
        return np.isin(self.polls.process, list(self.uncommitted_readers))

    @cached_property
    def read(self) -> Bools:
        """Which sends were returned by a poll of any outcome: a consumer was handed the value."""
        return np.isin(self.sends.value, self.polls.value)

    @cached_property
    def furthest(self) -> int | None:
        """The row of the ok poll that has come furthest; None if there was none."""
        rows = np.flatnonzero(self.polls.good & (self.polls.offset >= 0))
        return int(rows[np.argmax(self.polls.offset[rows])]) if len(rows) else None

    @property
    def furthest_offset(self) -> int:
        """The largest offset that an ok poll returned; -1 if there was none."""
        return NO_OFFSET if self.furthest is None else int(self.polls.offset[self.furthest])

    @cached_property
    def reading_order(self) -> tuple[Ints, Ints]:
        """The rows of polls by process and then in the order of its operations, and the index of each."""
        polls = self.polls
        rows = np.flatnonzero(polls.offset >= 0)
        rows = rows[np.argsort(polls.process[rows], kind="stable")]
        process, op = polls.process[rows], polls.op[rows]
        if np.any((process[1:] == process[:-1]) & (op[1:] < op[:-1])):  # histories are recorded in order: hardly ever
            rows = rows[np.lexsort((rows, op, process))]
        return rows, self.log.index_of(polls.offset[rows])

    @cached_property
    def log(self) -> ObservedLog:
        """The log: sends that are committed for sure and know their offset, and all polls. Records that are not ours
        are in it (they take up an offset) with the value NO_IDENTITY.
        """
        known = self.committed & (self.sends.offset >= 0)
        placed = self.polls.offset >= 0
        offset = np.concatenate([self.sends.offset[known], self.polls.offset[placed]])
        value = np.concatenate([self.sends.value[known], self.polls.value[placed]])
        order = np.argsort(offset, kind="stable")
        offset, value = offset[order], value[order]
        step = np.ones(len(offset), dtype=np.int64)
        step[1:] = offset[1:] != offset[:-1]
        return ObservedLog(offset=offset, value=value, index=np.cumsum(step) - 1)

    @cached_property
    def contested(self) -> Ints:
        """Offsets at which several values were seen, ascending."""
        offset, value = self.log.offset, self.log.value
        return np.unique(offset[1:][(offset[1:] == offset[:-1]) & (value[1:] != value[:-1])])

    @cached_property
    def places(self) -> Ints:
        """For each send that is committed for sure, the offset at which its value lies; -1 where that is not known."""
        sends, polls = self.sends, self.polls
        place = np.full(len(sends), NO_OFFSET, dtype=np.int64)
        read = polls.value >= 0
        value, first = np.unique(polls.value[read], return_index=True)
        offset = polls.offset[read][first]
        if len(value):
            at = np.minimum(np.searchsorted(value, sends.value), len(value) - 1)
            place = np.where(value[at] == sends.value, offset[at], NO_OFFSET)
        unread = (place < 0) & (sends.offset >= 0)
        place = np.where(unread & ~np.isin(sends.offset, self.contested), sends.offset, place)
        return np.where(self.committed & (sends.value >= 0), place, NO_OFFSET)


def _ints(table: pa.Table, name: str, missing: int = -1) -> Ints:
    column = table[name].combine_chunks()
    return np.asarray(pc.fill_null(column, pa.scalar(missing, column.type)).to_numpy(zero_copy_only=False), np.int64)


def _is(table: pa.Table, name: str, word: str) -> Bools:
    return np.asarray(pc.fill_null(pc.equal(table[name], word), False).to_numpy(), dtype=np.bool_)


def _is_false(table: pa.Table, name: str) -> Bools:
    return np.asarray(pc.fill_null(pc.invert(table[name]), False).to_numpy(), dtype=np.bool_)


def _codes(table: pa.Table, processes: pa.Array) -> Ints:
    codes = pc.index_in(table["process"], value_set=processes)
    return np.asarray(pc.fill_null(codes, -1).to_numpy(), dtype=np.int64)


def _errors(table: pa.Table) -> dict[int, str]:
    """By row, the name of the error that it ended with."""
    rows = np.flatnonzero(pc.is_valid(table["error_name"]).to_numpy())
    return dict(zip(rows.tolist(), table["error_name"].take(pa.array(rows)).to_pylist(), strict=True))


def _of(table: pa.Table, *kinds: str) -> pa.Table:
    return table.filter(pc.is_in(table["kind"], value_set=pa.array(kinds, pa.string())))


def _operations(rows: Sends | Steps, row: int, processes: tuple[str, ...]) -> tuple[Operation, ...]:
    """The names of the operation that a row is part of: its transaction, or else its record and its number."""
    process = processes[rows.process[row]]
    if rows.transaction[row] >= 0:
        return ((TRANSACTION, process, int(rows.transaction[row])),)
    value = identity_of(int(rows.value[row]))
    return (RECORD, value["producer"], value["sequence"]), (OPERATION, process, int(rows.op[row]))


def _among(rows: Sends | Steps, which: Bools, processes: tuple[str, ...], operations: Collection[Operation]) -> Bools:
    """Which of some rows are part of these operations."""
    found = np.zeros(len(rows), dtype=np.bool_)
    for row in np.flatnonzero(which).tolist() if operations else ():
        found[row] = any(name in operations for name in _operations(rows, row, processes))
    return found


def view_of(
    topic: str,
    partition: int,
    table: pa.Table,
    *,
    uncommitted_readers: Collection[str] = (),
    groups: Mapping[str, Membership] = NO_GROUPS,
    pipelines: tuple[Pipeline, ...] = (),
    readers_missing: bool = False,
    writers_missing: bool = False,
    torn: Collection[str] = (),
    endings: Endings | None = None,
    settled: Settled = NOTHING_SETTLED,
    elsewhere: Elsewhere = not_asked,
    outputs_read: bool = False,
    closed_ns: Mapping[str, int] = NEVER_CLOSED,
) -> PartitionView:
    """The view of one topic-partition's rows (evidence.history.read.PLAIN_SCHEMA), of all processes.

    `endings` says how transactions ended, one that is not among them being unknown; with None each row already has its
    transaction's outcome. `settled` is what other partitions prove of operations of unknown outcome. `outputs_read`:
    whether the final reader told what the run's outputs were made from. `closed_ns`: when processes ended properly.
    """
    sends, polls = _of(table, schema.SEND), _of(table, schema.POLL)
    reserves = _of(table, schema.RESERVE).to_pylist()
    names = sorted(name for name in pc.unique(table["process"]).to_pylist() if name is not None)
    processes = pa.array(names, pa.string())
    ok, fail = _is(sends, "outcome", schema.OK), _is(sends, "outcome", schema.FAIL)
    send_completed_ns = _ints(sends, "completed_ns")
    if endings is not None:
        ok, fail, send_completed_ns = _ended(sends, ok, fail, send_completed_ns, endings)
    changes = _of(table, schema.ASSIGN, schema.REVOKE)
    changed_by, changed_at = _codes(changes, processes), _ints(changes, "op")
    return PartitionView(
        topic=topic,
        partition=partition,
        processes=tuple(names),
        sends=Sends(
            value=value_of(_ints(sends, "producer"), _ints(sends, "sequence")),
            offset=_ints(sends, "offset"),
            ok=ok,
            fail=fail,
            info=~(ok | fail),
            acks=_ints(sends, "acks", -2),
            op=_ints(sends, "op"),
            transaction=_ints(sends, "transaction"),
            invoked_ns=_ints(sends, "invoked_ns"),
            completed_ns=send_completed_ns,
            process=_codes(sends, processes),
            errors=_errors(sends),
        ),
        polls=Polls(
            value=value_of(_ints(polls, "producer"), _ints(polls, "sequence")),
            offset=_ints(polls, "offset"),
            valid=~_is_false(polls, "valid"),
            good=_is(polls, "outcome", schema.OK),
            op=_ints(polls, "op"),
            transaction=_ints(polls, "transaction"),
            completed_ns=_ints(polls, "completed_ns"),
            process=_codes(polls, processes),
            invoked_ns=_ints(polls, "invoked_ns"),
        ),
        reservations=tuple(
            Reservation(
                producer=row["producer"], first=row["sequence"], count=row["count"], process=row["process"] or ""
            )
            for row in reserves
        ),
        final=_final_read(table),
        assignments={
            int(process): np.sort(changed_at[changed_by == process]) for process in np.unique(changed_by).tolist()
        },
        held=_held(changes, changed_by, changed_at),
        closed_ns=closed_ns,
        uncommitted_readers=frozenset(names.index(name) for name in uncommitted_readers if name in names),
        readers_missing=readers_missing,
        writers_missing=writers_missing,
        torn=frozenset(torn),
        ends=ends_of(table, uncommitted_readers),
        processed=settled_steps(_steps(_of(table, schema.PROCESSED), processes, endings), names, settled),
        outputs=None if not outputs_read else _steps(_of(table, schema.OUTPUT), processes, endings, none=False),
        in_results=_steps(_of(table, schema.IN_RESULT), processes, endings),
        committed_offsets=settled_steps(
            _steps(_of(table, schema.OFFSETS), processes, endings), names, settled.transactions
        ),
        pipelines=pipelines,
        members=member_steps(table, groups, endings) if groups else (),
        unknown_commits=unknown_commits(table, groups, endings) if groups else (),
        shares=share_steps(_of(table, *KINDS).to_pylist()),
        settled=settled,
        elsewhere=elsewhere,
    )


def _held(changes: pa.Table, process: Ints, op: Ints) -> dict[int, int]:
    """When each process was given a partition that it did not have to give back, from the rows of such changes."""
    given, done_ns = _is(changes, "kind", schema.ASSIGN), _ints(changes, "completed_ns")
    order = np.lexsort((op, process))
    last = order[np.append(np.diff(process[order]) != 0, True)] if len(order) else order
    return {int(process[row]): int(done_ns[row]) for row in last.tolist() if given[row] and done_ns[row] >= 0}


def closed_of(operations: pa.Table) -> dict[str, int]:
    """When each process ended properly, from the rows of no partition (evidence.history.read.History.operations)."""
    rows = _of(operations, schema.CLOSE).select(["process", "completed_ns"]).drop_null()
    return dict(zip(rows["process"].to_pylist(), rows["completed_ns"].to_pylist(), strict=True))


def member_steps(table: pa.Table, groups: Mapping[str, Membership], endings: Endings | None) -> tuple[MemberStep, ...]:
    """What members of groups were given, and committed for sure. `groups` names the group of each process that is in
    one.
    """
    rows = _of(table, schema.ASSIGN, schema.REVOKE, schema.OFFSETS)
    ok, _, completed_ns = _outcomes(rows, endings)
    steps = _member_steps(rows, groups, completed_ns, ok | ~_is(rows, "kind", schema.OFFSETS))
    return tuple(sorted(steps, key=lambda step: step.completed_ns))


def unknown_commits(
    table: pa.Table, groups: Mapping[str, Membership], endings: Endings | None
) -> tuple[MemberStep, ...]:
    """The commits of members of which nobody knows whether they were taken, nor when: the time of their completion is
    never. One that is not waited for has a row when it is sent, and another one when it is answered.
    """
    rows = _of(table, schema.OFFSETS)
    ok, fail, completed_ns = _outcomes(rows, endings)
    if not (left := ~(ok | fail)).any():
        return ()
    never = np.full_like(completed_ns, NEVER_NS)
    answered = {_sending(one) for one in _member_steps(rows, groups, never, ok | fail)}
    open_ones = _member_steps(rows, groups, never, left)
    return tuple(one for one in open_ones if _sending(one) not in answered)


def _sending(step: MemberStep) -> tuple[str, int, int]:
    """By what a commit's two rows are known for one: who sent it, the offset, and when."""
    return step.process, step.offset, step.invoked_ns


def _outcomes(rows: pa.Table, endings: Endings | None) -> tuple[Bools, Bools, Ints]:
    """Which rows ended well and which did not, and when."""
    ok, fail = _is(rows, "outcome", schema.OK), _is(rows, "outcome", schema.FAIL)
    completed_ns = _ints(rows, "completed_ns")
    return (ok, fail, completed_ns) if endings is None else _ended(rows, ok, fail, completed_ns, endings)


def _member_steps(
    rows: pa.Table, groups: Mapping[str, Membership], completed_ns: Ints, which: Bools
) -> Iterator[MemberStep]:
    """Some rows of members of groups as steps."""
    invoked_ns, offset, generation = _ints(rows, "invoked_ns"), _ints(rows, "offset"), _ints(rows, "count")
    names = zip(rows["process"].to_pylist(), rows["kind"].to_pylist(), strict=True)
    for row, (process, kind) in enumerate(names):
        if process in groups and which[row]:
            yield MemberStep(
                process=process,
                of=groups[process],
                kind=kind,
                invoked_ns=int(invoked_ns[row]),
                completed_ns=int(completed_ns[row]),
                offset=int(offset[row]),
                generation=int(generation[row]),
            )


def settled_steps(steps: Steps | None, names: Sequence[str], settled: Settled) -> Steps | None:
    """Steps with the outcomes that other partitions prove of their operations."""
    if steps is None or not settled:
        return steps
    unknown = ~(steps.ok | steps.fail)
    proven = _among(steps, unknown, tuple(names), settled.proven)
    absent = _among(steps, unknown, tuple(names), settled.absent)
    return replace(steps, ok=steps.ok | proven, fail=steps.fail | absent)


def _steps(table: pa.Table, processes: pa.Array, endings: Endings | None, *, none: bool = True) -> Steps | None:
    """The steps in some rows; None if there are no rows, unless it is known that there are none (`none` is false)."""
    if none and not len(table):
        return None
    ok, fail, completed_ns = _outcomes(table, endings)
    return Steps(
        offset=_ints(table, "offset"),
        value=value_of(_ints(table, "producer"), _ints(table, "sequence")),
        ok=ok,
        fail=fail,
        op=_ints(table, "op"),
        transaction=_ints(table, "transaction"),
        completed_ns=completed_ns,
        process=_codes(table, processes),
    )


def _ended(table: pa.Table, ok: Bools, fail: Bools, completed_ns: Ints, endings: Endings) -> tuple[Bools, Bools, Ints]:
    """`ok`, `fail` and `completed_ns` of rows, taking into account how their transactions ended."""
    transaction = _ints(table, "transaction")
    within = np.flatnonzero(transaction >= 0)
    ok, fail, completed_ns = ok.copy(), fail.copy(), completed_ns.copy()
    processes = table["process"].take(pa.array(within)).to_pylist()
    for row, process in zip(within.tolist(), processes, strict=True):
        ending = endings.get((process, int(transaction[row])), Ending(schema.INFO, NO_TIME))
        ok[row] &= ending.outcome == schema.OK
        fail[row] |= ending.outcome == schema.FAIL
        completed_ns[row] = max(int(completed_ns[row]), ending.completed_ns)
    return ok, fail, completed_ns


def endings_of(operations: pa.Table) -> dict[tuple[str, int], Ending]:
    """How each transaction ended, from the rows of no partition (evidence.history.read.History.operations).

    One success settles it: after a commit or an abort failed, the outcome is unknown until either succeeds.
    """
    endings: dict[tuple[str, int], Ending] = {}
    for row in _of(operations, schema.COMMIT, schema.ABORT).to_pylist():
        key = (row["process"], row["transaction"])
        if row["outcome"] == schema.OK:
            outcome = schema.OK if row["kind"] == schema.COMMIT else schema.FAIL
            endings[key] = Ending(outcome, row["completed_ns"] or NO_TIME)
        else:
            endings.setdefault(key, Ending(schema.INFO, NO_TIME))
    return endings


def outputs_read(operations: pa.Table) -> bool:
    """Whether the final reader has read all outputs to their ends, from the rows of no partition."""
    return len(_of(operations, schema.OUTPUT)) > 0


def ends_of(table: pa.Table, uncommitted_readers: Collection[str] = ()) -> tuple[EndAnswer, ...]:
    """The answers to clients that asked for the log's end, in the order of asking."""
    answers = [
        EndAnswer(
            offset=row["offset"],
            asked_ns=row["invoked_ns"],
            answered_ns=row["completed_ns"],
            process=row["process"],
            uncommitted=row["process"] in uncommitted_readers,
        )
        for row in _of(table, schema.END_OFFSETS).to_pylist()
        if None not in (row["offset"], row["invoked_ns"], row["completed_ns"])
    ]
    return tuple(sorted(answers, key=lambda answer: answer.asked_ns))


def _final_read(table: pa.Table) -> FinalReadEnd | None:
    """The completed final read whose end was asked for last; among equals, the one with the largest offset."""
    asked: dict[str, dict[int, int]] = {}
    reads: list[FinalReadEnd] = []
    for row in sorted(_of(table, schema.END_OFFSETS, schema.FINAL_READ).to_pylist(), key=_by_operation):
        if row["offset"] is None or row["outcome"] != schema.OK:
            continue
        ends = asked.setdefault(row["process"], {})
        if row["kind"] == schema.FINAL_READ:
            reads.append(FinalReadEnd(offset=row["offset"], asked_ns=ends.get(row["offset"], NEVER_NS)))
            ends.clear()
        elif row["invoked_ns"] is not None:
            ends.setdefault(row["offset"], row["invoked_ns"])
    return max(reads, key=lambda read: (read.asked_ns, read.offset), default=None)


def _by_operation(row: Mapping[str, Any]) -> tuple[int, bool]:
    """Operations in order, the answer with an end before the read that came to it."""
    return row["op"], row["kind"] == schema.FINAL_READ


def sender(view: PartitionView, row: int) -> dict[str, Any]:
    """A send as evidence: the record, who sent it when, with which acks, and the outcome."""
    sends = view.sends
    outcome = schema.OK if sends.ok[row] else schema.FAIL if sends.fail[row] else schema.INFO
    return {
        **identity_of(int(sends.value[row])),
        "offset": known(sends.offset[row]),
        "process": view.processes[sends.process[row]],
        "outcome": outcome,
        "acks": None if sends.acks[row] < -1 else int(sends.acks[row]),
        "invoked_ns": known(sends.invoked_ns[row]),
        "completed_ns": known(sends.completed_ns[row]),
    } | ({} if sends.transaction[row] < 0 else {"transaction": int(sends.transaction[row])})


def reader(view: PartitionView, row: int) -> dict[str, Any]:
    """A read as evidence: the record, who read it and when."""
    polls = view.polls
    return {
        **identity_of(int(polls.value[row])),
        "offset": known(polls.offset[row]),
        "process": view.processes[polls.process[row]],
        "completed_ns": known(polls.completed_ns[row]),
    }


def known(number: Any) -> int | None:
    """A number from a column in which -1 stands for "not known"."""
    return None if number < 0 else int(number)
