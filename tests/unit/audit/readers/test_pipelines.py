"""Pipelines and runtimes that send to Kafka; each beside what only reads from it."""

from __future__ import annotations

import pytest

from tests.unit.audit.damage import CANARY, holds_up
from tests.unit.audit.reading import lines, only, read, values

FLUME = """a.sinks = k
a.sinks.k.type = org.apache.flume.sink.kafka.KafkaSink
a.sinks.k.kafka.bootstrap.servers = k:9092
a.sinks.k.kafka.topic = t
a.sources.r.type = org.apache.flume.source.kafka.KafkaSource
a.sources.r.kafka.bootstrap.servers = k:9092
"""


@pytest.mark.parametrize(("more", "acks"), [("", None), ("a.sinks.k.kafka.producer.acks = all\n", "all")])
def test_a_sink_of_flumes(tmp_path, more, acks) -> None:
    producer = only(read(tmp_path, {"conf/agent.conf": FLUME + more}))
    assert (producer.name, producer.topics, values(producer).get("acks")) == ("a.sinks.k", ("t",), acks)
    assert producer.presets["acks"].value == "1"


def test_a_channel_of_flumes_waits_for_all(tmp_path) -> None:
    content = "a.channels.c.type=org.apache.flume.channel.kafka.KafkaChannel\na.channels.c.kafka.topic=c\n"
    producer = only(read(tmp_path, {"agent.properties": content}))
    assert (producer.topics, producer.presets["acks"].value) == (("c",), "all")


def test_a_source_of_flumes_is_none(tmp_path) -> None:
    content = "".join(line for line in FLUME.splitlines(keepends=True) if "source" in line)
    assert read(tmp_path, {"agent.conf": content}).producers == ()


NIFI = """{"flowContents": {"processGroups": [{"processors": [
  {"name": "out", "type": "org.apache.nifi.%s",
   "properties": {"bootstrap.servers": "k:9092", "topic": "t", "Topic Name": "t",
     "acks": "1"}}
]}]}}"""


@pytest.mark.parametrize(
    ("kind", "count"),
    [("processors.kafka.pubsub.PublishKafkaRecord_2_6", 1), ("kafka.processors.PublishKafka", 1),
     ("processors.kafka.pubsub.ConsumeKafka_2_6", 0)],
)  # fmt: skip
def test_processors_of_nifis(tmp_path, kind, count) -> None:
    content = NIFI % kind
    found = read(tmp_path, {"flow.json": content if count else content.replace('"acks"', '"group.id"')}).producers
    assert [(each.name, each.topics, lines(each)["acks"]) for each in found] == [("out", ("t",), "flow.json:4")] * count


ALLOY = """otelcol.exporter.kafka "default" {
  brokers = ["k:9092"]
  topic   = "spans"
  producer {
    required_acks = %s // all of them
  }
}
otelcol.receiver.kafka "in" { brokers = ["k:9092"] }
"""


@pytest.mark.parametrize(("value", "acks"), [("-1", "all"), ("0", "0"), ('sys.env("ACKS")', None)])
def test_an_exporter_of_alloys(tmp_path, value, acks) -> None:
    producer = only(read(tmp_path, {"config.alloy": ALLOY % value}))
    setting = producer.settings["acks"]
    assert (producer.client, producer.topics, setting.value if setting.known else None) == ("sarama", ("spans",), acks)
    assert producer.presets["acks"].value == "1"


COLLECTD = """<Plugin write_kafka>
  Property "metadata.broker.list" "k:9092"
  <Topic "a">
    Property "request.required.acks" "0"
  </Topic>
  <Topic "b">
    Format JSON
  </Topic>
</Plugin>
"""


def test_topics_of_collectds(tmp_path) -> None:
    a, b = read(tmp_path, {"collectd.conf": COLLECTD}).producers
    assert (a.topics, values(a)["request.required.acks"], lines(a)["request.required.acks"]) == (
        ("a",),
        "0",
        "collectd.conf:4",
    )
    assert (b.topics, values(b)) == (("b",), {"metadata.broker.list": "k:9092"})


DAPR = """apiVersion: dapr.io/v1alpha1
kind: Component
metadata: {name: bus}
spec: {type: %s, metadata: [{name: brokers, value: "k:9092"}]}
"""


@pytest.mark.parametrize(("kind", "count"), [("pubsub.kafka", 1), ("bindings.kafka", 1), ("pubsub.redis", 0)])
def test_components_of_daprs(tmp_path, kind, count) -> None:
    found = read(tmp_path, {"bus.yaml": DAPR % kind}).producers
    assert [(each.client, each.presets["acks"].value) for each in found] == [("sarama", "all")] * count


