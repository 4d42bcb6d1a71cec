"""Clients and frameworks that have a producer in words of their own; each beside what is none."""

from __future__ import annotations

import pytest

from audit.model import ProducerConfig
from tests.unit.audit.damage import CANARY, holds_up
from tests.unit.audit.reading import lines, only, read, values


def known(producer: ProducerConfig, key: str) -> str | None:
    """The value of a setting; None if it is unknown or not there."""
    setting = producer.settings.get(key)
    return setting.value if setting is not None and setting.known else None


MIRROR = """apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaMirrorMaker2
metadata: {name: m}
spec:
  connectCluster: b
  clusters: [{alias: b, bootstrapServers: "b:9092"}]
  mirrors:
"""
FLOW = '    - sourceConnector: {config: {producer.override.acks: "%s"}}\n'


@pytest.mark.parametrize(("flows", "acks"), [("1", "1"), ("11", "1"), ("10", None)])
def test_a_mirrors_source_connector_overrides_its_worker(tmp_path, flows, acks) -> None:
    content = MIRROR + "".join(FLOW % one for one in flows)
    assert known(only(read(tmp_path, {"m.yaml": content})), "acks") == acks


SINK = """import org.apache.flink.connector.kafka.sink.KafkaSink;
class J { KafkaSink<String> s() { return KafkaSink.<String>builder().setProperty("acks", "all")%s.build(); } }
"""


@pytest.mark.parametrize(("guarantee", "there"), [("EXACTLY_ONCE", True), ("AT_LEAST_ONCE", False)])
def test_a_sink_of_flinks_that_is_exactly_once_sends_in_transactions(tmp_path, guarantee, there) -> None:
    content = SINK % f".setDeliveryGuarantee(DeliveryGuarantee.{guarantee})"
    assert ("transactional.id" in only(read(tmp_path, {"J.java": content})).settings) is there


ROUTE = "import org.apache.camel.builder.*;\n"
ROUTE += 'class R extends RouteBuilder {{ void c() {{ from("x:y").to("kafka:t{}"); }} }}\n'


@pytest.mark.parametrize(
    ("option", "setting", "acks"),
    [
        ("", "camel.component.kafka.request-required-acks=1", "1"),
        ("", "camel.component.kafka.requestRequiredAcks=1", "1"),
        ("?requestRequiredAcks=0", "camel.component.kafka.request-required-acks=1", "0"),
        ("", "camel.component.seda.size=1", None),
    ],
)
def test_camels_component_sets_what_its_endpoint_does_not(tmp_path, option, setting, acks) -> None:
    files = {"pom.xml": "<project/>", "R.java": ROUTE.format(option), "application.properties": setting + "\n"}
    assert known(only(read(tmp_path, files)), "acks") == acks


@pytest.mark.parametrize(
    ("settings", "name", "once"),
    [
        ("quarkus.kafka-streams.application-id=q\nkafka-streams.processing.guarantee=exactly_once_v2\n", "q", True),
        ("quarkus.application.name=n\nquarkus.kafka-streams.topics=t\n", "n", False),
        ("spring.kafka.streams.application-id=s\nspring.kafka.streams.properties.acks=1\n", "s", False),
    ],
)
def test_a_frameworks_kafka_streams(tmp_path, settings, name, once) -> None:
    producer = only(read(tmp_path, {"application.properties": settings}))
    assert (producer.name, producer.framework) == (name, "streams")
    assert ("transactional.id" in producer.presets) is once


def test_streams_of_other_names_are_none(tmp_path) -> None:
    assert (
        read(tmp_path, {"application.properties": "app.kafka-streams.topics=t\nspring.kafka.other=1\n"}).producers == ()
    )


GO = 'package bus\nimport "github.com/IBM/sarama"\n'
USES = "func P() { c := newConfig()\n c.Producer.RequiredAcks = sarama.WaitForAll\n sarama.NewSyncProducer(nil, c) }\n"
MADE = "func newConfig() *sarama.Config { x := sarama.NewConfig()\n x.Producer.Retry.Max = 7\n return x }\n"


def test_a_configuration_of_another_file_of_a_go_package_is_followed(tmp_path) -> None:
    files = {"bus/p.go": GO + USES, "bus/config.go": GO + MADE}
    producer = only(read(tmp_path, files))
    assert (known(producer, "acks"), known(producer, "retries")) == ("all", "7")
    assert lines(producer)["retries"] == "config.go:4"
    assert "enable.idempotence" not in producer.settings


