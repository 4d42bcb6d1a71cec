"""Java .properties: what java.util.Properties would read, line by line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.readers.properties import read_properties
from audit.readers.text import Text
from tests.unit.audit.reading import lines, only, read, told, values


def pairs(content: str) -> list[tuple[str, str, int | None]]:
    return [(each.key, each.value, each.origin.line) for each in read_properties(Text("a", content)).settings]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("acks=all", [("acks", "all", 1)]),
        ("acks:all", [("acks", "all", 1)]),
        ("acks all", [("acks", "all", 1)]),
        ("  acks\t=\tall", [("acks", "all", 1)]),
        ("# acks=0\n! acks=1\nacks=all\n", [("acks", "all", 3)]),
        ("a=x,\\\n   y,\\\n   z\nb=1", [("a", "x,y,z", 1), ("b", "1", 4)]),
        ("a=\\u0061\\u006cl", [("a", "all", 1)]),
        ("a\\=b=c\\:d", [("a=b", "c:d", 1)]),
        ("a=1\r\nb=2\rc=3", [("a", "1", 1), ("b", "2", 2), ("c", "3", 3)]),
        ("a=\nb", [("a", "", 1), ("b", "", 2)]),
        ("a=x # no comment", [("a", "x # no comment", 1)]),
        ("a=x\\\\\nb=y", [("a", "x\\", 1), ("b", "y", 2)]),
        ("", []),
    ],
)
def test_what_java_reads(content, expected) -> None:
    assert pairs(content) == expected


def test_the_last_of_two_counts_and_it_is_told(tmp_path) -> None:
    inputs = read(tmp_path, {"producer.properties": "acks=0\nlinger.ms=1\nacks=all\n"})
    assert values(only(inputs))["acks"] == "all"
    assert lines(only(inputs))["acks"] == "producer.properties:3"
    assert told(inputs, "duplicate") == [
        "producer.properties:3 the key 'acks' was there already, in line 1: the last one counts"
    ]


def test_an_escape_that_java_refuses_is_told_and_the_rest_is_read(tmp_path) -> None:
    inputs = read(tmp_path, {"producer.properties": "linger.ms=1\nclient.id=\\u00zz\\\n  more\nacks=all\n"})
    assert values(only(inputs)) == {"linger.ms": "1", "acks": "all"}
    assert lines(only(inputs))["acks"] == "producer.properties:4"
    assert told(inputs, "unreadable")[0].startswith("producer.properties:2 a \\u that is not followed")


def test_a_byte_order_mark_hides_the_first_key_as_it_does_in_java(tmp_path) -> None:
    inputs = read(tmp_path, {"producer.properties": b"\xef\xbb\xbfacks=all\nlinger.ms=5\n"})
    assert "acks" not in only(inputs).settings
    assert any("byte order mark" in each for each in told(inputs))


def test_springs_dividers_make_pages() -> None:
    found = read_properties(Text("a", "a=1\n#---\na=2\n!---\nb=3\n"), paged=True)
    assert [[each.value for each in page] for page in found.pages] == [["1"], ["2"], ["3"]]
    assert found.problems == []


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(each):04x}" for each in text)


WORDS = st.text(
    st.characters(min_codepoint=33, max_codepoint=0xD7FF, blacklist_characters="\x7f"), min_size=1, max_size=8
)


@given(st.lists(st.tuples(WORDS, WORDS), max_size=5))
def test_every_key_and_value_comes_back_with_its_line(given_pairs) -> None:
    content = "".join(f"{escaped(key)} = {escaped(value)}\n\n" for key, value in given_pairs)
    expected = [(key, value.strip(), 2 * number + 1) for number, (key, value) in enumerate(given_pairs)]
    assert pairs(content) == expected


@given(st.text(st.sampled_from("ab=: \\u0\n\r\t#!\f"), max_size=60))
def test_no_text_is_too_damaged_to_be_read(content) -> None:
    found = read_properties(Text("a", content))
    end = content.count("\n") + content.count("\r") + 1
    assert all(each.origin.line is not None and 1 <= each.origin.line <= end for each in found.settings)
