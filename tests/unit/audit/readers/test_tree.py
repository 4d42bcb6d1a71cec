"""YAML and JSON, with their lines."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from audit.readers.text import Text, Unreadable
from audit.readers.tree import Scalar, Table, flatten, read_json, read_yaml


def settings(content: str) -> dict[str, tuple[str, int | None]]:
    source = Text("a.yml", content)
    found = read_yaml(source)
    assert found.error is None, found.error
    return {each.key: (each.value, each.origin.line) for node in found.nodes for each in flatten(node, source)}


def test_keys_are_joined_and_have_their_lines() -> None:
    assert settings("spring:\n  kafka:\n    acks: all\n    a.b: 1\nx: [1, 2]\ny:\n- k: v\n") == {
        "spring.kafka.acks": ("all", 3),
        "spring.kafka.a.b": ("1", 4),
        "x": ("1,2", 5),
        "y[0].k": ("v", 7),
    }


def test_a_key_in_brackets_stands_as_it_is() -> None:
    assert settings('properties:\n  "[linger.ms]": 5\n') == {"properties.linger.ms": ("5", 2)}


def test_anchors_and_merge_keys() -> None:
    content = (
        "base: &base\n  acks: 1\n  linger.ms: 5\np:\n  <<: *base\n  acks: all\nq: {<<: [*base, {acks: 0, x: 1}]}\n"
    )
    found = settings(content)
    assert found["p.acks"] == ("all", 6)
    assert found["p.linger.ms"] == ("5", 3)
    assert found["q.acks"] == ("1", 2)
    assert found["q.x"] == ("1", 7)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "true"),
        ("Off", "false"),
        ("'yes'", "yes"),
        ("010", "8"),
        ("0x1F", "31"),
        ("-1", "-1"),
        ("1_000", "1000"),
        ("~", ""),
        ('"\\u0061ll"', "all"),
        ("1.0", "1.0"),
        ("all # comment", "all"),
        (">-\n  a\n  b", "a b"),
        ("0", "0"),
        ("00", "0"),
    ],
)
def test_scalars_are_those_of_yaml_1_1(text, value) -> None:
    assert settings(f"a: {text}\n")["a"][0] == value


def test_of_a_key_that_is_twice_the_last_counts_and_it_is_told() -> None:
    found = read_yaml(Text("a", "a: 1\nb: 2\na: 3\n"))
    assert isinstance(found.nodes[0], Table)
    assert found.nodes[0].text("a") == "3"
    assert [(each.kind, each.origin.line) for each in found.problems] == [("duplicate", 3)]


def test_documents_before_an_error_are_kept() -> None:
    found = read_yaml(Text("a", "a: 1\n---\nb: 2\n---\nc: [\n"))
    assert [node.text(key) for node, key in zip(found.nodes, "ab", strict=True) if isinstance(node, Table)] == [
        "1",
        "2",
    ]
    assert found.error is not None
    assert found.error.line is not None


@pytest.mark.parametrize("content", ["[" * 100_000, "{a: " * 100_000, "&a [*a]", "- " * 5000 + "x"])
def test_depth_and_circles_end_in_an_error_not_in_a_crash(content) -> None:
    assert read_yaml(Text("a", content)).error is not None


def test_a_billion_laughs_are_too_many() -> None:
    content = "a0: &a0 [x, y]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    source = Text("a", content)
    with pytest.raises(Unreadable, match="more than"):
        flatten(read_yaml(source).nodes[0], source)


def test_json_has_lines_and_a_clear_error() -> None:
    source = Text("a", '{\n\t"acks": "all",\n\t"n": 5, "b": true, "x": null\n}')
    assert [(e.key, e.value, e.origin.line) for e in flatten(read_json(source).nodes[0], source)] == [
        ("acks", "all", 2),
        ("n", "5", 3),
        ("b", "true", 3),
        ("x", "", 3),
    ]
    error = read_json(Text("a", '{"a": 1,\n "b" 2}')).error
    assert error is not None
    assert (error.line, str(error)) == (2, "expecting ':' delimiter")


def test_json_that_is_no_yaml_is_read_without_lines() -> None:
    source = Text("a", '{"a": "\\ud83d\\ude00", "acks": "all"}')
    assert [(each.key, each.value) for each in flatten(read_json(source).nodes[0], source)][1] == ("acks", "all")
    assert read_json(Text("a", "[" * 100_000)).error is not None


VALUES = st.recursive(
    st.text(max_size=6) | st.integers(-(10**6), 10**6) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


def plain(node: object) -> object:
    if isinstance(node, Table):
        return {key: plain(value) for key, _, value in node.items}
    return node.text if isinstance(node, Scalar) else [plain(each) for each in getattr(node, "items", ())]


def texts(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): texts(each) for key, each in value.items()}
    if isinstance(value, list):
        return [texts(each) for each in value]
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_json_comes_back_as_it_was(value) -> None:
    found = read_json(Text("a", json.dumps(value)))
    assert found.error is None
    if "<<" not in json.dumps(value):
        assert plain(found.nodes[0]) == texts(value)


@given(st.dictionaries(st.text("abc.", min_size=1, max_size=5), VALUES, min_size=1, max_size=4))
def test_yaml_comes_back_as_it_was(value) -> None:
    (node,) = read_yaml(Text("a", yaml.safe_dump(value))).nodes
    if "<<" not in json.dumps(value):
        assert plain(node) == texts(value)


@given(st.text(st.sampled_from("ab:-[]{}&*<>|'\"#%!,? \n\t"), max_size=60))
def test_no_text_is_too_damaged_to_be_read(content) -> None:
    source = Text("a", content)
    for node in read_yaml(source).nodes:
        flatten(node, source)