@pytest.mark.parametrize("other", ["other/config.go", "bus/config_test.go"])
def test_one_of_another_package_or_of_a_test_is_not(tmp_path, other) -> None:
    producer = only(read(tmp_path, {"bus/p.go": GO + USES, other: GO + MADE}))
    assert not producer.settings["enable.idempotence"].known


RUST = "use kafka::producer::{Producer, RequiredAcks};\n"
RUST += "fn main() { let p = Producer::from_hosts(h)%s.create().unwrap(); }\n"


@pytest.mark.parametrize(("acks", "value"), [(".with_required_acks(RequiredAcks::All)", "all"), ("", None)])
def test_the_crate_kafka(tmp_path, acks, value) -> None:
    producer = only(read(tmp_path, {"main.rs": RUST % acks}))
    assert (producer.client, known(producer, "acks")) == ("kafka-rust", value)


def test_a_consumer_of_the_crate_kafka_is_none(tmp_path) -> None:
    content = "use kafka::consumer::Consumer;\nfn main() { let c = Consumer::from_hosts(h).create(); }\n"
    assert read(tmp_path, {"main.rs": content}).producers == ()


RIDER = """using MassTransit;
services.AddMassTransit(x => x.AddRider(rider => {
%s
    rider.UsingKafka((context, k) => k.Host("k:9092"));
}));
"""


def test_a_rider_of_masstransits(tmp_path) -> None:
    two = '    rider.AddProducer<A>("a");\n    rider.AddProducer<B>("b");'
    assert only(read(tmp_path / "a", {"P.cs": RIDER % two})).client == "librdkafka"
    assert read(tmp_path / "b", {"P.cs": RIDER % "    rider.AddConsumer<C>();"}).producers == ()


CPP = '#include <cppkafka/cppkafka.h>\nvoid f() { Configuration config = {{ "acks", "1" }, {"group.id", g}};\n %s }\n'


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("Producer producer(config);", 1),
        ("auto p = std::make_unique<cppkafka::Producer>(config);", 1),
        ("BufferedProducer<std::string> p(config);", 1),
        ("Consumer consumer(config);", 0),
    ],
)
def test_cppkafka(tmp_path, made, count) -> None:
    found = read(tmp_path, {"p.cpp": CPP % made}).producers
    assert [known(each, "acks") for each in found] == ["1"] * count


@pytest.mark.parametrize(
    ("content", "acks"),
    [
        ("require 'kafka'\nkafka = Kafka.new(b)\np = kafka.producer(required_acks: 1, max_retries: 5)\n", ["1"]),
        ("require 'kafka'\nKafka.new(b).async_producer(required_acks: :all)\n", ["all"]),
        ("p = $kafka.producer(required_acks: ACKS)\n", [None]),
        ("require 'kafka'\nc = Kafka.new(b).consumer(group_id: 'g')\n", []),
        ("film.producer(name: 'x')\n", []),
    ],
)
def test_ruby_kafka(tmp_path, content, acks) -> None:
    assert [known(each, "acks") for each in read(tmp_path, {"bus.rb": content}).producers] == acks


SYSLOG = 'destination d {{ kafka-c(bootstrap-servers("k:9092") topic("logs") config({})); }};\n'


@pytest.mark.parametrize("pair", ['"acks" => "1"', '"acks"("1")'])
def test_syslog_ng(tmp_path, pair) -> None:
    producer = only(read(tmp_path, {"kafka.conf": SYSLOG.format(pair)}))
    assert (producer.client, known(producer, "acks"), producer.topics) == ("librdkafka", "1", ("logs",))


def test_a_source_of_syslog_ngs_is_none_and_damage_is_survived(tmp_path) -> None:
    content = 'source s { kafka(bootstrap-servers("k:9092")); };\ndestination d { file("/var/log/kafka"); };\n'
    assert len(read(tmp_path / "a", {"s.conf": content.replace("kafka(boot", "network(boot")}).producers) == 0
    holds_up(tmp_path, "kafka.conf", SYSLOG.format(f'"acks" => "1" "sasl.password" => "{CANARY}"'))


