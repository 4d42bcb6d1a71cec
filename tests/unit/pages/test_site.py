"""The site: it can be made whole, no link of it is dead, its colours can be read, its numbers are of the data."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import PurePosixPath
from typing import Any

import pytest

import results
from evidence.releases import numbers
from harness.cluster import apache
from harness.scenario import all_scenarios
from judgement.rates import telling
from pages import findings, titles
from pages.atlas import columns, events, lines, model, moving
from pages.deviations import shortened
from pages.scenarios import described as describe
from pages.site import articles, build, chapters, finding_articles, scenarios, settings, words
from pages.site.atlas import SCRIPT as ATLAS_SCRIPT
from pages.site.links import NAMES, linked
from pages.site.render import NAV, TEMPLATES
from results.explained import by_run

BIGGEST = 14_800_000
"""A fifth of a megabyte below the limit of 15 MB: a page more must not be what exceeds it."""
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data() -> model.Data:
    return model.load()


@pytest.fixture(scope="module")
def atlases(data: model.Data) -> list[model.Atlas]:
    return [model.atlas(line, data) for line in lines.every()]


@pytest.fixture(scope="module")
def made(data: model.Data) -> dict[str, str]:
    return build.pages(data=data)


class Page(HTMLParser):
    """What a page links, and the places in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.ids.add(str(found["id"]))
        for name in ("href", "src", "action"):
            if found.get(name) is not None:
                self.links.append(str(found[name]))


def dead(made: dict[str, str]) -> Iterator[tuple[str, str]]:
    parsed = {path: Page(text) for path, text in made.items() if path.endswith(".html")}
    there = made.keys() | build.DATA.keys()
    for path, one in parsed.items():
        for link in one.links:
            if "://" in link:
                continue
            target, _, anchor = link.partition("#")
            parts: list[str] = list(PurePosixPath(path).parent.parts)
            for part in PurePosixPath(target).parts:
                parts = parts[:-1] if part == ".." else [*parts, part]
            where = "/".join(parts) if target else path
            if where not in there or (anchor and where in parsed and anchor not in parsed[where].ids):
                yield path, link


def test_no_link_inside_is_dead(made: dict[str, str]) -> None:
    assert list(dead(made)) == []


def test_a_dead_link_would_be_found() -> None:
    pages = {"a.html": '<a href="b.html#x">b</a><a href="c.html">c</a>', "b.html": "<p id=y>"}
    assert list(dead(pages)) == [("a.html", "b.html#x"), ("a.html", "c.html")]


def test_every_page_of_the_navigation_and_of_each_scenario_is_there(made: dict[str, str]) -> None:
    assert {path for _, path in NAV} <= made.keys()
    assert {f"scenarios/{name}.html" for name in all_scenarios()} <= made.keys()
    assert {f"atlas/{line.name}.html" for line in lines.every()} <= made.keys()
    assert len(chapters.CHAPTERS) == 10
    generic = {name for name, made in all_scenarios().items() if not made.exhibit and not name.startswith("audit-")}
    assert titles.TITLES.keys() <= generic, "a title of a scenario that is gone"
    assert chapters.missing() == []


def test_the_site_is_small(made: dict[str, str]) -> None:
    assert sum(len(text.encode()) for text in made.values()) < BIGGEST


def test_runs_that_did_not_end_as_documented_stand_with_their_cause(made: dict[str, str], data: model.Data) -> None:
    """The page of their scenario has why, and each reason in a clause."""
    known = by_run()
    for name, of in data.runs.items():
        bad = [line for case in of["cases"].values() for cell in case.values() for line in cell["not_good"]]
        page = re.sub(r"<[^>]+>", "", made.get(f"scenarios/{name}.html", "")) if bad else ""
        for line in bad if page else ():
            run, _, words = line.partition(": ")
            assert run in page
            assert known[run].why in unescape(page)
            assert shortened(words) in unescape(page)


