"""Settings of a program's producers that are not where it makes them: in other files, in what frameworks are told."""

from __future__ import annotations

import pytest

from audit.model import ProducerConfig
from tests.unit.audit.reading import lines, only, read


def known(producer: ProducerConfig, key: str = "acks") -> str | None:
    """The value of a setting; None if it is unknown or not there."""
    setting = producer.settings.get(key)
    return setting.value if setting is not None and setting.known else None


MAKES = """package a.b;
import org.apache.kafka.clients.producer.KafkaProducer;
{0}
class Sender {{ KafkaProducer<String, String> p() {{ {1} }} }}
"""
GIVES = """package {0};
class Settings {{
  static Properties producer() {{ Properties p = base(); {1} return p; }}
  private static Properties base() {{ Properties p = new Properties(); p.put("retries", "3"); return p; }}
}}
"""


@pytest.mark.parametrize(
    ("imports", "folder", "makes"),
    [
        ("", "a/b", "return new KafkaProducer<>(Settings.producer());"),
        ("import a.conf.Settings;", "a/conf", "return new KafkaProducer<>(Settings.producer());"),
        ("", "a/b", "Properties q = Settings.producer(); return new KafkaProducer<>(q);"),
    ],
)
def test_what_a_function_of_another_class_returns_is_followed(tmp_path, imports, folder, makes) -> None:
    files = {
        "src/a/b/Sender.java": MAKES.format(imports, makes),
        f"src/{folder}/Settings.java": GIVES.format(folder.replace("/", "."), 'p.put("acks", "1");'),
    }
    producer = only(read(tmp_path, files))
    assert (known(producer), known(producer, "retries")) == ("1", "3")
    assert lines(producer)["acks"] == "Settings.java:3"


@pytest.mark.parametrize(
    ("folder", "puts"), [("a/c", 'p.put("acks", "1");'), ("a/b", 'p.put("acks", "1"); p.putAll(other);')]
)
def test_what_is_of_another_package_or_has_more_is_unknown(tmp_path, folder, puts) -> None:
    files = {
        "src/a/b/Sender.java": MAKES.format("", "return new KafkaProducer<>(Settings.producer());"),
        f"src/{folder}/Settings.java": GIVES.format(folder.replace("/", "."), puts),
    }
    assert known(only(read(tmp_path, files))) is None


BOOT = "spring.kafka.bootstrap-servers=k:9092\nspring.kafka.producer.acks=1\n"
TEMPLATE = """package a;
import org.apache.kafka.clients.producer.ProducerConfig;
class C {{ KafkaTemplate<String, String> t(ProducerFactory<String, String> f) {{ {} }} }}
"""


@pytest.mark.parametrize(
    ("makes", "acks"),
    [
        ('return new KafkaTemplate<>(f, Map.of(ProducerConfig.ACKS_CONFIG, "all"));', "all"),
        ('Map<String, Object> m = Map.of("acks", "all"); return new KafkaTemplate<>(f, m);', "all"),
        ("return new KafkaTemplate<>(f, true);", "1"),
        ("return new KafkaTemplate<>(f);", "1"),
        ('use(new KafkaTemplate<>(f)); return new KafkaTemplate<>(f, Map.of("acks", "all"));', None),
    ],
)
def test_a_template_of_springs_sets_what_it_is_given_above_its_factory(tmp_path, makes, acks) -> None:
    files = {"pom.xml": "<project/>", "src/main/resources/application.properties": BOOT}
    assert known(only(read(tmp_path, {**files, "src/main/java/a/C.java": TEMPLATE.format(makes)}))) == acks


SOURCE = """@Configuration
@PropertySource("classpath:{}")
class C {{
  @Value("${{kafka.acks}}") private String acks;
  ProducerFactory<String, String> f() {{
    Map<String, Object> m = new HashMap<>(); m.put("acks", acks);
    return new DefaultKafkaProducerFactory<>(m);
  }}
}}
"""


