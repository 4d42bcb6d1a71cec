r"""Text of others (log lines, keys, names, errors) made safe to show: on a terminal, in Markdown, in HTML and SVG.

What brokers and clients wrote is evidence and kept as it is in the files of a run; only what shows it changes it. A
control character can move a terminal's cursor or hide a line, a bidirectional override can turn a sentence round, and a
lone surrogate cannot be written at all. Each is shown by its escape, such as \x1b. There is one function for each place
that shows text, so that nobody escapes by hand.
"""

from __future__ import annotations

import io
import os
import re
import sys
import sysconfig
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Final

CONTROL: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
"""Control characters (C0, DEL, C1), separators of lines, bidirectional marks, lone surrogates, what XML cannot hold."""
MARKDOWN: Final = re.compile(r"[\\`*_\[\]|~#]")


def visible(text: str, *, keep: str = "") -> str:
    r"""Text in which every control character is shown by its escape, those in `keep` (newlines, say) apart.

    >>> visible("\x1b[2Jgone\n")
    '\\x1b[2Jgone\\n'
    """
    return CONTROL.sub(lambda found: found[0] if found[0] in keep else ascii(found[0])[1:-1], text)


def html(text: str) -> str:
    """Text as content or attribute of HTML and SVG; newlines and tabs stay."""
    return escape(visible(text, keep="\n\t"))


def markdown(text: str) -> str:
    """Text that Markdown and the HTML in it show as it is, in one line, also in a table or a heading.

    Character references are used throughout: unlike backslashes they mean the same inside an HTML element.

    >>> markdown("a|b <c>")
    'a&#124;b &lt;c&gt;'
    """
    plain = escape(visible(" ".join(text.splitlines())), quote=False)
    return MARKDOWN.sub(lambda found: f"&#{ord(found[0])};", plain)


def without_place(text: str, run: str) -> str:
    """What is told of a run without the directories that it lay in, which are of one machine.

    >>> without_place("no room: /home/me/runs/the-run-1/data/broker-1", "the-run-1")
    'no room: data/broker-1'
    """
    return re.sub(rf"(?:/[\w.+-]+)+/{re.escape(run)}/", "", text)


def without_places(text: str, places: Iterable[str]) -> str:
    """Text in which files of these directories have their relative paths: a traceback names no place of one machine.

    Of nested directories the innermost counts.

    >>> without_places('File "/home/me/chaos/harness/run.py", line 3', ["/home/me/chaos"])
    'File "harness/run.py", line 3'
    """
    roots = sorted({place.rstrip("/") for place in places} - {""}, key=len, reverse=True)
    if not roots:
        return text
    return re.sub(rf"(?<![\w.+/-])(?:{'|'.join(map(re.escape, roots))})/", "", text)


def code_places() -> frozenset[str]:
    """The directories of this program's code: its own, the standard library's and those of installed packages."""
    own = str(Path(__file__).resolve().parents[1])
    paths = sysconfig.get_paths()
    return frozenset({own, paths["stdlib"], paths["purelib"], paths["platlib"], *filter(os.path.isabs, sys.path)})


def plural(n: int, noun: str) -> str:
    """A number and its noun, in the plural unless the number is one; thousands are set apart by spaces.

    >>> plural(1, "record"), plural(12000, "record"), plural(2, "copy")
    ('1 record', '12 000 records', '2 copies')
    """
    many = noun[:-1] + "ies" if noun.endswith("y") and noun[-2] not in "aeiou" else noun + "s"
    return f"{n:,}".replace(",", " ") + f" {noun if n == 1 else many}"


def fenced(text: str, *, indent: str = "") -> str:
    """A block of code in Markdown, each line behind `indent`, in a fence that nothing in the text can close."""
    shown = visible(text, keep="\n\t")
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", shown))])
    return "\n".join(f"{indent}{line}" for line in (fence, *shown.split("\n"), fence))


def forgiving_output() -> None:
    """Let standard output and error show by its escape what their encoding has no character for, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
