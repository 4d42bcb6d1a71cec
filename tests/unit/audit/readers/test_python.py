"""Producers in Python source: what can be followed, and what must not be."""

from __future__ import annotations

import pytest

from audit.readers.python import DECISIVE
from tests.unit.audit.reading import lines, only, read, told, values

HEAD = "import os\nfrom confluent_kafka import Producer\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('p = Producer({"acks": "all", "retries": 5, "enable.idempotence": True, "linger.ms": 0.5})',
         {"acks": "all", "retries": "5", "enable.idempotence": "true", "linger.ms": "0.5"}),
        ('conf = {"acks": -1}\np = Producer(conf)', {"acks": "-1"}),
        ('conf: dict = {"acks": 1}\nconf["retries"] = 0\nconf.update({"linger.ms": 5})\np = Producer(conf)',
         {"acks": "1", "retries": "0", "linger.ms": "5"}),
        ('def f():\n    c = {"acks": 0}\n    return Producer(c)', {"acks": "0"}),
        ('p = Producer({"acks": os.environ.get("ACKS", "1")})', {"acks": "1"}),
        ('p = Producer({"default.topic.config": {"acks": 0}})', {"acks": "0"}),
        ('import confluent_kafka as ck\np = ck.Producer({"acks": 1})', {"acks": "1"}),
        ('p = Producer(dict(acks="all"))', {"acks": "all"}),
        ('class A:\n    def f(self):\n        self.c = {"acks": 0}\n        self.p = Producer(self.c)', {"acks": "0"}),
    ],
)  # fmt: skip
def test_what_can_be_followed(tmp_path, code, expected) -> None:
    inputs = read(tmp_path, {"app.py": HEAD + code + "\n"})
    producer = only(inputs)
    assert values(producer) == expected
    assert (producer.client, told(inputs)) == ("librdkafka", [])


@pytest.mark.parametrize(
    "code",
    [
        "p = Producer(load())",
        'conf = {"acks": 1}\nconf = other(conf)\np = Producer(conf)',
        'conf = {"acks": 1}\ntune(conf)\np = Producer(conf)',
        'conf = {"acks": 1}\nconf.update(more)\np = Producer(conf)',
        'conf = {"acks": 1}\nconf[key] = 0\np = Producer(conf)',
        "def f(conf):\n    return Producer(conf)",
        'def f(conf={"acks": 1}):\n    return Producer(conf)',
        "p = Producer(missing)",
    ],
)
def test_what_cannot_be_followed_is_told_and_nothing_concluded(tmp_path, code) -> None:
    inputs = read(tmp_path, {"app.py": HEAD + code + "\n"})
    assert {key: each.known for key, each in only(inputs).settings.items()} == dict.fromkeys(DECISIVE, False)
    assert "not a dictionary that can be followed" in told(inputs)[0]


@pytest.mark.parametrize(
    ("code", "known"),
    [
        ('p = Producer({"acks": 1, **more})', set()),
        ('p = Producer({**more, "acks": 1})', {"acks"}),
        ('p = Producer(dict(load(), acks=1, retries=0))', {"acks", "retries"}),
        ('p = Producer(dict(acks=1, **load()))', set()),
        ('p = Producer(more | {"acks": 1})', {"acks"}),
        ('p = Producer({"acks": 1} | more)', set()),
    ],
)  # fmt: skip
def test_what_another_dictionary_sets_is_unknown_if_it_cannot_be_followed(tmp_path, code, known) -> None:
    settings = only(read(tmp_path, {"app.py": HEAD + code + "\n"})).settings
    assert {key: settings[key].known for key in DECISIVE} == {key: key in known for key in DECISIVE}


@pytest.mark.parametrize(
    "code",
    [
        "from .base import BASE\np = Producer({**BASE, 'acks': 1})",
        "from . import base\np = Producer({**base.BASE, 'acks': 1})",
        "from .base import make\np = Producer(make() | {'acks': 1})",
        "BASE = {'linger.ms': 5, 'acks': 0}\np = Producer(dict(BASE, acks=1))",
        "def f():\n    BASE = {'linger.ms': 5, 'acks': 0}\n    return Producer({**BASE, 'acks': 1})",
    ],
)
def test_what_another_dictionary_sets_is_followed(tmp_path, code) -> None:
    base = "BASE = {'linger.ms': 5, 'acks': 0}\ndef make():\n    return BASE\n"
    found = read(tmp_path, {"a/app.py": HEAD + code + "\n", "a/base.py": base, "a/__init__.py": ""})
    assert values(only(found)) == {"acks": "1", "linger.ms": "5"}


