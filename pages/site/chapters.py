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
from pages.site.scenarios import picture
from pages.titles import AUDIT, title
from results import Value

FOLDER: Final = "learn"
STAIRCASE: Final = "high-watermark-steps.offsets.svg"


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
    """What the chapter is about, in a paragraph, before the picture."""


CHAPTERS: Final = (
    Chapter(
        id="high-watermark",
        title="The log end and the high watermark",
        section="",
        picture=STAIRCASE,
        question="Which records may consumers read?",
        answer="Records below the high watermark: every in-sync replica has them.",
        lesson=lessons.WATERMARK,
        first="A log end says what a replica has. A high watermark says what every in-sync replica has. They move one "
        "after the other. Most failures of the next lessons happen between two of these steps.",
    ),
    Chapter(
        id="truncation",
        title="Why a follower truncates",
        section="truncation",
        picture="double-failover.svg",
        question="Why does a follower remove records from its log?",
        answer="Its new leader does not have them, and two replicas must not hold different records at one offset. "
        "Before 0.11 a follower truncates to its own high watermark, which may be behind: it can remove an "
        "acknowledged record. From 0.11 on (KIP-101) it truncates where the leader epoch of its last record ended on "
        "the leader. "
        "The leader epoch of a partition grows by one with each election. Every replica stores in its file "
        "leader-epoch-checkpoint at which offset each epoch began. The follower asks the leader for the end of its "
        "epoch; from 2.7 on (KIP-595) the answer to a fetch has it.",
        lesson=lessons.TRUNCATION,
        first="A follower copies its leader. Its log must be the beginning of its leader's log, record by record, or "
        "two replicas would hold different records at one offset. After an election a follower may hold records "
        "that its new leader never had. The new leader gives those offsets to other records. So the follower "
        "first removes what its leader does not have, and then fetches. It must find the offset at which the two logs "
        "begin to differ. Below, a record is committed when every replica of the ISR (the in-sync replicas) "
        "has it.",
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
        "decides which followers are in it.",
    ),
    Chapter(
        id="controller",
        title="The controller",
        section="controller",
        picture="controller-failover.svg",
        question="Who notices that a broker is dead?",
        answer="The controller, when the session of the broker has expired. Nobody notices it earlier.",
        lesson=lessons.CONTROLLER,
        first="Exactly one node decides who leads: the controller. It decides by "
        "sessions, and does not see whether a process is alive.",
    ),
    Chapter(
        id="placement",
        title="Placement and restarts",
        section="placement",
        picture="rolling-restart.svg",
        question="What does a clean restart cost?",
        answer="Writes pause each time that leadership moves. With acks=1 acknowledged records can be lost.",
        lesson=lessons.PLACEMENT,
        first="A broker that is stopped cleanly moves its leaderships to other brokers before it exits. "
        "Even so, acks=1 can lose records.",
    ),
    Chapter(
        id="brokers",
        title="Brokers that freeze, or share an id",
        section="brokers",
        picture="isolated-broker.svg",
        question="A leader was replaced and does not know it. What does it do?",
        answer="It acknowledges records with acks=1. When it returns, it truncates its log: these records are lost.",
        lesson=lessons.BROKERS,
        first="A broker that freezes does not know that time has passed. When it wakes up it continues where it "
        "was: as a leader that was replaced.",
    ),
    Chapter(
        id="partitions",
        title="Networks that split",
        section="partition",
        picture="leader-with-minority.svg",
        question="Which side of a split may write?",
        answer="The side that can change the ISR: the one with ZooKeeper, or with a majority of controllers.",
        lesson=lessons.PARTITIONS,
        first="When the network splits, both sides may have a leader for a while. Leader epochs decide whose records "
        "stay.",
    ),
    Chapter(
        id="producers",
        title="Producers and acknowledgements",
        section="producer",
        picture="leader-crash.svg",
        question="What does an acknowledgement promise?",
        answer="With acks=1: the leader has the record. With acks=all: every in-sync replica has it.",
        lesson=lessons.PRODUCERS,
        first="acks says how many replicas have a record when the producer gets its acknowledgement.",
    ),
    Chapter(
        id="durability",
        title="Disks and power",
        section="durability",
        picture="page-cache-only.svg",
        question="When is a record on a disk?",
        answer="When the operating system writes it out, or the broker flushes. No acknowledgement waits for it.",
        lesson=lessons.DURABILITY,
        first="Kafka does not flush a record before it acknowledges it. It relies on other replicas' memory.",
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
        "records with the best settings.",
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
        shown = results.shown_of(data.runs, chapter.picture.split(".")[0])
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
                introduction=articles.html("\n\n".join(introduction) if introduction else WATERMARK),
                movie=moving.drawn(chapter.lesson),
                picture=Markup(picture(chapter.picture, shown)),
                caption=_caption(chapter, shown),
                scenario=chapter.picture.split(".")[0],
                own=[
                    (one, title(one), next(commands(one), "").partition("  #")[0])
                    for one in own
                    if not one["name"].startswith(AUDIT)
                ],
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
WATERMARK: Final = """Each replica of a partition has a log. Its **log end offset** (LEO) is the offset of the next
record to come. The **high watermark** (HW) is the offset below which every in-sync replica has every record.
Consumers read below it, and `acks=all` waits for it.

The leader learns how far a follower is from the follower's *next* fetch: a fetch from offset 4 says "I have 0 to
3". So the high watermark rises one step later than the log ends. The follower learns the new high watermark from
the answer to that fetch, one more step later. The picture is this staircase: first the leader's log end, then the
followers', then the leader's high watermark, then the followers'.

A follower's high watermark is old until its next fetch is answered. That delay is what the next chapter is about:
before 0.11 a follower that became a follower again cut its log there, and lost records that were committed."""


def _path(chapter: Chapter) -> str:
    return f"{FOLDER}/{chapter.id}.html"


def _place(index: int) -> tuple[str, str] | None:
    return (CHAPTERS[index].title, _path(CHAPTERS[index])) if 0 <= index < len(CHAPTERS) else None


def _caption(chapter: Chapter, shown: Value) -> str:
    if chapter.picture == STAIRCASE:
        return (
            "A run of high-watermark-steps on 4.3.1 (tests/data/runs has its files). Lines: where each log ends. "
            "Filled: below the high watermark."
        )
    return f"A run on {shown['version']}: {shown['outcome']}." if shown else ""


def missing(root: Path = results.ROOT) -> list[str]:
    """Pictures of chapters that are not there."""
    return [chapter.picture for chapter in CHAPTERS if not results.picture(chapter.picture, root).exists()]
