"""What configures no producer, by its place or by what stands around it; each beside one that does."""

from __future__ import annotations

import pytest

from tests.unit.audit.reading import read

SETTINGS = "bootstrap.servers=k:9092\nkey.serializer=S\nacks=0\n"


@pytest.mark.parametrize(
    "folder",
    ["tests", "svc/tests/data", "src/test/resources", "src/it/resources", "__tests__", "test", "e2e", "system-tests"],
)
def test_files_of_tests_configure_nothing(tmp_path, folder) -> None:
    inputs = read(tmp_path, {f"{folder}/producer.properties": SETTINGS, "pom.xml": "<project/>"})
    assert inputs.producers == ()
    assert inputs.ignored["of tests"] == 1


@pytest.mark.parametrize("folder", ["contest", "src/testing", "kafka-test", "latest"])
def test_other_directories_are_walked(tmp_path, folder) -> None:
    assert len(read(tmp_path, {f"{folder}/producer.properties": SETTINGS}).producers) == 1


def test_a_place_that_is_deployed_to_has_no_tests(tmp_path) -> None:
    files = {f"{stage}/producer.properties": SETTINGS for stage in ("dev", "test", "prod")}
    assert len(read(tmp_path, files).producers) == 3
    assert len(read(tmp_path / "deeper", {f"deploy/{name}": text for name, text in files.items()}).producers) == 3


def test_a_directory_of_tests_that_is_named_is_read(tmp_path) -> None:
    assert len(read(tmp_path / "tests", {"producer.properties": SETTINGS}).producers) == 1


@pytest.mark.parametrize(
    ("variables", "count"),
    [
        ("KAFKA_BROKERS: k, KAFKA_GROUP_ID: g, KAFKA_RETRIES: '5'", 0),
        ("KAFKA_BROKERS: k, KAFKA_PRODUCER_RETRIES: '5'", 1),
        ("KAFKA_BROKERS: k, KAFKA_RETRIES: '5', KAFKA_ACKS: '1'", 1),
    ],
)
def test_retries_of_an_application_are_no_producers_alone(tmp_path, variables, count) -> None:
    inputs = read(tmp_path, {"compose.yml": f"services: {{a: {{image: x, environment: {{{variables}}}}}}}"})
    assert len(inputs.producers) == count


@pytest.mark.parametrize(("more", "count"), [("", 0), (', "Acks": "Leader"', 1)])
def test_retries_of_an_applications_section_are_no_producers_alone(tmp_path, more, count) -> None:
    content = f'{{"Kafka": {{"BootstrapServers": "k:9092", "Topic": "t", "Retries": 3{more}}}}}'
    assert len(read(tmp_path, {"appsettings.json": content}).producers) == count


COLLECTOR = """exporters:
  kafka/a: {brokers: [k], producer: {required_acks: 0}}
  kafka/b: {brokers: [k]}
"""


def test_an_exporter_of_no_pipeline_does_not_run(tmp_path) -> None:
    used = "service: {pipelines: {traces: {exporters: [kafka/b, debug]}, logs: {exporters: [debug]}}}\n"
    assert [each.name for each in read(tmp_path / "a", {"otel.yaml": COLLECTOR + used}).producers] == ["kafka/b"]
    assert len(read(tmp_path / "b", {"otel.yaml": COLLECTOR}).producers) == 2


LISTENER = 'import org.x.KafkaListener;\nclass L { @KafkaListener(topics = "t") void on(String s) {} }\n'
SENDER = "import org.x.KafkaTemplate;\nclass S { KafkaTemplate<String, String> template; }\n"
BOOT = "spring.kafka.bootstrap-servers=k:9092\n"


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({"app/src/main/java/L.java": LISTENER}, 0),
        ({"app/src/main/java/L.java": LISTENER, "app/src/main/java/S.java": SENDER}, 1),
        ({"app/src/main/java/L.java": LISTENER, "lib/pom.xml": "<project/>", "lib/src/main/java/S.java": SENDER}, 1),
        ({}, 1),
    ],
)
def test_a_module_that_only_receives_with_spring_has_no_producer(tmp_path, files, count) -> None:
    own = {"app/pom.xml": "<project/>", "app/src/main/resources/application.properties": BOOT}
    assert len(read(tmp_path, own | files).producers) == count


@pytest.mark.parametrize(
    ("more", "count"),
    [
        ("", 0),
        ("class P { P(org.x.Publisher p) { p.publish(1); } }\n", 1),
        ("class D { Object d(KafkaTemplate<?, ?> t) { return new DeadLetterPublishingRecoverer(t); } }\n", 1),
    ],
)
def test_what_is_said_of_its_producer_counts_if_its_sources_may_send(tmp_path, more, count) -> None:
    files = {"pom.xml": "<project/>", "src/main/java/L.java": LISTENER + more}
    files["src/main/resources/application.properties"] = BOOT + "spring.kafka.producer.acks=1\n"
    assert len(read(tmp_path, files).producers) == count


