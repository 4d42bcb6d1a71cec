"""Progress lines for a step that prints nothing for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

SILENT_S: Final = 10.0
"""How long a step may be silent."""

Echo = Callable[[str], None]


@contextmanager
def saying(echo: Echo, what: str, every_s: float = SILENT_S) -> Iterator[None]:
    """While the block runs, echo "still <what>, 20 s" every `every_s` seconds; nothing if it is over sooner."""
    begun = time.monotonic()
    over = threading.Event()

    def say() -> None:
        while not over.wait(every_s):
            echo(f"still {what}, {time.monotonic() - begun:.0f} s")

    speaker = threading.Thread(target=say, daemon=True, name=f"saying: {what}")
    speaker.start()
    try:
        yield
    finally:
        over.set()
        speaker.join()
