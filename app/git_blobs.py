"""What git has of files at commits, of many at once: the name of each file's content, and the contents."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]

At = tuple[str, str]
"""A commit and a file's path in it, from the root of the checkout."""


def blobs(asked: Iterable[At], root: Path = ROOT) -> dict[At, str]:
    """The blob of each file at each commit; none where git does not know it, and outside a checkout."""
    every = sorted(asked)
    names = "".join(f"{commit}:{path}\n" for commit, path in every).encode()
    said = _git(root, ["cat-file", "--batch-check=%(objectname) %(objecttype)"], names).decode().splitlines()
    words = [line.split() for line in said]
    return {key: word[0] for key, word in zip(every, words, strict=bool(words)) if word[1:] == ["blob"]}


def contents(asked: Iterable[str], root: Path = ROOT) -> dict[str, bytes]:
    """What is in each of these blobs, which git has."""
    every = sorted(asked)
    said, found = _git(root, ["cat-file", "--batch=%(objectsize)"], "".join(f"{one}\n" for one in every).encode()), {}
    for blob in every:
        size, _, rest = said.partition(b"\n")
        found[blob], said = rest[: int(size)], rest[int(size) + 1 :]
    return found


def _git(root: Path, words: list[str], given: bytes) -> bytes:
    try:
        return subprocess.run(["git", *words], input=given, cwd=root, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return b""
