"""Pictures of runs in results/, as pictures are drawn today: most of the runs they are of are not kept.

Words above a picture are made anew from what is told of its run and from its own description. Labels of a broker's
lane give way to the marks that stand in it, names of panels wrap, and sends that came together share one label. The
legend has the marks that the picture has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Final

import results
from evidence.faults.network import BROKEN_LINE
from evidence.text import html
from judgement.report.availability import in_lines
from judgement.report.timeline_svg.brokers import free
from judgement.report.timeline_svg.clients import MOST
from judgement.report.timeline_svg.drawing import RIGHT, ROW, LabelRows, box, fitting, text, text_width
from judgement.report.timeline_svg.legend import entries, laid_out
from judgement.report.timeline_svg.words import anomaly_first, below, heading, wrapped
from pages.compact import compact

LOST_RECORDS: Final = re.compile(r"(\d[\d ]* acknowledged records?) LOST")
HEADLINE: Final = re.compile(r'<text x="16" y="([\d.]+)" class="headline">(.*?)</text>')
BELOW: Final = re.compile(r'<text x="16" y="([\d.]+)" class="muted" style="font-size:12px">(.*?)</text>\n?')
OWN_STYLE: Final = re.compile(r"<style>.*?</style>\n?", re.DOTALL)
TITLE: Final = re.compile(r'(<title id="[\w-]+-title">)(.*?)(</title>)')
ABOUT: Final = re.compile(r'<desc id="[\w-]+">(.*?) Lanes over time', re.DOTALL)
OLD_NAME: Final = re.compile(r"^(.* on [^ ]+): [a-z-]+$")
"""How a picture was headed when the verdict stood there."""


def drawn(name: str, outcome: str = "", also: str = "", *, deletes: bool = False, head: str = "") -> str:
    """A picture of results/ as it is drawn today, an <svg> element. `outcome` is what became of its run's records,
    `also` the title of its story, `deletes` whether the records that are gone were deleted by request, `head` what
    stands above all if not the outcome.
    """
    svg = bare(results.picture(name).read_text(encoding="utf-8"))
    svg = headed(svg, in_words(outcome, deletes=deletes), also, deletes=deletes, head=head)
    svg = explained(folded(inside(wrapped_names(apart(svg)))))
    return compact(_deleted(svg, deletes=deletes).replace(OLD_CUT, BROKEN_LINE.path))


def bare(svg: str) -> str:
    """The <svg> element of a picture without its style, which site.css has once for all of them.

    Pictures that were drawn before have the rules of then, all of which are still there.
    """
    return OWN_STYLE.sub("", svg[svg.index("<svg") :])


def in_words(outcome: str, *, deletes: bool) -> str:
    """What became of a run's records; those of a topic that was deleted by request are not called lost.

    >>> in_words("3 of 7 acknowledged records LOST; duplicate", deletes=True)
    '3 of 7 acknowledged records deleted by request; duplicate'
    """
    return LOST_RECORDS.sub(r"\1 deleted by request", outcome) if deletes else outcome


def headed(svg: str, outcome: str, also: str = "", *, deletes: bool = False, head: str = "") -> str:
    """A picture with the outcome above it, and below that what was seen, no line of which is cut; `also` stands below
    that if there is room. With a `head` that stands above it, and the outcome below that.
    """
    found = HEADLINE.search(svg)
    if not found or not outcome or not (about := ABOUT.search(svg)):
        return svg
    old = unescape(found[2])
    name = old.rpartition(" · ")[2] if " · " in old else OLD_NAME.sub(r"\1", old)
    told = heading(outcome, name)
    title = html(head or told)
    svg = TITLE.sub(lambda one: f"{one[1]}{title}{one[3]}", svg, count=1)
    svg = svg.replace(found[0], f'<text x="16" y="{found[1]}" class="headline">{title}</text>', 1)
    places = [one[1] for one in BELOW.finditer(svg)]
    lines = below(_deleted(unescape(about[1]), deletes=deletes))
    lines = ([told, *(lines if len(lines) == 1 else ())] if head else lines)[: len(places)]
    if also and len(lines) < len(places) and len(more := wrapped(f"{also}.")) == 1:
        lines += more
    new = "".join(
        f'<text x="16" y="{y}" class="muted" style="font-size:12px">{html(line)}</text>\n'
        for y, line in zip(places, lines, strict=False)
    )
    svg = BELOW.sub("", svg.replace(title + "</text>\n", f"{title}</text>\n\0", 1)).replace("\0", new)
    return _deleted(svg, deletes=deletes)


def _deleted(words: str, *, deletes: bool) -> str:
    if not deletes:
        return words
    for old, new in (("acked, then lost", "acked, then deleted"), (">lost record<", ">deleted record<"),
                     ("acknowledged records are gone", "acknowledged records were deleted by request")):  # fmt: skip
        words = words.replace(old, new)
    return words


KIND: Final = re.compile(r" × [\d ]+$")
DISAGREE: Final = "replicas disagree"


def of_bug(outcome: str, control: str) -> list[str]:
    """What a run with a bug shows and its control does not, the gravest first: anomalies, without how often each.

    >>> of_bug("all 7 acknowledged records kept; internal-poll-skip; torn-transaction × 2",
    ...        "all 7 acknowledged records kept")
    ['torn-transaction', 'internal-poll-skip']
    >>> of_bug("2 of 9 acknowledged records LOST; replicas disagree at 2 offsets", "2 of 9 acknowledged records LOST")
    ['replicas disagree']
    """
    seen = {_kind(part) for part in control.split("; ")}
    kinds = [_kind(part) for part in anomaly_first(outcome)]
    return [kind for kind in kinds if kind and kind not in seen]


def _kind(part: str) -> str:
    """An anomaly without how often it was seen; of what became of acknowledged records nothing."""
    if "acknowledged record" in part:
        return ""
    return DISAGREE if part.startswith(DISAGREE) else KIND.sub("", part)


def without_bug(outcome: str, shown: str) -> str:
    """What stands above the picture of a control: what it does not show of the bug, and what became of its records.

    >>> without_bug("2 of 9 acknowledged records LOST",
    ...             "2 of 9 acknowledged records LOST; replicas disagree at 2 offsets")
    'Without the bug the replicas agree'
    >>> without_bug("all 7 acknowledged records kept", "all 7 acknowledged records kept; torn-transaction")
    'Without the bug: no torn-transaction'
    >>> without_bug("all 5 acknowledged records kept", "5 of 5 acknowledged records LOST")
    'Without the bug: all 5 acknowledged records kept'
    """
    first = next(iter(of_bug(shown, outcome)), "")
    if first == DISAGREE:
        return "Without the bug the replicas agree"
    if first and LOST_RECORDS.search(shown) and not LOST_RECORDS.search(outcome):
        first = ""
    return f"Without the bug: {f'no {first}' if first else outcome}"


# The legend

OLD_CUT: Final = "h2.4m3.2 0h2.4m-4.6 -3l1.2 6"
"""The sign of a cut as it was drawn, which looks like a plus."""
ENTRY: Final = re.compile(
    r'^<g transform="translate\(([\d.]+) ([\d.]+)\)">.*?class="tiny muted">[^<]*</text></g>\n', re.MULTILINE
)

OF_LANES: Final = ">process up</text>"
"""In the legend of each picture of lanes."""
LEFT_OUT: Final = re.compile(r'<text x="16" y="([\d.]+)" class="tiny muted">[^<]*not drawn')
"""The line below a legend on what was too much."""


def explained(svg: str) -> str:
    """A picture of lanes whose legend has the marks that stand in it, and no others. Pictures of what clients saw and
    of offsets have legends of their own, and stay as they are.
    """
    old = list(ENTRY.finditer(svg))
    if not any(OF_LANES in one[0] for one in old):
        return svg
    tops = [float(one[2]) for one in old]
    plain = ENTRY.sub("", svg)
    name = re.search(r'id="([\w-]+)-title"', svg)
    prefix = name[1] if name else "kc"
    groups, last = laid_out(entries(plain, lambda pattern: f"url(#{prefix}-{pattern})"), min(tops))
    at = old[0].start()
    svg = svg[:at] + "".join(f"{one}\n" for one in groups) + ENTRY.sub("", svg[at:])
    rows = len(set(tops))
    return taller(svg, (last + 1 - rows) * ROW, max(tops) + 1) if last + 1 > rows else svg


def taller(svg: str, by: float, below_y: float) -> str:
    """A picture with room for more rows of its legend: what lies below a height moves down."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)" width="[\d.]+" height="[\d.]+"', svg)
    if not found:
        return svg
    left_out = LEFT_OUT.search(svg)
    if left_out and float(left_out[1]) > below_y:
        moved = left_out[0].replace(f'y="{left_out[1]}"', f'y="{float(left_out[1]) + by:g}"')
        svg = svg.replace(left_out[0], moved, 1)
    width, tall = found[1], f"{float(found[2]) + by:.0f}"
    return svg.replace(found[0], f'viewBox="0 0 {width} {tall}" width="{width}" height="{tall}"', 1)


