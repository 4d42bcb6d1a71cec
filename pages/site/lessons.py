"""The moving pictures of Learn replication, one for each chapter: documented mechanisms, frame by frame.

Records are letters; a capital one was written by a later leader, and a stroke in a log stands where the next leader
epoch begins. `problems` (pages/site/moving.py) holds each frame to what can be. Which release does what is documented
by the KIPs that captions name, and shown by the chapter's runs.
"""

from __future__ import annotations

from typing import Final

from pages.site.moving import Answer, Asked, DrawnReplica, Frame, Moving, Row, Sent, Strip


def _leader(name: str, log: str, hw: int | None = None, epoch: int = 0, memory: int | None = None) -> DrawnReplica:
    return DrawnReplica(name, f"leader, epoch {epoch}", log, hw, memory)


def _follower(
    name: str, log: str, hw: int | None = None, what: str = "follower", memory: int | None = None
) -> DrawnReplica:
    return DrawnReplica(name, what, log, hw, memory)


def _down(name: str, log: str, what: str = "down: killed", memory: int | None = None) -> DrawnReplica:
    return DrawnReplica(name, what, log, None, memory)


ONE, TWO, THREE = "broker-1", "broker-2", "broker-3"
ALL, SINGLE = "producer, acks=all", "producer, acks=1"


# 1 · The log end and the high watermark


def _steps(
    leader: tuple[str, int], follower: tuple[str, int], sent: Sent, asked: Asked | None = None
) -> tuple[Strip, ...]:
    replicas = DrawnReplica(ONE, "leader", *leader), DrawnReplica(TWO, "follower", *follower)
    return (Strip(replicas, sent, asked=asked),)


def _fetch(words: str) -> Asked:
    return Asked(words, 1, 0)


def _answer(words: str) -> Asked:
    return Asked(words, 0, 1)


WATERMARK: Final = Moving(
    "high-watermark",
    "A record is appended by the leader, fetched by the follower, and comes under the leader's high watermark, then "
    "under the follower's",
    (
        Frame(
            "Both replicas hold a, b and c. All three are committed: the high watermark (HW) is 3, at the end of the "
            "log.",
            _steps(("abc", 3), ("abc", 3), Sent(ALL)),
        ),
        Frame(
            "The producer sends d, and the leader appends it. Its log ends at 4; the high watermark stays at 3. No "
            "consumer is given d, and the producer waits.",
            _steps(("abcd", 3), ("abc", 3), Sent(ALL, "d")),
        ),
        Frame(
            "The follower has asked for offset 3, and the answer brings d. The leader does not know yet that d "
            "arrived.",
            _steps(("abcd", 3), ("abcd", 3), Sent(ALL, "d"), _answer("d, and HW 3")),
        ),
        Frame(
            "The follower asks for offset 4. That tells the leader: the follower has d. The high watermark rises to 4; "
            "d is committed, acknowledged, and given to consumers.",
            _steps(("abcd", 4), ("abcd", 3), Sent(ALL, "d", "acknowledged"), _fetch("fetch from 4")),
        ),
        Frame(
            "The answer carries the new high watermark. Only now does the follower know that d is committed.",
            _steps(("abcd", 4), ("abcd", 4), Sent(ALL, "d", "acknowledged"), _answer("HW 4")),
        ),
        Frame(
            "The next record takes the same steps. First the leader's log end rises.",
            _steps(("abcde", 4), ("abcd", 4), Sent(ALL, "e")),
        ),
        Frame(
            "Then the follower's log end rises.",
            _steps(("abcde", 4), ("abcde", 4), Sent(ALL, "e"), _answer("e, and HW 4")),
        ),
        Frame(
            "Then the leader's high watermark rises.",
            _steps(("abcde", 5), ("abcde", 4), Sent(ALL, "e", "acknowledged"), _fetch("fetch from 5")),
        ),
        Frame(
            "Last, the follower's high watermark rises. Until this fetch is answered, the follower's high watermark is "
            "old.",
            _steps(("abcde", 5), ("abcde", 5), Sent(ALL, "e", "acknowledged"), _answer("HW 5")),
        ),
    ),
    plot=True,
)


