"""Fields of a program's own settings: what they stand for in configuration, in each language."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.model import ProducerConfig
from audit.readers.fields import of_scala
from audit.readers.source import following, program
from tests.unit.audit.reading import read, values

RECORD = """package a;
@ConfigurationProperties("app.messaging")
public record Settings(String topic, Producer producer) {
  public record Producer(@DefaultValue("all") String acks, @DefaultValue("3") int retries, boolean idempotent) {}
}
"""
FACTORY = """package a;
import org.apache.kafka.clients.producer.KafkaProducer;
class Make {
  KafkaProducer<String, String> make(Settings settings) {
    Settings.Producer producer = settings.producer();
    Map<String, Object> map = Map.of(ProducerConfig.ACKS_CONFIG, producer.acks(),
      ProducerConfig.RETRIES_CONFIG, settings.producer().retries(),
      ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, producer.idempotent());
    return new KafkaProducer<>(map);
  }
}
"""
YAML = "app:\n  messaging:\n    producer:\n      idempotent: false\n      retries: 9\n"
ROOT = "src/main/java/a/"
JAVA = {ROOT + "Settings.java": RECORD, ROOT + "Make.java": FACTORY, "src/main/resources/application.yml": YAML}

GO = """package queue
import "github.com/segmentio/kafka-go"
import "acme/internal/config"
func New(cfg config.Kafka) *kafka.Writer {
	return &kafka.Writer{RequiredAcks: kafka.RequiredAcks(cfg.RequiredAcks), MaxAttempts: cfg.Attempts}
}
"""
TAGS = """package config
type Kafka struct {
	RequiredAcks int `envconfig:"KAFKA_ACKS" default:"1"`
	Attempts     int `env:"ATTEMPTS" envDefault:"5"`
}
"""
CS = """using Confluent.Kafka;
public class Bus {
  private readonly BusOptions _options;
  public Bus(IOptions<BusOptions> options) { _options = options.Value; }
  private ProducerConfig Make() => new() {
    EnableIdempotence = _options.Idempotent, MessageSendMaxRetries = _options.Retries, Acks = _options.Acks };
}
"""
OPTIONS = """public class BusOptions {
  public const string Section = "Bus";
  public bool Idempotent { get; set; }
  public int Retries { get; set; } = 10;
  public Acks Acks { get; set; } = Acks.All;
}
"""
STARTS = "builder.Services.Configure<BusOptions>(builder.Configuration.GetSection(BusOptions.Section));\n"
TS = """import { Kafka } from 'kafkajs';
import { config } from '../config.js';
const producer = new Kafka({ brokers: ['k'] }).producer();
export const send = () => producer.send({ topic: 't', acks: config.kafka.acks, messages: [] });
"""
SCHEMA = """const schema = z.object({ PORT: z.number().default(1),
  KAFKA_ACKS: z.coerce.number().int().default(0),
});
const env = schema.parse(process.env);
export const config = { port: env.PORT, kafka: { brokers: ['k'], acks: env.KAFKA_ACKS } };
"""


def of(tmp_path, files: dict[str, str], end: str) -> ProducerConfig:
    """The producer that a source of a kind makes."""
    (found,) = [each for each in read(tmp_path, files).producers if each.origin.path.endswith(end)]
    return found


@pytest.mark.parametrize(
    ("files", "end", "told"),
    [
        ({"pom.xml": ""} | JAVA, ".java", {"acks": "all", "retries": "9", "enable.idempotence": "false"}),
        ({"go.mod": "module acme\n", "internal/config/c.go": TAGS, "internal/queue/q.go": GO}, ".go",
         {"acks": "1", "retries": "5"}),
        ({"a.sln": "", "Bus/BusOptions.cs": OPTIONS, "Bus/Bus.cs": CS, "Host/Program.cs": STARTS,
          "Host/appsettings.json": '{"Bus": {"Retries": 4}}'}, ".cs",
         {"enable.idempotence": "false", "message.send.max.retries": "4", "acks": "all"}),
        ({"package.json": "{}", "src/config.ts": SCHEMA, "src/lib/bus.ts": TS}, ".ts", {"acks": "0"}),
    ],
    ids=("java", "go", "dotnet", "typescript"),
)  # fmt: skip
def test_a_field_is_what_the_configuration_says(tmp_path, files, end, told) -> None:
    assert values(of(tmp_path, files, end)) == told


@pytest.mark.parametrize(
    ("files", "end"),
    [
        ({"pom.xml": ""} | JAVA | {ROOT + "Settings.java": RECORD.replace("@Configuration", "// @")}, ".java"),
        ({"go.mod": "module acme\n", "internal/config/c.go": TAGS.replace('default:"1"', ""),
          "internal/queue/q.go": GO}, ".go"),
        ({"a.sln": "", "Bus/BusOptions.cs": OPTIONS, "Bus/Bus.cs": CS}, ".cs"),
        ({"package.json": "{}", "src/config.ts": SCHEMA.replace(".default(0)", ""), "src/lib/bus.ts": TS}, ".ts"),
    ],
    ids=("java", "go", "dotnet", "typescript"),
)  # fmt: skip
def test_what_nothing_is_bound_to_is_unknown(tmp_path, files, end) -> None:
    assert not of(tmp_path, files, end).settings["acks"].known


VALUE = """import org.springframework.kafka.core.DefaultKafkaProducerFactory;
class C { @Bean ProducerFactory<String, String> make(@Value("${app.acks:1}") String acks, String other) {
  Map<String, Object> map = new HashMap<>();
  map.put(ProducerConfig.ACKS_CONFIG, acks);
  map.put(ProducerConfig.RETRIES_CONFIG, other);
  return new DefaultKafkaProducerFactory<>(map); } }
