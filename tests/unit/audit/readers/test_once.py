"""A producer that several places of a repository speak of is told once, and what only looks like one is not told."""

from __future__ import annotations

import pytest

from audit.model import Inputs
from tests.unit.audit.reading import only, read, values


def places(inputs: Inputs, folder: object) -> list[str]:
    """The files of the producers that were found."""
    return [each.origin.path.removeprefix(f"{folder}/") for each in inputs.producers]


@pytest.mark.parametrize("name", ["topicConf", "topic_config", "defaultTopicConfig", "topic"])
def test_a_section_of_topics_belongs_to_the_producer_beside_it(tmp_path, name) -> None:
    own = '"rdkafka": {"metadata.broker.list": "k:9092", "queue.buffering.max.messages": 9}'
    text = f'{{"kafka": {{"producer": {{{own}, "{name}": {{"request.required.acks": "1"}}}}}}}}'
    producer = only(read(tmp_path, {"config/default.json": text}))
    assert values(producer)["request.required.acks"] == "1"
    assert values(producer)["metadata.broker.list"] == "k:9092"


def test_a_section_of_topics_that_is_alone_is_a_producers(tmp_path) -> None:
    text = '{"kafka": {"producer": {"topicConf": {"request.required.acks": "1"}}}}'
    assert values(only(read(tmp_path, {"config/default.json": text}))) == {"request.required.acks": "1"}


KTOR = """package a
import org.apache.kafka.clients.producer.KafkaProducer
fun make(): KafkaProducer<String, String> {{
    val props = Properties()
    props["bootstrap.servers"] = servers
    {}
    return KafkaProducer(props)
}}
"""
CONF = "ktor { kafka { producer { client.id = a, acks = 1 } } }\n"


@pytest.mark.parametrize(
    ("puts", "files"),
    [
        ("config.toMap().forEach { (key, value) -> props[key] = value }", ["application.conf"]),
        ("keys.forEach { props[it] = config.getString(it) }", ["application.conf"]),
        ("for (e in config.entries) props.put(e.key, e.value)", ["application.conf"]),
        ("section.forEach(props::put)", ["application.conf"]),
        ('props["acks"] = "0"', ["application.conf", "Kafka.kt"]),
    ],
)
def test_a_map_that_a_file_fills_is_the_files(tmp_path, puts, files) -> None:
    found = read(tmp_path, {"pom.xml": "<project/>", "application.conf": CONF, "Kafka.kt": KTOR.format(puts)})
    assert places(found, tmp_path) == files


BOTH = ["karafka.rb", "config/p.rb"]
WATERDROP = "P = WaterDrop::Producer.new { |c| c.kafka = { 'bootstrap.servers': 'k', 'acks': 1 } }\n"
KARAFKA = "class App < Karafka::App\n  setup { |config| config.kafka = { 'bootstrap.servers': 'k' } }\nend\n"


@pytest.mark.parametrize(
    ("sends", "files"),
    [
        ("P.produce_async(topic: 't', payload: x)\n", ["config/p.rb"]),
        ("class C < ApplicationConsumer\n  def consume; @p.produce_async(topic: 't'); end\nend\n", ["config/p.rb"]),
        ("class C < ApplicationConsumer\n  def consume; produce_async(topic: 't'); end\nend\n", BOTH),
        ("Karafka.producer.produce_sync(topic: 't', payload: x)\n", BOTH),
        ("# Karafka.producer.produce_sync(topic: 't')\n", ["config/p.rb"]),
    ],
)
def test_what_a_producer_of_ones_own_sends_is_not_karafkas(tmp_path, sends, files) -> None:
    found = read(tmp_path, {"karafka.rb": KARAFKA, "config/p.rb": WATERDROP, "app/c.rb": sends})
    assert sorted(places(found, tmp_path)) == sorted(files)


@pytest.mark.parametrize(
    ("call", "acks", "topics"),
    [
        (":brod.start_producer(@client, kafka[:topic], _config = [])", None, ("seats",)),
        (':brod.start_producer(@client, "t", config = [required_acks: 0])', "0", ("t",)),
        (':brod.start_producer(@client, "t", @config)\n  @config [required_acks: 1]', "1", ("t",)),
        (":brod.start_producer(@client, name, options)", "(an expression)", ()),
    ],
)
def test_a_producer_of_brods_whose_settings_have_a_name(tmp_path, call, acks, topics) -> None:
    config = 'import Config\nconfig :a, :kafka, endpoints: [], topic: "seats"\n'
    files = {"mix.exs": "defmodule M do end", "config/config.exs": config}
    producer = only(read(tmp_path, {**files, "lib/a.ex": f"defmodule A do\n  {call}\nend\n"}))
    assert (values(producer).get("acks"), producer.topics) == (acks, topics)


