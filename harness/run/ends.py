"""How far a partition may be read: its high watermark, and its last stable offset (KIP-98).

A leader answers a client that asks for a partition's end with the high watermark. A client under read_committed gets
the offset of the first record of a transaction that is open there, if there is one. Both answers are in the timeline,
and whether they may differ is judged from there (checks/ends.py).
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from evidence.events import EndsAnswer

if TYPE_CHECKING:
    from harness.run.parts import Parts
    from harness.run.sequence_log import SequenceLog
    from harness.run.who import Partition

ASK_S: Final = 3.0
AGAIN_S: Final = 1.0


class EndOffsets:
    """Asks leaders."""

    def __init__(self, parts: Parts, sequence_log: SequenceLog) -> None:
        self._timeline, self._sequence_log = parts.timeline, sequence_log
        self._watcher_settings: dict[str, Any] = {
            "bootstrap.servers": parts.cluster.bootstrap,
            "group.id": "ends",
            "log_level": 0,
            **parts.version.client_settings,
        }

    def watch_ends(self, t: Partition, seconds: float) -> EndsAnswer | None:
        """Ask how far the partition may be read again and again for so long, by those who read everything and by those
        who read what is committed: the last answer, None if there was none.
        """
        deadline, last = time.monotonic() + seconds, None
        everything = self._watcher_settings | {"isolation.level": "read_uncommitted"}
        committed = self._watcher_settings | {"isolation.level": "read_committed"}
        with (
            self._sequence_log.step(f"ask how far {t} may be read", seconds=seconds),
            closing(Consumer(everything)) as of_all,
            closing(Consumer(committed)) as of_committed,
        ):
            while True:
                asked_ns = time.monotonic_ns()
                try:
                    ends = [self._end(client, t) for client in (of_all, of_committed)]
                except KafkaException as error:
                    self._sequence_log.note(f"{t}: how far it may be read is not answered: {error.args[0].name()}")
                else:
                    last = EndsAnswer(
                        topic=t.topic,
                        partition=t.number,
                        high_watermark=ends[0],
                        last_stable_offset=ends[1],
                        asked_ns=asked_ns,
                    )
                    self._timeline.append(last)
                if time.monotonic() > deadline:
                    return last
                time.sleep(AGAIN_S)  # the sequence is a time: nobody says that an end will not move

    @staticmethod
    def _end(client: Consumer, t: Partition) -> int:
        return int(client.get_watermark_offsets(TopicPartition(*t), timeout=ASK_S)[1])
