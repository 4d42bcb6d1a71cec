"""The client's release, from what builds the program."""

from __future__ import annotations

import pytest

from tests.unit.audit.reading import only, read, told

POM = (
    "<project><parent><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-parent</artifactId>"
    "<version>2.7.18</version></parent>{}</project>"
)
KAFKA_CLIENTS = "<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId>"
CONFIG = {"java": ("p.properties", "acks=1\n"), "librdkafka": ("p.json", '{"bootstrap.servers": "k", "acks": 1}')}


@pytest.mark.parametrize(
    ("build", "content", "client", "release"),
    [
        ("pom.xml", POM.format(""), "java", "3.1.2"),
        ("pom.xml", POM.format("<properties><kafka.version>2.8.1</kafka.version></properties>"), "java", "2.8.1"),
        (
            "pom.xml",
            "<p><v.k>2.2.2</v.k>" + KAFKA_CLIENTS + "<version>${v.k}</version></dependency></p>",
            "java",
            "2.2.2",
        ),
        (
            "pom.xml",
            f"<!-- {KAFKA_CLIENTS}<version>1.0.0</version></dependency> -->\n{KAFKA_CLIENTS}"
            "<version>7.5.1-ccs</version></dependency>",
            "java",
            "3.5",
        ),
        ("build.gradle", "implementation 'org.springframework.kafka:spring-kafka:2.8.1'", "java", "3.0.0"),
        ("build.gradle", "def v = '2.0.1'\ncompile \"org.apache.kafka:kafka-clients:$v\"", "java", "2.0.1"),
        ("build.gradle.kts", 'plugins { id("org.springframework.boot") version "2.5.0" }', "java", "2.7.1"),
        ("build.gradle", "compile 'org.apache.kafka:kafka-clients:+'", "java", None),
        ("build.gradle", "compile \"org.apache.kafka:kafka-clients:$missing\"", "java", None),
        ("build.gradle", "// compile 'org.apache.kafka:kafka-clients:1.0.0'\n", "java", None),
        ("gradle/libs.versions.toml", '[versions]\nkafka = "3.4.0"\n[libraries]\n'
         'kc = { module = "org.apache.kafka:kafka-clients", version.ref = "kafka" }', "java", "3.4.0"),
        ("build.sbt", 'libraryDependencies += "org.apache.kafka" % "kafka-clients" % "2.1.0"', "java", "2.1.0"),
        ("build.sbt", '"org.apache.pekko" %% "pekko-connectors-kafka" % "1.1.0"', "java", "3.8.0"),
        ("build.gradle", "implementation 'org.apache.flink:flink-connector-kafka:3.1.0-1.18'", "java", "3.4.0"),
        ("build.gradle", "implementation 'io.vertx:vertx-kafka-client:4.5.1'", "java", "3.5.0"),
        ("build.gradle", "implementation 'org.apache.flink:flink-connector-jdbc:3.1.0-1.18'", "java", None),
        ("requirements.txt", "flask\nconfluent-kafka[avro]==2.3.0  # pinned", "librdkafka", "2.3.0"),
        ("requirements.txt", "confluent-kafka>=2.3.0", "librdkafka", None),
        ("poetry.lock", '[[package]]\nname = "confluent-kafka"\nversion = "1.9.2"\n', "librdkafka", "1.9.2"),
        ("go.mod", "require github.com/confluentinc/confluent-kafka-go/v2 v2.4.0", "librdkafka", "2.4.0"),
        ("app.csproj", '<PackageReference Include="Confluent.Kafka" Version="2.5.3" />', "librdkafka", "2.5.3"),
        ("Cargo.lock", 'name = "rdkafka-sys"\nversion = "4.6.0+2.2.0"', "librdkafka", "2.2.0"),
    ],
)  # fmt: skip
def test_what_a_build_file_tells(tmp_path, build, content, client, release) -> None:
    name, text = CONFIG[client]
    producer = only(read(tmp_path, {build: content, name: text}))
    assert producer.release == release
    if release:
        assert producer.client == client
        assert build.rpartition("/")[2] in producer.release_from


