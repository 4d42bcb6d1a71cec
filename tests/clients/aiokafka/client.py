"""aiokafka as a client of kafka-chaos (docs/own-clients.md). Its outcomes come on the loop that reads the commands."""

import asyncio
import base64
import json
import sys

import aiokafka
from aiokafka.errors import KafkaError

# What the broker refused before it wrote anything: it definitely did not happen.
DEFINITE = {"NotEnoughReplicasError", "MessageSizeTooLargeError"}
CAN = ["produce", "consume", "idempotence", "transactions", "groups", "acks-0", "acks-1"]
# aiokafka has no limit of attempts (retries) and no delivery.timeout.ms of its own: a record is given up when
# request_timeout_ms has passed.
PRODUCER = {
    "enable.idempotence": ("enable_idempotence", lambda text: text == "true"),
    "linger.ms": ("linger_ms", int),
    "transactional.id": ("transactional_id", str),
    "transaction.timeout.ms": ("transaction_timeout_ms", int),
    "request.timeout.ms": ("request_timeout_ms", int),
    "delivery.timeout.ms": ("request_timeout_ms", int),
    "retry.backoff.ms": ("retry_backoff_ms", int),
    "max.request.size": ("max_request_size", int),
    "client.id": ("client_id", str),
    "acks": ("acks", lambda text: "all" if text == "all" else int(text)),
}
CONSUMER = {
    "group.id": ("group_id", str),
    "auto.offset.reset": ("auto_offset_reset", str),
    "isolation.level": ("isolation_level", str),
    "enable.auto.commit": ("enable_auto_commit", lambda text: text == "true"),
    "session.timeout.ms": ("session_timeout_ms", int),
    "client.id": ("client_id", str),
}


def say(kind, **message):
    print(json.dumps({"type": kind, **message}), flush=True)


def fail(number, error):
    name = type(error).__name__
    code = getattr(error, "errno", None)
    say("failed", id=number, error=name, code=code if isinstance(code, int) else None, definite=name in DEFINITE)


class Moves(aiokafka.ConsumerRebalanceListener):
    async def on_partitions_assigned(self, assigned):
        say("assigned", partitions=[[one.topic, one.partition] for one in assigned])

    async def on_partitions_revoked(self, revoked):
        say("revoked", partitions=[[one.topic, one.partition] for one in revoked])


async def produce(client, id, topic, partition, key, value):
    key = None if key is None else base64.b64decode(key)
    sent = await client.send(topic, base64.b64decode(value), key=key, partition=partition)

    def answered(future):
        if future.cancelled() or future.exception():
            fail(id, future.exception() or KafkaError())
        else:
            found = future.result()
            say("acknowledged", id=id, offset=found.offset if found is not None and found.offset >= 0 else None)

    sent.add_done_callback(answered)


async def poll(client, id, records, wait_ms):
    polled = await client.getmany(timeout_ms=wait_ms, max_records=records)
    found = [
        {
            "topic": one.topic,
            "partition": one.partition,
            "offset": one.offset,
            "value": None if one.value is None else base64.b64encode(one.value).decode(),
        }
        for several in polled.values()
        for one in several
    ]
    say("polled", id=id, records=found)


async def commit_offsets(client, id, offsets):
    await client.commit({aiokafka.TopicPartition(topic, number): offset for topic, number, offset in offsets})
    say("committed", id=id)


def transact(step, done):
    async def carry_out(client, id):
        await getattr(client, step)()
        say(done, id=id)

    return carry_out


COMMANDS = {
    "produce": produce,
    "poll": poll,
    "commit-offsets": commit_offsets,
    "begin": transact("begin_transaction", "begun"),
    "commit": transact("commit_transaction", "committed"),
    "abort": transact("abort_transaction", "aborted"),
}


async def carry_out(client, command):
    try:
        await COMMANDS[command.pop("type")](client, **command)
    except (KafkaError, ValueError) as error:
        fail(command["id"], error)


async def opened(start):
    """The client that a start asks for, and its settings by aiokafka's names."""
    producer = start["type"] == "start-producer"
    names = PRODUCER if producer else CONSUMER
    settings = {names[name][0]: names[name][1](value) for name, value in start["settings"].items() if name in names}
    if producer:
        client = aiokafka.AIOKafkaProducer(bootstrap_servers=start["bootstrap"], **settings)
        await client.start()
        return client, settings
    client = aiokafka.AIOKafkaConsumer(bootstrap_servers=start["bootstrap"], **settings)
    await client.start()
    if start["assign"]:
        places = [aiokafka.TopicPartition(*place) for place in start["assign"]]
        client.assign(places)
        await client.seek_to_beginning(*places)
    else:
        client.subscribe(start["subscribe"], listener=Moves())
    return client, settings


async def main():
    say(
        "hello",
        protocol=1,
        name="aiokafka",
        version=aiokafka.__version__,
        can=CAN,
        defaults={"enable.idempotence": "false", "acks": "1"},
    )
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=64 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    first = await lines.readline()
    if not first:
        return
    try:
        client, settings = await opened(json.loads(first))
    except (KafkaError, ValueError) as error:
        say("refused", reason=f"{type(error).__name__}: {error}")
        return
    say("ready", settings={name: str(value) for name, value in settings.items()})
    while line := await lines.readline():
        # One after the other: records keep their order, and `send` waits while too much is under way.
        await carry_out(client, json.loads(line))
    await client.stop()


asyncio.run(main())
