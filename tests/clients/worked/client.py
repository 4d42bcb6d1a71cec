import base64
import json
import sys
import threading

import kafka
from kafka.errors import KafkaError, NotEnoughReplicasError

lock = threading.Lock()  # outcomes come on another thread


def say(kind, **message):
    with lock:
        print(json.dumps({"type": kind, **message}), flush=True)


def failed(number, error):
    # What the broker refused before it wrote anything is definite; a time-out never is.
    definite = isinstance(error, NotEnoughReplicasError)
    say("failed", id=number, error=type(error).__name__, definite=definite)


def produce(number, topic, partition, key, value):
    key = None if key is None else base64.b64decode(key)
    sent = client.send(topic, base64.b64decode(value), key=key, partition=partition)
    sent.add_callback(lambda told: say("acknowledged", id=number, offset=told.offset))
    sent.add_errback(lambda error: failed(number, error))


def poll(number, records, wait_ms):
    found = [one for several in client.poll(wait_ms, records).values() for one in several]
    say("polled", id=number, records=[
        {"topic": one.topic, "partition": one.partition, "offset": one.offset,
         "value": base64.b64encode(one.value).decode()} for one in found])


say("hello", protocol=1, name="worked", version=kafka.__version__, can=["produce", "consume"],
    defaults={"enable.idempotence": "true"})
start = json.loads(sys.stdin.readline() or "{}")
if not start:
    sys.exit()  # it was only asked who it is
try:
    brokers = start["bootstrap"].split(",")
    if start["type"] == "start-producer":
        retries = int(start["settings"].get("retries", 2**31 - 1))
        client = kafka.KafkaProducer(bootstrap_servers=brokers, acks="all", retries=retries)
    else:
        client = kafka.KafkaConsumer(bootstrap_servers=brokers, auto_offset_reset="earliest")
        client.assign([kafka.TopicPartition(*place) for place in start["assign"]])
except KafkaError as error:
    say("refused", reason=str(error))
    sys.exit()
say("ready")
for line in sys.stdin:
    command = json.loads(line)
    kind, number = command.pop("type"), command.pop("id")
    try:
        {"produce": produce, "poll": poll}[kind](number, **command)
    except KafkaError as error:
        failed(number, error)
client.close()
