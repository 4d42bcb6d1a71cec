"""Where programs are started beside Compose and Kubernetes: systemd, Nomad, Dockerfiles."""

from __future__ import annotations

import pytest

from tests.unit.audit.damage import CANARY, holds_up
from tests.unit.audit.reading import lines, only, read, values

UNIT = """[Service]
Environment="SPRING_KAFKA_BOOTSTRAP_SERVERS=k:9092" LANG=C
#Environment=SPRING_KAFKA_PRODUCER_ACKS=all
ExecStart=/usr/bin/java -jar a.jar \\
  --spring.kafka.producer.acks=%s
"""


@pytest.mark.parametrize("acks", ["0", "all"])
def test_a_unit_of_systemd(tmp_path, acks) -> None:
    producer = only(read(tmp_path, {"deploy/gate.service": UNIT % acks}))
    assert (producer.name, producer.framework) == ("gate", "spring")
    assert values(producer) == {"bootstrap.servers": "k:9092", "acks": acks}


def test_a_unit_that_starts_a_broker_is_none(tmp_path) -> None:
    content = (
        "[Service]\nEnvironment=KAFKA_HEAP_OPTS=-Xmx1g\nExecStart=/opt/kafka/bin/kafka-server-start.sh a.properties\n"
    )
    assert read(tmp_path, {"kafka.service": content}).producers == ()


JOB = """job "shop" {
  group "g" {
    task "app" {
      driver = "docker"
      config { image = "shop:1" }
      env {
        SPRING_KAFKA_BOOTSTRAP_SERVERS = "k:9092"
        SPRING_KAFKA_PRODUCER_ACKS     = %s
      }
    }
    task "web" { driver = "docker" }
  }
}
"""


@pytest.mark.parametrize(("value", "known"), [('"1"', True), ("1", True), ("var.acks", False), ('"${ACKS}"', False)])
def test_a_task_of_nomads(tmp_path, value, known) -> None:
    producer = only(read(tmp_path, {"jobs/shop.nomad.hcl": JOB % value}))
    assert producer.name == "app"
    assert producer.settings["acks"].known is known
    assert lines(producer)["acks"] == "shop.nomad.hcl:8"


def test_a_template_of_nomads_may_be_a_file_of_variables(tmp_path) -> None:
    content = """job "shop" {
  task "app" {
    template {
      destination = "local/env"
      env         = true
      data = <<EOF
SPRING_KAFKA_PRODUCER_ACKS=1
SPRING_KAFKA_BOOTSTRAP_SERVERS={{ key "kafka" }}
EOF
    }
  }
}
"""
    producer = only(read(tmp_path, {"shop.nomad": content}))
    assert (producer.settings["acks"].value, producer.settings["bootstrap.servers"].known) == ("1", False)
    assert read(tmp_path / "b", {"shop.nomad": content.replace("true", "false")}).producers == ()


def test_other_files_of_hcl_are_passed_over(tmp_path) -> None:
    content = 'locals {\n  kafka = true\n}\nenv {\n  SPRING_KAFKA_PRODUCER_ACKS = "1"\n}\n'
    assert read(tmp_path, {"terragrunt.hcl": content}).producers == ()


BOOT = "spring.kafka:\n  bootstrap-servers: k:9092\n  producer: {acks: all}\n"
DOCKERFILE = """FROM eclipse-temurin:21 AS build
ENV SPRING_KAFKA_PRODUCER_ACKS=1
FROM eclipse-temurin:21-jre
ENV LANG=C \\
    SPRING_KAFKA_PRODUCER_ACKS=0
ENTRYPOINT ["java", "-jar", "a.jar"]
"""


def test_what_an_image_sets_stands_above_the_file_of_its_program(tmp_path) -> None:
    producer = only(read(tmp_path, {"src/main/resources/application.yml": BOOT, "Dockerfile": DOCKERFILE}))
    assert values(producer)["acks"] == "0"
    assert lines(producer)["acks"] == "Dockerfile:5"


def test_arguments_of_an_entrypoint_count_too(tmp_path) -> None:
    content = 'FROM a\nENTRYPOINT ["java", "-Dspring.kafka.producer.acks=1", "-jar", "a.jar"]\n'
    assert values(only(read(tmp_path, {"application.yml": BOOT, "Dockerfile": content})))["acks"] == "1"


def test_a_service_of_compose_says_it_above_its_image(tmp_path) -> None:
    compose = "services:\n  app:\n    build: .\n    environment: {SPRING_KAFKA_PRODUCER_ACKS: 1}\n"
    files = {"application.yml": BOOT, "Dockerfile": DOCKERFILE, "compose.yaml": compose}
    assert values(only(read(tmp_path, files)))["acks"] == "1"
    files["compose.yaml"] = "services:\n  app:\n    build: .\n"
    assert values(only(read(tmp_path / "b", files)))["acks"] == "0"


@pytest.mark.parametrize("variable", ["KAFKA_ACKS=0", "SPRING_KAFKA_CONSUMER_GROUP_ID=g", "KAFKA_BROKER_ID=1"])
def test_what_an_image_says_to_other_programs_makes_no_producer(tmp_path, variable) -> None:
    assert read(tmp_path, {"Dockerfile": f"FROM a\nENV {variable}\n"}).producers == ()


@pytest.mark.parametrize(
    ("file", "content"), [("a.service", UNIT % "1"), ("a.nomad", JOB % '"1"'), ("Dockerfile", DOCKERFILE)]
)
def test_damaged_files_are_told_or_passed_over(tmp_path, file, content) -> None:
    holds_up(tmp_path, file, content + f"# password={CANARY}\n")
