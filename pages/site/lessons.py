"""The moving pictures of Learn replication, one for each chapter: documented mechanisms, frame by frame.

Records are letters; a capital one was written by the next leader. `problems` (pages/site/moving.py) holds each frame to
what can be. Which release does what is documented by the KIPs that captions name, and shown by the chapter's runs.
"""

from __future__ import annotations

from typing import Final

from pages.site.moving import DrawnReplica, Frame, Moving


def _leader(name: str, log: str, hw: int | None = None, epoch: int = 0, unsure: int | None = None) -> DrawnReplica:
    return DrawnReplica(name, f"leader, epoch {epoch}", log, hw, unsure)


def _follower(
    name: str, log: str, hw: int | None = None, what: str = "follower", unsure: int | None = None
) -> DrawnReplica:
    return DrawnReplica(name, what, log, hw, unsure)


def _down(name: str, log: str, what: str = "down: killed", unsure: int | None = None) -> DrawnReplica:
    return DrawnReplica(name, what, log, None, unsure)


ONE, TWO, THREE = "broker-1", "broker-2", "broker-3"

WATERMARK: Final = Moving(
    "high-watermark",
    "A record is appended by the leader, fetched by the follower, and comes under the leader's high "
    "watermark, then under "
    "the follower's",
    (
        Frame(
            "Both replicas hold a, b and c. All three are committed: the high watermark (HW) is 3, at the "
            "end of the log.",
            (_leader(ONE, "abc", 3), _follower(TWO, "abc", 3)),
        ),
        Frame(
            "The leader appends d. Its log ends at 4; the high watermark stays at 3. No consumer is given "
            "d, and acks=all "
            "waits.",
            (_leader(ONE, "abcd", 3), _follower(TWO, "abc", 3)),
        ),
        Frame(
            "The follower's fetch from offset 3 brings d. The leader does not know yet that it arrived.",
            (_leader(ONE, "abcd", 3), _follower(TWO, "abcd", 3, "follower: got d")),
        ),
        Frame(
            "The follower fetches from offset 4. That tells the leader: the follower has d. The high "
            "watermark rises to 4; d "
            "is committed, acknowledged, and given to consumers.",
            (_leader(ONE, "abcd", 4), _follower(TWO, "abcd", 3, "follower: fetches from 4")),
        ),
        Frame(
            "The answer to that fetch carries the new high watermark. Only now does the follower know that "
            "d is committed.",
            (_leader(ONE, "abcd", 4), _follower(TWO, "abcd", 4)),
        ),
        Frame(
            "The next record takes the same steps: first the leader's log end …",
            (_leader(ONE, "abcde", 4), _follower(TWO, "abcd", 4)),
        ),
        Frame(
            "… then the follower's log end, …",
            (_leader(ONE, "abcde", 4), _follower(TWO, "abcde", 4, "follower: got e")),
        ),
        Frame(
            "… then the leader's high watermark, …",
            (_leader(ONE, "abcde", 5), _follower(TWO, "abcde", 4, "follower: fetches from 5")),
        ),
        Frame(
            "… and last the follower's, one fetch later. Until that fetch is answered, the follower's high "
            "watermark is old.",
            (_leader(ONE, "abcde", 5), _follower(TWO, "abcde", 5)),
        ),
    ),
    plot=True,
)

