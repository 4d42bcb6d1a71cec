"""One setting keeps two users of an engine apart: images by their names, everything else by its label."""

from __future__ import annotations

from pathlib import Path

import pytest

from evidence.errors import UsageError
from harness.cluster import versions
from harness.cluster.namespace import VARIABLE, namespace
from harness.setup import base

COMPOSE = Path(__file__).resolve().parents[3] / "compose"


@pytest.mark.parametrize("value", [None, ""])
def test_unset_or_empty_is_the_default(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    assert versions.get("4.3.1").image == "kafka-chaos/kafka:4.3.1"
    assert base.base_repository() == "kafka-chaos/debian"


def test_it_begins_the_name_of_every_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "ci-7.a")
    assert {version.image.partition("/")[0] for version in versions.ALL} == {"ci-7.a"}
    assert base.base_repository() == "ci-7.a/debian"


@pytest.mark.parametrize("name", ["Upper", "a/b", "-a", "a-", "a b", "a:b", "a..b"])
def test_what_docker_does_not_allow_is_refused_in_one_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, name)
    with pytest.raises(UsageError, match=r"KAFKA_CHAOS_NAMESPACE=.* cannot begin an image's name") as caught:
        namespace()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("file", sorted(COMPOSE.glob("*.yml")), ids=lambda path: path.name)
def test_compose_files_take_it_for_images_and_labels_and_say_so(file: Path) -> None:
    text = file.read_text()
    variable = "${KAFKA_CHAOS_NAMESPACE:-kafka-chaos}"
    assert f"image: {variable}/kafka:" in text
    assert f"  kafka-chaos: {variable}\n" in text
    assert "#   KAFKA_CHAOS_NAMESPACE " in text
