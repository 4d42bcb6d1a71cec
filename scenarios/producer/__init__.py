"""Producers' acknowledgements and errors, compared with the log."""

from harness.words import Run

DUPLICATE = frozenset({"duplicate"})
APPENDED = "unanswered-record-on-disk"
ANSWER_LIMIT_S = 60.0
PATIENT = {"client.id": "first", "retries": "10", "request.timeout.ms": "5000", "delivery.timeout.ms": "30000"}
"""Of who sends first: a broker refuses what it has not been told of yet. Who is tried may have one attempt."""


def lose_acknowledgement(run: Run) -> None:
    """The acknowledgement of a written record gets lost, together with its connection."""
    t, acks = run.partition(), run.case.acks
    run.send(t, acks=acks, settings=PATIENT)
    run.send(t, 2, acks=acks)
    leader, producer = run.leader_of(t), run.producer(acks=acks)

    run.hold_answers(leader)
    sent = producer.send_async(t.topic, t.number)
    run.wait_log_end(t, 4, run.replicas_of(t))
    run.copy_replicas("appended")
    run.require("the client has heard nothing of the record", not sent.done)

    run.reset_clients(leader)
    run.heal_network()
    sent.wait(ANSWER_LIMIT_S)
    run.send(t, acks=acks)