def test_the_nearest_directory_wins_and_those_above_are_looked_into(tmp_path) -> None:
    line = "implementation 'org.apache.kafka:kafka-clients:{}'"
    files = {
        "build.gradle": line.format("1.1.1"),
        "a/build.gradle": line.format("2.2.2"),
        "a/src/p.properties": "acks=1\n",
        "b/src/p.properties": "acks=1\n",
    }
    assert [each.release for each in read(tmp_path, files).producers] == ["2.2.2", "1.1.1"]


def test_nothing_above_what_was_named_is_looked_into(tmp_path) -> None:
    (tmp_path / "build.gradle").write_text("implementation 'org.apache.kafka:kafka-clients:1.1.1'")
    assert only(read(tmp_path / "app", {"p.properties": "acks=1\n"})).release is None


def test_a_release_that_is_not_told_is_told(tmp_path) -> None:
    assert told(read(tmp_path, {"p.properties": "acks=1\n"}), "release") == [
        "p.properties:1 the release of its client (java) is not told for 'p.properties', and defaults depend on it: "
        "say it: --client java-2.8.2"
    ]


def test_a_damaged_build_file_says_nothing(tmp_path) -> None:
    files: dict[str, str | bytes] = {
        "pom.xml": b"\xff\xfe<dependency>",
        "poetry.lock": b"\0",
        "p.properties": "acks=1\n",
    }
    assert only(read(tmp_path, files)).release is None


def test_a_release_that_is_told_twice_and_differently_is_told(tmp_path) -> None:
    files = {
        "pom.xml": "<dependency><groupId>org.apache.kafka</groupId>"
        "<artifactId>kafka-clients</artifactId><version>2.8.2</version></dependency>",
        "build.gradle": "compile 'org.apache.kafka:kafka-clients:3.0.0'",
        "p.properties": "acks=1\n",
    }
    inputs = read(tmp_path, files)
    assert only(inputs).release == "2.8.2"
    assert "kafka-clients 3.0.0 here, and 2.8.2 in" in told(inputs, "release")[0]
    files["build.gradle"] = files["build.gradle"].replace("3.0.0", "2.8.2")
    assert told(read(tmp_path, files), "release") == []


def test_what_is_built_above_is_not_what_a_container_runs(tmp_path) -> None:
    compose = "services: {a: {image: x, environment: {SPRING_KAFKA_PRODUCER_ACKS: 1}}}"
    build = "compile 'org.apache.kafka:kafka-clients:1.1.1'"
    assert only(read(tmp_path / "a", {"build.gradle": build, "deploy/compose.yml": compose})).release is None
    assert only(read(tmp_path / "b", {"build.gradle": build, "compose.yml": compose})).release == "1.1.1"


@pytest.mark.parametrize(
    ("files", "since"),
    [
        ({"requirements.txt": "confluent-kafka>=2.3\n"}, "2.3"),
        ({"requirements.txt": "confluent-kafka[avro]~=1.5.2\n"}, "1.5.2"),
        ({"pyproject.toml": '[project]\ndependencies = ["x", "confluent-kafka>=2.0,<3"]\n'}, "2.0"),
        ({"pyproject.toml": '[tool.poetry.dependencies]\nconfluent-kafka = "^2.1.0"\n'}, "2.1.0"),
        ({"requirements.txt": "confluent-kafka\nother>=2\n"}, "1.0.0"),
        ({"requirements.txt": "confluent-kafka<2\n"}, ""),
        ({"requirements.txt": "confluent-kafka==2.3.0\n"}, ""),
    ],
)
def test_the_oldest_release_that_is_allowed(tmp_path, files, since) -> None:
    source = "from confluent_kafka import Producer\nProducer({'bootstrap.servers': 'k'})\n"
    assert only(read(tmp_path, files | {"send.py": source})).since == since


@pytest.mark.parametrize(
    ("version", "since"), [('"0.36"', "1.6.0"), ('{ version = "0.28.1" }', "1.6.0"), ('"0.20"', "")]
)
def test_the_librdkafka_that_a_crate_brought(tmp_path, version, since) -> None:
    source = 'use rdkafka::producer::FutureProducer;\nfn f() { ClientConfig::new().set("acks", "1").create() }\n'
    files = {"Cargo.toml": f"[dependencies]\nrdkafka = {version}\n", "src/main.rs": source}
    assert only(read(tmp_path, files)).since == since


