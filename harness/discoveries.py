"""What was found here that no document says: the registry behind `kafka-chaos findings` and docs/findings.md.

Each entry is the smallest sequence that shows it, as a scenario and a case, with the releases that it was run on. It
has a control arm: the same sequence with one change, in which it must not be seen. It says where it stands
(harness/bugs.py: Status), with the day on which that was looked up, and who found it if that was somebody else.

What is an exhibit of the museum has its bug's words; of the others they stand here. Called discoveries in the code, for
`findings` are what the analysis of a run finds (evidence/findings.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evidence.errors import UsageError
from evidence.run import DEFAULT_CASE
from harness.bugs import BugStatus, Status

if TYPE_CHECKING:
    from harness.scenario import Scenario

LOOKED_UP: Final = "2026-11-23"
NEWEST: Final = "4.4.0"
"""The newest release of Kafka whose code was looked at."""
NOT_FOUND: Final = (
    "pull requests and issues of apache/kafka on GitHub, and commits to 2026-08-22: not found; JIRA itself cannot "
    "be searched from here"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A scenario and a case, the versions that it was run on, and what it shows."""

    scenario: str
    case: str = DEFAULT_CASE
    on: tuple[str, ...]
    shows: str

    def command(self) -> str:
        """What runs it, on the newest of its versions."""
        case = "" if self.case == DEFAULT_CASE else f" --case {self.case}"
        return f"kafka-chaos run {self.scenario}{case} --version {self.on[-1]}"

    def as_json(self) -> dict[str, Any]:
        """For `kafka-chaos findings --json`."""
        about = {"scenario": self.scenario, "case": self.case, "on": list(self.on)}
        return about | {"shows": self.shows, "command": self.command()}


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is told of a discovery that is no exhibit: the words of Bug."""

    title: str
    whom: str
    releases: str
    status: Status
    code: str
    credit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """Something that no document says."""

    id: str
    least: str
    """The smallest sequence, in a sentence or two."""
    seen: Arm
    control: Arm
    about: About | None = None
    """None: the words are those of the exhibit's bug."""
    beside: str = ""
    """What else was tried, and what it showed."""


