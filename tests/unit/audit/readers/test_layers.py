"""Files of a program's own settings for environments: the base is in force by itself, each that changes it is apart."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.unit.audit.reading import read

LOADS = """import os, tomllib
def load():
    with open("settings/base.toml", "rb") as f:
        conf = tomllib.load(f)
    with open(f"settings/{os.environ['ENV']}.toml", "rb") as f:
        conf.update(tomllib.load(f))
    return conf
"""
MAKES = "from confluent_kafka import Producer\nfrom .conf import load\nconf = load()\np = Producer(conf['kafka'])\n"
SECTION = '[kafka]\n"bootstrap.servers" = "k"\nacks = "%s"\n'
TOML = {"requirements.txt": "confluent-kafka==2.3.0", "app/conf.py": LOADS, "app/main.py": MAKES,
        "settings/base.toml": SECTION % "all"}  # fmt: skip
GO = """package main
import ("github.com/IBM/sarama"; "github.com/spf13/viper")
func main() {
	c := sarama.NewConfig()
	c.Producer.RequiredAcks = sarama.RequiredAcks(viper.GetInt("kafka.acks"))
	p, _ := sarama.NewSyncProducer(nil, c)
}
"""
YAML = {"go.mod": "module x\n", "main.go": GO, "config/config.yaml": "kafka:\n  acks: -1\n  topic: t\n"}
NODE = """const config = require('config');
const { Kafka } = require('kafkajs');
const producer = new Kafka({}).producer();
producer.send({ topic: 't', acks: config.get('kafka.acks'), messages: [] });
"""
JSON = {"package.json": '{"dependencies": {"kafkajs": "2.2.4"}}', "p.js": NODE,
        "config/default.json": '{"kafka": {"acks": 1, "brokers": []}}'}  # fmt: skip


def acks(folder: Path, files: Mapping[str, str]) -> dict[str, str]:
    """By file, what a producer has of acks; "?" if that is unknown."""
    return {
        os.path.relpath(each.origin.path, folder): told.value if (told := each.settings["acks"]).known else "?"
        for each in read(folder, files).producers
    }


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (TOML, {"app/main.py": "all"}),
        (TOML | {"settings/staging.toml": SECTION % "1"}, {"app/main.py": "all", "settings/staging.toml": "1"}),
        (TOML | {"settings/staging.toml": '[kafka]\n"linger.ms" = 5\n'}, {"app/main.py": "all"}),
        (TOML | {"settings/users.toml": "[users]\nproducer = 'x'\n"}, {"app/main.py": "all"}),
        (YAML | {"config/config.prod.yaml": "kafka:\n  acks: 1\n"}, {"main.go": "-1", "config/config.prod.yaml": "1"}),
        (YAML | {"config/prod.yaml": "kafka:\n  acks: 1\n"}, {"main.go": "-1", "config/prod.yaml": "1"}),
        (YAML | {"config/prod.yaml": "kafka:\n  topic: u\n"}, {"main.go": "-1"}),
        (JSON | {"config/production.json": '{"kafka": {"acks": -1}}'}, {"p.js": "1", "config/production.json": "-1"}),
        (JSON | {"config/production.json": '{"kafka": {"brokers": ["p"]}}'}, {"p.js": "1"}),
    ],
)
def test_a_file_of_an_environment_that_changes_a_producer_is_one_more(tmp_path, files, found) -> None:
    assert acks(tmp_path, files) == found


PROJECT = {"A.csproj": "<Project/>"}
SECTION_OF_NET = """using Confluent.Kafka;
var cfg = builder.Configuration.GetSection("Kafka").Get<ProducerConfig>();
var p = new ProducerBuilder<string, string>(cfg).Build();
p.ProduceAsync("t", null);
"""
OPTIONS_OF_NET = """using Confluent.Kafka;
public class KafkaSettings { public string Brokers { get; set; } public string Acks { get; set; } }
public class Bus {
  public Bus(IOptions<KafkaSettings> o) {
    p = new ProducerBuilder<string, string>(new ProducerConfig { Acks = Enum.Parse<Acks>(o.Value.Acks) }).Build();
  }
  static void Add() => s.Configure<KafkaSettings>(c.GetSection("Kafka"));
}
"""
NET = {**PROJECT, "appsettings.json": '{"Kafka": {"BootstrapServers": "k", "Acks": "All", "EnableIdempotence": true}}'}
PRODUCTION = "appsettings.Production.json"


@pytest.mark.parametrize(
    ("source", "above", "found"),
    [
        (SECTION_OF_NET, '"EnableIdempotence": false', {"appsettings.json": "all", PRODUCTION: "all"}),
        (SECTION_OF_NET, '"Acks": "Leader"', {"appsettings.json": "all", PRODUCTION: "1"}),
        (SECTION_OF_NET, '"LingerMs": 5', {"appsettings.json": "all"}),
        (OPTIONS_OF_NET, '"Acks": "Leader"', {"A.cs": "all", PRODUCTION: "1"}),
        (OPTIONS_OF_NET, '"Brokers": "p"', {"A.cs": "all"}),
    ],
)
def test_settings_of_net_for_an_environment(tmp_path, source, above, found) -> None:
    names = {"all": "all", "leader": "1"}
    told = acks(tmp_path, {**NET, "A.cs": source, PRODUCTION: f'{{"Kafka": {{{above}}}}}'})
    assert {path: names.get(value.lower(), value) for path, value in told.items()} == found
