"""Which files of the paths that a user names are read, and which are passed over, with the reason.

Directories are walked to the end, but for those that hold no configuration of one's own (version control, dependencies,
what a build makes), and those of tests, unless the user names one. Links are followed to files, and to directories that
were not walked already.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit.model import InputProblem, Origin
from audit.readers.names import words
from audit.readers.text import Text, decode

SKIPPED: Final = words(
    """.git .hg .svn node_modules target build dist out bin .venv venv .tox .nox .gradle .mvn .idea .vscode __pycache__
    .mypy_cache .ruff_cache .pytest_cache .terraform vendor site-packages .next coverage"""
)
ALSO_OWN: Final = words("vendor bin build dist out target")
"""Those of them that are also names of people's own directories: a build file or sources of one's own tell."""
SHIPPED: Final = frozenset({"dist", "build", "out"})
SCRIPT: Final = re.compile(r"(?<!\.d)(?<!\.config)\.[cm]?[jt]sx?$")
"""A source, which what is built is made of."""
SCRIPT_OF_BIN: Final = re.compile(r"\.(?:[cm]?js|ts|py|rb|php|sh|rs)$")
"""A program that nobody compiles, or a binary of a crate: what a compiler makes in a `bin` are other files."""
OWN: Final = ("pom.xml", "build.gradle", "build.gradle.kts", "package.json", "go.mod", "src", "Dockerfile")
PROGRAM: Final = frozenset(
    {*OWN, "pyproject.toml", "setup.py", "requirements.txt", "Cargo.toml", "Gemfile", "composer.json", "CMakeLists.txt"}
)
"""What a directory of a program's has."""
OF_TESTS: Final = re.compile(
    r"tests|__(?:tests|mocks|fixtures)__|mocks|cypress|testdata|testFixtures"
    r"|tests?[-_]?(?:utils?|helpers?|support|fixtures|kit)"
    r"|(?:unit|integration|functional|acceptance|component|system|e2e)[-_]?[tT]ests?"
)
"""Directories whose files configure nothing but tests, wherever they are."""
OF_PACKAGES: Final = re.compile(r"/src/(?:\w+/)?(?:java|kotlin|scala)(?:/|\Z)")
"""Below it directories are packages, whatever their names."""
OF_PORTS: Final = re.compile(r"(?:adapters?|ports?|boundary|boundaries)\Z")
"""Beside an `in` or in one of these, `out` has what a program sends with: ports and adapters."""
OF_DOCUMENTS: Final = words("docs doc documentation snippets")
"""Directories whose files are shown to people, if no program is in them."""
MAYBE_TESTS: Final = words("test it e2e spec jmh")
"""So do these, beside a program or below `src`; elsewhere the names are people's own."""
STAGES: Final = words("dev development prod production prd stage staging stg uat qa acc live")
"""Directories beside which `test` is a place that a program is deployed to."""
BUILD: Final = frozenset({"pom.xml", "package-lock.json", "package.json", "composer.json", "tsconfig.json"})
LARGEST: Final = 1_000_000
"""Bytes of the largest file that is read."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file to read."""

    text: Text
    named: bool
    """Whether the user named it, rather than a directory that it is in."""
    top: Path
    """The directory that the user named, or the root of the file system."""


def text_of(path: Path) -> Text | None:
    """A file that another one leads to; None if there is no such file, or it cannot be read, or is too large."""
    try:
        fits = path.is_file() and path.stat().st_size < LARGEST
        return Text(str(path), decode(path.read_bytes())) if fits else None
    except OSError:
        return None


def sources_below(
    root: Path, end: str, most: int, is_test: Callable[[str], object], *, skips: Callable[[str, str], bool]
) -> Iterator[Path]:
    """The files below a directory whose names have an end and are not of tests, in order; once there are more than
    `most`, no further directory is entered. `skips`: whether a directory of a name is passed over, in one of a name.
    """
    found = 0
    for folder, folders, names in os.walk(root):
        inside = os.path.basename(folder)
        folders[:] = sorted(
            each
            for each in folders
            if (each not in SKIPPED or _is_package(each, folder.removeprefix(str(root)), set(folders)))
            and not OF_TESTS.fullmatch(each)
            and not skips(each, inside)
        )
        for name in sorted(names):
            if name.endswith(end) and not is_test(name):
                found += 1
                yield Path(folder) / name
        if found > most:
            return


def candidates(
    paths: Sequence[str], names: re.Pattern[str], ignored: Counter[str], problems: list[InputProblem]
) -> Iterator[Candidate]:
    """The files to read, in order, each once; of directories those whose name matches `names`."""
    seen: set[tuple[int, int]] = set()
    for path in paths:
        if not os.path.isdir(path):
            yield from _file(path, seen, ignored, problems, named=True, top=Path("/"))
            continue
        top = Path(path).absolute()
        for file in _walk(path, seen, ignored, problems):
            file = file.removeprefix("./") if path == "." else file
            if names.fullmatch(os.path.basename(file)) and os.path.basename(file) not in BUILD:
                yield from _file(file, seen, ignored, problems, named=False, top=top)
            else:
                ignored["of another kind"] += 1


