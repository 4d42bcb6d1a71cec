"""The errors this project raises on purpose, and the exit status each one means.

    KafkaChaosError
    ├── UsageError          the caller asked for something that cannot be: exit status 254
    └── HarnessError        the harness or its surroundings failed: exit status 255
        ├── WaitTimeout     a named condition did not hold within its limit; says what was seen
        ├── NodeEnded       a node that was to do something has ended; says what it printed last
        ├── FaultUnproved   a fault was injected but nothing outside shows that it took effect
        └── RecorderDied    a process that records what a client does has ended before it was told to
            └── ClientFailed    a client of the user's own says nothing, has ended, or says what is no answer

A `UsageError`'s message is one line: what is wrong, where, and what to do. An OSError that reaches the top of
the program is the machine's refusal (a full disk, a directory of another user), told by `refusal` in one
line: exit status 255.
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable, Mapping
from typing import Final

EXIT_AS_DOCUMENTED: Final = 0
EXIT_CONTRADICTED: Final = 1
EXIT_UNKNOWN: Final = 2
EXIT_USAGE: Final = 254
EXIT_ERROR: Final = 255
EXIT_UNREAD: Final = 141
"""Nobody read the results to their end, as in `kafka-chaos list | head`: what a shell says of SIGPIPE (128 + 13)."""


class KafkaChaosError(Exception):
    """Root of the errors raised on purpose."""

    exit_status: int = EXIT_ERROR


class UsageError(KafkaChaosError):
    """Bad input, or a machine that lacks what is needed. The message is one line with the way out."""

    exit_status = EXIT_USAGE


class HarnessError(KafkaChaosError):
    """The harness, or the machine under it, failed: nothing can be said about Kafka."""

    exit_status = EXIT_ERROR


class WaitTimeout(HarnessError):
    """A condition was waited for and did not come within its limit."""


class NodeEnded(HarnessError):
    """A node has ended of which something was waited for."""


class FaultUnproved(HarnessError):
    """A fault was injected and no outside evidence shows that it took effect: the run is unknown."""


class RecorderDied(HarnessError):
    """A process that records a client's operations has ended before it was told to: the run is unknown."""


class ClientFailed(RecorderDied):
    """A client of the user's own says nothing, has ended, or says what is no answer; or an application cannot go on,
    because its store is full, say: the run is unknown.
    """


WAYS_OUT: Final[Mapping[int, str]] = {
    errno.EACCES: "another user's? choose another directory (--runs-dir, KAFKA_CHAOS_CACHE, TMPDIR) or its owner",
    errno.EPERM: "another user's? choose another directory (--runs-dir, KAFKA_CHAOS_CACHE, TMPDIR) or its owner",
    errno.EROFS: "choose a directory that can be written (--runs-dir, KAFKA_CHAOS_CACHE, TMPDIR)",
    errno.ENOSPC: "the disk is full: free some, or choose another (--runs-dir, KAFKA_CHAOS_CACHE, TMPDIR)",
    errno.EDQUOT: "this user's quota is used up: free some, or choose another disk (--runs-dir, KAFKA_CHAOS_CACHE)",
}


def refusal(error: OSError) -> str:
    """One line for what the machine, or Docker (whose errors are OSErrors too), refused, with the way out if known.

    >>> refusal(FileNotFoundError(errno.ENOENT, "No such file or directory", "/x"))
    '/x: No such file or directory'
    """
    text = error.strerror or " ".join(str(error).split()) or type(error).__name__
    place = f"{error.filename}: " if error.filename is not None else ""
    way_out = WAYS_OUT.get(error.errno or 0, "")
    return f"{place}{text[:500]}" + (f" ({way_out})" if way_out else "")


NEAREST: Final = 5
"""Names that an error tells at most."""


def unknown_name(kind: str, name: str, known: Iterable[str], *, hint: str = "") -> UsageError:
    """The error for a name that does not exist, with at most five that do: near ones first.

    `hint` says where all of them are listed, and what asked for this one.

    >>> str(unknown_name("scenario", "double-failovr", ["double-failover", "baseline"]))
    "there is no scenario 'double-failovr'; did you mean double-failover?"
    >>> str(unknown_name("letter", "é", "abcdef", hint="`letters` lists them"))
    "there is no letter 'é'; 6 are known (`letters` lists them)"
    """
    choices = sorted(set(known))
    near = difflib.get_close_matches(name, choices, n=3, cutoff=0.5) or [c for c in choices if name and name in c][:3]
    if near:
        advice = f"did you mean {' or '.join(near)}?"
    elif len(choices) <= NEAREST:
        advice = f"known: {', '.join(choices)}"
    elif far := difflib.get_close_matches(name, choices, n=NEAREST, cutoff=0.3):
        advice = f"nearest of {len(choices)}: {', '.join(far)}"
    else:
        advice = f"{len(choices)} are known"
    return UsageError(f"there is no {kind} {name!r}; {advice}" + (f" ({hint})" if hint else ""))
