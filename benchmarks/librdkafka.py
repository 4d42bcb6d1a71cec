"""What releases of librdkafka do with a late answer, against librdkafka's own mock broker: no broker, no Docker.

    python -m benchmarks.librdkafka LIBRARY…

A LIBRARY is a shared object of librdkafka: that of confluent-kafka in use if none is named, and of other releases the
one in their wheel (`pip download --no-deps confluent-kafka==1.9.2`, unpacked: confluent_kafka.libs/librdkafka*.so*).
Each sequence is run in a process of its own, for a library cannot be unloaded. The same sequences on real brokers are
the scenarios timed-out-batch and refused-then-accepted.

    batch   enable.idempotence; two records in one batch, the second 1.5 s younger; the answer is later than the first
            one's message.timeout.ms. "twice": the second is acknowledged, and the log has one record more than were
            sent
    order   max.in.flight=1; the first record is refused (NOT_ENOUGH_REPLICAS) and its answer is late; the second is
            sent meanwhile. "turned": the second has the lower offset
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Final

PRODUCE: Final = 0
"""The number of Kafka's request."""
NOT_ENOUGH_REPLICAS: Final = 19
PRODUCER, COPY = 0, 2
TOPIC: Final = b"t"
LIMIT_S: Final = 30.0
MESSAGE_TIMEOUT_MS: Final = 4000
LINGER_MS: Final = 2500
SECOND_S: Final = 1.5
LATE_MS: Final = 7000
"""Longer than what is left of the first record's time when the batch goes out."""
REFUSED_LATE_MS: Final = 1500
SOON_S: Final = 0.5


class Message(ctypes.Structure):
    """rd_kafka_message_t."""

    _fields_ = (
        ("err", ctypes.c_int),
        ("topic", ctypes.c_void_p),
        ("partition", ctypes.c_int32),
        ("payload", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("key", ctypes.c_void_p),
        ("key_length", ctypes.c_size_t),
        ("offset", ctypes.c_int64),
        ("opaque", ctypes.c_void_p),
    )


REPORT: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Message), ctypes.c_void_p)


class Mock:
    """A mock broker of a library, and one producer to it."""

    def __init__(self, path: Path, settings: dict[str, str]) -> None:
        self._library = ctypes.CDLL(str(path))
        self.reports: dict[str, tuple[str, int]] = {}
        """What came of each record: the error's name, and the offset."""
        self._host = self._new({"client.id": "mock"})
        self._cluster = self._call("rd_kafka_mock_cluster_new", ctypes.c_void_p, self._host, 1)
        bootstrap = self._call("rd_kafka_mock_cluster_bootstraps", ctypes.c_char_p, self._cluster).decode()
        self._call("rd_kafka_mock_topic_create", ctypes.c_int, self._cluster, TOPIC, 1, 1)
        self._report = REPORT(self._on_report)
        self._client = self._new({"bootstrap.servers": bootstrap} | settings, self._report)
        self._topic = self._call("rd_kafka_topic_new", ctypes.c_void_p, self._client, TOPIC, None)

    @property
    def version(self) -> str:
        """The library's release."""
        return str(self._call("rd_kafka_version_str", ctypes.c_char_p).decode())

    def _call(self, name: str, result: Any, *arguments: Any) -> Any:
        function = getattr(self._library, name)
        function.restype = result
        # Handles are pointers: an int alone would be cut to 32 bits.
        typed = [ctypes.c_void_p(one) if isinstance(one, int) and one > 2**31 else one for one in arguments]
        return function(*typed)

    def _new(self, settings: dict[str, str], report: Any = None) -> int:
        words = ctypes.create_string_buffer(512)
        conf = self._call("rd_kafka_conf_new", ctypes.c_void_p)
        for name, value in settings.items():
            if self._call("rd_kafka_conf_set", ctypes.c_int, conf, name.encode(), value.encode(), words, 512):
                raise SystemExit(words.value.decode())
        if report is not None:
            self._call("rd_kafka_conf_set_dr_msg_cb", None, conf, report)
        made = self._call("rd_kafka_new", ctypes.c_void_p, PRODUCER, conf, words, 512)
        if not made:
            raise SystemExit(words.value.decode())
        return int(made)

    def _on_report(self, _client: int, message: Any, _opaque: int) -> None:
        told = message.contents
        name = self._call("rd_kafka_err2name", ctypes.c_char_p, told.err).decode()
        self.reports[ctypes.string_at(told.payload, told.length).decode()] = (name, told.offset)

    def send(self, text: str) -> None:
        """Hand a record over."""
        data, length = text.encode(), ctypes.c_size_t(len(text))
        no_key = (None, ctypes.c_size_t(0), None)
        self._call("rd_kafka_produce", ctypes.c_int, self._topic, ctypes.c_int32(0), COPY, data, length, *no_key)

    def wait(self, done: Callable[[], bool], timeout_s: float = LIMIT_S) -> bool:
        """Take reports in until it is done, or the limit is over."""
        end = time.monotonic() + timeout_s
        while not done() and time.monotonic() < end:
            self._call("rd_kafka_poll", ctypes.c_int, self._client, 50)
        return done()

    def answer_after(self, milliseconds: int) -> None:
        """Have the broker answer so late; it carries requests out at once."""
        self._call("rd_kafka_mock_broker_set_rtt", ctypes.c_int, self._cluster, 1, milliseconds)

    def refuse_next(self) -> None:
        """Have the broker refuse the next Produce request."""
        errors = (ctypes.c_int * 1)(NOT_ENOUGH_REPLICAS)
        count = ctypes.c_size_t(1)
        self._call("rd_kafka_mock_push_request_errors_array", None, self._cluster, PRODUCE, count, errors)

    def log_end(self) -> int:
        """The number of records in the log."""
        low, high = ctypes.c_int64(), ctypes.c_int64()
        ends = (ctypes.byref(low), ctypes.byref(high))
        name = "rd_kafka_query_watermark_offsets"
        if self._call(name, ctypes.c_int, self._client, TOPIC, ctypes.c_int32(0), *ends, 15_000):
            raise SystemExit("the mock broker does not say where the log ends")
        return high.value