@pytest.mark.parametrize(
    ("made", "acks"),
    [("new \\RdKafka\\TopicConf()", "1"), ("new TopicConf()", "1"), ("new \\RdKafka\\Conf()", None)],
)
def test_settings_of_a_topic_of_php_are_its_producers(tmp_path, made, acks) -> None:
    text = (
        "<?php\n$conf = new \\RdKafka\\Conf();\n$conf->set('bootstrap.servers', 'k');\n"
        f"$p = new \\RdKafka\\Producer($conf);\n$other = {made};\n$other->set('request.required.acks', '1');\n"
    )
    assert values(only(read(tmp_path, {"a.php": text}))).get("request.required.acks") == acks


BUILDER = """package a;
class Settings {
  private final Properties p = new Properties();
  Settings forProducer(String s) { p.put("bootstrap.servers", s); return this; }
  Settings safe() { p.put("acks", "all"); return this; }
  Settings fast() { p.put("acks", "0"); return this; }
  Properties build() { return p; }
}
"""


@pytest.mark.parametrize(
    ("chain", "acks"),
    [
        (".forProducer(s).safe().build()", "all"),
        (".forProducer(s).fast().build()", "0"),
        (".forProducer(s).build()", None),
    ],
)
@pytest.mark.parametrize("makes", ["Properties p = {}; return new KafkaProducer<>(p);", "new KafkaProducer<>({});"])
def test_a_map_that_a_class_builds_has_what_is_called(tmp_path, chain, acks, makes) -> None:
    sender = (
        "package a;\nimport org.apache.kafka.clients.producer.KafkaProducer;\n"
        f"class Sender {{ Object make(String s) {{ {makes.format('new Settings()' + chain)} }} }}\n"
    )
    producer = only(read(tmp_path, {"pom.xml": "<project/>", "a/Settings.java": BUILDER, "a/Sender.java": sender}))
    assert values(producer).get("acks") == acks


def test_a_function_of_a_library_of_gos_is_not_the_programs(tmp_path) -> None:
    own = (
        'package broker\nimport "github.com/confluentinc/confluent-kafka-go/v2/kafka"\n'
        "func NewProducer(acks string) *kafka.Producer {\n"
        '\tp, _ := kafka.NewProducer(&kafka.ConfigMap{"acks": acks})\n\treturn p\n}\n'
    )
    main = 'package main\nimport "shop.io/x/broker"\nfunc main() {\n\tp := broker.NewProducer("1")\n}\n'
    files = {"go.mod": "module shop.io/x\n", "broker/producer.go": own, "main.go": main}
    assert values(only(read(tmp_path, files)))["acks"] == "1"


@pytest.mark.parametrize(
    ("folder", "count"),
    [
        ("src/main/java/a/adapters/out/kafka", 1),
        ("src/main/java/a/build", 1),
        ("internal/adapter/out", 1),
        ("internal/out", 0),
        ("build/generated/a", 0),
    ],
)
def test_a_package_may_have_the_name_of_what_a_build_makes(tmp_path, folder, count) -> None:
    makes = 'Map m = new HashMap(); m.put("acks", "1"); return new kafka.KafkaProducer(m);'
    text = f"package a;\nclass A {{ Object p() {{ {makes} }} }}\n"
    assert len(read(tmp_path, {f"{folder}/A.java": text}).producers) == count


def test_the_outgoing_side_has_an_incoming_one_beside_it(tmp_path) -> None:
    files = {"a/in/x.txt": "", "a/out/producer.properties": "bootstrap.servers=k:9092\nacks=0\n"}
    assert len(read(tmp_path, files).producers) == 1


def test_a_file_that_a_program_loads_has_the_topics_that_it_sends_to(tmp_path) -> None:
    sender = (
        "package a;\nimport org.apache.kafka.clients.producer.*;\nclass S { void s(Producer<String, String> p) "
        '{ p.send(new ProducerRecord<>("orders", "k", "v")); } }\n'
    )
    settings = "bootstrap.servers=k:9092\nacks=1\n"
    files = {"pom.xml": "<project/>", "conf/producer.properties": settings, "a/S.java": sender}
    assert only(read(tmp_path, files)).topics == ("orders",)
