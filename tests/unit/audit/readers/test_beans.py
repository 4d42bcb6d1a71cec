"""Producers that Spring's XML makes."""

from __future__ import annotations

import pytest

from tests.unit.audit.damage import CANARY, holds_up
from tests.unit.audit.reading import lines, only, read, told, values

BEANS = """<?xml version="1.0" encoding="GBK"?>
<beans xmlns="b" xmlns:util="u" xmlns:context="c">
{}
</beans>
"""
FACTORY = """<bean id="factory" class="org.springframework.kafka.core.DefaultKafkaProducerFactory">
  <constructor-arg>{}</constructor-arg>
</bean>
"""
ENTRIES = '<entry key="bootstrap.servers" value="k:9092"/><entry key="acks" value="1"/>'


@pytest.mark.parametrize(
    "content",
    [
        FACTORY.format(f"<map>{ENTRIES}</map>"),
        FACTORY.format('<ref bean="p"/>') + f'<bean id="p" class="java.util.HashMap"><map>{ENTRIES}</map></bean>',
        FACTORY.format("").replace("<constructor-arg>", '<constructor-arg ref="p">')
        + f'<util:map id="p">{ENTRIES}</util:map>',
        FACTORY.format("").replace("<constructor-arg>", '<argument ref="p"/><constructor-arg>')
        + '<util:properties id="p"><prop key="bootstrap.servers">k:9092</prop>'
        + '<prop key="acks">1</prop></util:properties>',
        FACTORY.format(
            "<map><entry><key><util:constant static-field='o.ProducerConfig.ACKS_CONFIG'/></key>"
            "<value>1</value></entry>"
            "<entry key='#{T(o.ProducerConfig).BOOTSTRAP_SERVERS_CONFIG}' value='k:9092'/></map>"
        ),
        f'<bean class="org.apache.kafka.clients.producer.KafkaProducer"><constructor-arg><map>{ENTRIES}</map>'
        "</constructor-arg></bean>",
    ],
)
def test_the_map_that_a_producer_is_made_with(tmp_path, content) -> None:
    producer = only(read(tmp_path, {"kafka-context.xml": BEANS.format(content)}))
    assert (producer.client, values(producer)) == ("java", {"bootstrap.servers": "k:9092", "acks": "1"})


def test_lines_and_the_topic_of_its_template(tmp_path) -> None:
    template = """<bean class="org.springframework.kafka.core.KafkaTemplate">
  <constructor-arg ref="factory"/><property name="defaultTopic" value="t"/>
</bean>"""
    content = FACTORY.format('<map>\n<entry key="acks" value="0"/></map>') + template
    producer = only(read(tmp_path, {"kafka.xml": BEANS.format(content)}))
    assert (lines(producer)["acks"], producer.topics, producer.name) == ("kafka.xml:5", ("t",), "factory")


@pytest.mark.parametrize(("value", "acks"), [("${kafka.acks}", "all"), ("${other:1}", "1"), ("#{@x.acks}", None)])
def test_placeholders_are_those_of_the_file_that_is_named(tmp_path, value, acks) -> None:
    content = '<context:property-placeholder location="classpath:kafka.properties"/>'
    content += FACTORY.format(f'<map><entry key="acks" value="{value}"/></map>')
    files = {"a/src/main/webapp/WEB-INF/k.xml": BEANS.format(content)}
    files["a/src/main/resources/kafka.properties"] = "kafka.acks=all\nkafka.producer.acks=0\n"
    setting = only(read(tmp_path, files)).settings["acks"]
    assert (setting.value if setting.known else None) == acks


def test_a_map_that_is_not_there_is_unknown(tmp_path) -> None:
    content = BEANS.format(FACTORY.format("").replace("<constructor-arg>", '<constructor-arg ref="gone">'))
    assert not only(read(tmp_path, {"kafka.xml": content})).settings["acks"].known


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("kafka.xml", f"<!-- {FACTORY.format('<map/>')} -->"),
        ("kafka.xml", FACTORY.format(f"<map>{ENTRIES}</map>").replace("Producer", "Consumer")),
        ("src/test/resources/kafka.xml", FACTORY.format(f"<map>{ENTRIES}</map>")),
        ("pom.xml", FACTORY.format(f"<map>{ENTRIES}</map>")),
    ],
)
def test_what_is_none(tmp_path, name, content) -> None:
    assert read(tmp_path, {name: BEANS.format(content)}).producers == ()


def test_entities_are_refused(tmp_path) -> None:
    content = '<!DOCTYPE b [<!ENTITY a "x">]><b>' + FACTORY.format(f"<map>{ENTRIES}</map>") + "</b>"
    found = read(tmp_path, {"kafka.xml": content})
    assert (found.producers, len(told(found))) == ((), 1)


def test_damage_is_survived_and_a_secret_is_kept_nowhere(tmp_path) -> None:
    secret = f'<entry key="sasl.jaas.config" value="{CANARY}"/>'
    holds_up(tmp_path, "kafka.xml", BEANS.format(FACTORY.format(f"<map>{ENTRIES}{secret}</map>")))
