"""Environment variables, of Compose and Kubernetes, and Strimzi's resources."""

from __future__ import annotations

import pytest

from audit.readers.variables import release_of
from tests.unit.audit.reading import lines, only, read, told, values

COMPOSE = """\
services:
  app:
    image: example/app:1
    env_file: [app.env]
    environment:
      SPRING_KAFKA_PRODUCER_ACKS: ${ACKS:-1}
      SPRING_KAFKA_PRODUCER_PROPERTIES_ENABLE_IDEMPOTENCE: "false"
      SPRING_KAFKA_PRODUCER_PROPERTIES_MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION: 5
"""


def test_springs_variables_in_compose(tmp_path) -> None:
    producer = only(
        read(tmp_path, {"docker-compose.yml": COMPOSE, "app.env": "SPRING_KAFKA_BOOTSTRAP_SERVERS='k:1' # x\n"})
    )
    assert (producer.name, producer.framework) == ("app", "spring")
    assert values(producer) == {
        "bootstrap.servers": "k:1",
        "acks": "1",
        "enable.idempotence": "false",
        "max.in.flight.requests.per.connection": "5",
    }
    assert lines(producer)["acks"] == "docker-compose.yml:6"
    assert producer.spelled("acks") == "SPRING_KAFKA_PRODUCER_ACKS"
    assert producer.spelled("retries") == "SPRING_KAFKA_PRODUCER_PROPERTIES_RETRIES"


def test_composes_own_env_file_and_what_is_told_outside(tmp_path) -> None:
    files = {"compose.yaml": COMPOSE, ".env": "ACKS=all\n"}
    producers = {each.name: each for each in read(tmp_path, files).producers}
    assert values(producers["app"])["acks"] == "all"
    producers = {each.name: each for each in read(tmp_path, files, env={"ACKS": "0"}).producers}
    assert values(producers["app"])["acks"] == "0"


def test_a_list_of_variables_and_one_that_is_passed_on(tmp_path) -> None:
    content = (
        "services:\n  a:\n    image: x\n    environment:\n    - KAFKA_PRODUCER_RETRIES=3\n    - KAFKA_PRODUCER_ACKS\n"
    )
    inputs = read(tmp_path, {"compose.yml": content})
    acks = only(inputs).settings["acks"]
    assert (acks.known, values(only(inputs))["retries"]) == (False, "3")
    assert told(inputs, "placeholder")[0].startswith("compose.yml:6 the value of KAFKA_PRODUCER_ACKS depends")
    assert values(only(read(tmp_path, {}, env={"KAFKA_PRODUCER_ACKS": "all"})))["acks"] == "all"


@pytest.mark.parametrize(
    ("variable", "key"),
    [
        ("KAFKA_PRODUCER_ACKS", "acks"),
        ("KAFKA_ACKS", "acks"),
        ("APP_KAFKA_PRODUCER_ENABLE_IDEMPOTENCE", "enable.idempotence"),
        ("KAFKA_PRODUCER_CONFIG_LINGER_MS", "linger.ms"),
        ("MY_PRODUCER_MAX_BLOCK_MS", "max.block.ms"),
    ],
)
def test_an_applications_own_variables(tmp_path, variable, key) -> None:
    producer = only(read(tmp_path, {"compose.yml": f"services: {{a: {{image: x, environment: {{{variable}: '1'}}}}}}"}))
    assert values(producer) == {key: "1"}
    assert producer.spelled(key) == variable
    assert producer.client == ("java" if key == "max.block.ms" else "unknown")


@pytest.mark.parametrize(
    "variable", ["KAFKA_BROKERS", "KAFKA_CONSUMER_RETRIES", "DB_RETRIES", "KAFKA_TOPIC", "ACKS_MODE"]
)
def test_what_is_no_producers_variable(tmp_path, variable) -> None:
    assert (
        read(tmp_path, {"compose.yml": f"services: {{a: {{image: x, environment: {{{variable}: 1}}}}}}"}).producers
        == ()
    )


def test_quarkus_variables(tmp_path) -> None:
    content = "services: {a: {image: x, environment: {MP_MESSAGING_OUTGOING_PRICE_FEED_MAX_BLOCK_MS: 5}}}"
    producer = only(read(tmp_path, {"compose.yml": content}))
    assert (producer.name, values(producer)) == ("price-feed", {"max.block.ms": "5"})


