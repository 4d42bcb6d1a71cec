"""What brokers and clients wrote reaches a terminal, a page or a file as text and as nothing else."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from evidence import text

NASTY = "\x1b[2J\x07\r\x9b31m\u202e\ud800\x00"


def test_control_characters_are_shown_by_their_escapes() -> None:
    assert text.visible(NASTY) == "\\x1b[2J\\x07\\r\\x9b31m\\u202e\\ud800\\x00"
    assert text.visible("a\nb\tc\x1b", keep="\n\t") == "a\nb\tc\\x1b"


@pytest.mark.parametrize("plain", ["m3 is gone — “truncated”, ×3 ✓", "naïve 日本語", "a\\x1b is a text"])
def test_what_is_text_stays_as_it_is(plain: str) -> None:
    assert text.visible(plain) == plain


def test_html_is_escaped_and_can_be_parsed_as_xml() -> None:
    shown = text.html(f'<script>"&{NASTY}\ufffe')
    assert "<script>" not in shown
    assert ET.fromstring(f'<a b="{shown}">{shown}</a>').text == f'<script>"&{text.visible(NASTY)}\\ufffe'


@pytest.mark.parametrize("nasty", ["<script>", "| a | b |", "`code`", "**bold**", "[x](http://e)", "# head", "\x1b[1m"])
def test_markdown_keeps_none_of_its_own_characters(nasty: str) -> None:
    shown = text.markdown(f"{nasty}\n{nasty}")
    assert not set(shown) & set("<>|`*[]\n\x1b")
    assert "#" not in shown.replace("&#", "")


def test_markdown_leaves_names_and_sentences_alone() -> None:
    sentence = "m3, acknowledged with acks=all at offset 3 of t-0, is gone (KIP-101)."
    assert text.markdown(sentence) == sentence


@pytest.mark.parametrize("inside", ["plain", "```\n# out", "`````` six", "~~~"])
def test_nothing_inside_closes_a_fence(inside: str) -> None:
    first, *lines, last = text.fenced(inside, indent="   ").split("\n")
    assert first == last
    assert set(first.strip()) == {"`"}
    assert first.strip() not in "\n".join(lines)
    assert all(line.startswith("   ") for line in [first, *lines, last])
    assert [line[3:] for line in lines] == inside.split("\n")


def test_output_that_has_no_character_for_it_does_not_fail() -> None:
    command = "from evidence.text import forgiving_output; forgiving_output(); print('✓ “m3”')"
    for encoding, shown in (("ascii", "\\u2713 \\u201cm3\\u201d"), ("utf-8", "✓ “m3”")):
        run = [sys.executable, "-c", command]
        done = subprocess.run(run, env={"PYTHONIOENCODING": encoding}, capture_output=True, check=True)
        assert done.stdout.decode() == f"{shown}\n"


def test_a_stream_that_is_no_file_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    text.forgiving_output()
    print("✓")


def test_no_page_names_a_directory_of_the_machine_that_ran_it() -> None:
    told = "is full: '/home/me/runs.1/the-run-1/data/broker-1'; /home/me/runs.1/the-run-12/data stays"
    shown = "is full: 'data/broker-1'; /home/me/runs.1/the-run-12/data stays"
    assert text.without_place(told, "the-run-1") == shown


def test_a_traceback_names_no_directory_of_the_code() -> None:
    told = (
        'File "/home/me/chaos/harness/run.py", line 3; File "/usr/lib/python3.11/json/decoder.py"; '
        "/home/me/chaos/.venv/lib/python3.11/site-packages/pyspark/worker.py: /home/me/chaos"
    )
    places = ["/home/me/chaos/", "/usr/lib/python3.11", "/home/me/chaos/.venv/lib/python3.11/site-packages", ""]
    assert text.without_places(told, places) == (
        'File "harness/run.py", line 3; File "json/decoder.py"; pyspark/worker.py: /home/me/chaos'
    )


def test_a_directory_that_only_ends_or_begins_alike_is_kept() -> None:
    told = "/srv/home/me/x.py, /home/me2/x.py, ./home/me/x.py"
    assert text.without_places(told, ["/home/me"]) == told
    assert text.without_places(told, [""]) == told


def test_the_places_of_the_code_are_those_of_real_tracebacks() -> None:
    for file in (str(text.__file__), str(json.__file__), str(pytest.__file__)):
        shown = text.without_places(f'File "{file}", line 1', text.code_places())
        assert shown == f'File "{"/".join(file.split("/")[-2:])}", line 1'
