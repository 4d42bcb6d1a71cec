"""A producer that several places of a repository speak of is told once, and what only looks like one is not told."""

from __future__ import annotations

import pytest

from audit.model import Inputs, ProducerConfig
from tests.unit.audit.reading import only, read, values


def places(inputs: Inputs, folder: object) -> list[str]:
    """The files of the producers that were found."""
    return [each.origin.path.removeprefix(f"{folder}/") for each in inputs.producers]


def known(producer: ProducerConfig, key: str = "acks") -> str | None:
    """The value of a setting; None if it is unknown or not there."""
    setting = producer.settings.get(key)
    return setting.value if setting is not None and setting.known else None


@pytest.mark.parametrize("name", ["topicConf", "topic_config", "defaultTopicConfig", "topic"])
def test_a_section_of_topics_belongs_to_the_producer_beside_it(tmp_path, name) -> None:
    own = '"rdkafka": {"metadata.broker.list": "k:9092", "queue.buffering.max.messages": 9}'
    text = f'{{"kafka": {{"producer": {{{own}, "{name}": {{"request.required.acks": "1"}}}}}}}}'
    producer = only(read(tmp_path, {"config/default.json": text}))
    assert values(producer)["request.required.acks"] == "1"
    assert values(producer)["metadata.broker.list"] == "k:9092"


def test_a_section_of_topics_that_is_alone_is_a_producers(tmp_path) -> None:
    text = '{"kafka": {"producer": {"topicConf": {"request.required.acks": "1"}}}}'
    assert values(only(read(tmp_path, {"config/default.json": text}))) == {"request.required.acks": "1"}


KTOR = """package a
import org.apache.kafka.clients.producer.KafkaProducer
fun make(): KafkaProducer<String, String> {{
    val props = Properties()
    props["bootstrap.servers"] = servers
    {}
    return KafkaProducer(props)
}}
"""
CONF = "ktor { kafka { producer { client.id = a, acks = 1 } } }\n"


@pytest.mark.parametrize(
    ("puts", "files"),
    [
        ("config.toMap().forEach { (key, value) -> props[key] = value }", ["application.conf"]),
        ("keys.forEach { props[it] = config.getString(it) }", ["application.conf"]),
        ("for (e in config.entries) props.put(e.key, e.value)", ["application.conf"]),
        ("section.forEach(props::put)", ["application.conf"]),
        ('props["acks"] = "0"', ["application.conf", "Kafka.kt"]),
    ],
)
def test_a_map_that_a_file_fills_is_the_files(tmp_path, puts, files) -> None:
    found = read(tmp_path, {"pom.xml": "<project/>", "application.conf": CONF, "Kafka.kt": KTOR.format(puts)})
    assert places(found, tmp_path) == files


BOTH = ["karafka.rb", "config/p.rb"]
WATERDROP = "P = WaterDrop::Producer.new { |c| c.kafka = { 'bootstrap.servers': 'k', 'acks': 1 } }\n"
KARAFKA = "class App < Karafka::App\n  setup { |config| config.kafka = { 'bootstrap.servers': 'k' } }\nend\n"


@pytest.mark.parametrize(
    ("sends", "files"),
    [
        ("P.produce_async(topic: 't', payload: x)\n", ["config/p.rb"]),
        ("class C < ApplicationConsumer\n  def consume; @p.produce_async(topic: 't'); end\nend\n", ["config/p.rb"]),
        ("class C < ApplicationConsumer\n  def consume; produce_async(topic: 't'); end\nend\n", BOTH),
        ("Karafka.producer.produce_sync(topic: 't', payload: x)\n", BOTH),
        ("# Karafka.producer.produce_sync(topic: 't')\n", ["config/p.rb"]),
    ],
)
def test_what_a_producer_of_ones_own_sends_is_not_karafkas(tmp_path, sends, files) -> None:
    found = read(tmp_path, {"karafka.rb": KARAFKA, "config/p.rb": WATERDROP, "app/c.rb": sends})
    assert sorted(places(found, tmp_path)) == sorted(files)


