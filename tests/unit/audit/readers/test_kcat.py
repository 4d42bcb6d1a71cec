"""kcat.conf: librdkafka's properties, whatever they look like to Java."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.model import HIDDEN
from tests.unit.audit.reading import lines, only, read, told, values


@pytest.mark.parametrize("name", ["kcat.conf", "kafkacat.conf", ".config/kcat.conf"])
def test_a_file_of_kcats_configures_a_producer_of_librdkafka(name: str, tmp_path: Path) -> None:
    text = "# kcat -P\n  bootstrap.servers=k\\:9092\n\ntopic.acks=1\nretries=0  \n"
    producer = only(read(tmp_path, {name: text}))
    assert producer.client == "librdkafka"
    assert values(producer) == {"bootstrap.servers": "k:9092", "acks": "1", "retries": "0"}
    assert lines(producer)["acks"].endswith(".conf:4")


def test_the_same_settings_elsewhere_are_javas(tmp_path: Path) -> None:
    assert only(read(tmp_path, {"client.conf": "bootstrap.servers=k:9092\nacks=1\n"})).client == "java"


def test_blanks_at_the_equals_sign_are_part_of_the_property(tmp_path: Path) -> None:
    assert values(only(read(tmp_path, {"kcat.conf": "bootstrap.servers=k:1\nacks = 1\n"}))).keys() == {
        "bootstrap.servers",
        "acks ",
    }


def test_a_line_that_kcat_refuses_is_told(tmp_path: Path) -> None:
    found = read(tmp_path, {"kcat.conf": "bootstrap.servers=k:1\nacks 1\n=x\n"})
    refused = "is no property=value, for which kcat refuses the file: write property=value"
    assert told(found, "unreadable") == [f"kcat.conf:2 {refused}", f"kcat.conf:3 {refused}"]
    assert values(only(found)) == {"bootstrap.servers": "k:1"}


def test_a_consumers_file_configures_no_producer(tmp_path: Path) -> None:
    assert read(tmp_path, {"kcat.conf": "bootstrap.servers=k:1\ngroup.id=g\n"}).producers == ()


def test_a_secret_is_hidden(tmp_path: Path) -> None:
    producer = only(read(tmp_path, {"kcat.conf": "bootstrap.servers=k:1\nsasl.password=s3cr3t\nacks=1\n"}))
    assert values(producer)["sasl.password"] == HIDDEN
