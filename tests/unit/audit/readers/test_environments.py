"""Variables of containers whose program is in the tree."""

from __future__ import annotations

import pytest

from audit.model import Inputs
from tests.unit.audit.damage import CANARY
from tests.unit.audit.reading import only, read

PYTHON = """import os
from confluent_kafka import Producer
Producer({"bootstrap.servers": "k", "acks": os.getenv("KAFKA_ACKS", "1")})
"""


def compose(*services: tuple[str, str, str]) -> str:
    """A Compose file with services of (name, what it runs, its variables)."""
    return "services:\n" + "".join(
        f"  {name}:\n    {runs}\n    environment: {{{variables}}}\n" for name, runs, variables in services
    )


def acks(inputs: Inputs) -> str | None:
    """The acks of the only producer; None if it is unknown."""
    setting = only(inputs).settings["acks"]
    return setting.value if setting.known else None


@pytest.mark.parametrize(
    ("services", "expected"),
    [
        ([("a", "build: ./a", "KAFKA_ACKS: '0'")], "0"),
        ([("a", "build: ./a", "OTHER: '0'")], "1"),
        ([("a", "build: ./other", "OTHER: '0'")], "1"),
        ([("a", "build: ./a", "KAFKA_ACKS: '0'"), ("b", "build: ./a", "KAFKA_ACKS: all")], None),
        ([("a", "build: ./a", "KAFKA_ACKS: '0'"), ("b", "build: ./a", "OTHER: x")], "0"),
    ],
)
def test_a_services_variables_stand_for_what_its_source_asks_for(tmp_path, services, expected) -> None:
    assert acks(read(tmp_path, {"compose.yml": compose(*services), "a/send.py": PYTHON})) == expected


def test_what_is_told_with_env_stands_above(tmp_path) -> None:
    files = {"compose.yml": compose(("a", "build: ./a", "KAFKA_ACKS: '0'")), "a/send.py": PYTHON}
    assert acks(read(tmp_path, files, env={"KAFKA_ACKS": "all"})) == "all"


@pytest.mark.parametrize(
    ("runs", "source", "count"),
    [
        ("build: ./a", "retries = 3", 1),
        ("image: acme/a", "retries = env['kafka_producer_retries']", 1),
        ("image: acme/a", "retries = 3", 2),
        ("build: ./b", "retries = 3", 2),
    ],
)
def test_a_programs_own_variables_are_no_producer_beside_it(tmp_path, runs, source, count) -> None:
    files = {"compose.yml": compose(("a", runs, "KAFKA_PRODUCER_RETRIES: '5'")), "a/send.py": PYTHON + source + "\n"}
    assert len(read(tmp_path, files).producers) == count


BOOT = "spring.kafka.bootstrap-servers=k\nspring.kafka.producer.acks=1\n"
VARIABLE = "SPRING_KAFKA_PRODUCER_ACKS: '0'"


@pytest.mark.parametrize(
    ("services", "expected"),
    [
        ([("a", "build: ./a", VARIABLE)], "0"),
        ([("a", "build: ./a", VARIABLE), ("b", "build: ./a", VARIABLE.replace("0", "all"))], None),
    ],
)
def test_springs_variables_stand_above_the_file_of_what_is_built(tmp_path, services, expected) -> None:
    files = {"compose.yml": compose(*services), "a/src/main/resources/application.properties": BOOT}
    assert acks(read(tmp_path, files)) == expected


def test_those_of_an_image_are_a_producer_of_their_own(tmp_path) -> None:
    files = {"compose.yml": compose(("a", "image: acme/a", VARIABLE)), "a/application.properties": BOOT}
    assert len(read(tmp_path, files).producers) == 2


def test_a_placeholder_of_a_file_has_the_services_variable(tmp_path) -> None:
    content = BOOT.replace("acks=1", "acks=${APP_ACKS:1}")
    files = {"compose.yml": compose(("a", "build: ./a", "APP_ACKS: all, KAFKA_HOST: k"))}
    files["a/application.properties"] = content
    assert acks(read(tmp_path, files)) == "all"


