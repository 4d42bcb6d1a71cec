"""An own build with a regression planted: a release's jars, and the changed classes in place of its own."""

from __future__ import annotations

import os
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from evidence.errors import HarnessError
from harness.setup.java import find_java
from harness.setup.waiting import Echo
from tests.mutants import image
from tests.own_builds import released, rewritten
from tests.planted import RELEASE, Planted

LIMIT_S: Final = 300


def make(planted: Planted, to: Path, echo: Echo) -> list[str]:
    """Make a build below `to`, which is not there yet; returns the paths of the classes that are changed.

    Raises HarnessError if a change cannot be made to the released jars.
    """
    libraries = released(RELEASE, to)
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-") as scratch:
        place, made = Path(scratch), Path(scratch) / "made"
        agent = image.compile_agent(echo)
        for name, content in agent.items():
            (place / name).write_bytes(content)
        (place / "planted.properties").write_text(image.properties(planted.as_mutant, RELEASE))
        command: list[str | os.PathLike[str]] = [find_java(), f"-Dmutants.to={made}"]
        command += ["-cp", f"{place}/*:{libraries}/*", "mutants.Mutant", place / "planted.properties"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        changed = {str(path.relative_to(made)): path.read_bytes() for path in sorted(made.rglob("*.class"))}
    if done.returncode or " failed: " in done.stdout or len(changed) != len({one.of for one in planted.changes}):
        raise HarnessError(f"{planted.name} cannot be made: {(done.stdout + done.stderr).strip()[-500:]}")
    for name, content in changed.items():
        rewritten(_jar_with(libraries, name), {name: content})
    for name, content in agent.items():
        (libraries / name).write_bytes(content)
    return sorted(changed)


def _jar_with(libraries: Path, name: str) -> Path:
    """The jar that has a class."""
    for jar in sorted(libraries.glob("kafka*.jar")):
        with zipfile.ZipFile(jar) as archive:
            if name in archive.namelist():
                return jar
    raise HarnessError(f"no jar in {libraries} has {name}")
