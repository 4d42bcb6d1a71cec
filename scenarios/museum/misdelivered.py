"""The Java producer sends one topic's records into another (KAFKA-19012).

A Java producer builds batches in buffers that it uses again. When delivery.timeout.ms had passed for a batch, it freed
the batch's buffer, although the request with that batch might still be on its way into the socket. The next batch was
built in the same buffer, and its bytes were sent in place of the rest of the old ones. A batch's checksum does not
cover topic and partition, so the broker accepts the batch: records of one topic, in a partition of another. The client
reports that the old records failed and that the new ones are written, and both are true. The bug came with 2.8.0, when
batches were no longer copied on their way to the socket.

Here a request for every partition of `t` is delayed on its way to one broker, until its batches have expired. Records
for `other`, on another broker, are sent and acknowledged during that time. Then the request is delivered. A batch must
have waited in order to expire before its request does. So the producer has one request in flight, and a record of
`slot`, whose follower is frozen, is not answered for a while.

A batch that was partly copied into the socket is torn, and the broker refuses it. A fixed client keeps the buffers, and
the late records are those of `t`.
"""

import time

from harness.words import (
    Basis,
    Border,
    Bug,
    Case,
    ClusterPlan,
    Documented,
    Exhibit,
    Partition,
    Run,
    Side,
    TopicPlan,
    ranges,
    scenario,
)

KAFKA_19012 = Bug(
    id="KAFKA-19012",
    title="records of one topic are read in another one, with sound checksums, because a producer used a buffer twice",
    touches="producers with records that expire",
    whom="Java producers whose records expire while a slow broker takes a request of theirs",
    since=Border(
        "2.8.0",
        "KAFKA-10818, KAFKA-19012",
        Side("2.7.2", "AbstractRequest.toSend makes a NetworkSend of what serialize has copied"),
        Side(
            "2.8.0",
            "SendBuilder.buildRequestSend sends the batch's own buffer, which Sender frees when the batch expires",
        ),
    ),
    fixed=("3.9.2", "4.0.2", "4.1.2", "4.2.0"),
    commits=("1df2ac5b2b", "9386374a08", "46d2a3ea43", "37c066a366", "b8c5738146"),
    whose="Java clients",
)
PARTITIONS = 35
RECORD_BYTES = 15_800
"""A record fills a batch, and all records together are far more than a socket's buffer holds."""
SLOT_BYTES = 20_000
"""More than a batch: this record's buffer is not used again."""
EXPIRES_S = 15.0
WAITS_S = 10.0
"""Of EXPIRES_S; so long a record of `t` waits before it is sent. The client's kernel tries again 6 s and 13 s after the
request was begun, if it could not deliver it: once between the expiry and the end of the request, 15 s after its begin.
"""
LIMIT_S = 60.0


@scenario(
    name="museum-misdelivered",
    claim="""Records that were sent to one topic, and acknowledged there, are also read in another topic to which no
        client sent them. A Java producer wrote them into a request whose records had expired.""",
    source="KAFKA-19012",
    operator="""Set a long delivery.timeout.ms. The broker's release does not matter. A reader can recognise misplaced
        records by their key or schema; checksums do not show it.""",
    exhibit=Exhibit(bug=KAFKA_19012, affected=("3.5.1-kraft",), fixed=("3.9.2-kraft",)),
    applies=ranges.JAVA_SINCE_2_8,
    cluster=ClusterPlan(session_timeout_ms=60_000),
    topic=TopicPlan(replicas=((1,),) * PARTITIONS),
    cases={
        "default": Case(
            client="java",
            client_settings={
                "batch.size": "16384",
                "max.in.flight.requests.per.connection": "1",
                "send.buffer.bytes": "16384",
                "linger.ms": "0",  # the default before 4.0; delivery.timeout.ms may not be less than this and the next
                "request.timeout.ms": str(int(EXPIRES_S * 1000)),
                "delivery.timeout.ms": str(int(EXPIRES_S * 1000)),
            },
            documented=[
                Documented(
                    on=KAFKA_19012.affected,
                    required=frozenset({"misdelivered"}),
                    source=KAFKA_19012.id,
                    basis=Basis.JIRA,
                ),
                Documented(
                    on=KAFKA_19012.unaffected,
                    sentence="The late records are the expected ones, each in its own partition.",
                    source=KAFKA_19012.id,
                    basis=Basis.JIRA,
                ),
            ],
        )
    },
)
def misdelivered(run: Run) -> None:
    t = [Partition(run.topic.name, number) for number in range(PARTITIONS)]
    (slow,) = run.replicas_of(t[0])
    second, third = (number for number in (1, 2, 3) if number != slow.id)
    run.create_topic(TopicPlan(name="other", replicas=((second,),) * PARTITIONS))
    run.create_topic(TopicPlan(name="slot", replicas=((slow.id, third),)))
    other, slot = [Partition("other", number) for number in range(PARTITIONS)], Partition("slot", 0)
    producer = run.producer()

    # Each of these topics has used as many buffers as it will, and the pool has no more than these.
    for topic in (t, other):
        for sent in [producer.send_async(*one, record_bytes=RECORD_BYTES) for one in topic]:
            run.require("a record is acknowledged", sent.wait(LIMIT_S).outcome == "ok")
    run.require(
        "a record is acknowledged", producer.send_async(*slot, record_bytes=SLOT_BYTES).wait(LIMIT_S).outcome == "ok"
    )

    run.freeze(run.broker(third))
    in_flight = producer.send_async(*slot, record_bytes=SLOT_BYTES)
    run.wait_log_end(slot, 2, [slow])
    waiting = [producer.send_async(*one, record_bytes=RECORD_BYTES) for one in t]
    since = time.monotonic()
    run.delay_clients(slow)
    run.require("the first request is not answered", not in_flight.done)
    run.let_pass(max(0.0, since + WAITS_S - time.monotonic()), "the records have waited")
    run.thaw()
    run.require("the first request is answered", in_flight.wait(LIMIT_S).outcome == "ok")
    run.require("nothing has expired before it was sent", not any(one.done for one in waiting))

    for one in waiting:
        run.require("a record expires", one.wait(LIMIT_S).outcome == "info")
    for sent in [producer.send_async(*one, record_bytes=RECORD_BYTES) for one in other]:
        run.require("a record is acknowledged", sent.wait(LIMIT_S).outcome == "ok")

    def ends() -> list[int]:
        return [run.log_end_and_high_watermark(slow, one)[0] for one in t]

    run.require("the request has not come", sum(ends()) == PARTITIONS)
    run.heal_network()
    run.wait_files("the request has come", lambda: sum(ends()) > PARTITIONS, lambda: str(ends()), LIMIT_S)
    run.send(slot)
