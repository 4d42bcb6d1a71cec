"""librdkafka in C, C++, PHP and Ruby: literal settings, of the map that is handed to a producer."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.model import ProducerConfig
from tests.unit.audit.reading import lines, only, read, values

C = """#include <librdkafka/rdkafka.h>
rd_kafka_t *open(const char *servers) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", servers, e, sizeof(e));
    /* rd_kafka_conf_set(conf, "acks", "all", e, sizeof(e)); */
    rd_kafka_conf_set(conf, "acks", "1", e, sizeof(e));
    return rd_kafka_new(RD_KAFKA_PRODUCER, conf, e, sizeof(e));
}
"""


def known(producer: ProducerConfig) -> dict[str, str]:
    return {key: each.value for key, each in producer.settings.items() if each.known}


def test_c(tmp_path):
    producer = only(read(tmp_path, {"src/ship.c": C}))
    assert (producer.client, known(producer)) == ("librdkafka", {"acks": "1"})
    assert lines(producer)["acks"] == "ship.c:6"


def test_cpp_and_another_map(tmp_path):
    content = """#include <librdkafka/rdkafkacpp.h>
RdKafka::Conf *conf = RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL);
RdKafka::Conf *topic = RdKafka::Conf::create(RdKafka::Conf::CONF_TOPIC);
void open() {
  conf->set("enable.idempotence", "true", error);
  other->set("acks", "0", error);
  RdKafka::Producer *p = RdKafka::Producer::create(conf, error);
}
"""
    assert values(only(read(tmp_path, {"a.cpp": content}))) == {"enable.idempotence": "true"}


@pytest.mark.parametrize(("value", "told"), [("'all'", "all"), ("1", "1"), ("$acks", None), ('"$acks"', None)])
def test_php(tmp_path, value, told):
    content = f"<?php\n$conf = new RdKafka\\Conf();\n$conf->set('acks', {value});\n$p = new RdKafka\\Producer($conf);\n"
    assert known(only(read(tmp_path, {"Bus.php": content}))).get("acks") == told


def test_ruby(tmp_path):
    content = (
        "P = WaterDrop::Producer.new do |config|\n  config.kafka = { 'acks': 1, \"linger.ms\" => 5 } # 'acks': 0\nend\n"
    )
    assert values(only(read(tmp_path, {"kafka.rb": content}))) == {"acks": "1", "linger.ms": "5"}


def test_two_places_that_differ_tell_nothing(tmp_path):
    twice = C.replace("    return", '    if (fast) rd_kafka_conf_set(conf, "acks", "0", e, sizeof(e));\n    return')
    assert "acks" not in known(only(read(tmp_path, {"a.c": twice})))


def test_keys_that_are_expressions_leave_the_rest_unknown(tmp_path):
    more = C.replace("    return", "    rd_kafka_conf_set(conf, name, value, e, sizeof(e));\n    return")
    producer = only(read(tmp_path, {"a.c": more}))
    assert not producer.settings["enable.idempotence"].known


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("admin.c", C.replace('"acks", "1"', '"client.id", "a"')),
        ("consumer.c", C.replace("RD_KAFKA_PRODUCER", "RD_KAFKA_CONSUMER")),
        ("tests/send.c", C),
        ("deps/librdkafka/examples/send.c", C),
        ("other.rb", "X = { 'acks': 1 }\n"),
    ],
)
def test_what_is_none(tmp_path, name, content):
    assert not read(tmp_path, {name: content}).producers


@pytest.mark.parametrize("content", ['rd_kafka_conf_set(c, "acks", ' + "(" * 50_000, "/*" * 50_000, "'" * 100_001])
def test_a_damaged_file_is_read_at_once(tmp_path, content):
    assert not read(tmp_path, {"a.c": content + "rd_kafka_new(", "b.rb": content + "WaterDrop"}).producers


ASKS = """#include <librdkafka/rdkafka.h>
static void %s(rd_kafka_conf_t *conf) {
    rd_kafka_conf_set(conf, "acks", "1", e, sizeof(e));
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, e, sizeof(e));
    %s;
}
static void other(rd_kafka_t *rk) { rd_kafka_producev(rk, RD_KAFKA_V_END); }
"""


@pytest.mark.parametrize(
    ("function", "does", "count"),
    [
        ("list", "rd_kafka_metadata(rk, 1, NULL, &metadata, 5000)", 0),
        ("send", "rd_kafka_metadata(rk, 1, NULL, &m, 5000); rd_kafka_producev(rk, RD_KAFKA_V_END)", 1),
        ("send", "loop(rk)", 1),
        ("unittest_send", "loop(rk)", 0),
        ("test_send", "loop(rk)", 0),
    ],
)
def test_a_handle_that_only_asks_or_is_of_a_test_is_no_producer(tmp_path, function, does, count) -> None:
    assert len(read(tmp_path, {"src/a.c": ASKS % (function, does)}).producers) == count


WRAPPED = """
void put(RdKafka::Conf& conf, const std::string& name, const std::string& value) {
  std::string error;
  if (conf.set(name, value, error) != RdKafka::Conf::CONF_OK) throw 1;
}
void make() {
  std::unique_ptr<RdKafka::Conf> conf(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
  put(*conf, "acks", "1");
  producer_.reset(RdKafka::Producer::create(conf.get(), error));
  producer_->produce(topic, 0);
}
"""


def test_a_function_of_the_program_that_sets_what_it_is_given(tmp_path: Path) -> None:
    producer = only(read(tmp_path, {"a.cpp": WRAPPED}))
    assert values(producer) == {"acks": "1"}
    other = WRAPPED.replace('put(*conf, "acks", "1")', 'put(*conf, name, "1")')
    assert not only(read(tmp_path / "b", {"a.cpp": other})).settings["acks"].known


LARAVEL = """<?php
return ['producer' => ['acks' => env('KAFKA_ACKS', 'all'), 'enable.idempotence' => 'true'],
        'consumer' => ['acks' => '0'], 'retries' => 4];
"""


def test_what_a_program_of_laravels_asks_its_configuration_for(tmp_path: Path) -> None:
    source = "<?php\n$conf = new RdKafka\\Conf();\n"
    source += "foreach (config('kafka.producer') as $k => $v) { $conf->set($k, $v); }\n"
    source += "$conf->set('retries', config('kafka.retries'));\n$p = new RdKafka\\Producer($conf);\n"
    producer = only(read(tmp_path, {"config/kafka.php": LARAVEL, "app/Make.php": source}))
    assert values(producer) == {"acks": "all", "enable.idempotence": "true", "retries": "4"}
    other = source.replace("kafka.producer", "other.producer")
    assert not only(read(tmp_path / "b", {"config/kafka.php": LARAVEL, "app/Make.php": other})).settings["acks"].known


PHP_CLASS = """<?php
class Sender {
  const ACKS = '1';
  public function __construct(string $brokers, %s) {
    $conf = new RdKafka\\Conf();
    $conf->set('acks', %s);
    $this->producer = new RdKafka\\Producer($conf);
  }
}
"""
CPP_CLASS = """#include <librdkafka/rdkafkacpp.h>
%s
class Sender {
 public:
  Sender(const std::string& brokers%s) {
    RdKafka::Conf* conf = RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL);
    conf->set("acks", %s, error);
    producer_ = RdKafka::Producer::create(conf, error);
  }
  void send() { producer_->produce(topic, 0); }
};
"""


@pytest.mark.parametrize(
    ("parameter", "value", "call", "acks"),
    [
        ("string $acks = 'all'", "$acks", "", "all"),
        ("string $acks = 'all'", "$acks", "new Sender('k');", "all"),
        ("string $acks = 'all'", "$acks", "new Sender('k', '0');", "0"),
        ("string $acks = 'all'", "$acks", "new Sender('k', '0'); new Sender('l', '1');", None),
        ("string $acks = 'all'", "$acks", "new Sender('k', $acks);", None),
        ("string $acks", "$acks", "new Sender('k', '0');", None),
        ("int $n = 1", "self::ACKS", "", "1"),
        ("int $n = 1", "self::OTHER", "", None),
    ],
)
def test_what_a_name_of_php_stands_for(tmp_path: Path, parameter, value, call, acks) -> None:
    files = {"Sender.php": PHP_CLASS % (parameter, value), "main.php": f"<?php\n{call}\n"}
    found = only(read(tmp_path, files)).settings["acks"]
    assert (found.value if found.known else None) == acks


@pytest.mark.parametrize(
    ("above", "parameter", "value", "call", "acks"),
    [
        ('static const std::string ACKS = "1";', "", "ACKS", "", "1"),
        ('#define ACKS "0"', "", "ACKS", "", "0"),
        ("std::string ACKS = choose();", "", "ACKS", "", None),
        ('std::string acks = "1";', ", const std::string& acks", "acks", "", None),
        ("", ', const std::string& acks = "all"', "acks", "", "all"),
        ("", ', const std::string& acks = "all"', "acks", 'Sender s("k", "1");', "1"),
        ("", ', const std::string& acks = "all"', "acks", 'std::make_unique<Sender>("k", "1");', "1"),
        ("", ', const std::string& acks = "all"', "acks", 'Sender s("k", pick());', None),
    ],
)
def test_what_a_name_of_cpps_stands_for(tmp_path: Path, above, parameter, value, call, acks) -> None:
    files = {"sender.cpp": CPP_CLASS % (above, parameter, value), "main.cpp": f"int main() {{ {call} }}\n"}
    found = only(read(tmp_path, files)).settings["acks"]
    assert (found.value if found.known else None) == acks


TABLE = """#include <librdkafka/rdkafka.h>
%s
void f(void) {
  rd_kafka_conf_t *conf = rd_kafka_conf_new();
  %s
  rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, err, sizeof err);
  rd_kafka_producev(rk, RD_KAFKA_V_END);
}
"""
OF_FIELDS = 'static const struct { const char *k, *v; } s[] = { {"acks", "1"}, {"linger.ms", "5"} };'
OF_PAIRS = 'static const char *s[][2] = { {"acks", "1"}, {NULL, NULL} };'
BY_INDEX = (
    "for (size_t i = 0; i < sizeof s / sizeof s[0]; i++)\n    if (rd_kafka_conf_set(conf, s[i].k, s[i].v, err, 9))"
)
BY_PAIR = "for (int i = 0; i < 2; i++) {\n    rd_kafka_conf_set(conf, s[i][0], s[i][1], err, 9); }"
BY_POINTER = "for (const struct kv *p = s; p->k; p++)\n    rd_kafka_conf_set(conf, p->k, p->v, err, 9);"


@pytest.mark.parametrize(
    ("table", "loop", "acks"),
    [
        (OF_FIELDS, f"{BY_INDEX} return;", "1"),
        (OF_PAIRS, BY_PAIR, "1"),
        (OF_FIELDS, BY_POINTER, "1"),
        (OF_PAIRS, f's[0][1] = "0";\n  {BY_PAIR}', None),
        ("extern const struct kv s[];", BY_POINTER, None),
    ],
)
def test_a_table_of_c_that_a_loop_sets(tmp_path: Path, table, loop, acks) -> None:
    setting = only(read(tmp_path, {"k.c": TABLE % (table, loop)})).settings["acks"]
    assert (setting.value if setting.known else None) == acks


@pytest.mark.parametrize(
    ("above", "spread", "acks"),
    [
        ("OPTIONS = { required_acks: 1, max_retries: 0 }.freeze", "OPTIONS", "1"),
        ("def options\n  { required_acks: :all }\nend", "options", "all"),
        ("OPTIONS = { required_acks: 1 }\nOPTIONS[:required_acks] = 0", "OPTIONS", None),
        ("OPTIONS = load", "OPTIONS", None),
    ],
)
def test_a_hash_of_ruby_that_is_spread(tmp_path: Path, above, spread, acks) -> None:
    code = f"require 'kafka'\n{above}\nP = Kafka.new(['k']).producer(**{spread}, idempotent: false)\n"
    setting = only(read(tmp_path, {"p.rb": code})).settings["acks"]
    assert (setting.value if setting.known else None) == acks
