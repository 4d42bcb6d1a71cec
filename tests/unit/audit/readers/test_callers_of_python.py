"""Functions of Python's that several calls have make a producer each, if they are given something else."""

from __future__ import annotations

import pytest

from tests.unit.audit.reading import read

FUNCTION = "from confluent_kafka import Producer\ndef make(acks='all'):\n    return Producer({'acks': acks})\n"
SPREAD = "from kafka import KafkaProducer\ndef make(**kw):\n    return KafkaProducer(**kw)\n"
CLASS = """from kafka import KafkaProducer
class P:
    def __init__(self, acks):
        self.p = KafkaProducer(acks=acks)
"""


@pytest.mark.parametrize(
    ("source", "calls", "found"),
    [
        (FUNCTION, "a = make()\nb = make('1')\n", [("m.py, a", "all"), ("m.py, b", "1")]),
        (FUNCTION, "a = make()\nb = make('all')\n", [("k.py, make", "all")]),
        (FUNCTION, "a = make()\nb = make(unknown())\n", [("k.py, make", None)]),
        (FUNCTION, "def x(): return make('0')\ndef y(): return make('1')\n", [("m.py, x", "0"), ("m.py, y", "1")]),
        (SPREAD, "a = make(acks='1')\nb = make(acks=0, retries=3)\n", [("m.py, a", "1"), ("m.py, b", "0")]),
        (CLASS, "a = P('all')\nb = P(0)\n", [("m.py, a", "all"), ("m.py, b", "0")]),
    ],
)
def test_each_call_that_gives_something_else_makes_one(tmp_path, source, calls, found) -> None:
    files = {"requirements.txt": "kafka-python==2.0.2", "k.py": source, "m.py": f"from k import make, P\n{calls}"}
    told = [(each.name, each.settings["acks"]) for each in read(tmp_path, files).producers]
    assert [(name, each.value if each.known else None) for name, each in told] == found


PROPERTIES = """package t;
public final class Config {
  public static Properties producer(String acks) { Properties p = new Properties(); p.put("acks", acks); return p; }
}
"""
MAIN = """package t;
import org.apache.kafka.clients.producer.KafkaProducer;
public class %s { public static void main(String[] a) { new KafkaProducer<String, String>(Config.producer("%s")); } }
"""


def test_a_static_function_of_javas_has_what_each_source_gives_it(tmp_path) -> None:
    files = {"pom.xml": "<project/>", "t/Config.java": PROPERTIES}
    files |= {f"t/{name}.java": MAIN % (name, told) for name, told in (("A", "1"), ("B", "all"))}
    assert sorted(each.settings["acks"].value for each in read(tmp_path, files).producers) == ["1", "all"]
