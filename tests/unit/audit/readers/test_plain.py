"""A client's own keys, applications' prefixes, Spark, Kafka Streams, librdkafka's JSON, brokers."""

from __future__ import annotations

import json

import pytest

from tests.unit.audit.reading import lines, only, read, told, values


@pytest.mark.parametrize(
    ("file", "content", "client"),
    [
        ("a.properties", "bootstrap.servers=k\nacks=1\n", "java"),
        ("a.properties", "metadata.broker.list=k\nrequest.required.acks=1\n", "scala"),
        ("a.properties", "metadata.broker.list=k\nproducer.type=async\n", "scala"),
        ("a.properties", "bootstrap.servers=k\nmessage.timeout.ms=1\n", "librdkafka"),
        ("a.json", '{"bootstrap.servers": "k", "acks": 1}', "unknown"),
        (
            "a.json",
            '{"bootstrap.servers": "k", "request.required.acks": 1, "socket.keepalive.enable": true}',
            "librdkafka",
        ),
        ("a.json", '{"bootstrap.servers": "k", "key.serializer": "x"}', "java"),
        ("producer.conf", "bootstrap.servers=k\nqueue.buffering.max.kbytes=5\n", "librdkafka"),
    ],
)
def test_whose_client_it_is(tmp_path, file, content, client) -> None:
    assert only(read(tmp_path, {file: content})).client == client


def test_what_the_user_says_of_the_client_wins(tmp_path) -> None:
    producer = only(read(tmp_path, {"a.properties": "acks=1\n"}, client="librdkafka", release="2.3.0"))
    assert (producer.client, producer.release, producer.release_from) == ("librdkafka", "2.3.0", "--client")


def test_librdkafka_flat_and_nested(tmp_path) -> None:
    nested = {
        "bootstrap.servers": "k",
        "default.topic.config": {"request.required.acks": 1},
        "message.send.max.retries": 0,
    }
    producer = only(read(tmp_path, {"rdkafka.json": json.dumps(nested, indent=1)}))
    assert producer.client == "librdkafka"
    assert values(producer)["request.required.acks"] == "1"
    assert lines(producer)["request.required.acks"] == "rdkafka.json:4"


def test_settings_one_level_down(tmp_path) -> None:
    content = '{"producer": {"bootstrap.servers": "k", "acks": "0"}, "consumer": {"group.id": "g"}}'
    assert values(only(read(tmp_path, {"kafka.json": content})))["acks"] == "0"


def test_settings_of_dot_net_in_their_own_spelling(tmp_path) -> None:
    content = '{"Kafka": {"Producer": {"BootstrapServers": "k", "Acks": "Leader", "EnableIdempotence": true}}}'
    assert values(only(read(tmp_path, {"appsettings.json": content}))) == {
        "bootstrap.servers": "k",
        "acks": "Leader",
        "enable.idempotence": "true",
    }


@pytest.mark.parametrize(
    ("file", "content", "prefix"),
    [
        ("app.properties", "app.kafka.producer.acks=1\napp.kafka.producer.linger.ms=2\n", "app.kafka.producer"),
        ("x.yml", "kafka:\n  producers:\n    orders:\n      acks: 1\n      linger.ms: 2\n", "kafka.producers.orders"),
        ("x.yml", "kafka: {acks: 1, linger-ms: 2}", "kafka"),
        ("x.yml", "my.kafka.producer.config: {acks: 1, linger_ms: 2}", "my.kafka.producer.config"),
    ],
)
def test_an_applications_own_prefix(tmp_path, file, content, prefix) -> None:
    producer = only(read(tmp_path, {file: content}))
    assert values(producer) == {"acks": "1", "linger.ms": "2"}
    assert producer.spelled("retries") == f"{prefix}.retries"


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("spark.json", '{"format": "kafka", "kafka.bootstrap.servers": "k", "topic": "t", "kafka.acks": "1"}'),
        ("spark-defaults.conf", "spark.app.name  x\nspark.sink.kafka.bootstrap.servers k\nspark.sink.kafka.acks 1\n"),
    ],
)
def test_sparks_sink_options(tmp_path, file, content) -> None:
    producer = only(read(tmp_path, {file: content}))
    assert (producer.framework, producer.client) == ("spark", "java")
    assert values(producer) == {"bootstrap.servers": "k", "acks": "1"}