# 2 · Why a follower truncates


def _both(old: Strip, new: Strip) -> tuple[Strip, Strip]:
    return old, new


def _moment(
    isr: str, one: DrawnReplica, two: DrawnReplica, three: DrawnReplica, sent: Sent, asked: Asked | None = None
) -> Strip:
    return Strip((one, two, three), sent, (Row("ISR", isr),), asked=asked)


def _alike(isr: str, one: DrawnReplica, two: DrawnReplica, three: DrawnReplica, sent: Sent) -> tuple[Strip, Strip]:
    strip = _moment(isr, one, two, three, sent)
    return strip, strip


UNCOMMITTED: Final = "First example: x is not committed."
COMMITTED: Final = "Second example: d is committed."
X, D, GONE = Sent(ALL, "x"), Sent(ALL, "d", "acknowledged"), Sent(ALL, "d", "lost")
OWN_HW, ASKS = "follower: takes its HW", "follower: asks"
SECOND: Final = _leader(TWO, "abc/y", 4, epoch=1)
ALIVE: Final = _leader(TWO, "abcd", 3, epoch=1)
THIRD: Final = _follower(THREE, "abc/y", 4)

TRUNCATION: Final = Moving(
    "truncation",
    "A follower that comes back removes a record that its leader does not have. Before 0.11 it may also remove an "
    "acknowledged one; since 0.11 it asks its leader where its leader epoch ended",
    (
        Frame(
            "broker-1 leads in epoch 0, and appends x. No follower has x yet. x is not acknowledged.",
            _alike("1, 2, 3", _leader(ONE, "abcx", 3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3), X),
            UNCOMMITTED,
        ),
        Frame(
            "broker-1 dies. broker-2 is elected: epoch 1 begins. It gives the offset of x to another record, y. Since "
            "0.11 each record bears the epoch of the leader that appended it.",
            _alike("2, 3", _down(ONE, "abcx"), SECOND, THIRD, X),
            UNCOMMITTED,
        ),
        Frame(
            "broker-1 returns. Offset 3 holds x here, and y in its leader. It must find where the logs begin to "
            "differ: by its own high watermark, or by a question to its leader.",
            _both(
                _moment("2, 3", _follower(ONE, "abcx", 3, OWN_HW), SECOND, THIRD, X),
                _moment("2, 3", _follower(ONE, "abcx", 3, ASKS), SECOND, THIRD, X, Asked("epoch 0 ends at?", 0, 1)),
            ),
            UNCOMMITTED,
        ),
        Frame(
            "broker-1's high watermark is 3. The leader's answer is 3 too: there its records of epoch 0 end. Both ways "
            "x is removed.",
            _both(
                _moment("2, 3", _follower(ONE, "abc", 3, "follower: truncates to 3"), SECOND, THIRD, X),
                _moment(
                    "2, 3",
                    _follower(ONE, "abc", 3, "follower: truncates to 3"),
                    SECOND,
                    THIRD,
                    X,
                    Asked("it ends at 3", 1, 0),
                ),
            ),
            UNCOMMITTED,
        ),
        Frame(
            "It fetches y, and is in the ISR again. acks=all has not acknowledged x. acks=1 would have, and x is lost.",
            _alike("1, 2, 3", _follower(ONE, "abc/y", 4), SECOND, THIRD, X),
            UNCOMMITTED,
        ),
        Frame(
            "All three have d, and it is acknowledged. The followers do not know yet that it is committed: their high "
            "watermark is still 3.",
            _alike("1, 2, 3", _leader(ONE, "abcd", 4), _follower(TWO, "abcd", 3), _follower(THREE, "abcd", 3), D),
            COMMITTED,
        ),
        Frame(
            "broker-1 dies, and broker-2 is elected. broker-3 has a new leader. It must find where their logs begin to "
            "differ.",
            _both(
                _moment("2, 3", _down(ONE, "abcd"), ALIVE, _follower(THREE, "abcd", 3, OWN_HW), D),
                _moment(
                    "2, 3",
                    _down(ONE, "abcd"),
                    ALIVE,
                    _follower(THREE, "abcd", 3, ASKS),
                    D,
                    Asked("epoch 0 ends at?", 2, 1),
                ),
            ),
            COMMITTED,
        ),
        Frame(
            "0.10: broker-3's high watermark is 3, so it removes d, and would fetch it again. Since 0.11: the answer "
            "is 4, so it removes nothing.",
            _both(
                _moment("2, 3", _down(ONE, "abcd"), ALIVE, _follower(THREE, "abc", 3, "follower: truncates to 3"), D),
                _moment(
                    "2, 3",
                    _down(ONE, "abcd"),
                    ALIVE,
                    _follower(THREE, "abcd", 3, "follower: keeps all"),
                    D,
                    Asked("it ends at 4", 1, 2),
                ),
            ),
            COMMITTED,
        ),
        Frame(
            "broker-2 dies before broker-3 has fetched again. A truncation does not change the ISR: broker-3 is still "
            "in it.",
            _both(
                _moment("3", _down(ONE, "abcd"), _down(TWO, "abcd"), _follower(THREE, "abc", 3, "follower, in ISR"), D),
                _moment(
                    "3", _down(ONE, "abcd"), _down(TWO, "abcd"), _follower(THREE, "abcd", 3, "follower, in ISR"), D
                ),
            ),
            COMMITTED,
        ),
        Frame(
            "broker-3 is elected from the ISR: a clean election. 0.10: d was acknowledged and is lost, and no client "
            "gets an error. Since 0.11: d is there.",
            _both(
                _moment("3", _down(ONE, "abcd"), _down(TWO, "abcd"), _leader(THREE, "abc", 3, epoch=2), GONE),
                _moment("3", _down(ONE, "abcd"), _down(TWO, "abcd"), _leader(THREE, "abcd", 4, epoch=2), D),
            ),
            COMMITTED,
        ),
        Frame(
            "The next record, E, takes offset 3 on 0.10, where d was. Since 0.11 it takes offset 4, behind d.",
            _both(
                _moment("3", _down(ONE, "abcd"), _down(TWO, "abcd"), _leader(THREE, "abc//E", 4, epoch=2), GONE),
                _moment("3", _down(ONE, "abcd"), _down(TWO, "abcd"), _leader(THREE, "abcd//E", 5, epoch=2), D),
            ),
            COMMITTED,
        ),
    ),
    names=("0.10: truncates to its high watermark", "Since 0.11: asks its leader (KIP-101)"),
    epochs=(1,),
)


