"""What producers are told, and what is in the log."""

from __future__ import annotations

from typing import Final

from harness.scenario import Line

IDEMPOTENCE: Final = Line(
    "idempotent producers (KIP-98, 0.11 and later, and a message format that has room for them)",
    lambda version: version.release >= (0, 11) and "log.message.format.version" not in version.settings,
)
