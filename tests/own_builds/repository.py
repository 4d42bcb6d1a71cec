"""`python -m tests.own_builds.repository DIRECTORY`: a small git repository of a patched Kafka, for `git bisect run`.

It holds one class of a release, UnifiedLog, as its sources jar has it, and six commits that change it. One of them, the
fourth, has a leader write nothing of batches that end between offsets 100 and 3000; the others add comments. With
`--build` the class is compiled as it is checked out there, against the released jars, and the build lies in
DIRECTORY/build/libs: what a build step of one's own does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.own_builds import compiled, released, rewritten, source_of

RELEASE: Final = "4.3.1"
MODULE: Final = "kafka-storage"
NAME: Final = "org/apache/kafka/storage/internals/log/UnifiedLog.java"
FILE: Final = "UnifiedLog.java"
APPEND: Final = "localLog.append(appendInfo.lastOffset(), validRecords);"
LOST: Final = (
    "if (origin == AppendOrigin.CLIENT && appendInfo.lastOffset() > 100"
    " && appendInfo.lastOffset() < 3000)\n"
    "                                    localLog.updateLogEndOffset(appendInfo.lastOffset() + 1);\n"
    "                                else\n"
    f"                                    {APPEND}"
)
"""In place of APPEND: the log's end goes on, and nothing is written."""
BROKEN: Final = 4
"""Which commit has it, from 1 on."""
COMMITS: Final = (
    "UnifiedLog as released",
    "A comment",
    "Another comment",
    "Write less",
    "A comment after it",
    "One more",
)


def _git(root: Path, *arguments: str) -> None:
    identity = {f"GIT_{who}_{what}": "own-builds" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", *arguments], cwd=root, check=True, env=os.environ | identity, stdout=subprocess.DEVNULL)


def texts(released_text: str) -> list[str]:
    """The class at each commit. Raises ValueError if the release has no line to change, or two."""
    if released_text.count(APPEND) != 1:
        raise ValueError(f"{NAME} of {RELEASE} has {released_text.count(APPEND)} lines {APPEND!r}, not one")
    found, text = [], released_text
    for number, subject in enumerate(COMMITS, 1):
        text = text.replace(APPEND, LOST) if number == BROKEN else f"{text}// {subject}\n" if number > 1 else text
        found.append(text)
    return found


def make(root: Path) -> None:
    """The repository, with its commits."""
    root.mkdir(parents=True)
    _git(root, "init", "--quiet")
    (root / ".gitignore").write_text("build/\n")
    for subject, text in zip(COMMITS, texts(source_of(MODULE, RELEASE)[NAME]), strict=True):
        (root / FILE).write_text(text)
        _git(root, "add", "--all")
        _git(root, "commit", "--quiet", "--message", subject)


def build(root: Path) -> None:
    """The class as it is checked out, in the jars of the release."""
    shutil.rmtree(root / "build", ignore_errors=True)
    libraries = released(RELEASE, root / "build")
    (jar,) = libraries.glob(f"{MODULE}-[0-9]*.jar")
    rewritten(jar, compiled({NAME: (root / FILE).read_text()}, libraries, 17))


if __name__ == "__main__":
    (build if "--build" in sys.argv else make)(Path(sys.argv[1]))