# 3 · In-sync replicas


def _in_sync(isr: str, one: DrawnReplica, two: DrawnReplica, three: DrawnReplica, sent: Sent) -> tuple[Strip, ...]:
    return (_moment(isr, one, two, three, sent),)


IN_SYNC: Final = Moving(
    "in-sync",
    "A follower stops, leaves the ISR after replica.lag.time.max.ms, and returns when it has caught up",
    (
        Frame(
            "The ISR is 1, 2, 3. A record is acknowledged with acks=all when all three have it.",
            _in_sync(
                "1, 2, 3", _leader(ONE, "abc", 3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3), Sent(ALL)
            ),
        ),
        Frame(
            "broker-3 stops fetching. Two replicas have d. The high watermark does not move, and the producer waits.",
            _in_sync(
                "1, 2, 3",
                _leader(ONE, "abcd", 3),
                _follower(TWO, "abcd", 3),
                _follower(THREE, "abc", 3, "follower: fetches nothing"),
                Sent(ALL, "d"),
            ),
        ),
        Frame(
            "After replica.lag.time.max.ms the leader asks the controller for an ISR of 1, 2. The high watermark rises "
            "to 4, and d is acknowledged.",
            _in_sync(
                "1, 2",
                _leader(ONE, "abcd", 4),
                _follower(TWO, "abcd", 4),
                _follower(THREE, "abc", 3, "not in the ISR"),
                Sent(ALL, "d", "acknowledged"),
            ),
        ),
        Frame(
            "Writes continue. min.insync.replicas=2 says: with fewer than two in the ISR, acks=all is refused. One "
            "more loss would do that.",
            _in_sync(
                "1, 2",
                _leader(ONE, "abcdef", 6),
                _follower(TWO, "abcdef", 6),
                _follower(THREE, "abc", 3, "not in the ISR"),
                Sent(ALL, "ef", "acknowledged"),
            ),
        ),
        Frame(
            "broker-3 is back, and fetches what it lacks.",
            _in_sync(
                "1, 2",
                _leader(ONE, "abcdef", 6),
                _follower(TWO, "abcdef", 6),
                _follower(THREE, "abcde", 5, "not in the ISR: catches up"),
                Sent(ALL, "ef", "acknowledged"),
            ),
        ),
        Frame(
            "It has reached the leader's high watermark: the leader takes it back into the ISR.",
            _in_sync(
                "1, 2, 3",
                _leader(ONE, "abcdef", 6),
                _follower(TWO, "abcdef", 6),
                _follower(THREE, "abcdef", 6),
                Sent(ALL, "ef", "acknowledged"),
            ),
        ),
    ),
)


