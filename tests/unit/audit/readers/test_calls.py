"""Values that functions are given by those who call them: in Java, Kotlin, C#, Go and Rust."""

from __future__ import annotations

import pytest

from audit.readers.calls import parameters_of
from tests.unit.audit.reading import only, read

JAVA = """package a;
import org.apache.kafka.clients.producer.*;
public class Sender {
  private final Producer<String, String> producer;
  public Sender(String servers, String acks) {
    Properties p = new Properties();
    p.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
    p.put(ProducerConfig.ACKS_CONFIG, acks);
    producer = new KafkaProducer<>(p);
  }
}
"""
GO = """package q
import "github.com/IBM/sarama"
func NewProducer(acks sarama.RequiredAcks) (sarama.SyncProducer, error) {
	c := sarama.NewConfig()
	c.Producer.RequiredAcks = acks
	return sarama.NewSyncProducer([]string{"k"}, c)
}
"""
CS = """using Confluent.Kafka;
public class Sender {
  public Sender(string servers, Acks acks) {
    P = new ProducerBuilder<string, string>(new ProducerConfig { BootstrapServers = servers, Acks = acks }).Build();
  }
}
"""
RUST = """use rdkafka::producer::FutureProducer;
fn producer(brokers: &str, acks: &str) -> FutureProducer {
    ClientConfig::new().set("bootstrap.servers", brokers).set("acks", acks).create().unwrap()
}
"""
SOURCES = {"java": ("a/Sender.java", JAVA, "a/Main.java", "class Main { void f() { %s } }"),
           "go": ("q/q.go", GO, "main.go", 'package main\nimport "x/q"\nfunc main() {\n\t%s\n}\n'),
           "cs": ("Sender.cs", CS, "Program.cs", "%s"),
           "rs": ("src/k.rs", RUST, "src/main.rs", "fn main() { %s }")}  # fmt: skip


@pytest.mark.parametrize(
    ("language", "calls", "told"),
    [
        ("java", 'new Sender("k", "1");', "1"),
        ("java", 'new Sender("k", "1"); new Sender("l", "1");', "1"),
        ("java", 'new Sender("k", System.getenv("ACKS"));', None),
        ("java", "", None),
        ("go", "q.NewProducer(sarama.WaitForLocal)", "1"),
        ("go", "q.NewProducer(choose())", None),
        ("cs", 'var s = new Sender("k", Confluent.Kafka.Acks.All);', "all"),
        ("cs", 'var s = new Sender("k", acks: Acks.None);', "0"),
        ("rs", 'let _p = producer("k", "1");', "1"),
        ("rs", 'let acks = env::var("A").unwrap_or_else(|_| "0".to_string()); let _p = producer("k", &acks);', "0"),
    ],
)
def test_a_parameter_that_every_call_gives_the_same(tmp_path, language, calls, told) -> None:
    file, content, other, body = SOURCES[language]
    builds = {"go.mod": "module x\n", "a.csproj": "<Project/>", "Cargo.toml": "[package]\n"}
    found = only(read(tmp_path, {file: content, other: body % calls, **builds})).settings["acks"]
    assert (found.value if found.known else None) == told


MAKES = "class Make { static Producer<String, String> make(Properties p) { return new KafkaProducer<>(p); } }\n"
PROPS = 'class Props { static Properties all() { Properties p = new Properties(); p.put("acks", "1"); return p; } }\n'


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ("Make.make(Props.all());", "1"),
        ('Properties q = new Properties(); q.put("acks", "0"); Make.make(q);', "0"),
        ("Make.make(load());", None),
        ("Make.make(Props.all()); Make.make(other);", None),
    ],
)
def test_a_map_that_the_only_call_hands_on(tmp_path, calls, told) -> None:
    head = "package a;\nimport org.apache.kafka.clients.producer.*;\n"
    files = {"a/Make.java": head + MAKES, "a/Props.java": head + PROPS,
             "a/Main.java": f"package a;\nclass Main {{ void f() {{ {calls} }} }}\n"}  # fmt: skip
    found = only(read(tmp_path, files)).settings["acks"]
    assert (found.value if found.known else None) == told


@pytest.mark.parametrize(
    ("function", "language", "names"),
    [
        ("void f(@Value(\"${a.b}\") final String a, Map<String, Integer> b) {}", "java", ["a", "b"]),
        ("func (p *P) F(a, b string, c int) error {", "go", ["a", "b", "c"]),
        ('fun f(a: String, b: Int = g(1, 2)) = 1', "kt", ["a", "b"]),
        ("fn f(&self, a: &str) {}", "rs", ["self", "a"]),
    ],
)  # fmt: skip
def test_the_parameters_of_a_function(function, language, names) -> None:
    assert [name for name, _ in parameters_of(function, language)] == names


RECORD = {"a/S.java": "package a;\npublic record S(String servers, String acks) {}\n"}
TAKES = """package a;
import org.apache.kafka.clients.producer.*;
public class P {
  P(S s) {
    Properties p = new Properties();
    p.put("acks", s.acks());
    new KafkaProducer<String, String>(p);
  }
}
"""


@pytest.mark.parametrize(
    ("made", "told"),
    [('new S("k", "1");', "1"), ('new S("k", "1"); new S("k", "0");', None), ('new S("k", load());', None), ("", None)],
)
def test_a_field_of_a_record_is_what_it_is_made_with(tmp_path, made, told) -> None:
    files = {"a/P.java": TAKES, "a/Main.java": f"package a;\nclass Main {{ void f() {{ {made} }} }}\n", **RECORD}
    found = only(read(tmp_path, files)).settings["acks"]
    assert (found.value if found.known else None) == told


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"q/q.go": GO.replace("= acks", "= limits.Acks"),
          "limits/l.go": "package limits\nconst Acks = sarama.NoResponse\n"}, "0"),
        ({"q/q.go": GO.replace("= acks", "= limits.Acks"), "limits/l.go": "package limits\nvar Acks = f()\n"}, None),
        ({"P.cs": CS.replace("Acks = acks", "Acks = Defaults.Sure"),
          "D.cs": "static class Defaults { public const Acks Sure = Acks.All; }\n"}, "all"),
        ({"P.cs": CS.replace("Acks = acks", "Acks = Defaults.Sure"), "D.cs": "static class Others { }\n"}, None),
    ],
)  # fmt: skip
def test_a_constant_of_another_package_or_class(tmp_path, files, told) -> None:
    files = {name: text.replace('"github.com/IBM/sarama"', '(\n\t"github.com/IBM/sarama"\n\t"x/limits"\n)')
             for name, text in files.items()}  # fmt: skip
    found = only(read(tmp_path, {"go.mod": "module x\n", "a.csproj": "<Project/>", **files})).settings["acks"]
    assert (found.value if found.known else None) == told


@pytest.mark.parametrize(
    ("setter", "told"),
    [
        ("", "all"),
        ("void setAcks(String acks) { this.acks = acks; }", None),
        ('void weak() { this.other = "1"; }', "all"),
    ],
)
def test_a_field_that_is_set_again_is_not_what_it_begins_with(tmp_path, setter, told) -> None:
    source = 'package a;\nimport org.apache.kafka.clients.producer.*;\nclass P {\n  private String acks = "all";\n'
    source += f'  {setter}\n  void f() {{ Properties p = new Properties(); p.put("acks", acks); '
    source += "new KafkaProducer<String, String>(p); }\n}\n"
    found = only(read(tmp_path, {"a/P.java": source})).settings["acks"]
    assert (found.value if found.known else None) == told