@pytest.mark.parametrize(
    ("call", "acks", "topics"),
    [
        (":brod.start_producer(@client, kafka[:topic], _config = [])", None, ("seats",)),
        (':brod.start_producer(@client, "t", config = [required_acks: 0])', "0", ("t",)),
        (':brod.start_producer(@client, "t", @config)\n  @config [required_acks: 1]', "1", ("t",)),
        (":brod.start_producer(@client, name, options)", "(an expression)", ()),
    ],
)
def test_a_producer_of_brods_whose_settings_have_a_name(tmp_path, call, acks, topics) -> None:
    config = 'import Config\nconfig :a, :kafka, endpoints: [], topic: "seats"\n'
    files = {"mix.exs": "defmodule M do end", "config/config.exs": config}
    producer = only(read(tmp_path, {**files, "lib/a.ex": f"defmodule A do\n  {call}\nend\n"}))
    assert (values(producer).get("acks"), producer.topics) == (acks, topics)


@pytest.mark.parametrize(
    ("made", "acks"),
    [("new \\RdKafka\\TopicConf()", "1"), ("new TopicConf()", "1"), ("new \\RdKafka\\Conf()", None)],
)
def test_settings_of_a_topic_of_php_are_its_producers(tmp_path, made, acks) -> None:
    text = (
        "<?php\n$conf = new \\RdKafka\\Conf();\n$conf->set('bootstrap.servers', 'k');\n"
        f"$p = new \\RdKafka\\Producer($conf);\n$other = {made};\n$other->set('request.required.acks', '1');\n"
    )
    assert values(only(read(tmp_path, {"a.php": text}))).get("request.required.acks") == acks


BUILDER = """package a;
class Settings {
  private final Properties p = new Properties();
  Settings forProducer(String s) { p.put("bootstrap.servers", s); return this; }
  Settings safe() { p.put("acks", "all"); return this; }
  Settings fast() { p.put("acks", "0"); return this; }
  Properties build() { return p; }
}
"""


@pytest.mark.parametrize(
    ("chain", "acks"),
    [
        (".forProducer(s).safe().build()", "all"),
        (".forProducer(s).fast().build()", "0"),
        (".forProducer(s).build()", None),
    ],
)
@pytest.mark.parametrize("makes", ["Properties p = {}; return new KafkaProducer<>(p);", "new KafkaProducer<>({});"])
def test_a_map_that_a_class_builds_has_what_is_called(tmp_path, chain, acks, makes) -> None:
    sender = (
        "package a;\nimport org.apache.kafka.clients.producer.KafkaProducer;\n"
        f"class Sender {{ Object make(String s) {{ {makes.format('new Settings()' + chain)} }} }}\n"
    )
    producer = only(read(tmp_path, {"pom.xml": "<project/>", "a/Settings.java": BUILDER, "a/Sender.java": sender}))
    assert values(producer).get("acks") == acks


def test_a_function_of_a_library_of_gos_is_not_the_programs(tmp_path) -> None:
    own = (
        'package broker\nimport "github.com/confluentinc/confluent-kafka-go/v2/kafka"\n'
        "func NewProducer(acks string) *kafka.Producer {\n"
        '\tp, _ := kafka.NewProducer(&kafka.ConfigMap{"acks": acks})\n\treturn p\n}\n'
    )
    main = 'package main\nimport "shop.io/x/broker"\nfunc main() {\n\tp := broker.NewProducer("1")\n}\n'
    files = {"go.mod": "module shop.io/x\n", "broker/producer.go": own, "main.go": main}
    assert values(only(read(tmp_path, files)))["acks"] == "1"


@pytest.mark.parametrize(
    ("folder", "count"),
    [
        ("src/main/java/a/adapters/out/kafka", 1),
        ("src/main/java/a/build", 1),
        ("internal/adapter/out", 1),
        ("internal/out", 0),
        ("build/generated/a", 0),
    ],
)
def test_a_package_may_have_the_name_of_what_a_build_makes(tmp_path, folder, count) -> None:
    makes = 'Map m = new HashMap(); m.put("acks", "1"); return new kafka.KafkaProducer(m);'
    text = f"package a;\nclass A {{ Object p() {{ {makes} }} }}\n"
    assert len(read(tmp_path, {f"{folder}/A.java": text}).producers) == count


def test_the_outgoing_side_has_an_incoming_one_beside_it(tmp_path) -> None:
    files = {"a/in/x.txt": "", "a/out/producer.properties": "bootstrap.servers=k:9092\nacks=0\n"}
    assert len(read(tmp_path, files).producers) == 1


