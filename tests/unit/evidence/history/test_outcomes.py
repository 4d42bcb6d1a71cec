import pytest
from confluent_kafka import KafkaError

from evidence.history.outcomes import DEFINITE, outcome_of


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, "ok"),
        ("NOT_ENOUGH_REPLICAS", "fail"),
        ("MSG_SIZE_TOO_LARGE", "fail"),
        ("TOPIC_AUTHORIZATION_FAILED", "fail"),
        ("_QUEUE_FULL", "fail"),
        ("_MSG_TIMED_OUT", "info"),
        ("REQUEST_TIMED_OUT", "info"),
        ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "info"),
        ("NOT_LEADER_FOR_PARTITION", "info"),
        ("_PURGE_INFLIGHT", "info"),
        ("_PURGE_QUEUE", "info"),
        ("_TRANSPORT", "info"),
        ("SOMETHING_NEW", "info"),
    ],
)
def test_outcomes(error, outcome):
    assert outcome_of(error) == outcome


def test_every_definite_error_is_one_that_the_client_knows():
    known = {KafkaError(code).name() for code in range(-200, 200)}
    assert known >= DEFINITE
