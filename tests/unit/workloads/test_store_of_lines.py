"""A file of lines as a store: what Kafka Connect's sink has written is told, and nothing else is taken for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.errors import HarnessError
from evidence.history.inputs import Input
from harness.workloads.stores import name_of, read_store
from harness.workloads.stores.lines import FILE, SUFFIX, begin
from harness.workloads.stores.types import Output

SOURCES = st.builds(
    Input, st.text("abcXYZ019._-", min_size=1, max_size=249), st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1)
)


def line(source: Input, value: str = "[B@1f2e3d4c") -> str:
    """A line as FileStreamSinkTask prints it."""
    topic, partition, offset = source
    return f"Struct{{value={value},topic={topic},partition={partition},offset={offset}}}\n"


def written(root: Path, *lines: str, run: str = "r", producer: int = 3) -> str:
    path = root / FILE
    begin(path, run, producer)
    with path.open("a") as file:
        file.writelines(lines)
    return str(path)


@given(st.lists(SOURCES, max_size=5))
def test_each_line_names_its_input(tmp_path_factory: pytest.TempPathFactory, sources: list[Input]) -> None:
    place = written(tmp_path_factory.mktemp("store"), *map(line, sources))
    stored = read_store(place, "r")
    assert stored.outputs == tuple(Output(3, number, source) for number, source in enumerate(sources))
    assert stored.offsets == {}


def test_a_line_that_is_not_yet_written_is_no_output(tmp_path: Path) -> None:
    place = written(tmp_path, line(Input("t", 0, 7)), line(Input("t", 0, 8))[:-1])
    assert [one.source.offset for one in read_store(place, "r").outputs] == [7]
    assert read_store(place, "r").made_of("t", 0) == 1


@pytest.mark.parametrize(
    "other",
    [
        "\n",
        "[B@1f2e3d4c\n",
        "Struct{value=[B@1f,topic=t,partition=0}\n",
        "Struct{value=[B@1f,topic=t,partition=0,offset=x}\n",
        "Struct{value=[B@1f,topic=t,partition=0,offset=7} \n",
        "Struct{value=[B@1f,topic=t,partition=0,offset=7}Struct{value=[B@1f,topic=t,partition=0,offset=8}\n",
        "\0\0\0\n",
    ],
)
def test_a_line_that_names_no_input_is_told(other: str, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"outputs\.lines has a line that names no input"):
        read_store(written(tmp_path, other), "r")


@pytest.mark.parametrize("text", ["", "run r\n", line(Input("t", 0, 7)), "run r worker 3"])
def test_a_file_of_nobody_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(HarnessError, match=r"outputs\.lines does not say whose it is"):
        read_store(str(tmp_path / FILE), "r")


def test_a_file_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"outputs\.lines cannot be read: No such file"):
        read_store(str(tmp_path / FILE), "r")


def test_the_lines_of_another_run_are_none_of_this_one(tmp_path: Path) -> None:
    place = written(tmp_path, line(Input("t", 0, 7)), run="other")
    with pytest.raises(HarnessError, match=r"the store outputs\.lines has outputs of other, not of r alone"):
        read_store(place, "r")


def test_it_is_known_by_its_name(tmp_path: Path) -> None:
    assert FILE.endswith(SUFFIX)
    assert name_of(str(tmp_path / FILE)) == FILE
