"""Connectors in Terraform, with the configuration of their workers."""

from __future__ import annotations

import pytest

from tests.unit.audit.damage import CANARY, holds_up
from tests.unit.audit.reading import lines, only, read, values

CONNECTOR = """resource "aws_mskconnect_connector" "cdc" {{
  name                 = "cdc"
  kafkaconnect_version = "2.7.1"
  connector_configuration = {{
    "connector.class" = "{}"
    "topics"          = "a"
    {}
  }}
  worker_configuration {{
    arn = aws_mskconnect_worker_configuration.{}.arn
  }}
}}
"""
WORKER = """resource "aws_mskconnect_worker_configuration" "main" {
  name = "main"
  properties_file_content = <<-EOT
    key.converter=S # isn't one of a producer's {
    producer.acks=0
    producer.linger.ms=${var.linger}
  EOT
}
"""
SOURCE = "io.debezium.connector.mysql.MySqlConnector"


def test_a_connector_of_msk_connect(tmp_path) -> None:
    producer = only(read(tmp_path, {"main.tf": CONNECTOR.format(SOURCE, '"producer.override.acks" = "1"', "other")}))
    assert (producer.name, producer.framework, producer.release) == ("cdc", "connect", "2.7.1")
    assert (values(producer), lines(producer)["acks"]) == ({"acks": "1"}, "main.tf:7")


@pytest.mark.parametrize("name", ["main.tf", "workers.tf"])
def test_its_workers_give_what_it_does_not_override(tmp_path, name) -> None:
    files = {"main.tf": CONNECTOR.format(SOURCE, "", "main")}
    files[name] = files.get(name, "") + WORKER
    producer = only(read(tmp_path, files))
    assert (values(producer)["acks"], producer.settings["linger.ms"].known) == ("0", False)
    own = CONNECTOR.format(SOURCE, '"producer.override.acks" = "all"', "main")
    assert (
        values(only(read(tmp_path, files | {"main.tf": own + (WORKER if name == "main.tf" else "")})))["acks"] == "all"
    )


@pytest.mark.parametrize("value", ["var.acks", '"${var.acks}"', 'tostring(local.a["acks"])'])
def test_an_expression_is_unknown(tmp_path, value) -> None:
    content = CONNECTOR.format(SOURCE, f'"producer.override.acks" = {value}', "other")
    assert not only(read(tmp_path, {"main.tf": content})).settings["acks"].known


@pytest.mark.parametrize(
    "block",
    [
        'resource "kafka-connect_connector" "x" {{\n  name = "x"\n  config = {{\n    {0}\n  }}\n}}\n',
        'resource "confluent_connector" "x" {{\n  config_nonsensitive = {{\n    {0}\n  }}\n}}\n',
    ],
)
def test_connectors_of_other_providers(tmp_path, block) -> None:
    entries = f'"connector.class" = "{SOURCE}"\n    "producer.override.acks" : 1,'
    producer = only(read(tmp_path, {"main.tf": block.format(entries)}))
    assert (producer.name, values(producer)) == ("x", {"acks": "1"})


def test_a_sink_and_other_resources_are_none(tmp_path) -> None:
    sink = CONNECTOR.format("io.confluent.connect.s3.S3SinkConnector", "", "main")
    assert read(tmp_path, {"main.tf": sink + WORKER}).producers == ()


def test_damage_is_survived_and_a_secret_is_kept_nowhere(tmp_path) -> None:
    holds_up(tmp_path, "main.tf", CONNECTOR.format(SOURCE, f'"database.password" = "{CANARY}"', "main") + WORKER)


@pytest.mark.parametrize(
    ("before", "after", "known"),
    [("merge(", ")", True), ("merge(\n  local.all,", ")", True), ("merge(", ", var.x)", False)],
)
def test_a_map_that_is_put_above_may_set_what_decides(tmp_path, before, after, known) -> None:
    content = CONNECTOR.format(SOURCE, '"producer.override.acks" = "1"', "x")
    content = content.replace("= {", f"= {before}{{", 1).replace("  }\n  worker", f"  }}{after}\n  worker")
    settings = only(read(tmp_path, {"main.tf": content})).settings
    assert settings["acks"].known is known
    assert ("enable.idempotence" in settings) is (before + after != "merge()")