@pytest.mark.parametrize(("name", "found"), [("kafka.properties", [("C.java", "0")]), ("other.properties", None)])
def test_a_property_source_is_no_producer_of_its_own(tmp_path, name, found) -> None:
    files = {"pom.xml": "<project/>", "src/main/java/C.java": SOURCE.format(name)}
    files["src/main/resources/kafka.properties"] = "kafka.acks=0\nkafka.bootstrap.servers=k:9092\n"
    producers = read(tmp_path, files).producers
    if found is None:
        assert len(producers) == 2
    else:
        assert [(each.origin.path.rpartition("/")[2], known(each)) for each in producers] == found


STORM = """import org.apache.storm.kafka.bolt.KafkaBolt;
class T {{ void f() {{ Properties p = new Properties(); p.put("acks", "1");
  KafkaBolt<String, String> b = new KafkaBolt<String, String>(){}; }} }}
"""


@pytest.mark.parametrize("given", [".withProducerProperties(p)", "; b.withProducerProperties(p)"])
def test_a_bolt_of_storms(tmp_path, given) -> None:
    assert known(only(read(tmp_path, {"T.java": STORM.format(given)}))) == "1"


BEAM = """import org.apache.beam.sdk.io.kafka.KafkaIO;
class P {{ void f() {{
  p.apply(KafkaIO.<String, String>read().withTopic("in").withConsumerConfigUpdates(Map.of("retries", "1")))
   .apply(KafkaIO.<String, String>{}().withTopic("out").withProducerConfigUpdates(Map.of("acks", "1")){});
}} }}
"""


def test_a_sink_of_beams(tmp_path) -> None:
    producer = only(read(tmp_path / "a", {"P.java": BEAM.format("write", "")}))
    assert (known(producer), producer.topics, producer.presets["retries"].value) == ("1", ("out",), "3")
    once = only(read(tmp_path / "b", {"P.java": BEAM.format("writeRecords", '.withEOS(1, "g")')}))
    assert "transactional.id" in once.settings
    assert read(tmp_path / "c", {"P.java": BEAM.format("read", "")}).producers == ()


GOCLOUD = """package pub
import "gocloud.dev/pubsub/kafkapubsub"
func Open(given *sarama.Config) {{
  c := kafkapubsub.MinimalConfig()
  c.Producer.RequiredAcks = sarama.WaitForAll
  kafkapubsub.{}(brokers, {}, "t", nil)
}}
"""


@pytest.mark.parametrize(("config", "acks"), [("c", "all"), ("given", None)])
def test_a_topic_of_go_clouds(tmp_path, config, acks) -> None:
    producer = only(read(tmp_path, {"pub.go": GOCLOUD.format("OpenTopic", config)}))
    assert (producer.client, producer.topics) == ("sarama", ("t",))
    assert (known(producer), "acks" in producer.settings) == (acks, True)


def test_a_subscription_of_go_clouds_is_none(tmp_path) -> None:
    assert read(tmp_path, {"pub.go": GOCLOUD.format("OpenSubscription", "c")}).producers == ()


@pytest.mark.parametrize(
    ("content", "acks"),
    [
        ('using DotNetCore.CAP;\ns.AddCap(x => x.UseKafka(o => o.MainConfig.Add("acks", "1")));\n', ["1"]),
        ('using DotNetCore.CAP;\ns.AddCap(x => x.UseKafka("k:9092"));\n', [None]),
        ('using DotNetCore.CAP;\ns.AddCap(x => x.UseRabbitMQ("r")); // not Kafka\n', []),
        (
            'using Confluent.Kafka;\nb.AddKafkaProducer<string, string>("k", s => s.Config.Acks = Acks.Leader);\n',
            ["1"],
        ),
        ('using Confluent.Kafka;\nb.AddKafkaConsumer<string, string>("k", s => s.Config.GroupId = "g");\n', []),
    ],
)
def test_cap_and_aspire(tmp_path, content, acks) -> None:
    found = read(tmp_path, {"P.cs": content}).producers
    assert [(known(each), each.client) for each in found] == [(one, "librdkafka") for one in acks]