JAEGER = "services: {{j: {{image: jaegertracing/jaeger-{}, environment: {{SPAN_STORAGE_TYPE: {}, {}}}}}}}"


@pytest.mark.parametrize(
    ("image", "storage", "more", "acks"),
    [
        ("collector:1.57", "kafka", "KAFKA_PRODUCER_REQUIRED_ACKS: all", ["all"]),
        ("collector:1.57", "kafka", "A: b", [None]),
        ("collector:1.57", "elasticsearch", "A: b", []),
        ("ingester:1.57", "kafka", "KAFKA_CONSUMER_TOPIC: t", []),
    ],
)
def test_jaeger(tmp_path, image, storage, more, acks) -> None:
    found = read(tmp_path, {"compose.yml": JAEGER.format(image, storage, more)}).producers
    assert [known(each, "acks") for each in found] == acks


@pytest.mark.parametrize(
    ("variable", "value", "key"),
    [
        ("KAFKA_PRODUCER_REQUIRED_ACKS", "WaitForAll", {"acks": "all"}),
        ("KAFKA_REQUIRED_ACKS", "leader", {"acks": "1"}),
        ("KAFKA_PRODUCER_IDEMPOTENT", "true", {"enable.idempotence": "true"}),
    ],
)
def test_variables_after_saramas_fields(tmp_path, variable, value, key) -> None:
    content = f"services: {{a: {{image: x, environment: {{{variable}: '{value}'}}}}}}"
    assert values(only(read(tmp_path, {"compose.yml": content}))) == key


NEST = "import {{ Transport }} from '@nestjs/microservices';\n{}\n"
KAFKA = "{ transport: Transport.KAFKA, options: { client: { brokers: ['k'] }, consumer: { groupId: 'g' } } }"


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (f"class C {{ @Client({KAFKA}) client: ClientKafka; }}", 1),
        (f"@Module({{ imports: [ClientsModule.register([{KAFKA}])] }})\nclass M {{}}", 1),
        (f"const c = ClientProxyFactory.create({KAFKA});", 1),
        (f"const app = NestFactory.createMicroservice(M, {KAFKA});", 0),
        (f"app.connectMicroservice({KAFKA.replace('consumer', 'producer: {}, consumer')});", 1),
    ],
)
def test_a_client_of_nests_sends_and_a_server_replies(tmp_path, content, count) -> None:
    assert len(read(tmp_path, {"src/m.ts": NEST.format(content)}).producers) == count


DOTNET = "using Confluent.Kafka;\nclass P {{ {} void M() {{ new ProducerBuilder<Null, string>(_c).Build(); }} }}\n"


@pytest.mark.parametrize(
    ("field", "acks"),
    [
        ("ProducerConfig _c = new() { Acks = Acks.Leader };", "1"),
        ("ProducerConfig _c { get; } = new() { Acks = Acks.Leader };", "1"),
        ("ProducerConfig _c; P(IOptions<ProducerConfig> o) { _c = o.Value; }", None),
    ],
)
def test_a_producer_of_dotnets_by_its_configuration(tmp_path, field, acks) -> None:
    producer = only(read(tmp_path, {"P.cs": DOTNET.format(field)}))
    assert (producer.client, known(producer, "acks")) == ("librdkafka", acks)


@pytest.mark.parametrize("name", ["ProducerConfig", "Kafka:Producer"])
def test_a_section_of_appsettings_is_the_configuration_that_is_handed_over(tmp_path, name) -> None:
    inside = '{"BootstrapServers": "k:9092"}'
    for part in reversed(name.split(":")):
        inside = f'{{"{part}": {inside}}}'
    files = {"Api/Api.csproj": "<Project/>", "Api/appsettings.json": inside, "Bus/Bus.csproj": "<Project/>"}
    files["Bus/P.cs"] = DOTNET.format("ProducerConfig _c;")
    producer = only(read(tmp_path, files))
    assert (producer.client, producer.origin.path.endswith("appsettings.json")) == ("librdkafka", True)


def test_a_consumers_section_of_appsettings_is_none(tmp_path) -> None:
    content = '{"ConsumerConfig": {"BootstrapServers": "k", "GroupId": "g"}, "Kafka": {"BootstrapServers": "k"}}'
    assert read(tmp_path, {"appsettings.json": content}).producers == ()


