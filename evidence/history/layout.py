"""Where the fields lie in the bytes of a record of ours (evidence/history/record.py writes and reads them)."""

from __future__ import annotations

import struct
from typing import Final

HEADER: Final = struct.Struct(">4sIiq")
"""What it begins with: a magic word, the run, the producer, the sequence."""
CHECKSUM: Final = struct.Struct("<I")
"""What it ends with."""