def test_a_file_that_a_program_loads_has_the_topics_that_it_sends_to(tmp_path) -> None:
    sender = (
        "package a;\nimport org.apache.kafka.clients.producer.*;\nclass S { void s(Producer<String, String> p) "
        '{ p.send(new ProducerRecord<>("orders", "k", "v")); } }\n'
    )
    settings = "bootstrap.servers=k:9092\nacks=1\n"
    files = {"pom.xml": "<project/>", "conf/producer.properties": settings, "a/S.java": sender}
    assert only(read(tmp_path, files)).topics == ("orders",)


PYTHON = """from kafka import KafkaProducer
class Broker:
    def connect(self):
        if self.tls:
            {first} KafkaProducer(bootstrap_servers=self.host, ssl_cafile=self.ca, acks={acks[0]})
        else:
            {second} KafkaProducer(bootstrap_servers=self.host, acks={acks[1]})
"""


@pytest.mark.parametrize(
    ("first", "second", "acks", "count"),
    [
        ("self.p =", "self.p =", "11", 1),
        ("return", "return", "11", 1),
        ("self.p =", "self.p =", "10", 2),
        ("self.p =", "self.q =", "11", 2),
        ("return", "self.p =", "11", 2),
    ],
)
def test_branches_that_make_one_producer_of_python(tmp_path, first, second, acks, count) -> None:
    text = PYTHON.format(first=first, second=second, acks=acks)
    assert len(read(tmp_path, {"broker.py": text}).producers) == count


AGAIN = "from kafka import KafkaProducer\nclass {}:\n    def a(self): self.p = KafkaProducer(acks=1)\n"


def test_a_field_that_is_bound_anew_is_one_producer(tmp_path) -> None:
    again = AGAIN.format("A") + "    def b(self): self.p = KafkaProducer(acks=1)\n"
    assert len(read(tmp_path / "a", {"a.py": again}).producers) == 1
    other = AGAIN.format("A") + AGAIN.format("B")
    assert len(read(tmp_path / "b", {"a.py": other}).producers) == 2


GO = """package a
import "github.com/segmentio/kafka-go"
func New(tls bool) *kafka.Writer {{
	if tls {{
		return &kafka.Writer{{Addr: kafka.TCP("k:9093"), RequiredAcks: kafka.{}}}
	}}
	return &kafka.Writer{{Addr: kafka.TCP("k:9092"), RequiredAcks: kafka.{}}}
}}
"""
TWO_OF_GO = """package a
import "github.com/IBM/sarama"
func New(c *sarama.Config) {
	audit, err := sarama.NewSyncProducer(nil, c)
	orders, err := sarama.NewSyncProducer(nil, c)
}
"""


def test_branches_that_make_one_producer_of_go(tmp_path) -> None:
    assert len(read(tmp_path / "a", {"a.go": GO.format("RequireAll", "RequireAll")}).producers) == 1
    assert len(read(tmp_path / "b", {"a.go": GO.format("RequireAll", "RequireOne")}).producers) == 2
    assert len(read(tmp_path / "c", {"a.go": TWO_OF_GO}).producers) == 2


SCRIPT = """const {{ Kafka }} = require('kafkajs')
const kafka = new Kafka({{ brokers: ['k'] }})
class A {{
  async connect () {{ this.producer = kafka.producer() }}
  async again () {{ this.producer = kafka.producer({}) }}
}}
"""


@pytest.mark.parametrize(("given", "count"), [("", 1), ("{ idempotent: true }", 2)])
def test_a_field_of_a_script_that_is_set_anew_is_one_producer(tmp_path, given, count) -> None:
    assert len(read(tmp_path, {"a.js": SCRIPT.format(given)}).producers) == count


@pytest.mark.parametrize(
    ("sends", "count"),
    [("Producer({'bootstrap.servers': s}).list_topics()", 0), ("Producer({'bootstrap.servers': s}).produce('t')", 1)],
)
def test_a_producer_that_is_made_to_ask_is_none(tmp_path, sends, count) -> None:
    text = f"from confluent_kafka import Producer\ndef up(s):\n    {sends}\n"
    assert len(read(tmp_path, {"up.py": text}).producers) == count


@pytest.mark.parametrize(
    ("imports", "files"),
    [("require('./kafka')", ["kafka.js"]), ("require('node-rdkafka').Producer", ["kafka.js", "util.js"])],
)
def test_a_class_of_the_programs_with_a_librarys_name(tmp_path, imports, files) -> None:
    own = (
        "const Kafka = require('node-rdkafka')\nclass Producer {\n"
        "  constructor () { this._p = new Kafka.Producer({ 'acks': 1 }) }\n}\nmodule.exports = Producer\n"
    )
    util = f"// of node-rdkafka\nconst Producer = {imports}\nconst p = new Producer({{ 'acks': 1 }})\n"
    assert sorted(places(read(tmp_path, {"kafka.js": own, "util.js": util}), tmp_path)) == files


