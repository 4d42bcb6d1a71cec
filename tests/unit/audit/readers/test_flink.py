"""Flink's Kafka sinks, in SQL, YAML and JSON."""

from __future__ import annotations

import pytest

from tests.unit.audit.reading import lines, only, read, values

SQL = """\
-- CREATE TABLE no ('connector' = 'kafka', 'properties.acks' = '0');
CREATE TABLE clicks (
  id BIGINT, note STRING COMMENT 'it''s with (brackets)'
) WITH (
  'connector' = 'kafka',
  'topic' = 'clicks;more',
  'properties.bootstrap.servers' = 'k:9092',
  'properties.acks' = '1', -- faster
  'format' = 'json'
);
CREATE TABLE src (id INT) WITH ('connector'='kafka', 'topic'='in', 'properties.group.id'='g', 'scan.startup.mode'='x');
CREATE TABLE out2 (id INT) WITH ('connector'='kafka', 'topic'='o', 'properties.bootstrap.servers'='k',
  'sink.delivery-guarantee'='exactly-once');
CREATE TABLE files (id INT) WITH ('connector'='filesystem', 'properties.acks'='0');
INSERT INTO clicks SELECT * FROM src;
"""


def test_tables_that_are_written_to(tmp_path) -> None:
    clicks, out2 = read(tmp_path, {"job.sql": SQL}).producers
    assert (clicks.name, clicks.topics, clicks.framework) == ("clicks", ("clicks", "more"), "flink")
    assert values(clicks) == {"bootstrap.servers": "k:9092", "acks": "1"}
    assert lines(clicks)["acks"] == "job.sql:8"
    assert clicks.spelled("retries") == "properties.retries"
    assert (out2.name, "transactional.id" in out2.presets) == ("out2", True)


def test_a_table_into_which_is_inserted_needs_no_producers_key(tmp_path) -> None:
    table = "CREATE TABLE t (a INT) WITH ('connector'='kafka','properties.bootstrap.servers'='k');"
    assert read(tmp_path, {"a.sql": table}).producers == ()
    content = f"{table} INSERT INTO `t` VALUES (1);"
    assert only(read(tmp_path, {"a.sql": content})).name == "t"


def test_a_sink_in_yaml_and_json(tmp_path) -> None:
    files = {
        "p.yaml": "sink:\n  type: kafka\n  name: s\n  topic: t\n  properties.client.id: k\n  properties.acks: 0\n",
        "p.json": '{"tables": {"x": {"connector": "kafka", "properties": {"bootstrap.servers": "k", "acks": "all"}}}}',
    }
    x, s = read(tmp_path, files).producers
    assert (x.name, values(x)["acks"]) == ("x", "all")
    assert (s.name, values(s)["acks"], s.topics, lines(s)["acks"]) == ("s", "0", ("t",), "p.yaml:6")


TABLES = """
t_env.execute_sql({0}'''
    CREATE TABLE src (a INT) WITH (
        'connector' = 'kafka', 'topic' = 'in', 'properties.bootstrap.servers' = 'k:9092'
    )
''')
t_env.execute_sql({0}'''
    CREATE TABLE out1 (a INT) WITH (
        'connector' = 'kafka', 'topic' = 'o', 'properties.bootstrap.servers' = 'k:9092',
        'properties.acks' = '{1}'
    )
''')
"""
PYFLINK = "import os\nfrom pyflink.table import TableEnvironment\nACKS = '1'\nt_env = x\n"


@pytest.mark.parametrize(
    ("prefix", "acks", "known", "value"),
    [("", "1", True, "1"), ("f", "{ACKS}", True, "1"), ("f", "{other()}", False, None),
     ("f", "{os.getenv('ACKS', '0')}", True, "0")],
)  # fmt: skip
@pytest.mark.parametrize(
    "insert",
    ["t_env.execute_sql('INSERT INTO out1 SELECT a FROM src')", "t_env.from_path('src').execute_insert('out1')"],
)
def test_tables_of_a_python_program(tmp_path, insert, prefix, acks, known, value) -> None:
    producer = only(read(tmp_path, {"job.py": PYFLINK + TABLES.format(prefix, acks) + insert + "\n"}))
    assert (producer.name, producer.topics, lines(producer)["acks"]) == ("out1", ("o",), "job.py:14")
    setting = producer.settings["acks"]
    assert (setting.known, setting.value if known else None) == (known, value)


