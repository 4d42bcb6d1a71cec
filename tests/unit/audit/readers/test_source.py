"""Producers in source: whose settings decide, and what is not known."""

from __future__ import annotations

import pytest

from audit.model import HIDDEN
from tests.unit.audit.reading import lines, only, read, values

JAVA = """package a;
import org.apache.kafka.clients.producer.*;
class A {{
  static final String ACKS = "1";
  KafkaProducer<String, String> make(boolean fast, Settings s) {{
    Properties props = new Properties();
    props.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, "k:9092");
    {}
    return new KafkaProducer<>(props);
  }}
}}
"""
PUT = "props.put(ProducerConfig.ACKS_CONFIG, {});"


@pytest.mark.parametrize(
    ("line", "value", "known"),
    [
        (PUT.format('"all"'), "all", True),
        (PUT.format("ACKS"), "1", True),
        (PUT.format("String.valueOf(0)"), "0", True),
        ('props.setProperty("acks", "0");', "0", True),
        (PUT.format("s.acks()"), "(not in this file)", False),
        ("if (fast) { " + PUT.format('"0"') + " }", "0", False),
        (PUT.format('System.getenv("ACKS")'), "${ACKS}", False),
    ],
)
def test_what_java_puts_is_read_and_what_it_decides_elsewhere_is_unknown(tmp_path, line, value, known) -> None:
    producer = only(read(tmp_path, {"src/main/java/a/A.java": JAVA.format(line)}))
    acks = producer.settings["acks"]
    assert (acks.value, acks.known) == (value, known)
    assert lines(producer)["acks"] == "A.java:8"
    assert producer.client == "java"


def test_a_variable_of_the_environment_is_told_with_env(tmp_path) -> None:
    files = {"A.java": JAVA.format(PUT.format('System.getenv("ACKS")'))}
    assert values(only(read(tmp_path, files, env={"ACKS": "0"})))["acks"] == "0"


def test_tests_and_consumers_configure_no_producer(tmp_path) -> None:
    consumer = "import org.apache.kafka.clients.consumer.*;\nclass C { Object c = new KafkaConsumer<>(props); }\n"
    files = {"src/test/java/a/ATest.java": JAVA.format(PUT.format('"0"')), "src/main/java/a/C.java": consumer}
    files["src/main/java/a/D.java"] = "import org.apache.camel.*;\nclass D { Object p = new KafkaProducer(this); }\n"
    assert read(tmp_path, files).producers == ()


SPRING = """@Configuration class K {{
  @Value("${{app.acks:all}}") private String acks;
  @Bean ProducerFactory<String, String> f(KafkaProperties properties) {{
    Map<String, Object> config = {};
    config.put(ProducerConfig.ACKS_CONFIG, acks);
    return new DefaultKafkaProducerFactory<>(config);
  }}
}}
"""
YAML = "app:\n  acks: 0\nspring:\n  kafka:\n    producer:\n      acks: all\n      retries: 3\n"


@pytest.mark.parametrize(
    ("made", "retries"), [("properties.buildProducerProperties()", "3"), ("new HashMap<>()", None)]
)  # fmt: skip
def test_springs_factory_decides_over_the_file_and_a_map_of_its_own_replaces_it(tmp_path, made, retries) -> None:
    files = {"pom.xml": "<project/>", "src/main/resources/application.yml": YAML}
    files["src/main/java/K.java"] = SPRING.format(made)
    producer = only(read(tmp_path, files))
    assert producer.origin.path.endswith("application.yml")
    assert (values(producer)["acks"], lines(producer)["acks"]) == ("0", "K.java:5")
    assert values(producer).get("retries") == retries


def test_another_modules_source_decides_nothing(tmp_path) -> None:
    files = {"a/pom.xml": "<project/>", "a/src/main/resources/application.yml": YAML, "b/pom.xml": "<project/>"}
    files["b/src/main/java/K.java"] = SPRING.format("new HashMap<>()")
    settings = {each.origin.path.rpartition("/")[2]: values(each)["acks"] for each in read(tmp_path, files).producers}
    assert settings == {"application.yml": "all", "K.java": "all"}


