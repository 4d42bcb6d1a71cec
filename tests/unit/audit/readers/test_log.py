"""What clients print of themselves when they start."""

from __future__ import annotations

from audit.model import HIDDEN
from audit.readers.log import read_logs
from tests.unit.audit.reading import only, values

DUMP = """2026-01-02 INFO ProducerConfig values:
\tacks = 1
\tbootstrap.servers = [k:9092]
\tclient.id = {name}
\tretries = 0
\tsasl.jaas.config = x required password="s3cr3t";
\ttransactional.id = null

2026-01-02 INFO Kafka version: 3.7.1
"""


def test_the_java_client_tells_everything_and_its_release(tmp_path) -> None:
    log = tmp_path / "app.log"
    log.write_text(DUMP.format(name="a") + DUMP.format(name="b"))
    producer = only(read_logs([log]))
    assert values(producer) == {
        "acks": "1", "bootstrap.servers": "k:9092", "client.id": "a", "retries": "0", "sasl.jaas.config": HIDDEN
    }  # fmt: skip
    assert (producer.release, producer.settings["acks"].origin.line) == ("3.7.1", 2)


def test_librdkafka_tells_of_producers_alone(tmp_path) -> None:
    line = "%7|1.0|CONF|rdkafka#{}-1| [thrd:app]:   request.required.acks = {}\n"
    log = tmp_path / "app.log"
    log.write_text(line.format("producer", 0) + line.format("consumer", 1))
    producer = only(read_logs([log]))
    assert (producer.client, values(producer)) == ("librdkafka", {"request.required.acks": "0"})


def test_a_log_without_a_client_and_one_that_is_not_there_are_told(tmp_path) -> None:
    (tmp_path / "app.log").write_text("nothing\n")
    told = read_logs([tmp_path / "app.log", tmp_path / "gone.log"]).problems
    assert [each.message for each in told] == [
        "no client says in it what it is set to", "cannot be read: No such file or directory"
    ]  # fmt: skip
