"""How much of the product the unit tests run: `make coverage` measures it, this says it by room.

    python -m tests.covered

Only what runs in the tests' own process counts, so the mains of client processes and whatever touches a real engine do
not: those are run by the tests on real brokers, which no tracer slows. In a CI job the table goes into its summary.
"""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

from coverage import Coverage

ROOT = Path(__file__).parents[1]


def by_room(data: Path) -> dict[str, tuple[int, int]]:
    """Of each top folder: how many statements its files have, and how many of them were run."""
    measured = Coverage(data_file=str(data), config_file=str(ROOT / "pyproject.toml"))
    measured.load()
    rooms: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for file in (file for file in measured.get_data().measured_files() if file.endswith(".py")):
        _, statements, _, missing, _ = measured.analysis2(file)
        room = Path(file).relative_to(ROOT).parts[0]
        every, run = rooms[room]
        rooms[room] = (every + len(statements), run + len(statements) - len(missing))
    return dict(sorted(rooms.items()))


def table(rooms: dict[str, tuple[int, int]]) -> str:
    """A table in Markdown, its title a line of its own.

    >>> table({"a": (200, 150), "b": (100, 0)}).splitlines()[0]
    'Coverage of product code by unit tests: 50 % of 300 statements'
    """
    every, run = (sum(counts) for counts in zip(*rooms.values(), strict=True))
    lines = [f"Coverage of product code by unit tests: {run / every:.0%} of {every} statements".replace("%", " %"), ""]
    lines += ["| room | statements | run |", "|---|---:|---:|"]
    lines += [f"| {room} | {every} | {run / every:.0%} |".replace("%", " %") for room, (every, run) in rooms.items()]
    return "\n".join(lines)


def main() -> None:
    """Print the table, and append it to a CI job's summary if this is one."""
    told = table(by_room(ROOT / ".coverage"))
    print(told)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(f"\n{told}\n")


if __name__ == "__main__":
    main()
