"""Settings on their way to a producer: through branches, functions, loops and classes; and what several are called."""

from __future__ import annotations

import pytest

from audit.model import ProducerConfig
from tests.unit.audit.reading import only, read, values


def known(producer: ProducerConfig, key: str = "acks") -> str | None:
    """The value of a setting; None if it is unknown or not there."""
    setting = producer.settings.get(key)
    return setting.value if setting is not None and setting.known else None


ONCE = """import { Kafka } from 'kafkajs';
let producer;
export async function get(kafka, safe) {
  if (!producer) {
    BODY
  }
  return producer;
}
"""


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("producer = kafka.producer({ idempotent: true });", "true"),
        ("const o = {};\n if (safe) { o.idempotent = true; }\n producer = kafka.producer(o);", None),
    ],
)
def test_a_setting_of_the_branch_that_makes_the_producer(tmp_path, body, told) -> None:
    assert known(only(read(tmp_path, {"kafka.ts": ONCE.replace("BODY", body)})), "enable.idempotence") == told


GO = """package queue
import "github.com/confluentinc/confluent-kafka-go/kafka"
func Open(safe bool) {
	cfg := &kafka.ConfigMap{}
	LINE
	p, err := kafka.NewProducer(cfg)
}
"""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('if err := cfg.SetKey("acks", 1); err != nil { return }', "1"),
        ('if safe { cfg.SetKey("acks", 1) }', None),
    ],
)
def test_what_a_condition_asks_is_done_in_any_case(tmp_path, line, told) -> None:
    assert known(only(read(tmp_path, {"go.mod": "", "q.go": GO.replace("LINE", line)}))) == told


SWITCH = """package a;
import org.apache.kafka.clients.producer.*;
class A { KafkaProducer<String, String> make(int how) {
  Properties p = new Properties();
  switch (how) {
    case 1: p.put("acks", "0"); break;
    case 2: p.put("retries", Integer.toString(Integer.MAX_VALUE)); return new KafkaProducer<>(p);
  }
  return null;
} }
"""


def test_another_case_of_a_switch_is_another_branch(tmp_path) -> None:
    producer = only(read(tmp_path, {"A.java": SWITCH}))
    assert (known(producer), known(producer, "retries")) == (None, "2147483647")


SEVERAL = """from confluent_kafka import Producer
raw = Producer({"acks": 1})
dlq = Producer({"acks": "all"})


def other():
    p = Producer({"acks": 0})
    return p
"""


def test_producers_of_one_scope_are_called_by_what_they_are_bound_to(tmp_path) -> None:
    found = {each.name: values(each)["acks"] for each in read(tmp_path, {"clients.py": SEVERAL}).producers}
    assert found == {"clients.py, raw": "1", "clients.py, dlq": "all", "clients.py, other": "0"}
    fields = "from kafka import KafkaProducer\nclass A:\n    def __init__(self):\n"
    fields += "        self.a = KafkaProducer(acks=1)\n        self.b = KafkaProducer(acks=0)\n"
    names = [each.name for each in read(tmp_path / "b", {"a.py": fields}).producers]
    assert names == ["a.py, a", "a.py, b"]


def test_longlangs_client_of_php(tmp_path) -> None:
    php = (
        "<?php\nuse longlang\\phpkafka\\Producer\\Producer;\n$c = new ProducerConfig();\nLINE\n$p = new Producer($c);\n"
    )
    assert known(only(read(tmp_path, {"p.php": php.replace("LINE", "$c->setAcks(-1);")}))) == "-1"
    producer = only(read(tmp_path / "b", {"p.php": php.replace("LINE", "")}))
    assert [(key, each.value) for key, each in producer.presets.items()] == [
        ("acks", "0"),
        ("enable.idempotence", "false"),
    ]
    made = php.replace("$c = new ProducerConfig();", "$c = make();").replace("LINE", "")
    settings = only(read(tmp_path / "c", {"p.php": made})).settings
    assert not settings["acks"].known
    assert "enable.idempotence" not in settings


def test_an_application_of_karafkas_with_a_producer_of_its_own(tmp_path) -> None:
    app = "class A < Karafka::App\n  setup do |config|\n    config.kafka = { 'bootstrap.servers': 'k' }\n"
    own = "    config.producer = ::WaterDrop::Producer.new do |p|\n      p.kafka = { 'acks': 1 }\n    end\n"
    end = "  end\nend\nKarafka.producer.produce_async(topic: 't')\n"
    assert known(only(read(tmp_path, {"karafka.rb": app + own + end}))) == "1"
    assert known(only(read(tmp_path / "b", {"karafka.rb": app + end}))) is None