@pytest.mark.parametrize(
    ("name", "content", "client", "expected"),
    [
        ("a.go", 'package a\nimport "github.com/IBM/sarama"\nfunc f() { c := sarama.NewConfig()\n'
         "c.Producer.RequiredAcks = sarama.NoResponse\nsarama.NewSyncProducer(nil, c) }", "sarama", {"acks": "0"}),
        ("a.go", 'import "github.com/segmentio/kafka-go"\nvar w = kafka.Writer{RequiredAcks: kafka.RequireOne}',
         "kafka-go", {"acks": "1"}),
        ("a.ts", "import { Kafka } from 'kafkajs'\nconst p = kafka.producer({ idempotent: true })", "kafkajs",
         {"enable.idempotence": "true"}),
        ("A.cs", "using Confluent.Kafka;\nclass A { ProducerConfig c = new ProducerConfig { Acks = Acks.None }; }",
         "librdkafka", {"acks": "0"}),
        ("a.kt", 'import org.apache.kafka.clients.producer.*\nval p = KafkaProducer<A, B>(mapOf("acks" to "1"))',
         "java", {"acks": "1"}),
        ("a.rs", "use rdkafka::producer::FutureProducer;\nfn f() -> FutureProducer { ClientConfig::new()\n"
         '.set("acks", "0").create().unwrap() }', "librdkafka", {"acks": "0"}),
        ("b.rs", "use rdkafka::producer::BaseProducer;\nfn f() { let mut c = ClientConfig::new();\n"
         'c.set("enable.idempotence", "true"); let p: BaseProducer = c.create().unwrap(); }', "librdkafka",
         {"enable.idempotence": "true"}),
        ("A.java", "import io.vertx.kafka.client.producer.KafkaProducer;\nclass A { void f(Map<String, String> c) {\n"
         'c.put("acks", "0"); KafkaProducer.create(vertx, c); } }', "java", {"acks": "0"}),
        ("B.scala", "import org.apache.pekko.kafka.ProducerSettings\nclass B { val s = ProducerSettings(a, b, c)\n"
         '.withProperty("acks", "1") }', "java", {"acks": "1"}),
        ("C.java", "import org.apache.flink.connector.kafka.sink.KafkaSink;\nclass C { Object f() {\n"
         'return KafkaSink.<A>builder().setProperty("acks", "1").build(); } }', "java", {"acks": "1"}),
        ("D.scala", 'import org.apache.spark.sql._\nobject D { d.write.format("kafka")'
         '.option("kafka.acks", "0").save() }', "java", {"acks": "0"}),
        ("E.java", "import org.apache.kafka.streams.*;\nclass E { void f(Properties p) {\n"
         'p.put(StreamsConfig.producerPrefix("acks"), "1"); new KafkaStreams(t, p); } }', "java", {"acks": "1"}),
        ("F.java", "import io.micronaut.configuration.kafka.annotation.*;\n"
         "@KafkaClient(id = \"f\", acks = KafkaClient.Acknowledge.NONE) interface F { }", "java", {"acks": "0"}),
    ],
)  # fmt: skip
def test_each_language_has_its_own_way(tmp_path, name, content, client, expected) -> None:
    producer = only(read(tmp_path, {name: content}))
    assert (producer.client, values(producer)) == (client, expected)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.rs", "use rdkafka::producer::FutureProducer;\nuse rdkafka::consumer::StreamConsumer;\n"
         'fn f() -> StreamConsumer { ClientConfig::new().set("acks", "0").create().unwrap() }'),
        ("b.rs", "use rdkafka::ClientConfig;\n"
         'fn f() { ClientConfig::new().set("group.id", "g").create::<BaseConsumer>(); }'),
        ("D.scala", "import org.apache.spark.sql._\n"
         'object D { s.readStream.format("kafka").option("kafka.acks", "0").load() }'),
        ("E.java", "import org.apache.kafka.streams.*;\nclass E { void f(Properties p) { new KafkaStreams(t, p); } }"),
        ("F.java", "import io.micronaut.configuration.kafka.annotation.*;\n@KafkaClient interface F { }"),
        ("a.js", "import kafka from './kafka'\nconst p = kafka.producer()"),
    ],
)  # fmt: skip
def test_what_sets_no_producer_is_none(tmp_path, name, content) -> None:
    assert read(tmp_path, {name: content}).producers == ()


def test_a_client_of_the_module_beside_is_whose_that_module_says(tmp_path) -> None:
    use = "const kafka = require('./kafka')\nmodule.exports = kafka.producer({ idempotent: true })\n"
    for package, client in (("kafkajs", "kafkajs"), ("@confluentinc/kafka-javascript", "librdkafka")):
        made = f"const {{ Kafka }} = require('{package}')\nmodule.exports = new Kafka({{}})\n"
        assert only(read(tmp_path / client, {"p.js": use, "kafka.js": made})).client == client


