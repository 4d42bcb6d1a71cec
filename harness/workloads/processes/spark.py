"""An application of Spark Structured Streaming: a query from a topic of Kafka to a sink, driven through PySpark.

PySpark is of a release that Maven Central has Spark's source and sink for Kafka of (harness/setup/pyspark.py). It is
found before that of the analysis, and starts a Java virtual machine of its own, which belongs to this process's session
and is killed with it. The query runs there, with one thread (local[1]), and keeps its checkpoint in the run directory.

What is sent to a topic is on record before the query begins: a `send` row for each input that there is to be, whose
outcome is not known here (handed_over.py). Nobody tells when Spark sends what, so there are no `processed` rows. What a
sink of files or of a store has written they are asked at the end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from evidence.errors import HarnessError
from evidence.history import record
from evidence.history.inputs import Input
from evidence.history.writer import HistoryWriter
from harness.workloads.processes import child
from harness.workloads.processes.handed_over import OUTPUT_PARTITION, put_on_record
from harness.workloads.processes.spark_program import Line, ToStore, inputs, to_files, to_kafka
from harness.workloads.spark import CommitGate
from harness.workloads.stores import open_store

POLL_S: Final = 0.2
CONFIGURATION: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.sql.shuffle.partitions": "1",
}


def session(arguments: Mapping[str, Any]) -> Any:
    """A session of the PySpark that the library names, whose Java virtual machine is started."""
    library, work = arguments["library"], Path(arguments["work"])
    sys.path.insert(0, library["pyspark"])
    os.environ |= {
        "SPARK_HOME": f"{library['pyspark']}/pyspark",
        "JAVA_HOME": library["java_home"],
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PATH": f"{CommitGate(Path(arguments['gate'])).programs}:{os.environ['PATH']}",
    }
    from pyspark.sql import SparkSession

    jars = ",".join(map(str, sorted(Path(library["jars"]).glob("*.jar"))))
    made = SparkSession.builder.master("local[1]").config("spark.jars", jars)
    places = {"spark.local.dir": str(work / "local"), "spark.sql.warehouse.dir": str(work / "warehouse")}
    for name, value in {**CONFIGURATION, **places}.items():
        made = made.config(name, value)
    spark = made.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def lines_on_record(arguments: Mapping[str, Any], writer: HistoryWriter) -> list[Line]:
    """The line of each input that there is to be, each on record as sent."""
    topic, partition, producer = arguments["input"], int(arguments["partition"]), int(arguments["producer"])
    count, run = int(arguments["inputs"]), record.run_hash(arguments["run"])
    writer.reserve(arguments["output"], [OUTPUT_PARTITION], producer, 0, count)
    made: list[Line] = []
    for offset in range(count):
        put_on_record(writer, arguments["output"], producer, offset)
        payload = Input(topic, partition, offset).payload
        made.append((topic, partition, offset, record.encode_text(run, producer, offset, payload)))
    writer.flush()
    return made


def begun(spark: Any, arguments: Mapping[str, Any], writer: HistoryWriter) -> Any:
    """The query, which works (pyspark.sql.streaming.StreamingQuery)."""
    bootstrap, store, producer = arguments["bootstrap"], arguments["store"], int(arguments["producer"])
    given = inputs(spark, bootstrap, arguments["input"], arguments["settings"])
    sink = arguments["sink"]
    if sink == "kafka":
        made = to_kafka(spark, given, bootstrap, arguments["output"], lines_on_record(arguments, writer))
    elif sink == "files":
        made = to_files(given, store, arguments["run"], producer)
    else:
        write = ToStore(open_store(store, arguments["run"]), producer, by_batch_id=sink == "store-by-batch-id")
        made = given.writeStream.foreachBatch(write)
    return made.option("checkpointLocation", arguments["checkpoint"]).start()


def main() -> None:
    """Let the query work until the harness says stop."""
    with child.recording() as (arguments, commands, writer):
        child.say(ready=True)
        if commands.wait() is None:
            return
        spark = session(arguments)
        query = begun(spark, arguments, writer)
        while not commands.stopped:
            commands.next(POLL_S)
            if not query.isActive:
                raise HarnessError(f"the query has ended by itself: {str(query.exception()).splitlines()[:1]}")
        end(spark, query, at_once=commands.orphaned)
        writer.flush()
        child.say(done=True)
    # PySpark would wait for its Java virtual machine, and everything is on record.
    os._exit(0)


def end(spark: Any, query: Any, *, at_once: bool) -> None:
    """End the query and its Java virtual machine. One that is held before a commit does not stop by itself, so
    `at_once` the machine is killed.
    """
    if at_once:
        spark.sparkContext._gateway.proc.kill()
    else:
        query.stop()
        spark.stop()


if __name__ == "__main__":
    main()