# 4 · The controller


def _controlled(
    session: str, says: str, one: DrawnReplica, two: DrawnReplica, three: DrawnReplica, sent: Sent
) -> tuple[Strip, ...]:
    rows = Row("session", f"of broker-1: {session}"), Row("controller", says)
    return (Strip((one, two, three), sent, rows),)


FIRST_STATE, SECOND_STATE = "leader is 1, ISR 1, 2, 3", "leader is 2, ISR 2, 3"

CONTROLLER: Final = Moving(
    "controller",
    "A leader dies; nobody leads until its session has ended; then the controller elects another replica",
    (
        Frame(
            "broker-1 leads. It renews its session, with ZooKeeper or with the KRaft controller, every few seconds.",
            _controlled(
                "renewed",
                FIRST_STATE,
                _leader(ONE, "abc", 3),
                _follower(TWO, "abc", 3),
                _follower(THREE, "abc", 3),
                Sent(ALL),
            ),
        ),
        Frame(
            "broker-1 is killed. Its session still runs, so the controller still names it as the leader. Writes wait.",
            _controlled(
                "not renewed, still runs",
                FIRST_STATE,
                _down(ONE, "abc"),
                _follower(TWO, "abc", 3),
                _follower(THREE, "abc", 3),
                Sent(ALL, "D"),
            ),
        ),
        Frame(
            "The session is over. The controller elects the next replica of the ISR that is alive. Leader epoch 1 "
            "begins.",
            _controlled(
                "over",
                SECOND_STATE,
                _down(ONE, "abc"),
                _leader(TWO, "abc", 3, epoch=1),
                _follower(THREE, "abc", 3),
                Sent(ALL, "D"),
            ),
        ),
        Frame(
            "The producer asks who leads, sends D to broker-2, and gets its acknowledgement.",
            _controlled(
                "over",
                SECOND_STATE,
                _down(ONE, "abc"),
                _leader(TWO, "abc/D", 4, epoch=1),
                _follower(THREE, "abc/D", 4),
                Sent(ALL, "D", "acknowledged"),
            ),
        ),
        Frame(
            "broker-1 returns with a new session. It follows broker-2, fetches D, and is in the ISR again.",
            _controlled(
                "renewed",
                "leader is 2, ISR 1, 2, 3",
                _follower(ONE, "abc/D", 4),
                _leader(TWO, "abc/D", 4, epoch=1),
                _follower(THREE, "abc/D", 4),
                Sent(ALL, "D", "acknowledged"),
            ),
        ),
    ),
)