def test_spring_application_json(tmp_path) -> None:
    content = (
        """services: {a: {image: x, environment: {SPRING_APPLICATION_JSON: '{"spring.kafka.producer.acks": "0"}'}}}"""
    )
    assert values(only(read(tmp_path, {"compose.yml": content}))) == {"acks": "0"}


@pytest.mark.parametrize(
    ("image", "variables", "mode", "release"),
    [
        ("confluentinc/cp-kafka:7.5.0", {"KAFKA_ZOOKEEPER_CONNECT": "z:2181"}, "zookeeper", "3.5"),
        ("apache/kafka:3.9.1", {"KAFKA_PROCESS_ROLES": "broker,controller", "KAFKA_NODE_ID": "1"}, "kraft", "3.9.1"),
        ("bitnami/kafka:3.6", {"KAFKA_CFG_PROCESS_ROLES": "broker", "KAFKA_ENABLE_KRAFT": "yes"}, "kraft", "3.6"),
        ("wurstmeister/kafka:2.13-2.8.1", {"KAFKA_BROKER_ID": "1"}, None, "2.8.1"),
    ],
)
def test_broker_images(tmp_path, image, variables, mode, release) -> None:
    prefix = "KAFKA_CFG_" if "bitnami" in image else "KAFKA_"
    variables |= {
        f"{prefix}MIN_INSYNC_REPLICAS": "2",
        f"{prefix}DEFAULT_REPLICATION_FACTOR": "3",
        "KAFKA_HEAP_OPTS": "-Xmx1g",
    }
    lines = "\n".join(f"      {name}: '{value}'" for name, value in variables.items())
    inputs = read(tmp_path, {"compose.yml": f"services:\n  b:\n    image: {image}\n    environment:\n{lines}\n"})
    (broker,) = inputs.brokers
    assert inputs.producers == ()
    assert (broker.name, broker.mode, broker.release) == ("b", mode, release)
    assert broker.settings["min.insync.replicas"].value == "2"
    assert broker.settings["default.replication.factor"].written == f"{prefix}DEFAULT_REPLICATION_FACTOR"
    assert "heap.opts" not in broker.settings


def test_releases_of_images_that_tell_none() -> None:
    assert [release_of(each) for each in ("kafka", "kafka:latest", "host:5000/kafka", "x/cp-kafka@sha256:12")] == [
        None
    ] * 4


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  template:
    spec:
      containers:
        - name: app
          image: x
          envFrom:
            - configMapRef: {name: shop-env}
            - secretRef: {name: shop-secrets}
          env:
            - name: RETRIES
              value: "3"
            - name: KAFKA_PRODUCER_RETRIES
              value: $(RETRIES)
            - name: KAFKA_PRODUCER_LINGER_MS
              valueFrom: {configMapKeyRef: {name: shop-env, key: linger}}
            - name: KAFKA_PRODUCER_MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION
              valueFrom: {secretKeyRef: {name: s, key: k}}
"""
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: shop-env}
data:
  KAFKA_PRODUCER_ACKS: "0"
  linger: "7"
  application.yml: |
    # two lines before it
    spring.kafka.producer:
      acks: 1
"""


def test_a_deployment_and_the_config_map_of_another_file(tmp_path) -> None:
    inputs = read(tmp_path, {"a-deploy.yaml": DEPLOYMENT, "b-map.yaml": CONFIG_MAP})
    nested, producer = sorted(inputs.producers, key=lambda each: each.framework != "spring")
    assert producer.name == "shop"
    assert values(producer) | {"max.in.flight.requests.per.connection": "?"} == {
        "acks": "0",
        "retries": "3",
        "linger.ms": "7",
        "max.in.flight.requests.per.connection": "?",
    }
    assert not producer.settings["max.in.flight.requests.per.connection"].known
    assert lines(producer)["acks"] == "b-map.yaml:5"
    assert lines(producer)["retries"] == "a-deploy.yaml:17"
    assert (nested.framework, values(nested), lines(nested)) == ("spring", {"acks": "1"}, {"acks": "b-map.yaml:10"})


