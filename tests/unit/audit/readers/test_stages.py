"""What stages of a deployment have in place of what is in force by itself, and what templates of Ansible's say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.unit.audit.reading import only, read

SOURCE = """import os
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": os.environ["KAFKA_BROKERS"], "acks": os.environ["KAFKA_ACKS"]})
producer.produce("t", b"x")
"""
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {KAFKA_BROKERS: 'k:9092', KAFKA_ACKS: '%s'}\n"
WORKLOAD = """apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  template:
    spec:
      containers:
        - {name: app, image: "acme/app:1", envFrom: [{configMapRef: {name: app}}]}
"""
OVERLAY = "resources: [../../base]\npatches: [{path: patch.yaml}]\n"
BASE = {
    "main.py": SOURCE,
    "requirements.txt": "confluent-kafka==2.3.0",
    "deploy/base/kustomization.yaml": "resources: [map.yaml, app.yaml]\n",
    "deploy/base/map.yaml": MAP % "1",
    "deploy/base/app.yaml": WORKLOAD,
    "deploy/overlays/prod/kustomization.yaml": OVERLAY,
}


def acks(folder: Path, files: Mapping[str, str]) -> dict[str, str]:
    """By file, what a producer has of acks; "?" if that is unknown."""
    found = {}
    for each in read(folder, files).producers:
        told = each.settings["acks"]
        found[os.path.relpath(each.origin.path, folder)] = told.value if told.known else "?"
    return found


def test_a_patch_of_an_overlay_is_a_stage_of_its_own(tmp_path) -> None:
    found = acks(tmp_path, {**BASE, "deploy/overlays/prod/patch.yaml": MAP % "all"})
    assert found == {"main.py": "1", "deploy/overlays/prod/patch.yaml": "all"}


def test_a_patch_that_says_the_same_is_none(tmp_path) -> None:
    assert acks(tmp_path, {**BASE, "deploy/overlays/prod/patch.yaml": MAP % "1"}) == {"main.py": "1"}


ROLE = {
    "roles/app/templates/producer.properties.j2": "bootstrap.servers={{ app_servers }}\nacks={{ app_acks | lower }}\n",
    "roles/app/defaults/main.yml": "app_servers: k:9092\napp_acks: 1\n",
}


def test_a_template_of_ansibles_has_what_its_role_says(tmp_path) -> None:
    assert only(read(tmp_path, ROLE)).settings["acks"].value == "1"


def test_variables_of_all_stand_above_the_defaults_of_a_role(tmp_path) -> None:
    assert only(read(tmp_path, {**ROLE, "group_vars/all.yml": "app_acks: ALL\n"})).settings["acks"].value == "all"


def test_what_a_group_says_otherwise_is_unknown(tmp_path) -> None:
    files = {**ROLE, "group_vars/prod.yml": "app_acks: all\n"}
    assert not only(read(tmp_path, files)).settings["acks"].known


COMPOSE = "services:\n  app: {%s, environment: {KAFKA_BROKERS: 'k:9092', KAFKA_ACKS: '%s'}}\n"


@pytest.mark.parametrize(
    ("file", "told", "found"),
    [
        ("docker-compose.prod.yml", "all", {"main.py": "1", "docker-compose.prod.yml": "all"}),
        ("docker-compose.prod.yml", "1", {"main.py": "1"}),
        ("docker-compose.test.yml", "all", {"main.py": "1"}),
    ],
)
def test_a_compose_file_of_another_environment_is_a_stage(tmp_path, file, told, found) -> None:
    files = {"main.py": SOURCE, "requirements.txt": "confluent-kafka==2.3.0"}
    files |= {"docker-compose.yml": COMPOSE % ("build: .", "1"), file: COMPOSE % ("image: r/app", told)}
    assert acks(tmp_path, files) == found
