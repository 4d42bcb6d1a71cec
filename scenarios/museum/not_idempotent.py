"""A producer that is idempotent by default writes a record twice (KAFKA-13598).

From 3.0 on enable.idempotence is true by default (KIP-679), and the documentation says so. In the Java clients 3.0.0
and 3.1.0 it had no effect unless it was set explicitly: the producer sent records without sequence numbers. When an
acknowledgement gets lost, such a producer sends the record again. The broker cannot recognise it, and writes it a
second time.

The sequence is that of `lost-acknowledgement`: the leader writes a record, its answer does not get out, and the
connection is reset. Brokers and client are of one release here; only the client counts.
"""

from harness.words import Basis, Border, Bug, Case, Documented, Exhibit, Run, Side, ranges, scenario
from scenarios.producer import APPENDED, DUPLICATE, lose_acknowledgement

KAFKA_13598 = Bug(
    id="KAFKA-13598",
    title="a producer with default settings, documented as idempotent, writes records twice",
    touches="producers with default settings",
    whom="Java producers of 3.0.0 and 3.1.0 that do not set enable.idempotence",
    since=Border(
        "3.0.0",
        "KIP-679, KAFKA-10619",
        Side("2.8.2", "ProducerConfig documents enable.idempotence as false by default"),
        Side("3.0.0", "the default is true, and ProducerConfig.idempotenceEnabled asks whether the user has set it"),
    ),
    fixed=("3.0.1", "3.1.1", "3.2.0"),
    commits=("5227478fb18", "8093331d81c"),
    whose="Java clients",
)


@scenario(
    name="museum-not-idempotent",
    claim="""A Java producer with default settings writes a record twice when its acknowledgement gets lost, though
        idempotence is documented as its default.""",
    source="KAFKA-13598, KIP-679",
    operator="""Set enable.idempotence=true. With any client, set the options that you rely on: defaults differ between
        libraries and releases.""",
    exhibit=Exhibit(bug=KAFKA_13598, affected=("3.1.0",), fixed=("3.1.1",)),
    applies=ranges.JAVA_IDEMPOTENT & ranges.JAVA_DEFAULTS_HAVE_ROOM,
    cases={
        "default": Case(
            client="java",
            documented=[
                Documented(
                    on=KAFKA_13598.affected,
                    required=DUPLICATE,
                    claims=[APPENDED],
                    source=KAFKA_13598.id,
                    basis=Basis.JIRA,
                ),
                Documented(
                    on=KAFKA_13598.unaffected,
                    claims=[APPENDED],
                    sentence="The leader recognises the record by its number, and acknowledges it at its place.",
                    source=KAFKA_13598.id,
                    basis=Basis.JIRA,
                ),
            ],
        )
    },
)
def not_idempotent(run: Run) -> None:
    lose_acknowledgement(run)
