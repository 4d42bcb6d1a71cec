"""A producer that sends single records on command and records each one before anybody else hears of it.

    {"id": 1, "topic": "t", "partition": 0, "sequence": 4}  →  {"id": 1, "outcome": "ok", "offset": 4, …}

The sequence is reserved in the history before the record goes to the client, the outcome is flushed before the answer
goes to the harness.
"""

from __future__ import annotations

from typing import Final

from harness.workloads.processes import child
from harness.workloads.processes.single import Sender

POLL_S: Final = 0.005
"""How long a command may wait while deliveries are awaited; a delivery itself ends the waiting."""
IDLE_S: Final = 0.1
LAST_FLUSH_S: Final = 2.0


def main() -> None:
    """Send what the harness commands until its lines end."""
    with child.recording() as (arguments, commands, writer):
        sender = Sender(writer, *(arguments[name] for name in ("producer", "run", "settings", "bootstrap", "library")))
        child.say(ready=True, configuration=sender.configuration)
        while not commands.stopped:
            command = commands.next(0.0 if sender.in_flight else IDLE_S)
            if command is not None:
                sender.send_commanded(command)
            sender.poll(POLL_S if sender.in_flight else 0.0)
        sender.flush(LAST_FLUSH_S)
        sender.end()


if __name__ == "__main__":
    main()
