"""The job beyond one machine: a real standalone master with two workers, run directories in an S3 store, spark-submit
with an archive of the job, a worker that is killed. The findings are those of one process, always.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyspark
import pytest

from analysis import job
from analysis.check import check_run
from analysis.job import check_all, check_places, check_runs, main
from analysis.places import StoredPiece
from analysis.result import PieceResult
from analysis.spark import close_context, find_java_home, open_context
from evidence.errors import EXIT_USAGE
from evidence.findings import Findings
from evidence.history.seal import seal_run
from evidence.rundir import RunDir
from tests.analysis.test_job import LOSS, SOUND
from tests.findings import timeless
from tests.unit.analysis.runs import make_run
from tests.unit.checks.histories import final_read, polled, sent

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.xdist_group("spark-cluster")]

ROOT = Path(__file__).resolve().parents[2]
SPARK = Path(pyspark.__file__).parent
LIMIT_S = 90.0


def wait_for(what: str, condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + LIMIT_S
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {LIMIT_S:.0f} s for {what}"
        time.sleep(0.05)
    return value


@dataclass
class Daemons:
    """Processes of ours, each the head of a group, each with a log."""

    logs: Path
    environment: dict[str, str]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *command: str) -> None:
        with (self.logs / name).open("wb") as log:
            self.processes[name] = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=self.environment,
                cwd=self.logs,
                start_new_session=True,
            )

    def said(self, name: str, pattern: str) -> re.Match[str]:
        log = self.logs / name

        def found() -> re.Match[str] | None:
            status = self.processes[name].poll()
            assert status is None, f"{name} ended with {status}: {log.read_text()[-2000:]}"
            return re.search(pattern, log.read_text())

        match: re.Match[str] = wait_for(f"{name} to say {pattern}", found)
        return match

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@dataclass(frozen=True)
class Cluster:
    master: str
    daemons: Daemons


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    added = {
        "JAVA_HOME": find_java_home(),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "SPARK_HOME": str(SPARK),
        "PYSPARK_PYTHON": sys.executable,
    }
    return {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | added


@pytest.fixture(scope="module")
def cluster(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    logs = tmp_path_factory.mktemp("cluster")
    daemons = Daemons(logs, environment | {"PYTHONPATH": str(ROOT)})
    run = (str(SPARK / "bin" / "spark-class"),)
    place = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    try:
        daemons.start("master", *run, "org.apache.spark.deploy.master.Master", *place)
        master = daemons.said("master", r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")[1]
        for name in ("worker-1", "worker-2"):
            options = ("--cores", "1", "--memory", "1g", "--work-dir", str(logs / f"{name}.work"))
            daemons.start(name, *run, "org.apache.spark.deploy.worker.Worker", *place, *options, master)
        for name in ("worker-1", "worker-2"):
            daemons.said(name, "Successfully registered with master")
        yield Cluster(master, daemons)
    finally:
        for name in list(daemons.processes):
            daemons.kill(name)


@pytest.fixture(scope="module")
def store(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The file system of an S3 store on this machine, with the variables that lead to it."""
    from pyarrow import fs

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    daemons = Daemons(tmp_path_factory.mktemp("store"), environment)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": "nothing",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_EC2_METADATA_DISABLED": "true",
        }.items():
            patch.setenv(name, value)
        daemons.start("store", sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port))
        try:
            daemons.said("store", "Running on")
            system = fs.S3FileSystem(endpoint_override=os.environ["AWS_ENDPOINT_URL"], allow_bucket_creation=True)
            system.create_dir("bucket")
            yield system
        finally:
            daemons.kill("store")


