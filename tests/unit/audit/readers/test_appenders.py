"""Producers of logging: appenders in XML and .properties, and rsyslog's omkafka."""

from __future__ import annotations

import pytest

from tests.unit.audit.reading import lines, only, read, values

LOG4J2 = """<Configuration>
  <!-- <Kafka name="old" topic="x"><Property name="bootstrap.servers">k:9092</Property></Kafka> -->
  <Kafka name="kafka" topic="logs">
    <Property name="bootstrap.servers">k:9092</Property>
    <Property name="acks" value="0"/>
  </Kafka>
</Configuration>
"""


def test_log4j_2(tmp_path):
    producer = only(read(tmp_path, {"log4j2.xml": LOG4J2}))
    assert (producer.client, producer.topics) == ("java", ("logs",))
    assert values(producer) == {"bootstrap.servers": "k:9092", "acks": "0"}
    assert lines(producer)["acks"] == "log4j2.xml:5"


def test_logback(tmp_path):
    content = """<configuration>
<appender name="K" class="com.github.danielwegener.logback.kafka.KafkaAppender">
  <topic>logs</topic>
  <producerConfig>bootstrap.servers=k:9092</producerConfig>
  <producerConfig>acks=1</producerConfig>
</appender>
<appender name="C" class="ch.qos.logback.core.ConsoleAppender"/>
</configuration>"""
    producer = only(read(tmp_path, {"src/logback-spring.xml": content}))
    assert values(producer) == {"bootstrap.servers": "k:9092", "acks": "1"}
    assert producer.topics == ("logs",)


def test_log4j_1(tmp_path):
    content = """log4j.rootLogger=INFO, KAFKA
log4j.appender.KAFKA=org.apache.kafka.log4jappender.KafkaLog4jAppender
log4j.appender.KAFKA.brokerList=k:9092
log4j.appender.KAFKA.topic=logs
log4j.appender.KAFKA.requiredNumAcks=0
"""
    producer = only(read(tmp_path, {"log4j.properties": content}))
    assert values(producer) == {"bootstrap.servers": "k:9092", "acks": "0"}
    assert producer.topics == ("logs",)


def test_rsyslog(tmp_path):
    content = """# action(type="omkafka" topic="no" confParam=["acks=0"])
action(type="omkafka" broker=["k:9092"]
  topic="syslog"
  confParam=["acks=1", "compression.codec=snappy"])
"""
    producer = only(read(tmp_path, {"30-kafka.conf": content}))
    assert (producer.client, producer.topics) == ("librdkafka", ("syslog",))
    assert values(producer)["acks"] == "1"
    assert lines(producer)["acks"] == "30-kafka.conf:4"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("logback.xml", '<configuration><logger name="org.apache.kafka" level="WARN"/></configuration>'),
        ("log4j2.xml", '<Kafka name="k" topic="t"><PatternLayout/></Kafka>'),
        ("other.xml", LOG4J2),
    ],
)
def test_what_is_none(tmp_path, name, content):
    assert not read(tmp_path, {name: content}).producers


LOG4J2_PROPERTIES = """appender.k.type = {}
appender.k.topic = logs
appender.k.property.a.type = Property
appender.k.property.a.name = acks
appender.k.property.a.value = 0
appender.k.property.s.name = bootstrap.servers
appender.k.property.s.value = k:9092
"""


def test_log4j_2_as_properties(tmp_path):
    producer = only(read(tmp_path / "a", {"log4j2.properties": LOG4J2_PROPERTIES.format("Kafka")}))
    assert (producer.client, producer.topics) == ("java", ("logs",))
    assert (values(producer)["acks"], lines(producer)["acks"]) == ("0", "log4j2.properties:5")
    assert not read(tmp_path / "b", {"log4j2.properties": LOG4J2_PROPERTIES.format("Console")}).producers
