"""Containers and functions of clouds, and arguments of containers."""

from __future__ import annotations

import json

import pytest

from tests.unit.audit.damage import CANARY, holds_up
from tests.unit.audit.reading import lines, only, read, told, values

TASK = {
    "family": "app",
    "containerDefinitions": [
        {
            "name": "app",
            "image": "app:1",
            "environment": [
                {"name": "SPRING_KAFKA_BOOTSTRAP_SERVERS", "value": "k:9092"},
                {"name": "SPRING_KAFKA_PRODUCER_ACKS", "value": "1"},
            ],
        },
        {"name": "agent", "image": "agent", "environment": [{"name": "KAFKA_GROUP_ID", "value": "g"}]},
    ],
}


@pytest.mark.parametrize(("name", "content"), [("task.json", TASK), ("deploy/t.json", {"taskDefinition": TASK})])
def test_a_task_of_ecs(tmp_path, name, content) -> None:
    producer = only(read(tmp_path, {name: json.dumps(content, indent=1)}))
    assert (producer.name, values(producer)) == ("app", {"bootstrap.servers": "k:9092", "acks": "1"})
    line = int(lines(producer)["acks"].rpartition(":")[2])
    assert '"1"' in json.dumps(content, indent=1).splitlines()[line - 1]


def test_a_secret_of_a_task_is_unknown(tmp_path) -> None:
    container = {"name": "app", "secrets": [{"name": "SPRING_KAFKA_PRODUCER_ACKS", "valueFrom": "arn:x"}]}
    producer = only(read(tmp_path, {"task.json": json.dumps({"containerDefinitions": [container]})}))
    assert not producer.settings["acks"].known


STACK = """Resources:
  Task:
    Type: AWS::ECS::TaskDefinition
    Properties:
      ContainerDefinitions:
        - Name: app
          Environment: [{{Name: SPRING_KAFKA_PRODUCER_ACKS, Value: {0}}}]
  Sends:
    Type: AWS::Serverless::Function
    Properties: {{Environment: {{Variables: {{KAFKA_PRODUCER_ACKS: {0}}}}}}}
  Cdc:
    Type: AWS::KafkaConnect::Connector
    Properties:
      ConnectorName: cdc
      KafkaConnectVersion: "2.7.1"
      ConnectorConfiguration:
        connector.class: io.debezium.connector.mysql.MySqlConnector
        producer.override.acks: {0}
  Queue: {{Type: AWS::SQS::Queue, Properties: {{KafkaAcks: 1}}}}
"""


def test_a_stack_of_cloudformations(tmp_path) -> None:
    found = read(tmp_path, {"stack.yaml": STACK.format('"1"')}).producers
    assert [(each.name, values(each)["acks"], each.release) for each in found] == [
        ("app", "1", None),
        ("Sends", "1", None),
        ("cdc", "1", "2.7.1"),
    ]


def test_what_a_stack_refers_to_is_unknown(tmp_path) -> None:
    found = read(tmp_path, {"stack.yaml": STACK.format('!Sub "${Acks:1}"')}).producers
    assert [each.settings["acks"].known for each in found] == [False] * 3


MANIFEST = """applications:
  - name: app
    path: {}
    env: {{SPRING_KAFKA_PRODUCER_ACKS: "1", LEVEL: all}}
"""
BOOT = "spring.kafka.bootstrap-servers=k:9092\nspring.kafka.producer.retries=3\nspring.kafka.producer.acks={}\n"


@pytest.mark.parametrize("path", ["target/app.jar", "app/build/libs/app.jar", "app"])
def test_a_manifest_of_cloud_foundry_stands_above_its_application(tmp_path, path) -> None:
    top = "app/" if path.startswith("app") else ""
    files = {"manifest.yml": MANIFEST.format(path), f"{top}pom.xml": "<project/>"}
    files[f"{top}src/main/resources/application.properties"] = BOOT.format("all")
    producer = only(read(tmp_path, files))
    assert (values(producer)["acks"], values(producer)["retries"]) == ("1", "3")


def test_another_manifest_is_none(tmp_path) -> None:
    content = "applications:\n  - {name: app, routes: [{route: kafka.example.com}]}\n"
    assert read(tmp_path, {"manifest.yml": content, "other.yml": MANIFEST.format(".")}).producers == ()


POD = """apiVersion: v1
kind: Pod
metadata: {{name: app}}
spec: {{containers: [{{name: app, image: x, {}}}]}}
"""


@pytest.mark.parametrize(
    "part",
    [
        'args: ["--spring.kafka.bootstrap-servers=k:9092", "--spring.kafka.producer.acks=1"]',
        "command: [sh, -c, \"java -Dspring.kafka.producer.acks='1' -Dspring.kafka.bootstrap-servers=k:9092 -jar a\"]",
        'env: [{name: JAVA_OPTS, value: "-Dspring.kafka.bootstrap-servers=k:9092 -Dspring.kafka.producer.acks=1"}]',
    ],
)
def test_arguments_of_a_container(tmp_path, part) -> None:
    assert values(only(read(tmp_path, {"pod.yaml": POD.format(part)})))["acks"] == "1"


def test_arguments_of_a_service_of_composes(tmp_path) -> None:
    content = 'services:\n  a: {image: x, command: "java -jar a.jar --spring.kafka.producer.acks=${ACKS:-0}"}\n'
    assert values(only(read(tmp_path, {"compose.yml": content})))["acks"] == "0"


def test_other_arguments_are_none(tmp_path) -> None:
    part = 'args: ["--kafka.server=k:9092", "--spring.main.banner-mode=off", "x--spring.kafka.producer.acks=1"]'
    assert read(tmp_path, {"pod.yaml": POD.format(part)}).producers == ()


CONTAINER = """resource "aws_ecs_task_definition" "app" {{
  container_definitions = jsonencode([{{
    image = "app:1"
    environment = [
      {{ name = "SPRING_KAFKA_PRODUCER_ACKS", value = {} }},
      {{ "name" : "OTHER", "value" : "x" }}
    ]
  }}])
}}
"""


@pytest.mark.parametrize(("value", "acks"), [('"1"', "1"), ("var.acks", None), ('"${var.acks}"', None)])
def test_containers_in_terraform(tmp_path, value, acks) -> None:
    setting = only(read(tmp_path, {"ecs.tf": CONTAINER.format(value)})).settings["acks"]
    assert (setting.value if setting.known else None) == acks


def test_blocks_of_variables_in_terraform(tmp_path) -> None:
    content = 'resource "kubernetes_deployment" "app" {\n  env {\n    name  = "KAFKA_PRODUCER_ACKS"\n    value = "0"\n'
    content += "  }\n}\n"
    producer = only(read(tmp_path, {"k8s.tf": content}))
    assert (values(producer)["acks"], lines(producer)["acks"]) == ("0", "k8s.tf:4")


def test_damage_is_survived_and_a_secret_is_kept_nowhere(tmp_path) -> None:
    task = json.dumps(TASK).replace(
        '"k:9092"}', f'"k:9092"}}, {{"name": "KAFKA_PRODUCER_SASL_PASSWORD", "value": "{CANARY}"}}'
    )
    holds_up(tmp_path, "task.json", task)
    vault = f"spring.kafka.producer:\n  acks: 1\n  ssl.key-password: !vault {CANARY}\n"
    assert not told(read(tmp_path / "a", {"application.yml": vault}), "unreadable")
    holds_up(tmp_path, "application.yml", vault)