def test_kafka_streams(tmp_path) -> None:
    content = "application.id=agg\nbootstrap.servers=k\nproducer.acks=1\nprocessing.guarantee=exactly_once_v2\n"
    producer = only(read(tmp_path, {"streams.properties": content}))
    assert (producer.name, producer.framework, values(producer)["acks"]) == ("agg", "streams", "1")
    assert {"transactional.id", "enable.idempotence"} <= producer.presets.keys()


@pytest.mark.parametrize(
    "content",
    [
        "bootstrap.servers=k\ngroup.id=g\nauto.offset.reset=earliest\n",
        "log4j.rootLogger=INFO, kafka\n",
        "db.retries=3\nkafka.enabled=true\n",
        "consumer.kafka.retries=3\n",
    ],
)
def test_what_is_no_producers(tmp_path, content) -> None:
    inputs = read(tmp_path, {"a.properties": content})
    assert (inputs.producers, inputs.problems) == ((), ())
    assert sum(inputs.ignored.values()) == 1


def test_a_server_properties(tmp_path) -> None:
    content = "node.id=3\nprocess.roles=broker,controller\nmin.insync.replicas=2\nlog.flush.interval.messages=1\n"
    (broker,) = read(tmp_path, {"server.properties": content}).brokers
    assert (broker.name, broker.mode) == ("broker 3", "kraft")
    assert broker.settings["log.flush.interval.messages"].value == "1"
    (old,) = read(tmp_path, {"server.properties": "broker.id=0\nzookeeper.connect=z\n"}).brokers
    assert old.mode == "zookeeper"


def test_a_placeholder_of_nobody_knows_whom(tmp_path) -> None:
    inputs = read(tmp_path, {"producer.properties": "acks=${ACKS:-1}\nretries=${RETRIES:3}\nlinger.ms=${file:/x:y}\n"})
    settings = only(inputs).settings
    assert [settings[key].known for key in ("acks", "retries")] == [False, True]
    assert told(inputs, "placeholder")[0].startswith(
        "producer.properties:1 the value of acks depends on what is not here"
    )


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("hocon.config", 'kafka {\n  bootstrap.servers = "k"\n  acks = all\n}\n'),
        ("kafka_jaas.conf", 'KafkaServer {\n  org.x.PlainLoginModule required\n  password="p";\n};\n'),
        ("ProduceRequest.json", '// of Kafka\n{"name": "ProduceRequest", "fields": [{"name": "Acks"}]}'),
        ("producer.json", '{"annotations": {"list": [{"builtIn": 1, "enable": true}]}, "title": "Kafka producer"}'),
        ("crd.yaml", "apiVersion: v1\nkind: CustomResourceDefinition\nspec: {kafka: {producer: {acks: 1}}}\n"),
    ],
)
def test_what_only_speaks_of_kafka(tmp_path, file, content) -> None:
    assert read(tmp_path, {file: content}).producers == ()


def test_json_with_comments(tmp_path) -> None:
    content = '{\n  // ours\n  "bootstrap.servers": "k", /* "acks": 0,\n */ "acks": "http://x"}'
    producer = only(read(tmp_path, {"producer.json": content}))
    assert (values(producer)["acks"], lines(producer)["acks"]) == ("http://x", "producer.json:4")


def test_statements_of_a_template_in_properties(tmp_path) -> None:
    inputs = read(tmp_path, {"producer.properties": "{% if x %}\nacks=1\n{% endif %}\nretries={{ n }}\n"})
    assert values(only(inputs)) == {"acks": "1", "retries": "{{ n }}"}
    assert [each.split()[0] for each in told(inputs, "template")] == ["producer.properties:1", "producer.properties:4"]
    assert told(inputs, "duplicate") == []


@pytest.mark.parametrize(("file", "client"), [("librdkafka.config", "librdkafka"), ("java.config", "java")])
def test_whose_file_it_says_it_is(tmp_path, file, client) -> None:
    content = "bootstrap.servers=k\nacks=all\nsession.timeout.ms=45000\n"
    assert only(read(tmp_path, {file: content})).client == client


