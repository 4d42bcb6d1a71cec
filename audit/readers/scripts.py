"""Modules of a program of JavaScript or TypeScript: which file a name is imported from, and who calls a function.

A module is named by its place (`./config`), by an alias (`@/config`, `src/config`, those of tsconfig.json), or as a
package of the same workspace (`@acme/config`). What a module only exports on is looked for where it is.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from audit.readers.text import Text
from audit.readers.walk import OF_TESTS, SKIPPED, text_of

KINDS: Final = ("ts", "js", "mjs", "cjs")
HIGHEST: Final = 8
"""How many directories are looked into above a script."""
DEEPEST: Final = 4
"""How many modules are followed that export another one's names."""
MOST: Final = 400
"""Scripts of a workspace that are searched for calls."""
NAMES_LENGTH: Final = 1_000
LONGEST: Final = 2_000
"""Characters of the arguments of a call that are looked at."""
FROM: Final = re.compile(r"(?:=\s*require\(\s*|\bfrom\s+)[\"']([.@~\w][\w./@~-]*)[\"']")
"""Where a script names a module that it imports from; the names stand before it."""
ON: Final = re.compile(r"\bexport\s+(?:\*|\{[^{}]*\})\s+from\s+[\"']([.@~\w][\w./@~-]*)[\"']")
WORKSPACE: Final = ("pnpm-workspace.yaml", "lerna.json", "nx.json", "turbo.json", "rush.json", ".git")
TESTS: Final = re.compile(r"\.(?:test|spec|d)\.[cm]?[jt]s$")


@lru_cache(maxsize=8)
def modules_of_names(content: str) -> Mapping[str, str]:
    """By name, the module that a script imports the name from: asked of each call in it."""
    found: dict[str, str] = {}
    for each in FROM.finditer(content):
        before = re.split(
            r";|\n(?=\s*(?:import|const|let|var|export)\b)", content[max(0, each.start() - NAMES_LENGTH) : each.start()]
        )[-1]
        for name in re.findall(r"\w+", before):
            found.setdefault(name, each[1])
    return found


def imported(source: Text, name: str) -> Text | None:
    """The module of the program that a name of a script is imported from; None if it is none of the program's."""
    module = modules_of_names(source.content).get(name)
    path = module_of(Path(source.path), module) if module is not None else None
    return _exporting(path, name) if path is not None else None


def _exporting(path: Path, name: str, depth: int = 0) -> Text | None:
    """The module at a path, or the one that it exports a name on from."""
    text = text_of(path)
    if text is None or depth > DEEPEST or _defines(text.content, name):
        return text
    for each in ON.findall(text.content):
        further = module_of(path, each)
        found = _exporting(further, name, depth + 1) if further is not None else None
        if found is not None and _defines(found.content, name):
            return found
    return text


def _defines(content: str, name: str) -> bool:
    escaped = re.escape(name)
    return (
        re.search(rf"\b(?:const|let|var|function|class|enum)\s+{escaped}\b|\bexports\.{escaped}\b", content) is not None
    )


def module_of(own: Path, named: str) -> Path | None:
    """The file of a module that a script imports; None if it is none of the program's."""
    if named.startswith("."):
        return _file(own.parent / named)
    for root in _roots(own):
        if (found := _of_alias(root, named)) is not None:
            return found
    return _of_workspace(own, named)


def _roots(own: Path) -> list[Path]:
    """The directories above a script that are packages of their own, the nearest first."""
    return [each for each in own.absolute().parents[:HIGHEST] if (each / "package.json").is_file()]


def _of_alias(root: Path, named: str) -> Path | None:
    """A module by an alias for a directory of a package's sources."""
    short = re.sub(r"^(?:@|~)/", "", named)
    tried = (
        [root / "src" / short, root / short] if short != named else [root / named] if named.startswith("src/") else []
    )
    for alias, target in _aliases(root):
        if alias.endswith("*") and named.startswith(alias[:-1]):
            tried.append(root / target.replace("*", named[len(alias) - 1 :]))
        elif alias == named:
            tried.append(root / target)
    return next((found for each in tried if (found := _file(each)) is not None), None)


