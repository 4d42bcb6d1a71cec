"""Files that are made to take for ever: each is read, or refused, at once. Nothing is timed; a hang ends the test."""

from __future__ import annotations

import pytest

from audit.readers import Options, read_paths
from tests.unit.audit.reading import read

N = 60_000
MERGES = "kafka: &a0 {k: 1}\n" + "".join(f"x{n}: &a{n} {{<<: *a{n - 1}, k{n}: 1}}\n" for n in range(1, 12_000))
LAUGHS = "kafka: &a0 [{acks: 1}]\n" + "".join(f"x{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 15))
LISTS = "a0: &a0 {apiVersion: v1, kind: List, items: []}\n" + "".join(
    f"a{n}: &a{n} {{apiVersion: v1, kind: List, items: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 15)
)
FILES = {
    "escapes.properties": "acks=1\n" + "a=\\uzz\n" * N,
    "keys.properties": "acks=1\n" + "".join(f"linger.{n}.mss=1\n" for n in range(N)),
    "key.properties": "kafka.producer.acks=1\n" + "a." * N * 5 + "acks=1\n",
    "dollars.properties": "acks=" + "${" * N * 5,
    "words.properties": "acks=1\nclient.id=" + "a-" * N * 5,
    "braces.yml": "kafka: [\n" + "{{" * N * 5,
    "comments.sql": "kafka /*" + "/*" * N * 5,
    "tables.sql": "CREATE TABLE a (" * N + "kafka",
    "quotes.sql": "CREATE TABLE a ('kafka" + "'" * N * 5,
    "merges.yml": MERGES,
    "laughs.yml": LAUGHS,
    "lists.yml": LISTS + "apiVersion: v1\nkind: List\nitems: [*a14]\nkafka: 1\n",
    "deep.json": '{"kafka": ' + "[" * N * 5,
    "deep.py": "from confluent_kafka import Producer\nx = " + "-" * N + "1",
    "application.yml": "spring.config.activate.on-profile: '" + "(" * N * 5 + "a'\nspring.kafka.producer.acks: 1\n",
    "p.properties": "acks=${a}\n",
    "Many.java": "import org.apache.kafka.clients.producer.*;\nclass A { java.util.Map<String, Object> m;\n"
    + "".join(
        f' Object a{n}(java.util.Map x) {{ m.put("acks", "1"); m.putAll(x); return new KafkaProducer<>(m); }}\n'
        for n in range(600)
    )
    + "}\n",
    "many.py": "from confluent_kafka import Producer\n"
    + "".join(f"def g{n}(): return g{n + 1}()\ndef f{n}(): return Producer(g{n}())\n" for n in range(800)),
    "names.py": "from confluent_kafka import Producer\nimport cfg\n"
    + "".join(f"A{n} = '1'\nProducer({{'acks': A{n}, 'retries': cfg.x}})\n" for n in range(800)),
    "syslog.conf": "destination d {\n" + "kafka(" * N * 2,
    "bus.rb": "require 'kafka'\n" + "x.producer((" * N,
    "bus.cpp": "#include <cppkafka/cppkafka.h>\n" + '{ "acks", ' * N,
    "Rider.cs": "using MassTransit; // UsingKafka\n" + "x.AddProducer<A>(y => y" * 2_000,
    "compose.yml": "services: {a: {image: x, environment: {MP_MESSAGING_OUTGOING" + "_A" * N + ": kafka}}}",
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.slow
def test_a_hostile_file_is_read_at_once(tmp_path, name) -> None:
    inputs = read(tmp_path, {name: FILES[name], "good/producer.properties": "acks=all\n"})
    assert any(each.origin.path.endswith("good/producer.properties") for each in inputs.producers)
    assert all(len(str(each)) < 1500 for each in inputs.problems)


@pytest.mark.parametrize(
    ("build", "content"),
    [
        ("pom.xml", "<!--" * N),
        ("pom.xml", "<parent>" * N),
        ("build.gradle", "/*" * N),
        ("build.gradle", "a" * N * 5),
        ("build.gradle", "a." * N * 5),
        ("Pipfile.lock", '"confluent-kafka": {' * N),
    ],
)
def test_a_hostile_build_file_says_nothing(tmp_path, build, content) -> None:
    (producer,) = read(tmp_path, {build: content, "producer.properties": "acks=all\n"}).producers
    assert producer.release is None


def test_placeholders_that_multiply(tmp_path) -> None:
    names = {f"A{n}": f"${{A{n + 1}}}" * 50 for n in range(10)}
    path = tmp_path / "producer.properties"
    path.write_text("acks=${A0}\n")
    (producer,) = read_paths([path], Options(env=names)).producers
    assert not producer.settings["acks"].known