def test_the_lists_and_shapes_of_workloads(tmp_path) -> None:
    pod = "spec: {containers: [{name: c, image: x, env: [{name: KAFKA_ACKS, value: '1'}]}]}"
    shapes = {
        "Pod": pod,
        "StatefulSet": f"spec: {{template: {{{pod}}}}}",
        "CronJob": f"spec: {{jobTemplate: {{spec: {{template: {{{pod}}}}}}}}}",
    }
    items = "".join(
        f"- {{apiVersion: v1, kind: {kind}, metadata: {{name: {kind}}}, {body}}}\n" for kind, body in shapes.items()
    )
    inputs = read(tmp_path, {"all.yaml": f"apiVersion: v1\nkind: List\nitems:\n{items}"})
    assert [each.name for each in inputs.producers] == list(shapes)


STRIMZI = """\
apiVersion: kafka.strimzi.io/v1beta2
kind: Kafka
metadata: {name: shop}
spec:
  kafka:
    version: 3.9.0
    replicas: 3
    config:
      min.insync.replicas: 2
  zookeeper: {replicas: 3}
---
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaTopic
metadata: {name: a, labels: {strimzi.io/cluster: shop}}
spec: {topicName: A.topic, partitions: 3, replicas: 2, config: {min.insync.replicas: 3, min.insync.replica: 1}}
"""


def test_strimzis_cluster_and_topic(tmp_path) -> None:
    inputs = read(tmp_path, {"k.yaml": STRIMZI})
    (broker,), (topic,) = inputs.brokers, inputs.topics
    assert (broker.name, broker.release, broker.mode, broker.replicas) == ("shop", "3.9.0", "zookeeper", 3)
    assert str(broker.settings["min.insync.replicas"].origin).endswith("k.yaml:9")
    assert (topic.name, topic.partitions, topic.replication_factor, topic.cluster) == ("A.topic", 3, 2, "shop")
    assert told(inputs) == [
        "k.yaml:15 a topic has no key 'min.insync.replica': did you mean min.insync.replicas?",
        "k.yaml:15 min.insync.replicas 3 is more than the 2 replicas of A.topic: "
        "every write with acks=all is refused: use fewer, or more replicas",
    ]


def test_a_pool_without_its_cluster_is_told(tmp_path) -> None:
    pool = (
        "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaNodePool\n"
        "metadata: {name: p, labels: {strimzi.io/cluster: c}}\nspec: {replicas: 3, roles: [broker]}\n"
    )
    assert "whose Kafka resource is not among the files" in told(read(tmp_path, {"p.yaml": pool}))[0]


def test_a_helm_template_is_told_as_one(tmp_path) -> None:
    head = "apiVersion: v1\nkind: ConfigMap\n"
    content = head + "{{- if .Values.kafka }}\ndata:\n  KAFKA_ACKS: {{ .Values.acks }}\n{{- end }}\n"
    inputs = read(tmp_path, {"templates/cm.yaml": content})
    assert told(inputs) == [
        "cm.yaml:3 a template, which is no configuration until it is rendered: "
        "render it first: helm template … | kafka-chaos audit -"
    ]
    assert [each.kind for each in inputs.problems] == ["template"]


@pytest.mark.parametrize(
    ("image", "release"),
    [("confluentinc/cp-kafka-connect:6.2.1", "2.8"), ("cnfldemos/kafka-connect-datagen:0.6.4-7.6.0", None)],
)
def test_the_release_of_a_worker_is_told_by_images_whose_tags_are_known(tmp_path, image, release) -> None:
    environment = "{CONNECT_OFFSET_STORAGE_TOPIC: o, CONNECT_PRODUCER_ACKS: 1}"
    content = f"services: {{c: {{image: '{image}', environment: {environment}}}}}"
    files = {"compose.yml": content, "build.gradle": "compile 'org.apache.kafka:kafka-clients:1.1.1'"}
    assert only(read(tmp_path, files)).release == release


def test_a_brokers_image_that_runs_something_else(tmp_path) -> None:
    environment = "{KAFKA_BROKER_ID: ignored, KAFKA_ZOOKEEPER_CONNECT: ignored}"
    content = f"services: {{c: {{image: 'confluentinc/cp-kafka:7.5.0', environment: {environment}}}}}"
    assert read(tmp_path, {"compose.yml": content}).brokers == ()