TRUNCATION: Final = Moving(
    "truncation",
    "Two leaders die in a row; a follower that truncated to its own high watermark is elected, and a record is lost",
    (
        Frame(
            "broker-1 leads, and appends x. No follower has x yet, and x is not acknowledged.",
            (_leader(ONE, "abcx", 3, unsure=3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3)),
        ),
        Frame(
            "broker-1 dies. broker-2 leads, and gives the offset of x to D.",
            (_down(ONE, "abcx", unsure=3), _leader(TWO, "abcD", 4, epoch=1), _follower(THREE, "abcD", 4)),
        ),
        Frame(
            "broker-1 returns. At offset 3 it has x, its leader has D. It removes x and fetches D. "
            "Nothing is lost: x was never committed.",
            (
                _follower(ONE, "abcD", 4, "follower: truncated x"),
                _leader(TWO, "abcD", 4, epoch=1),
                _follower(THREE, "abcD", 4),
            ),
        ),
        Frame(
            "Where it goes wrong, before 0.11: d is on all three replicas, and acknowledged with "
            "acks=all. The followers do not know yet that it is "
            "committed: their high watermark is 3.",
            (_leader(ONE, "abcd", 4), _follower(TWO, "abcd", 3), _follower(THREE, "abcd", 3)),
        ),
        Frame(
            "The leader dies.",
            (_down(ONE, "abcd"), _follower(TWO, "abcd", 3), _follower(THREE, "abcd", 3)),
        ),
        Frame(
            "broker-2 is elected. broker-3 has a new leader, whose log may lack what broker-3 has beyond "
            "the high watermark. "
            "Before 0.11 it truncates there, and would fetch d again.",
            (
                _down(ONE, "abcd"),
                _leader(TWO, "abcd", 3, epoch=1),
                _follower(THREE, "abc", 3, "follower: truncates to 3"),
            ),
        ),
        Frame(
            "broker-2 dies before broker-3 has fetched d. "
            "(In the scenario double-failover it is dead when it is elected.)",
            (_down(ONE, "abcd"), _down(TWO, "abcd"), _follower(THREE, "abc", 3, "follower, in the ISR")),
        ),
        Frame(
            "A truncation does not change the ISR: broker-3 is still in it, and is elected. The election "
            "is clean, and d is "
            "lost.",
            (_down(ONE, "abcd"), _down(TWO, "abcd"), _leader(THREE, "abc", 3, epoch=2)),
            lost="d",
        ),
        Frame(
            "E takes d's offset. The others return, must agree with their leader, and remove d.",
            (
                _follower(ONE, "abcE", 3, "follower: truncated"),
                _follower(TWO, "abcE", 3, "follower: truncated"),
                _leader(THREE, "abcE", 4, epoch=2),
            ),
            lost="d",
        ),
        Frame(
            "The same moment since 0.11 (KIP-101). Each replica keeps the offset at which each leader "
            "epoch began. If broker-2 is alive it answers that epoch 0 ended at 4 (from 2.7 on in the answer to "
            "a fetch). If it is dead, as in double-failover, nobody answers. broker-3 truncates nothing in both "
            "cases, …",
            (
                _down(ONE, "abcd"),
                _leader(TWO, "abcd", 3, epoch=1),
                _follower(THREE, "abcd", 3, "follower: epoch 0 ends at 4"),
            ),
        ),
        Frame(
            "… and when broker-2 dies too, broker-3 leads with d.",
            (_down(ONE, "abcd"), _down(TWO, "abcd"), _leader(THREE, "abcd", 3, epoch=2)),
        ),
    ),
)

IN_SYNC: Final = Moving(
    "in-sync",
    "A follower stops, leaves the ISR after replica.lag.time.max.ms, and returns when it has caught up",
    (
        Frame(
            "The ISR is 1, 2, 3. acks=all waits for all three.",
            (_leader(ONE, "abc", 3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3)),
        ),
        Frame(
            "broker-3 stops fetching. d is on two replicas, and the high watermark does not move: acks=all waits.",
            (_leader(ONE, "abcd", 3), _follower(TWO, "abcd", 3), _follower(THREE, "abc", 3, "follower: stands still")),
        ),
        Frame(
            "After replica.lag.time.max.ms the leader asks for an ISR of 1, 2. The high watermark rises to 4, d is "
            "acknowledged.",
            (_leader(ONE, "abcd", 4), _follower(TWO, "abcd", 4), _follower(THREE, "abc", 3, "out of the ISR")),
        ),
        Frame(
            "Writes continue. With min.insync.replicas=2 one more loss from the ISR would stop acks=all.",
            (_leader(ONE, "abcdef", 6), _follower(TWO, "abcdef", 6), _follower(THREE, "abc", 3, "out of the ISR")),
        ),
        Frame(
            "broker-3 is back, and fetches what it lacks.",
            (_leader(ONE, "abcdef", 6), _follower(TWO, "abcdef", 6), _follower(THREE, "abcde", 5, "out: catches up")),
        ),
        Frame(
            "It has reached the leader's high watermark: the leader takes it back into the ISR.",
            (
                _leader(ONE, "abcdef", 6),
                _follower(TWO, "abcdef", 6),
                _follower(THREE, "abcdef", 6, "follower, in the ISR"),
            ),
        ),
    ),
)

CONTROLLER: Final = Moving(
    "controller",
    "A leader dies; nobody leads until its session has ended; then the controller elects another replica",
    (
        Frame(
            "broker-1 leads. It keeps a session with ZooKeeper, or with the KRaft controller, alive.",
            (_leader(ONE, "abc", 3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3)),
        ),
        Frame(
            "broker-1 is killed. Its session still runs, so the controller still names it as the leader. Writes wait.",
            (_down(ONE, "abc", "down: named as leader"), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3)),
        ),
        Frame(
            "The session ends. The controller elects the next replica of the ISR that is alive, in leader epoch 1.",
            (_down(ONE, "abc", "down: session over"), _leader(TWO, "abc", 3, epoch=1), _follower(THREE, "abc", 3)),
        ),
        Frame(
            "Producers ask who leads, and writes continue. The ISR is 2, 3.",
            (_down(ONE, "abc", "down: session over"), _leader(TWO, "abcD", 4, epoch=1), _follower(THREE, "abcD", 4)),
        ),
        Frame(
            "broker-1 returns as a follower, fetches D, and is in the ISR again.",
            (_follower(ONE, "abcD", 4), _leader(TWO, "abcD", 4, epoch=1), _follower(THREE, "abcD", 4)),
        ),
    ),
)