def batch(path: Path) -> str:
    """The answer to a batch is later than the time-out of its first record."""
    idempotent = {"enable.idempotence": "true", "linger.ms": str(LINGER_MS)}
    mock = Mock(path, idempotent | {"message.timeout.ms": str(MESSAGE_TIMEOUT_MS)})
    mock.send("warm")
    mock.wait(lambda: "warm" in mock.reports)
    mock.answer_after(LATE_MS)
    mock.send("m0")
    mock.wait(lambda: False, SECOND_S)
    mock.send("m1")
    mock.wait(lambda: "m0" in mock.reports)
    mock.answer_after(0)
    mock.wait(lambda: "m1" in mock.reports)
    end = mock.log_end()
    acknowledged = mock.reports["m1"][0] == "NO_ERROR"
    told = f"m0 {mock.reports['m0'][0]}, m1 {mock.reports['m1'][0]}, {end} records of 3 in the log"
    return (
        f"librdkafka {mock.version} batch: {'twice' if acknowledged and end > len(mock.reports) else 'once'} ({told})"
    )


def order(path: Path) -> str:
    """The second record is sent while the first, which is refused, is in flight."""
    mock = Mock(path, {"max.in.flight": "1", "linger.ms": "0", "message.timeout.ms": "30000"})
    mock.send("warm")
    mock.wait(lambda: "warm" in mock.reports)
    mock.answer_after(REFUSED_LATE_MS)
    mock.refuse_next()
    mock.send("m0")
    mock.wait(lambda: False, SOON_S)
    mock.send("m1")
    mock.wait(lambda: {"m0", "m1"} <= mock.reports.keys())
    first, second = mock.reports["m0"][1], mock.reports["m1"][1]
    told = f"m0 at {first}, m1 at {second}"
    return f"librdkafka {mock.version} order: {'turned' if second < first else 'kept'} ({told})"


SEQUENCES: Final = {"batch": batch, "order": order}


def in_use() -> Path:
    """The library of the confluent-kafka that is installed."""
    files = distribution("confluent-kafka").files or []
    return next(Path(str(one.locate())) for one in files if one.name.startswith("librdkafka"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run each sequence on each library, and print a line of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", type=Path, metavar="LIBRARY")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run each so often (default 1)")
    parser.add_argument("--only", choices=sorted(SEQUENCES), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.only:
        print(SEQUENCES[options.only](options.libraries[0]), flush=True)
        os._exit(0)  # what has been begun in the library is not ended: that may take as long as the records' time-out
    for library in options.libraries or [in_use()]:
        beside = {"LD_LIBRARY_PATH": str(library.resolve().parent)}  # the wheel's other libraries lie there
        for name in SEQUENCES:
            for _ in range(options.repeat):
                command = [sys.executable, "-m", "benchmarks.librdkafka", "--only", name, str(library.resolve())]
                done = subprocess.run(command, env=os.environ | beside, capture_output=True, text=True)
                print(
                    done.stdout.strip() or f"{library.name} {name}: {done.stderr.strip().splitlines()[-1]}", flush=True
                )


if __name__ == "__main__":
    main()