@pytest.mark.parametrize(
    ("content", "count"),
    [
        ('{"ServiceBus": {"ConnectionString": "sb://x", "Producer": {"Retries": 5, "BatchSize": 100}}}', 0),
        ('{"Kafka": {"BootstrapServers": "k:9092", "Producer": {"Retries": 5}}}', 1),
        ('{"Bus": {"BootstrapServers": "k:9092", "Producer": {"Retries": 5}}}', 1),
        ('{"Bus": {"Producer": {"Acks": "all", "Retries": 5}}}', 1),
    ],
)
def test_retries_of_another_brokers_producer_are_nobodys(tmp_path, content, count) -> None:
    assert len(read(tmp_path, {"appsettings.json": content}).producers) == count


def test_words_that_are_like_a_producers_tell_one_only_in_properties(tmp_path) -> None:
    table = '{"producer": {"name": "A", "batch": "1998", "compression": "none"}}'
    assert read(tmp_path / "a", {"producer.json": table}).producers == ()
    assert len(read(tmp_path / "b", {"producer.properties": "aks=1\ncompression=none\n"}).producers) == 1


@pytest.mark.parametrize(
    ("content", "clients"),
    [
        ("producer:\n  type: basic\n  acks: '1'\n  bootstrapServers: 'k:9092'\n", ["unknown"]),
        ("producer.type: async\nmetadata.broker.list: 'k:9092'\n", ["scala"]),
    ],
)
def test_a_kind_of_producer_is_not_the_scala_producers_type(tmp_path, content, clients) -> None:
    assert [each.client for each in read(tmp_path, {"kafka.yml": content}).producers] == clients


@pytest.mark.parametrize(
    ("file", "content", "count"),
    [
        ("client.properties", "bootstrap.servers=k:9092\nretries=5\n", 0),
        ("producer.properties", "bootstrap.servers=k:9092\nretries=5\n", 1),
        ("client.properties", "bootstrap.servers=k:9092\nretries=5\nlinger.ms=5\n", 1),
    ],
)
def test_retries_alone_may_be_an_administrators(tmp_path, file, content, count) -> None:
    assert len(read(tmp_path, {file: content}).producers) == count


def test_a_section_of_another_brokers_producer_is_none(tmp_path) -> None:
    pom = "<project><artifactId>spring-boot-starter-amqp</artifactId></project>"
    section = "shop:\n  producer:\n    exchange: e\n    acks: all\n    retries: 3\n"
    assert read(tmp_path, {"pom.xml": pom, "application.yml": section}).producers == ()
    both = pom + "<artifactId>spring-kafka</artifactId>"
    assert len(read(tmp_path / "b", {"pom.xml": both, "application.yml": section}).producers) == 1


def test_debezium_server_never_ran_on_a_client_without_retries(tmp_path) -> None:
    assert (
        only(read(tmp_path, {"application.properties": "debezium.sink.kafka.producer.acks=1\n"})).framework
        == "debezium"
    )
    assert only(read(tmp_path / "b", {"app.properties": "app.kafka.producer.acks=1\n"})).framework == ""


@pytest.mark.parametrize(
    "head", ["producer_rules", "akhq.clients-defaults.producer.properties", "kafka.policy.producer"]
)
def test_what_others_are_held_against_is_no_producer(tmp_path, head) -> None:
    text = "".join(f"{'  ' * at}{name}:\n" for at, name in enumerate(head.split(".")))
    indent = "  " * (head.count(".") + 1)
    text += f"{indent}acks: all\n{indent}enable.idempotence: true\nkafka:\n  servers: k:9092\n"
    assert not read(tmp_path, {"rules.yml": text}).producers


def test_a_section_of_a_program_that_only_receives_is_no_producer(tmp_path) -> None:
    section = "kafka:\n  bootstrap.servers: k:9092\n  producer: {acks: all, retries: 3}\n"
    consumer = "from confluent_kafka import Consumer\nc = Consumer({'group.id': 'g'})\n"
    files = {"requirements.txt": "confluent-kafka==2.3.0", "config.yml": section}
    assert not read(tmp_path, {**files, "main.py": consumer}).producers
    assert read(tmp_path / "b", {**files, "main.py": consumer + "from x import produce\n"}).producers