@pytest.mark.parametrize(("imports", "count"), [("", 1), ("import org.springframework.kafka.core.*;", 2)])
def test_a_factory_of_the_programs_with_springs_name(tmp_path, imports, count) -> None:
    own = (
        "package a;\nimport org.apache.kafka.clients.producer.KafkaProducer;\nclass DefaultKafkaProducerFactory "
        "{ Object make(Properties p) { return new KafkaProducer<>(p); } }\n"
    )
    user = f"package a;\n{imports}\nclass User {{ Object f = new DefaultKafkaProducerFactory(); }}\n"
    files = {"a/DefaultKafkaProducerFactory.java": own, "a/User.java": user}
    assert len(read(tmp_path, files).producers) == count


@pytest.mark.parametrize(
    ("folder", "count"),
    [
        ("docs", 0),
        ("doc/kafka", 0),
        ("snippets", 0),
        ("src/__mocks__", 0),
        ("internal/testutil", 0),
        ("test-support/src", 0),
        ("cypress/support", 0),
        ("documents", 1),
        ("mock-producer", 1),
        ("contestutils", 1),
    ],
)
def test_documents_and_helpers_of_tests_configure_nothing(tmp_path, folder, count) -> None:
    files = {f"{folder}/producer.properties": "bootstrap.servers=k:9092\nacks=0\n"}
    assert len(read(tmp_path, files).producers) == count


def test_a_program_in_a_directory_of_documents_is_read(tmp_path) -> None:
    files = {"docs/producer.properties": "bootstrap.servers=k:9092\nacks=0\n", "docs/Dockerfile": "FROM x\n"}
    assert len(read(tmp_path, files).producers) == 1


WRITER = 'package main\nimport "github.com/segmentio/kafka-go"\nfunc New(acks kafka.RequiredAcks) *kafka.Writer {\n'
SECTION = "kafka:\n  brokers: [k]\n  producer: {acks: all, retries: 5}\n"


@pytest.mark.parametrize(
    ("makes", "more", "files"),
    [
        ("RequiredAcks: kafka.RequireOne", {}, ["p.go"]),
        ("RequiredAcks: acks", {}, ["p.go"]),
        (
            "RequiredAcks: acks",
            {"other.yaml": SECTION.replace("kafka", "kafka2")},
            ["config.yaml", "other.yaml", "p.go"],
        ),
    ],
)
def test_the_only_section_is_the_only_producers(tmp_path, makes, more, files) -> None:
    text = f'{WRITER}\treturn &kafka.Writer{{Addr: kafka.TCP("k"), {makes}}}\n}}\n'
    found = read(tmp_path, {"go.mod": "module a\n", "p.go": text, "config.yaml": SECTION, **more})
    assert sorted(places(found, tmp_path)) == files
    if len(files) == 1:
        acks = only(found).settings["acks"]
        assert (acks.value if acks.known else None) == ("1" if "RequireOne" in makes else None)


def test_the_section_of_a_program_without_a_source_is_a_producer(tmp_path) -> None:
    assert len(read(tmp_path, {"go.mod": "module a\n", "config.yaml": SECTION}).producers) == 1


OWN_WRITER = """package a
import {} "github.com/segmentio/kafka-go"
type Writer struct {{ w *kafka.Writer }}
func NewWriter(a string) *Writer {{
	return &Writer{{w: &{}Writer{{Addr: kafka.TCP(a), Topic: "t"}}}}
}}
"""


@pytest.mark.parametrize(
    ("imported", "package", "lines"),
    [("", "kafka.", [5]), (".", "", [5, 5]), ("other", "other.", [5]), ("", "other.", []), ("", "", [])],
)
def test_a_struct_of_ones_own_is_no_writer_of_kafka_gos(tmp_path, imported, package, lines) -> None:
    found = read(tmp_path, {"go.mod": "module a\n", "w.go": OWN_WRITER.format(imported, package)})
    assert [each.origin.line for each in found.producers] == lines


