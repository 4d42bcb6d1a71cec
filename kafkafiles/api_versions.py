r"""ApiVersions (request 18): what a broker, or a KRaft controller, says that it speaks (KIP-35, KIP-584).

>>> answer = b"\x00\x00" + b"\x00\x00\x00\x01" + b"\x00\x12\x00\x00\x00\x04"
>>> read_offer(Reader(answer), 0)
(0, Offer(apis={18: 4}, supported={}, features={}))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from kafkafiles.encoding import NO_TAGS, Reader, string

T = TypeVar("T")

API_VERSIONS: Final = 18
NONE: Final = 0
UNSUPPORTED_VERSION: Final = 35
FLEXIBLE_SINCE: Final = 3
"""The first version in the flexible encoding; the header of its answer stays in the old one (KIP-511)."""
SUPPORTED, FINALIZED = 0, 2
"""Tagged fields of an answer: the features that the process supports, and those of the cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a process says that it speaks. Brokers before 0.10 say nothing: of these it is what was tried."""

    apis: Mapping[int, int] = field(default_factory=dict)
    """Request → the newest version that the process takes."""
    supported: Mapping[str, int] = field(default_factory=dict)
    """Feature → the highest level that the process supports (KIP-584); none before 2.7."""
    features: Mapping[str, int] = field(default_factory=dict)
    """Feature → the level in force in the cluster, as far as the process knows."""

    @property
    def answered(self) -> bool:
        """Whether it is the process's own answer."""
        return API_VERSIONS in self.apis


def question(version: int, client: str, release: str) -> bytes:
    """The body of the request: from version 3 on the client's software has a name and a release."""
    return string(client) + string(release) + NO_TAGS if version >= FLEXIBLE_SINCE else b""


def read_offer(answer: Reader, version: int) -> tuple[int, Offer]:
    """The error code of an answer of a version, behind its header, and what it offers.

    With UNSUPPORTED_VERSION the answer has the form of version 0, whatever was asked, and since 2.4 it tells which
    requests the broker takes instead (KIP-511). Raises Malformed.
    """
    code = answer.int16()
    if code == UNSUPPORTED_VERSION:
        return code, Offer(apis=_old_apis(answer) if answer.left else {})
    if code != NONE:
        return code, Offer()
    if version < FLEXIBLE_SINCE:
        return code, Offer(apis=_old_apis(answer))
    apis = dict(answer.array(with_tags(_api)) or ())
    answer.take(4)  # for how long the request was throttled
    tags = answer.tagged()
    return code, Offer(
        apis=apis,
        supported={name: highest for name, _, highest in _features(tags.get(SUPPORTED))},
        features={name: highest for name, highest, _ in _features(tags.get(FINALIZED))},
    )


def with_tags(read: Callable[[Reader], T]) -> Callable[[Reader], T]:
    """A reader of a structure that ends with its tagged fields, which say nothing here."""

    def whole(answer: Reader) -> T:
        found = read(answer)
        answer.tagged()
        return found

    return whole


def _old_apis(answer: Reader) -> dict[int, int]:
    return dict(_api(answer) for _ in range(answer.int32()))


def _api(answer: Reader) -> tuple[int, int]:
    """A request and its newest version."""
    key, _, newest = answer.int16(), answer.int16(), answer.int16()
    return key, newest


def _features(tag: bytes | None) -> tuple[tuple[str, int, int], ...]:
    """The features of a tagged field: their names and two levels each. The higher one comes second of those that are
    supported, and first of those in force.
    """
    read = with_tags(lambda answer: (answer.string() or "", answer.int16(), answer.int16()))
    return () if tag is None else Reader(tag).array(read) or ()