@pytest.mark.parametrize(("guarantee", "told"), [("exactly_once_v2", True), ("at_least_once", False)])
def test_the_guarantee_of_a_server_of_ksqldbs(tmp_path, guarantee, told) -> None:
    content = "services:\n  s:\n    image: confluentinc/ksqldb-server:0.29.0\n    environment:\n"
    content += f"      KSQL_BOOTSTRAP_SERVERS: k:9092\n      KSQL_KSQL_STREAMS_PROCESSING_GUARANTEE: {guarantee}\n"
    assert ("transactional.id" in values(only(read(tmp_path, {"compose.yaml": content})))) == told


TEMPLATE = """package a;
class Sends { KafkaTemplate<String, String> template; void f() { template.send("t", "v"); } }
"""
CONSUMES = "spring:\n  kafka:\n    bootstrap-servers: k:9092\n    consumer:\n      group-id: g\n"
FACTORY = "class F { Object f(Map<String, Object> m) { return new DefaultKafkaProducerFactory<>(m); } }\n"


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({"src/main/java/a/Sends.java": TEMPLATE}, 1),
        ({}, 0),
        ({"src/main/java/a/Sends.java": TEMPLATE.replace("template.send", "template.flush")}, 0),
    ],
)
def test_a_template_of_boots_where_only_a_consumer_is_configured(tmp_path, files, count) -> None:
    own = {"pom.xml": "<project/>", "src/main/resources/application.yml": CONSUMES}
    assert len(read(tmp_path, own | files).producers) == count


def test_a_factory_of_the_programs_own_stands_in_place_of_boots(tmp_path) -> None:
    files = {"src/main/resources/application.yml": CONSUMES, "src/main/java/a/Sends.java": TEMPLATE}
    (producer,) = read(tmp_path, {"pom.xml": "<project/>", "src/main/java/a/F.java": FACTORY, **files}).producers
    assert producer.origin.path.endswith("F.java")


LISTENS = 'class L { @KafkaListener(topics = "t") void on(String s) {} }\n'
POM = "<project><dependency><artifactId>{}</artifactId></dependency></project>"


@pytest.mark.parametrize(
    ("needed", "middle", "count"), [("lib", "other", 1), ("common", "lib", 1), ("common", "other", 0)]
)
def test_a_module_that_receives_may_send_with_what_it_depends_on(tmp_path, needed, middle, count) -> None:
    files = {
        "app/pom.xml": POM.format(needed),
        "app/src/main/java/L.java": LISTENS,
        "app/src/main/resources/application.properties": "spring.kafka.bootstrap-servers=k:9092\n",
        "common/pom.xml": POM.format(middle),
        "lib/pom.xml": POM.format("x"),
        "lib/src/main/java/S.java": "class S { KafkaTemplate<String, String> template; }\n",
    }
    assert len(read(tmp_path, files).producers) == count


SETTINGS_OF_NET = '{"Kafka": {"BootstrapServers": "k", "GroupId": "g", "Acks": "All"}}'


@pytest.mark.parametrize(("made", "count"), [("ConsumerConfig", 0), ("ProducerConfig", 1)])
def test_a_section_that_only_a_consumer_of_net_is_made_with(tmp_path, made, count) -> None:
    source = f'using Confluent.Kafka;\nvar config = new {made}();\nconfiguration.GetSection("Kafka").Bind(config);\n'
    files = {"a.csproj": "<Project/>", "appsettings.json": SETTINGS_OF_NET, "Program.cs": source}
    assert len(read(tmp_path, files).producers) == count


COMMON = 'package b;\npublic class Defaults {{ static final String ONE = "1"; static final String ACKS = {}; }}\n'


@pytest.mark.parametrize(("value", "told"), [("ONE", "1"), ("load()", None)])
def test_a_constant_of_another_module_that_is_another_constant(tmp_path, value, told) -> None:
    source = (
        "package a;\nimport static b.Defaults.*;\nimport org.apache.kafka.clients.producer.*;\nclass P { void f() {\n"
    )
    source += '  Properties p = new Properties(); p.put("acks", ACKS); new KafkaProducer<String, String>(p); } }\n'
    files = {"pom.xml": "<project/>", "api/pom.xml": "<project/>", "api/src/main/java/a/P.java": source}
    files["common/src/main/java/b/Defaults.java"] = COMMON.format(value)
    assert known(only(read(tmp_path, files))) == told