def test_a_crates_table_of_its_own(tmp_path) -> None:
    source = 'use rdkafka::producer::FutureProducer;\nfn f() { ClientConfig::new().set("acks", "1").create() }\n'
    files = {"Cargo.toml": '[dependencies.rdkafka]\nversion = "0.28"\n', "src/main.rs": source}
    assert only(read(tmp_path, files)).since == "1.6.0"


@pytest.mark.parametrize(
    ("file", "content", "coordinates"),
    [
        ("V.kt", 'object V { const val kafka = "3.4.1" }', '"org.apache.kafka:kafka-clients:${V.kafka}"'),
        ("D.kt", 'object D { const val kc = "org.apache.kafka:kafka-clients:3.4.1" }', "D.kc"),
    ],
)
def test_sources_of_a_build_tell_versions(tmp_path, file, content, coordinates) -> None:
    files = {
        f"buildSrc/src/main/kotlin/{file}": content,
        "app/build.gradle.kts": f"dependencies {{ implementation({coordinates}) }}\n",
    }
    assert only(read(tmp_path / "a", files | {"app/p.properties": "acks=1\n"})).release == "3.4.1"
    files = {"build.gradle.kts": files["app/build.gradle.kts"], "p.properties": "acks=1\n"}
    assert only(read(tmp_path / "b", files)).release is None


def test_sources_of_a_build_of_sbt_tell_versions(tmp_path) -> None:
    scala = 'object D { val v = "2.8.1"; val kc = "org.apache.kafka" % "kafka-clients" % v }\n'
    files = {"build.sbt": "", "project/D.scala": scala, "core/p.properties": "acks=1\n"}
    assert only(read(tmp_path, files)).release == "2.8.1"


def test_the_image_that_a_worker_is_made_from_tells_its_release(tmp_path) -> None:
    worker = "group.id=w\nconfig.storage.topic=c\nproducer.acks=1\n"
    docker = "FROM confluentinc/cp-kafka-connect-base:7.5.0\nCOPY worker/ /etc/kafka/\n"
    producer = only(read(tmp_path, {"Dockerfile": docker, "worker/connect.properties": worker}))
    assert (producer.release, "Dockerfile:1" in producer.release_from) == ("3.5", True)
    other = {"Dockerfile": "FROM eclipse-temurin:17\n", "worker/connect.properties": worker}
    assert only(read(tmp_path / "b", other)).release is None


CLIENT = (
    "import io.micronaut.configuration.kafka.annotation.KafkaClient;\n"
    "@KafkaClient(acks = KafkaClient.Acknowledge.ALL)\n"
    "public interface C {}\n"
)


@pytest.mark.parametrize(
    ("file", "content", "release"),
    [
        ("build.gradle", 'micronaut {\n  version("4.3.5")\n  runtime("netty")\n}\n', "3.6.1"),
        ("build.gradle.kts", 'micronaut {\n  processing {\n    x(true)\n  }\n  version = "4.9.1"\n}\n', "3.9.1"),
        ("gradle.properties", "micronautVersion=3.8.2\n", "2.8.2"),
        ("pom.xml", "<parent><groupId>io.micronaut.platform</groupId><artifactId>micronaut-parent</artifactId>"
         "<version>4.2.1</version></parent>", "3.6.0"),
        ("build.gradle", 'micronaut {\n  runtime("netty")\n}\nversion("4.3.5")\n', None),
    ],
)  # fmt: skip
def test_a_platform_of_micronauts_brings_a_client(tmp_path, file, content, release) -> None:
    assert only(read(tmp_path, {file: content, "C.java": CLIENT})).release == release


@pytest.mark.parametrize(
    ("file", "content", "since"),
    [
        ("requirements.txt", "requests\nconfluent-kafka\n", "1.0.0"),
        ("requirements.txt", "confluent-kafka[avro]  # any\n", "1.0.0"),
        ("requirements.txt", "confluent-kafka-helpers\n", ""),
        ("requirements.txt", "confluent-kafka<1.0\n", ""),
        ("Dockerfile", "FROM python:3.11\nRUN pip install --no-cache-dir confluent-kafka requests\n", "1.0.0"),
        ("Dockerfile", "FROM python:3.11\nRUN pip install requests\n", ""),
        ("pyproject.toml", 'dependencies = [\n  "confluent-kafka",\n]\n', "1.0.0"),
    ],
)
def test_a_package_that_is_not_pinned_is_the_newest(tmp_path, file, content, since) -> None:
    source = "from confluent_kafka import Producer\nProducer({'bootstrap.servers': 'k'})\n"
    assert only(read(tmp_path, {file: content, "send.py": source})).since == since


