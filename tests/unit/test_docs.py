"""What a newcomer reads names every word that a scenario has, and every kind of row of a history."""

from __future__ import annotations

import re
from pathlib import Path

from evidence.history import schema
from harness.run import Run
from harness.workloads import protocol

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "writing-a-scenario.md"
OF_THE_RUNNER = {
    "admin",
    "also_close",
    "close_clients",
    "ended_leader",
    "faults",
    "killed_clients",
    "final_reader",
    "heal",
    "longest_session_ms",
    "note_subject",
    "notice",
    "overdue",
    "prove",
    "subject",
}
"""Of a run, and no words of its scenario: what harness/runner.py, harness/run/subjects.py and other words do with
it."""


OWN_CLIENTS = ROOT / "docs" / "own-clients.md"
WORKED = ROOT / "tests" / "clients" / "worked" / "client.py"


def test_the_client_on_the_page_is_the_one_that_is_run() -> None:
    (shown,) = re.findall(r"```python\n(.*?)```", OWN_CLIENTS.read_text(), re.DOTALL)
    assert shown == WORKED.read_text()


def test_the_page_on_clients_has_every_line_and_word_of_the_protocol() -> None:
    page = OWN_CLIENTS.read_text()
    commands = {one.__struct_config__.tag for one in protocol.Command.__subclasses__()}
    answers = {one.__struct_config__.tag for one in protocol.Answer.__subclasses__()}
    assert {tag for tag in commands | answers if f'"type": "{tag}"' not in page} == set()
    assert {word for word in protocol.CAPABILITIES if f"`{word}`" not in page} == set()


def words() -> set[str]:
    """The public methods of `Run` and of the nouns it inherits from, and what it declares to have."""
    methods = {name for noun in Run.__mro__ if noun is not object for name in vars(noun)}
    return {name for name in methods | set(Run.__annotations__) if not name.startswith("_")} - OF_THE_RUNNER


def test_the_page_on_scenarios_has_every_word_of_a_run() -> None:
    page = PAGE.read_text()
    named = {name for name in words() if re.search(rf"`(run\.)?{name}\b", page)}
    assert {"send", "kill", "wait_isr", "case", "pipeline"} <= named
    assert words() - named == set()


def test_the_page_on_tables_has_every_kind_of_row() -> None:
    kinds = set(re.findall(r"^    ([a-z-]+) {2,}\S", str(schema.__doc__), re.MULTILINE))
    (said,) = re.findall(r"^\| `kind` \| string \| (.*)$", (ROOT / "docs" / "tables.md").read_text(), re.MULTILINE)
    assert kinds > {"assign", "delivered", "in-result"}
    assert kinds | {schema.SEND, schema.POLL} == set(re.findall(r"`([a-z-]+)`", said))
