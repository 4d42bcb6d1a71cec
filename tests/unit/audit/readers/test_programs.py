"""Producers of several programs, of flags of a command, of functions of other files; and what counts of attempts."""

from __future__ import annotations

import os

import pytest

from tests.unit.audit.reading import only, read, values

FACTORY = """package a;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
final class Clients {
  static KafkaProducer<String, String> producer() { return new KafkaProducer<>(Map.of("acks", "all")); }
}
"""
MAIN = "package a;\npublic class NAME { public static void main(String[] a) { Clients.producer().send(null); } }\n"


@pytest.mark.parametrize(
    ("users", "found"),
    [
        ({"One": MAIN, "Two": MAIN}, {"One.java", "Two.java"}),
        ({"One": MAIN}, {"Clients.java"}),
        ({"One": MAIN, "Two": MAIN.replace("static void main", "void run")}, {"Clients.java"}),
    ],
)
def test_a_factory_of_several_programs_makes_a_producer_for_each(tmp_path, users, found) -> None:
    files = {f"src/main/java/a/{name}.java": text.replace("NAME", name) for name, text in users.items()}
    made = read(tmp_path, {**files, "src/main/java/a/Clients.java": FACTORY, "pom.xml": "<project/>"}).producers
    assert {os.path.basename(each.origin.path) for each in made} == found


GO = """package main
import (
	"flag"
	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)
func main() {
	DECLARED
	p, err := kafka.NewProducer(&kafka.ConfigMap{"acks": GIVEN})
}
"""


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ('acks := flag.String("acks", "1", "acks")', "*acks"),
        ('acks := cmd.Flags().StringP("acks", "a", "1", "acks")', "*acks"),
        ('var acks string\n\tflag.StringVar(&acks, "acks", "1", "acks")', "acks"),
        ('var acks string\n\tcmd.Flags().StringVarP(&acks, "acks", "", "1", "acks")', "acks"),
    ],
)
def test_the_default_of_a_flag_of_go(tmp_path, declared, given) -> None:
    text = GO.replace("DECLARED", declared).replace("GIVEN", given)
    assert values(only(read(tmp_path, {"go.mod": "module x\n", "main.go": text})))["acks"] == "1"


@pytest.mark.parametrize(("attempts", "retries"), [("1", "0"), ("4", "3"), ("0", None)])
def test_the_first_attempt_of_kafka_go_is_no_retry(tmp_path, attempts, retries) -> None:
    text = 'package q\nimport "github.com/segmentio/kafka-go"\nvar w = &kafka.Writer{Topic: "t", MaxAttempts: %s}\n'
    assert values(only(read(tmp_path, {"go.mod": "", "q.go": text % attempts}))).get("retries") == retries


CRATE = '[package]\nname = "app"\n[dependencies]\nrdkafka = "0.36"\n'
LIB = """use rdkafka::ClientConfig;
pub fn base() -> ClientConfig { let mut c = ClientConfig::new(); c.set("acks", "1").set("linger.ms", "5"); c }
"""
BIN = "use rdkafka::producer::FutureProducer;\nfn main() { let p: FutureProducer = app::base()%s.create().unwrap(); }\n"


def test_a_chain_of_rust_begins_with_what_a_function_of_another_file_returns(tmp_path) -> None:
    files = {
        "Cargo.toml": CRATE,
        "src/lib.rs": LIB,
        "src/bin/a.rs": BIN % "",
        "src/bin/b.rs": BIN % '.set("acks", "0")',
    }
    files["src/bin/c.rs"] = (
        "use rdkafka::consumer::BaseConsumer;\nfn main() { let c: BaseConsumer = app::base().create(); }\n"
    )
    made = {os.path.basename(each.origin.path): values(each)["acks"] for each in read(tmp_path, files).producers}
    assert made == {"a.rs": "1", "b.rs": "0"}


def test_a_map_that_kotlin_applies_a_function_to(tmp_path) -> None:
    text = """import org.apache.kafka.clients.producer.*
val props = Properties().apply { this[ProducerConfig.ACKS_CONFIG] = "1" }
val producer = KafkaProducer<String, String>(props)
"""
    assert values(only(read(tmp_path, {"build.gradle.kts": "", "A.kt": text})))["acks"] == "1"


def test_a_sample_of_variables_says_nothing_of_a_program(tmp_path) -> None:
    text = "import os\nfrom confluent_kafka import Producer\np = Producer({'acks': os.getenv('KAFKA_ACKS', '1')})\n"
    assert values(only(read(tmp_path, {"a.py": text, ".env.example": "KAFKA_ACKS=all\n"})))["acks"] == "1"


def test_a_table_that_is_only_read_is_no_sink(tmp_path) -> None:
    table = "CREATE TABLE %s (a STRING) WITH ('connector' = 'kafka', 'properties.acks' = 'all', 'topic' = 't');\n"
    text = table % "source" + table % "sink" + "INSERT INTO sink SELECT * FROM source;\n"
    assert only(read(tmp_path, {"job.sql": text})).name == "sink"


def test_a_queue_of_dead_letters_is_made_with_the_factor_that_is_told(tmp_path) -> None:
    text = '{"name": "s", "config": {"connector.class": "x.S3SinkConnector", "topics": "t", %s}}'
    queue = '"errors.deadletterqueue.topic.name": "dlq", "errors.deadletterqueue.topic.replication.factor": "1"'
    made = only(read(tmp_path, {"s.json": text % queue})).makes
    assert getattr(made, "replication_factor", None) == 1


OPTIONS = """using Confluent.Kafka;
using Microsoft.Extensions.Options;
public class KafkaOptions { public Acks Acks { get; set; } = Acks.All; }
public class Bus
{
    public Bus(IOptions<KafkaOptions> options)
    {
        var config = new ProducerConfig { BootstrapServers = "k:9092", Acks = options.Value.Acks };
        var producer = new ProducerBuilder<string, string>(config).Build();
    }
}
"""


def test_the_initializer_of_an_option_of_dotnet_is_only_a_default(tmp_path) -> None:
    files = {
        "App.csproj": "<Project/>",
        "Bus.cs": OPTIONS,
        "Program.cs": 'services.Configure<KafkaOptions>(builder.Configuration.GetSection("Kafka"));\n',
    }
    assert values(only(read(tmp_path / "a", files)))["acks"] == "all"
    settings = {"appsettings.json": '{"Kafka": {"BootstrapServers": "k:9092", "Acks": "Leader"}}'}
    assert values(only(read(tmp_path / "b", files | settings)))["acks"] == "1"