FACTORIES = """package a;
import org.apache.kafka.clients.producer.*;
class K {
  Object sure() { return make("all"); }
  Object fast() { return make(FAST); }
  private Object make(String acks) {
    Map<String, Object> p = new HashMap<>();
    p.put("acks", acks);
    return new KafkaProducer<>(p);
  }
}
"""


@pytest.mark.parametrize(
    ("fast", "told"),
    [
        ('"1"', {"K.java, sure": "all", "K.java, fast": "1"}),
        ('"all"', {"K.java, make": "all"}),
        ("load()", {"K.java, make": None}),
    ],
)
def test_callers_that_give_a_function_what_differs_make_several_producers(tmp_path, fast, told) -> None:
    files = {"pom.xml": "<project/>", "a/K.java": FACTORIES.replace("FAST", fast)}
    assert {each.name: known(each) for each in read(tmp_path, files).producers} == told


OPTIONS_OF_GO = """package k
import "github.com/IBM/sarama"
type Option func(*sarama.Config)
func Sure() Option {
	return func(c *sarama.Config) { c.Producer.RequiredAcks = sarama.WaitForAll }
}
func Fast() Option {
	return func(c *sarama.Config) { c.Producer.RequiredAcks = sarama.NoResponse }
}
func Retries(n int) Option {
	return func(c *sarama.Config) { c.Producer.Retry.Max = n }
}
func New(brokers []string, opts ...Option) (sarama.SyncProducer, error) {
	c := sarama.NewConfig()
	for _, o := range opts {
		o(c)
	}
	return sarama.NewSyncProducer(brokers, c)
}
"""


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ("k.New(b, k.Sure(), k.Retries(8))", ("all", "8")),
        ("k.New(b, k.Retries(0))", (None, "0")),
        ("k.New(b, k.Sure())\n\tk.New(b, k.Fast())", (None, None)),
    ],
)
def test_options_of_go_that_callers_ask_for(tmp_path, calls, told) -> None:
    main = f'package main\nimport "x/k"\nfunc main() {{\n\t{calls}\n}}\n'
    producer = only(read(tmp_path, {"go.mod": "module x\n", "k/k.go": OPTIONS_OF_GO, "main.go": main}))
    assert (known(producer), known(producer, "retries")) == told


SECTION = """package a
import org.apache.kafka.clients.producer.KafkaProducer
class W(config: Config) {
  val p = {
    val props = new Properties()
    props.put("bootstrap.servers", "k")
    config.ASKS.entrySet().asScala.foreach { e => props.put(e.getKey, e.getValue) }
    new KafkaProducer(props)
  }
}
"""
HOCON = 'a.kafka.producer-props { "acks" = "1", "linger.ms" = "5" }\n'


def test_a_section_that_a_program_of_scalas_takes_whole_is_its_producers(tmp_path) -> None:
    files = {"build.sbt": "", "src/main/resources/application.conf": HOCON}
    files["src/main/scala/a/W.scala"] = SECTION.replace("ASKS", 'getConfig("producer-props")')
    assert known(only(read(tmp_path, files))) == "1"


RUST = """use rdkafka::producer::FutureProducer;
use rdkafka::ClientConfig;
pub fn producer(k: &Kafka) -> FutureProducer {
    let mut c = ClientConfig::new();
    c.set("acks", "all");
    for (name, value) in &k.producer {
        c.set(name, value);
    }
    c.create().expect("producer")
}
"""
TOML = '[kafka.producer]\n"acks" = "1"\n"enable.idempotence" = "false"\n'


@pytest.mark.parametrize(("files", "told"), [({"config/default.toml": TOML}, ("1", "false")), ({}, (None, None))])
def test_a_loop_puts_what_a_section_of_a_file_has(tmp_path, files, told) -> None:
    producer = only(read(tmp_path, {"Cargo.toml": "[package]\n", "src/kafka.rs": RUST, **files}))
    assert (known(producer), known(producer, "enable.idempotence")) == told