@pytest.fixture(scope="module")
def spark(cluster: Cluster, store: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    context = open_context(cluster.master, str(tmp_path_factory.mktemp("spark")))
    yield context
    close_context(context)


def upload(run: RunDir, system: Any, base: str) -> None:
    for path in sorted(run.path.rglob("*")):
        if path.is_file():
            with system.open_output_stream(f"{base}/{path.relative_to(run.path)}") as sink:
                sink.write(path.read_bytes())


def alike(one: Findings, other: Findings) -> bool:
    return timeless(one) == timeless(other)


def skewed(root: Path) -> RunDir:
    """A run of four partitions, nine of ten records in the first, the last of which is lost."""
    rows = [sent(value, value) for value in range(90)]
    reads = [polled(value, value) for value in range(89)]
    for partition in (1, 2, 3):
        own = range(100 * partition, 100 * partition + 3)
        rows += [sent(value, at) | {"partition": partition} for at, value in enumerate(own)]
        reads += [polled(at, value) | {"partition": partition} for at, value in enumerate(own)]
        reads.append(final_read(3) | {"partition": partition})
    return make_run(root, {"producer-1": rows, "final-read-1": [*reads, final_read(90)]}, partitions=4)


# First, before `spark` takes both cores of the cluster for as long as it lasts.
def test_an_archive_of_the_job_runs_by_spark_submit(
    cluster: Cluster, store: Any, environment: dict[str, str], tmp_path: Path
) -> None:
    run = make_run(tmp_path / "run", LOSS)
    upload(run, store, "bucket/submitted")
    archive = tmp_path / "kafka-chaos.zip"
    pack = [sys.executable, "-m", "zipfile", "-c", str(archive), "analysis", "checks", "evidence", "kafkafiles"]
    subprocess.run(pack, check=True, timeout=LIMIT_S, cwd=ROOT)
    main_file = tmp_path / "job.py"
    main_file.write_bytes((ROOT / "analysis" / "job.py").read_bytes())
    elsewhere = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    result = subprocess.run(
        [
            str(SPARK / "bin" / "spark-submit"),
            *("--master", cluster.master, "--py-files", str(archive), str(main_file), "s3a://bucket/submitted"),
        ],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        cwd=tmp_path,
        env={name: value for name, value in environment.items() if name != "PYTHONPATH"} | elsewhere,
    )
    assert (result.returncode, result.stdout) == (0, "s3a://bucket/submitted: 1 anomalies\n"), result.stderr[-3000:]
    with store.open_input_stream("bucket/submitted/findings/findings.json") as source:
        assert alike(check_run(run), msgspec.json.decode(source.read(), type=Findings))


def test_a_cluster_finds_what_one_process_finds(spark: Any, tmp_path: Path) -> None:
    runs = [
        make_run(tmp_path / "loss", LOSS, partitions=3),
        make_run(tmp_path / "sound", SOUND),
        skewed(tmp_path / "s"),
    ]
    seal_run(runs[2])
    found = check_runs(spark, runs)
    assert all(alike(check_run(run), found[str(run.path)]) for run in runs)
    assert [one.anomaly for one in found[str(runs[2].path)].findings] == ["lost-write"]


@pytest.mark.parametrize("scheme", ["s3a", "s3"])
def test_runs_in_a_store_are_judged_there(
    spark: Any, store: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], scheme: str
) -> None:
    sealed, streamed = skewed(tmp_path / "sealed"), make_run(tmp_path / "streamed", LOSS)
    seal_run(sealed)
    urls = [f"{scheme}://bucket/{scheme}/{run.path.name}" for run in (sealed, streamed)]
    for run, url in zip((sealed, streamed), urls, strict=True):
        upload(run, store, url.partition("://")[2])
    check_all(spark, urls, as_json=False)
    assert capsys.readouterr().out.splitlines() == [f"{url}: 1 anomalies" for url in urls]
    for run, url in zip((sealed, streamed), urls, strict=True):
        with store.open_input_stream(f"{url.partition('://')[2]}/findings/findings.json") as source:
            assert alike(check_run(run), msgspec.json.decode(source.read(), type=Findings))


def test_a_damaged_file_in_a_store_is_made_up_for_by_its_stream(spark: Any, store: Any, tmp_path: Path) -> None:
    run = skewed(tmp_path / "run")
    seal_run(run)
    damaged = run.sealed_partition("t", 0, "producer-1")
    damaged.write_bytes(damaged.read_bytes()[:50])
    upload(run, store, "bucket/damaged")
    (found,) = check_places(spark, ["s3a://bucket/damaged"]).values()
    assert alike(check_run(run), found)
    assert ([one.anomaly for one in found.findings], found.problems) == (["lost-write"], ())


def test_a_killed_worker_changes_no_finding(
    spark: Any, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = skewed(tmp_path / "run")
    marks, gate = tmp_path / "marks", tmp_path / "gate"
    marks.mkdir()
    check, timeout_s = job.check_pieces, LIMIT_S

    def gated(work: Iterable[tuple[int, StoredPiece]]) -> Iterator[PieceResult]:
        """The task, which says where it runs and waits at the gate."""
        (marks / f"{os.getpid()}-{time.monotonic_ns()}").write_text(os.getcwd())
        deadline = time.monotonic() + timeout_s
        while not gate.exists():
            if time.monotonic() > deadline:
                raise TimeoutError("the gate stayed closed")
            time.sleep(0.02)
        yield from check(work)

    monkeypatch.setattr(job, "check_pieces", gated)
    found: dict[str, Any] = {}
    running = threading.Thread(target=lambda: found.update(check_runs(spark, [run])))
    running.start()
    try:
        wait_for("a task on either worker", lambda: len(list(marks.iterdir())) == 2)
        assert {part for mark in marks.iterdir() for part in Path(mark.read_text()).parts if ".work" in part} == {
            "worker-1.work",
            "worker-2.work",
        }
        cluster.daemons.kill("worker-1")
    finally:
        gate.touch()
        running.join(LIMIT_S)
    assert alike(check_run(run), found[str(run.path)])
    assert len(list(marks.iterdir())) == 5 + 1, "the task of the killed worker was done again, and no other"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["ftp://host/run"], "unknown scheme 'ftp'"),
        (["file://host/run"], "three slashes"),
        (["s3a://bucket/nothing"], "no such run directory"),
        (["s3a://nowhere/run"], "nowhere"),
        (["hdfs://127.0.0.1:1/run"], "hdfs"),
        (["--serve", "--master", "spark://127.0.0.1:1"], "no Spark master"),
        (["--serve", "--master", "spark://nowhere"], "spark://host:port"),
    ],
)
def test_what_cannot_be_reached_is_one_line(
    store: Any, capsys: pytest.CaptureFixture[str], arguments: list[str], word: str
) -> None:
    assert main(arguments) == EXIT_USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert word in line
