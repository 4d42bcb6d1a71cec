"""A client of the user's own that has no Kafka: `python stub_client.py MODE`. It does what the mode says."""

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any, NoReturn

HELLO: dict[str, Any] = {"type": "hello", "protocol": 1, "name": "stub", "version": "1.0"}
EVERYTHING = ["produce", "consume", "idempotence", "transactions", "groups", "acks-0", "acks-1"]
FIRST: dict[str, dict[str, Any]] = {
    "another-protocol": HELLO | {"protocol": 2, "can": EVERYTHING},
    "unknown-word": HELLO | {"can": ["produce", "transaction"]},
    "can-nothing": HELLO | {"can": ["acks-1"]},
    "produces-only": HELLO | {"can": ["produce"]},
    "no-hello": {"type": "ready"},
}
MODE = sys.argv[1]


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def end(status: int) -> NoReturn:
    sys.stderr.write("the reason\n")
    sys.stderr.flush()
    os._exit(status)


def hang() -> NoReturn:
    while True:
        time.sleep(60)


def commands() -> Iterator[dict[str, Any]]:
    yield from map(json.loads, sys.stdin)


def answer(log: list[dict[str, Any]], command: dict[str, Any]) -> None:
    kind, number = command["type"], command["id"]
    if kind == "produce" and MODE in ("refuses-definitely", "fails"):
        say(type="failed", id=number, error="Sad", code=19, definite=MODE == "refuses-definitely")
    elif kind == "produce" and MODE == "silent-on-records":
        return
    elif kind == "produce":
        log.append({"topic": command["topic"], "partition": 0, "offset": len(log), "value": command["value"]})
        say(type="acknowledged", id=number, offset=len(log) - 1)
        if MODE == "answers-twice":
            say(type="acknowledged", id=number, offset=len(log) - 1)
        if MODE == "dies-after-a-record":
            end(3)
    elif kind == "poll" and MODE == "fails":
        say(type="failed", id=number, error="Sad")
    elif kind == "poll":
        say(type="assigned", partitions=[["t", 0]])
        say(type="polled", id=number, records=[READ, PLAIN])
        say(type="revoked", partitions=[["t", 0]], lost=True)
    elif kind == "begin" and MODE == "wrong-answer":
        say(type="committed", id=number)
    else:
        done = {"begin": "begun", "abort": "aborted"}.get(kind, "committed")
        say(type=done, id=number)


READ = {"topic": "t", "partition": 0, "offset": 4, "value": "eA==", "leader_epoch": 1}
PLAIN = {"topic": "t", "partition": 0, "offset": 7, "value": None}


def main() -> None:
    if MODE == "silent":
        hang()
    if MODE == "dies":
        end(3)
    if MODE == "nonsense":
        sys.stdout.write("INFO connected\n")
    say(**FIRST.get(MODE, HELLO | {"can": EVERYTHING, "defaults": {"enable.idempotence": "true"}}))
    log: list[dict[str, Any]] = []
    for command in commands():
        if not command["type"].startswith("start-"):
            answer(log, command)
        elif MODE == "refuses":
            say(type="refused", reason="no such acks")
        elif MODE == "never-ready":
            hang()
        else:
            say(type="ready", settings={"told": command["settings"].get("acks", "")})
    if MODE == "stays":
        hang()


if __name__ == "__main__":
    main()