TABLE = "CREATE TABLE {} (a STRING) WITH ('connector' = 'kafka', 'topic' = 't', 'properties.group.id' = 'g');\n"


@pytest.mark.parametrize(
    ("table", "insert", "written"),
    [
        ("raw", "INSERT INTO raw SELECT 1;", True),
        ("raw", "INSERT INTO iceberg.db.raw SELECT a FROM raw;", False),
        ("raw", "INSERT INTO `default_catalog`.`default_database`.raw SELECT 1;", True),
        ("raw", "USE CATALOG kafka; USE db; INSERT INTO kafka.db.raw SELECT 1;", True),
        ("kafka.db.raw", "INSERT INTO kafka.db.raw SELECT 1;", True),
        ("kafka.db.raw", "INSERT INTO lake.db.raw SELECT a FROM kafka.db.raw;", False),
    ],
)
def test_a_table_of_another_catalog_is_another_one(tmp_path, table, insert, written) -> None:
    assert bool(read(tmp_path, {"a.sql": TABLE.format(table) + insert}).producers) == written


PROFILES = {
    "application.yml": "spring:\n  {}: dev\n  kafka:\n    producer:\n      client-id: a\n",
    "application-dev.yml": "spring.kafka.producer.acks: 0\n",
    "application-prod.yml": "spring.kafka.producer.acks: all\n",
}


@pytest.mark.parametrize(
    ("key", "acks"),
    [("profiles.default", ["0", "all"]), ("profiles.active", ["0", "all"]), ("profiles.other", [None, "0", "all"])],
)
def test_an_application_without_its_default_profile_is_none(tmp_path, key, acks) -> None:
    files = {**PROFILES, "application.yml": PROFILES["application.yml"].format(key)}
    assert [values(each).get("acks") for each in read(tmp_path, files).producers] == acks


def test_a_default_profile_counts_if_none_is_made_active(tmp_path) -> None:
    base = PROFILES["application.yml"].format("profiles.default") + "spring.profiles.active: prod\n"
    found = read(tmp_path, {**PROFILES, "application.yml": base})
    assert found.producers[0].name.endswith("(profile prod)")


CAMEL = """package a;
import org.apache.camel.builder.RouteBuilder;
public class Routes extends RouteBuilder {{
  public void configure() {{
    from("direct:a").to("kafka:orders?brokers={{{{k}}}}" {} "&requestRequiredAcks=all&retries=1" + "0");
  }}
}}
"""


@pytest.mark.parametrize(("joined", "acks"), [("+", ["all"]), ("+ more +", []), ("-", [])])
def test_an_endpoint_of_camels_that_is_added_up(tmp_path, joined, acks) -> None:
    found = read(tmp_path, {"pom.xml": "<project/>", "Routes.java": CAMEL.format(joined)})
    assert [values(each)["acks"] for each in found.producers] == acks
    assert all(values(each)["retries"] == "10" for each in found.producers)


VERTX = """package a
import io.vertx.kafka.client.producer.KafkaProducer
import io.vertx.kafka.client.producer.KafkaProducerRecord
fun start() {{
  val p = KafkaProducer.create<String, String>(vertx, mapOf("acks" to "1"))
  p.send({}.create("t", key, value))
}}
"""


@pytest.mark.parametrize(("record", "topics"), [("KafkaProducerRecord", ("t",)), ("Message", ())])
def test_the_topic_of_a_record_of_vertx(tmp_path, record, topics) -> None:
    assert only(read(tmp_path, {"pom.xml": "<project/>", "A.kt": VERTX.format(record)})).topics == topics


@pytest.mark.parametrize(
    ("artifact", "release"),
    [("kafka-streams-scala", "2.8.1"), ("kafka-streams-avro", None), ("kafka-streams", "2.8.1")],
)
def test_the_release_of_streams_for_scala(tmp_path, artifact, release) -> None:
    build = f'libraryDependencies += "org.apache.kafka" %% "{artifact}" % "2.8.1"\n'
    found = read(tmp_path, {"build.sbt": build, "a.properties": "application.id=a\nproducer.acks=1\n"})
    assert only(found).release == release


