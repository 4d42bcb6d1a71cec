"""Which files are read, what is told of them, and that nothing in them stops the rest."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import audit
from audit.model import Inputs
from audit.readers import Options, read_paths
from tests.unit.audit.damage import CANARY, damaged
from tests.unit.audit.reading import only, read, told, values

EXAMPLES = Path(audit.__file__).parent / "examples"


def test_the_examples_have_what_their_list_says() -> None:
    inputs = read_paths([EXAMPLES])
    found = [(Path(each.origin.path).parent.name, each.client, each.release) for each in inputs.producers]
    assert sorted(set(found)) == [
        ("connect", "java", "2.8"),
        ("good", "java", "3.9.1"),
        ("legacy-scala", "scala", "0.8.2.2"),
        ("librdkafka", "librdkafka", "2.3.0"),
        ("spring-2.8", "java", "2.8.2"),
        ("strimzi", "java", "3.9.0"),
    ]
    assert [each.name for each in inputs.topics] == ["orders", "payments", "page-views"]
    assert [(each.name, each.release, each.mode, each.replicas) for each in inputs.brokers] == [
        ("shop", "3.9.0", "kraft", 3)
    ]
    assert [each.kind for each in inputs.problems] == ["unknown-key"]


def test_directories_of_others_are_skipped_and_counted(tmp_path) -> None:
    for name in ("node_modules", "target", ".git", ".venv", "build"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "producer.properties").write_text("acks=0\n")
    inputs = read(
        tmp_path, {"src/producer.properties": "acks=all\n", "a.txt": "acks=0", "b.yml": "x: 1", "c.yml": "b\0c"}
    )
    assert values(only(inputs)) == {"acks": "all"}
    assert dict(inputs.ignored) == {
        "binary": 1,
        "in .git/": 1,
        "in .venv/": 1,
        "in build/": 1,
        "in node_modules/": 1,
        "in target/": 1,
        "nothing of Kafka in it": 1,
        "of another kind": 1,
    }
    assert [Path(each).name for each in inputs.read] == ["producer.properties"]


def test_links_in_a_circle_and_to_nothing(tmp_path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "gone.yml").symlink_to(tmp_path / "nowhere")
    (tmp_path / "again.properties").symlink_to(tmp_path / "p.properties")
    inputs = read(tmp_path, {"p.properties": "acks=1\n"})
    assert len(inputs.producers) == 1
    assert inputs.ignored["a directory that was walked already"] == 1
    assert inputs.ignored["a link to nothing"] == 1
    assert inputs.ignored["a file that was read already"] == 1


def test_a_large_file_is_passed_over(tmp_path) -> None:
    path = tmp_path / "big.properties"
    path.write_text("acks=1\n" + "#" * 1_000_001)
    assert read_paths([tmp_path]).ignored == {"larger than 1 MB": 1}
    assert "larger than 1 MB" in str(read_paths([path]).problems[0])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"acks\0=1", "is binary"),
        (b"colour=red", "nothing of Kafka in it"),
        (b"kafka.home=/opt", "no producer, topic or broker in it"),
    ],
)
def test_of_a_file_that_is_named_it_is_told_why_nothing_came_of_it(tmp_path, content, message) -> None:
    path = tmp_path / "x.properties"
    if content is not None:
        path.write_bytes(content)
    inputs = read_paths([path])
    assert (inputs.producers, [each.message for each in inputs.problems]) == ((), [message])


def test_a_directory_that_cannot_be_listed_is_told(tmp_path, monkeypatch) -> None:
    (tmp_path / "closed").mkdir()
    listing = os.scandir

    def refuse(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return listing(path)

    monkeypatch.setattr(os, "scandir", refuse)
    inputs = read(tmp_path, {"p.properties": "acks=1\n"})
    assert len(inputs.producers) == 1
    assert told(inputs, "unreadable")[0].startswith("closed:None cannot be listed: Permission denied")


def test_what_is_damaged_is_told_and_the_rest_is_read(tmp_path) -> None:
    files = {"a.yml": "kafka: [\n", "b.json": '{"acks": }', "c.properties": "acks=1\n", "d.yml": "nothing: ["}
    inputs = read(tmp_path, files)
    assert len(inputs.producers) == 1
    assert sorted(told(inputs, "unreadable")) == [
        "a.yml:2 not readable: did not find expected node content: the rest is left out",
        "b.json:1 not readable: expecting value: the rest is left out",
    ]


def test_the_standard_input(monkeypatch) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("services: {a: {image: x, environment: {KAFKA_ACKS: 1}}}"))
    producer = only(read_paths(["-"]))
    assert (values(producer), producer.origin.path) == ({"acks": "1"}, "(standard input)")


def test_properties_on_the_standard_input(monkeypatch) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("# ours\n\n  ! too\nacks = 1\nbootstrap.servers=k:9092\n"))
    producer = only(read_paths(["-"]))
    assert values(producer)["acks"] == "1"
    assert producer.settings["acks"].origin.line == 4


SECRETS = {
    "a/producer.properties": f"acks=1\nsasl.jaas.config=org.x.PlainLoginModule required \\\n password=\"{CANARY}\";\n"
    f"ssl.key.password={CANARY}\nssl.keystore.key=-----BEGIN {CANARY}\nsasl.passwrd={CANARY}\n"
    f"schema.registry.url=https://u:{CANARY}@r\nbasic.auth.user.info=u:{CANARY}\n",
    "b/application.yml": f"spring:\n  kafka:\n    ssl: {{key-store-password: {CANARY}}}\n    producer: {{acks: 1}}\n"
    f"    properties:\n      sasl.jaas.config: ${{JAAS:x password={CANARY}}}\n      oauth.token: {CANARY}\n",
    "c/compose.yml": f"services:\n  a:\n    image: x\n    environment:\n      KAFKA_PRODUCER_ACKS: 1\n"
    f"      KAFKA_PRODUCER_SASL_PASSWORD: {CANARY}\n      DB_PASSWORD: {CANARY}\n"
    f"      SPRING_APPLICATION_JSON: '{{\"spring.kafka.producer.acks\": 1, \"my.secret\": \"{CANARY}\"}}'\n",
    "d/secret.yaml": f"apiVersion: v1\nkind: Secret\nmetadata: {{name: kafka}}\nstringData: {{password: {CANARY}}}\n",
    "d/deploy.yaml": "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, image: x, env: ["
    f"{{name: KAFKA_ACKS, value: '1'}}, {{name: KAFKA_SSL_KEYSTORE_PASSWORD, value: {CANARY}}}]}}]}}\n",
    "e/connector.json": '{"name": "c", "config": {"connector.class": "PgSource", '
    f'"database.password": "{CANARY}", "producer.override.sasl.jaas.config": "{CANARY}"}}}}',
    "f/app.py": f'from confluent_kafka import Producer\nProducer({{"acks": 1, "sasl.password": "{CANARY}"}})\n',
    "g/job.sql": f"CREATE TABLE t (a INT) WITH ('connector'='kafka', 'properties.acks'='1', "
    f"'properties.sasl.jaas.config'='{CANARY}');",
    "h/broken.yml": f"kafka:\n  password: {CANARY}\n  x: [{CANARY}\n",
    "h/broken.json": f'{{"kafka": "{CANARY}", "password": "{CANARY}" "x"}}',
    "h/broken.properties": f"acks=1\nsasl.password=\\u12{CANARY}\n",
    "i/kafka.yaml": "apiVersion: kafka.strimzi.io/v1beta2\nkind: Kafka\nmetadata: {name: k}\n"
    f"spec: {{kafka: {{config: {{ssl.keystore.password: {CANARY}, min.insync.replicas: 2}}}}}}\n",
    "j/.env": f"KAFKA_PRODUCER_ACKS=1\nKAFKA_PRODUCER_SASL_JAAS_CONFIG={CANARY}\n",
}  # fmt: skip


def test_no_secret_is_kept_anywhere(tmp_path) -> None:
    inputs = read(tmp_path, SECRETS, env={"JAAS": f"password={CANARY}"})
    assert {Path(each.origin.path).parent.name for each in inputs.producers} == set("abcdefghj") - {"h"} | {"h"}
    assert len(inputs.brokers) == 1
    assert CANARY not in repr(inputs)
    assert not any(CANARY in str(each) for each in inputs.problems)


def test_secrets_are_there_to_be_kept(tmp_path) -> None:
    """The canaries above are where a reader would find them: with other keys they would be in the answer."""
    inputs = read(tmp_path, {"producer.properties": f"acks=1\nclient.id={CANARY}\n"})
    assert CANARY in repr(inputs)


CORPUS = sorted(path for path in EXAMPLES.rglob("*") if path.is_file())


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(CORPUS), st.randoms(use_true_random=False), st.booleans())
def test_no_file_is_too_damaged_to_be_read(tmp_path, path, choose, alone) -> None:
    folder = tmp_path / "f"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / path.name).write_bytes(damaged(path.read_bytes(), choose))
    inputs = read_paths([folder / path.name if alone else folder], Options(env={"ACKS": "all"}))
    assert isinstance(inputs, Inputs)
    assert all("\n" not in str(each) for each in inputs.problems)


def test_users_of_brokers_are_nobodys_configuration(tmp_path) -> None:
    content = f'KafkaServer {{\n  org.x.PlainLoginModule required\n  password="{CANARY}";\n}};\n'
    inputs = read(tmp_path, {"kafka_jaas.conf": content})
    assert inputs.problems == ()
    assert CANARY not in repr(inputs)