SENSOR = """apiVersion: argoproj.io/v1alpha1
kind: Sensor
metadata: {name: s}
spec:
  triggers:
    - template: {name: out, kafka: {url: "k:9092", topic: t, requiredAcks: %s}}
    - template: {name: log, log: {}}
"""


@pytest.mark.parametrize(("written", "acks"), [("1", "1"), ("0", None), ("-1", None)])
def test_a_trigger_of_argo_events(tmp_path, written, acks) -> None:
    producer = only(read(tmp_path, {"sensor.yaml": SENSOR % written}))
    assert (producer.name, producer.topics, values(producer).get("acks")) == ("out", ("t",), acks)
    assert producer.presets["acks"].value == "all"


def test_an_event_source_is_none(tmp_path) -> None:
    content = "apiVersion: argoproj.io/v1alpha1\nkind: EventSource\nspec: {kafka: {a: {url: k, topic: t}}}\n"
    assert read(tmp_path, {"source.yaml": content}).producers == ()


SEATUNNEL = """env { job.mode = BATCH }
%s {
  Kafka {
    topic = "t"
    bootstrap.servers = "k:9092"
    kafka.config = { acks = "1" }
  }
}
"""


def test_a_sink_of_seatunnels(tmp_path) -> None:
    producer = only(read(tmp_path / "a", {"job.conf": SEATUNNEL % "sink"}))
    assert (producer.topics, values(producer)["acks"], lines(producer)["acks"]) == (("t",), "1", "job.conf:6")
    reads = (SEATUNNEL % "source").replace("acks", "group.id")
    assert read(tmp_path / "b", {"job.conf": reads}).producers == ()


def test_a_beat_that_is_switched_off_is_none(tmp_path) -> None:
    content = "output.kafka:\n  enabled: {}\n  hosts: ['k:9092']\n  topic: t\n"
    assert len(read(tmp_path / "a", {"filebeat.yml": content.format("true")}).producers) == 1
    assert read(tmp_path / "b", {"filebeat.yml": content.format("false")}).producers == ()


def test_damage_is_survived_and_a_secret_is_kept_nowhere(tmp_path) -> None:
    holds_up(tmp_path, "agent.conf", FLUME + f"a.sinks.k.kafka.producer.sasl.jaas.config = {CANARY}\n")
    holds_up(tmp_path, "config.alloy", ALLOY % "1" + f'// password = "{CANARY}"\n')
    holds_up(tmp_path, "collectd.conf", COLLECTD.replace("<Topic", f'Property "sasl.password" "{CANARY}"\n<Topic', 1))
    holds_up(tmp_path, "flow.json", (NIFI % "x.PublishKafka").replace('"acks"', f'"sasl.password": "{CANARY}", "acks"'))


ROUTE = """routes:
  - id: a
    plugins:
      {}:
        brokers: [{{host: k, port: 9092}}]
        kafka_topic: access
        required_acks: 1
"""


@pytest.mark.parametrize(("plugin", "count"), [("kafka-logger", 1), ("http-logger", 0)])
def test_a_plugin_of_apisix(tmp_path, plugin, count) -> None:
    producers = read(tmp_path, {"apisix.yaml": ROUTE.format(plugin)}).producers
    told = [(each.client, values(each)["acks"], each.topics) for each in producers]
    assert told == [("lua-resty-kafka", "1", ("access",))] * count


FLAGS = "--logger_plugin={}\n--logger_kafka_brokers=k:9092\n--logger_kafka_topic=osquery\n"


@pytest.mark.parametrize(
    ("plugin", "more", "acks"),
    [
        ("filesystem,kafka_producer", "--logger_kafka_acks=1\n", ["1"]),
        ("kafka_producer", "", ["all"]),
        ("filesystem", "--logger_kafka_acks=1\n", []),
    ],
)
def test_flags_of_osquerys(tmp_path, plugin, more, acks) -> None:
    producers = read(tmp_path, {"osquery.flags": FLAGS.format(plugin) + more}).producers
    assert [(each.settings.get("acks") or each.presets["acks"]).value for each in producers] == acks


MAP = """apiVersion: v1
kind: ConfigMap
metadata: {name: fluent-bit}
data:
  fluent-bit.conf: |
    [OUTPUT]
        Name kafka
        Brokers k:9092
        rdkafka.request.required.acks 1

  parsers.conf: |
    [PARSER]
        Name cri
"""


def test_a_file_of_another_syntax_inside_yaml_is_read_by_itself(tmp_path) -> None:
    assert values(only(read(tmp_path, {"configmap.yaml": MAP})))["request.required.acks"] == "1"
    assert read(tmp_path / "b", {"configmap.yaml": MAP.replace("Name kafka", "Name es")}).producers == ()