SENDER = {
    "java": """package a;
import org.apache.kafka.clients.producer.*;
public abstract class Sender {
  protected Sender(String servers, int retries) {
    Properties p = new Properties();
    p.put("acks", acks());
    p.put("retries", retries);
    producer = new KafkaProducer<>(p);
  }
  protected abstract String acks();
}
""",
    "kt": """package a
import org.apache.kafka.clients.producer.*
abstract class Sender(servers: String, retries: Int) {
  protected abstract val acks: String
  private fun props() = Properties().apply {
    put("acks", acks)
    put("retries", retries)
  }
  private val producer = make()
  private fun make(): KafkaProducer<String, String> { return KafkaProducer(props()) }
}
""",
}
HEIR = {
    "java": "class {0} extends Sender {{\n  {0}(String s) {{ super(s, {2}); }}\n"
    "  @Override protected String acks() {{ return {1}; }}\n}}\n",
    "kt": "class {0}(s: String) : Sender(s, {2}) {{\n  override val acks: String = {1}\n}}\n",
}


@pytest.mark.parametrize("end", ["java", "kt"])
@pytest.mark.parametrize(
    ("heirs", "told"),
    [
        ((("One", '"all"', "1"), ("Two", '"0"', "1")), [("One", "all", "1"), ("Two", "0", "1")]),
        ((("One", '"all"', "1"), ("Two", '"all"', "2")), [("One", "all", "1"), ("Two", "all", "2")]),
        ((("One", '"all"', "1"), ("Two", '"all"', "1")), [("One", "all", "1")]),
        ((("One", '"all"', "1"), ("Two", "asked(x)", "1")), [("One", "all", "1"), ("Two", None, "1")]),
    ],
)
def test_classes_that_give_an_abstract_one_its_settings(tmp_path, end, heirs, told) -> None:
    files = {f"src/{each[0]}.{end}": "package a\n" + HEIR[end].format(*each) for each in heirs}
    found = read(tmp_path, {"pom.xml": "<project/>", f"src/Sender.{end}": SENDER[end], **files})
    one = [(each.name.partition(".")[0], known(each, "acks"), known(each, "retries")) for each in found.producers]
    assert sorted(one) == told


def test_several_classes_of_one_file_that_inherit(tmp_path) -> None:
    heirs = "package a\n" + HEIR["kt"].format("One", '"all"', 1) + HEIR["kt"].format("Two", '"0"', 1)
    found = read(tmp_path, {"pom.xml": "<project/>", "Sender.kt": SENDER["kt"], "Heirs.kt": heirs})
    assert [(each.name, known(each, "acks")) for each in found.producers] == [
        ("Heirs.kt, One", "all"),
        ("Heirs.kt, Two", "0"),
    ]


@pytest.mark.parametrize(
    "other",
    [
        'class Two(val sender: Sender) { val acks = "0" }\n',
        'class Two(val sender: Sender) : Closeable { val acks = "0" }\n',
        'class Two : Senders("0")\n',
    ],
)
def test_a_class_that_has_another_inherits_nothing_of_it(tmp_path, other) -> None:
    files = {"pom.xml": "<project/>", "Sender.kt": SENDER["kt"], "One.kt": HEIR["kt"].format("One", '"all"', 1)}
    assert places(read(tmp_path, {**files, "Two.kt": other}), tmp_path) == ["One.kt"]


LOOP_OF_CPP = """#include <librdkafka/rdkafkacpp.h>
const std::map<std::string, std::string> kMap = {{{{"acks", "{}"}}, {{"linger.ms", "0"}}}};
void make() {{
  auto conf = RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL);
  auto other = RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL);
  {}
  auto p = RdKafka::Producer::create(conf, err);
  p->produce("t");
}}
"""
EACH = "for (const auto &[k, v] : kMap) conf->set(k, v, err);"


@pytest.mark.parametrize(
    ("loop", "acks"),
    [
        (EACH, "1"),
        ("for (auto& e : kMap) { if (conf->set(e.first, e.second, err) != OK) throw 1; }", "1"),
        (EACH.replace("conf", "other"), None),
        (EACH.replace("kMap", "given"), None),
        ('kMap["acks"] = all;\n' + EACH, None),
    ],
)
def test_a_loop_of_cpp_that_sets_what_a_map_has(tmp_path, loop, acks) -> None:
    assert known(only(read(tmp_path, {"p.cpp": LOOP_OF_CPP.format(1, loop)}))) == acks


LOOP_OF_PHP = """<?php
class P {{
  private const MAP = ['acks' => '1', 'linger.ms' => '0'{}];
  public function make() {{
    $conf = new \\RdKafka\\Conf();
    foreach ({} as $k => $v) {{ $conf->set($k, (string) $v); }}
    return new \\RdKafka\\Producer($conf);
  }}
}}
"""