def test_a_table_that_a_python_program_reads_is_none(tmp_path) -> None:
    content = PYFLINK + TABLES.format("", "1").partition("t_env.execute_sql('''\n    CREATE TABLE out1")[0]
    assert read(tmp_path, {"job.py": content + "t_env.from_path('src').execute().print()\n"}).producers == ()


JAVA_TABLES = {
    "A.java": 'class A {{ void f() {{ t.executeSql("CREATE TABLE o (a INT) WITH (" +\n'
    "  \"'connector' = 'kafka', 'properties.bootstrap.servers' = 'k', \" +\n"
    "  \"'properties.acks' = '\" + {0} + \"')\");\n"
    't.executeSql("INSERT INTO o SELECT 1"); }} }}\n',
    "A.scala": "object A {{ val acks = {0}\n"
    "t.executeSql(s\"\"\"CREATE TABLE o (a INT) WITH ('connector' = 'kafka',\n"
    "'properties.bootstrap.servers' = 'k', 'properties.acks' = '$acks')\"\"\".stripMargin) }}\n",
}


@pytest.mark.parametrize("name", JAVA_TABLES)
def test_tables_of_a_program_of_the_jvm(tmp_path, name) -> None:
    producer = only(read(tmp_path, {name: JAVA_TABLES[name].format("ACKS")}))
    assert (producer.name, producer.framework, producer.settings["acks"].known) == ("o", "flink", False)
    assert lines(producer)["acks"].rpartition(":")[2] in ("1", "3")


def test_a_program_that_runs_no_sql_has_no_tables(tmp_path) -> None:
    content = JAVA_TABLES["A.java"].format("ACKS").replace("executeSql", "println")
    assert read(tmp_path, {"A.java": content}).producers == ()


SINK_OF_PYFLINK = """from pyflink.datastream.connectors.kafka import KafkaSink, FlinkKafkaProducer, DeliveryGuarantee
sink = KafkaSink.builder().set_bootstrap_servers('k:9092').set_property('acks', '1'){}.build()
"""


def test_sinks_of_pyflink(tmp_path) -> None:
    plain = only(read(tmp_path / "a", {"j.py": SINK_OF_PYFLINK.format("")}))
    assert (values(plain), plain.client) == ({"acks": "1"}, "java")
    once = ".set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)"
    assert "transactional.id" in only(read(tmp_path / "b", {"j.py": SINK_OF_PYFLINK.format(once)})).settings
    older = SINK_OF_PYFLINK.splitlines()[0] + "\nFlinkKafkaProducer('t', s, {'bootstrap.servers': 'k', 'acks': '0'})\n"
    assert values(only(read(tmp_path / "c", {"j.py": older})))["acks"] == "0"
    source = "from pyflink.datastream.connectors.kafka import KafkaSource\ns = KafkaSource.builder().build()\n"
    assert read(tmp_path / "d", {"j.py": source}).producers == ()


BUILT = """import org.apache.flink.connector.kafka.sink.KafkaSink;
class J {{ void f(Properties given) {{
  {}KafkaSink.<String>builder().setBootstrapServers("k:9092"){};
}} }}
"""


@pytest.mark.parametrize(
    ("before", "after", "known"),
    [
        ("KafkaSink<String> s = ", ".build()", True),
        ("KafkaSink<String> s = ", ".setKafkaProducerConfig(given).build()", False),
        ("KafkaSinkBuilder<String> b = ", "", False),
    ],
)
def test_a_sink_that_is_built_at_once_has_no_other_settings(tmp_path, before, after, known) -> None:
    settings = only(read(tmp_path, {"J.java": BUILT.format(before, after)})).settings
    assert all(each.known for each in settings.values()) is known