@pytest.mark.parametrize(
    "code",
    [
        'conf = {"acks": 1}\nif fast:\n    conf["acks"] = 0\np = Producer(conf)',
        'p = Producer({"acks": choose()})',
        'p = Producer({"acks": os.environ["ACKS"]})',
        'p = Producer({"acks": f"{n}"})',
    ],
)
def test_a_value_that_nobody_knows_is_unknown(tmp_path, code) -> None:
    inputs = read(tmp_path, {"app.py": HEAD + code + "\n"})
    assert not only(inputs).settings["acks"].known
    assert told(inputs, "placeholder")


def test_a_change_after_the_call_does_not_count(tmp_path) -> None:
    code = 'conf = {"acks": "all"}\np = Producer(conf)\nconf["acks"] = 0\n'
    producer = only(read(tmp_path, {"app.py": HEAD + code}))
    assert (values(producer)["acks"], lines(producer)["acks"]) == ("all", "app.py:3")


def test_variables_are_told_outside(tmp_path) -> None:
    files = {"app.py": HEAD + 'p = Producer({"acks": os.getenv("ACKS")})\n'}
    assert values(only(read(tmp_path, files, env={"ACKS": "0"})))["acks"] == "0"


@pytest.mark.parametrize(
    "content",
    [
        'class Producer: ...\nProducer({"acks": 1})  # kafka\n',
        "from mine import KafkaProducer\nKafkaProducer(acks=1)\n",
        'from confluent_kafka import Consumer\nConsumer({"group.id": 1})\n',
    ],
)
def test_other_classes_are_no_producers(tmp_path, content) -> None:
    assert read(tmp_path, {"app.py": content}).producers == ()


def test_what_is_no_python_is_told(tmp_path) -> None:
    assert told(read(tmp_path, {"a.py": HEAD + "def (:\n"})) == [
        "a.py:3 not readable: not Python: the rest is left out"
    ]
    deep = HEAD + "x = " + "(" * 5000 + ")" * 5000
    assert len(told(read(tmp_path, {"a.py": deep}))) == 1


def test_a_module_that_imports_from_its_own_package_is_read(tmp_path) -> None:
    code = "from . import settings\nfrom .. import other\nfrom kafka import KafkaProducer\np = KafkaProducer(acks=0)\n"
    assert values(only(read(tmp_path, {"app.py": code}))) == {"acks": "0"}


TOML = '[kafka.producer]\nacks = 1\n"linger.ms" = 5\n[kafka.consumer]\n"group.id" = "g"\n'
LOADS = "import tomllib\nfrom confluent_kafka import Producer\nwith open('{}', 'rb') as f:\n    s = tomllib.load(f)\n"


@pytest.mark.parametrize(
    ("file", "section", "acks"),
    [
        ("conf.toml", '["kafka"]["producer"]', "1"),
        ("conf.toml", '["kafka"]["nothing"]', None),
        ("conf.toml", "[name]", None),
        ("other.toml", '["kafka"]["producer"]', None),
    ],
)
def test_a_part_of_a_file_of_toml_is_followed(tmp_path, file, section, acks) -> None:
    code = LOADS.format(file) + f"p = Producer(s{section})\n"
    producers = [each for each in read(tmp_path, {"app.py": code, "conf.toml": TOML}).producers
                 if each.framework == "python"]  # fmt: skip
    setting = producers[0].settings["acks"]
    assert (setting.value if setting.known else None) == acks


CONF = """class Conf:
    def producer(self):
        return {"acks": "1", "bootstrap.servers": self.servers}
    def other(self):
        return load()
"""


