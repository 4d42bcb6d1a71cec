"""Spring Boot, Spring Cloud Stream and SmallRye: what reaches the client, in which order, with which profiles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.readers.profiles import holds
from tests.unit.audit.reading import lines, only, read, told, values

BASE = """\
spring:
  application: {name: orders}
  kafka:
    bootstrap-servers: k:9092
    properties:
      acks: "0"
      linger.ms: 1
    producer:
      acks: 1
      batch-size: 16KB
      properties:
        linger.ms: 5
        enable.idempotence: no
"""


def test_what_spring_boot_hands_on_and_what_overrides(tmp_path) -> None:
    producer = only(read(tmp_path, {"application.yml": BASE}))
    assert (producer.name, producer.client, producer.framework) == ("orders", "java", "spring")
    assert values(producer) == {
        "bootstrap.servers": "k:9092",
        "acks": "1",
        "linger.ms": "5",
        "batch.size": "16384",
        "enable.idempotence": "false",
    }
    assert lines(producer)["acks"] == "application.yml:9"
    assert lines(producer)["linger.ms"] == "application.yml:12"
    assert producer.spelled("acks") == "spring.kafka.producer.acks"
    assert producer.spelled("retries") == "spring.kafka.producer.properties.retries"


@pytest.mark.parametrize("key", ["bootstrap-servers", "bootstrapServers", "bootstrap_servers", "BOOTSTRAP-SERVERS"])
def test_relaxed_binding(tmp_path, key) -> None:
    files = {"application.properties": f"spring.kafka.producer.{key}=x:1\nspring.kafka.producer.acks=all\n"}
    assert values(only(read(tmp_path, files)))["bootstrap.servers"] == "x:1"


def test_properties_override_yaml_and_a_profiles_file_everything(tmp_path) -> None:
    files = {
        "src/application.yml": "spring.kafka.producer: {acks: 0, retries: 1, client-id: a}",
        "src/application.properties": "spring.kafka.producer.acks=1\nspring.kafka.producer.retries=2\n",
        "src/application-prod.yml": "spring.kafka.producer.acks: all",
    }
    (base, prod) = read(tmp_path, files).producers
    assert (base.name, values(base)) == ("src", {"client.id": "a", "acks": "1", "retries": "2"})
    assert (prod.name, values(prod)["acks"]) == ("src (profile prod)", "all")
    assert lines(prod)["acks"] == "application-prod.yml:1"
    assert str(prod.origin).endswith("application-prod.yml:1")


def test_documents_are_tied_to_profiles(tmp_path) -> None:
    content = (
        "spring.kafka.producer.acks: 1\n---\n"
        "spring: {config: {activate: {on-profile: 'prod & !eu'}}, kafka: {producer: {acks: all}}}\n---\n"
        "spring: {profiles: eu, kafka: {producer: {acks: 0}}}\n"
    )

    def acks(*profiles: str) -> str:
        return values(only(read(tmp_path, {"application.yaml": content}, profiles=profiles)))["acks"]

    assert [acks("prod"), acks("eu"), acks("prod", "eu"), acks("dev")] == ["all", "0", "0", "1"]
    found = read(tmp_path, {"application.yaml": content})
    assert [values(each)["acks"] for each in found.producers] == ["1", "all", "0"]


def test_the_documents_of_a_properties_file(tmp_path) -> None:
    content = (
        "spring.kafka.producer.acks=1\n#---\nspring.config.activate.on-profile=prod\nspring.kafka.producer.acks=all\n"
    )
    assert values(only(read(tmp_path, {"application.properties": content}, profiles=("prod",))))["acks"] == "all"
    assert [values(each)["acks"] for each in read(tmp_path, {}).producers] == ["1", "all"]


def test_profiles_that_the_configuration_makes_active_and_groups(tmp_path) -> None:
    files = {
        "application.yml": "spring: {profiles: {active: live, group: {live: [secure, fast]}}, kafka.producer.acks: 1}",
        "application-fast.yml": "spring.kafka.producer.acks: 0",
        "application-secure.yml": "spring.kafka.producer.retries: 7",
    }
    live = read(tmp_path, files).producers[0]
    assert values(live) == {"acks": "0", "retries": "7"}
    assert live.name.endswith("(profile live)")


@pytest.mark.parametrize(
    ("written", "env", "value", "known"),
    [
        ("${ACKS:1}", {}, "1", True),
        ("${ACKS:-1}", {}, "-1", True),
        ("${ACKS:1}", {"ACKS": "all"}, "all", True),
        ("${app.acks}", {"APP_ACKS": "0"}, "0", True),
        ("${app.acks}", {}, "all", True),
        ("${MORE:${ACKS:all}}", {}, "all", True),
        ("${ACKS}", {}, "${ACKS}", False),
        ("'@acks@'", {}, "@acks@", False),
        ("'#{systemProperties.acks}'", {}, "#{systemProperties.acks}", False),
        ("'{{ .Values.acks }}'", {}, "{{ .Values.acks }}", False),
    ],
)
def test_placeholders(tmp_path, written, env, value, known) -> None:
    content = f"app.acks: all\nspring.kafka.producer.acks: {written}\n"
    inputs = read(tmp_path, {"application.yml": content}, env=env)
    acks = only(inputs).settings["acks"]
    assert (acks.value, acks.known) == (value, known)
    assert bool(told(inputs, "placeholder") + told(inputs, "template")) is not known


def test_a_property_that_spring_ignores_is_told_with_the_one_that_works(tmp_path) -> None:
    inputs = read(tmp_path, {"application.yml": "spring.kafka.producer: {acks: all, enable-idempotence: true}"})
    assert "enable.idempotence" not in only(inputs).settings
    assert told(inputs) == [
        "application.yml:1 Spring Boot has no property 'spring.kafka.producer.enable-idempotence' and ignores it: "
        "write spring.kafka.producer.properties.enable.idempotence"
    ]


@pytest.mark.parametrize(
    ("written", "works"),
    [
        ("ack", "acks"),
        ("transactionId-prefx", "transaction-id-prefix"),
        ("batch-sise", "batch-size"),
        ("lingerMs", "properties.linger.ms"),
        ("max.in.flight.request.per.connection", "properties.max.in.flight.requests.per.connection"),
        ("colour", "properties.<key>"),
    ],
)
def test_the_nearest_property_is_springs_own_before_kafkas(tmp_path, written: str, works: str) -> None:
    inputs = read(tmp_path, {"application.yml": f"spring.kafka.producer: {{retries: 1, {written}: x}}"})
    assert [line.endswith(f"write spring.kafka.producer.{works}") for line in told(inputs)] == [True], told(inputs)


def test_a_prefix_for_transactions_makes_them(tmp_path) -> None:
    producer = only(read(tmp_path, {"application.yml": "spring.kafka.producer.transaction-id-prefix: tx-"}))
    assert values(producer) == {"transactional.id": "tx-"}


@pytest.mark.parametrize(
    "content",
    [
        "spring.kafka: {bootstrap-servers: k, consumer: {group-id: g}}",
        "spring.datasource.url: jdbc:kafka",
        "logging.level.org.apache.kafka: WARN",
    ],
)
def test_an_application_without_a_producer_has_none(tmp_path, content) -> None:
    inputs = read(tmp_path, {"application.yml": content})
    assert inputs.producers == ()
    assert inputs.problems == ()


def test_only_addresses_are_a_producer_with_all_defaults(tmp_path) -> None:
    assert values(only(read(tmp_path, {"application.yml": "spring.kafka.bootstrap-servers: k"}))) == {
        "bootstrap.servers": "k"
    }


STREAM = """\
spring:
  kafka.producer.retries: 3
  cloud.stream:
    bindings:
      orders-out-0: {destination: orders}
      audit-out-0: {destination: audit}
      orders-in-0: {destination: incoming}
    kafka:
      binder:
        brokers: k:9092
        requiredAcks: all
        configuration: {linger.ms: 1}
        producer-properties: {linger.ms: 2}
      bindings:
        audit-out-0.producer.configuration: {acks: 0}
