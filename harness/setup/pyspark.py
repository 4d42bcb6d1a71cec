"""PySpark of the release that an application is run with, beside that of the analysis.

Maven Central has Spark's source and sink for Kafka for some releases alone, and not for that of the analysis. So the
application's process has a PySpark of its own, in a directory of the user's cache, whose digest is locked
(compose/locks/spark). It comes when a run asks for it: 0.5 GB, in a minute or two.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from evidence.errors import HarnessError, UsageError
from harness.setup.cache import cache_dir, exclusive
from harness.setup.jars import LOCKS, SPARK
from harness.setup.packages import pip_install
from harness.setup.waiting import Echo

RELEASE: Final = "4.2.0"
"""The release of Spark that applications are run with."""
LOCK: Final = LOCKS / SPARK / f"pyspark-{RELEASE}.txt"
LIMIT_S: Final = 900.0


def ensure_pyspark(echo: Echo) -> Path:
    """The directory that Python finds this PySpark in; it is fetched if it is not in the cache.

    Raises UsageError if it cannot be had, with what pip said.
    """
    target = cache_dir() / f"pyspark-{RELEASE}"
    with exclusive("pyspark", echo):
        if target.exists():
            return target
        echo(f"fetching PySpark {RELEASE} for applications of Spark (0.5 GB, a minute or two)")
        with tempfile.TemporaryDirectory(dir=cache_dir(), prefix=".fetch-") as scratch:
            fetched = Path(scratch) / "packages"
            what = f"fetching PySpark {RELEASE}"
            try:
                pip_install(LOCK, fetched, "--no-deps", "--no-compile", what=what, echo=echo, timeout_s=LIMIT_S)
            except HarnessError as error:
                raise UsageError(
                    f"applications of Spark need PySpark {RELEASE}, once from the network: {error}"
                ) from None
            fetched.rename(target)
    return target