STREAMS = """import org.apache.kafka.streams.*;
class A {{ void m() {{
  Properties p = new Properties();
  p.put(StreamsConfig.APPLICATION_ID_CONFIG, "a");
  {}
  new KafkaStreams(t, p).start();
}} }}
"""


@pytest.mark.parametrize(
    ("line", "transactions", "idempotence"),
    [
        ("p.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);", True, True),
        ('p.put("processing.guarantee", "exactly_once");', True, True),
        ('p.put("processing.guarantee", "at_least_once");', False, True),
        ("p.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.AT_LEAST_ONCE);", False, True),
        ("p.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, guarantee);", False, False),
        ("p.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, o.guarantee());", False, False),
        ("", False, True),
    ],
)
def test_what_a_source_guarantees_with_kafka_streams(tmp_path, line, transactions, idempotence) -> None:
    """`idempotence`: whether it is known, as far as the source goes."""
    settings = only(read(tmp_path, {"A.java": STREAMS.format(line)})).settings
    assert ("transactional.id" in settings) is transactions
    assert ("enable.idempotence" not in settings) is idempotence


WATERMILL = """package bus
import (
  "github.com/IBM/sarama"
  {0}"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
)
func New(brokers []string, given *sarama.Config) {{
  c := {1}
  c.Producer.RequiredAcks = sarama.WaitForAll
  kafka.NewPublisher(kafka.PublisherConfig{{Brokers: brokers, {2}}}, logger)
}}
"""


@pytest.mark.parametrize(
    ("made", "field", "acks", "retries"),
    [
        ("kafka.DefaultSaramaSyncPublisherConfig()", "OverwriteSaramaConfig: c", "all", "10"),
        ("sarama.NewConfig()", "OverwriteSaramaConfig: c", "all", None),
        ("sarama.NewConfig()", "Marshaler: m", None, "10"),
    ],
)
def test_a_publisher_of_watermills(tmp_path, made, field, acks, retries) -> None:
    producer = only(read(tmp_path, {"p.go": WATERMILL.format("", made, field)}))
    assert (producer.client, known(producer, "acks")) == ("sarama", acks)
    assert (producer.presets["retries"].value if "retries" in producer.presets else None) == retries


def test_a_publisher_of_watermills_with_a_configuration_of_others(tmp_path) -> None:
    content = WATERMILL.format("", "other()", "OverwriteSaramaConfig: given")
    assert not only(read(tmp_path, {"p.go": content})).settings["acks"].known


@pytest.mark.parametrize("other", ["wk ", "subscribers.NewPublisher"])
def test_a_publisher_of_another_package_is_none(tmp_path, other) -> None:
    content = WATERMILL.format(other if other == "wk " else "", "x", "Marshaler: m").replace("sarama.Wait", "o.Wait")
    content = content if other == "wk " else content.replace("kafka.NewPublisher", other)
    assert read(tmp_path, {"p.go": content}).producers == ()


FLOW_OF_DOTNET = """using KafkaFlow;
using Confluent.Kafka;
var config = new ProducerConfig {{ EnableIdempotence = true, Acks = Confluent.Kafka.Acks.None }};
services.AddKafka(kafka => kafka.AddCluster(c => c.WithBrokers(new[] {{ "k:9092" }}){0}));
"""
TWO_PRODUCERS = """
  .AddProducer("a", p => p.DefaultTopic("a").WithAcks(KafkaFlow.Acks.Leader))
  .AddProducer<B>(p => p.DefaultTopic("b").WithProducerConfig(config))"""


def test_producers_of_kafkaflows(tmp_path) -> None:
    """What its ProducerConfig says of acks is put back to null where nothing else says it."""
    found = read(tmp_path, {"P.cs": FLOW_OF_DOTNET.format(TWO_PRODUCERS)}).producers
    a, b = sorted(found, key=lambda each: each.topics)
    assert [(each.client, known(each, "acks"), each.topics) for each in (a, b)] == [
        ("librdkafka", "1", ("a",)),
        ("librdkafka", None, ("b",)),
    ]
    assert (known(a, "enable.idempotence"), known(b, "enable.idempotence")) == (None, "true")
    assert b.presets["acks"].value == "all"


