"""Meter readings, from the gateway to Kafka."""

import os
import sys

from confluent_kafka import Producer


def delivered(error, message):
    if error is not None:
        print(f"not delivered: {error}", file=sys.stderr)


def main():
    conf = {
        "bootstrap.servers": os.environ.get("KAFKA_BOOTSTRAP", "localhost:9092"),
        "client.id": "meter-gateway",
        "linger.ms": 50,
    }
    producer = Producer(conf)
    for line in sys.stdin:
        producer.poll(0)
        producer.produce("readings", line.strip().encode(), on_delivery=delivered)
    producer.flush()


if __name__ == "__main__":
    main()