def test_a_secret_in_source_is_hidden(tmp_path) -> None:
    line = PUT.format('"1"') + ' props.put("sasl.jaas.config", "x required password=s3cr3t;");'
    assert values(only(read(tmp_path, {"A.java": JAVA.format(line)})))["sasl.jaas.config"] == HIDDEN


def test_kafkajs_is_given_acks_with_its_records(tmp_path):
    code = (
        "import { Kafka } from 'kafkajs'\nconst p = new Kafka({}).producer()\nfunction f() {\n p.send({ %s })\n%s }\n"
    )
    one = read(tmp_path / "one", {"a.ts": code % ("acks: 1, topic: 't'", "")})
    assert values(only(one)) == {"acks": "1"}
    two = read(tmp_path / "two", {"a.ts": code % ("acks: 1", " p.send({ acks: 0 })\n")})
    assert not only(two).settings["acks"].known
    none = read(tmp_path / "none", {"a.ts": code % ("topic: 't'", "")})
    assert values(only(none)) == {}
    short = read(tmp_path / "short", {"a.ts": code % ("acks, topic", " const acks = f(1)\n")})
    assert not only(short).settings["acks"].known


def test_a_microservice_of_nest_is_a_producer_if_it_says_so(tmp_path):
    code = (
        "import { Transport } from '@nestjs/microservices'\nconst o = { transport: Transport.KAFKA, options: { %s } }\n"
    )
    made = read(tmp_path / "p", {"a.ts": code % "producer: { idempotent: true }"})
    assert (only(made).client, values(only(made))) == ("kafkajs", {"enable.idempotence": "true"})
    assert read(tmp_path / "c", {"a.ts": code % "consumer: { groupId: 'g' }"}).producers == ()


def test_a_writer_config_of_kafka_go_makes_all_of_nothing_and_of_0(tmp_path):
    code = 'package m\nimport k "github.com/segmentio/kafka-go"\nfunc f() { _ = k.NewWriter(k.WriterConfig{%s}) }\n'
    for written, acks in (("", "all"), ("RequiredAcks: 0", "all"), ("RequiredAcks: 1", "1")):
        producer = only(read(tmp_path / (written or "none"), {"a.go": code % written}))
        assert (producer.settings.get("acks") or producer.presets["acks"]).value == acks


SECRETS = {
    "a.rs": "use rdkafka::producer::FutureProducer;\nfn f() { let p: FutureProducer = ClientConfig::new()\n"
    '.set("acks", "1").set("sasl.password", "PLANTED").create().unwrap(); }',
    "A.java": "import io.vertx.kafka.client.producer.KafkaProducer;\nclass A { void f(Map<String, String> c) {\n"
    'c.put("acks", "0"); c.put("ssl.keystore.password", "PLANTED"); KafkaProducer.create(vertx, c); } }',
    "D.scala": 'import org.apache.spark.sql._\nobject D { d.write.format("kafka").option("kafka.acks", "0")'
    '.option("kafka.sasl.jaas.config", "x password=PLANTED;").save() }',
    "F.java": "import io.micronaut.configuration.kafka.annotation.*;\n@KafkaClient(acks = Acknowledge.ONE,\n"
    'properties = @Property(name = "sasl.jaas.config", value = "PLANTED")) interface F { }',
    "values.yaml": "customConfig:\n  sinks:\n    o:\n      type: kafka\n      bootstrap_servers: k:9092\n"
    "      librdkafka_options: {acks: '1', ssl.key.password: PLANTED}\n",
    "p.py": "from confluent_kafka import Producer\nclass A:\n    def f(self):\n"
    '        self.c = {"acks": 0, "sasl.password": "PLANTED"}\n        self.p = Producer(self.c)\n',
}


@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_that_a_program_sets_is_kept(tmp_path, name) -> None:
    inputs = read(tmp_path, {name: SECRETS[name]})
    assert "acks" in only(inputs).settings
    assert "PLANTED" not in repr(inputs)