# Labels of a broker's lane

BAND: Final = re.compile(
    r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="14" rx="2" class="(?:up|down|frozen)"'
)
LABEL: Final = re.compile(
    r'^(?:<rect x="[\d.]+" y="[\d.]+" width="[\d.]+" height="11" rx="2" class="plate"/>\n)?'
    r'<text x="([\d.]+)" y="([\d.]+)" class="((?:on-up )?tiny)">([^<]*)</text>\n',
    re.MULTILINE,
)
MARK: Final = re.compile(
    r'<g><title>[^<]* for dead \([^<]*</title><rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="11"'
)
OF_CUTS: Final = frozenset({"cut", "delay", "loss", "slow"})


def apart(svg: str) -> str:
    """A picture in which no label of a process lies under a mark: it stands beside it, is shorter, or is left out."""
    marks = [(float(x), float(y) + 9, float(x) + float(width)) for x, y, width in MARK.findall(svg)]
    bands = [(float(x), float(y) + 10.5, float(x) + float(width)) for x, y, width in BAND.findall(svg)]

    def placed(found: re.Match[str]) -> str:
        x, y, words = float(found[1]), float(found[2]), unescape(found[4])
        taken = sorted((left, right) for left, at, right in marks if abs(at - y) < 1)
        if all(right <= x or left >= x + text_width(words, 10) + 2 for left, right in taken):
            return found[0]
        own = next(((left, right) for left, at, right in bands if abs(at - y) < 1 and 0 < x - left < 7), None)
        if own is None or words in OF_CUTS:
            return ""
        room = ((left, fitting(right - left, words, words.partition(":")[0], size=10)) for left, right in
                free(*own, taken))  # fmt: skip
        left, shown = next(((left, shown) for left, shown in room if shown), (0.0, ""))
        if not shown:
            return ""
        if found[3] != "tiny":
            return text(left + 5, y, shown, class_=found[3]) + "\n"
        plate = box(left + 3, y - 9, text_width(shown, 10) + 5, 11, "plate")
        return f"{plate}\n{text(left + 6, y, shown, class_='tiny')}\n"

    return LABEL.sub(placed, svg)