def _walk(path: str, seen: set[tuple[int, int]], ignored: Counter[str], problems: list[InputProblem]) -> Iterator[str]:
    """The files below a directory, by name; each directory is walked once."""
    todo = [path]
    while todo:
        folder = todo.pop()
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:
                ignored["a directory that was walked already"] += 1
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            problems.append(
                InputProblem(Origin(folder), "unreadable", f"cannot be listed: {error.strerror}", "it is left out")
            )
            continue
        deeper = []
        beside = {each.name for each in entries}
        for entry in entries:
            if _is_directory(entry):
                if _is_of_tests(entry.name, folder, beside, top=folder == path):
                    ignored["of tests"] += 1
                elif entry.name.lower() in OF_DOCUMENTS and not _is_program(entry.path):
                    ignored["of documents"] += 1
                elif _is_skipped(entry, folder.removeprefix(path), beside):
                    ignored[f"in {entry.name}/"] += 1
                else:
                    deeper.append(entry.path)
            else:
                yield entry.path
        todo += reversed(deeper)


def _is_of_tests(name: str, folder: str, beside: set[str], *, top: bool) -> bool:
    """Whether a directory has the files of tests, by its name, the one that it is in, and what is beside it."""
    if OF_TESTS.fullmatch(name):
        return True
    if name not in MAYBE_TESTS or beside & STAGES:
        return False
    return os.path.basename(folder) == "src" or top or bool(beside & PROGRAM)


def _is_skipped(entry: os.DirEntry[str], inside: str, beside: set[str]) -> bool:
    """Whether a directory has nothing of one's own by its name; `inside` is where it is below what was named."""
    if entry.name not in SKIPPED or _is_package(entry.name, inside, beside):
        return False
    return entry.name not in ALSO_OWN or not _is_own(entry.path)


def _is_package(name: str, inside: str, beside: set[str]) -> bool:
    """Whether a directory is a package of sources in spite of its name: below a root of the JVM's sources, or the
    outgoing side of ports and adapters.
    """
    if name not in ALSO_OWN or name == "vendor":
        return False
    if OF_PACKAGES.search(f"/{inside.strip('/')}"):
        return True
    return name == "out" and (bool(beside & {"in", "incoming"}) or OF_PORTS.search(inside.lower()) is not None)


def _is_program(path: str) -> bool:
    """Whether a directory has what builds a program."""
    return any(os.path.exists(os.path.join(path, name)) for name in PROGRAM)


def _is_own(path: str) -> bool:
    """Whether a directory has sources of one's own in spite of its name: a build file is in it, a `bin` has scripts, or
    it is all that a package for Node ships.
    """
    if any(os.path.exists(os.path.join(path, name)) for name in OWN):
        return True
    above, name = os.path.split(path)
    if name == "bin":
        return any(SCRIPT_OF_BIN.search(each) for each in os.listdir(path))
    if name not in SHIPPED or not os.path.exists(os.path.join(above, "package.json")):
        return False
    beside = [each for each in os.listdir(above) if not each.startswith(".")]
    folders = {each for each in beside if os.path.isdir(os.path.join(above, each))} - {name, "node_modules", "docs"}
    return not folders and not any(SCRIPT.search(each) for each in beside)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _file(
    path: str,
    seen: set[tuple[int, int]],
    ignored: Counter[str],
    problems: list[InputProblem],
    *,
    named: bool,
    top: Path,
) -> Iterator[Candidate]:
    try:
        status = os.stat(path)
        if (status.st_dev, status.st_ino) in seen:
            ignored["a file that was read already"] += 1
            return
        seen.add((status.st_dev, status.st_ino))
        if not os.path.isfile(path):
            ignored["no regular file"] += 1
            return
        if status.st_size > LARGEST:
            ignored[f"larger than {LARGEST // 1_000_000} MB"] += 1
            if named:
                message = f"is larger than {LARGEST // 1_000_000} MB"
                problems.append(
                    InputProblem(Origin(path), "unreadable", message, "give its part that configures Kafka")
                )
            return
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        if not named and isinstance(error, FileNotFoundError):
            ignored["a link to nothing"] += 1
            return
        reason = getattr(error, "strerror", None) or "no such path"
        problems.append(InputProblem(Origin(path), "unreadable", f"cannot be read: {reason}", "is the path right?"))
        return
    if b"\0" in content[:4096] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        ignored["binary"] += 1
        if named:
            problems.append(InputProblem(Origin(path), "unreadable", "is binary", "give a text file"))
        return
    yield Candidate(Text(path, decode(content)), named, top)
