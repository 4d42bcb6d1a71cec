"""A broker inside this process: librdkafka's own mock, which also serves the processes that tests start."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer


@pytest.fixture(scope="session")
def mock_cluster() -> Iterator[Producer]:
    """The client that holds the mock cluster; it lives as long as this does."""
    client = Producer({"test.mock.num.brokers": 2, "bootstrap.servers": "mock", "log_level": 0})
    yield client
    client.flush(5)


@pytest.fixture(scope="session")
def bootstrap(mock_cluster: Producer) -> str:
    """Addresses of the mock cluster."""
    brokers = mock_cluster.list_topics(timeout=10).brokers.values()
    return ",".join(f"{broker.host}:{broker.port}" for broker in brokers)


@pytest.fixture
def topic(mock_cluster: Producer, request: pytest.FixtureRequest) -> str:
    """A topic of the test's own, four partitions (the mock's default)."""
    name = f"{request.node.name}".replace("[", "-").replace("]", "")
    mock_cluster.list_topics(name, timeout=10)
    return name