NAME: Final = re.compile(r'<text x="16" y="([\d.]+)" class="lane-name">([^<]*)</text>')

SCALE: Final = re.compile(r'<text x="[\d.]+" y="([\d.]+)" class="muted tiny" text-anchor="end">\d+/s</text>')
LOWER: Final = 8.0
"""So many pixels a panel's name stands lower than it did, so that it is below the number of its scale."""


def wrapped_names(svg: str) -> str:
    """A picture in which names of panels are as narrow as the room beside their plot, and below its scale."""

    scales = {float(y) for y in SCALE.findall(svg)}

    def lines(found: re.Match[str]) -> str:
        y = float(found[1])
        y += LOWER if y - 6 in scales else 0
        parts = in_lines(unescape(found[2]))
        return "\n".join(text(16, y + 14 * at, part, class_="lane-name") for at, part in enumerate(parts))

    return NAME.sub(lines, svg)


PAUSE: Final = re.compile(
    r'<text x="([\d.]+)" (y="[\d.]+" class="halo tiny">)(no (?:writes|reads) for [\d.]+ s)</text>'
)


def inside(svg: str) -> str:
    """A picture in which the words of a pause end where the picture does."""
    return PAUSE.sub(
        lambda one: f'<text x="{min(float(one[1]), RIGHT - text_width(one[3], 10)):.1f}" {one[2]}{one[3]}</text>', svg
    )


# Sends that share a label

SEND: Final = re.compile(
    r"^<g><title>([\d.]+) s: ([\w-]+) sends m(\d+) to ([^ ]+) with acks=[^;]*; ([^<]*)</title>(.*)</g>"
    r'<text x="([\d.]+)" y="([\d.]+)" class="([^"]*)">([^<]*)</text>\n',
    re.MULTILINE,
)
SPAN: Final = re.compile(
    r'^<g><rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="10" rx="5" class="span">.*?</rect>'
    r'<text x="[\d.]+" y="[\d.]+" class="halo"[^>]*>([^<]*)</text></g>\n',
    re.MULTILINE,
)
TOGETHER_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Send:
    """A send of a picture, with its marks and its label."""

    source: str
    at_s: float
    process: str
    number: int
    place: str
    how: str
    y: float
    left: float
    right: float
    label: str


