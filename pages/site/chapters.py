"""Learn replication: ten chapters, each with its introduction, one moving picture, and commands to try.

A chapter begins with a paragraph and a moving picture of the mechanism (lessons.py, moving.py); its text is the
docstring of a folder of scenarios. A recorded run stands beside it, drawn as its report draws it: of the first chapter
the staircase of log ends and high watermarks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markupsafe import Markup

import results
from pages import guide
from pages.answers import commands
from pages.atlas.model import Data
from pages.sections import introduced
from pages.site import articles, lessons, moving
from pages.site.render import page
from pages.site.scenarios import bug_title, picture
from pages.titles import AUDIT, title
from results import Value

FOLDER: Final = "learn"
SCRIPT: Final = f"{FOLDER}/movie.js"
"""What steps through moving pictures."""
STAIRCASE: Final = "high-watermark-steps.offsets.svg"
SHOWN_EXERCISES: Final = 6
"""So many exercises stand on a page; more are folded."""


WATERMARK: Final = """Each replica of a partition has a log. Its **log end offset** (LEO) is the offset of the next
record to come. The **high watermark** (HW) is the offset below which every in-sync replica has every record.
Consumers read below it, and `acks=all` waits for it.

The leader learns how far a follower is from the follower's *next* fetch: a fetch from offset 4 says "I have 0 to
3". So the high watermark rises one step later than the log ends. The follower learns the new high watermark from
the answer to that fetch, one more step later. The picture is this staircase: first the leader's log end, then the
followers', then the leader's high watermark, then the followers'.

A follower's high watermark is old until its next fetch is answered. That delay is what the next chapter is about:
before 0.11 a follower that became a follower again cut its log there, and lost records that were committed."""
ACKNOWLEDGEMENTS: Final = """A producer chooses by `acks` when it is answered. With `acks=0` nobody answers. With
`acks=1` the leader answers as soon as it has the record in its own log. With `acks=all` it answers when every in-sync
replica has it. How many these are at least is the topic's `min.insync.replicas`.

An answer may get lost on its way, or the leader may die before it answers. The producer then cannot know whether the
record was appended. It sends the record again, so the record may stand in the log twice. An idempotent producer
(`enable.idempotence`, the default since 3.0) numbers its records, and a broker appends each number once.