KAFKAJS_TWICE = """const { Kafka } = require('kafkajs');
const kafka = new Kafka({ brokers: ['k'] });
const orders = kafka.producer({ idempotent: true });
const metrics: Producer = kafka.producer({ retry: { retries: 0 } });
const one = () => orders.send({ topic: 'o', acks: -1, messages });
const two = () => metrics.send({ topic: 'm', acks: 0, messages });
"""


def test_two_producers_of_a_script_have_what_is_sent_with_their_own_names(tmp_path) -> None:
    found = {each.name: values(each) for each in read(tmp_path, {"bus.js": KAFKAJS_TWICE}).producers}
    assert found["bus.js, orders"]["acks"] == "-1"
    assert found["bus.js, metrics"] == {"retries": "0", "acks": "0"}
    alike = KAFKAJS_TWICE.replace("orders.send", "given.send").replace("metrics.send", "given.send")
    told = read(tmp_path / "b", {"bus.js": alike}).producers
    assert all(not each.settings["acks"].known for each in told)


FACTORIES = """import org.springframework.kafka.core.DefaultKafkaProducerFactory;
class C {
  @Bean ProducerFactory<String, Object> ledger() {
    Map<String, Object> config = common();
    config.put(ProducerConfig.ACKS_CONFIG, "all");
    config.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
    return new DefaultKafkaProducerFactory<>(config);
  }
  @Bean ProducerFactory<String, byte[]> clicks() {
    Map<String, Object> config = common();
    config.put(ProducerConfig.ACKS_CONFIG, "0");
    return new DefaultKafkaProducerFactory<>(config);
  }
  static Map<String, Object> common() {
    Map<String, Object> config = new HashMap<>();
    config.put(ProducerConfig.RETRIES_CONFIG, 4);
    return config;
  }
}
"""
BOOT = "spring.kafka.bootstrap-servers=k:9092\nspring.kafka.producer.acks=1\n"


def test_factories_that_differ_stand_in_place_of_boots(tmp_path) -> None:
    files = {"pom.xml": "", "application.properties": BOOT, "C.java": FACTORIES}
    found = {each.name: values(each) for each in read(tmp_path, files).producers}
    servers = {"bootstrap.servers": "k:9092", "retries": "4"}
    assert found == {
        "C.java, ledger": {"acks": "all", "enable.idempotence": "true"} | servers,
        "C.java, clicks": {"acks": "0"} | servers,
    }
    based = FACTORIES.replace("= common()", "= properties.buildProducerProperties(null)")
    told = read(tmp_path / "b", files | {"C.java": based}).producers
    assert [each.origin.path.rpartition("/")[2] for each in told] == ["application.properties"]


def test_what_only_takes_boots_properties_has_what_the_file_says(tmp_path) -> None:
    source = """class C { SenderOptions<String, String> make(KafkaProperties properties) {
      Map<String, Object> props = properties.buildProducerProperties(null);
      return SenderOptions.<String, String>create(props).stopOnError(false); } }"""
    files = {"pom.xml": "", "application.properties": BOOT, "C.java": source}
    assert values(only(read(tmp_path, files)))["acks"] == "1"
    other = source.replace("return", "props.putAll(others.all()); return")
    assert not only(read(tmp_path / "b", files | {"C.java": other})).settings["acks"].known


SHARED = """package kafka
import "github.com/IBM/sarama"
func NewConfig(id string) *sarama.Config {
	c := sarama.NewConfig()
	c.Producer.Retry.Max = 9
	return c
}
func NewProducerConfig(id string) *sarama.Config {
	c := NewConfig(id)
	c.Producer.RequiredAcks = sarama.WaitForAll
	return c
}
"""
RELAY = """package relay
import (
	"github.com/IBM/sarama"
	"acme/internal/kafka"
)
func New(brokers []string) (sarama.SyncProducer, error) {
	return sarama.NewSyncProducer(brokers, kafka.NewProducerConfig("relay"))
}
"""


def test_a_configuration_of_sarama_that_one_function_takes_from_another(tmp_path) -> None:
    files = {"go.mod": "module acme\n", "internal/kafka/c.go": SHARED, "internal/relay/r.go": RELAY}
    assert values(only(read(tmp_path, files))) == {"retries": "9", "acks": "all"}
    other = SHARED.replace("c := NewConfig(id)", "c := Load(id)").replace("sarama.NewConfig()", "load()")
    told = only(read(tmp_path / "b", files | {"internal/kafka/c.go": other}))
    assert not told.settings["acks"].known


