"""An acknowledgement gets lost, and the client sends the record again (Kafka documentation, retries; KIP-98).

The leader writes the record, and so do its followers; its answer does not get out, and the connection is reset. The
client cannot know whether the record is in the log. If it retries, the record is there twice; with idempotence (0.11
and later) the leader knows the batch by its sequence number, and acknowledges it at the place where it is. If it does
not retry, it reports an error for a record that is there.
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
    claim="""A record whose acknowledgement gets lost is written twice by a client that retries without idempotence,
        once by one with it; a client that does not retry reports an error for a record that is in the log.""",
    source="Kafka documentation, producer configuration: retries, enable.idempotence; KIP-98, KIP-679",
    operator="""An error of a producer does not say that the record is not there. Leave idempotence on (the default of
        Java clients from 3.0 on, to be set with librdkafka), or let the reader tell duplicates.""",
    cases={
        **of_client("", "librdkafka"),
        **of_client("java-", "java"),
        "java-defaults": Case(
            client="java",
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
