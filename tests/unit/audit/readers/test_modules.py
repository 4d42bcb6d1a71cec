"""Settings of Python producers that stand in other files of the program, or behind a name."""

from __future__ import annotations

import pytest

from tests.unit.audit.reading import lines, only, read, values

MAKES = "from confluent_kafka import Producer\n"
CONFIG = 'import os\nACKS = "1"\nKAFKA = {"bootstrap.servers": "k", "acks": ACKS}\n'
CONFIG += 'def made():\n    return {"acks": "0"}\n'


@pytest.mark.parametrize(
    ("source", "acks"),
    [
        ("from . import config\nProducer(config.KAFKA)", "1"),
        ("import config\nProducer(config.made())", "0"),
        ("import app.config as c\nProducer(c.KAFKA)", "1"),
        ("from .config import ACKS\nProducer({'acks': ACKS})", "1"),
        ("from app import config\nProducer({'acks': config.ACKS})", "1"),
        ("ACKS = 'all'\nProducer({'acks': ACKS})", "all"),
        ("def f():\n    acks = 'all'\n    return Producer({'acks': acks})", "all"),
    ],
)
def test_what_a_module_or_a_name_has_is_followed(tmp_path, source, acks) -> None:
    files = {"app/__init__.py": "", "app/config.py": CONFIG, "app/send.py": f"{MAKES}{source}\n"}
    assert values(only(read(tmp_path, files)))["acks"] == acks


@pytest.mark.parametrize(
    "source",
    [
        "from . import other\nProducer(other.KAFKA)",
        "from . import config\nProducer(config.NOTHING)",
        "from .config import ACKS\ndef f(ACKS):\n    return Producer({'acks': ACKS})",
        "from . import config\ndef f(config):\n    return Producer({'acks': config.ACKS})",
        "acks = '1'\nif x:\n    acks = '0'\nProducer({'acks': acks})",
    ],
)
def test_what_is_elsewhere_or_bound_twice_is_unknown(tmp_path, source) -> None:
    files = {"app/__init__.py": "", "app/config.py": CONFIG, "app/send.py": f"{MAKES}{source}\n"}
    assert not only(read(tmp_path, files)).settings["acks"].known


def test_where_a_constant_of_another_file_is_told(tmp_path) -> None:
    files = {"config.py": CONFIG, "send.py": f"{MAKES}import config\nProducer(config.KAFKA)\n"}
    assert lines(only(read(tmp_path, files)))["acks"] == "config.py:2"


@pytest.mark.parametrize(("more", "known"), [({}, True), ({"shop/pages/settings.py": CONFIG}, False)])
def test_djangos_settings_are_those_of_the_only_project(tmp_path, more, known) -> None:
    source = f"{MAKES}from django.conf import settings\ndef make():\n    return Producer(settings.KAFKA)\n"
    files = {"shop/site/settings.py": CONFIG, "shop/bus.py": source}
    assert only(read(tmp_path, files | more)).settings["acks"].known == known


@pytest.mark.parametrize(
    ("field", "value", "known"),
    [
        ('acks: str = "1"', "1", True),
        ('acks: str = Field("0")', "0", True),
        ("acks: str = Field(default='0', description='d')", "0", True),
        ("acks: str", "", False),
        ('acks: str = Field("0", alias="APP_ACKS")', "0", True),
        ('acks: str = Field("0", alias=NAME)', "", False),
    ],
)
def test_a_field_of_pydantics_settings_is_a_variable(tmp_path, field, value, known) -> None:
    content = "from pydantic_settings import BaseSettings, SettingsConfigDict\nclass S(BaseSettings):\n"
    content += f"    model_config = SettingsConfigDict(env_prefix='APP_')\n    {field}\nsettings = S()\n"
    files = {"settings.py": content, "send.py": f"{MAKES}from settings import settings\n"}
    files["send.py"] += "Producer({'acks': settings.acks})\n"
    found = only(read(tmp_path / "a", files)).settings["acks"]
    assert (found.known, found.value if known else "") == (known, value)
    if known:
        assert values(only(read(tmp_path / "b", files, env={"APP_ACKS": "all"})))["acks"] == "all"


@pytest.mark.parametrize(("options", "acks"), [("**config.OPTIONS", "1"), ("**other.OPTIONS", None)])
def test_what_is_spread_into_a_call_of_kafka_python_is_followed(tmp_path, options, acks) -> None:
    files = {"config.py": 'OPTIONS = {"acks": 1, "linger_ms": 5}\n', "send.py": "import config\nimport other\n"}
    files["send.py"] += f"from kafka import KafkaProducer\nKafkaProducer(bootstrap_servers='k', {options})\n"
    found = only(read(tmp_path, files)).settings["acks"]
    assert (found.value if found.known else None) == acks


@pytest.mark.parametrize(("root", "known"), [({"requirements.txt": "x\n"}, True), ({}, False)])
def test_a_module_at_the_root_of_the_program_is_found(tmp_path, root, known) -> None:
    source = f"{MAKES}from config import Config\nProducer({{'acks': Config.ACKS}})\n"
    files = {"config.py": "class Config:\n    ACKS = '1'\n", "senders/deep/send.py": source}
    assert only(read(tmp_path, files | root)).settings["acks"].known == known
