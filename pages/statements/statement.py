"""A statement of the design documents."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pages.statements.witness import Witness


class Area(StrEnum):
    """The part of the documents that a statement stands in."""

    REPLICAS = "Replicas, ISR, high watermark, leader epochs"
    BROKERS = "Brokers, controller, elections, files"
    REPLICATION = "Replication, as of 0.8"
    DELIVERY = "Delivery semantics"
    WATERMARKS = "High watermark, log end, last stable offset"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement of the documents, in a sentence of ours."""

    number: int
    area: Area
    sentence: str
    by: tuple[Witness, ...] = ()
    """The runs that show or contradict it."""
    not_yet: str = ""
    """What of it no scenario shows yet."""
    not_showable: str = ""
    """What of it no run can show, and why."""
    corrected: str = ""
    """Where the documents are wrong, or were right only for older releases, and what is true."""
