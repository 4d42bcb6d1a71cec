"""The contents of a partition's directory, and whose bytes they are (Kafka documentation, Implementation: log).

Nothing fails here. A load fills several segments, and the leader's log is searched by offset and by time. Then the
replicas' files are compared with the documentation: names, sizes, the spacing of indexes, and the files that a release
writes.

The other cases send one compressed batch whose bytes are known. Brokers are documented to keep a compressed batch as
the producer made it. They do so from 0.10 on, when offsets within a batch became relative. A topic may ask for
something else: another codec, an older message format, or the time of the append in place of the producer's. The
harness makes the batch byte by byte, because client libraries do not report the bytes that they sent.
"""

from functools import partial

from harness.words import Basis, Case, ClusterPlan, Documented, Run, ranges, scenario

SEGMENT_BYTES = 1 << 20
"""The minimum that brokers accept from 4.0 on (KIP-1030)."""
RECORDS = 2200
RECORD_BYTES = 2000
FEW = {"batch.num.messages": "2"}
"""Batches are as large as the space between two entries of an index."""
SAMPLES = 12
BATCH = 50


def fill_segments(run: Run) -> None:
    """Four segments and a bit, and searches in them."""
    t = run.partition()
    with run.load(t, records=RECORDS, record_bytes=RECORD_BYTES, settings=FEW) as load:
        load.wait_acked(RECORDS, timeout_s=120)
    run.search_log(t, SAMPLES, by_time=ranges.TIMES_SEARCHED.holds(run.version))


def send_known_batch(run: Run, magic: int | None = None) -> None:
    """One batch whose bytes are known, in the newest format that the release stores, or in another one."""
    t = run.partition()
    run.send(t, 2)
    newest = 2 if ranges.FORMAT_2.holds(run.version) else 1 if ranges.TIME_STAMPS.holds(run.version) else 0
    run.send_batch(t, BATCH, magic=newest if magic is None else magic)
    run.send(t, 1)


SAME = "follower-stores-leaders-bytes"
NAMES = (
    "segment-named-by-first-offset",
    "segment-rolled-when-full",
    "directory-has-files-of-release",
    "index-entries-spaced",
    SAME,
    "offset-found-in-log",
)
COMPRESSION = "Kafka documentation, Design: end-to-end batch compression"

scenario(
    name="what-is-on-disk",
    claim="""A partition is a directory of segments named after their first offsets, each with a sparse index. The
        leader and its followers store a producer's compressed batch as the producer made it.""",
    source="Kafka documentation, Implementation: log; KIP-31, KIP-32, KIP-33",
    operator="""Leave compression.type at `producer` and the message format at the release's own: other values make the
        leader rewrite every batch. If you need the time of the append in place of the producer's clock, set
        message.timestamp.type to LogAppendTime.""",
    cluster=ClusterPlan(brokers=(1, 2, 3), controller=4),
    cases={
        "segments": Case(
            steps=fill_segments,
            topic={"segment.bytes": str(SEGMENT_BYTES)},
            documented=[
                Documented(
                    on=ranges.TIMES_SEARCHED,
                    claims=[*NAMES, "time-found-in-log"],
                    source="Kafka documentation, Implementation: log",
                    basis=Basis.DOCUMENTATION,
                ),
                Documented(
                    claims=NAMES,
                    sentence="There is no time index. A search by time uses the segments' ages alone.",
                    source="Kafka documentation, Implementation: log",
                    basis=Basis.DOCUMENTATION,
                ),
            ],
        ),
        "compressed": Case(
            steps=send_known_batch,
            documented=[
                Documented(
                    on=ranges.TIME_STAMPS,
                    claims=["batch-stored-as-sent", "create-time-kept", SAME],
                    source=COMPRESSION,
                    basis=Basis.DOCUMENTATION,
                ),
                Documented(
                    claims=["batch-compressed-anew", SAME],
                    sentence="""The leader writes offsets into the messages of a batch and compresses the batch again.
                        The followers have the leader's batch, not the producer's.""",
                    source="KIP-31: motivation",
                    basis=Basis.KIP,
                ),
            ],
        ),
        "other-codec": Case(
            steps=send_known_batch,
            topic={"compression.type": "snappy"},
            applies=ranges.TOPICS_COMPRESS,
            documented=[
                Documented(
                    claims=["batch-compressed-as-topic-says", SAME],
                    sentence="The leader compresses the batch with the topic's codec.",
                    source="Kafka documentation, topic configuration: compression.type",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "older-format": Case(
            steps=partial(send_known_batch, magic=2),
            topic={"message.format.version": "0.10.2"},
            applies=ranges.TOPICS_HAVE_FORMATS,
            documented=[
                Documented(
                    claims=["batch-stored-in-topics-format", SAME],
                    sentence="The leader rewrites the batch in the topic's older format.",
                    source="KIP-98; Kafka documentation, topic configuration: message.format.version",
                    basis=Basis.KIP,
                )
            ],
        ),
        "append-time": Case(
            steps=send_known_batch,
            topic={"message.timestamp.type": "LogAppendTime"},
            applies=ranges.TIME_STAMPS,
            documented=[
                Documented(
                    claims=["append-time-set", SAME],
                    sentence="All records of a batch have the time at which the leader appended it.",
                    source="KIP-32",
                    basis=Basis.KIP,
                )
            ],
        ),
    },
)
