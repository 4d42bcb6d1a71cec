"""Learn replication: ten chapters, each with its introduction, one moving picture, and commands to try.

A chapter is the docstring of a folder of scenarios. Its picture is a recorded run, drawn as its report draws it, and
uncovered from left to right; whoever prints it, or asks for less motion, sees it whole. The first chapter's picture is
the staircase of log ends and high watermarks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

import results
from pages import guide
from pages.atlas.model import Data
from pages.site import articles
from pages.site.render import page
from pages.site.scenarios import _svg, heading

Value = Mapping[str, Any]
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


CHAPTERS: Final = (
    Chapter(
        id="high-watermark",
        title="The log end and the high watermark",
        section="",
        picture=STAIRCASE,
        question="Which records may consumers read?",
        answer="Records below the high watermark: every in-sync replica has them.",
    ),
    Chapter(
        id="truncation",
        title="Why a follower truncates",
        section="truncation",
        picture="double-failover.svg",
        question="Why does a follower remove records from its log?",
        answer="Its new leader does not have them. Before 0.11 it cuts at its own high watermark, which may be behind; "
        "since KIP-101 it asks its leader where their logs part.",
    ),
    Chapter(
        id="in-sync",
        title="In-sync replicas",
        section="replication",
        picture="isr-shrink-expand.svg",
        question="When does the leader stop to wait for a follower?",
        answer="When the follower has not caught up for replica.lag.time.max.ms: the ISR shrinks.",
    ),
    Chapter(
        id="controller",
        title="The controller",
        section="controller",
        picture="controller-failover.svg",
        question="Who notices that a broker is dead?",
        answer="The controller, when the broker's session has ended, and not before.",
    ),
    Chapter(
        id="placement",
        title="Placement and restarts",
        section="placement",
        picture="rolling-restart.svg",
        question="What does a clean restart cost?",
        answer="A pause of writes at each move of a leader; with acks=1 also records.",
    ),
    Chapter(
        id="brokers",
        title="Brokers that freeze, or share an id",
        section="brokers",
        picture="isolated-broker.svg",
        question="What does a leader do that does not know that it was replaced?",
        answer="It acknowledges with acks=1 what will be cut off when it returns.",
    ),
    Chapter(
        id="partitions",
        title="Networks that split",
        section="partition",
        picture="leader-with-minority.svg",
        question="Which side of a split may write?",
        answer="The side that can change the ISR: the one with ZooKeeper, or with a majority of controllers.",
    ),
    Chapter(
        id="producers",
        title="Producers and acknowledgements",
        section="producer",
        picture="leader-crash.svg",
        question="What does an acknowledgement promise?",
        answer="With acks=1 one broker's word. With acks=all every in-sync replica's.",
    ),
    Chapter(
        id="durability",
        title="Disks and power",
        section="durability",
        picture="page-cache-only.svg",
        question="When is a record on a disk?",
        answer="When the operating system writes it out, or the broker flushes. No acknowledgement waits for it.",
    ),
    Chapter(
        id="bugs",
        title="Bugs that Kafka had",
        section="museum",
        picture="museum-marker-compacted.svg",
        question="Why does the release matter, with the right settings?",
        answer="Because releases had bugs that lose committed records whatever the settings.",
    ),
)


def pages(described: Value, data: Data, names: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Path and text of each chapter, and of their index."""
    every = guide.in_order(described)
    for index, chapter in enumerate(CHAPTERS):
        title, introduction = chapter.title, list[str]()
        if chapter.section:
            _, introduction = guide.introduced(described["sections"].get(chapter.section, ""), chapter.section)
        own = [one for one in every if one["section"] == chapter.section or one["name"] in FIRST.get(chapter.id, ())]
        shown = (data.runs.get(chapter.picture.split(".")[0]) or {}).get("shown") or {}
        yield (
            _path(chapter),
            page(
                "chapter.html.j2",
                _path(chapter),
                title=f"{index + 1} · {title}",
                section="Learn",
                before=_place(index - 1),
                after=_place(index + 1),
                scenarios=names,
                chapter=chapter,
                introduction=articles.html("\n\n".join(introduction) if introduction else WATERMARK),
                picture=Markup(_svg(chapter.picture)),
                caption=_caption(chapter, shown),
                scenario=chapter.picture.split(".")[0],
                own=[(one, heading(one)) for one in own if not one["name"].startswith(guide.AUDIT)],
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

A follower's high watermark is always a little old. That delay is what the next chapter is about: before 0.11 a
follower that became a follower again cut its log there, and lost records that were committed."""


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