"""


def test_a_parameter_that_spring_gives_a_value(tmp_path) -> None:
    settings = of(tmp_path, {"pom.xml": "", "src/main/java/C.java": VALUE}, ".java").settings
    assert (settings["acks"].value, settings["retries"].known) == ("1", False)


ASKS = """using Confluent.Kafka;
class P { P(IConfiguration configuration) { var config = new ProducerConfig {
  Acks = Enum.Parse<Acks>(configuration["Kafka:Acks"] ?? "All"),
  EnableIdempotence = configuration.GetValue<bool>("Kafka:Idempotent", false),
  MessageSendMaxRetries = configuration.GetValue<int>("Kafka:Retries", usual) }; } }
"""


def test_what_dotnet_asks_its_configuration_for_by_a_key(tmp_path) -> None:
    files = {"a.csproj": "", "appsettings.json": '{"Kafka": {"Acks": "Leader", "Brokers": "k"}}', "P.cs": ASKS}
    (producer,) = read(tmp_path, files).producers
    assert values(producer)["acks"] == "1"
    assert values(producer)["enable.idempotence"] == "false"
    assert not producer.settings["message.send.max.retries"].known


def test_a_variable_of_a_function_of_rust(tmp_path) -> None:
    source = """use rdkafka::producer::FutureProducer;
fn main() { let acks = env::var("ACKS").unwrap_or_else(|_| "1".to_string()); let other = read();
  let p: FutureProducer = ClientConfig::new().set("acks", &acks).set("retries", &other).create().unwrap(); }
"""
    settings = of(tmp_path, {"Cargo.toml": "", "src/main.rs": source}, ".rs").settings
    assert (settings["acks"].value, settings["retries"].known) == ("1", False)


def test_what_is_no_path_is_no_field_of_scala() -> None:
    assert of_scala('sys.env("ACKS") + suffix', ['acks = config.getString("kafka.acks")']) is None
    assert of_scala("settings.acks", ['acks = config.getString("kafka.acks")']) == "${kafka.acks}"


def test_neighbours_are_read_once_however_many_fields_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    content = program.content_of

    def counting(path: Path) -> str:
        asked.append(path.name)
        return content(path)

    monkeypatch.setattr(following, "content_of", counting)
    writers = "".join(f"\t_ = &kafka.Writer{{RequiredAcks: kafka.RequiredAcks(cfg.A{each})}}\n" for each in range(30))
    main = f'package q\nimport "github.com/segmentio/kafka-go"\nfunc New(cfg Kafka) {{\n{writers}}}\n'
    read(tmp_path, {"main.go": main, "config.go": TAGS.replace("package config", "package q")})
    assert asked.count("config.go") <= 3