def test_a_configuration_of_others_leaves_a_producer_of_kafkaflows_unknown(tmp_path) -> None:
    content = '\n  .AddProducer("a", p => p.WithProducerConfig(options.Producer))'
    content = FLOW_OF_DOTNET.format(content).replace("var config = new ProducerConfig", "var x = new Y")
    producer = only(read(tmp_path, {"P.cs": content}))
    assert not producer.settings["enable.idempotence"].known
    assert "acks" not in producer.settings


def test_a_consumer_of_kafkaflows_is_none(tmp_path) -> None:
    content = '\n  .AddConsumer(x => x.Topic("a").WithGroupId("g"))'
    content = FLOW_OF_DOTNET.format(content).replace("new ProducerConfig", "new Y")
    assert read(tmp_path, {"P.cs": content}).producers == ()


WOLVERINE = """using Wolverine.Kafka;
builder.Host.UseWolverine(opts => {
    opts.UseKafka("k:9092").%s(p => { p.Acks = Acks.Leader; });
});
"""


@pytest.mark.parametrize(("method", "count"), [("ConfigureProducers", 1), ("ConfigureConsumers", 0)])
def test_what_wolverine_is_told_of_producers(tmp_path, method, count) -> None:
    producers = read(tmp_path, {"Program.cs": WOLVERINE % method}).producers
    assert [(each.client, known(each, "acks")) for each in producers] == [("librdkafka", "1")] * count


NEW = "using Confluent.Kafka;\nstatic class S { static %s Make() => new() { Acks = Acks.Leader }; }\n"


@pytest.mark.parametrize(("kind", "count"), [("ProducerConfig", 1), ("ConsumerConfig", 0)])
def test_what_a_method_of_dotnet_returns_has_its_type(tmp_path, kind, count) -> None:
    producers = read(tmp_path, {"S.cs": NEW % kind}).producers
    assert [known(each, "acks") for each in producers] == ["1"] * count


GOKA = """package main
import ("github.com/IBM/sarama"; "github.com/lovoo/goka")
func main() {
	%s
	goka.NewEmitter(servers, "t", codec)
}
"""
ALL = "c := goka.DefaultConfig()\n\tc.Producer.RequiredAcks = sarama.WaitForAll\n\tgoka.ReplaceGlobalConfig(c)"


@pytest.mark.parametrize(("before", "acks"), [("", None), (ALL, "all")])
def test_an_emitter_of_gokas(tmp_path, before, acks) -> None:
    producer = only(read(tmp_path, {"main.go": GOKA % before}))
    assert (producer.client, known(producer, "acks")) == ("sarama", acks)


WRITER = """package mail
import "github.com/segmentio/kafka-go"
func open() *kafka.Writer {
	w := &kafka.Writer{Topic: "t"}
	%s
	return w
}
"""


@pytest.mark.parametrize(
    ("line", "acks"), [("w.RequiredAcks = kafka.RequireOne", "1"), ("other.RequiredAcks = kafka.RequireOne", None)]
)
def test_a_field_of_kafka_gos_writer_is_set_later(tmp_path, line, acks) -> None:
    if acks is None:
        line += '\n\tother := &kafka.Writer{Topic: "u"}'
    producers = read(tmp_path, {"open.go": WRITER % line}).producers
    assert known(producers[0], "acks") == acks


def test_a_stream_of_node_rdkafkas(tmp_path) -> None:
    script = "const K = require('node-rdkafka');\nK.{}.createWriteStream({{}}, {{'acks': 1}}, {{topic: 't'}});\n"
    producer = only(read(tmp_path, {"bin/tail.js": script.format("Producer"), "package.json": "{}"}))
    assert (producer.client, known(producer, "acks")) == ("librdkafka", "1")
    assert read(tmp_path / "b", {"tail.js": script.format("KafkaConsumer")}).producers == ()


KAFKAJS = (
    "const {{ Kafka }} = require('kafkajs');\nconst kafka = new Kafka({{ brokers: [], retry: {{ retries: {} }} }});\n"
)


@pytest.mark.parametrize(
    ("tail", "retries"),
    [("const p = kafka.producer();\n", "0"), ("const p = kafka.producer({ retry: { retries: 8 } });\n", "8")],
)
def test_how_often_kafkajs_tries_again(tmp_path, tail, retries) -> None:
    producer = only(read(tmp_path, {"a.js": KAFKAJS.format(0) + tail}))
    assert known(producer, "retries") == retries


