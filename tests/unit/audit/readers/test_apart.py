"""What producers of one file are called, so that a name tells which of several it is."""

from __future__ import annotations

import pytest

from tests.unit.audit.reading import read

LOGSTASH = """output {
  kafka { %s topic_id => "a" bootstrap_servers => "k" acks => "all" }
  kafka { topic_id => "b" bootstrap_servers => "k" }
}
"""
FLUENT_BIT = """[OUTPUT]
    Name kafka
    %s
    Brokers k:9092
    Topics a
[OUTPUT]
    Name kafka
    Brokers k:9092
    Topics b
"""
BENTHOS = """output:
  broker:
    outputs:
      - label: audit
        kafka: {addresses: [k], topic: a}
      - kafka: {addresses: [k], topic: b}
"""
SYSLOG = 'destination d_a { kafka-c(bootstrap-servers("k") topic("t")); };\ndestination d_b { kafka-c(topic("t")); };\n'
FLOW = """using KafkaFlow;
static class P {
  const string Audit = "audit-p";
  static void Add(IServiceCollection s) => s.AddKafka(k => k.AddCluster(c => c
    .AddProducer(Audit, p => p.WithAcks(Acks.All))
    .AddProducer("plain", p => p.WithAcks(Acks.All))
    .AddProducer<Orders>(p => p.WithAcks(Acks.Leader))
    .AddProducer(nameof(Bulk), p => p.WithAcks(Acks.None))));
}
"""
NEST = """import { ClientsModule, Transport } from '@nestjs/microservices';
import 'kafkajs';
const m = ClientsModule.register([
  { name: 'AUDIT', transport: Transport.KAFKA, options: { producer: { idempotent: true } } },
  { name: 'BULK', transport: Transport.KAFKA, options: { producer: {} } },
]);
"""
FIELDS = """const { Kafka } = require('kafkajs');
const kafka = new Kafka({});
module.exports = { audit: kafka.producer({ idempotent: true }), bulk: kafka.producer() };
"""
CLASSES = """import { Kafka } from 'kafkajs';
const kafka = new Kafka({});
class Audit { constructor() { this.p = kafka.producer({ idempotent: true }); } }
class Bulk { constructor() { this.p = kafka.producer(); } }
"""
KEYED = """using Confluent.Kafka;
static class S {
  static void Add(IServiceCollection s) {
    s.AddKeyedSingleton("audit", (_, _) => new ProducerBuilder<Null, string>(new ProducerConfig { Acks = Acks.All }).Build());
    s.AddKeyedSingleton("bulk", (_, _) => new ProducerBuilder<Null, string>(new ProducerConfig { Acks = Acks.None }).Build());
  }
}
"""  # noqa: E501
PYTHON = """from confluent_kafka import Producer
CLIENTS = {"audit": Producer({"acks": "all"}), "bulk": Producer({"acks": "1"})}
"""
INITS = """from confluent_kafka import Producer
class Audit:
    def __init__(self): self.p = Producer({"acks": "all"})
class Bulk:
    def __init__(self): self.p = Producer({"acks": "1"})
"""
FAUST = "import faust\na = faust.App('x', producer_acks=1)\nb = faust.App('y', producer_acks=0)\n"
RUBY = 'require "kafka"\nAUDIT = Kafka.new(["k"]).producer\nBULK = Kafka.new(["k"]).producer(required_acks: 1)\n'
PHP = "<?php\n$a = new RdKafka\\Conf();\n$a->set('acks', '1');\n$audit = new RdKafka\\Producer($a);\n"
PHP += "$bulk = new RdKafka\\Producer($a);\n"


@pytest.mark.parametrize(
    ("file", "content", "names"),
    [
        ("a.conf", LOGSTASH % 'id => "audit"', ["output kafka audit", "output kafka b"]),
        ("a.conf", LOGSTASH % "", ["output kafka a", "output kafka b"]),
        ("fluent-bit.conf", FLUENT_BIT % "Alias audit", ["output kafka audit", "output kafka b"]),
        ("fluent-bit.conf", FLUENT_BIT % "Match x", ["output kafka a", "output kafka b"]),
        ("a.yaml", BENTHOS, ["output.kafka audit", "output.kafka b"]),
        ("syslog-ng.conf", SYSLOG, ["destination d_a kafka", "destination d_b kafka"]),
        ("P.cs", FLOW, ["P.cs, Bulk", "P.cs, Orders", "P.cs, audit-p", "P.cs, plain"]),
        ("m.ts", NEST, ["m.ts, AUDIT", "m.ts, BULK"]),
        ("p.js", FIELDS, ["p.js, audit", "p.js, bulk"]),
        ("p.ts", CLASSES, ["p.ts, Audit", "p.ts, Bulk"]),
        ("S.cs", KEYED, ["S.cs, audit", "S.cs, bulk"]),
        ("p.py", PYTHON, ["p.py, audit", "p.py, bulk"]),
        ("p.py", INITS, ["p.py, Audit", "p.py, Bulk"]),
        ("p.py", FAUST, ["p.py, a", "p.py, b"]),
        ("p.rb", RUBY, ["p.rb, AUDIT", "p.rb, BULK"]),
        ("p.php", PHP, ["p.php, audit", "p.php, bulk"]),
    ],
)
def test_names_tell_producers_of_a_file_apart(tmp_path, file, content, names) -> None:
    assert sorted(each.name for each in read(tmp_path, {file: content}).producers) == names


def test_a_label_stands_with_the_only_one_too(tmp_path) -> None:
    found = read(tmp_path, {"telegraf.conf": '[[outputs.kafka]]\nalias = "m"\nbrokers = ["k"]\ntopic = "t"\n'})
    assert [each.name for each in found.producers] == ["outputs.kafka m"]
