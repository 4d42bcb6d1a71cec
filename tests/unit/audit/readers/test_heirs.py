"""Producers of classes that inherit from the one that makes a producer, each with what it gives that one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.unit.audit.reading import read

GRADLE = "dependencies { implementation 'org.apache.kafka:kafka-clients:3.6.1' }\n"
PACKAGE = '{"name": "x", "dependencies": {"kafkajs": "2.2.4"}}'
JAVA = """package a;
import java.util.*;
import org.apache.kafka.clients.producer.*;
public abstract class Base {
  private final Producer<String, String> producer;
  protected Base(HEAD) {
    Properties p = new Properties();
    p.put("bootstrap.servers", "k:9092");
    MORE
    producer = new KafkaProducer<>(p);
  }
  REST
}
"""
CSHARP = """using Confluent.Kafka;
public abstract class Base
{
    protected Base()
    {
        var config = new ProducerConfig { BootstrapServers = "k:9092" };
        Configure(config);
        var producer = new ProducerBuilder<string, string>(config).Build();
    }
    protected abstract void Configure(ProducerConfig config);
}
"""
TYPESCRIPT = """import { Kafka, ProducerConfig } from 'kafkajs';
export abstract class Base {
  REST
  constructor(HEAD) {
    this.producer = new Kafka({ clientId: 'x', brokers: ['k:9092'] }).producer(GIVEN);
  }
}
"""
PYTHON = """from confluent_kafka import Producer
class Base:
    options = {}
    def settings(self):
        return {}
    def __init__(self, extra=None):
        self.p = Producer({"bootstrap.servers": "k:9092", GIVEN})
"""


def told(folder: Path, files: Mapping[str, str], key: str = "acks") -> dict[str, str]:
    """By file, what its producer has of a setting; "?" if it is unknown or not there."""
    found = {}
    for each in read(folder, files).producers:
        setting = each.settings.get(key)
        found[os.path.basename(each.origin.path)] = setting.value if setting is not None and setting.known else "?"
    return found


@pytest.mark.parametrize(
    ("head", "more", "rest", "heir"),
    [
        ("", "customise(p);", "abstract void customise(Properties p);",
         'public class NAME extends Base { void customise(Properties p) { p.put("acks", "VALUE"); } }'),
        ("Map<String, Object> more", "p.putAll(more);", "",
         'import java.util.Map;\npublic class NAME extends Base { public NAME() { super(Map.of("acks", "VALUE")); } }'),
    ],
)  # fmt: skip
def test_heirs_of_java(tmp_path, head, more, rest, heir) -> None:
    base = JAVA.replace("HEAD", head).replace("MORE", more).replace("REST", rest)
    files = {name: f"package a;\n{heir}".replace("NAME", name).replace("VALUE", value)
             for name, value in (("One", "all"), ("Two", "1"))}  # fmt: skip
    files = {f"src/main/java/a/{name}.java": text for name, text in {**files, "Base": base}.items()}
    assert told(tmp_path, {**files, "build.gradle": GRADLE}) == {"One.java": "all", "Two.java": "1"}


def test_heirs_that_stand_in_the_same_file(tmp_path) -> None:
    base = (
        JAVA.replace("HEAD", "")
        .replace("MORE", "customise(p);")
        .replace("REST", "abstract void customise(Properties p);")
    )
    heir = 'class NAME extends Base { void customise(Properties p) { p.put("acks", "VALUE"); } }\n'
    text = base + "".join(
        heir.replace("NAME", name).replace("VALUE", value) for name, value in (("A", "all"), ("B", "1"))
    )
    found = read(tmp_path, {"build.gradle": GRADLE, "src/main/java/a/Base.java": text}).producers
    assert {each.name: each.settings["acks"].value for each in found} == {"Base.java, A": "all", "Base.java, B": "1"}


def test_a_heir_that_gives_what_is_not_told_leaves_it_unknown(tmp_path) -> None:
    base = JAVA.replace("HEAD", "Map<String, Object> more").replace("MORE", "p.putAll(more);").replace("REST", "")
    files = {
        "build.gradle": GRADLE,
        "src/main/java/a/Base.java": base,
        "src/main/java/a/One.java": "package a;\npublic class One extends Base { One(Other o) { super(o.map()); } }",
    }
    assert set(told(tmp_path, files).values()) == {"?"}


def test_heirs_of_dotnet(tmp_path) -> None:
    heir = "public class NAME : Base { protected override void Configure(ProducerConfig c) { c.Acks = Acks.VALUE; } }"
    files = {f"{name}.cs": f"using Confluent.Kafka;\n{heir}".replace("NAME", name).replace("VALUE", value)
             for name, value in (("One", "All"), ("Two", "Leader"))}  # fmt: skip
    assert told(tmp_path, {**files, "Base.cs": CSHARP, "App.csproj": "<Project/>"}) == {"One.cs": "all", "Two.cs": "1"}


@pytest.mark.parametrize(
    ("head", "given", "rest", "heir"),
    [
        ("options: ProducerConfig", "options", "", "constructor() { super({ idempotent: VALUE }); }"),
        ("options: ProducerConfig", "{ maxInFlightRequests: 1, ...options }", "",
         "constructor() { super({ idempotent: VALUE }); }"),
        ("", "this.options()", "abstract options(): ProducerConfig;", "options() { return { idempotent: VALUE }; }"),
    ],
)  # fmt: skip
def test_heirs_of_typescript(tmp_path, head, given, rest, heir) -> None:
    base = TYPESCRIPT.replace("HEAD", head).replace("GIVEN", given).replace("REST", rest)
    text = "import { Base } from './base';\nexport class NAME extends Base { HEIR }".replace("HEIR", heir)
    files = {f"src/{name}.ts": text.replace("NAME", name).replace("VALUE", value)
             for name, value in (("one", "true"), ("two", "false"))}  # fmt: skip
    found = told(tmp_path, {**files, "src/base.ts": base, "package.json": PACKAGE}, "enable.idempotence")
    assert found == {"one.ts": "true", "two.ts": "false"}


@pytest.mark.parametrize(
    ("given", "heir"),
    [
        ("**self.options", 'options = {"acks": "VALUE"}'),
        ("**self.settings()", 'def settings(self):\n        return {"acks": "VALUE"}'),
        ("**extra", 'def __init__(self):\n        super().__init__({"acks": "VALUE"})'),
    ],
)
def test_heirs_of_python(tmp_path, given, heir) -> None:
    files = {f"app/{name}.py": f"from .base import Base\nclass {name.title()}(Base):\n    {heir}\n".replace(
        "VALUE", value) for name, value in (("one", "all"), ("two", "1"))}  # fmt: skip
    more = {"app/base.py": PYTHON.replace("GIVEN", given), "requirements.txt": "confluent-kafka==2.3.0"}
    assert told(tmp_path, {**files, **more}) == {"one.py": "all", "two.py": "1"}
