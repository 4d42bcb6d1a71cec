"""What the brokers logged: the whole files, and lines of interest as events (truncations, leadership, ISRs, elections).

Messages changed from release to release, so an event has several patterns; a line that fits none is still in the file.
The texts are those of Kafka's sources from 0.8.2 to 4.3 (`Log`, `UnifiedLog`, `LogLoader`, `Partition`,
`ReplicaManager`, `ReplicaFetcherThread`, `AbstractFetcherThread`, `PartitionLeaderSelector`,
`ReplicationControlManager`), checked against lines of real brokers.

What each event means, and what it does not:

- `truncate`: the log itself says that it truncates to this offset. Since 0.11 it says so only if that cuts something;
  before, also when the log ends there already (the line that says "no effect" takes the one before it back).
- `high-watermark`: a follower goes by its own high watermark (KIP-101 speaks of nothing else), or the high watermark
  with which a replica was loaded. Its steps, at TRACE, are events of their own (`offset_lines`).
- `epoch-request`: what the leader answered when asked where an epoch ends, and what the follower made of it.
- `epoch-answer`: at TRACE, where a broker says that an epoch ends, when it is asked; only what differs from its last
  answer. `offset` is the answer and `leader_epoch` the epoch that was asked for.
- `become-leader`, `become-follower`: from the state change log; with the log end offset from where releases print it.
- `shrink-isr`, `expand-isr`: the leader's view. From 2.7 on, an ISR that grows is only told of when it has grown.
- `recovery`: a start without the marker of a clean stop, and what was cut from a torn end.
- `logs-loaded`: a broker that starts has read all of its logs, and how long that took.
- `election`: the controller elected a leader, and by which strategy, where its lines say so: the partition was offline,
  the preferred replica was asked for, the leader was about to stop. KRaft tells of elections at DEBUG only.
- `unclean-election`: the controller elected a replica outside the ISR. From 1.1 to 3.x with ZooKeeper nothing says so;
  the partition's states do.
- `stale-controller`: a broker refused a request because its controller's epoch was old.
- `controller-request`: from 2.4 on a broker began to do what a controller asked it to; the line has the controller's
  epoch. Up to 1.1 `become-leader` and `become-follower` have it.
- `controller-refused`, `controller-found`: with ZooKeeper and at DEBUG, a broker tried to become the controller and was
  refused, because another had made /controller, or heard before it tried that another had.
- `controller-moved`: with ZooKeeper, a controller gave up what it was about, because a newer controller has written the
  partition's state.
- `controller-fenced`: ZooKeeper refused a controller's write, because /controller_epoch has changed (2.1 and later).
- `stale-leader-epoch`: a broker refused a controller's request, or a leader a follower's fetch, of an old leader epoch.
- `id-taken`: a broker cannot register, because its id is registered, still or by another. It waits (0.8 for its own old
  registration; KRaft for any), or exits.
- `retention`: records are deleted because they are older than the retention time that the broker goes by.
- `unreadable`: a broker was sent what is no request, and closed the connection. The harness does so to learn the time
  by its clock (harness/faults/clock.py).
- `migrated`: a KRaft controller has taken over ZooKeeper's metadata (KIP-866).
- `fatal`: a broker that exits, for instance rather than truncate records that the new leader lacks (0.8.2 to 2.0.0).

Docker's time stamp in front of each line is the engine's clock, the same machine's as ours, so lines can be put among
everything else that happened. A busy engine reads a line late (30 ms were seen), which would put a truncation after
what followed from it. So where the broker's own stamp is earlier, that one counts. If it is older than any delay, the
broker's clock is wrong, and it does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import structs

from evidence.events import Log, ReplicaOffset, Software
from evidence.stamps import own_ns
from harness.observers.offset_lines import offsets_in

if TYPE_CHECKING:
    from pathlib import Path

    from evidence.events import LogDetail, LogKind
    from evidence.rundir import RunDir
    from evidence.timeline import Timeline

SAME_NS: Final = 1_000_000_000
"""Lines within this time that say the same of the same partition become one event."""
LATE_NS: Final = 60_000_000_000
"""Docker reads no line later than that: a broker whose stamp is older has a wrong clock."""
UNREADABLE: Final = "Unexpected error from "
"""What a broker says of a connection on which it was sent something that is no request."""

_VERSION: Final = re.compile(rb"Kafka version ?: ?([^\s(]+)")
_STAMP: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z (.*)", re.DOTALL)
_TP: Final = r"(?:\[(?P<topic>[\w.-]+),(?P<partition>\d+)\]|(?P<topic2>[\w.-]+)-(?P<partition2>\d+))"
_LOG: Final = rf"\[(?:Unified)?Log(?:Loader)? partition={_TP}[,\]][^\]]*\] "
_PARTITION: Final = rf"\[?Partition {_TP} (?:on broker \d+: |broker=\d+\] )"
_N: Final = r"(?P<offset>-?\d+)"
_EPOCH: Final = r"(?P<epoch>\d+)"
_LEADER: Final = r"(?P<leader>\d+)"
_ISR: Final = r"(?P<isr>\d+(?:,\d+)*)"
_STATE: Final = rf"\w+ to OnlinePartition with state LeaderAndIsr\(leader={_LEADER}, leaderEpoch={_EPOCH},"
"""A partition's state with a leader, as controllers from 1.1 on log it."""