"""


def test_spring_cloud_streams_outputs(tmp_path) -> None:
    orders, audit = read(tmp_path, {"application.yml": STREAM}).producers
    assert (orders.name, orders.topics, orders.framework) == ("orders-out-0", ("orders",), "spring-cloud-stream")
    assert values(orders) == {"acks": "all", "bootstrap.servers": "k:9092", "retries": "3", "linger.ms": "2"}
    assert (audit.topics, values(audit)["acks"], lines(audit)["acks"]) == (("audit",), "0", "application.yml:15")


def test_spring_cloud_streams_own_acks_where_nothing_is_written(tmp_path) -> None:
    content = STREAM.replace("        requiredAcks: all\n", "")
    orders = read(tmp_path, {"application.yml": content}).producers[0]
    assert "acks" not in orders.settings
    assert (orders.presets["acks"].value, "requiredAcks" in orders.presets["acks"].note) == ("1", True)


QUARKUS = """\
kafka.bootstrap.servers=k:9092
kafka.linger.ms=1
mp.messaging.connector.smallrye-kafka.retries=9
mp.messaging.outgoing.prices.connector=smallrye-kafka
mp.messaging.outgoing.prices.topic=price-feed
mp.messaging.outgoing.prices.enable.idempotence=true
mp.messaging.outgoing.prices.waitForWriteCompletion=true
%prod.mp.messaging.outgoing.prices.acks=all
%dev.mp.messaging.outgoing.prices.acks=0
mp.messaging.outgoing."a.b".connector=smallrye-kafka
mp.messaging.outgoing.mail.connector=smallrye-mail
mp.messaging.incoming.x.connector=smallrye-kafka
"""


def test_smallryes_channels(tmp_path) -> None:
    prices, other = read(tmp_path, {"application.properties": QUARKUS}).producers
    assert (prices.name, prices.topics, prices.client) == ("prices", ("price-feed",), "java")
    assert values(prices) == {
        "bootstrap.servers": "k:9092",
        "linger.ms": "1",
        "retries": "9",
        "enable.idempotence": "true",
        "acks": "all",
    }
    assert lines(prices)["acks"] == "application.properties:8"
    assert prices.spelled("retries") == "mp.messaging.connector.smallrye-kafka.retries"
    assert (other.name, other.presets["acks"].value) == ("a.b", "1")


def test_smallryes_profiles(tmp_path) -> None:
    prices = read(tmp_path, {"application.properties": QUARKUS}, profiles=("dev",)).producers[0]
    assert values(prices)["acks"] == "0"


def test_smallrye_in_yaml(tmp_path) -> None:
    content = '"%prod":\n  mp.messaging.outgoing.p: {connector: smallrye-kafka, acks: all}\n'
    assert values(only(read(tmp_path, {"src/main/resources/application.yaml": content})))["acks"] == "all"


def test_a_configuration_server_is_told(tmp_path) -> None:
    content = "spring: {config.import: 'optional:configserver:http://c', kafka.producer.acks: all}"
    assert "configuration server" in told(read(tmp_path, {"application.yml": content}))[0]


@given(st.text(st.sampled_from("ab!&|() ,"), max_size=20), st.sets(st.sampled_from("ab")))
def test_an_expression_is_never_too_damaged(expression, active) -> None:
    assert holds(expression, active) in (True, False)


@given(st.sets(st.sampled_from("abc"), min_size=1))
def test_expressions_are_what_python_says_they_are(active) -> None:
    def python(expression: str) -> bool:
        spelled = expression.replace("!", " not ").replace("&", " and ").replace("|", " or ")
        return bool(eval(spelled, {}, {name: name in active for name in "abc"}))

    for expression in ("a&b|c", "!(a|b)&c", "!!a", "(a|!b)&(b|!c)", "a|b&!c"):
        assert holds(expression, active) == python(expression)


def test_brackets_of_a_map_in_properties(tmp_path) -> None:
    content = "spring.kafka.producer.properties[max.block.ms]=5\nspring.kafka.producer.properties.[linger.ms]=6\n"
    inputs = read(tmp_path, {"application.properties": content})
    assert values(only(inputs)) == {"max.block.ms": "5", "linger.ms": "6"}
    assert told(inputs) == []


def test_springs_client_is_java_whatever_keys_it_has(tmp_path) -> None:
    content = "spring.kafka: {producer.acks: 1, properties: {message.timeout.ms: 5}}"
    assert only(read(tmp_path, {"application.yml": content})).client == "java"


def test_channels_of_other_brokers(tmp_path) -> None:
    content = "pulsar.client.serviceUrl=p\nmp.messaging.outgoing.kafka-like.topic=persistent://public/default/x\n"
    assert read(tmp_path, {"application.properties": content}).producers == ()


def test_an_embedded_broker_of_tests_is_no_producer(tmp_path) -> None:
    files = {"junit-platform.properties": "spring.kafka.embedded.count=2\nspring.kafka.embedded.topics=t\n"}
    assert read(tmp_path, files).producers == ()


def test_variables_told_outside_override_and_activate(tmp_path) -> None:
    files = {"application.yml": BASE, "application-prod.yml": "spring.kafka.producer.retries: 7"}
    env = {"SPRING_KAFKA_PRODUCER_ACKS": "all", "SPRING_PROFILES_ACTIVE": "prod"}
    producer = only(read(tmp_path, files, env=env))
    assert (values(producer)["acks"], values(producer)["retries"]) == ("all", "7")
    assert str(producer.settings["acks"].origin) == "--env SPRING_KAFKA_PRODUCER_ACKS"


def test_spring_boots_acks_override_the_binders(tmp_path) -> None:
    content = STREAM.replace("retries: 3", "acks: 1")
    orders = read(tmp_path, {"application.yml": content}).producers[0]
    assert (values(orders)["acks"], orders.settings["acks"].written) == ("1", "spring.kafka.producer.acks")


@pytest.mark.parametrize(("mark", "names"), [("quarkus.http.port=1\n", [""]), ("", ["", " (profile prod)"])])
def test_what_is_quarkus_is_in_its_profile_prod_by_itself(tmp_path, mark, names) -> None:
    content = mark + "kafka.bootstrap.servers=localhost:9092\nkafka.acks=1\n%prod.kafka.acks=all\n"
    producers = read(tmp_path, {"app/application.properties": content}).producers
    assert [each.name.removeprefix("app") for each in producers] == names
    assert values(producers[-1])["acks"] == "all"