SCRIPT = "import config from 'config'\nimport { Kafka } from 'kafkajs'\nconst kafka = new Kafka({})\n"
SCRIPT += "export const p = kafka.producer(config.get('kafka.producer'))\n"
LAYER = '{"kafka": {"producer": {"idempotent": %s, "maxInFlightRequests": 1}}}'


@pytest.mark.parametrize(
    ("layers", "idempotence"),
    [
        ({"default.json": LAYER % "true"}, ["true"]),
        ({"default.json": LAYER % "true", "production.json": LAYER % "false"}, ["true", "false"]),
        ({"default.json": LAYER % "true", "production.json": '{"kafka": {}}'}, ["true"]),
        ({"default.json": '{"kafka": {}}'}, [None]),
    ],
)
def test_what_a_script_asks_node_config_for(tmp_path, layers, idempotence) -> None:
    files = {"package.json": "{}", "src/kafka.js": SCRIPT} | {f"config/{name}": text for name, text in layers.items()}
    found = [each for each in read(tmp_path, files).producers if each.client == "kafkajs"]
    assert [known(each, "enable.idempotence") for each in found] == idempotence


JSON = '{"bootstrap.servers": "k:9092", "acks": "1"}'


@pytest.mark.parametrize(
    ("code", "acks"),
    [
        ("p = Producer(json.load(open('conf/p.json')))", "1"),
        ("c = json.loads(Path('conf/p.json').read_text())\np = Producer(c)", "1"),
        ("p = Producer(json.load(open(sys.argv[1])))", None),
        ("p = Producer(json.load(open('conf/p.json' if x else 'conf/q.json')))", None),
        ("p = Producer(json.load(open('../conf/p.json')))", None),
    ],
)
def test_a_file_of_json_that_a_python_source_loads(tmp_path, code, acks) -> None:
    files = {"app/main.py": f"from confluent_kafka import Producer\n{code}\n", "app/conf/p.json": JSON}
    found = read(tmp_path, files).producers
    assert [known(each) for each in found if each.origin.path.endswith("main.py") or acks] == [acks]


def test_options_of_a_sink_of_sparks_that_are_a_dictionary(tmp_path) -> None:
    code = "from pyspark.sql import SparkSession\nK = {'kafka.acks': '1', 'topic': 't'}\n"
    code += "df.write.format('kafka').options(**K).option('kafka.retries', 3).save()\n"
    producer = only(read(tmp_path / "a", {"j.py": code}))
    assert (known(producer), known(producer, "retries"), producer.topics) == ("1", "3", ("t",))
    assert known(only(read(tmp_path / "b", {"j.py": code.replace("**K", "**f()")}))) is None
    reads = "from pyspark.sql import SparkSession\nspark.read.format('kafka').options(**f()).load()\n"
    assert read(tmp_path / "c", {"j.py": reads}).producers == ()


QUIX = "from quixstreams import Application\napp = Application('k:9092', producer_extra_config={'acks': '1'})\n"


@pytest.mark.parametrize(
    ("does", "acks"),
    [
        ("with app.get_producer() as p: pass", ["1"]),
        ("app.dataframe(t).to_topic(o)", ["1"]),
        ("app.dataframe(t).print()", []),
    ],
)
def test_an_application_of_quixstreams(tmp_path, does, acks) -> None:
    found = read(tmp_path, {"main.py": f"{QUIX}{does}\n"}).producers
    assert [(known(each), each.client) for each in found] == [(one, "librdkafka") for one in acks]


def test_sinks_of_bytewax(tmp_path) -> None:
    code = (
        "from bytewax.connectors.kafka import KafkaSink, KafkaSource\nKafkaSource(B, ['in'], add_config={'acks': 0})\n"
    )
    assert read(tmp_path / "a", {"flow.py": code}).producers == ()
    code += "op.output('o', s, KafkaSink(B, 'out', add_config={'acks': '1'}))\n"
    producer = only(read(tmp_path / "b", {"flow.py": code}))
    assert (known(producer), producer.topics) == ("1", ("out",))


