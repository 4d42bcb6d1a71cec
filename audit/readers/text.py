"""A piece of configuration as text, and what a parser makes of one.

A piece is a whole file, or a part of one that is a file of its own again (`application.yml: |` in a ConfigMap). It
knows at which line of the file it begins, so that everything read from it has the file's line numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from audit.model import InputProblem, Kind, Origin


class Unreadable(Exception):
    """A text is not what its name says. The message has nothing of its content; `line` counts from 1."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Text:
    """A text, its file as the user named it, and the line of that file on which it begins."""

    path: str
    content: str
    first_line: int = 1
    name: str = ""
    """The name by which its format is known, if that is not the path's ("application.yml" inside a ConfigMap)."""

    @property
    def file(self) -> str:
        """The last part of its name."""
        return (self.name or self.path).replace("\\", "/").rpartition("/")[2]

    def origin(self, line: int | None = 1) -> Origin:
        """Where its line `line` is in the file."""
        return Origin(self.path, None if line is None else line + self.first_line - 1)

    def problem(self, kind: Kind, line: int | None, message: str, do: str = "") -> InputProblem:
        """A problem in its line `line`."""
        return InputProblem(self.origin(line), kind, message, do)

    def line_at(self, offset: int) -> int:
        """The line in which the character `offset` is."""
        return self.content.count("\n", 0, offset) + 1


def decode(content: bytes) -> str:
    """The text of a file: UTF-8, UTF-16 if it has its mark, else Latin-1, in which every byte is a character."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")