def test_every_jira_and_kip_is_a_link(made: dict[str, str]) -> None:
    for path, text in made.items():
        if path.endswith(".html"):
            assert linked(text, frozenset(all_scenarios()), "../" * path.count("/")) == text, path


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<p>KAFKA-1211</p>", "browse/KAFKA-1211"),
        ("<p>by KIP-101.</p>", "display/KAFKA/KIP-101+-+Alter+Replication+Protocol"),
        ("<p>by KIP-36.</p>", "KIP-36%22"),
        ("<code>min.insync.replicas</code>", "#brokerconfigs_min.insync.replicas"),
        ("<code>acks</code>", "#producerconfigs_acks"),
    ],
)
def test_what_becomes_a_link(text: str, told: str) -> None:
    assert told in linked(text)


def test_a_setting_is_a_link_where_a_section_names_it_first() -> None:
    row, title = "<td><code>min.insync.replicas</code>", "<h3>More</h3>"
    assert linked(row + row + title + row).count("<a ") == 2
    assert linked(row + row).index("<a ") < len(row)
    assert linked("<p>KAFKA-1211, KAFKA-1211</p>").count("<a ") == 2


@pytest.mark.parametrize(
    "text", ["<p>it acks all</p>", "<pre>KAFKA-1211</pre>", "<p>RAFKA-12</p>", "<p>server.log</p>"]
)
def test_what_does_not(text: str) -> None:
    assert linked(text) == text
    assert NAMES.pattern


def test_no_page_says_that_nothing_was_run_where_runs_are_on_record(made: dict[str, str], data: model.Data) -> None:
    for name in all_scenarios():
        ran = any(
            cell["runs"] for of in (data.runs.get(name) or {"cases": {}})["cases"].values() for cell in of.values()
        )
        if ran:
            assert "has not been run on any version" not in made[f"scenarios/{name}.html"], name


def test_figures_of_a_page_are_those_of_the_model(made: dict[str, str], atlases: list[model.Atlas]) -> None:
    for atlas in atlases:
        line = atlas.line
        text = made[f"atlas/{line.name}.html"]
        index = re.search(rf'<a href="{line.name}.html">.*?</tr>', made["atlas/index.html"])
        assert index
        shown = re.findall(r'<td class="number">(.*?)</td>', index[0])
        assert shown == [*(f"{one.count} of {one.of}" for one in atlas.figures.values()), str(len(atlas.bugs))], (
            line.name
        )
        assert text.count('<td class="c-acks-1 lost') == sum(
            atlas.losing(client, "acks-1").count for client in atlas.grids
        )
        few = sum(cell.few for client in atlas.grids for cell in atlas.cells(client))
        assert len(re.findall(r'<td class="c-[\w-]+ \w+ few">', text)) == few, line.name


def visible(html: str) -> str:
    """What a reader sees of a page: no styles, no pictures."""
    plain = re.sub(r"<(style|svg|script)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", " ", plain))


def test_every_number_of_a_grid_is_of_its_runs(made: dict[str, str], atlases: list[model.Atlas]) -> None:
    """Each cell: in how many runs of how many, and the records of its worst run."""
    for atlas in atlases:
        page = made[f"atlas/{atlas.line.name}.html"]
        cells = re.findall(r'<td class="c-[\w-]+ \w+(?: few)?">(.*?)</td>', page, re.DOTALL)
        expected = [cell for client in columns.CLIENTS for _, faults in events.grouped() for fault in faults
                    for cell in atlas.grids[client][fault]]  # fmt: skip
        assert len(cells) == len(expected)
        for text, cell in zip(cells, expected, strict=True):
            found = [int(one) for one in re.findall(r"\d+", visible(text).replace("×2", ""))]
            if cell.cell is None:
                assert found == []
                continue
            field = model.COUNTS.get(cell.worst, "")
            seen = [int(getattr(run, field)) for run in cell.runs if field and getattr(run, field)]
            counts = [len(cell.runs)] if not field else [len(seen), len(cell.runs), max(seen)]
            assert found[: len(counts)] == counts, (atlas.line.name, cell.fault, cell.column.id, text)


def test_every_other_number_of_an_atlas_page_is_of_the_model(made: dict[str, str], atlases: list[model.Atlas]) -> None:
    for atlas in atlases:
        text = visible(made[f"atlas/{atlas.line.name}.html"])
        for one in atlas.rows:
            if one.cell.runs:
                assert words.row_detail(one.cell, atlas.line.newest) in text
        for pause in atlas.pauses:
            assert f"{pause.median_s:.1f} s" in text
            assert f"{pause.least_s:.1f}–{pause.most_s:.1f}" in text
        for bug in atlas.bugs:
            assert bug.shown in text
        if atlas.line.newest != atlases[0].line.newest:
            for sentence in moving.sentences(moving.compare(atlas, atlases[0])):
                assert one_line(sentence) in one_line(text), atlas.line.name
        for setting in atlas.settings:
            assert setting.default in text


