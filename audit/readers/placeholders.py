"""Placeholders in values: `${NAME}` and its defaults, as Spring, MicroProfile, shells and Compose write them.

The same text does not mean the same to all: `${ACKS:-1}` is, unless ACKS is set, "-1" to Spring (acks=all) and "1" to a
shell. So whoever reads a format says whose placeholders it has; where nobody knows (a plain .properties that some
start script fills in) such a text stays unknown.

Nothing is looked up in this process's own environment: an audit gives the same answer on every machine. What is set is
told with `--env`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from audit.model import HIDDEN, Setting

Style = Literal["spring", "shell", "any", "none"]
"""Spring's and MicroProfile's (`:` before a default), a shell's and Compose's (`:-`, `-`), not known, or none."""
Lookup = Callable[[str], str | None]

DEEPEST: Final = 8
MOST: Final = 100
"""How many placeholders are replaced in one value: those of those multiply."""
LONGEST: Final = 10_000
"""Characters of the longest value in which placeholders are looked for."""
OTHERS: Final = re.compile(
    r"\{\{[^{}]*\}\}|\{%[^%]*%\}|<%[^%]*%>|\$\(\w+\)|#\{[^{}]*\}|^@[\w.-]+@$|\$\[\[[^][]*\]\]|__[A-Z]+(_[A-Z]+)*__"
)
"""Helm and Jinja, ERB, Kubernetes' $(NAME), Spring's #{…}, Maven's @…@: they depend on what is not here."""
TEMPLATE: Final = re.compile(r"\{\{[^{}]*\}\}|\{%[^%]*%\}|<%[^%]*%>")


@dataclass(frozen=True, slots=True)
class ResolvedText:
    """A text with its placeholders resolved, as far as they can be."""

    text: str
    known: bool = True
    note: str = ""


def environment(env: Mapping[str, str]) -> Lookup:
    """A look-up in `--env`: a name as it stands, or as a variable spells it (a.b-c: A_B_C, or Spring's A_BC)."""

    def look_up(name: str) -> str | None:
        spelled = re.sub(r"\W", "_", name).upper()
        relaxed = re.sub(r"\W", "_", name.replace("-", "")).upper()
        return next((env[each] for each in (name, spelled, relaxed) if each in env), None)

    return look_up


def resolve(text: str, style: Style, look_up: Lookup) -> ResolvedText:
    """A text with every placeholder in it replaced.

    >>> nothing = lambda name: None
    >>> resolve("${ACKS:-1}", "spring", nothing).text, resolve("${ACKS:-1}", "shell", nothing).text
    ('-1', '1')
    >>> resolve("${ACKS:-1}", "any", nothing).known, resolve("${ACKS}", "spring", lambda name: "all").text
    (False, 'all')
    """
    if "$" not in text and not OTHERS.search(text):
        return ResolvedText(text)
    if len(text) > LONGEST:
        return ResolvedText(text, known=False)
    notes: list[str] = []
    known = _Known()
    result = _resolve(text, style, look_up, notes, known, 0)
    if (OTHERS if style != "none" else TEMPLATE).search(result):
        known.all = False
    return ResolvedText(result if known.all else text, known.all, ", ".join(dict.fromkeys(notes)) if known.all else "")


@dataclass(slots=True)
class _Known:
    all: bool = True
    replaced: int = 0


def _resolve(text: str, style: Style, look_up: Lookup, notes: list[str], known: _Known, depth: int) -> str:
    if depth > DEEPEST:
        known.all = False
        return text
    if style == "none":
        return text
    done: list[str] = []
    at = 0
    while (start := text.find("$", at)) >= 0:
        done.append(text[at:start])
        if style == "shell" and text.startswith("$$", start):
            done.append("$")
            at = start + 2
        elif text.startswith("${", start) and (end := _closing(text, start + 2)) is not None:
            done.append(_one(text[start + 2 : end], style, look_up, notes, known, depth))
            at = end + 1
        elif style == "shell" and (bare := re.compile(r"[A-Za-z_]\w*").match(text, start + 1)):
            done.append(_one(bare[0], style, look_up, notes, known, depth))
            at = bare.end()
        else:
            done.append("$")
            at = start + 1
    return "".join([*done, text[at:]])


def _closing(text: str, at: int) -> int | None:
    """Where the brace closes that was opened before `at`."""
    depth = 1
    for index in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return index
    return None


def _one(inside: str, style: Style, look_up: Lookup, notes: list[str], known: _Known, depth: int) -> str:
    """What a placeholder stands for; `inside` is what its braces hold."""
    name, default = inside, None
    known.replaced += 1
    if known.replaced > MOST:
        known.all = False
        return ""
    if style == "spring":
        name, colon, rest = inside.partition(":")
        default = rest if colon else None
    elif style == "shell":
        shell = re.fullmatch(r"(\w+)(?:(:?[-+?=])(.*))?", inside, re.DOTALL)
        if shell is None:
            known.all = False
            return ""
        name = shell[1]
        default = shell[3] if shell[2] in ("-", ":-", "=", ":=") else None
        if shell[2] in ("+", ":+"):
            known.all = known.all and look_up(name) is None
            return ""
    else:
        name, colon, rest = inside.partition(":")
        default = rest if colon and not rest.startswith("-") else None
    name = name.strip()
    if (value := look_up(name)) is not None:
        notes.append(f"${{{name}}} is set")
        return _resolve(value, style, look_up, notes, known, depth + 1)
    if default is not None:
        notes.append(f"the default in ${{{name}}}")
        return _resolve(default, style, look_up, notes, known, depth + 1)
    known.all = False
    return ""


def resolved(setting: Setting, style: Style, look_up: Lookup) -> Setting:
    """A setting with its placeholders resolved. What is hidden stays hidden."""
    if setting.value == HIDDEN or not setting.known:
        return setting
    value = resolve(setting.value, style, look_up)
    if value.known and value.text == setting.value and not value.note:
        return setting
    return dataclasses.replace(setting, value=value.text.strip(), known=value.known, note=value.note or setting.note)
