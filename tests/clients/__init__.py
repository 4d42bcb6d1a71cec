"""Clients that are not librdkafka's or Java's, as docs/own-clients.md has them: each in a folder of its own.

They are no part of the product, and nothing of theirs is installed with it. Each is built on demand, with what its lock
names, into build/clients/ (not committed):

    python -m tests.clients franz-go      builds it if its files have changed, and prints the command for --client
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
BUILT: Final = HERE.parents[1] / "build" / "clients"
LIMIT_S: Final = 1800.0


def command(name: str) -> str:
    """The command of a client, which is built first if it is not, or has changed.

    Raises KeyError for a name that is none, CalledProcessError if it cannot be built.
    """
    build, files = BUILDS[name]
    sources = [HERE / name / file for file in files]
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()
    folder = BUILT / name
    stamp = folder / "built"
    folder.mkdir(parents=True, exist_ok=True)
    words = build(name, folder, not stamp.exists() or stamp.read_text() != digest)
    stamp.write_text(digest)
    return shlex.join(words)


def _carry_out(words: Sequence[str], folder: Path, **environment: str) -> None:
    subprocess.run(words, cwd=folder, check=True, timeout=LIMIT_S, env=os.environ | environment, stdout=sys.stderr)


def _python(name: str, folder: Path, stale: bool) -> list[str]:
    python = str(folder / "venv" / "bin" / "python")
    if stale:
        _carry_out([sys.executable, "-m", "venv", "--clear", str(folder / "venv")], HERE)
        lock = HERE / name / "requirements.txt"
        _carry_out([python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(lock)], HERE)
    return [python, str(HERE / name / "client.py")]


def _go(name: str, folder: Path, stale: bool) -> list[str]:
    if stale:
        _carry_out(["go", "build", "-mod=readonly", "-o", str(folder / name), "."], HERE / name)
    return [str(folder / name)]


def _rust(name: str, folder: Path, stale: bool) -> list[str]:
    if stale:
        _carry_out(["cargo", "build", "--release", "--locked"], HERE / name, CARGO_TARGET_DIR=str(folder / "target"))
    return [str(folder / "target" / "release" / f"kafka-chaos-{name}")]


Build = Callable[[str, Path, bool], list[str]]
BUILDS: Final[Mapping[str, tuple[Build, tuple[str, ...]]]] = {
    "worked": (_python, ("requirements.txt",)),
    "kafka-python": (_python, ("requirements.txt",)),
    "aiokafka": (_python, ("requirements.txt",)),
    "franz-go": (_go, ("go.mod", "go.sum", "main.go")),
    "rskafka": (_rust, ("Cargo.toml", "Cargo.lock", "src/main.rs")),
}
"""How each is built, and the files that what is built depends on."""