def test_a_services_secret_is_kept_nowhere(tmp_path) -> None:
    content = BOOT + "spring.kafka.properties.sasl.password=${KAFKA_PW}\nspring.kafka.client-id=${DB_PASSWORD:x}\n"
    variables = f"KAFKA_PW: {CANARY}, DB_PASSWORD: {CANARY}, KAFKA_PRODUCER_SASL_PASSWORD: {CANARY}"
    files = {"compose.yml": compose(("a", "build: ./a", variables)), "a/application.properties": content}
    inputs = read(tmp_path, files)
    assert len(inputs.producers) == 1
    assert CANARY not in repr(inputs)


@pytest.mark.parametrize(("second", "expected"), [("'0'", "0"), ("all", None)])
def test_what_containers_of_images_say_stands_for_what_a_source_asks_for(tmp_path, second, expected) -> None:
    services = [("a", "image: x", "KAFKA_ACKS: '0'"), ("b", "image: y", f"KAFKA_ACKS: {second}")]
    assert acks(read(tmp_path, {"compose.yml": compose(*services), "src/send.py": PYTHON})) == expected


CHANNEL = "mp.messaging.outgoing.{0}.connector=smallrye-kafka\nmp.messaging.outgoing.{0}.acks=all\n"


@pytest.mark.parametrize(
    ("runs", "channel", "expected"),
    [
        ("build: ./a", "order-events", ["0"]),
        ("build: ./a", "other", ["0", "all"]),
        ("build: ./b", "order-events", ["0", "all"]),
        ("image: acme/a", "order-events", ["0", "all"]),
    ],
)
def test_a_channels_variables_stand_above_its_file(tmp_path, runs, channel, expected) -> None:
    files = {"compose.yml": compose(("a", runs, "MP_MESSAGING_OUTGOING_ORDER_EVENTS_ACKS: '0'"))}
    files |= {"a/pom.xml": "<project/>", "a/src/main/resources/application.properties": CHANNEL.format(channel)}
    found = read(tmp_path, files).producers
    assert sorted(each.settings["acks"].value for each in found) == expected


WORKLOAD = """apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  template:
    spec:
      containers:
        - {name: c, image: IMAGE, env: [{name: SPRING_KAFKA_PRODUCER_ACKS, value: '0'}]}
"""


@pytest.mark.parametrize(
    ("name", "image", "told"),
    [
        ("orders", "acme/x", ["0"]),
        ("x", "registry:5000/acme/orders:1.2", ["0"]),
        ("shop", "acme/x", ["0"]),
        ("x", "acme/x", ["1", "0"]),
    ],
)
def test_a_workload_has_the_name_of_the_program_that_it_runs(tmp_path, name, image, told) -> None:
    files = {
        "orders/pom.xml": "<project/>",
        "orders/src/main/resources/application.properties": f"spring.application.name=shop\n{BOOT}",
        "k8s/a.yaml": WORKLOAD.replace("NAME", name).replace("IMAGE", image),
    }
    assert [each.settings["acks"].value for each in read(tmp_path, files).producers] == told


def test_a_name_that_two_programs_have_tells_neither(tmp_path) -> None:
    files = {f"{each}/orders/pom.xml": "<project/>" for each in "ab"}
    files |= {f"{each}/orders/src/main/resources/application.properties": BOOT for each in "ab"}
    files["k8s/a.yaml"] = WORKLOAD.replace("NAME", "orders").replace("IMAGE", "acme/x")
    assert [each.settings["acks"].value for each in read(tmp_path, files).producers] == ["1", "1", "0"]


@pytest.mark.parametrize(
    ("at", "more", "told"),
    [
        ("orders/k8s/a.yaml", {}, ["0"]),
        ("k8s/a.yaml", {}, ["1", "0"]),
        ("orders/k8s/a.yaml", {"orders/send.py": PYTHON}, ["1", "0", "1"]),
    ],
)
def test_the_only_workload_of_the_only_application(tmp_path, at, more, told) -> None:
    files = {
        "orders/pom.xml": "<project/>",
        "orders/src/main/resources/application.properties": BOOT,
        at: WORKLOAD.replace("NAME", "x").replace("IMAGE", "acme/y"),
    }
    found = read(tmp_path, files | more).producers
    assert sorted(each.settings["acks"].value for each in found) == sorted(told)