@pytest.mark.parametrize(
    ("extra", "acks"), [('"acks": "1"', ["1"]), ('"group.id": "g"', []), ('"sasl.password": "x"', [])]
)
def test_a_connection_of_airflows(tmp_path, extra, acks) -> None:
    value = f'{{"conn_type": "kafka", "extra": {{"bootstrap.servers": "k:9092", {extra}}}}}'
    content = f"services:\n  a:\n    image: apache/airflow\n    environment:\n      AIRFLOW_CONN_K: '{value}'\n"
    found = read(tmp_path, {"compose.yml": content}).producers
    assert [(known(each), each.name) for each in found] == [(one, "a k") for one in acks]


APP = "class App < Karafka::App\n  setup { |config| config.kafka = { 'bootstrap.servers': 'k', 'acks': 1 } }\nend\n"


@pytest.mark.parametrize(
    ("other", "acks"),
    [
        ({"app/c.rb": "Karafka.producer.produce_async(topic: 't', payload: x)\n"}, ["1"]),
        ({"app/c.rb": "messages.each { |one| puts one }\n"}, []),
        ({"spec/c_spec.rb": "Karafka.producer.produce_sync(topic: 't')\n"}, []),
    ],
)
def test_an_application_of_karafkas(tmp_path, other, acks) -> None:
    found = read(tmp_path, {"karafka.rb": APP, **other}).producers
    assert [(known(each), each.client) for each in found] == [(one, "librdkafka") for one in acks]


def test_delivery_boy(tmp_path) -> None:
    content = "development:\n  required_acks: 0\nproduction:\n  brokers: [k]\n  required_acks: 1\n  max_retries: 5\n"
    producer = only(read(tmp_path, {"config/delivery_boy.yml": content, "config/other.yml": content}))
    assert (known(producer), known(producer, "retries"), producer.client) == ("1", "5", "ruby-kafka")


@pytest.mark.parametrize(
    ("makes", "acks"),
    [
        ("(jc/producer config)", ["1"]),
        ("(KafkaProducer. config)", ["1"]),
        ("(jc/consumer config)", []),
        (";; (jc/producer config)", []),
    ],
)
def test_producers_in_clojure(tmp_path, makes, acks) -> None:
    code = '(ns a (:require [jackdaw.client :as jc]))\n(def config {"acks" "1" "group.id" "g"})\n'
    found = read(tmp_path, {"src/a.clj": f"{code}{makes}\n"}).producers
    assert [(known(each), each.client) for each in found] == [(one, "java") for one in acks]


COPIES = """import org.apache.kafka.clients.producer.KafkaProducer;
class W {{ void f(Properties given) {{ {} new KafkaProducer<>(copy); }} }}
"""


@pytest.mark.parametrize(
    ("copies", "acks"),
    [
        ('Map<String, Object> copy = new HashMap<>(given); copy.put("retries", 3);', None),
        ('Map<String, Object> copy = new HashMap<>(spec.config()); copy.put("retries", 3);', None),
        ('Map<String, Object> copy = new HashMap<>(Map.of("acks", "1")); copy.put("retries", 3);', "1"),
        ('Map<String, Object> copy = new HashMap<>(16); copy.put("acks", "1");', "1"),
    ],
)
def test_a_copy_of_a_map_that_comes_from_elsewhere_may_have_more(tmp_path, copies, acks) -> None:
    producer = only(read(tmp_path, {"W.java": COPIES.format(copies)}))
    assert (known(producer), "acks" in producer.settings) == (acks, True)


@pytest.mark.parametrize(
    ("config", "acks"), [("given", None), ("spec.config()", None), ("own", "1"), ('Map.of("acks", "0")', "0")]
)
def test_what_a_sink_of_beams_is_given(tmp_path, config, acks) -> None:
    content = "import org.apache.beam.sdk.io.kafka.KafkaIO;\nclass P { void f(Map<String, Object> given) {\n"
    content += 'Map<String, Object> own = new HashMap<>(); own.put("acks", "1");\n'
    content += f"p.apply(KafkaIO.<K, V>write().withProducerConfigUpdates({config})); }} }}\n"
    assert known(only(read(tmp_path, {"P.java": content}))) == acks