@pytest.mark.parametrize(
    ("more", "name", "acks"), [("", "self::MAP", "1"), ("", "$this->given", None), (", ...OTHERS", "self::MAP", None)]
)
def test_a_loop_of_php_that_sets_what_an_array_has(tmp_path, more, name, acks) -> None:
    assert known(only(read(tmp_path, {"p.php": LOOP_OF_PHP.format(more, name)}))) == acks


TAKES = {
    "kt": """package a
import org.apache.kafka.clients.producer.KafkaProducer
object Factory {
  fun producer(env: Env, more: Properties.() -> Unit = {}) = KafkaProducer<String, String>(common(env).apply(more))
  private fun common(env: Env) = Properties().apply { put("acks", "all") }
}
""",
    "java": """package a;
import org.apache.kafka.clients.producer.KafkaProducer;
class Factory {
  static Object producer(Env env, Consumer<Properties> more) {
    Properties p = new Properties();
    p.put("acks", "all");
    more.accept(p);
    return new KafkaProducer<>(p);
  }
}
""",
}


@pytest.mark.parametrize(
    ("end", "given", "told"),
    [
        ("kt", ['Factory.producer(env) { put("acks", "1") }'], ["1"]),
        ("kt", ["Factory.producer(env)"], ["all"]),
        ("kt", ["Factory.producer(env)", 'Factory.producer(env) { put("acks", "0") }'], ["all", "0"]),
        ("kt", ["Factory.producer(env) { putAll(others) }"], [None]),
        ("kt", ["Factory.producer(env, others)"], [None]),
        ("java", ['Factory.producer(env, p -> p.put("acks", "1"));'], ["1"]),
        ("java", ["Factory.producer(env, others);"], [None]),
        ("java", [], [None]),
    ],
)
def test_a_function_that_sets_more_in_the_map_of_a_producer(tmp_path, end, given, told) -> None:
    files = {"pom.xml": "<project/>", f"Factory.{end}": TAKES[end]}
    head = {"kt": "fun start() {{\n  {}\n}}\n", "java": "class A {{ void start() {{\n  {}\n}} }}\n"}[end]
    for at, call in enumerate(given):
        files[f"A{at}.{end}"] = "package a\n" + head.format(call)
    assert [known(each) for each in read(tmp_path, files).producers] == told


BASE_OF_PYTHON = """from confluent_kafka import Producer
class Base:
    acks = "all"
    def __init__(self, retries=1):
        self.p = Producer({"bootstrap.servers": "k", "acks": self.acks, "retries": retries})
"""
HEIR_OF_PYTHON = "from base import Base\nclass {}(Base):\n    {}\n"
GIVES = "def __init__(self):\n        super().__init__({})"


@pytest.mark.parametrize(
    ("one", "two", "used", "told"),
    [
        ('acks = "1"', 'acks = "0"', "", [("a.py, A", "1", "1"), ("b.py, B", "0", "1")]),
        ('acks = "1"', "pass", "", [("a.py, A", "1", "1"), ("b.py, B", "all", "1")]),
        ('acks = "1"', "pass", "Base()", [("a.py, A", "1", "1"), ("base.py, __init__", "all", "1")]),
        ("pass", "pass", "", [("base.py, __init__", "all", "1")]),
        (GIVES.format(2), GIVES.format("retries=3"), "", [("a.py, A", "all", "2"), ("b.py, B", "all", "3")]),
        (GIVES.format(2), GIVES.format("some()"), "", [("a.py, A", "all", "2"), ("b.py, B", "all", None)]),
    ],
)
def test_classes_of_python_that_give_another_one_its_settings(tmp_path, one, two, used, told) -> None:
    heirs = {"a.py": HEIR_OF_PYTHON.format("A", one), "b.py": HEIR_OF_PYTHON.format("B", two)}
    main = f"from a import A\nfrom b import B\nfrom base import Base\nA()\nB()\n{used}\n"
    found = read(tmp_path, {"base.py": BASE_OF_PYTHON, **heirs, "main.py": main, "pyproject.toml": ""})
    assert sorted((each.name, known(each), known(each, "retries")) for each in found.producers) == told