def folded(svg: str) -> str:
    """A picture in which sends with one outcome that came together share a row and a label, if there are very many."""
    sends = list(_sends(svg))
    if len(sends) <= MOST:
        return svg
    rows, found, top = LabelRows(), list[str](), min(one.y for one in sends)
    for together in _together(sends):
        words = _label(together)
        begin, end = min(one.left for one in together), max(one.right for one in together)
        leftward = end + 8 + text_width(words) > RIGHT
        place = (begin - 16 - text_width(words), end) if leftward else (begin - 6, end + 16 + text_width(words))
        y = top + rows.place(*place) * ROW
        found += [_moved(_marks(one), y - one.y) for one in together]
        found.append(text(place[0] if leftward else end + 8, y + 4, words, class_="halo") + "\n")
    for span in SPAN.finditer(svg):
        left, y, right = float(span[1]), float(span[2]) + 5, float(span[1]) + float(span[3])
        row = top + rows.place(left, right + 16 + text_width(span[4])) * ROW
        found.append(_moved(span[0], row - y))
    old = max(one.y for one in sends)
    svg = SPAN.sub("", svg).replace(sends[0].source, "\0", 1)
    for one in sends[1:]:
        svg = svg.replace(one.source, "", 1)
    return _raised(svg, old, old - (top + (rows.count - 1) * ROW)).replace("\0", "".join(found))


def _sends(svg: str) -> Iterator[Send]:
    for found in SEND.finditer(svg):
        xs = [float(x) for x in re.findall(r'\b(?:x1|x2|cx)="([\d.]+)"', found[6])]
        xs += [float(x) + 3.5 for x in re.findall(r'd="M([\d.]+)', found[6])]
        yield Send(
            source=found[0],
            at_s=float(found[1]),
            process=found[2],
            number=int(found[3]),
            place=found[4],
            how=re.sub(r"( at offset)? \d+ ms later.*|at offset.*", "", found[5]).strip(),
            y=float(found[8]) - 4,
            left=min(xs),
            right=max(xs),
            label=unescape(found[10]),
        )


def _together(sends: Sequence[Send]) -> Iterable[list[Send]]:
    found: list[list[Send]] = []
    for one in sends:
        last = found[-1][-1] if found else None
        alike = last and "–" not in one.label + last.label
        if (
            alike
            and last
            and (last.process, last.how, last.number + 1) == (one.process, one.how, one.number)
            and one.at_s - last.at_s < TOGETHER_S
        ):
            found[-1].append(one)
        else:
            found.append([one])
    return found


def _label(together: Sequence[Send]) -> str:
    first, last = together[0], together[-1]
    if len(together) == 1:
        return first.label
    rest = first.label.partition(" ")[2]
    topics = sorted({one.place.rpartition("-")[0] for one in together})
    where = f"to {len({one.place for one in together})} partitions of {' and '.join(topics)}"
    return f"m{first.number}–{last.number} {where}" + ("" if rest.startswith("@") else f" {rest}")


def _marks(one: Send) -> str:
    return one.source[: one.source.rindex("<text")] + "\n"


Y: Final = re.compile(r'\b(y|y1|y2|cy)="([\d.]+)"')
PATH_Y: Final = re.compile(r'(d="M[\d.]+ )([\d.]+)')
GROUP_Y: Final = re.compile(r"(translate\([\d.]+ )([\d.]+)(\))")


def _moved(element: str, by: float, below: float = 0.0) -> str:
    """An element, or several, moved down by so many pixels, as far as they lie below a height."""

    def new(value: str) -> str:
        return f"{float(value) + by:.1f}".removesuffix(".0") if float(value) > below else value

    element = Y.sub(lambda one: f'{one[1]}="{new(one[2])}"', element)
    element = PATH_Y.sub(lambda one: one[1] + new(one[2]), element)
    return GROUP_Y.sub(lambda one: one[1] + new(one[2]) + one[3], element)


def _raised(svg: str, old: float, by: float) -> str:
    """A picture without so many pixels above a height: what lies below it moves up, what spans it gets shorter."""
    height = re.compile(r'(<rect [^>]*?y="([\d.]+)"[^>]*? height=")([\d.]+)(")')

    def shorter(found: re.Match[str]) -> str:
        top, size = float(found[2]), float(found[3])
        spans = top <= old < top + size
        return f"{found[1]}{size - by:.0f}{found[4]}" if spans else found[0]

    svg = _moved(height.sub(shorter, svg), -by, old + 1)
    box_of = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)" width="[\d.]+" height="[\d.]+"', svg)
    if not box_of:
        return svg
    width, tall = box_of[1], f"{float(box_of[2]) - by:.0f}"
    return svg.replace(box_of[0], f'viewBox="0 0 {width} {tall}" width="{width}" height="{tall}"', 1)