def test_a_loop_over_a_map_that_comes_from_elsewhere_leaves_all_unknown(tmp_path) -> None:
    loop = "for k, v := range settings.Kafka { cfg.SetKey(k, v) }"
    producer = only(read(tmp_path, {"go.mod": "", "q.go": GO.replace("LINE", loop)}))
    assert not producer.settings["acks"].known


FIELDS = """import os
from dataclasses import asdict, dataclass


@dataclass
class Config:
    bootstrap_servers: str = "k"
    acks: str = "all"

    @classmethod
    def from_env(cls):
        given = {}
        given[KEY] = os.environ["X"]
        return cls(**given)

    def settings(self):
        return {k.replace("_", "."): v for k, v in asdict(self).items()}
"""
TAKES_FIELDS = """from confluent_kafka import Producer
from app.config import Config


def make(config: Config):
    return Producer(config.settings())
"""


@pytest.mark.parametrize(("key", "told"), [('"bootstrap_servers"', "all"), ('"acks"', None), ("name", None)])
def test_a_dictionary_of_an_objects_fields(tmp_path, key, told) -> None:
    files = {"setup.py": "", "app/config.py": FIELDS.replace("KEY", key), "app/out.py": TAKES_FIELDS}
    assert known(only(read(tmp_path, files))) == told


@pytest.mark.parametrize(("project", "told"), [("src/requirements.txt", "1"), ("src/broker/requirements.txt", None)])
def test_a_module_of_a_project_that_is_beside_a_package(tmp_path, project, told) -> None:
    source = "from kafka import KafkaProducer\nfrom core.config import ACKS\np = KafkaProducer(acks=ACKS)\n"
    files = {project: "", "src/core/config.py": "ACKS = 1\n", "src/broker/producer.py": source}
    assert known(only(read(tmp_path, files))) == told


WRITES = """from kafka import KafkaProducer


class Writer:
    def __init__(self, conf):
        self.producer = KafkaProducer(**conf["producer"])
"""
LOADS = """import yaml
from loader.writer import Writer

with open("conf/config.yml") as f:
    conf = yaml.safe_load(f)
w = Writer(conf[SECTION])
"""
CONFIG = "kafka:\n  producer:\n    acks: 1\n    retries: 4\nother: {}\n"


@pytest.mark.parametrize(("section", "told"), [('"kafka"', "1"), ("name()", None)])
def test_a_part_of_a_file_that_is_handed_to_a_class(tmp_path, section, told) -> None:
    files = {"requirements.txt": "", "conf/config.yml": CONFIG, "loader/writer.py": WRITES}
    files["loader/__main__.py"] = LOADS.replace("SECTION", section)
    found = [each for each in read(tmp_path, files).producers if each.origin.path.endswith("writer.py")]
    assert [known(each) for each in found] == [told]


PUBLISHER = """import { Kafka } from 'kafkajs';
export class Publisher {
  constructor({ clientId, sure = true, acks = -1 }: Options) {
    this.producer = new Kafka({ clientId }).producer({ idempotent: sure });
    this.acks = acks;
  }
  send(topic, value) {
    return this.producer.send({ topic, acks: this.acks, messages: [value] });
  }
}
"""
APP = "import { Publisher } from '@acme/kafka';\nconst p = new Publisher(GIVEN);\n"


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("{ clientId: 'a' }", "{ clientId: 'b' }", [("index.ts, constructor", "-1", "true")]),
        ("{ clientId: 'a' }", "{ sure: false, acks: 0 }", [("a.ts", "-1", "true"), ("b.ts", "0", "false")]),
        ("{ clientId: 'a' }", "{ ...options }", [("index.ts, constructor", None, None)]),
    ],
)  # fmt: skip
def test_callers_of_a_package_of_a_workspace(tmp_path, one, other, told) -> None:
    files = {
        "package.json": '{"workspaces": ["*"]}',
        "kafka/package.json": '{"name": "@acme/kafka"}',
        "kafka/src/index.ts": PUBLISHER,
        "a/a.ts": APP.replace("GIVEN", one),
        "b/b.ts": APP.replace("GIVEN", other),
    }
    found = read(tmp_path, files).producers
    assert [(each.name, known(each), known(each, "enable.idempotence")) for each in found] == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("(process.env.SURE ?? 'true') === 'true'", "true"),
        ("process.env.SURE !== 'false'", "true"),
        ("process.env.SURE === 'true'", "false"),
        ("process.env.SURE === 'always'", None),
    ],
)
def test_a_variable_that_is_compared(tmp_path, text, told) -> None:
    script = "import { Kafka } from 'kafkajs';\nimport { settings } from './settings';\n"
    script += "const p = new Kafka({}).producer({ idempotent: settings.sure });\n"
    files = {"package.json": "{}", "p.ts": script, "settings.ts": f"export const settings = {{\n  sure: {text},\n}};\n"}
    assert known(only(read(tmp_path, files)), "enable.idempotence") == told


