"""What scripts have from other modules of their program: packages of a workspace, services of settings, parameters."""

from __future__ import annotations

import pytest

from tests.unit.audit.reading import only, read

PACKAGE = '{"name": "api", "dependencies": {"kafkajs": "2.2.4"}}'
MAKES = """import { Kafka } from 'kafkajs';
%s
const producer = new Kafka({ brokers: ['k'] }).producer();
export const send = (topic, value) => producer.send({ topic, acks: %s, messages: [{ value }] });
"""


def acks(tmp_path, head: str, expression: str, files: dict[str, str] | None = None) -> str | None:
    """What the only producer's acks are; None if they are unknown."""
    own = {"package.json": PACKAGE, "src/k.ts": MAKES % (head, expression)}
    setting = only(read(tmp_path, own | (files or {}))).settings.get("acks")
    return setting.value if setting is not None and setting.known else None


CONFIG = {"config/default.json": '{"kafka": {"acks": 1, "brokers": ["k"]}}'}
ASKS = "import config from 'config';\nconst settings = config.get('kafka');"


@pytest.mark.parametrize(
    ("head", "expression", "files", "told"),
    [
        (ASKS, "settings.acks", CONFIG, "1"),
        (ASKS, "settings.other", CONFIG, None),
        (ASKS, "settings.acks", CONFIG | {"config/production.json": '{"kafka": {"brokers": ["p"]}}'}, "1"),
        ("const { ACKS = '0' } = process.env;", "parseInt(ACKS, 10)", {}, "0"),
        ("const { ACKS } = process.env;", "parseInt(ACKS, 10)", {}, None),
        ("const A = { ALL: -1, ONE: 1 };", "A.ONE", {}, "1"),
        ("enum A { All = -1, One = 1 }", "A.One", {}, "1"),
        ("import { A } from './other';", "A.ONE", {}, None),
        ("import { config } from '@/config';", "config.acks",
         {"src/config.ts": "export const config = { acks: 1 };"}, "1"),
        ("import { config } from './config';", "config.kafka.acks",
         {"src/config/index.ts": "import { kafka } from './kafka';\nexport const config = { port: 1, kafka };\n",
          "src/config/kafka.ts": "export const kafka = { acks: Number(process.env.ACKS ?? 1) };\n"}, "1"),
        ("const config = require('./config.json');", "config.kafka.acks",
         {"src/config.json": '{"kafka": {"acks": 0}}'}, "0"),
        ("const c = yaml.load(fs.readFileSync('c.yml'));", "c.kafka.acks", {"c.yml": "kafka:\n  acks: 0\n"}, "0"),
    ],
)  # fmt: skip
def test_what_another_module_or_file_says(tmp_path, head, expression, files, told) -> None:
    assert acks(tmp_path, head, expression, files) == told


REGISTERED = "export default registerAs('kafka', () => ({ acks: parseInt(process.env.ACKS ?? '1', 10) }));\n"


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("configService.get<number>('kafka.acks')", "1"),
        ("configService.get('ACKS', 0)", "0"),
        ("+configService.get('ACKS')", None),
        ("configService.get('kafka.other')", None),
    ],
)
def test_a_service_of_settings(tmp_path, expression, told) -> None:
    assert acks(tmp_path, "", expression, {"src/kafka.config.ts": REGISTERED}) == told


WORKSPACE = '{"name": "r", "workspaces": ["p/*"]}'
SHARED = """import { Kafka, ProducerConfig } from 'kafkajs';
export class P {
  constructor(kafka: Kafka, config: Partial<ProducerConfig> = {}) {
    this.producer = kafka.producer({ idempotent: true, ...config });
  }
}
"""


@pytest.mark.parametrize(
    ("calls", "known"),
    [
        ("class Q extends P {}\nexport const q = new Q(kafka);", True),
        ("export const q = new P(kafka, {});", True),
        ("export const q = new P(kafka, load());", False),
        ("", False),
    ],
)
def test_what_is_spread_into_options_counts_if_a_call_gives_it(tmp_path, calls, known) -> None:
    files = {"package.json": WORKSPACE, "p/a/package.json": PACKAGE, "p/a/src/p.ts": SHARED,
             "p/b/package.json": '{"name": "b"}', "p/b/src/q.ts": f"import {{ P }} from 'api';\n{calls}\n"}  # fmt: skip
    assert only(read(tmp_path, files)).settings["enable.idempotence"].known == known


def test_a_package_of_the_workspace_has_a_producers_options(tmp_path) -> None:
    files = {"package.json": WORKSPACE, "p/c/package.json": '{"name": "@r/c"}',
             "p/c/src/index.ts": "export const kafka = { producer: { idempotent: true } };\n",
             "p/a/package.json": PACKAGE,
             "p/a/k.ts": "import { Kafka } from 'kafkajs';\nimport { kafka } from '@r/c';\n"
             "export const p = new Kafka({ brokers: ['k'] }).producer(kafka.producer);\n"}  # fmt: skip
    found = only(read(tmp_path, files)).settings["enable.idempotence"]
    assert (found.known, found.value) == (True, "true")


def test_what_node_rdkafka_is_made_with_in_another_module(tmp_path) -> None:
    files = {"package.json": '{"dependencies": {"node-rdkafka": "3.0.0"}}',
             "config.js": "module.exports = { other: { 'acks': 0 }, kafka: { 'client.id': 'k', 'acks': 1 } };\n",
             "k.js": "const K = require('node-rdkafka');\nconst config = require('./config');\n"
             "const p = new K.Producer(config.kafka);\n"}  # fmt: skip
    assert only(read(tmp_path, files)).settings["acks"].value == "1"
