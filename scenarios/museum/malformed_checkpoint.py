"""With a letter in a checkpoint's number a broker stays up and serves none of its replicas (no JIRA).

replication-offset-checkpoint has a line for each replica of a log directory, with its high watermark. According to
KIP-112, a broker that cannot read the file treats the directory as broken. It takes the directory offline, reports it
to the controller, and exits if it has no other. Releases 1.0 to 3.0 do so: a malformed number is an IOException like
any other (CheckpointFile.scala: "Malformed line"). In 3.1.0 another class took over. It treats the two lines of the
head like that, and does not catch the NumberFormatException of a replica's line (CheckpointFile.java,
CheckpointReadBuffer.read). No caller expects that exception, so the directory does not count as broken.

The broker stays up, registered and unfenced. With KRaft it logs the error for each partition that it should follow
there, and follows none (ReplicaManager.applyLocalFollowersDelta). It creates none of those that it should lead, because
the first error ends the whole metadata change (applyLocalLeadersDelta, which expects KafkaStorageException alone). With
ZooKeeper it ends the whole LeaderAndIsr request. The whole directory has one file, so every replica there gets the same
error.

One bit is enough: here the last digit of the file becomes a letter while the broker is down. A follower does not return
to the ISR until somebody removes the file (default). A replica that should lead is elected, and refuses every record
(`leader`). With `cut` the file lacks its last lines, which is an IOException on every release: the broker exits, as
KIP-112 says. The sequence is that of `offset-checkpoints`, `flipped-bit`.
"""

from harness.words import (
    Basis,
    Border,
    Bug,
    BugStatus,
    Case,
    ClusterPlan,
    Documented,
    Exhibit,
    Run,
    Side,
    Status,
    ranges,
    scenario,
)
from scenarios.replication.offset_checkpoints import DIRECTORY_FAILED, ENDS_ITSELF, cut_file, flipped_bit

MALFORMED_CHECKPOINT = Bug(
    id="malformed-checkpoint",
    title="with a letter in a number of replication-offset-checkpoint a broker stays up and serves none of its "
    "replicas",
    touches="a damaged checkpoint file",
    whom="brokers whose disk, or an editor, changed a byte of that file",
    since=Border(
        "3.1.0",
        "apache/kafka#11060",
        Side("3.0.2", "CheckpointFile.scala turns NumberFormatException into IOException, for each line"),
        Side("3.1.0", "CheckpointFile.java does so for the two lines of its head alone"),
    ),
    fixed=(),
    status=Status(
        state=BugStatus.OPEN,
        told="It came with 923bc2e9f78 (pull request 11060, 2021), and CheckpointFile is the same in 4.4.0 and in the "
        "source of 2026-08-22. No JIRA and no pull request was found; JIRA itself cannot be searched from here.",
        sources=("pull requests and issues of apache/kafka on GitHub, and commits to 2026-08-22: not found",),
        on="2026-11-23",
        looked_at="4.4.0",
    ),
    code="CheckpointFile.CheckpointReadBuffer.read (server-common): toInt turns a NumberFormatException into an "
    "IOException for the version and the number of lines; formatter.fromString, which reads the lines, does not. "
    "CheckpointFileWithFailureHandler.read catches IOException alone, so LogDirFailureChannel gets no report.",
    log_patterns=("NumberFormatException", "Unable to start fetching t-0", "Error applying topics delta", "For input"),
)
REFUSAL_LIMIT_S = 60.0
NOT_CAUGHT = "CheckpointFile.CheckpointReadBuffer.read (3.1.0 to 4.4.0); KIP-112 says otherwise"
ENDS = Documented(
    on=MALFORMED_CHECKPOINT.unaffected,
    sentence=ENDS_ITSELF,
    source="KIP-112",
    basis=Basis.KIP,
)
GIVES_UP = {"message.timeout.ms": "15000"}
"""Clients take the refusal for a change of leaders, and ask again until then."""


def leader_cannot_read(run: Run) -> None:
    """The only replica is killed, and finds a letter in a number: it should lead, and does not."""
    t = run.partition()
    run.send(t, 3)
    leader = run.leader_of(t)
    run.wait_high_watermark(t, 3, [leader])
    run.kill(leader)
    run.flip_checkpoint(leader)
    if MALFORMED_CHECKPOINT.affected.holds(run.version):
        run.start(leader)
        run.wait_log_line(leader, "NumberFormatException", "that it cannot read the file")
        run.wait_leader(t, leader)
        answer = run.send_async(t).wait(REFUSAL_LIMIT_S)
        run.note(f"the leader's answer: {answer.error_name or answer.outcome}")
        run.kill(leader)
    else:
        run.start_early(leader)
        run.expect_exit(leader, DIRECTORY_FAILED)
    run.remove_checkpoint(leader)
    run.start(leader)
    run.wait_leader(t, leader)
    run.send(t)


scenario(
    name="museum-malformed-checkpoint",
    claim="""A broker whose file of high watermarks has a letter in a number stays up and registered, and serves none of
        the replicas of that log directory. Before 3.1 it treats the directory as broken, as KIP-112 says.""",
    source="KIP-112; found here, no JIRA found (it came with apache/kafka pull request 11060)",
    operator="""If a broker is up and in no ISR, look for NumberFormatException in its log. Stop it, remove
        replication-offset-checkpoint from that log directory, and start it: the broker learns high watermarks from the
        leaders again. OfflineLogDirectoryCount does not show this.""",
    exhibit=Exhibit(bug=MALFORMED_CHECKPOINT, affected=("3.1.0", "3.9.2-zk", "4.3.1", "4.4.0"), fixed=("2.8.2",)),
    applies=ranges.LOG_DIRECTORIES_FAIL,
    cluster=ClusterPlan(),
    cases={
        "default": Case(
            steps=flipped_bit,
            documented=[
                Documented(
                    on=MALFORMED_CHECKPOINT.affected,
                    claims=["unreadable-checkpoint-keeps-replica-out"],
                    sentence="It runs and is registered, and its replica is out of the ISR until the file is removed.",
                    source=NOT_CAUGHT,
                    basis=Basis.SOURCE,
                ),
                ENDS,
            ],
        ),
        "leader": Case(
            steps=leader_cannot_read,
            replicas=((1,),),
            client_settings=GIVES_UP,
            documented=[
                Documented(
                    on=MALFORMED_CHECKPOINT.affected,
                    claims=["unreadable-checkpoint-makes-leader-refuse"],
                    sentence="It is elected leader, and refuses every record until the file is removed.",
                    source=NOT_CAUGHT,
                    basis=Basis.SOURCE,
                ),
                ENDS,
            ],
        ),
        "cut": Case(
            steps=cut_file,
            documented=[
                Documented(
                    sentence=f"The file lacks its last lines. {ENDS_ITSELF}",
                    source="KIP-112",
                    basis=Basis.KIP,
                )
            ],
        ),
    },
)