def test_a_server_properties_does_not_tell_how_many_brokers_there_are(tmp_path):
    inputs = read(tmp_path, {"server.properties": "broker.id=1\nzookeeper.connect=z:2181\nlog.dirs=/d\n"})
    assert [one.replicas for one in inputs.brokers] == [None]
    compose = "services: {kafka: {image: 'apache/kafka:4.1.0', environment: {KAFKA_NODE_ID: 1}}}\n"
    assert [one.replicas for one in read(tmp_path / "c", {"compose.yml": compose}).brokers] == [1]


def test_a_template_of_openshifts_has_resources(tmp_path) -> None:
    content = """apiVersion: template.openshift.io/v1
kind: Template
objects:
  - apiVersion: apps.openshift.io/v1
    kind: DeploymentConfig
    metadata: {name: app}
    spec: {template: {spec: {containers: [{name: app, env: [{name: KAFKA_PRODUCER_ACKS, value: "1"}]}]}}}
  - {apiVersion: v1, kind: Template, objects: []}
"""
    assert values(only(read(tmp_path, {"t.yaml": content})))["acks"] == "1"


BROKER = """  {0}:
    image: apache/kafka:3.7.0
    environment:
      KAFKA_PROCESS_ROLES: broker,controller
      KAFKA_CONTROLLER_QUORUM_VOTERS: 1@{1}:9093
      KAFKA_DEFAULT_REPLICATION_FACTOR: 1
"""


@pytest.mark.parametrize(
    ("controllers", "clusters"), [(("a", "b"), 2), (("localhost", "localhost"), 2), (("a", "a"), 1)]
)
def test_brokers_of_one_file_are_of_the_cluster_of_their_controllers(tmp_path, controllers, clusters) -> None:
    content = "services:\n" + "".join(map(BROKER.format, ("a", "b"), controllers))
    assert len({each.cluster for each in read(tmp_path, {"compose.yaml": content}).brokers}) == clusters


def test_a_broker_that_tells_no_controllers_is_of_the_files_cluster(tmp_path) -> None:
    content = "services:\n" + BROKER.format("a", "a") + "  b:\n    image: apache/kafka:3.7.0\n"
    assert len({each.cluster for each in read(tmp_path, {"compose.yaml": content}).brokers}) == 1


@pytest.mark.parametrize(
    ("image", "variable", "count"),
    [
        ("confluentinc/cp-ksqldb-server:7.6.0", "KSQL_BOOTSTRAP_SERVERS", 1),
        ("confluentinc/cp-ksqldb-cli:7.6.0", "KSQL_BOOTSTRAP_SERVERS", 0),
        ("confluentinc/cp-kafka-rest:7.6.0", "KAFKA_REST_BOOTSTRAP_SERVERS", 1),
        ("confluentinc/cp-schema-registry:7.6.0", "SCHEMA_REGISTRY_KAFKASTORE_BOOTSTRAP_SERVERS", 0),
    ],
)
def test_an_image_that_sends_by_itself_is_a_producer_of_its_release(tmp_path, image, variable, count) -> None:
    content = f"services:\n  s:\n    image: {image}\n    environment: {{{variable}: 'k:9092'}}\n"
    producers = read(tmp_path, {"compose.yaml": content}).producers
    assert [(each.client, each.release, values(each)) for each in producers] == [
        ("java", "3.6", {"bootstrap.servers": "k:9092"})
    ] * count


def test_a_broker_is_where_its_service_is_and_not_where_its_variables_are(tmp_path) -> None:
    service = "services:\n  k:\n    image: apache/kafka:3.7.0\n    env_file: kafka/k.env\n"
    files = {"compose.yaml": service, "kafka/k.env": "KAFKA_NODE_ID=1\nKAFKA_PROCESS_ROLES=broker,controller\n"}
    (broker,) = read(tmp_path, files).brokers
    assert broker.origin.path.endswith("compose.yaml")
    inside = "services:\n  k:\n    image: apache/kafka:3.7.0\n    environment:\n      KAFKA_NODE_ID: 1\n"
    (broker,) = read(tmp_path / "b", {"compose.yaml": inside}).brokers
    assert broker.origin.line == 5
