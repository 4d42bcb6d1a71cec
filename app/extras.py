"""What a command needs beside the packages that every installation has: the extras of pyproject.toml.

`pip install kafka-chaos` is enough for an audit of configuration files, the museum, the Atlas, the findings and the
lists. `live` is for the audit of a live cluster. `sources` is for producers in source code, which an audit says that it
has left out without it (audit/readers/source). `run` is for all else, and has what the other two have. A command
whose package is missing says so in a line, and names the extra.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Final

from evidence.errors import UsageError

LIVE: Final = frozenset({"confluent_kafka", "cryptography", "kazoo"})
"""The modules that the extra `live` brings."""
RUN: Final = LIVE | {"docker", "jpype", "markdown_it", "numba", "numpy", "pandas", "psycopg", "pyarrow", "pyspark"}
"""Those of the extra `run`."""


def missing(error: Exception, command: str) -> UsageError | None:
    """What to tell of an error by which a command ended, if that is an extra's package that is not installed.

    >>> str(missing(ModuleNotFoundError(name="pyarrow.compute"), "run"))
    "run needs pyarrow, which is not installed: pip install 'kafka-chaos[run]'"
    >>> str(missing(ModuleNotFoundError(name="kazoo"), "audit"))
    "audit needs kazoo, which is not installed: pip install 'kafka-chaos[live]'"
    >>> missing(ModuleNotFoundError(name="app.nothing"), "run")
    """
    if not isinstance(error, ModuleNotFoundError):
        return None
    package = (error.name or "").partition(".")[0]
    return _lacking(package, command) if package in RUN else None


def require(modules: Iterable[str], command: str) -> None:
    """Raise UsageError for the first of some modules that is not installed, before anything is begun.

    >>> require(["kazoo"], "audit")
    """
    for package in sorted(modules):
        if find_spec(package) is None:
            raise _lacking(package, command)


def _lacking(package: str, command: str) -> UsageError:
    extra = "live" if command == "audit" and package in LIVE else "run"
    return UsageError(f"{command} needs {package}, which is not installed: pip install 'kafka-chaos[{extra}]'")