@pytest.mark.parametrize(
    ("file", "content", "since"),
    [
        ("Dockerfile", "FROM php:8.2-cli-bookworm\nRUN apt-get install -y librdkafka-dev\n", "2.0.2"),
        ("Dockerfile", "FROM php:8.0-cli-buster\nRUN apt-get install -y git \\\n    librdkafka-dev\n", "0.11.6"),
        ("Dockerfile", "FROM php:8.3-fpm-alpine\nRUN apk add --no-cache librdkafka-dev\n", "1.6.0"),
        ("Dockerfile", "FROM php:7.1\nRUN apt-get install -y librdkafka-dev\n", ""),
        ("Dockerfile", "FROM php:8.2-cli-bookworm\nRUN apt-get install -y git\n", ""),
        ("CMakeLists.txt", "pkg_check_modules(RDKAFKA REQUIRED rdkafka>=1.8)\n", "1.8"),
        ("CMakeLists.txt", "find_package(RdKafka 1.9 REQUIRED)\n", "1.9"),
        ("CMakeLists.txt", "find_package(RdKafka REQUIRED)\n", ""),
        ("meson.build", "dep = dependency('rdkafka', version: '>=1.6')\n", "1.6"),
    ],
)
def test_what_an_image_or_a_build_asks_for_at_least(tmp_path, file, content, since) -> None:
    source = "<?php\n$c = new RdKafka\\Conf();\n$c->set('linger.ms', '1');\n$p = new RdKafka\\Producer($c);\n"
    assert only(read(tmp_path, {file: content, "send.php": source})).since == since


BOOT_OF = "<project><parent><groupId>org.springframework.boot</groupId>"
BOOT_OF += "<artifactId>spring-boot-starter-parent</artifactId><version>3.2.0</version></parent></project>"


@pytest.mark.parametrize(
    ("file", "release"),
    [("repo/offers.yml", "3.6.0"), ("repo/offers-prod.yml", "3.6.0"), ("repo/bids.yml", None),
     ("repo/application.yml", None)],
)  # fmt: skip
def test_a_configuration_servers_file_is_of_the_module_of_its_name(tmp_path, file, release) -> None:
    files = {file: "spring: {kafka: {producer: {acks: 1}}}\n", "offers/pom.xml": BOOT_OF}
    assert {each.release for each in read(tmp_path, files).producers} == {release}


WORKER = "bootstrap.servers=k\ngroup.id=g\nkey.converter=x\nvalue.converter=x\noffset.storage.topic=o\n"
URL = "kafka_version: 3.6.2\nurl: 'https://x/kafka/{{ kafka_version }}/kafka_2.13-{{ kafka_version }}.tgz'\n"
SINK = "df.write.format('kafka').option('kafka.acks', '1').option('topic', 't').save()\n"
SPARK = {"jobs/j.py": f"from pyspark.sql import SparkSession\n{SINK}"}
SUBMIT = "spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.12:{} jobs/j.py\n"


@pytest.mark.parametrize(
    ("files", "release"),
    [
        ({"etc/worker.properties": WORKER, "Dockerfile": "FROM apache/kafka:3.7.0\n"}, "3.7.0"),
        ({"roles/c/templates/connect.properties.j2": WORKER, "roles/c/defaults/main.yml": URL}, "3.6.2"),
        ({"roles/c/templates/connect.properties.j2": WORKER, "roles/c/tasks/main.yml": URL.replace("k", "q")}, None),
        (SPARK | {"README.md": SUBMIT.format("3.5.0")}, "3.4.1"),
        (SPARK | {"Makefile": "run:\n\t" + SUBMIT.format("3.5.0"), "run.sh": SUBMIT.format("3.3.0")}, None),
        (SPARK, None),
    ],
)
def test_how_a_program_is_installed_or_started_tells_its_release(tmp_path, files, release) -> None:
    assert only(read(tmp_path, files)).release == release