# 5, 6, 8 · A producer and three replicas


def _sends(
    who: str, records: str, answer: Answer, one: DrawnReplica, two: DrawnReplica, three: DrawnReplica
) -> tuple[Strip, ...]:
    return (Strip((one, two, three), Sent(who, records, answer)),)


WITH_ONE: Final = "With acks=1."
INSTEAD: Final = "Instead, with acks=all."

PLACEMENT: Final = Moving(
    "placement",
    "A leader is restarted cleanly; a record acknowledged with acks=1 that its followers had not fetched is lost; with "
    "acks=all it is sent again",
    (
        Frame(
            "broker-1 leads. It appends d, and acknowledges it at once. The followers have not fetched d yet.",
            _sends(
                SINGLE, "d", "acknowledged",
                _leader(ONE, "abcd", 3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3),
            ),
            WITH_ONE,
        ),
        Frame(
            "broker-1 is told to stop (SIGTERM). A clean stop moves its leadership first, in milliseconds. broker-2 "
            "leads without d: an acknowledged record is lost.",
            _sends(
                SINGLE, "d", "lost",
                _follower(ONE, "abcd", 3, "follower: stopping"),
                _leader(TWO, "abc", 3, epoch=1),
                _follower(THREE, "abc", 3),
            ),
            WITH_ONE,
        ),
        Frame(
            "broker-1 returns, asks where its epoch ended, and removes d. It fetches E.",
            _sends(
                SINGLE, "d", "lost",
                _follower(ONE, "abc/E", 4), _leader(TWO, "abc/E", 4, epoch=1), _follower(THREE, "abc/E", 4),
            ),
            WITH_ONE,
        ),
        Frame(
            "broker-1 leads, and appends d. It waits for the followers, so the producer has no answer yet.",
            _sends(
                ALL, "d", "waits",
                _leader(ONE, "abcd", 3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3),
            ),
            INSTEAD,
            instead=True,
        ),
        Frame(
            "Leadership moves to broker-2. The producer is told that broker-1 does not lead any more, and sends d "
            "again. Writes pause meanwhile.",
            _sends(
                ALL, "d", "again",
                _follower(ONE, "abcd", 3, "follower: stopping"),
                _leader(TWO, "abc", 3, epoch=1),
                _follower(THREE, "abc", 3),
            ),
            INSTEAD,
            instead=True,
        ),
        Frame(
            "broker-2 has d, and so have its followers. d is acknowledged. Nothing is lost.",
            _sends(
                ALL, "d", "acknowledged",
                _follower(ONE, "abc/d", 4), _leader(TWO, "abc/d", 4, epoch=1), _follower(THREE, "abc/d", 4),
            ),
            INSTEAD,
            instead=True,
        ),
    ),
)  # fmt: skip