_Pattern = tuple[str, str, re.Pattern[str]]


def _pattern(event: str, words: str, pattern: str) -> _Pattern:
    """What a line means that matches `pattern`: "kind" or "kind/detail" (evidence.events.LogDetail). `words` are in
    every such line, and are looked for first: most lines, above all at TRACE, have none of them.
    """
    return event, words, re.compile(pattern)


_PATTERNS: Final[tuple[_Pattern, ...]] = tuple(
    _pattern(*row)
    for row in (
        # The log truncates: up to 0.11, and from 1.0 on.
        ("truncate", "Truncating log ", rf"Truncating log {_TP} to offset {_N}"),
        ("truncate", "] Truncating to offset ", rf"{_LOG}Truncating to offset {_N}"),
        ("truncate", "Truncate fully and reset", rf"offset for partition {_TP} from \d+ to .* start offset {_N}"),
        # A follower goes by its high watermark: KIP-101's fallback, 2.0's warning, pinned protocols, missing epochs.
        (
            "high-watermark/falls-back",
            " to local high watermark ",
            rf"Truncating partition {_TP} to local high watermark {_N}",
        ),
        (
            "high-watermark/falls-back",
            " due to local high watermark ",
            rf"Truncating partition {_TP} with .* watermark {_N}",
        ),
        (
            "high-watermark/falls-back",
            " will be used for truncation",
            rf"unknown offset in {_TP}\. High watermark {_N} will",
        ),
        ("high-watermark/below", " below high watermark", rf"Truncating {_TP} to offset {_N} below high watermark"),
        ("high-watermark/loaded", "Log loaded for partition ", rf"partition {_TP} with initial high watermark {_N}"),
        # Where an epoch ends: 0.11 to 1.x, 2.x, and truncation on fetch since 2.7.
        (
            "epoch-request/nothing-to-cut",
            "leader replied with an offset ",
            rf"an offset {_N} >= the follower's .* \d+ in {_TP}",
        ),
        (
            "epoch-request/unknown-epoch",
            "The initial fetch offset ",
            rf"unknown offset in {_TP}\. The initial fetch offset {_N}",
        ),
        (
            "epoch-request/unknown-epoch",
            "unknown to the replica for ",
            rf"to the replica for {_TP}\. Will truncate to {_N}",
        ),
        ("epoch-request", "tracked epochs for ", rf"tracked epochs for {_TP}\. The leader's offset only {_N}"),
        (
            "epoch-answer",
            "Processed offset for epoch request ",
            rf"for partition {_TP} epoch:{_EPOCH} and returning offset {_N} from",
        ),
        (
            "epoch-answer",
            "Processed end offset request ",
            rf"\[LeaderEpochCache {_TP}\] .* for epoch {_EPOCH} and returning epoch -?\d+ with end offset {_N} from",
        ),
        ("epoch-request", " due to leader epoch and offset ", rf"Truncating partition {_TP} with \w+\(offset={_N}"),
        # Leadership: a line of its own with the log end offset (0.11 to 2.3 for leaders, 2.4 on for both), or the
        # state change log.
        (
            "become-leader",
            " starts at Leader Epoch ",
            rf"(?:^|[\]:] ){_TP} starts at Leader Epoch {_EPOCH} from offset {_N}",
        ),
        ("become-leader", " starts at leader epoch ", rf"Leader {_TP} .*?at leader epoch {_EPOCH} from offset {_N}"),
        (
            "become-follower",
            " starts at leader epoch ",
            rf"Follower {_TP} .*?at leader epoch {_EPOCH} from offset {_N}",
        ),
        ("become-leader", "become-leader transition", rf"ompleted LeaderAndIsr .* transition for partition {_TP}"),
        ("become-follower", "become-follower transition", rf"ompleted LeaderAndIsr .* transition for partition {_TP}"),
        # Up to 2.3 a follower's log end offset is where it begins to fetch; from 1.1 to 2.3 nothing else tells of it.
        ("become-follower/fetches", "Added fetcher for partitions List(", rf"\[{_TP}, initOffset {_N} to broker"),
        ("become-follower/fetches", "Added fetcher to broker ", rf"{_TP} -> \(offset={_N}, leaderEpoch={_EPOCH}\)"),
        # In-sync replicas: in the message's own words up to 0.10, later only in the prefix.
        ("shrink-isr", "Shrinking ISR for partition ", rf"Shrinking ISR for partition {_TP} from [\d,]+ to {_ISR}"),
        ("expand-isr", "Expanding ISR for partition ", rf"Expanding ISR for partition {_TP} from [\d,]+ to {_ISR}"),
        ("shrink-isr", "Shrinking ISR from ", rf"{_PARTITION}Shrinking ISR from [\d,]+ to {_ISR}"),
        ("expand-isr", "Expanding ISR from ", rf"{_PARTITION}Expanding ISR from [\d,]+ to {_ISR}"),
        ("isr-updated", "ISR updated to ", rf"{_PARTITION}ISR updated to {_ISR}"),
        ("unclean-election", "No broker in ISR is alive for ", rf"is alive for {_TP}\. Elect leader {_LEADER}"),
        ("unclean-election", "UNCLEAN partition change for ", rf"UNCLEAN partition change for {_TP} "),
        # Elections: each strategy's own class up to 1.0; changes of a partition's state; KRaft at DEBUG. What called
        # for one is said before, by itself.
        (
            "election/offline",
            "Selected new leader and ISR ",
            rf'"leader":{_LEADER},"leader_epoch":{_EPOCH},.* for offline partition {_TP}',
        ),
        (
            "election/preferred",
            " completed preferred replica leader election",
            rf"Partition {_TP} completed .* New leader is {_LEADER}",
        ),
        (
            "election/controlled-shutdown",
            "[ControlledShutdownLeaderSelector]: ",
            rf"Partition {_TP} : current leader = \d+, new leader = {_LEADER}",
        ),
        ("election/offline", " from OfflinePartition to OnlinePartition with state ", rf"tion {_TP} from {_STATE}"),
        ("election", " from OnlinePartition to OnlinePartition with state ", rf"tion {_TP} from {_STATE}"),
        ("first-leader", " from NewPartition to OnlinePartition with state ", rf"tion {_TP} from {_STATE}"),
        (
            "election",
            "] partition change for ",
            rf"change for {_TP} with topic ID [\w-]+: "
            rf"(?:.*leader: -?\d+ -> {_LEADER}, leaderEpoch: \d+ -> {_EPOCH})?",
        ),
        ("cause/preferred", " leader election (PREFERRED) for partitions ", rf"(?:partitions |,){_TP}"),
        ("cause/preferred", "Starting preferred replica leader election for partitions ", rf"(?:partitions |,){_TP}"),
        ("cause/offline", "] handleBrokerFenced: changing partition(s): ", rf"(?:: |, ){_TP}"),
        ("cause/controlled-shutdown", "] enterControlledShutdown[", rf"(?:: |, ){_TP}"),
        ("cause/controlled-shutdown", "] Shutting down broker ", rf"\[Controller .*\] Shutting down broker {_LEADER}"),
        (
            "stale-controller",
            " controller epoch is ",
            r"(?:epoch \d+ is old|old controller .*)\. Latest known controller",
        ),
        (
            "controller-request",
            "Stopped fetchers as part of ",
            r"as part of .*request .*from controller \d+ epoch \d+ .* for \d+ partitions",
        ),
        ("controller-refused", " instead of broker ", r"was elected as (?:leader|controller) instead of broker \d+"),
        ("controller-found", "INFO New leader is ", r"INFO New leader is \d+ "),
        ("controller-found", "stopping the election process", r"elected as (?:leader|the controller), so stopping"),
        (
            "stale-leader-epoch",
            " has an older epoch (",
            rf"Partition {_TP} has an older epoch \({_EPOCH}\) than the current leader",
        ),
        (
            "stale-leader-epoch",
            " since its associated leader epoch ",
            rf"for partition {_TP} .*associated leader epoch {_EPOCH} is (?:old|smaller than)\D+(?P<current>\d+)",
        ),
        ("controller-moved", " written by another controller", r"(?:path was already|isr path) written by another"),
        ("controller-fenced", "Controller epoch zkVersion check fails", r"check fails"),
        ("recovery", "Recovering unflushed segment ", rf"{_LOG}Recovering unflushed segment {_N}"),
        ("recovery", "Recovering unflushed segment ", rf"Recovering unflushed segment {_N} in log {_TP}"),
        ("recovery", "Corruption found in segment ", rf"{_LOG}Corruption found in .*truncating to offset {_N}"),
        ("recovery", "Corruption found in segment ", rf"segment .* of log {_TP}, truncating to offset {_N}"),
        ("recovery", " since no clean shutdown file was found", r"ecover"),
        ("logs-loaded", " logs in ", r"Loaded \d+ logs in \d+ ?ms"),
        ("logs-loaded", "Logs loading complete in ", r"complete in \d+ ms"),
        ("retention", "retention time ", rf"{_LOG}.* due to (?:log )?retention time \d+ ?ms breach"),
        ("unreadable", UNREADABLE, r"Unexpected error from \S+?(?: \([^)]*\))?; closing connection"),
        ("migrated", "Completed migration of metadata from ", r"from Zoo[kK]eeper to KRaft"),
        ("fatal", "log truncation is not allowed for ", rf"for (?:topic|partition) {_TP}.* offset {_N} is less than"),
        ("fatal", "log truncation is not allowed for ", r"not allowed"),
        ("id-taken", "A broker is already registered on the path", r"already"),
        ("id-taken", " ephemeral at /brokers/ids/", r"Error while creating .*node already exists"),
        ("id-taken", " ephemeral node [", r"at /brokers/ids/\d+ a while back in a different session"),
        ("id-taken", " DUPLICATE_BROKER_REGISTRATION", r"Unable to register"),
        ("session-lost", "KeeperException$SessionExpiredException: ", r"KeeperErrorCode = Session expired"),
        ("fatal", "unable to register with the controller quorum", r"Shutting down"),
        ("fatal", "Shutdown broker because all log dirs in ", r"have failed"),
        ("fatal", "Shutdown broker because the metadata log dir ", r"has failed"),
        ("fatal", "InconsistentBrokerIdException: ", r"onfigured broker\.?[iI]d \d+ doesn't match stored"),
        ("fatal", "Stored node id ", r"Stored node id \d+ doesn't match previous node id"),
        ("fatal", "Fatal error during ", r"Fatal error during \w+ startup"),
        ("fatal", " have failed", r"hutdown broker because all log dirs in .* have failed"),
        ("fatal", "unrecoverable I/O error", r"Halting due to unrecoverable I/O error"),
        ("fatal", "Error writing to highwatermark file", r"Error writing to highwatermark file"),
        ("fatal", "Disk error while replicating data", r"Disk error while replicating data"),
        ("fatal", "Encountered fatal fault", r"fatal"),
        ("fatal", "Halting broker because dir ", r"is offline"),
        ("fatal", "java.lang.OutOfMemoryError", r"OutOfMemoryError"),
        # Not events, but needed to understand them.
        ("no-effect", " has no effect as the largest offset", rf"Truncating {_TP} to {_N} has no effect"),
        ("request", "eceived LeaderAndIsr request ", rf"[lL]eaderEpoch[=:]{_EPOCH}.* for partition {_TP}"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEvent:
    """One telling line. `wall_ns` is when it was said; topic, partition, offset and leader epoch where named."""

    node: str
    wall_ns: int
    event: str
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    leader_epoch: int | None = None
    leader: int | None = None
    isr: tuple[int, ...] | None = None
    detail: str | None = None
    line: str


def parse_stamp(line: str) -> tuple[int, str] | None:
    """Wall nanoseconds and the rest of a line that Docker stamped; None for any other line."""
    found = _STAMP.match(line)
    if found is None:
        return None
    try:
        seconds = int(datetime.fromisoformat(found[1]).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None
    return seconds * 1_000_000_000 + int((found[2] or "0").ljust(9, "0")), found[3]


def said_at_ns(stamped_ns: int, line: str) -> int:
    """When a broker said a line: its own stamp, of milliseconds, or Docker's where it has none, the earlier one, or one
    that is older than any delay.
    """
    own = own_ns(line)
    return own if own is not None and 0 <= stamped_ns - own <= LATE_NS else stamped_ns


def unreadable(line: str) -> bool:
    """Whether a broker tells of something that is no request."""
    return UNREADABLE in line


def recognise(text: str) -> tuple[str, list[Mapping[str, Any]]] | None:
    """The event that a log message states, and what it names for each partition; None for most messages."""
    for event, words, pattern in _PATTERNS:
        if words in text:
            named: list[Mapping[str, Any]] = []
            for found in pattern.finditer(text):
                groups = found.groupdict()
                current = groups.get("current")  # an epoch that is repeated is refused as well, and not stale
                if groups not in named and (current is None or int(groups["epoch"]) < int(current)):
                    named.append(groups)
            if named:
                return event, named
    return None


def stopped_fetching(t: str) -> str:
    """A pattern for what a broker logs (at TRACE, before 2.1) when it has stopped fetching `t` ("t-0") to lead it."""
    return rf"stopped fetchers as part of become-leader request .* for partition {re.escape(t)}\b"


def end_of_epoch(t: str, offset: int) -> str:
    """A pattern for what a follower logs (at TRACE) when it knows that its last epoch of `t` ("t-0") ends at `offset`.

    Up to 2.6 it asks by a request of its own (OffsetsForLeaderEpoch) and logs the answer. From protocol 2.7 on every
    fetch carries the last epoch it has (KIP-595), and the leader answers with a place to truncate to only if there is
    one: what shows is the fetch from `offset`, the very end of its log, with that epoch.
    """
    t = re.escape(t)
    return (
        rf"leader replied with an offset {offset} .* in {t}\. No truncation needed"
        rf"|{t}(?: -> |=)\S*EpochEndOffset\W.*endOffset={offset}\b"
        rf"|Sending fetch request.*{t}=PartitionData\([^)]*fetchOffset={offset},[^)]*lastFetchedEpoch=Optional\[\d+\]"
    )


class LogLineReader:
    """Reads the lines of one node, in order: some lines only make sense with the one before."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._held: LogEvent | None = None
        """A truncation that the next line may take back."""
        self._epochs: dict[tuple[str | None, int | None], int] = {}
        """The leader epoch that each partition was last told by the controller."""
        self._shrunk: dict[tuple[str | None, int | None], int] = {}
        """When each partition's ISR was last about to shrink."""
        self._became: dict[tuple[str, str | None, int | None], LogEvent] = {}
        self._led: dict[tuple[str | None, int | None], int | None] = {}
        """Of a controller: who led each partition, as far as it said."""
        self._causes: dict[tuple[str | None, int | None], str | None] = {}
        """What was said to call for an election, until there was one."""
        self._stopping: int | None = None
        """The broker that the controller last said is about to stop."""
        self._answered: dict[tuple[str | None, int | None], tuple[int | None, int | None]] = {}
        """Of each partition, the last epoch that was asked for and the answer."""

    def read(self, raw: str) -> Iterator[LogEvent]:
        """The events that are certain after this line."""
        found = recognise(raw)
        stamped = None if found is None else parse_stamp(raw)
        if found is None or stamped is None:
            return
        kind, partitions = found
        for named in partitions:
            yield from self._take(_event(self._node, said_at_ns(*stamped), kind, named, stamped[1]))

    def _take(self, event: LogEvent) -> Iterator[LogEvent]:
        if event.event == "no-effect":
            held = self._held
            if held is not None and (held.topic, held.partition, held.offset) == _where(event):
                self._held = None
            return
        yield from self.rest()
        if event.event == "truncate":
            self._held = event
        else:
            yield from self._understand(event)

    def rest(self) -> Iterator[LogEvent]:
        """The events that were held back; at the end of the file everything is certain."""
        held, self._held = self._held, None
        if held is not None:
            yield held

    def _understand(self, event: LogEvent) -> Iterator[LogEvent]:
        key = (event.topic, event.partition)
        if event.event == "request":
            if event.leader_epoch is not None:
                self._epochs[key] = event.leader_epoch
            return
        if event.event == "isr-updated":
            if event.wall_ns - self._shrunk.pop(key, -SAME_NS) >= SAME_NS:
                yield replace(event, event="expand-isr")
            return
        if event.event in ("cause", "first-leader", "election"):
            yield from self._elected(event)
            return
        if event.event == "epoch-answer":
            answer = (event.leader_epoch, event.offset)
            if self._answered.get(key) != answer:
                self._answered[key] = answer
                yield event
            return
        if event.event == "shrink-isr":
            self._shrunk[key] = event.wall_ns
        if event.event in ("become-leader", "become-follower"):
            if event.leader_epoch is None:
                event = replace(event, leader_epoch=self._epochs.get(key))
            before = self._became.get((event.event, *key))
            self._became[event.event, *key] = event
            if before is not None and before.offset is not None and event.offset is None:
                same = event.leader_epoch in (None, before.leader_epoch)
                if same and event.wall_ns - before.wall_ns < SAME_NS:
                    return
        yield event

    def _elected(self, event: LogEvent) -> Iterator[LogEvent]:
        """An election with its cause, if any was said before it."""
        key = (event.topic, event.partition)
        if event.event == "cause":
            self._causes[key] = event.detail
            if event.topic is None:
                self._stopping = event.leader
            return
        led, cause = self._led.get(key), self._causes.pop(key, None)
        if event.leader is not None:
            self._led[key] = event.leader
        if event.event == "election" and event.leader is not None:
            stopping = "controlled-shutdown" if led is not None and led == self._stopping else None
            yield replace(event, detail=event.detail or cause or stopping)


def _event(node: str, wall_ns: int, kind: str, named: Mapping[str, Any], line: str) -> LogEvent:
    event, _, detail = kind.partition("/")
    return LogEvent(
        node=node,
        wall_ns=wall_ns,
        event=event,
        detail=detail or None,
        topic=named.get("topic") or named.get("topic2"),
        partition=_number(named.get("partition") or named.get("partition2")),
        offset=_number(named.get("offset")),
        leader_epoch=_number(named.get("epoch")),
        leader=_number(named.get("leader")),
        isr=tuple(int(broker) for broker in named["isr"].split(",")) if named.get("isr") else None,
        line=line,
    )


def _where(event: LogEvent) -> tuple[str | None, int | None, int | None]:
    return event.topic, event.partition, event.offset


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def parse_lines(lines: Iterable[str], node: str) -> Iterator[LogEvent]:
    """The telling lines among those of one node, in order."""
    reader = LogLineReader(node)
    for line in lines:
        yield from reader.read(line.rstrip("\n"))
    yield from reader.rest()


def parse(path: Path, node: str) -> Iterator[LogEvent]:
    """The telling lines of one node's log file, in order. Bytes that are no text are replaced, never fatal."""
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        yield from parse_lines(file, node)


def collect(containers: Mapping[str, Any], run_dir: RunDir) -> None:
    """Write what every node printed, dead or alive, into the run directory, as it comes and however much it is; behind
    what an earlier container of the node had printed.

    A container that is gone leaves a line saying so.
    """
    from docker.errors import APIError

    run_dir.logs.mkdir(parents=True, exist_ok=True)
    for node, container in containers.items():
        with run_dir.log(node).open("ab") as file:
            try:
                for chunk in container.logs(stream=True, follow=False, timestamps=True):
                    file.write(chunk)
            except APIError as error:
                file.write(f"(the engine has no log of {node}: {error.explanation or error})\n".encode())


def versions_in(path: Path) -> list[str]:
    """The releases of Kafka that a node's log names as its own, in order; none before 0.9, whose brokers do not say."""
    with path.open("rb") as file:
        found = [_VERSION.search(line) for line in file if b"Kafka version" in line]
    return list(dict.fromkeys(match[1].decode(errors="replace") for match in found if match))


def parse_offsets(lines: Iterable[str], node: str) -> Iterator[ReplicaOffset]:
    """What the lines of one node say of replicas' offsets, in order; without a monotonic time."""
    for raw in lines:
        for said in offsets_in(raw, node):
            stamped = parse_stamp(raw.rstrip("\n"))
            if stamped is not None:
                yield ReplicaOffset(
                    wall_ns=said_at_ns(*stamped),
                    node=node,
                    what=said.what,
                    topic=said.topic,
                    partition=said.partition,
                    offset=said.offset,
                    replica=said.replica,
                    high_watermark=said.high_watermark,
                    line=stamped[1],
                )


def append_to(timeline: Timeline, run_dir: RunDir, *, wall_to_monotonic_ns: int) -> None:
    """Add the telling lines of every node to the timeline; `wall_to_monotonic_ns` is what to add to a wall time."""
    for path in sorted(run_dir.logs.glob("*.log")):
        for version in versions_in(path):
            timeline.append(Software(source="broker-log", node=path.stem, version=version))
        for event in parse(path, path.stem):
            timeline.append(
                Log(
                    monotonic_ns=event.wall_ns + wall_to_monotonic_ns,
                    wall_ns=event.wall_ns,
                    node=event.node,
                    event=cast("LogKind", event.event),
                    topic=event.topic,
                    partition=event.partition,
                    offset=event.offset,
                    leader_epoch=event.leader_epoch,
                    leader=event.leader,
                    isr=event.isr,
                    detail=cast("LogDetail | None", event.detail),
                    line=event.line,
                )
            )
        with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            for said in parse_offsets(file, path.stem):
                timeline.append(structs.replace(said, monotonic_ns=said.wall_ns + wall_to_monotonic_ns))
