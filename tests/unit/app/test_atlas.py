"""`kafka-chaos atlas`: whose settings lose what, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.cli import main
from pages.atlas import columns, events, lines
from pages.site import words

SERIALIZER = "key.serializer=org.apache.kafka.common.serialization.StringSerializer\nbootstrap.servers=a:9092\n"


def figures_of(line: str, printed: str) -> list[str]:
    """What the table of lines has for a line: the figures count what the ledger has, so no test states one."""
    (row,) = [row for row in printed.splitlines() if row.startswith(f"{line} ")]
    return re.findall(r"\d+ of \d+", row)


def file_of(tmp_path: Path, text: str) -> str:
    path = tmp_path / "orders.properties"
    path.write_text(SERIALIZER + text)
    return str(path)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("acks=2\n", "acks=2"),
        ("acks=all\nretries=abc\n", "retries=abc"),
        ("acks=all\nenable.idempotence=maybe\n", "enable.idempotence=maybe"),
        ("acks=all\nenable.idempotence=true\nretries=0\nmax.in.flight.requests.per.connection=10\n", "retries=0"),
    ],
)
def test_settings_that_a_client_refuses_are_refused(
    text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["atlas", "--settings", file_of(tmp_path, text), "--version", "2.8.2"]) == 254
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "the client refuses these settings" in printed.err
    assert why in printed.err


def test_a_page_begins_with_four_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["atlas", "--settings", file_of(tmp_path, "acks=1\n"), "--version", "2.8.2"]) == 0
    out = capsys.readouterr().out
    places = [out.index(f"  {one}: ") for one in ("Lost", "Set", "Release", "Not prevented")]
    assert places == sorted(places)
    assert out.count("orders.properties (") == 1
    assert "0 of 0" not in out


def test_a_client_that_is_not_told_is_the_one_that_does_worst(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without acks a client before 3.0 has acks=1, and a newer one acks=all."""
    assert main(["atlas"]) == 0
    _, recommended, _ = figures_of("2.8", capsys.readouterr().out)
    assert main(["atlas", "--settings", file_of(tmp_path, "linger.ms=3\n"), "--version", "2.8.2"]) == 0
    out = capsys.readouterr().out
    assert "if the client is kafka-clients" in out
    assert out.index("Lost: With acks=1") < out.index(
        f"If the client is kafka-clients 3.0.1 or later: {recommended} lose records."
    )


def test_without_a_version_there_is_one_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["atlas", "--settings", file_of(tmp_path, "acks=1\nretries=5\n")]) == 0
    printed = capsys.readouterr().out
    out = printed.splitlines()
    assert len(out) < len(lines.every()) + 8
    acks_1, recommended, _, yours = figures_of("2.8", printed)
    assert (yours, yours == recommended) == (acks_1, False)
    assert out[0].endswith("yours")
    assert "add --version 2.8.2" in out[-1]
    assert not [line for line in out if any(name in line for name in events.EVENTS.values())]


def test_without_settings_the_table_has_no_column_for_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["atlas"]) == 0
    assert "yours" not in capsys.readouterr().out


def test_a_release_that_has_two_modes_says_so_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["atlas", "--version", "3.9.2"]) == 0
    assert capsys.readouterr().out.startswith("3.9.2: a page for each of 3.9-kraft and 3.9-zk; --version takes one.")
    assert main(["atlas", "--version", "3.9-zk"]) == 0
    assert "a page for each" not in capsys.readouterr().out


def test_the_headings_are_those_of_four_answers() -> None:
    from app.commands.atlas import HEADINGS
    from pages.atlas import model

    atlas = model.atlas(lines.asked("2.8")[0], model.load())
    column = next(one for one in atlas.columns if one.id == columns.ACKS_1)
    assert len(words.answers(atlas, "java", column)) == len(HEADINGS)