DISCOVERIES: Final[tuple[Discovery, ...]] = (
    Discovery(
        id="deleted-records-return",
        least="One broker, one partition: ten records, DeleteRecords to 5, both nodes are stopped, the broker is "
        "started while its controller is down and gives up, and then both are started.",
        seen=Arm(
            scenario="museum-deleted-records-return",
            case="one-broker",
            on=("3.9.2-kraft", "4.3.1", "4.4.0"),
            shows="the five records that were deleted are read again",
        ),
        control=Arm(
            scenario="museum-deleted-records-return",
            case="controllers-first",
            on=("4.3.1",),
            shows="the controller is started first, and what was deleted stays deleted",
        ),
    ),
    Discovery(
        id="poll-commits-ahead",
        least="One partition with inputs, one Java consumer with group.protocol=consumer, enable.auto.commit=true and "
        "auto.commit.interval.ms=1, which polls five records at a time and is killed after its second poll.",
        seen=Arm(
            scenario="museum-poll-commits-ahead",
            on=("4.2.0", "4.2.2", "4.3.1", "4.4.0"),
            shows="the committed offset is behind the five records of the second poll, and nobody ever processes them",
        ),
        control=Arm(
            scenario="museum-poll-commits-ahead",
            on=("4.0.2", "4.1.2"),
            shows="ten times the committed offset is before the records of the second poll, and all are processed",
        ),
        beside="It is a race of two threads of the client: the sequence is tried until it is seen, ten times at most. "
        "On 2026-11-27 it was seen in 9 of 19 tries on 4.2.2, 4.3.1 and 4.4.0, and in none of 30 on 4.0.2 and 4.1.2.",
    ),
    Discovery(
        id="malformed-checkpoint",
        least="A broker is down, one bit makes a letter of a digit in its replication-offset-checkpoint, and it is "
        "started.",
        seen=Arm(
            scenario="museum-malformed-checkpoint",
            on=("3.1.0", "3.9.2-zk", "4.3.1", "4.4.0"),
            shows="it is up and registered, and none of its replicas there is in an ISR",
        ),
        control=Arm(
            scenario="museum-malformed-checkpoint",
            case="cut",
            on=("4.3.1", "4.4.0"),
            shows="with a file that lacks its last lines the same broker treats the directory as broken, and exits "
            "(KIP-112)",
        ),
        beside="Before 3.1 the same letter ends the broker (run once on 2.8.2; a run on 1.1.1 is not on record); "
        "before 1.0 there are no broken directories, and its replica stays out as well (offset-checkpoints, case "
        "flipped-bit, once on 0.10.2.2). A leader with such a file is named as leader and refuses every record (case "
        "leader).",
    ),
    Discovery(
        id="follower-waits-for-its-old-time",
        least="Three replicas. A follower's wall clock is set eight days ahead, and it is cut from the leader until a "
        "fetch has failed. Its clock is set right, and the network is whole.",
        seen=Arm(
            scenario="clock-step",
            case="follower-failed-ahead",
            on=("2.2.2", "2.2.2-pinned", "2.8.2", "3.9.2-kraft", "4.3.1", "4.4.0"),
            shows="it fetches nothing and is out of the ISR until it is started anew; nothing is logged",
        ),
        control=Arm(
            scenario="clock-step",
            case="follower-fetched-ahead",
            on=("2.8.2", "3.9.2-kraft", "4.3.1", "4.4.0"),
            shows="without a failed fetch it stays in the ISR when its clock is set right",
        ),
        about=About(
            title="a follower whose clock was ahead when a fetch failed fetches nothing until its clock is there again",
            whom="clusters where the clock of a broker is stepped, to a wrong time or back to the right one",
            releases="by the code from 0.9 on; run on 2.2.2, 2.8.2, 3.9.2, 4.3.1 and 4.4.0. Before 2.0 the sequence "
            "cannot be run, as a clock that is ahead ends all sessions (ZOOKEEPER-1366). Before 2.5 no fetch has to "
            "fail: records that are fetched while the clock is ahead are enough (KAFKA-9039)",
            status=Status(
                state=BugStatus.OPEN,
                told="A pull request of 2020 would have made the wait go by a monotonic clock. It was closed, and "
                "4.4.0 has the wall clock. No ticket says what happens to replicas.",
                sources=("apache/kafka pull request 8517", NOT_FOUND),
                on="2026-11-27",
                looked_at=NEWEST,
            ),
            code="PartitionFetchState.isDelayed compares dueMs with Time.SYSTEM.milliseconds; before 4.0 DelayedItem.",
            credit="Lucas Bradstreet called the clock of DelayedItem dangerous in 2020.",
        ),
        beside="Found by a run of coordinator-ahead on 2.2.2-pinned in which a fetch failed at the moment of the step: "
        "a request that is sent just before seems to have timed out (InFlightRequests.hasExpiredRequest).",
    ),
    Discovery(
        id="duplicate-id-counts-as-replica",
        least="Two replicas and min.insync.replicas=2. The follower is cut from its leader and leaves the ISR. A "
        "second broker with its node.id and an empty disk is started. It fetches, and is cut from the controller. The "
        "leader dies.",
        seen=Arm(
            scenario="duplicate-id-counts-as-replica",
            on=("3.9.2-kraft", "4.0.2", "4.1.2", "4.3.1", "4.4.0"),
            shows="records that were acknowledged with acks=all and min.insync.replicas=2 are lost",
        ),
        control=Arm(
            scenario="duplicate-id-counts-as-replica",
            case="without-double",
            on=("3.9.2-kraft", "4.0.2", "4.1.2", "4.3.1", "4.4.0"),
            shows="without the second broker nothing is acknowledged with acks=all until the cut ends, and nothing "
            "lost",
        ),
        about=About(
            title="a second broker with a follower's node.id counts as that follower, and acknowledged records are "
            "lost",
            whom="KRaft clusters in which two machines have one node.id, when the real one cannot reach a leader",
            releases="KRaft; run on 3.9.2, 4.0.2, 4.1.2, 4.3.1 and 4.4.0",
            status=Status(
                state=BugStatus.OPEN,
                told="A fetch with broker epoch -1 is let pass (storedBrokerEpoch == -1, for brokers that do not "
                "know of epochs), in 4.4.0 too. KIP-903 has that escape, and does not say this.",
                sources=(NOT_FOUND, "KIP-903"),
                on=LOOKED_UP,
                looked_at=NEWEST,
            ),
            code="Replica.updateFetchStateOrThrow, Partition.isBrokerEpochIsrEligible.",
        ),
    ),
    Discovery(
        id="duplicate-takes-directories",
        least="A second broker with the node.id of one that lives is started.",
        seen=Arm(
            scenario="duplicate-broker-id",
            on=("3.9.2-kraft", "4.1.2", "4.3.1", "4.4.0"),
            shows="the live broker loses the partitions that it leads, again and again, until the second one gives up",
        ),
        control=Arm(
            scenario="duplicate-broker-id",
            on=("0.8.2.2", "0.10.2.2", "0.11.0.3", "2.2.2", "2.2.2-pinned", "2.8.2", "3.9.2-zk"),
            shows="with ZooKeeper the second one exits, and the first is undisturbed",
        ),
        about=About(
            title="a second broker with a live one's node.id takes its leaderships before it is refused",
            whom="KRaft clusters in which somebody starts a broker with a node.id that is in use",
            releases="KRaft; run on 3.9.2, 4.1.2 and 4.3.1",
            status=Status(
                state=BugStatus.OPEN,
                told="AssignReplicasToDirs of a broker that is not registered is taken for the first one's word.",
                sources=(NOT_FOUND, "KIP-858"),
                on=LOOKED_UP,
                looked_at="4.3.1",
            ),
            code="AssignmentsManager sends before the broker is registered; ReplicationControlManager takes the "
            "directory for one that the first broker does not have, and elects another leader.",
        ),
    ),
    Discovery(
        id="observers-spin",
        least="Brokers and one controller. The controller is killed, and four seconds pass.",
        seen=Arm(
            scenario="museum-observers-spin",
            on=("4.2.0", "4.3.1", "4.4.0"),
            shows="the raft-io thread of each broker keeps a processor busy until the controller is back",
        ),
        control=Arm(
            scenario="museum-observers-spin",
            on=("3.9.2-kraft", "4.1.2"),
            shows="before 4.2 the same thread asks again each 20 ms, and is hardly busy",
        ),
        beside="The threads are busy too when the controller stands still (case frozen). When one broker alone is cut "
        "from the controller, the thread of that broker is busy, and those of the others are not (case cut).",
    ),
    Discovery(
        id="librdkafka-timed-out-batch",
        least="enable.idempotence=true. Two records in one batch, the second some seconds younger. The answer is "
        "late: message.timeout.ms of the first is over, and of the second is not.",
        seen=Arm(
            scenario="timed-out-batch",
            case="librdkafka",
            on=("4.0.2", "4.3.1", "4.4.0"),
            shows="the second record is acknowledged once and is in the log twice, under two epochs of its producer",
        ),
        control=Arm(
            scenario="timed-out-batch",
            case="java",
            on=("2.2.2", "4.3.1", "4.4.0"),
            shows="Java's producer gives the batch up as a whole, and it is there once; so it is with librdkafka if "
            "the answer comes in time (case in-time)",
        ),
        about=About(
            title="an idempotent producer of librdkafka writes records twice after a time-out of older ones",
            whom="idempotent producers of librdkafka, when a partition is away for message.timeout.ms",
            releases="librdkafka 1.5.0 to 2.16.0 (5 of 5 each on 1.5.0, 1.7.0, 1.9.2, 2.1.1, 2.3.0 and 2.16.0, "
            "against its own mock broker)",
            status=Status(
                state=BugStatus.OPEN,
                told="INTRODUCTION.md promises that a message is written once, and tells of time-outs only that "
                "what was given up may be written. A maintainer says in issue 4953 that a time-out can lead to "
                "duplicates on other partitions; that it does so in the same batch was not found.",
                sources=(
                    "librdkafka, INTRODUCTION.md: Idempotent Producer",
                    "librdkafka issue 4953, pull request 4972 (open)",
                    "issues and pull requests of confluentinc/librdkafka, source to 2026-07-02: not found",
                ),
                on=LOOKED_UP,
                looked_at="librdkafka 2.15.0",
            ),
            code="rd_kafka_ProduceRequest takes the time-out of a request from its first message; "
            "rd_kafka_toppar_producer_serve begins a new epoch when messages have timed out "
            "(rd_kafka_idemp_drain_epoch_bump), and sends again what was in that request and may be written.",
        ),
        beside="It fits the 18 cells of the audit's matrix (17 without runs of modified trees) in which librdkafka "
        "with idempotence wrote 218 to 702 records twice: in all of them the partition was away, or had no more "
        "replicas than must be in sync, for the 30 s of message.timeout.ms, and what had waited went out in batches "
        "whose first records had no time left. (The files of these runs were not kept.) The four cells (two) with "
        "one such record have five requests in flight: that is librdkafka issue 4953, OUT_OF_ORDER_SEQUENCE_NUMBER. "
        "`python -m benchmarks.librdkafka` shows it in seconds, without brokers.",
    ),
    Discovery(
        id="librdkafka-one-in-flight",
        least="max.in.flight=1, without idempotence. The first record is refused (NOT_ENOUGH_REPLICAS) and its "
        "answer is late; the second is sent meanwhile.",
        seen=Arm(
            scenario="refused-then-accepted",
            case="one-in-flight",
            on=("0.10.2.2", "1.1.1", "2.2.2-pinned", "2.8.2", "3.9.2-zk", "4.3.1", "4.4.0"),
            shows="the second record is written before the first",
        ),
        control=Arm(
            scenario="refused-then-accepted",
            case="java-one-in-flight",
            on=("0.10.2.2", "0.11.0.3", "2.2.2-pinned", "2.8.2", "3.9.2-zk", "4.1.2", "4.3.1", "4.4.0"),
            shows="Java's producer sends the second when the first is settled: they are in their order",
        ),
        about=About(
            title="librdkafka reorders records with one request in flight",
            whom="producers of librdkafka that have max.in.flight=1 for the sake of order, and no idempotence",
            releases="librdkafka 1.7.0 to 2.16.0 (5 of 5 each on 1.7.0, 1.9.2, 2.1.1, 2.3.0 and 2.16.0, against its "
            "own mock broker)",
            status=Status(
                state=BugStatus.OPEN,
                told="Issue 1092 (out-of-order with retries > 0 is possible despite max.inflight=1) was closed as "
                "fixed in 2018. This way is left: the next request is made while one is in flight, and goes out "
                "before what is tried again. INTRODUCTION.md tells of reordering for max.in.flight > 1; "
                "CONFIGURATION.md says that retries may reorder unless enable.idempotence is set.",
                sources=("librdkafka issue 1092", "librdkafka, INTRODUCTION.md: Reordering; CONFIGURATION.md: retries"),
                on=LOOKED_UP,
                looked_at="librdkafka 2.15.0",
            ),
            code="rd_kafka_toppar_producer_serve makes a request as soon as rd_kafka_broker_outbufs_space allows "
            "one that is not sent (queue.buffering.backpressure.threshold), whatever is in flight.",
        ),
        beside="It fits the 54 cells of the audit's matrix (52 without runs of modified trees) in which librdkafka "
        "reordered with one request in flight: all are without idempotence and with retries. (Of Java's producer "
        "there is no such cell.) On brokers the audit's runs of refused-then-accepted showed it 5 of 5 on each of "
        "2.8.2, 3.9.2-zk and 3.9.2-pinned, and 4 of 4 on each of 0.10.2.2 and 4.3.1 (and in one more of a modified "
        "tree on each). With idempotence the order was kept, 5 of 5 on each release of librdkafka.",
    ),
    Discovery(
        id="librdkafka-waits-for-dead-coordinator",
        least="An application consumes, transforms and produces in transactions, with its offsets in them. The group's "
        "coordinator is killed while a transaction is open. This one is committed, and the next has outputs.",
        seen=Arm(
            scenario="exactly-once-transactions",
            case="group-coordinator",
            on=("1.1.1", "2.8.2", "3.9.2-kraft", "3.9.2-zk", "4.3.1", "4.4.0"),
            shows="send_offsets_to_transaction, called with a time-out of 30 s, does not return in 45 s; the process "
            "has to be killed, and the next one processes each input once",
        ),
        control=Arm(
            scenario="exactly-once-transactions",
            case="java-group-coordinator",
            on=("2.2.2", "2.8.2", "3.9.2-zk", "4.1.2", "4.3.1", "4.4.0"),
            shows="Java's producer and consumer find the new coordinator, and the same process continues",
        ),
        about=About(
            title="librdkafka waits without limit for a group's coordinator that has died",
            whom="applications of librdkafka with offsets in transactions, when the coordinator of their group dies",
            releases="librdkafka 2.10.0 and later (a broker that is not in the metadata any more is removed); run with "
            "2.16.0",
            status=Status(
                state=BugStatus.OPEN,
                told="Issue 5511 tells of the broker that is removed and stays in the cache of coordinators, issue "
                "5456 of the time-out that nobody looks at. Pull request 5512, for the first, is open.",
                sources=("librdkafka issue 5511, pull request 5512", "librdkafka issue 5456"),
                on="2026-11-24",
                looked_at="librdkafka 2.15.0",
            ),
            code="rd_kafka_coord_req_fsm finds the removed broker in rk_coord_cache, waits for it to come up, and is "
            "called by no state change of it any more; creq_ts_timeout is set and never read.",
            credit="Both issues were reported by morgando.",
        ),
        beside="If the transaction's coordinator dies and another broker coordinates the group, librdkafka continues "
        "(case transaction-coordinator). Its own log, which the runs keep (logs/processor-1.stderr), has the wait: "
        "'Decommissioning this broker', then the call with 'API timeout 30000', then 'AddOffsetsToTxn response … "
        "NO_ERROR', and no return of the call. In one run, of a modified tree, the broker was started again, and the "
        "call did not return in the 90 s after that either.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """Something that was thought to have been seen, and is not on record."""

    what: str
    tried: str
    """What was looked at and run."""
    scenarios: tuple[str, ...]
    on: str
    """Of these on this version no run is on record that shows it."""


TAKEN_BACK: Final[tuple[TakenBack, ...]] = (
    TakenBack(
        what="A leader on 3.9.2 with ZooKeeper that never changes an ISR again after a takeover of the controller.",
        tried="No run on record shows it. In every run on 3.9.2-zk in which a controller took over "
        "(controller-failover, zombie-controller, controller-isolated and offline-leader-election; one of them looked "
        "for it on purpose) every ISR was whole in the end. The runs that it was told of were not kept. Up to 3.0 "
        "there is such a leader (KAFKA-14010), and museum-isr-change-lost makes one each time. On 3.9.2 its leader "
        "asks again.",
        scenarios=(
            "controller-failover",
            "zombie-controller",
            "controller-isolated",
            "offline-leader-election",
            "museum-isr-change-lost",
        ),
        on="3.9.2-zk",
    ),
)


def described(discovery: Discovery, scenarios: Mapping[str, Scenario]) -> dict[str, Any]:
    """One, with its words, as plain values. Raises UsageError for one without words of its own that is no exhibit."""
    exhibit = scenarios[discovery.seen.scenario].exhibit
    about = discovery.about or (exhibit.bug if exhibit else None)
    if about is None:
        raise UsageError(f"{discovery.id}: it has no words of its own, and {discovery.seen.scenario} is no exhibit")
    return {
        "id": discovery.id,
        "title": about.title,
        "whom": about.whom,
        "releases": about.releases,
        "least": discovery.least,
        "seen": discovery.seen.as_json(),
        "control": discovery.control.as_json(),
        "status": about.status.as_json() if about.status else None,
        "code": about.code,
        "credit": about.credit,
        "beside": discovery.beside,
    }


def every(scenarios: Mapping[str, Scenario]) -> list[dict[str, Any]]:
    """All of them, as plain values, in the order in which they are told."""
    return [described(one, scenarios) for one in DISCOVERIES]