BROKERS: Final = Moving(
    "brokers",
    "A leader freezes, is replaced, wakes up, and acknowledges a record that is then truncated; with acks=all it is "
    "not acknowledged, and sent again",
    (
        Frame(
            "broker-1 leads in epoch 0.",
            _sends(
                SINGLE, "", "waits",
                _leader(ONE, "abc", 3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3),
            ),
            WITH_ONE,
        ),
        Frame(
            "broker-1 freezes, for instance in a long garbage collection. It does not renew its session. The session "
            "ends.",
            _sends(
                SINGLE, "", "waits",
                _down(ONE, "abc", "down: frozen"), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3),
            ),
            WITH_ONE,
        ),
        Frame(
            "broker-2 is elected in epoch 1, and appends D.",
            _sends(
                SINGLE, "", "waits",
                _down(ONE, "abc", "down: frozen"), _leader(TWO, "abc/D", 4, epoch=1), _follower(THREE, "abc/D", 4),
            ),
            WITH_ONE,
        ),
        Frame(
            "broker-1 wakes up, and takes itself for the leader. A producer that has not asked who leads since then "
            "sends x. broker-1 acknowledges it.",
            _sends(
                SINGLE, "x", "acknowledged",
                _leader(ONE, "abcx", 3), _leader(TWO, "abc/D", 4, epoch=1), _follower(THREE, "abc/D", 4),
            ),
            WITH_ONE,
        ),
        Frame(
            "broker-1 learns of epoch 1. It becomes a follower, removes x, and fetches D in its place. x is lost.",
            _sends(
                SINGLE, "x", "lost",
                _follower(ONE, "abc/D", 4), _leader(TWO, "abc/D", 4, epoch=1), _follower(THREE, "abc/D", 4),
            ),
            WITH_ONE,
        ),
        Frame(
            "broker-1 has woken up, and appends x. It waits for its followers. They fetch from broker-2 now, so x is "
            "never acknowledged.",
            _sends(
                ALL, "x", "waits",
                _leader(ONE, "abcx", 3), _leader(TWO, "abc/D", 4, epoch=1), _follower(THREE, "abc/D", 4),
            ),
            INSTEAD,
            instead=True,
        ),
        Frame(
            "broker-1 learns of epoch 1, and removes x. The producer gets an error, asks who leads, and sends x again, "
            "to broker-2.",
            _sends(
                ALL, "x", "again",
                _follower(ONE, "abc/D", 4), _leader(TWO, "abc/D", 4, epoch=1), _follower(THREE, "abc/D", 4),
            ),
            INSTEAD,
            instead=True,
        ),
        Frame(
            "All three have x, behind D. It is acknowledged.",
            _sends(
                ALL, "x", "acknowledged",
                _follower(ONE, "abc/Dx", 5), _leader(TWO, "abc/Dx", 5, epoch=1), _follower(THREE, "abc/Dx", 5),
            ),
            INSTEAD,
            instead=True,
        ),
    ),
)  # fmt: skip


# 7 · Networks that split


def _split(
    says: str, two: DrawnReplica, three: DrawnReplica, one: DrawnReplica, sent: Sent, *, cut: bool
) -> tuple[Strip, ...]:
    """The controller and two brokers above the cut, the old leader below it."""
    return (Strip((two, three, one), sent, (Row("controller", says),), cut=1 if cut else None),)


BESIDE: Final = "acks=1, to broker-1"

PARTITIONS: Final = Moving(
    "partitions",
    "A leader is cut off from the cluster and acknowledges records that are truncated when the network is healed",
    (
        Frame(
            "broker-1 leads. All brokers reach each other and the controller.",
            _split(
                FIRST_STATE, _follower(TWO, "abc", 3), _follower(THREE, "abc", 3), _leader(ONE, "abc", 3),
                Sent(BESIDE), cut=False,
            ),
        ),
        Frame(
            "The network is cut: broker-1 reaches neither the other brokers nor the controller. Its clients still "
            "reach it.",
            _split(
                FIRST_STATE, _follower(TWO, "abc", 3), _follower(THREE, "abc", 3), _leader(ONE, "abc", 3),
                Sent(BESIDE), cut=True,
            ),
        ),
        Frame(
            "broker-1 acknowledges x and y with acks=1: no other broker has them. With acks=all it would wait, for it "
            "cannot change the ISR.",
            _split(
                FIRST_STATE, _follower(TWO, "abc", 3), _follower(THREE, "abc", 3), _leader(ONE, "abcxy", 3),
                Sent(BESIDE, "xy", "acknowledged"), cut=True,
            ),
        ),
        Frame(
            "Its session ends. The controller elects broker-2. broker-1 does not hear of it: two brokers lead, in "
            "different epochs.",
            _split(
                SECOND_STATE, _leader(TWO, "abc", 3, epoch=1), _follower(THREE, "abc", 3), _leader(ONE, "abcxy", 3),
                Sent(BESIDE, "xy", "acknowledged"), cut=True,
            ),
        ),
        Frame(
            "Both append. Only the side with the controller can commit: D has the offset of x.",
            _split(
                SECOND_STATE, _leader(TWO, "abc/D", 4, epoch=1), _follower(THREE, "abc/D", 4),
                _leader(ONE, "abcxyz", 3), Sent(BESIDE, "xyz", "acknowledged"), cut=True,
            ),
        ),
        Frame(
            "The network is healed: the cut is over. broker-1 learns of epoch 1, removes what it alone has, and "
            "fetches D. x, y and z are lost.",
            _split(
                "leader is 2, ISR 1, 2, 3", _leader(TWO, "abc/D", 4, epoch=1), _follower(THREE, "abc/D", 4),
                _follower(ONE, "abc/D", 4), Sent(BESIDE, "xyz", "lost"), cut=False,
            ),
        ),
    ),
)  # fmt: skip


