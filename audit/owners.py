"""Whose a file is, by the CODEOWNERS of its repository (GitHub's and GitLab's).

The file is looked for at the root of the repository, in `.github/`, `.gitlab/` and `docs/`; the root is the nearest
directory above that has one, or a `.git`. Patterns are those of .gitignore, without `!`, and the last that fits counts;
one without owners takes them away. A section of GitLab's (`[Name]`) is passed over, its default owners too.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

FILES: Final = ("CODEOWNERS", ".github/CODEOWNERS", ".gitlab/CODEOWNERS", "docs/CODEOWNERS")
HIGHEST: Final = 40
"""How many directories are looked into above a file."""
LARGEST: Final = 1_000_000
Rules = tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]


def owners_of(path: str) -> tuple[str, ...]:
    """The owners of a file; none if nobody says."""
    file = Path(path).absolute()
    for folder in tuple(file.parents)[:HIGHEST]:
        rules = _rules(str(folder))
        if rules is not None:
            name = file.relative_to(folder).as_posix()
            return next((owners for pattern, owners in reversed(rules) if pattern.match(name)), ())
        if (folder / ".git").exists():
            return ()
    return ()


@cache
def _rules(folder: str) -> Rules | None:
    """The rules of a directory's CODEOWNERS; None if it has none that can be read."""
    for name in FILES:
        file = Path(folder, name)
        try:
            if file.is_file() and file.stat().st_size <= LARGEST:
                return parsed(file.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
    return None


def parsed(text: str) -> Rules:
    """The rules of a CODEOWNERS file, in order: which paths, and whose they are.

    >>> [(bool(pattern.match("apps/a/x.yml")), owners) for pattern, owners in parsed("apps/ @a @b  # ours")]
    [(True, ('@a', '@b'))]
    """
    found = []
    for line in text.splitlines():
        words = re.sub(r"(?<!\\)#.*", "", line).replace("\\ ", "\0").split()
        if words and not words[0].startswith(("[", "^[", "!")):
            found.append((_pattern(words[0].replace("\0", " ").replace("\\#", "#")), tuple(words[1:])))
    return tuple(found)


def _pattern(written: str) -> re.Pattern[str]:
    """What a pattern of .gitignore fits, as a regular expression of whole paths."""
    inside = "/" in written.rstrip("/")
    parts = re.split(r"(\*\*/|/\*\*$|\*|\?)", written.strip("/"))
    means = {"**/": "(?:.*/)?", "/**": "/.*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(means.get(part, re.escape(part)) for part in parts)
    # `docs/*` has the files of docs/, and none below its directories.
    below = "/.*" if written.endswith("/") else "" if written.endswith("/*") else "(?:/.*)?"
    return re.compile(rf"(?:{'' if inside else '(?:.*/)?'}{body}{below})\Z", re.DOTALL)
