"""Topics that a program makes itself: their replicas, where nobody else tells them."""

from __future__ import annotations

import pytest

from tests.unit.audit.reading import only, read

MIRROR = "clusters = a, b\na->b.enabled = true\nb.bootstrap.servers = b:9092\nb.producer.acks = all\n"
STREAM = "spring.cloud.stream.bindings.out-out-0.destination=t\nspring.cloud.stream.kafka.binder.brokers=k\n"
SOURCE = '{"connector.class": "io.debezium.connector.postgresql.PostgresConnector", %s}'
SINK = '{"connector.class": "x.JdbcSinkConnector", "errors.deadletterqueue.topic.name": "d", %s}'
CREATION = '"topic.creation.default.replication.factor": 3, "topic.creation.default.min.insync.replicas": 2'


@pytest.mark.parametrize(
    ("file", "content", "made"),
    [
        ("c.json", SOURCE % CREATION, (3, "2")),
        ("c.json", SOURCE % '"topic.creation.default.replication.factor": -1', None),
        ("c.json", SINK % CREATION, None),
        ("mm2.properties", MIRROR + "replication.factor = 3\n", (3, "")),
        ("mm2.properties", MIRROR + "checkpoints.topic.replication.factor = 3\n", None),
        ("application.properties", STREAM + "spring.cloud.stream.kafka.binder.replication-factor=${RF:2}\n", (2, "")),
        ("application.properties", STREAM + "spring.cloud.stream.kafka.binder.auto-create-topics=false\n"
         "spring.cloud.stream.kafka.binder.replicationFactor=2\n", None),
        ("application.properties", STREAM + "spring.cloud.stream.kafka.bindings.out-out-0.producer.topic."
         "replication-factor=3\n", (3, "")),
    ],
)  # fmt: skip
def test_what_topics_are_made_with(tmp_path, file, content, made) -> None:
    makes = only(read(tmp_path, {file: content})).makes
    told = makes and (makes.replication_factor, "".join(each.value for each in makes.settings.values()))
    assert told == made


HEAD = 'class T {\n  static final String NAME = "orders";\n'


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ('TopicBuilder.name(NAME).replicas(3).config("min.insync.replicas", "2").build()', ("orders", 3, "2")),
        ("TopicBuilder.name(NAME)\n.replicas(2)\n.compact().build()", ("orders", 2, "")),
        ('new NewTopic("orders", 6, (short) 3)', ("orders", 3, "")),
        ('new NewTopic(NAME, 1, (short) 1).configs(Map.of("min.insync.replicas", "1"))', ("orders", 1, "1")),
        ("TopicBuilder.name(NAME).build()", ("orders", None, "")),
        ("TopicBuilder.name(other()).replicas(3).build()", None),
    ],
)  # fmt: skip
def test_topics_that_are_beans(tmp_path, expression, told) -> None:
    source = HEAD + f"  NewTopic t() {{ return {expression}; }}\n}}\n"
    topics = read(tmp_path, {"src/main/java/T.java": source}).topics
    found = [
        (each.name, each.replication_factor, "".join(one.value for one in each.settings.values())) for each in topics
    ]
    assert found == ([told] if told else [])


def test_topics_of_tests_are_nobodys(tmp_path) -> None:
    source = HEAD + '  NewTopic t() { return new NewTopic("orders", 6, (short) 3); }\n}\n'
    assert read(tmp_path, {"src/test/java/T.java": source}).topics == ()


APPLICATION = "app.topic=orders\napp.replicas=3\n"
BUILD = {"pom.xml": "<project/>"}
ANNOTATED = [
    ("T.java", '@Bean NewTopic t(@Value("${app.topic}") String name) { return new NewTopic(name, 6, (short) 3); }'),
    ("T.kt", '@Bean fun t(@Value("\\${app.topic}") name: String) = TopicBuilder.name(name).replicas(3).build()'),
    ("T.kt", '@Value("\\${app.topic}") lateinit var name: String\n'
     " fun t() = TopicBuilder.name(name).replicas(3).build()"),
    ("T.java", '@Value("${app.topic}") String n; @Value("${app.replicas}") int r;\n'
     "NewTopic t() { return TopicBuilder.name(n).replicas(r).build(); }"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "body"), ANNOTATED)
def test_what_topics_are_called_is_told_by_the_applications_files(tmp_path, file, body) -> None:
    source = f"import org.springframework.kafka.config.TopicBuilder\nclass T {{\n {body}\n}}\n"
    files = BUILD | {f"src/{file}": source, "src/application.properties": APPLICATION}
    assert [(each.name, each.replication_factor) for each in read(tmp_path, files).topics] == [("orders", 3)]


@pytest.mark.parametrize(("file", "body"), ANNOTATED)
def test_a_topic_whose_name_nobody_tells_is_none(tmp_path, file, body) -> None:
    assert read(tmp_path, BUILD | {f"src/{file}": f"class T {{\n {body}\n}}\n"}).topics == ()