@pytest.mark.parametrize(
    ("code", "acks"),
    [
        ("def f(c: Conf):\n    return Producer(c.producer())\n", "1"),
        ("def f():\n    c = Conf()\n    return Producer(c.producer())\n", "1"),
        ("def f(c):\n    return Producer(c.producer())\n", None),
        ("def f(c: Conf):\n    return Producer(c.other())\n", None),
        ("def f(c: Unknown):\n    return Producer(c.producer())\n", None),
    ],
)
def test_what_a_method_of_an_object_returns_is_followed_if_its_class_is_told(tmp_path, code, acks) -> None:
    files = {"conf.py": CONF, "app.py": "from confluent_kafka import Producer\nfrom conf import Conf\n" + code}
    setting = only(read(tmp_path, files)).settings["acks"]
    assert (setting.value if setting.known else None) == acks


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("app = faust.App('a', broker='kafka://k', producer_acks=1)\n", [("aiokafka", "1")]),
        ("app = faust.App('a', broker='kafka://k')\nt = app.Table('t')\n", [("aiokafka", "all")]),
        ("app = faust.App('a', broker='kafka://k')\n", []),
    ],
)
def test_an_application_of_fausts(tmp_path, code, told) -> None:
    producers = read(tmp_path, {"app.py": "import faust\n" + code}).producers
    assert [(each.client, (each.settings.get("acks") or each.presets["acks"]).value) for each in producers] == told


@pytest.mark.parametrize(("given", "acks"), [("required_acks=0", "0"), ("sync=True", None)])
def test_a_topic_of_pykafkas(tmp_path, given, acks) -> None:
    code = f"from pykafka import KafkaClient\np = KafkaClient().topics[b't'].get_producer({given})\n"
    producer = only(read(tmp_path, {"app.py": code}))
    assert (producer.client, values(producer).get("acks")) == ("pykafka", acks)


NOTEBOOK = """{"cells": [
 {"cell_type": "markdown", "source": ["producer = KafkaProducer(acks=0)"]},
 {"cell_type": "code", "source": [
  "%pip install kafka-python\\n",
  "from kafka import KafkaProducer\\n",
  "producer = KafkaProducer(bootstrap_servers='k:9092', acks=1)"]},
 {"cell_type": "code", "source": "for n in range(3):\\n    producer.send('t', b'x')"}
], "metadata": {}, "nbformat": 4}
"""


def test_the_code_of_a_notebook_is_read_with_its_lines(tmp_path) -> None:
    producer = only(read(tmp_path, {"a.ipynb": NOTEBOOK}))
    assert (producer.client, values(producer)["acks"], producer.topics) == ("kafka-python", "1", ("t",))
    assert lines(producer)["acks"] == "a.ipynb:6"


def test_a_notebook_without_code_of_kafkas_is_passed_over(tmp_path) -> None:
    inputs = read(tmp_path, {"a.ipynb": NOTEBOOK.replace('"code"', '"raw"'), "b.ipynb": '{"kafka": 1}'})
    assert (inputs.producers, told(inputs)) == ((), [])


@pytest.mark.parametrize(
    ("sends", "topics"),
    [
        ('producer.send("a", b"")\nproducer.send("b", b"")\n', ("a", "b")),
        ('producer.send("a", b"")\nproducer.send(name, b"")\n', ()),
        ('socket.send("a")\n', ()),
        ('producer.send(topic="a", value=b"")\n', ("a",)),
    ],
)
def test_topics_are_those_that_the_only_producer_sends_to(tmp_path, sends, topics) -> None:
    code = "from kafka import KafkaProducer\nproducer = KafkaProducer(acks=1)\n" + sends
    assert only(read(tmp_path, {"app.py": code})).topics == topics


DJANGO = "import os\nKAFKA_PRODUCER = {'bootstrap.servers': 'k', 'acks': os.environ.get('ACKS') or '1'}\n"
EMITS = "from confluent_kafka import Producer\nfrom django.conf import settings\nProducer(settings.KAFKA_PRODUCER)\n"


def test_settings_of_django_in_a_package(tmp_path) -> None:
    files = {"shop/settings/base.py": DJANGO, "shop/settings/dev.py": "KAFKA_ON = 0\n", "shop/events/emit.py": EMITS}
    assert values(only(read(tmp_path, files)))["acks"] == "1"
    other = files | {"shop/settings/production.py": "KAFKA_PRODUCER['acks'] = 0\n"}
    assert not only(read(tmp_path / "b", other)).settings["acks"].known