@lru_cache(maxsize=16)
def _aliases(root: Path) -> tuple[tuple[str, str], ...]:
    """The aliases of a package's tsconfig.json, each with what it stands for."""
    found: list[tuple[str, str]] = []
    for name in ("tsconfig.json", "tsconfig.base.json"):
        text = text_of(root / name)
        base = re.search(r'"baseUrl"\s*:\s*"([\w./-]*)"', text.content) if text is not None else None
        for each in re.finditer(r'"([@~\w/*-]+)"\s*:\s*\[\s*"([\w./*-]+)"', text.content) if text is not None else ():
            found.append((each[1], os.path.join(base[1] if base else "", each[2])))
    return tuple(found)


def _of_workspace(own: Path, named: str) -> Path | None:
    """The first module of a package of the same workspace."""
    for folder, called in _packages(workspace_of(own)):
        if called == named:
            return next((found for each in ("src/index", "index", "src/main", "lib/index")
                         if (found := _file(folder / each)) is not None), None)  # fmt: skip
        if named.startswith(called + "/"):
            below = named[len(called) + 1 :]
            return _file(folder / "src" / below) or _file(folder / below)
    return None


@lru_cache(maxsize=64)
def workspace_of(own: Path) -> Path:
    """The directory of the workspace that a script is in, or of its package."""
    folders = own.absolute().parents[:HIGHEST]
    for each in folders:
        manifest = text_of(each / "package.json")
        if (manifest is not None and '"workspaces"' in manifest.content) or any(
            (each / one).exists() for one in WORKSPACE
        ):
            return each
    return next((each for each in folders if (each / "package.json").is_file()), folders[0])


@lru_cache(maxsize=8)
def _packages(root: Path) -> tuple[tuple[Path, str], ...]:
    """The packages of a workspace, with their names."""
    found: list[tuple[Path, str]] = []
    for path in _walked(root, lambda name: name == "package.json"):
        text = text_of(path)
        try:
            name = json.loads(text.content).get("name") if text is not None else None
        except (ValueError, AttributeError, RecursionError):
            continue
        if isinstance(name, str) and name:
            found.append((path.parent, name))
    return tuple(found)


def _walked(root: Path, wanted: object) -> Iterator[Path]:
    found = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if each not in SKIPPED and not OF_TESTS.fullmatch(each))
        for name in sorted(names):
            if callable(wanted) and wanted(name):
                found += 1
                yield Path(folder) / name
        if found > MOST:
            return


def _file(at: Path) -> Path | None:
    """The file of a module by its place without its end; None if there is none."""
    at = Path(os.path.normpath(at))
    typed = at.with_suffix(".ts") if at.suffix in (".js", ".mjs") else at  # `./config.js` of what is yet to be compiled
    tried = (at, typed, *(at.parent / f"{at.name}.{end}" for end in KINDS), at / "index.ts", at / "index.js")
    return next((each for each in tried if each.is_file()), None)


@lru_cache(maxsize=2)
def scripts_of(root: Path) -> tuple[Text, ...]:
    """The scripts of a workspace that are no tests."""
    found = (
        text_of(path)
        for path in _walked(root, lambda name: re.search(r"\.[cm]?[jt]s$", name) and not TESTS.search(name))
    )
    return tuple(each for each in found if each is not None)


def forget() -> None:
    """Read files anew when they are asked for next."""
    for each in (scripts_of, workspace_of, _packages, _aliases, _called, _below):
        each.cache_clear()


CALLED: Final = re.compile(r"(?<![\w#$])(\w+)\s*(?:<[^<>()\n]{0,100}>)?\(")


@lru_cache(maxsize=2)
def _called(root: Path) -> dict[str, list[tuple[Text, int, int]]]:
    """By name, every place in the scripts of a workspace where it may be called: where it and its arguments begin."""
    found: dict[str, list[tuple[Text, int, int]]] = {}
    for text in scripts_of(root):
        for each in CALLED.finditer(text.content):
            found.setdefault(each[1], []).append((text, each.start(), each.end()))
    return found


