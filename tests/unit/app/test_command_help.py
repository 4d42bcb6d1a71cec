"""`--help`: commands in groups, and examples that the program takes as they stand."""

from __future__ import annotations

import argparse
import itertools
import shlex
from collections.abc import Iterator

import pytest

from app import cli, command_help, options
from harness.cluster import versions
from harness.scenario import all_scenarios

EXAMPLES = [(name, line) for name, one in command_help.COMMANDS.items() for line, _ in one.examples]


def parsers(made: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Each parser below this one, by the command, and by the action, that it is of."""
    for action in made._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, below in action.choices.items():
                yield f"{name} {word}".strip(), below
                yield from parsers(below, word)


def test_every_command_is_in_exactly_one_group() -> None:
    named = list(itertools.chain.from_iterable(command_help.GROUPS.values()))
    assert len(named) == len(set(named))
    assert set(named) == cli.COMMANDS.keys() == {name for name, _ in parsers(options.parser()) if " " not in name}


def test_the_overview_has_each_command_on_one_line() -> None:
    text = options.parser().format_help()
    starts = [line.split()[0] for line in text.splitlines() if line.startswith("  ") and line.strip()[0] != "-"]
    assert sorted(starts) == sorted(cli.COMMANDS)
    assert max(map(len, text.splitlines())) <= command_help.WIDTH


@pytest.mark.parametrize(("command", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_an_example_is_taken_as_it_stands(command: str, line: str) -> None:
    found = options.parser().parse_args(shlex.split(line))
    assert found.command == command
    named = [getattr(found, "scenario", None) or "all", *(getattr(found, "scenarios", None) or ())]
    assert set(named) - {"all"} <= all_scenarios().keys()
    if getattr(found, "case", None):
        assert set(found.case) <= all_scenarios()[found.scenario].cases.keys()
    for version in (getattr(found, "version", None), *(getattr(found, "versions", None) or ())):
        if command not in ("museum", "compare") and version is not None:
            assert versions.get(version).id == version


def test_every_command_and_every_action_shows_its_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name, made in parsers(options.parser()):
        text = made.format_help()
        assert f"  kafka-chaos {name}" in text.partition("\nexample")[2], name
        assert max(map(len, text.splitlines())) <= 80, name


def test_every_argument_has_a_help() -> None:
    for name, made in parsers(options.parser()):
        lacking = [
            action.option_strings or action.dest
            for action in made._actions
            if not action.help and not isinstance(action, argparse._SubParsersAction)
        ]
        assert not lacking, name
