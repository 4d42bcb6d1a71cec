"""A producer that several files of a repository tell of is told once, and two producers are two."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from audit.readers.once import NOTE
from tests.unit.audit.reading import only, read, values

COMPOSE = "services:\n  {}:\n    image: acme/orders\n    environment: {{SPRING_KAFKA_PRODUCER_ACKS: '{}'{}}}\n"
WORKLOAD = """apiVersion: apps/v1
kind: Deployment
metadata: {{name: {}}}
spec: {{template: {{spec: {{containers: [
  {{name: a, image: acme/orders, env: [{{name: SPRING_KAFKA_PRODUCER_ACKS, value: "{}"}}]}}]}}}}}}
"""
SERVERS = ", SPRING_KAFKA_BOOTSTRAP_SERVERS: 'k:9092'"


def told(folder: object, files: Mapping[str, str]) -> list[tuple[str, str]]:
    """The file and the acks of each producer."""
    found = read(folder, files).producers  # type: ignore[arg-type]
    return sorted((each.origin.path.removeprefix(f"{folder}/"), values(each).get("acks", "")) for each in found)


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({"docker-compose.prod.yml": COMPOSE.format("orders", 1, SERVERS)}, 1),
        ({"docker-compose.prod.yml": COMPOSE.format("orders", "all", "")}, 2),
        ({"docker-compose.prod.yml": COMPOSE.format("bills", 1, "")}, 2),
        ({"other/docker-compose.yml": COMPOSE.format("orders", 1, "")}, 2),
        ({"k8s/orders.yaml": WORKLOAD.format("orders", 1)}, 1),
        ({"k8s/orders.yaml": WORKLOAD.format("orders", "all")}, 2),
        ({"k8s/orders.yaml": WORKLOAD.format("bills", 1)}, 2),
    ],
)
def test_a_service_of_several_files_is_one_if_they_say_the_same(tmp_path, files, count) -> None:
    files = {"docker-compose.yml": COMPOSE.format("orders", 1, ""), **files}
    assert len(read(tmp_path, files).producers) == count


@pytest.mark.parametrize(("acks", "known"), [("1", True), ("all", False)])
def test_an_override_is_put_above_the_file_beside_it(tmp_path, acks, known) -> None:
    files = {"compose.yml": COMPOSE.format("a", 1, ""), "compose.override.yml": COMPOSE.format("a", acks, SERVERS)}
    producer = only(read(tmp_path, files))
    assert producer.origin.path.endswith("/compose.yml")
    assert values(producer)["bootstrap.servers"] == "k:9092"
    assert (producer.settings["acks"].known, producer.settings["acks"].note == NOTE) == (known, not known)


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({"Dockerfile.prod": "FROM a\nENV SPRING_KAFKA_PRODUCER_ACKS=1\n"}, 1),
        ({"Dockerfile.prod": "FROM a\nENV SPRING_KAFKA_PRODUCER_ACKS=all\n"}, 2),
        ({"b/Dockerfile": "FROM a\nENV SPRING_KAFKA_PRODUCER_ACKS=1\n"}, 2),
    ],
)
def test_images_of_a_directory(tmp_path, files, count) -> None:
    files = {"Dockerfile": "FROM a\nENV SPRING_KAFKA_PRODUCER_ACKS=1\n", **files}
    assert len(read(tmp_path, files).producers) == count


CONNECTOR = '{{"name": "{}", "config": {{"connector.class": "a.MySource", "producer.override.acks": "{}"}}}}'
REGISTERS = "#!/bin/sh\ncurl -X POST -H 'Content-Type: application/json' http://c:8083/connectors -d '{}'\n"


@pytest.mark.parametrize(
    ("path", "name", "acks", "files"),
    [
        ("bin/register.sh", "a", 1, ["connectors/a.json"]),
        ("connectors/register.sh", "a", 1, ["connectors/a.json"]),
        ("register.sh", "a", 1, ["connectors/a.json"]),
        ("bin/register.sh", "b", 1, ["bin/register.sh", "connectors/a.json"]),
        ("bin/register.sh", "a", "all", ["bin/register.sh", "connectors/a.json"]),
        ("other/bin/register.sh", "a", 1, ["connectors/a.json", "other/bin/register.sh"]),
        ("others/a.json", "a", 1, ["connectors/a.json", "others/a.json"]),
    ],
)
def test_a_connector_that_a_script_registers(tmp_path, path, name, acks, files) -> None:
    text = CONNECTOR.format(name, acks)
    more = {path: text if path.endswith(".json") else REGISTERS.format(text)}
    found = told(tmp_path, {"connectors/a.json": CONNECTOR.format("a", 1), **more})
    assert [file for file, _ in found] == files


INSIDE = "src/main/resources/application.yml"
ACKS = "spring.kafka.producer.acks: {}\n"
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}}}\ndata:\n  application.yml: |\n    " + ACKS


@pytest.mark.parametrize(
    ("files", "places"),
    [
        ({"k8s/map.yaml": MAP.format("orders", 1)}, [(INSIDE, "1")]),
        ({"config/application.yml": ACKS.format(1)}, [(INSIDE, "1")]),
        ({"k8s/map.yaml": MAP.format("orders", "all")}, [(INSIDE, "all")]),
        ({"a/map.yaml": MAP.format("orders", 1), "b/map.yaml": MAP.format("orders", 1)}, [(INSIDE, "1")]),
        ({"a/map.yaml": MAP.format("orders", 1), "b/map.yaml": MAP.format("bills", 1)},
         [("a/map.yaml", "1"), ("b/map.yaml", "1"), (INSIDE, "all")]),
        ({"a/map.yaml": MAP.format("orders", 1), "b/map.yaml": MAP.format("orders", 0)},
         [("a/map.yaml", "1"), ("b/map.yaml", "0"), (INSIDE, "all")]),
        ({"k8s/map.yaml": MAP.format("orders", 1), INSIDE.replace(".yml", "-prod.yml"): ACKS.format(0)},
         [("k8s/map.yaml", "1"), (INSIDE.replace(".yml", "-prod.yml"), "0"), (INSIDE, "all")]),
    ],
)  # fmt: skip
def test_a_file_that_is_put_above_an_applications(tmp_path, files, places) -> None:
    files = {"pom.xml": "<project/>", INSIDE: ACKS.format("all"), **files}
    assert told(tmp_path, files) == places


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("orders-config", [("bills", "all"), ("orders", "1")]),
        ("others", [("bills", "all"), ("map.yaml", "1"), ("orders", "all")]),
    ],
)
def test_a_map_of_one_of_several_applications(tmp_path, name, places) -> None:
    files = {f"{each}/{INSIDE}": ACKS.format("all") for each in ("orders", "bills")}
    files |= {f"{each}/pom.xml": "<project/>" for each in ("orders", "bills")}
    found = told(tmp_path, {**files, "k8s/map.yaml": MAP.format(name, 1)})
    assert [(path.removeprefix("k8s/").partition("/")[0], acks) for path, acks in found] == places


HEALTH = """package a
import "github.com/confluentinc/confluent-kafka-go/v2/kafka"
func check() error {{
	p, err := kafka.NewProducer(&kafka.ConfigMap{{"bootstrap.servers": "k"}})
	{}
	{}
	return err
}}
"""


@pytest.mark.parametrize(
    ("closes", "does", "count"),
    [
        ("defer p.Close()", "_, err = p.GetMetadata(nil, true, 1000)", 0),
        ("defer p.Close()", "p.GetMetadata(nil, true, 1000); err = p.Produce(m, nil)", 1),
        ("keep(p)", "_, err = p.GetMetadata(nil, true, 1000)", 1),
        ("defer p.Close()", "send(p)", 1),
        ("defer p.Close()", "p.GetMetadata(nil, true, 1000); send(t, p)", 1),
    ],
)
def test_a_producer_of_go_that_only_asks_for_metadata(tmp_path, closes, does, count) -> None:
    files = {"go.mod": "module a\n", "health.go": HEALTH.format(closes, does)}
    assert len(read(tmp_path, files).producers) == count


@pytest.mark.parametrize(
    ("files", "places"),
    [
        ({"group_vars/all.yml": "kafka: {producer: {acks: '1'}}\n"}, ["t/producer.properties.j2"]),
        ({"roles/a/defaults/main.yml": "kafka: {producer: {acks: '1'}}\n"}, ["t/producer.properties.j2"]),
        ({"config/all.yml": "kafka: {producer: {acks: '1'}}\n"}, ["config/all.yml", "t/producer.properties.j2"]),
    ],
)
def test_variables_that_a_template_is_filled_with(tmp_path, files, places) -> None:
    template = {"t/producer.properties.j2": "bootstrap.servers={{ k }}\nacks=all\n"}
    assert [path for path, _ in told(tmp_path, {**template, **files})] == places
    if "config/all.yml" not in files:
        assert [path for path, _ in told(tmp_path / "b", files)] == list(files)


CHANNEL = "mp.messaging.outgoing.{0}.connector=smallrye-kafka\n    mp.messaging.outgoing.{0}.acks={1}\n"
OF_QUARKUS = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  application.properties: |\n    " + CHANNEL
)


@pytest.mark.parametrize(
    ("given", "acks"),
    [(("orders", 0), ["0", "all"]), (("bills", 1), ["1", "all"]), (("others", 1), ["1", "all", "all"])],
)
def test_a_channel_of_a_file_that_is_put_above_another(tmp_path, given, acks) -> None:
    inside = CHANNEL.format("orders", "all").replace("  ", "") + CHANNEL.format("bills", "all").replace("  ", "")
    files = {"pom.xml": "<project/>", "src/main/resources/application.properties": inside}
    found = told(tmp_path, {**files, "k8s/map.yaml": OF_QUARKUS.format(*given)})
    assert sorted(one for _, one in found) == acks
