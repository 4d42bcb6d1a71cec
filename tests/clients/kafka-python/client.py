"""kafka-python as a client of kafka-chaos: the worked example of docs/own-clients.md."""

import base64
import json
import sys
import threading

import kafka
from kafka.errors import KafkaError

# What the broker refused before it wrote anything, or what was never sent: it definitely did not happen.
DEFINITE = {"NotEnoughReplicasError", "MessageSizeTooLargeError"}
CAN = ["produce", "consume", "idempotence", "transactions", "groups", "acks-0", "acks-1"]
lock = threading.Lock()  # outcomes come on another thread


def say(kind, **message):
    with lock:
        print(json.dumps({"type": kind, **message}), flush=True)


def fail(number, error):
    name = type(error).__name__
    say("failed", id=number, error=name, code=getattr(error, "errno", None), definite=name in DEFINITE)


def configured(settings, defaults):
    """Kafka's settings by kafka-python's names and types, as far as it has them."""
    convert = {bool: lambda text: text == "true", float: int}
    named = {name.replace(".", "_"): value for name, value in settings.items()}
    known = {name: value for name, value in named.items() if name in defaults}
    found = {name: convert.get(type(defaults[name]), type(defaults[name]))(value)
             for name, value in known.items() if defaults[name] is not None and name != "acks"}
    found |= {name: value for name, value in known.items() if defaults[name] is None}
    if "acks" in known:
        found["acks"] = "all" if known["acks"] == "all" else int(known["acks"])
        if found["acks"] != "all":  # idempotence, which is its default, asks for all
            found.setdefault("enable_idempotence", False)
    return found | {"bootstrap_servers": start["bootstrap"].split(",")}


class Moves(kafka.ConsumerRebalanceListener):
    def on_partitions_assigned(self, assigned):
        say("assigned", partitions=[[one.topic, one.partition] for one in assigned])

    def on_partitions_revoked(self, revoked):
        say("revoked", partitions=[[one.topic, one.partition] for one in revoked])


def produce(do, id, topic, partition, key, value):
    def acknowledged(metadata):
        say("acknowledged", id=id, offset=metadata.offset if metadata.offset >= 0 else None)

    key = None if key is None else base64.b64decode(key)
    sent = client.send(topic, base64.b64decode(value), key=key, partition=partition)
    sent.add_callback(acknowledged).add_errback(lambda error: fail(id, error))


def poll(do, id, records, wait_ms):
    found = [one for polled in client.poll(wait_ms, records).values() for one in polled]
    say("polled", id=id, records=[{"topic": one.topic, "partition": one.partition, "offset": one.offset,
        "value": None if one.value is None else base64.b64encode(one.value).decode()} for one in found])


def commit_offsets(do, id, offsets):
    client.commit({kafka.TopicPartition(topic, partition): kafka.OffsetAndMetadata(offset, "", -1)
                   for topic, partition, offset in offsets})
    say("committed", id=id)


def transact(step, done):
    return lambda do, id: (getattr(client, step)(), say(done, id=id))


COMMANDS = {"produce": produce, "poll": poll, "commit-offsets": commit_offsets,
            "begin": transact("begin_transaction", "begun"), "commit": transact("commit_transaction", "committed"),
            "abort": transact("abort_transaction", "aborted")}

say("hello", protocol=1, name="kafka-python", version=kafka.__version__, can=CAN,
    defaults={"enable.idempotence": "true", "acks": "all"})
start = json.loads(sys.stdin.readline() or '{"type": "end"}')
if start["type"] == "end":
    sys.exit()  # it was only asked who it is
try:
    kind = kafka.KafkaProducer if start["type"] == "start-producer" else kafka.KafkaConsumer
    settings = configured(start["settings"], kind.DEFAULT_CONFIG)
    client = kind(**settings)
    if "transactional_id" in settings:
        client.init_transactions()
except KafkaError as error:
    say("refused", reason=str(error))
    sys.exit()
if start.get("assign"):
    client.assign([kafka.TopicPartition(*place) for place in start["assign"]])
elif start.get("subscribe"):
    client.subscribe(start["subscribe"], listener=Moves())
say("ready", settings={name: str(value) for name, value in settings.items()})
for line in sys.stdin:
    command = json.loads(line)
    try:
        COMMANDS[command["type"]](command.pop("type"), **command)
    except KafkaError as error:
        fail(command["id"], error)
client.close()
