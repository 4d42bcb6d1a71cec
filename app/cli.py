"""The command line: `kafka-chaos COMMAND`. Which commands there are, in groups, stands in app/command_help.py.

Every command ends with one of the statuses of evidence/errors.py. They are 0 all as documented, 1 unexpected or not
reproduced, 2 unknown, 254 bad input (one line on stderr), and 255 the harness failed. The status is 130 after Ctrl-C,
when everything started has been removed. It is 141 if the reader of a command that judges nothing left (`list | head`).
What a person reads goes to stderr as it happens; results go to stdout, as JSON with `--json`.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Final

from app import completion, extras
from app import options as options_of
from app.output import mute, nobody_reads, say, tell_failure
from evidence.errors import EXIT_UNREAD
from evidence.text import forgiving_output

EXIT_INTERRUPTED: Final = 130
PR_SET_PDEATHSIG: Final = 1


def _on_signals(handler: Callable[[int, FrameType | None], None]) -> None:
    """Have Ctrl-C, SIGTERM and a closed terminal (SIGHUP, unless ignored as by nohup) handled."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _interrupt_once(signum: int, frame: FrameType | None) -> None:
    """The first signal ends the work; further ones must not end the cleaning up."""
    _on_signals(lambda *_: say("removing what was started; a moment, please"))
    raise KeyboardInterrupt


def die_with_the_matrix() -> None:
    """Have this process interrupted when the matrix that began it ends, if one did; KeyboardInterrupt if it has.

    Its parent is the matrix, or the fork server of the matrix, which ends with it.
    """
    from app.matrix import PARENT_VARIABLE

    parents = os.environ.get(PARENT_VARIABLE)
    if parents is not None:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
        if str(os.getppid()) not in parents.split():
            raise KeyboardInterrupt


def _what_is_left(arguments: Sequence[str] | None) -> str:
    if "--keep" in (sys.argv if arguments is None else arguments):
        return "the cluster is still up (--keep) until `kafka-chaos clean` or the next run removes it"
    return "what was started has been removed"


COMMANDS: Final[Mapping[str, str]] = {
    "run": "app.commands.run",
    "matrix": "app.commands.matrix",
    "suite": "app.commands.matrix",
    "cluster": "app.commands.cluster",
    "bisect": "app.commands.bisect",
    "check": "app.commands.check",
    "report": "app.commands.report",
    "watch": "app.commands.watch",
    "explain": "app.commands.explain",
    "replicas": "app.commands.replicas",
    "list": "app.commands.catalogues",
    "statements": "app.commands.statements",
    "setup": "app.commands.setup",
    "releases": "app.commands.releases",
    "doctor": "app.commands.doctor",
    "clean": "app.commands.clean",
    "prune": "app.commands.prune",
    "guide": "app.commands.guide",
    "museum": "app.commands.museum",
    "ledger": "app.commands.ledger",
    "compare": "app.commands.compare",
    "trend": "app.commands.trend",
    "evidence": "app.commands.evidence",
    "replay": "app.commands.replay",
    "findings": "app.commands.findings",
    "atlas": "app.commands.atlas",
    "incident": "app.commands.incident",
    "audit": "app.audit",
}
"""The module whose `run` carries a command out. No other is loaded: an audit of files needs neither Docker nor Java."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 1 and 2 are verdicts, and no failure ever ends with them."""
    forgiving_output()
    command = ""
    try:
        _on_signals(_interrupt_once)
        parser = options_of.parser()
        completion.answer(parser)
        options = parser.parse_args(arguments)
        command = options.command
        if options.command in ("run", "cluster"):
            die_with_the_matrix()
        status: int = importlib.import_module(COMMANDS[options.command]).run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        say(f"kafka-chaos: interrupted; {_what_is_left(arguments)}, what was recorded is kept")
        return EXIT_INTERRUPTED
    except Exception as error:
        if isinstance(error, BrokenPipeError) and nobody_reads(sys.stdout):
            mute(sys.stdout)
            return EXIT_UNREAD
        return tell_failure(extras.missing(error, command) or error)
    return status


if __name__ == "__main__":
    sys.exit(main())