def test_how_often_a_client_of_kafkajs_of_another_file_tries_again(tmp_path) -> None:
    files = {
        "kafka.js": KAFKAJS.format(0) + "module.exports = kafka;\n",
        "a.js": "const kafka = require('./kafka');\nconst p = kafka.producer();\n",
    }
    assert known(only(read(tmp_path, files)), "retries") == "0"
    consumer = "kafka.consumer({ groupId: 'g', retry: { retries: 0 } });\nconst p = kafka.producer();\n"
    made = "const { Kafka } = require('kafkajs');\nconst kafka = new Kafka({});\n"
    assert known(only(read(tmp_path / "b", {"a.js": made + consumer})), "retries") is None


KAFFE = 'import Config\n%sconfig :kaffe,\n  producer: [\n    topics: ["t"],\n    required_acks: %s\n  ]\n'


@pytest.mark.parametrize(("value", "acks"), [("1", "1"), ("-1", "-1"), ("acks()", None)])
def test_kaffe(tmp_path, value, acks) -> None:
    producer = only(read(tmp_path, {"config/config.exs": KAFFE % ("", value)}))
    assert (producer.client, known(producer, "acks")) == ("brod", acks)
    assert lines(producer)["acks"] == "config.exs:5"


@pytest.mark.parametrize(
    ("code", "acks"),
    [
        (':brod.start_producer(client, "t", [])', [None]),
        (':brod.start_producer(client, "t", required_acks: 1)', ["1"]),
        (":brod.start_producer(client, topic(), required_acks: 0, max_retries: 5)", ["0"]),
        (":brod.start_producer(client, topic(), max_retries: 5), required_acks: 0", [None]),
        (":brod.start_producer(client, topic())", []),
        (':brod.start_producer(client, "t", [required_acks: 0])', ["0"]),
        ('config :brod, clients: [k: [default_producer_config: [required_acks: 1]]]', ["1"]),
        ('# :brod.start_producer(client, "t", [])', []),
        ("config :kaffe, consumer: [topics: []]", []),
        ('producer: [module: {BroadwayKafka.Producer, [hosts: []]}]', []),
    ],
)  # fmt: skip
def test_what_brod_is_started_with(tmp_path, code, acks) -> None:
    producers = read(tmp_path, {"lib/a.ex": f"defmodule A do\n  {code}\nend\n"}).producers
    assert [known(each, "acks") for each in producers] == acks


PHOBOS = "kafka: {seed_brokers: [k:9092]}\nproducer: {required_acks: 1, max_retries: 0}\n"


def test_phobos(tmp_path) -> None:
    producer = only(read(tmp_path, {"config/phobos.yml": PHOBOS}))
    assert (producer.client, values(producer)) == ("ruby-kafka", {"acks": "1", "retries": "0"})
    assert read(tmp_path / "b", {"phobos.yml": PHOBOS.replace("producer", "consumer")}).producers == ()


LARAVEL = "<?php\nuse Junges\\Kafka\\Facades\\Kafka;\nKafka::{}('t')->withConfigOption{}->send();\n"


@pytest.mark.parametrize(
    ("method", "options", "acks"),
    [
        ("publishOn", "s(['acks' => '1'])", ["1"]),
        ("publish", "('acks', 'all')", ["all"]),
        ("publishOn", "s(['acks' => $acks])", [None]),
        ("consumer", "s(['acks' => '1'])", []),
    ],
)
def test_laravel(tmp_path, method, options, acks) -> None:
    producers = read(tmp_path, {"app/Job.php": LARAVEL.format(method, options)}).producers
    assert [known(each, "acks") for each in producers] == acks


def test_outputs_of_one_file_of_telegrafs_are_told_apart(tmp_path) -> None:
    content = '[[outputs.kafka]]\n  topic = "a"\n\n'
    content += '[[outputs.kafka]]\n  alias = "x"\n  topic = "b"\n  required_acks = 1\n'
    one, other = read(tmp_path, {"telegraf.conf": content}).producers
    assert (one.name, other.name, lines(other)["acks"]) == ("outputs.kafka a", "outputs.kafka x", "telegraf.conf:7")
    alone = content.partition("\n\n")[0]
    assert only(read(tmp_path / "b", {"telegraf.conf": alone})).name == "outputs.kafka"
