"""Flink's Kafka sinks, in SQL, YAML and JSON."""

from __future__ import annotations

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