def test_every_number_on_home_is_of_the_data(
    made: dict[str, str], data: model.Data, atlases: list[model.Atlas]
) -> None:
    """Without the sentences that are made of the data, the versions that it links, and the picture's own words."""
    text = one_line(visible(made["index.html"]))
    releases = sorted(apache.releases(), key=numbers)
    told = [*build.findings_in_words(data, atlases), build.counts_in_words(data), build.since_epochs(data)]
    told += [f"{releases[0].rpartition('.')[0]} to {releases[-1].rpartition('.')[0]}", *build.HERO.values()]
    for sentence in map(one_line, told):
        assert sentence in text
        text = text.replace(sentence, "")
    for label in sorted((line.label for line in lines.every() if line.name in build.SHORTEST), key=len, reverse=True):
        text = text.replace(label, "")
    assert re.findall(r"\S*\d\S*", text) == ["m3;", "2.0."], "m3 is the picture's, 2.0 the licence's"


def one_line(text: str) -> str:
    return re.sub(r"\s*([.,;:)=])", r"\1", re.sub(r"\s+", " ", text)).replace("( ", "(")


def test_counts_of_findings_are_the_ledgers(made: dict[str, str], data: model.Data) -> None:
    for path, text in made.items():
        if not path.startswith("findings/") or path.endswith("index.html"):
            continue
        for version, good, runs in re.findall(r"</th><td>([\w.-]+)</td><td><b>(\d+) of (\d+)</b>", text):
            command = re.findall(r"kafka-chaos run(?:</[^>]+>| )*([\w-]+)", visible(text))
            cells = [
                of[version]
                for scenario in command
                for of in (data.runs.get(scenario) or {"cases": {}})["cases"].values()
                if version in of
            ]
            assert any((str(cell["good"]), str(telling(cell))) == (good, runs) for cell in cells), (path, version)
    assert finding_articles.SIDES[1][0] == "control"


def test_home_has_the_findings_of_the_data(made: dict[str, str], data: model.Data, atlases: list[model.Atlas]) -> None:
    found = build.findings_in_words(data, atlases)
    assert len(found) == 5
    home = unescape(re.sub(r"<[^>]+>", "", made["index.html"]))
    for text in found:
        assert text in home
    counts = build.home_facts(data)
    assert f"{counts['scenarios']} scenarios" in home
    assert str(counts["started"])[:1] in home


def test_the_answer_names_what_is_lost(data: model.Data) -> None:
    atlas = model.atlas(lines.asked("2.8")[0], data)
    acks_1 = next(one for one in atlas.columns if one.id == "acks-1")
    told = words.lost(atlas, "java", acks_1)
    figure = atlas.figures[columns.ACKS_1]
    assert told.first == f"With acks=1, {figure.count} of {figure.of} measured events lose acknowledged records."
    assert len(told.events) == figure.count == 9
    flushed = atlas.columns[-1]
    none = atlas.figures[columns.FLUSHED].of
    assert words.lost(atlas, "java", flushed) == words.Answer(
        heading="What can be lost",
        first="With acks=all, idempotent and min.insync.replicas=2, flush.messages=1, none of "
        f"{none} measured events lost acknowledged records.",
    )


def test_the_answers_stand_at_the_top_of_a_page(made: dict[str, str], atlases: list[model.Atlas]) -> None:
    """Of each column and client; the release and what no setting prevents once for each client."""
    for atlas in atlases:
        text = one_line(visible(made[f"atlas/{atlas.line.name}.html"]))
        top = text[: text.index("In a cell:")]
        for client in columns.CLIENTS:
            for column in atlas.columns:
                for one in words.answers(atlas, client, column):
                    for part in (one.first, one.rest, *one.events):
                        assert one_line(part) in top, (atlas.line.name, client, column.id)