def test_bytewaxs_own_sources_hand_on_what_they_are_given(tmp_path) -> None:
    code = "import bytewax.connectors.kafka\nKafkaSink(brokers, topic, add_config)\n"
    assert read(tmp_path, {"bytewax/connectors/kafka/operators.py": code}).producers == ()


@pytest.mark.parametrize(("options", "acks"), [("given", None), ("{ requireAcks: 1 }", "1"), ("own", "1")])
def test_options_of_kafka_nodes_that_come_from_elsewhere(tmp_path, options, acks) -> None:
    content = (
        "const kafka = require('kafka-node')\nfunction f(client, given = {}) {\n  const own = { requireAcks: 1 }\n"
    )
    content += f"  return new kafka.HighLevelProducer(client, {options})\n}}\n"
    assert known(only(read(tmp_path, {"p.js": content}))) == acks


@pytest.mark.parametrize(("options", "known"), [("opts.producer", False), ("{ idempotent: true }", True), ("", True)])
def test_options_of_kafkajs_that_come_from_elsewhere_may_make_it_idempotent(tmp_path, options, known) -> None:
    content = "import { Kafka } from 'kafkajs'\nconst p = new Kafka({ brokers: ['k'] }).producer(%s)\n"
    content += "p.send({ topic: 't', acks: 1, messages: [] })\n"
    settings = only(read(tmp_path, {"p.js": content % options})).settings
    assert ("enable.idempotence" not in settings or settings["enable.idempotence"].known) is known


def test_a_producer_of_kafkajs_takes_no_settings_of_librdkafkas(tmp_path) -> None:
    content = "import { Kafka } from 'kafkajs'\nconst old = { 'request.required.acks': 0 }\n"
    content += "const p = new Kafka({ brokers: ['k'] }).producer()\n"
    assert "request.required.acks" not in only(read(tmp_path, {"p.js": content})).settings


CONSTANTS = 'package {0};\nclass Names {{ static final String ACKS = "{1}"; static final String OTHER = "0"; }}\n'


@pytest.mark.parametrize(
    ("imports", "folder", "value", "acks"),
    [
        ("", "a/b", "Names.ACKS", "1"),
        ("import a.conf.Names;", "a/conf", "Names.ACKS", "1"),
        ("import static a.conf.Names.ACKS;", "a/conf", "ACKS", "1"),
        ("", "a/b", "Names.LATER", None),
        ("", "a/elsewhere", "Names.ACKS", None),
    ],
)
def test_constants_of_another_class_are_known(tmp_path, imports, folder, value, acks) -> None:
    made = f'Properties p = new Properties(); p.put("acks", {value}); return new KafkaProducer<>(p);'
    files = {
        "src/a/b/Sender.java": MAKES.format(imports, made),
        f"src/{folder}/Names.java": CONSTANTS.format(folder.replace("/", "."), "1"),
    }
    assert known(only(read(tmp_path, files))) == acks


GO = """package bus
import "github.com/confluentinc/confluent-kafka-go/v2/kafka"
func open() (*kafka.Producer, error) { return kafka.NewProducer(&kafka.ConfigMap{"acks": required}) }
"""


@pytest.mark.parametrize(
    ("file", "content", "acks"),
    [
        ("const.go", 'package bus\nconst required = "1"\n', "1"),
        ("const.go", 'package bus\nconst (\n\tother = "0"\n\trequired = "all"\n)\n', "all"),
        ("const_test.go", 'package bus\nconst required = "1"\n', None),
        ("sub/const.go", 'package sub\nconst required = "1"\n', None),
        ("const.go", 'package bus\nvar required = "1"\n', None),
    ],
)
def test_constants_of_the_same_package_of_go_are_known(tmp_path, file, content, acks) -> None:
    assert known(only(read(tmp_path, {"bus/open.go": GO, f"bus/{file}": content}))) == acks


