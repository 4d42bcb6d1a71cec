"""The formats: each is found, none is asked at the same time as another, and the guide's example is one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from audit.readers import registry
from audit.readers.format import Format
from tests.unit.audit.reading import lines, only, read, values

ROOT = Path(__file__).parents[4]
GUIDE = ROOT / "docs" / "adding-an-audit-format.md"


@pytest.fixture
def formats(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Format]]:
    """The formats, to which a test may add one."""
    every = list(registry.formats())
    monkeypatch.setattr(registry, "_found", lambda: iter(every))
    for cached in (registry.formats, registry.file_names, registry._marks):
        cached.cache_clear()
    yield every
    monkeypatch.undo()
    for cached in (registry.formats, registry.file_names, registry._marks):
        cached.cache_clear()


def test_each_is_asked_at_a_time_of_its_own() -> None:
    assert {rank: n for rank, n in Counter(one.rank for one in registry.formats()).items() if n > 1} == {}
    assert len({one.name for one in registry.formats()}) == len(registry.formats())


def test_texts_are_offered_before_documents_and_a_clients_own_keys_come_last() -> None:
    whole = [one.whole for one in registry.formats()]
    assert whole == sorted(whole, reverse=True)
    assert [one.name for one in registry.formats()][-2:] == ["clients and brokers", "clients one level down"]


def test_every_reader_module_that_reads_a_file_declares_its_formats() -> None:
    declared = {path.stem for path in (ROOT / "audit/readers").glob("*.py") if "\nFORMATS: Final" in path.read_text()}
    assert {"application", "compose", "connect", "flink", "kubernetes", "plain", "python", "variables"} <= declared


@pytest.mark.parametrize("name", ["a.yml", "A.YAML", "x.json.j2", "p.py", ".env", ".env.prod", "q.sql", "s.properties"])
def test_names_of_files(name: str) -> None:
    assert registry.file_names().fullmatch(name)


@pytest.mark.parametrize("name", [".yml", "README.md", "pom.xsd", "a.py.j2", "a.yml.bak", "env"])
def test_names_of_others(name: str) -> None:
    assert not registry.file_names().fullmatch(name)


def test_the_guides_example_is_a_format(tmp_path: Path, formats: list[Format]) -> None:
    text = "[db]\nacks = 0\n[kafka_producer]\nbootstrap.servers = k:9092\nacks = 1\n"
    assert read(tmp_path, {"app.ini": text}).ignored == {"of another kind": 1}
    module: dict[str, object] = {"__name__": "ini"}
    code, tests = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    exec(code, module)
    taken = {one.rank for one in formats}
    formats.extend(module["FORMATS"])  # type: ignore[arg-type]
    assert formats[-1].rank not in taken
    for cached in (registry.formats, registry.file_names):
        cached.cache_clear()
    producer = only(read(tmp_path, {"app.ini": text}))
    assert (producer.client, values(producer)["acks"], lines(producer)["acks"]) == ("librdkafka", "1", "app.ini:5")
    assert "| INI files | `*.ini` | the section `[kafka_producer]`, with librdkafka's keys |\n" in registry.table()
    found: dict[str, Callable[[Path], None]] = {}
    exec(tests, found)
    own = {name: test for name, test in found.items() if name.startswith("test_")}
    assert len(own) == 3
    for name, test in own.items():
        (tmp_path / name).mkdir()
        test(tmp_path / name)