NET = """using Confluent.Kafka;
class P { object Make(KafkaOptions o) => new ProducerConfig { Acks = o.Durable ? Acks.All : Acks.Leader }; }
"""
OPTIONS_OF_NET = "public class KafkaOptions { public bool Durable { get; set; } = true; }\n"


@pytest.mark.parametrize(
    ("settings", "told"), [("{}", "all"), ('{"Kafka": {"Durable": false}}', "1"), (None, None)]
)  # fmt: skip
def test_one_of_two_values_by_what_an_option_says(tmp_path, settings, told) -> None:
    start = 'services.Configure<KafkaOptions>(configuration.GetSection("Kafka"));\n'
    files = {"a.csproj": "<Project/>", "P.cs": NET, "KafkaOptions.cs": OPTIONS_OF_NET}
    if settings is not None:
        files |= {"Program.cs": start, "appsettings.json": settings}
    assert known(only(read(tmp_path, files))) == told


TOPIC_OF_GO = """package main
import "github.com/confluentinc/confluent-kafka-go/v2/kafka"
func create(a *kafka.AdminClient, topic string) {
	a.CreateTopics(ctx, []kafka.TopicSpecification{{Topic: topic, NumPartitions: 6, ReplicationFactor: 3}})
}
func main() {
	topic := NAME
	p, err := kafka.NewProducer(&kafka.ConfigMap{"acks": "all"})
	p.Produce(&kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &topic}}, nil)
}
"""


@pytest.mark.parametrize(("name", "topics", "made"), [('"orders"', ("orders",), [("orders", 3)]), ("name()", (), [])])
def test_topics_that_a_program_of_gos_makes_and_sends_to(tmp_path, name, topics, made) -> None:
    found = read(tmp_path, {"go.mod": "", "main.go": TOPIC_OF_GO.replace("NAME", name)})
    assert only(found).topics == topics
    assert [(each.name, each.replication_factor) for each in found.topics] == made


SENDS = """package a;
class S {
  static final String ORDERS = "orders";
  @Value("${app.topic}") private String other;
  KafkaTemplate<String, String> template;
  void f(String given) { template.send(NAMED, "k", "v"); }
}
"""
BOOT = "spring.kafka.producer.acks=all\napp.topic=bills\n"


@pytest.mark.parametrize(
    ("named", "topics"),
    [('"t"', ("t",)), ("ORDERS", ("orders",)), ("other", ("bills",)), ("given", ()), ("name(given)", ())],
)
def test_topics_that_the_template_of_boots_sends_to(tmp_path, named, topics) -> None:
    files = {"pom.xml": "<project/>", "src/main/resources/application.properties": BOOT}
    files["src/main/java/a/S.java"] = SENDS.replace("NAMED", named)
    assert only(read(tmp_path, files)).topics == topics


BASE = """package a;
import org.apache.kafka.clients.producer.*;
public abstract class Base {
  Map<String, Object> settings() { Map<String, Object> p = new HashMap<>(); p.put("acks", "all"); return p; }
  Object make() { return new KafkaProducer<>(settings()); }
}
"""
BELOW = """package a;
class {0} extends Base {{
  Map<String, Object> {1}() {{ Map<String, Object> p = super.{1}(); p.put("acks", "1"); return p; }}
}}
"""


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"One": BELOW.format("One", "settings")}, {"One.java": "1"}),
        ({"One": BELOW.format("One", "settings"), "Two": "package a;\nclass Two extends Base { }\n"},
         {"Base.java, make": "all", "One.java": "1"}),
        ({"One": BELOW.format("One", "others")}, {"Base.java, make": "all"}),
    ],
)  # fmt: skip
def test_a_class_that_changes_what_the_one_above_makes(tmp_path, files, told) -> None:
    sources = {"pom.xml": "<project/>", "a/Base.java": BASE, **{f"a/{name}.java": one for name, one in files.items()}}
    assert {each.name: known(each) for each in read(tmp_path, sources).producers} == told
