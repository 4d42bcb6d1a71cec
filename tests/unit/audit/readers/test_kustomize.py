"""ConfigMaps that kustomizations generate, and whose they are."""

from __future__ import annotations

import pytest

from tests.unit.audit.damage import CANARY
from tests.unit.audit.reading import lines, only, read, values

DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec: {template: {spec: {containers: [{name: app, image: x, envFrom: [{configMapRef: {name: app}}]}]}}}
"""
BASE = """resources: [deployment.yaml]
configMapGenerator:
  - name: app
    literals:
      - SPRING_KAFKA_BOOTSTRAP_SERVERS=k:9092
      - SPRING_KAFKA_PRODUCER_ACKS=all
"""
OVERLAY = """resources: [../../base]
configMapGenerator:
  - name: {}
    behavior: {}
    literals: ["SPRING_KAFKA_PRODUCER_ACKS={}"]
"""
FILES = {"base/deployment.yaml": DEPLOYMENT, "base/kustomization.yaml": BASE}


def test_a_container_has_the_map_that_is_generated_for_it(tmp_path) -> None:
    producer = only(read(tmp_path, FILES))
    assert values(producer) == {"bootstrap.servers": "k:9092", "acks": "all"}
    assert lines(producer)["acks"] == "kustomization.yaml:6"


@pytest.mark.parametrize(
    ("overlays", "acks"),
    [
        ({"prod": ("app", "merge", "1")}, "1"),
        ({"prod": ("app", "merge", "1"), "dev": ("app", "merge", "1")}, "1"),
        ({"prod": ("app", "merge", "1"), "dev": ("app", "merge", "0")}, None),
        ({"prod": ("other", "create", "1")}, "all"),
        ({"prod": ("app", "replace", "1")}, "1"),
    ],
)
def test_what_is_above_it_changes_the_map(tmp_path, overlays, acks) -> None:
    more = {f"overlays/{name}/kustomization.yaml": OVERLAY.format(*one) for name, one in overlays.items()}
    producer = only(read(tmp_path, FILES | more))
    setting = producer.settings["acks"]
    assert (setting.value if setting.known else None) == acks
    assert ("bootstrap.servers" in producer.settings) is (overlays["prod"][1] != "replace")


@pytest.mark.parametrize("name", ["kafka.env", "kafka.properties", ".env.kafka"])
def test_a_file_of_variables_is_the_maps_and_nothing_beside_it(tmp_path, name) -> None:
    base = f"resources: [deployment.yaml]\nconfigMapGenerator:\n  - name: app\n    envs: [{name}]\n"
    content = "SPRING_KAFKA_BOOTSTRAP_SERVERS=k:9092\nSPRING_KAFKA_PRODUCER_ACKS=1\n"
    producer = only(read(tmp_path, {"deployment.yaml": DEPLOYMENT, "kustomization.yaml": base, name: content}))
    assert (producer.name, values(producer)["acks"]) == ("app", "1")


def test_a_kustomization_of_another_application_says_nothing(tmp_path) -> None:
    assert read(tmp_path, {"a/deployment.yaml": DEPLOYMENT, "b/kustomization.yaml": BASE}).producers == ()


def test_kustomizations_that_name_each_other_are_survived(tmp_path) -> None:
    files = {"a/kustomization.yaml": BASE.replace("[dep", "[../b, dep"), "b/kustomization.yaml": "resources: [../a]\n"}
    assert read(tmp_path, files | {"a/deployment.yaml": DEPLOYMENT}).producers == ()


def test_a_secret_is_kept_nowhere(tmp_path) -> None:
    more = f"      - SPRING_KAFKA_PROPERTIES_SASL_JAAS_CONFIG={CANARY}\n"
    found = read(tmp_path, FILES | {"base/kustomization.yaml": BASE + more})
    assert found.producers
    assert CANARY not in repr(found)


OF_FILE = "configMapGenerator: [{{name: a{}, files: [{}]}}]\n"
OF_SPRING = {"base/application.yaml": "spring.kafka.producer.acks: 1\n"}


@pytest.mark.parametrize(
    ("overlays", "told"),
    [
        ({"prod": (", behavior: replace", "application.yaml")}, ["prod"]),
        ({"prod": (", behavior: merge", "application.yaml=other.yaml")}, ["base"]),
        ({"prod": (", behavior: replace", "application.yaml"), "test": ("", "")}, ["base", "prod"]),
        ({"prod": (", behavior: replace", "application.yaml"), "test": (", behavior: replace", "application.yaml")},
         ["prod", "test"]),
        ({"prod": (", behavior: merge", "others.yaml=application.yaml")}, ["base", "prod"]),
    ],
)  # fmt: skip
def test_a_file_that_each_overlay_has_another_one_for_is_in_force_nowhere(tmp_path, overlays, told) -> None:
    files = OF_SPRING | {"base/kustomization.yaml": OF_FILE.format("", "application.yaml")}
    for name, (behavior, file) in overlays.items():
        generator = OF_FILE.format(behavior, file) if file else ""
        files[f"{name}/kustomization.yaml"] = f"resources: [../base]\n{generator}"
        if file.endswith("application.yaml"):
            files[f"{name}/application.yaml"] = "spring.kafka.producer.acks: all\n"
    found = read(tmp_path, files)
    assert sorted(each.origin.path.removeprefix(f"{tmp_path}/").partition("/")[0] for each in found.producers) == told
