"""Other files of a program: those of a class, of a package of Go's, of a module that a script imports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from audit.readers import calls
from audit.readers.scripts import imported
from audit.readers.text import Text
from audit.readers.walk import LARGEST


def imported_content(source: Text, name: str) -> str:
    """The source of the module of the program that a name is imported from; empty if it cannot be read."""
    text = imported(source, name)
    return text.content if text is not None else ""


BESIDE: Final = 64
"""How many files of a package are looked into."""
IMPORTED_OF_GO: Final = re.compile(r"(?m)^[ \t]*(?:import[ \t]+)?(?:(\w+)[ \t]+)?\"([\w.-]+(?:/[\w.-]+)+)\"[ \t]*$")
MODULE_OF_GO: Final = re.compile(r"(?m)^module[ \t]+(\S+)")


def imported_of_go(source: Text) -> Iterator[tuple[Path, set[str]]]:
    """The files of packages of the same module that a file of Go's imports, and what it calls of each."""
    root = next((each for each in Path(source.path).absolute().parents if (each / "go.mod").is_file()), None)
    module = MODULE_OF_GO.search(content_of(root / "go.mod")) if root is not None else None
    if root is None or module is None:
        return
    for name, path in IMPORTED_OF_GO.findall(source.content):
        if path.startswith(module[1] + "/") and ".." not in path:
            called = rf"(?<![\w.]){re.escape(name or path.rpartition('/')[2])}\.(\w+)\("
            folder = root / path.removeprefix(module[1] + "/")
            for file in sorted(folder.glob("*.go"))[:BESIDE]:
                yield file, set(re.findall(called, source.content))


def class_file(source: Text, name: str, language: str) -> Text | None:
    """The file of a class of the program's: beside a source, or where its import says; None if there is none."""
    own = Path(source.path)
    folders = [own.parent]
    imported = re.search(rf"(?m)^import\s+(?:static\s+)?([\w.]+)\.{re.escape(name)}\b", source.content)
    package = re.search(r"(?m)^package\s+([\w.]+)", source.content)
    if imported and package and own.parent.parts[-len(package[1].split(".")) :] == tuple(package[1].split(".")):
        root = own.parents[len(package[1].split("."))]
        folders = [root.joinpath(*imported[1].split("."))]
    for folder in folders:
        path = folder / f"{name}.{language}"
        if path != own and path.is_file() and (content := content_of(path)):
            return Text(str(path), content)
    return _class_of_module(source, imported[1], name, language) if imported else None


def _class_of_module(source: Text, package: str, name: str, language: str) -> Text | None:
    """The file of a class in another module of the program's, by the package that its import says; None if there is
    none, or several.
    """
    end = "/".join(("", *package.split("."), f"{name}.{language}"))
    found = [each for each in calls.sources_of(calls.root_of(source.path), language) if each.path.endswith(end)]
    return found[0] if len(found) == 1 else None


def content_of(path: Path) -> str:
    """The text of a file; empty if it cannot be read, or is too large."""
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.stat().st_size < LARGEST else ""
    except OSError:
        return ""
