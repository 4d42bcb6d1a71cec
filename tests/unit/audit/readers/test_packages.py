"""The release of clients that are no artifacts of the JVM's, from go.mod, package.json, requirements and their like."""

from __future__ import annotations

import pytest

from audit.readers.releases import told_in
from tests.unit.audit.reading import only, read

JS = "import { Kafka } from 'kafkajs'\nconst producer = new Kafka({brokers: ['k']}).producer()\n"


@pytest.mark.parametrize(
    ("file", "content", "library", "release", "partial"),
    [
        ("go.mod", "require (\n\tgithub.com/IBM/sarama v1.43.1\n)", "sarama", "1.43.1", False),
        ("go.mod", "require github.com/segmentio/kafka-go v0.4.47", "kafka-go", "0.4.47", False),
        ("go.mod", "require github.com/twmb/franz-go v1.16.1 // indirect", "franz-go", "1.16.1", False),
        ("requirements/base.txt", "Django==4.1\naiokafka==0.8.0\n", "aiokafka", "0.8.0", False),
        ("requirements.txt", "kafka_python[lz4]~=2.0.2\n", "kafka-python", "2.0", True),
        ("requirements.txt", "kafka-python==2.0.*\n", "kafka-python", "2.0", True),
        ("setup.py", 'install_requires=["x", "kafka-python==2.0.2"]', "kafka-python", "2.0.2", False),
        ("Pipfile", '[packages]\nkafka-python = "==2.0.2"\n', "kafka-python", "2.0.2", False),
        ("pyproject.toml", 'aiokafka = {version = "0.10.0", extras = ["lz4"]}\n', "aiokafka", "0.10.0", False),
        ("pyproject.toml", 'aiokafka = "^0.10.0"\n', "aiokafka", "0.10", True),
        ("environment.yml", "dependencies:\n  - python-confluent-kafka=1.9.2\n", "librdkafka", "1.9.2", False),
        ("poetry.lock", 'name = "aiokafka"\nversion = "0.8.1"\n', "aiokafka", "0.8.1", False),
        ("package.json", '{"dependencies": {"kafkajs": "1.16.0"}}', "kafkajs", "1.16.0", False),
        ("package.json", '{"dependencies": {"kafkajs": "^2.2.4"}}', "kafkajs", "2.2.4", False),
        ("package.json", '{"dependencies": {"kafkajs": "~2.1.0"}}', "kafkajs", "2.1", True),
        ("package.json", '{"dependencies": {"node-rdkafka": "2.12.0"}}', "librdkafka", "1.7.0", False),
        ("package-lock.json", '"node_modules/kafkajs": {\n "version": "2.2.4",', "kafkajs", "2.2.4", False),
        ("yarn.lock", 'kafkajs@^2.2.0:\n  version "2.2.3"\n', "kafkajs", "2.2.3", False),
        ("pnpm-lock.yaml", "packages:\n  /kafkajs@2.2.4:\n", "kafkajs", "2.2.4", False),
        ("pnpm-lock.yaml", "  kafkajs:\n    specifier: ^2.0.0\n    version: 2.2.4\n", "kafkajs", "2.2.4", False),
        ("Directory.Packages.props", '<PackageVersion Include="Confluent.Kafka" Version="2.2.0" />', "librdkafka",
         "2.2.0", False),
        ("a.csproj", '<PackageReference Include="Confluent.Kafka"><Version>1.9.3</Version>', "librdkafka", "1.9.3",
         False),
        ("packages.config", '<package id="Confluent.Kafka" version="1.9.3" />', "librdkafka", "1.9.3", False),
        ("Cargo.toml", '[dependencies]\nkafka = "0.10"\n', "kafka-rust", "0.10", True),
        ("Gemfile.lock", "GEM\n  specs:\n    ruby-kafka (1.4.0)\n", "ruby-kafka", "1.4.0", False),
        ("mix.exs", '{:brod, "~> 3.16.1"}', "brod", "3.16", True),
        ("conanfile.txt", "[requires]\nlibrdkafka/2.3.0\n", "librdkafka", "2.3.0", False),
        ("requirements.txt", "pyspark==3.5.0\n", "spark", "3.5.0", False),
        ("build.sbt", '"org.apache.spark" %% "spark-sql-kafka-0-10" % "3.4.1"', "spark", "3.4.1", False),
    ],
)  # fmt: skip
def test_a_release_is_told(tmp_path, file, content, library, release, partial) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(content)
    assert [(each.library, each.release, each.partial) for each in told_in(tmp_path)] == [(library, release, partial)]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("go.mod", "require github.com/segmentio/kafka-go v0.0.0-20230101120000-abcdef\n"),
        ("go.mod", "module github.com/IBM/sarama/v2\n"),
        ("requirements.txt", "# kafka-python==1.4.7\naiokafka>=0.8\n"),
        ("requirements.txt", "my-kafka-python==1.0.0\n"),
        ("package.json", '{"dependencies": {"kafkajs": "^2.1.0", "kafka-node": "*"}}'),
        ("package.json", '{"dependencies": {"node-rdkafka": "^2.12.0", "kafkajs": "2.3.0-beta.1"}}'),
        ("pyproject.toml", 'confluent-kafka = "~1.5.2"\n'),
        ("a.csproj", '<PackageReference Include="Confluent.Kafka" Version="2.*" />'),
    ],
)
def test_a_range_of_several_lines_tells_none(tmp_path, file, content) -> None:
    (tmp_path / file).write_text(content)
    assert list(told_in(tmp_path)) == []


def test_a_lock_above_counts_where_the_package_beside_has_a_range(tmp_path) -> None:
    files = {
        "package-lock.json": '{"packages": {"node_modules/kafkajs": {"version": "2.1.0"}}}',
        "packages/bus/package.json": '{"dependencies": {"kafkajs": "^2.0.0"}}',
        "packages/bus/src/bus.js": JS,
    }
    producer = only(read(tmp_path, files))
    assert (producer.client, producer.release) == ("kafkajs", "2.1.0")


def test_two_releases_that_do_the_same_contradict_nobody(tmp_path) -> None:
    files = {"package.json": '{"dependencies": {"kafkajs": "2.2.3"}}', "bus.js": JS}
    lock = {"yarn.lock": 'kafkajs@2.2.3:\n  version "2.2.4"\n'}
    assert [each for each in read(tmp_path, files | lock).problems if each.kind == "release"] == []
