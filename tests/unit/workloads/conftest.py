"""A broker inside this process: librdkafka's own mock, which also serves the processes that tests start.

The mock lets the first members of a group wait three seconds for others, as a broker does. Here nobody is waited for:
that is set by a function of rdkafka_mock.h for which confluent_kafka has no word, so the mock is made by librdkafka's
own functions, out of the library that confluent_kafka is linked with.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer, cimpl

from evidence import forks
from harness.workloads.handles.client import COMMON

RD_KAFKA_PRODUCER = 0


@pytest.fixture(scope="package", autouse=True)
def forked() -> Iterator[None]:
    """The processes of clients are forked, as those of runs are."""
    with forks.serving(COMMON):
        yield


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """Addresses of the mock cluster's two brokers; it lives to the end of the session."""
    library = ctypes.CDLL(cimpl.__file__)
    library.rd_kafka_conf_new.restype = ctypes.c_void_p
    library.rd_kafka_new.restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_new.restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p

    conf = ctypes.c_void_p(library.rd_kafka_conf_new())
    library.rd_kafka_conf_set(conf, b"bootstrap.servers", b"mock", None, ctypes.c_size_t(0))
    library.rd_kafka_conf_set(conf, b"log_level", b"0", None, ctypes.c_size_t(0))
    handle = ctypes.c_void_p(library.rd_kafka_new(RD_KAFKA_PRODUCER, conf, None, ctypes.c_size_t(0)))
    cluster = ctypes.c_void_p(library.rd_kafka_mock_cluster_new(handle, 2))
    library.rd_kafka_mock_group_initial_rebalance_delay_ms(cluster, 0)
    yield library.rd_kafka_mock_cluster_bootstraps(cluster).decode()
    library.rd_kafka_mock_cluster_destroy(cluster)
    library.rd_kafka_destroy(handle)


@pytest.fixture(scope="session")
def mock_cluster(bootstrap: str) -> Iterator[Producer]:
    """A client of the mock cluster."""
    client = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    yield client
    client.flush(5)


@pytest.fixture
def topic(mock_cluster: Producer, request: pytest.FixtureRequest) -> str:
    """A topic of the test's own, four partitions (the mock's default)."""
    name = f"{request.node.name}".replace("[", "-").replace("]", "")
    mock_cluster.list_topics(name, timeout=10)
    return name
