"""Who calls a function of a program, and with what: in Java, Kotlin, Scala, C#, Go and Rust, by their text.

A value that a function only takes is told by its callers, if all of them give the same. Files of one module count, and
no tests. A class is called where it is made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from audit.readers.scripts import arguments_of
from audit.readers.text import Text
from audit.readers.walk import sources_below, text_of

ROOTS: Final = (".git", "settings.gradle", "settings.gradle.kts", "go.mod", "build.sbt", "Cargo.toml", "pom.xml",
                "build.gradle", "build.gradle.kts", "global.json")  # fmt: skip
"""Files that a module has at its root."""
HIGHEST: Final = 12
MOST: Final = 400
"""Sources of a module that are searched."""
TESTS: Final = re.compile(r"(?:Tests?|IT|Spec)\.\w+$|_test\.go$")
LONGEST: Final = 4_000
"""Characters of the longest list of parameters that is looked at."""
NESTED: Final = 3
"""How deep the types of parameters are nested."""
TYPED_FIRST: Final = frozenset({"java", "cs"})
"""Languages in which a parameter's type stands before its name."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call: the source that it is in, where, and its arguments."""

    source: Text
    at: int
    given: tuple[str, ...]

    def argument(self, parameters: tuple[tuple[str, str], ...], name: str) -> str:
        """What it gives a parameter, or the parameter's default; empty if neither is told."""
        for each in self.given:
            if named := re.match(rf"{re.escape(name)}\s*(?:=(?!=)|:(?!:))\s*(.+)", each, re.DOTALL):
                return named[1]
        at = next(place for place, (each, _) in enumerate(parameters) if each == name)
        return self.given[at] if at < len(self.given) else parameters[at][1]


def parameters_of(function: str, language: str) -> tuple[tuple[str, str], ...]:
    """The parameters of a function, or of a class's own constructor, each with its default."""
    head = re.match(r"func\s*\([^()]*\)", function)
    opened = re.compile(r"\(").search(function, head.end() if head else 0)
    if opened is None:
        return ()
    text = function[opened.end() : opened.end() + LONGEST]
    for _ in range(NESTED):
        text = re.sub(r"<[^<>()]*>", "", text)
    given, _ = arguments_of(text, 0)
    found = []
    for each in given:
        bare = re.sub(r"@(?:\w+:)?\w+(?:\((?:[^()]|\([^()]*\))*\))?\s*", "", each).strip()
        bare, _, default = bare.partition("=")
        if language in TYPED_FIRST:
            names = re.findall(r"\w+", bare)[-1:]
        elif language == "go":
            names = re.findall(r"\w+", bare)[:1]
        else:
            before = re.findall(r"\w+", bare.partition(":")[0])
            names = before[-1:]
        found.append((names[0] if names else "", default.strip()))
    return tuple(found)


CALLED: Final = re.compile(r"(?<![\w@])((?:\w+::)?\w+)\s*(?:<[^<>()\n]{0,100}>|\[[^\[\]()\n]{0,100}\])?\(")
MADE: Final = re.compile(r"\bnew\s+(?:\w+\.)*$")
DECLARES: Final = re.compile(r"\b(?:fun|def|func|fn)\s+(?:<[^<>]*>\s*|\([^()]*\)\s*|\w+\.)?$|\b[\w>\]?]+\s+$")
USES: Final = re.compile(r"\b(?:return|new|throw|else|in|await|yield)\s+$|=\s*$")
HEADS: Final = re.compile(r"\b(?:class|record|object|fun|def|func|fn)\s+(?:\w+\.)?$")
BODY: Final = re.compile(r"\s*(?:throws [\w., ]+)?\{")


@lru_cache(maxsize=4)
def _called(root: Path, language: str) -> dict[str, list[tuple[Text, int, int]]]:
    """By name, every place in the sources of a module where it may be called: where it and its arguments begin."""
    found: dict[str, list[tuple[Text, int, int]]] = {}
    for text in sources_of(root, language):
        for each in CALLED.finditer(text.content):
            found.setdefault(each[1], []).append((text, each.start(), each.end()))
    return found


def calls_of(root: Path, language: str, name: str, *, made: bool) -> tuple[Call, ...]:
    """The calls of a function, or the places where objects of a class are made."""
    found: list[Call] = []
    for text, begin, opened in _called(root, language).get(name, ()):
        lead = text.content[max(0, begin - 200) : begin]
        by_new = made and language in TYPED_FIRST
        if HEADS.search(lead) or (by_new and not MADE.search(lead)):
            continue
        if not made and DECLARES.search(lead) and not USES.search(lead):
            continue
        if language == "go" and (package := PACKAGE.search(lead)) and _is_librarys(package[1], text.content, root):
            continue
        given, end = arguments_of(text.content, opened)
        if language not in ("java", "go") or by_new or not BODY.match(text.content, end):
            found.append(Call(text, begin, tuple(given)))
    return tuple(found)


PACKAGE: Final = re.compile(r"(?<![\w.)])(\w+)\.$")
"""In Go: whose function is called."""


def _is_librarys(package: str, content: str, root: Path) -> bool:
    """Whether a source imports a package of that name from another module than its own: its functions are no callers'
    of one that has the same name here.
    """
    imported = re.search(
        rf"(?m)^[ \t]*(?:import[ \t]+)?"
        rf"(?:{package}[ \t]+\"([\w./~-]+)\"|\"([\w.~-]+(?:/[\w.~-]+)*/{package}(?:/v\d+)?)\")",
        content,
    )
    path, own = (imported[1] or imported[2]) if imported else "", _module_of_go(root)
    return own != "" and "." in path.partition("/")[0] and not f"{path}/".startswith(f"{own}/")


@lru_cache(maxsize=64)
def _module_of_go(root: Path) -> str:
    """The path of the module of Go's that a directory is; empty if no module is there."""
    build = text_of(root / "go.mod")
    found = re.search(r"(?m)^module[ \t]+(\S+)", build.content) if build is not None else None
    return found[1] if found else ""


@lru_cache(maxsize=64)
def root_of(path: str) -> Path:
    """The highest directory above a source that has the files of a module's root, below that of the repository."""
    folders = Path(path).absolute().parents[:HIGHEST]
    found = folders[0]
    for each in folders:
        if any((each / name).exists() for name in ROOTS) or any(each.glob("*.sln")) or any(each.glob("*.csproj")):
            found = each
        if (each / ".git").exists():
            break
    return found


@lru_cache(maxsize=4)
def sources_of(root: Path, language: str) -> tuple[Text, ...]:
    """The sources of a language in a module, without tests."""
    found = (text_of(path) for path in sources_below(root, f".{language}", MOST, TESTS.search, skips=_is_of_tests))
    return tuple(each for each in found if each is not None)


EXAMPLES: Final = frozenset({"example", "examples", "sample", "samples", "snippets"})
"""Directories whose programs show what a library may be called with."""


def _is_of_tests(folder: str, inside: str) -> bool:
    """Whether a directory has tests by Maven's and Gradle's layout, `src/test`, `src/it`, or examples."""
    return (inside == "src" and folder in ("test", "it")) or folder in EXAMPLES


def forget() -> None:
    """Read files anew when they are asked for next."""
    sources_of.cache_clear()
    _called.cache_clear()
    root_of.cache_clear()
    _module_of_go.cache_clear()