def test_a_row_that_loses_nothing_has_no_advice(made: dict[str, str], atlases: list[model.Atlas]) -> None:
    for atlas in atlases:
        text = made[f"atlas/{atlas.line.name}.html"]
        rows = text[text.index('id="events"') : text.index('id="set"')]
        advised = len(re.findall(r"<tr><th scope", rows))
        assert advised == sum(one.cell.worst == model.LOST for one in atlas.rows), atlas.line.name
        assert rows.count('class="tag kept') == rows.count('class="tag hole') == 0


def test_labels_stand_in_cards_where_heads_are_hidden(made: dict[str, str]) -> None:
    text = made["atlas/2.8.html"]
    for label in ("set: ", "default: ", "affects: ", "fixed in: "):
        assert f'<span class="label">{label}</span>' in text
    css = (TEMPLATES / "site.css").read_text()
    assert ".label { display: none; }" in css
    assert ".label { display: inline;" in css[css.index("@media screen and (max-width: 44rem)") :]


def colours(css: str) -> Iterator[tuple[str, dict[str, str]]]:
    for block in re.findall(r":root \{(.*?)\}", css, re.DOTALL):
        values = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})", block))
        if "lost" in values:
            yield block[:20], values


def luminance(colour: str) -> float:
    plain = colour[1:]
    whole = "".join(2 * one for one in plain) if len(plain) == 3 else plain
    parts = [int(whole[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_text_can_be_read_on_its_ground_in_light_dark_and_print() -> None:
    schemes = list(colours((TEMPLATES / "site.css").read_text()))
    assert len(schemes) == 3
    for _, of in schemes:
        pairs = [("ink", "paper"), ("muted", "paper"), ("muted", "soft"), ("link", "paper"), ("link", "soft")]
        pairs += [(f"{name}-ink", name) for name in ("lost", "twice", "order", "refused", "kept", "hole")]
        for ink, ground in pairs:
            assert contrast(of[ink], of[ground]) >= 4.5, (ink, ground, of[ink], of[ground])


def test_no_outcome_is_told_by_colour_alone() -> None:
    assert len(set(model.SYMBOLS.values())) == len(model.SYMBOLS) == len(set(model.WORDS.values()))


def test_pages_need_no_script(made: dict[str, str]) -> None:
    """Three kinds have one, and say the same without it: the search is a list, a lesson has every frame below another,
    and a page of the Atlas begins with the default of its release.
    """
    with_one = {path for path, text in made.items() if "<script" in text}
    lessons = {f"learn/{chapter.id}.html" for chapter in chapters.CHAPTERS}
    lines_of = {f"atlas/{line.name}.html" for line in lines.every()}
    assert with_one == {"search.html"} | lessons | lines_of
    for path in lines_of:
        assert re.findall(r"<script[^>]*>", made[path]) == ['<script src="atlas.js" defer>']
    assert len(made[ATLAS_SCRIPT]) < 2000
    for path in lessons:
        assert re.findall(r"<script[^>]*>", made[path]) == ['<script src="movie.js" defer>']
        assert made[path].count("<li") > made[path].count('<p class="off"')
    assert len(made[chapters.SCRIPT]) < 4000


def test_log_lines_are_searched_and_copied_files_are_not() -> None:
    text = (
        '<h2 id="what-log-lines-mean">x</h2><table><tr><th>log line</th></tr><tr><td>any of: <code>a b</code>, '
        "<code>c</code></td><td>it broke</td></tr></table><h3>y</h3><table><tr><td><code>d</code></td><td>e</td></tr>"
    )
    (one,) = build.entries_of_lines(text)
    assert (one.title, one.path) == ("Log line: any of: a b, c", "lost.html#what-log-lines-mean")
    assert (one.first, one.main) == ("it broke", True)
    assert list(build.entries_of_lines("<h2>other</h2>")) == []


def test_pages_of_the_navigation_are_main_in_a_search() -> None:
    made = {name: f"<title>{name} · kafka-chaos</title>" for name in ("atlas/index.html", "atlas/2.8.html", "x.css")}
    found = {one.path: one for one in build.entries_of_pages(made)}
    assert found.keys() == {"atlas/index.html", "atlas/2.8.html"}
    assert [found[path].main for path in found] == [False, True]
    assert all("acks=1" in one.words for one in found.values())


def test_a_document_keeps_its_links() -> None:
    text = "[a](b.md#c) [d](../README.md) [e](code.py) [f](https://x.org)"
    found = articles.document(text, "docs/z.md", {"docs/b.md": "reference/b.html", "README.md": "index.html"}, "../")
    assert '<a href="../reference/b.html#c">a</a>' in found
    assert '<a href="../index.html">d</a>' in found
    assert " e " in found
    assert '<a href="https://x.org">f</a>' in found


def test_no_page_shows_a_comment_of_its_source(made: dict[str, str]) -> None:
    """Comments mark what is generated in a document; a block of code may show one."""
    for path, text in made.items():
        if path.endswith(".html"):
            plain = re.sub(r"<(pre|code)\b.*?</\1>", " ", text, flags=re.DOTALL)
            assert "&lt;!--" not in plain, path
    assert "end of figures" in (build.DOCS / "trust.md").read_text()


def test_comments_stay_in_blocks_of_code() -> None:
    text = "<!-- a -->\none\n\n```xml\n<!-- b -->\n```\n<!-- c -->two\n"
    assert articles.without_comments(text) == "\none\n\n```xml\n<!-- b -->\n```\ntwo\n"


def test_a_long_document_begins_with_its_sections(made: dict[str, str]) -> None:
    text = made["settings.html"]
    anchors = re.findall(r'<h2 id="([^"]+)"', text)
    listed = re.search(r'<nav class="contents".*?</nav>', text, re.DOTALL)
    assert listed
    assert re.findall(r'href="#([^"]+)"', listed[0]) == anchors
    assert listed.start() < text.index("<h2")
    short = articles.document("# a\n\n## b\n\n## c\n", "docs/a.md", {}, "")
    assert "contents" not in short


def test_the_answer_of_an_atlas_page_stands_before_all_tables(made: dict[str, str]) -> None:
    for line in lines.every():
        text = made[f"atlas/{line.name}.html"]
        places = [text.index(one) for one in ('class="answers"', 'class="legend"', 'class="grids"')]
        assert places == sorted(places), line.name


def test_a_bug_that_a_move_names_leads_to_its_page(made: dict[str, str], atlases: list[model.Atlas]) -> None:
    """Bugs without a JIRA too."""
    old = next(one for one in atlases if one.line.name == "2.8")
    move = moving.compare(old, atlases[0])
    text = made["atlas/2.8.html"]
    listed = text[text.index('id="move"') : text.index('id="bugs"')]
    assert move.added
    for bug in (*move.gone, *move.added, *move.stay):
        assert f'<a href="../scenarios/{bug.scenario}.html">{bug.id}</a>' in listed


def test_the_legend_of_a_scenario_has_its_symbols_and_no_others() -> None:
    few = [("default", [("4.3.1", "kept few", "✓ kept, 1 of 1", ""), ("3.9.2-pinned", "lost", "✕ lost in 5 of 5", "")])]
    found = " ".join(scenarios.legend(few))
    for one in ("✕ lost", "✓ kept", "Dashed", "“-pinned”"):
        assert one in found
    for one in ("▲", "!", "–", "-kraft", "-to-", "no verdict"):
        assert one not in found
    pair = " ".join(scenarios.legend([("plain", [("2.4.1-to-3.9.2-zk", "kept", "✓ kept, 5 of 5", "")])]))
    assert "“-to-”: a cluster of the first release" in pair
    assert "“-zk”" in pair


def test_every_symbol_of_a_table_has_a_meaning(data: model.Data) -> None:
    for one in describe()["scenarios"]:
        for _, cells in scenarios.table(one, data):
            assert {words[0] for _, _, words, _ in cells} <= scenarios.MEANINGS.keys(), one["name"]


def test_home_leads_to_each_kind_of_reader(made: dict[str, str]) -> None:
    cards = re.search(r'<ul class="cards">.*?</ul>', made["index.html"], re.DOTALL)
    assert cards
    wanted = {"lost.html", "atlas/index.html", "ci.html", "learn/index.html", "learn/truncation.html"}
    assert wanted <= set(re.findall(r'href="([^"]+)"', cards[0]))


def test_a_long_proof_stands_behind_its_line(made: dict[str, str]) -> None:
    """The log line that proves a step of the clock is 500 letters long."""
    story = re.search(
        r"<tr>(?:(?!</tr>).)*wall clock of broker-2(?:(?!</tr>).)*</tr>", made["scenarios/clock-step.html"]
    )
    assert story
    line, _, proof = story[0].partition("<details>")
    assert len(re.sub(r"<[^>]+>", "", line)) < 150
    assert "before_ms" in proof


def test_latencies_say_what_a_client_waits(data: model.Data) -> None:
    old, new = (model.atlas(lines.asked(name)[0], data) for name in ("2.8", "4.3"))
    assert words.linger("java", old) == ""
    assert (
        words.linger("java", new) == words.linger("librdkafka", old) == "Up to 5 ms of it is linger.ms, at its default."
    )


def test_a_bugs_page_tells_releases_with_it_from_those_without(made: dict[str, str], data: model.Data) -> None:
    """KIP-279's runs lose records on both: the bug is that replicas differ afterwards."""
    for one in describe()["scenarios"]:
        if not one["exhibit"]:
            continue
        text = one_line(visible(made[f"scenarios/{one['name']}.html"]))
        sides = scenarios.bug_in_runs(one, data)
        assert [heading for heading, *_ in sides][:1] == ["With the bug"]
        for heading, versions, sentence in sides:
            listed = ", ".join(f"{version} ({count})" for version, count in versions)
            assert one_line(f"{heading}: {listed}. {sentence}") in text, one["name"]
    kip = next(one for one in describe()["scenarios"] if one["name"] == "museum-kip-279")
    (_, with_it, _), (_, without, said) = scenarios.bug_in_runs(kip, data)
    assert ([version for version, _ in with_it], [version for version, _ in without]) == (["1.1.1"], ["2.2.2"])
    assert said.endswith("the replicas agree.")
    assert scenarios.bug_in_runs(kip, data)[0][2] == "Runs show leader-epoch-regression, replica-divergence."


def test_a_bugs_own_anomaly_is_told_first() -> None:
    cell = {"runs": 5, "good": 5, "lost": 0, "verdicts": {"as-documented": 5}}
    seen = {"seen": {"correlated-crash": 5, "resurrected": 5}}
    assert scenarios.kind(cell | seen, required=["resurrected"])[1].startswith("▲ resurrected")


def test_a_finding_names_the_versions_that_its_counts_are_of(data: model.Data) -> None:
    """As if the runs of one version told nothing: they all do at times."""
    runs = copy.deepcopy(data.runs)
    every = findings.all_counted(runs)
    one = next(one for one in every if one["seen"]["scenario"] == "museum-observers-spin")
    cells = results.cells_of(runs, "museum-observers-spin", one["seen"]["case"] or "default")
    silent, *_ = one["seen"]["on"]
    assert silent in finding_articles.abstract(one, data)
    cell: Any = cells[silent]
    cell.update({"good": 0, "seen": {}, "verdicts": {"unknown": cell["runs"]}})
    assert not telling(cell)
    assert silent not in finding_articles.abstract(one, replace(data, runs=runs))


@pytest.mark.parametrize(
    ("control", "told"),
    [
        ({"scenario": "s", "case": "a", "on": ["1", "2"]}, "The control is the same sequence on other releases: 1, 2."),
        ({"scenario": "s", "case": "b", "on": ["3"]}, "The control is another sequence of the same scenario, case b."),
        ({"scenario": "t", "case": "default", "on": ["3"]}, "The control is another sequence of t."),
    ],
)
def test_what_a_control_is_is_told(control: dict[str, Any], told: str) -> None:
    assert finding_articles.control({"seen": {"scenario": "s", "case": "a", "on": ["3"]}, "control": control}) == told


def test_a_command_names_a_version_that_was_run(data: model.Data) -> None:
    for one in findings.all_counted(data.runs):
        for side, _ in finding_articles.SIDES:
            version = finding_articles.command(one[side], data).split("--version ")[1]
            cell = results.cells_of(data.runs, one[side]["scenario"], one[side]["case"])[version]
            assert telling(cell), (one["id"], version)


def test_counts_and_pictures_of_another_case_say_so(made: dict[str, str]) -> None:
    other = visible(made["findings/deleted-records-return.html"])
    assert "The page on Kafka bugs counts the case default on its own versions: " in other
    assert "This run is of the case default. No picture of case one-broker is stored." in other
    same = visible(made["findings/malformed-checkpoint.html"])
    assert "counts the case default" not in same
    assert "No picture of" not in same
    assert "JIRA itself was not searched." in other


def test_few_runs_are_told_of_each_side_by_itself(data: model.Data) -> None:
    (one,) = [each for each in findings.all_counted(data.runs) if each["id"] == "duplicate-id-counts-as-replica"]
    few = {
        side: [
            on
            for on in one[side]["on"]
            if 0
            < telling(results.cells_of(data.runs, one[side]["scenario"], one[side]["case"])[on])
            < finding_articles.FEW
        ]
        for side, _ in finding_articles.SIDES
    }
    told = finding_articles.limits(one, data)
    assert few["control"]
    assert f"control: {', '.join(few['control'])}" in told
    assert ("with the fault: " in told) is bool(few["seen"])


def test_what_no_document_says_stands_under_one_heading(made: dict[str, str], data: model.Data) -> None:
    index = visible(made["findings/index.html"])
    below = index[index.index("What documents say, and few expect") : index.index("Taken back")]
    assert "node.id" not in below
    assert all(text in one_line(below) for text, _ in build.documented_in_words(data, build.measured(data)))
    assert 'scenarios/audit-rolling-restart.html">The runs' in made["findings/index.html"]


def test_releases_that_truncate_to_the_high_watermark_have_it_in_the_table(
    made: dict[str, str], data: model.Data
) -> None:
    rows = re.findall(r'<tr><th scope="row"><a href="atlas/[^"]+#bugs">([^<]+)</a>.*?</tr>', made["bugs.html"])
    text = made["bugs.html"]
    lost = {name for name, cell in data.runs["double-failover"]["cases"]["default"].items() if cell["lost"]}
    assert "0.10.2.2" in lost & set(rows)
    for release in rows:
        row = text[text.index(f'#bugs">{release}</a>') :].split("</tr>")[0]
        assert ("double-failover.html" in row) is (release in lost), release


def test_the_index_of_documents_says_nothing_of_a_checkout(made: dict[str, str]) -> None:
    text = made["reference/index.html"]
    assert "built</strong>" not in text
    assert 'href="../learn/index.html">' in text
    assert "(**built**)" in (build.DOCS / "README.md").read_text()


@pytest.mark.parametrize("fault", events.EVENTS)
def test_advice_against_an_event_is_what_its_cells_showed(fault: str, data: model.Data, made: dict[str, str]) -> None:
    every = [one for one in settings.measured(fault, data) if one.own]
    told = settings.advice(fault, data)
    assert one_line(told) in one_line(visible(made[f"scenarios/audit-{fault}.html"]))
    for part in re.findall(r"(\d+) runs? on (.*?) lost nothing", told):
        column = columns.FLUSHED if "flush.messages=1" in told else columns.RECOMMENDED
        for version in part[1].split(", "):
            own = [one.cell for one in every if one.version == version and one.cell.column.id == column]
            assert own, version
            assert all(cell.worst != model.LOST for cell in own), version
    lost = {one.cell.column.id for one in every if one.cell.worst == model.LOST}
    assert ("No measured setting lost a record" in told) == (not lost)
    assert ("No measured setting prevents" in told) == (fault == "double-failover")


def test_advice_says_where_there_is_no_idempotence(data: model.Data) -> None:
    told = settings.advice("leader-crash-behind", data)
    assert "(0.10.2.2, 3.9.2-pinned with one request in flight in place of idempotence)" in told
    assert settings.advice("no-such-event", data) == ""


def test_narrow_tables_of_documents_are_cards_on_a_phone() -> None:
    def table(columns: int) -> str:
        head = "|".join("a" * columns)
        return articles.document(f"|{head}|\n|{'-|' * columns}\n|{head}|\n", "docs/a.md", {}, "")

    assert '<table class="plain stack">' in table(4)
    assert '<table class="plain">' in table(5)
    assert table(5).count("<table") == table(5).count("</table></div>") == 1
