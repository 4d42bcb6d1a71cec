"""Agents whose configuration is a resource of an operator, or a file inside the values of a chart."""

from __future__ import annotations

import pytest

from tests.unit.audit.damage import CANARY, holds_up
from tests.unit.audit.reading import lines, only, read, values

FLUENT = """apiVersion: fluentbit.fluent.io/v1alpha2
kind: {}
metadata: {{name: out}}
spec:
  match: "*"
  kafka:
    brokers: k:9092
    topics: logs
    rdkafka: {{request.required.acks: "1"}}
"""
BANZAI = """apiVersion: logging.banzaicloud.io/v1beta1
kind: Output
metadata: {name: out}
spec:
  kafka:
    brokers: k:9092
    default_topic: logs
    use_rdkafka: %s
    rdkafka_options: {enable.idempotence: true}
    required_acks: 1
"""


@pytest.mark.parametrize(("kind", "count"), [("ClusterOutput", 1), ("Output", 1), ("ClusterFilter", 0)])
def test_outputs_of_the_fluent_operators_fluent_bit(tmp_path, kind, count) -> None:
    found = read(tmp_path, {"out.yaml": FLUENT.format(kind)}).producers
    assert [(each.client, values(each)["request.required.acks"], each.topics) for each in found] == [
        ("librdkafka", "1", ("logs",))
    ] * count


def test_outputs_of_its_fluentd(tmp_path) -> None:
    content = """apiVersion: fluentd.fluent.io/v1alpha1
kind: ClusterOutput
metadata: {name: out}
spec:
  outputs:
    - kafka: {brokers: "k:9092", defaultTopic: logs, requiredAcks: 0}
    - stdout: {}
"""
    producer = only(read(tmp_path, {"out.yaml": content}))
    assert (producer.client, values(producer)["acks"], producer.topics) == ("ruby-kafka", "0", ("logs",))


@pytest.mark.parametrize(("native", "client"), [("true", "librdkafka"), ("false", "ruby-kafka")])
def test_outputs_of_the_logging_operator(tmp_path, native, client) -> None:
    producer = only(read(tmp_path, {"out.yaml": BANZAI % native}))
    assert (producer.client, values(producer)["acks"]) == (client, "1")
    assert ("enable.idempotence" in producer.settings) is (native == "true")


def test_another_output_of_an_operator_is_none(tmp_path) -> None:
    content = BANZAI.replace("  kafka:", "  forward: # to kafka") % "true"
    assert read(tmp_path, {"out.yaml": content}).producers == ()


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("Beat", "config: {output.kafka: {hosts: ['k:9092'], topic: t, required_acks: 1}}"),
        ("Agent", "config: {outputs: {default: {type: kafka, hosts: ['k:9092'], topic: t, required_acks: 1}}}"),
        (
            "Logstash",
            "pipelines:\n    - pipeline.id: main\n      config.string: |\n"
            '        output { kafka { bootstrap_servers => "k:9092" topic_id => "t" acks => "1" } }',
        ),
    ],
)
def test_elastics_operator(tmp_path, kind, config) -> None:
    content = f"apiVersion: x.k8s.elastic.co/v1\nkind: {kind}\nmetadata: {{name: b}}\nspec:\n  {config}\n"
    producer = only(read(tmp_path, {"b.yaml": content}))
    assert (values(producer)["acks"], producer.topics) == ("1", ("t",))


BENTHOS = "  - label: audit\n    kafka_franz: {{seed_brokers: ['k:9092'], topic: {}}}\n"


def test_outputs_of_benthos_that_are_resources(tmp_path) -> None:
    content = "output_resources:\n" + BENTHOS.format("a") + "input_resources:\n" + BENTHOS.format("b")
    producer = only(read(tmp_path, {"outputs.yaml": content}))
    assert (producer.client, producer.topics) == ("franz-go", ("a",))


FILEBEAT = """daemonset:
  filebeatConfig:
    filebeat.yml: |
      filebeat.inputs: []
      output.kafka:
        hosts: ["k:9092"]
        topic: pods
        required_acks: -1
"""


def test_a_file_inside_the_values_of_a_chart(tmp_path) -> None:
    producer = only(read(tmp_path, {"values/filebeat.yaml": FILEBEAT}))
    assert (producer.client, producer.topics, values(producer)["acks"]) == ("sarama", ("pods",), "all")
    assert lines(producer)["acks"] == "filebeat.yaml:8"


def test_a_text_below_another_name_is_no_file(tmp_path) -> None:
    content = FILEBEAT.replace("filebeat.yml", "example")
    assert read(tmp_path, {"values.yaml": content}).producers == ()


def indented(text: str, by: int) -> str:
    return "".join(" " * by + line for line in text.splitlines(keepends=True))


@pytest.mark.parametrize(
    "content",
    [
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nspec:\n  values:\n" + indented(FILEBEAT, 4),
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  source:\n    helm:\n      valuesObject:\n"
        + indented(FILEBEAT, 8),
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  sources:\n    - helm:\n        values: |\n"
        + indented(FILEBEAT, 10),
        "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nspec:\n  valuesContent: |\n" + indented(FILEBEAT, 4),
    ],
)
def test_values_of_a_release_that_is_a_resource(tmp_path, content) -> None:
    producer = only(read(tmp_path, {"release.yaml": content}))
    assert producer.topics == ("pods",)
    line = lines(producer)["acks"].rpartition(":")[2]
    assert "required_acks" in content.splitlines()[int(line) - 1]


def test_damage_is_survived_and_a_secret_is_kept_nowhere(tmp_path) -> None:
    holds_up(tmp_path, "filebeat.yaml", FILEBEAT + f'        password: "{CANARY}"\n')
    holds_up(tmp_path, "out.yaml", FLUENT.format("Output") + f"    sasl.password: {CANARY}\n")


def test_a_topic_of_a_template_is_no_name(tmp_path) -> None:
    content = FLUENT.format("Output").replace("topics: logs", 'topics: "{{ .topics | quote }}"')
    assert only(read(tmp_path, {"out.yaml": content})).topics == ()


CONFLUENTS = """apiVersion: platform.confluent.io/v1beta1
kind: Kafka
metadata: {name: kafka, namespace: confluent}
spec:
  replicas: 3
  image: {application: "confluentinc/cp-server:7.6.0"}
  configOverrides: {server: [min.insync.replicas=2, default.replication.factor=3]}
"""


def test_the_brokers_of_confluents_operator(tmp_path) -> None:
    (brokers,) = read(tmp_path, {"platform.yaml": CONFLUENTS}).brokers
    assert (brokers.name, brokers.release, brokers.replicas) == ("kafka", "3.6", 3)
    assert brokers.settings["min.insync.replicas"].value == "2"


def test_toml_in_a_config_map_is_read_as_what_it_is(tmp_path) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v}\ndata:\n  vector.toml: |\n    [sinks.k]\n"
    text += '    type = "kafka"\n    bootstrap_servers = "k:9092"\n    topic = "logs"\n'
    assert [each.topics for each in read(tmp_path, {"v.yaml": text}).producers] == [("logs",)]
