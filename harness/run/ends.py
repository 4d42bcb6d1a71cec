"""How far a partition may be read: its high watermark, and its last stable offset (KIP-98).

A leader answers a client that asks for a partition's end with the high watermark. A client under read_committed gets
the offset of the first record of a transaction that is open there, if there is one. Both answers are in the timeline
with the epochs of who gave them: a leader that is cut off from the others may answer still. Whether they may differ is
judged from there (checks/claims/replication/stable.py).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from evidence.errors import WaitTimeout
from evidence.events import EndsAnswer
from harness.cluster.librdkafka import administrator, client_settings, end, refusals
from harness.polling import poll

if TYPE_CHECKING:
    from harness.run.parts import Parts
    from harness.run.sequence_log import SequenceLog
    from harness.run.who import Partition

ASK_S: Final = 3.0
AGAIN_S: Final = 1.0
ANSWER_LIMIT_S: Final = 30.0
"""On a busy machine an answer may take longer than `ASK_S`."""
HANGS_S: Final = 200.0
"""An application that is gone has left a transaction open for as long as brokers wait for it (transaction.timeout.ms, a
minute by default), until they look again, and then for as long as an end has to stand to be called stuck.
"""


class EndOffsets:
    """Asks leaders."""

    def __init__(self, parts: Parts, sequence_log: SequenceLog) -> None:
        self._timeline, self._sequence_log = parts.timeline, sequence_log
        self._asks_with: dict[str, Any] = client_settings(parts.cluster.bootstrap, parts.version.client_settings)

    def watch_ends(self, t: Partition, seconds: float) -> EndsAnswer | None:
        """Ask how far the partition may be read again and again for so long, by those who read everything and by those
        who read what is committed: the last answer, None if there was none.
        """
        deadline, last = time.monotonic() + seconds, None
        with self._sequence_log.step(f"ask how far {t} may be read", seconds=seconds):
            client = administrator(self._asks_with)
            while True:
                asked_ns = time.monotonic_ns()
                try:
                    ends = [end(client, t, committed=of, timeout_s=ASK_S) for of in (False, True)]
                except refusals() as error:
                    self._sequence_log.note(f"{t}: how far it may be read is not answered: {error.args[0].name()}")
                else:
                    last = EndsAnswer(
                        topic=t.topic,
                        partition=t.number,
                        high_watermark=ends[0][0],
                        last_stable_offset=ends[1][0],
                        leader_epochs=(ends[0][1], ends[1][1]),
                        asked_ns=asked_ns,
                    )
                    self._timeline.append(last)
                if time.monotonic() > deadline:
                    return last
                time.sleep(AGAIN_S)  # the sequence is a time: nobody says that an end will not move

    def wait_ends(self, t: Partition, *, timeout_s: float = ANSWER_LIMIT_S) -> EndsAnswer:
        """How far the partition may be read, asked for until its leader says so. Raises WaitTimeout if it does not."""
        last = poll(lambda: self.watch_ends(t, 0.0), timeout_s, every_s=AGAIN_S)
        if last is None:
            raise WaitTimeout(f"nobody says how far {t} may be read within {timeout_s:.0f} s")
        return last

    def wait_stable(self, t: Partition, *, timeout_s: float) -> EndsAnswer:
        """Wait until readers of what is committed may read the partition as far as those of everything: no transaction
        is open there. Returns the answer that says so. Raises WaitTimeout if one still is, after `HANGS_S` at the
        earliest: then the answers tell whether it hangs (checks/anomalies/last_stable_offset.py).
        """
        limit_s = max(timeout_s, HANGS_S)
        with self._sequence_log.step(f"wait until no transaction is open in {t}"):
            last = poll(lambda: self.watch_ends(t, 0.0), limit_s, until=_stable, every_s=AGAIN_S)
        if last is None or not _stable(last):
            said = "its leader does not say" if last is None else f"{last.last_stable_offset} of {last.high_watermark}"
            raise WaitTimeout(f"{t} cannot be read to its end under read_committed after {limit_s:.0f} s: {said}")
        return last


def _stable(ends: EndsAnswer | None) -> bool:
    """Whether an answer shows that no transaction is open."""
    return ends is not None and ends.last_stable_offset == ends.high_watermark
