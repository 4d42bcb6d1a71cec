"""Patches by which overlays change the environment of a workload: each is a producer of its own, beside the base."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.unit.audit.reading import read

SOURCE = """import os
from confluent_kafka import Producer
p = Producer({"bootstrap.servers": os.environ["KAFKA"], "acks": os.environ.get("ACKS", "1")})
p.produce("t", b"x")
"""
WORKLOAD = """apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec: {template: {spec: {containers: [{name: app, image: "a:1", env: [%s]}]}}}
"""
ACKS = '{name: ACKS, value: "%s"}'
KAFKA = '{name: KAFKA, value: "k:9092"}'
BASE = {"requirements.txt": "confluent-kafka==2.3.0", "app.py": SOURCE,
        "k8s/base/kustomization.yaml": "resources: [app.yaml]\n"}  # fmt: skip
PROD = "k8s/prod/kustomization.yaml"
INLINE = "resources: [../base]\npatches:\n  - target: {kind: Deployment, name: app}\n    patch: |-\n"
REPLACES = "- {op: replace, path: /spec/template/spec/containers/0/env/1/value, value: all}\n"
ADDS = "- {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: ACKS, value: all}}\n"


def acks(folder: Path, files: Mapping[str, str]) -> dict[str, str]:
    """By file, what a producer has of acks; "?" if that is unknown."""
    return {
        os.path.relpath(each.origin.path, folder): told.value if (told := each.settings["acks"]).known else "?"
        for each in read(folder, files).producers
    }


def _indented(text: str) -> str:
    return "".join(f"      {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    ("env", "files", "path"),
    [
        (f"{KAFKA}, {ACKS % 1}", {PROD: "resources: [../base]\npatches: [{path: env.yaml}]\n",
                                  "k8s/prod/env.yaml": WORKLOAD % (ACKS % "all")}, "k8s/prod/env.yaml"),
        (KAFKA, {PROD: "resources: [../base]\npatchesStrategicMerge: [env.yaml]\n",
                 "k8s/prod/env.yaml": WORKLOAD % (ACKS % "all")}, "k8s/prod/env.yaml"),
        (KAFKA, {PROD: INLINE + _indented(WORKLOAD % (ACKS % "all"))}, PROD),
        (KAFKA, {PROD: INLINE + _indented(ADDS)}, PROD),
        (f"{KAFKA}, {ACKS % 1}", {PROD: INLINE + _indented(REPLACES)}, PROD),
        (f"{KAFKA}, {ACKS % 1}", {PROD: "resources: [../base]\npatchesJson6902:\n"
                                        "  - {target: {kind: Deployment, name: app}, path: ops.yaml}\n",
                                  "k8s/prod/ops.yaml": REPLACES}, "k8s/prod/ops.yaml"),
    ],
)  # fmt: skip
def test_a_patch_of_an_environment_is_a_stage_of_its_own(tmp_path, env, files, path) -> None:
    found = acks(tmp_path, {**BASE, "k8s/base/app.yaml": WORKLOAD % env, **files})
    assert found == {"app.py": "1", path: "all"}


def test_a_patch_that_says_the_same_is_none(tmp_path) -> None:
    files = {**BASE, "k8s/base/app.yaml": WORKLOAD % KAFKA, PROD: INLINE + _indented(WORKLOAD % (ACKS % 1))}
    assert acks(tmp_path, files) == {"app.py": "1"}


BOOT = """<project><artifactId>app</artifactId><parent><groupId>org.springframework.boot</groupId>
<artifactId>spring-boot-starter-parent</artifactId><version>3.2.0</version></parent></project>"""
APPLICATION = "spring: {application: {name: app}, kafka: {bootstrap-servers: k, producer: {acks: '1'}}}\n"
SENDER = 'class S { KafkaTemplate<String, String> t; void s() { t.send("t", "x"); } }\n'


def test_what_only_the_patch_sets_stands_above_the_applications_file(tmp_path) -> None:
    files = {
        "pom.xml": BOOT, "src/main/java/S.java": SENDER, "src/main/resources/application.yml": APPLICATION,
        "k8s/base/kustomization.yaml": "resources: [app.yaml]\n", "k8s/base/app.yaml": WORKLOAD % "",
        PROD: "resources: [../base]\npatches: [{path: env.yaml}]\n",
        "k8s/prod/env.yaml": WORKLOAD % '{name: SPRING_KAFKA_PRODUCER_ACKS, value: "all"}',
    }  # fmt: skip
    assert acks(tmp_path, files) == {"src/main/resources/application.yml": "1", "k8s/prod/env.yaml": "all"}
    alone = {name: text for name, text in files.items() if name.startswith("k8s")}
    assert acks(tmp_path / "alone", alone) == {"k8s/prod/env.yaml": "all"}
