"""All pages of docs/: they can be made, those in the repository are as they are made, every link leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.scenario import all_scenarios
from pages import build, guide

ROOT = Path(__file__).parents[3]
LINK = re.compile(r"\]\(([^)\s#]*)(#[^)\s]*)?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
FENCED = re.compile(r"^( *)```.*?^\1```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return build.pages()


@pytest.fixture(scope="module")
def committed(made: dict[str, str]) -> dict[str, str]:
    """The pages in the repository, by path."""
    built = {f"docs/{name}" for name in made.keys() - {*build.COMMITTED}}
    found = (path for folder in ("", "docs", "compose") for path in (ROOT / folder).glob("*.md"))
    return {name: path.read_text() for path in found if (name := path.relative_to(ROOT).as_posix()) not in built}


def anchor(heading: str) -> str:
    """What GitHub makes of a heading."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def test_there_is_a_page_for_each_scenario_and_they_are_written_once(made: dict[str, str], tmp_path: Path) -> None:
    assert {f"{guide.FOLDER}/{name}.md" for name in all_scenarios()} <= made.keys()
    assert set(build.write(tmp_path, made)) == made.keys()
    assert build.write(tmp_path, made) == []


def test_pages_in_the_repository_are_as_they_are_made(made: dict[str, str], committed: dict[str, str]) -> None:
    """`make docs` writes them anew."""
    assert [name for name in build.COMMITTED if committed[f"docs/{name}"] != made[name]] == [], "run `make docs`"


def test_every_link_leads_to_a_file_or_a_page_that_is_made(made: dict[str, str], committed: dict[str, str]) -> None:
    pages = committed | {f"docs/{name}": text for name, text in made.items()}
    dead = []
    for name, text in pages.items():
        for target, place in LINK.findall(FENCED.sub("", text)):
            if "://" in target:
                continue
            file = (ROOT / name).parent.joinpath(target).resolve() if target else ROOT / name
            path = file.relative_to(ROOT).as_posix()
            if path not in pages and not file.exists():
                dead.append(f"{name}: {target}")
            elif place and path in pages and place[1:] not in map(anchor, HEADING.findall(FENCED.sub("", pages[path]))):
                dead.append(f"{name}: {target}{place}")
    assert dead == []


def test_what_is_read_in_a_browser_links_nothing_that_has_to_be_built(
    made: dict[str, str], committed: dict[str, str]
) -> None:
    built = {f"docs/{name}" for name in made.keys() - {*build.COMMITTED}}
    for name in ("README.md", "CONTRIBUTING.md"):
        assert built & {target for target, _ in LINK.findall(committed[name])} == set(), name