SPREADS = """import { Kafka } from 'kafkajs';
import { options } from './options';
export const make = (id: string) => { const kafka = new Kafka({ ...options(), clientId: id });
  return kafka.producer({ idempotent: true }); };
"""


def test_what_is_spread_of_another_module_that_says_nothing(tmp_path) -> None:
    quiet = (
        "export function options(): KafkaConfig {\n  return { brokers: ['k'], ssl: { rejectUnauthorized: true } };\n}\n"
    )
    assert values(only(read(tmp_path, {"options.ts": quiet, "make.ts": SPREADS}))) == {"enable.idempotence": "true"}
    loud = quiet.replace("ssl: { rejectUnauthorized: true }", "retry: { retries: n }")
    assert not only(read(tmp_path / "b", {"options.ts": loud, "make.ts": SPREADS})).settings["retries"].known


MICRONAUT = """import io.micronaut.configuration.kafka.annotation.KafkaClient;
@KafkaClient(id = "jobs", acks = KafkaClient.Acknowledge.ALL)
public interface Jobs { @Topic("jobs") void send(String job); }
"""
CLIENTS = "kafka:\n  producers:\n    default:\n      linger.ms: 5\n"


def test_a_client_of_micronauts_stands_above_its_section(tmp_path) -> None:
    files = {"build.gradle": "", "src/main/java/Jobs.java": MICRONAUT, "src/main/resources/application.yml": CLIENTS}
    producer = only(read(tmp_path, files))
    assert (producer.origin.path.rpartition("/")[2], values(producer)) == (
        "Jobs.java",
        {"acks": "all", "linger.ms": "5"},
    )
    others = files | {"src/main/resources/application.yml": CLIENTS + "      acks: 1\n"}
    assert len(read(tmp_path / "b", others).producers) == 2


IN_ONE_FUNCTION = """import { Kafka } from 'kafkajs';
export function make(kafka: Kafka) {
  const orders = kafka.producer({ idempotent: true });
  const logs = kafka.producer({ allowAutoTopicCreation: false });
  return { orders, logs };
}
"""
WRITERS = """package main
import "github.com/segmentio/kafka-go"
func main() {
	orders := &kafka.Writer{Topic: "orders", RequiredAcks: kafka.RequireAll}
	logs := &kafka.Writer{Topic: "logs"}
}
"""


def test_producers_of_one_function_have_their_own_arguments_and_names(tmp_path) -> None:
    found = {each.name: values(each) for each in read(tmp_path, {"bus.ts": IN_ONE_FUNCTION}).producers}
    assert found["bus.ts, orders"]["enable.idempotence"] == "true"
    assert "true" not in found["bus.ts, logs"].values()
    writers = {each.name: values(each) for each in read(tmp_path / "b", {"go.mod": "", "main.go": WRITERS}).producers}
    assert writers == {"main.go, orders": {"acks": "all"}, "main.go, logs": {}}


def test_a_constant_of_the_language_that_is_made_a_text(tmp_path) -> None:
    source = "import org.apache.kafka.clients.producer.*;\nclass A {\n  KafkaProducer<String, String> make() {\n"
    source += '    Properties p = new Properties();\n    p.put("retries", Integer.toString(%s));\n'
    source += "    return new KafkaProducer<>(p);\n  }\n}\n"
    found = only(read(tmp_path, {"A.java": source % "Integer.MAX_VALUE"})).settings["retries"]
    assert (found.value, found.known) == ("2147483647", True)
    assert not only(read(tmp_path / "b", {"A.java": source % "Tries.MOST"})).settings["retries"].known


def test_a_module_whose_build_file_is_missing_is_told_by_its_layout(tmp_path) -> None:
    source = "import org.springframework.kafka.core.*;\nclass A {\n  ProducerFactory<String, String> f() {\n"
    source += '    Map<String, Object> p = new HashMap<>();\n    p.put("acks", "0");\n'
    source += "    return new DefaultKafkaProducerFactory<>(p);\n  }\n}\n"
    boot = "spring.kafka.producer.acks=1\n"
    files = {"src/main/resources/application.properties": boot, "src/main/java/a/A.java": source}
    assert only(read(tmp_path, files)).settings["acks"].value == "0"
    apart = {"b/src/main/resources/application.properties": boot, "a/src/main/java/a/A.java": source}
    assert len(read(tmp_path / "b", apart).producers) == 2