@pytest.mark.parametrize(
    ("imports", "acks"),
    [
        ("import { REQUIRED } from './names';", "1"),
        ("const { REQUIRED } = require('./names');", "1"),
        ("import { REQUIRED } from 'names';", None),
        ("import { OTHER } from './names';", None),
    ],
)
def test_constants_that_a_script_imports_are_known(tmp_path, imports, acks) -> None:
    script = f"import {{ Kafka }} from 'kafkajs';\n{imports}\nconst producer = new Kafka({{}}).producer();\n"
    script += "producer.send({ topic: 't', acks: REQUIRED, messages: [] });\n"
    names = "export const REQUIRED = 1;\nexport const OTHER = 0;\n"
    assert known(only(read(tmp_path, {"src/a.ts": script, "src/names.ts": names}))) == acks


SENDS = """package main
import (
	"github.com/IBM/sarama"
	%s"example.com/shop/conf"
)
func main() { %s }
"""
CONF = """package conf
import "github.com/IBM/sarama"
func Sender() *sarama.Config {
	c := sarama.NewConfig()
	c.Producer.RequiredAcks = sarama.%s
	return c
}
"""


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("", "sarama.NewSyncProducer(servers, conf.Sender())"),
        ("", "c := conf.Sender()\nsarama.NewSyncProducer(servers, c)"),
        ("own ", "sarama.NewSyncProducer(servers, own.Sender())"),
    ],
)
def test_a_configuration_of_another_package_of_the_module_is_followed(tmp_path, name, body) -> None:
    files = {"go.mod": "module example.com/shop\n", "cmd/main.go": SENDS % (name, body)}
    files["conf/conf.go"] = CONF % "NoResponse"
    assert known(only(read(tmp_path, files))) == "0"
    files["go.mod"] = "module example.com/other\n"
    assert known(only(read(tmp_path / "b", files))) is None


TAKES = """package bus
import "github.com/IBM/sarama"
func Open(servers []string, config *sarama.Config) (sarama.SyncProducer, error) {
	return sarama.NewSyncProducer(servers, config)
}
"""


@pytest.mark.parametrize(
    ("more", "unknown"),
    [
        ("", True),
        ("func Small() *sarama.Config { return sarama.NewConfig() }\n", True),
        ("func main() { Open(nil, sarama.NewConfig()) }\n", False),
    ],
)
def test_a_configuration_that_a_library_takes_is_unknown(tmp_path, more, unknown) -> None:
    producer = only(read(tmp_path, {"bus.go": TAKES + more}))
    assert ("acks" in producer.settings) is unknown
    assert known(producer) is None


ASKS = """import org.apache.kafka.clients.producer.KafkaProducer;
import com.typesafe.config.*;
class A {{ Object p() {{
  Config config = ConfigFactory.load(); Properties p = new Properties();
  p.put("acks", config.getString("{}")); return new KafkaProducer<>(p);
}} }}
"""


@pytest.mark.parametrize(("asked", "acks"), [("shop.kafka.acks", "1"), ("kafka.acks", "1"), ("kafka.other", None)])
def test_what_a_program_asks_its_file_for_is_what_the_file_says(tmp_path, asked, acks) -> None:
    files = {
        "pom.xml": "<project/>",
        "src/main/java/A.java": ASKS.format(asked),
        "src/main/resources/application.conf": 'shop {\n  kafka { acks = "1", bootstrap.servers = "k:9092" }\n}\n',
    }
    assert known(only(read(tmp_path, files))) == acks


FACTORY = """import org.springframework.kafka.core.DefaultKafkaProducerFactory;
class A {{ Object f(Environment env) {{
  Map<String, Object> p = new HashMap<>(); p.put("acks", env.getProperty({}));
  return new DefaultKafkaProducerFactory<>(p);
}} }}
"""


@pytest.mark.parametrize(
    ("asked", "acks"), [('"kafka.acks"', "1"), ('"shop.acks", "all"', "all"), ('"shop.acks"', None)]
)
def test_what_spring_is_asked_for_is_one_producer_with_its_file(tmp_path, asked, acks) -> None:
    files = {
        "pom.xml": "<project/>",
        "src/main/java/A.java": FACTORY.format(asked),
        "src/main/resources/application.properties": "kafka.acks=1\n" if acks == "1" else "server.port=1\n",
    }
    assert known(only(read(tmp_path, files))) == acks