def test_an_application_of_fausts_sends_in_another_module(tmp_path) -> None:
    app = "import faust\napp = faust.App('scores', broker='kafka://k')\n"
    agent = (
        "from scoring.app import app\nscores = app.topic('s')\nasync def one(stream):\n    await scores.send(value=1)\n"
    )
    producer = only(read(tmp_path, {"scoring/app.py": app, "scoring/agents.py": agent}))
    assert (producer.client, producer.origin.path.rpartition("/")[2]) == ("aiokafka", "app.py")
    quiet = agent.replace("await scores.send(value=1)", "pass")
    assert read(tmp_path / "b", {"scoring/app.py": app, "scoring/agents.py": quiet}).producers == ()


def test_the_connector_that_a_program_has_spark_load_tells_its_client(tmp_path) -> None:
    source = "from pyspark.sql import SparkSession\n"
    source += "spark.config('spark.jars.packages', 'org.apache.spark:spark-sql-kafka-0-10_2.12:3.4.1')\n"
    source += "df.write.format('kafka').option('kafka.acks', '1').option('topic', 't').save()\n"
    assert only(read(tmp_path, {"job.py": source})).release == "3.3.2"
    assert only(read(tmp_path / "b", {"job.py": source.replace("sql-kafka", "avro")})).release is None


def test_a_job_of_sparks_that_reads_from_kafka_and_writes_elsewhere_is_no_producer(tmp_path) -> None:
    head = "from pyspark.sql import SparkSession\nspark.readStream.format('kafka').option('subscribe', 't').load()"
    source = head + ".writeStream.format('parquet').option('path', '/lake').start()\n"
    assert read(tmp_path, {"job.py": source}).producers == ()
    both = source.replace("'parquet'", "'kafka'").replace("'path', '/lake'", "'topic', 'u'")
    assert only(read(tmp_path / "b", {"job.py": both})).topics == ("u",)


@pytest.mark.parametrize(
    ("code", "topics"),
    [
        ("T = 't'\np = Producer({})\np.produce(T, b'')", ("t",)),
        (
            "class A:\n    def __init__(self):\n        self.p = Producer({})\n"
            "    def f(self):\n        self.p.produce('t')",
            ("t",),
        ),
        ("p = Producer({})\np.produce(os.getenv('TOPIC', 't'), b'')", ("t",)),
        ("p = Producer({})\np.produce(os.environ['TOPIC'], b'')", ()),
        ("p = Producer({})\np.produce('t')\np.produce(choose())", ()),
        ("p = Producer({})\nq = Producer({})\np.produce('t')", ()),
        ("p = Producer({})\nq.produce('t')", ()),
        ("def f(topic):\n    p = Producer({})\n    p.produce(topic)\nf('t')", ("t",)),
        ("def f(topic):\n    p = Producer({})\n    p.produce(topic)\nf('t')\nf('u')", ()),
    ],
)  # fmt: skip
def test_the_topics_that_a_producer_sends_to(tmp_path, code, topics) -> None:
    assert {each.topics for each in read(tmp_path, {"app.py": HEAD + code + "\n"}).producers} == {topics}


def test_a_topic_of_a_file_that_is_loaded_and_one_that_is_sent_to_elsewhere(tmp_path) -> None:
    source = "import json\nfrom confluent_kafka import Producer\n"
    source += "config = json.load(open('k.json'))\np = Producer(config['p'])\n"
    files = {"k.json": '{"p": {"acks": "1"}, "topic": "t"}', "app.py": source + "p.produce(config['topic'])\n"}
    assert only(read(tmp_path, files)).topics == ("t",)
    apart = {"requirements.txt": "", "a.py": HEAD + "producer = Producer({})\n"}
    apart["b.py"] = "from a import producer\nproducer.produce('u', b'')\n"
    assert only(read(tmp_path / "b", apart)).topics == ("u",)
    apart["c.py"] = HEAD + "other = Producer({})\n"
    assert {each.topics for each in read(tmp_path / "c", apart).producers} == {()}


@pytest.mark.parametrize(("given", "known"), [("acks='all'", True), ("acks='all', retries=0", False)])
def test_what_is_spread_and_never_given_sets_nothing(tmp_path, given, known) -> None:
    source = "from kafka import KafkaProducer\ndef make(acks=1, **more):\n"
    source += f"    return KafkaProducer(bootstrap_servers='k', acks=acks, **more)\nmake({given})\n"
    settings = only(read(tmp_path, {"app.py": source})).settings
    assert (settings["acks"].value, "retries" not in settings) == ("all", known)
