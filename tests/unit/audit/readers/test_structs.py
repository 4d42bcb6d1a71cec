"""What Go's programs have their settings of: files that viper and its like read, structs, functions that make acks."""

from __future__ import annotations

import pytest

from tests.unit.audit.reading import only, read

MAKES = """package main
import (
	"github.com/IBM/sarama"
	"github.com/spf13/viper"
)
%s
func New(cfg Kafka, all *Config) (sarama.SyncProducer, error) {
	c := sarama.NewConfig()
	c.Producer.RequiredAcks = %s
	return sarama.NewSyncProducer([]string{"k:9092"}, c)
}
"""
STRUCTS = """type Kafka struct {
	Acks int `mapstructure:"required_acks"`
}
type Config struct {
	Kafka Kafka `mapstructure:"kafka"`
}
"""
SWITCH = """func acks(s string) sarama.RequiredAcks {
	switch s {
	case "leader":
		return sarama.WaitForLocal
	default:
		return sarama.WaitForAll
	}
}
"""
YAML = {"config/config.yaml": "kafka:\n  required_acks: 1\n  level: leader\n"}
BY_PATH = 'sarama.RequiredAcks(viper.GetInt("kafka.required_acks"))'


def acks(tmp_path, files: dict[str, str], head: str, expression: str) -> str | None:
    """What the only producer's acks are; None if they are unknown."""
    found = only(read(tmp_path, files | {"go.mod": "module x\n", "main.go": MAKES % (head, expression)}))
    setting = found.settings.get("acks")
    return setting.value if setting is not None and setting.known else None


@pytest.mark.parametrize(
    ("head", "expression", "told"),
    [
        ("", BY_PATH, "1"),
        (STRUCTS, "sarama.RequiredAcks(cfg.Acks)", "1"),
        (STRUCTS, "sarama.RequiredAcks(all.Kafka.Acks)", "1"),
        (SWITCH, 'acks(viper.GetString("kafka.level"))', "1"),
        (SWITCH, 'acks(viper.GetString("kafka.other"))', None),
        ("", 'sarama.RequiredAcks(viper.GetInt("kafka.other"))', None),
        (
            'func init() { viper.SetDefault("kafka.other", -1) }',
            'sarama.RequiredAcks(viper.GetInt("kafka.other"))',
            "-1",
        ),
    ],
)
def test_a_file_that_a_program_reads_tells_its_values(tmp_path, head, expression, told) -> None:
    assert acks(tmp_path, YAML, head, expression) == told


def test_files_that_do_not_agree_tell_nothing_and_are_no_producers(tmp_path) -> None:
    files = {"config/prod.yaml": "kafka:\n  required_acks: 1\n", "config/stage.yaml": "kafka:\n  required_acks: -1\n"}
    assert acks(tmp_path, files, "", BY_PATH) is None


@pytest.mark.parametrize("file", ["config.example.yaml", "k8s/config.yaml", "tests/config.yaml"])
def test_files_of_developers_and_samples_stand_back(tmp_path, file) -> None:
    assert acks(tmp_path / "a", YAML | {file: "kafka:\n  required_acks: 0\n"}, "", BY_PATH) == "1"


def test_a_file_of_an_environment_is_one_more(tmp_path) -> None:
    files = YAML | {"config/config.dev.yaml": "kafka:\n  required_acks: 0\n", "go.mod": "module x\n"}
    found = read(tmp_path, files | {"main.go": MAKES % ("", BY_PATH)}).producers
    assert [(each.name, each.settings["acks"].value) for each in found] == [
        ("main.go, New", "1"),
        ("main.go, New (config.dev.yaml)", "0"),
    ]


@pytest.mark.parametrize(
    ("given", "told"), [("Kafka{Acks: 1}", "1"), ('Kafka{Acks: getEnvInt("ACKS", 0)}', "0"), ("Kafka{Acks: f()}", None)]
)
def test_a_struct_that_is_written_out_tells_its_fields(tmp_path, given, told) -> None:
    head = f"{STRUCTS}\nfunc Load() *Config {{\n\treturn &Config{{Kafka: {given}}}\n}}\n"
    assert acks(tmp_path, {}, head, "sarama.RequiredAcks(all.Kafka.Acks)") == told


CASES = """package main
import (
	"github.com/IBM/sarama"
	"github.com/spf13/viper"
)
func main() {
	c := sarama.NewConfig()
	switch viper.GetString("kafka.level") {
	case "leader":
		c.Producer.RequiredAcks = sarama.WaitForLocal
	default:
		c.Producer.RequiredAcks = sarama.WaitForAll
	}
	p, _ := sarama.NewSyncProducer([]string{"k:9092"}, c)
	p.Close()
}
"""


@pytest.mark.parametrize(("level", "told"), [("leader", "1"), ("safe", "all"), (None, None)])
def test_the_case_of_a_switch_that_a_file_decides(tmp_path, level, told) -> None:
    files = {"config.yaml": f"kafka:\n  level: {level}\n"} if level else {}
    found = only(read(tmp_path, files | {"go.mod": "module x\n", "main.go": CASES})).settings["acks"]
    assert (found.value if found.known else None) == told
