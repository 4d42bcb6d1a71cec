"""The topics that sources send to."""

from __future__ import annotations

import pytest

from tests.unit.audit.reading import only, read

POM = {"pom.xml": "<project/>"}
BOOT = {"src/main/resources/application.properties": "spring.kafka.producer.acks=1\napp.topic=of-file\n"}
TEMPLATE = """package a;
class Sender {
  private static final String TOPIC = "t";
  @Value("${app.topic}") private String named;
  private final KafkaTemplate<String, Map<String, Object>> kafka;
  void send(String key) { %s }
}
"""


@pytest.mark.parametrize(
    ("sends", "topics"),
    [
        ('kafka.send("t", key, v);', ("t",)),
        ("kafka.send(TOPIC, v);", ("t",)),
        ("this.kafka.send(named, v);", ("of-file",)),
        ("kafka.send(new ProducerRecord<String, String>(TOPIC, v));", ("t",)),
        ("kafka.send(message.setHeader(KafkaHeaders.TOPIC, TOPIC).build());", ("t",)),
        ('kafka.send("t", v); kafka.send("u", v);', ("t", "u")),
        ('kafka.send("t", v); kafka.send(choose(v), v);', ()),
        ("kafka.send(message);", ()),
        ('mail.send("t", v);', ()),
        ('kafka.send("t-" + key, v);', ()),
    ],
)
def test_boots_producer_sends_to_what_its_module_does(tmp_path, sends, topics) -> None:
    files = POM | BOOT | {"src/main/java/a/Sender.java": TEMPLATE % sends}
    assert only(read(tmp_path, files)).topics == topics


def test_of_two_producers_of_a_module_nobody_knows_which_sends(tmp_path) -> None:
    more = "import org.apache.kafka.clients.producer.*;\nclass B { KafkaProducer<String, String> f() {\n"
    more += '  Properties p = new Properties();\n  p.put("acks", "0");\n  return new KafkaProducer<>(p);\n} }\n'
    files = POM | BOOT | {"src/main/java/a/Sender.java": TEMPLATE % 'kafka.send("t", v);'}
    files["src/main/java/a/B.java"] = more
    assert {each.topics for each in read(tmp_path, files).producers} == {()}


GO = """package q
import "github.com/confluentinc/confluent-kafka-go/v2/kafka"
type P struct { p *kafka.Producer; topic string }
func NewP(topic string) *P {
	p, _ := kafka.NewProducer(&kafka.ConfigMap{"acks": "1"})
	return &P{p: p, topic: topic}
}
func (p *P) Send(b []byte) {
	p.p.Produce(&kafka.Message{TopicPartition: kafka.TopicPartition{Topic: %s, Partition: -1}, Value: b}, nil)
}
"""


@pytest.mark.parametrize(
    ("expression", "calls", "topics"),
    [
        ("&p.topic", 'q.NewP("t")', ("t",)),
        ("&p.topic", 'q.NewP("t")\n\tq.NewP("u")', ()),
        ("&p.topic", "q.NewP(choose())", ()),
        ("&Topic", 'q.NewP("t")', ()),
    ],
)
def test_what_a_producer_of_gos_is_made_with(tmp_path, expression, calls, topics) -> None:
    files = {"go.mod": "module x\n", "q/q.go": GO % expression}
    files["main.go"] = f"package main\nfunc main() {{\n\t{calls}\n}}\n"
    assert only(read(tmp_path, files)).topics == topics


@pytest.mark.parametrize(("sent", "topics"), [('"t"', ("t",)), ("Topic", ("c",)), ("name + x", ())])
def test_what_a_producer_of_dotnets_sends_to(tmp_path, sent, topics) -> None:
    source = 'using Confluent.Kafka;\nclass S { const string Topic = "c"; void F(string name) {\n'
    source += "  var p = new ProducerBuilder<Null, string>(new ProducerConfig { Acks = Acks.All }).Build();\n"
    source += f"  p.ProduceAsync({sent}, new Message<Null, string>());\n}} }}\n"
    assert only(read(tmp_path, {"a.csproj": "<Project/>", "S.cs": source})).topics == topics


@pytest.mark.parametrize(("sent", "topics"), [("topic: 't',", ("t",)), ("topic,", ("c",)), ("topic: pick(x),", ())])
def test_what_a_producer_of_kafkajs_sends_to(tmp_path, sent, topics) -> None:
    source = "const { Kafka } = require('kafkajs');\nconst topic = 'c';\nconst k = new Kafka({ brokers: ['k'] });\n"
    source += f"const producer = k.producer();\nproducer.send({{ {sent} messages: [{{ value: 'x' }}] }});\n"
    assert only(read(tmp_path, {"package.json": "{}", "a.js": source})).topics == topics


CLIENT = """import io.micronaut.configuration.kafka.annotation.*;
@KafkaClient(id = "%s")
interface C {
  @Topic("t") void send(String s);
}
"""


@pytest.mark.parametrize(("name", "topics"), [("search", ("t",)), ("other", ())])
def test_a_section_of_micronauts_has_the_topics_of_its_client(tmp_path, name, topics) -> None:
    files = POM | {"src/main/resources/application.yml": "kafka: {producers: {search: {acks: 1}}}\n"}
    assert only(read(tmp_path, files | {"src/main/java/C.java": CLIENT % name})).topics == topics


@pytest.mark.parametrize(("sent", "topics"), [('"t"', ("t",)), ("TOPIC", ("c",)), ("name(x)", ())])
def test_what_a_producer_of_rusts_sends_to(tmp_path, sent, topics) -> None:
    source = 'use rdkafka::producer::{FutureProducer, FutureRecord};\nconst TOPIC: &str = "c";\nfn main() {\n'
    source += '  let p: FutureProducer = ClientConfig::new().set("acks", "1").create().unwrap();\n'
    source += f"  p.send(FutureRecord::to({sent}).payload(x), d);\n}}\n"
    assert only(read(tmp_path, {"Cargo.toml": "[package]\n", "src/main.rs": source})).topics == topics


@pytest.mark.parametrize(("times", "topics"), [(1, ("t",)), (2, ())])
def test_a_field_that_a_constructor_sets_once(tmp_path, times, topics) -> None:
    source = "using Confluent.Kafka;\nclass S { private readonly string _topic; public S(IConfiguration config) {\n"
    source += '  _topic = config["Kafka:Topic"];\n' * times
    source += "  _p = new ProducerBuilder<Null, string>(new ProducerConfig { Acks = Acks.All }).Build(); }\n"
    source += "  void F() { _p.ProduceAsync(_topic, m); } }\n"
    files = {"a.csproj": "<Project/>", "appsettings.json": '{"Kafka": {"Topic": "t"}}', "S.cs": source}
    assert only(read(tmp_path, files)).topics == topics


def test_a_file_that_only_names_the_topic_is_a_producers_still(tmp_path) -> None:
    source = "using Confluent.Kafka;\nclass S { S(IOptions<ProducerConfig> o, IConfiguration config) {\n"
    source += '  _topic = config["Kafka:Topic"]; _p = new ProducerBuilder<Null, string>(o.Value).Build(); }\n'
    source += "  void F() { _p.ProduceAsync(_topic, m); } }\n"
    told = '{"Kafka": {"Producer": {"BootstrapServers": "k", "Acks": "Leader"}, "Topic": "t"}}'
    producer = only(read(tmp_path, {"a.csproj": "<Project/>", "appsettings.json": told, "S.cs": source}))
    assert producer.spelling == "Kafka.Producer.{key}"