def calls_of(root: Path, name: str) -> tuple[tuple[Text, tuple[str, ...]], ...]:
    """The arguments of each call of a function, or of a class that is made, in a workspace."""
    found: list[tuple[Text, tuple[str, ...]]] = []
    for text, begin, opened in _called(root).get(name, ()):
        if text.content[max(0, begin - 9) : begin].endswith(("function ", "class ")):
            continue
        given, end = arguments_of(text.content, opened)
        if not DEFINES.match(text.content, end):
            found.append((text, tuple(given)))
    return tuple(found)


DEFINES: Final = re.compile(r"\s*(?::[^;={}\n]{0,100})?\{|\s*=>")
"""What stands behind the parameters of a method or function that is defined, and behind no call."""


def arguments_of(text: str, start: int) -> tuple[list[str], int]:
    """The arguments of a call from behind its opening brace, and where it ends."""
    found: list[str] = []
    depth, begin, quote = 0, start, ""
    end = min(len(text), start + LONGEST)
    for at in range(start, end):
        letter = text[at]
        if quote:
            quote = "" if letter == quote and text[at - 1] != "\\" else quote
        elif letter in "\"'`":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}" and depth:
            depth -= 1
        elif letter == "," and not depth:
            found.append(text[begin:at].strip())
            begin = at + 1
        elif letter == ")":
            last = text[begin:at].strip()
            return ([*found, last] if last else found), at + 1
    return found, end


PARAMETER: Final = re.compile(
    r"(?:(?:private|public|protected|readonly|@\w+(?:\([^()]*\))?)\s+)*(\w+)\??\s*(?::[^=]*)?(?:=\s*(.*))?$", re.DOTALL
)


def parameters_of(function: str) -> list[tuple[str, str]]:
    """The parameters of a function of a script, each with its default; from the text of the function."""
    opened = re.search(r"\(", function)
    if opened is None:
        return []
    given, _ = arguments_of(function, opened.end())
    found = []
    for each in given:
        one = PARAMETER.match(each)
        found.append((one[1], (one[2] or "").strip()) if one else ("", ""))
    return found


def passed(source: Text, called: str, owner: str, name: str, function: str) -> list[tuple[Text, str]] | None:
    """What each call gives a parameter of a function, or of the constructor of the class `owner`, its default if it
    gives none; None if it is no parameter, or no call is seen.
    """
    parameters = parameters_of(function)
    at = next((place for place, (each, _) in enumerate(parameters) if each == name), None)
    calls = callers(source, called, owner)
    if at is None or not calls:
        return _passed_in_object(source, calls, name, function) if calls else None
    default = parameters[at][1]
    return [(text, given[at]) if at < len(given) else (source, default) for text, given in calls]


def callers(source: Text, called: str, owner: str) -> list[tuple[Text, tuple[str, ...]]]:
    """The calls of a function, or of the constructor of the class `owner`: each file, and the arguments."""
    root = workspace_of(Path(source.path))
    names = _made_as(root, owner) if called == "constructor" else [called]
    return [one for each in names if each for one in calls_of(root, each)]


PART: Final = re.compile(r"(\w+)\s*(?::\s*(\w+)\s*)?(?:=\s*(.+))?", re.DOTALL)
"""A name that a parameter takes out of an object: `acks`, `acks: level`, `acks = -1`."""


def _passed_in_object(
    source: Text, calls: Sequence[tuple[Text, tuple[str, ...]]], name: str, function: str
) -> list[tuple[Text, str]] | None:
    """What each call gives a name that a function takes out of an object: `constructor({ acks = -1 }: Options)`."""
    opened = function.find("(")
    parameters = arguments_of(function, opened + 1)[0] if opened >= 0 else []
    for at, parameter in enumerate(parameters):
        parts = arguments_of(parameter[1 : closing(parameter, 1)] + ")", 0)[0] if parameter.startswith("{") else []
        for one in (found for each in parts if (found := PART.fullmatch(each))):
            if (one[2] or one[1]) == name:
                given = [_of_object(where, own[at] if at < len(own) else "{}", one[1]) for where, own in calls]
                return [each if each is not None else (source, one[3] or "") for each in given]
    return None