BINDS = """using Confluent.Kafka;
class D { void Add(IConfiguration c, IServiceCollection s) {
  var p = new ProducerConfig();
  c.GetSection("%s").Bind(p);
  s.AddSingleton(new ProducerBuilder<string, string>(p).Build());
} }
"""


@pytest.mark.parametrize(("section", "count"), [("Kafka:Producer", 1), ("Kafka:Other", 2)])
def test_a_section_that_a_project_binds_has_that_projects_client(tmp_path, section, count) -> None:
    project = '<Project><PackageReference Include="Confluent.Kafka" Version="1.9.2" /></Project>'
    files = {
        "src/Infra/Infra.csproj": project,
        "src/Infra/D.cs": BINDS % section,
        "src/Api/Api.csproj": "<Project />",
        "src/Api/appsettings.json": '{"Kafka": {"Producer": {"BootstrapServers": "k", "Acks": "Leader"}}}',
    }
    found = read(tmp_path, files).producers
    assert ([each.release for each in found], len(found)) == (["1.9.2"] * count, count)


FOR_ERRORS = """import org.springframework.kafka.core.*;
class A {
  @Bean
  public %s bean() {
    Map<String, Object> p = new HashMap<>();
    p.put("acks", "1");
    return make(new DefaultKafkaProducerFactory<>(p));
  }
}
"""


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("DefaultErrorHandler", ["all", "1"]),
        ("DeadLetterPublishingRecoverer", ["all", "1"]),
        ("ConcurrentKafkaListenerContainerFactory<String, String>", ["all", "1"]),
        ("KafkaTemplate<String, String>", ["1"]),
        ("ProducerFactory<String, String>", ["1"]),
    ],
)
def test_a_factory_for_errors_is_one_beside_boots(tmp_path, kind, told) -> None:
    boot = "spring.kafka.bootstrap-servers=k\nspring.kafka.producer.acks=all\n"
    files = {"pom.xml": "<project/>", "src/main/resources/application.properties": boot}
    found = read(tmp_path, files | {"src/main/java/A.java": FOR_ERRORS % kind}).producers
    assert [each.settings["acks"].value for each in found] == told
    assert {each.settings["bootstrap.servers"].value for each in found} == {"k"}


@pytest.mark.parametrize(("more", "known"), [("", True), ("func Other() { sarama.NewClient(nil, nil) }\n", False)])
def test_a_producer_from_the_only_client_of_its_file(tmp_path, more, known) -> None:
    source = 'package ioc\nimport "github.com/IBM/sarama"\n'
    source += "func InitClient() sarama.Client {\n\tc := sarama.NewConfig()\n"
    source += "\tclient, _ := sarama.NewClient(nil, c)\n\treturn client\n}\n"
    source += "func InitProducer(c sarama.Client) sarama.SyncProducer {\n"
    source += "\tp, _ := sarama.NewSyncProducerFromClient(c)\n\treturn p\n}\n"
    assert ("acks" not in only(read(tmp_path, {"ioc.go": source + more})).settings) == known


@pytest.mark.parametrize(
    ("value", "acks"),
    [
        ("Enum.Parse<Acks>(_s.Acks)", "1"),
        ("Enum.Parse<Acks>(_s.Acks, ignoreCase: true)", "1"),
        ("(Acks)Enum.Parse(typeof(Acks), _s.Acks)", "1"),
        ("Enum.Parse<Acks>(Choose(_s.Acks))", None),
    ],
)
def test_an_enumeration_of_dotnets_that_is_parsed(tmp_path, value, acks) -> None:
    files = {
        "a.csproj": "<Project/>",
        "appsettings.json": '{"Kafka": {"Acks": "Leader"}}',
        "Program.cs": 'services.Configure<KafkaSettings>(config.GetSection("Kafka"));\n',
        "K.cs": "public class KafkaSettings { public string Acks { get; set; } }\n",
        "S.cs": "using Confluent.Kafka;\nclass S { private readonly KafkaSettings _s; S(IOptions<KafkaSettings> o) {\n"
        f"  _s = o.Value; var c = new ProducerConfig {{ Acks = {value} }};\n"
        "  _p = new ProducerBuilder<Null, string>(c).Build(); } }\n",
    }
    found = next(each for each in read(tmp_path, files).producers if each.origin.path.endswith("S.cs"))
    assert (found.settings["acks"].value if found.settings["acks"].known else None) == acks