An error is not a proof that nothing was written. A record of which the producer gave up may still be in the log, and
consumers may read it. `lost-acknowledgement` and `refused-then-accepted` show both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A chapter: what it is about, and the picture that shows it."""

    id: str
    title: str
    section: str
    picture: str
    question: str
    answer: str
    """What a reader should be able to say afterwards."""
    lesson: moving.Moving
    """Its moving picture."""
    first: str
    """What the chapter is about, in a paragraph, before the picture. It explains the words of the picture."""
    words: tuple[tuple[str, str], ...] = ()
    """Words of the recorded run and of the exercises, each with what it means."""
    run: str
    """What to see in the recorded run, and in what it differs from the lesson."""
    more: str = ""
    """The text below the picture, where the section has no introduction of its own."""


SESSION: Final = (
    "session",
    "A broker renews it while it works, in ZooKeeper or by heartbeats to the KRaft controller. When it is not renewed "
    "for the time of the session, the broker counts as dead.",
)
FENCED: Final = ("fenced", "With KRaft: the controller counts the broker as dead, and it leads nothing.")
EPOCH: Final = ("leader epoch", "A number of each partition. It grows by one with each election of a leader.")
CLEAN: Final = ("clean election", "The new leader is a member of the ISR.")

CHAPTERS: Final = (
    Chapter(
        id="high-watermark",
        title="The log end and the high watermark",
        section="",
        picture=STAIRCASE,
        question="Which records may consumers read?",
        answer="Records below the high watermark: every in-sync replica has them.",
        lesson=lessons.WATERMARK,
        first="A partition has one leader; its followers fetch from it. The in-sync replicas (ISR) are those that keep "
        "up. A record is committed when every one of them has it. The log end says what a replica has; the high "
        "watermark says what is committed.",
        words=(
            EPOCH,
            ("acks=all", "The producer is answered when every in-sync replica has the record."),
            ("LEO", "Log end offset: the offset of the next record. The picture calls it the log end."),
        ),
        run="The same steps, measured: each line is where a log ends, and what lies below a high watermark is filled.",
        more=WATERMARK,
    ),
    Chapter(
        id="truncation",
        title="Why a follower truncates",
        section="truncation",
        picture="double-failover.svg",
        question="Why does a follower remove records from its log?",
        answer="Its new leader does not have them, and two replicas must not hold different records at one offset. "
        "Before 0.11 a follower truncates to its own high watermark, and can remove a record that acks=all "
        "acknowledged: if it then leads, the record is lost. Since 0.11 (KIP-101) it asks its leader where the logs "
        "begin to differ. With acks=1 the leader acknowledges before a follower has the record: a truncation loses it "
        "on every release.",
        lesson=lessons.TRUNCATION,
        first="A follower's log must be the beginning of its leader's log. After an election a follower may hold "
        "records that its new leader never had. It removes them before it fetches. The leader epoch of a partition "
        "grows by one with each election. A record is committed when every replica of the ISR (the in-sync replicas) "
        "has it.",
        words=(
            (
                "epoch 0 ends at",
                "The offset behind the leader's last record of epoch 0. Each replica keeps the offset at which each "
                "epoch began, in its file leader-epoch-checkpoint.",
            ),
            (
                "how it asks",
                "From 0.11 on by a request of its own (OffsetForLeaderEpoch). From 2.7 on (KIP-595) a fetch says the "
                "epoch of the follower's last record, and the answer says where the logs differ.",
            ),
            (
                "no answer",
                "If the new leader is dead, nobody answers, and the follower truncates nothing. Before 0.11 it asks "
                "nobody, and truncates all the same.",
            ),
            (
                "protocol 0.11",
                "inter.broker.protocol.version: which requests brokers use among themselves. With an older value, new "
                "brokers truncate as old ones did. Versions called “-pinned” here are such brokers.",
            ),
            CLEAN,
        ),
        run="broker-2 is dead already when it is elected, so no follower can fetch d (m3 here) again. The lost record "
        "is red. The first four seconds set up the topic; the pause in the middle is the session of the dead leader, "
        "which has to end.",
    ),
    Chapter(
        id="in-sync",
        title="In-sync replicas",
        section="replication",
        picture="isr-shrink-expand.svg",
        question="When does the leader stop waiting for a follower?",
        answer="When the follower has not caught up for replica.lag.time.max.ms: the ISR shrinks.",
        lesson=lessons.IN_SYNC,
        first="acks=all does not wait for all replicas. It waits for those that are in sync: the ISR. The leader "
        "notices who keeps up, and asks the controller to change the ISR.",
        words=(
            (
                "min.insync.replicas",
                "With fewer replicas than these in the ISR, the leader refuses records with acks=all "
                "(NOT_ENOUGH_REPLICAS).",
            ),
            ("replica.lag.time.max.ms", "30 s by default, 10 s before 2.5. The runs here use a few seconds."),
        ),
        run="A follower is frozen, leaves the ISR after replica.lag.time.max.ms, and returns. The record sent "
        "meanwhile waits until the ISR is smaller.",
    ),
    Chapter(
        id="controller",
        title="The controller",
        section="controller",
        picture="offline-leader-election.svg",
        question="Who notices that a broker is dead?",
        answer="The controller, when the broker's session has ended. A broker that is stopped cleanly says so before.",
        lesson=lessons.CONTROLLER,
        first="Exactly one node decides who leads: the controller. It does not see whether a process is alive. It sees "
        "the broker's session, which the broker renews while it works, in ZooKeeper or, with KRaft, at the controller.",
        words=(
            SESSION,
            FENCED,
            ("KRaft", "Kafka without ZooKeeper: a quorum of controllers keeps the metadata. The only mode since 4.0."),
        ),
        run="The same: a leader is killed, and writes wait until its session has ended.",
    ),
    Chapter(
        id="placement",
        title="Placement and restarts",
        section="placement",
        picture="rolling-restart.svg",
        question="What does a clean restart cost?",
        answer="Writes pause each time that leadership moves. With acks=1 acknowledged records can be lost.",
        lesson=lessons.PLACEMENT,
        first="A broker that is told to stop (SIGTERM) moves its leaderships to other brokers before it exits: a clean "
        "stop. Even so, acks=1 can lose records.",
        words=(
            ("duplicate", "A record is in the log twice: it was appended, not answered, and sent again."),
            EPOCH,
        ),
        run="This run has acks=all: the lesson's second part. Every broker is restarted in turn, writes pause, one "
        "record is sent again and stands in the log twice, and none is lost. What acks=1 loses is measured in the "
        "Atlas, event “One broker is restarted cleanly”.",
    ),
    Chapter(
        id="brokers",
        title="Leaders that were replaced without knowing it",
        section="brokers",
        picture="isolated-broker.svg",
        question="A leader was replaced and does not know it. What does it do?",
        answer="It acknowledges records with acks=1. When it returns, it truncates its log: these records are lost.",
        lesson=lessons.BROKERS,
        first="A broker that freezes does not renew its session, and is replaced. It does not know that time has "
        "passed. When it wakes up it continues where it was: as a leader. The same happens to a leader that loses only "
        "ZooKeeper or the controller.",
        words=(
            ("znode", "An entry in ZooKeeper. A broker's registration is one, and goes with its session."),
            ("heartbeat", "With KRaft: what a broker sends to the controller to renew its session."),
            SESSION,
            FENCED,
        ),
        run="Here the leader is not frozen: it is cut off from the controller alone, which ends its session as well. "
        "It then acknowledges three records with acks=1 (the lesson's x), and loses them when the cut is over.",
    ),
    Chapter(
        id="partitions",
        title="Networks that split",
        section="partition",
        picture="leader-with-minority.svg",
        question="Which side of a split may write?",
        answer="The side that can change the ISR: the one with ZooKeeper, or with a majority of controllers.",
        lesson=lessons.PARTITIONS,
        first="When the network splits, both sides may have a leader for a while. The sides do not hear of each other. "
        "Leader epochs decide whose records stay: those of the newer epoch.",
        words=(
            ("quorum", "With KRaft: the controllers. A majority of them has to agree to each change."),
            ("healed", "The cut of the network is over."),
            EPOCH,
        ),
        run="Five brokers: the leader is cut off with one follower, and clients reach both sides. The red line among "
        "the clients is what the old leader acknowledged with acks=1 meanwhile, and lost.",
    ),
    Chapter(
        id="producers",
        title="Producers and acknowledgements",
        section="producer",
        picture="leader-crash.svg",
        question="What does an acknowledgement promise?",
        answer="With acks=1: the leader has the record. With acks=all: every in-sync replica has it.",
        lesson=lessons.PRODUCERS,
        first="acks says how many replicas have a record when the producer gets its acknowledgement. A producer keeps "
        "a record until it is acknowledged, and sends it again if it is not.",
        words=(
            (
                "idempotence",
                "enable.idempotence: the producer numbers its records. A broker that has a number already does not "
                "append it again.",
            ),
            ("duplicate", "A record is in the log twice: it was appended, not answered, and sent again."),
        ),
        run="The lesson's first part: a leader acknowledges a record with acks=1, and dies before its followers have "
        "it.",
        more=ACKNOWLEDGEMENTS,
    ),
    Chapter(
        id="durability",
        title="Disks and power",
        section="durability",
        picture="page-cache-only.svg",
        question="When is a record on a disk?",
        answer="When the operating system writes it out, or the broker flushes. No acknowledgement waits for it.",
        lesson=lessons.DURABILITY,
        first="A broker writes a record into the page cache: memory of the operating system, which is written to the "
        "disk later. To flush is to ask for that at once. Kafka does not flush before it acknowledges. It relies on "
        "the memory of other replicas.",
        words=(
            ("segment", "A file of a log. A new one begins when it is full or old."),
            ("flush.messages=1", "A setting of a topic: each append is flushed before the answer."),
        ),
        run="All brokers lose power at one moment, under load. Every log ends earlier afterwards, and the lost "
        "records are on no disk: 670 are too many to be marked one by one. A checkpointed high watermark (HW) may be "
        "above the log end (LEO): the file of high watermarks was on the disk, and the records were not.",
    ),
    Chapter(
        id="bugs",
        title="Bugs that Kafka had",
        section="museum",
        picture="museum-forgotten-overrides.svg",
        question="Why does the release matter, with the right settings?",
        answer="Because releases had bugs that lose committed records whatever the settings.",
        lesson=lessons.BUGS,
        first="Everything so far is documented behaviour. Releases also had bugs, and some of them lost committed "
        "records with the best settings. The picture shows one of them. A topic may have settings of its own "
        "(overrides); for the others the broker's defaults hold.",
        words=(
            ("exhibit", "A scenario that shows a bug on a release that has it, and on one without it."),
            ("retention", "A broker deletes records that are older than retention.ms allows, segment by segment."),
            ("marker", "A record that says how a transaction ended: committed or aborted."),
        ),
        run="All five records are deleted on every replica, because the brokers forgot retention.ms=-1. Their broker "
        "default is ten seconds here.",
    ),
)


def pages(described: Value, data: Data, names: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Path and text of each chapter, and of their index."""
    every = guide.in_order(described)
    for index, chapter in enumerate(CHAPTERS):
        introduction = list[str]()
        if chapter.section:
            _, introduction = introduced(described["sections"].get(chapter.section, ""), chapter.section)
        own = [one for one in every if one["section"] == chapter.section or one["name"] in FIRST.get(chapter.id, ())]
        name = chapter.picture.split(".")[0]
        shown, bug = results.shown_of(data.runs, name), bug_title(next(one for one in every if one["name"] == name))
        yield (
            _path(chapter),
            page(
                "chapter.html.j2",
                _path(chapter),
                title=f"{index + 1} · {chapter.title}",
                section="Learn",
                before=_place(index - 1),
                after=_place(index + 1),
                scenarios=names,
                chapter=chapter,
                introduction=articles.html(chapter.more or "\n\n".join(introduction)),
                movie=moving.drawn(chapter.lesson),
                picture=Markup(picture(chapter.picture, shown, bug=bug)),
                caption=_caption(chapter, shown),
                scenario=name,
                own=[
                    (one, title(one), next(commands(one), "").partition("  #")[0])
                    for one in own
                    if not one["name"].startswith(AUDIT)
                ],
                few=SHOWN_EXERCISES,
            ),
        )
    yield (
        f"{FOLDER}/index.html",
        page(
            "learn.html.j2",
            f"{FOLDER}/index.html",
            title="Learn replication",
            section="Learn",
            after=_place(0),
            chapters=[(_path(chapter).rpartition("/")[2], chapter) for chapter in CHAPTERS],
        ),
    )


FIRST: Final[Mapping[str, tuple[str, ...]]] = {
    "high-watermark": ("high-watermark-steps", "high-watermark-visibility", "offset-checkpoints")
}


def _path(chapter: Chapter) -> str:
    return f"{FOLDER}/{chapter.id}.html"


def _place(index: int) -> tuple[str, str] | None:
    return (CHAPTERS[index].title, _path(CHAPTERS[index])) if 0 <= index < len(CHAPTERS) else None


def _caption(chapter: Chapter, shown: Value) -> str:
    if chapter.picture == STAIRCASE:
        return "A run of high-watermark-steps on 4.3.1 (tests/data/runs has its files)."
    return f"A run on {shown['version']}: {shown['outcome']}." if shown else ""


def missing(root: Path = results.ROOT) -> list[str]:
    """Pictures of chapters that are not there."""
    return [chapter.picture for chapter in CHAPTERS if not results.picture(chapter.picture, root).exists()]