def _of_object(where: Text, given: str, name: str) -> tuple[Text, str] | None:
    """What an object that is written out gives a name, empty if that is not told; None if it does not have it."""
    if not given.startswith("{"):
        return where, ""
    parts = arguments_of(given[1 : closing(given, 1)] + ")", 0)[0]
    for each in parts:
        key, colon, value = each.partition(":")
        if key.strip().strip("'\"") == name:
            return where, value.strip() if colon else name
    return (where, "") if any(each.startswith("...") for each in parts) else None


def _made_as(root: Path, owner: str) -> Sequence[str]:
    """The names by which objects of a class are made: its own, and those of classes below it without constructors."""
    found = [owner]
    for name in found:
        found += [each for each in _below(root).get(name, ()) if each not in found and len(found) < MOST]
    return found


@lru_cache(maxsize=2)
def _below(root: Path) -> dict[str, list[str]]:
    """The classes of a workspace that have no constructor of their own, by the class that they inherit from."""
    found: dict[str, list[str]] = {}
    for text in scripts_of(root):
        heads = list(re.finditer(r"\bclass\s+(\w+)(?:<[^<>]*>)?(?:\s+extends\s+(\w+))?", text.content))
        for each, after in zip(heads, [*heads[1:], None], strict=False):
            body = text.content[each.end() : after.start() if after is not None else len(text.content)]
            if each[2] and re.search(r"\bconstructor\s*\(", body) is None:
                found.setdefault(each[2], []).append(each[1])
    return found


ENVIRONMENT: Final = re.compile(r"\b(?:const|let|var)\s*\{([^{}]*)\}\s*=\s*process\.env\b")


def of_environment(content: str) -> dict[str, str]:
    """The names that a script takes out of the environment, as placeholders: `const { ACKS = '1' } = process.env`."""
    found: dict[str, str] = {}
    for names in ENVIRONMENT.findall(content):
        for each in re.split(r",", names):
            one = re.fullmatch(
                r"\s*(\w+)(?:\s*:\s*(\w+))?(?:\s*=\s*(?:['\"]([^'\"]*)['\"]|(-?\d+|true|false)))?\s*", each
            )
            if one is not None:
                default = one[3] if one[3] is not None else one[4]
                found[one[2] or one[1]] = f"${{{one[1]}}}" if default is None else f"${{{one[1]}:{default}}}"
    return found


def object_of(content: str, names: Sequence[str], root: str) -> tuple[int, int]:
    """Where the object stands in a module that a path of names leads to; of no names, what the module exports."""
    begun = re.search(
        rf"\b(?:const|let|var)\s+{re.escape(root)}\b[^=;]{{0,100}}=\s*\{{|module\.exports\s*=\s*\{{|export\s+default\s*\{{",
        content,
    )
    start, end = (begun.end(), closing(content, begun.end())) if begun else (0, len(content))
    for name in names:
        inside = re.compile(rf"\b{re.escape(name)}['\"]?\s*[:=]\s*\{{").search(content, start, end)
        if inside is None:
            return 0, 0
        start, end = inside.end(), closing(content, inside.end())
    return start, end


def closing(text: str, start: int) -> int:
    """Where the brace closes that is open at a place."""
    level = 1
    for at in re.finditer(r"[{}]", text[start : start + 20_000]):
        level += 1 if at[0] == "{" else -1
        if level == 0:
            return start + at.start()
    return min(len(text), start + 20_000)


def returned_object(source: Text, name: str) -> Text | None:
    """The object that a function returns at once, of a script or of what it imports it from; None if it is no such."""
    own = re.compile(
        rf"\bfunction\s+{re.escape(name)}\b[^{{}}]*\{{\s*return\s*\{{"
        rf"|\b{re.escape(name)}\b[^=;{{}}]{{0,200}}=\s*\([^()]*\)[^=;{{}}]{{0,100}}=>\s*(?:\(\s*|\{{\s*return\s*)\{{"
    )
    for text in (source, imported(source, name)):
        found = own.search(text.content) if text is not None else None
        if text is not None and found is not None:
            return Text(text.path, text.content[found.end() : closing(text.content, found.end())])
    return None
