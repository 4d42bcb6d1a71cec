"""Names of brokers' nodes: "broker-2" is the node of the broker with the id 2."""

from __future__ import annotations


def broker(number: int) -> str:
    """The node of a broker's id.

    >>> broker(2)
    'broker-2'
    """
    return f"broker-{number}"


def number_of(node: str) -> int:
    """The broker's id of such a node."""
    return int(node.rpartition("-")[2])