def test_a_class_of_python_that_has_the_name_of_another_inherits_nothing_of_it(tmp_path) -> None:
    other = HEIR_OF_PYTHON.format("A", 'acks = "1"').replace("from base", "from others")
    found = read(tmp_path, {"base.py": BASE_OF_PYTHON, "a.py": other, "pyproject.toml": ""})
    assert [(each.name, known(each)) for each in found.producers] == [("base.py, __init__", "all")]


AIO = """from aiokafka import AIOKafkaProducer
class Base:
    acks = "all"
    async def start(self):
        self.p = AIOKafkaProducer(bootstrap_servers="k", acks=self.acks)
"""


def test_classes_that_inherit_from_one_with_aiokafka(tmp_path) -> None:
    heirs = {f"{each}.py": HEIR_OF_PYTHON.format(each, f'acks = "{each}"') for each in ("1", "0")}
    heirs = {f"a{name}": text.replace("class ", "class A") for name, text in heirs.items()}
    found = read(tmp_path, {"base.py": AIO, **heirs, "pyproject.toml": ""})
    assert sorted(known(each) or "" for each in found.producers) == ["0", "1"]


OF_DOTNET = """using Confluent.Kafka;
public abstract class Sender
{
  protected Sender(string s) {
    var c = new ProducerConfig { BootstrapServers = s, Acks = Wanted };
    p = new ProducerBuilder<string, string>(c).Build();
  }
  protected abstract Acks Wanted { get; }
}
"""
OF_SCALA = """import org.apache.kafka.clients.producer._
trait Sender {
  def wanted: String
  lazy val producer = { val p = new Properties(); p.put("acks", wanted); new KafkaProducer[String, String](p) }
}
"""


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"Sender.cs": OF_DOTNET, "A.cs": "class A : Sender { protected override Acks Wanted => Acks.All; }",
          "B.cs": "class B : Sender { B() : base(s) {} protected override Acks Wanted { get => Acks.None; } }"},
         [("A.cs", "all"), ("B.cs", "0")]),
        ({"Sender.cs": OF_DOTNET, "A.cs": "class A : Other { protected override Acks Wanted => Acks.All; Sender s; }"},
         [("Sender.cs, Sender", None)]),
        ({"Sender.scala": OF_SCALA, "A.scala": 'class A extends Sender { def wanted = "1" }',
          "B.scala": 'object B extends Base with Sender { override val wanted = "all" }'},
         [("A.scala", "1"), ("B.scala", "all")]),
        ({"Sender.scala": OF_SCALA, "A.scala": 'class A(s: Sender) { def wanted = "1" }'}, [("Sender.scala", None)]),
    ],
)  # fmt: skip
def test_classes_of_other_languages_that_inherit(tmp_path, files, told) -> None:
    found = read(tmp_path, {"pom.xml": "<project/>", **files})
    assert sorted((each.name, known(each)) for each in found.producers) == told


BEAT = 'output.kafka:\n  hosts: ["k:9092"]\n  topic: logs\n  required_acks: %s\n'


def test_an_agent_is_told_once_where_a_config_map_has_its_file(tmp_path) -> None:
    indented = "".join(f"    {line}\n" for line in (BEAT % 1).splitlines())
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: beat}\ndata:\n  filebeat.yml: |\n"
    files = {"filebeat.yml": BEAT % 1, "k8s/beat.yaml": head + indented}
    assert [each.origin.path for each in read(tmp_path, files).producers] == [str(tmp_path / "filebeat.yml")]
    assert len(read(tmp_path / "b", {**files, "filebeat.yml": BEAT % -1}).producers) == 2


def test_a_worker_is_told_once_where_compose_starts_it(tmp_path) -> None:
    compose = "services:\n  connect:\n    image: confluentinc/cp-kafka-connect:7.5.0\n    environment:\n"
    names = ("BOOTSTRAP_SERVERS: k:9092", "GROUP_ID: a", "CONFIG_STORAGE_TOPIC: c", "OFFSET_STORAGE_TOPIC: o")
    compose += "".join(f"      CONNECT_{each}\n" for each in names)
    file = "bootstrap.servers=k:9092\ngroup.id=a\nconfig.storage.topic=c\noffset.storage.topic=o\n"
    file += "key.converter=x\nvalue.converter=x\n"
    files = {"docker-compose.yml": compose, "connect/worker.properties": file}
    assert only(read(tmp_path, files)).origin.path.endswith("docker-compose.yml")
    more = {**files, "connect/worker.properties": file + "producer.acks=1\n"}
    assert len(read(tmp_path / "b", more).producers) == 2
