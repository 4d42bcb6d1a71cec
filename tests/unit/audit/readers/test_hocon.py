"""HOCON: what its specification says of objects, substitutions and merging, with lines, and what hostile files do."""

from __future__ import annotations

import pytest

from audit.readers.hocon import read_hocon
from audit.readers.text import Text, Unreadable
from audit.readers.tree import flatten
from tests.unit.audit.reading import lines, only, read, values


def told(content: str) -> dict[str, tuple[str, int | None]]:
    source = Text("application.conf", content)
    return {each.key: (each.value, each.origin.line) for each in flatten(read_hocon(source), source)}


def test_objects_paths_and_comments():
    found = told('a.b { c = 1 # one\n d : x // two\n e { f = g } }\n"q.r" = "s\\"t"\n')
    assert found == {"a.b.c": ("1", 1), "a.b.d": ("x", 2), "a.b.e.f": ("g", 3), "q.r": ('s"t', 4)}


def test_later_objects_are_merged_and_later_values_replace():
    assert told("a { b = 1, c = 2 }\na { b = 3 }\na.d = 4\n") == {
        "a.b": ("3", 2), "a.c": ("2", 1), "a.d": ("4", 3),
    }  # fmt: skip


def test_substitutions_of_the_file_and_of_the_environment():
    found = told('x.y = 1\nx.y = ${?ACKS}\nz = ${x.y}"-b"\nw = ${HOST}":9092"\nnone = ${?NONE}\n')
    assert found == {"x.y": ("${ACKS:1}", 2), "z": ("${ACKS:1}-b", 3), "w": ("${HOST}:9092", 4)}


def test_an_object_is_merged_with_what_it_refers_to():
    found = told("base { a = 1, b = 2 }\nnew = ${base} { b = 3 }\n")
    assert (found["new.a"], found["new.b"]) == (("1", 1), ("3", 2))


def test_lists_and_text_over_several_lines():
    assert told('l = [1, 2]\nl += 3\nt = """a\nb"""\nu = 1\n') == {
        "l": ("1,2,3", 1), "t": ("a\nb", 3), "u": ("1", 5),
    }  # fmt: skip


@pytest.mark.parametrize("content", ["a {", "a = [1", "= 1", "a b", "a = }", 'a = "x', "{ a = 1 } }"])
def test_what_is_none_is_refused(content):
    with pytest.raises(Unreadable):
        read_hocon(Text("application.conf", content))


def test_references_in_a_ring_end():
    assert told("a = ${b}\nb = ${a}\nc = ${c}\n")["c"] == ("${c}", 3)


@pytest.mark.parametrize(
    "content",
    [
        "a {" * 10_000,
        "a0 { x = 1 }\n" + "\n".join(f"a{at + 1} {{ l = ${{a{at}}}, r = ${{a{at}}} }}" for at in range(40)),
        "\n".join(["a = ${a}"] * 3_000),
    ],
    ids=["deep", "laughs", "itself"],
)
def test_a_bomb_is_refused(content):
    with pytest.raises(Unreadable):
        flatten(read_hocon(Text("application.conf", content)), Text("application.conf", content))


PEKKO = """pekko.kafka.producer {
  parallelism = 10
  kafka-clients {
    bootstrap.servers = "kafka:9092"
    acks = 1
  }
}
pekko.kafka.consumer.kafka-clients { group.id = g, retries = 3 }
"""


def test_the_producer_of_pekko(tmp_path):
    producer = only(read(tmp_path, {"src/main/resources/application.conf": PEKKO}))
    assert values(producer) == {"bootstrap.servers": "kafka:9092", "acks": "1"}
    assert lines(producer)["acks"] == "application.conf:5"
    assert producer.spelling == "pekko.kafka.producer.kafka-clients.{key}"


def test_the_sources_settings_stand_above_it(tmp_path):
    source = """import org.apache.pekko.kafka.ProducerSettings
object Out { val s = ProducerSettings(system, k, v).withProperty("acks", "all") }
"""
    files = {"build.sbt": "", "src/application.conf": PEKKO, "src/Out.scala": source}
    producer = only(read(tmp_path, files))
    assert values(producer) == {"bootstrap.servers": "kafka:9092", "acks": "all"}


def test_an_applications_own_section_and_a_consumers(tmp_path):
    content = 'kafka { producer { acks = "0", linger.ms = 5 }\n consumer { group.id = g } }\ndb { retries = 3 }\n'
    assert values(only(read(tmp_path, {"conf/application.conf": content}))) == {"acks": "0", "linger.ms": "5"}


def test_a_damaged_one_is_told(tmp_path):
    inputs = read(tmp_path, {"application.conf": "akka.kafka.producer {\n kafka-clients { acks = 1 \n"})
    assert [(each.kind, each.origin.line) for each in inputs.problems] == [("unreadable", 3)]


def test_a_secret_is_nowhere(tmp_path):
    content = PEKKO.replace(
        "acks = 1", "acks = 1\n sasl.jaas.config = \"x password='s3cret';\"\n ssl.key.password = s3cret"
    )
    assert "s3cret" not in repr(read(tmp_path, {"application.conf": content}))