PLACEMENT: Final = Moving(
    "placement",
    "A leader is restarted cleanly; a record acknowledged with acks=1 that its followers had not fetched is lost",
    (
        Frame(
            "broker-1 leads. Its producer writes with acks=1.",
            (_leader(ONE, "abc", 3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3)),
        ),
        Frame(
            "broker-1 appends d, and acknowledges it by itself. At this moment it receives SIGTERM.",
            (_leader(ONE, "abcd", 3, unsure=3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3)),
        ),
        Frame(
            "A clean stop moves leadership first, in milliseconds. broker-2 had not fetched d.",
            (
                _follower(ONE, "abcd", 3, "follower: stopping", unsure=3),
                _leader(TWO, "abc", 3, epoch=1),
                _follower(THREE, "abc", 3),
            ),
            lost="d",
        ),
        Frame(
            "broker-1 returns, asks where its epoch ended, and truncates d.",
            (
                _follower(ONE, "abcE", 4, "follower: truncated"),
                _leader(TWO, "abcE", 4, epoch=1),
                _follower(THREE, "abcE", 4),
            ),
            lost="d",
        ),
        Frame(
            "With acks=all d would not have been acknowledged. The producer sends it again, to broker-2.",
            (_follower(ONE, "abcd", 4), _leader(TWO, "abcd", 4, epoch=1), _follower(THREE, "abcd", 4)),
        ),
    ),
)

BROKERS: Final = Moving(
    "brokers",
    "A leader freezes, is replaced, wakes up, and acknowledges a record that is then truncated",
    (
        Frame(
            "broker-1 leads.",
            (_leader(ONE, "abc", 3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3)),
        ),
        Frame(
            "broker-1 freezes, for instance in a long garbage collection. Its session expires during the freeze.",
            (_down(ONE, "abc", "down: frozen"), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3)),
        ),
        Frame(
            "broker-2 is elected in epoch 1, and takes D.",
            (_down(ONE, "abc", "down: frozen"), _leader(TWO, "abcD", 4, epoch=1), _follower(THREE, "abcD", 4)),
        ),
        Frame(
            "broker-1 wakes up and believes that it still leads. A producer that has not asked since sends "
            "x with acks=1: it "
            "is acknowledged.",
            (_leader(ONE, "abcx", 3, epoch=0, unsure=3), _leader(TWO, "abcD", 4, epoch=1), _follower(THREE, "abcD", 4)),
        ),
        Frame(
            "broker-1 learns of epoch 1. It becomes a follower, truncates x, and fetches D.",
            (
                _follower(ONE, "abcD", 4, "follower: truncated"),
                _leader(TWO, "abcD", 4, epoch=1),
                _follower(THREE, "abcD", 4),
            ),
            lost="x",
        ),
        Frame(
            "With acks=all x waits for followers that fetch from broker-2 now. It is never acknowledged; "
            "the producer sends it "
            "again, to broker-2.",
            (_follower(ONE, "abcDx", 5), _leader(TWO, "abcDx", 5, epoch=1), _follower(THREE, "abcDx", 5)),
        ),
    ),
)

PARTITIONS: Final = Moving(
    "partitions",
    "A leader is cut off from the cluster and acknowledges records that are truncated when the network is back",
    (
        Frame(
            "broker-1 leads. The network cuts it off from the other brokers and from the controller, not "
            "from its clients.",
            (_leader(ONE, "abc", 3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3)),
        ),
        Frame(
            "It cannot change the ISR. acks=all waits; acks=1 is acknowledged: x and y are on this broker alone.",
            (_leader(ONE, "abcxy", 3, unsure=3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3)),
        ),
        Frame(
            "Its session ends. The side with the controller elects broker-2, with the ISR 2, 3.",
            (_leader(ONE, "abcxy", 3, unsure=3), _leader(TWO, "abc", 3, epoch=1), _follower(THREE, "abc", 3)),
        ),
        Frame(
            "Both write. Only one side can commit: the one that can change the ISR.",
            (_leader(ONE, "abcxyz", 3, unsure=3), _leader(TWO, "abcD", 4, epoch=1), _follower(THREE, "abcD", 4)),
        ),
        Frame(
            "The network is back. broker-1 learns of epoch 1, truncates what it acknowledged alone, and fetches D.",
            (
                _follower(ONE, "abcD", 4, "follower: truncated"),
                _leader(TWO, "abcD", 4, epoch=1),
                _follower(THREE, "abcD", 4),
            ),
            lost="xyz",
        ),
    ),
)