# 8 · Producers and acknowledgements

PRODUCERS: Final = Moving(
    "producers",
    "The leader dies after it acknowledged a record with acks=1, and again before it acknowledged one with acks=all",
    (
        Frame(
            "The leader appends d, and acknowledges it at once. The producer sends its next record.",
            _sends(
                SINGLE, "d", "acknowledged",
                _leader(ONE, "abcd", 3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3),
            ),
            WITH_ONE,
        ),
        Frame(
            "The leader dies before a follower has fetched d.",
            _sends(
                SINGLE, "d", "acknowledged",
                _down(ONE, "abcd"), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3),
            ),
            WITH_ONE,
        ),
        Frame(
            "broker-2 is elected, and does not have d. An acknowledged record is lost, and no client gets an error.",
            _sends(
                SINGLE, "d", "lost",
                _down(ONE, "abcd"), _leader(TWO, "abc", 3, epoch=1), _follower(THREE, "abc", 3),
            ),
            WITH_ONE,
        ),
        Frame(
            "The leader appends d, and waits until every in-sync replica has it. The producer has no answer, and keeps "
            "d.",
            _sends(
                ALL, "d", "waits",
                _leader(ONE, "abcd", 3), _follower(TWO, "abc", 3), _follower(THREE, "abc", 3),
            ),
            INSTEAD,
            instead=True,
        ),
        Frame(
            "The leader dies. broker-2 is elected, and does not have d. The producer sends d again, to broker-2.",
            _sends(
                ALL, "d", "again",
                _down(ONE, "abcd"), _leader(TWO, "abc", 3, epoch=1), _follower(THREE, "abc", 3),
            ),
            INSTEAD,
            instead=True,
        ),
        Frame(
            "The leader broker-2 and its follower have d: every in-sync replica. Only now is d acknowledged.",
            _sends(
                ALL, "d", "acknowledged",
                _down(ONE, "abcd"), _leader(TWO, "abc/d", 4, epoch=1), _follower(THREE, "abc/d", 4),
            ),
            INSTEAD,
            instead=True,
        ),
    ),
)  # fmt: skip


# 9 · Disks and power

ELSEWHERE: Final = "Instead, with broker-3 on another power supply."

