"""What a Python program's objects, calls and files tell of what its producer is made with."""

from __future__ import annotations

import pytest

from tests.unit.audit.reading import only, read

HEAD = "import os\nfrom confluent_kafka import Producer\n"
SETTINGS = """from pydantic_settings import BaseSettings
from pydantic import BaseModel
class Part(BaseModel):
    acks: str = "0"
class Kafka(BaseSettings):
    model_config = {"env_prefix": "KAFKA_"}
    acks: str = "1"
    part: Part = Part()
    def config(self):
        return {"acks": self.acks}
class Settings(BaseSettings):
    kafka: Kafka = Kafka()
def get_settings() -> Settings:
    return Settings()
settings = Settings()
"""


def acks(tmp_path, code: str, files: dict[str, str] | None = None) -> str | None:
    """What the only producer's acks are; None if they are unknown."""
    found = only(read(tmp_path, {"requirements.txt": "confluent-kafka\n", "app.py": HEAD + code, **(files or {})}))
    setting = found.settings.get("acks")
    return setting.value if setting is not None and setting.known else None


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("from conf import Kafka\ndef f(k: Kafka):\n    return Producer({'acks': k.acks})\n", "1"),
        ("from conf import get_settings\nProducer({'acks': get_settings().kafka.acks})\n", "1"),
        ("from conf import settings\nProducer({'acks': settings.kafka.part.acks})\n", "0"),
        ("from conf import settings\nProducer(settings.kafka.config())\n", "1"),
        ("from conf import Settings\nclass A:\n    def __init__(self, s: Settings):\n        self.s = s\n"
         "    def f(self):\n        return Producer({'acks': self.s.kafka.acks})\n", "1"),
        ("from conf import other\nProducer({'acks': other.kafka.acks})\n", None),
        ("def f(k):\n    return Producer({'acks': k.acks})\n", None),
    ],
)  # fmt: skip
def test_fields_of_objects_whose_class_is_told(tmp_path, code, told) -> None:
    assert acks(tmp_path, code, {"conf.py": SETTINGS}) == told


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ("make('1')", "1"),
        ("make(acks='1')\nmake('1')", "1"),
        ("make('1')\nmake(unknown())", None),
        ("make()", "all"),
        ("make(*sys.argv)", None),
        ("", None),
    ],
)
def test_what_every_call_gives_a_parameter(tmp_path, calls, told) -> None:
    code = "def make(acks='all'):\n    return Producer({'acks': acks})\n"
    assert acks(tmp_path, code, {"run.py": f"from app import make\n{calls}\n"}) == told


@pytest.mark.parametrize(("call", "told"), [("make()", "all"), ("make(acks='1')", None), ("", None)])
def test_what_no_call_gives_changes_nothing(tmp_path, call, told) -> None:
    code = "def make(**more):\n    return Producer({'acks': 'all', **more})\n"
    assert acks(tmp_path, code, {"run.py": f"from app import make\n{call}\n"}) == told


@pytest.mark.parametrize(("call", "told"), [("Bus({'acks': 0})", "0"), ("Bus(load())", None), ("", None)])
def test_a_dictionary_that_is_handed_on(tmp_path, call, told) -> None:
    code = "class Bus:\n    def __init__(self, config):\n        self.p = Producer(config)\n"
    assert acks(tmp_path, code, {"run.py": f"from app import Bus\n{call}\n"}) == told


@pytest.mark.parametrize(
    ("made", "told"), [("S(acks='0')", "0"), ("S()", "1"), ("S(**load())", None), ("S('0')\nS('1')", None)]
)
def test_a_field_of_a_dataclass_is_what_it_is_made_with(tmp_path, made, told) -> None:
    code = "from dataclasses import dataclass\n@dataclass\nclass S:\n    acks: str = '1'\n"
    code += f"def f(s: S):\n    return Producer({{'acks': s.acks}})\n{made}\n"
    assert acks(tmp_path, code) == told


YAML = {"conf.yaml": "kafka:\n  acks: 1\n"}
LOADS = "import yaml\ncfg = yaml.safe_load(open('conf.yaml'))\n"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (LOADS + "Producer({'acks': cfg['kafka']['acks']})\n", "1"),
        (LOADS + "Producer({'acks': cfg['kafka'].get('acks', 'all')})\n", "1"),
        (LOADS + "Producer({'acks': cfg['kafka'].get('other', 'all')})\n", "all"),
        ("cfg = other()\nProducer({'acks': cfg['kafka']['acks']})\n", None),
        ("from dynaconf import Dynaconf\ns = Dynaconf()\nProducer({'acks': s.kafka.acks})\n", "1"),
        ("from decouple import config\nProducer({'acks': config('ACKS', default='0')})\n", "0"),
        ("def config(x, default):\n    return 1\nProducer({'acks': config('ACKS', default='0')})\n", None),
        ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--acks', default='0')\n"
         "args = p.parse_args()\nProducer({'acks': args.acks})\n", "0"),
        ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--acks')\n"
         "args = p.parse_args()\nProducer({'acks': args.acks})\n", None),
    ],
)  # fmt: skip
def test_files_arguments_and_helpers(tmp_path, code, told) -> None:
    assert acks(tmp_path, code, YAML if "load" in code or "Dynaconf" in code else {}) == told


def test_sections_of_an_ini_file_are_joined(tmp_path) -> None:
    code = "from configparser import ConfigParser\nif __name__ == '__main__':\n    cp = ConfigParser()\n"
    code += "    config = dict(cp['default'])\n    config.update(cp['producer'])\n    Producer(config)\n"
    ini = "[default]\nbootstrap.servers=k:9092\nacks=0\n\n[producer]\nacks=1\n"
    assert acks(tmp_path / "a", code, {"app.ini": ini}) == "1"
    assert acks(tmp_path / "b", code) is None
    assert acks(tmp_path / "c", code, {"app.ini": ini, "b.ini": ini}) is None


@pytest.mark.parametrize(
    ("more", "told"), [("", "1"), ("class B(Config):\n    KAFKA_ACKS = 'all'\n", None)]
)  # fmt: skip
def test_settings_of_flask(tmp_path, more, told) -> None:
    code = "from flask import current_app\ndef f():\n    return Producer({'acks': current_app.config['KAFKA_ACKS']})\n"
    assert acks(tmp_path, code, {"conf.py": f"class Config:\n    KAFKA_ACKS = '1'\n{more}"}) == told
