"""docs/delivery.md: which inputs an application skips or repeats after a crash, by its code, its client and releases.

Rows are cases of scenarios/delivery, told as code, settings and a crash. Cells are made of the ledger (results/): in
how many runs of how many inputs were skipped, and repeated, and how long an input took to its output where that was
measured. How many inputs that were is a claim of each run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import results
from judgement.rates import telling
from judgement.report.cells import version_key
from pages.counted import ran
from pages.render import render
from results import Value

PAGE: Final = "delivery.md"
SKIPPED: Final = "skipped-processing"
REPEATED: Final = "repeated-processing"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryCase:
    """A case of a scenario, as code, its client and settings, and where it is killed."""

    code: str
    client: str
    crash: str
    scenario: str
    case: str


COMMIT_FIRST: Final = "commit, then process"
PROCESS_FIRST: Final = "process, then commit"
PROCESS_ASYNC: Final = "process, then commit without waiting"
WHEN_REVOKED: Final = "process, and commit when partitions are revoked"
LOOP: Final = "process, then poll again"
WORKER: Final = "hand to a thread, then poll again"
TRANSACTION: Final = "outputs and offsets in one transaction"
ANY: Final = "librdkafka"
AUTOMATIC: Final = "enable.auto.commit=true"
STORED: Final = f"{AUTOMATIC}, enable.auto.offset.store=false"
STREAMS: Final = "an output for each input, in a topology"
COUNT: Final = "count by key in a store, in a topology"
FROM_FILE: Final = "each line of a file to a topic"
TO_FILE: Final = "each input as a line to a file"
TO_SINK: Final = "a query of Structured Streaming"
STORE: Final = "outputs and offsets in one transaction of a store"
SQLITE: Final = "librdkafka, SQLite"
POSTGRESQL: Final = "librdkafka, PostgreSQL"
ASYNCHRONOUS: Final = f"{POSTGRESQL}, synchronous_commit=off"
IN_STORE: Final = "exactly-once-external"
STATIC: Final = "librdkafka, group.instance.id"
OF_0_8: Final = "high-level consumer of 0.8, auto.commit.enable=true"
SLOWER: Final = "not: slower than max.poll.interval.ms"
STORM: Final = "members and brokers, again and again"
WORKERS_STORM: Final = "workers and brokers, again and again"
QUERIES_STORM: Final = "queries and brokers, again and again"
ACCEPT: Final = "process, then accept"
OPEN: Final = "application, before the transaction ends"
BEFORE: Final = "outputs written, before the commit"
UNANSWERED: Final = "committed, its answer withheld"
OFFSETS_UNANSWERED: Final = "offsets in its transaction, the answer withheld"
ROWS: Final = (
    *(
        DeliveryCase(code=code, client=client, crash=crash, scenario="at-most-once", case=f"{prefix}{case}")
        for client, prefix in ((ANY, ""), ("Java", "java-"))
        for code, crash, case in (
            (COMMIT_FIRST, "between the two", "between"),
            (COMMIT_FIRST, "before it commits", "before-commit"),
            (COMMIT_FIRST, "after it has processed", "after-process"),
            ("commit without waiting, then process", "committed, its answer not heard", "async-between"),
        )
    ),
    *(
        DeliveryCase(code=code, client=client, crash=crash, scenario="at-least-once", case=f"{prefix}{case}")
        for client, prefix in ((ANY, ""), ("Java", "java-"))
        for code, crash, case in (
            (PROCESS_FIRST, "between the two", "between"),
            (PROCESS_FIRST, "before it processes", "before-process"),
            (PROCESS_FIRST, "after it has committed", "after-commit"),
            (PROCESS_ASYNC, "between the two", "async-between"),
            (PROCESS_ASYNC, "committed, its answer not heard", "async-after-commit"),
            (WHEN_REVOKED, "not: another member joins", "revoked"),
            (WHEN_REVOKED, "in the callback, before it commits", "revoked-killed"),
            (WHEN_REVOKED, "in the callback, after it has committed", "revoked-committed"),
        )
    ),
    DeliveryCase(
        code=LOOP,
        client=f"librdkafka, {AUTOMATIC}",
        crash="before it processes",
        scenario="auto-commit",
        case="librdkafka",
    ),
    DeliveryCase(
        code=LOOP, client=f"Java, {AUTOMATIC}", crash="before it processes", scenario="auto-commit", case="java"
    ),
    DeliveryCase(
        code=LOOP,
        client=f"Java, {AUTOMATIC}",
        crash="after it has processed",
        scenario="auto-commit",
        case="java-processed",
    ),
    DeliveryCase(
        code=WORKER,
        client=f"librdkafka, {AUTOMATIC}",
        crash="before the thread processes",
        scenario="auto-commit",
        case="librdkafka-worker",
    ),
    *(
        DeliveryCase(
            code=code, client=f"librdkafka, {STORED}", crash="before it stores", scenario="auto-commit", case=case
        )
        for code, case in (
            ("process, store, then poll again", "librdkafka-stored"),
            ("hand to a thread that stores, then poll again", "librdkafka-worker-stored"),
        )
    ),
    DeliveryCase(
        code=WORKER,
        client=f"Java, {AUTOMATIC}",
        crash="before the thread processes",
        scenario="auto-commit",
        case="java-worker",
    ),
    *(
        DeliveryCase(
            code=LOOP, client=f"{OF_0_8}, offsets in {place}", crash=crash, scenario="offsets-in-zookeeper", case=case
        )
        for place, crash, case in (
            ("ZooKeeper", "before it processes", "zookeeper"),
            ("Kafka", "before it processes", "kafka"),
            ("both", "before it processes", "both"),
            ("ZooKeeper", "after it has processed, before the next commit", "between-commits"),
            ("ZooKeeper, then both", "not: it ends, and another one begins", "moved"),
            ("ZooKeeper", "ZooKeeper", "zookeeper-restarted"),
        )
    ),
    *(
        DeliveryCase(code=TRANSACTION, client=client, crash=crash, scenario="exactly-once-transactions", case=case)
        for client, crash, case in (
            (ANY, "application, before it begins", "after-poll"),
            (ANY, "application, outputs sent", "before-offsets"),
            (ANY, OPEN, "before-commit"),
            ("Java", OPEN, "java-before-commit"),
            (ANY, "application, after the commit", "after-commit"),
            (ANY, "not: it is stopped and started, again and again", "stopped"),
            ("Java", "not: it is stopped and started, again and again", "java-stopped"),
            ("Java", "each broker in turn", "java-brokers-killed"),
            ("Java", "not: each broker is stopped in turn", "java-brokers-stopped"),
            (ANY, "leader of the output, transaction open", "leader"),
            ("Java", "group coordinator, transaction open", "java-group-coordinator"),
            (ANY, "group coordinator, transaction open; it waits, and is killed", "group-coordinator"),
            ("Java", "transaction coordinator, transaction open", "java-transaction-coordinator"),
            (ANY, "transaction coordinator, transaction open", "transaction-coordinator"),
            (ANY, "clock of the transaction coordinator an hour ahead, transaction open", "clock-ahead"),
            *(
                (client, f"{place} {state}, transaction open", f"{prefix}{case}-{how}")
                for client, prefix in ((ANY, ""), ("Java", "java-"))
                for place, case in (
                    ("leader of the output", "leader"),
                    ("group coordinator", "group-coordinator"),
                    ("transaction coordinator", "transaction-coordinator"),
                )
                for state, how in (("frozen", "frozen"), ("cut off", "cut"))
            ),
        )
    ),
    *(
        DeliveryCase(code=STREAMS, client=client, crash=crash, scenario="streams-pipeline", case=case)
        for client, crash, case in (
            ("Kafka Streams, at_least_once", BEFORE, "at-least-once"),
            ("Kafka Streams, at_least_once", "after the commit", "at-least-once-committed"),
            ("Kafka Streams, exactly_once", BEFORE, "exactly-once"),
            ("Kafka Streams, exactly_once_v2", BEFORE, "exactly-once-v2"),
            ("Kafka Streams, exactly_once_v2", "after the commit", "exactly-once-v2-committed"),
            ("Kafka Streams, at_least_once", UNANSWERED, "at-least-once-unanswered"),
            ("Kafka Streams, exactly_once", UNANSWERED, "exactly-once-unanswered"),
            ("Kafka Streams, exactly_once_v2", UNANSWERED, "exactly-once-v2-unanswered"),
            ("Kafka Streams, exactly_once", OFFSETS_UNANSWERED, "exactly-once-offsets-unanswered"),
            ("Kafka Streams, exactly_once_v2", OFFSETS_UNANSWERED, "exactly-once-v2-offsets-unanswered"),
        )
    ),
    *(
        DeliveryCase(code=COUNT, client=client, crash=BEFORE, scenario="streams-count", case=case)
        for client, case in (
            ("Kafka Streams, at_least_once", "at-least-once"),
            ("Kafka Streams, exactly_once", "exactly-once"),
            ("Kafka Streams, exactly_once_v2", "exactly-once-v2"),
            ("Kafka Streams, at_least_once, a standby replica", "at-least-once-standby"),
            ("Kafka Streams, exactly_once, a standby replica", "exactly-once-standby"),
            ("Kafka Streams, exactly_once_v2, a standby replica", "exactly-once-v2-standby"),
        )
    ),
    *(
        DeliveryCase(code=code, client=client, crash=crash, scenario="connect-pipeline", case=case)
        for code, client, crash, case in (
            (FROM_FILE, "Kafka Connect, a source", BEFORE, "source"),
            (
                FROM_FILE,
                "Kafka Connect, a source, exactly.once.source.support=enabled",
                BEFORE,
                "source-exactly-once",
            ),
            (
                FROM_FILE,
                "Kafka Connect, a source, exactly.once.source.support=enabled",
                UNANSWERED,
                "source-exactly-once-unanswered",
            ),
            (TO_FILE, "Kafka Connect, a sink", "lines written, before the commit", "sink"),
            (TO_FILE, "Kafka Connect, a sink", "after the commit", "sink-committed"),
        )
    ),
    *(
        DeliveryCase(code=TO_SINK, client=f"Spark, {sink}", crash=crash, scenario="spark-pipeline", case=case)
        for sink, crash, case in (
            ("to Kafka", "batch written, before its commit", "kafka"),
            ("to Kafka", "after the commit", "kafka-committed"),
            ("to files", "batch written, before its commit", "files"),
            ("foreachBatch to PostgreSQL", "batch written, before its commit", "store"),
            ("foreachBatch to PostgreSQL, by batch number", "batch written, before its commit", "store-by-batch-id"),
        )
    ),
    *(
        DeliveryCase(code=code, client=client, crash=crash, scenario="share-group", case=f"{prefix}{case}")
        for client, prefix in (("librdkafka, share group", ""), ("Java, share group", "java-"))
        for code, crash, case in (
            (ACCEPT, "between the two", "killed"),
            ("accept, then process", "between the two", "accepted-first"),
            ("process, then poll again (implicit)", "before it polls", "implicit"),
            (ACCEPT, "not: its lock runs out, and another one holds the records", "lock-runs-out"),
            (ACCEPT, "not: its lock runs out, and another one has accepted them", "accepted-by-another"),
            (ACCEPT, "leader of the inputs, between the two", "leader-killed"),
            (ACCEPT, "leader of the groups' state, between the two", "state-leader-killed"),
            (ACCEPT, "members and leaders, again and again", "storm"),
            (ACCEPT, "not: all members are stopped at once, again and again", "members-stopped"),
            (ACCEPT, "all members at once, again and again", "members-killed"),
            (ACCEPT, "not: each broker is stopped in turn", "brokers-stopped"),
            (ACCEPT, "each broker in turn", "brokers-killed"),
            (ACCEPT, "not: two of three brokers are stopped", "two-brokers-stopped"),
            (ACCEPT, "two of three brokers", "two-brokers-killed"),
            ("release every second input", "not", "released"),
            ("reject every second input", "not", "rejected"),
            ("release every second input, dead-letter topic", "not", "released-dead-letters"),
            ("reject every second input, dead-letter topic", "not", "rejected-dead-letters"),
            ("reject every second input, dead-letter topic", "its leader", "dead-letter-leader-killed"),
            ("reject every second input, dead-letter topic", "its only replica", "dead-letter-replica-killed"),
        )
    ),
    *(
        DeliveryCase(code=code, client=SQLITE, crash=crash, scenario=IN_STORE, case=case)
        for code, crash, case in (
            (STORE, "before the store's commit", "sqlite-before-commit"),
            (STORE, "after the store's commit", "sqlite-after-commit"),
            ("offsets into a store, then outputs", "between the two", "sqlite-offset-first"),
            ("outputs into a store, then offsets", "between the two", "sqlite-output-first"),
            ("outputs into a store by key, then offsets", "between the two", "sqlite-by-key"),
        )
    ),
    *(
        DeliveryCase(code=code, client=client, crash=crash, scenario=IN_STORE, case=f"postgresql-{case}")
        for code, client, crash, case in (
            (STORE, POSTGRESQL, "before the store's commit", "before-commit"),
            (STORE, POSTGRESQL, "after the store's commit", "after-commit"),
            (STORE, POSTGRESQL, "the store, before its commit", "killed"),
            (STORE, ASYNCHRONOUS, "the store, after its commit", "asynchronous"),
            (f"{STORE}, position kept", ASYNCHRONOUS, "the store, after its commit", "asynchronous-position-kept"),
        )
    ),
    *(
        DeliveryCase(code=PROCESS_FIRST, client=STATIC, crash=crash, scenario="static-membership", case=case)
        for crash, case in (
            ("between the two, back before its session ends", "back-in-time"),
            ("between the two, away for longer", "too-late"),
            ("not: another one has its group.instance.id", "twice"),
        )
    ),
    *(
        DeliveryCase(code=code, client=client, crash=STORM, scenario="delivery-storm", case=f"{prefix}{case}")
        for client, prefix in ((ANY, ""), ("Java", "java-"))
        for code, case in (
            (COMMIT_FIRST, "at-most-once"),
            (PROCESS_FIRST, "at-least-once"),
            (TRANSACTION, "exactly-once"),
        )
    ),
    DeliveryCase(code=STORE, client=POSTGRESQL, crash=STORM, scenario="delivery-storm", case="exactly-once-external"),
    *(
        DeliveryCase(code=code, client=client, crash=STORM, scenario="delivery-storm", case=case)
        for code, client, case in (
            (LOOP, f"librdkafka, {AUTOMATIC}", "auto-commit"),
            ("process, store, then poll again", f"librdkafka, {STORED}", "auto-commit-stored"),
            (LOOP, f"Java, {AUTOMATIC}", "java-auto-commit"),
        )
    ),
    *(
        DeliveryCase(code=code, client=client, crash=WORKERS_STORM, scenario="connect-storm", case=case)
        for code, client, case in (
            (FROM_FILE, "Kafka Connect, a source", "source"),
            (FROM_FILE, "Kafka Connect, a source, exactly.once.source.support=enabled", "source-exactly-once"),
            (TO_FILE, "Kafka Connect, a sink", "sink"),
        )
    ),
    *(
        DeliveryCase(code=TO_SINK, client=f"Spark, {sink}", crash=QUERIES_STORM, scenario="spark-storm", case=case)
        for sink, case in (
            ("to Kafka", "kafka"),
            ("to files", "files"),
            ("foreachBatch to PostgreSQL, by batch number", "store-by-batch-id"),
        )
    ),
    *(
        DeliveryCase(code=STREAMS, client=client, crash=STORM, scenario="streams-storm", case=case)
        for client, case in (
            ("Kafka Streams, at_least_once", "at-least-once"),
            ("Kafka Streams, exactly_once_v2", "exactly-once-v2"),
        )
    ),
    *(
        DeliveryCase(
            code=PROCESS_FIRST,
            client=client,
            crash=crash,
            scenario="rebalance-while-processing",
            case=f"{prefix}{case}",
        )
        for client, prefix in (
            (ANY, ""),
            (f"{ANY}, cooperative", "cooperative-"),
            (STATIC, "static-"),
            (f"{ANY}, group.protocol=consumer", "consumer-"),
            ("Java", "java-"),
            ("Java, cooperative", "java-cooperative-"),
            ("Java, group.protocol=consumer", "java-consumer-"),
        )
        for crash, case in (
            (SLOWER, "slower"),
            ("between the two", "killed"),
            ("not: frozen until its session has ended", "frozen"),
            ("not: cut off from its coordinator until its session has ended", "cut"),
        )
    ),
    *(
        DeliveryCase(
            code=f"{PROCESS_FIRST}; another application: {TRANSACTION}, {where}",
            client=ANY,
            crash="both, between their steps",
            scenario="two-applications",
            case=case,
        )
        for where, case in (("in the same output", "one-output"), ("in another output", "two-outputs"))
    ),
    DeliveryCase(code=TRANSACTION, client=ANY, crash=SLOWER, scenario="zombie-processor", case="member"),
    DeliveryCase(
        code=TRANSACTION,
        client="Java, offsets by group id alone",
        crash=SLOWER,
        scenario="zombie-processor",
        case="group-alone",
    ),
    DeliveryCase(
        code=TRANSACTION,
        client="Java, one transactional.id per input partition",
        crash=SLOWER,
        scenario="zombie-processor",
        case="id-per-partition",
    ),
)


def page(data: Value) -> str:
    """The page; a way that was not run on a version has an empty cell there."""
    ran_on = {version for way in ROWS for version in results.cells_of(data, way.scenario, way.case)}
    versions = sorted(ran_on, key=version_key)
    return render(
        PAGE,
        headings=["code", "client", "killed", *versions],
        rows=[
            [f"[{way.code}](scenarios/{way.scenario}.md)", way.client, way.crash]
            + [cell_text(_cell(data, way, version)) for version in versions]
            for way in ROWS
        ],
        runs=[
            (way.scenario, way.case, [(version, cell["ids"]) for version, cell in found])
            for way in ROWS
            if (found := [(v, cell) for v in versions if (cell := _cell(data, way, v)) and cell["ids"]])
        ],
    )


def _cell(data: Value, way: DeliveryCase, version: str) -> Value | None:
    return results.cells_of(data, way.scenario, way.case).get(version)


def cell_text(cell: Value | None) -> str:
    """In how many runs of a cell that say something inputs were skipped and repeated; how many were as documented, if
    not all were.

    >>> cell_text({"runs": 5, "good": 5, "verdicts": {}, "seen": {"skipped-processing": 5}, "permitted": {}})
    '**skips** 5/5, repeats 0/5'
    """
    if cell is None:
        return ""
    if not (runs := telling(cell)):
        return f"not told: {ran(cell)} as documented"
    told = ", ".join(_told(cell, name, word, runs) for name, word in ((SKIPPED, "skips"), (REPEATED, "repeats")))
    told += pace_text(cell)
    return told + ("" if cell["good"] == cell["runs"] else f" ({ran(cell)} as documented)")


def pace_text(cell: Value) -> str:
    """How long an input takes to its output and how many a second there are, as medians of runs: on a machine that had
    no other work, if there are such; "" if no run measured it.

    >>> one = {"latency_p50_ms": [5, 8.0, 9.5, 20.0], "latency_p99_ms": [5, 20.0, 31.0, 40.0]}
    >>> pace_text({"paces": [one | {"inputs_per_s": [5, 90.0, 120.4, 200.0], "load": "busy"}]})
    '; 9.5 ms (99 %: 31), 120/s, busy'
    """
    measured = {one["load"]: one for one in cell.get("paces", ())}
    load = next((load for load in ("quiet", "not told", "busy") if load in measured), None)
    if load is None:
        return ""
    p50, p99, per_s = (measured[load][name][2] for name in ("latency_p50_ms", "latency_p99_ms", "inputs_per_s"))
    return f"; {p50:g} ms (99 %: {p99:g}), {per_s:.0f}/s" + (", busy" if load == "busy" else "")


def _told(cell: Value, anomaly: str, word: str, runs: int) -> str:
    count = max(cell["seen"].get(anomaly, 0), cell["permitted"].get(anomaly, 0))
    return f"{f'**{word}**' if count else word} {count}/{runs}"
