"""The yardstick itself: that it counts, and that each of its repositories can be read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from audit import matrix
from audit.grade import Grader
from tests.wild.yardstick import GOALS, KINDS, Repository, Score, _score_one, repositories

PROPERTIES = "bootstrap.servers=k:9092\nkey.serializer=S\nacks=1\n"


SERVER = """broker.id=1
listeners=PLAINTEXT://k:9092
log.dirs=/d
zookeeper.connect=z:2181
min.insync.replicas=2
default.replication.factor=3
"""
POM = """<project><dependencies><dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId>
<version>3.9.1</version></dependency></dependencies></project>"""


@cache
def grader() -> Grader:
    return Grader(matrix.measured())


def scored(tmp_path, *producers: Mapping[str, Any], pom: str = "", **files: str) -> Score:
    made = Score()
    named = {f"{name}.properties": text for name, text in files.items()} | ({"pom.xml": pom} if pom else {})
    _score_one(Repository("one", producers, named), tmp_path, grader(), made)
    return made


def test_what_is_told_as_it_is_counts(tmp_path):
    made = scored(tmp_path, {"at": "producer.properties", "acks": "1", "client": "java"}, producer=PROPERTIES)
    assert made.shares == (1.0, 1.0, 1.0)
    assert made.reaches(GOALS)


def test_a_value_that_is_told_wrongly_a_miss_and_a_false_producer_are_counted(tmp_path):
    truth = ({"at": "producer.properties", "acks": "0"}, {"at": "gone.properties"})
    made = scored(tmp_path, *truth, producer=PROPERTIES, other=PROPERTIES)
    assert made.shares == (0.5, 0.5, 0.0)
    assert not made.reaches(GOALS)
    assert len(made.wrong) == 3


def test_a_log_that_two_producers_are_in_is_read_once(tmp_path):
    dump = "ProducerConfig values: \n\tacks = {acks}\n\tclient.id = {name}\n\nKafka version: 3.4.1\n"
    log = dump.format(acks=0, name="one") + dump.format(acks=1, name="two")
    truth = [{"at": "app.log", "n": name, "acks": acks, "log": True} for name, acks in (("one", "0"), ("two", "1"))]
    made = Score()
    _score_one(Repository("one", truth, {"app.log": log}), tmp_path, grader(), made)
    assert (made.reported, made.found) == (2, 2)


def test_a_value_that_nobody_tells_may_not_be_claimed(tmp_path):
    made = scored(tmp_path, {"at": "producer.properties", "acks": "?"}, producer=PROPERTIES)
    assert made.shares[2] == 0.0


def test_an_a_for_a_producer_that_may_lose_is_false(tmp_path):
    text = PROPERTIES.replace("acks=1", "acks=all")
    made = scored(tmp_path, {"at": "producer.properties", "acks": "0"}, producer=text, server=SERVER, pom=POM)
    assert made.false_a == 1


def test_there_are_enough_and_half_were_written_before_they_were_tried():
    files = {kind: sum(len(one.files) for one in repositories(kind)) for kind in KINDS}
    assert sum(files.values()) >= 150
    before = set(KINDS) - {"open", "fourth"}
    assert sum(files[kind] for kind in before) * 2 >= sum(files.values())


def test_each_names_files_that_it_has():
    for kind in KINDS:
        for one in repositories(kind):
            for truth in one.producers:
                at = truth["at"] if isinstance(truth["at"], list) else [truth["at"]]
                assert set(at) <= one.files.keys(), one.name