DURABILITY: Final = Moving(
    "durability",
    "Records in the page cache survive killed processes, and not a power loss of all replicas",
    (
        Frame(
            "a and b are on disks. c and d are in the memory of all three machines only. All four are committed and "
            "acknowledged.",
            _sends(
                ALL, "cd", "acknowledged",
                _leader(ONE, "abcd", 4, memory=2),
                _follower(TWO, "abcd", 4, memory=2),
                _follower(THREE, "abcd", 4, memory=2),
            ),
        ),
        Frame(
            "All broker processes are killed. The memory (page cache) belongs to the operating system: c and d are "
            "still there.",
            _sends(
                ALL, "cd", "acknowledged",
                _down(ONE, "abcd", memory=2), _down(TWO, "abcd", memory=2), _down(THREE, "abcd", memory=2),
            ),
        ),
        Frame(
            "The brokers start again. Nothing is lost.",
            _sends(
                ALL, "cd", "acknowledged",
                _leader(ONE, "abcd", 4, epoch=1, memory=2),
                _follower(TWO, "abcd", 4, memory=2),
                _follower(THREE, "abcd", 4, memory=2),
            ),
        ),
        Frame(
            "All three machines lose power at one moment. What was on no disk is gone: c and d are lost.",
            _sends(
                ALL, "cd", "lost",
                _down(ONE, "ab", "no power"), _down(TWO, "ab", "no power"), _down(THREE, "ab", "no power"),
            ),
        ),
        Frame(
            "They return. Every log ends at 2. The election is clean, the replicas agree, and no log says what is "
            "missing.",
            _sends(
                ALL, "cd", "lost",
                _leader(ONE, "ab", 2, epoch=2), _follower(TWO, "ab", 2), _follower(THREE, "ab", 2),
            ),
        ),
        Frame(
            "The first two lose power, and broker-3 does not. It is in the ISR and is elected. It has c and d.",
            _sends(
                ALL, "cd", "acknowledged",
                _down(ONE, "ab", "no power"),
                _down(TWO, "ab", "no power"),
                _leader(THREE, "abcd", 4, epoch=2, memory=2),
            ),
            ELSEWHERE,
            instead=True,
        ),
        Frame(
            "The others return, and fetch c and d from it. Nothing is lost.",
            _sends(
                ALL, "cd", "acknowledged",
                _follower(ONE, "abcd", 4, memory=2),
                _follower(TWO, "abcd", 4, memory=2),
                _leader(THREE, "abcd", 4, epoch=2, memory=2),
            ),
            ELSEWHERE,
            instead=True,
        ),
    ),
)  # fmt: skip


# 10 · Bugs that Kafka had


def _kept(uses: str, answer: Answer = "acknowledged", *, wrong: bool = False) -> tuple[Strip, ...]:
    """A topic that keeps everything, and what its brokers take for its retention."""
    start = 5 if answer == "lost" else 0
    replicas = (
        DrawnReplica(ONE, "leader", "abcde", 5, start=start),
        DrawnReplica(TWO, "follower", "abcde", 5, start=start),
    )
    rows = Row("topic", "retention.ms=-1, keep all"), Row("broker uses", uses, wrong)
    return (Strip(replicas, Sent(ALL, "abcde", answer), rows),)


FIXED: Final = "Instead, on 2.4.1, 2.5.0 or later."

BUGS: Final = Moving(
    "bugs",
    "A topic that keeps its records loses them after two changes of an unrelated broker setting",
    (
        Frame(
            "The topic has a setting of its own, retention.ms=-1: it keeps every record. The brokers' default is seven "
            "days.",
            _kept("-1, the topic's own"),
        ),
        Frame(
            "An operator changes any cluster-wide broker setting. Each broker builds the topic's configuration again. "
            "It is right, but the broker forgets which settings are the topic's own.",
            _kept("-1, forgot whose it is"),
        ),
        Frame(
            "A second change: the broker builds the configuration from its defaults alone. The tools still show "
            "retention.ms=-1.",
            _kept("its default: 7 days", wrong=True),
        ),
        Frame(
            "The next pass of retention deletes what is older than seven days, on every replica. Deletion moves the "
            "log start to 5. The log end stays 5 (KAFKA-9254).",
            _kept("its default: 7 days", "lost", wrong=True),
        ),
        Frame(
            "The broker does not forget which settings are the topic's own. After any number of changes it still uses "
            "-1, and deletes nothing.",
            _kept("-1, the topic's own"),
            FIXED,
            instead=True,
        ),
    ),
)
