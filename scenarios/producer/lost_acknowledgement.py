"""An acknowledgement gets lost, and the client sends the record again (Kafka documentation, retries; KIP-98).

The leader writes the record, and so do its followers. Its answer does not reach the client, and the connection is
reset. The client cannot know whether the record is in the log. If it retries, the record is written twice. With
idempotence (0.11 and later) the leader recognises the batch by its sequence number and acknowledges it at its place. If
the client does not retry, it reports an error for a record that is in the log.
"""

from harness.words import Basis, Case, Documented, Run, ranges, scenario
from scenarios.producer import APPENDED, DUPLICATE, lose_acknowledgement

RETRIES = "Kafka documentation, producer configuration: retries"
TWICE = [
    Documented(
        required=DUPLICATE,
        claims=[APPENDED],
        source=RETRIES,
        basis=Basis.DOCUMENTATION,
    )
]
ONCE = [
    Documented(
        on=ranges.IDEMPOTENCE,
        sentence="The record is acknowledged, and in the log once.",
        claims=[APPENDED],
        source="KIP-98",
        basis=Basis.KIP,
    )
]
UNKNOWN = [
    Documented(
        sentence="The client reports an error, and the record is in the log, once.",
        claims=[APPENDED, "unknown-record-in-log"],
        source=RETRIES,
        basis=Basis.DOCUMENTATION,
    )
]
RETRY = {"retries": "10", "enable.idempotence": "false"}
IDEMPOTENT = {"retries": "10", "enable.idempotence": "true"}


def of_client(prefix: str, client: str) -> dict[str, Case]:
    """The cases of a client library."""
    return {
        f"{prefix}retries": Case(client=client, client_settings=RETRY, documented=TWICE),
        f"{prefix}retries-acks-1": Case(client=client, client_settings=RETRY, acks="1", documented=TWICE),
        f"{prefix}idempotent": Case(
            client=client, client_settings=IDEMPOTENT, documented=ONCE, applies=ranges.IDEMPOTENCE
        ),
        f"{prefix}no-retries": Case(client=client, client_settings={"retries": "0"}, documented=UNKNOWN),
    }


@scenario(
    name="lost-acknowledgement",
    also_called=["producer-retry-duplicates"],
    claim="""When an acknowledgement gets lost, a client that retries without idempotence writes the record twice, and
        with idempotence once. A client that does not retry reports an error for a record that is in the log.""",
    source="Kafka documentation, producer configuration: retries, enable.idempotence; KIP-98, KIP-679",
    operator="""A producer's error does not mean that the record is missing. Set enable.idempotence=true, or let the
        reader detect duplicates. It is the default of Java clients from 3.0 on, which 3.0.0 and 3.1.0 do not apply, and
        not of librdkafka.""",
    cases={
        **of_client("", "librdkafka"),
        **of_client("java-", "java"),
        "java-defaults": Case(
            client="java",
            applies=ranges.JAVA_DEFAULTS_HAVE_ROOM,
            documented=[
                Documented(
                    on=ranges.JAVA_TRIES_ONCE,
                    sentence=UNKNOWN[0].sentence,
                    claims=UNKNOWN[0].claims,
                    source="Kafka documentation of clients before 2.1, producer configuration: retries",
                    basis=Basis.DOCUMENTATION,
                ),
                Documented(
                    on=ranges.JAVA_RETRIES,
                    required=DUPLICATE,
                    claims=[APPENDED],
                    source="KIP-91",
                    basis=Basis.KIP,
                ),
                Documented(
                    sentence=ONCE[0].sentence,
                    claims=[APPENDED],
                    source="KIP-679, KIP-98",
                    basis=Basis.KIP,
                ),
            ],
        ),
    },
)
def lost_acknowledgement(run: Run) -> None:
    lose_acknowledgement(run)
