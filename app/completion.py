"""Completion of the command line at the Tab key, by argcomplete: commands, options, and the names that exist here.

    eval "$(register-python-argcomplete kafka-chaos)"     # bash; zsh wants bashcompinit first

The shell starts the program once for each Tab, with a variable of argcomplete's in its environment; without it nothing
of this is imported. What an argument stands for is known by its metavar, so a new option needs no entry here as long
as it uses one of these.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

VARIABLE: Final = "_ARGCOMPLETE"

Completer = Callable[..., Iterable[str]]


def _scenarios(**_: Any) -> Iterable[str]:
    from harness.scenario import all_scenarios

    return all_scenarios()


def _versions(**_: Any) -> Iterable[str]:
    from harness.cluster import versions

    return (version.id for version in versions.KNOWN)


def _cases(parsed_args: argparse.Namespace, **_: Any) -> Iterable[str]:
    from harness.scenario import all_scenarios

    chosen = getattr(parsed_args, "scenario", None)
    return {case for made in all_scenarios().values() if chosen in (None, made.name) for case in made.cases}


def _anomalies(**_: Any) -> Iterable[str]:
    from checks.names import ANOMALIES

    return ANOMALIES


def _claims(**_: Any) -> Iterable[str]:
    from checks.names import CLAIMS

    return CLAIMS


def _expected(**_: Any) -> Iterable[str]:
    return ("none", *_anomalies())


def _run_dirs(prefix: str, **_: Any) -> Iterable[str]:
    parent = Path(prefix if prefix.endswith("/") else os.path.dirname(prefix) or ("." if prefix else "runs"))
    return (f"{entry}/" for entry in sorted(parent.glob("*")) if entry.is_dir())


BY_METAVAR: Final[Mapping[str, Completer]] = {
    "SCENARIO": _scenarios,
    "S": _scenarios,
    "V": _versions,
    "C": _cases,
    "NAME": _anomalies,
    "NAMES": _expected,
    "CLAIM": _claims,
    "RUN_DIR": _run_dirs,
}


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                yield from _actions(sub)


def prepare(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Attach the completions to each argument of the parser and its commands; returns the parser."""
    for action in _actions(parser):
        completer = BY_METAVAR.get(str(action.metavar))
        if completer is not None:
            action.completer = completer  # type: ignore[attr-defined]
    return parser


def answer(parser: argparse.ArgumentParser) -> None:
    """Answer a shell's request for completions and end the process; do nothing if there is no such request."""
    if VARIABLE in os.environ:
        import argcomplete

        argcomplete.autocomplete(prepare(parser))
