"""Templates of Helm charts: what is certain is rendered, what differs or is not said stays unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from audit.model import Inputs
from audit.readers.helm import read_chart, rendered
from audit.readers.text import Text
from tests.unit.audit.reading import lines, only, read, told, values

CHART = {"chart/Chart.yaml": "name: orders\n"}
MAP = """kind: ConfigMap
apiVersion: v1
metadata:
  name: {{ include "orders.name" . }}
  labels: {{- include "orders.labels" . | nindent 4 }}
data:
{{- if .Values.enabled }}
  application.yml: |
    spring:
      kafka:
        bootstrap-servers: {{ .Values.kafka.servers | default "k:9092" }}
        producer:
          acks: {{ .Values.kafka.acks | quote }}
{{- end }}
"""


def files(values: str, **layers: str) -> dict[str, str]:
    made = CHART | {"chart/templates/map.yaml": MAP, "chart/values.yaml": values}
    return made | {f"chart/values-{name}.yaml": text for name, text in layers.items()}


def test_a_template_has_the_value_of_its_chart_and_its_own_line(tmp_path: Path) -> None:
    found = read(tmp_path, files("kafka: {acks: 1}\n"))
    producer = only(found)
    assert values(producer) == {"acks": "1", "bootstrap.servers": "k:9092"}
    assert lines(producer)["acks"] == "map.yaml:13"
    assert told(found, "template") == [
        "map.yaml:7 a Helm template, read with the chart's own values, every branch as if it counted: "
        "render it first: helm template … | kafka-chaos audit -"
    ]


def staged(found: Inputs) -> dict[str, str]:
    """By file, what a producer has of acks."""
    return {each.origin.path.rpartition("/")[2]: each.settings["acks"].value for each in found.producers}


def test_a_layer_that_differs_is_a_producer_of_its_own(tmp_path: Path) -> None:
    found = read(tmp_path, files("kafka: {acks: all}\n", prod="kafka: {acks: '1'}\n"))
    assert staged(found) == {"map.yaml": "all", "values-prod.yaml": "1"}


def test_so_is_one_with_other_addresses_and_none_that_says_nothing_of_it(tmp_path: Path) -> None:
    layers = {"prod": "kafka: {servers: 'p:9092'}\n", "qa": "replicas: 2\n", "uat": "kafka: {acks: all}\n"}
    found = read(tmp_path, files("kafka: {acks: all}\n", **layers))
    assert staged(found) == {"map.yaml": "all", "values-prod.yaml": "all"}


def test_what_nobody_says_is_unknown_and_values_are_no_producer_of_their_own(tmp_path: Path) -> None:
    found = read(tmp_path, files("producer: {acks: 1, retries: 3}\n"))
    assert not only(found).settings["acks"].known


def test_values_without_templates_are_read_as_before(tmp_path: Path) -> None:
    found = read(tmp_path, {"values.yaml": "kafka: {producer: {acks: 1, bootstrap.servers: 'k:9092'}}\n"})
    assert values(only(found))["acks"] == "1"


@pytest.mark.parametrize(
    ("template", "yaml"),
    [
        ("a: {{ .Values.a }}", "a: 1"),
        ("a: {{ .Values.none }}", 'a: "{{ .Values.none }}"'),
        ('a: "{{ .Values.none }}"', 'a: "{{ .Values.none }}"'),
        ('a: {{ .Values.none | default "x" }}', "a: x"),
        ("a: {{ default 5 .Values.none }}", "a: 5"),
        ("a: {{ .Values.a | quote }}", 'a: "1"'),
        ("e:\n  {{- toYaml .Values.list | nindent 2 }}", 'e:\n  ["1", "2"]'),
        ("e: {{ toYaml .Values.none | nindent 2 }}", "e: "),
        ("a: {{ .Values.none }}:9092", "a: __HELM__:9092"),
        ("a:\n  {{- .Values.empty | toYaml | nindent 2 }}", "a:\n  "),
        ("e:\n  {{- toYaml .Values.map | nindent 2 }}\n  b: 2", 'e:\n  <<: {"c": "3"}\n  b: 2'),
        ('e:\n  {{- include "labels" . | nindent 2 }}\n  b: 2', "e:\n  \n  b: 2"),
        ("{{- range $k, $v := .Values.map }}\n{{ $k }}: {{ $v | quote }}\n{{- end }}", '<<: {"c": "3"}\n\n'),
        ("{{- range $k, $v := .Values.none }}\n{{ $k }}: {{ $v }}\n{{- end }}", '\nhelm: "{{ $v }}"\n'),
        ('{{- $name := default "x" .Values.a -}}\na: 1', "\na: 1"),
        ("{{- if .Values.a }}\na: 2\n{{- end }}", "\na: 2\n"),
        ("a: {{/* told\nlater */}}\nb: 1", "a: \n\nb: 1"),
        ('a: {{ printf "%s" .Values.a }}', "a: \"{{ printf '%s' .Values.a }}\""),
    ],
)
def test_expressions_keep_the_lines_of_a_template(tmp_path: Path, template: str, yaml: str) -> None:
    (tmp_path / "values.yaml").write_text("a: 1\nlist: [1, 2]\nmap: {c: 3}\nempty: []\n")
    made = rendered(Text("t.yaml", template), read_chart(tmp_path)).content
    assert made == yaml
    assert made.count("\n") == template.count("\n")


def test_what_is_known_in_part_is_unknown(tmp_path: Path) -> None:
    text = MAP.replace('{{ .Values.kafka.servers | default "k:9092" }}', "{{ .Values.host }}:9092")
    found = read(tmp_path, files("kafka: {acks: 1}\n") | {"chart/templates/map.yaml": text})
    assert not only(found).settings["bootstrap.servers"].known


def test_a_secret_among_the_values_is_in_nothing_that_is_told(tmp_path: Path) -> None:
    text = MAP.replace("producer:\n", "properties: {{ toYaml .Values.kafka.all | nindent 10 }}\n        producer:\n")
    values = "kafka: {acks: 1, all: {sasl.jaas.config: 'a password=\"s3cr3t-one\";', ssl.key.password: s3cr3t-two}}\n"
    found = read(tmp_path, files(values) | {"chart/templates/map.yaml": text})
    assert {"sasl.jaas.config", "ssl.key.password"} <= only(found).settings.keys()
    assert "s3cr3t" not in repr(found)


LOOP = """apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  template:
    spec:
      containers:
        - name: a
          env:
          {{- range $k, $v := .Values.env }}
            - name: {{ $k }}
              value: {{ $v | quote }}
          {{- end }}
%s"""
OF_LOOP = "env:\n  SPRING_KAFKA_PRODUCER_ACKS: '1'\n  SPRING_KAFKA_BOOTSTRAP_SERVERS: k:9092\n"


def test_variables_that_a_template_loops_over_are_those_of_the_values(tmp_path) -> None:
    files = {"Chart.yaml": "name: a\n", "values.yaml": OF_LOOP, "templates/d.yaml": LOOP % ""}
    assert values(only(read(tmp_path, files)))["acks"] == "1"
    layer = {"values-prod.yaml": "env:\n  SPRING_KAFKA_PRODUCER_ACKS: all\n"}
    assert staged(read(tmp_path / "b", files | layer)) == {"d.yaml": "1", "values-prod.yaml": "all"}


def test_a_loop_beside_other_items_is_left_as_it_is(tmp_path) -> None:
    more = LOOP % "            - {name: SPRING_KAFKA_PRODUCER_ACKS, value: '0'}\n"
    files = {"Chart.yaml": "name: a\n", "values.yaml": OF_LOOP, "templates/d.yaml": more}
    assert values(only(read(tmp_path, files)))["acks"] == "0"