PRODUCERS: Final = Moving(
    "producers",
    "The leader dies after it acknowledged a record with acks=1, and again before it acknowledged one with acks=all",
    (
        Frame(
            "acks=1: the leader appends d and acknowledges it at once.",
            (_leader(ONE, "abcd", 3, unsure=3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3)),
        ),
        Frame(
            "It dies before a follower has fetched d.",
            (_down(ONE, "abcd", unsure=3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3)),
        ),
        Frame(
            "broker-2 leads. An acknowledged record is lost, and no client gets an error.",
            (_down(ONE, "abcd"), _leader(TWO, "abc", 3, epoch=1), _follower(THREE, "abc", 3)),
            lost="d",
        ),
        Frame(
            "acks=all: the leader appends d and waits. The producer has no acknowledgement.",
            (_leader(ONE, "abcd", 3, unsure=3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3)),
        ),
        Frame(
            "It dies. broker-2 leads without d, and the producer sends d again.",
            (_down(ONE, "abcd", unsure=3), _leader(TWO, "abcd", 3, epoch=1), _follower(THREE, "abc", 3)),
        ),
        Frame(
            "d is on every in-sync replica. Now it is acknowledged. With idempotence a second copy would be refused.",
            (_down(ONE, "abcd", unsure=3), _leader(TWO, "abcd", 4, epoch=1), _follower(THREE, "abcd", 4)),
        ),
    ),
)

DURABILITY: Final = Moving(
    "durability",
    "Records in the page cache survive killed processes, and not a power loss of all replicas",
    (
        Frame(
            "a and b are on disks. c and d (dashed) are in the memory of all three machines, and "
            "acknowledged with acks=all.",
            (
                _leader(ONE, "abcd", 4, unsure=2),
                _follower(TWO, "abcd", 4, unsure=2),
                _follower(THREE, "abcd", 4, unsure=2),
            ),
        ),
        Frame(
            "All broker processes are killed. The memory is the operating system's: c and d are still there.",
            (_down(ONE, "abcd"), _down(TWO, "abcd"), _down(THREE, "abcd")),
        ),
        Frame(
            "The brokers start, and nothing is lost.",
            (
                _leader(ONE, "abcd", 4, epoch=1, unsure=2),
                _follower(TWO, "abcd", 4, unsure=2),
                _follower(THREE, "abcd", 4, unsure=2),
            ),
        ),
        Frame(
            "All three machines lose power at one moment. Records that are on no disk are gone.",
            (_down(ONE, "ab", "no power"), _down(TWO, "ab", "no power"), _down(THREE, "ab", "no power")),
            lost="cd",
        ),
        Frame(
            "They return. Every replica ends at 2: no election was unclean, no replica differs, no log "
            "says what is missing.",
            (_leader(ONE, "ab", 2, epoch=2), _follower(TWO, "ab", 2), _follower(THREE, "ab", 2)),
            lost="cd",
        ),
        Frame(
            "With one in-sync replica on another power supply it leads, and the others fetch c and d from it.",
            (_follower(ONE, "abcd", 4), _follower(TWO, "abcd", 4), _leader(THREE, "abcd", 4, epoch=2, unsure=2)),
        ),
    ),
)

BUGS: Final = Moving(
    "bugs",
    "A topic that keeps its records loses them after two changes of an unrelated broker setting",
    (
        Frame(
            "The topic has retention.ms=-1: it keeps everything. The brokers' own default is seven days.",
            (_leader(ONE, "abcde", 5), _follower(TWO, "abcde", 5)),
        ),
        Frame(
            "An operator changes any cluster-wide broker setting. Each broker makes the topics' "
            "configuration anew, and loses "
            "the note of what was the topic's own.",
            (_leader(ONE, "abcde", 5), _follower(TWO, "abcde", 5)),
        ),
        Frame(
            "A second change: the configuration is made from the broker's defaults alone. The tools still "
            "show retention.ms=-1.",
            (_leader(ONE, "abcde", 5), _follower(TWO, "abcde", 5)),
        ),
        Frame(
            "The next pass of retention deletes what is older than the brokers' default, on every replica "
            "(KAFKA-9254; fixed in 2.4.1 and 2.5.0).",
            (_leader(ONE, "", None), _follower(TWO, "", None)),
            lost="abcde",
        ),
    ),
)
