"""The files of Spark's file sink as a store: what its log names is told, and nothing else is taken for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evidence.errors import HarnessError
from evidence.history.inputs import Input
from harness.workloads.stores import is_written_to, keeps_offsets, name_of, read_store
from harness.workloads.stores.parts import LOG, SUFFIX
from harness.workloads.stores.types import Output

DIRECTORY = f"output{SUFFIX}"


def batch(root: Path, name: str, *files: str) -> None:
    """An entry of the log that names these files."""
    log = root / DIRECTORY / LOG
    log.mkdir(parents=True, exist_ok=True)
    added = [json.dumps({"path": (root / DIRECTORY / one).as_uri(), "action": "add"}) for one in files]
    (log / name).write_text("\n".join(["v1", *added]))


def part(root: Path, name: str, *offsets: int, producer: int = 3, run: str = "r") -> str:
    (root / DIRECTORY).mkdir(exist_ok=True)
    (root / DIRECTORY / name).write_text("".join(f"{run} {producer} t 0 {offset}\n" for offset in offsets))
    return name


def offsets(root: Path) -> list[int]:
    return [one.source.offset for one in read_store(str(root / DIRECTORY), "r").outputs]


def test_the_lines_of_the_files_that_the_log_names(tmp_path: Path) -> None:
    batch(tmp_path, "0", part(tmp_path, "part-0.txt", 0, 1))
    batch(tmp_path, "1", part(tmp_path, "part-1 of two.txt", 2, producer=4))
    stored = read_store(str(tmp_path / DIRECTORY), "r")
    assert stored.outputs == (
        Output(3, 0, Input("t", 0, 0)),
        Output(3, 1, Input("t", 0, 1)),
        Output(4, 2, Input("t", 0, 2)),
    )
    assert stored.offsets == {}


def test_a_file_that_a_killed_batch_has_left_is_not_there(tmp_path: Path) -> None:
    batch(tmp_path, "0", part(tmp_path, "part-0.txt", 0))
    part(tmp_path, "part-1.txt", 1)
    (tmp_path / DIRECTORY / LOG / ".1.0f2e.tmp").write_text("v1\n")
    assert offsets(tmp_path) == [0]


def test_an_entry_that_has_all_before_it_is_read_alone(tmp_path: Path) -> None:
    files = [part(tmp_path, f"part-{number}.txt", number) for number in range(12)]
    for number in range(9):
        batch(tmp_path, str(number), files[number])
    batch(tmp_path, "9.compact", *files[:10])
    batch(tmp_path, "10", files[10])
    batch(tmp_path, "11", files[11])
    assert offsets(tmp_path) == list(range(12))


def test_there_is_nothing_before_the_first_batch(tmp_path: Path) -> None:
    assert offsets(tmp_path) == []


@pytest.mark.parametrize("line", ["", "r 3 t 0", "r 3 t 0 x", "r 3 t 0 1 2", "three"])
def test_a_line_that_is_no_output_is_refused(tmp_path: Path, line: str) -> None:
    batch(tmp_path, "0", part(tmp_path, "part-0.txt"))
    (tmp_path / DIRECTORY / "part-0.txt").write_text(f"{line}\n")
    with pytest.raises(HarnessError, match=f"the store {DIRECTORY} has a line that names no input"):
        offsets(tmp_path)


@pytest.mark.parametrize("entry", ["v1\n{", 'v1\n{"action": "add"}', 'v1\n{"path": "file:///not/there"}'])
def test_a_log_that_cannot_be_read_is_refused(tmp_path: Path, entry: str) -> None:
    batch(tmp_path, "0")
    (tmp_path / DIRECTORY / LOG / "0").write_text(entry)
    with pytest.raises(HarnessError, match=f"the store {DIRECTORY} cannot be read"):
        offsets(tmp_path)


def test_outputs_of_another_run_are_refused(tmp_path: Path) -> None:
    batch(tmp_path, "0", part(tmp_path, "part-0.txt", 0, run="other"))
    with pytest.raises(HarnessError, match="has outputs of other, not of r alone"):
        offsets(tmp_path)


def test_what_a_store_of_files_is(tmp_path: Path) -> None:
    place = str(tmp_path / DIRECTORY)
    assert (name_of(place), keeps_offsets(place), is_written_to(place)) == (DIRECTORY, False, False)