POM = "<project><dependencies><dependency><groupId>org.apache.kafka</groupId><artifactId>{}</artifactId>"
POM += "<version>3.5.1</version></dependency></dependencies></project>"


@pytest.mark.parametrize(("artifact", "release"), [("connect-api", None), ("connect-runtime", "3.5.1")])
def test_a_plugins_build_tells_no_release_of_the_worker(tmp_path, artifact, release) -> None:
    files = {"pom.xml": POM.format(artifact), "c.json": '{"connector.class": "org.x.PgSource", "tasks.max": "1"}'}
    assert read(tmp_path, files).producers[0].release == release


HANDLE = "<?php\n$conf = new {0}();\n$conf->set('metadata.broker.list', 'k');\n$p = new {1}Producer($conf);\n{2}\n"


@pytest.mark.parametrize(
    ("configuration", "namespace", "does", "count"),
    [
        ("RdKafka\\Conf", "RdKafka\\", "$p->newTopic('t')->produce(0, 0, 'x');", 1),
        ("RdKafka\\Conf", "RdKafka\\", "$p->getMetadata(true, null, 1000);", 0),
        ("SimpleKafkaClient\\Configuration", "SimpleKafkaClient\\", "$p->getTopicHandle('t')->produce(0, 0, 'x');", 1),
    ],
)
def test_a_handle_of_phps_that_only_asks_sends_nothing(tmp_path, configuration, namespace, does, count) -> None:
    content = HANDLE.format(configuration, namespace, does)
    assert len(read(tmp_path, {"p.php": content}).producers) == count


def test_a_form_that_somebody_fills_in_is_none(tmp_path) -> None:
    assert read(tmp_path, {"producer.properties": "bootstrap.servers=\nacks=\nkey.serializer=\n"}).producers == ()


def test_a_section_that_a_dotnet_source_reads_is_that_sources(tmp_path) -> None:
    source = "using Confluent.Kafka;\nclass P { void M() { var c = new ProducerConfig { BootstrapServers = o.S }; } }\n"
    files = {"appsettings.json": '{"KafkaProducerOptions": {"BootstrapServers": ["k:9092"]}}', "P.cs": source}
    assert [each.framework for each in read(tmp_path, files).producers] == ["source"]


WRAPPER = """from confluent_kafka import Producer
class Traced(Producer):
    def __init__(self, config):
        {}
def make(config):
    return Traced(config)
"""


@pytest.mark.parametrize(("does", "count"), [("self.inner = config", 0), ("super().__init__(config)", 1)])
def test_a_class_that_only_wraps_a_producer_makes_none(tmp_path, does, count) -> None:
    assert len(read(tmp_path, {"traced.py": WRAPPER.format(does)}).producers) == count


SUPPLIER = """import org.apache.kafka.clients.producer.KafkaProducer;
class S {} {{ Producer<byte[], byte[]> p(Map<String, Object> c) {{ return new KafkaProducer<>(c); }} }}
"""


@pytest.mark.parametrize(("head", "count"), [("implements KafkaClientSupplier", 0), ("implements Closeable", 1)])
def test_what_kafka_streams_is_supplied_with_is_no_producer_beside_it(tmp_path, head, count) -> None:
    assert len(read(tmp_path, {"S.java": SUPPLIER.format(head)}).producers) == count


@pytest.mark.parametrize(("name", "count"), [(".env.example", 0), (".env_sample", 0), (".env.prod", 1)])
def test_the_sample_of_what_compose_takes_is_none(tmp_path, name, count) -> None:
    files = {"docker-compose.yml": "services: {kafka: {image: kafka}}\n", f"{name}": "KAFKA_PRODUCER_ACKS=1\n"}
    assert len(read(tmp_path, files).producers) == count


SECTION = "kafka-producer-config:\n  key-serializer-class: S\n  acks: all\n  linger-ms: 5\n"
FACTORY = """import org.springframework.kafka.core.*;
class C {{ ProducerFactory<String, String> f() {{
  Map<String, Object> props = new HashMap<>();
  props.put(ProducerConfig.ACKS_CONFIG, {});
  return new DefaultKafkaProducerFactory<>(props);
}} }}
"""


@pytest.mark.parametrize(("value", "count"), [("data.getAcks()", 1), ('"1"', 2)])
def test_a_librarys_factory_is_the_sections_that_it_reads(tmp_path, value, count) -> None:
    files = {"app/pom.xml": "<project/>", "app/application.yml": SECTION, "lib/pom.xml": "<project/>"}
    found = read(tmp_path, files | {"lib/C.java": FACTORY.format(value)}).producers
    assert len(found) == count
    section = next(each for each in found if each.origin.path.endswith("application.yml"))
    assert (section.client, section.settings["acks"].value) == ("java", "all")
